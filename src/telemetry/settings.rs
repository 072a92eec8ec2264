//! Whether spans are recorded and where they are sent: from OpenTelemetry's own variables, else
//! from the user's Git configuration.

use std::fmt;
use std::time::Duration;

/// How spans leave this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exporter {
    /// By OTLP over HTTP, from the spool.
    Otlp,
    /// On standard error, in the form in which they would be spooled.
    Console,
}

/// The encoding of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// `http/json`
    Json,
    /// `http/protobuf`, the standard's default.
    Protobuf,
    /// `grpc`, which edt does not support: spans stay in the spool.
    Grpc,
}

impl Protocol {
    /// The name in the variables.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Protocol::Json => "http/json",
            Protocol::Protobuf => "http/protobuf",
            Protocol::Grpc => "grpc",
        }
    }
}

/// When spans are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// By another process: `edt mcp` or `edt telemetry flush`.
    Spool,
    /// By the command itself, after its answer, within 150 ms.
    Inline,
}

/// Headers of a request. Their values are secrets: nothing prints them.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `name=value,name=value`, values percent-encoded.
    fn read(text: &str) -> Headers {
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        let pairs =
            pairs.map(|(name, value)| (name.trim().to_ascii_lowercase(), decoded(value.trim())));
        Headers(pairs.filter(|(name, _)| !name.is_empty()).collect())
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How spans leave this machine.
    pub exporter: Exporter,
    /// Where spans are sent.
    pub endpoint: String,
    /// The variable or configuration key that gave `endpoint`.
    pub source: &'static str,
    /// Additional headers of each request.
    pub headers: Headers,
    /// The time limit of a request.
    pub timeout: Duration,
    /// Whether request bodies are compressed.
    pub gzip: bool,
    /// The encoding of requests.
    pub protocol: Protocol,
    /// When spans are sent.
    pub flush: Flush,
    /// The maximum length of an attribute's text, in characters.
    pub longest: Option<usize>,
    /// Settings that edt cannot follow.
    pub problems: Vec<String>,
}

/// The default time limit of a request, from the standard.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The default address of the collector, from the standard.
const LOCAL: &str = "http://localhost:4318";
/// The path that is appended to an endpoint for all signals.
const PATH: &str = "/v1/traces";

const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
/// The endpoint in the user's Git configuration.
const GIT_CONFIG_ENDPOINT: &str = "edt.telemetry.endpoint";

/// Reads the settings from the environment (`env`) and the user's Git configuration
/// (`user_config`).
///
/// # Errors
/// Why telemetry is off, as text.
pub(crate) fn read(
    env: &dyn Fn(&str) -> Option<String>,
    user_config: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, &'static str> {
    // An empty variable counts as unset.
    let env = |name: &str| {
        env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let user_config = |name: &str| {
        user_config(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    if env("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err("OTEL_SDK_DISABLED is true");
    }
    let exporter = match env(EXPORTER).as_deref() {
        None => None,
        Some("none") => return Err("OTEL_TRACES_EXPORTER is none"),
        Some(list) if list.split(',').any(|one| one.trim() == "otlp") => Some(Exporter::Otlp),
        Some("console") => Some(Exporter::Console),
        Some(_) => {
            return Err(
                "OTEL_TRACES_EXPORTER names no exporter that edt knows (otlp, console, none)",
            );
        }
    };
    let mut problems = Vec::new();
    let for_all = |base: &str| format!("{}{PATH}", base.trim_end_matches('/'));
    let (endpoint, source) = if let Some(exact) = env(TRACES_ENDPOINT) {
        (exact, TRACES_ENDPOINT)
    } else if let Some(base) = env(ENDPOINT) {
        (for_all(&base), ENDPOINT)
    } else if let Some(base) = user_config(GIT_CONFIG_ENDPOINT) {
        (for_all(&base), GIT_CONFIG_ENDPOINT)
    } else if exporter.is_some() {
        (for_all(LOCAL), EXPORTER)
    } else {
        return Err(
            "neither a variable of OpenTelemetry nor edt.telemetry.endpoint in your own Git configuration enables it",
        );
    };
    let either = |signal: &str, all: &str| env(signal).or_else(|| env(all));
    let protocol = either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        .or_else(|| user_config("edt.telemetry.protocol"));
    let protocol = match protocol.as_deref() {
        None | Some("http/protobuf") => Protocol::Protobuf,
        Some("http/json") => Protocol::Json,
        Some("grpc") => {
            problems.push("edt does not support the protocol grpc: spans wait in the spool. Set http/protobuf or http/json.".to_owned());
            Protocol::Grpc
        }
        Some(other) => {
            problems
                .push(format!("The protocol {other} is unknown: http/protobuf is used instead."));
            Protocol::Protobuf
        }
    };
    let timeout = either("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
    let timeout = timeout
        .map_or(Some(TIMEOUT), |ms| ms.parse().ok().map(Duration::from_millis))
        .unwrap_or_else(|| {
            problems.push(
                "The timeout is not a number of milliseconds: 10000 is used instead.".to_owned(),
            );
            TIMEOUT
        });
    let gzip =
        match either("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION")
            .as_deref()
        {
            Some("gzip") => true,
            None | Some("none") => false,
            Some(other) => {
                problems.push(format!(
                    "The compression {other} is unknown: nothing is compressed. Set gzip or none."
                ));
                false
            }
        };
    if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
        problems.push(format!(
            "The endpoint {} is not an http:// or https:// address: spans wait in the spool.",
            masked(&endpoint)
        ));
    }
    let headers = either("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
    let headers = headers
        .or_else(|| user_config("edt.telemetry.headers"))
        .map(|text| Headers::read(&text))
        .unwrap_or_default();
    let flush = env("EDT_TELEMETRY_FLUSH").or_else(|| user_config("edt.telemetry.flush"));
    let longest =
        either("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT");
    Ok(Settings {
        exporter: exporter.unwrap_or(Exporter::Otlp),
        endpoint,
        source,
        headers,
        timeout,
        gzip,
        protocol,
        flush: if flush.as_deref() == Some("inline") { Flush::Inline } else { Flush::Spool },
        longest: longest.and_then(|limit| limit.parse().ok()),
        problems,
    })
}

/// Whether the environment (`env`) allows spans to include arguments of calls.
#[must_use]
pub(crate) fn wants_content(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let said = env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").unwrap_or_default();
    ["true", "span_only", "span_and_event"].contains(&said.trim().to_ascii_lowercase().as_str())
}

/// An address with everything before its `@` and after its `?` masked, because both may be secret.
#[must_use]
pub(crate) fn masked(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (rest, query) =
        rest.split_once(['?', '#']).map_or((rest, ""), |(rest, query)| (rest, query));
    let end = rest.find('/').unwrap_or(rest.len());
    let host = rest[..end]
        .rsplit_once('@')
        .map_or(rest[..end].to_owned(), |(_, host)| format!("***@{host}"));
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    let query = if query.is_empty() { "" } else { "?***" };
    format!("{scheme}{host}{}{query}", &rest[end..])
}

/// `text` with percent-encoding decoded; invalid sequences stay.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = if byte == b'%' { after.get(..2) } else { None };
        let code =
            code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(env: &[(&str, &str)], user_config: &[(&str, &str)]) -> Result<Settings, &'static str> {
        let find = |all: &[(&str, &str)], name: &str| {
            all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        read(&|name| find(env, name), &|name| find(user_config, name))
    }

    #[test]
    fn telemetry_is_off_unless_configured() {
        assert!(of(&[], &[]).is_err() && of(&[(ENDPOINT, " ")], &[]).is_err());
        assert!(of(&[(ENDPOINT, "http://x"), ("OTEL_SDK_DISABLED", "TRUE")], &[]).is_err());
        assert!(of(&[(EXPORTER, "none")], &[(GIT_CONFIG_ENDPOINT, "http://x")]).is_err());
        assert!(of(&[(EXPORTER, "zipkin"), (ENDPOINT, "http://x")], &[]).is_err());
    }

    #[test]
    fn the_endpoint_follows_the_standard() {
        let at = |env: &[(&str, &str)], user_config: &[(&str, &str)]| {
            of(env, user_config).map(|settings| (settings.endpoint, settings.source)).unwrap()
        };
        assert_eq!(
            at(&[(ENDPOINT, "http://c:1/")], &[]),
            ("http://c:1/v1/traces".into(), ENDPOINT)
        );
        assert_eq!(
            at(&[(ENDPOINT, "http://c"), (TRACES_ENDPOINT, "http://t/x")], &[]).0,
            "http://t/x"
        );
        assert_eq!(at(&[(EXPORTER, "otlp")], &[]).0, "http://localhost:4318/v1/traces");
        assert_eq!(
            at(&[], &[(GIT_CONFIG_ENDPOINT, "http://p")]),
            ("http://p/v1/traces".into(), GIT_CONFIG_ENDPOINT)
        );
        assert_eq!(
            at(&[(ENDPOINT, "http://c")], &[(GIT_CONFIG_ENDPOINT, "http://p")]).0,
            "http://c/v1/traces"
        );
    }

    #[test]
    fn a_secret_is_never_printed() {
        let all = of(
            &[
                (ENDPOINT, "https://u:p@h:1"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=s%20t, x=y=z"),
            ],
            &[],
        )
        .unwrap();
        assert_eq!(all.headers.iter().collect::<Vec<_>>(), [("api-key", "s t"), ("x", "y=z")]);
        assert!(!format!("{:?}", all.headers).contains("s t"), "{:?}", all.headers);
        assert_eq!(masked(&all.endpoint), "https://***@h:1/v1/traces");
        assert_eq!(masked("http://h/v1?key=s"), "http://h/v1?***");
        assert_eq!(masked("h:4317"), "h:4317");
    }

    #[test]
    fn unsupported_settings_are_reported() {
        let all = of(
            &[
                (ENDPOINT, "c:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ],
            &[],
        )
        .unwrap();
        assert_eq!(
            (all.problems.len(), all.protocol, all.timeout, all.gzip),
            (4, Protocol::Grpc, TIMEOUT, false)
        );
    }
}
