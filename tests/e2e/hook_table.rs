//! What each hook stops, tried cell by cell with real Git, against the table in
//! `docs/guide/hooks.md`.

use std::path::Path;
use std::process::{Command, Output};

use crate::test_repo::{EDT, TestRepo, lines};

/// A scratch repository with one of the hooks, and a remote to push to.
pub(crate) struct Hooked {
    pub(crate) workspace: TestRepo,
}

/// Who calls Git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Agent,
    User,
}

pub(crate) const BOTH: [By; 2] = [By::Agent, By::User];

impl Hooked {
    /// Two commits on `main`, a session's branch, `a.txt` with 80 lines; the remote has both
    /// commits.
    pub(crate) fn new() -> Hooked {
        let workspace = TestRepo::with(&[("a.txt", lines(80).as_bytes()), ("b.txt", b"one\n")]);
        workspace.commit(&[("b.txt", b"two\n")]);
        workspace.git(&["branch", "edt/work"]);
        workspace.git(&["update-ref", "refs/edt/work/base", "HEAD"]);
        workspace.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../remote"]);
        workspace.git(&["remote", "add", "origin", "../remote"]);
        workspace.git(&["push", "--quiet", "origin", "main"]);
        Hooked { workspace }
    }

    /// The same with the hook `name` alone; `pre-receive` is in the remote.
    pub(crate) fn with(name: &str) -> Hooked {
        let hooked = Hooked::new();
        let at = if name == "pre-receive" {
            hooked.remote()
        } else {
            hooked.workspace.at(&hooked.workspace.root)
        };
        at.edt(&["hooks", "install"]);
        let directory = at.git_dir("--git-common-dir").join("hooks");
        for hook in ["pre-commit", "pre-push", "reference-transaction", "pre-receive"] {
            let path = directory.join(hook);
            assert!(hook != name || path.exists(), "{name} is installed");
            if hook != name && path.exists() {
                std::fs::remove_file(path).unwrap();
            }
        }
        hooked
    }

    pub(crate) fn remote(&self) -> TestRepo {
        self.workspace.at(self.workspace.root.parent().unwrap().join("remote"))
    }

    /// Runs a line of shell as an agent or as the user at a terminal.
    pub(crate) fn sh(&self, by: By, line: &str) -> Output {
        shell(&self.workspace, by, line).output().unwrap()
    }
}

/// A line of shell, run by an agent or by the user at a terminal.
pub(crate) fn shell(workspace: &TestRepo, by: By, line: &str) -> Command {
    let mut command = match by {
        By::Agent => {
            let mut command = workspace.command("setsid");
            command.args(["--wait", "sh", "-c", line]);
            // An agent's call reads the account's policy. Without the variable it is that of the
            // scratch directory, and the caller is still not the user.
            if !workspace.home.join(".config/edt/edt.toml").exists() {
                command.env("EDT_AGENT", "1");
            }
            command
        }
        By::User => {
            let mut command = workspace.command("script");
            command.args(["-qec", line, "/dev/null"]).env("SHELL", "/bin/sh");
            command
        }
    };
    // Hooks call the edt that is recorded in them; by hand it is found on PATH.
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", Path::new(EDT).parent().unwrap().display()));
    command
}

/// What is tried: its name in the table, what is prepared (without hooks), the line that is run,
/// and what it would destroy.
struct Row {
    name: &'static str,
    prepare: fn(&TestRepo),
    line: &'static str,
    harm: fn(&Hooked) -> Harm,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    None,
    /// Refs are as they were; files are not.
    FilesOnly,
    Done,
}

fn shrink(workspace: &TestRepo) {
    workspace.write("a.txt", "fragment\n");
    workspace.git(&["add", "a.txt"]);
}

fn dirty(workspace: &TestRepo) {
    workspace.write("b.txt", "uncommitted\n");
    workspace.write("new.txt", "untracked\n");
}

/// The remote has one commit more than the branch that is pushed.
fn rewound(workspace: &TestRepo) {
    workspace.git(&["-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard", "HEAD~1"]);
}

fn nothing(_: &TestRepo) {}

fn commits(hooked: &Hooked, count: usize) -> bool {
    hooked.workspace.git(&["rev-list", "--count", "main"]).trim() == count.to_string()
}

fn harm(refs_kept: bool, files_kept: bool) -> Harm {
    match (refs_kept, files_kept) {
        (true, true) => Harm::None,
        (true, false) => Harm::FilesOnly,
        (false, _) => Harm::Done,
    }
}

fn committed(hooked: &Hooked) -> Harm {
    harm(commits(hooked, 2), true)
}

fn reset(hooked: &Hooked) -> Harm {
    harm(commits(hooked, 2), hooked.workspace.text("b.txt") == "uncommitted\n")
}

fn branch_gone(hooked: &Hooked) -> Harm {
    harm(
        hooked
            .workspace
            .try_git(&["rev-parse", "--verify", "refs/heads/edt/work"])
            .status
            .success(),
        true,
    )
}

fn rewritten(hooked: &Hooked) -> Harm {
    harm(commits(hooked, 2), true)
}

fn pushed(hooked: &Hooked) -> Harm {
    harm(hooked.remote().git(&["rev-list", "--count", "main"]).trim() == "2", true)
}

fn overwritten(hooked: &Hooked) -> Harm {
    if hooked.workspace.text("b.txt") == "uncommitted\n" { Harm::None } else { Harm::Done }
}

fn cleaned(hooked: &Hooked) -> Harm {
    if hooked.workspace.exists("new.txt") { Harm::None } else { Harm::Done }
}

const ROWS: &[Row] = &[
    Row { name: "commit", prepare: shrink, line: "git commit -qm shrunk", harm: committed },
    Row {
        name: "commit --no-verify",
        prepare: shrink,
        line: "git commit --no-verify -qm shrunk",
        harm: committed,
    },
    Row { name: "reset --hard", prepare: dirty, line: "git reset --hard HEAD~1", harm: reset },
    Row { name: "checkout -f", prepare: dirty, line: "git checkout -f", harm: overwritten },
    Row { name: "branch -D", prepare: nothing, line: "git branch -D edt/work", harm: branch_gone },
    Row {
        name: "update-ref",
        prepare: nothing,
        line: "git update-ref refs/heads/main HEAD~1",
        harm: rewritten,
    },
    Row {
        name: "push --force",
        prepare: rewound,
        line: "git push --force origin main",
        harm: pushed,
    },
    Row {
        name: "-c core.hooksPath=",
        prepare: nothing,
        line: "git -c core.hooksPath=/dev/null update-ref refs/heads/main HEAD~1",
        harm: rewritten,
    },
    Row { name: "clean -fd", prepare: dirty, line: "git clean -fd", harm: cleaned },
    Row { name: "rm -rf .git/refs", prepare: nothing, line: "rm -rf .git/refs", harm: branch_gone },
];

const HOOKS: [&str; 4] = ["pre-commit", "pre-push", "reference-transaction", "pre-receive"];

/// One cell, as real Git fills it.
fn cell(row: &Row, hook: &str) -> String {
    let [agent, user] = BOTH.map(|by| {
        let hooked = Hooked::with(hook);
        (row.prepare)(&hooked.workspace);
        let done = hooked.sh(by, row.line);
        let harm = (row.harm)(&hooked);
        // A refused command must say so: a command that fails for another reason proves nothing.
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let refused =
            ["GIT_OPERATION_BLOCKED", "SIZE_REDUCTION"].iter().any(|code| said.contains(code));
        assert_eq!(
            refused,
            harm != Harm::Done,
            "{} with {hook} by {by:?}: {harm:?}\n{said}",
            row.name
        );
        match harm {
            Harm::None => "**stops**",
            Harm::FilesOnly => "**stops** the ref; files are rewritten",
            Harm::Done => "no",
        }
    });
    if agent == user { agent.to_owned() } else { format!("agent: {agent}; user: {user}") }
}

#[test]
fn the_table_of_hooks_is_what_git_does() {
    let table = format!(
        "| command | {} |\n|{}\n",
        HOOKS.map(|hook| format!("`{hook}`")).join(" | "),
        " --- |".repeat(5)
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/hooks.md");
    let document = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(document.contains(&table), "docs/guide/hooks.md does not hold this table:\n{table}");
    for row in edt_testkit::share(ROWS.iter().collect(), 4) {
        let name = if row.name.starts_with("rm") {
            row.name.to_owned()
        } else {
            format!("git {}", row.name)
        };
        let cells: Vec<String> = HOOKS.iter().map(|hook| cell(row, hook)).collect();
        let line = format!("| `{name}` | {} |\n", cells.join(" | "));
        assert!(document.contains(&line), "docs/guide/hooks.md does not hold this line:\n{line}");
    }
}

#[test]
fn without_hooks_each_cell_of_the_table_does_its_harm() {
    for row in ROWS {
        let hooked = Hooked::new();
        (row.prepare)(&hooked.workspace);
        hooked.sh(By::Agent, row.line);
        assert_eq!((row.harm)(&hooked), Harm::Done, "{}", row.name);
    }
}
