//! The span of one call, the spans of its thread below it, and the only tracer of the process.
//!
//! OpenTelemetry's own layer and SDK make spans of those of `tracing`, and batch them on a thread.
//! The call's own span is created when a repository is opened, with the time at which the call
//! began: only then edt knows whether telemetry is on and where the file is.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Link, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Array, Context, ContextGuard, KeyValue, StringValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use serde_json::Value;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;

use super::file::TraceFile;
use super::send::{SendError, send};
use super::settings::{self, Settings};
use edt_io::clock;
use edt_types::trace::{TraceHeaders, names};

/// The time limit of a server's request. A server's end takes three times this at most.
const LIMIT: Duration = Duration::from_secs(1);

static PIPELINE: OnceLock<Option<Pipeline>> = OnceLock::new();

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// The call of this thread.
struct Call {
    name: String,
    request: Option<TraceHeaders>,
    started: SystemTime,
    notes: BTreeMap<&'static str, Value>,
    /// Its span. While the guard exists, new spans of this thread are below it.
    span: Option<(Context, ContextGuard, &'static Pipeline)>,
}

/// Begins a call on this thread. Its span is created by [`repository_opened`]; `request` is present
/// for a request to a server.
pub fn begin(name: String, request: Option<TraceHeaders>) {
    let started = clock::system();
    CALL.set(Some(Call { name, request, started, notes: BTreeMap::new(), span: None }));
}

/// Creates the span of this thread's call, if telemetry is on. The file is below `common_dir`;
/// `user_config` reads the user's Git configuration.
pub fn repository_opened(common_dir: &Path, user_config: &dyn Fn(&str) -> Option<String>) {
    // Not borrowed meanwhile: the filter of spans reads it.
    let Some(mut call) = CALL.take() else { return };
    if call.span.is_none()
        && let Ok(settings) = settings::read(&variable, user_config)
        && let Some(pipeline) = pipeline(common_dir, &settings, call.request.is_some())
        && pipeline.settings == settings
    {
        let context = start_span(&call, pipeline);
        call.span = Some((context.clone(), context.attach(), pipeline));
    }
    CALL.set(Some(call));
}

/// Whether the call of this thread has a span.
pub fn is_on() -> bool {
    CALL.with_borrow(|call| call.as_ref().is_some_and(|call| call.span.is_some()))
}

/// Records an attribute of the call: a text, a number or texts. The attribute [`names::ERROR`]
/// marks the call as failed.
pub fn note(key: &'static str, value: impl Into<Value>) {
    let value = value.into();
    CALL.with_borrow_mut(|call| call.as_mut().map(|call| call.notes.insert(key, value)));
}

/// The environment variables that name the current span as a program's parent; empty if there is no
/// span.
pub fn for_children() -> Vec<(&'static str, String)> {
    let mut headers = HashMap::new();
    if is_on() {
        TraceContextPropagator::new().inject_context(&Context::current(), &mut headers);
    }
    [("TRACEPARENT", "traceparent"), ("TRACESTATE", "tracestate")]
        .into_iter()
        .filter_map(|(variable, header)| Some((variable, headers.remove(header)?)))
        .collect()
}

/// Ends the call of this thread, if any. Failures are ignored.
pub fn end() {
    let Some(Call { notes, span, .. }) = CALL.take() else { return };
    let Some((context, entered, pipeline)) = span else { return };
    let span = context.span();
    if notes.contains_key(names::ERROR) {
        span.set_status(Status::error(""));
    }
    for (key, value) in notes {
        span.set_attribute(KeyValue::new(key, attribute(value)));
    }
    drop(entered);
    span.end();
    if !pipeline.is_live {
        let _ = pipeline.provider.force_flush();
    }
}

/// Sends the last spans of a server. Those that cannot be sent are appended to the file.
pub fn finish_server() {
    if let Some(Some(pipeline)) = PIPELINE.get() {
        let _ = pipeline.provider.shutdown_with_timeout(3 * LIMIT);
    }
}

/// Creates the call's span, with the time at which the call began.
fn start_span(call: &Call, pipeline: &Pipeline) -> Context {
    let tracer = pipeline.provider.tracer(names::SERVICE);
    let kind = if call.request.is_some() { SpanKind::Server } else { SpanKind::Internal };
    let ambient = parent(["TRACEPARENT", "TRACESTATE"].map(variable));
    // If the request has a context, it is the parent, and the context of the process is linked.
    let own = call.request.clone().and_then(parent);
    let link = ambient.clone().filter(|_| own.is_some());
    let remote = |parent| Context::new().with_remote_span_context(parent);
    let above = own.or(ambient).map_or_else(Context::new, remote);
    let span = tracer
        .span_builder(call.name.clone())
        .with_kind(kind)
        .with_start_time(call.started)
        .with_links(link.map(Link::with_context).into_iter().collect())
        .start_with_context(&tracer, &above);
    above.with_span(span)
}

/// The context that `traceparent` and `tracestate` name; `None` if `traceparent` is malformed.
fn parent(headers: TraceHeaders) -> Option<SpanContext> {
    let pairs = std::iter::zip(["traceparent", "tracestate"], headers);
    let headers: HashMap<String, String> =
        pairs.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    let span = context.span().span_context().clone();
    span.is_valid().then_some(span)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn attribute(value: Value) -> opentelemetry::Value {
    match value {
        Value::String(text) => text.into(),
        Value::Number(number) => number.as_i64().unwrap_or(i64::MAX).into(),
        Value::Array(all) => {
            let texts = all.iter().map(|one| one.as_str().unwrap_or_default().to_owned());
            opentelemetry::Value::Array(Array::String(texts.map(StringValue::from).collect()))
        }
        other => other.to_string().into(),
    }
}

/// What the first call with telemetry determines for the process.
struct Pipeline {
    provider: SdkTracerProvider,
    resource: ResourceAttributesWithSchema,
    file: TraceFile,
    settings: Settings,
    /// Whether its spans are sent, and not only written to the file.
    is_live: bool,
}

/// The pipeline; `None` if the embedding program has installed a `tracing` subscriber.
fn pipeline(repo: &Path, settings: &Settings, is_live: bool) -> Option<&'static Pipeline> {
    let new = || {
        let provider = SdkTracerProvider::builder().with_batch_exporter(Exporter).build();
        let layer = tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(names::SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false);
        // Exclude the spans of libraries, and those of calls without telemetry.
        let own = dynamic_filter_fn(|span, _| span.target().starts_with("edt") && is_on());
        let subscriber = tracing_subscriber::registry().with(layer).with(own);
        tracing::subscriber::set_global_default(subscriber).ok()?;
        let resource = ResourceAttributesWithSchema::from(&resource());
        let file = TraceFile::of(repo);
        Some(Pipeline { provider, resource, file, settings: settings.clone(), is_live })
    };
    PIPELINE.get_or_init(new).as_ref()
}

/// The attributes of the process; a later one replaces an earlier one.
fn resource() -> Resource {
    let name = |name: String| KeyValue::new(names::SERVICE_NAME, name);
    Resource::builder_empty()
        .with_attribute(name(names::SERVICE.to_owned()))
        .with_attribute(KeyValue::new(names::SERVICE_VERSION, env!("CARGO_PKG_VERSION")))
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()))
        .with_attributes(variable("OTEL_SERVICE_NAME").filter(|name| !name.is_empty()).map(name))
        .build()
}

#[derive(Debug)]
struct Exporter;

impl SpanExporter for Exporter {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        if let Some(Some(Pipeline { resource, file, settings, is_live, .. })) = PIPELINE.get() {
            let resource_spans = group_spans_by_resource_and_scope(spans, resource);
            let spans = ExportTraceServiceRequest { resource_spans };
            let waits = || matches!(send(settings, &spans, LIMIT), Err(SendError::Later(_)));
            if !is_live || waits() {
                file.append(&spans);
            }
        }
        Ok(())
    }
}
