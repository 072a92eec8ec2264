//! What is waited for before an edit is answered, counted from outside.

use std::process::Stdio;

use crate::test_repo::{EDT, TestRepo, has_strace, run};

const APPEND: [&str; 6] = ["apply", "a.txt", "--mode", "append", "--content", "two\n"];

/// How often an edit with `args` syncs: a file, and a file system.
fn waits(workspace: &TestRepo, text: &str, args: &[&str]) -> (usize, usize) {
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", text];
    calls_that_sync(workspace, &[&edit, args].concat())
}

/// How often `edt` with `args` syncs: a file, and a file system.
fn calls_that_sync(workspace: &TestRepo, args: &[&str]) -> (usize, usize) {
    let log = workspace.home.join("trace");
    let mut command = workspace.command("strace");
    command
        .args(["-f", "-qq", "-e", "trace=fdatasync,fsync,syncfs,sync_file_range,msync,sync", "-o"])
        .arg(&log)
        .arg(EDT);
    command.args(args);
    assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
    let trace = std::fs::read_to_string(&log).unwrap();
    let count = |name: &str| trace.lines().filter(|line| line.contains(name)).count();
    // After a checkpoint an edit also syncs the index that it replaces.
    ((count("fdatasync(") + count("fsync(")).min(1), count("syncfs("))
}

fn workspace(policy: Option<&str>) -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    if let Some(policy) = policy {
        workspace.commit(&[("edt.toml", policy.as_bytes())]);
    }
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

#[test]
fn an_edit_waits_for_one_record_for_everything_or_for_nothing() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = workspace(None);
    assert_eq!(waits(&workspace, "3\n", &[]), (1, 0));
    assert_eq!(waits(&workspace, "4\n", &["--durability", "journal"]), (1, 0));
    assert_eq!(waits(&workspace, "5\n", &["--durability", "full"]), (1, 2));
    workspace.overwrite("a.txt", "an edit after the checkpoint\n");
    assert_eq!(waits(&workspace, "6\n", &["--durability", "off"]), (0, 0));
    for (value, expected) in [
        ("all", (1, 2)),
        ("committed", (1, 2)),
        ("none", (0, 0)),
        ("default", (1, 0)),
        ("pack", (1, 0)),
    ] {
        workspace.git(&["config", "core.fsync", "default"]);
        workspace.overwrite("a.txt", &format!("before {value}\n"));
        workspace.git(&["config", "core.fsync", value]);
        assert_eq!(waits(&workspace, &format!("{value}\n"), &[]), expected, "core.fsync={value}");
    }
    workspace.git(&["config", "core.fsync", "none"]);
    assert_eq!(
        waits(&workspace, "7\n", &["--durability", "journal"]),
        (1, 0),
        "the flag comes before Git's configuration"
    );
    workspace.is_clean();
    workspace.is_sound();
}

/// `syncfs` waits for what other programs wrote.
#[test]
fn the_beginning_of_a_session_does_not_sync_the_file_system() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    assert_eq!(calls_that_sync(&workspace, &["begin", "s"]), (1, 0));
    workspace.git(&["switch", "--quiet", "main"]);
    assert_eq!(calls_that_sync(&workspace, &["begin", "t", "--no-switch"]), (1, 0));
    let full = ["begin", "u", "--durability", "full"];
    assert_eq!(calls_that_sync(&workspace, &full), (1, 2));
    workspace.git(&["switch", "--quiet", "main"]);
    // An edit without a session begins one.
    assert_eq!(waits(&workspace, "2\n", &[]), (1, 0));
    workspace.is_sound();
}

/// The names in the Git directory that a call syncs, in order.
fn synced(workspace: &TestRepo, args: &[&str]) -> Vec<String> {
    let log = workspace.home.join("trace");
    let mut command = workspace.command("strace");
    command.args(["-f", "-qq", "-y", "-e", "trace=fdatasync,fsync", "-o"]).arg(&log).arg(EDT);
    assert!(command.args(args).stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
    let trace = std::fs::read_to_string(&log).unwrap();
    let names = trace.lines().filter_map(|line| line.split_once("/.git/")?.1.split_once('>'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// btrfs syncs a file without those that were written before it. With a new HEAD and an old index,
/// plain Git shows the edits in between as staged reversals after a power cut.
#[test]
fn the_index_is_synced_before_head() {
    if !has_strace() {
        return;
    }
    let calls: [&[&str]; 3] = [&["begin", "s"], &["begin", "t"], &APPEND];
    for call in calls {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        if call[1] == "t" {
            workspace.overwrite("a.txt", "two\n");
        }
        let synced = synced(&workspace, call);
        let of = |name: &str| synced.iter().position(|synced| synced == name);
        assert!(of("index").is_some() && of("index") < of("HEAD"), "{call:?}: {synced:?}");
    }
    let workspace = TestRepo::made(&["--ref-format=reftable"], &[("a.txt", b"one\n")]);
    for call in calls {
        let synced = synced(&workspace, call);
        let is_last = synced.iter().rposition(|synced| synced == "index")
            > synced.iter().rposition(|synced| synced == "reftable/tables.list.lock");
        let is_begin = call[0] == "begin";
        assert!(synced.contains(&"index".to_owned()), "{call:?}: {synced:?}");
        assert!(is_begin || is_last, "{call:?}: {synced:?}");
    }
}

#[test]
fn the_policy_is_a_floor_under_flag_and_configuration() {
    if !crate::test_repo::has_strace() {
        return;
    }
    let workspace = workspace(Some("[session]\ndurability = \"full\"\n"));
    assert_eq!(waits(&workspace, "3\n", &[]).1, 2);
    assert_eq!(waits(&workspace, "4\n", &["--durability", "off"]).1, 2);
    // The user's file may ask for more than the repository's, and not for less.
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(
        workspace.home.join(".config/edt/edt.toml"),
        "[session]\ndurability = \"off\"\n",
    )
    .unwrap();
    assert_eq!(waits(&workspace, "5\n", &[]).1, 2);
}

#[test]
fn a_level_that_there_is_not_is_refused() {
    let workspace = workspace(None);
    let answer = workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--content", "x", "--durability", "sometimes"],
    );
    assert!(answer.message().contains("off, journal, full"), "{}", answer.message());
    workspace.commit(&[("edt.toml", b"[session]\ndurability = \"never\"\n")]);
    workspace.edt(&["abandon"]);
    workspace.git(&["switch", "--quiet", "-C", "other"]);
    workspace.commit(&[("edt.toml", b"[session]\ndurability = \"never\"\n")]);
    workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--mode", "overwrite", "--content", "x\n"],
    );
}

/// A lock that a crashed Git left. `HEAD` must move, so the call ends before it changes anything.
#[test]
fn a_stale_lock_of_head_refuses_a_call_that_moves_head() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let lock = workspace.root.join(".git/HEAD.lock");
    std::fs::write(&lock, "").unwrap();
    workspace.refuses(&["SESSION_BUSY"], 3, &APPEND);
    std::fs::remove_file(&lock).unwrap();
    workspace.edt(&APPEND).landed();
    std::fs::write(&lock, "").unwrap();
    for args in [&["land"][..], &["abandon"]] {
        workspace.refuses(&["SESSION_BUSY"], 3, args);
    }
    // HEAD does not move: its lock is not needed.
    workspace.edt(&APPEND).landed();
    std::fs::remove_file(&lock).unwrap();
    workspace.edt(&["land"]).landed();
    workspace.is_clean();
}

#[test]
fn a_stale_lock_of_a_ref_that_a_call_deletes_refuses_the_call() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&APPEND).landed();
    for lock in ["refs/heads/edt/main-1.lock", "packed-refs.lock"] {
        let lock = workspace.root.join(".git").join(lock);
        std::fs::write(&lock, "").unwrap();
        workspace.refuses(&["SESSION_BUSY"], 3, &["abandon"]);
        std::fs::remove_file(&lock).unwrap();
    }
    workspace.edt(&["abandon"]).landed();
}

/// Git refuses a commit then, before it changes anything.
#[test]
fn a_log_that_cannot_be_written_refuses_an_edit() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&APPEND).landed();
    for log in ["HEAD", "refs/heads/edt/main-1"] {
        let log = workspace.root.join(".git/logs").join(log);
        let kept = log.with_extension("kept");
        std::fs::rename(&log, &kept).unwrap();
        std::fs::create_dir(&log).unwrap();
        std::fs::write(log.join("x"), "").unwrap();
        workspace.refuses(&["IO_ERROR"], 5, &APPEND);
        std::fs::remove_dir_all(&log).unwrap();
        std::fs::rename(&kept, &log).unwrap();
    }
    workspace.edt(&APPEND).landed();
    workspace.is_clean();
}

/// `strace` fails the write of each log once, after the branch has moved.
#[test]
fn a_log_that_fails_once_leaves_no_lock_and_no_staged_reversal() {
    if !has_strace() {
        println!("skipped: strace is not installed");
        return;
    }
    for log in ["HEAD", "refs/heads/edt/main-1"] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        workspace.edt(&APPEND).landed();
        let log = workspace.root.join(".git/logs").join(log);
        let mut command = workspace.command("strace");
        command.args(["-qq", "-f", "-o", "/dev/null", "-e", "inject=write:error=EIO:when=1"]);
        command.arg("-P").arg(&log).arg(EDT).args(APPEND).arg("--json");
        let answer = run(command, b"", &APPEND);
        assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
        assert_eq!(workspace.locks(), Vec::<String>::new());
        assert_eq!(workspace.git(&["diff", "--cached", "--stat"]), "");
        workspace.edt(&APPEND).landed();
        workspace.is_clean();
    }
}

/// `git gc --prune=now` beside an edit reads the refs before the edit, and deletes its objects after
/// the answer.
#[test]
fn objects_that_git_pruned_are_written_again() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&APPEND).landed();
    for object in ["HEAD", "HEAD^{tree}", "HEAD:a.txt"].map(|name| workspace.rev(name)) {
        let file = workspace.root.join(".git/objects").join(&object[..2]).join(&object[2..]);
        std::fs::remove_file(file).unwrap();
    }
    workspace.edt(&APPEND).landed();
    workspace.is_clean();
    workspace.edt(&["undo", "-n", "2"]).landed();
    assert_eq!(workspace.text("a.txt"), "one\n");
}

#[test]
fn packs_of_a_precious_repository_stay() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.edt(&APPEND).landed();
    workspace.edt(&["abandon"]).landed();
    workspace.git(&["config", "extensions.preciousObjects", "true"]);
    // Commit times have whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let answer = workspace.as_user(b"", &["gc", "--older-than", "0"], &[]);
    assert_eq!(answer.exit, 0, "{:#}", answer.json);
    assert!(!answer.json["sessions"].as_array().unwrap().is_empty());
    assert_eq!(workspace.git(&["for-each-ref", "--format=%(refname)", "refs/edt"]), "");
    workspace.is_clean();
}

#[test]
fn the_journal_of_a_removed_worktree_is_removed() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let place = workspace.root.with_file_name("linked");
    let linked = |name: &str| {
        workspace.edt(&["begin", name, "--worktree", place.to_str().unwrap()]).landed();
        workspace.at(&place).edt(&APPEND).landed();
        workspace.root.join(".git/edt/linked/linked")
    };
    let state = linked("one");
    assert!(state.join("journal").exists());
    workspace.as_user(b"", &["gc"], &[]);
    assert!(state.join("journal").exists(), "the worktree exists");
    workspace.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
    workspace.as_user(b"", &["gc"], &[]);
    assert!(!state.exists(), "{:?}", std::fs::read_dir(&state).unwrap().collect::<Vec<_>>());
    linked("two");
    workspace.is_clean();
}

#[test]
fn many_loose_objects_are_packed_unasked() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let count = |key: &str| {
        let said = workspace.git(&["count-objects", "-v"]);
        let line = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        line.unwrap().parse::<usize>().unwrap()
    };
    // Blobs that no ref names are packed, too: their number is what counts.
    let texts = (0..4000).map(|n| format!("blob\ndata {}\n{n}\n", n.to_string().len()));
    let mut import = workspace.command("git");
    import.args(["-c", "fastimport.unpackLimit=10000", "fast-import", "--quiet"]);
    let mut import = import.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = import.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, texts.collect::<String>().as_bytes()).unwrap();
    drop(input);
    assert!(import.wait().unwrap().success());
    workspace.edt(&APPEND).landed();
    let loose = count("count");
    assert!(loose > 4000, "{loose}");
    workspace.git(&["config", "gc.auto", "0"]);
    workspace.edt(&["land"]).landed();
    workspace.edt(&APPEND).landed();
    workspace.git(&["config", "--unset", "gc.auto"]);
    workspace.edt(&["land"]).landed();
    let began = std::time::Instant::now();
    while count("packs") == 0 || count("count") > 10 {
        assert!(began.elapsed().as_secs() < 60, "{} loose objects", count("count"));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    workspace.edt(&APPEND).landed();
    workspace.is_clean();
}
