//! A random session on the recording disk, with what is legal after each of its answers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::recorder::{Blocks, Recorder};
use super::{Kind, Place};
use crate::rng::Dice;
use crate::test_repo::{Snapshot, TestRepo};

/// Who makes the commits.
pub(super) enum Who {
    Edt(PathBuf),
    /// Another build of edt.
    Other(PathBuf),
    /// `git add` and `git commit`.
    Git,
}

impl Who {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Who::Edt(_) => "edt",
            Who::Other(_) => "the other edt",
            Who::Git => "git",
        }
    }

    /// Runs edt; `None` for Git.
    pub(super) fn call(
        &self,
        repo: &TestRepo,
        args: &[&str],
        stdin: &str,
    ) -> Option<(i32, serde_json::Value)> {
        let (Who::Edt(path) | Who::Other(path)) = self else { return None };
        let input = repo.home.join("stdin");
        fs::write(&input, stdin).unwrap();
        let mut run = repo.command("timeout");
        run.arg("60").arg(path).args(args).arg("--json").stdin(File::open(input).unwrap());
        let done = run.output().unwrap();
        let json = serde_json::from_slice(&done.stdout).unwrap_or_default();
        Some((done.status.code().unwrap_or(-1), json))
    }
}

/// What must be wholly old or wholly new.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) files: Snapshot,
    pub(super) head: String,
    pub(super) refs: String,
    pub(super) status: String,
    /// The blob of each path in HEAD's tree.
    pub(super) tree: BTreeMap<String, String>,
}

/// What plain Git finds, without a refresh of the index.
pub(super) fn state(repo: &TestRepo) -> Result<State, String> {
    let git = |args: &[&str]| {
        let done = repo.try_git(args);
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        Err(format!("git {}: {}", args[0], String::from_utf8_lossy(&done.stderr)))
    };
    let status = git(&["status", "--porcelain", "--untracked-files=all"])?;
    let refs = git(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
    let head = git(&["rev-parse", "--symbolic-full-name", "HEAD"])?;
    let tree = tree(&git(&["ls-tree", "-r", "HEAD"])?);
    let files = repo.files().into_iter().filter(|(_, bytes)| bytes != b"a directory").collect();
    Ok(State { files, head, refs, status, tree })
}

fn tree(text: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let (head, path) = line.split_once('\t')?;
        Some((path.to_owned(), head.split(' ').nth(2)?.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

/// Where the repository is if the sessions run in a linked worktree of it.
const MAIN: &str = "main";

/// The Git directory of the worktree at `root`, and that of all worktrees.
fn git_dirs(root: &Path) -> [PathBuf; 2] {
    let common = common_dir(root);
    let linked = common.join("worktrees").join(root.file_name().unwrap());
    [if linked.exists() { linked } else { common.clone() }, common]
}

pub(super) fn common_dir(root: &Path) -> PathBuf {
    let own = root.join(".git");
    if own.is_dir() { own } else { root.with_file_name(MAIN).join(".git") }
}

/// The state directories of edt in all worktrees.
pub(super) fn states(root: &Path) -> Vec<PathBuf> {
    let all = common_dir(root).join("edt");
    let linked = fs::read_dir(all.join("linked")).into_iter().flatten().flatten();
    linked.map(|entry| entry.path()).chain([all.join("main")]).collect()
}

/// A repository with twenty files, and one that no step edits.
pub(super) fn prepare(worktree: &TestRepo) {
    let is_linked = std::env::var("EDT_FILESYSTEMS_WORKTREE").is_ok_and(|kind| kind == "linked");
    let root = &worktree.root;
    let repo = worktree.at(if is_linked { root.with_file_name(MAIN) } else { root.clone() });
    fs::create_dir_all(&repo.root).unwrap();
    let refs = std::env::var("EDT_FILESYSTEMS_REFS").unwrap_or_else(|_| "files".to_owned());
    let refs = format!("--ref-format={refs}");
    repo.git(&["init", "--quiet", "--initial-branch=main", &refs]);
    repo.git(&["config", "user.name", "A User"]);
    repo.git(&["config", "user.email", "user@example.com"]);
    let mut dice = Dice::new(1);
    for path in paths() {
        repo.write(&path, text(&mut dice, 40));
    }
    repo.write("still.txt", "still\n");
    repo.git(&["add", "--all"]);
    repo.git(&["commit", "--quiet", "-m", "first"]);
    if is_linked {
        repo.git(&["worktree", "add", "--quiet", "-b", "side", root.to_str().unwrap()]);
    }
}

pub(super) fn begin(repo: &TestRepo, who: &Who) {
    who.call(repo, &["begin", "s0"], "");
    who.call(repo, &["apply", "first.txt", "--mode", "create", "--content", "first\n"], "");
}

fn paths() -> Vec<String> {
    (0..10).flat_map(|n| [format!("f{n}.txt"), format!("d/g{n}.txt")]).collect()
}

fn text(dice: &mut Dice, lines: u64) -> String {
    let line = |_| format!("{:016x} {:016x}\n", dice.roll(u64::MAX), dice.roll(u64::MAX));
    (0..lines).map(line).collect()
}

/// A recorded session.
pub(super) struct Played {
    pub(super) recorder: Recorder,
    /// At which event each step was answered, with the state then, and whether a user made it.
    marks: Vec<(usize, State, bool)>,
    end: usize,
    /// At which events another program had synced a ref, HEAD or a log by itself.
    synced: Vec<usize>,
    /// Whether plain Git must find every answered edit by itself.
    pub(super) full: bool,
}

/// Where the power goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) position: usize,
    /// How many steps were answered before.
    pub(super) answered: usize,
    /// Whether another program had synced a ref, HEAD or a log by itself before.
    pub(super) synced: bool,
}

impl Played {
    /// A random event at which the power goes.
    pub(super) fn position(&self, dice: &mut Dice) -> Cut {
        let first = self.marks[0].0;
        loop {
            let position = if dice.chance(35) {
                dice.pick(&self.marks).0 + usize::try_from(dice.roll(4)).unwrap()
            } else {
                first + usize::try_from(dice.roll((self.end - first) as u64 + 1)).unwrap()
            };
            let position = position.min(self.end);
            let answered = self.marks.iter().rposition(|mark| mark.0 <= position).unwrap();
            // What a user writes is not edt's to keep.
            if !self.marks.get(answered + 1).is_some_and(|next| next.2) {
                let synced = self.synced.iter().any(|at| *at <= position);
                return Cut { position, answered, synced };
            }
        }
    }

    /// The states that are legal after so many answers.
    pub(super) fn legal(&self, answered: usize) -> Vec<&State> {
        self.marks[answered..].iter().take(2).map(|mark| &mark.1).collect()
    }
}

/// Plays random steps; `None` if the recording disk cannot be mounted.
pub(super) fn play(
    place: &Place,
    kind: &Kind,
    base: &Blocks,
    who: &Who,
    dice: &mut Dice,
) -> Option<Played> {
    let recorder = Recorder::mount(&place.of("recorder"), base)?;
    let (mounted, repo) = match place.mount(kind, &recorder.image()) {
        Ok(mounted) => mounted,
        Err(error) => {
            println!("{error}");
            return None;
        }
    };
    let at = place.of("mnt");
    syncfs(&at);
    let full = dice.chance(30);
    let mut marks = vec![(recorder.position(), state(&repo).unwrap(), false)];
    let over = AtomicBool::new(false);
    let others = dice.chance(60).then(|| dice.split());
    let synced = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let _guard = Ends(&over);
        if let Some(mut dice) = others {
            let (over, at, root, synced, recorder) = (&over, &at, &repo.root, &synced, &recorder);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(dice.roll(60)));
                    if sync_something(&mut dice, at, root) {
                        synced.lock().unwrap().push(recorder.position());
                    }
                }
            });
        }
        let mut names = 0;
        for n in 0..6 + dice.roll(8) {
            let mut done = |user| {
                let position = recorder.position();
                marks.push((position, state(&repo).unwrap(), user));
            };
            match who {
                Who::Git => {
                    let all = paths();
                    let path = dice.pick(&all);
                    repo.write(path, text(dice, 40));
                    repo.git(&["add", path]);
                    repo.git(&["commit", "--quiet", "-m", "a change"]);
                    done(false);
                }
                _ => step(who, &repo, &at, full, n, &mut names, dice, &mut done),
            }
        }
    });
    if dice.chance(70) {
        // The kernel writes everything some time later, in its own order.
        syncfs(&at);
    }
    let end = recorder.position();
    drop(mounted);
    let synced = synced.into_inner().unwrap();
    Some(Played { recorder, marks, end, synced, full })
}

/// Ends the other thread, after a panic too.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[expect(clippy::too_many_arguments, reason = "one step of a session")]
fn step(
    who: &Who,
    repo: &TestRepo,
    at: &Path,
    full: bool,
    n: u64,
    names: &mut u64,
    dice: &mut Dice,
    done: &mut dyn FnMut(bool),
) {
    let level = if full { "full" } else { "journal" };
    let edt = |args: &[&str], stdin: &str| {
        let durability = ["--durability", level];
        let with = [args, &durability[..]].concat();
        let (exit, json) = who.call(repo, &with, stdin).unwrap();
        // Undo without an edit and the like are refused; an error of the disk is a defect.
        assert!((0..5).contains(&exit), "{args:?}: {exit} {json}");
    };
    let all = paths();
    let path = dice.pick(&all).clone();
    match dice.roll(16) {
        0..5 => {
            let content = text(dice, 40);
            edt(&["apply", &path, "--mode", "overwrite", "--content", &content], "");
        }
        5 => {
            // Too large for the journal.
            edt(&["apply", &path, "--mode", "overwrite", "--content-file", "-"], &text(dice, 9000));
        }
        6 | 7 => {
            let new = format!("n{n}/x/y.txt");
            let content = text(dice, 10);
            edt(&["apply", &new, "--mode", "create", "--content", &content], "");
        }
        8 | 9 => {
            let request = json!({"edits": [
                {"path": all[0], "mode": "append", "content": text(dice, 2)},
                {"path": all[1], "mode": "append", "content": text(dice, 2)},
                {"path": format!("m{n}/a.txt"), "mode": "create", "content": text(dice, 3)},
                {"path": all[3], "mode": "overwrite", "content": text(dice, 40)},
            ]});
            edt(&["apply", "--request", "-"], &request.to_string());
        }
        10 => edt(&["undo"], ""),
        11 => {
            edt(&["undo"], "");
            done(false);
            edt(&["redo"], "");
        }
        12 => {
            repo.write(&path, text(dice, 40));
            syncfs(at);
            done(true);
            edt(&["checkpoint"], "");
        }
        13 => edt(&["apply", &path, "--mode", "delete"], ""),
        other => {
            edt(&[if other == 14 { "land" } else { "abandon" }], "");
            done(false);
            *names += 1;
            edt(&["begin", &format!("s{names}")], "");
        }
    }
    done(false);
}

pub(super) fn syncfs(at: &Path) {
    rustix::fs::syncfs(File::open(at).unwrap()).unwrap();
}

/// Another program syncs something, or the kernel writes it back. Returns whether it was a ref, HEAD
/// or a log by itself.
fn sync_something(dice: &mut Dice, at: &Path, root: &Path) -> bool {
    let [own, common] = git_dirs(root);
    let some = [
        own.join("index"),
        own.join("HEAD"),
        states(root)[0].join("journal"),
        common.join("refs/heads/edt/s0"),
        common.join("refs/heads"),
        own.join("logs/HEAD"),
    ];
    match dice.roll(4) {
        0 => {
            syncfs(at);
            false
        }
        1 | 2 => {
            let picked = dice.roll(some.len() as u64);
            let file = File::open(&some[usize::try_from(picked).unwrap()]);
            let is_ref = ![0, 2].contains(&picked);
            file.is_ok_and(|file| file.sync_all().is_ok()) && is_ref
        }
        _ => {
            let all = paths();
            if let Ok(file) = File::open(root.join(dice.pick(&all))) {
                let _ = file.sync_all();
            }
            false
        }
    }
}
