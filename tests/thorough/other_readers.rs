//! Other implementations of Git read a repository after a day of sessions: libgit2 (`pygit2`) and
//! jj, each if it is installed.

use std::path::Path;
use std::process::Command;

use crate::test_repo::TestRepo;

/// Edits, a checkpoint, an undo, a landing, an abandoned session, a second worktree, packed
/// objects: all that edt writes.
fn day() -> TestRepo {
    let workspace =
        TestRepo::with(&[("a.txt", b"a\n"), ("dir/b.txt", b"b\n"), ("run.sh", b"#!/bin/sh\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "one\n");
    workspace.write("a.txt", "a user's\n");
    workspace.git(&["commit", "--quiet", "--all", "-m", "a user's"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "two\n"]).landed();
    workspace
        .edt(&[
            "apply",
            "dir/new.sh",
            "--mode",
            "create",
            "--content",
            "#!/bin/sh\n",
            "--executable",
        ])
        .landed();
    workspace.edt(&["apply", "dir/b.txt", "--mode", "rename", "--to", "c.txt"]).landed();
    workspace.edt(&["undo"]).landed();
    workspace.as_user(b"", &["land"], &[]).landed();
    workspace.edt(&["gc"]);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "beside", "--worktree", place.to_str().unwrap()]).landed();
    workspace.at(place).overwrite("a.txt", "beside\n");
    workspace.edt(&["begin", "left"]).landed();
    workspace.overwrite("a.txt", "left\n");
    workspace.edt(&["abandon"]).landed();
    workspace.edt(&["begin", "last"]).landed();
    workspace.overwrite("a.txt", "last\n");
    workspace.is_clean();
    workspace.is_sound();
    workspace
}

/// Where `name` is: named by the variable, else among the clients that `.ci/run` installs, else on
/// PATH.
fn program(variable: &str, name: &str) -> Option<String> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/clients/venv/bin").join(name);
    let usual = || if client.exists() { client.display().to_string() } else { name.to_owned() };
    let named = std::env::var(variable).ok().unwrap_or_else(usual);
    let there =
        Command::new(&named).arg("--version").output().is_ok_and(|done| done.status.success());
    if !there {
        println!("skipped: {named} is not installed ({variable} may name it)");
    }
    there.then_some(named)
}

const LIBGIT2: &str = r#"
import sys, pygit2
repo = pygit2.Repository(sys.argv[1])
assert repo.head.name == "refs/heads/edt/last", repo.head.name
assert repo.status() == {}, repo.status()
assert {entry.path for entry in repo.index} == {entry for entry in sys.argv[2].split("\n")}, [e.path for e in repo.index]
repo.index.read(True)
seen = 0
for name in repo.references:
    target = repo.references[name].resolve().peel(None) if name != "refs/stash" else None
    if isinstance(target, pygit2.Commit):
        for commit in repo.walk(target.id):
            seen += 1
            (commit.tree.diff_to_tree(commit.parents[0].tree) if commit.parents else commit.tree.diff_to_tree()).patch
for entry in repo.references["refs/heads/edt/last"].log():
    assert entry.message, entry
assert "beside" in repo.list_worktrees() or "side" in repo.list_worktrees(), repo.list_worktrees()
assert seen > 10, seen
for oid in repo:
    repo[oid].read_raw()
print(seen, "commits")
"#;

#[test]
fn libgit2_reads_the_repository_without_complaint() {
    let Some(python) = program("EDT_PYTHON", "python3") else { return };
    if !Command::new(&python).args(["-c", "import pygit2"]).output().unwrap().status.success() {
        println!("skipped: {python} has no pygit2 (`pip install pygit2`)");
        return;
    }
    let workspace = day();
    let listed = workspace.git(&["ls-files"]);
    let root = workspace.root.to_str().unwrap();
    let done =
        workspace.command(&python).args(["-c", LIBGIT2, root, listed.trim()]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    workspace.is_clean();
    workspace.overwrite("a.txt", "and on\n");
    workspace.is_sound();
}

#[test]
fn jj_reads_the_repository_without_complaint() {
    let Some(jj) = program("EDT_JJ", "jj") else { return };
    let workspace = day();
    let copy = workspace.home.join("copy");
    assert!(
        workspace
            .command("cp")
            .arg("-a")
            .arg(&workspace.root)
            .arg(&copy)
            .status()
            .unwrap()
            .success()
    );
    let workspace = workspace.at(&copy);
    let say = |args: &[&str]| {
        let done = workspace
            .command(&jj)
            .args(["--no-pager", "--color=never"])
            .args(args)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.success() && !said.contains("Warning: Failed"), "jj {args:?}: {said}");
        said
    };
    assert!(Path::new(&jj).is_absolute() || say(&["--version"]).starts_with("jj"));
    say(&["git", "init", "--colocate"]);
    let log =
        say(&["log", "-r", "all()", "--no-graph", "-T", "description.first_line() ++ \"\\n\""]);
    for subject in
        ["edit a.txt (+1 -1)", "checkpoint: uncommitted changes of a.txt", "a user's commit"]
    {
        assert!(log.contains(subject), "{subject}: {log}");
    }
    let status = say(&["status"]);
    assert!(
        status.contains("The working copy has no changes") || status.contains("no changes"),
        "{status}"
    );
    workspace.is_sound();
}
