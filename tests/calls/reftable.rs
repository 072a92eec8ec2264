//! Refs in tables: what Git and edt do in turn, side by side and under foreign locks.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;

use crate::repositories::{files, works};
use crate::test_repo::TestRepo;

/// The messages of the log of `name`, newest first.
fn messages(workspace: &TestRepo, name: &str) -> Vec<String> {
    workspace.git(&["reflog", "show", "--format=%gs", name]).lines().map(str::to_owned).collect()
}

#[test]
fn refs_in_tables() {
    for format in ["sha1", "sha256"] {
        let format = format!("--object-format={format}");
        let workspace = TestRepo::made(&["--ref-format=reftable", &format], &files());
        works(&workspace);
        let head = messages(&workspace, "HEAD");
        assert!(head.contains(&"checkout: moving from main to edt/main-1".to_owned()), "{head:?}");
        workspace.write("b.txt", "the user's\n");
        let status = workspace.edt(&["status"]);
        assert_eq!(status.json["untracked"], json!(["b.txt"]), "{:#}", status.json);
        std::fs::remove_file(workspace.root.join("b.txt")).unwrap();
        for command in ["diff", "log", "show", "stats", "ls", "proposals"] {
            assert_eq!(workspace.edt(&[command]).exit, 0, "{command}");
        }
        workspace.edt(&["land", "-m", "the work"]).landed();
        assert_eq!(workspace.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(messages(&workspace, "main")[0], "edt land: edt/main-1");
        workspace.is_clean();
        workspace.overwrite("a.txt", "two\n");
        workspace.edt(&["abandon"]).landed();
        // A session that ended within this second stays.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(workspace.edt(&["gc", "--older-than", "0"]).exit, 0);
        assert_eq!(workspace.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
        workspace.is_clean();
        workspace.is_sound();
    }
}

#[test]
fn refs_in_tables_of_two_worktrees() {
    let main = TestRepo::made(&["--ref-format=reftable"], &files());
    let linked = main.root.with_file_name("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let side = main.at(linked);
    works(&side);
    assert_eq!(side.git(&["symbolic-ref", "HEAD"]), "refs/heads/edt/side-1\n");
    works(&main);
    side.edt(&["land", "--into", "main"]).landed();
    main.is_clean();
    side.is_clean();
    main.is_sound();
}

#[test]
fn hooks_and_replacements_where_refs_are_in_tables() {
    let workspace = TestRepo::made(&["--ref-format=reftable"], &files());
    assert_eq!(workspace.edt(&["hooks", "install"]).exit, 0);
    workspace.overwrite("a.txt", "two\n");
    let tip = workspace.rev("edt/main-1");
    assert!(!workspace.try_git(&["branch", "-D", "edt/main-1"]).status.success());
    assert!(!workspace.try_git(&["update-ref", "refs/heads/edt/main-1", "main"]).status.success());
    assert_eq!(workspace.rev("edt/main-1"), tip);
    workspace.git(&["branch", "-m", "edt/main-1", "renamed"]);
    assert!(!workspace.try_git(&["update-ref", "refs/heads/renamed", "main"]).status.success());
    workspace.git(&["branch", "-m", "renamed", "edt/main-1"]);
    workspace.edt(&["land"]).landed();
    assert_eq!(workspace.text("a.txt"), "two\n");
    workspace.is_clean();
    workspace.git(&["replace", "main", "main~1"]);
    workspace.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &["begin"]);
}

/// The lists of the tables of a linked worktree: of all worktrees, and its own.
fn lists(side: &TestRepo) -> [PathBuf; 2] {
    ["--git-common-dir", "--git-dir"].map(|dir| side.git_dir(dir).join("reftable/tables.list"))
}

fn with_a_worktree() -> (TestRepo, TestRepo) {
    let main = TestRepo::made(&["--ref-format=reftable"], &files());
    let linked = main.root.with_file_name("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let side = main.at(linked);
    (main, side)
}

#[test]
fn a_session_beside_head_in_tables() {
    let repo = TestRepo::made(&["--ref-format=reftable"], &files());
    repo.edt(&["begin", "s", "--no-switch"]).landed();
    repo.overwrite("a.txt", "two\n");
    repo.edt(&["undo"]).landed();
    repo.edt(&["redo"]).landed();
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(repo.git(&["show", "edt/s:a.txt"]), "two\n");
    repo.edt(&["begin", "t", "--worktree", "../t"]).landed();
    let other = repo.at(repo.root.with_file_name("t"));
    other.overwrite("a.txt", "three\n");
    other.edt(&["land"]);
    repo.edt(&["land"]).landed();
    assert_eq!(repo.git(&["for-each-ref", "refs/worktree"]), "");
    repo.is_sound();
}

/// Each lock in turn. Nothing changes, the lock stays, and the same call works without it.
#[test]
fn a_lock_of_another_program_refuses_the_call_and_stays() {
    let (_main, side) = with_a_worktree();
    for call in [&["begin", "s"][..], &["apply", "a.txt", "--mode", "append", "--content", "x\n"]] {
        for list in lists(&side) {
            let lock = list.with_file_name("tables.list.lock");
            std::fs::write(&lock, "").unwrap();
            let before = std::fs::read(&list).unwrap();
            side.refuses(&["SESSION_BUSY"], 3, call);
            assert_eq!(side.edt(&["doctor", "--fix"]).json["schema"], "edt.doctor/1");
            assert_eq!((std::fs::read(&list).unwrap(), lock.exists()), (before, true), "{call:?}");
            std::fs::remove_file(lock).unwrap();
        }
        side.edt(call).landed();
    }
    side.is_clean();
    side.is_sound();
}

#[test]
fn many_edits_leave_few_tables() {
    let (_main, side) = with_a_worktree();
    for n in 0..200 {
        side.edt(&["apply", "a.txt", "--mode", "append", "--content", &format!("{n}\n")]).landed();
    }
    for list in lists(&side) {
        let listed = std::fs::read_to_string(&list).unwrap().lines().count();
        let directory = list.parent().unwrap();
        let files = std::fs::read_dir(directory).unwrap().count();
        assert!(listed < 10 && files == listed + 1, "{listed} listed, {files} files");
    }
    let edits = |name| messages(&side, name).iter().filter(|why| why.starts_with("edt ")).count();
    assert_eq!(["HEAD", "edt/side-1"].map(edits), [200, 200]);
    assert_eq!(side.git(&["rev-list", "--count", "side..HEAD"]), "200\n");
    side.is_clean();
    side.is_sound();
}

/// Git writes blocks as long as `reftable.blockSize` says. A name that needs such a block stays
/// where it is.
#[test]
fn a_name_that_is_longer_than_a_block_of_edt() {
    let repo = TestRepo::made(&["--ref-format=reftable"], &files());
    repo.git(&["config", "reftable.blockSize", "32768"]);
    let name = format!("refs/heads/{}", vec!["a-part-of-the-name"; 400].join("/"));
    repo.git(&["update-ref", &name, "HEAD"]);
    let before = repo.git(&["rev-parse", &name]);
    // So many that the table of the name is small beside theirs.
    let append = |line: &str| {
        repo.edt(&["apply", "a.txt", "--mode", "append", "--content", line]).landed();
    };
    (0..100).for_each(|n| append(&format!("{n}\n")));
    let list = std::fs::read_to_string(repo.root.join(".git/reftable/tables.list")).unwrap();
    assert!(list.lines().count() < 12, "the tables above it are merged: {list}");
    repo.edt(&["undo"]).landed();
    repo.edt(&["land"]).landed();
    assert_eq!(repo.git(&["rev-parse", &name]), before);
    repo.git(&["pack-refs", "--all"]);
    append("more\n");
    assert_eq!(repo.git(&["rev-parse", &name]), before);
    repo.is_clean();
    repo.is_sound();
}

/// Two sessions, and a user who commits, makes and deletes branches and packs refs. Whoever says
/// that it is done has done it.
#[test]
fn everybody_at_once() {
    let (main, side) = with_a_worktree();
    let user = main.root.with_file_name("user");
    main.git(&["worktree", "add", "--quiet", "-b", "user", user.to_str().unwrap()]);
    let user = main.at(user);
    let edits = |repo: &TestRepo| {
        for n in 0..25 {
            let line = format!("{n}\n");
            repo.edt(&["apply", "a.txt", "--mode", "append", "--content", &line]).landed();
            if n % 5 == 4 {
                repo.edt(&["undo"]).landed();
            }
        }
    };
    // Git gives up its wait for a lock after 100 ms.
    let is_done = |done: Output| done.status.success();
    let acts = |repo: &TestRepo| {
        let (mut branches, mut commits) = (Vec::new(), 0);
        for n in 0..30 {
            let name = format!("topic/{n}");
            if is_done(repo.try_git(&["branch", &name])) {
                branches.push(name.clone());
            }
            repo.write("u.txt", format!("{n}\n"));
            repo.git(&["add", "u.txt"]);
            commits += usize::from(is_done(repo.try_git(&["commit", "-q", "-m", "user's"])));
            if n % 3 == 0 && is_done(repo.try_git(&["branch", "-q", "-D", &name])) {
                branches.retain(|branch| *branch != name);
            }
            if n % 4 == 0 {
                repo.try_git(&["pack-refs", "--all"]);
            }
        }
        (branches, commits)
    };
    let (mut branches, commits) = std::thread::scope(|scope| {
        scope.spawn(|| edits(&main));
        scope.spawn(|| edits(&side));
        scope.spawn(|| acts(&user)).join().unwrap()
    });
    branches.sort();
    let topics = main.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/topic"]);
    assert_eq!(topics.lines().collect::<Vec<_>>(), branches);
    let count = |range: &str| main.git(&["rev-list", "--count", range]).trim().to_owned();
    assert_eq!(count("main..user"), commits.to_string());
    assert_eq!([count("main..edt/main-1"), count("side..edt/side-1")], ["20", "20"]);
    for repo in [&main, &side] {
        assert_eq!(repo.text("a.txt").lines().count(), 21, "{}", repo.text("a.txt"));
        repo.is_clean();
    }
    main.is_sound();
    assert_eq!(main.locks(), Vec::<String>::new());
}

/// Git reads what edt wrote after each way to rewrite tables.
#[test]
fn tables_that_git_packs_and_expires() {
    let repo = TestRepo::made(&["--ref-format=reftable"], &files());
    repo.overwrite("a.txt", "two\n");
    repo.git(&["pack-refs", "--all"]);
    repo.edt(&["undo"]).landed();
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
    repo.edt(&["redo"]).landed();
    assert_eq!(repo.text("a.txt"), "two\n");
    repo.git(&["config", "core.logAllRefUpdates", "false"]);
    repo.git(&["branch", "quiet"]);
    repo.overwrite("a.txt", "three\n");
    repo.is_clean();
    repo.edt(&["land"]).landed();
    assert_eq!(messages(&repo, "quiet"), Vec::<String>::new());
    repo.is_clean();
    repo.is_sound();
    assert!(!Path::new(&repo.root).join(".git/logs").exists());
}

#[test]
fn unborn_and_detached_heads_in_tables() {
    let repo = TestRepo::unborn(&["--ref-format=reftable"]);
    repo.edt(&["apply", "a.txt", "--mode", "create", "--content", "one\n"]).landed();
    repo.edt(&["undo"]).landed();
    repo.edt(&["redo"]).landed();
    repo.edt(&["land"]).landed();
    assert_eq!(repo.git(&["show", "main:a.txt"]), "one\n");
    repo.git(&["switch", "--quiet", "--detach", "main"]);
    let start = repo.rev("HEAD");
    repo.edt(&["begin", "s"]).landed();
    repo.overwrite("a.txt", "two\n");
    repo.edt(&["abandon"]).landed();
    assert!(!repo.try_git(&["symbolic-ref", "HEAD"]).status.success());
    assert_eq!(repo.rev("HEAD"), start);
    assert_eq!(repo.rev("HEAD@{1}"), repo.rev("refs/edt/s/abandoned"));
    repo.is_clean();
    repo.is_sound();
}

#[test]
fn a_symbolic_branch_in_tables() {
    let repo = TestRepo::made(&["--ref-format=reftable"], &files());
    repo.git(&["branch", "--quiet", "-m", "main", "trunk"]);
    repo.git(&["symbolic-ref", "refs/heads/main", "refs/heads/trunk"]);
    repo.git(&["switch", "--quiet", "main"]);
    works(&repo);
    repo.edt(&["land"]).landed();
    assert_eq!(repo.git(&["symbolic-ref", "refs/heads/main"]), "refs/heads/trunk\n");
    assert_eq!(repo.git(&["symbolic-ref", "--no-recurse", "HEAD"]), "refs/heads/main\n");
    repo.is_clean();
    repo.is_sound();
}

/// gix reads the branch from the file HEAD, which names none.
#[test]
fn settings_of_a_branch_are_refused_with_tables() {
    let workspace = TestRepo::made(&["--ref-format=reftable"], &files());
    workspace.git(&["config", "--global", "includeIf.onbranch:main.path", "/nowhere"]);
    workspace.refuses(&["UNSUPPORTED_REPOSITORY"], 5, &["begin"]);
}

#[test]
fn a_session_that_began_detached_is_left_in_tables() {
    let (main, side) = with_a_worktree();
    for workspace in [&main, &side] {
        workspace.git(&["switch", "--quiet", "--detach"]);
        let at = workspace.rev("HEAD");
        workspace.edt(&["begin", if workspace.root == main.root { "d" } else { "e" }]).landed();
        workspace.overwrite("a.txt", "two\n");
        workspace.edt(&["switch", "--leave"]).landed();
        assert!(!workspace.try_git(&["symbolic-ref", "--quiet", "HEAD"]).status.success());
        assert_eq!(workspace.rev("HEAD"), at);
        workspace.is_clean();
        workspace.is_sound();
    }
}

/// Git keeps their refs in the tables, too.
#[test]
fn a_cherry_pick_in_tables_is_an_operation() {
    for command in ["cherry-pick", "revert"] {
        let workspace = TestRepo::made(&["--ref-format=reftable"], &files());
        for text in ["two\n", "three\n"] {
            workspace.commit(&[("a.txt", text.as_bytes())]);
        }
        assert!(!workspace.try_git(&[command, "HEAD~1"]).status.success());
        workspace.refuses(&["REPOSITORY_BUSY"], 3, &["begin"]);
    }
}

#[test]
fn a_session_on_a_symbolic_branch_in_tables_is_abandoned() {
    let workspace = TestRepo::made(&["--ref-format=reftable"], &files());
    workspace.git(&["branch", "--quiet", "-m", "main", "trunk"]);
    workspace.git(&["symbolic-ref", "refs/heads/main", "refs/heads/trunk"]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.overwrite("a.txt", "two\n");
    workspace.edt(&["abandon"]).landed();
    assert_eq!(workspace.git(&["symbolic-ref", "--no-recurse", "HEAD"]), "refs/heads/main\n");
    assert_eq!(workspace.git(&["symbolic-ref", "refs/heads/main"]), "refs/heads/trunk\n");
    workspace.is_clean();
    workspace.is_sound();
}

/// The lock that all worktrees share is a link to a file of the worktree whose call was killed.
#[test]
fn a_lock_of_a_worktree_that_is_gone_is_removed() {
    let (main, side) = with_a_worktree();
    let [shared, _] = lists(&side);
    side.overwrite("a.txt", "two\n");
    let lock = shared.with_extension("list.lock");
    let state = std::fs::read_dir(main.root.join(".git/edt/linked")).unwrap().next().unwrap();
    let staged = state.unwrap().path().join("tables");
    // It is the list itself until the next call.
    std::fs::remove_file(&staged).unwrap();
    std::fs::write(&staged, "edt\n").unwrap();
    std::fs::hard_link(&staged, &lock).unwrap();
    std::fs::remove_dir_all(&side.root).unwrap();
    std::fs::remove_dir_all(main.root.join(".git/worktrees")).unwrap();
    main.overwrite("a.txt", "two\n");
    assert!(!lock.exists());
    main.is_sound();
}

#[test]
fn a_base_is_named_by_its_message_in_tables() {
    let workspace = TestRepo::made(&["--ref-format=reftable"], &files());
    workspace.git(&["commit", "--quiet", "--allow-empty", "-m", "fix: it"]);
    let at = workspace.rev("HEAD");
    workspace.commit(&[("a.txt", b"two\n")]);
    workspace.edt(&["begin", "s", "--base", ":/fix"]).landed();
    assert_eq!(workspace.rev("refs/edt/s/base"), at);
}

#[test]
fn a_short_id_that_a_blob_has_too_names_the_commit() {
    for format in ["files", "reftable"] {
        let workspace = TestRepo::made(&[&format!("--ref-format={format}")], &files());
        let blobs: String = (0..20_000).map(|n| format!("blob\ndata 5\n{n:05}\n")).collect();
        let input = workspace.root.with_file_name("blobs");
        std::fs::write(&input, blobs).unwrap();
        let mut import = workspace.command("git");
        import.args(["fast-import", "--quiet"]).stdin(File::open(input).unwrap());
        assert!(import.status().unwrap().success());
        let ask = ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)"];
        let all = workspace.git(&ask);
        let taken: HashSet<&str> =
            all.lines().filter_map(|line| line.strip_prefix("blob ")?.get(..4)).collect();
        let mut at = workspace.rev("HEAD");
        while !taken.contains(&at[..4]) {
            workspace.git(&["commit", "--quiet", "--allow-empty", "-m", &at]);
            at = workspace.rev("HEAD");
        }
        workspace.commit(&[("a.txt", b"two\n")]);
        workspace.edt(&["begin", "s", "--base", &at[..4]]).landed();
        assert_eq!(workspace.rev("refs/edt/s/base"), at);
    }
}
