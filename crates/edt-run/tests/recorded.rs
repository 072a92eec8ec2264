//! What a program in a sandbox changes is recorded at every level, by root and by others.
//!
//! This program is its own supervisor, so it is no harness of tests.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests are read, not tuned"
)]

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use edt_recorder::{NothingClean, RecordedRun, restore};
use edt_run::sandbox::{self, NamespaceBackend, RecordPlan, SandboxPlan, StartError, Termination};
use edt_types::Level;

/// Another user than root.
const OTHER_USER: u32 = 12345;

fn main() -> ExitCode {
    if let Some(code) = sandbox::child::entry(std::env::args_os()) {
        return code;
    }
    if let Some(directory) = std::env::var_os("EDT_RECORDED_TEST") {
        every_level(Path::new(&directory));
        return ExitCode::SUCCESS;
    }
    let directory = tempfile::tempdir().unwrap();
    every_level(directory.path());
    after_the_supervisor_was_killed(&directory.path().join("killed"));
    if is_root() {
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(other.path(), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("EDT_RECORDED_TEST", other.path()).env("TMPDIR", other.path());
        assert!(command.uid(OTHER_USER).gid(OTHER_USER).status().unwrap().success());
    }
    ExitCode::SUCCESS
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self")
        .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

fn every_level(directory: &Path) {
    for (level, backend) in [
        (Level::Permissive, NamespaceBackend::Any),
        (Level::Standard, NamespaceBackend::Any),
        (Level::Standard, NamespaceBackend::OwnWithoutSignals),
        (Level::Strict, NamespaceBackend::Own),
        (Level::Strict, NamespaceBackend::Bubblewrap),
    ] {
        let place = directory.join(format!("{level:?}-{backend:?}"));
        at_level(&place, level, backend);
    }
}

const BEFORE: &str = "mkdir -p .git/edt/recorded dir; echo one > a; ln a b; echo two > c; \
    head -c 100000000 /dev/zero > dir/large; ln -s a link; touch -d 2001-01-01 a c dir/large";

const PROGRAM: &str = "echo new > a; rm c; mv dir moved; rm moved/large; mkdir -p x/y; \
    echo deep > x/y/z; ln -sf x link; (echo x > .git/config) 2>/dev/null; chmod 600 b; \
    (sleep 0.2; echo late > late) & ls -lR > list; true";

/// Kills its supervisor, and goes on if it can.
const KILLS: &str = "echo new > a; rm -r dir; kill -9 $PPID; \
    while true; do echo more >> a; rm -f c; echo new > c; mkdir -p x; mv x y; rmdir y; done";

fn after_the_supervisor_was_killed(place: &Path) {
    let root = place.join("tree");
    std::fs::create_dir_all(&root).unwrap();
    let made = Command::new("bash").args(["-ec", BEFORE]).current_dir(&root).status();
    assert!(made.unwrap().success());
    let store = root.join(".git/edt/recorded");
    let was = listing(&root);
    let mut plan = SandboxPlan::new(Level::Permissive, Path::new("/bin/bash"), &root);
    plan.args = ["-c", KILLS].map(Into::into).to_vec();
    plan.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    plan.git = vec![root.join(".git")];
    plan.recorded = Some(RecordPlan { store: store.clone(), names: None });
    let null = || File::options().read(true).write(true).open("/dev/null").unwrap();
    let outcome = sandbox::start(&plan, null(), null(), null()).unwrap().wait().unwrap();
    assert_eq!((outcome.how, outcome.left), (Termination::Lost, 0));
    assert!(!RecordedRun::open(&store).unwrap().complete);
    let restoration = restore(&store, &root, &mut NothingClean).unwrap();
    assert_eq!((restoration.left, restoration.lost), (vec![], vec![]));
    assert_eq!(was, listing(&root));
}

fn at_level(place: &Path, level: Level, backend: NamespaceBackend) {
    let what = format!("{level:?} {backend:?}");
    let root = place.join("tree");
    std::fs::create_dir_all(&root).unwrap();
    let shell = |script: &str| {
        let status = Command::new("bash").args(["-ec", script]).current_dir(&root).status();
        assert!(status.unwrap().success(), "{what}: {script}");
    };
    shell(BEFORE);
    let store = root.join(".git/edt/recorded");
    let was = listing(&root);
    let mut plan = SandboxPlan::new(level, Path::new("/bin/bash"), &root);
    plan.args = ["-c", PROGRAM].map(Into::into).to_vec();
    plan.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    plan.git = vec![root.join(".git")];
    plan.backend = backend;
    plan.recorded = Some(RecordPlan { store: store.clone(), names: None });
    let null = || File::options().read(true).write(true).open("/dev/null").unwrap();
    let running = match sandbox::start(&plan, null(), null(), null()) {
        Err(StartError::Unavailable { why, .. }) => {
            println!("{what} is not available here: {why}");
            return;
        }
        started => started.unwrap(),
    };
    let outcome = running.wait().unwrap();
    assert_eq!((outcome.how, outcome.left), (Termination::Exit(0), 0), "{what}");
    let run = RecordedRun::open(&store).unwrap();
    assert!(run.complete, "{what}");
    assert_eq!(run.unproved, [""; 0], "{what}");
    assert_eq!(run.lost(), [], "{what}");
    assert_ne!(was, listing(&root), "{what}");
    let touched = run.touched(&root).unwrap();
    let foreign = touched.iter().filter(|(_, one)| one.foreign);
    let names = |(path, _): (&Vec<u8>, _)| String::from_utf8_lossy(path).into_owned();
    let foreign: Vec<String> = foreign.map(names).collect();
    assert_eq!(foreign, [""; 0], "{what}");
    let restoration = restore(&store, &root, &mut NothingClean).unwrap();
    assert_eq!((restoration.left, restoration.lost), (vec![], vec![]), "{what}");
    assert_eq!(was, listing(&root), "{what}");
    println!("{what}: {} paths", touched.len());
}

/// Names, kinds, permissions, sizes, times, inodes, links and contents.
fn listing(root: &PathBuf) -> String {
    let script = "find . -path ./.git -prune -o -type d -printf '%p %y %m\\n' -o \
        -type l -printf '%p %T@ %l\\n' -o -printf '%p %y %m %s %T@ %i\\n' | sort; cat a c";
    let output = Command::new("bash").args(["-c", script]).current_dir(root).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
