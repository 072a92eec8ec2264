//! Making a change true, in the order that a crash at any step can be settled from.

use super::POINTER;
use super::files::{FileChange, Stage};
use super::index::{self, EntryMove, IndexView, Lock, Plan};
use super::log::Journal;
use super::pointers::{Branch, From};
use super::put_back::PutBack;
use super::record::{BranchRecord, ChangeRecord, EntryRecord, FileRecord, Id, Record};
use crate::base::{Code, Finding, Findings, RepoPath, Result, Warning};
use crate::git::objects::Look;
use crate::git::reflog::Line;
use crate::git::{Folders, InHead, Loose, Oid, Repo, Swap, objects};
use crate::io::clock::{process_id, wall};

/// Deflated objects larger than this, in bytes, are synced by themselves rather than through the journal.
const JOURNAL_MAX: usize = 128 * 1024;

/// Everything a transaction changes.
#[derive(Debug)]
#[must_use = "publish it, or it never happened"]
pub struct Change {
    /// The ref that decides.
    pub branch: Branch,
    /// New objects, each after what it names.
    pub objects: Vec<Loose>,
    /// Refs that must exist first, with their values.
    pub create: Vec<(String, Oid)>,
    /// What HEAD is to name instead of the branch, if it goes elsewhere: another branch in full, or a commit.
    pub head_to: Option<String>,
    /// Refs to move once the branch has moved, with the values they must have and get.
    pub replace: Vec<(String, Oid, Oid)>,
    /// Refs to delete once the branch has moved, with the values they must have.
    pub drop: Vec<(String, Oid)>,
    /// The files.
    pub files: Vec<FileChange>,
    /// The index as it was seen and the entries to move; `None` if HEAD is elsewhere.
    pub index: Option<(IndexView, Vec<EntryMove>)>,
    /// Trees of the touched folders before and after.
    pub folders: Folders,
}

impl Change {
    /// The change that moves `branch` and nothing else.
    pub fn of(branch: Branch) -> Change {
        Change {
            branch,
            objects: Vec::new(),
            create: Vec::new(),
            head_to: None,
            replace: Vec::new(),
            drop: Vec::new(),
            files: Vec::new(),
            index: None,
            folders: Folders::new(),
        }
    }
}

impl Change {
    /// Whether it must be on the medium before it is answered: refs that are gone tell nothing of what they were.
    fn must_be_synced(&self) -> bool {
        self.branch.must_be_synced() || !self.drop.is_empty()
    }
}

/// Makes `change` true.
///
/// # Errors
/// Whatever failed before the branch moved: everything is then as it was, or the next call takes it back. After the branch
/// moved nothing fails: what is left to do is a warning, and the next call does it.
pub fn publish(repo: &Repo, journal: &mut Journal, mut change: Change) -> Result<Vec<Warning>> {
    journal.check_closed()?;
    journal.make_room()?;
    let stage = Stage::open(repo)?;
    let tx = format!("{:x}-{}", process_id(), change.branch.new.to_hex_with_len(8));
    let mut staged = Staged { stage: &stage, records: Vec::new() };
    for (i, file) in change.files.iter().enumerate() {
        staged.records.push(stage.put(file, &tx, i)?);
    }
    let moves: Vec<EntryMove>;
    let (mut plan, mut index) = (None, None);
    if let Some((view, wanted)) = change.index.take() {
        (moves, index) = (wanted, view.stat());
        plan = Some(view.prepare(&stage, &moves, &change.folders)?);
    } else {
        moves = Vec::new();
    }
    let record = ChangeRecord { index, ..record_of(repo, &change, &staged.records, &moves) };
    let recorded = sync_large(repo, &change.objects)
        .and_then(|()| journal.append(&Record::Change(Box::new(record))));
    if let (Err(_), Some(Plan::Patch(prepared))) = (&recorded, &plan) {
        prepared.discard(&stage);
    }
    let number = recorded?;

    let mut swapped = 0;
    match until_commit_point(repo, &change, &mut staged, &moves, &mut plan, &mut swapped) {
        Ok(()) => {}
        Err(error) => {
            take_back(repo, journal, number, &change, &mut staged, swapped, plan.as_ref());
            return Err(error);
        }
    }
    // An index that Git rewrites, and more than once, could not be told from a person's.
    let lasting = change.must_be_synced() || matches!(plan, Some(Plan::Delegate));
    match after_commit_point(repo, &change, &stage, &moves, plan) {
        Ok(()) => {
            let records = std::mem::take(&mut staged.records);
            let mut warnings: Vec<Warning> =
                records.iter().filter_map(|record| stage.discard_unless_written(record)).collect();
            if let From::Nothing(_) = change.branch.from {
                objects::make_folders(repo.objects_dir());
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

/// Files staged and not yet swapped; dropping it removes them.
struct Staged<'s, 'r> {
    stage: &'s Stage<'r>,
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
    change: &Change,
    staged: &mut Staged<'_, '_>,
    moves: &[EntryMove],
    plan: &mut Option<Plan>,
    swapped: &mut usize,
) -> Result<()> {
    objects::write(repo.objects_dir(), &change.objects)?;
    change.create.iter().try_for_each(|(name, to)| repo.create_ref(name, *to))?;
    lock_index(repo, staged.stage, moves, &change.folders, plan)?;
    check_head(repo, &change.branch)?;
    for record in &staged.records {
        staged.stage.swap(record)?;
        *swapped += 1;
    }
    if let Some(Plan::Patch(prepared)) = plan {
        let stats = index::stats(staged.stage, moves, &staged.records);
        prepared.refresh(repo, staged.stage, &stats)?;
    }
    change.branch.decide(repo)
}

/// HEAD must still be where it was when the change was planned: the index follows it. `git switch` needs the index's lock, so
/// from here on it stays.
fn check_head(repo: &Repo, branch: &Branch) -> Result<()> {
    let names = repo.head_names()?;
    let as_planned = match &branch.head_from {
        Some(from) => names.as_ref() == Some(from),
        None => (names.as_ref() == Some(&branch.name)) == (branch.head == InHead::Yes),
    };
    if as_planned {
        return Ok(());
    }
    let (message, hint) =
        ("HEAD was switched during the call. Nothing was changed.", "Repeat the call.");
    Err(Finding::new(Code::SessionMoved, message, hint).into())
}

/// Takes `index.lock`; if Git refreshed the index meanwhile, patches the new one, as long as the touched entries are the same.
fn lock_index(
    repo: &Repo,
    stage: &Stage<'_>,
    moves: &[EntryMove],
    folders: &Folders,
    plan: &mut Option<Plan>,
) -> Result<()> {
    for _ in 0..20 {
        let Some(Plan::Patch(prepared)) = plan else { return Ok(()) };
        if prepared.lock(repo, stage)? == Lock::Held {
            return Ok(());
        }
        let view = IndexView::read(repo)?;
        for entry in moves {
            if view.staged(repo, &entry.path)? != entry.seen {
                return Err(index::restaged(repo).into());
            }
        }
        *plan = Some(view.prepare(stage, moves, folders)?);
    }
    Err(index::restaged(repo).into())
}

fn after_commit_point(
    repo: &Repo,
    change: &Change,
    stage: &Stage<'_>,
    moves: &[EntryMove],
    plan: Option<Plan>,
) -> Result<()> {
    // `git gc --prune=now` may have run between the objects and the ref.
    objects::write_missing(repo.objects_dir(), &change.objects, Look::Size)?;
    change.branch.follow(repo, Line::New, change.head_to.as_deref())?;
    change.replace.iter().try_for_each(|(name, from, to)| move_ref(repo, name, *from, *to))?;
    change.drop.iter().try_for_each(|(name, from)| drop_ref(repo, name, *from))?;
    match plan {
        Some(Plan::Patch(prepared)) => prepared.rename_in(repo, stage),
        Some(Plan::Delegate) => index::delegate(repo, moves),
        None => Ok(()),
    }
}

/// Moves a ref that is none of a worktree's.
fn move_ref(repo: &Repo, name: &str, from: Oid, to: Oid) -> Result<()> {
    repo.swap_ref(&Swap { name, from, to, log: "", head: InHead::No })
}

/// The refs that follow a recorded change, after a crash: those that nobody moved since.
pub(super) fn settle_refs(repo: &Repo, record: &ChangeRecord) -> Result<()> {
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
    // What is dropped must stand elsewhere first: a ref that was to hold it may have been moved by someone, or be gone.
    for (name, to) in record
        .create
        .iter()
        .map(|(name, to)| (name, to))
        .chain(record.replace.iter().map(|(name, _, to)| (name, to)))
    {
        let Some(to) = to.oid() else { return Ok(()) };
        match repo.ref_value(name)? {
            None => repo.create_ref(name, to)?,
            Some(stands) if repo.tree_of(to).is_err() || repo.is_ancestor(to, stands)? => {}
            Some(_) => return Ok(()),
        }
    }
    for (name, id) in &record.drop {
        match (repo.ref_value(name)?, id.oid()) {
            (None, _) => repo.unpoint_ref(POINTER, name)?,
            (Some(stands), Some(from)) if stands == from => drop_ref(repo, name, from)?,
            // Who moved it since wants it.
            _ => {}
        }
    }
    Ok(())
}

/// Deletes a ref; a worktree that remembers it as its session does so no longer.
fn drop_ref(repo: &Repo, name: &str, from: Oid) -> Result<()> {
    repo.unpoint_ref(POINTER, name)?;
    repo.delete_ref(name, from)
}

fn take_back(
    repo: &Repo,
    journal: &mut Journal,
    number: u64,
    change: &Change,
    staged: &mut Staged<'_, '_>,
    swapped: usize,
    plan: Option<&Plan>,
) {
    // What is staged may be the only copy of a person's bytes: only `put_back` decides what of it may go.
    let records = std::mem::take(&mut staged.records);
    let put_back = |record: &FileRecord| {
        matches!(staged.stage.put_back(record), Ok(PutBack::Restored | PutBack::Left))
    };
    let back = records[..swapped].iter().rev().all(put_back);
    let unlocked = plan.is_none() || index::unlock(repo, staged.stage).is_ok();
    // What could not be put back here is put back by the next call: the journal stays open.
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
    // If this fails the journal stays open, and the next call takes back what is left.
    if journal.append(&Record::TakenBack(number)).is_ok() {
        let _ = journal.close();
    }
}

/// Writes and syncs the objects that are too large for the journal.
fn sync_large(repo: &Repo, all: &[Loose]) -> Result<()> {
    let large: Vec<Loose> =
        all.iter().filter(|object| object.bytes.len() > JOURNAL_MAX).cloned().collect();
    objects::write_synced(repo.objects_dir(), &large)
}

fn carried(object: &Loose) -> (Id, Vec<u8>) {
    (Id::from(object.oid), object.bytes.clone())
}

fn record_of(
    repo: &Repo,
    change: &Change,
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
            .map(carried)
            .collect(),
    }
}

fn unfinished(error: &Findings) -> Warning {
    Warning {
        code: "unfinished",
        path: None,
        message: format!(
            "The edit is recorded, but something after it could not be done: {error}. The next edt call finishes it (`edt status`)."
        ),
    }
}
