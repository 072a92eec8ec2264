//! The lines of a text, each known by a number, so that a run of lines is found in time linear in the text.

use std::collections::HashMap;
use std::ops::Range;

use crate::base::text::{self, BOM};

/// What makes two lines equal. Their ends never count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// Every byte.
    Exact,
    /// White space at the ends aside.
    Trimmed,
}

/// A text cut into lines. A byte-order mark belongs to no line.
#[derive(Debug)]
pub struct LineTable<'a> {
    text: &'a [u8],
    likeness: Likeness,
    /// Where each line begins, and where the text ends.
    starts: Vec<usize>,
    numbers: HashMap<&'a [u8], usize>,
    /// The number of each line's content.
    lines: Vec<usize>,
    /// The last line of each number.
    last: Vec<usize>,
    /// How often each number stands.
    count: Vec<usize>,
    /// The line before each that has the same number; itself if there is none.
    earlier: Vec<usize>,
}

/// The number of a content that stands nowhere.
const NOWHERE: usize = usize::MAX;

impl<'a> LineTable<'a> {
    /// The table of `text`.
    #[must_use]
    pub fn new(text: &'a [u8], likeness: Likeness) -> LineTable<'a> {
        let from = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let mut table = LineTable {
            text,
            likeness,
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
        let number = *self.numbers.entry(key(content(line), self.likeness)).or_insert(next);
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

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Where line `at` (0-based) begins; one past the last is the end of the text.
    #[must_use]
    pub fn start(&self, at: usize) -> usize {
        self.starts[at]
    }

    /// The bytes of the lines `range` (0-based, end excluded), with their ends.
    #[must_use]
    pub fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        &self.text[self.starts[range.start]..self.starts[range.end]]
    }

    /// A line without its end.
    #[must_use]
    pub fn line(&self, at: usize) -> &'a [u8] {
        content(self.bytes(at..at + 1))
    }

    /// The end of a line: LF, CR LF, or nothing.
    #[must_use]
    pub fn end(&self, at: usize) -> &'a [u8] {
        &self.bytes(at..at + 1)[self.line(at).len()..]
    }

    /// Whether two contents are equal here.
    #[must_use]
    pub fn alike(&self, one: &[u8], other: &[u8]) -> bool {
        key(one, self.likeness) == key(other, self.likeness)
    }

    /// How often a content stands.
    #[must_use]
    pub fn often(&self, line: &[u8]) -> usize {
        self.numbers.get(key(line, self.likeness)).map_or(0, |&number| self.count[number])
    }

    /// The lines that hold a content, the last one first.
    pub fn holding(&self, line: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let mut next = self.numbers.get(key(line, self.likeness)).map(|&number| self.last[number]);
        std::iter::from_fn(move || {
            let at = next?;
            next = Some(self.earlier[at]).filter(|&earlier| earlier != at);
            Some(at)
        })
    }

    /// Whether the run stands at line `at`.
    #[must_use]
    pub fn stands(&self, run: &[&[u8]], at: usize) -> bool {
        at.checked_add(run.len()).is_some_and(|end| end <= self.len())
            && run.iter().enumerate().all(|(i, line)| self.alike(self.line(at + i), line))
    }

    /// Where a run of lines stands, overlapping places included, in order; at most `limit` places and one more.
    #[must_use]
    pub fn find(&self, run: &[&[u8]], limit: usize) -> Vec<usize> {
        let number =
            |line: &&[u8]| self.numbers.get(key(line, self.likeness)).copied().unwrap_or(NOWHERE);
        let run: Vec<usize> = run.iter().map(number).collect();
        if run.is_empty() || run.contains(&NOWHERE) || run.len() > self.len() {
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

/// A line without its end.
#[must_use]
pub fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn key(line: &[u8], likeness: Likeness) -> &[u8] {
    match likeness {
        Likeness::Exact => line,
        Likeness::Trimmed => line.trim_ascii(),
    }
}

/// Where `run` stands in `lines`: Knuth, Morris and Pratt, so that no text makes it slow.
fn search(lines: &[usize], run: &[usize], limit: usize) -> Vec<usize> {
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
        LineTable::new(text.as_bytes(), Likeness::Exact).find(&run, 20)
    }

    #[test]
    fn a_run_is_found_wherever_it_stands() {
        assert_eq!(find("a\nb\na\nb\n", &["a", "b"]), [0, 2]);
        assert_eq!(find("a\na\na\n", &["a", "a"]), [0, 1]);
        assert_eq!(find("a\nb", &["b"]), [1]);
        assert_eq!(find("a\nb", &["c"]), [0; 0]);
        assert_eq!(find("", &["a"]), [0; 0]);
    }

    #[test]
    fn line_ends_and_the_mark_at_the_start_belong_to_no_line() {
        let table = LineTable::new(b"\xef\xbb\xbfa\r\nb", Likeness::Exact);
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
