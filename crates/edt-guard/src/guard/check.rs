//! The trait of the guards, and what a check receives and returns.

use std::path::Path;

use super::subject::Subject;
use crate::policy::{GuardMode, Policy};
use edt_git::Repo;
use edt_io::Environment;
use edt_types::Finding;

/// A check of a planned change.
///
/// A finding has its own code, and in `allow` the word with which a request overrides it. A guard
/// that is not edt's own uses [`Code::CustomGuard`](edt_types::Code::CustomGuard) and [`Finding::overridable_by`].
pub trait Guard: std::fmt::Debug + Send + Sync {
    /// Names the guard in answers. `edt.toml` sets the built-in guards alone, by their names.
    fn name(&self) -> &'static str;

    /// Says in one or two sentences what the guard refuses, with its thresholds.
    fn rule(&self) -> &'static str;

    /// What a finding leads to if no policy sets it.
    fn default_mode(&self) -> GuardMode {
        GuardMode::Refuse
    }

    /// Names guards that take precedence: if one of them refuses a file, this guard's findings in
    /// that file are warnings.
    fn yields_to(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks one file. An empty answer means that the guard does not apply, and is not reported.
    fn check(&self, file: &Subject<'_>, context: &GuardContext<'_>) -> Vec<GuardOutput>;

    /// Checks all files of a transaction together.
    fn check_all(&self, _: &[Subject<'_>], _: &GuardContext<'_>) -> Vec<GuardOutput> {
        Vec::new()
    }
}

/// The settings and the worktree of a check.
#[derive(Debug, Clone, Copy)]
pub struct GuardContext<'a> {
    /// The policy that applies.
    #[doc(hidden)]
    pub policy: &'a Policy,
    /// The worktree. Without one, guards run no programs.
    pub site: Option<Site<'a>>,
}

/// The worktree of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The worktree's root.
    pub root: &'a Path,
    /// edt's state directory for this worktree. It may be deleted at any time.
    pub state: &'a Path,
    /// The environment in which programs start.
    pub environment: Environment,
    /// As `Options::reap_orphans` of `edt-core`.
    pub reap_orphans: bool,
    /// The repository, which may have to confine the programs that it names.
    #[doc(hidden)]
    pub repo: &'a Repo,
}

/// One result of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardOutput {
    /// The guard found nothing.
    Pass,
    /// The guard found something; the most important finding is the first.
    Found {
        /// The code of the warnings, if policy only warns. Usually the guard's name.
        word: &'static str,
        /// What it found.
        findings: Vec<Finding>,
    },
    /// A change that the user should look at. This is a warning, never a refusal.
    Noted {
        /// The code of the warning.
        word: &'static str,
        /// What the user should know, in a sentence.
        message: String,
    },
    /// The guard found nothing, and looked at less than usual. This is no warning.
    Limited {
        /// What it did not check, and why.
        reason: String,
    },
    /// The guard could not check. This is a warning, never a refusal.
    Unchecked {
        /// The code of the warning. Usually the guard's name.
        word: &'static str,
        /// Why, in a sentence.
        reason: String,
    },
}

impl GuardOutput {
    /// The output of the guard `word` that looks for one problem.
    #[must_use]
    pub fn of(word: &'static str, finding: Option<Finding>) -> Vec<GuardOutput> {
        vec![match finding {
            None => GuardOutput::Pass,
            Some(finding) => GuardOutput::Found { word, findings: vec![finding] },
        }]
    }

    /// The findings, if there are any.
    #[must_use]
    pub fn into_findings(self) -> Vec<Finding> {
        match self {
            GuardOutput::Found { findings, .. } => findings,
            GuardOutput::Pass
            | GuardOutput::Limited { .. }
            | GuardOutput::Noted { .. }
            | GuardOutput::Unchecked { .. } => Vec::new(),
        }
    }
}
