//! How a request ended.

use schemars::JsonSchema;
use serde::Serialize;

/// The result of a request in one word; decides the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The change was made and recorded. Exit status 0.
    Applied,
    /// The request was valid, and the files already have the requested content. Nothing was
    /// recorded. Exit status 0.
    Unchanged,
    /// The dry run found nothing that would refuse the change. Nothing was changed. Exit status 0.
    WouldApply,
    /// The change was recorded as a proposal, as requested. It waits for the user's approval. Exit
    /// status 0.
    Proposed,
    /// The program was run and its changes were recorded, but it ended with a failure. Exit status
    /// 10.
    Failed,
    /// The request was understood and refused. Send a different request. Exit status 1.
    Refused,
    /// The request is malformed. Correct the call. Exit status 2.
    Invalid,
    /// The repository or a file changed since it was read, or is in use. Read it again and repeat
    /// the call. Exit status 3.
    Conflict,
    /// The user must approve or trust something first. Exit status 4.
    Held,
    /// The disk, Git or a missing program prevents the call. Exit status 5.
    Environment,
    /// A defect of edt. Exit status 70.
    Bug,
}

impl Status {
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

    /// The name in JSON.
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
