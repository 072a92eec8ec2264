//! A lock that ends with its process: `flock` on a file of edt's own.
//!
//! The lock only orders processes. Correctness rests on compare-and-swap and on the check of
//! replaced files.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::clock::Countdown;
use super::failed;
use super::file::{File, OpenMode};
use super::process::process_id;
use edt_types::{Code, Finding, Result};

/// How long the lock is polled before the process joins the kernel's queue. A queue leaves the lock
/// idle until the next holder wakes up, but no process in it starves.
const POLLING: Duration = Duration::from_millis(250);

/// Holds the lock until dropped; the kernel releases it when the process dies.
#[must_use = "the lock is held only while this value lives"]
#[derive(Debug)]
pub struct LockGuard {
    _file: File,
}

/// Takes the lock at `path` for the command `command`, waiting at most `limit`.
///
/// # Errors
/// `SESSION_BUSY` with the holder if `limit` is over; `IO_ERROR` or `GIT_DIR_READ_ONLY` if the file
/// cannot be opened.
pub fn acquire(path: &Path, command: &str, limit: Duration) -> Result<LockGuard> {
    let file = File::open(path, OpenMode::OrCreate)
        .map_err(|error| failed("open the lock file", path, &error))?;
    let mut countdown = Countdown::new(limit.min(POLLING));
    let file = loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break file,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(failed("lock", path, &error.into()).into()),
        }
        if !countdown.pause() {
            match wait_in_queue(file, limit.saturating_sub(POLLING)) {
                Some(taken) => break taken.map_err(|error| failed("lock", path, &error))?,
                None => return Err(busy(path, limit).into()),
            }
        }
    };
    let name = format!("{:<10} {command:<20.20}\n", process_id());
    file.write_all_at(name.as_bytes(), 0)
        .map_err(|error| failed("write the lock file", path, &error))?;
    Ok(LockGuard { _file: file })
}

/// Whether a running process holds the lock at `path`.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    let attempt = File::open(path, OpenMode::Existing)
        .map(|file| flock(&file, FlockOperation::NonBlockingLockExclusive));
    matches!(attempt, Ok(Err(Errno::WOULDBLOCK)))
}

/// Takes a shared lock on `file` without waiting; it is released when `file` is closed. Returns
/// whether it was taken.
#[must_use]
pub fn try_shared(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockShared).is_ok()
}

/// Takes an exclusive lock on `file` without waiting. Returns whether it was taken.
#[must_use]
pub fn try_exclusive(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Waits in the kernel's queue; `None` if `limit` is over.
///
/// A thread waits, because a blocked `flock` has no timeout. If this call stops waiting, the thread
/// releases the lock as soon as it gets it.
fn wait_in_queue(file: File, limit: Duration) -> Option<std::io::Result<File>> {
    if limit.is_zero() {
        return None;
    }
    let (taken, wait) = mpsc::channel();
    let queue = move || {
        let locked = loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        // If nobody waits any longer, the file comes back and is dropped, which releases the lock.
        drop(taken.send(locked.map(|()| file).map_err(Into::into)));
    };
    match std::thread::Builder::new().stack_size(64 * 1024).spawn(queue) {
        Ok(_) => wait.recv_timeout(limit).ok(),
        Err(error) => Some(Err(error)),
    }
}

fn busy(path: &Path, limit: Duration) -> Finding {
    let name = std::fs::read(path).unwrap_or_default();
    let name = String::from_utf8_lossy(&name[..name.len().min(31)]).into_owned();
    let name = name.lines().next().unwrap_or_default();
    let (pid, command) = name.trim().split_once(' ').unwrap_or((name.trim(), ""));
    let command = command.trim();
    let command_note = if command.is_empty() { String::new() } else { format!(" ({command})") };
    Finding::new(
        Code::SessionBusy,
        format!(
            "Process {pid}{command_note} holds this worktree and did not finish within {} s.",
            limit.as_secs_f32()
        ),
        "Repeat the call. If that process hangs, kill it: that releases the lock, and the next call \
         recovers what it left.",
    )
    .with("holder", pid)
    .with("holder_command", command)
}
