//! Cursor: `preToolUse`, `postToolUse`, `afterFileEdit`, `beforeSubmitPrompt`. With `failClosed` it also blocks when a
//! hook gives no answer.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPhase, HookPoint, Question, Reply, ToolEdit};
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, instructions};

/// Cursor.
pub const CURSOR: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes,
        program: Some("cursor"),
        settings,
        can_disable_own_tools: false,
        plugin: None,
    },
};

/// `edt setup` writes this value.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(30);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    let (phase, hook) = match fields.text(&["hook_event_name"])? {
        "preToolUse" => (HookPhase::Before, "preToolUse"),
        "postToolUse" => (HookPhase::After, "postToolUse"),
        "beforeSubmitPrompt" => (HookPhase::Prompt, "beforeSubmitPrompt"),
        "afterFileEdit" => (HookPhase::After, "afterFileEdit"),
        _ => (HookPhase::Other, ""),
    };
    let (mut edits, mut command, mut buffer) = (Vec::new(), None, Value::Null);
    let mut tool = hook;
    let mut point = HookPoint { phase, hook };
    if hook == "afterFileEdit" {
        edits.push(ToolEdit::Unspecified { path: fields.path()? });
    } else if matches!(phase, HookPhase::Before | HookPhase::After) {
        tool = fields.tool_name("tool_name")?;
        if TOOLS.contains(&tool) {
            edits.push(edit(tool, fields.object("tool_input", &mut buffer, tool)?)?);
        } else if tool == SHELL {
            point.hook = if phase == HookPhase::Before { BEFORE_SHELL } else { hook };
            command = Some(fields.object("tool_input", &mut buffer, tool)?.command()?);
        }
    }
    Ok(HookEvent {
        point,
        tool: tool.to_owned(),
        cwd: fields.directory(&["cwd", "workspace_roots"]),
        session: fields.lenient_text(&["conversation_id"]).map(str::to_owned),
        turn: fields.turn(phase),
        edits,
        command,
    })
}

fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    let deny = |why: &str| {
        Reply::json(&json!({"permission": "deny", "user_message": why, "agent_message": why}))
    };
    let inform = |text: &str| match point.hook {
        "postToolUse" => Reply::json(&json!({"additional_context": text})),
        // Cursor reads no answer to `afterFileEdit`; standard error goes to its log.
        _ => Reply { stderr: format!("{text}\n"), ..Reply::json(&json!({})) },
    };
    match message {
        // Nothing is allowed that Cursor would ask its user about.
        HookMessage::Silent if point.hook == BEFORE_SHELL => Reply::json(&json!({})),
        HookMessage::Info(text) if point.hook == BEFORE_SHELL => {
            Reply::json(&json!({"agent_message": text}))
        }
        HookMessage::Silent if point.phase == HookPhase::Prompt => {
            Reply::json(&json!({"continue": true}))
        }
        HookMessage::Silent if point.phase == HookPhase::Before => {
            Reply::json(&json!({"permission": "allow"}))
        }
        HookMessage::Silent | HookMessage::Instead { .. } => Reply::json(&json!({})),
        // `ask` has no effect in this hook.
        HookMessage::Refusal(why) | HookMessage::Ask(Question { refusal: why, .. }) => deny(why),
        HookMessage::Info(text) if point.phase == HookPhase::Before => {
            Reply::json(&json!({"permission": "allow", "agent_message": text}))
        }
        HookMessage::Info(text) | HookMessage::Objection(text) => inform(text),
        HookMessage::Failure(why) if point.phase == HookPhase::After => inform(why),
        HookMessage::Failure(why) => Reply { stdout: deny(why).stdout, ..Reply::exit_two(why) },
    }
}

/// Cursor reads no answer to its other hooks after an edit.
fn adds_context(point: HookPoint) -> bool {
    point.hook == "postToolUse"
}

fn probe(root: &Path) -> Value {
    json!({"hook_event_name": "preToolUse", "workspace_roots": [root], "tool_name": "Write",
        "tool_input": {"path": root.join(".git/edt-probe"), "contents": "x"}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let home = settings(target);
    let (command, tools, seconds) = (
        target.hook_command("cursor"),
        [&TOOLS[..], &[SHELL]].concat().join("|"),
        TIMEOUTS.agent.as_secs(),
    );
    let hook = |name, value| {
        JsonEntry::OwnedElement(vec!["hooks", name], value, "agent-hook cursor".into())
    };
    let hooks = vec![
        JsonEntry::Default(vec!["version"], json!(1)),
        hook(
            "preToolUse",
            json!({"command": command, "matcher": tools, "timeout": seconds, "failClosed": true}),
        ),
        hook("postToolUse", json!({"command": command, "matcher": tools, "timeout": seconds})),
        hook("beforeSubmitPrompt", json!({"command": command, "timeout": seconds})),
    ];
    let server = JsonEntry::Owned(
        vec!["mcpServers", "edt"],
        json!({"command": target.edt, "args": ["mcp"]}),
    );
    let mut files = vec![
        ManagedFile {
            file: home.join("mcp.json"),
            purpose: Purpose::Mcp,
            form: Form::Json(vec![server]),
        },
        ManagedFile {
            file: home.join("hooks.json"),
            purpose: Purpose::Hooks,
            form: Form::Json(hooks),
        },
        instructions::skill_file(&home.join("skills")),
    ];
    if target.scope == Scope::Project {
        files.push(instructions::agents_md_file(target.root.join("AGENTS.md")));
    }
    files
}

fn notes(_: &SetupTarget) -> Vec<String> {
    vec![
        "Its hooks are tested with payloads from its documentation, not with the program itself. \
         No hook can block a Tab completion."
            .into(),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    target.path(".cursor")
}

/// The hook before a command of its shell.
const BEFORE_SHELL: &str = "preToolUse of the shell";

/// The name of its shell.
const SHELL: &str = "Shell";

/// The tools that edit.
const TOOLS: [&str; 6] = ["Write", "StrReplace", "Edit", "MultiEdit", "Delete", "ApplyPatch"];

fn edit(tool: &str, input: Fields<'_>) -> Result<ToolEdit, UnexpectedShape> {
    match tool {
        "Write" => input.write(),
        "Delete" => Ok(ToolEdit::Delete { path: input.path()? }),
        "ApplyPatch" => input.patch(),
        _ if input.has("edits") => input.multi_replace(),
        _ => input.replace(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::AgentTurn;
    use super::*;

    fn edits(tool: &str, input: Value) -> Result<Vec<ToolEdit>, UnexpectedShape> {
        let payload =
            json!({"hook_event_name": "preToolUse", "tool_name": tool, "tool_input": input});
        event(&payload).map(|event| event.edits)
    }

    #[test]
    fn a_write_has_its_content_in_the_plural() {
        assert_eq!(
            edits("Write", json!({"path": "a", "contents": "x"})),
            Ok(vec![ToolEdit::Write { path: "a".into(), content: "x".into() }])
        );
    }

    #[test]
    fn a_deletion_is_read() {
        assert_eq!(
            edits("Delete", json!({"path": "a"})),
            Ok(vec![ToolEdit::Delete { path: "a".into() }])
        );
    }

    #[test]
    fn an_edit_with_a_list_is_several_replacements() {
        let input = json!({"path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}]});
        let found = edits("Edit", input).unwrap();
        assert!(
            matches!(&found[..], [ToolEdit::Replace { replacements, .. }] if replacements.len() == 2)
        );
    }

    #[test]
    fn an_edit_that_was_made_names_only_its_file() {
        let payload = json!({"hook_event_name": "afterFileEdit", "file_path": "/w/a",
        "workspace_roots": ["/w"], "conversation_id": "c"});
        assert_eq!(
            event(&payload),
            Ok(HookEvent {
                point: HookPoint { phase: HookPhase::After, hook: "afterFileEdit" },
                tool: "afterFileEdit".to_owned(),
                cwd: Some("/w".into()),
                session: Some("c".to_owned()),
                turn: AgentTurn::default(),
                edits: vec![ToolEdit::Unspecified { path: "/w/a".into() }],
                command: None
            })
        );
    }

    #[test]
    fn silence_before_a_tool_allows_it() {
        let answer = |phase| reply(HookPoint { phase, hook: "" }, &HookMessage::Silent);
        assert_eq!(answer(HookPhase::Before), Reply::json(&json!({"permission": "allow"})));
        assert_eq!(answer(HookPhase::After), Reply::json(&json!({})));
    }

    #[test]
    fn information_before_a_tool_allows_it() {
        let point = HookPoint { phase: HookPhase::Before, hook: "preToolUse" };
        let answer = reply(point, &HookMessage::Info("x".into()));
        let expected = json!({"permission": "allow", "agent_message": "x"});
        assert_eq!(answer, Reply::json(&expected));
    }

    #[test]
    fn information_after_a_tool_reaches_the_agent_by_one_hook() {
        let answer = |hook| {
            reply(HookPoint { phase: HookPhase::After, hook }, &HookMessage::Info("x".into()))
        };
        assert_eq!(answer("postToolUse"), Reply::json(&json!({"additional_context": "x"})));
        assert_eq!(
            answer("afterFileEdit"),
            Reply { stdout: "{}\n".into(), stderr: "x\n".into(), exit: 0 }
        );
    }
}
