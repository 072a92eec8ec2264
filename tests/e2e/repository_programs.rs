//! Programs that a repository names and that someone other than the user causes to run: hooks,
//! filters and validators run in the sandbox.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::test_repo::{EDT, TestRepo};

/// Tries what a program of an agent must not do; writes what it could read to `$OUT`, which is in
/// the worktree or a directory that the program may write.
const ATTEMPT: &str = "cat \"$HOME/.ssh/id_rsa\" > \"$OUT\" 2> /dev/null\n\
                       echo x > \"$HOME/outside\" 2> /dev/null\n\
                       echo x > .git/planted 2> /dev/null\n";

/// A repository with a file, a session, and a key in the user's home directory.
fn workspace() -> TestRepo {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), (".gitignore", b"out\n")]);
    std::fs::create_dir_all(workspace.home.join(".ssh")).unwrap();
    std::fs::write(workspace.home.join(".ssh/id_rsa"), "KEY").unwrap();
    let identity = "[user]\n\tname = U\n\temail = u@example.com\n";
    std::fs::write(workspace.home.join(".gitconfig"), identity).unwrap();
    workspace
}

fn executable(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn hook(workspace: &TestRepo, name: &str, script: &str) {
    executable(&workspace.root.join(".git/hooks").join(name), script);
}

/// The user's own policy.
fn policy(workspace: &TestRepo, text: &str) {
    let file = workspace.home.join(".config/edt/edt.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn edited(workspace: &TestRepo) {
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "more\n"]).landed();
}

/// Whether an attempt read the key and wrote outside; forgets it.
fn escaped(workspace: &TestRepo) -> bool {
    let read = std::fs::read(workspace.root.join("out")).unwrap_or_default();
    let written = [workspace.home.join("outside"), workspace.root.join(".git/planted")];
    let any = read == b"KEY" || written.iter().any(|path| path.exists());
    let all = read == b"KEY" && written.iter().all(|path| path.exists());
    assert_eq!(any, all, "an attempt succeeds completely or not at all");
    let _ = std::fs::remove_file(workspace.root.join("out"));
    written.iter().for_each(|path| drop(std::fs::remove_file(path)));
    any
}

const AS_USER: &str = "[run]\nrepository_programs = \"as_user\"\n";

#[test]
fn hooks_of_an_agents_landing_run_in_the_sandbox_and_those_of_the_user_do_not() {
    for name in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] {
        let workspace = workspace();
        hook(&workspace, name, &format!("OUT=out\necho >> ran\n{ATTEMPT}true"));
        workspace.write(".git/info/exclude", "ran\n");
        let ran = || workspace.text("ran").lines().count();
        edited(&workspace);
        workspace.edt(&["land"]).landed();
        assert_eq!((escaped(&workspace), ran()), (false, 1), "{name}");
        edited(&workspace);
        let (exit, screen) = workspace.at_terminal("land", "");
        assert_eq!((exit, escaped(&workspace), ran()), (Some(0), true, 2), "{name}: {screen}");
        policy(&workspace, AS_USER);
        edited(&workspace);
        workspace.edt(&["land"]).landed();
        assert_eq!((escaped(&workspace), ran()), (true, 3), "{name}");
    }
}

#[test]
fn everything_that_a_confined_hook_stages_lands() {
    let workspace = workspace();
    let script = "chmod +x b.sh; ln -s a.txt link; echo new > 'a new file'; git rm -q c.txt\n\
                  git add b.sh link 'a new file'\n\
                  echo x > out; git add -f out; git rm -q --cached out";
    workspace.commit(&[("b.sh", b"true\n"), ("c.txt", b"c\n")]);
    hook(&workspace, "pre-commit", script);
    edited(&workspace);
    let answer = workspace.edt(&["land"]);
    assert_eq!(answer.json["status"], "applied", "{:#}", answer.json);
    assert_eq!(workspace.blob("main:a.txt"), b"one\nmore\n");
    let listed = workspace.git(&["ls-tree", "-r", "main"]);
    for (mode, path) in [("100755", "b.sh"), ("120000", "link"), ("100644", "a new file")] {
        let is_here = |line: &&str| line.starts_with(mode) && line.ends_with(path);
        assert!(listed.lines().any(|line| is_here(&line)), "{mode} {path}: {listed}");
    }
    assert!(!listed.contains("c.txt") && !listed.contains("out"), "{listed}");
    assert_eq!(workspace.blob("main:link"), b"a.txt");
    workspace.is_sound();
}

#[test]
fn a_confined_hook_stages_no_file_from_outside_and_no_forged_object() {
    let workspace = workspace();
    let key = workspace.home.join(".ssh/id_rsa");
    // Objects that lead elsewhere, and one with another name than its content has.
    let script = format!(
        "d=\"$GIT_OBJECT_DIRECTORY\"\nmkdir -p \"$d/ab\" \"$d/info\"\n\
         ln -s {0} \"$d/ab/00000000000000000000000000000000000000\"\n\
         mkfifo \"$d/ab/11111111111111111111111111111111111111\"\n\
         oid=$(echo forged | git hash-object -w --stdin)\n\
         cp \"$d/$(echo $oid | cut -c1-2)/$(echo $oid | cut -c3-)\" \
         \"$d/ab/22222222222222222222222222222222222222\"\n\
         git update-index --add --cacheinfo \
         100644,ab22222222222222222222222222222222222222,forged.txt",
        key.display()
    );
    hook(&workspace, "pre-commit", &script);
    edited(&workspace);
    let main = workspace.rev("main");
    let answer = workspace.edt(&["land"]);
    assert_eq!(answer.codes(), ["GIT_OPERATION_BLOCKED"], "{:#}", answer.json);
    assert_eq!(workspace.rev("main"), main);
    workspace.is_sound();
}

#[test]
fn what_a_confined_hook_leaves_for_others_to_execute_is_moved_away() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "echo 'curl evil' > .envrc");
    edited(&workspace);
    let main = workspace.rev("main");
    let answer = workspace.edt(&["land"]);
    assert_eq!(answer.codes(), ["APPROVAL_REQUIRED"], "{:#}", answer.json);
    assert!(answer.message().contains("quarantine"), "{}", answer.message());
    assert_eq!((workspace.exists(".envrc"), workspace.rev("main")), (false, main));
}

#[test]
fn a_hook_that_needs_more_than_the_sandbox_allows_says_what_the_user_can_do() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", "echo x > \"$HOME/outside\"");
    edited(&workspace);
    let answer = workspace.edt(&["land"]);
    assert_eq!(answer.codes(), ["GIT_OPERATION_BLOCKED"]);
    for part in ["sandbox", "edt land", "repository_programs = \"as_user\""] {
        assert!(answer.message().contains(part), "{part}: {}", answer.message());
    }
    let (exit, screen) = workspace.at_terminal("land", "");
    assert_eq!(exit, Some(0), "{screen}");
}

#[test]
fn edts_own_hooks_work_in_the_sandbox() {
    let workspace = workspace();
    let mut command = workspace.command(EDT);
    let path = format!(
        "{}:{}",
        Path::new(EDT).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    assert!(command.args(["hooks", "install"]).env("PATH", &path).status().unwrap().success());
    edited(&workspace);
    let mut command = workspace.command(EDT);
    let answer = crate::test_repo::run(
        {
            command.args(["land", "--json"]).env("PATH", &path);
            command
        },
        b"",
        &["land"],
    );
    answer.landed();
    assert_eq!(workspace.blob("main:a.txt"), b"one\nmore\n");
}

#[test]
fn a_repository_may_not_free_its_own_programs() {
    let workspace = TestRepo::with(&[("edt.toml", AS_USER.as_bytes()), ("a.txt", b"one\n")]);
    let append = ["apply", "a.txt", "--mode", "append", "--content", "more\n"];
    let answer = workspace.edt(&append);
    assert_eq!(answer.codes(), ["BAD_REQUEST"]);
    assert!(answer.message().contains("only for a user's own edt.toml"), "{}", answer.message());
}

#[test]
fn trusted_validators_of_the_repository_run_in_the_sandbox_for_an_agent() {
    // It fails if it could do what it tries, and if it cannot read the worktree.
    let script = "grep -q one \"$2/a.txt\" || exit 7\n\
                  (echo x > \"$HOME/outside\") 2> /dev/null\n\
                  if cat \"$HOME/.ssh/id_rsa\" || echo x > \"$2/planted\"\n\
                  then exit 8; fi 2> /dev/null\necho > \"$1.other\"; grep -q more \"$1\"";
    let command = json!(["sh", "-c", script, "sh", "{file}", "{root}"]);
    let toml = format!("[[validator]]\nname = \"v\"\npaths = [\"*.txt\"]\ncommand = {command}\n");
    for level in ["standard", "strict"] {
        let workspace = workspace();
        workspace.commit(&[("edt.toml", toml.as_bytes())]);
        crate::validators::trust(&workspace);
        policy(&workspace, &format!("[run]\nsandbox = \"{level}\"\n"));
        edited(&workspace);
        let rejected = workspace.edt(&[
            "apply",
            "a.txt",
            "--mode",
            "edit",
            "--old-text",
            "more",
            "--content",
            "",
        ]);
        assert_eq!(rejected.codes(), ["VALIDATOR_FAILED"], "{level}: {:#}", rejected.json);
        assert_eq!(rejected.errors()[0]["evidence"]["exit_status"], json!(1), "{level}");
        assert!(!workspace.home.join("outside").exists(), "{level}");
        // The user's own call runs it as ever.
        let (exit, screen) = workspace.at_terminal("apply a.txt --mode append --content more", "");
        assert_eq!(exit, Some(0), "{screen}");
        assert!(screen.contains("exit status 8"), "{screen}");
    }
}

#[test]
fn trusted_filters_that_execute_files_of_the_repository_run_in_the_sandbox_for_an_agent() {
    for level in ["standard", "strict"] {
        let workspace = workspace();
        executable(
            &workspace.root.join("tools/clean.sh"),
            &format!("OUT=\"$TMPDIR/out\"\n{ATTEMPT}grep -q KEY \"$OUT\" && exit 9\ntr a-z A-Z"),
        );
        workspace.write(".gitattributes", "*.up filter=up\n");
        workspace.git(&["add", "--all"]);
        workspace.git(&["commit", "--quiet", "-m", "a filter"]);
        workspace.git(&["config", "filter.up.clean", "sh tools/clean.sh"]);
        policy(&workspace, &format!("[run]\nsandbox = \"{level}\"\n"));
        assert_eq!(workspace.at_terminal("trust", "yes\n").0, Some(0));
        let create = ["apply", "x.up", "--mode", "create", "--content", "text\n"];
        workspace.edt(&create).landed();
        assert_eq!(workspace.blob("HEAD:x.up"), b"TEXT\n", "{level}");
        assert!(!escaped(&workspace), "{level}");
        // The user's own call runs it as ever.
        let (exit, screen) = workspace.at_terminal("apply y.up --mode create --content text", "");
        assert_eq!(exit, Some(5), "{screen}");
        assert!(screen.contains("exit status 9"), "{screen}");
    }
}

/// A repository below the worktree of another one, as a program may make it: its hooks, and
/// programs that its configuration names, wait for the user's trust.
#[test]
fn programs_of_a_repository_below_another_worktree_wait_for_trust() {
    for planted in ["hook", "hooksPath", "signing"] {
        let outer = workspace();
        outer.git(&["init", "--quiet", "-b", "main", "inner"]);
        let inner = outer.at(outer.root.join("inner"));
        inner.commit(&[("a.txt", b"one\n")]);
        let elsewhere = outer.home.join("programs");
        let script = format!("OUT=out\n{ATTEMPT}true");
        match planted {
            "hook" => executable(&inner.root.join(".git/hooks/pre-commit"), &script),
            "hooksPath" => {
                executable(&elsewhere.join("pre-commit"), &script);
                inner.git(&["config", "core.hooksPath", elsewhere.to_str().unwrap()]);
            }
            _ => {
                executable(&elsewhere.join("sign"), &script);
                inner.git(&["config", "commit.gpgSign", "true"]);
                inner.git(&["config", "gpg.program", elsewhere.join("sign").to_str().unwrap()]);
            }
        }
        edited(&inner);
        let (exit, screen) = inner.at_terminal("land", "");
        assert_eq!(exit, Some(4), "{planted}: {screen}");
        assert!(screen.contains("TRUST_REQUIRED") && !escaped(&inner), "{planted}: {screen}");
        inner.refuses(&["TRUST_REQUIRED"], 4, &["land"]);
        assert!(!escaped(&inner), "{planted}");
        let (exit, screen) = inner.at_terminal("trust", "yes\n");
        assert_eq!(exit, Some(0), "{planted}: {screen}");
        let named = if planted == "hook" { "hooks/pre-commit" } else { "programs" };
        assert!(screen.contains(named), "{planted}: {screen}");
        inner.at_terminal("land", "");
        assert!(escaped(&inner), "{planted}: it runs once it is trusted");
    }
}

#[test]
fn submodules_and_linked_worktrees_below_a_worktree_need_no_trust() {
    let outer = workspace();
    let source = outer.root.to_str().unwrap().to_owned();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    outer.git(&[&add[..], &[&source, "module"]].concat());
    outer.git(&["worktree", "add", "--quiet", "-b", "side", "side"]);
    let modules = outer.root.join(".git/modules/module/hooks/pre-commit");
    executable(&modules, "echo refused by the module; exit 1");
    executable(&outer.root.join(".git/hooks/pre-commit"), "echo refused by the hook; exit 1");
    for place in ["module", "side"] {
        let inner = outer.at(outer.root.join(place));
        edited(&inner);
        let answer = inner.edt(&["land"]);
        assert_eq!(answer.codes(), ["GIT_OPERATION_BLOCKED"], "{place}: {:#}", answer.json);
    }
}

/// An agent may give its shell a terminal and no variable.
#[test]
fn who_an_agent_started_is_not_the_user_at_any_terminal() {
    let workspace = workspace();
    hook(&workspace, "pre-commit", &format!("OUT=out\n{ATTEMPT}true"));
    let started_by = |name: &str, call: &str| {
        let shell = workspace.home.join(name);
        std::fs::copy("/bin/sh", &shell).unwrap();
        let mut command = workspace.command("script");
        // The second command keeps the shell from becoming the first.
        let script = format!("{} -c '\"$EDT\" {call}; exit $?'", shell.display());
        command.args(["-qec", &script, "/dev/null"]).env("EDT", EDT).env("SHELL", "/bin/sh");
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let (exit, screen) = started_by("claude", "hooks uninstall");
    assert_eq!(exit, Some(4), "{screen}");
    for part in ["APPROVAL_REQUIRED", "claude started", "terminal that claude did not start"] {
        assert!(screen.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{screen}");
    }
    edited(&workspace);
    let (exit, screen) = started_by("claude", "land");
    assert_eq!((exit, escaped(&workspace)), (Some(0), false), "{screen}");
    // A shell with another name in a directory with an agent's name is the user's.
    std::fs::create_dir(workspace.home.join("codex")).unwrap();
    let (exit, screen) = started_by("codex/shell", "hooks uninstall");
    assert_eq!(exit, Some(0), "{screen}");
    edited(&workspace);
    let (exit, screen) = started_by("codex/shell", "land");
    assert_eq!((exit, escaped(&workspace)), (Some(0), true), "{screen}");
}
