//! The only door to the operating system: files beneath a root, locks, the clock, programs.

pub mod abilities;
pub mod bounded;
pub mod clock;
pub mod disk;
pub mod effect;
pub mod file;
pub mod fifos;
pub mod lock;
pub mod once;
pub mod scratch;
pub mod spawn;
mod stat;
mod strays;
pub mod terminal;
pub mod whole;

use std::path::Path;

use crate::base::{Code, Finding};

/// A failed call in words: what was tried, on which path, what the system said.
#[must_use]
pub fn failed(what: &str, path: &Path, error: &std::io::Error) -> Finding {
    let read_only = matches!(error.raw_os_error(), Some(libc_errno::EROFS | libc_errno::EACCES | libc_errno::EPERM));
    let git_dir = path.components().any(|part| part.as_os_str() == ".git");
    if read_only && git_dir {
        return Finding::new(
            Code::GitDirReadOnly,
            format!("Could not {what} {}: {error}. The Git folder cannot be written from here.", path.display()),
            "If a sandbox protects .git, call edt from outside it (its MCP server or hook); else make the folder writable for this user.",
        );
    }
    Finding::new(
        Code::IoError,
        format!("Could not {what} {}: {error}.", path.display()),
        "Mend what the system reports (space, permissions), then repeat the call; `edt status` settles anything left unfinished.",
    )
}

/// The error numbers told apart here.
mod libc_errno {
    use rustix::io::Errno;
    pub(super) const EROFS: i32 = Errno::ROFS.raw_os_error();
    pub(super) const EACCES: i32 = Errno::ACCESS.raw_os_error();
    pub(super) const EPERM: i32 = Errno::PERM.raw_os_error();
}
