//! A call is killed, the user goes on with plain Git, and then edt is called again: what the user did
//! stays, and the call happened wholly or not at all.

use std::fs;

use crate::test_repo::{EDT, TestRepo, has_strace};

/// Refs as files, and in tables.
const FORMATS: [&str; 2] = ["--ref-format=files", "--ref-format=reftable"];
const FILES: &[(&str, &[u8])] = &[("a.txt", b"one\n"), ("b.txt", b"other\n")];
const KEPT: &str = "the user's only copy\n";

/// Kills a call of edt right after its record: at its first link, of the index or of a ref.
fn kill(workspace: &TestRepo, args: &[&str]) {
    kill_at(workspace, "linkat", args);
}

/// Kills a call of edt at its first system call of that name.
fn kill_at(workspace: &TestRepo, call: &str, args: &[&str]) {
    kill_at_nth(workspace, call, 1, args);
}

fn kill_at_nth(workspace: &TestRepo, call: &str, n: u32, args: &[&str]) {
    // Each call first tries these two on a name that does not exist.
    let n = if ["linkat", "renameat2"].contains(&call) { n + 1 } else { n };
    let mut command = workspace.command("strace");
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:signal=KILL:when={n}");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, EDT]).args(args);
    let output = command.output().unwrap();
    let killed = output.stderr.is_empty() && !output.status.success();
    assert!(killed, "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What Git's message advises after a kill.
fn remove_locks(workspace: &TestRepo) {
    for lock in workspace.locks() {
        fs::remove_file(workspace.root.join(".git").join(lock)).unwrap();
    }
}

/// Everything that the user finds of a text: files of the worktree, and those that edt keeps.
fn finds(workspace: &TestRepo, text: &str) -> bool {
    let stage = workspace.git_dir("--git-common-dir").join("edt/main/stage");
    let all = [&workspace.root, &stage].map(|place| fs::read_dir(place).unwrap());
    let mut paths = all.into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.any(|path| fs::read_to_string(path).is_ok_and(|found| found == text))
}

type Acts = &'static [&'static [&'static str]];

/// Nobody may call edt in a worktree for a long time.
#[test]
fn a_call_recovers_the_other_worktrees_and_reports_it() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let killed = ["o", "p"].map(|name| {
        let place = workspace.root.with_file_name(name);
        workspace.edt(&["begin", name, "--worktree", place.to_str().unwrap()]).landed();
        let linked = workspace.at(&place);
        kill(&linked, &["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]);
        linked
    });
    let recovered = workspace.edt(&["status"]).json["recovered"].clone();
    let detail = recovered["detail"].as_str().unwrap();
    // The second call recovered what the first one had left.
    assert_eq!(detail.matches("In the worktree").count(), 1, "{detail}");
    for linked in killed {
        assert_eq!((linked.text("a.txt").as_str(), linked.status().as_str()), ("one\n", ""));
        linked.is_sound();
    }
    assert!(workspace.edt(&["status"]).json["recovered"].is_null());
}

/// A landing was recorded and killed. What the user did since decides.
#[test]
fn a_killed_landing_of_a_session_that_the_user_threw_away_is_not_landed() {
    if !has_strace() {
        return;
    }
    let acts: [&[&[&str]]; 5] = [
        &[&["switch", "--quiet", "main"]],
        &[&["switch", "--quiet", "main"], &["branch", "--quiet", "-D", "edt/s"]],
        &[&["reset", "--quiet", "HEAD~1"]],
        &[&["reset", "--quiet", "--hard", "HEAD~1"]],
        &[&["commit", "--quiet", "--allow-empty", "-m", "the user's"]],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("b.txt", "agent\n");
        workspace.overwrite("a.txt", "agent\n");
        kill(&workspace, &["land", "-m", "landed"]);
        act.iter().for_each(|args| drop(workspace.git(args)));
        let refs = || workspace.git(&["for-each-ref"]);
        let before = (refs(), workspace.rev("HEAD"), workspace.status());
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        let after = (refs(), workspace.rev("HEAD"), workspace.status());
        assert_eq!(after, before, "{format} {act:?}");
        workspace.is_sound();
    }
}

/// The edit was recorded and killed before its file was exchanged.
#[test]
fn a_killed_edit_changes_no_file_of_a_branch_that_the_user_switched_to() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("b.txt", "agent\n");
        workspace.write("a.txt", "one\nthe user's\n");
        kill(&workspace, &["apply", "a.txt", "--mode", "append", "--content", "agent\n"]);
        workspace.git(&["switch", "--quiet", "main"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.text("a.txt"), "one\nthe user's\n", "{format}");
        assert_eq!(workspace.status(), " M a.txt\n", "{format}");
        workspace.is_sound();
    }
}

/// In the same boot: the user took the session's work over before edt's next call.
#[test]
fn a_killed_abandon_takes_nothing_from_a_branch_that_the_user_made() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("b.txt", "agent\n");
        workspace.edt(&["apply", "n/n.txt", "--mode", "create", "--content", "new\n"]).landed();
        kill(&workspace, &["abandon"]);
        workspace.git(&["switch", "--quiet", "-c", "mine"]);
        let answer = workspace.edt(&["status"]);
        assert_eq!(answer.json["recovered"]["action"], "rolled_back", "{format}");
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/mine\n");
        assert_eq!(workspace.text("n/n.txt"), "new\n", "{format}");
        assert_eq!(workspace.rev("edt/s"), workspace.rev("mine"), "{format}");
        assert_eq!(workspace.status(), "", "{format}");
        workspace.is_sound();
    }
}

/// An edit was killed after its commit point, in the same boot. Its file is exchanged by then: what
/// is there is the user's.
#[test]
fn what_the_user_did_after_a_killed_edit_stays() {
    if !has_strace() {
        return;
    }
    let acts: [(&[&str], &str, &str); 5] = [
        (&["switch", "--quiet", "main"], "one\n", ""),
        (&["checkout", "--quiet", "HEAD~1", "--", "a.txt"], "one\n", "M  a.txt\n"),
        (&["restore", "--source=HEAD~1", "a.txt"], "one\n", " M a.txt\n"),
        (&["commit", "--quiet", "--amend", "--message=the user's"], "two\n", ""),
        (&["reset", "--quiet", "--hard", "HEAD~1"], "one\n", ""),
    ];
    for (format, (act, text, status)) in
        FORMATS.into_iter().flat_map(|it| acts.map(|act| (it, act)))
    {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("b.txt", "agent\n");
        // The last file that it removes is the one that it displaced.
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        let n = if format == FORMATS[0] { 4 } else { 9 };
        kill_at_nth(&workspace, "unlinkat", n, &edit);
        assert_eq!(workspace.git(&["rev-list", "--count", "main..edt/main-1"]), "2\n");
        workspace.git(act);
        for _ in 0..2 {
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert_eq!(workspace.text("a.txt"), text, "{format} {act:?}");
            assert_eq!(workspace.status(), status, "{format} {act:?}");
        }
        workspace.is_sound();
    }
}

/// Git's message advises to remove the lock.
#[test]
fn a_killed_edit_is_rolled_back_although_the_user_removed_its_lock_and_switched() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.overwrite("b.txt", "agent\n");
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    kill_at_nth(&workspace, "linkat", 2, &edit);
    assert_eq!(workspace.text("a.txt"), "two\n");
    fs::remove_file(workspace.root.join(".git/index.lock")).unwrap();
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(workspace.status(), " M a.txt\n");
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("one\n", ""));
    workspace.is_sound();
}

#[test]
fn a_rolled_back_abandon_creates_no_file_of_the_session_in_another_branch() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
        workspace.git(&["branch", "other", "main"]);
        kill(&workspace, &["abandon"]);
        let answer = workspace.edt(&["status"]);
        assert_eq!(answer.json["recovered"]["action"], "rolled_back", "{format}");
        assert_eq!(workspace.text("n.txt"), "new\n", "{format}");
        workspace.git(&["switch", "--quiet", "other"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert!(!workspace.exists("n.txt"), "{format}");
        assert_eq!(workspace.status(), "", "{format}");
        workspace.is_sound();
    }
}

#[test]
fn the_locks_of_a_call_that_was_killed_in_a_worktree_that_is_gone_are_removed() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        let place = workspace.root.with_file_name("linked");
        let at = place.to_str().unwrap();
        workspace.edt(&["begin", "s", "--worktree", at]).landed();
        let linked = workspace.at(&place);
        linked.overwrite("b.txt", "agent\n");
        kill_at(&linked, "renameat", &["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
        workspace.git(&["worktree", "remove", "--force", at]);
        assert_eq!(workspace.locks().len(), 1, "{format}: {:?}", workspace.locks());
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.locks(), Vec::<String>::new(), "{format}");
        assert_eq!(workspace.edt(&["status"]).json["recovered"], serde_json::Value::Null);
        workspace.git(&["branch", "--quiet", "-D", "edt/s"]);
        workspace.is_sound();
    }
}

/// A kill after the exchange and before the commit point; then the user commits what is there.
#[test]
fn what_the_user_committed_after_a_killed_edit_is_not_rolled_back_and_nothing_is_lost() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.overwrite("b.txt", "agent\n");
    workspace.write("a.txt", "the user's only copy\n");
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    // The first one puts the user's bytes into the private store.
    kill_at_nth(&workspace, "renameat", 2, &edit);
    assert_eq!(workspace.text("a.txt"), "two\n");
    remove_locks(&workspace);
    workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
    let recovered = workspace.edt(&["status"]).json["recovered"].clone();
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("two\n", ""));
    let detail = recovered["detail"].as_str().unwrap();
    let kept = detail.split("are kept: ").nth(1).unwrap().trim_end_matches('.');
    assert_eq!(fs::read_to_string(workspace.root.join(kept)).unwrap(), "the user's only copy\n");
}

/// HEAD is not on the session.
#[test]
fn a_file_that_the_user_committed_on_another_branch_after_a_killed_edit_stays() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]).landed();
    let edits = r#"{"edits": [{"path": "n.txt", "mode": "create", "content": "new\n"},
        {"path": "a.txt", "mode": "overwrite", "content": "one\n"}]}"#;
    workspace.write("../edits", edits);
    kill_at(&workspace, "renameat", &["apply", "--request", "../edits"]);
    assert_eq!(workspace.text("n.txt"), "new\n");
    remove_locks(&workspace);
    workspace.git(&["add", "n.txt"]);
    workspace.git(&["commit", "--quiet", "--message=the user's"]);
    assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
    let after = (workspace.text("n.txt"), workspace.text("a.txt"));
    assert_eq!(after, ("new\n".to_owned(), "two\n".to_owned()));
}

/// The user's Git took nothing of a killed edit. Its file is put back, wherever HEAD is.
#[test]
fn a_killed_edit_that_the_user_did_not_commit_is_rolled_back() {
    if !has_strace() {
        return;
    }
    let acts: [&[&[&str]]; 3] = [
        &[&["reset", "--quiet", "--soft", "HEAD~1"]],
        &[&["branch", "--move", "edt/main-1", "mine"]],
        &[
            &["reset", "--quiet", "--soft", "main"],
            &["reflog", "expire", "--expire=now", "--all"],
            &["gc", "--quiet", "--prune=now"],
        ],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("b.txt", "agent\n");
        workspace.overwrite("a.txt", "answered\n");
        let tip = workspace.rev("HEAD");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at(&workspace, "renameat", &edit);
        assert_eq!((workspace.text("a.txt"), workspace.rev("HEAD")), ("two\n".to_owned(), tip));
        remove_locks(&workspace);
        act.iter().for_each(|args| drop(workspace.git(args)));
        for _ in 0..2 {
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{format} {act:?}");
            assert_eq!(workspace.text("a.txt"), "answered\n", "{format} {act:?}");
        }
        workspace.is_sound();
    }
}

/// The worktree that follows has no commit yet.
#[test]
fn a_killed_landing_into_an_unborn_branch_leaves_no_file() {
    if !has_strace() {
        return;
    }
    let land = ["land", "--into", "main", "-m", "landed"];
    for format in FORMATS {
        let is_exchanged = |n: &u32| {
            let workspace = TestRepo::unborn(&[format]);
            let place = workspace.root.with_file_name("linked");
            workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
            let linked = workspace.at(&place);
            linked.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
            kill_at_nth(&linked, "linkat", *n, &land);
            let is_exchanged = workspace.exists("n.txt");
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert!(!workspace.exists("n.txt"), "{format} {n}");
            linked.edt(&land).landed();
            let after = (workspace.text("n.txt"), workspace.status());
            assert_eq!(after, ("new\n".to_owned(), String::new()), "{format} {n}");
            is_exchanged
        };
        assert!((3..12).find(is_exchanged).is_some(), "{format}: no kill came after the exchange");
    }
}

/// The session goes back to a branch that the user changed since.
#[test]
fn a_rolled_back_switch_brings_back_no_file_that_the_user_removed() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.edt(&["begin", "t"]).landed();
        workspace.edt(&["switch", "--leave"]).landed();
        workspace.edt(&["begin", "s"]).landed();
        workspace.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
        kill(&workspace, &["switch", "t"]);
        assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
        workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert!(!workspace.exists("n.txt"), "{format}");
        assert_eq!(workspace.status(), "", "{format}");
    }
}

#[test]
fn no_ref_is_made_of_a_killed_begin_whose_commit_is_gone() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.git(&["checkout", "--quiet", "--detach"]);
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at(&workspace, "renameat2", &edit);
        remove_locks(&workspace);
        workspace.git(&["checkout", "--quiet", "main"]);
        workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
        workspace.git(&["gc", "--quiet", "--prune=now"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        workspace.git(&["gc", "--quiet", "--prune=now"]);
        workspace.is_sound();
    }
}

/// The files were exchanged, and HEAD had not moved.
#[test]
fn what_the_user_committed_after_a_killed_move_of_head_is_not_rolled_back() {
    if !has_strace() {
        return;
    }
    for (call, n, args) in
        [("linkat", 4, &["abandon"][..]), ("renameat", 1, &["switch", "--leave"])]
    {
        let workspace = TestRepo::with(FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("a.txt", "two\n");
        kill_at_nth(&workspace, call, n, args);
        remove_locks(&workspace);
        assert_eq!(workspace.text("a.txt"), "one\n");
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/s\n");
        workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
        assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
        let after = (workspace.text("a.txt"), workspace.status());
        assert_eq!(after, ("one\n".to_owned(), String::new()), "{args:?}");
        workspace.is_sound();
    }
}

/// The edit had begun a session. The user's bytes are in no commit.
#[test]
fn the_users_bytes_return_after_a_killed_edit() {
    if !has_strace() {
        return;
    }
    let renamed: &[&str] = &["branch", "--move", "main", "trunk"];
    let acts: [[&[&str]; 2]; 4] = [
        [&["status"], &["status"]],
        [&["add", "a.txt"], &["status"]],
        [&["checkout", "--quiet", "--detach"], &["status"]],
        [&["status"], renamed],
    ];
    for (format, [before, after]) in FORMATS.into_iter().flat_map(|it| acts.map(|act| (it, act))) {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.write("a.txt", "staged\n");
        workspace.git(before);
        workspace.write("a.txt", "the user's only copy\n");
        let status = workspace.status();
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        let n = if format == FORMATS[0] { 6 } else { 5 };
        kill_at_nth(&workspace, "linkat", n, &edit);
        assert_eq!(workspace.text("a.txt"), "two\n", "{format}");
        assert_eq!(workspace.edt(&["status"]).json["recovered"]["action"], "rolled_back");
        assert_eq!(workspace.text("a.txt"), "the user's only copy\n");
        workspace.git(after);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.text("a.txt"), "the user's only copy\n");
        assert_eq!(workspace.status(), status, "{format} {before:?} {after:?}");
        workspace.is_sound();
    }
}

/// A clock was wrong when the user committed.
#[test]
fn head_moves_after_a_kill_although_the_users_commit_is_of_a_later_time() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    let mut commit = workspace.command("git");
    commit.args(["commit", "--quiet", "--allow-empty", "--message=later"]);
    assert!(commit.env("GIT_COMMITTER_DATE", "2040-01-01T00:00:00Z").status().unwrap().success());
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    kill_at_nth(&workspace, "renameat", 2, &edit);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("two\n", ""));
}

#[test]
fn a_branch_that_another_worktree_checked_out_is_not_deleted() {
    if !has_strace() {
        return;
    }
    for ends in [&["abandon"][..], &["gc", "--older-than", "0"]] {
        let workspace = TestRepo::with(FILES);
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("a.txt", "two\n");
        if ends[0] == "gc" {
            workspace.edt(&["land", "-m", "landed"]).landed();
            std::thread::sleep(std::time::Duration::from_millis(2100));
            kill(&workspace, ends);
        } else {
            kill_at_nth(&workspace, "renameat", 2, ends);
            remove_locks(&workspace);
            workspace.git(&["switch", "--quiet", "--force", "main"]);
        }
        remove_locks(&workspace);
        let place = workspace.root.with_file_name("w");
        workspace.git(&["worktree", "add", "--quiet", place.to_str().unwrap(), "edt/s"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        let log = workspace.at(&place).git(&["log", "-1", "--format=%d"]);
        assert!(log.contains("edt/s"), "{ends:?}: {log}");
        assert_eq!(workspace.at(&place).edt(&["log"]).exit, 0, "{ends:?}");
        workspace.is_sound();
    }
}

/// The user moved the branch back after a kill, and the log does not say so.
#[test]
fn head_stays_after_a_kill_although_the_log_of_the_users_move_is_gone() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        let n = if format == FORMATS[0] { 2 } else { 1 };
        kill_at_nth(&workspace, "renameat", n, &["begin", "s"]);
        remove_locks(&workspace);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n", "{format}");
        assert_eq!(workspace.status(), "", "{format}");
    }
}

/// Everything was done but the closing of the journal.
#[test]
fn a_session_whose_killed_first_edit_the_user_amended_goes_on() {
    if !has_strace() {
        return;
    }
    let acts: [&[&str]; 2] = [
        &["commit", "--quiet", "--amend", "-m", "mine"],
        &["reset", "--quiet", "--hard", "HEAD~1"],
    ];
    for (format, act) in FORMATS.into_iter().flat_map(|format| acts.map(|act| (format, act))) {
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        let killed = |n: u32| {
            let workspace = TestRepo::made(&[format], FILES);
            let mut command = workspace.command("strace");
            let inject = format!("inject=unlinkat:signal=KILL:when={n}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=unlinkat", "-e", &inject]);
            let done = command.arg(EDT).args(edit).output().unwrap();
            let head = workspace.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
            let is_done = head == "edt/main-1\n" && workspace.status().is_empty();
            (!done.status.success() && is_done).then_some(workspace)
        };
        let Some(workspace) = (1..30).find_map(killed) else { panic!("{format}: not killed") };
        remove_locks(&workspace);
        workspace.git(act);
        let tip = workspace.rev("HEAD");
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!((workspace.rev("HEAD"), workspace.status()), (tip, String::new()), "{format}");
        workspace.overwrite("b.txt", "more\n");
        assert_eq!(workspace.edt(&["abandon"]).exit, 0, "{format} {act:?}");
        workspace.is_sound();
    }
}

/// The session was made and HEAD had not moved. Then the user or another worktree moved `main`.
#[test]
fn an_edit_that_head_does_not_follow_leaves_the_users_file() {
    if !has_strace() {
        return;
    }
    let workspace = || {
        let workspace = TestRepo::with(FILES);
        workspace.write("a.txt", "the user's only copy\n");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "agent\n"];
        kill_at_nth(&workspace, "renameat", 3, &edit);
        remove_locks(&workspace);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(workspace.text("a.txt"), "agent\n");
        workspace
    };
    let by_user = workspace();
    by_user.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
    assert_eq!(by_user.edt(&["status"]).exit, 0);
    assert_eq!(by_user.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(by_user.text("a.txt"), "the user's only copy\n");
    assert!(by_user.try_git(&["rev-parse", "--verify", "edt/main-1"]).status.success());
    assert_eq!(by_user.git(&["reflog", "-1", "--format=%gs"]), "commit: the user's\n");
    by_user.is_sound();

    let elsewhere = workspace();
    let place = elsewhere.root.with_file_name("w");
    elsewhere.git(&["worktree", "add", "--quiet", "-b", "other", place.to_str().unwrap()]);
    let linked = elsewhere.at(&place);
    linked.git(&["commit", "--quiet", "--allow-empty", "--message=other"]);
    linked.git(&["update-ref", "refs/heads/main", "HEAD"]);
    assert_eq!(elsewhere.edt(&["status"]).exit, 0);
    assert_eq!(elsewhere.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(elsewhere.text("a.txt"), "the user's only copy\n");
    assert!(elsewhere.try_git(&["rev-parse", "--verify", "edt/main-1"]).status.success());
    elsewhere.is_sound();
}

/// As in one boot: the files go back, and the commit stays in the session.
#[test]
fn an_unanswered_edit_that_head_does_not_follow_leaves_the_users_file() {
    if !has_strace() {
        return;
    }
    for (call, n) in [("renameat", 3), ("linkat", 6)] {
        let workspace = TestRepo::with(FILES);
        workspace.write("a.txt", "the user's only copy\n");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "agent\n"];
        kill_at_nth(&workspace, call, n, &edit);
        remove_locks(&workspace);
        assert_eq!(workspace.text("a.txt"), "agent\n", "{call}");
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        assert_eq!(workspace.edt(&["status"]).exit, 0);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(workspace.text("a.txt"), "the user's only copy\n", "{call}");
        workspace.is_sound();
    }
}

/// HEAD had moved to the session, and the index had not followed.
#[test]
fn the_index_of_a_killed_first_edit_follows_although_the_user_left_its_branch() {
    if !has_strace() {
        return;
    }
    let acts: [&[&str]; 2] =
        [&["switch", "--quiet", "--create", "other"], &["branch", "--move", "edt/mine"]];
    for act in acts {
        let workspace = TestRepo::with(FILES);
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at_nth(&workspace, "renameat2", 6, &edit);
        remove_locks(&workspace);
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
        workspace.git(act);
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{act:?}");
        let after = (workspace.text("a.txt"), workspace.status());
        assert_eq!(after, ("two\n".to_owned(), String::new()), "{act:?}");
        workspace.is_sound();
    }
}

/// The call was killed before it moved HEAD. The user then went there, and on.
#[test]
fn a_killed_abandon_is_given_up_although_the_user_was_at_its_target() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(FILES);
    workspace.git(&["branch", "other"]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    kill(&workspace, &["abandon"]);
    remove_locks(&workspace);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["switch", "--quiet", "other"]);
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.git(&["show", "edt/s:a.txt"]), "two\n");
    assert_eq!(workspace.status(), "");
}

#[test]
fn a_killed_edit_is_rolled_back_wherever_the_user_moved_the_branch() {
    if !has_strace() {
        return;
    }
    let acts: [Acts; 6] = [
        &[&["commit", "--quiet", "--message=other", "--", "b.txt"]],
        &[&["commit", "--quiet", "--all", "--message=all"]],
        &[&["commit", "--quiet", "--amend", "--message=amended"]],
        &[&["reset", "--quiet", "--soft", "HEAD~1"]],
        &[&["branch", "--move", "mine"]],
        &[&["switch", "--quiet", "--create", "mine"], &["branch", "--quiet", "-D", "edt/main-1"]],
    ];
    let overwrite: &[&str] = &["--mode", "overwrite", "--content", "two\n"];
    let calls: [(&str, &[&str]); 4] = [
        ("a.txt", overwrite),
        ("u.txt", overwrite),
        (".env", overwrite),
        ("u.txt", &["--mode", "delete"]),
    ];
    for (format, (path, call)) in
        FORMATS.into_iter().flat_map(|format| calls.map(|call| (format, call)))
    {
        for act in acts {
            let case = format!("{format} {path} {call:?} {act:?}");
            let workspace = TestRepo::made(&[format], FILES);
            workspace.write(".git/info/exclude", ".env\n");
            workspace.overwrite("a.txt", "agent\n");
            workspace.write(path, KEPT);
            // The bytes of the file are renamed into the private store before.
            kill_at_nth(&workspace, "renameat", 2, &[&["apply", path][..], call].concat());
            assert!(!workspace.exists(path) || workspace.text(path) != KEPT, "{case}");
            remove_locks(&workspace);
            workspace.write("b.txt", "the user's\n");
            act.iter().for_each(|args| drop(workspace.git(args)));
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{case}");
            assert!(finds(&workspace, KEPT), "{case}");
            assert!(!finds(&workspace, "two\n") || act[0].contains(&"--all"), "{case}");
            workspace.is_sound();
        }
    }
}

#[test]
fn a_killed_landing_leaves_nothing_if_the_user_committed_in_its_target() {
    if !has_strace() {
        return;
    }
    let land = ["land", "--into", "main", "-m", "landed"];
    let is_exchanged = |n: &u32| {
        let workspace = TestRepo::with(FILES);
        let place = workspace.root.with_file_name("linked");
        workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
        let linked = workspace.at(&place);
        linked.edt(&["apply", "n.txt", "--mode", "create", "--content", "new\n"]).landed();
        let main = workspace.rev("main");
        kill_at_nth(&linked, "linkat", *n, &land);
        let is_exchanged = workspace.exists("n.txt") && workspace.rev("main") == main;
        if is_exchanged {
            remove_locks(&workspace);
            workspace.write("b.txt", "the user's\n");
            workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert!(!workspace.exists("n.txt"), "{n}");
            assert_eq!(workspace.status(), "", "{n}");
        }
        is_exchanged
    };
    assert!((3..14).any(|n| is_exchanged(&n)), "no kill came after the exchange");
}

/// The user put the files back, or renamed the branch to which HEAD was to go.
#[test]
fn a_killed_move_of_head_is_given_up_if_the_user_put_its_files_back() {
    if !has_strace() {
        return;
    }
    let moves: [&[&str]; 3] = [&["abandon"], &["switch", "--leave"], &["land", "-m", "landed"]];
    let acts: [Acts; 2] =
        [&[&["reset", "--quiet", "--hard"]], &[&["branch", "--move", "main", "trunk"]]];
    for (format, args) in FORMATS.into_iter().flat_map(|format| moves.map(|args| (format, args))) {
        for (n, act) in (1..7).flat_map(|n| acts.map(|act| (n, act))) {
            let case = format!("{format} {args:?} {n} {act:?}");
            let workspace = TestRepo::made(&[format], FILES);
            workspace.edt(&["begin", "s"]).landed();
            workspace.overwrite("b.txt", "agent\n");
            workspace.overwrite("a.txt", "agent\n");
            let head = workspace.git(&["symbolic-ref", "HEAD"]);
            let mut command = workspace.command("strace");
            let inject = format!("inject=renameat2:signal=KILL:when={n}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", &inject]);
            command.arg(EDT).args(args).output().unwrap();
            let is_moved = workspace.git(&["symbolic-ref", "HEAD"]) != head
                || workspace.git(&["log", "--format=%s", "main"]).contains("landed");
            if is_moved {
                continue;
            }
            remove_locks(&workspace);
            act.iter().for_each(|args| drop(workspace.git(args)));
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{case}");
            assert_eq!(workspace.status(), "", "{case}");
            workspace.is_sound();
        }
    }
}

/// As Git, edt does not put two worktrees on one branch.
#[test]
fn head_does_not_go_to_a_branch_that_another_worktree_checked_out_after_a_kill() {
    if !has_strace() {
        return;
    }
    let calls: [(&[&str], &str); 4] = [
        (&["abandon"], "main"),
        (&["switch", "--leave"], "main"),
        (&["land", "-m", "landed"], "main"),
        (&["begin", "t"], "edt/t"),
    ];
    for (args, target) in calls {
        for (call, n) in
            ["renameat", "linkat"].into_iter().flat_map(|call| (1..6).map(move |n| (call, n)))
        {
            let case = format!("{args:?} {call} {n}");
            let workspace = TestRepo::with(FILES);
            workspace.edt(&["begin", "s"]).landed();
            workspace.overwrite("a.txt", "agent\n");
            let mut command = workspace.command("strace");
            let inject = format!("inject={call}:signal=KILL:when={n}");
            let trace = format!("trace={call}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, EDT]);
            command.args(args).output().unwrap();
            remove_locks(&workspace);
            let other = workspace.root.with_file_name("other");
            let add = ["worktree", "add", "--quiet", other.to_str().unwrap(), target];
            if !workspace.command("git").args(add).output().unwrap().status.success() {
                continue;
            }
            let at = workspace.rev(target);
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{case}");
            let head = workspace.git(&["symbolic-ref", "HEAD"]);
            assert_ne!(head.trim(), format!("refs/heads/{target}"), "{case}");
            assert_eq!(workspace.rev(target), at, "{case}");
            assert_eq!(workspace.at(&other).status(), "", "{case}");
        }
    }
}

/// The recovery of a killed edit is killed, too.
#[test]
fn a_rollback_that_was_killed_ends() {
    if !has_strace() {
        return;
    }
    for (call, n) in ["unlinkat", "pwrite64", "renameat2", "renameat", "unlink"]
        .into_iter()
        .flat_map(|call| (1..7).map(move |n| (call, n)))
    {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at(&workspace, "renameat", &edit);
        let mut command = workspace.command("strace");
        let (trace, inject) =
            (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
        command.args([EDT, "status"]).output().unwrap();
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{call} {n}");
        assert_eq!(workspace.status(), "", "{call} {n}");
        workspace.is_sound();
    }
}

/// A recovery is killed while it stages what a killed edit had staged.
#[test]
fn a_recovery_that_was_killed_while_it_staged_keeps_nothing_of_edt() {
    if !has_strace() {
        return;
    }
    for n in 1..8 {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        let edits = r#"{"edits": [{"path": "a.txt", "mode": "overwrite", "content": "two\n"},
            {"path": "z.txt", "mode": "create", "content": "zzz\n"}]}"#;
        workspace.write("../edits", edits);
        kill(&workspace, &["apply", "--request", "../edits"]);
        let mut command = workspace.command("strace");
        let inject = format!("inject=write:signal=KILL:when={n}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "-e", &inject]);
        command.args([EDT, "status"]).output().unwrap();
        let answer = workspace.edt(&["status"]);
        assert!(!answer.json["recovered"].to_string().contains("kept"), "{n}: {:#}", answer.json);
        assert_eq!((answer.exit, workspace.status().as_str()), (0, ""), "{n}");
        workspace.is_sound();
    }
}

/// The user staged it before another file was edited.
#[test]
fn what_the_user_staged_stays_staged_after_a_killed_edit_of_another_file() {
    if !has_strace() {
        return;
    }
    {
        let is_decided = |n: &u32| {
            let workspace = TestRepo::with(FILES);
            workspace.overwrite("a.txt", "agent\n");
            workspace.overwrite("b.txt", "agent\n");
            workspace.git(&["reset", "--quiet", "HEAD~2", "--", "a.txt"]);
            let tip = workspace.rev("HEAD");
            let edit = ["apply", "b.txt", "--mode", "overwrite", "--content", "two\n"];
            kill_at_nth(&workspace, "renameat2", *n, &edit);
            let is_decided = workspace.rev("HEAD") != tip;
            if is_decided {
                assert_eq!(workspace.edt(&["status"]).exit, 0);
                assert_eq!(workspace.status(), "MM a.txt\n");
            }
            is_decided
        };
        assert!((1..9).any(|n| is_decided(&n)), "no kill came after the decision");
    }
}

#[test]
fn an_undo_that_was_killed_before_its_decision_is_rolled_back_although_the_user_amended() {
    if !has_strace() {
        return;
    }
    // The user may give a commit any time.
    let dates = [None, Some("1000000000 +0000")];
    for date in dates {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        workspace.overwrite("a.txt", "two\n");
        kill_at(&workspace, "renameat", &["undo"]);
        assert_eq!(workspace.text("a.txt"), "one\n");
        remove_locks(&workspace);
        let mut amend = workspace.command("git");
        amend.args(["commit", "--quiet", "--amend", "--message=amended"]);
        amend.envs(date.map(|date| ("GIT_COMMITTER_DATE", date)));
        assert!(amend.output().unwrap().status.success());
        let recovered = workspace.edt(&["status"]).json["recovered"].clone();
        assert_ne!(recovered["action"], "finished");
        assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("two\n", ""));
        assert_eq!(workspace.git(&["for-each-ref", "refs/edt/main-1/undone"]), "");
    }
}

/// The user removed Git's lock and put the old text back. Nothing was staged.
#[test]
fn the_index_of_a_killed_edit_follows_although_the_user_put_the_file_back() {
    if !has_strace() {
        return;
    }
    {
        let is_decided = |n: &u32| {
            let workspace = TestRepo::with(FILES);
            workspace.overwrite("b.txt", "agent\n");
            let tip = workspace.rev("HEAD");
            let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
            kill_at_nth(&workspace, "renameat2", *n, &edit);
            let is_decided = workspace.rev("HEAD") != tip;
            if is_decided {
                remove_locks(&workspace);
                workspace.write("a.txt", "one\n");
                assert_eq!(workspace.edt(&["status"]).exit, 0);
                assert_eq!(workspace.status(), " M a.txt\n");
            }
            is_decided
        };
        assert!((1..9).any(|n| is_decided(&n)), "no kill came after the decision");
    }
}

/// It displaced no file, and staged no index.
#[test]
fn a_killed_edit_that_only_created_a_file_is_rolled_back() {
    if !has_strace() {
        return;
    }
    let not_switched: Acts = &[&["begin", "s", "--no-switch"]];
    let cases: [(Acts, Acts, &[&str]); 3] = [
        (not_switched, &[], &["branch", "--quiet", "-D", "edt/s"]),
        (not_switched, &[], &["branch", "--move", "edt/s", "mine"]),
        (not_switched, &[], &["branch", "--force", "edt/s", "main"]),
    ];
    for (calls, setup, act) in cases {
        let workspace = TestRepo::with(FILES);
        calls.iter().for_each(|args| drop(workspace.edt(args).landed()));
        workspace.overwrite("a.txt", "agent\n");
        setup.iter().for_each(|args| drop(workspace.git(args)));
        let create = ["apply", "n.txt", "--mode", "create", "--content", "new\n"];
        kill_at(&workspace, "renameat", &create);
        assert!(workspace.exists("n.txt"), "{act:?}");
        remove_locks(&workspace);
        workspace.write("b.txt", "the user's\n");
        workspace.git(act);
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{act:?}");
        assert!(!workspace.exists("n.txt"), "{setup:?} {act:?}");
    }
}

/// The disk was full when the line of the log was to be written.
#[test]
fn an_answered_edit_without_a_line_in_the_log_stays_although_the_user_moved_its_branch() {
    if !has_strace() {
        return;
    }
    let acts: [&[&str]; 2] = [
        &["reset", "--quiet", "--soft", "HEAD~1"],
        &["commit", "--quiet", "--all", "--amend", "--message=mine"],
    ];
    for act in acts {
        let is_unfinished = |n: &u32| {
            let workspace = TestRepo::with(FILES);
            workspace.overwrite("b.txt", "agent\n");
            let mut command = workspace.command("strace");
            let inject = format!("inject=write:error=ENOSPC:when={n}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=write", "-e", &inject]);
            command.args([EDT, "apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]);
            let answer = command.output().unwrap();
            let is_unfinished =
                String::from_utf8_lossy(&answer.stdout).contains("a later step failed");
            if is_unfinished {
                remove_locks(&workspace);
                workspace.git(act);
                let tip = workspace.rev("HEAD");
                assert_eq!(workspace.edt(&["status"]).exit, 0, "{act:?}");
                assert_eq!(workspace.text("a.txt"), "two\n", "{act:?}");
                // No line says now that the branch came back.
                workspace.git(&["pack-refs", "--all"]);
                assert_eq!(workspace.edt(&["status"]).exit, 0, "{act:?}");
                assert_eq!(workspace.rev("HEAD"), tip, "{act:?}");
                assert_eq!(workspace.rev("HEAD@{0}"), tip, "{act:?}");
            }
            is_unfinished
        };
        assert!((1..40).any(|n| is_unfinished(&n)), "no write failed after the decision");
    }
}

/// The user committed, and what shows the kill must outlive a recovery that is killed, too.
#[test]
fn a_recovery_that_was_killed_gives_the_edit_up_all_the_same() {
    if !has_strace() {
        return;
    }
    let create: &[&str] = &["apply", "z.txt", "--mode", "create", "--content", "zzz\n"];
    let calls = ["unlinkat", "pwrite64", "renameat2", "renameat", "unlink", "syncfs"];
    for args in [create, &["undo"]] {
        for (call, n) in calls.into_iter().flat_map(|call| (1..6).map(move |n| (call, n))) {
            let case = format!("{args:?} {call} {n}");
            let workspace = TestRepo::with(FILES);
            workspace.overwrite("b.txt", "agent\n");
            workspace.overwrite("a.txt", "two\n");
            kill_at(&workspace, "renameat", args);
            remove_locks(&workspace);
            workspace.write("b.txt", "the user's\n");
            workspace.git(&["commit", "--quiet", "--message=the user's", "--", "b.txt"]);
            let mut command = workspace.command("strace");
            let (trace, inject) =
                (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            command.args([EDT, "status"]).output().unwrap();
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{case}");
            assert_eq!(
                (workspace.text("a.txt").as_str(), workspace.status().as_str()),
                ("two\n", "")
            );
            assert_eq!(workspace.git(&["for-each-ref", "refs/edt/main-1/undone"]), "", "{case}");
        }
    }
}

/// A log shows that the target of the landing had it, but HEAD was not there.
#[test]
fn a_killed_landing_that_the_user_took_out_of_its_target_does_not_move_head() {
    if !has_strace() {
        return;
    }
    let is_decided = |n: &u32| {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("a.txt", "agent\n");
        let (head, main) = (workspace.git(&["symbolic-ref", "HEAD"]), workspace.rev("main"));
        let mut command = workspace.command("strace");
        let inject = format!("inject=renameat:signal=KILL:when={n}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat", "-e", &inject, EDT]);
        command.args(["land", "-m", "landed"]).output().unwrap();
        let is_decided =
            workspace.rev("main") != main && workspace.git(&["symbolic-ref", "HEAD"]) == head;
        if is_decided {
            remove_locks(&workspace);
            workspace.git(&["branch", "--quiet", "--force", "main", &main]);
            let answer = workspace.edt(&["status"]);
            assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), head);
            assert_eq!(workspace.status(), "");
            assert!(answer.json["session"].is_object(), "{:#}", answer.json);
        }
        is_decided
    };
    assert!((1..6).any(|n| is_decided(&n)), "no kill came between the two moves");
}

/// The user committed on the branch to whose commit the undo goes.
#[test]
fn a_killed_undo_whose_target_the_user_left_is_rolled_back() {
    if !has_strace() {
        return;
    }
    for (call, n) in [("renameat", 1), ("renameat2", 1), ("linkat", 1), ("linkat", 2)] {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("a.txt", "two\n");
        let session = workspace.git(&["symbolic-ref", "--short", "HEAD"]);
        kill_at_nth(&workspace, call, n, &["undo"]);
        remove_locks(&workspace);
        workspace.git(&["switch", "--quiet", "--force", "main"]);
        workspace.git(&["commit", "--quiet", "--allow-empty", "--message=the user's"]);
        workspace.git(&["switch", "--quiet", session.trim()]);
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{call} {n}");
        assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("two\n", ""));
        assert_eq!(workspace.git(&["for-each-ref", "refs/edt/main-1/undone"]), "", "{call} {n}");
        workspace.is_sound();
    }
}

/// The user took the edit out of its branch before, perhaps in the same second.
#[test]
fn a_killed_edit_whose_commit_the_user_had_left_before_is_rolled_back() {
    if !has_strace() {
        return;
    }
    for n in 1..3 {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        let tip = workspace.rev("HEAD");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        workspace.edt(&edit).landed();
        workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        kill_at_nth(&workspace, "renameat2", n, &edit);
        if workspace.rev("HEAD") == tip {
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{n}");
            assert_eq!(
                (workspace.text("a.txt").as_str(), workspace.status().as_str()),
                ("one\n", "")
            );
        }
    }
}

/// As on NFS and some FUSE file systems.
#[test]
fn a_killed_edit_is_rolled_back_where_files_cannot_be_exchanged() {
    if !has_strace() {
        return;
    }
    let with = |workspace: &TestRepo, inject: &[&str], args: &[&str]| {
        let mut command = workspace.command("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2,renameat,unlinkat"]);
        for inject in inject {
            command.args(["-e", &format!("inject={inject}")]);
        }
        command.arg(EDT).args(args).output().unwrap()
    };
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
    // The edit writes three objects before. Of the recovery it is the second and the fourth call.
    let (edits, recovers) = ("renameat2:error=EINVAL:when=5", "renameat2:error=EINVAL:when=2+2");
    for n in 0..8 {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        with(&workspace, &[edits, "renameat:signal=KILL:when=1"], &edit);
        assert_eq!(workspace.text("a.txt"), "two\n");
        let stage = workspace.git_dir("--git-common-dir").join("edt/main/stage");
        let staged = || fs::read_dir(&stage).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(staged().all(|name| name == "index"), "{:?}", staged().collect::<Vec<_>>());
        let kill = format!("unlinkat:signal=KILL:when={}", n + 1);
        with(&workspace, &[recovers, &kill], &["status"]);
        assert!(with(&workspace, &[recovers], &["status"]).status.success());
        assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("one\n", ""));
        assert_eq!(staged().count(), 0);
        workspace.is_sound();
    }
}
