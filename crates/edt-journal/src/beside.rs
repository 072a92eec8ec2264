//! Files that are staged in the worktree, because their directory is on another mount than edt's own.
//! Their paths are noted before the first is written: until all are staged, no record names them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::log::Pending;
use super::record::{FileRecord, Record};
use super::sweep::names_of;
use edt_git::Repo;
use edt_io::disk::Parent;
use edt_io::{failed, fs};
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
    if records.iter().any(is_noted) {
        // `remove` would find that a record names them.
        let _ = fs::remove_file(&place(repo));
    }
}

/// Removes the noted files that no record of `pending` names: they were never exchanged with a
/// user's.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the next call tries again.
pub(super) fn remove(repo: &Repo, pending: &Pending) -> Result<()> {
    let place = place(repo);
    let Some(note) = fs::read_small(&place, MAX_NOTE) else { return Ok(()) };
    let records: Vec<&Record> = match pending {
        Pending::Nothing => Vec::new(),
        Pending::Interrupted(_, record) => vec![record],
        Pending::AfterRestart(records, _) => records.iter().map(|(_, record)| record).collect(),
        // A lost record may name them.
        Pending::Quarantined(_) | Pending::Missing | Pending::Torn => {
            return removed(&place);
        }
    };
    let recorded: HashSet<&[u8]> =
        records.into_iter().flat_map(names_of).map(str::as_bytes).collect();
    // What follows the last separator was torn by a power cut.
    let paths = note.split_inclusive(|byte| *byte == 0).filter_map(|path| path.strip_suffix(&[0]));
    for path in paths.map(RepoPath::from_tree) {
        let (directory, name) = path.split();
        let is_staged = name.starts_with(b".edt-") && name.ends_with(b".tmp");
        if is_staged
            && !recorded.contains(name)
            && let Ok(Parent::Open(dir)) = repo.root().beneath(directory)
        {
            dir.unlink(name).map_err(|error| failed("remove", &place, &error))?;
            repo.root().remove_empty_beneath(directory);
        }
    }
    removed(&place)
}

fn removed(place: &Path) -> Result<()> {
    fs::remove_file(place).map_err(|error| failed("remove", place, &error).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, record_of_files};

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
            remove(&repo, &pending).unwrap();
            let is_left = scratch.text(&staged).is_some();
            assert_eq!(is_left, is_recorded || !is_readable, "{pending:?}");
            assert!(!place(&repo).exists());
        }
    }
}
