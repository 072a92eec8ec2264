//! A program that runs, and how it ended.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown, shutdown};
use serde::{Deserialize, Serialize};

use super::wire::{self, Over, Report};
use super::{Limit, tree};
use crate::base::Level;
use crate::io::scratch::Scratch;

/// How long the supervisor may take to end what it supervises before edt does it itself.
const PATIENCE: Timespec = Timespec { tv_sec: 15, tv_nsec: 0 };

/// A program that was started, with everything that it starts. Dropping it ends all of it.
#[derive(Debug)]
#[must_use = "dropping it ends the program"]
pub struct Running {
    pub(super) supervisor: Child,
    pub(super) control: Option<OwnedFd>,
    pub(super) level: Level,
    pub(super) by: &'static str,
    /// The private temporary folder, which goes away last.
    pub(super) scratch: Option<Scratch>,
}

/// How it ended. Nothing of it runs any more, unless [`left`](Ended::left) says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How the program itself ended.
    pub how: How,
    /// The limit that everything was ended for.
    pub limit: Option<Limit>,
    /// Processor time, of all processes whose end was seen.
    pub cpu: Duration,
    /// The most memory that one process had, in bytes.
    pub max_rss: u64,
    /// Processes that could not be ended: they belong to another user (`sudo`) or wait in the kernel.
    pub left: u32,
}

impl Ended {
    /// One whose end was not seen.
    #[must_use]
    pub fn unknown() -> Ended {
        Ended { how: How::Lost, limit: None, cpu: Duration::ZERO, max_rss: 0, left: 0 }
    }
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal; 9 if it was ended from here.
    Signal(i32),
    /// Its supervisor was killed: how it would have ended is not known. Everything was ended.
    Lost,
}

impl Running {
    /// The level obtained: always the one that was asked for.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// What holds the program, in a few words.
    #[must_use]
    pub fn by(&self) -> &'static str {
        self.by
    }

    /// Becomes readable when it is over.
    #[must_use]
    pub fn watch(&self) -> BorrowedFd<'_> {
        // It is taken only by what consumes `self`.
        match &self.control {
            Some(control) => control.as_fd(),
            None => rustix::stdio::stdin(),
        }
    }

    /// Waits for the program's end, then for that of everything that it left behind, which is ended.
    ///
    /// # Errors
    /// What the system says if that cannot be watched.
    pub fn wait(mut self) -> io::Result<Ended> {
        self.finish()
    }

    /// Ends the program and everything that it started, now.
    ///
    /// # Errors
    /// What the system says if that cannot be watched.
    pub fn end(mut self) -> io::Result<Ended> {
        self.stop();
        self.finish()
    }

    /// Tells the supervisor to end everything; where it does not answer, it is ended itself.
    fn stop(&mut self) {
        let Some(control) = &self.control else { return };
        let _ = shutdown(control, Shutdown::Write);
        let mut fds = [PollFd::new(control, PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&PATIENCE)), Ok(1..)) {
            let _ = self.supervisor.kill();
        }
    }

    fn finish(&mut self) -> io::Result<Ended> {
        let Some(control) = self.control.take() else { return Err(io::ErrorKind::NotFound.into()) };
        let report = wire::next_report(&control);
        // A supervisor of namespaces that lives on, its parent killed, sees the end of the socket.
        drop(control);
        match self.supervisor.wait() {
            // Whoever started edt with SIGCHLD ignored has the kernel wait for children itself.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::CHILD.raw_os_error()) => {
            }
            waited => drop(waited?),
        }
        tree::forget(self.supervisor.id());
        let ended = match report? {
            Some(Report::Over(Over { how, limit, cpu, max_rss, left })) => {
                Ended { how, limit, cpu, max_rss, left }
            }
            // What the supervisor would have ended is this process's to end now.
            _ => Ended { left: tree::end_orphans(), ..Ended::unknown() },
        };
        self.scratch = None;
        Ok(ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.control.is_some() {
            self.stop();
            let _ = self.finish();
        }
    }
}
