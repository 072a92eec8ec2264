//! Where a text stands: exactly once, or a diagnosis. Never a guess.
//!
//! Matching is byte for byte, with one exception that follows from the rule that a file keeps its own line ends: if the file
//! has any CR LF, LF and CR LF match each other on both sides.

use std::ops::Range;

use memchr::memmem;

use super::op::Places;
use super::splice::Splice;
use crate::base::text::{self, Endings};

/// Where `old` stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// At exactly these places, as many as were asked for.
    At(Vec<Range<usize>>),
    /// More than once, although one place was asked for.
    Many(Vec<Range<usize>>),
    /// Nowhere.
    Nowhere,
}

/// Most places that are told apart where one was asked for.
pub const MAX_PLACES: usize = 20;

/// Looks for `old` in `text`. Places do not overlap for [`Places::All`]; for [`Places::One`] overlapping ones count, because
/// either could be meant.
#[must_use]
pub fn locate(text: &[u8], old: &[u8], places: Places) -> Located {
    let found = match Endings::of(text) {
        Endings::Crlf | Endings::Mixed => normalised(text, old, places),
        Endings::Lf => find(text, &text::to_lf(old), places),
        Endings::None => find(text, old, places),
    };
    match (found.len(), places) {
        (0, _) => Located::Nowhere,
        (1, _) | (_, Places::All) => Located::At(found),
        (_, Places::One) => Located::Many(found),
    }
}

/// The splices that put `new` at `places`, in the line ends that stand there, else in the file's own.
#[must_use]
pub fn replace(text: &[u8], places: &[Range<usize>], new: &[u8]) -> Vec<Splice> {
    let own = Endings::of(text);
    let with = |at: &Range<usize>| {
        let here = match Endings::of(&text[at.clone()]) {
            Endings::None | Endings::Mixed => own,
            local => local,
        };
        let here = if here == Endings::Mixed { nearest_ending(text, at.start) } else { here };
        Splice { at: at.clone(), with: here.convert(new) }
    };
    places.iter().map(with).collect()
}

/// The line end of the line that holds `at`, else of the one before.
fn nearest_ending(text: &[u8], at: usize) -> Endings {
    let after = memchr::memchr(b'\n', &text[at..]).map(|i| at + i);
    match after.or_else(|| memchr::memrchr(b'\n', &text[..at])) {
        Some(end) if end > 0 && text[end - 1] == b'\r' => Endings::Crlf,
        _ => Endings::Lf,
    }
}

fn find(text: &[u8], old: &[u8], places: Places) -> Vec<Range<usize>> {
    if old.is_empty() {
        return Vec::new();
    }
    let finder = memmem::Finder::new(old);
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = finder.find(&text[from..]).map(|at| from + at) {
        found.push(at..at + old.len());
        // Overlapping places can be as many as there are bytes; who asks for one needs no more to see that it is not.
        if places == Places::One && found.len() > MAX_PLACES {
            break;
        }
        from = match places {
            Places::One => at + 1,
            Places::All => at + old.len(),
        };
    }
    found
}

/// Matches with CR LF read as LF, and gives the places in the text as it stands.
fn normalised(text: &[u8], old: &[u8], places: Places) -> Vec<Range<usize>> {
    let dropped: Vec<usize> = memmem::find_iter(text, b"\r\n").collect();
    let found = find(&text::to_lf(text), &text::to_lf(old), places);
    // The k-th dropped CR stood at dropped[k]; in the LF text the LF after it stands at dropped[k] - k.
    let original = |at: usize, rest: &mut usize| {
        while *rest < dropped.len() && dropped[*rest] - *rest < at {
            *rest += 1;
        }
        at + *rest
    };
    let (mut starts, mut ends) = (0, 0);
    found
        .into_iter()
        .map(|at| original(at.start, &mut starts)..original(at.end, &mut ends))
        .collect()
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one place is meant")]
mod tests {
    use super::super::splice::apply;
    use super::*;

    fn at(text: &str, old: &str) -> Located {
        locate(text.as_bytes(), old.as_bytes(), Places::One)
    }

    fn replaced(text: &str, old: &str, new: &str) -> String {
        let Located::At(places) = at(text, old) else { panic!("not exactly once") };
        String::from_utf8(apply(
            text.as_bytes(),
            &replace(text.as_bytes(), &places, new.as_bytes()),
        ))
        .unwrap()
    }

    #[test]
    fn once_is_found_twice_is_ambiguous() {
        assert_eq!(at("a b c", "b"), Located::At(vec![2..3]));
        assert_eq!(at("a b b", "b"), Located::Many(vec![2..3, 4..5]));
        assert_eq!(at("a b c", "x"), Located::Nowhere);
    }

    #[test]
    fn overlapping_places_are_two_for_one_and_one_for_all() {
        assert_eq!(at("aaa", "aa"), Located::Many(vec![0..2, 1..3]));
        assert_eq!(locate(b"aaa", b"aa", Places::All), Located::At(vec![0..2]));
    }

    #[test]
    fn line_ends_match_each_other_and_stay_the_files_own() {
        assert_eq!(replaced("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n"), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(replaced("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n");
        assert_eq!(replaced("a\r\nb\nc\r\n", "b", "x\ny"), "a\r\nx\ny\nc\r\n");
        assert_eq!(replaced("a\r\nb\nc\r\n", "c", "x\ny"), "a\r\nb\nx\r\ny\r\n");
        assert_eq!(replaced("a\r\nb\r\n", "b", "x"), "a\r\nx\r\n");
    }

    #[test]
    fn a_place_that_starts_or_ends_at_a_line_end_keeps_the_rest() {
        assert_eq!(replaced("a\r\nb\r\nc", "\nb", "\nx"), "a\r\nx\r\nc");
        assert_eq!(replaced("a\r\nb\r\nc", "a\n", ""), "b\r\nc");
        assert_eq!(replaced("a\r\nb\r\nc", "a", "x"), "x\r\nb\r\nc");
    }
}
