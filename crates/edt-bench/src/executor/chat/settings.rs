//! Parses `--agent openai:MODEL key=value …`. This line has all settings and never a key: it is
//! written to `run.json` and to the report.

use super::{PROTOCOLS, protocol_of};
use edt_types::{Code, Finding, Result};

/// A model and how it is queried.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// The protocol's name.
    pub protocol: String,
    pub model: String,
    pub base_url: String,
    /// `None`: the server's default.
    pub temperature: Option<f64>,
    /// The most output tokens of an answer.
    pub max_tokens: u32,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Whether edits are written as text instead of tool calls.
    pub edits_as_text: bool,
    /// Dollars per million tokens read and written.
    pub prices: Option<[f64; 2]>,
}

/// The protocol that `agent` names; `None` if the agent is not a model.
#[must_use]
pub fn protocol(agent: &str) -> Option<&'static str> {
    let (name, model) = agent.trim_start().split_once(':')?;
    PROTOCOLS
        .iter()
        .map(|protocol| protocol.name())
        .find(|known| *known == name && !model.is_empty())
}

/// The keys that may follow the model.
pub const KEYS: [&str; 6] = ["base_url", "temperature", "max_tokens", "stream", "edits", "price"];

impl ModelSettings {
    /// # Errors
    /// `BAD_REQUEST` naming the word.
    pub fn parse(agent: &str) -> Result<ModelSettings> {
        let bad = |summary: String, remedy: String| Finding::new(Code::BadRequest, summary, remedy);
        let mut words = agent.split_whitespace();
        let (name, model) = words.next().and_then(|word| word.split_once(':')).unwrap_or_default();
        let protocol = protocol_of(name)?;
        let mut settings = ModelSettings {
            protocol: name.to_owned(),
            model: model.to_owned(),
            base_url: protocol.base_url().to_owned(),
            temperature: None,
            max_tokens: 8192,
            stream: true,
            edits_as_text: false,
            prices: None,
        };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = |problem: &str| {
                bad(
                    format!("{word:?} is not a valid setting of a model: {problem}."),
                    format!("Write {key} as docs/dev/bench.md shows."),
                )
            };
            match key {
                "base_url" => {
                    settings.base_url = url(value).ok_or_else(|| {
                        wrong(
                            "it is not an http or https URL without user name, password and query",
                        )
                    })?;
                }
                "temperature" => {
                    let number = value.parse().ok().filter(|number| (0.0..=2.0).contains(number));
                    settings.temperature =
                        Some(number.ok_or_else(|| wrong("it is not a number from 0 to 2"))?);
                }
                "max_tokens" => {
                    let number = value.parse().ok().filter(|number| *number > 0);
                    settings.max_tokens =
                        number.ok_or_else(|| wrong("it is not a positive number of tokens"))?;
                }
                "stream" => {
                    settings.stream =
                        value.parse().map_err(|_| wrong("it is neither true nor false"))?;
                }
                "edits" => match value {
                    "tools" => settings.edits_as_text = false,
                    "text" => settings.edits_as_text = true,
                    _ => return Err(wrong("it is neither tools nor text").into()),
                },
                "price" => {
                    settings.prices =
                        Some(prices(value).ok_or_else(|| {
                            wrong("it is not IN/OUT in dollars per million tokens")
                        })?);
                }
                _ => {
                    let remedy = format!("Use only these settings: {}.", KEYS.join(", "));
                    return Err(bad(format!("{key:?} is not a setting of a model."), remedy).into());
                }
            }
        }
        Ok(settings)
    }

    /// # Errors
    /// `BAD_REQUEST` for an https address, if this build has no TLS.
    pub fn check_transport(&self) -> Result<()> {
        if cfg!(feature = "tls") || !self.base_url.starts_with("https:") {
            return Ok(());
        }
        let summary = format!(
            "This edt-bench was built without the feature `tls`: it cannot query {}.",
            self.base_url
        );
        let remedy = "Build it with --features tls, or name an http address with --base-url.";
        Err(Finding::new(Code::BadRequest, summary, remedy).nothing_changed().into())
    }

    /// Whether the server is on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let host = self.base_url.split("://").nth(1).unwrap_or_default();
        let host = host.split('/').next().unwrap_or_default();
        let name =
            if host.starts_with('[') { host.split(']').next() } else { host.split(':').next() };
        matches!(name, Some("localhost" | "127.0.0.1" | "[::1"))
    }

    /// The cost in dollars; `None` without prices.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "tokens far below 2^52")]
    pub fn cost(&self, input: u64, output: u64) -> Option<f64> {
        self.prices.map(|[read, written]| (input as f64 * read + output as f64 * written) / 1e6)
    }
}

/// Adds settings from flags and the environment to `agent`. Flags override words in `agent`; both
/// override the environment.
///
/// # Errors
/// `BAD_REQUEST` if a word is wrong, or if there are flags and `agent` is not a model.
pub fn complete(agent: &str, flags: &[(&str, String)]) -> Result<String> {
    let Some(name) = protocol(agent) else {
        if let Some((key, _)) = flags.first() {
            let summary =
                format!("--{} is for models, but the agent is a program.", key.replace('_', "-"));
            return Err(Finding::new(
                Code::BadRequest,
                summary,
                "Name a model: --agent openai:MODEL or anthropic:MODEL.",
            )
            .into());
        }
        return Ok(agent.to_owned());
    };
    let mut words: Vec<String> = agent.split_whitespace().map(str::to_owned).collect();
    let is_set =
        |words: &[String], key: &str| words.iter().any(|word| word.starts_with(&format!("{key}=")));
    let base = ["EDT_BENCH_BASE_URL", protocol_of(name)?.base_variable()];
    let base = base
        .iter()
        .find_map(|variable| std::env::var(variable).ok().filter(|value| !value.is_empty()));
    if let Some(base) = base.filter(|_| !is_set(&words, "base_url")) {
        words.push(format!("base_url={base}"));
    }
    for (key, value) in flags {
        words.retain(|word| !word.starts_with(&format!("{key}=")));
        words.push(format!("{key}={value}"));
    }
    let line = words.join(" ");
    ModelSettings::parse(&line)?;
    Ok(line)
}

/// A URL without user name, password and query.
fn url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let plain = !rest.is_empty()
        && !rest.contains(['@', '?', '#'])
        && rest.bytes().all(|byte| byte.is_ascii_graphic());
    plain.then(|| text.trim_end_matches('/').to_owned())
}

fn prices(text: &str) -> Option<[f64; 2]> {
    let (read, written) = text.split_once('/')?;
    let price =
        |text: &str| text.parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
    Some([price(read)?, price(written)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_all_settings() {
        let line = "openai:llama3:8b base_url=http://127.0.0.1:8080/v1/ temperature=0 max_tokens=99 stream=false edits=text price=3/15";
        let settings = ModelSettings::parse(line).unwrap();
        assert_eq!(
            (settings.model.as_str(), settings.base_url.as_str()),
            ("llama3:8b", "http://127.0.0.1:8080/v1")
        );
        assert_eq!((settings.temperature, settings.max_tokens), (Some(0.0), 99));
        assert!(!settings.stream && settings.edits_as_text && settings.is_local());
        assert_eq!(settings.cost(1_000_000, 100_000), Some(4.5));
        assert!(!ModelSettings::parse("anthropic:m").unwrap().is_local());
        for wrong in [
            "price=3",
            "temperature=hot",
            "stream=maybe",
            "base_url=ftp://x",
            "base_url=https://me:key@x",
            "colour=red",
            "edits=x",
        ] {
            assert!(ModelSettings::parse(&format!("openai:m {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn programs_are_not_models() {
        assert_eq!(
            (protocol("python3 agent.py"), protocol("replay"), protocol("openai:")),
            (None, None, None)
        );
        assert_eq!(protocol("anthropic:m x=y"), Some("anthropic"));
        assert!(complete("python3 agent.py", &[("temperature", "0".to_owned())]).is_err());
        let line = complete("openai:m temperature=1", &[("temperature", "0".to_owned())]).unwrap();
        assert!(line.ends_with(" temperature=0") && !line.contains("temperature=1"), "{line}");
    }
}
