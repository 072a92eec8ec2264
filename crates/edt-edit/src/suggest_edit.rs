//! The correction of an edit whose text was not found: the texts that make the intended change.
//!
//! The levels are tried in order, and the first that finds a place decides: a reading of the texts
//! that occurs exactly, lines that differ in white space, words and signs, lines with changed
//! neighbours.

use std::ops::Range;

use super::align;
use super::flow::Flow;
use super::hunk::{Hunk, Side, between};
use super::indent;
use super::locate::{self, Located, Occurrences};
use super::noise::Where;
use super::place::{self, Context, Matching};
use super::place_error::PlaceError;
use super::reading::{Reading, partly_made, readings};
use super::splice;
use super::suggest::{Source, intended_text};
use super::table::{LineComparison, LineTable};
use edt_io::clock;
use edt_lang::language_of;
use edt_types::RepoPath;
use edt_types::text::{self, BOM, Endings};

/// The old and the new text of an edit that makes the change which an edit from `old` to `new`
/// probably meant. `old` must not occur in `text`. `None` unless there is one likely place.
#[must_use]
pub fn edit_correction(
    path: &RepoPath,
    text: &[u8],
    (old, new): (&[u8], &[u8]),
    occurrences: Occurrences,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let endings = Endings::of(text);
    if endings == Endings::Mixed || text::is_binary(text) || text::is_binary(old) {
        return None;
    }
    let lf = text::to_lf(text);
    let body = lf.strip_prefix(BOM).unwrap_or(&lf);
    let [old, new] = [old, new].map(text::to_lf);
    if old == new {
        return None;
    }
    let readings = readings(body, &old, &new)?;
    let made =
        |new: &[u8]| place::is_distinctive_text(new) && memchr::memmem::find(body, new).is_some();
    if readings.iter().any(|reading| made(&reading.new)) || made(&new) {
        return None;
    }
    let mut exact = exact_reading(body, &readings, occurrences)?;
    let partly_made = partly_made(&old, &new);
    if exact.is_none() && occurrences == Occurrences::One {
        exact = exact_reading(body, &partly_made, occurrences)?;
    }
    if occurrences == Occurrences::All {
        return exact.map(|(reading, _)| (reading.old.clone(), reading.new.clone()));
    }
    let intended = if let Some((_, intended)) = exact {
        intended
    } else {
        // What must begin a line is found exactly, or not at all.
        let anywhere = |one: &&Reading| one.place == Where::Anywhere;
        let mut likely: Vec<Reading> = readings.iter().filter(anywhere).cloned().collect();
        likely.push(Reading { old, new, place: Where::Anywhere });
        let spaced = lenient(body, &likely)?;
        let flow = Flow::of(body);
        let agrees = |one: &Reading| indent::agrees(body, &one.old);
        let is_sure = || !has_meaningful_indentation(path, body) || likely.iter().all(agrees);
        // Only words and signs are compared.
        let carried = |reading: &Reading| {
            let splices = flow.as_ref()?.change(&reading.old, &reading.new, clock::in_ms(100))?;
            Some(splice::apply(body, &splices))
        };
        spaced
            .or_else(|| agreed(likely.iter().map(carried)).filter(|_| is_sure()))
            .or_else(|| aligned(body, &likely).filter(|_| is_sure()))?
    };
    edit_between(text, &intended)
}

/// The old and the new text of an edit that makes `after` of `text`. Both may have a byte-order mark
/// and any line endings. `None` if such an edit would not be unique.
#[must_use]
pub fn edit_between(text: &[u8], after: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let plain = |text: &[u8]| {
        let lf = text::to_lf(text);
        lf.strip_prefix(BOM).unwrap_or(&lf).to_vec()
    };
    let (body, intended, endings) = (plain(text), plain(after), Endings::of(text));
    let (old, new) = smallest_edit(&body, &intended)?;
    let [old, new] = [old, new].map(|text| endings.convert(text));
    // The suggestion must apply exactly and produce the intended text.
    let Located::At(at) = locate::locate(text, &old, Occurrences::One) else { return None };
    let edited = splice::apply(text, &locate::replace(text, &at, &new));
    (plain(&edited) == intended).then_some((old, new))
}

/// The reading that occurs in the text as requested, with the text after the edit. `None` if one
/// occurs too often, or if two would change the text differently; `Some(None)` if none occurs.
#[expect(clippy::option_option, reason = "no reading and no decision are different answers")]
fn exact_reading<'r>(
    text: &[u8],
    readings: &'r [Reading],
    occurrences: Occurrences,
) -> Option<Option<(&'r Reading, Vec<u8>)>> {
    let mut found: Option<(&Reading, Vec<u8>)> = None;
    for reading in readings {
        let at = match locate::locate(text, &reading.old, occurrences) {
            Located::At(at) => at,
            Located::Ambiguous(_) => return None,
            Located::NotFound => continue,
        };
        let starts_line = |at: usize| at.checked_sub(1).is_none_or(|before| text[before] == b'\n');
        let line = |at: usize| usize::try_from(text::line_of(text, at)).unwrap_or(0);
        let fits = |at: &Range<usize>| match reading.place {
            Where::Anywhere => true,
            Where::LineStart => starts_line(at.start),
            Where::Line(number) => starts_line(at.start) && line(at.start) == number + 1,
        };
        if !at.iter().all(fits) {
            continue;
        }
        let edited = splice::apply(text, &locate::replace(text, &at, &reading.new));
        if found.as_ref().is_some_and(|(_, other)| *other != edited) {
            return None;
        }
        found = Some((reading, edited));
    }
    Some(found)
}

/// The text after the change, if the lines of a reading occur once apart from white space at their
/// ends. `None` if they occur at several places; `Some(None)` if they do not occur.
#[expect(clippy::option_option, reason = "no place and no decision are different answers")]
fn lenient(text: &[u8], readings: &[Reading]) -> Option<Option<Vec<u8>>> {
    let mut found: Option<Vec<u8>> = None;
    for reading in readings {
        let hunk = Hunk::of(1, between(&reading.old, &reading.new));
        let edited = match place::place(text, &[hunk], Matching::Lenient, Context::Complete) {
            Ok(placed) => splice::apply(text, &placed.splices),
            Err(missed) => match &missed.first()?.why {
                PlaceError::NotFound(new) if new.is_empty() => continue,
                _ => return None,
            },
        };
        if found.as_ref().is_some_and(|other| *other != edited) {
            return None;
        }
        found = Some(edited);
    }
    Some(found)
}

/// Whether another indentation can mean something else. So it may in a file of an unknown kind.
fn has_meaningful_indentation(path: &RepoPath, text: &[u8]) -> bool {
    let language = language_of(path, text).map(|language| language.name);
    language.is_none_or(|name| ["python", "yaml", "make"].contains(&name))
}

/// The text after the change, if the lines of one reading have one likely place. Only the readings
/// of which most lines occur in the text are aligned.
fn aligned(text: &[u8], readings: &[Reading]) -> Option<Vec<u8>> {
    let loose = LineTable::new(text, LineComparison::Trimmed);
    let present = |reading: &Reading| {
        let filled = text::lines(&reading.old).filter(|line| !line.trim_ascii().is_empty());
        filled.filter(|line| loose.frequency(line) > 0).count()
    };
    // The rest of the line may be the next sent line: then more than a neighbour differs.
    let broken = |line: &[u8]| {
        let line = line.trim_ascii();
        let whole = line.len() > 2 && loose.frequency(line) == 0;
        whole && memchr::memmem::find(text, &[line, b"\\n"].concat()).is_some()
    };
    if readings.last().is_some_and(|sent| text::lines(&sent.old).any(broken)) {
        return None;
    }
    let readings: Vec<(usize, &Reading)> =
        readings.iter().map(|reading| (present(reading), reading)).collect();
    let most = readings.iter().map(|(count, _)| *count).max()?;
    let mut budget = align::BUDGET;
    agreed(readings.into_iter().filter(|(count, _)| *count == most).map(|(_, reading)| {
        let hunk = Hunk::of(1, between(&reading.old, &reading.new));
        if moves_a_line(&hunk) {
            return None;
        }
        let slid = hunk.slid_down();
        let intended = intended_text(text, &[hunk], Source::Edit, &mut budget)?;
        // A change that is described in two ways must mean the same in both.
        let same = match slid {
            Some(slid) => {
                let other = intended_text(text, &[slid], Source::Edit, &mut budget);
                other.as_ref() == Some(&intended)
            }
            None => true,
        };
        same.then_some(intended)
    }))
}

/// The only text of `texts`; `None` if two differ.
fn agreed(texts: impl Iterator<Item = Option<Vec<u8>>>) -> Option<Vec<u8>> {
    let mut texts = texts.flatten();
    let first = texts.next()?;
    texts.all(|other| other == first).then_some(first)
}

/// The complete lines that differ between `text` and `after`, with as many lines around them as
/// make the old ones unique.
fn smallest_edit<'t>(text: &'t [u8], after: &'t [u8]) -> Option<(&'t [u8], &'t [u8])> {
    let (old, new) =
        (LineTable::new(text, LineComparison::Exact), LineTable::new(after, LineComparison::Exact));
    let same = |one: usize, other: usize| old.bytes(one..one + 1) == new.bytes(other..other + 1);
    let shorter = old.len().min(new.len());
    let head = (0..shorter).take_while(|&at| same(at, at)).count();
    let tail = (1..=shorter - head)
        .take_while(|from_end| same(old.len() - from_end, new.len() - from_end))
        .count();
    let (mut first, mut end) = (head, old.len() - tail);
    if first == end && first == old.len() && new.len() == old.len() {
        return None;
    }
    for _ in 0..MAX_AROUND {
        let piece = old.bytes(first..end);
        if !piece.is_empty()
            && matches!(locate::locate(text, piece, Occurrences::One), Located::At(_))
        {
            return Some((piece, new.bytes(first..new.len() - (old.len() - end))));
        }
        (first, end) = (first.saturating_sub(1), (end + 1).min(old.len()));
    }
    None
}

/// The most lines that a correction adds before and after the lines that it changes.
const MAX_AROUND: usize = 30;

/// Whether a removed line is added elsewhere: then the same change could be described differently,
/// and would mean something else where lines differ.
fn moves_a_line(hunk: &Hunk) -> bool {
    let of = |side: Side| hunk.lines.iter().filter(move |line| line.side == side);
    of(Side::Old)
        .any(|old| old.text.trim_ascii().len() > 2 && of(Side::New).any(|new| new.text == old.text))
}
