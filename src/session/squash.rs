//! The commits that a landing makes: the squashed ones, which Git's hooks judge and may change, and those of a person, made again on
//! their new parents.

use super::current::Session;
use super::history::Commit;
use super::land::Land;
use super::message::{self, Kind, Trailers};
use super::work::{Piece, Target, Work};
use crate::base::{Code, Finding, Result};
use crate::git::commit_hooks::{self, Proposed};
use crate::git::read::ObjectKind;
use crate::git::{self, Draft, Merged, Oid, Repo};

/// The commits to make on the target.
#[derive(Debug)]
pub struct Squash<'a> {
    /// The repository, seen from the session's worktree.
    pub repo: &'a Repo,
    /// The session.
    pub session: &'a Session,
    /// Where they go.
    pub target: &'a Target,
    /// What they hold.
    pub work: &'a Work,
    /// What was asked for.
    pub how: &'a Land,
}

impl Squash<'_> {
    /// Drafts them, after Git's hooks have judged the squashed ones; oldest first.
    ///
    /// # Errors
    /// `GIT_OPERATION_BLOCKED` if a hook refuses, or its changes do not go together with a later commit; `OBJECT_MISSING`, `IO_ERROR`.
    pub fn make(&self, draft: &mut Draft<'_>) -> Result<Vec<Oid>> {
        let (mut made, mut at): (Vec<Oid>, Option<Oid>) = (Vec::new(), self.target.tip);
        // The last tree as it was planned and as the hooks left it: what they changed goes on into the later ones.
        let mut last: Option<(Oid, Oid)> = None;
        for piece in &self.work.pieces {
            let planned = piece.tree();
            let tree = match last {
                Some((planned_before, became)) => carried(draft, planned_before, became, planned)?,
                None => planned,
            };
            let commit = match piece {
                Piece::Squash { commits, .. } => self.squash(draft, tree, commits, at)?,
                Piece::Kept { commit, others, .. } => {
                    let original = self.repo.object(*commit, ObjectKind::Commit)?;
                    let parents: Vec<Oid> = at.into_iter().chain(others.iter().copied()).collect();
                    let read = Commit::read(self.repo, *commit)?;
                    if read.parent == at && read.tree == tree && read.others == *others {
                        *commit
                    } else {
                        draft.recommit(&original, tree, &parents)?
                    }
                }
            };
            last = Some((planned, draft.tree_of(commit)?));
            made.push(commit);
            at = Some(commit);
        }
        Ok(made)
    }

    fn squash(
        &self,
        draft: &mut Draft<'_>,
        tree: Oid,
        commits: &[Commit],
        parent: Option<Oid>,
    ) -> Result<Oid> {
        let head = match parent {
            Some(parent) if self.target.tip != Some(parent) => parent.to_string(),
            _ => self.target.branch.clone(),
        };
        let allowed = self.allowed(commits);
        let message = self.message(commits, &allowed);
        let moved = (self.repo.tree_of(self.session.tip)?, self.work.tree);
        let proposed = commit_hooks::run(
            self.repo,
            draft,
            Proposed { head, tree, parent, message, allowed },
            moved,
        )?;
        if let Some(signed) = commit_hooks::signed(self.repo, draft, &proposed)? {
            return Ok(signed);
        }
        draft.commit(&git::Commit { tree: proposed.tree, parent, message: &proposed.message })
    }

    /// The message that was asked for: the newest squashed commit bears it.
    fn text_for(&self, commits: &[Commit]) -> Option<&str> {
        let squashed = self.work.pieces.iter().rev().find_map(|piece| match piece {
            Piece::Squash { commits, .. } => Some(commits),
            Piece::Kept { .. } => None,
        });
        let newest = squashed.is_some_and(|last| last.last() == commits.last());
        self.how.message.as_deref().map(str::trim).filter(|text| newest && !text.is_empty())
    }

    /// The overrides that the edits recorded, and those that the landing itself is given.
    fn allowed(&self, commits: &[Commit]) -> Vec<String> {
        let recorded = commits
            .iter()
            .filter_map(|commit| commit.trailers.as_ref())
            .flat_map(|own| own.allowed.clone());
        let mut allowed: Vec<String> = recorded.chain(self.how.allow.iter().cloned()).collect();
        allowed.sort();
        allowed.dedup();
        allowed
    }

    /// What was asked for, else the only edit's subject, else a list of the edits; with trailers.
    fn message(&self, commits: &[Commit], allowed: &[String]) -> String {
        let edits: Vec<&Commit> = commits.iter().filter(|commit| commit.is_edit()).collect();
        let text = match (self.text_for(commits), edits.as_slice()) {
            (Some(text), _) => text.to_owned(),
            (None, [one]) => one.subject().to_owned(),
            (None, many) => {
                let list: Vec<String> =
                    many.iter().map(|edit| format!("* {}", edit.subject())).collect();
                format!(
                    "land edt/{}: {} edits\n\n{}",
                    self.session.name,
                    many.len(),
                    list.join("\n")
                )
            }
        };
        let mut agents: Vec<String> =
            commits.iter().filter_map(|commit| commit.trailers.as_ref()?.agent.clone()).collect();
        agents.sort();
        agents.dedup();
        let folded = self.work.folded.iter().map(|commit| {
            format!("\nIncludes {} ({}, by {})", commit.oid, commit.subject(), commit.author)
        });
        let text = text
            + &folded.fold(String::new(), |all, one| {
                if all.is_empty() { format!("\n{one}") } else { all + &one }
            });
        message::compose(
            &text,
            &Trailers {
                agent: (!agents.is_empty()).then(|| agents.join(", ")),
                allowed: allowed.to_vec(),
                ..Trailers::plain(&self.session.name, Kind::Land, edits.len() as u64)
            },
        )
    }
}

/// What the hooks made of one tree, carried on into the next planned one.
fn carried(draft: &mut Draft<'_>, before: Oid, became: Oid, planned: Oid) -> Result<Oid> {
    match draft.merge(before, became, planned)? {
        Merged::Clean(tree) => Ok(tree),
        Merged::Conflicts(paths) => {
            let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
            let message = format!(
                "What Git's hooks changed in an earlier commit of this landing does not go together with a later one in {}. Nothing was landed.",
                names.join(", ")
            );
            let hint = "Let the hooks' changes into the session first (run the formatter, `edt checkpoint`), then repeat `edt land`.";
            Err(Finding::new(Code::GitOperationBlocked, message, hint).with("paths", names).into())
        }
    }
}
