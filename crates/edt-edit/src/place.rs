//! Finds where the hunks of a patch apply: each at a unique place, or with an error. Never at the
//! first of several matches, never with part of the context.
//!
//! All hunks of one file are placed in the text before the patch. A line number only chooses
//! between equal matches, and only when it points exactly at one of them. No change is applied
//! twice: a hunk is refused if its new side is already where it would go.

use std::ops::Range;

use super::anchor;
use super::context::{self, ContextDifference, Proven};
use super::hunk::{FinalNewline, Hunk, HunkLine, Side};
use super::place_error::{PlaceError, UnplacedHunk};
use super::placement::{self, Placement};
use super::splice::Splice;
use super::table::{LineComparison, LineTable};
use super::votes;
use edt_types::MatchedBy;
use edt_types::text::BOM;

/// How far the old side of a hunk may differ from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// Not at all, except for line endings.
    #[default]
    Strict,
    /// In white space at the ends of lines, and in indentation by one rule for the entire hunk.
    Lenient,
}

/// Whether context that differs from the file may be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// No: all of it must match.
    Complete,
    /// If the rest of the hunk proves the place: see [`context`].
    Proven,
}

/// The result of placing all hunks of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Placed {
    /// The changes, in the order of the text.
    pub splices: Vec<Splice>,
    /// The least exact comparison that was needed.
    pub matched_by: MatchedBy,
    /// The 1-based lines where text was inserted by line number alone.
    pub unchecked: Vec<usize>,
    /// Where the context of a hunk differs from the file.
    pub differences: Vec<ContextDifference>,
}

/// The most places that are reported for one hunk.
pub const MAX_PLACES: usize = 20;

/// The most places that anchors are applied to.
const MAX_NARROWED: usize = 1000;

/// Finds the unique place of every hunk.
///
/// # Errors
/// Every hunk that cannot be placed; then no hunk is applied.
pub fn place(
    text: &[u8],
    hunks: &[Hunk],
    matching: Matching,
    context: Context,
) -> Result<Placed, Vec<UnplacedHunk>> {
    let table = LineTable::new(text, LineComparison::Exact);
    let mut placements = placements(&table, hunks, matching);
    let off = placements
        .iter()
        .zip(hunks)
        .any(|(placement, hunk)| placement.as_ref().is_ok_and(|placement| is_off(placement, hunk)));
    if off && hunks.len() > 1 && placements.iter().all(Result::is_ok) {
        let hunks: Vec<Hunk> = hunks.iter().map(|hunk| Hunk { at: None, ..hunk.clone() }).collect();
        placements = self::placements(&table, &hunks, matching);
    }
    let differences = match context {
        Context::Complete => Vec::new(),
        Context::Proven => prove(&table, hunks, &mut placements),
    };
    let found = placements
        .iter()
        .filter_map(|placement| placement.as_ref().ok())
        .map(|placement| placement.matched_by);
    let matched_by = found.max().unwrap_or(MatchedBy::Exact);
    let mut missed: Vec<UnplacedHunk> = placements
        .iter()
        .enumerate()
        .filter_map(|(hunk, placement)| {
            Some(UnplacedHunk { hunk, why: placement.as_ref().err()?.clone() })
        })
        .collect();
    let placements: Vec<(usize, Placement)> = placements
        .into_iter()
        .enumerate()
        .filter_map(|(i, placement)| Some((i, placement.ok()?)))
        .collect();
    missed.extend(overlaps(&placements));
    if !missed.is_empty() {
        return Err(missed);
    }
    let unchecked = placements
        .iter()
        .filter(|(_, placement)| placement.unchecked)
        .map(|(_, placement)| placement.first + 1)
        .collect();
    let mut placements = placements;
    placements.sort_by_key(|(i, placement)| (placement.first, *i));
    let mut splices: Vec<Splice> =
        placements.iter().flat_map(|(_, placement)| placement.splices(&table)).collect();
    splices.sort_by_key(|splice| splice.at.start);
    Ok(Placed { splices, matched_by, unchecked, differences })
}

/// Places the hunks that were not found and whose place is proven nevertheless. Each must be between
/// the places of the hunks that the patch has before and after it.
fn prove(
    table: &LineTable<'_>,
    hunks: &[Hunk],
    placements: &mut [Result<Placement, PlaceError>],
) -> Vec<ContextDifference> {
    let is_absent = |placement: &Result<Placement, PlaceError>| matches!(placement, Err(PlaceError::NotFound(new)) if new.is_empty());
    let absent: Vec<usize> = (0..hunks.len()).filter(|&i| is_absent(&placements[i])).collect();
    // If another hunk is refused, so is the patch.
    let others = |i: usize| absent.binary_search(&i).is_err();
    if absent.is_empty() || !(0..hunks.len()).filter(|&i| others(i)).all(|i| placements[i].is_ok())
    {
        return Vec::new();
    }
    let loose = LineTable::new(table.text(), LineComparison::Trimmed);
    let pairs = placements.iter().zip(hunks);
    let is_reliable = pairs
        .filter_map(|(placement, hunk)| Some((placement.as_ref().ok()?, hunk)))
        .all(|(placement, hunk)| !is_off(placement, hunk));
    let proven: Option<Vec<Proven>> = absent
        .iter()
        .map(|&i| {
            let at = hunks[i].at.filter(|_| is_reliable);
            context::proven(table, &loose, &Hunk { at, ..hunks[i].clone() })
        })
        .collect();
    let Some(proven) = proven else { return Vec::new() };
    let mut firsts: Vec<usize> =
        placements.iter().map(|placement| placement.as_ref().map_or(0, |at| at.first)).collect();
    for (&i, proven) in absent.iter().zip(&proven) {
        firsts[i] = proven.placement.first;
    }
    if !firsts.is_sorted() {
        return Vec::new();
    }
    let place = |(i, proven): (usize, Proven)| {
        placements[i] = Ok(proven.placement);
        proven.difference
    };
    absent.into_iter().zip(proven).map(place).collect()
}

/// Whether a hunk was found at another line than it states. Then no line number of the patch is
/// reliable.
fn is_off(placement: &Placement, hunk: &Hunk) -> bool {
    hunk.at.is_some_and(|at| at != placement.first + 1)
}

/// The place of each hunk, independent of the others.
pub(super) fn placements(
    table: &LineTable<'_>,
    hunks: &[Hunk],
    matching: Matching,
) -> Vec<Result<Placement, PlaceError>> {
    let mut placements: Vec<Result<Placement, PlaceError>> =
        hunks.iter().map(|hunk| placement_of(table, hunk)).collect();
    if matching == Matching::Lenient
        && placements.iter().any(|placement| matches!(placement, Err(PlaceError::NotFound(_))))
    {
        let loose = LineTable::new(table.text(), LineComparison::Trimmed);
        for (placement, hunk) in placements.iter_mut().zip(hunks) {
            if matches!(placement, Err(PlaceError::NotFound(new)) if new.is_empty()) {
                *placement = lenient_placement(table, &loose, hunk);
            }
        }
    }
    placements
}

pub(super) fn placement_of(table: &LineTable<'_>, hunk: &Hunk) -> Result<Placement, PlaceError> {
    if hunk.lines.iter().all(|line| line.side == Side::New) {
        return inserted(table, hunk);
    }
    let mut absent = PlaceError::NotFound(Vec::new());
    for reading in hunk.readings() {
        match choose(table, &reading) {
            Ok(first) if reading.truncated && first + reading.old_side().len() < table.len() => {
                return Err(PlaceError::Truncated);
            }
            Ok(first) => return Ok(Placement::exact(table, reading, first)),
            Err(PlaceError::NotFound(new)) if new.is_empty() => {}
            Err(PlaceError::NotFound(new)) => absent = PlaceError::NotFound(new),
            Err(other) => return Err(other),
        }
    }
    Err(absent)
}

/// A hunk that only adds lines goes below its anchor, at the end of the file, or to its line
/// number.
fn inserted(table: &LineTable<'_>, hunk: &Hunk) -> Result<Placement, PlaceError> {
    let (first, unchecked) = if !hunk.anchors.is_empty() {
        (anchor::line(table, &hunk.anchors)? + 1, false)
    } else if hunk.at_end || table.is_empty() {
        (table.len(), false)
    } else {
        match hunk.at {
            Some(at) if at > 0 && at <= table.len() + 1 => (at - 1, true),
            Some(_) => return Err(PlaceError::NotFound(Vec::new())),
            None => return Err(PlaceError::NoPosition),
        }
    };
    let new = run(&hunk.new_side());
    let before = first
        .checked_sub(new.len())
        .filter(|_| hunk.at_end)
        .filter(|&at| table.matches_at(&new, at));
    match before.or_else(|| table.matches_at(&new, first).then_some(first)) {
        Some(at) if !new.is_empty() => Err(PlaceError::AlreadyApplied(vec![at])),
        _ => Ok(Placement { unchecked, ..Placement::exact(table, hunk.clone(), first) }),
    }
}

/// The unique place of one reading of a hunk.
fn choose(table: &LineTable<'_>, hunk: &Hunk) -> Result<usize, PlaceError> {
    let (old, new) = (hunk.old_side(), hunk.new_side());
    let (old_run, new_run) = (run(&old), run(&new));
    let marked = old.first().is_some_and(|line| line.text.starts_with(BOM));
    let stated_line = hunk.at.and_then(|at| at.checked_sub(1));
    let fits = |at: &usize| {
        (!hunk.at_end || at + old.len() == table.len())
            && (!marked || (*at == 0 && table.text().starts_with(BOM)))
    };
    let limit = if hunk.anchors.is_empty() { MAX_PLACES } else { MAX_NARROWED };
    let mut places = match table.len().checked_sub(old.len()).filter(|_| hunk.at_end) {
        Some(last) => Vec::from_iter(table.matches_at(&old_run, last).then_some(last)),
        None => table.find(&old_run, limit),
    };
    // The search stopped at the limit, so there may be more matches: then no match is unique.
    let all = marked || places.len() <= limit;
    places.extend(stated_line.filter(|at| !places.contains(at) && table.matches_at(&old_run, *at)));
    places.retain(fits);
    let found = places.clone();
    let mut places = anchor::narrow(table, &hunk.anchors, places, old.len())?;
    if let ([], [only]) = (places.as_slice(), found.as_slice())
        && all
        && is_distinctive(&old_run)
        && anchor::is_below(table, &hunk.anchors, *only)?
    {
        // It occurs once in the file and is distinctive: the anchor heads another block than
        // assumed.
        places.push(*only);
    }
    let adds = hunk.lines.iter().any(|line| line.side == Side::New);
    let mut done = if adds { table.find(&new_run, MAX_PLACES) } else { Vec::new() };
    let stated_new =
        |at: &usize| !new_run.is_empty() && !done.contains(at) && table.matches_at(&new_run, *at);
    let stated_new = stated_line.filter(stated_new).filter(|at| adds || !places.contains(at));
    done.extend(stated_new);
    // Trimmed lines cannot show whether line endings, the byte-order mark or the final newline was
    // changed.
    let form_only = old_run.len() == new_run.len()
        && old_run.iter().zip(&new_run).all(|(old, new)| table.lines_equal(old, new));
    if form_only && hunk.newline == FinalNewline::Unchanged {
        done.retain(|&at| matches_bytes_at(table, &new, at));
    } else if !final_newline_as_stated(table, hunk.newline) {
        done.clear();
    }
    // The old side is at the stated line and the new side is not: the line number decides.
    if let Some(stated_line) = stated_line
        .filter(|stated_line| places.contains(stated_line) && !done.contains(stated_line))
    {
        return Ok(stated_line);
    }
    // Where the new side covers the old side, the change has already been made.
    let covered =
        |at: &usize| done.iter().any(|new| new <= at && at + old.len() <= new + new_run.len());
    let open: Vec<usize> = places.iter().copied().filter(|at| !covered(at)).collect();
    match open.as_slice() {
        [only] if stated_line == Some(*only) => Ok(*only),
        [] if !all => Err(PlaceError::Ambiguous(found)),
        [_] if !all => Err(PlaceError::Ambiguous(open)),
        [] if places.is_empty() => {
            Err(PlaceError::NotFound(if is_distinctive(&new_run) { done } else { Vec::new() }))
        }
        [] => Err(PlaceError::AlreadyApplied(done)),
        // Either the change was already made at one place, or it is to be made a second time: edt
        // cannot decide which.
        [_] if places.len() > 1 => Err(PlaceError::AlreadyApplied(done)),
        [_] if !done.is_empty()
            && (is_distinctive(&new_run)
                || stated_line.is_some_and(|stated_line| done.contains(&stated_line))) =>
        {
            Err(PlaceError::AlreadyApplied(done))
        }
        [only] => Ok(*only),
        several => stated_line.filter(|at| several.contains(at)).ok_or(PlaceError::Ambiguous(open)),
    }
}

/// Whether the lines at `at` are equal including white space, line endings and byte-order mark.
fn matches_bytes_at(table: &LineTable<'_>, lines: &[&HunkLine], at: usize) -> bool {
    lines.iter().enumerate().all(|(i, line)| {
        let marked = at + i == 0 && table.text().starts_with(BOM);
        let text = if marked { line.text.strip_prefix(BOM) } else { Some(line.text.as_slice()) };
        let end = table.end(at + i);
        text == Some(table.line(at + i)) && (end.is_empty() || line.cr == (end == b"\r\n"))
    })
}

/// Whether the file already ends as the patch wants it: comparing lines cannot show this.
fn final_newline_as_stated(table: &LineTable<'_>, newline: FinalNewline) -> bool {
    let terminated = table.len().checked_sub(1).is_some_and(|last| !table.end(last).is_empty());
    match newline {
        FinalNewline::Unchanged => true,
        FinalNewline::Added => terminated,
        FinalNewline::Removed => !terminated,
    }
}

/// Whether a text has so specific lines that a match is not a coincidence.
pub(super) fn is_distinctive_text(text: &[u8]) -> bool {
    is_distinctive(&edt_types::text::lines(text).collect::<Vec<&[u8]>>())
}

/// Whether the lines are specific enough that a match is not a coincidence.
fn is_distinctive(run: &[&[u8]]) -> bool {
    run.iter().filter(|line| line.trim_ascii().len() > 2).count() >= 2
}

/// The unique place of a hunk when white space at the ends of lines is ignored.
fn lenient_placement(
    exact: &LineTable<'_>,
    table: &LineTable<'_>,
    hunk: &Hunk,
) -> Result<Placement, PlaceError> {
    let mut absent = PlaceError::NotFound(Vec::new());
    for reading in hunk.readings() {
        match choose(table, &reading) {
            Ok(first) => {
                let removes = reading.lines.iter().any(|line| line.side == Side::Old);
                let old = reading.old_side();
                // With another indentation, the lines may be those of another block.
                let sure =
                    (removes || is_distinctive(&run(&old))) && !votes::has_half(exact, &old, first);
                let placement = placement::indented(table, reading, first);
                let fits =
                    |placement: &Placement| sure || placement.matched_by != MatchedBy::Indentation;
                // Another reading has other white space, which another rule may seem to explain.
                return placement.filter(fits).ok_or(absent);
            }
            Err(PlaceError::NotFound(new)) if new.is_empty() => {}
            Err(PlaceError::NotFound(new)) => absent = PlaceError::NotFound(new),
            Err(other) => return Err(other),
        }
    }
    Err(absent)
}

/// The texts to search for, without a byte-order mark.
pub(super) fn run<'h>(lines: &[&'h HunkLine]) -> Vec<&'h [u8]> {
    lines.iter().map(|line| line.text.strip_prefix(BOM).unwrap_or(&line.text)).collect()
}

/// Hunks that change lines which another hunk needs.
fn overlaps(placements: &[(usize, Placement)]) -> Vec<UnplacedHunk> {
    let touches = |changed: &Range<usize>, other: &Range<usize>| {
        changed.start < other.end && other.start < changed.end
            || (changed.start == other.start && (changed.is_empty() || other.is_empty()))
    };
    // Adjacent hunks do not conflict: the position of their new lines is defined.
    let in_order = |one: &Placement, other: &Placement| {
        one.covered().end <= other.covered().start && !one.covered().is_empty()
    };
    let mut order: Vec<&(usize, Placement)> = placements.iter().collect();
    order.sort_by_key(|(i, placement)| (placement.first, *i));
    let mut missed = Vec::new();
    for (at, (i, placement)) in order.iter().enumerate() {
        let end = placement.first + placement.hunk.old_side().len();
        for (j, other) in order[at + 1..].iter().take_while(|(_, other)| other.first <= end) {
            let (mine, theirs) = (placement.changed(), other.changed());
            let clash = mine
                .iter()
                .any(|a| touches(a, &other.covered()) && theirs.iter().any(|b| touches(a, b)))
                || mine.iter().any(|a| !a.is_empty() && touches(a, &other.covered()))
                || theirs.iter().any(|b| !b.is_empty() && touches(b, &placement.covered()));
            if clash && !in_order(placement, other) {
                missed.push(UnplacedHunk { hunk: *j.max(i), why: PlaceError::Overlaps(*j.min(i)) });
            }
        }
    }
    missed
}
