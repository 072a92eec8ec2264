//! Commands that take longer than a second, for the user at a terminal.

use std::os::unix::fs::PermissionsExt;

use crate::screen::Screen;
use crate::test_repo::TestRepo;

/// A session with one edit, whose landing takes as long as a commit hook.
fn slow(seconds: u32) -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let hook = workspace.root.join(".git/hooks/commit-msg");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\nexec sleep {seconds}\n")).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

#[test]
fn a_command_says_how_long_it_takes_and_leaves_no_trace_of_that() {
    let workspace = slow(3);
    let mut screen = Screen::of(&workspace, (80, 24), "land -m two");
    screen.shows("edt land: 1 s");
    assert_eq!(screen.ended(), Some(0));
    assert!(screen.shows("landed").text().lines().all(|line| !line.contains("edt land: ")));
    assert_eq!(workspace.git(&["show", "main:a.txt"]), "two\n");
}

#[test]
fn after_ctrl_c_what_was_said_is_true() {
    let workspace = slow(60);
    let before = workspace.rev("edt/s");
    let mut screen = Screen::of(&workspace, (80, 24), "land -m two");
    screen.shows("edt land: 1 s").press("\u{3}").shows("`edt land` was interrupted.");
    assert_ne!(screen.ended(), Some(0));
    assert_eq!(workspace.edt(&["status"]).exit, 0);
    assert_eq!((workspace.rev("edt/s"), workspace.text("a.txt")), (before, "two\n".to_owned()));
    assert_eq!(workspace.locks(), [""; 0]);
    std::fs::remove_file(workspace.root.join(".git/hooks/commit-msg")).unwrap();
    workspace.edt(&["land", "-m", "two"]).landed();
}

#[test]
fn a_short_command_and_json_say_nothing() {
    let workspace = slow(2);
    let mut screen = Screen::of(&workspace, (80, 24), "land -m two --json");
    screen.shows("edt.");
    screen.ended();
    assert!(!screen.written().contains("edt land: "));
    let mut screen = Screen::of(&workspace, (80, 24), "begin t");
    screen.shows("begun").ended();
    assert!(!screen.written().contains("edt begin: "));
}
