//! The lines of a text, each with the number of its content, so that a run of lines is found in
//! linear time.

use std::collections::HashMap;
use std::ops::Range;

use edt_types::text::{self, BOM};

/// When two lines are equal. Line endings are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineComparison {
    /// All bytes are equal.
    Exact,
    /// Equal after white space at both ends is removed.
    Trimmed,
}

/// A text split into lines. A byte-order mark is not part of the first line.
#[derive(Debug)]
pub struct LineTable<'a> {
    text: &'a [u8],
    comparison: LineComparison,
    /// The offset of each line, then that of the end of the text.
    starts: Vec<usize>,
    numbers: HashMap<&'a [u8], usize>,
    /// The content number of each line.
    lines: Vec<usize>,
    /// The last line with each content number.
    last: Vec<usize>,
    /// How often each content number occurs.
    count: Vec<usize>,
    /// The previous line with the same content number; the line itself if there is none.
    earlier: Vec<usize>,
}

/// The number of a content that the text does not have.
const UNKNOWN: usize = usize::MAX;

impl<'a> LineTable<'a> {
    #[must_use]
    pub fn new(text: &'a [u8], comparison: LineComparison) -> LineTable<'a> {
        let from = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let mut table = LineTable {
            text,
            comparison,
            starts: vec![from],
            numbers: HashMap::new(),
            lines: Vec::new(),
            last: Vec::new(),
            count: Vec::new(),
            earlier: Vec::new(),
        };
        for line in text::lines(&text[from..]) {
            table.push(line);
        }
        table
    }

    fn push(&mut self, line: &'a [u8]) {
        let at = self.lines.len();
        let next = self.count.len();
        let number = *self.numbers.entry(key(content(line), self.comparison)).or_insert(next);
        if number == next {
            self.last.push(at);
            self.count.push(0);
        }
        self.earlier.push(self.last[number]);
        self.last[number] = at;
        self.count[number] += 1;
        self.lines.push(number);
        self.starts.push(self.starts[at] + line.len());
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    #[must_use]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The offset of line `at` (0-based); one past the last line is the end of the text.
    #[must_use]
    pub fn start(&self, at: usize) -> usize {
        self.starts[at]
    }

    /// The bytes of the lines `range` (0-based, end excluded), with their line endings.
    #[must_use]
    pub fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        &self.text[self.starts[range.start]..self.starts[range.end]]
    }

    /// The line without its line ending.
    #[must_use]
    pub fn line(&self, at: usize) -> &'a [u8] {
        content(self.bytes(at..at + 1))
    }

    /// The line ending: LF, CR LF, or nothing.
    #[must_use]
    pub fn end(&self, at: usize) -> &'a [u8] {
        &self.bytes(at..at + 1)[self.line(at).len()..]
    }

    /// Whether two lines are equal under the comparison of this table.
    #[must_use]
    pub fn lines_equal(&self, one: &[u8], other: &[u8]) -> bool {
        key(one, self.comparison) == key(other, self.comparison)
    }

    /// How often a line occurs.
    #[must_use]
    pub fn frequency(&self, line: &[u8]) -> usize {
        self.numbers.get(key(line, self.comparison)).map_or(0, |&number| self.count[number])
    }

    /// The positions of a line, the last one first.
    pub fn positions_of(&self, line: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let mut next =
            self.numbers.get(key(line, self.comparison)).map(|&number| self.last[number]);
        std::iter::from_fn(move || {
            let at = next?;
            next = Some(self.earlier[at]).filter(|&earlier| earlier != at);
            Some(at)
        })
    }

    /// Whether `run` matches at line `at`.
    #[must_use]
    pub fn matches_at(&self, run: &[&[u8]], at: usize) -> bool {
        at.checked_add(run.len()).is_some_and(|end| end <= self.len())
            && run.iter().enumerate().all(|(i, line)| self.lines_equal(self.line(at + i), line))
    }

    /// The lines where `run` matches, in order, overlapping matches included; at most `limit` and
    /// one more.
    #[must_use]
    pub fn find(&self, run: &[&[u8]], limit: usize) -> Vec<usize> {
        let number =
            |line: &&[u8]| self.numbers.get(key(line, self.comparison)).copied().unwrap_or(UNKNOWN);
        let run: Vec<usize> = run.iter().map(number).collect();
        if run.is_empty() || run.contains(&UNKNOWN) || run.len() > self.len() {
            return Vec::new();
        }
        let Some((i, rarest)) =
            run.iter().copied().enumerate().min_by_key(|&(_, number)| self.count[number])
        else {
            return Vec::new();
        };
        if self.count[rarest].saturating_mul(run.len()) > self.len().saturating_mul(4) {
            return search(&self.lines, &run, limit);
        }
        let (mut found, mut at) = (Vec::new(), self.last[rarest]);
        loop {
            if at >= i && self.lines[at - i..].starts_with(&run) {
                found.push(at - i);
            }
            if self.earlier[at] == at {
                break;
            }
            at = self.earlier[at];
        }
        found.reverse();
        found.truncate(limit + 1);
        found
    }
}

/// The line without its line ending.
#[must_use]
pub fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn key(line: &[u8], comparison: LineComparison) -> &[u8] {
    match comparison {
        LineComparison::Exact => line,
        LineComparison::Trimmed => line.trim_ascii(),
    }
}

/// Where `run` occurs in `lines`: Knuth, Morris and Pratt, so that no input makes it slow.
pub(super) fn search(lines: &[usize], run: &[usize], limit: usize) -> Vec<usize> {
    let mut back = vec![0; run.len()];
    let mut matched = 0;
    for i in 1..run.len() {
        while matched > 0 && run[i] != run[matched] {
            matched = back[matched - 1];
        }
        matched += usize::from(run[i] == run[matched]);
        back[i] = matched;
    }
    let (mut found, mut matched) = (Vec::new(), 0);
    for (at, number) in lines.iter().enumerate() {
        while matched > 0 && (matched == run.len() || *number != run[matched]) {
            matched = back[matched - 1];
        }
        matched += usize::from(*number == run[matched]);
        if matched == run.len() {
            found.push(at + 1 - run.len());
            if found.len() > limit {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, run: &[&str]) -> Vec<usize> {
        let run: Vec<&[u8]> = run.iter().map(|line| line.as_bytes()).collect();
        LineTable::new(text.as_bytes(), LineComparison::Exact).find(&run, 20)
    }

    #[test]
    fn a_run_is_found_wherever_it_occurs() {
        assert_eq!(find("a\nb\na\nb\n", &["a", "b"]), [0, 2]);
        assert_eq!(find("a\na\na\n", &["a", "a"]), [0, 1]);
        assert_eq!(find("a\nb", &["b"]), [1]);
        assert_eq!(find("a\nb", &["c"]), [0; 0]);
        assert_eq!(find("", &["a"]), [0; 0]);
    }

    #[test]
    fn line_endings_and_the_byte_order_mark_are_not_part_of_a_line() {
        let table = LineTable::new(b"\xef\xbb\xbfa\r\nb", LineComparison::Exact);
        assert_eq!(
            (table.len(), table.line(0), table.end(0), table.end(1)),
            (2, &b"a"[..], &b"\r\n"[..], &b""[..])
        );
        assert_eq!((table.start(0), table.bytes(0..2)), (3, &b"a\r\nb"[..]));
    }

    #[test]
    fn both_searches_agree() {
        let lines: Vec<usize> =
            (0..400).map(|i| usize::from(i % 7 == 0) + usize::from(i % 5 == 0)).collect();
        for start in [0, 3, 35, 100] {
            let run = &lines[start..start + 12];
            let naive: Vec<usize> =
                (0..=lines.len() - 12).filter(|&at| lines[at..].starts_with(run)).collect();
            assert_eq!(search(&lines, run, 1000), naive);
        }
    }
}
