//! Recovery: finishes or rolls back the transaction that a crash interrupted. Recovery itself may
//! be killed at any point and run again.
//!
//! In one boot there is at most one open transaction, and its branch decides: if the branch has the
//! new commit or a descendant of it, the transaction is finished, otherwise rolled back.
//! [`restart`] recovers from a restart of the machine.

use super::files::{StagingArea, TargetState};
use super::index;
use super::log::{Journal, Pending};
use super::pointers::{BranchOrigin, BranchUpdate};
use super::record::{ChangeRecord, FileRecord, Record};
use super::recovery_steps::{follow_refs, install, report};
use super::rollback::Rollback;
use super::{restart, restart_index};
use edt_git::objects::ObjectCheck;
use edt_git::{Repo, objects};
use edt_io::permanent_as_none;
use edt_types::{Recovered, RepoPath, Result};

/// Opens the journal and recovers what it has pending. `pointer`: see [`Journal::pointer`].
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`, `OBJECT_MISSING`: nothing is lost, and the next call tries
/// again.
pub fn open_recovered(repo: &Repo, pointer: &'static str) -> Result<(Journal, Option<Recovered>)> {
    let directory = repo.state_path();
    if !directory.is_dir() {
        edt_io::fs::make_dir(directory)
            .map_err(|error| edt_io::failed("make", directory, &error))?;
    }
    let (mut journal, pending) = Journal::open(directory, repo.root_path(), pointer)?;
    let recovered = match pending {
        Pending::Nothing => None,
        Pending::Interrupted(_, Record::RolledBack(_)) => {
            journal.close()?;
            None
        }
        Pending::Interrupted(number, Record::ChangeSet(record)) => {
            Some(recover_one(repo, &mut journal, number, &record)?)
        }
        Pending::AfterRestart(records) => restart::recover_all(repo, &mut journal, &records)?,
        Pending::Quarantined(path) => Some(Recovered {
            action: "quarantined",
            commit: None,
            files: Vec::new(),
            left: Vec::new(),
            detail: format!(
                "The journal could not be read and was renamed to {}. No file was changed.",
                path.display()
            ),
        }),
    };
    Ok((journal, recovered))
}

fn recover_one(
    repo: &Repo,
    journal: &mut Journal,
    number: u64,
    record: &ChangeRecord,
) -> Result<Recovered> {
    let Some(branch) = record.branch.branch() else { return Ok(unreadable()) };
    let committed = match (repo.ref_value(&branch.name)?, branch.from) {
        (None, _) => false,
        _ if branch.stays() => repo.head_target()? != branch.head_from,
        (Some(current), _) if current == branch.new => true,
        // An undo moves back. A branch that still contains the undone commit has not moved.
        (Some(current), BranchOrigin::Rewound(old)) => {
            !repo.is_ancestor(old, current)? && repo.is_ancestor(branch.new, current)?
        }
        (Some(current), _) => repo.is_ancestor(branch.new, current)?,
    };
    let stage = StagingArea::open(repo)?;
    if committed && branch.old() != Some(branch.new) {
        index::rename_own_in(repo, &stage)?;
    }
    unlock(repo, &stage, record, &branch)?;
    let recovered = if committed {
        finish(repo, record, &branch, journal.pointer())?
    } else {
        roll_back(repo, record)?
    };
    if !committed {
        journal.append(&Record::RolledBack(number))?;
    }
    journal.finish(committed && (branch.must_be_synced() || !record.drop.is_empty()))?;
    Ok(recovered)
}

/// Removes the lock files that edt created in Git's directory to move `branch`, and no others.
fn unlock(
    repo: &Repo,
    stage: &StagingArea<'_>,
    record: &ChangeRecord,
    branch: &BranchUpdate,
) -> Result<()> {
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

/// Completes everything that `record` describes.
fn finish(
    repo: &Repo,
    record: &ChangeRecord,
    branch: &BranchUpdate,
    pointer: &str,
) -> Result<Recovered> {
    objects::write_missing(repo.objects_dir(), &record.loose(), ObjectCheck::Bytes)?;
    // If the branch does not move, the transaction counts as committed from the start. Its refs may
    // still be missing.
    for (name, id) in &record.create {
        if let Some(to) = id.oid()
            && repo.ref_value(name)?.is_none()
        {
            repo.create_ref(name, to)?;
        }
    }
    let stage = StagingArea::open(repo)?;
    let (mut files, mut left) = (Vec::new(), Vec::new());
    for file in &record.files {
        let path = RepoPath::from_tree(&file.path);
        // A failure that may be transient is left to the next call. Only a permanent failure must
        // not block the other files.
        let done = match permanent_as_none(stage.target_state(file))? {
            Some(TargetState::New) => true,
            Some(TargetState::Old(_)) => permanent_as_none(install(repo, &stage, file))?.is_some(),
            Some(TargetState::Other) | None => false,
        };
        if done {
            files.push(path);
        } else {
            left.push(path);
        }
        if permanent_as_none(stage.discard_known(file))?.is_none() {
            left.push(RepoPath::from_tree(&file.path));
        }
    }
    follow_refs(repo, record, branch, pointer)?;
    restart_index::move_entries(repo, &StagingArea::open(repo)?, &[record], &[record])?;
    Ok(report("finished", record, &files, &left))
}

/// Restores the old content of the files. The refs never moved.
fn roll_back(repo: &Repo, record: &ChangeRecord) -> Result<Recovered> {
    let stage = StagingArea::open(repo)?;
    let (mut files, mut left) = (Vec::new(), Vec::new());
    for file in record.files.iter().rev() {
        let path = RepoPath::from_tree(&file.path);
        let untouched = matches!(stage.target_state(file), Ok(TargetState::Old(_)));
        // One file that cannot be restored must not block the others, or every later call. A full
        // or failing disk is different: it may be repaired.
        let restored = match permanent_as_none(stage.roll_back(file))? {
            Some(Rollback::Restored) => true,
            Some(Rollback::FromBlob) => {
                permanent_as_none(restore_from_blob(repo, &stage, file))?.is_some()
            }
            Some(Rollback::Left) | None => false,
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
    Ok(report("rolled_back", record, &files, &left))
}

/// Restores the old bytes from their blob. The displaced file is no longer staged.
fn restore_from_blob(repo: &Repo, stage: &StagingArea<'_>, file: &FileRecord) -> Result<()> {
    let mut reverse = file.clone();
    reverse.old = match (&file.new, stage.stat(file)) {
        (Some((id, executable)), Some(stat)) => Some((id.clone(), *executable, stat)),
        _ => None,
    };
    reverse.new = file.old.as_ref().map(|(id, executable, _)| (id.clone(), *executable));
    install(repo, stage, &reverse)
}

/// A record without a commit was not written by this version of edt.
fn unreadable() -> Recovered {
    Recovered {
        action: "left",
        commit: None,
        files: Vec::new(),
        left: Vec::new(),
        detail: "The journal's last record could not be read. No file was changed.".to_owned(),
    }
}
