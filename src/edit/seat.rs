//! A hunk at its place: what it changes there, byte by byte.

use std::ops::Range;

use super::hunk::{FinalNewline, Hunk, Line, Side};
use super::indent::Indent;
use super::splice::Splice;
use super::table::LineTable;
use crate::base::MatchedBy;
use crate::base::text::BOM;

/// A hunk at its place.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    /// As it was read.
    pub(super) hunk: Hunk,
    /// The line where its old side begins.
    pub(super) first: usize,
    /// How its indentation relates to the file's.
    pub(super) indent: Indent,
    /// What its old side was found by.
    pub(super) matched_by: MatchedBy,
    /// Whether a line number alone says where it goes.
    pub(super) unchecked: bool,
    /// Whether its old side has the very line ends of the file, so that those of its new side are meant.
    pub(super) ends_agree: bool,
}

/// A run of changed lines: the lines of the file that go, and those that come.
type Run<'h> = (Range<usize>, Vec<&'h Line>);

impl Seat {
    /// A hunk whose old side stands at `first`.
    pub(super) fn exact(table: &LineTable<'_>, hunk: Hunk, first: usize) -> Seat {
        let old = hunk.old();
        let ends = old.iter().enumerate().map(|(i, line)| (table.end(first + i), line.cr));
        let mut ends = ends
            .filter(|(end, _)| !end.is_empty())
            .map(|(end, cr)| cr == (end == b"\r\n"))
            .peekable();
        // An empty file has no line ends that new lines could keep.
        let ends_agree = table.is_empty() || (ends.peek().is_some() && ends.all(|agrees| agrees));
        Seat {
            hunk,
            first,
            indent: Indent::Same,
            matched_by: MatchedBy::Exact,
            unchecked: false,
            ends_agree,
        }
    }

    /// The lines that its old side covers.
    pub(super) fn covered(&self) -> Range<usize> {
        self.first..self.first + self.hunk.old().len()
    }

    /// The lines it takes away, and the empty ranges where it only adds.
    pub(super) fn changed(&self) -> Vec<Range<usize>> {
        self.runs().into_iter().map(|(gone, _)| gone).collect()
    }

    fn runs(&self) -> Vec<Run<'_>> {
        let (mut runs, mut at): (Vec<Run<'_>>, usize) = (Vec::new(), self.first);
        let mut within = false;
        for line in &self.hunk.lines {
            if line.side == Side::Both {
                (at, within) = (at + 1, false);
                continue;
            }
            if !within {
                runs.push((at..at, Vec::new()));
                within = true;
            }
            if let Some((gone, come)) = runs.last_mut() {
                if line.side == Side::New {
                    come.push(line);
                } else {
                    (gone.end, at) = (gone.end + 1, at + 1);
                }
            }
        }
        runs
    }

    /// What it changes in the text of `table`.
    pub(super) fn splices(&self, table: &LineTable<'_>) -> Vec<Splice> {
        let runs = self.runs();
        let mut splices: Vec<Splice> =
            runs.iter().map(|(gone, come)| self.splice(table, gone, come)).collect();
        if let Some(newline) = self.newline_alone(table, &runs) {
            splices.push(newline);
        }
        splices.retain(|splice| table.text()[splice.at.clone()] != splice.with);
        splices
    }

    fn splice(&self, table: &LineTable<'_>, gone: &Range<usize>, come: &[&Line]) -> Splice {
        let with_mark = self.has_mark() && gone.contains(&0);
        let start = if with_mark { 0 } else { table.start(gone.start) };
        let keeps_mark = !with_mark && gone.start == 0 && table.text().starts_with(BOM);
        let mut with = Vec::new();
        let last = gone.end == table.len();
        let open = last && !table.is_empty() && table.end(table.len() - 1).is_empty();
        if open && gone.is_empty() && !come.is_empty() {
            // The last line of the file has no end: the new lines need one before them.
            with.extend_from_slice(end_near(table, gone.start));
        }
        for (i, line) in come.iter().enumerate() {
            let text =
                line.text.strip_prefix(BOM).filter(|_| keeps_mark && i == 0).unwrap_or(&line.text);
            with.extend(self.indent.convert(text).unwrap_or_else(|| text.to_vec()));
            let terminated = i + 1 < come.len() || !last || self.terminated(open);
            if terminated {
                with.extend_from_slice(if self.ends_agree {
                    end_of(line)
                } else {
                    end_near(table, gone.start)
                });
            }
        }
        Splice { at: start..table.start(gone.end), with }
    }

    /// Whether the last line of the file is to have an end, where the file now lacks one or not.
    fn terminated(&self, open: bool) -> bool {
        match self.hunk.newline {
            FinalNewline::Kept => !open,
            FinalNewline::Added => true,
            FinalNewline::Removed => false,
        }
    }

    /// The end of a file's last line, where the hunk changes nothing else of it.
    fn newline_alone(&self, table: &LineTable<'_>, runs: &[Run<'_>]) -> Option<Splice> {
        let covered = self.covered();
        let reaches = covered.end == table.len() && !covered.is_empty();
        let changed = runs.last().is_some_and(|(gone, _)| gone.end == table.len());
        let (end, stop) = (table.end(table.len().checked_sub(1)?), table.text().len());
        match self.hunk.newline {
            FinalNewline::Added if reaches && !changed && end.is_empty() => {
                Some(Splice { at: stop..stop, with: end_near(table, table.len() - 1).to_vec() })
            }
            FinalNewline::Removed if reaches && !changed => {
                Some(Splice { at: stop - end.len()..stop, with: Vec::new() })
            }
            _ => None,
        }
    }

    /// Whether the hunk itself speaks of the byte-order mark of its first line.
    fn has_mark(&self) -> bool {
        self.hunk.old().first().is_some_and(|line| line.text.starts_with(BOM))
    }
}

/// The line end that stands at line `at`, else the nearest before it, else the nearest after it.
pub(super) fn end_near<'a>(table: &LineTable<'a>, at: usize) -> &'a [u8] {
    let end = |&at: &usize| !table.end(at).is_empty();
    let here = (at < table.len()).then_some(at).filter(end);
    let near = here
        .or_else(|| (0..at.min(table.len())).rev().find(end))
        .or_else(|| (at..table.len()).find(end));
    near.map_or(b"\n", |at| table.end(at))
}

/// A hunk whose old side stands at `first` but for white space at the ends of its lines; `None` if no one rule explains it.
pub(super) fn indented(table: &LineTable<'_>, hunk: Hunk, first: usize) -> Option<Seat> {
    let old = hunk.old();
    let pairs: Vec<(&[u8], &[u8])> = old
        .iter()
        .enumerate()
        .map(|(i, line)| (line.text.as_slice(), table.line(first + i)))
        .collect();
    let new =
        hunk.lines.iter().filter(|line| line.side == Side::New).map(|line| line.text.as_slice());
    let indent = Indent::for_lines(&pairs, new)?;
    let matched_by =
        if indent == Indent::Same { MatchedBy::TrailingSpace } else { MatchedBy::Indentation };
    Some(Seat { indent, matched_by, ..Seat::exact(table, hunk, first) })
}

fn end_of(line: &Line) -> &'static [u8] {
    if line.cr { b"\r\n" } else { b"\n" }
}
