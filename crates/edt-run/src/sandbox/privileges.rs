//! Dropping capabilities.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// Capabilities that builds and tests as root need: to use files of other owners. None makes a file
/// of another owner, or changes the user.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::FOWNER);

/// The highest possible number of a capability.
const MAX_CAPABILITY: u32 = 63;

/// Sets `no_new_privs` for this thread and its children, and drops all capabilities; for `root`,
/// all but [`KEPT_CAPABILITIES`].
pub(super) fn drop_all(root: bool) -> rustix::io::Result<()> {
    set_no_new_privs(true)?;
    let kept = if root { KEPT_CAPABILITIES } else { CapabilitySet::empty() };
    let _ = clear_ambient_capability_set();
    let current = rustix::thread::capabilities(None)?;
    // Without CAP_SETPCAP the bounding set cannot be reduced, and its capabilities cannot be gained
    // either.
    if current.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..=MAX_CAPABILITY {
            let one = CapabilitySet::from_bits_retain(1 << number);
            if !kept.contains(one) {
                match capability_is_in_bounding_set(one) {
                    Ok(true) => remove_capability_from_bounding_set(one)?,
                    Ok(false) => {}
                    // This kernel has neither this capability nor a higher one.
                    Err(_) => break,
                }
            }
        }
    }
    let kept = kept & current.permitted;
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )
}
