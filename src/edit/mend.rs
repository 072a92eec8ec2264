//! What a patch that does not fit probably meant, for the offered correction. Nothing is ever written from it: it is printed as a
//! patch that fits exactly, and the caller decides.
//!
//! Each hunk's old side is aligned with the file: removed lines must stand there but for white space; lines of context may be missing or
//! altered. The changes alone are carried over, into the file's own lines. A hunk with a second place that fits nearly as well is not
//! mended.

use std::borrow::Cow;
use std::ops::Range;

use super::align::{self, Alignment};
use super::diff::Lines;
use super::format;
use super::hunk::{Hunk, Line, Side};
use super::indent::{Indent, indent_of};
use super::place::{self, Matching, Misfit};
use super::seat::{self, Seat};
use super::splice::{self, Splice};
use super::table::{Likeness, LineTable};
use crate::io::clock;

/// A patch that does to `text` what the `edits`, each a list of hunks, probably meant one after another: a unified diff of the file
/// `path`. `None` unless every hunk has one likely place.
#[must_use]
pub fn correction(path: &[u8], text: &[u8], edits: &[&[Hunk]]) -> Option<Vec<u8>> {
    let (mut meant, mut budget) = (Cow::Borrowed(text), align::BUDGET);
    for hunks in edits {
        meant = Cow::Owned(once(&meant, hunks, &mut budget)?);
    }
    let patch = print(path, text, &meant);
    // Ready to send means: sent back it lands, and does just that.
    let (_, files) = format::read(&patch, None).ok()?;
    let [format::FilePatch { path: named, action: format::Action::Update { hunks, .. }, .. }] =
        files.as_slice()
    else {
        return None;
    };
    let placed = place::place(text, hunks, Matching::Strict).ok()?;
    (named == path && splice::apply(text, &placed.splices) == *meant).then_some(patch)
}

/// The text that `hunks` probably meant.
fn once(text: &[u8], hunks: &[Hunk], budget: &mut usize) -> Option<Vec<u8>> {
    let (exact, loose) =
        (LineTable::new(text, Likeness::Exact), LineTable::new(text, Likeness::Trimmed));
    let mut seats = meant(&exact, &loose, hunks, budget)?;
    let off = |(seat, hunk): (&Seat, &Hunk)| hunk.at.is_some_and(|at| at != seat.first + 1);
    if hunks.len() > 1 && seats.iter().zip(hunks).any(off) {
        // As for placing: then no number of the patch is to be believed.
        let hunks: Vec<Hunk> = hunks.iter().map(|hunk| Hunk { at: None, ..hunk.clone() }).collect();
        seats = meant(&exact, &loose, &hunks, budget)?;
    }
    let mut splices: Vec<Splice> = seats.iter().flat_map(|seat| seat.splices(&exact)).collect();
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let apart = splices
        .windows(2)
        .all(|pair| pair[0].at.end <= pair[1].at.start && pair[0].at.start < pair[1].at.start);
    (apart && !splices.is_empty()).then(|| splice::apply(text, &splices))
}

/// Where each hunk probably goes.
fn meant(
    exact: &LineTable<'_>,
    loose: &LineTable<'_>,
    hunks: &[Hunk],
    budget: &mut usize,
) -> Option<Vec<Seat>> {
    let seats = place::seats(exact, hunks, Matching::Lenient);
    let seats = seats.into_iter().zip(hunks).map(|(seat, hunk)| match seat {
        Ok(seat) => Some(seat),
        Err(Misfit::Absent(new)) if new.is_empty() => {
            let (at, hunk) = mended(loose, hunk, budget)?;
            Some(Seat::exact(exact, hunk, at))
        }
        Err(_) => None,
    });
    seats.collect()
}

/// The hunk as it would have to be, and the line where it begins.
fn mended(table: &LineTable<'_>, hunk: &Hunk, budget: &mut usize) -> Option<(usize, Hunk)> {
    let mut best: Option<(Alignment, Hunk)> = None;
    for reading in hunk.readings() {
        let Some(found) = align::align(table, &reading, budget) else { continue };
        if best.as_ref().is_none_or(|(other, _)| found.score > other.score) {
            best = Some((found, reading));
        }
    }
    let (alignment, reading) = best?;
    // One of several blank lines is like the other: which is meant cannot be told.
    let blank = |line: &Line| line.side == Side::Both || line.text.trim_ascii().is_empty();
    if reading.lines.iter().all(blank) {
        return None;
    }
    rebuilt(table, &reading, &alignment)
}

/// The hunk made of the file's own lines and the new lines of `hunk`.
fn rebuilt(table: &LineTable<'_>, hunk: &Hunk, alignment: &Alignment) -> Option<(usize, Hunk)> {
    let matched: Vec<usize> = alignment.lines.iter().flatten().copied().collect();
    let (first, last) = (*matched.first()?, *matched.last()?);
    let style = Style::of(table, hunk, alignment);
    let mut lines: Vec<Line> = Vec::new();
    let mut at = first;
    let (mut i, mut old) = (0, 0);
    while i < hunk.lines.len() {
        if hunk.lines[i].side == Side::Both {
            (i, old) = (i + 1, old + 1);
            continue;
        }
        let run = hunk.lines[i..].iter().take_while(|line| line.side != Side::Both).count();
        let changed = &hunk.lines[i..i + run];
        let gone = changed.iter().filter(|line| line.side == Side::Old).count();
        let neighbours = (i.checked_sub(1).map(|at| &hunk.lines[at]), hunk.lines.get(i + run));
        let range = place_of(alignment, old, gone, neighbours)?;
        if range.start < at {
            return None;
        }
        lines.extend((at..range.start).map(|at| Line::new(Side::Both, table.bytes(at..at + 1))));
        lines.extend(range.clone().map(|at| Line::new(Side::Old, table.bytes(at..at + 1))));
        let cr = seat::end_near(table, range.start) == b"\r\n";
        let new: Vec<&Line> = changed.iter().filter(|line| line.side == Side::New).collect();
        let texts: Vec<&[u8]> = new.iter().map(|line| line.text.as_slice()).collect();
        // Made already, it must not be made again.
        let before =
            range.start.checked_sub(texts.len()).is_some_and(|at| table.stands(&texts, at));
        if gone == 0 && (before || table.stands(&texts, range.start)) {
            return None;
        }
        for line in new {
            let text = style.convert(table, line)?;
            lines.push(Line { side: Side::New, text, cr, marked: false });
        }
        at = range.end;
        (i, old) = (i + run, old + gone);
    }
    lines.extend((at..=last).map(|at| Line::new(Side::Both, table.bytes(at..at + 1))));
    Some((first, Hunk { lines, tail: 0, at: Some(first + 1), ..hunk.clone() }))
}

/// The lines of the file that a run of changes takes the place of: `gone` removed lines from the old line `old` on, or, if it only adds,
/// the place between its neighbours. `None` if that is not one place.
fn place_of(
    alignment: &Alignment,
    old: usize,
    gone: usize,
    neighbours: (Option<&Line>, Option<&Line>),
) -> Option<Range<usize>> {
    let lines = &alignment.lines;
    if gone > 0 {
        let first = lines[old]?;
        let whole = (0..gone).all(|i| lines[old + i] == Some(first + i));
        return whole.then_some(first..first + gone);
    }
    let before = old.checked_sub(1).and_then(|at| lines[at]);
    let after = lines.get(old).copied().flatten();
    // A neighbour that stands elsewhere or nowhere says that this is not the place; dots say nothing.
    let silent = |line: Option<&Line>| line.is_none_or(align::is_elision);
    match (before, after) {
        (Some(before), Some(after)) if after != before + 1 => None,
        (Some(before), Some(_)) => Some(before + 1..before + 1),
        (Some(before), None) if silent(neighbours.1) => Some(before + 1..before + 1),
        (None, Some(after)) if silent(neighbours.0) => Some(after..after),
        _ => None,
    }
}

/// How the patch writes white space where the file writes it otherwise.
struct Style {
    indent: Option<Indent>,
    /// Each pair of an indentation in the patch and in the file, with the line of the file.
    pairs: Vec<(Vec<u8>, usize)>,
    trailing: bool,
}

impl Style {
    fn of(table: &LineTable<'_>, hunk: &Hunk, alignment: &Alignment) -> Style {
        let pairs: Vec<(&[u8], usize)> = hunk
            .old()
            .into_iter()
            .zip(&alignment.lines)
            .filter_map(|(line, at)| Some((line.text.as_slice(), (*at)?)))
            .filter(|(line, at)| {
                table.alike(line, table.line(*at)) && !line.trim_ascii().is_empty()
            })
            .collect();
        let ends = |line: &[u8]| line.len() - line.trim_ascii_end().len();
        let extra =
            pairs.iter().filter(|(line, at)| ends(line) > 0 && ends(table.line(*at)) == 0).count();
        let same = pairs
            .iter()
            .filter(|(line, at)| ends(line) > 0 && ends(line) == ends(table.line(*at)))
            .count();
        let new = hunk
            .lines
            .iter()
            .filter(|line| line.side == Side::New)
            .map(|line| line.text.as_slice());
        let texts: Vec<(&[u8], &[u8])> =
            pairs.iter().map(|(line, at)| (*line, table.line(*at))).collect();
        Style {
            indent: Indent::for_lines(&texts, new),
            pairs: pairs.iter().map(|(line, at)| (indent_of(line).to_vec(), *at)).collect(),
            trailing: extra > 0 && same == 0,
        }
    }

    /// A new line as the file would have it; `None` if its indentation cannot be told.
    fn convert(&self, table: &LineTable<'_>, line: &Line) -> Option<Vec<u8>> {
        let text = if self.trailing { line.text.trim_ascii_end() } else { &line.text };
        if text.trim_ascii().is_empty() {
            return Some(if self.trailing { Vec::new() } else { text.to_vec() });
        }
        if let Some(indent) = &self.indent {
            return indent.convert(text);
        }
        let own = indent_of(text);
        let with = |indent: &[u8]| [indent, text.trim_ascii_start()].concat();
        let mut seen: Vec<&[u8]> = self
            .pairs
            .iter()
            .filter(|(indent, _)| indent == own)
            .map(|(_, at)| indent_of(table.line(*at)))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        match seen.as_slice() {
            [only] => Some(with(only)),
            _ => None,
        }
    }
}

/// A unified diff of one file, with the names that Git gives.
#[must_use]
pub fn print(path: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = [b"--- a/", path, b"\n+++ b/", path, b"\n"].concat();
    for hunk in Lines::of(old, new, clock::in_ms(200)).hunks() {
        out.extend_from_slice(hunk.head.as_bytes());
        out.push(b'\n');
        for (mark, line) in hunk.lines {
            out.push(u8::try_from(mark).unwrap_or(b' '));
            out.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
    out
}
