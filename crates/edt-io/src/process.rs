//! The identity of processes.

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
