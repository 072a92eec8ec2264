//! The results of a unit: plain numbers from which every report is made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::class::ErrorClass;
use super::plan::Unit;

/// The results of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitResult {
    pub unit: Unit,
    /// Its tasks in the order in which they were worked on.
    pub runs: Vec<TaskResult>,
    /// Its duration in milliseconds. Of all fields only this one may differ between equal runs.
    pub ms: u64,
}

/// The results of one task in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskResult {
    pub task: String,
    /// The class of mistakes that the task provokes.
    pub class: Option<String>,
    /// From 1.
    pub session: u32,
    /// Whether the task only taught; then it counts in no figure.
    pub teaches: bool,
    /// How many episodes the memory had before the task.
    pub episodes: usize,
    pub attempts: Vec<AttemptResult>,
    /// The marked calls of a recorded session.
    pub trace: Vec<MarkedCall>,
}

/// The results of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptResult {
    /// Whether the judge passed it.
    pub pass: bool,
    /// From 0 to 1.
    pub score: f64,
    /// The judge's feedback, shortened.
    pub feedback: String,
    /// The kind of mistake; `None` if it passed.
    pub error_class: Option<ErrorClass>,
    /// The judge's hint, shortened.
    pub hint: Option<String>,
    pub ended: AttemptEnd,
    /// If the agent did not end well: how it ended and the end of its standard error.
    pub complaint: Option<String>,
    /// Calls of the agent by name.
    pub calls: BTreeMap<String, u32>,
    /// Lines of the agent that were not messages.
    pub malformed: u32,
    /// Edits sent.
    pub sent: u32,
    /// Of those, edits that were valid requests.
    pub parsed: u32,
    /// Of those, edits that landed.
    pub landed: u32,
    /// Edits that were the last to land on a file with wrong bytes, in an attempt that failed
    /// without a final refusal.
    pub silent: u32,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u32>,
    /// For each refusal that was recovered from: the number of calls up to and including the next
    /// edit that landed, across attempts.
    pub recoveries: Vec<u32>,
    /// Whether it ended after a refused edit and before another edit landed.
    pub stuck: bool,
    /// Bytes changed outside the intended region; `None` if the task does not define one.
    pub outside: Option<u64>,
    /// Edits that only guards refused.
    pub guarded: u32,
    /// Of those, edits that were applied again without guards.
    pub tried_without: u32,
    /// Of those, edits that would have made the task pass.
    pub harmful: u32,
    /// Lessons given before the attempt.
    pub priors: u32,
    /// Lessons given in refusals.
    pub lessons: u32,
    pub usage: TokenUsage,
    /// What a model as the judge used.
    pub judge_usage: TokenUsage,
}

/// The cost of an attempt, as far as the agent reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TokenUsage {
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// The price in US dollars.
    pub cost_usd: Option<f64>,
}

impl TokenUsage {
    /// Both together; what neither reports stays unknown.
    #[must_use]
    pub fn plus(self, other: TokenUsage) -> TokenUsage {
        fn sum<T: std::ops::Add<Output = T> + Default>(a: Option<T>, b: Option<T>) -> Option<T> {
            (a.is_some() || b.is_some()).then(|| a.unwrap_or_default() + b.unwrap_or_default())
        }
        TokenUsage {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cost_usd: sum(self.cost_usd, other.cost_usd),
        }
    }

    /// Whether the numbers are plausible: at most 2^53 tokens and a million dollars.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let tokens = [self.input_tokens, self.output_tokens];
        tokens.into_iter().flatten().all(|tokens| tokens <= 1 << 53)
            && self.cost_usd.is_none_or(|cost| (0.0..=1e6).contains(&cost))
    }
}

/// How the agent's part of an attempt ended.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// The agent sent `done`.
    #[default]
    Done,
    /// The agent exited without `done`.
    Died,
    /// The agent could not be started.
    NotStarted,
    /// The agent reached the time limit.
    TimedOut,
    /// The agent wrote more than the limit.
    Flooded,
    /// The agent sent too many lines that are not messages.
    Babbled,
    /// A recorded session has no further attempt.
    Exhausted,
    /// The agent left a worktree that cannot be read.
    Ruined,
}

impl AttemptEnd {
    /// Every way, in order.
    pub const ALL: [AttemptEnd; 8] = [
        AttemptEnd::Done,
        AttemptEnd::Died,
        AttemptEnd::NotStarted,
        AttemptEnd::TimedOut,
        AttemptEnd::Flooded,
        AttemptEnd::Babbled,
        AttemptEnd::Exhausted,
        AttemptEnd::Ruined,
    ];

    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AttemptEnd::Done => "done",
            AttemptEnd::Died => "died",
            AttemptEnd::NotStarted => "not_started",
            AttemptEnd::TimedOut => "timed_out",
            AttemptEnd::Flooded => "flooded",
            AttemptEnd::Babbled => "babbled",
            AttemptEnd::Exhausted => "exhausted",
            AttemptEnd::Ruined => "ruined",
        }
    }
}

/// A marked call of a recorded session, and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkedCall {
    /// The number of the call in the recording.
    pub call: u32,
    /// The kind of the call.
    pub kind: String,
    /// The calls of the other recording that it replaces.
    pub instead_of: Vec<u32>,
    /// The call, in one line.
    pub called: String,
    /// The answer: a status, or the first code.
    pub answer: String,
    /// The size of the watched file after the call, if one is watched.
    pub bytes: Option<u64>,
}

impl TaskResult {
    /// The attempt that passed, from 1.
    #[must_use]
    pub fn passed_at(&self) -> Option<u32> {
        self.attempts
            .iter()
            .position(|attempt| attempt.pass)
            .and_then(|at| u32::try_from(at + 1).ok())
    }

    /// The score of the last of the first `most` attempts; `None` if there was no attempt.
    #[must_use]
    pub fn score_within(&self, most: u32) -> Option<f64> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        self.attempts.iter().take(most).next_back().map(|attempt| attempt.score)
    }
}
