//! How tools of this kind lost users' work, and what edt does instead. The names are those of the
//! list at the end.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::test_repo::{TestRepo, changed, lines, same};

#[test]
fn adk_overwrite_with_brace() {
    let before = "int f(int x) { return x; }\n".repeat(200)[..3400].to_owned();
    let workspace = TestRepo::with(&[("calculate.c", before.as_bytes())]);
    let brace = json!({"path": "calculate.c", "mode": "overwrite", "content": "}"});
    workspace.refuses_request(&["SIZE_REDUCTION"], 1, &brace);
    let allowed = json!({"path": "calculate.c", "mode": "overwrite", "content": "}", "allow": ["size_reduction"]});
    workspace.apply(&allowed).landed();
    assert!(
        workspace.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: size_reduction\n")
    );
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("calculate.c"), before);
}

/// A C program that wants one argument.
const PROGRAM: &str = "#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n\tif (argc != 2) {\n\t\tputs(\"usage: calculate N\");\n\t\treturn 1;\n\t}\n\tputs(argv[1]);\n\treturn 0;\n}\n";

#[test]
fn adk_duplicate_argc_check() {
    let workspace = TestRepo::with(&[("calculate.c", PROGRAM.as_bytes())]);
    let check = "\tif (argc != 2) {\n\t\tputs(\"usage: calculate N\");\n\t\treturn 1;\n\t}\n";
    let again = json!({"path": "calculate.c", "mode": "edit", "old_text": "\tputs(argv[1]);\n",
        "content": format!("{check}\tputs(argv[1]);\n")});
    let answer = workspace.refuses_request(&["DUPLICATE_CODE"], 1, &again);
    assert_eq!(
        answer.errors()[0],
        json!({
            "code": "DUPLICATE_CODE", "path": "calculate.c", "allow": "duplicate_code",
            "message": "The same statement would occur twice in calculate.c: lines 5-8 and lines 9-12. Nothing was changed.",
            "hint": "Leave out what the file has already: read it and send only what is new. If it really should occur twice, \
                repeat with allow: [\"duplicate_code\"].",
            "evidence": {"first": [5, 8], "second": [9, 12]},
        })
    );
    let mut allowed = again.clone();
    allowed["allow"] = json!(["duplicate_code"]);
    workspace.apply(&allowed).landed();
    assert_eq!(workspace.text("calculate.c"), PROGRAM.replace(check, &check.repeat(2)));
    assert!(
        workspace.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: duplicate_code\n")
    );
    workspace.is_clean();
}

#[test]
fn adk_missing_brace() {
    let workspace = TestRepo::with(&[("calculate.c", PROGRAM.as_bytes())]);
    let lost = json!({"path": "calculate.c", "mode": "edit", "old_text": "\t\treturn 1;\n\t}\n",
        "content": "\t\treturn 1;\n"});
    let answer = workspace.refuses_request(&["SYNTAX_ERROR"], 1, &lost);
    let frame = "3 | int main(int argc, char **argv)\n4 | {\n5 | \tif (argc != 2) {\n  | \t               ^\n6 | \t\tputs(\"usage: calculate N\");";
    assert_eq!(
        (answer.message(), &answer.errors()[0]["evidence"]),
        (
            format!("calculate.c:5:17: SYNTAX_ERROR `{{` has no partner `}}`.\n{frame}\nNothing was changed.").as_str(),
            &json!({"line": 5, "column": 17, "frame": frame, "bracket": {"text": "{", "line": 5, "column": 17}})
        )
    );
    assert_eq!(answer.errors()[0]["allow"], json!("syntax_error"));
    // With its brace the same edit lands.
    workspace
        .apply(&json!({"path": "calculate.c", "mode": "edit", "old_text": "\t\treturn 1;\n\t}\n",
            "content": "\t\treturn 2;\n\t}\n"}))
        .landed();
    workspace.is_clean();
}

#[test]
fn sweagent_560_old_errors_trap() {
    // One error each, far from the edits below.
    let files = [
        (
            "old.c",
            "int broken(int a)\n{\n\treturn (a;\n}\n\nint f(int a)\n{\n\treturn a;\n}\n",
            "\treturn a;\n}\n",
            "\treturn a;\n",
        ),
        (
            "old.py",
            "print 'python 2'\nx = 1)\n\n\ndef f(a):\n    return a\n",
            "    return a\n",
            "    return (a\n    b = ]\n",
        ),
        (
            "old.json",
            "{\n  \"a\": ,\n  \"b\": 1,\n  \"c\": 3\n}\n",
            "  \"c\": 3\n",
            "  \"c\": [3\n",
        ),
    ];
    for (path, before, old, broken) in files {
        let workspace = TestRepo::with(&[(path, before.as_bytes())]);
        let edit = |old: &str, new: &str| json!({"path": path, "mode": "edit", "old_text": old, "content": new});
        let fine = old.replace("return a", "return a + 1").replace('3', "4");
        workspace.apply(&edit(old, &fine)).landed();
        assert_eq!(workspace.text(path), before.replacen(old, &fine, 1));
        let mut worse = edit(&fine, broken);
        workspace.refuses_request(&["SYNTAX_ERROR"], 1, &worse);
        worse["allow"] = json!(["syntax_error"]);
        workspace.apply(&worse).landed();
        assert!(
            workspace.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: syntax_error\n"),
            "{path}"
        );
    }
}

#[test]
fn xzatoma_makefile_wipe() {
    let before: String = (0..35).map(|n| format!("t{n}:\n\techo {n}\n")).collect();
    let workspace = TestRepo::with(&[("Makefile", before.as_bytes())]);
    let targets = "install:\n\tcp x y\n";
    let answer = workspace.refuses_request(
        &["OLD_TEXT_REQUIRED"],
        1,
        &json!({"path": "Makefile", "mode": "edit", "content": targets}),
    );
    assert!(answer.hint().contains("\"append\""));
    workspace.refuses_request(
        &["OLD_TEXT_REQUIRED"],
        1,
        &json!({"path": "Makefile", "mode": "edit", "old_text": "", "content": targets}),
    );
    workspace.apply(&json!({"path": "Makefile", "mode": "append", "content": targets})).landed();
    assert_eq!(workspace.text("Makefile"), before + targets);
}

/// An agent that always sends the same broken diff gets an alternative at every second attempt.
#[test]
fn safe_patch_loop() {
    let workspace = TestRepo::with(&[("main.py", b"def main():\n    print('hello')\n")]);
    let broken = json!({"patch": "--- a/main.py\n+++ b/main.py\n@@ -1,2 +1,2 @@\n def main():\n-  print(\"hello\")\n+    print('hello, world')\n"});
    let codes = ["INVALID_PATCH", "INVALID_PATCH_LIMIT_EXCEEDED"];
    for turn in 0..6 {
        let answer = workspace.refuses_request(&[codes[turn % 2]], 1, &broken);
        let (hint, evidence) = (answer.hint(), &answer.errors()[0]["evidence"]);
        assert_eq!(
            evidence["nearest"]["context"],
            json!("1 | def main():\n2 |     print('hello')\n")
        );
        assert_eq!(
            hint.contains("Do not send a patch for main.py again now"),
            turn % 2 == 1,
            "{hint}"
        );
        assert_eq!(evidence["hash"], json!(workspace.rev("HEAD:main.py")));
    }
    // A failure of another kind on the file resets the count; an agent that follows the hint lands,
    // and that resets it, too.
    workspace.refuses_request(&codes[..1], 1, &broken);
    workspace.refuses_request(
        &["HASH_MISMATCH"],
        3,
        &json!({"path": "main.py", "mode": "delete", "expected_hash": "0000000"}),
    );
    workspace.refuses_request(&codes[..1], 1, &broken);
    workspace.overwrite("main.py", "def main():\n    print('hello, all')\n");
    workspace.refuses_request(&codes[..1], 1, &broken);
    workspace.is_clean();
}

#[test]
fn codex_25399_add_over_existing() {
    let workspace = TestRepo::with(&[("real.txt", b"precious\n"), ("other.txt", b"other\n")]);
    symlink("real.txt", workspace.root.join("link.txt")).unwrap();
    workspace.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "real.txt", "mode": "create", "content": "new\n"}),
    );
    workspace.refuses_request(
        &["PATH_THROUGH_SYMLINK"],
        1,
        &json!({"path": "link.txt", "mode": "create", "content": "new\n"}),
    );
    // An untracked file, and an ignored one, are files too.
    workspace.write("untracked.txt", "precious\n");
    workspace.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "untracked.txt", "mode": "create", "content": "new\n"}),
    );
}

#[test]
fn codex_half_patch() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    workspace.refuses_request(
        &["OLD_TEXT_NOT_FOUND"],
        1,
        &json!({"edits": [
            {"path": "a.txt", "mode": "edit", "old_text": "one", "content": "two"},
            {"path": "b.txt", "mode": "edit", "old_text": "three", "content": "two"},
        ]}),
    );
}

#[test]
fn codex_move_clobbers() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n"), ("b.txt", b"precious\n")]);
    workspace.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "a.txt", "mode": "rename", "to": "b.txt"}),
    );
    workspace.write("untracked.txt", "precious\n");
    workspace.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "a.txt", "mode": "rename", "to": "untracked.txt"}),
    );
    std::fs::remove_file(workspace.root.join("untracked.txt")).unwrap();
    // Two files change places in one transaction, by way of a third name.
    workspace
        .apply(&json!({"edits": [
            {"path": "a.txt", "mode": "rename", "to": "c.txt"},
            {"path": "b.txt", "mode": "rename", "to": "a.txt"},
            {"path": "c.txt", "mode": "rename", "to": "b.txt"},
        ]}))
        .landed();
    assert_eq!(
        (
            workspace.text("a.txt").as_str(),
            workspace.text("b.txt").as_str(),
            workspace.exists("c.txt")
        ),
        ("precious\n", "a\n", false)
    );
    workspace.is_clean();
}

#[test]
fn codex_final_newline() {
    let workspace = TestRepo::with(&[("without.txt", b"one\ntwo"), ("with.txt", b"one\ntwo\n")]);
    let edit =
        |path: &str| json!({"path": path, "mode": "edit", "old_text": "one", "content": "1"});
    workspace.apply(&edit("without.txt")).landed();
    workspace.apply(&edit("with.txt")).landed();
    assert_eq!(
        (workspace.read("without.txt"), workspace.read("with.txt")),
        (b"1\ntwo".to_vec(), b"1\ntwo\n".to_vec())
    );
}

#[test]
fn mcpfs_crlf_to_lf() {
    let workspace = TestRepo::with(&[("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")]);
    workspace.apply(&json!({"path": "a.txt", "mode": "edit", "old_text": "one\ntwo", "content": "1\n2\n2b"})).landed();
    assert_eq!(workspace.read("a.txt"), b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n");
    workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": "four\n"})).landed();
    assert_eq!(workspace.read("a.txt"), b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\nfour\r\n");
    assert_eq!(workspace.blob("HEAD:a.txt"), workspace.read("a.txt"));
    workspace.is_clean();
}

#[test]
fn roo_half_success() {
    let workspace = TestRepo::with(&[("a.txt", b"one\ntwo\nthree\n")]);
    let answer = workspace.refuses_request(
        &["OLD_TEXT_NOT_FOUND", "OLD_TEXT_NOT_FOUND"],
        1,
        &json!({"edits": [
            {"path": "a.txt", "mode": "edit", "old_text": "one", "content": "1"},
            {"path": "a.txt", "mode": "edit", "old_text": "nine", "content": "9"},
            {"path": "a.txt", "mode": "edit", "old_text": "ten", "content": "10"},
        ]}),
    );
    assert_eq!(answer.json["status"], json!("refused"));
}

#[test]
fn gemini_negation_match() {
    let workspace =
        TestRepo::with(&[("a.c", b"int f(void)\n{\n\tif (!is_admin(u))\n\t\treturn 1;\n}\n")]);
    let answer = workspace.refuses_request(
        &["OLD_TEXT_NOT_FOUND"],
        1,
        &json!({
            "path": "a.c", "mode": "edit", "old_text": "\tif (is_admin(u))\n\t\treturn 1;", "content": "\treturn 1;",
        }),
    );
    let nearest = &answer.errors()[0]["evidence"]["nearest"];
    assert_eq!((&nearest["line"], &nearest["differs_at"]), (&json!(3), &json!(3)), "{nearest:#}");
    assert!(nearest["found"].as_str().unwrap().contains("!is_admin(u)"), "{nearest:#}");
}

#[test]
fn aider_other_file() {
    let workspace = TestRepo::with(&[("a.txt", b"alpha\n"), ("b.txt", b"the block\n")]);
    workspace.refuses_request(
        &["OLD_TEXT_NOT_FOUND"],
        1,
        &json!({"path": "a.txt", "mode": "edit", "old_text": "the block", "content": "x"}),
    );
}

#[test]
fn sweagent_expandtabs() {
    let before = "all:\n\techo\t'a\tb'\n\n\t# tabs\there\nlast:  \n";
    let workspace = TestRepo::with(&[("Makefile", before.as_bytes())]);
    workspace
        .apply(
            &json!({"path": "Makefile", "mode": "edit", "old_text": "last:", "content": "final:"}),
        )
        .landed();
    assert_eq!(workspace.text("Makefile"), before.replace("last:", "final:"));
}

#[test]
fn openhands_3678_encoding() {
    // Latin-1: not UTF-8, and not to be re-encoded.
    let workspace = TestRepo::with(&[("a.txt", b"caf\xe9\nna\xefve\n\xff\n")]);
    let mut append = json!({"path": "a.txt", "mode": "append", "content": "\u{4f60}\u{597d}\n"});
    workspace.refuses_request(&["ENCODING"], 1, &append);
    append["allow"] = json!(["encoding"]);
    workspace.apply(&append).landed();
    assert_eq!(
        workspace.read("a.txt"),
        [b"caf\xe9\nna\xefve\n\xff\n".as_slice(), "\u{4f60}\u{597d}\n".as_bytes()].concat()
    );
    workspace
        .apply(&json!({"path": "a.txt", "mode": "edit", "old_text": "na", "content": "NA"}))
        .landed();
    assert_eq!(workspace.read("a.txt")[..9], *b"caf\xe9\nNA\xefv");
    workspace.edt(&["undo", "2"]).landed();
    assert_eq!(workspace.read("a.txt"), b"caf\xe9\nna\xefve\n\xff\n");
}

#[test]
fn claude_52881_truncated() {
    let workspace = TestRepo::with(&[("a.txt", lines(10).as_bytes())]);
    for size in [1, 4095, 4096, 4097, 65_536, 1_000_000, 3_000_000] {
        let text = format!("{}\n", "x".repeat(size));
        let content = workspace.home.join("content");
        std::fs::write(&content, &text).unwrap();
        let path = format!("f{size}.txt");
        let answer = workspace
            .edt(&["apply", &path, "--mode", "create", "--content-file", content.to_str().unwrap()])
            .landed();
        assert!(workspace.text(&path) == text, "{path} on disk");
        assert!(workspace.blob(&format!("HEAD:{path}")) == text.as_bytes(), "{path} in the commit");
        assert_eq!(answer.json["files"][0]["bytes_after"], json!(text.len()));
    }
    workspace.is_clean();
}

#[test]
fn cline_14367_gitignore_then_clean() {
    let workspace = TestRepo::with(&[(".gitignore", b"*.log\n"), ("a.txt", b"one\n")]);
    workspace.apply(&json!({"path": ".gitignore", "mode": "append", "content": "*.db\n"})).landed();
    workspace.apply(&json!({"path": "a.txt", "mode": "append", "content": "two\n"})).landed();
    workspace.write("precious.db", "ignored since the first edit\n");
    workspace.write("deep/precious.db", "the same\n");
    let before = workspace.files();
    let undone = workspace.edt(&["undo", "2"]);
    assert_eq!(undone.exit, 0, "{:#}", undone.json);
    // The rule that ignored the two files is gone.
    let warnings = undone.json["warnings"].as_array().unwrap();
    assert!(warnings.iter().all(|warning| warning["code"] == "stays_private"), "{warnings:?}");
    let touched = changed(&before, &workspace.files());
    assert_eq!(
        touched.iter().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
        [".gitignore", "a.txt"]
    );
}

#[test]
fn copilot_1675_untracked_lost() {
    let workspace = TestRepo::with(&[("src/a.txt", b"one\n")]);
    workspace.edt(&["apply", "src/new/b.txt", "--mode", "create", "--content", "b\n"]).landed();
    // Results outside of the directory that the edit made, and inside.
    workspace.write("results/run-1.csv", "1\n".repeat(10_000));
    workspace.write("src/new/results.csv", "2\n");
    workspace.edt(&["undo"]).landed();
    assert!(!workspace.exists("src/new/b.txt"));
    assert_eq!(
        (workspace.text("src/new/results.csv").as_str(), workspace.read("results/run-1.csv").len()),
        ("2\n", 20_000)
    );
    workspace.edt(&["undo", "--to", "main"]);
    assert!(workspace.exists("results/run-1.csv"));
}

/// Where Git keeps the loose object.
fn loose(workspace: &TestRepo, oid: &str) -> std::path::PathBuf {
    workspace.root.join(".git/objects").join(&oid[..2]).join(&oid[2..])
}

#[test]
fn opencode_3148_missing_snapshot() {
    // The blob that undo would write, the tree that holds it, and the tree below that.
    for spec in ["main:a.txt", "main^{tree}", "main:dir"] {
        undo_without(spec);
    }
}

#[test]
fn opencode_3148_missing_base() {
    undo_without("main^{commit}");
}

/// The object is deleted: undo must name it and change nothing; once it is restored, undo works.
fn undo_without(spec: &str) {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("dir/b.txt", b"b\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("dir/b.txt", "b two\n");
    let object = loose(&workspace, &workspace.rev(spec));
    let kept = std::fs::read(&object).unwrap();
    let before = workspace.files();
    let head = workspace.rev("HEAD");
    std::fs::remove_file(&object).unwrap();
    let answer = workspace.edt(&["undo", "2"]);
    assert_eq!(
        (answer.codes().as_slice(), answer.exit),
        (["OBJECT_MISSING"].as_slice(), 5),
        "{spec}: {:#}",
        answer.json
    );
    same(&before, &workspace.files());
    std::fs::write(&object, kept).unwrap();
    assert_eq!(workspace.rev("HEAD"), head);
    workspace.is_clean();
    workspace.edt(&["undo", "2"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\n");
}

#[test]
fn opencode_3148_damaged_snapshot() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    let object = loose(&workspace, &workspace.rev("main:a.txt"));
    let before = workspace.files();
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "").unwrap();
    let answer = workspace.edt(&["undo"]);
    assert_eq!(
        (answer.codes().as_slice(), answer.exit),
        (["OBJECT_MISSING"].as_slice(), 5),
        "{:#}",
        answer.json
    );
    same(&before, &workspace.files());
}

#[test]
fn gemini_13331_fallback_revision() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    workspace.overwrite("a.txt", "two\n");
    // The user's file cannot be recorded: a file is where its object, and no other, would go.
    let place = |number: u32| {
        workspace.write("a.txt", format!("a user's {number}\n"));
        let blob = workspace.git(&["hash-object", "a.txt"]);
        workspace.root.join(".git/objects").join(&blob[..2])
    };
    let dir_path = (0..1000).map(place).find(|place| !place.exists()).unwrap();
    let typed = workspace.read("a.txt");
    std::fs::write(&dir_path, "").unwrap();
    for call in [&["undo", "--save"][..], &["checkpoint"]] {
        workspace.refuses(&["IO_ERROR"], 5, call);
    }
    for call in ["undo", "abandon"] {
        workspace.refuses(&["UNSAVED_CHANGES"], 3, &[call]);
    }
    std::fs::remove_file(&dir_path).unwrap();
    assert_eq!(workspace.edt(&["undo", "--save"]).exit, 0);
    assert_eq!(workspace.text("a.txt"), "one\n");
    assert_eq!(workspace.blob("refs/edt/main-1/saved/1:a.txt"), typed);
}

#[test]
fn codex_8303_index_lost() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("c.txt", b"c\n")]);
    workspace.overwrite("a.txt", "two\n");
    workspace.write("b.txt", "staged work\n");
    workspace.git(&["add", "b.txt"]);
    workspace.write("new.txt", "staged too\n");
    workspace.git(&["add", "new.txt"]);
    workspace.write("a.txt", "staged in the touched path\n");
    workspace.git(&["add", "a.txt"]);
    let staged = workspace.git(&["ls-files", "--stage", "b.txt", "new.txt"]);
    workspace.refuses(&["UNSAVED_CHANGES"], 3, &["undo"]);
    assert_eq!(workspace.edt(&["undo", "--save"]).exit, 0);
    assert_eq!(workspace.git(&["ls-files", "--stage", "b.txt", "new.txt"]), staged);
    assert_eq!(workspace.text("a.txt"), "one\n");
    assert!(
        workspace.git(&["log", "--all", "-p", "--format="]).contains("+staged in the touched path")
    );
    assert_eq!(workspace.status(), "M  b.txt\nA  new.txt\n");
    // What is staged in other lines of the touched path stays staged.
    let workspace = TestRepo::with(&[("a.txt", b"1\n2\n3\n4\n5\n")]);
    workspace.overwrite("a.txt", "one\n2\n3\n4\n5\n");
    workspace.write("a.txt", "one\n2\n3\n4\n5\nstaged\n");
    workspace.git(&["add", "a.txt"]);
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "1\n2\n3\n4\n5\nstaged\n");
    assert_eq!(workspace.git(&["diff", "--cached", "--numstat"]), "1\t0\ta.txt\n");
    assert_eq!(workspace.git(&["diff", "--numstat"]), "");
}

#[test]
fn jj_10181_cross_session_undo() {
    let main = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    let linked = main.root.with_file_name("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let side = main.at(linked);
    main.overwrite("a.txt", "by main\n");
    side.overwrite("a.txt", "by side\n");
    main.overwrite("b.txt", "by main\n");
    let before = (side.files(), side.rev("HEAD"));
    main.edt(&["undo", "2"]).landed();
    assert_eq!((side.files(), side.rev("HEAD")), before);
    side.is_clean();
    main.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    side.edt(&["undo"]).landed();
    assert_eq!((side.text("a.txt").as_str(), main.text("a.txt").as_str()), ("one\n", "one\n"));
}

#[test]
fn plugins_6004_stale_lock() {
    // Killed as it waits for the index, edt holds its own lock; the kernel gives it back.
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin"]).landed();
    let theirs = workspace.root.join(".git/index.lock");
    std::fs::write(&theirs, "").unwrap();
    let mut command = workspace.command(crate::test_repo::EDT);
    let mut edt =
        command.args(["apply", "a.txt", "--mode", "append", "--content", "x\n"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    edt.kill().unwrap();
    edt.wait().unwrap();
    std::fs::remove_file(&theirs).unwrap();
    assert_eq!(workspace.locks(), Vec::<String>::new());
    workspace.edt(&["status"]);
    assert_eq!((workspace.text("a.txt").as_str(), workspace.status().as_str()), ("one\n", ""));
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    workspace.commit(&[("b.txt", b"plain git works\n")]);
    workspace.is_clean();
}

#[test]
fn claude_94657_shell_edits_unseen() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.overwrite("a.txt", "two\n");
    assert!(
        workspace
            .command("sh")
            .args(["-c", "echo by a shell >> a.txt"])
            .status()
            .unwrap()
            .success()
    );
    let answer =
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "three\n"]).landed();
    assert_eq!(answer.json["files"][0]["recorded"], json!("private"));
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\nby a shell\n");
}

#[test]
fn reset_hard_unrecorded() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.write("a.txt", "a user's work\n");
    workspace.overwrite("a.txt", "an agent's\n");
    workspace.git(&["reset", "--quiet", "--hard", "main"]);
    assert_eq!(workspace.text("a.txt"), "one\n");
    // No commit has the user's work. The private store still does.
    let edit = workspace.rev("edt/main-1@{1}");
    workspace.git(&["reset", "--quiet", "--hard", &edit]);
    workspace.write("a.txt", "an agent's\n");
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.txt"), "a user's work\n");
    workspace.git(&["reset", "--quiet", "--hard", "main"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "on\n"]).landed();
    workspace.is_clean();
}

#[test]
fn guard_off_switch() {
    let workspace = TestRepo::with(&[("a.txt", lines(100).as_bytes())]);
    workspace.edt(&["begin"]).landed();
    let policy = "[guards.size_reduction]\nmode = \"off\"\n";
    let wipe = json!({"path": "a.txt", "mode": "overwrite", "content": "gone\n"});
    let loosen = json!({"path": "edt.toml", "mode": "create", "content": policy});
    assert_eq!(workspace.apply(&loosen).codes(), ["APPROVAL_REQUIRED"]);
    workspace.unprotect("edt.toml");
    workspace.apply(&loosen).landed();
    workspace.refuses_request(&["SIZE_REDUCTION"], 1, &wipe);
    // In one transaction with the wipe.
    workspace.edt(&["undo"]).landed();
    workspace.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [{"path": "edt.toml", "mode": "create", "content": policy}, wipe]}),
    );
    // A deletion and a new file, or a rename of a small file to the path, is the same as
    // overwriting.
    workspace.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [
            {"path": "a.txt", "mode": "delete"}, {"path": "a.txt", "mode": "create", "content": "gone\n"},
        ]}),
    );
    workspace.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [
            {"path": "a.txt", "mode": "delete"},
            {"path": "small.txt", "mode": "create", "content": "gone\n"},
            {"path": "small.txt", "mode": "rename", "to": "a.txt"},
        ]}),
    );
    // Nor in two transactions: HEAD and the base remember.
    workspace.apply(&json!({"path": "a.txt", "mode": "delete"})).landed();
    workspace.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"path": "a.txt", "mode": "create", "content": "gone\n"}),
    );
    assert!(!Path::new(&workspace.root.join("a.txt")).exists());
}

/// The incidents that edt prevents. Each has a test of its name here, in `sessions`, `doctor`,
/// `patch_limit`, or in `crates/edt-core/tests/library`.
const INCIDENTS: [&str; 30] = [
    "adk_overwrite_with_brace",
    "adk_duplicate_argc_check",
    "adk_missing_brace",
    "xzatoma_makefile_wipe",
    "safe_patch_loop",
    "codex_25399_add_over_existing",
    "codex_first_match",
    "codex_insert_at_eof",
    "codex_half_patch",
    "codex_move_clobbers",
    "codex_final_newline",
    "mcpfs_crlf_to_lf",
    "roo_half_success",
    "gemini_negation_match",
    "aider_other_file",
    "sweagent_expandtabs",
    "openhands_3678_encoding",
    "claude_52881_truncated",
    "cline_14367_gitignore_then_clean",
    "copilot_1675_untracked_lost",
    "opencode_3148_missing_snapshot",
    "gemini_13331_fallback_revision",
    "codex_8303_index_lost",
    "jj_10181_cross_session_undo",
    "codex_29388_disk",
    "plugins_6004_stale_lock",
    "claude_94657_shell_edits_unseen",
    "reset_hard_unrecorded",
    "sweagent_560_old_errors_trap",
    "guard_off_switch",
];

#[test]
fn every_incident_has_a_test_of_its_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = ["tests/calls", "tests/e2e", "crates/edt-core/tests/library"]
        .iter()
        .flat_map(|directory| std::fs::read_dir(root.join(directory)).unwrap())
        .map(|entry| entry.unwrap().path());
    let tests: String = tests
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let missing: Vec<&&str> =
        INCIDENTS.iter().filter(|name| !tests.contains(&format!("fn {name}"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
