//! How many lines of a hunk each place of a file has.

use std::collections::BTreeMap;

use super::hunk::{HunkLine, Side};
use super::table::LineTable;

/// A line that occurs more often cannot show a place.
pub(super) const MAX_POSITIONS: usize = 100;

/// The distinctive lines of an old side, and how many of them each place of the file has.
pub(super) struct Votes {
    /// How many lines can vote.
    lines: usize,
    by_offset: BTreeMap<isize, usize>,
}

/// Whether another place than line `first` has half of the lines `old` as they are, and two lines
/// at least if some are removed.
pub(super) fn has_half(table: &LineTable<'_>, old: &[&HunkLine], first: usize) -> bool {
    let own: Vec<Option<usize>> = (0..old.len()).map(|at| Some(first + at)).collect();
    let votes = Votes::of(table, old, &own);
    let most = votes.most(0);
    let removes = old.iter().any(|line| line.side == Side::Old);
    2 * most >= votes.lines.max(1) && (most >= 2 || !removes)
}

impl Votes {
    /// The votes of the lines `old`, each for all its positions but the one in `except`.
    pub(super) fn of(table: &LineTable<'_>, old: &[&HunkLine], except: &[Option<usize>]) -> Votes {
        let mut votes = Votes { lines: 0, by_offset: BTreeMap::new() };
        for (at, line) in old.iter().enumerate() {
            if line.text.trim_ascii().len() <= 2 || table.frequency(&line.text) > MAX_POSITIONS {
                continue;
            }
            votes.lines += 1;
            let own = except.get(at).copied().flatten();
            for position in table.positions_of(&line.text).filter(|&position| Some(position) != own)
            {
                let offset = position.cast_signed() - at.cast_signed();
                *votes.by_offset.entry(offset).or_default() += 1;
            }
        }
        votes
    }

    /// The most votes of one place, where up to `gap` lines may lie between those of the old side.
    pub(super) fn most(&self, gap: usize) -> usize {
        let ranges = self.by_offset.keys().map(|&from| from..=from + gap.cast_signed());
        let sums = ranges.map(|range| self.by_offset.range(range).map(|(_, votes)| votes).sum());
        sums.max().unwrap_or(0)
    }
}
