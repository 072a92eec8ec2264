//! A parsed patch, and the trait of the formats.

use std::ops::Range;

use super::problem::PatchParseError;
use crate::hunk::Hunk;

/// A patch format.
pub trait PatchFormat: Sync {
    /// The name in messages.
    fn name(&self) -> &'static str;

    /// The line (0-based) where a patch of this format begins; `None` if there is none.
    fn begins(&self, lines: &[&[u8]]) -> Option<usize>;

    /// Parses the text.
    ///
    /// # Errors
    /// The first problem.
    fn read(&self, source: &PatchSource<'_>) -> Result<ParsedPatch, PatchParseError>;
}

/// The text of a patch.
#[derive(Debug)]
pub struct PatchSource<'a> {
    /// The lines with their line endings.
    pub lines: Vec<&'a [u8]>,
    /// The file to change if the patch names none.
    pub path: Option<&'a [u8]>,
}

/// A parsed patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedPatch {
    /// The changes in the order of the patch.
    pub files: Vec<FilePatch>,
    /// The lines of the patch that were parsed (0-based, end excluded); the lines between are
    /// prose.
    pub used: Vec<Range<usize>>,
}

/// The changes of a patch to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The file as the patch names it.
    pub path: Vec<u8>,
    /// The 1-based line of the patch that names it.
    pub source: usize,
    pub action: FileAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAction {
    /// Create the file.
    Create { content: Vec<u8>, executable: bool },
    /// Delete the file.
    Delete {
        /// The content that the file must have, if the patch states it.
        old: Option<Hunk>,
    },
    /// Change the file.
    Update {
        hunks: Vec<Hunk>,
        /// The new path, if the file moves.
        to: Option<Vec<u8>>,
        /// The new executable bit.
        executable: Option<bool>,
    },
    /// Replace the content, and create the file if it does not exist.
    Write { content: Vec<u8> },
}
