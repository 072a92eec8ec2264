//! What Git's hooks refuse and let pass, with real Git as the caller.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::hook_table::{BOTH, By, Hooked, shell};
use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, changed, lines, run};

/// A repository with all hooks and these files committed.
fn hooked(files: &[(&str, &[u8])]) -> TestRepo {
    let workspace = TestRepo::with(files);
    workspace.edt(&["hooks", "install"]);
    workspace
}

fn said(done: &Output) -> String {
    [done.stdout.as_slice(), &done.stderr].concat().iter().map(|&byte| byte as char).collect()
}

/// A line of shell by an agent, which must be refused with exactly these words in what it prints.
#[track_caller]
fn refused(workspace: &TestRepo, line: &str, words: &[&str]) -> String {
    let before = history(workspace);
    let done = shell(workspace, By::Agent, line).output().unwrap();
    let said = said(&done);
    assert!(!done.status.success(), "{line} was let through: {said}");
    words
        .iter()
        .for_each(|word| assert!(said.contains(word), "{line} does not say {word:?}:\n{said}"));
    assert_eq!(changed(&before, &history(workspace)), Vec::<String>::new(), "{line}");
    said
}

/// Refs, HEAD, reflogs and locks.
#[track_caller]
fn history(workspace: &TestRepo) -> Snapshot {
    let mut all = workspace.snapshot();
    all.retain(|key, _| !key.starts_with("file ") && key != "index" && key != "config");
    all
}

/// A line of shell by an agent, which must pass without output of edt.
#[track_caller]
fn passes(workspace: &TestRepo, line: &str) -> String {
    let done = shell(workspace, By::Agent, line).output().unwrap();
    let said = said(&done);
    assert!(done.status.success(), "{line}: {said}");
    assert!(!said.contains("GIT_OPERATION_BLOCKED") && !said.contains("aborted"), "{line}: {said}");
    said
}

/// What `edt --json hook …` answers.
fn answers(workspace: &TestRepo, stdin: &[u8], args: &[&str]) -> Answer {
    let mut command = workspace.command(EDT);
    command.args(["--json", "hook"]).args(args);
    run(command, stdin, args)
}

const MARKED: &str = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n";

#[test]
fn a_commit_is_judged_as_an_edit_would_be() {
    let files: Vec<(String, Vec<u8>)> =
        (0..12).map(|n| (format!("d/{n}.txt"), b"x\n".to_vec())).collect();
    let mut all: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    let long = lines(80);
    all.extend([("a.txt", long.as_bytes()), ("c.c", b"int f(void) { return 1; }\n".as_slice())]);
    let workspace = hooked(&all);
    for (path, text, code) in [
        ("a.txt", "fragment\n", "SIZE_REDUCTION a.txt"),
        ("c.c", "int f(void) { return 1;\n", "SYNTAX_ERROR c.c"),
        ("m.txt", MARKED, "CONFLICT_MARKERS m.txt"),
        ("c.c", "```c\nint f(void) { return 2; }\n```\n", "CHAT_ARTIFACT c.c"),
    ] {
        workspace.write(path, text);
        workspace.git(&["add", path]);
        let said = refused(
            &workspace,
            "git commit -m x",
            &[code, "Nothing was committed.", "next:", "--no-verify"],
        );
        assert!(!said.contains("repeat with allow"), "{said}");
        workspace.git(&["restore", "--staged", path]);
        workspace.git(&["stash", "--include-untracked"]);
        workspace.git(&["stash", "drop"]);
    }
    workspace.git(&["rm", "-r", "-q", "d"]);
    refused(&workspace, "git commit -m x", &["MASS_DELETION", "12 files", "--allow mass_deletion"]);
}

#[test]
fn a_commit_that_the_guards_let_pass_is_made_in_silence() {
    let workspace = hooked(&[("a.txt", lines(80).as_bytes())]);
    workspace.write("a.txt", lines(70));
    let said = passes(&workspace, "git commit -qam x");
    assert_eq!(said, "");
}

#[test]
fn the_index_that_is_committed_is_the_one_that_is_judged() {
    let workspace = hooked(&[("a.txt", lines(80).as_bytes()), ("b.txt", b"b\n")]);
    workspace.write("a.txt", "fragment\n");
    refused(&workspace, "git commit -am x", &["SIZE_REDUCTION a.txt"]);
    refused(&workspace, "git commit -m x a.txt", &["SIZE_REDUCTION a.txt"]);
    workspace.write("b.txt", "c\n");
    passes(&workspace, "git commit -qm x b.txt");
    workspace.git(&["add", "a.txt"]);
    refused(
        &workspace,
        "cp .git/index ../i && GIT_INDEX_FILE=../i git commit -m x",
        &["SIZE_REDUCTION a.txt"],
    );
    refused(&workspace, "mkdir -p sub && cd sub && git commit -m x", &["SIZE_REDUCTION a.txt"]);
}

#[test]
fn staged_content_is_judged_and_not_the_worktree() {
    let workspace = hooked(&[("a.txt", lines(80).as_bytes())]);
    workspace.write("a.txt", MARKED);
    workspace.git(&["add", "a.txt"]);
    workspace.write("a.txt", lines(81));
    refused(&workspace, "git commit -m x", &["CONFLICT_MARKERS a.txt"]);
    workspace.git(&["add", "a.txt"]);
    workspace.write("a.txt", MARKED);
    passes(&workspace, "git commit -qm x");
}

#[test]
fn the_policy_of_the_commit_before_holds() {
    let workspace = hooked(&[("a.txt", lines(80).as_bytes())]);
    workspace.write("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    workspace.write("a.txt", "fragment\n");
    workspace.git(&["add", "--all"]);
    refused(&workspace, "git commit -m x", &["SIZE_REDUCTION a.txt"]);
    workspace.git(&["commit", "--quiet", "--no-verify", "-m", "a user's", "edt.toml"]);
    passes(&workspace, "git commit -qam x");
}

#[test]
fn on_a_sessions_branch_the_policy_and_the_size_of_its_base_hold() {
    let workspace = hooked(&[("a.txt", lines(80).as_bytes())]);
    workspace.edt(&["begin", "s"]);
    workspace.unprotect("edt.toml");
    workspace.write("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    workspace.write("a.txt", lines(40));
    workspace.git(&["add", "--all"]);
    passes(&workspace, "git commit -qm half");
    workspace.write("a.txt", lines(20));
    refused(&workspace, "git commit -am x", &["SIZE_REDUCTION a.txt", "the session's base"]);
}

#[test]
fn a_guard_that_warns_warns() {
    let policy = b"[guards.conflict_markers]\nmode = \"warn\"\n";
    let workspace = hooked(&[("edt.toml", policy), ("a.txt", b"a\n")]);
    workspace.write("a.txt", MARKED);
    let said = passes(&workspace, "git commit -qam x");
    assert!(said.contains("warning: a.txt: ") && !said.contains("next:"), "{said}");
}

#[test]
fn a_protected_path_needs_approval() {
    let workspace =
        hooked(&[("edt.toml", b"[[protect]]\npaths = [\"k/**\"]\n"), ("k/a.txt", b"a\n")]);
    workspace.write("k/a.txt", "b\n");
    refused(&workspace, "git commit -am x", &["PROTECTED_PATH k/a.txt", "only the user"]);
    std::os::unix::fs::symlink("a.txt", workspace.root.join("k/link")).unwrap();
    refused(&workspace, "git add k/link && git commit -m x k/link", &["PROTECTED_PATH k/link"]);
    let done = shell(&workspace, By::User, "git commit -qam x").output().unwrap();
    assert!(
        done.status.success() && said(&done).contains("you may change it, as the user"),
        "{}",
        said(&done)
    );
}

#[test]
fn content_that_a_merge_takes_from_either_side_is_not_judged() {
    let workspace = hooked(&[("a.txt", lines(80).as_bytes()), ("b.txt", b"b\n")]);
    workspace.git(&["switch", "--quiet", "-c", "side"]);
    workspace.write("a.txt", "short now\n");
    workspace.write("b.txt", "side\n");
    workspace.git(&["commit", "--quiet", "--no-verify", "-am", "side"]);
    workspace.git(&["switch", "--quiet", "main"]);
    workspace.write("b.txt", "main\n");
    passes(&workspace, "git commit -qam main");
    workspace.try_git(&["merge", "side"]);
    refused(&workspace, "git add b.txt && git commit -m merged", &["CONFLICT_MARKERS b.txt"]);
    workspace.write("b.txt", "both\n");
    passes(&workspace, "git add b.txt && git commit -qm merged");
    assert_eq!(workspace.text("a.txt"), "short now\n");
}

#[test]
fn unchanged_files_that_are_not_text_do_not_stop_a_commit() {
    let broken = "int f( { {\n".repeat(30);
    let workspace = hooked(&[("old.c", broken.as_bytes()), ("gone.txt", lines(80).as_bytes())]);
    // A renamed file keeps its old faults; a link, a pointer, a deleted file and an intended one
    // have none.
    workspace.git(&["mv", "old.c", "new.c"]);
    workspace.git(&["rm", "--quiet", "gone.txt"]);
    std::os::unix::fs::symlink("no{where", workspace.root.join("link.c")).unwrap();
    workspace
        .write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
    workspace.git(&["add", "link.c", "big.bin"]);
    workspace.write("later.c", "int f( {\n");
    workspace.git(&["add", "--intent-to-add", "later.c"]);
    let head = workspace.rev("HEAD");
    workspace.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    passes(&workspace, "git commit -qm x");
    assert_eq!(workspace.git(&["ls-tree", "--name-only", "HEAD"]), "big.bin\nlink.c\nnew.c\nsub\n");
}

#[test]
fn the_first_commit_is_judged_too() {
    let workspace = TestRepo::unborn(&[]);
    workspace.edt(&["hooks", "install"]);
    workspace.write("a b\n.txt", MARKED);
    workspace.git(&["add", "--all"]);
    refused(&workspace, "git commit -m x", &["CONFLICT_MARKERS"]);
    workspace.write("a b\n.txt", "fine\n");
    passes(&workspace, "git add --all && git commit -qm x");
}

#[test]
fn an_override_by_the_environment_obeys_the_policy() {
    let policy = b"[guards.conflict_markers]\noverride = \"never\"\n";
    let workspace = hooked(&[("edt.toml", policy), ("a.txt", lines(80).as_bytes())]);
    workspace.write("a.txt", "fragment\n");
    passes(&workspace, "EDT_ALLOW=size_reduction git commit -qam x");
    workspace.write("a.txt", MARKED);
    refused(
        &workspace,
        "EDT_ALLOW=conflict_markers git commit -qam x",
        &["CONFLICT_MARKERS", "only the user may run `git commit --no-verify`"],
    );
}

#[test]
fn a_commit_that_cannot_be_judged_is_refused() {
    let workspace = hooked(&[("edt.toml", b"[guards\n"), ("a.txt", b"a\n")]);
    workspace.write("a.txt", "b\n");
    let said = refused(&workspace, "git commit -am x", &["BAD_REQUEST", "edt.toml"]);
    assert!(said.contains("next:"), "{said}");
    workspace.git(&["reset", "--quiet"]);
    let answer = answers(&workspace, b"", &["pre-commit"]);
    assert_eq!(
        (answer.exit, answer.codes()),
        (0, vec![]),
        "nothing is staged, so the policy is not asked: {:#}",
        answer.json
    );
}

#[test]
fn a_policy_that_cannot_be_read_stops_only_what_would_destroy() {
    let workspace = hooked(&[("edt.toml", b"[guards\n")]);
    passes(&workspace, "git commit -q --allow-empty -m x && git branch feature");
    refused(&workspace, "git branch -f feature HEAD~1", &["BAD_REQUEST", "edt.toml"]);
}

#[test]
fn the_answer_of_a_hook_is_an_outcome() {
    let workspace = hooked(&[("a.txt", b"a\n")]);
    workspace.write("a.txt", MARKED);
    workspace.git(&["add", "a.txt"]);
    let answer = answers(&workspace, b"", &["pre-commit"]);
    assert_eq!((answer.exit, answer.codes()), (1, vec!["CONFLICT_MARKERS"]));
    let answer = answers(&workspace, b"", &["post-commit"]);
    assert_eq!((answer.exit, answer.codes()), (2, vec!["BAD_REQUEST"]));
    let answer =
        answers(&workspace, b"not what Git writes\n", &["reference-transaction", "prepared"]);
    assert_eq!((answer.exit, answer.json["status"].as_str()), (1, Some("refused")));
}

/// The script of `hook` with the program recorded in it replaced.
fn recorded(workspace: &TestRepo, hook: &str, program: &str) {
    let path = workspace.root.join(".git/hooks").join(hook);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(EDT, program)).unwrap();
}

#[test]
fn a_missing_edt_stops_commits_and_pushes_but_not_git() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    ["pre-commit", "pre-push", "reference-transaction"]
        .iter()
        .for_each(|hook| recorded(workspace, hook, "/nowhere/edt"));
    // Without the tests' own directory on PATH, which has edt.
    let plain = |line: &str| {
        workspace.command("sh").args(["-c", line]).env("EDT_AGENT", "1").output().unwrap()
    };
    let done = plain("git commit --allow-empty -m x");
    assert!(
        !done.status.success() && said(&done).contains("'/nowhere/edt'; not on PATH"),
        "{}",
        said(&done)
    );
    let done = plain("git push origin main:new");
    assert!(
        !done.status.success() && said(&done).contains("nothing was pushed"),
        "{}",
        said(&done)
    );
    let done = plain("git commit --no-verify --allow-empty -m x && git branch -D edt/work");
    assert!(
        done.status.success() && said(&done).contains("Refs are NOT protected"),
        "{}",
        said(&done)
    );
    // On PATH it is found.
    refused(workspace, "git update-ref refs/heads/main HEAD~1", &["GIT_OPERATION_BLOCKED"]);
}

#[test]
fn an_edt_that_ends_without_an_answer_stops_what_it_was_asked() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    workspace.write("../crash", "#!/bin/sh\nkill -ABRT $$\n");
    let crash = workspace.root.parent().unwrap().join("crash");
    std::fs::set_permissions(&crash, PermissionsExt::from_mode(0o755)).unwrap();
    let crash = crash.to_str().unwrap();
    ["pre-commit", "pre-push", "reference-transaction"]
        .iter()
        .for_each(|hook| recorded(workspace, hook, crash));
    refused(
        workspace,
        "git commit --allow-empty -m x",
        &["ended with status 134", "edt doctor", "-c core.hooksPath=/dev/null"],
    );
    refused(
        workspace,
        "git push origin main:new",
        &["ended with status 134", "-c core.hooksPath=/dev/null"],
    );
}

/// Regression: an edt of another machine's, or one that was killed, stopped every command that
/// writes a ref.
#[test]
fn an_edt_that_cannot_run_stops_no_ref() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    for (n, (text, status)) in [
        ("#!/nowhere/loader\n", "126"),
        ("#!/bin/sh\nkill -KILL $$\n", "137"),
        ("#!/bin/sh\nexit 127\n", "127"),
    ]
    .iter()
    .enumerate()
    {
        workspace.write("../broken", text);
        let broken = workspace.root.parent().unwrap().join("broken");
        std::fs::set_permissions(&broken, PermissionsExt::from_mode(0o755)).unwrap();
        workspace.edt(&["hooks", "install"]);
        recorded(workspace, "reference-transaction", broken.to_str().unwrap());
        let done = shell(workspace, By::Agent, &format!("git branch new{n}")).output().unwrap();
        assert!(
            done.status.success() && said(&done).contains("Refs are NOT protected"),
            "{status}: {}",
            said(&done)
        );
        // One whose interpreter is missing is 126 to one shell and 127 to another.
        assert!(said(&done).contains(status) || *status == "126", "{}", said(&done));
        std::fs::remove_file(workspace.root.join(".git/hooks/reference-transaction")).unwrap();
    }
    workspace.write("../odd", "#!/bin/sh\nexit 2\n");
    let odd = workspace.root.parent().unwrap().join("odd");
    std::fs::set_permissions(&odd, PermissionsExt::from_mode(0o755)).unwrap();
    workspace.edt(&["hooks", "install"]);
    recorded(workspace, "reference-transaction", odd.to_str().unwrap());
    refused(
        workspace,
        "git branch -D edt/work",
        &["ended with status 2", "git -c core.hooksPath=/dev/null"],
    );
}

/// Regression: every new picture and every file in another encoding was refused, to users too.
#[test]
fn a_file_that_was_not_text_may_be_committed() {
    let workspace = hooked(&[("a.txt", b"text\n"), ("old.bin", b"a\0b"), ("gone.txt", b"x\n")]);
    workspace.write("new.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe");
    workspace.write("latin.txt", b"caf\xe9\n");
    workspace.write("old.bin", b"\xff\0c");
    passes(&workspace, "git add --all && git commit -qm x");
    workspace.write("latin.txt", b"caf\xe9s\n");
    passes(&workspace, "git commit -qam x");
    workspace.write("a.txt", b"text\0\xff\n");
    let both = "--allow binary_content --allow encoding`";
    refused(&workspace, "git commit -qam x", &["BINARY_CONTENT a.txt", "ENCODING a.txt", both]);
    passes(&workspace, "EDT_ALLOW=binary_content,encoding git commit -qam x");
}

/// Regression: if HEAD's policy could not be read, no commit was possible, not even its repair.
#[test]
fn an_unreadable_policy_can_be_repaired_by_a_commit() {
    for text in [Some("[refs]\n"), None] {
        let workspace = hooked(&[("edt.toml", b"[guards\n"), ("a.txt", lines(80).as_bytes())]);
        workspace.write("a.txt", lines(81));
        let words = ["BAD_REQUEST", "The edt.toml of HEAD cannot be read", "git add edt.toml"];
        let said = refused(&workspace, "git commit -qam x", &words);
        assert!(!said.contains("begin a new session"), "{said}");
        match text {
            Some(text) => workspace.write("edt.toml", text),
            None => std::fs::remove_file(workspace.root.join("edt.toml")).unwrap(),
        }
        workspace.write("a.txt", "fragment\n");
        refused(&workspace, "git commit -qam x", &["SIZE_REDUCTION a.txt"]);
        workspace.write("a.txt", lines(81));
        refused(&workspace, "git commit -qam x", &["APPROVAL_REQUIRED edt.toml"]);
        workspace.unprotect("edt.toml");
        passes(&workspace, "git commit -qam x");
        workspace.write("edt.toml", "[guards\n");
        refused(
            &workspace,
            "git add edt.toml && git commit -qm x",
            &["BAD_REQUEST", "The edt.toml of the index cannot be read"],
        );
    }
}

/// Regression: a server whose HEAD has a file that cannot be read took no push at all.
#[test]
fn a_servers_unreadable_policy_can_be_repaired_by_a_push() {
    let hooked = Hooked::with("pre-receive");
    let (workspace, remote) = (&hooked.workspace, hooked.remote());
    let push = "git -c core.hooksPath=/dev/null push -q origin";
    workspace.commit(&[("edt.toml", b"[guards\n")]);
    refused(
        workspace,
        &format!("{push} main"),
        &[
            "BAD_REQUEST",
            "The edt.toml of the pushed commit cannot be read",
            "The ref was not changed",
        ],
    );
    passes(workspace, &format!("{push} main:topic"));
    remote.git(&["update-ref", "refs/heads/main", "refs/heads/topic"]);
    passes(workspace, &format!("{push} main:other && {push} :other"));
    workspace.commit(&[("b.txt", b"three\n")]);
    refused(
        workspace,
        &format!("{push} main"),
        &["The edt.toml of the server's branch cannot be read"],
    );
    workspace.commit(&[("edt.toml", b"[refs]\n")]);
    passes(workspace, &format!("{push} main"));
}

/// Regression: a branch without a common commit was not judged, and any line of a message counted
/// as a decision.
#[test]
fn a_server_judges_orphans_and_takes_decisions_from_trailers_only() {
    let hooked = Hooked::with("pre-receive");
    let workspace = &hooked.workspace;
    workspace.git(&["switch", "--quiet", "--orphan", "release/9"]);
    workspace.commit(&[("m.txt", MARKED.as_bytes())]);
    refused(workspace, "git push origin release/9", &["CONFLICT_MARKERS m.txt"]);
    let message =
        "Edt-Allowed: conflict_markers\n\nis what I would write here if I were to\nallow it.\n";
    workspace.git(&["commit", "--quiet", "--amend", "-m", message]);
    refused(workspace, "git push origin release/9", &["CONFLICT_MARKERS m.txt"]);
    workspace.git(&[
        "commit",
        "--quiet",
        "--amend",
        "-m",
        "meant so\n\nEdt-Allowed: conflict_markers",
    ]);
    // Whoever pushes writes the trailers; the server says which of them count.
    let advice = "git config --add edt.acceptAllowed conflict_markers";
    refused(workspace, "git push origin release/9", &["CONFLICT_MARKERS m.txt", advice]);
    hooked.remote().git(&["config", "--add", "edt.acceptAllowed", "conflict_markers"]);
    passes(workspace, "git push -q origin release/9");
}

/// Regression: an agent that the user started in a terminal shares the terminal.
#[test]
fn a_program_that_reads_gits_output_is_not_the_user() {
    for (line, passes) in
        [("git branch -D edt/work 2>&1 | cat", false), ("git branch -D edt/work | cat", true)]
    {
        let hooked = Hooked::with("reference-transaction");
        let done = hooked.sh(By::User, line);
        assert_eq!(
            said(&done).contains("GIT_OPERATION_BLOCKED"),
            !passes,
            "{line}: {}",
            said(&done)
        );
        assert_eq!(
            hooked.workspace.try_git(&["rev-parse", "-q", "--verify", "edt/work"]).status.success(),
            !passes,
            "{line}"
        );
    }
}

/// Regression: `git pack-refs` started several programs for each branch that it pruned.
#[test]
fn pack_refs_starts_git_once() {
    let hooked = Hooked::with("reference-transaction");
    let workspace = &hooked.workspace;
    let trace = workspace.root.parent().unwrap().join("trace");
    let calls = "for n in 1 2 3; do git branch b$n; done; \
                 command -v strace || exit 0; \
                 strace -f -qq -e trace=execve -o ../trace git pack-refs --all";
    passes(workspace, calls);
    let Ok(trace) = std::fs::read_to_string(trace) else {
        println!("skipped: there is no strace");
        return;
    };
    let is_git = |line: &&str| line.contains("/git\", [") && line.ends_with(" = 0");
    let started: Vec<&str> = trace.lines().filter(is_git).collect();
    // The command itself, and one question for all refs; none for each that is pruned.
    assert_eq!(started.len(), 2, "{started:#?}");
}

#[test]
fn new_and_advancing_refs_are_allowed() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    for line in [
        "git commit -q --allow-empty -m more",
        "git update-ref refs/heads/main HEAD",
        "git branch edt/other && git update-ref refs/edt/other/base HEAD",
        "git update-ref refs/heads/edt/work HEAD",
        "git branch -m edt/other edt/renamed && git rev-parse edt/renamed",
        "git pack-refs --all && git rev-parse edt/work main",
        "git commit -q --allow-empty -m loose && git update-ref refs/heads/edt/work HEAD && git pack-refs --all --prune",
        "git gc --quiet --prune=now && git rev-parse edt/work",
        "echo x >>b.txt && git stash -q && git stash pop -q && git checkout -q b.txt",
        "git worktree add -q ../wt -b edt/other && git worktree remove ../wt",
        "git fetch -q origin && git fetch -q origin main:fetched",
        "git switch -q -c feature HEAD~1 && git commit -q --allow-empty -m f && git rebase -q main && git reset -q --hard HEAD~1",
        "git commit -q --allow-empty -m a && git commit -q --amend --allow-empty -m b",
        "git switch -q main && git branch -D feature && git tag t && git tag -d t",
        "git symbolic-ref refs/heads/alias refs/heads/main && git symbolic-ref -d refs/heads/alias",
        "git checkout -q --detach && git reset -q --hard HEAD~1 && git switch -q main",
    ] {
        passes(workspace, line);
    }
    workspace.is_sound();
}

#[test]
fn a_guarded_ref_is_neither_deleted_nor_rewound_by_an_agent() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.git(&["update-ref", "refs/edt/work/undone/1", "HEAD"]);
    workspace.commit(&[("edt.toml", b"[refs]\nprotected = [\"live/*\"]\n")]);
    workspace.git(&["branch", "live/one"]);
    workspace.git(&["branch", "old", "HEAD~1"]);
    workspace.edt(&["hooks", "install"]);
    let blocked = "GIT_OPERATION_BLOCKED";
    for (line, more) in [
        ("git update-ref refs/heads/main HEAD~1", "leave one commit behind"),
        ("git update-ref refs/heads/main HEAD~2 HEAD", "leave 2 commits behind"),
        ("git update-ref -d refs/heads/main", "would be deleted"),
        ("git branch -f edt/work HEAD~2", "refs/heads/edt/work is at"),
        ("git branch -D edt/work", "edt undo"),
        ("git update-ref -d refs/heads/edt/work HEAD~1", "would be deleted"),
        ("git pack-refs --all; git update-ref -d refs/heads/edt/work", "would be deleted"),
        ("git update-ref -d refs/edt/work/base", "would be deleted"),
        ("git update-ref refs/edt/work/base HEAD", "refs/edt/work/base is at"),
        ("git update-ref -d refs/edt/work/undone/1", "would be deleted"),
        ("git branch -D live/one", "git revert"),
        ("git branch -m main other", "refs/heads/main"),
        (
            "git symbolic-ref refs/heads/main refs/heads/edt/work",
            "become a symbolic ref to refs/heads/edt/work",
        ),
        (
            "printf 'start\\ndelete refs/heads/edt/work\\nupdate refs/heads/x HEAD\\ncommit\\n' | git update-ref --stdin",
            "EDT_AGENT is set",
        ),
        ("git fetch -q . +old:refs/heads/live/one", "live/one"),
        ("git push -q . +HEAD~1:refs/heads/live/one", "live/one"),
    ] {
        refused(workspace, line, &[blocked, more]);
    }
    workspace.is_sound();
    // Another branch's policy counts even if HEAD's does not name the ref.
    workspace.git(&["switch", "--quiet", "--orphan", "bare"]);
    refused(workspace, "git branch -D live/one", &[blocked]);
}

/// Regression: Git deletes the old name before it asks of the new one, and gives nothing back when
/// that is refused.
#[test]
fn a_refused_rename_leaves_both_branches_and_their_logs() {
    for (setup, line, name) in [
        ("git branch topic HEAD~1", "git branch -M topic release/1", "refs/heads/topic"),
        ("true", "git branch -M edt/work release/1", "refs/heads/edt/work"),
        (
            "git branch topic && git pack-refs --all",
            "git branch -M topic release/1",
            "refs/heads/topic",
        ),
    ] {
        let hooked = Hooked::new();
        let workspace = &hooked.workspace;
        workspace.git(&["branch", "release/1"]);
        workspace.edt(&["hooks", "install"]);
        passes(workspace, setup);
        let printed = format!("Git had already deleted {name} to rename it; edt restored it at ");
        refused(
            workspace,
            line,
            &["GIT_OPERATION_BLOCKED", "refs/heads/release/1 is at", &printed],
        );
        workspace.is_sound();
        // What was put back is an ordinary branch again.
        passes(
            workspace,
            &format!(
                "git branch -m {} edt/again && git rev-parse edt/again",
                &name["refs/heads/".len()..]
            ),
        );
    }
}

/// Regression: HEAD was left on a branch that was gone.
#[test]
fn a_refused_rename_of_the_branch_that_is_checked_out_leaves_head_on_it() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    passes(workspace, "git switch -q edt/work");
    let before = history(workspace);
    let done = shell(workspace, By::Agent, "git branch -M edt/work main").output().unwrap();
    assert!(
        !done.status.success() && said(&done).contains("edt restored it at"),
        "{}",
        said(&done)
    );
    let mut differ = changed(&before, &history(workspace));
    // Git itself wrote into HEAD's log that the branch was gone.
    differ.retain(|one| !one.starts_with("own log HEAD:") && !one.starts_with("common log HEAD:"));
    assert_eq!(differ, Vec::<String>::new());
    workspace.is_clean();
}

/// Regression: under a free name a session's branch could be deleted.
#[test]
fn a_sessions_branch_stays_one_under_another_name() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    passes(workspace, "git branch -m edt/work tmp");
    refused(workspace, "git branch -D tmp", &["GIT_OPERATION_BLOCKED", "refs/heads/tmp is at"]);
    passes(workspace, "git branch -m tmp other");
    refused(workspace, "git branch -f other HEAD~1", &["GIT_OPERATION_BLOCKED"]);
    passes(workspace, "git branch -m other edt/work");
}

/// Regression: an index that equals the new commit was taken for a reset, and the hint destroyed
/// what was staged.
#[test]
fn a_refused_amend_keeps_the_staged_changes_and_reports_them() {
    for root in [false, true] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
        if !root {
            workspace.commit(&[("a.txt", b"two\n")]);
        }
        workspace.edt(&["hooks", "install"]);
        workspace.write("a.txt", "mine\n");
        workspace.git(&["add", "a.txt"]);
        let words = [
            "GIT_OPERATION_BLOCKED",
            "your changes are still staged",
            "next: Make a new commit without `--amend`.",
        ];
        let said = refused(&workspace, "git commit --amend -m x", &words);
        assert!(!said.contains("git restore") && !said.contains("--source"), "{said}");
        assert_eq!(
            (workspace.status().as_str(), workspace.text("a.txt").as_str()),
            ("M  a.txt\n", "mine\n")
        );
        passes(&workspace, "git commit -qm x");
        // A reset is known all the same, also one to a commit that no branch has.
        let lost = workspace.git(&["commit-tree", "-m", "lost", "HEAD^^{tree}"]);
        let said =
            refused(&workspace, &format!("git reset -q --hard {lost}"), &["had already rewritten"]);
        passes(&workspace, said.split("next: `").nth(1).unwrap().split('`').next().unwrap());
        workspace.is_clean();
    }
}

/// Regression: from a subfolder the repair named paths that were not there.
#[test]
fn a_repair_works_from_a_subfolder() {
    for keep in [false, true] {
        let workspace =
            TestRepo::with(&[("a/x.txt", b"1\n"), ("[b]/y.txt", b"1\n"), ("c.txt", b"1\n")]);
        workspace.commit(&[("a/x.txt", b"2\n"), ("[b]/y.txt", b"2\n")]);
        workspace.edt(&["hooks", "install"]);
        if keep {
            workspace.write("c.txt", "mine\n");
        }
        let before = workspace.files();
        let flag = if keep { "--keep" } else { "--hard" };
        let said = refused(
            &workspace,
            &format!("cd '[b]' && git reset -q {flag} HEAD~1"),
            &["had already rewritten"],
        );
        assert_eq!(said.contains("are gone. edt kept"), !keep, "{said}");
        let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap();
        passes(&workspace, &format!("cd '[b]' && {repair}"));
        crate::test_repo::same(&before, &workspace.files());
    }
}

/// Regression: an unreadable user policy stopped the user's own commands.
#[test]
fn an_unreadable_user_policy_stops_no_ref_update_of_the_user() {
    let hooked = Hooked::with("reference-transaction");
    std::fs::create_dir_all(hooked.workspace.home.join(".config/edt/edt.toml")).unwrap();
    for (by, line, passes) in [
        (By::Agent, "git branch new", true),
        (By::Agent, "git commit -q --allow-empty -m x", true),
        (By::Agent, "git update-ref refs/heads/main HEAD~1", false),
        (By::User, "git update-ref refs/heads/main HEAD~1", true),
    ] {
        let done = hooked.sh(by, line);
        assert_eq!(done.status.success(), passes, "{line} by {by:?}: {}", said(&done));
        assert!(passes || said(&done).contains("read your policy"), "{}", said(&done));
    }
}

#[test]
fn one_guarded_ref_among_many_is_found() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    let many: String = (0..3000).map(|n| format!("create refs/heads/n{n} HEAD\\n")).collect();
    let line = format!(
        "printf 'start\\n{many}delete refs/heads/edt/work\\ncommit\\n' | git update-ref --stdin"
    );
    refused(workspace, &line, &["GIT_OPERATION_BLOCKED", "refs/heads/edt/work is at"]);
    passes(workspace, &line.replace("delete refs/heads/edt/work", "create refs/tags/last HEAD"));
    passes(
        workspace,
        "git for-each-ref --format='delete %(refname)' 'refs/heads/n*' | git update-ref --stdin",
    );
}

#[test]
fn the_user_at_a_terminal_may_do_what_an_agent_may_not() {
    for (by, passes) in BOTH.into_iter().zip([false, true]) {
        let hooked = Hooked::with("reference-transaction");
        for line in [
            "git branch -D edt/work",
            "git reset -q --hard HEAD~1",
            "git restore -SW -s HEAD :/; GIT_COMMITTER_NAME=Other git rebase -q --force-rebase --root",
        ] {
            let done = hooked.sh(by, line);
            assert_eq!(done.status.success(), passes, "{line}: {}", said(&done));
            assert_eq!(
                said(&done).contains("git rebase --abort` goes back"),
                !passes && line.contains("rebase"),
                "{line}"
            );
        }
    }
}

#[test]
fn without_a_terminal_no_caller_is_the_user() {
    let hooked = Hooked::with("reference-transaction");
    let done = hooked
        .workspace
        .command("setsid")
        .args(["--wait", "git", "branch", "-D", "edt/work"])
        .output()
        .unwrap();
    assert!(
        !done.status.success() && said(&done).contains("there is no terminal"),
        "{}",
        said(&done)
    );
    let line = "CODEX_THREAD_ID=1 git branch -D edt/work";
    let done = hooked.sh(By::User, line);
    assert!(
        !done.status.success() && said(&done).contains("CODEX_THREAD_ID is set"),
        "{}",
        said(&done)
    );
}

#[test]
fn the_refusal_of_a_command_that_rewrote_files_says_how_to_restore_them() {
    for line in [
        "git reset --hard HEAD~1",
        "git reset --keep HEAD~1",
        "git checkout -f -B main HEAD~1",
        "git reset HEAD~1",
    ] {
        let hooked = Hooked::new();
        let workspace = &hooked.workspace;
        workspace.commit(&[("c.txt", b"came later\n"), ("b.txt", b"three\n")]);
        workspace.edt(&["hooks", "install"]);
        workspace.write("untracked.txt", "mine\n");
        let before = workspace.files();
        let said =
            refused(workspace, line, &["GIT_OPERATION_BLOCKED", "had already", "next: `git "]);
        let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap().to_owned();
        assert_ne!(workspace.status(), "?? untracked.txt\n", "{line} did rewrite something");
        passes(workspace, &repair);
        assert_eq!(workspace.status(), "?? untracked.txt\n", "{line}, then {repair}");
        crate::test_repo::same(&before, &workspace.files());
    }
}

#[test]
fn a_repair_never_touches_files_that_git_did_not_rewrite() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    // `--keep` leaves the changed a.txt alone, and rewrites b.txt.
    workspace.write("a.txt", lines(81));
    let before = workspace.files();
    let said = refused(
        workspace,
        "git reset --keep HEAD~1",
        &["GIT_OPERATION_BLOCKED", "had already rewritten"],
    );
    assert_eq!(workspace.text("b.txt"), "one\n");
    let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap().to_owned();
    passes(workspace, &repair);
    crate::test_repo::same(&before, &workspace.files());
    assert_eq!(workspace.status(), " M a.txt\n");
    // Nothing was rewritten: nothing is to be repaired, least of all by overwriting files.
    let said =
        refused(workspace, "git update-ref refs/heads/main HEAD~1", &["GIT_OPERATION_BLOCKED"]);
    assert!(!said.contains("git restore ") && !said.contains("had already"), "{said}");
}

#[test]
fn edt_works_unchanged_with_its_hooks_installed() {
    let workspace = hooked(&[("a.txt", b"one\n")]);
    workspace.edt(&["begin", "s"]);
    workspace.overwrite("a.txt", "two\n");
    workspace.overwrite("a.txt", "three\n");
    assert_eq!(workspace.edt(&["undo"]).exit, 0);
    assert_eq!(workspace.edt(&["redo"]).exit, 0);
    assert_eq!(workspace.edt(&["undo", "2"]).exit, 0);
    assert_eq!(workspace.text("a.txt"), "one\n");
    workspace.is_clean();
    workspace.is_sound();
}

#[test]
fn shadow_branches_are_not_pushed_and_protected_ones_are_not_rewound() {
    let hooked = Hooked::with("pre-push");
    let workspace = &hooked.workspace;
    let remote = hooked.remote();
    remote.git(&["config", "receive.denyDeleteCurrent", "ignore"]);
    let before = remote.git(&["for-each-ref"]);
    for (line, more) in [
        ("git push origin edt/work", "refs/heads/edt/work belongs to a session of edt"),
        ("git push origin main:refs/edt/work/base", "may not be pushed to origin"),
        ("git push --mirror origin", "edt.pushShadow"),
        ("git push origin :main", "would delete the protected branch refs/heads/main"),
        (
            "git push origin +HEAD~1:main",
            "would rewind the protected branch refs/heads/main of origin",
        ),
    ] {
        refused(workspace, line, &["GIT_OPERATION_BLOCKED", more]);
        assert_eq!(remote.git(&["for-each-ref"]), before, "{line}");
    }
    passes(
        workspace,
        "git push -q origin edt/work:feature && git push -q --force origin HEAD~1:feature && git push -q origin :feature",
    );
    passes(workspace, "git commit -q --allow-empty -m x && git push -q origin main");
    passes(workspace, "git config edt.pushShadow true && git push -q origin edt/work");
    // The remote's own branch is protected, whatever its name.
    remote.git(&["symbolic-ref", "HEAD", "refs/heads/odd"]);
    passes(workspace, "git push -q origin main:odd && git remote set-head origin --auto");
    refused(
        workspace,
        "git push origin +HEAD~1:odd",
        &["would rewind the protected branch refs/heads/odd"],
    );
}

#[test]
fn a_server_refuses_what_an_agents_clone_tries_to_push() {
    let hooked = Hooked::with("pre-receive");
    let (workspace, remote) = (&hooked.workspace, hooked.remote());
    remote.git(&["config", "receive.denyDeleteCurrent", "ignore"]);
    let before = remote.git(&["for-each-ref"]);
    let tries = |line: &str, more: &str| {
        refused(workspace, line, &[more, "pre-receive hook declined"]);
        assert_eq!(remote.git(&["for-each-ref"]), before, "{line}");
    };
    tries(
        "git push origin edt/work",
        "remote:   refs/heads/edt/work belongs to a session of edt and may not be pushed to this server",
    );
    tries("git push origin :main", "would delete the protected branch refs/heads/main");
    tries("git push origin +HEAD~1:main", "would rewind the protected branch refs/heads/main");
    tries("git push origin main:ok edt/work", "GIT_OPERATION_BLOCKED");
    workspace.write("a.txt", "fragment\n");
    workspace.git(&["commit", "--quiet", "-am", "shrunk"]);
    tries("git push origin main", "SIZE_REDUCTION a.txt");
    tries("git push origin main:release/1", "SIZE_REDUCTION a.txt");
    workspace.write("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "and the guard off"]);
    tries("git push origin main", "edt.toml on the protected branch refs/heads/main: guards");
    remote.git(&["config", "edt.acceptPolicy", "true"]);
    remote.git(&["config", "edt.acceptAllowed", "size_reduction"]);
    tries("git push origin main", "SIZE_REDUCTION a.txt");
    // A branch that is not protected is free; a recorded decision passes, on the protected one too.
    passes(
        workspace,
        "git push -q origin main:topic && git push -q -f origin main~1:topic && git push -q origin :topic",
    );
    workspace.git(&[
        "commit",
        "--quiet",
        "--amend",
        "-m",
        "meant so\n\nEdt-Allowed: size_reduction",
    ]);
    passes(workspace, "git push -q origin main");
    remote.git(&["config", "edt.pushShadow", "true"]);
    passes(workspace, "git push -q origin edt/work");
    assert_eq!(remote.edt(&["hooks", "uninstall"]).json["steps"][0]["action"], "removed");
}

#[test]
fn a_server_judges_all_commits_of_a_push_together() {
    let hooked = Hooked::with("pre-receive");
    let workspace = &hooked.workspace;
    workspace.commit(&[("long.txt", lines(400).as_bytes())]);
    passes(workspace, "git push -q origin main");
    for kept in [160, 100] {
        workspace.commit(&[("long.txt", lines(kept).as_bytes())]);
    }
    refused(workspace, "git push origin main", &["SIZE_REDUCTION long.txt"]);
    passes(workspace, "git reset -q --hard HEAD~2");
    let names: Vec<String> = (0..12).map(|n| format!("{n}.txt")).collect();
    let texts: Vec<String> = names.iter().map(|name| format!("the text of {name}\n")).collect();
    let files = names.iter().zip(&texts).map(|(a, b)| (a.as_str(), b.as_bytes()));
    workspace.commit(&files.collect::<Vec<_>>());
    passes(workspace, "git push -q origin main");
    for names in names.chunks(6) {
        passes(workspace, &format!("git rm -q {}", names.join(" ")));
        passes(workspace, "git commit -q -m removed");
    }
    refused(workspace, "git push origin main", &["MASS_DELETION", "12 files"]);
}

#[test]
fn a_server_refuses_other_spellings_of_protected_branches() {
    let hooked = Hooked::with("pre-receive");
    for name in ["Main", "MAIN", "heads/main", "refs/heads/main", "m\u{430}in", "ma\u{200b}in"] {
        let line = format!("git push origin HEAD:refs/heads/{name}");
        refused(&hooked.workspace, &line, &["GIT_OPERATION_BLOCKED", "can be taken for"]);
    }
    passes(&hooked.workspace, "git push -q origin HEAD:refs/heads/mainline");
}

#[test]
fn a_server_keeps_the_policy_of_its_protected_branches() {
    let hooked = Hooked::with("pre-receive");
    let (workspace, remote) = (&hooked.workspace, hooked.remote());
    let tight = "[guards.secret]\nmode = \"refuse\"\n";
    workspace.commit(&[("edt.toml", tight.as_bytes())]);
    passes(workspace, "git push -q origin main");
    let key = "PROTECTED_PATH";
    workspace.commit(&[("edt.toml", b"")]);
    refused(workspace, "git push origin main", &[key, "guards.secret.mode"]);
    workspace.git(&["rm", "--quiet", "edt.toml"]);
    workspace.git(&["commit", "--quiet", "-m", "no policy"]);
    refused(workspace, "git push origin main", &[key, "guards.secret.mode"]);
    refused(workspace, "git push origin main:release/1", &[key, "guards.secret.mode"]);
    remote.git(&["config", "edt.acceptPolicy", "true"]);
    passes(workspace, "git push -q origin main");
}

#[test]
fn an_empty_server_takes_a_first_push() {
    let workspace = TestRepo::with(&[("m.txt", MARKED.as_bytes())]);
    workspace.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../empty"]);
    workspace.at(workspace.root.parent().unwrap().join("empty")).edt(&["hooks", "install"]);
    passes(&workspace, "git push -q ../empty main");
}
