//! The journal's records: everything needed to finish a transaction or take it back.

use serde::{Deserialize, Serialize};

use crate::git::{FileId, FileMode, Loose, Oid};
use crate::io::disk::Stat;

/// Version of this format; a journal of another version is set aside.
pub const VERSION: u32 = 1;

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A transaction that is about to become true.
    Change(Box<ChangeRecord>),
    /// The transaction of that number was taken back and must never be finished.
    TakenBack(u64),
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The ref that decides.
    pub branch: BranchRecord,
    /// Refs that must exist first, with their values.
    pub create: Vec<(String, Id)>,
    /// Refs to remove last, with the values they must have.
    pub delete: Vec<(String, Id)>,
    /// The files.
    pub files: Vec<FileRecord>,
    /// The inode under which `index.lock` is edt's own.
    pub index_lock: Option<u64>,
    /// New objects as loose files; larger ones were synced before and are named by the commit alone.
    pub objects: Vec<(Id, Vec<u8>)>,
}

/// The ref that decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// Its full name.
    pub name: String,
    /// Its value before; `None` if it is created.
    pub old: Option<Id>,
    /// Its value after.
    pub new: Id,
    /// The loose file it had before: after a power cut, the same file means that the move was lost.
    pub stat: Option<Stat>,
    /// The reflog line.
    pub log: String,
    /// Whether HEAD is on it, so that index and HEAD's log follow.
    pub in_head: bool,
    /// What HEAD names before it is pointed at the branch (a branch, or a commit id if detached); `None` if HEAD stays.
    pub head_from: Option<String>,
    /// The file HEAD was then.
    pub head_stat: Option<Stat>,
    /// A symbolic ref to point at the branch.
    pub point: Option<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its path.
    pub path: Vec<u8>,
    /// What stood there.
    pub old: Option<(Id, bool, Stat)>,
    /// What is to stand there.
    pub new: Option<(Id, bool)>,
    /// The name it is staged under.
    pub stage: String,
    /// Whether it is staged beside its target (another file system) rather than in edt's own folder.
    pub beside: bool,
}

/// An object id as bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Id(Vec<u8>);

impl Id {
    /// The object id; `None` if the record was written by something else.
    #[must_use]
    pub fn oid(&self) -> Option<Oid> {
        matches!(self.0.len(), 20 | 32).then(|| Oid::from_bytes_or_panic(&self.0))
    }
}

impl From<Oid> for Id {
    fn from(oid: Oid) -> Id {
        Id(oid.as_slice().to_vec())
    }
}

impl FileRecord {
    /// What stood there.
    #[must_use]
    pub fn old_file(&self) -> Option<FileId> {
        let (id, executable, _) = self.old.as_ref()?;
        Some(FileId { oid: id.oid()?, mode: FileMode::of(*executable) })
    }

    /// What is to stand there.
    #[must_use]
    pub fn new_file(&self) -> Option<FileId> {
        let (id, executable) = self.new.as_ref()?;
        Some(FileId { oid: id.oid()?, mode: FileMode::of(*executable) })
    }
}

impl ChangeRecord {
    /// The objects it carries.
    #[must_use]
    pub fn loose(&self) -> Vec<Loose> {
        let object = |(id, bytes): &(Id, Vec<u8>)| id.oid().map(|oid| Loose { oid, bytes: bytes.clone() });
        self.objects.iter().filter_map(object).collect()
    }
}
