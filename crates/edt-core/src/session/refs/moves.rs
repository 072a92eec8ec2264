//! Moves of refs as values.

use edt_git::Oid;
use edt_journal::BranchOrigin;

/// The move of a ref by compare-and-swap.
#[derive(Debug)]
pub struct RefMove {
    /// The full name.
    pub name: String,
    /// Its value before.
    pub from: BranchOrigin,
    /// Its value afterwards.
    pub new: Oid,
    /// The message for the reflog. Nothing is logged if the ref does not move.
    pub log: String,
}

/// Refs that follow the decision, and refs that must exist before it.
#[derive(Debug, Clone, Default)]
pub struct RefMoves {
    /// Refs to create first, with their values.
    pub create: Vec<(String, Oid)>,
    /// Refs to move afterwards, each with its old and its new value.
    pub replace: Vec<(String, Oid, Oid)>,
    /// Refs to delete afterwards, each with its old value.
    pub delete: Vec<(String, Oid)>,
}
