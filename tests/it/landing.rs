//! `edt land`: one commit on the base branch, judged by Git's own hooks, made where that branch is checked out.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::world::World;

const TEXT: &[u8] = b"one\ntwo\nthree\nfour\nfive\n";

/// A session `s` on `main` with a text and another file.
fn world() -> World {
    let world = World::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    world.edt(&["begin", "s"]).landed();
    world
}

fn edit(world: &World, path: &str, old: &str, new: &str) {
    world.edt(&["apply", path, "--mode", "edit", "--old-text", old, "--content", new]).landed();
}

/// A commit of a person's on `main`, while HEAD is on the session.
fn main_moves(world: &World, path: &str, content: &str) {
    world.git(&["switch", "--quiet", "main"]);
    world.write(path, content);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "main moves"]);
    world.git(&["switch", "--quiet", "edt/s"]);
}

fn subjects(world: &World, range: &str) -> Vec<String> {
    world.git(&["log", "--first-parent", "--format=%s", range]).lines().map(str::to_owned).collect()
}

fn hook(world: &World, name: &str, script: &str) {
    let path = world.git_dir("--git-common-dir").join("hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_session_lands_as_one_commit_on_the_branch_it_began_on() {
    let world = world();
    let base = world.rev("main");
    edit(&world, "a.txt", "two", "TWO");
    edit(&world, "b.txt", "b", "B");
    world.edt(&["apply", "c.txt", "--mode", "create", "--content", "c\n"]).landed();
    let tip = world.rev("HEAD");
    let answer = world.edt(&["land", "-m", "What it is for"]).landed();
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!((world.rev("HEAD"), world.rev("HEAD^")), (answer.commit().to_owned(), base));
    assert_eq!(world.rev("HEAD^{tree}"), world.rev(&format!("{tip}^{{tree}}")));
    assert_eq!(
        (answer.json["edit"].as_u64(), answer.json["files"].as_array().unwrap().len()),
        (Some(3), 3)
    );
    assert_eq!(
        world.git(&["log", "-1", "--format=%s|%(trailers:key=Edt-Kind,valueonly,separator=)"]),
        "What it is for|land\n"
    );
    assert_eq!((world.rev("edt/s"), world.rev("refs/edt/s/landed/1")), (tip.clone(), tip));
    world.is_clean();
    world.is_sound();
}

#[test]
fn a_branch_that_moved_is_merged() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    main_moves(&world, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    world.edt(&["land"]).landed();
    assert_eq!(world.text("a.txt"), "one\nTWO\nthree\nfour\nFIVE\n");
    assert_eq!(subjects(&world, "main"), ["edit a.txt (+1 -1)", "main moves", "a person's commit"]);
    world.is_clean();
    world.is_sound();
}

#[test]
fn a_conflict_lists_every_path_and_changes_nothing() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    edit(&world, "b.txt", "b", "agent");
    edit(&world, "a.txt", "five", "FIVE");
    world.git(&["switch", "--quiet", "main"]);
    world.write("a.txt", "one\nzwei\nthree\nfour\nfive\n");
    world.write("b.txt", "person\n");
    world.git(&["commit", "--quiet", "-am", "main moves"]);
    world.git(&["switch", "--quiet", "edt/s"]);
    let answer = world.refuses(&["MERGE_CONFLICT"], 3, &["land"]);
    assert_eq!(answer.errors()[0]["evidence"]["paths"], json!(["a.txt", "b.txt"]));
}

#[test]
fn what_the_hint_of_a_conflict_says_works() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    main_moves(&world, "a.txt", "one\nzwei\nthree\nfour\nfive\n");
    let hint = world.refuses(&["MERGE_CONFLICT"], 3, &["land"]).hint().to_owned();
    assert!(hint.contains("`git switch edt/s`") && hint.contains("`git merge main`"), "{hint}");
    assert!(!world.try_git(&["merge", "main"]).status.success());
    world.write("a.txt", "one\nTWO, zwei\nthree\nfour\nfive\n");
    world.git(&["commit", "--quiet", "-am", "settled"]);
    let answer = world.edt(&["land"]);
    assert_eq!(answer.json["warnings"][0]["code"], json!("folded_commits"), "{:#}", answer.json);
    assert_eq!(world.text("a.txt"), "one\nTWO, zwei\nthree\nfour\nfive\n");
    assert_eq!(subjects(&world, "main"), ["edit a.txt (+1 -1)", "main moves", "a person's commit"]);
    assert!(
        world.git(&["log", "-1", "--format=%b"]).contains("(settled, by A Person)"),
        "the folded commit is named"
    );
    world.is_clean();
}

#[test]
fn a_persons_commit_stays_a_commit() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    edit(&world, "a.txt", "three", "THREE");
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    world.git(&["-c", "user.name=Someone Else", "commit", "--quiet", "-m", "my own"]);
    edit(&world, "a.txt", "four", "FOUR");
    main_moves(&world, "b.txt", "moved\n");
    world.edt(&["land"]).landed();
    assert_eq!(
        world.git(&["log", "--format=%an: %s", "main~4..main"]).lines().collect::<Vec<_>>(),
        [
            "A Person: edit a.txt (+1 -1)",
            "Someone Else: my own",
            "A Person: land edt/s: 2 edits",
            "A Person: main moves"
        ]
    );
    assert_eq!(world.git(&["show", "--format=", "--name-only", "main~1"]).trim(), "mine.txt");
    assert_eq!(world.text("a.txt"), "one\nTWO\nTHREE\nFOUR\nfive\n");
    world.is_clean();
    world.is_sound();
}

#[test]
fn a_persons_empty_commit_stays() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "a word"]);
    edit(&world, "a.txt", "three", "THREE");
    world.edt(&["land"]).landed();
    assert_eq!(
        subjects(&world, "main~3..main"),
        ["edit a.txt (+1 -1)", "a word", "edit a.txt (+1 -1)"]
    );
}

#[test]
fn a_session_rebased_by_a_person_lands_only_its_own_edits() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    main_moves(&world, "b.txt", "moved\n");
    world.git(&["rebase", "--quiet", "main"]);
    world.edt(&["land"]).landed();
    assert_eq!(subjects(&world, "main"), ["edit a.txt (+1 -1)", "main moves", "a person's commit"]);
}

#[test]
fn a_commit_hook_judges_the_landing_as_git_would_have_it() {
    let world = world();
    let seen = world.home.join("seen");
    hook(
        &world,
        "pre-commit",
        &format!(
            "{{ git symbolic-ref HEAD; git diff --cached --name-only; git diff --quiet && echo same; }} > {0}\n! git diff --cached | grep -q '^+NO$'",
            seen.display()
        ),
    );
    hook(&world, "commit-msg", "echo 'Ticket: 42' >> \"$1\"");
    hook(&world, "post-commit", &format!("git log -1 --format=%B > {}.after", seen.display()));
    edit(&world, "a.txt", "two", "NO");
    let answer = world.refuses(&["GIT_OPERATION_BLOCKED"], 1, &["land"]);
    assert_eq!(answer.errors()[0]["evidence"]["hook"], json!("pre-commit"));
    edit(&world, "a.txt", "NO", "yes");
    world.edt(&["land", "-m", "subject"]).landed();
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "refs/heads/main\na.txt\nsame\n");
    assert!(world.git(&["log", "-1", "--format=%B"]).ends_with("Ticket: 42\n\n"));
    assert!(
        std::fs::read_to_string(seen.with_extension("after")).unwrap().starts_with("subject\n")
    );
    world.is_clean();
    world.is_sound();
}

#[test]
fn what_a_commit_hook_stages_lands() {
    let world = world();
    hook(&world, "pre-commit", "echo formatted >> a.txt && git add a.txt");
    edit(&world, "a.txt", "two", "TWO");
    world.edt(&["land"]).landed();
    assert!(world.text("a.txt").ends_with("five\nformatted\n"));
    assert_eq!(world.blob("main:a.txt"), world.read("a.txt"));
    world.is_clean();
}

#[test]
fn the_index_of_the_person_is_not_what_the_hooks_write_to() {
    let world = world();
    hook(&world, "pre-commit", "echo x > trash && git add -f trash && exit 1");
    edit(&world, "a.txt", "two", "TWO");
    let index = std::fs::read(world.git_dir("--git-dir").join("index")).unwrap();
    assert_eq!(world.edt(&["land"]).codes(), ["GIT_OPERATION_BLOCKED"]);
    assert_eq!(std::fs::read(world.git_dir("--git-dir").join("index")).unwrap(), index);
}

#[test]
fn a_branch_checked_out_elsewhere_lands_there() {
    let world = World::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    world.write("b.txt", "a person's, not recorded\n");
    side.edt(&["land"]).landed();
    assert_eq!(world.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(
        (world.status().as_str(), world.text("b.txt").as_str()),
        (" M b.txt\n", "a person's, not recorded\n")
    );
    assert_eq!(side.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/edt/s");
    side.is_clean();
    // The session goes on, and the next landing brings only what is new.
    edit(&side, "a.txt", "three", "THREE");
    let second = side.edt(&["land"]).landed();
    assert_eq!(second.json["edit"], json!(1));
    assert_eq!(subjects(&world, "main").len(), 3);
    assert_eq!(world.text("a.txt"), "one\nTWO\nTHREE\nfour\nfive\n");
    world.is_sound();
}

#[test]
fn unsaved_changes_in_the_way_are_named_and_kept() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    main_moves(&world, "b.txt", "moved\n");
    world.write("b.txt", "a person's, not recorded\n");
    let answer = world.refuses(&["UNSAVED_CHANGES"], 3, &["land"]);
    assert_eq!(answer.errors()[0]["path"], json!("b.txt"));
    world.edt(&["checkpoint"]).landed();
    assert_eq!(world.edt(&["land"]).codes(), ["MERGE_CONFLICT"], "both changed b.txt");
}

#[test]
fn unsaved_changes_beside_the_way_stay_as_they_are() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    world.write("b.txt", "staged\n");
    world.git(&["add", "b.txt"]);
    world.write("b.txt", "on disk\n");
    world.write("new.txt", "untracked\n");
    world.edt(&["land"]).landed();
    assert_eq!(world.status(), "MM b.txt\n?? new.txt\n");
    assert_eq!(world.blob(":b.txt"), b"staged\n");
}

#[test]
fn a_session_beside_head_lands_and_ends() {
    let world = World::with(&[("a.txt", TEXT)]);
    world.edt(&["begin", "s", "--no-switch"]).landed();
    edit(&world, "a.txt", "two", "TWO");
    assert_eq!(world.status(), " M a.txt\n");
    world.edt(&["land"]).landed();
    world.is_clean();
    assert_eq!(world.edt(&["status"]).json["session"], json!(null));
    assert_eq!(world.edt(&["status"]).json["sessions"][0]["state"], json!("landed"));
}

#[test]
fn a_session_from_an_unborn_branch_makes_it() {
    let world = World::unborn(&[]);
    world.edt(&["begin", "s"]).landed();
    world.edt(&["apply", "a.txt", "--mode", "create", "--content", "a\n"]).landed();
    world.edt(&["land", "-m", "first"]).landed();
    assert_eq!(
        (subjects(&world, "main"), world.text("a.txt")),
        (vec!["first".to_owned()], "a\n".to_owned())
    );
    world.is_clean();
    world.is_sound();
}

#[test]
fn nothing_to_land_says_so() {
    let world = world();
    world.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
    edit(&world, "a.txt", "two", "TWO");
    edit(&world, "a.txt", "TWO", "two");
    world.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
}

#[test]
fn a_branch_to_land_on_must_be_there() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    world.refuses(&["BAD_REQUEST"], 2, &["land", "--into", "nowhere"]);
    world.git(&["branch", "other", "main"]);
    world.edt(&["land", "--into", "other"]).landed();
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/other");
    world.is_clean();
}

#[test]
fn a_program_that_the_repository_names_for_merging_is_not_run() {
    let world = World::with(&[("a.txt", TEXT), (".gitattributes", b"*.txt merge=evil\n")]);
    let ran = world.home.join("ran");
    world.git(&["config", "merge.evil.driver", &format!("touch {}", ran.display())]);
    world.edt(&["begin", "s"]).landed();
    edit(&world, "a.txt", "two", "TWO");
    main_moves(&world, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    let _ = std::fs::remove_file(&ran);
    world.edt(&["land"]);
    assert!(!ran.exists());
}

#[test]
fn a_landed_commit_is_signed_where_git_would_sign() {
    let world = world();
    let program = world.home.join("gpg");
    std::fs::write(&program, "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    world.git(&["config", "gpg.program", program.to_str().unwrap()]);
    world.git(&["config", "user.signingKey", "someone"]);
    edit(&world, "a.txt", "two", "TWO");
    world.git(&["config", "commit.gpgSign", "true"]);
    world.edt(&["land"]).landed();
    assert!(
        world.git(&["cat-file", "commit", "main"]).contains("gpgsig -----BEGIN PGP SIGNATURE-----")
    );
    world.is_clean();
    world.is_sound();
}

#[test]
fn a_landing_that_was_taken_back_lands_again() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    world.edt(&["land"]).landed();
    world.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    world.git(&["switch", "--quiet", "edt/s"]);
    edit(&world, "b.txt", "b", "B");
    assert_eq!(world.edt(&["land"]).landed().json["edit"], json!(2), "both edits");
    assert_eq!(world.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn what_landed_on_one_branch_has_not_landed_on_another() {
    let world = world();
    world.git(&["branch", "release", "main"]);
    edit(&world, "a.txt", "two", "TWO");
    world.edt(&["land", "--into", "release"]).landed();
    world.git(&["switch", "--quiet", "edt/s"]);
    world.edt(&["land", "--into", "main"]).landed();
    assert_eq!(world.blob("main:a.txt"), world.blob("release:a.txt"));
}

/// Formats what is staged, from disk.
const FORMATTER: &str = "for f in $(git diff --cached --name-only --diff-filter=ACM); do sed -i 's/ *$//' \"$f\"; git add \"$f\"; done";

#[test]
fn a_formatter_does_not_take_back_what_the_branch_changed() {
    let world = world();
    hook(&world, "pre-commit", FORMATTER);
    edit(&world, "a.txt", "two", "TWO");
    main_moves(&world, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    let main = world.rev("main");
    let hint = world.edt(&["land"]);
    assert_eq!((hint.codes(), world.rev("main")), (vec!["GIT_OPERATION_BLOCKED"], main));
    assert!(hint.hint().contains("`git merge main`"), "{}", hint.hint());
    world.git(&["merge", "--quiet", "--no-edit", "main"]);
    world.edt(&["land"]);
    assert_eq!(world.blob("main:a.txt"), b"one\nTWO\nthree\nfour\nFIVE\n");
}

#[test]
fn a_formatter_sees_the_files_of_the_session() {
    let world = World::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    hook(&world, "pre-commit", FORMATTER);
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    edit(&side, "a.txt", "two", "TWO  ");
    side.edt(&["land"]).landed();
    assert_eq!(world.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(world.blob("main:a.txt"), world.read("a.txt"));
    world.is_clean();
}

#[test]
fn what_a_hook_changed_stays_changed_in_the_commits_after_it() {
    let world = world();
    hook(&world, "pre-commit", "sed -i s/TODO/DONE/ a.txt; git add a.txt");
    edit(&world, "a.txt", "two", "TODO");
    world.write("b.txt", "mine\n");
    world.git(&["commit", "--quiet", "--no-verify", "-am", "mine"]);
    world.edt(&["land"]).landed();
    assert_eq!(world.git(&["show", "--format=", "--name-only", "main"]).trim(), "b.txt");
    assert!(world.text("a.txt").contains("DONE"));
    world.is_clean();
}

#[test]
fn attributes_that_land_count_for_the_files_that_land() {
    let world = World::with(&[("a.txt", TEXT)]);
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    side.edt(&[
        "apply",
        ".gitattributes",
        "--mode",
        "create",
        "--content",
        "new.txt text eol=crlf\n",
    ])
    .landed();
    side.edt(&["apply", "new.txt", "--mode", "create", "--content", "a\nb\n"]).landed();
    side.edt(&["land"]).landed();
    assert_eq!(world.text("new.txt"), "a\r\nb\r\n");
    world.is_clean();
    world.edt(&["apply", "new.txt", "--mode", "append", "--content", "c\n"]).landed();
}

#[test]
fn a_branch_that_is_being_rebased_elsewhere_is_not_moved() {
    let world = World::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    edit(&side, "b.txt", "b", "B");
    world.git(&["switch", "--quiet", "--create", "other"]);
    world.commit(&[("a.txt", b"other\n")]);
    world.git(&["switch", "--quiet", "main"]);
    world.commit(&[("a.txt", b"main\n")]);
    assert!(!world.try_git(&["rebase", "other"]).status.success());
    assert_eq!(side.edt(&["land"]).codes(), ["REPOSITORY_BUSY"]);
    world.git(&["rebase", "--abort"]);
    side.edt(&["land"]).landed();
    world.is_clean();
}

#[test]
fn a_branch_of_a_worktree_that_is_away_is_not_moved() {
    let world = World::with(&[("a.txt", TEXT)]);
    world.git(&["branch", "other"]);
    let away = world.home.join("away");
    world.git(&["worktree", "add", "--quiet", away.to_str().unwrap(), "other"]);
    world.git(&["worktree", "lock", away.to_str().unwrap()]);
    std::fs::rename(&away, world.home.join("further")).unwrap();
    world.edt(&["begin", "s"]).landed();
    edit(&world, "a.txt", "two", "TWO");
    world.refuses(&["REPOSITORY_BUSY"], 3, &["land", "--into", "other"]);
}

#[test]
fn a_hook_may_call_edt() {
    let world = world();
    let edt = crate::world::EDT;
    hook(
        &world,
        "pre-commit",
        &format!("unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE; {edt} --wait 2 status > /dev/null"),
    );
    hook(&world, "post-commit", &format!("{edt} --wait 2 status > \"$HOME/after\""));
    edit(&world, "a.txt", "two", "TWO");
    world.edt(&["land"]).landed();
    assert!(std::fs::read_to_string(world.home.join("after")).unwrap().contains("No session here"));
}

#[test]
fn fsmonitor_is_not_run_for_the_hooks_index() {
    let world = world();
    let ran = world.home.join("ran");
    let program = world.home.join("monitor");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    hook(&world, "pre-commit", "true");
    edit(&world, "a.txt", "two", "TWO");
    world.git(&["config", "core.fsmonitor", program.to_str().unwrap()]);
    world.edt(&["land"]).landed();
    assert!(!ran.exists());
}

#[test]
fn a_file_in_a_folder_that_the_branch_renamed_is_a_conflict_as_in_git() {
    let world = World::with(&[("old/a.txt", TEXT), ("old/b.txt", b"b\n")]);
    world.edt(&["begin", "s"]).landed();
    world.edt(&["apply", "old/new.txt", "--mode", "create", "--content", "new\n"]).landed();
    world.git(&["switch", "--quiet", "main"]);
    world.git(&["mv", "old", "moved"]);
    world.git(&["commit", "--quiet", "-m", "renamed"]);
    world.git(&["switch", "--quiet", "edt/s"]);
    assert!(
        !world.try_git(&["merge-tree", "--write-tree", "main", "edt/s"]).status.success(),
        "git calls it a conflict"
    );
    world.refuses(&["MERGE_CONFLICT"], 3, &["land"]);
}

#[test]
fn a_deletion_that_is_only_staged_is_not_lost() {
    let world = World::with(&[("a.txt", TEXT)]);
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    world.git(&["rm", "--quiet", "--cached", "a.txt"]);
    let answer = side.edt(&["land"]);
    assert_eq!(answer.codes(), ["UNSAVED_CHANGES"]);
    assert!(
        answer.hint().contains(&format!("git -C {}", world.root.canonicalize().unwrap().display())),
        "{}",
        answer.hint()
    );
    assert_eq!(world.status(), "D  a.txt\n?? a.txt\n");
}

#[test]
fn an_edit_that_a_person_amended_is_theirs() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    edit(&world, "a.txt", "three", "THREE");
    world.write("b.txt", "mine\n");
    world.git(&[
        "commit",
        "--quiet",
        "--all",
        "--amend",
        "--no-edit",
        "--author=Someone Else <else@example.com>",
    ]);
    edit(&world, "a.txt", "four", "FOUR");
    world.edt(&["land"]).landed();
    assert_eq!(
        world.git(&["log", "--format=%an", "main~3..main"]).lines().collect::<Vec<_>>(),
        ["A Person", "Someone Else", "A Person"]
    );
}

#[test]
fn an_empty_message_is_none_and_the_newest_commit_bears_the_one_that_is_given() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    world.write("b.txt", "mine\n");
    world.git(&["commit", "--quiet", "-am", "mine"]);
    edit(&world, "a.txt", "three", "THREE");
    world.edt(&["land", "-m", "Asked for"]).landed();
    assert_eq!(subjects(&world, "main~3..main"), ["Asked for", "mine", "edit a.txt (+1 -1)"]);
    world.edt(&["begin", "t"]).landed();
    edit(&world, "a.txt", "four", "FOUR");
    world.edt(&["land", "-m", ""]).landed();
    assert_eq!(subjects(&world, "main~1..main"), ["edit a.txt (+1 -1)"]);
}

#[test]
fn links_that_the_branch_changed_leave_head_on_the_session() {
    let world = world();
    edit(&world, "a.txt", "two", "TWO");
    world.git(&["switch", "--quiet", "main"]);
    std::os::unix::fs::symlink("a.txt", world.root.join("link")).unwrap();
    world.git(&["add", "link"]);
    world.git(&["rm", "--quiet", "b.txt"]);
    world.write("b.txt/now-a-folder", "x\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "a link, and a folder for a file"]);
    world.git(&["switch", "--quiet", "edt/s"]);
    let answer = world.edt(&["land"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["code"]),
        (0, &json!("head_stays")),
        "{:#}",
        answer.json
    );
    world.is_clean();
    world.git(&["switch", "--quiet", "main"]);
    assert_eq!(world.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn a_last_hook_that_holds_the_lock_changes_no_answer() {
    let world = world();
    hook(
        &world,
        "post-commit",
        "( exec 9>>.git/edt/main/lock; flock 9; sleep 3 ) > /dev/null 2>&1 &\nsleep .3",
    );
    edit(&world, "a.txt", "two", "TWO");
    world.edt(&["land", "--wait", "1"]).landed();
}

#[test]
fn a_branch_that_moves_while_hooks_run_is_told() {
    let world = World::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    let place = world.home.join("side");
    world.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = world.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    let root = world.root.display();
    hook(
        &world,
        "commit-msg",
        &format!(
            "unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE; cd {root} && echo x >> a.txt && git commit --no-verify -qam x"
        ),
    );
    assert_eq!(side.edt(&["land"]).codes(), ["SESSION_MOVED"]);
}

#[test]
fn a_hook_that_stages_everything_lands_with_a_persons_commit_between() {
    let world = world();
    hook(&world, "pre-commit", "git add --update");
    edit(&world, "a.txt", "two", "TWO");
    world.write("a.txt", "one\nTWO\nthree\nmine\nfive\n");
    world.git(&["commit", "--quiet", "-am", "mine"]);
    world.edt(&["land"]).landed();
    assert_eq!(world.text("a.txt"), "one\nTWO\nthree\nmine\nfive\n");
    world.is_clean();
}
