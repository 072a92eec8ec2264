//! `edt undo` and `edt redo`.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render;
use edt_core::session::undo::{self, BranchMove, UndoTarget};
use edt_core::session::{LockedWorkspace, Session};
use edt_types::{Code, Finding, Result, Status};

/// Undo edits: the branch moves back, and the edited files are restored. No other file is touched,
/// and no commit is lost.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt undo        # the last edit\n  edt undo 3      # the last three\n  edt undo --to HEAD~2"
)]
pub(super) struct Args {
    /// The number of edits; 1 if omitted.
    count: Option<NonZeroU64>,
    /// The same, under the name of the tool's argument.
    #[arg(long = "count", value_name = "COUNT", hide = true, conflicts_with_all = ["count", "to"])]
    #[serde(skip)]
    named_count: Option<NonZeroU64>,
    /// Undo to this commit of the session instead.
    #[arg(long, value_name = "REV", conflicts_with = "count")]
    to: Option<String>,
}

/// Redo the edits of the last undo.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt redo")]
pub(super) struct RedoArgs {}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let count = self.named_count.or(self.count);
        if count.is_some() && self.to.is_some() {
            let message = "`count` and `to` exclude each other.";
            return Err(Finding::new(Code::BadRequest, message, "Send one of them.")
                .nothing_changed()
                .into());
        }
        let count = count.unwrap_or(NonZeroU64::MIN).get();
        let back = self.to.clone().map_or(UndoTarget::Edits(count), UndoTarget::To);
        moved(context, "undone", |workspace, session| undo::undo(workspace, session, &back))
    }
}

impl RedoArgs {
    #[expect(clippy::unused_self, reason = "every command runs by its arguments")]
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        moved(context, "redone", undo::redo)
    }
}

fn moved(
    context: &Context,
    verb: &str,
    go: impl FnOnce(&mut LockedWorkspace, &Session) -> Result<BranchMove>,
) -> Result<Status> {
    let mut workspace = context.workspace()?;
    let head = workspace.repo.head()?;
    let session = Session::required(&workspace.repo, &head)?;
    let moved = go(&mut workspace, &session)?;
    workspace.observe_undone(moved.from, moved.to);
    let outcome = moved.outcome(&workspace, session)?;
    Ok(context.outcome(&outcome, |outcome| render::moved(outcome, verb)))
}
