//! What POSIX has. Nothing is opened beneath a directory, and nothing is exchanged, in one step.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{self as sys, AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::{Errno, Result};

use crate::new_file::RenameMode;
use crate::stat::{Stat, file_type, mode};

pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where unnamed files are made.
const TEMPORARY: &str = "/tmp";

pub(super) fn open_beneath(_: BorrowedFd<'_>, _: &OsStr, _: OFlags, _: Mode) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

pub(super) fn rename(
    (from, name): (BorrowedFd<'_>, &OsStr),
    (to, target): (BorrowedFd<'_>, &OsStr),
    how: RenameMode,
) -> Result<()> {
    match how {
        RenameMode::Replace => sys::renameat(from, name, to, target),
        RenameMode::NoReplace | RenameMode::Exchange => Err(Errno::INVAL),
    }
}

pub(super) fn mount(directory: BorrowedFd<'_>, path: &OsStr) -> Result<(Option<u64>, u64)> {
    let path = if path.is_empty() { OsStr::new(".") } else { path };
    let found = sys::statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((None, Stat::from(&found).dev))
}

pub(super) fn sync_file_system(_: BorrowedFd<'_>) -> Result<()> {
    Err(Errno::NOSYS)
}

pub(super) fn each_entry(directory: &OwnedFd, mut each: impl FnMut(&CStr, FileType)) -> Result<()> {
    Dir::read_from(directory)?.try_for_each(|entry| {
        let entry = entry?;
        each(entry.file_name(), entry.file_type());
        Ok(())
    })
}

pub(super) fn path_of(directory: BorrowedFd<'_>, path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let opened = Stat::from(&sys::fstat(directory).ok()?);
    Stat::of_target(&path).filter(|there| there.inode() == opened.inode()).map(|_| path)
}

/// Removes the directory `name` in `directory` with its content, and follows no link.
///
/// # Errors
/// Any error of the operating system; a part may be removed.
pub(crate) fn remove_tree(directory: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
    let inner = sys::openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    let mut names = Vec::new();
    each_entry(&inner, |name, _| {
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.to_owned());
        }
    })?;
    for name in names {
        let found = match sys::statat(&inner, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            found => Stat::from(&found?),
        };
        if file_type(found.mode) == FileType::Directory {
            remove_tree(inner.as_fd(), Path::new(OsStr::from_bytes(name.to_bytes())))?;
        } else {
            gone(sys::unlinkat(&inner, &name, AtFlags::empty()))?;
        }
    }
    Ok(gone(sys::unlinkat(directory, name, AtFlags::REMOVEDIR))?)
}

/// What another program has removed is removed.
fn gone(done: Result<()>) -> Result<()> {
    if done == Err(Errno::NOENT) { Ok(()) } else { done }
}

pub(super) fn unnamed_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = new_unnamed_file(0o600)?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// A new file that has lost its name, with the permissions `bits` less the umask.
fn new_unnamed_file(bits: u32) -> io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = format!("{TEMPORARY}/edt-{}-unnamed-{number}", std::process::id());
        match sys::openat(CWD, &path, flags, mode(bits)) {
            Err(Errno::EXIST | Errno::INTR) => {}
            opened => {
                let file = File::from(opened?);
                sys::unlinkat(CWD, &path, AtFlags::empty())?;
                return Ok(file);
            }
        }
    }
}

pub(super) fn end_of(_: &Child) -> Option<OwnedFd> {
    None
}

/// Only a new file shows the mask: to ask for it is to change it.
pub(super) fn new_file_mask() -> Option<u32> {
    static MASK: OnceLock<Option<u32>> = OnceLock::new();
    *MASK.get_or_init(|| {
        let made = Stat::from(&sys::fstat(new_unnamed_file(0o777).ok()?).ok()?);
        Some(!made.mode & 0o777)
    })
}
