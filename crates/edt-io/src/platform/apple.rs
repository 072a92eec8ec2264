//! What macOS has besides. None of it has ever run on a Mac.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use nix::sys::resource::UsageWho;
use rustix::fs::{self as sys, AtFlags, RenameFlags};
use rustix::io::{Errno, Result};

pub(super) use super::portable::{
    DIRECTORY, each_entry, end_of, mount, new_file_mask, open_beneath, sync_file_system,
    unnamed_file,
};
use crate::new_file::RenameMode;
use crate::stat::{Stat, file_type, mode};

/// The directory of this process's open files, each with its number.
pub(crate) const OPEN_FILES: &str = "/dev/fd";

/// Whose processor time is that of this thread: the whole process has used at least as much.
pub(crate) const THREAD: UsageWho = UsageWho::RUSAGE_SELF;

/// `RENAME_SWAP` and `RENAME_EXCL`, which APFS has.
pub(super) fn rename(
    (from, name): (BorrowedFd<'_>, &OsStr),
    (to, target): (BorrowedFd<'_>, &OsStr),
    how: RenameMode,
) -> Result<()> {
    let flags = match how {
        RenameMode::Replace => return sys::renameat(from, name, to, target),
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
        RenameMode::Exchange => RenameFlags::EXCHANGE,
    };
    match sys::renameat_with(from, name, to, target, flags) {
        // Another number than `OPNOTSUPP` here.
        Err(Errno::NOTSUP) => Err(Errno::INVAL),
        done => done,
    }
}

pub(super) fn sync_data(file: BorrowedFd<'_>) -> Result<()> {
    sync_all(file)
}

/// `F_FULLFSYNC`: `fsync` leaves the data in the cache of the disk, which a power cut empties.
pub(super) fn sync_all(file: BorrowedFd<'_>) -> Result<()> {
    match sys::fcntl_fullfsync(file) {
        // A file system without it, such as one on a network.
        Err(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => sys::fsync(file),
        done => done,
    }
}

pub(super) fn path_of(directory: BorrowedFd<'_>, _: &Path) -> Option<PathBuf> {
    let path = sys::getpath(directory).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

/// Gives the owner all rights in the directory `path` below `directory`, and follows no link.
///
/// # Errors
/// Any error of the operating system.
pub(crate) fn open_up(directory: BorrowedFd<'_>, path: &OsStr) -> Result<()> {
    let found = Stat::from(&sys::statat(directory, path, AtFlags::SYMLINK_NOFOLLOW)?);
    if file_type(found.mode) != sys::FileType::Directory {
        return Err(Errno::NOTDIR);
    }
    let bits = mode(found.mode & 0o7777 | 0o700);
    sys::chmodat(directory, path, bits, AtFlags::SYMLINK_NOFOLLOW)
}

/// The system has no parent of orphans but its first process: a program that leaves its process
/// group goes on.
pub(crate) fn become_subreaper() {}

/// The system reports no end of a parent: this process goes on.
///
/// # Errors
/// None.
pub(crate) fn end_with_parent() -> Result<()> {
    Ok(())
}

/// Another process cannot be limited: the output of the child is.
pub(crate) fn limit_memory(_: &Child, _: u64) {}

/// Not reported: no signal counts as ignored.
pub(crate) fn is_ignored(_: i32) -> bool {
    false
}
