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
