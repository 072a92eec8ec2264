//! What people and agents do when the power goes.

use serde_json::json;

use super::{Command, Story, call, request, survives};
use crate::world::World;

/// A session with one edit.
fn world(switched: bool) -> World {
    let world = World::with(&[
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        ("dir/c.txt", b"c\n"),
        ("z.txt", b"z\n"),
    ]);
    // The hooks that Git brings along as examples only cost time here.
    let _ = std::fs::remove_dir_all(world.root.join(".git/hooks"));
    world.edt(if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] }).landed();
    world.overwrite("a.txt", "two\n");
    world
}

fn told(name: &'static str, world: World, commands: Vec<Command>) {
    let clean = world.status().is_empty() && !name.contains("beside");
    let plain = commands.iter().any(|command| command.args.iter().any(|arg| arg == "full"));
    survives(&Story { name, world, commands, clean, plain });
}

fn edit(text: &str) -> Command {
    call(&["apply", "a.txt", "--mode", "overwrite", "--content", text])
}

fn several() -> Command {
    request(&json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "three\n"},
        {"path": "new/d.txt", "mode": "create", "content": "d\n", "executable": true},
        {"path": "b.txt", "mode": "delete"},
        {"path": "dir/c.txt", "mode": "rename", "to": "dir/e.txt"},
    ]}))
}

#[test]
fn three_edits_with_head_on_the_session() {
    told("edits, switched", world(true), vec![edit("three\n"), edit("four\n"), edit("five\n")]);
}

#[test]
fn three_edits_beside_head() {
    told("edits, beside", world(false), vec![edit("three\n"), edit("four\n"), edit("five\n")]);
}

#[test]
fn an_edit_that_plain_git_finds() {
    let full = call(&[
        "apply",
        "a.txt",
        "--mode",
        "overwrite",
        "--content",
        "three\n",
        "--durability",
        "full",
    ]);
    told("edit, fully durable", world(true), vec![full]);
}

#[test]
fn several_files_with_head_on_the_session() {
    told("several, switched", world(true), vec![several()]);
}

#[test]
fn several_files_beside_head() {
    told("several, beside", world(false), vec![several()]);
}

#[test]
fn an_edit_taken_back_and_brought_again() {
    told("undo and redo, switched", world(true), vec![several(), call(&["undo"]), call(&["redo"])]);
}

#[test]
fn an_edit_taken_back_and_brought_again_beside_head() {
    told("undo and redo, beside", world(false), vec![several(), call(&["undo"]), call(&["redo"])]);
}

#[test]
fn edits_with_an_index_that_only_git_rewrites() {
    let world = world(true);
    world.git(&["config", "core.splitIndex", "true"]);
    world.git(&["update-index", "--split-index"]);
    assert!(
        world
            .root
            .join(".git")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|one| one.file_name().to_string_lossy().starts_with("sharedindex"))
    );
    told("edit, split index", world, vec![edit("three\n"), edit("four\n")]);
}

#[test]
fn edits_of_files_that_git_converts() {
    let world = world(true);
    world.git(&["config", "core.autocrlf", "true"]);
    world.git(&["rm", "--quiet", "--cached", "-r", "."]);
    world.git(&["reset", "--quiet", "--hard"]);
    assert_eq!(world.text("a.txt"), "two\r\n");
    told("edits, converted", world, vec![edit("three\n"), several()]);
}

#[test]
fn staged_work_of_other_files() {
    let world = world(true);
    world.write("b.txt", "staged\n");
    world.git(&["add", "b.txt"]);
    told("edits beside staged work", world, vec![edit("three\n"), edit("four\n")]);
}

#[test]
fn a_file_restored() {
    told("restore", world(true), vec![edit("three\n"), call(&["restore", "a.txt"])]);
}

#[test]
fn a_checkpoint_and_an_edit() {
    let world = world(true);
    world.write("b.txt", "a person's\n");
    world.write("new.txt", "new\n");
    told("checkpoint", world, vec![call(&["checkpoint"]), edit("three\n")]);
}

#[test]
fn an_edit_that_records_a_persons_bytes_first() {
    let world = world(true);
    world.write("a.txt", "a person's\n");
    told("edit after a person", world, vec![edit("three\n")]);
}

#[test]
fn the_beginning_of_a_session() {
    let world = World::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(world.root.join(".git/hooks"));
    told("begin", world, vec![call(&["begin", "s"]), edit("three\n")]);
}

#[test]
fn the_beginning_of_a_session_beside_head() {
    let world = World::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(world.root.join(".git/hooks"));
    told("begin, beside", world, vec![call(&["begin", "s", "--no-switch"]), edit("three\n")]);
}

#[test]
fn an_edit_that_begins_a_session() {
    let world = World::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(world.root.join(".git/hooks"));
    told("first edit", world, vec![edit("three\n")]);
}

#[test]
fn a_landing() {
    told("land, switched", world(true), vec![edit("three\n"), call(&["land"])]);
}

#[test]
fn a_landing_beside_head() {
    told("land, beside", world(false), vec![edit("three\n"), call(&["land"])]);
}

#[test]
fn a_landing_on_a_branch_that_moved() {
    let world = world(true);
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("b.txt", b"moved\n")]);
    world.git(&["switch", "--quiet", "edt/s"]);
    told("land, merged", world, vec![call(&["land"])]);
}

#[test]
fn leaving_a_session() {
    told("abandon, switched", world(true), vec![edit("three\n"), call(&["abandon"])]);
}

#[test]
fn leaving_a_session_beside_head() {
    told("abandon, beside", world(false), vec![call(&["abandon"])]);
}
