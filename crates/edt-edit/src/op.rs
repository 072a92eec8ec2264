//! The modes of an edit as types: each variant has exactly the fields that its mode needs.

use super::locate::Occurrences;

use super::hunk::Hunk;
use super::line_anchor::LineAnchor;
use super::place::Matching;
use super::symbol::SymbolEdit;
use edt_types::RepoPath;

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
