//! A proxy for the Agent Client Protocol: an editor on standard input and output, the agent as a
//! child. Lines pass as they are, except for those that edt answers or adds its server to.
//!
//! ```text
//! proxy     the agent's process, one thread for each direction, the end
//! lines     lines of bounded length
//! message   what edt reads of a message, and the messages that it makes
//! route     what has to be done for a message; what is remembered of sessions and open requests
//! tool_call what a request for permission says that a tool will do
//! worker    judges and records, in order, on one thread
//! ```
//!
//! A message waits while the worker still has earlier ones, so that none overtakes another. All
//! others pass at once.

mod lines;
mod message;
mod proxy;
mod route;
mod tool_call;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;

use edt_core::session::worktree::options::Options;
use edt_run::Signal;
use edt_types::Result;

pub(crate) use proxy::run;

/// What the proxy gets from the program around it.
pub(crate) struct Service {
    /// The agent's program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The directory that the agent starts in.
    pub start: PathBuf,
    /// The options of one call.
    pub options: Box<dyn Fn() -> Result<Options> + Send>,
    /// Shows a text to the user, on standard error.
    pub note: fn(&str),
    /// The signal that asks this process to end, if one was received.
    pub stop: Box<dyn Fn() -> Option<Signal>>,
}
