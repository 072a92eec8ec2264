//! Requests to a model's server: one, and again after a while where that can help, within the attempt's time.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::secret::Secret;
use super::settings::Settings;
use super::sse::Events;
use super::{Broken, Call, Protocol, Reply, talk};
use crate::base::{Code, Finding, Findings, Result};
use crate::bench::seed::Chance;
use crate::io::clock;

/// The longest answer that is read, in bytes.
const MOST: usize = 16 * 1024 * 1024;
/// How often one request is sent.
const TRIES: u32 = 6;
/// The first wait between two tries; each further one is twice as long, up to the longest.
const WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The way to a server.
pub(super) struct Line {
    agent: Agent,
    url: String,
    protocol: &'static dyn Protocol,
    key: Option<Secret>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Gone {
    /// The attempt's time is over, or would be before the next try.
    Late(String),
    /// The answer is longer than is read.
    Flooded,
    /// It was tried often enough, or cannot help.
    Failed(String),
    /// No request of this run will be answered.
    Refused(Findings),
}

/// Why one request has no answer.
enum Failed {
    Later(Option<Duration>, String),
    Gone(Gone),
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Failed {
        match broken {
            Broken::Later(why) => Failed::Later(None, why),
            Broken::Never(why) => Failed::Gone(Gone::Failed(why)),
        }
    }
}

impl Line {
    /// The way to the server of `settings`. A proxy is taken from the usual variables.
    #[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
    pub(super) fn new(
        settings: &Settings,
        protocol: &'static dyn Protocol,
        key: Option<Secret>,
    ) -> Result<Line> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The key is for this address and no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("edt/", env!("CARGO_PKG_VERSION")));
        let url = format!("{}{}", settings.base_url, protocol.path());
        Ok(Line { agent: Agent::new_with_config(config.build()), url, protocol, key })
    }

    /// Asks until there is an answer, at most until then. `seed` fixes what is left to chance of a wait.
    pub(super) fn ask(
        &self,
        body: &Value,
        until: Instant,
        seed: u64,
    ) -> std::result::Result<Reply, Gone> {
        let body = body.to_string();
        let mut chance = Chance::new(seed, &body);
        let mut last = format!("{} did not answer in time", self.url);
        for tried in 1..=TRIES {
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                return Err(Gone::Late(last));
            }
            let (after, why) = match self.once(&body, left) {
                Ok(reply) => return Ok(self.masked(reply)),
                Err(Failed::Gone(Gone::Failed(why))) => {
                    return Err(Gone::Failed(self.hidden(&why)));
                }
                Err(Failed::Gone(gone)) => return Err(gone),
                Err(Failed::Later(after, why)) => (after, self.hidden(&why)),
            };
            let doubled = WAIT.saturating_mul(1 << (tried - 1)).min(LONGEST_WAIT);
            let jitter = Duration::from_millis(chance.below(100) as u64);
            let wait = after.unwrap_or(doubled + jitter);
            last = why;
            if tried < TRIES {
                if clock::now() + wait >= until {
                    return Err(Gone::Late(last));
                }
                std::thread::sleep(wait);
            }
        }
        Err(Gone::Failed(format!("{last}; asked {TRIES} times")))
    }

    fn once(&self, body: &str, left: Duration) -> std::result::Result<Reply, Failed> {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        for (name, value) in self.protocol.headers(self.key.as_ref().map(Secret::bare)) {
            request = request.header(name, value);
        }
        let sent = request.config().timeout_global(Some(left)).build().send(body);
        let mut answer = sent.map_err(|error| {
            Failed::Later(None, format!("{} did not answer: {error}", self.url))
        })?;
        let status = answer.status().as_u16();
        if !(200..300).contains(&status) {
            return Err(self.judged(status, &mut answer));
        }
        if answer.body().mime_type() == Some("text/event-stream") {
            return self.events(&mut answer);
        }
        let bytes = all(&mut answer, MOST)?;
        let torn = |why: String| {
            Failed::Later(None, format!("{} answered with what is no answer: {why}", self.url))
        };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| torn(error.to_string()))?;
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(talk::broken(error).into());
        }
        self.protocol.whole(&value).map_err(torn)
    }

    fn events(&self, answer: &mut Response<Body>) -> std::result::Result<Reply, Failed> {
        let (mut events, mut gathered) = (Events::default(), self.protocol.gather());
        let mut reader = answer.body_mut().as_reader();
        let (mut buffer, mut size) = (vec![0; 64 * 1024], 0);
        loop {
            let cut =
                |error| Failed::Later(None, format!("the stream of {} was cut: {error}", self.url));
            let read = reader.read(&mut buffer).map_err(cut)?;
            size += read;
            if size > MOST {
                return Err(Failed::Gone(Gone::Flooded));
            }
            if read == 0 {
                break;
            }
            for event in events.take(&buffer[..read]) {
                gathered.take(&event)?;
            }
        }
        gathered
            .done()
            .ok_or_else(|| Failed::Later(None, format!("the stream of {} ended early", self.url)))
    }

    /// What a status other than success means.
    fn judged(&self, status: u16, answer: &mut Response<Body>) -> Failed {
        let after = answer
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
        let bytes = all(answer, 64 * 1024).unwrap_or_default();
        let said: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let said = said
            .pointer("/error/message")
            .and_then(Value::as_str)
            .map_or_else(|| String::from_utf8_lossy(&bytes).into_owned(), str::to_owned);
        // Before it is cut: half a key is one, too.
        let said: String = self.hidden(&said).chars().take(300).collect();
        let why = format!("{} answered {status}: {}", self.url, said.trim());
        match status {
            300..=399 => Failed::Gone(Gone::Failed(format!(
                "{} redirects ({status}), and is not followed with the key",
                self.url
            ))),
            401 | 403 | 404 => {
                let hint = "Correct the key in its variable, --base-url or the model, and repeat the call with --resume.";
                let finding = Finding::new(
                    Code::ModelRefused,
                    format!("{}.", why.trim_end_matches('.')),
                    hint,
                );
                Failed::Gone(Gone::Refused(finding.with("status", status).into()))
            }
            408 | 409 | 425 | 429 | 500.. => Failed::Later(after.map(Duration::from_secs), why),
            _ => Failed::Gone(Gone::Failed(why)),
        }
    }

    /// What a model said, without the key, should it know it.
    fn masked(&self, reply: Reply) -> Reply {
        let calls = reply
            .calls
            .into_iter()
            .map(|call| Call { arguments: self.hidden(&call.arguments), ..call });
        Reply { text: self.hidden(&reply.text), calls: calls.collect(), ..reply }
    }

    fn hidden(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden(text))
    }
}

/// All that is answered, if it is not too long.
fn all(answer: &mut Response<Body>, most: usize) -> std::result::Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    let read = answer.body_mut().as_reader().take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failed::Later(None, format!("the answer was cut: {error}")))?;
    if bytes.len() > most { Err(Failed::Gone(Gone::Flooded)) } else { Ok(bytes) }
}
