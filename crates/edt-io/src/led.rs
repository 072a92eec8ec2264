//! The error for a path below a Git directory that leads elsewhere.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// What is at `path`, as a phrase. Nothing was written there.
#[derive(Debug)]
pub(super) struct Led {
    pub(super) path: PathBuf,
    pub(super) what: &'static str,
}

impl std::fmt::Display for Led {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it is {}", self.what)
    }
}

impl std::error::Error for Led {}

pub(super) fn led_elsewhere(path: &Path, what: &'static str) -> io::Error {
    io::Error::other(Led { path: path.to_owned(), what })
}

/// The error of the system, unless it refused a link at `path`.
pub(super) fn unless_link(path: &Path, error: Errno) -> io::Error {
    if error == Errno::LOOP { led_elsewhere(path, "a link") } else { error.into() }
}
