//! A row by what it shows: its numbers name something else after the session changed.

use super::row::Row;
use crate::hunks::{ReviewFile, ReviewHunk};

/// What a row shows.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    row: Row,
    path: Option<String>,
    /// The hunk's lines, and how many hunks before it have the same.
    hunk: Option<(ReviewHunk, usize)>,
    /// How many hunks of the file have these lines.
    same: usize,
}

/// Where a spot is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The same line, hunk, file or text.
    Same(usize),
    /// The nearest row of the same hunk: the line itself is not shown.
    Near(usize),
    /// The head of the file, or a row before the files: the rest is not there any more.
    Gone(usize),
}

impl Found {
    pub(super) fn row(self) -> usize {
        let (Found::Same(row) | Found::Near(row) | Found::Gone(row)) = self;
        row
    }
}

impl Spot {
    pub(super) fn of(row: &Row, files: &[ReviewFile]) -> Spot {
        let file = row.file().and_then(|at| files.get(at));
        let at = file.zip(row.hunk());
        let hunk = at.and_then(|(file, at)| Some((file, at, file.hunks.get(at)?)));
        let is_same = |one: &&ReviewHunk| hunk.is_some_and(|(.., own)| are_same(one, own));
        let count = |hunks: &[ReviewHunk]| hunks.iter().filter(is_same).count();
        Spot {
            row: row.clone(),
            path: file.map(|file| file.path.clone()),
            same: hunk.map_or(0, |(file, ..)| count(&file.hunks)),
            hunk: hunk.map(|(file, at, own)| (own.clone(), count(&file.hunks[..at]))),
        }
    }

    /// Whether it is a hunk or a line of one.
    pub(super) fn has_lines(&self) -> bool {
        self.hunk.is_some()
    }

    /// Where it is among `rows` of `files`; `before` was its row.
    pub(super) fn find(&self, before: usize, rows: &[Row], files: &[ReviewFile]) -> Found {
        let Some(path) = &self.path else {
            let same = rows.iter().position(|row| *row == self.row);
            let heads = rows.iter().position(|row| row.file().is_some()).unwrap_or(rows.len());
            return same.map_or(Found::Gone(before.min(heads.saturating_sub(1))), Found::Same);
        };
        let number = files.iter().position(|file| file.path == *path);
        let head = rows.iter().position(|row| number.is_some_and(|at| *row == Row::File(at)));
        let (Some(number), Some(head)) = (number, head) else { return Found::Gone(0) };
        let position = |is: &dyn Fn(&Row) -> bool| {
            rows.iter().position(|row| row.file() == Some(number) && is(row))
        };
        let Some((hunk, nth)) = &self.hunk else {
            let is = |row: &Row| match (row, &self.row) {
                (Row::File(_), Row::File(_)) => true,
                (Row::Note(_, one), Row::Note(_, other)) => one == other,
                (Row::Comment(one, _, _, text), Row::Comment(other, _, _, own)) => {
                    (one, text) == (other, own)
                }
                _ => false,
            };
            return position(&is).map_or(Found::Gone(head), Found::Same);
        };
        let hunks = files[number].hunks.iter().enumerate();
        let same: Vec<usize> =
            hunks.filter(|(_, one)| are_same(one, hunk)).map(|(at, _)| at).collect();
        // Among several hunks with the same lines only an equal number of them says which it is.
        let at = same.get(*nth).filter(|_| same.len() == self.same);
        let Some(at) = at.copied() else { return Found::Gone(head) };
        let lines = self.row.lines();
        let is_line = |row: &Row| {
            row.hunk() == Some(at)
                && if lines.is_empty() {
                    matches!(row, Row::Hunk(..))
                } else {
                    row.lines().iter().any(|line| lines.contains(line))
                }
        };
        if let Some(row) = position(&is_line) {
            return Found::Same(row);
        }
        let last = lines.last().copied().unwrap_or(0);
        let follows = |row: &Row| {
            row.hunk() == Some(at) && row.lines().first().is_some_and(|line| *line > last)
        };
        let near = position(&follows).or_else(|| position(&|row| row.hunk() == Some(at)));
        near.map_or(Found::Gone(head), Found::Near)
    }
}

/// Whether two hunks have the same lines, whatever their numbers are.
fn are_same(one: &ReviewHunk, other: &ReviewHunk) -> bool {
    one.lines.len() == other.lines.len()
        && one.lines.iter().zip(&other.lines).all(|(one, other)| {
            (one.old.is_some(), one.new.is_some(), one.unterminated, &one.text)
                == (other.old.is_some(), other.new.is_some(), other.unterminated, &other.text)
        })
}
