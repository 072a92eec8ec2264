//! Corrected requests: what a refusal of an edit offers, sent back unread.

use serde_json::{Value, json};

use crate::test_repo::{Answer, TestRepo};

const FILE: &str = "int add(int a, int b)\n{\n\treturn a + b;\n}\n";

fn workspace() -> TestRepo {
    TestRepo::with(&[("a.c", FILE.as_bytes()), ("b.txt", b"one\n")])
}

fn not_found(workspace: &TestRepo, request: &Value) -> Answer {
    workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"], 1, request)
}

fn offered(answer: &Answer) -> Option<&Value> {
    answer.errors()[0]["evidence"].get("request")
}

#[test]
fn a_corrected_request_lands_when_it_is_sent_back_unread() {
    let workspace = workspace();
    let edit = json!({"path": "a.c", "mode": "edit", "old_text": "    return a + b;\n", "content": "    return b + a;\n"});
    let append = json!({"path": "b.txt", "mode": "append", "content": "two\n"});
    let request = json!({"message": "add: swap", "agent": "x", "edits": [append, edit]});
    let answer = not_found(&workspace, &request);
    assert_eq!(workspace.text("a.c"), FILE);
    let mut corrected = request.clone();
    corrected["edits"][0] = append;
    corrected["edits"][1]["old_text"] = json!("\treturn a + b;\n");
    corrected["edits"][1]["content"] = json!("\treturn b + a;\n");
    assert_eq!(offered(&answer), Some(&corrected));
    assert!(
        answer.hint().starts_with("If evidence.request is what you mean "),
        "{}",
        answer.hint()
    );
    workspace.apply(offered(&answer).unwrap()).landed();
    assert_eq!(workspace.text("a.c"), FILE.replace("a + b;", "b + a;"));
    assert_eq!(workspace.text("b.txt"), "one\ntwo\n");
    workspace.is_clean();
}

#[test]
fn no_request_is_offered_for_a_text_that_means_something_else() {
    let workspace = workspace();
    let request =
        |old: &str| json!({"path": "a.c", "mode": "edit", "old_text": old, "content": "x"});
    assert_eq!(offered(&not_found(&workspace, &request("    return a - b;\n"))), None);
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "x\n"})).landed();
    let twice = json!({"path": "a.c", "mode": "append", "content": FILE.replace("add", "sum")});
    workspace.apply(&twice).landed();
    assert_eq!(offered(&not_found(&workspace, &request("    return a + b;\n"))), None);
}

#[test]
fn several_misses_of_one_request_are_all_corrected() {
    let workspace = workspace();
    let edit = |old: &str, new: &str| json!({"path": "a.c", "mode": "edit", "old_text": old, "content": new});
    let sent = [
        edit("```c\nint add(int a, int b)\n```", "```c\nint sum(int a, int b)\n```"),
        edit("3 | \treturn a + b;\n4 | }\n", "\treturn b + a;\n}\n"),
    ];
    let answer = workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"; 2], 1, &json!({"edits": sent}));
    workspace.apply(offered(&answer).unwrap()).landed();
    assert_eq!(workspace.text("a.c"), FILE.replace("add", "sum").replace("a + b", "b + a"));
}

#[test]
fn a_miss_beside_one_that_cannot_be_corrected_shows_its_correction() {
    let workspace = workspace();
    let edit = |old: &str, new: &str| json!({"path": "a.c", "mode": "edit", "old_text": old, "content": new});
    let sent = [edit("int mul(int c)", "x"), edit("    return a + b;\n", "    return b + a;\n")];
    let answer = workspace.refuses_request(&["OLD_TEXT_NOT_FOUND"; 2], 1, &json!({"edits": sent}));
    let evidence = |n: usize| &answer.errors()[n]["evidence"];
    assert_eq!((offered(&answer), evidence(0).get("corrected_edit")), (None, None));
    let corrected = edit("\treturn a + b;\n", "\treturn b + a;\n");
    assert_eq!(evidence(1)["corrected_edit"], corrected);
    let first = edit("int add(", "int sum(");
    workspace.apply(&json!({"edits": [first, corrected]})).landed();
    assert_eq!(workspace.text("a.c"), FILE.replace("add", "sum").replace("a + b", "b + a"));
}

/// The file after the offered patch, which is sent back unread.
fn after_offered_patch(file: &str, patch: &str) -> String {
    let workspace = TestRepo::with(&[("a.c", file.as_bytes())]);
    let answer = workspace.refuses_request(&["INVALID_PATCH"], 1, &json!({"patch": patch}));
    let offered = &answer.errors()[0]["evidence"]["correction"];
    assert!(offered.is_string(), "{}", answer.json);
    workspace.apply(&json!({"patch": offered})).landed();
    workspace.text("a.c")
}

#[test]
fn a_patch_is_corrected_without_the_noise_in_its_lines() {
    let after = FILE.replace("a + b", "b + a");
    for (old, new) in [
        (" 2 | {\n-3 | \treturn a + b;", "+3 | \treturn b + a;"),
        (" 2: {\n-3: \treturn a + b;", "+\treturn b + a;"),
        ("-\treturn a\u{a0}+\u{a0}b;", "+\treturn b\u{a0}+\u{a0}a;"),
        ("-\treturn a +  b;", "+\treturn b + a;"),
    ] {
        let patch = format!("--- a/a.c\n+++ b/a.c\n@@\n{old}\n{new}\n");
        assert_eq!(after_offered_patch(FILE, &patch), after, "{patch}");
    }
    for (old, new) in [
        ("```c\n\treturn a + b;\n```", "```c\n\treturn b + a;\n```"),
        ("-\treturn a + b;\n }", "+\treturn b + a;\n }"),
        ("3\t\treturn a + b;\n4\t}", "\treturn b + a;\n}"),
    ] {
        let patch = format!("a.c\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
        assert_eq!(after_offered_patch(FILE, &patch), after, "{patch}");
    }
    let file = FILE.replace("a + b;", "a; // it\u{2019}s");
    let patch =
        "--- a/a.c\n+++ b/a.c\n@@ -2,2 +2,2 @@\n {\n-\treturn a; // it's\n+\treturn b; // it's\n";
    assert_eq!(after_offered_patch(&file, patch), file.replace("a; //", "b; //"));
}

#[test]
fn an_edit_of_an_earlier_text_is_carried_over_to_the_present_one() {
    let workspace = workspace();
    let edit = |old: &str, new: &str| json!({"path": "a.c", "mode": "edit", "old_text": old, "content": new});
    let signature = edit("int add(int a, int b)", "long add(long a, long b)");
    workspace.apply(&signature).landed();
    let body = edit(FILE, &FILE.replace("a + b", "b + a"));
    let after = "long add(long a, long b)\n{\n\treturn b + a;\n}\n";
    let answer = not_found(&workspace, &body);
    workspace.apply(offered(&answer).unwrap()).landed();
    assert_eq!(workspace.text("a.c"), after);
    // It was made already, or the same lines were changed.
    assert_eq!(offered(&not_found(&workspace, &body)), None);
    let other = edit(FILE, &FILE.replace("a + b", "a * b"));
    let answer = workspace.apply(&other);
    assert_eq!((answer.exit, offered(&answer)), (1, None));
}

#[test]
fn a_second_failure_in_a_row_advises_the_complete_file_instead() {
    let workspace = workspace();
    let request = json!({"path": "a.c", "mode": "edit", "old_text": "    return a + b;\n", "content": "    return 1;\n"});
    not_found(&workspace, &request);
    let limit = workspace.refuses_request(&["INVALID_PATCH_LIMIT_EXCEEDED"], 1, &request);
    assert_eq!(offered(&limit), None);
}

#[test]
fn an_edit_matches_leniently_on_request() {
    let workspace = workspace();
    let mut request = json!({"path": "a.c", "mode": "edit", "old_text": "    return a + b;\n", "content": "    return b + a;\n"});
    request["match"] = json!("lenient");
    let answer = workspace.apply(&request).landed();
    assert_eq!(answer.json["files"][0]["matched_by"], json!("indentation"));
    assert_eq!(workspace.text("a.c"), FILE.replace("a + b;", "b + a;"));
    let flags = [
        "apply",
        "a.c",
        "--mode",
        "edit",
        "--old-text",
        "return b + a; \n",
        "--content",
        "return 0;\n",
    ];
    workspace.refuses(&["OLD_TEXT_NOT_FOUND"], 1, &flags);
    assert_eq!(workspace.edt(&[&flags[..], &["--match", "lenient"]].concat()).exit, 0);
    assert_eq!(workspace.text("a.c"), FILE.replace("a + b;", "0;"));
}

#[test]
fn a_copy_lands_without_its_original_when_the_request_is_sent_back_unread() {
    let before = "def f():\n    return 1\n\n\ndef g():\n    return f()\n";
    let workspace = TestRepo::with(&[("a.py", before.as_bytes())]);
    let copy = "\n\ndef f():\n    return 2\n";
    let request = json!({"path": "a.py", "mode": "append", "content": copy, "message": "move f"});
    let answer = workspace.refuses_request(&["DUPLICATE_CODE"], 1, &request);
    assert_eq!(answer.errors()[0]["evidence"]["original"], json!([1, 2]));
    let edits = json!([
        {"path": "a.py", "mode": "append", "content": copy},
        {"path": "a.py", "mode": "delete_lines", "start_line": 1, "end_line": 3, "expected_text": "def f():\n    return 1\n\n"},
    ]);
    assert_eq!(offered(&answer), Some(&json!({"message": "move f", "edits": edits})));
    assert!(
        answer.hint().contains("If lines 1-2 should go, send the edit that removes"),
        "{}",
        answer.hint()
    );
    workspace.apply(offered(&answer).unwrap()).landed();
    assert_eq!(workspace.text("a.py"), format!("\ndef g():\n    return f()\n{copy}"));
    workspace.is_clean();
}

#[test]
fn a_closing_lands_with_its_refused_opening_when_the_request_is_sent_back_unread() {
    let workspace = workspace();
    let edit = |old: &str, new: &str| json!({"path": "a.c", "mode": "edit", "old_text": old, "content": new});
    let opening = edit("{\n\treturn", "{\n\tif (a) {\n\treturn");
    let first = workspace.refuses_request(&["SYNTAX_ERROR"], 1, &opening);
    assert_eq!(offered(&first), None);
    assert!(first.hint().contains("in one request (`edits`)"), "{}", first.hint());
    let closing = edit("a + b;\n", "a + b;\n\t}\n\treturn b;\n");
    let second = workspace.refuses_request(&["SYNTAX_ERROR"], 1, &closing);
    assert_eq!(offered(&second), Some(&json!({"edits": [opening, closing]})));
    workspace.apply(offered(&second).unwrap()).landed();
    assert_eq!(
        workspace.text("a.c"),
        "int add(int a, int b)\n{\n\tif (a) {\n\treturn a + b;\n\t}\n\treturn b;\n}\n"
    );
    workspace.is_clean();
}

#[test]
fn a_no_break_space_counts_as_a_space() {
    let text = "# Plan\n\nKeep the shopping\u{a0}list in order and\u{a0}check it.\nSecond line.\n";
    let workspace = TestRepo::with(&[("n.md", text.as_bytes())]);
    let edit = json!({"path": "n.md", "mode": "edit",
        "old_text": "Keep the shopping list in order and check it.",
        "content": "Keep the shopping list sorted and check it."});
    let answer = not_found(&workspace, &edit);
    workspace.apply(offered(&answer).unwrap()).landed();
    assert_eq!(workspace.text("n.md"), text.replace("in order", "sorted"));
}

#[test]
fn a_second_miss_has_its_correction_unless_it_is_the_first_again() {
    let text =
        "package p\n\nfunc F(n int) int {\n\tif n > 1 {\n\t\treturn n\n\t}\n\tn++\n\treturn n\n}\n";
    let workspace = TestRepo::with(&[("f.go", text.as_bytes())]);
    let edit = |old: &str, new: &str| json!({"path": "f.go", "mode": "edit", "old_text": old, "content": new});
    let first =
        edit("    if n > 1 {\n        return n\n    }", "    if n > 2 {\n        return n\n    }");
    let second = edit("    n++\n    return n", "    n += 2\n    return n");
    assert!(offered(&not_found(&workspace, &first)).is_some());
    let answer = not_found(&workspace, &second);
    workspace.refuses_request(&["INVALID_PATCH_LIMIT_EXCEEDED"], 1, &second);
    workspace.apply(offered(&answer).unwrap()).landed();
    assert_eq!(workspace.text("f.go"), text.replace("\tn++\n", "\tn += 2\n"));
}
