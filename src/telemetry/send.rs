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

/// The longest answer that is read, in bytes.
const MOST_ANSWER: u64 = 64 << 10;

/// The longest pause that a collector may ask for: what is longer is not worth remembering.
const MOST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    /// The collector has it, but for so many spans that it did not want.
    Taken(u64),
    /// It was not taken and may be sent again, not before this is over if the collector said so.
    Later(Option<Duration>, String),
    /// Nobody answered.
    Nobody(String),
    /// It will never be taken.
    Refused(String),
}

/// Sends `spans` within `limit`.
pub(super) fn send(
    settings: &Settings,
    spans: &ExportTraceServiceRequest,
    limit: Duration,
) -> Sent {
    let (body, kind) = match settings.protocol {
        Protocol::Json => (serde_json::to_vec(spans).unwrap_or_default(), "application/json"),
        Protocol::Protobuf => (spans.encode_to_vec(), "application/x-protobuf"),
        Protocol::Grpc => {
            return Sent::Nobody(
                "grpc is not spoken; set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf".to_owned(),
            );
        }
    };
    let config = Agent::config_builder()
        .timeout_global(Some(limit.min(settings.timeout)))
        .http_status_as_error(false)
        // Headers are for this address and no other.
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
    // An error may repeat the address, with what stands before its @.
    let hidden = |text: String| text.replace(&settings.endpoint, &masked(&settings.endpoint));
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return Sent::Nobody(hidden(format!(
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
    if let Some(judged) = judged(status, after) {
        return judged;
    }
    let bytes =
        answer.body_mut().with_config().limit(MOST_ANSWER).read_to_vec().unwrap_or_default();
    Sent::Taken(match settings.protocol {
        Protocol::Protobuf => {
            let said = ExportTraceServiceResponse::decode(&bytes[..])
                .ok()
                .and_then(|said| said.partial_success);
            said.and_then(|partial| u64::try_from(partial.rejected_spans).ok()).unwrap_or_default()
        }
        _ => rejected(&serde_json::from_slice(&bytes).unwrap_or_default()),
    })
}

/// How many spans an answer in JSON did not want. The JSON of Protocol Buffers writes a number of 64 bits as a string, reads it as either,
/// and knows each field by two names.
fn rejected(said: &Value) -> u64 {
    let either = |value: &Value, one: &str, other: &str| {
        value.get(one).or_else(|| value.get(other)).cloned()
    };
    let partial = either(said, "partialSuccess", "partial_success").unwrap_or_default();
    match either(&partial, "rejectedSpans", "rejected_spans") {
        Some(Value::String(digits)) => digits.parse().unwrap_or_default(),
        Some(number) => number.as_u64().unwrap_or_default(),
        None => 0,
    }
}

/// What a status means by the rules of OTLP over HTTP; nothing if the request was taken.
fn judged(status: u16, after: Option<u64>) -> Option<Sent> {
    let why = format!("the collector answered with status {status}");
    match status {
        200..=299 => None,
        429 | 502 | 503 | 504 => {
            Some(Sent::Later(after.map(|after| Duration::from_secs(after).min(MOST_PAUSE)), why))
        }
        _ => Some(Sent::Refused(why)),
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
    fn a_status_means_what_the_standard_says() {
        let later = |status, after| matches!(judged(status, after), Some(Sent::Later(..)));
        assert!(judged(200, None).is_none() && judged(202, None).is_none());
        assert!([429, 502, 503, 504].into_iter().all(|status| later(status, None)));
        assert!(
            matches!(judged(503, Some(7)), Some(Sent::Later(Some(wait), _)) if wait.as_secs() == 7)
        );
        assert!(matches!(judged(503, Some(u64::MAX)), Some(Sent::Later(Some(MOST_PAUSE), _))));
        for status in [301, 400, 401, 404, 413, 500, 501] {
            assert!(matches!(judged(status, Some(7)), Some(Sent::Refused(_))), "{status}");
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
