//! Where the hunks of a patch go: each exactly once, or a reason. Never the first match, never a part of the context.
//!
//! All hunks of one file are placed in the text as it stood before the patch. A line number only chooses between equals, and only
//! when it points exactly at one of them. What a patch would do a second time is not done: a hunk whose new side stands where it
//! would go is refused.

use std::ops::Range;

use super::anchor;
use super::hunk::{FinalNewline, Hunk, Line, Side};
use super::seat::{self, Seat};
use super::splice::Splice;
use super::table::{Likeness, LineTable};
use crate::base::MatchedBy;
use crate::base::text::BOM;

/// How far the old side of a hunk may differ from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// Not at all, line ends aside.
    #[default]
    Strict,
    /// In white space at the ends of lines, and in indentation by one rule for the whole hunk.
    Lenient,
}

/// Where all hunks go.
#[derive(Debug, PartialEq, Eq)]
pub struct Placed {
    /// What they change, in order of the text.
    pub splices: Vec<Splice>,
    /// The weakest likeness that was needed.
    pub matched_by: MatchedBy,
    /// The 1-based lines where text was inserted by number alone.
    pub unchecked: Vec<usize>,
}

/// Why a hunk goes nowhere. Lines are 0-based lines of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// Its old side stands at several places.
    Ambiguous(Vec<usize>),
    /// Its new side stands where it would go, at these places.
    Already(Vec<usize>),
    /// Its old side stands nowhere; its new side may stand at these places.
    Absent(Vec<usize>),
    /// An anchor stands nowhere, or, with nothing else to go by, at several places.
    Anchor {
        /// Which one.
        index: usize,
        /// Where it stands.
        lines: Vec<usize>,
    },
    /// It has no old side, no anchor and no line number.
    Nowhere,
    /// The patch ends within it, and what was to follow is not known.
    Cut,
    /// It changes what the hunk of this index needs.
    Overlaps(usize),
}

/// A hunk that goes nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misplaced {
    /// Its index.
    pub hunk: usize,
    /// Why.
    pub why: Misfit,
}

/// Most places that are told of one hunk.
pub const MAX_PLACES: usize = 20;

/// Most places that anchors choose from.
const MAX_NARROWED: usize = 1000;

/// Finds the one place of every hunk.
///
/// # Errors
/// Every hunk that has none; nothing is half placed.
pub fn place(text: &[u8], hunks: &[Hunk], matching: Matching) -> Result<Placed, Vec<Misplaced>> {
    let table = LineTable::new(text, Likeness::Exact);
    let mut seats = seats(&table, hunks, matching);
    let off = seats
        .iter()
        .zip(hunks)
        .any(|(seat, hunk)| seat.as_ref().is_ok_and(|seat| is_off(seat, hunk)));
    if off && hunks.len() > 1 && seats.iter().all(Result::is_ok) {
        let hunks: Vec<Hunk> = hunks.iter().map(|hunk| Hunk { at: None, ..hunk.clone() }).collect();
        seats = self::seats(&table, &hunks, matching);
    }
    let found = seats.iter().filter_map(|seat| seat.as_ref().ok()).map(|seat| seat.matched_by);
    let matched_by = found.max().unwrap_or(MatchedBy::Exact);
    let mut missed: Vec<Misplaced> = seats
        .iter()
        .enumerate()
        .filter_map(|(hunk, seat)| Some(Misplaced { hunk, why: seat.as_ref().err()?.clone() }))
        .collect();
    let seats: Vec<(usize, Seat)> =
        seats.into_iter().enumerate().filter_map(|(i, seat)| Some((i, seat.ok()?))).collect();
    missed.extend(overlaps(&seats));
    if !missed.is_empty() {
        return Err(missed);
    }
    let unchecked =
        seats.iter().filter(|(_, seat)| seat.unchecked).map(|(_, seat)| seat.first + 1).collect();
    let mut seats = seats;
    seats.sort_by_key(|(i, seat)| (seat.first, *i));
    let mut splices: Vec<Splice> =
        seats.iter().flat_map(|(_, seat)| seat.splices(&table)).collect();
    splices.sort_by_key(|splice| splice.at.start);
    Ok(Placed { splices, matched_by, unchecked })
}

/// Whether a hunk stands elsewhere than its number says: then no number of the patch is to be believed.
fn is_off(seat: &Seat, hunk: &Hunk) -> bool {
    hunk.at.is_some_and(|at| at != seat.first + 1)
}

/// The place of each hunk by itself.
pub(super) fn seats(
    table: &LineTable<'_>,
    hunks: &[Hunk],
    matching: Matching,
) -> Vec<Result<Seat, Misfit>> {
    let mut seats: Vec<Result<Seat, Misfit>> =
        hunks.iter().map(|hunk| seat_of(table, hunk)).collect();
    if matching == Matching::Lenient
        && seats.iter().any(|seat| matches!(seat, Err(Misfit::Absent(_))))
    {
        let loose = LineTable::new(table.text(), Likeness::Trimmed);
        for (seat, hunk) in seats.iter_mut().zip(hunks) {
            if matches!(seat, Err(Misfit::Absent(new)) if new.is_empty()) {
                *seat = loose_seat_of(&loose, hunk);
            }
        }
    }
    seats
}

fn seat_of(table: &LineTable<'_>, hunk: &Hunk) -> Result<Seat, Misfit> {
    if hunk.lines.iter().all(|line| line.side == Side::New) {
        return inserted(table, hunk);
    }
    let mut absent = Misfit::Absent(Vec::new());
    for reading in hunk.readings() {
        match choose(table, &reading) {
            Ok(first) if reading.cut && first + reading.old().len() < table.len() => {
                return Err(Misfit::Cut);
            }
            Ok(first) => return Ok(Seat::exact(table, reading, first)),
            Err(Misfit::Absent(new)) if new.is_empty() => {}
            Err(Misfit::Absent(new)) => absent = Misfit::Absent(new),
            Err(other) => return Err(other),
        }
    }
    Err(absent)
}

/// A hunk of new lines alone goes after its anchor, at the end, or where its number says.
fn inserted(table: &LineTable<'_>, hunk: &Hunk) -> Result<Seat, Misfit> {
    let (first, unchecked) = if !hunk.anchors.is_empty() {
        (anchor::line(table, &hunk.anchors)? + 1, false)
    } else if hunk.at_end || table.is_empty() {
        (table.len(), false)
    } else {
        match hunk.at {
            Some(at) if at > 0 && at <= table.len() + 1 => (at - 1, true),
            Some(_) => return Err(Misfit::Absent(Vec::new())),
            None => return Err(Misfit::Nowhere),
        }
    };
    let new = run(&hunk.new_side());
    let before =
        first.checked_sub(new.len()).filter(|_| hunk.at_end).filter(|&at| table.stands(&new, at));
    match before.or_else(|| table.stands(&new, first).then_some(first)) {
        Some(at) if !new.is_empty() => Err(Misfit::Already(vec![at])),
        _ => Ok(Seat { unchecked, ..Seat::exact(table, hunk.clone(), first) }),
    }
}

/// The one place of a reading.
fn choose(table: &LineTable<'_>, hunk: &Hunk) -> Result<usize, Misfit> {
    let (old, new) = (hunk.old(), hunk.new_side());
    let (old_run, new_run) = (run(&old), run(&new));
    let marked = old.first().is_some_and(|line| line.text.starts_with(BOM));
    let said = hunk.at.and_then(|at| at.checked_sub(1));
    let fits = |at: &usize| {
        (!hunk.at_end || at + old.len() == table.len())
            && (!marked || (*at == 0 && table.text().starts_with(BOM)))
    };
    let limit = if hunk.anchors.is_empty() { MAX_PLACES } else { MAX_NARROWED };
    let mut places = match table.len().checked_sub(old.len()).filter(|_| hunk.at_end) {
        Some(last) => Vec::from_iter(table.stands(&old_run, last).then_some(last)),
        None => table.find(&old_run, limit),
    };
    // What was not looked at may be a place, too: then no place is the only one.
    let all = marked || places.len() <= limit;
    places.extend(said.filter(|at| !places.contains(at) && table.stands(&old_run, *at)));
    places.retain(fits);
    let found = places.clone();
    let mut places = anchor::narrow(table, &hunk.anchors, places, old.len())?;
    if let ([], [only]) = (places.as_slice(), found.as_slice())
        && all
        && is_telling(&old_run)
        && anchor::is_below(table, &hunk.anchors, *only)?
    {
        // It stands once in the whole file, and says enough by itself: the anchor heads another block than it was taken for.
        places.push(*only);
    }
    let adds = hunk.lines.iter().any(|line| line.side == Side::New);
    let mut done = if adds { table.find(&new_run, MAX_PLACES) } else { Vec::new() };
    let told =
        |at: &usize| !new_run.is_empty() && !done.contains(at) && table.stands(&new_run, *at);
    let told = said.filter(told).filter(|at| adds || !places.contains(at));
    done.extend(told);
    // Lines alone do not tell whether a change of line ends, of the mark at the start, or of the final newline was made.
    let of_form = old_run.len() == new_run.len()
        && old_run.iter().zip(&new_run).all(|(old, new)| table.alike(old, new));
    if of_form && hunk.newline == FinalNewline::Kept {
        done.retain(|&at| stands_in_form(table, &new, at));
    } else if !is_newline_as_said(table, hunk.newline) {
        done.clear();
    }
    // It stands where the number says, and what it brings does not: the number decides.
    if let Some(said) = said.filter(|said| places.contains(said) && !done.contains(said)) {
        return Ok(said);
    }
    // Where the new side covers the old one the change has been made.
    let covered =
        |at: &usize| done.iter().any(|new| new <= at && at + old.len() <= new + new_run.len());
    let open: Vec<usize> = places.iter().copied().filter(|at| !covered(at)).collect();
    match open.as_slice() {
        [only] if said == Some(*only) => Ok(*only),
        [] if !all => Err(Misfit::Ambiguous(found)),
        [_] if !all => Err(Misfit::Ambiguous(open)),
        [] if places.is_empty() => {
            Err(Misfit::Absent(if is_telling(&new_run) { done } else { Vec::new() }))
        }
        [] => Err(Misfit::Already(done)),
        // It was made at one of them already, or is to be made there once more: that is not for edt to say.
        [_] if places.len() > 1 => Err(Misfit::Already(done)),
        [_] if !done.is_empty()
            && (is_telling(&new_run) || said.is_some_and(|said| done.contains(&said))) =>
        {
            Err(Misfit::Already(done))
        }
        [only] => Ok(*only),
        several => said.filter(|at| several.contains(at)).ok_or(Misfit::Ambiguous(open)),
    }
}

/// Whether lines stand at `at` with their very white space, line ends and byte-order mark.
fn stands_in_form(table: &LineTable<'_>, lines: &[&Line], at: usize) -> bool {
    lines.iter().enumerate().all(|(i, line)| {
        let marked = at + i == 0 && table.text().starts_with(BOM);
        let text = if marked { line.text.strip_prefix(BOM) } else { Some(line.text.as_slice()) };
        let end = table.end(at + i);
        text == Some(table.line(at + i)) && (end.is_empty() || line.cr == (end == b"\r\n"))
    })
}

/// Whether the end of the file is already as a change of its newline would leave it: lines alone do not tell.
fn is_newline_as_said(table: &LineTable<'_>, newline: FinalNewline) -> bool {
    let terminated = table.len().checked_sub(1).is_some_and(|last| !table.end(last).is_empty());
    match newline {
        FinalNewline::Kept => true,
        FinalNewline::Added => terminated,
        FinalNewline::Removed => !terminated,
    }
}

/// Whether lines say enough that finding them is no accident.
fn is_telling(run: &[&[u8]]) -> bool {
    run.iter().filter(|line| line.trim_ascii().len() > 2).count() >= 2
}

/// The one place of a hunk, white space at the ends of lines aside.
fn loose_seat_of(table: &LineTable<'_>, hunk: &Hunk) -> Result<Seat, Misfit> {
    let mut absent = Misfit::Absent(Vec::new());
    for reading in hunk.readings() {
        match choose(table, &reading) {
            Ok(first) => {
                if let Some(seat) = seat::indented(table, reading, first) {
                    return Ok(seat);
                }
            }
            Err(Misfit::Absent(new)) if new.is_empty() => {}
            Err(Misfit::Absent(new)) => absent = Misfit::Absent(new),
            Err(other) => return Err(other),
        }
    }
    Err(absent)
}

/// The texts of lines as they are looked for.
pub(super) fn run<'h>(lines: &[&'h Line]) -> Vec<&'h [u8]> {
    lines.iter().map(|line| line.text.strip_prefix(BOM).unwrap_or(&line.text)).collect()
}

/// Hunks that change what another needs, each told with the other.
fn overlaps(seats: &[(usize, Seat)]) -> Vec<Misplaced> {
    let touches = |changed: &Range<usize>, other: &Range<usize>| {
        changed.start < other.end && other.start < changed.end
            || (changed.start == other.start && (changed.is_empty() || other.is_empty()))
    };
    // One ends where the other begins: then both say what stands between their new lines.
    let in_order = |one: &Seat, other: &Seat| {
        one.covered().end <= other.covered().start && !one.covered().is_empty()
    };
    let mut order: Vec<&(usize, Seat)> = seats.iter().collect();
    order.sort_by_key(|(i, seat)| (seat.first, *i));
    let mut missed = Vec::new();
    for (at, (i, seat)) in order.iter().enumerate() {
        let end = seat.first + seat.hunk.old().len();
        for (j, other) in order[at + 1..].iter().take_while(|(_, other)| other.first <= end) {
            let (mine, theirs) = (seat.changed(), other.changed());
            let clash = mine
                .iter()
                .any(|a| touches(a, &other.covered()) && theirs.iter().any(|b| touches(a, b)))
                || mine.iter().any(|a| !a.is_empty() && touches(a, &other.covered()))
                || theirs.iter().any(|b| !b.is_empty() && touches(b, &seat.covered()));
            if clash && !in_order(seat, other) {
                missed.push(Misplaced { hunk: *j.max(i), why: Misfit::Overlaps(*j.min(i)) });
            }
        }
    }
    missed
}
