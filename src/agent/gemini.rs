//! Gemini CLI: `BeforeTool`, `AfterTool`, `SessionStart`. The decision stands at the top; in Claude Code's form it is ignored.

use serde_json::{Value, json};

use super::event::{At, Event, Moment, Reply, Said};
use super::{Agent, Fields, Limits, Misshapen, Protocol};

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
        let tool = fields.word(&["tool_name"]).unwrap_or_default();
        let (mut acts, mut held) = (Vec::new(), Value::Null);
        if matches!(moment, Moment::Before | Moment::After) {
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
            Said::Refused(why) | Said::Objected(why) => Reply::json(&json!({"decision": "deny", "reason": why})),
            Said::Told(text) => Reply::json(&json!({"hookSpecificOutput": {"additionalContext": text}})),
            Said::Broken(why) => Reply::two(why),
        }
    }
}
