//! Without the feature `llm`: models cannot be asked.

use std::time::Instant;

use serde_json::Value;

use super::secret::Secret;
use super::settings::Settings;
use super::{Protocol, Reply};
use crate::base::{Code, Finding, Findings, Result};

/// Nothing to speak through.
pub(super) struct Line;

/// Why there is no answer.
pub(super) enum Gone {
    Late(String),
    Flooded,
    Failed(String),
    Refused(Findings),
}

impl Line {
    pub(super) fn new(_: &Settings, _: &'static dyn Protocol, _: Option<Secret>) -> Result<Line> {
        let message = "This edt was built without the feature `llm`: it cannot ask a model.";
        Err(Finding::new(
            Code::BadRequest,
            message,
            "Build it with --features llm, or name a program as the agent.",
        )
        .into())
    }

    pub(super) fn ask(&self, _: &Value, _: Instant, _: u64) -> std::result::Result<Reply, Gone> {
        Err(Gone::Late(String::new()))
    }
}
