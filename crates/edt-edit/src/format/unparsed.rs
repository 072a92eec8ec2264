//! Searches the text that a format did not parse for anything that may be part of a patch.
//!
//! Prose around a patch is harmless; an ignored change is not. So every line that looks like a
//! change is reported, however malformed it is.

use std::ops::Range;

use super::fence::{self, Fence};
use super::marked::MARKED_FORMATS;
use super::patch::PatchFormat;
use super::problem::PatchProblem;
use super::{search_replace, whole_file};
use crate::table::content;

/// The first line (0-based) outside of `used` that may be part of the patch, and the problem.
pub(super) fn first_part(lines: &[&[u8]], used: &[Range<usize>]) -> Option<(usize, PatchProblem)> {
    let (mut around, mut from) = (Vec::new(), 0);
    for used in used.iter().chain(std::iter::once(&(lines.len()..lines.len()))) {
        if let Some(part) = in_gap(lines, from..used.start, &mut around) {
            return Some(part);
        }
        pass(lines, used, &mut around);
        from = used.end;
    }
    None
}

/// Opens and closes the fences at the beginning and the end of a parsed part.
fn pass<'a>(lines: &[&'a [u8]], used: &Range<usize>, around: &mut Vec<Fence<'a>>) {
    let mut at = used.start;
    while at < used.end {
        match fence::read(lines[at]) {
            Some(_) if around.last().is_some_and(|fence| fence.closed_by(lines[at])) => {
                around.pop();
            }
            Some(fence) => around.push(fence),
            None if lines[at].trim_ascii().is_empty() => {}
            None if at == used.start && fence::name(lines[at]).is_some() => {}
            None => break,
        }
        at += 1;
    }
    if at < used.end && around.last().is_some_and(|fence| fence.closed_by(lines[used.end - 1])) {
        around.pop();
    }
}

/// The same between two parsed parts. `around` are the fences that were opened before one part and
/// are closed after it.
fn in_gap<'a>(
    lines: &[&'a [u8]],
    gap: Range<usize>,
    around: &mut Vec<Fence<'a>>,
) -> Option<(usize, PatchProblem)> {
    let prose = &lines[gap.clone()];
    let begin = |format: &&dyn PatchFormat| Some((format.begins(prose)?, format.name()));
    if let Some((line, name)) = MARKED_FORMATS.iter().filter_map(begin).min() {
        return Some((gap.start + line, PatchProblem::SecondFormat(name)));
    }
    let (mut at, mut from) = (gap.start, gap.start);
    while at < gap.end {
        if around.last().is_some_and(|fence| fence.closed_by(lines[at])) {
            around.pop();
            from = at + 1;
        } else if let Some(fence) = fence::read(lines[at]) {
            let end = (at + 1..gap.end).find(|&line| fence.closed_by(lines[line]));
            if end.is_none() && gap.end < lines.len() {
                around.push(fence);
            } else {
                let end = end.unwrap_or(gap.end);
                if let Some(part) = in_fence(lines, at..end, from, &fence) {
                    return Some(part);
                }
                (at, from) = (end, end + 1);
            }
        } else if is_part(lines[at])
            || is_changed(lines[at], lines[at + 1..gap.end].first().copied())
        {
            return Some((at, unparsed(lines[at])));
        }
        at += 1;
    }
    None
}

/// The same in a fence that was not parsed. A fence with the output of a command is no part of a
/// patch.
fn in_fence(
    lines: &[&[u8]],
    at: Range<usize>,
    from: usize,
    fence: &Fence<'_>,
) -> Option<(usize, PatchProblem)> {
    if fence.is_diff() {
        return Some((at.start, unparsed(lines[at.start])));
    }
    if whole_file::may_be_named(lines, at.start, from) {
        return Some((at.start, PatchProblem::SecondFormat(whole_file::NAME)));
    }
    let marked = (at.start + 1..at.end).find(|&line| is_marker(lines[line]));
    marked.map(|line| (line, unparsed(lines[line])))
}

fn unparsed(line: &[u8]) -> PatchProblem {
    PatchProblem::UnparsedPart(content(line).trim_ascii().to_vec())
}

/// Whether a line outside all fences is one that only a patch has.
fn is_part(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 12] = [
        b"rename from ",
        b"rename to ",
        b"old mode 1",
        b"new mode 1",
        b"new file mode 1",
        b"deleted file mode 1",
        b"diff --git ",
        b"--- a/",
        b"+++ b/",
        b"@@ -",
        b"GIT binary patch",
        b"Submodule ",
    ];
    let text = content(line).trim_ascii();
    let only_in = || {
        let rest = std::str::from_utf8(text.strip_prefix(b"Only in ")?).ok()?;
        let (directory, name) = rest.split_once(": ")?;
        (!directory.contains(' ') && !name.contains(' ')).then_some(())
    };
    is_marker(line)
        || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || (text.starts_with(b"Binary files ") && text.ends_with(b" differ"))
        || only_in().is_some()
}

/// Whether a line is a marker of a block or of `*** Begin Patch`, of any width and indentation.
fn is_marker(line: &[u8]) -> bool {
    const MARKS: [&[u8]; 7] = [
        b"*** Begin Patch",
        b"*** End Patch",
        b"*** Add File:",
        b"*** Update File:",
        b"*** Delete File:",
        b"*** Move to:",
        b"***************",
    ];
    let text = content(line).trim_ascii();
    search_replace::resembles_a_marker(text) || MARKS.iter().any(|mark| text.starts_with(mark))
}

/// Whether two lines are changed lines: list items have a space after the marker, and the same
/// marker.
fn is_changed(line: &[u8], next: Option<&[u8]>) -> bool {
    let (line, next) = (line.trim_ascii(), next.unwrap_or_default().trim_ascii());
    let mark = |text: &[u8]| {
        let rule = text.iter().all(|b| b"+-=| ".contains(b));
        text.first().copied().filter(|b| !rule && matches!(b, b'+' | b'-'))
    };
    let tight = |text: &[u8]| text.get(1).is_some_and(|b| !b.is_ascii_whitespace());
    let (Some(first), Some(second)) = (mark(line), mark(next)) else { return false };
    first != second || (tight(line) && tight(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<usize> {
        let lines: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
        first_part(&lines, &[]).map(|(line, _)| line)
    }

    #[test]
    fn lines_that_only_a_patch_has_are_reported() {
        for part in [
            "<<<<<<< SEARCH y.c",
            "<<<< SEARCH",
            "<<<<<<< ORIGINAL",
            ">>>>>>> UPDATED",
            ">>>>>>> REPLACE",
            "  <<<<<<< SEARCH",
            "------- SEARCH y.c",
            "*** Delete File: y",
            "   *** Begin Patch",
            "rename from y",
            "old mode 100644",
            "Binary files a/x and b/x differ",
            "Only in b: x",
            "   @@ -1 +1 @@",
            "-old\n+new",
            "- old\n+ new",
            "+one\n+two",
            "```diff\n-old\n```",
            "```\n<<<<<<< ORIGINAL\n```",
            "new.c\n\n\n```c\nint a;\n```",
            "```\nout\n```\nnew.c:\n```c\nint a;\n```",
        ] {
            assert!(found(&format!("Words.\n{part}\n")).is_some(), "{part}");
        }
    }

    #[test]
    fn sentences_lists_and_outputs_are_not_part_of_a_patch() {
        for prose in [
            "- one\n- two",
            "* one\n+ two\n",
            "+ one\n+ two",
            "---",
            "Title\n=======",
            "------- \n-------",
            "+----+\n+----+",
            "> quoted\n>> twice\n>>> thrice",
            ">>> print(1)",
            "Only in the tests: see there.",
            "```\n-rw-r--r-- a\n-rw-r--r-- b\n```",
            "Run it:\n```sh\nmake\n```",
            "cat <<'EOF'",
        ] {
            assert_eq!(found(&format!("Words.\n{prose}\n")), None, "{prose}");
        }
    }

    #[test]
    fn a_named_fence_with_a_diff_in_its_text_is_not_ignored() {
        let text = "used\n\nguide.md\n````\nSend:\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n````\n";
        let lines: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
        assert_eq!(
            first_part(&lines, std::slice::from_ref(&(0..1))),
            Some((6, PatchProblem::SecondFormat("a unified diff")))
        );
    }

    #[test]
    fn a_fence_around_a_part_is_closed_after_it() {
        let text = "```diff\nused\n```\n\nnew.c\n```c\nint a;\n```\n";
        let lines: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
        let second = PatchProblem::SecondFormat(whole_file::NAME);
        assert_eq!(
            first_part(&lines, std::slice::from_ref(&(1..2))),
            Some((5, second.clone())),
            "all but the part"
        );
        assert_eq!(
            first_part(&lines, std::slice::from_ref(&(0..2))),
            Some((5, second.clone())),
            "its end alone"
        );
        assert_eq!(
            first_part(&lines, std::slice::from_ref(&(1..3))),
            Some((5, second)),
            "its beginning alone"
        );
    }
}
