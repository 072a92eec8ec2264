//! Texts whose lines are unique, and a three-way merge of them that shares nothing with edt's.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The content of a file; `None` if there is none.
pub(super) type Text = Option<String>;

/// What a three-way merge must give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    /// The sides are at least one line apart: this, to the byte.
    Exactly(Text),
    /// The sides meet. A tool may refuse, or merge so that [`agrees`].
    Unclear,
}

/// A changed range of the base and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    base: Range<usize>,
    new: Vec<String>,
}

/// Merges `ours` and `theirs`, which both derive from `base`.
pub(super) fn merge3(base: &Text, ours: &Text, theirs: &Text) -> Expected {
    if ours == theirs || base == theirs {
        return Expected::Exactly(ours.clone());
    }
    if base == ours {
        return Expected::Exactly(theirs.clone());
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
        return Expected::Unclear;
    };
    let mut all = hunks(base, ours);
    for hunk in hunks(base, theirs) {
        let meets =
            |other: &Hunk| other.base.start <= hunk.base.end && hunk.base.start <= other.base.end;
        match all.iter().find(|other| meets(other)) {
            None => all.push(hunk),
            Some(same) if *same == hunk => {}
            Some(_) => return Expected::Unclear,
        }
    }
    Expected::Exactly(Some(patched(base, all)))
}

/// `base` with the hunks applied.
pub(super) fn patched(base: &str, mut hunks: Vec<Hunk>) -> String {
    hunks.sort_by_key(|hunk| (hunk.base.start, hunk.base.end));
    let lines: Vec<&str> = base.lines().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    for hunk in &hunks {
        out.extend_from_slice(&lines[at..hunk.base.start]);
        out.extend(hunk.new.iter().map(String::as_str));
        at = hunk.base.end;
    }
    out.extend_from_slice(&lines[at..]);
    joined(&out)
}

/// Whether `merged` has of every line what a merge must have of it: the side that differs from the
/// base decides. The order of the lines is that of the sides.
pub(super) fn agrees(base: &Text, ours: &Text, theirs: &Text, merged: &Text) -> Result<(), String> {
    let sets = [base, ours, theirs, merged].map(set);
    let all: BTreeSet<&str> = sets.iter().flatten().copied().collect();
    for line in all {
        let [base, ours, theirs, merged] = [0, 1, 2, 3].map(|side| sets[side].contains(line));
        let expected = if ours == theirs { ours } else { !base };
        if merged != expected {
            let has = |is: bool| if is { "has" } else { "lacks" };
            return Err(format!(
                "{line:?}: the base {} it, our side {} it, their side {} it, the result {} it",
                has(base),
                has(ours),
                has(theirs),
                has(merged)
            ));
        }
    }
    let kept = |side: &Text, other: &BTreeSet<&str>| -> Vec<String> {
        let lines = side.as_deref().unwrap_or_default().lines();
        lines.filter(|line| other.contains(line)).map(str::to_owned).collect()
    };
    for (side, of) in [(ours, &sets[1]), (theirs, &sets[2])] {
        if kept(side, &sets[3]) != kept(merged, of) {
            return Err("the lines are in another order".to_owned());
        }
    }
    Ok(())
}

/// Whether `merged` is `ours` with the changes of `theirs`, which replace only the changes of ours that
/// they meet.
pub(super) fn overwritten(
    base: &Text,
    ours: &Text,
    theirs: &Text,
    merged: &Text,
) -> Result<(), String> {
    if let Expected::Exactly(wanted) = merge3(base, ours, theirs) {
        let what = || super::difference(&wanted, merged);
        return if wanted == *merged { Ok(()) } else { Err(what()) };
    }
    let (Some(old), Some(one), Some(two)) = (base, ours, theirs) else {
        let is_side = merged == theirs || merged == ours;
        return if is_side { Ok(()) } else { Err("it is neither side".to_owned()) };
    };
    let (one, two) = (hunks(old, one), hunks(old, two));
    let meets = |hunk: &Hunk, others: &[Hunk]| {
        let is_near =
            |other: &Hunk| other.base.start <= hunk.base.end && hunk.base.start <= other.base.end;
        others.iter().any(is_near)
    };
    let (lines, found): (Vec<&str>, _) = (old.lines().collect(), set(merged));
    for (side, hunk, other) in one
        .iter()
        .map(|hunk| (ours, hunk, &two))
        .chain(two.iter().map(|hunk| (theirs, hunk, &one)))
        .filter(|(side, hunk, other)| *side == theirs || !meets(hunk, other))
    {
        if let Some(line) = hunk.new.iter().find(|line| !found.contains(line.as_str())) {
            return Err(format!("it lacks {line:?}"));
        }
        let (side, is_apart) = (set(side), !meets(hunk, other));
        let gone = lines[hunk.base.clone()].iter().filter(|line| !side.contains(*line));
        if let Some(line) = gone.into_iter().find(|line| is_apart && found.contains(*line)) {
            return Err(format!("it still has {line:?}"));
        }
    }
    Ok(())
}

/// The lines of a text.
pub(super) fn set(text: &Text) -> BTreeSet<&str> {
    text.as_deref().unwrap_or_default().lines().collect()
}

/// The text of these lines.
pub(super) fn joined<T: AsRef<str>>(lines: &[T]) -> String {
    lines.iter().map(|line| format!("{}\n", line.as_ref())).collect()
}

/// How `other` differs from `base`.
pub(super) fn hunks(base: &str, other: &str) -> Vec<Hunk> {
    let (old, new): (Vec<&str>, Vec<&str>) = (base.lines().collect(), other.lines().collect());
    let place: BTreeMap<&str, usize> =
        old.iter().enumerate().map(|(at, line)| (*line, at)).collect();
    let both: Vec<(usize, usize)> =
        new.iter().enumerate().filter_map(|(at, line)| Some((*place.get(line)?, at))).collect();
    let mut common = ascending(&both);
    common.push((old.len(), new.len()));
    let (mut hunks, mut from, mut to) = (Vec::new(), 0, 0);
    for (at_old, at_new) in common {
        if at_old > from || at_new > to {
            let lines = new[to..at_new].iter().map(|&line| line.to_owned()).collect();
            hunks.push(Hunk { base: from..at_old, new: lines });
        }
        (from, to) = (at_old + 1, at_new + 1);
    }
    hunks
}

/// A longest sequence of pairs that ascends in both parts.
fn ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    if pairs.is_sorted_by(|one, two| one.0 < two.0) {
        return pairs.to_vec();
    }
    // For each pair the length of the longest sequence that ends with it, and the pair before it.
    let mut best: Vec<(usize, Option<usize>)> = Vec::new();
    for (at, pair) in pairs.iter().enumerate() {
        let before = (0..at).filter(|&other| pairs[other].0 < pair.0);
        let last = before.max_by_key(|&other| best[other].0);
        best.push((last.map_or(1, |last| best[last].0 + 1), last));
    }
    let mut at = (0..best.len()).max_by_key(|&at| best[at].0);
    let mut found = Vec::new();
    while let Some(this) = at {
        found.push(pairs[this]);
        at = best[this].1;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &str) -> Text {
        Some(lines.split_whitespace().map(|line| format!("{line}\n")).collect())
    }

    #[test]
    fn changes_that_are_a_line_apart_are_merged_and_others_are_unclear() {
        let base = text("1 2 3 4 5");
        let merged = |ours: &str, theirs: &str| merge3(&base, &text(ours), &text(theirs));
        assert_eq!(merged("1 a 3 4 5", "1 2 3 b 5"), Expected::Exactly(text("1 a 3 b 5")));
        assert_eq!(merged("1 a 3 4 5", "1 2 b 4 5"), Expected::Unclear);
        assert_eq!(merged("a 1 2 3 4 5", "1 2 3 4 5 b"), Expected::Exactly(text("a 1 2 3 4 5 b")));
        assert_eq!(merged("1 2 3 4 5 a", "1 2 3 4 5 b"), Expected::Unclear);
        assert_eq!(merged("1 4 5", "1 4 5 b"), Expected::Exactly(text("1 4 5 b")));
        assert_eq!(merge3(&base, &None, &text("1")), Expected::Unclear);
        assert_eq!(merge3(&base, &base, &None), Expected::Exactly(None));
    }

    #[test]
    fn a_merge_that_loses_or_moves_a_line_does_not_agree() {
        let (base, ours, theirs) = (text("1 2 3"), text("1 a 2 3"), text("1 2 b"));
        assert_eq!(agrees(&base, &ours, &theirs, &text("1 a 2 b")), Ok(()));
        assert!(agrees(&base, &ours, &theirs, &text("1 2 b")).is_err());
        assert!(agrees(&base, &ours, &theirs, &text("a 1 2 b")).is_err());
        assert!(agrees(&base, &ours, &theirs, &text("1 a 2 3 b")).is_err());
    }
}
