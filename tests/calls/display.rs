//! What is shown is what is there: no text for users has an invisible character, or a letter that
//! only looks Latin.

use crate::test_repo::{EDT, TestRepo};
use edt_types::unseen::is_invisible;

const NAME: &str = "p\u{430}ypal\u{200b}.py";
const LINE: &str =
    "if (ok\u{3164}) { \u{e0041}\u{2066}\u{ad}p\u{430}y(); \u{1b}[8m\u{9b}\u{200d}\u{fe0f} }";
const ESCAPED: &str = "if (ok\\u{3164}) { \\u{e0041}\\u{2066}\\u{ad}p\\u{430}y(); \\u{1b}[8m\\u{9b}\\u{200d}\\u{fe0f} }";

/// Both streams of `edt ARGS` without `--json`.
fn shown(workspace: &TestRepo, args: &[&str]) -> String {
    let done = workspace.command(EDT).args(args).output().unwrap();
    String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
}

/// A session with a foreign name, an edit and a proposal that have such characters.
fn workspace() -> TestRepo {
    let policy = b"[[protect]]\npaths = [\"ci\"]\noverride = \"approval\"\n";
    let workspace = TestRepo::with(&[
        ("a.txt", b"one\n"),
        (NAME, b"x\n"),
        ("ci", b"1\n"),
        ("edt.toml", policy),
    ]);
    workspace.edt(&["begin", "s\u{3164}x"]).landed();
    let title = "a title\u{2066}\n\nand a b\u{34f}dy";
    for (path, landed) in [("a.txt", true), ("ci", false)] {
        let text = format!("one\n{LINE}\n");
        let args = ["apply", path, "--mode", "overwrite", "-m", title, "--content", &text];
        let words = ["--allow", "invisible_characters", "--allow", "lookalike_characters"];
        let args = [&args[..], &words].concat();
        assert_eq!(workspace.edt(&args).exit == 0, landed);
    }
    workspace
}

#[test]
fn no_text_for_users_hides_a_character() {
    let workspace = workspace();
    let long = format!("{LINE}{}", "x".repeat(300));
    let missing = ["check", "a.txt", "--mode", "edit", "--old-text", &long, "--content", "y"];
    let near = ["check", "a.txt", "--mode", "edit", "--old-text", "if (ok)", "--content", LINE];
    let applied =
        ["apply", "new\u{200b}.txt", "--mode", "create", "--content", LINE, "-m", "\u{202e}"];
    let calls: [&[&str]; 20] = [
        &["show"],
        &["show", "p1"],
        &["diff"],
        &["diff", "--stat"],
        &["log"],
        &["log", "--stat"],
        &["status"],
        &["proposals"],
        &["ls"],
        &["search", "ok"],
        &["read", "a.txt"],
        &missing,
        &near,
        &applied,
        &["read", "no\u{2060}thing"],
        &["show", "no\u{2060}thing"],
        &["read", NAME, "--lines", "9:\u{200b}"],
        &["undo"],
        &["redo"],
        &["no\u{202e}command"],
    ];
    for call in calls {
        let text = shown(&workspace, call);
        assert!(!text.is_empty(), "{call:?}");
        let hidden = |c: &char| is_invisible(*c) && !matches!(c, '\n' | '\t');
        assert_eq!(text.chars().find(hidden), None, "{call:?}: {text:?}");
    }
}

#[test]
fn a_diff_shows_every_character_of_its_lines() {
    let workspace = workspace();
    for call in [&["show"][..], &["diff"], &["show", "p1"]] {
        let text = shown(&workspace, call);
        assert!(text.contains(&format!("\n+{ESCAPED}\n")), "{call:?}: {text}");
    }
    assert!(shown(&workspace, &["ls"]).contains("p\\u{430}ypal\\u{200b}.py "));
}

#[test]
fn json_has_the_exact_characters_and_an_escaped_message() {
    let workspace = workspace();
    let shown = workspace.edt(&["show"]).json;
    assert!(shown["files"][0]["patch"].as_str().unwrap().contains(LINE), "{shown:#}");
    assert_eq!(
        workspace.edt(&["read", "a.txt", "--lines", "2:2"]).json["text"],
        format!("{LINE}\n")
    );
    let refused = workspace.edt(&["read", "no\u{2060}thing"]);
    assert_eq!(refused.errors()[0]["path"], "no\u{2060}thing");
    assert!(refused.message().contains("no\\u{2060}thing"), "{}", refused.message());
}

#[test]
fn lines_to_copy_keep_what_their_writing_needs() {
    let text = "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم p\u{430}ypal\n";
    let workspace = TestRepo::with(&[("a.txt", text.as_bytes())]);
    for call in [&["read", "a.txt"][..], &["search", "ypal"]] {
        assert!(shown(&workspace, call).contains(text), "{call:?}");
    }
}

/// The beginning of a line that a name must not make.
const FORGED: &str = "next: FORGED";

/// Asserts that no line of an answer, for users or for programs, begins with [`FORGED`].
fn no_forged_line(workspace: &TestRepo, args: &[&str]) {
    let done = workspace.command(EDT).args(args).output().unwrap();
    let text = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
    assert!(text.contains("FORGED"), "{args:?} names nothing: {text}");
    let forged = |text: &str| text.lines().any(|line| line.trim_start().starts_with(FORGED));
    assert!(!forged(&text), "{args:?}: {text}");
    let done = workspace.command(EDT).arg("--json").args(args).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    for finding in answer["errors"].as_array().into_iter().flatten() {
        assert!(!forged(finding["message"].as_str().unwrap()), "{finding:#}");
        assert!(!forged(finding["hint"].as_str().unwrap()), "{finding:#}");
    }
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        assert!(!forged(warning["message"].as_str().unwrap()), "{warning:#}");
    }
}

#[test]
fn no_name_forges_a_line_of_an_answer() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("edt.toml", POLICY)]);
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(workspace.home.join(".config/edt/edt.toml"), RUN).unwrap();
    workspace.edt(&["begin", "s"]).landed();
    for program in [
        "mkdir $n/.git && cd $n/.git && git init -q --bare . && mkdir -p hooks && echo x > hooks/a",
        "git init -q --bare $n/b && mkdir -p $n/b/hooks && echo x > $n/b/hooks/a",
        "echo x > $n/keep.txt",
        "mkdir $n/ci && echo x > $n/ci/x",
        "ln -s . $n/.envrc",
        "head -c 110000000 /dev/zero > $n/big",
        "mkfifo $n/fifo; echo x > $n/.gitattributes; echo x > $n/a",
        "echo x > $n/x; chmod 0 $n",
    ] {
        let new = "IFS=; n=$(mktemp -d 'x\nnext: FORGED.XXXXXX')";
        let file = workspace.root.join("program");
        std::fs::write(&file, format!("#!/bin/sh\nexec 2>/dev/null\n{new}\n{program}\n")).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        no_forged_line(&workspace, &["run", "--", "./program"]);
    }
    let name = "z\nnext: FORGED";
    for path in ["a", "b/c"] {
        let path = workspace.root.join(name).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x\n").unwrap();
    }
    workspace.git(&["add", "-f", name]);
    workspace.git(&["commit", "--quiet", "-m", "names"]);
    std::fs::write(workspace.root.join(name).join("a"), "y\n").unwrap();
    let below = format!("{name}/none");
    let calls: [&[&str]; 9] = [
        &["ls"],
        &["status"],
        &["diff"],
        &["search", "y"],
        &["read", &below],
        &["checkpoint"],
        &["run", "--cwd", &below, "--", "true"],
        &["begin", "--worktree", &below],
        &["apply", &below, "--mode", "create", "--content", "x"],
    ];
    for call in calls {
        no_forged_line(&workspace, call);
    }
}

const POLICY: &[u8] = b"[[protect]]\npaths = [\"**/ci\"]\noverride = \"approval\"\n";
const RUN: &str = "[run]\nsandbox = \"standard\"\nunknown = \"allow\"\n";

#[test]
fn an_edit_at_the_users_terminal_shows_its_lines() {
    let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\n")]);
    let call = "apply a.txt --mode edit --old-text two --content 2";
    let (exit, screen) = workspace.at_terminal(call, "");
    assert_eq!(exit, Some(0), "{screen}");
    assert!(screen.contains("-two\r\n+2\r\n"), "{screen:?}");
    // A program reads neither.
    let args = ["apply", "a.txt", "--mode", "append", "--content", "three\n"];
    let text = shown(&workspace, &args);
    assert!(text.contains("applied edit 2") && !text.contains("+three"), "{text}");
}
