//! `edt land` and `edt abandon`: how a session ends.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render::details;
use super::render::{self, GOOD, NAME, paint, short};
use crate::base::{Findings, Outcome, Result, Status};
use crate::hook::who::Who;
use crate::proposal::landing::{self, Plain};
use crate::session::Session;
use crate::session::abandon::abandon;
use crate::session::changed;
use crate::session::land::{Land, land};
use crate::txn::remember;

/// Land the session: one commit on the branch it began from, merged if that branch moved. Git's own commit hooks judge it.
///
/// The commit is made where that branch is checked out; if that is nowhere, HEAD goes there. A commit that a person made on the
/// session's branch stays a commit of its own. The session's branch stays, until `edt gc`.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(after_help = "Example:\n  edt land -m 'Fix the parser'\n  edt land --into main")]
pub(super) struct Args {
    /// The commit's message; made from the session's edits if not given.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Override a guard that edt's pre-commit hook, if it is installed, applies to the session as a whole.
    #[arg(long, value_name = "CODE")]
    #[serde(default)]
    allow: Vec<String>,
    /// The branch to land on; the one the session began on if not given.
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
}

/// Leave the session: HEAD and files go back to what they were before it. The work stays at refs/edt/NAME/abandoned.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  edt abandon\n  git branch edt/NAME refs/edt/NAME/abandoned   # and here it is again"
)]
pub(super) struct AbandonArgs {}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let mut world = context.world()?;
        let session = Session::needed(&world.repo, &world.repo.head()?)?;
        if context.who() != Who::Person {
            let policy = world.policy(world.repo.tree_of(session.base)?)?;
            Findings::check(landing::uncovered(&world.repo, &policy, &session, Plain::Person)?)?;
        }
        let landed = land(
            &mut world,
            &session,
            &Land {
                into: self.into.clone(),
                message: self.message.clone(),
                allow: self.allow.clone(),
            },
        )?;
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(false));
        outcome.commit = Some(landed.commit.to_string());
        outcome.parent = landed.target.tip.map(|tip| tip.to_string());
        outcome.edit = Some(landed.edits);
        outcome.files = changed::files(&world.repo, &landed.paths)?;
        outcome.warnings = landed.warnings;
        outcome.settled = world.settled.clone().or(landed.settled);
        let (into, made) = (landed.target.short().to_owned(), landed.made.len());
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::settled(outcome.settled.as_ref());
            let (branch, commit) =
                (format!("edt/{}", session.name), outcome.commit.as_deref().unwrap_or_default());
            let edits = if landed.edits == 1 {
                "1 edit".to_owned()
            } else {
                format!("{} edits", landed.edits)
            };
            let _ = write!(
                out,
                "{}: {edits} of {} on {}",
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
            if let Some(root) = &landed.elsewhere {
                let _ = writeln!(out, "  in {}, where {into} is checked out", root.display());
            }
            details(&mut out, outcome);
            out
        }))
    }
}

pub(super) fn run_abandon(context: &Context) -> Result<Status> {
    let mut world = context.world()?;
    let session = Session::needed(&world.repo, &world.repo.head()?)?;
    let left = abandon(&mut world, &session)?;
    remember::undone(&mut world, session.tip, session.base);
    let mut outcome = Outcome::new(Status::Applied);
    outcome.session = Some(session.report(false));
    outcome.commit = Some(left.tip.to_string());
    outcome.parent = Some(session.tip.to_string());
    outcome.checkpoints = left.checkpoints.iter().map(ToString::to_string).collect();
    outcome.files = changed::files(&world.repo, &left.paths)?;
    outcome.warnings = left.warnings;
    outcome.settled.clone_from(&world.settled);
    Ok(context.outcome(&outcome, |outcome| {
        let mut out = render::settled(outcome.settled.as_ref());
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
