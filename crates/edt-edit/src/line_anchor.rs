//! Anchors of lines: `12:a3f4c1095e` is the number of a line and ten hexadecimal digits.
//!
//! The first four are a hash of the line. The last six are a running sum of hashes of neighbouring
//! lines, from the start of the file to the line. The difference of two sums covers every line
//! between two anchors. It stays the same if lines are added or removed above both.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::table::content;
use edt_types::text::{BOM, lines};

/// The anchor of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineAnchor {
    /// The number of the line, 1-based.
    pub line: usize,
    hash: u16,
    /// Of 24 bits.
    sum: u32,
}

/// The hexadecimal digits of an anchor.
const DIGITS: usize = 10;
/// The bits of a sum.
const SUM: u32 = 0xff_ffff;

/// Where an anchored range is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchoredLines {
    /// The first line and the last, 1-based. No line above changed, or such lines are only here.
    At(usize, usize),
    /// They are not at their numbers, and occur only here.
    Moved(usize, usize),
    /// The lines changed, or occur in several places.
    Changed,
    /// The file has only this many lines.
    OutOfRange(usize),
}

impl fmt::Display for LineAnchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:04x}{:06x}", self.line, self.hash, self.sum)
    }
}

impl FromStr for LineAnchor {
    type Err = ();

    /// The anchor, perhaps with the rest of the line that `edt read` prints.
    fn from_str(text: &str) -> Result<LineAnchor, ()> {
        let (line, rest) = text.trim().split_once(':').ok_or(())?;
        let (hash, rest) = rest.split_at_checked(DIGITS).ok_or(())?;
        let is_end = rest.trim_start().is_empty() || rest.trim_start().starts_with('|');
        let is_hash = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let line = line.parse().map_err(drop)?;
        if !is_end || !is_hash || line == 0 {
            return Err(());
        }
        let (hash, sum) = hash.split_at(4);
        let hash = u16::from_str_radix(hash, 16).map_err(drop)?;
        let sum = u32::from_str_radix(sum, 16).map_err(drop)?;
        Ok(LineAnchor { line, hash, sum })
    }
}

/// The anchors of the lines of `text` in the ranges, in order.
#[must_use]
pub fn anchors(text: &[u8], ranges: &[RangeInclusive<usize>]) -> Vec<LineAnchor> {
    let wanted = |one: &LineAnchor| ranges.iter().any(|range| range.contains(&one.line));
    all(text).filter(wanted).collect()
}

/// The anchors of all lines.
fn all(text: &[u8]) -> impl Iterator<Item = LineAnchor> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let mut before: Option<&[u8]> = None;
    let mut sum = 0_u32;
    lines(text).enumerate().map(move |(at, line)| {
        let line = content(line);
        if let Some(before) = before {
            let mut both = crc32fast::Hasher::new();
            both.update(before);
            both.update(b"\n");
            both.update(line);
            sum = sum.wrapping_add(both.finalize()) & SUM;
        }
        before = Some(line);
        let [low, high, ..] = crc32fast::hash(line).to_le_bytes();
        LineAnchor { line: at + 1, hash: u16::from_le_bytes([low, high]), sum }
    })
}

/// Where the lines from `first` to `last` are in `text`.
#[must_use]
pub fn find(text: &[u8], first: LineAnchor, last: LineAnchor) -> AnchoredLines {
    let all: Vec<LineAnchor> = all(text).collect();
    let Some(length) = last.line.checked_sub(first.line) else { return AnchoredLines::Changed };
    let between = |first: LineAnchor, last: LineAnchor| last.sum.wrapping_sub(first.sum) & SUM;
    let is_at = |at: usize| {
        let end = at.checked_add(length).and_then(|end| all.get(end));
        let (Some(start), Some(end)) = (all.get(at), end) else { return false };
        start.hash == first.hash
            && end.hash == last.hash
            && between(*start, *end) == between(first, last)
    };
    let number = first.line - 1;
    // If the sum is the same, too, no line above changed. Else equal lines from elsewhere may have
    // come to the number.
    let is_untouched = || all.get(number).is_some_and(|line| line.sum == first.sum);
    if is_at(number) && is_untouched() {
        return AnchoredLines::At(first.line, last.line);
    }
    let mut places = (0..all.len()).filter(|at| is_at(*at));
    match (places.next(), places.next()) {
        // One line is too little: the one that was meant may be gone, and an equal one here.
        (Some(at), None) if length > 0 && at == number => AnchoredLines::At(first.line, last.line),
        (Some(at), None) if length > 0 => AnchoredLines::Moved(at + 1, at + 1 + length),
        (None, _) if last.line > all.len() => AnchoredLines::OutOfRange(all.len()),
        _ => AnchoredLines::Changed,
    }
}

/// A line after its number, without the digits of an anchor: ` | text` of `:a3f4c1095e | text`.
#[must_use]
pub fn without_digits(rest: &[u8]) -> &[u8] {
    let anchor = rest.strip_prefix(b":").and_then(|rest| rest.split_at_checked(DIGITS));
    let is_anchor = |(digits, after): &(&[u8], &[u8])| {
        digits.iter().all(u8::is_ascii_hexdigit) && after.starts_with(b" |")
    };
    anchor.filter(is_anchor).map_or(rest, |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(text: &str, line: usize) -> LineAnchor {
        anchors(text.as_bytes(), &[line..=line])[0]
    }

    fn found(old: &str, (first, last): (usize, usize), new: &str) -> AnchoredLines {
        find(new.as_bytes(), anchor(old, first), anchor(old, last))
    }

    const TEXT: &str = "one\ntwo\n}\n\nthree\nfour\n}\n";

    #[test]
    fn an_anchor_is_read_as_it_is_printed() {
        for line in 1..=7 {
            let anchor = anchor(TEXT, line);
            let shown = anchor.to_string();
            assert_eq!(shown.len(), 12, "{shown}");
            assert_eq!(shown.parse(), Ok(anchor));
            assert_eq!(format!(" {shown} | one").parse(), Ok(anchor));
        }
        for wrong in [
            "",
            "1",
            "1:",
            "1:abc",
            "x:abcdef0123",
            "0:abcdef0123",
            "1:abcdeg0123",
            "1:abcdef01234",
        ] {
            assert_eq!(wrong.parse::<LineAnchor>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn unchanged_lines_are_found_at_their_numbers() {
        for range in [(1, 1), (2, 5), (1, 7)] {
            assert_eq!(found(TEXT, range, TEXT), AnchoredLines::At(range.0, range.1));
        }
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_do_not_count() {
        let other = format!("\u{feff}{}", TEXT.replace('\n', "\r\n"));
        assert_eq!(found(TEXT, (2, 5), &other), AnchoredLines::At(2, 5));
    }

    #[test]
    fn a_change_at_or_between_the_anchors_is_found() {
        for (old, new) in [("two", "2"), ("}\n\n", "}\n"), ("three", "3"), ("\n\n", "\nx\n")] {
            let changed = TEXT.replacen(old, new, 1);
            assert_eq!(found(TEXT, (2, 5), &changed), AnchoredLines::Changed, "{old}");
        }
        let swapped = TEXT.replace("}\n\nthree", "\n}\nthree");
        assert_eq!(found(TEXT, (2, 5), &swapped), AnchoredLines::Changed);
    }

    #[test]
    fn moved_lines_are_named_if_their_place_is_unique() {
        let moved = format!("zero\nand more\n{TEXT}");
        assert_eq!(found(TEXT, (2, 5), &moved), AnchoredLines::Moved(4, 7));
        assert_eq!(found(TEXT, (2, 2), &moved), AnchoredLines::Changed, "one line is too little");
        let twice = format!("zero\n{TEXT}{TEXT}");
        assert_eq!(found(TEXT, (2, 5), &twice), AnchoredLines::Changed);
        // Line 3 is a bracket before and after, and not the same one.
        let shifted = "zero\nand more\n}\ntwo\n}\n\nthree\nfour\n}\n";
        assert_eq!(found(TEXT, (3, 3), shifted), AnchoredLines::Changed);
        let above = TEXT.replace("one", "1");
        assert_eq!(found(TEXT, (2, 5), &above), AnchoredLines::At(2, 5));
        assert_eq!(found(TEXT, (3, 3), &above), AnchoredLines::Changed, "there are two brackets");
        // The line that was meant is gone.
        let (two, one) = ("a\nx = 1\nb\nx = 1\n", "b\nx = 1\n");
        assert_eq!(found(two, (2, 2), one), AnchoredLines::Changed);
        assert_eq!(found(TEXT, (5, 7), "one\n"), AnchoredLines::OutOfRange(1));
        let far = format!("{}:abcdef0123", usize::MAX).parse().unwrap();
        assert_eq!(find(TEXT.as_bytes(), anchor(TEXT, 1), far), AnchoredLines::OutOfRange(7));
    }
}
