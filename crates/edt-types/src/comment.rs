//! What the user writes about a session, and what the agent answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A comment of the user about a session, an edit, a file or lines of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Comment {
    /// Its number in the session.
    pub id: u64,
    /// The edit that it is about; null for the session as a whole.
    pub edit: Option<u64>,
    /// The file, as it was named when the comment was written.
    pub path: Option<String>,
    /// The first and the last line, counted from 1, when the comment was written.
    pub lines: Option<(u64, u64)>,
    /// Whether `lines` are those before the change: of the edit, or of the session.
    pub before: bool,
    /// The text of the lines. The last entry is `…` if there were more than the comment keeps.
    pub quoted: Vec<String>,
    /// What the user wrote.
    pub text: String,
    /// When the user wrote it, in seconds since 1970.
    pub time: i64,
    /// What is to be done about it.
    pub state: CommentState,
    /// Whether the lines are not in the session's content any more, or not surely.
    pub outdated: bool,
    /// The first of the lines in the session's present content; null if it is outdated, and if it
    /// names no lines.
    pub line_now: Option<u64>,
    /// The number of the review with which it was sent; null for a draft.
    pub review: Option<u64>,
    /// The first answer of edt to an agent that had the whole comment; null if none did.
    pub read: Option<Reading>,
    /// What was answered, oldest first.
    pub answers: Vec<CommentAnswer>,
}

/// What is to be done about a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommentState {
    /// It was not sent: only the user sees it.
    Draft,
    /// It was sent and waits for the agent.
    Open,
    /// It is done.
    Resolved,
}

impl CommentState {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CommentState::Draft => "draft",
            CommentState::Open => "open",
            CommentState::Resolved => "resolved",
        }
    }
}

/// That an agent got a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The agent; null if its program named none.
    pub agent: Option<String>,
    /// When, in seconds since 1970.
    pub time: i64,
}

/// An answer to a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentAnswer {
    /// The agent that answers; null for the user.
    pub agent: Option<String>,
    /// What it says.
    pub text: String,
    /// When, in seconds since 1970.
    pub time: i64,
}

/// The summary of the comments that were sent together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewSummary {
    /// The number of the review in the session.
    pub review: u64,
    /// What the user wrote.
    pub text: String,
    /// When it was sent, in seconds since 1970.
    pub time: i64,
}
