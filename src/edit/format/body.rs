//! The lines of a hunk: ` ` stands there, `-` goes, `+` comes.

use crate::edit::hunk::{FinalNewline, Hunk, Line, Side};
use crate::edit::table::content;

/// Whether prose may follow the hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing: its counts say where it ends.
    Nothing,
    /// Nothing but blank lines.
    Blank,
    /// Blank lines, then sentences.
    Prose,
}

/// Reads the lines of a hunk whose head stands at line `head` (0-based) of the patch.
pub(super) fn read(head: usize, raw: &[&[u8]], after: After) -> Hunk {
    let mut hunk = Hunk::of(head + 1, Vec::with_capacity(raw.len()));
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
        _ => FinalNewline::Kept,
    };
    hunk.at_end = old || new;
    hunk.tail = tail(raw, after).min(hunk.lines.len());
    hunk
}

/// Whether a line bears a mark.
pub(super) fn is_marked(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'+' | b'-' | b'\\'))
}

fn line_of(line: &[u8]) -> Line {
    match line.first() {
        Some(b' ') => Line::new(Side::Both, &line[1..]).marked(),
        Some(b'+') => Line::new(Side::New, &line[1..]),
        Some(b'-') => Line::new(Side::Old, &line[1..]),
        _ => Line::new(Side::Both, line),
    }
}

/// How many of the last lines need not belong to the hunk: from the first blank line after its last marked one.
fn tail(raw: &[&[u8]], after: After) -> usize {
    let marked = raw.iter().rposition(|line| is_marked(line)).map_or(0, |at| at + 1);
    let rest = &raw[marked..];
    let blank = |line: &&&[u8]| content(line).is_empty();
    match after {
        After::Nothing => 0,
        After::Blank => rest.iter().rev().take_while(blank).count(),
        After::Prose => rest.iter().position(|line| blank(&line)).map_or(0, |at| rest.len() - at),
    }
}
