//! One row on the right.

use super::text::Tone;

/// One row. Files, hunks and lines are named by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    Text(Tone, String),
    File(usize),
    /// A row of a file that is no line of it.
    Note(usize, String),
    Hunk(usize, usize),
    Line(usize, usize, usize),
    /// A line before, a line after, or the same line twice.
    Pair(usize, usize, Option<usize>, Option<usize>),
    /// A row of the comment with this number, in a file or not.
    Comment(u64, Option<usize>, Tone, String),
}

impl Row {
    pub(super) fn file(&self) -> Option<usize> {
        match self {
            Row::Text(..) => None,
            Row::Comment(_, file, ..) => *file,
            Row::File(file)
            | Row::Note(file, _)
            | Row::Hunk(file, _)
            | Row::Line(file, ..)
            | Row::Pair(file, ..) => Some(*file),
        }
    }

    pub(super) fn hunk(&self) -> Option<usize> {
        match self {
            Row::Hunk(_, hunk) | Row::Line(_, hunk, _) | Row::Pair(_, hunk, ..) => Some(*hunk),
            _ => None,
        }
    }

    /// The numbers in the hunk of the lines that the row shows.
    pub(super) fn lines(&self) -> Vec<usize> {
        match self {
            Row::Line(_, _, line) => vec![*line],
            Row::Pair(_, _, old, new) => {
                let mut all: Vec<usize> = [*old, *new].into_iter().flatten().collect();
                all.dedup();
                all
            }
            _ => Vec::new(),
        }
    }
}
