//! The refs of a transaction: the branch whose move commits it, and what follows the branch.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use edt_git::reflog::{LoggedMove, ReflogWrite, Reflogs};
use edt_git::{
    HeadLock, HeldRefs, InHead, NewLogEntry, Oid, RefSwap, RefUpdate, Repo, is_per_worktree,
};
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

/// The old value, the new value and the message.
type LogLine<'a> = (Oid, Oid, Cow<'a, str>);

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

    /// Whether the branch does not move, so that the move of HEAD commits the transaction.
    pub(super) fn stays(&self) -> bool {
        self.old() == Some(self.new) && self.head_from.is_some()
    }

    /// Takes what the transaction needs after its commit point: the lock of HEAD if HEAD moves, and
    /// the logs. `head_to`: where HEAD moves, if not to the branch.
    ///
    /// # Errors
    /// `SESSION_BUSY` if another program holds the lock of HEAD; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub(super) fn hold(&self, repo: &Repo, head_to: Option<&str>) -> Result<HeldPointers> {
        let to = head_to.unwrap_or(&self.name);
        let moves = |to: &str| self.head_from.as_ref().is_some_and(|from| from != to);
        if repo.has_tables() {
            return self.hold_tables(repo, head_to, moves(to).then_some(to));
        }
        let head = if moves(to) { Some(repo.lock_head(to)?) } else { None };
        self.point.iter().try_for_each(|name| repo.check_unlocked(name))?;
        let mut names: Vec<&str> = self.log_lines(repo, head_to).map(|(name, _)| name).collect();
        names.dedup();
        let logs = repo.open_logs(names.into_iter())?;
        Ok(HeldPointers { head, logs, tables: None })
    }

    /// As [`hold`](BranchUpdate::hold) if refs are in tables. What is in the branch's own tables moves
    /// with the branch. A linked worktree has other ones for HEAD: their change is prepared now.
    /// `to`: what HEAD gets.
    fn hold_tables(
        &self,
        repo: &Repo,
        head_to: Option<&str>,
        to: Option<&str>,
    ) -> Result<HeldPointers> {
        let lines: Vec<_> = self
            .log_lines(repo, head_to)
            .map(|(name, (from, to, log))| (name.to_owned(), from, to, log.into_owned()))
            .collect();
        let mut tables = HeldTables { head: to.map(str::to_owned), lines, later: None };
        if repo.has_own_tables() {
            let (own, shared) = tables.lines.into_iter().partition(|line| is_per_worktree(&line.0));
            tables.lines = own;
            tables.later = repo.hold_refs(&tables.symbolic(self), &tables.entries())?;
            (tables.lines, tables.head) = (shared, None);
        }
        repo.check_unlocked(&self.name)?;
        Ok(HeldPointers { tables: Some(tables), ..HeldPointers::default() })
    }

    /// Commits the transaction.
    pub(super) fn decide(&self, repo: &Repo, held: &mut HeldPointers) -> Result<()> {
        if let Some(tables) = &mut held.tables {
            let (name, to) = (self.name.as_str(), self.new);
            let mut updates = vec![match self.from {
                BranchOrigin::Created(_) => RefUpdate::Create { name, to },
                BranchOrigin::Existing(from) | BranchOrigin::Rewound(from) => {
                    RefUpdate::Move { name, from, to }
                }
            }];
            if !repo.has_own_tables() {
                updates.extend(tables.symbolic(self));
            }
            repo.change_refs(&updates, &tables.entries())?;
            let later = if self.stays() { tables.later.take() } else { None };
            return later.map_or(Ok(()), HeldRefs::install);
        }
        match self.from {
            BranchOrigin::Created(_) => repo.create_ref(&self.name, self.new),
            BranchOrigin::Existing(_) | BranchOrigin::Rewound(_) => {
                repo.swap_ref(&RefSwap { name: &self.name, from: self.start(), to: self.new })
            }
        }?;
        if !self.stays() {
            return Ok(());
        }
        held.head.take().map_or(Ok(()), |lock| repo.move_head(lock))
    }

    /// Moves the symbolic refs that follow the branch.
    ///
    /// # Errors
    /// As [`Repo::set_symbolic_ref`].
    pub(super) fn move_symbolic(
        &self,
        repo: &Repo,
        held: &mut HeldPointers,
        head_to: Option<&str>,
    ) -> Result<()> {
        if let Some(tables) = &mut held.tables {
            return tables.later.take().map_or(Ok(()), HeldRefs::install);
        }
        if self.head_from.is_some() {
            let to = head_to.unwrap_or(&self.name);
            match held.head.take() {
                Some(lock) => repo.move_head(lock)?,
                None if repo.head_target()?.as_deref() == Some(to) => {}
                None => repo.set_symbolic_ref("HEAD", to)?,
            }
        }
        self.point.iter().try_for_each(|name| repo.set_symbolic_ref(name, &self.name))
    }

    /// Writes the lines of the logs.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub(super) fn write_logs(
        &self,
        repo: &Repo,
        held: &HeldPointers,
        head_to: Option<&str>,
        write: ReflogWrite,
    ) -> Result<()> {
        if held.tables.is_some() {
            return Ok(());
        }
        let mut logs: BTreeMap<&str, Vec<LogLine<'_>>> = BTreeMap::new();
        for (name, line) in self.log_lines(repo, head_to) {
            logs.entry(name).or_default().push(line);
        }
        logs.iter().try_for_each(|(name, lines)| {
            let lines = lines.iter().map(|(from, to, log)| (*from, *to, &**log));
            repo.log_ref(&held.logs, name, &lines.collect::<Vec<_>>(), write)
        })
    }

    /// The refs whose logs get a line.
    pub(super) fn logged(&self, repo: &Repo, head_to: Option<&str>) -> BTreeSet<String> {
        self.log_lines(repo, head_to).map(|(name, _)| name.to_owned()).collect()
    }

    /// The message in HEAD's log if HEAD moves.
    pub(super) fn checkout_message(&self, head_to: Option<&str>) -> Option<String> {
        let short = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
        let to = head_to.unwrap_or(&self.name);
        let from = self.head_from.as_deref()?;
        Some(format!("checkout: moving from {} to {}", short(from), short(to)))
    }

    /// Whether this line of HEAD's log is that of the transaction. Git's own line has two values, if
    /// the branches differ.
    pub(super) fn is_own_checkout(
        &self,
        line: &LoggedMove,
        message: &str,
        head_to: Option<&str>,
    ) -> bool {
        line.from == line.to && self.checkout_message(head_to).as_deref() == Some(message)
    }

    /// The log lines of the transaction, each with the ref whose log has it.
    fn log_lines<'a>(
        &'a self,
        repo: &Repo,
        head_to: Option<&str>,
    ) -> impl Iterator<Item = (&'a str, LogLine<'a>)> {
        let start = self.start();
        let created = matches!(self.from, BranchOrigin::Created(_)).then(|| {
            (self.name.as_str(), (repo.null(), start, Cow::Borrowed("branch: Created from HEAD")))
        });
        let moved = self.checkout_message(head_to).map(|log| {
            let at = head_to.and_then(|to| Oid::from_hex(to.as_bytes()).ok()).unwrap_or(start);
            ("HEAD", (at, at, Cow::Owned(log)))
        });
        let is_alias = |to| repo.referent(to).is_ok_and(|referent| referent == self.name);
        let in_head = self.head == InHead::Yes && head_to.is_none_or(is_alias);
        let swapped = [Some(self.name.as_str()), in_head.then_some("HEAD")]
            .into_iter()
            .flatten()
            .filter(move |_| start != self.new)
            .map(move |name| (name, (start, self.new, Cow::Borrowed(self.log.as_str()))));
        created.into_iter().chain(moved).chain(swapped)
    }
}

/// What a transaction holds for the time after its commit point. Recovery holds nothing: it takes
/// each lock and opens each log as it needs them.
#[derive(Debug, Default)]
pub(super) struct HeldPointers {
    head: Option<HeadLock>,
    logs: Reflogs,
    tables: Option<HeldTables>,
}

/// What a transaction changes in tables, besides the branch.
#[derive(Debug)]
struct HeldTables {
    /// What HEAD gets together with the branch, if it moves.
    head: Option<String>,
    /// The log entries that are written with the branch.
    lines: Vec<(String, Oid, Oid, String)>,
    /// The change of this worktree's own tables.
    later: Option<HeldRefs>,
}

impl HeldTables {
    /// The symbolic refs that follow `branch`.
    fn symbolic<'a>(&'a self, branch: &'a BranchUpdate) -> Vec<RefUpdate<'a>> {
        let head = self.head.as_deref().map(|to| RefUpdate::Point { name: "HEAD", to });
        let point = branch.point.as_deref();
        let point = point.map(|name| RefUpdate::Point { name, to: &branch.name });
        head.into_iter().chain(point).collect()
    }

    fn entries(&self) -> Vec<NewLogEntry<'_>> {
        let lines = self.lines.iter();
        let entry =
            lines.map(|&(ref name, from, to, ref message)| NewLogEntry { name, from, to, message });
        entry.collect()
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
    fn a_branch_stays_if_only_head_moves_to_it() {
        assert!(update(BranchOrigin::Existing(oid(2)), Some(MAIN)).stays());
        assert!(!update(BranchOrigin::Existing(oid(2)), None).stays());
        assert!(!update(BranchOrigin::Existing(oid(1)), Some(MAIN)).stays());
    }

    const MAIN: &str = "refs/heads/main";
}
