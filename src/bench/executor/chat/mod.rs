//! Models behind HTTP as agents: a conversation with tools, or with edits as text, in one of the protocols of [`PROTOCOLS`].
//!
//! ```text
//! settings   what `--agent openai:MODEL key=value …` says
//! secret     the key: from the environment of the caller, handed on in memory, shown nowhere
//! http       one request, and again after a while where that can help
//! sse        a stream, cut anywhere, into events
//! openai, anthropic   what is sent and what it is answered with
//! ```

mod anthropic;
#[cfg(feature = "llm")]
mod http;
#[cfg(not(feature = "llm"))]
#[path = "http_off.rs"]
mod http;
mod openai;
pub mod secret;
pub mod settings;
mod sse;
mod talk;

use serde_json::Value;

use super::{Executor, Kind, Setting};
use crate::base::{Code, Finding, Result};
use settings::Settings;

/// A model.
pub const KIND: Kind = Kind {
    name: "chat",
    about: "`openai:MODEL` or `anthropic:MODEL`: a model behind HTTP, with the key from the environment",
    fits: |agent| settings::protocol(agent).is_some(),
    make,
};

/// How a server is spoken to.
trait Protocol: Sync {
    /// What stands before the colon in `--agent`.
    fn name(&self) -> &'static str;
    /// Where it is, unless something else is said.
    fn base_url(&self) -> &'static str;
    /// What is put behind the base.
    fn path(&self) -> &'static str;
    /// The variable that has the key, unless another is named.
    fn key_variable(&self) -> &'static str;
    /// The variable that has the base, where people have one.
    fn base_variable(&self) -> &'static str;
    /// The headers that carry the key, and whatever else has to be said.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;
    /// The body of a request.
    fn body(&self, settings: &Settings, system: &str, turns: &[Turn]) -> Value;
    /// An answer that came in one piece.
    fn whole(&self, answer: &Value) -> std::result::Result<Reply, String>;
    /// An answer that comes in events.
    fn gather(&self) -> Box<dyn Gather>;
}

/// Every protocol.
static PROTOCOLS: &[&dyn Protocol] = &[&openai::OpenAi, &anthropic::Anthropic];

/// Puts an answer together from its events.
trait Gather {
    /// Takes an event.
    fn take(&mut self, event: &sse::Event) -> std::result::Result<(), Broken>;
    /// The answer, if it is whole.
    fn done(self: Box<Self>) -> Option<Reply>;
}

/// Why an answer is none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Broken {
    /// It may be one the next time.
    Later(String),
    /// It never will be.
    Never(String),
}

/// What was said so far.
#[derive(Debug, Clone, PartialEq)]
enum Turn {
    /// By the benchmark.
    User(String),
    /// By the model.
    Model(Reply),
    /// What came of its calls: their ids, and the answers.
    Results(Vec<(String, String)>),
}

/// What a model said.
#[derive(Debug, Clone, Default, PartialEq)]
struct Reply {
    text: String,
    calls: Vec<Call>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    /// Whether it was cut off by the most tokens that it may write.
    cut: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
struct Call {
    id: String,
    name: String,
    /// JSON, as the model wrote it.
    arguments: String,
}

fn make(setting: &Setting<'_>) -> Result<Box<dyn Executor>> {
    let settings = Settings::read(setting.agent)?;
    let protocol = protocol_of(&settings.protocol)?;
    let line = http::Line::new(&settings, protocol, setting.key.cloned())?;
    Ok(Box::new(talk::Chat::new(settings, protocol, line, setting.limit)))
}

fn protocol_of(name: &str) -> Result<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|one| one.name() == name).ok_or_else(|| {
        let message = format!("There is no protocol {name}.");
        Finding::new(Code::BadRequest, message, "Name a model as openai:MODEL or anthropic:MODEL.")
            .into()
    })
}
