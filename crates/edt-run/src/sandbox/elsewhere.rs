//! Systems without a sandbox: no program starts.

use std::convert::Infallible;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use edt_types::Level;
use rustix::process::Signal;

use super::{SandboxOutcome, SandboxPlan, StartError};

/// A program that was started: there is none.
#[derive(Debug)]
#[must_use = "dropping it kills the program"]
pub struct RunningProgram(Infallible);

impl RunningProgram {
    /// The requested level.
    #[must_use]
    pub fn level(&self) -> Level {
        match self.0 {}
    }

    /// The mechanisms that confine the program.
    #[must_use]
    pub fn by(&self) -> &'static str {
        match self.0 {}
    }

    /// Becomes readable when the program has ended.
    #[must_use]
    pub fn watch(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }

    /// Sends `signal` to the program.
    pub fn signal(&self, _: Signal) {
        match self.0 {}
    }

    /// Waits until the program ends.
    ///
    /// # Errors
    /// None.
    pub fn wait(self) -> io::Result<SandboxOutcome> {
        match self.0 {}
    }

    /// Kills the program.
    ///
    /// # Errors
    /// None.
    pub fn end(self) -> io::Result<SandboxOutcome> {
        match self.0 {}
    }
}

/// Starts nothing.
///
/// # Errors
/// [`StartError::Unavailable`] at every level: a program that nothing confines and nothing records
/// could not be undone.
pub fn start(
    plan: &SandboxPlan,
    _: impl Into<OwnedFd>,
    _: impl Into<OwnedFd>,
    _: impl Into<OwnedFd>,
) -> Result<RunningProgram, StartError> {
    let why = "edt starts programs for agents on Linux alone.".to_owned();
    Err(StartError::Unavailable { level: plan.level, why })
}

/// The level of the run that records this process: there is none.
#[must_use]
pub fn outer_level() -> Option<Level> {
    None
}

/// The entry point of a supervisor, which this system does not have.
pub mod child {
    use std::ffi::OsString;
    use std::process::ExitCode;

    /// Never requested.
    #[must_use]
    pub fn entry(_: impl Iterator<Item = OsString>) -> Option<ExitCode> {
        None
    }
}
