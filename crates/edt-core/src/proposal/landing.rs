//! Landing, with what the user approved: protected paths, and overrides that only the user gives.

use super::signature::ApprovalKey;
use super::store::{self, Proposal, ProposalState};
use crate::session::landing::land::{self, Landed, policies};
use crate::session::landing::options::LandOptions;
use crate::session::landing::part::Part;
use crate::session::landing::review::ApprovedCommits;
use crate::session::refs::commit::Commit;
use crate::session::refs::message::values;
use crate::session::worktree::options::Options;
use crate::session::{LockedWorkspace, Session};
use crate::txn::digest;
use edt_git::{ObjectWriter, Oid, Repo};
use edt_guard::policy::Policy;
use edt_types::{Code, Effect, Finding, Refusal, RepoPath, Result};

/// Squashes the session's edits, all or those up to one, into a commit on the target branch, in the worktree where that
/// branch is checked out. If the branch moved, they are merged onto it; if it moves meanwhile, the
/// landing starts again. Unless the user lands, each change of a protected path and each override
/// that only the user may give needs an approved proposal.
///
/// # Errors
/// `NOTHING_TO_LAND`, `MERGE_CONFLICT` (with the conflicts), `LEAVES_OUT`, `LANDS_REMOVED_LINES`, the codes of
/// the guards about the landing as a whole, `APPROVAL_REQUIRED`, `HOOKS_READ_DISK` and
/// `GIT_OPERATION_BLOCKED` (commit hooks), `BAD_REQUEST` (no such branch or edit), `SESSION_BUSY` (the
/// queue), errors of publishing, and as [`ApprovalKey::verifies`]. Nothing is changed on an error,
/// except by the hooks themselves; the session records their changes of tracked files.
pub fn land(
    workspace: &mut LockedWorkspace,
    session: &Session,
    options: &LandOptions,
) -> Result<Landed> {
    let repo = &workspace.repo;
    let part = Part::of(repo, session, options)?;
    if !options.by_user {
        for policy in &policies(workspace, session, options)? {
            let found = unapproved_paths(repo, workspace.options(), policy, &part.session)?;
            Refusal::check(found)?;
        }
    }
    let approved = approved_commits(repo, workspace.options(), &part.session)?;
    land::land(workspace, session, &part, options, &approved)
}

/// The commits of `session` that applied an approved proposal.
fn approved_commits(repo: &Repo, options: &Options, session: &Session) -> Result<ApprovedCommits> {
    let mut all = ApprovedCommits::new();
    let key = ApprovalKey::of(options)?;
    for commit in session.commits(repo) {
        let commit = commit?;
        let before = commit.parent_tree(repo)?;
        if let Some(proposal) = approved(repo, key.as_ref(), before, &commit)? {
            all.insert(commit.oid, proposal.grants);
        }
    }
    Ok(all)
}

/// The refusals of protected paths in `session` whose changes no approved proposal made. It does
/// not matter how a change came into the session: by a program, a checkpoint, or a commit with Git,
/// which any program can make.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`; as [`ApprovalKey::verifies`] if the user signs approvals.
pub fn unapproved_paths(
    repo: &Repo,
    options: &Options,
    policy: &Policy,
    session: &Session,
) -> Result<Vec<Finding>> {
    let session = &session.viewed(repo)?;
    let (base, tip) = (repo.tree_of(session.base)?, repo.tree_of(session.tip)?);
    let differs = repo.tree_diff(base, tip)?.into_iter().map(|differs| differs.path);
    let mut open: Vec<RepoPath> = differs.filter(|path| policy.protects(path)).collect();
    let (key, mut found) = (ApprovalKey::of(options)?, Vec::new());
    for commit in session.commits(repo) {
        if open.is_empty() {
            break;
        }
        let commit = commit?;
        let before = commit.parent_tree(repo)?;
        let is_approved = approved(repo, key.as_ref(), before, &commit)?.is_some();
        for changed in repo.tree_diff(before, commit.tree)? {
            let Some(at) = open.iter().position(|path| *path == changed.path) else { continue };
            // An approved proposal covers only its own change, so earlier changes of the file must
            // be covered, too.
            if !is_approved {
                found.push(approval_required(&open.swap_remove(at), &commit));
            }
        }
    }
    Ok(found)
}

/// The proposal that the commit applied, if the user approved it, the proposal names this commit,
/// and the commit makes exactly the proposed change to the tree `before`. With a key, the approval
/// must be signed, too.
fn approved(
    repo: &Repo,
    key: Option<&ApprovalKey>,
    before: Oid,
    commit: &Commit,
) -> Result<Option<Proposal>> {
    let Some(id) = values(&commit.message, "Edt-Proposal").pop().and_then(|id| id.parse().ok())
    else {
        return Ok(None);
    };
    let proposal = match store::read(repo, id) {
        Ok(proposal) => proposal,
        Err(found) if found.any(|finding| finding.code == Code::ProposalNotFound) => {
            return Ok(None);
        }
        Err(found) => return Err(found),
    };
    let objects = ObjectWriter::new(repo);
    let is_approved = proposal.state == ProposalState::Done(commit.oid.to_string())
        && key.map_or(Ok(true), |key| key.signed(&proposal))?
        && digest::of(&objects, before, commit.tree)? == proposal.digest_of_change(&objects)?;
    Ok(is_approved.then_some(proposal))
}

fn approval_required(path: &RepoPath, commit: &Commit) -> Finding {
    let short = commit.oid.to_hex_with_len(12);
    let then = if commit.is_checkpoint() {
        "its content stays on disk"
    } else {
        "then send the change with `edt propose`"
    };
    Finding::new(
        Code::ApprovalRequired,
        format!(
            "{path} needs user approval, and commit {short} of the session changed it without \
            one."
        ),
        format!(
            "Ask the user to review it (`git show {short}`) and to type `edt land` in \
            their own terminal. Or `edt undo --to {short}~1` takes it and what follows off the \
            branch; {then}."
        ),
    )
    .with_effect(Effect::NothingLanded)
    .at(path)
    .with("commit", commit.oid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::decide::approve;
    use crate::proposal::propose::propose;
    use crate::session::recording::record::checkpoint;
    use crate::tests::{Scratch, path};
    use crate::txn::Request;

    const POLICY: &str = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";

    fn scratch() -> Scratch {
        let files = [("edt.toml", POLICY), ("ci/a.yml", "one\n"), ("b.txt", "b\n")];
        let scratch = Scratch::with(&files);
        scratch.begin("fix");
        scratch
    }

    fn unapproved(scratch: &Scratch) -> Vec<Finding> {
        let policy = Policy::of(None, Some(POLICY)).unwrap();
        let (repo, options) = (scratch.repo(), Options::default());
        unapproved_paths(&repo, &options, &policy, &scratch.session()).unwrap()
    }

    fn apply_approved(scratch: &Scratch, request: &Request) {
        let id = propose(&mut scratch.open(), request).unwrap().proposal.unwrap();
        let proposal = store::read(&scratch.repo(), id).unwrap();
        approve(&mut scratch.open(), &proposal).unwrap();
        crate::proposal::apply(&mut scratch.open(), id, edt_types::DryRun::No).unwrap();
    }

    #[test]
    fn an_approved_change_of_a_protected_path_lands() {
        let scratch = scratch();
        apply_approved(&scratch, &Request::new("ci").edit("ci/a.yml", "one", "two"));
        assert_eq!(unapproved(&scratch), []);
    }

    #[test]
    fn a_checkpoint_of_a_protected_path_does_not_land() {
        let scratch = scratch();
        scratch.write("ci/a.yml", "two\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        let (commit, short) = (scratch.head(), scratch.head().to_hex_with_len(12).to_string());
        let finding = Finding::new(
            Code::ApprovalRequired,
            format!(
                "ci/a.yml needs user approval, and commit {short} of the session changed it \
                 without one."
            ),
            format!(
                "Ask the user to review it (`git show {short}`) and to type `edt land` \
                 in their own terminal. Or `edt undo --to {short}~1` takes \
                 it and what follows off the branch; its content stays on disk."
            ),
        );
        let finding = finding
            .with_effect(Effect::NothingLanded)
            .at(&path("ci/a.yml"))
            .with("commit", commit.to_string());
        assert_eq!(unapproved(&scratch), [finding]);
    }

    #[test]
    fn a_commit_with_git_approves_nothing() {
        let scratch = scratch();
        scratch.user_commit("edt/fix", &[("ci/a.yml", Some("two\n"))], "by hand\n");
        assert_eq!(unapproved(&scratch).len(), 1);
    }

    #[test]
    fn an_approved_change_above_an_unapproved_one_does_not_land() {
        let scratch = scratch();
        scratch.write("ci/a.yml", "one\nmore\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        apply_approved(&scratch, &Request::new("ci").edit("ci/a.yml", "one", "two"));
        assert_eq!(unapproved(&scratch).len(), 1);
    }

    #[test]
    fn a_forged_trailer_is_no_approval() {
        let scratch = scratch();
        let message = "ci\n\nEdt-Session: fix\nEdt-Kind: edit\nEdt-Edit: 1\nEdt-Proposal: 1\n";
        scratch.user_commit("edt/fix", &[("ci/a.yml", Some("two\n"))], message);
        assert_eq!(unapproved(&scratch).len(), 1);
    }

    #[test]
    fn a_change_that_was_reversed_needs_no_approval() {
        let scratch = scratch();
        for text in ["two\n", "one\n"] {
            scratch.write("ci/a.yml", text);
            checkpoint(&mut scratch.open(), None, &[]).unwrap();
        }
        assert_eq!(unapproved(&scratch), []);
    }

    #[test]
    fn an_ordinary_path_needs_no_approval() {
        let scratch = scratch();
        scratch.edit("b", "b.txt", "b", "c");
        assert_eq!(unapproved(&scratch), []);
    }
}
