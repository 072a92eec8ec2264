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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Configuration {
    /// The user's.
    #[default]
    Users,
    /// Files are the user's; the caller set variables (`GIT_CONFIG_COUNT`).
    UsersFiles,
    /// The caller's, except the system's.
    Callers,
}

impl Configuration {
    /// Whether programs that a section from `source` names wait for the user's trust.
    pub(super) fn awaits_trust(self, source: gix::config::Source) -> bool {
        use gix::config::Source;
        match source {
            Source::Local | Source::Worktree => true,
            Source::Env => self != Configuration::Users,
            Source::Git | Source::User => self == Configuration::Callers,
            _ => false,
        }
    }
}
