//! What a program changed and only the user may approve: it is taken out, kept at a ref, and can be
//! proposed, while the rest is recorded.

use std::collections::BTreeSet;

use super::program_change::ProgramChange;
use super::snapshot::Snapshot;
use edt_git::Oid;
use edt_types::{RepoPath, Warning, WarningCode};

/// What to do with the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordAction {
    /// Record them.
    Record,
    /// Put the files back as they were. The changes stay at `refs/edt/<name>/refused/<n>`.
    Restore,
    /// Put these files back, whose changes stay at such a ref, and record the others.
    Hold(BTreeSet<RepoPath>),
}

/// Changes that were taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldChanges {
    /// The commit that has them, and nothing else, on top of the session's tip before the program.
    pub commit: Oid,
    /// The ref that keeps the commit.
    pub name: String,
}

impl RecordAction {
    /// The changes to put back, and those to record.
    pub(super) fn split(
        &self,
        changed: Vec<ProgramChange>,
    ) -> (Vec<ProgramChange>, Vec<ProgramChange>) {
        changed.into_iter().partition(|one| match self {
            RecordAction::Record => false,
            RecordAction::Restore => true,
            RecordAction::Hold(paths) => paths.contains(&one.state.path),
        })
    }
}

/// What the program changed for certain, and the rest.
pub(super) fn provable(
    before: &Snapshot,
    changed: Vec<ProgramChange>,
) -> (Vec<ProgramChange>, Vec<ProgramChange>) {
    changed.into_iter().partition(|one| before.proves(&one.state.path))
}

pub(super) fn not_put_back(path: &RepoPath) -> Warning {
    let message = "Somebody else wrote this file while the program ran, too: it stays as it is.";
    Warning { code: WarningCode::NotRestorable, path: Some(path.text()), message: message.to_owned() }
}
