//! Random repositories, random commands by one to four processes at once, a user who runs Git at
//! the same time, and random faults. After every round, each answered commit and everything the
//! user wrote is still there.
//!
//! The tier gives the time: 8 s or 10 minutes. `EDT_RANDOM_SECONDS`, `EDT_RANDOM_SEED` and
//! `EDT_RANDOM_ROUND` set it, the seed and the first round. A failure prints its seed, round and
//! commands, and keeps the repository. A seed determines the repositories, commands and faults, but
//! not the order in which several processes run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use edt_testkit::{Progress, Tier, tier};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::rng::Dice;
use crate::test_repo::{EDT, Snapshot, TestRepo};

const PATHS: [&str; 8] = [
    "a.txt",
    "b.bin",
    "dir/c.txt",
    "dir/sub/deep/d.txt",
    "odd name \u{fc}.txt",
    "-dash.txt",
    "run.sh",
    "new/e.txt",
];

/// System calls that change something, without `write`: an answer that a test cannot read is not an
/// answer.
const CALLS: &[&str] =
    &["pwrite64", "renameat2", "renameat", "linkat", "unlinkat", "fdatasync", "rename", "unlink"];

/// What was done so far, and to whom.
#[derive(Debug, Default)]
struct Tally {
    rounds: AtomicUsize,
    calls: AtomicUsize,
    applied: AtomicUsize,
    kills: AtomicUsize,
    errors: AtomicUsize,
    stops: AtomicUsize,
    restarts: AtomicUsize,
}

/// One random history in a repository of its own.
struct Round<'t> {
    workspace: TestRepo,
    tally: &'t Tally,
    /// `strace` is there.
    traced: bool,
    /// Git checks texts out with CRLF.
    crlf: bool,
    /// Makes every content its own.
    count: AtomicUsize,
    log: Mutex<Vec<String>>,
    /// Commits that were answered as applied.
    answered: Mutex<BTreeSet<String>>,
    /// What the user wrote while others worked, by rename, the last per path; `None` if in place.
    written: Mutex<BTreeMap<&'static str, Option<Vec<u8>>>>,
}

#[derive(Debug)]
enum Fault {
    None,
    Kill(Duration),
    KillAt(&'static str, u64),
    Error(&'static str, &'static str, u64, bool),
    Stop(Duration),
}

type Judged = Result<(), String>;

impl<'t> Round<'t> {
    fn new(dice: &mut Dice, tally: &'t Tally, traced: bool) -> Round<'t> {
        let sha256 = dice.chance(25);
        let workspace = TestRepo::unborn(if sha256 { &["--object-format=sha256"] } else { &[] });
        let set = |name: &str, value: &str| drop(workspace.git(&["config", name, value]));
        let version = *dice.pick(&["2", "2", "4"]);
        set("index.version", version);
        set("gc.auto", "0");
        set("maintenance.auto", "false");
        let crlf = dice.chance(25);
        let mut made = format!("sha256 {sha256}, index {version}, crlf {crlf}");
        if crlf {
            workspace.write(".gitattributes", "*.txt text eol=crlf\n");
        }
        for path in &PATHS[..7] {
            let end = if crlf && is_text(path) { "\r\n" } else { "\n" };
            workspace.write(path, format!("{path} at first{end}second line{end}third line{end}"));
        }
        fs::set_permissions(
            workspace.root.join("run.sh"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        workspace.commit(&[]);
        let workspace = if dice.chance(25) {
            made.push_str(", linked");
            workspace.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
            let root = workspace.root.parent().unwrap().join("side");
            workspace.moved(root)
        } else {
            workspace
        };
        if dice.chance(30) {
            // An entry with a flag makes an index of version 3.
            made.push_str(", flagged");
            workspace.write("later.txt", "later\n");
            workspace.git(&["add", "--intent-to-add", "later.txt"]);
        }
        match dice.roll(3) {
            0 => made.push_str(", no session"),
            n => {
                made.push_str(if n == 1 { ", switched" } else { ", without switching" });
                workspace.edt(if n == 1 {
                    &["begin", "s"]
                } else {
                    &["begin", "s", "--no-switch"]
                });
            }
        }
        if dice.chance(30) {
            made.push_str(", packed");
            workspace.git(&["pack-refs", "--all"]);
        }
        Round {
            workspace,
            tally,
            traced,
            crlf,
            count: AtomicUsize::new(0),
            log: Mutex::new(vec![made]),
            answered: Mutex::default(),
            written: Mutex::default(),
        }
    }

    fn say(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    fn content(&self, who: &str) -> String {
        format!("{who} {}\nsome more of it\n", self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// What the user writes mostly has the line endings that Git checks out.
    fn user_text(&self, path: &str, who: &str) -> String {
        let content = self.content(who);
        let ends = self.crlf && is_text(path) && !content.contains('7');
        if ends { content.replace('\n', "\r\n") } else { content }
    }

    // --- the agents -------------------------------------------------------------------------------------------------------

    /// A random command with what it reads.
    fn command(&self, dice: &mut Dice) -> (Vec<String>, String) {
        let path = (*dice.pick(&PATHS)).to_owned();
        let args =
            |args: &[&str]| (args.iter().map(|arg| (*arg).to_owned()).collect(), String::new());
        match dice.roll(40) {
            0..=3 => args(&["undo", ["1", "1", "2", "3"][usize::try_from(dice.roll(4)).unwrap()]]),
            4..=5 => args(&["redo"]),
            6..=7 => args(&["restore", "--", &path]),
            8..=9 => args(&["checkpoint"]),
            10 => args(&["land"]),
            11 => args(&["abandon"]),
            12..=13 => {
                let name = format!("s{}", self.count.fetch_add(1, Ordering::Relaxed));
                let all = ["begin", &name, "--no-switch"];
                args(&all[..if dice.chance(50) { 2 } else { 3 }])
            }
            14 => args(&["gc"]),
            15 => args(&["status"]),
            16..=19 => {
                let old = fs::read_to_string(self.workspace.root.join(&path)).unwrap_or_default();
                let (old, new) =
                    (old.lines().next().unwrap_or_default().to_owned(), self.content("patch"));
                let new = new.lines().next().unwrap().to_owned();
                let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n");
                let allow = Round::allow();
                (
                    vec!["apply".into(), "--request".into(), "-".into()],
                    json!({"patch": patch, "allow": allow}).to_string(),
                )
            }
            _ => (
                vec!["apply".into(), "--request".into(), "-".into()],
                self.request(dice).to_string(),
            ),
        }
    }

    fn allow() -> Value {
        json!([
            "duplicate_code",
            "size_reduction",
            "mass_deletion",
            "conflict_markers",
            "chat_artifact"
        ])
    }

    /// One to four edits in every mode.
    fn request(&self, dice: &mut Dice) -> Value {
        let mut edits = Vec::new();
        let first = usize::try_from(dice.roll(8)).unwrap();
        for i in 0..=usize::try_from(dice.roll(4)).unwrap() {
            let path = PATHS[(first + i) % PATHS.len()];
            let content = self.content("agent");
            let old = fs::read_to_string(self.workspace.root.join(path));
            let line = content.lines().next().unwrap();
            edits.push(match (dice.roll(10), old) {
                (_, Err(_)) => json!({"path": path, "mode": "create", "content": content}),
                (0, _) => json!({"path": path, "mode": "delete"}),
                (1, _) => json!({"path": path, "mode": "rename", "to": format!("moved/{line}.txt")}),
                (2 | 3, _) => json!({"path": path, "mode": "overwrite", "content": content}),
                (4 | 5, Ok(old)) => {
                    json!({"path": path, "mode": "edit", "old_text": old.lines().next().unwrap_or("?"), "content": line})
                }
                (6, _) => json!({"path": path, "mode": "overwrite", "content": content, "executable": true}),
                _ => json!({"path": path, "mode": "append", "content": content}),
            });
        }
        json!({"edits": edits, "allow": Round::allow()})
    }

    fn fault(&self, dice: &mut Dice) -> Fault {
        let moment = Duration::from_micros(dice.roll(60_000));
        match dice.roll(20) {
            0..=4 => Fault::Kill(moment),
            5..=6 if self.traced => Fault::KillAt(dice.pick::<&str>(CALLS), dice.roll(8) + 1),
            7..=8 if self.traced => {
                let error = *dice.pick(&["ENOSPC", "EIO"]);
                Fault::Error(error, dice.pick::<&str>(CALLS), dice.roll(8) + 1, dice.chance(40))
            }
            9..=10 => Fault::Stop(moment),
            _ => Fault::None,
        }
    }

    /// One call with its fault; judges the answer.
    fn call(&self, who: &str, dice: &mut Dice) -> Judged {
        let (args, stdin) = self.command(dice);
        let fault = self.fault(dice);
        let inject = match &fault {
            Fault::KillAt(call, n) => Some(format!("inject={call}:signal=KILL:when={n}")),
            Fault::Error(error, call, n, on) => {
                Some(format!("inject={call}:error={error}:when={n}{}", if *on { "+" } else { "" }))
            }
            _ => None,
        };
        let mut command = match &inject {
            Some(inject) => {
                let mut command = self.workspace.command("strace");
                command.args(["-qq", "-o", "/dev/null", "-e", "signal=none", "-e", inject, EDT]);
                command
            }
            None => self.workspace.command(EDT),
        };
        command.args(["--wait", "30", "--json"]).args(&args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let pid = Pid::from_child(&child);
        match fault {
            Fault::Kill(moment) => {
                std::thread::sleep(moment);
                let _ = child.kill();
            }
            Fault::Stop(moment) => {
                std::thread::sleep(moment);
                let _ = kill_process(pid, Signal::STOP);
                std::thread::sleep(moment);
                let _ = kill_process(pid, Signal::CONT);
                self.tally.stops.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        // What Git's processes, orphans of a killed one, still hold open is not waited for.
        let done = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let codes: Vec<&str> = answer["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|error| error["code"].as_str())
            .collect();
        let printed = answer["status"].as_str().unwrap_or("-");
        self.say(format!(
            "{who}: {args:?} {stdin} {fault:?} -> {} {printed} {codes:?} {}",
            done.status, answer["recovered"]
        ));
        self.tally.calls.fetch_add(1, Ordering::Relaxed);
        let killed =
            done.status.signal() == Some(9) && matches!(fault, Fault::Kill(_) | Fault::KillAt(..));
        let counted = if killed {
            Some(&self.tally.kills)
        } else if inject.is_some() {
            Some(&self.tally.errors)
        } else {
            None
        };
        if let Some(counted) = counted {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        if printed == "applied" {
            self.tally.applied.fetch_add(1, Ordering::Relaxed);
            self.answered.lock().unwrap().extend(answer["commit"].as_str().map(str::to_owned));
        }
        match done.status.code() {
            None if killed => Ok(()),
            Some(0) if !answer.is_null() => Ok(()),
            Some(1..=5) if !codes.is_empty() && !codes.contains(&"INTERNAL") => Ok(()),
            _ => Err(format!(
                "{}: {answer:#}\n{}",
                done.status,
                String::from_utf8_lossy(&done.stderr)
            )),
        }
    }

    // --- the user ---------------------------------------------------------------------------

    /// A step of the user. Git may find another process in its way: that is checked when all
    /// processes have ended.
    fn user(&self, dice: &mut Dice) {
        let path = *dice.pick(&PATHS);
        let file = self.workspace.root.join(path);
        let what = dice.roll(12);
        self.say(format!("user: {what} {path}"));
        let git = |args: &[&str]| {
            let done = self
                .workspace
                .command("git")
                .env_remove("GIT_OPTIONAL_LOCKS")
                .args(args)
                .output()
                .unwrap();
            self.say(format!(
                "user: git {args:?} {} {}",
                done.status,
                String::from_utf8_lossy(&done.stderr)
            ));
        };
        match what {
            0..=2 => {
                let content = self.user_text(path, "user").into_bytes();
                let temporary = self.workspace.root.join(".git-temporary");
                fs::write(&temporary, &content).unwrap();
                let _ = fs::create_dir_all(file.parent().unwrap());
                if fs::rename(&temporary, &file).is_ok() {
                    self.written.lock().unwrap().insert(path, Some(content));
                } else {
                    let _ = fs::remove_file(&temporary);
                }
            }
            3 => {
                // The user may overwrite any content.
                self.written.lock().unwrap().insert(path, None);
                if let Ok(mut open) = fs::File::options().append(true).open(&file) {
                    let _ = open.write_all(self.user_text(path, "user, more").as_bytes());
                }
            }
            4 => git(&["add", "--", path]),
            5 => git(&["commit", "--quiet", "-m", "a user's"]),
            6 => git(&["commit", "--quiet", "--all", "-m", "a user's all"]),
            7..=9 => git(&["status", "--porcelain"]),
            10 => git(&["pack-refs", "--all"]),
            _ => git(&["gc", "--quiet"]),
        }
    }

    // --- what must hold ---------------------------------------------------------------------------------------------------

    /// The contents in the worktree, with line endings as Git stores them.
    fn on_disk(&self) -> BTreeMap<String, Vec<u8>> {
        let read = |path: &&str| {
            Some(((*path).to_owned(), plain(&fs::read(self.workspace.root.join(path)).ok()?)))
        };
        PATHS.iter().filter_map(read).collect()
    }

    /// Every content that is behind a ref, in the index or on disk.
    fn alive(&self) -> HashSet<Vec<u8>> {
        let named = self.workspace.git(&[
            "rev-list",
            "--objects",
            "--no-object-names",
            "--all",
            "--indexed-objects",
        ]);
        let mut command = self.workspace.command("git");
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || drop(pipe.write_all(named.as_bytes())));
        let mut out = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
        feeder.join().unwrap();
        child.wait().unwrap();
        let (mut alive, mut rest) = (HashSet::new(), out.as_slice());
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let mut words = head.split(' ').skip(1);
            let (kind, size) =
                (words.next().unwrap_or_default(), words.next().and_then(|size| size.parse().ok()));
            let Some(size) = size else {
                rest = &rest[end + 1..];
                continue;
            };
            let size: usize = size;
            if kind == "blob" {
                alive.insert(plain(&rest[end + 1..][..size]));
            }
            rest = &rest[end + 1 + size + 1..];
        }
        alive.extend(self.on_disk().into_values());
        let mut moved = Snapshot::new();
        crate::test_repo::walk(&self.workspace.root.join("moved"), "", &mut moved);
        alive.extend(
            moved
                .into_values()
                .filter_map(|bytes| Some(plain(bytes.splitn(2, |byte| *byte == b' ').nth(1)?))),
        );
        alive
    }

    /// All is quiet: what must hold holds.
    fn is_right(&self, before: &BTreeMap<String, Vec<u8>>) -> Judged {
        let first = self.recovers()?;
        let second = self.recovers()?;
        self.say(format!("recovered: {first}, {second}"));
        check(second.is_null(), || format!("recovered twice: {second}"))?;
        // Git's own processes may outlive an edt that was killed.
        let patience = Instant::now();
        while !self.workspace.locks().is_empty() && patience.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(20));
        }
        check(self.workspace.locks().is_empty(), || {
            format!("locks: {:?}", self.workspace.locks())
        })?;
        let done = self.workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        check(done.status.success(), || {
            format!("git fsck: {}", String::from_utf8_lossy(&[done.stdout, done.stderr].concat()))
        })?;
        let status = self.workspace.try_git(&["status", "--porcelain"]);
        check(status.status.success(), || {
            format!("git status: {}", String::from_utf8_lossy(&status.stderr))
        })?;
        let reachable = self.workspace.git(&["rev-list", "--all"]);
        let reachable: HashSet<&str> = reachable.lines().collect();
        let lost: Vec<String> = self
            .answered
            .lock()
            .unwrap()
            .iter()
            .filter(|commit| !reachable.contains(commit.as_str()))
            .cloned()
            .collect();
        check(lost.is_empty(), || format!("answered, and behind no ref: {lost:?}"))?;
        let (alive, written) = (self.alive(), self.written.lock().unwrap());
        let mine = written.iter().filter_map(|(path, bytes)| Some((*path, plain(bytes.as_ref()?))));
        let existing = before.iter().map(|(path, bytes)| (path.as_str(), bytes.clone()));
        for (path, bytes) in existing.filter(|(path, _)| !written.contains_key(path)).chain(mine) {
            check(is_alive(&bytes, &alive) || self.is_private(&bytes), || {
                format!("{path} is gone: {:?}", String::from_utf8_lossy(&bytes))
            })?;
        }
        Ok(())
    }

    /// Whether the private store has `bytes`: the user's lines that an edit replaced, and that no
    /// object may have.
    fn is_private(&self, bytes: &[u8]) -> bool {
        let store = self.workspace.git_dir("--git-common-dir").join("edt/private");
        let directories = std::fs::read_dir(store).into_iter().flatten().flatten();
        let entries =
            directories.flat_map(|one| std::fs::read_dir(one.path()).into_iter().flatten());
        entries.flatten().any(|entry| {
            let stored = std::fs::read(entry.path()).unwrap_or_default();
            // The store has the exact bytes; `bytes` may have other line ends.
            let has = |stored: &[u8]| memchr::memmem::find(stored, bytes).is_some();
            bytes.len() > 8 && (has(&stored) || has(&plain(&stored)))
        })
    }

    fn recovers(&self) -> Result<Value, String> {
        let answer = self.workspace.edt(&["--wait", "30", "status"]);
        check(answer.exit == 0, || format!("edt status: {:#}", answer.json))?;
        Ok(answer.json["recovered"].clone())
    }

    /// Edits that are undone restore the earlier bytes.
    fn comes_back(&self) -> Judged {
        // `undo` also undoes the checkpoints between the edits, so there must be none.
        if self.workspace.edt(&["checkpoint"]).exit != 0 {
            return Ok(());
        }
        let (before, mut done) = (self.workspace.files(), 0);
        for path in ["a.txt", "dir/c.txt", "back/new.txt"] {
            let content = self.content("back");
            let mode = if self.workspace.exists(path) { "append" } else { "create" };
            let answer =
                self.workspace.edt(&["apply", path, "--mode", mode, "--content", &content]);
            self.say(format!("back: {path} {} {:?}", answer.json["status"], answer.codes()));
            // Line ends that Git would not check out again are a reason to refuse.
            check(
                matches!(answer.exit, 0 | 1 | 3) || answer.codes() == ["UNSUPPORTED_REPOSITORY"],
                || format!("{path}: {:#}", answer.json),
            )?;
            done += u32::from(answer.exit == 0);
        }
        for _ in 0..done {
            let answer = self.workspace.edt(&["undo"]);
            check(answer.exit == 0, || format!("undo: {:#}", answer.json))?;
        }
        let changed = crate::test_repo::changed(&before, &self.workspace.files());
        check(changed.is_empty(), || format!("undone, and not as before: {changed:?}"))
    }

    /// The machine is started again, and nothing was lost.
    fn restart(&self) -> Judged {
        let directory = self.workspace.git_dir("--git-common-dir").join("edt");
        for state in fs::read_dir(directory).into_iter().flatten().flatten() {
            if let Ok(file) = fs::File::options().write(true).open(state.path().join("journal")) {
                file.write_all_at(&[0xee; 16], 36).unwrap();
                self.tally.restarts.fetch_add(1, Ordering::Relaxed);
            }
        }
        let before = self.workspace.files();
        self.say("restart".to_owned());
        self.recovers()?;
        let changed = crate::test_repo::changed(&before, &self.workspace.files());
        check(changed.is_empty(), || format!("a restart changed {changed:?}"))
    }

    fn live(&self, dice: &mut Dice) -> Judged {
        for phase in 0..=dice.roll(2) {
            let before = self.on_disk();
            self.written.lock().unwrap().clear();
            let (agents, steps) = (dice.roll(4) + 1, dice.roll(5) + 2);
            let mut user = dice.chance(70).then(|| dice.split());
            let own: Vec<Dice> = (0..agents).map(|_| dice.split()).collect();
            std::thread::scope(|scope| {
                let busy: Vec<_> = own
                    .into_iter()
                    .enumerate()
                    .map(|(agent, mut dice)| {
                        scope.spawn(move || {
                            (0..steps).try_for_each(|n| {
                                self.call(&format!("{phase}.{agent}.{n}"), &mut dice)
                            })
                        })
                    })
                    .collect();
                if let Some(dice) = &mut user {
                    for _ in 0..steps * 2 {
                        self.user(dice);
                        std::thread::sleep(Duration::from_millis(dice.roll(20)));
                    }
                }
                busy.into_iter().try_for_each(|agent| agent.join().unwrap())
            })?;
            self.is_right(&before)?;
            if dice.chance(30) {
                self.restart()?;
            }
            if dice.chance(30) {
                self.comes_back()?;
            }
        }
        Ok(())
    }
}

fn is_text(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension == "txt")
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Whether one content has the user's lines of `bytes`, in their order. edt records these lines and
/// the agent's apart, so a content that mixes them need not be anywhere as it was. A content without
/// lines of the user must be there as it is.
fn is_alive(bytes: &[u8], alive: &HashSet<Vec<u8>>) -> bool {
    let users = |line: &&[u8]| line.starts_with(b"user");
    let wanted: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(users).collect();
    let has_all = |content: &Vec<u8>| {
        let mut lines = content.split(|byte| *byte == b'\n');
        wanted.iter().all(|wanted| lines.any(|line| line == *wanted))
    };
    alive.contains(bytes) || (!wanted.is_empty() && alive.iter().any(has_all))
}

#[test]
fn the_users_lines_count_as_alive_only_together_and_in_order() {
    let alive = |content: &str| HashSet::from([content.as_bytes().to_vec()]);
    let users = b"user 1\nsome more of it\nagent 2\nuser, more 3\n";
    assert!(is_alive(users, &alive("base\nuser 1\nsome more of it\nuser, more 3\n")));
    assert!(!is_alive(users, &alive("user, more 3\nuser 1\n")));
    assert!(!is_alive(users, &alive("user 1\nuser, more 33\n")));
    assert!(!is_alive(b"agent 1\n", &alive("base\nagent 1\n")));
}

/// With line ends as Git stores them.
fn plain(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").into_bytes()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays rounds until the time is up; returns how many.
fn survives(seed: u64, first: u64, time: Duration, most: u64) -> usize {
    let traced =
        Command::new("strace").arg("--version").output().is_ok_and(|done| done.status.success());
    println!("seed {seed}, from round {first} on, strace: {traced}");
    let (begun, mut printed, tally) = (Instant::now(), Duration::ZERO, Tally::default());
    for number in first..first.saturating_add(most) {
        if begun.elapsed() >= time {
            break;
        }
        let mut dice = Dice::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let round = Round::new(&mut dice, &tally, traced);
        let judged =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| round.live(&mut dice)));
        if !matches!(judged, Ok(Ok(()))) {
            let kept = kept(&round.workspace, seed, number);
            let log = std::mem::take(
                &mut *round.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
            );
            let fault = judged.map_or_else(
                |_| "a panic, reported above".to_owned(),
                |judged| judged.unwrap_err(),
            );
            panic!(
                "seed {seed}, round {number} (kept in {}):\n{}\n{fault}",
                kept.display(),
                log.join("\n")
            );
        }
        tally.rounds.fetch_add(1, Ordering::Relaxed);
        if begun.elapsed() > printed + Duration::from_secs(10) {
            printed = begun.elapsed();
            println!("{:5.0} s: {tally:?}", printed.as_secs_f64());
        }
    }
    println!("{:5.0} s: {tally:?}, nothing lost", begun.elapsed().as_secs_f64());
    tally.rounds.into_inner()
}

/// A copy of the repository that failed.
fn kept(workspace: &TestRepo, seed: u64, round: u64) -> PathBuf {
    let to = std::env::temp_dir().join(format!("edt-random-{seed}-{round}"));
    let from = workspace.root.parent().unwrap();
    let _ = Command::new("cp").arg("-a").arg(from).arg(&to).status();
    to
}

#[test]
fn nothing_is_lost_in_random_histories() {
    let progress = Progress::start();
    let (seconds, most) = match tier() {
        Tier::Ci => (8, 6),
        Tier::All => (600, u64::MAX),
    };
    let first = if tier() == Tier::All { 0 } else { edt_testkit::seed() % 200 };
    let asked = number("EDT_RANDOM_SECONDS");
    let rounds = survives(
        number("EDT_RANDOM_SEED").unwrap_or(7),
        number("EDT_RANDOM_ROUND").unwrap_or(first),
        Duration::from_secs(asked.unwrap_or(seconds)),
        if asked.is_some() { u64::MAX } else { most },
    );
    progress.done("random_histories", "rounds", rounds);
}
