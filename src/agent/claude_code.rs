//! Claude Code: `PreToolUse`, `PostToolUse`, `SessionStart`. What it takes is documented; any key beyond that may make it ignore an answer.

use serde_json::{Value, json};

use super::event::{Act, At, Event, Moment, Reply, Said};
use super::{Agent, Fields, Limits, Misshapen, Protocol};

/// The agent.
#[derive(Debug)]
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&ClaudeCode)
    }
}

impl Protocol for ClaudeCode {
    /// Its own default is 600 s; `edt setup` writes this.
    fn limits(&self) -> Limits {
        Limits::within(60)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        event(payload, |tool, input| {
            Ok(match tool {
                "Edit" => vec![input.replace()?],
                "MultiEdit" => vec![input.replaces()?],
                "Write" => vec![input.whole()?],
                "NotebookEdit" => vec![Act::Changes { path: input.path()? }],
                _ => Vec::new(),
            })
        })
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        reply(at, said)
    }
}

/// A payload in this agent's form, which others took over; `acts` reads the input of a tool.
pub(super) fn event(
    payload: &Value,
    acts: impl FnOnce(&str, Fields<'_>) -> Result<Vec<Act>, Misshapen>,
) -> Result<Event, Misshapen> {
    let fields = Fields::of("the payload", payload)?;
    let (moment, hook) = match fields.text(&["hook_event_name", "hookEventName"])? {
        "PreToolUse" => (Moment::Before, "PreToolUse"),
        "PostToolUse" => (Moment::After, "PostToolUse"),
        "SessionStart" => (Moment::Start, "SessionStart"),
        _ => (Moment::Other, ""),
    };
    let mut event = Event {
        at: At { moment, hook },
        tool: fields.word(&["tool_name"]).unwrap_or_default().to_owned(),
        cwd: fields.folder(&["cwd"]),
        session: fields.word(&["session_id", "sessionId"]).map(str::to_owned),
        acts: Vec::new(),
    };
    if matches!(moment, Moment::Before | Moment::After) {
        let (tool, mut held) = (fields.text(&["tool_name"])?, Value::Null);
        // A tool that nobody here knows may have any input.
        event.acts = match fields.object("tool_input", &mut held, tool) {
            Ok(input) => acts(tool, input)?,
            Err(fault) => acts(tool, Fields::of(tool, &json!({}))?).map_err(|_| fault)?,
        };
    }
    Ok(event)
}

/// An answer in this agent's form.
pub(super) fn reply(at: At, said: &Said) -> Reply {
    match (said, at.moment) {
        (Said::Nothing, _) => Reply::NOTHING,
        (Said::Refused(why), _) => specific(&json!({
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
        })),
        (Said::Told(text), moment) => {
            let hook = if moment == Moment::Start { "SessionStart" } else { "PostToolUse" };
            specific(&json!({"hookEventName": hook, "additionalContext": text}))
        }
        (Said::Objected(why), _) => Reply::json(&json!({"decision": "block", "reason": why})),
        (Said::Broken(why), _) => Reply::two(why),
    }
}

fn specific(output: &Value) -> Reply {
    Reply::json(&json!({"hookSpecificOutput": output}))
}
