//! What the view asks the user, and what it answers.

use crate::action::{Acted, Action, CommentAction};

/// What is in front of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overlay {
    Keys,
    Question(Question),
    Input(Input),
    /// The answer of a command, from this line on.
    Answer(Acted, usize),
}

/// An action that waits for the user's `y`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) action: Action,
    /// The newest commit of the session that the user sees.
    pub(super) tip: String,
    /// What it does.
    pub(super) text: String,
}

/// A line that the user writes. A text from an editor has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) purpose: InputPurpose,
    pub(super) text: String,
    /// The newest commit of the session that the user saw when the line was opened.
    pub(super) tip: String,
}

/// What a line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputPurpose {
    Search,
    /// The message of a landing: of these edits alone, or of the session.
    Land(Vec<u64>),
    Reject(u64),
    Comment {
        edit: Option<u64>,
        path: Option<String>,
        lines: Option<(u64, u64)>,
        before: bool,
    },
    Answer(u64),
    /// The summary of the comments that are sent.
    Send,
}

impl InputPurpose {
    pub(super) const fn title(&self) -> &'static str {
        match self {
            InputPurpose::Search => "Search (empty: the next place)",
            InputPurpose::Land(_) => "Message of the commit (empty: made from the edits)",
            InputPurpose::Reject(_) => "What to do instead",
            InputPurpose::Comment { .. } => "Comment",
            InputPurpose::Answer(_) => "Answer",
            InputPurpose::Send => "Summary of your comments (may be empty)",
        }
    }

    /// The action with the text `text`, and what it does; `None` if it needs a text.
    pub(super) fn action(&self, text: &str) -> Option<(Action, String)> {
        let text = text.trim();
        let message = Some(text.to_owned()).filter(|text| !text.is_empty());
        Some(match self {
            InputPurpose::Search => return None,
            InputPurpose::Land(edits) if edits.is_empty() => {
                (Action::Land(message), "Land the session as one commit?".to_owned())
            }
            InputPurpose::Land(edits) => {
                let names = edits.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
                let what = format!("Land the edits {names} as one commit? The rest stays.");
                (Action::LandOnly(edits.clone(), message), what)
            }
            InputPurpose::Reject(proposal) => {
                (Action::Reject(*proposal, message?), format!("Reject the proposal p{proposal}?"))
            }
            InputPurpose::Comment { edit, path, lines, before } => {
                let action = CommentAction::Add {
                    edit: *edit,
                    path: path.clone(),
                    lines: *lines,
                    before: *before,
                    text: message?,
                };
                (Action::Comment(action), "Keep this comment as a draft?".to_owned())
            }
            InputPurpose::Answer(id) => (
                Action::Comment(CommentAction::Answer(*id, message?)),
                format!("Answer the comment {id}?"),
            ),
            InputPurpose::Send => (
                Action::Comment(CommentAction::Send(message)),
                "Send all drafts to the agent?".to_owned(),
            ),
        })
    }
}
