//! The command policy: a table of commands with what becomes of each, and attempts to get forbidden ones past it. None is ever run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use edt::base::Level;
use edt::policy::Policy;
use edt::policy::command::{Asked, Decision, Judgement, Programs};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::World;

const TABLE: &str = include_str!("../../fixtures/commands/table.tsv");

/// One row of the table.
struct Row {
    want: String,
    argv: Vec<String>,
    bypass: bool,
}

/// A worktree with the programs and links that the table names, and a `PATH` of empty programs.
struct Place {
    world: World,
    bin: PathBuf,
}

impl Place {
    fn new() -> Place {
        let world = World::with(&[
            ("src/a.c", b"int a;\n"),
            ("README.md", b"x\n"),
            ("tools/check.py", b"\n"),
            ("tools/x.js", b"\n"),
        ]);
        let bin = world.home.parent().unwrap().join("bin");
        let programs: BTreeSet<String> =
            rows().into_iter().map(|row| row.argv[0].clone()).filter(|name| !name.contains(['/', '{'])).collect();
        let more = ["git", "rm", "busybox", "python3.11", "bash", "sh"].map(str::to_owned);
        for name in programs.into_iter().chain(more).filter(|name| name != "nosuchprogram") {
            program(&bin.join(name));
        }
        for name in [
            "demo/calculate",
            "gradlew",
            "target/debug/app",
            "scripts/run.sh",
            "node_modules/eslint/bin/eslint.js",
            ".git/hooks/pre-commit",
        ] {
            program(&world.root.join(name));
        }
        program(&world.home.join("ls"));
        let outside = world.home.parent().unwrap().join("outside");
        program(&outside.join("ls"));
        std::fs::create_dir_all(world.root.join(".venv/bin")).unwrap();
        std::fs::create_dir_all(world.root.join("node_modules/.bin")).unwrap();
        for (link, to) in [
            ("x", bin.join("git")),
            ("ls", bin.join("git")),
            ("lnk", bin.join("rm")),
            ("bb", bin.join("busybox")),
            (".venv/bin/python", bin.join("python3.11")),
            ("node_modules/.bin/eslint", PathBuf::from("../eslint/bin/eslint.js")),
            ("out", outside),
            ("home", world.home.clone()),
            ("gitlink", PathBuf::from(".git")),
        ] {
            symlink(to, world.root.join(link)).unwrap();
        }
        Place { world, bin }
    }

    /// The rows, places filled in.
    fn rows(&self) -> Vec<Row> {
        let fill = |arg: &String| {
            let at = |path: &Path| path.to_str().unwrap().to_owned();
            arg.replace("{root}", &at(&self.world.root))
                .replace("{home}", &at(&self.world.home))
                .replace("{bin}", &at(&self.bin))
        };
        rows().into_iter().map(|row| Row { argv: row.argv.iter().map(fill).collect(), ..row }).collect()
    }

    /// What `edt policy check --lines` says of each command.
    fn checked(&self, commands: &[Vec<String>], flags: &[&str]) -> (i32, Vec<Value>) {
        let lines: String = commands.iter().map(|argv| format!("{}\n", json!(argv))).collect();
        let mut command = self.world.command(crate::world::EDT);
        command.args(["policy", "check", "--lines"]).args(flags).env("PATH", &self.bin);
        command.arg("--json");
        let answer = crate::world::run(command, lines.as_bytes(), flags);
        (answer.exit, answer.json["judgements"].as_array().unwrap().clone())
    }

    fn judge(&self, policy: &Policy, argv: &[String]) -> Judgement {
        let args: Vec<OsString> = argv[1..].iter().map(OsString::from).collect();
        let root = self.world.root.canonicalize().unwrap();
        let asked =
            Asked { program: argv[0].as_ref(), args: &args, dir: &root, root: &root, env: &[], level: Level::Standard };
        policy.commands.judge(&asked, self)
    }
}

impl Programs for Place {
    fn folders(&self) -> Vec<PathBuf> {
        vec![self.bin.clone()]
    }

    fn runs(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn home(&self) -> Option<PathBuf> {
        Some(self.world.home.clone())
    }
}

fn program(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "").unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let argv = match cells[1].strip_prefix("[\"") {
            Some(_) => serde_json::from_str(cells[1]).unwrap_or_else(|error| panic!("{line}: {error}")),
            None => words(cells[1]),
        };
        Row { want: cells[0].to_owned(), argv, bypass: cells.get(2) == Some(&"bypass") }
    };
    TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(row).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn every_command_of_the_table_is_judged_as_it_says() {
    let place = Place::new();
    let rows = place.rows();
    let bypasses = rows.iter().filter(|row| row.bypass).count();
    assert!(rows.len() >= 250 && bypasses >= 80, "{} rows, {bypasses} attempts", rows.len());
    let commands: Vec<Vec<String>> = rows.iter().map(|row| row.argv.clone()).collect();
    let (exit, judged) = place.checked(&commands, &[]);
    assert_eq!((exit, judged.len()), (1, rows.len()));
    let wrong: Vec<String> = rows
        .iter()
        .zip(&judged)
        .filter(|(row, judged)| judged["decision"] != row.want.as_str())
        .map(|(row, judged)| {
            format!(
                "want {} have {} for {:?}: {} {}",
                row.want, judged["decision"], row.argv, judged["rule"], judged["reason"]
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn one_command_answers_by_its_exit_status() {
    let place = Place::new();
    for (argv, exit, says) in [
        (&["git", "status"][..], 0, "git-reads"),
        (&["git", "commit", "-m", "x"], 4, "edt checkpoint"),
        (&["git", "-C", ".", "push", "-f"], 1, "git-push-force"),
    ] {
        let mut command = place.world.command(crate::world::EDT);
        let done = command.args(["policy", "check", "--"]).args(argv).env("PATH", &place.bin).output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert_eq!(done.status.code(), Some(exit), "{said}");
        assert!(said.contains(says), "{said}");
    }
}
