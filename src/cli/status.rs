//! `edt status`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{self, DIM, NAME, NOTE, paint, short};
use crate::base::{Result, SessionReport, Settled, Status};
use crate::git::{InHead, Repo};
use crate::session::Session;

/// Show the session, its edits, and what is not recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt status --json")]
pub(super) struct Args {}

/// The answer of `edt status`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.status/1`.
    schema: &'static str,
    /// The session of this worktree.
    session: Option<SessionReport>,
    /// The session branch's commit, as a hex object id.
    tip: Option<String>,
    /// Whether HEAD is on the session's branch.
    switched: bool,
    /// How many edits the session holds.
    edits: u64,
    /// Paths that differ between base and tip.
    changed: Vec<String>,
    /// Paths that Git reports as uncommitted or untracked.
    uncommitted: Vec<String>,
    /// Ids of proposals that wait for a person.
    proposals: Vec<String>,
    /// An interrupted transaction that this call settled.
    settled: Option<Settled>,
}

pub(super) fn run(context: &Context) -> Result<Status> {
    let (repo, settled) = context.repo()?;
    let answer = answer(&repo, settled)?;
    Ok(context.answer(&answer, people))
}

fn answer(repo: &Repo, settled: Option<Settled>) -> Result<Answer> {
    let session = Session::current(repo, &repo.head()?)?;
    let (mut edits, mut changed) = (0, Vec::new());
    if let Some(session) = &session {
        edits = session.edits(repo)?;
        let differs = repo.tree_diff(repo.tree_of(session.base)?, repo.tree_of(session.tip)?)?;
        changed = differs.iter().map(|differs| differs.path.to_string()).collect();
    }
    Ok(Answer {
        schema: "edt.status/1",
        tip: session.as_ref().map(|session| session.tip.to_string()),
        switched: session.as_ref().is_some_and(|session| session.head == InHead::Yes),
        session: session.map(|session| session.report(false)),
        edits,
        changed,
        uncommitted: repo.uncommitted()?,
        proposals: Vec::new(),
        settled,
    })
}

fn people(answer: &Answer) -> String {
    let mut out = render::settled(answer.settled.as_ref());
    match &answer.session {
        None => out.push_str("No session here. `edt begin` starts one, and so does the first `edt apply`.\n"),
        Some(session) => {
            let tip = answer.tip.as_deref().unwrap_or_default();
            let place = if answer.switched { "HEAD is on it" } else { "HEAD is elsewhere" };
            let _ = writeln!(out, "session {} {}", paint(NAME, &session.branch), paint(DIM, &format!("({place})")));
            let _ = writeln!(out, "  base {}  tip {}  edits {}", short(&session.base), short(tip), answer.edits);
            list(&mut out, "changed since the base", &answer.changed);
        }
    }
    list(&mut out, "uncommitted", &answer.uncommitted);
    out
}

fn list(out: &mut String, what: &str, paths: &[String]) {
    if paths.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}", paint(NOTE, &format!("{what} ({}):", paths.len())));
    for path in paths {
        let _ = writeln!(out, "  {path}");
    }
}
