//! `edt revert`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::complete;
use super::context::Context;
use super::render;
use super::undo::options;
use edt_core::session::Session;
use edt_core::session::back::revert::revert;
use edt_types::{Result, Status};

/// Revert earlier edits of the session as one new commit. Later edits stay, and so do the user's
/// uncommitted lines.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt log\n  edt revert 5      # edit 5 alone\n  edt revert 7 5    # both, as one commit"
)]
pub(super) struct Args {
    /// The numbers of the edits, as `edt log` prints them.
    #[arg(required = true, value_name = "EDIT", add = complete::edits())]
    #[schemars(length(min = 1))]
    edits: Vec<u64>,
    /// If the user changed the same lines: keep the user's version as a commit at
    /// refs/edt/NAME/saved/N, then overwrite those lines.
    #[arg(long)]
    #[serde(default)]
    save: bool,
    /// Say what would change, and change nothing.
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.workspace()?;
        let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
        let options = options(context, self.save, self.dry_run);
        let outcome = revert(&mut workspace, &session, &self.edits, options)?;
        Ok(context.outcome(&outcome, render::applied))
    }
}
