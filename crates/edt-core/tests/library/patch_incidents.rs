//! Incidents with patches: the result of another tool, and what edt does with the same files and the
//! same patch: files, answer and commits. The results of Codex are those of its `apply_patch`
//! (CLI 0.169); the others are as their issue trackers report them.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::repo::{Answer, LibraryRepo};

/// An envelope around `parts`.
fn envelope(parts: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{parts}*** End Patch\n")})
}

/// The result of edt in `path` is not the result of the other tool.
#[track_caller]
fn unlike_the_other_tool(workspace: &LibraryRepo, path: &str, other: &str) {
    assert_ne!(workspace.text(path), other, "{path} is as the other tool left it");
}

#[track_caller]
fn refused(workspace: &LibraryRepo, codes: &[&str], request: &Value) -> Answer {
    let before = workspace.head();
    let answer = workspace.refuses_request(codes, 1, request);
    assert_eq!((answer.json["commit"].clone(), workspace.head()), (Value::Null, before));
    answer
}

#[test]
fn codex_first_match() {
    let text = "def a():\n    return 1\n\n\ndef b():\n    return 1\n";
    let workspace = LibraryRepo::with(&[("m.py", text.as_bytes())]);
    let hunk = "*** Update File: m.py\n@@\n-    return 1\n+    return 2\n";
    let answer = refused(&workspace, &["OLD_TEXT_AMBIGUOUS"], &envelope(hunk));
    assert_eq!(answer.errors()[0]["evidence"]["lines"], json!([2, 6]));
    unlike_the_other_tool(
        &workspace,
        "m.py",
        "def a():\n    return 2\n\n\ndef b():\n    return 1\n",
    );
    // The edit that the refusal asks for changes the intended place.
    let base = workspace.head();
    workspace.apply(&envelope(&hunk.replace("@@\n", "@@ def b():\n"))).landed();
    assert_eq!(workspace.text("m.py"), "def a():\n    return 1\n\n\ndef b():\n    return 2\n");
    assert_eq!(workspace.messages_since(base).len(), 1);
}

#[test]
fn codex_insert_at_eof() {
    let workspace =
        LibraryRepo::with(&[("m.py", b"def main():\n    a = 1\n    return a\n\n\nmain()\n")]);
    let base = workspace.head();
    workspace.apply(&envelope("*** Update File: m.py\n@@ def main():\n+    print(1)\n")).landed();
    unlike_the_other_tool(
        &workspace,
        "m.py",
        "def main():\n    a = 1\n    return a\n\n\nmain()\n    print(1)\n",
    );
    assert_eq!(
        workspace.text("m.py"),
        "def main():\n    print(1)\n    a = 1\n    return a\n\n\nmain()\n"
    );
    assert_eq!(workspace.messages_since(base).len(), 1);
    // A hunk without a place is refused.
    refused(
        &workspace,
        &["INVALID_PATCH"],
        &envelope("*** Update File: m.py\n@@\n+    print(2)\n"),
    );
}

#[test]
fn codex_half_patch_in_an_envelope() {
    let workspace = LibraryRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    let parts =
        "*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: b.txt\n@@\n-three\n+two\n";
    refused(&workspace, &["INVALID_PATCH"], &envelope(parts));
    unlike_the_other_tool(&workspace, "a.txt", "two\n");
}

#[test]
fn codex_move_clobbers_in_an_envelope() {
    let workspace = LibraryRepo::with(&[("a.txt", b"a\n"), ("b.txt", b"precious\n")]);
    refused(
        &workspace,
        &["FILE_EXISTS"],
        &envelope("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-a\n+A\n"),
    );
    unlike_the_other_tool(&workspace, "b.txt", "A\n");
    assert_eq!(workspace.text("a.txt"), "a\n");
}

#[test]
fn codex_final_newline_in_every_form() {
    let parts = "*** Update File: a.txt\n@@\n-one\n+1\n two\n";
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    let block = "a.txt\n<<<<<<< SEARCH\none\ntwo\n=======\n1\ntwo\n>>>>>>> REPLACE\n";
    for request in [envelope(parts), json!({"patch": diff}), json!({"patch": block})] {
        let workspace = LibraryRepo::with(&[("a.txt", b"one\ntwo")]);
        let base = workspace.head();
        workspace.apply(&request).landed();
        unlike_the_other_tool(&workspace, "a.txt", "1\ntwo\n");
        assert_eq!(workspace.text("a.txt"), "1\ntwo");
        assert_eq!(workspace.messages_since(base).len(), 1);
    }
}

#[test]
fn codex_25399_add_over_existing_in_an_envelope() {
    let workspace = LibraryRepo::with(&[("real.txt", b"precious\n")]);
    symlink("real.txt", workspace.root().join("link.txt")).unwrap();
    refused(&workspace, &["PATH_THROUGH_SYMLINK"], &envelope("*** Add File: link.txt\n+new\n"));
    refused(&workspace, &["FILE_EXISTS"], &envelope("*** Add File: real.txt\n+new\n"));
    unlike_the_other_tool(&workspace, "real.txt", "new\n");
}

#[test]
fn roo_half_success_in_blocks() {
    let block =
        |old: &str, new: &str| format!("<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let workspace = LibraryRepo::with(&[("a.txt", b"one\ntwo\nthree\n")]);
    let patch = format!("a.txt\n{}{}{}", block("one", "1"), block("nine", "9"), block("ten", "10"));
    let answer = refused(&workspace, &["INVALID_PATCH", "INVALID_PATCH"], &json!({"patch": patch}));
    let lines: Vec<&Value> =
        answer.errors().iter().map(|error| &error["evidence"]["patch_line"]).collect();
    assert_eq!(lines, [&json!(7), &json!(12)]);
    unlike_the_other_tool(&workspace, "a.txt", "1\ntwo\nthree\n");
}

#[test]
fn gemini_negation_match_in_a_diff() {
    let before = "int f(void)\n{\n\tif (!is_admin(u))\n\t\treturn 1;\n\treturn 0;\n}\n";
    let workspace = LibraryRepo::with(&[("a.c", before.as_bytes())]);
    let diff = "--- a/a.c\n+++ b/a.c\n@@ -3,2 +3,2 @@\n-\tif (is_admin(u))\n+\tif (is_root(u))\n \t\treturn 1;\n";
    let answer =
        refused(&workspace, &["INVALID_PATCH"], &json!({"patch": diff, "match": "lenient"}));
    let evidence = &answer.errors()[0]["evidence"];
    assert_eq!((&evidence["nearest"]["differs_at"], evidence.get("correction")), (&json!(3), None));
    assert_eq!(evidence["nearest"]["found"], json!("→if·(!is_admin(u))"));
}

#[test]
fn aider_other_file_in_a_block() {
    let workspace = LibraryRepo::with(&[("a.txt", b"alpha\n"), ("b.txt", b"the block\n")]);
    let block = "a.txt\n<<<<<<< SEARCH\nthe block\n=======\nx\n>>>>>>> REPLACE\n";
    refused(&workspace, &["INVALID_PATCH"], &json!({"patch": block}));
    unlike_the_other_tool(&workspace, "b.txt", "x\n");
}

#[test]
fn mcpfs_crlf_to_lf_in_every_form() {
    let parts = "*** Update File: a.txt\n@@\n-two\n+2\n+2b\n";
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n";
    let block = "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n2b\n>>>>>>> REPLACE\n";
    for request in [envelope(parts), json!({"patch": diff}), json!({"patch": block})] {
        let workspace = LibraryRepo::with(&[("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")]);
        workspace.apply(&request).landed();
        unlike_the_other_tool(&workspace, "a.txt", "\u{feff}one\n2\n2b\nthree\n");
        assert_eq!(workspace.read("a.txt"), b"\xef\xbb\xbfone\r\n2\r\n2b\r\nthree\r\n");
        assert_eq!(workspace.committed("a.txt"), workspace.read("a.txt"));
    }
}

#[test]
fn sweagent_expandtabs_in_a_diff() {
    let before = "all:\n\techo\t'a\tb'\n\n\t# tabs\there\nlast:  \n";
    let workspace = LibraryRepo::with(&[("Makefile", before.as_bytes())]);
    let diff =
        "--- a/Makefile\n+++ b/Makefile\n@@ -4,2 +4,2 @@\n \t# tabs\there\n-last:  \n+final:\n";
    workspace.apply(&json!({"patch": diff})).landed();
    unlike_the_other_tool(
        &workspace,
        "Makefile",
        &before.replace('\t', "    ").replace("last:  ", "final:"),
    );
    assert_eq!(workspace.text("Makefile"), before.replace("last:  ", "final:"));
}
