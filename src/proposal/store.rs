//! Proposals as Git keeps them.

use crate::base::{Code, Finding, Result, Warning};
use crate::git::{Commit as NewCommit, Draft, InHead, Loose, Oid, Repo};
use crate::journal::{Branch, Change, From, publish};
use crate::session::World;
use crate::session::history::Commit;
use crate::session::message::{self, Kind, Trailers};
use crate::txn::guard::Grant;

/// Where they live.
pub const PREFIX: &str = "refs/edt/proposals/";

/// The trailer that says what is proposed, as one value.
const DIGEST: &str = "Edt-Digest";
/// The trailer that says what a person grants by approving.
pub const GRANT: &str = "Edt-Grant";
/// The trailer that says what was decided.
pub const DECISION: &str = "Edt-Decision";
/// The trailer of a proposal that is a command.
const COMMAND: &str = "Edt-Command";

/// A proposal, read.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Its number.
    pub id: u64,
    /// The commit that is proposed.
    pub made: Commit,
    /// What its ref holds: the proposal itself, or the newest decision.
    pub at: Oid,
    /// What became of it.
    pub state: State,
    /// What it does, as one value.
    pub digest: String,
    /// What a person grants by approving it.
    pub grants: Vec<Grant>,
    /// The command that it is; `None` for a change.
    pub command: Option<String>,
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It waits.
    Open,
    /// This person said yes.
    Approved(String),
    /// A person said no, and why.
    Rejected(String),
    /// Who asked for it wants it no more, and why.
    Withdrawn(String),
    /// A newer one took its place: its number.
    Superseded(String),
    /// It was carried out: the commit, or the run.
    Done(String),
}

impl State {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            State::Open => "open",
            State::Approved(_) => "approved",
            State::Rejected(_) => "rejected",
            State::Withdrawn(_) => "withdrawn",
            State::Superseded(_) => "superseded",
            State::Done(_) => "done",
        }
    }

    /// What is to be said beside the name: who, why, which.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        match self {
            State::Open => None,
            State::Approved(text)
            | State::Rejected(text)
            | State::Withdrawn(text)
            | State::Superseded(text)
            | State::Done(text) => Some(text),
        }
    }

    /// Whether it can still be carried out.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, State::Open | State::Approved(_))
    }
}

impl Proposal {
    /// The subject of its message.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.made.message.lines().next().unwrap_or_default()
    }

    /// Its message without trailers.
    #[must_use]
    pub fn text(&self) -> &str {
        self.made.message.trim_end().rsplit_once("\n\n").map_or("", |(text, _)| text)
    }

    /// The session it was made in.
    #[must_use]
    pub fn session(&self) -> &str {
        self.made.trailers.as_ref().map_or("", |trailers| &trailers.session)
    }
}

/// What is to be proposed.
#[derive(Debug)]
pub struct New<'a> {
    /// The session it is made in.
    pub session: &'a str,
    /// What it is made on; `None` where there is no commit yet.
    pub parent: Option<Oid>,
    /// Its tree.
    pub tree: Oid,
    /// The objects it needs, each after what it names.
    pub objects: Vec<Loose>,
    /// Subject and body.
    pub text: &'a str,
    /// What it does, as one value.
    pub digest: &'a str,
    /// Who asks.
    pub agent: Option<String>,
    /// The overrides that the request itself may make.
    pub allowed: Vec<String>,
    /// What a person grants by approving it.
    pub grants: &'a [Grant],
    /// The command that it is.
    pub command: Option<&'a str>,
}

/// Reads the proposal `id`.
///
/// # Errors
/// `PROPOSAL_NOT_FOUND`; `OBJECT_MISSING`.
pub fn read(repo: &Repo, id: u64) -> Result<Proposal> {
    let at = repo.ref_value(&format!("{PREFIX}{id}"))?.ok_or_else(|| not_found(id))?;
    of(repo, id, at)
}

/// Every proposal, in order of their numbers.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn all(repo: &Repo) -> Result<Vec<Proposal>> {
    let mut refs: Vec<(u64, Oid)> = numbers(repo)?;
    refs.sort_unstable();
    refs.into_iter().map(|(id, at)| of(repo, id, at)).collect()
}

fn numbers(repo: &Repo) -> Result<Vec<(u64, Oid)>> {
    let number = |(name, at): (String, Oid)| Some((name.strip_prefix(PREFIX)?.parse().ok()?, at));
    Ok(repo.refs_below(PREFIX)?.into_iter().filter_map(number).collect())
}

fn of(repo: &Repo, id: u64, at: Oid) -> Result<Proposal> {
    let newest = Commit::read(repo, at)?;
    let kind = |commit: &Commit| commit.trailers.as_ref().map(|trailers| trailers.kind);
    let mut made = newest.clone();
    while kind(&made) == Some(Kind::Decision) {
        let Some(parent) = made.parent else { break };
        made = Commit::read(repo, parent)?;
    }
    let value = |key| message::values(&made.message, key).pop();
    let (Some(Kind::Proposal), Some(digest)) = (kind(&made), value(DIGEST)) else {
        return Err(not_one(id).into());
    };
    let grants = message::values(&made.message, GRANT).iter().map(|line| grant(line)).collect();
    Ok(Proposal { id, at, state: state(&newest), digest, grants, command: value(COMMAND), made })
}

fn state(newest: &Commit) -> State {
    let decision = message::values(&newest.message, DECISION).pop().unwrap_or_default();
    let (word, rest) = decision.split_once(' ').unwrap_or((&decision, ""));
    // A person's words may have many lines: they are the message's body.
    let body = newest.message.split_once("\n\n").map_or("", |(_, rest)| rest);
    let body = body.trim_end().rsplit_once("\n\n").map_or("", |(body, _)| body).trim();
    match word {
        "approved" => State::Approved(rest.to_owned()),
        "rejected" => State::Rejected(body.to_owned()),
        "withdrawn" => State::Withdrawn(body.to_owned()),
        "superseded" => State::Superseded(rest.to_owned()),
        "done" => State::Done(rest.to_owned()),
        _ => State::Open,
    }
}

/// Makes a proposal and returns its number.
///
/// # Errors
/// What publishing may answer.
pub fn make(world: &mut World, new: New<'_>) -> Result<(u64, Vec<Warning>)> {
    let (mut objects, mut draft) = (new.objects, Draft::new(&world.repo));
    let trailers = Trailers {
        agent: new.agent,
        allowed: new.allowed,
        ..Trailers::plain(new.session, Kind::Proposal, 0)
    };
    let mut text = message::compose(new.text, &trailers);
    text += &format!("{DIGEST}: {}\n", new.digest);
    new.grants.iter().for_each(|grant| text += &format!("{GRANT}: {}\n", line(grant)));
    new.command.iter().for_each(|command| text += &format!("{COMMAND}: {command}\n"));
    let commit = draft.commit(&NewCommit { tree: new.tree, parent: new.parent, message: &text })?;
    objects.extend(draft.loose());
    let id = numbers(&world.repo)?.into_iter().map(|(id, _)| id).max().unwrap_or(0) + 1;
    let warnings =
        set(world, id, From::Nothing(commit), commit, objects, "edt propose".to_owned())?;
    Ok((id, warnings))
}

/// Writes down what was decided: `word`, with `detail` beside it, and a person's `words`.
///
/// # Errors
/// `SESSION_MOVED` if another decision came first; what publishing may answer.
pub fn decide(
    world: &mut World,
    proposal: &Proposal,
    (word, detail): (&str, &str),
    words: Option<&str>,
) -> Result<Vec<Warning>> {
    let mut draft = Draft::new(&world.repo);
    let body = words.map_or_else(String::new, |words| format!("\n\n{}", words.trim()));
    let text = format!("{word}: {}{body}", proposal.subject());
    let mut text = message::compose(&text, &Trailers::plain(proposal.session(), Kind::Decision, 0));
    text += &format!(
        "{DIGEST}: {}\n{DECISION}: {}\n",
        proposal.digest,
        format!("{word} {detail}").trim()
    );
    let commit = NewCommit { tree: proposal.made.tree, parent: Some(proposal.at), message: &text };
    let commit = draft.commit(&commit)?;
    set(
        world,
        proposal.id,
        From::Value(proposal.at),
        commit,
        draft.loose(),
        format!("{word} proposal {}", proposal.id),
    )
}

fn set(
    world: &mut World,
    id: u64,
    from: From,
    new: Oid,
    objects: Vec<Loose>,
    log: String,
) -> Result<Vec<Warning>> {
    let name = format!("{PREFIX}{id}");
    let branch = Branch { name, from, new, log, head: InHead::No, head_from: None, point: None };
    publish(&world.repo, &mut world.journal, Change { objects, ..Change::of(branch) })
}

/// A grant as one line. A path that edt edits has no line breaks.
fn line(grant: &Grant) -> String {
    let path = grant.path.as_deref().map_or_else(String::new, |path| format!(" {path}"));
    format!("{}{path}", grant.word)
}

/// Reads a line of the trailer [`GRANT`].
#[must_use]
pub fn grant(line: &str) -> Grant {
    match line.split_once(' ') {
        Some((word, path)) => Grant { word: word.to_owned(), path: Some(path.to_owned()) },
        None => Grant { word: line.to_owned(), path: None },
    }
}

fn not_found(id: u64) -> Finding {
    let message = format!("There is no proposal {id} in this repository. Nothing was changed.");
    Finding::new(Code::ProposalNotFound, message, "`edt proposals --all` lists them.")
}

fn not_one(id: u64) -> Finding {
    let message = format!("{PREFIX}{id} holds no proposal of edt's. Nothing was changed.");
    Finding::new(Code::ProposalNotFound, message, "`edt proposals --all` lists those there are.")
}
