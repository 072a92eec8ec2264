//! `edt telemetry`: shows spooled spans and sends them to a collector.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use crate::telemetry::settings::{self, Exporter, Flush, Protocol, Settings, masked};
use crate::telemetry::spool::{self, Counts};
use crate::telemetry::{Flushed, MAX_FLUSH, flush};
use edt_git::Repo;
use edt_io::fs;
use edt_types::text::{counted, escape_controls};
use edt_types::{Code, Finding, Result, Status};

/// Show and send the spans for an OpenTelemetry collector.
///
/// Telemetry is off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or another variable of OpenTelemetry), or
/// edt.telemetry.endpoint in your own Git configuration, enables it. No answer waits for a
/// collector: spans are spooled, and `edt mcp` and `edt telemetry flush` send them.
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
        /// Show only the newest N calls.
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
    why: String,
    /// `otlp` or `console`.
    exporter: Option<&'static str>,
    /// Where spans are sent, without the parts that may be secret.
    endpoint: Option<String>,
    /// `http/protobuf`, `http/json`, or `grpc`, which edt does not support.
    protocol: Option<&'static str>,
    /// The names of additional headers. Their values are never shown.
    headers: Vec<String>,
    /// `spool`, or `inline`: each command sends its own spans, within 150 ms after its answer.
    flush: Option<&'static str>,
    /// Settings that edt cannot follow.
    problems: Vec<String>,
    /// The waiting spans.
    spool: Spool,
    /// The results so far.
    counts: SpanCounts,
    /// The result of this call; null for `status`.
    flushed: Option<FlushCounts>,
}

/// The waiting spans.
#[derive(Debug, Serialize, JsonSchema)]
struct Spool {
    /// The directory.
    directory: String,
    /// Files in it.
    files: u64,
    /// Their bytes.
    bytes: u64,
    /// Spans in them.
    spans: u64,
}

/// The results of sending, in spans.
#[derive(Debug, Serialize, JsonSchema)]
struct SpanCounts {
    /// Accepted by a collector.
    sent: u64,
    /// Rejected by a collector: lost.
    rejected: u64,
    /// Dropped because the spool was full (16 MB).
    dropped: u64,
    /// Lines that could not be read: lost.
    unreadable: u64,
    /// The last error of sending; null after a success.
    error: Option<String>,
}

/// The result of a flush.
#[derive(Debug, Serialize, JsonSchema)]
struct FlushCounts {
    /// Spans that the collector accepted.
    sent: u64,
    /// Spans that the collector rejected.
    rejected: u64,
}

/// The answer of `edt telemetry show`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    /// Always `edt.telemetry-spans/1`.
    schema: &'static str,
    /// The spans of the calls shown.
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
    us: u64,
    /// Whether it failed.
    failed: bool,
    /// Its attributes.
    attributes: Map<String, Value>,
}

impl Args {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let (repo, _) = context.repo()?;
        let directory = spool::directory(repo.common_dir());
        match &self.command {
            TelemetryCommand::Status => {
                Ok(context.answer(&Answer::of(&repo, &directory), Answer::render_human))
            }
            TelemetryCommand::Flush { timeout } => flushed(context, &repo, &directory, *timeout),
            TelemetryCommand::Show { number } => {
                Ok(context.answer(&shown(&directory, *number), Shown::render_human))
            }
        }
    }
}

fn settings_of(repo: &Repo) -> std::result::Result<Settings, &'static str> {
    settings::read(&|name| std::env::var(name).ok(), &|key| repo.user_config(key))
}

fn flushed(context: &Context, repo: &Repo, directory: &Path, timeout: f64) -> Result<Status> {
    let limit = Duration::try_from_secs_f64(timeout)
        .ok()
        .filter(|limit| *limit <= MAX_FLUSH)
        .ok_or_else(|| {
            let most = MAX_FLUSH.as_secs();
            let message = format!("--timeout is {timeout}; it must be from 0 to {most} seconds.");
            Finding::new(
                Code::BadRequest,
                message,
                "Send a number of seconds, such as --timeout 5.",
            )
        })?;
    let waiting = || spool::files(directory).iter().map(|file| spans(file)).sum::<u64>();
    let not_sent = |why: &str, hint: &str| {
        let left = waiting();
        let message = format!("The spool still has {}: {why}.", counted(left, "span"));
        Finding::new(Code::TelemetryNotSent, message, hint).with("spans", left)
    };
    if waiting() == 0 {
        let answer = Answer {
            flushed: Some(FlushCounts { sent: 0, rejected: 0 }),
            ..Answer::of(repo, directory)
        };
        return Ok(context.answer(&answer, Answer::render_human));
    }
    let settings = settings_of(repo).map_err(|why| {
        not_sent(why, "Set OTEL_EXPORTER_OTLP_ENDPOINT, or `git config --global edt.telemetry.endpoint URL`, then repeat the call.")
    })?;
    let Flushed { sent, rejected, error, .. } = flush(directory, &settings, limit);
    // Calls that ended meanwhile are in another file.
    let held = spool::renamed(directory).iter().map(|file| spans(file)).sum::<u64>();
    let why = error.or_else(|| match (rejected, held) {
        (0, 0) => None,
        (0, held) => Some(format!("another process is sending {held}")),
        (_, 0) => Some("the collector accepted the others".to_owned()),
        (_, held) => Some(format!(
            "the collector accepted the others, and another process is sending {held}"
        )),
    });
    if let Some(why) = why {
        let said = format!("{} sent, {rejected} rejected; {why}", counted(sent, "span"));
        let hint = "Check the address with `edt telemetry status`, then repeat the call; spans that were not rejected stay spooled.";
        return Err(not_sent(&said, hint).with("sent", sent).with("rejected", rejected).into());
    }
    let answer =
        Answer { flushed: Some(FlushCounts { sent, rejected }), ..Answer::of(repo, directory) };
    Ok(context.answer(&answer, Answer::render_human))
}

impl Answer {
    fn of(repo: &Repo, directory: &Path) -> Answer {
        let files = spool::files(directory);
        let spool = Spool {
            directory: directory.to_string_lossy().into_owned(),
            files: files.len() as u64,
            bytes: files.iter().filter_map(|file| fs::size(file)).sum(),
            spans: files.iter().map(|file| spans(file)).sum(),
        };
        let Counts { sent, rejected, dropped, unreadable, error } = spool::counts(directory);
        let counts = SpanCounts { sent, rejected, dropped, unreadable, error };
        let (schema, flushed) = ("edt.telemetry/1", None);
        match settings_of(repo) {
            Err(why) => Answer {
                schema,
                on: false,
                why: why.to_owned(),
                exporter: None,
                endpoint: None,
                protocol: None,
                headers: Vec::new(),
                flush: None,
                problems: Vec::new(),
                spool,
                counts,
                flushed,
            },
            Ok(settings) => Answer {
                schema,
                on: true,
                why: settings.source.to_owned(),
                exporter: Some(if settings.exporter == Exporter::Otlp {
                    "otlp"
                } else {
                    "console"
                }),
                endpoint: Some(masked(&settings.endpoint)),
                protocol: Some(Protocol::name(settings.protocol)),
                headers: settings.headers.iter().map(|(name, _)| name.to_owned()).collect(),
                flush: Some(if settings.flush == Flush::Inline { "inline" } else { "spool" }),
                problems: settings.problems,
                spool,
                counts,
                flushed,
            },
        }
    }

    fn render_human(&self) -> String {
        let mut out = String::new();
        let (state, style) = if self.on { ("on", GOOD) } else { ("off", DIM) };
        let _ = writeln!(out, "{} {}", paint(style, state), self.why);
        if let (Some(endpoint), Some(protocol)) = (&self.endpoint, self.protocol) {
            let headers = if self.headers.is_empty() {
                String::new()
            } else {
                format!(", headers {}", self.headers.join(" "))
            };
            let _ = writeln!(
                out,
                "  to {} by {protocol}{headers}",
                paint(NAME, &escape_controls(endpoint).0)
            );
        }
        for problem in &self.problems {
            let _ = writeln!(out, "  {} {problem}", paint(NOTE, "note:"));
        }
        let Spool { spans, files, bytes, directory } = &self.spool;
        let _ = writeln!(
            out,
            "spooled: {} ({}, {}) in {directory}",
            counted(*spans, "span"),
            counted(*files, "file"),
            counted(*bytes, "byte")
        );
        let SpanCounts { sent, rejected, dropped, unreadable, error } = &self.counts;
        let _ = writeln!(
            out,
            "so far {sent} sent, {rejected} rejected, {dropped} dropped, {} unreadable",
            counted(*unreadable, "line")
        );
        if let Some(error) = error {
            let _ = writeln!(out, "  {} {}", paint(BAD, "last:"), escape_controls(error).0);
        }
        if let Some(done) = &self.flushed {
            let _ = writeln!(out, "sent {}, rejected {}", done.sent, done.rejected);
        }
        out
    }
}

/// How many spans a file has.
fn spans(file: &Path) -> u64 {
    spool::lines(file).unwrap_or_default().iter().map(|line| spool::spans_in(line)).sum()
}

fn shown(directory: &Path, number: usize) -> Shown {
    let lines: Vec<Vec<u8>> = spool::files(directory)
        .iter()
        .flat_map(|file| spool::lines(file).unwrap_or_default())
        .collect();
    let newest = lines.iter().skip(lines.len().saturating_sub(number));
    let mut spans: Vec<Span> = Vec::new();
    for line in newest.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let mut call: Vec<Span> = all(&line, "resourceSpans")
            .iter()
            .flat_map(|resource| all(resource, "scopeSpans"))
            .flat_map(|scope| all(&scope, "spans"))
            .map(|span| Span::of(&span))
            .collect();
        call.sort_by_key(|span| span.start);
        spans.append(&mut call);
    }
    Shown { schema: "edt.telemetry-spans/1", spans, calls: lines.len() as u64 }
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
            us: nanos("endTimeUnixNano").saturating_sub(nanos("startTimeUnixNano")) / 1000,
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
                span.us,
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
