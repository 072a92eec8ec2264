//! Comments: what the user writes about a session, and how it reaches the agent.

use std::ffi::OsString;

use edt_io::inherited::Inherited;
use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo, run};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// The session `s` with the edit 1, which changes line 5 of `a.txt`.
fn session() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", TEN.as_bytes()), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "5\n", "five\n").landed();
    workspace
}

fn edit(workspace: &TestRepo, path: &str, old: &str, new: &str) -> Answer {
    workspace.apply(&json!({"path": path, "mode": "edit", "old_text": old, "content": new}))
}

/// Writes a comment on line 5 of the edit 1 and sends it.
fn sent(workspace: &TestRepo) {
    let place = ["--edit", "1", "--path", "a.txt", "--lines", "5"];
    let args = [&["comment", "add"][..], &place, &["-m", "Why five?"]].concat();
    assert_eq!(workspace.edt(&args).exit, 0);
    assert_eq!(workspace.edt(&["comment", "send", "-m", "Nearly."]).exit, 0);
}

/// A call of an agent.
fn agent(workspace: &TestRepo, args: &[&str]) -> Answer {
    let mut command = workspace.command(EDT);
    command.args(args).arg("--json").env("CODEX_CI", "1");
    run(command, b"", args)
}

/// A call without a terminal and without an agent's mark.
fn unattended(workspace: &TestRepo, args: &[&str]) -> Answer {
    let mut command = workspace.command(EDT);
    command.args(args).arg("--json");
    run(command, b"", args)
}

/// What the user lists.
fn listed(workspace: &TestRepo) -> Vec<Value> {
    let all = workspace.as_user(b"", &["comment", "list", "--all"], &[]).json;
    all["comments"].as_array().unwrap().clone()
}

/// The first comment, as the user's `edt review --json` has it, which marks nothing.
fn shown(workspace: &TestRepo) -> Value {
    let all = stored(workspace);
    all["comments"][0].clone()
}

/// The blob of the comments.
fn stored(workspace: &TestRepo) -> Value {
    serde_json::from_slice(&workspace.blob("refs/edt/s/comments")).unwrap()
}

#[test]
fn a_comment_goes_from_draft_to_resolved() {
    let workspace = session();
    let place = ["--edit", "1", "--path", "a.txt", "--lines", "5-6"];
    let args = [&["comment", "add"][..], &place, &["-m", "Why five?"]].concat();
    let added = workspace.edt(&args).json;
    assert_eq!(added["comments"][0]["state"], "draft");
    assert_eq!(added["comments"][0]["quoted"], json!(["five", "6"]));
    // An agent does not see it, and a landing does not count it.
    assert_eq!(agent(&workspace, &["comment", "list"]).json["comments"], json!([]));
    assert!(agent(&workspace, &["status"]).json["comments"].is_null());
    let sent = workspace.edt(&["comment", "send", "-m", "Nearly."]).json;
    assert_eq!(sent["comments"][0]["state"], "open");
    assert_eq!(sent["review_summaries"][0]["text"], "Nearly.");
    let answered = agent(&workspace, &["comment", "answer", "1", "-m", "It is the sum."]).json;
    let answer = &answered["comments"][0]["answers"][0];
    assert_eq!((&answer["agent"], &answer["text"]), (&json!("codex"), &json!("It is the sum.")));
    let resolved = agent(&workspace, &["comment", "resolve", "1"]).json;
    assert_eq!(
        (&resolved["comments"][0]["state"], &resolved["open"]),
        (&json!("resolved"), &json!(0))
    );
    assert_eq!(workspace.edt(&["comment", "list"]).json["comments"], json!([]));
    assert_eq!(listed(&workspace).len(), 1);
    assert_eq!(workspace.edt(&["comment", "reopen", "1"]).json["open"], 1);
    workspace.is_clean();
}

#[test]
fn only_the_user_writes_sends_deletes_and_reopens() {
    let workspace = session();
    workspace.edt(&["comment", "add", "-m", "a draft"]);
    for args in [
        &["comment", "add", "-m", "x"][..],
        &["comment", "send"],
        &["comment", "reopen", "1"],
        &["comment", "drop", "1"],
    ] {
        workspace.unchanged(&["APPROVAL_REQUIRED"], 4, || agent(&workspace, args));
    }
    // Nor is a program without a terminal the user, and it sees no drafts.
    for args in
        [&["comment", "add", "-m", "x"][..], &["comment", "send"], &["comment", "drop", "1"]]
    {
        workspace.unchanged(&["APPROVAL_REQUIRED"], 4, || unattended(&workspace, args));
    }
    let open = unattended(&workspace, &["comment", "list", "--all"]);
    assert_eq!(open.json["comments"], json!([]));
    // A draft is none of the agent's.
    for args in [&["comment", "answer", "1", "-m", "x"][..], &["comment", "resolve", "1"]] {
        workspace.unchanged(&["COMMENT_NOT_FOUND"], 1, || agent(&workspace, args));
    }
}

#[test]
fn every_outcome_gives_an_agent_each_comment_once() {
    let workspace = session();
    sent(&workspace);
    let append = ["apply", "b.txt", "--mode", "append", "--content", "c\n"];
    let next = agent(&workspace, &append).landed().json;
    assert_eq!(next["comments"]["unread"][0]["text"], "Why five?");
    let again = agent(&workspace, &append).landed().json;
    assert_eq!(again["comments"]["unread"], json!([]));
    assert_eq!(again["comments"]["open"], 1);
    // Each kind of answer gives what the user added.
    let calls: [&[&str]; 7] = [
        &["apply", "b.txt", "--mode", "edit", "--old-text", "x", "--content", "y"],
        &["check", "b.txt", "--mode", "append", "--content", "y"],
        &["undo"],
        &["redo"],
        &["status"],
        &["restore", "b.txt"],
        &["comment", "list"],
    ];
    for args in calls {
        workspace.edt(&["comment", "resolve", "1"]);
        workspace.edt(&["comment", "reopen", "1"]);
        let answer = agent(&workspace, args).json;
        let list = &answer["comments"];
        let unread = if list.is_array() { list } else { &list["unread"] };
        assert_eq!(unread[0]["id"], 1, "{args:?}: {answer:#}");
        let marked = shown(&workspace);
        assert_eq!(
            (&marked["given"], &marked["read"]["agent"]),
            (&marked["said"], &json!("codex"))
        );
    }
}

/// The answer has the places after what the command did, which it gives once.
#[test]
fn an_answer_has_the_places_after_its_own_change() {
    let one = |act: &dyn Fn(&TestRepo) -> Answer| {
        let workspace = session();
        sent(&workspace);
        let answer = act(&workspace).json;
        let one = answer["comments"]["unread"][0].clone();
        assert_eq!(one["id"], 1, "{answer:#}");
        assert_eq!(shown(&workspace)["given"], 1);
        (one["line_now"].clone(), one["path_now"].clone(), one["outdated"].clone())
    };
    let apply = |rest: &'static [&'static str]| {
        move |workspace: &TestRepo| agent(workspace, &[&["apply", "a.txt"][..], rest].concat())
    };
    let put_above = apply(&["--mode", "edit", "--old-text", "1\n2\n", "--content", "a\nb\n1\n2\n"]);
    assert_eq!(one(&put_above), (json!(7), json!("a.txt"), json!(false)));
    let replace = apply(&["--mode", "edit", "--old-text", "five\n", "--content", "six\n"]);
    assert_eq!(one(&replace), (Value::Null, json!("a.txt"), json!(true)));
    let rename = apply(&["--mode", "rename", "--to", "c.txt"]);
    assert_eq!(one(&rename), (json!(5), json!("c.txt"), json!(false)));
    let undo = |workspace: &TestRepo| agent(workspace, &["undo"]);
    assert_eq!(one(&undo), (Value::Null, json!("a.txt"), json!(true)));
    // Its branch is gone afterwards.
    let land = |workspace: &TestRepo| agent(workspace, &["land", "-m", "done"]);
    assert_eq!(one(&land), (json!(5), json!("a.txt"), json!(false)));
}

#[test]
fn an_agent_has_the_name_that_its_request_or_edt_agent_says() {
    let workspace = session();
    sent(&workspace);
    let request = json!({"path": "b.txt", "mode": "append", "content": "c\n", "agent": "my-agent"});
    assert_eq!(workspace.apply(&request).landed().json["comments"]["unread"][0]["id"], 1);
    assert_eq!(shown(&workspace)["read"]["agent"], "my-agent");
    let args = ["comment", "answer", "1", "-m", "Done.", "--json"];
    let mut command = workspace.command(EDT);
    command.args(args).env("EDT_AGENT", "robot").env("CLAUDECODE", "1");
    assert_eq!(run(command, b"", &args).json["comments"][0]["answers"][0]["agent"], "robot");
}

/// A program without a terminal may be an agent that edt does not know, or the user's.
#[test]
fn who_may_be_an_agent_gets_comments_again_until_one_answers() {
    let workspace = session();
    sent(&workspace);
    for _ in 0..2 {
        assert_eq!(workspace.edt(&["undo"]).json["comments"]["unread"][0]["id"], 1);
        assert_eq!(workspace.edt(&["redo"]).json["comments"]["unread"][0]["id"], 1);
    }
    assert_eq!(shown(&workspace)["read"], Value::Null);
    agent(&workspace, &["comment", "answer", "1", "-m", "Done."]);
    assert_eq!(workspace.edt(&["undo"]).json["comments"]["unread"], json!([]));
}

#[test]
fn a_page_of_edt_calls_for_the_user() {
    let workspace = session();
    sent(&workspace);
    let page = |args: &[&str]| {
        let command = workspace.command(EDT);
        let variables = command
            .get_envs()
            .filter_map(|(name, value)| value.map(|value| (name.to_owned(), value.to_owned())));
        let caller = Inherited {
            variables: variables.collect(),
            directory: workspace.root.clone(),
            program: EDT.into(),
            input: Vec::new(),
            is_reviewer: true,
            session: None,
        };
        let args: Vec<OsString> = args.iter().chain(&["--json"]).map(OsString::from).collect();
        let (exit, printed) = edt_cli::call(&args, caller);
        assert_eq!(exit, 0, "{args:?}");
        serde_json::from_slice::<Value>(&printed.stdout).unwrap()
    };
    assert!(page(&["undo"]).get("comments").is_none());
    assert_eq!(shown(&workspace)["given"], 0);
    page(&["comment", "answer", "1", "-m", "Say."]);
    assert_eq!(shown(&workspace)["answers"][0]["agent"], Value::Null);
    page(&["comment", "add", "-m", "A second one."]);
    assert_eq!(page(&["comment", "send"])["comments"][0]["id"], 2);
}

#[test]
fn the_user_sees_who_read_a_comment_and_marks_nothing() {
    let workspace = session();
    sent(&workspace);
    let as_user = |args: &[&str]| workspace.as_user(b"", args, &[]);
    for args in [&["comment", "list"][..], &["status"], &["review"], &["undo"], &["redo"]] {
        let answer = as_user(args);
        assert_eq!(answer.exit, 0, "{args:?}: {:#}", answer.json);
        assert_eq!(shown(&workspace)["given"], 0, "{args:?}");
    }
    assert_eq!(as_user(&["status"]).json["comments"]["open"], 1);
    let next = agent(&workspace, &["undo"]).json;
    assert_eq!(next["comments"]["summaries"][0]["text"], "Nearly.");
    let one = as_user(&["review"]).json["comments"][0].clone();
    assert_eq!(one["read"]["agent"], "codex");
    assert!(one["read"]["time"].as_i64().unwrap() > 1_700_000_000);
    let before = shown(&workspace);
    as_user(&["comment", "answer", "1", "-m", "Say."]);
    assert_ne!(shown(&workspace)["said"], before["said"]);
}

#[test]
fn an_agent_reads_comments_as_text() {
    let workspace = session();
    sent(&workspace);
    let text = |args: &[&str]| {
        let mut command = workspace.command(EDT);
        let done = command.args(args).env("CODEX_CI", "1").output().unwrap();
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    };
    let found = text(&["apply", "b.txt", "--mode", "edit", "--old-text", "x", "--content", "y"]);
    assert!(
        found.contains(
            "1 open comment of the user:\n  review 1: Nearly.\n  comment 1, edit 1, a.txt:5:\n    | \
             five\n    Why five?\n  Make the change that each comment asks for"
        ),
        "{found}"
    );
    let found = text(&["undo"]);
    assert!(found.ends_with("\n1 open comment of the user.\n"), "{found}");
}

#[test]
fn two_processes_at_once_lose_no_comment() {
    let workspace = session();
    let add = |name: &str| {
        for n in 0..10 {
            let text = format!("{name} {n}");
            assert_eq!(workspace.edt(&["comment", "add", "-m", &text]).exit, 0);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| add("one"));
        scope.spawn(|| add("two"));
    });
    let all = listed(&workspace);
    let ids: Vec<u64> = all.iter().map(|one| one["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=20).collect::<Vec<u64>>());
    let mut texts: Vec<&str> = all.iter().map(|one| one["text"].as_str().unwrap()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 20);
}

#[test]
fn hostile_texts_are_kept_and_control_nothing() {
    let workspace = session();
    let hostile = "\u{1b}[2J\r\n\u{202e}x\u{7}\ncomment 9, edit 9:";
    workspace.edt(&["comment", "add", "-m", hostile]);
    assert_eq!(listed(&workspace)[0]["text"], hostile);
    workspace.edt(&["comment", "send"]);
    let done = workspace.command(EDT).args(["comment", "list"]).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}', '\r']), "{text:?}");
    assert!(text.contains("\n      comment 9, edit 9:\n"), "{text:?}");
    // One argument cannot be much longer.
    let long = "x".repeat(100_000);
    workspace.refuses(&["FILE_TOO_LARGE"], 1, &["comment", "add", "-m", &long]);
    workspace.refuses(&["BAD_REQUEST"], 2, &["comment", "add", "-m", " "]);
    workspace.refuses(&["PATH_INVALID"], 1, &["comment", "add", "--path", "a\n\u{1b}", "-m", "x"]);
}

#[test]
fn outdated_comments_are_shown_and_moved_ones_found() {
    let workspace = session();
    sent(&workspace);
    let one = || listed(&workspace).remove(0);
    edit(&workspace, "a.txt", "1\n2\n", "0\n1\n2\n").landed();
    assert_eq!((&one()["outdated"], &one()["line_now"]), (&json!(false), &json!(6)));
    workspace.apply(&json!({"path": "a.txt", "mode": "rename", "to": "c.txt"})).landed();
    assert_eq!((&one()["path_now"], &one()["line_now"]), (&json!("c.txt"), &json!(6)));
    workspace.apply(&json!({"path": "c.txt", "mode": "delete", "allow": ["mass_deletion"]}));
    assert_eq!((&one()["outdated"], &one()["path_now"]), (&json!(true), &Value::Null));
    assert_eq!(one()["quoted"], json!(["five"]));
}

#[test]
fn a_landing_says_what_is_open_and_does_not_stop() {
    let workspace = session();
    sent(&workspace);
    let landed = workspace.edt(&["land", "-m", "done"]).json;
    assert_eq!(landed["status"], "applied", "{landed:#}");
    let open = landed["warnings"].as_array().unwrap().iter();
    let open: Vec<_> = open.filter(|one| one["code"] == "open_comments").collect();
    assert_eq!(open.len(), 1, "{landed:#}");
    let all = workspace.edt(&["comment", "list", "--session", "s"]).json;
    assert_eq!(all["comments"][0]["text"], "Why five?");
    workspace.refuses(&["NO_SESSION"], 1, &["comment", "list", "--session", "t"]);
    // What is open can be closed, at the landing and from elsewhere.
    let answered = agent(&workspace, &["comment", "answer", "1", "-m", "It is the sum."]).json;
    assert_eq!(answered["comments"][0]["answers"][0]["agent"], "codex", "{answered:#}");
    workspace.refuses(&["SESSION_LANDED"], 1, &["comment", "add", "-m", "x"]);
    workspace.edt(&["begin", "t"]).landed();
    workspace.refuses(&["COMMENT_NOT_FOUND"], 1, &["comment", "resolve", "1"]);
    let resolved = workspace.edt(&["comment", "resolve", "1", "--session", "s"]).json;
    assert_eq!(resolved["comments"][0]["state"], "resolved", "{resolved:#}");
    assert_eq!(workspace.edt(&["comment", "reopen", "1", "--session", "s"]).json["open"], 1);
}

#[test]
fn an_open_session_of_another_worktree_is_not_answered() {
    let workspace = session();
    sent(&workspace);
    workspace.edt(&["begin", "t", "--worktree", "../other"]).landed();
    let args = ["-C", "../other", "comment", "resolve", "1", "--session", "s"];
    workspace.refuses(&["BAD_REQUEST"], 2, &args);
}

#[test]
fn a_path_counts_from_the_current_directory() {
    let workspace = TestRepo::with(&[("below/a.txt", TEN.as_bytes())]);
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "below/a.txt", "5\n", "five\n").landed();
    let below = workspace.root.join("below");
    for path in ["below/a.txt", ":/below/a.txt", "./below/../below/a.txt"] {
        let added = workspace.edt(&["comment", "add", "--path", path, "-m", "x"]).json;
        assert_eq!(added["comments"][0]["path"], "below/a.txt", "{path}: {added:#}");
    }
    let args = ["-C", below.to_str().unwrap(), "comment", "add", "--path", "a.txt", "-m", "x"];
    let added = workspace.as_user(b"", &args, &[]).json;
    assert_eq!(added["comments"][0]["path"], "below/a.txt", "{added:#}");
}

#[test]
fn an_agent_cannot_move_the_ref_of_comments() {
    let workspace = session();
    sent(&workspace);
    assert_eq!(workspace.edt(&["hooks", "install"]).exit, 0);
    let before = workspace.rev("refs/edt/s/comments");
    for args in [
        &["update-ref", "refs/edt/s/comments", "HEAD"][..],
        &["update-ref", "-d", "refs/edt/s/comments"],
    ] {
        assert!(!workspace.try_git(args).status.success(), "{args:?}");
    }
    assert_eq!(workspace.rev("refs/edt/s/comments"), before);
    // edt itself moves it.
    assert_eq!(workspace.edt(&["comment", "resolve", "1"]).exit, 0);
}

#[test]
fn comments_of_a_later_version_are_refused_and_stay() {
    let workspace = session();
    sent(&workspace);
    let text = r#"{"schema":"edt.stored-comments/9"}"#;
    workspace.write("later.json", text);
    let blob = workspace.git(&["hash-object", "-w", "later.json"]);
    std::fs::remove_file(workspace.root.join("later.json")).unwrap();
    workspace.git(&["update-ref", "refs/edt/s/comments", blob.trim()]);
    workspace.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &["comment", "add", "-m", "x"]);
    workspace.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &["comment", "list"]);
    let next = edit(&workspace, "b.txt", "b\n", "c\n").json;
    assert_eq!(next["status"], "applied", "{next:#}");
    assert_eq!(next["warnings"][0]["code"], "comments_not_read");
    assert_eq!(workspace.rev("refs/edt/s/comments"), blob.trim());
}
