//! A file opened for writing, by its path.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, OFlags};
use rustix::io::Errno;

use super::effect::{self, SideEffect};
use super::led::{led_elsewhere, unless_link};
use super::stat::mode as permissions;
use super::{enclosure, owner, platform};

/// An open file. Every change through it is a [`SideEffect`].
#[derive(Debug)]
pub struct File {
    inner: std::fs::File,
    path: PathBuf,
}

/// How a file is opened. All modes but the last two also allow reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The file must exist; nothing can be written.
    ReadOnly,
    /// The file must exist.
    Existing,
    /// Creates the file if it is missing.
    OrCreate,
    /// Creates the file if it is missing, readable by its owner only, and empties it.
    PrivateTruncated,
    /// The file must exist; every write appends.
    Append,
    /// Creates the file if it is missing; every write appends.
    AppendOrCreate,
    /// The same; a new file is readable by its owner only. What is there must be a regular file:
    /// no link is followed, and no FIFO waited for.
    AppendPrivate,
    /// The file must not exist. It gets these permissions, less the umask.
    CreateNew(u32),
    /// Write only. Creates the file if it is missing, and empties it.
    WriteOnly,
}

impl File {
    /// # Errors
    /// Any error of the operating system.
    pub fn open(path: &Path, how: OpenMode) -> io::Result<File> {
        if how != OpenMode::ReadOnly {
            effect::step(SideEffect::Open, path)?;
        }
        let creates = !matches!(how, OpenMode::ReadOnly | OpenMode::Existing | OpenMode::Append);
        let is_new = creates && owner::missing(path).first().is_some_and(|new| new == path);
        let inner = opened(path, how)?;
        // Another process may have put a file there meanwhile.
        if is_new && inner.metadata()?.nlink() == 1 {
            owner::give_opened(&inner, path);
        }
        Ok(File { inner, path: path.to_owned() })
    }

    /// The path that the file was opened at.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length in bytes.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.inner.metadata()?.len())
    }

    /// The inode number. A copy of the file has another one.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.inner.metadata()?.ino())
    }

    /// Whether `path` still refers to this file.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let same =
            |a: &std::fs::Metadata, b: &std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        self.inner
            .metadata()
            .is_ok_and(|own| std::fs::metadata(path).is_ok_and(|there| same(&own, &there)))
    }

    /// # Errors
    /// Any error of the operating system.
    pub fn truncate(&self, len: u64) -> io::Result<()> {
        effect::step(SideEffect::Write, &self.path)?;
        self.inner.set_len(len)
    }

    /// # Errors
    /// Any error of the operating system.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads once at offset `at`; returns the number of bytes.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.inner.read_at(into, at)
    }

    /// Fills `into` from offset `at`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file is too short, or any other error of the operating system.
    pub fn read_exact_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.inner.read_exact_at(into, at)
    }

    /// Writes `bytes` at offset `at`.
    ///
    /// # Errors
    /// Any error of the operating system; some of the bytes may be written.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        effect::write_bytes(&self.path, bytes, |bytes| self.inner.write_all_at(bytes, at))
    }

    /// Writes `bytes` at the current position, or at the end in an append mode.
    ///
    /// # Errors
    /// Any error of the operating system; some of the bytes may be written.
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        effect::write_bytes(&self.path, bytes, |bytes| (&self.inner).write_all(bytes))
    }

    /// Appends the content of the regular file `from`, and takes its permissions.
    pub(super) fn copy_from(&self, mut from: &std::fs::File) -> io::Result<()> {
        let meta = from.metadata()?;
        if !meta.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        io::copy(&mut from, &mut &self.inner)?;
        self.inner.set_permissions(meta.permissions())
    }

    /// Syncs the content to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync_data(&self) -> io::Result<()> {
        effect::step(SideEffect::Sync, &self.path)?;
        Ok(platform::sync_data(self.inner.as_fd())?)
    }

    /// Syncs the content and the metadata to disk.
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn sync_all(&self) -> io::Result<()> {
        effect::step(SideEffect::Sync, &self.path)?;
        Ok(platform::sync_all(self.inner.as_fd())?)
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

/// Opens the file at `path`. What may be written there in an enclosed directory is a regular file
/// with no other name.
fn opened(path: &Path, how: OpenMode) -> io::Result<std::fs::File> {
    let write = OFlags::RDWR | OFlags::CREATE;
    let (flags, mode) = match how {
        OpenMode::ReadOnly => (OFlags::RDONLY, 0),
        OpenMode::Existing => (OFlags::RDWR, 0),
        OpenMode::OrCreate => (write, 0o666),
        OpenMode::PrivateTruncated => (write | OFlags::TRUNC, 0o600),
        OpenMode::Append => (OFlags::RDWR | OFlags::APPEND, 0),
        OpenMode::AppendOrCreate => (write | OFlags::APPEND, 0o666),
        OpenMode::AppendPrivate => (write | OFlags::APPEND, 0o600),
        OpenMode::CreateNew(mode) => (OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode),
        OpenMode::WriteOnly => (OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, 0o666),
    };
    let (flags, mode) = (flags | OFlags::CLOEXEC, permissions(mode));
    let retried = |at: BorrowedFd<'_>, name: &Path, flags| loop {
        match sys::openat(at, name, flags, mode) {
            Err(Errno::INTR) => {}
            done => return done.map(std::fs::File::from),
        }
    };
    if how == OpenMode::ReadOnly {
        return Ok(retried(sys::CWD, path, flags)?);
    }
    let is_private = how == OpenMode::AppendPrivate;
    let place = enclosure::place(path)?;
    if !place.is_enclosed() && !is_private {
        return Ok(retried(place.directory(), place.name(), flags)?);
    }
    // Nothing is emptied, and no FIFO is waited for, before it is known what it is.
    let careful = flags.difference(OFlags::TRUNC) | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = retried(place.directory(), place.name(), careful)
        .map_err(|error| unless_link(path, error))?;
    if place.is_enclosed() && !flags.contains(OFlags::EXCL) {
        enclosure::check_own(path, &file)?;
    }
    if is_private && !file.metadata()?.is_file() {
        return Err(led_elsewhere(path, "no regular file"));
    }
    if flags.contains(OFlags::TRUNC) {
        file.set_len(0)?;
    }
    Ok(file)
}

/// How many syncs wait at a time. A thread costs some twenty system calls.
const MOST_SYNCS: usize = 4;

/// Syncs the files and directories at `paths` to disk, several at a time: the file system joins what
/// waits together.
///
/// # Errors
/// The first error of the operating system. Others may be synced all the same.
pub fn sync_together(paths: &[PathBuf]) -> io::Result<()> {
    if let [path] = paths {
        return sync(path);
    }
    paths.iter().try_for_each(|path| effect::step(SideEffect::Sync, path))?;
    if paths.len() > FEW_SYNCS && sync_file_systems(paths)? {
        return Ok(());
    }
    let one = |path: &PathBuf| sync_opened(path);
    let chunk = paths.len().div_ceil(MOST_SYNCS).max(1);
    let mut parts = paths.chunks(chunk);
    let own = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for part in parts {
            let all = move || part.iter().try_for_each(one);
            match std::thread::Builder::new().spawn_scoped(scope, all) {
                Ok(thread) => running.push(thread),
                // There may be no further thread.
                Err(_) => part.iter().try_for_each(one)?,
            }
        }
        own.iter().try_for_each(one)?;
        running.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a sync panicked")))
        })
    })
}

/// Up to so many files are synced one by one. The sync of a file system also waits for what others
/// wrote there, but for all files once.
pub const FEW_SYNCS: usize = 256;

/// Syncs the file systems of these files and directories; false if the system cannot.
fn sync_file_systems(paths: &[PathBuf]) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let mut synced = Vec::new();
    for path in paths {
        let device = std::fs::metadata(path)?.dev();
        if !synced.contains(&device) {
            match platform::sync_file_system(std::fs::File::open(path)?.as_fd()) {
                Err(Errno::NOSYS) => return Ok(false),
                done => done?,
            }
            synced.push(device);
        }
    }
    Ok(true)
}

/// Syncs the file or directory at `path` to disk.
///
/// # Errors
/// Any error of the operating system.
pub fn sync(path: &Path) -> io::Result<()> {
    effect::step(SideEffect::Sync, path)?;
    sync_opened(path)
}

fn sync_opened(path: &Path) -> io::Result<()> {
    Ok(platform::sync_all(std::fs::File::open(path)?.as_fd())?)
}
