//! Proposals: changes that wait for the user.

use edt_types::{DryRun, Warning};

use super::Workspace;
use crate::proposal::propose::propose;
use crate::proposal::{self, Proposal, decide, store};
use crate::user_decision::UserDecision;
use crate::{Outcome, Refusal, Request};

/// Proposals.
impl Workspace {
    /// Proposes what `request` would change, and changes no file and no branch. The outcome has the
    /// number of the proposal; its status is `Proposed`, or `Unchanged` if there is nothing to
    /// propose.
    ///
    /// [`Workspace::apply`] makes a proposal by itself where policy wants the user's approval.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// use edt_core::types::UserDecision;
    ///
    /// let request = edt_core::Request::new("change it").edit("a.txt", "one", "two");
    /// ws.propose(&request)?;
    /// for proposal in ws.proposals()?.into_iter().filter(|one| one.state.is_live()) {
    ///     for file in ws.diff(Some(&proposal.commit.oid.to_string()))? {
    ///         print!("{file}");
    ///     }
    ///     // The user read it and pressed "Approve".
    ///     ws.approve(&proposal, UserDecision::made_by_user())?;
    ///     ws.apply_proposal(proposal.id)?;
    /// }
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "two\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Workspace::apply`], without `APPROVAL_REQUIRED`. Nothing is changed then.
    pub fn propose(&mut self, request: &Request) -> Result<Outcome, Refusal> {
        request.check()?;
        self.change(|locked| propose(locked, request))
    }

    /// All proposals of the repository, ordered by number, also those that were decided.
    /// [`Workspace::diff`] shows the change of one: its commit is `proposal.commit.oid`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; as [`Workspace::open`].
    pub fn proposals(&self) -> Result<Vec<Proposal>, Refusal> {
        store::all(&self.read()?.0)
    }

    /// The proposal with this number.
    ///
    /// # Errors
    /// `PROPOSAL_NOT_FOUND`; `OBJECT_MISSING`; as [`Workspace::open`].
    pub fn proposal(&self, id: u64) -> Result<Proposal, Refusal> {
        store::read(&self.read()?.0, id)
    }

    /// Applies an approved proposal as one edit. The change is merged onto the present files, and the
    /// guards check it again.
    ///
    /// # Errors
    /// `PROPOSAL_NOT_FOUND`; `APPROVAL_REQUIRED` without an approval; `PROPOSAL_REJECTED` if it is
    /// closed; `PROPOSAL_STALE` if it no longer merges; `BAD_REQUEST` for a command; as
    /// [`Workspace::apply`]. Nothing is changed then, and an approval stays.
    pub fn apply_proposal(&mut self, id: u64) -> Result<Outcome, Refusal> {
        self.change(|locked| proposal::apply(locked, id, DryRun::No))
    }

    /// Approves `proposal` as it was read and shown to the user. A second approval changes nothing.
    /// If the user's policy names a key, `ssh-keygen` signs the approval, without the worktree's
    /// lock. Returns warnings for the user.
    ///
    /// # Errors
    /// `PROPOSAL_REJECTED` if it was withdrawn, superseded or applied; `BAD_REQUEST` if its digest is
    /// not that of its change; `SESSION_MOVED` if it was decided on since it was read; the errors of
    /// signing. The proposal stays as it was then.
    pub fn approve(
        &mut self,
        proposal: &Proposal,
        _: UserDecision,
    ) -> Result<Vec<Warning>, Refusal> {
        self.locked(|locked| decide::approve(locked, proposal))
    }

    /// Rejects `proposal` for the user, also after an approval. The agent's next answer has `why`,
    /// which should say what to do instead. Returns warnings for the user.
    ///
    /// # Errors
    /// As [`Workspace::approve`]; `BAD_REQUEST` for an empty reason.
    pub fn reject(
        &mut self,
        proposal: &Proposal,
        why: &str,
        _: UserDecision,
    ) -> Result<Vec<Warning>, Refusal> {
        self.locked(|locked| decide::reject(locked, proposal, why))
    }

    /// Withdraws an open proposal for its author, which needs no user. Returns warnings.
    ///
    /// # Errors
    /// As [`Workspace::reject`]; `APPROVAL_REQUIRED` if the user approved it: only the user may
    /// revoke an approval.
    pub fn withdraw(&mut self, proposal: &Proposal, why: &str) -> Result<Vec<Warning>, Refusal> {
        self.locked(|locked| decide::withdraw(locked, proposal, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::types::ProposalState;
    use crate::{Options, Status};

    fn proposed() -> (Scratch, Workspace, Proposal) {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let mut workspace = Workspace::open(scratch.root(), Options::default()).unwrap();
        let request = Request::new("change it").edit("a.txt", "one", "two");
        let outcome = workspace.propose(&request).unwrap();
        assert_eq!((outcome.status, outcome.proposal), (Status::Proposed, Some(1)));
        let proposal = workspace.proposal(1).unwrap();
        (scratch, workspace, proposal)
    }

    #[test]
    fn a_proposal_is_listed_and_applied_once_it_is_approved() {
        let (scratch, mut workspace, proposal) = proposed();
        let listed = workspace.proposals().unwrap();
        assert_eq!((listed.len(), listed[0].state.clone()), (1, ProposalState::Open));
        let early = workspace.apply_proposal(1).unwrap_err();
        assert_eq!(early.codes(), ["APPROVAL_REQUIRED"]);
        workspace.approve(&proposal, UserDecision::made_by_user()).unwrap();
        let applied = workspace.apply_proposal(1).unwrap();
        assert_eq!((applied.status, applied.proposal), (Status::Applied, Some(1)));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn an_approval_is_of_the_proposal_as_it_was_read() {
        let (_scratch, mut workspace, read) = proposed();
        workspace.reject(&read, "Use three.", UserDecision::made_by_user()).unwrap();
        let late = workspace.approve(&read, UserDecision::made_by_user()).unwrap_err();
        assert_eq!(late.codes(), ["SESSION_MOVED"]);
        assert_eq!(
            workspace.proposal(1).unwrap().state,
            ProposalState::Rejected("Use three.".to_owned())
        );
    }

    #[test]
    fn only_the_user_revokes_an_approval() {
        let (_scratch, mut workspace, proposal) = proposed();
        workspace.approve(&proposal, UserDecision::made_by_user()).unwrap();
        let approved = workspace.proposal(1).unwrap();
        let refused = workspace.withdraw(&approved, "mistake").unwrap_err();
        assert_eq!(refused.codes(), ["APPROVAL_REQUIRED"]);
        workspace.reject(&approved, "mistake", UserDecision::made_by_user()).unwrap();
        assert_eq!(workspace.proposal(1).unwrap().state.name(), "rejected");
    }
}
