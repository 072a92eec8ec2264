//! Models behind HTTP as agents: a conversation with tools, or with edits as text, in one of the
//! protocols of [`PROTOCOLS`].
//!
//! ```text
//! settings            parses `--agent openai:MODEL key=value …`
//! secret              the API key: read from the caller's environment, passed on in memory only
//! http                one request with its retries
//! sse                 splits a stream into events
//! openai, anthropic   the bodies of requests and answers
//! conversation        an attempt as a series of requests
//! ask                 questions of a judge
//! ```

#![cfg_attr(
    not(feature = "llm"),
    allow(dead_code, reason = "only `http` sends requests and reads answers")
)]

mod anthropic;
pub(crate) mod ask;
mod conversation;
#[cfg(feature = "llm")]
mod http;
#[cfg(not(feature = "llm"))]
#[path = "http_off.rs"]
mod http;
mod openai;
pub mod secret;
mod server_error;
pub mod settings;
mod sse;

use serde_json::Value;

use super::{Executor, ExecutorConfig, ExecutorKind};
use edt_types::{Code, Finding, Result};
use server_error::ServerError;
use settings::ModelSettings;

pub const KIND: ExecutorKind = ExecutorKind {
    name: "chat",
    about: "`openai:MODEL` or `anthropic:MODEL`: a model behind HTTP, with the API key from the environment",
    matches: |agent| settings::protocol(agent).is_some(),
    create,
};

/// A protocol of a model's server.
trait ModelProtocol: Sync {
    /// The text before the colon in `--agent`.
    fn name(&self) -> &'static str;
    /// The default base URL.
    fn base_url(&self) -> &'static str;
    /// The path below the base URL.
    fn path(&self) -> &'static str;
    /// The default environment variable of the API key.
    fn key_variable(&self) -> &'static str;
    /// The environment variable of the base URL.
    fn base_variable(&self) -> &'static str;
    /// The headers, including the API key.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;
    /// The body of a request.
    fn body(&self, settings: &ModelSettings, system: &str, turns: &[Turn]) -> Value;
    /// Parses an answer that was not streamed.
    fn parse_reply(&self, answer: &Value) -> std::result::Result<ModelReply, String>;
    /// A collector for a streamed answer.
    fn collector(&self) -> Box<dyn EventCollector>;
}

static PROTOCOLS: &[&dyn ModelProtocol] = &[&openai::OpenAi, &anthropic::Anthropic];

/// Assembles an answer from its events.
trait EventCollector {
    fn push(&mut self, event: &sse::Event) -> std::result::Result<(), ServerError>;
    /// The answer; `None` if it is incomplete.
    fn finish(self: Box<Self>) -> Option<ModelReply>;
}

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq)]
enum Turn {
    User(String),
    Model(ModelReply),
    /// The results of tool calls: their ids and answers.
    Results(Vec<(String, String)>),
}

#[derive(Debug, Clone, Default, PartialEq)]
struct ModelReply {
    text: String,
    calls: Vec<ToolCall>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    /// Whether the limit of output tokens truncated it.
    truncated: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct ToolCall {
    id: String,
    name: String,
    /// JSON, as the model wrote it.
    arguments: String,
}

fn create(config: &ExecutorConfig<'_>) -> Result<Box<dyn Executor>> {
    let settings = ModelSettings::parse(config.agent)?;
    let protocol = protocol_of(&settings.protocol)?;
    let client = http::HttpClient::new(&settings, protocol, config.key.cloned())?;
    Ok(Box::new(conversation::Chat::new(settings, protocol, client, config.limit)))
}

fn protocol_of(name: &str) -> Result<&'static dyn ModelProtocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name() == name).ok_or_else(|| {
        let summary = format!("The protocol {name} is unknown.");
        Finding::new(Code::BadRequest, summary, "Name a model as openai:MODEL or anthropic:MODEL.")
            .into()
    })
}
