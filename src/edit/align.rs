//! The best alignment of a hunk's old side with a file, for the correction that a refusal offers.

use std::collections::HashMap;
use std::ops::Range;

use super::hunk::{Hunk, Line, Side};
use super::near::Pairs;
use super::table::LineTable;

/// An alignment of the old side of a hunk with lines of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alignment {
    /// For each line of the old side, the line of the file (0-based), rising; `None` if it stands nowhere.
    pub(super) lines: Vec<Option<usize>>,
    /// How much of the old side stands there.
    pub(super) score: f64,
}

/// Longest old side that is aligned; the work is its product with the part of the file that is looked at.
const MAX_LINES: usize = 300;
/// Most places that are tried.
const MAX_STARTS: usize = 16;
/// Most pairs of a line of the hunk and a line of the file that are looked at for one file, in all of its hunks together.
pub(super) const BUDGET: usize = 4_000_000;
/// A content that stands more often says nothing of the place.
const MAX_OFTEN: usize = 100;
/// Lines of the file before and after the place that may belong to it.
const SLACK: usize = 12;
/// The same where the hunk leaves lines out with dots.
const SLACK_ELIDED: usize = 120;
/// What a line costs that only one of the two has.
const GAP: f64 = 0.45;
/// Least share of the old side that must stand there.
const MIN_SHARE: f64 = 0.55;
/// By how much the best place must be better than the second.
const MARGIN: f64 = 0.7;
/// How much of the old side must stand there to the letter, each line shared by all places where it stands.
const MIN_TELLING: f64 = 0.5;
/// What a line number that points at the place is worth.
const NUMBER: f64 = 0.8;

/// The best alignment; `None` if a removed line stands nowhere, too little does, or a second place is nearly as good.
pub(super) fn align(table: &LineTable<'_>, hunk: &Hunk, budget: &mut usize) -> Option<Alignment> {
    let old = hunk.old();
    if old.is_empty() || old.len() > MAX_LINES {
        return None;
    }
    let elided = old.iter().any(|line| is_elision(line));
    let slack = if elided { SLACK_ELIDED } else { SLACK };
    let said = hunk.at.and_then(|at| at.checked_sub(1));
    let mut found: Vec<(usize, Alignment)> = Vec::new();
    for start in starts(table, &old, said) {
        let window = start.saturating_sub(slack)..(start + old.len() + slack).min(table.len());
        *budget = budget.checked_sub(2 * window.len() * old.len())?;
        let Some(best) = in_window(table, &old, window.clone(), None) else { continue };
        // A second place may lie in the same window.
        let without = change(hunk, &best).map(|hangs| (hangs.old, hangs.line));
        let second = in_window(table, &old, window, without);
        for mut alignment in std::iter::once(best).chain(second) {
            let Some(place) = change(hunk, &alignment).map(|hangs| hangs.place) else { continue };
            if said.is_some_and(|said| alignment.lines.first() == Some(&Some(said))) {
                alignment.score += NUMBER;
            }
            match found.iter_mut().find(|(other, _)| *other == place) {
                Some((_, best)) if best.score < alignment.score => *best = alignment,
                Some(_) => {}
                None => found.push((place, alignment)),
            }
        }
    }
    found.sort_by(|a, b| b.1.score.total_cmp(&a.1.score));
    let second = found.get(1).map_or(f64::MIN, |(_, alignment)| alignment.score);
    let (_, best) = found.into_iter().next()?;
    let whole: f64 = old.iter().filter(|line| !is_elision(line)).map(|line| weight(line)).sum();
    let telling =
        telling(table, &old, &best) >= MIN_TELLING || said == best.lines.first().copied().flatten();
    (telling && best.score >= MIN_SHARE * whole && best.score >= second + MARGIN).then_some(best)
}

/// What the first change of a hunk hangs on.
struct Hangs {
    /// A line of the old side.
    old: usize,
    /// The line of the file that it stands for.
    line: usize,
    /// The line of the file where the change would be made.
    place: usize,
}

fn change(hunk: &Hunk, alignment: &Alignment) -> Option<Hangs> {
    let before = hunk.lines.iter().take_while(|line| line.side == Side::Both).count();
    let stands = |old: usize, after: usize| {
        let line = alignment.lines.get(old).copied().flatten()?;
        Some(Hangs { old, line, place: line + after })
    };
    stands(before, 0).or_else(|| stands(before.checked_sub(1)?, 1))
}

/// How much of the old side stands there to the letter; a line that stands at many places tells little of this one.
fn telling(table: &LineTable<'_>, old: &[&Line], alignment: &Alignment) -> f64 {
    let stands = old.iter().zip(&alignment.lines).filter_map(|(line, at)| Some((line, (*at)?)));
    let exact = stands.filter(|(line, at)| table.alike(&line.text, table.line(*at)));
    exact.map(|(line, _)| weight(line) / often_f64(table.often(&line.text))).sum()
}

/// Lines where the old side may begin: its rarer lines vote.
fn starts(table: &LineTable<'_>, old: &[&Line], said: Option<usize>) -> Vec<usize> {
    let mut votes: HashMap<usize, f64> = HashMap::new();
    for (i, line) in old.iter().enumerate() {
        let often = table.often(&line.text);
        if often == 0 || often > MAX_OFTEN || line.text.trim_ascii().is_empty() {
            continue;
        }
        for at in table.holding(&line.text) {
            *votes.entry(at.saturating_sub(i)).or_default() += weight(line) / often_f64(often);
        }
    }
    if let Some(said) = said.filter(|&said| said < table.len()) {
        *votes.entry(said).or_default() += 0.1;
    }
    let mut starts: Vec<(usize, f64)> = votes.into_iter().collect();
    starts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    starts.into_iter().take(MAX_STARTS).map(|(at, _)| at).collect()
}

fn often_f64(often: usize) -> f64 {
    f64::from(u32::try_from(often).unwrap_or(u32::MAX))
}

/// What a line is worth: those that stand everywhere say little.
fn weight(line: &Line) -> f64 {
    match line.text.trim_ascii().len() {
        0 => 0.1,
        1..=2 => 0.3,
        _ => 1.0,
    }
}

/// Whether a line of context stands for lines left out.
pub(super) fn is_elision(line: &Line) -> bool {
    let text = line.text.trim_ascii();
    let bare = text
        .strip_prefix(b"//")
        .or_else(|| text.strip_prefix(b"#"))
        .or_else(|| text.strip_prefix(b"/*"))
        .unwrap_or(text);
    let bare = bare.strip_suffix(b"*/").unwrap_or(bare).trim_ascii();
    line.side == Side::Both && (bare.starts_with(b"...") || bare.starts_with("…".as_bytes()))
}

/// A line of the hunk, ready to be compared with many of the file.
struct Probe<'h> {
    line: &'h Line,
    weight: f64,
    squeezed: Vec<u8>,
    pairs: Option<Pairs>,
}

impl Probe<'_> {
    fn of(line: &Line) -> Probe<'_> {
        let weight = weight(line);
        let pairs = (line.side == Side::Both && weight >= 1.0).then(|| Pairs::of(&line.text));
        Probe { line, weight, squeezed: squeezed(&line.text), pairs }
    }

    /// What it is worth that the line stands for line `at` of the file; `None` if it cannot.
    fn likeness(&mut self, table: &LineTable<'_>, at: usize) -> Option<f64> {
        let (stands, text) = (table.line(at), &self.line.text);
        if stands == text {
            return Some(self.weight);
        }
        if table.alike(stands, text) {
            return Some(self.weight * 0.95);
        }
        if self.line.side == Side::Old {
            return (squeezed(stands) == self.squeezed).then_some(self.weight * 0.9);
        }
        let (less, more) = (stands.len().min(text.len()), stands.len().max(text.len()));
        let likeness = self.pairs.as_mut().filter(|_| less * 2 >= more)?.likeness(stands);
        (likeness >= 0.7).then_some(likeness * 0.5)
    }
}

fn squeezed(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect()
}

/// How a cell was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Start,
    Both,
    HunkOnly,
    FileOnly,
}

/// The best alignment within a part of the file. Lines of the file before and after it are free.
/// `without` is a pair of an old line and a line of the file that may not be matched.
fn in_window(
    table: &LineTable<'_>,
    old: &[&Line],
    window: Range<usize>,
    without: Option<(usize, usize)>,
) -> Option<Alignment> {
    let width = window.len() + 1;
    let mut score = vec![f64::NEG_INFINITY; (old.len() + 1) * width];
    let mut from = vec![From::Start; (old.len() + 1) * width];
    score[..width].fill(0.0);
    for i in 0..=old.len() {
        // Between two removed lines nothing may stand that the hunk does not show.
        let within =
            i > 0 && i < old.len() && old[i - 1].side == Side::Old && old[i].side == Side::Old;
        let elided = (i > 0 && is_elision(old[i - 1])) || (i < old.len() && is_elision(old[i]));
        let mut probe = (i > 0).then(|| Probe::of(old[i - 1]));
        for j in 0..width {
            let cell = i * width + j;
            if let Some(probe) = &mut probe {
                let line = probe.line;
                if j > 0
                    && without != Some((i - 1, window.start + j - 1))
                    && let Some(worth) = probe.likeness(table, window.start + j - 1)
                    && score[cell - width - 1] + worth > score[cell]
                {
                    (score[cell], from[cell]) = (score[cell - width - 1] + worth, From::Both);
                }
                let cost = if is_elision(line) { 0.0 } else { GAP * weight(line).max(0.3) };
                if line.side == Side::Both && score[cell - width] - cost > score[cell] {
                    (score[cell], from[cell]) = (score[cell - width] - cost, From::HunkOnly);
                }
            }
            if i > 0 && j > 0 && !within {
                let cost = if i == old.len() || elided { 0.0 } else { GAP };
                if score[cell - 1] - cost > score[cell] {
                    (score[cell], from[cell]) = (score[cell - 1] - cost, From::FileOnly);
                }
            }
        }
    }
    let end = (old.len() + 1) * width - 1;
    if score[end] == f64::NEG_INFINITY {
        return None;
    }
    let (mut i, mut j) = (old.len(), width - 1);
    let mut lines = vec![None; old.len()];
    while i > 0 {
        match from[i * width + j] {
            From::Both => {
                lines[i - 1] = Some(window.start + j - 1);
                (i, j) = (i - 1, j - 1);
            }
            From::HunkOnly => i -= 1,
            From::FileOnly => j -= 1,
            From::Start => return None,
        }
    }
    Some(Alignment { lines, score: score[end] })
}
