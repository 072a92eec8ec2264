//! From one session to another: `edt switch`, `edt begin` in a session, renamed branches, landings
//! that are undone, and sessions that plain Git landed.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::test_repo::{Answer, EDT, TestRepo};

const TEXT: &[u8] = b"one\ntwo\nthree\nfour\nfive\n";

fn workspace() -> TestRepo {
    TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")])
}

fn edit(workspace: &TestRepo, path: &str, old: &str, new: &str) {
    workspace.edt(&["apply", path, "--mode", "edit", "--old-text", old, "--content", new]).landed();
}

fn head(workspace: &TestRepo) -> String {
    workspace.git(&["symbolic-ref", "HEAD"]).trim().to_owned()
}

fn session(workspace: &TestRepo, name: &str) -> Value {
    let status = workspace.edt(&["status", "--ended"]).json;
    let all = status["sessions"].as_array().unwrap();
    all.iter().find(|one| one["name"] == json!(name)).unwrap().clone()
}

/// Git had read HEAD at the commit `seen`, and moves the branch there after later edits. `--soft`
/// stands for a reset that wrote files and index before the edits.
fn late_reset(workspace: &TestRepo, how: &str, spec: &str, seen: &str) {
    let to = workspace.rev(&spec.replace("HEAD", seen));
    let message = format!("reset: moving to {spec}");
    workspace.git(&["update-ref", "--create-reflog", "-m", &message, "HEAD", &to]);
    if how != "--soft" {
        workspace.git(&["reset", "--quiet", how]);
    }
}

/// `git stash` and `git reset` read HEAD first, and move the branch last.
#[test]
fn an_edit_that_a_reset_did_not_know_is_named_with_the_command_that_brings_it_back() {
    for (how, command) in [("--hard", "merge --ff-only"), ("--mixed", "reset"), ("--soft", "reset")]
    {
        let workspace = workspace();
        workspace.edt(&["begin", "s"]).landed();
        edit(&workspace, "a.txt", "one", "ONE");
        let seen = workspace.rev("HEAD");
        edit(&workspace, "a.txt", "two", "TWO");
        workspace.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
        let (tip, files) = (workspace.rev("HEAD"), workspace.files());
        late_reset(&workspace, how, "HEAD", &seen);
        let warning = workspace.edt(&["status"]).json["warnings"][0].clone();
        assert_eq!(warning["code"], "edits_reset", "{how} {warning}");
        let message = warning["message"].as_str().unwrap();
        assert!(message.contains("met 2 edits"), "{message}");
        assert!(message.contains("the edits 2 to 3 of edt/s left the branch"), "{message}");
        let offered = format!("git {command} {tip}");
        assert!(message.contains(&format!("`{offered}`")), "{how}: {message}");
        let words: Vec<&str> = offered.split(' ').skip(1).collect();
        workspace.git(&words);
        assert_eq!((workspace.rev("HEAD"), workspace.files()), (tip, files), "{how}");
        assert_eq!(workspace.status(), "", "{how}");
        assert_eq!(workspace.edt(&["status"]).json["warnings"], json!([]), "{how}");
        edit(&workspace, "a.txt", "three", "THREE");
    }
}

#[test]
fn the_next_edit_names_the_one_that_a_reset_did_not_know_and_goes_on_without_it() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    edit(&workspace, "a.txt", "two", "TWO");
    let seen = workspace.rev("HEAD");
    edit(&workspace, "b.txt", "b", "B");
    let tip = workspace.rev("HEAD");
    late_reset(&workspace, "--hard", "HEAD~1", &seen);
    let append = ["apply", "a.txt", "--mode", "append", "--content", "more\n"];
    let answer = workspace.edt(&append);
    let message = answer.json["warnings"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("edit 3 (edit b.txt (+1 -1)) of edt/s left the branch"), "{message}");
    assert!(message.contains(&format!("`git cherry-pick {seen}..{tip}`")), "{message}");
    workspace.git(&["cherry-pick", &format!("{seen}..{tip}")]);
    assert_eq!(workspace.text("b.txt"), "B\n");
    assert_eq!(workspace.edt(&append).json["warnings"], json!([]));
}

#[test]
fn a_reset_that_the_user_meant_is_not_questioned() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    edit(&workspace, "a.txt", "two", "TWO");
    for spec in ["HEAD", "HEAD~1", "main"] {
        workspace.git(&["reset", "--quiet", "--hard", spec]);
        assert_eq!(workspace.edt(&["status"]).json["warnings"], json!([]), "{spec}");
    }
}

/// Begins the session `name` in another one.
fn begin_beside(workspace: &TestRepo, args: &[&str]) -> Answer {
    let answer = workspace.edt(&[&["begin"], args].concat());
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert_eq!(answer.json["warnings"][0]["code"], json!("session_left"), "{:#}", answer.json);
    answer
}

/// Removes what ended before this moment.
fn gc(workspace: &TestRepo) -> Value {
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace.edt(&["gc", "--older-than", "0"]).json
}

/// The session `one` with line 1 changed and `two` with line 5 changed; HEAD is on `two`.
fn two_sessions() -> TestRepo {
    let workspace = workspace();
    workspace.edt(&["begin", "one"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    begin_beside(&workspace, &["two"]);
    edit(&workspace, "a.txt", "five", "FIVE");
    workspace
}

#[test]
fn a_switch_goes_to_another_session_and_keeps_the_users_work() {
    let workspace = two_sessions();
    workspace.write("a.txt", "one\ntwo\nmine\nfour\nFIVE\n");
    workspace.write("new.txt", "untracked\n");
    workspace.write("b.txt", "staged\n");
    workspace.git(&["add", "b.txt"]);
    let answer = workspace.edt(&["switch", "one"]).landed();
    assert_eq!(head(&workspace), "refs/heads/edt/one");
    assert_eq!(answer.json["session"]["name"], json!("one"));
    assert_eq!(workspace.text("a.txt"), "ONE\ntwo\nmine\nfour\nfive\n");
    assert_eq!(workspace.status(), " M a.txt\nM  b.txt\n?? new.txt\n");
    assert_eq!(workspace.edt(&["switch", "one"]).json["status"], json!("unchanged"));
    workspace.edt(&["switch", "edt/two"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nmine\nfour\nFIVE\n");
    workspace.edt(&["switch", "--leave"]).landed();
    assert_eq!(head(&workspace), "refs/heads/main");
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nmine\nfour\nfive\n");
    assert_eq!(session(&workspace, "two")["state"], json!("open"));
    workspace.is_sound();
}

#[test]
fn a_switch_that_would_overwrite_the_users_lines_is_refused() {
    let workspace = two_sessions();
    workspace.write("a.txt", "one\ntwo\nthree\nfour\nmine\n");
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["switch", "one"]);
    assert!(answer.hint().ends_with("then repeat `edt switch one`."), "{}", answer.hint());
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["switch", "--leave"]);
    workspace.git(&["stash", "push", "--quiet", "--include-untracked", "--", "a.txt"]);
    workspace.edt(&["switch", "one"]).landed();
}

#[test]
fn a_switch_needs_a_session_that_no_other_worktree_uses() {
    let workspace = two_sessions();
    let place = workspace.home.join("place");
    workspace.edt(&["begin", "three", "--worktree", place.to_str().unwrap()]).landed();
    workspace.refuses(&["SESSION_BUSY"], 3, &["switch", "three"]);
    workspace.refuses(&["NO_SESSION"], 1, &["switch", "four"]);
    workspace.edt(&["abandon"]).landed();
    let answer = workspace.refuses(&["NO_SESSION"], 1, &["switch", "two"]);
    assert!(answer.hint().contains("git branch edt/two refs/edt/two/abandoned"));
    workspace.git(&["branch", "edt/two", "refs/edt/two/abandoned"]);
    workspace.edt(&["switch", "two"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nthree\nfour\nFIVE\n");
}

#[test]
fn a_session_begun_in_another_says_so_and_starts_from_the_users_branch() {
    let workspace = workspace();
    workspace.edt(&["begin", "one"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    workspace.write("a.txt", "ONE\ntwo\nmine\nfour\nfive\n");
    let answer = begin_beside(&workspace, &["two"]);
    let message = answer.json["warnings"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("The worktree was in the session one,"), "{message}");
    assert_eq!(workspace.rev("edt/two"), workspace.rev("main"));
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nmine\nfour\nfive\n");
    edit(&workspace, "a.txt", "five", "FIVE");
    workspace.edt(&["land"]).landed();
    assert_eq!(head(&workspace), "refs/heads/main");
    assert_eq!(workspace.blob("main:a.txt"), b"one\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nmine\nfour\nFIVE\n");
    workspace.edt(&["switch", "one"]).landed();
    let from = begin_beside(&workspace, &["three", "--from", "one"]);
    assert_eq!(from.json["session"]["base"], json!(workspace.rev("edt/one")));
    assert_eq!(workspace.text("a.txt"), "ONE\ntwo\nmine\nfour\nfive\n");
    workspace.is_sound();
}

#[test]
fn a_session_begins_from_a_revision_whose_files_follow() {
    let workspace = workspace();
    let first = workspace.rev("HEAD");
    workspace.write("a.txt", "ONE\ntwo\nthree\nfour\nfive\n");
    workspace.git(&["commit", "--quiet", "-am", "second"]);
    workspace.write("b.txt", "mine\n");
    workspace.edt(&["begin", "s", "--from", "HEAD~1"]).landed();
    assert_eq!((workspace.rev("HEAD"), workspace.text("b.txt")), (first, "mine\n".into()));
    assert_eq!(workspace.read("a.txt"), TEXT);
    workspace.write("b.txt", "b\n");
    assert_eq!(workspace.status(), "");
    workspace.refuses(&["BAD_REQUEST"], 2, &["begin", "t", "--from", "nothing"]);
}

#[test]
fn sessions_without_switching_follow_each_other() {
    let workspace = workspace();
    workspace.edt(&["begin", "one", "--no-switch"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    begin_beside(&workspace, &["two", "--no-switch"]);
    assert_eq!(workspace.read("a.txt"), TEXT);
    edit(&workspace, "a.txt", "five", "FIVE");
    workspace.edt(&["switch", "one"]).landed();
    assert_eq!(workspace.text("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
    assert_eq!(workspace.edt(&["status"]).json["session"]["name"], json!("one"));
    workspace.edt(&["switch", "--leave"]).landed();
    assert_eq!(workspace.edt(&["status"]).json["session"], json!(null));
    assert_eq!(
        (workspace.read("a.txt").as_slice(), head(&workspace)),
        (TEXT, "refs/heads/main".into())
    );
    assert_eq!(workspace.status(), "");
}

#[test]
fn a_renamed_session_keeps_working() {
    for logs in ["true", "false"] {
        let workspace = workspace();
        workspace.git(&["config", "core.logAllRefUpdates", logs]);
        workspace.edt(&["begin", "old"]).landed();
        edit(&workspace, "a.txt", "one", "ONE");
        workspace.git(&["branch", "-m", "edt/old", "edt/mid"]);
        workspace.git(&["branch", "-m", "edt/mid", "edt/new"]);
        let status = workspace.edt(&["status"]).json;
        assert_eq!(status["session"]["name"], json!("old"), "{status:#}");
        assert_eq!(status["session"]["branch"], json!("edt/new"));
        assert_eq!(session(&workspace, "old")["branch"], json!("edt/new"));
        edit(&workspace, "a.txt", "five", "FIVE");
        workspace.edt(&["undo"]).landed();
        workspace.edt(&["redo"]).landed();
        workspace.edt(&["switch", "--leave"]).landed();
        workspace.edt(&["switch", "new"]).landed();
        workspace.edt(&["switch", "--leave"]).landed();
        workspace.edt(&["switch", "old"]).landed();
        assert_eq!(head(&workspace), "refs/heads/edt/new");
        workspace.edt(&["land", "-m", "done"]).landed();
        assert_eq!(workspace.blob("main:a.txt"), b"ONE\ntwo\nthree\nfour\nFIVE\n");
        assert_eq!(session(&workspace, "old")["state"], json!("landed"));
        workspace.is_sound();
    }
}

#[test]
fn a_renamed_session_is_abandoned_and_removed() {
    let workspace = workspace();
    workspace.edt(&["begin", "old"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    workspace.git(&["branch", "-m", "edt/new"]);
    workspace.edt(&["abandon"]).landed();
    assert_eq!(
        (head(&workspace), workspace.read("a.txt").as_slice()),
        ("refs/heads/main".into(), TEXT)
    );
    assert_eq!(session(&workspace, "old")["state"], json!("abandoned"));
    gc(&workspace);
    assert_eq!(workspace.git(&["for-each-ref", "refs/edt", "refs/heads/edt"]), "");
}

#[test]
fn a_renamed_session_without_switching_keeps_working() {
    let workspace = workspace();
    workspace.edt(&["begin", "old", "--no-switch"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    workspace.git(&["branch", "-m", "edt/old", "edt/new"]);
    edit(&workspace, "a.txt", "five", "FIVE");
    assert_eq!(workspace.edt(&["status"]).json["session"]["branch"], json!("edt/new"));
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), b"ONE\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(workspace.edt(&["status"]).json["session"], json!(null));
    workspace.is_clean();
}

#[test]
fn a_branch_without_a_session_is_still_refused() {
    let workspace = workspace();
    workspace.git(&["switch", "--quiet", "-c", "edt/mine"]);
    workspace.refuses(&["NO_SESSION"], 1, &["undo"]);
}

#[test]
fn a_landing_is_undone_and_lands_again() {
    let workspace = workspace();
    let before = workspace.rev("main");
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    let landing = workspace.edt(&["land"]).landed().commit().to_owned();
    workspace.write("a.txt", "ONE\ntwo\nmine\nfour\nfive\n");
    let answer = workspace.edt(&["land", "--undo"]).landed();
    assert_eq!((workspace.rev("main"), answer.commit()), (before.clone(), before.as_str()));
    assert_eq!(answer.json["parent"], json!(landing));
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nmine\nfour\nfive\n");
    assert_eq!(workspace.rev("refs/edt/s/unlanded/1"), landing);
    assert_eq!(session(&workspace, "s")["state"], json!("open"));
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["land", "--undo"]);
    workspace.edt(&["switch", "s"]).landed();
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), b"ONE\ntwo\nthree\nfour\nfive\n");
    assert_eq!(workspace.text("a.txt"), "ONE\ntwo\nmine\nfour\nfive\n");
    assert_eq!(session(&workspace, "s")["landed_by"], json!("edt"));
    workspace.is_sound();
}

#[test]
fn a_landing_that_others_have_is_reverted_and_lands_again() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    let landing = workspace.edt(&["land", "-m", "what"]).landed().commit().to_owned();
    workspace.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let answer = workspace.edt(&["land", "--undo"]).landed();
    assert_eq!(workspace.rev("main~1"), landing);
    assert_eq!(answer.commit(), workspace.rev("main"));
    assert_eq!(workspace.git(&["log", "-1", "--format=%s"]), "Revert \"what\"\n");
    assert_eq!(workspace.read("a.txt"), TEXT);
    assert_eq!(session(&workspace, "s")["state"], json!("open"));
    workspace.is_clean();
    workspace.edt(&["switch", "s"]).landed();
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), b"ONE\ntwo\nthree\nfour\nfive\n");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_landing_under_commits_of_the_same_lines_is_a_conflict() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    workspace.edt(&["land"]).landed();
    workspace.write("a.txt", "uno\ntwo\nthree\nfour\nfive\n");
    workspace.git(&["commit", "--quiet", "-am", "on top"]);
    let answer = workspace.refuses(&["MERGE_CONFLICT"], 3, &["land", "--undo"]);
    assert_eq!(answer.errors()[0]["evidence"]["paths"], json!(["a.txt"]));
    workspace.refuses(&["BAD_REQUEST"], 2, &["land", "--undo", "-m", "x"]);
}

#[test]
fn a_landing_is_undone_where_its_branch_is_checked_out() {
    let workspace = workspace();
    let place = workspace.home.join("place");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let other = workspace.at(&place);
    edit(&other, "a.txt", "one", "ONE");
    other.edt(&["land"]).landed();
    workspace.write("a.txt", "ONE\ntwo\nthree\nfour\nmine\n");
    other.edt(&["land", "--undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nthree\nfour\nmine\n");
    assert_eq!(workspace.status(), " M a.txt\n");
    assert_eq!(other.text("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
    other.edt(&["land"]).landed();
    assert_eq!(workspace.text("a.txt"), "ONE\ntwo\nthree\nfour\nmine\n");
    workspace.edt(&["land", "--undo", "--session", "s"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\ntwo\nthree\nfour\nmine\n");
}

#[test]
fn the_users_changes_that_landed_stay_on_disk_when_the_landing_is_undone() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("b.txt", "mine\n");
    workspace.edt(&["checkpoint", "b.txt"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    let (exit, screen) = workspace.at_terminal("land", "");
    assert_eq!((exit, workspace.status().as_str()), (Some(0), ""), "{screen}");
    workspace.edt(&["land", "--undo"]).landed();
    assert_eq!(
        (workspace.text("b.txt"), workspace.read("a.txt").as_slice()),
        ("mine\n".into(), TEXT)
    );
    assert_eq!(workspace.status(), " M b.txt\n");
}

#[test]
fn an_agent_does_not_undo_the_landing_of_a_protected_path() {
    let policy = b"[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";
    let workspace = TestRepo::with(&[("edt.toml", policy), ("ci/a.yml", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("ci/a.yml", "two\n");
    workspace.git(&["commit", "--quiet", "-am", "by the user"]);
    workspace.edt(&["apply", "b.txt", "--mode", "create", "--content", "b\n"]).landed();
    workspace.as_user(b"", &["land"], &[]).landed();
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land", "--undo"]);
}

#[test]
fn sessions_that_plain_git_landed_are_recognised_and_removed() {
    for how in ["squash", "pick", "rebase", "merge"] {
        let workspace = workspace();
        workspace.edt(&["begin", "s"]).landed();
        edit(&workspace, "a.txt", "one", "ONE");
        edit(&workspace, "b.txt", "b", "B");
        workspace.git(&["switch", "--quiet", "main"]);
        assert_eq!(session(&workspace, "s")["state"], json!("open"));
        workspace.write("c.txt", "c\n");
        workspace.git(&["add", "c.txt"]);
        workspace.git(&["commit", "--quiet", "-m", "main moves"]);
        assert_eq!(session(&workspace, "s")["state"], json!("open"), "{how}");
        match how {
            "squash" => {
                workspace.git(&["merge", "--quiet", "--squash", "edt/s"]);
                workspace.git(&["commit", "--quiet", "-m", "squashed"]);
            }
            "pick" => {
                workspace.git(&["cherry-pick", "edt/s~1", "edt/s"]);
            }
            "rebase" => {
                workspace.git(&["rebase", "--quiet", "main", "edt/s"]);
                workspace.git(&["switch", "--quiet", "main"]);
                workspace.git(&["merge", "--quiet", "--ff-only", "edt/s"]);
            }
            _ => {
                workspace.git(&["merge", "--quiet", "--no-edit", "edt/s"]);
            }
        }
        workspace.write("a.txt", "uno\ntwo\nthree\nfour\nfive\n");
        workspace.git(&["commit", "--quiet", "-am", "the user goes on"]);
        let found = session(&workspace, "s");
        assert_eq!(
            (&found["state"], &found["landed_by"]),
            (&json!("landed"), &json!("git")),
            "{how}: {found:#}"
        );
        if how == "squash" {
            let removed = gc(&workspace);
            assert_eq!(removed["sessions"][0], json!({"name": "s", "state": "landed"}));
        }
    }
}

#[test]
fn six_landings_of_disjoint_files_at_once_all_land() {
    let files: Vec<String> = (0..6).map(|n| format!("{n}.txt")).collect();
    let content: Vec<(&str, &[u8])> =
        files.iter().map(|file| (file.as_str(), b"old\n".as_slice())).collect();
    let workspace = TestRepo::with(&content);
    let worktrees: Vec<TestRepo> = files
        .iter()
        .enumerate()
        .map(|(n, file)| {
            let place = workspace.home.join(format!("place-{n}"));
            let name = format!("s{n}");
            workspace.edt(&["begin", &name, "--worktree", place.to_str().unwrap()]).landed();
            let worktree = workspace.at(&place);
            edit(&worktree, file, "old", "new");
            worktree
        })
        .collect();
    let landings: Vec<_> = worktrees
        .iter()
        .map(|worktree| {
            let mut command = worktree.command(EDT);
            command.args(["land", "--json", "--wait", "60"]).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for landing in landings {
        let done = landing.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
    assert_eq!(workspace.git(&["rev-list", "--count", "main"]).trim(), "7");
    assert!(files.iter().all(|file| workspace.text(file) == "new\n"));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn the_first_answer_after_the_user_switched_names_the_session_that_was_left() {
    let workspace = workspace();
    workspace.git(&["branch", "feature"]);
    workspace.edt(&["begin", "one"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    workspace.git(&["switch", "--quiet", "feature"]);
    let message = "HEAD was switched from the session one to feature. 1 edit of one is not here: \
                   `edt switch one` returns to it.";
    let left = json!([{"code": "session_left", "path": null, "message": message}]);
    assert_eq!(workspace.edt(&["status"]).json["warnings"], left);
    let refused = workspace.edt(&["land"]);
    assert_eq!((refused.codes(), &refused.json["warnings"]), (vec!["NO_SESSION"], &left));
    let edit = ["apply", "a.txt", "--mode", "edit", "--old-text", "five", "--content", "FIVE"];
    assert_eq!(workspace.edt(&edit).json["warnings"], left);
    assert_eq!(workspace.edt(&["status"]).json["warnings"], json!([]), "it was said");
    let returned = workspace.edt(&["switch", "one"]).landed();
    assert_eq!(returned.json["warnings"], json!([]));
    assert_eq!(workspace.text("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
}

#[test]
fn a_session_that_edt_left_or_the_user_returned_to_is_not_named() {
    let workspace = workspace();
    workspace.edt(&["begin", "one"]).landed();
    edit(&workspace, "a.txt", "one", "ONE");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["switch", "--quiet", "edt/one"]);
    assert_eq!(workspace.edt(&["status"]).json["warnings"], json!([]));
    workspace.edt(&["switch", "--leave"]).landed();
    assert_eq!(workspace.edt(&["status"]).json["warnings"], json!([]));
    workspace.edt(&["switch", "one"]).landed();
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(workspace.edt(&["switch", "one"]).json["warnings"], json!([]));
}
