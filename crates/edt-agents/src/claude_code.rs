//! Claude Code: `PreToolUse`, `PostToolUse`, `SessionStart`, `UserPromptSubmit`. It may ignore an answer that has a key
//! which its documentation does not name.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPhase, HookPoint, Reply, ShellCommand, ToolEdit};
use super::setup::target::path_from_env;
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring, json};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, instructions};

/// Claude Code.
pub const CLAUDE_CODE: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes,
        program: Some("claude"),
        settings,
        can_disable_own_tools: true,
        plugin: Some(plugin),
    },
};

/// The agent's default is 600 s; `edt setup` writes this value.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(60);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    parse_event(payload, &["Bash"], |tool, input| {
        Ok(match tool {
            "Edit" => vec![input.replace()?],
            "MultiEdit" => vec![input.multi_replace()?],
            "Write" => vec![input.write()?],
            "NotebookEdit" => vec![ToolEdit::Unspecified { path: input.path()? }],
            _ => Vec::new(),
        })
    })
}

fn probe(root: &Path) -> Value {
    json!({"session_id": "probe", "cwd": root, "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": root.join(".git/edt-probe"), "content": "x"}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let home = settings(target);
    let mcp = match target.scope {
        // With CLAUDE_CONFIG_DIR this file is in that directory, too.
        Scope::User if path_from_env("CLAUDE_CONFIG_DIR").is_some() => home.join(".claude.json"),
        Scope::User => target.home.join(".claude.json"),
        Scope::Project => target.root.join(".mcp.json"),
    };
    let mut settings = hooks(&target.hook_command("claude-code"));
    if target.only_edt {
        let denied = ["Edit", "Write", "NotebookEdit"];
        settings.extend(denied.map(|tool| JsonEntry::ListItem(vec!["permissions", "deny"], tool)));
    }
    vec![
        ManagedFile {
            file: mcp,
            purpose: Purpose::Mcp,
            form: Form::Json(vec![server(&target.edt)]),
        },
        ManagedFile {
            file: home.join("settings.json"),
            purpose: Purpose::Hooks,
            form: Form::Json(settings),
        },
        instructions::skill_file(&home.join("skills")),
    ]
}

fn notes(_: &SetupTarget) -> Vec<String> {
    vec![
        "Its hooks are tested with payloads from its documentation, not with the program itself; \
         they need version 2.1.295 to fail closed."
            .into(),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    target.path_or_env("CLAUDE_CONFIG_DIR", ".claude")
}

fn plugin() -> Vec<(&'static str, String)> {
    let manifest = json!({
        "name": "edt", "version": env!("CARGO_PKG_VERSION"),
        "description": instructions::DESCRIPTION, "license": env!("CARGO_PKG_LICENSE"),
    });
    let hooks = json::with(None, &hooks("edt agent-hook claude-code")).unwrap_or_default();
    vec![
        (".claude-plugin/plugin.json", json::file(&manifest)),
        (".mcp.json", json::with(None, &[server("edt")]).unwrap_or_default()),
        ("hooks/hooks.json", hooks),
        ("skills/edt/SKILL.md", instructions::skill()),
    ]
}

fn server(edt: &str) -> JsonEntry {
    let value = json!({"type": "stdio", "command": edt, "args": ["mcp"]});
    JsonEntry::Owned(vec!["mcpServers", "edt"], value)
}

/// Without `onFailure` the agent edits when the hook cannot be run or takes too long.
fn hooks(command: &str) -> Vec<JsonEntry> {
    let seconds = TIMEOUTS.agent.as_secs();
    let line = json!({"type": "command", "command": command, "timeout": seconds});
    let blocking =
        json!({"type": "command", "command": command, "timeout": seconds, "onFailure": "block"});
    let tools = "Edit|MultiEdit|Write|NotebookEdit|Bash";
    let hook = |name, value| {
        JsonEntry::OwnedElement(vec!["hooks", name], value, "agent-hook claude-code".into())
    };
    vec![
        hook("PreToolUse", json!({"matcher": tools, "hooks": [blocking]})),
        hook("PostToolUse", json!({"matcher": tools, "hooks": [line.clone()]})),
        hook("SessionStart", json!({"hooks": [line.clone()]})),
        hook("UserPromptSubmit", json!({"hooks": [line]})),
    ]
}

/// A payload in this agent's form, which other agents adopted. `shells` are the names of its shell;
/// `edits` reads the input of another tool.
pub(super) fn parse_event(
    payload: &Value,
    shells: &[&str],
    edits: impl FnOnce(&str, Fields<'_>) -> Result<Vec<ToolEdit>, UnexpectedShape>,
) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    let (phase, hook) = match fields.text(&["hook_event_name", "hookEventName"])? {
        "PreToolUse" => (HookPhase::Before, "PreToolUse"),
        "PostToolUse" => (HookPhase::After, "PostToolUse"),
        "SessionStart" => (HookPhase::Start, "SessionStart"),
        "UserPromptSubmit" => (HookPhase::Prompt, "UserPromptSubmit"),
        _ => (HookPhase::Other, ""),
    };
    let mut event = HookEvent {
        point: HookPoint { phase, hook },
        tool: fields.lenient_text(&["tool_name"]).unwrap_or_default().to_owned(),
        cwd: fields.directory(&["cwd"]),
        session: fields.lenient_text(&["session_id", "sessionId"]).map(str::to_owned),
        turn: fields.turn(phase),
        edits: Vec::new(),
        command: None,
    };
    if matches!(phase, HookPhase::Before | HookPhase::After) {
        let (tool, mut buffer) = (fields.tool_name("tool_name")?, Value::Null);
        if shells.contains(&tool) {
            let call = fields.lenient_text(&["tool_use_id", "tool_call_id", "call_id"]);
            let command = fields.object("tool_input", &mut buffer, tool)?.command()?;
            event.command = Some(ShellCommand { call: call.map(str::to_owned), ..command });
            return Ok(event);
        }
        // A tool that edt does not know may have any input.
        event.edits = match fields.object("tool_input", &mut buffer, tool) {
            Ok(input) => edits(tool, input)?,
            Err(error) => edits(tool, Fields::of(tool, &json!({}))?).map_err(|_| error)?,
        };
    }
    Ok(event)
}

/// An answer in this agent's form, which other agents adopted.
pub(super) fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    match (message, point.phase) {
        (HookMessage::Silent | HookMessage::Instead { .. }, _) => Reply::EMPTY,
        (HookMessage::Refusal(why), _) => hook_output(&json!({
            "hookEventName": "PreToolUse", "permissionDecision": "deny",
            "permissionDecisionReason": why,
        })),
        (HookMessage::Ask(question), _) => hook_output(&json!({
            "hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": question.reason,
        })),
        (HookMessage::Info(text), phase) => {
            let hook = match phase {
                HookPhase::Start => "SessionStart",
                HookPhase::Before => "PreToolUse",
                HookPhase::Prompt => "UserPromptSubmit",
                HookPhase::After | HookPhase::Other => "PostToolUse",
            };
            hook_output(&json!({"hookEventName": hook, "additionalContext": text}))
        }
        (HookMessage::Objection(why), _) => {
            Reply::json(&json!({"decision": "block", "reason": why}))
        }
        (HookMessage::Failure(why), _) => Reply::exit_two(why),
    }
}

/// Where this agent's model reads `additionalContext`.
pub(super) fn adds_context(point: HookPoint) -> bool {
    matches!(point.phase, HookPhase::Start | HookPhase::Prompt | HookPhase::After)
}

fn hook_output(output: &Value) -> Reply {
    Reply::json(&json!({"hookSpecificOutput": output}))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::AgentTurn;
    use super::super::event::Replacement;
    use super::*;

    fn before(tool: &str, input: Value) -> Value {
        json!({"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input})
    }

    #[test]
    fn an_edit_before_it_is_made_is_read() {
        let payload =
            before("Edit", json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"}));
        assert_eq!(
            event(&payload),
            Ok(HookEvent {
                point: HookPoint { phase: HookPhase::Before, hook: "PreToolUse" },
                tool: "Edit".to_owned(),
                cwd: Some("/w".into()),
                session: Some("s".to_owned()),
                turn: AgentTurn::default(),
                edits: vec![ToolEdit::Replace {
                    path: "/w/a".to_owned(),
                    replacements: vec![Replacement {
                        old: "x".into(),
                        new: "y".into(),
                        all: false
                    }],
                }],
                command: None
            })
        );
    }

    #[test]
    fn a_notebook_is_known_only_afterwards() {
        let payload =
            before("NotebookEdit", json!({"notebook_path": "n.ipynb", "new_source": "x"}));
        assert_eq!(
            event(&payload).unwrap().edits,
            [ToolEdit::Unspecified { path: "n.ipynb".into() }]
        );
    }

    #[test]
    fn a_tool_that_edits_nothing_may_have_any_input() {
        assert_eq!(event(&before("Read", json!("ls"))).unwrap().edits, []);
    }

    #[test]
    fn a_command_of_its_shell_is_read_and_its_shape_is_known() {
        let read = event(&before("Bash", json!({"command": "ls | wc", "timeout": 5}))).unwrap();
        assert_eq!(
            (read.command, read.edits),
            (
                Some(ShellCommand {
                    script: "ls | wc".into(),
                    dir: None,
                    call: None,
                    can_be_changed: false
                }),
                vec![]
            )
        );
        assert!(event(&before("Bash", json!("ls"))).is_err());
    }

    #[test]
    fn an_editing_tool_with_an_unknown_input_is_an_error() {
        assert_eq!(
            event(&before("Write", json!({"file_path": "a"}))),
            Err(UnexpectedShape(
                "Write has no field `content` or `contents` or `file_text`".to_owned()
            ))
        );
        assert_eq!(
            event(&before("Write", json!([]))),
            Err(UnexpectedShape("the payload has no object `tool_input`".to_owned()))
        );
    }

    #[test]
    fn the_start_of_a_conversation_has_no_tool() {
        let found =
            event(&json!({"hook_event_name": "SessionStart", "source": "startup"})).unwrap();
        assert_eq!(found.point, HookPoint { phase: HookPhase::Start, hook: "SessionStart" });
        assert_eq!((found.tool.as_str(), found.edits), ("", vec![]));
    }

    #[test]
    fn any_other_hook_needs_no_tool() {
        let found = event(&json!({"hook_event_name": "Stop"})).unwrap();
        assert_eq!(found.point.phase, HookPhase::Other);
    }

    #[test]
    fn a_refusal_denies_the_tool() {
        let point = HookPoint { phase: HookPhase::Before, hook: "PreToolUse" };
        assert_eq!(
            reply(point, &HookMessage::Refusal("why".into())),
            Reply::json(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "deny", "permissionDecisionReason": "why"}}))
        );
    }

    #[test]
    fn information_names_the_hook_that_it_answers() {
        let context = |phase| {
            let point = HookPoint { phase, hook: "" };
            reply(point, &HookMessage::Info("x".into())).stdout
        };
        assert_eq!(
        [context(HookPhase::Start), context(HookPhase::Prompt), context(HookPhase::After)],
        ["SessionStart", "UserPromptSubmit", "PostToolUse"].map(|name| format!(
            "{{\"hookSpecificOutput\":{{\"additionalContext\":\"x\",\"hookEventName\":\"{name}\"}}}}\n"
        ))
    );
    }

    #[test]
    fn an_objection_after_the_edit_blocks_with_its_reason() {
        let point = HookPoint { phase: HookPhase::After, hook: "PostToolUse" };
        assert_eq!(
            reply(point, &HookMessage::Objection("why".into())),
            Reply::json(&json!({"decision": "block", "reason": "why"}))
        );
        assert_eq!(reply(point, &HookMessage::Silent), Reply::EMPTY);
    }
}
