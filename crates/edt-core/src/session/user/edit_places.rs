//! Where a file on disk has what edits made, or what they replaced.

use edt_types::RepoPath;
use edt_types::text::{edits, places};

/// The places of edits in a file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditPlaces {
    pub path: RepoPath,
    /// The numbers of the edits, in order.
    pub edits: Vec<u64>,
    /// The lines on disk, such as `20-24`, and `mode`. Empty if lines are only gone, or for a file that
    /// is not text.
    pub lines: Vec<String>,
}

impl EditPlaces {
    /// As a part of a sentence: `a.py (edits 3, 5; lines 20-24)`.
    #[must_use]
    pub fn shown(&self) -> String {
        let (edits, lines) = (edits(&self.edits), places(&self.lines));
        let separator = if lines.is_empty() { "" } else { "; " };
        format!("{} ({edits}{separator}{lines})", self.path)
    }
}
