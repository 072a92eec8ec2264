//! What every hook gets, answers and shares with the others.

use std::collections::BTreeSet;
use std::path::Path;

use super::plumbing::Git;
use super::who::Who;
use edt_types::{Effect, Finding, Result, Warning};

/// One call of a hook.
#[derive(Debug)]
pub struct HookCall<'a> {
    /// Git, where the hook runs.
    pub git: Git,
    /// The hook's arguments.
    pub args: &'a [String],
    /// What Git wrote to its standard input.
    pub input: &'a [u8],
    /// Who runs the command.
    pub who: Who,
    /// The text of the user's own `edt.toml`, if there is one, or why it could not be read.
    pub user_policy: &'a Result<Option<String>>,
    /// The directory that `~` means in it.
    pub user_home: Option<&'a Path>,
    /// The requested overrides (`EDT_ALLOW`).
    pub allow: &'a [String],
}

impl HookCall<'_> {
    /// The text of the user's own `edt.toml`, if there is one. Called only where one of its rules
    /// may decide.
    ///
    /// # Errors
    /// `IO_ERROR` if the file exists and could not be read.
    pub fn user_policy_text(&self) -> Result<Option<&str>> {
        self.user_policy.as_ref().map(Option::as_deref).map_err(Clone::clone)
    }
}

/// Where a hook is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// A repository with a worktree.
    Worktree,
    /// A bare repository that others push to.
    Server,
}

/// One of Git's hooks.
pub trait Hook: Sync {
    /// Git's name for it.
    fn name(&self) -> &'static str;
    /// Where it is installed.
    fn site(&self) -> Site;
    /// What it stops, as a part of a sentence.
    fn stops(&self) -> &'static str;
    /// The script that Git runs.
    fn script(&self) -> &'static str;
    /// Whether Git writes to its standard input.
    fn reads_stdin(&self) -> bool {
        true
    }
    /// Accepts the call with these warnings, or refuses it.
    ///
    /// # Errors
    /// The refusal. Every other failure refuses, too: a call that could not be judged is not
    /// accepted.
    fn judge(&self, call: &HookCall<'_>) -> Result<Vec<Warning>>;
}

/// Whether the configuration allows pushes of shadow refs (`edt.pushShadow`).
pub(super) fn allows_shadow_push(git: &Git) -> bool {
    git.config_flag("edt.pushShadow")
}

/// The words of `allow` that override all of `found`, each after `flag`.
pub(super) fn override_words(found: &[Finding], flag: &str) -> String {
    let words: BTreeSet<&str> = found.iter().filter_map(|one| one.allow).collect();
    words.into_iter().map(|word| format!("{flag} {word}")).collect::<Vec<String>>().join(" ")
}

/// `finding` for someone who called Git instead of edt: with the effect on Git's command, and with
/// how to override it there.
pub(super) fn for_git(
    finding: Finding,
    effect: Effect,
    override_remedy: impl FnOnce(Option<&str>) -> String,
) -> Finding {
    let override_remedy = override_remedy(finding.allow);
    finding.with_effect(effect).or_override(override_remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_types::Code;

    fn finding(word: &'static str) -> Finding {
        Finding::new(Code::ProtectedPath, "It is protected.", "Leave it.").overridable_by(word)
    }

    #[test]
    fn each_override_is_named_once_after_its_flag() {
        let found = [finding("size_reduction"), finding("protected"), finding("size_reduction")];
        assert_eq!(override_words(&found, "--allow"), "--allow protected --allow size_reduction");
    }

    #[test]
    fn a_finding_for_git_has_the_effect_and_the_override_there() {
        let found = for_git(finding("size_reduction"), Effect::Unstated, |word| {
            format!("Set EDT_ALLOW={}.", word.unwrap_or_default())
        });
        assert_eq!(found.hint(), "Leave it. Set EDT_ALLOW=size_reduction.");
        assert_eq!(found.effect, Effect::Unstated);
    }
}
