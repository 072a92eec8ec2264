//! A file of a unified diff: its headers as they were read, and what they come to together with its hunks.

use super::name::{self, Named, Prefixes};
use super::{Action, FilePatch, Problem};
use crate::edit::hunk::{FinalNewline, Hunk, Side};

/// What Git's own lines say of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Fate {
    /// It is there before and after, as far as they say.
    #[default]
    Stays,
    Comes,
    Goes,
}

/// What is known of a file before its hunks are read.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) start: usize,
    /// Whether a `diff --git` line began it.
    pub(super) of_git: bool,
    /// The names of `---` and `+++`.
    pub(super) old: Option<Named>,
    pub(super) new: Option<Named>,
    pub(super) git: Option<(Vec<u8>, Vec<u8>)>,
    pub(super) from: Option<Vec<u8>>,
    pub(super) to: Option<Vec<u8>>,
    pub(super) fate: Fate,
    /// Whether its content before is said to be empty.
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

    /// Whether the `---` and `+++` that `lines` begin with may name the files of the `diff --git` line.
    pub(super) fn is_named(&self, lines: &[&[u8]]) -> bool {
        let Some((git_old, git_new)) = &self.git else { return true };
        let named = |mark: &[u8]| {
            lines.iter().take(2).find_map(|line| line.strip_prefix(mark)).map(name::of_header)
        };
        let is = |named: Option<Named>, name: &Vec<u8>| {
            named.and_then(Named::file).is_none_or(|named| named == *name)
        };
        is(named(b"--- "), git_old) && is(named(b"+++ "), git_new)
    }

    /// The names of both sides, without what stands before them.
    pub(super) fn names(&self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let file = |named: &Option<Named>| named.clone().and_then(Named::file);
        let (old, new) = (file(&self.old), file(&self.new));
        let Some((git_old, git_new)) = &self.git else { return name::without_prefix(old, new) };
        let prefixes = Prefixes::of(git_old, git_new);
        let (of_old, of_new) = prefixes.cut(Some(git_old.clone()), Some(git_new.clone()));
        let (old, new) = prefixes.cut(old, new);
        (old.or(of_old), new.or(of_new))
    }

    /// The file it is about, as far as that is known: the new name of several.
    pub(super) fn path(&self) -> Option<Vec<u8>> {
        let (old, new) = self.names();
        new.or(old)
    }
}

/// What a section does, now that all of it has been read.
pub(super) fn finish(section: Section, named: Option<&[u8]>) -> Result<FilePatch, Problem> {
    let names = section.names();
    let Section { start, old, new, from, to, fate, empty, executable, hunks, .. } = section;
    let nothing = |named: &Option<Named>| *named == Some(Named::Nothing);
    let gone = fate == Fate::Goes || (nothing(&new) && !nothing(&old));
    let fresh = fate == Fate::Comes || (nothing(&old) && !nothing(&new));
    let (old, new) = names;
    let source = start + 1;
    let bare = || named.map(<[u8]>::to_vec);
    if fresh {
        let path = new.or_else(bare).ok_or(Problem::NoFile)?;
        let content = hunks
            .iter()
            .map(|hunk| all_of(hunk, Side::New))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
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
        (Some(from), Some(_), Some(old), _) if from != old => return Err(Problem::TwoFiles(old)),
        (Some(_), Some(to), _, Some(new)) if to != new => return Err(Problem::TwoFiles(new)),
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
