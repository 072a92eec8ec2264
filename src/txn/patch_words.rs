//! What a patch is refused with: the facts, then the next call to make.

use std::fmt::Write as _;

use super::words::{describe, nearest};
use crate::base::text::{line_count, visible};
use crate::base::{Code, Finding, RepoPath};
use crate::edit::format::Fault;
use crate::edit::hunk::{Hunk, Side};
use crate::edit::near::{self, NearMiss, Sent};
use crate::edit::place::{MAX_PLACES, Matching, Misfit, Misplaced};

/// `INVALID_PATCH` for a text that cannot be read; `given` is the path beside it.
pub(super) fn unreadable(fault: &Fault, given: Option<&RepoPath>) -> Finding {
    let message =
        format!("Line {} of the patch: {}. Nothing was changed.", fault.line, fault.problem);
    let mut finding = Finding::new(Code::InvalidPatch, message, fault.problem.hint());
    let path = fault.path.as_deref().or(given.map(RepoPath::as_bytes));
    finding.path = path.map(|path| String::from_utf8_lossy(path).into_owned());
    finding.with("patch_line", fault.line)
}

/// Every hunk that has no place. `disk` is the name that the file has now.
pub(super) fn misplaced(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    (hunks, matching): (&[Hunk], Matching),
    missed: &[Misplaced],
) -> Vec<Finding> {
    let of = |(n, missed): (usize, &Misplaced)| {
        let hunk = &hunks[missed.hunk];
        let what = match hunks.len() {
            1 => format!("The change at line {} of the patch", hunk.source),
            several => {
                format!("Hunk {} of {several} (line {} of the patch)", missed.hunk + 1, hunk.source)
            }
        };
        let finding = match &missed.why {
            Misfit::Ambiguous(lines) => ambiguous(path, &what, lines),
            Misfit::Already(lines) => already(path, &what, lines),
            Misfit::Absent(new) => {
                let near = if n < MAX_NEAR { nearest_of(text, hunk) } else { None };
                absent((path, disk), text, &what, hunk, new, near.as_ref(), matching)
            }
            Misfit::Anchor { index, lines } => anchor(path, &what, &hunk.anchors[*index], lines),
            Misfit::Nowhere => nowhere(path, &what),
            Misfit::Cut => cut(path, &what),
            Misfit::Overlaps(other) => overlaps(path, &what, hunks[*other].source),
        };
        finding.with("hunk", missed.hunk + 1).with("patch_line", hunk.source)
    };
    missed.iter().enumerate().map(of).collect()
}

/// 1-based line numbers in words.
fn at_lines(lines: &[usize]) -> String {
    let shown: Vec<String> =
        lines.iter().take(MAX_PLACES).map(|line| (line + 1).to_string()).collect();
    let more = if lines.len() > MAX_PLACES { " and on" } else { "" };
    format!("line{} {}{more}", if lines.len() == 1 { "" } else { "s" }, shown.join(", "))
}

fn numbers(lines: &[usize]) -> Vec<usize> {
    lines.iter().take(MAX_PLACES).map(|line| line + 1).collect()
}

fn ambiguous(path: &RepoPath, what: &str, lines: &[usize]) -> Finding {
    let many = lines.len() > MAX_PLACES;
    let count = if many { format!("more than {MAX_PLACES}") } else { lines.len().to_string() };
    let message =
        format!("{what} fits {count} places in {path}: {}. Nothing was changed.", at_lines(lines));
    let hint = "Add lines of context until it fits once. In a unified diff the exact line number chooses, too: `@@ -LINE,COUNT +LINE,COUNT @@`.";
    Finding::new(Code::OldTextAmbiguous, message, hint)
        .at(path)
        .with("count", (!many).then_some(lines.len()))
        .with("lines", numbers(lines))
        .with("truncated", many)
}

fn already(path: &RepoPath, what: &str, lines: &[usize]) -> Finding {
    let message = format!(
        "What {} brings stands in {path} already, at {}. Nothing was changed.",
        lower(what),
        at_lines(lines)
    );
    let hint = "If that change was made before, there is nothing to do: leave it out. If it is to be made a second time, send it with mode \"insert\", or with more lines of context.";
    Finding::new(Code::InvalidPatch, message, hint)
        .at(path)
        .with("already_applied", true)
        .with("lines", numbers(lines))
}

/// Most hunks of a file that the nearest place is looked for.
const MAX_NEAR: usize = 8;

fn nearest_of(text: &[u8], hunk: &Hunk) -> Option<NearMiss> {
    near::nearest(text, &side(hunk, Side::New), Sent::Lines)
}

fn absent(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    what: &str,
    hunk: &Hunk,
    new: &[usize],
    near: Option<&NearMiss>,
    matching: Matching,
) -> Finding {
    let mut message = format!(
        "{what} does not fit {path}: its {} lines that should stand there do not stand together in the file's {} lines.",
        hunk.old().len(),
        line_count(text)
    );
    let mut hint = format!(
        "Read the file (`edt read {}`) and send the change with the lines as they stand there.",
        disk.for_shell()
    );
    if let Some(near) = near {
        let _ = write!(message, " {}", describe(near));
        if near.white_space_only {
            let or = if matching == Matching::Strict {
                ", or repeat with match: \"lenient\""
            } else {
                ""
            };
            hint = format!(
                "Only white space differs there: copy the lines as they stand (· is a space, → a tab){or}."
            );
        }
    }
    if !new.is_empty() {
        let _ = write!(message, " What it brings stands there already, at {}.", at_lines(new));
        hint = format!(
            "If that change was made before, there is nothing to do: leave it out. Else: {hint}"
        );
    }
    message.push_str(" Nothing was changed.");
    Finding::new(Code::InvalidPatch, message, hint)
        .at(path)
        .with("already_applied", !new.is_empty())
        .with("nearest", near.map(|near| nearest(text, near)))
}

fn anchor(path: &RepoPath, what: &str, anchor: &[u8], lines: &[usize]) -> Finding {
    let shown = visible(anchor);
    let (message, hint) = if lines.is_empty() {
        (
            format!(
                "{what} is to stand below {shown:?}, and there is no such line in {path}. Nothing was changed."
            ),
            "Send the anchor as the line stands, or none, with lines of context around the change.",
        )
    } else {
        (
            format!(
                "{what} is to stand below {shown:?}, which stands at {} of {path}. Nothing was changed.",
                at_lines(lines)
            ),
            "Add lines of context, or a second `@@` line for what stands around it.",
        )
    };
    let code = if lines.is_empty() { Code::InvalidPatch } else { Code::OldTextAmbiguous };
    Finding::new(code, message, hint).at(path).with("anchor", shown).with("lines", numbers(lines))
}

fn nowhere(path: &RepoPath, what: &str) -> Finding {
    let message = format!(
        "{what} only adds lines, and nothing says where in {path} they go. Nothing was changed."
    );
    let hint = "Add the line before or after them as context (marked with a space), or use mode \"append\" or \"insert\".";
    Finding::new(Code::InvalidPatch, message, hint).at(path)
}

fn cut(path: &RepoPath, what: &str) -> Finding {
    let message = format!(
        "{what} has fewer lines than its `@@` line announces, and the patch ends there, in a change. Nothing was changed."
    );
    let hint = "The patch seems to be cut off: send all of it, with the lines of context that follow the change.";
    Finding::new(Code::InvalidPatch, message, hint).at(path)
}

fn overlaps(path: &RepoPath, what: &str, other: usize) -> Finding {
    let message = format!(
        "{what} and the one at line {other} of it change the same lines of {path}. Nothing was changed."
    );
    let hint = "All hunks speak of the file as it stood before the patch: join the two, or leave out the one that says it twice.";
    Finding::new(Code::InvalidPatch, message, hint).at(path)
}

/// A deletion of a file that holds something else.
pub(super) fn holds_other(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    hunk: &Hunk,
) -> Finding {
    let old = side(hunk, Side::New);
    let near = nearest_of(text, hunk);
    let mut message = format!(
        "The patch deletes {path} as a file of {} lines, and they are not the {} lines that it has.",
        line_count(&old),
        line_count(text)
    );
    if let Some(near) = &near {
        let _ = write!(message, " {}", describe(near));
    }
    message.push_str(" Nothing was changed.");
    let hint = format!(
        "Read the file (`edt read {}`); to delete it as it stands use mode \"delete\".",
        disk.for_shell()
    );
    Finding::new(Code::InvalidPatch, message, hint).at(path).with("patch_line", hunk.source)
}

/// The lines of a hunk but those of one side.
fn side(hunk: &Hunk, without: Side) -> Vec<u8> {
    let lines = hunk.lines.iter().filter(|line| line.side != without);
    lines.flat_map(|line| [line.text.as_slice(), b"\n"].concat()).collect()
}

fn lower(what: &str) -> String {
    let mut chars = what.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
