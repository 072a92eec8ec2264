//! Every session of the repository, whichever worktree it belongs to.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::current::{BRANCHES, POINTER, REFS, Session};
use super::history::Commit;
use crate::base::Result;
use crate::git::read::ObjectKind;
use crate::git::{InHead, Oid, Repo};

/// A session as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name, without `edt/`.
    pub name: String,
    /// What became of it.
    pub state: State,
    /// Its newest commit; its base if its branch is gone.
    pub tip: Oid,
    /// The commit it began from, or the empty tree.
    pub base: Oid,
    /// How many edits it holds.
    pub edits: u64,
    /// The branch it began on in full, or a commit if HEAD was detached.
    pub origin: Option<String>,
    /// The worktree that works in it; the folder may be absent (locked, on a medium that is not there) until `git worktree prune`.
    pub worktree: Option<PathBuf>,
    /// When its newest commit was made (the committer's time), in seconds since 1970.
    pub time: i64,
    /// What `undo` took back and keeps: the numbers and tips, oldest first.
    pub undone: Vec<(u64, Oid)>,
}

/// What became of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has a branch, with work that has not landed.
    Open,
    /// All of its branch has landed.
    Landed,
    /// `edt abandon` put it aside.
    Abandoned,
    /// Its branch was deleted by someone.
    Deleted,
}

impl State {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Landed => "landed",
            State::Abandoned => "abandoned",
            State::Deleted => "deleted",
        }
    }
}

/// All sessions, in order of their names. The cost follows their number, not that of their edits.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn sessions(repo: &Repo) -> Result<Vec<Listed>> {
    let refs = repo.refs_below(REFS)?;
    let of_base = |(name, _): &(String, Oid)| {
        name.strip_prefix(REFS)?
            .strip_suffix("/base")
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    let names: BTreeSet<String> = refs.iter().filter_map(of_base).collect();
    let worktrees = repo.worktrees(POINTER);
    names
        .into_iter()
        .map(|name| {
            let branch = format!("{BRANCHES}{name}");
            let works = |worktree: &&crate::git::Worktree| {
                worktree.head.as_ref() == Some(&branch)
                    || worktree.pointer.as_ref() == Some(&branch)
            };
            let worktree = worktrees.iter().find(works).map(|worktree| repo.place_of(worktree));
            listed(repo, &refs, name, &branch, worktree)
        })
        .collect()
}

/// The tips that a session keeps at `refs/edt/<name>/<what>/<n>`, with their numbers, oldest first.
///
/// # Errors
/// `IO_ERROR`.
pub fn numbered(repo: &Repo, name: &str, what: &str) -> Result<Vec<(u64, Oid)>> {
    let prefix = format!("{REFS}{name}/{what}/");
    Ok(numbered_of(&repo.refs_below(&prefix)?, &prefix))
}

/// The name of the ref under which the next such tip is kept.
///
/// # Errors
/// `IO_ERROR`.
pub fn next_kept(repo: &Repo, name: &str, what: &str) -> Result<String> {
    let number = numbered(repo, name, what)?.last().map_or(1, |(number, _)| number + 1);
    Ok(format!("{REFS}{name}/{what}/{number}"))
}

fn numbered_of(refs: &[(String, Oid)], prefix: &str) -> Vec<(u64, Oid)> {
    let number =
        |(name, oid): &(String, Oid)| Some((name.strip_prefix(prefix)?.parse().ok()?, *oid));
    let mut all: Vec<(u64, Oid)> = refs.iter().filter_map(number).collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    all
}

fn listed(
    repo: &Repo,
    refs: &[(String, Oid)],
    name: String,
    branch: &str,
    worktree: Option<PathBuf>,
) -> Result<Listed> {
    let own = |what: &str| {
        let full = format!("{REFS}{name}/{what}");
        refs.iter().find(|(name, _)| *name == full).map(|(_, oid)| *oid)
    };
    let base = own("base").unwrap_or_else(|| repo.empty_tree());
    let landed = numbered_of(refs, &format!("{REFS}{name}/landed/")).pop().map(|(_, tip)| tip);
    let (state, tip) = match (repo.ref_value(branch)?, own("abandoned")) {
        (Some(tip), _) if landed == Some(tip) => (State::Landed, tip),
        (Some(tip), Some(aside)) if aside == tip && worktree.is_none() => (State::Abandoned, tip),
        (Some(tip), _) => (State::Open, tip),
        (None, Some(tip)) => (State::Abandoned, tip),
        (None, None) => (State::Deleted, landed.unwrap_or(base)),
    };
    let (mut edits, mut time) = (0, 0);
    if tip != repo.empty_tree() {
        edits = Session { name: name.clone(), tip, base, head: InHead::No }.edits(repo)?;
        time = Commit::read(repo, tip)?.made;
    }
    let undone = numbered_of(refs, &format!("{REFS}{name}/undone/"));
    Ok(Listed {
        state,
        tip,
        base,
        edits,
        origin: origin_of(repo, own("origin"))?,
        worktree,
        time,
        undone,
        name,
    })
}

/// What `refs/edt/<name>/origin` says.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn origin(repo: &Repo, name: &str) -> Result<Option<String>> {
    origin_of(repo, repo.ref_value(&format!("{REFS}{name}/origin"))?)
}

fn origin_of(repo: &Repo, blob: Option<Oid>) -> Result<Option<String>> {
    let Some(blob) = blob else { return Ok(None) };
    let text = repo.object(blob, ObjectKind::Blob)?;
    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
    Ok((!text.is_empty()).then_some(text))
}
