//! What a reviewer does with a session, and the answer.

/// What the user chose. Each is a command of edt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `edt revert EDIT`.
    Revert(u64),
    /// `edt undo --to EDIT`.
    UndoTo(u64),
    /// `edt undo`: the newest edit.
    Undo,
    /// `edt redo`.
    Redo,
    /// `edt restore PATH`.
    Restore(String),
    /// `edt land`, with a message.
    Land(Option<String>),
    /// `edt land --to EDIT`.
    LandTo(u64),
    /// `edt land --undo`.
    UndoLanding,
    /// `edt abandon`.
    Abandon,
    /// `edt revert` of a part of one file.
    RevertPart(Part),
    /// `edt land --only EDITS`, with a message.
    LandOnly(Vec<u64>, Option<String>),
    /// `edt approve PROPOSAL`.
    Approve(u64),
    /// `edt reject PROPOSAL`, with what to do instead.
    Reject(u64, String),
    /// `edt comment`.
    Comment(CommentAction),
}

impl Action {
    /// The command that takes this one back; `None` if edt has none.
    #[must_use]
    pub fn opposite(&self) -> Option<Action> {
        match self {
            Action::Revert(_) | Action::RevertPart(_) | Action::Restore(_) | Action::Redo => {
                Some(Action::Undo)
            }
            Action::UndoTo(_) | Action::Undo => Some(Action::Redo),
            Action::Land(_) | Action::LandTo(_) | Action::LandOnly(..) => Some(Action::UndoLanding),
            Action::UndoLanding
            | Action::Abandon
            | Action::Approve(_)
            | Action::Reject(..)
            | Action::Comment(_) => None,
        }
    }
}

/// A part of a file's change: all of it if no line is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The edit whose change it is; `None` for the session as a whole.
    pub edit: Option<u64>,
    /// The path.
    pub path: String,
    /// Lines of the content after the change: the first and the last one, counted from 1.
    pub added: Vec<(u64, u64)>,
    /// Lines of the content before the change: the first and the last one, counted from 1.
    pub removed: Vec<(u64, u64)>,
}

/// What the user does with comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentAction {
    /// `edt comment add`: a draft, which only the user sees.
    Add {
        /// The edit that it is about; `None` for the session as a whole.
        edit: Option<u64>,
        /// The file.
        path: Option<String>,
        /// The first and the last line, counted from 1.
        lines: Option<(u64, u64)>,
        /// Whether the lines are those before the change.
        before: bool,
        /// What the user writes.
        text: String,
    },
    /// `edt comment send`: all drafts become one review, with a summary.
    Send(Option<String>),
    /// `edt comment answer ID`.
    Answer(u64, String),
    /// `edt comment resolve ID`.
    Resolve(u64),
    /// `edt comment reopen ID`.
    Reopen(u64),
    /// `edt comment drop ID`: deletes a draft.
    Drop(u64),
}

/// The answer to an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted {
    /// The command, as the user would type it.
    pub command: String,
    /// Whether it was done.
    pub done: bool,
    /// What the command prints.
    pub text: String,
}
