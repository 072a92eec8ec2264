//! Complete files, each in a fence below its path, for texts that contain nothing else.

use super::fence;
use super::marked::MARKED_FORMATS;
use super::patch::{FileAction, FilePatch, ParsedPatch, PatchFormat, PatchSource};
use super::problem::{PatchParseError, PatchProblem};

pub(super) struct WholeFile;

/// The name in messages.
pub(super) const NAME: &str = "a fenced file";

impl PatchFormat for WholeFile {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        let mut from = 0;
        while let Some(at) = (from..lines.len()).find(|&at| fence::read(lines[at]).is_some()) {
            let end = fence::end(lines, at).unwrap_or(lines.len());
            // A fence around another format belongs to that format.
            let other = matches!(not_text(lines, at, end), Some(PatchProblem::SecondFormat(_)));
            if !other && name(lines, at, from).is_some() {
                return Some(at);
            }
            from = end + 1;
        }
        None
    }

    fn read(&self, source: &PatchSource<'_>) -> Result<ParsedPatch, PatchParseError> {
        let lines = &source.lines;
        let (mut files, mut used, mut from) = (Vec::new(), Vec::new(), 0);
        while let Some(at) = (from..lines.len()).find(|&at| fence::read(lines[at]).is_some()) {
            let error_at =
                |line: usize, problem| PatchParseError { line: line + 1, path: None, problem };
            let end = fence::end(lines, at)
                .ok_or_else(|| error_at(at, PatchProblem::UnexpectedEnd("the fence is closed")))?;
            if let Some(problem) = not_text(lines, at, end) {
                return Err(error_at(at, problem));
            }
            let (start, path) =
                name(lines, at, from).ok_or_else(|| error_at(at, PatchProblem::UnnamedFence))?;
            // A fence inside a Markdown file closes the one around it, unless the outer one is
            // longer.
            let markdown =
                [&b".md"[..], b".mdx", b".markdown"].iter().any(|end| path.ends_with(end));
            if markdown
                && lines[end + 1..].iter().any(|line| fence::read(line).is_some())
                && !fence::is_long(lines[at])
            {
                return Err(PatchParseError {
                    path: Some(path),
                    ..error_at(end, PatchProblem::AmbiguousFence)
                });
            }
            let content = lines[at + 1..end].concat();
            files.push(FilePatch { path, source: at + 1, action: FileAction::Write { content } });
            used.push(start..end + 1);
            from = end + 1;
        }
        Ok(ParsedPatch { files, used })
    }
}

/// Why the content of a fence is not the text of a file: it begins with another format, or the info
/// string announces a diff.
fn not_text(lines: &[&[u8]], at: usize, end: usize) -> Option<PatchProblem> {
    let inner = lines.get(at + 1..end).unwrap_or_default();
    // The file name may be repeated above a block.
    let is_text = |line: &&[u8]| !line.trim_ascii().is_empty() && fence::name(line).is_none();
    let first = inner.iter().position(is_text).unwrap_or(inner.len());
    let is_diff = fence::read(lines[at]).is_some_and(|fence| fence.is_diff());
    let titled = inner.get(first).is_some_and(|line| is_title_of_a_diff(line));
    let others = MARKED_FORMATS.iter();
    let found = others.filter_map(|format| Some((format.begins(inner)?, format.name()))).min();
    match found {
        Some((line, name)) if is_diff || titled || line <= first => {
            Some(PatchProblem::SecondFormat(name))
        }
        _ if is_diff => Some(PatchProblem::MissingHunkHeader),
        _ => None,
    }
}

/// Lines that precede a diff in mails and in the output of other tools.
fn is_title_of_a_diff(line: &[u8]) -> bool {
    let id = line
        .strip_prefix(b"From ")
        .map(|rest| rest.iter().take_while(|b| b.is_ascii_hexdigit()).count());
    line.starts_with(b"diff ") || line.starts_with(b"Index: ") || id.is_some_and(|len| len >= 7)
}

/// The name of a fenced file, and its line: the fence itself, or the last line above it that is not
/// blank.
fn name(lines: &[&[u8]], at: usize, from: usize) -> Option<(usize, Vec<u8>)> {
    if let Some(name) = fence::read(lines[at]).and_then(|fence| fence::name_in(fence.info)) {
        return Some((at, name));
    }
    let above = last_above(lines, at, from)?;
    Some((above, fence::title(lines[above])?))
}

/// Whether a fence may have a file name, including one that is too uncertain to write to.
pub(super) fn may_be_named(lines: &[&[u8]], at: usize, from: usize) -> bool {
    let above = || fence::name(lines[last_above(lines, at, from)?]);
    name(lines, at, from).is_some() || above().is_some()
}

fn last_above(lines: &[&[u8]], at: usize, from: usize) -> Option<usize> {
    (from..at).rev().find(|&above| !lines[above].trim_ascii().is_empty())
}
