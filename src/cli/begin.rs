//! `edt begin`.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::render::{self, GOOD, NAME, paint};
use crate::base::{Outcome, Result, Status};
use crate::io::failed;
use crate::session::begin::{self, Begin, Switching};

/// Start a session: a shadow branch edt/NAME at HEAD, with HEAD switched to it. No file changes.
///
/// With --worktree the session gets a folder of its own, so that several agents work side by side in one repository.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt begin fix-parser\n  edt begin --no-switch\n  edt begin fix-lexer --worktree ../fix-lexer"
)]
pub(super) struct Args {
    /// The session's name; <branch>-<n> if not given.
    name: Option<String>,
    /// Leave HEAD and the index alone; edits show as uncommitted changes.
    #[arg(long)]
    no_switch: bool,
    /// Work in a new linked worktree in DIR instead; this one stays as it is.
    #[arg(long, value_name = "DIR", conflicts_with = "no_switch")]
    worktree: Option<PathBuf>,
    /// The commit it begins from; HEAD if not given.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut world = context.world()?;
        let switching = if self.no_switch { Switching::Never } else { Switching::AsConfigured };
        let how = Begin { name: self.name.clone(), switching, base: self.base.clone() };
        let place =
            self.worktree.as_ref().map(|place| absolute(&context.start.join(place))).transpose()?;
        let (session, warnings) = match &place {
            Some(place) => begin::begin_in(&mut world, &how, place)?,
            None => begin::begin(&mut world, &how)?,
        };
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(true));
        outcome.warnings = warnings;
        outcome.settled.clone_from(&world.settled);
        let branch = format!("edt/{}", session.name);
        Ok(context.outcome(&outcome, |outcome| {
            let begun = render::settled(outcome.settled.as_ref());
            let place = place.map_or_else(String::new, |place| format!(" in {}", place.display()));
            format!(
                "{begun}{} {} at {}{place}",
                paint(GOOD, "begun"),
                paint(NAME, &branch),
                session.base.to_hex_with_len(12)
            )
        }))
    }
}

/// `place` from where edt runs, not from the worktree's root.
fn absolute(place: &Path) -> Result<PathBuf> {
    std::path::absolute(place).map_err(|error| failed("find", place, &error).into())
}
