//! A stand-in until the levels are merged.
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::base::Level;

/// a
#[derive(Debug)]
pub struct Plan {
    /// a
    pub level: Level,
    /// a
    pub program: PathBuf,
    /// a
    pub args: Vec<OsString>,
    /// a
    pub dir: PathBuf,
    /// a
    pub env: Vec<(OsString, OsString)>,
    /// a
    pub root: PathBuf,
    /// a
    pub git: Vec<PathBuf>,
    /// a
    pub writable: Vec<PathBuf>,
    /// a
    pub secrets: Vec<PathBuf>,
    /// a
    pub limits: Limits,
}
/// a
#[derive(Debug, Default)]
pub struct Limits {}
/// a
#[derive(Debug)]
pub enum NotStarted {
    /// a
    Unavailable {
        /// a
        level: Level,
        /// a
        why: String,
    },
    /// a
    Program(io::Error),
    /// a
    System(io::Error),
}
/// a
#[derive(Debug, Clone)]
pub struct Obtained {
    /// a
    pub level: Level,
    /// a
    pub by: String,
    /// a
    pub note: Option<String>,
}
/// a
#[derive(Debug)]
pub struct Running {
    child: Child,
    fd: OwnedFd,
}
/// a
#[derive(Debug)]
pub enum How {
    /// a
    Exit(i32),
    /// a
    Signal(i32),
}
/// a
#[derive(Debug)]
pub struct Ended {
    /// a
    pub how: How,
    /// a
    pub limit: Option<String>,
    /// a
    pub cpu: Duration,
}
/// # Errors
/// a
#[expect(clippy::disallowed_methods, reason = "stand-in")]
pub fn start(plan: &Plan, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Result<Running, NotStarted> {
    let mut command = Command::new(&plan.program);
    command.args(&plan.args).current_dir(&plan.dir).env_clear().envs(plan.env.iter().cloned());
    command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    let child = command.spawn().map_err(NotStarted::Program)?;
    let fd =
        rustix::process::pidfd_open(rustix::process::Pid::from_child(&child), rustix::process::PidfdFlags::empty())
            .map_err(|e| NotStarted::System(e.into()))?;
    Ok(Running { child, fd })
}
impl Running {
    /// a
    #[must_use]
    pub fn obtained(&self) -> Obtained {
        Obtained { level: Level::Permissive, by: "stand-in".into(), note: None }
    }
    /// a
    #[must_use]
    pub fn watch(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
    /// # Errors
    /// a
    pub fn wait(mut self) -> io::Result<Ended> {
        let status = self.child.wait()?;
        Ok(Ended {
            how: status.code().map_or_else(|| How::Signal(status.signal().unwrap_or(0)), How::Exit),
            limit: None,
            cpu: Duration::ZERO,
        })
    }
    /// # Errors
    /// a
    pub fn end(self) -> io::Result<Ended> {
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        self.wait()
    }
}
/// a
#[must_use]
pub fn withheld(_level: Level, _env: &[(OsString, OsString)]) -> Vec<OsString> {
    Vec::new()
}
