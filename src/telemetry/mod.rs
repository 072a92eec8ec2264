//! Spans of calls for an OpenTelemetry collector: the crate `edt-telemetry`, if the feature `otel`
//! is on. Otherwise nothing is recorded, and a `tracing` span costs one atomic load.

#[cfg(not(feature = "otel"))]
mod off;

#[cfg(feature = "otel")]
pub(crate) use edt_telemetry::*;
#[cfg(not(feature = "otel"))]
pub(crate) use off::*;

use edt_git::RepositoryView;
pub(crate) use edt_types::trace::names;

/// Records `codes` on the span of this thread's call. The first is the span's error.
pub(crate) fn codes(codes: &[&str]) {
    if let Some(first) = codes.first() {
        note(names::ERROR, *first);
        note(names::CODES, codes);
    }
}

/// Attaches telemetry to a workspace.
#[derive(Debug, Default)]
pub(crate) struct Telemetry;

impl edt_core::observe::Observer for Telemetry {
    fn opened(&self, repository: RepositoryView<'_>) {
        let user_config = |key: &str| repository.repo().user_config(key);
        repository_opened(repository.common_dir(), &user_config);
    }

    fn session(&self, name: &str) {
        note(names::SESSION, name);
    }

    fn found(&self, found: &[&str]) {
        codes(found);
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        for_children()
    }
}
