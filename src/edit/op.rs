//! The modes of an edit, as types: what each needs it has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::RepoPath;

/// The name of a mode on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A new file; refused if there is one.
    Create,
    /// Replaces the one place where `old_text` stands.
    Edit,
    /// Adds to the end of an existing file.
    Append,
    /// Replaces the whole of an existing file.
    Overwrite,
    /// Removes the file.
    Delete,
    /// Moves the file, content and mode bit kept.
    Rename,
}

impl Mode {
    /// Every mode, in the order of the documentation.
    pub const ALL: &'static [Mode] =
        &[Mode::Create, Mode::Edit, Mode::Append, Mode::Overwrite, Mode::Delete, Mode::Rename];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Create => "create",
            Mode::Edit => "edit",
            Mode::Append => "append",
            Mode::Overwrite => "overwrite",
            Mode::Delete => "delete",
            Mode::Rename => "rename",
        }
    }

    /// The keys it takes beside `path`, `mode` and `expected_hash`; those it cannot do without come first, in `.0`.
    #[must_use]
    pub const fn keys(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Mode::Create => (&["content"], &["executable"]),
            Mode::Edit => (&["old_text", "content"], &["replace_all"]),
            Mode::Append | Mode::Overwrite => (&["content"], &[]),
            Mode::Delete => (&[], &[]),
            Mode::Rename => (&["to"], &[]),
        }
    }
}

/// One operation on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: RepoPath,
    /// What the caller believes stands there.
    pub expect: Expect,
    /// What to do.
    pub op: Op,
}

/// What the caller believes of the file before the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// Nothing was said.
    Anything,
    /// Its blob id as lower-case hex, at least 7 digits.
    Hash(String),
}

/// What to do with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A new file.
    Create {
        /// Its content.
        content: Vec<u8>,
        /// Its mode bit.
        executable: bool,
    },
    /// Replace a piece of text.
    Edit {
        /// The text that stands there.
        old: Vec<u8>,
        /// The text to put in its place.
        new: Vec<u8>,
        /// One place, or all of them.
        places: Places,
    },
    /// Add to the end.
    Append {
        /// The text to add.
        content: Vec<u8>,
    },
    /// Replace everything.
    Overwrite {
        /// The new content.
        content: Vec<u8>,
    },
    /// Remove the file.
    Delete,
    /// Move the file.
    Rename {
        /// The new path.
        to: RepoPath,
    },
}

/// How many places a replacement is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// The one and only.
    One,
    /// Every one.
    All,
}
