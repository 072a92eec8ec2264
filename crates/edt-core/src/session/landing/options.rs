//! How a session lands.

use edt_types::text::shell_word;

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

impl LandOptions {
    /// The command that lands the same part on the same branch.
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
