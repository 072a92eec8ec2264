//! What a tree has at a path: ids and modes.

use super::Oid;

/// The mode of a file in trees and the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileMode {
    /// 100644
    Plain,
    /// 100755
    Executable,
}

impl FileMode {
    #[must_use]
    pub const fn of(executable: bool) -> FileMode {
        if executable { FileMode::Executable } else { FileMode::Plain }
    }

    /// The number in trees and the index.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            FileMode::Plain => 0o100_644,
            FileMode::Executable => 0o100_755,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    pub oid: Oid,
    pub mode: FileMode,
}

/// What a tree has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracked {
    Nothing,
    File(FileId),
    /// A symbolic link, at the path or above it.
    Symlink,
    /// A submodule, at the path or above it.
    Submodule,
    Directory,
    /// A parent of the path is a file.
    BelowFile,
}

/// A tree entry that is not a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeItem {
    File(FileId),
    /// A symbolic link or a submodule, which edt does not change: its mode and object.
    Other(u32, Oid),
}

impl TreeItem {
    #[must_use]
    pub fn file(self) -> Option<FileId> {
        match self {
            TreeItem::File(file) => Some(file),
            TreeItem::Other(..) => None,
        }
    }

    /// The object id: a blob, the target of a symbolic link, or the commit of a submodule.
    #[must_use]
    pub fn oid(self) -> Oid {
        match self {
            TreeItem::File(file) => file.oid,
            TreeItem::Other(_, oid) => oid,
        }
    }

    /// The mode number.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            TreeItem::File(file) => file.mode.bits(),
            TreeItem::Other(mode, _) => mode,
        }
    }
}

pub(super) fn item(mode: u32, oid: Oid) -> TreeItem {
    if mode & 0o170_000 == 0o100_000 {
        TreeItem::File(FileId { oid, mode: FileMode::of(mode & 0o100 != 0) })
    } else {
        TreeItem::Other(mode, oid)
    }
}
