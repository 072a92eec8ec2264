//! The judge `numeric`: a file has the expected words, and its numbers within a tolerance.

use super::{Judge, JudgeInput, JudgeVerdict};
use crate::task::JudgeSpec;
use edt_types::Result;

pub(super) struct Numeric;

impl Judge for Numeric {
    fn kind(&self) -> &'static str {
        "numeric"
    }

    fn about(&self) -> &'static str {
        "a file has the words of expected/, and its numbers within a tolerance"
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<JudgeVerdict> {
        let JudgeSpec::Numeric { file, tolerance, relative } = &input.task.judge else {
            return Ok(JudgeVerdict::failed(String::new()));
        };
        let expected = input.task.expected.as_ref().and_then(|files| files.get(file));
        let (Some(expected), Some(found)) = (expected, input.files.get(file)) else {
            return Ok(JudgeVerdict::failed(format!("{file} is missing.")));
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(compared(file, &text(&expected.bytes), &text(&found.bytes), (*tolerance, *relative)))
    }
}

fn compared(
    file: &str,
    expected: &str,
    found: &str,
    (absolute, relative): (f64, f64),
) -> JudgeVerdict {
    let (wanted, got): (Vec<&str>, Vec<&str>) =
        (expected.split_whitespace().collect(), found.split_whitespace().collect());
    if wanted.len() != got.len() {
        return JudgeVerdict::failed(format!(
            "{file} has {} words, expected {}.",
            got.len(),
            wanted.len()
        ));
    }
    let near = |wanted: &str, got: &str| match (wanted.parse::<f64>(), got.parse::<f64>()) {
        (Ok(wanted), Ok(got)) => (wanted - got).abs() <= absolute + relative * wanted.abs(),
        _ => wanted == got,
    };
    let wrong: Vec<String> = wanted
        .iter()
        .zip(&got)
        .filter(|(wanted, got)| !near(wanted, got))
        .map(|(wanted, got)| format!("{file} has {got}, expected {wanted}."))
        .collect();
    if wrong.is_empty() {
        return JudgeVerdict::passed();
    }
    #[expect(clippy::cast_precision_loss, reason = "a few words")]
    let score = (wanted.len() - wrong.len()) as f64 / wanted.len() as f64;
    JudgeVerdict { pass: false, score, feedback: wrong.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_differ_by_the_tolerance_and_words_must_be_equal() {
        let pass = |found: &str, by: (f64, f64)| compared("f", "mean 2.0 of 10", found, by).pass;
        assert!(pass("mean 2.0 of 10", (0.0, 0.0)) && pass("mean  2.05 of\n10", (0.1, 0.0)));
        assert!(!pass("mean 2.19 of 10", (0.1, 0.0)) && pass("mean 2.19 of 10", (0.0, 0.1)));
        assert!(
            !pass("median 2.0 of 10", (1.0, 1.0))
                && !pass("mean 2.0 of", (1.0, 1.0))
                && !pass("mean NaN of 10", (1.0, 1.0))
        );
    }
}
