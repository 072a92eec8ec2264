//! The judge `exact`: the files equal `expected/`, byte for byte.

use super::class::ErrorClass;
use super::{Judge, JudgeInput, JudgeVerdict};
use crate::task::JudgeSpec;
use edt_io::directory::FileTree;
use edt_types::Result;
use edt_types::text::{line_of, lines, visible};

pub(super) struct Exact;

impl Judge for Exact {
    fn kind(&self) -> &'static str {
        "exact"
    }

    fn about(&self) -> &'static str {
        "the files equal expected/, byte for byte"
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<JudgeVerdict> {
        let JudgeSpec::Exact { files } = &input.task.judge else {
            return Ok(JudgeVerdict::failed(ErrorClass::Other, String::new()));
        };
        let none = FileTree::new();
        let expected = input.task.expected.as_ref().unwrap_or(&none);
        let mut paths: Vec<&String> = match files.as_slice() {
            [] => expected.keys().chain(input.files.keys()).collect(),
            named => named.iter().collect(),
        };
        paths.sort();
        paths.dedup();
        let (classes, wrong): (Vec<ErrorClass>, Vec<String>) =
            paths.iter().filter_map(|path| differs(path, expected, input.files)).unzip();
        let Some(class) = classes.first().copied() else {
            return Ok(JudgeVerdict::passed());
        };
        #[expect(clippy::cast_precision_loss, reason = "a few files")]
        let score = (paths.len() - wrong.len()) as f64 / paths.len() as f64;
        Ok(JudgeVerdict { score, ..JudgeVerdict::failed(class, wrong.join("\n")) })
    }
}

/// A sentence about the first difference, and its class.
fn differs(path: &str, expected: &FileTree, found: &FileTree) -> Option<(ErrorClass, String)> {
    let (wanted, got) = match (expected.get(path), found.get(path)) {
        (Some(wanted), Some(got)) => (&wanted.bytes, &got.bytes),
        (Some(_), None) => return Some((ErrorClass::Missing, format!("{path} is missing."))),
        (None, Some(_)) => {
            return Some((ErrorClass::Other, format!("{path} should not exist.")));
        }
        (None, None) => return None,
    };
    if wanted == got {
        return None;
    }
    let whole = (wanted, got);
    let at = wanted.iter().zip(got).take_while(|(a, b)| a == b).count();
    let line = line_of(wanted, at.min(wanted.len()));
    let number = usize::try_from(line).unwrap_or(1) - 1;
    let shown = |text: &[u8]| lines(text).nth(number).map_or("nothing".to_owned(), visible);
    let (wanted, got) = (shown(wanted), shown(got));
    let why = format!("{path} differs from line {line} on: found {got}, expected {wanted}.");
    let squeezed = |bytes: &[u8]| {
        bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>()
    };
    let (wanted, got) = (squeezed(whole.0), squeezed(whole.1));
    Some((if wanted == got { ErrorClass::Format } else { ErrorClass::Other }, why))
}
