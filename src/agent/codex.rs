//! Codex CLI: the form of Claude Code, read more strictly: one unknown key, a bare "allow", an exit status without a word, and the edit
//! lands.

use serde_json::Value;

use super::event::{Act, At, Event, Reply, Said};
use super::{Agent, Fields, Limits, Misshapen, Protocol, claude_code};

/// The agent.
#[derive(Debug)]
pub struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex CLI"
    }

    fn protocol(&self) -> Option<&'static dyn Protocol> {
        Some(&Codex)
    }
}

impl Protocol for Codex {
    /// Its own default is 600 s; `edt setup` writes this.
    fn limits(&self) -> Limits {
        Limits::within(60)
    }

    fn event(&self, payload: &Value) -> Result<Event, Misshapen> {
        claude_code::event(payload, acts)
    }

    fn reply(&self, at: At, said: &Said) -> Reply {
        claude_code::reply(at, said)
    }
}

fn acts(tool: &str, input: Fields<'_>) -> Result<Vec<Act>, Misshapen> {
    Ok(match tool {
        "apply_patch" => vec![input.patch()?],
        "Edit" => vec![input.replace()?],
        "Write" => vec![input.whole()?],
        _ => Vec::new(),
    })
}
