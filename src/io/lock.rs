//! A lock that dies with its process: `flock` on a file of edt's own.
//!
//! It is for the queue. Correctness rests on compare-and-swap and on looking at what was displaced.

use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::clock::{Countdown, process_id};
use super::failed;
use super::file::{File, Open};
use crate::base::{Code, Finding, Result};

/// Held until dropped; the kernel drops it when the process dies.
#[must_use = "the lock is held only while this value lives"]
#[derive(Debug)]
pub struct Held {
    _file: File,
}

/// Takes the lock at `path`, waiting at most `limit`.
///
/// # Errors
/// `SESSION_BUSY` naming the holder when the time is over; `IO_ERROR` or `GIT_DIR_READ_ONLY` if the file cannot be opened.
pub fn take(path: &Path, limit: Duration) -> Result<Held> {
    let file = File::open(path, Open::Made).map_err(|error| failed("open the lock file", path, &error))?;
    let mut countdown = Countdown::new(limit);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(error) => return Err(failed("lock", path, &error.into()).into()),
        }
        if !countdown.pause() {
            return Err(busy(&file, limit).into());
        }
    }
    let name = format!("{:<10}\n", process_id());
    file.write_all_at(name.as_bytes(), 0).map_err(|error| failed("write the lock file", path, &error))?;
    Ok(Held { _file: file })
}

fn busy(file: &File, limit: Duration) -> Finding {
    let mut name = [0; 10];
    let read = file.read_at(&mut name, 0).unwrap_or(0);
    let pid = String::from_utf8_lossy(&name[..read]).trim().to_owned();
    Finding::new(
        Code::SessionBusy,
        format!("Process {pid} holds this worktree and did not finish within {} s.", limit.as_secs_f32()),
        "Repeat the call. If that process hangs, end it: the lock goes with it, and the next call settles what it left.",
    )
    .with("holder", pid)
}
