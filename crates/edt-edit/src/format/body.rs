//! The lines of a hunk, with the markers ` ` (context), `-` (removed) and `+` (added).

use crate::hunk::{FinalNewline, Hunk, HunkLine, Side};
use crate::table::content;

/// What may follow the last marked line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trailing {
    /// Nothing: the line counts determine the end.
    Nothing,
    /// Only blank lines.
    Blank,
    /// Blank lines, then prose.
    Prose,
}

/// Reads the lines of a hunk whose header is line `header` (0-based) of the patch.
pub(super) fn read(header: usize, raw: &[&[u8]], after: Trailing) -> Hunk {
    let mut hunk = Hunk::of(header + 1, Vec::with_capacity(raw.len()));
    let (mut old, mut new) = (false, false);
    for line in raw {
        if line.starts_with(b"\\ ") {
            match hunk.lines.last().map(|line| line.side) {
                Some(Side::Both) => (old, new) = (true, true),
                Some(Side::Old) => old = true,
                Some(Side::New) => new = true,
                None => {}
            }
            continue;
        }
        hunk.lines.push(line_of(line));
    }
    hunk.newline = match (old, new) {
        (true, false) => FinalNewline::Added,
        (false, true) => FinalNewline::Removed,
        _ => FinalNewline::Unchanged,
    };
    hunk.at_end = old || new;
    hunk.tail = tail(raw, after).min(hunk.lines.len());
    hunk
}

/// Whether a line has a marker.
pub(super) fn is_marked(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\'))
}

fn line_of(line: &[u8]) -> HunkLine {
    match line.first() {
        Some(b' ') => HunkLine::new(Side::Both, &line[1..]).marked(),
        Some(b'+') => HunkLine::new(Side::New, &line[1..]),
        Some(b'-') => HunkLine::new(Side::Old, &line[1..]),
        _ => HunkLine::new(Side::Both, line),
    }
}

/// How many of the last lines may not belong to the hunk: from the first blank line after the last
/// marked one.
fn tail(raw: &[&[u8]], after: Trailing) -> usize {
    let marked = raw.iter().rposition(|line| is_marked(line)).map_or(0, |at| at + 1);
    let rest = &raw[marked..];
    let blank = |line: &&&[u8]| content(line).is_empty();
    match after {
        Trailing::Nothing => 0,
        Trailing::Blank => rest.iter().rev().take_while(blank).count(),
        Trailing::Prose => {
            rest.iter().position(|line| blank(&line)).map_or(0, |at| rest.len() - at)
        }
    }
}
