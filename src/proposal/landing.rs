//! The last look before a landing: paths that need a person land only as a person left them, or approved them.

use super::store::{self, State};
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::{Oid, Repo};
use crate::policy::Policy;
use crate::session::Session;
use crate::session::history::Commit;
use crate::session::message::values;

/// What a commit counts for that edt did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// A person's word: Git's hooks judged it when it was made.
    Person,
    /// Nothing: a program may have made it.
    Nobody,
}

/// The refusals of paths that `session` would land as neither a person's own commit nor an approved proposal left them. However such a
/// change came into the session (a program, a checkpoint of what stood there), here it waits.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn uncovered(
    repo: &Repo,
    policy: &Policy,
    session: &Session,
    plain: Plain,
) -> Result<Vec<Finding>> {
    let (base, tip) = (repo.tree_of(session.base)?, repo.tree_of(session.tip)?);
    let differs = repo.tree_diff(base, tip)?.into_iter().map(|differs| differs.path);
    let mut open: Vec<RepoPath> = differs.filter(|path| policy.protects(path)).collect();
    let mut found = Vec::new();
    for commit in session.commits(repo) {
        if open.is_empty() {
            break;
        }
        let commit = commit?;
        let before =
            commit.parent.map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
        let is_persons = commit.trailers.is_none() && plain == Plain::Person;
        let is_approved = is_approved(repo, &commit)?;
        for changed in repo.tree_diff(before, commit.tree)? {
            let Some(at) = open.iter().position(|path| *path == changed.path) else { continue };
            // A person's own commit is their word on all of the file. An approval is for what it changed: what stood there before it
            // must have come by a person, too.
            if is_persons {
                open.swap_remove(at);
            } else if !is_approved {
                found.push(waits(&open.swap_remove(at), commit.oid));
            }
        }
    }
    Ok(found)
}

/// Whether it carried out a proposal, as that itself says.
fn is_approved(repo: &Repo, commit: &Commit) -> Result<bool> {
    let Some(id) = values(&commit.message, "Edt-Proposal").pop().and_then(|id| id.parse().ok())
    else {
        return Ok(false);
    };
    match store::read(repo, id) {
        Ok(proposal) => Ok(proposal.state == State::Done(commit.oid.to_string())),
        Err(found) if found.any(|finding| finding.code == Code::ProposalNotFound) => Ok(false),
        Err(found) => Err(found),
    }
}

fn waits(path: &RepoPath, commit: Oid) -> Finding {
    let short = commit.to_hex_with_len(12);
    Finding::new(
        Code::ApprovalRequired,
        format!("{path} needs a person, and {short} of the session changed it without one. Nothing was landed."),
        format!("A person may look at it (`git show {short}`) and type `edt land` in a terminal of theirs; or take it back with `edt undo`, or propose it with `edt propose`."),
    )
    .at(path)
    .with("commit", commit.to_string())
}
