//! Edits by the anchors of lines.

use serde_json::{Value, json};

use crate::test_repo::TestRepo;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

fn repo() -> TestRepo {
    TestRepo::with(&[("a.txt", TEXT.as_bytes()), ("crlf.txt", b"one\r\ntwo\r\n")])
}

fn anchors(repo: &TestRepo, path: &str) -> Vec<String> {
    let read = repo.edt(&["read", path, "--anchors"]).json;
    let text = |one: &Value| one.as_str().unwrap().to_owned();
    read["anchors"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn read_prints_the_anchors_that_edits_take() {
    let repo = repo();
    let anchors = anchors(&repo, "a.txt");
    assert_eq!(anchors.len(), 6);
    let some = repo.edt(&["read", "a.txt", "--anchors", "--lines", "2:3", "--lines", "6:6"]).json;
    assert_eq!(some["anchors"], json!(anchors[1..3]));
    assert_eq!(some["further"][0]["anchors"], json!(anchors[5..]));
    let mut command = repo.command(crate::test_repo::EDT);
    command.args(["read", "a.txt", "--anchors"]);
    let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(printed.contains(&format!("{} | two\n", anchors[1])), "{printed}");
    assert!(repo.edt(&["read", "a.txt"]).json.get("anchors").is_none());
}

#[test]
fn lines_are_changed_by_their_anchors() {
    let repo = repo();
    let at = anchors(&repo, "a.txt");
    repo.apply(&json!({"edits": [
        {"path": "a.txt", "mode": "delete_lines", "start_anchor": at[4], "end_anchor": at[5]},
        {"path": "a.txt", "mode": "replace_lines", "start_anchor": at[1], "end_anchor": at[2], "content": "2\n"},
        {"path": "a.txt", "mode": "insert", "start_anchor": at[0], "content": "zero\n"}]}))
        .landed();
    assert_eq!(repo.text("a.txt"), "zero\none\n2\nfour\n");
    let at = anchors(&repo, "crlf.txt");
    let line = format!("{} | two", at[1]);
    repo.edt(&[
        "apply",
        "crlf.txt",
        "--mode",
        "replace_lines",
        "--start-anchor",
        &line,
        "--content",
        "2\n",
    ])
    .landed();
    assert_eq!(repo.text("crlf.txt"), "one\r\n2\r\n");
    repo.is_sound();
}

#[test]
fn lines_that_changed_since_they_were_read_are_refused_with_the_present_ones() {
    let repo = repo();
    let at = anchors(&repo, "a.txt");
    let edit = json!({"path": "a.txt", "mode": "replace_lines", "start_anchor": at[1], "end_anchor": at[3], "content": "x\n"});
    // What is between the anchors counts, too.
    repo.write("a.txt", TEXT.replace("three", "changed by the user"));
    let refused = repo.apply(&edit);
    assert_eq!((refused.codes(), refused.exit), (vec!["TEXT_MISMATCH"], 1), "{:#}", refused.json);
    assert_eq!(refused.errors()[0]["evidence"]["anchors"], json!(anchors(&repo, "a.txt")[1..4]));
    assert!(repo.text("a.txt").contains("changed by the user"));
    // The answer names where the same lines are now.
    repo.write("a.txt", format!("new\n{TEXT}"));
    let moved = repo.apply(&edit);
    assert_eq!(moved.codes(), ["TEXT_MISMATCH"], "{:#}", moved.json);
    let mut edit = edit;
    for key in ["start_anchor", "end_anchor"] {
        edit[key] = moved.errors()[0]["evidence"][key].clone();
    }
    repo.apply(&edit).landed();
    assert_eq!(repo.text("a.txt"), "new\none\nx\nfive\nsix\n");
    repo.write("a.txt", "one\n");
    assert_eq!(repo.apply(&edit).codes(), ["LINE_OUT_OF_RANGE"]);
}

#[test]
fn anchors_that_cannot_be_meant_are_malformed() {
    let repo = repo();
    let at = anchors(&repo, "a.txt");
    let base = json!({"path": "a.txt", "mode": "replace_lines", "content": "x\n"});
    for more in [
        json!({"start_anchor": "2"}),
        json!({"start_anchor": "2:zzzzzzzzzz"}),
        json!({"end_anchor": at[1]}),
        json!({"start_anchor": at[1], "end_line": 2}),
        json!({"start_anchor": at[1], "end_anchor": at[0]}),
        json!({"start_anchor": at[1], "expected_text": "two\n"}),
    ] {
        let mut edit = base.clone();
        edit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = repo.apply(&edit);
        let all = answer.codes().iter().all(|code| *code == "BAD_REQUEST");
        assert!(all && answer.exit == 2, "{more}: {:#}", answer.json);
    }
}

#[test]
fn copied_anchors_in_a_text_to_find_are_recognised() {
    let repo = repo();
    let at = anchors(&repo, "a.txt");
    let old = format!("{} | two\n{} | three\n", at[1], at[2]);
    let edit = json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": "2\n3\n"});
    let refused = repo.apply(&edit);
    assert_eq!(refused.codes(), ["OLD_TEXT_NOT_FOUND"]);
    let request = refused.errors()[0]["evidence"]["request"].clone();
    repo.apply(&request).landed();
    assert_eq!(repo.text("a.txt"), TEXT.replace("two\nthree", "2\n3"));
}
