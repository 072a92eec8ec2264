//! One file of a unified diff: its headers, and the change they describe together with the hunks.

use super::name::{self, HeaderName, Prefixes};
use super::patch::{FileAction, FilePatch};
use super::problem::PatchProblem;
use crate::hunk::{FinalNewline, Hunk, Side};

/// What the extended headers of Git state about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum HeaderChange {
    /// They mention neither a creation nor a deletion.
    #[default]
    Modified,
    Added,
    Deleted,
}

/// What the headers and hunks of one file contain.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) start: usize,
    /// Whether a `diff --git` line began it.
    pub(super) of_git: bool,
    /// The names in `---` and `+++`.
    pub(super) old: Option<HeaderName>,
    pub(super) new: Option<HeaderName>,
    pub(super) git: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) from: Option<Vec<u8>>,
    pub(super) to: Option<Vec<u8>>,
    pub(super) change: HeaderChange,
    /// Whether the headers state that the old content is empty.
    pub(super) empty: bool,
    pub(super) executable: Option<bool>,
    pub(super) hunks: Vec<Hunk>,
}

impl Section {
    pub(super) fn new(start: usize) -> Section {
        Section { start, ..Section::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.of_git && self.old.is_none() && self.new.is_none() && self.hunks.is_empty()
    }

    /// Whether the `---` and `+++` at the beginning of `lines` may name the files of the
    /// `diff --git` line.
    pub(super) fn is_named(&self, lines: &[&[u8]]) -> bool {
        let Some((git_old, git_new)) = &self.git else { return true };
        let named = |mark: &[u8]| {
            lines.iter().take(2).find_map(|line| line.strip_prefix(mark)).map(name::of_header)
        };
        let is = |named: Option<HeaderName>, name: &Vec<u8>| {
            named.and_then(HeaderName::file).is_none_or(|named| named == *name)
        };
        is(named(b"--- "), git_old) && is(named(b"+++ "), git_new)
    }

    /// Both names without their prefixes.
    pub(super) fn names(&self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let file = |named: &Option<HeaderName>| named.clone().and_then(HeaderName::file);
        let (old, new) = (file(&self.old), file(&self.new));
        let Some((git_old, git_new)) = &self.git else { return name::without_prefix(old, new) };
        let prefixes = Prefixes::of(git_old, git_new);
        let (of_old, of_new) = prefixes.cut(Some(git_old.clone()), Some(git_new.clone()));
        let (old, new) = prefixes.cut(old, new);
        (old.or(of_old), new.or(of_new))
    }

    /// The path of the file as far as known: the new name if there are two.
    pub(super) fn path(&self) -> Option<Vec<u8>> {
        let (old, new) = self.names();
        new.or(old)
    }
}

/// The change that a complete section describes. `named` is the path outside the diff.
pub(super) fn finish(section: Section, named: Option<&[u8]>) -> Result<FilePatch, PatchProblem> {
    let names = section.names();
    let Section { start, old, new, from, to, change, empty, executable, hunks, .. } = section;
    let nothing = |named: &Option<HeaderName>| *named == Some(HeaderName::DevNull);
    let deleted = change == HeaderChange::Deleted || (nothing(&new) && !nothing(&old));
    let added = change == HeaderChange::Added || (nothing(&old) && !nothing(&new));
    let (old, new) = names;
    let source = start + 1;
    let bare = || named.map(<[u8]>::to_vec);
    if added {
        let path = new.or_else(bare).ok_or(PatchProblem::MissingPath)?;
        let content = hunks
            .iter()
            .map(|hunk| all_of(hunk, Side::New))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        return Ok(FilePatch {
            path,
            source,
            action: FileAction::Create { content, executable: executable == Some(true) },
        });
    }
    if deleted {
        let path = old.or_else(bare).ok_or(PatchProblem::MissingPath)?;
        let old = match hunks.as_slice() {
            [] if empty => Hunk::of(source, Vec::new()),
            [] => return Err(PatchProblem::DeletionWithoutContent),
            [only] => all_of(only, Side::Old).map(|_| only.clone())?,
            _ => return Err(PatchProblem::WrongSide),
        };
        return Ok(FilePatch { path, source, action: FileAction::Delete { old: Some(old) } });
    }
    let (path, to) = match (from, to, old, new) {
        (Some(from), Some(_), Some(old), _) if from != old => {
            return Err(PatchProblem::TwoFiles(old));
        }
        (Some(_), Some(to), _, Some(new)) if to != new => return Err(PatchProblem::TwoFiles(new)),
        (Some(from), Some(to), ..) => (from, Some(to)),
        (_, _, Some(old), Some(new)) if old == new || is_backup(&old, &new) => (new, None),
        (_, _, Some(old), Some(new)) if is_backup(&new, &old) => (old, None),
        (_, _, Some(_), Some(new)) => return Err(PatchProblem::TwoFiles(new)),
        (_, _, old, new) => (new.or(old).or_else(bare).ok_or(PatchProblem::MissingPath)?, None),
    };
    if hunks.is_empty() && to.is_none() && executable.is_none() {
        return Err(PatchProblem::NoChange);
    }
    Ok(FilePatch { path, source, action: FileAction::Update { hunks, to, executable } })
}

/// Whether `copy` is a backup name of `of`, as in `diff -u a.orig a`.
fn is_backup(copy: &[u8], of: &[u8]) -> bool {
    let rest = copy.strip_prefix(of);
    rest.is_some_and(|rest| [&b".orig"[..], b".old", b".bak", b"~"].contains(&rest))
}

/// The text of a hunk whose lines are all on one side.
fn all_of(hunk: &Hunk, side: Side) -> Result<Vec<u8>, PatchProblem> {
    let lines = &hunk.lines[..hunk.lines.len() - hunk.tail];
    if lines.iter().any(|line| line.side != side) {
        return Err(PatchProblem::WrongSide);
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
