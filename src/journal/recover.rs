//! Settling: what a crash left is finished or taken back. Both may themselves be killed anywhere and run again.
//!
//! In one boot there is at most one open transaction, and its branch decides: if it holds the new commit, or one after it, the
//! transaction is finished; else it is taken back. [`restart`] settles what a restart of the machine left.

use super::files::{InStage, Stage, Stands};
use super::index;
use super::log::{Journal, Pending};
use super::pointers::{Branch, From};
use super::publish::settle_refs;
use super::put_back::PutBack;
use super::record::{ChangeRecord, FileRecord, Record};
use super::{restart, restart_index};
use crate::base::{RepoPath, Result, Settled};
use crate::git::objects::Look;
use crate::git::read::ObjectKind;
use crate::git::reflog::Line;
use crate::git::{InHead, Oid, Repo, objects};
use crate::io::disk::Perms;
use crate::io::for_good;

/// This worktree's session while HEAD stays elsewhere; `session::current` tells of it.
pub const POINTER: &str = "refs/worktree/edt/session";

/// Opens the journal and settles what it holds.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, the next call tries again.
pub fn open_settled(repo: &Repo) -> Result<(Journal, Option<Settled>)> {
    let folder = repo.state_path();
    if !folder.is_dir() {
        crate::io::whole::make_folder(folder)
            .map_err(|error| crate::io::failed("make", folder, &error))?;
    }
    let (mut journal, pending) = Journal::open(folder, repo.root_path())?;
    let settled = match pending {
        Pending::Nothing => None,
        Pending::Open(_, Record::TakenBack(_)) => {
            journal.close()?;
            None
        }
        Pending::Open(number, Record::Change(record)) => {
            Some(settle_one(repo, &mut journal, number, &record)?)
        }
        Pending::AfterRestart(records) => restart::settle_all(repo, &mut journal, &records)?,
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

fn settle_one(
    repo: &Repo,
    journal: &mut Journal,
    number: u64,
    record: &ChangeRecord,
) -> Result<Settled> {
    let Some(branch) = record.branch.branch() else { return Ok(unreadable()) };
    let landed = match (repo.ref_value(&branch.name)?, branch.from) {
        (None, _) => false,
        _ if branch.stays() => repo.head_names()? != branch.head_from,
        (Some(stands), _) if stands == branch.new => true,
        // An undo moves back: who still holds what it left has not been moved.
        (Some(stands), From::Later(old)) => {
            !repo.is_ancestor(old, stands)? && repo.is_ancestor(branch.new, stands)?
        }
        (Some(stands), _) => repo.is_ancestor(branch.new, stands)?,
    };
    let stage = Stage::open(repo)?;
    if landed && branch.old() != Some(branch.new) {
        index::rename_own_in(repo, &stage)?;
    }
    unlock(repo, &stage, record, &branch)?;
    let settled = if landed { finish(repo, record, &branch)? } else { take_back(repo, record)? };
    if !landed {
        journal.append(&Record::TakenBack(number))?;
    }
    journal.finish(landed && (branch.must_be_synced() || !record.drop.is_empty()))?;
    Ok(settled)
}

/// Removes the locks of Git's own that edt took to move `branch`, and no others.
fn unlock(repo: &Repo, stage: &Stage<'_>, record: &ChangeRecord, branch: &Branch) -> Result<()> {
    index::unlock(repo, stage)?;
    let dropped = record.drop.iter().map(|(name, _)| name.as_str());
    let moved = record.replace.iter().map(|(name, ..)| name.as_str());
    let mut names = [branch.name.as_str(), "HEAD"]
        .into_iter()
        .chain(branch.point.as_deref())
        .chain(dropped)
        .chain(moved);
    names.try_for_each(|name| repo.unlock_ref(name))
}

/// Brings everything forward to what `record` says.
fn finish(repo: &Repo, record: &ChangeRecord, branch: &Branch) -> Result<Settled> {
    objects::write_missing(repo.objects_dir(), &record.loose(), Look::Bytes)?;
    // A change whose branch stays where it is counts as decided from the start: its refs may still be missing.
    for (name, id) in &record.create {
        if let Some(to) = id.oid()
            && repo.ref_value(name)?.is_none()
        {
            repo.create_ref(name, to)?;
        }
    }
    let stage = Stage::open(repo)?;
    let (mut files, mut left) = (Vec::new(), Vec::new());
    for file in &record.files {
        let path = RepoPath::from_tree(&file.path);
        // What may go well later is left to the next call: only what fails for good must not keep the rest from going on.
        let done = match for_good(stage.stands(file))? {
            Some(Stands::New) => true,
            Some(Stands::Old(_)) => for_good(forward(repo, &stage, file))?.is_some(),
            Some(Stands::Other) | None => false,
        };
        if done {
            files.push(path);
        } else {
            left.push(path);
        }
        if for_good(stage.discard_known(file))?.is_none() {
            left.push(RepoPath::from_tree(&file.path));
        }
    }
    follow(repo, record, branch)?;
    Ok(report("finished", record, &files, &left))
}

/// Brings the files back to what they were; the refs never moved.
fn take_back(repo: &Repo, record: &ChangeRecord) -> Result<Settled> {
    let stage = Stage::open(repo)?;
    let (mut files, mut left) = (Vec::new(), Vec::new());
    for file in record.files.iter().rev() {
        let path = RepoPath::from_tree(&file.path);
        let untouched = matches!(stage.stands(file), Ok(Stands::Old(_)));
        // One file that cannot be put back must not keep the others, nor every later call, from going on; but a disk that is full
        // or fails may be mended.
        let restored = match for_good(stage.put_back(file))? {
            Some(PutBack::Restored) => true,
            Some(PutBack::FromBlob) => for_good(back(repo, &stage, file))?.is_some(),
            Some(PutBack::Left) | None => false,
        };
        match (untouched, restored) {
            (_, false) => left.push(path),
            (false, true) => files.push(path),
            (true, true) => {}
        }
    }
    for file in record.files.iter().filter(|file| file.old.is_none()) {
        repo.root().remove_empty_beneath(RepoPath::from_tree(&file.path).split().0);
    }
    for (name, id) in &record.create {
        if let Some(to) = id.oid() {
            repo.drop_created_ref(name, to)?;
        }
    }
    Ok(report("taken_back", record, &files, &left))
}

/// Swaps the new bytes in, from where they are staged or from their blob.
pub(super) fn forward(repo: &Repo, stage: &Stage<'_>, file: &FileRecord) -> Result<()> {
    // What was displaced from under a person may be their only copy.
    stage.keep_foreign(file)?;
    if let Some(new) = file.new_file() {
        let bytes = match repo.object(new.oid, ObjectKind::Blob) {
            // The bytes of a file that Git converts are in no commit: `git gc --prune=now` may have dropped them meanwhile.
            Err(_) if stage.staged(file)? == InStage::New => {
                return stage.swap(&as_it_stands(stage, file));
            }
            bytes => bytes?,
        };
        let executable = new.mode.bits() & 0o100 != 0;
        let perms = file
            .old
            .as_ref()
            .map_or(Perms::Usual { executable }, |(_, _, stat)| Perms::Of(*stat, executable));
        stage.stage_bytes(file, &bytes, perms)?;
    }
    stage.swap(&as_it_stands(stage, file))
}

/// The record with the stat that the file has now.
fn as_it_stands(stage: &Stage<'_>, file: &FileRecord) -> FileRecord {
    let mut current = file.clone();
    if let (Some((_, _, seen)), Some(stat)) = (&mut current.old, stage.stat(file)) {
        *seen = stat;
    }
    current
}

/// Puts the old bytes back from their blob: the displaced file is no longer staged.
fn back(repo: &Repo, stage: &Stage<'_>, file: &FileRecord) -> Result<()> {
    let mut reverse = file.clone();
    reverse.old = match (&file.new, stage.stat(file)) {
        (Some((id, executable)), Some(stat)) => Some((id.clone(), *executable, stat)),
        _ => None,
    };
    reverse.new = file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
    forward(repo, stage, &reverse)
}

/// Symbolic refs, logs, the refs that go with the branch and the index follow it.
fn follow(repo: &Repo, record: &ChangeRecord, branch: &Branch) -> Result<()> {
    follow_refs(repo, record, branch)?;
    restart_index::bring(repo, &Stage::open(repo)?, &[record], &[record])
}

/// The same without the index.
pub(super) fn follow_refs(repo: &Repo, record: &ChangeRecord, branch: &Branch) -> Result<()> {
    let mut branch = branch.clone();
    // HEAD follows only if it is still the very file that it was: who switched since made another. If it did follow, its log does.
    let same_file = repo
        .head_stat()
        .zip(record.branch.head_stat)
        .is_some_and(|(is, was)| is.same_content_as(&was));
    let followed = is_in_head(repo, record, &branch)?;
    branch.head_from = branch.head_from.filter(|_| followed || same_file);
    branch.point = branch.point.filter(|name| matches!(repo.symbolic_ref(name), Ok(None)));
    branch.follow(repo, Line::Once, record.head_to.as_deref())?;
    settle_refs(repo, record)
}

/// Whether HEAD names what it is to name once all is done.
pub(super) fn is_in_head(repo: &Repo, record: &ChangeRecord, branch: &Branch) -> Result<bool> {
    Ok(branch.head == InHead::Yes
        && repo.head_names()?.as_ref() == Some(record.head_to.as_ref().unwrap_or(&branch.name)))
}

/// Those of `files` that stand as they were written: only of them may an entry bear the stat.
pub(super) fn standing(stage: &Stage<'_>, files: &[FileRecord]) -> Vec<FileRecord> {
    files.iter().filter(|file| matches!(stage.stands(file), Ok(Stands::New))).cloned().collect()
}

/// A record that names no commit was written by something else.
fn unreadable() -> Settled {
    Settled {
        action: "left",
        commit: None,
        files: Vec::new(),
        left: Vec::new(),
        detail: "The journal's last record could not be read; no file was touched.".to_owned(),
    }
}

pub(super) fn report(
    action: &'static str,
    record: &ChangeRecord,
    files: &[RepoPath],
    left: &[RepoPath],
) -> Settled {
    let what = match action {
        "finished" => "An interrupted transaction had been recorded; it was finished.",
        "taken_back" => "An interrupted transaction had not been recorded; it was taken back.",
        _ => {
            "The machine was restarted before everything was on disk; it was brought forward again."
        }
    };
    let mut detail = what.to_owned();
    if !left.is_empty() {
        detail.push_str(" Files that hold neither the old nor the new bytes are someone's work and were left alone.");
    }
    let names = |paths: &[RepoPath]| paths.iter().map(ToString::to_string).collect();
    let commit = record.branch.new.oid().map(|oid: Oid| oid.to_string());
    Settled { action, commit, files: names(files), left: names(left), detail }
}
