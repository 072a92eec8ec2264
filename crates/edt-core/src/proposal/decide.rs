//! Decisions on a proposal: the user approves or rejects it, its author withdraws it.

use super::apply::closed_finding;
use super::signature::ApprovalKey;
use super::store::{self, Proposal, ProposalState};
use crate::session::LockedWorkspace;
use edt_git::{ObjectWriter, Repo};
use edt_types::{Code, Finding, Result, Warning};

/// Approves `proposal` as it was read and shown. If the user's `edt.toml` names a key, `ssh-keygen`
/// signs the approval, without the workspace's lock.
///
/// # Errors
/// `PROPOSAL_REJECTED` if it was withdrawn, superseded or applied; `BAD_REQUEST` if its digest is
/// not that of its change; `SESSION_MOVED` if it was decided on since it was read; errors of
/// publishing; as [`ApprovalKey::sign`].
pub fn approve(workspace: &mut LockedWorkspace, proposal: &Proposal) -> Result<Vec<Warning>> {
    let key = ApprovalKey::of(workspace.options())?;
    let counts = match (&proposal.state, &key) {
        (ProposalState::Open | ProposalState::Rejected(_), _) => false,
        (ProposalState::Approved(_), Some(key)) => key.signed(proposal)?,
        (ProposalState::Approved(_), None) => true,
        (closed, _) => return Err(closed_finding(proposal, closed).into()),
    };
    if counts {
        return Ok(Vec::new());
    }
    if proposal.command.is_none()
        && proposal.digest_of_change(&ObjectWriter::new(&workspace.repo))? != proposal.digest
    {
        return Err(another_digest(proposal).into());
    }
    let sign = |key: &ApprovalKey| {
        let sign = |_: &Repo| proposal.with_signed_parts(proposal.ref_tip, |of| key.sign(&of));
        workspace.unlocked(sign)
    };
    let signature = key.as_ref().map(sign).transpose()?;
    let by = workspace.repo.identity()?;
    store::record_approval(workspace, proposal, &by, signature.as_deref())
}

/// Rejects `proposal`.
///
/// # Errors
/// As [`approve`]; `BAD_REQUEST` without a reason, because the agent sees nothing else.
pub fn reject(
    workspace: &mut LockedWorkspace,
    proposal: &Proposal,
    why: &str,
) -> Result<Vec<Warning>> {
    check_reason(why)?;
    match &proposal.state {
        ProposalState::Open | ProposalState::Approved(_) | ProposalState::Rejected(_) => {
            store::record_decision(workspace, proposal, ("rejected", ""), Some(why))
        }
        ProposalState::Withdrawn(_) | ProposalState::Superseded(_) | ProposalState::Done(_) => {
            Err(closed_finding(proposal, &proposal.state).into())
        }
    }
}

/// Withdraws an open proposal for its author. The agent gets no warning about it.
///
/// # Errors
/// As [`reject`]; `APPROVAL_REQUIRED` if the user approved it: only the user may revoke an
/// approval.
pub fn withdraw(
    workspace: &mut LockedWorkspace,
    proposal: &Proposal,
    why: &str,
) -> Result<Vec<Warning>> {
    check_reason(why)?;
    match &proposal.state {
        ProposalState::Open => {
            store::record_decision(workspace, proposal, ("withdrawn", ""), Some(why))
        }
        ProposalState::Approved(by) => Err(already_approved(proposal, by).into()),
        closed => Err(closed_finding(proposal, closed).into()),
    }
}

fn another_digest(proposal: &Proposal) -> Finding {
    let id = proposal.id;
    Finding::new(
        Code::BadRequest,
        format!("The digest of proposal p{id} is not that of its change. edt did not make it."),
        format!(
            "Type `edt reject p{id} -m WHY`. If the change is needed, have it proposed with `edt \
             propose`."
        ),
    )
    .nothing_changed()
    .with("proposal", id)
}

fn check_reason(why: &str) -> Result<()> {
    if !why.trim().is_empty() {
        return Ok(());
    }
    let message = "A rejection needs a reason, because the agent reads nothing else.";
    Err(Finding::new(Code::BadRequest, message, "Give it with -m 'what to do instead'.")
        .nothing_changed()
        .into())
}

fn already_approved(proposal: &Proposal, by: &str) -> Finding {
    let id = proposal.id;
    Finding::new(
        Code::ApprovalRequired,
        format!("Proposal p{id} was approved by {by}; only the user can revoke the approval."),
        format!(
            "Leave it open, or ask the user to type `edt reject p{id} -m WHY` in their own \
            terminal."
        ),
    )
    .nothing_changed()
    .with("proposal", id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::propose::propose;
    use crate::tests::{Scratch, refusal};
    use crate::txn::Request;

    fn proposed() -> (Scratch, u64) {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let request = Request::new("change it").edit("a.txt", "one", "two");
        let id = propose(&mut scratch.open(), &request).unwrap().proposal.unwrap();
        (scratch, id)
    }

    fn read(scratch: &Scratch, id: u64) -> Proposal {
        store::read(&scratch.repo(), id).unwrap()
    }

    fn decide(
        scratch: &Scratch,
        how: impl FnOnce(&mut LockedWorkspace, &Proposal) -> Result<Vec<Warning>>,
    ) -> Result<Vec<Warning>> {
        let proposal = read(scratch, 1);
        how(&mut scratch.open(), &proposal)
    }

    #[test]
    fn the_user_who_approves_is_recorded() {
        let (scratch, id) = proposed();
        decide(&scratch, approve).unwrap();
        let by = scratch.repo().identity().unwrap();
        assert_eq!(read(&scratch, id).state, ProposalState::Approved(by));
    }

    #[test]
    fn a_second_approval_changes_nothing() {
        let (scratch, id) = proposed();
        decide(&scratch, approve).unwrap();
        let tip = read(&scratch, id).ref_tip;
        decide(&scratch, approve).unwrap();
        assert_eq!(read(&scratch, id).ref_tip, tip);
    }

    #[test]
    fn a_rejected_proposal_may_be_approved_later() {
        let (scratch, id) = proposed();
        decide(&scratch, |workspace, one| reject(workspace, one, "no")).unwrap();
        decide(&scratch, approve).unwrap();
        assert_eq!(read(&scratch, id).state.name(), "approved");
    }

    #[test]
    fn an_approval_may_be_revoked() {
        let (scratch, id) = proposed();
        decide(&scratch, approve).unwrap();
        decide(&scratch, |workspace, one| reject(workspace, one, "no")).unwrap();
        assert_eq!(read(&scratch, id).state, ProposalState::Rejected("no".into()));
    }

    #[test]
    fn a_rejection_needs_a_reason() {
        let (scratch, _) = proposed();
        let finding = Finding::new(
            Code::BadRequest,
            "A rejection needs a reason, because the agent reads nothing else.",
            "Give it with -m 'what to do instead'.",
        );
        let answer = decide(&scratch, |workspace, one| reject(workspace, one, " \n"));
        assert_eq!(refusal(answer), finding.nothing_changed());
    }

    #[test]
    fn a_withdrawn_proposal_cannot_be_approved() {
        let (scratch, _) = proposed();
        decide(&scratch, |workspace, one| withdraw(workspace, one, "mistake")).unwrap();
        let finding = Finding::new(
            Code::ProposalRejected,
            "Proposal p1 (change it) was withdrawn, not by the user, with these words: \"mistake\".",
            "Send it again with `edt propose` if it is still needed.",
        );
        let finding =
            finding.nothing_changed().with("state", "withdrawn").with("detail", "mistake");
        assert_eq!(refusal(decide(&scratch, approve)), finding);
    }

    #[test]
    fn an_approved_proposal_cannot_be_withdrawn() {
        let (scratch, _) = proposed();
        decide(&scratch, approve).unwrap();
        let by = scratch.repo().identity().unwrap();
        let finding = Finding::new(
            Code::ApprovalRequired,
            format!("Proposal p1 was approved by {by}; only the user can revoke the approval."),
            "Leave it open, or ask the user to type `edt reject p1 -m WHY` in their own terminal.",
        );
        let answer = decide(&scratch, |workspace, one| withdraw(workspace, one, "mistake"));
        assert_eq!(refusal(answer), finding.nothing_changed().with("proposal", 1));
    }

    #[test]
    fn a_rejected_proposal_cannot_be_withdrawn() {
        let (scratch, _) = proposed();
        decide(&scratch, |workspace, one| reject(workspace, one, "no")).unwrap();
        let answer = decide(&scratch, |workspace, one| withdraw(workspace, one, "mistake"));
        assert_eq!(refusal(answer).summary, "The user rejected proposal p1 (change it): no");
    }

    #[test]
    fn an_applied_proposal_cannot_be_rejected() {
        let (scratch, id) = proposed();
        decide(&scratch, approve).unwrap();
        let commit =
            crate::proposal::apply(&mut scratch.open(), id, edt_types::DryRun::No).unwrap().commit;
        let answer = decide(&scratch, |workspace, one| reject(workspace, one, "no"));
        let expected = format!("Proposal p1 was applied already, as {}.", commit.unwrap());
        assert_eq!(refusal(answer).summary, expected);
    }
}
