//! Files that other programs execute by themselves, and planted repositories: nothing that an agent
//! may do through edt runs later with the user's rights.

use serde_json::json;

use std::path::Path;

use crate::test_repo::{EDT, TestRepo, run};

/// One file of each program that executes files of a worktree without a question.
const EXECUTED: [&str; 30] = [
    ".claude/settings.json",
    ".claude/hooks/stop.sh",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".mcp.json",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".vscode/launch.json",
    ".idea/workspace.xml",
    ".husky/pre-commit",
    ".envrc",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    ".gitmodules",
    ".github/workflows/ci.yml",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".yarnrc.yml",
    ".gdbinit",
    "deep/down/.envrc",
    "edt.toml",
    ".config/edt/edt.toml",
    ".local/share/edt/trust",
    ".ssh/authorized_keys",
];

const RUNS: &str = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\n";

#[test]
fn no_edit_changes_them_without_approval() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    for path in EXECUTED {
        let create = json!({"path": path, "mode": "create", "content": "# x\n"});
        let held = workspace.apply(&create);
        assert_eq!((held.codes(), held.exit), (vec!["APPROVAL_REQUIRED"], 4), "{:#}", held.json);
        assert!(!workspace.exists(path), "{path}");
        let rename = json!({"path": "a.txt", "mode": "rename", "to": path});
        assert_eq!(workspace.apply(&rename).codes(), ["APPROVAL_REQUIRED"], "{path}");
    }
    let driver = "*.bin filter=evil\n";
    let attributes = json!({"path": ".gitattributes", "mode": "create", "content": driver});
    assert_eq!(workspace.apply(&attributes).codes(), ["APPROVAL_REQUIRED"]);
    let harmless = json!({"path": ".gitattributes", "mode": "create", "content": "*.txt eol=lf\n"});
    workspace.apply(&harmless).landed();
    assert!(!workspace.exists(".envrc"));
}

#[test]
fn the_user_excepts_paths_in_their_own_file() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    workspace.unprotect(".github/workflows/**");
    let create = |path: &str| json!({"path": path, "mode": "create", "content": "# x\n"});
    workspace.apply(&create(".github/workflows/ci.yml")).landed();
    assert_eq!(workspace.apply(&create(".envrc")).codes(), ["APPROVAL_REQUIRED"]);
}

#[test]
fn instructions_of_agents_change_with_a_warning() {
    let workspace = TestRepo::with(&[("AGENTS.md", b"Be kind.\n")]);
    let append = ["apply", "AGENTS.md", "--mode", "append", "--content", "x\n"];
    let answer = workspace.edt(&append);
    assert_eq!(answer.exit, 0);
    assert_eq!(answer.json["warnings"][0]["code"], "agent_instructions", "{:#}", answer.json);
}

#[test]
fn a_program_under_edt_run_leaves_none() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n"), (".envrc", b"true\n")]);
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("edt.toml"), RUNS).unwrap();
    let before = workspace.files();
    for path in EXECUTED {
        let parent = path.rsplit_once('/').map_or(".", |(parent, _)| parent);
        let script = format!("mkdir -p {parent}; echo x >> {path}");
        let refused = workspace.runs(&[], &["sh", "-c", &script]);
        assert_eq!(refused.codes(), ["APPROVAL_REQUIRED"], "{path}: {:#}", refused.json);
        assert_eq!(workspace.files(), before, "{path}");
    }
}

#[test]
fn what_needs_approval_is_held_and_the_rest_of_a_run_is_recorded() {
    for level in ["permissive", "standard"] {
        let workspace = TestRepo::with(&[("a.txt", b"one\n"), (".rules.json", b"{}\n")]);
        let directory = workspace.home.join(".config/edt");
        std::fs::create_dir_all(&directory).unwrap();
        let policy = RUNS.replace("permissive", level);
        std::fs::write(directory.join("edt.toml"), policy).unwrap();
        workspace.write("mine.txt", "mine\n");
        let script = "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml
            echo x > .unknown; echo '[]' > .rules.json; echo two > a.txt; echo b > b.txt";
        let held = workspace.runs(&[], &["sh", "-c", script]);
        assert_eq!((held.codes(), held.exit), (vec!["APPROVAL_REQUIRED"; 3], 4), "{:#}", held.json);
        let files = held.json["files"].as_array().unwrap();
        let recorded: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
        assert_eq!(recorded, ["a.txt", "b.txt"], "{:#}", held.json);
        for path in [".github/workflows/ci.yml", ".unknown"] {
            assert!(!workspace.exists(path), "{path}");
        }
        assert_eq!(workspace.text(".rules.json"), "{}\n");
        assert_eq!(workspace.git(&["show", "HEAD:a.txt"]), "two\n");
        let status = workspace.git(&["status", "--short"]);
        assert_eq!(status, "?? mine.txt\n", "{level}");
        let errors = held.json["errors"].as_array().unwrap();
        assert!(errors.iter().all(|error| error["evidence"]["proposal"] == 1), "{:#}", held.json);
        let (exit, screen) = workspace.at_terminal("approve p1 --apply", "yes\n");
        assert_eq!(exit, Some(0), "{screen}");
        for (path, text) in
            [(".github/workflows/ci.yml", "x\n"), (".unknown", "x\n"), (".rules.json", "[]\n")]
        {
            assert_eq!(workspace.text(path), text, "{screen}");
            assert_eq!(workspace.git(&["show", &format!("HEAD:{path}")]), text);
        }
        assert_eq!(workspace.edt(&["land"]).exit, 0);
    }
}

#[test]
fn the_target_of_a_link_with_such_a_name_is_protected_too() {
    let files: [(&str, &[u8]); 2] = [("tools/editor/x.json", b"{}\n"), ("config/a.json", b"{}\n")];
    let workspace = TestRepo::with(&files);
    std::os::unix::fs::symlink("tools/editor", workspace.root.join(".vscode")).unwrap();
    std::os::unix::fs::symlink("config/a.json", workspace.root.join(".a.json")).unwrap();
    let create = |path: &str| json!({"path": path, "mode": "write", "content": "[1]\n"});
    for path in ["tools/editor/tasks.json", "config/a.json"] {
        assert_eq!(workspace.apply(&create(path)).codes(), ["APPROVAL_REQUIRED"], "{path}");
    }
    workspace.apply(&create("config/b.json")).landed();
}

#[test]
fn the_sandbox_mounts_existing_ones_read_only() {
    let workspace = TestRepo::with(&[
        (".husky/pre-commit", b"true\n"),
        (".envrc", b"true\n"),
        (".vscode/tasks.json", b"{}\n"),
        (".vscode/extensions.json", b"{}\n"),
    ]);
    workspace.write(".git/info/exclude", ".husky/_\n");
    let directory = workspace.home.join(".config/edt");
    std::fs::create_dir_all(&directory).unwrap();
    let policy = RUNS.replace("permissive", "standard");
    std::fs::write(directory.join("edt.toml"), policy).unwrap();
    let run =
        |script: &str| workspace.runs(&[], &["sh", "-c", script]).json["run"]["exit_code"].clone();
    let before = workspace.files();
    for script in [
        "echo x >> .envrc",
        "rm .envrc",
        "mkdir .husky/_",
        "mv .husky husky",
        "mv .vscode vscode",
        "echo x > .vscode/tasks.json",
    ] {
        assert_ne!(run(script), 0, "{script}");
        assert_eq!(workspace.files(), before, "{script}");
    }
    assert_eq!(run("echo x > .vscode/extensions.json"), 0);
}

#[test]
fn the_tool_of_an_agent_does_not_write_them() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    for path in EXECUTED {
        let payload = json!({"session_id": "s", "cwd": workspace.root,
            "hook_event_name": "PreToolUse", "tool_name": "Write",
            "tool_input": {"file_path": workspace.root.join(path), "content": "# x\n"}});
        let mut hook = workspace.command(EDT);
        let input = workspace.home.join("payload");
        std::fs::write(&input, payload.to_string()).unwrap();
        hook.args(["agent-hook", "claude-code"]).stdin(std::fs::File::open(&input).unwrap());
        let answer = String::from_utf8(hook.output().unwrap().stdout).unwrap();
        assert!(
            answer.contains("deny") && answer.contains("APPROVAL_REQUIRED"),
            "{path}: {answer}"
        );
    }
}

#[test]
fn a_planted_repository_does_not_lead_out_of_the_worktree() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let secret = workspace.home.join(".ssh/id_rsa");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "secret\n").unwrap();
    let home = workspace.home.to_str().unwrap();
    workspace.git(&["init", "--quiet", "sub"]);
    workspace.git(&["-C", "sub", "config", "core.worktree", home]);
    workspace.git(&["init", "--quiet", "--bare", "store"]);
    workspace.git(&["-C", "store", "config", "core.bare", "false"]);
    workspace.git(&["-C", "store", "config", "core.worktree", home]);
    workspace.write("by-file/.git", "gitdir: ../store\n");
    for sub in ["sub", "by-file"] {
        for args in [
            &["-C", sub, "read", ".ssh/id_rsa"][..],
            &["-C", sub, "apply", ".ssh/authorized_keys", "--mode", "create", "--content", "x\n"],
            &["-C", sub, "status"],
            &["-C", sub, "begin"],
        ] {
            let answer = workspace.edt(args);
            assert_eq!(answer.codes(), ["UNSUPPORTED_REPOSITORY"], "{args:?}: {:#}", answer.json);
            assert!(
                answer.message().contains("no `.git` that leads to it"),
                "{}",
                answer.message()
            );
        }
    }
    assert!(!secret.with_file_name("authorized_keys").exists());
}

#[test]
fn what_takes_a_protection_away_is_the_users_to_do() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    workspace.edt(&["hooks", "install"]);
    workspace.edt(&["setup", "codex"]);
    let unattended = |args: &[&str]| {
        let mut command = workspace.command(EDT);
        command.args(args).arg("--json");
        run(command, b"", args)
    };
    for args in [
        &["hooks", "uninstall"][..],
        &["setup", "codex", "--remove"],
        &["memory", "add", "x", "--code", "SECRET"],
        &["memory", "edit", "0000000000000000", "--adopt"],
        &["memory", "deprecate", "0000000000000000"],
        &["memory", "snapshot", "x"],
        &["memory", "delete", "0000000000000000"],
        &["memory", "restore", "x"],
        &["memory", "import", "-"],
    ] {
        let before = workspace.snapshot();
        let held = unattended(args);
        assert_eq!((held.exit, held.codes()), (4, vec!["APPROVAL_REQUIRED"]), "{:#}", held.json);
        let call = format!("`edt {}` in a terminal", args.join(" "));
        assert!(held.hint().contains(&call), "{:#}", held.json);
        assert!(workspace.snapshot() == before, "{args:?}");
    }
    // To look is free.
    for args in
        [&["hooks", "uninstall", "--dry-run"][..], &["setup", "codex", "--remove", "--dry-run"]]
    {
        assert_eq!(unattended(args).exit, 0, "{args:?}");
    }
    assert_eq!(workspace.edt(&["hooks", "uninstall"]).json["steps"][0]["action"], "removed");
}

#[test]
fn edt_reads_no_file_elsewhere_for_an_agent() {
    let workspace = TestRepo::with(&[("a.txt", b"a\n")]);
    let create = ["apply", "n.txt", "--mode", "create"];
    let secret = Path::new("/etc/hostname");
    let link = workspace.home.join("link");
    std::os::unix::fs::symlink(secret, &link).unwrap();
    for file in [secret, &link, &workspace.root.join(".git/config")] {
        let file = file.to_str().unwrap();
        for args in [
            &["--content-file", file][..],
            &["--content", "x", "--old-text-file", file],
            &["--content", "x", "--expected-text-file", file],
        ] {
            workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &[&create[..], args].concat());
        }
        workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["apply", "--request", file]);
        workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["check", "--patch", file]);
        workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["propose", "--patch", file]);
        workspace.refuses(&["PATH_OUTSIDE_REPO"], 1, &["run", "--request", file]);
    }
    // The user may, at a terminal.
    let call = format!("{} --content-file /etc/hostname", create.join(" "));
    let (status, screen) = workspace.at_terminal(&call, "");
    assert_eq!(status, Some(0), "{screen}");
    assert_eq!(workspace.read("n.txt"), std::fs::read(secret).unwrap());
}

#[test]
fn standard_input_is_read_by_its_name_too() {
    let workspace = TestRepo::with(&[("a.txt", b"one\n")]);
    let create = ["apply", "b.txt", "--mode", "create", "--content-file", "/dev/stdin"];
    assert_eq!(workspace.edt_fed(b"piped\n", &create).exit, 0);
    assert_eq!(workspace.text("b.txt"), "piped\n");
    // A file that the caller has opened, wherever it is.
    for (name, call) in [("c.txt", "/dev/stdin"), ("d.txt", "/proc/self/fd/0"), ("e.txt", "-")] {
        let line = format!("'{EDT}' apply {name} --mode create --content-file {call} </etc/passwd");
        let done = workspace.command("sh").args(["-c", &line]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(workspace.text(name), std::fs::read_to_string("/etc/passwd").unwrap());
    }
    let answer = workspace.as_user(
        b"typed\n",
        &["apply", "f.txt", "--mode", "create", "--content-file", "/dev/stdin"],
        &[],
    );
    assert_eq!(
        (answer.exit, workspace.text("f.txt").as_str()),
        (0, "typed\n"),
        "{:#}",
        answer.json
    );
}
