//! The record of refusals: which calls are in it, and what followed.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

const RECORD: &str = ".git/edt/refusals.jsonl";

fn repository() -> TestRepo {
    TestRepo::with(&[("a.txt", b"one\ntwo\n"), ("b.txt", b"b\n")])
}

/// The lines of the record of this kind.
fn lines(workspace: &TestRepo, kind: &str) -> Vec<Value> {
    if !workspace.exists(RECORD) {
        return Vec::new();
    }
    let text = workspace.text(RECORD);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

/// The only refusal in the record.
#[track_caller]
fn only(workspace: &TestRepo) -> Value {
    let all = lines(workspace, "refused");
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

fn codes(refused: &Value) -> Vec<&str> {
    let findings = refused["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// Feeds `payload` to a process of edt; what it prints.
fn feed(workspace: &TestRepo, args: &[&str], payload: &str) -> String {
    let mut command = workspace.command(EDT);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
}

/// A call of `apply` of a new server by a client.
fn tool(workspace: &TestRepo, client: &str, arguments: &Value) -> String {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": client, "version": "1"}});
    let params = json!({"name": "apply", "arguments": arguments});
    let sent = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
    ];
    let sent: String = sent.iter().map(|message| format!("{message}\n")).collect();
    feed(workspace, &["mcp"], &sent)
}

/// A call of the hook of Claude Code before a tool.
fn hook(workspace: &TestRepo, tool: &str, input: &Value) -> String {
    let payload = json!({"session_id": "s", "cwd": workspace.root,
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
    feed(workspace, &["agent-hook", "claude-code"], &payload.to_string())
}

#[test]
fn a_refused_edit_is_in_a_private_file() {
    let workspace = repository();
    let sent = json!({"path": "a.txt", "mode": "edit", "old_text": "nothing like it",
        "content": "x", "agent": "robot"});
    workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &sent);
    let refused = only(&workspace);
    assert_eq!(
        (&refused["call"], &refused["agent"], &refused["edits"]),
        (
            &json!("apply"),
            &json!("robot"),
            &json!([{"path": "a.txt", "mode": "edit", "format": "edit",
                "old": "nothing like it", "new": "x"}])
        )
    );
    assert_eq!(refused["findings"][0]["cause"], "nothing_near");
    assert_eq!(refused["worktree"], json!(workspace.root.canonicalize().unwrap()));
    let mode = workspace.root.join(RECORD).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_request_that_cannot_be_read_is_recorded_by_command_tool_and_hook() {
    let old_text_missing = json!({"path": "a.txt", "mode": "edit", "content": "x"});
    let by_command = repository();
    by_command.refuses_request(&["OLD_TEXT_REQUIRED"], 1, &old_text_missing);
    let by_flags = repository();
    let flags = ["apply", "a.txt", "--mode", "edit", "--content", "x"];
    by_flags.refuses(&["OLD_TEXT_REQUIRED"], 1, &flags);
    let by_tool = repository();
    tool(&by_tool, "robot", &old_text_missing);
    let by_hook = repository();
    let file = by_hook.root.join("a.txt");
    hook(&by_hook, "Edit", &json!({"file_path": file, "old_string": "", "new_string": "x"}));
    for (workspace, agent) in [
        (by_command, Value::Null),
        (by_flags, Value::Null),
        (by_tool, json!("robot")),
        (by_hook, json!("claude-code")),
    ] {
        let refused = only(&workspace);
        assert_eq!(codes(&refused), ["OLD_TEXT_REQUIRED"], "{refused:#}");
        assert_eq!((&refused["call"], &refused["agent"]), (&json!("apply"), &agent));
        let edit = &refused["edits"][0];
        assert_eq!(
            (&edit["path"], &edit["mode"], &edit["new"]),
            (&json!("a.txt"), &json!("edit"), &json!("x"))
        );
    }
}

#[test]
fn a_bad_mode_an_unknown_key_and_a_bad_patch_are_recorded() {
    for (sent, code) in [
        (json!({"path": "a.txt", "mode": "alter", "content": "x"}), "BAD_REQUEST"),
        (json!({"path": "a.txt", "mode": "append", "content": "x", "flavour": 1}), "BAD_REQUEST"),
        (json!({"patch": "nonsense", "path": "a.txt"}), "INVALID_PATCH"),
    ] {
        let workspace = repository();
        assert_eq!(workspace.apply(&sent).codes(), [code]);
        let refused = only(&workspace);
        assert_eq!((codes(&refused), &refused["edits"][0]["path"]), (vec![code], &json!("a.txt")));
    }
}

#[test]
fn a_denied_command_and_a_denied_run_are_recorded() {
    let workspace = repository();
    let said = hook(&workspace, "Bash", &json!({"command": "git push --force origin main"}));
    assert!(said.contains("COMMAND_DENIED"), "{said}");
    let refused = only(&workspace);
    assert_eq!((&refused["call"], &refused["command"]), (&json!("command"), &json!("git push …")));
    let answer = workspace.runs(&[], &["git", "push", "--force", "origin", "main"]);
    assert_eq!(answer.codes(), ["COMMAND_DENIED"]);
    let all = lines(&workspace, "refused");
    assert_eq!(
        (all.len(), &all[1]["call"], &all[1]["command"]),
        (2, &json!("run"), &json!("git push …"))
    );
}

#[test]
fn other_commands_are_recorded_once() {
    let workspace = repository();
    workspace.refuses(&["NO_SESSION"], 1, &["undo"]);
    let refused = only(&workspace);
    assert_eq!((codes(&refused), &refused["call"]), (vec!["NO_SESSION"], &json!("undo")));
}

#[test]
fn a_question_a_dry_run_and_a_change_record_nothing() {
    let workspace = repository();
    let wrong = json!({"path": "a.txt", "mode": "edit", "content": "x"}).to_string();
    for args in [["check", "--request", "-"].as_slice(), &["apply", "--dry-run", "--request", "-"]]
    {
        assert_eq!(workspace.edt_fed(wrong.as_bytes(), args).codes(), ["OLD_TEXT_REQUIRED"]);
    }
    workspace.edt(&["undo", "--dry-run"]);
    workspace.edt(&["read", "none.txt"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    assert!(!workspace.exists(RECORD));
}

#[test]
fn what_followed_is_recorded() {
    let workspace = repository();
    let wrong = json!({"path": "a.txt", "mode": "edit", "content": "x"});
    workspace.apply(&wrong);
    workspace.apply(&wrong);
    let landed =
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    let ids: Vec<Value> =
        lines(&workspace, "refused").iter().map(|refused| refused["id"].clone()).collect();
    let followed = lines(&workspace, "followed");
    let how: Vec<_> = followed.iter().map(|one| (&one["of"], &one["how"])).collect();
    assert_eq!(how, [(&ids[0], &json!("refused_again")), (&ids[1], &json!("landed"))]);
    assert_eq!(followed[1]["commit"], landed.json["commit"]);
    // Nothing is open: the next edit finds that, and the one after it does not look.
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "y\n"]).landed();
    assert!(!workspace.exists(".git/edt/main/refusals-open"));
}

#[test]
fn a_secret_is_never_in_the_record() {
    let workspace = TestRepo::with(&[
        ("a.txt", b"one\n"),
        ("edt.toml", b"[guards.secret]\nmode = \"refuse\"\n"),
    ]);
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5");
    let sent = json!({"path": "a.txt", "mode": "append", "content": format!("{token}\n")});
    workspace.refuses_request(&["SECRET"], 1, &sent);
    // Refused for another reason, before the guard sees it.
    workspace.apply(&json!({"path": "a.txt", "mode": "edit", "content": token}));
    assert_eq!(lines(&workspace, "refused").len(), 2);
    assert!(!workspace.text(RECORD).contains(&token));
}

#[test]
fn a_record_that_cannot_be_written_changes_no_answer() {
    let workspace = repository();
    std::fs::create_dir_all(workspace.root.join(RECORD)).unwrap();
    let wrong = json!({"path": "a.txt", "mode": "edit", "content": "x"});
    workspace.refuses_request(&["OLD_TEXT_REQUIRED"], 1, &wrong);
}

#[test]
fn the_log_shows_refusals_of_the_session_and_of_a_file() {
    let workspace = repository();
    let append = |path: &str| {
        workspace.edt(&["apply", path, "--mode", "append", "--content", "x\n"]).landed()
    };
    append("b.txt");
    workspace.apply(&json!({"path": "a.txt", "mode": "edit", "content": "x", "agent": "robot"}));
    hook(&workspace, "Bash", &json!({"command": "git push --force origin main"}));
    let landed = append("a.txt");
    let listed = |args: &[&str]| workspace.edt(&[&["log"], args].concat()).json["refusals"].clone();
    let all = listed(&[]);
    assert_eq!(all.as_array().unwrap().len(), 2, "{all:#}");
    let (command, edit) = (&all[0], &all[1]);
    assert_eq!(
        (&command["codes"], &command["command"], &command["followed"]),
        (&json!(["COMMAND_DENIED"]), &json!("git push …"), &Value::Null)
    );
    assert_eq!(
        (&edit["codes"], &edit["paths"], &edit["agent"]),
        (&json!(["OLD_TEXT_REQUIRED"]), &json!(["a.txt"]), &json!("robot"))
    );
    assert_eq!(
        (&edit["followed"], &edit["followed_by"]),
        (&json!("landed"), &landed.json["commit"])
    );
    assert_eq!(listed(&["a.txt"]), json!([edit]));
    assert_eq!(listed(&["b.txt"]), json!([]));
    let text = workspace.command(EDT).arg("log").output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("x OLD_TEXT_REQUIRED a.txt (robot)"), "{text}");
    assert!(text.contains("x COMMAND_DENIED git push … (claude-code)"), "{text}");
}

#[test]
fn a_request_that_cannot_be_read_waits_for_no_other_process() {
    let workspace = repository();
    let state = workspace.root.join(".git/edt/main");
    std::fs::create_dir_all(&state).unwrap();
    let lock = std::fs::File::create(state.join("lock")).unwrap();
    lock.lock().unwrap();
    let began = std::time::Instant::now();
    for args in [["apply", "--request", "-"], ["propose", "--request", "-"]] {
        let answer =
            workspace.edt_fed(br#"{"path": "a.txt", "mode": "edit", "content": "x"}"#, &args);
        assert_eq!(answer.codes(), ["OLD_TEXT_REQUIRED"]);
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(8), "{:?}", began.elapsed());
    drop(lock);
    let all = lines(&workspace, "refused");
    let calls: Vec<_> = all.iter().map(|one| (&one["call"], &one["edits"][0]["path"])).collect();
    let path = &json!("a.txt");
    assert_eq!(calls, [(&json!("apply"), path), (&json!("propose"), path)]);
}

#[test]
fn outside_a_repository_a_request_that_cannot_be_read_is_refused_as_such() {
    let workspace = repository();
    for command in ["apply", "propose"] {
        let answer = workspace.at(&workspace.home).edt_fed(b"{}", &[command, "--request", "-"]);
        assert_eq!(answer.codes(), ["BAD_REQUEST"], "{command}");
    }
}

#[test]
fn a_run_and_a_restore_close_what_is_open_about_their_path() {
    let workspace = repository();
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    let wrong = json!({"path": "a.txt", "mode": "edit", "content": "x"});
    workspace.apply(&wrong);
    workspace.runs(&[], &["sh", "-c", "echo y >> a.txt"]).landed();
    workspace.apply(&wrong);
    workspace.edt(&["restore", "a.txt", "--revision", "1"]).landed();
    let followed = lines(&workspace, "followed");
    let how: Vec<_> = followed.iter().map(|one| (&one["how"], one.get("class"))).collect();
    assert_eq!(how, [(&json!("landed"), None), (&json!("landed"), None)]);
}
