//! The files are those of `expected/`, byte for byte.

use super::{Judge, Judging, Verdict};
use crate::base::Result;
use crate::base::text::{line_of, lines, visible};
use crate::bench::task::JudgeSpec;
use crate::io::folder::Files;

/// Compares bytes.
pub(super) struct Exact;

impl Judge for Exact {
    fn kind(&self) -> &'static str {
        "exact"
    }

    fn about(&self) -> &'static str {
        "the files are those of expected/, byte for byte"
    }

    fn judge(&self, what: &Judging<'_>) -> Result<Verdict> {
        let JudgeSpec::Exact { files } = &what.task.judge else {
            return Ok(Verdict::failed(String::new()));
        };
        let none = Files::new();
        let expected = what.task.expected.as_ref().unwrap_or(&none);
        let mut paths: Vec<&String> = match files.as_slice() {
            [] => expected.keys().chain(what.files.keys()).collect(),
            named => named.iter().collect(),
        };
        paths.sort();
        paths.dedup();
        let wrong: Vec<String> =
            paths.iter().filter_map(|path| differs(path, expected, what.files)).collect();
        if wrong.is_empty() {
            return Ok(Verdict::passed());
        }
        #[expect(clippy::cast_precision_loss, reason = "a few files")]
        let score = (paths.len() - wrong.len()) as f64 / paths.len() as f64;
        Ok(Verdict { pass: false, score, feedback: wrong.join("\n") })
    }
}

/// How a file differs from what is expected, in a sentence.
fn differs(path: &str, expected: &Files, found: &Files) -> Option<String> {
    let (wanted, got) = match (expected.get(path), found.get(path)) {
        (Some(wanted), Some(got)) => (&wanted.bytes, &got.bytes),
        (Some(_), None) => return Some(format!("{path} is missing.")),
        (None, Some(_)) => return Some(format!("{path} should not be there.")),
        (None, None) => return None,
    };
    if wanted == got {
        return None;
    }
    let at = wanted.iter().zip(got).take_while(|(a, b)| a == b).count();
    let line = line_of(wanted, at.min(wanted.len()));
    let number = usize::try_from(line).unwrap_or(1) - 1;
    let shown = |text: &[u8]| lines(text).nth(number).map_or("nothing".to_owned(), visible);
    let (wanted, got) = (shown(wanted), shown(got));
    Some(format!("{path} differs from line {line} on: {got} stands where {wanted} should."))
}
