//! `edt land` and `edt abandon`, which end a session.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render::details;
use super::render::{self, GOOD, NAME, paint, short};
use edt_agents::hook::who::Who;
use edt_core::proposal::landing::{self, PlainCommits};
use edt_core::session::Session;
use edt_core::session::abandon::abandon;
use edt_core::session::diff_report;
use edt_core::session::land::land;
use edt_core::session::land_options::LandOptions;
use edt_types::text::counted;
use edt_types::{Outcome, Refusal, Result, Status};

/// Land the session: squash it into one commit on the branch it began from, merged if that branch
/// moved. Git's commit hooks run.
///
/// The commit is made in the worktree that has the branch checked out; if none has, HEAD switches
/// to it. The user's own commits on the session's branch stay separate commits. The session's
/// branch stays until `edt gc`.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt land -m 'Fix the parser'\n  edt land --into main")]
pub(super) struct Args {
    /// The commit's message; generated from the session's edits if omitted.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Override a guard that edt's pre-commit hook, if installed, applies to the squashed session.
    #[arg(long, value_name = "CODE")]
    #[serde(default)]
    allow: Vec<String>,
    /// The branch to land on; the branch on which the session began if omitted.
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
}

/// Abandon the session: HEAD and files return to their state before it. The work stays at
/// refs/edt/NAME/abandoned.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt abandon\n  git branch edt/NAME refs/edt/NAME/abandoned   # restores its branch"
)]
pub(super) struct AbandonArgs {}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut workspace = context.workspace()?;
        let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
        if context.who() != Who::User {
            let policy = workspace.policy(workspace.repo.tree_of(session.base)?)?;
            Refusal::check(landing::unapproved_paths(
                &workspace.repo,
                &policy,
                &session,
                PlainCommits::ByUser,
            )?)?;
        }
        let landed = land(
            &mut workspace,
            &session,
            &LandOptions {
                into: self.into.clone(),
                message: self.message.clone(),
                allow: self.allow.clone(),
            },
        )?;
        let (into, made) = (landed.target.short().to_owned(), landed.commits.len());
        let (edits, elsewhere) = (landed.edits, landed.elsewhere.clone());
        let outcome = landed.outcome(&workspace, &session)?;
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::recovered(outcome.recovered.as_ref());
            let (branch, commit) =
                (format!("edt/{}", session.name), outcome.commit.as_deref().unwrap_or_default());
            let count = counted(edits, "edit");
            let _ = write!(
                out,
                "{}: {count} of {} on {}",
                paint(GOOD, "landed"),
                paint(NAME, &branch),
                paint(NAME, &into)
            );
            let _ = writeln!(
                out,
                " as {}{}",
                short(commit),
                if made > 1 { format!(" ({made} commits)") } else { String::new() }
            );
            if let Some(root) = &elsewhere {
                let _ = writeln!(out, "  in {}, where {into} is checked out", root.display());
            }
            details(&mut out, outcome);
            out
        }))
    }
}

pub(super) fn run_abandon(context: &Context) -> Result<Status> {
    let mut workspace = context.workspace()?;
    let session = Session::required(&workspace.repo, &workspace.repo.head()?)?;
    let left = abandon(&mut workspace, &session)?;
    workspace.observe_undone(session.tip, session.base);
    let mut outcome = Outcome::new(Status::Applied);
    outcome.session = Some(session.report(false));
    outcome.commit = Some(left.tip.to_string());
    outcome.parent = Some(session.tip.to_string());
    outcome.checkpoints = left.checkpoints.iter().map(ToString::to_string).collect();
    outcome.files = diff_report::files(&workspace.repo, &left.paths)?;
    outcome.warnings = left.warnings;
    outcome.recovered.clone_from(&workspace.recovered);
    Ok(context.outcome(&outcome, |outcome| {
        let mut out = render::recovered(outcome.recovered.as_ref());
        let place = left.onto.as_deref().map_or_else(String::new, |onto| {
            format!("; HEAD is on {}", onto.strip_prefix("refs/heads/").unwrap_or(onto))
        });
        let branch = format!("edt/{}", session.name);
        let _ = writeln!(
            out,
            "{} {}{place}. Its work stays at {}",
            paint(GOOD, "abandoned"),
            paint(NAME, &branch),
            left.kept
        );
        details(&mut out, outcome);
        out
    }))
}
