//! What edt starts: every place of the source is listed, and what an agent's calls start because of
//! a repository is confined.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use edt_io::purpose::STARTS;

use crate::test_repo::{EDT, TestRepo, has_strace};

/// What starts a process, or makes one.
const STARTING: [&str; 11] = [
    "Command::new(",
    "process::Command as",
    "fork(",
    "execv",
    ".exec()",
    "posix_spawn(",
    "libc::clone",
    "syscall(libc::SYS_clone",
    "syscall(libc::SYS_fork",
    "syscall(libc::SYS_exec",
    "libc::system(",
];

/// The lines of `text` before its tests that start a process.
fn starting(text: &str) -> Vec<&str> {
    let code = text.lines().take_while(|line| !line.trim_start().starts_with("#[cfg(test)]"));
    code.map(str::trim)
        .filter(|line| !line.starts_with("//") && !line.contains("clap::Command::new("))
        // A rule about programs that others start.
        .filter(|line| !line.contains("starts_with(\"execv\")"))
        .filter(|line| STARTING.iter().any(|one| line.contains(one)))
        .collect()
}

fn sources(directory: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn every_place_that_starts_a_process_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let directory = entry.unwrap().path();
        if !directory.ends_with("edt-testkit") {
            sources(&directory.join("src"), &mut files);
        }
    }
    assert!(files.len() > 100, "{}", files.len());
    let mut found: Vec<(String, String)> = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if name == "crates/edt-io/src/purpose.rs" || name.ends_with("/tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        found.extend(starting(&text).into_iter().map(|line| (name.clone(), line.to_owned())));
    }
    for (file, line) in &found {
        let listed = STARTS.iter().filter(|start| start.file == file && line.contains(start.line));
        assert_eq!(listed.count(), 1, "{file} starts a process, but is not in STARTS: {line}");
    }
    assert_eq!(found.len(), STARTS.len(), "STARTS has what the source has not: {found:?}");
    assert!(STARTS.iter().all(|start| !start.purposes.is_empty()));
}

#[test]
fn a_new_place_is_found() {
    let code = "let x = std::process::Command::new(\"sh\");\n// Command::new(\nclap::Command::new(\"edt\")";
    assert_eq!(starting(code).len(), 1);
    assert!(starting("libc::syscall(libc::SYS_seccomp, operation, 0)").is_empty());
    for line in
        ["nix::unistd::fork()", "libc::execve(a)", "c.exec()", "use std::process::Command as C;"]
    {
        assert_eq!(starting(line).len(), 1, "{line}");
    }
}

/// What a call started: the arguments of each program, and whether it ran in a sandbox.
#[derive(Debug)]
struct Trace(Vec<(bool, Vec<String>)>);

impl Trace {
    /// Runs `edt ARGS` as an agent does.
    fn of(workspace: &TestRepo, args: &[&str], stdin: &str) -> Trace {
        let file = workspace.home.join("trace");
        let calls = "trace=execve,clone,clone3,fork,vfork";
        let mut command = workspace.command("strace");
        command.args(["-f", "-qq", "-s", "4000", "-e", calls, "-e", "signal=none", "-o"]);
        command.arg(&file).arg(EDT).args(args);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        assert_ne!(child.wait().unwrap().code(), Some(2), "{args:?} is no call of edt");
        Trace::parse(&std::fs::read_to_string(&file).unwrap())
    }

    fn parse(text: &str) -> Trace {
        let mut parents: BTreeMap<&str, &str> = BTreeMap::new();
        let mut programs: Vec<(&str, Vec<String>)> = Vec::new();
        for line in text.lines() {
            let (pid, rest) = line.split_once(' ').unwrap();
            let rest = rest.trim_start();
            if let Some(call) = rest.strip_prefix("execve(") {
                if !line.contains(" = -1 ") {
                    programs.push((pid, words(call)));
                }
            } else if let Some((_, child)) = rest.rsplit_once(" = ") {
                parents.insert(child.split(' ').next().unwrap(), pid);
            }
        }
        let supervisors: BTreeSet<&str> = programs
            .iter()
            .filter(|(_, args)| args.iter().any(|arg| arg == "__sandbox"))
            .map(|(pid, _)| *pid)
            .collect();
        let is_confined = |pid: &str| {
            let above = std::iter::successors(parents.get(pid), |above| parents.get(*above));
            above.take(1000).any(|above| supervisors.contains(above))
        };
        let judged = programs.iter().map(|(pid, args)| (is_confined(pid), args.clone()));
        Trace(judged.collect())
    }

    /// Nothing but edt and Git ran outside a sandbox, Git without hooks; and `names` ran inside.
    #[track_caller]
    fn check(&self, what: &str, names: &[&str]) {
        for (_, args) in self.0.iter().filter(|(confined, _)| !confined) {
            let program = args[0].rsplit('/').next().unwrap();
            let reads_settings = args.iter().any(|arg| arg == "--get-regexp");
            let is_neutral = args.iter().any(|arg| arg == "core.hooksPath=/dev/null");
            let is_git = program.starts_with("git") && (is_neutral || reads_settings);
            let is_edt = program == "edt" || args.iter().any(|arg| arg == "__sandbox");
            assert!(is_edt || is_git, "{what}: outside the sandbox: {args:?} in {self:#?}");
        }
        let inside: Vec<String> = self
            .0
            .iter()
            .filter(|(confined, _)| *confined)
            .map(|(_, args)| args.join(" "))
            .collect();
        for name in names {
            assert!(inside.iter().any(|line| line.contains(name)), "{what}: {name}: {inside:?}");
        }
    }
}

/// The strings in the arguments of `execve`: the program, then its arguments after the first.
fn words(call: &str) -> Vec<String> {
    let mut all: Vec<String> = call.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    if all.len() > 1 {
        all.remove(1);
    }
    all
}

fn executable(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn what_an_agents_calls_start_because_of_a_repository_is_confined() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    executable(&workspace.root.join("tools/clean.sh"), "exec cat");
    executable(&workspace.root.join("tools/check.sh"), "exit 0");
    workspace.write(".gitattributes", "*.up filter=up\n");
    let root = workspace.root.canonicalize().unwrap();
    let check = root.join("tools/check.sh");
    let toml = format!(
        "[[validator]]\nname = \"v\"\npaths = [\"*.txt\"]\ncommand = [{check:?}, \"{{file}}\"]\n"
    );
    workspace.write("edt.toml", toml);
    workspace.git(&["add", "--all"]);
    workspace.git(&["commit", "--quiet", "-m", "programs"]);
    workspace.git(&["config", "filter.up.clean", "sh tools/clean.sh"]);
    for name in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] {
        executable(&root.join(".git/hooks").join(name), "exit 0");
    }
    // Before the user trusts anything, nothing of it runs.
    let append = ["apply", "a.txt", "--mode", "append", "--content", "more\n"];
    Trace::of(&workspace, &append, "").check("untrusted", &[]);
    assert_eq!(workspace.at_terminal("trust", "yes\n").0, Some(0));
    let trace = |what: &str, args: &[&str], names: &[&str]| {
        Trace::of(&workspace, args, "").check(what, names);
    };
    trace("apply", &append, &["tools/check.sh"]);
    let create = ["apply", "x.up", "--mode", "create", "--content", "text\n"];
    trace("a filter", &create, &["tools/clean.sh"]);
    trace("status", &["status"], &[]);
    trace("undo", &["undo"], &[]);
    trace("redo", &["redo"], &[]);
    trace("search", &["search", "one"], &[]);
    trace("memory", &["memory", "search", "one"], &[]);
    trace("run", &["run", "--", "cat", "a.txt"], &["cat a.txt"]);
    trace("checkpoint", &["checkpoint"], &[]);
    // `doctor` tries every level with `true`. The numbers of processes in their own namespace differ
    // in the trace, so it is left out.
    let input = "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}";
    Trace::of(&workspace, &["agent-hook", "claude-code"], input).check("agent-hook", &[]);
    let calls = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    Trace::of(&workspace, &["mcp"], calls).check("mcp", &[]);
    let hooks = ["hooks/pre-commit", "hooks/prepare-commit-msg", "hooks/commit-msg"];
    trace("land", &["land"], &[&hooks[..], &["hooks/post-commit"]].concat());
}

#[test]
fn only_a_signing_program_from_outside_the_worktree_runs_unconfined_at_an_agents_landing() {
    if !has_strace() {
        return;
    }
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let signer = workspace.home.join("bin/sign");
    let signature = "while read -r _; do :; done; echo '[GNUPG:] SIG_CREATED ' >&2; echo SIGNATURE";
    executable(&signer, signature);
    workspace.git(&["config", "commit.gpgSign", "true"]);
    workspace.git(&["config", "gpg.program", signer.to_str().unwrap()]);
    executable(&workspace.root.join(".git/hooks/pre-commit"), "exit 0");
    workspace.edt(&["apply", "a.txt", "--mode", "append", "--content", "more\n"]).landed();
    let Trace(all) = Trace::of(&workspace, &["land"], "");
    let (signing, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, args)| {
        args[0] == signer.to_str().unwrap() || args.iter().any(|arg| arg == "commit-tree")
    });
    assert!(signing.iter().all(|(confined, _)| !confined) && signing.len() == 2, "{signing:?}");
    Trace(others).check("land", &["hooks/pre-commit"]);
    assert!(workspace.git(&["cat-file", "commit", "main"]).contains("SIGNATURE"));
}
