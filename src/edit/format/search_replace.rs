//! SEARCH/REPLACE blocks: `<<<<<<< SEARCH`, the text that stands there, `=======`, the text that comes, `>>>>>>> REPLACE`, each marker
//! of five to nine characters. The file is named above the block, in the fence around it, or by the block before.

use similar::{Algorithm, DiffTag};

use super::{Action, Fault, FilePatch, Format, Parsed, Problem, Source, fence};
use crate::base::text::to_lf;
use crate::edit::hunk::{Hunk, Line, Side};
use crate::edit::table::content;

/// The format.
pub(super) struct SearchReplace;

impl Format for SearchReplace {
    fn name(&self) -> &'static str {
        "a SEARCH/REPLACE block"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        let at = lines.iter().position(|line| opens(line).is_some())?;
        let name = (at.saturating_sub(2)..at).find(|&above| fence::read(lines[above]).is_some());
        Some(name.unwrap_or(at))
    }

    fn read(&self, source: &Source<'_>) -> Result<Parsed, Fault> {
        let (mut files, mut used) = (Vec::new(), Vec::new());
        let (mut from, mut last) = (0, source.path.map(<[u8]>::to_vec));
        while let Some(at) = (from..source.lines.len()).find(|&at| opens(source.lines[at]).is_some()) {
            let named = name_above(&source.lines[from..at]);
            let (start, path) = named.map_or((at, None), |(line, path)| (from + line, Some(path)));
            let path = path.or_else(|| last.take());
            let fault = |line: usize, problem| Fault { line: line + 1, path: path.clone(), problem };
            let Some(path) = path.clone() else { return Err(fault(at, Problem::NoFile)) };
            let (block, end) = block(&source.lines, at).map_err(|(line, problem)| fault(line, problem))?;
            files.push(FilePatch { path: path.clone(), source: at + 1, action: block.action(at) });
            let closing =
                source.lines.get(end).is_some_and(|line| fence::read(line).is_some_and(|fence| fence.info.is_empty()));
            used.push(start..end + usize::from(closing));
            (from, last) = (end + usize::from(closing), Some(path));
        }
        Ok(Parsed { files, used })
    }
}

/// A line of a marker: its character five to nine times, then the word.
fn marker(line: &[u8], mark: u8, word: &[u8]) -> Option<usize> {
    let line = content(line).trim_ascii_end();
    let width = line.iter().take_while(|&&b| b == mark).count();
    let rest = line[width..].trim_ascii_start();
    let rest = rest.strip_suffix(&[mark]).filter(|_| !word.is_empty()).unwrap_or(rest);
    ((5..=9).contains(&width) && rest == word).then_some(width)
}

fn opens(line: &[u8]) -> Option<usize> {
    marker(line, b'<', b"SEARCH").or_else(|| marker(line, b'-', b"SEARCH"))
}

fn closes(line: &[u8]) -> Option<usize> {
    marker(line, b'>', b"REPLACE").or_else(|| marker(line, b'+', b"REPLACE"))
}

/// The name of the file in the lines just above a block: at most three, blank ones and the fence between.
fn name_above(lines: &[&[u8]]) -> Option<(usize, Vec<u8>)> {
    let from = lines.len().saturating_sub(3);
    (from..lines.len()).rev().find_map(|at| {
        let name = match fence::read(lines[at]) {
            Some(fence) => fence::name_in(fence.info),
            None => fence::name(lines[at]),
        };
        Some((at, name?))
    })
}

#[derive(Debug, PartialEq, Eq)]
struct Block {
    search: Vec<u8>,
    replace: Vec<u8>,
    /// The line that the block says its search text begins at.
    line: Option<usize>,
}

/// The block that opens at line `at`, and the line after it.
fn block(lines: &[&[u8]], at: usize) -> Result<(Block, usize), (usize, Problem)> {
    let width = opens(lines[at]).unwrap_or_default();
    let rest = &lines[at + 1..];
    let end = rest.iter().position(|line| closes(line).is_some() || opens(line).is_some());
    let end = match end {
        Some(end) if closes(rest[end]).is_some() => end,
        Some(end) => return Err((at + 1 + end, unexpected(rest[end]))),
        None => return Err((lines.len() - 1, Problem::Ends("`>>>>>>> REPLACE`"))),
    };
    let dividers: Vec<usize> = (0..end).filter(|&i| marker(rest[i], b'=', b"").is_some()).collect();
    let exact: Vec<usize> = dividers.iter().copied().filter(|&i| marker(rest[i], b'=', b"") == Some(width)).collect();
    let divider = match (exact.as_slice(), dividers.as_slice()) {
        ([only], _) | ([], [only]) => *only,
        ([], []) => return Err((at + 1 + end, unexpected_divider(rest[end]))),
        _ => return Err((at + 1 + dividers[1], Problem::Dividers)),
    };
    let (from, line) = start_line(&rest[..divider]);
    let block = Block { search: rest[from..divider].concat(), replace: rest[divider + 1..end].concat(), line };
    Ok((block, at + 1 + end + 1))
}

fn unexpected(line: &[u8]) -> Problem {
    Problem::Unexpected { due: "`>>>>>>> REPLACE`", found: content(line).to_vec() }
}

fn unexpected_divider(line: &[u8]) -> Problem {
    Problem::Unexpected { due: "the divider `=======`", found: content(line).to_vec() }
}

/// Some write `:start_line:12` and `-------` before the text.
fn start_line(search: &[&[u8]]) -> (usize, Option<usize>) {
    let number = search.first().and_then(|line| {
        std::str::from_utf8(content(line)).ok()?.trim().strip_prefix(":start_line:")?.trim().parse().ok()
    });
    let rule = |line: &&&[u8]| content(line).len() >= 5 && content(line).iter().all(|&b| b == b'-');
    match (number, search.iter().take(3).position(|line| rule(&line))) {
        (Some(number), Some(at)) => (at + 1, Some(number)),
        (Some(number), None) => (1, Some(number)),
        _ => (0, None),
    }
}

impl Block {
    /// What the block does. One without a search text holds a new file.
    fn action(self, at: usize) -> Action {
        if self.search.iter().all(u8::is_ascii_whitespace) {
            return Action::Create { content: to_lf(&self.replace), executable: false };
        }
        let hunk = Hunk { at: self.line, ..Hunk::of(at + 1, between(&self.search, &self.replace)) };
        Action::Update { hunks: vec![hunk], to: None, executable: None }
    }
}

/// The lines of two texts as one hunk: what they share is context.
pub(crate) fn between(search: &[u8], replace: &[u8]) -> Vec<Line> {
    let lines = |text: &[u8]| -> Vec<Vec<u8>> { crate::base::text::lines(text).map(<[u8]>::to_vec).collect() };
    let (old, new) = (lines(search), lines(replace));
    let texts = |lines: &[Vec<u8>]| -> Vec<Vec<u8>> { lines.iter().map(|line| content(line).to_vec()).collect() };
    let ops = similar::capture_diff_slices(Algorithm::Myers, &texts(&old), &texts(&new));
    let mut out = Vec::new();
    for op in ops {
        if op.tag() == DiffTag::Equal {
            out.extend(old[op.old_range()].iter().map(|line| Line::new(Side::Both, line)));
        } else {
            out.extend(old[op.old_range()].iter().map(|line| Line::new(Side::Old, line)));
            out.extend(new[op.new_range()].iter().map(|line| Line::new(Side::New, line)));
        }
    }
    out
}
