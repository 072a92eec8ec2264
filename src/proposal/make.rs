//! A change put before a person: `edt propose`, and `edt apply` where policy asks for one.

use super::store::{self, New, Proposal, State};
use super::told;
use crate::base::{Code, Finding, Outcome, Result, Status, Warning};
use crate::session::World;
use crate::txn::{self, Aside, Request, Run};

/// The warning that the same change was approved already.
pub const APPROVED_ALREADY: &str = "approved_already";

/// Proposes what `request` would change.
///
/// # Errors
/// As [`txn::apply`], but that what only a person may allow is what a proposal is for; `BAD_REQUEST` if it changes nothing.
pub fn propose(world: &mut World, request: &Request) -> Result<Outcome> {
    let Some(aside) = txn::set_aside(world, request)? else {
        let mut outcome = Outcome::new(Status::Unchanged);
        outcome.settled.clone_from(&world.settled);
        return Ok(outcome);
    };
    let mut outcome = aside.outcome.clone();
    let (id, waits, warnings) = put_before(world, aside)?;
    outcome.proposal = Some(id);
    outcome.warnings.extend(warnings);
    if waits == Waits::ForApply {
        outcome.warnings.push(Warning { code: APPROVED_ALREADY, path: None, message: lands(id) });
    }
    Ok(outcome)
}

/// Applies `request`; where only a person may allow it, it becomes a proposal.
///
/// # Errors
/// As [`txn::apply`]. `APPROVAL_REQUIRED` then carries the number of the proposal, and the words that a person types.
pub fn apply(world: &mut World, request: &Request, run: Run) -> Result<Outcome> {
    let answer = txn::apply(world, request, run);
    match answer {
        Err(found)
            if run == Run::Real && !found.any(|finding| finding.code != Code::ApprovalRequired) =>
        {
            let Some(aside) = txn::set_aside(world, request)? else { return Err(found) };
            let (id, waits, _) = put_before(world, aside)?;
            let hint = if waits == Waits::ForApply { lands(id) } else { hint(id, &landing(id)) };
            Err(found
                .each(|finding| Finding { hint: hint.clone(), ..finding }.with("proposal", id)))
        }
        answer => answer,
    }
}

/// What a proposal waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    ForAPerson,
    ForApply,
}

/// What the agent and the person are to do; `then` is the agent's call after the person's yes.
#[must_use]
pub fn hint(id: u64, then: &str) -> String {
    format!(
        "It waits as proposal {id}. Tell the person to type `edt approve {id}` in a terminal of theirs (`edt show {id}` shows it), go on with other work, and {then} once an answer of edt's says that it was approved."
    )
}

/// The call that lands a change.
pub(super) fn landing(id: u64) -> String {
    format!("land it with `edt apply --proposal {id}`")
}

/// What the agent is to do with an approved change.
fn lands(id: u64) -> String {
    format!("Proposal {id} was approved: `edt apply --proposal {id}` lands it.")
}

/// Makes the proposal, unless the same one waits already; those that it replaces are closed.
fn put_before(world: &mut World, aside: Aside) -> Result<(u64, Waits, Vec<Warning>)> {
    let live = store::all(&world.repo)?
        .into_iter()
        .filter(|one| one.state.is_live() && one.command.is_none());
    let mine: Vec<Proposal> = live.filter(|one| one.session() == aside.session.name).collect();
    let same = |one: &&Proposal| {
        one.digest == aside.digest && one.made.tree == aside.tree && one.grants == aside.grants()
    };
    if let Some(same) = mine.iter().find(same) {
        if same.state != State::Open {
            return Ok((same.id, Waits::ForApply, Vec::new()));
        }
        told::await_word(world, same.id);
        return Ok((same.id, Waits::ForAPerson, Vec::new()));
    }
    let grants = aside.grants();
    let new = New {
        session: &aside.session.name,
        parent: Some(aside.parent),
        tree: aside.tree,
        objects: aside.objects,
        text: &aside.text,
        digest: &aside.digest,
        agent: aside.agent,
        allowed: aside.allowed,
        grants: &grants,
        command: None,
    };
    let (id, mut warnings) = store::make(world, new)?;
    told::await_word(world, id);
    for old in mine.iter().filter(|old| old.state == State::Open) {
        let replaced =
            paths_of(world, old).map(|paths| paths.iter().all(|path| aside.paths.contains(path)));
        let closed = match replaced {
            Ok(false) => continue,
            Ok(true) => store::decide(world, old, ("superseded", &id.to_string()), None),
            Err(found) => Err(found),
        };
        // The new one is made, whatever becomes of the old.
        let message = match closed {
            Ok(more) => {
                warnings.extend(more);
                format!("Proposal {} was closed: this one changes all that it did.", old.id)
            }
            Err(found) => format!(
                "Proposal {} was not closed, though this one may replace it: {found}.",
                old.id
            ),
        };
        warnings.push(Warning { code: "superseded", path: None, message });
    }
    Ok((id, Waits::ForAPerson, warnings))
}

fn paths_of(world: &World, proposal: &Proposal) -> Result<Vec<String>> {
    let repo = &world.repo;
    let parent = proposal
        .made
        .parent
        .map_or_else(|| Ok(repo.empty_tree()), |parent| repo.tree_of(parent))?;
    let differs = repo.tree_diff(parent, proposal.made.tree)?;
    Ok(differs.iter().map(|differs| differs.path.to_string()).collect())
}
