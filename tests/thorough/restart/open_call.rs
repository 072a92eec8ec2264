//! A call was killed before its decision, the user went on with plain Git, and then the machine was
//! restarted in an orderly way: nothing is lost from the disk. What a kill in the same boot leaves
//! is left here, too.

use super::*;

const KEPT: &str = "the user's only copy\n";

/// Everything that the user finds of a text: files of the worktree, and those that edt keeps.
fn finds(workspace: &TestRepo, text: &str) -> bool {
    let stage = workspace.git_dir("--git-common-dir").join("edt/main/stage");
    let all = [&workspace.root, &stage].map(|place| fs::read_dir(place).unwrap());
    let mut paths = all.into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.any(|path| fs::read_to_string(path).is_ok_and(|found| found == text))
}

type Acts = &'static [&'static [&'static str]];

#[test]
fn a_killed_edit_is_rolled_back_after_a_restart_wherever_the_user_moved_the_branch() {
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
            // The bytes of an ignored file are renamed into the private store before.
            let n = if path == ".env" { 2 } else { 1 };
            kill_at_nth(&workspace, "rename", n, &[&["apply", path][..], call].concat());
            assert!(!workspace.exists(path) || workspace.text(path) != KEPT, "{case}");
            remove_locks(&workspace);
            workspace.write("b.txt", "the user's\n");
            act.iter().for_each(|args| drop(workspace.git(args)));
            restart_orderly(&workspace);
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{case}");
            assert!(finds(&workspace, KEPT), "{case}");
            assert!(!finds(&workspace, "two\n") || act[0].contains(&"--all"), "{case}");
            workspace.is_sound();
        }
    }
}

#[test]
fn a_killed_landing_leaves_nothing_after_a_restart_if_the_user_committed_in_its_target() {
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
            restart_orderly(&workspace);
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
fn a_killed_move_of_head_is_given_up_after_a_restart_if_the_user_put_its_files_back() {
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
            restart_orderly(&workspace);
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
        for (call, n, restarts) in ["rename", "linkat"]
            .into_iter()
            .flat_map(|call| (1..6).flat_map(move |n| [(call, n, false), (call, n, true)]))
        {
            let case = format!("{args:?} {call} {n} {restarts}");
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
            if restarts {
                restart_orderly(&workspace);
            }
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{case}");
            let head = workspace.git(&["symbolic-ref", "HEAD"]);
            assert_ne!(head.trim(), format!("refs/heads/{target}"), "{case}");
            assert_eq!(workspace.rev(target), at, "{case}");
            assert_eq!(workspace.at(&other).status(), "", "{case}");
        }
    }
}

/// The recovery of a killed edit is killed, too, and then the machine is restarted.
#[test]
fn a_rollback_that_was_killed_ends_after_a_restart() {
    if !has_strace() {
        return;
    }
    for (call, n) in ["unlinkat", "pwrite64", "renameat2", "rename", "unlink"]
        .into_iter()
        .flat_map(|call| (1..7).map(move |n| (call, n)))
    {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"];
        kill_at(&workspace, "rename", &edit);
        let mut command = workspace.command("strace");
        let (trace, inject) =
            (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
        command.args([EDT, "status"]).output().unwrap();
        restart_orderly(&workspace);
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
        restart_orderly(&workspace);
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

/// An edit after the one that is undone was undone before.
#[test]
fn an_undo_after_another_one_is_completed_after_a_restart() {
    if !has_strace() {
        return;
    }
    for format in FORMATS {
        let workspace = TestRepo::made(&[format], FILES);
        workspace.overwrite("a.txt", "two\n");
        workspace.overwrite("b.txt", "agent\n");
        workspace.edt(&["undo"]).landed();
        kill(&workspace, &["undo"]);
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{format}");
        assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("one\n", ""));
        assert_eq!(workspace.rev("HEAD"), workspace.rev("main"), "{format}");
        workspace.is_sound();
    }
}

/// Nobody moved the branch: the lines of both undos are lost.
#[test]
fn two_undos_are_restored_after_a_power_cut_that_lost_them() {
    for header in [true, false] {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("a.txt", "two\n");
        workspace.overwrite("a.txt", "three\n");
        let git = workspace.git_dir("--git-dir");
        let names = ["index", "HEAD", BRANCH];
        let files = names.map(|name| git.join(name)).into_iter();
        let files: Vec<_> = files.chain([workspace.root.join("a.txt")]).collect();
        for (i, file) in files.iter().enumerate() {
            fs::hard_link(file, git.join(format!("kept-{i}"))).unwrap();
        }
        let logs = [git.join("logs").join(BRANCH), git.join("logs/HEAD")];
        let texts = logs.clone().map(|log| fs::read_to_string(log).unwrap());
        let journal = git.join("edt/main/journal");
        let (mut head, undo) = (fs::read(&journal).unwrap()[..56].to_vec(), &["undo"]);
        workspace.edt(undo).landed();
        if header {
            head = fs::read(&journal).unwrap()[..56].to_vec();
        }
        workspace.edt(undo).landed();
        for (i, file) in files.iter().enumerate() {
            fs::rename(git.join(format!("kept-{i}")), file).unwrap();
        }
        logs.iter().zip(texts).for_each(|(log, text)| fs::write(log, text).unwrap());
        fs::remove_dir_all(git.join("refs/edt/main-1/undone")).unwrap();
        File::options().write(true).open(journal).unwrap().write_all_at(&head, 0).unwrap();
        let cut = Cut { workspace, kept: PathBuf::new(), objects: Vec::new() };
        cut.restart_with_header(true);
        let workspace = cut.workspace;
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{header}");
        assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("one\n", ""));
        assert_eq!(workspace.rev("HEAD"), workspace.rev("main"), "{header}");
        workspace.is_sound();
    }
}

/// Only the header of the journal and the logs were lost.
#[test]
fn an_answered_edit_that_the_user_took_out_of_the_branch_stays_in_the_file() {
    for path in ["a.txt", ".env"] {
        let workspace = TestRepo::with(FILES);
        workspace.write(".git/info/exclude", ".env\n");
        workspace.overwrite("b.txt", "agent\n");
        workspace.write(path, KEPT);
        let git = workspace.git_dir("--git-dir");
        let logs = [git.join("logs").join(BRANCH), git.join("logs/HEAD")];
        let texts = logs.clone().map(|log| fs::read_to_string(log).unwrap());
        let journal = git.join("edt/main/journal");
        let head = fs::read(&journal).unwrap()[..56].to_vec();
        workspace.edt(&["apply", path, "--mode", "overwrite", "--content", "two\n"]).landed();
        workspace.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
        logs.iter().zip(texts).for_each(|(log, text)| fs::write(log, text).unwrap());
        File::options().write(true).open(journal).unwrap().write_all_at(&head, 0).unwrap();
        restart_orderly(&workspace);
        assert_eq!(workspace.edt(&["status"]).exit, 0, "{path}");
        assert_eq!(workspace.text(path), "two\n", "{path}");
    }
}

/// The user staged it before another file was edited.
#[test]
fn what_the_user_staged_stays_staged_after_a_killed_edit_of_another_file() {
    if !has_strace() {
        return;
    }
    for restarts in [false, true] {
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
                if restarts {
                    restart_orderly(&workspace);
                }
                assert_eq!(workspace.edt(&["status"]).exit, 0);
                assert_eq!(workspace.status(), "MM a.txt\n", "{restarts}");
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
    for (restarts, date) in [false, true].into_iter().flat_map(|one| dates.map(|date| (one, date)))
    {
        let workspace = TestRepo::with(FILES);
        workspace.overwrite("b.txt", "agent\n");
        workspace.overwrite("a.txt", "two\n");
        kill_at(&workspace, "rename", &["undo"]);
        assert_eq!(workspace.text("a.txt"), "one\n");
        remove_locks(&workspace);
        let mut amend = workspace.command("git");
        amend.args(["commit", "--quiet", "--amend", "--message=amended"]);
        amend.envs(date.map(|date| ("GIT_COMMITTER_DATE", date)));
        assert!(amend.output().unwrap().status.success());
        if restarts {
            restart_orderly(&workspace);
        }
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
    for restarts in [false, true] {
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
                if restarts {
                    restart_orderly(&workspace);
                }
                assert_eq!(workspace.edt(&["status"]).exit, 0);
                assert_eq!(workspace.status(), " M a.txt\n", "{restarts}");
            }
            is_decided
        };
        assert!((1..9).any(|n| is_decided(&n)), "no kill came after the decision");
    }
}

/// It displaced no file, and staged no index.
#[test]
fn a_killed_edit_that_only_created_a_file_is_rolled_back_after_a_restart() {
    if !has_strace() {
        return;
    }
    let not_switched: Acts = &[&["begin", "s", "--no-switch"]];
    let commit: &[&str] = &["commit", "--quiet", "--all", "--message=the user's"];
    let cases: [(Acts, Acts, &[&str]); 6] = [
        (not_switched, &[], &["branch", "--quiet", "-D", "edt/s"]),
        (not_switched, &[], &["branch", "--move", "edt/s", "mine"]),
        (not_switched, &[], &["branch", "--force", "edt/s", "main"]),
        (&[], &[&["update-index", "--split-index"]], commit),
        (&[], &[&["update-index", "--split-index"]], &["reset", "--quiet", "--soft", "HEAD~1"]),
        (&[], &[&["sparse-checkout", "set", "--sparse-index", "x"]], commit),
    ];
    for (calls, setup, act) in cases {
        let workspace = TestRepo::with(FILES);
        calls.iter().for_each(|args| drop(workspace.edt(args).landed()));
        workspace.overwrite("a.txt", "agent\n");
        setup.iter().for_each(|args| drop(workspace.git(args)));
        let create = ["apply", "n.txt", "--mode", "create", "--content", "new\n"];
        kill_at(&workspace, "rename", &create);
        assert!(workspace.exists("n.txt"), "{act:?}");
        remove_locks(&workspace);
        workspace.write("b.txt", "the user's\n");
        workspace.git(act);
        restart_orderly(&workspace);
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
    for (restarts, act) in [false, true].into_iter().flat_map(|one| acts.map(|act| (one, act))) {
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
                if restarts {
                    restart_orderly(&workspace);
                }
                let tip = workspace.rev("HEAD");
                assert_eq!(workspace.edt(&["status"]).exit, 0, "{restarts} {act:?}");
                assert_eq!(workspace.text("a.txt"), "two\n", "{restarts} {act:?}");
                // No line says now that the branch came back.
                workspace.git(&["pack-refs", "--all"]);
                restart_orderly(&workspace);
                assert_eq!(workspace.edt(&["status"]).exit, 0, "{restarts} {act:?}");
                assert_eq!(workspace.rev("HEAD"), tip, "{restarts} {act:?}");
                assert_eq!(workspace.rev("HEAD@{0}"), tip, "{restarts} {act:?}");
            }
            is_unfinished
        };
        assert!((1..40).any(|n| is_unfinished(&n)), "no write failed after the decision");
    }
}

/// The recovery restored an index, and was killed.
#[test]
fn an_index_that_a_recovery_staged_is_no_sign_of_a_killed_edit() {
    if !has_strace() {
        return;
    }
    for call in ["linkat", "pwrite64", "renameat2"] {
        for n in 1..5 {
            let workspace = TestRepo::with(FILES);
            workspace.edt(&["apply", "c.txt", "--mode", "create", "--content", "c\n"]).landed();
            let git = workspace.git_dir("--git-dir");
            fs::hard_link(git.join("index"), git.join("kept")).unwrap();
            workspace.overwrite("b.txt", "agent\n");
            let logs = [git.join("logs").join(BRANCH), git.join("logs/HEAD")];
            let texts = logs.clone().map(|log| fs::read_to_string(log).unwrap());
            let journal = git.join("edt/main/journal");
            let head = fs::read(&journal).unwrap()[..56].to_vec();
            workspace.overwrite("a.txt", "two\n");
            workspace.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
            logs.iter().zip(texts).for_each(|(log, text)| fs::write(log, text).unwrap());
            fs::rename(git.join("kept"), git.join("index")).unwrap();
            File::options().write(true).open(journal).unwrap().write_all_at(&head, 0).unwrap();
            restart_orderly(&workspace);
            let mut command = workspace.command("strace");
            let (trace, inject) =
                (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            command.args([EDT, "status"]).output().unwrap();
            restart_orderly(&workspace);
            assert_eq!(workspace.edt(&["status"]).exit, 0, "{call} {n}");
            assert_eq!(workspace.text("a.txt"), "two\n", "{call} {n}");
        }
    }
}

/// A first attempt, which was rolled back, made the same commit.
#[test]
fn the_private_record_of_an_edit_that_was_given_up_stays() {
    if !has_strace() {
        return;
    }
    let overwrite = ["apply", ".env", "--mode", "overwrite", "--content", "two\n"];
    let failed_first = |n: &u32| {
        let workspace = TestRepo::with(FILES);
        workspace.write(".git/info/exclude", ".env\n");
        workspace.overwrite("b.txt", "agent\n");
        workspace.write(".env", KEPT);
        let mut command = workspace.command("strace");
        let inject = format!("inject=renameat2:error=EIO:when={n}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", &inject]);
        let has_failed = !command.arg(EDT).args(overwrite).output().unwrap().status.success();
        if has_failed {
            kill_at_nth(&workspace, "rename", 2, &overwrite);
            remove_locks(&workspace);
            workspace.write("b.txt", "the user's\n");
            workspace.git(&["commit", "--quiet", "--all", "--message=the user's"]);
            restart_orderly(&workspace);
            assert_eq!(workspace.edt(&["status"]).exit, 0);
            assert_eq!(workspace.text(".env"), KEPT);
            let private = workspace.git_dir("--git-common-dir").join("edt/private/main-1");
            assert_eq!(fs::read_dir(private).unwrap().count(), 1);
        }
        has_failed
    };
    assert!((1..6).any(|n| failed_first(&n)), "no exchange failed");
}

/// The user committed, and what shows the kill must outlive a recovery that is killed, too.
#[test]
fn a_recovery_that_was_killed_gives_the_edit_up_all_the_same() {
    if !has_strace() {
        return;
    }
    let create: &[&str] = &["apply", "z.txt", "--mode", "create", "--content", "zzz\n"];
    let calls = ["unlinkat", "pwrite64", "renameat2", "rename", "unlink", "syncfs"];
    for (args, restarts) in [(create, false), (create, true), (&["undo"], true)] {
        for (call, n) in calls.into_iter().flat_map(|call| (1..6).map(move |n| (call, n))) {
            let case = format!("{args:?} {restarts} {call} {n}");
            let workspace = TestRepo::with(FILES);
            workspace.overwrite("b.txt", "agent\n");
            workspace.overwrite("a.txt", "two\n");
            kill_at(&workspace, "rename", args);
            remove_locks(&workspace);
            workspace.write("b.txt", "the user's\n");
            workspace.git(&["commit", "--quiet", "--message=the user's", "--", "b.txt"]);
            if restarts {
                restart_orderly(&workspace);
            }
            let mut command = workspace.command("strace");
            let (trace, inject) =
                (format!("trace={call}"), format!("inject={call}:signal=KILL:when={n}"));
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
            command.args([EDT, "status"]).output().unwrap();
            restart_orderly(&workspace);
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
        let inject = format!("inject=rename:signal=KILL:when={n}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=rename", "-e", &inject, EDT]);
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
    for (call, n) in [("rename", 1), ("renameat2", 1), ("linkat", 1), ("linkat", 2)] {
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
