//! The refs of a transaction: the branch whose move commits it, and what follows the branch.

use edt_git::reflog::ReflogWrite;
use edt_git::{InHead, Oid, RefSwap, Repo};
use edt_types::Result;

/// The branch whose move commits a transaction, and what follows it.
#[derive(Debug, Clone)]
pub struct BranchUpdate {
    /// The full ref name.
    pub name: String,
    pub from: BranchOrigin,
    /// The value afterwards.
    pub new: Oid,
    /// The message for the reflog. Nothing is logged if the branch does not move.
    pub log: String,
    /// Whether HEAD is on the branch afterwards, so that the index and HEAD's log follow.
    pub head: InHead,
    /// What HEAD names now, if HEAD must move to the branch.
    pub head_from: Option<String>,
    /// Another symbolic ref to point to the branch.
    pub point: Option<String>,
}

/// The value of the branch before the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchOrigin {
    /// The branch has this value.
    Existing(Oid),
    /// The branch has this value and moves back to an ancestor: an undo.
    Rewound(Oid),
    /// The branch is created; it begins at this commit.
    Created(Oid),
}

impl BranchUpdate {
    /// The value before, or the commit at which the branch is created.
    #[must_use]
    pub fn start(&self) -> Oid {
        match self.from {
            BranchOrigin::Existing(oid)
            | BranchOrigin::Rewound(oid)
            | BranchOrigin::Created(oid) => oid,
        }
    }

    /// The value before; `None` if the branch is created.
    #[must_use]
    pub fn old(&self) -> Option<Oid> {
        match self.from {
            BranchOrigin::Existing(oid) | BranchOrigin::Rewound(oid) => Some(oid),
            BranchOrigin::Created(_) => None,
        }
    }

    /// Whether the change must be on disk before the answer: a new session, or a move of HEAD.
    /// After a restart of the machine, recovery could not distinguish a missing branch from a
    /// deleted one, nor know where HEAD was to be.
    pub(super) fn must_be_synced(&self) -> bool {
        matches!(self.from, BranchOrigin::Created(_)) || self.head_from.is_some()
    }

    pub(super) fn swap(&self) -> RefSwap<'_> {
        RefSwap {
            name: &self.name,
            from: self.start(),
            to: self.new,
            log: &self.log,
            head: self.head,
        }
    }

    /// Whether the branch does not move, so that the move of HEAD to it commits the transaction.
    pub(super) fn stays(&self) -> bool {
        self.old() == Some(self.new) && self.head_from.is_some()
    }

    /// Commits the transaction.
    pub(super) fn decide(&self, repo: &Repo) -> Result<()> {
        match self.from {
            BranchOrigin::Created(_) => repo.create_ref(&self.name, self.new),
            BranchOrigin::Existing(_) | BranchOrigin::Rewound(_) => repo.swap_ref(&self.swap()),
        }?;
        if self.stays() { repo.set_symbolic_ref("HEAD", &self.name) } else { Ok(()) }
    }

    /// Moves what follows the branch: the symbolic refs, then the logs.
    pub(super) fn follow(
        &self,
        repo: &Repo,
        line: ReflogWrite,
        head_to: Option<&str>,
    ) -> Result<()> {
        let (start, short) = (self.start(), |name: &str| {
            name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
        });
        let from = self.head_from.as_deref().map(short).unwrap_or_default();
        if let BranchOrigin::Created(_) = self.from {
            repo.log_ref(&self.name, repo.null(), start, "branch: Created from HEAD", line)?;
        }
        if self.head_from.is_some() {
            let to = head_to.unwrap_or(&self.name);
            if repo.head_target()?.as_deref() != Some(to) {
                repo.set_symbolic_ref("HEAD", to)?;
            }
            let at = head_to.and_then(|to| Oid::from_hex(to.as_bytes()).ok()).unwrap_or(start);
            repo.log_ref(
                "HEAD",
                at,
                at,
                &format!("checkout: moving from {from} to {}", short(to)),
                line,
            )?;
        }
        if let Some(name) = &self.point {
            repo.set_symbolic_ref(name, &self.name)?;
        }
        let head = if head_to.is_some() { InHead::No } else { self.head };
        if start == self.new {
            Ok(())
        } else {
            repo.log_swap(&RefSwap { head, ..self.swap() }, line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(from: BranchOrigin, head_from: Option<&str>) -> BranchUpdate {
        BranchUpdate {
            name: "refs/heads/edt/a".to_owned(),
            from,
            new: Oid::from_bytes_or_panic(&[2; 20]),
            log: String::new(),
            head: InHead::Yes,
            head_from: head_from.map(str::to_owned),
            point: None,
        }
    }

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    #[test]
    fn a_created_branch_has_a_start_and_no_old_value() {
        let created = update(BranchOrigin::Created(oid(1)), None);
        assert_eq!((created.start(), created.old()), (oid(1), None));
        let rewound = update(BranchOrigin::Rewound(oid(1)), None);
        assert_eq!((rewound.start(), rewound.old()), (oid(1), Some(oid(1))));
    }

    #[test]
    fn a_new_branch_and_a_move_of_head_are_synced_before_the_answer() {
        assert!(update(BranchOrigin::Created(oid(1)), None).must_be_synced());
        assert!(update(BranchOrigin::Existing(oid(1)), Some(MAIN)).must_be_synced());
        assert!(!update(BranchOrigin::Existing(oid(1)), None).must_be_synced());
    }

    #[test]
    fn a_branch_stays_if_only_head_moves_to_it() {
        assert!(update(BranchOrigin::Existing(oid(2)), Some(MAIN)).stays());
        assert!(!update(BranchOrigin::Existing(oid(2)), None).stays());
        assert!(!update(BranchOrigin::Existing(oid(1)), Some(MAIN)).stays());
    }

    const MAIN: &str = "refs/heads/main";
}
