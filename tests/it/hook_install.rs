//! Hooks put in place beside what is there, and taken away to the last byte.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::hook_table::{By, Hooked, shell};
use crate::world::{Answer, EDT, Snapshot, World, same, walk};

/// Everything that installing may change: the hooks folders with their modes, and the configuration.
fn around(world: &World) -> Snapshot {
    let mut all = Snapshot::new();
    let common = world.git_dir("--git-common-dir");
    for name in ["hooks", ".husky", "team"] {
        let dir = if name == "hooks" { common.join(name) } else { world.root.join(name) };
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
        .map(|step| (step["hook"].as_str().unwrap(), step["did"].as_str().unwrap()))
        .collect()
}

fn agent(world: &World, line: &str) -> Output {
    shell(world, By::Agent, line).output().unwrap()
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&[done.stdout.as_slice(), &done.stderr].concat()).into_owned()
}

const ALL: [&str; 3] = ["pre-commit", "pre-push", "reference-transaction"];

#[test]
fn uninstall_is_the_exact_inverse() {
    for receipt in [true, false] {
        for prepare in [
            (|_| ()) as fn(&World),
            |world| {
                for name in ALL {
                    put(&world.root.join(".git/hooks").join(name), "#!/bin/sh\nexit 0\n", 0o750);
                }
            },
            |world| {
                put(&world.root.join("tool"), "#!/bin/sh\nexit 0\n", 0o755);
                std::os::unix::fs::symlink("../../tool", world.root.join(".git/hooks/pre-commit"))
                    .unwrap();
                put(&world.root.join(".git/hooks/pre-push"), "not executable", 0o644);
            },
            |world| {
                let config = world.root.join(".git/config");
                let text = std::fs::read_to_string(&config).unwrap();
                put(&config, &format!("{text}# no line break"), 0o600);
            },
        ] {
            let world = World::with(&[("a.txt", b"a\n")]);
            prepare(&world);
            let before = around(&world);
            let dry = world.edt(&["hooks", "install", "--dry-run"]);
            same(&before, &around(&world));
            assert_eq!(
                did(&dry),
                did(&world.edt(&["hooks", "install"])),
                "a dry run tells what will be done"
            );
            let installed = around(&world);
            let again = world.edt(&["hooks", "install"]);
            assert_eq!(did(&again), ALL.map(|name| (name, "unchanged")));
            same(&installed, &around(&world));
            if !receipt {
                std::fs::remove_dir_all(world.root.join(".git/edt")).unwrap();
            }
            world.edt(&["hooks", "uninstall"]);
            same(&before, &around(&world));
            assert_eq!(did(&world.edt(&["hooks", "uninstall"])), []);
        }
    }
}

#[test]
fn a_hooks_folder_that_was_not_there_goes_again() {
    let world = World::with(&[("a.txt", b"a\n")]);
    std::fs::remove_dir_all(world.root.join(".git/hooks")).unwrap();
    let before = around(&world);
    world.edt(&["hooks", "install"]);
    world.edt(&["hooks", "uninstall"]);
    same(&before, &around(&world));
    assert!(!world.root.join(".git/edt/hooks.json").exists());
}

#[test]
fn the_hook_that_stood_there_runs_first_and_its_refusal_wins() {
    let hooked = Hooked::new();
    let world = &hooked.world;
    for (name, shebang) in [
        ("pre-commit", "#!/bin/sh"),
        ("pre-push", "#!/usr/bin/env bash"),
        ("reference-transaction", "#!/bin/sh"),
    ] {
        let script = format!(
            "{shebang}\necho \"$0 $*\" >>$HOME/{name}\n[ {name} = pre-commit ] || cat >>$HOME/{name}\ntest ! -e $HOME/no\n"
        );
        put(&world.root.join(".git/hooks").join(name), &script, 0o755);
    }
    assert_eq!(did(&world.edt(&["hooks", "install"])), ALL.map(|name| (name, "chained")));
    let seen = |name: &str| std::fs::read_to_string(world.home.join(name)).unwrap_or_default();
    assert!(
        agent(world, "git commit -q --allow-empty -m x && git push -q origin main")
            .status
            .success()
    );
    let head = world.rev("HEAD");
    assert_eq!(seen("pre-commit"), ".git/hooks/pre-commit \n", "a shell script keeps its name");
    assert!(
        seen("pre-push")
            .contains(&format!("origin ../remote\nrefs/heads/main {head} refs/heads/main ")),
        "{}",
        seen("pre-push")
    );
    assert!(seen("reference-transaction").contains(&format!(" {head} refs/heads/main\n")));
    // Both judge: edt refuses what the first let pass, and the first what edt would.
    let done = agent(world, "git push origin edt/work");
    assert!(
        !done.status.success() && said(&done).contains("GIT_OPERATION_BLOCKED"),
        "{}",
        said(&done)
    );
    assert!(seen("pre-push").contains("refs/heads/edt/work"));
    std::fs::write(world.home.join("no"), "").unwrap();
    for line in
        ["git commit -q --allow-empty -m y", "git push -q origin main:new", "git branch new"]
    {
        assert!(!agent(world, line).status.success(), "{line}");
    }
}

#[test]
fn what_was_changed_meanwhile_is_told_and_not_destroyed() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let hook = |name: &str| world.root.join(".git/hooks").join(name);
    put(&hook("pre-commit"), "#!/bin/sh\n# first\n", 0o755);
    world.edt(&["hooks", "install"]);
    // Another program takes the place; a person adds to edt's own script; the hook that was kept is mended.
    put(&hook("pre-commit"), "#!/bin/sh\n# other\n", 0o755);
    let mine = std::fs::read_to_string(hook("pre-push")).unwrap() + "# mine\n";
    put(&hook("pre-push"), &mine, 0o755);
    let refused = world.edt(&["hooks", "install"]);
    assert_eq!(
        (refused.codes(), refused.exit),
        (vec!["UNSUPPORTED_REPOSITORY"; 2], 5),
        "{:#}",
        refused.json
    );
    let answer = world.edt(&["hooks", "uninstall"]);
    let expected =
        [("pre-commit", "left"), ("pre-push", "left"), ("reference-transaction", "removed")];
    assert_eq!(did(&answer), expected, "{:#}", answer.json);
    let text = |name: &str| std::fs::read_to_string(hook(name)).unwrap();
    assert_eq!(text("pre-commit"), "#!/bin/sh\n# other\n");
    assert_eq!(text("pre-commit.before-edt"), "#!/bin/sh\n# first\n");
    assert_eq!(text("pre-push"), mine);
}

#[test]
fn a_kept_hook_that_was_mended_meanwhile_comes_back_mended() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let hook = |name: &str| world.root.join(".git/hooks").join(name);
    put(&hook("pre-commit"), "#!/bin/sh\n# first\n", 0o755);
    world.edt(&["hooks", "install"]);
    put(&hook("pre-commit.before-edt"), "#!/bin/sh\n# mended\n", 0o700);
    assert_eq!(did(&world.edt(&["hooks", "uninstall"]))[0], ("pre-commit", "restored"));
    assert_eq!(std::fs::read_to_string(hook("pre-commit")).unwrap(), "#!/bin/sh\n# mended\n");
    assert_eq!(hook("pre-commit").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_script_of_another_version_or_program_is_replaced() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let path = world.root.join(".git/hooks/pre-commit");
    // Put there by hand, from the repository of edt.
    let bare =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks/git/pre-commit"))
            .unwrap();
    put(&path, &bare, 0o755);
    assert_eq!(did(&world.edt(&["hooks", "status"]))[0], ("pre-commit", "installed"));
    assert_eq!(did(&world.edt(&["hooks", "install"]))[0], ("pre-commit", "updated"));
    assert!(std::fs::read_to_string(&path).unwrap().contains(&format!("recorded='{EDT}'")));
    put(&path, &std::fs::read_to_string(&path).unwrap(), 0o644);
    assert_eq!(did(&world.edt(&["hooks", "status"]))[0], ("pre-commit", "left"), "Git ignores it");
    assert_eq!(did(&world.edt(&["hooks", "install"]))[0], ("pre-commit", "updated"));
    assert_eq!(did(&world.edt(&["hooks", "status"]))[0], ("pre-commit", "installed"));
}

#[test]
fn a_hooks_path_of_the_repositorys_own_is_used() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.git(&["config", "core.hooksPath", "team"]);
    put(&world.root.join("team/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
    let before = around(&world);
    world.at(world.root.join("team")).edt(&["hooks", "install"]);
    assert!(world.root.join("team/reference-transaction").exists());
    let done = agent(&world, "mkdir -p s && cd s && git branch edt/x && git branch -D edt/x");
    assert!(
        !done.status.success() && said(&done).contains("GIT_OPERATION_BLOCKED"),
        "{}",
        said(&done)
    );
    world.edt(&["hooks", "uninstall"]);
    same(&before, &around(&world));
}

#[test]
fn a_hooks_folder_that_others_use_too_is_refused_unless_forced() {
    let refused = |prepare: &dyn Fn(&World), words: &str| {
        let world = World::with(&[("a.txt", b"a\n")]);
        prepare(&world);
        let answer =
            world.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || world.edt(&["hooks", "install"]));
        assert!(
            answer.message().contains(words) && answer.hint().contains("--force"),
            "{:#}",
            answer.json
        );
        world
    };
    refused(
        &|world| drop(world.git(&["config", "--global", "core.hooksPath", "~/hooks"])),
        "global configuration",
    );
    refused(
        &|world| drop(world.git(&["config", "core.hooksPath", "../outside"])),
        "outside this repository",
    );
    let tracked = |world: &World| {
        world.git(&["config", "core.hooksPath", "team"]);
        put(&world.root.join("team/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
        world.git(&["add", "team"]);
    };
    let world = refused(&tracked, "tracked by Git");
    let before = around(&world);
    world.edt(&["hooks", "install", "--force"]);
    world.edt(&["hooks", "uninstall"]);
    same(&before, &around(&world));
}

/// Regression: a file named like a kept hook, which edt had not put there, became a live hook.
#[test]
fn a_kept_hook_that_edt_did_not_put_there_is_left_alone() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let stale = world.root.join(".git/hooks/pre-commit.before-edt");
    put(&stale, "#!/bin/sh\nexit 1\n", 0o755);
    let before = around(&world);
    let answer =
        world.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || world.edt(&["hooks", "install"]));
    assert!(
        answer.message().contains("pre-commit.before-edt stands alone"),
        "{}",
        answer.message()
    );
    assert_eq!(did(&world.edt(&["hooks", "uninstall"])), []);
    same(&before, &around(&world));
}

/// Regression: a hook was taken for the one that is kept although its mode or kind was another, and that was lost.
#[test]
fn a_hook_of_the_same_bytes_and_another_kind_is_another_hook() {
    for other in [(|at: &Path| put(at, "#!/bin/sh\n# first\n", 0o700)) as fn(&Path), |at: &Path| {
        put(&at.with_file_name("tool"), "#!/bin/sh\n# first\n", 0o755);
        std::fs::remove_file(at).unwrap();
        std::os::unix::fs::symlink("tool", at).unwrap();
    }] {
        let world = World::with(&[("a.txt", b"a\n")]);
        let at = world.root.join(".git/hooks/pre-commit");
        put(&at, "#!/bin/sh\n# first\n", 0o755);
        world.edt(&["hooks", "install"]);
        other(&at);
        world.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || world.edt(&["hooks", "install"]));
        assert_eq!(did(&world.edt(&["hooks", "uninstall"]))[0], ("pre-commit", "left"));
    }
}

/// Regression: only a configured folder was looked at, and not what it really is.
#[test]
fn a_hooks_folder_is_judged_by_where_it_really_is() {
    let refused = |prepare: &dyn Fn(&World), words: &str| {
        let world = World::with(&[("a.txt", b"a\n")]);
        prepare(&world);
        let answer =
            world.unchanged(&["UNSUPPORTED_REPOSITORY"], 5, || world.edt(&["hooks", "install"]));
        assert!(answer.message().contains(words), "{:#}", answer.json);
    };
    let link = |world: &World, target: &str| {
        std::fs::remove_dir_all(world.root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink(target, world.root.join(".git/hooks")).unwrap();
    };
    refused(
        &|world| {
            std::fs::create_dir(world.root.parent().unwrap().join("shared")).unwrap();
            link(world, "../../shared");
        },
        "lies outside this repository",
    );
    refused(
        &|world| {
            world.commit(&[("team/pre-commit", b"#!/bin/sh\n")]);
            link(world, "../team");
        },
        "is tracked by Git",
    );
    refused(&|world| drop(world.git(&["config", "core.hooksPath", ""])), "the repository itself");
    refused(&|world| drop(world.git(&["config", "core.hooksPath", "."])), "the repository itself");
}

/// Regression: a relative folder means another one in each worktree.
#[test]
fn a_worktree_that_a_relative_hooks_path_leaves_unguarded_is_told() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.git(&["config", "core.hooksPath", "team"]);
    std::fs::create_dir(world.root.join("team")).unwrap();
    world.git(&["worktree", "add", "--quiet", "../linked"]);
    let answer = world.edt(&["hooks", "install"]);
    let detail = answer.json["steps"][0]["detail"].as_str().unwrap_or_default().to_owned();
    assert!(detail.contains("linked, because core.hooksPath is relative"), "{:#}", answer.json);
    let doctor = world.edt(&["doctor"]);
    let told = doctor.json["probes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["probe"] == "hooks")
        .unwrap()
        .clone();
    assert_eq!((doctor.exit, told["health"].as_str()), (1, Some("not_live")), "{told:#}");
    let next = told["next"].as_str().unwrap();
    assert!(agent(&world, next.split('`').nth(1).unwrap()).status.success(), "{next}");
    assert_eq!(world.edt(&["doctor"]).exit, 0);
}

#[test]
fn inside_the_git_folder_of_a_worktree_the_hooks_are_a_worktrees() {
    let world = World::with(&[("a.txt", b"a\n")]);
    let answer = world.at(world.root.join(".git")).edt(&["hooks", "install"]);
    assert_eq!(did(&answer), ALL.map(|name| (name, "installed")));
    assert_eq!(world.edt(&["doctor"]).exit, 0);
}

#[test]
fn linked_worktrees_share_the_hooks() {
    let world = World::with(&[("a.txt", b"a\n")]);
    world.git(&["worktree", "add", "--quiet", "-b", "edt/x", "../linked"]);
    let linked = world.at(world.root.parent().unwrap().join("linked"));
    linked.edt(&["hooks", "install"]);
    assert_eq!(did(&world.edt(&["hooks", "status"])), ALL.map(|name| (name, "installed")));
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

/// A `git` that says it is 2.54, and is the one on PATH in all else.
fn pretends(world: &World) -> String {
    let real = Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
    let real = String::from_utf8(real).unwrap();
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\n[ \"$last\" = version ] && echo git version 2.54.0 && exit\nexec {} \"$@\"\n",
        real.trim()
    );
    let folder = world.home.join("bin");
    put(&folder.join("git"), &script, 0o755);
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_git_that_reads_hooks_from_its_configuration_gets_them_there() {
    for text in ["", "# no line break", "[hook \"mine\"]\n\tevent = pre-commit\n\tcommand = true\n"]
    {
        let world = World::with(&[("a.txt", b"a\n")]);
        // What an older Git needed is taken away: else both would run.
        let config = world.root.join(".git/config");
        let original = std::fs::read_to_string(&config).unwrap() + text;
        put(&config, &original, 0o640);
        let before = around(&world);
        world.edt(&["hooks", "install"]);
        let path = pretends(&world);
        let hooks = |args: &[&str]| {
            let mut command = world.command(EDT);
            command.arg("hooks").args(args).arg("--json").env("PATH", &path);
            crate::world::run(command, b"", args)
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
        assert_eq!(world.git(&["config", "hook.edt-pre-push.event"]).trim(), "pre-push");
        let command = world.git(&["config", "hook.edt-pre-push.command"]);
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
        let answer = world.edt(&["hooks", "uninstall"]);
        assert_eq!(did(&answer), ALL.map(|name| (name, "removed")));
        same(&before, &around(&world));
    }
}

/// With `EDT_TEST_NEWER_GIT` naming a folder that holds a `git` of 2.54 or newer, hooks in its configuration are tried for real.
#[test]
fn hooks_in_the_configuration_are_live() {
    let Ok(folder) = std::env::var("EDT_TEST_NEWER_GIT") else {
        println!("skipped: EDT_TEST_NEWER_GIT names no folder with a git of 2.54 or newer");
        return;
    };
    let hooked = Hooked::new();
    let world = &hooked.world;
    // Nothing in a hooks folder is in the way, not even husky's.
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let run = |line: &str| {
        let line = format!("PATH={path}; export PATH; {line}");
        said(&agent(world, &line))
    };
    assert!(run("git version").contains("git version 2.5"), "{}", run("git version"));
    assert!(run(&format!("{EDT} hooks install")).contains("hook.edt-pre-commit"));
    let doctor = run(&format!("{EDT} doctor"));
    assert!(
        doctor.contains("ok       hook pre-commit") && !doctor.contains("not live"),
        "{doctor}"
    );
    world.write("m.txt", "<<<<<<< a\n=======\n>>>>>>> b\n");
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
        run("git branch -q release/1; git branch -M edt/new release/1").contains("it is at"),
        "a refused rename is taken back"
    );
    // Regression: a missing edt passed in silence.
    let key = "hook.edt-reference-transaction.command";
    let kept = world.git(&["config", key]);
    world.git(&[
        "config",
        key,
        &kept.trim_end().replace(EDT, "/nowhere/edt").replace("command -v edt", "false"),
    ]);
    assert!(run("git branch -q loud").contains("Refs are NOT protected"));
    world.git(&["config", key, kept.trim_end()]);
    assert!(run(&format!("{EDT} hooks uninstall")).contains("removed"));
    assert_eq!(run("git branch -q -D edt/new"), "");
}
