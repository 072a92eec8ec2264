//! Who calls edt: an agent, its conversation, its turn and its model, as far as its program says.

use edt_core::session::turns::CallingAgent;

/// Variables in which agents name the conversation to the programs that they start.
const CONVERSATIONS: [(&str, &str); 4] = [
    ("CODEX_THREAD_ID", "codex"),
    ("CLAUDE_CODE_SESSION_ID", "claude-code"),
    (COPILOT, "copilot"),
    ("AMP_CURRENT_THREAD_ID", "amp"),
];

/// Copilot's variable, which its servers get, too. One server serves one conversation.
const COPILOT: &str = "COPILOT_AGENT_SESSION_ID";

/// Variables that agents set for the programs that they start.
const MARKERS: [(&str, &str); 13] = [
    ("CLAUDECODE", "claude-code"),
    ("CLAUDE_CODE_ENTRYPOINT", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CODEX_CI", "codex"),
    ("GEMINI_CLI", "gemini"),
    ("QWEN_CODE", "qwen"),
    ("OPENCODE", "opencode"),
    ("CURSOR_AGENT", "cursor"),
    ("CLINE_ACTIVE", "cline"),
    ("COPILOT_CLI", "copilot"),
    ("GOOSE_TERMINAL", "goose"),
    ("AUGMENT_AGENT", "augment"),
];

/// The variable in which a program names its agent to edt. A name has a letter: others only mark an
/// agent.
const NAMED: &str = "EDT_AGENT";

/// The caller of a command, by its environment: the agent that `EDT_AGENT` names, or else the one
/// that its variables mark. If these mark several, one started the other, and nobody is named.
pub(super) fn of_command(variable: impl Fn(&str) -> Option<String>) -> CallingAgent {
    let said = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let named = CONVERSATIONS.iter().filter_map(|(name, agent)| Some((*agent, said(name)?)));
    let named: Vec<(&str, String)> = named.collect();
    let marked = MARKERS.iter().filter(|(name, _)| said(name).is_some());
    let mut agents: Vec<&str> = marked.map(|(_, agent)| *agent).collect();
    agents.extend(named.iter().map(|(agent, _)| *agent));
    agents.sort_unstable();
    agents.dedup();
    let own = said(NAMED).filter(|name| name.contains(char::is_alphabetic));
    if let Some(own) = own.filter(|own| agents != [own.as_str()]) {
        return CallingAgent { agent: Some(own), ..CallingAgent::default() };
    }
    let [agent] = agents[..] else { return CallingAgent::default() };
    let conversation = named.into_iter().next().map(|(_, conversation)| conversation);
    CallingAgent { agent: Some(agent.to_owned()), conversation, ..CallingAgent::default() }
}

/// The caller of a tool: `client` is its name, `meta` the request's `_meta`.
#[cfg(feature = "mcp")]
pub(super) fn of_tool(
    client: Option<&str>,
    meta: &serde_json::Map<String, serde_json::Value>,
    variable: impl Fn(&str) -> Option<String>,
) -> CallingAgent {
    use edt_core::session::turns::caller::program_of;
    use serde_json::Value;

    let Some(client) = client else { return CallingAgent::default() };
    let mut caller = CallingAgent { agent: Some(client.to_owned()), ..CallingAgent::default() };
    match program_of(client) {
        "codex" => {
            let parsed;
            let turn = match meta.get("x-codex-turn-metadata") {
                Some(Value::String(text)) => {
                    parsed = serde_json::from_str(text).unwrap_or(Value::Null);
                    &parsed
                }
                Some(value) => value,
                None => &Value::Null,
            };
            let said = |key: &str| {
                turn[key].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
            };
            caller.conversation = said("session_id").or_else(|| said("thread_id"));
            caller.turn = said("turn_id").filter(|_| caller.conversation.is_some());
            caller.model = said("model");
        }
        "copilot" => caller.conversation = variable(COPILOT),
        _ => {}
    }
    caller
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(variables: &[(&str, &str)]) -> (Option<String>, Option<String>) {
        let find = |name: &str| {
            variables.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
        };
        let caller = of_command(find);
        (caller.agent, caller.conversation)
    }

    #[test]
    fn the_environment_names_agent_and_conversation() {
        let of = |agent: &str, conversation: Option<&str>| {
            (Some(agent.to_owned()), conversation.map(str::to_owned))
        };
        assert_eq!(command(&[(COPILOT, "s-1"), ("COPILOT_CLI", "1")]), of("copilot", Some("s-1")));
        assert_eq!(command(&[("CODEX_THREAD_ID", "t"), ("CODEX_CI", "1")]), of("codex", Some("t")));
        assert_eq!(command(&[("GEMINI_CLI", "1")]), of("gemini", None));
        assert_eq!(command(&[("HOME", "/"), ("CODEX_THREAD_ID", " ")]), (None, None));
    }

    #[test]
    fn edt_agent_names_the_agent_before_others() {
        let named = |own| [("EDT_AGENT", own), ("CODEX_THREAD_ID", "t")];
        assert_eq!(command(&named("robot")), (Some("robot".to_owned()), None));
        let codex = (Some("codex".to_owned()), Some("t".to_owned()));
        assert_eq!((command(&named("codex")), command(&named("1"))), (codex.clone(), codex));
    }

    #[test]
    fn two_agents_in_the_environment_are_none() {
        assert_eq!(command(&[("CLAUDECODE", "1"), ("CODEX_THREAD_ID", "t")]), (None, None));
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn codex_names_its_turn_with_each_call() {
        let turn = serde_json::json!({"session_id": "s", "turn_id": "t", "model": "m"});
        for value in [turn.clone(), turn.to_string().into()] {
            let meta = [("x-codex-turn-metadata".to_owned(), value)].into_iter().collect();
            let caller = of_tool(Some("codex-mcp-client"), &meta, |_| None);
            let [conversation, turn, model] = ["s", "t", "m"].map(|text| Some(text.to_owned()));
            let agent = Some("codex-mcp-client".to_owned());
            assert_eq!(caller, CallingAgent { agent, conversation, turn, model });
            // Another client's key of that name means nothing.
            assert_eq!(of_tool(Some("robot"), &meta, |_| None).conversation, None);
        }
    }

    #[cfg(feature = "mcp")]
    #[test]
    fn copilot_names_its_conversation_to_its_servers() {
        let meta = serde_json::Map::new();
        let caller = |client: &str| of_tool(Some(client), &meta, |_| Some("s-1".to_owned()));
        assert_eq!(caller("github-copilot-developer").conversation.as_deref(), Some("s-1"));
        assert_eq!(caller("robot").conversation, None);
        assert_eq!(of_tool(None, &meta, |_| None), CallingAgent::default());
    }
}
