//! A Model Context Protocol server on standard input and output. This module knows only the
//! protocol; `cli::mcp` supplies the tools.
//!
//! ```text
//! serve      the protocol, by the official SDK, on one thread; no call blocks another
//! worker     the calls, in order, on one thread with a cache; each run of a program has its own
//! transport  lines in and out, and the answers to lines that are no message
//! line       one line within limits, and its id
//! metrics    counters for a scraper, if asked for
//! schema     JSON Schemas in the subset that all clients understand
//! ```

mod line;
#[cfg(feature = "metrics")]
pub(crate) mod metrics;
mod schema;
mod serve;
mod transport;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Map, Value};

pub(crate) use schema::{either, input, listed};
pub(crate) use serve::serve;

/// The description of a tool for clients.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The description for the model.
    pub about: &'static str,
    /// The effect of a call.
    pub effect: ToolEffect,
    /// The schema of its arguments.
    pub input: Map<String, Value>,
}

/// The effect of a call. Clients ask the user before destructive calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// It changes nothing.
    Reads,
    /// It makes a commit, or moves between existing commits: nothing is lost.
    Commits,
    /// It changes a branch other than the session's.
    Lands,
    /// It runs a program.
    Runs,
}

/// The directories in which a client works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The client does not support roots.
    Unsupported,
    /// The client supports roots, but did not answer the request for them.
    Unanswered,
    /// The roots that are paths on this machine.
    Known(Vec<PathBuf>),
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct ToolCall {
    /// The index of the tool.
    pub tool: usize,
    /// Its arguments, which should be an object.
    pub args: Value,
    /// The client's name, if the client sent it.
    pub client: Option<String>,
    /// The client's roots.
    pub roots: Roots,
    /// The request's id and the revision of the protocol.
    pub request: RequestInfo,
    /// The request's `_meta`, as the client sent it.
    pub meta: Map<String, Value>,
    /// The output count and the cancellation flag of the call.
    pub progress: Arc<CallProgress>,
}

/// A request, as its span describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    /// Its id.
    pub id: String,
    /// The revision of the protocol.
    pub version: Option<String>,
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) struct ToolAnswer {
    /// The complete answer.
    pub json: Value,
    /// The answer as text.
    pub text: String,
    /// Whether it was refused.
    pub refused: bool,
}

/// The state that a running call shares with the task that waits for it.
#[derive(Debug, Default)]
pub(crate) struct CallProgress {
    stop: AtomicBool,
    stop_taken: AtomicBool,
    bytes: AtomicU64,
}

impl CallProgress {
    /// Asks the call to stop.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the call was asked to stop.
    #[must_use]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the call was asked to stop; true once.
    pub(crate) fn take_stop(&self) -> bool {
        self.is_stopped() && !self.stop_taken.swap(true, Ordering::Relaxed)
    }

    /// Counts `bytes` more bytes of output.
    pub(crate) fn add_output(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Sends the answer. The handler may continue to work after this call.
pub(crate) type Reply = Box<dyn FnOnce(ToolAnswer)>;

/// Answers calls on one thread.
pub(crate) type Handler = Box<dyn FnMut(ToolCall, Reply)>;

/// The configuration of a server.
pub(crate) struct Service {
    /// The tools, in the order in which they are listed.
    pub tools: Vec<Tool>,
    /// The instructions for the client's model.
    pub instructions: String,
    /// What is said about a name that is none of the tools.
    pub unknown_tool: Box<dyn Fn(&str) -> String + Send + Sync>,
    /// Makes a handler; called on the thread that uses the handler.
    pub handler: Arc<dyn Fn() -> Handler + Send + Sync>,
    /// Where counters are shown, if anywhere.
    #[cfg(feature = "metrics")]
    pub metrics: Option<(std::net::TcpListener, Arc<metrics::Metrics>)>,
}
