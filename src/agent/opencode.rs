//! opencode: its plugins are code. The plugin that `edt setup` writes calls edt with what it was called with, throws what edt says on a
//! refusal, and throws, too, if edt says nothing of use.

use serde_json::Value;

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::{Agent, Fields, Limits, Misshapen, Protocol};

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
        let (tool, mut held) = (fields.text(&["tool"])?, Value::Null);
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
            Said::Told(text) | Said::Objected(text) => Reply { stdout: format!("{text}\n"), ..Reply::NOTHING },
        }
    }
}
