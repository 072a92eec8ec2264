//! The policy in `edt.toml`, of the repository and of the user.

use std::fs;

use crate::test_repo::{TestRepo, lines};

#[test]
fn an_unreadable_user_policy_is_not_ignored() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    fs::write(
        workspace.home.join(".config/edt/edt.toml"),
        b"[[protect]]\npaths = [\"a.txt\"] # \xff\n",
    )
    .unwrap();
    workspace.refuses(
        &["IO_ERROR"],
        5,
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
    );
}

#[test]
fn restore_does_not_change_a_protected_path() {
    let workspace =
        TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", b"[[protect]]\npaths = [\"a.txt\"]\n")]);
    workspace.edt(&["begin"]).landed();
    workspace.write("a.txt", "a user's\n");
    workspace.git(&["commit", "--quiet", "-am", "by hand"]);
    workspace.refuses(&["PROTECTED_PATH"], 1, &["restore", "a.txt"]);
}

#[test]
fn a_landing_goes_by_the_policy_of_its_target_too() {
    let workspace = TestRepo::with(&[("k/a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    workspace.edt(&["apply", "k/a.txt", "--mode", "append", "--content", "two\n"]).landed();
    workspace.write("edt.toml", "[[protect]]\npaths = [\"k/**\"]\n");
    workspace.git(&["add", "edt.toml"]);
    workspace.git(&["commit", "--quiet", "-m", "protect", "edt.toml"]);
    let refused = workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land"]);
    assert!(refused.message().contains("k/a.txt"), "{}", refused.message());
}

#[test]
fn a_session_does_not_begin_with_a_policy_that_a_session_wrote() {
    let workspace = TestRepo::with(&[
        ("a.txt", lines(200).as_bytes()),
        ("edt.toml", b"[guards.size_reduction]\noverride = \"never\"\n"),
    ]);
    workspace.unprotect("edt.toml");
    workspace.overwrite("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    let looser = ["begin", "looser", "--from", "main-1"];
    workspace.refuses(&["PROTECTED_PATH"], 1, &looser);
    // Without `--from`, a session begins on the user's branch, with the user's policy.
    let begun = workspace.edt(&["begin", "other"]);
    assert_eq!(begun.json["warnings"][0]["code"], serde_json::json!("session_left"));
    assert!(workspace.text("edt.toml").contains("never"));
    let short = ["apply", "a.txt", "--mode", "overwrite", "--content", "short\n"];
    workspace.refuses(&["SIZE_REDUCTION"], 1, &short);
    let refused = workspace.refuses(&["PROTECTED_PATH"], 1, &looser);
    assert!(refused.message().contains("main-1 changed edt.toml"), "{}", refused.message());
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.refuses(&["PROTECTED_PATH"], 1, &looser);
}

#[test]
fn the_user_is_warned_who_commits_on_the_branch_of_a_session() {
    let warned = |policy: &[u8], branch: &str| {
        let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", policy)]);
        workspace.edt(&["begin", "s"]).landed();
        workspace.git(&["switch", "-q", branch]);
        workspace.write("a.txt", "two\n");
        workspace.git(&["add", "a.txt"]);
        let (status, screen) = workspace.at_terminal("hook pre-commit", "");
        assert_eq!(status, Some(0), "{screen}");
        screen.contains("HEAD is at edt/s, the branch of a session")
    };
    assert!(warned(b"", "edt/s"));
    assert!(!warned(b"", "main"));
    assert!(!warned(b"[session]\nwarn_on_user_commit = false\n", "edt/s"));
}
