//! The judge `numeric`: a file, or what a program prints, has the expected words, and its numbers
//! within a tolerance. The feedback never has the right number.

use std::time::Duration;

use edt_io::{directory, failed, fs};
use edt_types::Result;

use super::class::{ErrorClass, of_numbers};
use super::{Judge, JudgeInput, JudgeVerdict, judge_error, tail};
use crate::confined;
use crate::task::{JudgeSpec, WrongAnswer};

pub(super) struct Numeric;

impl Judge for Numeric {
    fn kind(&self) -> &'static str {
        "numeric"
    }

    fn about(&self) -> &'static str {
        "a file, or what a program prints, has the expected words, and its numbers within a tolerance"
    }

    fn judge(&self, input: &JudgeInput<'_>) -> Result<JudgeVerdict> {
        let JudgeSpec::Numeric { file, argv, timeout, answer, tolerance, relative, wrong } =
            &input.task.judge
        else {
            return Ok(JudgeVerdict::failed(ErrorClass::Other, String::new()));
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let in_file = |files: Option<&directory::FileTree>| {
            files.and_then(|files| files.get(file)).map(|found| text(&found.bytes))
        };
        let expected = answer.clone().or_else(|| in_file(input.task.expected.as_ref()));
        let expected = expected.unwrap_or_default();
        let (place, found) = if argv.is_empty() {
            let Some(found) = in_file(Some(input.files)) else {
                let why = format!("{file} is missing.");
                return Ok(JudgeVerdict::failed(ErrorClass::Missing, why));
            };
            (file.as_str(), found)
        } else {
            match printed(input, argv, *timeout)? {
                Ok(found) => ("the output", found),
                Err(verdict) => return Ok(verdict),
            }
        };
        Ok(compared(place, &expected, &found, (*tolerance, *relative), wrong))
    }
}

/// What the program prints in a copy of the worktree; the inner error is the verdict on a program
/// that fails.
fn printed(
    input: &JudgeInput<'_>,
    argv: &[String],
    timeout: f64,
) -> Result<std::result::Result<String, JudgeVerdict>> {
    let failure = |class, why| Ok(Err(JudgeVerdict::failed(class, why)));
    if let Some(missing) = argv.iter().skip(1).find(|word| {
        let expected = input.task.expected.as_ref();
        expected.is_some_and(|files| files.contains_key(*word)) && !input.files.contains_key(*word)
    }) {
        return failure(ErrorClass::Missing, format!("{missing} is missing."));
    }
    let copy = input.copy_dir;
    directory::write_tree(copy, input.files).map_err(|error| failed("copy to", copy, &error))?;
    let copy = &fs::real_path(copy);
    let limit = Duration::try_from_secs_f64(timeout).unwrap_or(Duration::from_secs(60));
    let done = confined::run(argv, (copy, input.task_dir), b"", limit);
    let _ = fs::remove_dir_all(copy);
    let done = done?.map_err(|why| judge_error(input, "judge.argv", &why))?;
    if done.status != Some(0) {
        // The place of the copy differs from run to run.
        let stderr = tail(&done.output[1]).replace(&format!("{}/", copy.display()), "");
        let why = format!("{}: {}.\n{stderr}", argv.join(" "), done.describe_end());
        return failure(ErrorClass::Code, why.trim().to_owned());
    }
    Ok(Ok(String::from_utf8_lossy(&done.output[0]).into_owned()))
}

fn compared(
    place: &str,
    expected: &str,
    found: &str,
    (absolute, relative): (f64, f64),
    known: &[WrongAnswer],
) -> JudgeVerdict {
    let (wanted, got): (Vec<&str>, Vec<&str>) =
        (expected.split_whitespace().collect(), found.split_whitespace().collect());
    if got.is_empty() && !wanted.is_empty() {
        return JudgeVerdict::failed(ErrorClass::Missing, format!("{place} is empty."));
    }
    if wanted.len() != got.len() {
        let why = format!("{place} has {} words, expected {}.", got.len(), wanted.len());
        return JudgeVerdict::failed(ErrorClass::Format, why);
    }
    let within = |wanted: f64| absolute + relative * wanted.abs();
    let near = |wanted: f64, got: f64| (wanted - got).abs() <= within(wanted);
    let (mut wrong, mut first) = (Vec::new(), None);
    for (at, (wanted, got)) in (1..).zip(wanted.iter().zip(&got)) {
        let (class, why, hint) = match (wanted.parse::<f64>(), got.parse::<f64>()) {
            (Ok(wanted), Ok(got)) if near(wanted, got) => continue,
            (Ok(wanted), Ok(got)) => {
                let is_known = |one: &&WrongAnswer| near(one.answer, got);
                let known = known.iter().find(is_known);
                let class = known
                    .map_or_else(|| of_numbers(wanted, got, within(wanted)), |known| known.class);
                let hint = known.and_then(|known| known.hint.clone());
                (class, format!("{place} has {got}, which is wrong ({})", class.name()), hint)
            }
            (Err(_), _) if wanted == got => continue,
            _ => {
                let why = format!("word {at} of {place}, {got:?}, is not what was asked for");
                (ErrorClass::Format, why, None)
            }
        };
        first.get_or_insert((class, hint));
        wrong.push(format!("{why}."));
    }
    let Some((class, hint)) = first else { return JudgeVerdict::passed() };
    #[expect(clippy::cast_precision_loss, reason = "a few words")]
    let score = (wanted.len() - wrong.len()) as f64 / wanted.len() as f64;
    let hint = Some(hint.unwrap_or_else(|| class.hint().to_owned()));
    JudgeVerdict { score, hint, ..JudgeVerdict::failed(class, wrong.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_differ_by_the_tolerance_and_words_must_be_equal() {
        let pass =
            |found: &str, by: (f64, f64)| compared("f", "mean 2.0 of 10", found, by, &[]).pass;
        assert!(pass("mean 2.0 of 10", (0.0, 0.0)) && pass("mean  2.05 of\n10", (0.1, 0.0)));
        assert!(!pass("mean 2.19 of 10", (0.1, 0.0)) && pass("mean 2.19 of 10", (0.0, 0.1)));
        assert!(
            !pass("median 2.0 of 10", (1.0, 1.0))
                && !pass("mean 2.0 of", (1.0, 1.0))
                && !pass("mean NaN of 10", (1.0, 1.0))
        );
    }

    #[test]
    fn the_feedback_has_the_class_and_never_the_right_number() {
        let known = WrongAnswer {
            answer: 71.5,
            class: ErrorClass::Filter,
            hint: Some("Leave out cancelled orders.".to_owned()),
        };
        let verdict = |found: &str| {
            compared("f", "4321.5 7", found, (0.01, 0.0), std::slice::from_ref(&known))
        };
        for (found, class, score) in [
            ("432150 7", ErrorClass::Unit, 0.5),
            ("-4321.5 8", ErrorClass::Sign, 0.0),
            ("4322 7", ErrorClass::Rounding, 0.5),
            ("71.5 7", ErrorClass::Filter, 0.5),
            ("x 7", ErrorClass::Format, 0.5),
            ("7", ErrorClass::Format, 0.0),
            ("", ErrorClass::Missing, 0.0),
        ] {
            let found = verdict(found);
            assert_eq!((found.pass, found.class, found.score), (false, Some(class), score));
            assert!(!found.feedback.contains("4321.5") || class == ErrorClass::Sign, "{found:?}");
            if class == ErrorClass::Filter {
                assert_eq!(found.hint.as_deref(), Some("Leave out cancelled orders."));
            }
        }
    }
}
