//! `edt begin`.

use super::context::Context;
use super::render::{self, GOOD, NAME, paint};
use crate::base::{Outcome, Result, Status};
use crate::session::begin::{self, Begin, Switching};

/// Start a session: a shadow branch edt/NAME at HEAD, with HEAD switched to it. No file changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt begin fix-parser\n  edt begin --no-switch")]
pub(super) struct Args {
    /// The session's name; <branch>-<n> if not given.
    name: Option<String>,
    /// Leave HEAD and the index alone; edits show as uncommitted changes.
    #[arg(long)]
    no_switch: bool,
    /// The commit it begins from; HEAD if not given.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut world = context.world()?;
        let switching = if self.no_switch { Switching::Never } else { Switching::AsConfigured };
        let (session, warnings) =
            begin::begin(&mut world, &Begin { name: self.name.clone(), switching, base: self.base.clone() })?;
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(true));
        outcome.warnings = warnings;
        outcome.settled.clone_from(&world.settled);
        let branch = format!("edt/{}", session.name);
        Ok(context.outcome(&outcome, |outcome| {
            let begun = render::settled(outcome.settled.as_ref());
            format!("{begun}{} {} at {}", paint(GOOD, "begun"), paint(NAME, &branch), session.base.to_hex_with_len(12))
        }))
    }
}
