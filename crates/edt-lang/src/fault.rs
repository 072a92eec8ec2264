//! A part of a text that a parser could not understand.

use std::ops::Range;

/// One ERROR or MISSING node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxFault {
    pub kind: SyntaxFaultKind,
    /// The byte range; empty for a missing token.
    pub bytes: Range<usize>,
    /// The rows, 0-based, end excluded.
    pub rows: Range<usize>,
    /// A hash of the fault's appearance, independent of its position: its kind, the kind of its
    /// parent, and the kinds of its first leaves. Faults that a grammar reports for one idiom have
    /// the same shape.
    pub shape: u64,
    /// The kind of the parent node.
    pub parent: String,
    /// The kind of the first leaf.
    pub first: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SyntaxFaultKind {
    /// Text that the grammar does not allow there.
    Unexpected,
    /// A token of this kind is missing.
    Missing(String),
    /// A statement begins at another column than its siblings.
    Misaligned,
    /// A rule of the language's own reader is broken; a noun phrase names the problem.
    Rule(&'static str),
}
