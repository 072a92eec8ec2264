//! A running program, and how it ended.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{Shutdown, shutdown};
use rustix::process::Signal;

use super::outcome::SandboxOutcome;
use super::tree;
use super::wire::{self, Ended, SupervisorReport};
use edt_io::clock;
use edt_io::scratch::Scratch;
use edt_io::streams::wait_ready;
use edt_types::Level;

/// How long the supervisor may take to kill its processes before edt kills them itself.
const KILL_TIMEOUT: Duration = Duration::from_secs(15);

/// A program that was started, with all its processes. Dropping this value kills them.
#[derive(Debug)]
#[must_use = "dropping it kills the program"]
pub struct RunningProgram {
    pub(super) supervisor: Child,
    pub(super) control: Option<OwnedFd>,
    pub(super) level: Level,
    pub(super) by: &'static str,
    /// The private temporary directory, which is removed last.
    pub(super) scratch: Option<Scratch>,
    /// A copy of the recorder's listener: if the supervisor is killed, calls wait until all
    /// processes are killed.
    pub(super) listener: Option<OwnedFd>,
}

impl RunningProgram {
    /// Always the requested level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The mechanisms that confine the program, for messages.
    #[must_use]
    pub fn by(&self) -> &'static str {
        self.by
    }

    /// Becomes readable when the program has ended.
    #[must_use]
    pub fn watch(&self) -> BorrowedFd<'_> {
        // Only methods that consume `self` take it.
        match &self.control {
            Some(control) => control.as_fd(),
            None => rustix::stdio::stdin(),
        }
    }

    /// Sends `signal` to the program's process group. When the program has ended, the rest of its
    /// group may go on until [`end`](RunningProgram::end).
    pub fn signal(&self, signal: Signal) {
        if let Some(control) = &self.control {
            wire::send_signal(control, signal);
        }
    }

    /// Waits until the program ends. Its remaining processes are then killed.
    ///
    /// # Errors
    /// The system's error if the end cannot be observed.
    pub fn wait(mut self) -> io::Result<SandboxOutcome> {
        self.finish()
    }

    /// Kills the program and all its processes now.
    ///
    /// # Errors
    /// The system's error if the end cannot be observed.
    pub fn end(mut self) -> io::Result<SandboxOutcome> {
        self.stop();
        self.finish()
    }

    /// Asks the supervisor to kill everything. If it does not answer, kills the supervisor.
    fn stop(&mut self) {
        let Some(control) = &self.control else { return };
        let _ = shutdown(control, Shutdown::Write);
        let mut fds = [PollFd::new(control, PollFlags::IN)];
        if !matches!(wait_ready(&mut fds, clock::now() + KILL_TIMEOUT), Ok(true)) {
            let _ = self.supervisor.kill();
        }
    }

    fn finish(&mut self) -> io::Result<SandboxOutcome> {
        let Some(control) = self.control.take() else { return Err(io::ErrorKind::NotFound.into()) };
        let report = wire::next_report(&control);
        // A supervisor in namespaces, whose parent was killed, ends when the socket is closed.
        drop(control);
        match self.supervisor.wait() {
            // If SIGCHLD was ignored when edt started, the kernel reaps children itself.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::CHILD.raw_os_error()) => {
            }
            waited => drop(waited?),
        }
        tree::unregister(self.supervisor.id());
        let ended = match report?.map(|(report, _)| report) {
            Some(SupervisorReport::Ended(Ended { how, limit, cpu, max_rss, left })) => {
                SandboxOutcome { how, limit, cpu, max_rss, left }
            }
            // The supervisor was killed. This process now has to kill what is left.
            _ => SandboxOutcome { left: tree::end_orphans(), ..SandboxOutcome::unknown() },
        };
        self.listener = None;
        self.scratch = None;
        Ok(ended)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if self.control.is_some() {
            self.stop();
            let _ = self.finish();
        }
    }
}
