//! What `edt doctor` finds, by trying, and what it leaves: nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::hook_table::{By, Hooked, shell};
use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, run, same, walk};

fn health<'a>(answer: &'a Answer, probe: &str) -> &'a str {
    one(answer, probe)["health"].as_str().unwrap()
}

fn found<'a>(answer: &'a Answer, probe: &str) -> &'a str {
    one(answer, probe)["found"].as_str().unwrap()
}

#[track_caller]
fn one<'a>(answer: &'a Answer, probe: &str) -> &'a Value {
    let probes = answer.json["probes"].as_array().unwrap();
    probes
        .iter()
        .find(|one| one["probe"] == probe)
        .unwrap_or_else(|| panic!("{probe}: {:#}", answer.json))
}

const HOOKS: [&str; 3] = ["hook pre-commit", "hook pre-push", "hook reference-transaction"];

/// Every file of the repository, with objects and the Git directory.
fn everything(workspace: &TestRepo) -> Snapshot {
    let (mut all, mut git) = (Snapshot::new(), Snapshot::new());
    walk(&workspace.root, "", &mut all);
    walk(&workspace.root.join(".git"), "", &mut git);
    all.extend(git.into_iter().map(|(path, bytes)| (format!(".git/{path}"), bytes)));
    all
}

#[test]
fn without_hooks_nothing_is_live_and_all_else_is_well() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let answer = workspace.edt(&["doctor"]);
    assert_eq!((answer.exit, &answer.json["healthy"]), (1, &Value::Bool(false)));
    for probe in HOOKS {
        assert_eq!(health(&answer, probe), "not_live");
        assert!(
            found(&answer, probe).contains("not installed; nothing stops"),
            "{:#}",
            answer.json
        );
        assert_eq!(one(&answer, probe)["next"], "`edt hooks install` installs it.");
    }
    for probe in
        ["git", "repository", "identity", "writable", "file_system", "leftovers", "sessions"]
    {
        assert_eq!(health(&answer, probe), "ok", "{:#}", answer.json);
    }
}

#[test]
fn hooks_that_refuse_are_live_and_trying_leaves_nothing() {
    let always =
        |workspace: &TestRepo| drop(workspace.git(&["config", "core.logAllRefUpdates", "always"]));
    let without_sessions = |workspace: &TestRepo| {
        workspace.git(&["branch", "-q", "-D", "edt/work"]);
        workspace.git(&["update-ref", "-d", "refs/edt/work/base"]);
        std::fs::remove_dir(workspace.root.join(".git/refs/edt")).unwrap();
    };
    for prepare in [|_: &TestRepo| (), always, without_sessions] {
        let hooked = Hooked::new();
        let workspace = &hooked.workspace;
        prepare(workspace);
        workspace.edt(&["hooks", "install"]);
        workspace.write("a.txt", "uncommitted\n");
        workspace.write("m.txt", "staged\n");
        workspace.git(&["add", "m.txt"]);
        let before = everything(workspace);
        let answer = workspace.edt(&["doctor"]);
        assert_eq!(answer.exit, 0, "{:#}", answer.json);
        HOOKS.iter().for_each(|probe| assert_eq!(health(&answer, probe), "ok"));
        let after = everything(workspace);
        same(&before, &after);
    }
}

#[test]
fn an_unborn_branch_and_a_bare_repository_are_tried_too() {
    let workspace = TestRepo::unborn(&[]);
    workspace.edt(&["hooks", "install"]);
    assert_eq!(workspace.edt(&["doctor"]).exit, 0);
    let remote = Hooked::new().remote();
    assert!(!remote.root.exists(), "its repository is removed");
    let hooked = Hooked::new();
    let remote = hooked.remote();
    assert_eq!(health(&remote.edt(&["doctor"]), "hook pre-receive"), "not_live");
    let fixed = remote.edt(&["doctor", "--fix"]);
    assert_eq!((fixed.exit, health(&fixed, "hook pre-receive")), (0, "ok"), "{:#}", fixed.json);
}

#[test]
fn fix_installs_the_hooks_and_reports_it() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let answer = workspace.edt(&["doctor", "--fix"]);
    let installed =
        |answer: &Answer| answer.json["fixed"].to_string().matches("installed ").count();
    assert_eq!((answer.exit, installed(&answer)), (0, 3), "{:#}", answer.json);
    assert_eq!(installed(&workspace.edt(&["doctor", "--fix"])), 0);
}

#[test]
fn a_hook_that_is_there_and_does_not_refuse_is_not_live() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.edt(&["hooks", "install"]);
    let hook = |name: &str| workspace.root.join(".git/hooks").join(name);
    // The script has edt's mark and ends early: only an attempt shows it.
    let text = std::fs::read_to_string(hook("pre-commit")).unwrap();
    std::fs::write(hook("pre-commit"), text.replacen("recorded=", "exit 0\nrecorded=", 1)).unwrap();
    std::fs::set_permissions(hook("pre-push"), PermissionsExt::from_mode(0o644)).unwrap();
    let text = std::fs::read_to_string(hook("reference-transaction")).unwrap();
    std::fs::write(hook("reference-transaction"), text.replace(EDT, "/nowhere/edt")).unwrap();
    let answer = workspace.edt(&["doctor"]);
    let printed = HOOKS.map(|probe| (health(&answer, probe), found(&answer, probe).to_owned()));
    assert!(printed.iter().all(|(health, _)| *health == "not_live"), "{printed:?}");
    assert!(
        printed[0].1.contains("did not refuse") && printed[1].1.contains("not executable"),
        "{printed:?}"
    );
    assert!(printed[2].1.contains("'/nowhere/edt'; not on PATH"), "{printed:?}");
}

#[test]
fn the_doctor_does_not_run_the_users_earlier_hook() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let mark = workspace.home.join("ran");
    for name in ["pre-commit", "pre-push", "reference-transaction"] {
        let path = workspace.root.join(".git/hooks").join(name);
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    workspace.edt(&["hooks", "install"]);
    assert_eq!(workspace.edt(&["doctor"]).exit, 0);
    assert!(!mark.exists());
    workspace.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    assert!(mark.exists());
}

#[test]
fn a_read_only_git_directory_is_reported() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let common: PathBuf = workspace.root.join(".git");
    // Root may write everywhere: another user asks.
    if !shell(&workspace, By::Agent, "command -v setpriv").output().unwrap().status.success() {
        println!("skipped: setpriv is not installed");
        return;
    }
    std::fs::set_permissions(&workspace.home, PermissionsExt::from_mode(0o755)).unwrap();
    workspace.git(&["config", "--global", "--add", "safe.directory", "*"]);
    let mut command = workspace.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", EDT, "doctor", "--json"]);
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    if text.is_empty() {
        println!("skipped: another user cannot be");
        return;
    }
    assert!(text.contains(&format!("{} is not writable: ", common.display())), "{text}");
    assert!(text.contains("\"health\":\"broken\""), "{text}");
}

#[test]
fn a_session_without_its_base_is_reported() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.git(&["branch", "edt/lost"]);
    let answer = workspace.edt(&["doctor"]);
    assert_eq!(health(&answer, "sessions"), "broken");
    assert_eq!(found(&answer, "sessions"), "These sessions have no base: lost.");
    assert!(
        one(&answer, "sessions")["next"]
            .as_str()
            .unwrap()
            .contains("git update-ref refs/edt/lost/base")
    );
}

#[test]
fn what_a_killed_edt_left_is_removed_only_if_git_has_it() {
    let workspace = TestRepo::with(&[("a.txt", b"recorded\n")]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    let stage = workspace.root.join(".git/edt/main/stage");
    let old = |name: &str, bytes: &[u8]| {
        std::fs::write(stage.join(name), bytes).unwrap();
        let path = stage.join(name);
        assert!(
            workspace
                .command("touch")
                .args(["-d", "1 hour ago"])
                .arg(path)
                .status()
                .unwrap()
                .success()
        );
    };
    old("1-0", b"recorded\n");
    old("1-1", b"nobody has this\n");
    let locks = ["index.lock", "packed-refs.lock", "refs/heads/edt/side.lock"];
    std::fs::create_dir_all(workspace.root.join(".git/refs/heads/edt")).unwrap();
    locks.iter().for_each(|lock| old(&format!("../../../{lock}"), b""));
    let answer = workspace.edt(&["doctor", "--fix"]);
    assert!(!stage.join("1-0").exists() && stage.join("1-1").exists(), "{:#}", answer.json);
    assert!(answer.json["fixed"][0].as_str().unwrap().contains("1-0, whose content Git has"));
    for lock in locks {
        assert!(answer.json.to_string().contains(&format!("{lock} is")), "{:#}", answer.json);
        assert!(workspace.root.join(".git").join(lock).exists(), "it may be another program's");
    }
}

/// The incident `reset_hard_unrecorded`: a refused ref update still rewrites files, and the doctor
/// warns of it.
#[test]
fn a_displaced_file_that_is_kept_is_named() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.overwrite("a.txt", "b\n");
    workspace.write(".git/edt/main/stage/kept-1f-0123abcd-0", "the user's\n");
    let answer = workspace.edt(&["doctor"]);
    assert!(found(&answer, "leftovers").contains("stage/kept-1f-0123abcd-0"), "{:#}", answer.json);
    workspace.edt(&["doctor", "--fix"]);
    assert_eq!(workspace.text(".git/edt/main/stage/kept-1f-0123abcd-0"), "the user's\n");
}

#[test]
fn reset_hard_unrecorded_the_doctor_reports_what_hooks_cannot_protect() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    workspace.edt(&["hooks", "install"]);
    let answer = workspace.edt(&["doctor"]);
    let printed = answer.json["not_protected"].to_string();
    for word in [
        "reset --hard",
        "checkout -f",
        "clean -fd",
        "--no-verify",
        "core.hooksPath",
        "rm -rf .git/refs",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    // What edt kept with its edit survives the reset that destroys what is on disk.
    workspace.edt(&["apply", "new.txt", "--mode", "create", "--content", "the agent's\n"]);
    workspace.write("b.txt", "a user's unrecorded work\n");
    workspace.edt(&["apply", "b.txt", "--mode", "append", "--content", "the agent's\n"]);
    let tip = workspace.rev("HEAD");
    let done = shell(workspace, By::Agent, "git reset --hard HEAD~2").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("GIT_OPERATION_BLOCKED"), "{said}");
    assert!(said.contains("edt restore PATH --to N"), "{said}");
    assert_eq!((workspace.rev("HEAD"), workspace.text("b.txt").as_str()), (tip, "two\n"));
    let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap();
    assert!(shell(workspace, By::Agent, repair).status().unwrap().success());
    workspace.edt(&["restore", "b.txt", "--to", "2"]).landed();
    assert_eq!(workspace.text("b.txt"), "a user's unrecorded work\nthe agent's\n");
}

#[test]
fn outside_a_repository_the_doctor_reports_that() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let mut command = workspace.at(&workspace.home).command(EDT);
    command.args(["doctor", "--json"]);
    let answer = run(command, b"", &["doctor"]);
    assert_eq!((answer.codes(), answer.exit), (vec!["NOT_A_REPOSITORY"], 5));
}

/// Regression: the probe staged what policy may let pass, so the hook was not live for ever.
#[test]
fn a_hook_is_live_under_every_policy() {
    let workspace = TestRepo::with(&[("edt.toml", b"[guards.conflict_markers]\nmode = \"off\"\n")]);
    workspace.edt(&["hooks", "install"]);
    assert_eq!(health(&workspace.edt(&["doctor"]), "hook pre-commit"), "ok");
}

/// Regression: the refusal to install replaced the complete report.
#[test]
fn a_refused_fix_is_one_line_of_the_report() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    let answer = workspace.edt(&["doctor", "--fix"]);
    assert_eq!((answer.exit, health(&answer, "git")), (1, "ok"), "{:#}", answer.json);
    assert!(found(&answer, "fix").contains("global configuration"), "{:#}", answer.json);
    let next = one(&answer, "fix")["next"].as_str().unwrap().to_owned();
    let line = next.split('`').nth(1).unwrap();
    assert!(
        shell(&workspace, By::Agent, &format!("mkdir s && cd s && {line}"))
            .status()
            .unwrap()
            .success(),
        "{next}"
    );
    assert_eq!(workspace.edt(&["doctor", "--fix"]).exit, 0);
}

/// Regression: a doctor that was killed left a ref that its own hook then kept.
#[test]
fn the_remains_of_a_killed_doctor_are_reported_and_removed() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.edt(&["hooks", "install"]);
    workspace.git(&["update-ref", "refs/edt/doctor-999999999/probe", "HEAD"]);
    let answer = workspace.edt(&["doctor"]);
    assert_eq!(
        found(&answer, "leftovers"),
        "A killed `edt doctor` left refs/edt/doctor-999999999/probe."
    );
    assert_eq!(workspace.edt(&["doctor", "--fix"]).exit, 0);
    assert_eq!(workspace.git(&["for-each-ref", "refs/edt"]), "");
}
