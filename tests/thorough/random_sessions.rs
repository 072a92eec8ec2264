//! A user runs Git in the worktree in which an agent edits through edt: random steps, compared with
//! a simple model of the disk.
//!
//! After every step of edt: no content that was on disk, in the index or behind a ref is gone, and
//! no line of the user; a refusal changed nothing; the disk has the content of the model; `undo`
//! restores the bytes of before. A step is a number that is read against the current state, so that
//! every part of a history is a history, and a failing one shrinks. `ownership` checks what is in
//! the session's commits.
//!
//! `EDT_TESTS=all` plays 20 seeds of 500 steps; `EDT_RANDOM_SEED` plays one seed.

use std::collections::{BTreeMap, BTreeSet};

use edt_testkit::{Progress, Tier, play, seeds, tier};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::test_repo::{EDT, Snapshot, TestRepo, walk};

/// What someone does; the numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    /// Nothing: what a failing day's steps shrink to.
    Rest,
    // The user, with an editor and plain Git.
    Write(u8),
    Append(u8),
    Remove(u8),
    Add(u8),
    AddAll,
    Unstage(u8),
    Commit,
    Amend,
    Stash,
    Pop,
    SwitchMain,
    SwitchSession(u8),
    SwitchNew,
    Rebase,
    ResetKeep,
    Gc,
    Worktree(u8),
    // The agent, through edt.
    Apply(u8, u8, u8),
    Undo(u8),
    Redo,
    Restore(u8),
    Checkpoint(Option<u8>),
    Land,
    Abandon,
    Begin(bool),
    Status,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Rest),
        10 => any::<u8>().prop_map(Step::Write),
        4 => any::<u8>().prop_map(Step::Append),
        2 => any::<u8>().prop_map(Step::Remove),
        5 => any::<u8>().prop_map(Step::Add),
        1 => Just(Step::AddAll),
        2 => any::<u8>().prop_map(Step::Unstage),
        4 => Just(Step::Commit),
        1 => Just(Step::Amend),
        2 => Just(Step::Stash),
        2 => Just(Step::Pop),
        2 => Just(Step::SwitchMain),
        3 => any::<u8>().prop_map(Step::SwitchSession),
        1 => Just(Step::SwitchNew),
        2 => Just(Step::Rebase),
        2 => Just(Step::ResetKeep),
        1 => Just(Step::Gc),
        1 => any::<u8>().prop_map(Step::Worktree),
        40 => any::<(u8, u8, u8)>().prop_map(|(a, b, c)| Step::Apply(a, b, c)),
        8 => any::<u8>().prop_map(Step::Undo),
        4 => Just(Step::Redo),
        3 => any::<u8>().prop_map(Step::Restore),
        3 => any::<Option<u8>>().prop_map(Step::Checkpoint),
        2 => Just(Step::Land),
        1 => Just(Step::Abandon),
        2 => any::<bool>().prop_map(Step::Begin),
        2 => Just(Step::Status),
    ]
}

/// The paths that both work on.
const PATHS: [&str; 7] =
    ["a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "dir/sub/e.txt", "f.txt", "g.txt"];

/// Paths and the blobs they hold.
type Tree = BTreeMap<String, String>;
type Fault = Result<(), TestCaseError>;

/// The repository, and what the session in it should hold.
struct Day {
    workspace: TestRepo,
    /// The disk before and after each edit that can be undone, oldest first.
    back: Vec<(Tree, Tree)>,
    /// Every content that was on disk.
    contents: BTreeMap<String, Vec<u8>>,
    /// Makes every content its own.
    count: u64,
    refs: String,
    behind_refs: BTreeSet<String>,
    /// How often each command of edt did something, and how often it refused.
    tally: BTreeMap<String, (u32, u32)>,
}

/// Everything but objects: what a refusal leaves as it was.
#[derive(Debug, PartialEq)]
struct Seen {
    disk: Tree,
    index: String,
    refs: String,
    head: String,
}

impl Day {
    fn new() -> Day {
        let files: Vec<(&str, Vec<u8>)> = PATHS[..5]
            .iter()
            .map(|path| (*path, format!("{path} at first\n").into_bytes()))
            .collect();
        let files: Vec<(&str, &[u8])> =
            files.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
        let workspace = TestRepo::with(&files);
        workspace.git(&["config", "gc.auto", "0"]);
        Day {
            workspace,
            back: Vec::new(),
            contents: BTreeMap::new(),
            count: 0,
            refs: String::new(),
            behind_refs: BTreeSet::new(),
            tally: BTreeMap::new(),
        }
    }

    fn content(&mut self, who: &str) -> String {
        self.count += 1;
        format!("{who} {}\nsome more of it\n", self.count)
    }

    fn path(number: u8) -> &'static str {
        PATHS[usize::from(number) % PATHS.len()]
    }

    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.workspace.root.join(path)).ok()
    }

    fn disk(&mut self) -> Tree {
        let mut disk = Tree::new();
        for path in PATHS {
            let Some(bytes) = self.bytes(path) else { continue };
            let id = blob(&bytes);
            self.contents.insert(id.clone(), bytes);
            disk.insert(path.to_owned(), id);
        }
        disk
    }

    fn seen(&mut self) -> Seen {
        Seen {
            disk: self.disk(),
            index: self.workspace.git(&["ls-files", "--stage"]),
            refs: self.workspace.git(&["for-each-ref", "--format=%(refname) %(objectname)"]),
            head: std::fs::read_to_string(self.workspace.root.join(".git/HEAD")).unwrap(),
        }
    }

    /// The blobs on disk, in the index or behind a ref.
    fn alive(&mut self, seen: &Seen) -> BTreeSet<String> {
        if seen.refs != self.refs {
            let said = self.workspace.git(&["rev-list", "--objects", "--no-object-names", "--all"]);
            self.behind_refs = said.lines().map(str::to_owned).collect();
            self.refs.clone_from(&seen.refs);
        }
        let mut alive = self.behind_refs.clone();
        alive.extend(seen.disk.values().cloned());
        alive.extend(
            seen.index.lines().filter_map(|line| line.split(' ').nth(1)).map(str::to_owned),
        );
        alive
    }

    /// The user's lines of the contents `lost` that are nowhere. An edit beside them puts other
    /// lines into their file; the private store has the file as it was.
    fn lost_lines(&self, lost: &[&String], alive: &BTreeSet<String>) -> Vec<String> {
        let mut lines: BTreeSet<&[u8]> = BTreeSet::new();
        for content in lost.iter().filter_map(|id| self.contents.get(*id)) {
            lines.extend(
                content.split(|byte| *byte == b'\n').filter(|one| one.starts_with(b"user")),
            );
        }
        let mut forget = |bytes: &[u8]| {
            lines.retain(|line| !bytes.windows(line.len()).any(|part| part == *line));
        };
        for path in PATHS {
            forget(&self.bytes(path).unwrap_or_default());
        }
        let mut private = Snapshot::new();
        walk(&self.workspace.root.join(".git/edt/private"), "", &mut private);
        private.values().for_each(|bytes| forget(bytes));
        alive.iter().filter_map(|id| self.contents.get(id)).for_each(|bytes| forget(bytes));
        // What is staged may be a merge that no file on disk ever was.
        for entry in self.workspace.git(&["ls-files", "--stage"]).lines() {
            let id = entry.split(' ').nth(1).unwrap_or_default();
            forget(self.workspace.git(&["cat-file", "blob", id]).as_bytes());
        }
        lines.into_iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    fn edt(&self, args: &[&str]) -> (i32, Value) {
        self.edt_fed(b"", args)
    }

    fn edt_fed(&self, stdin: &[u8], args: &[&str]) -> (i32, Value) {
        let mut command = self.workspace.command(EDT);
        command.args(args).arg("--json");
        let answer = crate::test_repo::run(command, stdin, args);
        (answer.exit, answer.json)
    }

    /// A step of the user; the model reads the state again afterwards.
    fn user(&mut self, args: &[&str]) {
        let _ = self.workspace.try_git(args);
        self.resync();
    }

    fn resync(&mut self) {
        self.back.clear();
    }

    fn take(&mut self, step: &Step) -> Fault {
        match step {
            Step::Rest => {}
            Step::Write(n) => {
                let content = self.content("user");
                self.workspace.write(Day::path(*n), content);
            }
            Step::Append(n) => {
                let mut text =
                    std::fs::read(self.workspace.root.join(Day::path(*n))).unwrap_or_default();
                text.extend(self.content("user, more").into_bytes());
                self.workspace.write(Day::path(*n), text);
            }
            Step::Remove(n) => drop(std::fs::remove_file(self.workspace.root.join(Day::path(*n)))),
            Step::Add(n) => drop(self.workspace.try_git(&["add", "--", Day::path(*n)])),
            Step::AddAll => drop(self.workspace.try_git(&["add", "--all"])),
            Step::Unstage(n) => {
                drop(self.workspace.try_git(&["reset", "--quiet", "--", Day::path(*n)]));
            }
            Step::Commit => self.user(&["commit", "--quiet", "-m", "a user's"]),
            Step::Amend => self.user(&["commit", "--quiet", "--amend", "--no-edit"]),
            Step::Stash => self.user(&["stash", "push", "--quiet"]),
            Step::Pop => {
                if !self.workspace.try_git(&["stash", "pop", "--quiet"]).status.success() {
                    self.workspace.git(&["add", "--all"]);
                }
                self.resync();
            }
            Step::SwitchMain => self.user(&["switch", "--quiet", "main"]),
            Step::SwitchSession(n) => {
                let all = self.workspace.git(&[
                    "for-each-ref",
                    "--format=%(refname:short)",
                    "refs/heads/edt/",
                ]);
                let all: Vec<&str> = all.lines().collect();
                if !all.is_empty() {
                    self.user(&["switch", "--quiet", all[usize::from(*n) % all.len()]]);
                }
            }
            Step::SwitchNew => {
                let name = format!("feature-{}", self.count);
                self.count += 1;
                self.user(&["switch", "--quiet", "--create", &name]);
            }
            Step::Rebase => {
                if !self.workspace.try_git(&["rebase", "--quiet", "main"]).status.success() {
                    let _ = self.workspace.try_git(&["rebase", "--abort"]);
                }
                self.resync();
            }
            Step::ResetKeep => self.user(&["reset", "--quiet", "--keep", "HEAD~1"]),
            Step::Gc => drop(self.workspace.git(&["gc", "--quiet", "--prune=now"])),
            Step::Worktree(n) => {
                let place = self.workspace.home.join(format!("side-{n}"));
                if place.exists() {
                    self.workspace.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
                } else {
                    let _ = self.workspace.try_git(&[
                        "worktree",
                        "add",
                        "--quiet",
                        "--detach",
                        place.to_str().unwrap(),
                    ]);
                }
            }
            _ => return self.agent(step),
        }
        Ok(())
    }

    /// A step of edt, checked.
    fn agent(&mut self, step: &Step) -> Fault {
        let before = self.seen();
        let before_step = self.alive(&before);
        let (exit, answer, expected) = self.call(step, &before.disk);
        prop_assert!(matches!(exit, 0..=4), "{answer:#}");
        let word = format!("{step:?}");
        let word = word.split('(').next().unwrap_or_default().to_lowercase();
        let count = self.tally.entry(word).or_default();
        if exit == 0 {
            count.0 += 1;
        } else {
            count.1 += 1;
        }
        let after = self.seen();
        let alive = self.alive(&after);
        let lost: Vec<&String> = before_step.difference(&alive).collect();
        let lost = self.lost_lines(&lost, &alive);
        prop_assert!(lost.is_empty(), "lost {lost:?}: {answer:#}\n{before:#?}\n{after:#?}");
        if exit != 0 {
            prop_assert_eq!(&before, &after, "a refusal changed something: {:#}", answer);
            return Ok(());
        }
        if let Some(disk) = expected {
            prop_assert_eq!(&disk, &after.disk, "the disk is not what the model has: {:#}", answer);
        }
        Ok(())
    }

    /// Calls edt; returns the disk that it should leave, if the model knows.
    fn call(&mut self, step: &Step, disk: &Tree) -> (i32, Value, Option<Tree>) {
        let same = || Some(disk.clone());
        match step {
            Step::Apply(a, b, c) => self.apply([*a, *b, *c], disk),
            Step::Undo(n) => {
                let count = usize::from(*n) % 3 + 1;
                let (exit, answer) = self.edt(&["undo", &count.to_string()]);
                if exit != 0 {
                    return (exit, answer, None);
                }
                let kept = self.back.len().saturating_sub(count);
                let undone = self.back.split_off(kept);
                let mut to = (undone.len() == count).then_some(disk);
                for (before, after) in undone.iter().rev() {
                    // Whoever changed a file in between changed what undo restores.
                    to = to.filter(|now| *now == after).map(|_| before);
                }
                (exit, answer, to.cloned())
            }
            Step::Redo => {
                let (exit, answer) = self.edt(&["redo"]);
                if exit == 0 {
                    self.back.clear();
                }
                (exit, answer, None)
            }
            Step::Restore(n) => self.moved(&["restore", Day::path(*n)]),
            Step::Checkpoint(n) => {
                let path = n.map(Day::path);
                let args: Vec<&str> = std::iter::once("checkpoint").chain(path).collect();
                let (exit, answer) = self.edt(&args);
                (exit, answer, same())
            }
            Step::Land => self.moved(&["land"]),
            Step::Abandon => self.moved(&["abandon"]),
            Step::Begin(switch) => {
                self.count += 1;
                let name = format!("s{}", self.count);
                let args = ["begin", &name, "--no-switch"];
                self.moved(if *switch { &args[..2] } else { &args })
            }
            _ => {
                let (exit, answer) = self.edt(&["status"]);
                (exit, answer, same())
            }
        }
    }

    /// A call after which the model does not know what an undo restores.
    fn moved(&mut self, args: &[&str]) -> (i32, Value, Option<Tree>) {
        let (exit, answer) = self.edt(args);
        if exit == 0 {
            self.resync();
        }
        (exit, answer, None)
    }

    /// One to three edits in one transaction.
    fn apply(&mut self, numbers: [u8; 3], disk: &Tree) -> (i32, Value, Option<Tree>) {
        let (mut edits, mut then) = (Vec::new(), disk.clone());
        let mut touched = BTreeSet::new();
        for n in &numbers[..=usize::from(numbers[0]) % 3] {
            let path = Day::path(n / 8);
            if !touched.insert(path) {
                continue;
            }
            let content = self.content("agent");
            let (edit, bytes) = match (n % 8, self.bytes(path)) {
                (_, None) => (
                    json!({"path": path, "mode": "create", "content": content}),
                    Some(content.into_bytes()),
                ),
                (0, Some(_)) => (json!({"path": path, "mode": "delete"}), None),
                (1 | 2, Some(_)) => (
                    json!({"path": path, "mode": "overwrite", "content": content}),
                    Some(content.into_bytes()),
                ),
                (3, Some(old)) => {
                    let text = String::from_utf8_lossy(&old);
                    let (old, new) =
                        (text.lines().next().unwrap_or_default(), content.lines().next().unwrap());
                    let edit =
                        json!({"path": path, "mode": "edit", "old_text": old, "content": new});
                    (edit, Some(text.replacen(old, new, 1).into_bytes()))
                }
                (_, Some(mut old)) => {
                    old.extend(content.as_bytes());
                    (json!({"path": path, "mode": "append", "content": content}), Some(old))
                }
            };
            edits.push(edit);
            set(&mut then, path, bytes.as_deref().map(blob).as_ref());
        }
        let allow = json!([
            "duplicate_code",
            "size_reduction",
            "mass_deletion",
            "conflict_markers",
            "chat_artifact"
        ]);
        let request = json!({"edits": edits, "allow": allow});
        let (exit, answer) =
            self.edt_fed(request.to_string().as_bytes(), &["apply", "--request", "-"]);
        if exit != 0 {
            return (exit, answer, None);
        }
        if answer["status"] == json!("applied") {
            self.back.push((disk.clone(), then.clone()));
        }
        (exit, answer, Some(then))
    }

    fn sound(&self) -> Fault {
        let done = self.workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        prop_assert!(done.status.success(), "git fsck: {}", said);
        prop_assert!(self.workspace.locks().is_empty(), "locks: {:?}", self.workspace.locks());
        Ok(())
    }

    /// Undoes all edits that the model knows; each time the bytes are the earlier ones. Lines that
    /// the user typed over an edit end it.
    fn all_the_way_back(&mut self) -> Fault {
        let mut left = self.back.len() + 1;
        while !self.back.is_empty() && self.back.len() < left {
            left = self.back.len();
            self.agent(&Step::Undo(0))?;
        }
        Ok(())
    }
}

fn blob(bytes: &[u8]) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
        .unwrap()
        .to_string()
}

fn set(tree: &mut Tree, path: &str, blob: Option<&String>) {
    match blob {
        Some(blob) => drop(tree.insert(path.to_owned(), blob.clone())),
        None => drop(tree.remove(path)),
    }
}

fn live(steps: &[Step]) -> Fault {
    let mut day = Day::new();
    for (n, step) in steps.iter().enumerate() {
        day.take(step)
            .map_err(|fault| TestCaseError::fail(format!("step {n}, {step:?}: {fault}")))?;
        if n % 100 == 99 {
            day.sound()?;
        }
    }
    day.all_the_way_back()?;
    println!("{} steps, done and refused: {:?}", steps.len(), day.tally);
    day.sound()
}

#[test]
fn nothing_is_lost_in_random_sessions() {
    let progress = Progress::start();
    let steps = if tier() == Tier::All { 500 } else { 150 };
    let asked = std::env::var("EDT_RANDOM_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = seeds(asked, 2, 20);
    let count = seeds.len();
    play(seeds, |seed| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let config = Config {
            cases: 1,
            max_shrink_iters: 300,
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(config, rng);
        let all = proptest::collection::vec(step(), steps..=steps);
        if let Err(fault) = runner.run(&all, |steps| live(&steps)) {
            panic!("seed {seed}: {fault}");
        }
    });
    progress.done("random_sessions", "steps", count * steps);
}
