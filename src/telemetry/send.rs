//! One request to a collector.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;
use serde_json::Value;
use ureq::Agent;

use super::settings::{Protocol, Settings, masked};

/// The largest response that is read, in bytes.
const MAX_ANSWER: u64 = 64 << 10;

/// The longest pause that a collector may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SendResult {
    /// Accepted, except for this many rejected spans.
    Accepted(u64),
    /// Not accepted; it may be sent again, after the pause if the collector named one.
    Retry(Option<Duration>, String),
    /// No collector answered.
    Unreachable(String),
    /// Rejected for good.
    Rejected(String),
}

/// Sends `spans` within `limit`, and within the configured timeout.
pub(super) fn send(
    settings: &Settings,
    spans: &ExportTraceServiceRequest,
    limit: Duration,
) -> SendResult {
    let (body, kind) = match settings.protocol {
        Protocol::Json => (serde_json::to_vec(spans).unwrap_or_default(), "application/json"),
        Protocol::Protobuf => (spans.encode_to_vec(), "application/x-protobuf"),
        Protocol::Grpc => {
            return SendResult::Unreachable(
                "edt does not support grpc; set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf"
                    .to_owned(),
            );
        }
    };
    let config = Agent::config_builder()
        .timeout_global(Some(limit.min(settings.timeout)))
        .http_status_as_error(false)
        // Headers may be secret, so they must not follow a redirect.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("edt/", env!("CARGO_PKG_VERSION")));
    let agent = Agent::new_with_config(config.build());
    let mut request = agent.post(&settings.endpoint).header("content-type", kind);
    for (name, value) in settings.headers.iter() {
        request = request.header(name, value);
    }
    let packed = if settings.gzip { zipped(&body) } else { None };
    let answer = match &packed {
        Some(packed) => request.header("content-encoding", "gzip").send(&packed[..]),
        None => request.send(&body[..]),
    };
    // An error may include the address with its credentials.
    let hidden = |text: String| text.replace(&settings.endpoint, &masked(&settings.endpoint));
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return SendResult::Unreachable(hidden(format!(
                "{} did not answer: {error}",
                masked(&settings.endpoint)
            )));
        }
    };
    let status = answer.status().as_u16();
    let after = answer
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.trim().parse().ok());
    if let Some(classify) = classify(status, after) {
        return classify;
    }
    let bytes = answer.body_mut().with_config().limit(MAX_ANSWER).read_to_vec().unwrap_or_default();
    SendResult::Accepted(match settings.protocol {
        Protocol::Protobuf => {
            let response = ExportTraceServiceResponse::decode(&bytes[..])
                .ok()
                .and_then(|response| response.partial_success);
            response
                .and_then(|partial| u64::try_from(partial.rejected_spans).ok())
                .unwrap_or_default()
        }
        _ => rejected(&serde_json::from_slice(&bytes).unwrap_or_default()),
    })
}

/// The number of rejected spans in a JSON response. The JSON form of Protocol Buffers writes a
/// 64-bit number as a string or a number, and gives each field two names.
fn rejected(response: &Value) -> u64 {
    let either = |value: &Value, one: &str, other: &str| {
        value.get(one).or_else(|| value.get(other)).cloned()
    };
    let partial = either(response, "partialSuccess", "partial_success").unwrap_or_default();
    match either(&partial, "rejectedSpans", "rejected_spans") {
        Some(Value::String(digits)) => digits.parse().unwrap_or_default(),
        Some(number) => number.as_u64().unwrap_or_default(),
        None => 0,
    }
}

/// The meaning of an HTTP status by the rules of OTLP; `None` if the request was accepted.
fn classify(status: u16, after: Option<u64>) -> Option<SendResult> {
    let why = format!("the collector answered with status {status}");
    match status {
        200..=299 => None,
        429 | 502 | 503 | 504 => Some(SendResult::Retry(
            after.map(|after| Duration::from_secs(after).min(MAX_PAUSE)),
            why,
        )),
        _ => Some(SendResult::Rejected(why)),
    }
}

fn zipped(body: &[u8]) -> Option<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(body).ok()?;
    gzip.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_follow_the_otlp_standard() {
        let later = |status, after| matches!(classify(status, after), Some(SendResult::Retry(..)));
        assert!(classify(200, None).is_none() && classify(202, None).is_none());
        assert!([429, 502, 503, 504].into_iter().all(|status| later(status, None)));
        assert!(
            matches!(classify(503, Some(7)), Some(SendResult::Retry(Some(wait), _)) if wait.as_secs() == 7)
        );
        assert!(matches!(
            classify(503, Some(u64::MAX)),
            Some(SendResult::Retry(Some(MAX_PAUSE), _))
        ));
        for status in [301, 400, 401, 404, 413, 500, 501] {
            assert!(matches!(classify(status, Some(7)), Some(SendResult::Rejected(_))), "{status}");
        }
    }

    #[test]
    fn a_partial_success_counts_in_every_form_of_json() {
        let of = |text: &str| rejected(&serde_json::from_str(text).unwrap());
        assert_eq!(of(r#"{"partialSuccess":{"rejectedSpans":"2"}}"#), 2, "proto3's own form");
        assert_eq!(of(r#"{"partialSuccess":{"rejectedSpans":2,"errorMessage":"x"}}"#), 2);
        assert_eq!(of(r#"{"partial_success":{"rejected_spans":"3"}}"#), 3);
        assert_eq!(
            (of("{}"), of("[]"), of(r#"{"partialSuccess":{"rejectedSpans":"-1"}}"#)),
            (0, 0, 0)
        );
    }
}
