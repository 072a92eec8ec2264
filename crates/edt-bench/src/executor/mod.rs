//! Executors: the ways to run an agent. The family [`EXECUTORS`], one file each.

pub mod chat;
pub mod program;
pub mod replay;

use std::path::Path;
use std::time::Duration;

use super::agent_tools::AgentTools;
use super::protocol::AttemptBrief;
use super::results::{AttemptEnd, TokenUsage};
use super::task::Task;
use edt_types::{Code, Finding, Result};

/// Runs an agent on the attempts at one task.
pub trait Executor {
    /// Runs one attempt; the agent works through `tools`.
    ///
    /// # Errors
    /// Errors that stop the benchmark. Mistakes of the agent are an [`AttemptEnd`] instead.
    fn attempt(&mut self, tools: &mut AgentTools<'_>, brief: &AttemptBrief) -> Result<AgentResult>;

    /// No further attempt follows.
    fn end(&mut self) {}
}

/// The agent's part in the results of an attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentResult {
    pub ended: AttemptEnd,
    /// Lines that were not messages.
    pub malformed: u32,
    pub usage: TokenUsage,
    /// If the agent did not end well: how it ended and the end of its standard error.
    pub complaint: Option<String>,
    /// Its messages line by line: a recording that can be replayed.
    pub transcript: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct ExecutorConfig<'a> {
    /// The text of `--agent`.
    pub agent: &'a str,
    pub task: &'a Task,
    /// The suite's directory.
    pub suite: &'a Path,
    /// The directory that the benchmark was started in.
    pub start: &'a Path,
    /// The time limit of an attempt.
    pub limit: Duration,
    /// The API key of the model's server.
    pub key: Option<&'a chat::secret::Secret>,
}

pub struct ExecutorKind {
    pub name: &'static str,
    /// The value of `--agent` that selects it, and what it does.
    pub about: &'static str,
    /// Whether this value of `--agent` selects it.
    pub matches: fn(&str) -> bool,
    pub create: fn(&ExecutorConfig<'_>) -> Result<Box<dyn Executor>>,
}

/// The first that matches is taken.
pub const EXECUTORS: &[ExecutorKind] = &[replay::KIND, chat::KIND, program::KIND];

/// # Errors
/// `BAD_REQUEST` if no agent is named; the errors of [`ExecutorKind::create`].
pub fn for_agent(config: &ExecutorConfig<'_>) -> Result<Box<dyn Executor>> {
    let Some(kind) = EXECUTORS.iter().find(|kind| (kind.matches)(config.agent)) else {
        let summary = "Neither --agent nor the suite names an agent.";
        let remedy =
            "Name one: --agent 'python3 agent.py', --agent openai:MODEL, or --agent replay.";
        return Err(Finding::new(Code::BadRequest, summary, remedy).into());
    };
    (kind.create)(config)
}
