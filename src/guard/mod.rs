//! Guards: checks that run on the planned change before anything is written. The order of [`GUARDS`] is the order of reports.

pub mod content;
pub mod protected;
pub mod size_reduction;

use crate::base::{Finding, RepoPath};
use crate::policy::{GuardRule, Policy};

/// One planned file, as guards see it.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// The path it came from.
    pub from: Option<&'a RepoPath>,
    /// The text that stands there; `None` for a new file.
    pub before: Option<&'a [u8]>,
    /// The text that would stand there; `None` for a removed file.
    pub after: Option<&'a [u8]>,
    /// Recorded states that the file is measured against.
    pub references: Vec<Reference<'a>>,
}

/// A recorded state of a file.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a> {
    /// Whose: `HEAD`, `the session's base`.
    pub whose: &'static str,
    /// Its text.
    pub text: &'a [u8],
}

/// A check of one planned file.
pub trait Guard: Sync {
    /// Its name in answers and in `edt.toml`.
    fn name(&self) -> &'static str;
    /// How policy treats it.
    fn rule(&self, policy: &Policy) -> GuardRule;
    /// What it finds; `None` if nothing.
    fn judge(&self, subject: &Subject<'_>, policy: &Policy) -> Option<Finding>;
}

/// Every guard, in the order of reports.
pub const GUARDS: &[&dyn Guard] =
    &[&protected::ProtectedPath, &size_reduction::SizeReduction, &content::BinaryContent, &content::Encoding];
