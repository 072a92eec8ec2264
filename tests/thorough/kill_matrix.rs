//! Every command that writes is killed at each of its system calls that write. Each file is then old
//! or new, `edt doctor` names whatever was left, a second call works, and after `edt doctor --fix`
//! nothing is left.
//!
//! [`WRITERS`] and [`READERS`] together are the commands of the program. What a transaction changes
//! is compared as a whole in `crash`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use edt_testkit::{Progress, share};

use crate::crash::{CALLS, points};
use crate::test_repo::{EDT, Snapshot, TestRepo, has_strace, is_portable, type_at, walk};

/// A command that writes, and the repository in which it is killed.
struct Writer {
    /// Its name in the list of commands.
    command: &'static str,
    args: &'static str,
    /// What the user types.
    typed: &'static str,
    prepare: fn(&TestRepo),
}

fn nothing(_: &TestRepo) {}

fn session(workspace: &TestRepo) {
    workspace.edt(&["begin", "s"]).landed();
    workspace.overwrite("a.txt", "two\n");
}

fn two_edits(workspace: &TestRepo) {
    session(workspace);
    workspace.overwrite("b.txt", "bb\n");
}

fn undone(workspace: &TestRepo) {
    session(workspace);
    workspace.edt(&["undo"]).landed();
}

fn with_user_changes(workspace: &TestRepo) {
    session(workspace);
    workspace.write("b.txt", "a user's\n");
}

fn two_sessions(workspace: &TestRepo) {
    session(workspace);
    workspace.edt(&["begin", "t"]);
}

fn ended(workspace: &TestRepo) {
    session(workspace);
    workspace.edt(&["abandon"]).landed();
}

fn proposed(workspace: &TestRepo) {
    session(workspace);
    workspace.edt(&["propose", "b.txt", "--mode", "append", "--content", "x\n"]);
}

fn permissive(workspace: &TestRepo) {
    session(workspace);
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    let policy = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\n";
    std::fs::write(directory.join("edt.toml"), policy).unwrap();
}

fn validated(workspace: &TestRepo) {
    let policy = "[[validator]]\nname = \"v\"\npaths = [\"q\"]\ncommand = [\"true\", \"{file}\"]\n";
    workspace.commit(&[("edt.toml", policy.as_bytes())]);
}

fn lesson(workspace: &TestRepo) {
    workspace.edt(&["memory", "add", "Read the file.", "--code", "OLD_TEXT_NOT_FOUND"]);
    workspace.edt(&["memory", "snapshot", "before"]);
    let id = workspace.edt(&["memory", "list"]).json["episodes"][0]["id"].clone();
    workspace.edt(&["memory", "deprecate", id.as_str().unwrap(), "-m", "early"]);
    std::fs::write(workspace.home.with_file_name("id"), id.as_str().unwrap()).unwrap();
}

fn exported(workspace: &TestRepo) {
    lesson(workspace);
    workspace.edt(&["memory", "export", "../lessons.jsonl"]);
    workspace.git(&["update-ref", "-d", "refs/edt/memory"]);
}

fn hooked(workspace: &TestRepo) {
    workspace.edt(&["hooks", "install"]);
}

fn connected(workspace: &TestRepo) {
    workspace.edt(&["setup", "claude-code"]);
}

/// A killed edit, and what other killed calls leave.
fn killed(workspace: &TestRepo) {
    session(workspace);
    // Which one moves the branch depends on the platform.
    let locks = (1..6).map(|when| {
        let mut command = workspace.command("strace");
        let inject = format!("inject=renameat:signal=KILL:when={when}");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]);
        command.args([EDT, "apply", "a.txt", "--mode", "append", "--content", "x"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        workspace.locks()
    });
    let locks = locks.into_iter().find(|locks| locks.len() == 2).unwrap_or_default();
    let process = "edt-999999999-0";
    for path in [
        ".git/hooks/pre-commit.edt-new".to_owned(),
        format!(".git/edt/main/x.json.{process}"),
        format!("AGENTS.md.{process}"),
        ".git/edt/main/land/HEAD".to_owned(),
    ] {
        workspace.write(&path, "x");
    }
    // Git has these bytes.
    workspace.write(".git/edt/main/stage/1f-0123abcd-0", "two\n");
    assert!(locks.len() == 2 && locks[0] == "index.lock", "of the killed edit: {locks:?}");
}

fn drafted(workspace: &TestRepo) {
    session(workspace);
    workspace.edt(&["comment", "add", "--path", "a.txt", "--lines", "1", "-m", "Why?"]);
}

fn commented(workspace: &TestRepo) {
    drafted(workspace);
    workspace.edt(&["comment", "send"]);
}

fn resolved(workspace: &TestRepo) {
    commented(workspace);
    workspace.edt(&["comment", "resolve", "1"]);
}

const fn writer(command: &'static str, args: &'static str, prepare: fn(&TestRepo)) -> Writer {
    Writer { command, args, typed: "", prepare }
}

const fn typed(command: &'static str, args: &'static str, prepare: fn(&TestRepo)) -> Writer {
    Writer { command, args, typed: "yes\n", prepare }
}

const WRITERS: &[Writer] = &[
    writer("begin", "begin s", nothing),
    writer("switch", "switch s", two_sessions),
    writer("apply", "apply a.txt --mode append --content x", session),
    writer("undo", "undo", session),
    writer("redo", "redo", undone),
    writer("revert", "revert 1", session),
    writer("revert", "revert 1 --path a.txt --added 1 --removed 1", session),
    writer("restore", "restore a.txt", session),
    writer("checkpoint", "checkpoint", with_user_changes),
    writer("comment add", "comment add --path a.txt --lines 1 -m text", session),
    writer("comment send", "comment send -m text", drafted),
    writer("comment answer", "comment answer 1 -m text", commented),
    writer("comment resolve", "comment resolve 1", commented),
    writer("comment reopen", "comment reopen 1", resolved),
    writer("comment drop", "comment drop 1", drafted),
    writer("run", "run -- touch new.txt", permissive),
    writer("propose", "propose a.txt --mode append --content x", session),
    typed("approve", "approve 1", proposed),
    writer("reject", "reject 1 -m no", proposed),
    writer("land", "land", session),
    writer("land", "land --only 2", two_edits),
    writer("abandon", "abandon", session),
    writer("gc", "gc --older-than 0", ended),
    typed("forget", "forget", ended),
    writer("memory add", "memory add text --code OLD_TEXT_NOT_FOUND", nothing),
    writer("memory edit", "memory edit ID --revive", lesson),
    writer("memory deprecate", "memory deprecate ID -m old", lesson),
    writer("memory delete", "memory delete ID", lesson),
    writer("memory snapshot", "memory snapshot now", lesson),
    writer("memory restore", "memory restore before", lesson),
    writer("memory export", "memory export ../out.jsonl", lesson),
    writer("memory import", "memory import ../lessons.jsonl", exported),
    writer("guide", "guide --format agents-md --write AGENTS.md", nothing),
    typed("trust", "trust", validated),
    writer("hooks install", "hooks install", nothing),
    writer("hooks uninstall", "hooks uninstall", hooked),
    writer("setup", "setup claude-code", nothing),
    writer("setup", "setup claude-code --remove", connected),
    writer("doctor", "doctor --fix", killed),
];

/// Commands that write nothing of their own, and why they are not killed here.
const READERS: &[(&str, &str)] = &[
    ("check", "stops before anything is written"),
    ("read", "reads"),
    ("outline", "reads"),
    ("search", "reads"),
    ("ls", "reads"),
    ("status", "reads; recovery is killed in `faults`"),
    ("log", "reads"),
    ("show", "reads"),
    ("diff", "reads"),
    ("proposals", "reads"),
    ("comment list", "reads; what it notes for an agent is a move as of `comment resolve`"),
    ("stats", "reads"),
    ("blame", "reads"),
    ("review", "reads; the buttons of its page are the other commands"),
    ("attribution export", "reads"),
    ("memory list", "reads"),
    ("memory show", "reads"),
    ("memory search", "reads"),
    ("memory stats", "reads"),
    ("guards", "reads"),
    ("policy check", "reads"),
    ("policy explain", "reads"),
    ("hooks status", "reads"),
    ("hook", "judges; what Git does then is Git's"),
    ("mcp", "serves the other commands"),
    ("acp", "records by the transactions of `agent-hook`"),
    ("agent-hook", "records by the transaction of `checkpoint`"),
    ("agent-shell", "records as `run` does"),
    ("telemetry status", "reads"),
    ("telemetry show", "reads"),
    ("telemetry flush", "writes nothing without an endpoint"),
    ("explain", "reads"),
    ("schema", "reads"),
    ("completions", "reads"),
    ("man", "reads"),
    ("demo", "works in a scratch directory"),
    ("help", "reads"),
];

/// The commands that `edt help` lists, with those below them.
fn commands(workspace: &TestRepo) -> BTreeSet<String> {
    let listed = |args: &[&str]| -> Vec<String> {
        let done = workspace.command(EDT).args(args).output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        let lines = text.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = lines.take_while(|line| !line.is_empty());
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    };
    let mut all = BTreeSet::new();
    for name in listed(&["help", "all"]).into_iter().chain(["help".to_owned()]) {
        let below = if name == "help" { Vec::new() } else { listed(&[&name, "--help"]) };
        if below.is_empty() {
            all.insert(name);
        } else {
            let below = below.iter().filter(|below| *below != "help");
            all.extend(below.map(|below| format!("{name} {below}")));
        }
    }
    all
}

#[test]
fn every_command_is_killed_or_writes_nothing() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let killed = WRITERS.iter().map(|writer| writer.command.to_owned());
    let known: BTreeSet<String> =
        killed.chain(READERS.iter().map(|(name, _)| (*name).to_owned())).collect();
    assert_eq!(commands(&workspace), known);
}

/// The template's copy, with its home directory.
fn copied(template: &TestRepo, dir: &Path) -> TestRepo {
    let _ = std::fs::remove_dir_all(dir);
    let from = template.root.parent().unwrap();
    assert!(template.command("cp").arg("-a").arg(from).arg(dir).status().unwrap().success());
    let mut workspace = template.at(dir.join("repo"));
    workspace.home = dir.join("home");
    // It fails where a killed call holds the lock.
    workspace.try_git(&["update-index", "-q", "--refresh"]);
    std::fs::create_dir_all(workspace.home.join("tmp")).unwrap();
    workspace
}

/// Runs the command at a terminal under strace; returns what strace wrote, and the exit status.
fn traced(writer: &Writer, workspace: &TestRepo, options: &str) -> (String, Option<i32>) {
    let log = workspace.home.with_file_name("trace");
    let id = std::fs::read_to_string(workspace.home.with_file_name("id")).unwrap_or_default();
    let args = writer.args.replace("ID", &id);
    let call = format!("exec strace -f -qq -o '{}' {options} {EDT} {args}", log.display());
    let mut command = workspace.command("script");
    command.args(["-qec", &call, "/dev/null"]).env("SHELL", "/bin/sh");
    command.env("TMPDIR", workspace.home.join("tmp"));
    command
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000");
    let done = type_at(command.stdout(Stdio::null()).stderr(Stdio::null()), writer.typed);
    let exit = done.status.code();
    let trace = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(log);
    (trace, exit)
}

/// The lines of the first process, which is edt.
fn of_edt(trace: &str) -> String {
    let first = trace.split(' ').next().unwrap_or_default();
    let own = trace.lines().filter(|line| line.split(' ').next() == Some(first));
    own.map(|line| format!("{line}\n")).collect()
}

/// The files that the command may change, without what changes in each call: times, and ids that
/// depend on them.
fn contents(workspace: &TestRepo) -> BTreeMap<String, Vec<u8>> {
    let mut all = workspace.files();
    let mut add = |prefix: &str, directory: PathBuf| {
        let mut found = Snapshot::new();
        walk(&directory, "", &mut found);
        all.extend(found.into_iter().map(|(path, bytes)| (format!("{prefix}/{path}"), bytes)));
    };
    add("home", workspace.home.clone());
    add("hooks", workspace.root.join(".git/hooks"));
    all.insert("config".into(), std::fs::read(workspace.root.join(".git/config")).unwrap());
    // The lock names its last holder, and the receipt grows with each step of `edt setup`.
    let temporary = |path: &str| {
        is_leftover(path) || path.starts_with("home/tmp/") || path.contains("share/edt/setup/")
    };
    all.retain(|path, _| !temporary(path));
    for bytes in all.values_mut() {
        bytes.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'0');
    }
    all
}

/// Whether no file of that name is in a repository in which nothing was killed.
fn is_leftover(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap();
    let has_process = name.rsplit_once(".edt-").is_some_and(|(_, end)| {
        end.split_once('-').is_some_and(|(process, _)| process.parse::<u32>().is_ok())
    });
    let staged = path.contains("/stage/") && !name.starts_with("index.") && name != "index";
    [".lock", ".edt-new", ".tmp"].iter().any(|end| name.ends_with(end))
        || has_process
        || staged
        || name.starts_with("gc.pid")
        || name == "journal.new"
}

/// The leftovers below the repository and the home directory, as paths.
fn leftovers(workspace: &TestRepo) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![workspace.root.clone(), workspace.home.clone()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let in_tmp = directory == workspace.home.join("tmp");
            let is_dir = path.symlink_metadata().unwrap().is_dir();
            if in_tmp || is_dir && path.ends_with(".git/edt/main/land") {
                found.insert(path);
            } else if is_dir {
                // Git removes its own temporary objects.
                open.extend((!path.ends_with(".git/objects")).then_some(path));
            } else if path.ends_with("edt/trust.lock") {
                // `flock` locks it; the file stays, also after an undisturbed call.
            } else if is_leftover(&path.to_string_lossy()) {
                found.insert(path);
            }
        }
    }
    found
}

/// What is wrong after the kill.
fn after_the_kill(
    writer: &Writer,
    workspace: &TestRepo,
    old: &Snapshot,
    new: &Snapshot,
) -> Vec<String> {
    let mut faults = Vec::new();
    let left = leftovers(workspace);
    // The doctor takes only old scratch directories for abandoned.
    for path in left.iter().filter(|path| path.starts_with(workspace.home.join("tmp"))) {
        workspace.command("touch").args(["-d", "1 hour ago"]).arg(path).status().unwrap();
    }
    let doctor = |args: &[&str]| {
        let mut command = workspace.command(EDT);
        command.args(args).arg("--json").env("TMPDIR", workspace.home.join("tmp"));
        crate::test_repo::run(command, b"", args)
    };
    let found = doctor(&["doctor"]).json.to_string();
    for path in left.iter().filter(|path| path.symlink_metadata().is_ok()) {
        let named = found.contains(&*path.to_string_lossy());
        faults.extend((!named).then(|| format!("the doctor does not name {}", path.display())));
    }
    let now = contents(workspace);
    for path in now.keys().chain(old.keys()).collect::<BTreeSet<_>>() {
        let is = now.get(path);
        let known = is == old.get(path) || is == new.get(path);
        faults.extend((!known).then(|| format!("{path} is neither old nor new")));
    }
    // What the killed call finished is refused or does nothing now: 70 would be a bug, 5 the
    // environment.
    let (_, again) = traced(writer, workspace, "-e trace=execve");
    let works = again.is_some_and(|exit| exit <= 4);
    faults.extend((!works).then(|| format!("the second call: {again:?}")));
    doctor(&["doctor", "--fix"]);
    let left = leftovers(workspace);
    faults.extend((!left.is_empty()).then(|| format!("left: {left:?}")));
    let fsck = workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    faults.extend((!fsck.status.success()).then(|| "git fsck".to_owned()));
    let more = workspace.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    faults.extend((more.exit != 0).then(|| format!("a further apply: {:?}", more.codes())));
    faults
}

#[test]
fn every_command_that_writes() {
    assert_survive(&[], |_| true);
}

#[test]
fn commands_that_move_refs_in_tables() {
    let moves = [
        "begin",
        "switch",
        "apply",
        "undo",
        "redo",
        "propose",
        "approve",
        "land",
        "abandon",
        "gc",
        "memory add",
        "comment add",
        "comment send",
    ];
    assert_survive(&["--ref-format=reftable"], |command| moves.contains(&command));
}

/// Kills the commands that `wanted` selects, in repositories made with `flags`.
fn assert_survive(flags: &[&str], wanted: impl Fn(&str) -> bool) {
    if !has_strace() {
        return;
    }
    let only = std::env::var("EDT_MATRIX").unwrap_or_default();
    let mut faults = Vec::new();
    // The doctor reports that no files can be exchanged, and ends with another status.
    let is_judged = |command: &str| !is_portable() || command != "doctor";
    let writers =
        WRITERS.iter().filter(|writer| wanted(writer.command) && is_judged(writer.command));
    for writer in writers.filter(|writer| writer.args.contains(&only)) {
        let progress = Progress::start();
        let template =
            TestRepo::made(flags, &[("a.txt", b"one\n"), ("b.txt", b"b\n"), ("z.txt", b"z\n")]);
        (writer.prepare)(&template);
        let dir = edt_testkit::tempdir().unwrap();
        let place = dir.path().join("copy");
        let workspace = copied(&template, &place);
        let old = contents(&workspace);
        let (trace, exit) = traced(writer, &workspace, &format!("-e trace={CALLS}"));
        let trace = of_edt(&trace);
        let new = contents(&workspace);
        let points = share(points(&trace), 1);
        if points.is_empty() || exit != Some(0) {
            faults.push(format!("{}: it did nothing, and ended with {exit:?}", writer.args));
        }
        for (call, number) in &points {
            let workspace = copied(&template, &place);
            let options = format!("-e trace={call} -e inject={call}:signal=KILL:when={number}");
            traced(writer, &workspace, &options);
            for fault in after_the_kill(writer, &workspace, &old, &new) {
                let fault = fault.replace(&*place.to_string_lossy(), "");
                println!("{}, {call} {number}: {fault}", writer.args);
                faults.push(format!("{}, {call} {number}: {fault}", writer.args));
            }
        }
        progress.done("kill matrix", writer.args, points.len());
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
