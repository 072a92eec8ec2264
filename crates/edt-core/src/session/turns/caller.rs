//! Who calls edt, as far as the agent's program says.

use crate::session::refs::message::Trailers;
use edt_types::text::escape_controls;

/// The longest value of a trailer, in bytes.
const MAX_VALUE: usize = 100;

/// Who calls edt. Without an agent it is the user, or an agent that says nothing of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallingAgent {
    /// The name of the agent, or of the client.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The name that the agent's program gives its conversation.
    pub conversation: Option<String>,
    /// The name that the agent's program gives the turn.
    pub turn: Option<String>,
}

/// Who asked for an edit, as its commit says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The number of the turn in the session.
    pub turn: Option<u64>,
    /// The name of the conversation.
    pub conversation: Option<String>,
    /// The first line of the prompt.
    pub prompt: Option<String>,
}

impl CallingAgent {
    /// Its name as a trailer has it.
    pub(crate) fn name(&self) -> Option<String> {
        self.agent.as_deref().and_then(value)
    }

    /// Whether the edit with these trailers is known to be that of another agent or of another
    /// conversation.
    #[must_use]
    pub fn is_not_who_made(&self, edit: &Trailers) -> bool {
        let Some(own) = &self.agent else { return false };
        let conversation = self.conversation.as_deref().and_then(value);
        if let (Some(here), Some(there)) = (&conversation, &edit.conversation) {
            return here != there;
        }
        let Some(names) = edit.maker() else { return false };
        let is_own = |name: &str| program_of(own) == program_of(name);
        // A landing names the makers of all of its edits.
        !is_own(names) && !names.split(", ").any(is_own)
    }
}

/// What agents call themselves in the protocols MCP and ACP, and their names in edt's commands.
const CLIENTS: [(&str, &str); 16] = [
    ("Claude Code", "claude-code"),
    ("claude-code-acp", "claude-code"),
    ("@zed-industries/claude-code-acp", "claude-code"),
    ("codex-mcp-client", "codex"),
    ("codex-acp", "codex"),
    ("gemini-cli-mcp-client", "gemini"),
    // Some versions add the server's name.
    ("gemini-cli-mcp-client-edt", "gemini"),
    ("qwen-code-mcp-client", "qwen"),
    ("qwen-cli-mcp-client-edt", "qwen"),
    ("Cline", "cline"),
    ("cursor-vscode", "cursor"),
    ("github-copilot-developer", "copilot"),
    ("windsurf-client", "windsurf"),
    ("Windsurf", "windsurf"),
    ("goose-cli", "goose"),
    ("goose-desktop", "goose"),
];

/// The agent whose client has exactly this name, such as `codex` for `codex-mcp-client`; else `name`.
/// A name that only has an agent's in it may be anybody's.
#[must_use]
pub fn program_of(name: &str) -> &str {
    CLIENTS.iter().find(|(client, _)| *client == name).map_or(name, |(_, agent)| agent)
}

/// `text` as the value of a trailer: one line, at most 100 bytes, without control characters.
/// `None` if nothing is left.
#[must_use]
pub(crate) fn value(text: &str) -> Option<String> {
    first_line(text, MAX_VALUE)
}

/// The first line of `text` that is not empty, without control characters and cut after `most`
/// bytes.
#[must_use]
pub(crate) fn first_line(text: &str, most: usize) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    // The escapes of what is cut anyway are not made.
    let line = escape_controls(cut(line, most)).0;
    Some(cut(&line, most).trim_end().to_owned())
}

fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::refs::message::Kind;

    fn edit(agent: Option<&str>, conversation: Option<&str>) -> Trailers {
        Trailers {
            agent: agent.map(str::to_owned),
            conversation: conversation.map(str::to_owned),
            ..Trailers::plain("s", Kind::Edit, 1)
        }
    }

    fn caller(agent: &str, conversation: Option<&str>) -> CallingAgent {
        let conversation = conversation.map(str::to_owned);
        CallingAgent { agent: Some(agent.to_owned()), conversation, ..CallingAgent::default() }
    }

    #[test]
    fn a_client_and_the_hooks_of_its_agent_are_one_program() {
        for (client, agent) in [
            ("codex-mcp-client", "codex"),
            ("gemini-cli-mcp-client", "gemini"),
            ("Cline", "cline"),
            ("cursor-vscode", "cursor"),
            ("github-copilot-developer", "copilot"),
            ("claude-code", "claude-code"),
            ("kilo-claude-code-proxy", "kilo-claude-code-proxy"),
        ] {
            assert_eq!(program_of(client), agent);
        }
    }

    #[test]
    fn an_edit_of_another_agent_is_not_the_callers() {
        let codex = caller("codex-mcp-client", None);
        assert!(codex.is_not_who_made(&edit(Some("gemini"), None)));
        assert!(!codex.is_not_who_made(&edit(Some("codex"), Some("c1"))));
        assert!(!codex.is_not_who_made(&edit(None, None)));
        assert!(!codex.is_not_who_made(&edit(Some("codex, gemini"), None)));
        assert!(!CallingAgent::default().is_not_who_made(&edit(Some("gemini"), None)));
    }

    #[test]
    fn a_chosen_name_does_not_decide_whose_an_edit_is() {
        let named = Trailers { caller: Some("codex".into()), ..edit(Some("gemini"), None) };
        assert!(!caller("codex-mcp-client", None).is_not_who_made(&named));
        assert!(caller("gemini", None).is_not_who_made(&named));
    }

    #[test]
    fn a_conversation_decides_where_both_are_known() {
        let here = caller("codex", Some("c1"));
        assert!(here.is_not_who_made(&edit(Some("codex"), Some("c2"))));
        assert!(!here.is_not_who_made(&edit(Some("reviewer"), Some("c1"))));
        assert!(!here.is_not_who_made(&edit(Some("codex"), None)));
    }

    #[test]
    fn a_value_is_one_short_line_without_controls() {
        assert_eq!(value("\n  a\u{1b}b \nEdt-Kind: land"), Some("a\\u{1b}b".to_owned()));
        assert_eq!(value(&"é".repeat(80)), Some("é".repeat(50)));
        assert_eq!(value(" \n\t"), None);
    }
}
