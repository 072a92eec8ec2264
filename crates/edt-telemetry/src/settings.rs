//! Whether spans are recorded and where they are sent: from OpenTelemetry's own variables, else
//! from the user's Git configuration. The SDK itself reads the sampler, the limits of a span and
//! the resource.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use ureq::http::Uri;

/// The settings. They have no `Debug`, because the values of headers are secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where spans are sent.
    pub endpoint: String,
    /// The variable or configuration key that enabled telemetry.
    pub source: &'static str,
    /// Additional headers of each request.
    pub headers: Vec<(String, String)>,
    /// `http/protobuf`, `http/json`, or one that edt does not support.
    pub protocol: String,
    /// Why spans cannot be sent; they wait in the file.
    pub problems: Vec<String>,
    pub(crate) timeout: Duration,
}

const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const GIT: &str = "edt.telemetry.endpoint";

/// Reads the settings from the environment (`env`) and the user's Git configuration
/// (`user_config`). An empty value counts as unset.
///
/// # Errors
/// Why telemetry is off.
pub fn read(
    env: &dyn Fn(&str) -> Option<String>,
    user_config: &dyn Fn(&str) -> Option<String>,
) -> Result<Settings, &'static str> {
    let trimmed = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let env = |name: &str| env(name).and_then(trimmed);
    let user_config = |name: &str| user_config(name).and_then(trimmed);
    let otlp = |name: &str| {
        env(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
            .or_else(|| env(&format!("OTEL_EXPORTER_OTLP_{name}")))
            .or_else(|| user_config(&format!("edt.telemetry.{}", name.to_lowercase())))
    };
    if env("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err("OTEL_SDK_DISABLED is true");
    }
    let exporter = env(EXPORTER);
    if exporter.iter().any(|list| list.split(',').all(|one| one.trim() != "otlp")) {
        return Err("OTEL_TRACES_EXPORTER does not name otlp, the only exporter that edt has");
    }
    let exporter = exporter.map(|_| "http://localhost:4318".to_owned());
    let all = [(ENDPOINT, env(ENDPOINT)), (GIT, user_config(GIT)), (EXPORTER, exporter)];
    let all = all.map(|(source, base)| {
        (source, base.map(|base| format!("{}/v1/traces", base.trim_end_matches('/'))))
    });
    let mut all = [(TRACES, env(TRACES))].into_iter().chain(all);
    let (source, endpoint) = all
        .find_map(|(source, address)| Some((source, address?)))
        .ok_or("neither a variable of OpenTelemetry nor edt.telemetry.endpoint in your own Git configuration enables it")?;
    let protocol = otlp("PROTOCOL").unwrap_or_else(|| "http/protobuf".to_owned());
    let mut problems = Vec::new();
    if !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme)) {
        problems.push(format!("{} is not an http:// or https:// address", masked(&endpoint)));
    } else if endpoint.starts_with("https") && cfg!(not(feature = "tls")) {
        problems.push("this build of edt has no TLS, which https needs".to_owned());
    }
    if !["http/protobuf", "http/json"].contains(&&*protocol) {
        problems.push(format!("edt supports http/protobuf and http/json, but not {protocol}"));
    }
    let timeout = otlp("TIMEOUT").and_then(|ms| ms.parse().ok()).unwrap_or(10_000);
    let timeout = Duration::from_millis(timeout);
    // `name=value,name=value`, values percent-encoded.
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    let headers = otlp("HEADERS").unwrap_or_default();
    let headers = headers.split(',').filter_map(|pair| pair.split_once('='));
    let headers = headers.map(|(name, value)| (name.trim().to_owned(), decoded(value))).collect();
    Ok(Settings { endpoint, source, headers, protocol, problems, timeout })
}

/// An address without what is before its `@` and after its `?`, because both may be secret.
pub fn masked(url: &str) -> String {
    let Ok(uri) = url.parse::<Uri>() else { return "what is set as the endpoint".to_owned() };
    let scheme = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}{}{port}{}", uri.host().unwrap_or_default(), uri.path())
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
        assert!(of(&[(EXPORTER, "none")], &[(GIT, "http://x")]).is_err());
        assert!(of(&[(EXPORTER, "zipkin"), (ENDPOINT, "http://x")], &[]).is_err());
        assert!(of(&[(EXPORTER, "console, otlp")], &[]).is_ok());
    }

    #[test]
    fn the_endpoint_follows_the_standard() {
        let at = |env: &[(&str, &str)], user_config: &[(&str, &str)]| {
            of(env, user_config).map(|settings| (settings.endpoint, settings.source)).unwrap()
        };
        let (all, exact, git) = (ENDPOINT, TRACES, GIT);
        assert_eq!(at(&[(all, "http://c:1/")], &[]), ("http://c:1/v1/traces".into(), all));
        assert_eq!(at(&[(all, "http://c"), (exact, "http://t/x")], &[]).0, "http://t/x");
        assert_eq!(at(&[(EXPORTER, "otlp")], &[]).0, "http://localhost:4318/v1/traces");
        assert_eq!(at(&[], &[(git, "http://p")]), ("http://p/v1/traces".into(), git));
        assert_eq!(at(&[(all, "http://c")], &[(git, "http://p")]).0, "http://c/v1/traces");
    }

    #[test]
    fn headers_are_decoded_and_addresses_masked() {
        let all = of(
            &[
                (ENDPOINT, "https://u:p@h:1"),
                ("OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=s%20t, x=y=z"),
            ],
            &[],
        );
        let all = all.unwrap();
        let expected = [("Api-Key", "s t"), ("x", "y=z")];
        assert_eq!(all.headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(masked("https://u:p@h:1/v1/traces"), "https://h:1/v1/traces");
        assert_eq!(masked("http://h/v1?key=s"), "http://h/v1");
        assert_eq!(masked("h:4317"), "h:4317");
        assert!(!masked("http://u:secret@ h").contains("secret"));
    }

    #[test]
    fn unsupported_settings_are_reported() {
        let all = of(
            &[
                (ENDPOINT, "c:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ],
            &[],
        );
        let all = all.map(|all| (all.problems.len(), all.protocol, all.timeout.as_secs()));
        assert_eq!(all.unwrap(), (2, "grpc".to_owned(), 10));
        let https = of(&[(ENDPOINT, "https://c")], &[]).map(|all| all.problems).unwrap();
        assert_eq!(https.is_empty(), cfg!(feature = "tls"), "{https:?}");
    }
}
