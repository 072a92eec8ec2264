//! What a form left out of a text, searched for anything that may be a part of a patch.
//!
//! A sentence beside a patch is no harm; a change that is not made is. So whatever looks like one is named, however badly it is written.

use std::ops::Range;

use super::fence::{self, Fence};
use super::{FORMATS, Problem, search_replace, whole_file};
use crate::edit::table::content;

/// The first line (0-based) outside of `used` that may be a part of the patch, and what is wrong with it.
pub(super) fn first_part(lines: &[&[u8]], used: &[Range<usize>]) -> Option<(usize, Problem)> {
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

/// Opens and closes the fences that stand at the beginning and at the end of what was understood.
fn pass<'a>(lines: &[&'a [u8]], used: &Range<usize>, around: &mut Vec<Fence<'a>>) {
    let mut at = used.start;
    while at < used.end {
        match fence::read(lines[at]) {
            Some(_) if around.last().is_some_and(|fence| fence.closed_by(lines[at])) => {
                drop(around.pop())
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

/// The same between two parts that were understood; `around` are the fences that were opened before one and are closed behind it.
fn in_gap<'a>(
    lines: &[&'a [u8]],
    gap: Range<usize>,
    around: &mut Vec<Fence<'a>>,
) -> Option<(usize, Problem)> {
    let prose = &lines[gap.clone()];
    let others = FORMATS.iter().filter(|format| format.name() != whole_file::NAME);
    if let Some((line, name)) =
        others.filter_map(|format| Some((format.begins(prose)?, format.name()))).min()
    {
        return Some((gap.start + line, Problem::SecondForm(name)));
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
            return Some((at, left_out(lines[at])));
        }
        at += 1;
    }
    None
}

/// The same in a fence that was left out: one that shows the output of a command is none.
fn in_fence(
    lines: &[&[u8]],
    at: Range<usize>,
    from: usize,
    fence: &Fence<'_>,
) -> Option<(usize, Problem)> {
    if fence.is_diff() {
        return Some((at.start, left_out(lines[at.start])));
    }
    if whole_file::may_be_named(lines, at.start, from) {
        return Some((at.start, Problem::SecondForm(whole_file::NAME)));
    }
    let marked = (at.start + 1..at.end).find(|&line| is_marker(lines[line]));
    marked.map(|line| (line, left_out(lines[line])))
}

fn left_out(line: &[u8]) -> Problem {
    Problem::LeftOut(content(line).trim_ascii().to_vec())
}

/// Whether a line outside of all fences is one that only a patch has.
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
        let (folder, name) = rest.split_once(": ")?;
        (!folder.contains(' ') && !name.contains(' ')).then_some(())
    };
    is_marker(line)
        || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || (text.starts_with(b"Binary files ") && text.ends_with(b" differ"))
        || only_in().is_some()
}

/// Whether a line is a marker of a block or of an envelope, in whatever width and depth, inside a fence or not.
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
    search_replace::is_like_a_marker(text) || MARKS.iter().any(|mark| text.starts_with(mark))
}

/// Whether two lines are changed ones: a list has a space behind its mark, and one mark.
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
    fn what_only_a_patch_has_is_noticed() {
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
    fn sentences_lists_and_outputs_are_no_part() {
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
    fn a_named_fence_with_a_diff_in_its_text_is_not_left_out() {
        let text = "used\n\nguide.md\n````\nSend:\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n````\n";
        let lines: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
        assert_eq!(
            first_part(&lines, std::slice::from_ref(&(0..1))),
            Some((6, Problem::SecondForm("a unified diff")))
        );
    }

    #[test]
    fn a_fence_around_a_part_is_closed_behind_it() {
        let text = "```diff\nused\n```\n\nnew.c\n```c\nint a;\n```\n";
        let lines: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
        let second = Problem::SecondForm(whole_file::NAME);
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
