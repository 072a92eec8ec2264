//! One request to a collector.

use std::sync::LazyLock;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use ureq::Agent;

use super::settings::{Settings, masked};

/// Keeps connections, because a flush sends many lines.
static AGENT: LazyLock<Agent> = LazyLock::new(Agent::new_with_defaults);

/// Why spans were not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SendError {
    /// The collector will never accept them.
    Rejected(String),
    /// They may be sent again.
    Later(String),
}

/// Sends the spans within `limit`, and within the configured time.
pub(crate) fn send(
    settings: &Settings,
    spans: &ExportTraceServiceRequest,
    limit: Duration,
) -> Result<(), SendError> {
    if let Some(problem) = settings.problems.first() {
        return Err(SendError::Later(problem.clone()));
    }
    let (kind, body) = if settings.protocol == "http/json" {
        ("application/json", serde_json::to_vec(spans).unwrap_or_default())
    } else {
        ("application/x-protobuf", spans.encode_to_vec())
    };
    let mut request = AGENT
        .post(&settings.endpoint)
        .config()
        .timeout_global(Some(limit.min(settings.timeout)))
        .http_status_as_error(false)
        // Headers may be secret, so they must not follow a redirect.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("edt/", env!("CARGO_PKG_VERSION")))
        .build()
        .header("content-type", kind);
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let mut answer = request.send(&body[..]).map_err(|error| {
        // The error may include the address with its credentials.
        let error = error.to_string().replace(&settings.endpoint, "the address");
        SendError::Later(format!("{} did not answer: {error}", masked(&settings.endpoint)))
    })?;
    // Only then the connection can be used again.
    let _ = answer.body_mut().read_to_vec();
    let status = answer.status().as_u16();
    let why = format!("the collector answered with status {status}");
    match status {
        200..=299 => Ok(()),
        429 | 502 | 503 | 504 => Err(SendError::Later(why)),
        _ => Err(SendError::Rejected(why)),
    }
}
