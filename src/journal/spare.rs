//! Other names of indexes, so that a power cut that tears the ones edt wrote does not take what a person had staged.

use std::path::Path;

use super::files::Stage;
use super::index::{STAGED, busy, open_folder};
use crate::base::{Code, Finding, Result};
use crate::git::Repo;
use crate::io::disk::{Dir, Found, Move, Stat};
use crate::io::{failed, spawn};

/// A second name of the index that edt wrote last, so that the next call knows it for edt's own.
pub(super) const OWN: &[u8] = b"index.own";
/// A second name of the last index that was not edt's own or was synced: all that is staged in it and in no commit outlives a power cut
/// that tears the ones edt wrote after it.
const BEFORE: &[u8] = b"index.before";

/// Notes that the staged index is the index now.
pub(super) fn know_own(stage: &Stage<'_>) {
    if stage.dir().rename(STAGED, stage.dir(), OWN, Move::Replace).is_err() {
        let _ = stage.dir().unlink(STAGED);
    }
}

/// Gives the index with that stat a second name, unless it is edt's own.
pub(super) fn keep_before(stage: &Stage<'_>, stat: &Stat) -> std::io::Result<()> {
    if stage.dir().stat(OWN)?.is_some_and(|own| own.inode() == stat.inode()) {
        return Ok(());
    }
    let Ok((dir, name)) = open_folder(&stage.repo.index_path()) else { return Ok(()) };
    // An index that is replaced at this moment, or a file system without links: then there is one chance less, and no harm.
    stage.dir().unlink(BEFORE)?;
    if dir.link(&name, stage.dir(), BEFORE).is_ok() {
        // Git does not sync its index. Only after another program wrote it does an edit wait for this.
        stage.dir().sync(BEFORE)?;
        stage.dir().sync_entries()?;
    }
    Ok(())
}

/// Forgets the other names of indexes in edt's `folder`: the index itself is about to be synced.
///
/// # Errors
/// Whatever the system says.
pub(super) fn forget(folder: &Path) -> std::io::Result<()> {
    let Ok(dir) = Dir::open(&folder.join("stage")) else { return Ok(()) };
    [OWN, BEFORE].into_iter().try_for_each(|name| dir.unlink(name))
}

/// Puts the last index that another program wrote in the place of the present one; false if there is none, or it is torn, too.
///
/// # Errors
/// `REPOSITORY_BUSY` if another program holds the index; `IO_ERROR`.
pub(super) fn bring_back(repo: &Repo, stage: &Stage<'_>) -> Result<bool> {
    let Ok(Found::File(_, bytes)) = stage.dir().read(BEFORE) else { return Ok(false) };
    if !repo.is_whole_index(&bytes) {
        return Ok(false);
    }
    let path = repo.index_path();
    let (dir, name) = open_folder(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    match stage.dir().link(BEFORE, &dir, &lock) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(busy(&path, "is locked by another program").into());
        }
        Err(error) => return Err(failed("lock", &path, &error).into()),
    }
    dir.rename(&lock, &dir, &name, Move::Replace)
        .map_err(|error| failed("write", &path, &error))?;
    Ok(true)
}

/// Makes the index anew from HEAD's tree.
///
/// # Errors
/// `IO_ERROR` if Git cannot; `PROGRAM_NOT_FOUND`.
pub(super) fn read_head(repo: &Repo) -> Result<()> {
    let head = repo.head()?.commit.map(|commit| commit.to_string());
    let tree = head.as_deref().unwrap_or("--empty");
    let ran = spawn::git(repo.root_path(), &["read-tree", tree], b"")?;
    if !ran.ok {
        let message = format!("Git could not make the index anew: {}", ran.stderr.trim());
        return Err(Finding::new(
            Code::IoError,
            message,
            "Mend what Git reports, then repeat the call.",
        )
        .into());
    }
    // Without this the files that a sparse checkout leaves out would look deleted.
    if repo.is_sparse() {
        spawn::git(repo.root_path(), &["sparse-checkout", "reapply"], b"")?;
    }
    let settings = repo.without_untrusted()?;
    spawn::git_with_settings(repo.root_path(), &settings, &["update-index", "-q", "--refresh"], b"")
        .map(drop)
}
