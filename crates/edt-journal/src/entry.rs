//! The planned change of an index entry.

use edt_git::FileId;
use edt_git::index::IndexState;
use edt_io::disk::Stat;
use edt_types::RepoPath;

/// The change of one index entry.
#[derive(Debug, Clone)]
pub struct EntryMove {
    pub path: RepoPath,
    /// The file to stage; `None` removes the entry.
    pub file: Option<FileId>,
    /// The entry when the transaction was planned.
    pub seen: IndexState,
    /// The file on disk after the transaction.
    pub disk: DiskState,
}

/// Whether the file on disk matches an entry, so that the entry may have its stat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskState {
    /// The transaction writes the file.
    Written,
    /// The file exists already.
    Present(Stat),
    /// The file on disk differs. The entry gets no stat, and Git compares the bytes.
    Other,
}
