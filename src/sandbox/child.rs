//! The hidden entry of the supervisor: `edt __sandbox`.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;

use super::{spaces, supervise};

/// The argument by which edt starts itself as a supervisor.
pub const NAME: &str = "__sandbox";

/// Runs the supervisor if `args`, edt's own, ask for it.
#[must_use]
pub fn entry(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if args.nth(1)? != NAME {
        return None;
    }
    Some(match args.next() {
        None => supervisor(),
        Some(_) => args.next().map_or(ExitCode::FAILURE, |which| spaces::enter(&which)),
    })
}

fn supervisor() -> ExitCode {
    close_others();
    // The lifeline came as standard input.
    let Ok(control) = lifeline() else { return ExitCode::FAILURE };
    match supervise::supervise(&control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn lifeline() -> rustix::io::Result<OwnedFd> {
    let control = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(control)
}

/// Closes what was inherited beside the three standard streams: it is nothing of the program's.
pub(super) fn close_others() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<i32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in open.into_iter().filter(|number| *number > 2) {
        let _ = nix::unistd::close(number);
    }
}
