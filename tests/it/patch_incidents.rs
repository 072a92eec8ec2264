//! Incidents with patches: what another tool left behind, and what edt makes of the same files and the same patch: files, answer and
//! history. Those of Codex were run with its `apply_patch` (CLI 0.169); the others are as their trackers tell them.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::world::{Answer, World};

/// An envelope around `parts`.
fn envelope(parts: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{parts}*** End Patch\n")})
}

/// What another tool made of `path` is not what stands there after edt.
#[track_caller]
fn unlike_the_peer(world: &World, path: &str, peer: &str) {
    assert_ne!(world.text(path), peer, "{path} is as the other tool left it");
}

/// How many commits there are, the person's included.
fn commits(world: &World) -> usize {
    world.git(&["rev-list", "HEAD"]).lines().count()
}

#[track_caller]
fn refused(world: &World, codes: &[&str], request: &Value) -> Answer {
    let before = commits(world);
    let answer = world.refuses_request(codes, 1, request);
    assert_eq!((answer.json["commit"].clone(), commits(world)), (Value::Null, before));
    answer
}

#[test]
fn codex_first_match() {
    let twins = "def a():\n    return 1\n\n\ndef b():\n    return 1\n";
    let world = World::with(&[("m.py", twins.as_bytes())]);
    let hunk = "*** Update File: m.py\n@@\n-    return 1\n+    return 2\n";
    let answer = refused(&world, &["OLD_TEXT_AMBIGUOUS"], &envelope(hunk));
    assert_eq!(answer.errors()[0]["evidence"]["lines"], json!([2, 6]));
    unlike_the_peer(&world, "m.py", "def a():\n    return 2\n\n\ndef b():\n    return 1\n");
    // What the refusal asks for lands where it is meant.
    world.apply(&envelope(&hunk.replace("@@\n", "@@ def b():\n"))).landed();
    assert_eq!(world.text("m.py"), "def a():\n    return 1\n\n\ndef b():\n    return 2\n");
    assert_eq!(commits(&world), 2);
}

#[test]
fn codex_insert_at_eof() {
    let world = World::with(&[("m.py", b"def main():\n    a = 1\n    return a\n\n\nmain()\n")]);
    world.apply(&envelope("*** Update File: m.py\n@@ def main():\n+    print(1)\n")).landed();
    unlike_the_peer(
        &world,
        "m.py",
        "def main():\n    a = 1\n    return a\n\n\nmain()\n    print(1)\n",
    );
    assert_eq!(
        world.text("m.py"),
        "def main():\n    print(1)\n    a = 1\n    return a\n\n\nmain()\n"
    );
    assert_eq!(commits(&world), 2);
    // Without anything that says where, it goes nowhere.
    refused(&world, &["INVALID_PATCH"], &envelope("*** Update File: m.py\n@@\n+    print(2)\n"));
}

#[test]
fn codex_half_patch_in_an_envelope() {
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"one\n")]);
    let parts =
        "*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: b.txt\n@@\n-three\n+two\n";
    refused(&world, &["INVALID_PATCH"], &envelope(parts));
    unlike_the_peer(&world, "a.txt", "two\n");
    world.is_clean();
}

#[test]
fn codex_move_clobbers_in_an_envelope() {
    let world = World::with(&[("a.txt", b"a\n"), ("b.txt", b"precious\n")]);
    refused(
        &world,
        &["FILE_EXISTS"],
        &envelope("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-a\n+A\n"),
    );
    unlike_the_peer(&world, "b.txt", "A\n");
    assert_eq!(world.text("a.txt"), "a\n");
}

#[test]
fn codex_final_newline_in_every_form() {
    let parts = "*** Update File: a.txt\n@@\n-one\n+1\n two\n";
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    let block = "a.txt\n<<<<<<< SEARCH\none\ntwo\n=======\n1\ntwo\n>>>>>>> REPLACE\n";
    for request in [envelope(parts), json!({"patch": diff}), json!({"patch": block})] {
        let world = World::with(&[("a.txt", b"one\ntwo")]);
        world.apply(&request).landed();
        unlike_the_peer(&world, "a.txt", "1\ntwo\n");
        assert_eq!(world.text("a.txt"), "1\ntwo");
        assert_eq!(commits(&world), 2);
    }
}

#[test]
fn codex_25399_add_over_existing_in_an_envelope() {
    let world = World::with(&[("real.txt", b"precious\n")]);
    symlink("real.txt", world.root.join("link.txt")).unwrap();
    refused(&world, &["PATH_THROUGH_SYMLINK"], &envelope("*** Add File: link.txt\n+new\n"));
    refused(&world, &["FILE_EXISTS"], &envelope("*** Add File: real.txt\n+new\n"));
    unlike_the_peer(&world, "real.txt", "new\n");
}

#[test]
fn roo_half_success_in_blocks() {
    let block =
        |old: &str, new: &str| format!("<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let world = World::with(&[("a.txt", b"one\ntwo\nthree\n")]);
    let patch = format!("a.txt\n{}{}{}", block("one", "1"), block("nine", "9"), block("ten", "10"));
    let answer = refused(&world, &["INVALID_PATCH", "INVALID_PATCH"], &json!({"patch": patch}));
    let lines: Vec<&Value> =
        answer.errors().iter().map(|error| &error["evidence"]["patch_line"]).collect();
    assert_eq!(lines, [&json!(7), &json!(12)]);
    unlike_the_peer(&world, "a.txt", "1\ntwo\nthree\n");
}

#[test]
fn gemini_negation_match_in_a_diff() {
    let before = "int f(void)\n{\n\tif (!is_admin(u))\n\t\treturn 1;\n\treturn 0;\n}\n";
    let world = World::with(&[("a.c", before.as_bytes())]);
    let diff = "--- a/a.c\n+++ b/a.c\n@@ -3,2 +3,2 @@\n-\tif (is_admin(u))\n+\tif (is_root(u))\n \t\treturn 1;\n";
    let answer = refused(&world, &["INVALID_PATCH"], &json!({"patch": diff, "match": "lenient"}));
    let evidence = &answer.errors()[0]["evidence"];
    assert_eq!((&evidence["nearest"]["differs_at"], evidence.get("correction")), (&json!(3), None));
    assert_eq!(evidence["nearest"]["stands"], json!("→if·(!is_admin(u))"));
}

#[test]
fn aider_other_file_in_a_block() {
    let world = World::with(&[("a.txt", b"alpha\n"), ("b.txt", b"the block\n")]);
    let block = "a.txt\n<<<<<<< SEARCH\nthe block\n=======\nx\n>>>>>>> REPLACE\n";
    refused(&world, &["INVALID_PATCH"], &json!({"patch": block}));
    unlike_the_peer(&world, "b.txt", "x\n");
}

#[test]
fn mcpfs_crlf_to_lf_in_every_form() {
    let parts = "*** Update File: a.txt\n@@\n-two\n+2\n+2b\n";
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n";
    let block = "a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n2b\n>>>>>>> REPLACE\n";
    for request in [envelope(parts), json!({"patch": diff}), json!({"patch": block})] {
        let world = World::with(&[("a.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")]);
        world.apply(&request).landed();
        unlike_the_peer(&world, "a.txt", "\u{feff}one\n2\n2b\nthree\n");
        assert_eq!(world.read("a.txt"), b"\xef\xbb\xbfone\r\n2\r\n2b\r\nthree\r\n");
        assert_eq!(world.blob("HEAD:a.txt"), world.read("a.txt"));
    }
}

#[test]
fn sweagent_expandtabs_in_a_diff() {
    let before = "all:\n\techo\t'a\tb'\n\n\t# tabs\there\nlast:  \n";
    let world = World::with(&[("Makefile", before.as_bytes())]);
    let diff =
        "--- a/Makefile\n+++ b/Makefile\n@@ -4,2 +4,2 @@\n \t# tabs\there\n-last:  \n+final:\n";
    world.apply(&json!({"patch": diff})).landed();
    unlike_the_peer(&world, "Makefile", &before.replace('\t', "    ").replace("last:  ", "final:"));
    assert_eq!(world.text("Makefile"), before.replace("last:  ", "final:"));
}
