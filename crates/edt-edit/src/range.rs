//! Edits by line number.

use std::ops::Range;

use super::hunk::{Hunk, HunkLine, Side};
use super::op::LineRange;
use super::placement::Placement;
use super::splice::Splice;
use super::table::{LineComparison, LineTable};
use edt_types::text::{self, BOM};

/// Why lines cannot be changed by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeError {
    /// The file has only this many lines.
    OutOfRange(usize),
    /// The lines differ from the text that the caller expects.
    Mismatch,
    /// The caller does not state the present text of the lines.
    NotVerified,
    /// The caller verifies the lines by the hash of the file, but an earlier edit changed or moved
    /// them.
    Shifted,
}

/// What proves that a line number refers to the lines that the caller means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifiedBy<'a> {
    Nothing,
    /// The hash of the file before the edits; the line numbers refer to that version.
    Hash(&'a ChangedLines),
}

/// The lines of a file that the edits so far have changed or moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedLines {
    /// Lines (0-based, end excluded) that were replaced by the same number of lines.
    lines: Vec<Range<usize>>,
    /// The first line whose number changed.
    moved: Option<usize>,
}

impl ChangedLines {
    /// Every line changed.
    #[must_use]
    pub fn all() -> ChangedLines {
        ChangedLines { lines: Vec::new(), moved: Some(0) }
    }

    /// Adds one more edit, whose splices change `text`.
    #[must_use]
    pub fn after_edit(mut self, text: &[u8], splices: &[Splice]) -> ChangedLines {
        let real: Vec<&Splice> =
            splices.iter().filter(|splice| text[splice.at.clone()] != *splice.with).collect();
        let (Some(first), Some(last)) = (real.first(), real.last()) else { return self };
        let ends = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let start = ends(&text[..first.at.start]);
        let removed: usize = real.iter().map(|splice| ends(&text[splice.at.clone()])).sum();
        let added: usize = real.iter().map(|splice| ends(&splice.with)).sum();
        if removed == added {
            let complete_lines =
                text[last.at.clone()].ends_with(b"\n") && last.with.ends_with(b"\n");
            self.lines.push(start..ends(&text[..last.at.end]) + usize::from(!complete_lines));
        } else {
            self.moved = Some(self.moved.map_or(start, |moved| moved.min(start)));
        }
        self
    }

    /// Whether the lines of `range` still have their text and their numbers. For an empty range:
    /// the line that it precedes.
    fn is_unchanged(&self, range: &Range<usize>) -> bool {
        let end = range.end.max(range.start + 1);
        let apart = |lines: &Range<usize>| end <= lines.start || lines.end <= range.start;
        self.moved.is_none_or(|moved| end <= moved) && self.lines.iter().all(apart)
    }
}

/// The splices that replace `range` with `content`.
///
/// # Errors
/// [`RangeError`]. An insertion needs no verification.
pub fn splices(
    text: &[u8],
    range: LineRange,
    content: &[u8],
    expected: Option<&[u8]>,
    verified_by: VerifiedBy<'_>,
) -> Result<Vec<Splice>, RangeError> {
    let table = LineTable::new(text, LineComparison::Exact);
    let (first, end) = match range {
        LineRange::Before(line) => (line.wrapping_sub(1), line.wrapping_sub(1)),
        LineRange::Of(first, last) => (first.wrapping_sub(1), last),
    };
    let inside = match range {
        LineRange::Before(_) => first <= table.len(),
        LineRange::Of(..) => first < end && end <= table.len(),
    };
    if !inside {
        return Err(RangeError::OutOfRange(table.len()));
    }
    match (expected, verified_by) {
        (Some(expected), _) if !expected_matches(&table, expected, range, first, end) => {
            return Err(RangeError::Mismatch);
        }
        (None, VerifiedBy::Hash(changed)) if !changed.is_unchanged(&(first..end)) => {
            return Err(RangeError::Shifted);
        }
        (None, VerifiedBy::Nothing) if matches!(range, LineRange::Of(..)) => {
            return Err(RangeError::NotVerified);
        }
        _ => {}
    }
    let old = (first..end).map(|at| HunkLine::new(Side::Old, table.bytes(at..at + 1)));
    let new = text::lines(content).map(|line| HunkLine::new(Side::New, line));
    let hunk = Hunk::of(0, old.chain(new).collect());
    let placement = Placement { ends_agree: false, ..Placement::exact(&table, hunk, first) };
    Ok(placement.splices(&table))
}

/// Whether the expected text is in the file: in the range or, for an insertion, right after the
/// position. A byte-order mark is not part of the first line.
fn expected_matches(
    table: &LineTable<'_>,
    expected: &[u8],
    range: LineRange,
    first: usize,
    end: usize,
) -> bool {
    let expected = expected.strip_prefix(BOM).filter(|_| first == 0).unwrap_or(expected);
    let expected: Vec<&[u8]> = text::lines(expected).map(super::table::content).collect();
    match range {
        LineRange::Of(..) => expected.len() == end - first && table.matches_at(&expected, first),
        LineRange::Before(_) if expected.is_empty() => first == table.len(),
        LineRange::Before(_) => table.matches_at(&expected, first),
    }
}

#[cfg(test)]
mod tests {
    use super::super::splice::apply;
    use super::*;

    fn replaced(text: &str, range: LineRange, content: &str) -> Result<String, RangeError> {
        let unchanged = ChangedLines::default();
        let splices = splices(
            text.as_bytes(),
            range,
            content.as_bytes(),
            None,
            VerifiedBy::Hash(&unchanged),
        )?;
        Ok(String::from_utf8(apply(text.as_bytes(), &splices)).unwrap())
    }

    #[test]
    fn lines_are_replaced_inserted_and_removed_with_the_files_line_endings() {
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
        assert_eq!(replaced("a\n", LineRange::Of(1, 2), "x"), Err(RangeError::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Of(0, 1), "x"), Err(RangeError::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Before(3), "x"), Err(RangeError::OutOfRange(1)));
        assert_eq!(replaced("a\n", LineRange::Before(0), "x"), Err(RangeError::OutOfRange(1)));
        assert_eq!(
            replaced("a\n", LineRange::Before(usize::MAX), "x"),
            Err(RangeError::OutOfRange(1))
        );
        assert_eq!(
            replaced("a\n", LineRange::Of(1, usize::MAX), "x"),
            Err(RangeError::OutOfRange(1))
        );
        assert_eq!(
            replaced("a\n", LineRange::Of(usize::MAX, usize::MAX), "x"),
            Err(RangeError::OutOfRange(1))
        );
    }

    #[test]
    fn removed_lines_must_be_verified() {
        let of = |expected: Option<&str>, verified_by| {
            splices(
                b"a\nb\nc\n",
                LineRange::Of(2, 3),
                b"",
                expected.map(str::as_bytes),
                verified_by,
            )
            .map(|_| ())
        };
        assert_eq!(of(None, VerifiedBy::Nothing), Err(RangeError::NotVerified));
        assert_eq!(of(Some("b\r\nc"), VerifiedBy::Nothing), Ok(()));
        assert_eq!(of(Some("b\n"), VerifiedBy::Nothing), Err(RangeError::Mismatch));
        let (nothing, all) = (ChangedLines::default(), ChangedLines::all());
        assert_eq!(of(None, VerifiedBy::Hash(&nothing)), Ok(()));
        assert_eq!(of(None, VerifiedBy::Hash(&all)), Err(RangeError::Shifted));
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_expected_text() {
        let of = |expected: &[u8]| {
            splices(
                b"\xef\xbb\xbfa\nb\n",
                LineRange::Of(1, 1),
                b"x",
                Some(expected),
                VerifiedBy::Nothing,
            )
            .map(|_| ())
        };
        assert_eq!((of(b"a\n"), of(b"\xef\xbb\xbfa\n")), (Ok(()), Ok(())));
        assert_eq!(of(b"b\n"), Err(RangeError::Mismatch));
    }

    #[test]
    fn a_hash_verifies_only_lines_that_no_earlier_edit_changed_or_moved() {
        let text = b"a\nb\n\n\nc\n";
        let after = |at: Range<usize>, with: &[u8]| {
            ChangedLines::default().after_edit(text, &[Splice { at, with: with.to_vec() }])
        };
        // The lines 1 to 5 that the hash still verifies, and the insert positions 1 to 6.
        let lines = |changed: &ChangedLines| {
            (0..5).filter(|&i| changed.is_unchanged(&(i..i + 1))).map(|i| i + 1).collect::<Vec<_>>()
        };
        let places = |changed: &ChangedLines| {
            (0..6).filter(|&i| changed.is_unchanged(&(i..i))).map(|i| i + 1).collect::<Vec<_>>()
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
        let up = end.after_edit(b"a\nb\n\n\nc\nd\n", &[Splice { at: 2..4, with: b"B\n".to_vec() }]);
        assert_eq!(lines(&up), [1, 3, 4, 5]);
    }
}
