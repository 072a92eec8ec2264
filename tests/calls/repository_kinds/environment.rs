//! Environment variables of Git, and repositories of other users.

use std::path::Path;

use serde_json::json;

use super::as_git_would;
use crate::test_repo::{Answer, EDT, TestRepo, run};

/// `edt` started in `dir` with variables set.
#[track_caller]
fn edt(workspace: &TestRepo, dir: &Path, variables: &[(&str, &str)], args: &[&str]) -> Answer {
    let mut command = workspace.command(EDT);
    command.current_dir(dir).envs(variables.iter().copied()).args(args).arg("--json");
    run(command, b"", args)
}

const APPEND: &[&str] = &["apply", "a.txt", "--mode", "append", "--content", "x\n"];

fn workspace() -> TestRepo {
    TestRepo::with(&[("a.txt", b"a\n"), ("b.txt", b"b\n"), ("sub/c.txt", b"c\n")])
}

#[test]
fn git_dir_and_git_work_tree_are_honoured_from_anywhere() {
    let workspace = workspace();
    let (dir, tree) = (workspace.root.join(".git"), workspace.root.clone());
    let both = [("GIT_DIR", dir.to_str().unwrap()), ("GIT_WORK_TREE", tree.to_str().unwrap())];
    edt(&workspace, &workspace.home, &both, APPEND).landed();
    assert_eq!(workspace.text("a.txt"), "a\nx\n");
    as_git_would(&workspace, "an edit from elsewhere");
    edt(
        &workspace,
        &workspace.root,
        &[("GIT_DIR", ".git"), ("GIT_INDEX_FILE", ".git/index")],
        APPEND,
    )
    .landed();
    edt(
        &workspace,
        &workspace.root,
        &[("GIT_DIR", ".git"), ("GIT_WORK_TREE", ".")],
        &["undo", "2"],
    )
    .landed();
    as_git_would(&workspace, "as in a hook");
}

#[test]
fn a_separate_git_directory_and_its_worktree_are_one_repository() {
    let workspace = workspace();
    let moved = workspace.home.join("elsewhere.git");
    workspace.git(&["init", "--quiet", "--separate-git-dir", moved.to_str().unwrap()]);
    workspace.edt(APPEND).landed();
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["redo"]).landed();
    as_git_would(&workspace, "a separate Git directory");
    workspace.is_sound();
}

#[test]
fn variables_relative_to_the_current_directory_are_refused_elsewhere() {
    let workspace = workspace();
    let dir = workspace.root.join(".git");
    let dir = dir.to_str().unwrap();
    for (at, variables) in [
        (&workspace.home, vec![("GIT_DIR", dir)]),
        (&workspace.root.join("sub"), vec![("GIT_DIR", dir)]),
        (&workspace.root.join("sub"), vec![("GIT_INDEX_FILE", ".git/index")]),
        (&workspace.home, vec![("GIT_DIR", dir), ("GIT_WORK_TREE", "../repo")]),
    ] {
        let refused = workspace
            .unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || edt(&workspace, at, &variables, APPEND));
        assert!(
            refused.message().contains(variables.last().unwrap().0),
            "{variables:?}: {:#}",
            refused.json
        );
    }
}

#[test]
fn another_index_is_the_one_that_follows() {
    let workspace = workspace();
    let other = workspace.home.join("index");
    std::fs::copy(workspace.root.join(".git/index"), &other).unwrap();
    let before = std::fs::read(workspace.root.join(".git/index")).unwrap();
    let variables = [("GIT_INDEX_FILE", other.to_str().unwrap())];
    edt(&workspace, &workspace.root, &variables, APPEND).landed();
    assert!(
        std::fs::read(workspace.root.join(".git/index")).unwrap() == before,
        "the usual index is as it was"
    );
    let mut status = workspace.command("git");
    let status = status.args(["status", "--porcelain"]).envs(variables).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    edt(&workspace, &workspace.root, &variables, &["undo"]).landed();
    workspace.is_sound();
}

#[test]
fn variables_that_edt_does_not_honour_are_refused_unless_they_have_no_effect() {
    let workspace = workspace();
    let (objects, git) = (workspace.root.join(".git/objects"), workspace.root.join(".git"));
    let elsewhere = workspace.home.to_str().unwrap();
    for name in [
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_ATTR_SOURCE",
        "GIT_SHALLOW_FILE",
    ] {
        let call = || edt(&workspace, &workspace.root, &[(name, elsewhere)], APPEND);
        let refused = workspace.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, call);
        assert!(
            refused.message().contains(name) && refused.hint().contains(name),
            "{:#}",
            refused.json
        );
        edt(&workspace, &workspace.root, &[(name, "")], &["status"]);
    }
    let same = [
        ("GIT_OBJECT_DIRECTORY", objects.to_str().unwrap()),
        ("GIT_COMMON_DIR", git.to_str().unwrap()),
    ];
    edt(&workspace, &workspace.root, &same, APPEND).landed();
}

/// Whether this test may give files away.
fn is_root(workspace: &TestRepo) -> bool {
    let id = workspace.command("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

#[test]
fn a_repository_of_another_user_is_refused_as_git_refuses_it() {
    let workspace = workspace();
    if !is_root(&workspace) {
        return;
    }
    let ran = workspace.home.join("ran");
    let program = format!("touch {}", ran.display());
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge"] {
        workspace.git(&["config", key, &program]);
    }
    workspace.write(".gitattributes", "*.txt filter=x\n");
    let give = |user: &str, paths: &[&str]| {
        let paths = paths.iter().map(|path| workspace.root.join(path));
        assert!(
            workspace.command("chown").args(["-R", user]).args(paths).status().unwrap().success()
        );
    };
    let _ = std::fs::remove_file(&ran);
    for theirs in [&["."][..], &[".git"]] {
        give("0", &["."]);
        give("65534", theirs);
        assert!(!workspace.try_git(&["status"]).status.success(), "git refuses it, too");
        for args in
            [APPEND, &["status"], &["read", "a.txt"], &["undo"], &["begin"], &["trust", "--list"]]
        {
            let refused = workspace.edt(args);
            assert_eq!(refused.codes(), ["UNSUPPORTED_REPOSITORY"], "{theirs:?} {args:?}");
            assert!(refused.message().contains("belongs to another user"), "{:#}", refused.json);
            assert!(refused.hint().contains("safe.directory"), "{:#}", refused.json);
        }
    }
    assert!(!ran.exists() && !workspace.exists(".git/edt"), "nothing ran, nothing was written");
    // Git's own way to allow it.
    std::fs::remove_file(workspace.root.join(".gitattributes")).unwrap();
    workspace.git(&[
        "config",
        "--global",
        "--add",
        "safe.directory",
        workspace.root.to_str().unwrap(),
    ]);
    workspace.git(&["config", "--unset", "core.fsmonitor"]);
    workspace.edt(APPEND).landed();
    assert_eq!(workspace.edt(&["status"]).json["user_changes"], json!([]));
}

/// Regression: `git worktree add` wrote the new worktree's entries into the index that the
/// environment names.
#[test]
fn a_sessions_own_worktree_does_not_use_the_callers_index() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n"), ("b.txt", b"b\n")]);
    let index = workspace.home.join("index");
    std::fs::copy(workspace.root.join(".git/index"), &index).unwrap();
    workspace.write("a.txt", "staged\n");
    workspace.command("git").args(["add", "a.txt"]).env("GIT_INDEX_FILE", &index).status().unwrap();
    let before = std::fs::read(&index).unwrap();
    let side = workspace.at(workspace.home.join("side"));
    let mut begin = workspace.command(EDT);
    begin
        .args(["begin", "s", "--json", "--worktree"])
        .arg(&side.root)
        .env("GIT_INDEX_FILE", &index);
    begin.env("GIT_DIR", workspace.root.join(".git")).env("GIT_WORK_TREE", &workspace.root);
    run(begin, b"", &["begin"]).landed();
    assert_eq!(
        (std::fs::read(&index).unwrap() == before, workspace.text("a.txt").as_str()),
        (true, "staged\n")
    );
    side.is_clean();
}

/// In a container or with sudo, root edits once in a user's repository.
#[test]
fn what_root_makes_belongs_to_the_owner_of_the_repository() {
    let workspace = workspace();
    if !is_root(&workspace) {
        return;
    }
    workspace.git(&["config", "--global", "safe.directory", "*"]);
    let root = workspace.root.to_str().unwrap();
    assert!(
        workspace.command("chown").args(["-R", "12345:12345", root]).status().unwrap().success()
    );
    workspace.edt(&["begin", "s"]).landed();
    let create = ["apply", "new/dir/n.txt", "--mode", "create", "--content", "n\n"];
    workspace.edt(&create).landed();
    workspace.overwrite("a.txt", "root\n").landed();
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["redo"]).landed();
    workspace.edt(&["checkpoint"]);
    workspace.edt(&["land"]).landed();
    workspace.edt(&["status"]);
    let find = workspace.command("find").args([root, "-uid", "0"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&find.stdout), "");
}
