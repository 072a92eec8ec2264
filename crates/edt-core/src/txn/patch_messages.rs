//! The findings of a patch that is refused: the facts, then the next call to make.

use std::fmt::Write as _;

use super::nearest::{describe, nearest};
use edt_edit::format::PatchParseError;
use edt_edit::hunk::{Hunk, Side};
use edt_edit::near::{self, NearMiss, SearchUnit};
use edt_edit::place::{MAX_PLACES, Matching};
use edt_edit::place_error::{PlaceError, UnplacedHunk};
use edt_types::text::{counted, line_count, visible};
use edt_types::{Code, Finding, RepoPath};

/// `INVALID_PATCH` for a text that cannot be parsed; `given` is the request's `path`.
pub(super) fn unreadable(fault: &PatchParseError, given: Option<&RepoPath>) -> Finding {
    let message = format!("Line {} of the patch: {}.", fault.line, fault.problem);
    let mut finding =
        Finding::new(Code::InvalidPatch, message, fault.problem.remedy()).nothing_changed();
    let path = fault.path.as_deref().or(given.map(RepoPath::as_bytes));
    finding.path = path.map(|path| String::from_utf8_lossy(path).into_owned());
    finding.with("patch_line", fault.line)
}

/// One finding for each hunk without a place. `disk` is the present name of the file.
pub(super) fn misplaced(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    (hunks, matching): (&[Hunk], Matching),
    missed: &[UnplacedHunk],
) -> Vec<Finding> {
    let of = |(n, missed): (usize, &UnplacedHunk)| {
        let hunk = &hunks[missed.hunk];
        let what = match hunks.len() {
            1 => format!("The change at line {} of the patch", hunk.source),
            several => {
                format!("Hunk {} of {several} (line {} of the patch)", missed.hunk + 1, hunk.source)
            }
        };
        let finding = match &missed.why {
            PlaceError::Ambiguous(lines) => ambiguous(path, &what, lines),
            PlaceError::AlreadyApplied(lines) => already(path, &what, lines),
            PlaceError::NotFound(new) => {
                let near = if n < MAX_NEAR { nearest_of(text, hunk) } else { None };
                absent((path, disk), text, &what, hunk, new, near.as_ref(), matching)
            }
            PlaceError::Anchor { index, lines } => {
                anchor(path, &what, &hunk.anchors[*index], lines)
            }
            PlaceError::NoPosition => nowhere(path, &what),
            PlaceError::Truncated => cut(path, &what),
            PlaceError::Overlaps(other) => overlaps(path, &what, hunks[*other].source),
        };
        finding.with("hunk", missed.hunk + 1).with("patch_line", hunk.source)
    };
    missed.iter().enumerate().map(of).collect()
}

/// The 1-based numbers of 0-based lines, as text.
fn at_lines(lines: &[usize]) -> String {
    let shown: Vec<String> =
        lines.iter().take(MAX_PLACES).map(|line| (line + 1).to_string()).collect();
    let more = if lines.len() > MAX_PLACES { " and more" } else { "" };
    format!("line{} {}{more}", if lines.len() == 1 { "" } else { "s" }, shown.join(", "))
}

fn numbers(lines: &[usize]) -> Vec<usize> {
    lines.iter().take(MAX_PLACES).map(|line| line + 1).collect()
}

fn ambiguous(path: &RepoPath, what: &str, lines: &[usize]) -> Finding {
    let many = lines.len() > MAX_PLACES;
    let count = if many { format!("more than {MAX_PLACES}") } else { lines.len().to_string() };
    let message = format!("{what} fits {count} places in {path}: {}.", at_lines(lines));
    let hint = "Add lines of context until it fits one place. In a unified diff an exact line \
                number selects the place, too: `@@ -LINE,COUNT +LINE,COUNT @@`.";
    Finding::new(Code::OldTextAmbiguous, message, hint)
        .nothing_changed()
        .at(path)
        .with("count", (!many).then_some(lines.len()))
        .with("lines", numbers(lines))
        .with("truncated", many)
}

fn already(path: &RepoPath, what: &str, lines: &[usize]) -> Finding {
    let message =
        format!("The new lines of {} are in {path} already, at {}.", lower(what), at_lines(lines));
    let hint = "If that change was made before, there is nothing to do: leave it out. To make it a \
                second time, send it with mode \"insert\", or with more lines of context.";
    Finding::new(Code::InvalidPatch, message, hint)
        .nothing_changed()
        .at(path)
        .with("already_applied", true)
        .with("lines", numbers(lines))
}

/// Most hunks of a file for which the nearest place is searched.
const MAX_NEAR: usize = 8;

fn nearest_of(text: &[u8], hunk: &Hunk) -> Option<NearMiss> {
    near::nearest(text, &side(hunk, Side::New), SearchUnit::Lines)
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
    let old = hunk.old_side().len();
    let mut message = format!(
        "{what} does not fit {path}: its {} {} not found in sequence in the file's {}.",
        counted(old, "old line"),
        if old == 1 { "was" } else { "were" },
        counted(line_count(text), "line")
    );
    let mut hint = format!(
        "Read the file (`edt read {}`) and send the change with the lines as they are there.",
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
                "Only white space differs there: copy the lines as they are (· is a space, → a \
                 tab){or}."
            );
        }
    }
    if !new.is_empty() {
        let _ = write!(message, " Its new lines are in the file already, at {}.", at_lines(new));
        hint = format!(
            "If that change was made before, there is nothing to do: leave it out. Else: {hint}"
        );
    }
    Finding::new(Code::InvalidPatch, message, hint)
        .nothing_changed()
        .at(path)
        .with("already_applied", !new.is_empty())
        .with("nearest", near.map(|near| nearest(text, near)))
}

fn anchor(path: &RepoPath, what: &str, anchor: &[u8], lines: &[usize]) -> Finding {
    let shown = visible(anchor);
    let (message, hint) = if lines.is_empty() {
        (
            format!("{what} belongs below {shown:?}, and {path} has no such line."),
            "Send the anchor as the line is in the file, or none, with lines of context around the \
             change.",
        )
    } else {
        (
            format!(
                "{what} belongs below {shown:?}, which occurs at {} of {path}.",
                at_lines(lines)
            ),
            "Add lines of context, or a second `@@` line for the code around it.",
        )
    };
    let code = if lines.is_empty() { Code::InvalidPatch } else { Code::OldTextAmbiguous };
    Finding::new(code, message, hint)
        .nothing_changed()
        .at(path)
        .with("anchor", shown)
        .with("lines", numbers(lines))
}

fn nowhere(path: &RepoPath, what: &str) -> Finding {
    let message = format!("{what} only adds lines, and does not say where in {path}.");
    let hint = "Add the line before or after them as context (marked with a space), or use mode \
                \"append\" or \"insert\".";
    Finding::new(Code::InvalidPatch, message, hint).nothing_changed().at(path)
}

fn cut(path: &RepoPath, what: &str) -> Finding {
    let message = format!(
        "{what} has fewer lines than its `@@` line announces, and the patch ends there, in a \
         change."
    );
    let hint = "The patch seems to be cut off: send all of it, with the lines of context that \
                follow the change.";
    Finding::new(Code::InvalidPatch, message, hint).nothing_changed().at(path)
}

fn overlaps(path: &RepoPath, what: &str, other: usize) -> Finding {
    let message = format!(
        "{what} and the hunk at line {other} of the patch change the same lines of {path}."
    );
    let hint = "All hunks apply to the file as it was before the patch: join the two, or leave out \
                the one that repeats the other.";
    Finding::new(Code::InvalidPatch, message, hint).nothing_changed().at(path)
}

/// `INVALID_PATCH` for a patch that deletes a file with other content.
pub(super) fn content_differs(
    (path, disk): (&RepoPath, &RepoPath),
    text: &[u8],
    hunk: &Hunk,
) -> Finding {
    let old = side(hunk, Side::New);
    let near = nearest_of(text, hunk);
    let mut message = format!(
        "The patch deletes {path} with another content ({}) than the file has ({}).",
        counted(line_count(&old), "line"),
        counted(line_count(text), "line")
    );
    if let Some(near) = &near {
        let _ = write!(message, " {}", describe(near));
    }
    let hint = format!(
        "Read the file (`edt read {}`); to delete it as it is use mode \"delete\".",
        disk.for_shell()
    );
    Finding::new(Code::InvalidPatch, message, hint)
        .nothing_changed()
        .at(path)
        .with("patch_line", hunk.source)
}

/// The lines of a hunk without those of one side.
fn side(hunk: &Hunk, without: Side) -> Vec<u8> {
    let lines = hunk.lines.iter().filter(|line| line.side != without);
    lines.flat_map(|line| [line.text.as_slice(), b"\n"].concat()).collect()
}

fn lower(what: &str) -> String {
    let mut chars = what.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
