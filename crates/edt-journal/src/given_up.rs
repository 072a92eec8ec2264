//! After a restart of the machine: whether the last transaction, which was not answered, is given up
//! because the user went on without it.

use super::files::{StagingArea, TargetState};
use super::log::Journal;
use super::open_mark;
use super::path_history::PathHistory;
use super::pointers::BranchUpdate;
use super::record::{ChangeRecord, FileRecord};
use super::recovery_steps::{follows_head, is_in_head, was_in_head, was_left};
use super::restart::Recorded;
use super::restart_refs::{drop_created, has_session, in_branches, landed};
use edt_git::Repo;
use edt_git::reflog::LoggedMove;
use edt_io::permanent_as_none;
use edt_types::Result;

/// Takes from `changes` the last transaction, if it moves HEAD, was killed before its decision, and
/// the user then put files of it back. Transactions below `closed` were answered; one that moves HEAD
/// is on disk before the answer.
pub(super) fn give_up_put_back(
    repo: &Repo,
    stage: &StagingArea<'_>,
    changes: &mut Vec<Recorded>,
    closed: u64,
) -> Result<Option<Recorded>> {
    let Some((record, branch, number)) = changes.last() else { return Ok(None) };
    if closed == 0
        || *number < closed
        || branch.head_from.is_none()
        || is_decided(repo, record, branch)?
    {
        return Ok(None);
    }
    for file in &record.files {
        if permanent_as_none(was_put_back(repo, stage, changes, file))? == Some(true) {
            return take_last(repo, changes);
        }
    }
    Ok(None)
}

/// Whether the branch has the commit, or HEAD is there if the branch stays.
fn is_decided(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<bool> {
    if branch.stays() {
        return is_in_head(repo, record, branch);
    }
    Ok(permanent_as_none(repo.ref_value(&branch.name))?.flatten() == Some(branch.new))
}

/// Whether the file is none that a transaction found, and does not have the new content.
fn was_put_back(
    repo: &Repo,
    stage: &StagingArea<'_>,
    changes: &[Recorded],
    file: &FileRecord,
) -> Result<bool> {
    if stage.target_state(file)? == TargetState::New {
        return Ok(false);
    }
    let mut history = PathHistory::default();
    let all = changes.iter().flat_map(|(record, ..)| &record.files);
    all.filter(|other| other.path == file.path).for_each(|other| history.add(other, false));
    Ok(match stage.stat(file) {
        Some(here) => !history.holds(repo, stage, file, &here),
        None => !history.nothing,
    })
}

/// Whether the last transaction was killed, unless a power cut lost the removal of its mark.
pub(super) fn was_killed(stage: &StagingArea<'_>, changes: &[Recorded]) -> bool {
    changes.last().is_some_and(|(_, branch, _)| open_mark::is_there(stage, branch.new))
}

/// Takes from `changes` the last transaction, if it was not answered and cannot be completed: the
/// user moved HEAD or the branch meanwhile. Its files get their old content where HEAD has it. If its
/// branch moved, the transaction stays in `changes` without its files and index entries.
pub(super) fn give_up_last(
    repo: &Repo,
    changes: &mut Vec<Recorded>,
    journal: &Journal,
    closed: u64,
    was_cut: bool,
    was_killed: bool,
) -> Result<Option<Recorded>> {
    let Some((record, branch, number)) = changes.last() else { return Ok(None) };
    if *number < closed {
        return Ok(None);
    }
    if follows_head(repo, record, branch, journal, was_cut)? {
        // If more than one is not known to be closed, a power cut lost the header: the last one may
        // have been answered.
        return if was_killed && *number == closed && !was_made(repo, changes)? {
            take_last(repo, changes)
        } else {
            Ok(None)
        };
    }
    match was_in_head(repo, record, branch)? {
        Some(true) => return Ok(None),
        // Without a header it may have been answered.
        None if closed == 0 => return Ok(None),
        _ => {}
    }
    if branch.stays() || repo.ref_value(&branch.name)?.is_none() {
        return take_last(repo, changes);
    }
    let given_up = changes.last().cloned();
    if let Some((record, ..)) = changes.last_mut() {
        record.files.clear();
        record.entries.clear();
    }
    Ok(given_up)
}

/// Whether the branch has the commit of the last transaction, or a log shows that it had.
fn was_made(repo: &Repo, changes: &[Recorded]) -> Result<bool> {
    let Some((record, branch, number)) = changes.last() else { return Ok(false) };
    if in_branches(repo, changes)?.last().is_some_and(|(.., last)| last == number) {
        return Ok(true);
    }
    let made = (branch.start(), branch.new);
    let is_it = |line: &LoggedMove| (line.from, line.to) == made && line.time >= record.time;
    let has_line = |name: &str| repo.logged_moves(name).iter().any(is_it);
    Ok(made.0 != made.1 && (has_line(&branch.name) || has_line("HEAD"))
        || was_left(repo, record, branch)?)
}

/// Whether the branch that HEAD was to leave has all commits of the refs that were created.
fn has_all(repo: &Repo, record: &ChangeRecord, branch: &BranchUpdate) -> Result<bool> {
    let left = branch.head_from.as_deref().filter(|left| left.starts_with("refs/"));
    let left = left.map(|left| repo.ref_value(left)).transpose()?.flatten();
    Ok(left.is_some_and(|left| {
        let mut all = record.create.iter().map(|(_, to)| to.oid());
        all.all(|to| to.is_some_and(|to| repo.is_ancestor(to, left).unwrap_or(false)))
    }))
}

fn take_last(repo: &Repo, changes: &mut Vec<Recorded>) -> Result<Option<Recorded>> {
    let Some(given_up) = changes.pop() else { return Ok(None) };
    let (record, branch, _) = &given_up;
    let is_needed = match landed(record) {
        Some((name, _)) => !has_session(repo, name)?,
        // The only ref of abandoned work may be one of them.
        None => branch.stays() && !has_all(repo, record, branch)?,
    };
    if !is_needed {
        drop_created(repo, &given_up, changes)?;
    }
    Ok(Some(given_up))
}
