//! A change as a value, before anything is written.

use std::collections::{BTreeSet, HashSet};
use std::mem::take;

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
    /// What the private store keeps of the edits.
    pub private: Vec<PrivateRecord>,
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
            private: Vec::new(),
            restored: BTreeSet::new(),
            entry: None,
        }
    }

    /// The same change, which also makes `other`: the files that it changes on disk, and the ref
    /// that it creates. `other` moves neither HEAD nor an index.
    pub fn with(mut self, mut other: Change) -> Change {
        let private = [self.take_private(), other.take_private()].concat();
        let known: HashSet<Oid> = self.objects.iter().map(|object| object.oid).collect();
        self.objects.extend(other.objects.into_iter().filter(|one| !known.contains(&one.oid)));
        self.refs.create.extend(other.refs.create);
        self.refs.create.push((other.branch.name, other.branch.new));
        let (own, more) = (&mut self.worktree, other.worktree);
        own.files.extend(more.files);
        own.objects.extend(more.objects);
        own.reports.extend(more.reports);
        Change { private, ..self }
    }

    /// The records of the private store: those of the edits, or else the bytes that only recovery
    /// reads.
    pub(super) fn take_private(&mut self) -> Vec<PrivateRecord> {
        let (mut records, files) = (take(&mut self.private), take(&mut self.worktree.private));
        if records.is_empty() && !files.is_empty() {
            // Only recovery reads the bytes of a move: a few names are enough.
            let name = format!("move-{}", self.branch.new.to_hex_with_len(1));
            records.push(PrivateRecord { session: self.session.clone(), name, files });
        }
        records
    }
}
