//! Uncommitted changes of the user stay uncommitted, also where an edit overlaps with them; undo
//! restores exactly those bytes and changes nothing else.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::test_repo::{TestRepo, changed, same};

/// Two tracked files, `a.txt` and `b.txt`, and an ignored one.
fn workspace() -> TestRepo {
    let workspace =
        TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n"), (".gitignore", b"*.log\n")]);
    workspace.write("build.log", "ignored\n");
    workspace
}

/// Every blob that was ever at `path` in the history of HEAD.
fn history(workspace: &TestRepo, path: &str) -> Vec<String> {
    let commits = workspace.git(&["log", "--format=%H", "HEAD"]);
    let blob = |commit: &str| workspace.try_git(&["cat-file", "blob", &format!("{commit}:{path}")]);
    commits
        .lines()
        .map(blob)
        .filter(|done| done.status.success())
        .map(|done| String::from_utf8(done.stdout).unwrap())
        .collect()
}

#[test]
fn unstaged_changes_are_in_no_commit_and_restored() {
    let workspace = workspace();
    workspace.write("a.txt", "one\na user's line\n");
    let answer = workspace.overwrite("a.txt", "an agent's\n");
    assert_eq!(answer.json["edit"], json!(1));
    assert_eq!(answer.json["files"][0]["recorded"], json!("private"));
    // The line that the agent replaced is next to the user's.
    assert_eq!(history(&workspace, "a.txt"), ["one\n", "one\n"]);
    let kinds = ["log", "--format=%(trailers:key=Edt-Kind,valueonly,separator=)", "main..HEAD"];
    assert_eq!(workspace.git(&kinds), "edit\n");
    assert_eq!(workspace.text("a.txt"), "an agent's\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\na user's line\n");
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.is_sound();
}

#[test]
fn staged_changes_stay_staged_and_are_restored() {
    let workspace = workspace();
    workspace.write("a.txt", "staged\n");
    workspace.git(&["add", "a.txt"]);
    workspace.overwrite("a.txt", "an agent's\n");
    assert_eq!(workspace.status(), "MM a.txt\n");
    assert_eq!(workspace.git(&["show", ":a.txt"]), "staged\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "staged\n");
    assert_eq!(workspace.status(), "M  a.txt\n");
}

#[test]
fn staged_content_that_is_not_on_disk_stays_staged() {
    let workspace = workspace();
    workspace.write("a.txt", "only in the index\n");
    workspace.git(&["add", "a.txt"]);
    workspace.write("a.txt", "only on disk\n");
    workspace.overwrite("a.txt", "an agent's\n");
    assert_eq!(history(&workspace, "a.txt"), ["one\n", "one\n"]);
    assert_eq!(workspace.git(&["show", ":a.txt"]), "only in the index\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "only on disk\n");
    assert_eq!(workspace.git(&["show", ":a.txt"]), "only in the index\n");
    assert_eq!(workspace.status(), "MM a.txt\n");
}

#[test]
fn a_file_that_the_user_deleted_is_deleted_again_after_undo() {
    let workspace = workspace();
    std::fs::remove_file(workspace.root.join("a.txt")).unwrap();
    workspace.unchanged(&["FILE_NOT_FOUND"], 1, || {
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"])
    });
    let answer = workspace
        .edt(&["apply", "a.txt", "--mode", "create", "--content", "an agent's\n"])
        .landed();
    assert_eq!(answer.json["files"][0]["recorded"], json!("private"));
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.edt(&["undo"]).landed();
    assert!(!workspace.exists("a.txt"));
    assert_eq!(workspace.status(), " D a.txt\n");
}

#[test]
fn a_mode_bit_that_the_user_set_stays_uncommitted() {
    let workspace = workspace();
    let path = workspace.root.join("a.txt");
    let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    workspace.overwrite("a.txt", "an agent's\n");
    assert_eq!(mode(), 0o755);
    assert_eq!(workspace.git(&["ls-tree", "--format=%(objectmode)", "HEAD", "a.txt"]), "100644\n");
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!((workspace.text("a.txt").as_str(), mode()), ("one\n", 0o755));
    assert_eq!(workspace.status(), " M a.txt\n");
}

#[test]
fn an_untracked_file_stays_untracked_and_is_restored() {
    let workspace = workspace();
    workspace.write("notes.txt", "nobody recorded this\n");
    workspace.overwrite("notes.txt", "an agent's\n");
    assert_eq!(workspace.status(), "?? notes.txt\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("notes.txt"), "nobody recorded this\n");
}

#[test]
fn unrecorded_changes_in_other_paths_stay_as_they_are() {
    let workspace = TestRepo::with(&[
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        ("c.txt", b"c\n"),
        ("d.txt", b"d\n"),
    ]);
    workspace.write("b.txt", "staged\n");
    workspace.git(&["add", "b.txt"]);
    workspace.write("b.txt", "and more on disk\n");
    workspace.git(&["rm", "--quiet", "--cached", "c.txt"]);
    workspace.write("new.txt", "new\n");
    workspace.git(&["add", "--intent-to-add", "new.txt"]);
    std::fs::remove_file(workspace.root.join("d.txt")).unwrap();
    let others = |workspace: &TestRepo| {
        let stage = workspace.git(&["ls-files", "--stage", "--debug"]);
        let at = stage.find("100644 ").unwrap();
        // Everything after the entry of a.txt, which is first.
        let next = stage[at + 1..].find("100644 ").unwrap() + at + 1;
        (stage[next..].to_owned(), workspace.status())
    };
    let before = others(&workspace);
    workspace.overwrite("a.txt", "two\n");
    assert_eq!(others(&workspace), before);
    workspace.edt(&["undo"]).landed();
    assert_eq!(others(&workspace), before);
    workspace.is_sound();
}

#[test]
fn undo_and_redo_walk_the_edits_and_keep_what_was_undone() {
    let workspace = workspace();
    let states = ["one\n", "two\n", "three\n", "four\n"];
    states[1..].iter().for_each(|text| drop(workspace.overwrite("a.txt", text)));
    let tip = workspace.rev("HEAD");
    let has_text = |text: &str| {
        assert_eq!(workspace.text("a.txt"), text);
        workspace.is_clean();
    };
    workspace.edt(&["undo"]).landed();
    has_text("three\n");
    workspace.edt(&["redo"]).landed();
    has_text("four\n");
    assert_eq!(workspace.rev("HEAD"), tip);
    workspace.unchanged(&["NOTHING_TO_REDO"], 1, || workspace.edt(&["redo"]));

    let answer = workspace.edt(&["undo", "3"]).landed();
    has_text("one\n");
    assert_eq!(answer.commit(), workspace.rev("main"));
    assert_eq!(answer.json["edit"], json!(0));
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    let undone =
        workspace.git(&["for-each-ref", "--format=%(objectname)", "refs/edt/main-1/undone/"]);
    assert!(undone.lines().any(|oid| oid == tip), "{undone}");

    workspace.edt(&["redo"]).landed();
    has_text("four\n");
    workspace.edt(&["undo", "--to", "HEAD~2"]).landed();
    has_text("two\n");
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo", "5"]);

    workspace.overwrite("a.txt", "another way\n");
    workspace.refuses(&["NOTHING_TO_REDO"], 1, &["redo"]);
    let undone =
        workspace.git(&["for-each-ref", "--format=%(objectname)", "refs/edt/main-1/undone/"]);
    assert!(undone.lines().any(|oid| oid == tip), "the way not taken is still there: {undone}");
    workspace.is_sound();
}

#[test]
fn two_redos_reverse_two_undos() {
    let workspace = workspace();
    ["two\n", "three\n", "four\n"].iter().for_each(|text| drop(workspace.overwrite("a.txt", text)));
    for text in ["three\n", "two\n"] {
        workspace.edt(&["undo"]).landed();
        assert_eq!(workspace.text("a.txt"), text);
    }
    for text in ["three\n", "four\n"] {
        workspace.edt(&["redo"]).landed();
        assert_eq!(workspace.text("a.txt"), text);
    }
}

#[test]
fn undo_touches_no_other_file() {
    let workspace = workspace();
    workspace.overwrite("a.txt", "two\n");
    workspace.write("untracked.txt", "results\n");
    workspace.write("deep/untracked.txt", "results\n");
    workspace.write(".gitignore", "*.log\n*.tmp\n");
    workspace.write("b.txt", "a user is at work here\n");
    workspace.write("x.tmp", "ignored too\n");
    let before = workspace.files();
    workspace.edt(&["undo"]).landed();
    let now = changed(&before, &workspace.files());
    assert_eq!(now, ["a.txt: \"644 two\\n\" -> \"644 one\\n\""]);
}

#[test]
fn undo_saves_the_users_changes_of_the_same_lines_on_request() {
    let workspace = workspace();
    workspace.overwrite("a.txt", "two\n");
    workspace.write("a.txt", "two\nand a user's line\n");
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo"]);
    let answer = workspace.edt(&["undo", "--save"]);
    assert_eq!(answer.json["warnings"][0]["code"], json!("user_version_saved"));
    assert_eq!(workspace.text("a.txt"), "one\n");
    workspace.is_clean();
    let kept = workspace.git(&["show", "refs/edt/main-1/saved/1:a.txt"]);
    assert_eq!(kept, "two\nand a user's line\n");
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\n");
    workspace.is_clean();
}

#[test]
fn undo_does_not_undo_a_users_commit() {
    let workspace = workspace();
    workspace.overwrite("a.txt", "two\n");
    workspace.commit(&[("b.txt", b"a user's\n")]);
    let answer = workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    assert!(answer.hint().contains("git reset --keep"), "{}", answer.hint());
}

#[test]
fn restore_sets_one_file_to_what_it_was_before_one_of_its_edits() {
    let workspace = workspace();
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("b.txt", "b two\n");
    workspace.overwrite("a.txt", "three\n");
    workspace.edt(&["restore", "a.txt"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "three\n");
    workspace.edt(&["restore", "a.txt", "--revision", "1"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.text("b.txt").as_str()),
        ("one\n", "b two\n")
    );
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%(trailers:key=Edt-Kind,valueonly,separator=)"]),
        "restore\n"
    );
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["restore", "a.txt", "--revision", "9"]);
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["restore", ".gitignore", "--revision", "0"]);
    assert_eq!(workspace.edt(&["restore", ".gitignore"]).json["status"], json!("unchanged"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn restore_brings_back_a_deleted_file_and_takes_away_a_created_one() {
    let workspace = workspace();
    workspace.edt(&["apply", "a.txt", "--mode", "delete"]).landed();
    workspace.edt(&["restore", "a.txt"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\n");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]).landed();
    workspace.edt(&["restore", "new.txt"]).landed();
    assert!(!workspace.exists("new.txt"));
    workspace.is_clean();
}

#[test]
fn a_rename_is_undone_as_one_edit_with_its_mode_bit() {
    let workspace = TestRepo::with(&[("run.sh", b"#!/bin/sh\n")]);
    std::fs::set_permissions(workspace.root.join("run.sh"), PermissionsExt::from_mode(0o755))
        .unwrap();
    workspace.commit(&[]);
    let before = workspace.files();
    let request = json!({"edits": [
        {"path": "run.sh", "mode": "rename", "to": "bin/go.sh"},
        {"path": "bin/go.sh", "mode": "append", "content": "exit 0\n"},
    ]});
    workspace.apply(&request).landed();
    assert_eq!(workspace.text("bin/go.sh"), "#!/bin/sh\nexit 0\n");
    assert_eq!(
        workspace.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]),
        "100755 bin/go.sh\n"
    );
    assert_eq!(workspace.git(&["rev-list", "--count", "main..HEAD"]), "1\n");
    workspace.is_clean();
    workspace.edt(&["undo"]).landed();
    let mut after = workspace.files();
    after.remove("bin");
    same(&before, &after);
    workspace.is_clean();
}

#[test]
fn undo_works_without_switching() {
    let workspace = workspace();
    workspace.edt(&["begin", "apart", "--no-switch"]);
    let head = workspace.rev("HEAD");
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("a.txt", "three\n");
    assert_eq!((workspace.rev("HEAD"), workspace.status().as_str()), (head.clone(), " M a.txt\n"));
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!((workspace.rev("HEAD"), workspace.status().as_str()), (head, ""));
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\n");
}

#[test]
fn what_redo_overwrites_on_request_stays_reachable() {
    let workspace = workspace();
    workspace.overwrite("a.txt", "two\n");
    workspace.edt(&["undo"]).landed();
    workspace.write("a.txt", "a user's\n");
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["redo"]);
    let answer = workspace.edt(&["redo", "--save"]);
    assert_eq!(answer.json["warnings"][0]["code"], json!("user_version_saved"));
    assert_eq!(workspace.blob("refs/edt/main-1/saved/1:a.txt"), b"a user's\n");
    assert_eq!(workspace.text("a.txt"), "two\n");
}
