//! What an agent that has edt's calls alone tried to get past, and does not.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::test_repo::{Answer, EDT, TestRepo, run};

fn as_agent(repo: &TestRepo, env: &[(&str, &str)], stdin: &str, args: &[&str]) -> Answer {
    let mut command = repo.command(EDT);
    command.env("EDT_AGENT", "1").envs(env.iter().copied()).args(args).arg("--json");
    run(command, stdin.as_bytes(), args)
}

fn create(path: &str, content: &str) -> String {
    json!({"path": path, "mode": "create", "content": content}).to_string()
}

fn executable(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn an_agents_new_worktree_is_no_place_of_settings() {
    let repo = TestRepo::with(&[("tasks.json", b"{}\n")]);
    let home = repo.home.join(".config/autostart");
    for place in [".vscode", ".git/x", "../.hidden", home.to_str().unwrap(), "/usr/x", "/root/x"] {
        let held = as_agent(&repo, &[], "", &["begin", "s", "--worktree", place]);
        assert_eq!((held.codes(), held.exit), (vec!["APPROVAL_REQUIRED"], 4), "{place}");
        assert!(!repo.root.join(place).exists(), "{place}");
    }
    std::fs::create_dir_all(&home).unwrap();
    symlink(&home, repo.root.join("link")).unwrap();
    let held = as_agent(&repo, &[], "", &["begin", "s", "--worktree", "link/x"]);
    assert_eq!(held.codes(), ["APPROVAL_REQUIRED"]);
    let beside = ["begin", "s", "--worktree", "../beside"];
    assert_eq!(as_agent(&repo, &[], "", &beside).exit, 0);
}

#[test]
fn what_nobody_reviewed_is_not_checked_out() {
    let repo = TestRepo::with(&[("a.txt", b"one\n"), (".husky/pre-commit", b"true\n")]);
    let evil = json!({"path": ".husky/pre-commit", "mode": "overwrite", "content": "evil\n"});
    let held = as_agent(&repo, &[], &evil.to_string(), &["apply", "--request", "-"]);
    assert_eq!(held.codes(), ["APPROVAL_REQUIRED"]);
    repo.git(&["switch", "--quiet", "-c", "pr7"]);
    repo.commit(&[(".envrc", b"evil\n")]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["branch", "plain", "main"]);
    for from in ["refs/edt/proposals/1", "pr7"] {
        let held = as_agent(&repo, &[], "", &["begin", "s", "--from", from]);
        assert_eq!((held.codes(), held.exit), (vec!["PROTECTED_PATH"], 1), "{from}");
    }
    as_agent(&repo, &[], "", &["begin", "s", "--from", "plain"]).landed();
    as_agent(&repo, &[], &create("b.txt", "b\n"), &["apply", "--request", "-"]).landed();
    let held = as_agent(&repo, &[], "", &["land", "--into", "pr7"]);
    assert_eq!(held.codes(), ["PROTECTED_PATH"], "{:#}", held.json);
    assert_eq!((repo.text(".husky/pre-commit").as_str(), repo.exists(".envrc")), ("true\n", false));
    repo.as_user(b"", &["land", "--into", "pr7"], &[]).landed();
}

#[test]
fn of_what_a_fetch_brought_only_the_upstream_is_reviewed() {
    let repo = TestRepo::with(&[("a.txt", b"one\n")]);
    let origin = repo.home.join("origin");
    repo.git(&["clone", "--quiet", "--bare", ".", origin.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    repo.git(&["switch", "--quiet", "-c", "next"]);
    repo.commit(&[(".envrc", b"next\n")]);
    repo.git(&["push", "--quiet", "origin", "next:main"]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["branch", "-qD", "next"]);
    repo.git(&["fetch", "--quiet", "origin", "+refs/heads/main:refs/remotes/fork/main"]);
    let begin = |name: &str, from: &str| {
        as_agent(&repo, &[], "", &["begin", name, "--no-switch", "--from", from])
    };
    let held = begin("s", "refs/remotes/fork/main");
    assert_eq!(held.codes(), ["PROTECTED_PATH"], "{:#}", held.json);
    repo.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(begin("s", "origin/main").codes(), ["PROTECTED_PATH"]);
    repo.git(&["branch", "--quiet", "--set-upstream-to=origin/main", "main"]);
    begin("s", "origin/main").landed();
}

#[test]
fn a_directory_in_a_home_repository_is_not_of_that_repository() {
    let repo = TestRepo::with(&[("a.txt", b"one\n")]);
    repo.git(&["init", "--quiet", repo.home.to_str().unwrap()]);
    let project = repo.home.join("project");
    std::fs::create_dir(&project).unwrap();
    let there = repo.at(&project);
    let apply = ["apply", "b.txt", "--mode", "create", "--content", "b\n"];
    for args in [&apply[..], &["begin"], &["status"]] {
        let refused = as_agent(&there, &[], "", args);
        assert_eq!(refused.codes(), ["NOT_A_REPOSITORY"], "{:#}", refused.json);
        assert!(refused.hint().contains("git init"), "{}", refused.hint());
    }
    assert!(!project.join("b.txt").exists());
    let home = repo.at(&repo.home);
    assert_eq!(as_agent(&home, &[], "", &["status"]).codes(), [""; 0]);
}

#[test]
fn what_a_hook_stages_needs_the_approval_that_an_edit_needs() {
    let policy = b"[[protect]]\npaths = [\"secure/**\"]\n";
    let repo = TestRepo::with(&[
        ("a.txt", b"one\n"),
        ("edt.toml", policy),
        ("secure/a", b"ok\n"),
        ("Makefile", b"lint:\n\t@true\n"),
    ]);
    executable(&repo.root.join(".git/hooks/pre-commit"), "make -s lint");
    let before = repo.rev("main");
    let stage = "$o,.envrc --cacheinfo 100644,$o,secure/a --cacheinfo 100644,$o,ok.txt";
    for script in [
        format!("git update-index --add --cacheinfo 100644,{stage}"),
        "git rm -q --cached edt.toml".to_owned(),
        "git update-index --add --cacheinfo 120000,$o,.vscode".to_owned(),
        "git update-index --add --cacheinfo 100644,$o,.gitattributes".to_owned(),
    ] {
        let script = format!("o=$(echo pwn|git hash-object -w --stdin)\n{script}\n");
        let make = json!({"path": "Makefile", "mode": "overwrite",
            "content": "lint:\n\t@sh lint.sh\n"});
        as_agent(&repo, &[], &make.to_string(), &["apply", "--request", "-"]).landed();
        as_agent(&repo, &[], &create("lint.sh", &script), &["apply", "--request", "-"]).landed();
        let held = as_agent(&repo, &[], "", &["land"]);
        assert!(held.codes().contains(&"APPROVAL_REQUIRED"), "{script}: {:#}", held.json);
        assert_eq!(repo.rev("main"), before, "{script}");
        as_agent(&repo, &[], "", &["abandon"]).landed();
    }
    assert!(!repo.exists(".envrc"));
    // A landing of several commits has one that edt did not record: it is held before.
    let script = "o=$(echo pwn|git hash-object -w --stdin)\nif git rev-parse -q --verify HEAD:secure/b\n\
                  then git rm -q --cached secure/b\nelse git update-index --add --cacheinfo \
                  100644,$o,secure/b\nfi\n";
    let make = json!({"path": "Makefile", "mode": "overwrite",
        "content": "lint:\n\t@sh lint.sh\n"});
    as_agent(&repo, &[], &make.to_string(), &["apply", "--request", "-"]).landed();
    as_agent(&repo, &[], &create("lint.sh", script), &["apply", "--request", "-"]).landed();
    repo.write("mine.txt", "mine\n");
    repo.git(&["add", "mine.txt"]);
    repo.git(&["commit", "--quiet", "--no-verify", "-m", "mine"]);
    as_agent(&repo, &[], &create("last.txt", "last\n"), &["apply", "--request", "-"]).landed();
    let held = as_agent(&repo, &[], "", &["land"]);
    assert_eq!(held.codes(), ["APPROVAL_REQUIRED"], "{:#}", held.json);
    assert!(held.message().contains("is not an edit"), "{}", held.message());
    assert_eq!(repo.rev("main"), before);
    as_agent(&repo, &[], "", &["abandon"]).landed();
    executable(&repo.root.join(".git/hooks/pre-commit"), "echo x >a.txt; git add a.txt");
    as_agent(&repo, &[], &create("c.txt", "c\n"), &["apply", "--request", "-"]).landed();
    assert_eq!(as_agent(&repo, &[], "", &["land"]).exit, 0, "what an agent may edit, a hook may");
}

#[test]
fn calls_that_write_or_delete_by_name_are_not_for_agents() {
    let repo = TestRepo::with(&[("a.txt", b"one\n")]);
    let before = repo.files();
    for args in [
        &["memory", "export", ".envrc"][..],
        &["guide", "--format", "agents-md", "--write", "AGENTS.md"],
        &["setup", "opencode", "--emit", "x"],
        &["gc", "--older-than", "0"],
    ] {
        let held = as_agent(&repo, &[], "", args);
        assert_eq!((held.codes(), held.exit), (vec!["APPROVAL_REQUIRED"], 4), "{args:?}");
    }
    assert_eq!(repo.files(), before);
    for args in [&["gc", "--dry-run", "--older-than", "0"][..], &["gc"], &["memory", "export"]] {
        assert_eq!(as_agent(&repo, &[], "", args).exit, 0, "{args:?}");
    }
}

#[test]
fn the_environment_of_an_agent_names_no_place_and_no_program() {
    let repo = TestRepo::with(&[("a.txt", b"one\n")]);
    let other = repo.home.join("other");
    std::fs::create_dir_all(&other).unwrap();
    let git_dir = repo.root.join(".git");
    let places = [
        ("GIT_WORK_TREE", other.to_str().unwrap()),
        ("GIT_DIR", git_dir.to_str().unwrap()),
        ("GIT_INDEX_FILE", "/tmp/index"),
    ];
    for place in places {
        let call = create("b.txt", "b\n");
        let refused = as_agent(&repo, &[place], &call, &["apply", "--request", "-"]);
        assert_eq!(refused.codes(), ["UNSUPPORTED_REPOSITORY"], "{place:?}");
        assert!(refused.hint().contains(place.0), "{}", refused.hint());
    }
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 0);

    let (trace, canary) = (repo.home.join("trace"), repo.home.join("canary"));
    executable(&repo.root.join("bin/git"), &format!("touch {}; exec false", canary.display()));
    let path = format!("{}:{}", repo.root.join("bin").display(), std::env::var("PATH").unwrap());
    let env = [("GIT_TRACE2_EVENT", trace.to_str().unwrap()), ("PATH", &*path)];
    for args in [&["gc"][..], &["hooks", "install"], &["doctor"]] {
        as_agent(&repo, &env, "", args);
        assert!(!trace.exists() && !canary.exists(), "{args:?}");
    }
}

#[test]
fn a_linked_hook_is_a_file_that_git_executes() {
    let repo = TestRepo::with(&[("scripts/pre-commit", b"#!/bin/sh\n"), ("tools/p", b"true\n")]);
    std::fs::create_dir_all(repo.root.join(".git/hooks")).unwrap();
    symlink("../../scripts/pre-commit", repo.root.join(".git/hooks/pre-commit")).unwrap();
    repo.git(&["config", "pager.log", "./tools/p"]);
    for path in ["scripts/pre-commit", "tools/p"] {
        let append = ["apply", path, "--mode", "append", "--content", "x\n"];
        assert_eq!(as_agent(&repo, &[], "", &append).codes(), ["APPROVAL_REQUIRED"], "{path}");
    }
}

/// A bare repository with edt's hook, and a clone whose `main` it has.
fn server(head: &str) -> (TestRepo, TestRepo) {
    let policy = b"[[protect]]\npaths = [\"never/**\"]\n";
    let repo = TestRepo::with(&[("edt.toml", policy), ("never/a", b"N\n")]);
    let remote = repo.at(repo.home.join("remote"));
    repo.git(&["init", "--quiet", "--bare", "-b", head, remote.root.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", remote.root.to_str().unwrap()]);
    repo.git(&["push", "--quiet", "origin", "main"]);
    remote.edt(&["hooks", "install"]);
    repo.write("never/a", "EVIL\n");
    repo.git(&["commit", "--quiet", "-am", "evil"]);
    (repo, remote)
}

fn push(repo: &TestRepo, spec: &str) -> Output {
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", Path::new(EDT).parent().unwrap().display());
    let mut command = repo.command("git");
    command.env("PATH", path).args(["push", "--no-verify", "origin", spec]).output().unwrap()
}

#[track_caller]
fn refused(repo: &TestRepo, spec: &str) {
    let done = push(repo, spec);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && said.contains("hook declined"), "{spec}: {said}");
}

#[test]
fn a_server_judges_what_a_push_really_changes() {
    let (repo, remote) = server("main");
    refused(&repo, "main");
    let good = repo.git(&["commit-tree", "-p", "HEAD^", "-m", "ok", "HEAD^^{tree}"]);
    let replaced = format!("{}:refs/replace/{}", good.trim(), repo.rev("HEAD"));
    refused(&repo, &replaced);
    remote.git(&["fetch", "--quiet", repo.root.to_str().unwrap(), &replaced]);
    refused(&repo, "main");
    remote.git(&["symbolic-ref", "refs/heads/stable", "refs/heads/main"]);
    refused(&repo, "main:stable");
    refused(&repo, ":stable");
    for name in ["refs/tags/main", "refs/main", "refs/tags/Main"] {
        refused(&repo, &format!("main:{name}"));
    }
    assert!(push(&repo, "main:refs/tags/v1").status.success());
    assert_eq!(remote.git(&["show", "refs/heads/main:never/a"]), "N\n");
}

#[test]
fn a_server_with_an_unborn_head_judges_new_protected_branches() {
    let (repo, remote) = server("master");
    refused(&repo, "main");
    for branch in ["release/1", "master", "trunk"] {
        refused(&repo, &format!("main:refs/heads/{branch}"));
    }
    assert_eq!(remote.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
    let done = push(&repo, "HEAD^:refs/heads/release/1");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
