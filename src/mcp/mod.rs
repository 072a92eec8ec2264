//! A Model Context Protocol server on standard input and output. It knows the protocol and nothing of edits: which tools there are, and
//! what they do, is told by who starts it (`cli::mcp`).
//!
//! ```text
//! serve    the protocol, by the official SDK; one thread, no call is waited for by another
//! worker   the calls, in the order in which they came, on one thread with what it keeps warm; a program that runs has its own
//! schema   JSON Schemas as clients of many makes understand them
//! ```

mod schema;
mod serve;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Map, Value};

pub use schema::{either, input, output};
pub use serve::serve;

/// What clients are told of one tool.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, for the model.
    pub about: &'static str,
    /// What it may do to the world.
    pub effect: Effect,
    /// The schema of its arguments.
    pub input: Map<String, Value>,
    /// The schema of its answers, refusals included.
    pub output: Map<String, Value>,
}

/// What a call may do to the world. Clients ask people about the destructive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Reads,
    /// It records a commit, or moves between commits that stay: nothing is lost.
    Commits,
    /// It changes a branch that is not the session's.
    Lands,
    /// It runs a program.
    Runs,
}

/// The folders that a client works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// It has none to tell, or may not be asked.
    Untold,
    /// It says that it has some, and does not tell them.
    Silent,
    /// It told these; those that are no paths of this machine are left out.
    Told(Vec<PathBuf>),
}

/// A call of a tool.
#[derive(Debug)]
pub struct Call {
    /// The tool, by its place in the list.
    pub tool: usize,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// The client's name, once it said it.
    pub client: Option<String>,
    /// The folders that the client works in.
    pub roots: Roots,
    /// What the request says of itself.
    pub request: crate::telemetry::Request,
    /// What the call tells of itself, and is told, while it runs.
    pub pulse: Arc<Pulse>,
}

/// What became of a call.
#[derive(Debug)]
pub struct Answer {
    /// The whole answer.
    pub json: Value,
    /// The same as text.
    pub text: String,
    /// Whether it was refused.
    pub refused: bool,
}

/// What goes between a call that takes long and whoever waits for it.
#[derive(Debug, Default)]
pub struct Pulse {
    stop: AtomicBool,
    bytes: AtomicU64,
}

impl Pulse {
    /// Asks it to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Notes so many bytes of output more.
    pub fn beat(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Gives the answer to whoever asked, while what answers may still have something to do.
pub type Reply = Box<dyn FnOnce(Answer)>;

/// What answers calls on one thread.
pub type Handler = Box<dyn FnMut(Call, Reply)>;

/// A server to be.
pub struct Service {
    /// The tools, in the order in which they are listed.
    pub tools: Vec<Tool>,
    /// What a client's model is told of all of them.
    pub instructions: String,
    /// Makes what answers calls, on the thread where it will.
    pub handler: Arc<dyn Fn() -> Handler + Send + Sync>,
}
