//! The evaluation of an attempt: the judge's verdict, and what the files and the refused edits show.

use std::path::Path;

use serde_json::Value;

use super::agent_tools::AgentTools;
use super::judge::class::ErrorClass;
use super::judge::{JudgeInput, judge};
use super::results::AttemptResult;
use super::{guard_harm, region};
use edt_io::clock;
use edt_io::directory::FileTree;
use edt_types::Result;

/// The longest text of a judge that is kept, in characters.
const MAX_CHARS: usize = 2000;

/// The results of the attempt that left the files of `input`; how its agent ended is not among
/// them. Each of the refused edits `suspects` is tried without guards in `place`.
///
/// # Errors
/// As those of a judge.
pub(super) fn evaluate(
    input: &JudgeInput<'_>,
    tools: &mut AgentTools<'_>,
    suspects: &[(FileTree, Value)],
    place: &Path,
) -> Result<AttemptResult> {
    let (task, files) = (input.task, input.files);
    let verdict = judge(input)?;
    let expected = task.expected_files();
    let is_wrong = |path: &String| {
        let differs = |expected: &FileTree| {
            expected.get(path).map(|file| &file.bytes) != files.get(path).map(|file| &file.bytes)
        };
        task.specifies(path) && expected.as_ref().is_some_and(differs)
    };
    let mut attempt = tools.finish_attempt(verdict.pass, is_wrong);
    let deadline = clock::in_ms(10_000);
    attempt.outside = region::intended(task, deadline)
        .map(|intended| region::outside(&task.before, files, &intended, deadline));
    for suspect in suspects {
        attempt.tried_without += 1;
        let (harmful, used) = guard_harm::would_pass(input, suspect, place)?;
        attempt.harmful += u32::from(harmful);
        attempt.judge_usage = attempt.judge_usage.plus(used);
    }
    attempt.score = verdict.score;
    attempt.feedback = shortened(&verdict.feedback);
    // What a refused edit should have done cannot be wrong in another way.
    let class = if attempt.stuck {
        ErrorClass::Refused
    } else {
        verdict.class.unwrap_or(ErrorClass::Other)
    };
    attempt.error_class = (!verdict.pass).then_some(class);
    attempt.hint = verdict.hint.as_deref().map(shortened);
    attempt.judge_usage = attempt.judge_usage.plus(verdict.usage);
    Ok(attempt)
}

pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
