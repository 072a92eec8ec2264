//! The journal's records: everything needed to finish a transaction or take it back.

use serde::{Deserialize, Serialize};

use super::index::{Disk, EntryMove};
use super::pointers::{Branch, From};
use crate::base::RepoPath;
use crate::git::index::Staged;
use crate::git::{FileId, FileMode, InHead, Loose, Oid};
use crate::io::disk::Stat;

/// Version of this format; a journal of another version is set aside.
pub const VERSION: u32 = 4;

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
    /// When it was recorded, in seconds since 1970.
    pub time: i64,
    /// What HEAD is to name instead of the branch.
    pub head_to: Option<String>,
    /// Refs to move after, with the values they must have and get.
    pub replace: Vec<(String, Id, Id)>,
    /// Refs to delete after, with the values they must have.
    pub drop: Vec<(String, Id)>,
    /// The files.
    pub files: Vec<FileRecord>,
    /// The index entries to move, if HEAD is on the branch.
    pub entries: Vec<EntryRecord>,
    /// The index they stood in: after a power cut, the same file means that the move was lost.
    pub index: Option<Stat>,
    /// New objects as loose files; larger ones were synced before and are named by the commit alone.
    pub objects: Vec<(Id, Vec<u8>)>,
}

/// The ref that decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// Its full name.
    pub name: String,
    /// Where it comes from.
    pub from: FromRecord,
    /// Its value after.
    pub new: Id,
    /// The loose file it had before: after a power cut, the same file means that the move was lost.
    pub stat: Option<Stat>,
    /// The reflog line.
    pub log: String,
    /// Whether HEAD is on it once all is done, so that index and HEAD's log follow.
    pub in_head: bool,
    /// What HEAD names before it is pointed at the branch (a branch, or a commit id if detached); `None` if HEAD stays.
    pub head_from: Option<String>,
    /// The file HEAD was then.
    pub head_stat: Option<Stat>,
    /// A symbolic ref to point at the branch.
    pub point: Option<String>,
}

/// Where a branch comes from: see [`From`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromRecord {
    /// It has this value.
    Value(Id),
    /// It has this value, and its new one lies before it.
    Later(Id),
    /// It is created, at this commit.
    Nothing(Id),
}

impl std::convert::From<From> for FromRecord {
    fn from(from: From) -> FromRecord {
        match from {
            From::Value(oid) => FromRecord::Value(oid.into()),
            From::Later(oid) => FromRecord::Later(oid.into()),
            From::Nothing(oid) => FromRecord::Nothing(oid.into()),
        }
    }
}

impl BranchRecord {
    /// The branch that was recorded; `None` if the record was written by something else.
    #[must_use]
    pub fn branch(&self) -> Option<Branch> {
        let from = match &self.from {
            FromRecord::Value(id) => From::Value(id.oid()?),
            FromRecord::Later(id) => From::Later(id.oid()?),
            FromRecord::Nothing(id) => From::Nothing(id.oid()?),
        };
        Some(Branch {
            name: self.name.clone(),
            from,
            new: self.new.oid()?,
            log: self.log.clone(),
            head: if self.in_head { InHead::Yes } else { InHead::No },
            head_from: self.head_from.clone(),
            point: self.point.clone(),
        })
    }
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
    /// The file that is staged: after a power cut, what is under its inode and differs was torn, or written to by someone.
    pub staged: Option<Stat>,
    /// The name it is staged under.
    pub stage: String,
    /// Whether it is staged beside its target (another file system) rather than in edt's own folder.
    pub beside: bool,
}

/// One index entry to move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryRecord {
    path: Vec<u8>,
    /// What was staged: none, a file, or only the intention to add one.
    seen: Option<(Id, bool)>,
    intended: bool,
    file: Option<(Id, bool)>,
    /// Whether the transaction writes the file that the entry speaks of.
    written: bool,
}

impl EntryRecord {
    /// The record of `entry`; `None` for an entry that edt does not move.
    #[must_use]
    pub fn of(entry: &EntryMove) -> Option<EntryRecord> {
        let id = |file: FileId| (Id::from(file.oid), file.mode == FileMode::Executable);
        let seen = match entry.seen {
            Staged::Nothing | Staged::Intended => None,
            Staged::File(file) => Some(id(file)),
            Staged::Other => return None,
        };
        let intended = entry.seen == Staged::Intended;
        Some(EntryRecord {
            path: entry.path.as_bytes().to_vec(),
            seen,
            intended,
            file: entry.file.map(id),
            written: entry.disk == Disk::Written,
        })
    }

    /// The entry that was recorded.
    #[must_use]
    pub fn entry(&self) -> Option<EntryMove> {
        let file = |(id, executable): &(Id, bool)| {
            Some(FileId { oid: id.oid()?, mode: FileMode::of(*executable) })
        };
        let seen = match &self.seen {
            Some(seen) => Staged::File(file(seen)?),
            None if self.intended => Staged::Intended,
            None => Staged::Nothing,
        };
        let path = RepoPath::from_tree(&self.path);
        let disk = if self.written { Disk::Written } else { Disk::Other };
        Some(EntryMove { path, file: self.file.as_ref().and_then(file), seen, disk })
    }
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

impl std::convert::From<Oid> for Id {
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
        let object =
            |(id, bytes): &(Id, Vec<u8>)| id.oid().map(|oid| Loose { oid, bytes: bytes.clone() });
        self.objects.iter().filter_map(object).collect()
    }
}
