//! `edt mcp`, spoken to line by line: every revision of the protocol, every tool, and traffic that
//! no client should send.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, lines, satisfies};

/// The longest answer in each of its forms, in bytes.
const LONGEST_ANSWER: usize = 64 * 1024;

/// A server and the only client it has.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    tools: Vec<Value>,
    /// Additional fields of each request, where the protocol has no sessions.
    meta: Option<Value>,
    /// The notifications that arrived.
    printed: Vec<Value>,
}

impl Server {
    /// A server in `workspace` that a client of a classic revision has greeted.
    fn new(workspace: &TestRepo) -> Server {
        Server::greeted(workspace, &[], "2025-06-18", &json!({}))
    }

    fn greeted(
        workspace: &TestRepo,
        flags: &[&str],
        version: &str,
        capabilities: &Value,
    ) -> Server {
        let mut server = Server::started(workspace, flags);
        let client = json!({"name": "a-client", "version": "1"});
        let greeting =
            json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let answer = server.request("initialize", greeting);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer:#}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "edt");
        assert!(
            answer["result"]["instructions"].as_str().is_some_and(|text| text.contains("apply")),
            "{answer:#}"
        );
        server.notify("notifications/initialized", &json!({}));
        server.list();
        server
    }

    /// Asks for the tools.
    fn list(&mut self) {
        let listed = self.request("tools/list", json!({}));
        self.tools.clone_from(listed["result"]["tools"].as_array().unwrap());
    }

    fn started(workspace: &TestRepo, flags: &[&str]) -> Server {
        let mut command = workspace.command(EDT);
        command
            .arg("mcp")
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Server { child, stdin, stdout, next: 0, tools: Vec::new(), meta: None, printed: Vec::new() }
    }

    fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    fn notify(&mut self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its number.
    fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if let Some(meta) = &self.meta {
            let mut all = meta.clone();
            all.as_object_mut()
                .unwrap()
                .extend(params["_meta"].as_object().cloned().unwrap_or_default());
            params["_meta"] = all;
        }
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(format!("{message}\n").as_bytes());
        self.next
    }

    /// The next message.
    fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the server closed its end");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The answer to the request of that number.
    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.printed.push(message);
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer_to(id)
    }

    /// Calls a tool. What comes must satisfy `edt schema`, and be short.
    #[track_caller]
    fn call(&mut self, name: &str, args: Value) -> ToolAnswer {
        let answer = self.request("tools/call", json!({"name": name, "arguments": args}));
        self.checked(name, answer)
    }

    #[track_caller]
    fn checked(&self, name: &str, answer: Value) -> ToolAnswer {
        let result = &answer["result"];
        let json = result["structuredContent"].clone();
        assert!(json.is_object(), "{answer:#}");
        satisfies(&json);
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(result["content"].as_array().unwrap().len() == 1 && !text.is_empty(), "{answer:#}");
        let longest = json.to_string().len().max(text.len());
        assert!(longest <= LONGEST_ANSWER, "{name}: {longest} bytes");
        ToolAnswer { json, text, error: result["isError"] == true }
    }

    /// Closes the server's input and waits for its end.
    fn ends(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a tool answered.
#[derive(Debug)]
struct ToolAnswer {
    json: Value,
    text: String,
    error: bool,
}

impl ToolAnswer {
    #[track_caller]
    fn done(self) -> ToolAnswer {
        assert!(
            !self.error && self.json["errors"].as_array().is_none_or(Vec::is_empty),
            "{self:#?}"
        );
        self
    }

    /// A refusal: code, message and hint are in both forms of the answer.
    #[track_caller]
    fn refused(self, code: &str) -> ToolAnswer {
        let first = &self.json["errors"][0];
        assert!(self.error && first["code"] == code, "{self:#?}");
        let text: Value = serde_json::from_str(&self.text).unwrap();
        for key in ["code", "message", "hint"] {
            assert_eq!(text["errors"][0][key], first[key], "{self:#?}");
        }
        self
    }
}

fn workspace() -> TestRepo {
    TestRepo::with(&[
        ("a.txt", lines(60).as_bytes()),
        ("src/b.c", b"int b(void)\n{\n    return 1;\n}\n"),
    ])
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "mode": "edit", "old_text": old, "content": new})
}

#[test]
fn every_protocol_revision_is_supported() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let workspace = workspace();
        let mut server = Server::greeted(&workspace, &[], version, &json!({}));
        server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
        assert_eq!(workspace.text("src/b.c"), "int b(void)\n{\n    return 2;\n}\n");
        server.ends();
    }
    // The newest revision has no sessions: each request has everything.
    let workspace = workspace();
    let mut server = Server::started(&workspace, &[]);
    server.meta = Some(json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "a-client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }));
    let found = server.request("server/discover", json!({}));
    assert!(
        found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{found:#}"
    );
    server.list();
    server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
    server
        .call("apply", json!({"path": "src/b.c", "mode": "overwrite", "content": "}"}))
        .refused("SYNTAX_ERROR");
    workspace.is_clean();
    server.ends();
}

#[test]
fn a_refusal_teaches_and_the_corrected_call_lands() {
    let workspace = TestRepo::with(&[("Makefile", lines(70).as_bytes())]);
    let mut server = Server::new(&workspace);
    let before = workspace.files();
    let printed = server
        .call("apply", json!({"path": "Makefile", "mode": "overwrite", "content": "all:\n"}))
        .refused("SIZE_REDUCTION");
    assert!(printed.text.contains("append") && printed.json["commit"].is_null(), "{printed:#?}");
    assert_eq!(workspace.files(), before);
    let printed = server
        .call("apply", json!({"path": "Makefile", "mode": "append", "content": "all:\n"}))
        .done();
    assert_eq!(printed.json["commit"], workspace.rev("edt/main-1"));
    assert!(workspace.text("Makefile").ends_with("all:\n"));
    // The client is known from the protocol.
    assert!(workspace.git(&["log", "-1", "--format=%B"]).contains("Edt-Agent: a-client"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn the_tools_are_few_and_their_arguments_have_one_type() {
    let workspace = workspace();
    let server = Server::new(&workspace);
    let names: Vec<&str> = server.tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["apply", "read", "search", "status", "undo", "run", "land", "comment", "help"]
    );
    let all = Server::greeted(&workspace, &["--tools", "all"], "2025-06-18", &json!({}));
    assert_eq!(all.tools.len(), 21);
    for tool in &all.tools {
        let (input, hints) = (&tool["inputSchema"], &tool["annotations"]);
        assert_eq!(input["type"], "object");
        // Clients hand it to models that know no references, no null and no unions.
        let text = input.to_string();
        for odd in ["$ref", "null", "$defs", "anyOf", "oneOf", "\"type\":["] {
            assert!(!text.contains(odd), "{input:#}");
        }
        assert!(
            input["properties"]["worktree"].is_object() && input["additionalProperties"] == false,
            "{input:#}"
        );
        let reads = ["read", "search", "status", "help", "check", "outline", "list", "log", "show"];
        let reads = reads.iter().chain(&["diff", "proposals"]).any(|name| tool["name"] == *name);
        assert_eq!(
            (
                hints["readOnlyHint"] == true,
                hints["destructiveHint"] == true,
                hints["openWorldHint"] == true
            ),
            (reads, tool["name"] == "land", tool["name"] == "run")
        );
        assert!(jsonschema::validator_for(input).is_ok() && tool["outputSchema"].is_null());
    }
}

#[test]
fn the_tools_that_are_offered_do_what_all_commands_do() {
    let workspace = workspace();
    let mut server = Server::new(&workspace);
    let before = workspace.snapshot();
    let dry = |key: &str| {
        let mut args = edit("src/b.c", "return 1;", "return 2;");
        args[key] = json!(true);
        args
    };
    assert_eq!(server.call("apply", dry("check")).done().json["status"], "would_apply");
    let mut both = dry("check");
    both["propose"] = json!(true);
    server.call("apply", both).refused("BAD_REQUEST");
    let refused = server.call("apply", json!({"check": "x"})).refused("BAD_REQUEST");
    assert_eq!(refused.json["errors"][0]["evidence"]["key"], "check");
    crate::test_repo::same(&before, &workspace.snapshot());
    let proposed = server.call("apply", dry("propose"));
    assert_eq!(proposed.json["status"], "proposed", "{proposed:#?}");
    server.call("apply", json!({"proposal": "p1", "propose": true})).refused("BAD_REQUEST");
    server.call("apply", json!({"proposal": 1, "check": true})).refused("APPROVAL_REQUIRED");
    server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
    let view = |view: &str| json!({"view": view});
    assert_eq!(server.call("status", json!({"view": null})).done().json["schema"], "edt.status/1");
    for (name, schema) in [
        ("status", "edt.status/1"),
        ("log", "edt.log/1"),
        ("diff", "edt.diff/1"),
        ("show", "edt.diff/1"),
        ("proposals", "edt.proposals/1"),
    ] {
        assert_eq!(server.call("status", view(name)).done().json["schema"], schema);
    }
    server.call("status", view("other")).refused("BAD_REQUEST");
    workspace.write("a.txt", "mine\n");
    let mine = server.call("status", json!({"view": "diff", "uncommitted": true})).done();
    assert!(mine.text.contains("+mine"), "{mine:#?}");
    let listed = server.call("search", json!({"list": true, "glob": ["*.c"]})).done();
    assert_eq!(listed.json["entries"][0]["path"], "src/b.c");
    let found = server.call("search", json!({"pattern": "return"})).done();
    assert_eq!(found.json["matches"][0]["path"], "src/b.c");
    let outline = server.call("read", json!({"path": "src/b.c", "outline": true})).done();
    assert_eq!(outline.json["symbols"][0]["name"], "b");
    server.call("undo", json!({})).done();
    server.call("undo", json!({"redo": true})).done();
    assert!(workspace.text("src/b.c").contains("return 2;"));
    assert!(server.call("help", json!({})).done().text.contains("# Editing with edt"));
    let help = server.call("help", json!({"topic": "size-reduction"})).done();
    assert!(help.text.starts_with("SIZE_REDUCTION"), "{help:#?}");
    server.call("help", json!({"topic": "no such"})).refused("BAD_REQUEST");
    // A tool that is not offered says which one is.
    let log = server.request("tools/call", json!({"name": "log", "arguments": {}}));
    let message = log["error"]["message"].as_str().unwrap();
    assert!(message.contains("`status` with `view: \"log\"`"), "{message}");
    server.ends();
}

#[test]
fn a_message_that_cannot_be_read_is_answered_with_its_id_and_changes_nothing() {
    let workspace = workspace();
    let mut server = Server::new(&workspace);
    let before = workspace.snapshot();
    let create = |content: &[u8], id: u64| {
        let start = b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"apply\",\"arguments\":{\"path\":\"s.txt\",\"mode\":\"create\",\"content\":";
        [&start[..], content, format!("}}}},\"id\":{id}}}\n").as_bytes()].concat()
    };
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let many = format!("[{}]", ["0"].repeat(600_000).join(","));
    let odd: [&[u8]; 5] =
        [b"\"half \\ud83d\"", b"\"caf\xe9\"", b"nul", deep.as_bytes(), many.as_bytes()];
    for (content, id) in odd.into_iter().zip(700..) {
        server.send(&create(content, id));
        let answer = server.answer_to(id);
        assert_eq!(answer["error"]["code"], -32700, "{answer:#}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("othing was changed"), "{message}");
    }
    crate::test_repo::same(&before, &workspace.snapshot());
    for args in [json!([]), json!("x"), json!(7)] {
        let answer = server.request("tools/call", json!({"name": "apply", "arguments": args}));
        let refused = server.checked("apply", answer).refused("BAD_REQUEST");
        assert!(refused.text.contains("`arguments`"), "{refused:#?}");
    }
    let unnamed = server.request("tools/call", json!({"name": 7, "arguments": {}}));
    assert_eq!(unnamed["error"]["code"], -32602, "{unnamed:#}");
    let unknown = server.request("no/such/method", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown:#}");
    server.call("apply", json!({"path": "s.txt", "mode": "create", "content": "s\n"})).done();
    server.ends();
}

#[test]
fn every_answer_is_short_and_says_what_it_leaves_out() {
    let rows: Vec<String> =
        (0..20_000).map(|n| format!("{{\"id\":{n},\"v\":\"xxxxxxxx\"}}")).collect();
    let rows = format!("[{}]", rows.join(","));
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0, 1, 2, 3, 255].repeat(20_000)].concat();
    let workspace = TestRepo::with(&[
        ("rows.json", rows.as_bytes()),
        ("a.png", &png),
        ("long.txt", "\"quoted\" \\ text\n".repeat(20_000).as_bytes()),
    ]);
    for n in 0..1500 {
        workspace.write(&format!("many/{n}.txt"), "needle\n");
    }
    let mut server = Server::new(&workspace);
    server.call("apply", edit("rows.json", "{\"id\":777,\"v\"", "{\"id\":777,\"w\"")).done();
    for view in ["diff", "show"] {
        let shown = server.call("status", json!({"view": view})).done();
        let patch = shown.json["files"][0]["patch"].as_str().unwrap();
        for text in [patch, &shown.text] {
            assert!(text.len() < 5000, "{shown:#?}");
            assert!(text.contains("-[… ") && text.contains("{\"id\":777,\"w\""), "{text}");
        }
        assert_eq!(shown.json["truncated"], true);
        assert_eq!(shown.json["cut"]["at"], json!(["/files/0/patch"]));
        assert!(shown.text.contains("`edt run git diff FROM TO -- PATH`"), "{shown:#?}");
    }
    let image = server.call("read", json!({"path": "a.png"})).done();
    assert!(
        image.text.contains("100008 bytes") && image.text.contains("a PNG image"),
        "{image:#?}"
    );
    assert_eq!((&image.json["truncated"], &image.json["text"]), (&json!(false), &json!("")));
    let read = server.call("read", json!({"path": "long.txt"})).done();
    assert_eq!(read.json["truncated"], true);
    assert_eq!(
        read.json["next_line"].as_u64(),
        read.json["last_line"].as_u64().map(|last| last + 1)
    );
    let line = server.call("read", json!({"path": "rows.json", "max_bytes": 5_000_000})).done();
    assert!(line.json["cut_line"]["bytes_shown"].as_u64().unwrap() > 30_000, "{line:#?}");
    // Lists say where they go on.
    let all = json!({"pattern": "needle", "max_matches": 5000, "max_bytes": 5_000_000});
    let found = server.call("search", all).done();
    let shown = found.json["matches"].as_array().unwrap().len();
    assert!(shown > 100 && found.json["next_skip"] == shown, "{found:#?}");
    let listed = server.call("search", json!({"list": true, "max": 5000})).done();
    let shown = listed.json["entries"].as_array().unwrap().len();
    assert!(shown > 100 && listed.json["next_skip"] == shown, "{listed:#?}");
    let status = server.call("status", json!({})).done();
    assert!(status.json.get("truncated").is_none(), "untracked files are one path: {status:#?}");
    let ran = server.call("run", json!({"program": "cat", "args": ["long.txt"]})).done();
    let page = json!({"output": ran.json["run"]["id"], "max_bytes": 4_000_000});
    let page = server.call("run", page).done();
    assert!(page.json["truncated"] == true && page.json["to"].as_u64().unwrap() > 30_000);
    // On the command line nothing is left out.
    let whole = workspace.edt(&["diff"]).json;
    assert!(whole["files"][0]["patch"].as_str().unwrap().len() > 2 * rows.len());
    assert!(whole.get("truncated").is_none());
    server.ends();
}

#[test]
fn roots_that_are_no_files_count_as_none() {
    let workspace = workspace();
    for (roots, is_done) in [
        (json!({"roots": []}), true),
        (json!({}), true),
        (json!({"roots": [{"uri": "https://example.com/a"}]}), true),
        (json!({"roots": [{"uri": "file:///no/such/directory"}]}), false),
        (json!({"roots": [{"uri": "file://other-host/a"}]}), false),
    ] {
        let mut server = Server::started(&workspace, &[]);
        let client = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "r", "version": "1"}});
        server.request("initialize", client);
        server.notify("notifications/initialized", &json!({}));
        let id = server.ask("tools/call", json!({"name": "status", "arguments": {}}));
        let asked = server.receive();
        assert_eq!(asked["method"], "roots/list");
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots});
        server.send(format!("{answer}\n").as_bytes());
        let answer = server.answer_to(id);
        let answer = server.checked("status", answer);
        if is_done {
            answer.done();
        } else {
            answer.refused("PATH_OUTSIDE_REPO");
        }
        server.ends();
    }
}

#[test]
fn tools_answer_as_commands_do() {
    let workspace = workspace();
    let mut server = Server::greeted(&workspace, &["--tools", "all"], "2025-06-18", &json!({}));
    let plain = |printed: &ToolAnswer| printed.text.clone();
    let read = server.call("read", json!({"path": "a.txt", "lines": ["2:3"]})).done();
    assert!(
        plain(&read).contains("2 | ")
            && read.json["first_line"] == 2
            && read.json["last_line"] == 3,
        "{read:#?}"
    );
    server.call("check", edit("a.txt", "no such text", "x")).refused("OLD_TEXT_NOT_FOUND");
    assert_eq!(
        server.call("check", edit("src/b.c", "return 1;", "return 2;")).done().json["status"],
        "would_apply"
    );
    server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
    server.call("apply", edit("src/b.c", "return 2;", "return 3;")).done();
    assert_eq!(server.call("status", json!({})).done().json["edits"], 2);
    assert_eq!(server.call("log", json!({"number": 1})).done().json["truncated"], true);
    assert!(plain(&server.call("show", json!({})).done()).contains("+    return 3;"));
    assert!(plain(&server.call("diff", json!({})).done()).contains("-    return 1;"));
    server.call("undo", json!({"count": 2})).done();
    assert!(workspace.text("src/b.c").contains("return 1;"));
    server.call("redo", json!({})).done();
    assert!(workspace.text("src/b.c").contains("return 3;"));
    server.call("restore", json!({"path": "src/b.c"})).done();
    assert!(plain(&server.call("show", json!({"rev": 2})).done()).contains("+    return 3;"));
    let reverted = server.call("revert", json!({"edits": [3]})).done();
    assert_eq!((&reverted.json["status"], &reverted.json["edit"]), (&json!("applied"), &json!(4)));
    server.call("undo", json!({"to": 3})).done();
    assert!(workspace.text("src/b.c").contains("return 2;"));
    let proposed = server.call("propose", edit("src/b.c", "return 2;", "return 22;"));
    assert_eq!(proposed.json["status"], "proposed", "{proposed:#?}");
    assert_eq!(server.call("proposals", json!({})).done().json["proposals"][0]["id"], 1);
    assert!(plain(&server.call("show", json!({"rev": "p1"})).done()).contains("return 22;"));
    assert_eq!(
        server.call("apply", json!({"proposal": 1})).json["errors"][0]["code"],
        "APPROVAL_REQUIRED"
    );
    let ran = server.call("run", json!({"program": "ls", "args": ["src"]})).done();
    assert_eq!(ran.json["run"]["stdout"]["text"], "b.c\n");
    assert_eq!(
        server.call("run", json!({"output": ran.json["run"]["id"]})).done().json["text"],
        "b.c\n"
    );
    // A program that fails was run: its output is what is wanted.
    let failed = server.call("run", json!({"program": "ls", "args": ["no-such"]}));
    assert!(!failed.error && failed.json["status"] == "failed", "{failed:#?}");
    server.call("land", json!({"message": "all of it"})).done();
    assert!(workspace.git(&["log", "-1", "--format=%s", "main"]).starts_with("all of it"));
    workspace.write("new.txt", "new\n");
    // Only the user commits the user's text.
    let held =
        server.call("checkpoint", json!({"message": "by hand"})).refused("APPROVAL_REQUIRED");
    assert_eq!(
        (held.json["commit"].clone(), workspace.status()),
        (Value::Null, "?? new.txt\n".into())
    );
    workspace.is_sound();
    server.ends();
}

#[test]
fn the_user_may_hide_tools() {
    let workspace = workspace();
    let mut server =
        Server::greeted(&workspace, &["--tools", "apply,read"], "2025-06-18", &json!({}));
    assert_eq!(
        server.tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["apply", "read"]
    );
    let answer =
        server.request("tools/call", json!({"name": "run", "arguments": {"program": "ls"}}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("apply, read"), "{answer:#}");
    let done = workspace.command(EDT).args(["mcp", "--tools", "aply"]).output().unwrap();
    assert!(
        done.status.code() == Some(2) && String::from_utf8_lossy(&done.stderr).contains("apply")
    );
}

#[test]
fn cached_data_is_never_stale() {
    let workspace =
        TestRepo::with(&[("a.txt", b"one\n"), ("src/b.c", b"int b(void)\n{\n    return 1;\n}\n")]);
    let mut server = Server::new(&workspace);
    // Long enough that the files of the repository are not from just now, and opening it is
    // remembered.
    std::thread::sleep(Duration::from_millis(150));
    let mut n = 0;
    let mut change = |server: &mut Server, workspace: &TestRepo| {
        n += 1;
        server
            .call(
                "apply",
                json!({"path": format!("new/{n}.txt"), "mode": "create", "content": "x\n"}),
            )
            .done();
        assert_eq!(
            workspace.git(&["log", "-1", "--format=%an", "edt/main-1"]).trim(),
            workspace.git(&["config", "user.name"]).trim()
        );
        workspace.is_clean();
    };
    change(&mut server, &workspace);
    change(&mut server, &workspace);
    workspace.git(&["config", "user.name", "Another User"]);
    change(&mut server, &workspace);
    std::fs::write(
        workspace.home.join(".gitconfig"),
        "[user]\n\tname = Nobody\n\temail = nobody@example.com\n[core]\n\tlogAllRefUpdates = false\n",
    )
    .unwrap();
    workspace.git(&["config", "--unset", "user.name"]);
    change(&mut server, &workspace);
    workspace.git(&["pack-refs", "--all", "--prune"]);
    change(&mut server, &workspace);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    change(&mut server, &workspace);
    workspace.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
    change(&mut server, &workspace);
    workspace.commit(&[("theirs.txt", b"theirs\n")]);
    change(&mut server, &workspace);
    // The user's changes in the meantime are seen, and are not committed.
    workspace.write("src/b.c", "int b(void)\n{\n    return 7;\n}\n");
    let printed = server.call("apply", edit("src/b.c", "return 7;", "return 8;")).done();
    assert_eq!(printed.json["files"][0]["recorded"], "private");
    workspace.git(&["stash", "--quiet"]);
    // Another worktree, another filter, another policy.
    workspace.git(&["config", "core.autocrlf", "true"]);
    workspace.write("crlf.txt", "a\r\nb\r\n");
    workspace.git(&["add", "crlf.txt"]);
    workspace.git(&["commit", "--quiet", "-m", "crlf"]);
    server.call("apply", edit("crlf.txt", "b\n", "c\n")).done();
    assert_eq!(
        (workspace.text("crlf.txt").as_str(), workspace.blob("HEAD:crlf.txt")),
        ("a\r\nc\r\n", b"a\nc\n".to_vec())
    );
    // The later content of a file that does not exist yet.
    let included = workspace.home.join("included");
    workspace.git(&["config", "include.path", included.to_str().unwrap()]);
    std::thread::sleep(Duration::from_millis(150));
    (0..2).for_each(|_| drop(server.call("status", json!({})).done()));
    std::fs::write(&included, "[user]\n\tname = Included\n").unwrap();
    change(&mut server, &workspace);
    // Deleted, and created again in the same place.
    std::fs::rename(workspace.root.join(".git"), workspace.home.join("old.git")).unwrap();
    assert_eq!(
        server.call("status", json!({})).refused("NOT_A_REPOSITORY").json["status"],
        "environment"
    );
    workspace.git(&["init", "--quiet", "--initial-branch=trunk"]);
    workspace.commit(&[]);
    server.call("apply", edit("src/b.c", "return 1;", "return 9;")).done();
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%s", "edt/trunk-1"]).trim(),
        "edit src/b.c (+1 -1)"
    );
    workspace.is_sound();
    server.ends();
}

#[test]
fn a_client_without_roots_stays_in_the_servers_repository() {
    let (workspace, other) = (workspace(), workspace());
    let args = json!({"worktree": other.root, "path": "n.txt", "mode": "create", "content": "n\n"});
    let mut server = Server::new(&workspace);
    let refused = server.call("apply", args.clone());
    assert!(refused.json.to_string().contains("[mcp] worktrees"), "{:#}", refused.json);
    refused.refused("PATH_OUTSIDE_REPO");
    assert!(!other.exists("n.txt"));
    server.ends();
    let file = workspace.home.join(".config/edt/edt.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, format!("[mcp]\nworktrees = [{:?}]\n", other.root)).unwrap();
    let mut server = Server::new(&workspace);
    server.call("apply", args).done();
    assert!(other.exists("n.txt"));
    server.ends();
}

#[test]
fn other_worktrees_by_argument_within_the_roots() {
    let workspace = workspace();
    let other = workspace.root.parent().unwrap().join("other");
    workspace.git(&["worktree", "add", "--quiet", other.to_str().unwrap(), "-b", "side"]);
    let linked = workspace.at(&other);
    let mut server = Server::new(&workspace);
    server
        .call(
            "apply",
            json!({"worktree": other, "path": "n.txt", "mode": "create", "content": "n\n"}),
        )
        .done();
    assert!(linked.exists("n.txt") && !workspace.exists("n.txt"));
    linked.is_clean();
    server
        .call(
            "apply",
            json!({"worktree": "other", "path": "n.txt", "mode": "create", "content": "n\n"}),
        )
        .refused("BAD_REQUEST");
    server.ends();
    // A client that has roots is asked for them, and they bind.
    let mut server = Server::started(&workspace, &[]);
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "r", "version": "1"}});
    server.request("initialize", client);
    server.notify("notifications/initialized", &json!({}));
    let with_roots = |server: &mut Server, args: Value, roots: Option<&Path>| {
        let id = server.ask("tools/call", json!({"name": "apply", "arguments": args}));
        loop {
            let message = server.receive();
            if message["method"] == "roots/list" {
                let uri =
                    format!("file://{}", roots.unwrap().display().to_string().replace(' ', "%20"));
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": [{"uri": uri}]}});
                server.send(format!("{answer}\n").as_bytes());
            } else if message["id"] == id {
                return server.checked("apply", message);
            }
        }
    };
    let create = |name: &str, place: &Path| json!({"worktree": place, "path": name, "mode": "create", "content": "x\n"});
    let refused = with_roots(&mut server, create("r.txt", &other), Some(&workspace.root));
    // The list of `edt.toml` does not count for a client with roots.
    assert!(!refused.json.to_string().contains("[mcp] worktrees"), "{:#}", refused.json);
    refused.refused("PATH_OUTSIDE_REPO");
    assert!(!linked.exists("r.txt"));
    with_roots(&mut server, create("r.txt", &workspace.root), None).done();
    // A client that has roots and names none is confined to the server's directory.
    server.notify("notifications/roots/list_changed", &json!({}));
    let id =
        server.ask("tools/call", json!({"name": "apply", "arguments": create("t.txt", &other)}));
    loop {
        let message = server.receive();
        if message["method"] == "roots/list" {
            let error = json!({"code": -32603, "message": "not now"});
            server.send(
                format!("{}\n", json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                    .as_bytes(),
            );
        } else if message["id"] == id {
            server.checked("apply", message).refused("PATH_OUTSIDE_REPO");
            break;
        }
    }
    // Started elsewhere, it works in the root.
    server.notify("notifications/roots/list_changed", &json!({}));
    let own = json!({"path": "s.txt", "mode": "create", "content": "x\n"});
    with_roots(&mut server, own, Some(&other)).done();
    assert!(linked.exists("s.txt") && !workspace.exists("s.txt"));
}

#[test]
fn calls_are_answered_in_their_order() {
    let workspace = TestRepo::with(&[("log.txt", b"start\n")]);
    let mut server = Server::new(&workspace);
    let add =
        |n: usize| json!({"path": "log.txt", "mode": "append", "content": format!("line {n}\n")});
    let ids: Vec<u64> = (0..40)
        .map(|n| server.ask("tools/call", json!({"name": "apply", "arguments": add(n)})))
        .collect();
    for (n, id) in ids.into_iter().enumerate() {
        let answer = server.answer_to(id);
        assert_eq!(server.checked("apply", answer).done().json["edit"], n + 1);
    }
    let expected: String = std::iter::once("start\n".to_owned())
        .chain((0..40).map(|n| format!("line {n}\n")))
        .collect();
    assert_eq!(workspace.text("log.txt"), expected);
    workspace.is_clean();
}

#[test]
fn a_program_is_followed_and_can_be_cancelled() {
    let workspace = workspace();
    let home = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("edt.toml"), "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\n")
        .unwrap();
    let mut server = Server::new(&workspace);
    let script = "echo $$ > pid; echo begun > begun.txt; sleep 600 & sleep 600";
    let call = json!({"name": "run", "arguments": {"program": "sh", "args": ["-c", script]}, "_meta": {"progressToken": "p"}});
    let begun = Instant::now();
    let id = server.ask("tools/call", call);
    // Progress is reported while it runs, and other calls are answered.
    let beat = server.receive();
    assert_eq!(
        (&beat["method"], &beat["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p")),
        "{beat:#}"
    );
    server.call("status", json!({})).done();
    let pid = workspace.text("pid").trim().parse().unwrap();
    assert_eq!(test_kill_process(Pid::from_raw(pid).unwrap()), Ok(()));
    server.notify("notifications/cancelled", &json!({"requestId": id, "reason": "enough"}));
    // What it did until then is recorded like any run's.
    while !workspace.try_git(&["cat-file", "-e", "edt/main-1:begun.txt"]).status.success() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it was not ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "it lives");
    server.call("undo", json!({})).done();
    assert!(!workspace.exists("begun.txt"));
    // The end of the server is the end of what it runs.
    server.ask(
        "tools/call",
        json!({"name": "run", "arguments": {"program": "sh", "args": ["-c", script]}}),
    );
    while workspace.try_git(&["status"]).stdout.is_empty() || !workspace.exists("begun.txt") {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = workspace.text("pid").trim().parse().unwrap();
    server.ends();
    assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "it lives");
    workspace.is_sound();
}

#[test]
fn a_client_that_closes_its_input_gets_every_answer_and_the_server_ends() {
    let workspace = workspace();
    let mut server = Server::new(&workspace);
    let call = json!({"name": "run", "arguments": {"program": "sleep", "args": ["2"]}, "_meta": {"progressToken": 1}});
    let id = server.ask("tools/call", call);
    drop(server.stdin.take());
    // Regression: the answer waited for a progress notification that no client could receive any
    // more.
    assert_eq!(server.answer_to(id)["result"]["structuredContent"]["run"]["exit_code"], 0);
    assert!(server.child.wait().unwrap().success());
    // Regression: a client that reads nothing and closes its input kept the server alive.
    workspace.write("long.txt", "x".repeat(1 << 20) + "\n");
    let mut server = Server::new(&workspace);
    for _ in 0..5 {
        server.ask(
            "tools/call",
            json!({"name": "read", "arguments": {"path": "long.txt", "max_bytes": 2_000_000}}),
        );
    }
    drop(server.stdin.take());
    let begun = Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the server lives on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn malformed_and_hostile_traffic_neither_ends_the_server_nor_changes_anything() {
    const LONGEST: usize = 1_000_000;
    let workspace = workspace();
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    let policy = format!("[limits]\nmax_file_bytes = {LONGEST}\n");
    std::fs::write(workspace.home.join(".config/edt/edt.toml"), policy).unwrap();
    let mut server = Server::new(&workspace);
    let before = workspace.snapshot();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let odd: [&[u8]; 16] = [
        b"\n",
        b"{\n",
        b"not json at all\n",
        b"\xff\xfe\x00\x00\n",
        b"[]\n",
        b"null\n",
        b"7\n",
        b"{\"jsonrpc\": \"1.0\", \"id\": 9999, \"method\": \"tools/call\"}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 9999, \"method\": \"no/such/method\"}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": {\"a\": 1}, \"method\": \"tools/list\"}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 9999, \"method\": \"tools/call\", \"params\": 7}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 9999, \"method\": \"tools/call\", \"params\": {\"name\": 7}}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 9999, \"result\": {\"roots\": []}}\n",
        b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 424242}}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 9999, \"method\": \"initialize\", \"params\": {}}\n",
        b"{\"jsonrpc\": \"2.0\", \"id\": 9998, \"method\": \"tools/call\", \"params\": {\"name\": \"apply\", \"arguments\": []}}\n",
    ];
    odd.iter().for_each(|message| server.send(message));
    server.send(format!("{deep}\n").as_bytes());
    server.send(format!("{{\"jsonrpc\": \"2.0\", \"id\": 9997, \"method\": \"tools/call\", \"params\": {{\"name\": \"apply\", \"arguments\": {{\"path\": {deep}}}}}}}\n").as_bytes());
    // Wrong types, unknown keys and unknown tools are reported, each in its own answer.
    for (args, code) in [
        (json!({"path": 7, "mode": "edit"}), "BAD_REQUEST"),
        (json!({"path": "a.txt", "mode": ["edit"]}), "BAD_REQUEST"),
        (json!({"path": "a.txt", "mode": "edt", "content": "x"}), "BAD_REQUEST"),
        (json!({"pth": "a.txt"}), "BAD_REQUEST"),
        (json!({"proposal": "seven"}), "BAD_REQUEST"),
        (json!({"worktree": 7, "path": "a.txt", "mode": "delete"}), "BAD_REQUEST"),
        (json!({"path": "../outside.txt", "mode": "create", "content": "x"}), "PATH_OUTSIDE_REPO"),
        (json!({"path": ".git/config", "mode": "overwrite", "content": "x"}), "PATH_IN_GIT_DIR"),
        (json!({}), "BAD_REQUEST"),
    ] {
        server.call("apply", args).refused(code);
    }
    for (tool, args) in [
        ("read", json!({"path": ["a.txt"]})),
        ("read", json!({"path": "a.txt", "max_lines": -1})),
        ("undo", json!({"count": 1.5})),
        ("undo", json!({"count": 1, "to": "HEAD"})),
        ("status", json!({"view": "log", "number": "all"})),
        ("run", json!({"args": ["x"]})),
        ("run", json!({"output": 1, "max_bytes": 0})),
        ("apply", json!({"proposal": 1, "path": "a.txt"})),
        (
            "apply",
            json!({"worktree": workspace.root.join(".git"), "path": "a.txt", "mode": "delete"}),
        ),
        (
            "apply",
            json!({"worktree": workspace.root.join("a.txt"), "path": "a.txt", "mode": "delete"}),
        ),
        ("land", json!({"allow": "everything"})),
    ] {
        let printed = server.call(tool, args);
        assert!(printed.error, "{tool}: {printed:#?}");
    }
    let printed =
        server.call("read", json!({"path": "a.txt", "max_lines": "x"})).refused("BAD_REQUEST");
    assert!(printed.text.contains("`max_lines`"), "{printed:#?}");
    // What clients fill in for arguments that were left out, and other types.
    for (tool, args) in [
        ("read", json!({"path": "a.txt", "max_lines": 0, "lines": [], "name": null})),
        ("read", json!({"file_path": "a.txt", "offset": 1, "limit": "5", "description": "x"})),
        ("search", json!({"list": true, "max": 0, "glob": ""})),
        ("search", json!({"pattern": "x", "max_matches": 0, "context": "1", "paths": "."})),
        ("status", json!({"view": "", "number": 0, "paths": []})),
    ] {
        server.call(tool, args).done();
    }
    let unknown = server.request("tools/call", json!({"name": "rm", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("apply"), "{unknown:#}");
    // More than a file may have.
    let long = json!({"path": "long.txt", "mode": "create", "content": "x".repeat(LONGEST + 1)});
    server.call("apply", long).refused("FILE_TOO_LARGE");
    crate::test_repo::same(&before, &workspace.snapshot());
    server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
    // Half a message, then nothing any more.
    server.send(
        b"{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"tools/call\", \"params\": {\"name\": \"undo\", \"argum",
    );
    server.ends();
    assert!(workspace.text("src/b.c").contains("return 2;"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_client_that_pipes_requests_gets_every_answer() {
    let workspace = workspace();
    let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}});
    let call = json!({"name": "apply", "arguments": edit("src/b.c", "return 1;", "return 2;")});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ];
    let mut child = workspace
        .command(EDT)
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    let printed = String::from_utf8(done.stdout).unwrap();
    assert!(
        printed.lines().any(|line| line.contains("\"id\":2") && line.contains("applied")),
        "{printed}"
    );
    assert!(workspace.text("src/b.c").contains("return 2;"));
}

#[test]
fn a_vanished_reader_or_a_signal_leaves_no_half_edit() {
    let workspace =
        TestRepo::with(&[("a.txt", lines(3000).as_bytes()), ("b.txt", lines(3000).as_bytes())]);
    let states = ["x".repeat(9000), "y".repeat(9000)];
    let both = |n: usize| {
        let content = format!("{}\n", states[n % 2]).repeat(3);
        let edits: Vec<Value> = ["a.txt", "b.txt"]
            .iter()
            .map(|path| json!({"path": path, "mode": "overwrite", "content": content}))
            .collect();
        json!({"edits": edits, "allow": ["size_reduction", "duplicate_code", "mass_deletion"]})
    };
    Server::new(&workspace).call("apply", both(0)).done();
    for n in edt_testkit::share((1..30).collect(), 6) {
        let mut server = Server::new(&workspace);
        server.ask("tools/call", json!({"name": "apply", "arguments": both(n)}));
        std::thread::sleep(Duration::from_micros(300 * n as u64));
        let pid = Pid::from_child(&server.child);
        match n % 3 {
            0 => kill_process(pid, Signal::TERM).unwrap(),
            1 => kill_process(pid, Signal::KILL).unwrap(),
            // No process reads the answer any more.
            _ => drop(std::mem::replace(
                &mut server.stdout,
                BufReader::new(ChildStdout::from(devnull())),
            )),
        }
        drop(server.stdin.take());
        let ended = server.child.wait().unwrap();
        assert!(n % 3 == 1 || ended.success(), "{n}: {ended}");
        // When asked to end, the server completes the running call, so that nothing remains to be
        // recovered.
        let status = workspace.edt(&["status"]);
        assert!(n % 3 == 1 || status.json["recovered"].is_null(), "{n}: {:#}", status.json);
        assert_eq!(workspace.read("a.txt"), workspace.read("b.txt"), "{n}: half an edit");
        workspace.is_clean();
    }
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}

fn devnull() -> std::os::fd::OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
}

#[test]
fn a_server_started_at_a_terminal_is_not_the_user() {
    let workspace =
        TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", b"[[protect]]\npaths = [\"ci/**\"]\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("ci/run", "by hand\n");
    workspace.edt(&["checkpoint"]).landed();
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "land", "arguments": {}}}),
    ];
    let text: String = calls.iter().map(|call| format!("{call}\n")).collect();
    std::fs::write(workspace.home.join("calls"), text).unwrap();
    let (calls, answers) = (workspace.home.join("calls"), workspace.home.join("answers"));
    let call = format!("mcp < {} > {}", calls.display(), answers.display());
    let before = workspace.rev("main");
    assert_eq!(workspace.at_terminal(&call, "").0, Some(0));
    let printed = std::fs::read_to_string(answers).unwrap();
    assert!(
        printed.contains("APPROVAL_REQUIRED") || printed.contains("PROTECTED_PATH"),
        "{printed}"
    );
    assert_eq!(workspace.rev("main"), before);
    // Whoever types it there is the user.
    assert_eq!(workspace.at_terminal("land", "").0, Some(0));
    assert_ne!(workspace.rev("main"), before);
}

/// What clients fill in for an argument of this schema that the model left out.
fn placeholders(schema: &Value) -> Vec<Value> {
    let of_type = match schema["type"].as_str().unwrap_or("object") {
        "string" => vec![json!("")],
        "integer" | "number" => vec![json!(0), json!("")],
        "boolean" => vec![json!(false), json!("false"), json!("")],
        "array" => vec![json!([]), json!("")],
        _ => vec![json!({}), json!("")],
    };
    of_type.into_iter().chain([Value::Null]).collect()
}

#[test]
fn what_clients_fill_in_for_arguments_that_were_left_out_is_left_out() {
    let workspace = workspace();
    let mut server = Server::new(&workspace);
    server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
    let calls = [
        ("apply", edit("src/b.c", "return 2;", "return 3;")),
        ("read", json!({"path": "a.txt"})),
        ("search", json!({"pattern": "return"})),
        ("status", json!({})),
        ("undo", json!({"dry_run": true})),
        ("run", json!({"program": "true"})),
        ("help", json!({})),
    ];
    let mut tried = 0;
    for (tool, base) in calls {
        let schema =
            server.tools.iter().find(|one| one["name"] == tool).unwrap()["inputSchema"].clone();
        let mut all = base.clone();
        for (key, schema) in schema["properties"].as_object().unwrap() {
            // A patch, or a list of edits, is another request than an edit.
            if base.get(key).is_some() {
                continue;
            }
            for value in placeholders(schema) {
                let mut args = base.clone();
                args[key] = value.clone();
                all[key] = value;
                if tool == "apply" {
                    args["check"] = json!(true);
                }
                let answer = server.call(tool, args.clone());
                assert!(!answer.error, "{tool} {args}: {answer:#?}");
                tried += 1;
            }
        }
        if tool == "apply" {
            all["check"] = json!(true);
        }
        let answer = server.call(tool, all.clone());
        assert!(!answer.error, "{tool} {all}: {answer:#?}");
    }
    assert!(tried > 150, "{tried} forms");
    server.ends();
}

#[test]
fn the_users_comments_reach_the_agent_once_and_it_answers_them() {
    let workspace = workspace();
    let mut server = Server::new(&workspace);
    server.call("apply", edit("a.txt", "line 5 of a text\n", "line five\n")).done();
    let place = ["--edit", "1", "--path", "a.txt", "--lines", "5"];
    workspace.edt(&[&["comment", "add"][..], &place, &["-m", "Why?"]].concat());
    workspace.edt(&["comment", "send", "-m", "Nearly."]);
    // A refusal has them, too, in both forms.
    let refused =
        server.call("apply", edit("a.txt", "no such line\n", "x")).refused("OLD_TEXT_NOT_FOUND");
    assert_eq!(refused.json["comments"]["unread"][0]["quoted"], json!(["line five"]));
    let text: Value = serde_json::from_str(&refused.text).unwrap();
    assert_eq!(text["comments"]["summaries"][0]["text"], "Nearly.");
    let status = server.call("status", json!({})).done();
    assert_eq!(status.json["comments"]["unread"], json!([]));
    assert!(status.text.contains("1 open comment of the user."), "{}", status.text);
    let answer = json!({"action": "answer", "id": 1, "message": "As asked."});
    let answered = server.call("comment", answer).done();
    assert_eq!(answered.json["comments"][0]["answers"][0]["agent"], "a-client");
    server.call("comment", json!({"action": "resolve", "id": 1})).done();
    server.call("comment", json!({"action": "resolve"})).refused("BAD_REQUEST");
    server.call("comment", json!({"action": "resolve", "id": 2})).refused("COMMENT_NOT_FOUND");
    let all = server.call("comment", json!({"all": true})).done();
    assert_eq!(all.json["comments"][0]["state"], "resolved");
    assert_eq!(all.json["comments"][0]["read"]["agent"], "a-client");
    let next = server.call("apply", edit("a.txt", "line 6 of a text\n", "line six\n")).done();
    assert!(next.json.get("comments").is_none(), "{:#}", next.json);
}
