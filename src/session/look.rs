//! What stands at a path: in the session's tip, on disk, in the index. Every way out of the worktree is refused here.

use crate::base::path::PathProblem;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::convert::Stored;
use crate::git::index::Staged;
use crate::git::{Attributes, FileId, FileMode, Forms, Oid, Repo, Tracked};
use crate::io::disk::{Dir, Found, Parent, Stat};
use crate::io::failed;
use crate::journal::{IndexView, OldFile};

/// A path as it was found.
#[derive(Debug, Clone)]
pub struct Look {
    /// The path.
    pub path: RepoPath,
    /// What the session's tip holds.
    pub tip: Option<FileId>,
    /// What stands on disk.
    pub disk: Option<OnDisk>,
    /// What is staged; the tip's file if HEAD is elsewhere.
    pub staged: Staged,
    /// Whether attributes or settings could make Git convert the file's bytes.
    pub convertible: bool,
}

/// A file on disk.
#[derive(Debug, Clone)]
pub struct OnDisk {
    /// What Git would record of it.
    pub file: FileId,
    /// The id of the very bytes; another one than Git would record if it converts them.
    pub raw: Oid,
    /// Its inode.
    pub stat: Stat,
    /// Its text.
    pub bytes: Vec<u8>,
    /// Its bytes on disk and in Git, if they are others.
    pub stored: Option<Stored>,
}

impl OnDisk {
    /// As a change's "what stands there".
    #[must_use]
    pub fn old(&self) -> OldFile {
        OldFile { file: FileId { oid: self.raw, mode: self.file.mode }, stat: self.stat }
    }

    /// The bytes that Git would record.
    #[must_use]
    pub fn blob(&self) -> &[u8] {
        self.stored.as_ref().map_or(&self.bytes, |stored| &stored.blob)
    }

    /// How many bytes stand on disk.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.stat.size
    }

    /// Converts it as the attributes say.
    fn convert(&mut self, repo: &Repo, path: &RepoPath, from: Attributes) -> Result<()> {
        let forms = repo.conversion(path, from)?.of_disk(std::mem::take(&mut self.bytes))?;
        if let Some(stored) = &forms.stored {
            self.file.oid = repo.blob_id(&stored.blob)?;
        }
        (self.bytes, self.stored) = (forms.text, forms.stored);
        Ok(())
    }
}

impl Look {
    /// Looks at `path`.
    ///
    /// # Errors
    /// `PATH_IN_GIT_DIR`, `PATH_THROUGH_SYMLINK`, `PATH_OUTSIDE_REPO` (nested repository, submodule), `NOT_A_FILE`, `FILE_TOO_LARGE`,
    /// `UNSUPPORTED_REPOSITORY` (Git would not check out these bytes), `IO_ERROR`, `OBJECT_MISSING`; what a filter may answer.
    pub fn at(
        repo: &Repo,
        tip_tree: Oid,
        index: Option<&IndexView>,
        path: &RepoPath,
    ) -> Result<Look> {
        if let Some(peril) = path.peril() {
            return Err(peril.finding(path.as_bytes()).into());
        }
        let tip = match repo.tracked(tip_tree, path)? {
            Tracked::Nothing => None,
            Tracked::Folder => {
                return Err(not_a_file(path, "the session holds files below it").into());
            }
            Tracked::BelowFile => {
                return Err(not_a_file(
                    path,
                    "the session holds a file where a parent of it would be",
                )
                .into());
            }
            Tracked::File(file) => Some(file),
            Tracked::Symlink => return Err(symlink(path).into()),
            Tracked::Submodule => return Err(nested(path, "a submodule").into()),
        };
        let mut disk = on_disk(repo, path)?;
        let convertible = repo.may_convert(path, |attributes| match index {
            Some(index) => index.staged(repo, attributes).map(|staged| staged != Staged::Nothing),
            None => repo.holds(tip_tree, attributes),
        })?;
        if let Some(disk) = disk.as_mut().filter(|_| convertible) {
            disk.convert(repo, path, Attributes::Worktree(tip_tree))?;
        }
        if tip.is_none() && repo.ignores_case() {
            let twin = match index.and_then(|index| index.twin(path)) {
                None => repo.twin(tip_tree, path)?,
                twin => twin,
            };
            if let Some(twin) = twin {
                return Err(only_in_case(path, &twin).into());
            }
        }
        let staged = match index {
            Some(index) => index.staged(repo, path)?,
            None => tip.map_or(Staged::Nothing, Staged::File),
        };
        if staged == Staged::Other {
            return Err(unmerged(path).into());
        }
        let not_checked_out = match (&disk, tip, index) {
            (None, Some(_), Some(index)) => index.is_skipped(repo, path)?,
            (None, Some(_), None) => IndexView::read(repo)?.is_skipped(repo, path)?,
            _ => false,
        };
        if not_checked_out {
            return Err(sparse(path).into());
        }
        if let Some(disk) = disk.as_mut().filter(|_| !repo.trusts_mode()) {
            disk.file.mode = match (tip, staged) {
                (Some(file), _) | (None, Staged::File(file)) => file.mode,
                _ => FileMode::Plain,
            };
        }
        Ok(Look { path: path.clone(), tip, disk, staged, convertible })
    }

    /// The forms of `text` as new content of this path.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if it cannot be recorded and checked out again; what a filter may answer.
    pub fn of_text(&self, repo: &Repo, tip_tree: Oid, text: Vec<u8>) -> Result<Forms> {
        if !self.convertible {
            return Ok(Forms::plain(text));
        }
        repo.conversion(&self.path, Attributes::Worktree(tip_tree))?.of_text(text)
    }

    /// The forms of the recorded `blob` as Git would check it out here.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `UNSUPPORTED_REPOSITORY`; what a filter may answer.
    pub fn checked_out(&self, repo: &Repo, from: Attributes, blob: Vec<u8>) -> Result<Forms> {
        let converts = match from {
            Attributes::Worktree(_) => self.convertible,
            Attributes::Tree(tree) => {
                self.convertible
                    || repo.may_convert(&self.path, |attributes| repo.holds(tree, attributes))?
            }
        };
        if converts {
            repo.conversion(&self.path, from)?.of_blob(blob)
        } else {
            Ok(Forms::plain(blob))
        }
    }

    /// Whether all that stands here, on disk and staged, is one of `known`: nothing is lost if it is written over.
    #[must_use]
    pub fn is_known(&self, known: &[Option<FileId>]) -> bool {
        self.is_staged_known(known) && known.contains(&self.disk_file())
    }

    /// The same of what is staged alone.
    #[must_use]
    pub fn is_staged_known(&self, known: &[Option<FileId>]) -> bool {
        match self.staged {
            Staged::File(file) => known.contains(&Some(file)),
            // A file taken out of the index, not off the disk: someone means to delete it.
            Staged::Nothing => self.tip.is_none() || self.disk.is_none(),
            Staged::Intended | Staged::Other => true,
        }
    }

    /// Whether what is staged stands neither on disk nor in the session's tip.
    #[must_use]
    pub fn is_staged_apart(&self) -> bool {
        matches!(self.staged, Staged::File(file) if Some(file) != self.tip && Some(file) != self.disk_file())
    }

    /// The file on disk, as Git would record it.
    #[must_use]
    pub fn disk_file(&self) -> Option<FileId> {
        self.disk.as_ref().map(|disk| disk.file)
    }
}

/// A file as it stands in the worktree.
#[derive(Debug)]
pub enum OnDiskFile {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// It has more than was asked for.
    TooLarge,
}

/// The bytes at `path`, if they are at most `most`; `None` if there is no regular file.
///
/// # Errors
/// `PATH_THROUGH_SYMLINK`, `PATH_OUTSIDE_REPO`, `PATH_IN_GIT_DIR`, `NOT_A_FILE`, `IO_ERROR`.
pub fn file_on_disk(repo: &Repo, path: &RepoPath, most: u64) -> Result<Option<OnDiskFile>> {
    let wrap =
        |error: std::io::Error| failed("read", &repo.root_path().join(path.to_string()), &error);
    let (folder, name) = path.split();
    let Parent::Open(dir) = repo.root().beneath(folder).map_err(wrap)? else { return Ok(None) };
    check_not_nested(repo, path)?;
    match dir.read_at_most(name, most).map_err(wrap)? {
        Found::File(_, bytes) => Ok(Some(OnDiskFile::Bytes(bytes))),
        Found::TooLarge(_) => Ok(Some(OnDiskFile::TooLarge)),
        Found::Symlink => Err(symlink(path).into()),
        Found::Folder => Err(not_a_file(path, "it is a folder").into()),
        Found::Special => Err(not_a_file(path, "it is a FIFO, a socket or a device").into()),
        Found::Nothing => Ok(None),
    }
}

/// What stands at `path`, as it is: a file's bytes, where a link leads; and whether it may be executed. `None` if there is neither, or it
/// cannot be read, or has more bytes than edt records.
#[must_use]
pub fn raw(repo: &Repo, path: &RepoPath) -> Option<(Vec<u8>, bool)> {
    let (folder, name) = path.split();
    let Ok(Parent::Open(dir)) = repo.root().beneath(folder) else { return None };
    match dir.read_at_most(name, repo.largest_file()).ok()? {
        Found::File(stat, bytes) => Some((bytes, stat.executable())),
        Found::Symlink => Some((dir.link_target(name).ok()?, false)),
        Found::TooLarge(_) | Found::Folder | Found::Special | Found::Nothing => None,
    }
}

fn on_disk(repo: &Repo, path: &RepoPath) -> Result<Option<OnDisk>> {
    let full = || repo.root_path().join(path.to_string());
    let wrap = |error: std::io::Error| failed("read", &full(), &error);
    let (folder, name) = path.split();
    let dir = match repo.root().beneath(folder).map_err(wrap)? {
        Parent::Open(dir) => dir,
        Parent::Missing => return missing_folder(repo, path).map(|()| None),
        Parent::Symlink => return Err(symlink(path).into()),
        Parent::NotAFolder => {
            return Err(not_a_file(path, "a parent of it is a file, not a folder").into());
        }
    };
    check_not_nested(repo, path)?;
    match dir.read_at_most(name, repo.largest_file()).map_err(wrap)? {
        Found::Nothing => Ok(None),
        Found::File(stat, bytes) => {
            let raw = repo.blob_id(&bytes)?;
            let file = FileId { oid: raw, mode: FileMode::of(stat.executable()) };
            Ok(Some(OnDisk { file, raw, stat, bytes, stored: None }))
        }
        Found::TooLarge(size) => Err(too_large(path, size, repo.largest_file()).into()),
        Found::Symlink => Err(symlink(path).into()),
        Found::Folder => Err(not_a_file(path, "it is a folder").into()),
        Found::Special => Err(not_a_file(path, "it is a FIFO, a socket or a device").into()),
    }
}

/// A folder on the way is missing: those above it must still be ordinary.
fn missing_folder(repo: &Repo, path: &RepoPath) -> Result<()> {
    let wrap =
        |error: std::io::Error| failed("read", &repo.root_path().join(path.to_string()), &error);
    for folder in path.parents() {
        match repo.root().beneath(folder).map_err(wrap)? {
            Parent::Open(_) => {}
            Parent::Missing => break,
            Parent::Symlink => return Err(symlink(path).into()),
            Parent::NotAFolder => {
                return Err(not_a_file(path, "a parent of it is a file, not a folder").into());
            }
        }
    }
    check_not_nested(repo, path)
}

/// No folder on the way may hold a `.git` of its own.
fn check_not_nested(repo: &Repo, path: &RepoPath) -> Result<()> {
    for folder in path.parents() {
        let Ok(Parent::Open(dir)) = repo.root().beneath(folder) else { return Ok(()) };
        if repo.is_git_dir(&dir) {
            return Err(PathProblem::GitDir.finding(path.as_bytes()).into());
        }
        if has_git(&dir) {
            return Err(nested(
                path,
                &format!("a repository of its own, {}", String::from_utf8_lossy(folder)),
            )
            .into());
        }
    }
    Ok(())
}

fn has_git(dir: &Dir) -> bool {
    !matches!(dir.stat(b".git"), Ok(None))
}

/// The refusal of content or a file of `size` bytes where `most` are allowed.
#[must_use]
pub fn too_large(path: &RepoPath, size: u64, most: u64) -> Finding {
    Finding::new(
        Code::FileTooLarge,
        format!("{path} has {size} bytes; edt edits files of at most {most}."),
        "Change it outside edt, then record it with Git.",
    )
    .at(path)
    .with("bytes", size)
    .with("limit", most)
}

fn unmerged(path: &RepoPath) -> Finding {
    Finding::new(
        Code::RepositoryBusy,
        format!("{path} is unmerged in the index, or staged as a link or a submodule. Nothing was changed."),
        "A person must settle what is staged first: `git status` shows it, `git add` or `git restore --staged` settles it.",
    )
    .at(path)
}

fn sparse(path: &RepoPath) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!("{path} is outside the sparse checkout: it exists, but not in this worktree. Nothing was changed."),
        "Check it out first: `git sparse-checkout add` its folder.",
    )
    .at(path)
}

/// The refusal of a path that is another one's where case does not count.
#[must_use]
pub fn only_in_case(path: &RepoPath, twin: &RepoPath) -> Finding {
    Finding::new(
        Code::FileExists,
        format!(
            "{path} differs only in case from {twin}, and this repository takes both for one (core.ignoreCase). Nothing was changed."
        ),
        format!("Use the name {twin}. To change the case of a name, let a person use `git mv`."),
    )
    .at(path)
    .with("exists", twin.to_string())
}

fn symlink(path: &RepoPath) -> Finding {
    Finding::new(
        Code::PathThroughSymlink,
        format!("{path} is a symbolic link or goes through one. Nothing was changed."),
        "Edit the real file by its own path (`readlink -f` shows it), if it is in this worktree.",
    )
    .at(path)
}

fn nested(path: &RepoPath, what: &str) -> Finding {
    Finding::new(
        Code::PathOutsideRepo,
        format!("{path} lies in {what}, which has a history of its own. Nothing was changed."),
        "Run edt in that repository instead (`edt -C DIR …`).",
    )
    .at(path)
}

fn not_a_file(path: &RepoPath, why: &str) -> Finding {
    Finding::new(
        Code::NotAFile,
        format!("{path} cannot be edited: {why}."),
        "Name a regular file; `edt status` and `git ls-files` list them.",
    )
    .at(path)
}
