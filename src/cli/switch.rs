//! `edt switch`.

use std::fmt::Write as _;

use super::complete;
use super::context::Context;
use super::render::{self, GOOD, NAME, paint};
use edt_core::session::Session;
use edt_core::session::worktree::switch::{self, Switched};
use edt_types::{Outcome, Result, Status};

/// Switch this worktree to another session, or leave the session without ending it.
///
/// Files that differ between the two are updated; the user's uncommitted changes stay on disk and
/// in the index, or the call is refused with `UNSAVED_CHANGES`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt switch fix-parser\n  edt switch --leave")]
pub(super) struct Args {
    /// The session's name, with or without edt/; `edt status` lists the sessions.
    #[arg(required_unless_present = "leave", add = complete::sessions())]
    name: Option<String>,
    /// Switch to the branch on which the session began instead. The session stays open.
    #[arg(long, conflicts_with = "name")]
    leave: bool,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.workspace()?;
        let (session, switched) = if let Some(name) = &self.name {
            let (session, switched) = switch::switch(&mut workspace, name)?;
            (Some(session), switched)
        } else {
            let running = Session::required(&workspace.repo, &workspace.repo.head()?)?;
            (None, Some(switch::leave(&mut workspace, &running)?))
        };
        context.forget_user_switch();
        let unchanged = switched.is_none();
        let Switched { left, onto, files, warnings } = switched.unwrap_or_default();
        let status = if unchanged { Status::Unchanged } else { Status::Applied };
        let mut outcome = Outcome::new(status);
        outcome.session = session.as_ref().map(|session| session.report(false));
        outcome.commit = session.as_ref().map(|session| session.tip.to_string());
        outcome.files = files;
        outcome.warnings = warnings;
        outcome.recovered.clone_from(&workspace.recovered);
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::recovered(outcome.recovered.as_ref());
            let (what, branch) = match (&session, &left) {
                (Some(session), _) if unchanged => ("already in", session.short_branch()),
                (Some(session), _) => ("switched to", session.short_branch()),
                (None, Some(left)) => ("left", left.short_branch()),
                (None, None) => ("left", ""),
            };
            let _ = write!(out, "{} {}", paint(GOOD, what), paint(NAME, branch));
            if let Some(onto) = onto.as_deref().filter(|_| session.is_none()) {
                let onto = onto.strip_prefix("refs/heads/").unwrap_or(onto);
                let _ = write!(out, "; HEAD is on {onto}");
            }
            out.push('\n');
            render::files_and_warnings(&mut out, outcome);
            out
        }))
    }
}
