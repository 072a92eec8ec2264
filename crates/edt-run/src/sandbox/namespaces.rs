//! Namespaces that edt creates itself.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use landlock::{CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope};
use nix::sched::{CloneFlags, unshare};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

use super::{ResourceLimits, reexec};

/// Whether Landlock can restrict signals (Linux 6.12).
pub(super) fn landlock_scopes_signals() -> bool {
    let rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
    rules.and_then(Ruleset::create).is_ok()
}

/// Moves this process into a mount namespace, and an IPC namespace, because shared memory and
/// queues are not in the file system.
pub(super) fn mounts() -> Result<(), String> {
    create(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC)
}

/// `edt __sandbox namespaces WHICH`: creates namespaces, starts a supervisor as their first
/// process, and waits until it ends.
pub(super) fn enter(which: &OsStr) -> ExitCode {
    reexec::close_others();
    let processes = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWPID;
    let flags = match which.to_str() {
        Some("processes") => processes,
        Some("everything") => {
            processes
                | CloneFlags::CLONE_NEWNET
                | CloneFlags::CLONE_NEWUTS
                | CloneFlags::CLONE_NEWCGROUP
        }
        _ => return ExitCode::FAILURE,
    };
    match create(flags).and_then(|()| first_process(flags)) {
        Ok(code) => code,
        Err(why) => {
            let _ = write!(io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the supervisor must be a new process to be the first of the namespace"
)]
fn first_process(flags: CloneFlags) -> Result<ExitCode, String> {
    if flags.contains(CloneFlags::CLONE_NEWNET) {
        loopback().map_err(|error| format!("The loopback device cannot be set up: {error}."))?;
    }
    make_capabilities_inheritable()
        .map_err(|error| format!("Capabilities cannot be made inheritable: {error}."))?;
    // Namespace errors have been reported at this point. Only the supervisor may hold the pipe
    // open.
    let status = Command::new("/proc/self/exe")
        .arg(reexec::SUPERVISOR_ARGUMENT)
        .status()
        .map_err(|error| error.to_string())?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Lets the first process mount and drop privileges: without ambient capabilities, `exec` would
/// remove those of the new namespace.
fn make_capabilities_inheritable() -> rustix::io::Result<()> {
    let needed = [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP];
    let mut sets = capabilities(None)?;
    for one in needed {
        sets.inheritable |= one & sets.permitted;
    }
    set_capabilities(None, sets)?;
    for one in needed.into_iter().filter(|one| sets.permitted.contains(*one)) {
        configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}

fn create(flags: CloneFlags) -> Result<(), String> {
    let privileged = capabilities(None)
        .is_ok_and(|current| current.effective.contains(CapabilitySet::SYS_ADMIN));
    let flags = if privileged { flags } else { flags | CloneFlags::CLONE_NEWUSER };
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(flags).map_err(|error| {
        format!(
            "Namespaces cannot be created: {error}. Allow them (sysctl \
             kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in \
             a container --security-opt seccomp=unconfined or --cap-add SYS_ADMIN), or use the \
             level permissive."
        )
    })?;
    if !privileged {
        let write = |file: &str, text: String| {
            let path = format!("/proc/self/{file}");
            std::fs::write(&path, text)
                .map_err(|error| format!("{path} cannot be written: {error}."))
        };
        write("setgroups", "deny".to_owned())?;
        write("uid_map", format!("{user} {user} 1"))?;
        write("gid_map", format!("{group} {group} 1"))?;
    }
    Ok(())
}

/// Brings the loopback device up: in a new network namespace it is down.
fn loopback() -> rustix::io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // struct nlmsghdr: length 32, RTM_NEWLINK, NLM_F_REQUEST, sequence 1, port 0;
    // struct ifinfomsg: the first device, IFF_UP.
    let mut message = [0_u8; 32];
    message[0..4].copy_from_slice(&32_u32.to_ne_bytes());
    message[4..6].copy_from_slice(&16_u16.to_ne_bytes());
    message[6..8].copy_from_slice(&1_u16.to_ne_bytes());
    message[8..12].copy_from_slice(&1_u32.to_ne_bytes());
    message[20..24].copy_from_slice(&1_u32.to_ne_bytes());
    message[24..28].copy_from_slice(&1_u32.to_ne_bytes());
    message[28..32].copy_from_slice(&1_u32.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    Ok(())
}

/// Sets the process limit of the PID namespace, where the kernel has one (Linux 6.14). It stops a
/// fork bomb sooner than the supervisor.
pub(super) fn limit_processes(limits: &ResourceLimits) {
    if let Some(most) = limits.processes {
        // The kernel rejects values below 301.
        let _ =
            std::fs::write("/proc/sys/kernel/pid_max", most.saturating_add(2).max(301).to_string());
    }
}
