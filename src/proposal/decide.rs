//! What a person decides.

use super::carry::closed;
use super::store::{self, Proposal, State};
use crate::base::{Code, Finding, Result, Warning};
use crate::session::World;

/// Says yes to `proposal`, as it was read and shown: a proposal that was decided on meanwhile is refused.
///
/// # Errors
/// `PROPOSAL_REJECTED` if it was superseded or carried out; what publishing may answer, `SESSION_MOVED` if somebody decided meanwhile.
pub fn approve(world: &mut World, proposal: &Proposal) -> Result<Vec<Warning>> {
    match &proposal.state {
        State::Open | State::Rejected(_) => {
            let by = world.repo.identity()?;
            store::decide(world, proposal, ("approved", &by), None)
        }
        State::Approved(_) => Ok(Vec::new()),
        State::Superseded(_) | State::Done(_) => Err(closed(proposal, &proposal.state).into()),
    }
}

/// Says no, and why.
///
/// # Errors
/// As [`approve`]; `BAD_REQUEST` without a reason: it is all that the agent learns.
pub fn reject(world: &mut World, proposal: &Proposal, why: &str) -> Result<Vec<Warning>> {
    if why.trim().is_empty() {
        let message = "A rejection needs a reason: it is what the agent reads next. Nothing was changed.";
        return Err(Finding::new(Code::BadRequest, message, "Give it with -m 'what to do instead'.").into());
    }
    match &proposal.state {
        State::Open | State::Approved(_) | State::Rejected(_) => {
            store::decide(world, proposal, ("rejected", ""), Some(why))
        }
        State::Superseded(_) | State::Done(_) => Err(closed(proposal, &proposal.state).into()),
    }
}
