//! What is waited for before an edit is answered, counted from outside.

use std::process::Stdio;

use crate::test_repo::{EDT, TestRepo, has_strace, run};

const APPEND: [&str; 6] = ["apply", "a.txt", "--mode", "append", "--content", "two\n"];

/// Whether an edit with `args` waits for stable storage.
fn waits(workspace: &TestRepo, text: &str, args: &[&str]) -> bool {
    let edit = ["apply", "a.txt", "--mode", "overwrite", "--content", text];
    is_synced(workspace, &[&edit, args].concat())
}

/// Whether `edt` with `args` syncs anything. `syncfs` would wait for what other programs wrote.
fn is_synced(workspace: &TestRepo, args: &[&str]) -> bool {
    let log = workspace.home.join("trace");
    let mut command = workspace.command("strace");
    command
        .args(["-f", "-qq", "-e", "trace=fdatasync,fsync,syncfs,sync_file_range,msync,sync", "-o"])
        .arg(&log)
        .arg(EDT);
    command.args(args);
    assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{args:?}");
    let trace = std::fs::read_to_string(&log).unwrap();
    assert!(!trace.contains("syncfs("), "{args:?}");
    trace.contains("fdatasync(") || trace.contains("fsync(")
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
fn an_edit_waits_for_stable_storage_or_for_nothing() {
    if !has_strace() {
        return;
    }
    let workspace = workspace(None);
    assert!(waits(&workspace, "3\n", &[]));
    assert!(waits(&workspace, "4\n", &["--durability", "on"]));
    assert!(!waits(&workspace, "5\n", &["--durability", "off"]));
    for (value, expected) in [("all", true), ("none", false), ("default", true), ("pack", true)] {
        workspace.git(&["config", "core.fsync", value]);
        let text = format!("{value}\n");
        assert_eq!(waits(&workspace, &text, &[]), expected, "core.fsync={value}");
    }
    workspace.git(&["config", "core.fsync", "none"]);
    let by_flag = waits(&workspace, "6\n", &["--durability", "on"]);
    assert!(by_flag, "the flag comes before Git's configuration");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn the_beginning_of_a_session_waits_for_stable_storage() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    assert!(is_synced(&workspace, &["begin", "s"]));
    workspace.git(&["switch", "--quiet", "main"]);
    assert!(is_synced(&workspace, &["begin", "t", "--no-switch"]));
    workspace.git(&["switch", "--quiet", "main"]);
    // An edit without a session begins one.
    assert!(waits(&workspace, "2\n", &[]));
    workspace.is_sound();
}

#[test]
fn the_policy_is_a_floor_under_flag_and_configuration() {
    if !has_strace() {
        return;
    }
    let workspace = workspace(Some("[session]\ndurability = \"on\"\n"));
    assert!(waits(&workspace, "3\n", &["--durability", "off"]));
    // The user's file may ask for more than the repository's, and not for less.
    std::fs::create_dir_all(workspace.home.join(".config/edt")).unwrap();
    std::fs::write(
        workspace.home.join(".config/edt/edt.toml"),
        "[session]\ndurability = \"off\"\n",
    )
    .unwrap();
    workspace.git(&["config", "core.fsync", "none"]);
    assert!(waits(&workspace, "4\n", &[]));
}

#[test]
fn a_level_that_there_is_not_is_refused() {
    let workspace = workspace(None);
    let answer = workspace.refuses(
        &["BAD_REQUEST"],
        2,
        &["apply", "a.txt", "--content", "x", "--durability", "sometimes"],
    );
    assert!(answer.message().contains("off, on"), "{}", answer.message());
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
