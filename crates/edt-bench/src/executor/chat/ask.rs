//! Questions to a model that get a text as the answer: a conversation without tools, for a judge.

use std::time::Instant;

use super::conversation::add_tokens;
use super::http::{HttpClient, NoAnswer};
use super::secret::Secret;
use super::settings::ModelSettings;
use super::{ModelProtocol, ModelReply, Turn, protocol_of};
use crate::results::TokenUsage;
use edt_types::{Refusal, Result};

/// A conversation with a model.
pub(crate) struct Questions {
    settings: ModelSettings,
    protocol: &'static dyn ModelProtocol,
    client: HttpClient,
    system: String,
    turns: Vec<Turn>,
    seed: u64,
    pub(crate) usage: TokenUsage,
}

/// Why a question has no answer.
pub(crate) enum Unanswered {
    /// The server refuses every request of this run.
    Refused(Refusal),
    Failed(String),
}

impl Questions {
    /// A conversation with the model of `line`, as `--agent` names it, at temperature 0 if the line
    /// does not say otherwise. `seed` determines the jitter of the waits between retries.
    ///
    /// # Errors
    /// `BAD_REQUEST` if a word is wrong, or if this build cannot query the address.
    pub(crate) fn new(
        line: &str,
        key: Option<Secret>,
        system: &str,
        seed: u64,
    ) -> Result<Questions> {
        let settings = ModelSettings::parse(line)?;
        let temperature = settings.temperature.or(Some(0.0));
        let settings =
            ModelSettings { temperature, stream: false, edits_as_text: true, ..settings };
        let protocol = protocol_of(&settings.protocol)?;
        let client = HttpClient::new(&settings, protocol, key)?;
        let (system, usage) = (system.to_owned(), TokenUsage::default());
        Ok(Questions { settings, protocol, client, system, turns: Vec::new(), seed, usage })
    }

    pub(crate) fn ask(
        &mut self,
        question: &str,
        until: Instant,
    ) -> std::result::Result<String, Unanswered> {
        self.turns.push(Turn::User(question.to_owned()));
        let body = self.protocol.body(&self.settings, &self.system, &self.turns);
        let reply =
            self.client.query(&body, until, self.seed).map_err(|no_answer| match no_answer {
                NoAnswer::Refused(findings) => Unanswered::Refused(findings),
                NoAnswer::TimedOut(why) => Unanswered::Failed(format!("it timed out: {why}")),
                NoAnswer::Failed(why) => Unanswered::Failed(why),
                NoAnswer::TooLong => Unanswered::Failed("the answer is too long".to_owned()),
            })?;
        let ModelReply { input_tokens, output_tokens, .. } = reply;
        add_tokens(&mut self.usage, &self.settings, input_tokens, output_tokens);
        let text = reply.text.clone();
        self.turns.push(Turn::Model(reply));
        Ok(text)
    }
}
