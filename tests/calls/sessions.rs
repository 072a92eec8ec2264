//! Sessions side by side, what was changed outside edt, leaving a session, and housekeeping.

use serde_json::{Value, json};

use crate::test_repo::{Answer, TestRepo};

fn workspace() -> TestRepo {
    TestRepo::with(&[
        ("a.txt", b"a\n"),
        ("b.txt", b"b\n"),
        ("dir/c.txt", b"c\n"),
        (".gitignore", b"*.log\n"),
    ])
}

fn session<'a>(answer: &'a Answer, name: &str) -> &'a Value {
    let all = answer.json["sessions"].as_array().unwrap();
    all.iter()
        .find(|one| one["name"] == json!(name))
        .unwrap_or_else(|| panic!("no session {name}: {all:#?}"))
}

fn trailer(workspace: &TestRepo, rev: &str, key: &str) -> String {
    workspace
        .git(&["log", "-1", &format!("--format=%(trailers:key={key},valueonly,separator=)"), rev])
        .trim()
        .to_owned()
}

#[test]
fn a_checkpoint_records_what_is_tracked_and_new_and_not_ignored() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("a.txt", "changed\n");
    workspace.write("new/deep/file.txt", "new\n");
    workspace.write("noise.log", "ignored\n");
    std::fs::remove_file(workspace.root.join("b.txt")).unwrap();
    let answer = workspace.edt(&["checkpoint", "-m", "by hand"]).landed();
    assert_eq!(
        workspace.git(&["show", "--format=%s", "--name-status", "HEAD"]),
        "by hand\n\nM\ta.txt\nD\tb.txt\nA\tnew/deep/file.txt\n"
    );
    assert_eq!(answer.json["files"].as_array().unwrap().len(), 3);
    assert_eq!(
        (trailer(&workspace, "HEAD", "Edt-Kind"), trailer(&workspace, "HEAD", "Edt-Foreign")),
        ("checkpoint".into(), String::new())
    );
    assert!(workspace.exists("noise.log"));
    workspace.is_clean();
    workspace.is_sound();
    assert_eq!(workspace.edt(&["checkpoint"]).json["status"], json!("unchanged"));
}

#[test]
fn a_checkpoint_of_some_paths_leaves_the_others_as_they_are() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("a.txt", "changed\n");
    workspace.write("dir/c.txt", "changed\n");
    workspace.write("dir/new.txt", "new\n");
    workspace.edt(&["checkpoint", "dir"]).landed();
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &["checkpoint", "nowhere.txt"]);
    workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["checkpoint", "../x"]);
}

#[test]
fn a_checkpoint_without_a_session_begins_one() {
    let workspace = workspace();
    workspace.write("a.txt", "changed\n");
    let answer = workspace.edt(&["checkpoint"]).landed();
    assert_eq!(answer.json["session"]["began"], json!(true));
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/edt/main-1");
    workspace.is_clean();
}

#[test]
fn a_checkpoint_without_switching_records_the_users_changes() {
    let workspace = workspace();
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.write("b.txt", "hand\n");
    workspace.edt(&["checkpoint"]).landed();
    assert_eq!(workspace.git(&["show", "--format=", "--name-only", "edt/s"]).trim(), "b.txt");
    assert_eq!(workspace.status(), " M a.txt\n M b.txt\n");
    assert_eq!(workspace.edt(&["checkpoint"]).json["status"], json!("unchanged"));
}

/// Regression: an ignored path was answered with "unchanged" and no word about it, and the worktree
/// itself was not a valid path.
#[test]
fn a_checkpoint_names_what_is_ignored_and_records_everything_below_the_root() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("noise.log", "wanted\n");
    workspace.write("logs/one.log", "x\n");
    for ignored in ["logs", "noise.log"] {
        let answer = workspace.edt(&["checkpoint", ignored]);
        let (status, warning) = (&answer.json["status"], &answer.json["warnings"][0]);
        assert_eq!(status, "unchanged", "{:#}", answer.json);
        assert_eq!((&warning["code"], &warning["path"]), (&json!("left_out"), &json!(ignored)));
        let printed = workspace
            .command(crate::test_repo::EDT)
            .args(["checkpoint", ignored])
            .output()
            .unwrap();
        assert!(!String::from_utf8_lossy(&printed.stdout).contains("nothing to record"));
    }
    workspace.write("a.txt", "changed\n");
    workspace.write("dir/new.txt", "new\n");
    let files = &workspace.edt(&["checkpoint", "."]).landed().json["files"];
    assert_eq!(files.as_array().unwrap().len(), 2, "{files:#}");
    assert_eq!(workspace.git(&["ls-files", "noise.log", "logs"]), "");
    workspace.is_clean();
}

/// Regression: only the new name of a rename was listed, and the old one stayed in the session.
#[test]
fn a_checkpoint_records_both_sides_of_a_rename() {
    let workspace = workspace();
    workspace.write("dir/c.txt", crate::test_repo::lines(30));
    workspace.git(&["commit", "--quiet", "--all", "-m", "enough to be recognised"]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.git(&["mv", "dir/c.txt", "moved.txt"]);
    let moved = &workspace.edt(&["status"]).json["user_changes"][0];
    assert_eq!((&moved["from"], &moved["path"]), (&json!("dir/c.txt"), &json!("moved.txt")));
    workspace.edt(&["checkpoint"]).landed();
    assert_eq!(
        workspace.git(&["show", "--format=", "--no-renames", "--name-status", "HEAD"]),
        "D\tdir/c.txt\nA\tmoved.txt\n"
    );
    workspace.is_clean();
}

/// Regression: the name was made lossy before the search, and the file was left out without a
/// warning.
#[test]
fn a_checkpoint_records_names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    std::fs::write(workspace.root.join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), "new\n")
        .unwrap();
    assert_eq!(workspace.edt(&["status"]).json["untracked"].as_array().unwrap().len(), 1);
    workspace.edt(&["checkpoint"]).landed();
    assert_eq!(workspace.git(&["show", "--format=", "--name-only", "HEAD"]), "\"caf\\351.txt\"\n");
    workspace.is_clean();
}

#[test]
fn links_are_left_out_of_a_checkpoint_and_named() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    std::os::unix::fs::symlink("a.txt", workspace.root.join("link")).unwrap();
    workspace.write("a.txt", "changed\n");
    let answer = workspace.edt(&["checkpoint"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["path"]),
        (0, &json!("link")),
        "{:#}",
        answer.json
    );
    assert_eq!(workspace.status(), "?? link\n");
    assert_eq!(workspace.refuses(&["PATH_THROUGH_SYMLINK"], 1, &["checkpoint", "link"]).exit, 1);
}

#[test]
fn changes_of_the_lines_that_an_edit_changes_stay_the_users() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.write("a.txt", "agent\nand a user\n");
    workspace.write("b.txt", "a user\n");
    let status = workspace.edt(&["status"]).json;
    let changed = |at: usize| &status["user_changes"][at]["path"];
    assert_eq!((changed(0), changed(1)), (&json!("a.txt"), &json!("b.txt")));
    let answer = workspace
        .edt(&["apply", "a.txt", "--mode", "append", "--content", "agent again\n"])
        .landed();
    assert_eq!(answer.json["files"][0]["recorded"], json!("private"));
    assert_eq!(workspace.blob("HEAD:a.txt"), b"agent\n");
    assert_eq!(workspace.text("a.txt"), "agent\nand a user\nagent again\n");
    assert_eq!(workspace.status(), " M a.txt\n M b.txt\n");
}

#[test]
fn sessions_coexist_in_their_own_worktrees() {
    let workspace = workspace();
    let sides: Vec<TestRepo> = ["one", "two", "three"]
        .iter()
        .map(|name| {
            let place = workspace.home.join(name);
            workspace.edt(&["begin", name, "--worktree", place.to_str().unwrap()]).landed();
            workspace.at(place)
        })
        .collect();
    std::thread::scope(|scope| {
        for side in &sides {
            scope.spawn(move || {
                for n in 0..20 {
                    side.edt(&[
                        "apply",
                        "a.txt",
                        "--mode",
                        "append",
                        "--content",
                        &format!("{n}\n"),
                    ])
                    .landed();
                }
            });
        }
    });
    let status = workspace.edt(&["status"]);
    for (side, name) in sides.iter().zip(["one", "two", "three"]) {
        side.is_clean();
        assert_eq!(side.edt(&["status"]).json["edits"], json!(20));
        assert_eq!(session(&status, name)["worktree"], json!(side.root.canonicalize().unwrap()));
        // The session of another worktree is not to be worked in from here.
        assert!(
            !workspace.try_git(&["switch", &format!("edt/{name}")]).status.success(),
            "git itself refuses"
        );
    }
    assert_eq!((status.json["session"].clone(), workspace.status().as_str()), (json!(null), ""));
    workspace.is_sound();
}

#[test]
fn a_worktree_is_not_made_where_something_is() {
    let workspace = workspace();
    std::fs::create_dir(workspace.home.join("full")).unwrap();
    std::fs::write(workspace.home.join("full/x"), "x").unwrap();
    workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["begin", "s", "--worktree", workspace.home.join("full").to_str().unwrap()],
    );
    std::fs::write(workspace.home.join("file"), "x").unwrap();
    workspace.refuses(
        &["IO_ERROR"],
        5,
        &["begin", "s", "--worktree", workspace.home.join("file/below").to_str().unwrap()],
    );
}

#[test]
fn undo_in_one_session_changes_no_other_session() {
    let workspace = workspace();
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "other", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    workspace.edt(&["begin", "own"]).landed();
    workspace.overwrite("a.txt", "own\n");
    side.overwrite("a.txt", "other\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!((workspace.text("a.txt").as_str(), side.text("a.txt").as_str()), ("a\n", "other\n"));
    workspace.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    assert_eq!(side.edt(&["status"]).json["edits"], json!(1));
}

#[test]
fn abandon_restores_the_files_and_keeps_the_commits() {
    let workspace = workspace();
    workspace.write("a.txt", "a user's, not recorded\n");
    workspace.write("untracked.txt", "a user's\n");
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.overwrite("b.txt", "agent\n");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]).landed();
    let tip = workspace.rev("HEAD");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.status().as_str()),
        ("a user's, not recorded\n", " M a.txt\n?? untracked.txt\n")
    );
    assert_eq!(workspace.rev("refs/edt/s/abandoned"), tip);
    assert!(!workspace.try_git(&["rev-parse", "--verify", "refs/heads/edt/s"]).status.success());
    assert_eq!(session(&workspace.edt(&["status", "--ended"]), "s")["state"], json!("abandoned"));
    workspace.is_sound();
    // The command that --help names restores it.
    workspace.git(&["checkout", "--quiet", "a.txt"]);
    workspace.git(&["branch", "edt/s", "refs/edt/s/abandoned"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    assert_eq!(
        (workspace.text("new.txt").as_str(), workspace.edt(&["status"]).json["edits"].as_u64()),
        ("new\n", Some(3))
    );
    workspace.overwrite("b.txt", "more\n");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.blob("refs/edt/s/abandoned:b.txt"), b"more\n");
    assert_eq!(workspace.rev("refs/edt/s/undone/1"), tip);
}

/// Regression: the earlier tip had been moved to the undone ones before anything could fail.
#[test]
fn an_abandon_that_fails_leaves_what_an_earlier_one_kept() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.edt(&["abandon"]).landed();
    workspace.git(&["branch", "edt/s", "main"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    workspace.overwrite("b.txt", "agent\n");
    let lock = workspace.root.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    workspace.refuses(&["REPOSITORY_BUSY"], 3, &["abandon"]);
    std::fs::remove_file(lock).unwrap();
    let (earlier, tip) = (workspace.rev("refs/edt/s/abandoned"), workspace.rev("edt/s"));
    workspace.edt(&["abandon"]).landed();
    assert_eq!(
        (workspace.rev("refs/edt/s/undone/1"), workspace.rev("refs/edt/s/abandoned")),
        (earlier, tip)
    );
}

#[test]
fn abandon_keeps_the_lines_that_the_user_typed() {
    let workspace = workspace();
    workspace.commit(&[("long.txt", b"1\n2\n3\n4\n5\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("long.txt", "one\n2\n3\n4\n5\n");
    workspace.write("long.txt", "one\n2\n3\n4\n5\nuser\n");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.blob("refs/edt/s/abandoned:long.txt"), b"one\n2\n3\n4\n5\n");
    assert_eq!(workspace.text("long.txt"), "1\n2\n3\n4\n5\nuser\n");
    assert_eq!(workspace.status(), " M long.txt\n");
}

/// Regression: always `SESSION_BUSY`, because the base branch is checked out in the worktree in
/// which the session began.
#[test]
fn abandon_in_a_worktree_of_its_own_detaches_its_head() {
    let workspace = workspace();
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    side.overwrite("a.txt", "agent\n");
    workspace.commit(&[("b.txt", b"moved\n")]);
    let tip = workspace.rev("edt/s");
    let answer = side.edt(&["abandon"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["code"]),
        (0, &json!("head_detached")),
        "{:#}",
        answer.json
    );
    assert_eq!(
        (side.rev("HEAD"), side.git(&["branch", "--show-current"])),
        (workspace.rev("main"), String::new())
    );
    assert_eq!((side.text("a.txt").as_str(), side.text("b.txt").as_str()), ("a\n", "moved\n"));
    assert_eq!(
        (workspace.rev("refs/edt/s/abandoned"), workspace.text("a.txt").as_str()),
        (tip, "a\n")
    );
    side.is_clean();
    workspace.is_sound();
    // The command of the warning.
    workspace.git(&["worktree", "remove", place.to_str().unwrap()]);
}

#[test]
fn abandon_goes_back_to_a_detached_head_and_to_an_unborn_branch() {
    let workspace = workspace();
    workspace.git(&["switch", "--quiet", "--detach"]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(
        (workspace.rev("HEAD"), workspace.git(&["branch", "--show-current"])),
        (workspace.rev("main"), String::new())
    );
    assert_eq!(workspace.text("a.txt"), "a\n");
    workspace.is_clean();
    let unborn = TestRepo::unborn(&[]);
    unborn.write("mine.txt", "a user's\n");
    unborn.edt(&["begin", "s"]).landed();
    unborn.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]).landed();
    unborn.edt(&["abandon"]).landed();
    assert_eq!(
        (unborn.git(&["symbolic-ref", "HEAD"]).trim(), unborn.status().as_str()),
        ("refs/heads/main", "?? mine.txt\n")
    );
    unborn.is_sound();
}

/// Regression: `NOT_A_FILE`, without a remedy.
#[test]
fn abandon_goes_to_the_base_where_the_branch_has_links_or_directories_instead_of_files() {
    for linked in [true, false] {
        let workspace = workspace();
        workspace.write("b.txt", "a user's\n");
        workspace.edt(&["begin", "s"]).landed();
        workspace.overwrite("a.txt", "agent\n");
        workspace.git(&["stash", "--quiet"]);
        workspace.git(&["switch", "--quiet", "main"]);
        std::fs::remove_file(workspace.root.join("dir/c.txt")).unwrap();
        if linked {
            std::os::unix::fs::symlink("../a.txt", workspace.root.join("dir/c.txt")).unwrap();
        }
        workspace.commit(if linked { &[] } else { &[("dir/c.txt/below.txt", b"below\n")] });
        workspace.git(&["switch", "--quiet", "edt/s"]);
        workspace.git(&["stash", "pop", "--quiet"]);
        let answer = workspace.edt(&["abandon"]);
        assert_eq!(
            (answer.exit, &answer.json["warnings"][0]["code"]),
            (0, &json!("head_detached")),
            "{:#}",
            answer.json
        );
        assert_eq!(workspace.rev("HEAD"), workspace.rev("main~1"));
        assert_eq!(
            (workspace.text("a.txt").as_str(), workspace.status().as_str()),
            ("a\n", " M b.txt\n")
        );
        // The command of the warning.
        assert!(
            answer.json["warnings"][0]["message"]
                .as_str()
                .unwrap()
                .ends_with("`git switch main` switches to it.")
        );
        workspace.git(&["switch", "--quiet", "main"]);
        assert_eq!(workspace.status(), " M b.txt\n");
    }
}

/// Regression: the hint was to switch to a branch that abandoning had deleted.
#[test]
fn the_name_of_an_abandoned_session_is_taken_and_the_hint_restores_it() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.edt(&["abandon"]).landed();
    let hint = workspace.refuses(&["SESSION_EXISTS"], 1, &["begin", "s"]).hint().to_owned();
    for command in hint.split('`').filter(|part| part.starts_with("git ")) {
        workspace.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    }
    assert_eq!(workspace.text("a.txt"), "agent\n");
    assert!(
        workspace
            .refuses(&["SESSION_EXISTS"], 1, &["begin", "s"])
            .hint()
            .contains("`git switch edt/s`")
    );
}

/// Regression: every change of a link was reported as an addition, without objects.
#[test]
fn changed_links_are_reported_by_their_kind_of_change() {
    let workspace = workspace();
    let link =
        |name: &str, to: &str| std::os::unix::fs::symlink(to, workspace.root.join(name)).unwrap();
    link("gone", "a.txt");
    link("other", "a.txt");
    workspace.commit(&[]);
    workspace.edt(&["begin", "s"]).landed();
    ["gone", "other"]
        .iter()
        .for_each(|name| std::fs::remove_file(workspace.root.join(name)).unwrap());
    link("new", "b.txt");
    link("other", "b.txt");
    workspace.commit(&[]);
    let answer = workspace.as_user(b"", &["land"], &[]);
    let printed = |file: &Value| {
        (file["change"].clone(), file["hash_before"].is_string(), file["hash_after"].is_string())
    };
    let printed: Vec<_> = answer.json["files"].as_array().unwrap().iter().map(printed).collect();
    assert_eq!(
        printed,
        [
            (json!("deleted"), true, false),
            (json!("added"), false, true),
            (json!("modified"), true, true)
        ],
        "{:#}",
        answer.json
    );
}

#[test]
fn abandon_follows_a_branch_that_moved() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("b.txt", b"moved\n")]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    workspace.edt(&["abandon"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.text("b.txt").as_str()),
        ("a\n", "moved\n")
    );
    workspace.is_clean();
}

/// Regression: the earlier content was recorded on the abandoned session and removed from the disk.
#[test]
fn abandon_writes_over_nothing_unrecorded_in_files_that_are_not_the_sessions() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("b.txt", b"moved\n"), ("new.txt", b"of main\n")]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    workspace.write("b.txt", "a user's\n");
    workspace.write("new.txt", "a user's\n");
    workspace.refuses(&["UNSAVED_CHANGES", "UNSAVED_CHANGES"], 3, &["abandon"]);
    workspace.git(&["add", "b.txt"]);
    workspace.write("b.txt", "b\n");
    workspace.write("new.txt", "of main\n");
    assert_eq!(
        workspace.refuses(&["UNSAVED_CHANGES"], 3, &["abandon"]).errors()[0]["path"],
        json!("b.txt")
    );
    workspace.git(&["restore", "--staged", "b.txt"]);
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.text("b.txt"), "moved\n");
    workspace.is_clean();
}

#[test]
fn abandon_without_switching_removes_the_edits_from_disk() {
    let workspace = workspace();
    workspace.write("b.txt", "a user's\n");
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.overwrite("b.txt", "agent\n");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(
        (workspace.text("b.txt").as_str(), workspace.status().as_str()),
        ("a user's\n", " M b.txt\n")
    );
    assert_eq!(workspace.edt(&["status"]).json["session"], json!(null));
}

/// Regression: the other branch's files were recorded on the session and replaced.
#[test]
fn a_session_without_switching_does_not_touch_another_branchs_files() {
    let workspace = workspace();
    workspace.git(&["switch", "--quiet", "-c", "other"]);
    workspace.commit(&[("a.txt", b"of another branch\n")]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.git(&["checkout", "--quiet", "--force", "other"]);
    workspace.refuses(&["SESSION_MOVED"], 3, &["undo"]);
    workspace.refuses(&["SESSION_MOVED"], 3, &["abandon"]);
    // Either way that the hint names.
    workspace.edt(&["checkpoint", "a.txt"]).landed();
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo"]);
    assert_eq!(workspace.edt(&["undo", "--save"]).exit, 0);
    assert_eq!(workspace.text("a.txt"), "a\n");
    workspace.edt(&["redo"]).landed();
    workspace.git(&["checkout", "--quiet", "--force", "main"]);
    workspace.edt(&["abandon"]).landed();
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("a\n", ""));
}

#[test]
fn gc_removes_what_has_ended_and_is_old_and_nothing_else() {
    let workspace = workspace();
    for (name, end) in [("first", "land"), ("second", "abandon")] {
        workspace.edt(&["begin", name]).landed();
        workspace.overwrite("a.txt", &format!("{name}\n"));
        workspace.edt(&[end]).landed();
    }
    workspace.edt(&["begin", "open"]).landed();
    workspace.overwrite("b.txt", "kept\n");
    workspace.overwrite("b.txt", "undone\n");
    workspace.edt(&["undo"]).landed();
    let before = workspace.snapshot();
    let dry = workspace.edt(&["gc", "--older-than", "0", "--dry-run"]);
    crate::test_repo::same(&before, &workspace.snapshot());
    assert_eq!(
        workspace.edt(&["gc"]).json["refs"],
        json!([]),
        "everything is younger than 30 days"
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let done = workspace.edt(&["gc", "--older-than", "0"]);
    assert_eq!(
        (done.json["sessions"].as_array().unwrap().len(), dry.json["schema"].as_str()),
        (2, Some("edt.gc/1"))
    );
    assert_eq!(done.json["after"]["loose"], json!(0));
    let left = workspace.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(
        left,
        "refs/edt/open/base\nrefs/edt/open/origin\nrefs/edt/open/record\nrefs/heads/edt/open\n\
         refs/heads/main\n"
    );
    workspace.overwrite("b.txt", "and on\n");
    workspace.edt(&["undo"]).landed();
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn gc_packs_where_git_writes_bitmaps() {
    let workspace = workspace();
    workspace.git(&["config", "repack.writeBitmaps", "true"]);
    workspace.overwrite("a.txt", "agent\n");
    assert_eq!(workspace.edt(&["gc"]).json["after"]["loose"], json!(0));
}

#[test]
fn status_and_stats_list_ended_sessions_on_request() {
    let workspace = workspace();
    for (name, end) in [("first", "land"), ("second", "abandon")] {
        workspace.edt(&["begin", name]).landed();
        workspace.overwrite("a.txt", &format!("{name}\n"));
        workspace.edt(&[end]).landed();
    }
    workspace.edt(&["begin", "open"]).landed();
    for command in ["status", "stats"] {
        let names = |args: &[&str]| {
            let answer = workspace.edt(args).json;
            let all = answer["sessions"].as_array().unwrap().clone();
            let names: Vec<Value> = all.into_iter().map(|one| one["name"].clone()).collect();
            (json!(names), answer["ended"].clone())
        };
        assert_eq!(names(&[command]), (json!(["open"]), json!(2)));
        let all = json!(["first", "open", "second"]);
        assert_eq!(names(&[command, "--ended"]), (all, json!(0)));
    }
    let total = workspace.edt(&["stats"]).json["total"].clone();
    assert_eq!(total, workspace.edt(&["stats", "--ended"]).json["total"]);
}

#[test]
fn automatic_gc_removes_sessions_that_ended_long_ago() {
    let workspace = workspace();
    workspace.edt(&["begin", "new"]).landed();
    workspace.overwrite("a.txt", "new\n");
    workspace.edt(&["land"]).landed();
    let landed = workspace.rev("HEAD");
    let tree = workspace.rev("HEAD^{tree}");
    let mut command = workspace.command("git");
    command.env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z");
    command.args(["commit-tree", "-m", "old", &tree]);
    let old = String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned();
    for name in ["refs/edt/old/base", "refs/edt/old/abandoned", "refs/heads/edt/old"] {
        workspace.git(&["update-ref", name, &old]);
    }
    let done = workspace.edt(&["gc", "--auto"]);
    assert_eq!(done.json["sessions"], json!([{"name": "old", "state": "abandoned"}]));
    assert!(refs(&workspace, "refs/edt/old/").is_empty());
    assert!(!refs(&workspace, "refs/edt/new/").is_empty());
    assert_eq!(workspace.rev("HEAD"), landed);
}

/// The names of the refs that begin with `prefix`.
fn refs(workspace: &TestRepo, prefix: &str) -> Vec<String> {
    workspace
        .git(&["for-each-ref", "--format=%(refname)", prefix])
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Everything is old enough for `edt gc --older-than 0` from the next second on.
fn gc_of_everything(workspace: &TestRepo) -> Answer {
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace.edt(&["gc", "--older-than", "0"])
}

/// Regression: all refs below `refs/edt/a/` were deleted, including those of the living session
/// `a/b`.
#[test]
fn gc_of_a_session_keeps_sessions_whose_names_have_it_as_a_prefix() {
    let workspace = workspace();
    workspace.edt(&["begin", "a"]).landed();
    workspace.overwrite("a.txt", "a\nagent\n");
    workspace.edt(&["abandon"]).landed();
    workspace.edt(&["begin", "a/b"]).landed();
    workspace.overwrite("b.txt", "kept\n");
    let before = refs(&workspace, "refs/edt/a/b/");
    let gone = gc_of_everything(&workspace);
    assert_eq!(gone.json["sessions"], json!([{"name": "a", "state": "abandoned"}]));
    assert_eq!((refs(&workspace, "refs/edt/"), before.len()), (before, 3));
    workspace.overwrite("b.txt", "and on\n");
}

/// Regression: only the author's time of the branch counted, which a rebase and a cherry-pick keep.
#[test]
fn gc_takes_the_age_of_the_newest_commit_of_a_session() {
    let workspace = workspace();
    let long_ago = |name: &str, undo: bool| {
        workspace.edt(&["begin", name]).landed();
        let aged = |committer: &str, text: &str| {
            let mut edit = workspace.command(crate::test_repo::EDT);
            edit.env("GIT_AUTHOR_DATE", "1000000000 +0000").env("GIT_COMMITTER_DATE", committer);
            edit.args(["apply", "a.txt", "--mode", "overwrite", "--content", text, "--json"]);
            crate::test_repo::run(edit, b"", &["apply"]).landed();
        };
        if undo {
            aged("1000000000 +0000", "old\n");
            workspace.overwrite("a.txt", "young\n");
            workspace.edt(&["undo"]).landed();
        } else {
            aged("1700000000 +0000", "made later\n");
            workspace.git(&["commit", "--quiet", "--amend", "--no-edit"]);
        }
        workspace.edt(&["abandon"]).landed();
    };
    long_ago("amended", false);
    long_ago("taken-back", true);
    let before = refs(&workspace, "refs/");
    assert_eq!(workspace.edt(&["gc"]).json["refs"], json!([]));
    assert_eq!(refs(&workspace, "refs/"), before);
}

#[test]
fn gc_keeps_a_landed_session_that_is_on_no_branch() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.edt(&["land"]).landed();
    workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let before = refs(&workspace, "refs/");
    assert_eq!(gc_of_everything(&workspace).json["sessions"], json!([]));
    assert_eq!(refs(&workspace, "refs/"), before);
    workspace.git(&["branch", "-D", "--quiet", "edt/s"]);
    assert_eq!(
        gc_of_everything(&workspace).json["sessions"],
        json!([]),
        "its landed tip is the only copy"
    );
    workspace.git(&["update-ref", "refs/remotes/origin/main", "refs/edt/s/landing/1"]);
    assert_eq!(
        gc_of_everything(&workspace).json["sessions"],
        json!([{"name": "s", "state": "deleted"}])
    );
}

/// Regression: a missing directory was taken for a missing worktree, and the branch under it
/// deleted.
#[test]
fn gc_keeps_the_session_of_a_missing_worktree() {
    let workspace = workspace();
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    workspace.at(&place).overwrite("a.txt", "agent\n");
    workspace.at(&place).edt(&["land"]).landed();
    workspace.git(&["worktree", "lock", place.to_str().unwrap()]);
    std::fs::rename(&place, workspace.home.join("away")).unwrap();
    assert_eq!(gc_of_everything(&workspace).json["sessions"], json!([]));
    assert_eq!(session(&workspace.edt(&["status", "--ended"]), "s")["worktree"], json!(place));
    std::fs::rename(workspace.home.join("away"), &place).unwrap();
    workspace.at(&place).is_clean();
    workspace.git(&["worktree", "unlock", place.to_str().unwrap()]);
    std::fs::remove_dir_all(&place).unwrap();
    workspace.git(&["worktree", "prune"]);
    assert_eq!(gc_of_everything(&workspace).json["sessions"].as_array().unwrap().len(), 1);
}

/// incidents.md: full-tree objects per turn cost one user 102 GB.
#[test]
fn codex_29388_disk() {
    let workspace = TestRepo::with(&[("a.txt", b"0\n"), ("big.bin", &vec![7; 1_000_000])]);
    workspace.edt(&["begin", "s"]).landed();
    for n in 0..300 {
        workspace.overwrite("a.txt", &format!("{n} a line that is edited\n"));
    }
    let size = |key: &str| -> u64 {
        let said = workspace.git(&["count-objects", "-v"]);
        said.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
            .unwrap()
            .parse()
            .unwrap()
    };
    // A blob, a tree and a commit an edit, one block of 4 KiB each.
    assert!(
        size("count") <= 3 * 300 + 12 && size("size") <= 4 * (3 * 300 + 12),
        "{}",
        size("size")
    );
    let answer = workspace.edt(&["gc"]);
    assert!(size("count") == 0 && size("size-pack") < 150, "{:#}", answer.json);
    assert!(answer.json["freed_kib"].as_i64().unwrap() > 3000, "{:#}", answer.json);
    workspace.is_clean();
    workspace.is_sound();
}

/// What `claude_94657_shell_edits_unseen` needs besides.
#[test]
fn changes_by_the_shell_are_recorded_on_request() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace
        .command("sh")
        .args(["-c", "sed -i s/a/by-the-shell/ a.txt; echo made > made.txt"])
        .status()
        .unwrap();
    workspace.edt(&["checkpoint", "-m", "the shell"]).landed();
    workspace.overwrite("a.txt", "later\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.text("made.txt").as_str()),
        ("by-the-shell\n", "made\n")
    );
    assert_eq!(workspace.blob("HEAD:a.txt"), b"by-the-shell\n");
}

#[test]
fn abandon_keeps_both_versions_of_a_user_that_an_edit_replaced() {
    let workspace = workspace();
    workspace.write("a.txt", "staged\n");
    workspace.git(&["add", "a.txt"]);
    workspace.write("a.txt", "on disk\n");
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.text("a.txt"), "on disk\n");
    assert_eq!(workspace.git(&["show", ":a.txt"]), "staged\n");
}

#[test]
fn abandon_does_not_go_to_a_branch_that_is_being_rebased_elsewhere() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "agent\n");
    let side = workspace.home.join("side");
    workspace.git(&["worktree", "add", "--quiet", side.to_str().unwrap(), "main"]);
    let side = workspace.at(side);
    side.commit(&[("b.txt", b"more\n")]);
    let stop = side
        .command("git")
        .env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak")
        .args(["rebase", "--quiet", "-i", "HEAD~1"])
        .status();
    assert!(stop.unwrap().success());
    let answer = workspace.edt(&["abandon"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["code"]),
        (0, &json!("head_detached")),
        "{:#}",
        answer.json
    );
    side.git(&["rebase", "--continue"]);
    assert_eq!((side.status(), workspace.status()), (String::new(), String::new()));
}

#[test]
fn two_worktrees_do_not_share_a_session() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let side = workspace.root.with_file_name("side");
    workspace.git(&["worktree", "add", "--quiet", "--detach", side.to_str().unwrap()]);
    let side = workspace.at(side);
    side.edt(&["begin", "shared", "--no-switch"]).landed();
    side.overwrite("a.txt", "two\n");
    workspace.git(&["switch", "--quiet", "edt/shared"]);
    workspace.refuses(
        &["SESSION_BUSY"],
        3,
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
    );
    side.refuses(&["SESSION_BUSY"], 3, &["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
}
