//! Installs a change, in an order that allows recovery from a crash at any step.

use super::entry::EntryMove;
use super::files::{FileChange, StagingArea};
use super::index::{self, IndexPlan, IndexView, LockOutcome};
use super::log::Journal;
use super::pointers::{BranchOrigin, BranchUpdate};
use super::record::{BranchRecord, ChangeRecord, EntryRecord, FileRecord, Id, Record};
use super::rollback::Rollback;
use edt_git::objects::ObjectCheck;
use edt_git::reflog::ReflogWrite;
use edt_git::{InHead, Loose, Oid, RefSwap, Repo, TouchedTrees, objects};
use edt_io::clock::{process_id, wall};
use edt_types::{Code, Finding, Findings, RepoPath, Result, Warning};

/// Deflated objects larger than this, in bytes, are synced themselves instead of being written to
/// the journal.
const JOURNAL_MAX: usize = 128 * 1024;

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
    journal.make_room()?;
    let stage = StagingArea::open(repo)?;
    let tx = format!("{:x}-{}", process_id(), change.branch.new.to_hex_with_len(8));
    let mut staged = Staged { stage: &stage, records: Vec::new() };
    for (i, file) in change.files.iter().enumerate() {
        staged.records.push(stage.put(file, &tx, i)?);
    }
    let moves: Vec<EntryMove>;
    let (mut plan, mut index) = (None, None);
    if let Some((view, wanted)) = change.index.take() {
        (moves, index) = (wanted, view.stat());
        plan = Some(view.prepare(&stage, &moves, &change.touched_trees)?);
    } else {
        moves = Vec::new();
    }
    let record = ChangeRecord { index, ..record_of(repo, &change, &staged.records, &moves) };
    let recorded = sync_large(repo, &change.objects)
        .and_then(|()| journal.append(&Record::ChangeSet(Box::new(record))));
    if let (Err(_), Some(IndexPlan::Patch(prepared))) = (&recorded, &plan) {
        prepared.discard(&stage);
    }
    let number = recorded?;

    let mut swapped = 0;
    match until_commit_point(repo, &change, &mut staged, &moves, &mut plan, &mut swapped) {
        Ok(()) => {}
        Err(error) => {
            roll_back(repo, journal, number, &change, &mut staged, swapped, plan.as_ref());
            return Err(error);
        }
    }
    // If Git rewrites the index, perhaps several times, recovery cannot distinguish that from a
    // user's change.
    let lasting = change.must_be_synced() || matches!(plan, Some(IndexPlan::Delegate));
    match after_commit_point(repo, &change, &stage, &moves, plan, journal.pointer()) {
        Ok(()) => {
            let records = std::mem::take(&mut staged.records);
            let mut warnings: Vec<Warning> =
                records.iter().filter_map(|record| stage.discard_unless_written(record)).collect();
            if let BranchOrigin::Created(_) = change.branch.from {
                objects::create_object_directories(repo.objects_dir());
            }
            warnings.extend(journal.finish(lasting).err().map(|error| unfinished(&error)));
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
) -> Result<()> {
    objects::write(repo.objects_dir(), &change.objects)?;
    change.create.iter().try_for_each(|(name, to)| repo.create_ref(name, *to))?;
    lock_index(repo, staged.stage, moves, &change.touched_trees, plan)?;
    check_head(repo, &change.branch)?;
    for record in &staged.records {
        staged.stage.swap(record)?;
        *swapped += 1;
    }
    if let Some(IndexPlan::Patch(prepared)) = plan {
        let stats = index::stats(staged.stage, moves, &staged.records);
        prepared.refresh(repo, staged.stage, &stats)?;
    }
    change.branch.decide(repo)
}

/// Checks that HEAD is where it was when the change was planned, because the index follows HEAD.
/// `git switch` needs the lock of the index, so HEAD cannot move from here on.
fn check_head(repo: &Repo, branch: &BranchUpdate) -> Result<()> {
    let names = repo.head_target()?;
    let as_planned = match &branch.head_from {
        Some(from) => names.as_ref() == Some(from),
        None => (names.as_ref() == Some(&branch.name)) == (branch.head == InHead::Yes),
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
    plan: Option<IndexPlan>,
    pointer: &str,
) -> Result<()> {
    // `git gc --prune=now` may have run between the writing of the objects and that of the ref.
    objects::write_missing(repo.objects_dir(), &change.objects, ObjectCheck::Size)?;
    change.branch.follow(repo, ReflogWrite::Append, change.head_to.as_deref())?;
    change.replace.iter().try_for_each(|(name, from, to)| move_ref(repo, name, *from, *to))?;
    change.drop.iter().try_for_each(|(name, from)| drop_ref(repo, name, *from, pointer))?;
    match plan {
        Some(IndexPlan::Patch(prepared)) => prepared.rename_in(repo, stage),
        Some(IndexPlan::Delegate) => index::delegate(repo, moves),
        None => Ok(()),
    }
}

/// Moves a ref that is not specific to a worktree.
fn move_ref(repo: &Repo, name: &str, from: Oid, to: Oid) -> Result<()> {
    repo.swap_ref(&RefSwap { name, from, to, log: "", head: InHead::No })
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
            (Some(current), Some(from)) if current == from => {
                drop_ref(repo, name, from, pointer)?;
            }
            // Someone moved the ref since and needs it.
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
    // A staged file may be the only copy of a user's bytes. Only `StagingArea::roll_back` decides
    // what may be removed.
    let records = std::mem::take(&mut staged.records);
    let roll_back = |record: &FileRecord| {
        matches!(staged.stage.roll_back(record), Ok(Rollback::Restored | Rollback::Left))
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
    // If this fails, the journal stays open and the next call completes the rollback.
    if journal.append(&Record::RolledBack(number)).is_ok() {
        let _ = journal.close();
    }
}

/// Writes and syncs the objects that are too large for the journal.
fn sync_large(repo: &Repo, all: &[Loose]) -> Result<()> {
    let large: Vec<Loose> =
        all.iter().filter(|object| object.bytes.len() > JOURNAL_MAX).cloned().collect();
    objects::write_synced(repo.objects_dir(), &large)
}

fn journalled(object: &Loose) -> (Id, Vec<u8>) {
    (Id::from(object.oid), object.bytes.clone())
}

fn record_of(
    repo: &Repo,
    change: &ChangeSet,
    files: &[FileRecord],
    moves: &[EntryMove],
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
            head_stat: branch.head_from.as_ref().and_then(|_| repo.head_stat()),
            head_from: branch.head_from.clone(),
            point: branch.point.clone(),
        },
        create: refs(&change.create),
        time: wall().0,
        head_to: change.head_to.clone(),
        replace: change
            .replace
            .iter()
            .map(|(name, from, to)| (name.clone(), (*from).into(), (*to).into()))
            .collect(),
        drop: refs(&change.drop),
        files: files.to_vec(),
        entries: moves.iter().filter_map(EntryRecord::of).collect(),
        index: None,
        objects: change
            .objects
            .iter()
            .filter(|object| object.bytes.len() <= JOURNAL_MAX)
            .map(journalled)
            .collect(),
    }
}

fn unfinished(error: &Findings) -> Warning {
    Warning {
        code: "unfinished",
        path: None,
        message: format!(
            "The edit is recorded, but a later step failed: {error}. The next edt call completes it \
             (`edt status`)."
        ),
    }
}
