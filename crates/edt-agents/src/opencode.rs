//! opencode: its plugins are code. The plugin that `edt setup` writes passes each call to edt. It
//! throws edt's message on a refusal, and also when edt gives no usable answer.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{
    HookEvent, HookMessage, HookPhase, HookPoint, Question, Reply, ShellCommand, ToolEdit,
};
use super::setup::target::path_from_env;
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, instructions};

/// opencode.
pub const OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes: |_| Vec::new(),
        program: Some("opencode"),
        settings,
        can_disable_own_tools: true,
        plugin: Some(plugin),
    },
};

/// `LIMIT` of the plugin.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(60);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    let (phase, hook) = match fields.text(&["hook"])? {
        "tool.execute.before" => (HookPhase::Before, "tool.execute.before"),
        "tool.execute.after" => (HookPhase::After, "tool.execute.after"),
        "chat.message" => (HookPhase::Prompt, "chat.message"),
        _ => (HookPhase::Other, ""),
    };
    let (mut buffer, mut command) = (Value::Null, None);
    let tool = if phase == HookPhase::Prompt { "" } else { fields.tool_name("tool")? };
    let edits: Vec<ToolEdit> = match tool {
        "edit" => vec![fields.object("args", &mut buffer, tool)?.replace()?],
        "multiedit" => vec![fields.object("args", &mut buffer, tool)?.multi_replace()?],
        "write" => vec![fields.object("args", &mut buffer, tool)?.write()?],
        "patch" | "apply_patch" => vec![fields.object("args", &mut buffer, tool)?.patch()?],
        "bash" => {
            let call = fields.lenient_text(&["callID"]).map(str::to_owned);
            let read = fields.object("args", &mut buffer, tool)?.command()?;
            // The plugin knows the user's rules for the shell.
            let can_be_changed = fields.lenient_flag("mayChangeCommand");
            command = Some(ShellCommand { call, can_be_changed, ..read });
            Vec::new()
        }
        _ => Vec::new(),
    };
    Ok(HookEvent {
        point: HookPoint { phase, hook },
        tool: tool.to_owned(),
        cwd: fields.directory(&["cwd"]),
        session: fields.lenient_text(&["sessionID"]).map(str::to_owned),
        turn: fields.turn(phase),
        edits,
        command,
    })
}

fn reply(_: HookPoint, message: &HookMessage) -> Reply {
    match message {
        HookMessage::Silent => Reply::EMPTY,
        HookMessage::Instead { command, .. } => Reply::json(&json!({"command": command})),
        HookMessage::Refusal(why)
        | HookMessage::Failure(why)
        | HookMessage::Ask(Question { refusal: why, .. }) => Reply::exit_two(why),
        HookMessage::Info(text) | HookMessage::Objection(text) => {
            Reply { stdout: format!("{text}\n"), ..Reply::EMPTY }
        }
    }
}

/// The plugin appends the message to the output of the tool.
fn adds_context(point: HookPoint) -> bool {
    point.phase == HookPhase::After
}

fn probe(root: &Path) -> Value {
    json!({"hook": "tool.execute.before", "tool": "write", "cwd": root,
        "args": {"filePath": root.join(".git/edt-probe"), "content": "x"}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let home = settings(target);
    let config = match target.scope {
        Scope::User => home.clone(),
        Scope::Project => target.root.clone(),
    };
    let with_comments = config.join("opencode.jsonc");
    let file = if with_comments.exists() { with_comments } else { config.join("opencode.json") };
    let mut entries = vec![JsonEntry::Owned(
        vec!["mcp", "edt"],
        json!({"type": "local", "command": [target.edt.as_str(), "mcp"], "enabled": true}),
    )];
    if target.only_edt {
        entries.push(JsonEntry::Override(vec!["permission", "edit"], json!("deny")));
    }
    vec![
        ManagedFile { file, purpose: Purpose::Mcp, form: Form::Json(entries) },
        ManagedFile {
            file: home.join("plugins/edt.js"),
            purpose: Purpose::Plugin,
            form: Form::OwnFile {
                content: plugin_source(&target.edt),
                mark: MARK,
                executable: false,
            },
        },
        instructions::agents_md_file(config.join("AGENTS.md")),
        instructions::skill_file(&home.join("skills")),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    match target.scope {
        Scope::Project => target.root.join(".opencode"),
        Scope::User => path_from_env("OPENCODE_CONFIG_DIR").unwrap_or_else(|| {
            path_from_env("XDG_CONFIG_HOME")
                .unwrap_or_else(|| target.home.join(".config"))
                .join("opencode")
        }),
    }
}

fn plugin() -> Vec<(&'static str, String)> {
    vec![("edt.js", plugin_source("edt"))]
}

/// The text that identifies the plugin as edt's.
const MARK: &str = "edt setup opencode";

/// The plugin that calls the program `edt`.
fn plugin_source(edt: &str) -> String {
    include_str!("opencode.js").replace("\"edt\"", &serde_json::Value::from(edt).to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::*;

    fn edits(tool: &str, args: Value) -> Result<Vec<ToolEdit>, UnexpectedShape> {
        event(&json!({"hook": "tool.execute.before", "tool": tool, "args": args}))
            .map(|event| event.edits)
    }

    #[test]
    fn each_editing_tool_is_read() {
        assert_eq!(
            edits("write", json!({"filePath": "a", "content": "x"})),
            Ok(vec![ToolEdit::Write { path: "a".into(), content: "x".into() }])
        );
        assert_eq!(
            edits("patch", json!({"patchText": "x"})),
            Ok(vec![ToolEdit::Patch { text: "x".into() }])
        );
    }

    #[test]
    fn a_tool_that_edits_nothing_may_have_any_arguments() {
        assert_eq!(edits("read", json!(null)), Ok(vec![]));
    }

    #[test]
    fn an_edit_without_its_file_is_an_error() {
        assert_eq!(
            edits("edit", json!({"oldString": "x", "newString": "y"})),
            Err(UnexpectedShape(
                "edit has no field `file_path` or `filePath` or `path` or `absolute_path` or \
             `notebook_path`"
                    .to_owned()
            ))
        );
    }

    #[test]
    fn a_command_can_be_changed_if_the_plugin_says_so() {
        let can_be_changed = |mut payload: Value| {
            payload["hook"] = json!("tool.execute.before");
            payload["tool"] = json!("bash");
            payload["args"] = json!({"command": "ls"});
            event(&payload).unwrap().command.unwrap().can_be_changed
        };
        assert!(can_be_changed(json!({"mayChangeCommand": true})));
        assert!(!can_be_changed(json!({})));
        let message = HookMessage::Instead { command: "c".into(), info: String::new() };
        assert_eq!(reply(HookPoint::UNKNOWN, &message).stdout, "{\"command\":\"c\"}\n");
    }

    #[test]
    fn its_plugin_calls_the_given_program() {
        let source = plugin_source("/opt/my \"edt\"");
        assert!(source.contains("\"/opt/my \\\"edt\\\"\""), "{source}");
        assert!(source.contains(MARK) && !source.contains("\"edt\","), "{source}");
    }
}
