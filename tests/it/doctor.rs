//! What `edt doctor` finds, by trying, and what it leaves: nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::hook_table::{By, Hooked, shell};
use crate::world::{Answer, EDT, Snapshot, World, run, same, walk};

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

/// Every file of the repository, objects and Git folder too.
fn everything(world: &World) -> Snapshot {
    let (mut all, mut git) = (Snapshot::new(), Snapshot::new());
    walk(&world.root, "", &mut all);
    walk(&world.root.join(".git"), "", &mut git);
    all.extend(git.into_iter().map(|(path, bytes)| (format!(".git/{path}"), bytes)));
    all
}

#[test]
fn without_hooks_nothing_is_live_and_all_else_is_well() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let answer = world.edt(&["doctor"]);
    assert_eq!((answer.exit, &answer.json["well"]), (1, &Value::Bool(false)));
    for probe in HOOKS {
        assert_eq!(health(&answer, probe), "not_live");
        assert!(
            found(&answer, probe).contains("not installed; nothing stops"),
            "{:#}",
            answer.json
        );
        assert_eq!(one(&answer, probe)["next"], "`edt hooks install` puts it in place.");
    }
    for probe in
        ["git", "repository", "identity", "writable", "file_system", "leftovers", "sessions"]
    {
        assert_eq!(health(&answer, probe), "ok", "{:#}", answer.json);
    }
}

#[test]
fn hooks_that_refuse_are_live_and_trying_leaves_nothing() {
    let always = |world: &World| drop(world.git(&["config", "core.logAllRefUpdates", "always"]));
    let without_sessions = |world: &World| {
        world.git(&["branch", "-q", "-D", "edt/work"]);
        world.git(&["update-ref", "-d", "refs/edt/work/base"]);
        std::fs::remove_dir(world.root.join(".git/refs/edt")).unwrap();
    };
    for prepare in [|_: &World| (), always, without_sessions] {
        let hooked = Hooked::new();
        let world = &hooked.world;
        prepare(world);
        world.edt(&["hooks", "install"]);
        world.write("a.txt", "uncommitted\n");
        world.write("m.txt", "staged\n");
        world.git(&["add", "m.txt"]);
        let before = everything(world);
        let answer = world.edt(&["doctor"]);
        assert_eq!(answer.exit, 0, "{:#}", answer.json);
        HOOKS.iter().for_each(|probe| assert_eq!(health(&answer, probe), "ok"));
        let after = everything(world);
        same(&before, &after);
    }
}

#[test]
fn an_unborn_branch_and_a_bare_repository_are_tried_too() {
    let world = World::unborn(&[]);
    world.edt(&["hooks", "install"]);
    assert_eq!(world.edt(&["doctor"]).exit, 0);
    let remote = Hooked::new().remote();
    assert!(!remote.root.exists(), "its world is gone");
    let hooked = Hooked::new();
    let remote = hooked.remote();
    assert_eq!(health(&remote.edt(&["doctor"]), "hook pre-receive"), "not_live");
    let fixed = remote.edt(&["doctor", "--fix"]);
    assert_eq!((fixed.exit, health(&fixed, "hook pre-receive")), (0, "ok"), "{:#}", fixed.json);
}

#[test]
fn fix_installs_the_hooks_and_says_so() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let answer = world.edt(&["doctor", "--fix"]);
    let installed =
        |answer: &Answer| answer.json["fixed"].to_string().matches("installed ").count();
    assert_eq!((answer.exit, installed(&answer)), (0, 3), "{:#}", answer.json);
    assert_eq!(installed(&world.edt(&["doctor", "--fix"])), 0);
}

#[test]
fn a_hook_that_is_there_and_does_not_refuse_is_not_live() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.edt(&["hooks", "install"]);
    let hook = |name: &str| world.root.join(".git/hooks").join(name);
    // Edt's own mark, and an early end: only trying tells.
    let text = std::fs::read_to_string(hook("pre-commit")).unwrap();
    std::fs::write(hook("pre-commit"), text.replacen("recorded=", "exit 0\nrecorded=", 1)).unwrap();
    std::fs::set_permissions(hook("pre-push"), PermissionsExt::from_mode(0o644)).unwrap();
    let text = std::fs::read_to_string(hook("reference-transaction")).unwrap();
    std::fs::write(hook("reference-transaction"), text.replace(EDT, "/nowhere/edt")).unwrap();
    let answer = world.edt(&["doctor"]);
    let told = HOOKS.map(|probe| (health(&answer, probe), found(&answer, probe).to_owned()));
    assert!(told.iter().all(|(health, _)| *health == "not_live"), "{told:?}");
    assert!(
        told[0].1.contains("did not refuse") && told[1].1.contains("not executable"),
        "{told:?}"
    );
    assert!(told[2].1.contains("'/nowhere/edt'; not on PATH"), "{told:?}");
}

#[test]
fn the_hook_that_stood_there_before_is_not_run_by_the_doctor() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let mark = world.home.join("ran");
    for name in ["pre-commit", "pre-push", "reference-transaction"] {
        let path = world.root.join(".git/hooks").join(name);
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    world.edt(&["hooks", "install"]);
    assert_eq!(world.edt(&["doctor"]).exit, 0);
    assert!(!mark.exists());
    world.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    assert!(mark.exists());
}

#[test]
fn a_git_folder_that_cannot_be_written_is_told() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let common: PathBuf = world.root.join(".git");
    // Root may write everywhere: another user asks.
    if !shell(&world, By::Agent, "command -v setpriv").output().unwrap().status.success() {
        println!("skipped: setpriv is not installed");
        return;
    }
    std::fs::set_permissions(&world.home, PermissionsExt::from_mode(0o755)).unwrap();
    world.git(&["config", "--global", "--add", "safe.directory", "*"]);
    let mut command = world.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", EDT, "doctor", "--json"]);
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    if text.is_empty() {
        println!("skipped: another user cannot be");
        return;
    }
    assert!(text.contains(&format!("{} cannot be written: ", common.display())), "{text}");
    assert!(text.contains("\"health\":\"broken\""), "{text}");
}

#[test]
fn a_session_without_its_base_is_told() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.git(&["branch", "edt/lost"]);
    let answer = world.edt(&["doctor"]);
    assert_eq!(health(&answer, "sessions"), "broken");
    assert_eq!(found(&answer, "sessions"), "Without a base: lost.");
    assert!(
        one(&answer, "sessions")["next"]
            .as_str()
            .unwrap()
            .contains("git update-ref refs/edt/lost/base")
    );
}

#[test]
fn what_a_killed_edt_left_is_removed_only_if_git_has_it() {
    let world = World::with(&[("a.txt", b"recorded\n")]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "x\n"]).landed();
    let stage = world.root.join(".git/edt/main/stage");
    let old = |name: &str, bytes: &[u8]| {
        std::fs::write(stage.join(name), bytes).unwrap();
        let path = stage.join(name);
        assert!(
            world.command("touch").args(["-d", "1 hour ago"]).arg(path).status().unwrap().success()
        );
    };
    old("1-0", b"recorded\n");
    old("1-1", b"nobody has this\n");
    old("../../../index.lock", b"");
    let answer = world.edt(&["doctor", "--fix"]);
    assert!(!stage.join("1-0").exists() && stage.join("1-1").exists(), "{:#}", answer.json);
    assert!(answer.json["fixed"][0].as_str().unwrap().contains("1-0, whose bytes Git has"));
    assert!(found(&answer, "leftovers").contains("index.lock has stood for"), "{:#}", answer.json);
    assert!(world.root.join(".git/index.lock").exists(), "a lock may be another program's");
}

/// The incident `reset_hard_unrecorded`: a refused ref update still rewrites files, and the doctor says so beforehand.
#[test]
fn reset_hard_unrecorded_doctor_says_what_hooks_cannot_protect() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    world.edt(&["hooks", "install"]);
    let answer = world.edt(&["doctor"]);
    let told = answer.json["not_protected"].to_string();
    for word in [
        "reset --hard",
        "checkout -f",
        "clean -fd",
        "--no-verify",
        "core.hooksPath",
        "rm -rf .git/refs",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // What edt recorded before its first edit survives the reset that destroys what is on disk.
    world.write("b.txt", "a person's unrecorded work\n");
    world.edt(&["apply", "b.txt", "--mode", "append", "--content", "the agent's\n"]);
    let tip = world.rev("HEAD");
    let done = shell(world, By::Agent, "git reset --hard HEAD~2").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("GIT_OPERATION_BLOCKED") && said.contains("edt recorded it"), "{said}");
    assert_eq!((world.rev("HEAD"), world.text("b.txt").as_str()), (tip, "two\n"));
    let repair = said.split("next: `").nth(1).unwrap().split('`').next().unwrap();
    assert!(shell(world, By::Agent, repair).status().unwrap().success());
    assert_eq!(world.text("b.txt"), "a person's unrecorded work\nthe agent's\n");
}

#[test]
fn outside_a_repository_the_doctor_says_so() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let mut command = world.at(&world.home).command(EDT);
    command.args(["doctor", "--json"]);
    let answer = run(command, b"", &["doctor"]);
    assert_eq!((answer.codes(), answer.exit), (vec!["NOT_A_REPOSITORY"], 5));
}

/// Regression: the probe staged what policy may let pass, so the hook was not live for ever.
#[test]
fn a_hook_is_live_whatever_the_policy_lets_pass() {
    let world = World::with(&[("edt.toml", b"[guards.conflict_markers]\nmode = \"off\"\n")]);
    world.edt(&["hooks", "install"]);
    assert_eq!(health(&world.edt(&["doctor"]), "hook pre-commit"), "ok");
}

/// Regression: the refusal to install took the place of the whole report.
#[test]
fn a_fix_that_is_refused_is_one_line_of_the_report() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    let answer = world.edt(&["doctor", "--fix"]);
    assert_eq!((answer.exit, health(&answer, "git")), (1, "ok"), "{:#}", answer.json);
    assert!(found(&answer, "fix").contains("global configuration"), "{:#}", answer.json);
    let next = one(&answer, "fix")["next"].as_str().unwrap().to_owned();
    let line = next.split('`').nth(1).unwrap();
    assert!(
        shell(&world, By::Agent, &format!("mkdir s && cd s && {line}")).status().unwrap().success(),
        "{next}"
    );
    assert_eq!(world.edt(&["doctor", "--fix"]).exit, 0);
}

/// Regression: a doctor that was killed left a ref that its own hook then kept.
#[test]
fn what_a_killed_doctor_left_is_told_and_removed() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.edt(&["hooks", "install"]);
    world.git(&["update-ref", "refs/edt/doctor-999999999/probe", "HEAD"]);
    let answer = world.edt(&["doctor"]);
    assert_eq!(
        found(&answer, "leftovers"),
        "A killed doctor left refs/edt/doctor-999999999/probe."
    );
    assert_eq!(world.edt(&["doctor", "--fix"]).exit, 0);
    assert_eq!(world.git(&["for-each-ref", "refs/edt"]), "");
}
