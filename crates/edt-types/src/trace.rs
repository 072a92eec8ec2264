//! Spans of `tracing`: their names, and a macro that runs a stage in a span.
//!
//! Without a subscriber a span costs one atomic load.

pub mod names;

use tracing::Span;

use crate::{Refusal, Result};

/// `traceparent` and `tracestate` of a request.
pub type TraceHeaders = [Option<String>; 2];

/// Records on `span` the code of a failure.
///
/// # Errors
/// The error of `done`.
pub fn record<T>(span: &Span, done: Result<T>) -> Result<T> {
    done.inspect_err(|found| record_failure(span, found))
}

pub fn record_failure(span: &Span, found: &Refusal) {
    if let Some(code) = found.codes().first() {
        span.record(names::ERROR, code).record(names::OTEL_STATUS, "ERROR");
    }
}

/// Evaluates a stage in a span of its own and records the code if it fails.
#[macro_export]
macro_rules! stage {
    ($name:expr, $work:expr) => {{
        let span = $crate::tracing::info_span!(
            $name,
            { $crate::trace::names::ERROR } = $crate::tracing::field::Empty,
            { $crate::trace::names::OTEL_STATUS } = $crate::tracing::field::Empty
        );
        let done = {
            let _entered = span.enter();
            $work
        };
        $crate::trace::record(&span, done)
    }};
}
