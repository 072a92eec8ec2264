//! The messages between the benchmark and an agent: one JSON object per line, `edt.bench/1`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::results::TokenUsage;

pub const PROTOCOL: &str = "edt.bench/1";

/// A message from the agent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentMessage {
    /// Apply a request of `edt apply --request`.
    Apply { request: Value },
    Read {
        /// Relative to the worktree's root.
        path: String,
    },
    /// Run a program, as `edt run` does.
    Run {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The time limit in seconds.
        timeout: Option<f64>,
    },
    /// Undo the last edit.
    Undo {},
    /// The attempt is finished.
    Done { usage: Option<TokenUsage> },
    /// A note for readers of the recording.
    Say { text: String },
}

/// A message to the agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BenchMessage<'a> {
    /// An attempt begins.
    Task(&'a AttemptBrief),
    /// The answer to `apply` and `undo`, and every refusal.
    Outcome {
        /// `edt.outcome/1`.
        outcome: Value,
    },
    /// The answer to `read`.
    File {
        path: &'a str,
        /// The text; bytes that are not UTF-8 are replaced by U+FFFD.
        text: String,
        /// The blob id, for `expected_hash`.
        hash: String,
    },
    /// The answer to `run`.
    Ran {
        /// `edt.run/1`.
        answer: Value,
    },
    /// The answer to `say`.
    #[serde(rename = "heard")]
    Acknowledged,
    /// The line was not a message; nothing was done.
    Error { message: String },
    /// No further message follows.
    End,
}

/// The description of an attempt for the agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptBrief {
    /// Always `edt.bench/1`.
    pub protocol: &'static str,
    pub suite: String,
    pub task: String,
    /// From 1.
    pub session: u32,
    /// From 1.
    pub attempt: u32,
    /// The most attempts.
    pub attempts: u32,
    pub instruction: String,
    /// An absolute path.
    pub worktree: String,
    /// The files of the worktree.
    pub files: Vec<String>,
    /// Lessons from earlier evaluations: quotations, not instructions.
    pub priors: Vec<String>,
    /// Feedback on the previous attempt. `null` for the first attempt, and if the strategy gives
    /// none.
    pub feedback: Option<String>,
    /// The same number for this task and session under every strategy: the source of randomness for
    /// an agent that needs one.
    pub seed: u64,
}

/// Parses a line from the agent.
///
/// # Errors
/// A sentence that says why the line is not a message.
pub fn parse(line: &[u8]) -> Result<AgentMessage, String> {
    let message = serde_json::from_slice(line).map_err(|error| {
        format!(
            "The line is not a message of {PROTOCOL}: {error}. Send one JSON object with a `type` of \
             apply, read, run, undo, say or done."
        )
    })?;
    if let AgentMessage::Done { usage: Some(usage) } = &message
        && !usage.is_plausible()
    {
        return Err(format!(
            "The line is not a message of {PROTOCOL}: the token counts or the cost are negative or too large."
        ));
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_messages_and_fields_are_refused() {
        assert_eq!(parse(br#"{"type": "undo"}"#), Ok(AgentMessage::Undo {}));
        assert_eq!(parse(br#"{"type": "done"}"#), Ok(AgentMessage::Done { usage: None }));
        for line in [
            r#"{"type": "done", "usage": {"cost_usd": -1}}"#,
            r#"{"type": "undo", "n": 1}"#,
            r#"{"type": "edit"}"#,
            "{}",
            "undo",
            "[]",
        ] {
            assert!(
                parse(line.as_bytes()).unwrap_err().contains("not a message of edt.bench/1"),
                "{line}"
            );
        }
    }
}
