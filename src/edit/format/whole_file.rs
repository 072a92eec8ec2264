//! Whole files, each in a fence below its path: for answers that hold nothing else.

use super::{Action, Fault, FilePatch, Format, Parsed, Problem, Source, fence};

/// The format.
pub(super) struct WholeFile;

/// Its name in messages.
pub(super) const NAME: &str = "a fenced file";

impl Format for WholeFile {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        let mut from = 0;
        while let Some(at) = (from..lines.len()).find(|&at| fence::read(lines[at]).is_some()) {
            let end = fence::end(lines, at).unwrap_or(lines.len());
            // A fence around another form is that form's.
            let other = matches!(not_text(lines, at, end), Some(Problem::SecondForm(_)));
            if !other && name(lines, at, from).is_some() {
                return Some(at);
            }
            from = end + 1;
        }
        None
    }

    fn read(&self, source: &Source<'_>) -> Result<Parsed, Fault> {
        let lines = &source.lines;
        let (mut files, mut used, mut from) = (Vec::new(), Vec::new(), 0);
        while let Some(at) = (from..lines.len()).find(|&at| fence::read(lines[at]).is_some()) {
            let fault = |line: usize, problem| Fault { line: line + 1, path: None, problem };
            let end = fence::end(lines, at)
                .ok_or_else(|| fault(at, Problem::Ends("the fence is closed")))?;
            if let Some(problem) = not_text(lines, at, end) {
                return Err(fault(at, problem));
            }
            let (start, path) =
                name(lines, at, from).ok_or_else(|| fault(at, Problem::NamelessFence))?;
            // A fence within a Markdown file closes the one around it, unless that is longer.
            let markdown =
                [&b".md"[..], b".mdx", b".markdown"].iter().any(|end| path.ends_with(end));
            if markdown
                && lines[end + 1..].iter().any(|line| fence::read(line).is_some())
                && !fence::is_long(lines[at])
            {
                return Err(Fault { path: Some(path), ..fault(end, Problem::InnerFence) });
            }
            let content = lines[at + 1..end].concat();
            files.push(FilePatch { path, source: at + 1, action: Action::Whole { content } });
            used.push(start..end + 1);
            from = end + 1;
        }
        Ok(Parsed { files, used })
    }
}

/// Why what stands in a fence is not the text of a file: it begins as another form, or the fence says that it is a diff.
fn not_text(lines: &[&[u8]], at: usize, end: usize) -> Option<Problem> {
    let inner = lines.get(at + 1..end).unwrap_or_default();
    // The name of the file may stand once more above a block.
    let is_text = |line: &&[u8]| !line.trim_ascii().is_empty() && fence::name(line).is_none();
    let first = inner.iter().position(is_text).unwrap_or(inner.len());
    let is_diff = fence::read(lines[at]).is_some_and(|fence| fence.is_diff());
    let titled = inner.get(first).is_some_and(|line| is_title_of_a_diff(line));
    let others = super::FORMATS.iter().filter(|format| format.name() != NAME);
    let found = others.filter_map(|format| Some((format.begins(inner)?, format.name()))).min();
    match found {
        Some((line, name)) if is_diff || titled || line <= first => Some(Problem::SecondForm(name)),
        _ if is_diff => Some(Problem::NoHead),
        _ => None,
    }
}

/// What stands above a diff in mails and in what other tools print.
fn is_title_of_a_diff(line: &[u8]) -> bool {
    let id = line
        .strip_prefix(b"From ")
        .map(|rest| rest.iter().take_while(|b| b.is_ascii_hexdigit()).count());
    line.starts_with(b"diff ") || line.starts_with(b"Index: ") || id.is_some_and(|len| len >= 7)
}

/// The name of a fenced file, and the line where it stands: in the fence, or on the last line above it that is not blank.
fn name(lines: &[&[u8]], at: usize, from: usize) -> Option<(usize, Vec<u8>)> {
    if let Some(name) = fence::read(lines[at]).and_then(|fence| fence::name_in(fence.info)) {
        return Some((at, name));
    }
    let above = last_above(lines, at, from)?;
    Some((above, fence::title(lines[above])?))
}

/// Whether a fence may have the name of a file, one that is too uncertain to be written to included.
pub(super) fn may_be_named(lines: &[&[u8]], at: usize, from: usize) -> bool {
    let above = || fence::name(lines[last_above(lines, at, from)?]);
    name(lines, at, from).is_some() || above().is_some()
}

/// The last line above that is not blank.
fn last_above(lines: &[&[u8]], at: usize, from: usize) -> Option<usize> {
    (from..at).rev().find(|&above| !lines[above].trim_ascii().is_empty())
}
