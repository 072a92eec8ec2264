//! The first call that a model makes has the words of the tools that it knows.

use serde_json::{Value, json};

use crate::test_repo::TestRepo;

const TEXT: &str = "one\ntwo\nthree\n";

/// Calls in the words of other agents' tools, and what the file has then.
#[expect(clippy::too_many_lines, reason = "a table")]
fn calls() -> Vec<(Value, &'static str)> {
    let two = "one\n2\nthree\n";
    let pair = |old: &str, new: &str| json!({"file_path": "a.txt", old: "two", new: "2"});
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch\n";
    let blocks = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n";
    let unified = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    vec![
        // A strict schema makes clients send every key.
        (
            json!({"allow": [], "edits": [], "end_anchor": "", "end_line": 0, "executable": false,
            "expected_hash": "", "expected_text": "", "match": "strict", "message": "", "old_text": "",
            "patch": "", "replace_all": false, "start_anchor": "", "start_line": 0, "symbol": "",
            "to": "", "path": "a.txt", "mode": "append", "content": "x\n"}),
            "one\ntwo\nthree\nx\n",
        ),
        (
            json!({"edits": [{"path": "a.txt", "mode": "append", "content": "x\n"}], "mode": "create",
            "path": "", "content": "", "match": "strict"}),
            "one\ntwo\nthree\nx\n",
        ),
        (json!({"patch": patch, "mode": "create", "path": "", "content": ""}), two),
        (
            json!({"path": "a.txt", "mode": "insert", "start_line": 1, "content": "x\n", "expected_text": ""}),
            "x\none\ntwo\nthree\n",
        ),
        (pair("old_string", "new_string"), two),
        (pair("old_str", "new_str"), two),
        (pair("oldString", "newString"), two),
        (pair("oldText", "newText"), two),
        (pair("old_text", "new_text"), two),
        (pair("search", "replace"), two),
        (pair("find", "replacement"), two),
        (pair("old", "new"), two),
        (pair("original_text", "content"), two),
        (
            json!({"filePath": "a.txt", "oldString": "two", "newString": "2", "explanation": "x"}),
            two,
        ),
        (
            json!({"TargetFile": "./a.txt", "Instruction": "x", "ReplacementChunks":
            [{"AllowMultiple": false, "TargetContent": "two", "ReplacementContent": "2"}]}),
            two,
        ),
        (
            json!({"command": "str_replace", "path": "a.txt", "old_str": "two", "new_str": "2",
            "insert_line": null, "view_range": [], "file_text": null}),
            two,
        ),
        (
            json!({"command": "str_replace", "path": "{ROOT}/a.txt", "old_str": "two", "new_str": "2"}),
            two,
        ),
        (
            json!({"command": "insert", "path": "a.txt", "insert_line": 2, "new_str": "x\n"}),
            "one\ntwo\nx\nthree\n",
        ),
        (
            json!({"command": "insert", "path": "a.txt", "insert_line": "0", "insert_text": "x\n"}),
            "x\none\ntwo\nthree\n",
        ),
        (json!({"command": "append", "path": "a.txt", "new_str": "x\n"}), "one\ntwo\nthree\nx\n"),
        (json!({"mode": "EDIT", "path": "a.txt", "old_text": "two", "content": "2"}), two),
        (json!({"mode": "replace", "path": "a.txt", "old_text": "two", "content": "2"}), two),
        (
            json!({"mode": "search-replace", "path": "a.txt", "old_text": "two", "content": "2"}),
            two,
        ),
        (json!({"mode": "write", "path": "a.txt", "content": two}), two),
        (json!({"path": "a.txt", "content": two}), two),
        (json!({"filename": "a.txt", "contents": two}), two),
        (json!({"file_path": "a.txt", "content": two, "line_count": 3}), two),
        (json!({"file_path": "{ROOT}/a.txt", "content": two}), two),
        (
            json!({"target_file": "a.txt", "content": two, "instructions": "x", "blocking": true}),
            two,
        ),
        (
            json!({"path": "a.txt", "mode": "overwrite", "content": two, "old_text": "", "edits": [],
            "start_line": 0, "end_line": 0, "replace_all": false, "symbol": "", "patch": null}),
            two,
        ),
        (
            json!({"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2", "expected_text": "",
            "expected_hash": "", "to": "", "allow": [], "executable": false}),
            two,
        ),
        (
            json!({"path": "a.txt", "mode": "replace_lines", "start_line": "2", "end_line": "2", "expected_text": "two\n", "content": "2\n"}),
            two,
        ),
        (
            json!({"relative_path": "a.txt", "start_line": 2.0, "end_line": 2, "expected_text": "two\n", "content": "2\n"}),
            two,
        ),
        (
            json!({"path": "a.txt", "operation": "replace", "start_line": 2, "end_line": 2, "expected_text": "two\n", "content": "2\n"}),
            two,
        ),
        (
            json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}], "dryRun": false}),
            two,
        ),
        (
            json!({"file_path": "a.txt", "edits": [{"old_string": "two", "new_string": "2", "replace_all": "false"}]}),
            two,
        ),
        (json!({"path": "a.txt", "edit": {"old": "two", "new": "2"}}), two),
        (
            json!({"edits": {"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2"}}),
            two,
        ),
        (
            json!({"edits": "[{\"path\": \"a.txt\", \"mode\": \"edit\", \"old_text\": \"two\", \"content\": \"2\"}]"}),
            two,
        ),
        (json!([{"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2"}]), two),
        (
            json!(
                "{\"path\": \"a.txt\", \"mode\": \"edit\", \"old_text\": \"two\", \"content\": \"2\"}"
            ),
            two,
        ),
        (
            json!({"replacements": [{"filePath": "a.txt", "oldString": "two", "newString": "2", "explanation": "x"}]}),
            two,
        ),
        (json!({"path": "a.txt", "diff": blocks}), two),
        (json!({"input": patch}), two),
        (json!({"patchText": patch, "mode": "edit", "content": ""}), two),
        (json!({"diff": unified, "path": null}), two),
        (
            json!({"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2", "atomic": true,
            "create_dirs": true, "allow_size_reduce": false, "check_duplicates": true}),
            two,
        ),
        (
            json!({"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2", "skip_validation": true}),
            two,
        ),
        (
            json!({"type": "edit", "path": "a.txt", "search": "two", "replace": "2", "use_regex": false}),
            two,
        ),
        (json!({"action": "remove_file", "path": "a.txt", "content": ""}), ""),
        (json!({"command": "delete", "path": "a.txt"}), ""),
    ]
}

#[test]
fn first_calls_in_the_words_of_other_tools_land() {
    let mut refused = Vec::new();
    for (call, expected) in calls() {
        let workspace = TestRepo::with(&[("a.txt", TEXT.as_bytes())]);
        let root = workspace.root.display().to_string();
        let call: Value = serde_json::from_str(&call.to_string().replace("{ROOT}", &root)).unwrap();
        let answer = workspace.apply(&call);
        let now = std::fs::read_to_string(workspace.root.join("a.txt")).unwrap_or_default();
        if answer.exit != 0 || now != expected {
            refused.push(format!("{call}: {:?} {now:?}", answer.codes()));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn new_files_in_the_words_of_other_tools_are_made() {
    for call in [
        json!({"file_path": "d/new.txt", "content": "x\n"}),
        json!({"command": "create", "path": "d/new.txt", "file_text": "x\n", "old_str": ""}),
        json!({"filepath": "d/new.txt", "contents": "x\n"}),
        json!({"TargetFile": "d/new.txt", "CodeContent": "x\n", "EmptyFile": false}),
        json!({"mode": "write_file", "path": "d/new.txt", "text": "x\n"}),
    ] {
        let workspace = TestRepo::with(&[("a.txt", TEXT.as_bytes())]);
        workspace.apply(&call).landed();
        assert_eq!(workspace.text("d/new.txt"), "x\n", "{call}");
    }
}

#[test]
fn what_could_mean_two_things_is_refused() {
    let workspace = TestRepo::with(&[("a.txt", TEXT.as_bytes()), ("b.txt", b"b\n")]);
    for call in [
        json!({"path": "a.txt", "file_path": "b.txt", "mode": "append", "content": "x"}),
        json!({"path": "a.txt", "content": "x", "start_line": 2}),
        json!({"path": "a.txt", "insert_line": 2, "content": "x"}),
        json!({"path": "a.txt", "mode": "edit", "old_text": "two", "content": "2", "dry_run": true}),
        json!({"path": "a.txt", "edits": [{"path": "b.txt", "mode": "append", "content": "x"}]}),
        json!({"path": "a.txt", "mode": "view"}),
        json!({"command": "copy", "path": "a.txt", "destination": "c.txt"}),
        json!({"operation": "prepend", "path": "a.txt", "content": "x\n"}),
        json!({"action": "insert_after", "path": "a.txt", "content": "x\n"}),
        json!({"file_path": "a.txt", "new_string": "x\n"}),
        json!({"file_path": "a.txt", "old_string": null, "new_string": "x\n"}),
        json!({"path": "a.txt", "insert_text": "x\n"}),
        json!({"path": "a.txt", "code": "x\n"}),
        json!({"path": "a.txt", "edits": [{"newText": "x\n"}]}),
        json!({"file_path": "a.txt", "content": "x\n", "overwrite": false}),
        json!({"path": "a.txt", "action": "remove", "start_line": 0, "end_line": 0}),
        json!({"path": "a.txt", "content": "x\n", "start_line": 0, "end_line": 0}),
        json!({"command": "insert", "path": "a.txt", "insert_line": 2, "start_line": 1, "new_str": "x"}),
        json!({"path": "c.txt", "content": "eA==", "encoding": "base64"}),
    ] {
        workspace.refuses_request(&["BAD_REQUEST"], 2, &call);
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    let workspace = TestRepo::with(&[("a.txt", TEXT.as_bytes()), ("b.txt", b"b\n")]);
    for call in [
        r#"{"path": "a.txt", "mode": "delete", "path": "b.txt"}"#,
        r#"{"file_path": "a.txt", "mode": "delete", "file_path": "b.txt"}"#,
        r#"{"path": "a.txt", "mode": "append", "content": "x", "content": "y"}"#,
    ] {
        workspace.unchanged(&["BAD_REQUEST"], 2, || {
            workspace.edt_fed(call.as_bytes(), &["apply", "--request", "-"])
        });
    }
}

#[test]
fn keys_that_mean_nothing_are_named() {
    let workspace = TestRepo::with(&[("a.txt", TEXT.as_bytes())]);
    let call = json!({"path": "a.txt", "mode": "append", "content": "x\n", "explanation": "why"});
    let answer = workspace.apply(&call);
    assert_eq!(answer.exit, 0);
    let warning = &answer.json["warnings"][0];
    assert_eq!(warning["code"], "keys_left_out");
    assert!(warning["message"].as_str().unwrap().contains("`explanation`"), "{warning}");
}
