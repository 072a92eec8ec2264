//! A hunk at its place in the file, and the byte changes it makes there.

use std::ops::Range;

use super::hunk::{FinalNewline, Hunk, HunkLine, Side};
use super::indent::Indent;
use super::splice::Splice;
use super::table::LineTable;
use edt_types::MatchedBy;
use edt_types::text::BOM;

#[derive(Debug, Clone)]
pub(super) struct Placement {
    pub(super) hunk: Hunk,
    /// The line where the old side begins.
    pub(super) first: usize,
    /// How the indentation of the patch relates to that of the file.
    pub(super) indent: Indent,
    /// The comparison that found the old side.
    pub(super) matched_by: MatchedBy,
    /// Whether only a line number determines the place.
    pub(super) unchecked: bool,
    /// Whether the old side has the same line endings as the file. Then the line endings of the new
    /// side are kept.
    pub(super) ends_agree: bool,
}

/// Removed lines of the file, and the lines that replace them.
type Run<'h> = (Range<usize>, Vec<&'h HunkLine>);

impl Placement {
    /// A hunk whose old side begins at line `first`.
    pub(super) fn exact(table: &LineTable<'_>, hunk: Hunk, first: usize) -> Placement {
        let old = hunk.old_side();
        let ends = old.iter().enumerate().map(|(i, line)| (table.end(first + i), line.cr));
        let mut ends = ends
            .filter(|(end, _)| !end.is_empty())
            .map(|(end, cr)| cr == (end == b"\r\n"))
            .peekable();
        // An empty file has no line endings that new lines could follow.
        let ends_agree = table.is_empty() || (ends.peek().is_some() && ends.all(|agrees| agrees));
        Placement {
            hunk,
            first,
            indent: Indent::Same,
            matched_by: MatchedBy::Exact,
            unchecked: false,
            ends_agree,
        }
    }

    /// The lines that the old side covers.
    pub(super) fn covered(&self) -> Range<usize> {
        self.first..self.first + self.hunk.old_side().len()
    }

    /// The lines it removes, and empty ranges where it only inserts.
    pub(super) fn changed(&self) -> Vec<Range<usize>> {
        self.runs().into_iter().map(|(removed, _)| removed).collect()
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
            if let Some((removed, added)) = runs.last_mut() {
                if line.side == Side::New {
                    added.push(line);
                } else {
                    (removed.end, at) = (removed.end + 1, at + 1);
                }
            }
        }
        runs
    }

    pub(super) fn splices(&self, table: &LineTable<'_>) -> Vec<Splice> {
        let runs = self.runs();
        let mut splices: Vec<Splice> =
            runs.iter().map(|(removed, added)| self.splice(table, removed, added)).collect();
        if let Some(newline) = self.newline_alone(table, &runs) {
            splices.push(newline);
        }
        splices.retain(|splice| table.text()[splice.at.clone()] != splice.with);
        splices
    }

    fn splice(&self, table: &LineTable<'_>, removed: &Range<usize>, added: &[&HunkLine]) -> Splice {
        let with_mark = self.has_mark() && removed.contains(&0);
        let start = if with_mark { 0 } else { table.start(removed.start) };
        let keeps_mark = !with_mark && removed.start == 0 && table.text().starts_with(BOM);
        let mut with = Vec::new();
        let last = removed.end == table.len();
        let open = last && !table.is_empty() && table.end(table.len() - 1).is_empty();
        if open && removed.is_empty() && !added.is_empty() {
            // The last line of the file has no line ending: the new lines need one before them.
            with.extend_from_slice(end_near(table, removed.start));
        }
        for (i, line) in added.iter().enumerate() {
            let text =
                line.text.strip_prefix(BOM).filter(|_| keeps_mark && i == 0).unwrap_or(&line.text);
            with.extend(self.indent.convert(text).unwrap_or_else(|| text.to_vec()));
            let terminated = i + 1 < added.len() || !last || self.terminated(open);
            if terminated {
                with.extend_from_slice(if self.ends_agree {
                    end_of(line)
                } else {
                    end_near(table, removed.start)
                });
            }
        }
        Splice { at: start..table.start(removed.end), with }
    }

    /// Whether the last line of the file must have a line ending; `open` if it has none now.
    fn terminated(&self, open: bool) -> bool {
        match self.hunk.newline {
            FinalNewline::Unchanged => !open,
            FinalNewline::Added => true,
            FinalNewline::Removed => false,
        }
    }

    /// The change of the final newline where the hunk leaves the last line otherwise unchanged.
    fn newline_alone(&self, table: &LineTable<'_>, runs: &[Run<'_>]) -> Option<Splice> {
        let covered = self.covered();
        let reaches = covered.end == table.len() && !covered.is_empty();
        let changed = runs.last().is_some_and(|(removed, _)| removed.end == table.len());
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

    /// Whether the hunk itself includes the byte-order mark of the first line.
    fn has_mark(&self) -> bool {
        self.hunk.old_side().first().is_some_and(|line| line.text.starts_with(BOM))
    }
}

/// The line ending of line `at`, else the nearest one before it, else the nearest one after it.
pub(super) fn end_near<'a>(table: &LineTable<'a>, at: usize) -> &'a [u8] {
    let end = |&at: &usize| !table.end(at).is_empty();
    let here = (at < table.len()).then_some(at).filter(end);
    let near = here
        .or_else(|| (0..at.min(table.len())).rev().find(end))
        .or_else(|| (at..table.len()).find(end));
    near.map_or(b"\n", |at| table.end(at))
}

/// A hunk whose old side begins at `first` when white space at the ends of lines is ignored; `None`
/// if no single rule explains the indentation.
pub(super) fn indented(table: &LineTable<'_>, hunk: Hunk, first: usize) -> Option<Placement> {
    let old = hunk.old_side();
    let pairs: Vec<(&[u8], &[u8])> = old
        .iter()
        .enumerate()
        .map(|(i, line)| (line.text.as_slice(), table.line(first + i)))
        .collect();
    let new =
        hunk.lines.iter().filter(|line| line.side == Side::New).map(|line| line.text.as_slice());
    // A new line that copies an old one with white space which the file does not have: in a block,
    // the copy may be context.
    let is_copy = |line: &[u8]| {
        let copied =
            |(old, found): &(&[u8], &[u8])| *old == line && space_after(found) != space_after(line);
        !space_after(line).is_empty() && pairs.iter().any(copied)
    };
    if new.clone().any(is_copy) {
        return None;
    }
    let indent = Indent::for_lines(&pairs, new)?;
    let matched_by =
        if indent == Indent::Same { MatchedBy::TrailingSpace } else { MatchedBy::Indentation };
    Some(Placement { indent, matched_by, ..Placement::exact(table, hunk, first) })
}

/// The white space at the end of a line.
fn space_after(line: &[u8]) -> &[u8] {
    &line[line.trim_ascii_end().len()..]
}

fn end_of(line: &HunkLine) -> &'static [u8] {
    if line.cr { b"\r\n" } else { b"\n" }
}

#[cfg(test)]
mod tests {
    use super::super::hunk::between;
    use super::super::place::{Context, Matching, place};
    use super::*;

    #[test]
    fn a_new_line_does_not_copy_white_space_that_the_file_lacks() {
        let file = b"one();\ntwo();\n";
        let lands = |old: &[u8], new: &[u8]| {
            let hunk = Hunk::of(1, between(old, new));
            place(file, &[hunk], Matching::Lenient, Context::Complete).is_ok()
        };
        assert!(lands(b"one(); \ntwo();\n", b"one(); \nnew();\ntwo();\n"));
        assert!(!lands(b"one(); \ntwo();\n", b"one(); \ntwo();\none(); \n"));
    }

    #[test]
    fn another_indentation_is_not_accepted_if_half_of_the_lines_are_elsewhere() {
        let lands = |file: &str| {
            let old = b"\tone();\n\t// two\n\tthree();\n";
            let hunk = Hunk::of(1, between(old, b"\tone();\n\t// two\n\tfour();\n"));
            place(file.as_bytes(), &[hunk], Matching::Lenient, Context::Complete).is_ok()
        };
        let deeper = "\t\tone();\n\t\t// two\n\t\tthree();\n";
        assert!(lands(deeper));
        assert!(!lands(&format!("\tone();\n\t// twos\n\tthree();\n{deeper}")));
    }
}
