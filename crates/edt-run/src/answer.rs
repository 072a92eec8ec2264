//! The answer of `edt run`.

use schemars::JsonSchema;
use serde::Serialize;

use super::captured::CapturedOutput;
use edt_types::{Level, Outcome, Status, Warning, WarningCode};

/// The most entries of a list in an answer.
const MAX_LISTED: usize = 1000;

/// The answer of `edt run`: the keys of every answer, and those of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunOutcome {
    /// `applied` if changes of the program were recorded, `unchanged` if it changed nothing,
    /// `failed` if it ended with a failure (its changes are recorded nevertheless), `refused` if it
    /// was not run or its changes were rolled back. At most the first 1,000 files and results of
    /// guards.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The program that ran; `null` if it was not started.
    pub run: Option<RunReport>,
    /// Ignored or uncommitted paths of which no copy was made before the program started, because
    /// they are too large or too many. `edt undo` cannot restore these. A warning `not_restorable`
    /// names each that the program changed or removed.
    pub not_backed_up: Vec<String>,
    /// New files that are binary or in a directory without tracked files: perhaps build output. At
    /// most the first 1,000.
    pub new_files: Vec<String>,
    /// The number of paths that the program changed.
    pub total_files: u64,
}

/// A program that ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunReport {
    /// The number of the run: `edt run --output ID` prints its stored output.
    pub id: u64,
    /// The program's absolute path.
    pub program: String,
    /// Its arguments; bytes that are not UTF-8 are replaced by U+FFFD.
    pub args: Vec<String>,
    /// Its working directory.
    pub cwd: String,
    /// Its exit status; `null` if a signal or the time limit ended it, or the status is unknown.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Whether it reached the time limit and was ended.
    pub timed_out: bool,
    /// The sandbox limit that it reached, if any.
    pub limit: Option<&'static str>,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// How its changes were found: `recorded` at the system call, `compared` with copies of the
    /// worktree before, or `outer`: the `edt run` above records them.
    pub capture: &'static str,
    /// The sandbox that it ran in.
    pub sandbox: Sandbox,
    /// Its standard output.
    pub stdout: CapturedOutput,
    /// Its standard error.
    pub stderr: CapturedOutput,
}

/// The sandbox of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sandbox {
    pub level: Level,
    /// The mechanisms that confine the program.
    pub by: &'static str,
    /// Variables of the environment that were withheld: secrets, and those that no list knows.
    pub withheld: Vec<String>,
}

impl RunOutcome {
    /// The name and version of this shape.
    pub const SCHEMA: &'static str = "edt.run/1";

    /// An answer without changes and without a program.
    #[must_use]
    pub fn new() -> RunOutcome {
        RunOutcome::of(Outcome::new(Status::Unchanged))
    }

    /// An answer with the keys of `outcome`, without a program.
    #[must_use]
    pub fn of(outcome: Outcome) -> RunOutcome {
        RunOutcome {
            outcome: Outcome { schema: RunOutcome::SCHEMA, ..outcome },
            run: None,
            not_backed_up: Vec::new(),
            new_files: Vec::new(),
            total_files: 0,
        }
    }
}

impl RunOutcome {
    /// Truncates long lists and adds a warning. The commit still records everything.
    pub fn bound(&mut self) {
        let (files, guards) = (self.outcome.files.len(), self.outcome.guards.len());
        self.total_files = files as u64;
        self.new_files.truncate(MAX_LISTED);
        if files.max(guards) <= MAX_LISTED {
            return;
        }
        self.outcome.files.truncate(MAX_LISTED);
        self.outcome.guards.truncate(MAX_LISTED);
        let lists = [("files", files), ("guards", guards)];
        let long: Vec<String> = lists
            .iter()
            .filter(|(_, count)| *count > MAX_LISTED)
            .map(|(name, count)| format!("the first {MAX_LISTED} of {count} {name}"))
            .collect();
        let commit = self.outcome.commit.as_deref().unwrap_or("HEAD");
        let message = format!(
            "This answer lists {}; `git show --name-status {commit}` names every file.",
            long.join(" and ")
        );
        self.outcome.warnings.push(Warning {
            code: WarningCode::NotAllListed,
            path: None,
            message,
        });
    }
}

impl Default for RunOutcome {
    fn default() -> RunOutcome {
        RunOutcome::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::{FileChangeKind, FileReport, GuardReport, Verdict};

    fn outcome(files: usize, guards: usize) -> RunOutcome {
        let file = FileReport {
            path: "a".into(),
            change: FileChangeKind::Modified,
            from: None,
            hash_before: None,
            hash_after: None,
            bytes_before: None,
            bytes_after: None,
            lines_added: 0,
            lines_removed: 0,
            context: None,
            matched_by: None,
            user_changes: edt_types::UserChanges::None,
            left_over: vec![],
            recorded: edt_types::RecordedIn::Branch,
        };
        let guard =
            GuardReport { guard: "syntax", verdict: Verdict::Pass, path: "a".into(), detail: None };
        RunOutcome::of(Outcome {
            files: vec![file; files],
            guards: vec![guard; guards],
            ..Outcome::new(Status::Applied)
        })
    }

    #[test]
    fn a_thousand_files_are_listed_completely() {
        let mut answer = outcome(1000, 1000);
        answer.bound();
        assert_eq!(
            (answer.outcome.files.len(), answer.outcome.guards.len(), answer.total_files),
            (1000, 1000, 1000)
        );
        assert_eq!(answer.outcome.warnings, []);
    }

    #[test]
    fn longer_lists_are_cut_with_a_warning() {
        let mut answer = outcome(1001, 1002);
        answer.outcome.commit = Some("abc".into());
        answer.bound();
        assert_eq!(
            (answer.outcome.files.len(), answer.outcome.guards.len(), answer.total_files),
            (1000, 1000, 1001)
        );
        let warning = Warning {
            code: WarningCode::NotAllListed,
            path: None,
            message: "This answer lists the first 1000 of 1001 files and the first 1000 of 1002 \
                      guards; `git show --name-status abc` names every file."
                .into(),
        };
        assert_eq!(answer.outcome.warnings, [warning]);
    }
}
