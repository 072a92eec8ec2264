//! Finds a text in a file: the requested occurrences, or a diagnosis. Never a guess.
//!
//! Matching is byte for byte, with one exception, because a file keeps its own line endings: if the
//! file has any CR LF, then LF and CR LF match each other on both sides.

use std::ops::Range;

use memchr::memmem;

use super::splice::Splice;
use edt_types::text::{self, Endings};

/// How many occurrences a replacement changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences {
    /// Exactly one: more than one is an error.
    One,
    /// All of them.
    All,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// The occurrences, as many as were asked for.
    At(Vec<Range<usize>>),
    /// More than one occurrence, although one was asked for.
    Ambiguous(Vec<Range<usize>>),
    NotFound,
}

/// The most occurrences that are reported when only one was asked for.
pub const MAX_PLACES: usize = 20;

/// Searches `old` in `text`. With [`Occurrences::All`] matches do not overlap. With
/// [`Occurrences::One`] overlapping matches count, because either could be meant.
#[must_use]
pub fn locate(text: &[u8], old: &[u8], places: Occurrences) -> Located {
    let found = match Endings::of(text) {
        Endings::Crlf | Endings::Mixed => normalised(text, old, places),
        Endings::Lf => find(text, &text::to_lf(old), places),
        Endings::None => find(text, old, places),
    };
    match (found.len(), places) {
        (0, _) => Located::NotFound,
        (1, _) | (_, Occurrences::All) => Located::At(found),
        (_, Occurrences::One) => Located::Ambiguous(found),
    }
}

/// The splices that put `new` at `places`, with the line endings found there, else with those of
/// the file.
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

/// The line ending of the line that contains `at`, else of the line before.
pub(crate) fn nearest_ending(text: &[u8], at: usize) -> Endings {
    let after = memchr::memchr(b'\n', &text[at..]).map(|i| at + i);
    match after.or_else(|| memchr::memrchr(b'\n', &text[..at])) {
        Some(end) if end > 0 && text[end - 1] == b'\r' => Endings::Crlf,
        _ => Endings::Lf,
    }
}

fn find(text: &[u8], old: &[u8], places: Occurrences) -> Vec<Range<usize>> {
    if old.is_empty() {
        return Vec::new();
    }
    let finder = memmem::Finder::new(old);
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = finder.find(&text[from..]).map(|at| from + at) {
        found.push(at..at + old.len());
        // There can be as many overlapping matches as bytes. To report that a match is not unique,
        // a few are enough.
        if places == Occurrences::One && found.len() > MAX_PLACES {
            break;
        }
        from = match places {
            Occurrences::One => at + 1,
            Occurrences::All => at + old.len(),
        };
    }
    found
}

/// Matches with CR LF read as LF. The ranges refer to the original text.
fn normalised(text: &[u8], old: &[u8], places: Occurrences) -> Vec<Range<usize>> {
    let dropped: Vec<usize> = memmem::find_iter(text, b"\r\n").collect();
    let found = find(&text::to_lf(text), &text::to_lf(old), places);
    // The k-th dropped CR was at dropped[k]; in the LF text the LF after it is at dropped[k] - k.
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
#[expect(clippy::single_range_in_vec_init, reason = "a list with one range is intended")]
mod tests {
    use super::super::splice::apply;
    use super::*;

    fn at(text: &str, old: &str) -> Located {
        locate(text.as_bytes(), old.as_bytes(), Occurrences::One)
    }

    fn replaced(text: &str, old: &str, new: &str) -> String {
        let Located::At(places) = at(text, old) else { panic!("not exactly one match") };
        String::from_utf8(apply(
            text.as_bytes(),
            &replace(text.as_bytes(), &places, new.as_bytes()),
        ))
        .unwrap()
    }

    #[test]
    fn one_match_is_found_and_two_are_ambiguous() {
        assert_eq!(at("a b c", "b"), Located::At(vec![2..3]));
        assert_eq!(at("a b b", "b"), Located::Ambiguous(vec![2..3, 4..5]));
        assert_eq!(at("a b c", "x"), Located::NotFound);
    }

    #[test]
    fn overlapping_places_are_two_for_one_and_one_for_all() {
        assert_eq!(at("aaa", "aa"), Located::Ambiguous(vec![0..2, 1..3]));
        assert_eq!(locate(b"aaa", b"aa", Occurrences::All), Located::At(vec![0..2]));
    }

    #[test]
    fn line_endings_match_each_other_and_stay_those_of_the_file() {
        assert_eq!(replaced("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n"), "x\r\ny\r\nz\r\nc\r\n");
        assert_eq!(replaced("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n");
        assert_eq!(replaced("a\r\nb\nc\r\n", "b", "x\ny"), "a\r\nx\ny\nc\r\n");
        assert_eq!(replaced("a\r\nb\nc\r\n", "c", "x\ny"), "a\r\nb\nx\r\ny\r\n");
        assert_eq!(replaced("a\r\nb\r\n", "b", "x"), "a\r\nx\r\n");
    }

    #[test]
    fn a_match_that_starts_or_ends_at_a_line_ending_keeps_the_rest() {
        assert_eq!(replaced("a\r\nb\r\nc", "\nb", "\nx"), "a\r\nx\r\nc");
        assert_eq!(replaced("a\r\nb\r\nc", "a\n", ""), "b\r\nc");
        assert_eq!(replaced("a\r\nb\r\nc", "a", "x"), "x\r\nb\r\nc");
    }
}
