//! Models as agents: a server on loopback that answers completely, in pieces, late, or not at all.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::edt_bench;

pub(crate) const KEY: &str = "sk-never-to-be-seen-4711";

/// How the server answers one request.
#[derive(Clone)]
pub(crate) enum Reply {
    Send(Vec<u8>),
    SendByteByByte(Vec<u8>),
    /// Sends nothing until the client disconnects.
    Hang,
    /// Sends bytes without end.
    Flood,
}

/// The head of a request in lower case, and its body.
pub(crate) type ReceivedRequest = (String, Value);

pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    /// A server that answers by `script` in order, and then repeats the last answer.
    pub(crate) fn new(script: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = received.clone();
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let Ok(mut stream) = stream else { return };
                let Some(request) = read(&mut stream) else { continue };
                log.lock().unwrap().push(request);
                let _ = answer(&mut stream, &script[at.min(script.len() - 1)]);
            }
        });
        Server { url, received }
    }

    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length: usize =
            head.split("content-length: ").nth(1)?.lines().next()?.trim().parse().ok()?;
        if bytes.len() >= end + 4 + length {
            return Some((head, serde_json::from_slice(&bytes[end + 4..]).ok()?));
        }
    }
}

fn answer(stream: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    match reply {
        Reply::Send(bytes) => stream.write_all(bytes),
        Reply::SendByteByByte(bytes) => {
            bytes.iter().try_for_each(|byte| stream.write_all(&[*byte]))
        }
        Reply::Hang => stream.read(&mut [0]).map(drop),
        Reply::Flood => {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
            )?;
            loop {
                stream.write_all(&[b'x'; 8192])?;
            }
        }
    }
}

pub(crate) fn status(line: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {line}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

pub(crate) fn complete(body: &Value) -> Vec<u8> {
    status("200 OK", "content-type: application/json\r\n", &body.to_string())
}

/// A streamed answer that ends with the connection.
fn stream(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

const EDIT: &str =
    r#"{"edits": [{"path": "a.txt", "mode": "edit", "old_text": "x", "content": "y ü€"}]}"#;

/// An answer of `/chat/completions` that calls a tool.
fn openai(name: &str, arguments: &str) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function":
        {"name": name, "arguments": arguments}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100}})
}

/// The same answer as a stream, with the arguments in pieces of seven characters.
fn openai_stream(name: &str, arguments: &str) -> String {
    let chunk = |delta: Value, reason: Value| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        )
    };
    let mut text = ": a comment\r\n\r\n".to_owned();
    let first = json!({"role": "assistant", "content": null, "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}]});
    text += &chunk(first, Value::Null);
    let characters: Vec<char> = arguments.chars().collect();
    for piece in characters.chunks(7) {
        let piece: String = piece.iter().collect();
        text += &chunk(
            json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}),
            Value::Null,
        );
    }
    text += &chunk(json!({}), json!("tool_calls"));
    text += "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 1000, \"completion_tokens\": 100}}\n\ndata: [DONE]\n\n";
    text
}

fn anthropic(name: &str, input: &Value) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "So."}, {"type": "tool_use", "id": "t1", "name": name, "input": input}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 100}})
}

fn anthropic_stream(name: &str, input: &str) -> String {
    let event =
        |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let mut text = event(
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1000, "output_tokens": 1}}}),
    );
    text += &event(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    text += &event(json!({"type": "ping"}));
    text += &event(
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "So."}}),
    );
    text += &event(json!({"type": "content_block_stop", "index": 0}));
    text += &event(
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t1", "name": name, "input": {}}}),
    );
    let characters: Vec<char> = input.chars().collect();
    for piece in characters.chunks(5) {
        let piece: String = piece.iter().collect();
        text += &event(
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}),
        );
    }
    text += &event(json!({"type": "content_block_stop", "index": 1}));
    text += &event(
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 100}}),
    );
    text + &event(json!({"type": "message_stop"}))
}

/// A directory with one task. Its judge expects `y ü€` and no API key in its environment.
struct Lab {
    dir: tempfile::TempDir,
}

const SUITE: &str = r#"schema = "edt.suite/1"
description = "One."
attempts = 1

[[task]]
id = "one"
instruction = "Replace x by y in a.txt."
date = "2026-01-01"
judge = { kind = "program", argv = ["python3", "-S", "-c", "import json, os; ok = open('a.txt').read() == 'y ü€\\n' and 'never-to-be-seen' not in str(os.environ); print(json.dumps({'pass': ok, 'score': 0.0, 'feedback': str(ok)}))"] }
repo = { "a.txt" = "x\n" }
"#;

impl Lab {
    fn new() -> Lab {
        // The sandbox replaces `/dev`: it cannot see a suite below `/dev/shm`.
        let dir = tempfile::Builder::new()
            .prefix("edt-llm-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        let lab = Lab { dir };
        std::fs::create_dir_all(lab.path("s")).unwrap();
        std::fs::create_dir_all(lab.path("home/.config")).unwrap();
        std::fs::write(lab.path("s/suite.toml"), SUITE).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn try_run(&self, protocol: &str, url: &str, more: &[&str]) -> Output {
        let mut command = edt_bench(self.dir.path(), &self.path("home"));
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
            "OPENAI_BASE_URL",
            "ANTHROPIC_BASE_URL",
        ] {
            command.env_remove(name);
        }
        command.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
        let base = if protocol == "openai" { format!("{url}/v1") } else { url.to_owned() };
        command.args(["run", "s", "--agent", &format!("{protocol}:m-1"), "--base-url", &base]);
        command.args(["--out", "r", "--record", "said", "--json"]).args(more).output().unwrap()
    }

    /// Runs the task against `script`: the attempt and the requests. The API key must appear
    /// nowhere.
    #[track_caller]
    fn run(
        &self,
        protocol: &str,
        script: Vec<Reply>,
        more: &[&str],
    ) -> (Value, Vec<ReceivedRequest>) {
        let server = Server::new(script);
        let done = self.try_run(protocol, &server.url, more);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(done.status.success(), "{text}");
        self.assert_no_key(&text);
        let line: Value =
            serde_json::from_slice(&std::fs::read(self.path("r/results.jsonl")).unwrap()).unwrap();
        (line["runs"][0]["attempts"][0].clone(), server.received())
    }

    #[track_caller]
    fn assert_no_key(&self, text: &str) {
        assert!(!text.contains(KEY), "{text}");
        let found = Command::new("grep")
            .args(["-r", "-l", KEY, "."])
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
    }
}

#[track_caller]
fn assert_solved(attempt: &Value) {
    assert_eq!(
        (&attempt["pass"], &attempt["ended"]),
        (&json!(true), &json!("done")),
        "{attempt:#}"
    );
}

#[test]
fn a_task_is_solved_through_both_protocols_streamed_and_complete() {
    let input: Value = serde_json::from_str(EDIT).unwrap();
    let price = ["--price", "3/15", "--temperature", "0"];
    let whole_too = ["--price", "3/15", "--temperature", "0", "--no-stream"];
    let cases: [(&str, &[&str], Vec<Reply>); 4] = [
        (
            "openai",
            &price,
            vec![
                Reply::SendByteByByte(stream(&openai_stream("apply", EDIT))),
                Reply::Send(stream(&openai_stream("done", "{}"))),
            ],
        ),
        (
            "openai",
            &whole_too,
            vec![
                Reply::Send(complete(&openai("apply", EDIT))),
                Reply::Send(complete(&openai("done", ""))),
            ],
        ),
        (
            "anthropic",
            &price,
            vec![
                Reply::SendByteByByte(stream(&anthropic_stream("apply", EDIT))),
                Reply::Send(stream(&anthropic_stream("done", ""))),
            ],
        ),
        (
            "anthropic",
            &whole_too,
            vec![
                Reply::Send(complete(&anthropic("apply", &input))),
                Reply::Send(complete(&anthropic("done", &json!({})))),
            ],
        ),
    ];
    for (protocol, more, script) in cases {
        let lab = Lab::new();
        let (attempt, received) = lab.run(protocol, script, more);
        assert_solved(&attempt);
        assert_eq!(
            attempt["usage"],
            json!({"input_tokens": 2000, "output_tokens": 200, "cost_usd": 0.009}),
            "{protocol}"
        );
        assert_eq!(
            (&attempt["sent"], &attempt["landed"], received.len()),
            (&json!(1), &json!(1), 2)
        );
        let (head, body) = &received[1];
        assert_eq!(
            (&body["model"], &body["temperature"], body["stream"] == true),
            (&json!("m-1"), &json!(0.0), more.len() == 4)
        );
        if protocol == "openai" {
            assert!(
                head.starts_with("post /v1/chat/completions ")
                    && head.contains(&format!("authorization: bearer {KEY}"))
            );
            assert_eq!(body["messages"][3]["role"], "tool");
            assert_eq!(body["messages"][3]["tool_call_id"], "c1");
            assert!(
                body["messages"][3]["content"].as_str().unwrap().contains("\"status\":\"applied\"")
            );
        } else {
            assert!(
                head.starts_with("post /v1/messages ")
                    && head.contains(&format!("x-api-key: {KEY}"))
            );
            assert!(head.contains("anthropic-version: 2023-06-01"));
            assert_eq!(body["messages"][1]["content"][1]["input"], input);
            assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "t1");
        }
    }
}

#[test]
fn edits_in_text_are_applied_and_refusals_are_sent_to_the_model() {
    let say = |text: &str| {
        Reply::Send(complete(
            &json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}),
        ))
    };
    let block = |old: &str| {
        format!("I change it:\n\na.txt\n<<<<<<< SEARCH\n{old}\n=======\ny ü€\n>>>>>>> REPLACE\n")
    };
    let lab = Lab::new();
    let (attempt, received) = lab.run(
        "openai",
        vec![say(&block("not there at all")), say(&block("x"))],
        &["--edits", "text"],
    );
    assert_solved(&attempt);
    assert_eq!((&attempt["sent"], &attempt["landed"], received.len()), (&json!(2), &json!(1), 2));
    let sent_text = received[1].1["messages"][3]["content"].as_str().unwrap();
    assert!(
        received[0].1.get("tools").is_none()
            && sent_text.contains("\"status\":\"refused\"")
            && sent_text.contains("hint"),
        "{sent_text}"
    );
    assert!(
        received[0].1["messages"][1]["content"].as_str().unwrap().contains("a.txt:\n```\nx\n"),
        "without tools the files are shown"
    );
}

#[test]
fn temporary_errors_are_retried_after_the_wait_that_the_server_asks_for() {
    let good = || {
        [
            Reply::Send(complete(&openai("apply", EDIT))),
            Reply::Send(complete(&openai("done", "{}"))),
        ]
    };
    let error = r#"data: {"choices": [{"delta": {"content": "So"}}]}

data: {"error": {"type": "server_error", "message": "overloaded"}}

"#;
    let torn = openai_stream("apply", EDIT);
    let passing = [
        ("429", status("429 Too Many Requests", "retry-after: 2\r\n", "{}"), 2.0),
        ("500", status("500 Internal Server Error", "", "oops"), 0.2),
        (
            "malformed",
            status("200 OK", "content-type: application/json\r\n", "{\"choices\": [{"),
            0.2,
        ),
        ("another form", complete(&json!({"answer": 42})), 0.2),
        ("error in the stream", stream(error), 0.2),
        ("cut stream", stream(&torn[..torn.len() / 2]), 0.2),
        ("cut answer", status("200 OK", "content-length: 9999\r\n", "{")[..].to_vec(), 0.2),
    ];
    for (what, bytes, wait) in passing {
        let started = Instant::now();
        let (attempt, received) =
            Lab::new().run("openai", [vec![Reply::Send(bytes)], good().to_vec()].concat(), &[]);
        assert_solved(&attempt);
        assert_eq!((received.len(), &attempt["sent"]), (3, &json!(1)), "{what}");
        assert!(
            started.elapsed() >= Duration::from_secs_f64(wait),
            "{what}: {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn a_wait_longer_than_the_attempt_is_not_begun() {
    let late = status("429 Too Many Requests", "retry-after: 3600\r\n", "{}");
    let started = Instant::now();
    let (attempt, received) = Lab::new().run("openai", vec![Reply::Send(late)], &["--limit", "20"]);
    assert_eq!((&attempt["ended"], received.len()), (&json!("timed_out"), 1), "{attempt:#}");
    assert!(
        attempt["complaint"].as_str().unwrap().contains("answered 429")
            && started.elapsed() < Duration::from_secs(15)
    );
}

#[test]
fn a_wrong_key_ends_the_run_and_is_not_printed() {
    let body =
        json!({"error": {"type": "invalid_request_error", "message": format!("Incorrect API key provided: {KEY}.")}})
            .to_string();
    for protocol in ["openai", "anthropic"] {
        let (lab, server) =
            (Lab::new(), Server::new(vec![Reply::Send(status("401 Unauthorized", "", &body))]));
        let done = lab.try_run(protocol, &server.url, &[]);
        let text = String::from_utf8(done.stdout).unwrap();
        assert_eq!((done.status.code(), server.received().len()), (Some(5), 1), "{text}");
        let outcome: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(outcome["errors"][0]["code"], "MODEL_REFUSED");
        assert!(text.contains("answered 401: Incorrect API key provided: ***"), "{text}");
        lab.assert_no_key(&(text + &String::from_utf8_lossy(&done.stderr)));
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Server::new(vec![Reply::Send(complete(&openai("done", "{}")))]);
    let to = format!("location: {}/v1/chat/completions\r\n", other.url);
    let (attempt, received) =
        Lab::new().run("openai", vec![Reply::Send(status("307 Temporary Redirect", &to, ""))], &[]);
    assert_eq!(
        (&attempt["ended"], received.len(), other.received().len()),
        (&json!("died"), 1, 0),
        "{attempt:#}"
    );
    assert!(attempt["complaint"].as_str().unwrap().contains("redirects (307)"));
}

#[test]
fn a_hanging_or_endless_answer_ends_the_attempt() {
    let started = Instant::now();
    let (attempt, _) = Lab::new().run("anthropic", vec![Reply::Hang], &["--limit", "2"]);
    assert_eq!(attempt["ended"], "timed_out", "{attempt:#}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let (attempt, received) = Lab::new().run("openai", vec![Reply::Flood], &["--limit", "60"]);
    assert_eq!((&attempt["ended"], received.len()), (&json!("flooded"), 1), "{attempt:#}");
}

#[test]
fn a_malformed_call_is_reported_to_the_model_and_counted() {
    let script = [
        openai("apply", "{\"edits\": ["),
        openai("paint", "{}"),
        openai("run", r#"{"argv": ["env"]}"#),
        openai("apply", EDIT),
        openai("done", "{}"),
    ];
    let lab = Lab::new();
    let (attempt, received) =
        lab.run("openai", script.iter().map(|reply| Reply::Send(complete(reply))).collect(), &[]);
    assert_solved(&attempt);
    assert_eq!((&attempt["malformed"], &attempt["sent"]), (&json!(2), &json!(1)));
    let sent_text = |at: usize| {
        received[at].1["messages"].as_array().unwrap().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        sent_text(1).contains("cannot be read") && sent_text(2).contains("there is no tool"),
        "{}",
        sent_text(2)
    );
    assert!(
        sent_text(3).contains("PATH=") && !sent_text(3).contains(KEY),
        "a program that the model runs does not get the key: {}",
        sent_text(3)
    );
    let text = std::fs::read_to_string(lab.path("said/s/one/none-on-1.jsonl")).unwrap();
    let types: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(types, ["run", "apply", "done"], "the recording can be replayed");
}

#[test]
fn a_remote_server_needs_an_api_key() {
    let lab = Lab::new();
    let run = |named: &str, agent: &[&str]| {
        let mut command = edt_bench(lab.dir.path(), &lab.path("home"));
        command.env_remove("OPENAI_API_KEY").env("EDT_BENCH_API_KEY_VAR", named);
        command.args(["run", "s", "--json", "--agent"]).args(agent).output().unwrap()
    };
    for (named, agent, sent_text) in [
        ("", vec!["openai:m"], "the variable OPENAI_API_KEY is empty or not set"),
        ("MY_KEY", vec!["openai:m"], "the variable MY_KEY is empty or not set"),
        (
            "",
            vec!["openai:m", "--base-url", "https://me:secret@example.com"],
            "not an http or https URL",
        ),
        ("", vec!["python3 x.py", "--temperature", "0"], "the agent is a program"),
    ] {
        let done = run(named, &agent);
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            done.status.code() == Some(2)
                && text.contains("BAD_REQUEST")
                && text.contains(sent_text),
            "{agent:?}: {text}"
        );
    }
}

#[test]
#[cfg(not(feature = "tls"))]
fn an_https_address_needs_a_build_with_tls() {
    let lab = Lab::new();
    let mut command = edt_bench(lab.dir.path(), &lab.path("home"));
    command.env("OPENAI_API_KEY", KEY).args(["run", "s", "--json", "--agent", "openai:m"]);
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let refused = text.contains("BAD_REQUEST") && text.contains("--features tls");
    assert!(done.status.code() == Some(2) && refused && !text.contains(KEY), "{text}");
}
