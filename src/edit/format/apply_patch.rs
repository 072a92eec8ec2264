//! The envelope `*** Begin Patch` … `*** End Patch`, with `*** Add File`, `*** Update File`, `*** Delete File`, `*** Move to`.

use std::ops::Range;

use super::body::{self, After};
use super::{Action, Fault, FilePatch, Format, Parsed, Problem, Source, head};
use crate::edit::hunk::{Hunk, Side};
use crate::edit::table::content;

/// The format.
pub(super) struct ApplyPatch;

const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

impl Format for ApplyPatch {
    fn name(&self) -> &'static str {
        "`*** Begin Patch`"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        lines.iter().position(|line| line.trim_ascii() == BEGIN)
    }

    fn read(&self, source: &Source<'_>) -> Result<Parsed, Fault> {
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
        Ok(Parsed { files, used })
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

    /// The rest of a line that begins with `mark`: with a space before it, it is a line of the file.
    fn after(&self, mark: &[u8]) -> Option<Vec<u8>> {
        self.line()?.strip_prefix(mark).map(|rest| rest.trim_ascii().to_vec())
    }

    fn fault(&self, path: Option<&[u8]>, problem: Problem) -> Fault {
        Fault { line: self.at + 1, path: path.map(<[u8]>::to_vec), problem }
    }

    fn file(&mut self) -> Result<FilePatch, Fault> {
        let source = self.at + 1;
        let named = [b"*** Add File:".as_slice(), b"*** Delete File:", b"*** Update File:"];
        let Some((kind, path)) =
            named.iter().enumerate().find_map(|(i, mark)| Some((i, self.after(mark)?)))
        else {
            let due = "`*** Add File:`, `*** Update File:`, `*** Delete File:` or `*** End Patch`";
            let problem = match self.line() {
                Some(found) => Problem::Unexpected { due, found: found.to_vec() },
                None => Problem::Ends("`*** End Patch`"),
            };
            return Err(self.fault(None, problem));
        };
        self.at += 1;
        let action = match kind {
            0 => self.added(&path)?,
            1 => Action::Delete { old: None },
            _ => self.updated(&path)?,
        };
        self.skip_blank();
        Ok(FilePatch { path, source, action })
    }

    /// Blank lines between two parts.
    fn skip_blank(&mut self) {
        while self.line().is_some_and(|line| line.trim_ascii().is_empty()) {
            self.at += 1;
        }
    }

    fn is_part(&self) -> bool {
        self.line().is_none_or(|line| line.starts_with(b"*** "))
    }

    fn added(&mut self, path: &[u8]) -> Result<Action, Fault> {
        let mut bytes = Vec::new();
        while !self.is_part() {
            let raw = self.lines[self.at];
            match raw.strip_prefix(b"+") {
                Some(line) => bytes.extend_from_slice(line),
                None if content(raw).is_empty() && self.rest_is_blank() => break,
                None => {
                    let found = content(raw).to_vec();
                    return Err(self.fault(
                        Some(path),
                        Problem::Unexpected { due: "a line marked `+`", found },
                    ));
                }
            }
            self.at += 1;
        }
        Ok(Action::Create { content: bytes, executable: false })
    }

    /// Whether only blank lines come before the next part.
    fn rest_is_blank(&self) -> bool {
        let rest = self.lines[self.at..].iter().find(|line| !line.trim_ascii().is_empty());
        rest.is_none_or(|line| line.starts_with(b"*** "))
    }

    fn updated(&mut self, path: &[u8]) -> Result<Action, Fault> {
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
            return Err(self.fault(Some(path), Problem::Empty));
        }
        Ok(Action::Update { hunks, to, executable: None })
    }

    fn hunk(&mut self, path: &[u8]) -> Result<Hunk, Fault> {
        let start = self.at;
        let (mut anchors, mut ranges) = (Vec::new(), None);
        while let Some(head) = self.line().and_then(head::read) {
            anchors.extend(head.anchor);
            ranges = head.ranges.or(ranges);
            self.at += 1;
        }
        let body = self.body();
        let mut hunk = body::read(start, &self.lines[body.clone()], After::Blank);
        self.at = body.end;
        if self.is_at(b"*** End of File") {
            (hunk.at_end, hunk.tail) = (true, 0);
            self.at += 1;
        }
        let changes = hunk.lines.iter().any(|line| line.side != Side::Both);
        if !changes {
            self.at = start;
            return Err(self.fault(Some(path), Problem::IdleHunk));
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
