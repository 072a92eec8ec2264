//! What a thread does to itself before it starts the program: privileges, Landlock, seccomp.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::wire::{Bytes, Orders, Spaces};
use super::{privileges, seccomp};
use crate::base::Level;

/// Device files that may be written, beside the folders.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
];
/// Folders of devices in which files may be written and made.
const DEVICE_FOLDERS: &[&str] = &["/dev/shm", "/dev/pts"];

/// Confines this thread and all that it starts, for good.
pub(super) fn this_thread(orders: &Orders) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    privileges::drop_all(root)
        .map_err(|error| format!("Privileges cannot be given up: {error}."))?;
    landlock(orders).map_err(|error| format!("Landlock cannot hold the program: {error}. Linux 5.19 or newer with `landlock` among its security modules can."))?;
    seccomp::apply(orders.level == Level::Strict)
}

/// Nothing is written but beneath `writable`; no process outside is traced or looked into; at standard, no signal leaves.
fn landlock(orders: &Orders) -> Result<(), Box<dyn std::error::Error>> {
    // What the mounts hold alone before Linux 6.2: truncation. What seccomp holds alone before 6.7: networks.
    let required = AccessFs::from_write(ABI::V2);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(required)?
        .set_compatibility(if orders.spaces == Spaces::All {
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
    let folder = (required | AccessFs::Truncate) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for path in orders.writable.iter().map(Bytes::path).chain(DEVICE_FOLDERS.iter().map(Path::new))
    {
        rules = allow(rules, path, folder)?;
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
    // What is not there cannot be written.
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(ABI::V3) };
    rules.add_rule(PathBeneath::new(opened, access))
}
