//! What is waited for before an edit is answered, counted from outside.

use std::process::Stdio;

use crate::test_repo::{EDT, TestRepo};

/// How often an edit with `args` syncs: a file, and a file system.
fn waits(workspace: &TestRepo, text: &str, args: &[&str]) -> (usize, usize) {
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", text];
    calls_that_sync(workspace, &[&edit, args].concat())
}

/// How often `edt` with `args` syncs: a file, and a file system.
fn calls_that_sync(workspace: &TestRepo, args: &[&str]) -> (usize, usize) {
    let log = workspace.home.join("trace");
    let mut command = workspace.command("strace");
    command
        .args(["-f", "-qq", "-e", "trace=fdatasync,fsync,syncfs,sync_file_range,msync,sync", "-o"])
        .arg(&log)
        .arg(EDT);
    command.args(args);
    assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
    let trace = std::fs::read_to_string(&log).unwrap();
    let count = |name: &str| trace.lines().filter(|line| line.contains(name)).count();
    // After a checkpoint an edit also syncs the index that it replaces.
    ((count("fdatasync(") + count("fsync(")).min(1), count("syncfs("))
}

fn workspace(policy: Option<&str>) -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    if let Some(policy) = policy {
        workspace.commit(&[("edt.toml", policy.as_bytes())]);
    }
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

#[test]
fn an_edit_waits_for_one_record_for_everything_or_for_nothing() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = workspace(None);
    assert_eq!(waits(&workspace, "3\n", &[]), (1, 0));
    assert_eq!(waits(&workspace, "4\n", &["--durability", "journal"]), (1, 0));
    assert_eq!(waits(&workspace, "5\n", &["--durability", "full"]), (1, 2));
    workspace.overwrite("a.txt", "an edit after the checkpoint\n");
    assert_eq!(waits(&workspace, "6\n", &["--durability", "off"]), (0, 0));
    for (value, expected) in [
        ("all", (1, 2)),
        ("committed", (1, 2)),
        ("none", (0, 0)),
        ("default", (1, 0)),
        ("pack", (1, 0)),
    ] {
        workspace.git(&["config", "core.fsync", "default"]);
        workspace.overwrite("a.txt", &format!("before {value}\n"));
        workspace.git(&["config", "core.fsync", value]);
        assert_eq!(waits(&workspace, &format!("{value}\n"), &[]), expected, "core.fsync={value}");
    }
    workspace.git(&["config", "core.fsync", "none"]);
    assert_eq!(
        waits(&workspace, "7\n", &["--durability", "journal"]),
        (1, 0),
        "the flag comes before Git's configuration"
    );
    workspace.is_clean();
    workspace.is_sound();
}

/// `syncfs` waits for what other programs wrote.
#[test]
fn the_beginning_of_a_session_does_not_sync_the_file_system() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    assert_eq!(calls_that_sync(&workspace, &["begin", "s"]), (1, 0));
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(calls_that_sync(&workspace, &["begin", "t", "--no-switch"]), (1, 0));
    let full = ["begin", "u", "--durability", "full"];
    assert_eq!(calls_that_sync(&workspace, &full), (1, 2));
    workspace.git(&["switch", "--quiet", "main"]);
    // An edit without a session begins one.
    assert_eq!(waits(&workspace, "2\n", &[]), (1, 0));
    workspace.is_sound();
}

#[test]
fn the_policy_is_a_floor_under_flag_and_configuration() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = workspace(Some("[session]\ndurability = \"full\"\n"));
    assert_eq!(waits(&workspace, "3\n", &[]).1, 2);
    assert_eq!(waits(&workspace, "4\n", &["--durability", "off"]).1, 2);
    // The user's file may ask for more than the repository's, and not for less.
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(
        workspace.home.join(".config/edt/edt.toml"),
        "[session]\ndurability = \"off\"\n",
    )
    .unwrap();
    assert_eq!(waits(&workspace, "5\n", &[]).1, 2);
}

#[test]
fn a_level_that_there_is_not_is_refused() {
    let workspace = workspace(None);
    let answer = workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--content", "x", "--durability", "sometimes"],
    );
    assert!(answer.message().contains("off, journal, full"), "{}", answer.message());
    workspace.commit(&[("edt.toml", b"[session]\ndurability = \"never\"\n")]);
    workspace.edt(&["abandon"]);
    workspace.git(&["switch", "--quiet", "-C", "other"]);
    workspace.commit(&[("edt.toml", b"[session]\ndurability = \"never\"\n")]);
    workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--mode", "overwrite", "--content", "x\n"],
    );
}
