//! Changes files by exchange. The new bytes are staged completely and then exchanged with the old
//! file, and the displaced file is checked. A user's bytes are never overwritten: a displaced file
//! that is not the expected one is put back.

use std::io;

use super::record::{FileRecord, Id};
use edt_git::convert::StoredForms;
use edt_git::{FileId, FileMode, Forms, ObjectWriter, Repo};
use edt_io::disk::{Dir, FoundEntry, Parent, Perms, RenameMode, Stat, is_unsupported};
use edt_io::enclosure;
use edt_io::failed;
use edt_io::fs::make_private_dir;
use edt_io::mount::Mount;
use edt_types::{Code, Finding, RepoPath, Result};

/// The change of one file.
#[derive(Debug, Clone)]
pub struct FileChange {
    pub path: RepoPath,
    /// The file that was read; `None` if there was none.
    pub old: Option<OldFile>,
    /// The file to write; `None` removes the old one.
    pub new: Option<NewFile>,
}

/// A file in the worktree, as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OldFile {
    /// The id of its bytes on disk, and its mode.
    pub file: FileId,
    pub stat: Stat,
}

/// A file to write.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// The id of its bytes on disk, and its mode.
    pub file: FileId,
    pub bytes: Vec<u8>,
    /// The permission bits; `None`: those of the replaced file, or else as Git makes files.
    pub permissions: Option<u32>,
}

impl NewFile {
    /// The file for the recorded `file` with these forms. If Git converts the file, its disk form
    /// also becomes an object that no commit names, because recovery may need it. `git gc` removes
    /// that object later.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn of(writer: &mut ObjectWriter<'_>, file: FileId, forms: Forms) -> Result<NewFile> {
        let Some(StoredForms { disk, .. }) = forms.stored else {
            return Ok(NewFile { file, bytes: forms.text, permissions: None });
        };
        Ok(NewFile {
            file: FileId { oid: writer.write_blob(&disk)?, mode: file.mode },
            bytes: disk,
            permissions: None,
        })
    }
}

/// The directory for staged files, and the worktree that they go to.
#[derive(Debug)]
pub struct StagingArea<'r> {
    pub(super) repo: &'r Repo,
    pub(super) dir: Dir,
    /// The mount of `dir`, from which a rename leads to no other.
    mount: Option<Mount>,
}

/// What is at the staging path of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StagedState {
    Nothing,
    /// The new content: the exchange has not happened.
    New,
    /// The old content: the exchange has happened.
    Old,
    /// Other content: the exchange displaced someone else's file.
    Foreign,
}

/// The directory in which a file is staged.
#[derive(Debug)]
pub(super) enum StagingDir<'s> {
    /// edt's own directory.
    Own(&'s Dir),
    /// The directory of the target.
    OnMount(Dir),
}

impl std::ops::Deref for StagingDir<'_> {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        match self {
            StagingDir::Own(dir) => dir,
            StagingDir::OnMount(dir) => dir,
        }
    }
}

/// What is at the target path of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetState {
    /// The old content, with its current stat; `None` if the file did not and does not exist.
    Old(Option<Stat>),
    /// The new content.
    New,
    /// Other content: a user's work.
    Other,
}

impl<'r> StagingArea<'r> {
    /// Opens edt's directory for staged files, creating it if missing.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn open(repo: &'r Repo) -> Result<StagingArea<'r>> {
        let path = repo.state_path().join("stage");
        let dir = if let Ok(dir) = enclosure::open_directory(&path) {
            dir
        } else {
            // A file that its directory protects is staged here, too.
            make_private_dir(&path).map_err(|error| failed("make", &path, &error))?;
            repo.share(&path)?;
            enclosure::open_directory(&path).map_err(|error| failed("open", &path, &error))?
        };
        let mount = dir.mount(b"").map_err(|error| failed("read", &path, &error))?;
        Ok(StagingArea { repo, dir, mount })
    }

    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The journal record of `change`, whose new bytes will be staged under a name with the
    /// transaction id `tx`.
    ///
    /// # Errors
    /// `IO_ERROR` and others of the disk.
    pub fn record(&self, change: &FileChange, tx: &str, i: usize) -> Result<FileRecord> {
        let on_mount = self.mount_above(&change.path)? != self.mount;
        let stage = if on_mount { format!(".edt-{tx}-{i}.tmp") } else { format!("{tx}-{i}") };
        Ok(FileRecord {
            path: change.path.as_bytes().to_vec(),
            old: change.old.map(|old| {
                (Id::from(old.file.oid), old.file.mode == FileMode::Executable, old.stat)
            }),
            new: change
                .new
                .as_ref()
                .map(|new| (Id::from(new.file.oid), new.file.mode == FileMode::Executable)),
            stage,
            on_mount,
        })
    }

    /// Stages the new bytes of `change`.
    ///
    /// # Errors
    /// `IO_ERROR` and others of the disk.
    pub fn put(&self, record: &FileRecord, change: &FileChange) -> Result<()> {
        let Some(new) = &change.new else { return Ok(()) };
        let executable = new.file.mode == FileMode::Executable;
        let perms = match (change.old, new.permissions) {
            (Some(old), Some(bits)) => Perms::Of(with_bits(old.stat, bits), executable),
            (Some(old), None) => Perms::Of(old.stat, executable),
            (None, Some(permissions)) => Perms::Exactly(permissions),
            (None, None) => Perms::Usual { executable },
        };
        self.stage_bytes(record, &new.bytes, perms)
    }

    /// The mount that has the directory of `path`. A directory that does not exist yet will be on
    /// the mount of its parent.
    fn mount_above(&self, path: &RepoPath) -> Result<Option<Mount>> {
        let root = self.repo.root();
        let wrap = |error: io::Error| failed("read", self.repo.root_path(), &error);
        let mut above = path.split().0;
        loop {
            let found = root.mount(above).map_err(wrap)?;
            if found.is_some() || above.is_empty() {
                return Ok(found);
            }
            above = &above[..above.iter().rposition(|&b| b == b'/').unwrap_or(0)];
        }
    }

    /// Writes `bytes` to the staging path of `record`.
    ///
    /// # Errors
    /// `IO_ERROR` and others of the disk.
    pub fn stage_bytes(&self, record: &FileRecord, bytes: &[u8], perms: Perms) -> Result<()> {
        let path = RepoPath::from_tree(&record.path);
        let wrap = |error: io::Error| {
            failed("stage the new content of", &self.repo.root_path().join(path.text()), &error)
        };
        if record.on_mount
            && let Parent::Missing = self.repo.root().beneath(path.split().0).map_err(wrap)?
        {
            self.repo.root().make_beneath(path.split().0).map_err(wrap)?;
        }
        let staging = self.staging_dir(record).map_err(wrap)?;
        Ok(staging.write_staged(record.stage.as_bytes(), bytes, perms).map_err(wrap)?)
    }

    /// As [`stage_bytes`](StagingArea::stage_bytes), in one step where files of edt are staged: a
    /// killed recovery leaves what was staged before, or all bytes.
    ///
    /// # Errors
    /// As [`stage_bytes`](StagingArea::stage_bytes).
    pub(super) fn restage(&self, record: &FileRecord, bytes: &[u8], perms: Perms) -> Result<()> {
        let other = record.stage.split_once('-').filter(|_| !record.on_mount);
        let Some((_, rest)) = other else {
            return self.stage_bytes(record, bytes, perms);
        };
        // No process has the number 0.
        let fresh = FileRecord { stage: format!("0-{rest}"), ..record.clone() };
        self.stage_bytes(&fresh, bytes, perms)?;
        let (from, to) = (fresh.stage.as_bytes(), record.stage.as_bytes());
        let path = || self.repo.state_path().join("stage").join(&record.stage);
        let renamed = self.dir.rename(from, &self.dir, to, RenameMode::Replace);
        renamed.map_err(|error| failed("stage", &path(), &error).into())
    }

    /// Exchanges the staged file and the target.
    ///
    /// # Errors
    /// `HASH_MISMATCH` if the target was not the expected file, which is then back in its place;
    /// `IO_ERROR` and others of the disk.
    pub fn swap(&self, record: &FileRecord) -> Result<()> {
        let path = RepoPath::from_tree(&record.path);
        self.exchange(record, &path).map_err(|error| self.explain(&path, &error))?;
        let Some((_, _, seen)) = &record.old else { return Ok(()) };
        if self.displaced_is(record, seen) {
            return Ok(());
        }
        self.roll_back(record)?;
        Err(changed_meanwhile(&path).into())
    }

    /// Compares the file at the staging path of `record`.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn staged(&self, record: &FileRecord) -> Result<StagedState> {
        let Ok(staging) = self.staging_dir(record) else { return Ok(StagedState::Nothing) };
        match staging.read(record.stage.as_bytes()) {
            Ok(FoundEntry::Nothing) => Ok(StagedState::Nothing),
            Ok(FoundEntry::File(stat, bytes)) => {
                let file =
                    FileId { oid: self.repo.blob_id(&bytes)?, mode: self.mode(record, &stat) };
                if Some(file) == record.new_file() {
                    return Ok(StagedState::New);
                }
                Ok(if Some(file) == record.old_file() {
                    StagedState::Old
                } else {
                    StagedState::Foreign
                })
            }
            // A link, a directory, or a file that is too large or not readable is not edt's.
            Ok(_) => Ok(StagedState::Foreign),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(StagedState::Foreign)
            }
            Err(error) => {
                Err(failed("read what is staged in", self.repo.state_path(), &error).into())
            }
        }
    }

    /// The file at the target path of `record`, as Git would record it.
    ///
    /// # Errors
    /// `INTERNAL` if hashing fails.
    pub fn current(&self, record: &FileRecord) -> Result<Option<FileId>> {
        let Some((stat, bytes)) = self.read(record) else { return Ok(None) };
        Ok(Some(FileId { oid: self.repo.blob_id(&bytes)?, mode: self.mode(record, &stat) }))
    }

    /// The stat and bytes of the target file; `None` if it cannot be read.
    pub(super) fn read(&self, record: &FileRecord) -> Option<(Stat, Vec<u8>)> {
        let path = RepoPath::from_tree(&record.path);
        let (directory, name) = path.split();
        match self.repo.root().beneath(directory).ok()? {
            Parent::Open(dir) => match dir.read(name).ok()? {
                FoundEntry::File(stat, bytes) => Some((stat, bytes)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The mode of a file on disk, or the recorded mode if Git ignores mode bits.
    fn mode(&self, record: &FileRecord, stat: &Stat) -> FileMode {
        let recorded = record
            .new_file()
            .or_else(|| record.old_file())
            .filter(|_| !self.repo.honors_file_mode());
        recorded.map_or(FileMode::of(stat.executable()), |file| file.mode)
    }

    /// The stat of the target file.
    #[must_use]
    pub fn stat(&self, record: &FileRecord) -> Option<Stat> {
        let path = RepoPath::from_tree(&record.path);
        let (directory, name) = path.split();
        match self.repo.root().beneath(directory) {
            Ok(Parent::Open(dir)) => dir.stat(name).ok().flatten(),
            _ => None,
        }
    }

    /// Compares the file at the target path of `record`.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn target_state(&self, record: &FileRecord) -> Result<TargetState> {
        let path = RepoPath::from_tree(&record.path);
        let (directory, name) = path.split();
        let wrap =
            |error: io::Error| failed("read", &self.repo.root_path().join(path.text()), &error);
        let found = match self.repo.root().beneath(directory).map_err(wrap)? {
            Parent::Open(dir) => match dir.read(name) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(TargetState::Other);
                }
                read => read.map_err(wrap)?,
            },
            Parent::Missing => FoundEntry::Nothing,
            Parent::Symlink | Parent::NotADirectory => return Ok(TargetState::Other),
        };
        let (current, stat) = match found {
            FoundEntry::Nothing => (None, None),
            FoundEntry::File(stat, bytes) => (
                Some(FileId { oid: self.repo.blob_id(&bytes)?, mode: self.mode(record, &stat) }),
                Some(stat),
            ),
            _ => return Ok(TargetState::Other),
        };
        if current == record.new_file() {
            return Ok(TargetState::New);
        }
        Ok(if current == record.old_file() { TargetState::Old(stat) } else { TargetState::Other })
    }

    pub(super) fn staging_dir(&self, record: &FileRecord) -> io::Result<StagingDir<'_>> {
        if !record.on_mount {
            return Ok(StagingDir::Own(&self.dir));
        }
        let path = RepoPath::from_tree(&record.path);
        match self.repo.root().beneath(path.split().0)? {
            Parent::Open(dir) => Ok(StagingDir::OnMount(dir)),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn exchange(&self, record: &FileRecord, path: &RepoPath) -> io::Result<()> {
        let (directory, name) = path.split();
        let root = self.repo.root();
        let dir = match root.beneath(directory)? {
            Parent::Missing if record.old.is_none() => root.make_beneath(directory)?,
            parent => parent,
        };
        let Parent::Open(dir) = dir else { return Err(io::Error::from(io::ErrorKind::NotFound)) };
        let (staging, stage) = (self.staging_dir(record)?, record.stage.as_bytes());
        match (&record.old, &record.new) {
            (Some((_, _, seen)), Some(_)) => {
                match staging.rename(stage, &dir, name, RenameMode::Exchange) {
                    // This file system cannot exchange files: check once more, then rename.
                    Err(error) if is_unsupported(&error) => match dir.stat(name)? {
                        Some(stat) if stat.same_content_as(seen) => {
                            staging.rename(stage, &dir, name, RenameMode::Replace)
                        }
                        _ => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
                    },
                    done => done,
                }
            }
            (None, Some(_)) => staging.rename(stage, &dir, name, RenameMode::NoReplace),
            (Some(_), None) => dir.take(name, &staging, stage),
            (None, None) => Ok(()),
        }
    }

    /// Whether the exchange displaced the expected file: the same inode and last write, or else the
    /// same bytes and mode.
    pub(super) fn displaced_is(&self, record: &FileRecord, seen: &Stat) -> bool {
        let Ok(staging) = self.staging_dir(record) else { return false };
        match staging.stat(record.stage.as_bytes()) {
            Ok(Some(stat))
                if stat.same_content_as(seen) && stat.executable() == seen.executable() =>
            {
                true
            }
            // The file was replaced without an exchange, so nothing is left to check.
            Ok(None) => record.new.is_some(),
            _ => match staging.read(record.stage.as_bytes()) {
                Ok(FoundEntry::File(stat, bytes)) => {
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
            _ => failed("write", &self.repo.root_path().join(path.text()), error),
        }
    }
}

/// The owner of `stat` with the permission bits `bits`.
pub(super) fn with_bits(stat: Stat, bits: u32) -> Stat {
    Stat { mode: stat.mode & !0o777 | bits & 0o777, ..stat }
}

fn changed_meanwhile(path: &RepoPath) -> Finding {
    Finding::new(
        Code::HashMismatch,
        format!("{path} was changed by someone else during the call. Their content is kept."),
        format!(
            "Read it again (`edt read {}`) and send the edit for the present text.",
            path.for_shell()
        ),
    )
    .with_effect(edt_types::finding::Effect::NothingRecorded)
    .at(path)
}
