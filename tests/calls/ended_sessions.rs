//! What ended is still there to look at: landed sessions, landings that the user took back, renamed
//! branches, and what was refused.

use serde_json::{Value, json};

use crate::test_repo::{EDT, TestRepo};

/// The session `s` with two edits, landed on `main`.
fn landed() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("a.txt", "three\n");
    workspace.edt(&["land", "-m", "landed"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    workspace
}

fn text(workspace: &TestRepo, args: &[&str]) -> String {
    let done = workspace.command(EDT).args(args).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn edits(log: &Value) -> Vec<u64> {
    let commits = log["commits"].as_array().unwrap();
    commits.iter().filter_map(|one| one["edit"].as_u64()).collect()
}

fn session(workspace: &TestRepo, name: &str) -> Value {
    let status = workspace.edt(&["status", "--ended"]).json;
    let all = status["sessions"].as_array().unwrap();
    all.iter().find(|one| one["name"] == json!(name)).unwrap().clone()
}

const UNDO: &str = "`edt land --undo --session s` takes the landing back.";

#[test]
fn a_landed_session_is_shown_by_its_name_and_right_after_the_landing_without() {
    let workspace = landed();
    for args in [&["log"][..], &["log", "s"], &["log", "edt/s"], &["log", "--session", "s"]] {
        let log = workspace.edt(args);
        assert_eq!((log.exit, edits(&log.json)), (0, vec![2, 1]), "{args:?} {:#}", log.json);
        assert_eq!(log.json["landed"]["next"], UNDO, "{args:?}");
        assert_eq!(log.json["landed"]["commit"], workspace.rev("main"), "{args:?}");
        assert!(text(&workspace, args).contains(UNDO), "{args:?}");
    }
    let patch = |args: &[&str]| {
        let diff = workspace.edt(args);
        assert_eq!(diff.json["landed"]["next"], UNDO, "{args:?} {:#}", diff.json);
        diff.json["files"][0]["patch"].as_str().unwrap().to_owned()
    };
    for args in [&["diff"][..], &["diff", "s"], &["diff", "edt/s"], &["diff", "s", "a.txt"]] {
        assert!(patch(args).ends_with("-one\n+three\n"), "{args:?}");
    }
    for args in [&["diff", "2"][..], &["show", "2"], &["show"]] {
        assert!(patch(args).ends_with("-two\n+three\n"), "{args:?}");
    }
    let revisions = workspace.edt(&["log", "a.txt"]).json;
    assert_eq!(edits(&revisions), [2, 1]);
    // A file comes before a session of its name.
    workspace.edt(&["begin", "b.txt"]).landed();
    assert_eq!(workspace.edt(&["log", "b.txt"]).json["session"]["name"], "b.txt");
    assert_eq!(workspace.edt(&["log", "b.txt"]).json["commits"], json!([]));
    // Another session runs: the landed one is shown by its name.
    assert_eq!(edits(&workspace.edt(&["log", "s"]).json), [2, 1]);
    workspace.refuses(&["NO_SESSION"], 1, &["log", "--session", "none"]);
}

#[test]
fn what_changes_a_landed_session_is_refused_and_names_the_undo_of_the_landing() {
    let workspace = landed();
    let before = (workspace.rev("main"), workspace.text("a.txt"));
    for args in [&["undo"][..], &["redo"], &["restore", "a.txt"], &["revert", "1"], &["land"]] {
        let refused = workspace.refuses(&["SESSION_LANDED"], 1, args);
        assert!(refused.message().contains("The session s landed on main"), "{args:?}");
        assert!(refused.hint().contains("`edt land --undo`"), "{args:?} {}", refused.hint());
    }
    assert_eq!((workspace.rev("main"), workspace.text("a.txt")), before);
    workspace.edt(&["land", "--undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\n");
    // The user's commit is no landing.
    let workspace = landed();
    workspace.commit(&[("b.txt", b"mine\n")]);
    workspace.refuses(&["NO_SESSION"], 1, &["undo"]);
    assert_eq!(edits(&workspace.edt(&["log", "s"]).json), [2, 1]);
}

#[test]
fn a_session_whose_branch_the_user_deleted_after_its_landing_is_shown_as_it_landed() {
    let workspace = landed();
    workspace.git(&["branch", "--quiet", "-D", "edt/s"]);
    assert_eq!(edits(&workspace.edt(&["log", "s"]).json), [2, 1]);
    workspace.git(&["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    assert!(workspace.edt(&["diff", "s"]).json["files"][0]["patch"].is_string());
}

#[test]
fn a_session_whose_landing_was_reset_away_is_not_landed() {
    let workspace = landed();
    let tip = workspace.rev("refs/edt/s/landed/1");
    workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let one = session(&workspace, "s");
    assert_eq!((&one["state"], &one["tip"]), (&json!("open"), &json!(tip)));
    let lost = one["lost_landing"].as_str().unwrap();
    for part in ["Its landing is no longer in main.", "`edt switch s`", "refs/edt/s/landed/1"] {
        assert!(lost.contains(part), "{lost}");
    }
    assert!(text(&workspace, &["status"]).contains(lost));
    let log = workspace.edt(&["log", "s"]).json;
    assert_eq!((edits(&log), &log["landed"]["contained"]), (vec![2, 1], &json!(false)));
    assert!(text(&workspace, &["log", "s"]).contains("is no longer in main"));
    // What is said lands it again.
    workspace.edt(&["switch", "s"]).landed();
    workspace.edt(&["land", "-m", "again"]).landed();
    assert_eq!(workspace.text("a.txt"), "three\n");
    let one = session(&workspace, "s");
    assert_eq!((&one["state"], &one["lost_landing"]), (&json!("landed"), &Value::Null));
}

#[test]
fn a_landing_that_the_user_rebased_is_still_landed() {
    let workspace = landed();
    let landing = workspace.rev("main");
    workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    workspace.commit(&[("b.txt", b"mine\n")]);
    workspace.git(&["cherry-pick", &landing]);
    let one = session(&workspace, "s");
    assert_eq!((&one["state"], &one["lost_landing"]), (&json!("landed"), &Value::Null));
}

#[test]
fn a_session_branch_that_was_renamed_out_of_edt_is_not_deleted() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "x"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let tip = workspace.rev("HEAD");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["branch", "-m", "edt/x", "y"]);
    let one = session(&workspace, "x");
    assert_eq!(
        (&one["state"], &one["branch"], &one["tip"], &one["edits"]),
        (&json!("renamed"), &json!("y"), &json!(tip), &json!(1))
    );
    let shown = text(&workspace, &["status", "--ended"]);
    assert!(shown.contains(": its branch is now y"), "{shown}");
    assert_eq!(edits(&workspace.edt(&["log", "x"]).json), [1]);
    let refused = workspace.refuses(&["NO_SESSION"], 1, &["switch", "x"]);
    assert!(refused.hint().contains("`git branch -m y edt/x`"), "{}", refused.hint());
    workspace.git(&["branch", "-m", "y", "edt/x"]);
    workspace.edt(&["switch", "x"]).landed();
}

#[test]
fn what_was_refused_and_what_was_overridden_is_listed() {
    let workspace = TestRepo::with(&[("a.py", b"def f():\n    return 1\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let half = json!({"path": "a.py", "mode": "append", "content": "x = (\n"});
    workspace.refuses_request(&["SYNTAX_ERROR"], 1, &half);
    let allowed = json!({"edits": [half], "allow": ["syntax_error"]});
    workspace.apply(&allowed).landed();
    let oid = workspace.rev("HEAD");
    workspace.git(&["update-ref", "refs/edt/s/refused/1", &oid]);
    workspace.write(".git/edt/main/kept/1/a.py", "before\n");
    let status = workspace.edt(&["status"]).json;
    assert_eq!(status["refused_edits"][0]["path"], "a.py", "{status:#}");
    assert_eq!(status["refused_edits"][0]["session"], "s");
    let request = &status["refused_edits"][0]["request"];
    assert!(request.to_string().contains("x = ("), "{request}");
    assert_eq!(status["refused_runs"][0]["ref"], "refs/edt/s/refused/1");
    assert_eq!(status["refused_runs"][0]["commit"], oid);
    assert_eq!(status["allowed"], json!([{"edit": 1, "commit": oid, "allowed": ["syntax_error"]}]));
    let kept = status["backups"][0]["directory"].as_str().unwrap();
    assert!(kept.ends_with("kept/1"), "{kept}");
    let log = workspace.edt(&["log"]).json;
    for key in ["refused_edits", "refused_runs", "backups"] {
        assert_eq!(log[key], status[key], "{key}");
    }
    let lines = ["refused edits (1): a.py", "refused runs (1): `git show refs/edt/s/refused/1`"];
    for args in ["status", "log"] {
        let shown = text(&workspace, &[args]);
        assert!(lines.iter().all(|line| shown.contains(line)), "{args}: {shown}");
        assert!(shown.contains("kept/1"), "{args}: {shown}");
    }
    assert!(text(&workspace, &["status"]).contains("edits with overrides: 1 (syntax_error)"));
}
