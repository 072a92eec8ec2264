//! Line ends, encodings, `$Id$`.

use serde_json::json;

use super::{as_git_would, complete_session};
use crate::test_repo::{EDT, TestRepo};

/// A repository with settings and attributes, checked out again under them.
fn made(settings: &[(&str, &str)], attributes: &str, files: &[(&str, &[u8])]) -> TestRepo {
    let workspace = TestRepo::unborn(&[]);
    settings.iter().for_each(|(key, value)| drop(workspace.git(&["config", key, value])));
    if !attributes.is_empty() {
        workspace.write(".gitattributes", attributes);
    }
    workspace.commit(files);
    workspace.git(&["rm", "--quiet", "-r", "--cached", "."]);
    std::fs::remove_file(workspace.root.join(".gitattributes")).ok();
    workspace.git(&["reset", "--quiet", "--hard"]);
    as_git_would(&workspace, "setting up");
    workspace
}

#[test]
fn autocrlf_true_puts_crlf_on_disk_and_lf_into_blobs() {
    let workspace = made(
        &[("core.autocrlf", "true")],
        "",
        &[("a.txt", b"one\ntwo\n"), ("bin.dat", b"\0\n\x01\n")],
    );
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.read("bin.dat")),
        ("one\r\ntwo\r\n", b"\0\n\x01\n".to_vec())
    );
    complete_session(&workspace, "a.txt", "two");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\ny\n"]).landed();
    assert_eq!(
        (workspace.text("new.txt").as_str(), workspace.blob("HEAD:new.txt")),
        ("x\r\ny\r\n", b"x\ny\n".to_vec())
    );
    as_git_would(&workspace, "a new file");
}

#[test]
fn autocrlf_input_puts_lf_everywhere() {
    let workspace = made(&[("core.autocrlf", "input")], "", &[("a.txt", b"one\ntwo\n")]);
    complete_session(&workspace, "a.txt", "two");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\r\ny\r\n"]);
    assert_eq!(
        (workspace.text("new.txt").as_str(), workspace.blob("HEAD:new.txt")),
        ("x\ny\n", b"x\ny\n".to_vec())
    );
    as_git_would(&workspace, "a new file");
}

#[test]
fn text_and_eol_attributes() {
    let attributes = [
        "*.txt text eol=crlf\n",
        "*.txt text\n",
        "* text=auto eol=crlf\n",
        "*.txt text eol=lf\n",
        "* text=auto\n",
        "*.txt crlf\n",
    ];
    let settings: [&[(&str, &str)]; 2] = [&[], &[("core.eol", "crlf")]];
    let all = attributes.iter().flat_map(|one| settings.map(|settings| (settings, one)));
    for (settings, attributes) in edt_testkit::share(all.collect(), 4) {
        eprintln!("{settings:?} {attributes}");
        let workspace = made(settings, attributes, &[("d/a.txt", b"one\ntwo\n")]);
        complete_session(&workspace, "d/a.txt", "two");
    }
    let workspace =
        made(&[("core.autocrlf", "true")], "*.txt -text\n", &[("a.txt", b"one\ntwo\n")]);
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    complete_session(&workspace, "a.txt", "two");
}

#[test]
fn a_blob_with_crlf_stays_as_it_is_under_an_automatic_conversion() {
    let workspace = TestRepo::with(&[("a.txt", b"one\r\ntwo\r\n")]);
    workspace.git(&["config", "core.autocrlf", "true"]);
    workspace.is_clean();
    complete_session(&workspace, "a.txt", "two");
    assert_eq!(workspace.blob("HEAD:a.txt"), b"one\r\ntwo and more\r\n");
}

#[test]
fn bytes_that_git_would_not_check_out_again_are_refused_not_lost() {
    let workspace = made(&[("core.autocrlf", "true")], "", &[("a.txt", b"one\ntwo\nthree\n")]);
    for odd in ["one\r\ntwo\nthree\r\n", "one\ntwo\nthree\n"] {
        workspace.write("a.txt", odd);
        let edit = json!({"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2"});
        let refused = workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &edit);
        assert!(
            refused.message().contains("CRLF") && refused.hint().contains("unix2dos a.txt"),
            "{:#}",
            refused.json
        );
        workspace.refuses_request(
            &["UNSUPPORTED_REPOSITORY"],
            5,
            &json!({"path": "a.txt", "mode": "delete"}),
        );
    }
    workspace.write("a.txt", "one\r\ntwo\r\nthree\r\nmine\r\n");
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "four\n"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\r\ntwo\r\nthree\r\nmine\r\nfour\r\n");
    assert_eq!(workspace.blob("HEAD:a.txt"), b"one\ntwo\nthree\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\r\ntwo\r\nthree\r\nmine\r\n");
}

#[test]
fn text_sent_with_lf_lands_with_crlf_as_one_change() {
    let workspace = made(&[("core.autocrlf", "true")], "", &[("a.txt", b"one\ntwo\nthree\n")]);
    let edit =
        json!({"path": "a.txt", "mode": "edit", "old_text": "one\ntwo\n", "content": "1\n2\n"});
    let landed = workspace.apply(&edit).landed();
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.blob("HEAD:a.txt")),
        ("1\r\n2\r\nthree\r\n", b"1\n2\nthree\n".to_vec())
    );
    assert_eq!(
        (&landed.json["files"][0]["lines_added"], &landed.json["files"][0]["lines_removed"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(workspace.git(&["diff", "--stat", "HEAD~1"]).lines().count(), 2);
    let hash = workspace.edt(&["read", "a.txt"]).json["hash"].as_str().unwrap().to_owned();
    workspace
        .edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n", "--expected-hash", &hash])
        .landed();
    // The complete text sent with LF is not a change.
    let same =
        workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", "1\n2\nthree\nx\n"]);
    assert_eq!(same.json["status"], "unchanged");
}

#[test]
fn the_attributes_of_the_request_itself_are_not_guessed() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let both = json!({"edits": [
        {"path": ".gitattributes", "mode": "create", "content": "*.txt text eol=crlf\n"},
        {"path": "b.txt", "mode": "create", "content": "b\n"},
    ]});
    let refused = workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &both);
    assert!(refused.hint().starts_with("Send .gitattributes first"), "{:#}", refused.json);
    workspace.apply(&both["edits"][0]).landed();
    workspace.apply(&both["edits"][1]).landed();
    assert_eq!(workspace.text("b.txt"), "b\r\n");
    // Undo and redo take the attributes of the state they go to.
    workspace.edt(&["undo", "2"]).landed();
    assert!(!workspace.exists("b.txt"));
    workspace.edt(&["redo"]).landed();
    assert_eq!(workspace.text("b.txt"), "b\r\n");
    workspace.is_clean();
}

#[test]
fn where_nothing_converts_no_attributes_are_read_and_no_program_is_started() {
    let workspace = TestRepo::with(&[("dir/a.txt", b"one\n")]);
    workspace.edt(&["apply", "dir/a.txt", "--mode", "append", "--content", "two\n"]).landed();
    let log = workspace.home.join("trace");
    let mut traced = workspace.command("strace");
    traced.args(["-f", "-qq", "-o"]).arg(&log).args([
        "-e",
        "trace=open,openat,openat2,execve,clone,clone3,fork,vfork",
        EDT,
    ]);
    traced.args(["apply", "dir/a.txt", "--mode", "append", "--content", "three\n"]);
    if !traced.stdout(std::process::Stdio::null()).status().is_ok_and(|status| status.success()) {
        println!("skipped: strace is not installed");
        return;
    }
    let trace = std::fs::read_to_string(log).unwrap();
    let begun: Vec<&str> = trace
        .lines()
        .filter(|line| ["execve(", "clone", "fork("].iter().any(|c| line.contains(c)))
        // A thread that syncs a file is no program.
        .filter(|line| !line.contains("CLONE_THREAD") && !line.contains("resumed>"))
        .collect();
    assert_eq!(begun.len(), 1, "edt itself: {begun:#?}");
    let read: Vec<&str> = trace.lines().filter(|line| line.contains("attributes")).collect();
    assert_eq!(read, Vec::<&str>::new());
    as_git_would(&workspace, "the edits");
}

#[test]
fn attributes_come_from_the_info_directory_and_the_users_file() {
    for place in ["info", "user"] {
        let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\n")]);
        if place == "info" {
            std::fs::create_dir_all(workspace.root.join(".git/info")).unwrap();
            std::fs::write(workspace.root.join(".git/info/attributes"), "*.txt text eol=crlf\n")
                .unwrap();
        } else {
            std::fs::write(workspace.home.join("attributes"), "*.txt text eol=crlf\n").unwrap();
            workspace.git(&[
                "config",
                "--global",
                "core.attributesFile",
                workspace.home.join("attributes").to_str().unwrap(),
            ]);
        }
        std::fs::remove_file(workspace.root.join("a.txt")).unwrap();
        workspace.git(&["checkout", "--", "a.txt"]);
        assert_eq!(workspace.text("a.txt"), "one\r\ntwo\r\n", "{place}");
        complete_session(&workspace, "a.txt", "two");
    }
}

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_utf_16_file_is_edited_as_text() {
    let attributes = "*.txt working-tree-encoding=UTF-16\n";
    let workspace = TestRepo::with(&[
        (".gitattributes", attributes.as_bytes()),
        ("a.txt", &utf16("eins\nzw\u{f6}lf\n")),
    ]);
    assert_eq!(workspace.blob("HEAD:a.txt"), "eins\nzw\u{f6}lf\n".as_bytes());
    assert_eq!(workspace.edt(&["read", "a.txt"]).json["text"], "eins\nzw\u{f6}lf\n");
    as_git_would(&workspace, "setting up");
    complete_session(&workspace, "a.txt", "zw\u{f6}lf");
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "\u{1f600}\n"]).landed();
    assert_eq!(workspace.read("new.txt"), utf16("\u{1f600}\n"));
    as_git_would(&workspace, "a new file");
}

#[test]
fn other_encodings_and_line_ends_together() {
    let all = vec![
        ("working-tree-encoding=UTF-16LE-BOM eol=crlf text", utf16("eins\r\nzwei\r\n")),
        (
            "working-tree-encoding=UTF-16BE",
            "eins\nzwei\n".encode_utf16().flat_map(u16::to_be_bytes).collect(),
        ),
        (
            "working-tree-encoding=UTF-32LE",
            "eins\nzwei\n".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
        ),
        ("working-tree-encoding=ISO-8859-1", b"einsj\xe9\nzwei\n".to_vec()),
        ("working-tree-encoding=UTF-8", "eins\u{e9}\nzwei\n".into()),
    ];
    for (attributes, disk) in edt_testkit::share(all, 3) {
        eprintln!("{attributes}");
        let workspace = TestRepo::with(&[
            (".gitattributes", format!("*.txt {attributes}\n").as_bytes()),
            ("a.txt", &disk),
        ]);
        as_git_would(&workspace, attributes);
        complete_session(&workspace, "a.txt", "zwei");
    }
}

#[test]
fn characters_outside_the_encoding_are_refused() {
    let attributes = "*.txt working-tree-encoding=UTF-16\n*.l1 working-tree-encoding=latin1\n*.jp working-tree-encoding=SHIFT-JIS\n";
    let workspace = TestRepo::with(&[
        (".gitattributes", attributes.as_bytes()),
        ("a.l1", b"\xe9\n"),
        ("a.jp", b"x\n"),
    ]);
    let append = |path: &str, text: &str| json!({"path": path, "mode": "append", "content": text});
    let refused =
        workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &append("a.l1", "\u{20ac}\n"));
    assert!(
        refused.message().contains("a character that its encoding does not have"),
        "{:#}",
        refused.json
    );
    let refused = workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &append("a.jp", "y\n"));
    assert!(refused.message().contains("SHIFT-JIS"), "{:#}", refused.json);
    for odd in [&b"\xff\xfea"[..], b"a\0b\0", b"\xff\xfe\0\xd8a\0"] {
        workspace.write("odd.txt", odd);
        workspace.refuses_request(&["UNSUPPORTED_REPOSITORY"], 5, &append("odd.txt", "x\n"));
    }
}

#[test]
fn ident_is_expanded_on_disk_and_collapsed_in_the_blob() {
    let workspace = made(&[], "*.md ident\n", &[("a.md", b"See $Id$.\nint a;\n")]);
    assert_eq!(
        workspace.text("a.md"),
        format!("See $Id: {} $.\nint a;\n", workspace.rev("HEAD:a.md"))
    );
    complete_session(&workspace, "a.md", "int a;");
    workspace
        .edt(&["apply", "new.md", "--mode", "create", "--content", "See $Id$.\nint b;\n"])
        .landed();
    assert_eq!(workspace.blob("HEAD:new.md"), b"See $Id$.\nint b;\n");
    assert_eq!(
        workspace.text("new.md"),
        format!("See $Id: {} $.\nint b;\n", workspace.rev("HEAD:new.md"))
    );
    as_git_would(&workspace, "a new file");
}

#[test]
fn checkpoints_landing_and_abandoning_speak_of_the_same_bytes() {
    let attributes = "*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16\n";
    let files: [(&str, &[u8]); 2] = [("a.txt", b"one\ntwo\n"), ("b.u16", &utf16("eins\nzwei\n"))];
    let edits = json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "three\n"},
        {"path": "b.u16", "mode": "edit", "old_text": "zwei", "content": "drei"},
        {"path": "dir/new.txt", "mode": "create", "content": "new\n"},
    ]});
    for (end, lands) in [("land", true), ("abandon", false)] {
        let workspace = made(&[], attributes, &files);
        let mut start = workspace.files();
        workspace.apply(&edits).landed();
        workspace.write("a.txt", "mine\r\none\r\ntwo\r\nthree\r\n");
        assert_eq!(workspace.edt(&["checkpoint"]).json["status"], "applied");
        as_git_would(&workspace, "checkpoint");
        assert_eq!(workspace.blob("HEAD:a.txt"), b"mine\none\ntwo\nthree\n");
        let (exit, screen) = workspace.at_terminal(end, "");
        assert_eq!(
            (exit, workspace.git(&["symbolic-ref", "--short", "HEAD"])),
            (Some(0), "main\n".into()),
            "{screen}"
        );
        if lands {
            as_git_would(&workspace, end);
            assert_eq!(
                (workspace.text("a.txt").as_str(), workspace.read("b.u16")),
                ("mine\r\none\r\ntwo\r\nthree\r\n", utf16("eins\ndrei\n"))
            );
        } else {
            let mut left = workspace.files();
            left.remove("dir");
            // The user's line is uncommitted again.
            start.insert("a.txt".to_owned(), b"644 mine\r\none\r\ntwo\r\n".to_vec());
            assert_eq!(workspace.git(&["diff", "--numstat", "HEAD"]), "1\t0\ta.txt\n");
            crate::test_repo::same(&start, &left);
        }
        workspace.is_sound();
    }
}

#[test]
fn a_sessions_own_worktree_is_checked_out_by_git() {
    let workspace = made(&[], "*.txt text eol=crlf\n", &[("a.txt", b"one\ntwo\n")]);
    let side = workspace.at(workspace.root.with_file_name("side"));
    assert_eq!(
        workspace.edt(&["begin", "side", "--worktree", side.root.to_str().unwrap()]).exit,
        0
    );
    side.edt(&["apply", "a.txt", "--mode", "append", "--content", "three\n"]).landed();
    as_git_would(&side, "the edit");
    let done = side.edt(&["land"]);
    assert_eq!(done.exit, 0, "{:#}", done.json);
    assert_eq!(workspace.text("a.txt"), "one\r\ntwo\r\nthree\r\n");
    as_git_would(&workspace, "landing without switching");
}
