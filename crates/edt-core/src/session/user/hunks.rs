//! Splits the change of a text into the hunks that can be applied to other texts, and the rest.

use std::collections::HashSet;
use std::ops::Range;

use edt_edit::diff::LineDiff;
use edt_io::clock;
use edt_types::text;

/// A shorter line, such as `}` or `else`, does not show where it comes from.
const MIN_ALPHANUMERIC: usize = 4;
/// How long a comparison may search for the smallest difference, in milliseconds.
const TIME_LIMIT: u64 = 1000;

/// The lines that an edit takes from the user's uncommitted text, without white space at their ends.
#[derive(Debug, Default)]
pub struct TakenLines(HashSet<Vec<u8>>);

impl TakenLines {
    /// Adds the lines of `old` that `recorded` does not have and that `new` no longer has.
    pub fn add(&mut self, old: &[u8], new: &[u8], recorded: &[u8]) {
        let (edit, users) = (diff(old, new), diff(old, recorded));
        let removed: Vec<Range<usize>> = edit.changes().map(|(rows, _)| rows).collect();
        let rows = users.changes().flat_map(|(rows, _)| rows);
        let taken = rows.filter(|row| removed.iter().any(|rows| rows.contains(row)));
        let lines = taken.map(|row| edit.texts().0[row].trim_ascii());
        let is_telling = |line: &&[u8]| {
            line.iter().filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).count()
                >= MIN_ALPHANUMERIC
        };
        self.0.extend(lines.filter(is_telling).map(<[u8]>::to_vec));
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `text` has one of the lines.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        !self.is_empty() && text::lines(text).any(|line| self.0.contains(line.trim_ascii()))
    }
}

/// A change of a text, split by hunks.
#[derive(Debug, PartialEq, Eq)]
pub struct SplitChange {
    /// Each other text with the hunks that can be applied to all of them.
    pub applied: Vec<Vec<u8>>,
    /// The rows of the new text that the remaining hunks wrote, counted from 0, end excluded. A hunk
    /// that only removes lines has an empty range.
    pub left_over: Vec<Range<usize>>,
    /// How many hunks are applied.
    pub count: usize,
}

/// Splits the change from `old` to `new`. A hunk is applied if each of `others` has its old lines,
/// and one line before and after them, unchanged, and if it adds none of the lines that are `taken`.
#[must_use]
pub fn split(old: &[u8], new: &[u8], others: &[&[u8]], taken: &TakenLines) -> SplitChange {
    let edit = diff(old, new);
    let (old_lines, new_lines) = edit.texts();
    let others: Vec<LineDiff<'_>> = others.iter().map(|other| diff(old, other)).collect();
    let (mut applied, mut left_over) = (Vec::new(), Vec::new());
    for (rows, by) in edit.changes() {
        let touches = |(theirs, _): (Range<usize>, Range<usize>)| {
            theirs.start <= rows.end && theirs.end >= rows.start
        };
        let is_changed = others.iter().any(|other| other.changes().any(touches));
        let is_taken = new_lines[by.clone()].iter().any(|line| taken.is_in(line));
        if is_changed || is_taken { left_over.push(by) } else { applied.push((rows, by)) }
    }
    let with_hunks = |other: &LineDiff<'_>| {
        let lines = other.texts().1;
        let own = other.changes().map(|(rows, by)| (rows, &lines[by]));
        let edits = applied.iter().map(|(rows, by)| (rows.clone(), &new_lines[by.clone()]));
        let mut all: Vec<_> = own.chain(edits).collect();
        all.sort_by_key(|(rows, _)| rows.start);
        let (mut result, mut at) = (Vec::new(), 0);
        for (rows, by) in all {
            result.extend_from_slice(&old_lines[at..rows.start]);
            result.extend_from_slice(by);
            at = rows.end;
        }
        result.extend_from_slice(&old_lines[at..]);
        result.concat()
    };
    let texts = others.iter().map(with_hunks).collect();
    SplitChange { applied: texts, left_over, count: applied.len() }
}

fn diff<'a>(old: &'a [u8], new: &'a [u8]) -> LineDiff<'a> {
    LineDiff::of(old, new, clock::in_ms(TIME_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    /// The text with the hunks that can be applied, and the other rows.
    fn of(old: &str, new: &str, other: &str) -> (String, Vec<Range<usize>>) {
        let taken = TakenLines::default();
        let done = split(old.as_bytes(), new.as_bytes(), &[other.as_bytes()], &taken);
        let [text] = <[Vec<u8>; 1]>::try_from(done.applied).unwrap();
        (String::from_utf8(text).unwrap(), done.left_over)
    }

    #[test]
    fn a_hunk_needs_its_lines_and_one_on_each_side() {
        let edited = |old: &str| old.replace("5\n", "five\n");
        for (theirs, is_applied) in
            [("3", true), ("4", false), ("5", false), ("6", false), ("7", true)]
        {
            let line = format!("{theirs}\n");
            let old = TEN.replace(&line, &format!("{theirs} by hand\n"));
            let new = if theirs == "5" { old.replace("5 by hand", "five") } else { edited(&old) };
            let expected = if is_applied { edited(TEN) } else { TEN.to_owned() };
            assert_eq!(of(&old, &new, TEN).0, expected, "{theirs}");
        }
    }

    #[test]
    fn hunks_beside_the_users_lines_are_applied_and_the_others_named() {
        let old = TEN.replace("2\n", "2\nmine\n");
        let new = old.replace("mine\n", "ours\nmore\n").replace("9\n", "nine\n");
        assert_eq!(of(&old, &new, TEN), (TEN.replace("9\n", "nine\n"), vec![2..4]));
    }

    #[test]
    fn lines_that_the_user_removed_are_not_in_the_way_of_other_hunks() {
        let old = TEN.replace("2\n", "");
        assert_eq!(of(&old, &old.replace("9\n", ""), TEN).0, TEN.replace("9\n", ""));
        assert_eq!(of(&old, &old.replace("3\n", ""), TEN), (TEN.to_owned(), vec![1..1]));
    }

    #[test]
    fn two_insertions_at_one_end_cannot_be_told_apart() {
        let old = format!("mine\n{TEN}");
        assert_eq!(of(&old, &format!("ours\n{old}"), TEN), (TEN.to_owned(), vec![0..1]));
        let old = format!("{TEN}mine\n");
        assert_eq!(of(&old, &format!("{old}ours\n"), TEN), (TEN.to_owned(), vec![11..12]));
    }

    #[test]
    fn a_hunk_that_one_of_two_texts_lacks_goes_to_none() {
        let staged = TEN.replace("2\n", "2 staged\n");
        let new = TEN.replace("2\n", "two\n").replace("9\n", "nine\n");
        let taken = TakenLines::default();
        let others = [TEN.as_bytes(), staged.as_bytes()];
        let done = split(TEN.as_bytes(), new.as_bytes(), &others, &taken);
        let nine = |text: &str| text.replace("9\n", "nine\n").into_bytes();
        assert_eq!(done.applied, [nine(TEN), nine(&staged)]);
        assert_eq!((done.left_over, done.count), (vec![1..2], 1));
    }

    #[test]
    fn a_hunk_that_adds_a_line_of_the_users_is_left_over() {
        let old = format!("{TEN}fn mine() {{\n    body();\n}}\n");
        let mut taken = TakenLines::default();
        taken.add(old.as_bytes(), TEN.as_bytes(), TEN.as_bytes());
        assert!(taken.is_in(b"  fn mine() {  \n") && !taken.is_in(b"}\n"));
        let other = "a\nb\nc\n";
        let moved = "a\nb\nc\n  fn mine() {\n";
        let done = split(other.as_bytes(), moved.as_bytes(), &[other.as_bytes()], &taken);
        assert_eq!((done.applied, done.left_over), (vec![other.into()], vec![3..4]));
    }

    #[test]
    fn a_line_that_is_recorded_or_stays_is_not_taken() {
        let old = format!("line of the branch\n{TEN}mine here\n");
        let mut taken = TakenLines::default();
        let recorded = format!("line of the branch\n{TEN}");
        taken.add(old.as_bytes(), format!("{TEN}mine here\n").as_bytes(), recorded.as_bytes());
        assert!(taken.is_empty());
    }
}
