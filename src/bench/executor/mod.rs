//! Executors: who carries an attempt out. The family [`EXECUTORS`], one file each.

pub mod chat;
pub mod program;
pub mod replay;

use std::path::Path;
use std::time::Duration;

use super::protocol::Brief;
use super::record::{Ended, Usage};
use super::scene::Scene;
use super::task::Task;
use crate::base::{Code, Finding, Result};

/// Carries out attempts at one task, one after the other.
pub trait Executor {
    /// One attempt: whatever the agent does is done in `scene`.
    ///
    /// # Errors
    /// What keeps the benchmark from going on. What the agent does wrong is an [`Ended`], no error.
    fn attempt(&mut self, scene: &mut Scene<'_>, brief: &Brief) -> Result<Attempted>;

    /// No attempt comes any more.
    fn end(&mut self) {}
}

/// What came of the agent's part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attempted {
    /// How it ended.
    pub ended: Ended,
    /// Lines that were no message.
    pub malformed: u32,
    /// What it cost.
    pub usage: Usage,
    /// What it complained of.
    pub complaint: Option<String>,
    /// What it said, line by line: a recording that can be played again.
    pub said: Vec<String>,
}

/// What an executor is made for.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// What `--agent` says.
    pub agent: &'a str,
    /// The task.
    pub task: &'a Task,
    /// The suite's folder.
    pub suite: &'a Path,
    /// The folder that the benchmark was started in.
    pub start: &'a Path,
    /// The longest that an attempt may take.
    pub limit: Duration,
    /// The key of a model's server.
    pub key: Option<&'a chat::secret::Secret>,
}

/// One kind of executor.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What `--agent` says to choose it, and what it does.
    pub about: &'static str,
    /// Whether `--agent` chooses it.
    pub fits: fn(&str) -> bool,
    /// Makes it.
    pub make: fn(&Setting<'_>) -> Result<Box<dyn Executor>>,
}

/// Every kind. The first that fits is taken.
pub const EXECUTORS: &[Kind] = &[replay::KIND, chat::KIND, program::KIND];

/// The executor that `setting` asks for.
///
/// # Errors
/// `BAD_REQUEST` if nothing is asked for; what making it answers.
pub fn of(setting: &Setting<'_>) -> Result<Box<dyn Executor>> {
    let Some(kind) = EXECUTORS.iter().find(|kind| (kind.fits)(setting.agent)) else {
        let message = "There is no agent: neither --agent nor the suite names one.";
        let hint = "Name one: --agent 'python3 agent.py', --agent openai:MODEL, or --agent replay.";
        return Err(Finding::new(Code::BadRequest, message, hint).into());
    };
    (kind.make)(setting)
}
