//! Days of random sessions with ignored files: no object of Git and no push ever has a byte of one.
//!
//! Whatever is written to an ignored file has a marker. The agent and its programs edit, create,
//! move, copy and remove such files and change the ignore rules; the user types into them and adds
//! rules. Sessions land with the user's changes, also from a linked worktree, and `edt run` is
//! killed. After every step no object has a marker. An edit that is undone at once, and a refused
//! program, give every file its bytes back. At the end, `git push --mirror` sends nothing with a
//! marker.
//!
//! `EDT_TESTS=all` plays 30 seeds of 150 steps. `EDT_RANDOM_SEED` plays one seed,
//! `EDT_RANDOM_STEPS` sets the number of steps.

use std::collections::BTreeSet;

use edt_testkit::{Progress, Tier, seeds, tier};
use serde_json::json;

use crate::rng::Dice;
use crate::test_repo::{Answer, EDT, Snapshot, TestRepo, lines, run};

const RULES: &str = ".env\n*.log\ncache/\ndata/\n";
/// The user's policy that lets every program run.
const FREE: &str = "[run]\nsandbox = \"permissive\"\nunknown = \"allow\"\ntimeout = 600\n";
/// In every content of an ignored file, and nowhere else.
const MARKER: &str = "MaRkEr-0f-4-private-f1le-0f-the-user";
const IGNORED: [&str; 6] =
    [".env", "x.log", "dir/y.log", "cache/one.bin", "cache/deep/two.bin", "data/7"];
/// Where programs move and copy private files to.
const VISIBLE: [&str; 4] = ["seen-1.txt", "seen-2.txt", "dir/seen-3.txt", "new/seen-4.txt"];
/// Files that are not private. The last one is untracked at first.
const OTHERS: [&str; 3] = ["a.txt", "dir/c.txt", "notes.txt"];
/// More files than are copied before a program that does not name them.
const MANY: usize = 250;

struct Day {
    repo: TestRepo,
    dice: Dice,
    /// Makes every content unique.
    count: u64,
    /// What happened, for the message of a failure.
    log: Vec<String>,
    /// How often a file was kept private that Git did not ignore.
    private: usize,
    /// How often an edit of a private file was undone byte for byte.
    undone: usize,
}

impl Day {
    fn new(seed: u64) -> Day {
        let (a, b) = (lines(30), lines(40));
        let repo = TestRepo::with(&[
            ("a.txt", a.as_bytes()),
            ("b.txt", b.as_bytes()),
            ("dir/c.txt", b"c\n"),
            (".gitignore", RULES.as_bytes()),
        ]);
        let directory = repo.home.join(".config/edt");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("edt.toml"), FREE).unwrap();
        let (log, private, undone) = (Vec::new(), 0, 0);
        let mut day = Day { repo, dice: Dice::new(seed), count: 0, log, private, undone };
        for at in 0..MANY {
            day.repo.write(&format!("data/{at}"), format!("{MARKER} {at}\n"));
        }
        for path in IGNORED {
            let text = day.secret();
            day.repo.write(path, text);
        }
        day.repo.write("notes.txt", "of the user\n");
        day
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A new content of an ignored file: sometimes very short, sometimes long.
    fn secret(&mut self) -> String {
        let text = format!("{MARKER} {}\n", self.number());
        if self.dice.chance(20) { text.repeat(200) } else { text }
    }

    fn edt(&mut self, args: &[&str]) -> Answer {
        self.said(format!("edt {}", args.join(" ")), |repo| repo.edt(args))
    }

    fn runs(&mut self, argv: &[&str]) -> Answer {
        self.said(format!("edt run -- {}", argv.join(" ")), |repo| repo.runs(&[], argv))
    }

    /// A program that writes its standard input to `path`.
    fn tee(&mut self, flags: &[&str], path: &str, text: &str) -> Answer {
        let argv = [&["run", "--json", "--stdin", "-", "--", "tee"], flags, &[path]].concat();
        self.said(format!("edt {}", argv.join(" ")), |repo| {
            let mut command = repo.command(EDT);
            command.args(&argv);
            run(command, text.as_bytes(), &argv)
        })
    }

    fn said(&mut self, call: String, make: impl FnOnce(&TestRepo) -> Answer) -> Answer {
        let answer = make(&self.repo);
        let warnings = answer.json["warnings"].as_array().cloned().unwrap_or_default();
        let codes: Vec<&str> = warnings.iter().filter_map(|one| one["code"].as_str()).collect();
        self.private += codes.iter().filter(|code| **code == "stays_private").count();
        self.log.push(format!("{call}: {} {:?} {codes:?}", answer.exit, answer.codes()));
        answer
    }

    /// The files, with their permissions.
    fn files(&self) -> Snapshot {
        let mut files = self.repo.files();
        files.retain(|_, bytes| bytes != b"a directory");
        files
    }

    /// A file with a marker that is on disk now.
    fn secret_file(&mut self) -> Option<String> {
        let has_marker = |path: &&str| {
            let bytes = std::fs::read(self.repo.root.join(path)).unwrap_or_default();
            contains(&bytes)
        };
        let all: Vec<&str> = IGNORED.iter().chain(&VISIBLE).copied().filter(has_marker).collect();
        (!all.is_empty()).then(|| (*self.dice.pick(&all)).to_owned())
    }

    fn is_ignored(&self, path: &str) -> bool {
        self.repo.try_git(&["check-ignore", "--quiet", path]).status.success()
    }

    /// A call of the agent. Sometimes it is undone at once, and every file must be as before.
    fn agent(&mut self, call: impl FnOnce(&mut Day) -> Option<Answer>) -> Result<(), String> {
        let before = self.files();
        let Some(answer) = call(self) else { return Ok(()) };
        let recorded = answer.json["commit"].is_string() && answer.json["edit"].is_u64();
        if !recorded || !self.dice.chance(40) {
            return Ok(());
        }
        let undone = self.edt(&["undo"]);
        let after = self.files();
        if undone.exit != 0 || before != after {
            let differs: BTreeSet<&String> = before
                .keys()
                .chain(after.keys())
                .filter(|path| before.get(*path) != after.get(*path))
                .collect();
            return Err(format!("undo did not restore {differs:?}: {:#}", undone.json));
        }
        self.undone += 1;
        if self.dice.chance(50) {
            self.edt(&["redo"]);
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let visible = *self.dice.pick(&VISIBLE);
        let ignored = *self.dice.pick(&IGNORED);
        let number = self.number();
        match self.dice.roll(32) {
            0 | 1 => self.agent(|day| {
                let (path, text) = (day.secret_file()?, format!("agent {number}\n"));
                Some(day.edt(&["apply", &path, "--mode", "append", "--content", &text]))
            }),
            2 => self.agent(|day| {
                let (path, text) = (day.secret_file()?, format!("agent {number}\n"));
                Some(day.edt(&["apply", &path, "--mode", "overwrite", "--content", &text]))
            }),
            3 => self.agent(|day| {
                let path = day.secret_file()?;
                Some(day.edt(&["apply", &path, "--mode", "rename", "--to", visible]))
            }),
            4..=6 => self.agent(|day| {
                let path = day.secret_file()?;
                std::fs::create_dir_all(day.repo.root.join("new")).unwrap();
                Some(day.runs(&["mv", &path, visible]))
            }),
            7 | 8 => self.agent(|day| {
                let path = day.secret_file()?;
                std::fs::create_dir_all(day.repo.root.join("new")).unwrap();
                Some(day.runs(&["cp", &path, visible]))
            }),
            9 => self.agent(|day| {
                let path = day.secret_file()?;
                Some(day.runs(&["rm", &path]))
            }),
            10 => self.agent(|day| {
                let text = day.secret();
                day.is_ignored(ignored).then(|| day.tee(&[], ignored, &text))
            }),
            11 => self.agent(|day| {
                let path = day.secret_file()?;
                Some(day.tee(&["-a"], &path, &format!("program {number}\n")))
            }),
            12 => self.agent(|day| {
                let rules = *day.dice.pick(&["", "*.tmp\n", ".env\n", "cache/\n*.log\n"]);
                Some(day.tee(&[], ".gitignore", rules))
            }),
            13 => self.agent(|day| {
                let rules = *day.dice.pick(&["*.tmp\n", ".env\n", "cache/\n*.log\n"]);
                let args = ["apply", ".gitignore", "--mode", "overwrite", "--content", rules];
                Some(day.edt(&args))
            }),
            14 => self.agent(|day| {
                let text = format!("agent {number}\n");
                Some(day.edt(&["apply", "a.txt", "--mode", "append", "--content", &text]))
            }),
            15 => {
                self.edt(&["apply", "new.txt", "--mode", "create", "--content", "new\n"]);
                Ok(())
            }
            16 => {
                let save = self.dice.chance(50);
                self.edt(if save { &["undo", "--save"] } else { &["undo", "-n", "2"] });
                Ok(())
            }
            17 => {
                self.edt(&["redo"]);
                Ok(())
            }
            18 => {
                self.edt(&["checkpoint"]);
                Ok(())
            }
            19 => {
                self.edt(&["land"]);
                Ok(())
            }
            20 => {
                self.edt(&["abandon"]);
                Ok(())
            }
            21 => self.hook_on_a_private_file(),
            24.. => self.rarer_step(visible),
            // The user types into a private file, or adds rules.
            22 => {
                if let Some(path) = self.secret_file() {
                    let text = self.repo.text(&path) + &self.secret();
                    self.repo.write(&path, text);
                    self.log.push(format!("the user types into {path}"));
                }
                Ok(())
            }
            _ => {
                if self.is_ignored(ignored) {
                    let text = self.secret();
                    self.repo.write(ignored, text);
                    self.log.push(format!("the user writes {ignored}"));
                }
                self.repo.write(".gitignore", RULES);
                self.repo.write("b.txt", lines(40) + &format!("mine {number}\n"));
                self.log.push("the user adds rules and a line".to_owned());
                Ok(())
            }
        }
    }

    fn hook_on_a_private_file(&mut self) -> Result<(), String> {
        let Some(path) = self.secret_file() else { return Ok(()) };
        let earlier = if self.dice.chance(50) { self.repo.text(&path) } else { String::new() };
        let text = format!("{earlier}tool {}\n", self.number());
        self.hook(&path, &text)
    }

    fn rarer_step(&mut self, visible: &str) -> Result<(), String> {
        match self.dice.roll(8) {
            0 | 1 => {
                let rules = *self.dice.pick(&["*.tmp\n", ".env\n", "cache/\n*.log\n"]);
                self.hook(".gitignore", rules)
            }
            2 | 3 => self.agent(|day| {
                let path = day.secret_file()?;
                std::fs::create_dir_all(day.repo.root.join("new")).unwrap();
                let program = format!("mv {path} {visible} && echo more >> {visible}");
                Some(day.runs(&["sh", "-c", &program]))
            }),
            4 | 5 => self.move_onto_another(),
            6 => self.linked_worktree(),
            _ => self.killed(visible),
        }
    }

    /// A program moves a private file onto one that a commit may have, and may change it, too.
    fn move_onto_another(&mut self) -> Result<(), String> {
        let Some(path) = self.secret_file() else { return Ok(()) };
        let onto = *self.dice.pick(&OTHERS);
        if !self.repo.root.join(onto).exists() || self.is_ignored(onto) {
            return Ok(());
        }
        let more =
            if self.dice.chance(50) { format!(" && echo more >> {onto}") } else { String::new() };
        let program = format!("mv -f {path} {onto}{more}");
        let before = self.files();
        let answer = self.runs(&["sh", "-c", &program]);
        if answer.codes() != ["PROTECTED_PATH"] || self.files() != before {
            return Err(format!("a move onto {onto} was not put back: {:#}", answer.json));
        }
        Ok(())
    }

    /// A session of a linked worktree changes the rules, and lands.
    fn linked_worktree(&mut self) -> Result<(), String> {
        let number = self.number();
        let place = self.repo.home.join(format!("linked-{number}"));
        let place_text = place.display().to_string();
        let name = format!("linked-{number}");
        if self.edt(&["begin", &name, "--worktree", &place_text]).exit != 0 {
            return Ok(());
        }
        let rules = *self.dice.pick(&["*.tmp\n", ".env\n", "cache/\n*.log\n"]);
        let linked = self.repo.at(&place);
        let edit = ["apply", ".gitignore", "--mode", "overwrite", "--content", rules];
        for args in [&edit[..], &["land"]] {
            self.said(format!("in {name}: edt {}", args.join(" ")), |_| linked.edt(args));
        }
        self.repo.git(&["worktree", "remove", "--force", &place_text]);
        no_object_has_a_marker(&self.repo)
    }

    /// A program moves a private file. It and edt are killed.
    fn killed(&mut self, visible: &str) -> Result<(), String> {
        let Some(path) = self.secret_file().filter(|path| path != visible) else { return Ok(()) };
        std::fs::create_dir_all(self.repo.root.join("new")).unwrap();
        let up = self.repo.root.join("up.tmp");
        let program =
            format!("mv {path} {visible}; echo more >> {visible}; touch up.tmp; sleep 60");
        let mut command = self.repo.command(EDT);
        command.args(["run", "--", "sh", "-c", &program]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        while !up.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if !up.exists() {
            return Err(format!("edt run did not start {program}"));
        }
        std::fs::remove_file(up).unwrap();
        self.log.push(format!("killed: mv {path} {visible}, and more"));
        let text = self.repo.text(visible) + "tool\n";
        if self.dice.chance(50) { self.hook(visible, &text) } else { Ok(()) }
    }

    /// The agent's own tool writes a file between the two calls of its hook.
    fn hook(&mut self, path: &str, text: &str) -> Result<(), String> {
        let root = self.repo.root.display().to_string();
        for name in ["PreToolUse", "PostToolUse"] {
            let input = json!({"file_path": format!("{root}/{path}"), "content": text});
            let event = json!({"session_id": "x", "cwd": root, "hook_event_name": name,
                "tool_name": "Write", "tool_input": input});
            let mut command = self.repo.command(EDT);
            command.args(["agent-hook", "claude-code"]).stdin(std::process::Stdio::piped());
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut pipe = child.stdin.take().unwrap();
            std::io::Write::write_all(&mut pipe, event.to_string().as_bytes()).unwrap();
            drop(pipe);
            let done = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&done.stdout).into_owned();
            self.log.push(format!("{name} of Write on {path}: {said}"));
            let answer = if said.trim().is_empty() { Ok(json!({})) } else { said.parse() };
            let Ok(answer): Result<serde_json::Value, _> = answer else {
                return Err(format!("the hook's answer is not JSON: {said}"));
            };
            if !done.status.success() || contains(said.as_bytes()) || said.contains("INTERNAL") {
                return Err(format!("the hook answered {:?}: {said}", done.status));
            }
            if name == "PreToolUse" {
                // A refused call is not made.
                if answer["hookSpecificOutput"]["permissionDecision"] == "deny" {
                    return Ok(());
                }
                self.repo.write(path, text);
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        let all = self.repo.git(&["rev-list", "--objects", "--all"]);
        for id in all.lines().filter_map(|line| line.split(' ').next()) {
            let kind = self.repo.git(&["cat-file", "-t", id]);
            if contains(&self.repo.try_git(&["cat-file", kind.trim(), id]).stdout) {
                return Err(format!("{id} has a marker"));
            }
        }
        let place = self.repo.home.join("bare.git");
        self.repo.git(&["init", "--quiet", "--bare", place.to_str().unwrap()]);
        self.repo.git(&["push", "--quiet", "--mirror", place.to_str().unwrap()]);
        let bare = self.repo.at(&place);
        no_object_has_a_marker(&bare)?;
        let mut files = Snapshot::new();
        crate::test_repo::walk(&place, "", &mut files);
        if let Some((name, _)) = files.iter().find(|(_, bytes)| contains(bytes)) {
            return Err(format!("{name} of the bare repository has a marker"));
        }
        let refs = bare.git(&["for-each-ref", "--format=%(refname)"]);
        match refs.lines().find(|name| name.contains("private")) {
            None => Ok(()),
            Some(name) => Err(format!("{name} was pushed")),
        }
    }
}

fn contains(bytes: &[u8]) -> bool {
    bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
}

/// The number of files that stayed private, and of exact undos.
fn play(seed: u64, steps: usize) -> Result<(usize, usize), String> {
    let mut day = Day::new(seed);
    for step in 0..steps {
        let judged = day.step().and_then(|()| no_object_has_a_marker(&day.repo));
        let judged = if step + 1 == steps { judged.and_then(|()| day.end()) } else { judged };
        if let Err(fault) = judged {
            let last = day.log[day.log.len().saturating_sub(25)..].join("\n  ");
            return Err(format!("seed {seed}, step {step}: {fault}\n  {last}\n"));
        }
    }
    Ok((day.private, day.undone))
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_object_and_no_push_has_a_byte_of_an_ignored_file() {
    let progress = Progress::start();
    let steps = if tier() == Tier::All { 150 } else { 32 };
    let steps = number("EDT_RANDOM_STEPS").unwrap_or(steps);
    let seeds = seeds(number("EDT_RANDOM_SEED").map(|seed| seed as u64), 4, 30);
    let count = seeds.len();
    let played: Vec<Result<(usize, usize), String>> =
        edt_testkit::play(seeds, |seed| play(seed, steps));
    let faults: Vec<&String> = played.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(faults.is_empty(), "{} of {count} seeds failed\n{}", faults.len(), faults[0]);
    let sum = |of: fn(&(usize, usize)) -> usize| -> usize { played.iter().flatten().map(of).sum() };
    // Few seeds may do little.
    let (first, second) = (sum(|one| one.0), sum(|one| one.1));
    assert!(tier() == Tier::Ci || first > count && second > count, "{played:?}");
    progress.done("private files", "steps", count * steps);
}

/// No object of Git has a marker, reachable or not.
fn no_object_has_a_marker(repo: &TestRepo) -> Result<(), String> {
    let objects = repo.try_git(&["cat-file", "--batch-all-objects", "--batch"]).stdout;
    if contains(&objects) {
        return Err("an object has a marker".to_owned());
    }
    Ok(())
}
