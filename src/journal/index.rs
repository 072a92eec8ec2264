//! The index during a transaction: seen, patched aside, locked like Git does, renamed in.
//!
//! `index.lock` appears whole, by a hard link to the staged index, and lives only across the file swaps and the commit point: the
//! span in which plain Git must not commit a half of the transaction.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::files::Stage;
use super::record::FileRecord;
use super::spare;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::index::{EntryChange, Index, NotUnderstood, Staged};
use crate::git::{FileId, Folders, Oid, Repo};
use crate::io::clock::Countdown;
use crate::io::disk::{Dir, Found, Move, Perms, Stat};
use crate::io::{failed, spawn};

/// How long another program's `index.lock` is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The index as it was seen.
#[derive(Debug)]
pub struct IndexView {
    index: Kind,
    stat: Option<Stat>,
}

#[derive(Debug)]
enum Kind {
    Patchable(Index),
    /// Only Git may rewrite it; what it holds is asked of `gix`.
    Foreign,
}

/// One entry to move.
#[derive(Debug, Clone)]
pub struct EntryMove {
    /// The path.
    pub path: RepoPath,
    /// What is to be staged.
    pub file: Option<FileId>,
    /// What was staged when the transaction was planned.
    pub seen: Staged,
    /// What the disk will hold.
    pub disk: Disk,
}

/// Whether the file on disk is the one that an entry speaks of, so that the entry may bear its stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// The transaction writes it.
    Written,
    /// It stands there already.
    Stands(Stat),
    /// The disk holds something else: the entry bears no stat, and Git compares the bytes.
    Other,
}

/// An index written aside.
#[derive(Debug)]
pub struct Prepared {
    index: Index,
    seen: Option<Stat>,
}

/// How the index follows.
#[derive(Debug)]
pub enum Plan {
    /// Patched aside and ready.
    Patch(Prepared),
    /// By `git update-index`, after the commit point.
    Delegate,
}

/// Whether the lock was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// It is held.
    Held,
    /// It was given back: the index changed since it was read.
    Changed,
}

/// The staged index's name.
pub(super) const STAGED: &[u8] = b"index";

impl IndexView {
    /// Reads the index.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and cannot be read.
    pub fn read(repo: &Repo) -> Result<IndexView> {
        let path = repo.index_path();
        let hash_len = repo.null().as_slice().len();
        let (dir, name) = open_folder(&path)?;
        match dir.read(&name).map_err(|error| failed("read", &path, &error))? {
            Found::Nothing => {
                Ok(IndexView { index: Kind::Patchable(Index::empty(hash_len)), stat: None })
            }
            Found::File(stat, bytes) => {
                let index = Index::parse(bytes, hash_len).map_or(Kind::Foreign, Kind::Patchable);
                Ok(IndexView { index, stat: Some(stat) })
            }
            _ => Ok(IndexView { index: Kind::Foreign, stat: None }),
        }
    }

    /// Whether the index is as some program wrote it: a power cut may tear one that was not synced.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and cannot be read.
    pub fn is_whole(repo: &Repo) -> Result<bool> {
        let path = repo.index_path();
        let (dir, name) = open_folder(&path)?;
        match dir.read(&name).map_err(|error| failed("read", &path, &error))? {
            Found::File(_, bytes) => Ok(repo.is_whole_index(&bytes)),
            _ => Ok(true),
        }
    }

    /// Its file; `None` if there is none.
    #[must_use]
    pub fn stat(&self) -> Option<Stat> {
        self.stat
    }

    /// What it holds for `path`.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn staged(&self, repo: &Repo, path: &RepoPath) -> Result<Staged> {
        match &self.index {
            Kind::Patchable(index) => Ok(index.staged(path)),
            Kind::Foreign => repo.staged_by_git(path),
        }
    }

    /// What it holds under a name that differs from `path` only in case. For an index that edt does not patch, the tree must do.
    #[must_use]
    pub fn twin(&self, path: &RepoPath) -> Option<RepoPath> {
        match &self.index {
            Kind::Patchable(index) => index.twin(path),
            Kind::Foreign => None,
        }
    }

    /// Whether the path is one that a sparse checkout leaves out.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn is_skipped(&self, repo: &Repo, path: &RepoPath) -> Result<bool> {
        match &self.index {
            Kind::Patchable(index) => Ok(index.is_skipped(path)),
            Kind::Foreign => repo.skipped_by_git(path),
        }
    }

    /// Patches it aside for `moves`.
    ///
    /// # Errors
    /// `IO_ERROR` and the like.
    pub fn prepare(
        self,
        stage: &Stage<'_>,
        moves: &[EntryMove],
        folders: &Folders,
    ) -> Result<Plan> {
        let Kind::Patchable(mut index) = self.index else { return Ok(Plan::Delegate) };
        let stat =
            Stat { dev: 0, ino: 0, size: 0, mtime: (0, 0), ctime: (0, 0), mode: 0, uid: 0, gid: 0 };
        let change = |entry: &EntryMove| EntryChange {
            path: entry.path.clone(),
            file: entry.file.map(|file| (file, stat)),
        };
        let changes: Vec<EntryChange> = moves.iter().map(change).collect();
        if index.patch(&changes, folders) == Err(NotUnderstood) {
            return Ok(Plan::Delegate);
        }
        let wrap =
            |error: std::io::Error| failed("stage the index in", Path::new(".git/edt"), &error);
        if let Some(stat) = self.stat {
            spare::keep_before(stage, &stat).map_err(wrap)?;
        }
        stage.dir().unlink(STAGED).map_err(wrap)?;
        let perms = self.stat.map_or(Perms::Exactly(0o666), |like| Perms::Of(like, false));
        let bytes = index.finish(|_| None);
        stage.dir().write_new(STAGED, bytes, perms).map_err(wrap)?;
        Ok(Plan::Patch(Prepared { index, seen: self.stat }))
    }
}

impl Prepared {
    /// Takes `index.lock`; [`Lock::Changed`] if the index is no longer the one that was read.
    ///
    /// # Errors
    /// `REPOSITORY_BUSY` if another program holds it.
    pub fn lock(&self, repo: &Repo, stage: &Stage<'_>) -> Result<Lock> {
        let path = repo.index_path();
        let (dir, name) = open_folder(&path)?;
        let lock = [&name, b".lock".as_slice()].concat();
        let mut countdown = Countdown::new(LOCK_WAIT);
        loop {
            match stage.dir().link(STAGED, &dir, &lock) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    if !countdown.pause() {
                        return Err(busy(&path, "is locked by another program").into());
                    }
                }
                Err(error) => return Err(failed("lock", &path, &error).into()),
            }
        }
        let stands = dir.stat(&name).map_err(|error| failed("read", &path, &error))?;
        let same = match (&stands, &self.seen) {
            (None, None) => true,
            (Some(stands), Some(seen)) => stands.same_content_as(seen),
            _ => false,
        };
        if same {
            return Ok(Lock::Held);
        }
        unlock(repo, stage)?;
        Ok(Lock::Changed)
    }

    /// Waits until nobody else holds the index, and does not take it.
    ///
    /// # Errors
    /// `REPOSITORY_BUSY` if another program holds it for as long as `most`.
    pub fn check_free(repo: &Repo, most: Duration) -> Result<()> {
        let path = repo.index_path();
        let (dir, name) = open_folder(&path)?;
        let mut countdown = Countdown::new(most);
        while !matches!(dir.stat(&[&name, b".lock".as_slice()].concat()), Ok(None)) {
            if !countdown.pause() {
                return Err(busy(&path, "is locked by another program").into());
            }
        }
        Ok(())
    }

    /// Puts in the stats of the files as they now stand.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn refresh(
        &mut self,
        repo: &Repo,
        stage: &Stage<'_>,
        stats: &[(RepoPath, Stat)],
    ) -> Result<()> {
        let mut parts: Vec<_> =
            stats.iter().filter_map(|(path, stat)| self.index.restat(path, stat)).collect();
        let bytes = self.index.finish(|bytes| repo.checksum(bytes));
        parts.push(bytes.len() - repo.null().as_slice().len()..bytes.len());
        let parts: Vec<_> = parts.into_iter().map(|at| (at.start as u64, &bytes[at])).collect();
        let wrap =
            |error: std::io::Error| failed("stage the index in", Path::new(".git/edt"), &error);
        stage.dir().patch(STAGED, &parts).map_err(wrap).map_err(Into::into)
    }

    /// Removes what was staged.
    pub fn discard(&self, stage: &Stage<'_>) {
        let _ = stage.dir().unlink(STAGED);
    }

    /// Renames the lock onto the index.
    ///
    /// # Errors
    /// `IO_ERROR`; the lock then stays for the next call to settle.
    pub fn rename_in(&self, repo: &Repo, stage: &Stage<'_>) -> Result<()> {
        let path = repo.index_path();
        let (dir, name) = open_folder(&path)?;
        let lock = [&name, b".lock".as_slice()].concat();
        dir.rename(&lock, &dir, &name, Move::Replace)
            .map_err(|error| failed("write", &path, &error))?;
        spare::know_own(stage);
        Ok(())
    }
}

/// Removes an `index.lock` that was there before `before`: the machine was restarted since, and its holder is gone.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn unlock_left(repo: &Repo, stage: &Stage<'_>, before: SystemTime) -> Result<()> {
    unlock(repo, stage)?;
    let path = repo.index_path();
    let (dir, name) = open_folder(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    if let Ok(Some(stat)) = dir.stat(&lock)
        && stat.modified() <= before
    {
        dir.unlink(&lock).map_err(|error| failed("unlock", &path, &error))?;
    }
    Ok(())
}

/// The stats that the entries of `moves` may bear.
pub(super) fn stats(
    stage: &Stage<'_>,
    moves: &[EntryMove],
    files: &[FileRecord],
) -> Vec<(RepoPath, Stat)> {
    let written: HashMap<&[u8], &FileRecord> =
        files.iter().map(|file| (file.path.as_slice(), file)).collect();
    let stat = |entry: &EntryMove| match entry.disk {
        Disk::Written => stage.stat(written.get(entry.path.as_bytes())?),
        Disk::Stands(stat) => Some(stat),
        Disk::Other => None,
    };
    let borne = moves.iter().filter(|entry| entry.file.is_some());
    borne.filter_map(|entry| Some((entry.path.clone(), stat(entry)?))).collect()
}

/// Removes `index.lock` if it is edt's own: the very file that is staged; then that, too.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: it is still there, and still known for edt's own.
pub fn unlock(repo: &Repo, stage: &Stage<'_>) -> Result<()> {
    let path = repo.index_path();
    let (dir, name) = open_folder(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    if let (Ok(Some(lock_stat)), Ok(Some(staged))) = (dir.stat(&lock), stage.dir().stat(STAGED))
        && (lock_stat.dev, lock_stat.ino) == (staged.dev, staged.ino)
    {
        dir.unlink(&lock).map_err(|error| failed("unlock", &path, &error))?;
    }
    let _ = stage.dir().unlink(STAGED);
    Ok(())
}

/// Renames edt's own `index.lock` onto the index, once the branch has moved: it is whole since before that, and its being there kept
/// everyone from writing the index. Were it removed instead, a person could commit the old index upon the new commit.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: it is still there, and still known for edt's own.
pub(super) fn rename_own_in(repo: &Repo, stage: &Stage<'_>) -> Result<()> {
    let path = repo.index_path();
    let (dir, name) = open_folder(&path)?;
    let lock = [&name, b".lock".as_slice()].concat();
    if let (Ok(Some(lock_stat)), Ok(Some(staged))) = (dir.stat(&lock), stage.dir().stat(STAGED))
        && lock_stat.inode() == staged.inode()
    {
        dir.rename(&lock, &dir, &name, Move::Replace)
            .map_err(|error| failed("write", &path, &error))?;
        spare::know_own(stage);
    }
    Ok(())
}

/// `REPOSITORY_BUSY` because what is staged for a touched path changed.
#[must_use]
pub fn restaged(repo: &Repo) -> Finding {
    busy(&repo.index_path(), "was changed by another program during the call")
}

/// Moves the entries by `git update-index`, for an index that only Git may rewrite.
///
/// # Errors
/// `REPOSITORY_BUSY` if Git could not; `PROGRAM_NOT_FOUND`.
pub fn delegate(repo: &Repo, moves: &[EntryMove]) -> Result<()> {
    let null: Oid = repo.null();
    let mut input = Vec::new();
    for entry in moves {
        let (mode, oid) = entry.file.map_or((0, null), |file| (file.mode.bits(), file.oid));
        input.extend_from_slice(format!("{mode:06o} {oid} 0\t").as_bytes());
        input.extend_from_slice(entry.path.as_bytes());
        input.push(0);
    }
    let mut countdown = Countdown::new(LOCK_WAIT);
    // A refresh may have to compare contents, which Git sends through their filters.
    let settings = repo.without_untrusted()?;
    loop {
        let ran = spawn::git(repo.root_path(), &["update-index", "-z", "--index-info"], &input)?;
        if ran.ok {
            // Entries written from outside have no stat data; a refresh gives it to them, so that nothing looks changed.
            spawn::git_with_settings(
                repo.root_path(),
                &settings,
                &["update-index", "-q", "--refresh"],
                b"",
            )?;
            return Ok(());
        }
        if !countdown.pause() {
            return Err(busy(
                &repo.index_path(),
                &format!("could not be updated by git: {}", ran.stderr.trim()),
            )
            .into());
        }
    }
}

pub(super) fn open_folder(index: &Path) -> Result<(Dir, Vec<u8>)> {
    let folder = index.parent().unwrap_or(index);
    let name = index.file_name().unwrap_or_default().as_bytes().to_vec();
    let dir = Dir::open(folder).map_err(|error| failed("open", folder, &error))?;
    Ok((dir, name))
}

pub(super) fn busy(path: &Path, what: &str) -> Finding {
    Finding::new(
        Code::RepositoryBusy,
        format!("The index {} {what}. Nothing was changed.", path.display()),
        "Repeat the call. If no Git program runs here, a crashed one left index.lock: a person may remove it.",
    )
}
