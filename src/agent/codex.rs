//! Codex CLI: the form of Claude Code, read more strictly: one unknown key, a bare "allow", an exit status without a word, and the edit
//! lands.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Reply, Said};
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring};
use super::{Agent, Fields, Limits, Misshapen, Protocol, claude_code, texts};

/// The agent.
#[derive(Debug)]
pub struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex CLI"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Codex)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Codex
    }
}

impl Protocol for Codex {
    /// Its own default is 600 s; `edt setup` writes this.
    fn limits(&self) -> Limits {
        Limits::within(60)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        claude_code::event(payload, acts)
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        claude_code::reply(at, said)
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        json!({"session_id": "probe", "turn_id": "probe", "cwd": root, "hook_event_name": "PreToolUse", "tool_name": "apply_patch",
            "tool_input": {"command": "*** Begin Patch\n*** Add File: .git/edt-probe\n+x\n*** End Patch\n"}})
    }
}

impl Wiring for Codex {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let home = self.home(place);
        let line = json!({"type": "command", "command": place.hook("codex"), "timeout": self.limits().host.as_secs()});
        let hook =
            |name, value| Entry::Element(vec!["hooks", name], value, "agent-hook codex".into());
        let hooks = vec![
            hook("PreToolUse", json!({"matcher": "apply_patch", "hooks": [line.clone()]})),
            hook("PostToolUse", json!({"matcher": "apply_patch", "hooks": [line.clone()]})),
            hook("SessionStart", json!({"hooks": [line]})),
        ];
        let server = vec![
            ("command", toml_edit::Value::from(place.edt.as_str())),
            ("args", toml_edit::Value::Array(["mcp"].into_iter().collect())),
        ];
        let agents = match place.scope {
            Scope::User => home.join("AGENTS.md"),
            Scope::Project => place.root.join("AGENTS.md"),
        };
        vec![
            Part {
                file: home.join("config.toml"),
                what: What::Mcp,
                form: Form::Toml(&["mcp_servers", "edt"], server),
            },
            Part { file: home.join("hooks.json"), what: What::Hooks, form: Form::Json(hooks) },
            texts::agents_part(agents),
            texts::skill_part(&place.folder(".agents/skills")),
        ]
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        vec![
            "Type /hooks in Codex once and trust edt's hooks: hooks that are not trusted are skipped, in `codex exec` without a word.".into(),
            "Its own sandbox keeps commands of its shell from writing .git: edits go through the MCP server, which runs outside of it.".into(),
        ]
    }

    fn program(&self) -> &'static str {
        "codex"
    }

    fn home(&self, place: &Place) -> PathBuf {
        place.folder_or("CODEX_HOME", ".codex")
    }
}

fn acts(tool: &str, input: Fields<'_>) -> Result<Vec<Act>, Misshapen> {
    Ok(match tool {
        "apply_patch" => vec![input.patch()?],
        "Edit" => vec![input.replace()?],
        "Write" => vec![input.whole()?],
        _ => Vec::new(),
    })
}
