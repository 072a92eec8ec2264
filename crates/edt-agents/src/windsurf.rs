//! Windsurf (Devin Desktop): an exit status of 2 from `pre_write_code` blocks an edit;
//! `post_write_code` runs after one.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::event::{HookEvent, HookMessage, HookPhase, HookPoint, Question, Reply, ToolEdit};
use super::setup::{Form, JsonEntry, ManagedFile, Purpose, Scope, SetupTarget, Wiring};
use super::{Agent, Fields, HookTimeouts, Protocol, UnexpectedShape, instructions};

/// Windsurf.
pub const WINDSURF: Agent = Agent {
    name: "windsurf",
    title: "Windsurf",
    protocol: Some(Protocol { timeouts: TIMEOUTS, event, reply, adds_context, probe }),
    wiring: Wiring {
        files,
        notes,
        program: Some("windsurf"),
        settings,
        can_disable_own_tools: false,
        plugin: None,
    },
};

/// Its documentation names no limit; this one is short enough for any.
const TIMEOUTS: HookTimeouts = HookTimeouts::within(30);

fn event(payload: &Value) -> Result<HookEvent, UnexpectedShape> {
    let fields = Fields::of("the payload", payload)?;
    let name = fields.text(&["agent_action_name"])?;
    let (phase, hook) = match name {
        "pre_write_code" => (HookPhase::Before, "pre_write_code"),
        "post_write_code" => (HookPhase::After, "post_write_code"),
        "pre_run_command" => (HookPhase::Before, "pre_run_command"),
        "post_run_command" => (HookPhase::After, "post_run_command"),
        "pre_user_prompt" => (HookPhase::Prompt, "pre_user_prompt"),
        _ => (HookPhase::Other, ""),
    };
    let (mut edits, mut command, mut buffer) = (Vec::new(), None, Value::Null);
    let mut turn = fields.turn(phase);
    if phase == HookPhase::Prompt {
        let info = fields.object("tool_info", &mut buffer, name)?;
        turn.prompt = info.lenient_text(&["user_prompt"]).map(str::to_owned).or(turn.prompt);
    } else if phase != HookPhase::Other {
        let input = fields.object("tool_info", &mut buffer, name)?;
        if hook.ends_with("_run_command") {
            command = Some(input.command()?);
        } else if phase == HookPhase::Before {
            edits.push(input.multi_replace()?);
        } else {
            edits.push(ToolEdit::Unspecified { path: input.path()? });
        }
    }
    Ok(HookEvent {
        point: HookPoint { phase, hook },
        tool: name.trim_start_matches("pre_").trim_start_matches("post_").to_owned(),
        cwd: fields.directory(&["cwd"]),
        session: fields.lenient_text(&["trajectory_id"]).map(str::to_owned),
        turn,
        edits,
        command,
    })
}

fn reply(_: HookPoint, message: &HookMessage) -> Reply {
    match message {
        HookMessage::Silent | HookMessage::Instead { .. } => Reply::EMPTY,
        HookMessage::Refusal(why)
        | HookMessage::Failure(why)
        | HookMessage::Ask(Question { refusal: why, .. }) => Reply::exit_two(why),
        HookMessage::Info(text) | HookMessage::Objection(text) => {
            Reply { stdout: format!("{text}\n"), ..Reply::EMPTY }
        }
    }
}

/// The hooks that it calls.
const HOOKS: [&str; 5] =
    ["pre_write_code", "post_write_code", "pre_run_command", "post_run_command", "pre_user_prompt"];

/// It shows the output of its hooks to the user alone.
const fn adds_context(_: HookPoint) -> bool {
    false
}

fn probe(root: &Path) -> Value {
    json!({"agent_action_name": "pre_write_code",
        "tool_info": {"file_path": root.join(".git/edt-probe"),
            "edits": [{"old_string": "", "new_string": "x"}]}})
}

fn files(target: &SetupTarget) -> Vec<ManagedFile> {
    let line = json!({"command": target.hook_command("windsurf"), "show_output": true});
    let hook = |name| {
        JsonEntry::OwnedElement(vec!["hooks", name], line.clone(), "agent-hook windsurf".into())
    };
    let server = JsonEntry::Owned(
        vec!["mcpServers", "edt"],
        json!({"command": target.edt, "args": ["mcp"]}),
    );
    let mut files = vec![
        ManagedFile {
            file: settings(target).join("hooks.json"),
            purpose: Purpose::Hooks,
            form: Form::Json(HOOKS.map(hook).into()),
        },
        // Windsurf has one list of servers for each user, and none for a project.
        ManagedFile {
            file: target.home.join(".codeium/windsurf/mcp_config.json"),
            purpose: Purpose::Mcp,
            form: Form::Json(vec![server]),
        },
    ];
    if target.scope == Scope::Project {
        files.push(instructions::agents_md_file(target.root.join("AGENTS.md")));
    }
    files
}

fn notes(_: &SetupTarget) -> Vec<String> {
    vec![
        "Its hooks are tested with payloads from its documentation, not with the program itself. \
         Windsurf edits when it cannot run a hook."
            .into(),
    ]
}

fn settings(target: &SetupTarget) -> PathBuf {
    match target.scope {
        Scope::User => target.home.join(".codeium/windsurf"),
        Scope::Project => target.root.join(".windsurf"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "tests are read, not tuned")]

    use super::super::event::AgentTurn;
    use super::super::event::Replacement;
    use super::*;

    #[test]
    fn edits_before_a_write_are_replacements() {
        let payload = json!({"agent_action_name": "pre_write_code", "trajectory_id": "t",
        "tool_info": {"file_path": "/w/a", "edits": [{"old_string": "x", "new_string": "y"}]}});
        assert_eq!(
            event(&payload),
            Ok(HookEvent {
                point: HookPoint { phase: HookPhase::Before, hook: "pre_write_code" },
                tool: "write_code".to_owned(),
                cwd: None,
                session: Some("t".to_owned()),
                turn: AgentTurn::default(),
                edits: vec![ToolEdit::Replace {
                    path: "/w/a".into(),
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
    fn after_a_write_only_the_file_is_read() {
        let payload =
            json!({"agent_action_name": "post_write_code", "tool_info": {"file_path": "a"}});
        assert_eq!(event(&payload).unwrap().edits, [ToolEdit::Unspecified { path: "a".into() }]);
    }

    #[test]
    fn another_action_needs_no_input() {
        let found = event(&json!({"agent_action_name": "pre_read_code"})).unwrap();
        assert_eq!((found.point.phase, found.edits), (HookPhase::Other, vec![]));
    }

    #[test]
    fn only_an_exit_status_blocks_a_write() {
        assert_eq!(
            reply(HookPoint::UNKNOWN, &HookMessage::Refusal("why".into())),
            Reply::exit_two("why")
        );
        assert_eq!(
            reply(HookPoint::UNKNOWN, &HookMessage::Objection("why".into())),
            Reply { stdout: "why\n".into(), ..Reply::EMPTY }
        );
    }
}
