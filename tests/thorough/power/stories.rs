//! Commands of users and agents during which the power is cut.

use serde_json::json;

use super::{Command, Story, call, request, survives};
use crate::test_repo::TestRepo;

/// A session with one edit.
fn workspace(switched: bool) -> TestRepo {
    workspace_made(&[], switched)
}

fn workspace_made(flags: &[&str], switched: bool) -> TestRepo {
    let workspace = TestRepo::made(
        flags,
        &[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("dir/c.txt", b"c\n"), ("z.txt", b"z\n")],
    );
    // The hooks that Git brings along as examples only cost time here.
    let _ = std::fs::remove_dir_all(workspace.root.join(".git/hooks"));
    workspace.edt(if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] }).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

fn survives_cuts(name: &'static str, workspace: TestRepo, commands: Vec<Command>) {
    let clean = workspace.status().is_empty() && !name.contains("without switching");
    survives(&Story { name, workspace, commands, clean });
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
    survives_cuts(
        "edits, switched",
        workspace(true),
        vec![edit("three\n"), edit("four\n"), edit("five\n")],
    );
}

#[test]
fn three_edits_without_switching() {
    survives_cuts(
        "edits, without switching",
        workspace(false),
        vec![edit("three\n"), edit("four\n"), edit("five\n")],
    );
}

#[test]
fn several_files_with_head_on_the_session() {
    survives_cuts("several, switched", workspace(true), vec![several()]);
}

#[test]
fn several_files_without_switching() {
    survives_cuts("several, without switching", workspace(false), vec![several()]);
}

#[test]
fn an_edit_undone_and_redone() {
    survives_cuts(
        "undo and redo, switched",
        workspace(true),
        vec![several(), call(&["undo"]), call(&["redo"])],
    );
}

#[test]
fn an_edit_undone_and_redone_without_switching() {
    survives_cuts(
        "undo and redo, without switching",
        workspace(false),
        vec![several(), call(&["undo"]), call(&["redo"])],
    );
}

#[test]
fn edits_with_a_split_index() {
    let workspace = workspace(true);
    workspace.git(&["config", "core.splitIndex", "true"]);
    workspace.git(&["update-index", "--split-index"]);
    assert!(
        workspace
            .root
            .join(".git")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|one| one.file_name().to_string_lossy().starts_with("sharedindex"))
    );
    survives_cuts("edit, split index", workspace, vec![edit("three\n"), edit("four\n")]);
}

#[test]
fn edits_of_files_that_git_converts() {
    let workspace = workspace(true);
    workspace.git(&["config", "core.autocrlf", "true"]);
    workspace.git(&["rm", "--quiet", "--cached", "-r", "."]);
    workspace.git(&["reset", "--quiet", "--hard"]);
    assert_eq!(workspace.text("a.txt"), "two\r\n");
    survives_cuts("edits, converted", workspace, vec![edit("three\n"), several()]);
}

#[test]
fn staged_work_of_other_files() {
    let workspace = workspace(true);
    workspace.write("b.txt", "staged\n");
    workspace.git(&["add", "b.txt"]);
    survives_cuts("edits with staged work", workspace, vec![edit("three\n"), edit("four\n")]);
}

#[test]
fn a_restored_file() {
    survives_cuts("restore", workspace(true), vec![edit("three\n"), call(&["restore", "a.txt"])]);
}

#[test]
fn a_checkpoint_and_an_edit() {
    let workspace = workspace(true);
    workspace.write("b.txt", "a user's\n");
    workspace.write("new.txt", "new\n");
    survives_cuts("checkpoint", workspace, vec![call(&["checkpoint"]), edit("three\n")]);
}

#[test]
fn an_edit_that_records_user_changes_first() {
    let workspace = workspace(true);
    workspace.write("a.txt", "a user's\n");
    survives_cuts("edit after a user", workspace, vec![edit("three\n")]);
}

#[test]
fn the_beginning_of_a_session() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(workspace.root.join(".git/hooks"));
    survives_cuts("begin", workspace, vec![call(&["begin", "s"]), edit("three\n")]);
}

#[test]
fn the_beginning_of_a_session_without_switching() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(workspace.root.join(".git/hooks"));
    survives_cuts(
        "begin, without switching",
        workspace,
        vec![call(&["begin", "s", "--no-switch"]), edit("three\n")],
    );
}

#[test]
fn an_edit_that_begins_a_session() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(workspace.root.join(".git/hooks"));
    survives_cuts("first edit", workspace, vec![edit("three\n")]);
}

#[test]
fn a_landing() {
    survives_cuts("land, switched", workspace(true), vec![edit("three\n"), call(&["land"])]);
}

#[test]
fn a_landing_without_switching() {
    survives_cuts(
        "land, without switching",
        workspace(false),
        vec![edit("three\n"), call(&["land"])],
    );
}

#[test]
fn a_landing_on_a_branch_that_moved() {
    let workspace = workspace(true);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("b.txt", b"moved\n")]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    survives_cuts("land, merged", workspace, vec![call(&["land"])]);
}

#[test]
fn an_abandoned_session() {
    survives_cuts("abandon, switched", workspace(true), vec![edit("three\n"), call(&["abandon"])]);
}

#[test]
fn an_abandoned_session_without_switching() {
    survives_cuts("abandon, without switching", workspace(false), vec![call(&["abandon"])]);
}

const TABLES: &[&str] = &["--ref-format=reftable"];

#[test]
fn edits_with_refs_in_tables() {
    let workspace = workspace_made(TABLES, true);
    survives_cuts("edits, tables", workspace, vec![edit("three\n"), several(), call(&["undo"])]);
}

#[test]
fn edits_without_switching_with_refs_in_tables() {
    let workspace = workspace_made(TABLES, false);
    survives_cuts("edits without switching, tables", workspace, vec![edit("three\n"), several()]);
}

#[test]
fn the_beginning_of_a_session_with_refs_in_tables() {
    let workspace = TestRepo::made(TABLES, &[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    let _ = std::fs::remove_dir_all(workspace.root.join(".git/hooks"));
    survives_cuts("begin, tables", workspace, vec![call(&["begin", "s"]), edit("three\n")]);
}

#[test]
fn a_landing_with_refs_in_tables() {
    let workspace = workspace_made(TABLES, true);
    survives_cuts("land, tables", workspace, vec![edit("three\n"), call(&["land"])]);
}

#[test]
fn an_abandoned_session_with_refs_in_tables() {
    let workspace = workspace_made(TABLES, true);
    survives_cuts("abandon, tables", workspace, vec![edit("three\n"), call(&["abandon"])]);
}
