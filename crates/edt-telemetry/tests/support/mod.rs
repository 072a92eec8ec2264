//! A collector on loopback.

#![allow(clippy::unwrap_used, dead_code, reason = "a test program uses a part of it")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use edt_telemetry::{Settings, TraceFile};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

/// The answer of a collector that never answers.
pub(crate) const HANGS: &str = "";

/// A collector that answers each request with the next of `answers`, and then with the last.
pub(crate) struct Collector {
    pub(crate) url: String,
    pub(crate) requests: Receiver<Received>,
}

/// A request.
pub(crate) struct Received {
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) spans: Vec<Span>,
}

impl Collector {
    pub(crate) fn new(answers: &'static [&'static str]) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (report, requests) = channel();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let answer = answers.get(number).or(answers.last()).unwrap();
                if report.send(received(&stream)).is_err() {
                    return;
                }
                if *answer == HANGS {
                    open.push(stream);
                } else {
                    let end = "content-length: 0\r\nconnection: close\r\n\r\n";
                    write!(&stream, "HTTP/1.1 {answer}\r\n{end}").unwrap();
                }
            }
        });
        Collector { url, requests }
    }

    /// The spans of the requests so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.requests.try_iter().flat_map(|request| request.spans).collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.spans().into_iter().map(|span| span.name).collect()
    }
}

/// Reads a request by the types of OpenTelemetry's protocol.
fn received(stream: &TcpStream) -> Received {
    let mut reader = BufReader::new(stream);
    let (mut headers, mut line) = (BTreeMap::new(), String::new());
    reader.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "POST /v1/traces HTTP/1.1");
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let request = match headers["content-type"].as_str() {
        "application/json" => serde_json::from_slice(&body).unwrap(),
        "application/x-protobuf" => ExportTraceServiceRequest::decode(&body[..]).unwrap(),
        other => panic!("{other}"),
    };
    Received { headers, spans: spans(request) }
}

pub(crate) fn spans(request: ExportTraceServiceRequest) -> Vec<Span> {
    let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

/// The spans that wait in the file.
pub(crate) fn waiting(file: &TraceFile) -> Vec<Span> {
    let read = |line: &Vec<u8>| spans(serde_json::from_slice(line).unwrap());
    file.lines().iter().flat_map(read).collect()
}

/// A port at which no program listens.
pub(crate) fn refused() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// Whether the SDK's thread runs in this process.
pub(crate) fn has_sending_thread() -> bool {
    std::fs::read_dir("/proc/self/task").unwrap().any(|task| {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
        name.is_ok_and(|name| name.starts_with("OpenTelemetry"))
    })
}

/// The settings with these variables and `url` as the endpoint.
pub(crate) fn settings(url: &str, env: &[(&str, &str)]) -> Settings {
    let env = [env, &[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]].concat();
    let find = |name: &str| env.iter().find(|(known, _)| *known == name);
    let env = |name: &str| find(name).map(|(_, value)| (*value).to_owned());
    edt_telemetry::read(&env, &|_| None).ok().unwrap()
}

/// A request with one span.
pub(crate) fn request(name: &str) -> ExportTraceServiceRequest {
    let span = Span { name: name.to_owned(), ..Span::default() };
    let scope_spans = vec![ScopeSpans { spans: vec![span], ..ScopeSpans::default() }];
    let resource = ResourceSpans { scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource] }
}

/// The file of a repository, with a line for each name.
pub(crate) fn file(repository: &Path, names: &[&str]) -> TraceFile {
    let file = TraceFile::of(repository);
    names.iter().for_each(|name| file.append(&request(name)).unwrap());
    file
}
