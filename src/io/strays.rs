//! Processes that a program leaves behind when it ends.

use std::path::Path;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, set_child_subreaper, waitid,
};

/// From now on what a program leaves behind becomes this process's child, not the system's: then it can be found.
pub(super) fn adopt() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Whether this process has any child left, ended or not.
pub(super) fn any_child() -> bool {
    waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
        .is_ok()
}

/// Ends the processes whose place for temporary files is `folder`, and reaps those that are ours; false if there were none.
pub(super) fn end(folder: &Path) -> bool {
    let marker = [b"TMPDIR=", folder.as_os_str().as_encoded_bytes()].concat();
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
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
            std::fs::read(Path::new("/proc").join(&name).join("environ")).unwrap_or_default();
        if environment.split(|&byte| byte == 0).any(|variable| variable == marker) {
            found |= kill_process(pid, Signal::KILL).is_ok();
            // Not ours to wait for if its parent still lives; that one is ended in this round, too.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        }
    }
    found
}
