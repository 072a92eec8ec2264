//! An empty file that exists from before a transaction changes anything until after it ended. After
//! an orderly restart of the machine it shows that the call was killed.

use super::files::StagingArea;
use super::record::Record;
use super::sweep::staged_files;
use edt_git::Oid;
use edt_io::disk::Perms;
use edt_io::{failed, fs};
use edt_types::Result;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The name of the mark of the transaction that makes `commit`, in the directory for staged files.
pub(super) fn name(commit: Oid) -> String {
    format!("open-{}", commit.to_hex_with_len(8))
}

/// The name of the mark of a recorded transaction.
pub(super) fn of(record: &Record) -> Option<String> {
    match record {
        Record::ChangeSet(record) => record.branch.new.oid().map(name),
        Record::RolledBack(_) | Record::Deletion(_) => None,
    }
}

/// Whether a file may have such a name.
pub(super) fn is_mark(name: &[u8]) -> bool {
    let commit = name.strip_prefix(b"open-");
    commit.is_some_and(|hex| hex.len() == 8 && hex.iter().all(u8::is_ascii_hexdigit))
}

/// Marks the transaction that makes `commit` as open.
///
/// # Errors
/// `IO_ERROR` and others of the disk.
pub(super) fn make(stage: &StagingArea<'_>, commit: Oid) -> Result<()> {
    let name = name(commit);
    let path = || stage.repo.state_path().join("stage").join(&name);
    let made = stage.dir.write_staged(name.as_bytes(), b"", Perms::Usual { executable: false });
    made.map(drop).map_err(|error| failed("write", &path(), &error).into())
}

/// Whether the transaction that makes `commit` is marked.
pub(super) fn is_there(stage: &StagingArea<'_>, commit: Oid) -> bool {
    stage.dir.stat(name(commit).as_bytes()).is_ok_and(|mark| mark.is_some())
}

/// Removes the mark. One that stays is removed by a later checkpoint.
pub(super) fn remove(stage: &StagingArea<'_>, commit: Oid) {
    let _ = stage.dir.unlink(name(commit).as_bytes());
}

/// Removes all marks. No transaction may be open.
pub(super) fn remove_all(state: &Path) {
    for path in staged_files(state) {
        if path.file_name().is_some_and(|name| is_mark(name.as_bytes())) {
            let _ = fs::remove_file(&path);
        }
    }
}
