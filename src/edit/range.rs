//! Changing lines by their numbers.

use std::ops::Range;

use super::hunk::{Hunk, Line, Side};
use super::op::LineRange;
use super::seat::Seat;
use super::splice::Splice;
use super::table::{Likeness, LineTable};
use crate::base::text::{self, BOM};

/// Why lines cannot be changed by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeFault {
    /// The file has only so many lines.
    OutOfRange(usize),
    /// Other lines stand there than the caller believes.
    Mismatch,
    /// The caller does not say what stands there.
    Blind,
    /// The caller says it by the hash of the file, and an earlier edit changed or moved those lines.
    Moved,
}

/// What vouches for a line number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voucher<'a> {
    /// Nothing.
    Nothing,
    /// The hash of the file before the edits, which the numbers are of.
    Hash(&'a Changed),
}

/// Which lines of a file the edits so far have changed or moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Lines (0-based, end excluded) in place of which as many came.
    lines: Vec<Range<usize>>,
    /// The first line from which the numbers are others.
    moved: Option<usize>,
}

impl Changed {
    /// Every line is another.
    #[must_use]
    pub fn all() -> Changed {
        Changed { lines: Vec::new(), moved: Some(0) }
    }

    /// The same after one more edit, whose splices change `text`.
    #[must_use]
    pub fn and(mut self, text: &[u8], splices: &[Splice]) -> Changed {
        let real: Vec<&Splice> =
            splices.iter().filter(|splice| text[splice.at.clone()] != *splice.with).collect();
        let (Some(first), Some(last)) = (real.first(), real.last()) else { return self };
        let ends = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let start = ends(&text[..first.at.start]);
        let gone: usize = real.iter().map(|splice| ends(&text[splice.at.clone()])).sum();
        let come: usize = real.iter().map(|splice| ends(&splice.with)).sum();
        if gone == come {
            let whole = text[last.at.clone()].ends_with(b"\n") && last.with.ends_with(b"\n");
            self.lines.push(start..ends(&text[..last.at.end]) + usize::from(!whole));
        } else {
            self.moved = Some(self.moved.map_or(start, |moved| moved.min(start)));
        }
        self
    }

    /// Whether the lines of `range` are what they were, under the numbers that they had; of an empty range, the line that it is before.
    fn spares(&self, range: &Range<usize>) -> bool {
        let end = range.end.max(range.start + 1);
        let apart = |lines: &Range<usize>| end <= lines.start || lines.end <= range.start;
        self.moved.is_none_or(|moved| end <= moved) && self.lines.iter().all(apart)
    }
}

/// The splices that put `content` in place of `range`.
///
/// # Errors
/// [`RangeFault`]; an insertion that nothing vouches for is none.
pub fn splices(
    text: &[u8],
    range: LineRange,
    content: &[u8],
    expected: Option<&[u8]>,
    voucher: Voucher<'_>,
) -> Result<Vec<Splice>, RangeFault> {
    let table = LineTable::new(text, Likeness::Exact);
    let (first, end) = match range {
        LineRange::Before(line) => (line.wrapping_sub(1), line.wrapping_sub(1)),
        LineRange::Of(first, last) => (first.wrapping_sub(1), last),
    };
    let inside = match range {
        LineRange::Before(_) => first <= table.len(),
        LineRange::Of(..) => first < end && end <= table.len(),
    };
    if !inside {
        return Err(RangeFault::OutOfRange(table.len()));
    }
    match (expected, voucher) {
        (Some(expected), _) if !stands(&table, expected, range, first, end) => {
            return Err(RangeFault::Mismatch);
        }
        (None, Voucher::Hash(changed)) if !changed.spares(&(first..end)) => {
            return Err(RangeFault::Moved);
        }
        (None, Voucher::Nothing) if matches!(range, LineRange::Of(..)) => {
            return Err(RangeFault::Blind);
        }
        _ => {}
    }
    let old = (first..end).map(|at| Line::new(Side::Old, table.bytes(at..at + 1)));
    let new = text::lines(content).map(|line| Line::new(Side::New, line));
    let hunk = Hunk::of(0, old.chain(new).collect());
    let seat = Seat { ends_agree: false, ..Seat::exact(&table, hunk, first) };
    Ok(seat.splices(&table))
}

/// Whether the expected lines stand there: those of the range, or, for an insertion, those that follow it. A byte-order mark is no
/// part of the first line.
fn stands(
    table: &LineTable<'_>,
    expected: &[u8],
    range: LineRange,
    first: usize,
    end: usize,
) -> bool {
    let expected = expected.strip_prefix(BOM).filter(|_| first == 0).unwrap_or(expected);
    let expected: Vec<&[u8]> = text::lines(expected).map(super::table::content).collect();
    match range {
        LineRange::Of(..) => expected.len() == end - first && table.stands(&expected, first),
        LineRange::Before(_) if expected.is_empty() => first == table.len(),
        LineRange::Before(_) => table.stands(&expected, first),
    }
}

#[cfg(test)]
mod tests {
    use super::super::splice::apply;
    use super::*;

    fn replaced(text: &str, range: LineRange, content: &str) -> Result<String, RangeFault> {
        let unchanged = Changed::default();
        let splices =
            splices(text.as_bytes(), range, content.as_bytes(), None, Voucher::Hash(&unchanged))?;
        Ok(String::from_utf8(apply(text.as_bytes(), &splices)).unwrap())
    }

    #[test]
    fn lines_are_replaced_inserted_and_removed_in_the_files_own_form() {
        assert_eq!(replaced("a\nb\nc\n", LineRange::Of(2, 2), "x\ny").unwrap(), "a\nx\ny\nc\n");
        assert_eq!(replaced("a\r\nb\r\n", LineRange::Of(1, 1), "x\n").unwrap(), "x\r\nb\r\n");
        assert_eq!(replaced("a\nb", LineRange::Of(2, 2), "x\n").unwrap(), "a\nx");
        assert_eq!(replaced("a\nb", LineRange::Before(3), "x\n").unwrap(), "a\nb\nx");
        assert_eq!(replaced("a\nb\n", LineRange::Before(3), "x").unwrap(), "a\nb\nx\n");
        assert_eq!(
            replaced("\u{feff}a\nb\n", LineRange::Before(1), "x\n").unwrap(),
            "\u{feff}x\na\nb\n"
        );
        assert_eq!(replaced("a\nb\nc", LineRange::Of(2, 3), "").unwrap(), "a\n");
        assert_eq!(replaced("", LineRange::Before(1), "x").unwrap(), "x\n");
    }

    #[test]
    fn numbers_beyond_the_file_are_refused() {
        assert_eq!(replaced("a\n", LineRange::Of(1, 2), "x"), Err(RangeFault::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Of(0, 1), "x"), Err(RangeFault::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Before(3), "x"), Err(RangeFault::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Before(0), "x"), Err(RangeFault::OutOfRange(1)));
        assert_eq!(
            replaced("a\n", LineRange::Before(usize::MAX), "x"),
            Err(RangeFault::OutOfRange(1))
        );
        assert_eq!(
            replaced("a\n", LineRange::Of(1, usize::MAX), "x"),
            Err(RangeFault::OutOfRange(1))
        );
        assert_eq!(
            replaced("a\n", LineRange::Of(usize::MAX, usize::MAX), "x"),
            Err(RangeFault::OutOfRange(1))
        );
    }

    #[test]
    fn what_is_removed_must_be_vouched_for() {
        let of = |expected: Option<&str>, voucher| {
            splices(b"a\nb\nc\n", LineRange::Of(2, 3), b"", expected.map(str::as_bytes), voucher)
                .map(|_| ())
        };
        assert_eq!(of(None, Voucher::Nothing), Err(RangeFault::Blind));
        assert_eq!(of(Some("b\r\nc"), Voucher::Nothing), Ok(()));
        assert_eq!(of(Some("b\n"), Voucher::Nothing), Err(RangeFault::Mismatch));
        let (nothing, all) = (Changed::default(), Changed::all());
        assert_eq!(of(None, Voucher::Hash(&nothing)), Ok(()));
        assert_eq!(of(None, Voucher::Hash(&all)), Err(RangeFault::Moved));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_what_is_expected() {
        let of = |expected: &[u8]| {
            splices(
                b"\xef\xbb\xbfa\nb\n",
                LineRange::Of(1, 1),
                b"x",
                Some(expected),
                Voucher::Nothing,
            )
            .map(|_| ())
        };
        assert_eq!((of(b"a\n"), of(b"\xef\xbb\xbfa\n")), (Ok(()), Ok(())));
        assert_eq!(of(b"b\n"), Err(RangeFault::Mismatch));
    }

    #[test]
    fn a_hash_vouches_only_for_lines_that_no_earlier_edit_changed_or_moved() {
        let text = b"a\nb\n\n\nc\n";
        let after = |at: Range<usize>, with: &[u8]| {
            Changed::default().and(text, &[Splice { at, with: with.to_vec() }])
        };
        // Which of the lines 1 to 5 it still vouches for, and which of the places to insert, 1 to 6.
        let lines = |changed: &Changed| {
            (0..5).filter(|&i| changed.spares(&(i..i + 1))).map(|i| i + 1).collect::<Vec<_>>()
        };
        let places = |changed: &Changed| {
            (0..6).filter(|&i| changed.spares(&(i..i))).map(|i| i + 1).collect::<Vec<_>>()
        };
        let insertion = after(4..4, b"\n");
        assert_eq!((lines(&insertion), places(&insertion)), (vec![1, 2], vec![1, 2]));
        let in_place = after(2..4, b"B\n");
        assert_eq!((lines(&in_place), places(&in_place)), (vec![1, 3, 4, 5], vec![1, 3, 4, 5, 6]));
        assert_eq!(lines(&after(2..3, b"B")), [1, 3, 4, 5]);
        assert_eq!(lines(&after(2..4, b"B\nx")), [1, 4, 5], "the next line is joined to what came");
        assert_eq!(lines(&after(2..4, b"")), [1]);
        assert_eq!(lines(&after(2..4, b"b\n")), [1, 2, 3, 4, 5], "nothing changed");
        let end = after(8..8, b"d\n");
        assert_eq!((lines(&end), places(&end)), (vec![1, 2, 3, 4, 5], vec![1, 2, 3, 4, 5]));
        let up = end.and(b"a\nb\n\n\nc\nd\n", &[Splice { at: 2..4, with: b"B\n".to_vec() }]);
        assert_eq!(lines(&up), [1, 3, 4, 5]);
    }
}
