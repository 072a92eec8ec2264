//! `edt forget`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, NAME, NOTE, paint, short};
use super::terminal_user;
use edt_agents::hook::install;
use edt_agents::hook::plumbing::Git;
use edt_agents::hook::step::{HookAction, HookStep};
use edt_core::session::collection::forget::{Traces, forget, traces};
use edt_types::text::{Shown as _, counted};
use edt_types::{DryRun, Result, Status};

/// Take edt out of this repository: its refs, the branches of its sessions, its Git hooks, and its
/// own files in the Git directory. Lists them first and asks; needs a terminal.
///
/// Commits that landed stay. No file of a worktree changes. Work that has not landed is lost when
/// Git prunes its objects; what edt kept of ignored files, and the refused edits, are lost at once.
/// An agent that `edt setup` connected stays connected: `edt setup AGENT --remove` ends that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  edt forget --dry-run\n  edt forget")]
pub(super) struct Args {
    /// List what would be removed; remove nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The answer of `edt forget`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.forget/1`.
    schema: &'static str,
    /// Whether nothing was removed: a dry run, or the user did not agree.
    dry_run: bool,
    /// The sessions with work that has not landed.
    open: Vec<OpenSession>,
    /// The refs and branches, with their objects.
    refs: Vec<ForgottenRef>,
    /// The Git hooks.
    hooks: Vec<String>,
    /// The directory of edt's own files; null if there is none.
    directory: Option<String>,
}

/// A session with work that has not landed.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenSession {
    /// Its name.
    name: String,
    /// How many edits it has.
    edits: u64,
}

/// A ref or a branch.
#[derive(Debug, Serialize, JsonSchema)]
struct ForgottenRef {
    /// Its full name.
    name: String,
    /// Its object, as hex. `git branch NAME OBJECT` restores a branch while Git keeps the object.
    object: String,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let workspace = context.workspace()?;
        let seen = traces(&workspace.repo)?;
        let git = Git::at(&context.start);
        let mut answer = Answer::of(&seen, &git)?;
        if !self.dry_run {
            terminal_user::require_terminal("edt forget")?;
            let question = format!("{}\nRemove all of it? Type yes: ", render_human(&answer));
            if terminal_user::confirm(&question) {
                install::uninstall(&git, DryRun::No)?;
                forget(workspace, &seen)?;
                answer.dry_run = false;
            }
        }
        Ok(context.answer(&answer, render_human))
    }
}

impl Answer {
    /// What would be removed.
    fn of(seen: &Traces, git: &Git) -> Result<Answer> {
        let (_, steps) = install::uninstall(git, DryRun::Yes)?;
        let goes =
            |step: &HookStep| matches!(step.action, HookAction::Removed | HookAction::Restored);
        let open =
            seen.open.iter().map(|(name, edits)| OpenSession { name: name.clone(), edits: *edits });
        let refs = seen
            .refs
            .iter()
            .map(|(name, oid)| ForgottenRef { name: name.clone(), object: oid.to_string() });
        Ok(Answer {
            schema: "edt.forget/1",
            dry_run: true,
            open: open.collect(),
            refs: refs.collect(),
            hooks: steps.into_iter().filter(goes).map(|step| step.hook).collect(),
            directory: seen.directory.as_ref().map(|path| path.to_string_lossy().into_owned()),
        })
    }
}

fn render_human(answer: &Answer) -> String {
    let word = if answer.dry_run { "would remove" } else { "removed" };
    let mut out = String::new();
    for OpenSession { name, edits: count } in &answer.open {
        let work = format!("{name} has not landed: {}", counted(*count, "edit"));
        let _ = writeln!(out, "{}", paint(NOTE, &work));
    }
    for ForgottenRef { name, object } in &answer.refs {
        let _ = writeln!(out, "{word} {} {}", short(object), paint(NAME, &name.shown()));
    }
    for hook in &answer.hooks {
        let _ = writeln!(out, "{word} the hook {}", paint(NAME, hook));
    }
    if let Some(directory) = &answer.directory {
        let _ = writeln!(out, "{word} {}", paint(DIM, &directory.shown()));
    }
    if out.is_empty() {
        out.push_str("edt has nothing in this repository\n");
    }
    out
}
