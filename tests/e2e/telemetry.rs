//! Telemetry of the program, in a build with the feature `otel`. The tests of the crate
//! `edt-telemetry` show what the file and a flush promise.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, run};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A collector that accepts everything. Each request is reported as OTLP JSON.
struct Collector {
    url: String,
    requests: Receiver<Value>,
}

impl Collector {
    fn new() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (report, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let request = request(&stream);
                write!(
                    &stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                )
                .unwrap();
                if report.send(request).is_err() {
                    return;
                }
            }
        });
        Collector { url, requests }
    }

    /// The spans of the next request, and of those that came meanwhile.
    fn spans(&self) -> Vec<Value> {
        let first = self.requests.recv_timeout(Duration::from_secs(10)).unwrap();
        let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        std::iter::once(first)
            .chain(self.requests.try_iter())
            .flat_map(|request| all(&request, "resourceSpans"))
            .flat_map(|resource| all(&resource, "scopeSpans"))
            .flat_map(|scope| all(&scope, "spans"))
            .collect()
    }

    fn env(&self) -> [(&str, &str); 2] {
        let protocol = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
        [("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url), protocol]
    }
}

fn request(stream: &TcpStream) -> Value {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut reader = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while line.trim() != "" || length == 0 {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
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

fn attribute(span: &Value, key: &str) -> Option<Value> {
    let pair = span["attributes"].as_array()?.iter().find(|pair| pair["key"] == key)?;
    let value = &pair["value"];
    let texts = |all: &Vec<Value>| all.iter().map(|one| one["stringValue"].clone()).collect();
    Some(if let Some(number) = value["intValue"].as_str() {
        number.parse::<i64>().unwrap().into()
    } else {
        value["arrayValue"]["values"].as_array().map_or(value["stringValue"].clone(), texts)
    })
}

#[track_caller]
fn named<'s>(spans: &'s [Value], name: &str) -> &'s Value {
    let all: Vec<&Value> = spans.iter().filter(|span| span["name"] == name).collect();
    assert_eq!(all.len(), 1, "{name} in {spans:#?}");
    all[0]
}

/// Every span has an id of its own, no attribute twice, and a time that ends within its parent's.
#[track_caller]
fn well_formed(spans: &[Value]) {
    let ids: BTreeSet<_> = spans.iter().map(|span| span["spanId"].as_str()).collect();
    assert_eq!(ids.len(), spans.len(), "an id twice");
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    for span in spans {
        let all = span["attributes"].as_array().unwrap();
        let keys: BTreeSet<_> = all.iter().map(|pair| pair["key"].as_str()).collect();
        assert_eq!(keys.len(), all.len(), "an attribute twice: {span:#}");
        let (start, end) = (time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
        assert!(start <= end, "{span:#}");
        if let Some(parent) = spans.iter().find(|other| other["spanId"] == span["parentSpanId"]) {
            assert!(time(parent, "startTimeUnixNano") <= start, "{span:#} in {parent:#}");
            assert!(end <= time(parent, "endTimeUnixNano"), "{span:#} in {parent:#}");
            assert_eq!(parent["traceId"], span["traceId"]);
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
fn nothing_is_recorded_unless_the_user_enables_it() {
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
    let collector = Collector::new();
    let [endpoint, protocol] = collector.env();
    let env = [endpoint, protocol, ("TRACEPARENT", PARENT), ("TRACESTATE", "a=1")];
    let edit = ["apply", "b.txt", "--mode", "append", "--content", "x", "--agent", "robot"];
    let answer = edt(&workspace, &env, &edit);
    let commit = answer.landed().commit().to_owned();
    assert_eq!(edt(&workspace, &env, &["telemetry", "status"]).json["on"], true);
    for timeout in ["1e19", "3601", "-1", "NaN"] {
        let flush = ["telemetry", "flush", &format!("--timeout={timeout}")];
        workspace.refuses(&["BAD_REQUEST"], 2, &flush);
    }
    let flushed = edt(&workspace, &env, &["telemetry", "flush"]);
    let spans = collector.spans();
    let counts = json!({"sent": spans.len(), "unreadable": 0});
    assert_eq!((&flushed.json["flushed"], &flushed.json["spool"]["spans"]), (&counts, &json!(0)));
    well_formed(&spans);
    let root = named(&spans, "execute_tool apply");
    assert_eq!(root["traceId"], TRACE);
    assert_eq!(
        (&root["parentSpanId"], &root["traceState"]),
        (&json!("00f067aa0ba902b7"), &json!("a=1"))
    );
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
    let stages =
        ["lock", "recover", "resolve", "plan", "guard", "commit", "publish", "streak", "observe"];
    for stage in stages.map(|stage| format!("edt.{stage}")) {
        assert_eq!(named(&spans, &stage)["parentSpanId"], root["spanId"], "{stage}");
    }
    let stage = named(&spans, "edt.guard");
    let guards: Vec<&Value> =
        spans.iter().filter(|span| span["parentSpanId"] == stage["spanId"]).collect();
    let all = workspace.edt(&["guards"]).json["guards"].as_array().unwrap().len();
    assert_eq!(guards.len(), all, "one span for each guard on the only file");
    assert!(guards.iter().all(|span| attribute(span, "edt.file").is_some()));
    assert!(guards.iter().all(|span| attribute(span, "edt.guard.verdict").is_some()));
    assert_eq!(spans.len(), 1 + stages.len() + guards.len(), "nothing twice, and nothing else");

    // Secrets are not shown.
    let secret = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@127.0.0.1:9"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter3"),
    ];
    let status = edt(&workspace, &secret, &["telemetry", "status"]).json;
    assert_eq!(status["headers"], json!(["authorization"]));
    assert_eq!(status["endpoint"], "http://127.0.0.1:9/v1/traces");
    assert!(!status.to_string().contains("hunter"), "{status:#}");

    // A refusal has its code and guard, and a malformed parent is none.
    let env = [endpoint, protocol, ("TRACEPARENT", "00-nonsense-01")];
    let broken = "int main(void)\n{\n\treturn (0;\n}\n";
    edt(&workspace, &env, &["apply", "a.c", "--mode", "overwrite", "--content", broken]);
    let spans = waiting(&workspace);
    let root = named(&spans, "execute_tool apply");
    assert_eq!((&root["parent"], &root["failed"]), (&Value::Null, &json!(true)));
    assert_eq!(root["attributes"]["error.type"], "SYNTAX_ERROR");
    assert_eq!(root["attributes"]["edt.codes"], json!(["SYNTAX_ERROR"]));
    let guard = named(&spans, "guard syntax");
    assert_eq!(guard["attributes"]["edt.guard.verdict"], "refuse");
    assert!(
        !spans.iter().any(|span| span["name"] == "edt.commit" || span["name"] == "edt.publish")
    );

    // A file that cannot be written changes no answer.
    std::fs::remove_dir_all(directory(&workspace)).unwrap();
    std::fs::write(directory(&workspace), "a file where the directory should be").unwrap();
    edt(&workspace, &env, &["apply", "b.txt", "--mode", "overwrite", "--content", "c\n"]).landed();
}

#[test]
fn a_call_of_the_server_is_one_span_that_the_server_sends() {
    let workspace = workspace();
    let collector = Collector::new();
    let mut command = workspace.command(EDT);
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
    command.envs(collector.env()).env("TRACEPARENT", PARENT);
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
    let spans = collector.spans();
    assert!(!directory(&workspace).exists(), "what was sent is not in the file");
    well_formed(&spans);
    let roots: Vec<&Value> =
        spans.iter().filter(|span| span["name"] == "tools/call apply").collect();
    assert_eq!(roots.len(), 2);
    let (first, second) = (roots[0], roots[1]);
    assert_eq!(first["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(first["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(first["links"][0]["traceId"], TRACE, "the process's own context is linked");
    assert_eq!((&second["traceId"], second["links"].get(0)), (&json!(TRACE), None));
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
    assert_eq!((&first["kind"], attribute(first, "error.type")), (&json!(2), None));
    assert_eq!(
        attribute(second, "error.type"),
        Some(json!("tool_error")),
        "as the convention has it"
    );
    assert_eq!(attribute(second, "edt.codes"), Some(json!(["FILE_EXISTS"])));
    assert_eq!(spans.iter().filter(|span| span["parentSpanId"] == first["spanId"]).count(), 9);
}

#[test]
fn programs_and_agents_own_tools_have_spans_and_content_only_on_request() {
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

    // An agent's own tool.
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
    let root = named(&spans, "edt agent-hook");
    assert_eq!(
        (&root["name"], &root["attributes"]["gen_ai.tool.call.id"]),
        (&json!("edt agent-hook"), &json!("toolu_9"))
    );
    assert_eq!(root["attributes"]["gen_ai.agent.name"], "claude-code");
    assert!(spans.iter().any(|span| span["name"] == "edt.resolve"));

    // Content.
    let asked = [
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
    ];
    let content = "x SECRETWORD ghp_0123456789abcdefghij\n";
    edt(&workspace, &asked[..1], &["apply", "b.txt", "--mode", "overwrite", "--content", content])
        .landed();
    let spooled = || std::fs::read_to_string(directory(&workspace).join("traces.jsonl")).unwrap();
    assert!(!spooled().contains("SECRETWORD"));
    edt(&workspace, &asked, &["apply", "b.txt", "--mode", "append", "--content", content]).landed();
    assert!(spooled().contains("SECRETWORD") && !spooled().contains("ghp_0123"));
    edt(&workspace, &asked, &["run", "--", "echo", "--password", "hunter3z"]);
    assert!(
        spooled().contains("--password") && !spooled().contains("hunter3z"),
        "name and value are two arguments"
    );
}
