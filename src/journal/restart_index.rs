//! The index after a restart: a torn one is made again, and entries follow the branch.

use std::collections::BTreeMap;

use super::files::Stage;
use super::index::{self, EntryMove, IndexView, Lock, Plan};
use super::record::{ChangeRecord, EntryRecord, FileRecord};
use super::recover::standing;
use super::spare;
use crate::base::Result;
use crate::git::index::Staged;
use crate::git::{Folders, Repo, Tracked};

/// Brings the index to what the `landed` ones of `all` changes left, after a power cut: a torn one is replaced by the last that another program wrote, else by one
/// made from HEAD, and what that may cost is said. One that was written since by someone else is left alone.
///
/// # Errors
/// `REPOSITORY_BUSY`, `IO_ERROR`.
pub(super) fn restore(
    repo: &Repo,
    stage: &Stage<'_>,
    landed: &[&ChangeRecord],
    all: &[&ChangeRecord],
) -> Result<Option<&'static str>> {
    if landed.iter().all(|record| record.entries.is_empty()) {
        return Ok(None);
    }
    let mut lost = None;
    if IndexView::is_whole(repo)? {
        let here = IndexView::read(repo)?.stat();
        let replaced = |record: &&ChangeRecord| match (record.index, here) {
            (Some(index), Some(here)) => index.same_content_as(&here),
            (None, None) => true,
            _ => false,
        };
        if !all.iter().filter(|record| !record.entries.is_empty()).any(replaced) {
            return Ok(None);
        }
    } else if spare::bring_back(repo, stage)? {
        lost = Some(OLDER);
    } else {
        spare::read_head(repo)?;
        lost = Some(LOST);
    }
    bring(repo, stage, landed, all)?;
    Ok(lost)
}

/// What is said where an older index was whole.
const OLDER: &str = " The index was torn; the last one that another program wrote before edt's edits was put back: look at `git status` before you commit.";
/// What is said where nothing but HEAD was left to make an index from.
const LOST: &str = " The index was torn and was made again from HEAD: what was staged and not committed must be staged again (`git fsck --lost-found` lists blobs that nothing names).";

/// Moves each entry that still holds what any of `all` changes found or left to what the last of the `landed` ones left.
///
/// # Errors
/// `REPOSITORY_BUSY`, `IO_ERROR`.
pub(super) fn bring(
    repo: &Repo,
    stage: &Stage<'_>,
    landed: &[&ChangeRecord],
    all: &[&ChangeRecord],
) -> Result<()> {
    if landed.iter().all(|record| record.entries.is_empty()) {
        return Ok(());
    }
    let mut chains: BTreeMap<Vec<u8>, (Vec<Staged>, EntryMove, &ChangeRecord)> = BTreeMap::new();
    for record in landed {
        for entry in record.entries.iter().filter_map(EntryRecord::entry) {
            chains.insert(entry.path.as_bytes().to_vec(), (Vec::new(), entry, record));
        }
    }
    for entry in all.iter().flat_map(|record| &record.entries).filter_map(EntryRecord::entry) {
        if let Some((held, ..)) = chains.get_mut(entry.path.as_bytes()) {
            held.extend([entry.seen, entry.file.map_or(Staged::Nothing, Staged::File)]);
        }
    }
    // The index follows HEAD: an entry that HEAD does not hold waits for nobody.
    let head =
        repo.head()?.commit.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))?;
    let mut moving = Vec::new();
    for (held, last, by) in chains.into_values() {
        let in_head = match repo.tracked(head, &last.path)? {
            Tracked::File(file) => Some(file),
            _ => None,
        };
        if in_head == last.file {
            moving.push((held, last, by));
        }
    }
    for _ in 0..20 {
        let view = IndexView::read(repo)?;
        let (mut moves, mut files): (Vec<EntryMove>, Vec<FileRecord>) = (Vec::new(), Vec::new());
        for (held, last, by) in &moving {
            let staged = view.staged(repo, &last.path)?;
            if held.contains(&staged) && staged != last.file.map_or(Staged::Nothing, Staged::File) {
                moves.push(EntryMove { seen: staged, ..last.clone() });
                files.extend(
                    by.files.iter().filter(|file| file.path == last.path.as_bytes()).cloned(),
                );
            }
        }
        if moves.is_empty() {
            return Ok(());
        }
        let Plan::Patch(mut prepared) = view.prepare(stage, &moves, &Folders::new())? else {
            return index::delegate(repo, &moves);
        };
        if prepared.lock(repo, stage)? == Lock::Changed {
            continue;
        }
        let stats = index::stats(stage, &moves, &standing(stage, &files));
        let written =
            prepared.refresh(repo, stage, &stats).and_then(|()| prepared.rename_in(repo, stage));
        if written.is_err() {
            index::unlock(repo, stage)?;
        }
        return written;
    }
    Err(index::restaged(repo).into())
}
