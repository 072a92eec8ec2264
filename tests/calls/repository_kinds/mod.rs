//! Kinds of repositories, each in a complete session, with real `git` to check every byte.

mod conversions;
mod environment;
mod filters;
mod places;

use serde_json::{Value, json};

use crate::test_repo::{Snapshot, TestRepo};

/// Files of the worktree as Git checks out HEAD, with the same configuration, in a worktree of its
/// own.
#[track_caller]
pub(crate) fn checked_out(workspace: &TestRepo) -> Snapshot {
    let dir = edt_testkit::tempdir().unwrap();
    let side = workspace.at(dir.path().join("judge"));
    workspace.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "worktree",
        "add",
        "--quiet",
        "--detach",
        side.root.to_str().unwrap(),
    ]);
    let files = tracked(&side);
    workspace.git(&["worktree", "remove", "--force", side.root.to_str().unwrap()]);
    files
}

/// The tracked files with their bytes.
fn tracked(workspace: &TestRepo) -> Snapshot {
    let names = workspace.git(&["ls-files", "-z", "--recurse-submodules"]);
    let all = workspace.files();
    names
        .split_terminator('\0')
        .filter_map(|name| Some((name.to_owned(), all.get(name)?.clone())))
        .collect()
}

/// The worktree is what Git would check out, and Git finds nothing to commit.
#[track_caller]
pub(crate) fn as_git_would(workspace: &TestRepo, step: &str) {
    eprintln!("after {step}");
    workspace.is_clean();
    assert_eq!(workspace.status(), "", "after {step}");
    let (here, there) = (tracked(workspace), checked_out(workspace));
    assert_eq!(
        crate::test_repo::changed(&there, &here),
        Vec::<String>::new(),
        "disk against git's checkout after {step}"
    );
}

/// A session over `path`, a tracked text that has `old` once: edit, create a second file, rename,
/// delete; undo one by one to the starting bytes; redo; restore. `as_git_would` after each step.
#[track_caller]
pub(crate) fn complete_session(workspace: &TestRepo, path: &str, old: &str) {
    let start = workspace.files();
    let (directory, name) =
        path.rsplit_once('/').map_or(("", path), |(directory, name)| (directory, name));
    let below = |name: &str| {
        if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
    };
    let (made, moved) = (below(&format!("made-{name}")), below(&format!("moved-{name}")));
    let steps: Vec<Value> = vec![
        json!({"path": path, "mode": "edit", "old_text": old, "content": format!("{old} and more")}),
        json!({"path": made, "mode": "create", "content": "made one\nmade two\n"}),
        json!({"edits": [{"path": path, "mode": "rename", "to": moved}, {"path": moved, "mode": "append", "content": "tail\n"}]}),
        json!({"path": made, "mode": "delete"}),
    ];
    let mut states = vec![start.clone()];
    for step in &steps {
        let answer = workspace.apply(step);
        assert_eq!(answer.exit, 0, "{step}: {:#}", answer.json);
        for file in answer.json["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| !file["hash_after"].is_null())
        {
            let blob = workspace.rev(&format!("HEAD:{}", file["path"].as_str().unwrap()));
            assert_eq!(file["hash_after"], blob, "{step}: the hash is the blob's");
            let read = workspace.edt(&["read", file["path"].as_str().unwrap()]);
            assert_eq!(read.json["hash"], blob, "{step}: read gives the same");
        }
        as_git_would(workspace, &step.to_string());
        states.push(workspace.files());
    }
    let end = states.last().unwrap().clone();
    for back in (0..steps.len()).rev() {
        workspace.edt(&["undo"]).landed();
        as_git_would(workspace, "undo");
        crate::test_repo::same(&states[back], &workspace.files());
    }
    workspace.edt(&["redo"]);
    while workspace.edt(&["redo"]).exit == 0 {}
    as_git_would(workspace, "redo");
    // Each redo brings back what the newest undo took; all of them bring back everything.
    crate::test_repo::same(&end, &workspace.files());
    workspace.edt(&["restore", &moved]).landed();
    assert!(!workspace.exists(&moved));
    workspace.edt(&["restore", path]).landed();
    as_git_would(workspace, "restore");
    let edited: Vec<&str> = states[1].keys().map(String::as_str).collect();
    assert_eq!(
        workspace.read(path),
        states[1][path][states[1][path].iter().position(|&b| b == b' ').unwrap() + 1..],
        "{edited:?}"
    );
    assert_eq!(workspace.edt(&["status"]).json["user_changes"], json!([]));
    workspace.edt(&["diff"]);
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}
