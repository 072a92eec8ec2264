//! GitHub Copilot: its command line has a form of its own, and VS Code that of Claude Code. One file of hooks serves both.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::setup::place::named;
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring};
use super::{Agent, Fields, Limits, Misshapen, Protocol, claude_code, texts};

/// The agent.
#[derive(Debug)]
pub struct Copilot;

/// The name of the hooks of its command line.
const CLI: &str = "cli";

impl Agent for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "GitHub Copilot (command line and VS Code)"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Copilot)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Copilot
    }
}

impl Protocol for Copilot {
    /// The default of both.
    fn limits(&self) -> Limits {
        Limits::within(30)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        let fields = Fields::of("the payload", payload)?;
        if fields.has("tool_name")
            || !fields.has("toolName")
                && fields.word(&["hook_event_name", "hookEventName"]).is_some()
        {
            return claude_code::event(payload, |tool, input| {
                if TOOLS.contains(&tool) { acts(tool, input) } else { Ok(Vec::new()) }
            });
        }
        // The command line does not name the hook. What was done has a result.
        let done = fields.has("toolResult");
        let others = ["prompt", "initialPrompt", "source", "reason", "error"]
            .iter()
            .any(|key| fields.has(key));
        let other =
            others && !["toolName", "toolArgs", "toolResult"].iter().any(|key| fields.has(key));
        let tool = if other { "" } else { fields.tool("toolName")? };
        let mut held = Value::Null;
        let acts = if TOOLS.contains(&tool) {
            acts(tool, fields.object("toolArgs", &mut held, tool)?)?
        } else {
            Vec::new()
        };
        let moment = match (tool.is_empty(), done) {
            (true, _) => Moment::Other,
            (false, true) => Moment::After,
            (false, false) => Moment::Before,
        };
        Ok(Event {
            at: At { moment, hook: CLI },
            tool: tool.to_owned(),
            cwd: fields.folder(&["cwd"]),
            session: fields.word(&["sessionId"]).map(str::to_owned),
            acts,
        })
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        match said {
            _ if at.hook != CLI => claude_code::reply(at, said),
            Said::Nothing => Reply::NOTHING,
            Said::Refused(why) => {
                Reply::json(&json!({"permissionDecision": "deny", "permissionDecisionReason": why}))
            }
            // It reads no answer to this hook.
            Said::Told(text) | Said::Objected(text) => {
                Reply { stderr: format!("{text}\n"), ..Reply::NOTHING }
            }
            Said::Broken(why) => Reply::two(why),
        }
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        let args = json!({"path": root.join(".git/edt-probe"), "file_text": "x"});
        json!({"sessionId": "probe", "cwd": root, "toolName": "create", "toolArgs": args.to_string()})
    }
}

impl Wiring for Copilot {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let line = json!({"type": "command", "bash": place.hook("copilot"), "timeoutSec": self.limits().host.as_secs()});
        let hook =
            |name| Entry::Element(vec!["hooks", name], line.clone(), "agent-hook copilot".into());
        let hooks =
            vec![Entry::There(vec!["version"], json!(1)), hook("preToolUse"), hook("postToolUse")];
        let hooks = |folder: PathBuf| Part {
            file: folder.join("edt.json"),
            what: What::Hooks,
            form: Form::Json(hooks.clone()),
        };
        let server = |file: PathBuf, at: &'static str, value: Value| Part {
            file,
            what: What::Mcp,
            form: Form::Json(vec![Entry::Own(vec![at, "edt"], value)]),
        };
        match place.scope {
            Scope::User => vec![
                server(
                    self.home(place).join("mcp-config.json"),
                    "mcpServers",
                    json!({"type": "local", "command": place.edt, "args": ["mcp"], "tools": ["*"]}),
                ),
                hooks(self.home(place).join("hooks")),
            ],
            Scope::Project => vec![
                server(
                    place.root.join(".vscode/mcp.json"),
                    "servers",
                    json!({"type": "stdio", "command": place.edt, "args": ["mcp"]}),
                ),
                hooks(place.root.join(".github/hooks")),
                texts::agents_part(place.root.join("AGENTS.md")),
            ],
        }
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        vec!["Its hooks are tested with payloads from its documentation, not with the program itself. VS Code runs them where agent hooks are switched on.".into()]
    }

    fn program(&self) -> &'static str {
        "copilot"
    }

    fn home(&self, place: &Place) -> PathBuf {
        match place.scope {
            Scope::User => named("COPILOT_HOME").unwrap_or_else(|| place.home.join(".copilot")),
            Scope::Project => place.root.join(".github/hooks"),
        }
    }
}

/// The tools that edit, of both.
const TOOLS: [&str; 8] = [
    "edit",
    "create",
    "str_replace",
    "apply_patch",
    "replace_string_in_file",
    "multi_replace_string_in_file",
    "create_file",
    "insert_edit_into_file",
];

fn acts(tool: &str, input: Fields<'_>) -> Result<Vec<Act>, Misshapen> {
    Ok(match tool {
        "create" | "create_file" => vec![input.whole()?],
        "apply_patch" => vec![input.patch()?],
        "multi_replace_string_in_file" => {
            input.list("replacements")?.iter().map(Fields::replace).collect::<Result<_, _>>()?
        }
        // What comes of it is another model's word.
        "insert_edit_into_file" => vec![Act::Changes { path: input.path()? }],
        _ => vec![input.replace()?],
    })
}
