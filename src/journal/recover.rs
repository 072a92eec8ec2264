//! Settling: what a crash left is finished or taken back. Both may themselves be killed anywhere and run again.
//!
//! In one boot there is at most one open transaction, and its branch decides: if it holds the new commit, or one after it, the
//! transaction is finished; else it is taken back. After a restart of the machine every transaction since the last checkpoint may
//! have lost parts, answered or not. All go forward, but only where the disk still holds the very inode that the transaction
//! replaced: who changed something afterwards made another.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::files::{Stage, Stands};
use super::index::{self, EntryMove, IndexView, Lock, Plan};
use super::log::{Journal, Pending};
use super::pointers::{Branch, drop_refs, point_head};
use super::record::{BranchRecord, ChangeRecord, FileRecord, Id, Record};
use crate::base::{RepoPath, Result, Settled};
use crate::git::index::Staged;
use crate::git::objects::Look;
use crate::git::read::ObjectKind;
use crate::git::{Folders, InHead, Oid, RefChange, Repo, Swap, objects};
use crate::io::disk::Perms;

/// Opens the journal and settles what it holds.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, the next call tries again.
pub fn open_settled(repo: &Repo) -> Result<(Journal, Option<Settled>)> {
    let folder = repo.state_path();
    if !folder.is_dir() {
        std::fs::create_dir_all(folder).map_err(|error| crate::io::failed("make", folder, &error))?;
    }
    let (mut journal, pending) = Journal::open(folder)?;
    let settled = match pending {
        Pending::Nothing => None,
        Pending::Open(_, Record::TakenBack(_)) => {
            journal.close()?;
            None
        }
        Pending::Open(number, Record::Change(record)) => Some(settle_one(repo, &mut journal, number, &record)?),
        Pending::AfterRestart(records) => settle_all(repo, &mut journal, &records)?,
        Pending::SetAside(aside) => Some(Settled {
            action: "set_aside",
            commit: None,
            files: Vec::new(),
            left: Vec::new(),
            detail: format!(
                "The journal could not be read and was set aside as {}; no file was touched.",
                aside.display()
            ),
        }),
    };
    Ok((journal, settled))
}

fn settle_one(repo: &Repo, journal: &mut Journal, number: u64, record: &ChangeRecord) -> Result<Settled> {
    let (new, stands) = (record.branch.new.oid(), repo.ref_value(&record.branch.name)?);
    let landed = match (new, stands) {
        (Some(new), Some(stands)) => new == stands || repo.is_ancestor(new, stands)?,
        _ => false,
    };
    unlock(repo, record);
    let settled = if landed { finish(repo, record)? } else { take_back(repo, record)? };
    if !landed {
        journal.append(&Record::TakenBack(number))?;
    }
    journal.close()?;
    Ok(settled)
}

/// Removes the locks of Git's own that edt took for `record`, and no others.
fn unlock(repo: &Repo, record: &ChangeRecord) {
    if let Some(inode) = record.index_lock {
        index::unlock(repo, inode);
    }
    if let Some(to) = record.branch.new.oid() {
        repo.unlock_ref(&record.branch.name, to);
    }
}

/// Brings everything forward to what `record` says.
fn finish(repo: &Repo, record: &ChangeRecord) -> Result<Settled> {
    objects::write_missing(repo.objects_dir(), &record.loose(), Look::Bytes)?;
    let stage = Stage::open(repo)?;
    let (mut files, mut left) = (Vec::new(), Vec::new());
    for file in &record.files {
        let path = RepoPath::from_tree(&file.path);
        match stage.stands(file)? {
            Stands::New => files.push(path),
            Stands::Old(_) => {
                forward(repo, &stage, file)?;
                files.push(path);
            }
            Stands::Other => left.push(path),
        }
        stage.discard_known(file)?;
    }
    if let Some(swap) = swap_of(&record.branch) {
        repo.log_swap(&swap)?;
    }
    follow(repo, &record.branch, &record.files.iter().collect::<Vec<_>>())?;
    drop_refs(repo, &record.delete)?;
    Ok(report("finished", record, &files, &left))
}

/// Brings the files back to what they were; the refs never moved.
fn take_back(repo: &Repo, record: &ChangeRecord) -> Result<Settled> {
    let stage = Stage::open(repo)?;
    let (mut files, mut left) = (Vec::new(), Vec::new());
    for file in record.files.iter().rev() {
        let path = RepoPath::from_tree(&file.path);
        match (stage.stands(file)?, stage.staged(file)?) {
            (Stands::New, Some(displaced)) if Some(displaced) != file.new_file() => {
                // Renames alone, so that it works on a full disk. What was displaced may be a person's, written in between.
                stage.unswap(file)?;
                if Some(displaced) == file.old_file() { files.push(path) } else { left.push(path) }
            }
            (Stands::New, _) => {
                back(repo, &stage, file)?;
                files.push(path);
            }
            (Stands::Old(_), _) => {}
            (Stands::Other, _) => left.push(path),
        }
        stage.discard_known(file)?;
    }
    drop_refs(repo, &record.create)?;
    Ok(report("taken_back", record, &files, &left))
}

/// Swaps the new bytes in, from where they are staged or from their blob.
fn forward(repo: &Repo, stage: &Stage<'_>, file: &FileRecord) -> Result<()> {
    if let Some(new) = file.new_file() {
        let bytes = repo.object(new.oid, ObjectKind::Blob)?;
        let executable = new.mode.bits() & 0o100 != 0;
        let perms = file.old.as_ref().map_or(Perms::Usual { executable }, |(_, _, stat)| Perms::Of(*stat, executable));
        stage.stage_bytes(file, &bytes, perms)?;
    }
    let mut current = file.clone();
    if let (Some((_, _, seen)), Some(stat)) = (&mut current.old, stage.stat(file)) {
        *seen = stat;
    }
    stage.swap(&current)
}

/// Puts the old bytes back from their blob: the displaced file is no longer staged.
fn back(repo: &Repo, stage: &Stage<'_>, file: &FileRecord) -> Result<()> {
    if file.old.is_none() {
        return stage.unswap(file);
    }
    let mut reverse = file.clone();
    reverse.old = match (&file.new, stage.stat(file)) {
        (Some((id, executable)), Some(stat)) => Some((id.clone(), *executable, stat)),
        _ => None,
    };
    reverse.new = file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
    forward(repo, stage, &reverse)
}

/// Index, HEAD and pointers follow the branch.
fn follow(repo: &Repo, branch: &BranchRecord, files: &[&FileRecord]) -> Result<()> {
    if let Some(new) = branch.new.oid() {
        // HEAD follows only if it is still the very file that it was: who switched since made another.
        let from = branch.head_from.as_ref().filter(|_| repo.head_stat() == branch.head_stat);
        let point = branch.point.clone().filter(|name| matches!(repo.symbolic_ref(name), Ok(None)));
        let (name, log) = (branch.name.clone(), branch.log.clone());
        point_head(repo, &Branch { name, old: None, new, log, head: InHead::No, head_from: from.cloned(), point })?;
    }
    if branch.in_head && repo.head()?.branch.as_ref() == Some(&branch.name) && !files.is_empty() {
        follow_index(repo, files)?;
    }
    Ok(())
}

/// Moves the index entries that still hold what was replaced.
fn follow_index(repo: &Repo, files: &[&FileRecord]) -> Result<()> {
    let stage = Stage::open(repo)?;
    for _ in 0..20 {
        let view = IndexView::read(repo)?;
        let mut moves = Vec::new();
        for file in files {
            let path = RepoPath::from_tree(&file.path);
            let seen = view.staged(repo, &path)?;
            let expected = file.old_file().map_or(Staged::Nothing, Staged::File);
            if seen == expected {
                moves.push(EntryMove { path, file: file.new_file(), seen });
            }
        }
        if moves.is_empty() {
            return Ok(());
        }
        let Plan::Patch(mut prepared) = view.prepare(&stage, &moves, &Folders::new())? else {
            return index::delegate(repo, &moves);
        };
        if prepared.lock(repo, &stage)? == Lock::Changed {
            continue;
        }
        let stats: Vec<_> =
            files.iter().filter_map(|file| Some((RepoPath::from_tree(&file.path), stage.stat(file)?))).collect();
        let written = prepared.refresh(repo, &stage, &stats).and_then(|()| prepared.rename_in(repo, &stage));
        if written.is_err() {
            index::unlock(repo, prepared.inode);
        }
        return written;
    }
    Err(index::restaged(repo).into())
}

/// After a restart: every transaction of the epoch goes forward, as far as nobody changed things since.
fn settle_all(repo: &Repo, journal: &mut Journal, records: &[(u64, Record)]) -> Result<Option<Settled>> {
    let taken_back: Vec<u64> = records.iter().filter_map(|(_, record)| taken_back_by(record)).collect();
    let change = |(number, record): &'_ (u64, Record)| match record {
        Record::Change(record) if !taken_back.contains(number) => Some((**record).clone()),
        _ => None,
    };
    let changes: Vec<ChangeRecord> = records.iter().filter_map(change).collect();
    for record in &changes {
        objects::write_missing(repo.objects_dir(), &record.loose(), Look::Bytes)?;
        unlock(repo, record);
        for (name, id) in &record.create {
            if let Some(to) = id.oid()
                && repo.ref_value(name)?.is_none()
            {
                repo.change_refs(&[RefChange::Create { name: name.clone(), to, log: String::new() }])?;
            }
        }
    }
    restore_branches(repo, &changes)?;
    let landed = landed(repo, &changes)?;
    let restored = restore_files(repo, &changes, &landed)?;
    for record in &landed {
        follow(repo, &record.branch, &record.files.iter().collect::<Vec<_>>())?;
        drop_refs(repo, &record.delete)?;
    }
    journal.checkpoint()?;
    let Some(last) = landed.last().filter(|_| !restored.is_empty()) else { return Ok(None) };
    Ok(Some(report("recovered", last, &restored, &[])))
}

fn taken_back_by(record: &Record) -> Option<u64> {
    match record {
        Record::TakenBack(number) => Some(*number),
        Record::Change(_) => None,
    }
}

/// Those whose commit is in their branch as it stands: a person may have moved it since.
fn landed<'a>(repo: &Repo, changes: &'a [ChangeRecord]) -> Result<Vec<&'a ChangeRecord>> {
    let mut held: HashMap<&str, HashSet<Oid>> = HashMap::new();
    for record in changes {
        let name = record.branch.name.as_str();
        if !held.contains_key(name) {
            let tip = repo.ref_value(name)?;
            let near =
                tip.map_or_else(|| Ok(HashSet::new()), |tip| repo.first_parents(tip, changes.len() * 3 + 1000))?;
            held.insert(name, near);
        }
    }
    let in_branch = |record: &&ChangeRecord| {
        record.branch.new.oid().is_some_and(|new| held[record.branch.name.as_str()].contains(&new))
    };
    Ok(changes.iter().filter(in_branch).collect())
}

/// Brings each path to the state of its last landed record, if its inode is still one that some record replaced.
fn restore_files(repo: &Repo, changes: &[ChangeRecord], landed: &[&ChangeRecord]) -> Result<Vec<RepoPath>> {
    let stage = Stage::open(repo)?;
    let mut last: BTreeMap<&[u8], &FileRecord> = BTreeMap::new();
    for file in landed.iter().flat_map(|record| &record.files) {
        last.insert(&file.path, file);
    }
    let mut restored = Vec::new();
    for (path, file) in last {
        let here = stage.stat(file);
        let replaced = |old: &FileRecord| match (&here, &old.old) {
            (None, None) => true,
            (Some(here), Some((_, _, seen))) => seen.same_content_as(here),
            _ => false,
        };
        let is_old = changes.iter().flat_map(|record| &record.files).any(|old| old.path == path && replaced(old));
        if is_old && stage.stands(file)? != Stands::New {
            let mut file = file.clone();
            file.old = match (here, stage.current(&file)?) {
                (Some(stat), Some(now)) => Some((now.oid.into(), now.mode.bits() & 0o100 != 0, stat)),
                _ => None,
            };
            forward(repo, &stage, &file)?;
            restored.push(RepoPath::from_tree(path));
        }
    }
    changes.iter().flat_map(|record| &record.files).try_for_each(|file| stage.discard_known(file))?;
    Ok(restored)
}

/// The move of the branch; `None` if it was created.
fn swap_of(branch: &BranchRecord) -> Option<Swap<'_>> {
    let head = if branch.in_head { InHead::Yes } else { InHead::No };
    let (from, to) = (branch.old.as_ref()?.oid()?, branch.new.oid()?);
    Some(Swap { name: &branch.name, from, to, log: &branch.log, head })
}

/// Brings each branch to its last value, if its loose file is still one that a record replaced.
fn restore_branches(repo: &Repo, changes: &[ChangeRecord]) -> Result<()> {
    for (i, record) in changes.iter().enumerate() {
        let name = &record.branch.name;
        if changes[i + 1..].iter().any(|later| later.branch.name == *name) {
            continue;
        }
        let (Some(to), stands, stat) = (record.branch.new.oid(), repo.ref_value(name)?, repo.loose_ref_stat(name))
        else {
            continue;
        };
        let replaced = |earlier: &&ChangeRecord| {
            let same_file = match (&earlier.branch.stat, &stat) {
                (None, None) => true,
                (Some(seen), Some(stat)) => seen.same_content_as(stat),
                _ => false,
            };
            earlier.branch.name == *name && earlier.branch.old.as_ref().and_then(Id::oid) == stands && same_file
        };
        if stands == Some(to) || !changes[..=i].iter().any(|earlier| replaced(&earlier)) {
            continue;
        }
        let (log, head) = (record.branch.log.as_str(), if record.branch.in_head { InHead::Yes } else { InHead::No });
        match stands {
            Some(from) => {
                let swap = Swap { name, from, to, log, head };
                repo.swap_ref(&swap)?;
                repo.log_swap(&swap)?;
            }
            None => repo.change_refs(&[RefChange::Create { name: name.clone(), to, log: log.to_owned() }])?,
        }
    }
    Ok(())
}

fn report(action: &'static str, record: &ChangeRecord, files: &[RepoPath], left: &[RepoPath]) -> Settled {
    let what = match action {
        "finished" => "An interrupted transaction had been recorded; it was finished.",
        "taken_back" => "An interrupted transaction had not been recorded; it was taken back.",
        _ => "The machine was restarted before everything was on disk; it was brought forward again.",
    };
    let mut detail = what.to_owned();
    if !left.is_empty() {
        detail.push_str(" Files that hold neither the old nor the new bytes are someone's work and were left alone.");
    }
    let names = |paths: &[RepoPath]| paths.iter().map(ToString::to_string).collect();
    let commit = record.branch.new.oid().map(|oid: Oid| oid.to_string());
    Settled { action, commit, files: names(files), left: names(left), detail }
}
