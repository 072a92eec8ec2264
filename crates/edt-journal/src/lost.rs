//! What an interrupted call left, when its journal is gone or damaged. Only identity and content
//! say then whose a file is: a lock of edt is the same inode as the staging file from which it was
//! linked.

use std::path::PathBuf;

use super::files::StagingArea;
use super::sweep::{keep, staged_files};
use super::{index, open_mark, private};
use edt_git::Repo;
use edt_types::text::Shown as _;
use edt_types::{Recovered, Result};

/// The locks that are edt's own in this worktree. The caller holds the worktree's lock, so that no
/// running call has them.
#[must_use]
pub fn own_locks(repo: &Repo) -> Vec<PathBuf> {
    let mut locks = repo.own_ref_locks();
    locks.extend(index::own_lock(repo));
    locks
}

/// Removes edt's own locks, and the staged files whose bytes Git or the private store has. Other
/// staged files are kept under another name: they may have been displaced. The lock of the index
/// becomes the index if HEAD's tree has its entries, because Git would else show the commit's
/// reversal as staged.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the next call tries again.
pub fn release(repo: &Repo) -> Result<Option<Recovered>> {
    let locks = own_locks(repo);
    open_mark::remove_all(repo.state_path());
    let staged = staged_files(repo.state_path());
    if repo.state_path().join("stage").is_dir() {
        index::release(repo, &StagingArea::open(repo)?)?;
    }
    repo.unlock_own_refs()?;
    let mut kept = 0;
    for path in &staged {
        let bytes = edt_io::fs::read_small(path, edt_io::disk::MAX_FILE)
            .filter(|_| !edt_io::fs::is_link(path));
        let id = bytes.and_then(|bytes| repo.blob_id(&bytes).ok());
        if id.is_some_and(|id| private::bytes(repo, id).is_ok()) {
            edt_io::fs::remove_file(path)
                .map_err(|error| edt_io::failed("remove", path, &error))?;
        } else {
            keep(path)?;
            kept += 1;
        }
    }
    if locks.is_empty() && kept == 0 {
        return Ok(None);
    }
    let mut detail = "The journal of an interrupted call was lost.".to_owned();
    if !locks.is_empty() {
        let names: Vec<String> = locks.iter().map(|lock| lock.shown()).collect();
        detail.push_str(&format!(" The call's locks were removed: {}.", names.join(", ")));
    }
    if kept > 0 {
        let stage = repo.state_path().join("stage");
        detail.push_str(&format!(
            " Staged files that no commit has are kept: {}.",
            stage.join("kept-*").shown()
        ));
    }
    detail.push_str(" `git status` shows which files it had changed.");
    Ok(Some(Recovered {
        action: "left",
        commit: None,
        files: Vec::new(),
        left: Vec::new(),
        detail,
    }))
}
