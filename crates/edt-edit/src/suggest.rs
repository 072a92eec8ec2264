//! Suggested corrections: what a patch or an edit that does not apply probably meant. Nothing is ever
//! written from a suggestion: it is printed as one that applies exactly, and the caller decides.
//!
//! The old side of each hunk is aligned with the file. Removed lines must be in the file, apart
//! from white space; context lines may be missing or different. Only the changes are transferred to
//! the lines of the file. There is no suggestion for a hunk if a second place fits nearly as well.

use std::borrow::Cow;
use std::ops::Range;

use super::align::{self, Alignment};
use super::alike::resembles;
use super::diff::LineDiff;
use super::flow::Flow;
use super::format;
use super::hunk::{FinalNewline, Hunk, HunkLine, Side};
use super::indent::{self, Indent, indent_of};
use super::noise::{self, SentLine, Stripped, Where};
use super::place::{self, Context, Matching};
use super::place_error::PlaceError;
use super::placement::{self, Placement};
use super::splice::{self, Splice};
pub use super::suggest_edit::{edit_between, edit_correction};
use super::table::{LineComparison, LineTable};
use edt_io::clock;
use edt_types::text::Endings;

/// A unified diff of the file `path` that makes the changes which `edits` (each a list of hunks,
/// applied in order) probably meant. `None` unless every hunk has one likely place.
#[must_use]
pub fn correction(path: &[u8], text: &[u8], edits: &[&[Hunk]]) -> Option<Vec<u8>> {
    let (mut likely_placements, mut budget) = (Cow::Borrowed(text), align::BUDGET);
    for hunks in edits {
        likely_placements =
            Cow::Owned(intended_text(&likely_placements, hunks, Source::Patch, &mut budget)?);
    }
    let patch = print(path, text, &likely_placements);
    // The suggestion must apply exactly and produce the intended text.
    let (_, files) = format::read(&patch, None).ok()?;
    let [format::FilePatch { path: named, action: format::FileAction::Update { hunks, .. }, .. }] =
        files.as_slice()
    else {
        return None;
    };
    let placed = place::place(text, hunks, Matching::Strict, Context::Complete).ok()?;
    (named == path && splice::apply(text, &placed.splices) == *likely_placements).then_some(patch)
}

/// What a hunk was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A patch: a new line may lack its marker.
    Patch,
    /// An edit: a line of context is in both of its texts.
    Edit,
}

/// The text after the changes that `hunks` probably meant.
pub(super) fn intended_text(
    text: &[u8],
    hunks: &[Hunk],
    source: Source,
    budget: &mut usize,
) -> Option<Vec<u8>> {
    let (exact, loose) = (
        LineTable::new(text, LineComparison::Exact),
        LineTable::new(text, LineComparison::Trimmed),
    );
    let mut likely = likely_changes((&exact, &loose), hunks, source, budget)?;
    let off = |(change, hunk): (&LikelyChange, &Hunk)| {
        hunk.at.is_some_and(|at| change.first.is_some_and(|first| at != first + 1))
    };
    if hunks.len() > 1 && likely.iter().zip(hunks).any(off) {
        // As in placing: one wrong line number makes all of them unreliable.
        let hunks: Vec<Hunk> = hunks.iter().map(|hunk| Hunk { at: None, ..hunk.clone() }).collect();
        likely = likely_changes((&exact, &loose), &hunks, source, budget)?;
    }
    let mut splices: Vec<Splice> = likely.into_iter().flat_map(|change| change.splices).collect();
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let apart = splices
        .windows(2)
        .all(|pair| pair[0].at.end <= pair[1].at.start && pair[0].at.start < pair[1].at.start);
    (apart && !splices.is_empty()).then(|| splice::apply(text, &splices))
}

/// What a hunk probably meant.
#[derive(Debug, PartialEq, Eq)]
struct LikelyChange {
    /// The line where its old side begins, if that is known.
    first: Option<usize>,
    splices: Vec<Splice>,
}

impl LikelyChange {
    fn at(table: &LineTable<'_>, placement: &Placement) -> LikelyChange {
        LikelyChange { first: Some(placement.first), splices: placement.splices(table) }
    }
}

fn likely_changes(
    (exact, loose): (&LineTable<'_>, &LineTable<'_>),
    hunks: &[Hunk],
    source: Source,
    budget: &mut usize,
) -> Option<Vec<LikelyChange>> {
    let placements = place::placements(exact, hunks, Matching::Lenient);
    let changes = placements.into_iter().zip(hunks).map(|(placement, hunk)| match placement {
        Ok(placement) => Some(LikelyChange::at(exact, &placement)),
        Err(PlaceError::NotFound(new)) if new.is_empty() => {
            let mut clean =
                if source == Source::Patch { without_noise(exact, hunk) } else { Vec::new() };
            if let Some(one) = clean.pop() {
                return one.filter(|one| clean.iter().all(|other| other.as_ref() == Some(one)));
            }
            let corrected = corrected(loose, hunk, source, budget)
                .map(|(at, hunk)| LikelyChange::at(exact, &Placement::exact(exact, hunk, at)));
            corrected.or_else(|| carried(exact.text(), hunk).filter(|_| source == Source::Patch))
        }
        Err(_) => None,
    });
    changes.collect()
}

/// The changes of a hunk without noise, for each kind of noise without which its old side is found;
/// `None` where it cannot be placed.
fn without_noise(table: &LineTable<'_>, hunk: &Hunk) -> Vec<Option<LikelyChange>> {
    let clean = |reading: &Hunk| {
        let sent = reading.lines.iter();
        let sent = sent.map(|line| SentLine { is_old: line.side != Side::New, text: &line.text });
        let stripped = noise::stripped(&sent.collect::<Vec<_>>());
        let hunk = |stripped: Stripped| {
            let pairs = reading.lines.iter().zip(stripped.lines);
            let lines =
                pairs.filter_map(|(line, text)| Some(HunkLine { text: text?, ..line.clone() }));
            (Hunk { lines: lines.collect(), ..reading.clone() }, stripped.place)
        };
        stripped.into_iter().map(hunk).collect::<Vec<_>>()
    };
    let change = |(hunk, place): (Hunk, Where)| {
        let is_there = |at: &Placement| !matches!(place, Where::Line(line) if line != at.first);
        match place::placement_of(table, &hunk) {
            Ok(placement) => {
                is_there(&placement).then(|| Some(LikelyChange::at(table, &placement)))
            }
            Err(PlaceError::NotFound(new)) if new.is_empty() => None,
            Err(_) => Some(None),
        }
    };
    let has_no_break =
        |(hunk, _): &(Hunk, Where)| hunk.lines.iter().all(|line| !line.text.contains(&b'\n'));
    hunk.readings().iter().flat_map(clean).filter(has_no_break).filter_map(change).collect()
}

/// The change of a hunk whose old side occurs once when only words and signs are compared.
fn carried(text: &[u8], hunk: &Hunk) -> Option<LikelyChange> {
    let is_plain = hunk.newline == FinalNewline::Unchanged && !hunk.at_end && hunk.tail == 0;
    if !is_plain || hunk.truncated || !matches!(Endings::of(text), Endings::Lf | Endings::None) {
        return None;
    }
    let side = |lines: Vec<&HunkLine>| -> Vec<u8> {
        lines.into_iter().flat_map(|line| [line.text.as_slice(), b"\n"].concat()).collect()
    };
    let (old, new) = (side(hunk.old_side()), side(hunk.new_side()));
    let flow = Flow::of(text).filter(|_| indent::agrees(text, &old))?;
    Some(LikelyChange { first: None, splices: flow.change(&old, &new, clock::in_ms(100))? })
}

/// The corrected hunk, and the line where it begins.
fn corrected(
    table: &LineTable<'_>,
    hunk: &Hunk,
    source: Source,
    budget: &mut usize,
) -> Option<(usize, Hunk)> {
    let mut best: Option<(Alignment, Hunk)> = None;
    for reading in hunk.readings() {
        let Some(found) = align::align(table, &reading, budget) else { continue };
        if best.as_ref().is_none_or(|(other, _)| found.score > other.score) {
            best = Some((found, reading));
        }
    }
    let (alignment, reading) = best?;
    // Blank lines are interchangeable: it is unknown which one is meant.
    let blank = |line: &HunkLine| line.side == Side::Both || line.text.trim_ascii().is_empty();
    if reading.lines.iter().all(blank) {
        return None;
    }
    if source == Source::Edit
        && (!has_sure_neighbours(table, &reading, &alignment)
            || names_another_block(table, &reading, &alignment))
    {
        return None;
    }
    if lacks_a_line(&reading, &alignment) {
        return None;
    }
    rebuilt(table, &reading, &alignment)
}

/// Whether the lines beside each run of changes show its place. If it only adds, all of them are as
/// in the file: nothing else shows where the new lines belong. If it removes lines, one of them is,
/// and what else is there resembles the one that was sent.
fn has_sure_neighbours(table: &LineTable<'_>, hunk: &Hunk, alignment: &Alignment) -> bool {
    let old = hunk.old_side();
    let is_filled = |at: &usize| !old[*at].text.trim_ascii().is_empty();
    let place = |at: usize| alignment.lines.get(at).copied().flatten();
    let same = |at: usize| {
        place(at).is_some_and(|line| table.lines_equal(&old[at].text, table.line(line)))
    };
    let (mut first, mut rest) = (0, hunk.lines.as_slice());
    while let Some(line) = rest.first() {
        let is_context = line.side == Side::Both;
        let run = rest.iter().take_while(|line| (line.side == Side::Both) == is_context).count();
        let (changed, after) = rest.split_at(run);
        let end = first + changed.iter().filter(|line| line.side != Side::New).count();
        let nearest = |is_near: &dyn Fn(&usize) -> bool| {
            [(0..first).rev().find(is_near), (end..old.len()).find(is_near)]
        };
        let mut beside = nearest(&is_filled);
        if beside == [None, None] {
            beside = nearest(&|_| true);
        }
        let mut beside_all = beside.into_iter().flatten();
        // A bracket alone is everywhere.
        let is_distinctive = |at: &usize| old[*at].text.trim_ascii().len() > 2;
        let is_sure = beside_all.clone().all(same)
            || first < end && beside_all.any(|at| is_distinctive(&at) && same(at));
        // The next lines of the file with text, on either side of what is removed.
        let around = (first < end).then(|| {
            let is_filled = |line: &usize| !table.line(*line).trim_ascii().is_empty();
            let above = place(first).and_then(|line| (0..line).rev().find(is_filled));
            let below = place(end - 1).map_or(0..0, |line| line + 1..table.len()).find(is_filled);
            [above, below]
        });
        let fits = |(at, found): (Option<usize>, Option<usize>)| match (at, found) {
            (Some(at), Some(found)) if same(at) => !is_filled(&at) || place(at) == Some(found),
            (Some(at), Some(found)) => resembles(&old[at].text, table.line(found)),
            (at, _) => at.is_none(),
        };
        let fit = around.is_none_or(|around| beside.into_iter().zip(around).all(fits));
        if !(is_context || is_sure && fit) {
            return false;
        }
        (first, rest) = (end, after);
    }
    true
}

/// Whether a sent line that is not at the place shows that another block is meant: it occurs
/// elsewhere in the file, or is the head of the sent lines and nothing like it is there.
fn names_another_block(table: &LineTable<'_>, hunk: &Hunk, alignment: &Alignment) -> bool {
    let old = hunk.old_side();
    let filled = old.iter().map(|line| line.text.as_slice());
    let filled = filled.filter(|line| line.trim_ascii().len() > 2);
    let least = filled.map(|line| indent_of(line).len()).min().unwrap_or(0);
    let has_deeper = old.iter().any(|line| indent_of(&line.text).len() > least);
    old.iter().zip(&alignment.lines).any(|(line, at)| {
        let (text, found) = (&line.text, at.map(|at| table.line(at)));
        if line.side != Side::Both || text.trim_ascii().len() <= 2 {
            return false;
        }
        if found.is_some_and(|found| table.lines_equal(text, found)) {
            return false;
        }
        let is_head = has_deeper && indent_of(text).len() == least;
        let is_unlike = || found.is_none_or(|found| !resembles(text, found));
        table.frequency(text) > 0 || is_head && is_unlike()
    })
}

/// Whether a context line is not in the file, and the file has nothing in its place: then it may be
/// a new line without its marker, or the place is another one.
fn lacks_a_line(hunk: &Hunk, alignment: &Alignment) -> bool {
    let old = hunk.old_side();
    let is_change = |at: usize| hunk.lines.get(at).is_some_and(|line| line.side != Side::Both);
    // Whether each line of the old side is beside a changed one.
    let beside: Vec<bool> = (0..hunk.lines.len())
        .filter(|&at| hunk.lines[at].side != Side::New)
        .map(|at| is_change(at + 1) || at.checked_sub(1).is_some_and(is_change))
        .collect();
    (0..old.len()).any(|i| {
        let absent = |at: usize| alignment.lines[at].is_none();
        let before = (0..i).rev().find(|&at| !absent(at)).and_then(|at| alignment.lines[at]);
        let after = (i..old.len()).find(|&at| !absent(at)).and_then(|at| alignment.lines[at]);
        let doubted = absent(i)
            && old[i].side == Side::Both
            && !old[i].text.trim_ascii().is_empty()
            && !align::is_elision(old[i]);
        let nothing_there = match (before, after) {
            (Some(before), Some(after)) => after == before + 1,
            _ => beside[i],
        };
        doubted && nothing_there
    })
}

/// The hunk rebuilt from the lines of the file and the new lines of `hunk`.
pub(super) fn rebuilt(
    table: &LineTable<'_>,
    hunk: &Hunk,
    alignment: &Alignment,
) -> Option<(usize, Hunk)> {
    let matched: Vec<usize> = alignment.lines.iter().flatten().copied().collect();
    let (first, last) = (*matched.first()?, *matched.last()?);
    let style = Style::of(table, hunk, alignment);
    let mut lines: Vec<HunkLine> = Vec::new();
    let mut at = first;
    let (mut i, mut old) = (0, 0);
    while i < hunk.lines.len() {
        if hunk.lines[i].side == Side::Both {
            (i, old) = (i + 1, old + 1);
            continue;
        }
        let run = hunk.lines[i..].iter().take_while(|line| line.side != Side::Both).count();
        let changed = &hunk.lines[i..i + run];
        let removed_count = changed.iter().filter(|line| line.side == Side::Old).count();
        let neighbours = (i.checked_sub(1).map(|at| &hunk.lines[at]), hunk.lines.get(i + run));
        let range = replaced_range(alignment, old, removed_count, neighbours)?;
        if range.start < at {
            return None;
        }
        lines
            .extend((at..range.start).map(|at| HunkLine::new(Side::Both, table.bytes(at..at + 1))));
        lines.extend(range.clone().map(|at| HunkLine::new(Side::Old, table.bytes(at..at + 1))));
        let cr = placement::end_near(table, range.start) == b"\r\n";
        let new: Vec<&HunkLine> = changed.iter().filter(|line| line.side == Side::New).collect();
        let texts: Vec<&[u8]> = new.iter().map(|line| line.text.as_slice()).collect();
        // A change that is already in the file must not be made again.
        let before =
            range.start.checked_sub(texts.len()).is_some_and(|at| table.matches_at(&texts, at));
        if removed_count == 0 && (before || table.matches_at(&texts, range.start)) {
            return None;
        }
        for line in new {
            let text = style.convert(table, line)?;
            lines.push(HunkLine { side: Side::New, text, cr, marked: false });
        }
        at = range.end;
        (i, old) = (i + run, old + removed_count);
    }
    lines.extend((at..=last).map(|at| HunkLine::new(Side::Both, table.bytes(at..at + 1))));
    Some((first, Hunk { lines, tail: 0, at: Some(first + 1), ..hunk.clone() }))
}

/// The lines of the file that a run of changes replaces. The run removes `removed_count` lines
/// beginning with old line `old`. If it only adds, the range is empty and lies between its
/// neighbours. `None` if that is not one contiguous range.
fn replaced_range(
    alignment: &Alignment,
    old: usize,
    removed_count: usize,
    neighbours: (Option<&HunkLine>, Option<&HunkLine>),
) -> Option<Range<usize>> {
    let lines = &alignment.lines;
    if removed_count > 0 {
        let first = lines[old]?;
        let contiguous = (0..removed_count).all(|i| lines[old + i] == Some(first + i));
        return contiguous.then_some(first..first + removed_count);
    }
    let before = old.checked_sub(1).and_then(|at| lines[at]);
    let after = lines.get(old).copied().flatten();
    // A neighbour that was matched elsewhere, or not at all, contradicts this place. An elision
    // does not.
    let silent = |line: Option<&HunkLine>| line.is_none_or(align::is_elision);
    match (before, after) {
        (Some(before), Some(after)) if after != before + 1 => None,
        (Some(before), Some(_)) => Some(before + 1..before + 1),
        (Some(before), None) if silent(neighbours.1) => Some(before + 1..before + 1),
        (None, Some(after)) if silent(neighbours.0) => Some(after..after),
        _ => None,
    }
}

/// How the white space of the patch maps to that of the file.
struct Style {
    indent: Option<Indent>,
    /// An indentation in the patch, and the line of the file that it was matched with.
    pairs: Vec<(Vec<u8>, usize)>,
    trailing: bool,
}

impl Style {
    fn of(table: &LineTable<'_>, hunk: &Hunk, alignment: &Alignment) -> Style {
        let pairs: Vec<(&[u8], usize)> = hunk
            .old_side()
            .into_iter()
            .zip(&alignment.lines)
            .filter_map(|(line, at)| Some((line.text.as_slice(), (*at)?)))
            .filter(|(line, at)| {
                table.lines_equal(line, table.line(*at)) && !line.trim_ascii().is_empty()
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

    /// A new line with the white space of the file; `None` if its indentation is unknown.
    fn convert(&self, table: &LineTable<'_>, line: &HunkLine) -> Option<Vec<u8>> {
        let text = if self.trailing { line.text.trim_ascii_end() } else { &line.text };
        if text.trim_ascii().is_empty() {
            let converted = self.indent.as_ref().and_then(|indent| indent.convert(text));
            let blank = converted.unwrap_or_else(|| text.to_vec());
            return Some(if self.trailing { Vec::new() } else { blank });
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

/// A unified diff of one file, with `a/` and `b/` before the names as Git prints them.
#[must_use]
pub fn print(path: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = [b"--- a/", path, b"\n+++ b/", path, b"\n"].concat();
    for hunk in LineDiff::of(old, new, clock::in_ms(200)).hunks() {
        out.extend_from_slice(hunk.header.as_bytes());
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
