//! A kill at every system call that writes: the next call finds the old state or the new one. Then
//! an error at every such call, once or forever: edt answers a code and the state is the old one,
//! or it succeeds and the state is the new one.
//!
//! `strace` counts calls by thread and name. For a command that starts Git, the calls of all its
//! processes are counted: each call is delayed, and the process group is killed as soon as the line
//! of the call before it arrives. `EDT_TESTS=all` takes every point; the tier `ci` takes a sample
//! of each scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;

use edt_testkit::{Progress, share};
use serde_json::json;

use crate::test_repo::{EDT, Snapshot, TestRepo, changed, has_strace, lines, walk};

/// System calls that change something outside the process.
pub(crate) const CALLS: &str = "openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fdatasync,fsync,fchmod,fchmodat,ftruncate";

/// A prepared repository and the command that is killed in it.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) template: TestRepo,
    pub(crate) args: Vec<&'static str>,
    request: Option<PathBuf>,
    /// HEAD is on the session's branch.
    switched: bool,
    /// Threads read the worktree, so that a call counted by thread may come or not.
    threads: bool,
}

/// What a kill may leave: files, branch tip, what Git reports as uncommitted.
#[derive(Debug, Clone, PartialEq)]
struct State {
    files: Snapshot,
    tip: String,
    head: String,
    status: String,
    /// The names of edt's own refs.
    kept: String,
    /// The private records of edits; without them an undo is not exact.
    private: Snapshot,
}

fn template(flags: &[&str], switched: bool) -> TestRepo {
    let long = lines(20);
    let files: [(&str, &[u8]); 5] = [
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        ("dir/c.txt", b"c\n"),
        ("long.txt", long.as_bytes()),
        ("z.txt", b"z\n"),
    ];
    let workspace = TestRepo::made(flags, &files);
    let begin: &[&str] = if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] };
    workspace.edt(begin).landed();
    workspace.overwrite("a.txt", "two\n");
    workspace
}

pub(crate) fn scenario(
    name: &'static str,
    switched: bool,
    args: &[&'static str],
    request: Option<serde_json::Value>,
) -> Scenario {
    made_scenario(name, &[], switched, args, request)
}

/// As [`scenario`], switched, in a repository whose refs are in tables.
pub(crate) fn scenario_in_tables(
    name: &'static str,
    args: &[&'static str],
    request: Option<serde_json::Value>,
) -> Scenario {
    made_scenario(name, &["--ref-format=reftable"], true, args, request)
}

fn made_scenario(
    name: &'static str,
    flags: &[&str],
    switched: bool,
    args: &[&'static str],
    request: Option<serde_json::Value>,
) -> Scenario {
    let template = template(flags, switched);
    let request = request.map(|request| {
        let file = template.home.join("request.json");
        std::fs::write(&file, request.to_string()).unwrap();
        file
    });
    Scenario { name, template, args: args.to_vec(), request, switched, threads: false }
}

fn state(workspace: &TestRepo) -> State {
    // The tree, not the commit: a commit has the time in it.
    let tree = |name: &str| {
        workspace.try_git(&["rev-parse", "--quiet", "--verify", &format!("{name}^{{tree}}")]).stdout
    };
    // An abandoned session's tip is at another ref; both count.
    let tip = Some(tree("refs/heads/edt/s"))
        .filter(|tip| !tip.is_empty())
        .unwrap_or_else(|| tree("refs/edt/s/abandoned"));
    let tip = [tip, tree("refs/heads/main")].concat();
    let (tip, head) =
        (String::from_utf8(tip).unwrap(), workspace.git(&["rev-parse", "--abbrev-ref", "HEAD"]));
    let kept = workspace.git(&["for-each-ref", "--format=%(refname)", "refs/edt/"]);
    let mut private = Snapshot::new();
    walk(&workspace.root.join(".git/edt/private"), "", &mut private);
    // Records of edits have a commit's name; only recovery reads others.
    private.retain(|name, _| {
        name.rsplit('/').next().is_some_and(|name| name.len() == 40 && !name.contains('.'))
    });
    State { files: workspace.files(), tip, head, status: workspace.status(), kept, private }
}

/// The template's copy at `dir`.
pub(crate) fn copy(scenario: &Scenario, dir: &Path) -> TestRepo {
    let _ = std::fs::remove_dir_all(dir);
    let made = scenario
        .template
        .command("cp")
        .arg("-a")
        .arg(&scenario.template.root)
        .arg(dir)
        .status()
        .unwrap();
    assert!(made.success());
    let workspace = scenario.template.at(dir);
    // A copy has other inodes: the index must have them, as in a repository that was not copied.
    workspace.git(&["update-index", "-q", "--refresh"]);
    workspace
}

/// Runs the scenario's command under strace with `options`; returns what strace wrote.
pub(crate) fn traced(
    scenario: &Scenario,
    workspace: &TestRepo,
    log: &Path,
    options: &[String],
) -> String {
    let mut command = workspace.command("strace");
    command.args(["-f", "-qq", "-o"]).arg(log).args(options).arg(EDT).args(&scenario.args);
    if let Some(request) = &scenario.request {
        command.arg("--request").arg(request);
    }
    // The same dates make the same objects, and so the same calls in every run.
    command
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000");
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    std::fs::read_to_string(log).unwrap()
}

/// Every write-like call of the undisturbed run, as its name and its number among those of that
/// name. `strace` counts the calls of each thread alone, so those of the threads that only sync
/// are left out.
pub(crate) fn points(trace: &str) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    let process = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let first = process(trace);
    let synced = trace.lines().filter(|line| line.contains("sync(")).map(process);
    let threads: BTreeSet<String> = synced.filter(|one| *one != first).collect();
    for line in trace.lines().filter(|line| !threads.contains(&process(line))) {
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
        let Some((name, rest)) = call.split_once('(') else { continue };
        if !CALLS.split(',').any(|known| known == name) {
            continue;
        }
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        let writes = name != "openat"
            || rest.contains("O_CREAT")
            || rest.contains("O_WRONLY")
            || rest.contains("O_RDWR");
        if writes {
            found.push((name.to_owned(), *count));
        }
    }
    found
}

/// Kills the scenario's command at every point, or at a few of them, and checks the state.
fn survives(scenario: &Scenario) {
    ends_well(scenario, "KILL");
}

/// Asks the scenario's command to end (`SIGTERM`) at every point, or at a few of them. It leaves no
/// lock to plain Git, whether edt is called again or not.
fn ends_when_asked(scenario: &Scenario) {
    ends_well(scenario, "TERM");
}

fn ends_well(scenario: &Scenario, signal: &str) {
    let progress = Progress::start();
    let dir = edt_testkit::tempdir().unwrap();
    let workspace = copy(scenario, &dir.path().join("whole"));
    let old = state(&workspace);
    let trace = traced(
        scenario,
        &workspace,
        &dir.path().join("trace"),
        &["-e".into(), format!("trace={CALLS}")],
    );
    let new = state(&workspace);
    assert_ne!(old, new, "{}: the command does something", scenario.name);
    let points = points(&trace);
    assert!(
        points.len() > 10,
        "{}: only {} points were found:\n{trace}",
        scenario.name,
        points.len()
    );
    let points = share(points, 5);

    let faults: Mutex<BTreeMap<String, Vec<String>>> = Mutex::default();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (faults, next, points, old, new, dir) =
                (&faults, &next, &points, &old, &new, dir.path());
            scope.spawn(move || {
                while let Some((call, number)) =
                    points.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let workspace = copy(scenario, &dir.join(format!("copy-{worker}")));
                    let log = dir.join(format!("log-{worker}"));
                    let inject = format!("inject={call}:signal={signal}:when={number}");
                    let trace = traced(
                        scenario,
                        &workspace,
                        &log,
                        &["-e".into(), format!("trace={call}"), "-e".into(), inject],
                    );
                    let locks = if signal == "TERM" { workspace.locks() } else { Vec::new() };
                    let mut found = after_the_kill(scenario, &workspace, old, new);
                    found.extend((!locks.is_empty()).then(|| format!("it left {locks:?}")));
                    if !trace.contains(&format!("killed by SIG{signal}")) && !scenario.threads {
                        found.push("it was not killed".to_owned());
                    }
                    let at = trace
                        .lines()
                        .rfind(|line| line.contains(&format!("{call}(")))
                        .unwrap_or_default();
                    let mut faults = faults.lock().unwrap();
                    for fault in found {
                        faults.entry(fault).or_default().push(format!(
                            "{call} {number}: {}",
                            at.chars().take(110).collect::<String>()
                        ));
                    }
                }
            });
        }
    });
    progress.done("crash", scenario.name, points.len());
    let faults = faults.into_inner().unwrap();
    let printed: Vec<String> = faults
        .iter()
        .map(|(fault, points)| format!("{fault}\n    {}", points.join("\n    ")))
        .collect();
    assert!(
        printed.is_empty(),
        "{}: {} kinds of faults at {} points:\n{}",
        scenario.name,
        printed.len(),
        points.len(),
        printed.join("\n")
    );
}

/// What is wrong after a kill.
fn after_the_kill(
    scenario: &Scenario,
    workspace: &TestRepo,
    old: &State,
    new: &State,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            faults.push(what);
        }
    };
    must(workspace.try_git(&["status"]).status.success(), "plain git status fails".into());
    let first = workspace.edt(&["status"]);
    must(first.exit == 0, format!("edt status: {}", first.json));
    let left = state(workspace);
    let whole = left == *old || left == *new;
    must(
        whole,
        format!(
            "neither old nor new: against the old {:?}, against the new {:?}, branch {}, HEAD {:?}, status {:?}, kept {:?}, private records against the new {:?}",
            changed(&old.files, &left.files),
            changed(&new.files, &left.files),
            if left.tip == old.tip { "old" } else { "new or other" },
            left.head,
            left.status,
            left.kept,
            changed(&new.private, &left.private),
        ),
    );
    if scenario.switched {
        must(left.status.is_empty(), format!("not clean: {:?}", left.status));
    }
    let second = workspace.edt(&["status"]);
    must(
        second.json["recovered"].is_null(),
        format!("the second status recovered again: {}", second.json["recovered"]),
    );
    let fsck = workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    must(
        fsck.status.success(),
        format!("git fsck: {}", String::from_utf8_lossy(&[fsck.stdout, fsck.stderr].concat())),
    );
    let log = |name: &&str| {
        std::fs::read_to_string(workspace.root.join(".git/logs").join(name)).unwrap_or_default()
    };
    let torn: Vec<&str> =
        ["HEAD", "refs/heads/edt/s"].into_iter().filter(|name| is_torn(&log(name))).collect();
    must(torn.is_empty(), format!("torn reflogs: {torn:?}"));
    let mut locks = workspace.locks();
    // The next landing makes the Git directory for hooks again.
    locks.retain(|lock| !lock.starts_with("edt/main/land/"));
    must(locks.is_empty(), format!("locks left, which block what comes next: {locks:?}"));
    if !locks.is_empty() {
        // Waiting for each of them would take minutes.
        return faults;
    }
    let more = workspace.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    must(more.exit == 0, format!("a further apply: {:?}", more.codes()));
    must(workspace.text("z.txt") == "z\nmore\n", "the further apply is not on disk".into());
    if scenario.switched {
        must(
            workspace.status().is_empty(),
            format!("not clean after the further apply: {:?}", workspace.status()),
        );
    }
    faults
}

/// Whether a reflog has an incomplete line.
pub(crate) fn is_torn(log: &str) -> bool {
    let whole = |line: &str| {
        let oids: Vec<&str> = line.split(' ').take(2).collect();
        line.contains(" <")
            && line.contains("> ")
            && line.contains('\t')
            && oids.iter().all(|oid| oid.len() == 40)
    };
    !log.is_empty() && (!log.ends_with('\n') || !log.lines().all(whole))
}

#[test]
fn a_torn_reflog_would_be_noticed() {
    let line = format!("{0} {0} A <a@b> 1 +0000\twhy\n", "0".repeat(40));
    assert!(!is_torn(&line.repeat(2)) && !is_torn(""));
    assert!(is_torn(&format!("{line}{}", &line[..50])));
    assert!(is_torn(&format!("{}{line}", &line[..50])));
}

pub(crate) fn several() -> serde_json::Value {
    json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "three\n"},
        {"path": "new/d.txt", "mode": "create", "content": "d\n"},
        {"path": "b.txt", "mode": "delete"},
        {"path": "dir/c.txt", "mode": "rename", "to": "dir/e.txt"},
    ]})
}

pub(crate) const EDIT: &[&str] =
    &["apply", "a.txt", "--mode", "edit", "--old-text", "two", "--content", "three"];

#[test]
fn one_edit_with_head_on_the_session() {
    if has_strace() {
        survives(&scenario("edit, switched", true, EDIT, None));
    }
}

/// The main worktree on `main`, and a session in a linked one.
fn session_in_a_linked_worktree() -> (TestRepo, TestRepo) {
    let main = TestRepo::with(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    let place = main.root.with_file_name("linked");
    main.edt(&["begin", "s", "--worktree", place.to_str().unwrap()]).landed();
    let linked = main.at(&place);
    linked.overwrite("a.txt", "two\n");
    (main, linked)
}

/// The landing changes the main worktree, where nobody calls edt. The agent's next call, in its own
/// worktree, finishes it or rolls it back.
#[test]
fn a_landing_into_another_worktree() {
    if !has_strace() {
        return;
    }
    let progress = Progress::start();
    let run = |linked: &TestRepo, options: &[&str]| {
        let log = linked.home.join("trace");
        let mut command = linked.command("strace");
        command.args(["-f", "-qq", "-o"]).arg(&log).args(options).args([EDT, "land"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        std::fs::read_to_string(log).unwrap()
    };
    let (main, linked) = session_in_a_linked_worktree();
    let trace = run(&linked, &["-e", &format!("trace={CALLS}")]);
    assert_eq!((main.text("a.txt").as_str(), main.status().as_str()), ("two\n", ""));
    let points = share(points(&trace), 12);
    for (call, number) in &points {
        let (main, linked) = session_in_a_linked_worktree();
        let before = main.rev("main");
        let inject = format!("inject={call}:signal=KILL:when={number}");
        let trace = run(&linked, &["-e", &format!("trace={call}"), "-e", &inject]);
        let at = format!("{call} {number}: {}", trace.lines().last().unwrap_or_default());
        let answer = linked.edt(&["status"]);
        assert_eq!(answer.exit, 0, "{at}: {:#}", answer.json);
        assert_eq!(main.locks(), Vec::<String>::new(), "{at}");
        let text = if main.rev("main") == before { "one\n" } else { "two\n" };
        let found = (main.text("a.txt"), main.status());
        assert_eq!(found, (text.to_owned(), String::new()), "{at}");
        main.is_sound();
        if text == "one\n" {
            linked.edt(&["land"]).landed();
        }
    }
    progress.done("crash", "landing into another worktree", points.len());
}

#[test]
fn calls_that_are_asked_to_end() {
    if !has_strace() {
        return;
    }
    ends_when_asked(&scenario("terminated edit", true, &["apply"], Some(several())));
    ends_when_asked(&scenario("terminated undo", true, &["undo"], None));
    ends_when_asked(&scenario("terminated landing", true, &["land"], None));
    ends_when_asked(&scenario("terminated, without switching", false, &["abandon"], None));
}

#[test]
fn one_edit_without_switching() {
    if has_strace() {
        survives(&scenario("edit, without switching", false, EDIT, None));
    }
}

#[test]
fn several_files_with_head_on_the_session() {
    if has_strace() {
        survives(&scenario("several, switched", true, &["apply"], Some(several())));
    }
}

#[test]
fn several_files_without_switching() {
    if has_strace() {
        survives(&scenario("several, without switching", false, &["apply"], Some(several())));
    }
}

#[test]
fn undo_with_head_on_the_session() {
    if has_strace() {
        survives(&scenario("undo, switched", true, &["undo"], None));
    }
}

#[test]
fn undo_without_switching() {
    if has_strace() {
        survives(&scenario("undo, without switching", false, &["undo"], None));
    }
}

#[test]
fn an_edit_that_records_user_changes_first() {
    if !has_strace() {
        return;
    }
    let scenario = scenario(
        "checkpoint, switched",
        true,
        &["apply", "b.txt", "--mode", "append", "--content", "more\n"],
        None,
    );
    scenario.template.write("b.txt", "a user's\n");
    // It begins with an uncommitted file, so "clean" cannot be asked for; the old and the new state
    // can.
    survives(&Scenario { switched: false, ..scenario });
}

#[test]
fn redo_with_head_on_the_session() {
    if has_strace() {
        let scenario = scenario("redo, switched", true, &["redo"], None);
        scenario.template.edt(&["undo"]).landed();
        survives(&scenario);
    }
}

const EDIT_BETWEEN: &[&str] = &[
    "apply",
    "long.txt",
    "--mode",
    "edit",
    "--old-text",
    "line 2 of a text",
    "--content",
    "an agent's",
];

/// The user changed line 12 of `long.txt`; after the `edits`, line 17.
fn dirty(name: &'static str, args: &[&'static str], edits: &[&[&str]]) -> Scenario {
    let scenario = scenario(name, true, args, None);
    let workspace = &scenario.template;
    workspace.write("long.txt", lines(20).replace("line 12 of", "a user's line 12 of"));
    for edit in edits {
        workspace.edt(edit).landed();
    }
    let later = workspace.text("long.txt").replace("line 17 of", "a later line 17 of");
    workspace.write("long.txt", later);
    Scenario { switched: false, threads: true, ..scenario }
}

#[test]
fn files_with_uncommitted_lines_of_the_user() {
    if has_strace() {
        survives(&dirty("dirty edit", EDIT_BETWEEN, &[]));
        survives(&dirty("dirty undo", &["undo"], &[EDIT_BETWEEN]));
        survives(&dirty("dirty revert", &["revert", "2"], &[EDIT_BETWEEN, EDIT]));
        survives(&dirty("dirty landing", &["land"], &[EDIT_BETWEEN]));
        survives(&dirty("dirty abandon", &["abandon"], &[EDIT_BETWEEN]));
    }
}

/// A session with an ignored file, in a repository in which programs may run.
fn ignored(name: &'static str, args: &[&'static str]) -> Scenario {
    let scenario = scenario(name, true, args, None);
    let workspace = &scenario.template;
    workspace.write(".git/info/exclude", ".env\n");
    workspace.write(".env", "secret=1\n");
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    let policy = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\n";
    std::fs::write(directory.join("edt.toml"), policy).unwrap();
    scenario
}

const APPEND_TO_IGNORED: &[&str] = &["apply", ".env", "--mode", "append", "--content", "more=1\n"];

#[test]
fn an_ignored_file() {
    if has_strace() {
        survives(&ignored("ignored edit", APPEND_TO_IGNORED));
        let undo = ignored("ignored undo", &["undo"]);
        undo.template.edt(APPEND_TO_IGNORED).landed();
        survives(&undo);
    }
}

/// The scenario with files that Git converts: the journal's bytes on disk are not those of the
/// trees.
fn converted(scenario: Scenario) -> Scenario {
    let attributes = "a.txt text eol=crlf\nb.txt ident\nnew/* text eol=crlf\ndir/*.txt text working-tree-encoding=UTF-16LE-BOM\n";
    let workspace = &scenario.template;
    std::fs::create_dir_all(workspace.root.join(".git/info")).unwrap();
    std::fs::write(workspace.root.join(".git/info/attributes"), attributes).unwrap();
    ["a.txt", "b.txt", "dir/c.txt"]
        .into_iter()
        .for_each(|path| std::fs::remove_file(workspace.root.join(path)).unwrap());
    workspace.git(&["checkout", "--quiet", "--", "."]);
    assert_eq!(
        (workspace.text("a.txt").as_str(), workspace.read("dir/c.txt").len()),
        ("two\r\n", 6)
    );
    scenario
}

#[test]
fn files_that_git_converts() {
    if has_strace() {
        survives(&converted(scenario("converted", true, &["apply"], Some(several()))));
    }
}

#[test]
fn undo_and_redo_of_files_that_git_converts() {
    if has_strace() {
        let undo = converted(scenario("undo, converted", true, &["undo"], None));
        undo.template.apply(&several()).landed();
        survives(&undo);
        undo.template.edt(&["undo"]).landed();
        survives(&Scenario { name: "redo, converted", args: vec!["redo"], ..undo });
    }
}

#[test]
fn a_landing() {
    if has_strace() {
        survives(&scenario("land, switched", true, &["land"], None));
    }
}

#[test]
fn a_landing_without_switching() {
    if has_strace() {
        survives(&scenario("land, without switching", false, &["land"], None));
    }
}

#[test]
fn a_landing_on_a_branch_that_moved() {
    if has_strace() {
        let scenario = scenario("land, merged", true, &["land"], None);
        scenario.template.git(&["switch", "--quiet", "main"]);
        scenario.template.commit(&[("b.txt", b"moved\n")]);
        scenario.template.git(&["switch", "--quiet", "edt/s"]);
        survives(&scenario);
    }
}

#[test]
fn an_abandoned_session() {
    if has_strace() {
        survives(&scenario("abandon, switched", true, &["abandon"], None));
    }
}

#[test]
fn an_abandoned_session_with_unrecorded_user_changes() {
    if has_strace() {
        let scenario = scenario("abandon, recorded", true, &["abandon"], None);
        scenario.template.write("b.txt", "a user's\n");
        survives(&Scenario { switched: false, ..scenario });
    }
}

#[test]
fn an_abandoned_session_that_began_on_a_detached_head() {
    if has_strace() {
        let template = TestRepo::with(&[
            ("a.txt", b"one\n"),
            ("b.txt", b"b\n"),
            ("dir/c.txt", b"c\n"),
            ("z.txt", b"z\n"),
        ]);
        template.git(&["switch", "--quiet", "--detach"]);
        template.edt(&["begin", "s"]).landed();
        template.overwrite("a.txt", "two\n");
        let (name, args) = ("abandon, detached", vec!["abandon"]);
        survives(&Scenario { name, template, args, request: None, switched: true, threads: false });
    }
}

/// Regression: the earlier tip was moved away before the journal recorded anything.
#[test]
fn a_session_that_is_abandoned_a_second_time() {
    if !has_strace() {
        return;
    }
    for (name, switched) in [("abandon, again", true), ("abandon, again, without switching", false)]
    {
        let scenario = scenario(name, switched, &["abandon"], None);
        let workspace = &scenario.template;
        workspace.git(&["update-ref", "refs/edt/s/abandoned", &workspace.rev("main")]);
        survives(&scenario);
    }
}

#[test]
fn a_requested_checkpoint() {
    if has_strace() {
        let scenario = scenario("checkpoint, asked", true, &["checkpoint"], None);
        scenario.template.write("b.txt", "a user's\n");
        scenario.template.write("new.txt", "new\n");
        survives(&Scenario { switched: false, threads: true, ..scenario });
    }
}

#[test]
fn the_beginning_of_a_session() {
    if has_strace() {
        let template = TestRepo::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
        survives(&Scenario {
            name: "begin",
            template,
            args: vec!["begin", "s"],
            request: None,
            switched: true,
            threads: false,
        });
    }
}

#[test]
fn a_rename_of_a_file_with_unrecorded_user_changes() {
    if !has_strace() {
        return;
    }
    let scenario = scenario(
        "rename, without switching",
        false,
        &["apply", "dir/c.txt", "--mode", "rename", "--to", "dir/e.txt"],
        None,
    );
    scenario.template.write("dir/c.txt", "a user's\n");
    survives(&scenario);
}

#[test]
fn four_processes_record_a_hundred_edits_of_their_own_files() {
    let files: Vec<(String, &[u8])> =
        (0..4).map(|n| (format!("f{n}.txt"), b"start\n".as_slice())).collect();
    let each = 25;
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    let workspace = TestRepo::with(&files);
    workspace.edt(&["begin", "s"]).landed();
    std::thread::scope(|scope| {
        for (path, _) in &files {
            let workspace = &workspace;
            scope.spawn(move || {
                for n in 0..each {
                    let text = format!("edit {n}\n");
                    workspace
                        .edt(&[
                            "--wait",
                            "60",
                            "apply",
                            path,
                            "--mode",
                            "append",
                            "--content",
                            &text,
                        ])
                        .landed();
                }
            });
        }
    });
    let whole: String = std::iter::once("start\n".to_owned())
        .chain((0..each).map(|n| format!("edit {n}\n")))
        .collect();
    files.iter().for_each(|(path, _)| assert_eq!(workspace.text(path), whole, "{path}"));
    let log = workspace.git(&["log", "--format=%x00", "--name-only", "main..edt/s"]);
    let commits: Vec<Vec<&str>> =
        log.split('\0').skip(1).map(|commit| commit.split_whitespace().collect()).collect();
    assert_eq!(
        (commits.len(), commits.iter().filter(|files| files.len() == 1).count()),
        (4 * each, 4 * each)
    );
    workspace.is_clean();
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}

fn eight_files() -> serde_json::Value {
    let paths = [
        "a.txt",
        "b.txt",
        "dir/c.txt",
        "1.txt",
        "2.txt",
        "new/3.txt",
        "new/4.txt",
        "new/deep/5.txt",
    ];
    let mode = |n| if n < 3 { "append" } else { "create" };
    let edit = |(n, path): (usize, &&str)| json!({"path": path, "mode": mode(n), "content": format!("{path}\n")});
    json!({"edits": paths.iter().enumerate().map(edit).collect::<Vec<_>>()})
}

fn both(names: [&'static str; 2], args: &[&'static str], request: Option<&serde_json::Value>) {
    if has_strace() {
        survives(&scenario(names[0], true, args, request.cloned()));
        survives(&scenario(names[1], false, args, request.cloned()));
    }
}

#[test]
fn eight_files_in_one_edit() {
    both(["8 files, switched", "8 files, without switching"], &["apply"], Some(&eight_files()));
}

#[test]
fn a_deletion() {
    both(
        ["delete, switched", "delete, without switching"],
        &["apply", "dir/c.txt", "--mode", "delete"],
        None,
    );
}

#[test]
fn a_rename() {
    let args = &["apply", "dir/c.txt", "--mode", "rename", "--to", "far/e.txt"];
    both(["rename alone, switched", "rename alone, without switching"], args, None);
}

#[test]
fn an_executable_file() {
    let request =
        json!({"path": "bin/run", "mode": "create", "content": "#!/bin/sh\n", "executable": true});
    both(["executable, switched", "executable, without switching"], &["apply"], Some(&request));
}

#[test]
fn a_restored_file() {
    both(["restore, switched", "restore, without switching"], &["restore", "a.txt"], None);
}

#[test]
fn redo_without_switching() {
    if has_strace() {
        let scenario = scenario("redo, without switching", false, &["redo"], None);
        scenario.template.edt(&["undo"]).landed();
        survives(&scenario);
    }
}

#[test]
fn a_checkpoint_without_switching() {
    if has_strace() {
        let scenario = scenario("checkpoint, without switching", false, &["checkpoint"], None);
        scenario.template.write("b.txt", "a user's\n");
        survives(&Scenario { threads: true, ..scenario });
    }
}

#[test]
fn an_abandoned_session_without_switching() {
    if has_strace() {
        survives(&scenario("abandon, without switching", false, &["abandon"], None));
    }
}

#[test]
fn the_beginning_of_a_session_without_switching() {
    if has_strace() {
        survives(&beginning("begin, without switching", &["begin", "s", "--no-switch"], false));
    }
}

fn beginning(name: &'static str, args: &[&'static str], switched: bool) -> Scenario {
    let template = TestRepo::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    Scenario { name, template, args: args.to_vec(), request: None, switched, threads: false }
}

// --- commands that start Git ----------------------------------------------------------------------------------------------

/// Those of [`CALLS`] that are counted over all processes of the command: `openat` is mostly
/// reading.
const TREE_CALLS: &str = "write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fdatasync,fsync,fchmod,fchmodat,ftruncate";

/// Runs the scenario's command; the group of its processes is killed after `limit` calls. Returns
/// how many there were.
fn killed_after(scenario: &Scenario, workspace: &TestRepo, limit: usize) -> usize {
    use std::io::BufRead as _;
    use std::os::unix::process::CommandExt as _;
    let mut command = workspace.command("strace");
    command.args([
        "-f",
        "-qq",
        "-o",
        "|exec cat",
        "-e",
        &format!("trace={TREE_CALLS}"),
        "-e",
        "signal=none",
    ]);
    command.args(["-e", &format!("inject={TREE_CALLS}:delay_enter=4000")]);
    command.arg(EDT).args(&scenario.args).process_group(0);
    command
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut made = 0;
    let lines = std::io::BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(std::result::Result::ok);
    // What the command itself answers comes through the same pipe.
    for _ in lines.filter(|line| line.contains("(DELAYED)") && !line.contains("resumed>")) {
        made += 1;
        if made == limit {
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&child),
                rustix::process::Signal::KILL,
            );
        }
    }
    child.wait().unwrap();
    made
}

/// Kills the scenario's command with all its processes at a few points; `judge` returns what is
/// wrong then.
fn the_tree_survives(
    scenario: &Scenario,
    judge: impl Fn(&TestRepo, &State, &State) -> Vec<String>,
) {
    let progress = Progress::start();
    let dir = edt_testkit::tempdir().unwrap();
    let workspace = copy(scenario, &dir.path().join("repo"));
    let old = state(&workspace);
    let made = killed_after(scenario, &workspace, usize::MAX);
    let new = state(&workspace);
    assert!(made > 20, "{}: only {made} calls", scenario.name);
    let (mut faults, mut killed) = (Vec::new(), 0);
    for limit in share((1..made).collect(), 5) {
        let _ = std::fs::remove_dir_all(dir.path().join("beside"));
        let workspace = copy(scenario, &dir.path().join("repo"));
        killed += usize::from(killed_after(scenario, &workspace, limit) < made);
        faults.extend(
            judge(&workspace, &old, &new)
                .into_iter()
                .map(|fault| format!("after {limit} calls: {fault}")),
        );
    }
    progress.done("crash", scenario.name, killed);
    assert!(
        killed > 0 && faults.is_empty(),
        "{}: {killed} killed\n{}",
        scenario.name,
        faults.join("\n")
    );
}

/// What must hold whatever Git was doing: Git works, edt works, a second recovery does nothing,
/// nothing is unsound.
fn works_on(workspace: &TestRepo) -> Vec<String> {
    let mut faults = Vec::new();
    let status = workspace.try_git(&["status"]);
    let fsck = workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    let (first, second) = (workspace.edt(&["status"]), workspace.edt(&["status"]));
    let more = workspace.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    faults.extend((!status.status.success()).then(|| "plain git status fails".to_owned()));
    // What `git worktree add` left half made when it died is Git's own: `git worktree remove
    // --force` takes it away.
    let said = String::from_utf8_lossy(&[fsck.stdout, fsck.stderr].concat()).into_owned();
    let mut errors = said
        .lines()
        .filter(|line| !line.contains("worktrees/beside/HEAD") && line.contains("error"));
    faults.extend(errors.next().map(|error| format!("git fsck: {error}")));
    faults.extend((first.exit != 0).then(|| format!("edt status: {}", first.json)));
    faults.extend(
        (!second.json["recovered"].is_null())
            .then(|| format!("recovered again: {}", second.json["recovered"])),
    );
    faults.extend((more.exit != 0).then(|| format!("a further apply: {:?}", more.codes())));
    faults
}

/// A session that was to have a worktree of its own may have none, or one that Git did not fill
/// yet: both are seen by `edt status` and `git worktree list`. The worktree that it was called in
/// stays as it was.
#[test]
fn the_beginning_of_a_session_in_its_own_worktree() {
    if has_strace() {
        let scenario =
            beginning("begin, elsewhere", &["begin", "s", "--worktree", "../beside"], false);
        the_tree_survives(&scenario, |workspace, old, _| {
            let left = state(workspace);
            let mut faults = works_on(workspace);
            let here =
                (&left.files, &left.head, &left.status) == (&old.files, &old.head, &old.status);
            faults.extend(
                (!here).then(|| format!("this worktree: {:?}", changed(&old.files, &left.files))),
            );
            faults
        });
    }
}

/// The file is on disk, `edt undo` writes it again, or the next call names its copy.
#[test]
fn a_program_that_removes_an_ignored_file() {
    if has_strace() {
        let scenario = ignored("run, ignored", &["run", "--", "rm", ".env"]);
        the_tree_survives(&scenario, |workspace, _, _| {
            // The program ends a moment after edt.
            std::thread::sleep(std::time::Duration::from_millis(300));
            let next = workspace.runs(&[], &["true"]);
            let mut faults = Vec::new();
            faults.extend((next.exit != 0).then(|| format!("edt run: {}", next.json)));
            let copy = ".git/edt/main/kept/1/.env";
            if workspace.exists(copy) {
                let warning = next.json["warnings"][0]["message"].as_str().unwrap_or_default();
                faults.extend(
                    (!warning.contains("kept/1/.env")).then(|| "no call names the copy".to_owned()),
                );
                std::fs::copy(workspace.root.join(copy), workspace.root.join(".env")).unwrap();
            } else if !workspace.exists(".env") {
                let undo = workspace.edt(&["undo"]);
                faults.extend((undo.exit != 0).then(|| format!("edt undo: {}", undo.json)));
            }
            let back = std::fs::read(workspace.root.join(".env")).unwrap_or_default();
            faults.extend((back != b"secret=1\n").then(|| "the ignored file is lost".to_owned()));
            faults.extend(works_on(workspace));
            faults
        });
    }
}

/// What it removed stays removed; all that is to stay stays.
#[test]
fn housekeeping() {
    if has_strace() {
        let scenario = scenario("gc", true, &["gc", "--older-than", "0"], None);
        scenario.template.edt(&["abandon"]).landed();
        scenario.template.edt(&["begin", "t"]).landed();
        the_tree_survives(&scenario, |workspace, old, _| {
            let left = state(workspace);
            let mut faults = works_on(workspace);
            let same =
                (&left.files, &left.head, &left.status) == (&old.files, &old.head, &old.status);
            faults.extend(
                (!same).then(|| format!("the worktree: {:?}", changed(&old.files, &left.files))),
            );
            faults
        });
    }
}

/// Git's hooks run for a landing: they are killed with it.
#[test]
fn a_landing_that_hooks_judge() {
    if has_strace() {
        let scenario = scenario("land, hooks", true, &["land"], None);
        let hook = scenario.template.root.join(".git/hooks/pre-commit");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        the_tree_survives(&scenario, |workspace, old, new| {
            after_the_kill(&scenario, workspace, old, new)
        });
    }
}

// --- errors ---------------------------------------------------------------------------------------------------------------

/// Lets every point of the scenario's command fail with every error, once and forever, and checks
/// answer and state.
fn fails_well(scenario: &Scenario, count: usize) {
    let progress = Progress::start();
    let dir = edt_testkit::tempdir().unwrap();
    let workspace = copy(scenario, &dir.path().join("repo"));
    let old = state(&workspace);
    let trace = traced(
        scenario,
        &workspace,
        &dir.path().join("trace"),
        &["-e".into(), format!("trace={CALLS}")],
    );
    let new = state(&workspace);
    let mut all: Vec<(String, usize, String)> = Vec::new();
    for (call, number) in points(&trace) {
        for error in ["ENOSPC", "EIO", "EINTR"] {
            // An interrupted call is repeated; one that is interrupted forever is no case. Nor is a
            // system on which no file can be opened.
            let stays = error != "EINTR" && call != "openat";
            let ways = [Some(""), stays.then_some("+")];
            all.extend(
                ways.into_iter()
                    .flatten()
                    .map(|way| (call.clone(), number, format!("{error}:when={number}{way}"))),
            );
        }
    }
    let tried = share(all, count);
    let mut faults = Vec::new();
    for (call, number, how) in &tried {
        let workspace = copy(scenario, &dir.path().join("repo"));
        let inject = format!("inject={call}:error={how}");
        for fault in after_the_error(scenario, &workspace, &inject, dir.path(), &old, &new) {
            faults.push(format!("{call} {number} {how}: {fault}"));
        }
    }
    progress.done("crash, errors", scenario.name, tried.len());
    assert!(
        faults.is_empty(),
        "{}: {} of {} errors:\n{}",
        scenario.name,
        faults.len(),
        tried.len(),
        faults.join("\n")
    );
}

fn after_the_error(
    scenario: &Scenario,
    workspace: &TestRepo,
    inject: &str,
    dir: &Path,
    old: &State,
    new: &State,
) -> Vec<String> {
    let log = dir.join("log");
    let mut command = workspace.command("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log).args([
        "-e",
        "signal=none",
        "-e",
        &format!("trace={CALLS}"),
        "-e",
        inject,
    ]);
    command.arg(EDT).args(&scenario.args).arg("--json");
    if let Some(request) = &scenario.request {
        command.arg("--request").arg(request);
    }
    command
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000");
    let done = command.output().unwrap();
    let trace = std::fs::read_to_string(&log).unwrap();
    let mute = trace.lines().any(|line| line.contains("write(1,") && line.contains("(INJECTED)"));
    let answer: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
    let codes: Vec<&str> = answer["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|error| error["code"].as_str())
        .collect();
    let mut faults = Vec::new();
    match done.status.code() {
        Some(0..=5) if mute => {}
        Some(0) if answer["status"] == "applied" => {}
        Some(1..=5) if !codes.is_empty() && !codes.contains(&"INTERNAL") => {}
        code => faults
            .push(format!("exit {code:?}, {codes:?}: {}", String::from_utf8_lossy(&done.stderr))),
    }
    faults.extend(after_the_kill(scenario, workspace, old, new));
    // The further edit of that look has no part in this one.
    let left = State { files: workspace.files(), ..old.clone() };
    let is_old = left
        .files
        .iter()
        .filter(|(path, _)| *path != "z.txt")
        .eq(old.files.iter().filter(|(path, _)| *path != "z.txt"));
    let is_new = left
        .files
        .iter()
        .filter(|(path, _)| *path != "z.txt")
        .eq(new.files.iter().filter(|(path, _)| *path != "z.txt"));
    let printed = answer["status"].as_str().unwrap_or_default();
    faults.extend((printed == "applied" && !is_new).then(|| "applied, and not new".to_owned()));
    faults.extend((!codes.is_empty() && !is_old).then(|| format!("{codes:?}, and not old")));
    faults
}

#[test]
fn errors_from_outside() {
    if has_strace() {
        fails_well(&scenario("edit, switched", true, EDIT, None), 14);
        fails_well(&scenario("edit, without switching", false, EDIT, None), 8);
        fails_well(&scenario("several, switched", true, &["apply"], Some(several())), 14);
        fails_well(&scenario("undo, switched", true, &["undo"], None), 8);
    }
}

#[test]
fn errors_from_outside_as_a_session_begins_and_ends() {
    if has_strace() {
        fails_well(&scenario("land, switched", true, &["land"], None), 10);
        fails_well(&scenario("land, without switching", false, &["land"], None), 6);
        fails_well(&scenario("abandon, switched", true, &["abandon"], None), 10);
        fails_well(&beginning("begin", &["begin", "s"], true), 10);
    }
}
