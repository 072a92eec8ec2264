//! Who runs the command that Git asks about: a person, or not.
//!
//! No boundary: whoever wants to can unset a variable or open a terminal. It tells a slip from a decision.

use std::ffi::OsString;

use crate::io::terminal;

/// Variables that agents set for the programs they start. Exact names: most of what begins like one is a setting, which a
/// person may have in their profile.
pub const AGENT_MARKERS: [&str; 21] = [
    "EDT_AGENT",
    "AI_AGENT",
    "AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_CI",
    "GEMINI_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "OPENCODE_CLIENT",
    "CURSOR_AGENT",
    "CLINE_ACTIVE",
    "COPILOT_CLI",
    "GOOSE_TERMINAL",
    "AMP_CURRENT_THREAD_ID",
    "AUGMENT_AGENT",
    "ANTIGRAVITY_AGENT",
];

/// Who it is, and why it is taken for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A terminal that messages go to, and no agent's mark.
    Person,
    /// An agent: this variable is set.
    Agent(String),
    /// Nobody that could be asked: there is no terminal.
    Unattended,
}

impl Who {
    /// Who runs this process.
    #[must_use]
    pub fn here() -> Who {
        Who::of(std::env::vars_os().map(|(name, _)| name), terminal::at_hand)
    }

    /// Who it is, by the names of the variables and whether there is a terminal.
    pub fn of(
        mut variables: impl Iterator<Item = OsString>,
        terminal: impl FnOnce() -> bool,
    ) -> Who {
        let marked = variables.find(|name| name.to_str().is_some_and(is_marker));
        match marked {
            Some(name) => Who::Agent(name.to_string_lossy().into_owned()),
            None if terminal() => Who::Person,
            None => Who::Unattended,
        }
    }

    /// Why it is no person, as half a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Who::Person => "a person at a terminal".to_owned(),
            Who::Agent(name) => format!("not a person's command, because {name} is set"),
            Who::Unattended => {
                "not a person's command, because there is no terminal for its messages".to_owned()
            }
        }
    }
}

fn is_marker(name: &str) -> bool {
    AGENT_MARKERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_a_terminal_and_no_agents_mark() {
        let who =
            |names: &[&str], terminal: bool| Who::of(names.iter().map(OsString::from), || terminal);
        assert_eq!(who(&["HOME", "TERM"], true), Who::Person);
        assert_eq!(who(&["HOME", "TERM"], false), Who::Unattended);
        assert_eq!(
            who(&["HOME", "CODEX_THREAD_ID"], true),
            Who::Agent("CODEX_THREAD_ID".to_owned())
        );
        assert_eq!(who(&["CLAUDECODE"], true), Who::Agent("CLAUDECODE".to_owned()));
        // Regression: settings that a person has in their profile made them an agent.
        let settings = [
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_ENABLE_TELEMETRY",
            "AIDER_DARK_MODE",
            "AMP_LOG_LEVEL",
        ];
        assert_eq!(who(&settings, true), Who::Person);
        assert_eq!(
            who(&["CLAUDECODES", "USER_AGENT", "CODEX_HOME", "COPILOT_MODEL"], true),
            Who::Person
        );
    }
}
