//! The list of private files: `<git-dir>/edt/<worktree>/private-paths`. It belongs to the worktree,
//! whose files it names, and holds in every session there.
//!
//! A change of the list holds a lock of its own, because `edt status` changes it, too.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::not_kept;
use crate::session::files::file_copy::stat_at;
use edt_git::index::IndexState;
use edt_git::{Oid, Repo, Tracked};
use edt_io::lock::{self, LockGuard};
use edt_io::{failed, fs};
use edt_journal::IndexView;
use edt_types::{RepoPath, Result};

/// The most files of a directory that are listed one by one. Of a larger directory, only its own
/// path is listed.
pub(crate) const MAX_FILES: usize = 1000;

/// The listed paths. A path may be a directory.
pub(crate) fn read(repo: &Repo) -> BTreeSet<RepoPath> {
    let bytes = fs::read_small(&place(repo), u64::MAX).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(RepoPath::from_tree)
        .collect()
}

pub(crate) fn includes(listed: &BTreeSet<RepoPath>, path: &RepoPath) -> bool {
    let is_in = |path: &[u8]| listed.contains(&RepoPath::from_tree(path));
    !listed.is_empty() && (listed.contains(path) || path.parents().any(is_in))
}

/// Lists `paths`; of a directory, the files that are in it now.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `SESSION_BUSY`.
pub(crate) fn add(repo: &Repo, paths: &BTreeSet<RepoPath>) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let _lock = lock(repo)?;
    let mut all = read(repo);
    let before = all.len();
    for path in paths {
        let is_directory = stat_at(repo, path).is_some_and(|stat| stat.is_directory());
        let files = is_directory.then(|| not_kept::files_up_to(repo, path, MAX_FILES)).flatten();
        let files = files.map(|all| all.into_iter().map(|(file, _)| file).collect());
        let files: Vec<RepoPath> = files.unwrap_or_else(|| vec![path.clone()]);
        let new: Vec<RepoPath> = files.into_iter().filter(|file| !includes(&all, file)).collect();
        all.extend(new);
    }
    if all.len() > before {
        write(repo, &all)?;
    }
    Ok(())
}

/// The listed paths that may be private: they exist, and neither `tree` nor the index has them. The
/// others leave the list; if it cannot be written now, a later call removes them. A path that a rule
/// ignores now stays listed: another branch may not have the rule.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn prune(repo: &Repo, tree: Oid) -> Result<BTreeSet<RepoPath>> {
    let listed = read(repo);
    let current = current(repo, tree, &listed)?;
    if current.len() < listed.len()
        && let Ok(_lock) = lock(repo)
    {
        // Another call may have added paths meanwhile.
        let _ = write(repo, &self::current(repo, tree, &read(repo))?);
    }
    Ok(current)
}

fn current(repo: &Repo, tree: Oid, listed: &BTreeSet<RepoPath>) -> Result<BTreeSet<RepoPath>> {
    if listed.is_empty() {
        return Ok(BTreeSet::new());
    }
    let (index, mut current) = (IndexView::read(repo)?, BTreeSet::new());
    for path in listed {
        if stat_at(repo, path).is_some()
            && matches!(repo.tracked(tree, path)?, Tracked::Nothing | Tracked::Directory)
            && index.staged(repo, path)? == IndexState::Nothing
        {
            current.insert(path.clone());
        }
    }
    Ok(current)
}

fn write(repo: &Repo, paths: &BTreeSet<RepoPath>) -> Result<()> {
    let place = place(repo);
    let bytes: Vec<u8> =
        paths.iter().flat_map(|path| path.as_bytes().iter().chain(&[0])).copied().collect();
    Ok(fs::write_atomic(&place, &bytes, 0o600).map_err(|error| failed("write", &place, &error))?)
}

fn place(repo: &Repo) -> PathBuf {
    repo.state_path().join("private-paths")
}

fn lock(repo: &Repo) -> Result<LockGuard> {
    lock::acquire(&place(repo).with_extension("lock"), "edt", Duration::from_secs(5))
}
