//! An answer that standard output does not take is no success.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

/// Calls that succeed in a repository with a session of one edit.
const CALLS: &[&str] = &[
    "--version",
    "--help",
    "help apply",
    "status",
    "log",
    "show",
    "diff",
    "read a.py",
    "outline a.py",
    "search one",
    "ls",
    "check b.txt --mode create --content x",
    "apply c.txt --mode create --content x",
    "undo",
    "redo",
    "begin --help",
    "run ls -la",
    "run --output 1",
    "propose d.txt --mode create --content x",
    "proposals",
    "restore a.py --dry-run",
    "stats",
    "gc --dry-run",
    "memory list",
    "guide",
    "guards",
    "policy check -- ls",
    "hooks status",
    "trust --list",
    "explain SIZE_REDUCTION",
    "schema request",
    "completions bash",
    "man run",
    "setup codex --dry-run",
    "doctor",
    "demo",
];

fn session() -> TestRepo {
    let workspace = TestRepo::with(&[("a.py", b"def one():\n    return 1\n")]);
    let append = ["apply", "a.py", "--mode", "append", "--content", "two = 2\n"];
    workspace.edt(&append).landed();
    workspace.runs(&[], &["echo", "hello"]);
    workspace
}

fn through_shell(workspace: &TestRepo, call: &str, to: &str) -> Output {
    let mut command = workspace.command("bash");
    command.args(["-c", &format!("set -o pipefail; \"$0\" {call} {to}"), EDT]);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let workspace = session();
    for call in CALLS {
        for form in [*call, &format!("{call} --json")] {
            // What follows the program of a run belongs to it.
            let form = form.strip_prefix("run ls -la --json").map_or(form, |_| "run --json ls -la");
            let done = through_shell(&workspace, form, "> /dev/full");
            let stderr = String::from_utf8_lossy(&done.stderr);
            assert_ne!(done.status.code(), Some(0), "edt {form} > /dev/full: {stderr}");
            assert!(stderr.contains("No space left on device"), "edt {form}: {stderr}");
        }
    }
}

#[test]
fn a_refusal_that_cannot_be_written_keeps_its_exit_status() {
    let workspace = session();
    let done = through_shell(&workspace, "read none.txt --json", "> /dev/full");
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).contains("exit status 1"));
}

#[test]
fn a_reader_that_closes_its_pipe_gets_no_message() {
    let workspace = session();
    for call in ["log", "status --json", "read a.py", "--help", "--version"] {
        let done = through_shell(&workspace, call, "| true");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "edt {call}");
        assert_eq!(done.status.code(), Some(0), "edt {call}");
    }
}

#[test]
fn arguments_after_a_program_are_its_own_and_a_line_for_a_shell_is_explained() {
    let workspace = session();
    let done = through_shell(&workspace, "run ls -la --json", "");
    assert_eq!(done.status.code(), Some(10), "ls knows no --json: {done:?}");
    let done = through_shell(&workspace, "run ls -la a.py", "");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stdout).contains("rw"), "{done:?}");
    for line in ["ls | wc", "ls > b", "cd a; ls"] {
        let done = workspace.command(EDT).args(["run", line]).output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert!(stderr.contains("PROGRAM_NOT_FOUND"), "{line}: {stderr}");
        assert!(stderr.contains(&format!("edt run --shell '{line}'")), "{line}: {stderr}");
    }
}

#[test]
fn a_client_that_repeats_a_call_with_its_error_gets_no_error_mark() {
    let workspace = session();
    for (client, is_error) in [
        ("qwen-code-mcp-client", false),
        ("qwen-cli-mcp-client-edt", false),
        ("gemini-cli-mcp-client", false),
        ("other", true),
    ] {
        let mut server = workspace
            .command(EDT)
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let info = json!({"name": client, "version": "0"});
        let parameters = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": info});
        let arguments = json!({"path": "none.py", "mode": "append", "content": "x"});
        for message in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                "params": {"name": "apply", "arguments": arguments}}),
        ] {
            writeln!(server.stdin.as_mut().unwrap(), "{message}").unwrap();
        }
        drop(server.stdin.take());
        let done = server.wait_with_output().unwrap();
        let lines = String::from_utf8(done.stdout).unwrap();
        let answers = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answer = answers.into_iter().find(|answer| answer["id"] == 2).unwrap();
        assert_eq!(answer["result"]["isError"], is_error, "{client}: {answer:#}");
        assert_eq!(answer["result"]["structuredContent"]["status"], "refused", "{client}");
    }
}
