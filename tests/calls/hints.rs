//! What a hint or a warning says is done to the letter, and works for the caller that got it.

use crate::test_repo::{Answer, EDT, TestRepo};

const POLICY: &[u8] = b"[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n";

fn workspace() -> TestRepo {
    let files: [(&str, &[u8]); 3] =
        [("edt.toml", POLICY), ("ci/run", b"one\n"), ("a.txt", b"a\nb\n")];
    let workspace = TestRepo::with(&files);
    assert_eq!(workspace.edt(&["begin", "fix"]).exit, 0);
    workspace
}

/// What an answer says to do next: the hint of a refusal, else its warnings.
fn said(answer: &Answer) -> String {
    if answer.exit != 0 {
        return answer.hint().to_owned();
    }
    let warnings = answer.json["warnings"].as_array().unwrap();
    warnings.iter().map(|one| one["message"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// The commands in backticks. `edt propose` takes arguments, which no hint can give.
fn commands(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|command| *command != "edt propose").collect()
}

/// Runs `line`, as the user at a terminal or as the caller; whether it succeeds, and what it prints.
fn runs(workspace: &TestRepo, by_user: bool, line: &str) -> (bool, String) {
    if by_user && let Some(call) = line.strip_prefix("edt ") {
        let (status, screen) = workspace.at_terminal(call, "");
        return (status == Some(0), screen);
    }
    let edt = format!("edt() {{ '{EDT}' \"$@\"; }}; {line}");
    let done = workspace.command("sh").args(["-c", &edt]).output().unwrap();
    let printed = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&printed).into_owned())
}

/// Each command of what `arrange` is answered works in the state in which it was answered. `users`
/// are those that the answer tells the user to type.
#[track_caller]
fn each_works(arrange: impl Fn(&TestRepo) -> Answer, users: &[&str], expected: usize) {
    let repo = workspace();
    let answer = arrange(&repo);
    let text = said(&answer);
    assert_eq!(commands(&text).len(), expected, "{:#}", answer.json);
    for at in 0..expected {
        let repo = workspace();
        let text = said(&arrange(&repo));
        let command = commands(&text)[at];
        let by_user = users.iter().any(|users| command.starts_with(users));
        let (works, printed) = runs(&repo, by_user, command);
        assert!(works, "{command}: {printed}\n{text}");
    }
}

fn edit(repo: &TestRepo) {
    repo.overwrite("a.txt", "c\nb\n");
}

fn overlap(repo: &TestRepo) {
    edit(repo);
    repo.write("a.txt", "users\nb\n");
}

#[test]
fn a_checkpoint_of_a_protected_file_can_be_landed_by_the_user_or_taken_back() {
    let held = |repo: &TestRepo| {
        repo.write("ci/run", "two\n");
        assert_eq!(repo.edt(&["checkpoint"]).exit, 0);
        let held = repo.edt(&["land"]);
        assert_eq!(held.codes(), ["APPROVAL_REQUIRED"]);
        held
    };
    each_works(held, &["edt land"], 3);
    // An edit below it does not change that, and neither does one above it.
    let between = |repo: &TestRepo| {
        edit(repo);
        let held = held(repo);
        repo.overwrite("a.txt", "d\nb\n");
        held
    };
    each_works(between, &["edt land"], 3);
}

#[test]
fn a_protected_file_in_a_commit_with_git_can_be_landed_by_the_user_or_taken_back() {
    let held = |repo: &TestRepo| {
        repo.write("ci/run", "two\n");
        repo.git(&["commit", "--quiet", "--no-verify", "-am", "by hand"]);
        repo.edt(&["land"])
    };
    each_works(held, &["edt land"], 3);
}

#[test]
fn what_overlaps_with_the_users_lines_is_saved_on_request() {
    for call in [&["undo"][..], &["restore", "a.txt"]] {
        let repo = workspace();
        overlap(&repo);
        let refused = repo.edt(call);
        assert_eq!(commands(refused.hint()), ["--save"], "{:#}", refused.json);
        let saved = repo.edt(&[call, &["--save"]].concat());
        let text = said(&saved);
        let [show] = commands(&text)[..] else { panic!("{text}") };
        assert_eq!(runs(&repo, false, show), (true, "users\nb\n".to_owned()), "{text}");
    }
}

#[test]
fn an_abandoned_session_can_be_switched_to_again() {
    let repo = workspace();
    edit(&repo);
    assert_eq!(repo.edt(&["abandon"]).exit, 0);
    let refused = repo.edt(&["switch", "fix"]);
    let [branch] = commands(refused.hint())[..] else { panic!("{}", refused.hint()) };
    assert!(runs(&repo, false, branch).0, "{branch}");
    assert_eq!(repo.edt(&["switch", "fix"]).exit, 0);
    // Changes of the user in the way are stashed by the user.
    repo.write("a.txt", "users\nb\n");
    let refused = repo.edt(&["abandon"]);
    assert_eq!(refused.codes(), ["UNSAVED_CHANGES"]);
    let hint = refused.hint().to_owned();
    assert!(runs(&repo, true, commands(&hint)[0]).0, "{hint}");
    assert_eq!(repo.edt(&["abandon"]).exit, 0);
}

#[test]
fn a_refusal_names_commands_that_show_more() {
    each_works(|repo| repo.edt(&["land"]), &[], 3);
    each_works(|repo| repo.edt(&["undo", "--to", "HEAD~9"]), &[], 1);
    each_works(|repo| repo.edt(&["restore", "a.txt", "--to", "9"]), &[], 1);
    each_works(|repo| repo.edt(&["restore", "a.txt", "--revision", "9"]), &[], 1);
    each_works(|repo| repo.edt(&["show", "p9"]), &[], 1);
    each_works(|repo| repo.edt(&["show", "9"]), &[], 1);
    each_works(|repo| repo.edt(&["revert", "9"]), &[], 1);
    let nested = |repo: &TestRepo| {
        edit(repo);
        repo.edt(&["begin", "other"])
    };
    each_works(nested, &[], 2);
}
