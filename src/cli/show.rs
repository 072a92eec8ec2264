//! `edt show`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::complete;
use super::context::Context;
use super::edit_name::{EditName, ProposalName};
use super::log::{Landed, Line};
use super::{diff, proposals};
use edt_core::proposal::store::read;
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::ended::ShownSession;
use edt_core::session::refs::revision;
use edt_core::session::user::unwind;
use edt_git::{Oid, Repo};
use edt_types::{Finding, Refusal, Result, Status};

/// How many bytes of a message are shown.
const MAX_MESSAGE: usize = 64 * 1024;

/// Show one edit, or one proposal: agent, message, overrides and diff.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt show 7        # edit 7, as edt log numbers it\n  edt show p7       # proposal 7\n  edt show HEAD~1"
)]
pub(super) struct Args {
    /// The number of an edit, a revision, or a proposal (`p7`); the session's tip if omitted.
    #[arg(add = complete::edits())]
    rev: Option<EditName>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let named = self.rev.as_ref().filter(|rev| rev.0.starts_with('p'));
        if let Some(ProposalName(id)) = named.and_then(|rev| rev.0.parse().ok())
            && let Some(proposal) = proposals::found(&repo, id)?
        {
            return proposals::show(context, &repo, &proposal);
        }
        let head = repo.head()?;
        let shown = ShownSession::here(&repo, &head)?;
        let oid = match (&self.rev, &shown) {
            (Some(EditName(spec)), _) => {
                revision::resolve(&repo, shown.as_ref().map(|shown| &shown.session), spec)
                    .map_err(|found| or_proposal(&repo, found, spec))?
            }
            (None, Some(shown)) => shown.session.tip,
            (None, None) => ShownSession::required(&repo, &head)?.session.tip,
        };
        let commit = Commit::read(&repo, oid)?;
        let parent = commit.parent.unwrap_or_else(|| repo.empty_tree());
        let mut answer = diff::answer(&repo, parent, oid)?;
        let private = unwind::private_files(&repo, &commit).unwrap_or_default();
        answer.private = private
            .iter()
            .filter(|file| file.before != file.after)
            .map(|file| file.path().text())
            .filter(|path| !answer.names(path))
            .collect();
        let landing = shown.and_then(|shown| shown.landing);
        answer.landed = landing.map(|landing| Landed::of(&repo, &landing)).transpose()?;
        answer.commit = Some(Line::of(&commit));
        answer.message = Some(shown_message(commit.message, oid));
        Ok(context.answer(&answer, diff::render_human))
    }
}

/// The message, or its beginning and how to read the rest.
fn shown_message(mut message: String, oid: Oid) -> String {
    if message.len() > MAX_MESSAGE {
        let rest = format!(
            "\n… The message has {} bytes; `git cat-file commit {oid}` prints all of it.",
            message.len()
        );
        let end = (0..=MAX_MESSAGE).rev().find(|at| message.is_char_boundary(*at));
        message.truncate(end.unwrap_or(0));
        message.push_str(&rest);
    }
    message
}

/// The refusal for a proposal that does not exist; else `found`, with the proposal that has the
/// number `spec` in its remedy.
fn or_proposal(repo: &Repo, found: Refusal, spec: &str) -> Refusal {
    if let Some(missing) = revision::proposal_number(spec).and_then(|id| read(repo, id).err()) {
        return missing;
    }
    let proposal = revision::edit_number(spec).and_then(|id| proposals::found(repo, id).ok()?);
    match proposal {
        Some(proposal) => found.map(|finding| Finding {
            remedy: format!("{} `edt show p{}` shows the proposal.", finding.remedy, proposal.id),
            ..finding
        }),
        None => found,
    }
}
