//! While an approved program runs, nothing that its approval covers changes.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::test_repo::TestRepo;

const POLICY: &[u8] =
    b"[[command]]\nname = \"deploy\"\nargv = [\"./deploy.sh\"]\ndecision = \"ask\"\n\
    reason = \"It reaches production.\"\nmatch = [\"./deploy.sh\"]\n";

/// Waits for `go`, and writes what it executed.
const SCRIPT: &str = "#!/bin/sh\necho started > started.txt\nuntil [ -e go ]; do sleep 0.05; done\n\
                      echo deployed > done.txt\n";

fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[
        ("a.txt", b"one\n"),
        ("edt.toml", POLICY),
        (".gitignore", b"go\n"),
        ("deploy.sh", SCRIPT.as_bytes()),
    ]);
    workspace.git(&["update-index", "--chmod=+x", "deploy.sh"]);
    workspace.git(&["commit", "-qm", "executable"]);
    workspace.git(&["checkout", "-q", "--", "deploy.sh"]);
    workspace
}

/// Asks for `./deploy.sh`, and approves it.
fn approved() -> TestRepo {
    let workspace = workspace();
    let asked = workspace.runs(&[], &["./deploy.sh"]);
    assert_eq!(asked.codes(), ["APPROVAL_REQUIRED"], "{:#}", asked.json);
    assert!(asked.message().contains("no network access"), "{}", asked.message());
    let (status, screen) = workspace.at_terminal("approve p1", "yes\n");
    assert_eq!(status, Some(0), "{screen}");
    workspace
}

fn start(workspace: &TestRepo, argv: &[&str]) -> Child {
    let mut command = workspace.command(crate::test_repo::EDT);
    command.args(["--json", "run", "--"]).args(argv);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn wait_for(workspace: &TestRepo, path: &str) {
    let since = Instant::now();
    while !workspace.exists(path) {
        assert!(since.elapsed() < Duration::from_secs(60), "{path}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_that_an_approval_covers_changes_while_its_program_runs() {
    let workspace = approved();
    let mut running = start(&workspace, &["./deploy.sh"]);
    wait_for(&workspace, "started.txt");
    let edit = |path: &str| {
        workspace.edt(&["apply", path, "--mode", "append", "--content", "echo evil\n"])
    };
    let refused = edit("deploy.sh");
    assert_eq!(refused.codes(), ["SESSION_BUSY"], "{:#}", refused.json);
    assert!(refused.hint().contains("when the program has ended"), "{}", refused.hint());
    assert_eq!(workspace.runs(&[], &["true"]).codes(), ["SESSION_BUSY"]);
    assert_eq!(edit("a.txt").codes(), [""; 0], "other edits go on");
    workspace.write("go", "");
    assert!(running.wait().unwrap().success());
    assert_eq!(workspace.text("done.txt"), "deployed\n");
    assert_eq!(workspace.text("deploy.sh"), SCRIPT);
    assert_eq!(workspace.runs(&[], &["true"]).codes(), [""; 0]);
    assert_eq!(edit("deploy.sh").codes(), [""; 0]);
}

#[test]
fn an_approval_that_waits_for_another_program_is_not_used() {
    let workspace = approved();
    let script = "echo started > started.txt; until [ -e go ]; do sleep 0.05; done";
    let mut running = start(&workspace, &["sh", "-c", script]);
    wait_for(&workspace, "started.txt");
    std::fs::remove_file(workspace.root.join("started.txt")).unwrap();
    let refused = workspace.runs(&[], &["./deploy.sh"]);
    assert_eq!(refused.codes(), ["SESSION_BUSY"], "{:#}", refused.json);
    let listed = workspace.edt(&["proposals"]).json;
    assert_eq!(listed["proposals"][0]["state"], "approved", "{listed:#}");
    workspace.write("go", "");
    running.wait().unwrap();
    let done = workspace.runs(&[], &["./deploy.sh"]);
    assert_eq!(done.codes(), [""; 0], "{:#}", done.json);
}

#[test]
fn several_proposals_are_approved_in_one_call() {
    let workspace = workspace();
    workspace.runs(&[], &["./deploy.sh"]);
    workspace.runs(&[], &["./deploy.sh", "again"]);
    workspace.runs(&[], &["./deploy.sh", "thrice"]);
    let states = || {
        let listed = workspace.edt(&["proposals", "--all"]).json;
        let all = listed["proposals"].as_array().unwrap().clone();
        all.iter().map(|one| one["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (status, screen) = workspace.at_terminal("approve 1 2", "yes\nno\n");
    assert_eq!((status, states().join(" ")), (Some(0), "approved open open".into()), "{screen}");
    let (status, screen) = workspace.at_terminal("approve", "yes\nyes\n");
    assert_eq!((status, states().join(" ")), (Some(0), "approved approved approved".into()));
    assert!(screen.contains("again") && screen.contains("thrice"), "{screen}");
    let (_, screen) = workspace.at_terminal("approve", "");
    assert!(screen.contains("Nothing was approved"), "{screen}");
}
