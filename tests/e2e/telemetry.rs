//! Telemetry: a collector on loopback gets the spans of real calls; a dead, hanging or refusing one
//! costs no edit anything.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, run};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A collector that answers every request with the next of `answers`, the last again and again.
struct Collector {
    url: String,
    got: Receiver<Got>,
}

/// A request as it came.
struct Got {
    headers: BTreeMap<String, String>,
    spans: Vec<Span>,
}

impl Collector {
    fn new(answers: &'static [&'static str]) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (report, got) = channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                let answer = answers.get(number).or(answers.last()).unwrap();
                let Some(request) = request(&stream) else { continue };
                let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
                let length = body.len();
                let _ = write!(
                    &stream,
                    "HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                if report.send(request).is_err() {
                    return;
                }
            }
        });
        Collector { url, got }
    }

    /// The spans of all requests so far.
    fn spans(&self) -> Vec<Span> {
        self.got.try_iter().flat_map(|got| got.spans).collect()
    }
}

/// Reads one request, which must be OTLP by the types of OpenTelemetry's own protocol.
fn request(stream: &TcpStream) -> Option<Got> {
    let mut reader = BufReader::new(stream);
    let (mut headers, mut line) = (BTreeMap::new(), String::new());
    reader.read_line(&mut line).ok()?;
    assert_eq!(line.trim(), "POST /v1/traces HTTP/1.1");
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    if headers.get("content-encoding").is_some_and(|coding| coding == "gzip") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
        body = plain;
    }
    let request = match headers["content-type"].as_str() {
        "application/json" => serde_json::from_slice::<ExportTraceServiceRequest>(&body).unwrap(),
        "application/x-protobuf" => ExportTraceServiceRequest::decode(&body[..]).unwrap(),
        other => panic!("{other}"),
    };
    let spans = request.resource_spans.into_iter().flat_map(|one| {
        let service = one
            .resource
            .unwrap()
            .attributes
            .into_iter()
            .find(|pair| pair.key == "service.name")
            .unwrap();
        assert_eq!(service.value.unwrap().value, Some(Any::StringValue("edt".into())));
        one.scope_spans.into_iter().flat_map(|scope| scope.spans)
    });
    Some(Got { headers, spans: spans.collect() })
}

/// A port at which no program listens.
fn refused() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A collector that takes connections and never answers.
fn hanging() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn workspace() -> TestRepo {
    TestRepo::with(&[("a.c", b"int main(void)\n{\n\treturn 0;\n}\n"), ("b.txt", b"b\n")])
}

/// edt with these variables.
#[track_caller]
fn edt(workspace: &TestRepo, env: &[(&str, &str)], args: &[&str]) -> Answer {
    let mut command = workspace.command(EDT);
    command.arg(args[0]).arg("--json").args(&args[1..]).envs(env.iter().copied());
    run(command, b"", args)
}

const EDIT: [&str; 7] = ["apply", "a.c", "--mode", "edit", "--old-text", "return 0;", "--content"];

fn edit(content: &str) -> Vec<&str> {
    EDIT.into_iter().chain([content]).collect()
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attribute(span: &Span, key: &str) -> Option<Value> {
    let pair = span.attributes.iter().find(|pair| pair.key == key)?;
    Some(match pair.value.clone()?.value? {
        Any::StringValue(text) => text.into(),
        Any::IntValue(number) => number.into(),
        Any::ArrayValue(array) => array
            .values
            .into_iter()
            .map(|value| match value.value {
                Some(Any::StringValue(text)) => Value::from(text),
                other => panic!("{other:?}"),
            })
            .collect(),
        other => panic!("{other:?}"),
    })
}

#[track_caller]
fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let all: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(
        all.len(),
        1,
        "{name} in {:?}",
        spans.iter().map(|span| &span.name).collect::<Vec<_>>()
    );
    all[0]
}

/// Every span has an id of its own, no attribute twice, and a time that ends within its parent's.
#[track_caller]
fn well_formed(spans: &[Span]) {
    let ids: BTreeSet<&Vec<u8>> = spans.iter().map(|span| &span.span_id).collect();
    assert_eq!(ids.len(), spans.len(), "an id twice");
    for span in spans {
        let keys: BTreeSet<&String> = span.attributes.iter().map(|pair| &pair.key).collect();
        assert_eq!(
            keys.len(),
            span.attributes.len(),
            "{}: an attribute twice: {:?}",
            span.name,
            span.attributes
        );
        assert!(
            span.start_time_unix_nano <= span.end_time_unix_nano && span.trace_id.len() == 16,
            "{span:?}"
        );
        if let Some(parent) = spans.iter().find(|other| other.span_id == span.parent_span_id) {
            assert!(
                parent.start_time_unix_nano <= span.start_time_unix_nano,
                "{} in {}",
                span.name,
                parent.name
            );
            assert!(
                span.end_time_unix_nano <= parent.end_time_unix_nano,
                "{} in {}",
                span.name,
                parent.name
            );
            assert_eq!(parent.trace_id, span.trace_id);
        }
    }
}

fn directory(workspace: &TestRepo) -> PathBuf {
    workspace.root.join(".git/edt/telemetry")
}

/// The spans that wait in `workspace`, by edt's own word.
#[track_caller]
fn waiting(workspace: &TestRepo) -> Vec<Value> {
    workspace.edt(&["telemetry", "show", "-n", "1000"]).json["spans"].as_array().unwrap().clone()
}

#[test]
fn nothing_is_recorded_unless_enabled() {
    let workspace = workspace();
    for env in [
        &[][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"), ("OTEL_SDK_DISABLED", "true")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"), ("OTEL_TRACES_EXPORTER", "none")],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
            ("OTEL_TRACES_SAMPLER", "always_off"),
        ],
        &[("OTEL_SERVICE_NAME", "x"), ("TRACEPARENT", PARENT)],
    ] {
        edt(&workspace, env, &["check", "b.txt", "--mode", "append", "--content", "x"]);
        assert!(!directory(&workspace).exists(), "{env:?}");
    }
    // A repository must not be able to send anything anywhere.
    workspace.git(&["config", "edt.telemetry.endpoint", "http://127.0.0.1:9"]);
    workspace.overwrite("b.txt", "c\n");
    assert!(!directory(&workspace).exists());
    workspace.git(&["config", "--global", "edt.telemetry.endpoint", "http://127.0.0.1:9"]);
    workspace.overwrite("b.txt", "d\n");
    assert!(directory(&workspace).exists());
}

#[test]
fn one_edit_is_one_tree_of_spans_below_the_callers() {
    let workspace = workspace();
    for protocol in ["http/json", "http/protobuf"] {
        let collector = Collector::new(&["200 OK"]);
        let env = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            (
                "OTEL_EXPORTER_OTLP_COMPRESSION",
                if protocol == "http/json" { "gzip" } else { "none" },
            ),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20ecret"),
            ("TRACEPARENT", PARENT),
            ("TRACESTATE", "a=1"),
        ];
        let answer = edt(
            &workspace,
            &env,
            &["apply", "b.txt", "--mode", "append", "--content", "x", "--agent", "robot"],
        );
        let commit = answer.landed().commit().to_owned();
        let flushed = edt(&workspace, &env, &["telemetry", "flush"]);
        let got = collector.got.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(got.headers["api-key"], "s ecret");
        let spans = got.spans;
        assert_eq!(flushed.json["flushed"], json!({"sent": spans.len(), "rejected": 0}));
        assert_eq!(flushed.json["spool"]["spans"], 0);
        well_formed(&spans);
        let root = named(&spans, "execute_tool apply");
        assert_eq!(
            (hex(&root.trace_id).as_str(), hex(&root.parent_span_id).as_str()),
            (TRACE, "00f067aa0ba902b7")
        );
        assert_eq!(root.trace_state, "a=1");
        for (key, value) in [
            ("gen_ai.operation.name", json!("execute_tool")),
            ("gen_ai.tool.name", json!("apply")),
            ("gen_ai.agent.name", json!("robot")),
            ("edt.session", json!("main-1")),
            ("edt.status", json!("applied")),
            ("edt.files", json!(["b.txt"])),
            ("vcs.ref.head.revision", json!(commit)),
            ("process.exit.code", json!(0)),
        ] {
            assert_eq!(attribute(root, key), Some(value), "{key}");
        }
        assert_eq!(attribute(root, "error.type"), None);
        let stages = [
            "lock", "recover", "resolve", "plan", "guard", "commit", "publish", "streak", "observe",
        ];
        for stage in stages.map(|stage| format!("edt.{stage}")) {
            assert_eq!(named(&spans, &stage).parent_span_id, root.span_id, "{stage}");
        }
        let stage = named(&spans, "edt.guard");
        let guards: Vec<&Span> =
            spans.iter().filter(|span| span.parent_span_id == stage.span_id).collect();
        let all = workspace.edt(&["guards"]).json["guards"].as_array().unwrap().len();
        assert_eq!(guards.len(), all, "one span for each guard on the only file");
        assert!(guards.iter().all(|span| attribute(span, "edt.file").is_some()));
        assert!(guards.iter().all(|span| attribute(span, "edt.guard.verdict").is_some()));
        assert_eq!(spans.len(), 1 + stages.len() + guards.len(), "nothing twice, and nothing else");
    }
}

#[test]
fn the_span_of_a_refusal_has_its_code_and_guard() {
    let workspace = workspace();
    let env = [("OTEL_TRACES_EXPORTER", "otlp"), ("TRACEPARENT", "00-nonsense-01")];
    edt(
        &workspace,
        &env,
        &[
            "apply",
            "a.c",
            "--mode",
            "overwrite",
            "--content",
            "int main(void)\n{\n\treturn (0;\n}\n",
        ],
    );
    edt(
        &workspace,
        &env,
        &["apply", "a.c", "--mode", "edit", "--old-text", "zzz", "--content", ""],
    );
    let spans = waiting(&workspace);
    let find = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let roots = find("execute_tool apply");
    assert_eq!(
        roots.iter().map(|span| &span["parent"]).collect::<Vec<_>>(),
        [&Value::Null; 2],
        "a bad parent is none"
    );
    assert_eq!(roots[0]["attributes"]["error.type"], "SYNTAX_ERROR");
    assert_eq!(roots[1]["attributes"]["edt.codes"], json!(["OLD_TEXT_NOT_FOUND"]));
    assert!(
        roots
            .iter()
            .all(|span| span["failed"] == true && span["attributes"]["edt.session"] == "main-1")
    );
    assert_eq!(find("guard syntax")[0]["attributes"]["edt.guard.verdict"], "refuse");
    assert_eq!(find("edt.plan")[1]["attributes"]["error.type"], "OLD_TEXT_NOT_FOUND");
    assert!(find("edt.publish").is_empty() && find("edt.commit").is_empty());
}

#[test]
fn content_is_in_a_span_only_on_request_and_secrets_never() {
    let workspace = workspace();
    let asked = [
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
    ];
    let content = "x SECRETWORD ghp_0123456789abcdefghij\n";
    edt(&workspace, &asked[..1], &["apply", "b.txt", "--mode", "overwrite", "--content", content])
        .landed();
    let spooled = || std::fs::read_to_string(directory(&workspace).join("spool")).unwrap();
    assert!(!spooled().contains("SECRETWORD"));
    edt(&workspace, &asked, &["apply", "b.txt", "--mode", "append", "--content", content]).landed();
    assert!(spooled().contains("SECRETWORD") && !spooled().contains("ghp_0123"));
    edt(&workspace, &asked, &["run", "--", "echo", "--password", "hunter3z"]);
    assert!(
        spooled().contains("--password") && !spooled().contains("hunter3z"),
        "name and value are two arguments"
    );
}

#[test]
fn a_call_of_the_server_is_one_span_below_the_requests_parent() {
    let workspace = workspace();
    let collector = Collector::new(&["200 OK"]);
    let mut command = workspace.command(EDT);
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url).env("TRACEPARENT", PARENT);
    let mut child = command.spawn().unwrap();
    let (mut stdin, mut out) =
        (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut ask = |message: &Value| {
        writeln!(stdin, "{message}").unwrap();
        let mut line = String::new();
        if message["id"] != Value::Null {
            out.read_line(&mut line).unwrap();
        }
        serde_json::from_str::<Value>(&line).unwrap_or_default()
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a-client", "version": "1"}});
    ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
    ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}));
    let own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let meta = json!({"traceparent": own, "claudecode/toolUseId": "toolu_7"});
    let args = json!({"path": "b.txt", "mode": "append", "content": "x"});
    let call = |id: u64, args: &Value, meta: &Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "apply", "arguments": args, "_meta": meta}});
    ask(&call(2, &args, &meta));
    ask(&call(3, &json!({"path": "b.txt", "mode": "create", "content": "x"}), &json!({})));
    drop(stdin);
    child.wait().unwrap();
    // On a busy machine the server may end before the collector has answered.
    let mut flush = workspace.command(EDT);
    flush.args(["telemetry", "flush"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    flush.output().unwrap();
    let spans = collector.spans();
    well_formed(&spans);
    let roots: Vec<&Span> = spans.iter().filter(|span| span.name == "tools/call apply").collect();
    assert_eq!(roots.len(), 2);
    let (first, second) = (roots[0], roots[1]);
    assert_eq!(hex(&first.trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex(&first.parent_span_id), "b7ad6b7169203331");
    assert_eq!(hex(&first.links[0].trace_id), TRACE, "the process's own context is linked");
    assert_eq!((hex(&second.trace_id).as_str(), second.links.len()), (TRACE, 0));
    for (key, value) in [
        ("mcp.method.name", json!("tools/call")),
        ("mcp.protocol.version", json!("2025-06-18")),
        ("jsonrpc.request.id", json!("2")),
        ("network.transport", json!("pipe")),
        ("gen_ai.operation.name", json!("execute_tool")),
        ("gen_ai.tool.name", json!("apply")),
        ("gen_ai.tool.call.id", json!("toolu_7")),
        ("gen_ai.agent.name", json!("a-client")),
        ("edt.status", json!("applied")),
    ] {
        assert_eq!(attribute(first, key), Some(value), "{key}");
    }
    assert_eq!((first.kind, attribute(first, "error.type")), (2, None));
    assert_eq!(
        attribute(second, "error.type"),
        Some(json!("tool_error")),
        "as the convention has it"
    );
    assert_eq!(attribute(second, "edt.codes"), Some(json!(["FILE_EXISTS"])));
    assert_eq!(spans.iter().filter(|span| span.parent_span_id == first.span_id).count(), 9);
}

#[test]
fn a_program_gets_its_span_in_the_environment() {
    let workspace = workspace();
    let env = [("OTEL_TRACES_EXPORTER", "otlp"), ("TRACEPARENT", PARENT)];
    let answer = edt(&workspace, &env, &["run", "--", "printenv", "TRACEPARENT"]);
    let printed = answer.json["run"]["stdout"]["text"].as_str().unwrap().trim().to_owned();
    let spans = waiting(&workspace);
    let program = spans.iter().find(|span| span["name"] == "edt.program").unwrap();
    assert_eq!(printed, format!("00-{TRACE}-{}-01", program["id"].as_str().unwrap()));
    let root = spans.iter().find(|span| span["name"] == "execute_tool run").unwrap();
    assert_eq!(program["parent"], root["id"]);
    let answer = edt(&workspace, &env[1..], &["run", "--", "printenv", "TRACEPARENT"]);
    assert_eq!(
        answer.json["run"]["stdout"]["text"].as_str().unwrap().trim(),
        PARENT,
        "where it is off, as it came"
    );
}

#[test]
fn an_agents_own_tool_is_one_span() {
    let workspace = workspace();
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "/t", "cwd": workspace.root,
        "permission_mode": "default", "tool_name": "Write", "tool_use_id": "toolu_9",
        "tool_input": {"file_path": workspace.root.join("b.txt"), "content": "c\n"}});
    let mut command = workspace.command(EDT);
    command
        .args(["agent-hook", "claude-code"])
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let spans = waiting(&workspace);
    let root = spans.iter().find(|span| span["parent"].is_null()).unwrap();
    assert_eq!(
        (&root["name"], &root["attributes"]["gen_ai.tool.call.id"]),
        (&json!("edt agent-hook"), &json!("toolu_9"))
    );
    assert_eq!(root["attributes"]["gen_ai.agent.name"], "claude-code");
    assert!(spans.iter().any(|span| span["name"] == "edt.resolve"));
}

#[test]
fn a_collector_that_is_dead_or_hangs_costs_an_edit_nothing() {
    let (_listener, hangs) = hanging();
    for url in [refused(), hangs] {
        let workspace = workspace();
        let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())];
        let began = Instant::now();
        for number in 0..5 {
            let content = format!("{number}\n");
            edt(
                &workspace,
                &env,
                &["apply", "b.txt", "--mode", "overwrite", "--content", &content],
            )
            .landed();
        }
        assert!(began.elapsed() < Duration::from_secs(4), "{url}: {:?}", began.elapsed());
        let began = Instant::now();
        let flush = edt(&workspace, &env, &["telemetry", "flush", "--timeout", "1"]);
        assert_eq!((flush.codes(), flush.exit), (vec!["TELEMETRY_NOT_SENT"], 5));
        assert!(began.elapsed() < Duration::from_secs(3), "{url}: {:?}", began.elapsed());
        let status = edt(&workspace, &env, &["telemetry", "status"]);
        assert!(
            status.json["counts"]["error"].is_string()
                && status.json["spool"]["spans"].as_u64() > Some(90)
        );
        // Who asks for it inline waits 150 ms, and no longer.
        let began = Instant::now();
        let inline = [env[0], ("EDT_TELEMETRY_FLUSH", "inline")];
        edt(&workspace, &inline, &["apply", "b.txt", "--mode", "overwrite", "--content", "x\n"])
            .landed();
        assert!(began.elapsed() < Duration::from_secs(2), "{url}: {:?}", began.elapsed());
        // Nothing was lost meanwhile.
        let collector = Collector::new(&["200 OK"]);
        edt(
            &workspace,
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)],
            &["telemetry", "flush"],
        );
        let roots =
            collector.spans().into_iter().filter(|span| span.name == "execute_tool apply").count();
        assert_eq!(roots, 6);
    }
}

#[test]
fn a_broken_spool_changes_no_answer() {
    let workspace = workspace();
    std::fs::create_dir_all(workspace.root.join(".git/edt")).unwrap();
    std::fs::write(directory(&workspace), "a file where the directory should be").unwrap();
    let env = [("OTEL_TRACES_EXPORTER", "otlp")];
    edt(&workspace, &env, &["apply", "b.txt", "--mode", "overwrite", "--content", "c\n"]).landed();
    std::fs::remove_file(directory(&workspace)).unwrap();
    std::fs::create_dir(directory(&workspace)).unwrap();
    std::os::unix::fs::symlink("/dev/full", directory(&workspace).join("spool")).unwrap();
    edt(&workspace, &env, &["apply", "b.txt", "--mode", "overwrite", "--content", "d\n"]).landed();
    std::fs::remove_file(directory(&workspace).join("spool")).unwrap();
    // What a full disk left of a line takes no other along.
    std::fs::write(directory(&workspace).join("spool"), "{\"resourceSpans\":[{\"reso").unwrap();
    edt(&workspace, &env, &["apply", "b.txt", "--mode", "overwrite", "--content", "e\n"]).landed();
    let collector = Collector::new(&["200 OK"]);
    edt(&workspace, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)], &["telemetry", "flush"]);
    assert_eq!(
        collector.spans().iter().filter(|span| span.name == "execute_tool apply").count(),
        1
    );
    assert_eq!(edt(&workspace, &env, &["telemetry", "status"]).json["counts"]["unreadable"], 1);
}

#[test]
fn eight_processes_spool_while_others_flush_without_loss_or_duplicate() {
    let workspace = workspace();
    let collector = Collector::new(&["200 OK"]);
    let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..12 {
                    edt(&workspace, &env, &["read", "a.c"]);
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..12 {
                    edt(&workspace, &env, &["telemetry", "flush"]);
                }
            });
        }
    });
    edt(&workspace, &env, &["telemetry", "flush"]);
    let spans = collector.spans();
    let roots: Vec<&Span> = spans.iter().filter(|span| span.name == "execute_tool read").collect();
    let ids: BTreeSet<&Vec<u8>> = roots.iter().map(|span| &span.span_id).collect();
    assert_eq!((roots.len(), ids.len()), (96, 96));
    let status = edt(&workspace, &env, &["telemetry", "status"]).json;
    assert_eq!(
        (&status["counts"]["unreadable"], &status["spool"]["spans"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(status["counts"]["sent"], spans.len());
}

#[test]
fn a_flush_that_is_killed_loses_nothing() {
    let workspace = workspace();
    let (listener, url) = hanging();
    let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())];
    edt(&workspace, &env, &["read", "a.c"]);
    let mut flush: Command = workspace.command(EDT);
    let mut flush = flush
        .args(["telemetry", "flush"])
        .envs(env)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    // While it is at it, another one leaves its spans alone.
    edt(&workspace, &env, &["read", "a.c"]);
    let collector = Collector::new(&["200 OK"]);
    let other = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    let left = edt(&workspace, &other, &["telemetry", "flush"]);
    assert_eq!(
        (left.codes(), left.exit),
        (vec!["TELEMETRY_NOT_SENT"], 5),
        "it says that it left them"
    );
    assert!(left.message().contains("another process is sending"), "{}", left.message());
    assert_eq!(collector.spans().iter().filter(|span| span.name == "execute_tool read").count(), 1);
    flush.kill().unwrap();
    flush.wait().unwrap();
    drop(stream);
    edt(&workspace, &other, &["telemetry", "flush"]);
    assert_eq!(collector.spans().iter().filter(|span| span.name == "execute_tool read").count(), 1);
}

#[test]
fn the_collectors_answer_decides_whether_spans_are_kept() {
    let workspace = workspace();
    let sent = |answers: &'static [&'static str]| {
        let collector = Collector::new(answers);
        let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
        edt(&workspace, &env, &["read", "a.c"]);
        let flush = edt(&workspace, &env, &["telemetry", "flush", "--timeout", "3"]);
        let left = edt(&workspace, &env, &["telemetry", "status"]).json["spool"]["spans"]
            .as_u64()
            .unwrap();
        (flush.exit, left, collector.got.try_iter().count())
    };
    assert_eq!(
        sent(&["503 Service Unavailable\r\nretry-after: 1", "200 OK"]),
        (0, 0, 2),
        "it waits as asked"
    );
    assert_eq!(sent(&["429 Too Many Requests", "502 Bad Gateway", "200 OK"]), (0, 0, 3));
    assert_eq!(sent(&["400 Bad Request"]), (5, 0, 1), "refused for good is gone, and counted");
    // The last is the longest number that a header's reader accepts: added to the time of day it
    // ended the program in an earlier version.
    for answer in [
        &["503 Service Unavailable\r\nretry-after: 60"],
        &["503 Service Unavailable\r\nretry-after: 18446744073709551615"],
    ] {
        let (exit, left, asked) = sent(answer);
        assert!(
            exit == 5 && left > 0 && asked == 1,
            "what would take too long stays: {exit} {left} {asked}"
        );
    }
    let counts = workspace.edt(&["telemetry", "status"]).json["counts"].clone();
    assert!(
        counts["rejected"].as_u64() > Some(0) && counts["error"].as_str().unwrap().contains("503"),
        "{counts}"
    );
}

#[test]
fn a_partial_success_is_a_failure() {
    let workspace = workspace();
    let collector = Collector::new(&[
        "200 OK\r\ncontent-type: application/json\r\n\r\n{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}",
        "200 OK\r\ncontent-type: application/json\r\n\r\n{\"partialSuccess\":{}}",
    ]);
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
    ];
    edt(&workspace, &env, &edit("return 1;")).landed();
    let flush = edt(&workspace, &env, &["telemetry", "flush"]);
    assert_eq!((flush.codes(), flush.exit), (vec!["TELEMETRY_NOT_SENT"], 5));
    assert!(flush.message().contains("rejected"), "{}", flush.message());
    let status = edt(&workspace, &env, &["telemetry", "status"]).json;
    assert_eq!((&status["counts"]["rejected"], &status["spool"]["spans"]), (&json!(2), &json!(0)));
    edt(&workspace, &env, &["read", "a.c"]);
    assert_eq!(edt(&workspace, &env, &["telemetry", "flush"]).exit, 0);
}

#[test]
fn a_flush_takes_an_hour_at_most() {
    let workspace = workspace();
    for timeout in ["1e19", "3601", "-1", "NaN"] {
        workspace.refuses(
            &["BAD_REQUEST"],
            2,
            &["telemetry", "flush", &format!("--timeout={timeout}")],
        );
    }
    assert_eq!(workspace.edt(&["telemetry", "flush", "--timeout", "3600"]).exit, 0);
}

#[test]
fn a_secret_of_the_address_is_never_shown() {
    let workspace = workspace();
    let url = refused().replace("http://", "http://user:hunter2@");
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter3"),
    ];
    edt(&workspace, &env, &["read", "a.c"]);
    let status = edt(&workspace, &env, &["telemetry", "status"]).json;
    let flush = edt(&workspace, &env, &["telemetry", "flush"]).json;
    assert_eq!(status["headers"], json!(["authorization"]));
    let spooled: String = crate::test_repo::changed(&BTreeMap::new(), &{
        let mut all = BTreeMap::new();
        crate::test_repo::walk(&directory(&workspace), "", &mut all);
        all
    })
    .join("\n");
    for text in [status.to_string(), flush.to_string(), spooled] {
        assert!(!text.contains("hunter"), "{text}");
    }
    let answer = edt(&workspace, &env, &["run", "--", "printenv"]);
    assert!(
        !answer.json["run"]["stdout"]["text"].as_str().unwrap().contains("hunter3"),
        "programs do not get it"
    );
}

#[test]
fn a_server_that_does_not_speak_http_keeps_the_spans() {
    let workspace = workspace();
    let env = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ];
    edt(&workspace, &env, &edit("return 1;"));
    let status = edt(&workspace, &env, &["telemetry", "status"]).json;
    assert!(status["problems"][0].as_str().unwrap().contains("grpc"), "{status:#}");
    let flush = edt(&workspace, &env, &["telemetry", "flush"]);
    assert!(flush.message().contains("does not support grpc"), "{}", flush.message());
    assert!(!waiting(&workspace).is_empty());
}

/// `EDT_OTLP_PYTHON` names a Python that has the package `opentelemetry-proto`.
#[test]
fn opentelemetrys_own_classes_read_what_is_sent() {
    let Some(python) = std::env::var_os("EDT_OTLP_PYTHON") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/telemetry.py");
    let done = Command::new(python).args([script, EDT, "--validate"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.lines().count() == 2,
        "{said}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
