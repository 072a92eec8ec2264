//! HEAD as it was read.

use super::Oid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of its branch (`refs/heads/main`); `None` if it is detached.
    pub branch: Option<String>,
    /// The commit; `None` if the branch is unborn.
    pub commit: Option<Oid>,
}

/// Whether HEAD is on the branch in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InHead {
    /// It is: the index and HEAD's log follow the branch.
    Yes,
    No,
}
