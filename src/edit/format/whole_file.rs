//! Whole files, each in a fence below its path: for answers that hold nothing else.

use super::{Action, Fault, FilePatch, Format, Parsed, Problem, Source, fence};

/// The format.
pub(super) struct WholeFile;

impl Format for WholeFile {
    fn name(&self) -> &'static str {
        "a fenced file"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        let at = (0..lines.len()).find(|&at| fence::read(lines[at]).is_some())?;
        // A fence around another form is that form's.
        let named = name(lines, at, 0).is_some();
        let inner = lines.get(at + 1..).unwrap_or_default();
        let others = super::FORMATS.iter().filter(|format| format.name() != self.name());
        let other = others.filter_map(|format| format.begins(inner)).min().is_some_and(|line| line == 0);
        (named && !other).then_some(at)
    }

    fn read(&self, source: &Source<'_>) -> Result<Parsed, Fault> {
        let lines = &source.lines;
        let (mut files, mut used, mut from) = (Vec::new(), Vec::new(), 0);
        while let Some(at) = (from..lines.len()).find(|&at| fence::read(lines[at]).is_some()) {
            let fault = |line: usize, problem| Fault { line: line + 1, path: None, problem };
            let end = fence::end(lines, at).ok_or_else(|| fault(at, Problem::Ends("the fence is closed")))?;
            let (start, path) = name(lines, at, from).ok_or_else(|| fault(at, Problem::NamelessFence))?;
            let content = lines[at + 1..end].concat();
            files.push(FilePatch { path, source: at + 1, action: Action::Whole { content } });
            used.push(start..end + 1);
            from = end + 1;
        }
        Ok(Parsed { files, used })
    }
}

/// The name of a fenced file, and the line where it stands: in the fence, or on the last line above it that is not blank.
fn name(lines: &[&[u8]], at: usize, from: usize) -> Option<(usize, Vec<u8>)> {
    if let Some(name) = fence::read(lines[at]).and_then(|fence| fence::name_in(fence.info)) {
        return Some((at, name));
    }
    let above = (from..at).rev().take(2).find(|&above| !lines[above].trim_ascii().is_empty())?;
    Some((above, fence::name(lines[above])?))
}
