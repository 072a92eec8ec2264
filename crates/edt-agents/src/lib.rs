//! Agents: what each sends to a hook, the answer it expects, and the settings it reads.
//!
//! [`AGENTS`] is the list of agents, one file each. [`Protocol::event`] reads an agent's payload as
//! a [`HookEvent`]. [`judge`] checks or records the event as `edt apply` would, and returns a
//! [`HookMessage`]. [`Protocol::reply`] turns the message into a [`Reply`] in the agent's own form.

pub mod aider;
pub mod claude_code;
pub mod clients;
pub mod cline;
pub mod codex;
pub mod comments;
pub mod copilot;
pub mod cursor;
pub mod event;
pub mod fields;
pub mod gemini;
pub mod guide;
pub mod hook;
pub mod instructions;
pub mod judge;
pub mod locate;
pub mod messages;
pub mod opencode;
pub mod patch;
pub mod payload;
pub mod qwen;
pub mod request;
pub mod setup;
pub(crate) mod shell;
pub mod turn;
pub mod windsurf;
mod wrap;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

pub use event::{
    AgentTurn, HookEvent, HookMessage, HookPhase, HookPoint, Question, Replacement, Reply,
    ShellCommand, ToolEdit,
};
pub use fields::{Fields, UnexpectedShape};
pub use payload::Payload;
pub use setup::Wiring;

/// An agent that edt knows.
#[derive(Debug, Clone, Copy)]
pub struct Agent {
    /// Its name in commands; also the value of the trailer `Edt-Agent`.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// The protocol of its hooks; `None` if it has no hooks.
    pub protocol: Option<Protocol>,
    /// How its settings refer to edt.
    pub wiring: Wiring,
}

/// The protocol of an agent's hooks.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// How long a hook may take.
    pub timeouts: HookTimeouts,
    /// Reads a payload. Fails for a tool that is known to edit and whose input has an unknown
    /// shape.
    pub event: fn(&Value) -> Result<HookEvent, UnexpectedShape>,
    /// Puts a message in the agent's form.
    pub reply: fn(HookPoint, &HookMessage) -> Reply,
    /// Whether the agent's model reads what edt adds at this point, by the agent's documentation.
    pub adds_context: fn(HookPoint) -> bool,
    /// A payload that edt must refuse: it writes into the Git directory of the worktree at this
    /// root.
    pub probe: fn(&Path) -> Value,
}

/// How long a hook may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookTimeouts {
    /// After this time the agent stops waiting for the hook and edits: the value that `edt setup`
    /// writes, or the agent's default.
    pub agent: Duration,
    /// After this time edt refuses.
    pub edt: Duration,
}

impl HookTimeouts {
    /// The agent waits `agent` seconds. edt uses five sixths of them.
    #[must_use]
    pub const fn within(agent: u64) -> HookTimeouts {
        HookTimeouts {
            agent: Duration::from_secs(agent),
            edt: Duration::from_secs(agent - agent.div_ceil(6)),
        }
    }
}

/// Every agent.
pub const AGENTS: &[&Agent] = &[
    &claude_code::CLAUDE_CODE,
    &codex::CODEX,
    &gemini::GEMINI,
    &opencode::OPENCODE,
    &cline::CLINE,
    &cursor::CURSOR,
    &copilot::COPILOT,
    &windsurf::WINDSURF,
    &aider::AIDER,
    &qwen::QWEN,
    &clients::KIMI,
    &clients::KILO,
    &clients::CONTINUE,
    &clients::GOOSE,
    &clients::ZED,
    &clients::JUNIE,
];

/// The agent of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().copied().find(|agent| agent.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocols() -> impl Iterator<Item = (&'static str, Protocol)> {
        AGENTS.iter().filter_map(|agent| Some((agent.name, agent.protocol?)))
    }

    #[test]
    fn edt_times_out_before_the_agent_does() {
        for (name, protocol) in protocols() {
            let HookTimeouts { agent, edt } = protocol.timeouts;
            assert!(edt + Duration::from_secs(4) < agent, "{name}: {edt:?} of {agent:?}");
        }
    }

    #[test]
    fn a_failure_blocks_in_every_form() {
        for (name, protocol) in protocols() {
            let failure = HookMessage::Failure("why".into());
            let reply = (protocol.reply)(HookPoint::UNKNOWN, &failure);
            let blocks = match name {
                "cline" => reply.stdout == "{\"cancel\":true,\"errorMessage\":\"why\"}\n",
                "cursor" => reply.stdout.contains("\"permission\":\"deny\"") && reply.exit == 2,
                _ => reply.stdout.is_empty() && reply.exit == 2,
            };
            assert!(blocks, "{name}: {reply:?}");
            assert!(
                name == "cline" || reply.stderr.contains("why"),
                "{name}: some agents edit after an exit status without a message"
            );
        }
    }

    /// The names of edt's own tools, as agents name them to their hooks.
    fn own_tools() -> Vec<String> {
        let tools = [
            "apply",
            "check",
            "read",
            "outline",
            "search",
            "list",
            "status",
            "log",
            "show",
            "diff",
            "undo",
            "redo",
            "revert",
            "restore",
            "checkpoint",
            "run",
            "propose",
            "proposals",
            "land",
            "help",
        ];
        let named = |prefix: &str| tools.map(|tool| format!("{prefix}{tool}"));
        ["mcp__edt__", "mcp_edt_", "edt_", "edt__", "edt-", "MCP:"]
            .iter()
            .flat_map(|prefix| named(prefix))
            .collect()
    }

    /// The values of the key `matcher` in `value`.
    fn matchers(value: &Value) -> Vec<String> {
        match value {
            Value::Object(map) => map
                .iter()
                .flat_map(|(key, value)| match value.as_str() {
                    Some(matcher) if key == "matcher" => vec![matcher.to_owned()],
                    _ => matchers(value),
                })
                .collect(),
            Value::Array(list) => list.iter().flat_map(matchers).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn no_matcher_of_a_hook_selects_edts_own_tools() {
        let target = setup::SetupTarget {
            scope: setup::Scope::Project,
            home: "/home/user".into(),
            root: "/p".into(),
            edt: "edt".to_owned(),
            only_edt: false,
        };
        let mut agents = Vec::new();
        for agent in AGENTS {
            for managed in (agent.wiring.files)(&target) {
                let setup::Form::Json(_) = managed.form else { continue };
                let text = managed.form.with(None).unwrap();
                for matcher in matchers(&serde_json::from_str(&text).unwrap()) {
                    agents.push(agent.name);
                    let names = matcher.trim_start_matches("^(").trim_end_matches(")$");
                    // Some agents look for the expression anywhere in a name.
                    for name in names.split('|') {
                        let selected = own_tools().into_iter().find(|tool| tool.contains(name));
                        assert_eq!(selected, None, "{}: {matcher}", agent.name);
                    }
                }
            }
        }
        agents.dedup();
        assert_eq!(agents, ["claude-code", "codex", "gemini", "cursor", "qwen"]);
    }

    #[test]
    fn names_are_unique_and_found() {
        for agent in AGENTS {
            assert_eq!(named(agent.name).map(|found| found.title), Some(agent.title));
        }
        assert!(named("emacs").is_none());
    }
}
