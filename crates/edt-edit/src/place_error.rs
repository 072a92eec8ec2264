//! Why a hunk has no place in the file.

/// Why a hunk cannot be placed. Line numbers are 0-based lines of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// The old side occurs at several places.
    Ambiguous(Vec<usize>),
    /// The new side is already where the hunk would go, at these lines.
    AlreadyApplied(Vec<usize>),
    /// The old side was not found. The new side may occur at these lines.
    NotFound(Vec<usize>),
    /// An anchor was not found, or it matches several lines and nothing else decides.
    Anchor {
        /// The index of the anchor.
        index: usize,
        /// The lines that it matches.
        lines: Vec<usize>,
    },
    /// The hunk has no old side, no anchor and no line number.
    NoPosition,
    /// The patch ends inside the hunk, so the rest of the change is unknown.
    Truncated,
    /// The hunk changes lines that the hunk with this index needs.
    Overlaps(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnplacedHunk {
    /// The index of the hunk.
    pub hunk: usize,
    pub why: PlaceError,
}
