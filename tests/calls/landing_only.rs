//! `edt land --only`: chosen edits land as one commit, and the others stay in the session.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::test_repo::{TestRepo, lines, same};

/// A session with four edits of a text of 40 lines, in the lines 5, 15, 25 and 35. Edit 3 also adds
/// `b.txt`.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", lines(40).as_bytes()), (".gitignore", b".env\n")]);
    workspace.edt(&["begin", "s"]).landed();
    for (edit, line) in [(1, 5), (2, 15), (3, 25), (4, 35)] {
        let change = json!({"path": "a.txt", "mode": "edit",
            "old_text": format!("line {line} of a text"), "content": format!("edit {edit}")});
        let new = json!({"path": "b.txt", "mode": "create", "content": "b\n"});
        let edits = if edit == 3 { json!([change, new]) } else { json!([change]) };
        let request = json!({"edits": edits, "message": format!("the edit {edit}"),
            "agent": format!("agent-{edit}")});
        workspace.apply(&request).landed();
    }
    workspace
}

/// The text with these edits.
fn text(edits: &[u64]) -> String {
    let line = |edit: &u64| format!("line {} of a text", edit * 10 - 5);
    edits.iter().fold(lines(40), |text, edit| text.replace(&line(edit), &format!("edit {edit}")))
}

/// Number, subject, agent and author's time of each commit of the session, the newest first.
fn log(workspace: &TestRepo) -> Vec<String> {
    let format = "%(trailers:key=Edt-Edit,valueonly,separator=)|%s|%(trailers:key=Edt-Agent,\
                  valueonly,separator=)|%an|%at";
    let log = workspace.git(&["log", &format!("--format={format}"), "refs/edt/s/base..edt/s"]);
    log.lines().filter(|line| line.contains("the edit")).map(str::to_owned).collect()
}

/// The numbers of the edits that `edt log` prints, the newest first.
fn numbers(workspace: &TestRepo) -> Vec<Value> {
    let log = workspace.edt(&["log"]).json;
    log["commits"].as_array().unwrap().iter().map(|one| one["edit"].clone()).collect()
}

#[test]
fn chosen_edits_land_as_one_commit_and_the_others_stay() {
    let workspace = workspace();
    workspace.write("a.txt", workspace.text("a.txt") + "user 1\n");
    let (base, tip) = (workspace.rev("main"), workspace.rev("edt/s"));
    let (files, head) = (workspace.files(), workspace.git(&["symbolic-ref", "HEAD"]));
    let mut before = log(&workspace);
    let answer = workspace.edt(&["land", "--only", "1,3", "-m", "Two of four"]).landed();
    assert_eq!(answer.json["edit"], json!(2), "{:#}", answer.json);
    assert_eq!(workspace.rev("main^"), base);
    assert_eq!(workspace.rev("main"), answer.commit());
    assert_eq!(workspace.blob("main:a.txt"), text(&[1, 3]).as_bytes());
    assert_eq!(workspace.blob("main:b.txt"), b"b\n");
    assert!(workspace.git(&["log", "-1", "--format=%B", "main"]).starts_with("Two of four\n"));
    // The branch has the same tree, the files and HEAD are as before.
    same(&files, &workspace.files());
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), head);
    assert_eq!(workspace.rev("edt/s^{tree}"), workspace.rev(&format!("{tip}^{{tree}}")));
    assert_eq!(workspace.git(&["diff", "--numstat"]), "1\t0\ta.txt\n");
    assert_eq!(workspace.git(&["diff", "--cached", "--numstat"]), "");
    // Each edit has its number, agent, author and time.
    let mut after = log(&workspace);
    assert_eq!(after.iter().map(|line| &line[..1]).collect::<Vec<_>>(), ["4", "2", "3", "1"]);
    before.sort();
    after.sort();
    assert_eq!(before, after);
    assert_eq!(numbers(&workspace), [json!(4), json!(2), json!(3), json!(1)]);
    assert_eq!(workspace.rev("refs/edt/s/landed/1"), workspace.rev("edt/s~2"));
    let shown = workspace.edt(&["show", "3"]).json.to_string();
    assert!(shown.contains("+edit 3") && !shown.contains("edit 2"), "{shown}");
    let status = workspace.edt(&["status"]).json;
    assert_eq!(status["edits"], json!(2), "{status:#}");
    workspace.is_sound();
    // The rest goes on: an edit, an undo, a revert, and the landing.
    workspace.edt(&["apply", "c.txt", "--mode", "create", "--content", "c\n"]).landed();
    assert_eq!(numbers(&workspace)[0], json!(5));
    workspace.edt(&["undo", "-n", "2"]).landed();
    assert_eq!(workspace.text("a.txt"), text(&[1, 2, 3]) + "user 1\n");
    workspace.edt(&["redo"]).landed();
    workspace.edt(&["revert", "2"]).landed();
    assert_eq!(workspace.text("a.txt"), text(&[1, 3, 4]) + "user 1\n");
    workspace.edt(&["undo"]).landed();
    let answer = workspace.edt(&["land"]).landed();
    assert_eq!(answer.json["edit"], json!(3), "{:#}", answer.json);
    assert_eq!(workspace.blob("main:a.txt"), text(&[1, 2, 3, 4]).as_bytes());
    assert_eq!(workspace.git(&["rev-list", "--count", &format!("{base}..main")]), "2\n");
    workspace.is_sound();
}

#[test]
fn a_landing_of_chosen_edits_is_undone_and_lands_again() {
    let workspace = workspace();
    let (base, files) = (workspace.rev("main"), workspace.files());
    workspace.edt(&["land", "--only", "2"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), text(&[2]).as_bytes());
    workspace.edt(&["land", "--undo"]).landed();
    assert_eq!(workspace.rev("main"), base);
    same(&files, &workspace.files());
    assert_eq!(workspace.edt(&["status"]).json["edits"], json!(4));
    let mut all: Vec<String> = numbers(&workspace).iter().map(Value::to_string).collect();
    all.sort();
    assert_eq!(all, ["1", "2", "3", "4"]);
    workspace.edt(&["land", "--only", "4,1"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), text(&[1, 4]).as_bytes());
    workspace.edt(&["land", "--only", "3"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), text(&[1, 3, 4]).as_bytes());
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &["land", "--only", "2,3"]);
    assert!(refused.message().contains("edit 3"), "{}", refused.message());
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land", "--only", "3"]);
    workspace.edt(&["land", "--only", "2"]).landed();
    // Everything has landed: the session has ended.
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!(workspace.blob("main:a.txt"), text(&[1, 2, 3, 4]).as_bytes());
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn the_first_edits_and_all_edits_land_without_another_order() {
    let workspace = workspace();
    let tip = workspace.rev("edt/s");
    workspace.edt(&["land", "--only", "1,2"]).landed();
    assert_eq!(workspace.rev("edt/s"), tip);
    assert_eq!(workspace.rev("refs/edt/s/landed/1"), workspace.rev("edt/s~2"));
    workspace.edt(&["land", "--only", "3,4"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn an_edit_that_needs_another_is_refused_with_its_number() {
    let workspace = workspace();
    for (old, new) in [("edit 2", "edit 5"), ("edit 4", "edit 6")] {
        let change = json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": new});
        workspace.apply(&change).landed();
    }
    let before = workspace.snapshot();
    let refused = workspace.refuses(&["EDITS_OVERLAP"], 3, &["land", "--only", "1,5"]);
    assert!(
        refused.message().starts_with(
            "Without edit 2, edits 1, 5 cannot land: they change the same lines of a.txt."
        ),
        "{}",
        refused.message()
    );
    assert!(refused.hint().contains("`edt land --only 1,2,5`"), "{}", refused.hint());
    assert_eq!(refused.errors()[0]["evidence"]["edits"], json!([2]));
    let after = workspace.snapshot();
    let refs = |all: &crate::test_repo::Snapshot| {
        all.iter()
            .filter(|(name, _)| !name.contains("objects/"))
            .map(|one| format!("{one:?}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(refs(&before), refs(&after));
    workspace.edt(&["land", "--only", "1,2,5"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), text(&[1, 2]).replace("edit 2", "edit 5").as_bytes());
    workspace.is_sound();
}

#[test]
fn commits_of_the_user_do_not_move() {
    let workspace = workspace();
    workspace.write("mine.txt", "mine\n");
    workspace.git(&["add", "mine.txt"]);
    workspace.git(&["commit", "-qm", "by hand"]);
    let refused = workspace.refuses(&["BAD_REQUEST"], 2, &["land", "--only", "3"]);
    assert!(
        refused.message().contains("(by hand) of the session is the user's"),
        "{}",
        refused.message()
    );
    assert!(refused.hint().contains("`edt land --to 3`"), "{}", refused.hint());
    // Below the edits that move it does not matter.
    workspace.edt(&["land", "--only", "1,2,3"]).landed();
    workspace.is_sound();
}

#[test]
fn edits_of_an_ignored_file_stay_in_their_order() {
    let workspace = workspace();
    for text in ["one\n", "one\ntwo\n"] {
        let env = json!({"path": ".env", "mode": if text.len() > 4 { "overwrite" } else { "create" }, "content": text});
        workspace.apply(&json!({"edits": [env], "message": "private"})).landed();
    }
    let refused = workspace.refuses(&["EDITS_OVERLAP"], 3, &["land", "--only", "1,6"]);
    assert_eq!(refused.errors()[0]["evidence"], json!({"edits": [5], "paths": [".env"]}));
    workspace.edt(&["land", "--only", "1,4"]).landed();
    workspace.edt(&["undo", "-n", "2"]).landed();
    assert!(!workspace.exists(".env"));
    assert_eq!(workspace.text("a.txt"), text(&[1, 2, 3, 4]));
    workspace.is_sound();
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    let workspace = workspace();
    for args in [
        &["land", "--only", "1", "--to", "2"][..],
        &["land", "--only", "x"],
        &["land", "--only", "9"],
        &["land", "--undo", "--only", "1"],
    ] {
        let refused = workspace.edt(args);
        assert_eq!((refused.exit, refused.codes()), (2, vec!["BAD_REQUEST"]), "{args:?}");
    }
}

#[test]
fn hooks_and_a_branch_that_moved() {
    let workspace = workspace();
    let hook = workspace.git_dir("--git-common-dir").join("hooks/commit-msg");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho 'Hook: ran' >> \"$1\"\n").unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    // The branch moves meanwhile, in another worktree.
    let other = workspace.root.with_file_name("other");
    workspace.git(&["worktree", "add", "-q", other.to_str().unwrap(), "main"]);
    let beside = workspace.at(&other);
    beside.write("a.txt", lines(40).replace("line 10 of", "line 10, main, of"));
    beside.git(&["commit", "-qam", "main moved"]);
    workspace.edt(&["land", "--only", "4,2"]).landed();
    let expected = text(&[2, 4]).replace("line 10 of", "line 10, main, of");
    assert_eq!(beside.text("a.txt"), expected);
    assert_eq!(beside.status(), "");
    assert!(beside.git(&["log", "-1", "--format=%B"]).contains("Hook: ran"));
    assert_eq!(workspace.text("a.txt"), text(&[1, 2, 3, 4]));
    workspace.is_clean();
    workspace.is_sound();
}
