//! `edt undo` and `edt redo`.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render;
use crate::base::{Code, Finding, Outcome, Result, Status};
use crate::session::changed;
use crate::session::undo::{self, Back, Moved};
use crate::session::{Session, World};
use crate::txn::remember;

/// Take edits back: the branch moves, and the files they touched follow. Nothing else is touched, nothing is lost.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt undo        # the last edit\n  edt undo 3      # the last three\n  edt undo --to HEAD~2"
)]
pub(super) struct Args {
    /// How many edits; one if left out.
    count: Option<NonZeroU64>,
    /// The same, by the name that it has as a tool.
    #[arg(long = "count", value_name = "COUNT", hide = true, conflicts_with_all = ["count", "to"])]
    #[serde(skip)]
    named_count: Option<NonZeroU64>,
    /// To a commit of the session instead.
    #[arg(long, value_name = "REV", conflicts_with = "count")]
    to: Option<String>,
}

/// Bring back what the last undo took.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt redo")]
pub(super) struct RedoArgs {}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let count = self.named_count.or(self.count);
        if count.is_some() && self.to.is_some() {
            let message = "`count` and `to` are two ways to say how far. Nothing was changed.";
            return Err(Finding::new(Code::BadRequest, message, "Send one of them.").into());
        }
        let count = count.unwrap_or(NonZeroU64::MIN).get();
        let back = self.to.clone().map_or(Back::Edits(count), Back::To);
        moved(context, "undone", |world, session| undo::undo(world, session, &back))
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
    go: impl FnOnce(&mut World, &Session) -> Result<Moved>,
) -> Result<Status> {
    let mut world = context.world()?;
    let head = world.repo.head()?;
    let session = Session::needed(&world.repo, &head)?;
    let moved = go(&mut world, &session)?;
    remember::undone(&mut world, moved.from, moved.to);
    let now = Session { tip: moved.to, ..session };
    let mut outcome = Outcome::new(Status::Applied);
    outcome.session = Some(now.report(false));
    outcome.commit = Some(moved.to.to_string());
    outcome.parent = Some(moved.from.to_string());
    outcome.edit = Some(now.edits(&world.repo)?);
    outcome.checkpoints = moved.checkpoints.iter().map(ToString::to_string).collect();
    outcome.files = changed::files(&world.repo, &moved.paths)?;
    outcome.warnings = moved.warnings;
    outcome.settled.clone_from(&world.settled);
    Ok(context.outcome(&outcome, |outcome| render::moved(outcome, verb)))
}
