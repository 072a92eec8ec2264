//! Cline: files that are run for `PreToolUse` and `PostToolUse`. It reads JSON alone, whatever the exit status, and a refusal ends its whole
//! run: for lessons there is the MCP server.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::setup::place::named;
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring};
use super::{Agent, Fields, Limits, Misshapen, Protocol, texts};

/// The agent.
#[derive(Debug)]
pub struct Cline;

impl Agent for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn title(&self) -> &'static str {
        "Cline"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Cline)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Cline
    }
}

impl Protocol for Cline {
    /// Its extension's default; its command line waits 120 s.
    fn limits(&self) -> Limits {
        Limits::within(30)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        let fields = Fields::of("the payload", payload)?;
        let (moment, hook) = match fields.text(&["hookName"])? {
            "PreToolUse" | "tool_call" => (Moment::Before, "preToolUse"),
            "PostToolUse" | "tool_result" => (Moment::After, "postToolUse"),
            _ => (Moment::Other, ""),
        };
        let mut event = Event {
            at: At { moment, hook },
            tool: String::new(),
            cwd: fields.folder(&["workspaceRoots"]),
            session: fields.word(&["taskId"]).map(str::to_owned),
            acts: Vec::new(),
        };
        if moment != Moment::Other {
            let (mut held, mut inner) = (Value::Null, Value::Null);
            let call = fields.object(hook, &mut held, hook)?;
            let tool = call.tool("toolName")?;
            tool.clone_into(&mut event.tool);
            if TOOLS.contains(&tool) {
                event.acts = vec![act(tool, call.object("parameters", &mut inner, tool)?)?];
            }
        }
        Ok(event)
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        let cancel = |why: &str| json!({"cancel": true, "errorMessage": why});
        let on = |text: &str| json!({"cancel": false, "contextModification": text});
        Reply::json(&match said {
            Said::Nothing => json!({"cancel": false}),
            Said::Broken(text) if at.moment == Moment::After => on(text),
            Said::Told(text) | Said::Objected(text) => on(text),
            Said::Refused(why) | Said::Broken(why) => cancel(why),
        })
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        json!({"hookName": "PreToolUse", "taskId": "probe", "workspaceRoots": [root],
            "preToolUse": {"toolName": "write_to_file", "parameters": {"path": ".git/edt-probe", "content": "x"}}})
    }
}

impl Wiring for Cline {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let server =
            Entry::Own(vec!["mcpServers", "edt"], json!({"command": place.edt, "args": ["mcp"]}));
        let mut parts = vec![
            Part { file: servers(place), what: What::Mcp, form: Form::Json(vec![server]) },
            texts::skill_part(&place.folder(".cline/skills")),
        ];
        if place.scope == Scope::Project {
            let hook = |name: &str, otherwise: &str| Part {
                file: place.root.join(".clinerules/hooks").join(name),
                what: What::Hooks,
                form: Form::Whole {
                    content: script(&place.hook("cline"), otherwise),
                    mark: MARK,
                    executable: true,
                },
            };
            parts.push(hook(
                "PreToolUse",
                "{\"cancel\":true,\"errorMessage\":\"edt could not be run, so this is blocked\"}",
            ));
            parts.push(hook(
                "PostToolUse",
                "{\"cancel\":false,\"contextModification\":\"edt could not be run, so this was not recorded\"}",
            ));
        }
        parts
    }

    fn notes(&self, place: &Place) -> Vec<String> {
        let mut notes = vec!["A refusal of its hook ends Cline's whole run: tell it to edit through the MCP server, whose refusals it reads.".into()];
        if place.scope == Scope::User {
            notes.push(
                "Its hooks belong to a project: `edt setup cline --scope project` writes them."
                    .into(),
            );
        }
        notes
    }

    fn program(&self) -> &'static str {
        "cline"
    }

    fn home(&self, place: &Place) -> PathBuf {
        match place.scope {
            Scope::User => named("CLINE_DIR").unwrap_or_else(|| place.home.join(".cline")),
            Scope::Project => place.root.join(".clinerules"),
        }
    }
}

/// The word by which a hook is known as edt's.
const MARK: &str = "edt setup cline";

/// Its list of MCP servers; there is one for a person, and none for a project.
fn servers(place: &Place) -> PathBuf {
    let data = || {
        named("CLINE_DATA_DIR").unwrap_or_else(|| {
            named("CLINE_DIR").unwrap_or_else(|| place.home.join(".cline")).join("data")
        })
    };
    named("CLINE_MCP_SETTINGS_PATH")
        .unwrap_or_else(|| data().join("settings/cline_mcp_settings.json"))
}

/// A hook that says something in any case: silence lets the edit pass.
fn script(command: &str, otherwise: &str) -> String {
    format!(
        "#!/bin/sh\n# Written by `edt setup cline`; `edt setup cline --remove` takes it away.\nanswer=$({command}) || answer=''\n[ -n \"$answer\" ] || answer='{otherwise}'\nprintf '%s\\n' \"$answer\"\n"
    )
}

/// The tools that edit.
const TOOLS: [&str; 4] = ["editor", "write_to_file", "replace_in_file", "apply_patch"];

fn act(tool: &str, input: Fields<'_>) -> Result<Act, Misshapen> {
    match tool {
        "write_to_file" => input.whole(),
        "replace_in_file" => {
            Ok(Act::Blocks { path: input.path()?, text: input.text(&["diff"])?.to_owned() })
        }
        "apply_patch" => input.patch(),
        _ => match input.number("insert_line")? {
            Some(line) => Ok(Act::Insert {
                path: input.path()?,
                line,
                content: input.text(&["new_text"])?.to_owned(),
            }),
            None => Ok(Act::Replace { path: input.path()?, pairs: vec![input.pair()?] }),
        },
    }
}
