//! `edt telemetry`: what waits for a collector, and sending it.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::render::{BAD, DIM, GOOD, NAME, NOTE, paint};
use crate::base::text::harmless;
use crate::base::{Code, Finding, Result, Status};
use crate::git::Repo;
use crate::io::whole;
use crate::telemetry::settings::{self, Exporter, Flush, Protocol, Settings, masked};
use crate::telemetry::spool::{self, Counts};
use crate::telemetry::{Flushed, LONGEST, flush};

/// Spans for an OpenTelemetry collector: where they go, what waits, sending it.
///
/// Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or another variable of OpenTelemetry), or edt.telemetry.endpoint in your own Git configuration,
/// asks for it. No answer waits for a collector: spans are spooled, `edt mcp` and `edt telemetry flush` send them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  git config --global edt.telemetry.endpoint http://localhost:4318\n  edt telemetry status\n  edt telemetry flush --timeout 5"
)]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Tell whether it is on and why, where spans go, and what waits.
    Status,
    /// Send what waits, and wait for that.
    Flush {
        /// The longest that it may take, in seconds; at most 3600.
        #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
        timeout: f64,
    },
    /// Show the spans that wait, the oldest call first.
    Show {
        /// At most so many calls, the newest.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        number: usize,
    },
}

/// The answer of `edt telemetry status` and `flush`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Always `edt.telemetry/1`.
    schema: &'static str,
    /// Whether spans are kept.
    on: bool,
    /// What asks for it, or why it is off.
    why: String,
    /// `otlp` or `console`.
    exporter: Option<&'static str>,
    /// Where spans are sent, without what may be a secret.
    endpoint: Option<String>,
    /// `http/protobuf`, `http/json`, or `grpc`, which is not spoken.
    protocol: Option<&'static str>,
    /// The names of further headers. Their values are never shown.
    headers: Vec<String>,
    /// `spool`, or `inline`: sent by each command itself, within 150 ms after its answer.
    flush: Option<&'static str>,
    /// What was said and cannot be followed.
    problems: Vec<String>,
    /// What waits.
    spool: Spool,
    /// What became of spans so far.
    counts: Counted,
    /// What this call did; null for `status`.
    flushed: Option<Done>,
}

/// What waits.
#[derive(Debug, Serialize, JsonSchema)]
struct Spool {
    /// The folder.
    folder: String,
    /// Files in it.
    files: u64,
    /// Their bytes.
    bytes: u64,
    /// Spans in them.
    spans: u64,
}

/// What became of spans.
#[derive(Debug, Serialize, JsonSchema)]
struct Counted {
    /// Taken by a collector.
    sent: u64,
    /// Refused by one: gone.
    rejected: u64,
    /// Gone because the spool was full (16 MB).
    dropped: u64,
    /// Lines that could not be read: gone.
    unreadable: u64,
    /// What last kept spans from being sent; null once they were.
    error: Option<String>,
}

/// What a flush did.
#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    /// Spans that the collector took.
    sent: u64,
    /// Spans that it refused.
    rejected: u64,
}

/// The answer of `edt telemetry show`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    /// Always `edt.telemetry-spans/1`.
    schema: &'static str,
    /// The spans of the calls shown, as they were spooled.
    spans: Vec<Span>,
    /// Calls that wait, shown or not.
    calls: u64,
}

/// A span.
#[derive(Debug, Serialize, JsonSchema)]
struct Span {
    /// The trace, as hex.
    trace: String,
    /// Its id, as hex.
    id: String,
    /// The span that it stands in; null for the first of a trace.
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
        let folder = spool::folder(repo.common_dir());
        match &self.act {
            Act::Status => Ok(context.answer(&Answer::of(&repo, &folder), Answer::people)),
            Act::Flush { timeout } => flushed(context, &repo, &folder, *timeout),
            Act::Show { number } => Ok(context.answer(&shown(&folder, *number), Shown::people)),
        }
    }
}

fn settings_of(repo: &Repo) -> std::result::Result<Settings, &'static str> {
    settings::read(&|name| std::env::var(name).ok(), &|key| repo.persons(key))
}

fn flushed(context: &Context, repo: &Repo, folder: &Path, timeout: f64) -> Result<Status> {
    let limit = Duration::try_from_secs_f64(timeout)
        .ok()
        .filter(|limit| *limit <= LONGEST)
        .ok_or_else(|| {
            let most = LONGEST.as_secs();
            let message = format!(
                "--timeout is {timeout}; a flush takes from 0 to {most} seconds. Nothing was sent."
            );
            Finding::new(
                Code::BadRequest,
                message,
                "Send a number of seconds, such as --timeout 5.",
            )
        })?;
    let waiting = || spool::files(folder).iter().map(|file| spans(file)).sum::<u64>();
    let not_sent = |why: &str, hint: &str| {
        let left = waiting();
        let message = format!("{left} spans wait and are not sent: {why}.");
        Finding::new(Code::TelemetryNotSent, message, hint).with("spans", left)
    };
    if waiting() == 0 {
        let answer =
            Answer { flushed: Some(Done { sent: 0, rejected: 0 }), ..Answer::of(repo, folder) };
        return Ok(context.answer(&answer, Answer::people));
    }
    let settings = settings_of(repo).map_err(|why| {
        not_sent(why, "Set OTEL_EXPORTER_OTLP_ENDPOINT, or `git config --global edt.telemetry.endpoint URL`, then repeat the call.")
    })?;
    let Flushed { sent, rejected, error, .. } = flush(folder, &settings, limit);
    // Calls that came meanwhile are in another file.
    let held = spool::renamed(folder).iter().map(|file| spans(file)).sum::<u64>();
    let why = error.or_else(|| match (rejected, held) {
        (0, 0) => None,
        (0, held) => Some(format!("another process is sending {held}")),
        (_, 0) => Some("the collector took the others".to_owned()),
        (_, held) => {
            Some(format!("the collector took the others, and another process is sending {held}"))
        }
    });
    if let Some(why) = why {
        let said = format!("{sent} spans were sent, {rejected} refused; {why}");
        let hint = "Look at the address with `edt telemetry status`, then repeat the call; what was not refused stays spooled.";
        return Err(not_sent(&said, hint).with("sent", sent).with("rejected", rejected).into());
    }
    let answer = Answer { flushed: Some(Done { sent, rejected }), ..Answer::of(repo, folder) };
    Ok(context.answer(&answer, Answer::people))
}

impl Answer {
    fn of(repo: &Repo, folder: &Path) -> Answer {
        let files = spool::files(folder);
        let spool = Spool {
            folder: folder.display().to_string(),
            files: files.len() as u64,
            bytes: files.iter().filter_map(|file| whole::size(file)).sum(),
            spans: files.iter().map(|file| spans(file)).sum(),
        };
        let Counts { sent, rejected, dropped, unreadable, error } = spool::counts(folder);
        let counts = Counted { sent, rejected, dropped, unreadable, error };
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

    fn people(&self) -> String {
        let mut out = String::new();
        let (state, style) = if self.on { ("on", GOOD) } else { ("off", DIM) };
        let _ = writeln!(out, "{} {}", paint(style, state), self.why);
        if let (Some(endpoint), Some(protocol)) = (&self.endpoint, self.protocol) {
            let headers = if self.headers.is_empty() {
                String::new()
            } else {
                format!(", headers {}", self.headers.join(" "))
            };
            let _ =
                writeln!(out, "  to {} by {protocol}{headers}", paint(NAME, &harmless(endpoint).0));
        }
        for problem in &self.problems {
            let _ = writeln!(out, "  {} {problem}", paint(NOTE, "note:"));
        }
        let Spool { spans, files, bytes, folder } = &self.spool;
        let _ = writeln!(out, "{spans} spans wait ({files} files, {bytes} bytes) in {folder}");
        let Counted { sent, rejected, dropped, unreadable, error } = &self.counts;
        let _ = writeln!(
            out,
            "so far {sent} sent, {rejected} refused, {dropped} dropped, {unreadable} lines unreadable"
        );
        if let Some(error) = error {
            let _ = writeln!(out, "  {} {}", paint(BAD, "last:"), harmless(error).0);
        }
        if let Some(done) = &self.flushed {
            let _ = writeln!(out, "sent {}, refused {}", done.sent, done.rejected);
        }
        out
    }
}

/// How many spans a file holds.
fn spans(file: &Path) -> u64 {
    spool::lines(file).unwrap_or_default().iter().map(|line| spool::spans_in(line)).sum()
}

fn shown(folder: &Path, number: usize) -> Shown {
    let lines: Vec<Vec<u8>> = spool::files(folder)
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

/// A value as plain JSON has it.
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
    fn people(&self) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let depth = self.depth(span);
            let style = if span.failed { BAD } else { NAME };
            let told: Vec<String> = span
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
            let told = harmless(&told.join(" ")).0;
            let name = paint(style, &harmless(&span.name).0);
            let _ = writeln!(
                out,
                "{:>9} us {}{name} {}",
                span.us,
                "  ".repeat(depth),
                paint(DIM, &told)
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
