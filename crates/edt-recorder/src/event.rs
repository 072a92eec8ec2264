//! What is recorded of one call. `Serialize` is the format on disk: append variants, change none.

use serde::{Deserialize, Serialize};

/// The version of the format, in the first event.
pub const VERSION: u32 = 1;

/// An inode. The birth time is part of it, because file systems reuse numbers at once.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
pub struct Inode {
    pub device: u64,
    pub number: u64,
    /// Seconds and nanoseconds.
    pub born: (i64, u32),
}

/// Where a name is.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// Below the root, with `/` between its names.
    Tree(Vec<u8>),
    /// Elsewhere: an absolute path. Only what came from the tree is recorded there.
    Outside(Vec<u8>),
    /// In the store: a file that was removed and is written through `/proc`.
    Stored(u64),
}

impl std::fmt::Debug for Place {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{:?}", self.to_string())
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Tree(path) | Place::Outside(path) => {
                to.write_str(&String::from_utf8_lossy(path))
            }
            Place::Stored(number) => write!(to, "stored file {number}"),
        }
    }
}

/// What a write or a change of attributes changes apart from the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The permission bits, with set-user-ID, set-group-ID and sticky.
    pub mode: u32,
    pub user: u32,
    pub group: u32,
    pub size: u64,
    pub accessed: (i64, u32),
    pub modified: (i64, u32),
}

/// Where the earlier bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kept {
    /// The run made the file: there are no earlier bytes.
    Made,
    /// Elsewhere, under the name that [`Clean`](crate::Clean) returned.
    Clean(Vec<u8>),
    /// The inode itself, as another name in the store.
    Linked(u64),
    /// A copy in the store.
    Copied(u64),
    /// Nowhere: a sentence that says why.
    Lost(String),
}

/// What a name was when a call removed or replaced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    pub inode: Inode,
    pub attributes: Attributes,
    pub node: Node,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Node {
    File(Kept),
    /// An empty directory.
    Directory,
    /// The target of a symbolic link.
    Link(Vec<u8>),
    /// A FIFO, a socket or a device.
    Special(Kept),
}

/// What a new name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewNode {
    File,
    Directory,
    Link,
    Special,
    /// A further name of an inode.
    Name,
}

/// One event. Its number is its position in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileEvent {
    Start {
        version: u32,
        root: Inode,
    },
    /// The inode is about to be written for the first time.
    Content {
        place: Place,
        inode: Inode,
        attributes: Attributes,
        kept: Kept,
    },
    /// Attributes are about to change for the first time. `extended`: all extended attributes.
    Attributes {
        place: Place,
        inode: Inode,
        attributes: Attributes,
        extended: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    },
    /// A name was made. Without an inode the kernel was about to make it.
    Made {
        place: Place,
        node: NewNode,
        inode: Option<Inode>,
    },
    /// A name is about to be removed.
    Removed {
        place: Place,
        former: Former,
    },
    /// A name is about to be moved. `replaced` is what was at `to`; `exchanged` what now is at
    /// `from`.
    Renamed {
        from: Place,
        to: Place,
        inode: Inode,
        /// Whether one of them is a directory.
        directory: bool,
        replaced: Option<Former>,
        exchanged: Option<Inode>,
    },
    /// The event with this number did not happen: its call failed.
    Failed {
        event: u64,
    },
    /// Something may have been changed that is not recorded: a sentence.
    Unproved {
        why: String,
    },
    /// A stored link became a copy, because its inode lives on.
    LinkCopied {
        stored: u64,
        modified: (i64, u32),
    },
    /// At the end, somebody else had written these paths as well.
    Foreign {
        paths: Vec<Vec<u8>>,
    },
    End,
    /// A call was denied. Events of one kind at one place are recorded once.
    Denied(Denied),
    /// A name is about to be made where none is. It counts only as the last event of a log: else
    /// the next event says what became of it.
    Making {
        place: Place,
        node: NewNode,
    },
}

/// What a program was denied.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Denied {
    /// To make this name, which others would execute.
    Name(Place),
    /// To change what is at this place: it is read-only.
    ReadOnly(Place),
    /// A socket of this family (`AF_*`).
    Socket { family: i32 },
    /// To connect to the Unix socket with this name.
    UnixSocket(Vec<u8>),
}
