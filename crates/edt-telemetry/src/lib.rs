//! Spans of the calls of edt, for an OpenTelemetry collector. No answer waits for a collector.
//!
//! ```text
//! settings  whether spans are recorded, and where they are sent; from the environment and the
//!           user's Git configuration, never from the worktree
//! call      the span of one call, the spans of its thread below it, and the tracer of the process,
//!           whose thread appends them to the file; that of a server sends them, and appends them
//!           if that fails
//! scrub     removes secrets from the arguments of calls
//! file      the file that collectors read: lines of OTLP JSON, at most 16 MB; a flush sends its
//!           lines and removes them
//! send      one request to a collector
//! ```
//!
//! While telemetry is off there is no subscriber, no file and no thread. A `tracing` span then
//! costs one atomic load.

#![allow(clippy::must_use_candidate, reason = "the program is the only user")]

mod call;
mod file;
mod scrub;
mod send;
mod settings;

pub use call::{begin, end, finish_server, for_children, is_on, note, repository_opened};
pub use file::{Flushed, TraceFile};
pub use scrub::{scrub, scrub_args};
pub use settings::{Settings, masked, read};
