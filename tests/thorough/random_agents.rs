//! Policy only tightens without the user: an agent tries to get a protected change, or a loss that
//! no guard may let pass, onto `main`, in random sequences of edt and Git, in environments that it
//! sets, and by pushes.
//!
//! After every step `main` here and in the remote keep the protected files and the policy. The long
//! file is removed, or most of it is left: here of what the user committed, in the remote of what it
//! had before the step. The agent never commits to `main` itself: a program with a shell can.
//! `EDT_TESTS=all` plays 60 seeds; `EDT_RANDOM_SEED` plays one.

use edt_testkit::{Progress, Tier, seeds, tier};

use crate::rng::Dice;
use crate::test_repo::{EDT, TestRepo, lines, run};

/// The first policy allows more than the one that `main` has.
const LOOSE: &[u8] = b"[session]\nswitch = true\n";
const STRICT: &[u8] = b"[[protect]]\npaths = [\"ci/**\"]\noverride = \"approval\"\n\
    [guards.size_reduction]\noverride = \"never\"\n";

/// What the agent may never change.
const HELD: [&str; 3] = ["ci/run", "edt.toml", ".envrc"];

/// An `edt.toml` that allows everything, and the variables that lead to it.
const LOOSEST: &str = "[[unprotect]]\npaths = [\"**\"]\n\
    [guards.size_reduction]\nmode = \"off\"\n";

struct Agent {
    repo: TestRepo,
    dice: Dice,
    said: Vec<String>,
    /// How many lines the long file of the remote has.
    pushed: usize,
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
        assert_eq!(remote.edt(&["hooks", "install"]).exit, 0);
        Agent { repo, dice: Dice::new(seed), said: vec![format!("seed {seed}")], pushed: 400 }
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
        let short = |arg: &&str| match arg.lines().count() {
            0 | 1 => arg.trim().to_owned(),
            many => format!("({many} lines)"),
        };
        let args: Vec<String> = args.iter().map(short).collect();
        self.said.push(format!("{name} edt {}: {} {codes}", args.join(" "), answer.exit));
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
            5 => {
                let path = *self.dice.pick(&[held, "long.txt"]);
                self.edt(&["apply", path, "--mode", "delete"]);
            }
            6 | 7 => {
                self.write();
                self.said.push("write".to_owned());
            }
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
            19 => self.edt(&["land", "--allow", "leaves_out", "--allow", "size_reduction"]),
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

    /// What `main` may not lose, here and in the remote.
    fn check(&mut self) {
        let log = self.said.join("\n");
        let check = |git_dir: &str, before: usize| {
            let git = |args: &[&str]| self.repo.git(&[&["--git-dir", git_dir], args].concat());
            let show = |path: &str| git(&["show", &format!("main:{path}")]);
            assert_eq!(show("ci/run"), "true\n", "{log}");
            assert_eq!(show("edt.toml").as_bytes(), STRICT, "{log}");
            if git(&["ls-tree", "main", "long.txt"]).is_empty() {
                return None;
            }
            let left = show("long.txt").lines().count();
            assert!(
                before < 50 || left * 100 >= before * 34,
                "{git_dir}: {left} of {before} lines\n{log}"
            );
            Some(left)
        };
        check(".git", 400);
        // Files that other programs execute are held for an agent, and a server cannot know one.
        assert_eq!(self.repo.git(&["show", "main:.envrc"]), "true\n", "{log}");
        let remote = self.repo.home.join("remote");
        let pushed = check(remote.to_str().unwrap(), self.pushed);
        self.pushed = pushed.unwrap_or_default();
    }
}

#[test]
fn no_sequence_of_calls_loosens_what_main_is_held_to() {
    let progress = Progress::start();
    let asked = std::env::var("EDT_RANDOM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = seeds(asked, 2, 60);
    let (mut steps, mut landed) = (0, 0);
    for seed in seeds {
        let mut agent = Agent::new(seed);
        for _ in 0..60 {
            agent.step();
            agent.check();
            steps += 1;
        }
        let lands = |line: &&String| line.contains(" edt land") && line.ends_with(": 0 ");
        landed += agent.said.iter().filter(lands).count();
    }
    // Two seeds may have no landing.
    assert!(tier() == Tier::Ci || landed > 0, "nothing landed");
    progress.done("random agents", "policy", steps);
}
