//! Line differences: counts for reports, hunks for display. Every comparison has a deadline.

use std::ops::Range;
use std::time::Instant;

use similar::{Algorithm, DiffOp, DiffTag};

use edt_types::text;

#[derive(Debug)]
pub struct LineDiff<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    ops: Vec<DiffOp>,
}

/// A difference in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffSummary {
    pub added: u64,
    pub removed: u64,
    /// The lines of the new text (0-based, end excluded) from the first change to the last; `None`
    /// if nothing changed.
    pub changed: Option<Range<usize>>,
}

impl<'a> LineDiff<'a> {
    /// Compares `old` and `new`. After `deadline` the result is correct but may not be minimal.
    #[must_use]
    pub fn of(old: &'a [u8], new: &'a [u8], deadline: Instant) -> LineDiff<'a> {
        let (old, new): (Vec<_>, Vec<_>) = (text::lines(old).collect(), text::lines(new).collect());
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let tail = old[head..]
            .iter()
            .rev()
            .zip(new[head..].iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let (old_mid, new_mid) = (head..old.len() - tail, head..new.len() - tail);
        let mut ops = Vec::new();
        if head > 0 {
            ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: head });
        }
        let (old_range, new_range) = (old_mid.clone(), new_mid.clone());
        ops.extend(similar::capture_diff_deadline(
            Algorithm::Myers,
            &old,
            old_range,
            &new,
            new_range,
            Some(deadline),
        ));
        if tail > 0 {
            ops.push(DiffOp::Equal { old_index: old_mid.end, new_index: new_mid.end, len: tail });
        }
        LineDiff { old, new, ops }
    }

    /// The numbers of added and removed lines.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let changed = self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        changed.fold((0, 0), |(added, removed), op| {
            (added + op.new_range().len() as u64, removed + op.old_range().len() as u64)
        })
    }

    #[doc(hidden)]
    #[must_use]
    pub fn summary(&self) -> DiffSummary {
        let (added, removed) = self.counts();
        DiffSummary { added, removed, changed: self.changed() }
    }

    /// Each change: the old lines and the new lines that replace them (0-based, end excluded).
    pub fn changes(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + '_ {
        let mut ops = self.ops.iter().peekable();
        std::iter::from_fn(move || {
            let first = ops.find(|op| op.tag() != DiffTag::Equal)?;
            let (mut old, mut new) = (first.old_range(), first.new_range());
            while let Some(next) = ops.next_if(|op| op.tag() != DiffTag::Equal) {
                (old.end, new.end) =
                    (old.end.max(next.old_range().end), new.end.max(next.new_range().end));
            }
            Some((old, new))
        })
    }

    /// The lines of both texts, each with its line ending.
    #[must_use]
    pub fn texts(&self) -> (&[&'a [u8]], &[&'a [u8]]) {
        (&self.old, &self.new)
    }

    /// The lines of the new text (0-based, end excluded) from the first change to the last; `None`
    /// if nothing changed.
    #[must_use]
    pub fn changed(&self) -> Option<Range<usize>> {
        let mut changed = self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        let first = changed.next()?;
        let last = changed.next_back().unwrap_or(first);
        Some(first.new_range().start..last.new_range().end)
    }

    /// The hunks of a unified diff with three context lines, each line with its marker.
    #[doc(hidden)]
    #[must_use]
    pub fn hunks(&self) -> Vec<DiffHunk<'a>> {
        let groups = similar::group_diff_ops(self.ops.clone(), 3);
        groups.iter().filter(|group| !group.is_empty()).map(|group| self.hunk(group)).collect()
    }

    fn hunk(&self, group: &[DiffOp]) -> DiffHunk<'a> {
        let mut lines = Vec::new();
        for op in group {
            if op.tag() == DiffTag::Equal {
                lines.extend(self.old[op.old_range()].iter().map(|line| (' ', *line)));
            } else {
                lines.extend(self.old[op.old_range()].iter().map(|line| ('-', *line)));
                lines.extend(self.new[op.new_range()].iter().map(|line| ('+', *line)));
            }
        }
        let side = |range: fn(&DiffOp) -> Range<usize>| {
            let (first, last) = (range(&group[0]), range(&group[group.len() - 1]));
            let len = last.end - first.start;
            if len == 1 {
                (first.start + 1).to_string()
            } else {
                format!("{},{len}", first.start + usize::from(len > 0))
            }
        };
        let header = format!("@@ -{} +{} @@", side(DiffOp::old_range), side(DiffOp::new_range));
        DiffHunk { header, lines }
    }
}

#[derive(Debug)]
pub struct DiffHunk<'a> {
    /// `@@ -1,3 +1,4 @@`
    pub header: String,
    /// The marker and the line with its line ending.
    pub lines: Vec<(char, &'a [u8])>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(old: &'a [u8], new: &'a [u8]) -> LineDiff<'a> {
        LineDiff::of(old, new, edt_io::clock::in_ms(1000))
    }

    #[test]
    fn counts_and_position_of_a_change() {
        let lines = of(b"a\nb\nc\n", b"a\nx\ny\nc\n");
        assert_eq!(lines.counts(), (2, 1));
        assert_eq!(lines.changed(), Some(1..3));
        assert_eq!(of(b"a\n", b"a\n").changed(), None);
    }

    #[test]
    fn hunks_have_the_headers_that_git_prints() {
        let head = |old: &[u8], new: &[u8]| {
            of(old, new).hunks().iter().map(|h| h.header.clone()).collect::<Vec<_>>()
        };
        assert_eq!(head(b"", b"a\n"), ["@@ -0,0 +1 @@"]);
        assert_eq!(head(b"a\n", b""), ["@@ -1 +0,0 @@"]);
        assert_eq!(head(b"a\nb\n", b"a\nc\n"), ["@@ -1,2 +1,2 @@"]);
    }
}
