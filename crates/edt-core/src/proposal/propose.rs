//! Submits a change for user approval: `edt propose`, and `edt apply` where policy requires
//! approval.

use super::decisions;
use super::store::{self, NewProposal, Proposal, ProposalState};
use crate::session::recording::held::HeldChanges;
use crate::session::recording::record::CommitInfo;
use crate::session::refs::commit::Commit;
use crate::session::{LockedWorkspace, Session};
use crate::txn::{self, PendingChange, Request, digest};
use edt_git::ObjectWriter;
use edt_types::{Code, DryRun, Finding, Outcome, Result, Status, Warning, WarningCode};

/// Proposes what `request` would change.
///
/// # Errors
/// As [`txn::transact`], except `APPROVAL_REQUIRED`; `BAD_REQUEST` if it changes nothing.
pub fn propose(workspace: &mut LockedWorkspace, request: &Request) -> Result<Outcome> {
    let Some(pending) = txn::prepare_proposal(workspace, request)? else {
        let mut outcome = Outcome::new(Status::Unchanged);
        outcome.recovered.clone_from(&workspace.recovered);
        return Ok(outcome);
    };
    let mut outcome = pending.outcome.clone();
    let (id, next, warnings) = submit(workspace, pending)?;
    outcome.proposal = Some(id);
    outcome.warnings.extend(warnings);
    if next == NextStep::Apply {
        outcome.warnings.push(Warning {
            code: WarningCode::ApprovedAlready,
            path: None,
            message: approved_message(id),
        });
    }
    Ok(outcome)
}

/// Applies `request`, or submits it as a proposal if it needs user approval.
///
/// # Errors
/// As [`txn::transact`]. `APPROVAL_REQUIRED` has the number of the proposal and the commands for the
/// user.
pub fn apply_or_propose(
    workspace: &mut LockedWorkspace,
    request: &Request,
    dry_run: DryRun,
) -> Result<Outcome> {
    let answer = txn::transact(workspace, request, dry_run);
    match answer {
        Err(found)
            if dry_run == DryRun::No
                && !found.any(|finding| finding.code != Code::ApprovalRequired) =>
        {
            let Some(pending) = txn::prepare_proposal(workspace, request)? else {
                return Err(found);
            };
            let (id, next, _) = submit(workspace, pending)?;
            let remedy = match next {
                NextStep::Apply => approved_message(id),
                NextStep::Approval => approval_remedy(id, &apply_instruction(id)),
            };
            Err(found.map(|finding| {
                let remedy = remedy.clone();
                Finding { remedy, override_remedy: None, ..finding }.with("proposal", id)
            }))
        }
        answer => answer,
    }
}

/// Proposes what a program changed and only the user may approve: `held` was taken out, for the
/// findings `needs`. `info` is what the program's commit says. `None` if nothing can be proposed.
///
/// # Errors
/// `OBJECT_MISSING`, errors of publishing. The ref of `held` keeps the changes.
pub fn propose_held(
    workspace: &mut LockedWorkspace,
    (session, held): (&Session, &HeldChanges),
    info: &CommitInfo,
    needs: &[Finding],
) -> Result<Option<HeldProposal>> {
    let repo = &workspace.repo;
    let commit = Commit::read(repo, held.commit)?;
    let Some(parent) = commit.parent else { return Ok(None) };
    let objects = ObjectWriter::new(repo);
    let before = objects.tree_of(parent)?;
    let paths: Vec<String> =
        repo.tree_diff(before, commit.tree)?.iter().map(|one| one.path.text()).collect();
    let is_in_commit =
        |finding: &&Finding| finding.path.as_ref().is_some_and(|path| paths.contains(path));
    let pending = PendingChange {
        digest: digest::of(&objects, before, commit.tree)?,
        paths: paths.clone(),
        session: session.clone(),
        parent,
        tree: commit.tree,
        objects: Vec::new(),
        text: info.message.clone(),
        agent: info.agent.clone(),
        allowed: Vec::new(),
        needs: needs.iter().filter(is_in_commit).cloned().collect(),
        outcome: Outcome::new(Status::Proposed),
    };
    if pending.paths.is_empty() || pending.grants().is_empty() {
        return Ok(None);
    }
    let (id, next, warnings) = submit(workspace, pending)?;
    let remedy = match next {
        NextStep::Apply => approved_message(id),
        NextStep::Approval => approval_remedy(id, &apply_instruction(id)),
    };
    Ok(Some(HeldProposal { id, remedy, warnings }))
}

/// The proposal of what a program changed.
#[derive(Debug)]
pub struct HeldProposal {
    /// Its number.
    pub id: u64,
    /// What the agent and the user do next.
    pub remedy: String,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// What a proposal needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextStep {
    Approval,
    Apply,
}

/// The instructions for the agent and the user. `then` is the agent's call after the approval.
#[must_use]
pub fn approval_remedy(id: u64, then: &str) -> String {
    format!(
        "It waits as proposal p{id}. Ask the user to type `edt approve p{id}` in their own terminal \
         (`edt show p{id}` shows the proposal). Continue with other work, and {then} when an edt \
         answer reports the approval."
    )
}

pub(super) fn apply_instruction(id: u64) -> String {
    format!("apply it with `edt apply --proposal p{id}`")
}

fn approved_message(id: u64) -> String {
    format!("Proposal p{id} was approved: `edt apply --proposal p{id}` applies it.")
}

/// Creates the proposal unless the same one exists already. Closes the open ones that it replaces.
fn submit(
    workspace: &mut LockedWorkspace,
    pending: PendingChange,
) -> Result<(u64, NextStep, Vec<Warning>)> {
    let live = store::all(&workspace.repo)?
        .into_iter()
        .filter(|proposal| proposal.state.is_live() && proposal.command.is_none());
    let mine: Vec<Proposal> =
        live.filter(|proposal| proposal.session() == pending.session.name).collect();
    let same = |proposal: &&Proposal| {
        proposal.digest == pending.digest
            && proposal.commit.tree == pending.tree
            && proposal.grants == pending.grants()
    };
    if let Some(same) = mine.iter().find(same) {
        if same.state != ProposalState::Open {
            return Ok((same.id, NextStep::Apply, Vec::new()));
        }
        decisions::watch(workspace, same.id);
        return Ok((same.id, NextStep::Approval, Vec::new()));
    }
    let grants = pending.grants();
    let new = NewProposal {
        session: &pending.session.name,
        parent: Some(pending.parent),
        tree: pending.tree,
        objects: pending.objects,
        text: &pending.text,
        digest: &pending.digest,
        agent: pending.agent,
        allowed: pending.allowed,
        grants: &grants,
        command: None,
    };
    let (id, mut warnings) = store::create(workspace, new)?;
    decisions::watch(workspace, id);
    for old in mine.iter().filter(|old| old.state == ProposalState::Open) {
        let replaced = paths_of(workspace, old)
            .map(|paths| paths.iter().all(|path| pending.paths.contains(path)));
        let closed = match replaced {
            Ok(false) => continue,
            Ok(true) => {
                store::record_decision(workspace, old, ("superseded", &id.to_string()), None)
            }
            Err(found) => Err(found),
        };
        // The new proposal exists, whether or not the old one can be closed.
        let message = match closed {
            Ok(more) => {
                warnings.extend(more);
                format!("Proposal p{} was closed: this one changes all of its paths.", old.id)
            }
            Err(found) => format!(
                "Proposal p{} was not closed, although this one may replace it: {found}.",
                old.id
            ),
        };
        warnings.push(Warning { code: WarningCode::Superseded, path: None, message });
    }
    Ok((id, NextStep::Approval, warnings))
}

fn paths_of(workspace: &LockedWorkspace, proposal: &Proposal) -> Result<Vec<String>> {
    let repo = &workspace.repo;
    let parent = proposal.commit.parent_tree(repo)?;
    let differs = repo.tree_diff(parent, proposal.commit.tree)?;
    Ok(differs.iter().map(|differs| differs.path.text()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::decide::approve;
    use crate::tests::{Scratch, refusal};

    const POLICY: &str = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";

    fn scratch() -> Scratch {
        Scratch::with(&[("edt.toml", POLICY), ("ci/a.yml", "one\n"), ("b.txt", "b\n")])
    }

    fn edit_a() -> Request {
        Request::new("ci").edit("ci/a.yml", "one", "two")
    }

    fn proposed(scratch: &Scratch, request: &Request) -> Outcome {
        propose(&mut scratch.open(), request).unwrap()
    }

    fn state(scratch: &Scratch, id: u64) -> ProposalState {
        store::read(&scratch.repo(), id).unwrap().state
    }

    #[test]
    fn a_proposal_changes_no_file_and_no_branch() {
        let scratch = scratch();
        let outcome = proposed(&scratch, &Request::new("x").edit("b.txt", "b", "c"));
        assert_eq!((outcome.status, outcome.proposal), (Status::Proposed, Some(1)));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
        assert_eq!(scratch.head_target(), "refs/heads/main");
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        assert_eq!(scratch.committed(proposal.commit.oid, "b.txt").as_deref(), Some("c\n"));
        assert_eq!(proposal.commit.parent, Some(scratch.head()));
    }

    #[test]
    fn a_request_that_changes_nothing_is_not_proposed() {
        let scratch = scratch();
        let outcome = proposed(&scratch, &Request::new("x").overwrite("b.txt", "b\n"));
        assert_eq!((outcome.status, outcome.proposal), (Status::Unchanged, None));
    }

    #[test]
    fn a_protected_path_becomes_a_proposal() {
        let scratch = scratch();
        let answer = apply_or_propose(&mut scratch.open(), &edit_a(), DryRun::No);
        let finding = refusal(answer);
        assert_eq!(
            (finding.code, &finding.evidence["proposal"]),
            (Code::ApprovalRequired, &1.into())
        );
        assert_eq!(finding.remedy, approval_remedy(1, &apply_instruction(1)));
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        let grant = edt_guard::guard::Grant {
            word: "protected_path".into(),
            path: Some("ci/a.yml".into()),
        };
        assert_eq!(proposal.grants, [grant]);
    }

    #[test]
    fn a_dry_run_proposes_nothing() {
        let scratch = scratch();
        let answer = apply_or_propose(&mut scratch.open(), &edit_a(), DryRun::Yes);
        assert_eq!(refusal(answer).evidence.get("proposal"), None);
        assert!(store::all(&scratch.repo()).unwrap().is_empty());
    }

    #[test]
    fn a_request_with_another_fault_proposes_nothing() {
        let scratch = scratch();
        let request = edit_a().edit("b.txt", "lost", "x");
        apply_or_propose(&mut scratch.open(), &request, DryRun::No).unwrap_err();
        assert!(store::all(&scratch.repo()).unwrap().is_empty());
    }

    #[test]
    fn the_same_change_is_proposed_once() {
        let scratch = scratch();
        assert_eq!(proposed(&scratch, &edit_a()).proposal, Some(1));
        assert_eq!(proposed(&scratch, &edit_a()).proposal, Some(1));
        assert_eq!(store::all(&scratch.repo()).unwrap().len(), 1);
    }

    #[test]
    fn a_change_that_was_approved_says_how_to_apply_it() {
        let scratch = scratch();
        proposed(&scratch, &edit_a());
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        approve(&mut scratch.open(), &proposal).unwrap();
        let warning = Warning {
            code: WarningCode::ApprovedAlready,
            path: None,
            message: "Proposal p1 was approved: `edt apply --proposal p1` applies it.".into(),
        };
        assert_eq!(proposed(&scratch, &edit_a()).warnings, [warning]);
    }

    #[test]
    fn a_newer_proposal_for_the_same_paths_closes_the_old_one() {
        let scratch = scratch();
        proposed(&scratch, &edit_a());
        let outcome = proposed(&scratch, &Request::new("ci").edit("ci/a.yml", "one", "three"));
        assert_eq!(state(&scratch, 1), ProposalState::Superseded("2".into()));
        let warning = Warning {
            code: WarningCode::Superseded,
            path: None,
            message: "Proposal p1 was closed: this one changes all of its paths.".into(),
        };
        assert_eq!(outcome.warnings, [warning]);
    }

    #[test]
    fn a_newer_proposal_for_fewer_paths_leaves_the_old_one_open() {
        let scratch = scratch();
        proposed(&scratch, &edit_a().edit("b.txt", "b", "c"));
        proposed(&scratch, &edit_a());
        assert_eq!(state(&scratch, 1), ProposalState::Open);
    }

    #[test]
    fn an_approved_proposal_is_not_superseded() {
        let scratch = scratch();
        proposed(&scratch, &edit_a());
        let proposal = store::read(&scratch.repo(), 1).unwrap();
        approve(&mut scratch.open(), &proposal).unwrap();
        proposed(&scratch, &Request::new("ci").edit("ci/a.yml", "one", "three"));
        assert_eq!(state(&scratch, 1).name(), "approved");
    }

    #[test]
    fn a_proposal_records_unrecorded_changes_of_its_files_below_it() {
        let scratch = scratch();
        scratch.write("b.txt", "b by hand\n");
        proposed(&scratch, &Request::new("x").edit("b.txt", "b by", "c by"));
        let parent = store::read(&scratch.repo(), 1).unwrap().commit.parent.unwrap();
        assert_eq!(scratch.committed(parent, "b.txt").as_deref(), Some("b by hand\n"));
    }

    #[test]
    fn a_branch_without_a_commit_has_no_proposals() {
        let scratch = Scratch::unborn();
        let answer = propose(&mut scratch.open(), &Request::new("x").create("a.txt", "a\n"));
        let finding = Finding::new(
            Code::NoSession,
            "The branch has no commit, so that a proposal has no parent.",
            "`edt begin` makes the first commit; then send the proposal again.",
        );
        assert_eq!(refusal(answer), finding.nothing_changed());
    }
}
