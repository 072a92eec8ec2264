//! Counters of `edt mcp`, in a build with the feature `metrics`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

/// A server with counters.
struct Served {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Served {
    fn by(workspace: &TestRepo) -> Served {
        let mut command = workspace.command(EDT);
        command.args(["mcp", "--metrics", "127.0.0.1:0"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("edt: metrics at http://").unwrap();
        let address = address.strip_suffix("/metrics").unwrap().to_owned();
        let mut served = Served { child, input, output: BufReader::new(output), address };
        served.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "robot", "version": "1"}}}));
        served.read();
        served.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        served
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The status of a call of `apply`.
    fn apply(&mut self, arguments: &Value) -> Value {
        let params = json!({"name": "apply", "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        self.read()["result"]["structuredContent"]["status"].clone()
    }

    /// The answer to a request for `path` of `host`.
    fn get(&self, method: &str, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn calls_are_counted_and_shown() {
    let policy = b"[session]\nmax_edits = 5\n";
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy)]);
    let mut served = Served::by(&workspace);
    let append = json!({"path": "a.txt", "mode": "append", "content": "x\n"});
    assert_eq!(served.apply(&append), "applied");
    assert_eq!(served.apply(&append), "applied");
    assert_eq!(served.apply(&json!({"path": "a.txt", "mode": "edit", "content": "x"})), "refused");
    let answer = served.get("GET", "/metrics", &served.address);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: application/openmetrics-text; version=1.0.0"));
    for line in [
        "edt_calls_total{tool=\"apply\",status=\"applied\"} 2",
        "edt_calls_total{tool=\"apply\",status=\"refused\"} 1",
        "edt_refusals_total{code=\"OLD_TEXT_REQUIRED\"} 1",
        "edt_edits_total{mode=\"append\"} 2",
        "edt_call_duration_seconds_count{tool=\"apply\"} 3",
        "edt_session_remaining_edits{session=\"main-1\"} 3",
        "# EOF",
    ] {
        assert!(answer.lines().any(|other| other == line), "{line} in\n{answer}");
    }
}

#[test]
fn only_metrics_are_answered_and_only_to_this_machine() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let served = Served::by(&workspace);
    for (method, path, host, status) in [
        ("GET", "/metrics", "localhost", "200"),
        ("GET", "/", "localhost", "404"),
        ("POST", "/metrics", "localhost", "405"),
        ("GET", "/metrics", "rebound.example.org", "403"),
    ] {
        let answer = served.get(method, path, host);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}{path}: {answer}");
    }
}

#[test]
fn an_address_of_other_machines_is_refused() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    for address in ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464", "localhost", "9464"] {
        let done = workspace.command(EDT).args(["mcp", "--metrics", address]).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{address}: {said}");
        assert!(said.contains("loopback address"), "{said}");
    }
}
