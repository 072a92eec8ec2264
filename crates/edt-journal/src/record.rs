//! The journal's records: what is needed to finish or to roll back a transaction, besides the objects
//! and private bytes that are on stable storage before anything visible changes.

use serde::{Deserialize, Serialize};

use super::entry::{DiskState, EntryMove};
use super::pointers::{BranchOrigin, BranchUpdate};
use edt_git::index::IndexState;
use edt_git::reflog::MoveId;
use edt_git::{FileId, FileMode, InHead, Oid};
use edt_io::disk::Stat;
use edt_types::RepoPath;

/// Version of this format. A journal with another version is quarantined.
pub const VERSION: u32 = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A transaction that is about to be installed.
    ChangeSet(Box<ChangeRecord>),
    /// These refs are about to be deleted, if they have these values. The next call finishes an
    /// interrupted deletion.
    Deletion(Vec<(String, Id)>),
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The branch whose move commits the transaction.
    pub branch: BranchRecord,
    /// Refs to create before the branch moves, with their values.
    pub create: Vec<(String, Id)>,
    /// When the record was written, in seconds since 1970.
    pub time: i64,
    /// The inode of the journal that it was written to.
    pub journal: u64,
    /// What HEAD must name afterwards, if not the branch.
    pub head_to: Option<String>,
    /// Refs to move after the branch, each with its old and its new value.
    pub replace: Vec<(String, Id, Id)>,
    /// Refs to delete after the branch has moved, each with its old value.
    pub drop: Vec<(String, Id)>,
    pub files: Vec<FileRecord>,
    /// The index entries to change if HEAD is on the branch.
    pub entries: Vec<EntryRecord>,
    /// The session and the name of each private record. Up to one has the form of an option, which
    /// earlier programs wrote.
    pub private: Vec<(String, String)>,
}

/// The branch whose move commits the transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// The full ref name.
    pub name: String,
    pub from: OriginRecord,
    /// The value afterwards.
    pub new: Id,
    /// The message for the reflog.
    pub log: String,
    /// The last lines of the logs of the branch and of HEAD. Later ones show what happened since.
    pub logged: [Option<LoggedRecord>; 2],
    /// Whether HEAD is on the branch afterwards, so that the index and HEAD's log follow.
    pub in_head: bool,
    /// What HEAD names before the transaction, if that is not the branch.
    pub head: Option<HeadRecord>,
    /// Another symbolic ref to point to the branch.
    pub point: Option<String>,
}

/// A line of a log: its values, and its time in seconds since 1970.
pub type LoggedRecord = (Id, Id, i64);

/// What HEAD names before a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadRecord {
    /// Whether the transaction moves HEAD away from it.
    pub is_left: bool,
    /// A full branch name, or a commit id if HEAD is detached.
    pub name: String,
    /// The commit; `None` if the branch is unborn.
    pub tip: Option<Id>,
}

/// See [`BranchOrigin`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OriginRecord {
    Existing(Id),
    Rewound(Id),
    Created(Id),
}

impl std::convert::From<BranchOrigin> for OriginRecord {
    fn from(from: BranchOrigin) -> OriginRecord {
        match from {
            BranchOrigin::Existing(oid) => OriginRecord::Existing(oid.into()),
            BranchOrigin::Rewound(oid) => OriginRecord::Rewound(oid.into()),
            BranchOrigin::Created(oid) => OriginRecord::Created(oid.into()),
        }
    }
}

impl BranchRecord {
    /// The last lines of the logs of the branch and of HEAD before the transaction.
    #[must_use]
    pub fn last_moves(&self) -> [Option<MoveId>; 2] {
        let of = |line: &LoggedRecord| Some((line.0.oid()?, line.1.oid()?, line.2));
        [0, 1].map(|at| self.logged[at].as_ref().and_then(of))
    }

    /// What HEAD leaves, if it moves to the branch.
    #[must_use]
    pub fn left(&self) -> Option<&HeadRecord> {
        self.head.as_ref().filter(|head| head.is_left)
    }

    /// The branch; `None` if the record has an invalid id.
    #[must_use]
    pub fn branch(&self) -> Option<BranchUpdate> {
        let from = match &self.from {
            OriginRecord::Existing(id) => BranchOrigin::Existing(id.oid()?),
            OriginRecord::Rewound(id) => BranchOrigin::Rewound(id.oid()?),
            OriginRecord::Created(id) => BranchOrigin::Created(id.oid()?),
        };
        Some(BranchUpdate {
            name: self.name.clone(),
            from,
            new: self.new.oid()?,
            log: self.log.clone(),
            head: if self.in_head { InHead::Yes } else { InHead::No },
            head_from: self.left().map(|left| left.name.clone()),
            point: self.point.clone(),
        })
    }
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    pub path: Vec<u8>,
    /// Id, executable bit and stat of the old file.
    pub old: Option<(Id, bool, Stat)>,
    /// Id and executable bit of the new file.
    pub new: Option<(Id, bool)>,
    /// The name of the staged file.
    pub stage: String,
    /// Whether the file is staged on the mount of its target, and not in edt's own directory.
    pub on_mount: bool,
}

/// The change of one index entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryRecord {
    path: Vec<u8>,
    /// The entry before: none, a file, or the intention to add one.
    seen: Option<(Id, bool)>,
    intended: bool,
    file: Option<(Id, bool)>,
    /// Whether the transaction writes the file of the entry.
    written: bool,
}

impl EntryRecord {
    /// `None` for an entry that edt does not change.
    #[must_use]
    pub fn of(entry: &EntryMove) -> Option<EntryRecord> {
        let id = |file: FileId| (Id::from(file.oid), file.mode == FileMode::Executable);
        let seen = match entry.seen {
            IndexState::Nothing | IndexState::IntentToAdd => None,
            IndexState::File(file) => Some(id(file)),
            IndexState::Other | IndexState::Unmerged => return None,
        };
        let intended = entry.seen == IndexState::IntentToAdd;
        Some(EntryRecord {
            path: entry.path.as_bytes().to_vec(),
            seen,
            intended,
            file: entry.file.map(id),
            written: entry.disk == DiskState::Written,
        })
    }

    #[must_use]
    pub fn entry(&self) -> Option<EntryMove> {
        let file = |(id, executable): &(Id, bool)| {
            Some(FileId { oid: id.oid()?, mode: FileMode::of(*executable) })
        };
        let seen = match &self.seen {
            Some(seen) => IndexState::File(file(seen)?),
            None if self.intended => IndexState::IntentToAdd,
            None => IndexState::Nothing,
        };
        let path = RepoPath::from_tree(&self.path);
        let disk = if self.written { DiskState::Written } else { DiskState::Other };
        Some(EntryMove { path, file: self.file.as_ref().and_then(file), seen, disk })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Id(Vec<u8>);

impl Id {
    /// `None` if the length is not that of an object id.
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
    /// The old file; `None` if there was none.
    #[must_use]
    pub fn old_file(&self) -> Option<FileId> {
        let (id, executable, _) = self.old.as_ref()?;
        Some(FileId { oid: id.oid()?, mode: FileMode::of(*executable) })
    }

    /// The new file; `None` if the change removes the file.
    #[must_use]
    pub fn new_file(&self) -> Option<FileId> {
        let (id, executable) = self.new.as_ref()?;
        Some(FileId { oid: id.oid()?, mode: FileMode::of(*executable) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn entry(seen: IndexState, disk: DiskState) -> EntryMove {
        let file = Some(FileId { oid: oid(1), mode: FileMode::Executable });
        EntryMove { path: RepoPath::from_tree(b"a"), file, seen, disk }
    }

    /// What remains of an entry after it was recorded.
    fn recorded(entry: &EntryMove) -> Option<(Option<FileId>, IndexState, DiskState)> {
        let read = EntryRecord::of(entry)?.entry()?;
        Some((read.file, read.seen, read.disk))
    }

    #[test]
    fn an_entry_of_a_written_file_is_read_as_it_was() {
        let seen = IndexState::File(FileId { oid: oid(2), mode: FileMode::Plain });
        let entry = entry(seen, DiskState::Written);
        assert_eq!(recorded(&entry), Some((entry.file, seen, DiskState::Written)));
    }

    #[test]
    fn an_intention_to_add_is_not_a_missing_entry() {
        let seen = |state| recorded(&entry(state, DiskState::Other)).unwrap().1;
        assert_eq!(seen(IndexState::IntentToAdd), IndexState::IntentToAdd);
        assert_eq!(seen(IndexState::Nothing), IndexState::Nothing);
    }

    #[test]
    fn an_entry_that_edt_does_not_change_is_not_recorded() {
        assert_eq!(EntryRecord::of(&entry(IndexState::Other, DiskState::Written)), None);
    }

    #[test]
    fn an_id_has_the_length_of_one_of_gits_hashes() {
        assert_eq!(Id(vec![3; 20]).oid(), Some(oid(3)));
        assert_eq!(Id(vec![3; 19]).oid(), None);
    }

    fn branch(from: OriginRecord) -> BranchRecord {
        BranchRecord {
            name: "refs/heads/a".to_owned(),
            from,
            new: oid(4).into(),
            log: "edt: x".to_owned(),
            logged: [None, None],
            in_head: false,
            head: None,
            point: None,
        }
    }

    #[test]
    fn the_origin_of_a_branch_is_read_as_it_was() {
        for origin in [
            BranchOrigin::Existing(oid(1)),
            BranchOrigin::Rewound(oid(1)),
            BranchOrigin::Created(oid(1)),
        ] {
            assert_eq!(branch(origin.into()).branch().unwrap().from, origin);
        }
    }

    #[test]
    fn a_branch_with_an_invalid_id_cannot_be_read() {
        assert!(branch(OriginRecord::Created(Id(vec![]))).branch().is_none());
    }

    #[test]
    fn a_file_record_has_the_files_before_and_after() {
        let file = FileRecord {
            path: b"a".to_vec(),
            old: None,
            new: Some((oid(5).into(), true)),
            stage: "tx-0".to_owned(),
            on_mount: false,
        };
        let new = FileId { oid: oid(5), mode: FileMode::Executable };
        assert_eq!((file.old_file(), file.new_file()), (None, Some(new)));
    }
}
