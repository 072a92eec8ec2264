//! Claude Code: `PreToolUse`, `PostToolUse`, `SessionStart`. What it takes is documented; any key beyond that may make it ignore an answer.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::setup::place::named;
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring, json};
use super::{Agent, Fields, Limits, Misshapen, Protocol, texts};

/// The agent.
#[derive(Debug)]
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&ClaudeCode)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &ClaudeCode
    }
}

impl Protocol for ClaudeCode {
    /// Its own default is 600 s; `edt setup` writes this.
    fn limits(&self) -> Limits {
        Limits::within(60)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        event(payload, |tool, input| {
            Ok(match tool {
                "Edit" => vec![input.replace()?],
                "MultiEdit" => vec![input.replaces()?],
                "Write" => vec![input.whole()?],
                "NotebookEdit" => vec![Act::Changes { path: input.path()? }],
                _ => Vec::new(),
            })
        })
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        reply(at, said)
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        json!({"session_id": "probe", "cwd": root, "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": {"file_path": root.join(".git/edt-probe"), "content": "x"}})
    }
}

impl Wiring for ClaudeCode {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let home = self.home(place);
        let mcp = match place.scope {
            // Where its settings are elsewhere, so is this file.
            Scope::User if named("CLAUDE_CONFIG_DIR").is_some() => home.join(".claude.json"),
            Scope::User => place.home.join(".claude.json"),
            Scope::Project => place.root.join(".mcp.json"),
        };
        let mut settings = hooks(&place.hook("claude-code"));
        if place.only_edt {
            let denied = ["Edit", "Write", "NotebookEdit"];
            settings.extend(denied.map(|tool| Entry::Word(vec!["permissions", "deny"], tool)));
        }
        vec![
            Part { file: mcp, what: What::Mcp, form: Form::Json(vec![server(&place.edt)]) },
            Part {
                file: home.join("settings.json"),
                what: What::Hooks,
                form: Form::Json(settings),
            },
            texts::skill_part(&home.join("skills")),
        ]
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        vec!["Its hooks are tested with payloads from its documentation, not with the program itself; they need version 2.1.295 to fail closed.".into()]
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn home(&self, place: &Place) -> PathBuf {
        place.folder_or("CLAUDE_CONFIG_DIR", ".claude")
    }

    fn can_do_without_its_own(&self) -> bool {
        true
    }

    fn plugin(&self) -> Vec<(&'static str, String)> {
        let manifest = json!({
            "name": "edt", "version": env!("CARGO_PKG_VERSION"), "description": texts::DESCRIPTION, "license": env!("CARGO_PKG_LICENSE"),
        });
        let hooks = json::with(None, &hooks("edt agent-hook claude-code")).unwrap_or_default();
        vec![
            (".claude-plugin/plugin.json", json::file(&manifest)),
            (".mcp.json", json::with(None, &[server("edt")]).unwrap_or_default()),
            ("hooks/hooks.json", hooks),
            ("skills/edt/SKILL.md", texts::skill()),
        ]
    }
}

fn server(edt: &str) -> Entry {
    Entry::Own(vec!["mcpServers", "edt"], json!({"type": "stdio", "command": edt, "args": ["mcp"]}))
}

/// Without `onFailure` a hook that cannot be run, or takes too long, lets the edit pass.
fn hooks(command: &str) -> Vec<Entry> {
    let seconds = ClaudeCode.limits().host.as_secs();
    let line = json!({"type": "command", "command": command, "timeout": seconds});
    let blocking =
        json!({"type": "command", "command": command, "timeout": seconds, "onFailure": "block"});
    let tools = "Edit|MultiEdit|Write|NotebookEdit";
    let hook =
        |name, value| Entry::Element(vec!["hooks", name], value, "agent-hook claude-code".into());
    vec![
        hook("PreToolUse", json!({"matcher": tools, "hooks": [blocking]})),
        hook("PostToolUse", json!({"matcher": tools, "hooks": [line.clone()]})),
        hook("SessionStart", json!({"hooks": [line]})),
    ]
}

/// A payload in this agent's form, which others took over; `acts` reads the input of a tool.
pub(super) fn event(
    payload: &Value,
    acts: impl FnOnce(&str, Fields<'_>) -> Result<Vec<Act>, Misshapen>,
) -> Result<Event, Misshapen> {
    let fields = Fields::of("the payload", payload)?;
    let (moment, hook) = match fields.text(&["hook_event_name", "hookEventName"])? {
        "PreToolUse" => (Moment::Before, "PreToolUse"),
        "PostToolUse" => (Moment::After, "PostToolUse"),
        "SessionStart" => (Moment::Start, "SessionStart"),
        _ => (Moment::Other, ""),
    };
    let mut event = Event {
        at: At { moment, hook },
        tool: fields.word(&["tool_name"]).unwrap_or_default().to_owned(),
        cwd: fields.folder(&["cwd"]),
        session: fields.word(&["session_id", "sessionId"]).map(str::to_owned),
        acts: Vec::new(),
    };
    if matches!(moment, Moment::Before | Moment::After) {
        let (tool, mut held) = (fields.tool("tool_name")?, Value::Null);
        // A tool that nobody here knows may have any input.
        event.acts = match fields.object("tool_input", &mut held, tool) {
            Ok(input) => acts(tool, input)?,
            Err(fault) => acts(tool, Fields::of(tool, &json!({}))?).map_err(|_| fault)?,
        };
    }
    Ok(event)
}

/// An answer in this agent's form.
pub(super) fn reply(at: At, said: &Said) -> Reply {
    match (said, at.moment) {
        (Said::Nothing, _) => Reply::NOTHING,
        (Said::Refused(why), _) => specific(&json!({
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
        })),
        (Said::Told(text), moment) => {
            let hook = if moment == Moment::Start { "SessionStart" } else { "PostToolUse" };
            specific(&json!({"hookEventName": hook, "additionalContext": text}))
        }
        (Said::Objected(why), _) => Reply::json(&json!({"decision": "block", "reason": why})),
        (Said::Broken(why), _) => Reply::two(why),
    }
}

fn specific(output: &Value) -> Reply {
    Reply::json(&json!({"hookSpecificOutput": output}))
}
