//! The index during a transaction: read, patched in a staged copy, locked as Git locks it, and
//! replaced by a rename.
//!
//! `index.lock` is created complete, as a hard link to the staged index. It exists only during the
//! exchange of the files and the commit point: the span in which plain Git must not commit one half
//! of the transaction.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::entry::{DiskState, EntryMove};
use super::files::StagingArea;
pub use super::index_file::left_lock;
use super::index_file::{FRESH, STAGED, busy, held_lock, locked, open_directory, own_lock};
use super::record::FileRecord;
use edt_git::index::{EntryChange, Index, IndexState, UnsupportedIndex};
use edt_git::{Oid, Repo, TouchedTrees, Tracked};
use edt_io::clock::Countdown;
use edt_io::disk::{Dir, FoundEntry, Perms, RenameMode, Stat};
use edt_io::{failed, file, fs, link_failed, spawn};
use edt_types::{Finding, RepoPath, Result};

/// The maximum wait for another program's `index.lock`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The index as it was read.
#[derive(Debug)]
pub struct IndexView {
    index: Kind,
    stat: Option<Stat>,
}

#[derive(Debug)]
enum Kind {
    Patchable(Index),
    /// An index that only Git may rewrite. `gix` reads its entries.
    Foreign,
}

/// A changed copy of the index in the staging area.
#[derive(Debug)]
pub struct PreparedIndex {
    /// `None` if Git made the copy. Its entries have no stat.
    index: Option<Index>,
    seen: Option<Stat>,
    /// The device and the inode of `index.lock`, while it is held.
    held: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOutcome {
    /// The lock is held.
    Held,
    /// The lock was released, because the index changed since it was read.
    Changed,
}

impl IndexView {
    /// Reads the index.
    ///
    /// # Errors
    /// `IO_ERROR` if the index exists and cannot be read.
    pub fn read(repo: &Repo) -> Result<IndexView> {
        let path = repo.index_path();
        let hash_len = repo.null().as_slice().len();
        let (dir, name) = open_directory(&path)?;
        match dir.read(&name).map_err(|error| failed("read", &path, &error))? {
            FoundEntry::Nothing => {
                Ok(IndexView { index: Kind::Patchable(Index::empty(hash_len)), stat: None })
            }
            FoundEntry::File(stat, bytes) => {
                let index = Index::parse(bytes, hash_len).map_or(Kind::Foreign, Kind::Patchable);
                Ok(IndexView { index, stat: Some(stat) })
            }
            _ => Ok(IndexView { index: Kind::Foreign, stat: None }),
        }
    }

    /// The entry for `path`.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn staged(&self, repo: &Repo, path: &RepoPath) -> Result<IndexState> {
        match &self.index {
            Kind::Patchable(index) => Ok(index.staged(path)),
            Kind::Foreign => repo.staged_via_gix(path),
        }
    }

    /// An entry whose path differs from `path` only in case. `None` for an index that edt does not
    /// patch: the caller checks the tree instead.
    #[must_use]
    pub fn case_collision(&self, path: &RepoPath) -> Option<RepoPath> {
        match &self.index {
            Kind::Patchable(index) => index.case_collision(path),
            Kind::Foreign => None,
        }
    }

    /// Whether a sparse checkout excludes the path.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn is_skipped(&self, repo: &Repo, path: &RepoPath) -> Result<bool> {
        match &self.index {
            Kind::Patchable(index) => Ok(index.is_skipped(path)),
            Kind::Foreign => repo.skipped_via_gix(path),
        }
    }

    /// Changes a staged copy for `moves`. Git changes the copy of an index that edt does not patch, such
    /// as a split one.
    ///
    /// # Errors
    /// `IO_ERROR` and others of the disk; `REPOSITORY_BUSY` if Git could not; `PROGRAM_NOT_FOUND`.
    pub fn prepare(
        self,
        stage: &StagingArea<'_>,
        moves: &[EntryMove],
        touched_trees: &TouchedTrees,
    ) -> Result<PreparedIndex> {
        let Kind::Patchable(mut index) = self.index else { return delegate(stage, moves) };
        let stat =
            Stat { dev: 0, ino: 0, size: 0, mtime: (0, 0), ctime: (0, 0), mode: 0, uid: 0, gid: 0 };
        let change = |entry: &EntryMove| EntryChange {
            path: entry.path.clone(),
            file: entry.file.map(|file| (file, stat)),
        };
        let changes: Vec<EntryChange> = moves.iter().map(change).collect();
        if index.patch(&changes, touched_trees) == Err(UnsupportedIndex) {
            return delegate(stage, moves);
        }
        put_staged(stage, index.finish(|_| None), self.stat)?;
        Ok(PreparedIndex { index: Some(index), seen: self.stat, held: None })
    }
}

/// Writes the staged index, with the permissions of the one that it replaces.
fn put_staged(stage: &StagingArea<'_>, bytes: &[u8], like: Option<Stat>) -> Result<()> {
    let perms = like.map_or(Perms::Exactly(0o666), |like| Perms::Of(like, false));
    let dir = stage.dir();
    let staged = match dir.write_new(STAGED, bytes, perms) {
        // In one step: while a recovery is unfinished, a staged index says that the index follows.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => dir
            .write_staged(FRESH, bytes, perms)
            .and_then(|()| dir.rename(FRESH, dir, STAGED, RenameMode::Replace)),
        written => written,
    };
    staged.map_err(|error| failed("stage the index in", stage.repo.state_path(), &error))?;
    stage.repo.share(&stage.repo.state_path().join("stage/index"))
}

/// Lets Git add the stats of the files to the index, so that none of them looks changed. Without them
/// Git compares the files once more: a failure is ignored.
pub(super) fn refresh_by_git(repo: &Repo) {
    // A refresh may compare contents, which Git passes through filters.
    let Ok(settings) = repo.settings_without_untrusted_filters() else { return };
    let args = ["update-index", "-q", "--refresh"];
    let _ = spawn::git_with_settings(repo.environment(), repo.root_path(), &settings, &args, b"");
}

/// Changes a staged copy of the index by `git update-index`.
fn delegate(stage: &StagingArea<'_>, moves: &[EntryMove]) -> Result<PreparedIndex> {
    let repo = stage.repo;
    let path = repo.index_path();
    let (dir, name) = open_directory(&path)?;
    let found = dir.read(&name).map_err(|error| failed("read", &path, &error))?;
    let seen = if let FoundEntry::File(stat, bytes) = found {
        put_staged(stage, &bytes, Some(stat))?;
        Some(stat)
    } else {
        let _ = stage.dir().unlink(STAGED);
        None
    };
    let null: Oid = repo.null();
    let mut input = Vec::new();
    for entry in moves {
        let (mode, oid) = entry.file.map_or((0, null), |file| (file.mode.bits(), file.oid));
        input.extend_from_slice(format!("{mode:06o} {oid} 0\t").as_bytes());
        input.extend_from_slice(entry.path.as_bytes());
        input.push(0);
    }
    let staged = repo.state_path().join("stage/index");
    let _ = stage.dir().unlink(b"index.lock");
    let ran = spawn::git_with(
        repo.environment(),
        repo.root_path(),
        // Before HEAD moves, Git 2.47 would write a tree with duplicate entries for a sparse index. The
        // refresh afterwards makes the index sparse again.
        &["-c", "index.sparse=false", "update-index", "-z", "--index-info"],
        &input,
        spawn::Hooks::Off,
        &[("GIT_INDEX_FILE", staged.as_os_str())],
    )?;
    if !ran.ok {
        let why = format!("could not be updated by git: {}", ran.stderr.trim());
        return Err(busy(&path, &why).into());
    }
    Ok(PreparedIndex { index: None, seen, held: None })
}

impl PreparedIndex {
    /// Whether Git changes the copy.
    #[must_use]
    pub(super) fn is_delegated(&self) -> bool {
        self.index.is_none()
    }

    /// Takes `index.lock`. Returns [`LockOutcome::Changed`] if the index is no longer the one that
    /// was read.
    ///
    /// # Errors
    /// `REPOSITORY_BUSY` if another program holds the lock.
    pub fn lock(&mut self, repo: &Repo, stage: &StagingArea<'_>) -> Result<LockOutcome> {
        let path = repo.index_path();
        let (dir, name) = open_directory(&path)?;
        let lock = [&name, b".lock".as_slice()].concat();
        let mut countdown = Countdown::new(LOCK_WAIT);
        loop {
            match stage.dir().link(STAGED, &dir, &lock) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    if !countdown.pause() {
                        return Err(locked(repo).into());
                    }
                }
                Err(error) => return Err(link_failed("lock", &path, &error).into()),
            }
        }
        let stat = |name: &[u8]| dir.stat(name).map_err(|error| failed("read", &path, &error));
        self.held = stat(&lock)?.map(|lock| lock.inode());
        let current = stat(&name)?;
        let same = match (&current, &self.seen) {
            (None, None) => true,
            (Some(current), Some(seen)) => current.same_content_as(seen),
            _ => false,
        };
        if same {
            return Ok(LockOutcome::Held);
        }
        unlock(repo)?;
        Ok(LockOutcome::Changed)
    }

    /// Waits until no other program holds the index, without taking the lock.
    ///
    /// # Errors
    /// `REPOSITORY_BUSY` if another program holds it for as long as `most`.
    pub fn check_free(repo: &Repo, most: Duration) -> Result<()> {
        let path = repo.index_path();
        let (dir, name) = open_directory(&path)?;
        let mut countdown = Countdown::new(most);
        while !matches!(dir.stat(&[&name, b".lock".as_slice()].concat()), Ok(None)) {
            if !countdown.pause() {
                return Err(locked(repo).into());
            }
        }
        Ok(())
    }

    /// Writes the current stats of the files into the staged index.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn refresh(
        &mut self,
        repo: &Repo,
        stage: &StagingArea<'_>,
        stats: &[(RepoPath, Stat)],
    ) -> Result<()> {
        let Some(index) = &mut self.index else { return Ok(()) };
        let mut parts: Vec<_> =
            stats.iter().filter_map(|(path, stat)| index.restat(path, stat)).collect();
        let bytes = index.finish(|bytes| repo.checksum(bytes));
        parts.push(bytes.len() - repo.null().as_slice().len()..bytes.len());
        let parts: Vec<_> = parts.into_iter().map(|at| (at.start as u64, &bytes[at])).collect();
        let wrap =
            |error: std::io::Error| failed("stage the index in", Path::new(".git/edt"), &error);
        stage.dir().patch(STAGED, &parts).map_err(wrap)?;
        // A file that was written in the same second as the index may have changed since without a
        // trace in its stat. Git compares its content, but only while the index is not newer.
        if let Some(seen) = self.seen.filter(|seen| index.is_racy(seen.mtime.0)) {
            // Another nanosecond, so that the stat of no two indexes is the same.
            let time = (seen.mtime.0, (seen.mtime.1 + 1).min(999_999_999));
            stage.dir().set_modified(STAGED, time).map_err(wrap)?;
        }
        Ok(())
    }

    /// Syncs the staged index, so that its name never has torn content, and the file that a split index
    /// shares. Nothing if the repository is not durable.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn sync(&self, stage: &StagingArea<'_>) -> Result<()> {
        let repo = stage.repo;
        if !repo.is_durable() {
            return Ok(());
        }
        let names = if self.index.is_none() { fs::names_in(repo.git_dir()) } else { Vec::new() };
        for shared in names.iter().filter(|name| name.as_bytes().starts_with(b"sharedindex.")) {
            let path = repo.git_dir().join(shared);
            match file::sync(&path) {
                // Git removes those that no index names.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                synced => synced.map_err(|error| failed("sync", &path, &error))?,
            }
        }
        let synced = stage.dir().sync(STAGED);
        synced.map_err(|error| failed("sync", repo.state_path(), &error).into())
    }

    /// Renames the staged index to the index, and removes the lock.
    ///
    /// # Errors
    /// `IO_ERROR`; the lock then remains for recovery. `REPOSITORY_BUSY` if another program removed
    /// the lock.
    pub fn rename_in(&self, repo: &Repo, stage: &StagingArea<'_>) -> Result<()> {
        replace(repo, stage, self.held)
    }
}

/// Renames the staged index to the index, and removes the lock, which is a second name of it. `held`:
/// the inode of the lock. A user may have removed it, and another program may hold one since.
fn replace(repo: &Repo, stage: &StagingArea<'_>, held: Option<(u64, u64)>) -> Result<()> {
    let path = repo.index_path();
    let (dir, name) = open_directory(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    let is_held = || dir.stat(&lock).is_ok_and(|now| now.map(|now| now.inode()) == held);
    if held.is_none() || !is_held() {
        return Err(busy(&path, "was unlocked by another program during the call").into());
    }
    let renamed = stage.dir().rename(STAGED, &dir, &name, RenameMode::Replace);
    renamed.map_err(|error| failed("write", &path, &error))?;
    if is_held() {
        dir.unlink(&lock).map_err(|error| failed("unlock", &path, &error))?;
    }
    Ok(())
}

/// Syncs the name of the index and the removal of its lock.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn sync(repo: &Repo) -> Result<()> {
    let path = repo.index_path();
    let (dir, _) = open_directory(&path)?;
    Ok(dir.sync_entries().map_err(|error| failed("sync", &path, &error))?)
}

/// The stats that the entries of `moves` may have.
pub(super) fn stats(
    stage: &StagingArea<'_>,
    moves: &[EntryMove],
    files: &[FileRecord],
) -> Vec<(RepoPath, Stat)> {
    let written: HashMap<&[u8], &FileRecord> =
        files.iter().map(|file| (file.path.as_slice(), file)).collect();
    let stat = |entry: &EntryMove| match entry.disk {
        DiskState::Written => stage.stat(written.get(entry.path.as_bytes())?),
        DiskState::Present(stat) => Some(stat),
        DiskState::Other => None,
    };
    let written = moves.iter().filter(|entry| entry.file.is_some());
    written.filter_map(|entry| Some((entry.path.clone(), stat(entry)?))).collect()
}

/// Removes `index.lock` if it is edt's own: the same file as the staged index, or as the index that it
/// became.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the lock then still exists, and recovery can still identify it
/// as edt's own.
pub fn unlock(repo: &Repo) -> Result<()> {
    if let Some((lock, _)) = held_lock(repo) {
        fs::remove_file(&lock).map_err(|error| failed("unlock", &lock, &error))?;
    }
    Ok(())
}

/// Removes the staged index, which shows until then that the index must follow.
pub(super) fn discard_staged(stage: &StagingArea<'_>) {
    // The last one is that of a Git that changed the staged index.
    for name in [STAGED, FRESH, b"index.lock"] {
        let _ = stage.dir().unlink(name);
    }
}

/// Whether an index is staged that has not become the index.
///
/// # Errors
/// `IO_ERROR`.
pub(super) fn is_staged(repo: &Repo, stage: &StagingArea<'_>) -> Result<bool> {
    let path = repo.index_path();
    let (dir, name) = open_directory(&path)?;
    let wrap = |error: std::io::Error| failed("read", &path, &error);
    let staged = stage.dir().stat(STAGED).map_err(wrap)?;
    let index = dir.stat(&name).map_err(wrap)?;
    Ok(staged.is_some_and(|staged| index.is_none_or(|index| index.inode() != staged.inode())))
}

/// Removes edt's own `index.lock` if no record says what it is for; renames it to the index if
/// HEAD's tree has its entries already.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`.
pub(super) fn release(repo: &Repo, stage: &StagingArea<'_>) -> Result<()> {
    if own_lock(repo).is_some() && is_committed(repo, stage)? {
        rename_own_in(repo, stage)?;
    }
    unlock(repo)?;
    discard_staged(stage);
    Ok(())
}

/// Whether HEAD's tree has what the staged index changes. The checksum is written last, before the
/// commit point.
fn is_committed(repo: &Repo, stage: &StagingArea<'_>) -> Result<bool> {
    let Ok(FoundEntry::File(_, bytes)) = stage.dir().read(STAGED) else { return Ok(false) };
    if !repo.is_valid_index(&bytes) {
        return Ok(false);
    }
    let hash_len = repo.null().as_slice().len();
    let (Ok(staged), Kind::Patchable(present)) =
        (Index::parse(bytes, hash_len), IndexView::read(repo)?.index)
    else {
        return Ok(false);
    };
    let tree = repo.head_tree()?;
    for path in staged.differences(&present) {
        let committed = match repo.tracked(tree, &path)? {
            Tracked::File(file) => IndexState::File(file),
            _ => IndexState::Nothing,
        };
        if staged.staged(&path) != committed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Links `index.lock` again to the staged index if both have the same bytes, and removes it if the
/// index has them. For a copied repository, where no process holds a lock.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn relink(repo: &Repo, stage: &StagingArea<'_>) -> Result<()> {
    let path = repo.index_path();
    let (dir, name) = open_directory(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    let wrap = |error: std::io::Error| failed("lock", &path, &error);
    let Ok(FoundEntry::File(_, locked)) = dir.read(&lock) else { return Ok(()) };
    let has_it = |dir: &Dir, name: &[u8]| matches!(dir.read(name), Ok(FoundEntry::File(_, bytes)) if bytes == locked);
    if has_it(stage.dir(), STAGED) {
        dir.unlink(&lock).map_err(wrap)?;
        stage.dir().link(STAGED, &dir, &lock).map_err(wrap)?;
    } else if has_it(&dir, &name) {
        dir.unlink(&lock).map_err(wrap)?;
    }
    Ok(())
}

/// Completes the change of the index after the branch has moved, if edt's lock is there. It has
/// prevented other programs from writing the index. If it were only removed, a user could commit the
/// old index on top of the new commit.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the lock then still exists, and recovery can still identify it
/// as edt's own.
pub(super) fn rename_own_in(repo: &Repo, stage: &StagingArea<'_>) -> Result<()> {
    // A recovery that was killed may have locked an index that it had not completed.
    let is_complete = || match stage.dir().read(STAGED) {
        Ok(FoundEntry::File(_, bytes)) => repo.is_valid_index(&bytes),
        _ => false,
    };
    match held_lock(repo) {
        Some((_, held)) if is_staged(repo, stage)? && is_complete() => {
            replace(repo, stage, Some(held))
        }
        _ => Ok(()),
    }
}

/// `REPOSITORY_BUSY`, because the entry of a touched path changed.
#[must_use]
pub fn restaged(repo: &Repo) -> Finding {
    busy(&repo.index_path(), "was changed by another program during the call")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};
    use edt_types::Code;

    /// A user removed the lock of a running call, and Git took it.
    #[test]
    fn the_lock_that_git_took_meanwhile_stays_and_so_does_the_index() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stage = StagingArea::open(&repo).unwrap();
        let (view, moves) = scratch.change(&repo, &[("a.txt", Some("two\n"))]).index.unwrap();
        let mut prepared = view.prepare(&stage, &moves, &TouchedTrees::new()).unwrap();
        assert_eq!(prepared.lock(&repo, &stage), Ok(LockOutcome::Held));
        let lock = repo.git_dir().join("index.lock");
        std::fs::remove_file(&lock).unwrap();
        std::fs::write(&lock, "git's").unwrap();
        let (before, index) = (scratch.state(), std::fs::read(repo.index_path()).unwrap());
        assert_eq!(refusal(prepared.rename_in(&repo, &stage)).code, Code::RepositoryBusy);
        assert_eq!(std::fs::read(repo.index_path()).unwrap(), index);
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), "git's");
        assert_eq!(scratch.state(), before);
    }
}
