//! Looks into the journals of all worktrees of a repository, without opening them for writing.

use std::path::{Path, PathBuf};

use super::journal;
use super::lost::staged_files;
use edt_io::fs;

/// The directories of the worktrees in which edt was used, and the names of the linked ones.
#[must_use]
pub fn state_directories(common: &Path) -> Vec<(Option<std::ffi::OsString>, PathBuf)> {
    let edt = common.join("edt");
    let linked = edt.join("linked");
    let mut all: Vec<_> = fs::names_in(&linked)
        .into_iter()
        .map(|name| (Some(name.clone()), linked.join(name)))
        .collect();
    all.push((None, edt.join("main")));
    all
}

/// Whether a call in the worktree of `state` was interrupted. A call that runs there looks the same.
#[must_use]
pub fn has_pending(state: &Path) -> bool {
    journal::has_open_record(state).unwrap_or_else(|| !is_unused(state))
}

/// Whether no call has written anything in the worktree of `state`. Its journal may be lost.
#[must_use]
pub fn is_unused(state: &Path) -> bool {
    !["journal", "ref", "head", "stage/index"].iter().any(|name| state.join(name).exists())
        && staged_files(state).is_empty()
}
