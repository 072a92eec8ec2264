//! Determines who runs the command that called the hook: the user, or not.
//!
//! This is not a security boundary: any program can unset a variable or open a terminal. It
//! distinguishes a mistake from a decision.

use std::ffi::OsString;

use edt_io::terminal;

use super::ancestors;

/// Variables that agents set for the programs they start. The names are exact: most variables with
/// such a prefix are settings, which a user may have in a profile.
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

/// Who runs a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The user: messages go to a terminal, no variable of an agent is set, and no agent started the
    /// program that runs this process.
    User,
    /// An agent, which set this variable.
    Agent(String),
    /// A process that this agent started, directly or not, at a terminal.
    StartedBy(String),
    /// Unknown: there is no terminal.
    Unattended,
}

impl Who {
    /// Who runs this process.
    #[must_use]
    pub fn here() -> Who {
        let names = edt_io::environment::variables().into_iter().map(|(name, _)| name);
        Who::of(names, terminal::is_interactive, ancestors::agent)
    }

    /// Whether an agent runs this process, with or without a terminal: it set a variable, or started
    /// the program that runs this process.
    #[must_use]
    pub fn is_agent_here() -> bool {
        let marked = edt_io::environment::variables()
            .iter()
            .any(|(name, _)| name.to_str().is_some_and(is_marker));
        marked || ancestors::agent().is_some()
    }

    /// Decides by the names of the variables, by whether there is a terminal, and by the agent that
    /// started this process. What costs more is asked later.
    pub fn of(
        mut variables: impl Iterator<Item = OsString>,
        terminal: impl FnOnce() -> bool,
        ancestor: impl FnOnce() -> Option<String>,
    ) -> Who {
        let marked = variables.find(|name| name.to_str().is_some_and(is_marker));
        match marked {
            Some(name) => Who::Agent(name.to_string_lossy().into_owned()),
            None if terminal() => ancestor().map_or(Who::User, Who::StartedBy),
            None => Who::Unattended,
        }
    }

    /// Why it is not the user, as a part of a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Who::User => "the user at a terminal".to_owned(),
            Who::Agent(name) => format!("not the user's command, because {name} is set"),
            Who::StartedBy(name) => format!(
                "not the user's command, because {name} started the program that runs it (the user \
                 types it in a terminal that {name} did not start)"
            ),
            Who::Unattended => {
                "not the user's command, because there is no terminal for its messages".to_owned()
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
    fn the_user_has_a_terminal_and_no_agents_variable() {
        let who = |names: &[&str], terminal: bool| {
            Who::of(names.iter().map(OsString::from), || terminal, || None)
        };
        assert_eq!(who(&["HOME", "TERM"], true), Who::User);
        assert_eq!(who(&["HOME", "TERM"], false), Who::Unattended);
        assert_eq!(
            who(&["HOME", "CODEX_THREAD_ID"], true),
            Who::Agent("CODEX_THREAD_ID".to_owned())
        );
        assert_eq!(who(&["CLAUDECODE"], true), Who::Agent("CLAUDECODE".to_owned()));
        // Regression: settings in a profile made the user an agent.
        let settings = [
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_ENABLE_TELEMETRY",
            "AIDER_DARK_MODE",
            "AMP_LOG_LEVEL",
        ];
        assert_eq!(who(&settings, true), Who::User);
        assert_eq!(
            who(&["CLAUDECODES", "USER_AGENT", "CODEX_HOME", "COPILOT_MODEL"], true),
            Who::User
        );
    }

    #[test]
    fn who_an_agent_started_is_not_the_user_at_any_terminal() {
        let codex = || Some("codex".to_owned());
        let names = || ["HOME"].iter().map(OsString::from);
        assert_eq!(Who::of(names(), || true, codex), Who::StartedBy("codex".to_owned()));
        // Without a terminal nobody looks.
        assert_eq!(Who::of(names(), || false, || panic!("asked")), Who::Unattended);
    }
}
