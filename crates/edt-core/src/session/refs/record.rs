//! The record of what edt committed in a session: a chain of commits at `refs/edt/<name>/record`.
//!
//! Each entry follows the one before it and names the tip that edt moved the branch to. So it keeps
//! every edit with its trees, whatever the user makes of the branch: Git cannot prune them. A
//! commit is edt's because an entry names it, and not because its message says so.
//!
//! While edits alone follow the base, their commits are the chain, and the ref names the newest.
//! The first entry of its own is made when the user or an undo changed the branch.

use std::collections::HashSet;

use super::commit::Commit;
use super::current::Session;
use super::message::{self, Kind, Trailers};
use super::moves::RefMoves;
use super::names::{REFS, base_ref};
use edt_git::{Loose, ObjectWriter, Oid, Repo};
use edt_types::Result;

/// The trailer with the commit below those that an entry vouches for.
const SINCE: &str = "Edt-Since";
/// The trailer with the number of edits on the branch.
const COUNT: &str = "Edt-Count";
/// The trailer with a commit that an undo took off the branch.
const UNDONE: &str = "Edt-Undone";
/// The trailer with a commit that a redo put back.
const REDONE: &str = "Edt-Redone";
/// The trailer with a commit that was written again in another place of the branch.
const REPLACED: &str = "Edt-Replaced";

/// What a transaction does to the edits of a session.
#[derive(Debug, Clone)]
pub enum Step {
    /// Adds commits; the number of the newest edit.
    Edit(u64),
    /// Takes these commits off the branch.
    Undo(Vec<Commit>),
    /// Puts these commits back.
    Redo(Vec<Commit>),
    /// Writes the commits `replaced` again above the commit `below`, in another order.
    Reorder { below: Oid, replaced: Vec<Oid> },
}

/// The newest entry of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordTip {
    /// Its commit.
    oid: Oid,
    /// Its tree, which later entries get, too.
    tree: Oid,
    /// Whether it is the newest edit itself.
    is_edit: bool,
    /// The entry before it.
    previous: Option<Oid>,
    /// Where edt left the branch.
    pub tip: Oid,
    /// Every commit from `tip` down to this one, without it, is an edit that was not undone, or
    /// another commit of edt.
    pub since: Oid,
    /// The highest number of an edit so far.
    pub number: u64,
    /// How many edits the branch has at `tip`.
    pub count: u64,
    undone: Vec<Oid>,
    redone: Vec<Oid>,
    replaced: Vec<Oid>,
}

/// The name of the ref of a session's record.
#[must_use]
pub fn record_ref(name: &str) -> String {
    format!("{REFS}{name}/record")
}

impl RecordTip {
    /// The newest entry of `session`, also one that is planned; `None` if an earlier version of edt
    /// began it.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn of(repo: &Repo, session: &Session) -> Result<Option<RecordTip>> {
        let oid = match session.planned {
            None => repo.ref_value(&record_ref(&session.name))?,
            planned => planned,
        };
        oid.map(|oid| RecordTip::read(repo, session, oid)).transpose()
    }

    fn read(repo: &Repo, session: &Session, oid: Oid) -> Result<RecordTip> {
        let entry = Commit::read(repo, oid)?;
        let own = entry.trailers.as_ref().filter(|own| own.session == session.name);
        let number = own.map_or(0, |own| own.edit);
        if own.is_none_or(|own| own.kind != Kind::Record) {
            return Ok(RecordTip {
                oid,
                tree: entry.tree,
                is_edit: true,
                previous: None,
                tip: oid,
                since: session.base,
                number,
                count: number,
                undone: Vec::new(),
                redone: Vec::new(),
                replaced: Vec::new(),
            });
        }
        let ids = |key: &str| -> Vec<Oid> {
            let all = message::values(&entry.message, key).into_iter();
            all.filter_map(|hex| Oid::from_hex(hex.as_bytes()).ok()).collect()
        };
        let parents: Vec<Oid> = entry.parent.into_iter().chain(entry.other_parents).collect();
        let tip = parents.last().copied().unwrap_or(oid);
        Ok(RecordTip {
            oid,
            tree: entry.tree,
            is_edit: false,
            previous: parents.first().copied().filter(|previous| *previous != tip),
            tip,
            since: ids(SINCE).pop().unwrap_or(tip),
            number,
            count: message::values(&entry.message, COUNT)
                .pop()
                .and_then(|count| message::number(&count))
                .unwrap_or(0),
            undone: ids(UNDONE),
            redone: ids(REDONE),
            replaced: ids(REPLACED),
        })
    }

    /// Whether all commits of `chain`, which begins at the branch's tip, are as edt left them.
    #[must_use]
    pub fn vouches_for(&self, chain: &[Commit]) -> bool {
        chain.first().is_some_and(|first| first.oid == self.tip)
            && chain.iter().all(|commit| commit.oid != self.since)
    }

    /// Whether it vouches for all commits of `session`.
    #[must_use]
    pub fn is_on(&self, session: &Session) -> bool {
        self.tip == session.tip && self.since == session.base
    }

    /// Whether the entry vouches for the commits below `commit`.
    fn has(&self, repo: &Repo, commit: Oid) -> Result<bool> {
        Ok(self.tip == commit
            || self.tip != self.since
                && repo.reaches_by_first_parents(self.tip, commit, self.since)?)
    }
}

impl Session {
    /// The highest number that an edit of the session has or had. No later edit gets it again.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn last_number(&self, repo: &Repo) -> Result<u64> {
        if let Some(entry) = RecordTip::of(repo, self)? {
            return Ok(entry.number);
        }
        let mut last = 0;
        for commit in self.commits(repo) {
            last = last.max(commit?.trailers.map_or(0, |trailers| trailers.edit));
        }
        Ok(last)
    }
}

/// Adds the entry of what a move of the branch of `session` to `new` does, to `refs` and `objects`.
/// `session` is as it was before; `begins` says that its branch is created. Returns what the
/// record's ref will name.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`; `BAD_REQUEST` if the configured identity is invalid.
pub fn append(
    repo: &Repo,
    (session, begins): (&Session, bool),
    (step, new): (&Step, Oid),
    refs: &mut RefMoves,
    objects: &mut Vec<Loose>,
) -> Result<Oid> {
    let last = if begins { None } else { RecordTip::of(repo, session)? };
    let name = record_ref(&session.name);
    let last = match last {
        None if begins => {
            refs.create.push((name, new));
            return Ok(new);
        }
        Some(last) if last.is_edit && last.tip == session.tip && matches!(step, Step::Edit(_)) => {
            if last.oid != new {
                refs.replace.push((name, last.oid, new));
            }
            return Ok(new);
        }
        last => last,
    };
    let mut writer = ObjectWriter::new(repo);
    let tree = last.as_ref().map_or_else(|| repo.tree_of(session.tip), |last| Ok(last.tree))?;
    let since = match (&last, step) {
        (None, _) => session.base,
        (Some(last), Step::Edit(_)) if last.has(repo, session.tip)? => last.since,
        (Some(_), Step::Edit(_)) => session.tip,
        (Some(last), Step::Undo(_)) if last.has(repo, new)? => last.since,
        (Some(_), Step::Undo(_)) => new,
        (Some(_), Step::Redo(_)) => Records::of(repo, session)?.first_unknown(repo, new)?,
        (Some(_), Step::Reorder { below, .. }) => {
            Records::of(repo, session)?.first_unknown(repo, *below)?
        }
    };
    let (earlier, count) = match &last {
        Some(last) if last.tip == session.tip => (last.number, last.count),
        Some(last) => (last.number, session.edits(repo)?),
        None => (session.last_number(repo)?, session.edits(repo)?),
    };
    let (number, key, moved) = match step {
        Step::Edit(number) => (earlier.max(*number), UNDONE, &[][..]),
        Step::Undo(commits) => (earlier, UNDONE, &commits[..]),
        Step::Redo(commits) => (earlier, REDONE, &commits[..]),
        Step::Reorder { .. } => (earlier, REPLACED, &[][..]),
    };
    let moved_edits = moved.iter().map(Commit::edits).sum();
    let count = match step {
        Step::Edit(_) => count + u64::from(number > earlier),
        Step::Undo(_) => count.saturating_sub(moved_edits),
        Step::Redo(_) => count + moved_edits,
        Step::Reorder { .. } => count,
    };
    let trailers = Trailers::plain(&session.name, Kind::Record, number);
    let mut message = message::compose("what edt committed in a session", &trailers);
    message += &format!("{SINCE}: {since}\n{COUNT}: {count}\n");
    let replaced = match step {
        Step::Reorder { replaced, .. } => replaced.as_slice(),
        _ => &[],
    };
    for commit in moved.iter().flat_map(Commit::recorded).chain(replaced.iter().copied()) {
        message += &format!("{key}: {commit}\n");
    }
    let previous = last.as_ref().map(|last| last.oid);
    let parents: Vec<Oid> = previous.into_iter().chain([new]).collect();
    let entry = writer.write_commit_with_parents(tree, &parents, &message)?;
    objects.extend(writer.loose_objects());
    match previous {
        Some(previous) => refs.replace.push((name, previous, entry)),
        None => refs.create.push((name, entry)),
    }
    Ok(entry)
}

/// Everything that edt committed in a session.
#[derive(Debug, Default)]
pub struct Records {
    /// The commits as edt wrote them, the oldest first.
    commits: Vec<Commit>,
    read: HashSet<Oid>,
    known: HashSet<Oid>,
    undone: HashSet<Oid>,
    reordered: HashSet<Oid>,
}

impl Records {
    /// The records of `session`. Without any, its commits with trailers of edt count.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`.
    pub fn of(repo: &Repo, session: &Session) -> Result<Records> {
        let mut records = Records::default();
        let base = repo.ref_value(&base_ref(&session.name))?.unwrap_or(session.base);
        let session = &Session { base, ..session.clone() };
        let Some(newest) = RecordTip::of(repo, session)? else {
            records.add(repo, session, session.tip, base)?;
            return Ok(records);
        };
        let mut entries = Vec::new();
        let mut next = Some(newest);
        while let Some(entry) = next {
            next = entry.previous.map(|oid| RecordTip::read(repo, session, oid)).transpose()?;
            entries.push(entry);
        }
        for entry in entries.iter().rev() {
            records.add(repo, session, entry.tip, entry.since)?;
            records.undone.extend(&entry.undone);
            for commit in &entry.redone {
                records.undone.remove(commit);
            }
            // The same edit has another commit. Written again in its earlier place, it has this id
            // again.
            for commit in &entry.replaced {
                records.known.remove(commit);
                records.read.remove(commit);
            }
            if !entry.replaced.is_empty() {
                records.commits.retain(|commit| !entry.replaced.contains(&commit.oid));
            }
            records.reordered.extend(entry.replaced.last());
        }
        Ok(records)
    }

    fn add(&mut self, repo: &Repo, session: &Session, tip: Oid, since: Oid) -> Result<()> {
        let (mut new, mut next) = (Vec::new(), Some(tip));
        while let Some(oid) =
            next.filter(|oid| *oid != since && *oid != repo.empty_tree() && self.read.insert(*oid))
        {
            let commit = Commit::read(repo, oid)?;
            next = commit.parent;
            if commit.trailers.as_ref().is_some_and(|own| own.session == session.name) {
                self.known.insert(oid);
                new.push(commit);
            }
        }
        self.commits.extend(new.into_iter().rev());
        Ok(())
    }

    /// Whether edt made this commit and it was not undone since.
    #[must_use]
    pub fn has(&self, commit: Oid, undone: Undone) -> bool {
        self.known.contains(&commit) && (undone == Undone::Count || !self.undone.contains(&commit))
    }

    /// Whether the branch ended with `commit` when its edits were written again in another order.
    #[must_use]
    pub fn was_reordered_at(&self, commit: Oid) -> bool {
        self.reordered.contains(&commit)
    }

    /// The commits that [`Records::has`], the oldest first.
    pub fn commits(&self, undone: Undone) -> impl Iterator<Item = &Commit> {
        self.commits.iter().filter(move |commit| self.has(commit.oid, undone))
    }

    /// The first commit from `tip` on along first parents that edt did not make.
    fn first_unknown(&self, repo: &Repo, tip: Oid) -> Result<Oid> {
        let mut at = tip;
        while self.known.contains(&at) {
            match Commit::read(repo, at)?.parent {
                Some(parent) => at = parent,
                None => return Ok(repo.empty_tree()),
            }
        }
        Ok(at)
    }
}

/// Whether edits that were undone count. They do only where they are about to be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    Count,
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    fn two_edits() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        scratch
    }

    fn tip(scratch: &Scratch) -> RecordTip {
        RecordTip::of(&scratch.repo(), &scratch.session()).unwrap().unwrap()
    }

    /// The numbers of the edits on the branch, newest first; `None` for a commit of the user.
    fn edits(scratch: &Scratch) -> Vec<Option<u64>> {
        let repo = scratch.repo();
        let commits = scratch.session().commits(&repo).map(|commit| commit.unwrap().trailers);
        commits.map(|trailers| trailers.map(|trailers| trailers.edit)).collect()
    }

    #[test]
    fn the_record_of_edits_alone_is_their_newest_commit() {
        let scratch = two_edits();
        assert_eq!(scratch.ref_value("refs/edt/fix/record"), Some(scratch.head()));
        let entry = tip(&scratch);
        assert_eq!((entry.number, entry.count, entry.is_edit), (2, 2, true));
        assert!(entry.is_on(&scratch.session()));
    }

    #[test]
    fn an_undo_and_a_redo_are_entries_that_still_vouch_for_all() {
        let scratch = two_edits();
        scratch.undo(1).unwrap();
        let undone = tip(&scratch);
        assert_eq!((undone.number, undone.count, undone.is_edit), (2, 1, false));
        assert!(undone.is_on(&scratch.session()));
        scratch.redo().unwrap();
        let redone = tip(&scratch);
        assert_eq!((redone.number, redone.count, redone.previous), (2, 2, Some(undone.oid)));
        assert!(redone.is_on(&scratch.session()));
        assert_eq!(edits(&scratch), [Some(2), Some(1)]);
    }

    #[test]
    fn an_entry_above_a_commit_of_the_user_vouches_for_what_follows() {
        let scratch = two_edits();
        let by_hand = scratch.user_commit("edt/fix", &[("b.txt", Some("b\n"))], "by hand\n");
        scratch.write("b.txt", "b\n");
        scratch.edit("third", "a.txt", "three", "four");
        scratch.edit("fourth", "a.txt", "four", "five");
        let entry = tip(&scratch);
        assert_eq!((entry.since, entry.number, entry.count), (by_hand, 4, 4));
        assert_eq!(edits(&scratch), [Some(4), Some(3), None, Some(2), Some(1)]);
    }

    #[test]
    fn a_session_without_a_record_has_the_edits_that_its_trailers_say() {
        let scratch = two_edits();
        scratch.remove(".git/refs/edt/fix/record");
        assert_eq!(edits(&scratch), [Some(2), Some(1)]);
        scratch.edit("third", "a.txt", "three", "four");
        let entry = tip(&scratch);
        assert_eq!((entry.number, entry.count), (3, 3));
        assert!(entry.is_on(&scratch.session()));
    }

    #[test]
    fn copied_trailers_make_no_edit() {
        let scratch = two_edits();
        let message = scratch.message(scratch.head());
        scratch.user_commit("edt/fix", &[("b.txt", Some("b\n"))], &message);
        assert_eq!(edits(&scratch), [None, Some(2), Some(1)]);
    }
}
