//! Checks a suite: each task's expected files must pass its judge, and its files before must not.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::{JudgeInput, JudgeModel, judge};
use super::suite::Suite;
use super::task::Task;
use super::unit::suite_dir;
use edt_types::Result;

/// A suite to check, for a worker process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckJob {
    /// The suite as the user named it.
    pub suite: String,
    /// The worker's scratch directory.
    pub work: PathBuf,
    /// The directory that the benchmark was started in.
    pub start: PathBuf,
    /// The model that judges.
    pub judge_model: JudgeModel,
}

/// The result of one task's check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskCheck {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// Whether the task can be used.
    pub good: bool,
    /// The reason, in a sentence.
    #[serde(rename = "said")]
    pub reason: String,
}

/// # Errors
/// `BAD_TASK` if the suite cannot be read or a judge cannot run.
pub fn run(job: &CheckJob) -> Result<Vec<TaskCheck>> {
    let suite = Suite::open(&job.suite, &job.start)?;
    let dir = suite_dir(&suite, &job.work)?;
    suite.tasks.iter().map(|task| check_task(&suite, task, &dir, job)).collect()
}

fn check_task(suite: &Suite, task: &Task, suite_dir: &Path, job: &CheckJob) -> Result<TaskCheck> {
    let (task_dir, copy_dir) = (&suite_dir.join(&task.id), &job.work.join("judged"));
    let (attempt, model) = (1, &job.judge_model);
    let verdict = |files| {
        judge(&JudgeInput { task, files, attempt, task_dir, copy_dir, model, explain: true })
    };
    let before = verdict(&task.before)?;
    let (good, reason) = match task.expected_files() {
        _ if before.pass => (false, "repo/ passes already: there is nothing to do".to_owned()),
        None => (true, "repo/ does not pass; there is no expected/ to check".to_owned()),
        Some(expected_files) => {
            let expected = verdict(&expected_files)?;
            let reason = if expected.pass {
                "expected/ passes, repo/ does not".to_owned()
            } else {
                format!("expected/ does not pass: {}", expected.feedback)
            };
            (expected.pass, reason)
        }
    };
    Ok(TaskCheck { suite: suite.name.clone(), task: task.id.clone(), good, reason })
}
