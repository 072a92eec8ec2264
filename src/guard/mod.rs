//! Guards: checks that run on the planned change before anything is written. The order of [`GUARDS`] is the order of reports.

pub mod artifact;
pub mod content;
pub mod duplicate;
pub mod elided;
pub mod marker;
pub mod mass_deletion;
pub mod protected;
mod runs;
pub mod size_reduction;
pub mod subject;
pub mod syntax;

use crate::base::{Finding, RepoPath};
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
    /// Where the rule comes from, and what was measured.
    fn source(&self) -> &'static str;
    /// What it finds in one file.
    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Judgement;
    /// What it finds in all files of a transaction together.
    fn judge_all(&self, _: &[Subject<'_>], _: &Policy) -> Judgement {
        Judgement::Pass
    }
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
    let subject = Subject::new(path, None, before, Some(after), references, policy.time_limit).beside(sides);
    let judged = |guard: &&dyn Guard| Judged { guard: guard.name(), judgement: guard.judge(&subject, policy) };
    GUARDS.iter().map(judged).collect()
}
