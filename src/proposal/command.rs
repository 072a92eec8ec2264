//! A command that waits for a person's word. Their yes is for this very command, once.

use super::carry::closed;
use super::make::hint;
use super::store::{self, New, Proposal, State};
use super::told;
use crate::base::{Code, Finding, Result};
use crate::git::sha256;
use crate::session::{Session, World, begin};

/// A command that needs a person's word.
#[derive(Debug)]
pub struct Ask<'a> {
    /// How people write it.
    pub line: &'a str,
    /// All that makes it the same command: program, arguments, folder, environment, input, sandbox; each part by itself.
    pub parts: Vec<Vec<u8>>,
    /// What a person should know: why it is asked, where it would run.
    pub about: String,
    /// Who asks.
    pub agent: Option<String>,
}

/// The approval of a command: it is spent just before the command runs.
#[derive(Debug)]
#[must_use = "spend it, or it could be used twice"]
pub struct Word(Proposal);

/// Looks for a person's word on `ask`.
///
/// # Errors
/// `APPROVAL_REQUIRED` with the number of the proposal that now waits; `PROPOSAL_REJECTED` if the answer was no.
pub fn word(world: &mut World, ask: &Ask<'_>) -> Result<Word> {
    let head = world.repo.head()?;
    let running = Session::current(&world.repo, &head)?;
    let session = running.map_or_else(|| begin::imagined(&world.repo, &head), Ok)?;
    let digest = digest(ask)?;
    let same = |one: &Proposal| {
        one.command.is_some() && one.digest == digest && one.session() == session.name
    };
    let newest = store::all(&world.repo)?.into_iter().rfind(same);
    match newest.as_ref().map(|one| &one.state) {
        Some(State::Approved(_)) => {}
        Some(State::Open) => return Err(waits(ask, newest.map_or(0, |one| one.id)).into()),
        Some(State::Rejected(_)) => {
            let found = newest.as_ref().map(|one| closed(one, &one.state).with("proposal", one.id));
            return Err(found.unwrap_or_else(|| waits(ask, 0)).into());
        }
        Some(State::Withdrawn(_) | State::Superseded(_) | State::Done(_)) | None => {
            return Err(waits(ask, make(world, ask, &session, &digest)?).into());
        }
    }
    newest.map(Word).ok_or_else(|| waits(ask, 0).into())
}

/// An approval that was used up.
#[derive(Debug)]
pub struct Spent {
    id: u64,
    by: String,
}

impl Word {
    /// Uses it up: of two calls at once only one can.
    ///
    /// # Errors
    /// `PROPOSAL_REJECTED` if another call used it meanwhile; what publishing may answer.
    pub fn spend(self, world: &mut World) -> Result<Spent> {
        let Word(proposal) = self;
        let now = store::read(&world.repo, proposal.id)?;
        if now.at != proposal.at {
            return Err(closed(&now, &now.state).into());
        }
        store::decide(world, &now, ("done", "a run"), None)?;
        let by = proposal.state.detail().unwrap_or_default().to_owned();
        Ok(Spent { id: proposal.id, by })
    }
}

impl Spent {
    /// The program did not start: the person's word is good for the next call.
    ///
    /// # Errors
    /// What publishing may answer.
    pub fn give_back(self, world: &mut World) -> Result<()> {
        let now = store::read(&world.repo, self.id)?;
        store::decide(world, &now, ("approved", &self.by), Some("The program did not start."))?;
        Ok(())
    }
}

fn make(world: &mut World, ask: &Ask<'_>, session: &Session, digest: &str) -> Result<u64> {
    let unborn = session.tip == world.repo.empty_tree();
    let tree = world.repo.tree_of(session.tip)?;
    let new = New {
        session: &session.name,
        parent: (!unborn).then_some(session.tip),
        tree,
        objects: Vec::new(),
        text: &format!("run: {}\n\n{}", ask.line, ask.about),
        digest,
        agent: ask.agent.clone(),
        allowed: Vec::new(),
        grants: &[],
        command: Some(ask.line),
    };
    let (id, _) = store::make(world, new)?;
    told::await_word(world, id);
    Ok(id)
}

fn digest(ask: &Ask<'_>) -> Result<String> {
    let field = |part: &Vec<u8>| [format!("{} ", part.len()).as_bytes(), part].concat();
    sha256(&ask.parts.iter().flat_map(field).collect::<Vec<u8>>())
}

fn waits(ask: &Ask<'_>, id: u64) -> Finding {
    let message = format!("{} needs a person's word. {} Nothing was run.", ask.line, ask.about);
    let again = hint(id, "call `edt run` with the very same arguments");
    Finding::new(Code::ApprovalRequired, message, again).with("proposal", id)
}
