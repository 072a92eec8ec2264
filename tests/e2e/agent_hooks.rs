//! What each agent's own tools get: every payload of `fixtures/agents/`, sent to the real program.
//! `{ROOT}` is the worktree, `{BIG}` and `{MAKEFILE}` what two of its files hold, `{TEXT}` the text
//! of `fixtures/agents/texts/`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, same};

const PROGRAM: &str = "#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n\tif (argc != 2) {\n\t\tputs(\"usage: calculate N\");\n\t\treturn 1;\n\t}\n\tputs(argv[1]);\n\treturn 0;\n}\n";

/// The agents that have hooks.
const AGENTS: [&str; 8] =
    ["claude-code", "codex", "gemini", "opencode", "cline", "cursor", "copilot", "windsurf"];

fn big() -> String {
    "int f(int x) { return x; }\n".repeat(200)[..3400].to_owned()
}

fn makefile() -> String {
    (0..35).map(|i| format!("target{i}:\n\techo {i}\n")).collect()
}

fn workspace() -> TestRepo {
    let (big, makefile) = (big(), makefile());
    TestRepo::with(&[
        ("big.c", big.as_bytes()),
        ("Makefile", makefile.as_bytes()),
        ("calculate.c", PROGRAM.as_bytes()),
        ("a.txt", b"one\ntwo\n"),
    ])
}

/// The output of a hook.
#[derive(Debug, PartialEq, Eq)]
struct HookOutput {
    exit: i32,
    stdout: String,
    stderr: String,
}

fn run(mut command: Command, payload: &[u8]) -> HookOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let _ = pipe.write_all(payload);
    drop(pipe);
    let done = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    HookOutput {
        exit: done.status.code().unwrap_or(-1),
        stdout: text(done.stdout),
        stderr: text(done.stderr),
    }
}

fn hook(workspace: &TestRepo, agent: &str, payload: &Value) -> HookOutput {
    let mut command = workspace.command(EDT);
    command.args(["agent-hook", agent]);
    run(command, payload.to_string().as_bytes())
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents")
}

/// `value` with every placeholder in its texts replaced.
fn filled(value: &Value, with: &[(&str, &str)]) -> Value {
    let fill =
        |text: &str| with.iter().fold(text.to_owned(), |text, (mark, by)| text.replace(mark, by));
    match value {
        Value::String(text) => Value::String(fill(text)),
        Value::Array(all) => all.iter().map(|one| filled(one, with)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, one)| (key.clone(), filled(one, with))).collect())
        }
        other => other.clone(),
    }
}

/// The payload of a fixture in `workspace`.
fn payload(fixture: &Value, workspace: &TestRepo) -> Value {
    let root = workspace.root.to_str().unwrap();
    // Arguments that are JSON in a text hold texts in a text.
    let escaped = |text: &str| {
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
    };
    let args = fixture["payload"]["toolArgs"].as_str().map(|text| {
        text.replace("{BIG}", &escaped(&big()))
            .replace("{MAKEFILE}", &escaped(&makefile()))
            .replace("{ROOT}", root)
    });
    let mut payload = filled(
        &fixture["payload"],
        &[("{ROOT}", root), ("{BIG}", &big()), ("{MAKEFILE}", &makefile())],
    );
    if let Some(args) = args {
        payload["toolArgs"] = args.into();
    }
    payload
}

struct Fixture {
    agent: String,
    name: String,
    value: Value,
}

fn all_fixtures() -> Vec<Fixture> {
    let mut all = Vec::new();
    for agent in AGENTS {
        for entry in std::fs::read_dir(fixtures().join(agent)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_str().unwrap().trim_end_matches(".json").to_owned();
            let value = serde_json::from_slice(&std::fs::read(entry.path()).unwrap()).unwrap();
            all.push(Fixture { agent: agent.to_owned(), name, value });
        }
    }
    assert!(all.len() > 110, "only {} payloads were found", all.len());
    all
}

/// The text that `name` stands for, as users and agents read it.
fn text(name: &str) -> String {
    let file = fixtures().join("texts").join(format!("{name}.txt"));
    std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        .trim_end()
        .to_owned()
}

/// The expected output, exactly.
#[track_caller]
fn check(fixture: &Fixture, said: &HookOutput) {
    let Fixture { agent, name, value } = fixture;
    let text = value["text"].as_str().map(text).unwrap_or_default();
    let expected = filled(&value["answer"], &[("{TEXT}", &text)]);
    let stdout = match &expected["stdout"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        json => format!("{json}\n"),
    };
    let expected = HookOutput {
        exit: i32::try_from(expected["exit"].as_i64().unwrap()).unwrap(),
        stdout,
        stderr: expected["stderr"].as_str().unwrap().to_owned(),
    };
    assert_eq!(said, &expected, "{agent}/{name}");
}

#[test]
fn every_payload_is_answered_in_exactly_the_agents_form_and_a_refused_edit_changes_nothing() {
    let (workspace, mut seen) = (workspace(), 0);
    for fixture in all_fixtures().iter().filter(|one| !one.name.ends_with("_after")) {
        let before = workspace.snapshot();
        check(fixture, &hook(&workspace, &fixture.agent, &payload(&fixture.value, &workspace)));
        same(&before, &workspace.snapshot());
        seen += 1;
    }
    assert!(seen > 90, "{seen}");
}

#[test]
fn an_edit_that_landed_is_a_commit_of_the_agents_and_one_undo_takes_it_back() {
    for fixture in all_fixtures().iter().filter(|one| one.name.ends_with("_after")) {
        let workspace = workspace();
        let (path, content) = match fixture.name.trim_start_matches("vscode_") {
            "good_after" => ("a.txt", "one\nthree\n"),
            "new_file_after" => ("src/new.txt", "new\n"),
            _ => ("", ""),
        };
        if path.is_empty() {
            let before = workspace.snapshot();
            check(fixture, &hook(&workspace, &fixture.agent, &payload(&fixture.value, &workspace)));
            same(&before, &workspace.snapshot());
            continue;
        }
        let old = workspace.exists(path).then(|| workspace.read(path));
        let before = all_fixtures().into_iter().find(|one| {
            one.agent == fixture.agent && fixture.name.strip_suffix("_after") == Some(&one.name)
        });
        let before = before.unwrap_or_else(|| panic!("{}/{}", fixture.agent, fixture.name));
        check(&before, &hook(&workspace, &before.agent, &payload(&before.value, &workspace)));
        workspace.write(path, content);
        check(fixture, &hook(&workspace, &fixture.agent, &payload(&fixture.value, &workspace)));
        assert_eq!(workspace.git(&["log", "--format=%D|%(trailers:key=Edt-Kind,valueonly,separator=;)|%(trailers:key=Edt-Agent,valueonly,separator=;)", "-1"]).trim(),
            format!("HEAD -> edt/main-1|edit|{}", fixture.agent), "{}", fixture.name);
        assert_eq!(workspace.git(&["diff", "--name-only", "HEAD~1", "HEAD"]).trim(), path);
        assert_eq!(workspace.read(path), content.as_bytes());
        workspace.is_clean();
        // The same edit again: nothing changed, so nothing is printed.
        let again = hook(&workspace, &fixture.agent, &payload(&fixture.value, &workspace));
        assert!(matches!(again.stdout.trim(), "" | "{}" | "{\"cancel\":false}"), "{again:?}");
        assert_eq!((again.exit, again.stderr.as_str()), (0, ""));
        workspace.edt(&["undo"]).landed();
        assert_eq!(workspace.exists(path).then(|| workspace.read(path)), old);
    }
}

/// Unrecorded user changes in the file get a commit of their own before the agent's edit, so that
/// each can be undone.
#[test]
fn uncommitted_user_changes_stay_apart_from_an_agents_edit() {
    // The user's line is next to the edit, or two lines below it.
    for (committed, separate) in [("one\ntwo\n", false), ("one\ntwo\nthree\n", true)] {
        let workspace = TestRepo::with(&[("a.txt", committed.as_bytes())]);
        edit_beside_a_users_line(&workspace, committed, separate);
    }
}

fn edit_beside_a_users_line(workspace: &TestRepo, committed: &str, separate: bool) {
    let typed = committed.to_owned() + "a user's line\n";
    workspace.write("a.txt", &typed);
    let payload = json!({"session_id": "s", "cwd": workspace.root,
        "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": workspace.root.join("a.txt"), "old_string": "two", "new_string": "2"}});
    assert_eq!(
        hook(workspace, "claude-code", &payload),
        HookOutput { exit: 0, stdout: String::new(), stderr: String::new() }
    );
    assert_eq!(workspace.blob("HEAD:a.txt"), committed.as_bytes());
    workspace.write("a.txt", typed.replace("two", "2"));
    let mut after = payload.clone();
    after["hook_event_name"] = "PostToolUse".into();
    let said = hook(workspace, "claude-code", &after);
    assert_eq!((said.exit, said.stderr.as_str()), (0, ""), "{said:?}");
    assert!(said.stdout.contains("edit 1 on edt/main-1"), "{said:?}");
    let branch = if separate { committed.replace("two", "2") } else { committed.to_owned() };
    assert_eq!(workspace.blob("HEAD:a.txt"), branch.as_bytes());
    assert_eq!(workspace.git(&["log", "--format=%s", "main.."]), "edit a.txt (Edit)\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), typed);
    assert_eq!(workspace.git(&["diff", "--numstat", "main"]), "1\t0\ta.txt\n");
}

/// Without the hook before an edit, an edit that landed is still judged and reported, and stays.
#[test]
fn what_git_ignores_is_judged_and_not_recorded() {
    let workspace = workspace();
    workspace.commit(&[(".gitignore", b"/.env\n/build/\n")]);
    workspace.write("build/out.c", big());
    let payload = |event: &str, tool: &str, input: Value| {
        json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": event,
            "tool_name": tool, "tool_input": input})
    };
    let write = |path: &str, content: &str| json!({"file_path": workspace.root.join(path), "content": content});
    for event in ["PreToolUse", "PostToolUse"] {
        workspace.write(".env", "TOKEN=secret\n");
        let said = hook(
            &workspace,
            "claude-code",
            &payload(event, "Write", write(".env", "TOKEN=other\n")),
        );
        assert_eq!((said.exit, said.stdout.as_str()), (0, ""), "{said:?}");
    }
    assert!(workspace.git(&["for-each-ref", "refs/heads/edt", "refs/edt"]).is_empty());
    let said =
        hook(&workspace, "claude-code", &payload("PreToolUse", "Write", write("build/out.c", "}")));
    assert!(
        said.stdout.contains("SIZE_REDUCTION") || said.stdout.contains("SYNTAX_ERROR"),
        "{said:?}"
    );
    // The home directory of an unknown user.
    let input = json!({"file_path": "~/a.txt", "content": "x"});
    assert!(
        hook(&workspace, "claude-code", &payload("PreToolUse", "Write", input))
            .stdout
            .contains("BAD_REQUEST")
    );
    // Tracked files are recorded whatever a rule says.
    workspace.git(&["add", "--force", ".env"]);
    workspace.git(&["commit", "--quiet", "-m", "tracked"]);
    hook(
        &workspace,
        "claude-code",
        &payload("PreToolUse", "Write", write(".env", "TOKEN=other\n")),
    );
    workspace.write(".env", "TOKEN=other\n");
    hook(
        &workspace,
        "claude-code",
        &payload("PostToolUse", "Write", write(".env", "TOKEN=other\n")),
    );
    assert!(workspace.git(&["log", "--format=%s", "edt/main-1"]).contains(".env"));
}

#[test]
fn an_edit_that_landed_against_a_guard_is_recorded_and_reported_in_the_agents_format() {
    let workspace = workspace();
    workspace.write("big.c", "}");
    let payload = |name: &str, tool: &str| {
        json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": name, "tool_name": tool,
            "tool_input": {"file_path": "big.c", "content": "}"}, "tool_response": {}})
    };
    let said = hook(&workspace, "claude-code", &payload("PostToolUse", "Write"));
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.exit, &answer["decision"]), (0, &json!("block")), "{said:?}");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.starts_with("edt would have refused this edit, but the tool has made it.\nThe edit is not recorded as an edit.\nSIZE_REDUCTION: This would shrink"), "{reason}");
    assert!(!reason.contains("Nothing was changed"), "{reason}");
    // Nobody knows the file before: all of it counts as the user's, and stays uncommitted.
    assert!(reason.contains("warning: big.c: edt did not see this file"), "{reason}");
    assert_eq!(
        (workspace.text("big.c").as_str(), workspace.status().as_str()),
        ("}", " M big.c\n")
    );
    workspace.refuses(&["NO_SESSION"], 1, &["undo"]);
}

/// The hook after the second of two parallel calls finds no announcement.
#[test]
fn parallel_calls_of_one_file_do_not_record_the_users_lines() {
    let workspace = TestRepo::with(&[("a.txt", lines().as_bytes())]);
    let payload = |name: &str, old: &str, new: &str| {
        json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": name,
            "tool_name": "Edit",
            "tool_input": {"file_path": "a.txt", "old_string": old, "new_string": new}})
    };
    let call = |name: &str, old: &str, new: &str| {
        let said = hook(&workspace, "claude-code", &payload(name, old, new));
        assert_eq!((said.exit, said.stderr.as_str()), (0, ""), "{said:?}");
    };
    let change = |old: &str, new: &str| {
        workspace.write("a.txt", workspace.text("a.txt").replace(old, new));
    };
    change("line 3\n", "line 3 by hand\n");
    call("PreToolUse", "line 20\n", "line twenty\n");
    call("PreToolUse", "line 40\n", "line forty\n");
    change("line 20\n", "line twenty\n");
    call("PostToolUse", "line 20\n", "line twenty\n");
    change("line 30\n", "line 30 by hand\n");
    change("line 40\n", "line forty\n");
    call("PostToolUse", "line 40\n", "line forty\n");
    call("PostToolUse", "line 40\n", "line forty\n");
    let agents = lines().replace("line 20\n", "line twenty\n").replace("line 40\n", "line forty\n");
    assert_eq!(workspace.blob("HEAD:a.txt"), agents.as_bytes());
    assert_eq!(workspace.git(&["rev-list", "--count", "main.."]).trim(), "2");
    workspace.edt(&["undo", "-n", "2"]).landed();
    let users = lines().replace("line 3\n", "line 3 by hand\n");
    assert_eq!(workspace.text("a.txt"), users.replace("line 30\n", "line 30 by hand\n"));
}

/// A deletion leaves no text from which the file before it could be derived.
#[test]
fn a_deletion_after_a_parallel_call_lands_without_consent() {
    let workspace = TestRepo::with(&[("a.txt", lines().as_bytes())]);
    let call = |name: &str, old: &str, new: &str| {
        let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": name,
            "tool_name": "Edit",
            "tool_input": {"file_path": "a.txt", "old_string": old, "new_string": new}});
        let said = hook(&workspace, "claude-code", &payload);
        assert_eq!((said.exit, said.stderr.as_str()), (0, ""), "{said:?}");
        said.stdout
    };
    call("PreToolUse", "line 20\n", "line twenty\n");
    call("PreToolUse", "line 40\n", "");
    let first = lines().replace("line 20\n", "line twenty\n");
    workspace.write("a.txt", &first);
    call("PostToolUse", "line 20\n", "line twenty\n");
    let both = first.replace("line 40\n", "");
    let disk = both.replace("line 30\n", "line 30 by hand\n");
    workspace.write("a.txt", &disk);
    let said = call("PostToolUse", "line 40\n", "");
    assert!(said.contains("warning: a.txt: While the tool ran, more changed"), "{said}");
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), both.as_bytes());
    assert_eq!(workspace.text("a.txt"), disk);
}

/// Fifty lines.
fn lines() -> String {
    (1..=50).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn what_cannot_be_judged_is_blocked() {
    let workspace = workspace();
    let blocks = |agent: &str, said: &HookOutput, why: &str| {
        let blocked = match agent {
            "cline" => {
                said.stdout.starts_with("{\"cancel\":true,\"errorMessage\":\"edt could not judge")
            }
            _ => {
                said.exit == 2
                    && said.stderr.starts_with("edt could not judge this edit, so it is blocked: ")
            }
        };
        assert!(
            blocked && (said.stdout.contains(why) || said.stderr.contains(why)),
            "{agent}: {said:?}"
        );
    };
    for agent in AGENTS {
        let said = |input: &[u8]| {
            let mut command = workspace.command(EDT);
            command.args(["agent-hook", agent]);
            run(command, input)
        };
        blocks(agent, &said(b""), "is not JSON");
        blocks(agent, &said(b"{\"half\": "), "is not JSON");
        blocks(agent, &said(b"[1]"), "the payload is not a JSON object");
    }
    // A policy that cannot be read never lets an edit pass, nor does a damaged repository.
    std::fs::write(workspace.home.join(".config/edt.toml"), "").unwrap();
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(workspace.home.join(".config/edt/edt.toml"), "[guards\n").unwrap();
    let good = json!({"session_id": "s", "cwd": workspace.root,
        "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": {"file_path": "a.txt", "old_string": "two", "new_string": "2"}});
    let said = hook(&workspace, "claude-code", &good);
    assert!(said.exit == 2 || said.stdout.contains("\"deny\""), "{said:?}");
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    assert_eq!(hook(&workspace, "aider", &good).exit, 2);
    assert_eq!(hook(&workspace, "emacs", &good).exit, 2);
}

#[test]
fn whatever_is_wrong_with_a_prompt_it_goes_on() {
    let workspace = workspace();
    for agent in AGENTS {
        let file = fixtures().join(agent).join("prompt.json");
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let text = text.replace("{ROOT}", workspace.root.to_str().unwrap());
        let payload = serde_json::from_str::<Value>(&text).unwrap()["payload"].to_string();
        let prompt = "Rename two";
        assert!(payload.contains(prompt), "{payload}");
        let half = payload.replace(prompt, "Rename \\ud83d");
        let at = payload.find(prompt).unwrap() + 4;
        let byte = [&payload.as_bytes()[..at], b"\xe9", &payload.as_bytes()[at..]].concat();
        // A byte that ends the text too early, after which the name of the hook may follow.
        let broken = payload.replace(prompt, "Rename\ntwo");
        for (input, sink) in [
            (half.as_bytes(), ""),
            (&byte, ""),
            (broken.as_bytes(), ""),
            (payload.as_bytes(), " > /dev/full"),
        ] {
            let mut command = workspace.command("sh");
            let script = format!("exec \"$0\" agent-hook {agent}{sink}");
            command.args(["-c", &script, EDT]);
            let said = run(command, input);
            let goes_on = match agent {
                _ if !sink.is_empty() => String::new(),
                "cline" => "{\"cancel\":false}\n".to_owned(),
                "cursor" => "{\"continue\":true}\n".to_owned(),
                _ => String::new(),
            };
            let expected = HookOutput { exit: 0, stdout: goes_on, stderr: String::new() };
            assert_eq!(said, expected, "{agent}: {}", String::from_utf8_lossy(input));
        }
    }
    // An edit is judged on its own text, or not at all.
    let edit = format!(
        "{{\"session_id\":\"s\",\"cwd\":\"{}\",\"hook_event_name\":\"PreToolUse\",\
         \"tool_name\":\"Write\",\"tool_input\":{{\"file_path\":\"n.txt\",\"content\":\"\\ud83d\"}}}}",
        workspace.root.display()
    );
    let mut command = workspace.command(EDT);
    command.args(["agent-hook", "claude-code"]);
    let said = run(command, edit.as_bytes());
    assert!(said.exit == 2 && said.stderr.contains("not Unicode"), "{said:?}");
}

#[test]
fn the_watchdog_blocks_before_the_agent_gives_up() {
    let workspace = workspace();
    for agent in AGENTS {
        // Nothing comes on standard input, and it stays open.
        let mut command = workspace.command(EDT);
        command
            .args(["agent-hook", agent, "--timeout", "0.4"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        let open = child.stdin.take();
        let done = child.wait_with_output().unwrap();
        drop(open);
        let (out, err) =
            (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(begun.elapsed() < Duration::from_secs(60), "{agent}");
        let said = if agent == "cline" { &out } else { &err };
        assert!(said.contains("the call timed out after 0.4 s."), "{agent}: {out}{err}");
        assert!(agent == "cline" || done.status.code() == Some(2), "{agent}: {}", done.status);
    }
}

/// A call of the shell of Claude Code.
fn shell_call(workspace: &TestRepo, point: &str, command: &str) -> HookOutput {
    let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": point,
        "tool_name": "Bash", "tool_input": {"command": command}});
    hook(workspace, "claude-code", &payload)
}

/// What the agent's shell changed was booked as the user's, and a part of it landed in silence.
#[test]
fn shell_work_booked_as_users() {
    let workspace = workspace();
    workspace.write("notes.txt", "mine\n");
    let command = "sed -i s/two/2/ a.txt; echo new > n.txt; rm notes.txt";
    assert_eq!(shell_call(&workspace, "PreToolUse", command).stdout, "");
    workspace.write("a.txt", "one\n2\n");
    workspace.write("n.txt", "new\n");
    std::fs::remove_file(workspace.root.join("notes.txt")).unwrap();
    let said = shell_call(&workspace, "PostToolUse", command).stdout;
    assert!(said.contains("Changed while the command ran: a.txt, n.txt, notes.txt."), "{said}");
    assert_eq!(workspace.git(&["diff", "--stat", "main", "HEAD"]), "");
    let left = workspace.edt(&["status"]).json["left_over"].as_array().unwrap().len();
    assert_eq!(left, 2, "a file that is gone is in no commit either way");
    // An edit beside it does not land without the user's word.
    let request = json!({"mode": "append", "path": "calculate.c", "content": "/* end */\n"});
    workspace.apply(&request).landed();
    assert_eq!(workspace.edt(&["land", "-m", "x"]).codes(), ["LEAVES_OUT"]);
    workspace.edt(&["undo"]);
    // Some of it may be the user's: it stays unless it is kept first.
    assert_eq!(workspace.edt(&["undo"]).codes()[0], "UNSAVED_CHANGES");
    workspace.edt(&["undo", "--save"]);
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    assert_eq!(workspace.text("notes.txt"), "mine\n");
    assert!(!workspace.root.join("n.txt").exists());
}

#[test]
fn a_command_whose_end_was_not_reported_is_kept_by_the_next() {
    let workspace = workspace();
    shell_call(&workspace, "PreToolUse", "make");
    workspace.write("a.txt", "one\n2\n");
    let said = shell_call(&workspace, "PreToolUse", "ls").stdout;
    assert!(said.contains("Changed while the command ran: a.txt."), "{said}");
    assert_eq!(shell_call(&workspace, "PostToolUse", "ls").stdout, "");
    assert_eq!(shell_call(&workspace, "PostToolUse", "ls").stdout, "");
}

#[test]
fn a_command_that_changes_nothing_is_answered_in_silence_and_begins_no_session() {
    let workspace = workspace();
    workspace.write("notes.txt", "mine\n");
    for point in ["PreToolUse", "PostToolUse"] {
        let said = shell_call(&workspace, point, "ls | head -3");
        assert_eq!(said, HookOutput { exit: 0, stdout: String::new(), stderr: String::new() });
    }
    assert_eq!(workspace.git(&["for-each-ref", "refs/edt", "refs/heads/edt"]), "");
}

#[test]
fn what_the_agent_records_while_its_command_runs_stays_its_own() {
    let workspace = workspace();
    shell_call(&workspace, "PreToolUse", "edt apply");
    let request = json!({"mode": "append", "path": "a.txt", "content": "three\n"});
    workspace.apply(&request).landed();
    assert_eq!(shell_call(&workspace, "PostToolUse", "edt apply").stdout, "");
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nthree\n");
}

/// A call of Gemini's shell.
fn gemini_call(workspace: &TestRepo, point: &str, command: &str) -> HookOutput {
    let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": point,
        "tool_name": "run_shell_command", "tool_input": {"command": command}});
    hook(workspace, "gemini", &payload)
}

/// The command that edt puts in the place of `command`.
#[track_caller]
fn wrapped(workspace: &TestRepo, command: &str) -> String {
    let said = gemini_call(workspace, "BeforeTool", command);
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    let command = &answer["hookSpecificOutput"]["tool_input"]["command"];
    command.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn in_shell(workspace: &TestRepo, command: &str, input: &[u8]) -> HookOutput {
    let mut shell = workspace.command("bash");
    shell.args(["-c", command]);
    run(shell, input)
}

#[test]
fn a_command_that_edt_wraps_is_recorded_as_the_agents() {
    let workspace = workspace();
    workspace.write("notes.txt", "mine\n");
    let script =
        "sed -i s/two/2/ a.txt; cat > 'n w.txt'; rm notes.txt; echo out; echo err >&2; exit 7";
    let command = wrapped(&workspace, script);
    // The user writes meanwhile.
    workspace.write("calculate.c", &(workspace.text("calculate.c") + "/* mine */\n"));
    let done = in_shell(&workspace, &command, b"new\n");
    assert_eq!((done.exit, &*done.stdout, &*done.stderr), (7, "out\n", "err\n"));
    assert_eq!(gemini_call(&workspace, "AfterTool", script).stdout, "");
    let changed = workspace.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(changed, "a.txt\nn w.txt\n");
    let log = workspace.git(&["log", "-1", "--format=%s%n%(trailers:key=Edt-Agent,valueonly)"]);
    assert!(log.starts_with("shell: sed -i s/two/2/ a.txt; cat > 'n w.txt'"), "{log}");
    assert!(log.contains("gemini"), "{log}");
    let status = workspace.edt(&["status"]).json;
    assert!(!status["left_over"].to_string().contains("a.txt"), "{status}");
    workspace.edt(&["undo"]);
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    assert_eq!(workspace.text("notes.txt"), "mine\n");
    assert!(workspace.text("calculate.c").ends_with("/* mine */\n"));
    assert!(!workspace.root.join("n w.txt").exists());
    workspace.is_sound();
}

#[test]
fn what_a_wrapped_command_ruins_is_rolled_back() {
    let workspace = workspace();
    let before = workspace.text("big.c");
    let command = wrapped(&workspace, "echo '}' > big.c");
    let done = in_shell(&workspace, &command, b"");
    assert!(done.exit != 0 && done.stderr.contains("SIZE_REDUCTION"), "{done:?}");
    assert_eq!(workspace.text("big.c"), before);
}

/// Some versions of agents run the command that the model gave.
#[test]
fn an_agent_that_runs_its_own_command_is_not_asked_again() {
    let workspace = workspace();
    let script = "sed -i s/two/2/ a.txt";
    wrapped(&workspace, script);
    workspace.write("a.txt", "one\n2\n");
    let said = gemini_call(&workspace, "AfterTool", script).stdout;
    assert!(said.contains("gemini ran the command itself"), "{said}");
    assert!(said.contains("Changed while the command ran: a.txt."), "{said}");
    assert_eq!(gemini_call(&workspace, "BeforeTool", script).stdout, "");
    workspace.write("a.txt", "one\n3\n");
    let said = gemini_call(&workspace, "AfterTool", script).stdout;
    assert!(!said.contains("itself") && said.contains("a.txt"), "{said}");
}

#[test]
fn only_a_command_that_a_hook_judged_is_run_and_only_once() {
    let workspace = workspace();
    let done = workspace.edt(&["agent-shell", "gemini", "x", "touch new"]);
    assert_eq!(done.codes(), ["BAD_REQUEST"]);
    assert!(!workspace.root.join("new").exists());
    let command = wrapped(&workspace, "echo x >> a.txt");
    let other = command.replace("a.txt", "b.txt");
    assert_eq!(in_shell(&workspace, &other, b"").exit, 2);
    assert_eq!(in_shell(&workspace, &command, b"").exit, 0);
    assert_eq!(in_shell(&workspace, &command, b"").exit, 2);
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nx\n");
}

#[test]
fn a_command_runs_only_where_a_hook_judged_it() {
    let workspace = workspace();
    let git_hooks = workspace.root.join(".git/hooks");
    std::fs::create_dir_all(git_hooks.join("hooks")).unwrap();
    std::fs::create_dir_all(workspace.root.join("hooks")).unwrap();
    let command = wrapped(&workspace, "echo x > hooks/new");
    for elsewhere in [&git_hooks, &workspace.root.join("hooks")] {
        let mut shell = workspace.command("bash");
        shell.args(["-c", &command]).current_dir(elsewhere);
        let done = run(shell, b"");
        assert!(done.exit == 2 && done.stderr.contains("in this directory"), "{done:?}");
    }
    assert!(!git_hooks.join("hooks/new").exists());
    assert_eq!(in_shell(&workspace, &command, b"").exit, 0);
    assert_eq!(workspace.text("hooks/new"), "x\n");
}

#[test]
fn a_call_of_edt_that_asks_the_user_itself_is_not_asked_about() {
    let workspace = workspace();
    let snapshots = workspace.git_dir("--git-dir").join("edt/main/snapshot");
    let pending = || std::fs::read_dir(&snapshots).map_or(0, Iterator::count);
    for script in ["edt run npm install x", "edt run --shell 'npm install x'", "edt run --output 3"]
    {
        let said = gemini_call(&workspace, "BeforeTool", script);
        assert_eq!((said.stdout.as_str(), pending()), ("", 0), "{script}");
    }
    let said = gemini_call(&workspace, "BeforeTool", "edt run --shell 'npm install > log'");
    assert!(!said.stdout.contains("refused"), "{said:?}");
    gemini_call(&workspace, "AfterTool", "edt run --shell 'npm install > log'");
    for script in ["edt run make; npm install x", "edt() { npm install x; }; edt run make"] {
        let said = gemini_call(&workspace, "BeforeTool", script);
        assert!(said.stdout.contains("edt refused this command"), "{script}: {said:?}");
    }
    let before = pending();
    gemini_call(&workspace, "BeforeTool", "edt() { make; }; edt run x");
    assert_eq!(pending(), before + 1);
}

#[test]
fn what_cannot_be_recorded_in_the_shells_place_is_compared() {
    let workspace = workspace();
    for script in ["make & wait", "nohup make", "edt undo > log"] {
        let said = gemini_call(&workspace, "BeforeTool", script);
        assert!(!said.stdout.contains("agent-shell"), "{script}: {said:?}");
    }
}

#[test]
fn before_a_command_that_only_reads_nothing_is_copied() {
    let workspace = workspace();
    let snapshots = workspace.git_dir("--git-dir").join("edt/main/snapshot");
    let pending = || std::fs::read_dir(&snapshots).map_or(0, Iterator::count);
    for script in
        ["grep -rn one . | head -3", "cd . && git log -1", "find . -name a.txt", "edt undo"]
    {
        assert_eq!(gemini_call(&workspace, "BeforeTool", script).stdout, "", "{script}");
        assert_eq!(pending(), 0, "{script}");
    }
    for script in ["ls > a.txt", "find . -name x -fprint y", "make"] {
        gemini_call(&workspace, "BeforeTool", script);
        assert_eq!(pending(), 1, "{script}");
        gemini_call(&workspace, "AfterTool", script);
    }
}

/// Another edt that holds the worktree keeps an edit from being judged; then it does not land.
#[test]
fn a_locked_worktree_blocks_and_the_answer_names_the_holder() {
    let workspace = workspace();
    let lock = workspace.git_dir("--git-dir").join("edt/main");
    std::fs::create_dir_all(&lock).unwrap();
    let file = std::fs::File::create(lock.join("lock")).unwrap();
    file.lock().unwrap();
    let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": "a.txt", "content": "x\n"}});
    let mut command = workspace.command(EDT);
    command.args(["agent-hook", "claude-code", "--timeout", "1"]);
    let said = run(command, payload.to_string().as_bytes());
    assert_eq!((said.exit, said.stdout.as_str()), (2, ""), "{said:?}");
    assert!(
        said.stderr.contains("SESSION_BUSY") && said.stderr.contains("so it is blocked"),
        "{said:?}"
    );
    // After an edit, the answer must not claim that the edit did not land.
    let mut after = payload;
    after["hook_event_name"] = "PostToolUse".into();
    let mut command = workspace.command(EDT);
    command.args(["agent-hook", "claude-code", "--timeout", "1"]);
    let said = run(command, after.to_string().as_bytes());
    assert!(
        said.exit == 2
            && said
                .stderr
                .starts_with("The edit was made, but edt could not record it: SESSION_BUSY"),
        "{said:?}"
    );
}

#[test]
fn a_protected_path_waits_for_approval_in_every_tool() {
    let workspace = TestRepo::with(&[
        ("edt.toml", b"[[protect]]\npaths = [\"secret/**\"]\n"),
        ("secret/key.txt", b"one\n"),
    ]);
    let payload = json!({"session_id": "s", "turn_id": "t", "cwd": workspace.root, "hook_event_name": "PreToolUse", "tool_name": "apply_patch",
        "tool_input": {"command": "*** Begin Patch\n*** Update File: secret/key.txt\n@@\n-one\n+two\n*** End Patch"}});
    let before = workspace.snapshot();
    let said = hook(&workspace, "codex", &payload);
    assert!(said.stdout.contains("\"deny\"") && said.stdout.contains("secret/key.txt"), "{said:?}");
    same(&before, &workspace.snapshot());
}

#[test]
fn a_new_conversation_in_a_worktree_gets_a_notice_about_edt() {
    let workspace = workspace();
    let payload = |cwd: &Path| json!({"session_id": "s", "cwd": cwd, "hook_event_name": "SessionStart", "source": "startup"});
    let said = hook(&workspace, "codex", &payload(&workspace.root));
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
    assert!(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("edt"));
    let elsewhere = hook(&workspace, "codex", &payload(Path::new("/")));
    assert_eq!(elsewhere, HookOutput { exit: 0, stdout: String::new(), stderr: String::new() });
}

/// What opencode would do with the plugin, done by Node, where that is here.
const DRIVER: &str = r#"
const { EdtPlugin } = await import(process.argv[1])
const root = process.argv[2]
const fs = await import("node:fs")
const hooks = await EdtPlugin({ directory: root })
const said = []
const before = (tool, args, callID) =>
  hooks["tool.execute.before"]({ tool, sessionID: "s", callID }, { args }).then(() => "passed", (error) => error.message.split("\n")[0])
said.push(await before("write", { filePath: root + "/big.c", content: "}" }, "1"))
said.push(await before("read", { filePath: "a" }, "2"))
said.push(await before("edit", { filePath: root + "/a.txt", oldString: "two", newString: "three" }, "3"))
fs.writeFileSync(root + "/a.txt", "one\nthree\n")
const output = { output: "done" }
await hooks["tool.execute.after"]({ tool: "edit", sessionID: "s", callID: "3" }, output)
said.push(output.output)
console.log(JSON.stringify(said))
"#;

#[test]
fn the_opencode_plugin_throws_the_refusal_and_throws_without_edt() {
    let workspace = workspace();
    if workspace.command("node").arg("--version").output().is_err() {
        return;
    }
    let driven = |edt: &str| -> Value {
        workspace.edt(&["setup", "opencode", "--scope", "user"]);
        let text = std::fs::read_to_string(workspace.home.join(".config/opencode/plugins/edt.js"))
            .unwrap();
        let plugin = workspace.home.join("plugin.mjs");
        std::fs::write(&plugin, text.replace(EDT, edt)).unwrap();
        let mut command = workspace.command("node");
        command.args(["--input-type=module", "-e", DRIVER]).arg(&plugin).arg(&workspace.root);
        let done = command.output().unwrap();
        serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr)))
    };
    let said = driven("/nowhere/edt");
    let gone = "edt could not be run: spawn /nowhere/edt ENOENT";
    assert_eq!(said, json!([gone, "passed", gone, "done"]));
    workspace.write("a.txt", "one\ntwo\n");
    let said = driven(EDT);
    assert_eq!(said[0], "edt refused this edit; nothing was changed.");
    assert_eq!((&said[1], &said[2]), (&json!("passed"), &json!("passed")));
    assert_eq!(said[3], format!("done\n\n{}", text("good_after")));
    assert_eq!(
        (workspace.text("big.c"), workspace.git(&["log", "--format=%s", "-1"]).trim()),
        (big(), "edit a.txt (edit)")
    );
}

/// One worktree by two names, and two worktrees in one patch: each is judged, and nothing waits for
/// itself.
#[test]
fn a_patch_may_speak_of_several_worktrees_and_of_one_by_several_names() {
    let (workspace, other) = (workspace(), TestRepo::with(&[("b.txt", b"one\n")]));
    let link = workspace.home.join("link");
    std::os::unix::fs::symlink(&workspace.root, &link).unwrap();
    let patch = |b: &str| {
        let (a, link, b_file) =
            (workspace.root.join("a.txt"), link.join("new.txt"), other.root.join("b.txt"));
        format!(
            "*** Begin Patch\n*** Update File: {}\n@@\n-two\n+2\n*** Add File: {}\n+new\n*** Update File: {}\n@@\n-one\n+{b}\n*** End Patch\n",
            a.display(),
            link.display(),
            b_file.display(),
        )
    };
    let payload = |name: &str, b: &str| {
        json!({"session_id": "s", "turn_id": "t", "cwd": workspace.root, "hook_event_name": name, "tool_name": "apply_patch",
            "tool_input": {"command": patch(b)}, "tool_response": "ok"})
    };
    let (here, there) = (workspace.snapshot(), other.snapshot());
    assert_eq!(
        hook(&workspace, "codex", &payload("PreToolUse", "1")),
        HookOutput { exit: 0, stdout: String::new(), stderr: String::new() }
    );
    let refused = hook(&workspace, "codex", &payload("PreToolUse", "<<<<<<< HEAD"));
    assert!(refused.stdout.contains("CONFLICT_MARKERS"), "{refused:?}");
    same(&here, &workspace.snapshot());
    same(&there, &other.snapshot());
    workspace.write("a.txt", "one\n2\n");
    workspace.write("new.txt", "new\n");
    other.write("b.txt", "1\n");
    let printed = hook(&workspace, "codex", &payload("PostToolUse", "1"));
    assert_eq!(
        (printed.exit, printed.stdout.matches("is recorded as edit 1").count()),
        (0, 2),
        "{printed:?}"
    );
    assert_eq!(workspace.git(&["diff", "--name-only", "HEAD~1"]), "a.txt\nnew.txt\n");
    workspace.is_clean();
    other.is_clean();
}

/// Ways past the hook in earlier versions, each in the form of one agent.
#[test]
fn earlier_ways_past_the_hook_are_refused_without_a_change() {
    let workspace = TestRepo::with(&[
        ("edt.toml", b"[[protect]]\npaths = [\".github/**\"]\n"),
        (".github/ci.yml", b"one\n"),
        ("a.txt", b"one\ntwo  \n"),
        ("inner/b.txt", b"one\n"),
    ]);
    let outside = workspace.home.join("outside.txt");
    std::fs::write(&outside, "one\n").unwrap();
    workspace.git(&["init", "-q", "--bare", workspace.home.join("bare.git").to_str().unwrap()]);
    let ask = |agent: &str, tool: &str, input: Value| {
        let payload = json!({"session_id": "s", "turn_id": "t", "cwd": workspace.root, "hook_event_name": "PreToolUse",
            "tool_name": tool, "tool_input": input});
        let said = hook(&workspace, agent, &payload);
        format!("{} {}{}", said.exit, said.stdout, said.stderr)
    };
    let patch = |body: &str| {
        ask(
            "codex",
            "apply_patch",
            json!({"command": format!("*** Begin Patch\n{body}*** End Patch\n")}),
        )
    };
    let write =
        |path: &str| ask("claude-code", "Write", json!({"file_path": path, "content": "x\n"}));
    let notebook = |path: &str| {
        ask("claude-code", "NotebookEdit", json!({"notebook_path": path, "new_source": "x"}))
    };
    let before = workspace.snapshot();
    let (out, bare) = (outside.display(), workspace.home.join("bare.git/hooks/pre-commit"));
    for (said, expected) in [
        (patch("  *** Delete File: .github/ci.yml\n"), ".github/ci.yml"),
        (patch("*** Delete File:.github/ci.yml\n"), ".github/ci.yml"),
        (patch("*** Remove File: .github/ci.yml\n"), "INVALID_PATCH"),
        (
            patch(&format!("*** Update File: {out}\n*** Move to: c.txt\n@@\n-one\n+two\n")),
            "PATH_OUTSIDE_REPO",
        ),
        (
            patch(&format!("*** Update File: {out}\n*** Move to: .git/hooks/x\n@@\n-one\n+two\n")),
            "PATH_IN_GIT_DIR",
        ),
        (notebook(".git/config"), "PATH_IN_GIT_DIR"),
        (notebook(".github/ci.yml"), "PROTECTED_PATH"),
        (ask("claude-code", "MultiEdit", json!({"file_path": "a.txt", "edits": []})), "is empty"),
        (
            ask(
                "claude-code",
                "Write",
                json!({"file_path": "a.txt", "path": "c.txt", "content": "x"}),
            ),
            "differ",
        ),
        (ask("claude-code", "", json!({})), "is empty"),
        (write(bare.to_str().unwrap()), "PATH_IN_GIT_DIR"),
    ] {
        assert!(said.starts_with("2 ") || said.contains("\"deny\""), "{expected}: {said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert_eq!(patch("*** Update File: a.txt\n@@\n one\n-two\n+2\n"), "0 ", "Codex applies it");
    same(&before, &workspace.snapshot());
    // A lock of Git keeps the edit from being recorded, so it does not land.
    let lock = workspace.git_dir("--git-dir").join("index.lock");
    std::fs::write(&lock, "").unwrap();
    assert!(write("new.txt").contains("REPOSITORY_BUSY"));
    std::fs::remove_file(&lock).unwrap();
    // A repository within that tracks nothing of its own.
    workspace.git(&["init", "-q", "inner"]);
    let said = write("inner/b.txt");
    assert!(said.contains("is tracked by the repository"), "{said}");
    // A damaged repository is not the same as no repository.
    std::fs::rename(workspace.root.join(".git/HEAD"), workspace.root.join(".git/HEAD.away"))
        .unwrap();
    assert!(write("a.txt").starts_with("2 "));
}

#[test]
fn the_environment_names_no_other_repository_and_an_answer_that_cannot_be_written_is_a_no() {
    let (workspace, other) = (workspace(), TestRepo::with(&[("a.txt", b"one\n")]));
    let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": workspace.root.join(".git/config"), "content": "x"}});
    let edit = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": "a.txt", "content": "one\ntwo\n3\n"}});
    let mut command = workspace.command(EDT);
    command
        .args(["agent-hook", "claude-code"])
        .env("GIT_DIR", other.root.join(".git"))
        .env("GIT_WORK_TREE", &other.root);
    let said = run(command, edit.to_string().as_bytes());
    assert!(said.exit == 2 && said.stderr.contains("GIT_DIR"), "{said:?}");
    let mut command = workspace.command("sh");
    command.args(["-c", "exec \"$0\" agent-hook claude-code > /dev/full", EDT]);
    let said = run(command, payload.to_string().as_bytes());
    assert!(said.exit == 2 && said.stderr.contains("PATH_IN_GIT_DIR"), "{said:?}");
    // What was done cannot be cancelled.
    let after = json!({"hookName": "PostToolUse", "workspaceRoots": [workspace.root], "postToolUse": {"toolName": "editor", "parameters": {}}});
    let said = hook(&workspace, "cline", &after);
    assert!(
        said.stdout.starts_with("{\"cancel\":false,") && said.stdout.contains("was made"),
        "{said:?}"
    );
}

/// The user's comments reach the model of an agent that uses its own tools alone, once, in hooks
/// whose context it reads.
#[test]
fn hooks_add_the_users_comments_once() {
    let claude = |event: &str, root: &Path| {
        json!({"session_id": "s", "cwd": root, "hook_event_name": event, "tool_name": "Bash",
            "tool_use_id": "t", "tool_input": {"command": "ls"}, "prompt": "go on"})
    };
    let cases = [
        ("claude-code", "UserPromptSubmit", true),
        ("claude-code", "PostToolUse", true),
        ("claude-code", "SessionStart", true),
        ("claude-code", "PreToolUse", false),
        ("codex", "UserPromptSubmit", true),
        ("qwen", "PostToolUse", true),
    ];
    for (agent, event, adds) in cases {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        workspace.edt(&["begin", "s"]).landed();
        let mut payload = claude(event, &workspace.root);
        if agent == "qwen" {
            payload["tool_name"] = "run_shell_command".into();
        }
        workspace.edt(&["comment", "add", "-m", "Add tests."]);
        // A draft is only the user's.
        let draft = hook(&workspace, agent, &payload);
        assert!(!draft.stdout.contains("Add tests."), "{agent} {event}: {draft:?}");
        workspace.edt(&["comment", "send"]);
        let first = hook(&workspace, agent, &payload);
        assert_eq!(first.exit, 0, "{agent} {event}: {first:?}");
        if !adds {
            assert_eq!(first.stdout, "", "{agent} {event}");
            continue;
        }
        let said: Value = serde_json::from_str(&first.stdout).unwrap();
        let output = &said["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], event, "{agent}");
        let text = output["additionalContext"].as_str().unwrap();
        assert!(text.contains("comment 1, the session:\n    Add tests.\n"), "{agent}: {text}");
        let again = hook(&workspace, agent, &payload);
        assert!(!again.stdout.contains("Add tests."), "{agent} {event}: {again:?}");
        let read = workspace.edt(&["comment", "list"]).json["comments"][0]["read"].clone();
        assert_eq!(read["agent"], agent);
    }
    // Where the model does not read it, it stays unread.
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["comment", "add", "-m", "Add tests."]);
    workspace.edt(&["comment", "send"]);
    let payload = json!({"agent_action_name": "post_run_command",
        "tool_info": {"command_line": "ls", "cwd": workspace.root}});
    let said = hook(&workspace, "windsurf", &payload);
    assert!(!said.stdout.contains("Add tests."), "{said:?}");
    let outcome = workspace.edt(&["restore", "a.txt"]).json;
    assert_eq!(outcome["comments"]["unread"][0]["id"], 1);
}
