//! What differs between operating systems: the only door of this crate to calls that not every
//! system has.
//!
//! Each function promises the same everywhere, or says that the system cannot do it, with the error
//! of a file system that cannot. Its caller then takes the way that it has for such file systems:
//!
//! | function | where the system cannot do it |
//! | --- | --- |
//! | [`open_beneath`] | one checked step for each name of the path |
//! | [`rename`] without replacing | a hard link, then the removal of the old name |
//! | [`rename`] that exchanges | one more look at the target, then a rename that replaces it |
//! | [`mount`] | the device alone, so that two mounts of one device count as one |
//! | [`sync_file_system`] | each file alone |
//!
//! [`linux`] has the calls of Linux, [`apple`] those of macOS, and [`portable`] what POSIX has.
//! Builds with debug assertions take [`portable`] on Linux, too, if `EDT_PLATFORM=portable`: so
//! tests run what other systems run. Other builds do not look at the variable, because a file that
//! cannot be exchanged is less protected from a program that saves it at the same moment.

#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(target_os = "linux")]
mod linux;
mod portable;

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{Result, retry_on_intr};

use super::new_file::RenameMode;

#[cfg(target_vendor = "apple")]
use apple as native;
#[cfg(target_os = "linux")]
use linux as native;
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
use portable as native;

pub(super) use native::{
    OPEN_FILES, THREAD, become_subreaper, end_with_parent, is_ignored, limit_memory, open_up,
};
pub(super) use portable::remove_tree;

/// Where the kernel describes processes. Other systems than Linux have no such directory, and its
/// readers then answer that they know nothing.
pub(super) const PROCESSES: &str = "/proc";

/// Whether tests take the portable functions.
#[cfg(all(target_os = "linux", debug_assertions))]
fn is_portable() -> bool {
    static PORTABLE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *PORTABLE.get_or_init(super::environment::wants_portable)
}

#[cfg(not(all(target_os = "linux", debug_assertions)))]
const fn is_portable() -> bool {
    false
}

/// How a directory is opened for what is in it. Where the system can, that needs no right to read
/// its names.
pub(super) fn directory() -> OFlags {
    if is_portable() { portable::DIRECTORY } else { native::DIRECTORY }
}

/// Opens `path` beneath `directory`. No link and no `..` in it leads out.
///
/// # Errors
/// `LOOP` or `XDEV` for a link; `NOSYS`, `PERM` or `INVAL` if the system cannot check that.
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    if is_portable() {
        portable::open_beneath(directory, path, flags, mode)
    } else {
        native::open_beneath(directory, path, flags, mode)
    }
}

/// Renames a name in one directory to a name in another.
///
/// # Errors
/// `EXIST` for [`RenameMode::NoReplace`] if there is a target; `INVAL`, `NOSYS` or `OPNOTSUPP` if
/// the file system has no such rename.
pub(super) fn rename(
    (from, name): (BorrowedFd<'_>, &OsStr),
    (to, target): (BorrowedFd<'_>, &OsStr),
    how: RenameMode,
) -> Result<()> {
    if is_portable() {
        portable::rename((from, name), (to, target), how)
    } else {
        native::rename((from, name), (to, target), how)
    }
}

/// The number of the mount on which `path` below `directory` is, if the system has one, and its
/// device. No link is followed at the end; the empty path is the directory itself.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn mount(directory: BorrowedFd<'_>, path: &OsStr) -> Result<(Option<u64>, u64)> {
    if is_portable() { portable::mount(directory, path) } else { native::mount(directory, path) }
}

/// Returns when the content of the file is on stable storage.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn sync_data(file: BorrowedFd<'_>) -> Result<()> {
    retry_on_intr(|| native::sync_data(file))
}

/// Returns when content and metadata of the file, or the names in the directory, are on stable
/// storage.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn sync_all(file: BorrowedFd<'_>) -> Result<()> {
    retry_on_intr(|| native::sync_all(file))
}

/// Returns when all that was written to the file system of `file` is on stable storage.
///
/// # Errors
/// `NOSYS` if the system has no such call.
pub(super) fn sync_file_system(file: BorrowedFd<'_>) -> Result<()> {
    if is_portable() { portable::sync_file_system(file) } else { native::sync_file_system(file) }
}

/// Calls `each` for every entry of the open directory, `.` and `..` included.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn each_entry(directory: &OwnedFd, each: impl FnMut(&CStr, FileType)) -> Result<()> {
    if is_portable() {
        portable::each_entry(directory, each)
    } else {
        native::each_entry(directory, each)
    }
}

/// The path without links of the open directory that was opened at `path`; `None` if it is unknown.
pub(super) fn path_of(directory: BorrowedFd<'_>, path: &Path) -> Option<PathBuf> {
    if is_portable() {
        portable::path_of(directory, path)
    } else {
        native::path_of(directory, path)
    }
}

/// A file with `bytes` and without a name, to be read from its beginning.
///
/// # Errors
/// Any error of the operating system.
pub(super) fn unnamed_file(bytes: &[u8]) -> io::Result<File> {
    if is_portable() { portable::unnamed_file(bytes) } else { native::unnamed_file(bytes) }
}

/// What becomes readable when the child ends; `None` if the system does not report it, so that the
/// end must be looked for.
pub(super) fn end_of(child: &Child) -> Option<OwnedFd> {
    if is_portable() { portable::end_of(child) } else { native::end_of(child) }
}

/// The permission bits that this process's new files lack; `None` if the system does not report
/// them.
pub(super) fn new_file_mask() -> Option<u32> {
    if is_portable() { portable::new_file_mask() } else { native::new_file_mask() }
}

/// Makes a FIFO.
#[cfg(test)]
pub(super) fn make_fifo(path: &Path) {
    #[cfg(not(target_vendor = "apple"))]
    rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, crate::stat::mode(0o600), 0)
        .unwrap();
    #[cfg(target_vendor = "apple")]
    rustix::fs::mkfifoat(rustix::fs::CWD, path, crate::stat::mode(0o600)).unwrap();
}
