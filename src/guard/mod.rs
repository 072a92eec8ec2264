//! Guards: checks that run on the planned change before anything is written. The order of [`GUARDS`] is the order of reports.

pub mod artifact;
pub mod content;
pub mod duplicate;
pub mod elided;
pub mod figures;
pub mod marker;
pub mod mass_deletion;
pub mod protected;
mod runs;
pub mod size_reduction;
pub mod subject;
pub mod syntax;
pub mod validator;

use std::path::Path;

use crate::base::{Code, Finding, RepoPath};
use crate::policy::Policy;

pub use subject::{Reference, Side, Subject};

/// What a guard says.
#[derive(Debug, Clone, PartialEq)]
pub enum Judgement {
    /// Nothing found.
    Pass,
    /// What it found, the first the most important.
    Found(Vec<Finding>),
    /// It could not judge, and why. Never a refusal; always told.
    Unchecked(String),
}

impl Judgement {
    /// What was found.
    #[must_use]
    pub fn findings(self) -> Vec<Finding> {
        match self {
            Judgement::Found(findings) => findings,
            Judgement::Pass | Judgement::Unchecked(_) => Vec::new(),
        }
    }
}

impl From<Option<Finding>> for Judgement {
    fn from(found: Option<Finding>) -> Judgement {
        found.map_or(Judgement::Pass, |finding| Judgement::Found(vec![finding]))
    }
}

/// A check of a planned change.
pub trait Guard: Sync {
    /// Its name in answers and in `edt.toml`.
    fn name(&self) -> &'static str;
    /// Its rule in a sentence or two, with its thresholds.
    fn rule(&self) -> &'static str;
    /// Where the rule comes from.
    fn source(&self) -> &'static str;
    /// Guards whose finding on a file says enough: this one's is then told, not refused.
    fn yields_to(&self) -> &'static [&'static str] {
        &[]
    }
    /// What it finds in one file.
    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Judgement;
    /// Whether it has something to say of all files together.
    fn judges_all(&self) -> bool {
        false
    }
    /// What it finds in all files of a transaction together.
    fn judge_all(&self, _: &[Subject<'_>], _: &Policy) -> Judgement {
        Judgement::Pass
    }
    /// What it says of one file of a transaction, in its worktree. Only a guard that needs the worktree, or has several things
    /// to say, has words of its own here.
    fn say(&self, subject: &Subject<'_>, policy: &Policy, _: Site<'_>) -> Vec<Said> {
        vec![Said { word: self.name(), judgement: self.judge(subject, policy) }]
    }
    /// What it says of all files together.
    fn say_all(&self, subjects: &[Subject<'_>], policy: &Policy) -> Vec<Said> {
        let said = Said { word: self.name(), judgement: self.judge_all(subjects, policy) };
        if said.judgement == Judgement::Pass { Vec::new() } else { vec![said] }
    }
    /// The code of its refusals: its name, or the code that begins with it.
    fn code(&self) -> Code {
        let name = self.name().to_ascii_uppercase();
        let code =
            Code::ALL.iter().find(|code| code.name().strip_prefix(&name).is_some_and(begins_anew));
        code.copied().unwrap_or(Code::Internal)
    }
    /// What was measured.
    fn figures(&self) -> &'static str {
        figures::of(self.name())
    }
}

fn begins_anew(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('_')
}

/// Where a transaction takes place.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The worktree's root.
    pub root: &'a Path,
    /// edt's own folder for this worktree, which may be deleted at any time.
    pub state: &'a Path,
}

/// One thing that a guard says.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The word that a warning goes under.
    pub word: &'static str,
    /// What it says.
    pub judgement: Judgement,
}

/// Every guard, in the order of reports.
pub const GUARDS: &[&dyn Guard] = &[
    &protected::ProtectedPath,
    &size_reduction::SizeReduction,
    &mass_deletion::MassDeletion,
    &content::BinaryContent,
    &content::Encoding,
    &marker::ConflictMarkers,
    &artifact::ChatArtifact,
    &elided::ElidedCode,
    &syntax::Syntax,
    &duplicate::DuplicateCode,
    &validator::Validators,
];

/// One guard's word on one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The guard's name.
    pub guard: &'static str,
    /// What it said.
    pub judgement: Judgement,
}

/// Lets every guard judge one change of one file, measured against the text before it, as part of a transaction that changes `sides`, too.
#[must_use]
pub fn examine(
    path: &RepoPath,
    before: Option<&[u8]>,
    after: &[u8],
    sides: &[Side<'_>],
    policy: &Policy,
) -> Vec<Judged> {
    let references = before.map(|text| Reference { whose: "HEAD", text }).into_iter().collect();
    let subject =
        Subject::new(path, None, before, Some(after), references, policy.time_limit).beside(sides);
    let judged = |guard: &&dyn Guard| Judged {
        guard: guard.name(),
        judgement: guard.judge(&subject, policy),
    };
    GUARDS.iter().map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::file::GUARDS as SETTABLE;

    #[test]
    fn every_guard_has_a_code_figures_and_a_place_in_the_policy() {
        for guard in GUARDS {
            let name = guard.name();
            assert_ne!(guard.code(), Code::Internal, "{name}");
            assert!(
                !guard.figures().is_empty()
                    && !guard.rule().is_empty()
                    && !guard.source().is_empty(),
                "{name}"
            );
            assert!(SETTABLE.contains(&name) || name == "protected_path", "{name}");
        }
        assert_eq!(SETTABLE.len() + 1, GUARDS.len());
    }

    #[test]
    fn figures_are_those_of_guards() {
        let known = |name: &&str| GUARDS.iter().any(|guard| guard.name() == *name);
        assert_eq!(
            figures::names().filter(|name| !known(name)).collect::<Vec<_>>(),
            Vec::<&str>::new()
        );
    }
}
