//! `edt checkpoint`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render::{self, GOOD, NAME, paint, short};
use crate::base::{Outcome, RepoPath, Result, Status};
use crate::session::changed;
use crate::session::checkpoint::Why;
use crate::session::record::record;

/// Record what changed outside edt (tracked and new files, not ignored ones) as one commit of the session.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt checkpoint -m 'ran the code generator'\n  edt checkpoint src/generated"
)]
pub(super) struct Args {
    /// The commit's message.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Only these files, or what lies below these folders.
    #[arg(value_name = "PATH")]
    #[serde(default)]
    paths: Vec<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let parse = |path: &String| {
            let path = path.trim_end_matches('/').as_bytes();
            RepoPath::parse(path).map_err(|problem| problem.finding(path).into())
        };
        // The worktree itself is everything.
        let all = self.paths.iter().any(|path| matches!(path.trim_end_matches('/'), "."));
        let named: &[String] = if all { &[] } else { &self.paths };
        let only = named.iter().map(parse).collect::<Result<Vec<RepoPath>>>()?;
        let mut world = context.world()?;
        let recorded = record(&mut world, Why::Asked(self.message.as_deref()), &only)?;
        let done = recorded.made.last();
        let mut outcome =
            Outcome::new(if done.is_some() { Status::Applied } else { Status::Unchanged });
        outcome.session = Some(recorded.session.report(recorded.began))
            .filter(|_| recorded.began || done.is_some());
        outcome.commit = done.map(ToString::to_string);
        outcome.parent = done.map(|_| recorded.parent.to_string());
        outcome.checkpoints = recorded.made.iter().map(ToString::to_string).collect();
        outcome.files = changed::files(&world.repo, &recorded.paths)?;
        outcome.warnings = recorded.warnings;
        outcome.settled.clone_from(&world.settled);
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::settled(outcome.settled.as_ref());
            match (&outcome.commit, &outcome.session) {
                (Some(commit), Some(session)) => {
                    let (count, branch) = (outcome.files.len(), paint(NAME, &session.branch));
                    out += &format!(
                        "{} {count} changed on {branch} as {}\n",
                        paint(GOOD, "recorded"),
                        short(commit)
                    );
                }
                _ if outcome.warnings.iter().any(|warning| warning.code == "left_out") => {
                    out += "unchanged: all that differs was left out\n";
                }
                _ => out += "unchanged: there is nothing to record\n",
            }
            render::files_and_warnings(&mut out, outcome);
            out
        }))
    }
}
