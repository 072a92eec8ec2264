//! Each kind of repository: an edit, its undo and a landing, and each of them killed, with Git's own
//! reading after each. [`KINDS`] is the list.

use std::process::Stdio;

use edt_testkit::{Progress, share};
use serde_json::json;

use crate::caseless;
use crate::crash::{CALLS, points, several};
use crate::fuse::Mount;
use crate::test_repo::{EDT, Snapshot, TestRepo, changed, has_strace, is_portable, same};

/// A kind of repository.
struct Kind {
    name: &'static str,
    /// Makes one with [`FILES`]; the error says why it cannot be made here.
    make: fn() -> Result<Made, &'static str>,
    /// Checks what makes it one of the kind, when a session has landed.
    stays: fn(&TestRepo),
}

const KINDS: &[Kind] = &[
    Kind { name: "alternates", make: alternates, stays: has_alternates },
    Kind { name: "shallow clone", make: shallow, stays: is_shallow },
    Kind { name: "partial clone", make: partial, stays: |_| {} },
    Kind { name: "shared by a group", make: shared, stays: is_writable_by_the_group },
    Kind { name: "bind mounts", make: bind_mounted, stays: |_| {} },
    Kind { name: "case-insensitive directory", make: case_insensitive, stays: |_| {} },
    Kind { name: "file system that cannot exchange", make: without_exchange, stays: |_| {} },
    Kind { name: "symbolic branch", make: symbolic_branch, stays: has_symbolic_branch },
    Kind { name: "core.worktree", make: core_worktree, stays: |_| {} },
    Kind { name: "safe.directory", make: safe_directory, stays: |_| {} },
    Kind { name: "worktreeConfig", make: worktree_config, stays: is_configured },
    Kind { name: "submodule", make: submodule, stays: |_| {} },
    Kind { name: "worktree of a submodule", make: submodule_worktree, stays: |_| {} },
    Kind { name: "reftable", make: tables, stays: has_listed_tables },
    Kind { name: "worktree with reftable", make: tables_of_a_worktree, stays: has_listed_tables },
    Kind { name: "reftable shared by a group", make: shared_tables, stays: are_shared },
];

const FILES: &[(&str, &[u8])] =
    &[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("dir/c.txt", b"c\n"), ("z.txt", b"z\n")];

/// A repository, and what must exist as long as it does.
struct Made {
    /// Unmounted before the directories are removed.
    mounts: Vec<Mount>,
    origins: Vec<TestRepo>,
    repo: TestRepo,
}

fn alone(repo: TestRepo) -> Made {
    Made { mounts: Vec::new(), origins: Vec::new(), repo }
}

fn below(origins: Vec<TestRepo>, repo: TestRepo) -> Made {
    repo.git(&["config", "user.name", "A User"]);
    repo.git(&["config", "user.email", "user@example.com"]);
    Made { mounts: Vec::new(), origins, repo }
}

fn only_root() -> Result<(), &'static str> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err("only root can make it") }
}

fn cloned(origin: TestRepo, flags: &[&str]) -> Made {
    let clone = origin.root.with_file_name("clone");
    let url = format!("file://{}", origin.root.display());
    let from = if flags == ["--shared"] { origin.root.to_str().unwrap() } else { &url };
    origin.git(&[&["clone", "--quiet"], flags, &[from, clone.to_str().unwrap()]].concat());
    let repo = origin.at(clone);
    below(vec![origin], repo)
}

fn alternates() -> Result<Made, &'static str> {
    Ok(cloned(TestRepo::with(FILES), &["--shared"]))
}

fn has_alternates(repo: &TestRepo) {
    assert!(repo.exists(".git/objects/info/alternates"));
}

fn shallow() -> Result<Made, &'static str> {
    let origin = TestRepo::with(&[("a.txt", b"zero\n")]);
    origin.commit(FILES);
    Ok(cloned(origin, &["--depth=1"]))
}

fn is_shallow(repo: &TestRepo) {
    assert_eq!(repo.git(&["rev-parse", "--is-shallow-repository"]), "true\n");
}

fn partial() -> Result<Made, &'static str> {
    let origin = TestRepo::with(&[("a.txt", b"never fetched\n")]);
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.commit(FILES);
    Ok(cloned(origin, &["--filter=blob:none"]))
}

fn shared() -> Result<Made, &'static str> {
    Ok(alone(TestRepo::made(&["--shared=group"], FILES)))
}

fn is_writable_by_the_group(repo: &TestRepo) {
    let args = [".git/objects", ".git/refs", ".git/logs", "-type", "d", "!", "-perm", "-2070"];
    let found = repo.command("find").args(args).output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&found), "", "directories that the group cannot use");
}

fn bind_mounted() -> Result<Made, &'static str> {
    only_root()?;
    if is_portable() {
        return Err("the portable functions take mounts of one device for one");
    }
    let repo = TestRepo::with(FILES);
    let mut mounts = Vec::new();
    for name in [".git", "dir"] {
        let (at, from) = (repo.root.join(name), repo.home.join(name));
        std::fs::rename(&at, &from).unwrap();
        std::fs::create_dir(&at).unwrap();
        let done = repo.command("mount").arg("--bind").args([&from, &at]).status().unwrap();
        if !done.success() {
            return Err("nothing can be mounted");
        }
        mounts.push(Mount(at));
    }
    Ok(Made { mounts, ..alone(repo) })
}

fn case_insensitive() -> Result<Made, &'static str> {
    on_fuse(true)
}

/// As on macOS: the file has the name that was given to it, and is found by the other one.
#[test]
fn a_name_in_the_other_form_of_unicode_is_refused_where_both_are_one_file() {
    let made = match case_insensitive() {
        Ok(made) => made,
        Err(why) => return println!("kinds: {why}"),
    };
    let (repo, composed, apart) = (&made.repo, "\u{fc}.md", "u\u{308}.md");
    repo.commit(&[(composed, b"one\n")]);
    assert!(repo.exists(apart), "both forms are one file here");
    let edit = |name: &str| {
        let args = ["apply", name, "--mode", "edit", "--old-text", "one", "--content", "two"];
        repo.edt(&args)
    };
    let refused = edit(apart);
    assert_eq!(refused.json["errors"][0]["code"], "FILE_EXISTS", "{}", refused.json);
    assert_eq!(refused.json["errors"][0]["evidence"]["exists"], composed);
    let applied = edit(composed);
    assert_eq!(applied.exit, 0, "{}", applied.json);
    assert_eq!(std::fs::read(repo.root.join(apart)).unwrap(), b"two\n");
    assert_eq!(repo.edt(&["undo"]).exit, 0);
    assert_eq!(std::fs::read(repo.root.join(composed)).unwrap(), b"one\n");
}

/// As NFS.
fn without_exchange() -> Result<Made, &'static str> {
    on_fuse(false)
}

fn on_fuse(exchanges: bool) -> Result<Made, &'static str> {
    only_root()?;
    let outside = TestRepo::bare_directory();
    let [from, at] = ["disk", "mnt"].map(|name| outside.home.join(name));
    std::fs::create_dir(&from).unwrap();
    std::fs::create_dir(&at).unwrap();
    let mount = caseless::mount(&from, &at, exchanges).ok_or("FUSE is missing")?;
    let repo = outside.at(at.join("repo"));
    std::fs::create_dir(&repo.root).unwrap();
    repo.git(&["init", "--quiet", "--initial-branch=main"]);
    let mut made = below(vec![outside], repo);
    assert_eq!(made.repo.git(&["config", "core.ignoreCase"]), "true\n");
    made.repo.commit(FILES);
    made.mounts.push(mount);
    Ok(made)
}

fn symbolic_branch() -> Result<Made, &'static str> {
    let repo = TestRepo::with(FILES);
    repo.git(&["branch", "--quiet", "-m", "main", "trunk"]);
    repo.git(&["symbolic-ref", "refs/heads/main", "refs/heads/trunk"]);
    repo.git(&["switch", "--quiet", "main"]);
    Ok(alone(repo))
}

fn has_symbolic_branch(repo: &TestRepo) {
    assert_eq!(repo.git(&["symbolic-ref", "refs/heads/main"]), "refs/heads/trunk\n");
}

fn core_worktree() -> Result<Made, &'static str> {
    let repo = TestRepo::with(FILES);
    let git_dir = repo.home.join("elsewhere.git");
    repo.git(&["init", "--quiet", "--separate-git-dir", git_dir.to_str().unwrap()]);
    repo.git(&["config", "core.worktree", "../../repo"]);
    Ok(alone(repo))
}

fn safe_directory() -> Result<Made, &'static str> {
    only_root()?;
    let repo = TestRepo::with(FILES);
    let root = repo.root.to_str().unwrap();
    repo.git(&["config", "--global", "safe.directory", root]);
    assert!(repo.command("chown").args(["-R", "65534:65534", root]).status().unwrap().success());
    repo.git(&["update-index", "-q", "--refresh"]);
    Ok(alone(repo))
}

/// As `git sparse-checkout` makes it in a linked worktree.
fn worktree_config() -> Result<Made, &'static str> {
    let main = TestRepo::with(&[FILES, &[("out/x.txt", b"x\n")]].concat());
    let linked = main.root.with_file_name("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let repo = main.at(linked);
    repo.git(&["sparse-checkout", "set", "--cone", "dir", "new"]);
    repo.git(&["config", "--worktree", "user.name", "Of This Worktree"]);
    Ok(Made { mounts: Vec::new(), origins: vec![main], repo })
}

fn is_configured(repo: &TestRepo) {
    assert_eq!(repo.git(&["log", "-1", "--format=%an"]), "Of This Worktree\n");
    assert!(!repo.exists("out") && repo.rev("HEAD:out/x.txt").len() == 40);
}

fn submodule() -> Result<Made, &'static str> {
    let (inner, outer) = (TestRepo::with(FILES), TestRepo::with(&[("outer.txt", b"x\n")]));
    let url = inner.root.to_str().unwrap();
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    outer.commit(&[]);
    let repo = outer.at(outer.root.join("lib"));
    Ok(below(vec![inner, outer], repo))
}

fn submodule_worktree() -> Result<Made, &'static str> {
    let made = submodule()?;
    let linked = made.origins[1].root.with_file_name("linked");
    made.repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let repo = made.repo.at(linked);
    Ok(Made { repo, ..made })
}

fn tables() -> Result<Made, &'static str> {
    Ok(alone(TestRepo::made(&["--ref-format=reftable", "--object-format=sha256"], FILES)))
}

fn tables_of_a_worktree() -> Result<Made, &'static str> {
    let main = TestRepo::made(&["--ref-format=reftable"], FILES);
    let linked = main.root.with_file_name("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let repo = main.at(linked);
    Ok(Made { mounts: Vec::new(), origins: vec![main], repo })
}

fn shared_tables() -> Result<Made, &'static str> {
    Ok(alone(TestRepo::made(&["--ref-format=reftable", "--shared=group"], FILES)))
}

fn are_shared(repo: &TestRepo) {
    has_listed_tables(repo);
    let args = [".git/reftable", "-type", "f", "!", "-perm", "-0660"];
    let found = repo.command("find").args(args).output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&found), "", "tables that the group cannot use");
}

fn has_listed_tables(repo: &TestRepo) {
    assert_eq!(unlisted_tables(repo), Vec::<String>::new());
}

/// The tables that no list names.
fn unlisted_tables(repo: &TestRepo) -> Vec<String> {
    let mut found = Vec::new();
    for git_dir in ["--git-dir", "--git-common-dir"] {
        let git_dir = repo.git(&["rev-parse", git_dir]);
        let directory = repo.root.join(git_dir.trim_end()).join("reftable");
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let list = std::fs::read_to_string(directory.join("tables.list")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        found
            .extend(names.filter(|name| {
                name != "tables.list" && !list.lines().any(|listed| listed == name)
            }));
    }
    found
}

/// Makes each kind that can be made here.
fn each_kind(act: impl Fn(&Kind, Made)) {
    let only = std::env::var("EDT_MATRIX").unwrap_or_default();
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&only)) {
        match (kind.make)() {
            Ok(made) => act(kind, made),
            Err(why) => println!("skipped: {}: {why}", kind.name),
        }
    }
}

/// Git finds nothing uncommitted, nothing unsound, no lock.
fn git_reads(repo: &TestRepo, step: &str) {
    eprintln!("after {step}");
    repo.is_clean();
    repo.is_sound();
    assert_eq!(repo.locks(), Vec::<String>::new(), "after {step}");
}

#[test]
fn every_kind_in_a_session() {
    each_kind(|kind, made| {
        let repo = &made.repo;
        eprintln!("{}", kind.name);
        git_reads(repo, "its making");
        let head = repo.git(&["symbolic-ref", "HEAD"]);
        repo.edt(&["begin", "s"]).landed();
        repo.overwrite("a.txt", "two\n");
        git_reads(repo, "an edit");
        let before = repo.files();
        repo.apply(&several()).landed();
        git_reads(repo, "several edits");
        let after = repo.files();
        repo.edt(&["undo"]).landed();
        git_reads(repo, "undo");
        same(&before, &repo.files());
        repo.edt(&["redo"]).landed();
        same(&after, &repo.files());
        let commit = repo.edt(&["land"]).landed().commit().to_owned();
        git_reads(repo, "the landing");
        same(&after, &repo.files());
        assert_eq!((repo.git(&["symbolic-ref", "HEAD"]), repo.rev("HEAD")), (head, commit));
        (kind.stays)(repo);
    });
}

// --- names of another case ------------------------------------------------------------------------------------------------

/// No call loses or overwrites a file that has the name in another case, whatever
/// `core.ignoreCase` says.
#[test]
fn names_of_another_case_on_a_case_insensitive_directory() {
    let made = match case_insensitive() {
        Ok(made) => made,
        Err(why) => return println!("skipped: {why}"),
    };
    let repo = &made.repo;
    repo.edt(&["begin", "s"]).landed();
    repo.write("notes.txt", "a user's\n");
    repo.write("own/x.txt", "a user's\n");
    let edit = |mode: &str, path: &str| json!({"path": path, "mode": mode, "content": "new\n"});
    let rename = |path: &str, to: &str| json!({"path": path, "mode": "rename", "to": to});
    // What Git does not track has no name that Git knows.
    let untracked = [
        edit("create", "OWN/new.txt"),
        edit("overwrite", "NOTES.txt"),
        json!({"path": "NOTES.txt", "mode": "delete"}),
    ];
    let calls = [
        edit("create", "A.txt"),
        edit("create", "NOTES.txt"),
        edit("create", "DIR/new.txt"),
        edit("create", "DIR/C.txt"),
        edit("overwrite", "A.txt"),
        edit("append", "A.txt"),
        edit("append", "DIR/c.txt"),
        json!({"path": "A.txt", "mode": "edit", "old_text": "one", "content": "two"}),
        json!({"path": "A.txt", "mode": "delete"}),
        json!({"path": "DIR/c.txt", "mode": "delete"}),
        rename("a.txt", "A.txt"),
        rename("A.txt", "other.txt"),
        rename("a.txt", "NOTES.txt"),
        rename("a.txt", "B.txt"),
        rename("a.txt", "DIR/a.txt"),
        json!({"edits": [edit("create", "n.txt"), edit("create", "N.txt")]}),
        json!({"edits": [json!({"path": "a.txt", "mode": "delete"}), edit("create", "A.txt")]}),
    ];
    let lower_case = |repo: &TestRepo| -> Snapshot {
        repo.files().into_iter().map(|(path, bytes)| (path.to_lowercase(), bytes)).collect()
    };
    let files = lower_case(repo);
    for ignored in ["true", "false"] {
        repo.git(&["config", "core.ignoreCase", ignored]);
        for call in calls.iter().chain(&untracked) {
            let before = repo.snapshot();
            let answer = repo.apply(call);
            if ignored == "true" {
                let expected = if untracked.contains(call) { vec![] } else { vec!["FILE_EXISTS"] };
                assert_eq!(answer.codes(), expected, "{call}: {:#}", answer.json);
            }
            if answer.exit == 0 {
                repo.edt(&["undo"]).landed();
                same(&files, &lower_case(repo));
            } else {
                assert!(matches!(answer.exit, 1..=5), "{call}: {:#}", answer.json);
                same(&before, &repo.snapshot());
            }
        }
    }
    repo.is_sound();
}

// --- kills ----------------------------------------------------------------------------------------------------------------

const EDIT: &[&str] = &["apply", "--request", "../request.json"];
const KILLED: [&[&str]; 3] = [EDIT, &["undo"], &["land"]];

/// What must be old or new: the files, the trees of all refs, HEAD, what Git reports as uncommitted.
#[derive(Debug, PartialEq)]
struct State {
    files: Snapshot,
    refs: String,
    head: String,
    status: String,
}

impl State {
    fn of(repo: &TestRepo) -> State {
        State {
            files: repo.files(),
            refs: repo.git(&["for-each-ref", "--format=%(refname) %(tree)"]),
            head: repo.git(&["symbolic-ref", "HEAD"]),
            status: repo.status(),
        }
    }
}

/// A repository with a session that has one edit.
fn in_a_session(kind: &Kind) -> Result<Made, &'static str> {
    let made = (kind.make)()?;
    made.repo.edt(&["begin", "s"]).landed();
    made.repo.overwrite("a.txt", "two\n");
    let request = made.repo.root.with_file_name("request.json");
    std::fs::write(request, several().to_string()).unwrap();
    Ok(made)
}

/// Runs `edt` under `strace`; returns what `strace` wrote.
fn traced(repo: &TestRepo, args: &[&str], options: &[&str]) -> String {
    let log = repo.home.join("trace");
    let mut command = repo.command("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log).args(options).arg(EDT).args(args);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    std::fs::read_to_string(log).unwrap()
}

/// What is wrong after a kill.
fn after_the_kill(repo: &TestRepo, old: &State, new: &State) -> Vec<String> {
    let mut faults = Vec::new();
    let mut must = |holds: bool, what: String| faults.extend((!holds).then_some(what));
    must(repo.try_git(&["status"]).status.success(), "git status fails".into());
    let status = repo.edt(&["status"]);
    must(status.exit == 0, format!("edt status: {}", status.json));
    let left = State::of(repo);
    let differs = changed(&old.files, &left.files);
    let shown = || format!("neither old nor new: {differs:?}, {} {}", left.head, left.status);
    must(left == *old || left == *new, shown());
    let fsck = repo.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    must(fsck.status.success(), "git fsck".into());
    let mut locks = repo.locks();
    // The next landing makes the Git directory for hooks again.
    locks.retain(|lock| !lock.contains("/land/"));
    must(locks.is_empty(), format!("locks left: {locks:?}"));
    let more = repo.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    must(more.exit == 0 && repo.text("z.txt") == "z\nmore\n", format!("more: {}", more.json));
    must(repo.status().is_empty(), format!("not clean: {}", repo.status()));
    let unlisted = unlisted_tables(repo);
    must(unlisted.is_empty(), format!("tables left: {unlisted:?}"));
    faults
}

#[test]
fn every_kind_killed() {
    if !has_strace() {
        return;
    }
    let only = std::env::var("EDT_MATRIX").unwrap_or_default();
    let mut faults = Vec::new();
    let kinds = KINDS.iter().filter(|kind| kind.name.contains(&only));
    let all = kinds.flat_map(|kind| KILLED.map(|args| (kind, args)));
    for (kind, args) in share(all.collect(), 6) {
        let progress = Progress::start();
        let Ok(made) = in_a_session(kind) else { continue };
        let old = State::of(&made.repo);
        let points = points(&traced(&made.repo, args, &["-e", &format!("trace={CALLS}")]));
        let new = State::of(&made.repo);
        let name = format!("{}, {}", kind.name, args[0]);
        assert!(old != new && points.len() > 10, "{name}: it did nothing");
        // Every point is killed in `crash`.
        let points = share(points.into_iter().step_by(4).collect(), 1);
        for (call, number) in &points {
            let made = in_a_session(kind).unwrap();
            let inject = format!("inject={call}:signal=KILL:when={number}");
            traced(&made.repo, args, &["-e", &format!("trace={call}"), "-e", &inject]);
            for fault in after_the_kill(&made.repo, &old, &new) {
                println!("{name}, {call} {number}: {fault}");
                faults.push(format!("{name}, {call} {number}: {fault}"));
            }
        }
        progress.done("kinds", &name, points.len());
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
