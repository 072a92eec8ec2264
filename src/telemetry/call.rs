//! The span of one call, and the thread's spans while it runs.
//!
//! Spans of `tracing` become spans of OpenTelemetry by its own layer and SDK; the call's own span is made when a repository is opened, with
//! the time at which the call began, because only then it is known whether the person wants it and where it can wait.

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
use super::{Call, Value, flush, names, spool};
use crate::io::clock;

/// Most spans of one call; further ones are counted.
const MOST_SPANS: usize = 2_000;
/// What is sent after an answer is sent within this.
const INLINE: Duration = Duration::from_millis(150);
/// Whoever waited for a call as long as this waits for its spans, too.
const LONG: Duration = Duration::from_secs(5);

thread_local! {
    static CALL: RefCell<Option<State>> = const { RefCell::new(None) };
    static ENDED: RefCell<Vec<SpanData>> = const { RefCell::new(Vec::new()) };
    static LEFT_OUT: Cell<u64> = const { Cell::new(0) };
}

/// The call of this thread.
struct State {
    call: Call,
    started: SystemTime,
    /// What was noted; of each key the last.
    notes: Vec<(&'static str, Value)>,
    root: Option<Root>,
}

/// Its span.
struct Root {
    context: Context,
    /// While it lives, spans of this thread stand in that span.
    entered: ContextGuard,
    folder: PathBuf,
    settings: Settings,
}

/// A call that runs; it ends with this value.
#[derive(Debug)]
#[must_use = "it ends with this value"]
pub struct Running(());

impl Drop for Running {
    fn drop(&mut self) {
        end();
    }
}

/// A call begins on this thread. Nothing is made of it before [`arrived`].
pub fn begin(call: Call) -> Running {
    CALL.set(Some(State { call, started: clock::system(), notes: Vec::new(), root: None }));
    Running(())
}

/// The call of this thread has come to a repository, whose `common_dir` has the place for a spool; `person` tells the person's own
/// configuration.
pub fn arrived(common_dir: &Path, person: &dyn Fn(&str) -> Option<String>) {
    CALL.with_borrow_mut(|state| {
        let Some(state) = state.as_mut().filter(|state| state.root.is_none()) else { return };
        let Ok(settings) = settings::read(&variable, person) else { return };
        let Some(tracer) = tracer() else { return };
        let context = rooted(state, tracer);
        let entered = context.clone().attach();
        state.root = Some(Root { context, entered, folder: spool::folder(common_dir), settings });
    });
}

/// Whether the call of this thread has a span.
#[must_use]
pub fn is_on() -> bool {
    CALL.with_borrow(|state| state.as_ref().is_some_and(|state| state.root.is_some()))
}

/// Whether arguments of calls may be in their spans.
#[must_use]
pub fn wants_content() -> bool {
    settings::wants_content(&variable)
}

/// Notes an attribute of the call; an [error](names::ERROR) makes it a failed one.
pub fn note(key: &'static str, value: impl Into<Value>) {
    CALL.with_borrow_mut(|state| {
        let Some(state) = state.as_mut() else { return };
        state.notes.retain(|(known, _)| *known != key);
        state.notes.push((key, value.into()));
    });
}

/// The variables that tell a program which span it belongs to; none if there is no span.
#[must_use]
pub fn for_children() -> Vec<(&'static str, String)> {
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

/// Ends the call of this thread, if one runs: its spans go where they wait. Nothing of this can fail an answer.
pub fn end() {
    let Some(State { started, mut notes, root: Some(root), .. }) = CALL.take() else { return };
    let Root { context, entered, folder, settings } = root;
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
    if spool::append(&folder, &line).is_err() || flush::told(&folder, &settings) {
        return;
    }
    let took = clock::system().duration_since(started).unwrap_or_default();
    if settings.flush == Flush::Inline || took > LONG {
        let _ = flush::flush(&folder, &settings, INLINE);
    }
}

/// The call's span, begun when the call was.
fn rooted(state: &State, tracer: &SdkTracer) -> Context {
    let Call { command, request } = &state.call;
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
    // The request's own context is the parent; that of the process is then linked.
    let (from, link) = if asked.is_some() { (asked, ambient) } else { (ambient, None) };
    let builder = builder.with_links(link.map(Link::with_context).into_iter().collect());
    let above =
        from.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
    let span = builder.start_with_context(tracer, &above);
    above.with_span(span)
}

/// The context that `traceparent` and `tracestate` name; none if the first is not as the W3C has it.
fn parent(traceparent: Option<String>, tracestate: Option<String>) -> Option<SpanContext> {
    let traceparent =
        traceparent.map(|text| text.trim().to_owned()).filter(|text| is_well_formed(text))?;
    let mut headers = std::collections::HashMap::from([("traceparent".to_owned(), traceparent)]);
    headers.extend(tracestate.map(|state| ("tracestate".to_owned(), state)));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    let span = context.span().span_context().clone();
    span.is_valid().then_some(span)
}

/// `version-trace-parent-flags` in small hexadecimal digits of the right lengths; only later versions may go on.
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

fn attribute(value: Value) -> opentelemetry::Value {
    match value {
        Value::Text(text) => text.into(),
        Value::Number(number) => number.into(),
        Value::Texts(texts) => opentelemetry::Value::Array(Array::String(
            texts.into_iter().map(StringValue::from).collect(),
        )),
    }
}

/// The one tracer of this process; none if the program that embeds edt has a subscriber of its own.
fn tracer() -> Option<&'static SdkTracer> {
    static TRACER: OnceLock<Option<SdkTracer>> = OnceLock::new();
    TRACER
        .get_or_init(|| {
            let provider = SdkTracerProvider::builder()
                .with_resource(resource().clone())
                .with_span_processor(Kept);
            let tracer = provider.build().tracer(names::SERVICE);
            let layer = tracing_opentelemetry::layer()
                .with_tracer(tracer.clone())
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_level(false)
                .with_tracked_inactivity(false);
            // Libraries trace, too: only edt's own spans are edt's.
            let own =
                |meta: &tracing::Metadata<'_>| meta.is_span() && meta.target().starts_with("edt::");
            let all = tracing_subscriber::registry()
                .with(tracing_subscriber::filter::filter_fn(own))
                .with(layer);
            tracing::subscriber::set_global_default(all).ok().map(|()| tracer)
        })
        .as_ref()
}

/// What is said of the process: the standard's variables first.
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

/// Keeps the spans that end on this thread while a call of it has one.
#[derive(Debug)]
struct Kept;

impl SpanProcessor for Kept {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let _ = ENDED.try_with(|ended| {
            let Ok(mut ended) = ended.try_borrow_mut() else { return };
            // The call's own span, which ends last, always has its place.
            if ended.len() < MOST_SPANS || !CALL.with(|call| call.borrow().is_some()) {
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

/// Texts have no more than `longest` characters from now on.
fn cut(value: &mut AnyValue, longest: usize) {
    match &mut value.value {
        Some(any_value::Value::StringValue(text)) => {
            if let Some((at, _)) = text.char_indices().nth(longest) {
                text.truncate(at);
            }
        }
        Some(any_value::Value::ArrayValue(array)) => {
            array.values.iter_mut().for_each(|value| cut(value, longest))
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_as_the_w3c_has_it_or_ignored() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
        let known = |text: &str| parent(Some(text.to_owned()), None).is_some();
        assert!(known(&format!("00-{trace}-01")) && known(&format!(" 00-{trace}-00 ")));
        assert!(known(&format!("cc-{trace}-01-what-comes-later")), "a later version may go on");
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
            "a bad state goes, the parent stays"
        );
    }
}
