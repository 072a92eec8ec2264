//! `edt land`: one commit on the base branch, judged by Git's own hooks, made where that branch is
//! checked out.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::test_repo::TestRepo;

const TEXT: &[u8] = b"one\ntwo\nthree\nfour\nfive\n";

/// A session `s` on `main` with a text and another file.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace
}

fn edit(workspace: &TestRepo, path: &str, old: &str, new: &str) {
    workspace.edt(&["apply", path, "--mode", "edit", "--old-text", old, "--content", new]).landed();
}

/// A user's commit on `main`, while HEAD is on the session.
fn main_moves(workspace: &TestRepo, path: &str, content: &str) {
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.write(path, content);
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "main moves"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
}

fn subjects(workspace: &TestRepo, range: &str) -> Vec<String> {
    workspace
        .git(&["log", "--first-parent", "--format=%s", range])
        .lines()
        .map(str::to_owned)
        .collect()
}

fn hook(workspace: &TestRepo, name: &str, script: &str) {
    let path = workspace.git_dir("--git-common-dir").join("hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_session_lands_as_one_commit_on_the_branch_it_began_on() {
    let workspace = workspace();
    let base = workspace.rev("main");
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "b.txt", "b", "B");
    workspace.edt(&["apply", "c.txt", "--mode", "create", "--content", "c\n"]).landed();
    let tip = workspace.rev("HEAD");
    let answer = workspace.edt(&["land", "-m", "What it is for"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!((workspace.rev("HEAD"), workspace.rev("HEAD^")), (answer.commit().to_owned(), base));
    assert_eq!(workspace.rev("HEAD^{tree}"), workspace.rev(&format!("{tip}^{{tree}}")));
    assert_eq!(
        (answer.json["edit"].as_u64(), answer.json["files"].as_array().unwrap().len()),
        (Some(3), 3)
    );
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%s|%(trailers:key=Edt-Kind,valueonly,separator=)"]),
        "What it is for|land\n"
    );
    assert_eq!((workspace.rev("edt/s"), workspace.rev("refs/edt/s/landed/1")), (tip.clone(), tip));
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_branch_that_moved_is_merged() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    main_moves(&workspace, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nFIVE\n");
    assert_eq!(
        subjects(&workspace, "main"),
        ["edit a.txt (+1 -1)", "main moves", "a user's commit"]
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_conflict_lists_every_path_and_changes_nothing() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "b.txt", "b", "agent");
    edit(&workspace, "a.txt", "five", "FIVE");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.write("a.txt", "one\nzwei\nthree\nfour\nfive\n");
    workspace.write("b.txt", "user\n");
    workspace.git(&["commit", "--quiet", "-am", "main moves"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    let answer = workspace.refuses(&["MERGE_CONFLICT"], 3, &["land"]);
    assert_eq!(answer.errors()[0]["evidence"]["paths"], json!(["a.txt", "b.txt"]));
}

#[test]
fn the_hint_of_a_merge_conflict_works() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    main_moves(&workspace, "a.txt", "one\nzwei\nthree\nfour\nfive\n");
    let hint = workspace.refuses(&["MERGE_CONFLICT"], 3, &["land"]).hint().to_owned();
    assert!(hint.contains("`git switch edt/s`") && hint.contains("`git merge main`"), "{hint}");
    assert!(!workspace.try_git(&["merge", "main"]).status.success());
    workspace.write("a.txt", "one\nTWO, zwei\nthree\nfour\nfive\n");
    workspace.git(&["commit", "--quiet", "-am", "resolved"]);
    let answer = workspace.as_user(b"", &["land"], &[]);
    assert_eq!(answer.json["warnings"][0]["code"], json!("folded_commits"), "{:#}", answer.json);
    assert_eq!(workspace.text("a.txt"), "one\nTWO, zwei\nthree\nfour\nfive\n");
    assert_eq!(
        subjects(&workspace, "main"),
        ["edit a.txt (+1 -1)", "main moves", "a user's commit"]
    );
    assert!(
        workspace.git(&["log", "-1", "--format=%b"]).contains("(resolved, by A User)"),
        "the folded commit is named"
    );
    workspace.is_clean();
}

#[test]
fn a_users_commit_stays_a_commit() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "a.txt", "three", "THREE");
    workspace.write("mine.txt", "mine\n");
    workspace.git(&["add", "mine.txt"]);
    workspace.git(&["-c", "user.name=Someone Else", "commit", "--quiet", "-m", "my own"]);
    edit(&workspace, "a.txt", "four", "FOUR");
    main_moves(&workspace, "b.txt", "moved\n");
    workspace.as_user(b"", &["land"], &[]).landed();
    assert_eq!(
        workspace.git(&["log", "--format=%an: %s", "main~4..main"]).lines().collect::<Vec<_>>(),
        [
            "A User: edit a.txt (+1 -1)",
            "Someone Else: my own",
            "A User: land edt/s: 2 edits",
            "A User: main moves"
        ]
    );
    assert_eq!(workspace.git(&["show", "--format=", "--name-only", "main~1"]).trim(), "mine.txt");
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nTHREE\nFOUR\nfive\n");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_users_empty_commit_stays() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.git(&["commit", "--quiet", "--allow-empty", "-m", "a word"]);
    edit(&workspace, "a.txt", "three", "THREE");
    workspace.as_user(b"", &["land"], &[]).landed();
    assert_eq!(
        subjects(&workspace, "main~3..main"),
        ["edit a.txt (+1 -1)", "a word", "edit a.txt (+1 -1)"]
    );
}

#[test]
fn a_session_that_the_user_rebased_lands_only_its_own_edits() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    main_moves(&workspace, "b.txt", "moved\n");
    workspace.git(&["rebase", "--quiet", "main"]);
    workspace.edt(&["land"]).landed();
    assert_eq!(
        subjects(&workspace, "main"),
        ["edit a.txt (+1 -1)", "main moves", "a user's commit"]
    );
}

#[test]
fn a_commit_hook_judges_the_landing_as_git_would_have_it() {
    let workspace = workspace();
    workspace.programs_as_user();
    let seen = workspace.home.join("seen");
    hook(
        &workspace,
        "pre-commit",
        &format!(
            "{{ git symbolic-ref HEAD; git diff --cached --name-only; git diff --quiet && echo same; }} > {0}\n! git diff --cached | grep -q '^+NO$'",
            seen.display()
        ),
    );
    hook(&workspace, "commit-msg", "echo 'Ticket: 42' >> \"$1\"");
    hook(&workspace, "post-commit", &format!("git log -1 --format=%B > {}.after", seen.display()));
    edit(&workspace, "a.txt", "two", "NO");
    let answer = workspace.refuses(&["GIT_OPERATION_BLOCKED"], 1, &["land"]);
    assert_eq!(answer.errors()[0]["evidence"]["hook"], json!("pre-commit"));
    edit(&workspace, "a.txt", "NO", "yes");
    workspace.edt(&["land", "-m", "subject"]).landed();
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "refs/heads/main\na.txt\nsame\n");
    assert!(workspace.git(&["log", "-1", "--format=%B"]).ends_with("Ticket: 42\n\n"));
    assert!(
        std::fs::read_to_string(seen.with_extension("after")).unwrap().starts_with("subject\n")
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn changes_staged_by_a_commit_hook_land() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "echo formatted >> a.txt && git add a.txt");
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.edt(&["land"]).landed();
    assert!(workspace.text("a.txt").ends_with("five\nformatted\n"));
    assert_eq!(workspace.blob("main:a.txt"), workspace.read("a.txt"));
    workspace.is_clean();
}

#[test]
fn hooks_do_not_write_to_the_users_index() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "echo x > trash && git add -f trash && exit 1");
    edit(&workspace, "a.txt", "two", "TWO");
    let index = std::fs::read(workspace.git_dir("--git-dir").join("index")).unwrap();
    assert_eq!(workspace.edt(&["land"]).codes(), ["GIT_OPERATION_BLOCKED"]);
    assert_eq!(std::fs::read(workspace.git_dir("--git-dir").join("index")).unwrap(), index);
}

#[test]
fn a_branch_checked_out_elsewhere_lands_there() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    workspace.write("b.txt", "a user's, not recorded\n");
    side.edt(&["land"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(
        (workspace.status().as_str(), workspace.text("b.txt").as_str()),
        (" M b.txt\n", "a user's, not recorded\n")
    );
    assert_eq!(side.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/edt/s");
    side.is_clean();
    // The session goes on, and the next landing brings only what is new.
    edit(&side, "a.txt", "three", "THREE");
    let second = side.edt(&["land"]).landed();
    assert_eq!(second.json["edit"], json!(1));
    assert_eq!(subjects(&workspace, "main").len(), 3);
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nTHREE\nfour\nfive\n");
    workspace.is_sound();
}

#[test]
fn unsaved_changes_in_the_way_are_named_and_kept() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    main_moves(&workspace, "b.txt", "moved\n");
    workspace.write("b.txt", "a user's, not recorded\n");
    let answer = workspace.refuses(&["UNSAVED_CHANGES"], 3, &["land"]);
    assert_eq!(answer.errors()[0]["path"], json!("b.txt"));
    workspace.edt(&["checkpoint"]).landed();
    assert_eq!(workspace.edt(&["land"]).codes(), ["MERGE_CONFLICT"], "both changed b.txt");
}

#[test]
fn unsaved_changes_of_other_files_stay_as_they_are() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.write("b.txt", "staged\n");
    workspace.git(&["add", "b.txt"]);
    workspace.write("b.txt", "on disk\n");
    workspace.write("new.txt", "untracked\n");
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.status(), "MM b.txt\n?? new.txt\n");
    assert_eq!(workspace.blob(":b.txt"), b"staged\n");
}

#[test]
fn a_session_without_switching_lands_and_ends() {
    let workspace = TestRepo::with(&[("a.txt", TEXT)]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    edit(&workspace, "a.txt", "two", "TWO");
    assert_eq!(workspace.status(), " M a.txt\n");
    workspace.edt(&["land"]).landed();
    workspace.is_clean();
    assert_eq!(workspace.edt(&["status"]).json["session"], json!(null));
    assert_eq!(workspace.edt(&["status", "--ended"]).json["sessions"][0]["state"], json!("landed"));
}

#[test]
fn a_session_from_an_unborn_branch_makes_it() {
    let workspace = TestRepo::unborn(&[]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["apply", "a.txt", "--mode", "create", "--content", "a\n"]).landed();
    workspace.edt(&["land", "-m", "first"]).landed();
    assert_eq!(
        (subjects(&workspace, "main"), workspace.text("a.txt")),
        (vec!["first".to_owned()], "a\n".to_owned())
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_session_without_edits_has_nothing_to_land() {
    let workspace = workspace();
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "a.txt", "TWO", "two");
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
}

#[test]
fn a_branch_to_land_on_must_be_there() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.refuses(&["BAD_REQUEST"], 2, &["land", "--into", "nowhere"]);
    workspace.git(&["branch", "other", "main"]);
    workspace.edt(&["land", "--into", "other"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/other");
    workspace.is_clean();
}

#[test]
fn a_program_that_the_repository_names_for_merging_is_not_run() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), (".gitattributes", b"*.txt merge=evil\n")]);
    let ran = workspace.home.join("ran");
    workspace.git(&["config", "merge.evil.driver", &format!("touch {}", ran.display())]);
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "two", "TWO");
    main_moves(&workspace, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    let _ = std::fs::remove_file(&ran);
    workspace.edt(&["land"]);
    assert!(!ran.exists());
}

#[test]
fn a_landed_commit_is_signed_where_git_would_sign() {
    let workspace = workspace();
    let program = workspace.home.join("gpg");
    std::fs::write(&program, "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    workspace.git(&["config", "gpg.program", program.to_str().unwrap()]);
    workspace.git(&["config", "user.signingKey", "someone"]);
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.git(&["config", "commit.gpgSign", "true"]);
    workspace.edt(&["land"]).landed();
    assert!(
        workspace
            .git(&["cat-file", "commit", "main"])
            .contains("gpgsig -----BEGIN PGP SIGNATURE-----")
    );
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_landing_that_was_reset_lands_again() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.edt(&["land"]).landed();
    workspace.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    edit(&workspace, "b.txt", "b", "B");
    assert_eq!(workspace.edt(&["land"]).landed().json["edit"], json!(2), "both edits");
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn a_landing_on_one_branch_is_not_one_on_another() {
    let workspace = workspace();
    workspace.git(&["branch", "release", "main"]);
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.edt(&["land", "--into", "release"]).landed();
    workspace.git(&["switch", "--quiet", "edt/s"]);
    workspace.edt(&["land", "--into", "main"]).landed();
    assert_eq!(workspace.blob("main:a.txt"), workspace.blob("release:a.txt"));
}

/// Formats what is staged, from disk.
const FORMATTER: &str = "for f in $(git diff --cached --name-only --diff-filter=ACM); do sed -i 's/ *$//' \"$f\"; git add \"$f\"; done";

#[test]
fn a_formatter_does_not_revert_the_branchs_changes() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", FORMATTER);
    edit(&workspace, "a.txt", "two", "TWO");
    main_moves(&workspace, "a.txt", "one\ntwo\nthree\nfour\nFIVE\n");
    let main = workspace.rev("main");
    let hint = workspace.edt(&["land"]);
    assert_eq!((hint.codes(), workspace.rev("main")), (vec!["HOOKS_READ_DISK"], main.clone()));
    let allowed = workspace.edt(&["land", "--allow", "hooks_read_disk"]);
    assert_eq!((allowed.codes(), workspace.rev("main")), (vec!["GIT_OPERATION_BLOCKED"], main));
    assert!(hint.hint().contains("`git merge main`"), "{}", hint.hint());
    workspace.git(&["merge", "--quiet", "--no-edit", "main"]);
    workspace.edt(&["land"]);
    assert_eq!(workspace.blob("main:a.txt"), b"one\nTWO\nthree\nfour\nFIVE\n");
}

#[test]
fn a_formatter_sees_the_files_of_the_session() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    hook(&workspace, "pre-commit", FORMATTER);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    edit(&side, "a.txt", "two", "TWO  ");
    side.edt(&["land"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(workspace.blob("main:a.txt"), workspace.read("a.txt"));
    workspace.is_clean();
}

#[test]
fn a_hooks_change_stays_in_later_commits() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "sed -i s/TODO/DONE/ a.txt; git add a.txt");
    edit(&workspace, "a.txt", "two", "TODO");
    workspace.write("b.txt", "mine\n");
    workspace.git(&["commit", "--quiet", "--no-verify", "-am", "mine"]);
    workspace.as_user(b"", &["land"], &[]).landed();
    assert_eq!(workspace.git(&["show", "--format=", "--name-only", "main"]).trim(), "b.txt");
    assert!(workspace.text("a.txt").contains("DONE"));
    workspace.is_clean();
}

#[test]
fn attributes_that_land_count_for_the_files_that_land() {
    let workspace = TestRepo::with(&[("a.txt", TEXT)]);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
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
    assert_eq!(workspace.text("new.txt"), "a\r\nb\r\n");
    workspace.is_clean();
    workspace.edt(&["apply", "new.txt", "--mode", "append", "--content", "c\n"]).landed();
}

#[test]
fn a_branch_that_is_being_rebased_elsewhere_is_not_moved() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    edit(&side, "b.txt", "b", "B");
    workspace.git(&["switch", "--quiet", "--create", "other"]);
    workspace.commit(&[("a.txt", b"other\n")]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.commit(&[("a.txt", b"main\n")]);
    assert!(!workspace.try_git(&["rebase", "other"]).status.success());
    assert_eq!(side.edt(&["land"]).codes(), ["REPOSITORY_BUSY"]);
    workspace.git(&["rebase", "--abort"]);
    side.edt(&["land"]).landed();
    workspace.is_clean();
}

#[test]
fn a_branch_of_a_worktree_that_is_away_is_not_moved() {
    let workspace = TestRepo::with(&[("a.txt", TEXT)]);
    workspace.git(&["branch", "other"]);
    let away = workspace.home.join("away");
    workspace.git(&["worktree", "add", "--quiet", away.to_str().unwrap(), "other"]);
    workspace.git(&["worktree", "lock", away.to_str().unwrap()]);
    std::fs::rename(&away, workspace.home.join("further")).unwrap();
    workspace.edt(&["begin", "s"]).landed();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.refuses(&["REPOSITORY_BUSY"], 3, &["land", "--into", "other"]);
}

#[test]
fn a_hook_may_call_edt() {
    let workspace = workspace();
    workspace.programs_as_user();
    let edt = crate::test_repo::EDT;
    hook(
        &workspace,
        "pre-commit",
        &format!("unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE; {edt} --wait 2 status > /dev/null"),
    );
    hook(&workspace, "post-commit", &format!("{edt} --wait 2 status > \"$HOME/after\""));
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.edt(&["land"]).landed();
    assert!(
        std::fs::read_to_string(workspace.home.join("after")).unwrap().contains("No session here")
    );
}

#[test]
fn fsmonitor_is_not_run_for_the_hooks_index() {
    let workspace = workspace();
    let ran = workspace.home.join("ran");
    let program = workspace.home.join("monitor");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    hook(&workspace, "pre-commit", "true");
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.git(&["config", "core.fsmonitor", program.to_str().unwrap()]);
    workspace.edt(&["land"]).landed();
    assert!(!ran.exists());
}

#[test]
fn a_file_in_a_directory_that_the_branch_renamed_is_a_conflict_as_in_git() {
    let workspace = TestRepo::with(&[("old/a.txt", TEXT), ("old/b.txt", b"b\n")]);
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["apply", "old/new.txt", "--mode", "create", "--content", "new\n"]).landed();
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["mv", "old", "moved"]);
    workspace.git(&["commit", "--quiet", "-m", "renamed"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    assert!(
        !workspace.try_git(&["merge-tree", "--write-tree", "main", "edt/s"]).status.success(),
        "git calls it a conflict"
    );
    workspace.refuses(&["MERGE_CONFLICT"], 3, &["land"]);
}

#[test]
fn a_deletion_that_is_only_staged_stays_staged() {
    let workspace = TestRepo::with(&[("a.txt", TEXT)]);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    workspace.git(&["rm", "--quiet", "--cached", "a.txt"]);
    side.edt(&["land"]).landed();
    assert_eq!(workspace.status(), "D  a.txt\n?? a.txt\n");
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn an_edit_that_the_user_amended_has_the_user_as_author() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "a.txt", "three", "THREE");
    workspace.write("b.txt", "mine\n");
    workspace.git(&[
        "commit",
        "--quiet",
        "--all",
        "--amend",
        "--no-edit",
        "--author=Someone Else <else@example.com>",
    ]);
    edit(&workspace, "a.txt", "four", "FOUR");
    workspace.as_user(b"", &["land"], &[]).landed();
    assert_eq!(
        workspace.git(&["log", "--format=%an", "main~3..main"]).lines().collect::<Vec<_>>(),
        ["A User", "Someone Else", "A User"]
    );
}

#[test]
fn an_empty_message_is_ignored_and_the_newest_commit_has_the_given_message() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.write("b.txt", "mine\n");
    workspace.git(&["commit", "--quiet", "-am", "mine"]);
    edit(&workspace, "a.txt", "three", "THREE");
    workspace.as_user(b"", &["land", "-m", "Asked for"], &[]).landed();
    assert_eq!(subjects(&workspace, "main~3..main"), ["Asked for", "mine", "edit a.txt (+1 -1)"]);
    workspace.edt(&["begin", "t"]).landed();
    edit(&workspace, "a.txt", "four", "FOUR");
    workspace.edt(&["land", "-m", ""]).landed();
    assert_eq!(subjects(&workspace, "main~1..main"), ["edit a.txt (+1 -1)"]);
}

#[test]
fn links_that_the_branch_changed_leave_head_on_the_session() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.git(&["switch", "--quiet", "main"]);
    std::os::unix::fs::symlink("a.txt", workspace.root.join("link")).unwrap();
    workspace.git(&["add", "link"]);
    workspace.git(&["rm", "--quiet", "b.txt"]);
    workspace.write("b.txt/now-a-directory", "x\n");
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "a link, and a directory in place of a file"]);
    workspace.git(&["switch", "--quiet", "edt/s"]);
    let answer = workspace.edt(&["land"]);
    assert_eq!(
        (answer.exit, &answer.json["warnings"][0]["code"]),
        (0, &json!("head_not_switched")),
        "{:#}",
        answer.json
    );
    workspace.is_clean();
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn a_last_hook_that_holds_the_lock_changes_no_answer() {
    let workspace = workspace();
    workspace.programs_as_user();
    hook(
        &workspace,
        "post-commit",
        "( exec 9>>.git/edt/main/lock; flock 9; sleep 3 ) > /dev/null 2>&1 &\nsleep .3",
    );
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.edt(&["land", "--wait", "1"]).landed();
}

#[test]
fn a_branch_that_moves_while_hooks_run_is_reported() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    workspace.programs_as_user();
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    let root = workspace.root.display();
    hook(
        &workspace,
        "commit-msg",
        &format!(
            "unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE; cd {root} && echo x >> a.txt && git commit --no-verify -qam x"
        ),
    );
    assert_eq!(side.edt(&["land"]).codes(), ["SESSION_MOVED"]);
}

#[test]
fn a_hook_that_stages_everything_lands_around_a_users_commit() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "git add --update");
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.write("a.txt", "one\nTWO\nthree\nmine\nfive\n");
    workspace.git(&["commit", "--quiet", "-am", "mine"]);
    workspace.as_user(b"", &["land"], &[]).landed();
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nmine\nfive\n");
    workspace.is_clean();
}

/// Formats staged files as the program pre-commit lets formatters do it: from the index onto the
/// disk, without staging. Fails if it changed one.
const FORMATS_AND_FAILS: &str = "rc=0
for f in $(git diff --cached --name-only --diff-filter=AM); do
  git show \":$f\" > .fmt.in; sed 's/ *= */ = /' .fmt.in > .fmt.out
  cmp -s .fmt.in .fmt.out || { cat .fmt.out > \"$f\"; rc=1; }
  rm -f .fmt.in .fmt.out
done
exit $rc";

/// The same, but it reads the disk.
const FORMATS_DISK_AND_FAILS: &str = "rc=0
for f in $(git diff --cached --name-only --diff-filter=AM); do
  sed 's/ *= */ = /' \"$f\" > .f.out; cmp -s \"$f\" .f.out || { cat .f.out > \"$f\"; rc=1; }
  rm -f .f.out
done
exit $rc";

/// A session that added `b=2` to `a.py`, with this hook.
fn unformatted(script: &str) -> TestRepo {
    let workspace = TestRepo::with(&[("a.py", b"a = 1\n"), ("b.txt", b"b\n")]);
    workspace.programs_as_user();
    hook(&workspace, "pre-commit", script);
    workspace.edt(&["begin", "s"]).landed();
    workspace.edt(&["apply", "a.py", "--mode", "append", "--content", "b=2", "-m", "b"]).landed();
    workspace
}

#[test]
fn what_a_failing_formatter_changed_is_recorded_and_the_next_landing_has_it() {
    for script in [FORMATS_AND_FAILS, FORMATS_DISK_AND_FAILS] {
        let workspace = unformatted(script);
        let refused = workspace.edt(&["land"]);
        assert_eq!(refused.codes(), ["GIT_OPERATION_BLOCKED"], "{:#}", refused.json);
        assert_eq!(refused.errors()[0]["evidence"]["recorded"], json!(["a.py"]));
        assert!(refused.hint().contains("`edt diff 2`"), "{}", refused.hint());
        assert!(refused.hint().contains("repeat `edt land`"), "{}", refused.hint());
        workspace.is_clean();
        workspace.edt(&["land"]).landed();
        assert_eq!(workspace.blob("main:a.py"), b"a = 1\nb = 2\n");
        workspace.is_clean();
        workspace.is_sound();
    }
}

#[test]
fn what_a_formatter_changed_can_be_undone() {
    let workspace = unformatted(FORMATS_AND_FAILS);
    assert_eq!(workspace.edt(&["land"]).codes(), ["GIT_OPERATION_BLOCKED"]);
    workspace.edt(&["undo"]).landed();
    assert_eq!(workspace.text("a.py"), "a = 1\nb=2\n");
    workspace.is_clean();
}

#[test]
fn a_hook_that_passes_and_formats_without_staging_lands_nothing() {
    let workspace = unformatted("sed -i 's/ *= */ = /' a.py");
    let main = workspace.rev("main");
    let refused = workspace.edt(&["land"]);
    assert_eq!(refused.codes(), ["GIT_OPERATION_BLOCKED"], "{:#}", refused.json);
    assert_eq!(workspace.rev("main"), main);
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.blob("main:a.py"), b"a = 1\nb = 2\n");
    assert_eq!(workspace.status(), "");
}

#[test]
fn what_a_hook_changes_outside_the_landing_and_in_the_users_files_stays_uncommitted() {
    let workspace = unformatted("echo hook >> b.txt; echo hook >> new.txt");
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.status(), " M b.txt\n?? new.txt\n");
    let workspace = unformatted("echo hook >> b.txt; echo hook >> new.txt; exit 1");
    workspace.write("b.txt", "mine\n");
    let refused = workspace.edt(&["land"]);
    assert_eq!(refused.codes(), ["GIT_OPERATION_BLOCKED"]);
    assert_eq!(refused.errors()[0]["evidence"].get("recorded"), None);
    assert_eq!(workspace.status(), " M b.txt\n?? new.txt\n");
    assert_eq!(workspace.text("b.txt"), "mine\nhook\n");
}

#[test]
fn a_hook_does_not_judge_other_text_than_what_lands() {
    let workspace = unformatted("true");
    let main = workspace.rev("main");
    workspace.write("a.py", "a = 1\nb=2\nmine\n");
    let refused = workspace.edt(&["land"]);
    assert_eq!((refused.codes(), workspace.rev("main")), (vec!["HOOKS_READ_DISK"], main));
    assert_eq!(refused.errors()[0]["evidence"]["paths"], json!(["a.py"]));
    assert!(refused.hint().contains("`git stash push -- a.py`"), "{}", refused.hint());
    assert!(refused.hint().contains("`edt land --allow hooks_read_disk`"), "{}", refused.hint());
    workspace.edt(&["land", "--allow", "hooks_read_disk"]).landed();
    assert_eq!(workspace.blob("main:a.py"), b"a = 1\nb=2\n");
    assert_eq!(workspace.text("a.py"), "a = 1\nb=2\nmine\n");
}

#[test]
fn a_landing_of_users_commits_alone_runs_no_hook_and_needs_no_equal_files() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "exit 1");
    workspace.write("a.txt", "mine\n");
    workspace.git(&["commit", "--quiet", "--no-verify", "-am", "mine"]);
    workspace.write("a.txt", "mine\nmore\n");
    workspace.as_user(b"", &["land"], &[]).landed();
    assert_eq!(workspace.blob("main:a.txt"), b"mine\n");
}

/// Refuses a message without `Signed-off-by` among its trailers.
const NEEDS_SIGN_OFF: &str = "git interpret-trailers --parse \"$1\" | grep -q '^Signed-off-by: '";

#[test]
fn the_trailers_of_a_message_stay_trailers() {
    let workspace = workspace();
    hook(&workspace, "commit-msg", NEEDS_SIGN_OFF);
    edit(&workspace, "a.txt", "two", "TWO");
    let message = "feat: change\n\nText.\n\nChange-Id: I1\nSigned-off-by: Tess <t@example.org>";
    workspace.edt(&["land", "-m", message]).landed();
    assert_eq!(
        workspace.git(&["log", "-1", "--format=%(trailers:keyonly)"]),
        "Change-Id\nSigned-off-by\nEdt-Session\nEdt-Kind\nEdt-Edit\n\n"
    );
    workspace.edt(&["land", "--undo"]).landed();
}

#[test]
fn a_signed_off_landing_has_the_committers_trailer_once() {
    let workspace = workspace();
    hook(&workspace, "commit-msg", NEEDS_SIGN_OFF);
    edit(&workspace, "a.txt", "two", "TWO");
    let hint = workspace.edt(&["land", "-m", "feat: change"]).hint().to_owned();
    assert!(hint.contains("`edt land -m MESSAGE`") && hint.contains("`--signoff`"), "{hint}");
    let identity = workspace.git(&["var", "GIT_COMMITTER_IDENT"]);
    let identity = &identity[..=identity.rfind('>').unwrap()];
    let message = format!("feat: change\n\nSigned-off-by: {identity}");
    workspace.edt(&["land", "--signoff", "-m", &message]).landed();
    let format = "--format=%(trailers:key=Signed-off-by,valueonly)";
    assert_eq!(workspace.git(&["log", "-1", format]).trim(), identity);
    edit_after_landing(&workspace);
    workspace.edt(&["land", "--signoff"]).landed();
    assert_eq!(workspace.git(&["log", "-1", format]).trim(), identity);
}

fn edit_after_landing(workspace: &TestRepo) {
    workspace.edt(&["begin", "t"]).landed();
    edit(workspace, "a.txt", "three", "THREE");
}

#[test]
fn the_hint_of_a_refused_message_works() {
    let workspace = workspace();
    hook(&workspace, "commit-msg", "grep -q '^feat: ' \"$1\"");
    edit(&workspace, "a.txt", "two", "TWO");
    let refused = workspace.edt(&["land"]);
    assert_eq!(refused.codes(), ["GIT_OPERATION_BLOCKED"]);
    assert!(refused.hint().contains("`edt land -m MESSAGE`"), "{}", refused.hint());
    workspace.edt(&["land", "-m", "feat: two"]).landed();
}

#[test]
fn the_hint_of_an_earlier_refused_message_works() {
    let workspace = workspace();
    hook(&workspace, "commit-msg", "grep -q '^feat: ' \"$1\"");
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.write("b.txt", "mine\n");
    workspace.git(&["commit", "--quiet", "-am", "feat: mine"]);
    edit(&workspace, "a.txt", "three", "THREE");
    let hint = workspace.as_user(b"", &["land", "-m", "feat: three"], &[]).hint().to_owned();
    assert!(hint.contains("`git switch main`, `git merge --squash edt/s`"), "{hint}");
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.git(&["merge", "--quiet", "--squash", "edt/s"]);
    workspace.git(&["commit", "--quiet", "-m", "feat: all"]);
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nTHREE\nfour\nfive\n");
}

#[test]
fn nothing_moves_head_while_git_commits() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    let lock = workspace.git_dir("--git-dir").join("index.lock");
    // As `git commit --all` has it while the user writes the message.
    std::fs::write(&lock, "").unwrap();
    for command in [&["land"][..], &["switch", "--leave"], &["abandon"], &["begin", "t"]] {
        workspace.refuses(&["REPOSITORY_BUSY"], 3, command);
    }
    std::fs::remove_file(&lock).unwrap();
    workspace.edt(&["land"]).landed();
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn a_commit_of_the_user_succeeds_although_its_hook_calls_edt() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    workspace.write("b.txt", "mine\n");
    let answer = workspace.home.join("answer");
    let call = format!("{} land --json > {}; true", crate::test_repo::EDT, answer.display());
    hook(&workspace, "pre-commit", &call);
    workspace.git(&["commit", "--quiet", "--all", "-m", "mine"]);
    let answer = std::fs::read_to_string(answer).unwrap();
    assert!(answer.contains("REPOSITORY_BUSY"), "{answer}");
    assert_eq!(subjects(&workspace, "HEAD~2..HEAD"), ["mine", "edit a.txt (+1 -1)"]);
    hook(&workspace, "pre-commit", "true");
    workspace.as_user(b"", &["land"], &[]).landed();
    workspace.is_clean();
}

// ---- a part of a session -------------------------------------------------------------------------

/// Three edits, two of them of the same line.
fn three_edits() -> TestRepo {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "b.txt", "b", "B");
    edit(&workspace, "a.txt", "TWO", "2");
    workspace
}

#[test]
fn a_part_lands_and_the_session_goes_on() {
    let workspace = three_edits();
    let (tip, files) = (workspace.rev("HEAD"), workspace.files());
    let answer = workspace.edt(&["land", "--to", "2"]).landed();
    assert_eq!(answer.json["edit"], 2);
    assert_eq!(subjects(&workspace, "main")[0], "land edt/s: 2 edits");
    assert_eq!(workspace.git(&["show", "main:a.txt"]), "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/edt/s");
    assert_eq!((workspace.rev("HEAD"), workspace.files()), (tip, files));
    assert_eq!(workspace.git(&["status", "--short"]), "");
    let status = workspace.edt(&["status"]).json;
    assert_eq!((&status["edits"], &status["changed"]), (&json!(1), &json!(["a.txt"])));
    let answer = workspace.edt(&["land"]).landed();
    assert_eq!(answer.json["edit"], 1);
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
    assert_eq!(subjects(&workspace, "main").len(), 3);
    assert_eq!(workspace.git(&["show", "main:a.txt"]), "one\n2\nthree\nfour\nfive\n");
    workspace.is_sound();
}

#[test]
fn numbers_that_are_no_part_are_refused() {
    let workspace = three_edits();
    let main = workspace.rev("main");
    for number in ["0", "4"] {
        workspace.refuses(&["BAD_REQUEST"], 2, &["land", "--to", number]);
    }
    assert_eq!(workspace.rev("main"), main);
    workspace.edt(&["land", "--to", "2"]).landed();
    for number in ["1", "2"] {
        workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land", "--to", number]);
    }
    // The last edit is all that is left.
    workspace.edt(&["land", "--to", "3"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]).trim(), "refs/heads/main");
}

#[test]
fn a_part_of_a_session_on_the_branch_that_is_checked_out_is_refused() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "b.txt", "b", "B");
    workspace.refuses(&["BAD_REQUEST"], 2, &["land", "--to", "1"]);
    workspace.edt(&["land"]).landed();
}

#[test]
fn the_landing_of_a_part_is_undone_and_lands_again() {
    let workspace = three_edits();
    let (main, files) = (workspace.rev("main"), workspace.files());
    workspace.edt(&["land", "--to", "1"]).landed();
    workspace.edt(&["land", "--undo"]).landed();
    assert_eq!((workspace.rev("main"), workspace.files()), (main, files));
    assert_eq!(workspace.edt(&["status"]).json["edits"], 3);
    let answer = workspace.edt(&["land"]).landed();
    assert_eq!(answer.json["edit"], 3);
}

#[test]
fn users_commits_in_a_part_land_and_those_after_it_stay() {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    for name in ["c.txt", "d.txt"] {
        workspace.write(name, name);
        workspace.git(&["add", name]);
        workspace.git(&["commit", "--quiet", "-m", name]);
        workspace.edt(&["apply", "b.txt", "--mode", "append", "--content", "more\n"]).landed();
    }
    // Only what lands is judged: both commits would wait for the user.
    workspace.refuses(&["APPROVAL_REQUIRED"], 4, &["land", "--to", "2"]);
    workspace.edt(&["land", "--to", "1"]).landed();
    let (status, screen) = workspace.at_terminal("land --to 2", "");
    assert_eq!(status, Some(0), "{screen}");
    assert!(screen.contains("1 edit stays in the session"), "{screen}");
    assert_eq!(subjects(&workspace, "main~2..main").len(), 2);
    assert_eq!(workspace.git(&["ls-tree", "--name-only", "main", "d.txt"]), "");
    assert_eq!(workspace.text("d.txt"), "d.txt");
}

#[test]
fn a_part_lands_where_its_branch_is_checked_out() {
    let workspace = TestRepo::with(&[("a.txt", TEXT), ("b.txt", b"b\n")]);
    let place = workspace.home.join("side");
    workspace.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let side = workspace.at(&place);
    edit(&side, "a.txt", "two", "TWO");
    edit(&side, "a.txt", "TWO", "2");
    side.edt(&["land", "--to", "1"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!((workspace.status(), side.status()), (String::new(), String::new()));
    assert_eq!(side.text("a.txt"), "one\n2\nthree\nfour\nfive\n");
    // The session goes on there, and here it has not ended.
    workspace.refuses(&["NO_SESSION"], 1, &["undo"]);
    side.edt(&["land"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\n2\nthree\nfour\nfive\n");
}

#[test]
fn hooks_that_read_files_judge_no_part_with_later_edits() {
    let workspace = three_edits();
    hook(&workspace, "pre-commit", "exit 0");
    workspace.refuses(&["HOOKS_READ_DISK"], 1, &["land", "--to", "1"]);
    workspace.edt(&["land", "--to", "1", "--allow", "hooks_read_disk"]).landed();
}

// ---- what the user threw away --------------------------------------------------------------------

/// Three edits; the user types the old line of the last one again.
fn thrown_away() -> TestRepo {
    let workspace = workspace();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "b.txt", "b", "B");
    edit(&workspace, "a.txt", "five", "FIVE");
    workspace.write("a.txt", workspace.text("a.txt").replace("FIVE", "five"));
    workspace
}

#[test]
fn what_the_user_threw_away_does_not_land_for_an_agent() {
    let workspace = thrown_away();
    let (main, files) = (workspace.rev("main"), workspace.files());
    workspace.refuses(&["LANDS_REMOVED_LINES"], 4, &["land"]);
    let refused = workspace.edt(&["land", "--allow", "lands_removed_lines"]);
    assert_eq!(refused.codes(), ["LANDS_REMOVED_LINES"]);
    let evidence = &refused.errors()[0]["evidence"];
    assert_eq!((&evidence["files"], &evidence["edits"]), (&json!(["a.txt"]), &json!([3])));
    assert!(refused.hint().starts_with("`edt revert 3` takes"), "{}", refused.hint());
    assert_eq!((workspace.rev("main"), workspace.files()), (main, files.clone()));
    // A part without the edit lands, and the hint works.
    workspace.edt(&["land", "--to", "2"]).landed();
    workspace.edt(&["revert", "3"]).landed();
    assert_eq!(workspace.files(), files);
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
}

#[test]
fn the_user_is_asked_before_what_they_threw_away_lands() {
    let workspace = thrown_away();
    let files = workspace.files();
    let (status, screen) = workspace.at_terminal("land", "");
    assert!(status != Some(0) && screen.contains("LANDS_REMOVED_LINES"), "{screen}");
    assert!(screen.contains("a.txt (edit 3; line 5)"), "{screen}");
    let (status, screen) = workspace.at_terminal("land --allow lands_removed_lines", "");
    assert_eq!(status, Some(0), "{screen}");
    assert!(workspace.git(&["show", "main:a.txt"]).ends_with("FIVE\n"));
    assert_eq!(workspace.files(), files);
}

#[test]
fn a_file_that_the_user_deleted_or_restored_does_not_land() {
    let workspace = workspace();
    workspace.edt(&["apply", "c.txt", "--mode", "create", "--content", "c\n"]).landed();
    workspace.edt(&["apply", "b.txt", "--mode", "delete"]).landed();
    std::fs::remove_file(workspace.root.join("c.txt")).unwrap();
    workspace.write("b.txt", "b\n");
    let refused = workspace.edt(&["land"]);
    assert_eq!(refused.codes(), ["LANDS_REMOVED_LINES"]);
    assert_eq!(refused.errors()[0]["evidence"]["edits"], json!([1, 2]));
    workspace.edt(&["revert", "2", "1"]).landed();
    assert_eq!(workspace.text("b.txt"), "b\n");
    workspace.refuses(&["NOTHING_TO_LAND"], 1, &["land"]);
}

#[test]
fn changed_lines_and_files_of_a_session_elsewhere_are_not_thrown_away() {
    let workspace = thrown_away();
    workspace.write("a.txt", workspace.text("a.txt").replace("five", "5"));
    workspace.edt(&["land"]).landed();
    let workspace = TestRepo::with(&[("a.txt", TEXT)]);
    workspace.edt(&["begin", "s", "--no-switch"]).landed();
    edit(&workspace, "a.txt", "two", "TWO");
    edit(&workspace, "a.txt", "five", "FIVE");
    workspace.write("a.txt", workspace.text("a.txt").replace("FIVE", "five"));
    assert_ne!(workspace.edt(&["land"]).codes(), ["LANDS_REMOVED_LINES"]);
}
