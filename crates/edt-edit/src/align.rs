//! Aligns the old side of a hunk with a file, for the correction that an error message suggests.

use std::collections::HashMap;
use std::ops::Range;

use super::hunk::{Hunk, HunkLine, Side};
use super::near::Pairs;
use super::table::LineTable;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alignment {
    /// For each line of the old side, the line of the file (0-based, increasing); `None` if it was
    /// not found.
    pub(super) lines: Vec<Option<usize>>,
    /// How much of the old side was matched.
    pub(super) score: f64,
}

/// The longest old side that is aligned. The work grows with its product with the window of the
/// file.
const MAX_LINES: usize = 300;
/// The most start positions that are tried.
const MAX_STARTS: usize = 16;
/// The most pairs of a hunk line and a file line that are compared for one file, for all hunks
/// together.
pub(super) const BUDGET: usize = 4_000_000;
/// A line that occurs more often does not help to find the place.
const MAX_FREQUENCY: usize = 100;
/// Lines of the file before and after the estimated place that may belong to it.
const SLACK: usize = 12;
/// The same for a hunk that elides lines with dots.
const SLACK_ELIDED: usize = 120;
/// The penalty for a line that only one side has.
const GAP: f64 = 0.45;
/// The least share of the old side that must match.
const MIN_SHARE: f64 = 0.55;
/// How much better the best place must be than the second.
const MARGIN: f64 = 0.7;
/// How much of the old side must match exactly; the weight of a line is divided by its frequency in
/// the file.
const MIN_DISTINCTIVE: f64 = 0.5;
/// The bonus for a place that the stated line number points at.
const NUMBER: f64 = 0.8;

/// The best alignment; `None` if a removed line or too much of the old side was not found, or if a
/// second place is nearly as good.
pub(super) fn align(table: &LineTable<'_>, hunk: &Hunk, budget: &mut usize) -> Option<Alignment> {
    let old = hunk.old_side();
    if old.is_empty() || old.len() > MAX_LINES {
        return None;
    }
    let elided = old.iter().any(|line| is_elision(line));
    let slack = if elided { SLACK_ELIDED } else { SLACK };
    let stated_line = hunk.at.and_then(|at| at.checked_sub(1));
    let mut found: Vec<(usize, Alignment)> = Vec::new();
    for start in starts(table, &old, stated_line) {
        let window = start.saturating_sub(slack)..(start + old.len() + slack).min(table.len());
        *budget = budget.checked_sub(2 * window.len() * old.len())?;
        let Some(best) = in_window(table, &old, window.clone(), None) else { continue };
        // There may be a second place in the same window.
        let without = change(hunk, &best).map(|position| (position.old, position.line));
        let second = in_window(table, &old, window, without);
        for mut alignment in std::iter::once(best).chain(second) {
            let Some(place) = change(hunk, &alignment).map(|position| position.place) else {
                continue;
            };
            if stated_line
                .is_some_and(|stated_line| alignment.lines.first() == Some(&Some(stated_line)))
            {
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
    let total_weight: f64 =
        old.iter().filter(|line| !is_elision(line)).map(|line| weight(line)).sum();
    let distinctive = distinctive(table, &old, &best) >= MIN_DISTINCTIVE
        || stated_line == best.lines.first().copied().flatten();
    (distinctive
        && differs_once(table, &old, &best)
        && best.score >= MIN_SHARE * total_weight
        && best.score >= second + MARGIN)
        .then_some(best)
}

/// The line that determines where the first change of a hunk is made.
struct ChangePosition {
    /// The line of the old side.
    old: usize,
    /// The line of the file that it was matched with.
    line: usize,
    /// The line of the file where the change would be made.
    place: usize,
}

fn change(hunk: &Hunk, alignment: &Alignment) -> Option<ChangePosition> {
    let before = hunk.lines.iter().take_while(|line| line.side == Side::Both).count();
    let file_line = |old: usize, after: usize| {
        let line = alignment.lines.get(old).copied().flatten()?;
        Some(ChangePosition { old, line, place: line + after })
    };
    file_line(before, 0).or_else(|| file_line(before.checked_sub(1)?, 1))
}

/// Whether the context differs from the file in one place at most, and some context does not differ.
/// Another function that resembles the intended one differs in several.
fn differs_once(table: &LineTable<'_>, old: &[&HunkLine], alignment: &Alignment) -> bool {
    let (mut regions, mut within, mut equal) = (0, false, false);
    for (line, at) in old.iter().zip(&alignment.lines) {
        if is_elision(line) || line.text.trim_ascii().is_empty() {
            continue;
        }
        let same = at.is_some_and(|at| {
            line.side == Side::Old || table.lines_equal(&line.text, table.line(at))
        });
        equal |= same && line.side == Side::Both && weight(line) >= 1.0;
        regions += usize::from(!same && !within);
        within = !same;
    }
    regions == 0 || (regions == 1 && equal)
}

/// How much of the old side matches exactly. A line that occurs at many places counts little.
fn distinctive(table: &LineTable<'_>, old: &[&HunkLine], alignment: &Alignment) -> f64 {
    let file_line = old.iter().zip(&alignment.lines).filter_map(|(line, at)| Some((line, (*at)?)));
    let exact = file_line.filter(|(line, at)| table.lines_equal(&line.text, table.line(*at)));
    rarity(table, exact.map(|(line, _)| *line))
}

/// The weights of the lines, each divided by the frequency of the line in the file.
pub(super) fn rarity<'h>(table: &LineTable<'_>, lines: impl Iterator<Item = &'h HunkLine>) -> f64 {
    lines.map(|line| weight(line) / to_f64(table.frequency(&line.text))).sum()
}

/// The lines where the old side may begin: its rare lines vote.
fn starts(table: &LineTable<'_>, old: &[&HunkLine], stated_line: Option<usize>) -> Vec<usize> {
    let mut votes: HashMap<usize, f64> = HashMap::new();
    for (i, line) in old.iter().enumerate() {
        let frequency = table.frequency(&line.text);
        if frequency == 0 || frequency > MAX_FREQUENCY || line.text.trim_ascii().is_empty() {
            continue;
        }
        for at in table.positions_of(&line.text) {
            *votes.entry(at.saturating_sub(i)).or_default() += weight(line) / to_f64(frequency);
        }
    }
    if let Some(stated_line) = stated_line.filter(|&stated_line| stated_line < table.len()) {
        *votes.entry(stated_line).or_default() += 0.1;
    }
    let mut starts: Vec<(usize, f64)> = votes.into_iter().collect();
    starts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    starts.into_iter().take(MAX_STARTS).map(|(at, _)| at).collect()
}

fn to_f64(frequency: usize) -> f64 {
    f64::from(u32::try_from(frequency).unwrap_or(u32::MAX))
}

/// The weight of a line: lines that are common everywhere count little.
fn weight(line: &HunkLine) -> f64 {
    match line.text.trim_ascii().len() {
        0 => 0.1,
        1..=2 => 0.3,
        _ => 1.0,
    }
}

/// Whether a context line is a placeholder for elided lines.
pub(super) fn is_elision(line: &HunkLine) -> bool {
    let text = line.text.trim_ascii();
    let bare = text
        .strip_prefix(b"//")
        .or_else(|| text.strip_prefix(b"#"))
        .or_else(|| text.strip_prefix(b"/*"))
        .unwrap_or(text);
    let bare = bare.strip_suffix(b"*/").unwrap_or(bare).trim_ascii();
    line.side == Side::Both && (bare.starts_with(b"...") || bare.starts_with("…".as_bytes()))
}

/// A line of the hunk, prepared for comparison with many lines of the file.
struct Probe<'h> {
    line: &'h HunkLine,
    weight: f64,
    squeezed: Vec<u8>,
    pairs: Option<Pairs>,
}

impl Probe<'_> {
    fn of(line: &HunkLine) -> Probe<'_> {
        let weight = weight(line);
        let pairs = (line.side == Side::Both && weight >= 1.0).then(|| Pairs::of(&line.text));
        Probe { line, weight, squeezed: squeezed(&line.text), pairs }
    }

    /// The score for matching the line with line `at` of the file; `None` if they cannot match.
    fn similarity(&mut self, table: &LineTable<'_>, at: usize) -> Option<f64> {
        let (file_line, text) = (table.line(at), &self.line.text);
        if file_line == text {
            return Some(self.weight);
        }
        if table.lines_equal(file_line, text) {
            return Some(self.weight * 0.95);
        }
        if self.line.side == Side::Old {
            return (squeezed(file_line) == self.squeezed).then_some(self.weight * 0.9);
        }
        let (less, more) = (file_line.len().min(text.len()), file_line.len().max(text.len()));
        let similarity = self.pairs.as_mut().filter(|_| less * 2 >= more)?.similarity(file_line);
        (similarity >= 0.7).then_some(similarity * 0.5)
    }
}

fn squeezed(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect()
}

/// The predecessor of a cell in the alignment table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellOrigin {
    Start,
    Both,
    HunkOnly,
    FileOnly,
}

/// The best alignment within a part of the file. Lines of the file before and after the match have
/// no penalty. `without` is a pair of an old line and a file line that must not be matched.
fn in_window(
    table: &LineTable<'_>,
    old: &[&HunkLine],
    window: Range<usize>,
    without: Option<(usize, usize)>,
) -> Option<Alignment> {
    let width = window.len() + 1;
    let mut score = vec![f64::NEG_INFINITY; (old.len() + 1) * width];
    let mut from = vec![CellOrigin::Start; (old.len() + 1) * width];
    score[..width].fill(0.0);
    for i in 0..=old.len() {
        // Between two removed lines the file must not have lines that the hunk does not show.
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
                    && let Some(worth) = probe.similarity(table, window.start + j - 1)
                    && score[cell - width - 1] + worth > score[cell]
                {
                    (score[cell], from[cell]) = (score[cell - width - 1] + worth, CellOrigin::Both);
                }
                let cost = if is_elision(line) { 0.0 } else { GAP * weight(line).max(0.3) };
                if line.side == Side::Both && score[cell - width] - cost > score[cell] {
                    (score[cell], from[cell]) = (score[cell - width] - cost, CellOrigin::HunkOnly);
                }
            }
            if i > 0 && j > 0 && !within {
                let cost = if i == old.len() || elided { 0.0 } else { GAP };
                if score[cell - 1] - cost > score[cell] {
                    (score[cell], from[cell]) = (score[cell - 1] - cost, CellOrigin::FileOnly);
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
            CellOrigin::Both => {
                lines[i - 1] = Some(window.start + j - 1);
                (i, j) = (i - 1, j - 1);
            }
            CellOrigin::HunkOnly => i -= 1,
            CellOrigin::FileOnly => j -= 1,
            CellOrigin::Start => return None,
        }
    }
    Some(Alignment { lines, score: score[end] })
}
