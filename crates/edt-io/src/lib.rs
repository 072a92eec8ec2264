//! Access to the operating system: files beneath a root, locks, the clock, programs.

pub mod account;
pub mod background;
pub mod bounded;

pub mod capabilities;
pub mod clock;
pub mod dialogue;
pub mod directory;
pub mod disk;
pub mod effect;
pub mod enclosure;
pub mod environment;
pub mod fifos;
pub mod file;
pub mod fs;
pub mod inherited;
mod led;
pub mod left_lock;
pub mod lines;
pub mod lock;
pub mod mount;
pub mod names;
mod new_file;
pub mod notices;
mod orphans;
mod owner;
mod platform;
pub mod process;
pub mod processes;
pub mod programs;
pub mod purpose;
pub mod scratch;
pub mod sharing;
pub mod signals;
pub mod spawn;
pub mod ssh_keygen;
pub mod stat;
pub mod streams;
mod sync;
pub mod terminal;

pub use environment::Environment;

use std::path::Path;

use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Refusal, Result};

/// The finding for a failed system call. `what` is a verb phrase such as `read`; `path` is its
/// object.
#[must_use]
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> Finding {
    if let Some(led::Led { path, what }) = error.get_ref().and_then(|e| e.downcast_ref()) {
        return planted(path, what);
    }
    let read_only =
        matches!(error.raw_os_error(), Some(errno::EROFS | errno::EACCES | errno::EPERM));
    let git_dir = path.components().any(|part| part.as_os_str() == ".git");
    if read_only && git_dir {
        return Finding::new(
            Code::GitDirReadOnly,
            format!(
                "Could not {what} {}: {error}. The Git directory is not writable from here.",
                path.shown()
            ),
            "If a sandbox protects .git, call edt from outside it (its MCP server or hook). \
             Otherwise make the directory writable for this user.",
        );
    }
    let finding = Finding::new(
        Code::IoError,
        format!("Could not {what} {}: {error}.", path.shown()),
        "Fix what the system reports (space, permissions), then repeat the call; `edt status` \
         recovers anything left unfinished.",
    );
    match error.raw_os_error() {
        Some(number) => finding.with("errno", number),
        None => finding,
    }
}

/// The finding for `path` in a Git directory, which is `what`: whatever is written there would be
/// written elsewhere.
#[must_use]
pub fn planted(path: &Path, what: &str) -> Finding {
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "{} is {what}. edt writes nothing through it: a program may have put it there to \
             change a file elsewhere.",
            path.shown()
        ),
        format!(
            "The user looks at {}, and replaces it with an ordinary file or directory.",
            path.shown()
        ),
    )
}

/// The finding for a hard link that failed: a file system that knows none answers as for a directory
/// that is not writable.
#[must_use]
pub fn link_failed(what: &str, path: &Path, error: &std::io::Error) -> Finding {
    if !matches!(error.raw_os_error(), Some(errno::EPERM | errno::EOPNOTSUPP)) {
        return failed(what, path, error);
    }
    Finding::new(
        Code::UnsupportedRepository,
        format!(
            "Could not {what} {}: {error}. This file system knows no hard links, with which edt \
             takes Git's locks.",
            path.shown()
        ),
        "Keep the repository on a file system with hard links (ext4, xfs, btrfs, tmpfs); `edt \
         doctor` tests it.",
    )
    .nothing_changed()
}

/// Whether a later attempt may succeed: the disk or the machine failed, not the content of a file.
#[must_use]
pub fn is_transient(found: &Refusal) -> bool {
    use errno::TRANSIENT;
    let number =
        |finding: &Finding| finding.evidence.get("errno").and_then(serde_json::Value::as_i64);
    let later = |number| TRANSIENT.iter().any(|later| i64::from(*later) == number);
    found.any(|finding| finding.code == Code::GitDirReadOnly || number(finding).is_some_and(later))
}

/// Whether the operating system denied access: a later attempt by this user fails, too.
#[must_use]
pub fn is_denied(found: &Refusal) -> bool {
    let denied = [errno::EACCES, errno::EPERM].map(i64::from);
    let number = |finding: &Finding| finding.evidence.get("errno")?.as_i64();
    found.any(|finding| number(finding).is_some_and(|number| denied.contains(&number)))
}

/// Turns a permanent failure into `None`, so that one file does not block the others.
///
/// # Errors
/// A failure that [may succeed later](is_transient).
pub fn permanent_as_none<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if is_transient(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

mod errno {
    use rustix::io::Errno;
    pub(super) const EROFS: i32 = Errno::ROFS.raw_os_error();
    pub(super) const EACCES: i32 = Errno::ACCESS.raw_os_error();
    pub(super) const EPERM: i32 = Errno::PERM.raw_os_error();
    pub(super) const EOPNOTSUPP: i32 = Errno::OPNOTSUPP.raw_os_error();
    const IO: i32 = Errno::IO.raw_os_error();
    const NOSPC: i32 = Errno::NOSPC.raw_os_error();
    const DQUOT: i32 = Errno::DQUOT.raw_os_error();
    const NFILE: i32 = Errno::NFILE.raw_os_error();
    const MFILE: i32 = Errno::MFILE.raw_os_error();
    const NOMEM: i32 = Errno::NOMEM.raw_os_error();
    pub(super) const TRANSIENT: [i32; 7] = [IO, NOSPC, DQUOT, NFILE, MFILE, NOMEM, EROFS];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(number: i32, path: &str) -> Result<Option<()>> {
        permanent_as_none(Err(failed(
            "write",
            Path::new(path),
            &std::io::Error::from_raw_os_error(number),
        )
        .into()))
    }

    #[test]
    fn a_full_disk_is_transient_and_a_denied_file_is_permanent() {
        let (io, full, denied) = (5, 28, errno::EACCES);
        assert!(
            outcome(io, "a").is_err()
                && outcome(full, "a").is_err()
                && outcome(errno::EROFS, "a").is_err()
        );
        assert_eq!(outcome(denied, "a"), Ok(None));
        assert!(
            outcome(denied, ".git/x").is_err(),
            "the Git directory, which contains the journal"
        );
        assert_eq!(permanent_as_none(Ok(1)), Ok(Some(1)));
    }
}
