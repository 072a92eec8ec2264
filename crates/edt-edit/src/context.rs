//! Places a hunk whose context differs from the file in one place, if the rest of the hunk proves
//! where it belongs.
//!
//! Every removed line must be there, and every other line of context, byte for byte and in order,
//! at one place of the file. What may differ: one or two lines of context that resemble those of
//! the file; lines of the file that the hunk leaves out; dots for lines of the file. The lines of
//! the file stay as they are.

use std::ops::Range;

use super::align::{self, Alignment, is_elision};
use super::alike;
use super::anchor;
use super::hunk::{Hunk, HunkLine, Side};
use super::indent::indent_of;
use super::place;
use super::placement::Placement;
use super::suggest;
use super::table::LineTable;
use super::votes::{MAX_POSITIONS, Votes};
use edt_types::MatchedBy;
use edt_types::text::BOM;

/// The most lines of context that may differ.
const MAX_ALTERED: usize = 2;
/// The most lines of the file that the hunk may leave out.
const MAX_LEFT_OUT: usize = 3;
/// The most lines of the file that dots may represent.
const MAX_ELIDED: usize = 120;
/// The most ways in which a hunk may fit.
const MAX_FITS: usize = 50;
/// How many more distinctive lines must be at the place than at any other.
const MARGIN: usize = 2;
/// The least sum of the lines that match, each divided by its frequency in the file.
const MIN_RARITY: f64 = 1.0;

/// Where the context of a hunk differs from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextDifference {
    /// The lines of the file, 0-based in the text before the patch.
    pub lines: Range<usize>,
    /// The lines that the patch has there.
    pub sent: Vec<Vec<u8>>,
    /// The first of the lines of the file.
    pub found: Vec<u8>,
}

impl Fit {
    /// Whether only dots differ.
    fn is_elided(&self, old: &[&HunkLine]) -> bool {
        self.apart().is_none() && old[self.sent.clone()].iter().all(|line| is_elision(line))
    }

    /// The line of the old side before which the file has lines that the hunk lacks.
    fn apart(&self) -> Option<usize> {
        (self.sent.is_empty() && !self.found.is_empty()).then_some(self.sent.start)
    }
}

/// A place that is proven although the context differs there.
pub(super) struct Proven {
    pub(super) placement: Placement,
    pub(super) difference: ContextDifference,
}

/// One way in which the old side fits the file.
#[derive(Debug, Clone)]
struct Fit {
    /// For each line of the old side, the equal line of the file.
    lines: Vec<Option<usize>>,
    /// The lines of the old side that differ.
    sent: Range<usize>,
    /// The lines of the file in their place.
    found: Range<usize>,
}

/// The place of a hunk that was not found, if it is proven. `loose` ignores white space at the ends
/// of lines.
pub(super) fn proven(table: &LineTable<'_>, loose: &LineTable<'_>, hunk: &Hunk) -> Option<Proven> {
    // The last lines may be prose, or more lines may have followed.
    if hunk.tail > 0 || hunk.truncated {
        return None;
    }
    hunk.readings().iter().find_map(|reading| proven_reading(table, loose, reading))
}

fn proven_reading(table: &LineTable<'_>, loose: &LineTable<'_>, hunk: &Hunk) -> Option<Proven> {
    let old = hunk.old_side();
    let added: Vec<&HunkLine> = hunk.lines.iter().filter(|line| line.side == Side::New).collect();
    if old.first()?.text.starts_with(BOM)
        || !added.is_empty() && !table.find(&place::run(&hunk.new_side()), 1).is_empty()
    {
        return None;
    }
    let mut found: Option<(Placement, &Fit)> = None;
    let fits = fits(table, &old)?;
    for fit in &fits {
        if !(is_explained(table, hunk, &old, fit) && has_sure_changes(table, hunk, fit)) {
            return None;
        }
        let alignment = Alignment { lines: fit.lines.clone(), score: 0.0 };
        let (first, rebuilt) = suggest::rebuilt(table, hunk, &alignment)?;
        // The lines of the file now are the context: the ordinary rules must hold for the result.
        let rebuilt = Hunk { at: None, ..rebuilt };
        let placement = place::placement_of(table, &rebuilt).ok()?;
        if placement.first != first || !(fit.is_elided(&old) || is_where_stated(hunk, fit)) {
            return None;
        }
        match &found {
            Some((other, _)) if other.changed() != placement.changed() => return None,
            Some((_, shortest)) if shortest.found.len() <= fit.found.len() => {}
            _ => found = Some((placement, fit)),
        }
    }
    let (placement, fit) = found?;
    if !is_unique(loose, &old, fit) || !is_distinctive(loose, hunk, &old, fit) {
        return None;
    }
    let difference = ContextDifference {
        lines: fit.found.clone(),
        sent: old[fit.sent.clone()].iter().map(|line| line.text.clone()).collect(),
        found: fit.found.clone().next().map_or_else(Vec::new, |at| table.line(at).to_vec()),
    };
    Some(Proven {
        placement: Placement { matched_by: MatchedBy::Context, ..placement },
        difference,
    })
}

/// Every way in which the old side fits the file with one difference; `None` if there are too many
/// or the lines differ in several places.
fn fits(table: &LineTable<'_>, old: &[&HunkLine]) -> Option<Vec<Fit>> {
    // Dots at the edge of a hunk say nothing.
    let start = old.iter().take_while(|line| is_elision(line)).count();
    let end = old.len() - old[start..].iter().rev().take_while(|line| is_elision(line)).count();
    let differs = |at: &usize| is_elision(old[*at]) || table.frequency(&old[*at].text) == 0;
    let first = (start..end).find(differs);
    let sent =
        first.map(|first| first..(start..end).rev().find(differs).map_or(first, |at| at + 1));
    let (rarest, frequency) = (start..end)
        .filter(|at| !sent.as_ref().is_some_and(|sent| sent.contains(at)))
        .map(|at| (at, table.frequency(&old[at].text)))
        .min_by_key(|(_, frequency)| *frequency)?;
    if frequency > MAX_POSITIONS {
        return None;
    }
    let equal = |at: usize, line: usize| {
        line < table.len() && table.lines_equal(&old[at].text, table.line(line))
    };
    // The old side with its part before `sent.start` at `line`, and its part after `sent.end`
    // further down by `gap` lines.
    let fit = |sent: &Range<usize>, line: usize, gap: usize| {
        let below = line + (sent.start - start) + gap;
        let above = (start..sent.start).map(|at| (at, line + at - start));
        let pairs = above.chain((sent.end..end).map(|at| (at, below + at - sent.end)));
        let mut lines = vec![None; old.len()];
        for (at, line) in pairs {
            lines[at] = Some(line).filter(|&line| equal(at, line));
            lines[at]?;
        }
        Some(Fit { lines, sent: sent.clone(), found: below - gap..below })
    };
    let mut fits: Vec<Fit> = Vec::new();
    for position in table.positions_of(&old[rarest].text) {
        let splits: Vec<(Range<usize>, Range<usize>)> = match &sent {
            Some(sent) if sent.len() == 1 && is_elision(old[sent.start]) => {
                vec![(sent.clone(), 0..MAX_ELIDED + 1)]
            }
            Some(sent)
                if sent.len() <= MAX_ALTERED && sent.clone().all(|at| is_context(old[at])) =>
            {
                vec![(sent.clone(), sent.len()..sent.len() + 1)]
            }
            Some(_) => return None,
            None => {
                let edges = (start > 0 || end < old.len()).then_some((end..end, 0..1));
                let within = (start + 1..end).map(|at| (at..at, 1..MAX_LEFT_OUT + 1));
                within.chain(edges).collect()
            }
        };
        for (sent, gaps) in splits {
            for gap in gaps {
                let offset = if rarest < sent.start {
                    rarest - start
                } else {
                    sent.start - start + gap + rarest - sent.end
                };
                fits.extend(position.checked_sub(offset).and_then(|line| fit(&sent, line, gap)));
            }
        }
        if fits.len() > MAX_FITS {
            return None;
        }
    }
    Some(fits)
}

/// Whether the line number of the hunk points exactly at the place. A line that differs, or that is
/// left out, may be the one that distinguishes two similar blocks, of which the intended one is
/// gone. In a block of two texts, what is context follows from a comparison: it is not certain.
fn is_where_stated(hunk: &Hunk, fit: &Fit) -> bool {
    let lead = fit.lines.iter().position(Option::is_some).unwrap_or(0);
    let first = fit.lines.get(lead).copied().flatten();
    let is_sure =
        |line: &HunkLine| line.marked || !is_context(line) || line.text.trim_ascii().is_empty();
    let is_marked = hunk.lines.iter().all(is_sure);
    is_marked && first.is_some_and(|first| first >= lead && hunk.at == Some(first + 1 - lead))
}

fn is_context(line: &HunkLine) -> bool {
    line.side == Side::Both
}

/// Whether what differs can be an older or a wrong copy of the lines of the file.
fn is_explained(table: &LineTable<'_>, hunk: &Hunk, old: &[&HunkLine], fit: &Fit) -> bool {
    if fit.found.end > table.len() {
        return false;
    }
    let is_added = |line: &[u8]| {
        let mut added = hunk.lines.iter().filter(|line| line.side == Side::New);
        line.trim_ascii().len() > 2
            && added.any(|added| added.text.trim_ascii() == line.trim_ascii())
    };
    // Then a part of the change may have been made already.
    if fit.found.clone().any(|at| is_added(table.line(at))) {
        return false;
    }
    // Dots do not reach beyond the block that the line above them heads.
    let is_elided = fit.sent.clone().any(|at| is_elision(old[at]));
    let before = fit.sent.start.checked_sub(1).and_then(|at| fit.lines[at]);
    if let Some(head) = before.filter(|_| is_elided) {
        let first =
            (fit.found.end..table.len()).find(|&at| !table.line(at).trim_ascii().is_empty());
        let depth = |at: usize| indent_of(table.line(at)).len();
        if first
            .is_some_and(|at| depth(at) > depth(head) && anchor::end_of_block(table, head) <= at)
        {
            return false;
        }
    }
    let mut changed = hunk.lines.iter().filter(|line| !is_context(line));
    let changed = changed.find(|line| !line.text.trim_ascii().is_empty());
    let depth = changed.map_or(0, |line| indent_of(&line.text).len());
    let first = hunk.lines.iter().take_while(|line| is_context(line)).count();
    let altered = fit.sent.clone().filter(|&at| !is_elision(old[at]));
    altered.zip(fit.found.clone()).all(|(at, line)| {
        let (sent, found) = (old[at].text.as_slice(), table.line(line));
        // The head of a block says which block is meant.
        let is_head = at < first && indent_of(sent).len() < depth;
        // White space that differs in one line may differ in the new lines, too.
        let differs_in_text =
            indent_of(sent) == indent_of(found) && sent.trim_ascii() != found.trim_ascii();
        !is_head
            && differs_in_text
            && alike::resembles(&sent.to_ascii_lowercase(), &found.to_ascii_lowercase())
    })
}

/// Whether the lines beside each run of changes are there. Both must be there beside a run that
/// only adds, or that could be described as one line further up or down. One is enough beside any
/// other.
fn has_sure_changes(table: &LineTable<'_>, hunk: &Hunk, fit: &Fit) -> bool {
    let lines = &hunk.lines;
    let (mut first, mut at) = (0, 0);
    while first < lines.len() {
        let context = is_context(&lines[first]);
        let run = lines[first..].iter().take_while(|line| is_context(line) == context).count();
        let changed = &lines[first..first + run];
        let end = at + changed.iter().filter(|line| line.side != Side::New).count();
        if !context {
            // Nothing shows whether a blank line or a bracket was added before.
            if !changed.iter().any(|line| line.text.trim_ascii().len() > 2) {
                return false;
            }
            let (up, down) = slides(lines, first..first + run);
            // The lines of the old side that the change may be beside.
            let (above, below) = ((at - up).checked_sub(1), end + down);
            let only_adds = end == at || up + down > 0;
            let is_there = |at: usize| fit.lines[at].is_some();
            let sure_above =
                above.map_or(!only_adds, |above| is_there(above) && fit.apart() != Some(above + 1));
            let sure_below = if below < fit.lines.len() {
                is_there(below) && fit.apart() != Some(below)
            } else {
                let last = fit.lines.iter().rev().flatten().next();
                !only_adds || last.is_some_and(|last| last + 1 == table.len())
            };
            let within = (at - up..below).all(is_there)
                && !fit.apart().is_some_and(|apart| at - up < apart && apart < below);
            let sure = if only_adds {
                sure_above && sure_below && within
            } else {
                sure_above || sure_below
            };
            if !sure {
                return false;
            }
        }
        (first, at) = (first + run, end);
    }
    true
}

/// How many lines further up and down a run that only adds or only removes could be described.
fn slides(lines: &[HunkLine], run: Range<usize>) -> (usize, usize) {
    if lines[run.clone()].iter().any(|line| line.side != lines[run.start].side) {
        return (0, 0);
    }
    let same = |context: usize, other: usize| {
        lines.get(context).is_some_and(|line| is_context(line) && line.text == lines[other].text)
    };
    let up = (1..=run.start).take_while(|by| same(run.start - by, run.end - by)).count();
    let down = (0..lines.len()).take_while(|by| same(run.end + by, run.start + by)).count();
    (up, down)
}

/// Whether the lines that match are specific enough. Beyond dots, none counts.
fn is_distinctive(loose: &LineTable<'_>, hunk: &Hunk, old: &[&HunkLine], fit: &Fit) -> bool {
    let is_elided = fit.sent.clone().any(|at| is_elision(old[at]));
    let counted = match changed_part(hunk, &fit.sent) {
        _ if !is_elided => 0..old.len(),
        Some(part) => part,
        None => return false,
    };
    let lines = old[counted.clone()].iter().zip(&fit.lines[counted]);
    let there = lines.filter(|(_, at)| at.is_some());
    let filled = there.clone().filter(|(line, _)| line.text.trim_ascii().len() > 2);
    let context = filled.clone().filter(|(line, _)| is_context(line)).count();
    let only_adds = old.iter().all(|line| is_context(line));
    let enough = if only_adds { context >= 2 } else { context >= 1 && filled.count() >= 2 };
    let matched: Vec<&HunkLine> = there.map(|(line, _)| *line).collect();
    enough && align::rarity(loose, matched.into_iter()) >= MIN_RARITY
}

/// The part of the old side, above or below `apart`, that has all changes.
fn changed_part(hunk: &Hunk, apart: &Range<usize>) -> Option<Range<usize>> {
    let (mut at, mut above, mut below) = (0, false, false);
    for line in &hunk.lines {
        let is_change = !is_context(line);
        above |= is_change && at < apart.end;
        below |= is_change && at >= apart.end;
        at += usize::from(line.side != Side::New);
    }
    match (above, below) {
        (true, false) => Some(0..apart.start),
        (false, true) => Some(apart.end..at),
        _ => None,
    }
}

/// Whether no other place of the file has nearly as many of the lines, in the same order.
fn is_unique(loose: &LineTable<'_>, old: &[&HunkLine], fit: &Fit) -> bool {
    let others = Votes::of(loose, old, &fit.lines);
    let can_vote = |line: &HunkLine| {
        line.text.trim_ascii().len() > 2 && loose.frequency(&line.text) <= MAX_POSITIONS
    };
    let own = old.iter().zip(&fit.lines).filter(|(line, at)| at.is_some() && can_vote(line));
    own.count() >= others.most(MAX_LEFT_OUT) + MARGIN
}

#[cfg(test)]
mod tests {
    use super::super::place::{Context, Matching, Placed, place};
    use super::super::place_error::UnplacedHunk;
    use super::super::splice::apply;
    use super::*;

    const FILE: &str = "\
def load(path):
    data = read(path)
    check(data)
    return parse(data)


def save(path, data):
    text = dump(data)
    check(text)
    write(path, text)
    return len(text)
";

    fn hunk(lines: &[&str]) -> Hunk {
        let line = |line: &&str| {
            let side = match line.as_bytes()[0] {
                b'-' => Side::Old,
                b'+' => Side::New,
                _ => Side::Both,
            };
            HunkLine { marked: side == Side::Both, ..HunkLine::new(side, &line.as_bytes()[1..]) }
        };
        Hunk { at: Some(8), ..Hunk::of(1, lines.iter().map(line).collect()) }
    }

    fn placed(text: &str, hunks: &[Hunk]) -> Result<Placed, Vec<UnplacedHunk>> {
        place(text.as_bytes(), hunks, Matching::Strict, Context::Proven)
    }

    /// The text after the hunk, with the lines of the file that differ from its context.
    fn landed(text: &str, lines: &[&str]) -> Option<(String, Range<usize>)> {
        let placed = placed(text, &[hunk(lines)]).ok()?;
        assert_eq!(placed.matched_by, MatchedBy::Context);
        let [difference] = placed.differences.as_slice() else { panic!("one difference") };
        let after = apply(text.as_bytes(), &placed.splices);
        Some((String::from_utf8(after).unwrap(), difference.lines.clone()))
    }

    fn refused(text: &str, lines: &[&str]) {
        assert_eq!(landed(text, lines), None);
    }

    #[test]
    fn a_line_of_context_that_was_altered_is_left_as_it_is() {
        let hunk = [
            "     text = dumps(data)",
            "     check(text)",
            "-    write(path, text)",
            "+    put(path, text)",
            "     return len(text)",
        ];
        let expected = (FILE.replace("write(path, text)", "put(path, text)"), 7..8);
        assert_eq!(landed(FILE, &hunk), Some(expected));
    }

    #[test]
    fn without_an_exact_line_number_the_lines_may_be_those_of_another_block() {
        let lines =
            ["     text = dumps(data)", "     check(text)", "-    write(path, text)", "+    put()"];
        let at = |at| placed(FILE, &[Hunk { at, ..hunk(&lines) }]);
        assert!(at(Some(8)).is_ok());
        assert!(at(None).is_err());
        assert!(at(Some(9)).is_err());
        let lines = [
            "     text = dump(data)",
            "-    write(path, text)",
            "+    put()",
            "     return len(text)",
        ];
        let at = |at| placed(FILE, &[Hunk { at, ..hunk(&lines) }]);
        assert!(at(Some(8)).is_ok());
        assert!(at(None).is_err());
        assert!(at(Some(9)).is_err());
        // A number of which another hunk shows that it is wrong is none.
        let first = hunk(&[" def load(path):", "-    data = read(path)", "+    data = get(path)"]);
        assert!(placed(FILE, &[first, hunk(&lines)]).is_err());
    }

    #[test]
    fn a_line_that_the_context_leaves_out_stays() {
        let hunk = [
            "     text = dump(data)",
            "-    write(path, text)",
            "+    put(path, text)",
            "     return len(text)",
        ];
        let expected = (FILE.replace("write(path, text)", "put(path, text)"), 8..9);
        assert_eq!(landed(FILE, &hunk), Some(expected));
    }

    #[test]
    fn dots_represent_lines_of_the_block_above_them() {
        let hunk = [
            " def save(path, data):",
            "     ...",
            "     check(text)",
            "-    write(path, text)",
            "+    put(path, text)",
            "     return len(text)",
        ];
        let expected = (FILE.replace("write(path, text)", "put(path, text)"), 7..8);
        assert_eq!(landed(FILE, &hunk), Some(expected));
        refused(FILE, &[&[" def load(path):"], &hunk[1..]].concat());
    }

    #[test]
    fn a_line_without_its_plus_is_not_context() {
        refused(
            FILE,
            &[
                "     check(text)",
                "     log(text)",
                "+    log(path)",
                "     write(path, text)",
                "     return len(text)",
            ],
        );
        refused(
            FILE,
            &[
                "     check(text)",
                "+    log(path)",
                "     log(text)",
                "     write(path, text)",
                "     return len(text)",
            ],
        );
    }

    #[test]
    fn a_line_that_names_another_block_is_not_a_difference() {
        let lines = [
            " def saves(path, data):",
            "     text = dump(data)",
            "-    check(text)",
            "+    verify(text)",
            "     write(path, text)",
        ];
        refused(FILE, &lines);
    }

    #[test]
    fn a_line_that_does_not_resemble_the_other_is_not_a_difference() {
        refused(
            FILE,
            &[
                "     text = encode(data)",
                "     check(text)",
                "-    write(path, text)",
                "+    put(path, text)",
                "     return len(text)",
            ],
        );
    }

    #[test]
    fn a_removed_line_must_be_there() {
        refused(
            FILE,
            &[
                "     text = dump(data)",
                "     check(text)",
                "-    write(paths, text)",
                "+    put(path, text)",
                "     return len(text)",
            ],
        );
    }

    #[test]
    fn differences_in_two_places_are_refused() {
        refused(
            FILE,
            &[
                "     text = dumps(data)",
                "     check(text)",
                "-    write(path, text)",
                "+    put(path, text)",
                "     return len(texts)",
            ],
        );
        refused(
            FILE,
            &[
                "     text = dumps(data)",
                "-    write(path, text)",
                "+    put(path, text)",
                "     return len(text)",
            ],
        );
    }

    #[test]
    fn new_lines_need_both_of_their_neighbours() {
        let added = [
            "     text = dump(data)",
            "     checks(text)",
            "+    log(text)",
            "     write(path, text)",
            "     return len(text)",
        ];
        refused(FILE, &added);
        let added = [
            "     text = dumps(data)",
            "     check(text)",
            "+    log(text)",
            "     write(path, text)",
            "     return len(text)",
        ];
        let expected = (FILE.replace("    write", "    log(text)\n    write"), 7..8);
        assert_eq!(landed(FILE, &added), Some(expected));
        // The line that is left out may be above or below the new one.
        refused(
            FILE,
            &[
                "     text = dump(data)",
                "+    log(text)",
                "     write(path, text)",
                "     return len(text)",
            ],
        );
    }

    #[test]
    fn a_second_place_that_fits_nearly_as_well_is_refused() {
        let copy = FILE.replace("def load", "def store(path, data):\n    text = pack(data)\n    check(text)\n    write(path, text)\n    return len(text)\n\n\ndef load");
        refused(
            &copy,
            &[
                "     text = dumps(data)",
                "     check(text)",
                "-    write(path, text)",
                "+    put(path, text)",
                "     return len(text)",
            ],
        );
    }

    #[test]
    fn a_change_that_was_made_before_is_not_made_again() {
        let hunk = [
            "     text = dumps(data)",
            "     check(text)",
            "+    log(text)",
            "     write(path, text)",
            "     return len(text)",
        ];
        let (after, _) = landed(FILE, &hunk).unwrap();
        refused(&after, &hunk);
    }

    #[test]
    fn in_a_block_only_dots_may_differ() {
        let compared = |lines: &[&str]| {
            let mut hunk = hunk(lines);
            hunk.lines.iter_mut().for_each(|line| line.marked = false);
            placed(FILE, &[hunk]).is_ok()
        };
        let outside = [
            "     text = dump(data)",
            "     write(path, text)",
            "-    return len(text)",
            "+    return 0",
        ];
        assert!(landed(FILE, &outside).is_some());
        assert!(!compared(&outside));
        assert!(compared(&[
            " def save(path, data):",
            "     ...",
            "     write(path, text)",
            "-    return len(text)",
            "+    return 0"
        ]));
    }

    #[test]
    fn a_change_of_blank_lines_alone_is_not_proven() {
        let lines = ["     text = dumps(data)", "     check(text)", "+", "     write(path, text)"];
        refused(FILE, &[&lines[..], &["     return len(text)"]].concat());
    }

    #[test]
    fn the_place_is_between_those_of_the_other_hunks() {
        let damaged = [
            "     text = dumps(data)",
            "     check(text)",
            "-    write(path, text)",
            "+    put(path, text)",
        ];
        let first = hunk(&[" def load(path):", "-    data = read(path)", "+    data = get(path)"]);
        let first = Hunk { at: Some(1), ..first };
        assert!(placed(FILE, &[first.clone(), hunk(&damaged)]).is_ok());
        assert!(placed(FILE, &[hunk(&damaged), first]).is_err());
    }
}
