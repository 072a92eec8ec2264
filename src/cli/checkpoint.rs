//! `edt checkpoint`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::context::Context;
use super::render::{self, GOOD, NAME, paint, short};
use edt_agents::hook::who::Who;
use edt_core::session::recording::record;
use edt_types::{Code, Finding, Result, Status, WarningCode};

/// Commit the user's uncommitted changes (of tracked and new files, never of ignored ones) on the
/// session's branch, as the user's. Only the user may type it. `edt land` lands them as commits of
/// their own.
#[derive(Debug, clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[command(
    after_help = "Example:\n  edt checkpoint -m 'ran the code generator'\n  edt checkpoint src/generated"
)]
pub(super) struct Args {
    /// The commit's message.
    #[arg(short, long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Only these files, and the files below these directories.
    #[arg(value_name = "PATH")]
    #[serde(default)]
    paths: Vec<String>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let only = context.paths_or_all(self.paths.iter().map(String::as_bytes))?;
        if let who @ (Who::Agent(_) | Who::StartedBy(_)) = context.who() {
            return Err(users_alone(&who).into());
        }
        let mut workspace = context.workspace()?;
        let recorded = record::checkpoint(&mut workspace, self.message.as_deref(), &only)?;
        let outcome = recorded.outcome(&workspace);
        Ok(context.outcome(&outcome, |outcome| {
            let mut out = render::recovered(outcome.recovered.as_ref());
            match (&outcome.commit, &outcome.session) {
                (Some(commit), Some(session)) => {
                    let (count, branch) = (outcome.files.len(), paint(NAME, &session.branch));
                    out += &format!(
                        "{} {count} changed on {branch} as {}\n",
                        paint(GOOD, "recorded"),
                        short(commit)
                    );
                }
                _ if outcome
                    .warnings
                    .iter()
                    .any(|warning| warning.code == WarningCode::LeftOut) =>
                {
                    out += "unchanged: every changed path was left out\n";
                }
                _ => out += "unchanged: nothing differs from the session's last commit\n",
            }
            render::files_and_warnings(&mut out, outcome);
            out
        }))
    }
}

/// The refusal to commit the user's text for an agent.
fn users_alone(who: &Who) -> Finding {
    Finding::new(
        Code::ApprovalRequired,
        format!("`edt checkpoint` commits the user's own text; this is {}.", who.reason()),
        "Ask the user to type `edt checkpoint` in their own terminal. Your own changes need none: \
         `edt apply` and `edt run` commit them.",
    )
    .nothing_changed()
}
