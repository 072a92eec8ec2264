//! What a person has not recorded is recorded first, and undo gives back exactly those bytes and touches nothing else.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::world::{World, changed, same};

/// Two tracked files, `a.txt` and `b.txt`, and an ignored one.
fn world() -> World {
    let world = World::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n"), (".gitignore", b"*.log\n")]);
    world.write("build.log", "ignored\n");
    world
}

/// Every blob that was ever at `path` in the history of HEAD.
fn history(world: &World, path: &str) -> Vec<String> {
    let commits = world.git(&["log", "--format=%H", "HEAD"]);
    let blob = |commit: &str| world.try_git(&["cat-file", "blob", &format!("{commit}:{path}")]);
    commits
        .lines()
        .map(blob)
        .filter(|done| done.status.success())
        .map(|done| String::from_utf8(done.stdout).unwrap())
        .collect()
}

#[test]
fn unstaged_bytes_are_recorded_first_and_come_back() {
    let world = world();
    world.write("a.txt", "one\na person's line\n");
    let answer = world.overwrite("a.txt", "an agent's\n");
    assert_eq!((answer.checkpoints(), &answer.json["edit"]), (1, &json!(1)));
    assert_eq!(history(&world, "a.txt"), ["an agent's\n", "one\na person's line\n", "one\n"]);
    assert_eq!(
        world.git(&["log", "--format=%(trailers:key=Edt-Kind,valueonly,separator=)", "main..HEAD"]),
        "edit\ncheckpoint\n"
    );
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "one\na person's line\n");
    world.is_clean();
    world.is_sound();
}

#[test]
fn staged_bytes_are_recorded_first_and_come_back() {
    let world = world();
    world.write("a.txt", "staged\n");
    world.git(&["add", "a.txt"]);
    assert_eq!(world.overwrite("a.txt", "an agent's\n").checkpoints(), 1);
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "staged\n");
    world.is_clean();
}

#[test]
fn staged_bytes_that_are_nowhere_on_disk_stay_reachable() {
    let world = world();
    world.write("a.txt", "only in the index\n");
    world.git(&["add", "a.txt"]);
    world.write("a.txt", "only on disk\n");
    assert_eq!(world.overwrite("a.txt", "an agent's\n").checkpoints(), 2);
    assert_eq!(
        history(&world, "a.txt"),
        ["an agent's\n", "only on disk\n", "only in the index\n", "one\n"]
    );
    assert!(world.git(&["log", "-p", "edt/main-1"]).contains("+only in the index"));
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "only on disk\n");
    world.is_clean();
}

#[test]
fn a_file_that_a_person_deleted_is_gone_again_after_undo() {
    let world = world();
    std::fs::remove_file(world.root.join("a.txt")).unwrap();
    world.unchanged(&["FILE_NOT_FOUND"], 1, || {
        world.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"])
    });
    let answer =
        world.edt(&["apply", "a.txt", "--mode", "create", "--content", "an agent's\n"]).landed();
    assert_eq!(answer.checkpoints(), 1);
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert!(!world.exists("a.txt"));
    world.is_clean();
}

#[test]
fn a_mode_bit_that_a_person_set_is_kept_and_recorded() {
    let world = world();
    let path = world.root.join("a.txt");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(world.overwrite("a.txt", "an agent's\n").checkpoints(), 1);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(world.git(&["ls-tree", "--format=%(objectmode)", "HEAD", "a.txt"]), "100755\n");
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert_eq!(
        (world.text("a.txt").as_str(), path.metadata().unwrap().permissions().mode() & 0o777),
        ("one\n", 0o755)
    );
    world.edt(&["undo", "--to", "main"]).landed();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    world.is_clean();
}

#[test]
fn an_untracked_file_is_recorded_first_and_comes_back() {
    let world = world();
    world.write("notes.txt", "nobody recorded this\n");
    assert_eq!(world.overwrite("notes.txt", "an agent's\n").checkpoints(), 1);
    world.is_clean();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("notes.txt"), "nobody recorded this\n");
}

#[test]
fn what_is_unrecorded_in_other_paths_stays_as_it_is() {
    let world = World::with(&[
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        ("c.txt", b"c\n"),
        ("d.txt", b"d\n"),
    ]);
    world.write("b.txt", "staged\n");
    world.git(&["add", "b.txt"]);
    world.write("b.txt", "and more on disk\n");
    world.git(&["rm", "--quiet", "--cached", "c.txt"]);
    world.write("new.txt", "new\n");
    world.git(&["add", "--intent-to-add", "new.txt"]);
    std::fs::remove_file(world.root.join("d.txt")).unwrap();
    let others = |world: &World| {
        let stage = world.git(&["ls-files", "--stage", "--debug"]);
        let at = stage.find("100644 ").unwrap();
        // Everything after the entry of a.txt, which is first.
        let next = stage[at + 1..].find("100644 ").unwrap() + at + 1;
        (stage[next..].to_owned(), world.status())
    };
    let before = others(&world);
    world.overwrite("a.txt", "two\n");
    assert_eq!(others(&world), before);
    world.edt(&["undo"]).landed();
    assert_eq!(others(&world), before);
    world.is_sound();
}

#[test]
fn undo_and_redo_walk_the_edits_and_keep_what_was_undone() {
    let world = world();
    let states = ["one\n", "two\n", "three\n", "four\n"];
    states[1..].iter().for_each(|text| drop(world.overwrite("a.txt", text)));
    let tip = world.rev("HEAD");
    let stands = |text: &str| {
        assert_eq!(world.text("a.txt"), text);
        world.is_clean();
    };
    world.edt(&["undo"]).landed();
    stands("three\n");
    world.edt(&["redo"]).landed();
    stands("four\n");
    assert_eq!(world.rev("HEAD"), tip);
    world.unchanged(&["NOTHING_TO_REDO"], 1, || world.edt(&["redo"]));

    let answer = world.edt(&["undo", "3"]).landed();
    stands("one\n");
    assert_eq!(answer.commit(), world.rev("main"));
    assert_eq!(answer.json["edit"], json!(0));
    world.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    let undone = world.git(&["for-each-ref", "--format=%(objectname)", "refs/edt/main-1/undone/"]);
    assert!(undone.lines().any(|oid| oid == tip), "{undone}");

    world.edt(&["redo"]).landed();
    stands("four\n");
    world.edt(&["undo", "--to", "HEAD~2"]).landed();
    stands("two\n");
    world.refuses(&["NOTHING_TO_UNDO"], 1, &["undo", "5"]);

    world.overwrite("a.txt", "another way\n");
    world.refuses(&["NOTHING_TO_REDO"], 1, &["redo"]);
    let undone = world.git(&["for-each-ref", "--format=%(objectname)", "refs/edt/main-1/undone/"]);
    assert!(undone.lines().any(|oid| oid == tip), "the way not taken is still there: {undone}");
    world.is_sound();
}

#[test]
fn two_undos_are_taken_back_by_two_redos() {
    let world = world();
    ["two\n", "three\n", "four\n"].iter().for_each(|text| drop(world.overwrite("a.txt", text)));
    for text in ["three\n", "two\n"] {
        world.edt(&["undo"]).landed();
        assert_eq!(world.text("a.txt"), text);
    }
    for text in ["three\n", "four\n"] {
        world.edt(&["redo"]).landed();
        assert_eq!(world.text("a.txt"), text);
    }
}

#[test]
fn undo_touches_no_other_file() {
    let world = world();
    world.overwrite("a.txt", "two\n");
    world.write("untracked.txt", "results\n");
    world.write("deep/untracked.txt", "results\n");
    world.write(".gitignore", "*.log\n*.tmp\n");
    world.write("b.txt", "a person is at work here\n");
    world.write("x.tmp", "ignored too\n");
    let before = world.files();
    world.edt(&["undo"]).landed();
    let now = changed(&before, &world.files());
    assert_eq!(now, ["a.txt: \"644 two\\n\" -> \"644 one\\n\""]);
}

#[test]
fn undo_records_first_what_a_person_did_to_the_same_file() {
    let world = world();
    world.overwrite("a.txt", "two\n");
    world.write("a.txt", "two\nand a person's line\n");
    let answer = world.edt(&["undo"]).landed();
    assert_eq!((world.text("a.txt").as_str(), answer.checkpoints()), ("one\n", 1));
    world.is_clean();
    let kept = world.git(&["log", "-p", "--all", "--format="]);
    assert!(kept.contains("+and a person's line"), "{kept}");
    world.edt(&["redo"]).landed();
    assert_eq!(world.text("a.txt"), "two\nand a person's line\n");
    world.is_clean();
}

#[test]
fn undo_does_not_take_back_a_persons_own_commit() {
    let world = world();
    world.overwrite("a.txt", "two\n");
    world.commit(&[("b.txt", b"a person's\n")]);
    let answer = world.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    assert!(answer.hint().contains("git reset --keep"), "{}", answer.hint());
}

#[test]
fn restore_sets_one_file_to_what_it_was_before_one_of_its_edits() {
    let world = world();
    world.overwrite("a.txt", "two\n");
    world.overwrite("b.txt", "b two\n");
    world.overwrite("a.txt", "three\n");
    world.edt(&["restore", "a.txt"]).landed();
    assert_eq!(world.text("a.txt"), "two\n");
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "three\n");
    world.edt(&["restore", "a.txt", "--revision", "1"]).landed();
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("one\n", "b two\n"));
    assert_eq!(
        world.git(&["log", "-1", "--format=%(trailers:key=Edt-Kind,valueonly,separator=)"]),
        "restore\n"
    );
    world.refuses(&["NOTHING_TO_UNDO"], 1, &["restore", "a.txt", "--revision", "9"]);
    world.refuses(&["NOTHING_TO_UNDO"], 1, &["restore", ".gitignore"]);
    world.is_clean();
    world.is_sound();
}

#[test]
fn restore_brings_back_a_deleted_file_and_takes_away_a_created_one() {
    let world = world();
    world.edt(&["apply", "a.txt", "--mode", "delete"]).landed();
    world.edt(&["restore", "a.txt"]).landed();
    assert_eq!(world.text("a.txt"), "one\n");
    world.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]).landed();
    world.edt(&["restore", "new.txt"]).landed();
    assert!(!world.exists("new.txt"));
    world.is_clean();
}

#[test]
fn a_rename_is_undone_as_one_edit_with_its_mode_bit() {
    let world = World::with(&[("run.sh", b"#!/bin/sh\n")]);
    std::fs::set_permissions(world.root.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    world.commit(&[]);
    let before = world.files();
    let request = json!({"edits": [
        {"path": "run.sh", "mode": "rename", "to": "bin/go.sh"},
        {"path": "bin/go.sh", "mode": "append", "content": "exit 0\n"},
    ]});
    world.apply(&request).landed();
    assert_eq!(world.text("bin/go.sh"), "#!/bin/sh\nexit 0\n");
    assert_eq!(
        world.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]),
        "100755 bin/go.sh\n"
    );
    assert_eq!(world.git(&["rev-list", "--count", "main..HEAD"]), "1\n");
    world.is_clean();
    world.edt(&["undo"]).landed();
    let mut after = world.files();
    after.remove("bin");
    same(&before, &after);
    world.is_clean();
}

#[test]
fn without_switching_undo_works_beside_head() {
    let world = world();
    world.edt(&["begin", "apart", "--no-switch"]);
    let head = world.rev("HEAD");
    world.overwrite("a.txt", "two\n");
    world.overwrite("a.txt", "three\n");
    assert_eq!((world.rev("HEAD"), world.status().as_str()), (head.clone(), " M a.txt\n"));
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "two\n");
    world.edt(&["undo"]).landed();
    assert_eq!((world.rev("HEAD"), world.status().as_str()), (head, ""));
    world.edt(&["redo"]).landed();
    assert_eq!(world.text("a.txt"), "two\n");
}
