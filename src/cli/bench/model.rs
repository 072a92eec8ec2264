//! The flags of a model as the agent.

use crate::base::Result;
use crate::bench::executor::chat::{secret, settings};

/// How a model is asked; all of it can stand in --agent, too: 'openai:MODEL temperature=0'.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "For --agent openai:MODEL and anthropic:MODEL")]
pub(super) struct ModelArgs {
    /// Where the server is; `EDT_BENCH_BASE_URL`, `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL` if left out.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// How much is left to chance, from 0 to 2; the server's own choice if left out.
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f64>,
    /// The most tokens of one answer; 8192 if left out.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Have each answer come in one piece, not as a stream.
    #[arg(long)]
    no_stream: bool,
    /// Whether edits are calls of tools, or text in a form that edt reads; tools if left out.
    #[arg(long, value_name = "FORM", value_parser = ["tools", "text"])]
    edits: Option<String>,
    /// Dollars for a million tokens read and written, such as 3/15: without it no cost is told.
    #[arg(long, value_name = "IN/OUT")]
    price: Option<String>,
}

impl ModelArgs {
    /// The agent with these flags in it.
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
        // Better now than in the first of a thousand units.
        secret::of(&agent)?;
        Ok(agent)
    }
}
