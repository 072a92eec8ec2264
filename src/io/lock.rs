//! A lock that dies with its process: `flock` on a file of edt's own.
//!
//! It is for the queue. Correctness rests on compare-and-swap and on looking at what was displaced.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::clock::{Countdown, process_id};
use super::failed;
use super::file::{File, Open};
use crate::base::{Code, Finding, Result};

/// How long the lock is tried for again and again before its process joins the kernel's queue. In a queue the lock lies idle until its
/// next holder is awake; but the queue lets nobody starve.
const TRIED: Duration = Duration::from_millis(250);

/// Held until dropped; the kernel drops it when the process dies.
#[must_use = "the lock is held only while this value lives"]
#[derive(Debug)]
pub struct Held {
    _file: File,
}

/// Takes the lock at `path` for the command `command`, waiting at most `limit`.
///
/// # Errors
/// `SESSION_BUSY` naming the holder when the time is over; `IO_ERROR` or `GIT_DIR_READ_ONLY` if the file cannot be opened.
pub fn take(path: &Path, command: &str, limit: Duration) -> Result<Held> {
    let file =
        File::open(path, Open::Made).map_err(|error| failed("open the lock file", path, &error))?;
    let mut countdown = Countdown::new(limit.min(TRIED));
    let file = loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break file,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(failed("lock", path, &error.into()).into()),
        }
        if !countdown.pause() {
            match queued(file, limit.saturating_sub(TRIED)) {
                Some(taken) => break taken.map_err(|error| failed("lock", path, &error))?,
                None => return Err(busy(path, limit).into()),
            }
        }
    };
    let name = format!("{:<10} {command:<20.20}\n", process_id());
    file.write_all_at(name.as_bytes(), 0)
        .map_err(|error| failed("write the lock file", path, &error))?;
    Ok(Held { _file: file })
}

/// Whether a living process holds the lock at `path`.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    let tried = File::open(path, Open::There)
        .map(|file| flock(&file, FlockOperation::NonBlockingLockExclusive));
    matches!(tried, Ok(Err(Errno::WOULDBLOCK)))
}

/// Takes a lock that others may have too, without waiting; it ends with `file`. Whether it was had.
#[must_use]
pub fn try_shared(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockShared).is_ok()
}

/// The same for a lock that nobody else may have.
#[must_use]
pub fn try_exclusive(file: &File) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Waits in the kernel's queue; `None` if the time is over.
///
/// A thread waits, because a blocked `flock` knows no limit. One that is left behind gives the lock back as soon as it gets it.
fn queued(file: File, limit: Duration) -> Option<std::io::Result<File>> {
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
        // Nobody waits any longer: the file comes back, is dropped, and the lock with it.
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
    let doing = if command.is_empty() { String::new() } else { format!(" (edt {command})") };
    Finding::new(
        Code::SessionBusy,
        format!("Process {pid}{doing} holds this worktree and did not finish within {} s.", limit.as_secs_f32()),
        "Repeat the call. If that process hangs, end it: the lock goes with it, and the next call settles what it left.",
    )
    .with("holder", pid)
    .with("command", command)
}
