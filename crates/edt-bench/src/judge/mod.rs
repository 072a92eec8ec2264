//! Judges: the ways to judge the files after an attempt. The family [`JUDGES`], one file each.

pub mod class;
mod command;
mod exact;
pub mod llm;
mod numeric;
mod program;
mod recorded;
mod reveal;

use std::path::Path;

use super::results::TokenUsage;
use super::suite::Suite;
use super::task::{JudgeSpec, Task};
use class::ErrorClass;
use edt_io::directory::FileTree;
use edt_types::{Code, Finding, Refusal, Result};
pub use llm::JudgeModel;
pub use reveal::gives_away;

#[derive(Debug, Clone, Copy)]
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
    /// The model that judges, if the task is judged by one.
    pub model: &'a JudgeModel,
    /// Whether the class, the feedback and the hint are wanted, which may cost money.
    pub explain: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JudgeVerdict {
    /// Whether the task is done.
    pub pass: bool,
    /// From 0 to 1.
    pub score: f64,
    /// What is wrong: text that the agent may receive.
    pub feedback: String,
    /// The kind of mistake; `None` if it passed or the judge cannot decide.
    pub class: Option<ErrorClass>,
    /// What to do next time, without the answer.
    pub hint: Option<String>,
    /// What a model as the judge used.
    pub usage: TokenUsage,
}

impl JudgeVerdict {
    pub(super) fn passed() -> JudgeVerdict {
        let feedback = "The task is done.".to_owned();
        let usage = TokenUsage::default();
        JudgeVerdict { pass: true, score: 1.0, feedback, class: None, hint: None, usage }
    }

    pub(super) fn failed(class: ErrorClass, feedback: String) -> JudgeVerdict {
        let (class, usage) = (Some(class), TokenUsage::default());
        JudgeVerdict { pass: false, score: 0.0, feedback, class, hint: None, usage }
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
    &[&exact::Exact, &numeric::Numeric, &command::Command, &program::Program, &llm::Llm];

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

/// Checks the models that the tasks of `suite` name, for a run without `--judge-model`.
///
/// # Errors
/// `BAD_REQUEST` if a task that a model judges names none; `BAD_TASK` if it names one on another
/// machine.
pub fn check_models(suite: &Suite) -> Result<()> {
    for task in &suite.tasks {
        let JudgeSpec::Llm { model, .. } = &task.judge else { continue };
        let Some(line) = model else {
            let (id, name) = (&task.id, &suite.name);
            let summary = format!("A model judges the task {id} of {name}, and none is named.");
            let remedy = "Name one: --judge-model openai:MODEL or recorded:FILE.";
            return Err(Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into());
        };
        if let Some(why) = llm::refused_in_task(line) {
            let place = format!("{}, task {}", suite.location, task.id);
            return Err(super::task::bad_task(&place, "judge.model", why).into());
        }
    }
    Ok(())
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

    #[test]
    fn every_kind_of_a_task_has_a_judge() {
        let kinds: Vec<&str> = JUDGES.iter().map(|judge| judge.kind()).collect();
        assert_eq!(kinds, ["exact", "numeric", "command", "program", "llm"]);
        let spec: JudgeSpec = toml::from_str("kind = \"command\"\nargv = [\"true\"]").unwrap();
        assert!(kinds.contains(&spec.kind()));
    }
}
