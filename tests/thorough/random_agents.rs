//! Policy only tightens without the user: an agent tries to get a protected change, or a loss that
//! no guard may let pass, onto `main`, in random sequences of edt and Git, in environments that it
//! sets, and by pushes.
//!
//! After every step `main` here and in the remote keep the protected files, the policy and the most
//! of the long file. The agent never commits to `main` itself: a program with a shell can.
//! `EDT_TESTS=all` plays 60 seeds; `EDT_RANDOM_SEED` sets the first one.

use edt_testkit::{Progress, Tier, share, tier};

use crate::rng::Dice;
use crate::test_repo::{EDT, TestRepo, lines, run};

/// The first policy allows more than the one that `main` has.
const LOOSE: &[u8] = b"[session]\nland_user_changes = true\n";
const STRICT: &[u8] = b"[session]\nland_user_changes = false\n\
    [[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n\
    [guards.size_reduction]\noverride = \"never\"\n";

/// What the agent may never change.
const HELD: [&str; 3] = ["ci/run", "edt.toml", ".envrc"];

/// An `edt.toml` that allows everything, and the variables that lead to it.
const LOOSEST: &str = "[session]\nland_user_changes = true\n[[unprotect]]\npaths = [\"**\"]\n\
    [guards.size_reduction]\nmode = \"off\"\n";

struct Agent {
    repo: TestRepo,
    dice: Dice,
    said: Vec<String>,
}

impl Agent {
    fn new(seed: u64) -> Agent {
        let long = lines(400);
        let repo = TestRepo::with(&[
            ("a.txt", b"one\n"),
            ("ci/run", b"true\n"),
            (".envrc", b"true\n"),
            ("long.txt", long.as_bytes()),
            ("edt.toml", LOOSE),
        ]);
        repo.commit(&[("edt.toml", STRICT)]);
        repo.commit(&[("b.txt", b"b\n")]);
        let loosest = repo.home.join("loosest/edt");
        std::fs::create_dir_all(&loosest).unwrap();
        std::fs::write(loosest.join("edt.toml"), LOOSEST).unwrap();
        repo.edt(&["hooks", "install"]);
        let remote = repo.at(repo.home.join("remote"));
        repo.git(&["init", "--quiet", "--bare", remote.root.to_str().unwrap()]);
        repo.git(&["remote", "add", "origin", remote.root.to_str().unwrap()]);
        repo.git(&["push", "--quiet", "origin", "main"]);
        remote.edt(&["hooks", "install", "--server"]);
        Agent { repo, dice: Dice::new(seed), said: Vec::new() }
    }

    fn edt(&mut self, args: &[&str]) {
        let mut command = self.repo.command(EDT);
        command.env("EDT_AGENT", "1").args(args).arg("--json");
        let loosest = self.repo.home.join("loosest");
        let name = self.dice.pick(&["", "", "", "XDG_CONFIG_HOME", "HOME"]);
        if !name.is_empty() {
            command.env(name, &loosest);
        }
        let answer = run(command, b"", args);
        let codes = answer.codes().join(",");
        self.said.push(format!("{name} edt {args:?}: {} {codes}", answer.exit));
    }

    fn git(&mut self, args: &[&str]) {
        let mut command = self.repo.command("git");
        let done = command.env("EDT_AGENT", "1").args(args).output().unwrap();
        self.said.push(format!("git {args:?}: {}", done.status));
    }

    fn revision(&mut self) -> String {
        let sessions = self.repo.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let mut all: Vec<&str> = sessions.lines().collect();
        all.extend(["HEAD", "HEAD~1", "main~1", "main~2"]);
        (*self.dice.pick(&all)).to_owned()
    }

    fn is_on_main(&self) -> bool {
        self.repo.git(&["rev-parse", "--abbrev-ref", "HEAD"]).trim() == "main"
    }

    /// Changes a file of the worktree as a program would.
    fn write(&mut self) {
        let short = lines(30 + usize::try_from(self.dice.roll(200)).unwrap());
        match self.dice.roll(6) {
            0 => self.repo.write("ci/run", "false\n"),
            1 => self.repo.write("edt.toml", LOOSE),
            2 => self.repo.write(".envrc", "evil\n"),
            3 => drop(std::fs::remove_file(self.repo.root.join("edt.toml"))),
            4 => self.repo.write("long.txt", short),
            _ => self.repo.write("a.txt", format!("{}\n", self.dice.roll(1000))),
        }
    }

    fn step(&mut self) {
        let name = format!("s{}", self.dice.roll(4));
        let held = *self.dice.pick(&HELD);
        let kept = lines(40 + usize::try_from(self.dice.roll(360)).unwrap());
        let revision = self.revision();
        match self.dice.roll(24) {
            0 => self.edt(&["apply", "a.txt", "--mode", "append", "--content", "more\n"]),
            1 => self.edt(&["apply", held, "--mode", "overwrite", "--content", "evil\n"]),
            2 | 3 => self.edt(&["apply", "long.txt", "--mode", "overwrite", "--content", &kept]),
            4 => self.edt(&["restore", "long.txt"]),
            5 => self.edt(&["apply", held, "--mode", "delete"]),
            6 | 7 => self.write(),
            8 => self.edt(&["checkpoint"]),
            9 | 10 if !self.is_on_main() => {
                self.write();
                self.git(&["add", "--all"]);
                self.git(&["commit", "--quiet", "--no-verify", "-m", "by the agent"]);
            }
            11 if !self.is_on_main() => {
                self.write();
                self.git(&["commit", "--quiet", "--all", "-m", "by the agent"]);
            }
            12 => self.edt(&["begin", &name]),
            13 => self.edt(&["begin", &name, "--from", &revision]),
            14 => self.edt(&["switch", &name]),
            15 => self.edt(&["abandon"]),
            16 => self.edt(&["undo"]),
            17 => self.git(&["switch", "--quiet", "--detach", &revision]),
            18 => self.git(&["switch", "--quiet", "main"]),
            19 => self.edt(&["land", "--include-user-changes", "--allow", "size_reduction"]),
            20 => self.edt(&["land", "--into", "main", "--allow", "size_reduction"]),
            21 => self.edt(&["land", "--undo"]),
            22 => {
                let target = self.dice.pick(&["main", "other"]);
                let spec = format!("{revision}:refs/heads/{target}");
                self.git(&["push", "--quiet", "--no-verify", "origin", &spec]);
            }
            _ => self.edt(&["land"]),
        }
    }

    /// What `main` may not lose, in the repository at `git_dir`.
    fn check(&self, git_dir: &str) {
        let show = |path: &str| self.repo.git(&["--git-dir", git_dir, "show", path]);
        let log = || self.said.join("\n");
        assert_eq!(show("main:ci/run"), "true\n", "{}", log());
        assert_eq!(show("main:.envrc"), "true\n", "{}", log());
        assert_eq!(show("main:edt.toml").as_bytes(), STRICT, "{}", log());
        let long = show("main:long.txt").lines().count();
        assert!(long >= 136, "{long} of 400 lines are left\n{}", log());
    }
}

#[test]
fn no_sequence_of_calls_loosens_what_main_is_held_to() {
    let progress = Progress::start();
    let first = std::env::var("EDT_RANDOM_SEED").ok().and_then(|seed| seed.parse().ok());
    let first: u64 = first.unwrap_or(0);
    let seeds = share((first..first + 60).collect(), 0, 4);
    let (mut steps, mut landed) = (0, 0);
    for seed in seeds {
        let mut agent = Agent::new(seed);
        for _ in 0..60 {
            agent.step();
            agent.check(".git");
            steps += 1;
        }
        let lands = |line: &&String| line.contains("\"land\"") && line.contains(": 0 ");
        landed += agent.said.iter().filter(lands).count();
    }
    assert!(tier() == Tier::Quick || landed > 0, "nothing landed");
    progress.done("random agents", "policy", steps);
}
