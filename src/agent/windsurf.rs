//! Windsurf (Devin Desktop): `pre_write_code`, which an exit status of 2 blocks, and `post_write_code`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring};
use super::{Agent, Fields, Limits, Misshapen, Protocol, texts};

/// The agent.
#[derive(Debug)]
pub struct Windsurf;

impl Agent for Windsurf {
    fn name(&self) -> &'static str {
        "windsurf"
    }

    fn title(&self) -> &'static str {
        "Windsurf"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Windsurf)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Windsurf
    }
}

impl Protocol for Windsurf {
    /// Its documentation names none; this is short enough for any.
    fn limits(&self) -> Limits {
        Limits::within(30)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        let fields = Fields::of("the payload", payload)?;
        let name = fields.text(&["agent_action_name"])?;
        let (moment, hook) = match name {
            "pre_write_code" => (Moment::Before, "pre_write_code"),
            "post_write_code" => (Moment::After, "post_write_code"),
            _ => (Moment::Other, ""),
        };
        let (mut acts, mut held): (Vec<Act>, _) = (Vec::new(), Value::Null);
        if moment != Moment::Other {
            let input = fields.object("tool_info", &mut held, name)?;
            acts.push(if moment == Moment::Before {
                input.replaces()?
            } else {
                Act::Changes { path: input.path()? }
            });
        }
        Ok(Event {
            at: At { moment, hook },
            tool: name.trim_start_matches("pre_").trim_start_matches("post_").to_owned(),
            cwd: fields.folder(&["cwd"]),
            session: fields.word(&["trajectory_id"]).map(str::to_owned),
            acts,
        })
    }

    fn reply(&self, _: At, said: &Said) -> Reply {
        match said {
            Said::Nothing => Reply::NOTHING,
            Said::Refused(why) | Said::Broken(why) => Reply::two(why),
            Said::Told(text) | Said::Objected(text) => {
                Reply { stdout: format!("{text}\n"), ..Reply::NOTHING }
            }
        }
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        json!({"agent_action_name": "pre_write_code", "tool_info": {"file_path": root.join(".git/edt-probe"),
            "edits": [{"old_string": "", "new_string": "x"}]}})
    }
}

impl Wiring for Windsurf {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let line = json!({"command": place.hook("windsurf"), "show_output": true});
        let hook =
            |name| Entry::Element(vec!["hooks", name], line.clone(), "agent-hook windsurf".into());
        let server =
            Entry::Own(vec!["mcpServers", "edt"], json!({"command": place.edt, "args": ["mcp"]}));
        let mut parts = vec![
            Part {
                file: self.home(place).join("hooks.json"),
                what: What::Hooks,
                form: Form::Json(vec![hook("pre_write_code"), hook("post_write_code")]),
            },
            // There is one list of servers for a person, and none for a project.
            Part {
                file: place.home.join(".codeium/windsurf/mcp_config.json"),
                what: What::Mcp,
                form: Form::Json(vec![server]),
            },
        ];
        if place.scope == Scope::Project {
            parts.push(texts::agents_part(place.root.join("AGENTS.md")));
        }
        parts
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        vec!["Its hooks are tested with payloads from its documentation, not with the program itself. A hook that it cannot run lets the edit pass.".into()]
    }

    fn program(&self) -> &'static str {
        "windsurf"
    }

    fn home(&self, place: &Place) -> PathBuf {
        match place.scope {
            Scope::User => place.home.join(".codeium/windsurf"),
            Scope::Project => place.root.join(".windsurf"),
        }
    }
}
