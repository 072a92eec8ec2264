//! `edt telemetry`: shows the spans that wait in the file and sends them to a collector.

#![cfg_attr(
    not(feature = "otel"),
    allow(dead_code, unused_imports, reason = "without telemetry only the schemas are used")
)]

use std::fmt::Write as _;
use std::time::Duration;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use edt_git::Repo;
#[cfg(feature = "otel")]
use edt_telemetry::{Flushed, Settings, TraceFile, masked};
use edt_types::text::{counted, escape_controls};
use edt_types::trace::names;
use edt_types::{Code, Finding, Result, Status};

/// The longest time limit of a flush, in seconds.
const MAX_FLUSH: u64 = 60 * 60;

/// Show and send the spans for an OpenTelemetry collector.
///
/// Telemetry is off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or another variable of OpenTelemetry), or
/// edt.telemetry.endpoint in your own Git configuration, enables it. No answer waits for a
/// collector: `edt mcp` sends its spans from a thread, and those of other calls wait in a file that
/// collectors can read and `edt telemetry flush` sends. A default build of edt has no telemetry.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  git config --global edt.telemetry.endpoint http://localhost:4318\n  edt telemetry status\n  edt telemetry flush --timeout 5"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: TelemetryCommand,
}

#[derive(Debug, Subcommand)]
enum TelemetryCommand {
    /// Show whether telemetry is on and why, where spans are sent, and how many wait.
    Status,
    /// Send the waiting spans, and wait until they are sent.
    Flush {
        /// The time limit in seconds; at most 3600.
        #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
        timeout: f64,
    },
    /// Show the waiting spans, the oldest call first.
    Show {
        /// Show only the newest N lines of the file. A call of the command line is one line.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        number: usize,
    },
}

/// The answer of `edt telemetry status` and `flush`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.telemetry/1`.
    schema: &'static str,
    /// Whether spans are recorded.
    on: bool,
    /// The setting that enables it, or why it is off.
    reason: String,
    /// Where spans are sent, without the parts that may be secret.
    endpoint: Option<String>,
    /// `http/protobuf`, `http/json`, or one that edt does not support.
    protocol: Option<String>,
    /// The names of additional headers. Their values are never shown.
    headers: Vec<String>,
    /// Why spans cannot be sent: settings that this build of edt does not support.
    problems: Vec<String>,
    /// The waiting spans.
    spool: Spool,
    /// The result of this call; null for `status`.
    flushed: Option<FlushCounts>,
}

/// The waiting spans.
#[derive(Debug, Serialize, JsonSchema)]
struct Spool {
    /// The directory.
    directory: String,
    /// Bytes of its files.
    bytes: u64,
    /// Spans in them.
    spans: u64,
}

/// The result of a flush.
#[derive(Debug, Serialize, JsonSchema)]
struct FlushCounts {
    /// Spans that the collector accepted.
    sent: u64,
    /// Lines that could not be read: lost.
    unreadable: u64,
}

/// The answer of `edt telemetry show`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    /// Always `edt.telemetry-spans/1`.
    schema: &'static str,
    /// The spans of the lines shown.
    spans: Vec<Span>,
    /// The number of waiting calls, including those that are not shown.
    calls: u64,
}

/// A span.
#[derive(Debug, Serialize, JsonSchema)]
struct Span {
    /// The trace, as hex.
    trace: String,
    /// Its id, as hex.
    id: String,
    /// The parent span; null for the root of a trace.
    parent: Option<String>,
    /// Its name.
    name: String,
    /// When it began, in nanoseconds since 1970.
    start: u64,
    /// How long it took, in microseconds.
    duration_us: u64,
    /// Whether it failed.
    failed: bool,
    /// Its attributes.
    attributes: Map<String, Value>,
}

impl Args {
    #[cfg(not(feature = "otel"))]
    #[expect(clippy::unused_self, reason = "the arguments are checked")]
    pub(super) fn run(&self, _: &Context) -> Result<Status> {
        let message = "This build of edt has no telemetry.";
        let hint = "Build edt with it: `cargo install --path . --features otel`.";
        Err(Finding::new(Code::TelemetryNotSent, message, hint).into())
    }

    #[cfg(feature = "otel")]
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let file = TraceFile::of(repo.common_dir());
        match &self.command {
            TelemetryCommand::Status => {
                Ok(context.answer(&Answer::of(&repo, &file, None), Answer::render_human))
            }
            TelemetryCommand::Flush { timeout } => flushed(context, &repo, &file, *timeout),
            TelemetryCommand::Show { number } => {
                Ok(context.answer(&Shown::of(&file.lines(), *number), Shown::render_human))
            }
        }
    }
}

#[cfg(feature = "otel")]
fn settings_of(repo: &Repo) -> std::result::Result<Settings, &'static str> {
    edt_telemetry::read(&|name| std::env::var(name).ok(), &|key| repo.user_config(key))
}

#[cfg(feature = "otel")]
fn flushed(context: &Context, repo: &Repo, file: &TraceFile, timeout: f64) -> Result<Status> {
    let limit = Duration::try_from_secs_f64(timeout)
        .ok()
        .filter(|limit| *limit <= Duration::from_secs(MAX_FLUSH))
        .ok_or_else(|| {
            let message =
                format!("--timeout is {timeout}; it must be from 0 to {MAX_FLUSH} seconds.");
            Finding::new(
                Code::BadRequest,
                message,
                "Send a number of seconds, such as --timeout 5.",
            )
        })?;
    let not_sent = |why: &str, hint: &str| {
        let left = Shown::of(&file.lines(), usize::MAX).spans.len();
        let wait = if left == 1 { "waits" } else { "wait" };
        let message = format!("{} {wait}: {why}.", counted(left as u64, "span"));
        Finding::new(Code::TelemetryNotSent, message, hint).with("spans", left)
    };
    let mut done = Flushed::default();
    if !file.lines().is_empty() {
        let settings = settings_of(repo).map_err(|why| {
            not_sent(why, "Set OTEL_EXPORTER_OTLP_ENDPOINT, or `git config --global edt.telemetry.endpoint URL`, then repeat the call.")
        })?;
        done = file.flush(&settings, limit);
    }
    let Flushed { sent, rejected, unreadable, error } = done;
    if let Some(why) = error {
        let said = format!("{} sent, {rejected} rejected; {why}", counted(sent, "span"));
        let hint = "Check the address with `edt telemetry status`, then repeat the call; rejected spans are lost.";
        return Err(not_sent(&said, hint).with("sent", sent).with("rejected", rejected).into());
    }
    let counts = FlushCounts { sent, unreadable };
    Ok(context.answer(&Answer::of(repo, file, Some(counts)), Answer::render_human))
}

impl Answer {
    #[cfg(feature = "otel")]
    fn of(repo: &Repo, file: &TraceFile, flushed: Option<FlushCounts>) -> Answer {
        let lines = file.lines();
        let spool = Spool {
            directory: file.directory.to_string_lossy().into_owned(),
            bytes: lines.iter().map(|line| line.len() as u64).sum(),
            spans: Shown::of(&lines, usize::MAX).spans.len() as u64,
        };
        let settings = settings_of(repo);
        let on = settings.is_ok();
        let why = match &settings {
            Ok(settings) => settings.source,
            Err(why) => why,
        };
        let (why, settings) = (why.to_owned(), settings.ok());
        let endpoint = settings.as_ref().map(|settings| masked(&settings.endpoint));
        let protocol = settings.as_ref().map(|settings| settings.protocol.clone());
        let (headers, problems) =
            settings.map(|settings| (settings.headers, settings.problems)).unwrap_or_default();
        let headers = headers.into_iter().map(|(name, _)| name).collect();
        let schema = "edt.telemetry/1";
        Answer { schema, on, reason: why, endpoint, protocol, headers, problems, spool, flushed }
    }

    fn render_human(&self) -> String {
        let mut out = String::new();
        let (state, style) = if self.on { ("on", GOOD) } else { ("off", DIM) };
        let _ = writeln!(out, "{} {}", paint(style, state), self.reason);
        if let (Some(endpoint), Some(protocol)) = (&self.endpoint, &self.protocol) {
            let headers = if self.headers.is_empty() {
                String::new()
            } else {
                format!(", headers {}", self.headers.join(" "))
            };
            let text = format!("{endpoint} by {protocol}{headers}");
            let _ = writeln!(out, "  to {}", paint(NAME, &escape_controls(&text).0));
        }
        for problem in &self.problems {
            let problem = escape_controls(problem).0;
            let _ = writeln!(out, "  {} {problem}: spans wait in the file", paint(NOTE, "note:"));
        }
        let Spool { spans, bytes, directory } = &self.spool;
        let _ = writeln!(
            out,
            "waiting: {} ({}) in {directory}",
            counted(*spans, "span"),
            counted(*bytes, "byte")
        );
        if let Some(FlushCounts { sent, unreadable }) = &self.flushed {
            let _ = writeln!(out, "sent {sent}, {} unreadable", counted(*unreadable, "line"));
        }
        out
    }
}

impl Span {
    fn of(span: &Value) -> Span {
        let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
        let nanos = |key: &str| text(key).parse::<u64>().unwrap_or_default();
        let attributes = span["attributes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), plain(&pair["value"]))));
        Span {
            trace: text("traceId"),
            id: text("spanId"),
            parent: Some(text("parentSpanId")).filter(|parent| !parent.is_empty()),
            name: text("name"),
            start: nanos("startTimeUnixNano"),
            duration_us: nanos("endTimeUnixNano").saturating_sub(nanos("startTimeUnixNano")) / 1000,
            failed: span["status"]["code"] == 2,
            attributes: attributes.collect(),
        }
    }
}

/// An OTLP value as plain JSON.
fn plain(value: &Value) -> Value {
    let Some((kind, value)) = value.as_object().and_then(|object| object.iter().next()) else {
        return Value::Null;
    };
    match kind.as_str() {
        "intValue" => value
            .as_str()
            .and_then(|text| text.parse::<i64>().ok())
            .map_or(value.clone(), Into::into),
        "arrayValue" => {
            json!(value["values"].as_array().into_iter().flatten().map(plain).collect::<Vec<_>>())
        }
        _ => value.clone(),
    }
}

impl Shown {
    /// The spans of the last `number` lines.
    fn of(lines: &[Vec<u8>], number: usize) -> Shown {
        let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let spans_of = |line: &Value| {
            let mut spans: Vec<Span> = all(line, "resourceSpans")
                .iter()
                .flat_map(|resource| all(resource, "scopeSpans"))
                .flat_map(|scope| all(&scope, "spans"))
                .map(|span| Span::of(&span))
                .collect();
            spans.sort_by_key(|span| span.start);
            spans
        };
        let read = lines.iter().filter_map(|line| serde_json::from_slice(line).ok());
        let lines: Vec<Vec<Span>> = read.map(|line: Value| spans_of(&line)).collect();
        let is_call = |span: &&Span| span.attributes.contains_key(names::COMMAND);
        let calls = lines.iter().flatten().filter(is_call).count() as u64;
        let hidden = lines.len().saturating_sub(number);
        let spans = lines.into_iter().skip(hidden).flatten().collect();
        Shown { schema: "edt.telemetry-spans/1", spans, calls }
    }

    fn render_human(&self) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let depth = self.depth(span);
            let style = if span.failed { BAD } else { NAME };
            let text: Vec<String> = span
                .attributes
                .iter()
                .filter(|(key, _)| !key.starts_with("gen_ai.") && !key.starts_with("process."))
                .map(|(key, value)| {
                    format!(
                        "{key}={}",
                        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
                    )
                })
                .collect();
            let text = escape_controls(&text.join(" ")).0;
            let name = paint(style, &escape_controls(&span.name).0);
            let _ = writeln!(
                out,
                "{:>9} us {}{name} {}",
                span.duration_us,
                "  ".repeat(depth),
                paint(DIM, &text)
            );
        }
        let _ = writeln!(out, "{} calls wait", self.calls);
        out
    }

    fn depth(&self, span: &Span) -> usize {
        let above =
            |span: &Span| self.spans.iter().find(|other| Some(&other.id) == span.parent.as_ref());
        std::iter::successors(above(span), |span| above(span)).take(8).count()
    }
}
