//! Worktrees, submodules, sparse checkouts, clones of all kinds, and what settings make of names and modes.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::whole_session;
use crate::world::World;

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

/// A clone of `world` beside it.
fn cloned(world: &World, flags: &[&str]) -> World {
    let clone = world.at(world.root.with_file_name("clone"));
    let url = format!("file://{}", world.root.display());
    let (from, to) = (
        if flags.contains(&"--shared") { world.root.to_str().unwrap() } else { &url },
        clone.root.to_str().unwrap(),
    );
    world.git(&[&["clone", "--quiet"], flags, &[from, to]].concat());
    clone.git(&["config", "user.name", "A Person"]);
    clone.git(&["config", "user.email", "person@example.com"]);
    clone
}

#[test]
fn an_ordinary_worktree_and_a_linked_one() {
    let world = World::with(&files());
    whole_session(&world, "dir/b.txt", "two");
    let linked = world.at(world.root.with_file_name("linked"));
    world.git(&["worktree", "add", "--quiet", "-b", "side", linked.root.to_str().unwrap(), "main"]);
    whole_session(&linked, "dir/b.txt", "two");
    world.is_clean();
}

#[test]
fn a_submodule_and_a_nested_repository_have_histories_of_their_own() {
    let inner = World::with(&files());
    let world = World::with(&files());
    let url = inner.root.to_str().unwrap();
    world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    world.commit(&[]);
    let nested = world.at(world.root.join("nested"));
    std::fs::create_dir(&nested.root).unwrap();
    nested.git(&["init", "--quiet"]);
    std::fs::write(world.root.join(".git/info/exclude"), "nested\n").unwrap();
    for path in ["lib/a.txt", "lib/new.txt", "nested/new.txt", "lib"] {
        let refused = world.unchanged(&["PATH_OUTSIDE_REPO"], 1, || world.apply(&create(path)));
        assert!(path == "lib" || refused.hint().contains("edt -C"), "{:#}", refused.json);
    }
    let lib = world.at(world.root.join("lib"));
    lib.git(&["config", "user.name", "A Person"]);
    lib.git(&["config", "user.email", "person@example.com"]);
    whole_session(&lib, "a.txt", "two");
    assert_eq!(lib.edt(&["status"]).json["session"]["name"], "main-1");
    world.git(&["add", "lib"]);
    world.git(&["commit", "--quiet", "-m", "lib"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    world.edt(&["undo"]).landed();
    world.edt(&["redo"]).landed();
    world.is_clean();
    world.is_sound();
}

/// What a sparse checkout of `dir` must keep: the entries left out, with their bit.
fn skipped(world: &World) -> String {
    let lines = world.git(&["ls-files", "-t"]);
    lines.lines().filter(|line| line.starts_with('S')).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_sparse_checkout_in_cone_mode_without_it_and_with_a_sparse_index() {
    for flags in [&["--cone"][..], &["--no-cone"], &["--cone", "--sparse-index"]] {
        let world = World::with(&files());
        world.git(&["config", "advice.sparseIndexExpanded", "false"]);
        world.git(&[&["sparse-checkout", "set"], flags, &["dir"]].concat());
        let before = skipped(&world);
        assert!(before.contains("S out/c.txt S out/deep/d.txt"), "{before}");
        whole_session(&world, "dir/b.txt", "two");
        assert_eq!(skipped(&world), before, "{flags:?}");
        for path in ["out/c.txt", "out/deep/d.txt"] {
            for request in [create(path), json!({"path": path, "mode": "delete"})] {
                let refused = world.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &request);
                assert!(refused.hint().contains("sparse-checkout add"), "{:#}", refused.json);
            }
        }
        // A new file outside is one that Git would show and keep.
        for path in ["out/new.txt", "other/new.txt"] {
            world.apply(&create(path)).landed();
            world.is_clean();
            assert_eq!(
                (world.text(path).as_str(), skipped(&world)),
                ("new\n", before.clone()),
                "{flags:?}"
            );
        }
        world.edt(&["undo", "2"]).landed();
        assert!(!world.exists("out") && !world.exists("other"));
        world.edt(&["redo"]).landed();
        world.is_clean();
        assert_eq!(world.edt(&["status"]).json["uncommitted"], json!([]));
        world.is_sound();
    }
}

#[test]
fn a_sparse_index_stays_one() {
    let world = World::with(&files());
    world.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
    world.edt(&["apply", "dir/b.txt", "--mode", "append", "--content", "x\n"]).landed();
    world.apply(&create("dir/new.txt")).landed();
    let kept = world.git(&["ls-files", "--sparse", "-t"]);
    assert!(kept.contains("S out/\n"), "{kept}");
}

#[test]
fn attributes_that_a_sparse_checkout_leaves_out_hold() {
    let world = World::with(&[
        (".gitattributes", b"*.txt text eol=crlf\n"),
        ("dir/b.txt", b"one\r\ntwo\r\n"),
    ]);
    world.git(&["sparse-checkout", "set", "--no-cone", "/dir/"]);
    assert!(!world.exists(".gitattributes"));
    world.git(&["rm", "--quiet", "--cached", "dir/b.txt"]);
    world.git(&["reset", "--quiet", "--hard"]);
    assert_eq!(
        (world.text("dir/b.txt").as_str(), world.blob("HEAD:dir/b.txt")),
        ("one\r\ntwo\r\n", b"one\ntwo\n".to_vec())
    );
    world.edt(&["apply", "dir/b.txt", "--mode", "append", "--content", "x\n"]).landed();
    assert_eq!(
        (world.text("dir/b.txt").as_str(), world.blob("HEAD:dir/b.txt")),
        ("one\r\ntwo\r\nx\r\n", b"one\ntwo\nx\n".to_vec())
    );
    world.is_clean();
}

#[test]
fn symbolic_links_are_neither_followed_nor_replaced() {
    let world = World::with(&files());
    std::os::unix::fs::symlink("a.txt", world.root.join("link")).unwrap();
    std::os::unix::fs::symlink("dir", world.root.join("way")).unwrap();
    world.commit(&[]);
    for path in ["link", "way/b.txt", "way/new.txt"] {
        world.refuses_request(
            &["PATH_THROUGH_SYMLINK"],
            1,
            &json!({"path": path, "mode": "overwrite", "content": "x\n"}),
        );
    }
    whole_session(&world, "a.txt", "two");
    // Where links are checked out as files, they still are links to Git.
    let world = World::with(&files());
    std::os::unix::fs::symlink("a.txt", world.root.join("link")).unwrap();
    world.commit(&[]);
    world.git(&["config", "core.symlinks", "false"]);
    std::fs::remove_file(world.root.join("link")).unwrap();
    world.git(&["checkout", "--", "link"]);
    assert_eq!(world.text("link"), "a.txt");
    world.refuses_request(
        &["PATH_THROUGH_SYMLINK"],
        1,
        &json!({"path": "link", "mode": "overwrite", "content": "b.txt"}),
    );
    whole_session(&world, "a.txt", "two");
}

#[test]
fn mode_bits_are_kept_and_mean_nothing_where_git_ignores_them() {
    for looked_at in ["true", "false"] {
        let world = World::with(&files());
        world.git(&["config", "core.fileMode", looked_at]);
        world.git(&["update-index", "--chmod=+x", "a.txt"]);
        world.git(&["commit", "--quiet", "-m", "a program"]);
        let mode = if looked_at == "true" { 0o755 } else { 0o644 };
        std::fs::set_permissions(world.root.join("a.txt"), std::fs::Permissions::from_mode(mode))
            .unwrap();
        world.git(&["update-index", "-q", "--refresh"]);
        world.is_clean();
        let of = |path: &str| world.git(&["ls-tree", "--format=%(objectmode)", "HEAD", path]);
        let edits = json!({"edits": [
            {"path": "a.txt", "mode": "append", "content": "x\n"},
            {"path": "a.txt", "mode": "rename", "to": "dir/moved.txt"},
            {"path": "tool", "mode": "create", "content": "x\n", "executable": true},
        ]});
        let landed = world.apply(&edits).landed();
        assert_eq!(
            (of("dir/moved.txt").as_str(), of("tool").as_str(), landed.checkpoints()),
            ("100755\n", "100755\n", 0)
        );
        world.is_clean();
        world.edt(&["undo"]).landed();
        assert_eq!(
            (of("a.txt").as_str(), world.status().as_str()),
            ("100755\n", ""),
            "core.fileMode = {looked_at}"
        );
        world.edt(&["redo"]).landed();
        world.is_clean();
        world.is_sound();
    }
}

#[test]
fn names_that_differ_only_in_case_are_one_where_git_takes_them_for_one() {
    let world = World::with(&[("README", b"one\ntwo\n"), ("Src/a.txt", b"a\n")]);
    let twins = [("Readme", "README"), ("src/new.txt", "Src"), ("SRC/A.TXT", "Src")];
    for (path, _) in twins {
        world.apply(&create(path)).landed();
        world.edt(&["undo"]).landed();
    }
    world.git(&["config", "core.ignoreCase", "true"]);
    for (path, twin) in twins {
        let refused = world.refuses_request(&["FILE_EXISTS"], 1, &create(path));
        assert!(
            refused.message().contains(twin) && refused.hint().contains(twin),
            "{:#}",
            refused.json
        );
    }
    let renamed = json!({"path": "README", "mode": "rename", "to": "Readme"});
    let refused = world.refuses_request(&["FILE_EXISTS"], 1, &renamed);
    assert!(refused.hint().contains("git mv"), "{:#}", refused.json);
    let both = json!({"edits": [create("new.txt"), create("NEW.txt")]});
    world.refuses_request(&["FILE_EXISTS"], 1, &both);
    // One that is only staged counts as well.
    world.write("staged.txt", "x\n");
    world.git(&["add", "staged.txt"]);
    world.refuses_request(&["FILE_EXISTS"], 1, &create("Staged.txt"));
    world.git(&["rm", "--quiet", "-f", "staged.txt"]);
    whole_session(&world, "README", "two");
}

#[test]
fn a_file_system_monitor_is_not_run() {
    let world = World::with(&files());
    let ran = world.home.join("ran");
    let hook = world.home.join("monitor");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.git(&["config", "core.fsmonitor", hook.to_str().unwrap()]);
    world.git(&["update-index", "--fsmonitor"]);
    world.git(&["status"]);
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
        assert_eq!(world.edt(args).exit, 0, "{args:?}");
        assert!(!ran.exists(), "{args:?} ran it");
    }
    world.git(&["config", "--unset", "core.fsmonitor"]);
    world.is_clean();
    world.is_sound();
}

#[test]
fn split_and_untracked_cache_and_version_4_indexes_with_converted_files() {
    for flags in [&["--split-index"][..], &["--untracked-cache"], &["--index-version", "4"]] {
        let world =
            World::with(&[(".gitattributes", b"*.txt eol=crlf\n"), ("a.txt", b"one\r\ntwo\r\n")]);
        world.git(&[&["update-index"], flags].concat());
        whole_session(&world, "a.txt", "two");
    }
}

#[test]
fn objects_borrowed_from_another_repository() {
    let world = World::with(&files());
    let clone = cloned(&world, &["--shared"]);
    assert!(clone.root.join(".git/objects/info/alternates").exists());
    whole_session(&clone, "a.txt", "two");
}

#[test]
fn a_shallow_clone() {
    let world = World::with(&files());
    world.commit(&[("a.txt", b"one\ntwo\nthree\n")]);
    let clone = cloned(&world, &["--depth", "1"]);
    assert!(clone.root.join(".git/shallow").exists());
    whole_session(&clone, "a.txt", "two");
    assert_eq!(clone.git(&["rev-parse", "--is-shallow-repository"]), "true\n");
}

#[test]
fn a_partial_clone_never_takes_a_missing_object_for_an_absent_file() {
    let world = World::with(&[("a.txt", b"the first text\n"), ("b.txt", b"b\n")]);
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    world.commit(&[("a.txt", b"one\ntwo\n")]);
    let clone = cloned(&world, &["--filter=blob:none"]);
    whole_session(&clone, "a.txt", "two");
    clone.git(&["switch", "--quiet", "main"]);
    // HEAD's blob was never fetched, and nothing is fetched now.
    clone.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    let missing = clone.rev("HEAD:a.txt");
    let away = world.root.with_file_name("away");
    std::fs::rename(&world.root, &away).unwrap();
    let here = |clone: &World| {
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
    std::fs::rename(&away, &world.root).unwrap();
    // Once Git fetched it to check out a session's worktree.
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
