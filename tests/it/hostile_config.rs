//! Nothing that a repository names is executed before a person trusted it: a canary in every place where Git would run a program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::trust::at_terminal;
use crate::world::World;

/// Every hook that Git knows.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// Settings that name a program; `{}` is the canary.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "{}"),
    ("core.pager", "{}"),
    ("core.editor", "{}"),
    ("core.askPass", "{}"),
    ("core.sshCommand", "{}"),
    ("core.gitProxy", "{}"),
    ("core.alternateRefsCommand", "{}"),
    ("sequence.editor", "{}"),
    ("diff.external", "{}"),
    ("diff.evil.command", "{}"),
    ("diff.evil.textconv", "{}"),
    ("filter.evil.clean", "{}"),
    ("filter.evil.smudge", "{}"),
    ("filter.evil.process", "{}"),
    ("merge.evil.driver", "{} %O %A %B"),
    ("merge.default", "evil"),
    ("credential.helper", "!{}"),
    ("gpg.program", "{}"),
    ("gpg.ssh.program", "{}"),
    ("gpg.ssh.defaultKeyCommand", "{}"),
    ("alias.status", "!{}"),
    ("alias.repack", "!{}"),
    ("alias.update-ref", "!{}"),
    ("alias.hook", "!{}"),
    ("uploadpack.packObjectsHook", "{}"),
    ("gc.recentObjectsHook", "{}"),
    ("trailer.evil.command", "{}"),
    ("trailer.evil.cmd", "{}"),
    ("pager.log", "{}"),
    ("pager.diff", "{}"),
    ("interactive.diffFilter", "{}"),
    ("man.evil.cmd", "{}"),
    ("browser.evil.cmd", "{}"),
    ("difftool.evil.cmd", "{}"),
    ("mergetool.evil.cmd", "{}"),
    ("remote.origin.url", "ext::{}"),
    ("remote.origin.uploadpack", "{}"),
    ("remote.origin.promisor", "true"),
    ("protocol.ext.allow", "always"),
    ("hook.evil.command", "{}"),
    ("hook.a=b.command", "{}"),
];

/// A program that tells who ran it.
fn canary(world: &World) -> (PathBuf, PathBuf) {
    let (program, sung) = (world.home.join("canary"), world.home.join("sung"));
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat >/dev/null 2>&1\nexit 0\n", sung.display()),
    )
    .unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    (program, sung)
}

fn hooks_in(folder: &Path, program: &Path, names: &[&str]) {
    std::fs::create_dir_all(folder).unwrap();
    for name in names {
        std::fs::copy(program, folder.join(name)).unwrap();
    }
}

/// Sets every setting, in the configuration and in a file that it includes.
fn poison(world: &World, program: &Path) {
    let included = world.root.join(".git/more");
    for (key, value) in SETTINGS {
        let value = value.replace("{}", program.to_str().unwrap());
        world.git(&["config", key, &value]);
        world.git(&["config", "--file", included.to_str().unwrap(), key, &value]);
    }
    for event in HOOKS {
        for name in ["evil", "a=b"] {
            world.git(&["config", "--add", &format!("hook.{name}.event"), event]);
        }
    }
    world.git(&["config", "include.path", "more"]);
    std::fs::write(
        world.root.join(".git/info/attributes"),
        "*.evil filter=evil diff=evil merge=evil\n*.txt diff=evil merge=evil\n",
    )
    .unwrap();
}

/// Every command of edt's but `land`.
fn every_command(world: &World) {
    let place = world.root.parent().unwrap().join("beside");
    let place = place.to_str().unwrap();
    let all: &[&[&str]] = &[
        &["status"],
        &["begin", "s"],
        &["apply", "a.txt", "--mode", "append", "--content", "x\n"],
        &["apply", "new.txt", "--mode", "create", "--content", "x\n"],
        &["apply", "a.evil", "--mode", "append", "--content", "x\n"],
        &["check", "a.txt", "--mode", "append", "--content", "x\n"],
        &["read", "a.txt"],
        &["read", "a.evil"],
        &["log"],
        &["show"],
        &["diff"],
        &["undo"],
        &["redo"],
        &["restore", "a.txt"],
        &["checkpoint"],
        &["guards"],
        &["trust", "--list"],
        &["hooks", "status"],
        &["doctor"],
        &["gc"],
        &["gc", "--abandoned", "0"],
        &["begin", "t", "--worktree", place],
        &["abandon"],
        &["status"],
    ];
    for args in all {
        let answer = world.edt(args);
        assert_ne!(answer.exit, 70, "{args:?}: {:#}", answer.json);
    }
}

#[track_caller]
fn silent(sung: &Path) {
    assert!(
        !sung.exists(),
        "the canary sang: {}",
        std::fs::read_to_string(sung).unwrap_or_default()
    );
}

fn place() -> World {
    let world =
        World::with(&[("a.txt", b"one\n"), ("a.evil", b"evil\n"), (".gitignore", b"ignored\n")]);
    world.write("untracked.txt", "u\n");
    world
}

#[test]
fn no_program_of_the_git_configuration_runs() {
    let world = place();
    let (program, sung) = canary(&world);
    poison(&world, &program);
    every_command(&world);
    silent(&sung);
    // With a split index, which only Git rewrites, edt's calls of Git must not run any either.
    world.git(&[
        "-c",
        "core.fsmonitor=false",
        "-c",
        "filter.evil.process=",
        "-c",
        "filter.evil.clean=",
        "update-index",
        "--split-index",
    ]);
    let _ = std::fs::remove_file(&sung);
    world.edt(&["begin", "u"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "y\n"]);
    silent(&sung);
}

#[test]
fn no_hook_runs_but_those_of_a_commit_when_a_session_lands() {
    let world = place();
    let (program, sung) = canary(&world);
    hooks_in(&world.root.join(".git/hooks"), &program, HOOKS);
    every_command(&world);
    silent(&sung);
    // `.git/hooks` is not what a clone brings: a landing asks it as `git commit` would.
    world.edt(&["begin", "l"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]);
    world.edt(&["land"]).landed();
    let names: Vec<String> = std::fs::read_to_string(&sung)
        .unwrap()
        .lines()
        .map(|line| line.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]);
}

#[test]
fn hooks_that_are_content_of_the_repository_wait_for_trust() {
    let world = place();
    let (program, sung) = canary(&world);
    hooks_in(&world.root.join(".husky/_"), &program, HOOKS);
    world.write(".husky/pre-commit", "make lint\n");
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "hooks of the team"]);
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    every_command(&world);
    silent(&sung);
    world.edt(&["begin", "l"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    let held = world.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
    assert!(
        held.message().contains(".husky/_/pre-commit") || held.message().contains(".husky/"),
        "{}",
        held.message()
    );
    silent(&sung);
    let listed = world.edt(&["trust", "--list"]);
    assert_eq!(listed.json["hooks"]["trust"], "awaited", "{:#}", listed.json);
    assert!(
        listed.json["hooks"]["files"].as_array().unwrap().contains(&json!(".husky/pre-commit")),
        "{:#}",
        listed.json
    );
    let (exit, screen) = at_terminal(&world, "yes\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert!(screen.contains(".husky/_/pre-commit"), "{screen}");
    // What changes needs new trust, the file that a hook of husky's runs included.
    world
        .edt(&["apply", ".husky/pre-commit", "--mode", "append", "--content", "rm -rf /\n"])
        .landed();
    assert_eq!(world.edt(&["land"]).codes(), ["TRUST_REQUIRED"]);
    silent(&sung);
    world.edt(&["undo"]).landed();
    world.edt(&["land"]).landed();
    assert!(sung.exists(), "trusted hooks run");
}

#[test]
fn a_signing_program_or_a_link_among_the_hooks_that_is_content_waits_too() {
    for linked in [false, true] {
        let world = place();
        let (program, sung) = canary(&world);
        std::fs::copy(&program, world.root.join("tool.sh")).unwrap();
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "-m", "a tool"]);
        if linked {
            std::fs::create_dir_all(world.root.join(".git/hooks")).unwrap();
            std::os::unix::fs::symlink("../../tool.sh", world.root.join(".git/hooks/pre-commit"))
                .unwrap();
        } else {
            world.git(&["config", "commit.gpgSign", "true"]);
            world.git(&["config", "gpg.program", "./tool.sh"]);
        }
        world.edt(&["begin", "l"]);
        world.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
        world.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
        silent(&sung);
    }
}

#[test]
fn the_doctor_runs_no_hook_of_the_worktree_that_only_looks_like_edts() {
    let world = place();
    let (program, sung) = canary(&world);
    world.git(&["config", "core.hooksPath", "hooks"]);
    let text = std::fs::read_to_string(&program).unwrap();
    // Marked as edt's, with a checksum that anybody can compute.
    let bare = format!("# edt-hook 1\n{text}");
    let sealed = format!("# edt-hook 1 {:08x}\n{text}", crc32fast::hash(bare.as_bytes()));
    for name in ["pre-commit", "pre-push", "reference-transaction"] {
        for forged in [&sealed, &format!("# edt-hook 1 00000000\n{text}")] {
            world.write(&format!("hooks/{name}"), forged);
            std::fs::set_permissions(
                world.root.join("hooks").join(name),
                PermissionsExt::from_mode(0o755),
            )
            .unwrap();
            world.edt(&["doctor"]);
            world.edt(&["hooks", "status"]);
            silent(&sung);
        }
    }
}

#[test]
fn a_hook_that_is_a_file_of_another_worktree_waits_too() {
    let world = place();
    let (program, sung) = canary(&world);
    world.write("scripts/pre-commit", std::fs::read(&program).unwrap());
    std::fs::set_permissions(
        world.root.join("scripts/pre-commit"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "a hook"]);
    let other = world.root.with_file_name("other");
    world.edt(&["begin", "w", "--worktree", other.to_str().unwrap()]).landed();
    let other = world.at(&other);
    other.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    let folder = world.root.join("scripts");
    world.git(&["config", "core.hooksPath", folder.to_str().unwrap()]);
    other.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
    silent(&sung);
}

#[test]
fn a_program_whose_path_has_a_space_is_seen() {
    let world = place();
    let (program, sung) = canary(&world);
    world.write("my hooks/sign", std::fs::read(&program).unwrap());
    std::fs::set_permissions(world.root.join("my hooks/sign"), PermissionsExt::from_mode(0o755))
        .unwrap();
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "a tool"]);
    world.git(&["config", "commit.gpgSign", "true"]);
    world.git(&["config", "gpg.program", "my hooks/sign"]);
    world.edt(&["begin", "l"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    world.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
    silent(&sung);
}

#[test]
fn a_hook_that_is_left_out_after_the_fact_is_named() {
    let world = place();
    let (program, sung) = canary(&world);
    hooks_in(&world.root.join(".husky"), &program, &["post-commit"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "-m", "a hook"]);
    world.git(&["config", "core.hooksPath", ".husky"]);
    world.edt(&["begin", "l"]);
    world.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    let landed = world.edt(&["land"]);
    assert_eq!(landed.json["warnings"][0]["code"], "trust_required", "{:#}", landed.json);
    silent(&sung);
}
