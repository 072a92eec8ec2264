//! Installs a change, in an order that allows recovery from a crash at any step.

use super::beside;
use super::entry::EntryMove;
use super::files::{FileChange, StagingArea};
use super::index::{self, IndexPlan, IndexView, LockOutcome};
use super::log::Journal;
use super::new_session;
use super::open_mark;
use super::pointers::{BranchOrigin, BranchUpdate, HeldPointers};
use super::private::{self, PrivateRecord};
use super::record::{BranchRecord, ChangeRecord, EntryRecord, FileRecord, HeadRecord, Id, Record};
use super::rollback::Rollback;
use edt_git::deflate::LARGE;
use edt_git::objects::ObjectCheck;
use edt_git::reflog::ReflogWrite;
use edt_git::{InHead, Loose, Oid, RefSwap, Repo, TouchedTrees, objects};
use edt_io::clock::seconds;
use edt_io::process::process_id;
use edt_io::signals::HeldSignals;
use edt_types::{Code, Durability, Finding, Refusal, RepoPath, Result, Warning};

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
    pub private: Option<PrivateRecord>,
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
            private: None,
        }
    }
}

impl ChangeSet {
    /// Whether the change must be on disk before the answer. A deleted ref leaves no trace of its
    /// value for recovery.
    fn must_be_synced(&self) -> bool {
        self.branch.must_be_synced() || !self.drop.is_empty()
    }
}

/// Installs `change`.
///
/// # Errors
/// Any failure before the branch moves; everything is then as it was, or the next call rolls it
/// back. Nothing fails after the branch has moved: unfinished work becomes a warning, and the next
/// call finishes it.
pub fn publish(repo: &Repo, journal: &mut Journal, mut change: ChangeSet) -> Result<Vec<Warning>> {
    journal.check_closed()?;
    // Until the journal is closed, a signal would leave locks that block the user's Git.
    let signals = HeldSignals::hold();
    if repo.has_tables() {
        // Tables are synced: they must not be on disk before the objects that they name.
        journal.require_durability(Durability::Journal);
    }
    journal.make_room()?;
    let head = HeadRecord::of(repo, &change)?;
    let stage = StagingArea::open(repo)?;
    let tx = format!("{:x}-{}", process_id(), change.branch.new.to_hex_with_len(8));
    let mut staged = Staged { stage: &stage, records: Vec::new() };
    for (i, file) in change.files.iter().enumerate() {
        staged.records.push(stage.record(file, &tx, i)?);
    }
    beside::note(repo, &staged.records)?;
    for (record, file) in staged.records.iter_mut().zip(&change.files) {
        stage.put(record, file)?;
    }
    let moves: Vec<EntryMove>;
    let (mut plan, mut entries, mut index) = (None, Vec::new(), None);
    if let Some((view, wanted)) = change.index.take() {
        let record = |entry| EntryRecord::of(entry, view.has_no_stat(&entry.path));
        entries = wanted.iter().filter_map(record).collect();
        (moves, index) = (wanted, view.stat());
        plan = Some(view.prepare(&stage, &moves, &change.touched_trees)?);
    } else {
        moves = Vec::new();
    }
    let mut record = ChangeRecord {
        journal: journal.inode()?,
        index,
        ..record_of(repo, &change, &staged.records, entries)
    };
    record.branch.head = head;
    let recorded = sync_large(repo, &change.objects)
        .and_then(|()| keep_private(repo, &change))
        .and_then(|()| open_mark::make(&stage, change.branch.new))
        .and_then(|()| journal.append(&Record::ChangeSet(Box::new(record))));
    if recorded.is_err() {
        if let Some(IndexPlan::Patch(prepared)) = &plan {
            prepared.discard(&stage);
        }
        if let Some(record) = &change.private {
            private::remove(repo, record);
        }
        open_mark::remove(&stage, change.branch.new);
    }
    let number = recorded?;
    beside::forget(repo, &staged.records);

    let mut swapped = 0;
    let held = match until_commit_point(repo, &change, &mut staged, &moves, &mut plan, &mut swapped)
    {
        Ok(held) => held,
        Err(error) => {
            roll_back(repo, journal, number, &change, &mut staged, swapped, plan.as_ref());
            return Err(error);
        }
    };
    // If Git rewrites the index, perhaps several times, recovery cannot distinguish that from a
    // user's change.
    let delegated = matches!(plan, Some(IndexPlan::Delegate));
    // Git would inherit the mask, and so would a filter that it starts.
    if delegated {
        drop(signals);
    }
    let lasting = change.must_be_synced() || delegated;
    match after_commit_point(repo, &change, &stage, &moves, (plan, held), journal.pointer()) {
        Ok(()) => {
            let records = std::mem::take(&mut staged.records);
            let mut warnings: Vec<Warning> =
                records.iter().filter_map(|record| stage.discard_unless_written(record)).collect();
            open_mark::remove(&stage, change.branch.new);
            if let BranchOrigin::Created(_) = change.branch.from {
                objects::create_object_directories(repo);
            }
            let finished = if !delegated && new_session::sync(repo, &change) {
                journal.finish_synced()
            } else {
                journal.finish(lasting)
            };
            warnings.extend(finished.err().map(|error| unfinished(&error)));
            Ok(warnings)
        }
        Err(error) => {
            staged.records.clear();
            Ok(vec![unfinished(&error)])
        }
    }
}

/// Files that are staged and not yet exchanged. Dropping the value removes them.
struct Staged<'s, 'r> {
    stage: &'s StagingArea<'r>,
    records: Vec<FileRecord>,
}

impl Drop for Staged<'_, '_> {
    fn drop(&mut self) {
        for record in self.records.iter().filter(|record| record.new.is_some()) {
            self.stage.discard(record);
        }
    }
}

fn until_commit_point(
    repo: &Repo,
    change: &ChangeSet,
    staged: &mut Staged<'_, '_>,
    moves: &[EntryMove],
    plan: &mut Option<IndexPlan>,
    swapped: &mut usize,
) -> Result<HeldPointers> {
    // Larger ones are written and synced: an unsynced copy would replace them.
    objects::write(repo, change.objects.iter().filter(|object| !object.is_large()))?;
    repo.create_refs(&change.create)?;
    lock_index(repo, staged.stage, moves, &change.touched_trees, plan)?;
    check_head(repo, &change.branch)?;
    let mut held = change.branch.hold(repo, change.head_to.as_deref())?;
    let later = change.replace.iter().map(|(name, ..)| name);
    later
        .chain(change.drop.iter().map(|(name, _)| name))
        .try_for_each(|name| repo.check_unlocked(name))?;
    for record in &staged.records {
        staged.stage.swap(record)?;
        *swapped += 1;
    }
    if let Some(IndexPlan::Patch(prepared)) = plan {
        let stats = index::stats(staged.stage, moves, &staged.records);
        prepared.refresh(repo, staged.stage, &stats)?;
        if repo.has_tables() {
            prepared.sync(staged.stage)?;
        }
    } else if repo.has_tables() && change.branch.head_from.is_some() {
        index::sync(repo)?;
    }
    change.branch.decide(repo, &mut held)?;
    Ok(held)
}

/// Checks that HEAD is where it was when the change was planned, because the index follows HEAD.
/// `git switch` needs the lock of the index, so HEAD cannot move from here on.
fn check_head(repo: &Repo, branch: &BranchUpdate) -> Result<()> {
    let as_planned = match &branch.head_from {
        Some(from) => repo.head_target()?.as_ref() == Some(from),
        None if branch.head == InHead::Yes => repo.head_is_on(&branch.name)?,
        None => repo.head_target()?.as_ref() != Some(&branch.name),
    };
    if as_planned {
        return Ok(());
    }
    let (message, hint) = ("HEAD was switched during the call.", "Repeat the call.");
    Err(Finding::new(Code::SessionMoved, message, hint).nothing_changed().into())
}

/// Takes `index.lock`. If Git refreshed the index meanwhile, patches the new index, provided that
/// the touched entries are the same.
fn lock_index(
    repo: &Repo,
    stage: &StagingArea<'_>,
    moves: &[EntryMove],
    touched_trees: &TouchedTrees,
    plan: &mut Option<IndexPlan>,
) -> Result<()> {
    for _ in 0..20 {
        let Some(IndexPlan::Patch(prepared)) = plan else { return Ok(()) };
        if prepared.lock(repo, stage)? == LockOutcome::Held {
            return Ok(());
        }
        let view = IndexView::read(repo)?;
        for entry in moves {
            if view.staged(repo, &entry.path)? != entry.seen {
                return Err(index::restaged(repo).into());
            }
        }
        *plan = Some(view.prepare(stage, moves, touched_trees)?);
    }
    Err(index::restaged(repo).into())
}

fn after_commit_point(
    repo: &Repo,
    change: &ChangeSet,
    stage: &StagingArea<'_>,
    moves: &[EntryMove],
    (plan, mut held): (Option<IndexPlan>, HeldPointers),
    pointer: &str,
) -> Result<()> {
    let (branch, head_to) = (&change.branch, change.head_to.as_deref());
    // Each step is tried, whatever becomes of the others. Above all the index: with the old one
    // Git would show the edit as a staged reversal.
    let steps = [
        // `git gc --prune=now` may have run between the writing of the objects and that of the ref.
        objects::write_missing(repo, &change.objects, ObjectCheck::Size),
        branch.move_symbolic(repo, &mut held, head_to),
        match plan {
            Some(IndexPlan::Patch(prepared)) => {
                let renamed = prepared.rename_in(repo, stage);
                // Tables of refs are synced with each move.
                if repo.has_tables() { renamed.and_then(|()| index::sync(repo)) } else { renamed }
            }
            Some(IndexPlan::Delegate) => index::delegate(repo, moves),
            None => Ok(()),
        },
        branch.write_logs(repo, &held, head_to, ReflogWrite::Append),
    ];
    steps.into_iter().collect::<Result<()>>()?;
    change.replace.iter().try_for_each(|(name, from, to)| move_ref(repo, name, *from, *to))?;
    change.drop.iter().try_for_each(|(name, from)| drop_ref(repo, name, *from, pointer))
}

/// Moves a ref that is not specific to a worktree.
fn move_ref(repo: &Repo, name: &str, from: Oid, to: Oid) -> Result<()> {
    repo.swap_ref(&RefSwap { name, from, to })
}

/// Finishes the moves and deletions of refs after a crash, for refs that nobody has changed since.
pub(super) fn recover_refs(repo: &Repo, record: &ChangeRecord, pointer: &str) -> Result<()> {
    for (name, from, to) in &record.replace {
        if let (Some(from), Some(to)) = (from.oid(), to.oid())
            && repo.ref_value(name)? == Some(from)
        {
            move_ref(repo, name, from, to)?;
        }
    }
    if record.drop.is_empty() {
        return Ok(());
    }
    // The values of the deleted refs must be reachable elsewhere first. Someone may have moved or
    // deleted the ref that was to hold one.
    for (name, to) in record
        .create
        .iter()
        .map(|(name, to)| (name, to))
        .chain(record.replace.iter().map(|(name, _, to)| (name, to)))
    {
        let Some(to) = to.oid() else { return Ok(()) };
        match repo.ref_value(name)? {
            None => repo.create_ref(name, to)?,
            Some(current) if repo.tree_of(to).is_err() || repo.is_ancestor(to, current)? => {}
            Some(_) => return Ok(()),
        }
    }
    for (name, id) in &record.drop {
        match (repo.ref_value(name)?, id.oid()) {
            (None, _) => repo.delete_symbolic_ref(pointer, name)?,
            (Some(current), Some(from)) if current == from && !repo.is_checked_out(name)? => {
                drop_ref(repo, name, from, pointer)?;
            }
            // Someone moved the ref since, or switched to it, and needs it.
            _ => {}
        }
    }
    Ok(())
}

/// Deletes a ref, and the symbolic ref `pointer` if it names that ref.
fn drop_ref(repo: &Repo, name: &str, from: Oid, pointer: &str) -> Result<()> {
    repo.delete_symbolic_ref(pointer, name)?;
    repo.delete_ref(name, from)
}

fn roll_back(
    repo: &Repo,
    journal: &mut Journal,
    number: u64,
    change: &ChangeSet,
    staged: &mut Staged<'_, '_>,
    swapped: usize,
    plan: Option<&IndexPlan>,
) {
    // If this fails, the journal stays open and the next call completes the rollback.
    let is_recorded = journal.append(&Record::RolledBack(number)).is_ok();
    if let Some(record) = &change.private {
        private::remove(repo, record);
    }
    // A staged file may be the only copy of a user's bytes. Only `StagingArea::roll_back` decides
    // what may be removed.
    let records = std::mem::take(&mut staged.records);
    let roll_back = |record: &FileRecord| {
        matches!(staged.stage.roll_back(record), Ok(Rollback::Restored | Rollback::Left(_)))
    };
    let back = records[..swapped].iter().rev().all(roll_back);
    let unlocked = plan.is_none() || index::unlock(repo, staged.stage).is_ok();
    // The journal stays open if something could not be rolled back: the next call tries again.
    if !back
        || !unlocked
        || records[swapped..].iter().any(|record| staged.stage.discard_known(record).is_err())
    {
        return;
    }
    for record in records.iter().filter(|record| record.old.is_none()) {
        repo.root().remove_empty_beneath(RepoPath::from_tree(&record.path).split().0);
    }
    let mut names =
        [change.branch.name.as_str(), "HEAD"].into_iter().chain(change.branch.point.as_deref());
    let dropped =
        change.create.iter().try_for_each(|(name, oid)| repo.drop_created_ref(name, *oid));
    if dropped.and_then(|()| names.try_for_each(|name| repo.unlock_ref(name))).is_err() {
        return;
    }
    if is_recorded {
        open_mark::remove(staged.stage, change.branch.new);
        let _ = journal.close();
    }
}

/// Writes and syncs the objects that are too large for the journal.
fn sync_large(repo: &Repo, all: &[Loose]) -> Result<()> {
    let large: Vec<Loose> = all.iter().filter(|object| object.is_large()).cloned().collect();
    objects::write_synced(repo, &large)
}

fn is_small(record: &PrivateRecord) -> bool {
    record.size() <= LARGE
}

/// Writes the private record of the transaction. The journal has a small one, too.
fn keep_private(repo: &Repo, change: &ChangeSet) -> Result<()> {
    let Some(record) = &change.private else { return Ok(()) };
    let sync = if is_small(record) { private::Sync::Later } else { private::Sync::Now };
    private::write(repo, record, sync)
}

fn journalled(object: &Loose) -> (Id, Vec<u8>) {
    (Id::from(object.oid), object.bytes.clone())
}

fn record_of(
    repo: &Repo,
    change: &ChangeSet,
    files: &[FileRecord],
    entries: Vec<EntryRecord>,
) -> ChangeRecord {
    let branch = &change.branch;
    let refs = |refs: &[(String, Oid)]| {
        refs.iter().map(|(name, oid)| (name.clone(), Id::from(*oid))).collect()
    };
    ChangeRecord {
        branch: BranchRecord {
            name: branch.name.clone(),
            from: branch.from.into(),
            new: branch.new.into(),
            stat: repo.ref_stat(&branch.name),
            log: branch.log.clone(),
            in_head: branch.head == InHead::Yes,
            head: None,
            point: branch.point.clone(),
        },
        create: refs(&change.create),
        time: seconds(),
        journal: 0,
        head_to: change.head_to.clone(),
        replace: change
            .replace
            .iter()
            .map(|(name, from, to)| (name.clone(), (*from).into(), (*to).into()))
            .collect(),
        drop: refs(&change.drop),
        private: change.private.clone().filter(is_small),
        files: files.to_vec(),
        entries,
        index: None,
        objects: change
            .objects
            .iter()
            .filter(|object| !object.is_large())
            .map(journalled)
            .collect(),
    }
}

fn unfinished(error: &Refusal) -> Warning {
    Warning {
        code: "unfinished",
        path: None,
        message: format!(
            "The edit is recorded, but a later step failed: {error}. The next edt call completes it \
             (`edt status`)."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MAIN, Scratch, path, refusal};
    use edt_git::Tracked;
    use edt_io::effect::{FaultPlan, InjectedFault, SideEffect, with_plan};
    use std::path::Path;

    const TWO: &[(&str, Option<&str>)] = &[("a.txt", Some("two\n"))];

    #[test]
    fn a_published_change_moves_branch_index_and_file() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let after = scratch.after(&change, "two\n");
        assert_eq!(publish(&repo, &mut scratch.journal(&repo), change), Ok(vec![]));
        assert_eq!(scratch.state(), after);
    }

    #[test]
    fn an_object_that_the_journal_lacks_is_written_once_and_synced_before_its_name() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut bits = 1_u64;
        let mut word = || {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{:08x}\n", bits >> 32)
        };
        let text: String = (0..40_000).map(|_| word()).collect();
        let change = scratch.change(&repo, &[("a.txt", Some(&text))]);
        let large: Vec<_> = change.objects.iter().filter(|one| one.is_large()).collect();
        assert_eq!(large.len(), 1);
        let hex = large[0].oid.to_string();
        let mut journal = scratch.journal(&repo);
        let plan = FaultPlan { at: 0, fault: InjectedFault::None, torn: false };
        let (done, effects) = with_plan(plan, || publish(&repo, &mut journal, change));
        assert_eq!(done, Ok(vec![]));
        let name = Path::new(&hex[..2]).join(&hex[2..]);
        let named: Vec<usize> = (0..effects.len())
            .filter(|n| effects[*n] == (SideEffect::Rename, name.clone()))
            .collect();
        // A second, unsynced one would replace the first.
        assert_eq!(named.len(), 1, "{effects:?}");
        assert_eq!(effects[named[0] - 1].0, SideEffect::Sync, "{effects:?}");
    }

    #[test]
    fn a_published_change_leaves_nothing_staged() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        publish(&repo, &mut scratch.journal(&repo), scratch.change(&repo, TWO)).unwrap();
        let names: Vec<_> = std::fs::read_dir(repo.state_path().join("stage"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().contains("-0")), "{names:?}");
        assert!(!scratch.root().join(".git/index.lock").exists());
    }

    #[test]
    fn the_branch_and_head_log_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let new = change.branch.new;
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        for name in ["refs/heads/main", "HEAD"] {
            let log = scratch.text(&format!(".git/logs/{name}")).unwrap();
            let last = log.lines().last().unwrap();
            assert!(
                last.contains(&format!(" {new} ")) && last.ends_with("\tedt: change"),
                "{name}: {last}"
            );
        }
    }

    #[test]
    fn a_new_file_gets_its_directories() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, &[("x/y/b.txt", Some("b\n"))]);
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        assert_eq!(scratch.text("x/y/b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn a_removed_file_takes_its_empty_directories_with_it() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut journal = scratch.journal(&repo);
        publish(&repo, &mut journal, scratch.change(&repo, &[("x/y/b.txt", Some("b\n"))])).unwrap();
        publish(&repo, &mut journal, scratch.change(&repo, &[("x/y/b.txt", None)])).unwrap();
        assert!(!scratch.root().join("x").exists());
    }

    #[test]
    fn a_file_that_someone_changed_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let before = scratch.state();
        let change = scratch.change(&repo, TWO);
        scratch.write("a.txt", "mine\n");
        let found = refusal(publish(&repo, &mut scratch.journal(&repo), change));
        assert_eq!(
            found.message(),
            "a.txt was changed by someone else during the call. Their content is kept. Nothing was \
         recorded."
        );
        assert_eq!(found.code, Code::HashMismatch);
        let mine = crate::tests::State { text: Some("mine\n".to_owned()), ..before };
        assert_eq!(scratch.state(), mine);
    }

    #[test]
    fn a_refused_change_restores_the_files_before_it() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, &[("b.txt", Some("b\n")), ("a.txt", Some("two\n"))]);
        scratch.write("a.txt", "mine\n");
        publish(&repo, &mut scratch.journal(&repo), change).unwrap_err();
        assert_eq!(
            (scratch.text("a.txt").as_deref(), scratch.text("b.txt")),
            (Some("mine\n"), None)
        );
    }

    #[test]
    fn a_refused_change_is_rolled_back_in_the_journal() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        scratch.write("a.txt", "mine\n");
        let mut journal = scratch.journal(&repo);
        publish(&repo, &mut journal, change).unwrap_err();
        assert_eq!(journal.check_closed(), Ok(()));
        assert_eq!(crate::open_recovered(&repo, crate::tests::POINTER).unwrap().1, None);
    }

    #[test]
    fn a_branch_that_moved_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stale = scratch.change(&repo, TWO);
        let mut journal = scratch.journal(&repo);
        let other = scratch.change(&repo, &[("b.txt", Some("b\n"))]);
        let winner = other.branch.new;
        publish(&repo, &mut journal, other).unwrap();
        let found = refusal(publish(&repo, &mut journal, stale));
        assert_eq!(found.code, Code::SessionMoved);
        assert_eq!(repo.ref_value(MAIN), Ok(Some(winner)));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_switch_of_head_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        repo.create_ref("refs/heads/other", change.branch.start()).unwrap();
        repo.set_symbolic_ref("HEAD", "refs/heads/other").unwrap();
        assert_eq!(
            refusal(publish(&repo, &mut scratch.journal(&repo), change)),
            Finding::new(
                Code::SessionMoved,
                "HEAD was switched during the call.",
                "Repeat the call."
            )
            .nothing_changed()
        );
    }

    #[test]
    fn an_entry_that_someone_staged_meanwhile_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let stale = scratch.change(&repo, &[("a.txt", Some("three\n"))]);
        let mut other = scratch.change(&repo, TWO);
        // The other change moves the entry only.
        other.files.clear();
        let start = other.branch.start();
        let mut journal = scratch.journal(&repo);
        let new = other.branch.new;
        publish(&repo, &mut journal, other).unwrap();
        repo.swap_ref(&RefSwap { name: MAIN, from: new, to: start }).unwrap();
        let found = refusal(publish(&repo, &mut journal, stale));
        assert_eq!(found.code, Code::RepositoryBusy);
        assert!(
            found.summary.ends_with("was changed by another program during the call."),
            "{found:?}"
        );
    }

    #[test]
    fn refs_are_created_moved_and_deleted_with_the_branch() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut change = scratch.change(&repo, TWO);
        let (old, new) = (change.branch.start(), change.branch.new);
        repo.create_ref("refs/edt/moved", old).unwrap();
        repo.create_ref("refs/edt/dropped", old).unwrap();
        change.create = vec![("refs/edt/created".to_owned(), old)];
        change.replace = vec![("refs/edt/moved".to_owned(), old, new)];
        change.drop = vec![("refs/edt/dropped".to_owned(), old)];
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        let value = |name| repo.ref_value(name).unwrap();
        assert_eq!(
            ["refs/edt/created", "refs/edt/moved", "refs/edt/dropped"].map(value),
            [Some(old), Some(new), None]
        );
    }

    #[test]
    fn a_ref_that_exists_already_refuses_the_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let before = scratch.state();
        let mut change = scratch.change(&repo, TWO);
        let (old, new) = (change.branch.start(), change.branch.new);
        repo.create_ref("refs/edt/created", new).unwrap();
        change.create = vec![("refs/edt/created".to_owned(), old)];
        publish(&repo, &mut scratch.journal(&repo), change).unwrap_err();
        assert_eq!(repo.ref_value("refs/edt/created"), Ok(Some(new)));
        assert_eq!(scratch.state(), before);
    }

    #[test]
    fn the_objects_of_a_change_are_readable_afterwards() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, TWO);
        let new = change.branch.new;
        publish(&repo, &mut scratch.journal(&repo), change).unwrap();
        let fresh = scratch.repo();
        let tracked = fresh.tracked(fresh.tree_of(new).unwrap(), &path("a.txt")).unwrap();
        assert!(matches!(tracked, Tracked::File(file) if Ok(file.oid) == fresh.blob_id(b"two\n")));
    }

    #[test]
    fn an_open_journal_takes_no_second_change() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut journal = scratch.journal(&repo);
        journal.append(&Record::RolledBack(1)).unwrap();
        let found = refusal(publish(&repo, &mut journal, scratch.change(&repo, TWO)));
        assert_eq!(found.code, Code::SessionBusy);
    }
}
