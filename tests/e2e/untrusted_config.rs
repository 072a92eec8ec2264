//! Nothing that a repository names is executed before the user trusted it: a canary in every place
//! where Git would run a program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::test_repo::TestRepo;

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

/// A program that records its caller.
fn canary(workspace: &TestRepo) -> (PathBuf, PathBuf) {
    let (program, sung) = (workspace.home.join("canary"), workspace.home.join("sung"));
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat >/dev/null 2>&1\nexit 0\n", sung.display()),
    )
    .unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    (program, sung)
}

fn hooks_in(directory: &Path, program: &Path, names: &[&str]) {
    std::fs::create_dir_all(directory).unwrap();
    for name in names {
        std::fs::copy(program, directory.join(name)).unwrap();
    }
}

/// Sets every setting, in the configuration and in a file that it includes.
fn poison(workspace: &TestRepo, program: &Path) {
    let included = workspace.root.join(".git/more");
    for (key, value) in SETTINGS {
        let value = value.replace("{}", program.to_str().unwrap());
        workspace.git(&["config", key, &value]);
        workspace.git(&["config", "--file", included.to_str().unwrap(), key, &value]);
    }
    for event in HOOKS {
        for name in ["evil", "a=b"] {
            workspace.git(&["config", "--add", &format!("hook.{name}.event"), event]);
        }
    }
    workspace.git(&["config", "include.path", "more"]);
    std::fs::write(
        workspace.root.join(".git/info/attributes"),
        "*.evil filter=evil diff=evil merge=evil\n*.txt diff=evil merge=evil\n",
    )
    .unwrap();
}

/// Every command of edt but `land`.
fn every_command(workspace: &TestRepo) {
    let place = workspace.root.parent().unwrap().join("beside");
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
        let answer = workspace.edt(args);
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

fn place() -> TestRepo {
    let workspace =
        TestRepo::with(&[("a.txt", b"one\n"), ("a.evil", b"evil\n"), (".gitignore", b"ignored\n")]);
    workspace.write("untracked.txt", "u\n");
    // In the sandbox the canary could not be heard.
    workspace.programs_as_user();
    workspace
}

#[test]
fn no_program_of_the_git_configuration_runs() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    poison(&workspace, &program);
    every_command(&workspace);
    silent(&sung);
    // With a split index, which only Git rewrites, edt's calls of Git must not run any either.
    workspace.git(&[
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
    workspace.edt(&["begin", "u"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "y\n"]);
    silent(&sung);
}

#[test]
fn no_hook_runs_but_those_of_a_commit_when_a_session_lands() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    hooks_in(&workspace.root.join(".git/hooks"), &program, HOOKS);
    every_command(&workspace);
    silent(&sung);
    // `.git/hooks` is not what a clone brings: a landing asks it as `git commit` would.
    workspace.edt(&["begin", "l"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]);
    workspace.edt(&["land"]).landed();
    let names: Vec<String> = std::fs::read_to_string(&sung)
        .unwrap()
        .lines()
        .map(|line| line.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]);
}

#[test]
fn hooks_that_are_content_of_the_repository_wait_for_trust() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    hooks_in(&workspace.root.join(".husky/_"), &program, HOOKS);
    workspace.write(".husky/pre-commit", "make lint\n");
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "hooks of the team"]);
    workspace.git(&["config", "core.hooksPath", ".husky/_"]);
    every_command(&workspace);
    silent(&sung);
    workspace.edt(&["begin", "l"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    let held = workspace.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
    assert!(
        held.message().contains(".husky/_/pre-commit") || held.message().contains(".husky/"),
        "{}",
        held.message()
    );
    silent(&sung);
    let listed = workspace.edt(&["trust", "--list"]);
    assert_eq!(listed.json["hooks"]["trust"], "untrusted", "{:#}", listed.json);
    assert!(
        listed.json["hooks"]["files"].as_array().unwrap().contains(&json!(".husky/pre-commit")),
        "{:#}",
        listed.json
    );
    let (exit, screen) = workspace.at_terminal("trust", "yes\n");
    assert_eq!(exit, Some(0), "{screen}");
    assert!(screen.contains(".husky/_/pre-commit"), "{screen}");
    // What changes needs new trust, the file that a hook of husky's runs included.
    let husky = ["apply", ".husky/pre-commit", "--mode", "append", "--content", "rm -rf /\n"];
    assert_eq!(workspace.edt(&husky).codes(), ["APPROVAL_REQUIRED"]);
    workspace.unprotect(".husky/**");
    workspace.programs_as_user();
    workspace.edt(&husky).landed();
    assert_eq!(workspace.edt(&["land"]).codes(), ["TRUST_REQUIRED"]);
    silent(&sung);
    workspace.edt(&["undo"]).landed();
    workspace.edt(&["land"]).landed();
    assert!(sung.exists(), "trusted hooks run");
}

#[test]
fn a_signing_program_or_a_link_among_the_hooks_that_is_content_waits_too() {
    for linked in [false, true] {
        let workspace = place();
        let (program, sung) = canary(&workspace);
        std::fs::copy(&program, workspace.root.join("tool.sh")).unwrap();
        workspace.git(&["add", "--all"]);
        workspace.git(&["commit", "--quiet", "-m", "a tool"]);
        if linked {
            std::fs::create_dir_all(workspace.root.join(".git/hooks")).unwrap();
            std::os::unix::fs::symlink(
                "../../tool.sh",
                workspace.root.join(".git/hooks/pre-commit"),
            )
            .unwrap();
        } else {
            workspace.git(&["config", "commit.gpgSign", "true"]);
            workspace.git(&["config", "gpg.program", "./tool.sh"]);
        }
        workspace.edt(&["begin", "l"]);
        workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
        workspace.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
        silent(&sung);
    }
}

#[test]
fn the_doctor_runs_no_hook_of_the_worktree_that_only_looks_like_edts() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    workspace.git(&["config", "core.hooksPath", "hooks"]);
    let text = std::fs::read_to_string(&program).unwrap();
    // Marked as edt's, with a checksum that anybody can compute.
    let bare = format!("# edt-hook 1\n{text}");
    let sealed = format!("# edt-hook 1 {:08x}\n{text}", crc32fast::hash(bare.as_bytes()));
    for name in ["pre-commit", "pre-push", "reference-transaction"] {
        for forged in [&sealed, &format!("# edt-hook 1 00000000\n{text}")] {
            workspace.write(&format!("hooks/{name}"), forged);
            std::fs::set_permissions(
                workspace.root.join("hooks").join(name),
                PermissionsExt::from_mode(0o755),
            )
            .unwrap();
            workspace.edt(&["doctor"]);
            workspace.edt(&["hooks", "status"]);
            silent(&sung);
        }
    }
}

#[test]
fn a_hook_that_is_a_file_of_another_worktree_waits_too() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    workspace.write("scripts/pre-commit", std::fs::read(&program).unwrap());
    std::fs::set_permissions(
        workspace.root.join("scripts/pre-commit"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "a hook"]);
    let other = workspace.root.with_file_name("other");
    workspace.edt(&["begin", "w", "--worktree", other.to_str().unwrap()]).landed();
    let other = workspace.at(&other);
    other.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    let directory = workspace.root.join("scripts");
    workspace.git(&["config", "core.hooksPath", directory.to_str().unwrap()]);
    other.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
    silent(&sung);
}

#[test]
fn a_program_whose_path_has_a_space_is_seen() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    workspace.write("my hooks/sign", std::fs::read(&program).unwrap());
    std::fs::set_permissions(
        workspace.root.join("my hooks/sign"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "a tool"]);
    workspace.git(&["config", "commit.gpgSign", "true"]);
    workspace.git(&["config", "gpg.program", "my hooks/sign"]);
    workspace.edt(&["begin", "l"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    workspace.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
    silent(&sung);
}

#[test]
fn a_hook_that_is_left_out_after_the_fact_is_named() {
    let workspace = place();
    let (program, sung) = canary(&workspace);
    hooks_in(&workspace.root.join(".husky"), &program, &["post-commit"]);
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "a hook"]);
    workspace.git(&["config", "core.hooksPath", ".husky"]);
    workspace.edt(&["begin", "l"]);
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "z\n"]).landed();
    let landed = workspace.edt(&["land"]);
    assert_eq!(landed.json["warnings"][0]["code"], "hook_not_run", "{:#}", landed.json);
    silent(&sung);
}
