//! What a person decides, and what its maker takes back.

use super::carry::closed;
use super::store::{self, Proposal, State};
use crate::base::{Code, Finding, Result, Warning};
use crate::session::World;

/// Says yes to `proposal`, as it was read and shown: a proposal that was decided on meanwhile is refused.
///
/// # Errors
/// `PROPOSAL_REJECTED` if it was withdrawn, superseded or carried out; what publishing may answer, `SESSION_MOVED` if somebody decided meanwhile.
pub fn approve(world: &mut World, proposal: &Proposal) -> Result<Vec<Warning>> {
    match &proposal.state {
        State::Open | State::Rejected(_) => {
            let by = world.repo.identity()?;
            store::decide(world, proposal, ("approved", &by), None)
        }
        State::Approved(_) => Ok(Vec::new()),
        State::Withdrawn(_) | State::Superseded(_) | State::Done(_) => {
            Err(closed(proposal, &proposal.state).into())
        }
    }
}

/// Says no, and why.
///
/// # Errors
/// As [`approve`]; `BAD_REQUEST` without a reason: it is all that the agent learns.
pub fn reject(world: &mut World, proposal: &Proposal, why: &str) -> Result<Vec<Warning>> {
    check_reason(why)?;
    match &proposal.state {
        State::Open | State::Approved(_) | State::Rejected(_) => {
            store::decide(world, proposal, ("rejected", ""), Some(why))
        }
        State::Withdrawn(_) | State::Superseded(_) | State::Done(_) => {
            Err(closed(proposal, &proposal.state).into())
        }
    }
}

/// Takes back what waits: the word of whoever asks, not a person's. The agent is not told of it as of a decision.
///
/// # Errors
/// As [`reject`]; `APPROVAL_REQUIRED` for one that a person has approved: their word is theirs to take back.
pub fn withdraw(world: &mut World, proposal: &Proposal, why: &str) -> Result<Vec<Warning>> {
    check_reason(why)?;
    match &proposal.state {
        State::Open => store::decide(world, proposal, ("withdrawn", ""), Some(why)),
        State::Approved(by) => Err(approved(proposal, by).into()),
        closed_already => Err(closed(proposal, closed_already).into()),
    }
}

fn check_reason(why: &str) -> Result<()> {
    if !why.trim().is_empty() {
        return Ok(());
    }
    let message =
        "A rejection needs a reason: it is what the agent reads next. Nothing was changed.";
    Err(Finding::new(Code::BadRequest, message, "Give it with -m 'what to do instead'.").into())
}

fn approved(proposal: &Proposal, by: &str) -> Finding {
    let id = proposal.id;
    Finding::new(
        Code::ApprovalRequired,
        format!("Proposal {id} was approved by {by}; only a person takes that back. Nothing was changed."),
        format!("Leave it alone, or tell the person to type `edt reject {id} -m WHY` in a terminal of theirs."),
    )
    .with("proposal", id)
}
