//! Kinds of repositories, each through the whole of a session, with real `git` as the judge of every byte.

mod conversions;
mod environment;
mod filters;
mod places;

use serde_json::{Value, json};

use crate::world::{Snapshot, World};

/// Files of the worktree as Git checks out HEAD, with the same configuration, in a worktree of its own.
#[track_caller]
pub(crate) fn checked_out(world: &World) -> Snapshot {
    let dir = tempfile::tempdir().unwrap();
    let side = world.at(dir.path().join("judge"));
    world.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "worktree",
        "add",
        "--quiet",
        "--detach",
        side.root.to_str().unwrap(),
    ]);
    let files = tracked(&side);
    world.git(&["worktree", "remove", "--force", side.root.to_str().unwrap()]);
    files
}

/// The tracked files with their bytes.
fn tracked(world: &World) -> Snapshot {
    let names = world.git(&["ls-files", "-z", "--recurse-submodules"]);
    let all = world.files();
    names
        .split_terminator('\0')
        .filter_map(|name| Some((name.to_owned(), all.get(name)?.clone())))
        .collect()
}

/// What stands in the worktree is what Git would check out, and Git finds nothing to commit.
#[track_caller]
pub(crate) fn as_git_would(world: &World, step: &str) {
    eprintln!("after {step}");
    world.is_clean();
    assert_eq!(world.status(), "", "after {step}");
    let (here, there) = (tracked(world), checked_out(world));
    assert_eq!(
        crate::world::changed(&there, &here),
        Vec::<String>::new(),
        "disk against git's checkout after {step}"
    );
}

/// A session over `path`, a tracked text that holds `old` once: edit, create beside it, rename, delete; undo one by one to the
/// starting bytes; redo; restore. `as_git_would` after each step.
#[track_caller]
pub(crate) fn whole_session(world: &World, path: &str, old: &str) {
    let start = world.files();
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let below =
        |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let (made, moved) = (below(&format!("made-{name}")), below(&format!("moved-{name}")));
    let steps: Vec<Value> = vec![
        json!({"path": path, "mode": "edit", "old_text": old, "content": format!("{old} and more")}),
        json!({"path": made, "mode": "create", "content": "made one\nmade two\n"}),
        json!({"edits": [{"path": path, "mode": "rename", "to": moved}, {"path": moved, "mode": "append", "content": "tail\n"}]}),
        json!({"path": made, "mode": "delete"}),
    ];
    let mut states = vec![start.clone()];
    for step in &steps {
        let answer = world.apply(step);
        assert_eq!((answer.exit, answer.checkpoints()), (0, 0), "{step}: {:#}", answer.json);
        for file in answer.json["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| !file["hash_after"].is_null())
        {
            let blob = world.rev(&format!("HEAD:{}", file["path"].as_str().unwrap()));
            assert_eq!(file["hash_after"], blob, "{step}: the hash is the blob's");
            let read = world.edt(&["read", file["path"].as_str().unwrap()]);
            assert_eq!(read.json["hash"], blob, "{step}: read gives the same");
        }
        as_git_would(world, &step.to_string());
        states.push(world.files());
    }
    let end = states.last().unwrap().clone();
    for back in (0..steps.len()).rev() {
        world.edt(&["undo"]).landed();
        as_git_would(world, "undo");
        crate::world::same(&states[back], &world.files());
    }
    world.edt(&["redo"]);
    while world.edt(&["redo"]).exit == 0 {}
    as_git_would(world, "redo");
    // Each redo brings back what the newest undo took; all of them bring back everything.
    crate::world::same(&end, &world.files());
    world.edt(&["restore", &moved]).landed();
    assert!(!world.exists(&moved));
    world.edt(&["restore", path]).landed();
    as_git_would(world, "restore");
    let edited: Vec<&str> = states[1].keys().map(String::as_str).collect();
    assert_eq!(
        world.read(path),
        states[1][path][states[1][path].iter().position(|&b| b == b' ').unwrap() + 1..],
        "{edited:?}"
    );
    assert_eq!(world.edt(&["status"]).json["uncommitted"], json!([]));
    world.edt(&["diff"]);
    world.is_sound();
    assert_eq!(world.locks(), Vec::<String>::new());
}
