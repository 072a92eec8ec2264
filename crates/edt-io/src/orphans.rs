//! Processes that a program leaves behind when it ends.

use std::path::Path;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

use super::platform::PROCESSES;
pub(super) use super::platform::become_subreaper;

/// Whether this process has a child, running or ended.
pub(super) fn has_children() -> bool {
    waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
        .is_ok()
}

/// Kills the processes whose `TMPDIR` is `directory`, and reaps those that are children of this
/// process. Returns whether one was killed.
pub(super) fn kill_by_tmpdir(directory: &Path) -> bool {
    let marker = [b"TMPDIR=", directory.as_os_str().as_encoded_bytes()].concat();
    let Ok(processes) = std::fs::read_dir(PROCESSES) else { return false };
    let mut found = false;
    for name in processes.flatten().map(|entry| entry.file_name()) {
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        if pid == getpid() {
            continue;
        }
        let environment =
            std::fs::read(Path::new(PROCESSES).join(&name).join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable == marker) {
            found |= kill_process(pid, Signal::KILL).is_ok();
            // A process whose parent still lives cannot be reaped here. The parent is killed in
            // this round, too.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        }
    }
    found
}
