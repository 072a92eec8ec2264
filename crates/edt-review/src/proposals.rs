//! What waits for the user's decision, and what the user decided.

use schemars::JsonSchema;
use serde::Serialize;

use crate::hunks::ReviewFile;
use edt_core::proposal::store::{self, Proposal, ProposalState};
use edt_git::{Oid, Repo};
use edt_guard::guard::Grant;
use edt_types::Result;

/// A change or a command that an agent proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewProposal {
    /// Its number.
    pub proposal: u64,
    /// `open`, `approved` or `rejected`.
    pub state: &'static str,
    /// Who approved it, or why it was rejected.
    pub detail: Option<String>,
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message.
    pub reason: String,
    /// The agent that asks.
    pub agent: Option<String>,
    /// When it was proposed, in seconds since 1970.
    pub time: i64,
    /// The proposed command; null for a change.
    pub command: Option<String>,
    /// The refusals that its approval overrides, each with its path.
    pub grants: Vec<String>,
    /// The refusals that it overrides without approval.
    pub allowed: Vec<String>,
    /// The files that it changes; none for a command.
    pub files: Vec<ReviewFile>,
}

/// The proposals of the session that wait, and those that were decided and not yet applied.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`; those of `files_of`.
pub(crate) fn of_session(
    repo: &Repo,
    session: &str,
    files_of: impl Fn(u64, (Oid, Oid)) -> Result<Vec<ReviewFile>>,
) -> Result<(Vec<ReviewProposal>, Vec<ReviewProposal>)> {
    let own = store::all(repo)?.into_iter().filter(|one| one.session() == session);
    let (mut open, mut decided) = (Vec::new(), Vec::new());
    for one in own.filter(|one| one.state.is_decisive()) {
        let files = if one.command.is_some() {
            Vec::new()
        } else {
            files_of(one.id, (one.commit.parent_tree(repo)?, one.commit.tree))?
        };
        let list = if one.state == ProposalState::Open { &mut open } else { &mut decided };
        list.push(shown(one, files));
    }
    Ok((open, decided))
}

fn shown(one: Proposal, files: Vec<ReviewFile>) -> ReviewProposal {
    let trailers = one.commit.trailers.as_ref();
    let text = one.text();
    ReviewProposal {
        proposal: one.id,
        state: one.state.name(),
        detail: one.state.detail().map(str::to_owned),
        subject: one.subject().to_owned(),
        reason: text.split_once('\n').map_or("", |(_, rest)| rest).trim().to_owned(),
        agent: trailers.and_then(|trailers| trailers.agent.clone()),
        time: one.commit.committed_at,
        grants: one.grants.iter().map(grant).collect(),
        allowed: trailers.map(|trailers| trailers.allowed.clone()).unwrap_or_default(),
        command: one.command,
        files,
    }
}

fn grant(grant: &Grant) -> String {
    match &grant.path {
        Some(path) => format!("{} {path}", grant.word),
        None => grant.word.clone(),
    }
}
