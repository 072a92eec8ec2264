//! How tools of this kind lost people's work, and what edt does instead. The names are those of the table of incidents.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::world::{World, changed, lines, same};

#[test]
fn adk_overwrite_with_brace() {
    let before = "int f(int x) { return x; }\n".repeat(200)[..3400].to_owned();
    let world = World::with(&[("calculate.c", before.as_bytes())]);
    let brace = json!({"path": "calculate.c", "mode": "overwrite", "content": "}"});
    world.refuses_request(&["SIZE_REDUCTION"], 1, &brace);
    let allowed = json!({"path": "calculate.c", "mode": "overwrite", "content": "}", "allow": ["size_reduction"]});
    world.apply(&allowed).landed();
    assert!(world.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: size_reduction\n"));
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("calculate.c"), before);
}

/// A C program that wants one argument.
const PROGRAM: &str = "#include <stdio.h>\n\nint main(int argc, char **argv)\n{\n\tif (argc != 2) {\n\t\tputs(\"usage: calculate N\");\n\t\treturn 1;\n\t}\n\tputs(argv[1]);\n\treturn 0;\n}\n";

#[test]
fn adk_duplicate_argc_check() {
    let world = World::with(&[("calculate.c", PROGRAM.as_bytes())]);
    let check = "\tif (argc != 2) {\n\t\tputs(\"usage: calculate N\");\n\t\treturn 1;\n\t}\n";
    let again = json!({"path": "calculate.c", "mode": "edit", "old_text": "\tputs(argv[1]);\n",
        "content": format!("{check}\tputs(argv[1]);\n")});
    let answer = world.refuses_request(&["DUPLICATE_CODE"], 1, &again);
    assert_eq!(
        answer.errors()[0],
        json!({
            "code": "DUPLICATE_CODE", "path": "calculate.c", "allow": "duplicate_code",
            "message": "The same statement would stand twice in calculate.c: lines 5-8 and lines 9-12. Nothing was changed.",
            "hint": "Leave out what stands there already: read the file and send only what is new. If it really should stand twice, \
                repeat with allow: [\"duplicate_code\"].",
            "evidence": {"first": [5, 8], "second": [9, 12]},
        })
    );
    let mut allowed = again.clone();
    allowed["allow"] = json!(["duplicate_code"]);
    world.apply(&allowed).landed();
    assert_eq!(world.text("calculate.c"), PROGRAM.replace(check, &check.repeat(2)));
    assert!(world.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: duplicate_code\n"));
    world.is_clean();
}

#[test]
fn adk_missing_brace() {
    let world = World::with(&[("calculate.c", PROGRAM.as_bytes())]);
    let lost = json!({"path": "calculate.c", "mode": "edit", "old_text": "\t\treturn 1;\n\t}\n",
        "content": "\t\treturn 1;\n"});
    let answer = world.refuses_request(&["SYNTAX_ERROR"], 1, &lost);
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
    world
        .apply(&json!({"path": "calculate.c", "mode": "edit", "old_text": "\t\treturn 1;\n\t}\n",
            "content": "\t\treturn 2;\n\t}\n"}))
        .landed();
    world.is_clean();
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
        let world = World::with(&[(path, before.as_bytes())]);
        let edit = |old: &str, new: &str| json!({"path": path, "mode": "edit", "old_text": old, "content": new});
        let fine = old.replace("return a", "return a + 1").replace('3', "4");
        world.apply(&edit(old, &fine)).landed();
        assert_eq!(world.text(path), before.replacen(old, &fine, 1));
        let mut worse = edit(&fine, broken);
        world.refuses_request(&["SYNTAX_ERROR"], 1, &worse);
        worse["allow"] = json!(["syntax_error"]);
        world.apply(&worse).landed();
        assert!(
            world.git(&["log", "-1", "--format=%B"]).contains("\nEdt-Allowed: syntax_error\n"),
            "{path}"
        );
    }
}

#[test]
fn xzatoma_makefile_wipe() {
    let before: String = (0..35).map(|n| format!("t{n}:\n\techo {n}\n")).collect();
    let world = World::with(&[("Makefile", before.as_bytes())]);
    let targets = "install:\n\tcp x y\n";
    let answer = world.refuses_request(
        &["OLD_TEXT_REQUIRED"],
        1,
        &json!({"path": "Makefile", "mode": "edit", "content": targets}),
    );
    assert!(answer.hint().contains("\"append\""));
    world.refuses_request(
        &["OLD_TEXT_REQUIRED"],
        1,
        &json!({"path": "Makefile", "mode": "edit", "old_text": "", "content": targets}),
    );
    world.apply(&json!({"path": "Makefile", "mode": "append", "content": targets})).landed();
    assert_eq!(world.text("Makefile"), before + targets);
}

/// An agent that only ever sends the same broken diff is told, and helped out of it, at every second turn.
#[test]
fn safe_patch_loop() {
    let world = World::with(&[("main.py", b"def main():\n    print('hello')\n")]);
    let broken = json!({"patch": "--- a/main.py\n+++ b/main.py\n@@ -1,2 +1,2 @@\n def main():\n-  print(\"hello\")\n+    print('hello, world')\n"});
    let codes = ["INVALID_PATCH", "INVALID_PATCH_LIMIT_EXCEEDED"];
    for turn in 0..6 {
        let answer = world.refuses_request(&[codes[turn % 2]], 1, &broken);
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
        assert_eq!(evidence["hash"], json!(world.rev("HEAD:main.py")));
    }
    // A failure of another kind on the file begins anew; whoever obeys lands, and that does so, too.
    world.refuses_request(&codes[..1], 1, &broken);
    world.refuses_request(
        &["HASH_MISMATCH"],
        3,
        &json!({"path": "main.py", "mode": "delete", "expected_hash": "0000000"}),
    );
    world.refuses_request(&codes[..1], 1, &broken);
    world.overwrite("main.py", "def main():\n    print('hello, all')\n");
    world.refuses_request(&codes[..1], 1, &broken);
    world.is_clean();
}

#[test]
fn codex_25399_add_over_existing() {
    let world = World::with(&[("real.txt", b"precious\n"), ("other.txt", b"other\n")]);
    symlink("real.txt", world.root.join("link.txt")).unwrap();
    world.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "real.txt", "mode": "create", "content": "new\n"}),
    );
    world.refuses_request(
        &["PATH_THROUGH_SYMLINK"],
        1,
        &json!({"path": "link.txt", "mode": "create", "content": "new\n"}),
    );
    // An untracked file, and an ignored one, are files too.
    world.write("untracked.txt", "precious\n");
    world.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "untracked.txt", "mode": "create", "content": "new\n"}),
    );
}

#[test]
fn codex_half_patch() {
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    world.refuses_request(
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
    let world = World::with(&[("a.txt", b"a\n"), ("b.txt", b"precious\n")]);
    world.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "a.txt", "mode": "rename", "to": "b.txt"}),
    );
    world.write("untracked.txt", "precious\n");
    world.refuses_request(
        &["FILE_EXISTS"],
        1,
        &json!({"path": "a.txt", "mode": "rename", "to": "untracked.txt"}),
    );
    std::fs::remove_file(world.root.join("untracked.txt")).unwrap();
    // Two files change places in one transaction, by way of a third name.
    world
        .apply(&json!({"edits": [
            {"path": "a.txt", "mode": "rename", "to": "c.txt"},
            {"path": "b.txt", "mode": "rename", "to": "a.txt"},
            {"path": "c.txt", "mode": "rename", "to": "b.txt"},
        ]}))
        .landed();
    assert_eq!(
        (world.text("a.txt").as_str(), world.text("b.txt").as_str(), world.exists("c.txt")),
        ("precious\n", "a\n", false)
    );
    world.is_clean();
}

#[test]
fn codex_final_newline() {
    let world = World::with(&[("without.txt", b"one\ntwo"), ("with.txt", b"one\ntwo\n")]);
    let edit =
        |path: &str| json!({"path": path, "mode": "edit", "old_text": "one", "content": "1"});
    world.apply(&edit("without.txt")).landed();
    world.apply(&edit("with.txt")).landed();
    assert_eq!(
        (world.read("without.txt"), world.read("with.txt")),
        (b"1\ntwo".to_vec(), b"1\ntwo\n".to_vec())
    );
}

#[test]
fn mcpfs_crlf_to_lf() {
    let world = World::with(&[("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")]);
    world.apply(&json!({"path": "a.txt", "mode": "edit", "old_text": "one\ntwo", "content": "1\n2\n2b"})).landed();
    assert_eq!(world.read("a.txt"), b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\n");
    world.apply(&json!({"path": "a.txt", "mode": "append", "content": "four\n"})).landed();
    assert_eq!(world.read("a.txt"), b"\xef\xbb\xbf1\r\n2\r\n2b\r\nthree\r\nfour\r\n");
    assert_eq!(world.blob("HEAD:a.txt"), world.read("a.txt"));
    world.is_clean();
}

#[test]
fn roo_half_success() {
    let world = World::with(&[("a.txt", b"one\ntwo\nthree\n")]);
    let answer = world.refuses_request(
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
    let world = World::with(&[("a.c", b"int f(void)\n{\n\tif (!is_admin(u))\n\t\treturn 1;\n}\n")]);
    let answer = world.refuses_request(
        &["OLD_TEXT_NOT_FOUND"],
        1,
        &json!({
            "path": "a.c", "mode": "edit", "old_text": "\tif (is_admin(u))\n\t\treturn 1;", "content": "\treturn 1;",
        }),
    );
    let nearest = &answer.errors()[0]["evidence"]["nearest"];
    assert_eq!((&nearest["line"], &nearest["differs_at"]), (&json!(3), &json!(3)), "{nearest:#}");
    assert!(nearest["stands"].as_str().unwrap().contains("!is_admin(u)"), "{nearest:#}");
}

#[test]
fn aider_other_file() {
    let world = World::with(&[("a.txt", b"alpha\n"), ("b.txt", b"the block\n")]);
    world.refuses_request(
        &["OLD_TEXT_NOT_FOUND"],
        1,
        &json!({"path": "a.txt", "mode": "edit", "old_text": "the block", "content": "x"}),
    );
}

#[test]
fn sweagent_expandtabs() {
    let before = "all:\n\techo\t'a\tb'\n\n\t# tabs\there\nlast:  \n";
    let world = World::with(&[("Makefile", before.as_bytes())]);
    world
        .apply(
            &json!({"path": "Makefile", "mode": "edit", "old_text": "last:", "content": "final:"}),
        )
        .landed();
    assert_eq!(world.text("Makefile"), before.replace("last:", "final:"));
}

#[test]
fn openhands_3678_encoding() {
    // Latin-1: not UTF-8, and not to be re-encoded.
    let world = World::with(&[("a.txt", b"caf\xe9\nna\xefve\n\xff\n")]);
    world
        .apply(&json!({"path": "a.txt", "mode": "append", "content": "\u{4f60}\u{597d}\n"}))
        .landed();
    assert_eq!(
        world.read("a.txt"),
        [b"caf\xe9\nna\xefve\n\xff\n".as_slice(), "\u{4f60}\u{597d}\n".as_bytes()].concat()
    );
    world
        .apply(&json!({"path": "a.txt", "mode": "edit", "old_text": "na", "content": "NA"}))
        .landed();
    assert_eq!(world.read("a.txt")[..9], *b"caf\xe9\nNA\xefv");
    world.edt(&["undo", "2"]).landed();
    assert_eq!(world.read("a.txt"), b"caf\xe9\nna\xefve\n\xff\n");
}

#[test]
fn claude_52881_truncated() {
    let world = World::with(&[("a.txt", lines(10).as_bytes())]);
    for size in [1, 4095, 4096, 4097, 65_536, 1_000_000, 3_000_000] {
        let text = format!("{}\n", "x".repeat(size));
        let content = world.home.join("content");
        std::fs::write(&content, &text).unwrap();
        let path = format!("f{size}.txt");
        let answer = world
            .edt(&["apply", &path, "--mode", "create", "--content-file", content.to_str().unwrap()])
            .landed();
        assert!(world.text(&path) == text, "{path} on disk");
        assert!(world.blob(&format!("HEAD:{path}")) == text.as_bytes(), "{path} in the commit");
        assert_eq!(answer.json["files"][0]["bytes_after"], json!(text.len()));
    }
    world.is_clean();
}

#[test]
fn cline_14367_gitignore_then_clean() {
    let world = World::with(&[(".gitignore", b"*.log\n"), ("a.txt", b"one\n")]);
    world.apply(&json!({"path": ".gitignore", "mode": "append", "content": "*.db\n"})).landed();
    world.apply(&json!({"path": "a.txt", "mode": "append", "content": "two\n"})).landed();
    world.write("precious.db", "ignored since the first edit\n");
    world.write("deep/precious.db", "the same\n");
    let before = world.files();
    world.edt(&["undo", "2"]).landed();
    let touched = changed(&before, &world.files());
    assert_eq!(
        touched.iter().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
        [".gitignore", "a.txt"]
    );
}

#[test]
fn copilot_1675_untracked_lost() {
    let world = World::with(&[("src/a.txt", b"one\n")]);
    world.edt(&["apply", "src/new/b.txt", "--mode", "create", "--content", "b\n"]).landed();
    // Results beside, and inside the folder that the edit made.
    world.write("results/run-1.csv", "1\n".repeat(10_000));
    world.write("src/new/results.csv", "2\n");
    world.edt(&["undo"]).landed();
    assert!(!world.exists("src/new/b.txt"));
    assert_eq!(
        (world.text("src/new/results.csv").as_str(), world.read("results/run-1.csv").len()),
        ("2\n", 20_000)
    );
    world.edt(&["undo", "--to", "main"]);
    assert!(world.exists("results/run-1.csv"));
}

/// Where Git keeps the loose object.
fn loose(world: &World, oid: &str) -> std::path::PathBuf {
    world.root.join(".git/objects").join(&oid[..2]).join(&oid[2..])
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

/// The object is deleted: undo must name it and touch nothing; once it is back, undo works.
fn undo_without(spec: &str) {
    let world = World::with(&[("a.txt", b"one\n"), ("dir/b.txt", b"b\n")]);
    world.overwrite("a.txt", "two\n");
    world.overwrite("dir/b.txt", "b two\n");
    let object = loose(&world, &world.rev(spec));
    let kept = std::fs::read(&object).unwrap();
    let before = world.files();
    let head = world.rev("HEAD");
    std::fs::remove_file(&object).unwrap();
    let answer = world.edt(&["undo", "2"]);
    assert_eq!(
        (answer.codes().as_slice(), answer.exit),
        (["OBJECT_MISSING"].as_slice(), 5),
        "{spec}: {:#}",
        answer.json
    );
    same(&before, &world.files());
    std::fs::write(&object, kept).unwrap();
    assert_eq!(world.rev("HEAD"), head);
    world.is_clean();
    world.edt(&["undo", "2"]).landed();
    assert_eq!(world.text("a.txt"), "one\n");
}

#[test]
fn opencode_3148_damaged_snapshot() {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.overwrite("a.txt", "two\n");
    let object = loose(&world, &world.rev("main:a.txt"));
    let before = world.files();
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, "").unwrap();
    let answer = world.edt(&["undo"]);
    assert_eq!(
        (answer.codes().as_slice(), answer.exit),
        (["OBJECT_MISSING"].as_slice(), 5),
        "{:#}",
        answer.json
    );
    same(&before, &world.files());
}

#[test]
fn gemini_13331_fallback_revision() {
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    world.overwrite("a.txt", "two\n");
    world.write("a.txt", "a person's\n");
    // What the person has cannot be captured: a file stands where its object would go.
    let blob = world.git(&["hash-object", "a.txt"]);
    let folder = world.root.join(".git/objects").join(&blob[..2]);
    let aside = folder.with_extension("aside");
    std::fs::rename(&folder, &aside).unwrap();
    std::fs::write(&folder, "").unwrap();
    for call in [
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"][..],
        &["undo"],
        &["abandon"],
        &["checkpoint"],
    ] {
        world.refuses(&["IO_ERROR"], 5, call);
    }
    std::fs::remove_file(&folder).unwrap();
    std::fs::rename(&aside, &folder).unwrap();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "one\n");
    assert_eq!(world.blob("refs/edt/main-1/undone/1:a.txt"), b"a person's\n");
}

#[test]
fn codex_8303_index_lost() {
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("c.txt", b"c\n")]);
    world.overwrite("a.txt", "two\n");
    world.write("b.txt", "staged work\n");
    world.git(&["add", "b.txt"]);
    world.write("new.txt", "staged too\n");
    world.git(&["add", "new.txt"]);
    world.write("a.txt", "staged in the touched path\n");
    world.git(&["add", "a.txt"]);
    let staged = world.git(&["ls-files", "--stage", "b.txt", "new.txt"]);
    world.edt(&["undo"]).landed();
    assert_eq!(world.git(&["ls-files", "--stage", "b.txt", "new.txt"]), staged);
    assert_eq!(world.text("a.txt"), "one\n");
    assert!(
        world.git(&["log", "--all", "-p", "--format="]).contains("+staged in the touched path")
    );
    assert_eq!(world.status(), "M  b.txt\nA  new.txt\n");
}

#[test]
fn jj_10181_cross_session_undo() {
    let main = World::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
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
    let world = World::with(&[("a.txt", b"one\n")]);
    world.edt(&["begin"]).landed();
    let theirs = world.root.join(".git/index.lock");
    std::fs::write(&theirs, "").unwrap();
    let mut command = world.command(crate::world::EDT);
    let mut edt =
        command.args(["apply", "a.txt", "--mode", "append", "--content", "x\n"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    edt.kill().unwrap();
    edt.wait().unwrap();
    std::fs::remove_file(&theirs).unwrap();
    assert_eq!(world.locks(), Vec::<String>::new());
    world.edt(&["status"]);
    assert_eq!((world.text("a.txt").as_str(), world.status().as_str()), ("one\n", ""));
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    world.commit(&[("b.txt", b"plain git works\n")]);
    world.is_clean();
}

#[test]
fn claude_94657_shell_edits_unseen() {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.overwrite("a.txt", "two\n");
    assert!(
        world.command("sh").args(["-c", "echo by a shell >> a.txt"]).status().unwrap().success()
    );
    let answer =
        world.edt(&["apply", "a.txt", "--mode", "append", "--content", "three\n"]).landed();
    assert_eq!(answer.checkpoints(), 1);
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "two\nby a shell\n");
}

#[test]
fn reset_hard_unrecorded() {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.write("a.txt", "a person's work\n");
    world.overwrite("a.txt", "an agent's\n");
    world.git(&["reset", "--quiet", "--hard", "main"]);
    assert_eq!(world.text("a.txt"), "one\n");
    // The branch moved, but what it held is in its log.
    let kept = world.git(&["log", "--reflog", "-p", "--format="]);
    assert!(kept.contains("+a person's work"), "{kept}");
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "on\n"]).landed();
    world.is_clean();
}

#[test]
fn guard_off_switch() {
    let world = World::with(&[("a.txt", lines(100).as_bytes())]);
    world.edt(&["begin"]).landed();
    let policy = "[guards.size_reduction]\nmode = \"off\"\n";
    let wipe = json!({"path": "a.txt", "mode": "overwrite", "content": "gone\n"});
    world.apply(&json!({"path": "edt.toml", "mode": "create", "content": policy})).landed();
    world.refuses_request(&["SIZE_REDUCTION"], 1, &wipe);
    // In one transaction with the wipe.
    world.edt(&["undo"]).landed();
    world.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [{"path": "edt.toml", "mode": "create", "content": policy}, wipe]}),
    );
    // Deleting and creating anew, or moving a small file there, is the same as overwriting.
    world.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [
            {"path": "a.txt", "mode": "delete"}, {"path": "a.txt", "mode": "create", "content": "gone\n"},
        ]}),
    );
    world.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"edits": [
            {"path": "a.txt", "mode": "delete"},
            {"path": "small.txt", "mode": "create", "content": "gone\n"},
            {"path": "small.txt", "mode": "rename", "to": "a.txt"},
        ]}),
    );
    // Nor in two transactions: HEAD and the base remember.
    world.apply(&json!({"path": "a.txt", "mode": "delete"})).landed();
    world.refuses_request(
        &["SIZE_REDUCTION"],
        1,
        &json!({"path": "a.txt", "mode": "create", "content": "gone\n"}),
    );
    assert!(!Path::new(&world.root.join("a.txt")).exists());
}

/// The list of incidents is longer than any of us remembers: each row has a test of its name.
#[test]
fn every_row_of_the_list_has_a_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(list) = std::fs::read_to_string(root.join("../shared/design/incidents.md")) else {
        println!("skipped: the list of incidents is not here");
        return;
    };
    let tests =
        std::fs::read_dir(root.join("tests/it")).unwrap().map(|entry| entry.unwrap().path());
    let tests: String = tests
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let rows: Vec<&str> =
        list.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert!(rows.len() >= 30, "{rows:?}");
    let missing: Vec<&&str> =
        rows.iter().filter(|row| !tests.contains(&format!("fn {row}"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
