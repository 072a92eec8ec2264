//! Counts bytes that an agent changed outside the intended region. Pure.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use super::task::Task;
use edt_edit::diff::LineDiff;
use edt_io::directory::FileTree;

/// By path: lines of the file before (0-based, end excluded) where changes are intended.
pub(super) type IntendedRanges = BTreeMap<String, Vec<Range<usize>>>;

/// The task's regions, else the lines that `expected` changes; `None` if the task has neither.
pub(super) fn intended(task: &Task, deadline: Instant) -> Option<IntendedRanges> {
    let mut intended = IntendedRanges::new();
    if !task.regions.is_empty() {
        for region in &task.regions {
            let line = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let range = line(region.start_line - 1)..line(region.end_line);
            intended.entry(region.path.clone()).or_default().push(range);
        }
        return Some(intended);
    }
    let expected = &task.expected_files()?;
    for path in task.before.keys().chain(expected.keys()) {
        let (before, after) = (bytes(&task.before, path), bytes(expected, path));
        let ranges: Vec<_> =
            LineDiff::of(before, after, deadline).changes().map(|(old, _)| old).collect();
        if !ranges.is_empty() || task.before.contains_key(path) != expected.contains_key(path) {
            intended.insert(path.clone(), ranges);
        }
    }
    Some(intended)
}

/// Bytes of removed and added lines outside the intended ranges.
pub(super) fn outside(
    before: &FileTree,
    after: &FileTree,
    intended: &IntendedRanges,
    deadline: Instant,
) -> u64 {
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let none = Vec::new();
    let of = |path: &String| {
        // In an intended new file every line is intended.
        if intended.contains_key(path) && !before.contains_key(path) {
            return 0;
        }
        let ranges = intended.get(path).unwrap_or(&none);
        in_file(bytes(before, path), bytes(after, path), ranges, deadline)
    };
    paths.into_iter().map(of).sum()
}

fn in_file(before: &[u8], after: &[u8], intended: &[Range<usize>], deadline: Instant) -> u64 {
    if before == after {
        return 0;
    }
    let lines = LineDiff::of(before, after, deadline);
    let (old_lines, new_lines) = lines.texts();
    let mut sum = 0;
    for (old, new) in lines.changes() {
        let is_intended = |line: &usize| intended.iter().any(|range| range.contains(line));
        sum += old
            .clone()
            .filter(|line| !is_intended(line))
            .map(|line| old_lines[line].len() as u64)
            .sum::<u64>();
        let touches = intended.iter().any(|range| old.start <= range.end && range.start <= old.end);
        if !touches {
            sum += new_lines[new].iter().map(|line| line.len() as u64).sum::<u64>();
        }
    }
    sum
}

fn bytes<'f>(files: &'f FileTree, path: &str) -> &'f [u8] {
    files.get(path).map_or(&[], |content| &content.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_io::clock;

    fn outside_of(after: &str, intended: Option<&Range<usize>>) -> u64 {
        in_file(
            b"a\nb\nc\nd\ne\n",
            after.as_bytes(),
            intended.cloned().as_slice(),
            clock::in_ms(1000),
        )
    }

    #[test]
    fn only_bytes_outside_the_intended_lines_count() {
        assert_eq!(outside_of("a\nB\nc\nd\ne\n", Some(&(1..2))), 0);
        assert_eq!(
            outside_of("a\nB\nc\nd\nEE\n", Some(&(1..2))),
            5,
            "e and EE with their line ends"
        );
        assert_eq!(outside_of("a\nb\nnew\nc\nd\ne\n", Some(&(2..2))), 0, "an intended insertion");
        assert_eq!(outside_of("a\nb\nc\nd\ne\n", None), 0);
        assert_eq!(
            outside_of("}\n", Some(&(2..3))),
            8,
            "a, b, d and e; neither c, which is intended, nor its replacement"
        );
    }
}
