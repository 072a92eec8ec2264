//! Restrictions that a thread applies to itself before it starts the program: privileges, Landlock,
//! seccomp.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::os_bytes::OsBytes;
use super::wire::{Namespaces, Orders};
use super::{privileges, seccomp};
use edt_types::Level;
use seccomp::SocketRule;

/// Writable device files.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
];
/// Device directories in which files may be written and created.
const DEVICE_DIRECTORIES: &[&str] = &["/dev/shm", "/dev/pts"];

/// Confines this thread and all processes that it starts. This cannot be undone.
pub(super) fn this_thread(orders: &Orders) -> Result<(), String> {
    reduce_rights(orders)?;
    let sockets = match orders.level {
        _ if orders.recorded.is_some() => SocketRule::Recorder,
        Level::Strict => SocketRule::OwnNetwork,
        _ => SocketRule::None,
    };
    seccomp::apply(sockets)
}

/// Gives this thread the rights of the program: its capabilities, and its Landlock rules.
pub(super) fn reduce_rights(orders: &Orders) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    privileges::drop_all(root)
        .map_err(|error| format!("Privileges cannot be dropped: {error}."))?;
    landlock(orders).map_err(|error| {
        format!(
            "Landlock cannot confine the program: {error}. It requires Linux 5.19 or newer with \
             `landlock` among the security modules."
        )
    })
}

/// Allows writes only below `writable`, and no tracing of processes outside. At standard it also
/// blocks signals to processes outside.
fn landlock(orders: &Orders) -> Result<(), Box<dyn std::error::Error>> {
    // Before Linux 6.2 only the mounts prevent truncation. Before 6.7 only seccomp blocks the
    // network.
    let required = AccessFs::from_write(ABI::V2);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(required)?
        .set_compatibility(if orders.namespaces == Namespaces::All {
            CompatLevel::BestEffort
        } else {
            CompatLevel::HardRequirement
        })
        .scope(Scope::Signal)?
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)?
        .handle_access(AccessFs::Truncate)?;
    if orders.level == Level::Standard {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let mut rules = rules.create()?.set_compatibility(CompatLevel::BestEffort);
    let directory = (required | AccessFs::Truncate) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for path in
        orders.writable.iter().map(OsBytes::path).chain(DEVICE_DIRECTORIES.iter().map(Path::new))
    {
        rules = allow(rules, path, directory)?;
    }
    for path in DEVICES.iter().map(Path::new) {
        rules = allow(rules, path, AccessFs::WriteFile | AccessFs::Truncate)?;
    }
    let status = rules.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("this kernel does not enforce it".into());
    }
    Ok(())
}

fn allow(
    rules: landlock::RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    // A path that does not exist needs no rule.
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(ABI::V3) };
    rules.add_rule(PathBeneath::new(opened, access))
}
