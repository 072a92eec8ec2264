//! Spans for an OpenTelemetry collector. No answer waits for the collector.
//!
//! ```text
//! settings  whether spans are recorded, and where they are sent; from the environment and the
//!           user's Git configuration, never from the worktree
//! call      the span of one call, and the parent of `tracing` spans; begins when a repository is
//!           opened, because the repository has the place for the spool
//! spool     one line per call, appended after the answer; safe for several processes, at most 16 MB
//! send      one request to a collector
//! flush     claims and sends the spool: in `edt mcp`, in `edt telemetry flush`, and within 150 ms
//!           after the answer of a long call or of one with the setting `inline`
//! ```
//!
//! While telemetry is off there is no subscriber, no file and no thread. A `tracing` span then
//! costs one atomic load.

#[cfg(feature = "otel")]
mod call;
#[cfg(feature = "otel")]
mod flush;
#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod send;
pub(crate) mod settings;
#[cfg(feature = "otel")]
pub(crate) mod spool;

#[cfg(feature = "otel")]
pub(crate) use call::{begin, end, for_children, is_on, note, repository_opened, wants_content};
#[cfg(feature = "otel")]
pub(crate) use flush::{Flushed, Flusher, MAX_FLUSH, flush};
#[cfg(not(feature = "otel"))]
pub use off::{
    Flusher, Running, begin, end, for_children, is_on, note, repository_opened, wants_content,
};

use edt_git::Repo;
pub(crate) use edt_types::trace::names;

/// The command or tool that a call runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallInfo {
    /// The command.
    pub command: String,
    /// The request, for a call to a server.
    pub request: Option<ServerRequest>,
}

/// A request to a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerRequest {
    /// Its id.
    pub id: String,
    /// The revision of the protocol.
    pub version: Option<String>,
    /// The agent's own id of the call.
    pub call: Option<String>,
    /// `traceparent` of the request.
    pub parent: Option<String>,
    /// `tracestate` of the request.
    pub state: Option<String>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AttributeValue {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Several texts.
    Texts(Vec<String>),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> AttributeValue {
        AttributeValue::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> AttributeValue {
        AttributeValue::Text(text)
    }
}

impl From<Vec<String>> for AttributeValue {
    fn from(texts: Vec<String>) -> AttributeValue {
        AttributeValue::Texts(texts)
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> AttributeValue {
        AttributeValue::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Records `codes` on the span of this thread's call. The first is the span's error.
pub(crate) fn codes(codes: &[&str]) {
    if let Some(first) = codes.first() {
        note(names::ERROR, *first);
        note(names::CODES, codes.iter().map(ToString::to_string).collect::<Vec<String>>());
    }
}

/// Attaches telemetry to a workspace.
#[derive(Debug, Default)]
pub(crate) struct Telemetry;

impl edt_core::observe::Observer for Telemetry {
    fn opened(&self, repo: &Repo) {
        repository_opened(repo.common_dir(), &|key| repo.user_config(key));
    }

    fn session(&self, name: &str) {
        if is_on() {
            note(names::SESSION, name);
        }
    }

    fn found(&self, found: &[&str]) {
        if is_on() {
            codes(found);
        }
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        for_children()
    }
}
