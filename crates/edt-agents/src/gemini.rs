//! Gemini CLI: `BeforeTool`, `AfterTool`, `SessionStart`, `BeforeAgent`. It reads the decision from the top level
//! of the answer, and ignores one in Claude Code's form.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPhase, HookPoint, Question, Reply, ShellCommand};
use super::setup::target::path_from_env;
use super::setup::{JsonEntry, ManagedFile, Scope, SetupTarget, Wiring, json};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, instructions};

/// Gemini CLI.
pub const GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes: |_| Vec::new(),
        program: Some("gemini"),
        settings,
        can_disable_own_tools: true,
        plugin: Some(plugin),
    },
};

/// The agent's default; its settings have it in milliseconds.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(60);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    let (phase, hook) = match fields.text(&["hook_event_name"])? {
        "BeforeTool" => (HookPhase::Before, "BeforeTool"),
        "AfterTool" => (HookPhase::After, "AfterTool"),
        "SessionStart" => (HookPhase::Start, "SessionStart"),
        "BeforeAgent" => (HookPhase::Prompt, "BeforeAgent"),
        _ => (HookPhase::Other, ""),
    };
    let has_tool = matches!(phase, HookPhase::Before | HookPhase::After);
    let tool = if has_tool { fields.tool_name("tool_name")? } else { "" };
    let (mut edits, mut command, mut buffer) = (Vec::new(), None, Value::Null);
    match tool {
        "replace" => edits.push(fields.object("tool_input", &mut buffer, tool)?.replace()?),
        "write_file" => edits.push(fields.object("tool_input", &mut buffer, tool)?.write()?),
        "run_shell_command" => {
            let input = fields.object("tool_input", &mut buffer, tool)?;
            let can_be_changed = !input.lenient_flag("is_background");
            command = Some(ShellCommand { can_be_changed, ..input.command()? });
        }
        _ => {}
    }
    Ok(HookEvent {
        point: HookPoint { phase, hook },
        tool: tool.to_owned(),
        cwd: fields.directory(&["cwd"]),
        session: fields.lenient_text(&["session_id"]).map(str::to_owned),
        turn: fields.turn(phase),
        edits,
        command,
    })
}

fn reply(_: HookPoint, message: &HookMessage) -> Reply {
    // Without a terminal it waits for an answer to `ask` for ever.
    match &message.without_question() {
        HookMessage::Silent => Reply::EMPTY,
        // After a tool the reason replaces the tool's result.
        HookMessage::Refusal(why)
        | HookMessage::Objection(why)
        | HookMessage::Ask(Question { refusal: why, .. }) => {
            Reply::json(&json!({"decision": "deny", "reason": why}))
        }
        HookMessage::Info(text) => {
            Reply::json(&json!({"hookSpecificOutput": {"additionalContext": text}}))
        }
        // The input is merged into that of the call, which the user was asked about.
        HookMessage::Instead { command, info } => {
            let mut output = json!({"tool_input": {"command": command}});
            if !info.is_empty() {
                output["additionalContext"] = json!(info);
            }
            Reply::json(&json!({"hookSpecificOutput": output}))
        }
        HookMessage::Failure(why) => Reply::exit_two(why),
    }
}

/// Where its model reads `additionalContext`.
fn adds_context(point: HookPoint) -> bool {
    matches!(point.phase, HookPhase::Start | HookPhase::Prompt | HookPhase::After)
}

fn probe(root: &Path) -> Value {
    json!({"session_id": "probe", "cwd": root, "hook_event_name": "BeforeTool",
        "tool_name": "write_file",
        "tool_input": {"file_path": root.join(".git/edt-probe"), "content": "x"}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let home = settings(target);
    let mut entries = vec![server(&target.edt)];
    entries.extend(hooks(&target.hook_command("gemini")));
    if target.only_edt {
        entries.extend(
            ["replace", "write_file"]
                .map(|tool| JsonEntry::ListItem(vec!["tools", "exclude"], tool)),
        );
    }
    instructions::settings_and_skill(&home, entries)
}

fn settings(target: &SetupTarget) -> PathBuf {
    match (target.scope, path_from_env("GEMINI_CLI_HOME")) {
        (Scope::User, Some(home)) => home.join(".gemini"),
        _ => target.path(".gemini"),
    }
}

fn plugin() -> Vec<(&'static str, String)> {
    let manifest = json!({
        "name": "edt", "version": env!("CARGO_PKG_VERSION"),
        "description": instructions::DESCRIPTION, "contextFileName": "GEMINI.md",
        "mcpServers": {"edt": {"command": "edt", "args": ["mcp"]}},
    });
    vec![
        ("gemini-extension.json", json::file(&manifest)),
        ("GEMINI.md", format!("# edt\n\n{}\n", instructions::brief())),
        ("hooks/hooks.json", json::with(None, &hooks("edt agent-hook gemini")).unwrap_or_default()),
        ("skills/edt/SKILL.md", instructions::skill()),
    ]
}

/// The tools whose calls the hooks get.
const TOOLS: &str = "replace|write_file|run_shell_command";

fn server(edt: &str) -> JsonEntry {
    JsonEntry::Owned(vec!["mcpServers", "edt"], json!({"command": edt, "args": ["mcp"]}))
}

fn hooks(command: &str) -> Vec<JsonEntry> {
    let millis = u64::try_from(TIMEOUTS.agent.as_millis()).unwrap_or(60_000);
    let line = json!({"name": "edt", "type": "command", "command": command, "timeout": millis});
    let hook = |name, value| {
        JsonEntry::OwnedElement(vec!["hooks", name], value, "agent-hook gemini".into())
    };
    vec![
        hook("BeforeTool", json!({"matcher": TOOLS, "hooks": [line.clone()]})),
        hook("AfterTool", json!({"matcher": TOOLS, "hooks": [line.clone()]})),
        hook("SessionStart", json!({"hooks": [line.clone()]})),
        hook("BeforeAgent", json!({"hooks": [line]})),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::AgentTurn;
    use super::super::event::{Replacement, ToolEdit};
    use super::*;

    #[test]
    fn a_replacement_of_several_places_is_read() {
        let payload = json!({"hook_event_name": "BeforeTool", "session_id": "s", "cwd": "/w",
        "tool_name": "replace", "tool_input": {"file_path": "a", "old_string": "x",
            "new_string": "y", "expected_replacements": 2}});
        assert_eq!(
            event(&payload),
            Ok(HookEvent {
                point: HookPoint { phase: HookPhase::Before, hook: "BeforeTool" },
                tool: "replace".to_owned(),
                cwd: Some("/w".into()),
                session: Some("s".to_owned()),
                turn: AgentTurn::default(),
                edits: vec![ToolEdit::Replace {
                    path: "a".into(),
                    replacements: vec![Replacement { old: "x".into(), new: "y".into(), all: true }],
                }],
                command: None
            })
        );
    }

    #[test]
    fn a_write_without_its_input_is_an_error() {
        let payload = json!({"hook_event_name": "AfterTool", "tool_name": "write_file"});
        assert_eq!(
            event(&payload),
            Err(UnexpectedShape("the payload has no object `tool_input`".to_owned()))
        );
    }

    #[test]
    fn a_decision_is_at_the_top_level() {
        let deny = Reply::json(&json!({"decision": "deny", "reason": "why"}));
        assert_eq!(reply(HookPoint::UNKNOWN, &HookMessage::Refusal("why".into())), deny);
        assert_eq!(reply(HookPoint::UNKNOWN, &HookMessage::Objection("why".into())), deny);
    }

    #[test]
    fn a_changed_command_is_merged_into_the_input() {
        let changed = |info: &str| {
            let message = HookMessage::Instead { command: "c".into(), info: info.into() };
            serde_json::from_str::<Value>(&reply(HookPoint::UNKNOWN, &message).stdout).unwrap()
        };
        let output = json!({"tool_input": {"command": "c"}});
        assert_eq!(changed(""), json!({"hookSpecificOutput": output}));
        assert_eq!(changed("x")["hookSpecificOutput"]["additionalContext"], "x");
    }

    #[test]
    fn a_command_in_the_background_is_not_changed() {
        let can_be_changed = |input: Value| {
            let payload = json!({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command",
                "tool_input": input});
            event(&payload).unwrap().command.unwrap().can_be_changed
        };
        assert!(can_be_changed(json!({"command": "ls"})));
        assert!(!can_be_changed(json!({"command": "ls", "is_background": true})));
    }

    #[test]
    fn its_settings_have_the_time_limit_in_milliseconds() {
        let text = json::with(None, &hooks("edt agent-hook gemini")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 60_000);
    }
}
