//! Unified diffs: of Git or bare, in a fence or not, with numbers that are right, wrong or missing.
//!
//! What a header says is believed; what a count says only where it agrees with the lines. A hunk ends where the next header begins, at
//! the end of its fence, or where its counts are used up and no marked line follows.

use std::ops::Range;

use super::body::{self, After};
use super::head::{self, Head};
use super::name::{self, Named};
use super::{Action, Fault, FilePatch, Format, Parsed, Problem, Source, fence};
use crate::edit::hunk::{FinalNewline, Hunk, Side};
use crate::edit::table::content;

/// The format.
pub(super) struct UnifiedDiff;

impl Format for UnifiedDiff {
    fn name(&self) -> &'static str {
        "a unified diff"
    }

    fn begins(&self, lines: &[&[u8]]) -> Option<usize> {
        (0..lines.len()).find(|&at| {
            lines[at].starts_with(b"diff --git ") || head::read(lines[at]).is_some() || is_file_header(lines, at)
        })
    }

    fn read(&self, source: &Source<'_>) -> Result<Parsed, Fault> {
        let mut reader =
            Reader { source, at: 0, section: Section::new(0), fence: None, files: Vec::new(), used: Vec::new() };
        while reader.at < source.lines.len() {
            reader.step()?;
        }
        reader.close()?;
        Ok(Parsed { files: reader.files, used: reader.used })
    }
}

/// `---` and `+++` of a file, or one of them alone above a hunk.
fn is_file_header(lines: &[&[u8]], at: usize) -> bool {
    let next = |n: usize| lines.get(at + n).copied().unwrap_or_default();
    let hunk = |line: &[u8]| head::read(line).is_some();
    (lines[at].starts_with(b"--- ") && (next(1).starts_with(b"+++ ") || hunk(next(1))))
        || (lines[at].starts_with(b"+++ ") && hunk(next(1)))
}

/// What is known of a file before its hunks are read.
#[derive(Debug, Default)]
struct Section {
    start: usize,
    /// The names of `---` and `+++`.
    old: Option<Named>,
    new: Option<Named>,
    git: Option<(Vec<u8>, Vec<u8>)>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    added: bool,
    deleted: bool,
    /// Whether its content before is said to be empty.
    empty: bool,
    executable: Option<bool>,
    hunks: Vec<Hunk>,
}

impl Section {
    fn new(start: usize) -> Section {
        Section { start, ..Section::default() }
    }

    fn is_empty(&self) -> bool {
        self.old.is_none() && self.new.is_none() && self.git.is_none() && self.hunks.is_empty()
    }

    /// The file it is about, as far as that is known: the new name of several.
    fn path(&self) -> Option<Vec<u8>> {
        let file = |named: &Option<Named>| named.clone().and_then(Named::file);
        let (old, new) = name::without_prefix(file(&self.old), file(&self.new));
        let (git_old, git_new) =
            self.git.clone().map_or((None, None), |(old, new)| name::without_prefix(Some(old), Some(new)));
        new.or(old).or(git_new).or(git_old)
    }
}

struct Reader<'s> {
    source: &'s Source<'s>,
    at: usize,
    section: Section,
    /// The line of the fence that is open, and the name above or in it.
    fence: Option<(usize, Option<Vec<u8>>)>,
    files: Vec<FilePatch>,
    used: Vec<Range<usize>>,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<(), Fault> {
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
            self.open(at);
        } else if let Some(rest) = line.strip_prefix(b"diff --git ") {
            self.close()?;
            self.section = Section::new(at);
            self.section.git = name::of_git_line(rest);
            self.mark(at..at + 1);
        } else if line.starts_with(b"@@@ ") || line.starts_with(b"diff --cc ") {
            return Err(self.fault(at, Problem::Unsupported("a combined diff of a merge")));
        } else if let Some(head) = head::read(line) {
            return self.hunk(head);
        } else if is_file_header(lines, at) {
            self.names()?;
            return Ok(());
        } else if self.section.git.is_some() && self.section.hunks.is_empty() {
            self.extended(line)?;
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

    /// A fence belongs to the patch only if a patch is what it holds.
    fn open(&mut self, at: usize) {
        let lines = &self.source.lines;
        let end = fence::end(lines, at).unwrap_or(lines.len());
        let inner = lines.get(at + 1..end).unwrap_or_default();
        if UnifiedDiff.begins(inner).is_none() {
            self.at = end;
            return;
        }
        let info = fence::read(lines[at]).and_then(|fence| fence::name_in(fence.info));
        let above = (0..at).rev().take(2).find(|&above| !lines[above].trim_ascii().is_empty());
        self.fence = Some((at, info.or_else(|| fence::name(lines[above?]))));
        self.mark(at..at + 1);
    }

    fn fault(&self, line: usize, problem: Problem) -> Fault {
        Fault { line: line + 1, path: self.section.path(), problem }
    }

    /// `--- old` and `+++ new`.
    fn names(&mut self) -> Result<(), Fault> {
        if self.section.git.is_none() || self.section.old.is_some() || !self.section.hunks.is_empty() {
            self.close()?;
            self.section = Section::new(self.at);
        }
        let start = self.at;
        if let Some(rest) = self.source.lines[self.at].strip_prefix(b"--- ") {
            self.section.old = Some(name::of_header(rest));
            self.at += 1;
        }
        if let Some(rest) = self.source.lines.get(self.at).and_then(|line| line.strip_prefix(b"+++ ")) {
            self.section.new = Some(name::of_header(rest));
            self.at += 1;
        }
        self.mark(start..self.at);
        let next = self.source.lines.get(self.at).copied().unwrap_or_default();
        if body::is_marked(next) && !is_file_header(&self.source.lines, self.at) {
            return Err(self.fault(self.at, Problem::NoHead));
        }
        Ok(())
    }

    /// Git's lines between `diff --git` and `---`.
    fn extended(&mut self, line: &[u8]) -> Result<(), Fault> {
        let (line, at) = (content(line), self.at);
        let rest = |word: &str| line.strip_prefix(word.as_bytes());
        let known = ["index ", "similarity ", "dissimilarity ", "old mode ", "copy to "];
        let mode = rest("new mode ").or_else(|| rest("new file mode ")).or_else(|| rest("deleted file mode "));
        if let Some(mode) = mode {
            match mode.trim_ascii() {
                b"120000" => return Err(self.fault(at, Problem::Unsupported("a symbolic link"))),
                b"160000" => return Err(self.fault(at, Problem::Unsupported("a submodule"))),
                mode => self.section.executable = Some(mode == b"100755"),
            }
            self.section.added |= rest("new file mode ").is_some();
            self.section.deleted |= rest("deleted file mode ").is_some();
        } else if rest("index e69de29").is_some() {
            self.section.empty = true;
        } else if let Some(name) = rest("rename from ") {
            self.section.from = name::of_header(name).file();
        } else if let Some(name) = rest("rename to ") {
            self.section.to = name::of_header(name).file();
        } else if rest("copy from ").is_some() {
            return Err(self.fault(at, Problem::Unsupported("a copy")));
        } else if rest("GIT binary patch").is_some() || rest("Binary files ").is_some() {
            return Err(self.fault(at, Problem::Unsupported("a binary patch")));
        } else if !known.iter().any(|word| rest(word).is_some()) {
            return Ok(());
        }
        self.mark(at..at + 1);
        Ok(())
    }

    fn hunk(&mut self, head: Head) -> Result<(), Fault> {
        let start = self.at;
        if self.section.is_empty() {
            self.section = Section::new(start);
        }
        let (end, after) = self.extent(start + 1, head.ranges)?;
        let mut hunk = body::read(start, &self.source.lines[start + 1..end], after);
        if hunk.lines.iter().all(|line| line.side == Side::Both) {
            return Err(self.fault(start, Problem::IdleHunk));
        }
        let added = hunk.lines.iter().filter(|line| line.side == Side::New).count();
        hunk.at = match head.ranges {
            // Where there is no old side the number is all there is: it must be well formed.
            Some(((start, 0), (_, count))) => (added == hunk.lines.len() && count == added).then_some(start + 1),
            Some(((start, _), _)) => Some(start).filter(|_| added < hunk.lines.len()),
            None => None,
        };
        hunk.anchors.extend(head.anchor);
        self.section.hunks.push(hunk);
        self.mark(start..end);
        self.at = end;
        Ok(())
    }

    /// Where the lines of a hunk end, and what may follow it.
    fn extent(&self, from: usize, ranges: Option<((usize, usize), (usize, usize))>) -> Result<(usize, After), Fault> {
        let lines = &self.source.lines;
        let counted = ranges.and_then(|((_, old), (_, new))| counted(lines, from, old, new));
        if let Some(end) = counted {
            return Ok((end, After::Blank));
        }
        let end = (from..lines.len()).find(|&at| self.is_boundary(at)).unwrap_or(lines.len());
        // A lone header just above the next hunk could as well be a changed line.
        let last = lines.get(end.saturating_sub(1)).filter(|_| end > from && end < lines.len());
        if last.is_some_and(|last| last.starts_with(b"--- ") || last.starts_with(b"+++ "))
            && head::read(lines[end]).is_some()
        {
            return Err(self.fault(end - 1, Problem::HeaderOrText));
        }
        Ok((end, if self.fence.is_some() { After::Blank } else { After::Prose }))
    }

    fn is_boundary(&self, at: usize) -> bool {
        let lines = &self.source.lines;
        let line = lines[at];
        let closes = self
            .fence
            .as_ref()
            .is_some_and(|(open, _)| fence::read(lines[*open]).is_some_and(|fence| fence.closed_by(line)));
        let header = lines[at].starts_with(b"--- ")
            && lines.get(at + 1).is_some_and(|next| next.starts_with(b"+++ "))
            && lines.get(at + 2).is_none_or(|next| head::read(next).is_some());
        closes
            || header
            || line.starts_with(b"diff --git ")
            || head::read(line).is_some()
            || (line.starts_with(b"-- \n") && is_signature(lines, at))
            || (self.fence.is_none() && fence::read(line).is_some() && !line.starts_with(b" "))
    }

    /// Ends a section: its file is known now.
    fn close(&mut self) -> Result<(), Fault> {
        let section = std::mem::take(&mut self.section);
        if section.is_empty() {
            return Ok(());
        }
        let (start, path) = (section.start, section.path());
        let fault = |problem| Fault { line: start + 1, path: path.clone(), problem };
        let named = self.fence.as_ref().and_then(|(_, name)| name.as_deref()).or(self.source.path);
        self.files.push(finish(section, named).map_err(fault)?);
        Ok(())
    }
}

/// `-- ` and a version: the end of a mail made by `git format-patch`.
fn is_signature(lines: &[&[u8]], at: usize) -> bool {
    lines.get(at + 1).is_some_and(|next| next.first().is_some_and(u8::is_ascii_digit))
}

/// Where the counts of a hunk are used up, if they agree with its lines.
fn counted(lines: &[&[u8]], from: usize, mut old: usize, mut new: usize) -> Option<usize> {
    let mut at = from;
    while old > 0 || new > 0 {
        let line = lines.get(at)?;
        if head::read(line).is_some() || line.starts_with(b"diff --git ") {
            return None;
        }
        match line.first() {
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'\\') if line.starts_with(b"\\ ") => {}
            _ => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
        }
        at += 1;
    }
    at += usize::from(lines.get(at).is_some_and(|line| line.starts_with(b"\\ ")));
    let next = lines.get(at).copied().unwrap_or_default();
    let goes_on = body::is_marked(next)
        && !is_file_header(lines, at.min(lines.len() - 1))
        && !(next.starts_with(b"-- ") && is_signature(lines, at));
    (!goes_on).then_some(at)
}

/// What a section does, now that all of it has been read.
fn finish(section: Section, named: Option<&[u8]>) -> Result<FilePatch, Problem> {
    let Section { start, old, new, git, from, to, added, deleted, empty, executable, hunks } = section;
    let git = git.map(|(old, new)| name::without_prefix(Some(old), Some(new)));
    let (git_old, git_new) = git.unwrap_or_default();
    let nothing = |named: &Option<Named>| *named == Some(Named::Nothing);
    let gone = deleted || (nothing(&new) && !nothing(&old));
    let fresh = added || (nothing(&old) && !nothing(&new));
    let (old, new) = name::without_prefix(old.and_then(Named::file), new.and_then(Named::file));
    let (old, new) = (old.or(git_old), new.or(git_new));
    let source = start + 1;
    let bare = || named.map(<[u8]>::to_vec);
    if fresh {
        let path = new.or_else(bare).ok_or(Problem::NoFile)?;
        let content = hunks.iter().map(|hunk| all_of(hunk, Side::New)).collect::<Result<Vec<_>, _>>()?.concat();
        return Ok(FilePatch {
            path,
            source,
            action: Action::Create { content, executable: executable == Some(true) },
        });
    }
    if gone {
        let path = old.or_else(bare).ok_or(Problem::NoFile)?;
        let old = match hunks.as_slice() {
            [] if empty => Hunk::of(source, Vec::new()),
            [] => return Err(Problem::BlindDeletion),
            [only] => all_of(only, Side::Old).map(|_| only.clone())?,
            _ => return Err(Problem::WrongSide),
        };
        return Ok(FilePatch { path, source, action: Action::Delete { old: Some(old) } });
    }
    let (path, to) = match (from, to, old, new) {
        (Some(from), Some(to), ..) => (from, Some(to)),
        (_, _, Some(old), Some(new)) if old == new || is_backup(&old, &new) => (new, None),
        (_, _, Some(old), Some(new)) if is_backup(&new, &old) => (old, None),
        (_, _, Some(_), Some(new)) => return Err(Problem::TwoFiles(new)),
        (_, _, old, new) => (new.or(old).or_else(bare).ok_or(Problem::NoFile)?, None),
    };
    if hunks.is_empty() && to.is_none() && executable.is_none() {
        return Err(Problem::Empty);
    }
    Ok(FilePatch { path, source, action: Action::Update { hunks, to, executable } })
}

/// Whether one name is the other's copy from before, as `diff -u a.orig a` names it.
fn is_backup(copy: &[u8], of: &[u8]) -> bool {
    let rest = copy.strip_prefix(of);
    rest.is_some_and(|rest| [&b".orig"[..], b".old", b".bak", b"~"].contains(&rest))
}

/// The text of a hunk that has lines of one side only.
fn all_of(hunk: &Hunk, side: Side) -> Result<Vec<u8>, Problem> {
    let lines = &hunk.lines[..hunk.lines.len() - hunk.tail];
    if lines.iter().any(|line| line.side != side) {
        return Err(Problem::WrongSide);
    }
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        out.extend_from_slice(&line.text);
        let open = i + 1 == lines.len() && hunk.newline == FinalNewline::Removed;
        let end: &[u8] = if line.cr { b"\r\n" } else { b"\n" };
        out.extend_from_slice(if open { b"" } else { end });
    }
    Ok(out)
}
