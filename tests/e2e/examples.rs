//! The agents in `examples/`, with a scripted model on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

/// What the model calls, one call for each answer; then it is done.
fn script() -> Vec<(&'static str, Value)> {
    let edit =
        |old: &str| json!({"path": "a.py", "mode": "edit", "old_text": old, "content": "return 2"});
    vec![
        ("apply", edit("return nothing")),
        ("apply", edit("return 1")),
        ("read", json!({"path": "a.py"})),
        ("run", json!({"program": "cat", "args": ["a.py"]})),
    ]
}

/// A model that answers one request for each connection; returns its address and what it was sent.
fn model() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let at = requests.lock().unwrap().len();
            requests.lock().unwrap().push(body(&stream));
            let message = match script().get(at) {
                Some((name, arguments)) => json!({"role": "assistant", "content": null,
                    "tool_calls": [{"id": format!("call{at}"), "type": "function",
                        "function": {"name": name, "arguments": arguments.to_string()}}]}),
                None => json!({"role": "assistant", "content": "all done"}),
            };
            let answer = json!({"choices": [{"index": 0, "message": message}]}).to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{answer}",
                answer.len()
            );
        }
    });
    (address, received)
}

fn body(stream: &TcpStream) -> Value {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// The output of `command`, which must end within a minute.
fn bounded(command: &mut Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the agent goes on: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn plays(program: &str, file: &str) {
    let workspace = TestRepo::with(&[("a.py", b"def one():\n    return 1\n")]);
    if workspace.command(program).arg("--version").output().is_err() {
        println!("skipped: {program} is missing");
        return;
    }
    let (address, received) = model();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
    let bin = Path::new(EDT).parent().unwrap().display();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    let mut command = workspace.command(program);
    command.arg(agent).args(["let", "one", "return", "2"]).env("PATH", path);
    command.env("OPENAI_BASE_URL", address).env("OPENAI_API_KEY", "none").env("OPENAI_MODEL", "m");
    let done = bounded(&mut command);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "all done\n");
    let received = received.lock().unwrap();
    assert_eq!(received.len(), script().len() + 1);
    let guide = received[0]["messages"][0]["content"].as_str().unwrap();
    assert!(guide.starts_with("# Editing with edt"), "{guide}");
    assert_eq!(received[0]["messages"][1]["content"], "let one return 2");
    let answers: Vec<&str> = received[1..]
        .iter()
        .map(|request| request["messages"].as_array().unwrap().last().unwrap())
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    let expected = ["OLD_TEXT_NOT_FOUND", "\"status\":\"applied\"", "return 2", "return 2"];
    for (answer, expected) in answers.iter().zip(expected) {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
    assert_eq!(workspace.text("a.py"), "def one():\n    return 2\n");
    assert_eq!(workspace.git(&["rev-list", "--count", "main..HEAD"]), "1\n");
    assert!(workspace.git(&["branch", "--show-current"]).starts_with("edt/"));
}

#[test]
fn the_agent_in_python_edits_reads_and_runs() {
    plays("python3", "agent.py");
}

#[test]
fn the_agent_in_javascript_edits_reads_and_runs() {
    plays("node", "agent.mjs");
}
