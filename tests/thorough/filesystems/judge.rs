//! What a user does after the power cut, then edt, and whether everything is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::session::{Cut, Played, State, Who, common_dir, state, states, syncfs};
use super::{Kind, Place};
use crate::rng::Dice;
use crate::test_repo::{TestRepo, changed};

/// The user's first action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Nothing,
    Status,
    Commit,
    Gc,
    Stash,
    Refresh,
    Boot,
}

const ACTS: [Act; 7] =
    [Act::Nothing, Act::Status, Act::Commit, Act::Gc, Act::Stash, Act::Refresh, Act::Boot];

#[derive(Default)]
pub(super) struct Judged {
    pub(super) counts: Vec<String>,
    pub(super) faults: Vec<String>,
}

impl Judged {
    /// The test itself panicked, which printed why.
    pub(super) fn of_panic() -> Judged {
        Judged { faults: vec!["the state cannot be read".to_owned()], ..Judged::default() }
    }
}

/// Judges one image; the error says why it cannot be mounted.
pub(super) fn judge(
    place: &Place,
    kind: &Kind,
    image: &Path,
    who: &Who,
    played: &Played,
    cut: Cut,
    dice: &mut Dice,
) -> Result<Judged, String> {
    let legal = played.legal(cut.answered);
    let mut judged = Judged::default();
    let (mut mounted, repo) = place.mount(kind, image)?;
    if matches!(who, Who::Git) {
        plain_git(&repo, &legal, &mut judged);
        return Ok(judged);
    }
    let act = *dice.pick(&ACTS);
    if act == Act::Boot {
        drop(mounted);
        mounted = place.mount(kind, image)?.0;
    }
    restart(&repo.root);
    let before = Seen::of(&repo);
    let class = before.class(&legal);
    judged.counts.push(format!("before: {class}"));
    let reversals = before.reversals(&repo, &legal);
    if !reversals.is_empty() {
        let after = if cut.synced { ", a ref was synced by itself" } else { "" };
        judged.counts.push(format!("before: staged reversals{after}"));
    }
    if played.full && legal.len() == 1 && state(&repo).as_ref() != Ok(legal[0]) {
        judged.faults.push("full: plain Git does not find what was answered".to_owned());
    }
    let took = before_edt(act, &repo);
    after(who, &repo, &legal, act, took, &class, &mut judged);
    if judged.faults.is_empty() {
        // The recovered state is on disk itself.
        syncfs(&place.of("mnt"));
    }
    drop(mounted);
    Ok(judged)
}

fn git(repo: &TestRepo, args: &[&str]) -> bool {
    let mut command = repo.command("timeout");
    command.args(["60", "git"]).args(args).env_remove("GIT_OPTIONAL_LOCKS");
    command.output().unwrap().status.success()
}

/// Returns whether Git took something into a commit or a stash.
fn before_edt(act: Act, repo: &TestRepo) -> bool {
    let touched = || {
        // So that Git writes the index again. No step edits this file: a touched one is the user's.
        if let Ok(file) = File::open(repo.root.join("still.txt")) {
            let _ = file.set_modified(std::time::SystemTime::now());
        }
        git(repo, &["status"]);
    };
    match act {
        Act::Nothing | Act::Boot => false,
        Act::Status => {
            touched();
            false
        }
        Act::Commit => {
            touched();
            git(repo, &["commit", "--quiet", "-a", "-m", "by the user"])
        }
        Act::Gc => {
            git(repo, &["gc", "--quiet"]);
            false
        }
        // A torn file can look clean to `git diff`, and a stash that fails may have been made.
        Act::Stash => {
            git(repo, &["stash", "--quiet"]);
            git(repo, &["rev-parse", "--quiet", "--verify", "refs/stash"])
        }
        Act::Refresh => {
            git(repo, &["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"]);
            git(repo, &["update-index", "-q", "--refresh"]);
            git(repo, &["diff", "--quiet"]);
            git(repo, &["add", "--refresh", "."]);
            false
        }
    }
}

fn after(
    who: &Who,
    repo: &TestRepo,
    legal: &[&State],
    act: Act,
    took: bool,
    class: &str,
    judged: &mut Judged,
) {
    let mut fault = |text: String| judged.faults.push(format!("{act:?} first, {class}: {text}"));
    let (exit, json) = who.call(repo, &["status"], "").unwrap();
    if exit != 0 {
        return fault(format!("edt status: {exit} {}", json["errors"]));
    }
    let left = match state(repo) {
        Ok(left) => left,
        Err(error) => return fault(error),
    };
    let wanted = legal.iter().any(|legal| **legal == left);
    if took {
        let kept = |legal: &&State| {
            legal.tree.iter().all(|(path, blob)| left.tree.get(path) == Some(blob))
        };
        let word = if legal.iter().any(kept) { "has every edit" } else { "has an older state" };
        judged.counts.push(format!("after {act:?} of [{class}]: HEAD {word}"));
    } else if !wanted {
        let newest = legal[0];
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let (old, new) = (lines(&newest.refs), lines(&left.refs));
        fault(format!(
            "the state is not legal: files {:?}, refs {:?}, HEAD {}, status {:?}, recovered {}",
            changed(&newest.files, &left.files),
            old.symmetric_difference(&new).collect::<Vec<_>>(),
            left.head.trim(),
            left.status,
            json["recovered"],
        ));
    }
    let seen = Seen::of(repo);
    if !seen.reversals(repo, legal).is_empty() {
        fault(format!("a staged reversal: {:?}", seen.reversals(repo, legal)));
    }
    let fsck = repo.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    if !fsck.status.success() {
        let said = [fsck.stdout, fsck.stderr].concat();
        fault(format!("git fsck: {}", String::from_utf8_lossy(&said)));
    }
    if !repo.locks().is_empty() {
        fault(format!("locks: {:?}", repo.locks()));
    }
    let (_, again) = who.call(repo, &["status"], "").unwrap();
    if !again["recovered"].is_null() {
        fault(format!("recovered a second time: {}", again["recovered"]));
    }
    let further = ["apply", "further.txt", "--mode", "create", "--content", "further\n"];
    let (exit, json) = who.call(repo, &further, "").unwrap();
    if exit != 0 {
        fault(format!("a further edit: {exit} {}", json["errors"]));
    }
}

/// What an answered `git commit` is worth.
fn plain_git(repo: &TestRepo, legal: &[&State], judged: &mut Judged) {
    let locks = common_dir(&repo.root).exists() && !repo.locks().is_empty();
    let fsck = repo.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    match state(repo) {
        Err(_) => judged.faults.push("git status fails".to_owned()),
        Ok(left) if legal.iter().all(|legal| legal.tree != left.tree) => {
            judged.faults.push("an answered commit is lost".to_owned());
        }
        Ok(_) if !fsck.status.success() => judged.faults.push("git fsck fails".to_owned()),
        Ok(_) if !Seen::of(repo).reversals(repo, legal).is_empty() => {
            judged.faults.push("a staged reversal".to_owned());
        }
        Ok(_) if locks => judged.faults.push("a lock is left".to_owned()),
        Ok(_) => {}
    }
}

/// The blobs that HEAD, the index and the files have, as far as Git can read them.
struct Seen {
    head: Option<BTreeMap<String, String>>,
    index: Option<BTreeMap<String, String>>,
    files: crate::test_repo::Snapshot,
    fails: bool,
}

impl Seen {
    fn of(repo: &TestRepo) -> Seen {
        let read = |args: &[&str], field: usize| {
            let done = repo.try_git(args);
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            let line = |line: &str| {
                let (head, path) = line.split_once('\t')?;
                Some((path.to_owned(), head.split(' ').nth(field)?.to_owned()))
            };
            done.status.success().then(|| text.lines().filter_map(line).collect())
        };
        Seen {
            head: read(&["ls-tree", "-r", "HEAD"], 2),
            index: read(&["ls-files", "--stage"], 1),
            files: repo.files(),
            fails: !repo.try_git(&["status"]).status.success(),
        }
    }

    /// The paths of which HEAD has an answered edit and the index something else, which no legal
    /// state has: neither in its tree nor in a file that the user left uncommitted.
    fn reversals(&self, repo: &TestRepo, legal: &[&State]) -> Vec<String> {
        let (Some(head), Some(index)) = (&self.head, &self.index) else { return Vec::new() };
        let all: BTreeSet<&String> = head.keys().chain(index.keys()).collect();
        let reversed = |path: &&&String| {
            let (in_head, staged) = (head.get(**path), index.get(**path));
            in_head != staged
                && legal.iter().any(|state| state.tree.get(**path) == in_head)
                && legal.iter().all(|state| state.tree.get(**path) != staged)
                && !(legal.iter().any(|state| state.files.get(**path) == self.files.get(**path))
                    && staged.is_some_and(|staged| {
                        let blob = repo.try_git(&["hash-object", "--", path]).stdout;
                        String::from_utf8_lossy(&blob).trim() == staged
                    }))
        };
        all.iter().filter(reversed).map(|path| (**path).clone()).collect()
    }

    /// Which of HEAD, index and files are those of a legal state.
    fn class(&self, legal: &[&State]) -> String {
        let word = |is: Option<bool>| match is {
            None => "unreadable",
            Some(true) => "new",
            Some(false) => "old",
        };
        let is = |tree: &Option<BTreeMap<String, String>>| {
            tree.as_ref().map(|tree| legal.iter().any(|state| state.tree == *tree))
        };
        let files = legal.iter().any(|state| {
            state.files.iter().all(|(path, bytes)| self.files.get(path) == Some(bytes))
        });
        format!(
            "HEAD {}, index {}, files {}{}",
            word(is(&self.head)),
            word(is(&self.index)),
            if files { "new" } else { "old" },
            if self.fails { ", git status fails" } else { "" }
        )
    }
}

/// Makes each journal one of an earlier boot. Inodes and times are those of the disk.
fn restart(root: &Path) {
    for state in states(root) {
        let path = state.join("journal");
        let Ok(mut bytes) = fs::read(&path) else { continue };
        if bytes.len() < 56 {
            continue;
        }
        let sound = bytes[52..56] == crc32fast::hash(&bytes[..52]).to_le_bytes();
        bytes[36..52].fill(0xee);
        if sound {
            let crc = crc32fast::hash(&bytes[..52]).to_le_bytes();
            bytes[52..56].copy_from_slice(&crc);
        }
        let file = File::options().write(true).open(&path).unwrap();
        file.write_all_at(&bytes[..56], 0).unwrap();
    }
}
