//! What Linux has besides.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;

use nix::sys::resource::UsageWho;
use rustix::fs::{
    self as sys, AtFlags, FileType, MemfdFlags, Mode, OFlags, RawDir, RenameFlags, ResolveFlags,
    StatxFlags,
};
use rustix::io::{Errno, Result};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, pidfd_open, prlimit, set_child_subreaper,
    set_parent_process_death_signal,
};

use super::portable;
use crate::new_file::RenameMode;

pub(super) const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory of this process's open files, each with its number.
pub(crate) const OPEN_FILES: &str = "/proc/self/fd";

/// Whose processor time is that of this thread.
pub(crate) const THREAD: UsageWho = UsageWho::RUSAGE_THREAD;

/// What the kernel says about this process.
const STATUS: &str = "/proc/self/status";

/// No link and no `..` leads out.
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    sys::openat2(directory, path, flags, mode, BENEATH)
}

pub(super) fn rename(
    (from, name): (BorrowedFd<'_>, &OsStr),
    (to, target): (BorrowedFd<'_>, &OsStr),
    how: RenameMode,
) -> Result<()> {
    let flags = match how {
        RenameMode::NoReplace => RenameFlags::NOREPLACE,
        RenameMode::Exchange => RenameFlags::EXCHANGE,
        RenameMode::Replace => RenameFlags::empty(),
    };
    sys::renameat_with(from, name, to, target, flags)
}

pub(super) fn mount(directory: BorrowedFd<'_>, path: &OsStr) -> Result<(Option<u64>, u64)> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    match sys::statx(directory, path, flags, StatxFlags::MNT_ID) {
        Ok(found) => {
            let known = StatxFlags::from_bits_retain(found.stx_mask);
            let number = known.contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id);
            Ok((number, sys::makedev(found.stx_dev_major, found.stx_dev_minor)))
        }
        // A container may know no such call.
        Err(Errno::NOSYS | Errno::PERM) => portable::mount(directory, path),
        Err(error) => Err(error),
    }
}

pub(super) fn sync_data(file: BorrowedFd<'_>) -> Result<()> {
    sys::fdatasync(file)
}

pub(super) fn sync_all(file: BorrowedFd<'_>) -> Result<()> {
    sys::fsync(file)
}

pub(super) fn sync_file_system(file: BorrowedFd<'_>) -> Result<()> {
    sys::syncfs(file)
}

pub(super) fn each_entry(directory: &OwnedFd, mut each: impl FnMut(&CStr, FileType)) -> Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        each(entry.file_name(), entry.file_type());
    }
    Ok(())
}

/// The link of the kernel to an open file, whatever is at its path now.
fn link(file: impl std::os::fd::AsFd) -> PathBuf {
    Path::new(OPEN_FILES).join(file.as_fd().as_raw_fd().to_string())
}

pub(super) fn path_of(directory: BorrowedFd<'_>, _: &Path) -> Option<PathBuf> {
    std::fs::read_link(link(directory)).ok()
}

pub(super) fn unnamed_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(sys::memfd_create("edt-input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

pub(super) fn end_of(child: &Child) -> Option<OwnedFd> {
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}

pub(super) fn new_file_mask() -> Option<u32> {
    u32::from_str_radix(&status("Umask:")?, 8).ok()
}

/// What the kernel says about this process below that name.
fn status(name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&std::fs::read(STATUS).ok()?).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

/// Gives the owner all rights in the directory `path` below `directory`, and follows no link.
///
/// # Errors
/// Any error of the operating system.
pub(crate) fn open_up(directory: BorrowedFd<'_>, path: &OsStr) -> Result<()> {
    let opened = sys::openat(directory, path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    let bits = sys::fstat(&opened)?.st_mode & 0o7777 | 0o700;
    sys::chmod(link(&opened), Mode::from_raw_mode(bits))
}

/// Makes this process the parent of orphaned descendants, so that they can be found.
pub(crate) fn become_subreaper() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Lets this process get SIGTERM when the process that started it ends.
///
/// # Errors
/// Any error of the operating system.
pub(crate) fn end_with_parent() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))
}

/// Limits the memory of the child to so many bytes. Fails if it has ended already. A program that
/// it started before has no limit.
pub(crate) fn limit_memory(child: &Child, bytes: u64) {
    let memory = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    let _ = prlimit(Some(Pid::from_child(child)), Resource::Data, memory);
}

/// Whether this process ignores the signal with this number.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // Bit n is signal n + 1.
    let mask = status("SigIgn:").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    mask.unwrap_or_default() & 1 << (signal - 1) != 0
}
