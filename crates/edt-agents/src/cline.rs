//! Cline runs files for `PreToolUse` and `PostToolUse`. It reads only their JSON, whatever the exit
//! status. A refusal ends its task, so a model that is to read refusals uses the MCP server.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{
    HookEvent, HookMessage, HookPhase, HookPoint, Question, Reply, ShellCommand, ToolEdit,
};
use super::setup::target::path_from_env;
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, instructions};

/// Cline.
pub const CLINE: Agent = Agent {
    name: "cline",
    title: "Cline",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes,
        program: Some("cline"),
        settings,
        can_disable_own_tools: false,
        plugin: None,
    },
};

/// The default of its extension; its command line waits 120 s.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(30);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    let (phase, hook) = match fields.text(&["hookName"])? {
        "PreToolUse" | "tool_call" => (HookPhase::Before, "preToolUse"),
        "PostToolUse" | "tool_result" => (HookPhase::After, "postToolUse"),
        "UserPromptSubmit" => (HookPhase::Prompt, "userPromptSubmit"),
        _ => (HookPhase::Other, ""),
    };
    let mut event = HookEvent {
        point: HookPoint { phase, hook },
        tool: String::new(),
        cwd: fields.directory(&["workspaceRoots"]),
        session: fields.lenient_text(&["taskId"]).map(str::to_owned),
        turn: fields.turn(phase),
        edits: Vec::new(),
        command: None,
    };
    if phase == HookPhase::Prompt {
        let mut buffer = Value::Null;
        let said = fields.object(hook, &mut buffer, hook)?;
        let prompt = said.lenient_text(&["prompt"]).map(str::to_owned);
        event.turn.prompt = prompt.or(event.turn.prompt);
    } else if phase != HookPhase::Other {
        let (mut outer, mut inner) = (Value::Null, Value::Null);
        let call = fields.object(hook, &mut outer, hook)?;
        let tool = call.tool_name("toolName")?;
        tool.clone_into(&mut event.tool);
        if SHELLS.contains(&tool) {
            let parameters = call.object("parameters", &mut inner, tool)?;
            let can_be_changed = tool == "run_commands" && parameters.has_one("commands");
            event.command = Some(ShellCommand { can_be_changed, ..parameters.command()? });
        } else if TOOLS.contains(&tool) {
            event.edits = vec![edit(tool, call.object("parameters", &mut inner, tool)?)?];
        }
    }
    Ok(event)
}

fn reply(point: HookPoint, message: &HookMessage) -> Reply {
    let cancel = |why: &str| json!({"cancel": true, "errorMessage": why});
    let go_on = |text: &str| json!({"cancel": false, "contextModification": text});
    Reply::json(&match message {
        HookMessage::Silent => json!({"cancel": false}),
        HookMessage::Instead { command, info } => {
            let mut answer = json!({"cancel": false, "overrideInput": {"commands": [command]}});
            if !info.is_empty() {
                answer["contextModification"] = json!(info);
            }
            answer
        }
        HookMessage::Failure(text) if point.phase == HookPhase::After => go_on(text),
        HookMessage::Info(text) | HookMessage::Objection(text) => go_on(text),
        HookMessage::Refusal(why)
        | HookMessage::Failure(why)
        | HookMessage::Ask(Question { refusal: why, .. }) => cancel(why),
    })
}

/// Where its model reads `contextModification`.
fn adds_context(point: HookPoint) -> bool {
    matches!(point.phase, HookPhase::Prompt | HookPhase::After)
}

fn probe(root: &Path) -> Value {
    json!({"hookName": "PreToolUse", "taskId": "probe", "workspaceRoots": [root],
        "preToolUse": {"toolName": "write_to_file",
            "parameters": {"path": ".git/edt-probe", "content": "x"}}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let server = JsonEntry::Owned(
        vec!["mcpServers", "edt"],
        json!({"command": target.edt, "args": ["mcp"]}),
    );
    let mut files = vec![
        ManagedFile {
            file: server_list(target),
            purpose: Purpose::Mcp,
            form: Form::Json(vec![server]),
        },
        instructions::skill_file(&target.path(".cline/skills")),
    ];
    if target.scope == Scope::Project {
        files.push(instructions::rule_file(&target.root.join(".clinerules")));
        let hook = |name: &str, fallback: &str| ManagedFile {
            file: target.root.join(".clinerules/hooks").join(name),
            purpose: Purpose::Hooks,
            form: Form::OwnFile {
                content: script(&target.hook_command("cline"), fallback),
                mark: MARK,
                executable: true,
            },
        };
        files.push(hook(
            "PreToolUse",
            "{\"cancel\":true,\"errorMessage\":\"edt could not be run, so this is blocked\"}",
        ));
        files.push(hook(
            "PostToolUse",
            "{\"cancel\":false,\"contextModification\":\"edt could not be run, so this was not recorded\"}",
        ));
        files.push(hook("UserPromptSubmit", "{\"cancel\":false}"));
    }
    files
}

fn notes(target: &SetupTarget) -> Vec<String> {
    let mut notes = vec![
        "A refusal by its hook ends Cline's task: instruct Cline to edit through the MCP server, whose \
         refusals it reads."
            .into(),
    ];
    if target.scope == Scope::User {
        notes.push(
            "Its hooks belong to a project: `edt setup cline --scope project` writes them.".into(),
        );
    }
    notes
}

fn settings(target: &SetupTarget) -> PathBuf {
    match target.scope {
        Scope::User => path_from_env("CLINE_DIR").unwrap_or_else(|| target.home.join(".cline")),
        Scope::Project => target.root.join(".clinerules"),
    }
}

/// The text that identifies a hook file as edt's.
const MARK: &str = "edt setup cline";

/// Cline's list of MCP servers. It has one list for each user, and none for a project.
fn server_list(target: &SetupTarget) -> PathBuf {
    let data = || {
        path_from_env("CLINE_DATA_DIR").unwrap_or_else(|| {
            path_from_env("CLINE_DIR").unwrap_or_else(|| target.home.join(".cline")).join("data")
        })
    };
    path_from_env("CLINE_MCP_SETTINGS_PATH")
        .unwrap_or_else(|| data().join("settings/cline_mcp_settings.json"))
}

/// A hook that always prints an answer: Cline edits when a hook prints nothing.
fn script(command: &str, fallback: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # Written by `edt setup cline`; `edt setup cline --remove` removes it.\n\
         answer=$({command}) || answer=''\n\
         [ -n \"$answer\" ] || answer='{fallback}'\n\
         printf '%s\\n' \"$answer\"\n"
    )
}

/// The names of its shell.
const SHELLS: [&str; 2] = ["execute_command", "run_commands"];

/// The tools that edit.
const TOOLS: [&str; 4] = ["editor", "write_to_file", "replace_in_file", "apply_patch"];

fn edit(tool: &str, input: Fields<'_>) -> Result<ToolEdit, UnexpectedShape> {
    match tool {
        "write_to_file" => input.write(),
        "replace_in_file" => Ok(ToolEdit::SearchReplace {
            path: input.path()?,
            text: input.text(&["diff"])?.to_owned(),
        }),
        "apply_patch" => input.patch(),
        _ => match input.number("insert_line")? {
            Some(line) => Ok(ToolEdit::Insert {
                path: input.path()?,
                line,
                content: input.text(&["new_text"])?.to_owned(),
            }),
            None => Ok(ToolEdit::Replace {
                path: input.path()?,
                replacements: vec![input.replacement()?],
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::AgentTurn;
    use super::super::event::Replacement;
    use super::*;

    fn edits(tool: &str, parameters: Value) -> Result<Vec<ToolEdit>, UnexpectedShape> {
        let payload = json!({"hookName": "PreToolUse", "workspaceRoots": ["/w", "/v"],
        "preToolUse": {"toolName": tool, "parameters": parameters}});
        event(&payload).map(|event| event.edits)
    }

    #[test]
    fn the_call_is_below_the_name_of_its_hook() {
        let payload = json!({"hookName": "tool_result", "taskId": "t", "workspaceRoots": ["/w"],
        "postToolUse": {"toolName": "read_file"}});
        assert_eq!(
            event(&payload),
            Ok(HookEvent {
                point: HookPoint { phase: HookPhase::After, hook: "postToolUse" },
                tool: "read_file".to_owned(),
                cwd: Some("/w".into()),
                session: Some("t".to_owned()),
                turn: AgentTurn::default(),
                edits: vec![],
                command: None
            })
        );
    }

    #[test]
    fn blocks_of_one_file_are_read() {
        assert_eq!(
            edits("replace_in_file", json!({"path": "a", "diff": "------- SEARCH\n"})),
            Ok(vec![ToolEdit::SearchReplace { path: "a".into(), text: "------- SEARCH\n".into() }])
        );
    }

    #[test]
    fn the_editor_inserts_at_a_line() {
        assert_eq!(
            edits("editor", json!({"path": "a", "insert_line": 3, "new_text": "x"})),
            Ok(vec![ToolEdit::Insert { path: "a".into(), line: 3, content: "x".into() }])
        );
    }

    #[test]
    fn the_editor_without_a_line_replaces() {
        assert_eq!(
            edits("editor", json!({"path": "a", "old_text": "x", "new_text": "y"})),
            Ok(vec![ToolEdit::Replace {
                path: "a".into(),
                replacements: vec![Replacement { old: "x".into(), new: "y".into(), all: false }],
            }])
        );
    }

    #[test]
    fn parameters_may_be_written_as_text() {
        assert_eq!(
            edits("write_to_file", json!("{\"path\": \"a\", \"content\": \"x\"}")),
            Ok(vec![ToolEdit::Write { path: "a".into(), content: "x".into() }])
        );
    }

    #[test]
    fn one_command_of_the_command_line_can_be_changed() {
        let can_be_changed = |tool: &str, parameters: Value| {
            let payload = json!({"hookName": "PreToolUse",
                "preToolUse": {"toolName": tool, "parameters": parameters}});
            event(&payload).unwrap().command.unwrap().can_be_changed
        };
        assert!(can_be_changed("run_commands", json!({"commands": ["ls"]})));
        assert!(can_be_changed("run_commands", json!({"commands": "[\"ls\"]"})));
        assert!(!can_be_changed("run_commands", json!({"commands": ["ls", "ls"]})));
        assert!(!can_be_changed("execute_command", json!({"command": "ls"})));
        let message = HookMessage::Instead { command: "c".into(), info: String::new() };
        let answer = reply(HookPoint::UNKNOWN, &message).stdout;
        assert_eq!(answer, "{\"cancel\":false,\"overrideInput\":{\"commands\":[\"c\"]}}\n");
    }

    #[test]
    fn every_answer_is_json() {
        let before = HookPoint { phase: HookPhase::Before, hook: "preToolUse" };
        let after = HookPoint { phase: HookPhase::After, hook: "postToolUse" };
        let failure = HookMessage::Failure("why".into());
        assert_eq!(
            [reply(before, &HookMessage::Silent), reply(before, &failure), reply(after, &failure)],
            [
                Reply::json(&json!({"cancel": false})),
                Reply::json(&json!({"cancel": true, "errorMessage": "why"})),
                Reply::json(&json!({"cancel": false, "contextModification": "why"})),
            ]
        );
    }

    #[test]
    fn its_hook_answers_even_if_edt_does_not() {
        assert_eq!(
            script("edt agent-hook cline", "{}"),
            "#!/bin/sh\n# Written by `edt setup cline`; `edt setup cline --remove` removes it.\n\
         answer=$(edt agent-hook cline) || answer=''\n[ -n \"$answer\" ] || answer='{}'\n\
         printf '%s\\n' \"$answer\"\n"
        );
    }
}
