//! Changing lines by their numbers.

use super::hunk::{Hunk, Line, Side};
use super::op::LineRange;
use super::seat::Seat;
use super::splice::Splice;
use super::table::{Likeness, LineTable};
use crate::base::text;

/// Why lines cannot be changed by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeFault {
    /// The file has only so many lines.
    OutOfRange(usize),
    /// Other lines stand there than the caller believes.
    Mismatch,
    /// The caller does not say what stands there, or says it of the file before another edit moved its lines.
    Blind,
}

/// What vouches for a line number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voucher<'a> {
    /// Nothing.
    Nothing,
    /// The hash of a text, which the numbers are of.
    Text(&'a [u8]),
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
        (Some(expected), _) if !stands(&table, expected, range, first, end) => return Err(RangeFault::Mismatch),
        (None, Voucher::Text(original)) if !is_same_place(text, original, &table, first, end) => {
            return Err(RangeFault::Blind);
        }
        (None, Voucher::Nothing) if matches!(range, LineRange::Of(..)) => return Err(RangeFault::Blind),
        _ => {}
    }
    let old = (first..end).map(|at| Line::new(Side::Old, table.bytes(at..at + 1)));
    let new = text::lines(content).map(|line| Line::new(Side::New, line));
    let hunk = Hunk::of(0, old.chain(new).collect());
    let seat = Seat { ends_agree: false, ..Seat::exact(&table, hunk, first) };
    Ok(seat.splices(&table))
}

/// Whether the expected lines stand there: those of the range, or, for an insertion, those that follow it.
fn stands(table: &LineTable<'_>, expected: &[u8], range: LineRange, first: usize, end: usize) -> bool {
    let expected: Vec<&[u8]> = text::lines(expected).map(super::table::content).collect();
    match range {
        LineRange::Of(..) => expected.len() == end - first && table.stands(&expected, first),
        LineRange::Before(_) if expected.is_empty() => first == table.len(),
        LineRange::Before(_) => table.stands(&expected, first),
    }
}

/// Whether the lines have in `text` the numbers that they have in `original`: nothing up to their end differs, or nothing from their
/// start on and no line came or went.
fn is_same_place(text: &[u8], original: &[u8], table: &LineTable<'_>, first: usize, end: usize) -> bool {
    if text == original {
        return true;
    }
    let before = LineTable::new(original, Likeness::Exact);
    if end > before.len() {
        return false;
    }
    let upto = text[..table.start(end)] == original[..before.start(end)];
    let from = table.len() == before.len() && text[table.start(first)..] == original[before.start(first)..];
    upto || from
}

#[cfg(test)]
mod tests {
    use super::super::splice::apply;
    use super::*;

    fn replaced(text: &str, range: LineRange, content: &str) -> Result<String, RangeFault> {
        let voucher = Voucher::Text(text.as_bytes());
        let splices = splices(text.as_bytes(), range, content.as_bytes(), None, voucher)?;
        Ok(String::from_utf8(apply(text.as_bytes(), &splices)).unwrap())
    }

    #[test]
    fn lines_are_replaced_inserted_and_removed_in_the_files_own_form() {
        assert_eq!(replaced("a\nb\nc\n", LineRange::Of(2, 2), "x\ny").unwrap(), "a\nx\ny\nc\n");
        assert_eq!(replaced("a\r\nb\r\n", LineRange::Of(1, 1), "x\n").unwrap(), "x\r\nb\r\n");
        assert_eq!(replaced("a\nb", LineRange::Of(2, 2), "x\n").unwrap(), "a\nx");
        assert_eq!(replaced("a\nb", LineRange::Before(3), "x\n").unwrap(), "a\nb\nx");
        assert_eq!(replaced("a\nb\n", LineRange::Before(3), "x").unwrap(), "a\nb\nx\n");
        assert_eq!(replaced("\u{feff}a\nb\n", LineRange::Before(1), "x\n").unwrap(), "\u{feff}x\na\nb\n");
        assert_eq!(replaced("a\nb\nc", LineRange::Of(2, 3), "").unwrap(), "a\n");
        assert_eq!(replaced("", LineRange::Before(1), "x").unwrap(), "x\n");
    }

    #[test]
    fn numbers_beyond_the_file_are_refused() {
        assert_eq!(replaced("a\n", LineRange::Of(1, 2), "x"), Err(RangeFault::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Of(0, 1), "x"), Err(RangeFault::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Before(3), "x"), Err(RangeFault::OutOfRange(1)));
    }

    #[test]
    fn what_is_removed_must_be_vouched_for() {
        let of = |expected: Option<&str>, voucher| {
            splices(b"a\nb\nc\n", LineRange::Of(2, 3), b"", expected.map(str::as_bytes), voucher).map(|_| ())
        };
        assert_eq!(of(None, Voucher::Nothing), Err(RangeFault::Blind));
        assert_eq!(of(Some("b\r\nc"), Voucher::Nothing), Ok(()));
        assert_eq!(of(Some("b\n"), Voucher::Nothing), Err(RangeFault::Mismatch));
        // A line came before them since: the hash is of other numbers.
        assert_eq!(of(None, Voucher::Text(b"b\nc\n")), Err(RangeFault::Blind));
        assert_eq!(of(None, Voucher::Text(b"x\nb\nc\n")), Ok(()));
        assert_eq!(of(None, Voucher::Text(b"a\nb\nc\nd\n")), Ok(()));
    }
}
