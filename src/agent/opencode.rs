//! opencode: its plugins are code. The plugin that `edt setup` writes calls edt with what it was called with, throws what edt says on a
//! refusal, and throws, too, if edt says nothing of use.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::setup::place::named;
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring};
use super::{Agent, Fields, Limits, Misshapen, Protocol, texts};

/// The agent.
#[derive(Debug)]
pub struct Opencode;

impl Agent for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "opencode"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Opencode)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Opencode
    }
}

impl Protocol for Opencode {
    /// The plugin's own.
    fn limits(&self) -> Limits {
        Limits::within(60)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        let fields = Fields::of("the payload", payload)?;
        let (moment, hook) = match fields.text(&["hook"])? {
            "tool.execute.before" => (Moment::Before, "tool.execute.before"),
            "tool.execute.after" => (Moment::After, "tool.execute.after"),
            _ => (Moment::Other, ""),
        };
        let (tool, mut held) = (fields.tool("tool")?, Value::Null);
        let acts: Vec<Act> = match tool {
            "edit" => vec![fields.object("args", &mut held, tool)?.replace()?],
            "multiedit" => vec![fields.object("args", &mut held, tool)?.replaces()?],
            "write" => vec![fields.object("args", &mut held, tool)?.whole()?],
            "patch" | "apply_patch" => vec![fields.object("args", &mut held, tool)?.patch()?],
            _ => Vec::new(),
        };
        Ok(Event {
            at: At { moment, hook },
            tool: tool.to_owned(),
            cwd: fields.folder(&["cwd"]),
            session: fields.word(&["sessionID"]).map(str::to_owned),
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
        json!({"hook": "tool.execute.before", "tool": "write", "cwd": root,
            "args": {"filePath": root.join(".git/edt-probe"), "content": "x"}})
    }
}

impl Wiring for Opencode {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let home = self.home(place);
        let settings = match place.scope {
            Scope::User => home.clone(),
            Scope::Project => place.root.clone(),
        };
        let with_comments = settings.join("opencode.jsonc");
        let file =
            if with_comments.exists() { with_comments } else { settings.join("opencode.json") };
        let mut entries = vec![Entry::Own(
            vec!["mcp", "edt"],
            json!({"type": "local", "command": [place.edt.as_str(), "mcp"], "enabled": true}),
        )];
        if place.only_edt {
            entries.push(Entry::Choice(vec!["permission", "edit"], json!("deny")));
        }
        vec![
            Part { file, what: What::Mcp, form: Form::Json(entries) },
            Part {
                file: home.join("plugins/edt.js"),
                what: What::Plugin,
                form: Form::Whole { content: plugin(&place.edt), mark: MARK, executable: false },
            },
            texts::agents_part(settings.join("AGENTS.md")),
            texts::skill_part(&home.join("skills")),
        ]
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        Vec::new()
    }

    fn program(&self) -> &'static str {
        "opencode"
    }

    fn home(&self, place: &Place) -> PathBuf {
        match place.scope {
            Scope::Project => place.root.join(".opencode"),
            Scope::User => named("OPENCODE_CONFIG_DIR").unwrap_or_else(|| {
                named("XDG_CONFIG_HOME")
                    .unwrap_or_else(|| place.home.join(".config"))
                    .join("opencode")
            }),
        }
    }

    fn can_do_without_its_own(&self) -> bool {
        true
    }

    fn plugin(&self) -> Vec<(&'static str, String)> {
        vec![("edt.js", plugin("edt"))]
    }
}

/// The word by which the plugin is known as edt's.
const MARK: &str = "edt setup opencode";

/// The plugin that calls the program `edt`.
fn plugin(edt: &str) -> String {
    include_str!("opencode.js").replace("\"edt\"", &serde_json::Value::from(edt).to_string())
}
