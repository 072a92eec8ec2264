//! How a session lands.

use crate::user_decision::UserDecision;
use edt_types::text::shell_word;

/// How a session lands: onto which branch, with which message. The default lands on the branch the
/// session began from, with a message derived from its edits.
///
/// ```
/// let land = edt_core::Land::default().into("main").message("Fix the parser").signoff();
/// assert_eq!(land.into.as_deref(), Some("main"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Whether the user lands. Then the guards leave out the user's own commits. In a landing by an
    /// agent they may be the agent's, made without Git's hooks.
    pub by_user: bool,
}

impl LandOptions {
    /// Lands on this branch.
    #[must_use]
    pub fn into(mut self, branch: impl Into<String>) -> LandOptions {
        self.into = Some(branch.into());
        self
    }

    /// Lands the commits up to the edit with this number. The rest stays in the session.
    #[must_use]
    pub fn to(mut self, edit: u64) -> LandOptions {
        self.to = Some(edit);
        self
    }

    /// Lands the edits with these numbers, and no others. The rest stays in the session.
    #[must_use]
    pub fn only(mut self, edits: impl IntoIterator<Item = u64>) -> LandOptions {
        self.only = edits.into_iter().collect();
        self
    }

    /// Sets the commit message.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> LandOptions {
        self.message = Some(message.into());
        self
    }

    /// Adds the committer's `Signed-off-by` to the messages.
    #[must_use]
    pub fn signoff(mut self) -> LandOptions {
        self.signoff = true;
        self
    }

    /// Overrides the guard of this name for the landing as a whole, where policy lets a request do so.
    #[must_use]
    pub fn allow(mut self, word: impl Into<String>) -> LandOptions {
        self.allow.push(word.into());
        self
    }

    /// States that the user lands.
    #[must_use]
    pub fn by_user(mut self, _: UserDecision) -> LandOptions {
        self.by_user = true;
        self
    }

    /// The command that lands the same part on the same branch.
    #[doc(hidden)]
    #[must_use]
    pub fn command(&self) -> String {
        let mut command = "edt land".to_owned();
        if let Some(into) = &self.into {
            command += &format!(" --into {}", shell_word(into.as_bytes()));
        }
        if let Some(to) = self.to {
            command += &format!(" --to {to}");
        }
        if !self.only.is_empty() {
            let only: Vec<String> = self.only.iter().map(u64::to_string).collect();
            command += &format!(" --only {}", only.join(","));
        }
        command
    }

    /// Whether a part of the session lands.
    #[doc(hidden)]
    #[must_use]
    pub fn is_part(&self) -> bool {
        self.to.is_some() || !self.only.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_the_same_branch_and_part() {
        let options =
            LandOptions { into: Some("a'b".into()), only: vec![1, 3], ..Default::default() };
        assert_eq!(options.command(), format!("edt land --into {} --only 1,3", shell_word(b"a'b")));
        let options = LandOptions { to: Some(2), ..Default::default() };
        assert_eq!(options.command(), "edt land --to 2");
        assert_eq!(LandOptions::default().command(), "edt land");
    }
}
