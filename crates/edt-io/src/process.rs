//! The identity of processes.

use std::process::Child;
use std::sync::OnceLock;

/// The id of this process.
#[must_use]
pub fn process_id() -> u32 {
    static ID: OnceLock<u32> = OnceLock::new();
    *ID.get_or_init(std::process::id)
}

/// Whether a process with this id is running.
#[must_use]
pub fn is_running(id: u32) -> bool {
    let pid = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Sends a signal to a child that was not waited for.
pub fn signal(child: &Child, number: i32) {
    if let Some(signal) = rustix::process::Signal::from_named_raw(number) {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
    }
}
