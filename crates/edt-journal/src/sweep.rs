//! Removes staged files that no transaction needs: a call was killed before its record was
//! complete.
//!
//! Recovery handles each staged file that a record names, so a file that no record names was never
//! exchanged with a user's. One that a record names and that is still there was displaced, and
//! could not be restored or kept when it was: it is kept now. A journal forgets its records only
//! after this, so that none of them is taken for the other later.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::open_mark::{self, is_mark};
use super::record::Record;
use edt_io::{failed, fs};
use edt_types::Result;

/// The files in edt's directory `state` that have the name of a transaction's staged file, or of its
/// mark. While no transaction is open and the worktree's lock is held, none of them is needed.
#[must_use]
pub fn staged_files(state: &Path) -> Vec<PathBuf> {
    let stage = state.join("stage");
    let mut names = fs::names_in(&stage);
    names.retain(|name| is_staged_name(name.as_bytes()) || is_mark(name.as_bytes()));
    names.sort();
    names.into_iter().map(|name| stage.join(name)).collect()
}

/// Whether it is `<process>-<commit>-<number>`, as a transaction names what it stages.
pub(super) fn is_staged_name(name: &[u8]) -> bool {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'-').collect();
    let is_hex = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
    matches!(&parts[..], [process, commit, number] if is_hex(process)
        && commit.len() == 8
        && is_hex(commit)
        && !number.is_empty()
        && number.iter().all(u8::is_ascii_digit))
}

/// The names that a record stages files under.
pub(super) fn names_of(record: &Record) -> impl Iterator<Item = &str> {
    let files = match record {
        Record::ChangeSet(record) => &record.files[..],
        Record::RolledBack(_) | Record::Deletion(_) => &[],
    };
    files.iter().map(|file| file.stage.as_str())
}

/// Removes the staged files in `state` that none of the records names, and keeps the others under a
/// name that nothing overwrites. `current` is about to be recorded: its files stay, as do marks of
/// recorded transactions, whose recovery may not be complete.
///
/// # Errors
/// `IO_ERROR`: a file could not be kept.
pub(super) fn sweep(
    state: &Path,
    records: impl FnOnce() -> Result<Vec<Record>>,
    current: Option<&Record>,
) -> Result<()> {
    let mut files = staged_files(state);
    let named = |path: &Path, record: &Record| {
        path.file_name().is_some_and(|name| names_of(record).any(|staged| name == staged))
    };
    files.retain(|path| {
        !current.is_some_and(|record| {
            named(path, record) || open_mark::of(record).is_some_and(|mark| path.ends_with(mark))
        })
    });
    if files.is_empty() {
        return Ok(());
    }
    let records = records()?;
    let recorded: HashSet<&str> = records.iter().flat_map(names_of).collect();
    let marks: HashSet<String> = records.iter().filter_map(open_mark::of).collect();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if marks.contains(&*name) {
            continue;
        }
        if recorded.contains(&*name) {
            keep(&path)?;
        } else {
            // The next checkpoint tries again.
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Renames a file that may have a user's only copy, as a rollback does.
pub(super) fn keep(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kept = path.with_file_name(format!("kept-{name}"));
    let mut moved = fs::rename_no_replace(path, &kept);
    for number in 1..1000 {
        if !moved.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
            break;
        }
        let kept = path.with_file_name(format!("kept-{name}.{number}"));
        moved = fs::rename_no_replace(path, &kept);
    }
    moved.map_err(|error| failed("keep", path, &error).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::publish;
    use crate::tests::Scratch;

    #[test]
    fn only_names_of_transactions_are_staged_names() {
        let is = |name: &str| is_staged_name(name.as_bytes());
        assert!(is("1f-0123abcd-0") && is("1-89abcdef-12"));
        for other in ["index", "index.own", "index.before", "kept-1f-0123abcd-0", "1f-0123abc-0"] {
            assert!(!is(other), "{other}");
        }
        assert!(!is("1f-0123abcd-x") && !is("1f-0123abcd-") && !is("-0123abcd-0"));
    }

    #[test]
    fn a_checkpoint_removes_what_no_record_names_and_keeps_the_rest() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let mut journal = scratch.journal(&repo);
        let change = scratch.change(&repo, &[("a.txt", Some("two\n"))]);
        let commit = change.branch.new.to_hex_with_len(8).to_string();
        let own = format!("{:x}-{commit}-0", edt_io::process::process_id());
        publish(&repo, &mut journal, change).unwrap();
        let stage = repo.state_path().join("stage");
        std::fs::write(stage.join(&own), "a user's\n").unwrap();
        std::fs::write(stage.join(format!("kept-{own}")), "an earlier one\n").unwrap();
        std::fs::write(stage.join("1f-0123abcd-0"), "an agent's\n").unwrap();
        journal.checkpoint().unwrap();
        assert_eq!(staged_files(repo.state_path()), Vec::<PathBuf>::new());
        let kept = std::fs::read_to_string(stage.join(format!("kept-{own}.1"))).unwrap();
        assert_eq!(kept, "a user's\n");
    }

    #[test]
    fn what_is_about_to_be_recorded_stays() {
        let scratch = Scratch::new();
        let repo = scratch.repo();
        let path = repo.state_path().join("stage/1f-0123abcd-0");
        let change = scratch.change(&repo, &[("a.txt", Some("two\n"))]);
        let mut files = scratch.interrupt(&repo, &change);
        files[0].stage = "1f-0123abcd-0".to_owned();
        std::fs::write(&path, "two\n").unwrap();
        let mut record = crate::tests::record_of_files(files);
        sweep(repo.state_path(), || Ok(Vec::new()), Some(&record)).unwrap();
        assert!(path.exists());
        record = Record::RolledBack(1);
        sweep(repo.state_path(), || Ok(Vec::new()), Some(&record)).unwrap();
        assert!(!path.exists());
    }
}
