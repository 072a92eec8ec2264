//! Whatever comes in wrong is answered with its code, and nothing changes.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::json;

use crate::world::{Answer, EDT, World, run, same};

fn world() -> World {
    World::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("dir/c.txt", b"c\n")])
}

fn append(path: &str) -> Vec<&str> {
    vec!["apply", path, "--mode", "append", "--content", "x\n"]
}

#[test]
fn a_request_that_is_not_one_names_the_place() {
    let world = world();
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
        let answer = world.unchanged(&["BAD_REQUEST"], 2, || {
            world.edt_fed(request.as_bytes(), &["apply", "--request", "-"])
        });
        let said = format!("{} {}", answer.message(), answer.hint());
        assert!(said.contains(says), "{request}: {said}");
    }
    world.unchanged(&["BAD_REQUEST"], 2, || {
        world.edt_fed(b"\xff\xfe{}", &["apply", "--request", "-"])
    });
    world.unchanged(&["BAD_REQUEST"], 2, || world.edt_fed(b"", &["apply", "--request", "-"]));
    let deep = "[".repeat(200_000);
    world.unchanged(&["BAD_REQUEST"], 2, || {
        world.edt_fed(deep.as_bytes(), &["apply", "--request", "-"])
    });
}

#[test]
fn wrong_flags_are_answered_in_json_too() {
    let world = world();
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
            world.edt(&["begin"]);
        }
        world.refuses(&["BAD_REQUEST"], 2, &args);
    }
}

#[test]
fn commands_that_need_a_session_say_so() {
    let world = world();
    for args in [["undo"].as_slice(), &["redo"], &["restore", "a.txt"]] {
        let answer = world.refuses(&["NO_SESSION"], 1, args);
        assert!(answer.hint().contains("edt begin"));
    }
    world.edt(&["begin", "one"]).landed();
    world.refuses(&["SESSION_EXISTS"], 1, &["begin", "one"]);
    world.refuses(&["SESSION_EXISTS"], 1, &["begin", "one/two"]);
}

#[test]
fn paths_that_are_not_files_of_the_worktree_are_refused() {
    let world = world();
    let absolute = world.root.join("a.txt");
    let cases: &[(&str, &[&str])] = &[
        (
            "PATH_INVALID",
            &[
                "",
                "dir//c.txt",
                "./a.txt",
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
        (
            "PATH_OUTSIDE_REPO",
            &[
                "../a.txt",
                "dir/../../x",
                "dir/../a.txt",
                "..",
                "/etc/passwd",
                absolute.to_str().unwrap(),
            ],
        ),
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
                let before = world.snapshot();
                let answer = world.apply(&request);
                assert_eq!(
                    (answer.codes().as_slice(), answer.exit),
                    ([*code].as_slice(), 1),
                    "{path:?}: {:#}",
                    answer.json
                );
                same(&before, &world.snapshot());
            }
            world.refuses_request(
                &[code],
                1,
                &json!({"path": "a.txt", "mode": "rename", "to": path}),
            );
        }
    }
    world.refuses_request(
        &["PATH_INVALID"],
        1,
        &json!({"path": "a\0b", "mode": "append", "content": "x\n"}),
    );
    let config = std::fs::read_to_string(world.root.join(".git/config")).unwrap();
    assert!(!config.contains('x') || config.contains("example"), "{config}");
}

#[test]
fn what_stands_at_a_path_and_is_no_file_is_refused() {
    let world = world();
    let root = &world.root;
    assert!(world.command("mkfifo").arg("pipe").status().unwrap().success());
    std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
    std::os::unix::fs::symlink("dir", root.join("linked-dir")).unwrap();
    std::os::unix::fs::symlink(world.home.join("nothing"), root.join("dangling")).unwrap();
    std::os::unix::fs::symlink(&world.home, root.join("outside")).unwrap();
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
            world.refuses(&[code], 1, &["apply", path, "--mode", mode, "--content", "x\n"]);
            assert!(
                started.elapsed() < Duration::from_secs(5),
                "{path} took {:?}",
                started.elapsed()
            );
        }
    }
    world.refuses(&["FILE_NOT_FOUND"], 1, &append("missing.txt"));
    world.refuses(&["FILE_NOT_FOUND"], 1, &append("no/such/folder.txt"));
    world.refuses(&["FILE_EXISTS"], 1, &["apply", "a.txt", "--mode", "create", "--content", "x\n"]);
    world.refuses(&["FILE_EXISTS"], 1, &["apply", "a.txt", "--mode", "rename", "--to", "b.txt"]);
    assert_eq!(
        std::fs::read_dir(&world.home).unwrap().count(),
        1,
        "nothing was written through a link"
    );
}

#[test]
fn a_repository_inside_the_repository_is_not_ours() {
    let world = world();
    world.at(world.root.join("dir")).git(&["init", "--quiet"]);
    let answer = world.refuses(&["PATH_OUTSIDE_REPO"], 1, &append("dir/c.txt"));
    assert!(answer.hint().contains("-C"), "{}", answer.hint());
    world.refuses(
        &["PATH_OUTSIDE_REPO"],
        1,
        &["apply", "dir/deep/new.txt", "--mode", "create", "--content", "x\n"],
    );

    let library = World::with(&[("lib.c", b"int x;\n")]);
    let url = library.root.to_str().unwrap();
    world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    world.git(&["commit", "--quiet", "-m", "a submodule"]);
    world.refuses(&["PATH_OUTSIDE_REPO"], 1, &append("sub/lib.c"));
    world.refuses(&["PATH_OUTSIDE_REPO"], 1, &["apply", "sub", "--mode", "delete"]);
    world.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    world.refuses(
        &["PATH_OUTSIDE_REPO"],
        1,
        &["apply", "sub/new.txt", "--mode", "create", "--content", "x\n"],
    );
}

#[test]
fn five_megabytes_of_old_text_are_refused_in_few_words() {
    let world = World::with(&[("a.txt", "y".repeat(3_000_000).as_bytes()), ("b.txt", b"short\n")]);
    for path in ["a.txt", "b.txt"] {
        let request = json!({"path": path, "mode": "edit", "old_text": "x".repeat(5_000_000), "content": "z"});
        let started = std::time::Instant::now();
        let answer = world.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, &request);
        let size = answer.json.to_string().len();
        assert!(
            answer.message().len() < 20_000,
            "the message has {} bytes",
            answer.message().len()
        );
        assert!(size < 60_000, "the answer has {size} bytes");
        assert!(started.elapsed() < Duration::from_secs(10), "{path} took {:?}", started.elapsed());
    }
}

#[test]
fn text_must_stay_text() {
    let world = world();
    let content = world.home.join("content");
    let file = content.to_str().unwrap();
    std::fs::write(&content, b"caf\xe9\n").unwrap();
    world.refuses(
        &["ENCODING"],
        1,
        &["apply", "a.txt", "--mode", "append", "--content-file", file],
    );
    world.refuses(
        &["ENCODING"],
        1,
        &["apply", "new.txt", "--mode", "create", "--content-file", file],
    );
    world
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
    assert_eq!(world.read("new.txt"), b"caf\xe9\n");
    std::fs::write(&content, b"nul \0 byte\n").unwrap();
    world.refuses(
        &["BINARY_CONTENT"],
        1,
        &["apply", "a.txt", "--mode", "append", "--content-file", file],
    );
}

#[test]
fn old_text_that_stands_twice_is_ambiguous_with_every_line() {
    let world = World::with(&[("a.txt", b"x\ny\nx\ny\nx\n")]);
    let answer = world.refuses(
        &["OLD_TEXT_AMBIGUOUS"],
        1,
        &["apply", "a.txt", "--mode", "edit", "--old-text", "x", "--content", "z"],
    );
    assert_eq!(answer.errors()[0]["evidence"]["lines"], json!([1, 3, 5]));
    world
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
    assert_eq!(world.text("a.txt"), "z\ny\nz\ny\nz\n");
}

#[test]
fn a_wrong_expected_hash_is_a_conflict_and_the_right_one_is_not() {
    let world = world();
    let right = world.rev("HEAD:a.txt");
    let wrong = world.rev("HEAD:b.txt");
    let edit = |hash: &str| json!({"path": "a.txt", "mode": "append", "content": "x\n", "expected_hash": hash});
    let answer = world.refuses_request(&["HASH_MISMATCH"], 3, &edit(&wrong));
    assert_eq!(answer.errors()[0]["evidence"]["hash"], json!(right));
    world.refuses_request(
        &["HASH_MISMATCH"],
        3,
        &json!({"path": "none.txt", "mode": "append", "content": "x\n", "expected_hash": right}),
    );
    let answer = world.apply(&edit(&right)).landed();
    let after = answer.json["files"][0]["hash_after"].as_str().unwrap().to_owned();
    assert_eq!(after, world.rev("HEAD:a.txt"));
    assert_eq!(world.edt(&["read", "a.txt"]).json["hash"], json!(after));
    world.refuses_request(&["HASH_MISMATCH"], 3, &edit(&right));
    world.apply(&edit(&after)).landed();
}

#[test]
fn one_edit_that_fails_takes_the_others_with_it_and_every_fault_is_told() {
    let world = world();
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "fine\n"},
        {"path": "new.txt", "mode": "create", "content": "fine\n"},
        {"path": "b.txt", "mode": "edit", "old_text": "not there", "content": "x"},
        {"path": "dir/c.txt", "mode": "create", "content": "there already\n"},
        {"path": "gone.txt", "mode": "delete"},
    ]});
    world.refuses_request(&["FILE_EXISTS", "FILE_NOT_FOUND", "OLD_TEXT_NOT_FOUND"], 1, &request);
}

#[test]
fn bytes_that_git_would_not_check_out_again_are_refused() {
    let world = World::with(&[
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        (".gitattributes", b"a.txt text eol=crlf\n"),
    ]);
    world.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &append("a.txt"));
    world.edt(&append("b.txt")).landed();
}

#[test]
fn while_git_is_at_work_edt_waits_for_a_person() {
    let world = world();
    world.git(&["switch", "--quiet", "-c", "other"]);
    world.commit(&[("a.txt", b"other\n")]);
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("a.txt", b"main\n")]);
    for (begin, abort, what) in [
        (vec!["merge", "other"], vec!["merge", "--abort"], "merge"),
        (vec!["rebase", "other"], vec!["rebase", "--abort"], "rebase"),
        (vec!["cherry-pick", "other"], vec!["cherry-pick", "--abort"], "cherry-pick"),
        (vec!["bisect", "start"], vec!["bisect", "reset"], "bisect"),
    ] {
        world.try_git(&begin);
        let answer = world.refuses(&["REPOSITORY_BUSY"], 3, &append("b.txt"));
        assert!(answer.message().contains(what), "{}", answer.message());
        world.refuses(&["REPOSITORY_BUSY"], 3, &["begin"]);
        world.git(&abort);
    }
    world.edt(&append("b.txt")).landed();
    world.is_clean();
}

#[test]
fn an_index_that_another_program_holds_is_a_conflict_in_bounded_time() {
    let world = world();
    world.edt(&["begin"]).landed();
    let lock = world.root.join(".git/index.lock");
    std::fs::write(&lock, "someone's").unwrap();
    world.refuses(&["REPOSITORY_BUSY"], 3, &append("a.txt"));
    assert_eq!(std::fs::read(&lock).unwrap(), b"someone's");
    std::fs::remove_file(&lock).unwrap();
    world.edt(&append("a.txt")).landed();
}

#[test]
fn a_first_edit_that_is_a_conflict_begins_no_session() {
    let world = world();
    let lock = world.root.join(".git/index.lock");
    std::fs::write(&lock, "someone's").unwrap();
    world.refuses(&["REPOSITORY_BUSY"], 3, &append("a.txt"));
}

/// Takes the lock of the session's branch, as a Git program that was killed leaves it.
fn lock_branch(world: &World) -> std::path::PathBuf {
    let lock = world.root.join(".git/refs/heads/edt/s.lock");
    std::fs::write(&lock, "").unwrap();
    lock
}

#[test]
fn a_branch_that_another_program_holds_is_a_conflict_and_everything_is_put_back() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    let lock = lock_branch(&world);
    let request = json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "x\n"},
        {"path": "new/d.txt", "mode": "create", "content": "d\n"},
        {"path": "b.txt", "mode": "delete"},
        {"path": "dir/c.txt", "mode": "rename", "to": "dir/e.txt"},
    ]});
    world.refuses_request(&["SESSION_BUSY"], 3, &request);
    std::fs::remove_file(lock).unwrap();
    world.apply(&request).landed();
    world.is_clean();
}

#[test]
fn a_rename_that_fails_late_keeps_a_persons_unrecorded_bytes() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.write("dir/c.txt", "a person's work\n");
    let lock = lock_branch(&world);
    world.refuses(
        &["SESSION_BUSY"],
        3,
        &["apply", "dir/c.txt", "--mode", "rename", "--to", "dir/e.txt"],
    );
    std::fs::remove_file(lock).unwrap();
    world.edt(&["status"]);
    assert_eq!(world.text("dir/c.txt"), "a person's work\n");
}

#[test]
fn an_undo_that_fails_late_changes_no_ref() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "two\n");
    let lock = lock_branch(&world);
    world.refuses(&["SESSION_BUSY"], 3, &["undo"]);
    std::fs::remove_file(lock).unwrap();
    world.edt(&["undo"]).landed();
    world.edt(&["redo"]).landed();
    assert_eq!(world.text("a.txt"), "two\n");
}

#[test]
fn outside_a_repository_there_is_nothing_to_edit() {
    let world = world();
    let before = world.snapshot();
    let answer = world.at(&world.home).edt(&append("a.txt"));
    assert_eq!((answer.codes().as_slice(), answer.exit), (["NOT_A_REPOSITORY"].as_slice(), 5));
    let nowhere = world.edt(&["-C", "/no/such/folder", "status"]);
    assert_eq!(
        (nowhere.exit, nowhere.json["status"].as_str()),
        (5, Some("environment")),
        "{:#}",
        nowhere.json
    );
    same(&before, &world.snapshot());
}

/// Runs edt as a user who owns nothing but what [`hand_over`] gave.
fn as_nobody(world: &World, args: &[&str]) -> Answer {
    let mut command = world.command("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", EDT])
        .args(args)
        .arg("--json");
    run(command, b"", args)
}

fn hand_over(world: &World) {
    let dir = world.root.parent().unwrap();
    assert!(
        world.command("chown").args(["-R", "65534:65534"]).arg(dir).status().unwrap().success()
    );
    // Git itself, run as root here, must not mind.
    std::fs::write(world.home.join(".gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
}

fn is_root() -> bool {
    let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    if !root {
        println!("skipped: only root can become another user");
    }
    root
}

#[test]
fn a_read_only_file_needs_a_person() {
    if !is_root() {
        return;
    }
    let world = world();
    std::fs::set_permissions(world.root.join("a.txt"), PermissionsExt::from_mode(0o444)).unwrap();
    hand_over(&world);
    world.unchanged(&["PROTECTED_PATH"], 1, || as_nobody(&world, &append("a.txt")));
    let answer = as_nobody(&world, &append("b.txt"));
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
}

#[test]
fn a_git_folder_that_cannot_be_written_says_what_to_do() {
    if !is_root() {
        return;
    }
    for begun in [false, true] {
        let world = world();
        if begun {
            world.edt(&["begin"]).landed();
        }
        hand_over(&world);
        assert!(world.command("chmod").args(["-R", "a-w", ".git"]).status().unwrap().success());
        let answer =
            world.unchanged(&["GIT_DIR_READ_ONLY"], 5, || as_nobody(&world, &append("a.txt")));
        assert!(answer.hint().len() > 20, "{}", answer.hint());
        world.unchanged(&["GIT_DIR_READ_ONLY"], 5, || {
            as_nobody(&world, &["apply", "new/x.txt", "--mode", "create", "--content", "x\n"])
        });
        let status = as_nobody(&world, &["status"]);
        assert_eq!(
            (status.exit, &status.json["schema"]),
            (0, &json!("edt.status/1")),
            "reading still works: {:#}",
            status.json
        );
        assert!(world.command("chmod").args(["-R", "u+w", ".git"]).status().unwrap().success());
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_io_error_with_nothing_left_behind() {
    if !is_root() {
        return;
    }
    let world = world();
    hand_over(&world);
    std::fs::set_permissions(world.root.join("dir"), PermissionsExt::from_mode(0o555)).unwrap();
    let before = world.snapshot();
    let answer = as_nobody(&world, &append("dir/c.txt"));
    assert_eq!(answer.codes(), ["IO_ERROR"], "{:#}", answer.json);
    let left = crate::world::changed(&before, &world.snapshot());
    assert_eq!(left, Vec::<String>::new(), "a failed first edit left a session");
}
