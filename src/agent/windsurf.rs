//! Windsurf (Devin Desktop): `pre_write_code`, which an exit status of 2 blocks, and `post_write_code`.

use serde_json::Value;

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::{Agent, Fields, Limits, Misshapen, Protocol};

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
            acts.push(if moment == Moment::Before { input.replaces()? } else { Act::Changes { path: input.path()? } });
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
            Said::Told(text) | Said::Objected(text) => Reply { stdout: format!("{text}\n"), ..Reply::NOTHING },
        }
    }
}
