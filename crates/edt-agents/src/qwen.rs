//! Qwen Code: a fork of Gemini CLI whose hooks have the form of Claude Code. Its tools have the names
//! and inputs of Gemini CLI's, except for `edit`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPoint, Reply};
use super::setup::target::path_from_env;
use super::setup::{JsonEntry, ManagedFile, Scope, SetupTarget, Wiring};
use super::{Agent, HookTimeouts, Protocol, UnexpectedShape, claude_code, instructions};

/// Qwen Code.
pub const QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    protocol: Some(Protocol {
        timeouts: TIMEOUTS,
        event,
        reply,
        adds_context: claude_code::adds_context,
        probe,
    }),
    wiring: Wiring {
        files,
        notes: |_| Vec::new(),
        program: Some("qwen"),
        settings,
        can_disable_own_tools: true,
        plugin: None,
    },
};

/// The agent's default; its settings have it in milliseconds.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(60);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    claude_code::parse_event(payload, &["run_shell_command"], |tool, input| {
        Ok(match tool {
            "edit" => vec![input.replace()?],
            "write_file" => vec![input.write()?],
            _ => Vec::new(),
        })
    })
}

/// It has no question for its user: it blocks if a hook answers `ask`.
fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    claude_code::reply(point, &message.without_question())
}

fn probe(root: &Path) -> Value {
    json!({"session_id": "probe", "cwd": root, "hook_event_name": "PreToolUse",
        "tool_name": "write_file",
        "tool_input": {"file_path": root.join(".git/edt-probe"), "content": "x"}})
}

/// Its matcher is a regular expression that may match a part of a name.
const TOOLS: &str = "^(edit|write_file|run_shell_command)$";

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let home = settings(target);
    let millis = u64::try_from(TIMEOUTS.agent.as_millis()).unwrap_or(60_000);
    let line = json!({"name": "edt", "type": "command", "command": target.hook_command("qwen"),
        "timeout": millis});
    let hook =
        |name, value| JsonEntry::OwnedElement(vec!["hooks", name], value, "agent-hook qwen".into());
    let mut entries = vec![
        JsonEntry::Owned(vec!["mcpServers", "edt"], target.server()),
        hook("PreToolUse", json!({"matcher": TOOLS, "hooks": [line.clone()]})),
        hook("PostToolUse", json!({"matcher": TOOLS, "hooks": [line.clone()]})),
        hook("SessionStart", json!({"hooks": [line.clone()]})),
        hook("UserPromptSubmit", json!({"hooks": [line]})),
    ];
    if target.only_edt {
        let denied = ["edit", "write_file"];
        entries.extend(denied.map(|tool| JsonEntry::ListItem(vec!["permissions", "deny"], tool)));
    }
    instructions::settings_and_skill(&home, entries)
}

fn settings(target: &SetupTarget) -> PathBuf {
    match (target.scope, path_from_env("QWEN_HOME")) {
        (Scope::User, Some(home)) => home,
        _ => target.path(".qwen"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{HookPhase, Question, Replacement, ToolEdit};
    use super::*;

    fn before(tool: &str, input: &Value) -> Value {
        json!({"session_id": "s", "transcript_path": "/t", "cwd": "/w", "timestamp": "x",
            "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": tool,
            "tool_input": input, "tool_use_id": "u"})
    }

    #[test]
    fn an_edit_a_file_and_a_command_are_read() {
        let edit = json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"});
        assert_eq!(
            event(&before("edit", &edit)).unwrap().edits,
            [ToolEdit::Replace {
                path: "/w/a".to_owned(),
                replacements: vec![Replacement { old: "x".into(), new: "y".into(), all: false }],
            }]
        );
        let file = json!({"file_path": "/w/a", "content": "x"});
        assert_eq!(
            event(&before("write_file", &file)).unwrap().edits,
            [ToolEdit::Write { path: "/w/a".into(), content: "x".into() }]
        );
        let command = json!({"command": "ls", "is_background": false});
        let read = event(&before("run_shell_command", &command)).unwrap();
        assert_eq!(read.command.unwrap().script, "ls");
    }

    #[test]
    fn an_editing_tool_with_an_unknown_input_is_an_error() {
        assert!(event(&before("write_file", &json!({"file_path": "a"}))).is_err());
        assert_eq!(event(&before("read_file", &json!({}))).unwrap().edits, []);
    }

    #[test]
    fn a_question_is_a_refusal() {
        let point = HookPoint { phase: HookPhase::Before, hook: "PreToolUse" };
        let question = Question { reason: "why".into(), refusal: "no".into() };
        let answer = reply(point, &HookMessage::Ask(question));
        assert_eq!(
            serde_json::from_str::<Value>(&answer.stdout).unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
                "permissionDecision": "deny", "permissionDecisionReason": "no"}})
        );
    }
}
