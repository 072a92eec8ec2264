//! Whether spans are wanted, and where they go: OpenTelemetry's own variables, else what the person's Git configuration says.

use std::fmt;
use std::time::Duration;

/// How spans leave this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    /// By OTLP over HTTP, from the spool.
    Otlp,
    /// On standard error, as they are spooled otherwise.
    Console,
}

/// The form of what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `http/json`
    Json,
    /// `http/protobuf`, the standard's default.
    Protobuf,
    /// `grpc`, which edt does not speak: spans wait in the spool.
    Grpc,
}

impl Protocol {
    /// As the variables name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Json => "http/json",
            Protocol::Protobuf => "http/protobuf",
            Protocol::Grpc => "grpc",
        }
    }
}

/// When spans are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// By somebody else: `edt mcp`, `edt telemetry flush`.
    Spool,
    /// By the command itself, after its answer, within 150 ms.
    Inline,
}

/// Headers of a request. Their values are secrets: nothing prints them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
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

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How spans leave this machine.
    pub exporter: Exporter,
    /// Where spans are sent.
    pub endpoint: String,
    /// What said so.
    pub source: &'static str,
    /// Further headers of each request.
    pub headers: Headers,
    /// The longest that a request may take.
    pub timeout: Duration,
    /// Whether a request's body is compressed.
    pub gzip: bool,
    /// Its form.
    pub protocol: Protocol,
    /// When spans are sent.
    pub flush: Flush,
    /// The longest text of an attribute, in characters.
    pub longest: Option<usize>,
    /// What was said and cannot be followed.
    pub problems: Vec<String>,
}

/// The longest that a request may take unless told otherwise: the standard's own value.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Where a collector is unless told otherwise: the standard's own value.
const LOCAL: &str = "http://localhost:4318";
/// The path that is added to an endpoint for all signals.
const PATH: &str = "/v1/traces";

const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
/// The same in the person's Git configuration.
const PERSONS: &str = "edt.telemetry.endpoint";

/// What the variables (`env`) and the person's configuration (`person`) ask for.
///
/// # Errors
/// Why there is no telemetry, in words.
pub fn read(
    env: &dyn Fn(&str) -> Option<String>,
    person: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, &'static str> {
    // An empty variable is one that is not set.
    let env = |name: &str| {
        env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let person = |name: &str| {
        person(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
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
    } else if let Some(base) = person(PERSONS) {
        (for_all(&base), PERSONS)
    } else if exporter.is_some() {
        (for_all(LOCAL), EXPORTER)
    } else {
        return Err(
            "neither a variable of OpenTelemetry nor edt.telemetry.endpoint in your own Git configuration asks for it",
        );
    };
    let either = |signal: &str, all: &str| env(signal).or_else(|| env(all));
    let protocol = either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        .or_else(|| person("edt.telemetry.protocol"));
    let protocol = match protocol.as_deref() {
        None | Some("http/protobuf") => Protocol::Protobuf,
        Some("http/json") => Protocol::Json,
        Some("grpc") => {
            problems.push("The protocol is grpc, which edt does not speak: spans wait in the spool. Set http/protobuf or http/json.".to_owned());
            Protocol::Grpc
        }
        Some(other) => {
            problems.push(format!(
                "The protocol {other} is not known: http/protobuf is spoken instead."
            ));
            Protocol::Protobuf
        }
    };
    let timeout = either("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
    let timeout = timeout
        .map_or(Some(TIMEOUT), |ms| ms.parse().ok().map(Duration::from_millis))
        .unwrap_or_else(|| {
            problems
                .push("The timeout is no number of milliseconds: 10000 counts instead.".to_owned());
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
                    "The compression {other} is not known: nothing is compressed. Set gzip or none."
                ));
                false
            }
        };
    if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
        problems.push(format!(
            "The endpoint {} is no http:// or https:// address: spans wait in the spool.",
            masked(&endpoint)
        ));
    }
    let headers = either("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
    let headers = headers
        .or_else(|| person("edt.telemetry.headers"))
        .map(|text| Headers::read(&text))
        .unwrap_or_default();
    let flush = env("EDT_TELEMETRY_FLUSH").or_else(|| person("edt.telemetry.flush"));
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

/// Whether arguments of calls may be in spans, as the variables (`env`) say.
#[must_use]
pub fn wants_content(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let said = env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").unwrap_or_default();
    ["true", "span_only", "span_and_event"].contains(&said.trim().to_ascii_lowercase().as_str())
}

/// An address without what stands before its `@` and behind its `?`: both may hold a secret.
#[must_use]
pub fn masked(url: &str) -> String {
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

/// `text` without percent-encoding; what is none stays.
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

    fn of(env: &[(&str, &str)], person: &[(&str, &str)]) -> Result<Settings, &'static str> {
        let find = |all: &[(&str, &str)], name: &str| {
            all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        read(&|name| find(env, name), &|name| find(person, name))
    }

    #[test]
    fn nothing_set_is_off_and_so_is_what_says_so() {
        assert!(of(&[], &[]).is_err() && of(&[(ENDPOINT, " ")], &[]).is_err());
        assert!(of(&[(ENDPOINT, "http://x"), ("OTEL_SDK_DISABLED", "TRUE")], &[]).is_err());
        assert!(of(&[(EXPORTER, "none")], &[(PERSONS, "http://x")]).is_err());
        assert!(of(&[(EXPORTER, "zipkin"), (ENDPOINT, "http://x")], &[]).is_err());
    }

    #[test]
    fn the_address_is_the_standards() {
        let at = |env: &[(&str, &str)], person: &[(&str, &str)]| {
            of(env, person).map(|settings| (settings.endpoint, settings.source)).unwrap()
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
        assert_eq!(at(&[], &[(PERSONS, "http://p")]), ("http://p/v1/traces".into(), PERSONS));
        assert_eq!(at(&[(ENDPOINT, "http://c")], &[(PERSONS, "http://p")]).0, "http://c/v1/traces");
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
    fn what_cannot_be_followed_is_said() {
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
