//! The modes of an edit, as types: what each needs it has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hunk::Hunk;
use super::place::Matching;
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
    /// Inserts before a line.
    Insert,
    /// Replaces a range of lines.
    ReplaceLines,
    /// Removes a range of lines.
    DeleteLines,
    /// Removes the file.
    Delete,
    /// Moves the file, content and mode bit kept.
    Rename,
}

impl Mode {
    /// Every mode, in the order of the documentation.
    pub const ALL: &'static [Mode] = &[
        Mode::Create,
        Mode::Edit,
        Mode::Append,
        Mode::Overwrite,
        Mode::Insert,
        Mode::ReplaceLines,
        Mode::DeleteLines,
        Mode::Delete,
        Mode::Rename,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Create => "create",
            Mode::Edit => "edit",
            Mode::Append => "append",
            Mode::Overwrite => "overwrite",
            Mode::Insert => "insert",
            Mode::ReplaceLines => "replace_lines",
            Mode::DeleteLines => "delete_lines",
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
            Mode::Insert => (&["start_line", "content"], &["expected_text"]),
            Mode::ReplaceLines => (&["start_line", "end_line", "content"], &["expected_text"]),
            Mode::DeleteLines => (&["start_line", "end_line"], &["expected_text"]),
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
    /// Let the file hold this, be it new or not.
    Put {
        /// The content.
        content: Vec<u8>,
    },
    /// Change lines by their numbers.
    Lines {
        /// Which.
        range: LineRange,
        /// What comes in their place.
        content: Vec<u8>,
        /// What the caller believes stands there.
        expected: Option<Vec<u8>>,
    },
    /// Put the hunks of a patch where they belong.
    Patch {
        /// The hunks.
        hunks: Vec<Hunk>,
        /// How far they may differ from the file.
        matching: Matching,
    },
    /// Set or clear the mode bit.
    Chmod {
        /// The mode bit.
        executable: bool,
    },
    /// Remove the file.
    Delete {
        /// What it must hold, line by line, if the caller says so.
        holds: Option<Hunk>,
    },
    /// Move the file.
    Rename {
        /// The new path.
        to: RepoPath,
    },
}

/// Lines by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRange {
    /// No line: the place before this one (1-based; one past the last is the end).
    Before(usize),
    /// From one line to another (1-based, both included).
    Of(usize, usize),
}

/// How many places a replacement is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// The one and only.
    One,
    /// Every one.
    All,
}
