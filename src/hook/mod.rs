//! Git's hooks: what edt answers when Git asks whether a commit, a push or a change of refs may be.
//!
//! [`HOOKS`] is the family. Each member judges a [`Call`] (what Git gave it, and who asks) and either passes, perhaps with
//! warnings, or refuses with findings. `hooks/git/` has the scripts that call them; [`install`] puts those in place beside
//! what is there; [`doctor`] proves that they are live.

pub mod changes;
pub mod configured;
mod confinement;
pub mod doctor;
mod granted;
pub mod install;
pub mod live;
pub mod place;
pub mod plumbing;
pub mod policies;
pub mod pre_commit;
pub mod pre_push;
pub mod pre_receive;
pub mod receipt;
pub mod reference_transaction;
pub mod refs;
pub mod renames;
pub mod repair;
pub mod script;
pub mod who;

use std::collections::BTreeSet;

use crate::base::{Finding, Result, Warning};
use plumbing::Git;
use who::Who;

/// What a hook is asked.
#[derive(Debug)]
pub struct Call<'a> {
    /// Git, where the hook runs.
    pub git: Git,
    /// The hook's arguments.
    pub args: &'a [String],
    /// What Git wrote to its standard input.
    pub input: &'a [u8],
    /// Who asks.
    pub who: Who,
    /// The text of the person's own `edt.toml`, if there is one, or why it could not be read.
    pub person_policy: &'a Result<Option<String>>,
    /// Overrides asked for (`EDT_ALLOW`).
    pub allow: &'a [String],
}

impl Call<'_> {
    /// The text of the person's own `edt.toml`, if there is one. Asked for only where a rule of it may decide.
    ///
    /// # Errors
    /// `IO_ERROR` if it is there and could not be read.
    pub fn person(&self) -> Result<Option<&str>> {
        self.person_policy.as_ref().map(Option::as_deref).map_err(Clone::clone)
    }
}

/// Where a hook belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// A repository that someone works in.
    Worktree,
    /// A bare one that others push to.
    Server,
}

/// A hook of Git's.
pub trait Hook: Sync {
    /// Git's name for it.
    fn name(&self) -> &'static str;
    /// Where it belongs.
    fn site(&self) -> Site;
    /// What it stops, in a sentence.
    fn stops(&self) -> &'static str;
    /// The script that Git runs.
    fn script(&self) -> &'static str;
    /// Whether Git writes to its standard input.
    fn is_fed(&self) -> bool {
        true
    }
    /// Passes with warnings, or refuses.
    ///
    /// # Errors
    /// The refusal; also every failure on the way: what could not be judged does not pass.
    fn judge(&self, call: &Call<'_>) -> Result<Vec<Warning>>;
}

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

/// Whether a person lets shadow refs through here (`edt.pushShadow`).
fn shadow_may_pass(git: &Git) -> bool {
    git.says_yes("edt.pushShadow")
}

/// Every word that `found` would need, each after `flag`: what is meant so is decided at once.
fn words(found: &[Finding], flag: &str) -> String {
    let words: BTreeSet<&str> = found.iter().filter_map(|one| one.allow).collect();
    words.into_iter().map(|word| format!("{flag} {word}")).collect::<Vec<String>>().join(" ")
}

/// `finding`, whose hint speaks of a request, for someone who called Git: its own part, then `way_out`.
fn for_git(
    mut finding: Finding,
    done: &str,
    way_out: impl FnOnce(Option<&str>) -> String,
) -> Finding {
    let told = finding.message.trim_end_matches("Nothing was changed.").trim_end().to_owned();
    finding.message = format!("{told} {done}");
    let own = finding.hint.split(" If ").next().unwrap_or_default().trim_end().to_owned();
    finding.hint = format!("{own} {}", way_out(finding.allow));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::spawn::CONFIG_HOOKS;

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
            assert_eq!(hook.script().contains("input=$(cat"), hook.is_fed(), "{}", hook.name());
            assert!(named(hook.name()).is_some() && !hook.stops().is_empty());
        }
        assert!(named("post-commit").is_none());
    }
}
