//! Cursor: `preToolUse`, `postToolUse`, `afterFileEdit`. With `failClosed` it blocks, too, where a hook gives no answer at all.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring};
use super::{Agent, Fields, Limits, Misshapen, Protocol, texts};

/// The agent.
#[derive(Debug)]
pub struct Cursor;

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn title(&self) -> &'static str {
        "Cursor"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Cursor)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Cursor
    }
}

impl Protocol for Cursor {
    /// `edt setup` writes this.
    fn limits(&self) -> Limits {
        Limits::within(30)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        let fields = Fields::of("the payload", payload)?;
        let (moment, hook) = match fields.text(&["hook_event_name"])? {
            "preToolUse" => (Moment::Before, "preToolUse"),
            "postToolUse" => (Moment::After, "postToolUse"),
            "afterFileEdit" => (Moment::After, "afterFileEdit"),
            _ => (Moment::Other, ""),
        };
        let (mut acts, mut held) = (Vec::new(), Value::Null);
        let mut tool = hook;
        if hook == "afterFileEdit" {
            acts.push(Act::Changes { path: fields.path()? });
        } else if moment != Moment::Other {
            tool = fields.tool("tool_name")?;
            if TOOLS.contains(&tool) {
                acts.push(act(tool, fields.object("tool_input", &mut held, tool)?)?);
            }
        }
        Ok(Event {
            at: At { moment, hook },
            tool: tool.to_owned(),
            cwd: fields.folder(&["cwd", "workspace_roots"]),
            session: fields.word(&["conversation_id"]).map(str::to_owned),
            acts,
        })
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        let deny = |why: &str| {
            Reply::json(&json!({"permission": "deny", "user_message": why, "agent_message": why}))
        };
        let told = |text: &str| match at.hook {
            "postToolUse" => Reply::json(&json!({"additional_context": text})),
            // That hook is only told: what is wrong goes to its log.
            _ => Reply { stderr: format!("{text}\n"), ..Reply::json(&json!({})) },
        };
        match said {
            Said::Nothing if at.moment == Moment::Before => {
                Reply::json(&json!({"permission": "allow"}))
            }
            Said::Nothing => Reply::json(&json!({})),
            Said::Refused(why) => deny(why),
            Said::Told(text) | Said::Objected(text) => told(text),
            Said::Broken(why) if at.moment == Moment::After => told(why),
            Said::Broken(why) => Reply { stdout: deny(why).stdout, ..Reply::two(why) },
        }
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        json!({"hook_event_name": "preToolUse", "workspace_roots": [root], "tool_name": "Write",
            "tool_input": {"path": root.join(".git/edt-probe"), "contents": "x"}})
    }
}

impl Wiring for Cursor {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let home = self.home(place);
        let (command, tools, seconds) =
            (place.hook("cursor"), TOOLS.join("|"), self.limits().host.as_secs());
        let hook =
            |name, value| Entry::Element(vec!["hooks", name], value, "agent-hook cursor".into());
        let hooks = vec![
            Entry::There(vec!["version"], json!(1)),
            hook(
                "preToolUse",
                json!({"command": command, "matcher": tools, "timeout": seconds, "failClosed": true}),
            ),
            hook("postToolUse", json!({"command": command, "matcher": tools, "timeout": seconds})),
        ];
        let server =
            Entry::Own(vec!["mcpServers", "edt"], json!({"command": place.edt, "args": ["mcp"]}));
        let mut parts = vec![
            Part { file: home.join("mcp.json"), what: What::Mcp, form: Form::Json(vec![server]) },
            Part { file: home.join("hooks.json"), what: What::Hooks, form: Form::Json(hooks) },
            texts::skill_part(&home.join("skills")),
        ];
        if place.scope == Scope::Project {
            parts.push(texts::agents_part(place.root.join("AGENTS.md")));
        }
        parts
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        vec!["Its hooks are tested with payloads from its documentation, not with the program itself. Tab completions pass no hook that could block them.".into()]
    }

    fn program(&self) -> &'static str {
        "cursor"
    }

    fn home(&self, place: &Place) -> PathBuf {
        place.folder(".cursor")
    }
}

/// The tools that edit.
const TOOLS: [&str; 6] = ["Write", "StrReplace", "Edit", "MultiEdit", "Delete", "ApplyPatch"];

fn act(tool: &str, input: Fields<'_>) -> Result<Act, Misshapen> {
    match tool {
        "Write" => input.whole(),
        "Delete" => Ok(Act::Delete { path: input.path()? }),
        "ApplyPatch" => input.patch(),
        _ if input.has("edits") => input.replaces(),
        _ => input.replace(),
    }
}
