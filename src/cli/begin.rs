//! `edt begin`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::render::{self, GOOD, NAME, paint};
use super::terminal_user::require_plain_place;
use edt_agents::hook::who::Who;
use edt_core::session::worktree::begin::{self, BeginOptions, HeadSwitch};
use edt_io::failed;
use edt_types::text::Shown as _;
use edt_types::{Outcome, Result, Status};

/// Start a session: create a shadow branch edt/NAME at HEAD and switch HEAD to it. No file changes.
///
/// In a session, the new one starts from the user's branch, on which that session began, and the
/// files follow; the user's uncommitted changes stay. `edt switch` returns to the other session.
///
/// With --worktree the session gets its own directory, so that several agents can work in one
/// repository at the same time.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt begin fix-parser\n  edt begin --no-switch\n  edt begin fix-more --from fix-parser\n  edt begin fix-lexer --worktree ../fix-lexer"
)]
pub(super) struct Args {
    /// The session's name; <branch>-<n> if omitted.
    name: Option<String>,
    /// Do not switch HEAD or change the index; edits show as uncommitted changes.
    #[arg(long)]
    no_switch: bool,
    /// Create a new linked worktree in DIR for the session; this worktree does not change.
    #[arg(long, value_name = "DIR", conflicts_with = "no_switch")]
    worktree: Option<PathBuf>,
    /// Start from this session or revision; from HEAD, or in a session from the user's branch, if
    /// omitted.
    #[arg(long, value_name = "SESSION|REV", alias = "base")]
    from: Option<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.workspace()?;
        let switching = if self.no_switch { HeadSwitch::Never } else { HeadSwitch::AsConfigured };
        let by_user = context.who() == Who::User;
        let (name, from) = (self.name.clone(), self.from.clone());
        let how = BeginOptions { name, switching, from, by_user };
        let place =
            self.worktree.as_ref().map(|place| absolute(&context.start.join(place))).transpose()?;
        if let Some(place) = &place {
            let named = self.worktree.as_deref().unwrap_or(place).shown();
            let command = format!("edt begin --worktree {named}");
            require_plain_place(&command, workspace.repo.root_path(), place)?;
        }
        let begun = match &place {
            Some(place) => begin::begin_in_worktree(&mut workspace, &how, place)?,
            None => begin::begin(&mut workspace, &how)?,
        };
        let session = begun.session;
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(true));
        outcome.files = begun.files;
        outcome.warnings = begun.warnings;
        outcome.recovered.clone_from(&workspace.recovered);
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::recovered(outcome.recovered.as_ref());
            let place = place.map_or_else(String::new, |place| format!(" in {}", place.shown()));
            let _ = writeln!(
                out,
                "{} {} at {}{place}",
                paint(GOOD, "begun"),
                paint(NAME, session.short_branch()),
                session.base.to_hex_with_len(12)
            );
            render::files_and_warnings(&mut out, outcome);
            out
        }))
    }
}

/// `place` relative to the current directory, not to the worktree's root.
fn absolute(place: &Path) -> Result<PathBuf> {
    std::path::absolute(place).map_err(|error| failed("find", place, &error).into())
}
