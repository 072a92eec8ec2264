//! `edt revert`, and the numbers of edits as names of commits.

use serde_json::json;

use crate::test_repo::{TestRepo, lines, same};

/// A text of 30 lines with three edits: of line 5, line 15, and line 15 again.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", lines(30).as_bytes()), (".gitignore", b".env\n")]);
    for (old, new) in
        [("line 5 of a text", "agent 1"), ("line 15 of a text", "agent 2"), ("agent 2", "agent 3")]
    {
        let edit = json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": new, "message": new});
        workspace.apply(&edit).landed();
    }
    workspace
}

#[test]
fn a_reverted_edit_leaves_later_edits_and_the_users_lines() {
    let workspace = workspace();
    let typed = workspace.text("a.txt") + "user 1\n";
    workspace.write("a.txt", &typed);
    let before = workspace.files();
    let answer = workspace.edt(&["revert", "1"]).landed();
    assert_eq!(answer.json["edit"], json!(4), "{:#}", answer.json);
    assert_eq!(answer.json["files"][0]["user_changes"], json!("separate"), "{:#}", answer.json);
    assert_eq!(workspace.text("a.txt"), typed.replace("agent 1", "line 5 of a text"));
    assert_eq!(workspace.git(&["diff", "--numstat", "HEAD"]), "1\t0\ta.txt\n");
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%s %(trailers:key=Edt-Reverts,separator=)"]),
        "revert agent 1 Edt-Reverts: 1\n"
    );
    workspace.edt(&["undo"]).landed();
    same(&before, &workspace.files());
    workspace.is_sound();
}

#[test]
fn an_edit_below_a_later_one_of_the_same_lines_is_refused_with_the_call_that_works() {
    let workspace = workspace();
    let answer = workspace.refuses(&["REVERT_CONFLICT"], 3, &["revert", "2"]);
    assert!(answer.message().contains("edit 3 (agent 3)"), "{}", answer.message());
    assert!(answer.hint().contains("`edt revert 3 2`"), "{}", answer.hint());
    workspace.edt(&["revert", "3", "2"]).landed();
    let expected = lines(30).replace("line 5 of a text", "agent 1");
    assert_eq!(workspace.text("a.txt"), expected);
    workspace.is_clean();
}

#[test]
fn staged_lines_stay_staged_beside_a_revert() {
    let workspace = workspace();
    workspace.write("a.txt", workspace.text("a.txt") + "user 1\n");
    workspace.git(&["add", "a.txt"]);
    workspace.edt(&["revert", "1"]).landed();
    assert_eq!(workspace.git(&["diff", "--cached", "--numstat"]), "1\t0\ta.txt\n");
    assert_eq!(workspace.git(&["diff", "--numstat"]), "");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.git(&["diff", "--cached", "--numstat"]), "1\t0\ta.txt\n");
    assert_eq!(workspace.git(&["diff", "--numstat"]), "");
}

#[test]
fn lines_of_the_user_are_reverted_only_with_save() {
    let workspace = workspace();
    let typed = workspace.text("a.txt").replace("agent 1", "agent 1, user 1") + "user 2\n";
    workspace.write("a.txt", &typed);
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["revert", "1"]);
    assert!(answer.hint().contains("--save"), "{}", answer.hint());
    workspace.edt(&["revert", "1", "--save"]);
    assert_eq!(
        workspace.text("a.txt"),
        typed.replace("agent 1, user 1", "line 5 of a text"),
        "the other line of the user is on disk"
    );
    assert_eq!(workspace.text("a.txt").matches("user 2").count(), 1);
    assert_eq!(workspace.blob("refs/edt/main-1/saved/1:a.txt"), typed.as_bytes());
    workspace.is_sound();
}

#[test]
fn a_dry_run_of_revert_and_restore_changes_nothing() {
    let workspace = workspace();
    let before = workspace.snapshot();
    for call in [&["revert", "1"][..], &["restore", "a.txt"], &["undo", "-n", "2"]] {
        let answer = workspace.edt(&[call, &["--dry-run"]].concat());
        assert_eq!((answer.exit, &answer.json["status"]), (0, &json!("would_apply")), "{call:?}");
        assert_eq!(answer.json["files"][0]["path"], json!("a.txt"));
    }
    same(&before, &workspace.snapshot());
    workspace.refuses(&["REVERT_CONFLICT"], 3, &["revert", "2", "--dry-run"]);
    workspace.edt(&["undo"]).landed();
    let before = workspace.snapshot();
    assert_eq!(workspace.edt(&["redo", "--dry-run"]).json["status"], json!("would_apply"));
    same(&before, &workspace.snapshot());
}

#[test]
fn the_number_of_the_log_names_an_edit_everywhere() {
    let workspace = workspace();
    let commit = workspace.rev("HEAD~1");
    assert_eq!(workspace.edt(&["show", "2"]).json["commit"]["commit"], json!(commit));
    let diff = workspace.edt(&["diff", "2"]).json.to_string();
    assert!(diff.contains("+agent 2") && !diff.contains("agent 1"), "{diff}");
    workspace.edt(&["restore", "a.txt", "--to", "1"]).landed();
    let first = lines(30).replace("line 5 of a text", "agent 1");
    assert_eq!(workspace.text("a.txt"), first);
    workspace.edt(&["undo", "--to", "2"]).landed();
    assert_eq!(workspace.rev("HEAD"), commit);
    for call in [&["show", "9"][..], &["undo", "--to", "9"], &["restore", "a.txt", "--to", "9"]] {
        let answer = workspace.refuses(&["BAD_REQUEST"], 2, call);
        assert!(answer.message().contains("no edit 9"), "{}", answer.message());
    }
    workspace.refuses(&["BAD_REQUEST"], 2, &["show", "no-such-revision"]);
}

#[test]
fn a_proposal_is_shown_by_its_letter_and_a_bare_number_is_an_edit() {
    let workspace = workspace();
    workspace.edt(&["propose", "a.txt", "--mode", "append", "--content", "more\n"]);
    assert_eq!(workspace.edt(&["show", "p1"]).json["schema"], json!("edt.proposal/1"));
    assert_eq!(workspace.edt(&["show", "1"]).json["commit"]["edit"], json!(1));
    let other = TestRepo::with(&[("a.txt", b"one\n")]);
    other.edt(&["begin"]).landed();
    other.edt(&["propose", "a.txt", "--mode", "append", "--content", "more\n"]);
    let answer = other.refuses(&["BAD_REQUEST"], 2, &["show", "1"]);
    assert!(answer.hint().contains("`edt show p1`"), "{}", answer.hint());
}

#[test]
fn a_file_without_an_edit_is_restored_only_with_save() {
    let workspace = workspace();
    workspace.write(".gitignore", ".env\n*.log\n");
    workspace.git(&["add", ".gitignore"]);
    let before = workspace.snapshot();
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["restore", ".gitignore"]);
    assert!(answer.hint().contains("--save"), "{}", answer.hint());
    same(&before, &workspace.snapshot());
    workspace.edt(&["restore", ".gitignore", "--save"]);
    assert_eq!(
        (workspace.text(".gitignore").as_str(), workspace.status().as_str()),
        (".env\n", "")
    );
    assert_eq!(workspace.blob("refs/edt/main-1/saved/1:.gitignore"), b".env\n*.log\n");
    workspace.edt(&["undo"]);
    assert_eq!(workspace.text(".gitignore"), ".env\n*.log\n");
    workspace.write("notes.txt", "mine\n");
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["restore", "notes.txt", "--save"]);
    workspace.is_sound();
}
