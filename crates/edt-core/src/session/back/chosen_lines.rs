//! A text with some of its changed lines as before the change.

use std::ops::{Range, RangeInclusive};

use edt_edit::diff::LineDiff;
use edt_io::clock;

/// How long a comparison may search for the smallest difference, in milliseconds. The same time as
/// for a shown difference, so that both find the same lines.
const TIME_LIMIT: u64 = 2000;

/// Lines of a change, counted from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChosenLines {
    /// Of the text after the change.
    pub added: Vec<RangeInclusive<u64>>,
    /// Of the text before it.
    pub removed: Vec<RangeInclusive<u64>>,
}

/// One place that a change changes: its rows before and after, counted from 0, end excluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedRows {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Chosen lines that the change does not change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotChanged {
    /// The ranges with such a line.
    pub(super) lines: ChosenLines,
    /// What the change changes.
    pub(super) places: Vec<ChangedRows>,
}

impl ChosenLines {
    /// The text `after` with the chosen lines as in `before`: an added line goes, and a removed line
    /// is in its place again. Where both are chosen in one place, the removed lines get the places of
    /// the added ones. A line without a line end gets one if other lines follow it.
    ///
    /// # Errors
    /// [`NotChanged`] if one of the lines is not changed.
    pub(super) fn taken_back(&self, before: &[u8], after: &[u8]) -> Result<Vec<u8>, NotChanged> {
        let diff = LineDiff::of(before, after, clock::in_ms(TIME_LIMIT));
        let places: Vec<ChangedRows> =
            diff.changes().map(|(old, new)| ChangedRows { old, new }).collect();
        let lines = self.outside(&places);
        if lines != ChosenLines::default() {
            return Err(NotChanged { lines, places });
        }
        let (old, new) = diff.texts();
        let (mut kept, mut at) = (Vec::new(), 0);
        for place in &places {
            kept.extend_from_slice(&new[at..place.new.start]);
            self.keep(place, (old, new), &mut kept);
            at = place.new.end;
        }
        kept.extend_from_slice(&new[at..]);
        Ok(joined(&kept))
    }

    /// The ranges with a line that is in none of the places.
    fn outside(&self, places: &[ChangedRows]) -> ChosenLines {
        let missing = |ranges: &[RangeInclusive<u64>], side: fn(&ChangedRows) -> &Range<usize>| {
            let is_in = |range: &RangeInclusive<u64>, rows: &Range<usize>| {
                *range.start() > rows.start as u64 && *range.end() <= rows.end as u64
            };
            let is_outside = |range: &&RangeInclusive<u64>| {
                range.is_empty() || !places.iter().any(|place| is_in(range, side(place)))
            };
            ranges.iter().filter(is_outside).cloned().collect()
        };
        ChosenLines {
            added: missing(&self.added, |place| &place.new),
            removed: missing(&self.removed, |place| &place.old),
        }
    }

    /// Adds what is left of one place to `kept`.
    fn keep<'t>(
        &self,
        place: &ChangedRows,
        (old, new): (&[&'t [u8]], &[&'t [u8]]),
        kept: &mut Vec<&'t [u8]>,
    ) {
        let of = |rows: &Range<usize>, ranges: &[RangeInclusive<u64>]| -> Vec<usize> {
            let is_chosen = |row: &usize| ranges.iter().any(|one| one.contains(&(*row as u64 + 1)));
            rows.clone().filter(is_chosen).collect()
        };
        let (removed, added) = (of(&place.old, &self.removed), of(&place.new, &self.added));
        // Before which new row an old one comes.
        let goal = |(at, row): (usize, usize)| match added.get(at).or(added.last()) {
            Some(goal) => (*goal, row),
            None => (place.new.start + row - place.old.start, row),
        };
        let mut back = removed.iter().copied().enumerate().map(goal).peekable();
        for row in place.new.clone() {
            while let Some((_, own)) = back.next_if(|(goal, _)| *goal <= row) {
                kept.push(old[own]);
            }
            if !added.contains(&row) {
                kept.push(new[row]);
            }
        }
        kept.extend(back.map(|(_, own)| old[own]));
    }
}

/// The text of `lines`.
fn joined(lines: &[&[u8]]) -> Vec<u8> {
    let is_crlf = lines.iter().any(|line| line.ends_with(b"\r\n"));
    let end: &[u8] = if is_crlf { b"\r\n" } else { b"\n" };
    let mut text = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        text.extend_from_slice(line);
        if at + 1 < lines.len() && !line.ends_with(b"\n") {
            text.extend_from_slice(end);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(added: &[(u64, u64)], removed: &[(u64, u64)]) -> ChosenLines {
        let ranges = |all: &[(u64, u64)]| all.iter().map(|(a, b)| *a..=*b).collect();
        ChosenLines { added: ranges(added), removed: ranges(removed) }
    }

    fn back(before: &str, after: &str, lines: &ChosenLines) -> Result<String, NotChanged> {
        let text = lines.taken_back(before.as_bytes(), after.as_bytes())?;
        Ok(String::from_utf8(text).unwrap())
    }

    /// Every changed line of a place.
    fn all_of(place: &ChangedRows) -> ChosenLines {
        let range = |rows: &Range<usize>| {
            let lines = rows.start as u64 + 1..=rows.end as u64;
            if rows.is_empty() { Vec::new() } else { vec![lines] }
        };
        ChosenLines { added: range(&place.new), removed: range(&place.old) }
    }

    #[test]
    fn an_added_line_goes_and_a_removed_line_comes_back() {
        let (before, after) = ("a\nb\nc\nd\n", "a\nnew\nb\nd\n");
        assert_eq!(back(before, after, &chosen(&[(2, 2)], &[])).unwrap(), "a\nb\nd\n");
        assert_eq!(back(before, after, &chosen(&[], &[(3, 3)])).unwrap(), "a\nnew\nb\nc\nd\n");
        assert_eq!(back(before, after, &chosen(&[], &[])).unwrap(), after);
    }

    #[test]
    fn one_of_several_replaced_lines_gets_its_place() {
        let (before, after) = ("x\n1\n2\n3\ny\n", "x\none\ntwo\nthree\ny\n");
        let second = chosen(&[(3, 3)], &[(3, 3)]);
        assert_eq!(back(before, after, &second).unwrap(), "x\none\n2\nthree\ny\n");
        // One line became several.
        let (before, after) = ("x\n1\ny\n", "x\none\ntwo\nthree\ny\n");
        let last = chosen(&[(4, 4)], &[(2, 2)]);
        assert_eq!(back(before, after, &last).unwrap(), "x\none\ntwo\n1\ny\n");
        assert_eq!(
            back(before, after, &chosen(&[], &[(2, 2)])).unwrap(),
            "x\n1\none\ntwo\nthree\ny\n"
        );
    }

    #[test]
    fn a_line_without_an_end_gets_one_if_others_follow() {
        let lines = chosen(&[], &[(1, 1)]);
        assert_eq!(back("a", "x\ny\n", &lines).unwrap(), "a\nx\ny\n");
        assert_eq!(back("a", "x\r\ny\r\n", &lines).unwrap(), "a\r\nx\r\ny\r\n");
        assert_eq!(back("a\nb", "a\nc\n", &chosen(&[(2, 2)], &[(2, 2)])).unwrap(), "a\nb");
    }

    #[test]
    fn line_ends_alone_are_a_change_of_the_line() {
        let lines = chosen(&[(2, 2)], &[(2, 2)]);
        assert_eq!(back("a\nb\nc\n", "a\r\nb\r\nc\r\n", &lines).unwrap(), "a\r\nb\nc\r\n");
    }

    #[test]
    fn lines_that_are_not_changed_are_named_with_those_that_are() {
        let found = back("a\nb\nc\n", "a\nB\nc\n", &chosen(&[(2, 3), (9, 9)], &[(1, 1)]));
        let places = vec![ChangedRows { old: 1..2, new: 1..2 }];
        let lines = chosen(&[(2, 3), (9, 9)], &[(1, 1)]);
        assert_eq!(found, Err(NotChanged { lines, places }));
        let huge = chosen(&[(0, u64::MAX)], &[]);
        assert!(back("a\n", "b\n", &huge).is_err());
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop_oneof![Just("a"), Just("b"), Just("c"), Just("dd"), Just("")];
        (prop::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, ends)| {
            let text = lines.join("\n");
            if ends && !lines.is_empty() { text + "\n" } else { text }
        })
    }

    proptest! {
        #[test]
        fn every_place_taken_back_gives_the_text_before(before in text(), after in text()) {
            let diff = LineDiff::of(before.as_bytes(), after.as_bytes(), clock::in_ms(TIME_LIMIT));
            let places: Vec<ChangedRows> =
                diff.changes().map(|(old, new)| ChangedRows { old, new }).collect();
            let mut all = ChosenLines::default();
            for place in &places {
                let lines = all_of(place);
                all.added.extend(lines.added);
                all.removed.extend(lines.removed);
            }
            prop_assert_eq!(back(&before, &after, &all).unwrap(), before);
        }

        #[test]
        fn no_line_is_lost_or_doubled(before in text(), after in text(), bits in any::<u32>()) {
            let diff = LineDiff::of(before.as_bytes(), after.as_bytes(), clock::in_ms(TIME_LIMIT));
            let (mut lines, mut at) = (ChosenLines::default(), 0);
            for (old, new) in diff.changes() {
                let mut pick = |rows: Range<usize>, ranges: &mut Vec<RangeInclusive<u64>>| {
                    for row in rows {
                        at += 1;
                        if bits >> (at % 32) & 1 == 1 {
                            ranges.push(row as u64 + 1..=row as u64 + 1);
                        }
                    }
                };
                pick(old, &mut lines.removed);
                pick(new, &mut lines.added);
            }
            let result = back(&before, &after, &lines).unwrap();
            let count = |text: &str| edt_types::text::lines(text.as_bytes()).count();
            let expected = count(&after) - lines.added.len() + lines.removed.len();
            prop_assert_eq!(count(&result), expected);
        }
    }
}
