//! The modes of an edit as types: each variant has exactly the fields that its mode needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hunk::Hunk;
use super::line_anchor::LineAnchor;
use super::place::Matching;
use super::symbol::SymbolEdit;
use edt_types::RepoPath;

/// The name of a mode in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Creates a file; refused if the file exists.
    Create,
    /// Replaces the one occurrence of `old_text`.
    Edit,
    /// Adds to the end of an existing file.
    Append,
    /// Replaces the content of an existing file.
    Overwrite,
    /// Inserts before a line.
    Insert,
    /// Replaces a range of lines.
    ReplaceLines,
    /// Removes a range of lines.
    DeleteLines,
    /// Removes the file.
    Delete,
    /// Moves the file; its content and mode bit stay.
    Rename,
    /// Replaces a definition; the comments and attributes above it stay, unless `content` has some.
    ReplaceSymbol,
    /// Inserts before a definition and what is directly above it.
    InsertBeforeSymbol,
    /// Inserts after a definition.
    InsertAfterSymbol,
    /// Renames a definition and its uses in the file.
    RenameSymbol,
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
        Mode::ReplaceSymbol,
        Mode::InsertBeforeSymbol,
        Mode::InsertAfterSymbol,
        Mode::RenameSymbol,
    ];

    /// The name in JSON.
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
            Mode::ReplaceSymbol => "replace_symbol",
            Mode::InsertBeforeSymbol => "insert_before_symbol",
            Mode::InsertAfterSymbol => "insert_after_symbol",
            Mode::RenameSymbol => "rename_symbol",
        }
    }

    /// The keys it takes besides `path`, `mode` and `expected_hash`: first the required keys, then
    /// the optional ones.
    #[must_use]
    pub const fn keys(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Mode::Create => (&["content"], &["executable"]),
            Mode::Edit => (&["old_text", "content"], &["replace_all"]),
            Mode::Append | Mode::Overwrite => (&["content"], &[]),
            Mode::Insert => (&["start_line", "content"], &["expected_text", "start_anchor"]),
            Mode::ReplaceLines => (
                &["start_line", "end_line", "content"],
                &["expected_text", "start_anchor", "end_anchor"],
            ),
            Mode::DeleteLines => {
                (&["start_line", "end_line"], &["expected_text", "start_anchor", "end_anchor"])
            }
            Mode::Delete => (&[], &[]),
            Mode::Rename => (&["to"], &[]),
            Mode::ReplaceSymbol | Mode::InsertBeforeSymbol | Mode::InsertAfterSymbol => {
                (&["symbol", "content"], &["start_line"])
            }
            Mode::RenameSymbol => (&["symbol", "to"], &["start_line"]),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: RepoPath,
    /// What the caller expects the file to contain.
    pub expect: Expect,
    pub op: Op,
}

/// What the caller expects of the file before the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    /// No expectation.
    Anything,
    /// The blob id as lower-case hex, at least 7 digits.
    Hash(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Create a file.
    Create { content: Vec<u8>, executable: bool },
    /// Replace a piece of text.
    Edit {
        /// The text to find.
        old: Vec<u8>,
        new: Vec<u8>,
        occurrences: Occurrences,
        /// How far the text may differ from the file.
        matching: Matching,
    },
    /// Append to the file.
    Append { content: Vec<u8> },
    /// Replace the content of an existing file.
    Overwrite { content: Vec<u8> },
    /// Replace the content, and create the file if it does not exist.
    Write { content: Vec<u8> },
    /// Replace or insert lines by number.
    Lines {
        range: LineRange,
        /// The new lines.
        content: Vec<u8>,
        /// The present text of these lines, as the caller expects it.
        expected: Option<Vec<u8>>,
    },
    /// Replace, remove or insert lines by their anchors.
    Anchored {
        first: LineAnchor,
        last: LineAnchor,
        /// Whether the content comes before the first line, which stays.
        inserts: bool,
        /// The new lines.
        content: Vec<u8>,
    },
    /// Change a definition by its name.
    Symbol(SymbolEdit),
    /// Apply the hunks of a patch.
    Patch {
        hunks: Vec<Hunk>,
        /// How far the old side may differ from the file.
        matching: Matching,
    },
    /// Set or clear the executable bit.
    Chmod { executable: bool },
    /// Delete the file.
    Delete {
        /// The content that the file must have, if the caller states it.
        holds: Option<Hunk>,
    },
    /// Rename the file.
    Rename { to: RepoPath },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRange {
    /// An empty range: the position before this 1-based line. One past the last line is the end.
    Before(usize),
    /// A first and a last line, 1-based, both included.
    Of(usize, usize),
}

/// How many occurrences a replacement changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences {
    /// Exactly one: more than one is an error.
    One,
    /// All of them.
    All,
}
