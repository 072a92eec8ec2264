//! The refusals between the edits that `edt log` lists.

use schemars::JsonSchema;
use serde::Serialize;

use super::render::{BAD, DIM, paint};
use edt_core::session::views::refusal_stats::Refusals;
use edt_core::session::views::stats::StatsFilter;
use edt_git::Repo;
use edt_journal::refusals::Recorded;
use edt_types::text::escape_controls;

/// The most refusals that are listed.
const MAX_LISTED: usize = 200;

/// A refused call of the session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct RefusedLine {
    /// Its name in the record of refusals.
    id: String,
    /// When, in seconds since 1970.
    pub(super) time: i64,
    /// `apply`, `command` for one of an agent's own shell, or the name of edt's command.
    call: String,
    /// The codes of its findings.
    codes: Vec<String>,
    /// The paths that it is about.
    paths: Vec<String>,
    /// The program of the refused command and its subcommand: no argument is recorded.
    command: Option<String>,
    /// The agent that made the call.
    agent: Option<String>,
    /// The model that the agent's program named.
    model: Option<String>,
    /// The turn of the session that it belongs to.
    turn: Option<u64>,
    /// How the next call about the same place ended: `landed`, `overridden` or `refused_again`;
    /// null if there was none.
    followed: Option<&'static str>,
    /// The commit of the edit that landed, as a hex object id.
    followed_by: Option<String>,
}

/// The refusals of the session `name`, newest first, since the time `since`; with a path, only those
/// about that file.
pub(super) fn of(
    repo: &Repo,
    name: &str,
    since: Option<i64>,
    path: Option<&str>,
) -> Vec<RefusedLine> {
    let filter = StatsFilter { session: Some(name.to_owned()), since, ..StatsFilter::default() };
    let all = Refusals::of(repo, &filter).into_vec().into_iter().rev();
    let is_about = |one: &Recorded| path.is_none_or(|path| one.refused.paths().contains(&path));
    all.filter(is_about).take(MAX_LISTED).map(line).collect()
}

fn line(one: Recorded) -> RefusedLine {
    let Recorded { refused, followed } = one;
    let paths = refused.paths().into_iter().map(str::to_owned).collect();
    RefusedLine {
        paths,
        codes: refused.findings.into_iter().map(|finding| finding.code).collect(),
        followed: followed.as_ref().and_then(|followed| followed.how.word()),
        followed_by: followed.and_then(|followed| followed.commit),
        id: refused.id,
        time: refused.time,
        call: refused.call,
        command: refused.command,
        agent: refused.agent,
        model: refused.model,
        turn: refused.turn,
    }
}

impl RefusedLine {
    /// The refusal on one line.
    pub(super) fn render_human(&self) -> String {
        let what = match &self.command {
            Some(command) => command.lines().next().unwrap_or_default().to_owned(),
            None if self.paths.is_empty() => format!("edt {}", self.call),
            None => self.paths.join(", "),
        };
        let mut codes = self.codes.clone();
        codes.dedup();
        let mut out =
            format!("   x {} {}", paint(BAD, &codes.join(", ")), escape_controls(&what).0);
        if let Some(agent) = &self.agent {
            out += &format!(" {}", paint(DIM, &format!("({})", escape_controls(agent).0)));
        }
        out
    }
}
