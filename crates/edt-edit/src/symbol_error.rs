//! Why no definition of a file could be changed.

use std::time::Duration;

/// The time limit for reading the definitions of one file. The guards have their own.
pub(super) const MAX_TIME: Duration = Duration::from_secs(5);

/// Why an edit that names a definition cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SymbolError {
    /// edt reads no definitions of such files.
    NoSymbols,
    /// The file cannot be parsed: the reason.
    Unparsed(String),
    /// No definition has the name: similar names.
    NotFound(Vec<String>),
    /// Several definitions have the name.
    Ambiguous(Vec<FoundSymbol>),
    /// The definition has a syntax error, so where it ends is not known.
    Broken(FoundSymbol),
    /// The line of the definition has other code, too.
    SharedLine(FoundSymbol),
    /// The new text is empty.
    NoContent,
    /// It is not certain which comments and attributes of the new text belong to the definition.
    UnclearContent,
    /// The new name is no identifier.
    NoName,
    /// The file uses the new name in these lines.
    NameTaken(Vec<usize>),
    /// In these lines it is not certain that the name means the definition.
    UnclearUses(Vec<usize>),
}

/// A definition in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSymbol {
    /// Its name, with those around it.
    pub name: String,
    /// What the language calls it.
    pub kind: &'static str,
    /// Its first line and its last, 1-based, with what is directly above it.
    pub lines: (usize, usize),
}

pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}
