//! Requests to a model's server, with retries within the attempt's time limit.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::secret::Secret;
use super::server_error::ServerError;
use super::settings::ModelSettings;
use super::sse::Events;
use super::{ModelProtocol, ModelReply, ToolCall};
use crate::rng::SeededRng;
use edt_io::clock;
use edt_types::{Code, Finding, Refusal, Result};

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// How many times one request is sent.
const MAX_TRIES: u32 = 6;
/// The wait before the first retry; it doubles up to [`LONGEST_WAIT`].
const WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub(super) struct HttpClient {
    agent: Agent,
    url: String,
    protocol: &'static dyn ModelProtocol,
    key: Option<Secret>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The attempt's time limit is reached, or would be during the next wait.
    TimedOut(String),
    /// The answer is too long.
    TooLong,
    /// All retries failed, or a retry cannot help.
    Failed(String),
    /// The server refuses every request of this run.
    Refused(Refusal),
}

/// Why a single request has no answer.
enum RequestError {
    Temporary(Option<Duration>, String),
    Fatal(NoAnswer),
}

impl From<ServerError> for RequestError {
    fn from(error: ServerError) -> RequestError {
        match error {
            ServerError::Temporary(why) => RequestError::Temporary(None, why),
            ServerError::Permanent(why) => RequestError::Fatal(NoAnswer::Failed(why)),
        }
    }
}

impl HttpClient {
    /// A client for the server of `settings`. Proxies come from the usual environment variables.
    ///
    /// # Errors
    /// `BAD_REQUEST` for an https address, if this build has no TLS.
    pub(super) fn new(
        settings: &ModelSettings,
        protocol: &'static dyn ModelProtocol,
        key: Option<Secret>,
    ) -> Result<HttpClient> {
        settings.check_transport()?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The API key must not go to another address.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("edt/", env!("CARGO_PKG_VERSION")));
        let url = format!("{}{}", settings.base_url, protocol.path());
        Ok(HttpClient { agent: Agent::new_with_config(config.build()), url, protocol, key })
    }

    /// Sends the request until there is an answer, at most until `until`. `seed` determines the
    /// jitter of the waits.
    pub(super) fn query(
        &self,
        body: &Value,
        until: Instant,
        seed: u64,
    ) -> std::result::Result<ModelReply, NoAnswer> {
        let body = body.to_string();
        let mut rng = SeededRng::new(seed, &body);
        let mut last = format!("{} did not answer in time", self.url);
        for attempt in 1..=MAX_TRIES {
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                return Err(NoAnswer::TimedOut(last));
            }
            let (after, why) = match self.send(&body, left) {
                Ok(reply) => return Ok(self.redact_reply(reply)),
                Err(RequestError::Fatal(NoAnswer::Failed(why))) => {
                    return Err(NoAnswer::Failed(self.redact(&why)));
                }
                Err(RequestError::Fatal(no_answer)) => return Err(no_answer),
                Err(RequestError::Temporary(after, why)) => (after, self.redact(&why)),
            };
            let doubled = WAIT.saturating_mul(1 << (attempt - 1)).min(LONGEST_WAIT);
            let jitter = Duration::from_millis(rng.below(100) as u64);
            let wait = after.unwrap_or(doubled + jitter);
            last = why;
            if attempt < MAX_TRIES {
                if clock::now() + wait >= until {
                    return Err(NoAnswer::TimedOut(last));
                }
                std::thread::sleep(wait);
            }
        }
        Err(NoAnswer::Failed(format!("{last}; sent {MAX_TRIES} times")))
    }

    fn send(&self, body: &str, left: Duration) -> std::result::Result<ModelReply, RequestError> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        for (name, value) in self.protocol.headers(self.key.as_ref().map(Secret::expose)) {
            request = request.header(name, value);
        }
        let sent = request.config().timeout_global(Some(left)).build().send(body);
        let mut answer = sent.map_err(|error| {
            RequestError::Temporary(None, format!("{} did not answer: {error}", self.url))
        })?;
        let status = answer.status().as_u16();
        if !(200..300).contains(&status) {
            return Err(self.status_error(status, &mut answer));
        }
        if answer.body().mime_type() == Some("text/event-stream") {
            return self.events(&mut answer);
        }
        let bytes = read_all(&mut answer, MAX_ANSWER)?;
        let unreadable = |why: String| {
            RequestError::Temporary(None, format!("{} sent an unreadable answer: {why}", self.url))
        };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(ServerError::classify(error).into());
        }
        self.protocol.parse_reply(&value).map_err(unreadable)
    }

    fn events(&self, answer: &mut Response<Body>) -> std::result::Result<ModelReply, RequestError> {
        let (mut events, mut collector) = (Events::default(), self.protocol.collector());
        let mut reader = answer.body_mut().as_reader();
        let (mut buffer, mut size) = (vec![0; 64 * 1024], 0);
        loop {
            let interrupted = |error| {
                RequestError::Temporary(
                    None,
                    format!("the stream of {} was interrupted: {error}", self.url),
                )
            };
            let read = reader.read(&mut buffer).map_err(interrupted)?;
            size += read;
            if size > MAX_ANSWER {
                return Err(RequestError::Fatal(NoAnswer::TooLong));
            }
            if read == 0 {
                break;
            }
            for event in events.push(&buffer[..read]) {
                collector.push(&event)?;
            }
        }
        collector.finish().ok_or_else(|| {
            RequestError::Temporary(None, format!("the stream of {} ended early", self.url))
        })
    }

    /// Classifies an HTTP status other than success.
    fn status_error(&self, status: u16, answer: &mut Response<Body>) -> RequestError {
        let after = answer
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
        let bytes = read_all(answer, 64 * 1024).unwrap_or_default();
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let message = body
            .pointer("/error/message")
            .and_then(Value::as_str)
            .map_or_else(|| String::from_utf8_lossy(&bytes).into_owned(), str::to_owned);
        // Redact before cutting: half a key is also secret.
        let message: String = self.redact(&message).chars().take(300).collect();
        let why = format!("{} answered {status}: {}", self.url, message.trim());
        match status {
            300..=399 => RequestError::Fatal(NoAnswer::Failed(format!(
                "{} redirects ({status}); redirects are not followed",
                self.url
            ))),
            401 | 403 | 404 => {
                let remedy = "Correct the API key in its variable, --base-url or the model, then repeat \
                              the call with --resume.";
                let finding = Finding::new(
                    Code::ModelRefused,
                    format!("{}.", why.trim_end_matches('.')),
                    remedy,
                );
                RequestError::Fatal(NoAnswer::Refused(finding.with("status", status).into()))
            }
            408 | 409 | 425 | 429 | 500.. => {
                RequestError::Temporary(after.map(Duration::from_secs), why)
            }
            _ => RequestError::Fatal(NoAnswer::Failed(why)),
        }
    }

    /// Removes the API key from what the model wrote.
    fn redact_reply(&self, reply: ModelReply) -> ModelReply {
        let calls = reply
            .calls
            .into_iter()
            .map(|call| ToolCall { arguments: self.redact(&call.arguments), ..call });
        ModelReply { text: self.redact(&reply.text), calls: calls.collect(), ..reply }
    }

    fn redact(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.redact(text))
    }
}

/// Reads the body, up to `most` bytes.
fn read_all(
    answer: &mut Response<Body>,
    most: usize,
) -> std::result::Result<Vec<u8>, RequestError> {
    let mut bytes = Vec::new();
    let read = answer.body_mut().as_reader().take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        RequestError::Temporary(None, format!("the answer was interrupted: {error}"))
    })?;
    if bytes.len() > most { Err(RequestError::Fatal(NoAnswer::TooLong)) } else { Ok(bytes) }
}
