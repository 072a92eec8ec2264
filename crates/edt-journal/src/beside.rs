//! Files that are staged in the worktree, because their directory is on another mount than edt's own.
//! Their paths are noted before the first is written: until all are staged, no record names them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::log::Pending;
use super::record::{FileRecord, Record};
use super::sweep::{is_staged_name, names_of};
use edt_git::Repo;
use edt_io::disk::{Parent, Stat};
use edt_io::{failed, fs, permanent_as_none};
use edt_types::{RepoPath, Result};

/// The name of the note in edt's directory of the worktree.
pub(super) const NOTE: &str = "beside";
const MAX_NOTE: u64 = 64 << 20;

fn place(repo: &Repo) -> PathBuf {
    repo.state_path().join(NOTE)
}

fn is_noted(record: &FileRecord) -> bool {
    record.beside && record.new.is_some()
}

/// Notes the files of `records` that will be staged in the worktree.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub(super) fn note(repo: &Repo, records: &[FileRecord]) -> Result<()> {
    if !records.iter().any(is_noted) {
        return Ok(());
    }
    let mut paths = Vec::new();
    for record in records.iter().filter(|record| is_noted(record)) {
        let path = RepoPath::from_tree(&record.path);
        let directory = path.split().0;
        paths.extend_from_slice(directory);
        paths.extend_from_slice(if directory.is_empty() { b"" } else { b"/" });
        paths.extend_from_slice(record.stage.as_bytes());
        paths.push(0);
    }
    let place = place(repo);
    fs::write_atomic(&place, &paths, 0o666).map_err(|error| failed("write", &place, &error).into())
}

/// Forgets the note: the journal has a record with these files.
pub(super) fn forget(repo: &Repo, records: &[FileRecord]) {
    let place = place(repo);
    // A note that stays must not name files that a later record displaced.
    if records.iter().any(is_noted) && fs::remove_file(&place).is_err() {
        let _ = fs::write_in_place(&place, b"");
    }
}

/// Removes the noted files that no record of `pending` names: they were never exchanged with a
/// user's. What cannot be removed stays, and blocks no call.
pub(super) fn remove(repo: &Repo, pending: &Pending) {
    let place = place(repo);
    let Some(note) = fs::read_small(&place, MAX_NOTE) else { return };
    let records: Vec<&Record> = match pending {
        Pending::Nothing => Vec::new(),
        Pending::Interrupted(_, record) => vec![record],
        Pending::AfterRestart(records, _) => records.iter().map(|(_, record)| record).collect(),
        // A lost record may name them.
        Pending::Quarantined(_) | Pending::Missing | Pending::Torn => {
            let _ = fs::remove_file(&place);
            return;
        }
    };
    let recorded: HashSet<&[u8]> =
        records.into_iter().flat_map(names_of).map(str::as_bytes).collect();
    // What follows the last separator was torn by a power cut.
    let paths = note.split_inclusive(|byte| *byte == 0).filter_map(|path| path.strip_suffix(&[0]));
    let mut is_done = true;
    for path in paths.map(RepoPath::from_tree) {
        let (directory, name) = path.split();
        if is_staged(name) && !is_in_git_dir(directory) && !recorded.contains(name) {
            is_done &= permanent_as_none(remove_one(repo, directory, name)).is_ok();
        }
    }
    if is_done {
        let _ = fs::remove_file(&place);
    }
}

/// Removes the staged file, and directories that are empty without it.
fn remove_one(repo: &Repo, directory: &[u8], name: &[u8]) -> Result<()> {
    let fail = |error: std::io::Error| {
        let path =
            repo.root_path().join(OsStr::from_bytes(directory)).join(OsStr::from_bytes(name));
        failed("remove", &path, &error)
    };
    let Parent::Open(dir) = repo.root().beneath(directory).map_err(fail)? else { return Ok(()) };
    let is_file = |stat: Stat| !stat.is_directory() && !stat.is_special() && !stat.is_symlink();
    if dir.stat(name).map_err(fail)?.is_some_and(is_file) {
        dir.unlink(name).map_err(fail)?;
        repo.root().remove_empty_beneath(directory);
    }
    Ok(())
}

/// Whether edt names what it stages in the worktree so.
fn is_staged(name: &[u8]) -> bool {
    let inner = name.strip_prefix(b".edt-").and_then(|rest| rest.strip_suffix(b".tmp"));
    inner.is_some_and(is_staged_name)
}

fn is_in_git_dir(directory: &[u8]) -> bool {
    directory.split(|byte| *byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, record_of_files};

    #[test]
    fn what_edt_did_not_stage_stays() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        std::fs::create_dir_all(scratch.root().join("u/v/.edt-1f-0123abcd-1.tmp")).unwrap();
        std::fs::create_dir_all(scratch.root().join("empty")).unwrap();
        scratch.write(".edt-notes.tmp", "mine\n");
        let note = b".edt-notes.tmp\0u/v/.edt-1f-0123abcd-1.tmp\0empty/.edt-1f-0123abcd-2.tmp\0";
        std::fs::write(place(&repo), note).unwrap();
        remove(&repo, &Pending::Nothing);
        assert_eq!(scratch.text(".edt-notes.tmp").as_deref(), Some("mine\n"));
        assert!(scratch.root().join("u/v/.edt-1f-0123abcd-1.tmp").exists());
        assert!(scratch.root().join("empty").exists());
        assert!(!place(&repo).exists());
    }

    #[test]
    fn only_files_that_no_record_names_are_removed() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let change = scratch.change(&repo, &[("a.txt", Some("two\n"))]);
        let mut files = scratch.interrupt(&repo, &change);
        (files[0].beside, files[0].stage) = (true, ".edt-1f-0123abcd-0.tmp".to_owned());
        let staged = files[0].stage.clone();
        for (is_recorded, is_readable) in [(true, true), (false, false), (false, true)] {
            scratch.write(&staged, "two\n");
            note(&repo, &files).unwrap();
            let pending = match (is_recorded, is_readable) {
                (true, _) => Pending::Interrupted(1, record_of_files(files.clone())),
                (_, true) => Pending::Nothing,
                (_, false) => Pending::Torn,
            };
            remove(&repo, &pending);
            let is_left = scratch.text(&staged).is_some();
            assert_eq!(is_left, is_recorded || !is_readable, "{pending:?}");
            assert!(!place(&repo).exists());
        }
    }
}
