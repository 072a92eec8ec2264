//! Spans for an OpenTelemetry collector, and no answer waits for one.
//!
//! ```text
//! names     every name of a span or an attribute
//! settings  whether they are wanted, and where they go            variables and the person's configuration, nothing of a worktree
//! call      the span of one call; what `tracing` spans stand in   begins when a repository is opened, which has the place for a spool
//! spool     one line a call, appended after the answer            loses no line to another process; holds 16 MB
//! send      one request to a collector
//! flush     what is spooled, claimed and sent                     by `edt mcp`, by `edt telemetry flush`; after its answer by a
//!                                                                 call that is asked to (`inline`) or took long, within 150 ms
//! ```
//!
//! Where nothing asks for it there is no subscriber, no file and no thread: a span of `tracing` is then one look at a number.

#[cfg(feature = "otel")]
mod call;
#[cfg(feature = "otel")]
mod flush;
pub mod names;
#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod send;
pub mod settings;
#[cfg(feature = "otel")]
pub mod spool;

#[cfg(feature = "otel")]
pub use call::{Running, arrived, begin, end, for_children, is_on, note, wants_content};
#[cfg(feature = "otel")]
pub use flush::{Flushed, Flusher, LONGEST, flush};
#[cfg(not(feature = "otel"))]
pub use off::{Flusher, Running, arrived, begin, end, for_children, is_on, note, wants_content};

use tracing::Span;

use crate::base::{Findings, Result};

/// A call that begins.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The command.
    pub command: String,
    /// How it came, if a server was asked.
    pub request: Option<Request>,
}

/// A request to a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Its id.
    pub id: String,
    /// The revision of the protocol.
    pub version: Option<String>,
    /// The agent's own number of the call.
    pub call: Option<String>,
    /// `traceparent` of the request.
    pub parent: Option<String>,
    /// `tracestate` of the request.
    pub state: Option<String>,
}

/// What an attribute holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Several texts.
    Texts(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Value {
        Value::Texts(texts)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Says on `span` which code ended it, if one did.
pub fn told<T>(span: &Span, done: Result<T>) -> Result<T> {
    done.inspect_err(|found| failed(span, found))
}

/// Says on `span` which code ended it.
pub fn failed(span: &Span, found: &Findings) {
    if let Some(code) = found.codes().first() {
        span.record(names::ERROR, code).record(names::OTEL_STATUS, "ERROR");
    }
}

/// Notes on the call of this thread what refused it.
pub fn refused(found: &Findings) {
    if is_on() {
        codes(&found.codes());
    }
}

/// Notes the codes of the call of this thread, the most important first; the first is its error.
pub fn codes(codes: &[&str]) {
    if let Some(first) = codes.first() {
        note(names::ERROR, *first);
        note(names::CODES, codes.iter().map(ToString::to_string).collect::<Vec<String>>());
    }
}

/// The value of a stage, done in a span of its own.
macro_rules! stage {
    ($name:expr, $work:expr) => {{
        let span = tracing::info_span!(
            $name,
            { $crate::telemetry::names::ERROR } = tracing::field::Empty,
            { $crate::telemetry::names::OTEL_STATUS } = tracing::field::Empty
        );
        let done = {
            let _entered = span.enter();
            $work
        };
        $crate::telemetry::told(&span, done)
    }};
}
pub(crate) use stage;
