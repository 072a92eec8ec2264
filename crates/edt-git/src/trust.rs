//! The user's trust in programs that a repository names.

use std::fmt::Debug;
use std::path::Path;

use edt_types::Result;

/// The user's decisions about programs that a repository names.
pub trait TrustStore: Debug {
    /// Whether the user trusts the programs with this hash, in the worktree at `root`.
    ///
    /// # Errors
    /// `IO_ERROR` if the decisions cannot be read.
    fn trusts(&self, hash: &str, root: &Path) -> Result<bool>;
}

/// Whose Git's configuration outside of the repository is. Programs in the user's configuration run
/// without a question.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum Configuration {
    /// The user's.
    #[default]
    Users,
    /// That of the caller, if the caller is not the user, in whole or in part.
    Callers {
        /// Says whether the caller is an agent. It is asked when a program would run.
        is_agent: fn() -> bool,
        /// Whether files count; otherwise only variables (`GIT_CONFIG_COUNT`).
        files: bool,
    },
}

impl Configuration {
    /// Whether programs that a section from `source` names wait for the user's trust.
    pub(super) fn awaits_trust(self, source: gix::config::Source) -> bool {
        use gix::config::Source;
        let is_callers = |in_files: bool| match self {
            Configuration::Users => false,
            Configuration::Callers { is_agent, files } => (files || !in_files) && is_agent(),
        };
        match source {
            Source::Local | Source::Worktree => true,
            Source::Env => is_callers(false),
            Source::Git | Source::User => is_callers(true),
            _ => false,
        }
    }
}
