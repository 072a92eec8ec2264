//! `edt review`: a session for a reviewer, as values and as a page.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo, lines};

/// The session `s` with two edits of a prompt, a commit of the user, and an undone edit.
fn session() -> TestRepo {
    let long = lines(30);
    let workspace = TestRepo::with(&[("a.txt", long.as_bytes()), ("b.txt", b"one\ntwo\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let edit = json!({"message": "a: say two\n\nBecause it is.", "edits": [
        {"path": "a.txt", "mode": "edit", "old_text": "line 2 of", "content": "line two of"}]});
    workspace.apply(&edit).landed();
    workspace.apply(&json!({"path": "a.txt", "mode": "rename", "to": "d/a.txt"})).landed();
    workspace.write("b.txt", "one\nmine\ntwo\n");
    workspace.git(&["commit", "-qam", "by hand"]);
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "three\n"})).landed();
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "four\n"})).landed();
    workspace.edt(&["undo"]).landed();
    workspace
}

fn review(workspace: &TestRepo) -> Value {
    workspace.edt(&["review"]).json
}

fn names(steps: &Value) -> Vec<String> {
    let name = |step: &Value| match step["edits"][0].as_u64() {
        Some(edit) => edit.to_string(),
        None => step["subject"].as_str().unwrap().to_owned(),
    };
    steps.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn the_steps_of_a_session_are_in_the_order_in_which_they_were_made() {
    let found = review(&session());
    let turns = found["turns"].as_array().unwrap();
    let steps: Vec<Vec<String>> = turns.iter().map(|turn| names(&turn["steps"])).collect();
    assert_eq!(steps, [vec!["1", "2"], vec!["by hand"], vec!["3"]]);
    assert_eq!((&turns[1]["by_user"], &turns[2]["by_user"]), (&json!(true), &json!(false)));
    assert_eq!(names(&found["undone"]), ["4"]);
    let first = &turns[0]["steps"][0];
    assert_eq!(
        (&first["subject"], &first["reason"], &first["kind"]),
        (&json!("a: say two"), &json!("Because it is."), &json!("edit"))
    );
}

#[test]
fn a_step_has_its_hunks_with_numbered_lines_and_changed_words() {
    let found = review(&session());
    let file = &found["turns"][0]["steps"][0]["files"][0];
    let lines = file["hunks"][0]["lines"].as_array().unwrap();
    let shown: Vec<String> = lines
        .iter()
        .filter(|line| line["old"].is_null() || line["new"].is_null())
        .map(|line| format!("{} {} {} {}", line["old"], line["new"], line["text"], line["changed"]))
        .collect();
    assert_eq!(
        shown,
        ["2 null \"line 2 of a text\" [[5,6]]", "null 2 \"line two of a text\" [[5,8]]"]
    );
    let renamed = &found["turns"][0]["steps"][1]["files"][0];
    assert_eq!((&renamed["change"], &renamed["from"]), (&json!("renamed"), &json!("a.txt")));
}

#[test]
fn each_added_line_of_the_session_has_who_wrote_it() {
    let found = review(&session());
    let file = &found["files"][0];
    assert_eq!((&file["path"], &found["sources_complete"]), (&json!("b.txt"), &json!(true)));
    let lines = file["hunks"][0]["lines"].as_array().unwrap();
    let added: Vec<(&Value, &Value)> = lines
        .iter()
        .filter(|line| line["old"].is_null())
        .map(|line| (&line["text"], &line["source"]))
        .collect();
    assert_eq!(added, [(&json!("mine"), &json!("user")), (&json!("three"), &json!({"edit": 3}))]);
}

#[test]
fn what_is_uncommitted_or_refused_is_in_the_review() {
    let workspace = session();
    workspace.write("b.txt", "one\nmine\ntwo\nthree\nnot yet\n");
    let refused = json!({"path": "c.py", "mode": "append", "content": "x = (\n"});
    workspace.apply(&json!({"path": "c.py", "mode": "create", "content": "y = 1\n"})).landed();
    workspace.refuses_request(&["SYNTAX_ERROR"], 1, &refused);
    let found = review(&workspace);
    assert_eq!(found["uncommitted"][0]["path"], "b.txt");
    assert_eq!(found["uncommitted"][0]["lines_added"], 1);
    assert_eq!(found["refused_edits"][0]["path"], "c.py");
}

#[test]
fn a_session_that_landed_has_the_same_steps() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let before = review(&workspace);
    workspace.edt(&["land"]).landed();
    let after = review(&workspace);
    assert_eq!(after["turns"], before["turns"]);
    assert_eq!(after["landed"]["onto"], "main");
    assert_eq!(workspace.edt(&["review", "s"]).json["turns"], before["turns"]);
}

#[test]
fn a_prompt_is_only_for_the_user_and_its_own_agent() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let payload = json!({"session_id": "c", "cwd": workspace.root,
        "hook_event_name": "UserPromptSubmit", "prompt": "Say two"});
    let mut hook = workspace.command(EDT);
    hook.args(["agent-hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut hook = hook.spawn().unwrap();
    hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(hook.wait().unwrap().success());
    let as_agent = |args: &[&str]| {
        let mut command = workspace.command(EDT);
        command.args(args).env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "c");
        let done = command.output().unwrap();
        serde_json::from_slice::<Value>(&done.stdout).unwrap()
    };
    let edit = ["apply", "a.txt", "--mode", "append", "--content", "two\n", "--json"];
    assert_eq!(as_agent(&edit)["status"], "applied");
    let own = as_agent(&["review", "--json"]);
    assert_eq!(
        (&own["turns"][0]["turn"], &own["turns"][0]["title"]),
        (&json!(1), &json!("Say two"))
    );
    assert_eq!(review(&workspace)["turns"][0]["title"], Value::Null);
}

#[test]
fn the_page_is_one_file_with_an_article_for_each_step() {
    let workspace = session();
    let answer = workspace.edt(&["review", "--html", "review.html"]);
    assert_eq!(answer.exit, 0);
    let html = workspace.text("review.html");
    for id in ["all", "edit-1", "edit-2", "edit-3"] {
        assert!(html.contains(&format!("<article id=\"{id}\">")), "{id}");
    }
    assert!(html.contains("Undone: it is not on the branch."));
    let page = workspace.command(EDT).args(["review", "--html", "-"]).output().unwrap();
    assert_eq!(String::from_utf8(page.stdout).unwrap().trim_end(), html.trim_end());
}

#[test]
fn names_and_texts_of_the_repository_cannot_be_code_in_the_page() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let text = "</style><script>alert('x')</script>\u{202e}\u{1b}[31m\n";
    workspace.write("<img src=x onerror=alert(1)>.txt", text);
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "<script>alert(\"m\")</script>"]);
    let done = workspace.command(EDT).args(["review", "--html", "-"]).output().unwrap();
    let html = String::from_utf8(done.stdout).unwrap();
    assert_eq!((html.matches("<script").count(), html.matches("</style").count()), (1, 1));
    assert!(!html.contains("<img") && !html.contains('\u{1b}') && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;.txt"));
}

#[test]
fn a_page_that_cannot_be_written_is_refused() {
    let workspace = session();
    workspace.refuses(&["IO_ERROR"], 5, &["review", "--html", "no/such/directory.html"]);
}
