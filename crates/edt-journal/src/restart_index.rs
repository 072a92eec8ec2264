//! The index after a restart of the machine: a torn index is replaced, and entries follow the
//! branch.

use std::collections::BTreeMap;

use super::entry::EntryMove;
use super::files::{StagingArea, TargetState};
use super::index::{self, IndexPlan, IndexView, LockOutcome};
use super::index_backup;
use super::record::{ChangeRecord, EntryRecord, FileRecord};
use edt_git::index::IndexState;
use edt_git::{Oid, Repo, TouchedTrees, Tracked};
use edt_io::disk::Stat;
use edt_types::{RepoPath, Result};

/// Whether anything besides the index was lost, so that the index may be an old one that some program
/// wrote again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherLosses {
    None,
    /// Before the recovery, HEAD had this tree, if it could be read.
    Some(Option<Oid>),
}

/// Brings the index to the state after the `committed` ones of `all` transactions. A torn index is
/// replaced by the last one that another program wrote, otherwise by one made from HEAD; the
/// returned text says what may be lost.
///
/// After a loss the values of the entries decide, not who wrote the index last: any `git status` may
/// have written an old index again. After an orderly restart only the very file that a record
/// replaced is an old index, and every other one is as the user left it.
///
/// # Errors
/// `REPOSITORY_BUSY`, `IO_ERROR`.
pub(super) fn restore(
    repo: &Repo,
    stage: &StagingArea<'_>,
    committed: &[&ChangeRecord],
    all: &[&ChangeRecord],
    losses: OtherLosses,
) -> Result<Option<&'static str>> {
    let without_entries = |record: &&ChangeRecord| record.entries.is_empty();
    // What edt did not write since the last checkpoint is not edt's to replace. The end of a session
    // writes the index, although it moves no entry.
    if all.iter().all(|record| record.index.is_none() && record.entries.is_empty()) {
        return Ok(None);
    }
    let lost = if IndexView::is_intact(repo)? {
        if committed.iter().all(without_entries)
            || losses == OtherLosses::None && !is_a_replaced_one(repo, all.iter().copied())?
        {
            return Ok(None);
        }
        None
    } else if index_backup::restore_backup(repo, stage)? {
        Some(OLDER)
    } else {
        index_backup::rebuild_from_head(repo)?;
        Some(LOST)
    };
    let found = if let OtherLosses::Some(found) = losses { found } else { None };
    move_entries(repo, stage, committed, all, found)?;
    Ok(lost)
}

/// Whether the index is the very file that one of `records` replaced.
///
/// # Errors
/// `IO_ERROR` if it cannot be read.
pub(super) fn is_a_replaced_one<'r>(
    repo: &Repo,
    records: impl IntoIterator<Item = &'r ChangeRecord>,
) -> Result<bool> {
    let here = IndexView::read(repo)?.stat();
    Ok(records.into_iter().any(|record| has_replaced(record, here)))
}

/// Whether `here` is the index that a transaction replaced.
fn has_replaced(record: &ChangeRecord, here: Option<Stat>) -> bool {
    !record.entries.is_empty()
        && match (record.index, here) {
            (Some(index), Some(here)) => Stat { dev: here.dev, ..index }.same_content_as(&here),
            (None, None) => true,
            _ => false,
        }
}

/// The message if an older index was complete.
const OLDER: &str = " The index was torn. The last one that another program wrote before edt's edits was \
     restored: check `git status` before you commit.";
/// The message if the index was rebuilt from HEAD.
const LOST: &str = " The index was torn and was rebuilt from HEAD. Stage again what was staged and not \
     committed (`git fsck --lost-found` lists unreferenced blobs).";

/// Brings each entry to the state after the last of the `committed` transactions, if it still has a
/// state that any of `all` transactions found or left. An entry that the user put back since stays:
/// it has no stat (`git reset -- PATH`), or the file has the same content (`git add`). Nobody did
/// that in an index that is still the file that a transaction replaced. `found`: the tree that HEAD
/// had before the recovery, if HEAD moved. What was equal to it was not staged.
///
/// # Errors
/// `REPOSITORY_BUSY`, `IO_ERROR`.
pub(super) fn move_entries(
    repo: &Repo,
    stage: &StagingArea<'_>,
    committed: &[&ChangeRecord],
    all: &[&ChangeRecord],
    found: Option<Oid>,
) -> Result<()> {
    if committed.iter().all(|record| record.entries.is_empty()) {
        return Ok(());
    }
    let mut chains: BTreeMap<Vec<u8>, Chain<'_>> = BTreeMap::new();
    for by in committed {
        for last in by.entries.iter().filter_map(EntryRecord::entry) {
            let chain = Chain { held: Vec::new(), without_stat: false, last, by, ended: false };
            chains.insert(chain.last.path.as_bytes().to_vec(), chain);
        }
    }
    for transaction in all {
        for record in &transaction.entries {
            let Some(entry) = record.entry() else { continue };
            let chain = chains.get_mut(entry.path.as_bytes()).filter(|chain| !chain.ended);
            if let Some(chain) = chain {
                let after = entry.file.map_or(IndexState::Nothing, IndexState::File);
                chain.held.extend([entry.seen, after]);
                chain.without_stat |= record.without_stat;
                chain.ended = std::ptr::eq(*transaction, chain.by);
            }
        }
    }
    // The index follows HEAD, so entries that differ from HEAD's tree are skipped.
    let head = repo.head_tree()?;
    let mut moving = Vec::new();
    for chain in chains.into_values() {
        let in_head = match repo.tracked(head, &chain.last.path)? {
            Tracked::File(file) => Some(file),
            _ => None,
        };
        if in_head == chain.last.file {
            moving.push(chain);
        }
    }
    // Nobody staged anything since the transaction that replaced the index.
    let here = IndexView::read(repo)?.stat();
    let since = committed.iter().position(|record| has_replaced(record, here));
    let since = since.map_or(&[][..], |at| &committed[at..]);
    for _ in 0..20 {
        let view = IndexView::read(repo)?;
        let (mut moves, mut files): (Vec<EntryMove>, Vec<FileRecord>) = (Vec::new(), Vec::new());
        for Chain { held, without_stat, last, by, .. } in &moving {
            let staged = view.staged(repo, &last.path)?;
            let file = by.files.iter().find(|file| file.path == last.path.as_bytes());
            if held.contains(&staged)
                && staged != last.file.map_or(IndexState::Nothing, IndexState::File)
                && (since.iter().any(|record| std::ptr::eq(*record, *by))
                    || is_unstaged(repo, found, &last.path, staged)
                    || (*without_stat || !view.has_no_stat(&last.path))
                        && !is_on_disk(stage, file, staged)?)
            {
                moves.push(EntryMove { seen: staged, ..last.clone() });
                files.extend(file.cloned());
            }
        }
        if moves.is_empty() {
            return Ok(());
        }
        let IndexPlan::Patch(mut prepared) = view.prepare(stage, &moves, &TouchedTrees::new())?
        else {
            return index::delegate(repo, &moves);
        };
        if prepared.lock(repo, stage)? == LockOutcome::Changed {
            continue;
        }
        let stats = index::stats(stage, &moves, &with_new_content(stage, &files));
        let written =
            prepared.refresh(repo, stage, &stats).and_then(|()| prepared.rename_in(repo, stage));
        if written.is_err() {
            index::unlock(repo, stage)?;
        }
        return written;
    }
    Err(index::restaged(repo).into())
}

/// The transactions of one path of the index, up to the last committed one. What a later one left
/// is the user's, who took it out of the branch (`git reset --soft`).
struct Chain<'r> {
    /// What they found and left.
    held: Vec<IndexState>,
    /// Whether one of them found the entry without a stat.
    without_stat: bool,
    /// The last committed change of the entry, and its transaction.
    last: EntryMove,
    by: &'r ChangeRecord,
    ended: bool,
}

/// Whether the entry was equal to the tree `found`, so that the user had staged nothing there.
fn is_unstaged(repo: &Repo, found: Option<Oid>, path: &RepoPath, staged: IndexState) -> bool {
    match found.map(|found| repo.tracked(found, path)) {
        Some(Ok(Tracked::File(file))) => staged == IndexState::File(file),
        Some(Ok(Tracked::Nothing)) => staged == IndexState::Nothing,
        _ => false,
    }
}

/// Whether the file has what is staged. Files were recovered before: this one is the user's, and so
/// is the entry.
fn is_on_disk(
    stage: &StagingArea<'_>,
    file: Option<&FileRecord>,
    staged: IndexState,
) -> Result<bool> {
    let Some(file) = file else { return Ok(false) };
    Ok(matches!(staged, IndexState::File(staged) if stage.current(file)? == Some(staged)))
}

/// The `files` that still have the written content. Only their entries may have a stat.
fn with_new_content(stage: &StagingArea<'_>, files: &[FileRecord]) -> Vec<FileRecord> {
    files
        .iter()
        .filter(|file| matches!(stage.target_state(file), Ok(TargetState::New)))
        .cloned()
        .collect()
}
