//! Judges: how the files after an attempt are judged. The family [`JUDGES`], one file each.

mod command;
mod exact;
mod numeric;
mod program;

use std::path::Path;

use super::task::Task;
use crate::base::{Code, Finding, Findings, Result};
use crate::io::folder::Files;

/// What is judged.
pub struct Judging<'a> {
    /// The task.
    pub task: &'a Task,
    /// The files now.
    pub files: &'a Files,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The task's folder, where its judge program is.
    pub folder: &'a Path,
    /// A folder that does not exist yet: whatever runs, runs in a copy there.
    pub place: &'a Path,
}

/// A judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether the task is done.
    pub pass: bool,
    /// How much of it, from 0 to 1.
    pub score: f64,
    /// What an agent may be told.
    pub feedback: String,
}

impl Verdict {
    pub(super) fn passed() -> Verdict {
        Verdict { pass: true, score: 1.0, feedback: "The task is done.".to_owned() }
    }

    pub(super) fn failed(feedback: String) -> Verdict {
        Verdict { pass: false, score: 0.0, feedback }
    }
}

/// One kind of judge.
pub trait Judge: Sync {
    /// The word that `judge.kind` has.
    fn kind(&self) -> &'static str;
    /// How it judges, in a sentence.
    fn about(&self) -> &'static str;
    /// Judges.
    ///
    /// # Errors
    /// `BAD_TASK` if the judge itself cannot do its work; `IO_ERROR`.
    fn judge(&self, what: &Judging<'_>) -> Result<Verdict>;
}

/// Every kind.
pub const JUDGES: &[&dyn Judge] =
    &[&exact::Exact, &numeric::Numeric, &command::Command, &program::Program];

/// Has the task's own judge judge.
///
/// # Errors
/// As [`Judge::judge`].
pub fn judge(what: &Judging<'_>) -> Result<Verdict> {
    let kind = what.task.judge.kind();
    let Some(judge) = JUDGES.iter().find(|judge| judge.kind() == kind) else {
        let message = format!("There is no judge of the kind {kind}.");
        return Err(Finding::new(Code::Internal, message, "Report this message.").into());
    };
    judge.judge(what)
}

/// The judge cannot do its work.
fn broken(what: &Judging<'_>, key: &str, why: &str) -> crate::base::Findings {
    super::task::bad(&format!("task {}", what.task.id), key, why.trim_end_matches('.')).into()
}

/// The end of an output, as text: what went wrong stands there.
fn tail(bytes: &[u8]) -> String {
    const MOST: usize = 1500;
    let text = String::from_utf8_lossy(bytes).into_owned();
    let from = text.char_indices().rev().nth(MOST - 1).map_or(0, |(at, _)| at);
    text[from..].trim().to_owned()
}

/// That what the agent left cannot be judged: it failed.
fn uncopied(found: &Findings) -> String {
    format!("What was left in the worktree cannot be put into a repository: {found}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::task::JudgeSpec;

    #[test]
    fn every_kind_that_a_task_may_name_has_a_judge() {
        let kinds: Vec<&str> = JUDGES.iter().map(|judge| judge.kind()).collect();
        assert_eq!(kinds, ["exact", "numeric", "command", "program"]);
        let spec: JudgeSpec = toml::from_str("kind = \"command\"\nargv = [\"true\"]").unwrap();
        assert!(kinds.contains(&spec.kind()));
    }
}
