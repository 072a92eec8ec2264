//! The answer to a command that changes something: one shape for success and refusal.
//!
//! Every key but `remaining_edits` and `comments` is always present (`null` or `[]` where there is nothing), so that
//! one schema serves the command line, servers and hooks.

use super::Status;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, OpenComments, Warning};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// The name and version of this shape: `edt.outcome/1`, of `edt run` `edt.run/1`.
    pub schema: &'static str,
    /// The result of the request; decides the exit status.
    pub status: Status,
    /// The session of the request; `null` if the call ended before it was known.
    pub session: Option<SessionReport>,
    /// The commit that records the change, as a hex object id.
    pub commit: Option<String>,
    /// The commit that the session's branch pointed to before this change, as a hex object id.
    pub parent: Option<String>,
    /// The number of the edit that this call made. After an undo or a redo: how many edits the
    /// session has.
    pub edit: Option<u64>,
    /// How many edits the session may still have. It is there only if policy sets `[session]
    /// max_edits`, for a call that edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_edits: Option<u64>,
    /// The number of the proposal that this call made, waits for, or applied.
    pub proposal: Option<u64>,
    /// The commits of the user's uncommitted changes that `edt checkpoint` made, oldest first.
    pub checkpoints: Vec<String>,
    /// Each file that changed, or would change in a dry run.
    pub files: Vec<FileReport>,
    /// What each guard found.
    pub guards: Vec<GuardReport>,
    /// Every reason for a refusal, the most important first.
    pub errors: Vec<Finding>,
    /// What the caller should know although the call succeeded.
    pub warnings: Vec<Warning>,
    /// What fixed earlier failures like these: three lessons at most. `edt memory` lists them.
    pub lessons: Vec<String>,
    /// An interrupted transaction that this call finished or rolled back before its own work.
    pub recovered: Option<Recovered>,
    /// The user's comments that wait for the agent. It is there only if the session has an open one,
    /// and not in answers to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<OpenComments>,
}

impl Outcome {
    pub const SCHEMA: &'static str = "edt.outcome/1";

    #[must_use]
    pub fn new(status: Status) -> Outcome {
        Outcome {
            schema: Outcome::SCHEMA,
            status,
            session: None,
            commit: None,
            parent: None,
            edit: None,
            remaining_edits: None,
            proposal: None,
            checkpoints: Vec::new(),
            files: Vec::new(),
            guards: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            lessons: Vec::new(),
            recovered: None,
            comments: None,
        }
    }
}

/// The session of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionReport {
    /// The name of the session, without `edt/`.
    pub name: String,
    /// The branch of the session, `edt/<name>`.
    pub branch: String,
    /// The commit that the session began from, as a hex object id. If HEAD was unborn, the id of
    /// the empty tree.
    pub base: String,
    /// Whether this call began the session.
    pub began: bool,
}

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// The file is new.
    Added,
    /// The content or the executable bit differs.
    Modified,
    /// The file was removed.
    Deleted,
    /// The file came from another path; `from` names it.
    Renamed,
}

impl FileChangeKind {
    /// The verb for a commit subject.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            FileChangeKind::Added => "create",
            FileChangeKind::Modified => "edit",
            FileChangeKind::Deleted => "delete",
            FileChangeKind::Renamed => "rename",
        }
    }
}

/// An edit that was recorded, as observers of a call see it.
#[derive(Debug)]
pub struct Landing<'a> {
    /// The session's name, without `edt/`.
    pub session: &'a str,
    /// The commit that records the edit, as a hex object id.
    pub commit: &'a str,
    /// The paths that changed, each with the path it was renamed from.
    pub paths: Vec<(&'a str, Option<&'a str>)>,
    /// Each guard that the request overrode, with the path.
    pub overrode: Vec<(&'a str, &'a str)>,
}

/// How one file changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReport {
    /// The path relative to the worktree's root, with `/`.
    pub path: String,
    /// How the file changed.
    pub change: FileChangeKind,
    /// The path that the file was renamed from.
    pub from: Option<String>,
    /// The blob id of the file before the change, as hex.
    pub hash_before: Option<String>,
    /// The blob id of the file after the change, as hex. Send it as `expected_hash` with the next
    /// edit of the file.
    pub hash_after: Option<String>,
    /// The size before the change, in bytes.
    pub bytes_before: Option<u64>,
    /// The size after the change, in bytes.
    pub bytes_after: Option<u64>,
    /// How many lines were added.
    pub lines_added: u64,
    /// How many lines were removed.
    pub lines_removed: u64,
    /// The numbered lines around the change, so that the caller need not read the file again.
    pub context: Option<String>,
    /// How the hunks of a patch were matched to the file; `null` for other edits.
    pub matched_by: Option<MatchedBy>,
    /// What happened to the user's uncommitted changes of the file.
    pub user_changes: UserChanges,
    /// Where the change is recorded.
    pub recorded: RecordedIn,
    /// If it is recorded `partly`: the lines of the new file that are on disk alone, such as
    /// `20-24`, and `mode` if the executable bit is.
    pub left_over: Vec<String>,
}

/// What happened to the user's uncommitted changes of a file that an edit changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UserChanges {
    /// There were none.
    #[default]
    None,
    /// They stay uncommitted; the commit has the edit alone, as far as it is in other lines.
    Separate,
}

/// Where the change of a file is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordedIn {
    /// In the session's commit.
    #[default]
    Branch,
    /// In the session's commit, except the lines of `left_over`: the user has uncommitted changes
    /// there. `edt undo` undoes both.
    Partly,
    /// Outside Git's objects, because Git ignores the file, or because the user has uncommitted
    /// changes in its place. The change is on disk alone. `edt undo` undoes it.
    Private,
    /// In the worktree alone, because the file has a merge conflict. The user finishes the merge.
    Worktree,
}

/// How the old side of a patch's hunks matched the file: the least strict rule that a hunk needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// Every byte matched, except line ends.
    Exact,
    /// Everything matched except white space at the ends of lines.
    TrailingSpace,
    /// Everything matched except indentation, which differed by one rule for the entire hunk.
    Indentation,
    /// Everything matched except lines of context in one place; the rest proves where the hunk
    /// belongs.
    Context,
}

/// The result of one guard on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The guard found nothing.
    Pass,
    /// The guard found something, and policy only warns.
    Warn,
    /// The guard found something and refused the edit.
    Refuse,
    /// The guard found something, and the request overrode it.
    Allowed,
}

impl Verdict {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Refuse => "refuse",
            Verdict::Allowed => "allowed",
        }
    }

    /// The rank among several verdicts of one guard; the strictest is the highest.
    #[must_use]
    pub const fn weight(self) -> u8 {
        match self {
            Verdict::Pass => 0,
            Verdict::Warn => 1,
            Verdict::Allowed => 2,
            Verdict::Refuse => 3,
        }
    }
}

/// The result of one guard on one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardReport {
    /// The name of the guard.
    pub guard: &'static str,
    /// The result.
    pub verdict: Verdict,
    /// The path that the guard checked.
    pub path: String,
    /// What the guard found, or what it did not look at.
    #[serde(serialize_with = "crate::text::optional_for_users")]
    pub detail: Option<String>,
}

/// An interrupted transaction that was recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recovered {
    /// What the recovery did: `finished` if the branch had moved already, `rolled_back` if it had
    /// not, `recovered` after a restart of the machine, `quarantined` or `skipped` if the journal
    /// could not be read.
    pub action: &'static str,
    /// The commit that the transaction recorded or would have recorded, as a hex object id.
    pub commit: Option<String>,
    /// Paths that now have their new or their old content again; absolute in another worktree.
    pub files: Vec<String>,
    /// Paths whose content is neither the old nor the new one. Someone else wrote them, and they
    /// were not changed.
    pub skipped: Vec<String>,
    /// What happened, in one or two sentences for each worktree.
    pub detail: String,
}

impl Recovered {
    /// One report of both. The action and the commit are those of `self`.
    #[must_use]
    pub fn and(mut self, other: Recovered) -> Recovered {
        self.files.extend(other.files);
        self.skipped.extend(other.skipped);
        self.detail = format!("{} {}", self.detail, other.detail);
        self
    }
}
