//! The format `*** Begin Patch` … `*** End Patch`, with `*** Add File`, `*** Update File`,
//! `*** Delete File`, `*** Move to`.

use std::ops::Range;

use super::body::{self, Trailing};
use super::header;
use super::patch::{FileAction, FilePatch, ParsedPatch, PatchFormat, PatchSource};
use super::problem::{PatchParseError, PatchProblem};
use crate::hunk::{Hunk, Side};
use crate::table::content;

pub(super) struct ApplyPatch;

const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

impl PatchFormat for ApplyPatch {
    fn name(&self) -> &'static str {
        "`*** Begin Patch`"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        lines.iter().position(|line| line.trim_ascii() == BEGIN)
    }

    fn read(&self, source: &PatchSource<'_>) -> Result<ParsedPatch, PatchParseError> {
        let (mut files, mut used) = (Vec::new(), Vec::new());
        let mut from = 0;
        while let Some(begin) = self.begins(&source.lines[from..]).map(|at| from + at) {
            let mut reader = Reader { lines: &source.lines, at: begin + 1 };
            while !reader.is_at(END) {
                files.push(reader.file()?);
            }
            used.push(begin..reader.at + 1);
            from = reader.at + 1;
        }
        Ok(ParsedPatch { files, used })
    }
}

struct Reader<'a> {
    lines: &'a [&'a [u8]],
    at: usize,
}

impl<'a> Reader<'a> {
    fn line(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).map(|line| content(line))
    }

    fn is_at(&self, mark: &[u8]) -> bool {
        self.line().is_some_and(|line| line.trim_ascii_end() == mark)
    }

    /// The rest of the current line after `mark`. A line with a space before the mark is text of
    /// the file.
    fn after(&self, mark: &[u8]) -> Option<Vec<u8>> {
        self.line()?.strip_prefix(mark).map(|rest| rest.trim_ascii().to_vec())
    }

    fn error_at(&self, path: Option<&[u8]>, problem: PatchProblem) -> PatchParseError {
        PatchParseError { line: self.at + 1, path: path.map(<[u8]>::to_vec), problem }
    }

    fn file(&mut self) -> Result<FilePatch, PatchParseError> {
        let source = self.at + 1;
        let named = [b"*** Add File:".as_slice(), b"*** Delete File:", b"*** Update File:"];
        let Some((kind, path)) =
            named.iter().enumerate().find_map(|(i, mark)| Some((i, self.after(mark)?)))
        else {
            let expected =
                "`*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`";
            let problem = match self.line() {
                Some(found) => PatchProblem::Unexpected { expected, found: found.to_vec() },
                None => PatchProblem::UnexpectedEnd("`*** End Patch`"),
            };
            return Err(self.error_at(None, problem));
        };
        self.at += 1;
        let action = match kind {
            0 => self.added(&path)?,
            1 => FileAction::Delete { old: None },
            _ => self.updated(&path)?,
        };
        self.skip_blank();
        Ok(FilePatch { path, source, action })
    }

    /// Skips the blank lines between two parts.
    fn skip_blank(&mut self) {
        while self.line().is_some_and(|line| line.trim_ascii().is_empty()) {
            self.at += 1;
        }
    }

    fn is_part(&self) -> bool {
        self.line().is_none_or(|line| line.starts_with(b"*** "))
    }

    fn added(&mut self, path: &[u8]) -> Result<FileAction, PatchParseError> {
        let mut bytes = Vec::new();
        while !self.is_part() {
            let raw = self.lines[self.at];
            match raw.strip_prefix(b"+") {
                Some(line) => bytes.extend_from_slice(line),
                None if content(raw).is_empty() && self.rest_is_blank() => break,
                None => {
                    let found = content(raw).to_vec();
                    return Err(self.error_at(
                        Some(path),
                        PatchProblem::Unexpected { expected: "a line marked `+`", found },
                    ));
                }
            }
            self.at += 1;
        }
        Ok(FileAction::Create { content: bytes, executable: false })
    }

    /// Whether only blank lines precede the next part.
    fn rest_is_blank(&self) -> bool {
        let rest = self.lines[self.at..].iter().find(|line| !line.trim_ascii().is_empty());
        rest.is_none_or(|line| line.starts_with(b"*** "))
    }

    fn updated(&mut self, path: &[u8]) -> Result<FileAction, PatchParseError> {
        let to = self.after(b"*** Move to:");
        self.at += usize::from(to.is_some());
        let mut hunks = Vec::new();
        while !self.is_part() {
            if self.lines[self.at].trim_ascii().is_empty() && self.rest_is_blank() {
                break;
            }
            hunks.push(self.hunk(path)?);
        }
        if hunks.is_empty() && to.is_none() {
            return Err(self.error_at(Some(path), PatchProblem::NoChange));
        }
        Ok(FileAction::Update { hunks, to, executable: None })
    }

    fn hunk(&mut self, path: &[u8]) -> Result<Hunk, PatchParseError> {
        let start = self.at;
        let (mut anchors, mut ranges) = (Vec::new(), None);
        while let Some(header) = self.line().and_then(header::read) {
            anchors.extend(header.anchor);
            ranges = header.ranges.or(ranges);
            self.at += 1;
        }
        let body = self.body();
        let mut hunk = body::read(start, &self.lines[body.clone()], Trailing::Blank);
        self.at = body.end;
        if self.is_at(b"*** End of File") {
            (hunk.at_end, hunk.tail) = (true, 0);
            self.at += 1;
        }
        let changes = hunk.lines.iter().any(|line| line.side != Side::Both);
        if !changes {
            self.at = start;
            return Err(self.error_at(Some(path), PatchProblem::EmptyHunk));
        }
        let has_old = hunk.lines.iter().any(|line| line.side != Side::New);
        hunk.at = ranges.map(|((start, _), _)| start).filter(|_| has_old);
        hunk.anchors = anchors;
        Ok(hunk)
    }

    fn body(&self) -> Range<usize> {
        let ends = |line: &&[u8]| line.starts_with(b"@@") || line.starts_with(b"*** ");
        let len = self.lines[self.at..].iter().position(ends).unwrap_or(self.lines.len() - self.at);
        self.at..self.at + len
    }
}
