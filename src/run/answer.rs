//! The answer of `edt run`.

use schemars::JsonSchema;
use serde::Serialize;

use super::kept::Output;
use crate::base::{
    FileReport, Finding, GuardReport, Level, SessionReport, Settled, Status, Warning,
};

/// How many entries a list of an answer has, at most.
const MOST_LISTED: usize = 1000;

/// What became of a run: the keys of every answer, and `run`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Always `edt.run/1`.
    pub schema: &'static str,
    /// `applied` if the program changed something and that is recorded, `unchanged` if not, `failed` if it ended with a failure (what it
    /// changed is recorded all the same), `refused` if it was not run, or what it changed was put back.
    pub status: Status,
    /// The program and what it did; `null` if it was not started.
    pub run: Option<Ran>,
    /// The session, if there is one now.
    pub session: Option<SessionReport>,
    /// The commit with what the program changed, as a hex object id.
    pub commit: Option<String>,
    /// The session branch's value before it.
    pub parent: Option<String>,
    /// How many edits the session holds now.
    pub edit: Option<u64>,
    /// The proposal that this made or waits for, if policy asks for a person's word.
    pub proposal: Option<u64>,
    /// Commits that first recorded what had been left unrecorded when the program was started.
    pub checkpoints: Vec<String>,
    /// How many paths the program changed.
    pub files_in_all: u64,
    /// Each of them, or the first 1,000.
    pub files: Vec<FileReport>,
    /// What each guard said, or the first 1,000 of that.
    pub guards: Vec<GuardReport>,
    /// Every refusal found, the most important first.
    pub errors: Vec<Finding>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Remembered fixes of similar failures; empty until edt keeps a memory.
    pub lessons: Vec<String>,
    /// An interrupted transaction that this call finished or took back first.
    pub settled: Option<Settled>,
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ran {
    /// Its number: `edt run --output ID` gives all that it wrote.
    pub id: u64,
    /// The program's absolute path.
    pub program: String,
    /// Its arguments; bytes that are not UTF-8 are shown as U+FFFD.
    pub args: Vec<String>,
    /// Its folder.
    pub cwd: String,
    /// Its exit status; `null` if a signal ended it, or it is not known.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether its time was over.
    pub timed_out: bool,
    /// The limit of the sandbox that it hit, if one.
    pub limit: Option<&'static str>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Where it ran.
    pub sandbox: Sandbox,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
}

/// The confinement that was obtained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sandbox {
    /// The level.
    pub level: Level,
    /// What holds it.
    pub by: &'static str,
    /// Variables of the environment that were withheld because they look like secrets.
    pub withheld: Vec<String>,
}

impl Answer {
    /// The name and version of this shape.
    pub const SCHEMA: &'static str = "edt.run/1";

    /// An answer that says nothing yet.
    #[must_use]
    pub fn new() -> Answer {
        Answer {
            schema: Answer::SCHEMA,
            status: Status::Unchanged,
            run: None,
            session: None,
            commit: None,
            parent: None,
            edit: None,
            proposal: None,
            checkpoints: Vec::new(),
            files_in_all: 0,
            files: Vec::new(),
            guards: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            lessons: Vec::new(),
            settled: None,
        }
    }
}

impl Answer {
    /// Leaves out what would be too much to read, and says so: all of it is recorded.
    pub fn bound(&mut self) {
        let (files, guards) = (self.files.len(), self.guards.len());
        self.files_in_all = files as u64;
        if files.max(guards) <= MOST_LISTED {
            return;
        }
        self.files.truncate(MOST_LISTED);
        self.guards.truncate(MOST_LISTED);
        let lists = [("files", files), ("guards", guards)];
        let long: Vec<String> = lists
            .iter()
            .filter(|(_, count)| *count > MOST_LISTED)
            .map(|(name, count)| format!("the first {MOST_LISTED} of {count} {name}"))
            .collect();
        let commit = self.commit.as_deref().unwrap_or("HEAD");
        let message = format!(
            "This answer lists {}; `git show --name-status {commit}` names every file.",
            long.join(" and ")
        );
        self.warnings.push(Warning { code: "not_all_listed", path: None, message });
    }
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::new()
    }
}
