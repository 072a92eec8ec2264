//! `edt acp` between an editor, which is the test, and an agent that does what its prompt says
//! (`tests/support/acp_agent.py`).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/acp_agent.py");

/// The file that a ruinous write empties.
fn big() -> String {
    "int f(int x) { return x; }\n".repeat(200)[..3400].to_owned()
}

fn workspace() -> TestRepo {
    TestRepo::with(&[("a.txt", b"one\ntwo\n"), ("big.c", big().as_bytes()), ("b.txt", b"b\n")])
}

/// An editor with a session `s1` in a worktree.
struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    log: PathBuf,
    next: u64,
    /// Whether it writes the files that the agent asks it to write.
    writes: bool,
    /// The option that it chooses when it is asked.
    /// What it has of a file that the user changed and did not save.
    buffer: &'static str,
    chooses: &'static str,
    /// What the agent sent, without responses, as lines.
    received: Vec<String>,
    /// The parameters of `session/new`, as the agent got them.
    new: Value,
}

impl Editor {
    fn new(workspace: &TestRepo) -> Editor {
        Editor::with(workspace, &json!([]))
    }

    fn with(workspace: &TestRepo, servers: &Value) -> Editor {
        let log = workspace.home.join("agent.log");
        let mut command = workspace.command(EDT);
        command.args(["acp", "--", "python3", AGENT]).arg(&log);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut editor = Editor {
            child,
            stdin,
            stdout,
            log,
            next: 0,
            writes: true,
            chooses: "yes",
            buffer: "",
            received: Vec::new(),
            new: Value::Null,
        };
        editor.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
        let params = json!({"cwd": workspace.root, "mcpServers": servers});
        editor.new = editor.ask("session/new", params)["result"]["_meta"]["params"].clone();
        editor
    }

    fn line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.line(format!("{message}\n").as_bytes());
    }

    /// The response to a request. Meanwhile it answers the agent's.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "edt closed its end");
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.received.push(line);
            self.answer(&message);
        }
    }

    fn answer(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        let result = match message["method"].as_str() {
            _ if id.is_null() => return,
            Some("fs/write_text_file") => {
                if self.writes {
                    let path = params["path"].as_str().unwrap();
                    std::fs::write(path, params["content"].as_str().unwrap()).unwrap();
                }
                json!({})
            }
            Some("fs/read_text_file") => json!({"content": self.buffer}),
            Some("session/request_permission") => {
                json!({"outcome": {"outcome": "selected", "optionId": self.chooses}})
            }
            _ => json!({"from": "editor"}),
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Sends a prompt with these steps; returns the responses that the agent got.
    fn prompt(&mut self, steps: &Value) -> Vec<Value> {
        let prompt = json!([{"type": "text", "text": steps.to_string()}]);
        let answer = self.ask("session/prompt", json!({"sessionId": "s1", "prompt": prompt}));
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer:#}");
        answer["result"]["_meta"]["seen"].as_array().unwrap().clone()
    }

    /// Whether the agent's message of this method reached the editor.
    fn got(&self, method: &str) -> bool {
        self.received.iter().any(|line| line.contains(&format!("\"{method}\"")))
    }

    /// Closes the input; returns the exit status and standard error.
    fn ends(mut self) -> (i32, String) {
        drop(self.stdin.take());
        let status = self.child.wait().unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status.code().unwrap_or(-1), stderr)
    }
}

fn write(workspace: &TestRepo, path: &str, content: &str) -> Value {
    let params = json!({"sessionId": "s1", "path": workspace.root.join(path), "content": content});
    json!({"send": {"id": "w", "method": "fs/write_text_file", "params": params}})
}

fn permission(call: &Value) -> Value {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let options = json!([
        option("ever", "allow_always"),
        option("yes", "allow_once"),
        option("no", "reject_once")
    ]);
    let params = json!({"sessionId": "s1", "toolCall": call, "options": options});
    json!({"send": {"id": 70, "method": "session/request_permission", "params": params}})
}

fn diff(workspace: &TestRepo, path: &str, old: &str, new: &str) -> Value {
    let path = workspace.root.join(path);
    let shown = json!({"type": "diff", "path": path, "oldText": old, "newText": new});
    json!({"toolCallId": "c1", "kind": "edit", "title": "Edit", "content": [shown]})
}

fn completed() -> Value {
    let update =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"});
    let params = json!({"sessionId": "s1", "update": update});
    json!({"send": {"method": "session/update", "params": params}})
}

fn outcome(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// The trailers `Edt-Agent` and the subjects of the session's edits.
fn edits(workspace: &TestRepo) -> Vec<(String, String)> {
    let log = workspace.edt(&["log"]).json;
    let edits = log["commits"].as_array().unwrap_or_else(|| panic!("{log:#}")).clone();
    let text = |edit: &Value, key: &str| edit[key].as_str().unwrap_or_default().to_owned();
    edits.iter().map(|edit| (text(edit, "agent"), text(edit, "subject"))).collect()
}

#[test]
fn a_new_session_gets_edts_server_once() {
    let workspace = workspace();
    let editor =
        Editor::with(&workspace, &json!([{"name": "x", "command": "/x", "args": [], "env": []}]));
    let servers = editor.new["mcpServers"].as_array().unwrap();
    let args = json!(["-C", workspace.root, "mcp"]);
    assert_eq!((servers.len(), &servers[0]["name"]), (2, &json!("x")));
    assert_eq!((&servers[1]["name"], &servers[1]["args"]), (&json!("edt"), &args));
    let program = servers[1]["command"].as_str().unwrap();
    assert!(Path::new(program).is_absolute() && program.ends_with("/edt"), "{program}");
    assert_eq!(editor.ends().0, 7, "the exit status is the agent's");
    let own = json!([{"name": "edt", "command": "/own", "args": [], "env": []}]);
    assert_eq!(Editor::with(&workspace, &own).new["mcpServers"], own);
}

#[test]
fn outside_of_a_repository_everything_passes_and_edt_says_so() {
    let place = TestRepo::bare_directory();
    std::fs::write(place.root.join("big.c"), big()).unwrap();
    let mut editor = Editor::new(&place);
    assert_eq!(editor.new["mcpServers"], json!([]));
    let seen = editor.prompt(&json!([write(&place, "big.c", "}\n")]));
    assert_eq!(seen[0]["result"], json!({}));
    let stderr = editor.ends().1;
    assert_eq!(stderr.matches("in no Git repository").count(), 1, "{stderr}");
}

#[test]
fn a_ruinous_write_is_refused_and_reaches_no_editor() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    let seen = editor.prompt(&json!([write(&workspace, "big.c", "}\n")]));
    let message = seen[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("SIZE_REDUCTION") && message.contains("next: "), "{message}");
    assert!(!editor.got("fs/write_text_file"));
    assert_eq!(workspace.text("big.c"), big());
    assert_eq!(editor.ends().0, 7);
    workspace.is_clean();
}

#[test]
fn a_harmless_write_is_recorded_as_the_agents() {
    let workspace = workspace();
    workspace.write("a.txt", "one\ntwo\nby hand\n");
    let mut editor = Editor::new(&workspace);
    let seen = editor.prompt(&json!([write(&workspace, "a.txt", "1\ntwo\nby hand\n")]));
    assert_eq!(seen[0]["result"], json!({}));
    let stderr = editor.ends().1;
    assert!(!stderr.contains("without a request"), "{stderr}");
    let expected = ("an-agent".to_owned(), "edit a.txt (fs/write_text_file)".to_owned());
    assert_eq!(edits(&workspace), [expected]);
    assert_eq!(workspace.git(&["show", "HEAD:a.txt"]), "1\ntwo\n");
    assert_eq!(workspace.text("a.txt"), "1\ntwo\nby hand\n");
    let log = workspace.as_user(b"", &["log", "--by-turn"], &[]).json;
    let turn = log["turns"][0].clone();
    assert_eq!((&turn["turn"], &turn["conversation"]), (&json!(1), &json!("s1")), "{turn:#}");
    assert!(turn["title"].as_str().unwrap().starts_with("[{\"send\""), "{turn:#}");
}

#[test]
fn a_request_that_edt_cannot_read_does_not_reach_the_editor() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    // What the programs of agents write for bytes that are no text.
    let mut call = write(&workspace, "big.c", "}\n");
    call["send"]["params"]["_meta"] = json!("SURROGATE");
    let raw = call["send"].to_string().replace("SURROGATE", "\\udc80");
    editor.prompt(&json!([{"raw": raw}, {"sleep": 0.5}]));
    assert!(!editor.got("fs/write_text_file"));
    let mut odd = permission(&diff(&workspace, "big.c", &big(), "}\n"));
    odd["send"]["params"]["options"][0]["kind"] = json!("allow_session");
    let seen = editor.prompt(&json!([odd]));
    assert_eq!(seen[0]["result"]["outcome"]["optionId"], "no", "{seen:#?}");
    assert!(!editor.got("session/request_permission"));
    editor.ends();
}

#[test]
fn text_that_the_user_has_not_saved_is_not_the_agents() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    let mut editor = Editor::new(&workspace);
    editor.buffer = "one\ntwo\ntyped\n";
    let params = json!({"sessionId": "s1", "path": workspace.root.join("a.txt")});
    let read = json!({"send": {"id": "r", "method": "fs/read_text_file", "params": params}});
    let whole = write(&workspace, "a.txt", "1\ntwo\ntyped\n");
    editor.prompt(&json!([read, whole]));
    let stderr = editor.ends().1;
    assert!(stderr.contains("text that you had not saved"), "{stderr}");
    assert_eq!(workspace.git(&["show", "HEAD:a.txt"]), "one\ntwo\n");
    assert_eq!(workspace.text("a.txt"), "1\ntwo\ntyped\n");
}

#[test]
fn a_write_that_the_editor_did_not_make_is_not_recorded() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    editor.writes = false;
    editor.prompt(&json!([write(&workspace, "a.txt", "1\ntwo\n")]));
    editor.ends();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    workspace.is_clean();
}

#[test]
fn a_ruinous_edit_is_rejected_and_the_user_is_not_asked() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    let seen = editor.prompt(&json!([permission(&diff(&workspace, "big.c", &big(), "}\n"))]));
    assert_eq!(seen[0]["result"], outcome("no"));
    assert!(!editor.got("session/request_permission"));
    assert!(editor.ends().1.contains("SIZE_REDUCTION"));
}

#[test]
fn an_edit_that_the_user_allowed_is_recorded_when_the_tool_made_it() {
    for whole in [true, false] {
        let workspace = workspace();
        let mut editor = Editor::new(&workspace);
        let (old, new) = if whole { ("one\ntwo\n", "1\ntwo\n") } else { ("one", "1") };
        let path = workspace.root.join("a.txt");
        let steps = json!([
            permission(&diff(&workspace, "a.txt", old, new)),
            {"write": path, "text": "1\ntwo\n"},
            completed(),
        ]);
        assert_eq!(editor.prompt(&steps)[0]["result"], outcome("yes"));
        let stderr = editor.ends().1;
        assert!(!stderr.contains("without a request"), "{stderr}");
        let edits = edits(&workspace);
        assert_eq!(edits.len(), 1, "{edits:?}");
        assert_eq!(edits[0].0, "an-agent");
        assert_eq!(workspace.git(&["show", "HEAD:a.txt"]), "1\ntwo\n");
    }
}

#[test]
fn a_permission_and_its_write_are_one_edit() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    let mut editor = Editor::new(&workspace);
    let new = "1\ntwo\n";
    let steps = json!([
        permission(&diff(&workspace, "a.txt", "one\ntwo\n", new)),
        write(&workspace, "a.txt", new),
        completed(),
    ]);
    editor.prompt(&steps);
    let stderr = editor.ends().1;
    assert_eq!(stderr, "");
    assert_eq!(edits(&workspace).len(), 1);
    workspace.is_clean();
}

#[test]
fn an_edit_that_the_user_rejected_is_not_recorded() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    editor.chooses = "no";
    let call = diff(&workspace, "a.txt", "one", "1");
    let seen = editor.prompt(&json!([permission(&call), completed()]));
    assert_eq!(seen[0]["result"], outcome("no"));
    assert_eq!(editor.ends().1, "");
    workspace.is_clean();
}

#[test]
fn a_denied_command_is_rejected_and_any_other_is_the_users_to_allow() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    let execute = |input: Value, title: &str| {
        permission(
            &json!({"toolCallId": "c1", "kind": "execute", "title": title, "rawInput": input}),
        )
    };
    let denied = "git reset --hard";
    for call in [
        execute(json!({"command": denied}), "Run"),
        execute(json!({"command": ["bash", "-lc", denied]}), "Run"),
        execute(Value::Null, denied),
    ] {
        assert_eq!(editor.prompt(&json!([call]))[0]["result"], outcome("no"));
        assert!(!editor.got("session/request_permission"));
    }
    let terminal = |command: &str, args: &[&str]| {
        let params = json!({"sessionId": "s1", "command": command, "args": args});
        json!({"send": {"id": 9, "method": "terminal/create", "params": params}})
    };
    for call in [terminal(denied, &[]), terminal("git", &["reset", "--hard"])] {
        let seen = editor.prompt(&json!([call]));
        let message = seen[0]["error"]["message"].as_str().unwrap();
        assert!(message.contains("edt refused this command"), "{message}");
    }
    assert!(!editor.got("terminal/create"));
    let steps = json!([execute(json!({"command": "git status"}), "Run"), terminal("ls", &[])]);
    let seen = editor.prompt(&steps);
    assert_eq!(seen[0]["result"], outcome("yes"), "of the user");
    assert_eq!(seen[1]["result"], json!({"from": "editor"}));
    assert!(editor.got("session/request_permission") && editor.got("terminal/create"));
    editor.ends();
}

#[test]
fn what_the_agent_writes_by_itself_is_left_over() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("b.txt", "b\nby hand\n");
    let mut editor = Editor::new(&workspace);
    let path = workspace.root.join("a.txt");
    let wrote = |text: &str| json!([{"write": path, "text": text}]);
    editor.prompt(&wrote("one\n"));
    editor.prompt(&wrote("one\n3\n"));
    let stderr = editor.ends().1;
    assert_eq!(stderr.matches("without a request to its editor").count(), 1, "{stderr}");
    let status = workspace.edt(&["status"]).json;
    let left: Vec<&Value> = status["left_over"].as_array().unwrap().iter().collect();
    assert_eq!(left.len(), 1, "{status:#}");
    assert_eq!(left[0]["path"], "a.txt");
    assert_eq!(workspace.git(&["show", "HEAD:a.txt"]), "one\ntwo\n");
    let subject = "turn: changed while an-agent worked".to_owned();
    assert_eq!(edits(&workspace), vec![("an-agent".to_owned(), subject); 2]);
    let turns = workspace.edt(&["log", "--by-turn"]).json["turns"].clone();
    assert_eq!((&turns[0]["turn"], &turns[1]["turn"]), (&json!(2), &json!(1)), "{turns:#}");
    assert_eq!(workspace.edt(&["undo", "--save", "-n", "2"]).exit, 0);
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    assert_eq!(workspace.text("b.txt"), "b\nby hand\n");
}

#[test]
fn edits_through_edt_are_recorded_once() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("a.txt", "one\ntwo\nby hand\n");
    let mut editor = Editor::new(&workspace);
    let before = json!([{"write": workspace.home.join("x"), "text": ""}]);
    editor.prompt(&before);
    // The editor holds its turn open while edt's server edits a file with the user's lines.
    let edit = json!({"path": "a.txt", "mode": "edit", "old_text": "one", "content": "1"});
    let held = json!([{"send": {"id": 5, "method": "x/hold", "params": {"sessionId": "s1"}}}]);
    let text = json!([{"type": "text", "text": held.to_string()}]);
    editor.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "session/prompt",
        "params": {"sessionId": "s1", "prompt": text}}));
    let mut line = String::new();
    editor.stdout.read_line(&mut line).unwrap();
    assert!(line.contains("x/hold"), "{line}");
    workspace.apply(&edit).landed();
    editor.send(&json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    line.clear();
    editor.stdout.read_line(&mut line).unwrap();
    assert!(line.contains("end_turn"), "{line}");
    assert_eq!(editor.ends().1, "");
    assert_eq!(edits(&workspace).len(), 1);
    assert_eq!(workspace.text("a.txt"), "1\ntwo\nby hand\n");
}

#[test]
fn other_messages_pass_as_they_are() {
    let workspace = workspace();
    let mut editor = Editor::new(&workspace);
    let lines: [&[u8]; 5] = [
        b"{\"jsonrpc\":\"2.0\",  \"method\":\"x/unknown\", \"params\":{\"a\":1.00, \"a\":2}}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{ \"sessionId\":\"s9\"}}\r\n",
        b"{\"broken\n",
        b"\xff\xfe\n",
        b"[{\"jsonrpc\":\"2.0\",\"method\":\"x/batch\"}]\n",
    ];
    for line in lines {
        editor.line(line);
    }
    let raw = [
        r#"{"jsonrpc":"2.0",  "method":"x/other", "params":{"sessionId":"s1", "n":1.50}}"#,
        r#"{"jsonrpc":"2.0","method":"fs/write_text_file","params":"odd"}"#,
        "not JSON",
    ];
    let steps: Vec<Value> = raw.iter().map(|line| json!({"raw": line})).collect();
    editor.prompt(&json!(steps));
    let expected: Vec<String> = raw.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(editor.received, expected);
    let log = editor.log.clone();
    editor.ends();
    let log = std::fs::read(log).unwrap();
    for line in lines {
        let found = log.windows(line.len()).any(|part| part == line);
        assert!(found, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_signal_ends_the_agent_and_its_open_turn() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    let mut editor = Editor::new(&workspace);
    let path = workspace.root.join("a.txt");
    let held = json!({"send": {"id": 5, "method": "x/hold", "params": {"sessionId": "s1"}}});
    let steps = json!([{"write": path, "text": "one\n"}, held]);
    let text = json!([{"type": "text", "text": steps.to_string()}]);
    editor.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "session/prompt",
        "params": {"sessionId": "s1", "prompt": text}}));
    editor.stdout.read_line(&mut String::new()).unwrap();
    kill_process(Pid::from_child(&editor.child), Signal::TERM).unwrap();
    let status = editor.child.wait().unwrap();
    assert_eq!(status.code(), Some(128 + 15));
    let left = workspace.edt(&["status"]).json["left_over"].clone();
    assert_eq!(left[0]["path"], "a.txt", "{left:#}");
}

#[test]
fn what_a_killed_edt_did_not_record_is_kept_by_the_next_turn() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    let mut editor = Editor::new(&workspace);
    let path = workspace.root.join("a.txt");
    let done = json!({"send": {"method": "x/done", "params": {"sessionId": "s1"}}});
    let steps = json!([{"write": path, "text": "one\n"}, done, {"sleep": 600}]);
    let text = json!([{"type": "text", "text": steps.to_string()}]);
    editor.send(&json!({"jsonrpc": "2.0", "id": "p", "method": "session/prompt",
        "params": {"sessionId": "s1", "prompt": text}}));
    editor.stdout.read_line(&mut String::new()).unwrap();
    let agent = std::fs::read_to_string(editor.log.with_extension("pid")).unwrap();
    editor.child.kill().unwrap();
    editor.child.wait().unwrap();
    let agent = Pid::from_raw(agent.parse().unwrap()).unwrap();
    let has_ended = |_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        test_kill_process(agent).is_err()
    };
    assert!((0..100).any(has_ended), "the agent ends with edt, though it ignores its input");
    let mut next = Editor::new(&workspace);
    next.prompt(&json!([]));
    let stderr = next.ends().1;
    assert!(stderr.contains("Changed while the turn of an-agent ran: a.txt"), "{stderr}");
    let left = workspace.edt(&["status"]).json["left_over"].clone();
    assert_eq!(left[0]["path"], "a.txt", "{left:#}");
}
