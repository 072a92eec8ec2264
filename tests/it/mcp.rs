//! `edt mcp`, spoken to line by line: every revision of the protocol, every tool, and traffic that no client should send.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::world::{EDT, World, lines, satisfies};

/// A server and the only client it has.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    tools: Vec<Value>,
    /// What each request bears besides, where the protocol has no sessions.
    meta: Option<Value>,
    /// What was told unasked.
    told: Vec<Value>,
}

impl Server {
    /// A server in `world` that a client of a classic revision has greeted.
    fn new(world: &World) -> Server {
        Server::greeted(world, &[], "2025-06-18", &json!({}))
    }

    fn greeted(world: &World, flags: &[&str], version: &str, capabilities: &Value) -> Server {
        let mut server = Server::started(world, flags);
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

    fn started(world: &World, flags: &[&str]) -> Server {
        let mut command = world.command(EDT);
        command
            .arg("mcp")
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Server { child, stdin, stdout, next: 0, tools: Vec::new(), meta: None, told: Vec::new() }
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
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the server closed its end");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The answer to the request of that number.
    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.told.push(message);
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer_to(id)
    }

    /// Calls a tool. What comes must satisfy the schema that the tool was listed with, and `edt schema`.
    #[track_caller]
    fn call(&mut self, name: &str, args: Value) -> Told {
        let answer = self.request("tools/call", json!({"name": name, "arguments": args}));
        self.checked(name, answer)
    }

    #[track_caller]
    fn checked(&self, name: &str, answer: Value) -> Told {
        let result = &answer["result"];
        let json = result["structuredContent"].clone();
        assert!(json.is_object(), "{answer:#}");
        satisfies(&json);
        if let Some(tool) = self.tools.iter().find(|tool| tool["name"] == name) {
            let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
            let faults: Vec<String> =
                schema.iter_errors(&json).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{name}: {faults:#?}\n{json:#}");
        }
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(result["content"].as_array().unwrap().len() == 1 && !text.is_empty(), "{answer:#}");
        Told { json, text, error: result["isError"] == true }
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
struct Told {
    json: Value,
    text: String,
    error: bool,
}

impl Told {
    #[track_caller]
    fn done(self) -> Told {
        assert!(
            !self.error && self.json["errors"].as_array().is_none_or(Vec::is_empty),
            "{self:#?}"
        );
        self
    }

    /// A refusal: code, message and hint are in both forms of the answer.
    #[track_caller]
    fn refused(self, code: &str) -> Told {
        let first = &self.json["errors"][0];
        assert!(self.error && first["code"] == code, "{self:#?}");
        let text: Value = serde_json::from_str(&self.text).unwrap();
        for key in ["code", "message", "hint"] {
            assert_eq!(text["errors"][0][key], first[key], "{self:#?}");
        }
        self
    }
}

fn world() -> World {
    World::with(&[
        ("a.txt", lines(60).as_bytes()),
        ("src/b.c", b"int b(void)\n{\n    return 1;\n}\n"),
    ])
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "mode": "edit", "old_text": old, "content": new})
}

#[test]
fn every_revision_is_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let world = world();
        let mut server = Server::greeted(&world, &[], version, &json!({}));
        server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
        assert_eq!(world.text("src/b.c"), "int b(void)\n{\n    return 2;\n}\n");
        server.ends();
    }
    // The newest has no sessions: each request says everything.
    let world = world();
    let mut server = Server::started(&world, &[]);
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
    world.is_clean();
    server.ends();
}

#[test]
fn a_refusal_teaches_and_the_corrected_call_lands() {
    let world = World::with(&[("Makefile", lines(70).as_bytes())]);
    let mut server = Server::new(&world);
    let before = world.files();
    let told = server
        .call("apply", json!({"path": "Makefile", "mode": "overwrite", "content": "all:\n"}))
        .refused("SIZE_REDUCTION");
    assert!(told.text.contains("append") && told.json["commit"].is_null(), "{told:#?}");
    assert_eq!(world.files(), before);
    let told = server
        .call("apply", json!({"path": "Makefile", "mode": "append", "content": "all:\n"}))
        .done();
    assert_eq!(told.json["commit"], world.rev("edt/main-1"));
    assert!(world.text("Makefile").ends_with("all:\n"));
    // Who asked is known without being said.
    assert!(world.git(&["log", "-1", "--format=%B"]).contains("Edt-Agent: a-client"));
    world.is_clean();
    world.is_sound();
}

#[test]
fn tools_are_what_commands_are() {
    let world = world();
    let mut server = Server::new(&world);
    let names: Vec<&str> = server.tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let wanted = [
        "apply",
        "check",
        "read",
        "search",
        "list",
        "status",
        "log",
        "show",
        "diff",
        "undo",
        "redo",
        "restore",
        "checkpoint",
        "propose",
        "proposals",
        "run",
        "land",
    ];
    assert_eq!(names, wanted);
    for tool in &server.tools {
        let (input, hints) = (&tool["inputSchema"], &tool["annotations"]);
        assert_eq!(input["type"], "object");
        // Clients hand it to models that know no references and no null.
        let text = input.to_string();
        assert!(
            !text.contains("$ref") && !text.contains("null") && !text.contains("$defs"),
            "{input:#}"
        );
        assert!(
            input["properties"]["worktree"].is_object() && input["additionalProperties"] == false,
            "{input:#}"
        );
        assert_eq!(
            (hints["destructiveHint"] == true, hints["openWorldHint"] == true),
            (tool["name"] == "land", tool["name"] == "run")
        );
        assert!(
            jsonschema::validator_for(input).is_ok() && tool["outputSchema"]["type"] == "object"
        );
    }
    let plain = |told: &Told| told.text.clone();
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
    assert!(world.text("src/b.c").contains("return 1;"));
    server.call("redo", json!({})).done();
    assert!(world.text("src/b.c").contains("return 3;"));
    server.call("restore", json!({"path": "src/b.c"})).done();
    assert!(world.text("src/b.c").contains("return 2;"));
    world.write("new.txt", "new\n");
    assert_eq!(
        server.call("checkpoint", json!({"message": "by hand"})).done().json["files"][0]["path"],
        "new.txt"
    );
    let proposed = server.call("propose", edit("src/b.c", "return 2;", "return 22;"));
    assert_eq!(proposed.json["status"], "proposed", "{proposed:#?}");
    assert_eq!(server.call("proposals", json!({})).done().json["proposals"][0]["id"], 1);
    assert!(plain(&server.call("show", json!({"rev": "1"})).done()).contains("return 22;"));
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
    assert!(world.git(&["log", "-1", "--format=%s", "main"]).starts_with("all of it"));
    world.is_sound();
    server.ends();
}

#[test]
fn a_person_may_hide_tools() {
    let world = world();
    let mut server = Server::greeted(&world, &["--tools", "apply,read"], "2025-06-18", &json!({}));
    assert_eq!(
        server.tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["apply", "read"]
    );
    let answer =
        server.request("tools/call", json!({"name": "run", "arguments": {"program": "ls"}}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("apply, read"), "{answer:#}");
    let done = world.command(EDT).args(["mcp", "--tools", "aply"]).output().unwrap();
    assert!(
        done.status.code() == Some(2) && String::from_utf8_lossy(&done.stderr).contains("apply")
    );
}

#[test]
fn what_stays_in_memory_is_never_old() {
    let world =
        World::with(&[("a.txt", b"one\n"), ("src/b.c", b"int b(void)\n{\n    return 1;\n}\n")]);
    let mut server = Server::new(&world);
    // Long enough that the files of the repository are not from just now, and opening it is remembered.
    std::thread::sleep(Duration::from_millis(150));
    let mut n = 0;
    let mut change = |server: &mut Server, world: &World| {
        n += 1;
        server
            .call(
                "apply",
                json!({"path": format!("new/{n}.txt"), "mode": "create", "content": "x\n"}),
            )
            .done();
        assert_eq!(
            world.git(&["log", "-1", "--format=%an", "edt/main-1"]).trim(),
            world.git(&["config", "user.name"]).trim()
        );
        world.is_clean();
    };
    change(&mut server, &world);
    change(&mut server, &world);
    world.git(&["config", "user.name", "Another Person"]);
    change(&mut server, &world);
    std::fs::write(
        world.home.join(".gitconfig"),
        "[user]\n\tname = Nobody\n\temail = nobody@example.com\n[core]\n\tlogAllRefUpdates = false\n",
    )
    .unwrap();
    world.git(&["config", "--unset", "user.name"]);
    change(&mut server, &world);
    world.git(&["pack-refs", "--all", "--prune"]);
    change(&mut server, &world);
    world.git(&["gc", "--quiet", "--prune=now"]);
    change(&mut server, &world);
    world.git(&["reset", "--quiet", "--keep", "HEAD~1"]);
    change(&mut server, &world);
    world.commit(&[("theirs.txt", b"theirs\n")]);
    change(&mut server, &world);
    // What the person wrote meanwhile is seen, and recorded first.
    world.write("src/b.c", "int b(void)\n{\n    return 7;\n}\n");
    let told = server.call("apply", edit("src/b.c", "return 7;", "return 8;")).done();
    assert_eq!(told.json["checkpoints"].as_array().unwrap().len(), 1);
    // Another worktree, another filter, another policy.
    world.git(&["config", "core.autocrlf", "true"]);
    world.write("crlf.txt", "a\r\nb\r\n");
    world.git(&["add", "crlf.txt"]);
    world.git(&["commit", "--quiet", "-m", "crlf"]);
    server.call("apply", edit("crlf.txt", "b\n", "c\n")).done();
    assert_eq!(
        (world.text("crlf.txt").as_str(), world.blob("HEAD:crlf.txt")),
        ("a\r\nc\r\n", b"a\nc\n".to_vec())
    );
    // What a file that is not there yet will say.
    let included = world.home.join("included");
    world.git(&["config", "include.path", included.to_str().unwrap()]);
    std::thread::sleep(Duration::from_millis(150));
    (0..2).for_each(|_| drop(server.call("status", json!({})).done()));
    std::fs::write(&included, "[user]\n\tname = Included\n").unwrap();
    change(&mut server, &world);
    // Gone and made anew in the same place.
    std::fs::rename(world.root.join(".git"), world.home.join("old.git")).unwrap();
    assert_eq!(
        server.call("status", json!({})).refused("NOT_A_REPOSITORY").json["status"],
        "environment"
    );
    world.git(&["init", "--quiet", "--initial-branch=trunk"]);
    world.commit(&[]);
    server.call("apply", edit("src/b.c", "return 8;", "return 9;")).done();
    assert_eq!(
        world.git(&["log", "-1", "--format=%s", "edt/trunk-1"]).trim(),
        "edit src/b.c (+1 -1)"
    );
    world.is_sound();
    server.ends();
}

#[test]
fn other_worktrees_by_argument_within_the_roots() {
    let world = world();
    let other = world.root.parent().unwrap().join("other");
    world.git(&["worktree", "add", "--quiet", other.to_str().unwrap(), "-b", "side"]);
    let linked = world.at(&other);
    let mut server = Server::new(&world);
    server
        .call(
            "apply",
            json!({"worktree": other, "path": "n.txt", "mode": "create", "content": "n\n"}),
        )
        .done();
    assert!(linked.exists("n.txt") && !world.exists("n.txt"));
    linked.is_clean();
    server
        .call(
            "apply",
            json!({"worktree": "other", "path": "n.txt", "mode": "create", "content": "n\n"}),
        )
        .refused("BAD_REQUEST");
    server.ends();
    // A client that has roots is asked for them, and they bind.
    let mut server = Server::started(&world, &[]);
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": {"name": "r", "version": "1"}});
    server.request("initialize", client);
    server.notify("notifications/initialized", &json!({}));
    let with_roots = |server: &mut Server, args: Value, roots: Option<&Path>| {
        let id = server.ask("tools/call", json!({"name": "apply", "arguments": args}));
        loop {
            let message = server.hear();
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
    with_roots(&mut server, create("r.txt", &other), Some(&world.root))
        .refused("PATH_OUTSIDE_REPO");
    assert!(!linked.exists("r.txt"));
    with_roots(&mut server, create("r.txt", &world.root), None).done();
    // One that has some and tells none is held to where the server is.
    server.notify("notifications/roots/list_changed", &json!({}));
    let id =
        server.ask("tools/call", json!({"name": "apply", "arguments": create("t.txt", &other)}));
    loop {
        let message = server.hear();
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
    assert!(linked.exists("s.txt") && !world.exists("s.txt"));
}

#[test]
fn calls_are_answered_in_the_order_they_came() {
    let world = World::with(&[("log.txt", b"start\n")]);
    let mut server = Server::new(&world);
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
    assert_eq!(world.text("log.txt"), expected);
    world.is_clean();
}

#[test]
fn a_program_is_followed_and_can_be_cancelled() {
    let world = world();
    let home = world.home.join(".config/edt");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("edt.toml"), "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\n")
        .unwrap();
    let mut server = Server::new(&world);
    let script = "echo $$ > pid; echo begun > begun.txt; sleep 600 & sleep 600";
    let call = json!({"name": "run", "arguments": {"program": "sh", "args": ["-c", script]}, "_meta": {"progressToken": "p"}});
    let begun = Instant::now();
    let id = server.ask("tools/call", call);
    // It is told of while it runs, and other calls are answered meanwhile.
    let beat = server.hear();
    assert_eq!(
        (&beat["method"], &beat["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p")),
        "{beat:#}"
    );
    server.call("status", json!({})).done();
    let pid = world.text("pid").trim().parse().unwrap();
    assert_eq!(test_kill_process(Pid::from_raw(pid).unwrap()), Ok(()));
    server.notify("notifications/cancelled", &json!({"requestId": id, "reason": "enough"}));
    // What it did until then is recorded like any run's.
    while !world.try_git(&["cat-file", "-e", "edt/main-1:begun.txt"]).status.success() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it was not ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "it lives");
    server.call("undo", json!({})).done();
    assert!(!world.exists("begun.txt"));
    // The end of the server is the end of what it runs.
    server.ask(
        "tools/call",
        json!({"name": "run", "arguments": {"program": "sh", "args": ["-c", script]}}),
    );
    while world.try_git(&["status"]).stdout.is_empty() || !world.exists("begun.txt") {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = world.text("pid").trim().parse().unwrap();
    server.ends();
    assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "it lives");
    world.is_sound();
}

#[test]
fn who_closes_their_input_gets_what_was_asked_and_the_server_ends() {
    let world = world();
    let mut server = Server::new(&world);
    let call = json!({"name": "run", "arguments": {"program": "sleep", "args": ["2"]}, "_meta": {"progressToken": 1}});
    let id = server.ask("tools/call", call);
    drop(server.stdin.take());
    // Regression: the answer waited for a note of progress that nobody could be told any more.
    assert_eq!(server.answer_to(id)["result"]["structuredContent"]["run"]["exit_code"], 0);
    assert!(server.child.wait().unwrap().success());
    // Regression: a client that reads nothing and closes its input kept the server alive.
    world.write("long.txt", "x".repeat(1 << 20) + "\n");
    let mut server = Server::new(&world);
    for _ in 0..5 {
        server.ask(
            "tools/call",
            json!({"name": "read", "arguments": {"path": "long.txt", "max_bytes": 2_000_000}}),
        );
    }
    drop(server.stdin.take());
    let begun = Instant::now();
    while server.child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the server lives on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn malformed_and_hostile_traffic_ends_nothing_and_changes_nothing() {
    let world = world();
    let mut server = Server::new(&world);
    let before = world.snapshot();
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
    // Wrong types, unknown keys and unknown tools are said, each to its own call.
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
        ("undo", json!({"count": 0})),
        ("undo", json!({"count": 1.5})),
        ("undo", json!({"count": 1, "to": "HEAD"})),
        ("log", json!({"number": "all"})),
        ("run", json!({"args": ["x"]})),
        ("run", json!({"output": 1, "max_bytes": 0})),
        ("read", json!({"path": "a.txt", "max_lines": 0})),
        ("list", json!({"max": 0})),
        ("search", json!({"pattern": "x", "max_matches": 0})),
        ("apply", json!({"proposal": 1, "path": "a.txt"})),
        ("apply", json!({"worktree": world.root.join(".git"), "path": "a.txt", "mode": "delete"})),
        ("apply", json!({"worktree": world.root.join("a.txt"), "path": "a.txt", "mode": "delete"})),
        ("land", json!({"allow": "everything"})),
    ] {
        let told = server.call(tool, args);
        assert!(told.error, "{tool}: {told:#?}");
    }
    let told =
        server.call("read", json!({"path": "a.txt", "max_lines": "5"})).refused("BAD_REQUEST");
    assert!(told.text.contains("`max_lines`"), "{told:#?}");
    let unknown = server.request("tools/call", json!({"name": "rm", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("apply"), "{unknown:#}");
    // More than a file may have.
    let long = "x".repeat(101 << 20);
    server
        .call("apply", json!({"path": "long.txt", "mode": "create", "content": long}))
        .refused("FILE_TOO_LARGE");
    drop(long);
    crate::world::same(&before, &world.snapshot());
    server.call("apply", edit("src/b.c", "return 1;", "return 2;")).done();
    // Half a message, then nothing any more.
    server.send(
        b"{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"tools/call\", \"params\": {\"name\": \"undo\", \"argum",
    );
    server.ends();
    assert!(world.text("src/b.c").contains("return 2;"));
    world.is_clean();
    world.is_sound();
}

#[test]
fn who_only_pipes_requests_in_gets_every_answer() {
    let world = world();
    let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pipe", "version": "1"}});
    let call = json!({"name": "apply", "arguments": edit("src/b.c", "return 1;", "return 2;")});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ];
    let mut child =
        world.command(EDT).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    let told = String::from_utf8(done.stdout).unwrap();
    assert!(
        told.lines().any(|line| line.contains("\"id\":2") && line.contains("applied")),
        "{told}"
    );
    assert!(world.text("src/b.c").contains("return 2;"));
}

#[test]
fn a_reader_that_goes_away_and_a_signal_leave_no_half_edit() {
    let world =
        World::with(&[("a.txt", lines(3000).as_bytes()), ("b.txt", lines(3000).as_bytes())]);
    let states = ["x".repeat(9000), "y".repeat(9000)];
    let both = |n: usize| {
        let content = format!("{}\n", states[n % 2]).repeat(3);
        let edits: Vec<Value> = ["a.txt", "b.txt"]
            .iter()
            .map(|path| json!({"path": path, "mode": "overwrite", "content": content}))
            .collect();
        json!({"edits": edits, "allow": ["size_reduction", "duplicate_code", "mass_deletion"]})
    };
    Server::new(&world).call("apply", both(0)).done();
    for n in 1..30 {
        let mut server = Server::new(&world);
        server.ask("tools/call", json!({"name": "apply", "arguments": both(n)}));
        std::thread::sleep(Duration::from_micros(300 * n as u64));
        let pid = Pid::from_child(&server.child);
        match n % 3 {
            0 => kill_process(pid, Signal::TERM).unwrap(),
            1 => kill_process(pid, Signal::KILL).unwrap(),
            // Nobody reads the answer any more.
            _ => drop(std::mem::replace(
                &mut server.stdout,
                BufReader::new(ChildStdout::from(devnull())),
            )),
        }
        drop(server.stdin.take());
        let ended = server.child.wait().unwrap();
        assert!(n % 3 == 1 || ended.success(), "{n}: {ended}");
        // Asked to end it finishes what it began, so that nothing is left to settle.
        let status = world.edt(&["status"]);
        assert!(n % 3 == 1 || status.json["settled"].is_null(), "{n}: {:#}", status.json);
        assert_eq!(world.read("a.txt"), world.read("b.txt"), "{n}: half an edit");
        world.is_clean();
    }
    world.is_sound();
    assert_eq!(world.locks(), Vec::<String>::new());
}

fn devnull() -> std::os::fd::OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
}

#[test]
fn a_server_that_was_started_at_a_terminal_is_no_person() {
    let world =
        World::with(&[("a.txt", b"one\n"), ("edt.toml", b"[[protect]]\npaths = [\"ci/**\"]\n")]);
    world.edt(&["begin", "s"]).landed();
    world.write("ci/run", "by hand\n");
    world.edt(&["checkpoint"]).landed();
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "land", "arguments": {}}}),
    ];
    let text: String = calls.iter().map(|call| format!("{call}\n")).collect();
    std::fs::write(world.home.join("calls"), text).unwrap();
    let (calls, answers) = (world.home.join("calls"), world.home.join("answers"));
    let call = format!("mcp < {} > {}", calls.display(), answers.display());
    let before = world.rev("main");
    assert_eq!(crate::trust::says_at_terminal(&world, &call, "").0, Some(0));
    let told = std::fs::read_to_string(answers).unwrap();
    assert!(told.contains("APPROVAL_REQUIRED") || told.contains("PROTECTED_PATH"), "{told}");
    assert_eq!(world.rev("main"), before);
    // Who types it there is one.
    assert_eq!(crate::trust::says_at_terminal(&world, "land", "").0, Some(0));
    assert_ne!(world.rev("main"), before);
}
