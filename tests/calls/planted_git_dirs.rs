//! Links and FIFOs in a planted Git directory lead no write of edt out of it.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::test_repo::{Snapshot, TestRepo, changed, walk};

/// What edt or its Git writes below a Git directory, at every depth; directories end with a slash.
const NAMES: &[&str] = &[
    "COMMIT_EDITMSG",
    "ORIG_HEAD",
    "config",
    "config.worktree",
    "edt/",
    "edt/main/",
    "edt/main/journal",
    "edt/main/lock",
    "edt/main/private/",
    "edt/main/stage/",
    "edt/private/",
    "edt/runs/",
    "index",
    "index.lock",
    "info/",
    "logs/",
    "logs/HEAD",
    "logs/refs/",
    "logs/refs/edt/",
    "logs/refs/heads/",
    "logs/refs/heads/edt/",
    "logs/refs/heads/edt/work",
    "logs/refs/heads/main",
    "objects/",
    "objects/info/",
    "objects/info/commit-graphs/",
    "objects/pack/",
    "packed-refs",
    "refs/",
    "refs/edt/",
    "refs/edt/work/",
    "refs/edt/proposals/",
    "refs/heads/",
    "refs/heads/edt/",
    "refs/heads/edt/work",
    "refs/worktree/",
    "worktrees/",
];

/// Everything that writes, in the order of a session.
fn all_commands(workspace: &TestRepo) -> Vec<String> {
    let mut codes = Vec::new();
    let mut call = |args: &[&str]| {
        let answer =
            if args[0] == "run" { workspace.runs(&[], &args[2..]) } else { workspace.edt(args) };
        codes.extend(answer.codes().into_iter().map(str::to_owned));
    };
    call(&["begin", "work"]);
    call(&["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]);
    call(&["apply", ".envrc", "--mode", "create", "--content", "x\n", "--propose"]);
    call(&["undo"]);
    call(&["redo"]);
    call(&["run", "--", "sh", "-c", "echo three > a.txt"]);
    call(&["checkpoint"]);
    call(&["revert", "1"]);
    call(&["land"]);
    call(&["gc"]);
    call(&["apply", "a.txt", "--mode", "overwrite", "--content", "four\n"]);
    call(&["abandon", "--force"]);
    call(&["status"]);
    codes
}

fn tree(directory: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    walk(directory, "", &mut all);
    all
}

/// Moves what is at `name` in the Git directory to `elsewhere`, and leaves a link to it.
fn plant(workspace: &TestRepo, name: &str, elsewhere: &Path) {
    let place = workspace.root.join(".git").join(name.trim_end_matches('/'));
    let victim = elsewhere.join("victim");
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    if place.exists() {
        std::fs::rename(&place, &victim).unwrap();
    } else if name.ends_with('/') {
        std::fs::create_dir(&victim).unwrap();
    } else {
        std::fs::write(&victim, "export PATH\n").unwrap();
    }
    symlink(&victim, &place).unwrap();
}

fn no_link_is_followed(session: &[&[&str]]) {
    for name in NAMES {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        session.iter().for_each(|call| drop(workspace.edt(call).landed()));
        let elsewhere = workspace.home.join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        plant(&workspace, name, &elsewhere);
        let before = tree(&elsewhere);
        let codes = all_commands(&workspace);
        let found = changed(&before, &tree(&elsewhere));
        assert!(found.is_empty(), "{name}: {found:?} {codes:?}");
    }
}

#[test]
fn no_link_in_a_planted_git_directory_is_followed() {
    no_link_is_followed(&[]);
}

#[test]
fn no_link_that_was_planted_in_a_session_is_followed() {
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", "1\n"];
    no_link_is_followed(&[&["begin", "work"], &edit]);
}

#[test]
fn a_link_that_leads_to_nothing_makes_nothing() {
    for name in NAMES {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        let (place, target) = (workspace.root.join(".git"), workspace.home.join("new"));
        let place = place.join(name.trim_end_matches('/'));
        if place.exists() {
            continue;
        }
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(&target, &place).unwrap();
        let codes = all_commands(&workspace);
        assert!(target.symlink_metadata().is_err(), "{name}: {codes:?}");
    }
}

#[test]
fn every_directory_of_objects_is_in_the_git_directory() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let elsewhere = workspace.home.join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    for number in 0..=255 {
        let place = workspace.root.join(".git/objects").join(format!("{number:02x}"));
        if !place.exists() {
            symlink(&elsewhere, place).unwrap();
        }
    }
    let codes = all_commands(&workspace);
    assert_eq!(tree(&elsewhere), Snapshot::new(), "{codes:?}");
    assert_eq!(codes.first().map(String::as_str), Some("UNSUPPORTED_REPOSITORY"));
}

/// A backup made of hard links has every file, too.
#[test]
fn a_repository_whose_files_have_other_names_works() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let (from, to) = (workspace.root.join(".git"), workspace.home.join("backup"));
    assert!(workspace.command("cp").arg("-al").args([from, to]).status().unwrap().success());
    workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]).landed();
    workspace.edt(&["land"]).landed();
}

#[test]
fn a_link_is_named_with_what_to_do() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let log = workspace.root.join(".git/logs/HEAD");
    let _ = std::fs::create_dir(log.parent().unwrap());
    let _ = std::fs::remove_file(&log);
    symlink(workspace.home.join(".bashrc"), &log).unwrap();
    let request = json!({"path": "a.txt", "mode": "overwrite", "content": "two\n"});
    let answer = workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &request);
    assert!(answer.message().contains("logs/HEAD"), "{}", answer.message());
    assert!(answer.hint().contains("logs/HEAD"), "{}", answer.hint());
}

#[test]
fn a_git_directory_that_is_itself_a_link_works() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let (git_dir, store) = (workspace.root.join(".git"), workspace.home.join("store"));
    std::fs::rename(&git_dir, &store).unwrap();
    symlink(&store, &git_dir).unwrap();
    workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", "two\n"]).landed();
    workspace.edt(&["land"]).landed();
}
