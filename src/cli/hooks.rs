//! `edt hooks`.

use std::fmt::Write as _;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, GOOD, NAME, NOTE, paint};
use crate::base::{Result, Status};
use crate::hook::install::{self, Did, Force, Run, Step};
use crate::hook::place::Place;
use crate::hook::plumbing::Git;

/// Put Git's hooks in place that block destructive commits, beside what is there; take them away exactly; tell what is in place.
///
/// pre-commit, pre-push and reference-transaction in a repository that someone works in, pre-receive in a bare one. A hook
/// that stands there is called first. `docs/hooks.md` tells what each stops, and what none can.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt hooks install\n  edt hooks status\n  edt hooks uninstall")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Put them in place.
    Install {
        /// Tell what would be done; change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Also into a hooks folder that others use, too.
        #[arg(long)]
        force: bool,
    },
    /// Take them away; what stood there before stands there again.
    Uninstall {
        /// Tell what would be done; change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Tell what is in place. `edt doctor` tries whether it is live.
    Status,
}

/// The answer of `edt hooks`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.hooks/1`.
    schema: &'static str,
    /// `install`, `uninstall` or `status`.
    action: &'static str,
    /// Whether it was only told.
    dry_run: bool,
    /// `files` in the hooks folder, or Git's own `config` (Git 2.54 and newer).
    mechanism: &'static str,
    /// The folder that Git runs hooks from.
    folder: String,
    /// Each hook, and what became of it.
    steps: Vec<Step>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let git = Git::at(&context.start);
        let run = |dry| if dry { Run::Dry } else { Run::Real };
        let (action, dry_run, (place, steps)) = match self.what {
            What::Install { dry_run, force } => {
                let force = if force { Force::Yes } else { Force::No };
                ("install", dry_run, install::install(&git, force, run(dry_run))?)
            }
            What::Uninstall { dry_run } => {
                ("uninstall", dry_run, install::uninstall(&git, run(dry_run))?)
            }
            What::Status => ("status", false, install::status(&git)?),
        };
        Ok(context.answer(&answer(action, dry_run, &place, steps), people))
    }
}

fn answer(action: &'static str, dry_run: bool, place: &Place, steps: Vec<Step>) -> Answer {
    Answer {
        schema: "edt.hooks/1",
        action,
        dry_run,
        mechanism: place.mechanism().name(),
        folder: place.hooks.display().to_string(),
        steps,
    }
}

fn people(answer: &Answer) -> String {
    let mut out = String::new();
    if answer.dry_run {
        let _ = writeln!(out, "{}", paint(NOTE, "dry run: nothing was changed"));
    }
    for Step { hook, place, did, detail } in &answer.steps {
        let (style, word) = match did {
            Did::Installed => (GOOD, "installed"),
            Did::Chained => (GOOD, "installed, after the hook that stood there"),
            Did::Updated => (GOOD, "updated"),
            Did::Unchanged => (DIM, "unchanged"),
            Did::Removed => (GOOD, "removed"),
            Did::Restored => (GOOD, "removed; the hook that stood there before is back"),
            Did::Left => (NOTE, "left alone"),
            Did::Absent => (NOTE, "not installed"),
        };
        let detail = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let _ = writeln!(
            out,
            "{} {}{detail} {}",
            paint(NAME, hook),
            paint(style, word),
            paint(DIM, place)
        );
    }
    if answer.steps.is_empty() {
        let _ = writeln!(out, "there are no hooks of edt's here");
    }
    out
}
