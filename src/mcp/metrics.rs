//! Counters of a server's calls as text in the format `OpenMetrics`, for a scraper on this machine.
//!
//! Nothing is counted and no port is open unless `edt mcp --metrics` asks for it.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::sync::Semaphore;

/// The most connections at a time; a further one waits.
const MAX_OPEN: usize = 8;
/// The longest time that a connection may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The media type of the text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    tool: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolLabels {
    tool: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabels {
    code: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModeLabels {
    mode: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SessionLabels {
    session: String,
}

/// The counters of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    refusals: Family<CodeLabels, Counter>,
    edits: Family<ModeLabels, Counter>,
    durations: Family<ToolLabels, Histogram>,
    remaining: Family<SessionLabels, Gauge>,
}

/// A call that was answered.
#[derive(Debug)]
pub(crate) struct AnsweredCall<'a> {
    pub tool: &'static str,
    pub status: &'static str,
    pub duration: Duration,
    /// The codes of the refusal.
    pub codes: Vec<&'a str>,
    /// The modes of the edits that landed.
    pub modes: Vec<&'a str>,
    /// The session, and how many edits it may still have.
    pub remaining: Option<(&'a str, u64)>,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("edt");
        let calls = Family::default();
        registry.register("calls", "Calls by tool and status", calls.clone());
        let refusals = Family::default();
        registry.register("refusals", "Refused calls by code", refusals.clone());
        let edits = Family::default();
        registry.register("edits", "Calls that landed edits, by mode", edits.clone());
        let durations = Family::<ToolLabels, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.001, 2.0, 15))
        });
        registry.register("call_duration_seconds", "Time from call to answer", durations.clone());
        let remaining = Family::default();
        registry.register(
            "session_remaining_edits",
            "Edits that the session may still have, if policy sets a number",
            remaining.clone(),
        );
        Metrics { registry, calls, refusals, edits, durations, remaining }
    }

    pub(crate) fn count(&self, call: &AnsweredCall<'_>) {
        let AnsweredCall { tool, status, .. } = *call;
        self.calls.get_or_create(&CallLabels { tool, status }).inc();
        self.durations.get_or_create(&ToolLabels { tool }).observe(call.duration.as_secs_f64());
        for code in &call.codes {
            self.refusals.get_or_create(&CodeLabels { code: (*code).to_owned() }).inc();
        }
        for mode in &call.modes {
            self.edits.get_or_create(&ModeLabels { mode: (*mode).to_owned() }).inc();
        }
        if let Some((session, left)) = call.remaining {
            let labels = SessionLabels { session: session.to_owned() };
            let left = i64::try_from(left).unwrap_or(i64::MAX);
            self.remaining.get_or_create(&labels).set(left);
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a text does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Listens at `address`.
///
/// # Errors
/// The system's error.
pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers requests until the runtime ends.
///
/// # Errors
/// The system's error if the listener cannot be used.
pub(super) async fn serve(listener: TcpListener, metrics: Arc<Metrics>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let open = Arc::new(Semaphore::new(MAX_OPEN));
    loop {
        let Ok(permit) = Arc::clone(&open).acquire_owned().await else { return Ok(()) };
        let Ok((stream, _)) = listener.accept().await else {
            // There may be no further file descriptor.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let answers = service_fn(|request: Request<Incoming>| {
                std::future::ready(Ok::<_, Infallible>(answer(&metrics, &request)))
            });
            let served = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answers);
            // A client that sends nothing is left after a while.
            let _ = tokio::time::timeout(LIMIT, served).await;
            drop(permit);
        });
    }
}

fn answer(metrics: &Metrics, request: &Request<Incoming>) -> Response<String> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let (status, text) = if !host.is_none_or(is_local) {
        // A page that a browser shows may reach this port by a name of its own.
        (StatusCode::FORBIDDEN, "Only this machine is answered.\n".to_owned())
    } else if request.uri().path() != "/metrics" {
        (StatusCode::NOT_FOUND, "The path is /metrics.\n".to_owned())
    } else if request.method() != Method::GET {
        (StatusCode::METHOD_NOT_ALLOWED, "The method is GET.\n".to_owned())
    } else {
        (StatusCode::OK, metrics.text())
    };
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let kind = if status == StatusCode::OK { OPEN_METRICS } else { "text/plain; charset=utf-8" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whether `host`, as a client sent it, is this machine by a name that no server of names gives.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(
        host,
        |(name, port)| {
            if port.ends_with(']') { host } else { name }
        },
    );
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || address.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_counted_by_tool_status_code_and_mode() {
        let metrics = Metrics::new();
        let call = |status, codes, modes| AnsweredCall {
            tool: "apply",
            status,
            duration: Duration::from_millis(3),
            codes,
            modes,
            remaining: Some(("fix", 4)),
        };
        metrics.count(&call("applied", vec![], vec!["edit", "append"]));
        metrics.count(&call("applied", vec![], vec!["edit"]));
        metrics.count(&call("refused", vec!["SECRET"], vec![]));
        let text = metrics.text();
        for line in [
            "edt_calls_total{tool=\"apply\",status=\"applied\"} 2",
            "edt_calls_total{tool=\"apply\",status=\"refused\"} 1",
            "edt_refusals_total{code=\"SECRET\"} 1",
            "edt_edits_total{mode=\"edit\"} 2",
            "edt_edits_total{mode=\"append\"} 1",
            "edt_call_duration_seconds_count{tool=\"apply\"} 3",
            "edt_session_remaining_edits{session=\"fix\"} 4",
            "# EOF",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["localhost", "localhost:9464", "127.0.0.1:1", "[::1]:9464", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["example.org:9464", "10.0.0.1", "localhost.example.org", ""] {
            assert!(!is_local(host), "{host}");
        }
    }
}
