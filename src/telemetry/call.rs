//! The span of one call, and the spans of its thread while it runs.
//!
//! OpenTelemetry's own layer and SDK export spans of `tracing`. The call's own span is created when
//! a repository is opened, with the time at which the call began: only then edt knows whether
//! telemetry is on and where the spool is.

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Link, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Array, Context, ContextGuard, KeyValue, StringValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span, SpanData, SpanProcessor};
use tracing_subscriber::layer::SubscriberExt as _;

use super::settings::{self, Exporter, Flush, Settings};
use super::{AttributeValue, CallInfo, flush, names, spool};
use edt_io::clock;

/// The maximum number of spans of one call; further spans are counted.
const MAX_SPANS: usize = 2_000;
/// The time limit for sending spans after an answer.
const INLINE_LIMIT: Duration = Duration::from_millis(150);
/// A call that took longer than this sends its spans before it ends, whatever `flush` says.
const LONG_CALL: Duration = Duration::from_secs(5);

thread_local! {
    static CALL: RefCell<Option<State>> = const { RefCell::new(None) };
    static ENDED: RefCell<Vec<SpanData>> = const { RefCell::new(Vec::new()) };
    static LEFT_OUT: Cell<u64> = const { Cell::new(0) };
}

/// The call of this thread.
struct State {
    call: CallInfo,
    started: SystemTime,
    /// The attributes recorded so far; each key occurs once.
    notes: Vec<(&'static str, AttributeValue)>,
    root: Option<CallSpan>,
}

/// The span of a call.
struct CallSpan {
    context: Context,
    /// While this exists, new spans of this thread are children of the call's span.
    entered: ContextGuard,
    directory: PathBuf,
    settings: Settings,
}

/// A running call; dropping it ends the call.
#[derive(Debug)]
#[must_use = "it ends with this value"]
pub(crate) struct Running(());

impl Drop for Running {
    fn drop(&mut self) {
        end();
    }
}

/// Begins a call on this thread. Its span is created by [`repository_opened`].
pub(crate) fn begin(call: CallInfo) -> Running {
    CALL.set(Some(State { call, started: clock::system(), notes: Vec::new(), root: None }));
    Running(())
}

/// Creates the span of this thread's call, if telemetry is on. The spool is below `common_dir`;
/// `user_config` reads the user's Git configuration.
pub(crate) fn repository_opened(common_dir: &Path, user_config: &dyn Fn(&str) -> Option<String>) {
    CALL.with_borrow_mut(|state| {
        let Some(state) = state.as_mut().filter(|state| state.root.is_none()) else { return };
        let Ok(settings) = settings::read(&variable, user_config) else { return };
        let Some(tracer) = tracer() else { return };
        let context = start_span(state, tracer);
        let entered = context.clone().attach();
        state.root =
            Some(CallSpan { context, entered, directory: spool::directory(common_dir), settings });
    });
}

/// Whether the call of this thread has a span.
#[must_use]
pub(crate) fn is_on() -> bool {
    CALL.with_borrow(|state| state.as_ref().is_some_and(|state| state.root.is_some()))
}

/// Whether arguments of calls may be in their spans.
#[must_use]
pub(crate) fn wants_content() -> bool {
    settings::wants_content(&variable)
}

/// Records an attribute of the call. The attribute [`names::ERROR`] marks the call as failed.
pub(crate) fn note(key: &'static str, value: impl Into<AttributeValue>) {
    CALL.with_borrow_mut(|state| {
        let Some(state) = state.as_mut() else { return };
        state.notes.retain(|(known, _)| *known != key);
        state.notes.push((key, value.into()));
    });
}

/// The environment variables that name the current span as a program's parent; empty if there is no
/// span.
#[must_use]
pub(crate) fn for_children() -> Vec<(&'static str, String)> {
    if !is_on() {
        return Vec::new();
    }
    let current = Context::current();
    let span = current.span().span_context().clone();
    let (trace, id, flags) = (span.trace_id(), span.span_id(), span.trace_flags().to_u8());
    let parent =
        Some(("TRACEPARENT", format!("00-{trace}-{id}-{flags:02x}"))).filter(|_| span.is_valid());
    let state =
        Some(("TRACESTATE", span.trace_state().header())).filter(|(_, header)| !header.is_empty());
    parent.into_iter().chain(state).collect()
}

/// Ends the call of this thread, if any, and spools its spans. Failures are ignored.
pub(crate) fn end() {
    let Some(State { started, mut notes, root: Some(root), .. }) = CALL.take() else { return };
    let CallSpan { context, entered, directory, settings } = root;
    let left_out = LEFT_OUT.take();
    notes.extend((left_out > 0).then(|| (names::LEFT_OUT, left_out.into())));
    if notes.iter().any(|(key, _)| *key == names::ERROR) {
        context.span().set_status(Status::error(""));
    }
    for (key, value) in notes {
        context.span().set_attribute(KeyValue::new(key, attribute(value)));
    }
    drop(entered);
    context.span().end();
    let spans = ENDED.take();
    if spans.is_empty() {
        return;
    }
    let line = line(spans, settings.longest);
    if settings.exporter == Exporter::Console {
        let _ = std::io::stderr().lock().write_all(&[&line[..], b"\n"].concat());
        return;
    }
    if spool::append(&directory, &line).is_err() || flush::notify_flusher(&directory, &settings) {
        return;
    }
    let took = clock::system().duration_since(started).unwrap_or_default();
    if settings.flush == Flush::Inline || took > LONG_CALL {
        let _ = flush::flush(&directory, &settings, INLINE_LIMIT);
    }
}

/// Creates the call's span, with the time at which the call began.
fn start_span(state: &State, tracer: &SdkTracer) -> Context {
    let CallInfo { command, request } = &state.call;
    let ambient = parent(variable("TRACEPARENT"), variable("TRACESTATE"));
    let asked =
        request.as_ref().and_then(|request| parent(request.parent.clone(), request.state.clone()));
    let tool = request.is_some() || names::TOOLS.contains(&command.as_str());
    let name = match (request, tool) {
        (Some(_), _) => format!("{} {command}", names::TOOLS_CALL),
        (None, true) => format!("{} {command}", names::EXECUTE_TOOL),
        (None, false) => format!("{} {command}", names::SERVICE),
    };
    let mut all = vec![KeyValue::new(names::COMMAND, command.clone())];
    all.push(KeyValue::new(names::PID, i64::from(clock::process_id())));
    if tool {
        all.push(KeyValue::new(names::OPERATION, names::EXECUTE_TOOL));
        all.push(KeyValue::new(names::TOOL, command.clone()));
        all.push(KeyValue::new(names::TOOL_TYPE, "function"));
    }
    if let Some(request) = request {
        all.push(KeyValue::new(names::MCP_METHOD, names::TOOLS_CALL));
        all.push(KeyValue::new(names::REQUEST_ID, request.id.clone()));
        all.push(KeyValue::new(names::TRANSPORT, "pipe"));
        all.extend(
            request.version.clone().map(|version| KeyValue::new(names::MCP_VERSION, version)),
        );
        all.extend(request.call.clone().map(|call| KeyValue::new(names::TOOL_CALL, call)));
    }
    let kind = if request.is_some() { SpanKind::Server } else { SpanKind::Internal };
    let builder = tracer
        .span_builder(name)
        .with_kind(kind)
        .with_start_time(state.started)
        .with_attributes(all);
    // If the request has a context, it is the parent, and the context of the process is linked.
    let (from, link) = if asked.is_some() { (asked, ambient) } else { (ambient, None) };
    let builder = builder.with_links(link.map(Link::with_context).into_iter().collect());
    let above =
        from.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
    let span = builder.start_with_context(tracer, &above);
    above.with_span(span)
}

/// The context that `traceparent` and `tracestate` name; `None` if `traceparent` is malformed.
fn parent(traceparent: Option<String>, tracestate: Option<String>) -> Option<SpanContext> {
    let traceparent =
        traceparent.map(|text| text.trim().to_owned()).filter(|text| is_well_formed(text))?;
    let mut headers = std::collections::HashMap::from([("traceparent".to_owned(), traceparent)]);
    headers.extend(tracestate.map(|state| ("tracestate".to_owned(), state)));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    let span = context.span().span_context().clone();
    span.is_valid().then_some(span)
}

/// Whether `text` is `version-trace-parent-flags` in lower-case hexadecimal digits of the right
/// lengths. Only versions after 00 may have further parts.
fn is_well_formed(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let known = parts.len() >= 4
        && parts.iter().zip([2, 32, 16, 2]).all(|(part, len)| part.len() == len && hex(part));
    known && parts[0] != "ff" && (parts[0] != "00" || parts.len() == 4)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn attribute(value: AttributeValue) -> opentelemetry::Value {
    match value {
        AttributeValue::Text(text) => text.into(),
        AttributeValue::Number(number) => number.into(),
        AttributeValue::Texts(texts) => opentelemetry::Value::Array(Array::String(
            texts.into_iter().map(StringValue::from).collect(),
        )),
    }
}

/// The only tracer of this process; `None` if the embedding program has installed a `tracing`
/// subscriber.
fn tracer() -> Option<&'static SdkTracer> {
    static TRACER: OnceLock<Option<SdkTracer>> = OnceLock::new();
    TRACER
        .get_or_init(|| {
            let provider = SdkTracerProvider::builder()
                .with_resource(resource().clone())
                .with_span_processor(ThreadSpans);
            let tracer = provider.build().tracer(names::SERVICE);
            let layer = tracing_opentelemetry::layer()
                .with_tracer(tracer.clone())
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_level(false)
                .with_tracked_inactivity(false);
            // Exclude the spans of libraries.
            let own =
                |meta: &tracing::Metadata<'_>| meta.is_span() && meta.target().starts_with("edt");
            let all = tracing_subscriber::registry()
                .with(tracing_subscriber::filter::filter_fn(own))
                .with(layer);
            tracing::subscriber::set_global_default(all).ok().map(|()| tracer)
        })
        .as_ref()
}

/// The attributes of the process. The standard's variables take precedence.
fn resource() -> &'static Resource {
    static RESOURCE: OnceLock<Resource> = OnceLock::new();
    RESOURCE.get_or_init(|| {
        let own = |key: &str| {
            let said = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
            said.split(',')
                .any(|pair| pair.split('=').next().is_some_and(|name| name.trim() == key))
        };
        let mut builder = Resource::builder();
        if variable("OTEL_SERVICE_NAME").is_none_or(|name| name.is_empty())
            && !own(names::SERVICE_NAME)
        {
            builder = builder.with_attribute(KeyValue::new(names::SERVICE_NAME, names::SERVICE));
        }
        if !own(names::SERVICE_VERSION) {
            builder = builder
                .with_attribute(KeyValue::new(names::SERVICE_VERSION, env!("CARGO_PKG_VERSION")));
        }
        builder.build()
    })
}

/// Collects the spans that end on a thread during its call.
#[derive(Debug)]
struct ThreadSpans;

impl SpanProcessor for ThreadSpans {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let _ = ENDED.try_with(|ended| {
            let Ok(mut ended) = ended.try_borrow_mut() else { return };
            // The call's own span ends last and is always collected.
            if ended.len() < MAX_SPANS || !CALL.with(|call| call.borrow().is_some()) {
                ended.push(span);
            } else {
                LEFT_OUT.set(LEFT_OUT.get() + 1);
            }
        });
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// The spans as one line of OTLP JSON.
fn line(spans: Vec<SpanData>, longest: Option<usize>) -> Vec<u8> {
    let about = ResourceAttributesWithSchema::from(resource());
    let mut request = ExportTraceServiceRequest {
        resource_spans: group_spans_by_resource_and_scope(spans, &about),
    };
    if let Some(longest) = longest {
        let scopes =
            request.resource_spans.iter_mut().flat_map(|resource| &mut resource.scope_spans);
        let spans = scopes.flat_map(|scope| &mut scope.spans);
        spans
            .flat_map(|span| &mut span.attributes)
            .filter_map(|pair| pair.value.as_mut())
            .for_each(|value| cut(value, longest));
    }
    serde_json::to_vec(&request).unwrap_or_default()
}

/// Truncates texts to `longest` characters.
fn cut(value: &mut AnyValue, longest: usize) {
    match &mut value.value {
        Some(any_value::Value::StringValue(text)) => {
            if let Some((at, _)) = text.char_indices().nth(longest) {
                text.truncate(at);
            }
        }
        Some(any_value::Value::ArrayValue(array)) => {
            array.values.iter_mut().for_each(|value| cut(value, longest));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_trace_parents_are_ignored() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        let known = |text: &str| parent(Some(text.to_owned()), None).is_some();
        assert!(known(&format!("00-{trace}-01")) && known(&format!(" 00-{trace}-00 ")));
        assert!(
            known(&format!("cc-{trace}-01-what-comes-later")),
            "a later version may have further parts"
        );
        for bad in [
            "",
            "00",
            &format!("ff-{trace}-01"),
            &format!("00-{trace}-01-more"),
            &format!("00-{trace}-1"),
            &format!("+0-{trace}-01"),
            &format!("00-{}-01", trace.to_uppercase()),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert!(!known(bad), "{bad}");
        }
        let with =
            |state: &str| parent(Some(format!("00-{trace}-01")), Some(state.to_owned())).unwrap();
        assert_eq!(with("a=1,b=2").trace_state().header(), "a=1,b=2");
        assert_eq!(
            with("no state at all").trace_state().header(),
            "",
            "a malformed state is ignored, the parent is used"
        );
    }
}
