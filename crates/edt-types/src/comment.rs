//! What the user writes about a session, and what the agent answers.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{Shown as _, counted, escape_controls, escape_lines};

/// A comment of the user about a session, an edit, a file or lines of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Comment {
    /// Its number in the session.
    pub id: u64,
    /// The edit that it is about; null for the session as a whole.
    pub edit: Option<u64>,
    /// The file, as it was named when the comment was written.
    pub path: Option<String>,
    /// The file, as it is named in the session's present content; null if it is not there.
    pub path_now: Option<String>,
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
    /// Whether the lines are not where they were, and not surely at another place: in the session's
    /// present content, or for `before` in what the change removes.
    pub outdated: bool,
    /// The first of the lines in the session's present content, for `before` in the content at its
    /// base. Null if it is not there surely, and if the comment names no lines.
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

/// The comments that wait for the agent, in an answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenComments {
    /// How many comments of the session are open.
    pub open: u64,
    /// Those that no answer had yet, or to which the user added something since. An answer has at
    /// most 4 kB of them, or one.
    pub unread: Vec<Comment>,
    /// The summaries of their reviews.
    pub summaries: Vec<ReviewSummary>,
    /// How many further ones are unread.
    pub left_out: u64,
    /// What to call.
    pub hint: &'static str,
}

/// What an agent does with comments.
pub const HINT: &str = "Make the change that each comment asks for, or answer it: \
    `edt comment answer ID -m TEXT`. `edt comment resolve ID` says that it is done. \
    `edt comment list` shows all that are open.";

impl OpenComments {
    /// The number alone, for the user.
    #[must_use]
    pub fn counted(self) -> OpenComments {
        let (unread, summaries) = (Vec::new(), Vec::new());
        OpenComments { unread, summaries, left_out: 0, ..self }
    }

    /// The comments as text for an agent or a terminal, one line of edt's before each text. What
    /// others wrote is indented and has no invisible characters.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("{} of the user", counted(self.open, "open comment"));
        out += if self.unread.is_empty() { ".\n" } else { ":\n" };
        self.summaries.iter().for_each(|one| out += &one.text_form());
        self.unread.iter().for_each(|one| out += &one.text_form());
        if self.left_out > 0 {
            let _ = writeln!(out, "  … and {} that were not shown yet.", self.left_out);
        }
        if !self.unread.is_empty() {
            let _ = writeln!(out, "  {}", self.hint);
        }
        out
    }
}

impl ReviewSummary {
    /// The summary as text.
    #[must_use]
    pub fn text_form(&self) -> String {
        format!("  review {}: {}\n", self.review, indented(&self.text))
    }
}

impl Comment {
    /// Where it is, such as `edit 3, src/a.c:10-12 (now line 14)`.
    #[must_use]
    pub fn place(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.edit.map(|edit| format!("edit {edit}")));
        if let Some(path) = &self.path {
            let path = escape_controls(&path.shown()).0;
            parts.push(match self.lines {
                Some((first, last)) if first == last => format!("{path}:{first}"),
                Some((first, last)) => format!("{path}:{first}-{last}"),
                None => path,
            });
        }
        let mut out = if parts.is_empty() { "the session".to_owned() } else { parts.join(", ") };
        if self.before {
            out += " before the change";
        }
        if let Some(path) = self.path_now.as_ref().filter(|now| self.path.as_ref() != Some(now)) {
            let _ = write!(out, " (now {})", escape_controls(&path.shown()).0);
        }
        if self.outdated {
            out += " (outdated)";
        } else if let (Some(line), Some((first, _))) = (self.line_now, self.lines)
            && line != first
            && !self.before
        {
            let _ = write!(out, " (now line {line})");
        }
        out
    }

    /// The comment as text: where it is, the lines, the text, the answers.
    #[must_use]
    pub fn text_form(&self) -> String {
        let state = match self.state {
            CommentState::Open => String::new(),
            other => format!(" {}", other.name()),
        };
        let mut out = format!("  comment {}{state}, {}:\n", self.id, self.place());
        for line in &self.quoted {
            let _ = writeln!(out, "    | {}", escape_controls(&line.shown()).0);
        }
        let _ = writeln!(out, "    {}", indented(&self.text));
        for answer in &self.answers {
            let by = escape_controls(&answer.agent.as_deref().unwrap_or("the user").shown()).0;
            let _ = writeln!(out, "    {by}: {}", indented(&answer.text));
        }
        out
    }
}

/// A text whose further lines are deeper than edt's own, so that none of them passes for one.
fn indented(text: &str) -> String {
    escape_lines(text.trim_end()).replace('\n', "\n      ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment() -> Comment {
        Comment {
            id: 3,
            edit: Some(2),
            path: Some("a.txt".into()),
            path_now: Some("a.txt".into()),
            lines: Some((4, 5)),
            before: false,
            quoted: vec!["four".into(), "five\u{1b}".into()],
            text: "Why?\ncomment 9, a.txt:\u{7}".into(),
            time: 0,
            state: CommentState::Open,
            outdated: false,
            line_now: Some(6),
            review: Some(1),
            read: None,
            answers: vec![CommentAnswer { agent: None, text: "Say.".into(), time: 0 }],
        }
    }

    #[test]
    fn what_others_wrote_forges_no_line_of_an_answer() {
        let summaries = vec![ReviewSummary { review: 1, text: "Good.\nx".into(), time: 0 }];
        let open =
            OpenComments { open: 2, unread: vec![comment()], summaries, left_out: 1, hint: HINT };
        assert_eq!(
            open.text(),
            format!(
                "2 open comments of the user:\n  review 1: Good.\n      x\n  comment 3, edit 2, \
                 a.txt:4-5 (now line 6):\n    | four\n    | five\\u{{1b}}\n    Why?\n      comment \
                 9, a.txt:\\u{{7}}\n    the user: Say.\n  … and 1 that were not shown yet.\n  \
                 {HINT}\n"
            )
        );
    }

    #[test]
    fn a_place_says_what_became_of_it() {
        let place = |change: fn(&mut Comment)| {
            let mut one = comment();
            change(&mut one);
            one.place()
        };
        assert_eq!(place(|one| one.line_now = Some(4)), "edit 2, a.txt:4-5");
        assert_eq!(
            place(|one| (one.outdated, one.line_now) = (true, None)),
            "edit 2, a.txt:4-5 (outdated)"
        );
        assert_eq!(
            place(|one| (one.path_now, one.lines) = (Some("b\n".into()), Some((4, 4)))),
            "edit 2, a.txt:4 (now b\\u{a}) (now line 6)"
        );
        assert_eq!(
            place(|one| (one.edit, one.path, one.path_now) = (None, None, None)),
            "the session (now line 6)"
        );
    }
}
