//! The stories of the contract, from the first refusal to the undo.

use serde_json::json;

use crate::test_repo::{TestRepo, lines, same};

/// A C file of exactly `size` bytes.
fn c_file(size: usize) -> String {
    let mut text = String::new();
    for n in 0.. {
        let function = format!("int add{n}(int a, int b)\n{{\n\treturn a + b + {n};\n}}\n");
        if text.len() + function.len() + 8 > size {
            break;
        }
        text.push_str(&function);
    }
    text.push_str(&format!("/*{}*/\n", "x".repeat(size - text.len() - 5)));
    assert_eq!(text.len(), size);
    text
}

/// A Makefile of 70 lines with tabs.
fn makefile() -> String {
    let text: String = (1..=35)
        .map(|n| format!("target-{n}: source-{n}.c\n\tcc -o target-{n} source-{n}.c\n"))
        .collect();
    assert_eq!(text.lines().count(), 70);
    text
}

#[test]
fn a_file_overwritten_with_a_brace_is_refused_and_lands_only_on_purpose() {
    let before = c_file(3400);
    let workspace =
        TestRepo::with(&[("demo/calculate.c", before.as_bytes()), ("other.txt", b"other\n")]);
    let overwrite = ["apply", "demo/calculate.c", "--mode", "overwrite", "--content", "}"];
    // That the final newline goes with it is a warning of its own.
    let warned = json!({"code": "final_newline", "path": "demo/calculate.c", "message": "The file ended with a newline; now it does not."});

    let answer = workspace.refuses(&["SIZE_REDUCTION"], 1, &overwrite);
    let error = &answer.errors()[0];
    assert_eq!(
        (&error["path"], &error["allow"], &error["evidence"]["bytes_before"]),
        (&json!("demo/calculate.c"), &json!("size_reduction"), &json!(3400))
    );
    assert_eq!(error["evidence"]["bytes_after"], json!(1));
    assert!(
        answer.hint().contains("append") && answer.hint().contains("size_reduction"),
        "{}",
        answer.hint()
    );
    workspace.is_clean();

    let answer = workspace.edt(&[&overwrite[..], &["--allow", "size_reduction"]].concat());
    assert_eq!((answer.exit, &answer.json["warnings"][1]), (0, &warned), "{:#}", answer.json);
    // The fragment is not valid C, which is reported, too; the override of the size reduction is
    // enough.
    assert_eq!(answer.json["warnings"][0]["code"], json!("syntax"), "{:#}", answer.json);
    assert_eq!(workspace.text("demo/calculate.c"), "}");
    workspace.is_clean();
    let trailer = workspace.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Edt-Allowed,valueonly)",
        answer.commit(),
    ]);
    assert_eq!(trailer.trim(), "size_reduction");
    let verdicts: Vec<&str> = answer.json["guards"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|guard| guard["verdict"].as_str())
        .collect();
    assert!(verdicts.contains(&"allowed"), "{verdicts:?}");

    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("demo/calculate.c"), before);
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn an_override_that_was_not_needed_is_not_in_the_commit() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace
        .edt(&[
            "apply",
            "a.txt",
            "--mode",
            "append",
            "--content",
            "two\n",
            "--allow",
            "size_reduction",
        ])
        .landed();
    assert!(!workspace.git(&["log", "-1", "--format=%B"]).contains("Edt-Allowed"));
}

#[test]
fn a_file_that_becomes_a_little_smaller_lands() {
    let workspace = TestRepo::with(&[("calculate.c", c_file(3000).as_bytes())]);
    let answer = workspace.overwrite("calculate.c", &c_file(2800));
    let file = &answer.json["files"][0];
    assert_eq!((&file["bytes_before"], &file["bytes_after"]), (&json!(3000), &json!(2800)));
    assert_eq!(workspace.text("calculate.c"), c_file(2800));
    workspace.is_clean();
}

#[test]
fn a_new_file_lands_with_its_parent_directories() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let request = json!({"path": "src/deep/new.sh", "mode": "create", "content": "#!/bin/sh\n", "executable": true});
    let answer = workspace.apply(&request).landed();
    assert_eq!(
        answer.json["session"],
        json!({
            "name": "main-1", "branch": "edt/main-1", "base": workspace.rev("main"), "began": true,
        })
    );
    assert_eq!(
        (&answer.json["edit"], &answer.json["parent"]),
        (&json!(1), &json!(workspace.rev("main")))
    );
    assert_eq!(
        workspace.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]),
        "100644 a.txt\n100755 src/deep/new.sh\n"
    );
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/main-1\n");
    workspace.is_clean();
    workspace.edt(&["undo"]).landed();
    assert!(!workspace.exists("src/deep/new.sh"));
    workspace.is_clean();
}

#[test]
fn a_makefile_is_not_replaced_by_an_edit_without_old_text_but_appended_to() {
    let before = makefile();
    let workspace = TestRepo::with(&[("Makefile", before.as_bytes())]);
    let targets = "release:\n\tcargo release\n\nclean:\n\trm -rf target\n";
    let edit = ["apply", "Makefile", "--mode", "edit", "--content", targets];
    let answer = workspace.refuses(&["OLD_TEXT_REQUIRED"], 1, &edit);
    assert!(answer.hint().contains("append"), "{}", answer.hint());
    workspace.is_clean();
    workspace.edt(&["apply", "Makefile", "--mode", "append", "--content", targets]).landed();
    assert_eq!(workspace.text("Makefile"), before + targets);
    workspace.is_clean();
}

#[test]
fn fifty_lines_may_become_seventeen_but_not_sixteen() {
    let workspace =
        TestRepo::with(&[("a.txt", lines(50).as_bytes()), ("b.txt", lines(50).as_bytes())]);
    workspace.overwrite("a.txt", &lines(17));
    workspace.is_clean();
    workspace.refuses(
        &["SIZE_REDUCTION"],
        1,
        &["apply", "b.txt", "--mode", "overwrite", "--content", &lines(16)],
    );
    workspace.is_clean();
}

#[test]
fn small_edits_do_not_add_up_to_what_one_large_edit_may_not_do() {
    let workspace = TestRepo::with(&[("a.txt", lines(40).as_bytes().repeat(3).as_slice())]);
    let (mut text, mut landed) = (lines(40).repeat(3), 0);
    let answer = loop {
        let keep = text.len() - text.len() / 4;
        let cut = text[..keep].rfind('\n').unwrap() + 1;
        let next = text[..cut].to_owned();
        let before = workspace.snapshot();
        let answer = workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", &next]);
        if answer.exit != 0 {
            same(&before, &workspace.snapshot());
            break answer;
        }
        (text, landed) = (next, landed + 1);
        assert!(landed < 15, "{} bytes are left of {}", text.len(), lines(40).len() * 3);
    };
    assert!(landed >= 3, "each cut alone is small, and {landed} landed");
    assert_eq!(answer.codes(), ["SIZE_REDUCTION"]);
    assert_eq!(answer.errors()[0]["evidence"]["against"], json!("the session's base"));
    workspace.is_clean();
}

#[test]
fn ten_deletions_of_old_text_are_judged_against_the_base_too() {
    let paragraph = |n: usize| format!("paragraph {n}: {}\n", "x".repeat(200));
    let text: String = (0..10).map(paragraph).collect();
    let workspace = TestRepo::with(&[("a.txt", text.as_bytes())]);
    for n in 0..9 {
        let cut =
            ["apply", "a.txt", "--mode", "edit", "--old-text", &paragraph(n), "--content", ""];
        workspace.edt(&cut).landed();
    }
    let rest = "x".repeat(100);
    let answer = workspace.refuses(
        &["SIZE_REDUCTION"],
        1,
        &[
            "apply",
            "a.txt",
            "--mode",
            "edit",
            "--old-text",
            &rest,
            "--content",
            "",
            "--replace-all",
        ],
    );
    assert_eq!(answer.errors()[0]["evidence"]["against"], json!("the session's base"));
}

#[test]
fn the_policy_of_the_base_commit_tightens_and_the_session_cannot_loosen_it() {
    let policy =
        "[guards.size_reduction]\nmax_bytes_lost = 0.5\nmin_bytes = 100\noverride = \"never\"\n";
    let workspace =
        TestRepo::with(&[("a.txt", "x".repeat(1000).as_bytes()), ("edt.toml", policy.as_bytes())]);
    let half = "x".repeat(500);
    let less = "x".repeat(499);
    let refused =
        ["apply", "a.txt", "--mode", "overwrite", "--content", &less, "--allow", "size_reduction"];
    let answer = workspace.refuses(&["SIZE_REDUCTION"], 1, &refused);
    assert_eq!(answer.errors()[0]["allow"], json!(null));
    assert!(!answer.hint().contains("allow:"), "{}", answer.hint());

    let loosened = "[guards.size_reduction]\nmode = \"off\"\n";
    workspace.unprotect("edt.toml");
    workspace.overwrite("edt.toml", loosened);
    workspace.refuses(&["SIZE_REDUCTION"], 1, &refused);
    // Not even through an uncommitted file on disk.
    workspace.write("edt.toml", "[guards.size_reduction]\nmode = \"off\" # really\n");
    workspace.refuses(&["SIZE_REDUCTION"], 1, &refused);
    workspace.overwrite("a.txt", &half);
    assert_eq!(workspace.text("a.txt"), half);
}

#[test]
fn a_guard_that_warns_lets_the_edit_land_with_a_warning() {
    let workspace = TestRepo::with(&[
        ("a.txt", lines(100).as_bytes()),
        ("edt.toml", b"[guards.size_reduction]\nmode = \"warn\"\n"),
    ]);
    let answer = workspace.edt(&["apply", "a.txt", "--mode", "overwrite", "--content", "gone\n"]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    let guard = answer.json["guards"]
        .as_array()
        .unwrap()
        .iter()
        .find(|guard| guard["guard"] == "size_reduction")
        .unwrap();
    assert_eq!(guard["verdict"], json!("warn"), "{guard:#}");
}

#[test]
fn a_protected_path_needs_approval() {
    let workspace = TestRepo::with(&[
        (".github/workflows/ci.yml", b"on: push\n"),
        ("a.txt", b"a\n"),
        ("edt.toml", b"[[protect]]\npaths = [\".github/**\", \"edt.toml\"]\n"),
    ]);
    for path in [".github/workflows/ci.yml", "edt.toml"] {
        workspace.refuses(
            &["PROTECTED_PATH"],
            1,
            &["apply", path, "--mode", "append", "--content", "x\n"],
        );
        workspace.refuses(&["PROTECTED_PATH"], 1, &["apply", path, "--mode", "delete"]);
    }
    workspace.refuses(
        &["PROTECTED_PATH"],
        1,
        &["apply", "a.txt", "--mode", "rename", "--to", ".github/a.txt"],
    );
    workspace.refuses(
        &["PROTECTED_PATH"],
        1,
        &["apply", ".github/new.yml", "--mode", "create", "--content", "x\n"],
    );
    workspace.overwrite("a.txt", "b\n");
    workspace.is_clean();
}

#[test]
fn a_rename_of_a_protected_path_is_reported_once() {
    let workspace =
        TestRepo::with(&[("a.txt", b"a\n"), ("edt.toml", b"[[protect]]\npaths = [\"a.txt\"]\n")]);
    workspace.refuses(
        &["PROTECTED_PATH"],
        1,
        &["apply", "a.txt", "--mode", "rename", "--to", "b.txt"],
    );
}

#[test]
fn a_dry_run_reports_the_result_and_changes_nothing() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let before = workspace.snapshot();
    for args in [
        ["check", "a.txt", "--mode", "append", "--content", "two\n"].as_slice(),
        &["apply", "a.txt", "--mode", "append", "--content", "two\n", "--dry-run"],
    ] {
        let answer = workspace.edt(args);
        assert_eq!(
            (answer.exit, &answer.json["status"], &answer.json["commit"]),
            (0, &json!("would_apply"), &json!(null))
        );
        assert_eq!(answer.json["files"][0]["bytes_after"], json!(8));
    }
    same(&before, &workspace.snapshot());
}

#[test]
fn an_edit_that_changes_nothing_records_nothing() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin"]);
    let before = workspace.snapshot();
    let answer = workspace.edt(&[
        "apply",
        "a.txt",
        "--mode",
        "edit",
        "--old-text",
        "one",
        "--content",
        "one",
    ]);
    assert_eq!(
        (answer.exit, &answer.json["status"]),
        (0, &json!("unchanged")),
        "{:#}",
        answer.json
    );
    same(&before, &workspace.snapshot());
}

#[test]
fn what_is_read_is_what_was_done() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    assert_eq!(workspace.edt(&["status"]).json["session"], json!(null));
    let request = json!({"path": "a.txt", "mode": "append", "content": "two\n", "message": "why", "agent": "tester"});
    let commit = workspace.apply(&request).landed().commit().to_owned();
    workspace.write("new.txt", "untracked\n");

    let status = workspace.edt(&["status"]).json;
    assert_eq!(
        (&status["session"]["name"], &status["tip"], &status["switched"], &status["edits"]),
        (&json!("main-1"), &json!(commit), &json!(true), &json!(1))
    );
    assert_eq!(
        (&status["changed"], &status["untracked"]),
        (&json!(["a.txt"]), &json!(["new.txt"]))
    );

    let read = workspace.edt(&["read", "a.txt", "--lines", "2:2"]).json;
    assert_eq!(
        (&read["text"], &read["hash"]),
        (&json!("two\n"), &json!(workspace.rev("HEAD:a.txt")))
    );

    let log = workspace.edt(&["log"]).json.to_string();
    assert!(log.contains(&commit) && log.contains("why") && log.contains("tester"), "{log}");
    for args in [["diff"].as_slice(), &["show"], &["show", &commit]] {
        let diff = workspace.edt(args).json.to_string();
        assert!(diff.contains("+two") && !diff.contains("b.txt"), "{args:?}: {diff}");
    }
}

#[test]
fn two_files_that_swap_names_are_both_reported() {
    let workspace = TestRepo::with(&[("a", b"a\n"), ("b", b"b\n")]);
    let rename = |path: &str, to: &str| json!({"path": path, "mode": "rename", "to": to});
    let answer = workspace
        .apply(&json!({"edits": [rename("a", "t"), rename("b", "a"), rename("t", "b")]}))
        .landed();
    let paths: Vec<_> =
        answer.json["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(
        (workspace.text("a"), workspace.text("b"), paths),
        ("b\n".into(), "a\n".into(), vec![json!("a"), json!("b")])
    );
}

#[test]
fn an_expected_hash_follows_a_rename_of_the_same_request() {
    let workspace = TestRepo::with(&[("a", b"one\n")]);
    let hash = workspace.rev("HEAD:a");
    let edits = json!({"edits": [
        {"path": "a", "mode": "rename", "to": "c"},
        {"path": "c", "mode": "append", "content": "two\n", "expected_hash": hash},
    ]});
    workspace.apply(&edits).landed();
    assert_eq!(workspace.text("c"), "one\ntwo\n");
}
