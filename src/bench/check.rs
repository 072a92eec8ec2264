//! Whether a suite can be worked with: each task's own solution passes its judge, and the files before do not.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::laid_out;
use super::judge::{Judging, judge};
use super::suite::Suite;
use super::task::Task;
use crate::base::Result;

/// What a worker is to check.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The suite, as it was named.
    pub suite: String,
    /// A folder of the worker's own.
    pub work: PathBuf,
    /// The folder that the benchmark was started in.
    pub start: PathBuf,
}

/// What a task came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checked {
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// Whether it can be worked with.
    pub good: bool,
    /// What was found, in a sentence.
    pub said: String,
}

/// Checks every task of the suite.
///
/// # Errors
/// `BAD_TASK` if the suite cannot be read, or a judge cannot do its work.
pub fn run(order: &Order) -> Result<Vec<Checked>> {
    let suite = Suite::named(&order.suite, &order.start)?;
    let folder = laid_out(&suite, &order.work)?;
    suite.tasks.iter().map(|task| checked(&suite, task, &folder, &order.work)).collect()
}

fn checked(suite: &Suite, task: &Task, folder: &Path, work: &Path) -> Result<Checked> {
    let (folder, place) = (&folder.join(&task.id), &work.join("judged"));
    let judged = |files| judge(&Judging { task, files, attempt: 1, folder, place });
    let before = judged(&task.before)?;
    let (good, said) = match task.wanted() {
        _ if before.pass => {
            (false, "the files before pass already: there is nothing to do".to_owned())
        }
        None => (true, "the files before do not pass; there is no expected/ to try".to_owned()),
        Some(wanted) => {
            let verdict = judged(&wanted)?;
            let said = || format!("the files expected do not pass: {}", verdict.feedback);
            (
                verdict.pass,
                if verdict.pass { "expected/ passes, repo/ does not".to_owned() } else { said() },
            )
        }
    };
    Ok(Checked { suite: suite.name.clone(), task: task.id.clone(), good, said })
}
