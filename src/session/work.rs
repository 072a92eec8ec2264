//! What a session's work comes to on a branch that may have moved: the tree, and the commits it is made of.
//!
//! edt's own commits are squashed. A commit that a person made on the shadow branch stays a commit of its own, between the squashed
//! ones; where the history does not allow that, it is folded in and named.

use super::current::Session;
use super::history::Commit;
use super::list::numbered;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::{Draft, Merged, Oid, Repo};

/// Where the work is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The branch's full name.
    pub branch: String,
    /// Its commit; `None` if it is unborn.
    pub tip: Option<Oid>,
}

impl Target {
    /// The name people use.
    #[must_use]
    pub fn short(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }

    /// Its tree.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree(&self, repo: &Repo) -> Result<Oid> {
        self.tip.map_or_else(|| Ok(repo.empty_tree()), |tip| repo.tree_of(tip))
    }
}

/// The work on its target.
#[derive(Debug)]
pub struct Work {
    /// The tree that the target will have.
    pub tree: Oid,
    /// What leads there, oldest first; at least one.
    pub pieces: Vec<Piece>,
    /// The session's commits since it last landed, oldest first.
    pub commits: Vec<Commit>,
    /// A person's commits that could not stay commits of their own.
    pub folded: Vec<Commit>,
}

/// One commit to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Some commits of edt's, as one.
    Squash {
        /// The tree with them.
        tree: Oid,
        /// Which, oldest first.
        commits: Vec<Commit>,
    },
    /// A commit of a person's, as it is but for its place.
    Kept {
        /// The commit.
        commit: Oid,
        /// Its tree on the target.
        tree: Oid,
        /// Its further parents.
        others: Vec<Oid>,
    },
}

impl Piece {
    /// Its tree, before a hook changed it.
    #[must_use]
    pub fn tree(&self) -> Oid {
        match self {
            Piece::Squash { tree, .. } | Piece::Kept { tree, .. } => *tree,
        }
    }
}

impl Work {
    /// Merges the work of `session` onto `target`.
    ///
    /// # Errors
    /// `MERGE_CONFLICT` naming every path; `NOTHING_TO_LAND`; `OBJECT_MISSING`.
    pub fn of(
        repo: &Repo,
        draft: &mut Draft<'_>,
        session: &Session,
        target: &Target,
    ) -> Result<Work> {
        let ancestor = ancestor(repo, session, target)?;
        let commits = since(repo, session, ancestor, target)?;
        let (ours, theirs) = (target.tree(repo)?, repo.tree_of(session.tip)?);
        let tree = match draft.merge(repo.tree_of(ancestor)?, ours, theirs)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts(paths) => return Err(conflict(session, target, &paths).into()),
        };
        if tree == ours {
            return Err(nothing(session, target).into());
        }
        let persons = commits.iter().any(|commit| commit.trailers.is_none());
        let kept =
            if persons { replayed(repo, draft, &commits, ancestor, target, tree)? } else { None };
        if let Some(pieces) = kept {
            return Ok(Work { tree, pieces, commits, folded: Vec::new() });
        }
        let (folded, own) = commits.iter().cloned().partition(|commit| commit.trailers.is_none());
        Ok(Work { tree, pieces: vec![Piece::Squash { tree, commits: own }], commits, folded })
    }
}

/// The commit from which both sides come: the newest of what they share, the session's base, and what landed before.
fn ancestor(repo: &Repo, session: &Session, target: &Target) -> Result<Oid> {
    let shared = match target.tip {
        Some(tip) => repo.merge_base(session.tip, tip)?,
        None => None,
    };
    let landed = landed(repo, session, target)?;
    let base = Some(session.base).filter(|base| *base != repo.empty_tree());
    let mut newest = shared;
    for one in [base, landed].into_iter().flatten() {
        if newest != Some(one)
            && repo.is_ancestor(one, session.tip)?
            && newest.map_or(Ok(true), |newest| repo.is_ancestor(newest, one))?
        {
            newest = Some(one);
        }
    }
    Ok(newest.unwrap_or_else(|| repo.empty_tree()))
}

/// The session's tip when it last landed on the target, as far as the target still has that landing.
fn landed(repo: &Repo, session: &Session, target: &Target) -> Result<Option<Oid>> {
    let Some(there) = target.tip else { return Ok(None) };
    let landings = numbered(repo, &session.name, "landing")?;
    for (number, tip) in numbered(repo, &session.name, "landed")?.into_iter().rev() {
        let landing = landings.iter().find(|(of, _)| *of == number).map(|(_, commit)| *commit);
        if landing.map_or(Ok(false), |landing| repo.is_ancestor(landing, there))? {
            return Ok(Some(tip));
        }
    }
    Ok(None)
}

/// The session's commits along first parents, oldest first, that are neither on the target nor landed before.
fn since(repo: &Repo, session: &Session, ancestor: Oid, target: &Target) -> Result<Vec<Commit>> {
    let known: Vec<Oid> = [Some(ancestor), Some(session.base), target.tip]
        .into_iter()
        .flatten()
        .filter(|oid| *oid != repo.empty_tree())
        .collect();
    let new = repo.commits_without(session.tip, &known)?;
    let amended = repo.amended(&session.branch());
    let (mut commits, mut next) = (Vec::new(), Some(session.tip));
    while let Some(oid) = next.filter(|oid| new.contains(oid)) {
        let mut commit = Commit::read(repo, oid)?;
        // It still bears edt's trailers, but someone else's hand is in it.
        if amended.contains(&oid) {
            commit.trailers = None;
        }
        next = commit.parent;
        commits.push(commit);
    }
    commits.reverse();
    Ok(commits)
}

/// The commits one by one on the target; `None` if that does not lead to `wanted`.
fn replayed(
    repo: &Repo,
    draft: &mut Draft<'_>,
    commits: &[Commit],
    ancestor: Oid,
    target: &Target,
    wanted: Oid,
) -> Result<Option<Vec<Piece>>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut before = match commits.first().and_then(|commit| commit.parent) {
        Some(parent) => repo.tree_of(parent)?,
        None => repo.tree_of(ancestor)?,
    };
    let mut at = target.tree(repo)?;
    for commit in commits {
        let Merged::Clean(tree) = draft.merge(before, at, commit.tree)? else { return Ok(None) };
        let says_only = commit.trailers.is_none() && commit.tree == before;
        before = commit.tree;
        let others =
            if commit.trailers.is_none() { others(repo, commit, target)? } else { Vec::new() };
        // What the target has already is not made again; a person's empty commit is there for its message.
        if tree == at && others.is_empty() && !says_only {
            continue;
        }
        at = tree;
        match (commit.trailers.is_some(), pieces.last_mut()) {
            (true, Some(Piece::Squash { tree: last, commits })) => {
                *last = tree;
                commits.push(commit.clone());
            }
            (true, _) => pieces.push(Piece::Squash { tree, commits: vec![commit.clone()] }),
            (false, _) => pieces.push(Piece::Kept { commit: commit.oid, tree, others }),
        }
    }
    Ok((at == wanted && !pieces.is_empty()).then_some(pieces))
}

/// The further parents of a merge that the target does not have yet.
fn others(repo: &Repo, commit: &Commit, target: &Target) -> Result<Vec<Oid>> {
    let mut others = Vec::new();
    for parent in &commit.others {
        if target.tip.map_or(Ok(true), |tip| repo.is_ancestor(*parent, tip).map(|there| !there))? {
            others.push(*parent);
        }
    }
    Ok(others)
}

fn conflict(session: &Session, target: &Target, paths: &[RepoPath]) -> Finding {
    let (name, into) = (&session.name, target.short());
    let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
    let finding = Finding::new(
        Code::MergeConflict,
        format!(
            "{into} moved, and edt/{name} does not go together with it in {}. Nothing was changed.",
            names.join(", ")
        ),
        format!(
            "Bring them together on the session's branch (`git switch edt/{name}`, `git merge {into}`, settle the conflicts, commit), then repeat `edt land`."
        ),
    );
    let finding = finding.with("paths", names).with("into", into);
    match paths.first() {
        Some(first) => finding.at(first),
        None => finding,
    }
}

fn nothing(session: &Session, target: &Target) -> Finding {
    Finding::new(
        Code::NothingToLand,
        format!(
            "edt/{} brings nothing that {} does not have. Nothing was changed.",
            session.name,
            target.short()
        ),
        format!(
            "`edt diff` shows the session's changes. To leave the session, `git switch {}` or `edt abandon`.",
            target.short()
        ),
    )
}
