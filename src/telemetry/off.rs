//! The same without OpenTelemetry: nothing is noted.

use std::path::Path;

use super::{Call, Value};

/// A call that nobody notes.
#[derive(Debug)]
#[must_use = "it ends with this value"]
pub struct Running;

/// Nobody who sends anything.
#[derive(Debug, Default)]
pub struct Flusher;

impl Flusher {
    /// Nothing.
    pub fn finish(self) {}
}

/// Nothing begins.
pub fn begin(_: Call) -> Running {
    Running
}

/// Nothing ends.
pub fn end() {}

/// Nothing is asked.
pub fn arrived(_: &Path, _: &dyn Fn(&str) -> Option<String>) {}

/// Never.
#[must_use]
pub fn is_on() -> bool {
    false
}

/// Never.
#[must_use]
pub fn wants_content() -> bool {
    false
}

/// Nothing is noted.
pub fn note(_: &'static str, _: impl Into<Value>) {}

/// Nothing.
#[must_use]
pub fn for_children() -> Vec<(&'static str, String)> {
    Vec::new()
}
