//! Unified diffs: by Git or not, in a fence or not, with line numbers that are right, wrong or
//! missing.
//!
//! Headers are trusted; line counts only where they agree with the lines. A hunk ends at the next
//! header, at the end of its fence, or where its counts are used up and no marked line follows.

use std::ops::Range;

use super::body::{self, Trailing};
use super::fence;
use super::header::{self, HunkHeader};
use super::name;
use super::patch::{FilePatch, ParsedPatch, PatchFormat, PatchSource};
use super::problem::{PatchParseError, PatchProblem};
use super::section::{HeaderChange, Section, finish};
use crate::hunk::Side;
use crate::table::content;

pub(super) struct UnifiedDiff;

impl PatchFormat for UnifiedDiff {
    fn name(&self) -> &'static str {
        "a unified diff"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        (0..lines.len()).find(|&at| {
            lines[at].starts_with(b"diff --git ")
                || header::read(lines[at]).is_some()
                || is_file_header(lines, at)
        })
    }

    fn read(&self, source: &PatchSource<'_>) -> Result<ParsedPatch, PatchParseError> {
        let mut reader = Reader {
            source,
            at: 0,
            section: Section::new(0),
            fence: None,
            files: Vec::new(),
            used: Vec::new(),
        };
        while reader.at < source.lines.len() {
            reader.step()?;
        }
        reader.close()?;
        Ok(ParsedPatch { files: reader.files, used: reader.used })
    }
}

/// Whether `---` and `+++` follow, or one of them directly above a hunk.
fn is_file_header(lines: &[&[u8]], at: usize) -> bool {
    let next = |n: usize| lines.get(at + n).copied().unwrap_or_default();
    let hunk = |line: &[u8]| header::read(line).is_some();
    (lines[at].starts_with(b"--- ") && (next(1).starts_with(b"+++ ") || hunk(next(1))))
        || (lines[at].starts_with(b"+++ ") && hunk(next(1)))
}

struct Reader<'s> {
    source: &'s PatchSource<'s>,
    at: usize,
    section: Section,
    /// The line of the open fence, and the file name above or in it.
    fence: Option<(usize, Option<Vec<u8>>)>,
    files: Vec<FilePatch>,
    used: Vec<Range<usize>>,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<(), PatchParseError> {
        let (lines, at) = (&self.source.lines, self.at);
        let line = lines[at];
        if let Some(open) = &self.fence
            && fence::read(lines[open.0]).is_some_and(|fence| fence.closed_by(line))
        {
            self.close()?;
            self.fence = None;
            self.mark(at..at + 1);
        } else if self.fence.is_none() && fence::read(line).is_some() {
            self.close()?;
            self.open(at)?;
        } else if let Some(rest) = line.strip_prefix(b"diff --git ") {
            self.close()?;
            self.section =
                Section { of_git: true, git: name::of_git_line(rest), ..Section::new(at) };
            self.mark(at..at + 1);
        } else if line.starts_with(b"@@@ ") || line.starts_with(b"diff --cc ") {
            return Err(self.error_at(at, PatchProblem::Unsupported("a combined diff of a merge")));
        } else if let Some(header) = header::read(line) {
            return self.hunk(header);
        } else if is_file_header(lines, at) {
            self.names()?;
            return Ok(());
        } else if !self.section.of_git || !self.section.hunks.is_empty() || !self.extended(line)? {
            self.prose(line)?;
        }
        self.at += 1;
        Ok(())
    }

    fn mark(&mut self, lines: Range<usize>) {
        match self.used.last_mut().filter(|last| last.end == lines.start) {
            Some(last) => last.end = lines.end,
            None => self.used.push(lines),
        }
    }

    /// A fence is part of the patch only if it contains a patch: from its first line on, or
    /// according to its info string.
    fn open(&mut self, at: usize) -> Result<(), PatchParseError> {
        let lines = &self.source.lines;
        let end = fence::end(lines, at).unwrap_or(lines.len());
        let inner = lines.get(at + 1..end).unwrap_or_default();
        let info = fence::read(lines[at]).map(|fence| fence.info).unwrap_or_default();
        let above = (0..at).rev().take(2).find(|&above| !lines[above].trim_ascii().is_empty());
        let name = fence::name_in(info).or_else(|| fence::name(lines[above?]));
        let first = inner.iter().position(|line| !line.trim_ascii().is_empty());
        let begins = UnifiedDiff.begins(inner);
        let holds =
            begins.is_some() && (begins == first || [&b"diff"[..], b"patch"].contains(&info));
        // A fenced file that is itself a patch is a file, not a patch to apply.
        let is_patch =
            name.as_ref().is_some_and(|name| name.ends_with(b".patch") || name.ends_with(b".diff"));
        if !holds || is_patch {
            let filled = || inner.iter().filter(|line| !line.trim_ascii().is_empty());
            let changes = filled().any(|line| matches!(line.first(), Some(b'+' | b'-')));
            if changes && filled().all(|line| body::is_marked(line)) {
                return Err(self.error_at(at + 1, PatchProblem::MissingHunkHeader));
            }
            self.at = end;
            return Ok(());
        }
        self.fence = Some((at, name));
        self.mark(at..at + 1);
        Ok(())
    }

    /// A line outside the patch. A line that is marked as a change would be ignored silently, so it
    /// is an error.
    fn prose(&self, line: &[u8]) -> Result<(), PatchParseError> {
        let within = self.fence.is_some() || !self.section.is_empty();
        let listed = self.fence.is_none() && (line.starts_with(b"- ") || is_rule(line));
        let marked = matches!(line.first(), Some(b'+' | b'-')) && !listed;
        if within && marked {
            Err(self.error_at(self.at, PatchProblem::MissingHunkHeader))
        } else {
            Ok(())
        }
    }

    fn error_at(&self, line: usize, problem: PatchProblem) -> PatchParseError {
        PatchParseError { line: line + 1, path: self.section.path(), problem }
    }

    /// Reads `--- old` and `+++ new`.
    fn names(&mut self) -> Result<(), PatchParseError> {
        if !self.section.of_git || self.section.old.is_some() || !self.section.hunks.is_empty() {
            self.close()?;
            self.section = Section::new(self.at);
        }
        let start = self.at;
        if !self.section.is_named(self.source.lines.get(start..).unwrap_or_default()) {
            // These names differ from those of the `diff --git` line above, which is a section of
            // its own.
            self.close()?;
            self.section = Section::new(start);
        }
        if let Some(rest) = self.source.lines[self.at].strip_prefix(b"--- ") {
            self.section.old = Some(name::of_header(rest));
            self.at += 1;
        }
        if let Some(rest) =
            self.source.lines.get(self.at).and_then(|line| line.strip_prefix(b"+++ "))
        {
            self.section.new = Some(name::of_header(rest));
            self.at += 1;
        }
        self.mark(start..self.at);
        let next = self.source.lines.get(self.at).copied().unwrap_or_default();
        if body::is_marked(next) && !is_file_header(&self.source.lines, self.at) {
            return Err(self.error_at(self.at, PatchProblem::MissingHunkHeader));
        }
        Ok(())
    }

    /// Reads one of Git's extended headers between `diff --git` and `---`; `false` if the line is
    /// none.
    fn extended(&mut self, line: &[u8]) -> Result<bool, PatchParseError> {
        let (line, at) = (content(line), self.at);
        let rest = |word: &str| line.strip_prefix(word.as_bytes());
        let known = ["similarity ", "dissimilarity ", "old mode ", "copy to "];
        let mode = rest("new mode ")
            .or_else(|| rest("new file mode "))
            .or_else(|| rest("deleted file mode "));
        if let Some(mode) = mode {
            match mode.trim_ascii() {
                b"120000" => {
                    return Err(self.error_at(at, PatchProblem::Unsupported("a symbolic link")));
                }
                b"160000" => {
                    return Err(self.error_at(at, PatchProblem::Unsupported("a submodule")));
                }
                mode => self.section.executable = Some(mode == b"100755"),
            }
            self.section.change = match line.first() {
                Some(b'd') => HeaderChange::Deleted,
                _ if rest("new file mode ").is_some() => HeaderChange::Added,
                _ => self.section.change,
            };
        } else if let Some(ids) = rest("index ") {
            match ids.rsplit(|&b| b == b' ').next() {
                Some(b"120000") => {
                    return Err(self.error_at(at, PatchProblem::Unsupported("a symbolic link")));
                }
                Some(b"160000") => {
                    return Err(self.error_at(at, PatchProblem::Unsupported("a submodule")));
                }
                _ => self.section.empty = is_empty_blob(ids),
            }
        } else if let Some(name) = rest("rename from ") {
            self.section.from = Some(name::of_git(name));
        } else if let Some(name) = rest("rename to ") {
            self.section.to = Some(name::of_git(name));
        } else if rest("copy from ").is_some() {
            return Err(self.error_at(at, PatchProblem::Unsupported("a copy")));
        } else if rest("GIT binary patch").is_some() || rest("Binary files ").is_some() {
            return Err(self.error_at(at, PatchProblem::Unsupported("a binary patch")));
        } else if !known.iter().any(|word| rest(word).is_some()) {
            return Ok(false);
        }
        self.mark(at..at + 1);
        Ok(true)
    }

    fn hunk(&mut self, header: HunkHeader) -> Result<(), PatchParseError> {
        let start = self.at;
        if self.section.is_empty() {
            self.section = Section::new(start);
        }
        let (end, after) = self.extent(start + 1, header.ranges)?;
        let mut hunk = body::read(start, &self.source.lines[start + 1..end], after);
        if hunk.lines.iter().all(|line| line.side == Side::Both) {
            return Err(self.error_at(start, PatchProblem::EmptyHunk));
        }
        let added = hunk.lines.iter().filter(|line| line.side == Side::New).count();
        hunk.at = match header.ranges {
            // Without an old side the line number alone determines the place: it must be well
            // formed.
            Some(((start, 0), (_, count))) => {
                (added == hunk.lines.len() && count == added).then_some(start.saturating_add(1))
            }
            Some(((start, _), _)) => Some(start).filter(|_| added < hunk.lines.len()),
            None => None,
        };
        hunk.anchors.extend(header.anchor);
        if let Some(((_, old), (_, new))) = header.ranges {
            let short = hunk.old_side().len() < old && hunk.new_side().len() < new;
            let changed = hunk.lines.last().is_some_and(|line| line.side != Side::Both);
            hunk.truncated = short && changed && end == self.source.lines.len();
        }
        self.section.hunks.push(hunk);
        self.mark(start..end);
        self.at = end;
        Ok(())
    }

    /// Where the lines of a hunk end, and what may follow it.
    fn extent(
        &self,
        from: usize,
        ranges: Option<((usize, usize), (usize, usize))>,
    ) -> Result<(usize, Trailing), PatchParseError> {
        let lines = &self.source.lines;
        if let Some(end) = ranges.and_then(|((_, old), (_, new))| self.counted(from, old, new)) {
            return Ok((end, Trailing::Nothing));
        }
        let end = (from..lines.len()).find(|&at| self.is_boundary(at)).unwrap_or(lines.len());
        // A single header right above the next hunk could also be a changed line.
        let last = lines.get(end.saturating_sub(1)).filter(|_| end > from && end < lines.len());
        if last.is_some_and(|last| last.starts_with(b"--- ") || last.starts_with(b"+++ "))
            && header::read(lines[end]).is_some()
        {
            return Err(self.error_at(end - 1, PatchProblem::AmbiguousLine));
        }
        Ok((end, if self.fence.is_some() { Trailing::Blank } else { Trailing::Prose }))
    }

    fn is_boundary(&self, at: usize) -> bool {
        let lines = &self.source.lines;
        let line = lines[at];
        // A leading space would mark it as context.
        let closes = !line.starts_with(b" ")
            && self.fence.as_ref().is_some_and(|(open, _)| {
                fence::read(lines[*open]).is_some_and(|fence| fence.closed_by(line))
            });
        let header = lines[at].starts_with(b"--- ")
            && lines.get(at + 1).is_some_and(|next| next.starts_with(b"+++ "))
            && lines.get(at + 2).is_none_or(|next| header::read(next).is_some());
        closes
            || header
            || line.starts_with(b"diff --git ")
            || header::read(line).is_some()
            || (line.starts_with(b"-- \n") && is_signature(lines, at))
            || (self.fence.is_none() && fence::read(line).is_some() && !line.starts_with(b" "))
    }

    /// Where the counts of a hunk are used up, if they agree with its lines: no header comes
    /// earlier, and no marked line follows.
    fn counted(&self, from: usize, mut old: usize, mut new: usize) -> Option<usize> {
        let lines = &self.source.lines;
        let mut at = from;
        while old > 0 || new > 0 {
            let line = lines.get(at)?;
            if self.is_boundary(at) {
                return None;
            }
            match line.first() {
                Some(b'-') => old = old.checked_sub(1)?,
                Some(b'+') => new = new.checked_sub(1)?,
                Some(b'\\') if line.starts_with(b"\\ ") => {}
                Some(b' ' | b'\r' | b'\n') => {
                    (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?);
                }
                _ => return None,
            }
            at += 1;
        }
        at += usize::from(lines.get(at).is_some_and(|line| line.starts_with(b"\\ ")));
        let rest =
            (at..lines.len()).take_while(|&at| !self.is_boundary(at) && !is_file_header(lines, at));
        let signed = |at: usize| content(lines[at]) == b"-- ";
        let mut rest = rest.take_while(|&at| !signed(at));
        // Inside a fence there is no prose; outside, prose begins with a blank line.
        let apart =
            self.fence.is_none() && lines.get(at).is_some_and(|line| content(line).is_empty());
        let listed = |at: usize| apart && (lines[at].starts_with(b"- ") || is_rule(lines[at]));
        let goes_on = match lines.get(at) {
            Some(next) if next.starts_with(b" ") && !self.is_boundary(at) => true,
            _ => rest.any(|at| matches!(lines[at].first(), Some(b'+' | b'-')) && !listed(at)),
        };
        (!goes_on).then_some(at)
    }

    /// Ends a section: its file is known now.
    fn close(&mut self) -> Result<(), PatchParseError> {
        let section = std::mem::take(&mut self.section);
        if section.is_empty() {
            return Ok(());
        }
        let (start, path) = (section.start, section.path());
        let failed = |problem| PatchParseError { line: start + 1, path: path.clone(), problem };
        let named = self.fence.as_ref().and_then(|(_, name)| name.as_deref()).or(self.source.path);
        self.files.push(finish(section, named).map_err(failed)?);
        Ok(())
    }
}

/// A line of dashes: a rule in prose, or the end of a mail's text.
fn is_rule(line: &[u8]) -> bool {
    content(line).trim_ascii_end().iter().all(|&b| b == b'-')
}

/// Whether the first id of `index OLD..NEW` is the empty blob, in SHA-1 or SHA-256.
fn is_empty_blob(ids: &[u8]) -> bool {
    const EMPTY: [&[u8]; 2] = [
        b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];
    let old = &ids[..memchr::memmem::find(ids, b"..").unwrap_or(0)];
    old.len() >= 4 && EMPTY.iter().any(|empty| empty.starts_with(old))
}

/// `-- ` and a version: the end of a mail by `git format-patch`.
fn is_signature(lines: &[&[u8]], at: usize) -> bool {
    lines.get(at + 1).is_some_and(|next| next.first().is_some_and(u8::is_ascii_digit))
}
