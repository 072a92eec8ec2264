//! Hooks are installed next to existing ones, and uninstalled to the last byte.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::hook_table::{By, Hooked, shell};
use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, same, walk};

/// Everything that an installation may change: the hooks directories with their modes, and the
/// configuration.
fn around(workspace: &TestRepo) -> Snapshot {
    let mut all = Snapshot::new();
    let common = workspace.git_dir("--git-common-dir");
    for name in ["hooks", ".husky", "team"] {
        let dir = if name == "hooks" { common.join(name) } else { workspace.root.join(name) };
        let mut below = Snapshot::new();
        walk(&dir, "", &mut below);
        all.insert(name.to_owned(), dir.is_dir().to_string().into_bytes());
        all.extend(below.into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
    }
    let config = common.join("config");
    let mode = config.metadata().unwrap().permissions().mode();
    all.insert(
        "config".to_owned(),
        [format!("{mode:o} ").into_bytes(), std::fs::read(config).unwrap()].concat(),
    );
    all
}

fn put(path: &Path, text: &str, mode: u32) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn did(answer: &Answer) -> Vec<(&str, &str)> {
    let steps = answer.json["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| (step["hook"].as_str().unwrap(), step["action"].as_str().unwrap()))
        .collect()
}

fn agent(workspace: &TestRepo, line: &str) -> Output {
    shell(workspace, By::Agent, line).output().unwrap()
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&[done.stdout.as_slice(), &done.stderr].concat()).into_owned()
}

const ALL: [&str; 3] = ["pre-commit", "pre-push", "reference-transaction"];

#[test]
fn uninstall_is_the_exact_inverse() {
    for receipt in [true, false] {
        for prepare in [
            (|_| ()) as fn(&TestRepo),
            |workspace| {
                for name in ALL {
                    put(
                        &workspace.root.join(".git/hooks").join(name),
                        "#!/bin/sh\nexit 0\n",
                        0o750,
                    );
                }
            },
            |workspace| {
                put(&workspace.root.join("tool"), "#!/bin/sh\nexit 0\n", 0o755);
                std::os::unix::fs::symlink(
                    "../../tool",
                    workspace.root.join(".git/hooks/pre-commit"),
                )
                .unwrap();
                put(&workspace.root.join(".git/hooks/pre-push"), "not executable", 0o644);
            },
            |workspace| {
                let config = workspace.root.join(".git/config");
                let text = std::fs::read_to_string(&config).unwrap();
                put(&config, &format!("{text}# no line break"), 0o600);
            },
        ] {
            let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
            prepare(&workspace);
            let before = around(&workspace);
            let dry = workspace.edt(&["hooks", "install", "--dry-run"]);
            same(&before, &around(&workspace));
            assert_eq!(
                did(&dry),
                did(&workspace.edt(&["hooks", "install"])),
                "a dry run reports what will be done"
            );
            let installed = around(&workspace);
            let again = workspace.edt(&["hooks", "install"]);
            assert_eq!(did(&again), ALL.map(|name| (name, "unchanged")));
            same(&installed, &around(&workspace));
            if !receipt {
                std::fs::remove_dir_all(workspace.root.join(".git/edt")).unwrap();
            }
            workspace.edt(&["hooks", "uninstall"]);
            same(&before, &around(&workspace));
            assert_eq!(did(&workspace.edt(&["hooks", "uninstall"])), []);
        }
    }
}

#[test]
fn uninstall_removes_a_hooks_directory_that_install_made() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    std::fs::remove_dir_all(workspace.root.join(".git/hooks")).unwrap();
    let before = around(&workspace);
    workspace.edt(&["hooks", "install"]);
    workspace.edt(&["hooks", "uninstall"]);
    same(&before, &around(&workspace));
    assert!(!workspace.root.join(".git/edt/hooks.json").exists());
}

#[test]
fn the_users_earlier_hook_runs_first_and_its_refusal_wins() {
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    for (name, shebang) in [
        ("pre-commit", "#!/bin/sh"),
        ("pre-push", "#!/usr/bin/env bash"),
        ("reference-transaction", "#!/bin/sh"),
    ] {
        let script = format!(
            "{shebang}\necho \"$0 $*\" >>$HOME/{name}\n[ {name} = pre-commit ] || cat >>$HOME/{name}\ntest ! -e $HOME/no\n"
        );
        put(&workspace.root.join(".git/hooks").join(name), &script, 0o755);
    }
    assert_eq!(did(&workspace.edt(&["hooks", "install"])), ALL.map(|name| (name, "chained")));
    let seen = |name: &str| std::fs::read_to_string(workspace.home.join(name)).unwrap_or_default();
    assert!(
        agent(workspace, "git commit -q --allow-empty -m x && git push -q origin main")
            .status
            .success()
    );
    let head = workspace.rev("HEAD");
    assert_eq!(seen("pre-commit"), ".git/hooks/pre-commit \n", "a shell script keeps its name");
    assert!(
        seen("pre-push")
            .contains(&format!("origin ../remote\nrefs/heads/main {head} refs/heads/main ")),
        "{}",
        seen("pre-push")
    );
    assert!(seen("reference-transaction").contains(&format!(" {head} refs/heads/main\n")));
    // Both judge: edt refuses what the first let pass, and the first what edt would.
    let done = agent(workspace, "git push origin edt/work");
    assert!(
        !done.status.success() && said(&done).contains("GIT_OPERATION_BLOCKED"),
        "{}",
        said(&done)
    );
    assert!(seen("pre-push").contains("refs/heads/edt/work"));
    std::fs::write(workspace.home.join("no"), "").unwrap();
    for line in
        ["git commit -q --allow-empty -m y", "git push -q origin main:new", "git branch new"]
    {
        assert!(!agent(workspace, line).status.success(), "{line}");
    }
}

#[test]
fn changes_since_the_installation_are_reported_and_kept() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let hook = |name: &str| workspace.root.join(".git/hooks").join(name);
    put(&hook("pre-commit"), "#!/bin/sh\n# first\n", 0o755);
    workspace.edt(&["hooks", "install"]);
    // Another program replaces the hook; the user adds to edt's own script; the user repairs the
    // hook that was kept.
    put(&hook("pre-commit"), "#!/bin/sh\n# other\n", 0o755);
    let mine = std::fs::read_to_string(hook("pre-push")).unwrap() + "# mine\n";
    put(&hook("pre-push"), &mine, 0o755);
    let refused = workspace.edt(&["hooks", "install"]);
    assert_eq!(
        (refused.codes(), refused.exit),
        (vec!["UNSUPPORTED_REPOSITORY"; 2], 5),
        "{:#}",
        refused.json
    );
    let answer = workspace.edt(&["hooks", "uninstall"]);
    let expected =
        [("pre-commit", "left"), ("pre-push", "left"), ("reference-transaction", "removed")];
    assert_eq!(did(&answer), expected, "{:#}", answer.json);
    let text = |name: &str| std::fs::read_to_string(hook(name)).unwrap();
    assert_eq!(text("pre-commit"), "#!/bin/sh\n# other\n");
    assert_eq!(text("pre-commit.before-edt"), "#!/bin/sh\n# first\n");
    assert_eq!(text("pre-push"), mine);
}

#[test]
fn a_kept_hook_that_the_user_repaired_is_restored_repaired() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let hook = |name: &str| workspace.root.join(".git/hooks").join(name);
    put(&hook("pre-commit"), "#!/bin/sh\n# first\n", 0o755);
    workspace.edt(&["hooks", "install"]);
    put(&hook("pre-commit.before-edt"), "#!/bin/sh\n# repaired\n", 0o700);
    assert_eq!(did(&workspace.edt(&["hooks", "uninstall"]))[0], ("pre-commit", "restored"));
    assert_eq!(std::fs::read_to_string(hook("pre-commit")).unwrap(), "#!/bin/sh\n# repaired\n");
    assert_eq!(hook("pre-commit").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_script_of_another_version_or_program_is_replaced() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let path = workspace.root.join(".git/hooks/pre-commit");
    // Put there by hand, from the repository of edt.
    let bare =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks/git/pre-commit"))
            .unwrap();
    put(&path, &bare, 0o755);
    assert_eq!(did(&workspace.edt(&["hooks", "status"]))[0], ("pre-commit", "installed"));
    assert_eq!(did(&workspace.edt(&["hooks", "install"]))[0], ("pre-commit", "updated"));
    assert!(std::fs::read_to_string(&path).unwrap().contains(&format!("recorded='{EDT}'")));
    put(&path, &std::fs::read_to_string(&path).unwrap(), 0o644);
    assert_eq!(
        did(&workspace.edt(&["hooks", "status"]))[0],
        ("pre-commit", "left"),
        "Git ignores it"
    );
    assert_eq!(did(&workspace.edt(&["hooks", "install"]))[0], ("pre-commit", "updated"));
    assert_eq!(did(&workspace.edt(&["hooks", "status"]))[0], ("pre-commit", "installed"));
}

#[test]
fn a_hooks_path_of_the_repositorys_own_is_used() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.git(&["config", "core.hooksPath", "team"]);
    put(&workspace.root.join("team/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    let before = around(&workspace);
    workspace.at(workspace.root.join("team")).edt(&["hooks", "install"]);
    assert!(workspace.root.join("team/reference-transaction").exists());
    let done = agent(&workspace, "mkdir -p s && cd s && git branch edt/x && git branch -D edt/x");
    assert!(
        !done.status.success() && said(&done).contains("GIT_OPERATION_BLOCKED"),
        "{}",
        said(&done)
    );
    workspace.edt(&["hooks", "uninstall"]);
    same(&before, &around(&workspace));
}

#[test]
fn a_shared_hooks_directory_is_refused_unless_forced() {
    let refused = |prepare: &dyn Fn(&TestRepo), words: &str| {
        let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
        prepare(&workspace);
        let answer = workspace
            .unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || workspace.edt(&["hooks", "install"]));
        assert!(
            answer.message().contains(words) && answer.hint().contains("--force"),
            "{:#}",
            answer.json
        );
        workspace
    };
    refused(
        &|workspace| drop(workspace.git(&["config", "--global", "core.hooksPath", "~/hooks"])),
        "global configuration",
    );
    refused(
        &|workspace| drop(workspace.git(&["config", "core.hooksPath", "../outside"])),
        "outside this repository",
    );
    let tracked = |workspace: &TestRepo| {
        workspace.git(&["config", "core.hooksPath", "team"]);
        put(&workspace.root.join("team/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
        workspace.git(&["add", "team"]);
    };
    let workspace = refused(&tracked, "tracked by Git");
    let before = around(&workspace);
    workspace.edt(&["hooks", "install", "--force"]);
    workspace.edt(&["hooks", "uninstall"]);
    same(&before, &around(&workspace));
}

/// Regression: a file named like a kept hook, which edt had not put there, became a live hook.
#[test]
fn a_kept_hook_that_edt_did_not_put_there_is_left_alone() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let stale = workspace.root.join(".git/hooks/pre-commit.before-edt");
    put(&stale, "#!/bin/sh\nexit 1\n", 0o755);
    let before = around(&workspace);
    let answer = workspace
        .unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || workspace.edt(&["hooks", "install"]));
    assert!(
        answer.message().contains("pre-commit.before-edt exists without edt's hook"),
        "{}",
        answer.message()
    );
    assert_eq!(did(&workspace.edt(&["hooks", "uninstall"])), []);
    same(&before, &around(&workspace));
}

/// Regression: a hook was taken for the one that is kept although its mode or kind was another, and
/// that was lost.
#[test]
fn a_hook_of_the_same_bytes_and_another_kind_is_another_hook() {
    for other in [(|at: &Path| put(at, "#!/bin/sh\n# first\n", 0o700)) as fn(&Path), |at: &Path| {
        put(&at.with_file_name("tool"), "#!/bin/sh\n# first\n", 0o755);
        std::fs::remove_file(at).unwrap();
        std::os::unix::fs::symlink("tool", at).unwrap();
    }] {
        let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
        let at = workspace.root.join(".git/hooks/pre-commit");
        put(&at, "#!/bin/sh\n# first\n", 0o755);
        workspace.edt(&["hooks", "install"]);
        other(&at);
        workspace
            .unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || workspace.edt(&["hooks", "install"]));
        assert_eq!(did(&workspace.edt(&["hooks", "uninstall"]))[0], ("pre-commit", "left"));
    }
}

/// Regression: only the configured directory was checked, and not its real path.
#[test]
fn a_hooks_directory_is_judged_by_its_real_path() {
    let refused = |prepare: &dyn Fn(&TestRepo), words: &str| {
        let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
        prepare(&workspace);
        let answer = workspace
            .unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || workspace.edt(&["hooks", "install"]));
        assert!(answer.message().contains(words), "{:#}", answer.json);
    };
    let link = |workspace: &TestRepo, target: &str| {
        std::fs::remove_dir_all(workspace.root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(target, workspace.root.join(".git/hooks")).unwrap();
    };
    refused(
        &|workspace| {
            std::fs::create_dir(workspace.root.parent().unwrap().join("shared")).unwrap();
            link(workspace, "../../shared");
        },
        "is outside this repository",
    );
    refused(
        &|workspace| {
            workspace.commit(&[("team/pre-commit", b"#!/bin/sh\n")]);
            link(workspace, "../team");
        },
        "is tracked by Git",
    );
    refused(
        &|workspace| drop(workspace.git(&["config", "core.hooksPath", ""])),
        "the repository itself",
    );
    refused(
        &|workspace| drop(workspace.git(&["config", "core.hooksPath", "."])),
        "the repository itself",
    );
}

/// Regression: a relative directory is another one in each worktree.
#[test]
fn a_worktree_without_hooks_under_a_relative_hooks_path_is_reported() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.git(&["config", "core.hooksPath", "team"]);
    std::fs::create_dir(workspace.root.join("team")).unwrap();
    workspace.git(&["worktree", "add", "--quiet", "../linked"]);
    let answer = workspace.edt(&["hooks", "install"]);
    let detail = answer.json["steps"][0]["detail"].as_str().unwrap_or_default().to_owned();
    assert!(detail.contains("linked, because core.hooksPath is relative"), "{:#}", answer.json);
    let doctor = workspace.edt(&["doctor"]);
    let printed = doctor.json["probes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["probe"] == "hooks")
        .unwrap()
        .clone();
    assert_eq!((doctor.exit, printed["health"].as_str()), (1, Some("not_live")), "{printed:#}");
    let next = printed["next"].as_str().unwrap();
    assert!(agent(&workspace, next.split('`').nth(1).unwrap()).status.success(), "{next}");
    assert_eq!(workspace.edt(&["doctor"]).exit, 0);
}

#[test]
fn a_hooks_directory_inside_a_worktrees_git_directory_belongs_to_that_worktree() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let answer = workspace.at(workspace.root.join(".git")).edt(&["hooks", "install"]);
    assert_eq!(did(&answer), ALL.map(|name| (name, "installed")));
    assert_eq!(workspace.edt(&["doctor"]).exit, 0);
}

#[test]
fn linked_worktrees_share_the_hooks() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.git(&["worktree", "add", "--quiet", "-b", "edt/x", "../linked"]);
    let linked = workspace.at(workspace.root.parent().unwrap().join("linked"));
    linked.edt(&["hooks", "install"]);
    assert_eq!(did(&workspace.edt(&["hooks", "status"])), ALL.map(|name| (name, "installed")));
    linked.write("m.txt", "<<<<<<< a\n=======\n>>>>>>> b\n");
    let done = agent(&linked, "git add m.txt && git commit -m x");
    assert!(said(&done).contains("CONFLICT_MARKERS m.txt"), "{}", said(&done));
    let done = agent(&linked, "git commit -q --no-verify -m x && git reset --hard HEAD~1");
    assert!(
        said(&done).contains("GIT_OPERATION_BLOCKED")
            && said(&done).contains(" restore --source=HEAD"),
        "{}",
        said(&done)
    );
}

/// A `git` that claims to be 2.54, and is otherwise the one on PATH.
fn pretends(workspace: &TestRepo) -> String {
    let real = Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
    let real = String::from_utf8(real).unwrap();
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\n[ \"$last\" = version ] && echo git version 2.54.0 && exit\nexec {} \"$@\"\n",
        real.trim()
    );
    let directory = workspace.home.join("bin");
    put(&directory.join("git"), &script, 0o755);
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_git_that_reads_hooks_from_its_configuration_gets_them_there() {
    for text in ["", "# no line break", "[hook \"mine\"]\n\tevent = pre-commit\n\tcommand = true\n"]
    {
        let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
        // What an older Git needed is taken away: else both would run.
        let config = workspace.root.join(".git/config");
        let original = std::fs::read_to_string(&config).unwrap() + text;
        put(&config, &original, 0o640);
        let before = around(&workspace);
        workspace.edt(&["hooks", "install"]);
        let path = pretends(&workspace);
        let hooks = |args: &[&str]| {
            let mut command = workspace.command(EDT);
            command.arg("hooks").args(args).arg("--json").env("PATH", &path);
            crate::test_repo::run(command, b"", args)
        };
        let answer = hooks(&["install"]);
        let removed = ALL.map(|name| (name, "removed"));
        assert_eq!(
            did(&answer),
            [removed, ALL.map(|name| (name, "installed"))].concat(),
            "{:#}",
            answer.json
        );
        assert_eq!(answer.json["mechanism"], "config");
        assert_eq!(did(&hooks(&["install"])), ALL.map(|name| (name, "unchanged")));
        assert_eq!(workspace.git(&["config", "hook.edt-pre-push.event"]).trim(), "pre-push");
        let command = workspace.git(&["config", "hook.edt-pre-push.command"]);
        assert!(
            command.starts_with("sh -c '") && command.trim_end().ends_with("' hook.edt-pre-push"),
            "{command}"
        );
        assert!(
            command.contains(EDT)
                && command.contains("command -v edt")
                && !command.contains("run_before()"),
            "{command}"
        );
        assert_eq!(did(&hooks(&["status"])), ALL.map(|name| (name, "installed")));
        // Also by an edt that finds an older Git again.
        let answer = workspace.edt(&["hooks", "uninstall"]);
        assert_eq!(did(&answer), ALL.map(|name| (name, "removed")));
        same(&before, &around(&workspace));
    }
}

/// With `EDT_TEST_NEWER_GIT`, a directory with `git` 2.54 or newer, hooks in its configuration are
/// tested.
#[test]
fn hooks_in_the_configuration_are_live() {
    let Ok(directory) = std::env::var("EDT_TEST_NEWER_GIT") else {
        println!("skipped: EDT_TEST_NEWER_GIT names no directory with a git of 2.54 or newer");
        return;
    };
    let hooked = Hooked::new();
    let workspace = &hooked.workspace;
    // Nothing in a hooks directory is in the way, not even husky's.
    workspace.git(&["config", "core.hooksPath", ".husky/_"]);
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
    let run = |line: &str| {
        let line = format!("PATH={path}; export PATH; {line}");
        said(&agent(workspace, &line))
    };
    assert!(run("git version").contains("git version 2.5"), "{}", run("git version"));
    assert!(run(&format!("{EDT} hooks install")).contains("hook.edt-pre-commit"));
    let doctor = run(&format!("{EDT} doctor"));
    assert!(
        doctor.contains("ok       hook pre-commit") && !doctor.contains("not live"),
        "{doctor}"
    );
    workspace.write("m.txt", "<<<<<<< a\n=======\n>>>>>>> b\n");
    assert!(run("git add m.txt && git commit -m x").contains("CONFLICT_MARKERS m.txt"));
    assert!(run("git push origin edt/work").contains("GIT_OPERATION_BLOCKED"));
    assert!(run("git branch -D edt/work").contains("GIT_OPERATION_BLOCKED"));
    for line in [
        "git branch -m edt/work edt/new",
        "git pack-refs --all",
        "git gc --quiet",
        "git commit -q --no-verify -m x",
    ] {
        assert_eq!(run(line), "", "{line}");
    }
    assert!(
        run("git branch -q release/1; git branch -M edt/new release/1")
            .contains("edt restored it at"),
        "a refused rename is rolled back"
    );
    // Regression: a missing edt passed in silence.
    let key = "hook.edt-reference-transaction.command";
    let kept = workspace.git(&["config", key]);
    workspace.git(&[
        "config",
        key,
        &kept.trim_end().replace(EDT, "/nowhere/edt").replace("command -v edt", "false"),
    ]);
    assert!(run("git branch -q loud").contains("Refs are NOT protected"));
    workspace.git(&["config", key, kept.trim_end()]);
    assert!(run(&format!("{EDT} hooks uninstall")).contains("removed"));
    assert_eq!(run("git branch -q -D edt/new"), "");
}
