//! The commit that each line of a file is from.

use std::ops::Range;

use super::Oid;
use super::repo::{Repo, unreadable};
use edt_types::{RepoPath, Result};

/// Lines of a file that one commit introduced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedLines {
    /// The lines (0-based, end excluded) of the blamed file.
    pub lines: Range<usize>,
    /// The commit.
    pub commit: Oid,
}

impl Repo {
    /// The commits that the lines of the file `path` in the commit `at` are from, in order. Renames
    /// are followed. Nothing where the history of a shallow clone does not suffice.
    ///
    /// # Errors
    /// `IO_ERROR` if there is no such file, or history is missing.
    pub fn blame(&self, path: &RepoPath, at: Oid) -> Result<Vec<BlamedLines>> {
        let options = gix::repository::blame_file::Options {
            rewrites: Some(gix::diff::Rewrites::default()),
            ..Default::default()
        };
        let blamed = match self.inner.blame_file(path.as_bytes().into(), at, options) {
            Ok(blamed) => blamed,
            // Its history ends somewhere: the lines are of no commit that is known.
            Err(_) if self.inner.is_shallow().unwrap_or(false) => return Ok(Vec::new()),
            Err(error) => return Err(unreadable("the history of the file", &error).into()),
        };
        let entries = blamed.entries.iter().map(|entry| {
            let first = entry.start_in_blamed_file as usize;
            let lines = first..first + entry.len.get() as usize;
            BlamedLines { lines, commit: entry.commit_id }
        });
        Ok(entries.collect())
    }
}
