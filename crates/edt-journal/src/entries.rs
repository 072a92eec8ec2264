//! Brings the index to the state after a transaction whose branch has moved.

use super::entry::EntryMove;
use super::files::{StagingArea, TargetState};
use super::index::{self, IndexView, LockOutcome};
use super::record::{ChangeRecord, EntryRecord, FileRecord};
use edt_git::index::IndexState;
use edt_git::{Repo, TouchedTrees, Tracked};
use edt_types::Result;

/// Moves the entries that are as the transaction found them to the state after it. Any other one is
/// the user's. The index follows HEAD, so an entry that differs from HEAD's tree stays, too.
///
/// # Errors
/// `REPOSITORY_BUSY`, `IO_ERROR`.
pub(super) fn move_entries(
    repo: &Repo,
    stage: &StagingArea<'_>,
    record: &ChangeRecord,
) -> Result<()> {
    let mut wanted: Vec<EntryMove> = Vec::new();
    if !record.entries.is_empty() {
        let head = repo.head_tree()?;
        for entry in record.entries.iter().filter_map(EntryRecord::entry) {
            let in_head = match repo.tracked(head, &entry.path)? {
                Tracked::File(file) => Some(file),
                _ => None,
            };
            wanted.extend((in_head == entry.file).then_some(entry));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    for _ in 0..20 {
        let view = IndexView::read(repo)?;
        let mut moves = Vec::new();
        for entry in &wanted {
            let after = entry.file.map_or(IndexState::Nothing, IndexState::File);
            if entry.seen != after && view.staged(repo, &entry.path)? == entry.seen {
                moves.push(entry.clone());
            }
        }
        if moves.is_empty() {
            return Ok(());
        }
        let mut prepared = view.prepare(stage, &moves, &TouchedTrees::new())?;
        if prepared.lock(repo, stage)? == LockOutcome::Changed {
            continue;
        }
        let stats = index::stats(stage, &moves, &with_new_content(stage, &record.files));
        let written = prepared
            .refresh(repo, stage, &stats)
            .and_then(|()| prepared.sync(stage))
            .and_then(|()| prepared.rename_in(repo, stage))
            .and_then(|()| index::sync(repo));
        if written.is_err() {
            index::unlock(repo)?;
        }
        return written;
    }
    Err(index::restaged(repo).into())
}

/// The `files` that still have the written content. Only their entries may have a stat.
fn with_new_content(stage: &StagingArea<'_>, files: &[FileRecord]) -> Vec<FileRecord> {
    let is_new = |file: &&FileRecord| matches!(stage.target_state(file), Ok(TargetState::New));
    files.iter().filter(is_new).cloned().collect()
}
