//! Changes by the user and by Git while a call of edt works or right after it was killed.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::test_repo::{EDT, TestRepo, is_portable};

const LOCK: &str = ".git/refs/heads/edt/main-1.lock";

/// A session with one edit of `a.txt`.
fn session() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace
}

/// Starts edt, which swaps its files and then waits for the branch's lock.
fn waiting(workspace: &TestRepo, args: &[&str]) -> Child {
    fs::write(workspace.root.join(LOCK), b"").unwrap();
    let child =
        workspace.command(EDT).args(args).arg("--json").stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child
}

/// The answer of the process, once it has ended.
fn answer(child: Child) -> serde_json::Value {
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

/// Every file that edt kept in its staging directory, as text.
fn kept(workspace: &TestRepo) -> String {
    let stage = workspace.root.join(".git/edt/main/stage");
    let files = fs::read_dir(stage).unwrap().map(|entry| entry.unwrap().path());
    files.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// Kills edt while it waits for `index.lock`: the journal is written, no file is swapped.
fn killed_before_the_swap(workspace: &TestRepo, args: &[&str]) {
    fs::write(workspace.root.join(".git/index.lock"), b"").unwrap();
    let mut edt = workspace.command(EDT);
    let mut child = edt.args(args).arg("--json").stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(workspace.root.join(".git/index.lock")).unwrap();
}

#[test]
fn what_the_user_writes_while_a_call_fails_stays() {
    let workspace = session();
    let child =
        waiting(&workspace, &["apply", "a.txt", "--mode", "append", "--content", "three\n"]);
    workspace.write("a.txt", "a user's\n");
    assert_eq!(answer(child)["errors"][0]["code"], "SESSION_BUSY");
    assert_eq!(workspace.text("a.txt"), "a user's\n");
    assert!(is_portable() || kept(&workspace).contains("two\n"), "the replaced bytes are kept");
}

#[test]
fn a_write_through_an_open_file_during_the_call_is_kept_and_reported() {
    if is_portable() {
        // Only an exchange keeps the file that the program has open.
        return;
    }
    let workspace = session();
    let mut open = fs::File::options().append(true).open(workspace.root.join("a.txt")).unwrap();
    let child =
        waiting(&workspace, &["apply", "a.txt", "--mode", "append", "--content", "three\n"]);
    open.write_all(b"late\n").unwrap();
    fs::remove_file(workspace.root.join(LOCK)).unwrap();
    let answer = answer(child);
    assert_eq!(
        (&answer["status"], &answer["warnings"][0]["code"]),
        (&json!("applied"), &json!("written_meanwhile"))
    );
    assert!(kept(&workspace).contains("late\n"));
}

#[test]
fn a_link_that_replaces_the_file_during_the_call_stays() {
    let workspace = session();
    // edt waits before the swap; it finds the link when it exchanges the file.
    fs::write(workspace.root.join(".git/index.lock"), b"").unwrap();
    let mut edt = workspace.command(EDT);
    let args = ["apply", "a.txt", "--mode", "append", "--content", "three\n", "--json"];
    let child = edt.args(args).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    fs::remove_file(workspace.root.join("a.txt")).unwrap();
    std::os::unix::fs::symlink("elsewhere", workspace.root.join("a.txt")).unwrap();
    fs::remove_file(workspace.root.join(".git/index.lock")).unwrap();
    assert_eq!(answer(child)["errors"][0]["code"], "HASH_MISMATCH");
    assert_eq!(fs::read_link(workspace.root.join("a.txt")).unwrap().to_str(), Some("elsewhere"));
}

#[test]
fn the_same_bytes_that_the_user_writes_after_a_kill_stay() {
    let workspace = session();
    killed_before_the_swap(
        &workspace,
        &["apply", "b.txt", "--mode", "create", "--content", "new\n"],
    );
    workspace.write("b.txt", "new\n");
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(workspace.text("b.txt"), "new\n");
    killed_before_the_swap(
        &workspace,
        &["apply", "a.txt", "--mode", "append", "--content", "new\n"],
    );
    workspace.write("a.txt", "two\nnew\n");
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!(
        (workspace.text("a.txt"), workspace.edt(&["status"]).json["recovered"].clone()),
        ("two\nnew\n".into(), json!(null))
    );
    workspace.overwrite("a.txt", "three\n");
}

#[test]
fn git_prune_during_a_call_removes_no_large_object() {
    // Not compressible, and larger than a journal record may be.
    let mut seed = 7_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((seed >> 33) % 26).unwrap())
    };
    let large: String = (0..400_000).map(|i| if i % 80 == 79 { '\n' } else { noise() }).collect();
    let workspace = session();
    workspace.write("a.txt", &large);
    let child = waiting(&workspace, &["apply", "a.txt", "--mode", "append", "--content", "more\n"]);
    workspace.git(&["prune", "--expire=now"]);
    fs::remove_file(workspace.root.join(LOCK)).unwrap();
    assert_eq!(answer(child)["status"], "applied");
    workspace.is_sound();
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), large);
}
