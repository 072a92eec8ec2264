//! Turns: which prompt, conversation and model an edit is recorded with, by the hooks of every agent,
//! by the server and by the environment; and whose edits a client may take back.

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

/// The agents that have a hook for prompts, with the name of their client and what they say.
const AGENTS: [(&str, &str, &str, Option<&str>); 8] = [
    ("claude-code", "claude-code", "s-1", None),
    ("codex", "codex-mcp-client", "s-1", Some("gpt-5")),
    ("gemini", "gemini-cli-mcp-client", "s-1", None),
    ("opencode", "opencode", "s-1", Some("anthropic/claude")),
    ("cline", "Cline", "s-1", None),
    ("cursor", "cursor-vscode", "c-1", Some("m")),
    ("copilot", "github-copilot-developer", "s-1", None),
    ("windsurf", "windsurf", "s-1", None),
];

fn repository() -> TestRepo {
    TestRepo::with(&[("a.txt", b"one\ntwo\n")])
}

/// Feeds `payload` to a hook of an agent.
fn hook(workspace: &TestRepo, agent: &str, payload: &Value) -> Output {
    let mut command = workspace.command(EDT);
    command.args(["agent-hook", agent]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// The agent's own payload with a prompt.
fn prompt(workspace: &TestRepo, agent: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents").join(agent);
    let text = std::fs::read_to_string(file.join("prompt.json")).unwrap();
    let text = text.replace("{ROOT}", workspace.root.to_str().unwrap());
    serde_json::from_str::<Value>(&text).unwrap()["payload"].take()
}

fn claude_prompt(workspace: &TestRepo, session: &str, text: &str) {
    let payload = json!({"session_id": session, "cwd": workspace.root,
        "hook_event_name": "UserPromptSubmit", "prompt": text});
    assert!(hook(workspace, "claude-code", &payload).status.success());
}

/// The answers to calls of tools by one client of a new server, in their order.
fn calls(workspace: &TestRepo, client: &str, calls: &[(&str, Value, Value)]) -> Vec<Value> {
    let mut command = workspace.command(EDT);
    command.args(["mcp", "--tools", "apply,undo,redo,status"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": client, "version": "1"}});
    let mut sent = vec![
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    for (id, (name, arguments, meta)) in (1..).zip(calls) {
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        sent.push(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    let sent: String = sent.iter().map(|message| format!("{message}\n")).collect();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answers: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: usize| answers.iter().find(|answer| answer["id"] == id).unwrap();
    (1..=calls.len()).map(|id| of(id)["result"]["structuredContent"].clone()).collect()
}

fn append(text: &str) -> Value {
    json!({"path": "a.txt", "mode": "append", "content": format!("{text}\n"), "message": text})
}

fn apply(workspace: &TestRepo, client: &str, meta: &Value) {
    let answers = calls(workspace, client, &[("apply", append("more"), meta.clone())]);
    assert_eq!(answers[0]["status"], "applied", "{answers:#?}");
}

/// Runs a command as a program of Gemini CLI, which names no conversation.
fn as_gemini(workspace: &TestRepo, args: &[&str]) -> Value {
    let mut command = workspace.command(EDT);
    let done = command.args(args).arg("--json").env("GEMINI_CLI", "1").output().unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The turns as a client sees them.
fn turns_for(workspace: &TestRepo, client: &str) -> Value {
    let args = json!({"view": "log", "by_turn": true});
    calls(workspace, client, &[("status", args, Value::Null)])[0]["turns"].take()
}

/// Agent, model, turn and conversation of the newest commit, as Git reads its trailers.
fn asked(workspace: &TestRepo) -> Vec<String> {
    let keys = ["Edt-Agent", "Edt-Model", "Edt-Turn", "Edt-Conversation"];
    let values = keys.map(|key| format!("%(trailers:key={key},valueonly,separator=;)"));
    let format = format!("--format={}", values.join("|"));
    workspace.git(&["log", "-1", &format]).trim().split('|').map(str::to_owned).collect()
}

fn codex(session: &str, turn: &str) -> Value {
    json!({"x-codex-turn-metadata": {"session_id": session, "turn_id": turn, "model": "gpt-5"}})
}

#[test]
fn a_prompt_of_each_agent_begins_the_turn_of_the_edits_that_follow() {
    for (agent, client, conversation, model) in AGENTS {
        let workspace = repository();
        assert!(hook(&workspace, agent, &prompt(&workspace, agent)).status.success(), "{agent}");
        apply(&workspace, client, &Value::Null);
        let expected = [client, model.unwrap_or_default(), "1", conversation];
        assert_eq!(asked(&workspace), expected, "{agent}");
        apply(&workspace, client, &Value::Null);
        assert_eq!(asked(&workspace)[2], "1", "{agent}");
        // The prompt is on this machine, and in no commit.
        assert!(!workspace.git(&["log", "--format=%B"]).contains("Rename two"), "{agent}");
        let turns = turns_for(&workspace, client);
        let turn = &turns[0];
        assert_eq!(
            (
                &turn["turn"],
                &turn["title"],
                &turn["agent"],
                turn["edits"].as_array().unwrap().len()
            ),
            (&json!(1), &json!("Rename two to three."), &json!(client), 2),
            "{agent}: {turns:#}"
        );
    }
}

#[test]
fn an_edit_of_an_agents_own_tool_belongs_to_the_turn_of_its_conversation() {
    let workspace = repository();
    claude_prompt(&workspace, "s-1", "first");
    claude_prompt(&workspace, "s-2", "second");
    for (number, session, content) in [(1, "s-2", "one\nthree\n"), (2, "s-1", "one\nfour\n")] {
        let call = |event: &str| {
            json!({"session_id": session, "cwd": workspace.root, "hook_event_name": event,
                "tool_name": "Write",
                "tool_input": {"file_path": workspace.root.join("a.txt"), "content": content}})
        };
        assert!(hook(&workspace, "claude-code", &call("PreToolUse")).status.success());
        workspace.write("a.txt", content);
        assert!(hook(&workspace, "claude-code", &call("PostToolUse")).status.success());
        assert_eq!(asked(&workspace), ["claude-code", "", &number.to_string(), session]);
    }
    let turns = turns_for(&workspace, "claude-code");
    assert_eq!((&turns[0]["title"], &turns[1]["title"]), (&json!("first"), &json!("second")));
}

#[test]
fn codex_names_session_turn_and_model_with_each_call() {
    let workspace = repository();
    for (session, turn, number) in [("s", "t-1", "1"), ("s", "t-2", "2"), ("s", "t-2", "2")] {
        apply(&workspace, "codex-mcp-client", &codex(session, turn));
        assert_eq!(asked(&workspace), ["codex-mcp-client", "gpt-5", number, "s"]);
    }
    // Not what another client sends under that key.
    apply(&workspace, "robot", &codex("s", "t-2"));
    assert_eq!(asked(&workspace), ["robot", "", "", ""]);
}

#[test]
fn the_environment_of_a_command_names_the_conversation() {
    let workspace = repository();
    let payload = prompt(&workspace, "copilot");
    assert!(hook(&workspace, "copilot", &payload).status.success());
    let mut command = workspace.command(EDT);
    command.args(["apply", "--request", "-"]).env("COPILOT_AGENT_SESSION_ID", "s-1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(append("more").to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(asked(&workspace), ["copilot", "", "1", "s-1"]);
    // A user's edit belongs to nobody's turn.
    workspace.apply(&append("by hand")).landed();
    assert_eq!(asked(&workspace), ["", "", "", ""]);
}

#[test]
fn without_one_certain_conversation_no_turn_is_recorded() {
    let workspace = repository();
    claude_prompt(&workspace, "s-1", "first");
    claude_prompt(&workspace, "s-2", "second");
    apply(&workspace, "claude-code", &Value::Null);
    assert_eq!(asked(&workspace), ["claude-code", "", "", ""]);
    apply(&workspace, "gemini-cli-mcp-client", &Value::Null);
    assert_eq!(asked(&workspace), ["gemini-cli-mcp-client", "", "", ""]);
    assert_eq!(workspace.edt(&["log", "--by-turn"]).json["turns"][0]["turn"], Value::Null);
}

#[test]
fn a_prompt_is_never_stopped() {
    let workspace = repository();
    let silent = |agent: &str, payload: &Value, expected: &str| {
        let done = hook(&workspace, agent, payload);
        let printed = String::from_utf8(done.stdout).unwrap();
        assert_eq!((done.status.code(), printed.as_str()), (Some(0), expected), "{agent}");
    };
    let broken = json!({"hook_event_name": "UserPromptSubmit", "cwd": "/nowhere/at/all"});
    silent("claude-code", &broken, "");
    silent("cline", &json!({"hookName": "UserPromptSubmit"}), "{\"cancel\":false}\n");
    silent("windsurf", &json!({"agent_action_name": "pre_user_prompt"}), "");
    // edt's directory cannot be made.
    workspace.write(".git/edt", "a file");
    silent("claude-code", &prompt(&workspace, "claude-code"), "");
    silent("cursor", &prompt(&workspace, "cursor"), "{\"continue\":true}\n");
}

#[test]
fn the_prompt_is_committed_only_if_the_users_own_policy_says_so() {
    let workspace = repository();
    let policy = workspace.home.join(".config/edt/edt.toml");
    std::fs::create_dir_all(policy.parent().unwrap()).unwrap();
    std::fs::write(&policy, "[privacy]\nprompts = \"commit\"\n").unwrap();
    claude_prompt(&workspace, "s-1", "\n Rename two \u{1b}[31m\nto three");
    apply(&workspace, "claude-code", &Value::Null);
    let said = workspace.git(&["log", "-1", "--format=%(trailers:key=Edt-Prompt,valueonly)"]);
    assert_eq!(said.trim(), "Rename two \\u{1b}[31m");
    let other =
        TestRepo::with(&[("edt.toml", b"[privacy]\nprompts = \"commit\"\n"), ("a.txt", b"x\n")]);
    let refused = other.apply(&append("more"));
    assert!(refused.message().contains("[privacy] belongs in the user's own"), "{refused:?}");
}

#[test]
fn a_client_takes_back_its_own_edits_and_others_only_when_it_says_so() {
    let workspace = repository();
    apply(&workspace, "codex-mcp-client", &codex("s-1", "t-1"));
    apply(&workspace, "gemini-cli-mcp-client", &Value::Null);
    let meta = codex("s-1", "t-2");
    let undo = |args: Value| calls(&workspace, "codex-mcp-client", &[("undo", args, meta.clone())]);
    let refused = &undo(json!({}))[0]["errors"][0];
    assert_eq!(
        (&refused["code"], &refused["evidence"]["agent"], &refused["evidence"]["edit"]),
        (&json!("OTHERS_EDIT"), &json!("gemini-cli-mcp-client"), &json!(2))
    );
    assert_eq!(undo(json!({"any": true}))[0]["status"], "applied");
    assert_eq!(undo(json!({}))[0]["status"], "applied");
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    let redo = |args: Value| calls(&workspace, "robot", &[("redo", args, Value::Null)]);
    assert_eq!(redo(json!({}))[0]["errors"][0]["code"], "OTHERS_EDIT");
    assert_eq!(redo(json!({"any": true}))[0]["status"], "applied");
    // The user at the command line takes back everything.
    workspace.edt(&["undo"]).landed();
}

#[test]
fn a_client_whose_name_has_that_of_an_agent_is_not_that_agent() {
    let workspace = repository();
    claude_prompt(&workspace, "s-1", "first");
    apply(&workspace, "kilo-claude-code-proxy", &Value::Null);
    assert_eq!(asked(&workspace), ["kilo-claude-code-proxy", "", "", ""]);
}

#[test]
fn a_prompt_is_shown_to_its_own_agent_and_to_the_user_alone() {
    let workspace = repository();
    claude_prompt(&workspace, "s-1", "secret token abc");
    apply(&workspace, "claude-code", &Value::Null);
    let own = &turns_for(&workspace, "claude-code")[0];
    assert_eq!((&own["turn"], &own["title"]), (&json!(1), &json!("secret token abc")));
    let user = workspace.as_user(b"", &["log", "--by-turn"], &[]).json;
    assert_eq!(user["turns"][0]["title"], "secret token abc", "{user:#}");
    let others = [
        turns_for(&workspace, "gemini-cli-mcp-client"),
        as_gemini(&workspace, &["log", "--by-turn"])["turns"].take(),
        // Nobody knows who reads that.
        workspace.edt(&["log", "--by-turn"]).json["turns"].take(),
    ];
    for turns in others {
        let turn = &turns[0];
        assert_eq!((&turn["turn"], &turn["title"]), (&json!(1), &Value::Null), "{turns:#}");
    }
}

#[test]
fn an_edit_under_another_name_is_still_the_clients_own() {
    let workspace = repository();
    let mut named = append("more");
    named["agent"] = "reviewer".into();
    calls(&workspace, "robot", &[("apply", named, Value::Null)]);
    assert_eq!(asked(&workspace)[0], "reviewer");
    let undo = |client: &str| calls(&workspace, client, &[("undo", json!({}), Value::Null)]);
    assert_eq!(undo("reviewer")[0]["errors"][0]["code"], "OTHERS_EDIT");
    // Also for a server that was started again.
    assert_eq!(undo("robot")[0]["status"], "applied");
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    let args = ["apply", "a.txt", "--mode", "append", "--content", "x", "--agent", "reviewer"];
    assert_eq!(as_gemini(&workspace, &args)["status"], "applied");
    assert_eq!(as_gemini(&workspace, &["undo"])["status"], "applied");
}

#[test]
fn an_approved_proposal_keeps_who_called() {
    let workspace = repository();
    let mut named = append("more");
    (named["agent"], named["propose"]) = ("reviewer".into(), true.into());
    calls(&workspace, "robot", &[("apply", named, Value::Null)]);
    let (status, screen) = workspace.at_terminal("approve 1", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(as_gemini(&workspace, &["apply", "--proposal", "1"])["status"], "applied");
    let who = "--format=%(trailers:key=Edt-Agent)%(trailers:key=Edt-Caller)";
    let said = workspace.git(&["log", "-1", who]);
    assert_eq!(
        said.split_whitespace().collect::<Vec<_>>().join(" "),
        "Edt-Agent: reviewer Edt-Caller: robot"
    );
}

#[test]
fn a_name_in_a_refused_call_makes_no_edit_the_clients_own() {
    let workspace = repository();
    apply(&workspace, "gemini", &Value::Null);
    let claim = json!({"path": "nofile", "mode": "append", "content": "x", "agent": "gemini",
        "check": true});
    let undo = || ("undo", json!({}), Value::Null);
    let all = [undo(), ("apply", claim, Value::Null), undo()];
    let answers = calls(&workspace, "codex", &all);
    let codes: Vec<&Value> = answers.iter().map(|answer| &answer["errors"][0]["code"]).collect();
    assert_eq!(codes, ["OTHERS_EDIT", "FILE_NOT_FOUND", "OTHERS_EDIT"]);
}

#[test]
fn a_number_that_edt_never_gives_is_none() {
    let workspace = repository();
    apply(&workspace, "codex", &codex("s", "t-1"));
    let most = u64::MAX;
    let message = workspace.git(&["log", "-1", "--format=%B"]);
    for (key, from) in [("Edt-Turn", "1"), ("Edt-Edit", "1")] {
        let forged = message.replace(&format!("{key}: {from}"), &format!("{key}: {most}"));
        assert_ne!(forged, message);
        workspace.git(&["commit", "-q", "--amend", "-m", &forged]);
        std::fs::remove_dir_all(workspace.root.join(".git/edt/turns")).unwrap();
        apply(&workspace, "codex", &codex("s", key));
    }
    let record = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/edt/*/record"]);
    workspace.git(&["update-ref", "-d", record.trim()]);
    workspace.git(&[
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        &message.replace(": 1\n", &format!(": {most}\n")),
    ]);
    apply(&workspace, "codex", &codex("s", "t-9"));
    let tip = workspace.git(&["rev-parse", "HEAD"]);
    let undone = record.trim().replace("record", &format!("undone/{most}"));
    workspace.git(&["update-ref", &undone, tip.trim()]);
    workspace.edt(&["undo"]).landed();
}

#[test]
fn a_turn_is_shown_and_taken_back_as_a_whole() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    let edit = |path: &str, turn: &str| {
        let mut args = append("more");
        args["path"] = path.into();
        let answers = calls(&workspace, "codex", &[("apply", args, codex("s", turn))]);
        assert_eq!(answers[0]["status"], "applied");
    };
    [("a.txt", "t-1"), ("b.txt", "t-2"), ("a.txt", "t-1"), ("a.txt", "t-3"), ("b.txt", "t-3")]
        .into_iter()
        .for_each(|(path, turn)| edit(path, turn));
    let names = |args: &[&str]| -> Vec<String> {
        let files = workspace.edt(args).json["files"].clone();
        let files = files.as_array().unwrap().iter();
        files
            .map(|file| format!("{} +{}", file["path"].as_str().unwrap(), file["lines_added"]))
            .collect()
    };
    assert_eq!(names(&["diff", "--turn", "1"]), ["a.txt +2"]);
    assert_eq!(names(&["diff", "--turn", "3"]), ["a.txt +1", "b.txt +1"]);
    assert_eq!(names(&["diff", "--turn", "3", "b.txt"]), ["b.txt +1"]);
    assert!(names(&["diff", "--turn", "1", "b.txt"]).is_empty());
    workspace.refuses(&["BAD_REQUEST"], 2, &["diff", "--turn", "9"]);
    let lines = workspace.edt(&["log"]).json["commits"].clone();
    assert_eq!(
        (&lines[0]["turn"], &lines[0]["model"], &lines[0]["conversation"]),
        (&json!(3), &json!("gpt-5"), &json!("s"))
    );
    workspace.edt(&["undo", "--turn"]).landed();
    assert_eq!(names(&["diff", "--turn", "1"]), ["a.txt +2"]);
    // Edit 2 is between the edits of turn 1.
    let refused = workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo", "--turn"]);
    assert!(refused.message().contains("Edit 1 belongs to turn 1, too"), "{}", refused.message());
    workspace.refuses(&["BAD_REQUEST"], 2, &["undo", "--turn", "-n", "2"]);
    let done = workspace.command(EDT).args(["log", "--by-turn"]).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("turn 1 ") && text.contains("   3 more  +1 -0  a.txt\n"), "{text}");
}
