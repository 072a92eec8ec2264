//! A kill at every system call that writes: the next call finds the old state or the new one, whole. Then an error at every such call,
//! once or for good: a coded answer, the old state; or success, and the new one.
//!
//! `strace` counts calls by thread and name. A command that starts Git is killed by what is counted over all its processes: each call is
//! held up for a moment, and the group ends as soon as the line of the one before is there. By default the later scenarios take a fixed
//! share of their points; `EDT_FAULTS=all` takes all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;

use serde_json::json;

use crate::world::{EDT, Snapshot, World, changed};

/// System calls that change something outside the process.
const CALLS: &str = "openat,write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fdatasync,fsync,fchmod,fchmodat,ftruncate";

/// A prepared repository and the command that is killed in it.
struct Scenario {
    name: &'static str,
    template: World,
    args: Vec<&'static str>,
    request: Option<PathBuf>,
    /// HEAD is on the session's branch.
    switched: bool,
    /// Threads read the worktree, so that a call counted by thread may come or not.
    threads: bool,
}

/// What a kill may leave: files, branch tip, what Git says is uncommitted.
#[derive(Debug, Clone, PartialEq)]
struct State {
    files: Snapshot,
    tip: String,
    head: String,
    status: String,
    /// The names of the refs that edt keeps beside the branch.
    kept: String,
}

fn template(switched: bool) -> World {
    let world = World::with(&[
        ("a.txt", b"one\n"),
        ("b.txt", b"b\n"),
        ("dir/c.txt", b"c\n"),
        ("z.txt", b"z\n"),
    ]);
    let begin: &[&str] = if switched { &["begin", "s"] } else { &["begin", "s", "--no-switch"] };
    world.edt(begin).landed();
    world.overwrite("a.txt", "two\n");
    world
}

fn scenario(
    name: &'static str,
    switched: bool,
    args: &[&'static str],
    request: Option<serde_json::Value>,
) -> Scenario {
    let template = template(switched);
    let request = request.map(|request| {
        let file = template.home.join("request.json");
        std::fs::write(&file, request.to_string()).unwrap();
        file
    });
    Scenario { name, template, args: args.to_vec(), request, switched, threads: false }
}

fn state(world: &World) -> State {
    // The tree, not the commit: a commit has the time in it.
    let tree = |name: &str| {
        world.try_git(&["rev-parse", "--quiet", "--verify", &format!("{name}^{{tree}}")]).stdout
    };
    // An abandoned session's tip is kept elsewhere; which of the two it is, is no matter.
    let tip = Some(tree("refs/heads/edt/s"))
        .filter(|tip| !tip.is_empty())
        .unwrap_or_else(|| tree("refs/edt/s/abandoned"));
    let tip = [tip, tree("refs/heads/main")].concat();
    let (tip, head) =
        (String::from_utf8(tip).unwrap(), world.git(&["rev-parse", "--abbrev-ref", "HEAD"]));
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/edt/"]);
    State { files: world.files(), tip, head, status: world.status(), kept }
}

/// The template's copy at `dir`.
fn copy(scenario: &Scenario, dir: &Path) -> World {
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
    let world = scenario.template.at(dir);
    // A copy has other inodes: the index must know them, as it does in a repository that nobody copied.
    world.git(&["update-index", "-q", "--refresh"]);
    world
}

/// Runs the scenario's command under strace with `options`; returns what strace wrote.
fn traced(scenario: &Scenario, world: &World, log: &Path, options: &[String]) -> String {
    let mut command = world.command("strace");
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

/// Every write-like call of the undisturbed run, as its name and its number among those of that name.
fn points(trace: &str) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for line in trace.lines() {
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

/// A fixed share of `points`, some `count` of them; all, if that is asked for.
fn share<T>(points: Vec<T>, count: usize) -> Vec<T> {
    if std::env::var("EDT_FAULTS").is_ok_and(|value| value == "all") {
        return points;
    }
    let (step, first) = (points.len().div_ceil(count), points.len() % 3);
    points.into_iter().skip(first).step_by(step.max(1)).collect()
}

/// Kills the scenario's command at every point and checks what is left.
fn survives(scenario: &Scenario) {
    survives_at(scenario, usize::MAX);
}

/// The same at some `count` points.
fn survives_at(scenario: &Scenario, count: usize) {
    let dir = tempfile::tempdir().unwrap();
    let world = copy(scenario, &dir.path().join("whole"));
    let old = state(&world);
    let trace = traced(
        scenario,
        &world,
        &dir.path().join("trace"),
        &["-e".into(), format!("trace={CALLS}")],
    );
    let new = state(&world);
    assert_ne!(old, new, "{}: the command does something", scenario.name);
    let points = points(&trace);
    assert!(
        points.len() > 10,
        "{}: only {} points were found:\n{trace}",
        scenario.name,
        points.len()
    );
    let points = share(points, count);

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
                    let world = copy(scenario, &dir.join(format!("copy-{worker}")));
                    let log = dir.join(format!("log-{worker}"));
                    let inject = format!("inject={call}:signal=KILL:when={number}");
                    let trace = traced(
                        scenario,
                        &world,
                        &log,
                        &["-e".into(), format!("trace={call}"), "-e".into(), inject],
                    );
                    let mut found = after_the_kill(scenario, &world, old, new);
                    if !trace.contains("killed by SIGKILL") && !scenario.threads {
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
    println!("{}: {} points", scenario.name, points.len());
    let faults = faults.into_inner().unwrap();
    let told: Vec<String> = faults
        .iter()
        .map(|(fault, points)| format!("{fault}\n    {}", points.join("\n    ")))
        .collect();
    assert!(
        told.is_empty(),
        "{}: {} kinds of faults at {} points:\n{}",
        scenario.name,
        told.len(),
        points.len(),
        told.join("\n")
    );
}

/// What is wrong after a kill.
fn after_the_kill(scenario: &Scenario, world: &World, old: &State, new: &State) -> Vec<String> {
    let mut faults = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            faults.push(what);
        }
    };
    must(world.try_git(&["status"]).status.success(), "plain git status fails".into());
    let first = world.edt(&["status"]);
    must(first.exit == 0, format!("edt status: {}", first.json));
    let left = state(world);
    let whole = left == *old || left == *new;
    must(
        whole,
        format!(
            "neither old nor new: against the old {:?}, against the new {:?}, branch {}, HEAD {:?}, status {:?}, kept {:?}",
            changed(&old.files, &left.files),
            changed(&new.files, &left.files),
            if left.tip == old.tip { "old" } else { "new or other" },
            left.head,
            left.status,
            left.kept,
        ),
    );
    if scenario.switched {
        must(left.status.is_empty(), format!("not clean: {:?}", left.status));
    }
    let second = world.edt(&["status"]);
    must(
        second.json["settled"].is_null(),
        format!("the second status settled again: {}", second.json["settled"]),
    );
    let fsck = world.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    must(
        fsck.status.success(),
        format!("git fsck: {}", String::from_utf8_lossy(&[fsck.stdout, fsck.stderr].concat())),
    );
    let log = |name: &&str| {
        std::fs::read_to_string(world.root.join(".git/logs").join(name)).unwrap_or_default()
    };
    let torn: Vec<&str> =
        ["HEAD", "refs/heads/edt/s"].into_iter().filter(|name| is_torn(&log(name))).collect();
    must(torn.is_empty(), format!("torn reflogs: {torn:?}"));
    let mut locks = world.locks();
    // The Git folder that hooks saw is made anew by the next landing.
    locks.retain(|lock| !lock.starts_with("edt/main/land/"));
    must(locks.is_empty(), format!("locks left, which block what comes next: {locks:?}"));
    if !locks.is_empty() {
        // Waiting for each of them would take minutes.
        return faults;
    }
    let more = world.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    must(more.exit == 0, format!("a further apply: {:?}", more.codes()));
    must(world.text("z.txt") == "z\nmore\n", "the further apply is not on disk".into());
    if scenario.switched {
        must(
            world.status().is_empty(),
            format!("not clean after the further apply: {:?}", world.status()),
        );
    }
    faults
}

/// Whether a reflog has a line that is not whole.
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

pub(crate) fn has_strace() -> bool {
    let there = std::process::Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let there = there.is_ok_and(|status| status.success());
    if !there {
        println!("skipped: strace is not installed");
    }
    there
}

fn several() -> serde_json::Value {
    json!({"edits": [
        {"path": "a.txt", "mode": "append", "content": "three\n"},
        {"path": "new/d.txt", "mode": "create", "content": "d\n"},
        {"path": "b.txt", "mode": "delete"},
        {"path": "dir/c.txt", "mode": "rename", "to": "dir/e.txt"},
    ]})
}

const EDIT: &[&str] =
    &["apply", "a.txt", "--mode", "edit", "--old-text", "two", "--content", "three"];

#[test]
fn one_edit_with_head_on_the_session() {
    if has_strace() {
        survives(&scenario("edit, switched", true, EDIT, None));
    }
}

#[test]
fn one_edit_beside_head() {
    if has_strace() {
        survives(&scenario("edit, beside", false, EDIT, None));
    }
}

#[test]
fn several_files_with_head_on_the_session() {
    if has_strace() {
        survives(&scenario("several, switched", true, &["apply"], Some(several())));
    }
}

#[test]
fn several_files_beside_head() {
    if has_strace() {
        survives(&scenario("several, beside", false, &["apply"], Some(several())));
    }
}

#[test]
fn undo_with_head_on_the_session() {
    if has_strace() {
        survives(&scenario("undo, switched", true, &["undo"], None));
    }
}

#[test]
fn undo_beside_head() {
    if has_strace() {
        survives(&scenario("undo, beside", false, &["undo"], None));
    }
}

#[test]
fn an_edit_that_records_a_persons_bytes_first() {
    if !has_strace() {
        return;
    }
    let scenario = scenario(
        "checkpoint, switched",
        true,
        &["apply", "b.txt", "--mode", "append", "--content", "more\n"],
        None,
    );
    scenario.template.write("b.txt", "a person's\n");
    // It begins with an uncommitted file, so "clean" cannot be asked for; the old and the new state can.
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

/// The scenario with files that Git converts: what the journal says of the disk is not what it says of trees.
fn converted(scenario: Scenario) -> Scenario {
    let attributes = "a.txt text eol=crlf\nb.txt ident\nnew/* text eol=crlf\ndir/*.txt text working-tree-encoding=UTF-16LE-BOM\n";
    let world = &scenario.template;
    std::fs::create_dir_all(world.root.join(".git/info")).unwrap();
    std::fs::write(world.root.join(".git/info/attributes"), attributes).unwrap();
    ["a.txt", "b.txt", "dir/c.txt"]
        .into_iter()
        .for_each(|path| std::fs::remove_file(world.root.join(path)).unwrap());
    world.git(&["checkout", "--quiet", "--", "."]);
    assert_eq!((world.text("a.txt").as_str(), world.read("dir/c.txt").len()), ("two\r\n", 6));
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
fn a_landing_beside_head() {
    if has_strace() {
        survives(&scenario("land, beside", false, &["land"], None));
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
fn leaving_a_session() {
    if has_strace() {
        survives(&scenario("abandon, switched", true, &["abandon"], None));
    }
}

#[test]
fn leaving_a_session_that_holds_a_persons_bytes() {
    if has_strace() {
        let scenario = scenario("abandon, recorded", true, &["abandon"], None);
        scenario.template.write("a.txt", "two\nand a person's\n");
        survives(&Scenario { switched: false, ..scenario });
    }
}

#[test]
fn leaving_a_session_that_began_on_a_detached_head() {
    if has_strace() {
        let template = World::with(&[
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

/// Once the earlier tip was moved away before the journal knew of anything.
#[test]
fn leaving_a_session_that_was_left_before() {
    if !has_strace() {
        return;
    }
    for (name, switched) in [("abandon, again", true), ("abandon, again, beside", false)] {
        let scenario = scenario(name, switched, &["abandon"], None);
        let world = &scenario.template;
        world.git(&["update-ref", "refs/edt/s/abandoned", &world.rev("main")]);
        survives(&scenario);
    }
}

#[test]
fn a_checkpoint_that_was_asked_for() {
    if has_strace() {
        let scenario = scenario("checkpoint, asked", true, &["checkpoint"], None);
        scenario.template.write("b.txt", "a person's\n");
        scenario.template.write("new.txt", "new\n");
        survives(&Scenario { switched: false, threads: true, ..scenario });
    }
}

#[test]
fn the_beginning_of_a_session() {
    if has_strace() {
        let template = World::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
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
fn a_rename_of_a_file_with_a_persons_bytes() {
    if !has_strace() {
        return;
    }
    let scenario = scenario(
        "rename, beside",
        false,
        &["apply", "dir/c.txt", "--mode", "rename", "--to", "dir/e.txt"],
        None,
    );
    scenario.template.write("dir/c.txt", "a person's\n");
    survives(&scenario);
}

#[test]
fn four_processes_record_a_hundred_edits_of_their_own_files() {
    let files: Vec<(String, &[u8])> =
        (0..4).map(|n| (format!("f{n}.txt"), b"start\n".as_slice())).collect();
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    let world = World::with(&files);
    world.edt(&["begin", "s"]).landed();
    std::thread::scope(|scope| {
        for (path, _) in &files {
            let world = &world;
            scope.spawn(move || {
                for n in 0..25 {
                    let text = format!("edit {n}\n");
                    world
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
        .chain((0..25).map(|n| format!("edit {n}\n")))
        .collect();
    files.iter().for_each(|(path, _)| assert_eq!(world.text(path), whole, "{path}"));
    let log = world.git(&["log", "--format=%x00", "--name-only", "main..edt/s"]);
    let commits: Vec<Vec<&str>> =
        log.split('\0').skip(1).map(|commit| commit.split_whitespace().collect()).collect();
    assert_eq!(
        (commits.len(), commits.iter().filter(|files| files.len() == 1).count()),
        (100, 100)
    );
    world.is_clean();
    world.is_sound();
    assert_eq!(world.locks(), Vec::<String>::new());
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

fn both(
    count: usize,
    names: [&'static str; 2],
    args: &[&'static str],
    request: Option<&serde_json::Value>,
) {
    if has_strace() {
        survives_at(&scenario(names[0], true, args, request.cloned()), count);
        survives_at(&scenario(names[1], false, args, request.cloned()), count);
    }
}

#[test]
fn eight_files_in_one_edit() {
    both(6, ["8 files, switched", "8 files, beside"], &["apply"], Some(&eight_files()));
}

#[test]
fn a_deletion() {
    both(
        5,
        ["delete, switched", "delete, beside"],
        &["apply", "dir/c.txt", "--mode", "delete"],
        None,
    );
}

#[test]
fn a_rename() {
    let args = &["apply", "dir/c.txt", "--mode", "rename", "--to", "far/e.txt"];
    both(5, ["rename alone, switched", "rename alone, beside"], args, None);
}

#[test]
fn an_executable_file() {
    let request =
        json!({"path": "bin/run", "mode": "create", "content": "#!/bin/sh\n", "executable": true});
    both(5, ["executable, switched", "executable, beside"], &["apply"], Some(&request));
}

#[test]
fn a_restored_file() {
    both(5, ["restore, switched", "restore, beside"], &["restore", "a.txt"], None);
}

#[test]
fn redo_beside_head() {
    if has_strace() {
        let scenario = scenario("redo, beside", false, &["redo"], None);
        scenario.template.edt(&["undo"]).landed();
        survives_at(&scenario, 6);
    }
}

#[test]
fn a_checkpoint_beside_head() {
    if has_strace() {
        let scenario = scenario("checkpoint, beside", false, &["checkpoint"], None);
        scenario.template.write("b.txt", "a person's\n");
        survives_at(&Scenario { threads: true, ..scenario }, 6);
    }
}

#[test]
fn leaving_a_session_beside_head() {
    if has_strace() {
        survives_at(&scenario("abandon, beside", false, &["abandon"], None), 6);
    }
}

#[test]
fn the_beginning_of_a_session_beside_head() {
    if has_strace() {
        survives_at(&beginning("begin, beside", &["begin", "s", "--no-switch"], false), 8);
    }
}

fn beginning(name: &'static str, args: &[&'static str], switched: bool) -> Scenario {
    let template = World::with(&[("a.txt", b"one\n"), ("z.txt", b"z\n")]);
    Scenario { name, template, args: args.to_vec(), request: None, switched, threads: false }
}

// --- commands that start Git ----------------------------------------------------------------------------------------------

/// Those of [`CALLS`] that are counted over a whole tree of processes: `openat` is mostly reading.
const TREE_CALLS: &str = "write,pwrite64,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,fdatasync,fsync,fchmod,fchmodat,ftruncate";

/// Runs the scenario's command; the whole group of its processes is killed once `limit` calls were made. Returns how many were.
fn killed_after(scenario: &Scenario, world: &World, limit: usize) -> usize {
    use std::io::BufRead as _;
    use std::os::unix::process::CommandExt as _;
    let mut command = world.command("strace");
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

/// Kills the scenario's command with all that it started at some `count` points, and lets `judge` say what is wrong then.
fn the_tree_survives(
    scenario: &Scenario,
    count: usize,
    judge: impl Fn(&World, &State, &State) -> Vec<String>,
) {
    let dir = tempfile::tempdir().unwrap();
    let world = copy(scenario, &dir.path().join("repo"));
    let old = state(&world);
    let made = killed_after(scenario, &world, usize::MAX);
    let new = state(&world);
    assert!(made > 20, "{}: only {made} calls", scenario.name);
    let (mut faults, mut killed) = (Vec::new(), 0);
    for limit in share((1..made).collect(), count) {
        let _ = std::fs::remove_dir_all(dir.path().join("beside"));
        let world = copy(scenario, &dir.path().join("repo"));
        killed += usize::from(killed_after(scenario, &world, limit) < made);
        faults.extend(
            judge(&world, &old, &new)
                .into_iter()
                .map(|fault| format!("after {limit} calls: {fault}")),
        );
    }
    println!("{}: {made} calls of the tree, {killed} killed", scenario.name);
    assert!(
        killed > 0 && faults.is_empty(),
        "{}: {killed} killed\n{}",
        scenario.name,
        faults.join("\n")
    );
}

/// What must hold whatever Git was doing: Git works, edt works, a second settling does nothing, nothing is unsound.
fn works_on(world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    let status = world.try_git(&["status"]);
    let fsck = world.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    let (first, second) = (world.edt(&["status"]), world.edt(&["status"]));
    let more = world.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    faults.extend((!status.status.success()).then(|| "plain git status fails".to_owned()));
    // What `git worktree add` left half made when it died is Git's own: `git worktree remove --force` takes it away.
    let said = String::from_utf8_lossy(&[fsck.stdout, fsck.stderr].concat()).into_owned();
    let mut errors = said
        .lines()
        .filter(|line| !line.contains("worktrees/beside/HEAD") && line.contains("error"));
    faults.extend(errors.next().map(|error| format!("git fsck: {error}")));
    faults.extend((first.exit != 0).then(|| format!("edt status: {}", first.json)));
    faults.extend(
        (!second.json["settled"].is_null())
            .then(|| format!("settled again: {}", second.json["settled"])),
    );
    faults.extend((more.exit != 0).then(|| format!("a further apply: {:?}", more.codes())));
    faults
}

/// A session that was to have a worktree of its own may have none, or one that Git did not fill yet: both are seen by `edt status`
/// and `git worktree list`. The worktree that it was called in stays as it was.
#[test]
fn the_beginning_of_a_session_in_a_worktree_of_its_own() {
    if has_strace() {
        let scenario =
            beginning("begin, elsewhere", &["begin", "s", "--worktree", "../beside"], false);
        the_tree_survives(&scenario, 7, |world, old, _| {
            let left = state(world);
            let mut faults = works_on(world);
            let here =
                (&left.files, &left.head, &left.status) == (&old.files, &old.head, &old.status);
            faults.extend(
                (!here).then(|| format!("this worktree: {:?}", changed(&old.files, &left.files))),
            );
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
        the_tree_survives(&scenario, 7, |world, old, _| {
            let left = state(world);
            let mut faults = works_on(world);
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
        the_tree_survives(&scenario, 7, |world, old, new| {
            after_the_kill(&scenario, world, old, new)
        });
    }
}

// --- errors ---------------------------------------------------------------------------------------------------------------

/// Lets every point of the scenario's command fail with every error, once and for good, and checks answer and state.
fn fails_well(scenario: &Scenario, count: usize) {
    let dir = tempfile::tempdir().unwrap();
    let world = copy(scenario, &dir.path().join("repo"));
    let old = state(&world);
    let trace = traced(
        scenario,
        &world,
        &dir.path().join("trace"),
        &["-e".into(), format!("trace={CALLS}")],
    );
    let new = state(&world);
    let mut all: Vec<(String, usize, String)> = Vec::new();
    for (call, number) in points(&trace) {
        for error in ["ENOSPC", "EIO", "EINTR"] {
            // An interrupted call is made again; that it never ends is no case. Whether files can be opened at all is another matter.
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
        let world = copy(scenario, &dir.path().join("repo"));
        let inject = format!("inject={call}:error={how}");
        for fault in after_the_error(scenario, &world, &inject, dir.path(), &old, &new) {
            faults.push(format!("{call} {number} {how}: {fault}"));
        }
    }
    println!("{}: {} errors", scenario.name, tried.len());
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
    world: &World,
    inject: &str,
    dir: &Path,
    old: &State,
    new: &State,
) -> Vec<String> {
    let log = dir.join("log");
    let mut command = world.command("strace");
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
    faults.extend(after_the_kill(scenario, world, old, new));
    // The further edit of that look has no part in this one.
    let left = State { files: world.files(), ..old.clone() };
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
    let told = answer["status"].as_str().unwrap_or_default();
    faults.extend((told == "applied" && !is_new).then(|| "applied, and not new".to_owned()));
    faults.extend((!codes.is_empty() && !is_old).then(|| format!("{codes:?}, and not old")));
    faults
}

#[test]
fn errors_from_outside() {
    if has_strace() {
        fails_well(&scenario("edit, switched", true, EDIT, None), 14);
        fails_well(&scenario("edit, beside", false, EDIT, None), 8);
        fails_well(&scenario("several, switched", true, &["apply"], Some(several())), 14);
        fails_well(&scenario("undo, switched", true, &["undo"], None), 8);
    }
}

#[test]
fn errors_from_outside_as_a_session_begins_and_ends() {
    if has_strace() {
        fails_well(&scenario("land, switched", true, &["land"], None), 10);
        fails_well(&scenario("land, beside", false, &["land"], None), 6);
        fails_well(&scenario("abandon, switched", true, &["abandon"], None), 10);
        fails_well(&beginning("begin", &["begin", "s"], true), 10);
    }
}
