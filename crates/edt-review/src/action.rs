//! What a reviewer does with a session, and the answer.

/// What the user chose. Each is a command of edt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `edt revert EDIT`.
    Revert(u64),
    /// `edt undo --to EDIT`.
    UndoTo(u64),
    /// `edt redo`.
    Redo,
    /// `edt restore PATH`.
    Restore(String),
    /// `edt land`, with a message.
    Land(Option<String>),
    /// `edt land --to EDIT`.
    LandTo(u64),
    /// `edt abandon`.
    Abandon,
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
