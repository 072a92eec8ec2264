//! A change as a value, before anything is written.

use std::collections::BTreeSet;

use super::path_change::WorktreeChange;
use crate::session::refs::current::Session;
use crate::session::refs::moves::{RefMove, RefMoves};
use crate::session::refs::record::Step;
use edt_git::{InHead, Loose, Oid};
use edt_journal::PrivateRecord;
use edt_types::RepoPath;

/// Everything that a command changes.
#[derive(Debug)]
#[must_use = "pass it to `apply`, or nothing is changed"]
pub struct Change {
    /// The name of the session, for the private store.
    pub session: String,
    /// The commit whose policy says how durable the change must be; `None` if the caller raised
    /// durability already.
    pub base: Option<Oid>,
    /// The branch whose move is the decision.
    pub branch: RefMove,
    pub head: HeadMove,
    /// The other refs.
    pub refs: RefMoves,
    /// New objects, in an order in which each follows the objects that it names.
    pub objects: Vec<Loose>,
    pub worktree: WorktreeChange,
    /// What the private store keeps of an edit.
    pub private: Option<PrivateRecord>,
    /// Private files that the change brings back.
    pub restored: BTreeSet<RepoPath>,
    /// What the session's record says of the change: the session as it was, and the step.
    pub entry: Option<(Session, Step)>,
}

/// What becomes of HEAD.
#[derive(Debug)]
pub struct HeadMove {
    /// Whether HEAD is on the branch afterwards, so that the index and HEAD's log follow.
    pub on_branch: InHead,
    /// What HEAD names now; `None` if HEAD stays.
    pub from: Option<String>,
    /// What HEAD names afterwards, if not the branch: another full branch name, or a commit.
    pub to: Option<String>,
    /// The worktree's symbolic ref that will name the branch.
    pub point: Option<String>,
}

impl HeadMove {
    /// HEAD stays; `on_branch` says whether it is on the branch that moves.
    #[must_use]
    pub fn stays(on_branch: InHead) -> HeadMove {
        HeadMove { on_branch, from: None, to: None, point: None }
    }
}

impl Change {
    /// A change for the session `session` that moves `branch` and nothing else.
    pub fn of(session: &str, branch: RefMove) -> Change {
        Change {
            session: session.to_owned(),
            base: None,
            branch,
            head: HeadMove::stays(InHead::No),
            refs: RefMoves::default(),
            objects: Vec::new(),
            worktree: WorktreeChange::default(),
            private: None,
            restored: BTreeSet::new(),
            entry: None,
        }
    }
}
