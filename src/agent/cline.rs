//! Cline: files that are run for `PreToolUse` and `PostToolUse`. It reads JSON alone, whatever the exit status, and a refusal ends its whole
//! run: for lessons there is the MCP server.

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::{Agent, Fields, Limits, Misshapen, Protocol};

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
            let tool = call.text(&["toolName"])?;
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
}

/// The tools that edit.
const TOOLS: [&str; 4] = ["editor", "write_to_file", "replace_in_file", "apply_patch"];

fn act(tool: &str, input: Fields<'_>) -> Result<Act, Misshapen> {
    match tool {
        "write_to_file" => input.whole(),
        "replace_in_file" => Ok(Act::Blocks { path: input.path()?, text: input.text(&["diff"])?.to_owned() }),
        "apply_patch" => input.patch(),
        _ => match input.number("insert_line")? {
            Some(line) => Ok(Act::Insert { path: input.path()?, line, content: input.text(&["new_text"])?.to_owned() }),
            None => Ok(Act::Replace { path: input.path()?, pairs: vec![input.pair()?] }),
        },
    }
}
