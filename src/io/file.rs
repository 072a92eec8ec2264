//! A file opened for writing, by its path.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::effect::{self, Effect};

/// An open file. Everything that changes it is an [`Effect`].
#[derive(Debug)]
pub struct File {
    inner: std::fs::File,
    path: PathBuf,
}

/// How a file is opened; all but the last two to read, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// It must be there.
    There,
    /// It is made if it is missing.
    Made,
    /// It is made if it is missing, and emptied.
    Emptied,
    /// It must be there; every write goes to its end.
    Append,
    /// The same, made if it is missing.
    AppendMade,
    /// It must not be there; its permissions are these, less the umask.
    New(u32),
    /// Only to write, made if it is missing, and emptied.
    Written,
}

impl File {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn open(path: &Path, how: Open) -> io::Result<File> {
        let mut options = std::fs::OpenOptions::new();
        match how {
            Open::There => options.read(true).write(true),
            Open::Made => options.read(true).write(true).create(true).truncate(false),
            Open::Emptied => options.read(true).write(true).create(true).truncate(true),
            Open::Append => options.read(true).append(true),
            Open::AppendMade => options.read(true).append(true).create(true),
            Open::New(mode) => options.write(true).create_new(true).mode(mode),
            Open::Written => options.write(true).create(true).truncate(true),
        };
        effect::step(Effect::Open, path)?;
        Ok(File { inner: options.open(path)?, path: path.to_owned() })
    }

    /// Its length in bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.inner.metadata()?.len())
    }

    /// Whether `path` names this very file.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let same =
            |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        self.inner
            .metadata()
            .is_ok_and(|own| std::fs::metadata(path).is_ok_and(|there| same(&own, &there)))
    }

    /// Cuts it to `len` bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn truncate(&self, len: u64) -> io::Result<()> {
        effect::step(Effect::Write, &self.path)?;
        self.inner.set_len(len)
    }

    /// Whether it has no bytes.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads once at `at`; how many bytes that gave.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.inner.read_at(into, at)
    }

    /// Fills `into` from `at`.
    ///
    /// # Errors
    /// `UnexpectedEof` if there is not so much; whatever else the system says.
    pub fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.inner.read_exact_at(into, at)
    }

    /// Writes `bytes` at `at`.
    ///
    /// # Errors
    /// Whatever the system says; a part of them may be written.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        effect::written(&self.path, bytes, |bytes| self.inner.write_all_at(bytes, at))
    }

    /// Writes `bytes` where the last write ended, or at the end if it was opened for that.
    ///
    /// # Errors
    /// Whatever the system says; a part of them may be written.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        effect::written(&self.path, bytes, |bytes| (&self.inner).write_all(bytes))
    }

    /// Waits until its bytes are on the medium.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync_data(&self) -> io::Result<()> {
        effect::step(Effect::Sync, &self.path)?;
        self.inner.sync_data()
    }

    /// Waits until its bytes, and all that is recorded of it, are on the medium.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync_all(&self) -> io::Result<()> {
        effect::step(Effect::Sync, &self.path)?;
        self.inner.sync_all()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// Waits until the file or folder at `path` is on the medium.
///
/// # Errors
/// Whatever the system says.
pub fn sync(path: &Path) -> io::Result<()> {
    effect::step(Effect::Sync, path)?;
    std::fs::File::open(path)?.sync_all()
}
