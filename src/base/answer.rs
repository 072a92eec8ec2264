//! The answer: one shape for every outcome of a command that changes something, success or refusal.
//!
//! Every key is always present (`null` or `[]` where there is nothing), so that one schema serves the CLI, servers and hooks.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, Warning};

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Done and recorded.
    Applied,
    /// Understood; the state asked for is the state there is. Nothing was recorded.
    Unchanged,
    /// A dry run that would have been applied.
    WouldApply,
    /// It waits for a person's word, as it was asked for.
    Proposed,
    /// It was done, and the program that was run ended with a failure.
    Failed,
    /// Understood and refused: send something else.
    Refused,
    /// Malformed: fix the call.
    Invalid,
    /// The world moved: read again.
    Conflict,
    /// A person must act.
    Held,
    /// Disk, Git or a missing program.
    Environment,
    /// A defect of edt.
    Bug,
}

impl Status {
    /// The process exit status.
    #[must_use]
    pub const fn exit(self) -> u8 {
        match self {
            Status::Applied | Status::Unchanged | Status::WouldApply | Status::Proposed => 0,
            Status::Refused => 1,
            Status::Invalid => 2,
            Status::Conflict => 3,
            Status::Held => 4,
            Status::Environment => 5,
            Status::Failed => 10,
            Status::Bug => 70,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Status::Applied => "applied",
            Status::Unchanged => "unchanged",
            Status::WouldApply => "would_apply",
            Status::Proposed => "proposed",
            Status::Failed => "failed",
            Status::Refused => "refused",
            Status::Invalid => "invalid",
            Status::Conflict => "conflict",
            Status::Held => "held",
            Status::Environment => "environment",
            Status::Bug => "bug",
        }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// Always `edt.outcome/1`.
    pub schema: &'static str,
    /// What became of the request; decides the exit status.
    pub status: Status,
    /// The session the request belongs to, once known.
    pub session: Option<SessionReport>,
    /// The commit that recorded it, as a hex object id.
    pub commit: Option<String>,
    /// The session branch's value before, checkpoints included.
    pub parent: Option<String>,
    /// How many edits the session holds now.
    pub edit: Option<u64>,
    /// The proposal that this made, waits for, or carried out.
    pub proposal: Option<u64>,
    /// Commits that first recorded what a person had left unrecorded in the touched paths.
    pub checkpoints: Vec<String>,
    /// Each path that changed, or would.
    pub files: Vec<FileReport>,
    /// What each guard said.
    pub guards: Vec<GuardReport>,
    /// Every refusal found, the most important first.
    pub errors: Vec<Finding>,
    /// What the caller should know although it was done.
    pub warnings: Vec<Warning>,
    /// What landed after failures like these, at most three; the memory keeps them (`edt memory`).
    pub lessons: Vec<String>,
    /// An interrupted transaction that this call finished or took back first.
    pub settled: Option<Settled>,
}

impl Outcome {
    /// The name and version of this shape.
    pub const SCHEMA: &'static str = "edt.outcome/1";

    /// An answer that says nothing yet but its status.
    #[must_use]
    pub fn new(status: Status) -> Outcome {
        Outcome {
            schema: Outcome::SCHEMA,
            status,
            session: None,
            commit: None,
            parent: None,
            edit: None,
            proposal: None,
            checkpoints: Vec::new(),
            files: Vec::new(),
            guards: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            lessons: Vec::new(),
            settled: None,
        }
    }
}

/// The session an answer speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionReport {
    /// Its name, without `edt/`.
    pub name: String,
    /// Its branch, `edt/<name>`.
    pub branch: String,
    /// The commit it began from as a hex object id; the empty tree's id if HEAD was unborn.
    pub base: String,
    /// Whether this call began it.
    pub began: bool,
}

/// How a path changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A new file.
    Added,
    /// Other content or another mode bit.
    Modified,
    /// The file is gone.
    Deleted,
    /// The file came from another path.
    Renamed,
}

impl Change {
    /// The verb of a commit subject.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Change::Added => "create",
            Change::Modified => "edit",
            Change::Deleted => "delete",
            Change::Renamed => "rename",
        }
    }
}

/// One path of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReport {
    /// Relative to the worktree's root, with `/`.
    pub path: String,
    /// What happened to it.
    pub change: Change,
    /// The path it was renamed from.
    pub from: Option<String>,
    /// The blob id before, as hex.
    pub hash_before: Option<String>,
    /// The blob id after, as hex: what `expected_hash` takes next.
    pub hash_after: Option<String>,
    /// Size before, in bytes.
    pub bytes_before: Option<u64>,
    /// Size after, in bytes.
    pub bytes_after: Option<u64>,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// The numbered text around the change, so that nobody must read the file again.
    pub context: Option<String>,
    /// What the hunks of a patch were found by.
    pub matched_by: Option<MatchedBy>,
}

/// What the old side of a patch's hunks was found by, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// Every byte, line ends aside.
    Exact,
    /// All but white space at the ends of lines.
    TrailingSpace,
    /// All but indentation, by one rule for the whole hunk.
    Indentation,
}

/// What a guard said of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing found.
    Pass,
    /// Found, and policy only warns.
    Warn,
    /// Found, and refused.
    Refuse,
    /// Found, and the request allowed it.
    Allowed,
}

impl Verdict {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Refuse => "refuse",
            Verdict::Allowed => "allowed",
        }
    }

    /// How much it weighs among several of one guard: the strictest most.
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

/// One line of a guard's report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardReport {
    /// The guard's name.
    pub guard: &'static str,
    /// Its verdict.
    pub verdict: Verdict,
    /// The path it judged.
    pub path: String,
    /// What it found.
    pub detail: Option<String>,
}

/// An interrupted transaction that was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Settled {
    /// `finished` if its branch had moved, `taken_back` if not, `recovered` after a restart of the machine.
    pub action: &'static str,
    /// The commit it recorded, or would have.
    pub commit: Option<String>,
    /// Paths that were brought to their state.
    pub files: Vec<String>,
    /// Paths that held neither the old nor the new bytes: a person's work, left alone.
    pub left: Vec<String>,
    /// What happened, in a sentence.
    pub detail: String,
}
