//! What Git's hooks refuse and let pass, with real Git as the caller.

use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::hook_table::{BOTH, By, Hooked, shell};
use crate::world::{Answer, EDT, Snapshot, World, changed, lines, run};

/// A repository with all hooks and these files committed.
fn hooked(files: &[(&str, &[u8])]) -> World {
    let world = World::with(files);
    world.edt(&["hooks", "install"]);
    world
}

fn said(done: &Output) -> String {
    [done.stdout.as_slice(), &done.stderr].concat().iter().map(|&byte| byte as char).collect()
}

/// A line of shell by an agent, which must be refused with exactly these words in what it prints.
#[track_caller]
fn refused(world: &World, line: &str, words: &[&str]) -> String {
    let before = history(world);
    let done = shell(world, By::Agent, line).output().unwrap();
    let said = said(&done);
    assert!(!done.status.success(), "{line} was let through: {said}");
    words
        .iter()
        .for_each(|word| assert!(said.contains(word), "{line} does not say {word:?}:\n{said}"));
    assert_eq!(changed(&before, &history(world)), Vec::<String>::new(), "{line}");
    said
}

/// Refs, HEAD, reflogs and locks.
#[track_caller]
fn history(world: &World) -> Snapshot {
    let mut all = world.snapshot();
    all.retain(|key, _| !key.starts_with("file ") && key != "index" && key != "config");
    all
}

/// A line of shell by an agent, which must pass and print nothing of edt's.
#[track_caller]
fn passes(world: &World, line: &str) -> String {
    let done = shell(world, By::Agent, line).output().unwrap();
    let said = said(&done);
    assert!(done.status.success(), "{line}: {said}");
    assert!(!said.contains("GIT_OPERATION_BLOCKED") && !said.contains("aborted"), "{line}: {said}");
    said
}

/// What `edt --json hook …` answers.
fn answers(world: &World, stdin: &[u8], args: &[&str]) -> Answer {
    let mut command = world.command(EDT);
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
    let world = hooked(&all);
    for (path, text, code) in [
        ("a.txt", "fragment\n", "SIZE_REDUCTION a.txt"),
        ("c.c", "int f(void) { return 1;\n", "SYNTAX_ERROR c.c"),
        ("m.txt", MARKED, "CONFLICT_MARKERS m.txt"),
        ("c.c", "```c\nint f(void) { return 2; }\n```\n", "CHAT_ARTIFACT c.c"),
    ] {
        world.write(path, text);
        world.git(&["add", path]);
        let said = refused(
            &world,
            "git commit -m x",
            &[code, "Nothing was committed.", "next:", "--no-verify"],
        );
        assert!(!said.contains("repeat with allow"), "{said}");
        world.git(&["restore", "--staged", path]);
        world.git(&["stash", "--include-untracked"]);
        world.git(&["stash", "drop"]);
    }
    world.git(&["rm", "-r", "-q", "d"]);
    refused(&world, "git commit -m x", &["MASS_DELETION", "12 files", "--allow mass_deletion"]);
}

#[test]
fn a_commit_that_the_guards_let_pass_is_made_in_silence() {
    let world = hooked(&[("a.txt", lines(80).as_bytes())]);
    world.write("a.txt", lines(70));
    let said = passes(&world, "git commit -qam x");
    assert_eq!(said, "");
}

#[test]
fn the_index_that_is_committed_is_the_one_that_is_judged() {
    let world = hooked(&[("a.txt", lines(80).as_bytes()), ("b.txt", b"b\n")]);
    world.write("a.txt", "fragment\n");
    refused(&world, "git commit -am x", &["SIZE_REDUCTION a.txt"]);
    refused(&world, "git commit -m x a.txt", &["SIZE_REDUCTION a.txt"]);
    world.write("b.txt", "c\n");
    passes(&world, "git commit -qm x b.txt");
    world.git(&["add", "a.txt"]);
    refused(
        &world,
        "cp .git/index ../i && GIT_INDEX_FILE=../i git commit -m x",
        &["SIZE_REDUCTION a.txt"],
    );
    refused(&world, "mkdir -p sub && cd sub && git commit -m x", &["SIZE_REDUCTION a.txt"]);
}

#[test]
fn blobs_are_judged_not_the_worktree() {
    let world = hooked(&[("a.txt", lines(80).as_bytes())]);
    world.write("a.txt", MARKED);
    world.git(&["add", "a.txt"]);
    world.write("a.txt", lines(81));
    refused(&world, "git commit -m x", &["CONFLICT_MARKERS a.txt"]);
    world.git(&["add", "a.txt"]);
    world.write("a.txt", MARKED);
    passes(&world, "git commit -qm x");
}

#[test]
fn the_policy_of_the_commit_before_holds() {
    let world = hooked(&[("a.txt", lines(80).as_bytes())]);
    world.write("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    world.write("a.txt", "fragment\n");
    world.git(&["add", "--all"]);
    refused(&world, "git commit -m x", &["SIZE_REDUCTION a.txt"]);
    world.git(&["commit", "--quiet", "--no-verify", "-m", "a person's", "edt.toml"]);
    passes(&world, "git commit -qam x");
}

#[test]
fn on_a_sessions_branch_the_policy_and_the_size_of_its_base_hold() {
    let world = hooked(&[("a.txt", lines(80).as_bytes())]);
    world.edt(&["begin", "s"]);
    world.write("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    world.write("a.txt", lines(40));
    world.git(&["add", "--all"]);
    passes(&world, "git commit -qm half");
    world.write("a.txt", lines(20));
    refused(&world, "git commit -am x", &["SIZE_REDUCTION a.txt", "the session's base"]);
}

#[test]
fn a_guard_that_warns_warns() {
    let policy = b"[guards.conflict_markers]\nmode = \"warn\"\n";
    let world = hooked(&[("edt.toml", policy), ("a.txt", b"a\n")]);
    world.write("a.txt", MARKED);
    let said = passes(&world, "git commit -qam x");
    assert!(said.contains("warning: a.txt: ") && !said.contains("next:"), "{said}");
}

#[test]
fn a_protected_path_needs_a_person() {
    let world = hooked(&[("edt.toml", b"[[protect]]\npaths = [\"k/**\"]\n"), ("k/a.txt", b"a\n")]);
    world.write("k/a.txt", "b\n");
    refused(&world, "git commit -am x", &["PROTECTED_PATH k/a.txt", "only a person"]);
    std::os::unix::fs::symlink("a.txt", world.root.join("k/link")).unwrap();
    refused(&world, "git add k/link && git commit -m x k/link", &["PROTECTED_PATH k/link"]);
    let done = shell(&world, By::Person, "git commit -qam x").output().unwrap();
    assert!(
        done.status.success() && said(&done).contains("as a person you may change it"),
        "{}",
        said(&done)
    );
}

#[test]
fn what_a_merge_takes_from_either_side_is_nobodys_edit() {
    let world = hooked(&[("a.txt", lines(80).as_bytes()), ("b.txt", b"b\n")]);
    world.git(&["switch", "--quiet", "-c", "side"]);
    world.write("a.txt", "short now\n");
    world.write("b.txt", "side\n");
    world.git(&["commit", "--quiet", "--no-verify", "-am", "side"]);
    world.git(&["switch", "--quiet", "main"]);
    world.write("b.txt", "main\n");
    passes(&world, "git commit -qam main");
    world.try_git(&["merge", "side"]);
    refused(&world, "git add b.txt && git commit -m merged", &["CONFLICT_MARKERS b.txt"]);
    world.write("b.txt", "both\n");
    passes(&world, "git add b.txt && git commit -qm merged");
    assert_eq!(world.text("a.txt"), "short now\n");
}

#[test]
fn what_is_no_text_of_ones_own_does_not_stop_a_commit() {
    let broken = "int f( { {\n".repeat(30);
    let world = hooked(&[("old.c", broken.as_bytes()), ("gone.txt", lines(80).as_bytes())]);
    // A renamed file keeps its old faults; a link, a pointer, a deleted file and an intended one have none.
    world.git(&["mv", "old.c", "new.c"]);
    world.git(&["rm", "--quiet", "gone.txt"]);
    std::os::unix::fs::symlink("no{where", world.root.join("link.c")).unwrap();
    world.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
    world.git(&["add", "link.c", "big.bin"]);
    world.write("later.c", "int f( {\n");
    world.git(&["add", "--intent-to-add", "later.c"]);
    let head = world.rev("HEAD");
    world.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    passes(&world, "git commit -qm x");
    assert_eq!(world.git(&["ls-tree", "--name-only", "HEAD"]), "big.bin\nlink.c\nnew.c\nsub\n");
}

#[test]
fn the_first_commit_is_judged_too() {
    let world = World::unborn(&[]);
    world.edt(&["hooks", "install"]);
    world.write("a b\n.txt", MARKED);
    world.git(&["add", "--all"]);
    refused(&world, "git commit -m x", &["CONFLICT_MARKERS"]);
    world.write("a b\n.txt", "fine\n");
    passes(&world, "git add --all && git commit -qm x");
}

#[test]
fn an_override_by_the_environment_obeys_the_policy() {
    let policy = b"[guards.conflict_markers]\noverride = \"never\"\n";
    let world = hooked(&[("edt.toml", policy), ("a.txt", lines(80).as_bytes())]);
    world.write("a.txt", "fragment\n");
    passes(&world, "EDT_ALLOW=size_reduction git commit -qam x");
    world.write("a.txt", MARKED);
    refused(
        &world,
        "EDT_ALLOW=conflict_markers git commit -qam x",
        &["CONFLICT_MARKERS", "lets nobody override"],
    );
}

#[test]
fn what_cannot_be_judged_is_not_committed() {
    let world = hooked(&[("edt.toml", b"[guards\n"), ("a.txt", b"a\n")]);
    world.write("a.txt", "b\n");
    let said = refused(&world, "git commit -am x", &["BAD_REQUEST", "edt.toml"]);
    assert!(said.contains("next:"), "{said}");
    world.git(&["reset", "--quiet"]);
    let answer = answers(&world, b"", &["pre-commit"]);
    assert_eq!(
        (answer.exit, answer.codes()),
        (0, vec![]),
        "nothing is staged, so the policy is not asked: {:#}",
        answer.json
    );
}

#[test]
fn a_policy_that_cannot_be_read_stops_only_what_would_destroy() {
    let world = hooked(&[("edt.toml", b"[guards\n")]);
    passes(&world, "git commit -q --allow-empty -m x && git branch feature");
    refused(&world, "git branch -f feature HEAD~1", &["BAD_REQUEST", "edt.toml"]);
}

#[test]
fn the_answer_of_a_hook_is_an_outcome() {
    let world = hooked(&[("a.txt", b"a\n")]);
    world.write("a.txt", MARKED);
    world.git(&["add", "a.txt"]);
    let answer = answers(&world, b"", &["pre-commit"]);
    assert_eq!((answer.exit, answer.codes()), (1, vec!["CONFLICT_MARKERS"]));
    let answer = answers(&world, b"", &["post-commit"]);
    assert_eq!((answer.exit, answer.codes()), (2, vec!["BAD_REQUEST"]));
    let answer = answers(&world, b"not what Git writes\n", &["reference-transaction", "prepared"]);
    assert_eq!((answer.exit, answer.json["status"].as_str()), (1, Some("refused")));
}

/// The script of `hook` with the program recorded in it replaced.
fn recorded(world: &World, hook: &str, program: &str) {
    let path = world.root.join(".git/hooks").join(hook);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(EDT, program)).unwrap();
}

#[test]
fn a_missing_edt_stops_commits_and_pushes_but_not_git() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    ["pre-commit", "pre-push", "reference-transaction"]
        .iter()
        .for_each(|hook| recorded(world, hook, "/nowhere/edt"));
    // Without the tests' own folder on PATH, which holds edt.
    let plain =
        |line: &str| world.command("sh").args(["-c", line]).env("EDT_AGENT", "1").output().unwrap();
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
    refused(world, "git update-ref refs/heads/main HEAD~1", &["GIT_OPERATION_BLOCKED"]);
}

#[test]
fn an_edt_that_ends_without_an_answer_stops_what_it_was_asked() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    world.write("../crash", "#!/bin/sh\nkill -ABRT $$\n");
    let crash = world.root.parent().unwrap().join("crash");
    std::fs::set_permissions(&crash, PermissionsExt::from_mode(0o755)).unwrap();
    let crash = crash.to_str().unwrap();
    ["pre-commit", "pre-push", "reference-transaction"]
        .iter()
        .for_each(|hook| recorded(world, hook, crash));
    refused(
        world,
        "git commit --allow-empty -m x",
        &["ended with status 134", "edt doctor", "-c core.hooksPath=/dev/null"],
    );
    refused(
        world,
        "git push origin main:new",
        &["ended with status 134", "-c core.hooksPath=/dev/null"],
    );
}

/// Regression: an edt of another machine's, or one that was killed, stopped every command that writes a ref.
#[test]
fn an_edt_that_cannot_run_stops_no_ref() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    for (n, (text, status)) in [
        ("#!/nowhere/loader\n", "126"),
        ("#!/bin/sh\nkill -KILL $$\n", "137"),
        ("#!/bin/sh\nexit 127\n", "127"),
    ]
    .iter()
    .enumerate()
    {
        world.write("../broken", text);
        let broken = world.root.parent().unwrap().join("broken");
        std::fs::set_permissions(&broken, PermissionsExt::from_mode(0o755)).unwrap();
        world.edt(&["hooks", "install"]);
        recorded(world, "reference-transaction", broken.to_str().unwrap());
        let done = shell(world, By::Agent, &format!("git branch new{n}")).output().unwrap();
        assert!(
            done.status.success() && said(&done).contains("Refs are NOT protected"),
            "{status}: {}",
            said(&done)
        );
        // One whose interpreter is missing is 126 to one shell and 127 to another.
        assert!(said(&done).contains(status) || *status == "126", "{}", said(&done));
        std::fs::remove_file(world.root.join(".git/hooks/reference-transaction")).unwrap();
    }
    world.write("../odd", "#!/bin/sh\nexit 2\n");
    let odd = world.root.parent().unwrap().join("odd");
    std::fs::set_permissions(&odd, PermissionsExt::from_mode(0o755)).unwrap();
    world.edt(&["hooks", "install"]);
    recorded(world, "reference-transaction", odd.to_str().unwrap());
    refused(
        world,
        "git branch -D edt/work",
        &["ended with status 2", "git -c core.hooksPath=/dev/null"],
    );
}

/// Regression: every new picture and every file in an old encoding was refused, to persons too.
#[test]
fn what_was_no_text_may_be_committed() {
    let world = hooked(&[("a.txt", b"text\n"), ("old.bin", b"a\0b"), ("gone.txt", b"x\n")]);
    world.write("new.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe");
    world.write("latin.txt", b"caf\xe9\n");
    world.write("old.bin", b"\xff\0c");
    passes(&world, "git add --all && git commit -qm x");
    world.write("latin.txt", b"caf\xe9s\n");
    passes(&world, "git commit -qam x");
    world.write("a.txt", b"text\0\xff\n");
    let both = "--allow binary_content --allow encoding`";
    refused(&world, "git commit -qam x", &["BINARY_CONTENT a.txt", "ENCODING a.txt", both]);
    passes(&world, "EDT_ALLOW=binary_content,encoding git commit -qam x");
}

/// Regression: where HEAD's file could not be read nothing could be committed any more, not even its mending.
#[test]
fn a_policy_that_cannot_be_read_can_be_mended_by_a_commit() {
    for text in [Some("[refs]\n"), None] {
        let world = hooked(&[("edt.toml", b"[guards\n"), ("a.txt", lines(80).as_bytes())]);
        world.write("a.txt", lines(81));
        let words = ["BAD_REQUEST", "The edt.toml of HEAD cannot be read", "git add edt.toml"];
        let said = refused(&world, "git commit -qam x", &words);
        assert!(!said.contains("begin a new session"), "{said}");
        match text {
            Some(text) => world.write("edt.toml", text),
            None => std::fs::remove_file(world.root.join("edt.toml")).unwrap(),
        }
        world.write("a.txt", "fragment\n");
        refused(&world, "git commit -qam x", &["SIZE_REDUCTION a.txt"]);
        world.write("a.txt", lines(81));
        passes(&world, "git commit -qam x");
        world.write("edt.toml", "[guards\n");
        refused(
            &world,
            "git add edt.toml && git commit -qm x",
            &["BAD_REQUEST", "The edt.toml of the index cannot be read"],
        );
    }
}

/// Regression: a server whose HEAD has a file that cannot be read took no push at all.
#[test]
fn a_server_with_a_policy_that_cannot_be_read_is_mended_by_a_push() {
    let hooked = Hooked::with("pre-receive");
    let (world, remote) = (&hooked.world, hooked.remote());
    let push = "git -c core.hooksPath=/dev/null push -q origin";
    world.commit(&[("edt.toml", b"[guards\n")]);
    refused(
        world,
        &format!("{push} main"),
        &[
            "BAD_REQUEST",
            "The edt.toml of what is pushed cannot be read",
            "refs/heads/main was not changed",
        ],
    );
    passes(world, &format!("{push} main:topic"));
    remote.git(&["update-ref", "refs/heads/main", "refs/heads/topic"]);
    passes(world, &format!("{push} main:other && {push} :other"));
    world.commit(&[("b.txt", b"three\n")]);
    refused(world, &format!("{push} main"), &["The edt.toml of the branch here cannot be read"]);
    world.commit(&[("edt.toml", b"[refs]\n")]);
    passes(world, &format!("{push} main"));
}

/// Regression: a branch without a common commit was not judged, and any line of a message counted as a decision.
#[test]
fn a_server_judges_orphans_and_takes_decisions_from_trailers_only() {
    let hooked = Hooked::with("pre-receive");
    let world = &hooked.world;
    world.git(&["switch", "--quiet", "--orphan", "release/9"]);
    world.commit(&[("m.txt", MARKED.as_bytes())]);
    refused(world, "git push origin release/9", &["CONFLICT_MARKERS m.txt"]);
    let message =
        "Edt-Allowed: conflict_markers\n\nis what I would write here if I were to\nallow it.\n";
    world.git(&["commit", "--quiet", "--amend", "-m", message]);
    refused(world, "git push origin release/9", &["CONFLICT_MARKERS m.txt"]);
    world.git(&["commit", "--quiet", "--amend", "-m", "meant so\n\nEdt-Allowed: conflict_markers"]);
    passes(world, "git push -q origin release/9");
}

/// Regression: an agent that a person started in a terminal shares the terminal.
#[test]
fn a_program_that_reads_what_git_says_is_no_person() {
    for (line, passes) in
        [("git branch -D edt/work 2>&1 | cat", false), ("git branch -D edt/work | cat", true)]
    {
        let hooked = Hooked::with("reference-transaction");
        let done = hooked.sh(By::Person, line);
        assert_eq!(
            said(&done).contains("GIT_OPERATION_BLOCKED"),
            !passes,
            "{line}: {}",
            said(&done)
        );
        assert_eq!(
            hooked.world.try_git(&["rev-parse", "-q", "--verify", "edt/work"]).status.success(),
            !passes,
            "{line}"
        );
    }
}

/// Regression: `git pack-refs` started several programs for each branch that it pruned.
#[test]
fn packing_refs_asks_git_once() {
    let hooked = Hooked::with("reference-transaction");
    let world = &hooked.world;
    passes(
        world,
        "for n in 1 2 3; do git branch b$n; done; GIT_TRACE2_EVENT=$PWD/../trace git pack-refs --all",
    );
    let trace = std::fs::read_to_string(world.root.parent().unwrap().join("trace")).unwrap();
    let started: Vec<&str> =
        trace.lines().filter(|line| line.contains("\"event\":\"start\"")).collect();
    // The command itself, and one question for all refs; none for each that is pruned.
    assert_eq!(started.len(), 2, "{started:#?}");
}

#[test]
fn refs_that_grow_come_or_stay_are_nobodys_business() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
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
        "git worktree add -q ../wt -b edt/beside && git worktree remove ../wt",
        "git fetch -q origin && git fetch -q origin main:fetched",
        "git switch -q -c feature HEAD~1 && git commit -q --allow-empty -m f && git rebase -q main && git reset -q --hard HEAD~1",
        "git commit -q --allow-empty -m a && git commit -q --amend --allow-empty -m b",
        "git switch -q main && git branch -D feature && git tag t && git tag -d t",
        "git symbolic-ref refs/heads/alias refs/heads/main && git symbolic-ref -d refs/heads/alias",
        "git checkout -q --detach && git reset -q --hard HEAD~1 && git switch -q main",
    ] {
        passes(world, line);
    }
    world.is_sound();
}

#[test]
fn a_guarded_ref_is_neither_deleted_nor_rewound_by_an_agent() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.git(&["update-ref", "refs/edt/work/undone/1", "HEAD"]);
    world.commit(&[("edt.toml", b"[refs]\nprotected = [\"live/*\"]\n")]);
    world.git(&["branch", "live/one"]);
    world.git(&["branch", "old", "HEAD~1"]);
    world.edt(&["hooks", "install"]);
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
            "become a name for refs/heads/edt/work",
        ),
        (
            "printf 'start\\ndelete refs/heads/edt/work\\nupdate refs/heads/x HEAD\\ncommit\\n' | git update-ref --stdin",
            "EDT_AGENT is set",
        ),
        ("git fetch -q . +old:refs/heads/live/one", "live/one"),
        ("git push -q . +HEAD~1:refs/heads/live/one", "live/one"),
    ] {
        refused(world, line, &[blocked, more]);
    }
    world.is_sound();
    // Another branch's say counts even where HEAD's does not know it.
    world.git(&["switch", "--quiet", "--orphan", "bare"]);
    refused(world, "git branch -D live/one", &[blocked]);
}

/// Regression: Git deletes the old name before it asks of the new one, and gives nothing back when that is refused.
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
        let world = &hooked.world;
        world.git(&["branch", "release/1"]);
        world.edt(&["hooks", "install"]);
        passes(world, setup);
        let told = format!("Git had already taken {name} away to rename it; it is at ");
        refused(world, line, &["GIT_OPERATION_BLOCKED", "refs/heads/release/1 is at", &told]);
        world.is_sound();
        // What was put back is an ordinary branch again.
        passes(
            world,
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
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    passes(world, "git switch -q edt/work");
    let before = history(world);
    let done = shell(world, By::Agent, "git branch -M edt/work main").output().unwrap();
    assert!(!done.status.success() && said(&done).contains("it is at"), "{}", said(&done));
    let mut differ = changed(&before, &history(world));
    // Git itself wrote into HEAD's log that the branch was gone.
    differ.retain(|one| !one.starts_with("own log HEAD:") && !one.starts_with("common log HEAD:"));
    assert_eq!(differ, Vec::<String>::new());
    world.is_clean();
}

/// Regression: under a free name a session's branch could be deleted.
#[test]
fn a_sessions_branch_stays_one_under_another_name() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    passes(world, "git branch -m edt/work tmp");
    refused(world, "git branch -D tmp", &["GIT_OPERATION_BLOCKED", "refs/heads/tmp is at"]);
    passes(world, "git branch -m tmp other");
    refused(world, "git branch -f other HEAD~1", &["GIT_OPERATION_BLOCKED"]);
    passes(world, "git branch -m other edt/work");
}

/// Regression: an index that equals the new commit was taken for a reset, and the hint destroyed what was staged.
#[test]
fn a_refused_amend_keeps_what_was_staged_and_says_so() {
    for root in [false, true] {
        let world = World::with(&[("a.txt", b"one\n")]);
        if !root {
            world.commit(&[("a.txt", b"two\n")]);
        }
        world.edt(&["hooks", "install"]);
        world.write("a.txt", "mine\n");
        world.git(&["add", "a.txt"]);
        let words = [
            "GIT_OPERATION_BLOCKED",
            "your changes are still staged",
            "next: Make a new commit without `--amend`.",
        ];
        let said = refused(&world, "git commit --amend -m x", &words);
        assert!(!said.contains("git restore") && !said.contains("--source"), "{said}");
        assert_eq!(
            (world.status().as_str(), world.text("a.txt").as_str()),
            ("M  a.txt\n", "mine\n")
        );
        passes(&world, "git commit -qm x");
        // A reset is known all the same, also one to a commit that no branch has.
        let lost = world.git(&["commit-tree", "-m", "lost", "HEAD^^{tree}"]);
        let said =
            refused(&world, &format!("git reset -q --hard {lost}"), &["had already rewritten"]);
        passes(&world, said.split("next: `").nth(1).unwrap().split('`').next().unwrap());
        world.is_clean();
    }
}

/// Regression: from a subfolder the repair named paths that were not there.
#[test]
fn a_repair_works_from_a_subfolder() {
    for keep in [false, true] {
        let world = World::with(&[("a/x.txt", b"1\n"), ("[b]/y.txt", b"1\n"), ("c.txt", b"1\n")]);
        world.commit(&[("a/x.txt", b"2\n"), ("[b]/y.txt", b"2\n")]);
        world.edt(&["hooks", "install"]);
        if keep {
            world.write("c.txt", "mine\n");
        }
        let before = world.files();
        let flag = if keep { "--keep" } else { "--hard" };
        let said = refused(
            &world,
            &format!("cd '[b]' && git reset -q {flag} HEAD~1"),
            &["had already rewritten"],
        );
        assert_eq!(said.contains("is gone, unless edt"), !keep, "{said}");
        let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap();
        passes(&world, &format!("cd '[b]' && {repair}"));
        crate::world::same(&before, &world.files());
    }
}

/// Regression: a person's file that cannot be read stopped the person's own commands.
#[test]
fn an_unreadable_policy_of_the_persons_stops_no_ref_of_theirs() {
    let hooked = Hooked::with("reference-transaction");
    std::fs::create_dir_all(hooked.world.home.join(".config/edt/edt.toml")).unwrap();
    for (by, line, passes) in [
        (By::Agent, "git branch new", true),
        (By::Agent, "git commit -q --allow-empty -m x", true),
        (By::Agent, "git update-ref refs/heads/main HEAD~1", false),
        (By::Person, "git update-ref refs/heads/main HEAD~1", true),
    ] {
        let done = hooked.sh(by, line);
        assert_eq!(done.status.success(), passes, "{line} by {by:?}: {}", said(&done));
        assert!(passes || said(&done).contains("read your policy"), "{}", said(&done));
    }
}

#[test]
fn one_guarded_ref_among_many_is_found() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    let many: String = (0..3000).map(|n| format!("create refs/heads/n{n} HEAD\\n")).collect();
    let line = format!(
        "printf 'start\\n{many}delete refs/heads/edt/work\\ncommit\\n' | git update-ref --stdin"
    );
    refused(world, &line, &["GIT_OPERATION_BLOCKED", "refs/heads/edt/work is at"]);
    passes(world, &line.replace("delete refs/heads/edt/work", "create refs/tags/last HEAD"));
    passes(
        world,
        "git for-each-ref --format='delete %(refname)' 'refs/heads/n*' | git update-ref --stdin",
    );
}

#[test]
fn a_person_at_a_terminal_may_do_what_an_agent_may_not() {
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
fn without_a_terminal_nobody_is_a_person() {
    let hooked = Hooked::with("reference-transaction");
    let done = hooked
        .world
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
    let done = hooked.sh(By::Person, line);
    assert!(
        !done.status.success() && said(&done).contains("CODEX_THREAD_ID is set"),
        "{}",
        said(&done)
    );
}

#[test]
fn a_refused_command_that_rewrote_files_says_how_to_bring_them_back() {
    for line in [
        "git reset --hard HEAD~1",
        "git reset --keep HEAD~1",
        "git checkout -f -B main HEAD~1",
        "git reset HEAD~1",
    ] {
        let hooked = Hooked::new();
        let world = &hooked.world;
        world.commit(&[("c.txt", b"came later\n"), ("b.txt", b"three\n")]);
        world.edt(&["hooks", "install"]);
        world.write("untracked.txt", "mine\n");
        let before = world.files();
        let said = refused(world, line, &["GIT_OPERATION_BLOCKED", "had already", "next: `git "]);
        let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap().to_owned();
        assert_ne!(world.status(), "?? untracked.txt\n", "{line} did rewrite something");
        passes(world, &repair);
        assert_eq!(world.status(), "?? untracked.txt\n", "{line}, then {repair}");
        crate::world::same(&before, &world.files());
    }
}

#[test]
fn a_repair_never_touches_files_that_git_did_not_rewrite() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    // `--keep` leaves the changed a.txt alone, and rewrites b.txt.
    world.write("a.txt", lines(81));
    let before = world.files();
    let said = refused(
        world,
        "git reset --keep HEAD~1",
        &["GIT_OPERATION_BLOCKED", "had already rewritten"],
    );
    assert_eq!(world.text("b.txt"), "one\n");
    let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap().to_owned();
    passes(world, &repair);
    crate::world::same(&before, &world.files());
    assert_eq!(world.status(), " M a.txt\n");
    // Nothing was rewritten: nothing is to be repaired, least of all by overwriting files.
    let said = refused(world, "git update-ref refs/heads/main HEAD~1", &["GIT_OPERATION_BLOCKED"]);
    assert!(!said.contains("git restore ") && !said.contains("had already"), "{said}");
}

#[test]
fn edt_works_as_ever_with_its_hooks_in_place() {
    let world = hooked(&[("a.txt", b"one\n")]);
    world.edt(&["begin", "s"]);
    world.overwrite("a.txt", "two\n");
    world.overwrite("a.txt", "three\n");
    assert_eq!(world.edt(&["undo"]).exit, 0);
    assert_eq!(world.edt(&["redo"]).exit, 0);
    assert_eq!(world.edt(&["undo", "2"]).exit, 0);
    assert_eq!(world.text("a.txt"), "one\n");
    world.is_clean();
    world.is_sound();
}

#[test]
fn shadow_branches_stay_here_and_protected_ones_stay_whole() {
    let hooked = Hooked::with("pre-push");
    let world = &hooked.world;
    let remote = hooked.remote();
    remote.git(&["config", "receive.denyDeleteCurrent", "ignore"]);
    let before = remote.git(&["for-each-ref"]);
    for (line, more) in [
        ("git push origin edt/work", "refs/heads/edt/work is a session's ref"),
        ("git push origin main:refs/edt/work/base", "stays off origin"),
        ("git push --mirror origin", "edt.pushShadow"),
        ("git push origin :main", "would delete the protected branch refs/heads/main"),
        (
            "git push origin +HEAD~1:main",
            "would rewind the protected branch refs/heads/main of origin",
        ),
    ] {
        refused(world, line, &["GIT_OPERATION_BLOCKED", more]);
        assert_eq!(remote.git(&["for-each-ref"]), before, "{line}");
    }
    passes(
        world,
        "git push -q origin edt/work:feature && git push -q --force origin HEAD~1:feature && git push -q origin :feature",
    );
    passes(world, "git commit -q --allow-empty -m x && git push -q origin main");
    passes(world, "git config edt.pushShadow true && git push -q origin edt/work");
    // What the remote calls its own branch is protected whatever its name.
    remote.git(&["symbolic-ref", "HEAD", "refs/heads/odd"]);
    passes(world, "git push -q origin main:odd && git remote set-head origin --auto");
    refused(
        world,
        "git push origin +HEAD~1:odd",
        &["would rewind the protected branch refs/heads/odd"],
    );
}

#[test]
fn a_server_refuses_what_an_agents_clone_tries_to_push() {
    let hooked = Hooked::with("pre-receive");
    let (world, remote) = (&hooked.world, hooked.remote());
    remote.git(&["config", "receive.denyDeleteCurrent", "ignore"]);
    let before = remote.git(&["for-each-ref"]);
    let tries = |line: &str, more: &str| {
        refused(world, line, &[more, "pre-receive hook declined"]);
        assert_eq!(remote.git(&["for-each-ref"]), before, "{line}");
    };
    tries(
        "git push origin edt/work",
        "remote:   refs/heads/edt/work is a session's ref of edt's and stays off this server",
    );
    tries("git push origin :main", "would delete the protected branch refs/heads/main");
    tries("git push origin +HEAD~1:main", "would rewind the protected branch refs/heads/main");
    tries("git push origin main:ok edt/work", "GIT_OPERATION_BLOCKED");
    world.write("a.txt", "fragment\n");
    world.git(&["commit", "--quiet", "-am", "shrunk"]);
    tries("git push origin main", "SIZE_REDUCTION a.txt");
    tries("git push origin main:release/1", "SIZE_REDUCTION a.txt");
    world.write("edt.toml", "[guards.size_reduction]\nmode = \"off\"\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "and the guard off"]);
    tries("git push origin main", "SIZE_REDUCTION a.txt");
    // A branch that is not protected is free; a recorded decision passes, on the protected one too.
    passes(
        world,
        "git push -q origin main:topic && git push -q -f origin main~1:topic && git push -q origin :topic",
    );
    world.git(&["commit", "--quiet", "--amend", "-m", "meant so\n\nEdt-Allowed: size_reduction"]);
    passes(world, "git push -q origin main");
    remote.git(&["config", "edt.pushShadow", "true"]);
    passes(world, "git push -q origin edt/work");
    assert_eq!(remote.edt(&["hooks", "uninstall"]).json["steps"][0]["did"], "removed");
}

#[test]
fn an_empty_server_takes_a_first_push() {
    let world = World::with(&[("m.txt", MARKED.as_bytes())]);
    world.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../empty"]);
    world.at(world.root.parent().unwrap().join("empty")).edt(&["hooks", "install"]);
    passes(&world, "git push -q ../empty main");
}
