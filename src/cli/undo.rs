//! `edt undo` and `edt redo`.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;

use super::complete;
use super::context::Context;
use super::edit_name::EditName;
use super::render;
use edt_core::session::back::undo::{self, BranchMove, MoveOptions, Overlaps, UndoTarget, Whose};
use edt_core::session::refs::revision;
use edt_core::session::{LockedWorkspace, Session};
use edt_types::{Code, DryRun, Finding, Result, Status};

/// Undo edits: the branch moves back, and the edited files are restored. No other file is touched,
/// and no commit is lost.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt undo              # the last edit\n  edt undo -n 3         # the last three\n  edt undo --to 7       # all edits after edit 7\n  edt undo --turn       # the edits of the last turn\n  edt undo --dry-run    # what it would change"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct Args {
    /// The number of edits; 1 if omitted.
    #[arg(value_parser = number_of_edits)]
    count: Option<NonZeroU64>,
    /// The number of edits.
    #[arg(short = 'n', long = "count", value_name = "N", conflicts_with_all = ["count", "to", "turn"])]
    #[serde(skip)]
    named_count: Option<NonZeroU64>,
    /// Undo to this commit of the session instead: the number of an edit, which stays, or a
    /// revision.
    #[arg(long, value_name = "EDIT|REV", conflicts_with = "count", add = complete::edits())]
    to: Option<EditName>,
    /// Undo the edits of the newest edit's turn: all that the agent did for the last prompt.
    #[arg(long, conflicts_with_all = ["count", "to"])]
    #[serde(default)]
    turn: bool,
    /// Also edits of other agents and of other conversations.
    #[arg(long)]
    #[serde(default)]
    any: bool,
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

/// Redo the edits of the last undo.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt redo")]
pub(super) struct RedoArgs {
    /// Also edits of other agents and of other conversations.
    #[arg(long)]
    #[serde(default)]
    any: bool,
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

/// The options of a move. A dry run only asks.
pub(super) fn options(context: &Context, save: bool, dry_run: bool) -> MoveOptions {
    if dry_run {
        context.asks_only();
    }
    MoveOptions {
        overlaps: if save { Overlaps::Save } else { Overlaps::Refuse },
        dry_run: if dry_run { DryRun::Yes } else { DryRun::No },
        ..MoveOptions::default()
    }
}

fn whose(any: bool) -> Whose {
    if any { Whose::Any } else { Whose::Own }
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let count = self.named_count.or(self.count);
        if [count.is_some(), self.to.is_some(), self.turn]
            .into_iter()
            .filter(|given| *given)
            .count()
            > 1
        {
            let message = "`count`, `to` and `turn` exclude each other.";
            return Err(Finding::new(Code::BadRequest, message, "Send one of them.")
                .nothing_changed()
                .into());
        }
        let count = count.unwrap_or(NonZeroU64::MIN).get();
        let back = match &self.to {
            None if self.turn => UndoTarget::Turn,
            Some(EditName(spec)) => UndoTarget::To(spec.clone()),
            None => UndoTarget::Edits(count),
        };
        let options =
            MoveOptions { whose: whose(self.any), ..options(context, self.save, self.dry_run) };
        moved(context, ("undone", "would undo"), |workspace, session| {
            undo::undo(workspace, session, &back, options)
        })
    }
}

impl RedoArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let options =
            MoveOptions { whose: whose(self.any), ..options(context, self.save, self.dry_run) };
        moved(context, ("redone", "would redo"), |workspace, session| {
            undo::redo(workspace, session, options)
        })
    }
}

fn number_of_edits(text: &str) -> std::result::Result<NonZeroU64, String> {
    text.parse().map_err(|_| match revision::proposal_number(text) {
        Some(_) => format!(
            "{text} is a proposal; `edt undo` takes a number of edits, and `edt show {text}` shows \
             the proposal"
        ),
        None => "this is not a number of edits; `edt undo --to` takes a revision".to_owned(),
    })
}

fn moved(
    context: &Context,
    (done, would): (&str, &str),
    go: impl FnOnce(&mut LockedWorkspace, &Session) -> Result<BranchMove>,
) -> Result<Status> {
    let mut workspace = context.workspace()?;
    let head = workspace.repo.head()?;
    let session = Session::required(&workspace.repo, &head)?;
    let moved = go(&mut workspace, &session)?;
    let verb = match moved.dry_run {
        DryRun::Yes => would,
        DryRun::No => {
            workspace.observe_undone(moved.from, moved.to);
            done
        }
    };
    let outcome = moved.outcome(&workspace, session)?;
    Ok(context.outcome(&outcome, |outcome| render::moved(outcome, verb)))
}
