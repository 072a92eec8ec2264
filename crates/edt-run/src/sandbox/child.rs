//! The hidden entry point of the supervisor: `edt __sandbox`.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;

use super::reexec::{SUPERVISOR_ARGUMENT, close_others};
use super::{namespaces, supervise};

/// Runs the supervisor if edt's arguments, `args`, request it.
#[must_use]
pub fn entry(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if args.nth(1)? != SUPERVISOR_ARGUMENT {
        return None;
    }
    Some(match args.next() {
        None => supervisor(),
        Some(_) => args.next().map_or(ExitCode::FAILURE, |which| namespaces::enter(&which)),
    })
}

fn supervisor() -> ExitCode {
    close_others();
    // The control socket is standard input.
    let Ok(control) = take_control_socket() else { return ExitCode::FAILURE };
    match supervise::supervise(&control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn take_control_socket() -> rustix::io::Result<OwnedFd> {
    let control = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(control)
}
