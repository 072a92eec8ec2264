//! `edt revert` of a part: a file, or lines of it, of an edit or of the session.

use serde_json::json;

use crate::test_repo::{TestRepo, lines, same};

/// A text of 30 lines. Edit 1 changes the lines 5 and 20, adds two lines after line 12, and adds the
/// file `b.txt`. Edit 2 changes line 28.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", lines(30).as_bytes()), (".gitignore", b".env\n")]);
    let of = |old: &str, new: &str| json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": new});
    let edits = json!([
        of("line 5 of a text", "agent 5"),
        of("line 12 of a text\n", "line 12 of a text\nnew 1\nnew 2\n"),
        of("line 20 of a text", "agent 20"),
        {"path": "b.txt", "mode": "create", "content": "b 1\nb 2\n"},
    ]);
    workspace.apply(&json!({"edits": edits, "message": "first"})).landed();
    workspace.apply(&of("line 28 of a text", "agent 28")).landed();
    workspace
}

/// What the newest commit says: subject, body and trailers of a revert.
fn said(workspace: &TestRepo) -> String {
    let trailers =
        "%(trailers:key=Edt-Reverts,separator=) %(trailers:key=Edt-Reverts-Part,separator=)";
    workspace.git(&["log", "-1", &format!("--format=%s|%b|{trailers}")])
}

#[test]
fn one_hunk_is_reverted_and_everything_else_stays() {
    let workspace = workspace();
    let typed = workspace.text("a.txt").replace("line 1 of", "line 1, user, of");
    workspace.write("a.txt", &typed);
    let before = workspace.files();
    let part = ["revert", "1", "--path", "a.txt", "--added", "5", "--removed", "5"];
    let answer = workspace.edt(&part).landed();
    assert_eq!(answer.json["edit"], json!(3));
    assert_eq!(workspace.text("a.txt"), typed.replace("agent 5", "line 5 of a text"));
    assert_eq!(workspace.git(&["diff", "--numstat", "HEAD"]), "1\t1\ta.txt\n");
    assert_eq!(workspace.git(&["diff", "--name-only", "HEAD^", "HEAD"]), "a.txt\n");
    let message = said(&workspace);
    assert!(
        message.starts_with("revert part of edit 1: first|a.txt: added line 5; removed line 5\n"),
        "{message}"
    );
    assert!(message.ends_with("| Edt-Reverts-Part: 1\n"), "{message}");
    let log = workspace.edt(&["log"]).json;
    assert_eq!(log["commits"][0]["edit"], json!(3), "the trailers are parsed: {log:#}");
    workspace.is_sound();
    workspace.edt(&["undo"]).landed();
    same(&before, &workspace.files());
    assert_eq!(workspace.edt(&[&part[..], &["--dry-run"]].concat()).json["status"], "would_apply");
    same(&before, &workspace.files());
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.edt(&part).json["status"], json!("unchanged"), "a second time");
}

#[test]
fn added_and_removed_lines_are_chosen_one_by_one() {
    let workspace = workspace();
    workspace.edt(&["revert", "1", "--path", "a.txt", "--added", "13"]).landed();
    let text = workspace.text("a.txt");
    assert!(text.contains("line 12 of a text\nnew 2\nline 13"), "{text}");
    workspace.edt(&["revert", "1", "--path", "a.txt", "--removed", "20"]).landed();
    let text = workspace.text("a.txt");
    assert!(text.contains("line 19 of a text\nline 20 of a text\nagent 20\n"), "{text}");
    // The other line of the place: it stands alone now, which only the session's change shows.
    let refused = workspace.refuses(
        &["REVERT_CONFLICT"],
        3,
        &["revert", "1", "--path", "a.txt", "--added", "14"],
    );
    assert!(refused.hint().contains("`edt revert --session --path a.txt`"), "{}", refused.hint());
    workspace.edt(&["revert", "--session", "--path", "a.txt", "--added", "13"]).landed();
    assert_eq!(
        said(&workspace).lines().next().unwrap(),
        "revert lines of a.txt in the session|added line 13"
    );
    assert!(!workspace.text("a.txt").contains("new 2"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn lines_that_the_edit_does_not_change_are_refused_with_those_that_it_changes() {
    let workspace = workspace();
    for (lines, named) in [
        (["--added", "5-6"], "--added 5-6"),
        (["--removed", "28"], "--removed 28"),
        (["--added", "99"], "--added 99"),
    ] {
        let refused = workspace.refuses(
            &["BAD_REQUEST"],
            2,
            &["revert", "1", "--path", "a.txt", lines[0], lines[1]],
        );
        assert!(refused.message().contains(&format!("a.txt: {named}. ")), "{}", refused.message());
        assert_eq!(
            refused.hint(),
            "It changes: --added 5 --removed 5; --added 13-14; --added 22 --removed 20."
        );
    }
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &["revert", "2", "--path", "b.txt"]);
    assert!(refused.message().starts_with("Edit 2 does not change b.txt."));
    assert_eq!(refused.hint(), "It changes a.txt.");
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    let workspace = workspace();
    for args in [
        &["revert"][..],
        &["revert", "--session"],
        &["revert", "1", "--session", "--path", "a.txt"],
        &["revert", "1", "2", "--path", "a.txt"],
        &["revert", "1", "--added", "5"],
        &["revert", "1", "--path", "a.txt", "--added", "6-5"],
        &["revert", "1", "--path", "a.txt", "--removed", "x"],
    ] {
        let refused = workspace.edt(args);
        assert_eq!((refused.exit, refused.codes()), (2, vec!["BAD_REQUEST"]), "{args:?}");
    }
}

#[test]
fn a_whole_file_is_reverted_and_the_others_stay() {
    let workspace = workspace();
    workspace.edt(&["revert", "1", "--path", "b.txt"]).landed();
    assert!(!workspace.exists("b.txt"));
    assert!(workspace.text("a.txt").contains("agent 5"));
    workspace.edt(&["revert", "1", "--path", "a.txt"]).landed();
    assert_eq!(workspace.text("a.txt"), lines(30).replace("line 28 of a text", "agent 28"));
    workspace.edt(&["revert", "--session", "--path", "a.txt"]).landed();
    assert_eq!(workspace.rev("HEAD^{tree}"), workspace.rev("main^{tree}"));
    assert_eq!(
        said(&workspace).lines().next().unwrap(),
        "revert a.txt in the session|Edt-Session: main-1"
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_new_file_without_lines_is_gone_and_a_deleted_one_has_those_that_come_back() {
    let workspace = workspace();
    workspace.edt(&["revert", "1", "--path", "b.txt", "--added", "2"]).landed();
    assert_eq!(workspace.text("b.txt"), "b 1\n");
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["revert", "1", "--path", "b.txt", "--added", "1-2"]).landed();
    assert!(!workspace.exists("b.txt"));
    workspace.edt(&["undo"]).landed();
    let delete = json!({"path": "b.txt", "mode": "delete"});
    let answer = workspace.apply(&delete).landed();
    let edit = answer.json["edit"].to_string();
    workspace.edt(&["revert", &edit, "--path", "b.txt", "--removed", "2"]).landed();
    assert_eq!(workspace.text("b.txt"), "b 2\n");
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["revert", &edit, "--path", "b.txt"]).landed();
    assert_eq!(workspace.text("b.txt"), "b 1\nb 2\n");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_rename_is_one_file_with_two_names() {
    let workspace = workspace();
    let edits = json!([
        {"path": "a.txt", "mode": "rename", "to": "c.txt"},
        {"path": "c.txt", "mode": "edit", "old_text": "line 2 of a text", "content": "agent two"},
    ]);
    workspace.apply(&json!({"edits": edits, "message": "move"})).landed();
    let before = workspace.files();
    for path in ["a.txt", "c.txt"] {
        workspace.edt(&["revert", "3", "--path", path]).landed();
        assert!(workspace.exists("a.txt") && !workspace.exists("c.txt"), "{path}");
        assert!(!workspace.text("a.txt").contains("agent two"), "{path}");
        workspace.edt(&["undo"]).landed();
        same(&before, &workspace.files());
        let lines = ["--added", "2", "--removed", "2"];
        workspace.edt(&[&["revert", "3", "--path", path][..], &lines].concat()).landed();
        assert!(workspace.text("c.txt").contains("line 2 of a text"), "{path}");
        assert!(!workspace.exists("a.txt"), "{path}");
        workspace.edt(&["undo"]).landed();
        same(&before, &workspace.files());
    }
    // The session as a whole renamed it, too.
    let lines = ["--added", "5", "--removed", "5"];
    workspace.edt(&[&["revert", "--session", "--path", "c.txt"][..], &lines].concat()).landed();
    assert!(workspace.text("c.txt").contains("line 5 of a text"));
    workspace.edt(&["revert", "--session", "--path", "c.txt"]).landed();
    assert_eq!(workspace.text("a.txt"), lines_of_base());
    assert!(!workspace.exists("c.txt"));
    workspace.is_clean();
    workspace.is_sound();
}

fn lines_of_base() -> String {
    lines(30)
}

#[test]
fn what_has_no_lines_is_reverted_as_a_whole() {
    let workspace =
        TestRepo::with(&[("a.bin", b"\0one\n"), ("run.sh", b"echo 1\necho 2\necho 3\n")]);
    let script = "printf '\\0two\\n' > a.bin; printf 'echo 1\\necho two\\necho 3\\n' > run.sh; \
                  chmod +x run.sh";
    workspace.runs(&[], &["sh", "-c", script]).landed();
    let lines = ["revert", "1", "--path", "a.bin", "--added", "1"];
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &lines);
    assert!(refused.message().contains("it is binary"), "{}", refused.message());
    assert!(refused.hint().starts_with("Leave out the lines"), "{}", refused.hint());
    workspace.edt(&["revert", "1", "--path", "a.bin"]).landed();
    assert_eq!(workspace.read("a.bin"), b"\0one\n");
    // A mode is no line.
    let lines = ["revert", "1", "--path", "run.sh", "--added", "2", "--removed", "2"];
    workspace.edt(&lines).landed();
    let modes =
        |workspace: &TestRepo| workspace.git(&["ls-tree", "HEAD", "run.sh"])[..6].to_owned();
    assert_eq!(
        (workspace.text("run.sh").contains("two"), modes(&workspace)),
        (false, "100755".to_owned())
    );
    workspace.edt(&["revert", "1", "--path", "run.sh"]).landed();
    assert_eq!(workspace.rev("HEAD^{tree}"), workspace.rev("main^{tree}"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn line_ends_and_a_missing_one_are_kept() {
    let before = b"1\r\n2\r\n3\r\n4\r\n5".as_slice();
    let after = b"1\r\n2 two\r\n3\r\n4\r\n5 five\r\n".as_slice();
    for converts in [false, true] {
        let workspace = TestRepo::with(&[("a.txt", before), ("b.txt", b"b\n")]);
        if converts {
            workspace.git(&["config", "core.autocrlf", "true"]);
            workspace.git(&["add", "--renormalize", "a.txt"]);
            workspace.git(&["commit", "-qm", "normalized"]);
        }
        let text = String::from_utf8(after.to_vec()).unwrap();
        let edit = json!({"path": "a.txt", "mode": "overwrite", "content": text});
        workspace.apply(&edit).landed();
        assert_eq!(workspace.read("a.txt"), after);
        let part = ["revert", "1", "--path", "a.txt", "--added", "5", "--removed", "5"];
        workspace.edt(&part).landed();
        assert_eq!(workspace.read("a.txt"), b"1\r\n2 two\r\n3\r\n4\r\n5");
        workspace
            .edt(&["revert", "1", "--path", "a.txt", "--added", "2", "--removed", "2"])
            .landed();
        assert_eq!(workspace.read("a.txt"), before);
        assert_eq!(workspace.rev("HEAD^{tree}"), workspace.rev("main^{tree}"));
        workspace.is_clean();
        workspace.is_sound();
    }
}

#[test]
fn lines_of_the_user_beside_and_in_the_part() {
    let workspace = workspace();
    let typed = workspace.text("a.txt").replace("agent 5", "agent 5, user");
    workspace.write("a.txt", &typed);
    // Another place is free.
    workspace.edt(&["revert", "1", "--path", "a.txt", "--added", "13-14"]).landed();
    assert_eq!(workspace.text("a.txt"), typed.replace("new 1\nnew 2\n", ""));
    let part = ["revert", "1", "--path", "a.txt", "--added", "5", "--removed", "5"];
    let refused = workspace.refuses(&["UNSAVED_CHANGES"], 3, &part);
    assert!(refused.hint().contains("--save"), "{}", refused.hint());
    workspace.edt(&[&part[..], &["--save"]].concat());
    assert!(workspace.text("a.txt").contains("\nline 5 of a text\n"));
    assert!(
        String::from_utf8_lossy(&workspace.blob("refs/edt/main-1/saved/1:a.txt"))
            .contains("agent 5, user")
    );
    workspace.is_sound();
}

#[test]
fn what_the_user_committed_is_not_the_sessions_to_revert() {
    let workspace = workspace();
    workspace.write("a.txt", workspace.text("a.txt").replace("line 9 of", "line 9, user, of"));
    workspace.git(&["commit", "-qam", "by hand"]);
    let part = ["revert", "--session", "--path", "a.txt", "--added", "5", "--removed", "5"];
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &part);
    assert!(refused.message().contains("(by hand) changed a.txt, too"), "{}", refused.message());
    assert!(refused.hint().contains("`edt revert EDIT --path a.txt`"), "{}", refused.hint());
    workspace.edt(&["revert", "--session", "--path", "b.txt"]).landed();
    workspace.edt(&["revert", "1", "--path", "a.txt", "--added", "5", "--removed", "5"]).landed();
    assert!(workspace.text("a.txt").contains("line 9, user, of"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn lines_of_an_ignored_file_and_those_that_are_on_disk_alone() {
    let workspace = workspace();
    workspace.write(".env", lines(10));
    let edit = |old: &str, new: &str| json!({"path": ".env", "mode": "edit", "old_text": old, "content": new});
    let edits = json!([edit("line 3 of a text", "agent 3"), edit("line 8 of a text", "agent 8")]);
    workspace.apply(&json!({"edits": edits, "message": "private"})).landed();
    let before = workspace.files();
    workspace.edt(&["revert", "3", "--path", ".env", "--added", "3", "--removed", "3"]).landed();
    assert_eq!(workspace.text(".env"), lines(10).replace("line 8 of a text", "agent 8"));
    assert_eq!(workspace.git(&["ls-files", ".env"]), "");
    workspace.edt(&["undo"]).landed();
    same(&before, &workspace.files());
    // An edit beside an uncommitted line of the user: a part of it is on disk alone.
    let typed = workspace.text("a.txt");
    workspace.write("a.txt", typed.replace("line 9 of", "user 9 of"));
    let edits = json!([
        {"path": "a.txt", "mode": "edit", "old_text": "user 9 of a text\n", "content": "user 9 of a text\nagent 9\n"},
        {"path": "a.txt", "mode": "edit", "old_text": "line 25 of a text", "content": "agent 25"},
    ]);
    let answer = workspace.apply(&json!({"edits": edits, "message": "both"}));
    let edit = answer.json["edit"].to_string();
    let before = workspace.files();
    // In the commit the line has the number without the line that is on disk alone.
    let part = ["revert", &edit, "--path", "a.txt", "--added", "27", "--removed", "27"];
    workspace.edt(&part).landed();
    let text = workspace.text("a.txt");
    assert!(
        text.contains("line 25 of a text") && text.contains("user 9 of a text\nagent 9\n"),
        "{text}"
    );
    workspace.edt(&["undo"]).landed();
    same(&before, &workspace.files());
    // No commit has a number for that line.
    let part = ["revert", &edit, "--path", "a.txt"];
    let lines = [&part[..], &["--added", "10"]].concat();
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &lines);
    let summary = format!("Edit {edit} changed lines of a.txt on disk alone");
    assert!(refused.message().starts_with(&summary), "{}", refused.message());
    let lines = [&part[..], &["--added", "3"]].concat();
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &lines);
    assert!(refused.message().contains("does not change all of these"), "{}", refused.message());
    workspace.edt(&part).landed();
    assert_eq!(workspace.text("a.txt").replace("user 9", "line 9"), typed);
    workspace.edt(&["undo"]).landed();
    same(&before, &workspace.files());
    workspace.is_sound();
}
