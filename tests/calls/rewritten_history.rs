//! History that the user rewrites with Git: a commit is an edit if its change is an edit's, whatever
//! its message says and whichever commit it is.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{Answer, TestRepo, lines};

/// A session with the edits 1, 2 and 3 of different lines of `a.txt`.
fn three_edits() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", lines(30).as_bytes()), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "fix"]).landed();
    for (number, line) in [(1, 5), (2, 15), (3, 25)] {
        edit(&workspace, line, &format!("edit {number}"));
    }
    workspace
}

/// An agent's edit of line `number` of `a.txt`.
fn edit(workspace: &TestRepo, number: usize, new: &str) -> Answer {
    let old = format!("line {number} of a text");
    let args = ["apply", "a.txt", "--mode", "edit", "--old-text", &old, "--content", new];
    workspace.edt(&[&args[..], &["--agent", "bot", "-m", new]].concat()).landed()
}

/// The user types `new` in place of line `number` of `a.txt`.
fn types(workspace: &TestRepo, number: usize, new: &str) {
    let text = workspace.text("a.txt");
    workspace.write("a.txt", text.replace(&format!("line {number} of a text\n"), new));
}

/// Rebases interactively with the list of `todo`, which says what the first, second and further
/// commits become.
fn rebase(workspace: &TestRepo, todo: &[&str], args: &[&str]) {
    let script: Vec<String> = todo
        .iter()
        .enumerate()
        .map(|(at, word)| format!("-e '{}s/^pick/{word}/'", at + 1))
        .collect();
    let mut git = workspace.command("git");
    git.args(["rebase", "--quiet", "-i"]).args(args);
    // Not in the second in which edt made the commits: a fixup without a change would be the same one.
    git.env("GIT_COMMITTER_DATE", "4000000000 +0000");
    let editor =
        if todo.is_empty() { "true".into() } else { format!("sed -i {}", script.join(" ")) };
    git.env("GIT_SEQUENCE_EDITOR", editor);
    git.env("GIT_EDITOR", "sed -i '1s/.*/what the user calls it/'");
    let done = git.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The commits of `edt log`, newest first: the numbers of the edits, and whose the rest is.
fn log(workspace: &TestRepo) -> Vec<(Vec<u64>, &'static str)> {
    let log = workspace.edt(&["log"]).json;
    let one = |line: &Value| {
        let edits = line["edits"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap());
        let whose = match (&line["by_user"], &line["amended"]) {
            (Value::Bool(true), _) => "user",
            (_, Value::Bool(true)) => "amended",
            _ => "edt",
        };
        (edits.collect(), whose)
    };
    log["commits"].as_array().unwrap().iter().map(one).collect()
}

/// Lands as an agent; the codes of a refusal.
fn land(workspace: &TestRepo) -> Vec<String> {
    let answer = workspace.edt(&["land"]);
    let errors = answer.json["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| error["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_reworded_edit_stays_an_edit() {
    let workspace = three_edits();
    rebase(&workspace, &["reword", "pick", "pick"], &["main"]);
    let messages = workspace.git(&["log", "--format=%B", "main..HEAD"]);
    assert!(messages.contains("what the user calls it"), "{messages}");
    assert_eq!(log(&workspace), [(vec![3], "edt"), (vec![2], "edt"), (vec![1], "edt")]);
    workspace.git(&["commit", "--amend", "--quiet", "-m", "no trailers at all"]);
    assert_eq!(log(&workspace)[0], (vec![3], "edt"));
    workspace.edt(&["undo", "2"]).landed();
    assert!(!workspace.text("a.txt").contains("edit 2"));
    workspace.edt(&["redo"]).landed();
    assert_eq!(log(&workspace).len(), 3);
    assert_eq!(land(&workspace), Vec::<String>::new());
    workspace.is_sound();
}

#[test]
fn squashed_edits_are_known() {
    let workspace = three_edits();
    rebase(&workspace, &["pick", "squash", "squash"], &["main"]);
    assert_eq!(log(&workspace), [(vec![1, 2, 3], "edt")]);
    assert_eq!(workspace.edt(&["status"]).json["edits"], json!(3));
    workspace.edt(&["revert", "2"]).landed();
    let text = workspace.text("a.txt");
    assert!(text.contains("edit 1") && text.contains("line 15 of") && text.contains("edit 3"));
    assert_eq!(log(&workspace), [(vec![4], "edt"), (vec![1, 2, 3], "edt")]);
    assert_eq!(land(&workspace), Vec::<String>::new());
    let message = workspace.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.starts_with("land edt/fix: 4 edits"), "{message}");
    workspace.is_sound();
}

/// Regression: `git reset --soft` leaves no message of an edit.
#[test]
fn edits_in_a_commit_without_their_messages_are_known() {
    let workspace = three_edits();
    workspace.git(&["reset", "--soft", "main"]);
    workspace.git(&["commit", "--quiet", "-m", "all of it"]);
    assert_eq!(log(&workspace), [(vec![1, 2, 3], "edt")]);
    let undo = workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    assert!(undo.json["errors"][0]["hint"].as_str().unwrap().contains("`edt revert 3`"));
    workspace.edt(&["undo", "3"]).landed();
    assert_eq!(workspace.text("a.txt"), lines(30));
    workspace.is_sound();
}

#[test]
fn what_the_user_adds_to_a_squash_is_the_users() {
    let workspace = three_edits();
    workspace.git(&["reset", "--soft", "main"]);
    types(&workspace, 10, "by hand\n");
    workspace.git(&["commit", "--quiet", "--all", "-m", "all of it"]);
    assert_eq!(log(&workspace), [(vec![1, 2, 3], "amended")]);
    assert_eq!(land(&workspace), ["APPROVAL_REQUIRED"]);
    workspace.edt(&["undo", "3"]).landed();
    let only_by_hand = lines(30).replace("line 10 of a text", "by hand");
    assert_eq!(workspace.text("a.txt"), only_by_hand);
    workspace.is_sound();
}

#[test]
fn a_fixup_is_the_users_part_of_an_edit() {
    let workspace = three_edits();
    types(&workspace, 20, "by hand\n");
    workspace.git(&["commit", "--quiet", "--all", "-m", "more"]);
    rebase(&workspace, &["pick", "pick", "pick", "fixup"], &["main"]);
    let all = [(vec![3], "amended"), (vec![2], "edt"), (vec![1], "edt")];
    assert_eq!(log(&workspace), all);
    assert_eq!(land(&workspace), ["APPROVAL_REQUIRED"]);
    workspace.edt(&["undo"]).landed();
    let text = workspace.text("a.txt");
    assert!(text.contains("by hand\n") && text.contains("line 25 of"), "{text}");
    workspace.is_sound();
}

#[test]
fn an_autosquash_is_the_users_part_of_an_edit() {
    let workspace = three_edits();
    types(&workspace, 10, "by hand\n");
    let first = workspace.rev("HEAD~2");
    workspace.git(&["commit", "--quiet", "--all", "--fixup", &first]);
    rebase(&workspace, &[], &["--autosquash", "main"]);
    let all = [(vec![3], "edt"), (vec![2], "edt"), (vec![1], "amended")];
    assert_eq!(log(&workspace), all);
    let number = edit(&workspace, 1, "one more").json["edit"].clone();
    assert_eq!(number, json!(4));
    workspace.edt(&["revert", "1"]).landed();
    let text = workspace.text("a.txt");
    assert!(text.contains("by hand\n") && text.contains("line 5 of"), "{text}");
    workspace.is_sound();
}

#[test]
fn what_the_user_amends_to_an_edit_is_the_users() {
    let workspace = three_edits();
    types(&workspace, 30, "by hand\n");
    workspace.git(&["commit", "--quiet", "--all", "--amend", "-m", "no trailers"]);
    assert_eq!(log(&workspace)[0], (vec![3], "amended"));
    assert_eq!(land(&workspace), ["APPROVAL_REQUIRED"]);
    workspace.edt(&["undo"]).landed();
    let text = workspace.text("a.txt");
    assert!(text.contains("by hand\n") && text.contains("line 25 of"), "{text}");
    workspace.is_sound();
}

/// Else a cherry-pick carries what nobody checks past the user's approval.
#[test]
fn a_cherry_pick_of_an_undone_edit_is_the_users() {
    let workspace = three_edits();
    let undone = workspace.rev("HEAD");
    workspace.edt(&["undo"]).landed();
    let number = edit(&workspace, 1, "one more").json["edit"].clone();
    assert_eq!(number, json!(4), "no later edit gets the number of an undone one");
    workspace.git(&["cherry-pick", &undone]);
    let all = [(vec![], "user"), (vec![4], "edt"), (vec![2], "edt"), (vec![1], "edt")];
    assert_eq!(log(&workspace), all);
    assert_eq!(land(&workspace), ["APPROVAL_REQUIRED"]);
    workspace.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    workspace.git(&["merge", "--quiet", "--ff-only", &undone]);
    assert_eq!(log(&workspace)[0], (vec![], "user"), "the very commit is not an edit any more");
    assert_eq!(land(&workspace), ["APPROVAL_REQUIRED"]);
    workspace.is_sound();
}

#[test]
fn a_rebase_on_the_target_counts_no_commit_of_the_target() {
    let workspace = three_edits();
    on_main(&workspace, "c.txt", "c\n");
    workspace.git(&["rebase", "--quiet", "main"]);
    assert_eq!(log(&workspace), [(vec![3], "edt"), (vec![2], "edt"), (vec![1], "edt")]);
    only_a_txt_differs(&workspace);
    assert_eq!(edit(&workspace, 1, "one more").json["edit"], json!(4));
    workspace.edt(&["undo", "2"]).landed();
    assert!(!workspace.text("a.txt").contains("edit 3"));
    assert_eq!(land(&workspace), Vec::<String>::new());
    assert_eq!(workspace.git(&["log", "--format=%s", "main"]).lines().count(), 3);
    workspace.is_sound();
}

#[test]
fn a_merge_of_the_target_counts_no_commit_of_the_target() {
    let workspace = three_edits();
    on_main(&workspace, "c.txt", "c\n");
    workspace.git(&["merge", "--quiet", "--no-edit", "main"]);
    let all = [(vec![], "user"), (vec![3], "edt"), (vec![2], "edt"), (vec![1], "edt")];
    assert_eq!(log(&workspace), all);
    only_a_txt_differs(&workspace);
    assert_eq!(land(&workspace), Vec::<String>::new(), "Git made the merge without help");
    workspace.is_sound();
}

#[test]
fn a_merge_of_the_target_with_other_changes_needs_approval() {
    let workspace = three_edits();
    on_main(&workspace, "c.txt", "c\n");
    workspace.git(&["merge", "--quiet", "--no-edit", "--no-commit", "main"]);
    workspace.write("b.txt", "slipped in\n");
    workspace.git(&["commit", "--quiet", "--all", "--no-edit"]);
    assert_eq!(land(&workspace), ["APPROVAL_REQUIRED"]);
}

#[test]
fn what_came_by_a_merge_of_another_branch_needs_approval_once() {
    let workspace = three_edits();
    workspace.git(&["branch", "other", "main"]);
    for text in ["1\n", "2\n"] {
        workspace.git(&["stash", "--quiet", "--include-untracked"]);
        on_branch(&workspace, "other", "b.txt", text);
    }
    workspace.git(&["merge", "--quiet", "--no-edit", "other"]);
    let answer = workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
    let commits = &answer.json["errors"][0]["evidence"]["commits"];
    assert_eq!(*commits, json!([workspace.rev("HEAD")]));
}

#[test]
fn a_target_that_was_reset_publishes_nothing_that_it_dropped() {
    let workspace = TestRepo::with(&[("a.txt", lines(30).as_bytes()), ("b.txt", b"b\n")]);
    workspace.commit(&[("b.txt", b"dropped\n")]);
    workspace.git(&["reset", "--quiet", "--hard"]);
    workspace.edt(&["begin", "fix"]).landed();
    edit(&workspace, 5, "edit 1");
    workspace.git(&["branch", "--force", "main", "main~1"]);
    assert_eq!(log(&workspace), [(vec![1], "edt")]);
    only_a_txt_differs(&workspace);
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.git(&["show", "main:b.txt"]), "b\n");
    assert!(workspace.git(&["show", "main:a.txt"]).contains("edit 1"));
}

#[test]
fn a_commit_that_an_agent_makes_with_git_needs_approval() {
    let workspace = three_edits();
    types(&workspace, 10, "past every guard\n");
    let message = workspace.git(&["log", "-1", "--format=%B"]);
    workspace.git(&["commit", "--quiet", "--all", "-m", &message]);
    assert_eq!(log(&workspace)[0], (vec![], "user"), "trailers alone make no edit");
    let answer = workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
    assert_eq!(answer.json["errors"][0]["evidence"]["commits"], json!([workspace.rev("HEAD")]));
    let (status, screen) = workspace.at_terminal("land", "");
    assert_eq!(status, Some(0), "{screen}");
    assert!(workspace.git(&["show", "main:a.txt"]).contains("past every guard"));
}

/// What an edit contained can be taken back as long as the session exists.
#[test]
fn the_record_keeps_what_edits_contained() {
    let workspace = three_edits();
    rebase(&workspace, &["pick", "squash", "squash"], &["main"]);
    workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
    workspace.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(log(&workspace), [(vec![1, 2, 3], "edt")]);
    let shown = workspace.edt(&["diff", "2"]).json;
    assert_eq!(shown["lines_added"], json!(1), "{shown:#}");
    workspace.edt(&["revert", "1"]).landed();
    workspace.git(&["fsck", "--strict"]);
    workspace.edt(&["abandon"]).landed();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace.edt(&["gc", "--older-than", "0"]);
    assert_eq!(workspace.git(&["for-each-ref", "refs/edt/fix"]), "");
}

/// The user commits `text` of `path` on `main`.
fn on_main(workspace: &TestRepo, path: &str, text: &str) {
    on_branch(workspace, "main", path, text);
}

fn on_branch(workspace: &TestRepo, branch: &str, path: &str, text: &str) {
    let session = workspace.git(&["branch", "--show-current"]);
    workspace.git(&["switch", "--quiet", branch]);
    workspace.write(path, text);
    workspace.git(&["add", path]);
    workspace.git(&["commit", "--quiet", "-m", "upstream"]);
    workspace.git(&["switch", "--quiet", session.trim()]);
}

/// The session changed `a.txt`, say all views.
#[track_caller]
fn only_a_txt_differs(workspace: &TestRepo) {
    let diff = workspace.edt(&["diff"]).json;
    let paths: Vec<&Value> =
        diff["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, [&json!("a.txt")]);
    let status = workspace.edt(&["status"]).json;
    assert_eq!(status["changed"], json!(["a.txt"]), "{status:#}");
    let stats = workspace.edt(&["stats"]).json;
    assert_eq!(stats["sessions"][0]["net"]["files"], json!(1), "{stats:#}");
}

#[test]
fn an_edit_whose_lines_an_amend_moved_needs_approval() {
    let code = "int f(u) {\n  setup(u);\n  if (!admin(u))\n    return DENIED;\n  go(u);\n}\n";
    let workspace = TestRepo::with(&[("f.c", code.as_bytes())]);
    let comment = format!("/*\n * about f\n */\n{code}");
    workspace.overwrite("f.c", &comment);
    let moved = code
        .replace("  if (!admin", "/*\n  if (!admin")
        .replace("DENIED;\n", "DENIED;\n * about f\n */\n");
    workspace.write("f.c", moved);
    workspace.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
}

#[test]
fn a_new_file_that_an_amend_made_executable_needs_approval() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.edt(&["apply", "x.sh", "--mode", "create", "--content", "true\n"]).landed();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(workspace.root.join("x.sh"), mode).unwrap();
    workspace.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
}

#[test]
fn without_the_record_no_message_makes_a_commit_an_edit() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.overwrite("a.txt", "b\n");
    workspace.write("evil", "evil\n");
    workspace.git(&["add", "evil"]);
    let message = "evil\n\nEdt-Session: main-1\nEdt-Kind: edit\nEdt-Edit: 2\n";
    workspace.git(&["commit", "--quiet", "--message", message]);
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
    workspace.git(&["update-ref", "-d", "refs/edt/main-1/record"]);
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
}

/// Edit 1 of line 5, and edit 2 of the user's uncommitted line 20, which the branch does not have.
fn with_an_empty_edit() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", lines(30).as_bytes())]);
    workspace.edt(&["begin", "fix"]).landed();
    edit(&workspace, 5, "edit 1");
    types(&workspace, 20, "typed by the user\n");
    let args = ["apply", "a.txt", "--mode", "edit", "--old-text", "typed by the user"];
    workspace.edt(&[&args[..], &["--content", "edit 2", "--agent", "bot"]].concat()).landed();
    edit(&workspace, 10, "edit 3");
    workspace
}

#[test]
fn an_edit_that_is_left_over_stays_known_after_a_squash() {
    for word in ["fixup", "squash"] {
        let workspace = with_an_empty_edit();
        workspace.git(&["stash", "--quiet"]);
        rebase(&workspace, &["pick", word, "pick"], &["main"]);
        workspace.git(&["stash", "pop", "--quiet"]);
        assert_eq!(log(&workspace), [(vec![3], "edt"), (vec![1, 2], "edt")], "{word}");
        let left_over = json!([{"path": "a.txt", "edits": [2], "lines": ["20"]}]);
        assert_eq!(workspace.edt(&["status"]).json["left_over"], left_over, "{word}");
        assert_eq!(land(&workspace), ["LEAVES_OUT"], "{word}");
        workspace.edt(&["revert", "2"]).landed();
        assert!(workspace.text("a.txt").contains("typed by the user"), "{word}");
        workspace.is_sound();
    }
}
