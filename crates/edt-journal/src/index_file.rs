//! The place of the index file and of its lock, and the finding if another program holds it.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use edt_git::Repo;
use edt_io::disk::Dir;
use edt_io::left_lock::LeftLock;
use edt_io::{enclosure, failed};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// The name of the staged index.
pub(super) const STAGED: &[u8] = b"index";
/// That of one which replaces another staged one.
pub(super) const FRESH: &[u8] = b"index.new";

pub(super) fn open_directory(index: &Path) -> Result<(Dir, Vec<u8>)> {
    let directory = index.parent().unwrap_or(index);
    let name = index.file_name().unwrap_or_default().as_bytes().to_vec();
    let dir =
        enclosure::open_directory(directory).map_err(|error| failed("open", directory, &error))?;
    Ok((dir, name))
}

pub(super) fn busy(path: &Path, what: &str) -> Finding {
    Finding::new(
        Code::RepositoryBusy,
        format!("The index {} {what}.", path.shown()),
        "Repeat the call. If no Git program is running here, a crashed one left index.lock: ask the \
         user to remove it.",
    ).nothing_changed()
}

/// The path of `index.lock` if it is edt's own: the same file as the staged index, or as the index that
/// it became. Git's is neither.
pub(super) fn own_lock(repo: &Repo) -> Option<PathBuf> {
    held_lock(repo).map(|(lock, _)| lock)
}

/// As [`own_lock`], with its device and inode.
pub(super) fn held_lock(repo: &Repo) -> Option<(PathBuf, (u64, u64))> {
    let inode = |path: &Path| path.symlink_metadata().ok().map(|it| (it.dev(), it.ino()));
    let mut lock = repo.index_path().into_os_string();
    lock.push(".lock");
    let lock = PathBuf::from(lock);
    let held = inode(&lock)?;
    let names = [repo.state_path().join("stage/index"), repo.index_path()];
    names.iter().any(|path| inode(path) == Some(held)).then_some((lock, held))
}

/// The `index.lock` that a killed program left, if it seems so. edt recognises its own one by what it
/// staged; whoever removes edt's directory makes it a stranger's.
#[must_use]
pub fn left_lock(repo: &Repo) -> Option<LeftLock> {
    let mut lock = repo.index_path().into_os_string();
    lock.push(".lock");
    LeftLock::at(Path::new(&lock), &[repo.root_path(), repo.git_dir(), repo.common_dir()])
}

pub(super) fn locked(repo: &Repo) -> Finding {
    let found = busy(&repo.index_path(), "is locked by another program");
    match left_lock(repo) {
        Some(left) => Finding {
            summary: format!("{} {}", found.summary, left.found()),
            remedy: format!("{} Then repeat the call.", left.remedy()),
            ..found
        },
        None => found,
    }
}
