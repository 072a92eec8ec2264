//! Agents: what each says to a hook and how it wants to be answered, and what it reads from its own files.
//!
//! [`AGENTS`] is the family, one file each. An agent's payload becomes an [`Event`]; [`judge`] does what `edt apply` would do for it, and
//! says what is to be [`Said`]; the agent's [`Protocol`] makes a [`Reply`] of that, in exactly the agent's own form.

pub mod aider;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod cursor;
pub mod event;
pub mod fields;
pub mod gemini;
pub mod guide;

pub mod judge;
pub mod opencode;
pub mod patch;
pub mod place;
pub mod request;
pub mod setup;
pub mod texts;
pub mod windsurf;
pub mod words;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

pub use event::{Act, At, Event, Moment, Pair, Reply, Said};
pub use fields::{Fields, Misshapen};
pub use setup::Wiring;

/// An agent that edt knows.
pub trait Agent: Sync {
    /// The name it is called by here; also the trailer `Edt-Agent`.
    fn name(&self) -> &'static str;
    /// The name people know it by.
    fn title(&self) -> &'static str;
    /// How its hooks speak; `None` if it has none.
    fn protocol(&self) -> Option<&'static dyn Protocol>;
    /// What it wants of its own files.
    fn wiring(&self) -> &'static dyn Wiring;
}

/// How an agent's hooks speak.
pub trait Protocol: Sync {
    /// How long a hook may take.
    fn limits(&self) -> Limits;
    /// What a payload tells.
    ///
    /// # Errors
    /// A tool that is known to edit, in a shape that is not.
    fn event(&self, payload: &Value) -> Result<Event, Misshapen>;
    /// When the hook was called, whatever else can be read of the payload.
    fn at(&self, payload: &Value) -> At {
        event::after(payload).unwrap_or(At::UNKNOWN)
    }
    /// The agent's form of what is to be said.
    fn reply(&self, at: At, said: &Said) -> Reply;
    /// A payload that edt must refuse: a file in the Git folder of the worktree at `root` would be written.
    fn probe(&self, root: &Path) -> Value;
}

/// How long a hook may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this long the agent gives the hook up, and goes on as if it had agreed: what `edt setup` writes down, or the agent's own.
    pub host: Duration,
    /// After this long edt refuses.
    pub own: Duration,
}

impl Limits {
    /// `host` seconds, of which edt leaves a sixth unused.
    #[must_use]
    pub const fn within(host: u64) -> Limits {
        Limits {
            host: Duration::from_secs(host),
            own: Duration::from_secs(host - host.div_ceil(6)),
        }
    }
}

/// Every agent.
pub const AGENTS: &[&dyn Agent] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::Opencode,
    &cline::Cline,
    &cursor::Cursor,
    &copilot::Copilot,
    &windsurf::Windsurf,
    &aider::Aider,
];

/// The agent of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Agent> {
    AGENTS.iter().copied().find(|agent| agent.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocols() -> impl Iterator<Item = (&'static str, &'static dyn Protocol)> {
        AGENTS.iter().filter_map(|agent| Some((agent.name(), agent.protocol()?)))
    }

    #[test]
    fn edt_gives_up_before_the_agent_does() {
        for (name, protocol) in protocols() {
            let Limits { host, own } = protocol.limits();
            assert!(own + Duration::from_secs(4) < host, "{name}: {own:?} of {host:?}");
        }
    }

    #[test]
    fn what_went_wrong_blocks_in_every_form() {
        for (name, protocol) in protocols() {
            let reply = protocol.reply(At::UNKNOWN, &Said::Broken("why".into()));
            let blocks = match name {
                "cline" => reply.stdout == "{\"cancel\":true,\"errorMessage\":\"why\"}\n",
                "cursor" => reply.stdout.contains("\"permission\":\"deny\"") && reply.exit == 2,
                _ => reply.stdout.is_empty() && reply.exit == 2,
            };
            assert!(blocks, "{name}: {reply:?}");
            assert!(
                name == "cline" || reply.stderr.contains("why"),
                "{name}: an exit status without a word lets the edit pass"
            );
        }
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for agent in AGENTS {
            assert_eq!(named(agent.name()).map(Agent::title), Some(agent.title()));
        }
        assert!(named("emacs").is_none());
    }
}
