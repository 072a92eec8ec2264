//! Worktrees, submodules, sparse checkouts, clones of all kinds, and what settings make of names
//! and modes.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::complete_session;
use crate::test_repo::TestRepo;

fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("a.txt", b"one\ntwo\n"),
        ("dir/b.txt", b"one\ntwo\n"),
        ("out/c.txt", b"one\ntwo\n"),
        ("out/deep/d.txt", b"d\n"),
    ]
}

fn create(path: &str) -> serde_json::Value {
    json!({"path": path, "mode": "create", "content": "new\n"})
}

/// A clone of `workspace` next to it.
fn cloned(workspace: &TestRepo, flags: &[&str]) -> TestRepo {
    let clone = workspace.at(workspace.root.with_file_name("clone"));
    let url = format!("file://{}", workspace.root.display());
    let (from, to) = (
        if flags.contains(&"--shared") { workspace.root.to_str().unwrap() } else { &url },
        clone.root.to_str().unwrap(),
    );
    workspace.git(&[&["clone", "--quiet"], flags, &[from, to]].concat());
    clone.git(&["config", "user.name", "A User"]);
    clone.git(&["config", "user.email", "user@example.com"]);
    clone
}

#[test]
fn an_ordinary_worktree_and_a_linked_one() {
    let workspace = TestRepo::with(&files());
    complete_session(&workspace, "dir/b.txt", "two");
    let linked = workspace.at(workspace.root.with_file_name("linked"));
    workspace.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "side",
        linked.root.to_str().unwrap(),
        "main",
    ]);
    complete_session(&linked, "dir/b.txt", "two");
    workspace.is_clean();
}

#[test]
fn a_submodule_and_a_nested_repository_have_histories_of_their_own() {
    let inner = TestRepo::with(&files());
    let workspace = TestRepo::with(&files());
    let url = inner.root.to_str().unwrap();
    workspace.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    workspace.commit(&[]);
    let nested = workspace.at(workspace.root.join("nested"));
    std::fs::create_dir(&nested.root).unwrap();
    nested.git(&["init", "--quiet"]);
    std::fs::write(workspace.root.join(".git/info/exclude"), "nested\n").unwrap();
    for path in ["lib/a.txt", "lib/new.txt", "nested/new.txt", "lib"] {
        let refused =
            workspace.unchanged(&["PATH_OUTSIDE_REPO"], 1, || workspace.apply(&create(path)));
        assert!(path == "lib" || refused.hint().contains("edt -C"), "{:#}", refused.json);
    }
    let lib = workspace.at(workspace.root.join("lib"));
    lib.git(&["config", "user.name", "A User"]);
    lib.git(&["config", "user.email", "user@example.com"]);
    complete_session(&lib, "a.txt", "two");
    assert_eq!(lib.edt(&["status"]).json["session"]["name"], "main-1");
    workspace.git(&["add", "lib"]);
    workspace.git(&["commit", "--quiet", "-m", "lib"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["redo"]).landed();
    workspace.is_clean();
    workspace.is_sound();
}

/// Git keeps a file that it tracks when somebody makes a repository of its directory.
#[test]
fn a_tracked_file_stays_tracked_below_a_new_repository() {
    let workspace = TestRepo::with(&files());
    workspace.git(&["init", "--quiet", "dir"]);
    workspace.edt(&["apply", "dir/b.txt", "--mode", "append", "--content", "x\n"]).landed();
    assert!(workspace.git(&["show", "HEAD:dir/b.txt"]).ends_with("x\n"));
    workspace.unchanged(&["PATH_OUTSIDE_REPO"], 1, || workspace.apply(&create("dir/new.txt")));
    assert!(workspace.edt(&["read", "dir/b.txt"]).json["text"].as_str().unwrap().contains('x'));
    workspace.is_clean();
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["redo"]).landed();
    workspace.is_clean();
    workspace.is_sound();
}

/// What a sparse checkout of `dir` must keep: the entries left out, with their bit.
fn skipped(workspace: &TestRepo) -> String {
    let lines = workspace.git(&["ls-files", "-t"]);
    lines.lines().filter(|line| line.starts_with('S')).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_sparse_checkout_in_cone_mode_without_it_and_with_a_sparse_index() {
    for flags in [&["--cone"][..], &["--no-cone"], &["--cone", "--sparse-index"]] {
        let workspace = TestRepo::with(&files());
        workspace.git(&["config", "advice.sparseIndexExpanded", "false"]);
        workspace.git(&[&["sparse-checkout", "set"], flags, &["dir"]].concat());
        let before = skipped(&workspace);
        assert!(before.contains("S out/c.txt S out/deep/d.txt"), "{before}");
        complete_session(&workspace, "dir/b.txt", "two");
        assert_eq!(skipped(&workspace), before, "{flags:?}");
        for path in ["out/c.txt", "out/deep/d.txt"] {
            for request in [create(path), json!({"path": path, "mode": "delete"})] {
                let refused = workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &request);
                assert!(refused.hint().contains("sparse-checkout add"), "{:#}", refused.json);
            }
        }
        // A new file outside is one that Git would show and keep.
        for path in ["out/new.txt", "other/new.txt"] {
            workspace.apply(&create(path)).landed();
            workspace.is_clean();
            assert_eq!(
                (workspace.text(path).as_str(), skipped(&workspace)),
                ("new\n", before.clone()),
                "{flags:?}"
            );
        }
        workspace.edt(&["undo", "2"]).landed();
        assert!(!workspace.exists("out") && !workspace.exists("other"));
        workspace.edt(&["redo"]).landed();
        workspace.is_clean();
        assert_eq!(workspace.edt(&["status"]).json["user_changes"], json!([]));
        workspace.is_sound();
    }
}

#[test]
fn a_sparse_index_stays_one() {
    let workspace = TestRepo::with(&files());
    workspace.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
    workspace.edt(&["apply", "dir/b.txt", "--mode", "append", "--content", "x\n"]).landed();
    workspace.apply(&create("dir/new.txt")).landed();
    let kept = workspace.git(&["ls-files", "--sparse", "-t"]);
    assert!(kept.contains("S out/\n"), "{kept}");
}

#[test]
fn attributes_that_a_sparse_checkout_leaves_out_hold() {
    let workspace = TestRepo::with(&[
        (".gitattributes", b"*.txt text eol=crlf\n"),
        ("dir/b.txt", b"one\r\ntwo\r\n"),
    ]);
    workspace.git(&["sparse-checkout", "set", "--no-cone", "/dir/"]);
    assert!(!workspace.exists(".gitattributes"));
    workspace.git(&["rm", "--quiet", "--cached", "dir/b.txt"]);
    workspace.git(&["reset", "--quiet", "--hard"]);
    assert_eq!(
        (workspace.text("dir/b.txt").as_str(), workspace.blob("HEAD:dir/b.txt")),
        ("one\r\ntwo\r\n", b"one\ntwo\n".to_vec())
    );
    workspace.edt(&["apply", "dir/b.txt", "--mode", "append", "--content", "x\n"]).landed();
    assert_eq!(
        (workspace.text("dir/b.txt").as_str(), workspace.blob("HEAD:dir/b.txt")),
        ("one\r\ntwo\r\nx\r\n", b"one\ntwo\nx\n".to_vec())
    );
    workspace.is_clean();
}

#[test]
fn symbolic_links_are_neither_followed_nor_replaced() {
    let workspace = TestRepo::with(&files());
    std::os::unix::fs::symlink("a.txt", workspace.root.join("link")).unwrap();
    std::os::unix::fs::symlink("dir", workspace.root.join("way")).unwrap();
    workspace.commit(&[]);
    for path in ["link", "way/b.txt", "way/new.txt"] {
        workspace.refuses_request(
            &["PATH_THROUGH_SYMLINK"],
            1,
            &json!({"path": path, "mode": "overwrite", "content": "x\n"}),
        );
    }
    complete_session(&workspace, "a.txt", "two");
    // Where links are checked out as files, they still are links to Git.
    let workspace = TestRepo::with(&files());
    std::os::unix::fs::symlink("a.txt", workspace.root.join("link")).unwrap();
    workspace.commit(&[]);
    workspace.git(&["config", "core.symlinks", "false"]);
    std::fs::remove_file(workspace.root.join("link")).unwrap();
    workspace.git(&["checkout", "--", "link"]);
    assert_eq!(workspace.text("link"), "a.txt");
    workspace.refuses_request(
        &["PATH_THROUGH_SYMLINK"],
        1,
        &json!({"path": "link", "mode": "overwrite", "content": "b.txt"}),
    );
    complete_session(&workspace, "a.txt", "two");
}

#[test]
fn mode_bits_are_kept_and_mean_nothing_where_git_ignores_them() {
    for looked_at in ["true", "false"] {
        let workspace = TestRepo::with(&files());
        workspace.git(&["config", "core.fileMode", looked_at]);
        workspace.git(&["update-index", "--chmod=+x", "a.txt"]);
        workspace.git(&["commit", "--quiet", "-m", "a program"]);
        let mode = if looked_at == "true" { 0o755 } else { 0o644 };
        std::fs::set_permissions(
            workspace.root.join("a.txt"),
            std::fs::Permissions::from_mode(mode),
        )
        .unwrap();
        workspace.git(&["update-index", "-q", "--refresh"]);
        workspace.is_clean();
        let of = |path: &str| workspace.git(&["ls-tree", "--format=%(objectmode)", "HEAD", path]);
        let edits = json!({"edits": [
            {"path": "a.txt", "mode": "append", "content": "x\n"},
            {"path": "a.txt", "mode": "rename", "to": "dir/moved.txt"},
            {"path": "tool", "mode": "create", "content": "x\n", "executable": true},
        ]});
        workspace.apply(&edits).landed();
        assert_eq!((of("dir/moved.txt").as_str(), of("tool").as_str()), ("100755\n", "100755\n"));
        workspace.is_clean();
        workspace.edt(&["undo"]).landed();
        assert_eq!(
            (of("a.txt").as_str(), workspace.status().as_str()),
            ("100755\n", ""),
            "core.fileMode = {looked_at}"
        );
        workspace.edt(&["redo"]).landed();
        workspace.is_clean();
        workspace.is_sound();
    }
}

#[test]
fn names_that_differ_only_in_case_are_one_where_git_takes_them_for_one() {
    let workspace = TestRepo::with(&[("README", b"one\ntwo\n"), ("Src/a.txt", b"a\n")]);
    let copies = [("Readme", "README"), ("src/new.txt", "Src"), ("SRC/A.TXT", "Src")];
    for (path, _) in copies {
        workspace.apply(&create(path)).landed();
        workspace.edt(&["undo"]).landed();
    }
    workspace.git(&["config", "core.ignoreCase", "true"]);
    for (path, copy_of) in copies {
        let refused = workspace.refuses_request(&["FILE_EXISTS"], 1, &create(path));
        assert!(
            refused.message().contains(copy_of) && refused.hint().contains(copy_of),
            "{:#}",
            refused.json
        );
    }
    let renamed = json!({"path": "README", "mode": "rename", "to": "Readme"});
    let refused = workspace.refuses_request(&["FILE_EXISTS"], 1, &renamed);
    assert!(refused.hint().contains("git mv"), "{:#}", refused.json);
    let both = json!({"edits": [create("new.txt"), create("NEW.txt")]});
    workspace.refuses_request(&["FILE_EXISTS"], 1, &both);
    // One that is only staged counts as well.
    workspace.write("staged.txt", "x\n");
    workspace.git(&["add", "staged.txt"]);
    workspace.refuses_request(&["FILE_EXISTS"], 1, &create("Staged.txt"));
    workspace.git(&["rm", "--quiet", "-f", "staged.txt"]);
    complete_session(&workspace, "README", "two");
}

#[test]
fn a_file_system_monitor_is_not_run() {
    let workspace = TestRepo::with(&files());
    let ran = workspace.home.join("ran");
    let hook = workspace.home.join("monitor");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    workspace.git(&["config", "core.fsmonitor", hook.to_str().unwrap()]);
    workspace.git(&["update-index", "--fsmonitor"]);
    workspace.git(&["status"]);
    std::fs::remove_file(&ran).expect("git itself runs it");
    for args in [
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"][..],
        &["apply", "new.txt", "--mode", "create", "--content", "x\n"],
        &["status"],
        &["undo", "2"],
        &["redo"],
        &["restore", "a.txt"],
        &["diff"],
    ] {
        assert_eq!(workspace.edt(args).exit, 0, "{args:?}");
        assert!(!ran.exists(), "{args:?} ran it");
    }
    workspace.git(&["config", "--unset", "core.fsmonitor"]);
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn split_and_untracked_cache_and_version_4_indexes_with_converted_files() {
    for flags in [&["--split-index"][..], &["--untracked-cache"], &["--index-version", "4"]] {
        let workspace = TestRepo::with(&[
            (".gitattributes", b"*.txt eol=crlf\n"),
            ("a.txt", b"one\r\ntwo\r\n"),
        ]);
        workspace.git(&[&["update-index"], flags].concat());
        complete_session(&workspace, "a.txt", "two");
    }
}

#[test]
fn objects_borrowed_from_another_repository() {
    let workspace = TestRepo::with(&files());
    let clone = cloned(&workspace, &["--shared"]);
    assert!(clone.root.join(".git/objects/info/alternates").exists());
    complete_session(&clone, "a.txt", "two");
}

#[test]
fn a_shallow_clone() {
    let workspace = TestRepo::with(&files());
    workspace.commit(&[("a.txt", b"one\ntwo\nthree\n")]);
    let clone = cloned(&workspace, &["--depth", "1"]);
    assert!(clone.root.join(".git/shallow").exists());
    complete_session(&clone, "a.txt", "two");
    assert_eq!(clone.git(&["rev-parse", "--is-shallow-repository"]), "true\n");
}

#[test]
fn a_partial_clone_never_takes_a_missing_object_for_an_absent_file() {
    let workspace = TestRepo::with(&[("a.txt", b"the first text\n"), ("b.txt", b"b\n")]);
    workspace.git(&["config", "uploadpack.allowFilter", "true"]);
    workspace.commit(&[("a.txt", b"one\ntwo\n")]);
    let clone = cloned(&workspace, &["--filter=blob:none"]);
    complete_session(&clone, "a.txt", "two");
    clone.git(&["switch", "--quiet", "main"]);
    // HEAD's blob was never fetched, and nothing is fetched now.
    clone.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    let missing = clone.rev("HEAD:a.txt");
    let away = workspace.root.with_file_name("away");
    std::fs::rename(&workspace.root, &away).unwrap();
    let here = |clone: &TestRepo| {
        let mut check = clone.command("git");
        check
            .args(["cat-file", "-e", &missing])
            .env("GIT_NO_LAZY_FETCH", "1")
            .output()
            .unwrap()
            .status
            .success()
    };
    assert!(!here(&clone));
    let refused = clone.refuses(
        &["OBJECT_MISSING"],
        5,
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
    );
    assert!(refused.message().contains(&missing), "{:#}", refused.json);
    assert!(!here(&clone) && clone.text("a.txt") == "one\ntwo\n");
    std::fs::rename(&away, &workspace.root).unwrap();
    // Regression: Git fetched it to check out a session's worktree.
    let side = clone.root.with_file_name("side");
    let answer = clone.edt(&["begin", "side", "--worktree", side.to_str().unwrap()]);
    assert_eq!(
        (answer.codes().as_slice(), here(&clone)),
        (["IO_ERROR"].as_slice(), false),
        "{:#}",
        answer.json
    );
    assert!(
        !side.exists()
            && !clone.try_git(&["rev-parse", "--quiet", "--verify", "edt/side"]).status.success()
    );
}

/// `git symbolic-ref refs/heads/main refs/heads/trunk`, as after a branch got another name.
#[test]
fn a_branch_that_is_a_symbolic_ref() {
    for flags in [&[][..], &["--no-switch"]] {
        let workspace = TestRepo::with(&files());
        workspace.git(&["branch", "--quiet", "-m", "main", "trunk"]);
        workspace.git(&["symbolic-ref", "refs/heads/main", "refs/heads/trunk"]);
        workspace.git(&["switch", "--quiet", "main"]);
        let before = workspace.rev("trunk");
        workspace.edt(&[&["begin", "s"], flags].concat()).landed();
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "three\n"]).landed();
        workspace.edt(&["undo"]).landed();
        workspace.edt(&["redo"]).landed();
        let landed = workspace.edt(&["land"]).landed();
        let link = workspace.git(&["symbolic-ref", "refs/heads/main"]);
        assert_eq!(link, "refs/heads/trunk\n", "{flags:?}");
        assert_eq!(
            workspace.git(&["symbolic-ref", "--no-recurse", "HEAD"]),
            "refs/heads/main\n",
            "{flags:?}"
        );
        assert_eq!(workspace.rev("trunk"), landed.commit(), "{flags:?}");
        assert_eq!(workspace.rev("HEAD@{0}"), landed.commit(), "{flags:?}: HEAD's log");
        workspace.is_clean();
        workspace.edt(&["land", "--undo"]).landed();
        assert_eq!(workspace.rev("main"), before, "{flags:?}");
        assert_eq!(workspace.git(&["symbolic-ref", "refs/heads/main"]), link, "{flags:?}");
        for end in [&["abandon"][..], &["switch", "--leave"]] {
            workspace.git(&["switch", "--quiet", "main"]);
            workspace.edt(&["begin"]).landed();
            workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
            workspace.edt(end).landed();
            assert_eq!(workspace.git(&["symbolic-ref", "refs/heads/main"]), link, "{end:?}");
            let head = workspace.git(&["symbolic-ref", "--no-recurse", "HEAD"]);
            assert_eq!(head, "refs/heads/main\n", "{end:?}");
            assert_eq!(workspace.rev("trunk"), before, "{end:?}");
            workspace.is_clean();
        }
        workspace.is_sound();
    }
}
