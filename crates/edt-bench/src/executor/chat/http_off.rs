//! Replaces `http.rs` in builds without the feature `llm`: every model is refused.

use std::time::Instant;

use serde_json::Value;

use super::secret::Secret;
use super::settings::ModelSettings;
use super::{ModelProtocol, ModelReply};
use edt_types::{Code, Finding, Refusal, Result};

pub(super) struct HttpClient;

/// Why there is no answer.
pub(super) enum NoAnswer {
    TimedOut(String),
    TooLong,
    Failed(String),
    Refused(Refusal),
}

impl HttpClient {
    pub(super) fn new(
        _: &ModelSettings,
        _: &'static dyn ModelProtocol,
        _: Option<Secret>,
    ) -> Result<HttpClient> {
        let summary = "This edt-bench was built without the feature `llm`: it cannot query models.";
        Err(Finding::new(
            Code::BadRequest,
            summary,
            "Build it with --features llm, or name a program as the agent.",
        )
        .into())
    }

    pub(super) fn query(
        &self,
        _: &Value,
        _: Instant,
        _: u64,
    ) -> std::result::Result<ModelReply, NoAnswer> {
        Err(NoAnswer::TimedOut(String::new()))
    }
}
