//! The list of hooks.

use super::call::Hook;
use super::{pre_commit, pre_push, pre_receive, reference_transaction};

/// Every hook.
pub const HOOKS: &[&dyn Hook] = &[
    &pre_commit::PreCommit,
    &pre_push::PrePush,
    &reference_transaction::ReferenceTransaction,
    &pre_receive::PreReceive,
];

/// The hook of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Hook> {
    HOOKS.iter().copied().find(|hook| hook.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_io::spawn::CONFIG_HOOKS;

    #[test]
    fn every_hook_has_a_script_and_a_name_in_gits_configuration() {
        let names: Vec<String> = HOOKS.iter().map(|hook| format!("edt-{}", hook.name())).collect();
        assert_eq!(names, CONFIG_HOOKS);
        for hook in HOOKS {
            assert!(
                hook.script().contains(&format!("\nname={}\n", hook.name())),
                "{}",
                hook.name()
            );
            assert_eq!(
                hook.script().contains("input=$(cat"),
                hook.reads_stdin(),
                "{}",
                hook.name()
            );
            assert!(named(hook.name()).is_some() && !hook.stops().is_empty());
        }
        assert!(named("post-commit").is_none());
    }
}
