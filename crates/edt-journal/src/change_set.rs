//! A change as a value, before anything is written.

use super::entry::EntryMove;
use super::files::FileChange;
use super::index::IndexView;
use super::pointers::{BranchOrigin, BranchUpdate};
use super::private::PrivateRecord;
use edt_git::{Loose, Oid, Repo, TouchedTrees};

/// Everything that a transaction changes.
#[derive(Debug)]
#[must_use = "pass it to `publish`, or nothing is changed"]
pub struct ChangeSet {
    /// The branch whose move commits the transaction.
    pub branch: BranchUpdate,
    /// New objects, in an order in which each follows the objects that it names.
    pub objects: Vec<Loose>,
    /// Refs to create before the branch moves, with their values.
    pub create: Vec<(String, Oid)>,
    /// What HEAD must name afterwards, if not the branch: another full branch name, or a commit.
    pub head_to: Option<String>,
    /// Refs to move after the branch has moved, each with its old and its new value.
    pub replace: Vec<(String, Oid, Oid)>,
    /// Refs to delete after the branch has moved, each with its old value.
    pub drop: Vec<(String, Oid)>,
    pub files: Vec<FileChange>,
    /// The index as it was read and the entries to change; `None` if HEAD is on another branch.
    pub index: Option<(IndexView, Vec<EntryMove>)>,
    /// The trees of the touched directories before and after.
    pub touched_trees: TouchedTrees,
    /// What the private store keeps of this transaction.
    pub private: Vec<PrivateRecord>,
}

/// The move of one ref, without files and without HEAD.
#[derive(Debug)]
pub struct RefUpdate {
    /// The full name.
    pub name: String,
    pub from: BranchOrigin,
    /// The value afterwards.
    pub new: Oid,
    /// The message for the reflog.
    pub log: String,
    /// New objects, in an order in which each follows the objects that it names.
    pub objects: Vec<Loose>,
}

impl ChangeSet {
    /// A change that moves `branch` and nothing else.
    pub fn of(branch: BranchUpdate) -> ChangeSet {
        ChangeSet {
            branch,
            objects: Vec::new(),
            create: Vec::new(),
            head_to: None,
            replace: Vec::new(),
            drop: Vec::new(),
            files: Vec::new(),
            index: None,
            touched_trees: TouchedTrees::new(),
            private: Vec::new(),
        }
    }

    /// Whether nothing is left to do for an open record of this change, once it is on stable storage:
    /// the line of its log says so, wherever the user goes.
    pub(super) fn is_plain(&self, repo: &Repo) -> bool {
        let BranchUpdate { name, from, new, head_from, .. } = &self.branch;
        let moves = matches!(from, BranchOrigin::Existing(old) if old != new);
        // A ref that follows the branch is on stable storage before, too.
        let has_refs = !(self.create.is_empty() && self.drop.is_empty());
        moves && head_from.is_none() && !has_refs && repo.log_path(name).exists()
    }
}
