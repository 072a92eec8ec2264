//! `edt hooks`.

use edt_types::text::Shown as _;
use std::fmt::Write as _;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, GOOD, NAME, NOTE, paint};
use edt_agents::hook::install::{self, Force};
use edt_agents::hook::location::HooksLocation;
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::step::{HookAction, HookStep};
use edt_types::{DryRun, Result, Status};

/// Install Git hooks that block destructive commits, without replacing existing hooks; uninstall
/// them; show their status.
///
/// Installs pre-commit, pre-push and reference-transaction, or pre-receive in a bare repository. An
/// existing hook is called first. `docs/guide/hooks.md` says what each hook prevents, and what no hook
/// can.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt hooks install\n  edt hooks status\n  edt hooks uninstall")]
pub(super) struct Args {
    #[command(subcommand)]
    command: HooksCommand,
}

#[derive(Debug, Subcommand)]
enum HooksCommand {
    /// Install the hooks.
    Install {
        /// Show what would be done; change nothing.
        #[arg(long)]
        dry_run: bool,
        /// Install also into a hooks directory that other repositories use.
        #[arg(long)]
        force: bool,
    },
    /// Remove the hooks and restore the hooks that were there before.
    Uninstall {
        /// Show what would be done; change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Show which hooks are installed. `edt doctor` tests whether they are live.
    Status,
}

/// The answer of `edt hooks`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.hooks/1`.
    schema: &'static str,
    /// `install`, `uninstall` or `status`.
    action: &'static str,
    /// Whether this was a dry run.
    dry_run: bool,
    /// `files` in the hooks directory, or Git's own `config` (Git 2.54 and newer).
    mechanism: &'static str,
    /// The directory from which Git runs hooks.
    directory: String,
    /// What happened to each hook.
    steps: Vec<HookStep>,
}

impl Args {
    /// Whether it removes hooks.
    pub(super) const fn removes(&self) -> bool {
        matches!(self.command, HooksCommand::Uninstall { dry_run: false })
    }

    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let git = Git::at(&context.start);
        let run = |dry| if dry { DryRun::Yes } else { DryRun::No };
        let (action, dry_run, (location, steps)) = match self.command {
            HooksCommand::Install { dry_run, force } => {
                let force = if force { Force::Yes } else { Force::No };
                ("install", dry_run, install::install(&git, force, run(dry_run))?)
            }
            HooksCommand::Uninstall { dry_run } => {
                ("uninstall", dry_run, install::uninstall(&git, run(dry_run))?)
            }
            HooksCommand::Status => ("status", false, install::status(&git)?),
        };
        Ok(context.answer(&answer(action, dry_run, &location, steps), render_human))
    }
}

fn answer(
    action: &'static str,
    dry_run: bool,
    location: &HooksLocation,
    steps: Vec<HookStep>,
) -> Answer {
    Answer {
        schema: "edt.hooks/1",
        action,
        dry_run,
        mechanism: location.mechanism().name(),
        directory: location.hooks.to_string_lossy().into_owned(),
        steps,
    }
}

fn render_human(answer: &Answer) -> String {
    let mut out = String::new();
    if answer.dry_run {
        let _ = writeln!(out, "{}", paint(NOTE, "dry run: nothing was changed"));
    }
    for HookStep { hook, location, action, detail } in &answer.steps {
        let (style, word) = match action {
            HookAction::Installed => (GOOD, "installed"),
            HookAction::Chained => (GOOD, "installed; it runs after the existing hook"),
            HookAction::Updated => (GOOD, "updated"),
            HookAction::Unchanged => (DIM, "unchanged"),
            HookAction::Removed => (GOOD, "removed"),
            HookAction::Restored => (GOOD, "removed; the previous hook was restored"),
            HookAction::Left => (NOTE, "not touched"),
            HookAction::Absent => (NOTE, "not installed"),
        };
        let detail =
            detail.as_ref().map(|detail| format!(" ({})", detail.shown())).unwrap_or_default();
        let _ = writeln!(
            out,
            "{} {}{detail} {}",
            paint(NAME, hook),
            paint(style, word),
            paint(DIM, &location.shown())
        );
    }
    if answer.steps.is_empty() {
        let _ = writeln!(out, "edt has no hooks here");
    }
    out
}
