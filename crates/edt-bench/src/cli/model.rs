//! The flags for models as agents.

use std::path::Path;

use crate::executor::chat::settings::ModelSettings;
use crate::executor::chat::{secret, settings};
use crate::judge::llm::RECORDED;
use edt_types::{Code, Finding, Result};

/// Settings of the model; --agent accepts all of them, too: 'openai:MODEL temperature=0'.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "For --agent openai:MODEL and anthropic:MODEL")]
pub(super) struct ModelArgs {
    /// The server's base URL; `EDT_BENCH_BASE_URL`, `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL` if
    /// left out.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The sampling temperature, from 0 to 2; the server's default if left out.
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f64>,
    /// The most output tokens of an answer; 8192 if left out.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Request complete answers instead of streams.
    #[arg(long)]
    no_stream: bool,
    /// Whether the model edits by tool calls or by text in a form that edt reads; tools if left
    /// out.
    #[arg(long, value_name = "FORM", value_parser = ["tools", "text"])]
    edits: Option<String>,
    /// Dollars per million tokens read and written, such as 3/15; without it the report has no
    /// cost.
    #[arg(long, value_name = "IN/OUT")]
    price: Option<String>,
}

/// The model that judges.
#[derive(Debug, clap::Args)]
pub(super) struct JudgeArgs {
    /// The model for tasks with the judge `llm`: `openai:MODEL base_url=…`, `anthropic:MODEL`, or
    /// `recorded:FILE`.
    #[arg(long, value_name = "MODEL")]
    judge_model: Option<String>,
}

impl JudgeArgs {
    /// The model with all its settings. A missing key or transport is refused.
    pub(super) fn complete(&self, start: &Path) -> Result<Option<String>> {
        let Some(line) = &self.judge_model else { return Ok(None) };
        if let Some(file) = line.strip_prefix(RECORDED) {
            return Ok(Some(format!("{RECORDED}{}", start.join(file).display())));
        }
        if settings::protocol(line).is_none() {
            let summary = format!("{line:?} is not a model.");
            let remedy = "Name one: --judge-model openai:MODEL, anthropic:MODEL or recorded:FILE.";
            return Err(Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into());
        }
        let line = settings::complete(line, &[])?;
        ModelSettings::parse(&line)?.check_transport()?;
        secret::judge_key(&line)?;
        Ok(Some(line))
    }
}

impl ModelArgs {
    /// The agent with these flags added to it.
    pub(super) fn complete(&self, agent: &str) -> Result<String> {
        let stream = self.no_stream.then(|| "false".to_owned());
        let flags = [
            ("base_url", self.base_url.clone()),
            ("temperature", self.temperature.map(|number| number.to_string())),
            ("max_tokens", self.max_tokens.map(|number| number.to_string())),
            ("stream", stream),
            ("edits", self.edits.clone()),
            ("price", self.price.clone()),
        ];
        let flags: Vec<(&str, String)> =
            flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        let agent = settings::complete(agent, &flags)?;
        // A missing key or transport is refused before any unit begins.
        secret::api_key(&agent)?;
        if settings::protocol(&agent).is_some() {
            ModelSettings::parse(&agent)?.check_transport()?;
        }
        Ok(agent)
    }
}
