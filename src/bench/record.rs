//! What is kept of a unit: plain figures, from which every report is made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::Unit;

/// What came of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The unit.
    pub unit: Unit,
    /// Its tasks, in the order in which they were worked on.
    pub runs: Vec<TaskRun>,
    /// How long it took, in milliseconds: the only thing here that may differ from run to run.
    pub ms: u64,
}

/// What came of one task in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRun {
    /// The task.
    pub task: String,
    /// Its class of mistakes.
    pub class: Option<String>,
    /// The session, from 1.
    pub session: u32,
    /// Whether it only taught: then it counts in no figure.
    pub teaches: bool,
    /// How many episodes were known before it.
    pub episodes: usize,
    /// Its attempts.
    pub attempts: Vec<Attempt>,
    /// The calls of a recorded session that are marked.
    pub trace: Vec<Traced>,
}

/// One attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Whether the judge was content.
    pub pass: bool,
    /// How much, from 0 to 1.
    pub score: f64,
    /// What the judge said, shortened.
    pub feedback: String,
    /// How the agent's part ended.
    pub ended: Ended,
    /// The end of what the agent complained of, where it did not end well.
    pub complaint: Option<String>,
    /// Calls of the agent, by their names.
    pub calls: BTreeMap<String, u32>,
    /// Lines of the agent that were no message.
    pub malformed: u32,
    /// Edits that were sent.
    pub sent: u32,
    /// Of those, edits that could be read as what they claim to be.
    pub parsed: u32,
    /// Of those, edits that landed.
    pub landed: u32,
    /// Edits that were the last to land on a file which then had other bytes than expected, in an attempt that was judged wrong though no
    /// refusal stood.
    pub silent: u32,
    /// Refusals by their codes.
    pub refusals: BTreeMap<String, u32>,
    /// For each refusal that was recovered from: calls up to and with the next edit that landed, over the ends of attempts.
    pub recoveries: Vec<u32>,
    /// Whether it ended after a refusal of an edit, and before another landed.
    pub stuck: bool,
    /// Bytes changed outside the intended region; `None` if the task does not say where that is.
    pub outside: Option<u64>,
    /// Edits that only guards refused.
    pub guarded: u32,
    /// Of those, edits that were tried without guards.
    pub tried_without: u32,
    /// Of those, edits that would have made the task pass.
    pub harmful: u32,
    /// Lessons given before the attempt.
    pub priors: u32,
    /// Lessons given in refusals.
    pub lessons: u32,
    /// What it cost.
    pub usage: Usage,
}

/// What an attempt cost, as far as the agent says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Its price, in US dollars.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Whether an attempt can have cost that: up to 2^53 tokens and a million dollars.
    #[must_use]
    pub fn is_believable(&self) -> bool {
        let tokens = [self.input_tokens, self.output_tokens];
        tokens.into_iter().flatten().all(|tokens| tokens <= 1 << 53)
            && self.cost_usd.is_none_or(|cost| (0.0..=1e6).contains(&cost))
    }
}

/// How an agent's part in an attempt ended.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It said that it is done.
    #[default]
    Done,
    /// It ended without saying so.
    Died,
    /// It could not be started.
    NotStarted,
    /// Its time was over.
    TimedOut,
    /// It wrote more than it may.
    Flooded,
    /// It sent too many lines that are no message.
    Babbled,
    /// A recorded session has no further attempt.
    Exhausted,
    /// It left a worktree that cannot be read.
    Ruined,
}

impl Ended {
    /// Every way.
    pub const ALL: [Ended; 8] = [
        Ended::Done,
        Ended::Died,
        Ended::NotStarted,
        Ended::TimedOut,
        Ended::Flooded,
        Ended::Babbled,
        Ended::Exhausted,
        Ended::Ruined,
    ];

    /// The name, as on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Ended::Done => "done",
            Ended::Died => "died",
            Ended::NotStarted => "not_started",
            Ended::TimedOut => "timed_out",
            Ended::Flooded => "flooded",
            Ended::Babbled => "babbled",
            Ended::Exhausted => "exhausted",
            Ended::Ruined => "ruined",
        }
    }
}

/// A marked call of a recorded session, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traced {
    /// Its number in the trace.
    pub call: u32,
    /// What kind of call it is.
    pub kind: String,
    /// The calls of the other recording that it stands for.
    pub instead_of: Vec<u32>,
    /// What was called, in a line.
    pub called: String,
    /// What was answered: a status, or the first code.
    pub answer: String,
    /// How many bytes the watched file has after it, if there is one.
    pub bytes: Option<u64>,
}

impl TaskRun {
    /// The attempt that passed, from 1.
    #[must_use]
    pub fn passed_at(&self) -> Option<u32> {
        self.attempts.iter().position(|one| one.pass).and_then(|at| u32::try_from(at + 1).ok())
    }
}
