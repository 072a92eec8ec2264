//! Whether a restart of the machine was a power cut, in which something may be lost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::files::StagingArea;
use super::path_history::{PathHistory, directory_changed};
use super::record::{FileRecord, Record};
use super::restart::Recorded;
use super::restart_index;
use edt_git::{InHead, Repo};
use edt_io::{failed, file, fs, permanent_as_none};
use edt_types::Result;

/// Whether something may be lost. The repairs remove what shows a loss, and the recovery may be
/// killed, so a file notes it for the next one.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn was_cut(
    repo: &Repo,
    stage: &StagingArea<'_>,
    changes: &[Recorded],
    records: &[(u64, Record)],
    closed: u64,
) -> Result<bool> {
    // An orderly shutdown closes and syncs every record. The header may be there all the same.
    if records.last().is_none_or(|(number, _)| *number >= closed) || is_noted(repo, records) {
        return Ok(true);
    }
    let was_cut = is_a_move_lost(repo, stage, changes)?;
    if was_cut {
        note(repo, records)?;
    }
    Ok(was_cut)
}

/// Notes that something was lost. The note is durable before what shows the loss is repaired.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn note(repo: &Repo, records: &[(u64, Record)]) -> Result<()> {
    let (path, text) = (path(repo), last_number(records));
    if !is_noted(repo, records) {
        fs::write_atomic(&path, text.as_bytes(), 0o600)
            .map_err(|error| failed("write", &path, &error))?;
    }
    file::sync(&path)
        .and_then(|()| file::sync(repo.state_path()))
        .map_err(|error| failed("sync", &path, &error).into())
}

/// Whether there is a note. One that outlived its recovery is of earlier records.
fn is_noted(repo: &Repo, records: &[(u64, Record)]) -> bool {
    fs::read_one_block(&path(repo)).is_ok_and(|noted| noted == last_number(records))
}

fn last_number(records: &[(u64, Record)]) -> String {
    records.last().map(|(number, _)| number.to_string()).unwrap_or_default()
}

/// Removes the note.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn forget(repo: &Repo) -> Result<()> {
    let note = path(repo);
    if note.exists() {
        fs::remove_file(&note).map_err(|error| failed("remove", &note, &error))?;
    }
    Ok(())
}

fn path(repo: &Repo) -> PathBuf {
    repo.state_path().join("cut")
}

/// Whether a path, the index or a log has what only a power failure leaves: a file that a finished
/// transaction replaced, a torn one, or none where one was created and its directory is older.
fn is_a_move_lost(repo: &Repo, stage: &StagingArea<'_>, changes: &[Recorded]) -> Result<bool> {
    let is_file = |file: &FileRecord| {
        let mut history = PathHistory::default();
        history.add(file, false);
        stage.stat(file).is_some_and(|here| history.holds(repo, stage, file, &here))
    };
    if changes.iter().flat_map(|(record, ..)| &record.files).any(is_file) {
        return Ok(true);
    }
    let all = changes.iter().flat_map(|(record, ..)| &record.files);
    let last: BTreeMap<&[u8], &FileRecord> = all.map(|file| (&*file.path, file)).collect();
    let created = last.into_values().filter(|file| {
        file.old.is_none() && file.new.is_some() && !file.beside && stage.stat(file).is_none()
    });
    for file in created {
        // The time of a directory can be set, but not when that was done.
        if let Some(staged) = file.staged
            && permanent_as_none(directory_changed(repo, file))?
                .is_some_and(|(mtime, ctime)| mtime.max(ctime) <= staged.ctime)
        {
            return Ok(true);
        }
    }
    Ok(is_line_lost(repo, changes)
        || restart_index::is_a_replaced_one(repo, changes.iter().map(|(record, ..)| record))?)
}

/// Whether the log of HEAD ends with the last move of the branch, which the branch's own log lacks.
fn is_line_lost(repo: &Repo, changes: &[Recorded]) -> bool {
    let Some((record, branch, _)) = changes.last() else { return false };
    let made = (branch.start(), branch.new);
    let logs_both = branch.head == InHead::Yes && record.head_to.is_none() && made.0 != made.1;
    let has_line = || {
        let moves = repo.logged_moves(&branch.name);
        moves.is_empty() || moves.iter().any(|line| (line.from, line.to) == made)
    };
    logs_both
        && repo.last_move("HEAD").is_some_and(|last| (last.from, last.to) == made)
        && !has_line()
}
