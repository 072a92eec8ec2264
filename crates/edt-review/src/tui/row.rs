//! One row on the right, and how rows of text are made.

use super::text::{Tone, wrapped};

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

/// How rows are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Both sides next to each other.
    pub(super) sides: bool,
    /// Whether changes of white space alone are left out.
    pub(super) ignores_space: bool,
    /// How many columns texts may have.
    pub(super) width: usize,
}

/// A sentence. A line end that a name in it has is shown as a space.
pub(super) fn say(all: &mut Vec<Row>, shape: Shape, tone: Tone, text: &str) {
    paragraphs(all, shape, tone, &text.replace('\n', " "));
}

/// A text with its line ends.
pub(super) fn paragraphs(all: &mut Vec<Row>, shape: Shape, tone: Tone, text: &str) {
    all.extend(wrapped(text, shape.width).into_iter().map(|line| Row::Text(tone, line)));
}
