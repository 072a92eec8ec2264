//! What the environment says of the repository, and to whom it belongs.

use std::path::Path;

use serde_json::json;

use super::as_git_would;
use crate::world::{Answer, EDT, World, run};

/// `edt` started in `dir` with variables set.
#[track_caller]
fn edt(world: &World, dir: &Path, variables: &[(&str, &str)], args: &[&str]) -> Answer {
    let mut command = world.command(EDT);
    command.current_dir(dir).envs(variables.iter().copied()).args(args).arg("--json");
    run(command, b"", args)
}

const APPEND: &[&str] = &["apply", "a.txt", "--mode", "append", "--content", "x\n"];

fn world() -> World {
    World::with(&[("a.txt", b"a\n"), ("b.txt", b"b\n"), ("sub/c.txt", b"c\n")])
}

#[test]
fn git_dir_and_git_work_tree_are_honoured_from_anywhere() {
    let world = world();
    let (dir, tree) = (world.root.join(".git"), world.root.clone());
    let both = [("GIT_DIR", dir.to_str().unwrap()), ("GIT_WORK_TREE", tree.to_str().unwrap())];
    edt(&world, &world.home, &both, APPEND).landed();
    assert_eq!(world.text("a.txt"), "a\nx\n");
    as_git_would(&world, "an edit from elsewhere");
    edt(&world, &world.root, &[("GIT_DIR", ".git"), ("GIT_INDEX_FILE", ".git/index")], APPEND)
        .landed();
    edt(&world, &world.root, &[("GIT_DIR", ".git"), ("GIT_WORK_TREE", ".")], &["undo", "2"])
        .landed();
    as_git_would(&world, "as in a hook");
}

#[test]
fn a_separate_git_folder_and_worktree_are_one_repository() {
    let world = world();
    let moved = world.home.join("elsewhere.git");
    world.git(&["init", "--quiet", "--separate-git-dir", moved.to_str().unwrap()]);
    world.edt(APPEND).landed();
    world.edt(&["undo"]).landed();
    world.edt(&["redo"]).landed();
    as_git_would(&world, "a separate Git folder");
    world.is_sound();
}

#[test]
fn what_git_would_take_from_the_current_folder_is_refused_elsewhere() {
    let world = world();
    let dir = world.root.join(".git");
    let dir = dir.to_str().unwrap();
    for (at, variables) in [
        (&world.home, vec![("GIT_DIR", dir)]),
        (&world.root.join("sub"), vec![("GIT_DIR", dir)]),
        (&world.root.join("sub"), vec![("GIT_INDEX_FILE", ".git/index")]),
        (&world.home, vec![("GIT_DIR", dir), ("GIT_WORK_TREE", "../repo")]),
    ] {
        let refused =
            world.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || edt(&world, at, &variables, APPEND));
        assert!(
            refused.message().contains(variables.last().unwrap().0),
            "{variables:?}: {:#}",
            refused.json
        );
    }
}

#[test]
fn another_index_is_the_one_that_follows() {
    let world = world();
    let other = world.home.join("index");
    std::fs::copy(world.root.join(".git/index"), &other).unwrap();
    let before = std::fs::read(world.root.join(".git/index")).unwrap();
    let variables = [("GIT_INDEX_FILE", other.to_str().unwrap())];
    edt(&world, &world.root, &variables, APPEND).landed();
    assert!(
        std::fs::read(world.root.join(".git/index")).unwrap() == before,
        "the usual index is as it was"
    );
    let mut status = world.command("git");
    let status = status.args(["status", "--porcelain"]).envs(variables).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    edt(&world, &world.root, &variables, &["undo"]).landed();
    world.is_sound();
}

#[test]
fn variables_that_edt_does_not_honour_are_refused_unless_they_say_what_holds_anyway() {
    let world = world();
    let (objects, git) = (world.root.join(".git/objects"), world.root.join(".git"));
    let elsewhere = world.home.to_str().unwrap();
    for name in [
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_ATTR_SOURCE",
        "GIT_SHALLOW_FILE",
    ] {
        let call = || edt(&world, &world.root, &[(name, elsewhere)], APPEND);
        let refused = world.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, call);
        assert!(
            refused.message().contains(name) && refused.hint().contains(name),
            "{:#}",
            refused.json
        );
        edt(&world, &world.root, &[(name, "")], &["status"]);
    }
    let same = [
        ("GIT_OBJECT_DIRECTORY", objects.to_str().unwrap()),
        ("GIT_COMMON_DIR", git.to_str().unwrap()),
    ];
    edt(&world, &world.root, &same, APPEND).landed();
}

/// Whether this test may give files away.
fn is_root(world: &World) -> bool {
    let id = world.command("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

#[test]
fn a_repository_of_another_user_is_refused_as_git_refuses_it() {
    let world = world();
    if !is_root(&world) {
        return;
    }
    let ran = world.home.join("ran");
    let program = format!("touch {}", ran.display());
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge"] {
        world.git(&["config", key, &program]);
    }
    world.write(".gitattributes", "*.txt filter=x\n");
    let give = |user: &str, paths: &[&str]| {
        let paths = paths.iter().map(|path| world.root.join(path));
        assert!(world.command("chown").args(["-R", user]).args(paths).status().unwrap().success());
    };
    let _ = std::fs::remove_file(&ran);
    for theirs in [&["."][..], &[".git"]] {
        give("0", &["."]);
        give("65534", theirs);
        assert!(!world.try_git(&["status"]).status.success(), "git refuses it, too");
        for args in
            [APPEND, &["status"], &["read", "a.txt"], &["undo"], &["begin"], &["trust", "--list"]]
        {
            let refused = world.edt(args);
            assert_eq!(refused.codes(), ["UNSUPPORTED_REPOSITORY"], "{theirs:?} {args:?}");
            assert!(refused.message().contains("belongs to another user"), "{:#}", refused.json);
            assert!(refused.hint().contains("safe.directory"), "{:#}", refused.json);
        }
    }
    assert!(!ran.exists() && !world.exists(".git/edt"), "nothing ran, nothing was written");
    // Git's own way to say that it is all right.
    std::fs::remove_file(world.root.join(".gitattributes")).unwrap();
    world.git(&["config", "--global", "--add", "safe.directory", world.root.to_str().unwrap()]);
    world.git(&["config", "--unset", "core.fsmonitor"]);
    world.edt(APPEND).landed();
    assert_eq!(world.edt(&["status"]).json["uncommitted"], json!([]));
}

/// Once `git worktree add` wrote the new worktree's entries into the index that the environment names.
#[test]
fn a_worktree_of_a_sessions_own_is_not_made_with_the_callers_index() {
    let world = World::with(&[("a.txt", b"a\n"), ("b.txt", b"b\n")]);
    let index = world.home.join("index");
    std::fs::copy(world.root.join(".git/index"), &index).unwrap();
    world.write("a.txt", "staged\n");
    world.command("git").args(["add", "a.txt"]).env("GIT_INDEX_FILE", &index).status().unwrap();
    let before = std::fs::read(&index).unwrap();
    let side = world.at(world.home.join("side"));
    let mut begin = world.command(EDT);
    begin
        .args(["begin", "s", "--json", "--worktree"])
        .arg(&side.root)
        .env("GIT_INDEX_FILE", &index);
    begin.env("GIT_DIR", world.root.join(".git")).env("GIT_WORK_TREE", &world.root);
    run(begin, b"", &["begin"]).landed();
    assert_eq!(
        (std::fs::read(&index).unwrap() == before, world.text("a.txt").as_str()),
        (true, "staged\n")
    );
    side.is_clean();
}
