//! What is said of a program that reached its time limit.

use edt_types::text::counted;
use edt_types::{Code, Finding};

use super::answer::RunOutcome;
use super::execute::Executed;

/// The finding about a program that reached its time limit.
pub(super) fn finding(executed: &Executed) -> Option<Finding> {
    let report = &executed.report;
    if !report.timed_out {
        return None;
    }
    let seconds = executed.limit.as_secs_f64();
    let finding = Finding::new(
        Code::CommandTimeout,
        format!(
            "{} timed out after {seconds} s and was killed, with all processes that it had started.",
            executed.command_line
        ),
        "Look at the end of its output for what it waited for. Give it input with --stdin, or more \
         time with --timeout SECONDS.",
    );
    Some(finding.with("timeout_s", seconds))
}

/// The finding about a time limit, with what became of the program's changes. If they were rolled
/// back, another finding says so.
pub(super) fn with_recorded(finding: Finding, answer: &RunOutcome) -> Finding {
    let recorded = match (&answer.outcome.commit, &answer.outcome.session) {
        (None, _) => "It had changed nothing that is recorded.".to_owned(),
        (Some(_), None) => return finding,
        (Some(commit), Some(_)) => format!(
            "What it had changed until then is recorded as {}: {}.",
            commit.get(..12).unwrap_or(commit),
            counted(answer.outcome.files.len(), "file")
        ),
    };
    Finding { summary: format!("{} {recorded}", finding.summary), ..finding }
}
