//! `edt show`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::log::Line;
use super::{diff, proposals};
use edt_core::session::Session;
use edt_core::session::history::Commit;
use edt_types::{Result, Status};

/// Show one edit, or one proposal: agent, message, overrides and diff.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt show HEAD~1\n  edt show 7        # proposal 7")]
pub(super) struct Args {
    /// The commit, or the number of a proposal; the session's tip if omitted.
    rev: Option<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        if let Some(id) = self.rev.as_ref().and_then(|rev| rev.parse().ok())
            && let Some(proposal) = proposals::found(&repo, id)?
        {
            return proposals::show(context, &repo, &proposal);
        }
        let oid = match &self.rev {
            Some(rev) => repo.commit_named(rev)?,
            None => Session::required(&repo, &repo.head()?)?.tip,
        };
        let commit = Commit::read(&repo, oid)?;
        let parent = commit.parent.unwrap_or_else(|| repo.empty_tree());
        let mut answer = diff::answer(&repo, parent, oid)?;
        answer.commit = Some(Line::of(&commit));
        answer.message = Some(commit.message);
        Ok(context.answer(&answer, diff::render_human))
    }
}
