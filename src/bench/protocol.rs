//! The messages between the benchmark and an agent: one JSON object a line, `edt.bench/1`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::Usage;

/// The protocol's name and version.
pub const PROTOCOL: &str = "edt.bench/1";

/// What an agent says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// Apply a request of `edt apply --request`.
    Apply {
        /// The request.
        request: Value,
    },
    /// Read a file.
    Read {
        /// Its path from the worktree's root.
        path: String,
    },
    /// Run a program, as `edt run` does.
    Run {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The longest it may take, in seconds.
        timeout: Option<f64>,
    },
    /// Take the last edit back.
    Undo {},
    /// The attempt is over.
    Done {
        /// What it cost.
        usage: Option<Usage>,
    },
    /// Something for whoever reads the recording.
    Say {
        /// What.
        text: String,
    },
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Told<'a> {
    /// An attempt begins.
    Task(&'a Brief),
    /// What became of an edit, or of taking one back.
    Outcome {
        /// `edt.outcome/1`.
        outcome: Value,
    },
    /// A file.
    File {
        /// Its path.
        path: &'a str,
        /// Its text; what is not UTF-8 is replaced by U+FFFD.
        text: String,
        /// Its blob id: what `expected_hash` takes.
        hash: String,
    },
    /// What became of a program.
    Ran {
        /// `edt.run/1`.
        answer: Value,
    },
    /// It was heard.
    Heard,
    /// The line was no message; nothing was done.
    Error {
        /// Why.
        message: String,
    },
    /// Nothing more comes.
    End,
}

/// An attempt, as the agent is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    /// Always `edt.bench/1`.
    pub protocol: &'static str,
    /// The suite.
    pub suite: String,
    /// The task.
    pub task: String,
    /// The session, from 1.
    pub session: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The most attempts.
    pub attempts: u32,
    /// What is to be done.
    pub instruction: String,
    /// The worktree, an absolute path.
    pub worktree: String,
    /// Its files.
    pub files: Vec<String>,
    /// Lessons of earlier failures.
    pub priors: Vec<String>,
    /// What is to be known of the attempt before; `null` if it is the first, or nothing is told but that it failed.
    pub feedback: Option<String>,
    /// A number of this task and session: an agent that needs chance takes it from here.
    pub seed: u64,
}

/// Reads a line of an agent.
///
/// # Errors
/// Why it is no message, in a sentence.
pub fn read(line: &[u8]) -> Result<Said, String> {
    let said = serde_json::from_slice(line).map_err(|error| {
        format!("The line is no message of {PROTOCOL}: {error}. Send one JSON object with a `type` of apply, read, run, undo, say or done.")
    })?;
    if let Said::Done { usage: Some(usage) } = &said
        && !usage.is_believable()
    {
        return Err(format!(
            "The line is no message of {PROTOCOL}: nothing costs that much, or less than nothing."
        ));
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_is_closed() {
        assert_eq!(read(br#"{"type": "undo"}"#), Ok(Said::Undo {}));
        assert_eq!(read(br#"{"type": "done"}"#), Ok(Said::Done { usage: None }));
        for line in [
            r#"{"type": "done", "usage": {"cost_usd": -1}}"#,
            r#"{"type": "undo", "n": 1}"#,
            r#"{"type": "edit"}"#,
            "{}",
            "undo",
            "[]",
        ] {
            assert!(
                read(line.as_bytes()).unwrap_err().contains("no message of edt.bench/1"),
                "{line}"
            );
        }
    }
}
