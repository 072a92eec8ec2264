//! The only door to the operating system: files beneath a root, locks, the clock, programs.

pub mod abilities;
pub mod bounded;
pub mod clock;
pub mod dialogue;
pub mod disk;
pub mod effect;
pub mod fifos;
pub mod file;
pub mod folder;
pub mod lock;
pub mod once;
pub mod programs;
pub mod scratch;
pub mod spawn;
pub mod stat;
mod strays;
pub mod streams;
pub mod terminal;
pub mod whole;

use std::path::Path;

use crate::base::{Code, Finding, Findings, Result};

/// A failed call in words: what was tried, on which path, what the system said.
#[must_use]
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> Finding {
    let read_only = matches!(
        error.raw_os_error(),
        Some(libc_errno::EROFS | libc_errno::EACCES | libc_errno::EPERM)
    );
    let git_dir = path.components().any(|part| part.as_os_str() == ".git");
    if read_only && git_dir {
        return Finding::new(
            Code::GitDirReadOnly,
            format!(
                "Could not {what} {}: {error}. The Git folder cannot be written from here.",
                path.display()
            ),
            "If a sandbox protects .git, call edt from outside it (its MCP server or hook); else make the folder writable for this user.",
        );
    }
    let finding = Finding::new(
        Code::IoError,
        format!("Could not {what} {}: {error}.", path.display()),
        "Mend what the system reports (space, permissions), then repeat the call; `edt status` settles anything left unfinished.",
    );
    match error.raw_os_error() {
        Some(number) => finding.with("errno", number),
        None => finding,
    }
}

/// Whether the medium or the machine failed, not what somebody made of the file: it may go well the next time.
#[must_use]
pub fn may_go_well_later(found: &Findings) -> bool {
    use libc_errno::LATER;
    let number =
        |finding: &Finding| finding.evidence.get("errno").and_then(serde_json::Value::as_i64);
    let later = |number| LATER.iter().any(|later| i64::from(*later) == number);
    found.any(|finding| finding.code == Code::GitDirReadOnly || number(finding).is_some_and(later))
}

/// What came of `done`; `None` where it failed for good, so that it must not keep the rest from going on.
///
/// # Errors
/// What failed and [may go well later](may_go_well_later).
pub fn for_good<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if may_go_well_later(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The error numbers told apart here.
mod libc_errno {
    use rustix::io::Errno;
    pub(super) const EROFS: i32 = Errno::ROFS.raw_os_error();
    pub(super) const EACCES: i32 = Errno::ACCESS.raw_os_error();
    pub(super) const EPERM: i32 = Errno::PERM.raw_os_error();
    const IO: i32 = Errno::IO.raw_os_error();
    const NOSPC: i32 = Errno::NOSPC.raw_os_error();
    const DQUOT: i32 = Errno::DQUOT.raw_os_error();
    const NFILE: i32 = Errno::NFILE.raw_os_error();
    const MFILE: i32 = Errno::MFILE.raw_os_error();
    const NOMEM: i32 = Errno::NOMEM.raw_os_error();
    pub(super) const LATER: [i32; 7] = [IO, NOSPC, DQUOT, NFILE, MFILE, NOMEM, EROFS];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(number: i32, path: &str) -> Result<Option<()>> {
        for_good(Err(
            failed("write", Path::new(path), &std::io::Error::from_raw_os_error(number)).into()
        ))
    }

    #[test]
    fn a_full_disk_is_waited_for_and_a_file_that_may_not_be_written_is_not() {
        let (io, full, denied) = (5, 28, libc_errno::EACCES);
        assert!(
            answered(io, "a").is_err()
                && answered(full, "a").is_err()
                && answered(libc_errno::EROFS, "a").is_err()
        );
        assert_eq!(answered(denied, "a"), Ok(None));
        assert!(
            answered(denied, ".git/x").is_err(),
            "the whole Git folder, which the journal lies in"
        );
        assert_eq!(for_good(Ok(1)), Ok(Some(1)));
    }
}
