//! Paths that need a person, as `[[protect]]` in the base commit's `edt.toml` lists them.

use super::{Guard, Judgement, Subject};
use crate::base::{Code, Finding, RepoPath};
use crate::policy::Policy;

/// The guard `protected_path`.
#[derive(Debug)]
pub struct ProtectedPath;

impl Guard for ProtectedPath {
    fn name(&self) -> &'static str {
        "protected_path"
    }

    fn rule(&self) -> &'static str {
        "The path, or the one it came from, is listed under [[protect]] in edt.toml."
    }

    fn source(&self) -> &'static str {
        "an agent edited the policy file to get past a guard"
    }

    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Judgement {
        let mut paths = std::iter::once(subject.path).chain(subject.from);
        paths.find(|path| policy.protects(path)).map(protected).into()
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
