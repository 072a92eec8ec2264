//! Files changed by exchange: the new bytes are staged whole, then change places with the old ones, and what was displaced is
//! looked at. A person's bytes are never overwritten: what is not what was checked is put back.

use std::io;

use super::record::{FileRecord, Id};
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::convert::Stored;
use crate::git::{Draft, FileId, FileMode, Forms, Repo};
use crate::io::disk::{Dir, Found, Move, Parent, Perms, Stat};
use crate::io::failed;
use crate::io::whole::make_folder;

/// One file of a change.
#[derive(Debug, Clone)]
pub struct FileChange {
    /// Its path.
    pub path: RepoPath,
    /// What stands there, as it was checked.
    pub old: Option<OldFile>,
    /// What is to stand there.
    pub new: Option<NewFile>,
}

/// A file as it stands in the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldFile {
    /// The id of its bytes as they stand on disk, and its mode.
    pub file: FileId,
    /// Its inode.
    pub stat: Stat,
}

/// A file to write.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// The id of its bytes as they are to stand on disk, and its mode.
    pub file: FileId,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl NewFile {
    /// The recorded `file` with these forms. The very bytes of one that Git converts become an object, too, which no commit names: settling
    /// a crash may need them. `git gc` drops it later.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn of(draft: &mut Draft<'_>, file: FileId, forms: Forms) -> Result<NewFile> {
        let Some(Stored { disk, .. }) = forms.stored else {
            return Ok(NewFile { file, bytes: forms.text });
        };
        Ok(NewFile { file: FileId { oid: draft.blob(&disk)?, mode: file.mode }, bytes: disk })
    }
}

/// The folder for staged files, and the worktree they go to.
#[derive(Debug)]
pub struct Stage<'r> {
    pub(super) repo: &'r Repo,
    pub(super) dir: Dir,
    /// The worktree's device.
    device: u64,
    /// Whether the worktree is on the same file system, so that a rename reaches it.
    near: bool,
}

/// What is staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InStage {
    /// Nothing.
    Nothing,
    /// What was to stand at the path: the swap has not happened.
    New,
    /// What stood at the path: the swap has happened.
    Old,
    /// Something else: it was displaced from under someone.
    Foreign,
}

/// Where a file is staged.
#[derive(Debug)]
pub(super) enum Place<'s> {
    /// In edt's own folder.
    Edts(&'s Dir),
    /// Beside its target.
    Beside(Dir),
}

impl std::ops::Deref for Place<'_> {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        match self {
            Place::Edts(dir) => dir,
            Place::Beside(dir) => dir,
        }
    }
}

/// What stands at the path of a file that a record speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// What stood there before; the stat it has now.
    Old(Option<Stat>),
    /// What was to stand there.
    New,
    /// Something else: a person's work.
    Other,
}

impl<'r> Stage<'r> {
    /// Opens edt's folder for staged files.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn open(repo: &'r Repo) -> Result<Stage<'r>> {
        let path = repo.state_path().join("stage");
        let dir = if let Ok(dir) = Dir::open(&path) {
            dir
        } else {
            make_folder(&path).map_err(|error| failed("make", &path, &error))?;
            Dir::open(&path).map_err(|error| failed("open", &path, &error))?
        };
        let device =
            repo.root().device().map_err(|error| failed("read", repo.root_path(), &error))?;
        let near = dir.device().is_ok_and(|stage| stage == device);
        Ok(Stage { repo, dir, device, near })
    }

    /// The folder itself.
    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Writes the new bytes of `change` under a name of transaction `tx`, and says so in a record.
    ///
    /// # Errors
    /// `IO_ERROR` and the like; nothing is left behind.
    pub fn put(&self, change: &FileChange, tx: &str, i: usize) -> Result<FileRecord> {
        let device =
            change.old.map_or_else(|| self.device_above(&change.path), |old| Some(old.stat.dev));
        let near = self.near && device == Some(self.device);
        let stage = if near { format!("{tx}-{i}") } else { format!(".edt-{tx}-{i}.tmp") };
        let mut record = FileRecord {
            path: change.path.as_bytes().to_vec(),
            old: change.old.map(|old| {
                (Id::from(old.file.oid), old.file.mode == FileMode::Executable, old.stat)
            }),
            new: change
                .new
                .as_ref()
                .map(|new| (Id::from(new.file.oid), new.file.mode == FileMode::Executable)),
            staged: None,
            stage,
            beside: !near,
        };
        if let Some(new) = &change.new {
            let executable = new.file.mode == FileMode::Executable;
            let perms = change
                .old
                .map_or(Perms::Usual { executable }, |old| Perms::Of(old.stat, executable));
            record.staged = Some(self.stage_bytes(&record, &new.bytes, perms)?);
        }
        Ok(record)
    }

    /// The device that a new file at `path` will be on. A folder that is there may be a mount; one that is yet to be made is on the file
    /// system of the one above it.
    fn device_above(&self, path: &RepoPath) -> Option<u64> {
        let mut folders: Vec<&[u8]> = path.parents().collect();
        while let Some(folder) = folders.pop() {
            if let Ok(Parent::Open(dir)) = self.repo.root().beneath(folder) {
                return dir.device().ok();
            }
        }
        Some(self.device)
    }

    /// Writes the bytes that `record` stages.
    ///
    /// # Errors
    /// `IO_ERROR` and the like.
    pub fn stage_bytes(&self, record: &FileRecord, bytes: &[u8], perms: Perms) -> Result<Stat> {
        let path = RepoPath::from_tree(&record.path);
        let wrap = |error: io::Error| {
            failed(
                "stage the new content of",
                &self.repo.root_path().join(path.to_string()),
                &error,
            )
        };
        if record.beside
            && let Parent::Missing = self.repo.root().beneath(path.split().0).map_err(wrap)?
        {
            self.repo.root().make_beneath(path.split().0).map_err(wrap)?;
        }
        let place = self.place(record).map_err(wrap)?;
        place.unlink(record.stage.as_bytes()).map_err(wrap)?;
        Ok(place.write_new(record.stage.as_bytes(), bytes, perms).map_err(wrap)?)
    }

    /// Makes the change of `record` on disk.
    ///
    /// # Errors
    /// `HASH_MISMATCH` if what stood there was not what was checked (it stands there again); `IO_ERROR` and the like.
    pub fn swap(&self, record: &FileRecord) -> Result<()> {
        let path = RepoPath::from_tree(&record.path);
        self.exchange(record, &path).map_err(|error| self.explain(&path, &error))?;
        let Some((_, _, seen)) = &record.old else { return Ok(()) };
        if self.displaced_is(record, seen) {
            return Ok(());
        }
        self.put_back(record)?;
        Err(changed_meanwhile(&path).into())
    }

    /// What is staged under the name of `record`.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be looked at.
    pub fn staged(&self, record: &FileRecord) -> Result<InStage> {
        let Ok(place) = self.place(record) else { return Ok(InStage::Nothing) };
        match place.read(record.stage.as_bytes()) {
            Ok(Found::Nothing) => Ok(InStage::Nothing),
            Ok(Found::File(stat, bytes)) => {
                let file =
                    FileId { oid: self.repo.blob_id(&bytes)?, mode: self.mode(record, &stat) };
                if Some(file) == record.new_file() {
                    return Ok(InStage::New);
                }
                Ok(if Some(file) == record.old_file() { InStage::Old } else { InStage::Foreign })
            }
            // A link, a folder, a file too large or not ours to read: whatever it is, it is not edt's.
            Ok(_) => Ok(InStage::Foreign),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(InStage::Foreign),
            Err(error) => {
                Err(failed("read what is staged in", self.repo.state_path(), &error).into())
            }
        }
    }

    /// The file that stands at the path of `record`, as Git would record it.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn current(&self, record: &FileRecord) -> Result<Option<FileId>> {
        let Some((stat, bytes)) = self.read(record) else { return Ok(None) };
        Ok(Some(FileId { oid: self.repo.blob_id(&bytes)?, mode: self.mode(record, &stat) }))
    }

    /// The file that stands at the path of `record`; `None` if there is none that can be read.
    pub(super) fn read(&self, record: &FileRecord) -> Option<(Stat, Vec<u8>)> {
        let path = RepoPath::from_tree(&record.path);
        let (folder, name) = path.split();
        match self.repo.root().beneath(folder).ok()? {
            Parent::Open(dir) => match dir.read(name).ok()? {
                Found::File(stat, bytes) => Some((stat, bytes)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The mode of a file on disk; what was recorded, where Git does not look at mode bits.
    fn mode(&self, record: &FileRecord, stat: &Stat) -> FileMode {
        let recorded =
            record.new_file().or_else(|| record.old_file()).filter(|_| !self.repo.trusts_mode());
        recorded.map_or(FileMode::of(stat.executable()), |file| file.mode)
    }

    /// The stat of the file of `record` in the worktree.
    #[must_use]
    pub fn stat(&self, record: &FileRecord) -> Option<Stat> {
        let path = RepoPath::from_tree(&record.path);
        let (folder, name) = path.split();
        match self.repo.root().beneath(folder) {
            Ok(Parent::Open(dir)) => dir.stat(name).ok().flatten(),
            _ => None,
        }
    }

    /// What stands at the path of `record`.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn stands(&self, record: &FileRecord) -> Result<Stands> {
        let path = RepoPath::from_tree(&record.path);
        let (folder, name) = path.split();
        let wrap = |error: io::Error| {
            failed("read", &self.repo.root_path().join(path.to_string()), &error)
        };
        let found = match self.repo.root().beneath(folder).map_err(wrap)? {
            Parent::Open(dir) => match dir.read(name) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(Stands::Other);
                }
                read => read.map_err(wrap)?,
            },
            Parent::Missing => Found::Nothing,
            Parent::Symlink | Parent::NotAFolder => return Ok(Stands::Other),
        };
        let (stands, stat) = match found {
            Found::Nothing => (None, None),
            Found::File(stat, bytes) => (
                Some(FileId { oid: self.repo.blob_id(&bytes)?, mode: self.mode(record, &stat) }),
                Some(stat),
            ),
            _ => return Ok(Stands::Other),
        };
        if stands == record.new_file() {
            return Ok(Stands::New);
        }
        Ok(if stands == record.old_file() { Stands::Old(stat) } else { Stands::Other })
    }

    /// The folder that the new bytes of `record` are staged in.
    pub(super) fn place(&self, record: &FileRecord) -> io::Result<Place<'_>> {
        if !record.beside {
            return Ok(Place::Edts(&self.dir));
        }
        let path = RepoPath::from_tree(&record.path);
        match self.repo.root().beneath(path.split().0)? {
            Parent::Open(dir) => Ok(Place::Beside(dir)),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn exchange(&self, record: &FileRecord, path: &RepoPath) -> io::Result<()> {
        let (folder, name) = path.split();
        let root = self.repo.root();
        let dir = match root.beneath(folder)? {
            Parent::Missing if record.old.is_none() => root.make_beneath(folder)?,
            parent => parent,
        };
        let Parent::Open(dir) = dir else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
        let (place, stage) = (self.place(record)?, record.stage.as_bytes());
        match (&record.old, &record.new) {
            (Some((_, _, seen)), Some(_)) => {
                match place.rename(stage, &dir, name, Move::Exchange) {
                    // No exchange on this file system: a last look, then a plain rename.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                        ) =>
                    {
                        match dir.stat(name)? {
                            Some(stat) if stat.same_content_as(seen) => {
                                place.rename(stage, &dir, name, Move::Replace)
                            }
                            _ => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
                        }
                    }
                    done => done,
                }
            }
            (None, Some(_)) => place.rename(stage, &dir, name, Move::New),
            (Some(_), None) => dir.rename(name, &place, stage, Move::New),
            (None, None) => Ok(()),
        }
    }

    /// Whether what the swap displaced is what was checked: the same inode and last write, else the same bytes and mode.
    pub(super) fn displaced_is(&self, record: &FileRecord, seen: &Stat) -> bool {
        let Ok(place) = self.place(record) else { return false };
        match place.stat(record.stage.as_bytes()) {
            Ok(Some(stat))
                if stat.same_content_as(seen) && stat.executable() == seen.executable() =>
            {
                true
            }
            // Replaced without an exchange: nothing is left to look at.
            Ok(None) => record.new.is_some(),
            _ => match place.read(record.stage.as_bytes()) {
                Ok(Found::File(stat, bytes)) => {
                    let oid = self.repo.blob_id(&bytes).ok();
                    oid.is_some()
                        && oid == record.old_file().map(|file| file.oid)
                        && stat.executable() == seen.executable()
                }
                _ => false,
            },
        }
    }

    fn explain(&self, path: &RepoPath, error: &io::Error) -> Finding {
        match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => changed_meanwhile(path),
            _ => failed("write", &self.repo.root_path().join(path.to_string()), error),
        }
    }
}

fn changed_meanwhile(path: &RepoPath) -> Finding {
    Finding::new(
        Code::HashMismatch,
        format!("{path} was changed by someone else during the call. What they wrote stands there; nothing of this request was recorded."),
        format!("Read it again (`edt read {}`) and send the edit for what stands there now.", path.for_shell()),
    )
    .at(path)
}
