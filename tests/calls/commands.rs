//! Every command of `edt` as a process: one call that succeeds and one that is refused.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, USER, run, same};

const CALC: &str = "int add(int a, int b)\n{\n\treturn a - b;\n}\n";

const POLICY: &str = "[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";

/// A repository without a session.
fn repository() -> TestRepo {
    TestRepo::with(&[
        ("a.txt", b"one\ntwo\n"),
        ("ci/run", b"make\n"),
        ("src/calc.c", CALC.as_bytes()),
        ("edt.toml", POLICY.as_bytes()),
    ])
}

/// The session `s` with one edit of `a.txt`.
fn session() -> TestRepo {
    let workspace = repository();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "one\n");
    workspace
}

/// Runs edt with text as its answer.
fn text(workspace: &TestRepo, args: &[&str]) -> Output {
    workspace.command(EDT).args(args).output().unwrap()
}

/// The process's standard output, which must be what a success prints.
#[track_caller]
fn prints(workspace: &TestRepo, args: &[&str]) -> String {
    let done = text(workspace, args);
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A call that clap refuses: exit status 2 and `BAD_REQUEST` in JSON.
#[track_caller]
fn malformed(workspace: &TestRepo, args: &[&str]) {
    workspace.refuses(&["BAD_REQUEST"], 2, args);
}

/// Feeds `payload` to a hook of an agent.
fn agent_hook(workspace: &TestRepo, agent: &str, payload: &Value) -> Output {
    let mut command = workspace.command(EDT);
    command.args(["agent-hook", agent]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn every_command_has_a_test_in_this_file() {
    let done = std::process::Command::new(EDT).args(["help", "all"]).output().unwrap();
    let help = String::from_utf8(done.stdout).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names: Vec<String> = listed
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(|name| name.replace('-', "_"))
        .collect();
    assert!(names.len() > 30, "{names:?}");
    let source = include_str!("commands.rs");
    let missing: Vec<&String> =
        names.iter().filter(|name| !source.contains(&format!("\nfn {name}_"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn begin_switches_to_the_session_and_refuses_a_second_one_of_that_name() {
    let workspace = repository();
    workspace.edt(&["begin", "s"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    workspace.refuses(&["SESSION_EXISTS"], 1, &["begin", "s"]);
}

#[test]
fn switch_goes_to_a_session_and_refuses_an_unknown_one() {
    let workspace = repository();
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["switch", "--leave"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    workspace.edt(&["switch", "s"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
    workspace.refuses(&["NO_SESSION"], 1, &["switch", "t"]);
    malformed(&workspace, &["switch"]);
}

#[test]
fn apply_commits_an_edit_and_refuses_a_missing_text() {
    let workspace = repository();
    let edit = |old: &str| json!({"path": "src/calc.c", "mode": "edit", "old_text": old, "content": "a + b"});
    workspace.apply(&edit("a - b")).landed();
    assert_eq!(workspace.text("src/calc.c"), CALC.replace("a - b", "a + b"));
    workspace.is_clean();
    workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &edit("a * b"));
}

#[test]
fn review_prints_a_session_and_refuses_an_unknown_one() {
    let workspace = session();
    assert_eq!(workspace.edt(&["review"]).json["turns"][0]["steps"][0]["edits"], json!([1]));
    workspace.refuses(&["NO_SESSION"], 1, &["review", "t"]);
}

#[test]
fn comment_writes_a_draft_and_refuses_an_unknown_edit() {
    let workspace = session();
    let answer = workspace.edt(&["comment", "add", "--edit", "1", "-m", "Why?"]);
    assert_eq!(answer.json["comments"][0]["state"], "draft");
    workspace.refuses(&["BAD_REQUEST"], 2, &["comment", "add", "--edit", "2", "-m", "Why?"]);
    malformed(&workspace, &["comment", "add", "--lines", "1-2", "-m", "Why?"]);
}

#[test]
fn check_writes_nothing_and_refuses_a_syntax_error() {
    let workspace = repository();
    let before = workspace.snapshot();
    let args = ["check", "src/calc.c", "--mode", "append", "--content"];
    let answer = workspace.edt(&[&args[..], &["int x;\n"]].concat());
    assert_eq!((answer.exit, &answer.json["status"]), (0, &json!("would_apply")));
    same(&before, &workspace.snapshot());
    workspace.refuses(&["SYNTAX_ERROR"], 1, &[&args[..], &["int x[;\n"]].concat());
}

#[test]
fn read_shows_a_file_and_refuses_a_missing_one() {
    let workspace = repository();
    let answer = workspace.edt(&["read", "a.txt"]);
    assert_eq!(answer.json["hash"], json!(workspace.rev("HEAD:a.txt")));
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &["read", "missing.txt"]);
}

#[test]
fn outline_lists_definitions_and_refuses_a_file_without_any() {
    let workspace = repository();
    let answer = workspace.edt(&["outline", "src/calc.c"]);
    assert!(answer.json["symbols"][0]["kind"] == "function", "{:#}", answer.json);
    workspace.refuses(&["SYMBOL_UNCLEAR"], 1, &["outline", "a.txt"]);
}

#[test]
fn blame_names_the_edit_and_refuses_a_range_that_is_none() {
    let workspace = repository();
    let edit = json!({"path": "src/calc.c", "old_text": "a - b", "content": "a + b"});
    workspace.apply(&edit).landed();
    let answer = workspace.edt(&["blame", "src/calc.c"]);
    assert!(answer.json.to_string().contains("\"edit\":1"), "{:#}", answer.json);
    malformed(&workspace, &["blame", "src/calc.c", "--lines", "b"]);
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &["blame", "none.c"]);
}

#[test]
fn attribution_exports_a_commit_and_refuses_an_unknown_format() {
    let workspace = repository();
    workspace.edt(&["attribution", "export", "--format", "git-ai"]);
    malformed(&workspace, &["attribution", "export", "--format", "x"]);
}

#[test]
fn search_finds_a_line_and_refuses_a_broken_pattern() {
    let workspace = repository();
    let answer = workspace.edt(&["search", "return a"]);
    assert!(answer.json.to_string().contains("src/calc.c"), "{:#}", answer.json);
    malformed(&workspace, &["search", "a["]);
}

#[test]
fn ls_lists_files_and_refuses_a_path_outside_the_worktree() {
    let workspace = repository();
    let answer = workspace.edt(&["ls"]);
    assert!(answer.json.to_string().contains("\"src/calc.c\""), "{:#}", answer.json);
    workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["ls", "../x"]);
}

#[test]
fn status_names_the_session_and_refuses_a_place_without_a_repository() {
    let workspace = session();
    assert_eq!(workspace.edt(&["status"]).json["session"]["name"], json!("s"));
    let elsewhere = workspace.at(&workspace.home);
    let refused = elsewhere.edt(&["status"]);
    assert_eq!((refused.codes(), refused.exit), (vec!["NOT_A_REPOSITORY"], 5));
}

#[test]
fn log_lists_the_edits_and_refuses_a_worktree_without_a_session() {
    let answer = session().edt(&["log"]);
    assert!(answer.json.to_string().contains("edit a.txt (+0 -1)"), "{:#}", answer.json);
    repository().refuses(&["NO_SESSION"], 1, &["log"]);
}

#[test]
fn show_prints_a_commit_and_refuses_an_unknown_revision() {
    let workspace = session();
    assert!(workspace.edt(&["show", "HEAD"]).json.to_string().contains("-two"));
    malformed(&workspace, &["show", "no-such-revision"]);
}

#[test]
fn diff_prints_the_session_and_refuses_a_worktree_without_one() {
    assert!(session().edt(&["diff"]).json.to_string().contains("-two"));
    repository().refuses(&["NO_SESSION"], 1, &["diff"]);
}

#[test]
fn undo_restores_the_file_and_refuses_when_nothing_is_left() {
    let workspace = session();
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
}

#[test]
fn redo_repeats_the_undone_edit_and_refuses_when_nothing_was_undone() {
    let workspace = session();
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\n");
    workspace.refuses(&["NOTHING_TO_REDO"], 1, &["redo"]);
}

#[test]
fn revert_takes_back_an_edit_and_refuses_an_unknown_number() {
    let workspace = session();
    workspace.edt(&["revert", "1"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    workspace.refuses(&["BAD_REQUEST"], 2, &["revert", "7"]);
}

#[test]
fn restore_restores_one_file_and_refuses_a_revision_without_an_edit() {
    let workspace = session();
    workspace.edt(&["restore", "a.txt"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["restore", "src/calc.c", "--revision", "0"]);
}

#[test]
fn checkpoint_records_the_users_changes_and_refuses_a_path_outside() {
    let workspace = session();
    workspace.write("new.txt", "new\n");
    workspace.edt(&["checkpoint"]).landed();
    workspace.is_clean();
    workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["checkpoint", "../x"]);
}

#[test]
fn run_starts_a_program_and_refuses_a_denied_command() {
    let workspace = session();
    let answer = workspace.runs(&[], &["true"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    let denied = workspace.runs(&[], &["git", "reset", "--hard"]);
    assert_eq!((denied.codes(), denied.exit), (vec!["COMMAND_DENIED"], 1), "{:#}", denied.json);
}

#[test]
fn propose_waits_for_approval_and_refuses_a_syntax_error() {
    let workspace = session();
    let propose = |content: &str| {
        workspace.edt(&["propose", "src/calc.c", "--mode", "append", "--content", content])
    };
    let answer = propose("int x;\n");
    assert_eq!((&answer.json["status"], &answer.json["proposal"]), (&json!("proposed"), &json!(1)));
    assert_eq!(propose("int x[;\n").codes(), ["SYNTAX_ERROR"]);
}

#[test]
fn proposals_lists_the_open_ones_and_refuses_an_unknown_flag() {
    let workspace = session();
    workspace.edt(&["propose", "a.txt", "--mode", "append", "--content", "x\n"]);
    let listed = workspace.edt(&["proposals"]).json;
    assert_eq!(listed["proposals"][0]["state"], json!("open"), "{listed:#}");
    malformed(&workspace, &["proposals", "--no-such-flag"]);
}

#[test]
fn approve_lets_a_held_edit_land_and_refuses_an_agent() {
    let workspace = repository();
    let ci = json!({"path": "ci/run", "mode": "append", "content": "make test\n"});
    assert_eq!(workspace.apply(&ci).codes(), ["APPROVAL_REQUIRED"]);
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["approve", "1"]);
    let (status, screen) = workspace.at_terminal("approve 1", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(workspace.edt(&["apply", "--proposal", "1"]).exit, 0);
    assert_eq!(workspace.text("ci/run"), "make\nmake test\n");
}

#[test]
fn reject_closes_a_proposal_and_refuses_an_unknown_one() {
    let workspace = repository();
    workspace.apply(&json!({"path": "ci/run", "mode": "append", "content": "x\n"}));
    workspace.refuses(&["PROPOSAL_NOT_FOUND"], 1, &["reject", "7", "-m", "no"]);
    let (status, screen) = workspace.at_terminal("reject 1 -m no", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    workspace.refuses(&["PROPOSAL_REJECTED"], 1, &["apply", "--proposal", "1"]);
}

#[test]
fn land_squashes_the_session_and_refuses_without_a_session() {
    let workspace = session();
    workspace.edt(&["land", "-m", "shorten"]).landed();
    assert_eq!(workspace.git(&["log", "-1", "--format=%s", "main"]), "shorten\n");
    workspace.refuses(&["SESSION_LANDED"], 1, &["land"]);
}

#[test]
fn abandon_restores_the_files_and_refuses_without_a_session() {
    let workspace = session();
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    workspace.refuses(&["NO_SESSION"], 1, &["abandon"]);
}

#[test]
fn stats_counts_edits_and_refuses_a_date_that_is_none() {
    let workspace = session();
    assert_eq!(workspace.edt(&["stats"]).exit, 0);
    malformed(&workspace, &["stats", "--since", "no date"]);
}

#[test]
fn gc_removes_an_old_session_and_refuses_an_age_that_is_no_number() {
    let workspace = session();
    workspace.edt(&["abandon"]).landed();
    workspace.edt(&["begin", "t"]).landed();
    // The age of a commit is in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(workspace.edt(&["gc", "--older-than", "0"]).exit, 0);
    assert_eq!(workspace.git(&["for-each-ref", "refs/edt/s"]), "");
    malformed(&workspace, &["gc", "--older-than", "x"]);
}

#[test]
fn forget_removes_all_that_edt_has_and_refuses_a_session_in_use_and_an_agent() {
    let workspace = session();
    workspace.write("b.txt", "a user's\n");
    workspace.edt(&["hooks", "install"]);
    workspace.refuses(&["SESSION_EXISTS"], 1, &["forget"]);
    workspace.edt(&["switch", "--leave"]).landed();
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["forget"]);
    let listed = workspace.edt(&["forget", "--dry-run"]).json;
    assert_eq!(listed["open"], json!([{"name": "s", "edits": 1}]), "{listed:#}");
    let (status, screen) = workspace.at_terminal("forget", "no\n");
    assert!(status == Some(0) && screen.contains("s has not landed: 1 edit"), "{screen}");
    assert_eq!(workspace.edt(&["forget", "--dry-run"]).json, listed);
    let (status, screen) = workspace.at_terminal("forget", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(workspace.git(&["for-each-ref", "refs/edt", "refs/heads/edt"]), "");
    assert!(!workspace.root.join(".git/edt").exists());
    assert!(!workspace.root.join(".git/hooks/pre-commit").exists());
    assert_eq!(workspace.git(&["status", "--porcelain"]), "?? b.txt\n");
    let nothing = prints(&workspace, &["forget", "--dry-run"]);
    // The call itself opened the repository.
    assert!(!nothing.contains("refs/") && !nothing.contains("hook"), "{nothing}");
}

#[test]
fn memory_lists_lessons_and_refuses_an_unknown_snapshot() {
    let workspace = session();
    assert_eq!(workspace.edt(&["memory", "list"]).exit, 0);
    workspace.refuses(&["EPISODE_NOT_FOUND"], 1, &["memory", "restore", "nothing"]);
}

#[test]
fn guide_is_printed_and_refuses_an_unknown_format() {
    let workspace = repository();
    assert!(prints(&workspace, &["guide"]).contains("edt apply"));
    malformed(&workspace, &["guide", "--format", "no-such-format"]);
}

#[test]
fn guards_are_listed_and_a_path_outside_is_refused() {
    let workspace = repository();
    assert!(prints(&workspace, &["guards"]).contains("size_reduction"));
    workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["guards", "../x"]);
}

#[test]
fn policy_allows_git_status_and_denies_a_hard_reset() {
    let workspace = repository();
    let check = |argv: &[&str]| {
        let mut command = workspace.command(EDT);
        command.args(["--json", "policy", "check", "--"]).args(argv);
        run(command, b"", argv).exit
    };
    assert_eq!(check(&["git", "status"]), 0);
    assert_eq!(check(&["git", "reset", "--hard"]), 1);
    malformed(&workspace, &["policy", "explain", "no-such-rule"]);
}

#[test]
fn trust_lists_programs_and_refuses_an_agent() {
    let validator =
        "[[validator]]\nname = \"v\"\npaths = [\"*.txt\"]\ncommand = [\"true\", \"{file}\"]\n";
    let workspace = TestRepo::with(&[("edt.toml", validator.as_bytes())]);
    assert_eq!(workspace.edt(&["trust", "--list"]).json["trusted"], json!(false));
    let refused = workspace.edt(&["trust"]);
    assert_eq!(refused.exit, 4, "{:#}", refused.json);
    let (status, screen) = workspace.at_terminal("trust", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(workspace.edt(&["trust", "--list"]).json["trusted"], json!(true));
}

#[test]
fn hooks_are_installed_and_an_unknown_action_is_refused() {
    let workspace = repository();
    assert_eq!(workspace.edt(&["hooks", "install"]).exit, 0);
    assert!(workspace.exists(".git/hooks/pre-commit"));
    assert_eq!(workspace.edt(&["hooks", "uninstall"]).exit, 0);
    assert!(!workspace.exists(".git/hooks/pre-commit"));
    malformed(&workspace, &["hooks", "no-such-action"]);
}

#[test]
fn hook_pre_commit_passes_a_good_change_and_refuses_conflict_markers() {
    let workspace = repository();
    workspace.write("b.txt", "b\n");
    workspace.git(&["add", "b.txt"]);
    assert_eq!(workspace.edt(&["hook", "pre-commit"]).exit, 0);
    workspace.write("b.txt", "<<<<<<< HEAD\n");
    workspace.git(&["add", "b.txt"]);
    let refused = workspace.edt(&["hook", "pre-commit"]);
    assert_eq!((refused.codes(), refused.exit), (vec!["CONFLICT_MARKERS"], 1));
}

#[test]
fn mcp_lists_its_tools_and_refuses_an_unknown_one() {
    let workspace = repository();
    let mut command = workspace.command(EDT);
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let client = json!({"name": "a-client", "version": "1"});
    let greeting =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ];
    let sent: String = messages.iter().map(|message| format!("{message}\n")).collect();
    child.stdin.take().unwrap().write_all(sent.as_bytes()).unwrap();
    let answered = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(answered.contains("\"apply\"") && answered.contains("\"undo\""), "{answered}");
    assert_eq!(text(&workspace, &["mcp", "--tools", "no-such-tool"]).status.code(), Some(2));
}

#[test]
fn acp_passes_lines_to_an_agent_and_refuses_a_missing_one() {
    let workspace = repository();
    let mut command = workspace.command(EDT);
    command.args(["acp", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"method\": \"x\"}\nlast").unwrap();
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stdout), (Some(0), b"{\"method\": \"x\"}\nlast".to_vec()));
    let missing = text(&workspace, &["acp", "--", "./no-such-agent"]);
    assert_eq!(missing.status.code(), Some(5));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("PROGRAM_NOT_FOUND"));
    malformed(&workspace, &["acp"]);
}

#[test]
fn agent_shell_runs_what_a_hook_judged_and_nothing_else() {
    let workspace = repository();
    let payload = json!({"session_id": "s", "cwd": workspace.root, "hook_event_name": "BeforeTool",
        "tool_name": "run_shell_command", "tool_input": {"command": "echo x >> a.txt"}});
    let judged = agent_hook(&workspace, "gemini", &payload);
    let answer: Value = serde_json::from_slice(&judged.stdout).unwrap();
    let command = answer["hookSpecificOutput"]["tool_input"]["command"].as_str().unwrap();
    let done = workspace.command("bash").args(["-c", command]).output().unwrap();
    assert!(done.status.success() && done.stdout.is_empty(), "{done:?}");
    assert!(workspace.text("a.txt").ends_with("x\n"));
    workspace.refuses(&["BAD_REQUEST"], 2, &["agent-shell", "gemini", "x", "echo y >> a.txt"]);
    malformed(&workspace, &["agent-shell", "gemini"]);
}

#[test]
fn agent_hook_passes_a_good_edit_and_refuses_a_syntax_error() {
    let workspace = repository();
    let edit = |new: &str| {
        json!({
            "session_id": "s-1", "transcript_path": "/t.jsonl", "permission_mode": "default",
            "cwd": workspace.root, "hook_event_name": "PreToolUse", "tool_name": "Edit",
            "tool_use_id": "t", "tool_input": {
                "file_path": workspace.root.join("src/calc.c"), "old_string": "a - b;",
                "new_string": new, "replace_all": false,
            },
        })
    };
    let good = agent_hook(&workspace, "claude-code", &edit("a + b;"));
    assert_eq!((good.status.code(), good.stdout.len()), (Some(0), 0));
    let bad = agent_hook(&workspace, "claude-code", &edit("a + b];"));
    let all = [bad.stdout, bad.stderr].concat();
    assert!(String::from_utf8_lossy(&all).contains("SYNTAX_ERROR"));
}

#[test]
fn setup_lists_agents_and_refuses_an_unknown_one() {
    let workspace = repository();
    let listed = workspace.edt(&["setup", "--list"]);
    assert!(listed.json.to_string().contains("claude-code"), "{:#}", listed.json);
    malformed(&workspace, &["setup", "no-such-agent"]);
}

#[test]
fn doctor_reports_missing_hooks_and_refuses_an_unknown_flag() {
    let workspace = session();
    let report = workspace.edt(&["doctor"]);
    assert!(report.json.to_string().contains("hooks"), "{:#}", report.json);
    malformed(&workspace, &["doctor", "--no-such-flag"]);
}

#[test]
fn telemetry_says_what_the_build_has_and_refuses_an_unknown_action() {
    let workspace = repository();
    if cfg!(feature = "otel") {
        assert_eq!(workspace.edt(&["telemetry", "status"]).exit, 0);
    } else {
        let refused = workspace.refuses(&["TELEMETRY_NOT_SENT"], 5, &["telemetry", "status"]);
        assert!(refused.message().contains("build of edt"), "{}", refused.message());
    }
    malformed(&workspace, &["telemetry", "no-such-action"]);
}

#[test]
fn explain_prints_a_code_and_refuses_an_unknown_one() {
    let workspace = repository();
    assert!(prints(&workspace, &["explain", "SIZE_REDUCTION"]).contains("exit 1"));
    assert_eq!(text(&workspace, &["explain", "NO_SUCH_CODE"]).status.code(), Some(2));
}

#[test]
fn schema_prints_a_schema_and_refuses_an_unknown_shape() {
    let workspace = repository();
    let schema: Value = serde_json::from_str(&prints(&workspace, &["schema", "outcome"])).unwrap();
    assert!(jsonschema::validator_for(&schema).is_ok());
    assert_eq!(text(&workspace, &["schema", "no-such-shape"]).status.code(), Some(2));
}

#[test]
fn completions_are_printed_and_an_unknown_shell_is_refused() {
    let workspace = repository();
    assert!(prints(&workspace, &["completions", "bash"]).contains("edt"));
    let offered = |words: &[&str]| {
        let mut command = workspace.command(EDT);
        command.env("EDT_COMPLETE", "fish").arg("--").arg("edt").args(words);
        let done = command.output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(offered(&["switch", "s"]), "");
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "one\n");
    workspace.edt(&["propose", "a.txt", "--mode", "append", "--content", "x\n"]);
    assert!(offered(&["switch", "s"]).starts_with("s\t"), "{}", offered(&["switch", "s"]));
    assert_eq!(offered(&["undo", "--to", ""]), "1\tedit a.txt (+0 -1)\n");
    assert_eq!(offered(&["approve", ""]).lines().next(), Some("p1"));
    assert!(offered(&["aban"]).starts_with("abandon"));
    // A variable that a hook inherits changes no call.
    let mut inherited = workspace.command(EDT);
    inherited.env("EDT_COMPLETE", "bash").args(["agent-hook", "no-such-agent"]);
    assert_eq!(inherited.output().unwrap().status.code(), Some(2));
    let mut inherited = workspace.command(EDT);
    inherited.env("EDT_COMPLETE", "bash").args(["read", "none.txt"]);
    assert_eq!(inherited.output().unwrap().status.code(), Some(1));
    assert_eq!(workspace.git(&["status", "--porcelain"]), "");
    assert_eq!(text(&workspace, &["completions", "no-such-shell"]).status.code(), Some(2));
}

#[test]
fn man_pages_are_printed_and_an_unknown_command_is_refused() {
    let workspace = repository();
    assert!(prints(&workspace, &["man", "apply"]).contains("apply"));
    assert_eq!(text(&workspace, &["man", "no-such-command"]).status.code(), Some(2));
}

#[test]
fn demo_plays_in_a_directory_of_its_own_and_refuses_an_unknown_flag() {
    let workspace = repository();
    let before = workspace.snapshot();
    let shown = prints(&workspace, &["demo"]);
    for what in ["SIZE_REDUCTION", "$ edt undo\nundone", "$ edt land -m", "$ git log --oneline"] {
        assert!(shown.contains(what), "{what} is not in {shown}");
    }
    let answers = prints(&workspace, &["demo", "--json"]);
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    assert!(answers.lines().count() > 8 && answers.lines().all(is_json), "{answers}");
    same(&before, &workspace.snapshot());
    assert_eq!(text(&workspace, &["demo", "--no-such-flag"]).status.code(), Some(2));
}

#[test]
fn demo_leaves_the_repository_that_variables_name_alone() {
    let workspace = repository();
    let (git_dir, settings) = (workspace.root.join(".git"), workspace.home.join("settings"));
    let before = workspace.snapshot();
    let config = workspace.text(".git/config");
    let mut demo = workspace.command(EDT);
    demo.args(["demo", "--at", "../my dir"])
        .env("GIT_DIR", &git_dir)
        .env("GIT_WORK_TREE", &workspace.root)
        .env("GIT_INDEX_FILE", git_dir.join("index"))
        .env("GIT_COMMON_DIR", &git_dir)
        .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
        .env("GIT_CONFIG", &settings)
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.worktree")
        .env("GIT_CONFIG_VALUE_0", &workspace.root);
    let done = demo.output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    same(&before, &workspace.snapshot());
    assert_eq!(workspace.text(".git/config"), config);
    assert!(!git_dir.join("edt").exists() && !settings.exists());
    // Its last lines can be typed as they are.
    let shown = String::from_utf8(done.stdout).unwrap();
    for line in ["  cd '../my dir' ", "  rm -r '../my dir' "] {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}

#[test]
fn a_scratch_repository_is_what_git_would_have_made() {
    let files: [(&str, &[u8]); 5] =
        [("a", b"a\n"), ("b.c", b""), ("b/c", b"c\n"), ("b-c", b"x\n"), ("d/e/f/g", b"g\n")];
    let (written, made) = (TestRepo::with(&files), TestRepo::made(&["--quiet"], &files));
    assert_eq!(written.rev("HEAD^{tree}"), made.rev("HEAD^{tree}"));
    written.is_clean();
    written.is_sound();
    for args in [&["ls-files", "--stage"][..], &["log", "--format=%an <%ae> %s"], &["reflog"]] {
        let (ours, gits) = (written.git(args), made.git(args));
        let commit = |repo: &TestRepo, text: &str| text.replace(&repo.rev("HEAD")[..7], "HEAD");
        assert_eq!(commit(&written, &ours), commit(&made, &gits), "{args:?}");
    }
    assert!(written.git(&["log", "-1", "--format=%an"]).contains(USER.name));
}
