//! Paths that need a person, as `[[protect]]` in the base commit's `edt.toml` lists them.

use super::{Guard, Subject};
use crate::base::{Code, Finding, RepoPath};
use crate::policy::{GuardMode, GuardRule, Override, Policy};

/// The guard `protected_path`.
#[derive(Debug)]
pub struct ProtectedPath;

impl Guard for ProtectedPath {
    fn name(&self) -> &'static str {
        "protected_path"
    }

    fn rule(&self, _: &Policy) -> GuardRule {
        GuardRule { mode: GuardMode::Refuse, overriding: Override::Never }
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Option<Finding> {
        let paths = std::iter::once(subject.path).chain(subject.from);
        let path = paths.into_iter().find(|path| policy.protects(path))?;
        Some(protected(path))
    }
}

/// The refusal to change a protected path.
#[must_use]
pub fn protected(path: &RepoPath) -> Finding {
    Finding::new(
        Code::ProtectedPath,
        format!("{path} is protected by edt.toml in the session's base commit. Nothing was changed."),
        "A person must make this change. Leave this path out of the request; the other edits can be sent without it.",
    )
    .at(path)
}
