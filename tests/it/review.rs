//! Ways to lose bytes or truth that were found by reading the code, each shut.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::world::{EDT, World, lines, same};

const LOCK: &str = ".git/refs/heads/edt/main-1.lock";

/// A session with one edit of `a.txt`.
fn session() -> World {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.overwrite("a.txt", "two\n");
    world
}

/// Starts edt, which then waits for the branch's lock with its files swapped.
fn waiting(world: &World, args: &[&str]) -> Child {
    fs::write(world.root.join(LOCK), b"").unwrap();
    let child = world.command(EDT).args(args).arg("--json").stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child
}

/// What it answered in the end.
fn answer(child: Child) -> serde_json::Value {
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

/// Every file below edt's folder, as text.
fn kept(world: &World) -> String {
    let stage = world.root.join(".git/edt/main/stage");
    let files = fs::read_dir(stage).unwrap().map(|entry| entry.unwrap().path());
    files.filter_map(|path| fs::read_to_string(path).ok()).collect()
}

#[test]
fn what_redo_records_first_stays_reachable() {
    let world = session();
    world.edt(&["undo"]).landed();
    world.write("a.txt", "a person's\n");
    let checkpoint =
        world.edt(&["redo"]).landed().json["checkpoints"][0].as_str().unwrap().to_owned();
    assert_eq!(world.blob(&format!("{checkpoint}:a.txt")), b"a person's\n");
    assert_ne!(world.git(&["for-each-ref", "--contains", &checkpoint]), "");
    assert_eq!(world.text("a.txt"), "two\n");
}

#[test]
fn a_garbage_collection_between_objects_and_ref_takes_no_large_object() {
    // Not compressible, and larger than what the journal carries.
    let mut seed = 7_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((seed >> 33) % 26).unwrap())
    };
    let large: String = (0..400_000).map(|i| if i % 80 == 79 { '\n' } else { noise() }).collect();
    let world = session();
    world.write("a.txt", &large);
    let child = waiting(&world, &["apply", "a.txt", "--mode", "append", "--content", "more\n"]);
    world.git(&["prune", "--expire=now"]);
    fs::remove_file(world.root.join(LOCK)).unwrap();
    assert_eq!(answer(child)["status"], "applied");
    world.is_sound();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), large);
}

#[test]
fn what_a_person_writes_while_a_call_fails_stays() {
    let world = session();
    let child = waiting(&world, &["apply", "a.txt", "--mode", "append", "--content", "three\n"]);
    world.write("a.txt", "a person's\n");
    assert_eq!(answer(child)["errors"][0]["code"], "SESSION_BUSY");
    assert_eq!(world.text("a.txt"), "a person's\n");
    assert!(kept(&world).contains("two\n"), "what was displaced is kept");
}

#[test]
fn a_write_through_an_open_file_during_the_call_is_kept_and_said() {
    let world = session();
    let mut open = fs::File::options().append(true).open(world.root.join("a.txt")).unwrap();
    let child = waiting(&world, &["apply", "a.txt", "--mode", "append", "--content", "three\n"]);
    open.write_all(b"late\n").unwrap();
    fs::remove_file(world.root.join(LOCK)).unwrap();
    let answer = answer(child);
    assert_eq!(
        (&answer["status"], &answer["warnings"][0]["code"]),
        (&json!("applied"), &json!("written_meanwhile"))
    );
    assert!(kept(&world).contains("late\n"));
}

#[test]
fn an_unmerged_path_is_left_to_a_person() {
    let world = session();
    for (stage, text) in [("1", "base\n"), ("2", "ours\n"), ("3", "theirs\n")] {
        world.write("blob", text);
        let oid = world.git(&["hash-object", "-w", "blob"]);
        let entry = format!("100644 {} {stage}\ta.txt", oid.trim());
        world.write("entry", entry + "\n");
        let mut update = world.command("git");
        let input = fs::File::open(world.root.join("entry")).unwrap();
        assert!(
            update.args(["update-index", "--index-info"]).stdin(input).status().unwrap().success()
        );
    }
    world.refuses(
        &["REPOSITORY_BUSY"],
        3,
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
    );
}

#[test]
fn a_git_folder_under_another_name_is_still_one() {
    let world = World::with(&[("a.txt", b"one\n")]);
    world.git(&["init", "--quiet", "--separate-git-dir=meta"]);
    let config = world.read("meta/config");
    for path in ["meta/config", "meta/hooks/pre-commit"] {
        let answer = world.edt(&["apply", path, "--mode", "create", "--content", "x\n"]);
        assert_eq!((answer.codes(), answer.exit), (vec!["PATH_IN_GIT_DIR"], 1));
    }
    assert_eq!((world.read("meta/config"), world.exists("meta/hooks/pre-commit")), (config, false));
}

#[test]
fn two_worktrees_do_not_share_a_session() {
    let world = World::with(&[("a.txt", b"one\n")]);
    let side = world.root.with_file_name("side");
    world.git(&["worktree", "add", "--quiet", "--detach", side.to_str().unwrap()]);
    let side = world.at(side);
    side.edt(&["begin", "shared", "--no-switch"]).landed();
    side.overwrite("a.txt", "two\n");
    world.git(&["switch", "--quiet", "edt/shared"]);
    world.refuses(
        &["SESSION_BUSY"],
        3,
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
    );
    side.refuses(&["SESSION_BUSY"], 3, &["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
}

#[test]
fn a_file_does_not_replace_a_folder_behind_the_indexs_back() {
    let world = World::with(&[("d/x.txt", b"x\n"), ("a.txt", b"a\n")]);
    fs::remove_dir_all(world.root.join("d")).unwrap();
    world.refuses(&["NOT_A_FILE"], 1, &["apply", "d", "--mode", "create", "--content", "x\n"]);
    fs::remove_file(world.root.join("a.txt")).unwrap();
    world.refuses(
        &["NOT_A_FILE"],
        1,
        &["apply", "a.txt/f", "--mode", "create", "--content", "x\n"],
    );
}

#[test]
fn bytes_that_are_not_text_are_written_as_sent() {
    let world = World::with(&[("p.png", b"\x80BIN\0\nabc\n")]);
    let sent = b"\x89PNG\r\n\x1a\n\0data";
    let home = world.home.join("sent");
    fs::write(&home, sent).unwrap();
    world.edt(&["apply", "p.png", "--mode", "overwrite", "--content-file", home.to_str().unwrap()]);
    assert_eq!(world.read("p.png"), sent);
}

#[test]
fn two_files_that_change_places_are_both_told_of() {
    let world = World::with(&[("a", b"a\n"), ("b", b"b\n")]);
    let rename = |path: &str, to: &str| json!({"path": path, "mode": "rename", "to": to});
    let answer = world
        .apply(&json!({"edits": [rename("a", "t"), rename("b", "a"), rename("t", "b")]}))
        .landed();
    let paths: Vec<_> =
        answer.json["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(
        (world.text("a"), world.text("b"), paths),
        ("b\n".into(), "a\n".into(), vec![json!("a"), json!("b")])
    );
}

#[test]
fn a_text_that_overlaps_itself_is_ambiguous_at_once() {
    let world = World::with(&[("a.txt", "a".repeat(3_000_000).as_bytes())]);
    let old = "a".repeat(1_000_000);
    let answer =
        world.apply(&json!({"path": "a.txt", "mode": "edit", "old_text": old, "content": "b"}));
    assert_eq!(
        (answer.codes(), &answer.errors()[0]["evidence"]["truncated"]),
        (vec!["OLD_TEXT_AMBIGUOUS"], &json!(true))
    );
}

#[test]
fn a_belief_follows_a_rename_of_the_same_request() {
    let world = World::with(&[("a", b"one\n")]);
    let hash = world.rev("HEAD:a");
    let edits = json!({"edits": [
        {"path": "a", "mode": "rename", "to": "c"},
        {"path": "c", "mode": "append", "content": "two\n", "expected_hash": hash},
    ]});
    world.apply(&edits).landed();
    assert_eq!(world.text("c"), "one\ntwo\n");
}

#[test]
fn a_persons_policy_that_cannot_be_read_is_never_skipped() {
    let world = World::with(&[("a.txt", b"one\n")]);
    fs::create_dir_all(world.home.join(".config/edt")).unwrap();
    fs::write(
        world.home.join(".config/edt/edt.toml"),
        b"[[protect]]\npaths = [\"a.txt\"] # \xff\n",
    )
    .unwrap();
    world.refuses(&["IO_ERROR"], 5, &["apply", "a.txt", "--mode", "append", "--content", "x\n"]);
}

#[test]
fn a_restore_does_not_get_around_a_protected_path() {
    let world =
        World::with(&[("a.txt", b"one\n"), ("edt.toml", b"[[protect]]\npaths = [\"a.txt\"]\n")]);
    world.edt(&["begin"]).landed();
    world.write("a.txt", "a person's\n");
    world.git(&["commit", "--quiet", "-am", "by hand"]);
    world.refuses(&["PROTECTED_PATH"], 1, &["restore", "a.txt"]);
}

#[test]
fn a_session_cannot_begin_from_a_policy_that_a_session_wrote() {
    let world = World::with(&[
        ("a.txt", lines(200).as_bytes()),
        ("edt.toml", b"[guards.size_reduction]\noverride = \"never\"\n"),
    ]);
    world.overwrite("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    world.refuses(&["PROTECTED_PATH"], 1, &["begin", "looser"]);
}

#[test]
fn a_restart_brings_no_file_of_a_session_into_another_branch() {
    let world = session();
    world.edt(&["apply", "new.txt", "--mode", "create", "--content", "x\n"]).landed();
    world.git(&["switch", "--quiet", "main"]);
    let files = world.files();
    let journal = world.root.join(".git/edt/main/journal");
    std::os::unix::fs::FileExt::write_all_at(
        &fs::File::options().write(true).open(journal).unwrap(),
        &[0xee; 16],
        36,
    )
    .unwrap();
    world.edt(&["status"]);
    same(&files, &world.files());
    world.git(&["branch", "--quiet", "-D", "edt/main-1"]);
    world.edt(&["status"]);
    assert!(!world.try_git(&["rev-parse", "--verify", "edt/main-1"]).status.success());
}

#[test]
fn a_link_put_in_place_during_the_call_stays() {
    let world = session();
    // Held before the swap: the link stands there when edt comes to exchange the file.
    fs::write(world.root.join(".git/index.lock"), b"").unwrap();
    let mut edt = world.command(EDT);
    let args = ["apply", "a.txt", "--mode", "append", "--content", "three\n", "--json"];
    let child = edt.args(args).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    fs::remove_file(world.root.join("a.txt")).unwrap();
    std::os::unix::fs::symlink("elsewhere", world.root.join("a.txt")).unwrap();
    fs::remove_file(world.root.join(".git/index.lock")).unwrap();
    assert_eq!(answer(child)["errors"][0]["code"], "HASH_MISMATCH");
    assert_eq!(fs::read_link(world.root.join("a.txt")).unwrap().to_str(), Some("elsewhere"));
}

/// Kills edt while it waits for `index.lock`: the journal is written, no file is swapped.
fn killed_before_the_swap(world: &World, args: &[&str]) {
    fs::write(world.root.join(".git/index.lock"), b"").unwrap();
    let mut edt = world.command(EDT);
    let mut child = edt.args(args).arg("--json").stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(world.root.join(".git/index.lock")).unwrap();
}

#[test]
fn the_same_bytes_written_by_hand_after_a_kill_stay_and_wedge_nothing() {
    let world = session();
    killed_before_the_swap(&world, &["apply", "b.txt", "--mode", "create", "--content", "new\n"]);
    world.write("b.txt", "new\n");
    assert_eq!(world.edt(&["status"]).exit, 0);
    assert_eq!(world.text("b.txt"), "new\n");
    killed_before_the_swap(&world, &["apply", "a.txt", "--mode", "append", "--content", "new\n"]);
    world.write("a.txt", "two\nnew\n");
    assert_eq!(world.edt(&["status"]).exit, 0);
    assert_eq!(
        (world.text("a.txt"), world.edt(&["status"]).json["settled"].clone()),
        ("two\nnew\n".into(), json!(null))
    );
    world.overwrite("a.txt", "three\n");
}

#[test]
fn a_blank_ref_after_a_power_cut_is_written_again() {
    let world = session();
    world.edt(&["undo"]).landed();
    let undone = world.rev("refs/edt/main-1/undone/1");
    fs::write(world.root.join(".git/refs/edt/main-1/undone/1"), b"").unwrap();
    let journal =
        fs::File::options().write(true).open(world.root.join(".git/edt/main/journal")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&journal, &[0xee; 16], 36).unwrap();
    assert_eq!(world.edt(&["status"]).exit, 0);
    assert_eq!(world.rev("refs/edt/main-1/undone/1"), undone);
    world.edt(&["redo"]).landed();
}

#[test]
fn a_restart_writes_no_log_twice() {
    let world = session();
    world.overwrite("a.txt", "three\n");
    world.git(&["switch", "--quiet", "main"]);
    let logs = || world.snapshot().into_iter().filter(|(name, _)| name.contains(" log ")).collect();
    let before = logs();
    let journal =
        fs::File::options().write(true).open(world.root.join(".git/edt/main/journal")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&journal, &[0xee; 16], 36).unwrap();
    assert_eq!(world.edt(&["status"]).exit, 0);
    same(&before, &logs());
}
