//! Whether a restart of the machine was a power cut, in which something may be lost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::files::StagingArea;
use super::path_history::{PathHistory, directory_changed};
use super::record::{FileRecord, Record};
use super::restart::Recorded;
use super::restart_index;
use edt_git::Repo;
use edt_io::{failed, fs, permanent_as_none};
use edt_types::Result;

/// Whether something may be lost. `lacks_objects`: whether HEAD did, which Git does not remove. The
/// repairs remove what shows a loss, and the recovery may be killed, so a file notes it for the next
/// one.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn was_cut(
    repo: &Repo,
    stage: &StagingArea<'_>,
    changes: &[Recorded],
    records: &[(u64, Record)],
    closed: u64,
    lacks_objects: bool,
) -> Result<bool> {
    // An orderly shutdown closes and syncs every record. The header may be there all the same.
    let Some((last, _)) = records.last().filter(|(number, _)| *number < closed) else {
        return Ok(true);
    };
    // A note that outlived its recovery is of earlier records.
    let (note, last) = (note(repo), last.to_string());
    if fs::read_one_block(&note).is_ok_and(|noted| noted == last) {
        return Ok(true);
    }
    let was_cut = lacks_objects || is_a_move_lost(repo, stage, changes)?;
    if was_cut {
        fs::write_atomic(&note, last.as_bytes(), 0o600)
            .map_err(|error| failed("write", &note, &error))?;
    }
    Ok(was_cut)
}

/// Removes the note.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn forget(repo: &Repo) -> Result<()> {
    let note = note(repo);
    if note.exists() {
        fs::remove_file(&note).map_err(|error| failed("remove", &note, &error))?;
    }
    Ok(())
}

fn note(repo: &Repo) -> PathBuf {
    repo.state_path().join("cut")
}

/// Whether a path or the index has what only a power failure leaves: a file that a finished
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
    restart_index::is_a_replaced_one(repo, changes.iter().map(|(record, ..)| record))
}
