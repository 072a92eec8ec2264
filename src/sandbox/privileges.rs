//! Taking away what root may.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// What building and testing needs of root: files of other owners in the worktree, and becoming another user.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// The highest capability there may be, in the kernel's numbering.
const LAST: u32 = 63;

/// No new privileges for this thread and what it starts; of the old ones only those of a plain user, or what a build needs of root.
pub(super) fn drop_all(root: bool) -> rustix::io::Result<()> {
    set_no_new_privs(true)?;
    let kept = if root { KEPT } else { CapabilitySet::empty() };
    let _ = clear_ambient_capability_set();
    let had = rustix::thread::capabilities(None)?;
    // Without this capability nothing can be taken out of the bounding set, and nothing in it can be had either.
    if had.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..=LAST {
            let one = CapabilitySet::from_bits_retain(1 << number);
            if !kept.contains(one) {
                match capability_is_in_bounding_set(one) {
                    Ok(true) => remove_capability_from_bounding_set(one)?,
                    Ok(false) => {}
                    // No such capability in this kernel, nor a higher one.
                    Err(_) => break,
                }
            }
        }
    }
    let kept = kept & had.permitted;
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )
}
