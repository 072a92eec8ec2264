//! How a session lands.

/// How a session lands: onto which branch, with which message. The default lands on the branch the
/// session began from, with a message derived from its edits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandOptions {
    /// The target branch; the one the session began on if `None`.
    pub into: Option<String>,
    /// The number of the last edit to land; all of the session lands if `None`.
    pub to: Option<u64>,
    /// The numbers of the edits to land, and no others; `to` counts if it is empty.
    pub only: Vec<u64>,
    /// The commit message; derived from the session's edits if `None`.
    pub message: Option<String>,
    /// Whether the committer's `Signed-off-by` is added to the messages.
    pub signoff: bool,
    /// Overrides for guards of the landing as a whole.
    pub allow: Vec<String>,
    /// Whether the user lands. Then the guards leave out the user's own commits. In a landing by an agent they may be the agent's, made without Git's hooks.
    pub by_user: bool,
}
