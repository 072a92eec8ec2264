//! Sessions side by side, what was changed outside edt, leaving a session, and housekeeping.

use serde_json::{Value, json};

use crate::world::{Answer, World};

fn world() -> World {
    World::with(&[
        ("a.txt", b"a\n"),
        ("b.txt", b"b\n"),
        ("dir/c.txt", b"c\n"),
        (".gitignore", b"*.log\n"),
    ])
}

fn session<'a>(answer: &'a Answer, name: &str) -> &'a Value {
    let all = answer.json["sessions"].as_array().unwrap();
    all.iter()
        .find(|one| one["name"] == json!(name))
        .unwrap_or_else(|| panic!("no session {name}: {all:#?}"))
}

fn trailer(world: &World, rev: &str, key: &str) -> String {
    world
        .git(&["log", "-1", &format!("--format=%(trailers:key={key},valueonly,separator=)"), rev])
        .trim()
        .to_owned()
}

#[test]
fn a_checkpoint_records_what_is_tracked_and_new_and_not_ignored() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.write("a.txt", "changed\n");
    world.write("new/deep/file.txt", "new\n");
    world.write("noise.log", "ignored\n");
    std::fs::remove_file(world.root.join("b.txt")).unwrap();
    let answer = world.edt(&["checkpoint", "-m", "by hand"]).landed();
    assert_eq!(
        world.git(&["show", "--format=%s", "--name-status", "HEAD"]),
        "by hand\n\nM\ta.txt\nD\tb.txt\nA\tnew/deep/file.txt\n"
    );
    assert_eq!(answer.json["files"].as_array().unwrap().len(), 3);
    assert_eq!(
        (trailer(&world, "HEAD", "Edt-Kind"), trailer(&world, "HEAD", "Edt-Foreign")),
        ("checkpoint".into(), String::new())
    );
    assert!(world.exists("noise.log"));
    world.is_clean();
    world.is_sound();
    assert_eq!(world.edt(&["checkpoint"]).json["status"], json!("unchanged"));
}

#[test]
fn a_checkpoint_of_some_paths_leaves_the_others_as_they_are() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.write("a.txt", "changed\n");
    world.write("dir/c.txt", "changed\n");
    world.write("dir/new.txt", "new\n");
    world.edt(&["checkpoint", "dir"]).landed();
    assert_eq!(world.status(), " M a.txt\n");
    world.refuses(&["FILE_NOT_FOUND"], 1, &["checkpoint", "nowhere.txt"]);
    world.refuses(&["PATH_OUTSIDE_REPO"], 1, &["checkpoint", "../x"]);
}

#[test]
fn a_checkpoint_without_a_session_begins_one() {
    let world = world();
    world.write("a.txt", "changed\n");
    let answer = world.edt(&["checkpoint"]).landed();
    assert_eq!(answer.json["session"]["began"], json!(true));
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/edt/main-1");
    world.is_clean();
}

#[test]
fn a_checkpoint_beside_head_records_what_edt_did_not() {
    let world = world();
    world.edt(&["begin", "s", "--no-switch"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.write("b.txt", "hand\n");
    world.edt(&["checkpoint"]).landed();
    assert_eq!(world.git(&["show", "--format=", "--name-only", "edt/s"]).trim(), "b.txt");
    assert_eq!(world.status(), " M a.txt\n M b.txt\n");
    assert_eq!(world.edt(&["checkpoint"]).json["status"], json!("unchanged"));
}

/// Once a path that is ignored answered "unchanged", and the worktree itself was no path at all.
#[test]
fn a_checkpoint_records_an_ignored_file_that_is_named_and_everything_below_the_root() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.write("noise.log", "wanted\n");
    world.write("logs/one.log", "x\n");
    let answer = world.edt(&["checkpoint", "logs"]);
    assert_eq!(
        (&answer.json["status"], &answer.json["warnings"][0]["path"]),
        (&json!("unchanged"), &json!("logs"))
    );
    let told = world.command(crate::world::EDT).args(["checkpoint", "logs"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&told.stdout).contains("nothing to record"));
    world.edt(&["checkpoint", "noise.log"]).landed();
    assert_eq!(world.blob("HEAD:noise.log"), b"wanted\n");
    world.write("a.txt", "changed\n");
    world.write("dir/new.txt", "new\n");
    assert_eq!(world.edt(&["checkpoint", "."]).landed().json["files"].as_array().unwrap().len(), 2);
    world.is_clean();
}

/// Once only the new name of a rename was listed, and the old one stayed in the session.
#[test]
fn a_checkpoint_records_both_sides_of_a_rename() {
    let world = world();
    world.write("dir/c.txt", crate::world::lines(30));
    world.git(&["commit", "--quiet", "--all", "-m", "enough to be recognised"]);
    world.edt(&["begin", "s"]).landed();
    world.git(&["mv", "dir/c.txt", "moved.txt"]);
    assert_eq!(world.edt(&["status"]).json["uncommitted"], json!(["dir/c.txt", "moved.txt"]));
    world.edt(&["checkpoint"]).landed();
    assert_eq!(
        world.git(&["show", "--format=", "--no-renames", "--name-status", "HEAD"]),
        "D\tdir/c.txt\nA\tmoved.txt\n"
    );
    world.is_clean();
}

/// Once the name was made lossy before it was looked for, and the file was left out without a word.
#[test]
fn a_checkpoint_records_names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = world();
    world.edt(&["begin", "s"]).landed();
    std::fs::write(world.root.join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), "new\n").unwrap();
    assert_eq!(world.edt(&["status"]).json["uncommitted"].as_array().unwrap().len(), 1);
    world.edt(&["checkpoint"]).landed();
    assert_eq!(world.git(&["show", "--format=", "--name-only", "HEAD"]), "\"caf\\351.txt\"\n");
    world.is_clean();
}

#[test]
fn links_are_left_out_of_a_checkpoint_and_named() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    std::os::unix::fs::symlink("a.txt", world.root.join("link")).unwrap();
    world.write("a.txt", "changed\n");
    let answer = world.edt(&["checkpoint"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["path"]),
        (0, &json!("link")),
        "{:#}",
        answer.json
    );
    assert_eq!(world.status(), "?? link\n");
    assert_eq!(world.refuses(&["PATH_THROUGH_SYMLINK"], 1, &["checkpoint", "link"]).exit, 1);
}

#[test]
fn what_changed_behind_edts_back_becomes_a_foreign_checkpoint() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.write("a.txt", "agent\nand a person\n");
    world.write("b.txt", "a person\n");
    assert_eq!(
        world.edt(&["status"]).json["foreign"],
        json!(["a.txt"]),
        "b.txt is not the session's"
    );
    let answer =
        world.edt(&["apply", "a.txt", "--mode", "append", "--content", "agent again\n"]).landed();
    assert_eq!(answer.checkpoints(), 1);
    assert_eq!(
        (trailer(&world, "HEAD^", "Edt-Kind"), trailer(&world, "HEAD^", "Edt-Foreign")),
        ("checkpoint".into(), "true".into())
    );
    assert_eq!(world.blob("HEAD^:a.txt"), b"agent\nand a person\n");
    assert_eq!(world.status(), " M b.txt\n", "an untouched path is left alone");
}

#[test]
fn sessions_live_side_by_side_in_worktrees_of_their_own() {
    let world = world();
    let sides: Vec<World> = ["one", "two", "three"]
        .iter()
        .map(|name| {
            let place = world.home.join(name);
            world.edt(&["begin", name, "--worktree", place.to_str().unwrap()]).landed();
            world.at(place)
        })
        .collect();
    std::thread::scope(|scope| {
        for side in &sides {
            scope.spawn(move || {
                for n in 0..20 {
                    side.edt(&[
                        "apply",
                        "a.txt",
                        "--mode",
                        "append",
                        "--content",
                        &format!("{n}\n"),
                    ])
                    .landed();
                }
            });
        }
    });
    let status = world.edt(&["status"]);
    for (side, name) in sides.iter().zip(["one", "two", "three"]) {
        side.is_clean();
        assert_eq!(side.edt(&["status"]).json["edits"], json!(20));
        assert_eq!(session(&status, name)["worktree"], json!(side.root.canonicalize().unwrap()));
        // The session of another worktree is not to be worked in from here.
        assert!(
            !world.try_git(&["switch", &format!("edt/{name}")]).status.success(),
            "git itself refuses"
        );
    }
    assert_eq!((status.json["session"].clone(), world.status().as_str()), (json!(null), ""));
    world.is_sound();
}

#[test]
fn a_worktree_is_not_made_where_something_is() {
    let world = world();
    std::fs::create_dir(world.home.join("full")).unwrap();
    std::fs::write(world.home.join("full/x"), "x").unwrap();
    world.refuses(
        &["BAD_REQUEST"],
        2,
        &["begin", "s", "--worktree", world.home.join("full").to_str().unwrap()],
    );
    std::fs::write(world.home.join("file"), "x").unwrap();
    world.refuses(
        &["IO_ERROR"],
        5,
        &["begin", "s", "--worktree", world.home.join("file/below").to_str().unwrap()],
    );
}

#[test]
fn undo_in_one_session_takes_nothing_from_another() {
    let world = world();
    let place = world.home.join("side");
    world.edt(&["begin", "other", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    world.edt(&["begin", "own"]).landed();
    world.overwrite("a.txt", "own\n");
    side.overwrite("a.txt", "other\n");
    world.edt(&["undo"]).landed();
    assert_eq!((world.text("a.txt").as_str(), side.text("a.txt").as_str()), ("a\n", "other\n"));
    world.refuses(&["NOTHING_TO_UNDO"], 1, &["undo"]);
    assert_eq!(side.edt(&["status"]).json["edits"], json!(1));
}

#[test]
fn abandon_goes_back_to_the_files_as_they_were_and_keeps_the_work() {
    let world = world();
    world.write("a.txt", "a person's, not recorded\n");
    world.write("untracked.txt", "a person's\n");
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.overwrite("b.txt", "agent\n");
    world.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]).landed();
    let tip = world.rev("HEAD");
    world.edt(&["abandon"]).landed();
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!(
        (world.text("a.txt").as_str(), world.status().as_str()),
        ("a person's, not recorded\n", " M a.txt\n?? untracked.txt\n")
    );
    assert_eq!(world.rev("refs/edt/s/abandoned"), tip);
    assert!(!world.try_git(&["rev-parse", "--verify", "refs/heads/edt/s"]).status.success());
    assert_eq!(session(&world.edt(&["status"]), "s")["state"], json!("abandoned"));
    world.is_sound();
    // What --help says brings it back.
    world.git(&["checkout", "--quiet", "a.txt"]);
    world.git(&["branch", "edt/s", "refs/edt/s/abandoned"]);
    world.git(&["switch", "--quiet", "edt/s"]);
    assert_eq!(
        (world.text("new.txt").as_str(), world.edt(&["status"]).json["edits"].as_u64()),
        ("new\n", Some(3))
    );
    world.overwrite("b.txt", "more\n");
    world.edt(&["abandon"]).landed();
    assert_eq!(world.blob("refs/edt/s/abandoned:b.txt"), b"more\n");
    assert_eq!(world.rev("refs/edt/s/undone/1"), tip);
}

/// Once the earlier tip had been moved to the undone ones before anything could fail.
#[test]
fn an_abandon_that_fails_leaves_what_an_earlier_one_kept() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.edt(&["abandon"]).landed();
    world.git(&["branch", "edt/s", "main"]);
    world.git(&["switch", "--quiet", "edt/s"]);
    world.overwrite("b.txt", "agent\n");
    let lock = world.root.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    world.refuses(&["REPOSITORY_BUSY"], 3, &["abandon"]);
    std::fs::remove_file(lock).unwrap();
    let (earlier, tip) = (world.rev("refs/edt/s/abandoned"), world.rev("edt/s"));
    world.edt(&["abandon"]).landed();
    assert_eq!(
        (world.rev("refs/edt/s/undone/1"), world.rev("refs/edt/s/abandoned")),
        (earlier, tip)
    );
}

#[test]
fn abandon_records_what_a_person_changed_in_the_sessions_files_first() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.write("a.txt", "agent\nand a person\n");
    assert_eq!(world.edt(&["abandon"]).landed().checkpoints(), 1);
    assert_eq!(world.blob("refs/edt/s/abandoned:a.txt"), b"agent\nand a person\n");
    assert_eq!(world.text("a.txt"), "a\n");
    world.is_clean();
}

/// Once `SESSION_BUSY`, always: the base branch is checked out in the worktree that the session was begun from.
#[test]
fn abandon_in_a_worktree_of_its_own_detaches_its_head() {
    let world = world();
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    side.overwrite("a.txt", "agent\n");
    world.commit(&[("b.txt", b"moved\n")]);
    let tip = world.rev("edt/s");
    let answer = side.edt(&["abandon"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["code"]),
        (0, &json!("head_detached")),
        "{:#}",
        answer.json
    );
    assert_eq!(
        (side.rev("HEAD"), side.git(&["branch", "--show-current"])),
        (world.rev("main"), String::new())
    );
    assert_eq!((side.text("a.txt").as_str(), side.text("b.txt").as_str()), ("a\n", "moved\n"));
    assert_eq!((world.rev("refs/edt/s/abandoned"), world.text("a.txt").as_str()), (tip, "a\n"));
    side.is_clean();
    world.is_sound();
    // What the warning says.
    world.git(&["worktree", "remove", place.to_str().unwrap()]);
}

#[test]
fn abandon_goes_back_to_a_detached_head_and_to_an_unborn_branch() {
    let world = world();
    world.git(&["switch", "--quiet", "--detach"]);
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.edt(&["abandon"]).landed();
    assert_eq!(
        (world.rev("HEAD"), world.git(&["branch", "--show-current"])),
        (world.rev("main"), String::new())
    );
    assert_eq!(world.text("a.txt"), "a\n");
    world.is_clean();
    let unborn = World::unborn(&[]);
    unborn.write("mine.txt", "a person's\n");
    unborn.edt(&["begin", "s"]).landed();
    unborn.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]).landed();
    unborn.edt(&["abandon"]).landed();
    assert_eq!(
        (unborn.git(&["symbolic-ref", "HEAD"]).trim(), unborn.status().as_str()),
        ("refs/heads/main", "?? mine.txt\n")
    );
    unborn.is_sound();
}

/// Once `NOT_A_FILE`, and no way out.
#[test]
fn abandon_goes_to_the_base_where_the_branch_has_links_or_folders_instead_of_files() {
    for linked in [true, false] {
        let world = world();
        world.write("b.txt", "a person's\n");
        world.edt(&["begin", "s"]).landed();
        world.overwrite("a.txt", "agent\n");
        world.git(&["stash", "--quiet"]);
        world.git(&["switch", "--quiet", "main"]);
        std::fs::remove_file(world.root.join("dir/c.txt")).unwrap();
        if linked {
            std::os::unix::fs::symlink("../a.txt", world.root.join("dir/c.txt")).unwrap();
        }
        world.commit(if linked { &[] } else { &[("dir/c.txt/below.txt", b"below\n")] });
        world.git(&["switch", "--quiet", "edt/s"]);
        world.git(&["stash", "pop", "--quiet"]);
        let answer = world.edt(&["abandon"]);
        assert_eq!(
            (answer.exit, &answer.json["warnings"][0]["code"]),
            (0, &json!("head_detached")),
            "{:#}",
            answer.json
        );
        assert_eq!(world.rev("HEAD"), world.rev("main~1"));
        assert_eq!((world.text("a.txt").as_str(), world.status().as_str()), ("a\n", " M b.txt\n"));
        // What the warning says.
        assert!(
            answer.json["warnings"][0]["message"]
                .as_str()
                .unwrap()
                .ends_with("`git switch main` goes there.")
        );
        world.git(&["switch", "--quiet", "main"]);
        assert_eq!(world.status(), " M b.txt\n");
    }
}

/// Once the hint was to switch to a branch that abandoning had taken away.
#[test]
fn the_name_of_an_abandoned_session_is_taken_and_the_hint_brings_it_back() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.edt(&["abandon"]).landed();
    let hint = world.refuses(&["SESSION_EXISTS"], 1, &["begin", "s"]).hint().to_owned();
    for command in hint.split('`').filter(|part| part.starts_with("git ")) {
        world.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    }
    assert_eq!(world.text("a.txt"), "agent\n");
    assert!(
        world
            .refuses(&["SESSION_EXISTS"], 1, &["begin", "s"])
            .hint()
            .contains("`git switch edt/s`")
    );
}

/// Once every change of a link was told as an addition, without objects.
#[test]
fn links_are_told_as_what_became_of_them() {
    let world = world();
    let link =
        |name: &str, to: &str| std::os::unix::fs::symlink(to, world.root.join(name)).unwrap();
    link("gone", "a.txt");
    link("other", "a.txt");
    world.commit(&[]);
    world.edt(&["begin", "s"]).landed();
    ["gone", "other"].iter().for_each(|name| std::fs::remove_file(world.root.join(name)).unwrap());
    link("new", "b.txt");
    link("other", "b.txt");
    world.commit(&[]);
    let answer = world.edt(&["land"]);
    let told = |file: &Value| {
        (file["change"].clone(), file["hash_before"].is_string(), file["hash_after"].is_string())
    };
    let told: Vec<_> = answer.json["files"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(
        told,
        [
            (json!("deleted"), true, false),
            (json!("added"), false, true),
            (json!("modified"), true, true)
        ],
        "{:#}",
        answer.json
    );
}

#[test]
fn abandon_follows_a_branch_that_moved() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("b.txt", b"moved\n")]);
    world.git(&["switch", "--quiet", "edt/s"]);
    world.edt(&["abandon"]).landed();
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("a\n", "moved\n"));
    world.is_clean();
}

/// Once what stood there was recorded on the session that was put aside, and taken from the disk.
#[test]
fn abandon_writes_over_nothing_unrecorded_in_files_that_are_not_the_sessions() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("b.txt", b"moved\n"), ("new.txt", b"of main\n")]);
    world.git(&["switch", "--quiet", "edt/s"]);
    world.write("b.txt", "a person's\n");
    world.write("new.txt", "a person's\n");
    world.refuses(&["UNSAVED_CHANGES", "UNSAVED_CHANGES"], 3, &["abandon"]);
    world.git(&["add", "b.txt"]);
    world.write("b.txt", "b\n");
    world.write("new.txt", "of main\n");
    assert_eq!(
        world.refuses(&["UNSAVED_CHANGES"], 3, &["abandon"]).errors()[0]["path"],
        json!("b.txt")
    );
    // What the hint says: recorded, it is in the session, and the branch's own file may come.
    world.write("b.txt", "a person's\n");
    world.edt(&["checkpoint", "b.txt"]).landed();
    assert_eq!(world.edt(&["abandon"]).json["warnings"][0]["code"], json!("overtaken"));
    assert_eq!(world.blob("refs/edt/s/abandoned:b.txt"), b"a person's\n");
    world.is_clean();
}

#[test]
fn abandon_beside_head_takes_the_edits_off_the_disk() {
    let world = world();
    world.write("b.txt", "a person's\n");
    world.edt(&["begin", "s", "--no-switch"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.overwrite("b.txt", "agent\n");
    world.edt(&["abandon"]).landed();
    assert_eq!(
        (world.text("b.txt").as_str(), world.status().as_str()),
        ("a person's\n", " M b.txt\n")
    );
    assert_eq!(world.edt(&["status"]).json["session"], json!(null));
}

/// Once the other branch's files were recorded on the session and replaced.
#[test]
fn a_session_beside_head_leaves_the_files_of_another_branch_alone() {
    let world = world();
    world.git(&["switch", "--quiet", "-c", "other"]);
    world.commit(&[("a.txt", b"of another branch\n")]);
    world.git(&["switch", "--quiet", "main"]);
    world.edt(&["begin", "s", "--no-switch"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.git(&["checkout", "--quiet", "--force", "other"]);
    world.refuses(&["SESSION_MOVED"], 3, &["undo"]);
    world.refuses(&["SESSION_MOVED"], 3, &["abandon"]);
    // Either way that the hint names.
    world.edt(&["checkpoint", "a.txt"]).landed();
    world.edt(&["undo"]).landed();
    assert_eq!(world.text("a.txt"), "a\n");
    world.edt(&["redo"]).landed();
    world.git(&["checkout", "--quiet", "--force", "main"]);
    world.edt(&["abandon"]).landed();
    assert_eq!((world.text("a.txt").as_str(), world.status().as_str()), ("a\n", ""));
}

#[test]
fn gc_removes_what_has_ended_and_is_old_and_nothing_else() {
    let world = world();
    for (name, end) in [("first", "land"), ("second", "abandon")] {
        world.edt(&["begin", name]).landed();
        world.overwrite("a.txt", &format!("{name}\n"));
        world.edt(&[end]).landed();
    }
    world.edt(&["begin", "open"]).landed();
    world.overwrite("b.txt", "kept\n");
    world.overwrite("b.txt", "undone\n");
    world.edt(&["undo"]).landed();
    let before = world.snapshot();
    let dry = world.edt(&["gc", "--older-than", "0", "--dry-run"]);
    crate::world::same(&before, &world.snapshot());
    assert_eq!(world.edt(&["gc"]).json["refs"], json!([]), "everything is younger than 30 days");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let done = world.edt(&["gc", "--older-than", "0"]);
    assert_eq!(
        (done.json["sessions"].as_array().unwrap().len(), dry.json["schema"].as_str()),
        (2, Some("edt.gc/1"))
    );
    assert_eq!(done.json["after"]["loose"], json!(0));
    let left = world.git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(
        left,
        "refs/edt/open/base\nrefs/edt/open/origin\nrefs/heads/edt/open\nrefs/heads/main\n"
    );
    world.overwrite("b.txt", "and on\n");
    world.edt(&["undo"]).landed();
    world.is_clean();
    world.is_sound();
}

/// The names of the refs that begin with `prefix`.
fn refs(world: &World, prefix: &str) -> Vec<String> {
    world.git(&["for-each-ref", "--format=%(refname)", prefix]).lines().map(str::to_owned).collect()
}

/// Everything is old enough for `edt gc --older-than 0` from the next second on.
fn gc_of_everything(world: &World) -> Answer {
    std::thread::sleep(std::time::Duration::from_millis(1100));
    world.edt(&["gc", "--older-than", "0"])
}

/// Once it deleted all refs below `refs/edt/a/`, those of the living session `a/b` included.
#[test]
fn gc_of_a_session_leaves_those_whose_names_go_on_where_its_ends() {
    let world = world();
    world.edt(&["begin", "a"]).landed();
    world.overwrite("a.txt", "a\nagent\n");
    world.edt(&["abandon"]).landed();
    world.edt(&["begin", "a/b"]).landed();
    world.overwrite("b.txt", "kept\n");
    let before = refs(&world, "refs/edt/a/b/");
    let gone = gc_of_everything(&world);
    assert_eq!(gone.json["sessions"], json!([{"name": "a", "state": "abandoned"}]));
    assert_eq!((refs(&world, "refs/edt/"), before.len()), (before, 2));
    world.overwrite("b.txt", "and on\n");
}

/// Once the author's time was asked, which a rebase and a cherry-pick keep, and only that of the branch.
#[test]
fn gc_takes_the_age_from_when_the_newest_of_a_sessions_commits_was_made() {
    let world = world();
    let long_ago = |name: &str, undo: bool| {
        world.edt(&["begin", name]).landed();
        let aged = |committer: &str, text: &str| {
            let mut edit = world.command(crate::world::EDT);
            edit.env("GIT_AUTHOR_DATE", "1000000000 +0000").env("GIT_COMMITTER_DATE", committer);
            edit.args(["apply", "a.txt", "--mode", "overwrite", "--content", text, "--json"]);
            crate::world::run(edit, b"", &["apply"]).landed();
        };
        if undo {
            aged("1000000000 +0000", "old\n");
            world.overwrite("a.txt", "young\n");
            world.edt(&["undo"]).landed();
        } else {
            aged("1700000000 +0000", "made later\n");
            world.git(&["commit", "--quiet", "--amend", "--no-edit"]);
        }
        world.edt(&["abandon"]).landed();
    };
    long_ago("amended", false);
    long_ago("taken-back", true);
    let before = refs(&world, "refs/");
    assert_eq!(world.edt(&["gc"]).json["refs"], json!([]));
    assert_eq!(refs(&world, "refs/"), before);
}

#[test]
fn gc_keeps_a_landed_session_that_no_branch_holds_any_more() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    world.edt(&["land"]).landed();
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let before = refs(&world, "refs/");
    assert_eq!(gc_of_everything(&world).json["sessions"], json!([]));
    assert_eq!(refs(&world, "refs/"), before);
    world.git(&["branch", "-D", "--quiet", "edt/s"]);
    assert_eq!(
        gc_of_everything(&world).json["sessions"],
        json!([]),
        "its landed tip is the only copy"
    );
    world.git(&["update-ref", "refs/remotes/origin/main", "refs/edt/s/landing/1"]);
    assert_eq!(
        gc_of_everything(&world).json["sessions"],
        json!([{"name": "s", "state": "deleted"}])
    );
}

/// Once an absent folder was taken for no worktree at all, and the branch under it deleted.
#[test]
fn gc_keeps_the_session_of_a_worktree_that_is_not_there_just_now() {
    let world = world();
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    world.at(&place).overwrite("a.txt", "agent\n");
    world.at(&place).edt(&["land"]).landed();
    world.git(&["worktree", "lock", place.to_str().unwrap()]);
    std::fs::rename(&place, world.home.join("away")).unwrap();
    assert_eq!(gc_of_everything(&world).json["sessions"], json!([]));
    assert_eq!(session(&world.edt(&["status"]), "s")["worktree"], json!(place));
    std::fs::rename(world.home.join("away"), &place).unwrap();
    world.at(&place).is_clean();
    world.git(&["worktree", "unlock", place.to_str().unwrap()]);
    std::fs::remove_dir_all(&place).unwrap();
    world.git(&["worktree", "prune"]);
    assert_eq!(gc_of_everything(&world).json["sessions"].as_array().unwrap().len(), 1);
}

/// incidents.md: full-tree objects per turn cost one user 102 GB.
#[test]
fn codex_29388_disk() {
    let world = World::with(&[("a.txt", b"0\n"), ("big.bin", &vec![7; 1_000_000])]);
    world.edt(&["begin", "s"]).landed();
    for n in 0..300 {
        world.overwrite("a.txt", &format!("{n} a line that is edited\n"));
    }
    let size = |key: &str| -> u64 {
        let said = world.git(&["count-objects", "-v"]);
        said.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
            .unwrap()
            .parse()
            .unwrap()
    };
    // A blob, a tree and a commit an edit, one block of 4 KiB each.
    assert!(
        size("count") <= 3 * 300 + 12 && size("size") <= 4 * (3 * 300 + 12),
        "{}",
        size("size")
    );
    let answer = world.edt(&["gc"]);
    assert!(size("count") == 0 && size("size-pack") < 150, "{:#}", answer.json);
    assert!(answer.json["freed_kib"].as_i64().unwrap() > 3000, "{:#}", answer.json);
    world.is_clean();
    world.is_sound();
}

/// What `claude_94657_shell_edits_unseen` needs beside the automatic checkpoints.
#[test]
fn what_the_shell_changed_is_recorded_on_request() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world
        .command("sh")
        .args(["-c", "sed -i s/a/by-the-shell/ a.txt; echo made > made.txt"])
        .status()
        .unwrap();
    world.edt(&["checkpoint", "-m", "the shell"]).landed();
    world.overwrite("a.txt", "later\n");
    world.edt(&["undo"]).landed();
    assert_eq!(
        (world.text("a.txt").as_str(), world.text("made.txt").as_str()),
        ("by-the-shell\n", "made\n")
    );
    assert_eq!(world.blob("HEAD:a.txt"), b"by-the-shell\n");
}

#[test]
fn abandon_says_where_what_was_staged_is() {
    let world = world();
    world.write("a.txt", "staged\n");
    world.git(&["add", "a.txt"]);
    world.write("a.txt", "on disk\n");
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    let answer = world.edt(&["abandon"]);
    let warning = &answer.json["warnings"][0];
    assert_eq!(
        (&warning["code"], &warning["path"]),
        (&json!("staged_kept"), &json!("a.txt")),
        "{:#}",
        answer.json
    );
    let command = warning["message"].as_str().unwrap().split('`').nth(1).unwrap().to_owned();
    assert!(world.command("sh").args(["-c", &command]).status().unwrap().success(), "{command}");
    assert_eq!(
        (world.blob(":a.txt"), world.text("a.txt").as_str()),
        (b"staged\n".to_vec(), "on disk\n")
    );
}

#[test]
fn abandon_does_not_go_to_a_branch_that_is_being_rebased_elsewhere() {
    let world = world();
    world.edt(&["begin", "s"]).landed();
    world.overwrite("a.txt", "agent\n");
    let side = world.home.join("side");
    world.git(&["worktree", "add", "--quiet", side.to_str().unwrap(), "main"]);
    let side = world.at(side);
    side.commit(&[("b.txt", b"more\n")]);
    let stop = side
        .command("git")
        .env("GIT_SEQUENCE_EDITOR", "sed -i 1ibreak")
        .args(["rebase", "--quiet", "-i", "HEAD~1"])
        .status();
    assert!(stop.unwrap().success());
    let answer = world.edt(&["abandon"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["code"]),
        (0, &json!("head_detached")),
        "{:#}",
        answer.json
    );
    side.git(&["rebase", "--continue"]);
    assert_eq!((side.status(), world.status()), (String::new(), String::new()));
}
