//! The failure streak: the second patch in a row that does not fit a file is answered with what to do instead.

use serde_json::{Value, json};

use crate::world::{Answer, World};

const NOT_FOUND: &str = "OLD_TEXT_NOT_FOUND";
const LIMIT: &str = "INVALID_PATCH_LIMIT_EXCEEDED";

/// An edit of `path` whose old text stands nowhere.
fn stale(path: &str) -> Value {
    json!({"path": path, "mode": "edit", "old_text": "gamma rays\n", "content": "delta\n"})
}

/// Sends the stale edit of `path`, which must be refused with `code`.
#[track_caller]
fn fails(world: &World, path: &str, code: &str) -> Answer {
    world.refuses_request(&[code], 1, &stale(path))
}

fn world() -> World {
    World::with(&[("a.txt", b"alpha\nbeta\ngamma ray\n"), ("b.txt", b"alpha\nbeta\ngamma ray\n")])
}

#[test]
fn the_second_failure_in_a_row_says_what_to_do_instead_and_the_third_counts_anew() {
    let world = world();
    let first = fails(&world, "a.txt", NOT_FOUND);
    let second = fails(&world, "a.txt", LIMIT);
    let (first, limit) = (&first.errors()[0], &second.errors()[0]);
    let message = first["message"].as_str().unwrap();
    assert_eq!(
        limit["message"],
        json!(format!("The second patch in a row for a.txt failed. {message}"))
    );
    let hint = limit["hint"].as_str().unwrap();
    let hash = format!("expected_hash \"{}\"", world.rev("HEAD:a.txt"));
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
    fails(&world, "a.txt", NOT_FOUND);
    fails(&world, "a.txt", LIMIT);
}

#[test]
fn the_hint_of_the_limit_can_be_obeyed_literally() {
    let world = world();
    fails(&world, "a.txt", NOT_FOUND);
    fails(&world, "a.txt", LIMIT);
    let read = world.edt(&["read", "a.txt"]).json;
    let whole = read["text"].as_str().unwrap().replace("gamma ray", "delta");
    let request = json!({"path": "a.txt", "mode": "overwrite", "content": whole, "expected_hash": read["hash"].as_str().unwrap()});
    world.apply(&request).landed();
    world.is_clean();
}

#[test]
fn files_are_counted_apart_and_others_are_never_held_up() {
    let world = world();
    fails(&world, "a.txt", NOT_FOUND);
    fails(&world, "b.txt", NOT_FOUND);
    world.apply(&json!({"path": "c.txt", "mode": "create", "content": "c\n"})).landed();
    fails(&world, "a.txt", LIMIT);
    fails(&world, "b.txt", LIMIT);
}

#[test]
fn sessions_are_counted_apart() {
    let world = world();
    // Before there is a session, the one that would begin counts, and goes on counting once it has begun.
    fails(&world, "a.txt", NOT_FOUND);
    world.edt(&["begin"]).landed();
    fails(&world, "a.txt", LIMIT);
    fails(&world, "a.txt", NOT_FOUND);
    world.git(&["switch", "--quiet", "main"]);
    world.edt(&["begin", "other"]).landed();
    fails(&world, "a.txt", NOT_FOUND);
    world.git(&["switch", "--quiet", "edt/main-1"]);
    fails(&world, "a.txt", LIMIT);
}

#[test]
fn a_successful_edit_of_the_file_begins_anew() {
    let world = world();
    for done in [
        json!({"path": "a.txt", "mode": "append", "content": "more\n"}),
        // One that changes nothing.
        json!({"path": "a.txt", "mode": "edit", "old_text": "alpha", "content": "alpha"}),
        json!({"path": "b.txt", "mode": "append", "content": "more\n", "message": "another file"}),
    ] {
        fails(&world, "a.txt", NOT_FOUND);
        assert_eq!(world.apply(&done).exit, 0);
        let other = done["path"] == "b.txt";
        fails(&world, "a.txt", if other { LIMIT } else { NOT_FOUND });
        if !other {
            fails(&world, "a.txt", LIMIT);
        }
    }
    fails(&world, "a.txt", NOT_FOUND);
    world.edt(&["apply", "a.txt", "--mode", "rename", "--to", "c.txt"]).landed();
    world.edt(&["apply", "c.txt", "--mode", "rename", "--to", "a.txt"]).landed();
    fails(&world, "a.txt", NOT_FOUND);
}

#[test]
fn a_failure_of_another_kind_on_the_file_begins_anew() {
    let world = world();
    let mut moved = stale("a.txt");
    moved["expected_hash"] = json!("0123456789");
    let ambiguous = json!({"path": "a.txt", "mode": "edit", "old_text": "a", "content": "b"});
    for (other, code, exit) in [(&moved, "HASH_MISMATCH", 3), (&ambiguous, "OLD_TEXT_AMBIGUOUS", 1)]
    {
        fails(&world, "a.txt", NOT_FOUND);
        world.refuses_request(&[code], exit, other);
        fails(&world, "a.txt", NOT_FOUND);
        fails(&world, "a.txt", LIMIT);
    }
    // On another file it does not; nor does a call that was malformed.
    fails(&world, "a.txt", NOT_FOUND);
    world.refuses_request(
        &["FILE_NOT_FOUND"],
        1,
        &json!({"path": "no.txt", "mode": "append", "content": "x"}),
    );
    world.refuses_request(&["BAD_REQUEST"], 2, &json!({"path": "a.txt", "mode": "append"}));
    fails(&world, "a.txt", LIMIT);
}

#[test]
fn of_several_files_only_the_one_that_fails_again_is_told() {
    let world = world();
    fails(&world, "a.txt", NOT_FOUND);
    let good = json!({"path": "c.txt", "mode": "create", "content": "c\n"});
    let request = json!({"edits": [good, stale("b.txt"), stale("a.txt"), stale("a.txt")]});
    let answer = world.refuses_request(&[LIMIT, NOT_FOUND], 1, &request);
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
    fails(&world, "b.txt", LIMIT);
    fails(&world, "a.txt", NOT_FOUND);
}

#[test]
fn two_failures_in_one_request_are_one() {
    let world = world();
    world.refuses_request(&[NOT_FOUND; 2], 1, &json!({"edits": [stale("a.txt"), stale("a.txt")]}));
    fails(&world, "a.txt", LIMIT);
}

/// Sends `patch`, which must be refused with `code`.
#[track_caller]
fn patch_fails(world: &World, patch: &str, code: &str) -> Answer {
    world.refuses_request(&[code], 1, &json!({"patch": patch}))
}

#[test]
fn patches_in_any_form_and_edits_of_one_file_are_one_streak() {
    let world = world();
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n-gamma rays\n+delta\n";
    let block = "a.txt\n<<<<<<< SEARCH\ngamma rays\n=======\ndelta\n>>>>>>> REPLACE\n";
    patch_fails(&world, diff, "INVALID_PATCH");
    patch_fails(&world, block, LIMIT);
    patch_fails(&world, block, "INVALID_PATCH");
    let limit = fails(&world, "a.txt", LIMIT);
    assert_eq!(limit.errors()[0]["evidence"]["failures"][0]["code"], json!(NOT_FOUND));
    // A patch that cannot be read, but names its file.
    patch_fails(
        &world,
        "*** Begin Patch\n*** Update File: a.txt\n@@\n alpha\n*** End Patch\n",
        "INVALID_PATCH",
    );
    patch_fails(&world, "a.txt\n<<<<<<< SEARCH\ngamma ray\n", LIMIT);
    // A failure in several places of one file is one failure.
    let twice = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-alfa\n+a\n@@ -2 +2 @@\n-betta\n+b\n";
    world.refuses_request(&["INVALID_PATCH"; 2], 1, &json!({"patch": twice}));
    let limit = patch_fails(&world, twice, LIMIT);
    assert_eq!(limit.errors()[0]["evidence"]["failures"].as_array().unwrap().len(), 2);
    assert!(
        limit.message().starts_with("The second patch in a row for a.txt failed, in 2 places. "),
        "{}",
        limit.message()
    );
}

#[test]
fn a_correction_is_offered_once_and_not_beside_the_advice_to_send_no_patch() {
    let world = World::with(&[("a.c", b"int f(void)\n{\n\treturn 1;\n}\n")]);
    let diff =
        "--- a/a.c\n+++ b/a.c\n@@ ... @@\n int f(void)\n {\n-    return 1;\n+    return 2;\n }\n";
    let first = patch_fails(&world, diff, "INVALID_PATCH");
    let correction = first.errors()[0]["evidence"]["correction"].as_str().unwrap();
    let limit = patch_fails(&world, diff, LIMIT);
    assert_eq!(limit.errors()[0]["evidence"].get("correction"), None);
    // Whoever sends it all the same is not held up.
    world.apply(&json!({"patch": correction})).landed();
    assert_eq!(world.text("a.c"), "int f(void)\n{\n\treturn 2;\n}\n");
}

#[test]
fn a_patch_that_names_no_file_is_a_streak_of_its_own() {
    let world = world();
    let prose = "Please rename alpha.\n";
    let nameless = "@@ -1 +1 @@\n-alpha\n+omega\n";
    patch_fails(&world, prose, "INVALID_PATCH");
    fails(&world, "a.txt", NOT_FOUND);
    let limit = patch_fails(&world, nameless, LIMIT);
    assert_eq!(limit.errors()[0]["path"], json!(null));
    assert!(
        limit.message().starts_with("The second patch in a row that names no file failed. "),
        "{}",
        limit.message()
    );
    assert!(
        limit.hint().starts_with("Do not send a patch again now: read the file that is meant"),
        "{}",
        limit.hint()
    );
    // Whatever is applied begins it anew.
    patch_fails(&world, prose, "INVALID_PATCH");
    world.apply(&json!({"path": "b.txt", "mode": "append", "content": "more\n"})).landed();
    patch_fails(&world, prose, "INVALID_PATCH");
    patch_fails(&world, prose, LIMIT);
    fails(&world, "a.txt", LIMIT);
}

#[test]
fn dry_runs_neither_count_nor_begin_anew() {
    let world = world();
    let request = stale("a.txt").to_string();
    let dry = |args: &[&str]| {
        assert_eq!(world.edt_fed(request.as_bytes(), args).codes(), [NOT_FOUND]);
    };
    for _ in 0..3 {
        dry(&["check", "--request", "-"]);
        dry(&["apply", "--dry-run", "--request", "-"]);
    }
    fails(&world, "a.txt", NOT_FOUND);
    dry(&["check", "--request", "-"]);
    assert_eq!(world.edt(&["check", "a.txt", "--mode", "append", "--content", "x\n"]).exit, 0);
    fails(&world, "a.txt", LIMIT);
}

#[test]
fn of_eight_processes_that_fail_at_once_exactly_every_second_is_told() {
    let world = world();
    let codes: Vec<String> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| world.apply(&stale("a.txt")).codes().join(" ")))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let told = |code: &str| codes.iter().filter(|told| *told == code).count();
    assert_eq!((told(NOT_FOUND), told(LIMIT)), (4, 4), "{codes:?}");
    fails(&world, "a.txt", NOT_FOUND);
}

#[test]
fn what_was_counted_may_be_damaged_or_deleted_at_any_time() {
    let world = world();
    let file = world.root.join(".git/edt/main/failed-patches");
    for damage in [&b"\0garbage"[..], b"", b"[[\"main-1\"", b"{\"a\": 1}"] {
        fails(&world, "a.txt", NOT_FOUND);
        std::fs::write(&file, damage).unwrap();
        fails(&world, "a.txt", NOT_FOUND);
        fails(&world, "a.txt", LIMIT);
    }
    fails(&world, "a.txt", NOT_FOUND);
    std::fs::remove_dir_all(world.root.join(".git/edt")).unwrap();
    fails(&world, "a.txt", NOT_FOUND);
    fails(&world, "a.txt", LIMIT);
    assert!(!file.exists(), "nothing is left where nothing is counted");
    // A folder in its place: nothing can be counted, and nothing else is held up.
    std::fs::create_dir(&file).unwrap();
    fails(&world, "a.txt", NOT_FOUND);
    fails(&world, "a.txt", NOT_FOUND);
    world.overwrite("a.txt", "alpha\nomega\n");
}

#[test]
fn a_malformed_edit_of_the_file_begins_anew_as_another_failure_does() {
    let world = world();
    let without_old = json!({"path": "a.txt", "mode": "edit", "content": "x"});
    fails(&world, "a.txt", NOT_FOUND);
    world.refuses_request(&["OLD_TEXT_REQUIRED"], 1, &without_old);
    fails(&world, "a.txt", NOT_FOUND);
    fails(&world, "a.txt", LIMIT);
}

/// A patch that nobody can read, with a path beside it.
fn unreadable(path: &str) -> Value {
    json!({"path": path, "patch": "change it somehow\n"})
}

#[test]
fn an_unreadable_patch_is_of_the_path_beside_it_and_the_limit_shows_the_file() {
    let world = world();
    let first = world.refuses_request(&["INVALID_PATCH"], 1, &unreadable("a.txt"));
    assert_eq!(first.errors()[0]["path"], "a.txt");
    let limit = world.refuses_request(&[LIMIT], 1, &unreadable("a.txt"));
    let limit = &limit.errors()[0];
    let hash = world.rev("HEAD:a.txt");
    assert_eq!((&limit["path"], &limit["evidence"]["hash"]), (&json!("a.txt"), &json!(hash)));
    assert_eq!(limit["evidence"]["file"], "1 | alpha\n2 | beta\n3 | gamma ray\n");
    assert!(limit["hint"].as_str().unwrap().contains(&hash), "{limit}");
}

#[test]
fn for_a_file_that_is_not_there_the_limit_says_create() {
    let world = world();
    world.refuses_request(&["INVALID_PATCH"], 1, &unreadable("z.txt"));
    let limit = world.refuses_request(&[LIMIT], 1, &unreadable("z.txt"));
    let hint = limit.errors()[0]["hint"].as_str().unwrap();
    assert!(hint.contains("mode \"create\"") && !hint.contains("edt read"), "{hint}");
}

#[test]
fn after_a_rename_in_the_request_the_limit_names_the_file_as_it_is_on_disk() {
    let world = world();
    let request = json!({"edits": [{"path": "a.txt", "mode": "rename", "to": "-c d.txt"}, stale("-c d.txt")]});
    world.refuses_request(&[NOT_FOUND], 1, &request);
    let limit = world.refuses_request(&[LIMIT], 1, &request);
    let hint = limit.errors()[0]["hint"].as_str().unwrap();
    assert!(hint.contains("`edt read a.txt`") && hint.contains(&world.rev("HEAD:a.txt")), "{hint}");
}

#[test]
fn the_command_of_a_hint_names_a_file_that_looks_like_an_option_so_that_it_is_none() {
    let world = World::with(&[("-x y.txt", b"alpha\n")]);
    let hint =
        fails(&world, "-x y.txt", NOT_FOUND).errors()[0]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`edt read -- '-x y.txt'`"), "{hint}");
}
