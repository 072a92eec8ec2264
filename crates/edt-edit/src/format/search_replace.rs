//! SEARCH/REPLACE blocks: `<<<<<<< SEARCH`, the present text, `=======`, the new text,
//! `>>>>>>> REPLACE`, each marker with five to nine characters. The file is named above the block,
//! in the fence around it, or by the block before.

use std::ops::Range;

use super::fence;
use super::patch::{FileAction, FilePatch, ParsedPatch, PatchFormat, PatchSource};
use super::problem::{PatchParseError, PatchProblem};
use crate::hunk::{Hunk, between};
use crate::table::content;
use edt_types::text::to_lf;

pub(super) struct SearchReplace;

impl PatchFormat for SearchReplace {
    fn name(&self) -> &'static str {
        "a SEARCH/REPLACE block"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        let at = lines.iter().position(|line| opens(line).is_some())?;
        let name = (at.saturating_sub(2)..at).find(|&above| fence::read(lines[above]).is_some());
        Some(name.unwrap_or(at))
    }

    fn read(&self, source: &PatchSource<'_>) -> Result<ParsedPatch, PatchParseError> {
        let (mut files, mut used) = (Vec::new(), Vec::new());
        let (mut from, mut last) = (0, None);
        while let Some(at) =
            (from..source.lines.len()).find(|&at| opens(source.lines[at]).is_some())
        {
            let (start, path) = match named_above(&source.lines, from..at) {
                Above::Name(line, path) => (line, Some(path)),
                Above::Nothing => (at, last.or_else(|| source.path.map(<[u8]>::to_vec))),
                Above::Prose(line) => (
                    at,
                    source
                        .path
                        .filter(|path| !mentions_another_file(line, path))
                        .map(<[u8]>::to_vec),
                ),
            };
            let error_at = |line: usize, problem| PatchParseError {
                line: line + 1,
                path: path.clone(),
                problem,
            };
            let Some(path) = path.clone() else {
                return Err(error_at(at, PatchProblem::MissingPath));
            };
            let (block, end) =
                block(&source.lines, at).map_err(|(line, problem)| error_at(line, problem))?;
            // Blocks apply one after another. A line number refers to the original file, so it is
            // invalid after another block.
            let first = files.iter().all(|file: &FilePatch| file.path != path);
            let block = Block { line: block.line.filter(|_| first), ..block };
            files.push(FilePatch { path: path.clone(), source: at + 1, action: block.action(at) });
            let closing = source
                .lines
                .get(end)
                .is_some_and(|line| fence::read(line).is_some_and(|fence| fence.info.is_empty()));
            used.push(start..end + usize::from(closing));
            (from, last) = (end + usize::from(closing), Some(path));
        }
        Ok(ParsedPatch { files, used })
    }
}

/// The width of a marker line: its character five to nine times, then the word.
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

/// Whether a line resembles the first or last line of a block, of any width and with any suffix.
pub(super) fn resembles_a_marker(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [b"SEARCH", b"REPLACE", b"ORIGINAL", b"UPDATED", b"HEAD"];
    let Some(mark) = line.first().filter(|b| b"<>-+".contains(b)) else { return false };
    let width = line.iter().take_while(|b| *b == mark).count();
    let rest = line[width..].trim_ascii_start();
    let word = rest.split(|b| !b.is_ascii_alphanumeric()).next().unwrap_or_default();
    let known = WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    let angle = matches!(mark, b'<' | b'>');
    (known && width >= 3)
        || (angle && width >= 4 && word.len() > 1 && word.iter().all(u8::is_ascii_uppercase))
}

/// What is between a block and the one before it.
enum Above<'a> {
    /// The name of the file, on this line.
    Name(usize, Vec<u8>),
    /// Only blank lines and fences.
    Nothing,
    /// Other text: the nearest line.
    Prose(&'a [u8]),
}

/// The name is the nearest line that is neither blank nor a fence, or it is in the info string of a
/// fence.
fn named_above<'a>(lines: &[&'a [u8]], above: Range<usize>) -> Above<'a> {
    for at in above.rev() {
        let name = match fence::read(lines[at]) {
            Some(fence) => fence::name_in(fence.info),
            None if lines[at].trim_ascii().is_empty() => None,
            None => {
                return fence::name(lines[at])
                    .map_or(Above::Prose(lines[at]), |name| Above::Name(at, name));
            }
        };
        if let Some(name) = name {
            return Above::Name(at, name);
        }
    }
    Above::Nothing
}

/// Whether a sentence mentions another file than the requested one.
fn mentions_another_file(sentence: &[u8], path: &[u8]) -> bool {
    let end = |word: &&[u8]| {
        word.iter().rposition(|b| !b".,;:!?)".contains(b)).map_or(0, |last| last + 1)
    };
    let words = sentence.split(u8::is_ascii_whitespace).map(|word| &word[..end(&word)]);
    words.filter_map(fence::title).any(|name| name != path)
}

#[derive(Debug, PartialEq, Eq)]
struct Block {
    search: Vec<u8>,
    replace: Vec<u8>,
    /// The line where the search text begins, as the block states it.
    line: Option<usize>,
}

/// Parses the block that opens at line `at`. Also returns the line after it.
fn block(lines: &[&[u8]], at: usize) -> Result<(Block, usize), (usize, PatchProblem)> {
    let width = opens(lines[at]).unwrap_or_default();
    let rest = &lines[at + 1..];
    let end = end_of(rest, width).map_err(|(line, problem)| (at + 1 + line, problem))?;
    let dividers: Vec<usize> = (0..end).filter(|&i| marker(rest[i], b'=', b"").is_some()).collect();
    let exact =
        |&i: &usize| marker(rest[i], b'=', b"") == Some(width) && closes(rest[end]) == Some(width);
    let exact: Vec<usize> = dividers.iter().copied().filter(exact).collect();
    let divider = match (exact.as_slice(), dividers.as_slice()) {
        ([only], _) | ([], [only]) => *only,
        ([], []) => return Err((at + 1 + end, unexpected_divider(rest[end]))),
        _ => return Err((at + 1 + dividers[1], PatchProblem::MultipleDividers)),
    };
    let (from, line) = start_line(&rest[..divider]);
    let block = Block {
        search: rest[from..divider].concat(),
        replace: rest[divider + 1..end].concat(),
        line,
    };
    Ok((block, at + 1 + end + 1))
}

/// The line that ends a block whose first marker has this width: the only end marker of that width
/// before the next block, or the only end marker.
fn end_of(rest: &[&[u8]], width: usize) -> Result<usize, (usize, PatchProblem)> {
    let next = rest.iter().position(|line| opens(line).is_some()).unwrap_or(rest.len());
    let ends: Vec<usize> = (0..next).filter(|&i| closes(rest[i]).is_some()).collect();
    let exact: Vec<usize> =
        ends.iter().copied().filter(|&i| closes(rest[i]) == Some(width)).collect();
    // End markers of another width may be text; then the block continues after the next such
    // marker.
    let goes_on = || {
        let mut beyond = rest[next..].iter().take_while(|line| opens(line) != Some(width));
        beyond.any(|line| closes(line) == Some(width))
    };
    match (exact.as_slice(), ends.as_slice()) {
        ([only], _) => Ok(*only),
        ([], [only]) if !goes_on() => Ok(*only),
        ([], [] | [_]) if next < rest.len() => Err((next, unexpected(rest[next]))),
        ([], []) => {
            Err((rest.len().saturating_sub(1), PatchProblem::UnexpectedEnd("`>>>>>>> REPLACE`")))
        }
        _ => {
            // A malformed marker may be between two blocks.
            let last = exact.get(1).or(ends.get(1)).copied().unwrap_or_default();
            let stray = (0..last)
                .find(|&i| rest[i].starts_with(b"<") && resembles_a_marker(content(rest[i])));
            Err(stray.map_or((last, PatchProblem::MultipleEndMarkers), |i| {
                (i, PatchProblem::UnparsedPart(content(rest[i]).to_vec()))
            }))
        }
    }
}

fn unexpected(line: &[u8]) -> PatchProblem {
    PatchProblem::Unexpected { expected: "`>>>>>>> REPLACE`", found: content(line).to_vec() }
}

fn unexpected_divider(line: &[u8]) -> PatchProblem {
    PatchProblem::Unexpected { expected: "the divider `=======`", found: content(line).to_vec() }
}

/// Some models write `:start_line:12`, perhaps `:end_line:14`, and `-------` before the text.
fn start_line(search: &[&[u8]]) -> (usize, Option<usize>) {
    let number = |at: usize, word: &str| -> Option<usize> {
        let line = std::str::from_utf8(content(search.get(at)?)).ok()?;
        line.trim().strip_prefix(word)?.trim().parse().ok()
    };
    let Some(start) = number(0, ":start_line:") else { return (0, None) };
    let at = 1 + usize::from(number(1, ":end_line:").is_some());
    let line = search.get(at).map(|line| content(line)).unwrap_or_default();
    (at + usize::from(line.len() >= 5 && line.iter().all(|&b| b == b'-')), Some(start))
}

impl Block {
    /// A block without a search text creates a file.
    fn action(self, at: usize) -> FileAction {
        if self.search.iter().all(u8::is_ascii_whitespace) {
            return FileAction::Create { content: to_lf(&self.replace), executable: false };
        }
        let hunk = Hunk { at: self.line, ..Hunk::of(at + 1, between(&self.search, &self.replace)) };
        FileAction::Update { hunks: vec![hunk], to: None, executable: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, path: Option<&str>) -> Result<Vec<String>, (usize, PatchProblem)> {
        let lines = text.split_inclusive('\n').map(str::as_bytes).collect();
        let parsed = SearchReplace.read(&PatchSource { lines, path: path.map(str::as_bytes) });
        let name = |file: FilePatch| String::from_utf8(file.path).unwrap();
        parsed
            .map(|parsed| parsed.files.into_iter().map(name).collect())
            .map_err(|error| (error.line, error.problem))
    }

    const BLOCK: &str = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";

    #[test]
    fn the_requested_file_is_used_unless_another_is_mentioned() {
        let asked = |above: &str| read(&format!("{above}\n{BLOCK}"), Some("a.c"));
        assert_eq!(asked(""), Ok(vec!["a.c".to_owned()]));
        assert_eq!(asked("Here it is:"), Ok(vec!["a.c".to_owned()]));
        assert_eq!(asked("In `a.c`, I changed this."), Ok(vec!["a.c".to_owned()]));
        assert_eq!(asked("b.c"), Ok(vec!["b.c".to_owned()]));
        assert_eq!(asked("In `b.c`, I changed this."), Err((2, PatchProblem::MissingPath)));
    }

    #[test]
    fn the_file_of_the_previous_block_is_used_only_right_below_it() {
        let below = |between: &str| read(&format!("a.c\n{BLOCK}{between}{BLOCK}"), None);
        assert_eq!(below("\n```\n\n```c\n"), Ok(vec!["a.c".to_owned(); 2]));
        assert_eq!(below("And then:\n"), Err((8, PatchProblem::MissingPath)));
        assert_eq!(below("b.c\n"), Ok(vec!["a.c".to_owned(), "b.c".to_owned()]));
    }

    #[test]
    fn a_block_with_different_markers_ends_only_where_the_end_is_unique() {
        let end = |text: &str| {
            let lines: Vec<&[u8]> = text.split_inclusive('\n').map(str::as_bytes).collect();
            end_of(&lines, 9)
        };
        let (seven, nine) = (">>>>>>> REPLACE\n", ">>>>>>>>> REPLACE\n");
        assert_eq!(end(&format!("a\n{seven}")), Ok(1));
        assert_eq!(end(&format!("a\n{seven}{nine}")), Ok(2));
        assert_eq!(end(&format!("{nine}{seven}")), Ok(0), "the second is reported as ignored");
        assert_eq!(end(&format!("{seven}{seven}")), Err((1, PatchProblem::MultipleEndMarkers)));
        assert_eq!(end(&format!("{nine}{nine}")), Err((1, PatchProblem::MultipleEndMarkers)));
        let inside = end(&format!("a\n{seven}<<<<<<< SEARCH\n{nine}"));
        assert!(matches!(inside, Err((2, PatchProblem::Unexpected { .. }))), "{inside:?}");
    }

    #[test]
    fn only_a_rule_right_below_the_line_numbers_belongs_to_them() {
        let of = |lines: &[&str]| {
            start_line(&lines.iter().map(|line| line.as_bytes()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[":start_line:3\n", "-------\n", "a\n"]), (2, Some(3)));
        assert_eq!(of(&[":start_line:3\n", ":end_line:4\n", "-------\n", "a\n"]), (3, Some(3)));
        assert_eq!(of(&[":start_line:3\n", "Title\n", "-----\n"]), (1, Some(3)));
        assert_eq!(of(&["Title\n", "-----\n"]), (0, None));
    }
}
