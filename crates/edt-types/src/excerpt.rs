//! Lines of a text within limits. Every cut is reported.

use std::ops::RangeInclusive;

use super::text::lines;

/// The maximum that is shown, over all ranges together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub lines: u64,
    pub bytes: usize,
}

/// The shown part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt<'t> {
    /// The shown part of each range, in order. A range of which nothing is shown is left out.
    pub parts: Vec<Part<'t>>,
    /// The first requested line that is not shown.
    pub next_line: Option<u64>,
    /// The line of which only the beginning is shown, because the line alone exceeds the limit.
    pub cut_line: Option<CutLine>,
}

/// Consecutive lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'t> {
    /// The number of the first line, 1-based.
    pub first_line: u64,
    /// The number of the last line.
    pub last_line: u64,
    pub text: &'t [u8],
}

/// A line that is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutLine {
    /// The number of the line, 1-based.
    pub line: u64,
    /// How many bytes of the line are shown.
    pub shown: usize,
    /// The length of the line in bytes, including its line end.
    pub bytes: usize,
}

/// The lines `ranges` of `text`, as far as `limits` allow. The ranges must be in order and must
/// neither overlap nor touch: see [`merged`].
#[must_use]
pub fn excerpt<'t>(text: &'t [u8], ranges: &[RangeInclusive<u64>], limits: Limits) -> Excerpt<'t> {
    let mut out = Excerpt::default();
    let (mut lines_left, mut bytes_left) = (limits.lines, limits.bytes);
    let mut at = 0;
    let mut all = lines(text).zip(1_u64..).map(|(line, number)| {
        at += line.len();
        (number, at - line.len(), line.len())
    });
    for range in ranges {
        let wanted = all.by_ref().skip_while(|(number, ..)| number < range.start());
        let mut part: Option<Part<'t>> = None;
        for (number, start, length) in wanted.take_while(|(number, ..)| range.contains(number)) {
            let first = out.parts.is_empty() && part.is_none();
            if lines_left == 0 || length > bytes_left && !first {
                out.next_line = Some(number);
                break;
            }
            let shown =
                if length <= bytes_left { length } else { boundary(&text[start..], bytes_left) };
            if shown < length {
                out.cut_line = Some(CutLine { line: number, shown, bytes: length });
            }
            (lines_left, bytes_left) =
                (lines_left - 1, if shown < length { 0 } else { bytes_left - shown });
            let begin = part.as_ref().map_or(start, |part| start - part.text.len());
            let first_line = part.as_ref().map_or(number, |part| part.first_line);
            part = Some(Part { first_line, last_line: number, text: &text[begin..start + shown] });
        }
        out.parts.extend(part);
        if out.next_line.is_some() {
            break;
        }
    }
    out
}

/// Sorts `ranges` and joins those that overlap or touch.
#[must_use]
pub fn merged(mut ranges: Vec<RangeInclusive<u64>>) -> Vec<RangeInclusive<u64>> {
    ranges.sort_by_key(|range| *range.start());
    let mut out: Vec<RangeInclusive<u64>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if *range.start() <= last.end().saturating_add(1) => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => out.push(range),
        }
    }
    out
}

/// The greatest length up to `most` that does not cut a UTF-8 character in two.
fn boundary(text: &[u8], most: usize) -> usize {
    let continues = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // A UTF-8 character has at most four bytes. A longer run of continuation bytes is not UTF-8.
    (most.saturating_sub(3)..=most).rev().find(|at| !continues(at)).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"one\ntwo\nthree\nfour\nfive";

    fn part(first_line: u64, last_line: u64, text: &[u8]) -> Part<'_> {
        Part { first_line, last_line, text }
    }

    fn within(lines: u64, bytes: usize) -> Limits {
        Limits { lines, bytes }
    }

    #[test]
    fn ranges_are_shown_separately() {
        let parts = vec![part(1, 2, b"one\ntwo\n"), part(5, 5, b"five")];
        assert_eq!(
            excerpt(TEXT, &[1..=2, 5..=9], within(9, 99)),
            Excerpt { parts, ..Excerpt::default() }
        );
        assert_eq!(excerpt(b"", &[1..=u64::MAX], within(9, 99)), Excerpt::default());
    }

    #[test]
    fn the_limits_hold_over_all_ranges_and_the_next_line_is_named() {
        let one = |parts, next_line| Excerpt { parts, next_line, cut_line: None };
        assert_eq!(
            excerpt(TEXT, &[1..=5], within(2, 99)),
            one(vec![part(1, 2, b"one\ntwo\n")], Some(3))
        );
        assert_eq!(
            excerpt(TEXT, &[1..=5], within(9, 8)),
            one(vec![part(1, 2, b"one\ntwo\n")], Some(3))
        );
        assert_eq!(excerpt(TEXT, &[1..=5], within(9, 7)), one(vec![part(1, 1, b"one\n")], Some(2)));
        assert_eq!(
            excerpt(TEXT, &[1..=1, 4..=5], within(1, 99)),
            one(vec![part(1, 1, b"one\n")], Some(4))
        );
        assert_eq!(
            excerpt(TEXT, &[1..=5], within(5, TEXT.len())),
            one(vec![part(1, 5, TEXT)], None)
        );
        assert_eq!(excerpt(TEXT, &[4..=5], within(0, 99)), one(vec![], Some(4)));
    }

    #[test]
    fn a_line_longer_than_the_limit_is_cut_between_characters() {
        let text = "wäre\nkurz\n".as_bytes();
        let cut = |most| excerpt(text, &[1..=2], within(9, most));
        let cut_at = |shown| Some(CutLine { line: 1, shown, bytes: 6 });
        assert_eq!(
            (cut(2).parts, cut(2).cut_line, cut(2).next_line),
            (vec![part(1, 1, b"w")], cut_at(1), Some(2))
        );
        assert_eq!(cut(3).cut_line, cut_at(3));
        assert_eq!(cut(0).cut_line, cut_at(0));
        assert_eq!(excerpt(text, &[1..=1], within(9, 3)).next_line, None);
        assert_eq!(boundary(&[0x80; 9], 5), 5);
        // The long line is not the first one shown: the next call shows it.
        assert_eq!(excerpt(b"a\nlong line\n", &[1..=2], within(9, 5)).next_line, Some(2));
    }

    #[test]
    fn ranges_that_overlap_or_touch_are_one() {
        assert_eq!(merged(vec![50..=60, 10..=20, 15..=30, 31..=31]), [10..=31, 50..=60]);
        assert_eq!(merged(vec![1..=9, 2..=3, 5..=u64::MAX]), [1..=u64::MAX]);
    }
}
