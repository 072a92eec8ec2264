//! Judges: the ways to judge the files after an attempt. The family [`JUDGES`], one file each.

mod command;
mod exact;
mod numeric;
mod program;

use std::path::Path;

use super::task::Task;
use edt_io::directory::FileTree;
use edt_types::{Code, Finding, Refusal, Result};

pub struct JudgeInput<'a> {
    pub task: &'a Task,
    /// The files after the attempt.
    pub files: &'a FileTree,
    /// From 1.
    pub attempt: u32,
    /// The task's directory, which has its judge program.
    pub task_dir: &'a Path,
    /// A directory that does not exist yet, for a copy in which programs run.
    pub copy_dir: &'a Path,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JudgeVerdict {
    /// Whether the task is done.
    pub pass: bool,
    /// From 0 to 1.
    pub score: f64,
    /// Text that the agent may receive.
    pub feedback: String,
}

impl JudgeVerdict {
    pub(super) fn passed() -> JudgeVerdict {
        JudgeVerdict { pass: true, score: 1.0, feedback: "The task is done.".to_owned() }
    }

    pub(super) fn failed(feedback: String) -> JudgeVerdict {
        JudgeVerdict { pass: false, score: 0.0, feedback }
    }
}

pub trait Judge: Sync {
    /// The value of the key `judge.kind`.
    fn kind(&self) -> &'static str;
    /// A sentence for users.
    fn about(&self) -> &'static str;
    /// # Errors
    /// `BAD_TASK` if the judge cannot run; `IO_ERROR`.
    fn judge(&self, input: &JudgeInput<'_>) -> Result<JudgeVerdict>;
}

pub const JUDGES: &[&dyn Judge] =
    &[&exact::Exact, &numeric::Numeric, &command::Command, &program::Program];

/// Judges with the judge that the task names.
///
/// # Errors
/// As [`Judge::judge`].
pub fn judge(input: &JudgeInput<'_>) -> Result<JudgeVerdict> {
    let kind = input.task.judge.kind();
    let Some(judge) = JUDGES.iter().find(|judge| judge.kind() == kind) else {
        let summary = format!("There is no judge of the kind {kind}.");
        return Err(Finding::new(Code::Internal, summary, "Report this message.").into());
    };
    judge.judge(input)
}

/// The judge cannot run.
fn judge_error(input: &JudgeInput<'_>, key: &str, why: &str) -> edt_types::Refusal {
    super::task::bad_task(&format!("task {}", input.task.id), key, why.trim_end_matches('.')).into()
}

/// The end of an output as text; the reason for a failure is usually there.
fn tail(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 1500;
    let text = String::from_utf8_lossy(bytes).into_owned();
    let from = text.char_indices().rev().nth(MAX_CHARS - 1).map_or(0, |(at, _)| at);
    text[from..].trim().to_owned()
}

/// The feedback for a worktree that cannot be copied.
fn copy_failed(found: &Refusal) -> String {
    format!("The worktree cannot be copied into a repository: {found}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::JudgeSpec;

    #[test]
    fn every_kind_of_a_task_has_a_judge() {
        let kinds: Vec<&str> = JUDGES.iter().map(|judge| judge.kind()).collect();
        assert_eq!(kinds, ["exact", "numeric", "command", "program"]);
        let spec: JudgeSpec = toml::from_str("kind = \"command\"\nargv = [\"true\"]").unwrap();
        assert!(kinds.contains(&spec.kind()));
    }
}
