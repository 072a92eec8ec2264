//! Gemini CLI: `BeforeTool`, `AfterTool`, `SessionStart`. The decision stands at the top; in Claude Code's form it is ignored.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{At, Event, Moment, Reply, Said};
use super::setup::place::named;
use super::setup::{Entry, Form, Part, Place, Scope, What, Wiring, json};
use super::{Agent, Fields, Limits, Misshapen, Protocol, texts};

/// The agent.
#[derive(Debug)]
pub struct Gemini;

impl Agent for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Gemini)
    }

    fn wiring(&self) -> &'static dyn Wiring {
        &Gemini
    }
}

impl Protocol for Gemini {
    /// Its own default, in its files in milliseconds.
    fn limits(&self) -> Limits {
        Limits::within(60)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        let fields = Fields::of("the payload", payload)?;
        let (moment, hook) = match fields.text(&["hook_event_name"])? {
            "BeforeTool" => (Moment::Before, "BeforeTool"),
            "AfterTool" => (Moment::After, "AfterTool"),
            "SessionStart" => (Moment::Start, "SessionStart"),
            _ => (Moment::Other, ""),
        };
        let works = matches!(moment, Moment::Before | Moment::After);
        let tool = if works { fields.tool("tool_name")? } else { "" };
        let (mut acts, mut held) = (Vec::new(), Value::Null);
        if works {
            match tool {
                "replace" => acts.push(fields.object("tool_input", &mut held, tool)?.replace()?),
                "write_file" => acts.push(fields.object("tool_input", &mut held, tool)?.whole()?),
                _ => {}
            }
        }
        Ok(Event {
            at: At { moment, hook },
            tool: tool.to_owned(),
            cwd: fields.folder(&["cwd"]),
            session: fields.word(&["session_id"]).map(str::to_owned),
            acts,
        })
    }

    fn reply(&self, _: At, said: &Said) -> Reply {
        match said {
            Said::Nothing => Reply::NOTHING,
            // After a tool it stands for the tool's answer.
            Said::Refused(why) | Said::Objected(why) => {
                Reply::json(&json!({"decision": "deny", "reason": why}))
            }
            Said::Told(text) => {
                Reply::json(&json!({"hookSpecificOutput": {"additionalContext": text}}))
            }
            Said::Broken(why) => Reply::two(why),
        }
    }

    fn probe(&self, root: &std::path::Path) -> Value {
        json!({"session_id": "probe", "cwd": root, "hook_event_name": "BeforeTool", "tool_name": "write_file",
            "tool_input": {"file_path": root.join(".git/edt-probe"), "content": "x"}})
    }
}

impl Wiring for Gemini {
    fn parts(&self, place: &Place) -> Vec<Part> {
        let home = self.home(place);
        let mut entries = vec![server(&place.edt)];
        entries.extend(hooks(&place.hook("gemini")));
        if place.only_edt {
            entries.extend(
                ["replace", "write_file"].map(|tool| Entry::Word(vec!["tools", "exclude"], tool)),
            );
        }
        vec![
            Part {
                file: home.join("settings.json"),
                what: What::McpAndHooks,
                form: Form::Json(entries),
            },
            texts::skill_part(&home.join("skills")),
        ]
    }

    fn notes(&self, _: &Place) -> Vec<String> {
        Vec::new()
    }

    fn program(&self) -> &'static str {
        "gemini"
    }

    fn home(&self, place: &Place) -> PathBuf {
        match (place.scope, named("GEMINI_CLI_HOME")) {
            (Scope::User, Some(home)) => home.join(".gemini"),
            _ => place.folder(".gemini"),
        }
    }

    fn can_do_without_its_own(&self) -> bool {
        true
    }

    fn plugin(&self) -> Vec<(&'static str, String)> {
        let manifest = json!({
            "name": "edt", "version": env!("CARGO_PKG_VERSION"), "description": texts::DESCRIPTION, "contextFileName": "GEMINI.md",
            "mcpServers": {"edt": {"command": "edt", "args": ["mcp"]}},
        });
        vec![
            ("gemini-extension.json", json::file(&manifest)),
            ("GEMINI.md", format!("# edt\n\n{}\n", texts::brief())),
            (
                "hooks/hooks.json",
                json::with(None, &hooks("edt agent-hook gemini")).unwrap_or_default(),
            ),
            ("skills/edt/SKILL.md", texts::skill()),
        ]
    }
}

fn server(edt: &str) -> Entry {
    Entry::Own(vec!["mcpServers", "edt"], json!({"command": edt, "args": ["mcp"]}))
}

fn hooks(command: &str) -> Vec<Entry> {
    let millis = u64::try_from(Gemini.limits().host.as_millis()).unwrap_or(60_000);
    let line = json!({"name": "edt", "type": "command", "command": command, "timeout": millis});
    let hook = |name, value| Entry::Element(vec!["hooks", name], value, "agent-hook gemini".into());
    vec![
        hook("BeforeTool", json!({"matcher": "replace|write_file", "hooks": [line.clone()]})),
        hook("AfterTool", json!({"matcher": "replace|write_file", "hooks": [line.clone()]})),
        hook("SessionStart", json!({"hooks": [line]})),
    ]
}
