//! The failure streak: the second patch in a row that does not fit a file is answered with what to
//! do instead.

use serde_json::{Value, json};

use crate::test_repo::{Answer, TestRepo};

const NOT_FOUND: &str = "OLD_TEXT_NOT_FOUND";
const LIMIT: &str = "INVALID_PATCH_LIMIT_EXCEEDED";

/// An edit of `path` whose old text was not found.
fn stale(path: &str) -> Value {
    json!({"path": path, "mode": "edit", "old_text": "gamma rays\n", "content": "delta\n"})
}

/// Sends the stale edit of `path`, which must be refused with `code`.
#[track_caller]
fn fails(workspace: &TestRepo, path: &str, code: &str) -> Answer {
    workspace.refuses_request(&[code], 1, &stale(path))
}

fn workspace() -> TestRepo {
    TestRepo::with(&[
        ("a.txt", b"alpha\nbeta\ngamma ray\n"),
        ("b.txt", b"alpha\nbeta\ngamma ray\n"),
    ])
}

#[test]
fn the_second_failure_in_a_row_gives_an_alternative_and_the_third_counts_again() {
    let workspace = workspace();
    let first = fails(&workspace, "a.txt", NOT_FOUND);
    let second = fails(&workspace, "a.txt", LIMIT);
    let (first, limit) = (&first.errors()[0], &second.errors()[0]);
    let message = first["message"].as_str().unwrap();
    assert_eq!(
        limit["message"],
        json!(format!("The second patch in a row for a.txt failed. {message}"))
    );
    let hint = limit["hint"].as_str().unwrap();
    let hash = format!("expected_hash \"{}\"", workspace.rev("HEAD:a.txt"));
    for part in
        ["Do not send a patch for a.txt again now", "`edt read a.txt`", "mode \"overwrite\"", &hash]
    {
        assert!(hint.contains(part), "{hint}");
    }
    assert_eq!((&limit["path"], &limit["allow"]), (&json!("a.txt"), &json!(null)));
    assert_eq!(limit["evidence"]["nearest"], first["evidence"]["nearest"]);
    assert_eq!(
        limit["evidence"]["nearest"]["context"],
        json!("1 | alpha\n2 | beta\n3 | gamma ray\n")
    );
    assert_eq!(
        limit["evidence"]["failures"],
        json!([{"code": NOT_FOUND, "edit": 1, "message": message}])
    );
    fails(&workspace, "a.txt", NOT_FOUND);
    fails(&workspace, "a.txt", LIMIT);
}

#[test]
fn the_hint_of_the_limit_can_be_obeyed_literally() {
    let workspace = workspace();
    fails(&workspace, "a.txt", NOT_FOUND);
    fails(&workspace, "a.txt", LIMIT);
    let read = workspace.edt(&["read", "a.txt"]).json;
    let whole = read["text"].as_str().unwrap().replace("gamma ray", "delta");
    let request = json!({"path": "a.txt", "mode": "overwrite", "content": whole, "expected_hash": read["hash"].as_str().unwrap()});
    workspace.apply(&request).landed();
    workspace.is_clean();
}

#[test]
fn files_are_counted_separately_and_others_are_not_limited() {
    let workspace = workspace();
    fails(&workspace, "a.txt", NOT_FOUND);
    fails(&workspace, "b.txt", NOT_FOUND);
    workspace.apply(&json!({"path": "c.txt", "mode": "create", "content": "c\n"})).landed();
    fails(&workspace, "a.txt", LIMIT);
    fails(&workspace, "b.txt", LIMIT);
}

#[test]
fn sessions_are_counted_separately() {
    let workspace = workspace();
    // Before there is a session, the future session counts, and it goes on counting once it has
    // begun.
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.edt(&["begin"]).landed();
    fails(&workspace, "a.txt", LIMIT);
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.edt(&["begin", "other"]).landed();
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.git(&["switch", "--quiet", "edt/main-1"]);
    fails(&workspace, "a.txt", LIMIT);
}

#[test]
fn a_successful_edit_of_the_file_resets_the_count() {
    let workspace = workspace();
    for done in [
        json!({"path": "a.txt", "mode": "append", "content": "more\n"}),
        // One that changes nothing.
        json!({"path": "a.txt", "mode": "edit", "old_text": "alpha", "content": "alpha"}),
        json!({"path": "b.txt", "mode": "append", "content": "more\n", "message": "another file"}),
    ] {
        fails(&workspace, "a.txt", NOT_FOUND);
        assert_eq!(workspace.apply(&done).exit, 0);
        let other = done["path"] == "b.txt";
        fails(&workspace, "a.txt", if other { LIMIT } else { NOT_FOUND });
        if !other {
            fails(&workspace, "a.txt", LIMIT);
        }
    }
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.edt(&["apply", "a.txt", "--mode", "rename", "--to", "c.txt"]).landed();
    workspace.edt(&["apply", "c.txt", "--mode", "rename", "--to", "a.txt"]).landed();
    fails(&workspace, "a.txt", NOT_FOUND);
}

#[test]
fn a_failure_of_another_kind_on_the_file_resets_the_count() {
    let workspace = workspace();
    let mut moved = stale("a.txt");
    moved["expected_hash"] = json!("0123456789");
    let ambiguous = json!({"path": "a.txt", "mode": "edit", "old_text": "a", "content": "b"});
    for (other, code, exit) in [(&moved, "HASH_MISMATCH", 3), (&ambiguous, "OLD_TEXT_AMBIGUOUS", 1)]
    {
        fails(&workspace, "a.txt", NOT_FOUND);
        workspace.refuses_request(&[code], exit, other);
        fails(&workspace, "a.txt", NOT_FOUND);
        fails(&workspace, "a.txt", LIMIT);
    }
    // On another file it does not; nor does a call that was malformed.
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.refuses_request(
        &["FILE_NOT_FOUND"],
        1,
        &json!({"path": "no.txt", "mode": "append", "content": "x"}),
    );
    workspace.refuses_request(&["BAD_REQUEST"], 2, &json!({"path": "a.txt", "mode": "append"}));
    fails(&workspace, "a.txt", LIMIT);
}

#[test]
fn of_several_files_only_the_one_that_fails_again_is_reported() {
    let workspace = workspace();
    fails(&workspace, "a.txt", NOT_FOUND);
    let good = json!({"path": "c.txt", "mode": "create", "content": "c\n"});
    let request = json!({"edits": [good, stale("b.txt"), stale("a.txt"), stale("a.txt")]});
    let answer = workspace.refuses_request(&[LIMIT, NOT_FOUND], 1, &request);
    let paths: Vec<&Value> = answer.errors().iter().map(|error| &error["path"]).collect();
    assert_eq!(paths, ["a.txt", "b.txt"]);
    let edits: Vec<&Value> = answer.errors()[0]["evidence"]["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| &failure["edit"])
        .collect();
    assert_eq!(edits, [3, 4]);
    assert!(
        answer.errors()[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("The second patch in a row for a.txt failed, in 2 places. ")
    );
    fails(&workspace, "b.txt", LIMIT);
    fails(&workspace, "a.txt", NOT_FOUND);
}

#[test]
fn two_failures_in_one_request_are_one() {
    let workspace = workspace();
    workspace.refuses_request(
        &[NOT_FOUND; 2],
        1,
        &json!({"edits": [stale("a.txt"), stale("a.txt")]}),
    );
    fails(&workspace, "a.txt", LIMIT);
}

/// Sends `patch`, which must be refused with `code`.
#[track_caller]
fn patch_fails(workspace: &TestRepo, patch: &str, code: &str) -> Answer {
    workspace.refuses_request(&[code], 1, &json!({"patch": patch}))
}

#[test]
fn patches_in_any_format_and_edits_of_one_file_are_counted_together() {
    let workspace = workspace();
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n-gamma rays\n+delta\n";
    let block = "a.txt\n<<<<<<< SEARCH\ngamma rays\n=======\ndelta\n>>>>>>> REPLACE\n";
    patch_fails(&workspace, diff, "INVALID_PATCH");
    patch_fails(&workspace, block, LIMIT);
    patch_fails(&workspace, block, "INVALID_PATCH");
    let limit = fails(&workspace, "a.txt", LIMIT);
    assert_eq!(limit.errors()[0]["evidence"]["failures"][0]["code"], json!(NOT_FOUND));
    // A patch that cannot be read, but names its file.
    patch_fails(
        &workspace,
        "*** Begin Patch\n*** Update File: a.txt\n@@\n alpha\n*** End Patch\n",
        "INVALID_PATCH",
    );
    patch_fails(&workspace, "a.txt\n<<<<<<< SEARCH\ngamma ray\n", LIMIT);
    // A failure in several places of one file is one failure.
    let twice = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-alfa\n+a\n@@ -2 +2 @@\n-betta\n+b\n";
    workspace.refuses_request(&["INVALID_PATCH"; 2], 1, &json!({"patch": twice}));
    let limit = patch_fails(&workspace, twice, LIMIT);
    assert_eq!(limit.errors()[0]["evidence"]["failures"].as_array().unwrap().len(), 2);
    assert!(
        limit.message().starts_with("The second patch in a row for a.txt failed, in 2 places. "),
        "{}",
        limit.message()
    );
}

#[test]
fn a_correction_is_offered_once_and_not_with_the_advice_to_send_no_patch() {
    let workspace = TestRepo::with(&[("a.c", b"int f(void)\n{\n\treturn 1;\n}\n")]);
    let diff =
        "--- a/a.c\n+++ b/a.c\n@@ ... @@\n int f(void)\n {\n-    return 1;\n+    return 2;\n }\n";
    let first = patch_fails(&workspace, diff, "INVALID_PATCH");
    let correction = first.errors()[0]["evidence"]["correction"].as_str().unwrap();
    let limit = patch_fails(&workspace, diff, LIMIT);
    assert_eq!(limit.errors()[0]["evidence"].get("correction"), None);
    // An agent that ignores the advice is not stopped.
    workspace.apply(&json!({"patch": correction})).landed();
    assert_eq!(workspace.text("a.c"), "int f(void)\n{\n\treturn 2;\n}\n");
}

#[test]
fn a_patch_that_names_no_file_is_counted_separately() {
    let workspace = workspace();
    let prose = "Please rename alpha.\n";
    let nameless = "@@ -1 +1 @@\n-alpha\n+omega\n";
    patch_fails(&workspace, prose, "INVALID_PATCH");
    fails(&workspace, "a.txt", NOT_FOUND);
    let limit = patch_fails(&workspace, nameless, LIMIT);
    assert_eq!(limit.errors()[0]["path"], json!(null));
    assert!(
        limit.message().starts_with("The second patch in a row that names no file failed. "),
        "{}",
        limit.message()
    );
    assert!(
        limit.hint().starts_with("Do not send a patch again now: read the intended file"),
        "{}",
        limit.hint()
    );
    // Every applied edit resets it.
    patch_fails(&workspace, prose, "INVALID_PATCH");
    workspace.apply(&json!({"path": "b.txt", "mode": "append", "content": "more\n"})).landed();
    patch_fails(&workspace, prose, "INVALID_PATCH");
    patch_fails(&workspace, prose, LIMIT);
    fails(&workspace, "a.txt", LIMIT);
}

#[test]
fn dry_runs_neither_count_nor_reset_the_count() {
    let workspace = workspace();
    let request = stale("a.txt").to_string();
    let dry = |args: &[&str]| {
        assert_eq!(workspace.edt_fed(request.as_bytes(), args).codes(), [NOT_FOUND]);
    };
    for _ in 0..3 {
        dry(&["check", "--request", "-"]);
        dry(&["apply", "--dry-run", "--request", "-"]);
    }
    fails(&workspace, "a.txt", NOT_FOUND);
    dry(&["check", "--request", "-"]);
    assert_eq!(workspace.edt(&["check", "a.txt", "--mode", "append", "--content", "x\n"]).exit, 0);
    fails(&workspace, "a.txt", LIMIT);
}

#[test]
fn of_eight_concurrent_failures_exactly_every_second_gets_the_limit() {
    let workspace = workspace();
    let codes: Vec<String> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| workspace.apply(&stale("a.txt")).codes().join(" ")))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let printed = |code: &str| codes.iter().filter(|printed| *printed == code).count();
    assert_eq!((printed(NOT_FOUND), printed(LIMIT)), (4, 4), "{codes:?}");
    fails(&workspace, "a.txt", NOT_FOUND);
}

#[test]
fn the_counts_may_be_damaged_or_deleted_at_any_time() {
    let workspace = workspace();
    let file = workspace.root.join(".git/edt/main/failed-patches");
    for damage in [&b"\0garbage"[..], b"", b"[[\"main-1\"", b"{\"a\": 1}"] {
        fails(&workspace, "a.txt", NOT_FOUND);
        std::fs::write(&file, damage).unwrap();
        fails(&workspace, "a.txt", NOT_FOUND);
        fails(&workspace, "a.txt", LIMIT);
    }
    fails(&workspace, "a.txt", NOT_FOUND);
    std::fs::remove_dir_all(workspace.root.join(".git/edt")).unwrap();
    fails(&workspace, "a.txt", NOT_FOUND);
    fails(&workspace, "a.txt", LIMIT);
    assert!(!file.exists(), "nothing is left where nothing is counted");
    // A directory in its place: nothing can be counted, and nothing else is affected.
    std::fs::create_dir(&file).unwrap();
    fails(&workspace, "a.txt", NOT_FOUND);
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.overwrite("a.txt", "alpha\nomega\n");
}

#[test]
fn a_malformed_edit_of_the_file_resets_the_count() {
    let workspace = workspace();
    let without_old = json!({"path": "a.txt", "mode": "edit", "content": "x"});
    fails(&workspace, "a.txt", NOT_FOUND);
    workspace.refuses_request(&["OLD_TEXT_REQUIRED"], 1, &without_old);
    fails(&workspace, "a.txt", NOT_FOUND);
    fails(&workspace, "a.txt", LIMIT);
}

/// An unreadable patch, with a path.
fn unreadable(path: &str) -> Value {
    json!({"path": path, "patch": "change it somehow\n"})
}

#[test]
fn an_unreadable_patch_counts_for_its_path_and_the_limit_shows_the_file() {
    let workspace = workspace();
    let first = workspace.refuses_request(&["INVALID_PATCH"], 1, &unreadable("a.txt"));
    assert_eq!(first.errors()[0]["path"], "a.txt");
    let limit = workspace.refuses_request(&[LIMIT], 1, &unreadable("a.txt"));
    let limit = &limit.errors()[0];
    let hash = workspace.rev("HEAD:a.txt");
    assert_eq!((&limit["path"], &limit["evidence"]["hash"]), (&json!("a.txt"), &json!(hash)));
    assert_eq!(limit["evidence"]["file"], "1 | alpha\n2 | beta\n3 | gamma ray\n");
    assert!(limit["hint"].as_str().unwrap().contains(&hash), "{limit}");
}

#[test]
fn for_a_missing_file_the_limit_suggests_create() {
    let workspace = workspace();
    workspace.refuses_request(&["INVALID_PATCH"], 1, &unreadable("z.txt"));
    let limit = workspace.refuses_request(&[LIMIT], 1, &unreadable("z.txt"));
    let hint = limit.errors()[0]["hint"].as_str().unwrap();
    assert!(hint.contains("mode \"create\"") && !hint.contains("edt read"), "{hint}");
}

#[test]
fn after_a_rename_in_the_request_the_limit_names_the_file_as_it_is_on_disk() {
    let workspace = workspace();
    let request = json!({"edits": [{"path": "a.txt", "mode": "rename", "to": "-c d.txt"}, stale("-c d.txt")]});
    workspace.refuses_request(&[NOT_FOUND], 1, &request);
    let limit = workspace.refuses_request(&[LIMIT], 1, &request);
    let hint = limit.errors()[0]["hint"].as_str().unwrap();
    assert!(
        hint.contains("`edt read a.txt`") && hint.contains(&workspace.rev("HEAD:a.txt")),
        "{hint}"
    );
}

#[test]
fn the_command_of_a_hint_names_a_file_that_looks_like_an_option_so_that_it_is_none() {
    let workspace = TestRepo::with(&[("-x y.txt", b"alpha\n")]);
    let hint =
        fails(&workspace, "-x y.txt", NOT_FOUND).errors()[0]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`edt read -- '-x y.txt'`"), "{hint}");
}
