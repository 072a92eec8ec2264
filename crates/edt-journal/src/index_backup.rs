//! Backup names of indexes. A power failure that tears the indexes that edt wrote does not destroy
//! what the user had staged.

use std::path::Path;

use super::files::StagingArea;
use super::index_file::{STAGED, busy, open_directory};
use edt_git::Repo;
use edt_io::disk::{Dir, FoundEntry, RenameMode, Stat};
use edt_io::{failed, spawn};
use edt_types::{Code, Finding, Result};

/// A second name of the index that edt wrote last, so that the next call recognises it.
pub(super) const OWN: &[u8] = b"index.own";
/// A second name of the last index that edt did not write, or that was synced. Whatever is staged
/// in it and in no commit survives a power failure that tears the later indexes of edt.
const BEFORE: &[u8] = b"index.before";

/// Records that the staged index is now the index.
pub(super) fn record_own(stage: &StagingArea<'_>) {
    if stage.dir().rename(STAGED, stage.dir(), OWN, RenameMode::Replace).is_err() {
        let _ = stage.dir().unlink(STAGED);
    }
}

/// Backs up the index with that stat, unless edt wrote it.
pub(super) fn back_up(stage: &StagingArea<'_>, stat: &Stat) -> std::io::Result<()> {
    if stage.dir().stat(OWN)?.is_some_and(|own| own.inode() == stat.inode()) {
        return Ok(());
    }
    let Ok((dir, name)) = open_directory(&stage.repo.index_path()) else { return Ok(()) };
    // The index may be replaced at this moment, or the file system may lack hard links. Then there
    // is one backup less, and no harm.
    stage.dir().unlink(BEFORE)?;
    if dir.link(&name, stage.dir(), BEFORE).is_ok() {
        // Git does not sync its index. An edit waits for this sync only after another program wrote
        // the index.
        stage.dir().sync(BEFORE)?;
        stage.dir().sync_entries()?;
    }
    Ok(())
}

/// Removes the backups in edt's `directory`. The caller syncs the index itself.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn remove_backups(directory: &Path) -> std::io::Result<()> {
    let Ok(dir) = Dir::open(&directory.join("stage")) else { return Ok(()) };
    [OWN, BEFORE].into_iter().try_for_each(|name| dir.unlink(name))
}

/// Replaces the index with the last one that another program wrote; false if there is none, or it
/// is torn, too.
///
/// # Errors
/// `REPOSITORY_BUSY` if another program holds the index; `IO_ERROR`.
pub(super) fn restore_backup(repo: &Repo, stage: &StagingArea<'_>) -> Result<bool> {
    let Ok(FoundEntry::File(_, bytes)) = stage.dir().read(BEFORE) else { return Ok(false) };
    if !repo.is_valid_index(&bytes) {
        return Ok(false);
    }
    let path = repo.index_path();
    let (dir, name) = open_directory(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    match stage.dir().link(BEFORE, &dir, &lock) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(busy(&path, "is locked by another program").into());
        }
        Err(error) => return Err(failed("lock", &path, &error).into()),
    }
    dir.rename(&lock, &dir, &name, RenameMode::Replace)
        .map_err(|error| failed("write", &path, &error))?;
    Ok(true)
}

/// Rebuilds the index from HEAD's tree.
///
/// # Errors
/// `IO_ERROR` if Git fails; `PROGRAM_NOT_FOUND`.
pub(super) fn rebuild_from_head(repo: &Repo) -> Result<()> {
    let head = repo.head()?.commit.map(|commit| commit.to_string());
    let tree = head.as_deref().unwrap_or("--empty");
    let ran = spawn::git(repo.environment(), repo.root_path(), &["read-tree", tree], b"")?;
    if !ran.ok {
        let message = format!("Git could not rebuild the index: {}", ran.stderr.trim());
        return Err(Finding::new(
            Code::IoError,
            message,
            "Fix what Git reports, then repeat the call.",
        )
        .into());
    }
    // Otherwise the files that a sparse checkout excludes would look deleted.
    if repo.is_sparse() {
        spawn::git(repo.environment(), repo.root_path(), &["sparse-checkout", "reapply"], b"")?;
    }
    let settings = repo.settings_without_untrusted_filters()?;
    spawn::git_with_settings(
        repo.environment(),
        repo.root_path(),
        &settings,
        &["update-index", "-q", "--refresh"],
        b"",
    )
    .map(drop)
}
