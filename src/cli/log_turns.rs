//! The turns of a session, for `edt log --by-turn`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Context;
use super::render::{DIM, NAME, paint};
use edt_agents::hook::who::Who;
use edt_core::session::refs::commit::Commit;
use edt_core::session::turns::{SessionTurn, session_turns};
use edt_core::session::views::file_diff;
use edt_git::Repo;
use edt_io::{Environment, clock};
use edt_types::Result;
use edt_types::text::escape_controls;

/// The most paths that a line names.
const MAX_NAMED: usize = 5;

/// One turn: a prompt of the user, and the edits that the agent made for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct PromptEdits {
    /// Its number in the session; null for edits whose agent's program named no turn.
    turn: Option<u64>,
    /// The first line of the prompt, if the agent's hook sent it to edt here. Only the user at a
    /// terminal and the turn's own agent get it.
    title: Option<String>,
    /// The agent.
    agent: Option<String>,
    /// The model.
    model: Option<String>,
    /// The agent's name for the conversation.
    conversation: Option<String>,
    /// The time of the prompt, or else of the first edit, in seconds since 1970.
    time: i64,
    /// Its edits, newest first.
    edits: Vec<TurnEdit>,
}

/// An edit of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct TurnEdit {
    /// Its number.
    edit: u64,
    /// Its commit, as a hex object id.
    commit: String,
    /// The first line of its message.
    subject: String,
    /// How many lines it added. Of a commit with several edits, all lines are counted.
    lines_added: u64,
    /// How many lines it removed.
    lines_removed: u64,
    /// The paths that it changed.
    paths: Vec<String>,
}

/// The turns of the edits in `commits`, which are newest first. Only the user and the turn's own
/// agent get a prompt.
pub(super) fn of(
    repo: &Repo,
    name: &str,
    commits: &[Commit],
    context: &Context,
) -> Result<Vec<PromptEdits>> {
    let is_user = context.who() == Who::User;
    let gets = |turn: &&SessionTurn| is_user || context.agent().is_some_and(|own| turn.is_of(own));
    let known = session_turns::known(repo, name);
    let mut turns: Vec<PromptEdits> = Vec::new();
    for commit in commits {
        for unit in commit.units().into_iter().rev().filter(Commit::is_edit) {
            let Some(by) = &unit.trailers else { continue };
            let edit = edit(repo, &unit, by.edit)?;
            let same = |one: &PromptEdits| match by.turn {
                Some(_) => one.turn == by.turn,
                None => one.turn.is_none() && one.agent == by.agent,
            };
            // Edits without a turn belong together only if they follow each other.
            let from = if by.turn.is_some() { 0 } else { turns.len().saturating_sub(1) };
            if let Some(turn) = turns[from..].iter_mut().find(|one| same(one)) {
                turn.edits.push(edit);
                continue;
            }
            let stored: Option<&SessionTurn> =
                known.iter().find(|turn| Some(turn.number) == by.turn);
            turns.push(PromptEdits {
                turn: by.turn,
                title: stored.filter(gets).and_then(|turn| turn.title.clone()),
                agent: by.agent.clone(),
                model: by.model.clone(),
                conversation: by.conversation.clone(),
                time: stored.map_or(unit.authored_at, |turn| turn.time),
                edits: vec![edit],
            });
        }
    }
    Ok(turns)
}

fn edit(repo: &Repo, commit: &Commit, number: u64) -> Result<TurnEdit> {
    let files = file_diff::between(repo, commit.parent_tree(repo)?, commit.tree)?;
    Ok(TurnEdit {
        edit: number,
        commit: commit.oid.to_string(),
        subject: commit.subject().to_owned(),
        lines_added: files.iter().map(|file| file.lines_added).sum(),
        lines_removed: files.iter().map(|file| file.lines_removed).sum(),
        paths: files.into_iter().map(|file| file.path).collect(),
    })
}

/// The turns as text.
pub(super) fn render_human(turns: &[PromptEdits]) -> String {
    let mut out = String::new();
    for turn in turns {
        let number = turn.turn.map_or_else(|| "no turn".to_owned(), |turn| format!("turn {turn}"));
        let by: Vec<&str> =
            [&turn.agent, &turn.model].into_iter().flatten().map(String::as_str).collect();
        let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
        let time = clock::local_minute(Environment::Process, turn.time);
        let title = turn.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default();
        let _ = writeln!(
            out,
            "{} {}{}{}",
            paint(NAME, &number),
            paint(DIM, &time),
            escape_controls(&title).0,
            paint(DIM, &escape_controls(&by).0)
        );
        for edit in &turn.edits {
            let mut paths: Vec<&str> =
                edit.paths.iter().take(MAX_NAMED).map(String::as_str).collect();
            let more = format!("and {} more", edit.paths.len() - paths.len());
            paths.extend((edit.paths.len() > paths.len()).then_some(more.as_str()));
            let text = format!(
                "{:>4} {}  +{} -{}  {}",
                edit.edit,
                edit.subject,
                edit.lines_added,
                edit.lines_removed,
                paths.join(", ")
            );
            let _ = writeln!(out, "{}", escape_controls(text.trim_end()).0);
        }
    }
    out
}
