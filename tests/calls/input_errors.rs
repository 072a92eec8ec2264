//! Every wrong input is answered with its code, and nothing changes.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::json;

use crate::test_repo::{Answer, EDT, TestRepo, run, same};

fn workspace() -> TestRepo {
    TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("dir/c.txt", b"c\n")])
}

fn append(path: &str) -> Vec<&str> {
    vec!["apply", path, "--mode", "append", "--content", "x\n"]
}

#[test]
fn a_malformed_request_is_refused_with_its_position() {
    let workspace = workspace();
    let cases: [(&str, &str); 8] = [
        (r#"{"path": "a.txt", "mode": "append", "content": "#, "EOF"),
        (r#"{"path": "a.txt", "mode": "edit", "oldtext": "x", "content": "y"}"#, "`old_text`"),
        (r#"{"path": "a.txt", "mode": "append", "content": 3}"#, "invalid type"),
        (r#"{"path": "a.txt", "mode": "appendix", "content": "x"}"#, "append"),
        (r#"{"edits": []}"#, "empty"),
        (r#"{"edits": [{"path": "a.txt", "mode": "delete", "content": "x"}]}"#, "`content`"),
        (
            r#"{"path": "a.txt", "mode": "append", "content": "x", "allow": ["size_reducton"]}"#,
            "\"size_reduction\"",
        ),
        ("[1, 2]", "line 1"),
    ];
    for (request, says) in cases {
        let answer = workspace.unchanged(&["BAD_REQUEST"], 2, || {
            workspace.edt_fed(request.as_bytes(), &["apply", "--request", "-"])
        });
        let said = format!("{} {}", answer.message(), answer.hint());
        assert!(said.contains(says), "{request}: {said}");
    }
    workspace.unchanged(&["BAD_REQUEST"], 2, || {
        workspace.edt_fed(b"\xff\xfe{}", &["apply", "--request", "-"])
    });
    workspace
        .unchanged(&["BAD_REQUEST"], 2, || workspace.edt_fed(b"", &["apply", "--request", "-"]));
    let deep = "[".repeat(200_000);
    workspace.unchanged(&["BAD_REQUEST"], 2, || {
        workspace.edt_fed(deep.as_bytes(), &["apply", "--request", "-"])
    });
}

#[test]
fn wrong_flags_are_answered_in_json_too() {
    let workspace = workspace();
    for args in [
        vec!["apply", "a.txt", "--mode", "append", "--wrong"],
        vec!["apply"],
        vec!["apply", "a.txt", "--mode", "nothing"],
        vec!["frobnicate"],
        vec!["undo", "0"],
        vec!["apply", "a.txt", "--mode", "append", "--content", "x", "--allow", "size_reducton"],
        vec!["apply", "a.txt", "--mode", "append", "--content-file", "there/is/none"],
        vec!["apply", "a.txt", "--mode", "append", "--content", "x", "--expected-hash", "not-hex"],
        vec!["undo", "--to", "nowhere"],
        vec!["begin", "-x..y"],
        vec!["begin", "base"],
    ] {
        let needs_session = args[0] == "undo" && args.len() == 3;
        if needs_session {
            workspace.edt(&["begin"]);
        }
        workspace.refuses(&["BAD_REQUEST"], 2, &args);
    }
}

#[test]
fn commands_that_need_a_session_are_refused_without_one() {
    let workspace = workspace();
    for args in [["undo"].as_slice(), &["redo"], &["restore", "a.txt"]] {
        let answer = workspace.refuses(&["NO_SESSION"], 1, args);
        assert!(answer.hint().contains("edt begin"));
    }
    workspace.edt(&["begin", "one"]).landed();
    workspace.refuses(&["SESSION_EXISTS"], 1, &["begin", "one"]);
    workspace.refuses(&["SESSION_EXISTS"], 1, &["begin", "one/two"]);
}

#[test]
fn paths_that_are_not_files_of_the_worktree_are_refused() {
    let workspace = workspace();
    let cases: &[(&str, &[&str])] = &[
        (
            "PATH_INVALID",
            &[
                "",
                "dir//c.txt",
                "dir/",
                "a\u{1}b",
                "con",
                "x. ",
                "file:stream",
                "a\\b",
                "dir/./c.txt",
                "new\nline",
            ],
        ),
        ("PATH_OUTSIDE_REPO", &["../a.txt", "dir/../../x", "dir/../a.txt", "..", "/etc/passwd"]),
        (
            "PATH_IN_GIT_DIR",
            &[
                ".git/config",
                ".GIT/config",
                ".git",
                "dir/.git/x",
                "git~1/config",
                ".git./config",
                ".git /config",
                ".g\u{200c}it/config",
                ".git::$INDEX_ALLOCATION/config",
            ],
        ),
    ];
    for (code, paths) in cases {
        for path in *paths {
            for mode in ["append", "create"] {
                let request = json!({"path": path, "mode": mode, "content": "x\n"});
                let before = workspace.snapshot();
                let answer = workspace.apply(&request);
                assert_eq!(
                    (answer.codes().as_slice(), answer.exit),
                    ([*code].as_slice(), 1),
                    "{path:?}: {:#}",
                    answer.json
                );
                same(&before, &workspace.snapshot());
            }
            workspace.refuses_request(
                &[code],
                1,
                &json!({"path": "a.txt", "mode": "rename", "to": path}),
            );
        }
    }
    workspace.refuses_request(
        &["PATH_INVALID"],
        1,
        &json!({"path": "a\0b", "mode": "append", "content": "x\n"}),
    );
    let config = std::fs::read_to_string(workspace.root.join(".git/config")).unwrap();
    assert!(!config.contains('x') || config.contains("example"), "{config}");
}

#[test]
fn a_path_of_something_else_than_a_file_is_refused() {
    let workspace = workspace();
    let root = &workspace.root;
    assert!(workspace.command("mkfifo").arg("pipe").status().unwrap().success());
    std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
    std::os::unix::fs::symlink("dir", root.join("linked-dir")).unwrap();
    std::os::unix::fs::symlink(workspace.home.join("nothing"), root.join("dangling")).unwrap();
    std::os::unix::fs::symlink(&workspace.home, root.join("outside")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    for (path, code) in [
        ("dir", "NOT_A_FILE"),
        ("pipe", "NOT_A_FILE"),
        ("socket", "NOT_A_FILE"),
        ("a.txt/below", "NOT_A_FILE"),
        ("link", "PATH_THROUGH_SYMLINK"),
        ("dangling", "PATH_THROUGH_SYMLINK"),
        ("linked-dir/c.txt", "PATH_THROUGH_SYMLINK"),
        ("outside/x.txt", "PATH_THROUGH_SYMLINK"),
    ] {
        for mode in ["append", "create", "overwrite"] {
            let started = std::time::Instant::now();
            workspace.refuses(&[code], 1, &["apply", path, "--mode", mode, "--content", "x\n"]);
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "{path} took {:?}",
                started.elapsed()
            );
        }
    }
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &append("missing.txt"));
    workspace.refuses(&["FILE_NOT_FOUND"], 1, &append("no/such/directory.txt"));
    workspace.refuses(
        &["FILE_EXISTS"],
        1,
        &["apply", "a.txt", "--mode", "create", "--content", "x\n"],
    );
    workspace.refuses(
        &["FILE_EXISTS"],
        1,
        &["apply", "a.txt", "--mode", "rename", "--to", "b.txt"],
    );
    assert_eq!(
        std::fs::read_dir(&workspace.home).unwrap().count(),
        1,
        "nothing was written through a link"
    );
}

#[test]
fn a_repository_inside_the_repository_is_not_ours() {
    let workspace = workspace();
    workspace.at(workspace.root.join("dir")).git(&["init", "--quiet"]);
    let answer = workspace.refuses(
        &["PATH_OUTSIDE_REPO"],
        1,
        &["apply", "dir/deep/new.txt", "--mode", "create", "--content", "x\n"],
    );
    assert!(answer.hint().contains("-C"), "{}", answer.hint());

    let library = TestRepo::with(&[("lib.c", b"int x;\n")]);
    let url = library.root.to_str().unwrap();
    workspace.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    workspace.git(&["commit", "--quiet", "-m", "a submodule"]);
    workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &append("sub/lib.c"));
    workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["apply", "sub", "--mode", "delete"]);
    workspace.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    workspace.refuses(
        &["PATH_OUTSIDE_REPO"],
        1,
        &["apply", "sub/new.txt", "--mode", "create", "--content", "x\n"],
    );
}

#[test]
fn five_megabytes_of_old_text_are_refused_in_few_words() {
    let workspace =
        TestRepo::with(&[("a.txt", "y".repeat(3_000_000).as_bytes()), ("b.txt", b"short\n")]);
    for path in ["a.txt", "b.txt"] {
        let request = json!({"path": path, "mode": "edit", "old_text": "x".repeat(5_000_000), "content": "z"});
        let started = std::time::Instant::now();
        let answer = workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &request);
        let size = answer.json.to_string().len();
        assert!(
            answer.message().len() < 20_000,
            "the message has {} bytes",
            answer.message().len()
        );
        assert!(size < 60_000, "the answer has {size} bytes");
        assert!(started.elapsed() < Duration::from_secs(60), "{path} took {:?}", started.elapsed());
    }
}

#[test]
fn text_must_stay_text() {
    let workspace = workspace();
    let content = workspace.home.join("content");
    let file = content.to_str().unwrap();
    std::fs::write(&content, b"caf\xe9\n").unwrap();
    workspace.refuses(
        &["ENCODING"],
        1,
        &["apply", "a.txt", "--mode", "append", "--content-file", file],
    );
    workspace.refuses(
        &["ENCODING"],
        1,
        &["apply", "new.txt", "--mode", "create", "--content-file", file],
    );
    workspace
        .edt(&[
            "apply",
            "new.txt",
            "--mode",
            "create",
            "--content-file",
            file,
            "--allow",
            "encoding",
        ])
        .landed();
    assert_eq!(workspace.read("new.txt"), b"caf\xe9\n");
    std::fs::write(&content, b"nul \0 byte\n").unwrap();
    workspace.refuses(
        &["BINARY_CONTENT"],
        1,
        &["apply", "a.txt", "--mode", "append", "--content-file", file],
    );
}

#[test]
fn old_text_that_occurs_twice_is_ambiguous_and_every_line_is_named() {
    let workspace = TestRepo::with(&[("a.txt", b"x\ny\nx\ny\nx\n")]);
    let answer = workspace.refuses(
        &["OLD_TEXT_AMBIGUOUS"],
        1,
        &["apply", "a.txt", "--mode", "edit", "--old-text", "x", "--content", "z"],
    );
    assert_eq!(answer.errors()[0]["evidence"]["lines"], json!([1, 3, 5]));
    workspace
        .edt(&[
            "apply",
            "a.txt",
            "--mode",
            "edit",
            "--old-text",
            "x",
            "--content",
            "z",
            "--replace-all",
        ])
        .landed();
    assert_eq!(workspace.text("a.txt"), "z\ny\nz\ny\nz\n");
}

#[test]
fn a_wrong_expected_hash_is_a_conflict_and_the_right_one_is_not() {
    let workspace = workspace();
    let right = workspace.rev("HEAD:a.txt");
    let wrong = workspace.rev("HEAD:b.txt");
    let edit = |hash: &str| json!({"path": "a.txt", "mode": "append", "content": "x\n", "expected_hash": hash});
    let answer = workspace.refuses_request(&["HASH_MISMATCH"], 3, &edit(&wrong));
    assert_eq!(answer.errors()[0]["evidence"]["hash"], json!(right));
    workspace.refuses_request(
        &["HASH_MISMATCH"],
        3,
        &json!({"path": "none.txt", "mode": "append", "content": "x\n", "expected_hash": right}),
    );
    let answer = workspace.apply(&edit(&right)).landed();
    let after = answer.json["files"][0]["hash_after"].as_str().unwrap().to_owned();
    assert_eq!(after, workspace.rev("HEAD:a.txt"));
    assert_eq!(workspace.edt(&["read", "a.txt"]).json["hash"], json!(after));
    workspace.refuses_request(&["HASH_MISMATCH"], 3, &edit(&right));
    workspace.apply(&edit(&after)).landed();
}

#[test]
fn one_failing_edit_stops_all_edits_and_every_error_is_reported() {
    let workspace = workspace();
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "fine\n"},
        {"path": "new.txt", "mode": "create", "content": "fine\n"},
        {"path": "b.txt", "mode": "edit", "old_text": "not there", "content": "x"},
        {"path": "dir/c.txt", "mode": "create", "content": "there already\n"},
        {"path": "gone.txt", "mode": "delete"},
    ]});
    workspace.refuses_request(
        &["FILE_EXISTS", "FILE_NOT_FOUND", "OLD_TEXT_NOT_FOUND"],
        1,
        &request,
    );
}

#[test]
fn bytes_that_git_would_not_check_out_again_are_refused() {
    let workspace = TestRepo::with(&[
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        (".gitattributes", b"a.txt text eol=crlf\n"),
    ]);
    workspace.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &append("a.txt"));
    workspace.edt(&append("b.txt")).landed();
}

#[test]
fn during_a_merge_or_rebase_edt_refuses() {
    let workspace = workspace();
    workspace.git(&["switch", "--quiet", "-c", "other"]);
    workspace.commit(&[("a.txt", b"other\n")]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", b"main\n")]);
    for (begin, abort, what) in [
        (vec!["merge", "other"], vec!["merge", "--abort"], "merge"),
        (vec!["rebase", "other"], vec!["rebase", "--abort"], "rebase"),
        (vec!["cherry-pick", "other"], vec!["cherry-pick", "--abort"], "cherry-pick"),
        (vec!["bisect", "start"], vec!["bisect", "reset"], "bisect"),
    ] {
        workspace.try_git(&begin);
        let answer = workspace.refuses(&["REPOSITORY_BUSY"], 3, &append("b.txt"));
        assert!(answer.message().contains(what), "{}", answer.message());
        workspace.refuses(&["REPOSITORY_BUSY"], 3, &["begin"]);
        workspace.git(&abort);
    }
    workspace.edt(&append("b.txt")).landed();
    workspace.is_clean();
}

#[test]
fn an_index_that_another_program_holds_is_a_conflict_in_bounded_time() {
    let workspace = workspace();
    workspace.edt(&["begin"]).landed();
    let lock = workspace.root.join(".git/index.lock");
    std::fs::write(&lock, "someone's").unwrap();
    workspace.refuses(&["REPOSITORY_BUSY"], 3, &append("a.txt"));
    assert_eq!(std::fs::read(&lock).unwrap(), b"someone's");
    std::fs::remove_file(&lock).unwrap();
    workspace.edt(&append("a.txt")).landed();
}

#[test]
fn a_first_edit_that_is_a_conflict_begins_no_session() {
    let workspace = workspace();
    let lock = workspace.root.join(".git/index.lock");
    std::fs::write(&lock, "someone's").unwrap();
    workspace.refuses(&["REPOSITORY_BUSY"], 3, &append("a.txt"));
}

/// Somebody removed edt's directory after a kill: nothing says any more whose the lock is.
#[test]
fn a_lock_that_no_program_holds_is_named_with_its_age_and_the_command_that_removes_it() {
    let workspace = workspace();
    let lock = workspace.root.join(".git/index.lock");
    let file = std::fs::File::create(&lock).unwrap();
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(190);
    file.set_modified(time).unwrap();
    drop(file);
    let command = format!("`rm {}`", lock.display());
    let refused = workspace.refuses(&["REPOSITORY_BUSY"], 3, &append("a.txt"));
    for text in [&command, "is 3 minutes old. No program that can be seen from here has it open"] {
        assert!(refused.json.to_string().contains(text), "{text}: {:#}", refused.json);
    }
    let warning = workspace.edt(&["status"]).json["warnings"][0].clone();
    assert_eq!(warning["code"], "lock_left");
    assert!(warning["message"].as_str().unwrap().contains(&command), "{warning}");
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(workspace.edt(&["status"]).json["warnings"], serde_json::json!([]));
}

/// Takes the lock of the session's branch, as a Git program that was killed leaves it.
fn lock_branch(workspace: &TestRepo) -> std::path::PathBuf {
    let lock = workspace.root.join(".git/refs/heads/edt/s.lock");
    std::fs::write(&lock, "").unwrap();
    lock
}

#[test]
fn a_branch_that_another_program_holds_is_a_conflict_and_everything_is_rolled_back() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    let lock = lock_branch(&workspace);
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "x\n"},
        {"path": "new/d.txt", "mode": "create", "content": "d\n"},
        {"path": "b.txt", "mode": "delete"},
        {"path": "dir/c.txt", "mode": "rename", "to": "dir/e.txt"},
    ]});
    workspace.refuses_request(&["SESSION_BUSY"], 3, &request);
    std::fs::remove_file(lock).unwrap();
    workspace.apply(&request).landed();
    workspace.is_clean();
}

#[test]
fn a_rename_that_fails_late_keeps_unrecorded_user_changes() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.write("dir/c.txt", "a user's work\n");
    let lock = lock_branch(&workspace);
    workspace.refuses(
        &["SESSION_BUSY"],
        3,
        &["apply", "dir/c.txt", "--mode", "rename", "--to", "dir/e.txt"],
    );
    std::fs::remove_file(lock).unwrap();
    workspace.edt(&["status"]);
    assert_eq!(workspace.text("dir/c.txt"), "a user's work\n");
}

#[test]
fn an_undo_that_fails_late_changes_no_ref() {
    let workspace = workspace();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    let lock = lock_branch(&workspace);
    workspace.refuses(&["SESSION_BUSY"], 3, &["undo"]);
    std::fs::remove_file(lock).unwrap();
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\n");
}

#[test]
fn outside_a_repository_there_is_nothing_to_edit() {
    let workspace = workspace();
    let before = workspace.snapshot();
    let answer = workspace.at(&workspace.home).edt(&append("a.txt"));
    assert_eq!((answer.codes().as_slice(), answer.exit), (["NOT_A_REPOSITORY"].as_slice(), 5));
    let nowhere = workspace.edt(&["-C", "/no/such/directory", "status"]);
    assert_eq!(
        (nowhere.exit, nowhere.json["status"].as_str()),
        (5, Some("environment")),
        "{:#}",
        nowhere.json
    );
    same(&before, &workspace.snapshot());
}

/// Runs edt as a user who owns nothing but what [`hand_over`] gave.
fn as_nobody(workspace: &TestRepo, args: &[&str]) -> Answer {
    let mut command = workspace.command("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", EDT])
        .args(args)
        .arg("--json");
    run(command, b"", args)
}

fn hand_over(workspace: &TestRepo) {
    let dir = workspace.root.parent().unwrap();
    assert!(
        workspace.command("chown").args(["-R", "65534:65534"]).arg(dir).status().unwrap().success()
    );
    // Git itself, run as root here, must not mind.
    std::fs::write(workspace.home.join(".gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
}

fn is_root() -> bool {
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    if !root {
        println!("skipped: only root can become another user");
    }
    root
}

#[test]
fn a_read_only_file_is_refused() {
    if !is_root() {
        return;
    }
    let workspace = workspace();
    std::fs::set_permissions(workspace.root.join("a.txt"), PermissionsExt::from_mode(0o444))
        .unwrap();
    hand_over(&workspace);
    workspace.unchanged(&["PROTECTED_PATH"], 1, || as_nobody(&workspace, &append("a.txt")));
    let answer = as_nobody(&workspace, &append("b.txt"));
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
}

#[test]
fn a_read_only_git_directory_is_refused_with_a_remedy() {
    if !is_root() {
        return;
    }
    for begun in [false, true] {
        let workspace = workspace();
        if begun {
            workspace.edt(&["begin"]).landed();
        }
        hand_over(&workspace);
        assert!(workspace.command("chmod").args(["-R", "a-w", ".git"]).status().unwrap().success());
        let answer = workspace
            .unchanged(&["GIT_DIR_READ_ONLY"], 5, || as_nobody(&workspace, &append("a.txt")));
        assert!(answer.hint().len() > 20, "{}", answer.hint());
        workspace.unchanged(&["GIT_DIR_READ_ONLY"], 5, || {
            as_nobody(&workspace, &["apply", "new/x.txt", "--mode", "create", "--content", "x\n"])
        });
        let status = as_nobody(&workspace, &["status"]);
        assert_eq!(
            (status.exit, &status.json["schema"]),
            (0, &json!("edt.status/1")),
            "reading still works: {:#}",
            status.json
        );
        assert!(workspace.command("chmod").args(["-R", "u+w", ".git"]).status().unwrap().success());
    }
}

#[test]
fn a_read_only_directory_is_an_io_error_without_leftovers() {
    if !is_root() {
        return;
    }
    let workspace = workspace();
    hand_over(&workspace);
    std::fs::set_permissions(workspace.root.join("dir"), PermissionsExt::from_mode(0o555)).unwrap();
    let before = workspace.snapshot();
    let answer = as_nobody(&workspace, &append("dir/c.txt"));
    assert_eq!(answer.codes(), ["IO_ERROR"], "{:#}", answer.json);
    let left = crate::test_repo::changed(&before, &workspace.snapshot());
    assert_eq!(left, Vec::<String>::new(), "a failed first edit left a session");
}

#[test]
fn an_unmerged_path_is_written_and_the_user_finishes_the_merge() {
    let workspace = workspace();
    workspace.git(&["switch", "--quiet", "-c", "side"]);
    workspace.commit(&[("a.txt", b"theirs\n")]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", b"ours\n")]);
    assert!(!workspace.try_git(&["merge", "--quiet", "side"]).status.success());
    let (unmerged, head) = (workspace.git(&["ls-files", "--unmerged"]), workspace.rev("HEAD"));
    for call in [&append("b.txt")[..], &["begin", "s"]] {
        workspace.refuses(&["REPOSITORY_BUSY"], 3, call);
    }
    workspace.write("a.txt", "resolved by hand\n");
    let resolved = json!({"path": "a.txt", "mode": "overwrite", "content": "ours\ntheirs\n"});
    let answer = workspace.apply(&resolved);
    assert_eq!((answer.exit, &answer.json["commit"]), (0, &json!(null)), "{:#}", answer.json);
    assert_eq!(answer.json["files"][0]["recorded"], json!("worktree"));
    assert_eq!(answer.json["warnings"][0]["code"], json!("resolution_uncommitted"));
    // What the user had resolved is kept, and can be restored.
    let message = answer.json["warnings"][0]["message"].as_str().unwrap();
    let restore = "git restore --source=refs/edt/resolution/1~1 -- a.txt";
    assert!(message.contains(&format!("`{restore}`")), "{message}");
    let written = workspace.text("a.txt");
    workspace.git(&["restore", "--source=refs/edt/resolution/1~1", "--", "a.txt"]);
    assert_eq!(workspace.text("a.txt"), "resolved by hand\n");
    workspace.write("a.txt", written);
    assert_eq!(workspace.text("a.txt"), "ours\ntheirs\n");
    assert_eq!(workspace.git(&["ls-files", "--unmerged"]), unmerged);
    assert_eq!(workspace.rev("HEAD"), head);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    workspace.git(&["add", "a.txt"]);
    workspace.git(&["merge", "--continue"]);
    assert_eq!(workspace.blob("HEAD:a.txt"), b"ours\ntheirs\n");
    assert_eq!(workspace.rev("HEAD^1"), head);
    workspace.is_clean();
}

#[test]
fn a_file_does_not_replace_a_directory_of_the_index() {
    let workspace = TestRepo::with(&[("d/x.txt", b"x\n"), ("a.txt", b"a\n")]);
    std::fs::remove_dir_all(workspace.root.join("d")).unwrap();
    workspace.refuses(&["NOT_A_FILE"], 1, &["apply", "d", "--mode", "create", "--content", "x\n"]);
    std::fs::remove_file(workspace.root.join("a.txt")).unwrap();
    workspace.refuses(
        &["NOT_A_FILE"],
        1,
        &["apply", "a.txt/f", "--mode", "create", "--content", "x\n"],
    );
}

#[test]
fn a_text_that_overlaps_itself_is_ambiguous_at_once() {
    let workspace = TestRepo::with(&[("a.txt", "a".repeat(3_000_000).as_bytes())]);
    let old = "a".repeat(1_000_000);
    let answer =
        workspace.apply(&json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": "b"}));
    assert_eq!(
        (answer.codes(), &answer.errors()[0]["evidence"]["truncated"]),
        (vec!["OLD_TEXT_AMBIGUOUS"], &json!(true))
    );
}

/// `core.sharedRepository`: what one member of the group makes, the next one can change.
#[test]
fn a_repository_that_a_group_shares() {
    const GROUP: &str = "60000";
    if !is_root() {
        return;
    }
    let workspace = workspace();
    workspace.git(&["config", "core.sharedRepository", "group"]);
    std::fs::write(workspace.home.join(".gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    let dir = workspace.root.parent().unwrap();
    let share = "chgrp -R \"$1\" \"$0\" && chmod -R g+rwX \"$0\" && \
                 find \"$0\" -type d -exec chmod g+s {} +";
    let mut command = workspace.command("sh");
    assert!(command.args(["-c", share]).arg(dir).arg(GROUP).status().unwrap().success());
    let as_member = |user: &str, call: &str| {
        let mut command = workspace.command("setpriv");
        command.args([&format!("--reuid={user}"), "--regid", GROUP, "--clear-groups"]);
        let done = command
            .args(["sh", "-ec", &format!("umask 077; {call}")])
            .env("EDT", EDT)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.success(), "{user}: {call}: {said}");
    };
    let edit = "\"$EDT\" apply a.txt --mode append --content 'more\n'";
    // A commit with Git is the user's to land.
    let land = "SHELL=/bin/sh script -qec '\"$EDT\" land' /dev/null";
    as_member("60001", &format!("\"$EDT\" begin s && {edit}"));
    as_member("60002", &format!("git commit --quiet --allow-empty -m mine && {edit}"));
    as_member("60001", &format!("\"$EDT\" undo && {land} && {edit}"));
    as_member(
        "60002",
        "umask 027 && git switch --quiet main && echo x > new && git add new && git commit -qm new",
    );
    as_member("60003", "\"$EDT\" begin t && git gc --quiet && \"$EDT\" status");
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}
