//! Links, special files, nested repositories, mounts, and trees that Git would not check out: on
//! disk, in trees and in the way of an edit, also while they change. Nothing outside changes,
//! nothing in a Git directory changes, and no call blocks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::json;

use crate::paths::{edt, everything, place, sentinel};
use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, run, same, walk};

const LINK: &str = "PATH_THROUGH_SYMLINK";
const NO_FILE: &str = "NOT_A_FILE";
const OUTSIDE: &str = "PATH_OUTSIDE_REPO";
const GIT_DIR: &str = "PATH_IN_GIT_DIR";

/// Paths with something else than a file, and the code of every call on them.
const SITUATIONS: &[(&str, &str)] = &[
    ("out", LINK),
    ("out/secret", LINK),
    ("out/new", LINK),
    ("out/in/deep", LINK),
    ("absolute/secret", LINK),
    ("dir/up/secret", LINK),
    ("dir/up/in/new", LINK),
    ("inside", LINK),
    ("inside/c.txt", LINK),
    ("inside/new/x", LINK),
    ("to-git", LINK),
    ("to-git/config", LINK),
    ("to-git/hooks/pre-commit", LINK),
    ("dangling", LINK),
    ("dangling/x", LINK),
    ("loop", LINK),
    ("loop/x", LINK),
    ("root/etc/passwd", LINK),
    ("cwd/a.txt", LINK),
    ("fd/0", LINK),
    ("to-secret", LINK),
    ("to-a", LINK),
    ("to-config", LINK),
    ("to-null", LINK),
    ("to-self", LINK),
    ("tracked-link", LINK),
    ("tracked-link/x", LINK),
    ("pipe", NO_FILE),
    ("pipe/x", NO_FILE),
    ("socket", NO_FILE),
    ("dir", NO_FILE),
    ("a.txt/x", NO_FILE),
    ("a.txt/x/y", NO_FILE),
    ("dir/c.txt/x", NO_FILE),
    ("nested/file", OUTSIDE),
    ("nested/new/deep", OUTSIDE),
    ("nested-file/file", OUTSIDE),
    ("nested-link/file", OUTSIDE),
    ("nested-dangling/file", OUTSIDE),
    ("module", OUTSIDE),
    ("module/file", OUTSIDE),
    ("module/deep/new", OUTSIDE),
    ("bare/config", GIT_DIR),
    ("bare/hooks/pre-commit", GIT_DIR),
    ("bare/objects/x", GIT_DIR),
];

/// Makes them.
fn situations() -> TestRepo {
    let workspace = place();
    let (root, outside) = (&workspace.root, workspace.root.parent().unwrap().join("outside"));
    for (target, name) in [
        (Path::new("../outside"), "out"),
        (outside.as_path(), "absolute"),
        (Path::new("../../outside"), "dir/up"),
        (Path::new("dir"), "inside"),
        (Path::new(".git"), "to-git"),
        (Path::new("nowhere/at/all"), "dangling"),
        (Path::new("loop"), "loop"),
        (Path::new("/proc/self/root"), "root"),
        (Path::new("/proc/self/cwd"), "cwd"),
        (Path::new("/proc/self/fd"), "fd"),
        (Path::new("../outside/secret"), "to-secret"),
        (Path::new("a.txt"), "to-a"),
        (Path::new(".git/config"), "to-config"),
        (Path::new("/dev/null"), "to-null"),
        (Path::new("/proc/self/exe"), "to-self"),
        (Path::new("../outside/in"), "tracked-link"),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    fifo(&root.join("pipe"));
    drop(std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap());
    for name in ["nested", "nested-file", "nested-link", "nested-dangling", "module"] {
        workspace.write(&format!("{name}/file"), "nested\n");
    }
    workspace.git(&["init", "--quiet", "nested"]);
    workspace.write("nested-file/.git", "gitdir: ../nested/.git\n");
    symlink("../nested/.git", root.join("nested-link/.git")).unwrap();
    symlink("nowhere", root.join("nested-dangling/.git")).unwrap();
    workspace.git(&["init", "--quiet", "--bare", "bare"]);
    let head = workspace.rev("HEAD");
    workspace.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},module")]);
    workspace.git(&["add", "tracked-link"]);
    workspace.git(&["commit", "--quiet", "-m", "a link and a submodule"]);
    workspace
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// Every call on `path`.
fn calls(path: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["apply", path, "--mode", "create", "--content", "evil\n"],
        vec!["apply", path, "--mode", "overwrite", "--content", "evil\n"],
        vec!["apply", path, "--mode", "append", "--content", "evil\n"],
        vec!["apply", path, "--mode", "edit", "--old-text", "secret", "--content", "evil"],
        vec!["apply", path, "--mode", "delete"],
        vec!["apply", path, "--mode", "rename", "--to", "stolen.txt"],
        vec!["apply", "a.txt", "--mode", "rename", "--to", path],
        vec!["read", path],
    ]
}

/// Puts every situation to every call, each started through `wrapper`.
fn refused(wrapper: &[&str], situations_of: impl Fn(&TestRepo) -> Vec<(String, &'static str)>) {
    let workspace = situations();
    let rows = situations_of(&workspace);
    let before = everything(&workspace);
    for (path, code) in &edt_testkit::share(rows, 8) {
        for args in calls(path) {
            let answer =
                edt(&workspace, wrapper, b"", &args.iter().map(OsStr::new).collect::<Vec<_>>());
            // Only the tree knows a submodule that was never filled, and `read` looks at the disk
            // alone.
            if args[0] == "read" && path.starts_with("module") {
                continue;
            }
            let said = answer.codes();
            assert!(answer.exit == 1 && said == [*code], "{args:?}: {:#}", answer.json);
        }
        let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-secret\n+evil\n");
        let answer =
            edt(&workspace, wrapper, patch.as_bytes(), &["apply", "--patch", "-"].map(OsStr::new));
        assert!(
            answer.exit == 1 && answer.codes() == [*code],
            "a patch for {path}: {:#}",
            answer.json
        );
        let named = edt(&workspace, wrapper, b"", &["checkpoint", path].map(OsStr::new));
        assert!(matches!(named.exit, 0 | 1), "checkpoint {path}: {:#}", named.json);
        assert_ne!(named.json["status"], "applied", "checkpoint {path}: {:#}", named.json);
    }
    same(&before, &everything(&workspace));
}

fn rows(_: &TestRepo) -> Vec<(String, &'static str)> {
    SITUATIONS.iter().map(|(path, code)| ((*path).to_owned(), *code)).collect()
}

#[test]
fn no_call_follows_a_link_or_special_file_at_any_path() {
    refused(&[], |workspace| {
        let mut rows = rows(workspace);
        for (name, kind, (major, minor)) in [
            ("null", FileType::CharacterDevice, (1, 3)),
            ("zero", FileType::CharacterDevice, (1, 5)),
            ("disk", FileType::BlockDevice, (7, 250)),
        ] {
            let device = rustix::fs::makedev(major, minor);
            if mknodat(CWD, workspace.root.join(name), kind, Mode::from_raw_mode(0o666), device)
                .is_ok()
            {
                rows.push((name.to_owned(), NO_FILE));
            } else {
                println!("skipped: no right to make a device");
            }
        }
        rows
    });
}

/// The arguments of `strace` that make `openat2` fail as on an old kernel; `None` if it cannot be
/// used here.
fn without_openat2(workspace: &TestRepo) -> Option<Vec<&'static str>> {
    let args = vec![
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=openat2",
        "-e",
        "inject=openat2:error=ENOSYS",
    ];
    let tried =
        workspace.command(args[0]).args(&args[1..]).arg("true").stderr(Stdio::null()).status();
    if tried.is_ok_and(|status| status.success()) {
        return Some(args);
    }
    println!("skipped: strace is not there, or may not trace");
    None
}

#[test]
fn the_same_holds_without_openat2() {
    let Some(wrapper) = without_openat2(&TestRepo::with(&[])) else { return };
    refused(&wrapper, |workspace| rows(workspace).into_iter().step_by(2).collect());
}

#[test]
fn a_checkpoint_of_everything_takes_files_and_nothing_else() {
    let workspace = situations();
    let around = sentinel(&workspace);
    workspace.write("new.txt", "new\n");
    workspace.write("dir/new.txt", "new\n");
    let answer = workspace.edt(&["checkpoint"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    let tree = workspace.git(&["diff", "--name-only", "main", "HEAD"]);
    assert_eq!(tree, "dir/new.txt\nnew.txt\n");
    for args in [&["status"][..], &["diff"], &["log"], &["undo"], &["abandon"]] {
        workspace.edt(args);
    }
    same(&outside(around), &outside(sentinel(&workspace)));
}

/// Without the Git directory, which commands that write change.
fn outside(all: Snapshot) -> Snapshot {
    let changes = [
        "git/refs",
        "git/logs",
        "git/objects",
        "git/index",
        "git/HEAD",
        "git/ORIG_HEAD",
        "git/packed-refs",
        "git/COMMIT_EDITMSG",
    ];
    all.into_iter().filter(|(path, _)| !changes.iter().any(|name| path.starts_with(name))).collect()
}

#[test]
fn a_hard_link_is_cut_by_an_edit_and_its_other_name_keeps_its_bytes() {
    let workspace = place();
    let secret = workspace.root.parent().unwrap().join("outside/secret");
    std::fs::hard_link(&secret, workspace.root.join("hard.txt")).unwrap();
    std::fs::hard_link(workspace.root.join(".git/config"), workspace.root.join("conf")).unwrap();
    let around = outside(sentinel(&workspace));
    for path in ["hard.txt", "conf"] {
        workspace.edt(&["apply", path, "--mode", "append", "--content", "mine\n"]);
        assert!(workspace.text(path).ends_with("mine\n"));
        workspace.overwrite(path, "again\n");
        workspace.edt(&["undo"]);
        workspace.edt(&["redo"]);
        workspace.edt(&["restore", path]);
        workspace.edt(&["apply", path, "--mode", "delete", "--allow", "mass_deletion"]);
    }
    same(&around, &outside(sentinel(&workspace)));
}

#[test]
fn a_git_directory_under_another_name_is_recognized() {
    let workspace = TestRepo::unborn(&[]);
    let store = workspace.root.join("store");
    workspace.git(&["init", "--quiet", "--separate-git-dir", store.to_str().unwrap()]);
    workspace.commit(&[("a.txt", b"a\n"), (".gitignore", b"store\n")]);
    for path in ["store/config", "store/hooks/pre-commit", "store/new"] {
        for mode in ["create", "overwrite", "append"] {
            let answer = workspace.edt(&["apply", path, "--mode", mode, "--content", "evil\n"]);
            assert_eq!(
                (answer.codes(), answer.exit),
                (vec![GIT_DIR], 1),
                "{path} {mode}: {:#}",
                answer.json
            );
        }
    }
    assert!(!store.join("hooks/pre-commit").exists() && !store.join("new").exists());
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "fine\n"]).landed();
}

#[test]
fn a_worktree_inside_its_git_directory_is_refused() {
    let workspace = place();
    for inside in ["", "hooks", "objects/info", "refs"] {
        let target = workspace.root.join(".git").join(inside);
        workspace.git(&["config", "core.worktree", target.to_str().unwrap()]);
        let answer =
            workspace.edt(&["apply", "pre-commit", "--mode", "create", "--content", "evil\n"]);
        assert_eq!(answer.codes(), ["UNSUPPORTED_REPOSITORY"], "{inside}: {:#}", answer.json);
        let mut command = workspace.command(EDT);
        command
            .current_dir(&target)
            .env("GIT_DIR", workspace.root.join(".git"))
            .env("GIT_WORK_TREE", &target);
        command.args(["apply", "pre-commit", "--mode", "create", "--content", "evil\n", "--json"]);
        assert_eq!(
            run(command, b"", &[]).codes(),
            ["UNSUPPORTED_REPOSITORY"],
            "GIT_WORK_TREE, {inside}"
        );
    }
    assert!(!workspace.root.join(".git/hooks/pre-commit").exists());
    workspace.git(&["config", "--unset", "core.worktree"]);
    // The user may choose a linked worktree in a directory of its own, but not in the hooks
    // directory.
    workspace.git(&["worktree", "add", "--quiet", ".git/trees/one"]);
    let linked = workspace.at(workspace.root.join(".git/trees/one"));
    linked.edt(&["apply", "a.txt", "--mode", "append", "--content", "fine\n"]).landed();
    // A repository inside another one's Git directory writes its own files only.
    workspace.git(&["init", "--quiet", ".git/other"]);
    let other = workspace.at(workspace.root.join(".git/other"));
    other.edt(&["apply", "x.txt", "--mode", "create", "--content", "fine\n"]).landed();
    assert_eq!(
        other.edt(&["apply", "../config", "--mode", "append", "--content", "x\n"]).codes(),
        [OUTSIDE]
    );
}

#[test]
fn attributes_that_are_a_fifo_are_an_error_and_no_wait() {
    let workspace = place();
    fifo(&workspace.root.join(".gitattributes"));
    let answer = edt(
        &workspace,
        &[],
        b"",
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"].map(OsStr::new),
    );
    assert_eq!((answer.codes(), answer.exit), (vec!["IO_ERROR"], 5), "{:#}", answer.json);
    assert!(answer.message().contains("FIFO"), "{}", answer.message());
}

#[test]
fn rules_that_are_links_out_of_the_worktree_are_not_followed() {
    for name in [".gitignore", ".gitattributes", ".gitmodules", "edt.toml"] {
        let workspace = place();
        symlink("/dev/zero", workspace.root.join(name)).unwrap();
        for args in [
            &["status"][..],
            &["checkpoint"],
            &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
        ] {
            let answer = edt(
                &workspace,
                &["prlimit", "--as=2000000000"],
                b"",
                &args.iter().map(OsStr::new).collect::<Vec<_>>(),
            );
            assert_eq!(answer.exit, 0, "{name}: {:#}", answer.json);
        }
    }
}

/// Writes a tree as no honest Git would.
fn tree(workspace: &TestRepo, entries: &[(&str, &str, &[u8])]) -> String {
    let mut raw = Vec::new();
    for (mode, oid, name) in entries {
        raw.extend_from_slice(mode.as_bytes());
        raw.push(b' ');
        raw.extend_from_slice(name);
        raw.push(0);
        raw.extend(
            (0..oid.len()).step_by(2).map(|at| u8::from_str_radix(&oid[at..at + 2], 16).unwrap()),
        );
    }
    write_object(workspace, "tree", &raw)
}

fn write_object(workspace: &TestRepo, kind: &str, raw: &[u8]) -> String {
    let mut child = workspace
        .command("git")
        .args(["hash-object", "-w", "--literally", "--stdin", "-t", kind])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), raw).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Names in trees that lead into a Git directory or out of the worktree.
const IN_TREES: &[&[u8]] = &[
    b".git",
    b".GIT",
    b"git~1",
    b".git ",
    b".g\xe2\x80\x8cit",
    b"..",
    b".",
    b"../up",
    b".git/hooks/pre-push",
    b"/tmp/edt-hostile-absolute",
    b"dir/../../up",
    b"",
];

/// A session whose only edit took away what a hostile commit held: `undo` would bring it back.
fn hostile_session(workspace: &TestRepo, name: &[u8], below: bool) -> String {
    let evil = write_object(workspace, "blob", b"#!/bin/sh\necho evil\n");
    let directory =
        tree(workspace, &[("100755", &evil, b"config"), ("100755", &evil, b"pre-commit")]);
    let hooks = tree(workspace, &[("40000", &directory, b"hooks")]);
    let (mode, oid) = if below { ("40000", &hooks) } else { ("100644", &evil) };
    let a = workspace.rev("main:a.txt");
    let root = tree(workspace, &[("100644", &a, b"a.txt"), (mode, oid, name)]);
    let commit = |tree: &str, parent: &str, message: &str| {
        workspace.git(&["commit-tree", "-p", parent, "-m", message, tree]).trim().to_owned()
    };
    workspace.edt(&["begin", "s"]).landed();
    let base = commit(&root, "main", "hostile");
    let clean = tree(workspace, &[("100644", &a, b"a.txt")]);
    let tip = commit(&clean, &base, "tidied\n\nEdt-Session: s\nEdt-Kind: edit\nEdt-Edit: 1\n");
    workspace.git(&["update-ref", "refs/edt/s/base", &base]);
    workspace.git(&["update-ref", "refs/heads/edt/s", &tip]);
    workspace.git(&["read-tree", &tip]);
    base
}

#[test]
fn a_tree_that_git_would_not_check_out_brings_nothing_onto_the_disk() {
    for linked in [false, true] {
        let main = place();
        std::fs::remove_dir_all(main.root.join("dir")).unwrap();
        std::fs::remove_file(main.root.join("sub.txt")).unwrap();
        main.git(&["add", "--all"]);
        main.git(&["commit", "--quiet", "-m", "only a.txt"]);
        let around = outside(sentinel(&main));
        for (n, name) in edt_testkit::share(IN_TREES.iter().enumerate().collect(), 3) {
            for below in [false, true] {
                let made = main.root.parent().unwrap().join("home/tree");
                let workspace = if linked {
                    main.git(&[
                        "worktree",
                        "add",
                        "--quiet",
                        "--detach",
                        made.to_str().unwrap(),
                        "main",
                    ]);
                    main.at(&made)
                } else {
                    main.at(&main.root)
                };
                let pointer = std::fs::read(workspace.root.join(".git")).ok();
                let base = hostile_session(&workspace, name, below);
                let mut worktree = Snapshot::new();
                walk(&workspace.root, "", &mut worktree);
                let place = main.root.parent().unwrap().join(format!("home/z{n}"));
                let all: [&[&str]; 10] = [
                    &["status"],
                    &["log"],
                    &["diff"],
                    &["show", &base],
                    &["undo"],
                    &["undo", "--to", &base],
                    &["redo"],
                    &["checkpoint"],
                    &["begin", "z", "--base", &base, "--worktree", place.to_str().unwrap()],
                    &["land"],
                ];
                for args in all {
                    let answer =
                        edt(&workspace, &[], b"", &args.iter().map(OsStr::new).collect::<Vec<_>>());
                    assert_ne!(
                        answer.exit,
                        70,
                        "{:?} {args:?}: {:#}",
                        OsStr::from_bytes(name),
                        answer.json
                    );
                    assert!(
                        args[0] != "undo" || answer.exit != 0,
                        "{:?} {args:?}: {:#}",
                        OsStr::from_bytes(name),
                        answer.json
                    );
                }
                let mut now = Snapshot::new();
                walk(&workspace.root, "", &mut now);
                same(&worktree, &now);
                assert_eq!(
                    std::fs::read(workspace.root.join(".git")).ok(),
                    pointer,
                    "the worktree's own .git"
                );
                // Away with all of it.
                if place.exists() {
                    main.try_git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
                    let _ = std::fs::remove_dir_all(&place);
                }
                if linked {
                    main.git(&["worktree", "remove", "--force", made.to_str().unwrap()]);
                } else {
                    main.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
                    main.git(&["read-tree", "main"]);
                }
                for line in main
                    .git(&["for-each-ref", "--format=%(refname)", "refs/edt", "refs/heads/edt"])
                    .lines()
                {
                    main.git(&["update-ref", "-d", line]);
                }
                let _ = std::fs::remove_dir_all(main.root.join(".git/edt"));
                let _ = std::fs::remove_dir_all(main.root.join(".git/worktrees"));
            }
        }
        same(&around, &outside(sentinel(&main)));
        assert!(!Path::new("/tmp/edt-hostile-absolute").exists());
    }
}

/// While `race` runs over and over, `call` is made `times` times; every answer must be coded.
fn racing(
    times: usize,
    race: impl Fn() + Sync,
    mut call: impl FnMut(usize) -> Answer,
) -> std::collections::BTreeMap<String, usize> {
    let stop = AtomicBool::new(false);
    let mut seen = std::collections::BTreeMap::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                race();
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for n in 0..times {
                let answer = call(n);
                assert_ne!(answer.exit, 70, "{:#}", answer.json);
                assert!(answer.exit == 0 || !answer.codes().is_empty(), "{:#}", answer.json);
                *seen
                    .entry(answer.codes().first().copied().unwrap_or("done").to_owned())
                    .or_insert(0) += 1;
            }
        }));
        stop.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    seen
}

/// The next of a round of calls on `path`.
fn turn(workspace: &TestRepo, path: &str, n: usize) -> Answer {
    let content = format!("{n}\n");
    let args: Vec<&str> = match n % 6 {
        0 | 1 => vec!["apply", path, "--mode", "append", "--content", &content],
        2 => vec!["undo"],
        3 => vec!["redo"],
        4 => vec!["restore", path],
        _ => vec!["checkpoint", path],
    };
    edt(workspace, &[], b"", &args.iter().map(OsStr::new).collect::<Vec<_>>())
}

#[test]
fn a_parent_swapped_for_a_link_while_edt_works_leads_nowhere() {
    let workspace = TestRepo::with(&[("flip/f.txt", b"mine\n"), ("flip/sub/g.txt", b"mine\n")]);
    let outside = workspace.root.parent().unwrap().join("outside");
    std::fs::create_dir_all(outside.join("sub")).unwrap();
    // The very bytes, so that no comparison of contents saves anyone.
    std::fs::write(outside.join("f.txt"), "mine\n").unwrap();
    std::fs::write(outside.join("sub/g.txt"), "mine\n").unwrap();
    symlink(&outside, workspace.root.join("other")).unwrap();
    workspace.edt(&["begin", "s"]).landed();
    let (mut before, mut after) = (Snapshot::new(), Snapshot::new());
    walk(&outside, "", &mut before);
    let (a, b) = (workspace.root.join("flip"), workspace.root.join("other"));
    let flip = || {
        let _ = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
        std::thread::sleep(std::time::Duration::from_micros(900));
    };
    let seen = racing(240, flip, |n| {
        turn(&workspace, if n % 2 == 0 { "flip/f.txt" } else { "flip/sub/g.txt" }, n / 2)
    });
    println!("{seen:?}");
    walk(&outside, "", &mut after);
    same(&before, &after);
    assert!(seen.contains_key("done") && seen.len() > 1, "the race was never run: {seen:?}");
    if std::fs::symlink_metadata(&a).unwrap().is_symlink() {
        renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();
    }
    workspace.edt(&["status"]);
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}

#[test]
fn a_file_swapped_for_something_else_while_edt_works_is_not_followed() {
    let workspace = TestRepo::with(&[("f.txt", b"mine\n")]);
    let secret = workspace.home.join("secret");
    std::fs::write(&secret, "mine\n").unwrap();
    workspace.edt(&["begin", "s"]).landed();
    let others = ["link", "pipe", "directory", "hard"].map(|name| workspace.root.join(name));
    symlink(&secret, &others[0]).unwrap();
    fifo(&others[1]);
    std::fs::create_dir(&others[2]).unwrap();
    std::fs::hard_link(&secret, &others[3]).unwrap();
    let file = workspace.root.join("f.txt");
    let round = std::sync::atomic::AtomicUsize::new(0);
    let flip = || {
        let other = &others[round.fetch_add(1, Ordering::Relaxed) / 2 % others.len()];
        let _ = renameat_with(CWD, &file, CWD, other, RenameFlags::EXCHANGE);
        std::thread::sleep(std::time::Duration::from_micros(900));
    };
    let seen = racing(200, flip, |n| turn(&workspace, "f.txt", n));
    println!("{seen:?}");
    assert_eq!(std::fs::read(&secret).unwrap(), b"mine\n");
    assert!(seen.len() > 1, "the race was never run: {seen:?}");
    workspace.edt(&["status"]);
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}

/// Runs `script` with `sh` where mounts are its own; `None` if that is not possible here.
fn with_mounts(workspace: &TestRepo, script: &str) -> Option<String> {
    let mut command = workspace.command("unshare");
    let done = command
        .args([
            "--mount",
            "sh",
            "-ec",
            &format!("mount --make-rprivate / 2>/dev/null || exit 77\n{script}"),
        ])
        .env("EDT", EDT)
        .output();
    // A later failure is a failure of the test, not missing permissions.
    let done = done
        .ok()
        .filter(|done| !matches!(done.status.code(), Some(1 | 77)) || !done.stdout.is_empty())?;
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[test]
fn a_mount_in_the_worktree_is_part_of_it_and_a_file_that_is_one_is_refused() {
    let workspace = place();
    workspace.write("mnt/here.txt", "under the mount\n");
    workspace.write("bound.txt", "bound\n");
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "more"]);
    let script = "
        mount -t tmpfs none mnt || exit 77
        echo mounted
        printf 'on the mount\\n' > mnt/here.txt
        mount --bind ../outside/secret bound.txt
        \"$EDT\" apply mnt/here.txt --mode append --content 'more\n' --json > ../1.json
        \"$EDT\" apply mnt/deep/new.txt --mode create --content 'new\n' --json > ../2.json
        cat mnt/here.txt mnt/deep/new.txt
        ls -A mnt mnt/deep
        \"$EDT\" undo 2 --json > ../3.json || true
        \"$EDT\" apply bound.txt --mode append --content 'evil\n' --json > ../4.json || true
        \"$EDT\" apply bound.txt --mode delete --json > ../5.json || true";
    let Some(out) = with_mounts(&workspace, script) else {
        println!("skipped: no right to a mount namespace");
        return;
    };
    assert!(out.contains("more\n") && out.contains("new\n") && !out.contains(".edt-"), "{out}");
    let status = |n: usize| -> serde_json::Value {
        let text =
            std::fs::read(workspace.root.parent().unwrap().join(format!("{n}.json"))).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        json!([
            json["status"],
            json["errors"]
                .as_array()
                .unwrap()
                .iter()
                .map(|error| error["code"].clone())
                .collect::<Vec<_>>()
        ])
    };
    assert_eq!(status(1)[0], "applied");
    assert_eq!(status(2)[0], "applied");
    assert_eq!(status(3)[0], "applied");
    assert_eq!(status(4), json!(["environment", ["IO_ERROR"]]));
    assert_eq!(status(5), json!(["environment", ["IO_ERROR"]]));
    assert_eq!(
        std::fs::read(workspace.root.parent().unwrap().join("outside/secret")).unwrap(),
        b"secret\n"
    );
    assert_eq!(workspace.text("mnt/here.txt"), "under the mount\n", "nothing went below the mount");
}

/// As in a container that has the worktree and its Git directory, or parts of the worktree, from
/// different directories of one disk: the device is the same, and a rename from one mount to the
/// other is `EXDEV`.
#[test]
fn mounts_of_one_file_system_are_edited() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("sub/b.txt", b"two\n")]);
    let script = "
        mkdir ../git ../sub
        cp -a .git/. ../git
        cp -a sub/. ../sub
        mount --bind ../git .git || exit 77
        mount --bind ../sub sub || exit 77
        echo mounted
        for path in a.txt sub/b.txt; do
            \"$EDT\" apply $path --mode append --content 'more\n'
        done
        \"$EDT\" apply sub/deep/new.txt --mode create --content 'new\n'
        \"$EDT\" apply sub/b.txt --mode delete
        \"$EDT\" undo -n 2
        \"$EDT\" land
        git status --porcelain
        git fsck --strict
        ls -A sub .git
        cp -a ../git/. ../kept";
    let Some(out) = with_mounts(&workspace, script) else {
        println!("skipped: no right to a mount namespace");
        return;
    };
    assert!(
        out.contains("landed: 2 edits") && !out.contains(".edt-") && !out.contains(".lock"),
        "{out}"
    );
    let kept = workspace.root.parent().unwrap().join("kept");
    let show = ["--git-dir", kept.to_str().unwrap(), "show", "main:sub/b.txt"];
    assert_eq!(workspace.git(&show), "two\nmore\n");
}

#[test]
fn ignore_rules_that_are_a_fifo_do_not_block() {
    for name in [".gitignore", "new/.gitignore", "dir/.gitignore"] {
        let workspace = place();
        std::fs::create_dir_all(workspace.root.join("new")).unwrap();
        workspace.write("new/x.txt", "x\n");
        fifo(&workspace.root.join(name));
        for args in [&["status"][..], &["checkpoint"]] {
            let answer =
                edt(&workspace, &[], b"", &args.iter().map(OsStr::new).collect::<Vec<_>>());
            assert_ne!(answer.exit, 70, "{name}: {:#}", answer.json);
        }
    }
}
