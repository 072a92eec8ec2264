//! What a killed call leaves is recognised and removed, whatever became of the journal.

use std::path::Path;

use edt_testkit::{Progress, share};

use crate::crash::{
    CALLS, EDIT, Scenario, copy, points, scenario, scenario_in_tables, several, traced,
};
use crate::test_repo::{Snapshot, TestRepo, has_strace, is_portable};

// --- the journal is lost while a transaction is open ----------------------------------------------------------------------

/// What happens to the journal after the kill.
#[derive(Clone, Copy, Debug)]
enum Lost {
    Deleted,
    Overwritten,
    /// The header is whole, the last record is not.
    TornRecord,
}

const STATE: &str = ".git/edt/main";

fn lose(workspace: &TestRepo, how: Lost) {
    use std::os::unix::fs::FileExt as _;
    let path = workspace.root.join(STATE).join("journal");
    let Ok(file) = std::fs::File::options().read(true).write(true).open(&path) else { return };
    match how {
        Lost::Deleted => std::fs::remove_file(path).unwrap(),
        Lost::Overwritten => file.write_all_at(&[0x55; 100], 0).unwrap(),
        Lost::TornRecord => {
            let mut tail = [0; 8];
            file.read_exact_at(&mut tail, 20).unwrap();
            // In the payload, after magic, length, checksum, epoch and number.
            file.write_all_at(&[0x55; 8], u64::from_le_bytes(tail) + 40).unwrap();
        }
    }
}

/// What is wrong after a kill and the loss of the journal.
fn after_the_loss(workspace: &TestRepo) -> Vec<String> {
    let mut faults = Vec::new();
    let status = workspace.edt(&["status"]);
    faults.extend((status.exit != 0).then(|| format!("edt status: {}", status.json)));
    let locks = workspace.locks();
    // The next landing makes the Git directory for hooks again.
    let locks: Vec<&String> = locks.iter().filter(|lock| !lock.contains("/land/")).collect();
    if !locks.is_empty() {
        faults.push(format!("locks left: {locks:?}"));
        return faults;
    }
    let staged = workspace.git(&["diff", "--cached", "--name-status", "HEAD"]);
    faults.extend((!staged.is_empty()).then(|| format!("staged: {staged:?}")));
    let again = workspace.edt(&["status"]).json["recovered"].clone();
    faults.extend((!again.is_null()).then(|| format!("recovered again: {again}")));
    // What was staged before the record was written is removed with the next checkpoint.
    workspace.edt(&["doctor", "--fix"]);
    let left = transaction_files(workspace);
    faults.extend((!left.is_empty()).then(|| format!("staged files left: {left:?}")));
    let more = workspace.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
    faults.extend((more.exit != 0).then(|| format!("a further apply: {:?}", more.codes())));
    let commit = workspace.try_git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    let said = String::from_utf8_lossy(&commit.stderr).into_owned();
    faults.extend((!commit.status.success()).then(|| format!("git commit: {said}")));
    let fsck = workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    faults.extend((!fsck.status.success()).then(|| "git fsck".to_owned()));
    faults
}

/// The files that a transaction staged: `<process>-<commit>-<number>`.
fn transaction_files(workspace: &TestRepo) -> Vec<String> {
    let names = std::fs::read_dir(workspace.root.join(STATE).join("stage")).into_iter().flatten();
    let names = names.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("index") && !name.starts_with("kept-")).collect()
}

/// Kills the scenario's command at each point, and loses the journal in each way.
fn survives_the_loss(scenario: &Scenario) {
    let progress = Progress::start();
    let dir = edt_testkit::tempdir().unwrap();
    let workspace = copy(scenario, &dir.path().join("whole"));
    let trace = traced(scenario, &workspace, &dir.path().join("trace"), &all_calls());
    let points = points(&trace);
    let all = points.iter().flat_map(|point| {
        [Lost::Deleted, Lost::Overwritten, Lost::TornRecord].map(|how| (point.clone(), how))
    });
    let all = share(all.collect(), 3);
    let mut faults = Vec::new();
    for ((call, number), how) in &all {
        let workspace = copy(scenario, &dir.path().join("copy"));
        killed(scenario, &workspace, dir.path(), call, *number);
        lose(&workspace, *how);
        for fault in after_the_loss(&workspace) {
            faults.push(format!("{call} {number}, {how:?}: {fault}"));
        }
    }
    progress.done("leftovers", scenario.name, all.len());
    let count = all.len();
    assert!(faults.is_empty(), "{}: of {count}:\n{}", scenario.name, faults.join("\n"));
}

fn all_calls() -> Vec<String> {
    vec!["-e".into(), format!("trace={CALLS}")]
}

/// Runs the scenario's command, killed at the call with that number.
fn killed(scenario: &Scenario, workspace: &TestRepo, dir: &Path, call: &str, number: usize) {
    let inject = format!("inject={call}:signal=KILL:when={number}");
    let options = ["-e".into(), format!("trace={call}"), "-e".into(), inject];
    traced(scenario, workspace, &dir.join("log"), &options);
}

#[test]
fn a_journal_that_is_lost_in_an_edit() {
    if has_strace() {
        survives_the_loss(&scenario("lost journal, edit", true, EDIT, None));
    }
}

#[test]
fn a_journal_that_is_lost_in_other_calls() {
    if has_strace() {
        let several = Some(several());
        survives_the_loss(&scenario("lost journal, several", true, &["apply"], several));
        survives_the_loss(&scenario("lost journal, undo", true, &["undo"], None));
        survives_the_loss(&scenario("lost journal, landing", true, &["land"], None));
        survives_the_loss(&scenario("lost journal, abandon", true, &["abandon"], None));
        survives_the_loss(&scenario("lost journal, no switch", false, EDIT, None));
    }
}

// --- the repository is copied after the kill ------------------------------------------------------------------------------

/// `cp -a` makes other inodes; `rsync -a` makes other inodes, and two files of each hard link.
const COPIES: [&[&str]; 2] = [&["-a"], &["-a", "--no-preserve=links"]];

/// The copies that a kill survives. Where a rename is a link and a removal, a copy without links does
/// not show that both names were one file.
fn copies() -> &'static [&'static [&'static str]] {
    if is_portable() { &COPIES[..1] } else { &COPIES }
}

/// Calls that give a file a name or take it away, such as a lock.
const NAMING: [&str; 7] =
    ["link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat"];

/// The files, the commits of the branches, HEAD, and what Git reports as uncommitted.
fn outcome(workspace: &TestRepo) -> (Snapshot, [String; 3]) {
    let refs = workspace.git(&["for-each-ref", "--format=%(refname) %(tree)"]);
    let head = workspace.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    (workspace.files(), [refs, head, workspace.status()])
}

/// Kills the scenario's command at each call that names a file. Nobody calls edt before the
/// repository is copied.
fn survives_the_copy(scenario: &Scenario) {
    let progress = Progress::start();
    let dir = edt_testkit::tempdir().unwrap();
    let whole = copy(scenario, &dir.path().join("whole"));
    let old = outcome(&whole);
    let trace = traced(scenario, &whole, &dir.path().join("trace"), &all_calls());
    let new = outcome(&whole);
    let mut points = points(&trace);
    points.retain(|(call, _)| NAMING.contains(&call.as_str()));
    let mut faults = Vec::new();
    let with_copies = |one| copies().iter().map(move |flags| (one, *flags));
    for ((call, number), flags) in points.iter().flat_map(with_copies) {
        let place = dir.path().join("copy");
        let _ = std::fs::remove_dir_all(&place);
        let workspace = copy(scenario, &dir.path().join("killed"));
        killed(scenario, &workspace, dir.path(), call, *number);
        let mut cp = workspace.command("cp");
        assert!(cp.args(flags).arg(&workspace.root).arg(&place).status().unwrap().success());
        let copied = workspace.at(place);
        let status = copied.edt(&["status"]);
        let left = outcome(&copied);
        let mut must = |holds: bool, what: String| {
            let fault = format!("{call} {number}, cp {flags:?}: {what}");
            faults.extend((!holds).then_some(fault));
        };
        must(status.exit == 0, format!("edt status: {}", status.json));
        must(left == old || left == new, format!("neither old nor new: {:?}", left.1));
        let mut locks = copied.locks();
        // The next landing makes the Git directory for hooks again.
        locks.retain(|lock| !lock.starts_with("edt/main/land/"));
        must(locks.is_empty(), format!("locks left: {locks:?}"));
        let fsck = copied.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        must(fsck.status.success(), "git fsck".to_owned());
    }
    let count = points.len() * copies().len();
    progress.done("leftovers", scenario.name, count);
    assert!(count > 10, "{}: only {count} points", scenario.name);
    assert!(faults.is_empty(), "{}: of {count}:\n{}", scenario.name, faults.join("\n"));
}

#[test]
fn a_copy_of_a_repository_in_which_a_call_was_killed() {
    if has_strace() {
        survives_the_copy(&scenario("copied, landing", true, &["land"], None));
        survives_the_copy(&scenario("copied, edit", true, &["apply"], Some(several())));
        survives_the_copy(&scenario_in_tables("copied, landing, tables", &["land"], None));
        survives_the_copy(&scenario_in_tables("copied, edit, tables", &["apply"], Some(several())));
    }
}
