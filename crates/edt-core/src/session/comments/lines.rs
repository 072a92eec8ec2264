//! Where lines of a text are in a later one. It is never a guess: if more than one place could be
//! theirs, they have none.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

use edt_edit::diff::LineDiff;

/// How many lines around the wanted ones may show which of several equal places is theirs.
const CONTEXT: usize = 8;
/// The fewest letters and digits of lines that are recognized at another place.
const MIN_SUBSTANCE: usize = 12;

/// The first line (0-based) at which the lines `range` of `old` are in `new`. `None` if they are not
/// there, or not surely. The difference is searched until `deadline`.
#[must_use]
pub fn locate(old: &[u8], range: Range<usize>, new: &[u8], deadline: Instant) -> Option<usize> {
    if old == new {
        return Some(range.start);
    }
    let (old, new) = (ended(old), ended(new));
    let diff = LineDiff::of(&old, &new, deadline);
    let (before, after) = diff.texts();
    if range.is_empty() || range.end > before.len() {
        return None;
    }
    let wanted = &before[range.clone()];
    let (was, is) = (occurrences(before, wanted), occurrences(after, wanted));
    let unique = was.len() == 1 && is.len() == 1;
    let Some(at) = kept(&diff, &range) else {
        // They were moved.
        let substance = wanted.iter().flat_map(|line| line.iter());
        let substance = substance.filter(|byte| byte.is_ascii_alphanumeric() || **byte > 127);
        return (unique && substance.count() >= MIN_SUBSTANCE).then(|| is[0]);
    };
    let order = |all: &[usize], at: usize| all.iter().position(|one| *one == at);
    let same_order = was.len() == is.len() && order(&was, range.start) == order(&is, at);
    (unique || same_order || is_alone(before, &range, after, at)).then_some(at)
}

/// Where the difference leaves the lines; `None` if it changes them, or divides them.
fn kept(diff: &LineDiff<'_>, range: &Range<usize>) -> Option<usize> {
    let mut at = range.start;
    for (old, new) in diff.changes() {
        if old.start >= range.end {
            break;
        }
        if old.end > range.start || old.is_empty() && old.start > range.start {
            return None;
        }
        at = at + new.len() - old.len();
    }
    Some(at)
}

/// Whether the lines around make the place the only one of its kind in both texts.
fn is_alone(before: &[&[u8]], range: &Range<usize>, after: &[&[u8]], at: usize) -> bool {
    let end = at + range.len();
    let above = before[..range.start].iter().rev().zip(after[..at].iter().rev());
    let above = above.take(CONTEXT).take_while(|(a, b)| a == b).count();
    let below = before[range.end..].iter().zip(&after[end..]);
    let below = below.take(CONTEXT).take_while(|(a, b)| a == b).count();
    let wanted = &before[range.start - above..range.end + below];
    occurrences(before, wanted).len() == 1 && occurrences(after, wanted).len() == 1
}

/// The text with a line end after its last line.
fn ended(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_empty() || text.ends_with(b"\n") {
        Cow::Borrowed(text)
    } else {
        Cow::Owned([text, b"\n"].concat())
    }
}

/// The first line of each place in `all` that has `wanted`.
fn occurrences(all: &[&[u8]], wanted: &[&[u8]]) -> Vec<usize> {
    let at = all.windows(wanted.len()).enumerate();
    at.filter(|(_, here)| *here == wanted).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(old: &str, range: Range<usize>, new: &str) -> Option<usize> {
        locate(old.as_bytes(), range, new.as_bytes(), edt_io::clock::in_ms(1000))
    }

    #[test]
    fn lines_that_nothing_changed_stay() {
        assert_eq!(find("a\nb\nc\n", 1..2, "a\nb\nc\n"), Some(1));
        assert_eq!(find("a\nb\nc\n", 1..2, "a\nb\nx\n"), Some(1));
        assert_eq!(find("a\nb", 1..2, "a\nb\n"), Some(1));
    }

    #[test]
    fn lines_follow_what_is_added_and_removed_above() {
        assert_eq!(find("a\nb\nc\n", 1..3, "x\ny\na\nb\nc\n"), Some(3));
        assert_eq!(find("a\nb\nc\n", 2..3, "c\n"), Some(0));
        assert_eq!(find("a\nb\nc\n", 1..2, "a\nx\nb\nc\n"), Some(2));
    }

    #[test]
    fn lines_that_were_changed_or_divided_are_gone() {
        assert_eq!(find("a\nb\nc\n", 1..2, "a\nx\nc\n"), None);
        assert_eq!(find("a\nb\nc\n", 0..2, "a\nx\nb\nc\n"), None);
        assert_eq!(find("a\nb\nc\n", 0..1, ""), None);
        assert_eq!(find("a\n", 0..1, "b\n"), None);
        assert_eq!(find("a\n", 5..6, "b\n"), None);
    }

    #[test]
    fn lines_that_moved_are_found_if_nothing_else_is_like_them() {
        let (one, two) = ("let total = sum(all);\n", "print(everything);\n");
        let rest = "x\n".repeat(9);
        assert_eq!(find(&[one, &rest, two].concat(), 0..1, &[&rest, two, one].concat()), Some(10));
        // A brace is no evidence.
        assert_eq!(find(&["}\n", &rest].concat(), 0..1, &[&rest, "y\n", "}\n"].concat()), None);
        let twice = [&rest, two, one, one].concat();
        assert_eq!(find(&[one, &rest, two].concat(), 0..1, &twice), None);
    }

    #[test]
    fn one_of_several_equal_places_is_not_guessed() {
        let block = "if (x) {\n  return;\n}\n";
        let (two, one) = (block.repeat(2), block.to_owned());
        assert_eq!(find(&two, 0..3, &one), None);
        assert_eq!(find(&two, 3..6, &one), None);
        // The lines around say which of them it is.
        let old = format!("first\n{block}second\n{block}third\n");
        let new = format!("first\n{block}second\nthird\n");
        assert_eq!((find(&old, 1..4, &new), find(&old, 5..8, &new)), (Some(1), None));
        // As many as before, in the same order.
        let more = format!("zero\n{old}");
        assert_eq!((find(&old, 1..4, &more), find(&old, 5..8, &more)), (Some(2), Some(6)));
    }
}
