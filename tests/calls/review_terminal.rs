//! `edt review --tui`: its keys, what its actions leave, and the terminal afterwards.

use std::time::Duration;

use serde_json::json;

use crate::screen::Screen;
use crate::test_repo::{EDT, TestRepo};

/// The session `s` with three edits of two files.
fn session() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    for (path, text, why) in
        [("a.txt", "two\n", "first"), ("b.txt", "two\n", "second"), ("a.txt", "three\n", "third")]
    {
        workspace
            .apply(&json!({"path": path, "mode": "append", "content": text, "message": why}))
            .landed();
    }
    workspace
}

fn review(workspace: &TestRepo, size: (u16, u16)) -> Screen {
    let mut screen = Screen::of(workspace, size, "review --tui");
    screen.shows("All changes").shows("#3");
    screen
}

/// What a command left: files, HEAD, history and the names of the refs.
fn left(workspace: &TestRepo) -> Vec<String> {
    vec![
        workspace.text("a.txt"),
        workspace.text("b.txt"),
        workspace.git(&["symbolic-ref", "HEAD"]),
        workspace.git(&["log", "--format=%s %T"]),
        workspace.git(&["status", "--porcelain"]),
        workspace.git(&["for-each-ref", "--format=%(refname)"]),
    ]
}

#[test]
fn the_keys_choose_entries_files_and_lines_at_80_columns() {
    let workspace = session();
    let mut screen = review(&workspace, (80, 24));
    screen.shows("> All changes").shows("2 #1   +two").shows("3 #3   +three");
    screen.press("j").shows("> 1 first").shows("Edit 1: first").hides("b.txt");
    screen.press("jj").shows("> 3 third").shows("3 +three");
    screen.press("k").shows("> 2 second");
    screen.press("kk").shows("> All changes");
    screen.press("n").shows(">▾ M a.txt").press("n").shows(">▾ M b.txt");
    screen.press("p").shows(">▾ M a.txt");
    screen.press("e").shows(">▸ M a.txt").hides("+three").press("\r").shows("+three");
    screen.press("/three\r").shows("> 3 #3   +three");
    screen.press("/second\r").shows("Edit 2: second");
    screen.press("?").shows("mark the file as reviewed, or not").press("?").hides("or not");
    screen.press("s").shows("Both sides need a terminal of 160 columns.");
    screen.press("q");
    assert_eq!(screen.ended(), Some(0));
}

#[test]
fn both_sides_are_next_to_each_other_at_200_columns() {
    let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "one\n2\n");
    let mut screen = Screen::of(&workspace, (200, 50), "review --tui");
    screen.shows("-two").shows("#1   +2");
    let both =
        |text: &str| text.lines().any(|line| line.contains("-two") && line.contains("#1   +2"));
    assert!(both(&screen.text()), "{}", screen.text());
    screen.press("s").shows("   2 #1   +2");
    assert!(!both(&screen.text()), "{}", screen.text());
    screen.press("s").hides("   2 #1   +2");
    assert!(both(&screen.text()), "{}", screen.text());
}

#[test]
fn a_terminal_that_changes_its_size_is_drawn_again() {
    let workspace = session();
    let mut screen = review(&workspace, (200, 50));
    screen.press("j").shows("Edit 1: first");
    screen.resize(80, 24).shows("? k…");
    screen.resize(50, 12).hides("> 1 first").shows("Edit 1: first").shows("+two");
    screen.resize(15, 3).shows("too small");
    screen.resize(200, 50).shows("> 1 first").shows("? keys · q end");
}

#[test]
fn each_key_leaves_the_repository_as_its_command_does() {
    let cases: [(&str, &str, &[&str]); 8] = [
        ("ju", "Undo to edit 1?", &["undo", "--to", "1"]),
        ("jjx", "Revert edit 2?", &["revert", "2"]),
        ("jjL", "Land to edit 2?", &["land", "--to", "2"]),
        ("no", "Restore a.txt", &["restore", "a.txt"]),
        ("LSay two\r", "Land the session", &["land", "-m", "Say two"]),
        ("L\r", "Land the session", &["land"]),
        ("A", "Abandon the session?", &["abandon"]),
        ("nr", "", &["status"]),
    ];
    for (keys, question, args) in cases {
        let (by_keys, by_command) = (session(), session());
        let mut screen = review(&by_keys, (120, 30));
        screen.press(keys);
        if !question.is_empty() {
            screen.shows(question).shows("y/n").press("y");
            screen.shows(&format!("$ edt {}", args[0])).shows("Any key closes this.");
            assert!(!screen.text().contains("not done"), "{}", screen.text());
        }
        by_command.edt(args);
        assert_eq!(left(&by_keys), left(&by_command), "{keys}");
    }
}

#[test]
fn without_a_yes_nothing_is_done() {
    let workspace = session();
    let before = workspace.snapshot();
    let mut screen = review(&workspace, (80, 24));
    for keys in ["ju", "x", "A", "L", "R", "kL\r"] {
        screen.press(keys).shows("y/n").press("n").shows("Nothing was done.");
        screen.press("\u{1b}[B").hides("Nothing was done.");
    }
    screen.press("LA message").shows("Message of the commit").press("\u{1b}");
    screen.hides("Message of the commit").press("q");
    assert_eq!(screen.ended(), Some(0));
    crate::test_repo::same(&before, &workspace.snapshot());
}

#[test]
fn an_undo_can_be_redone_there() {
    let workspace = session();
    let before = workspace.rev("HEAD");
    let mut screen = review(&workspace, (80, 24));
    screen.press("juy").shows("$ edt undo --to 1").press(" ").shows("Undone");
    assert_ne!(workspace.rev("HEAD"), before);
    screen.press("Ry").shows("$ edt redo").press(" ").hides("Undone");
    assert_eq!(workspace.rev("HEAD"), before);
}

#[test]
fn the_chosen_lines_the_hunk_and_the_file_are_named_in_the_command() {
    let workspace = session();
    let mut screen = review(&workspace, (120, 30));
    screen.press("n").shows(">▾ M a.txt").press("\u{1b}[B\u{1b}[B\u{1b}[Bv").shows("> 2 #1");
    screen.press("xy").shows("$ edt revert --session '--path=:/a.txt' '--added=2-2'").press(" ");
    // The hunk changed with it: the cursor is at the head of the file.
    screen.hides("Any key closes this.").shows("2 #3   +three").shows(">▾ M a.txt");
    screen.press("]x").shows("“+three”: 1 added line 2 of the session in a.txt?").press("y");
    screen.shows("$ edt revert --session '--path=:/a.txt' '--added=2-2'").press(" ");
    screen.hides("Any key closes this.").hides("M a.txt");
    screen.press("j").shows("Edit 1: first").press("nxy");
    screen.shows("$ edt revert 1 '--path=:/a.txt'");
    assert!(!screen.text().contains("--added"), "{}", screen.text());
}

#[test]
fn a_file_that_was_marked_is_closed_and_the_next_one_is_chosen() {
    let workspace = session();
    let mut screen = review(&workspace, (80, 24));
    screen.press("r").shows(" ✓ ▸ M a.txt").shows(">▾ M b.txt");
    let files = || workspace.edt(&["review"]).json["files"].clone();
    assert_eq!((&files()[0]["reviewed"], &files()[1]["reviewed"]), (&json!(true), &json!(false)));
    screen.press("pr").shows(">▾ M a.txt");
    assert_eq!(files()[0]["reviewed"], json!(false));
}

#[test]
fn what_changes_meanwhile_is_shown_at_the_place_of_the_user() {
    let workspace = session();
    let mut screen = review(&workspace, (80, 24));
    screen.press("jj").shows("> 2 second");
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "four\n"})).landed();
    screen.shows("  4 edit b.txt").shows("> 2 second");
}

#[test]
fn an_action_on_a_session_that_changed_meanwhile_is_refused() {
    let workspace = session();
    let mut screen = review(&workspace, (80, 24));
    screen.press("ju").shows("y/n");
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "four\n"})).landed();
    let before = workspace.snapshot();
    screen.press("y").shows("The session changed since it was shown.");
    crate::test_repo::same(&before, &workspace.snapshot());
}

#[test]
fn names_and_texts_of_the_repository_cannot_control_the_terminal() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]).landed();
    let text = "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J\u{202e}\u{200b}\t\u{7f}end\n";
    workspace.write("x\n\u{1b}[2Jy.txt", text);
    workspace.git(&["add", "."]);
    workspace.git(&[
        "commit",
        "-qm",
        "say \u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\n\nand \u{1b}[2Jwhy",
    ]);
    let mut screen = Screen::of(&workspace, (200, 30), "review --tui");
    screen.shows("\\u{1b}]0;owned\\u{7}\\u{1b}[31mred\\u{9b}2J\\u{202e}\\u{200b}");
    screen.press("j").shows("and \\u{1b}[2Jwhy").shows("x \\u{1b}[2Jy.txt");
    screen.press("q");
    assert_eq!(screen.ended(), Some(0));
    let written = screen.written();
    for sequence in ["\u{1b}]0", "\u{1b}[2Jy", "\u{1b}[2Jw", "\u{9b}", "\u{202e}", "\u{200b}"] {
        assert!(!written.contains(sequence), "{sequence:?}");
    }
}

/// The end of what was written restores the terminal, whose settings are those before.
fn assert_restored(screen: &Screen) {
    assert_eq!(screen.kept("before"), screen.kept("after"));
    let written = screen.written();
    let (_, end) = written.rsplit_once("\u{1b}[?1049l").expect("the other screen is left");
    assert!(!end.contains("\u{1b}[?1049h"), "{end:?}");
    assert!(written.rfind("\u{1b}[?25h") > written.rfind("\u{1b}[?25l"), "the cursor is shown");
    assert!(written.rfind("\u{1b}[?2004l") > written.rfind("\u{1b}[?2004h"));
}

#[test]
fn the_terminal_is_restored_at_the_end_and_at_signals() {
    let workspace = session();
    for end in ["q", "\u{3}"] {
        let mut screen = review(&workspace, (80, 24));
        screen.press(end);
        assert_eq!(screen.ended(), Some(0), "{end:?}");
        assert_restored(&screen);
    }
    for signal in ["TERM", "HUP", "INT"] {
        let mut screen = review(&workspace, (80, 24));
        screen.signal(signal);
        assert_eq!(screen.ended(), Some(0), "{signal}");
        assert_restored(&screen);
    }
}

#[test]
fn it_ends_when_its_terminal_is_closed() {
    let workspace = session();
    for signal in [None, Some("TERM")] {
        let mut screen = review(&workspace, (80, 24));
        screen.lose();
        if let Some(signal) = signal {
            screen.signal(signal);
        }
        // The view has a second, and the machine of the tests is busy.
        screen.gone_within(Duration::from_secs(5));
    }
}

#[test]
fn colours_follow_no_color() {
    let workspace = session();
    let green = "\u{1b}[32m";
    let mut screen = review(&workspace, (80, 24));
    screen.press("q").ended();
    assert!(screen.written().contains(green) || screen.written().contains("38;5;2"));
    let mut screen = Screen::with(&workspace, (80, 24), "review --tui", &[("NO_COLOR", "1")]);
    screen.shows("#3").press("q").ended();
    for colour in [green, "38;5;", "\u{1b}[31m"] {
        assert!(!screen.written().contains(colour), "{colour:?}");
    }
}

#[test]
fn without_a_terminal_and_for_an_agent_it_is_refused() {
    let workspace = session();
    workspace.refuses(&["BAD_REQUEST"], 2, &["review", "--tui"]);
    let mut agent = workspace.command(EDT);
    agent.args(["review", "--tui", "--json"]).env("CLAUDECODE", "1");
    let done = agent.output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(answer["errors"][0]["code"], "APPROVAL_REQUIRED");
}

#[test]
fn a_comment_may_be_written_in_the_users_editor() {
    let workspace = session();
    std::fs::write(workspace.home.join("editor"), "#!/bin/sh\necho 'from the editor' >\"$1\"\n")
        .unwrap();
    let editor = [("GIT_EDITOR", "sh ~/editor")];
    let mut screen = Screen::with(&workspace, (120, 24), "review --tui", &editor);
    screen.shows("#3");
    screen.press("n\u{1b}[B\u{1b}[B\u{1b}[Bc").shows("Comment:").press("\u{5}");
    screen.shows("Comment: from the editor").press("\ry");
    screen.shows("$ edt comment add '--path=:/a.txt' '--lines=2-2' '--message=from the editor'");
}
