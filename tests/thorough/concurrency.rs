//! Many processes edit at once while a user runs Git; some of the processes are killed.
//!
//! Every edit has a token of its own, as its commit's subject and as a line in each file that it
//! changes. The order of the commits determines the expected content of the files. `EDT_TESTS=all`
//! takes the full counts: 8 processes with 250 edits each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use edt_testkit::{Tier, tier};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::rng::Dice;
use crate::test_repo::{EDT, TestRepo};

const PROCESSES: usize = 8;

/// What one call was, and what came of it.
#[derive(Debug)]
struct Call {
    /// The files to which it adds a line.
    lines: Vec<String>,
    /// Its line in `table.txt`, if it changes that.
    row: Option<(String, String)>,
    /// The commit that was answered.
    commit: Option<String>,
    codes: Vec<String>,
    /// The message of the first refusal.
    said: String,
    killed: bool,
}

/// What a crowd did.
#[derive(Debug, Default)]
struct Crowd {
    calls: BTreeMap<String, Call>,
    longest: Duration,
    faults: Vec<String>,
}

fn edits(few: usize) -> usize {
    match tier() {
        Tier::Ci => few,
        Tier::All => 250,
    }
}

/// The files that a crowd edits.
fn template() -> TestRepo {
    let table: String = (0..PROCESSES).map(|p| format!("p{p} at first\nbetween {p}\n")).collect();
    let mut files =
        vec![("shared.log".to_owned(), "first\n".to_owned()), ("table.txt".to_owned(), table)];
    files.extend((0..PROCESSES).flat_map(|p| {
        ["own", "pair"].map(|kind| (format!("{kind}/{p}.txt"), "first\n".to_owned()))
    }));
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    let workspace = TestRepo::with(&files);
    workspace.git(&["config", "gc.auto", "0"]);
    workspace.git(&["config", "maintenance.auto", "false"]);
    workspace
}

/// The `n`-th request of process `p`: an own file, the shared one by its end or by a text in it, or
/// several that overlap with others'.
fn request(workspace: &TestRepo, p: usize, token: &str, kind: u64) -> (Value, Call) {
    let (own, next) = (format!("own/{p}.txt"), (p + 1) % PROCESSES);
    let (mut lines, mut edits, mut row) = (Vec::new(), Vec::new(), None);
    match kind {
        0 | 1 => lines.push(own),
        2 => lines.push("shared.log".to_owned()),
        3 => {
            let start = format!("p{p} at ");
            let table = String::from_utf8(workspace.read("table.txt")).unwrap();
            let old = table.lines().find(|line| line.starts_with(&start)).unwrap().to_owned();
            let new = format!("{start}{token}");
            edits.push(
                json!({"path": "table.txt", "mode": "edit", "old_text": old, "content": new}),
            );
            row = Some((start, new));
        }
        _ => lines.extend([
            own,
            format!("pair/{p}.txt"),
            format!("pair/{next}.txt"),
            "shared.log".to_owned(),
        ]),
    }
    let line = format!("{token}\n");
    edits.extend(lines.iter().map(|path| json!({"path": path, "mode": "append", "content": line})));
    let call =
        Call { lines, row, commit: None, codes: Vec::new(), said: String::new(), killed: false };
    (json!({"edits": edits, "message": token}), call)
}

/// Makes one call; killed after a moment, if that is asked for.
fn make(
    workspace: &TestRepo,
    request: &Value,
    call: &mut Call,
    kill: Option<Duration>,
) -> Result<Duration, String> {
    let mut command = workspace.command(EDT);
    command.args(["--wait", "120", "apply", "--request", "-", "--json"]);
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let _ = child.stdin.take().unwrap().write_all(request.to_string().as_bytes());
    if let Some(moment) = kill {
        std::thread::sleep(moment);
        call.killed = child.kill().is_ok();
    }
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    call.killed = done.status.signal() == Some(9) && call.killed;
    // A complete answer counts, even from a process that was killed afterwards.
    let Ok(answer) = serde_json::from_slice::<Value>(&done.stdout) else {
        return if call.killed { Ok(took) } else { Err(format!("{}: {said}", done.status)) };
    };
    call.codes = answer["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|e| e["code"].as_str().unwrap_or("?").to_owned())
        .collect();
    answer["errors"][0]["message"].as_str().unwrap_or_default().clone_into(&mut call.said);
    if answer["status"] == "applied" {
        call.commit = Some(answer["commit"].as_str().unwrap_or("?").to_owned());
        if answer["warnings"] != json!([]) {
            return Err(format!("a warning: {}", answer["warnings"]));
        }
        return Ok(took);
    }
    let coded = !call.codes.is_empty() && !call.codes.iter().any(|code| code == "INTERNAL");
    if (coded && matches!(done.status.code(), Some(1..=5))) || call.killed {
        return Ok(took);
    }
    Err(format!("{}: {answer:#}\n{said}", done.status))
}

/// Lets process `p` make `count` calls in `workspace`, of which some are killed.
fn work(workspace: &TestRepo, p: usize, count: usize, kills: u64, all: &Mutex<Crowd>) {
    let mut dice = Dice::new(p as u64 + 1);
    let mut usual = Duration::from_millis(40);
    for n in 0..count {
        let token = format!("p{p}-e{n}");
        let (request, mut call) = request(workspace, p, &token, dice.roll(5));
        let moment =
            Duration::from_micros(dice.roll(u64::try_from(usual.as_micros()).unwrap() * 3 / 2));
        let kill = dice.chance(kills).then_some(moment);
        let made = make(workspace, &request, &mut call, kill);
        let mut all = all.lock().unwrap();
        match made {
            Ok(took) => {
                all.longest = all.longest.max(took);
                if kill.is_none() {
                    usual = (usual * 7 + took) / 8;
                }
            }
            Err(fault) => all.faults.push(format!("{token}: {fault}")),
        }
        all.calls.insert(token, call);
    }
}

impl Crowd {
    /// What must hold on `branch`, whose worktree is `workspace`.
    fn is_right(&self, workspace: &TestRepo, branch: &str) {
        assert_eq!(self.faults, Vec::<String>::new());
        let log = workspace.git(&[
            "log",
            "--first-parent",
            "--reverse",
            "--format=%H %s",
            &format!("main..{branch}"),
        ]);
        let commits: Vec<(&str, &str)> =
            log.lines().map(|line| line.split_once(' ').unwrap()).collect();
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        let first = |path: &str| workspace.git(&["show", &format!("main:{path}")]);
        let mut recorded = BTreeSet::new();
        for (commit, token) in &commits {
            let Some(call) = self.calls.get(*token) else { continue };
            assert!(recorded.insert(*token), "{token} is there twice");
            assert!(call.codes.is_empty(), "{token} was refused ({:?}), and is there", call.codes);
            assert!(
                call.commit.as_deref().is_none_or(|answered| answered == *commit),
                "{token} is another commit"
            );
            for path in &call.lines {
                let text = files.entry(path.clone()).or_insert_with(|| first(path));
                text.push_str(&format!("{token}\n"));
            }
            if let Some((start, new)) = &call.row {
                let text =
                    files.entry("table.txt".to_owned()).or_insert_with(|| first("table.txt"));
                let old = text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
                *text = text.replace(&format!("{old}\n"), &format!("{new}\n"));
            }
        }
        let lost: Vec<&String> = self
            .calls
            .iter()
            .filter(|(token, call)| call.commit.is_some() && !recorded.contains(token.as_str()))
            .map(|(token, _)| token)
            .collect();
        assert_eq!(lost, Vec::<&String>::new(), "answered, and not on the branch");
        for (path, text) in &files {
            assert_eq!(&workspace.text(path), text, "{path} on disk");
            assert_eq!(
                workspace.git(&["show", &format!("{branch}:{path}")]),
                *text,
                "{path} on the branch"
            );
        }
        workspace.is_clean();
        workspace.is_sound();
        assert_eq!(workspace.locks(), Vec::<String>::new());
        let again = workspace.edt(&["status"]);
        assert!(again.json["recovered"].is_null(), "recovered twice: {}", again.json["recovered"]);
    }

    /// How often each code was answered.
    fn refusals(&self) -> BTreeMap<&str, usize> {
        let mut codes = BTreeMap::new();
        self.calls
            .values()
            .flat_map(|call| &call.codes)
            .for_each(|code| *codes.entry(code.as_str()).or_default() += 1);
        codes
    }

    /// The messages of refusals that no other process's commit explains.
    fn strange(&self) -> Vec<(&String, &String)> {
        let strange = |call: &Call| {
            call.codes
                .iter()
                .any(|code| !["SESSION_MOVED", "REPOSITORY_BUSY"].contains(&code.as_str()))
        };
        self.calls
            .iter()
            .filter(|(_, call)| strange(call))
            .map(|(token, call)| (token, &call.said))
            .collect()
    }

    fn report(&self, name: &str, begun: Instant) {
        let answered = self.calls.values().filter(|call| call.commit.is_some()).count();
        let killed = self.calls.values().filter(|call| call.killed).count();
        println!(
            "{name}: {} calls, {answered} answered, {killed} killed, refused {:?}, the longest call {:.2} s, {:.1} s in all",
            self.calls.len(),
            self.refusals(),
            self.longest.as_secs_f64(),
            begun.elapsed().as_secs_f64()
        );
    }
}

/// Lets all of them work at once, each in its worktree, and runs `meanwhile` at the same time.
fn at_once(
    workspaces: &[TestRepo],
    count: usize,
    kills: u64,
    meanwhile: &(dyn Fn(&AtomicBool) + Sync),
) -> Vec<Mutex<Crowd>> {
    let crowds: Vec<Mutex<Crowd>> = workspaces.iter().map(|_| Mutex::default()).collect();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let user_git = scope.spawn(|| meanwhile(&over));
        let users: Vec<_> = (0..PROCESSES)
            .map(|p| {
                let (workspace, crowd) =
                    (&workspaces[p % workspaces.len()], &crowds[p % workspaces.len()]);
                scope.spawn(move || work(workspace, p, count, kills, crowd))
            })
            .collect();
        let ended: Vec<_> = users.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        user_git.join().unwrap();
        ended.into_iter().for_each(|end| end.unwrap());
    });
    crowds
}

#[test]
fn eight_processes_in_one_worktree() {
    let begun = Instant::now();
    let workspace = template();
    workspace.edt(&["begin", "s"]).landed();
    let crowds = at_once(&[workspace.at(&workspace.root)], edits(12), 0, &|_| {});
    let crowd = crowds[0].lock().unwrap();
    crowd.report("one worktree", begun);
    assert!(
        crowd.refusals().is_empty(),
        "nobody is in anyone's way: {:?} {:?}",
        crowd.refusals(),
        crowd.strange()
    );
    crowd.is_right(&workspace, "edt/s");
}

#[test]
fn eight_worktrees() {
    let begun = Instant::now();
    let workspace = template();
    let workspaces: Vec<TestRepo> = (0..PROCESSES)
        .map(|p| {
            let place = format!("../beside-{p}");
            workspace.edt(&["begin", &format!("s{p}"), "--worktree", &place]).landed();
            workspace.at(workspace.root.join(place))
        })
        .collect();
    let crowds = at_once(&workspaces, edits(10), 0, &|over| {
        while !over.load(Ordering::Relaxed) {
            workspace.git(&["pack-refs", "--all"]);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    for (p, (workspace, crowd)) in workspaces.iter().zip(&crowds).enumerate() {
        let crowd = crowd.lock().unwrap();
        crowd.report(&format!("worktree {p}"), begun);
        assert!(
            crowd.refusals().is_empty(),
            "nobody is in anyone's way: {:?} {:?}",
            crowd.refusals(),
            crowd.strange()
        );
        crowd.is_right(workspace, &format!("edt/s{p}"));
    }
}

#[test]
fn half_of_the_processes_are_killed() {
    let begun = Instant::now();
    let workspace = template();
    workspace.edt(&["begin", "s"]).landed();
    let crowds = at_once(&[workspace.at(&workspace.root)], edits(14), 50, &|_| {});
    let crowd = crowds[0].lock().unwrap();
    crowd.report("half killed", begun);
    workspace.edt(&["status"]);
    crowd.is_right(&workspace, "edt/s");
}

/// The journal begins again at its front about every thousand edits: what is staged then must not
/// be forgotten.
#[test]
fn an_edit_lands_where_the_journal_begins_again() {
    for flags in [&["begin", "s"][..], &["begin", "s", "--no-switch"]] {
        let workspace = template();
        workspace.edt(flags).landed();
        let journal = workspace.root.join(".git/edt/main/journal");
        std::fs::File::options().write(true).open(journal).unwrap().set_len(40 * 1024).unwrap();
        for n in 0..25 {
            let edit =
                |path| json!({"path": path, "mode": "append", "content": format!("more {n}\n")});
            let edits = ["shared.log", "own/1.txt"].map(edit);
            workspace.apply(&json!({"edits": edits})).landed();
        }
        workspace.edt(&["undo", "3"]).landed();
        assert!(workspace.text("shared.log").ends_with("more 21\n"));
        workspace.is_sound();
    }
}

/// What the user's Git met.
#[derive(Debug, Default)]
struct UserGit {
    runs: BTreeMap<String, usize>,
    /// Failures that Git documents for when someone else is at work.
    in_the_way: BTreeMap<String, usize>,
    faults: Vec<String>,
    commits: usize,
}

impl UserGit {
    /// Runs Git as a user would, with its refreshes. Returns its output if it succeeds.
    fn git(&mut self, workspace: &TestRepo, args: &[&str]) -> Option<String> {
        let done =
            workspace.command("git").env_remove("GIT_OPTIONAL_LOCKS").args(args).output().unwrap();
        *self.runs.entry(args[0].to_owned()).or_default() += 1;
        if done.status.success() {
            return Some(String::from_utf8_lossy(&done.stdout).trim_end().to_owned());
        }
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let known = ["index.lock': File exists", "cannot lock ref 'HEAD'"]
            .into_iter()
            .find(|known| said.contains(known));
        match known {
            Some(known) => {
                *self.in_the_way.entry(format!("{}: {known}", args[0])).or_default() += 1;
            }
            None => self.faults.push(format!("git {args:?}: {} {said}", done.status)),
        }
        assert!(self.faults.len() < 20, "{:#?}", self.faults);
        None
    }

    /// Repeats `step` until it is done.
    fn require(&mut self, what: &str, step: impl Fn(&mut UserGit) -> Option<String>) {
        for _ in 0..200 {
            if step(self).is_some() {
                return;
            }
        }
        self.faults.push(format!("{what} failed 200 times"));
    }

    /// Commits what is staged.
    ///
    /// `git commit` reads the index before it locks it, and may then write that older index: what
    /// another program staged in between is lost, also that of a `git add`. `git write-tree` locks
    /// the index first.
    fn commit(&mut self, workspace: &TestRepo, subject: &str) -> Option<String> {
        let head = self.git(workspace, &["rev-parse", "HEAD"])?;
        let tree = self.git(workspace, &["write-tree"])?;
        let commit = self.git(workspace, &["commit-tree", &tree, "-p", &head, "-m", subject])?;
        self.git(workspace, &["update-ref", "-m", subject, "HEAD", &commit, &head])
    }
}

#[test]
fn many_processes_edit_while_the_user_runs_git() {
    let begun = Instant::now();
    let workspace = template();
    workspace.edt(&["begin", "s"]).landed();
    let (user_git, looks) = (Mutex::new(UserGit::default()), Mutex::new(UserGit::default()));
    let crowds = at_once(&[workspace.at(&workspace.root)], edits(10), 20, &|over| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    looks.lock().unwrap().git(&workspace, &["status", "--porcelain"]);
                }
            });
            let mut user_git = user_git.lock().unwrap();
            while !over.load(Ordering::Relaxed) {
                let n = user_git.commits;
                let path = format!("user/{n}.txt");
                workspace.write(&path, format!("a user's {n}\n"));
                user_git.require("git add", |git| git.git(&workspace, &["add", &path]));
                user_git.require("a commit", |git| git.commit(&workspace, &format!("user {n}")));
                user_git.commits += 1;
                match n % 6 {
                    1 => drop(user_git.git(&workspace, &["pack-refs", "--all"])),
                    3 => drop(user_git.git(&workspace, &["gc", "--quiet"])),
                    // Without a date it removes objects that others are about to name, Git's own
                    // commits included, as its manual warns.
                    5 => drop(user_git.git(&workspace, &["prune", "--expire=1.hour.ago"])),
                    _ => {}
                }
            }
        });
    });
    let (crowd, user_git, looks) =
        (crowds[0].lock().unwrap(), user_git.into_inner().unwrap(), looks.into_inner().unwrap());
    crowd.report("with plain Git", begun);
    println!(
        "a user's Git: {:?} {:?}, in the way {:?} {:?}",
        user_git.runs, looks.runs, user_git.in_the_way, looks.in_the_way
    );
    assert_eq!((&user_git.faults, &looks.faults), (&Vec::new(), &Vec::new()));
    // Only the user's Git at that moment is a reason to refuse.
    assert_eq!(crowd.strange(), Vec::new(), "{:?}", crowd.refusals());
    workspace.edt(&["status"]);
    crowd.is_right(&workspace, "edt/s");
    let log =
        workspace.git(&["log", "--format=%x00%s", "--name-only", "--grep=^user ", "main..edt/s"]);
    let kept: BTreeSet<Vec<&str>> = log
        .split('\0')
        .skip(1)
        .map(|commit| commit.lines().filter(|l| !l.is_empty()).collect())
        .collect();
    let names: Vec<[String; 2]> =
        (0..user_git.commits).map(|n| [format!("user {n}"), format!("user/{n}.txt")]).collect();
    let made: BTreeSet<Vec<&str>> =
        names.iter().map(|[subject, path]| vec![subject.as_str(), path.as_str()]).collect();
    assert_eq!(kept, made, "a user's commits hold what they staged, and nothing else");
}

/// Starts an edit and stops it while it holds the lock.
fn stopped(workspace: &TestRepo) -> std::process::Child {
    let path = workspace.root.join(".git/edt/main/lock");
    let lock = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    for n in 0..2000_u64 {
        let mut command = workspace.command(EDT);
        command.args(["apply", "own/0.txt", "--mode", "append", "--content", "stopped\n"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(1000 + n * 500 % 40_000));
        let pid = Pid::from_child(&child);
        let _ = kill_process(pid, Signal::STOP);
        std::thread::sleep(Duration::from_millis(2));
        if rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok() {
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::Unlock).unwrap();
        } else if std::fs::read_to_string(&path).unwrap().contains(&pid.to_string()) {
            // It may as well have been stopped between taking the lock and writing its name there.
            return child;
        }
        let _ = kill_process(pid, Signal::CONT);
        let _ = child.wait_with_output();
    }
    panic!("none was stopped while it held the lock");
}

#[test]
fn the_holder_of_the_lock_is_named_within_the_time_limit() {
    let workspace = template();
    workspace.edt(&["begin", "s"]).landed();
    let holder = stopped(&workspace);
    for wait in ["0", "0.3", "1"] {
        let begun = Instant::now();
        let answer = workspace.edt(&[
            "--wait",
            wait,
            "apply",
            "own/1.txt",
            "--mode",
            "append",
            "--content",
            "x\n",
        ]);
        let (took, limit) = (begun.elapsed().as_secs_f64(), wait.parse::<f64>().unwrap());
        assert_eq!((answer.codes().as_slice(), answer.exit), (["SESSION_BUSY"].as_slice(), 3));
        assert!(took >= limit && took < limit + 5.0, "--wait {wait}: {took} s");
        assert_eq!(
            answer.errors()[0]["evidence"]["holder"],
            json!(holder.id().to_string()),
            "{:#}",
            answer.json
        );
        assert_eq!(
            answer.errors()[0]["evidence"]["holder_command"],
            "edt apply",
            "{:#}",
            answer.json
        );
        assert!(
            answer.message().contains(&format!("{} (edt apply)", holder.id())),
            "{}",
            answer.message()
        );
    }
    // Those who wait go on when it does.
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (1..4)
            .map(|p| {
                let (workspace, path) = (&workspace, format!("own/{p}.txt"));
                scope.spawn(move || {
                    workspace.edt(&[
                        "--wait",
                        "60",
                        "apply",
                        &path,
                        "--mode",
                        "append",
                        "--content",
                        "y\n",
                    ])
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        kill_process(Pid::from_child(&holder), Signal::CONT).unwrap();
        waiting.into_iter().for_each(|one| drop(one.join().unwrap().landed()));
    });
    assert!(holder.wait_with_output().unwrap().status.success());
    assert!(workspace.text("own/0.txt").ends_with("stopped\n"));
    workspace.is_clean();
    workspace.is_sound();
    assert_eq!(workspace.locks(), Vec::<String>::new());
}
