//! Power cuts: every write and sync of a command is recorded; for every point, each disk is built
//! that may legally remain. The next call must find the old state or the new one, and the new one
//! if edt had answered.
//!
//! `EDT_TESTS=all` checks every disk, the tier `ci` a share of them.

mod disk;
mod trace;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use disk::{Cut, Disk, Image, Ino, Node};
use trace::{CALLS, Event, events};

use edt_testkit::{Progress, Tier, tier};

use crate::test_repo::{EDT, Snapshot, TestRepo, changed};

/// How many disks of each story are checked in the tier `ci`.
const SHARE: usize = 10;

/// Commands that run one after another, in a repository of their own.
struct Story {
    name: &'static str,
    workspace: TestRepo,
    commands: Vec<Command>,
    /// Whether the worktree is clean before and after each command.
    clean: bool,
}

struct Command {
    args: Vec<String>,
    stdin: String,
}

fn call(args: &[&str]) -> Command {
    Command { args: args.iter().map(|arg| (*arg).to_owned()).collect(), stdin: String::new() }
}

fn request(request: &serde_json::Value) -> Command {
    Command { stdin: request.to_string(), ..call(&["apply", "--request", "-"]) }
}

/// What must be wholly old or wholly new.
#[derive(Debug, Clone, PartialEq)]
struct State {
    files: Snapshot,
    head: String,
    status: String,
    refs: String,
}

/// What plain Git finds; the error is that of `git status`.
fn state(workspace: &TestRepo) -> Result<State, String> {
    let status = workspace.try_git(&["status", "--porcelain", "--untracked-files=all"]);
    if !status.status.success() {
        return Err(format!("git status: {}", String::from_utf8_lossy(&status.stderr)));
    }
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    // Trees, not commits: a checkpoint by the recovery has its own time.
    let refs = workspace.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let head = if workspace.exists(".git/reftable") {
        workspace.git(&["symbolic-ref", "HEAD"])
    } else {
        fs::read_to_string(workspace.root.join(".git/HEAD")).unwrap()
    };
    // An empty directory after a cut does no harm, and may be the user's.
    let files =
        workspace.files().into_iter().filter(|(_, bytes)| bytes != b"a directory").collect();
    Ok(State { files, head, status, refs })
}

/// The inodes of a repository, kept so that an old one can be linked at its path again: the journal
/// identifies files by inode.
struct Farm {
    directory: PathBuf,
    times: BTreeMap<Ino, SystemTime>,
    begun: SystemTime,
}

impl Farm {
    fn keep(&mut self, disk: &Disk, root: &Path) {
        for (path, ino) in disk.all() {
            if matches!(disk.nodes[ino], Node::File(_)) && !self.times.contains_key(&ino) {
                let real = root.join(&path);
                fs::hard_link(&real, self.place(ino)).unwrap();
                self.times.insert(ino, fs::metadata(&real).unwrap().modified().unwrap());
            }
        }
    }

    fn place(&self, ino: Ino) -> PathBuf {
        self.directory.join(ino.to_string())
    }

    /// Makes `root` hold the image.
    fn build(&self, disk: &Disk, image: &Image, root: &Path) {
        fs::remove_dir_all(root).unwrap();
        fs::create_dir(root).unwrap();
        let mut fresh: BTreeMap<Ino, PathBuf> = BTreeMap::new();
        for (path, ino) in &image.names {
            let path = root.join(path);
            match &disk.nodes[*ino] {
                Node::Directory => fs::create_dir(&path).unwrap(),
                Node::Link(target) => {
                    use std::os::unix::ffi::OsStrExt as _;
                    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(target), &path).unwrap();
                }
                Node::File(file) => {
                    let bytes = image.data.get(ino).unwrap_or(&file.now);
                    if let Some(time) = self.times.get(ino) {
                        self.restore(*ino, bytes, file.mode, *time);
                        fs::hard_link(self.place(*ino), &path).unwrap();
                    } else if let Some(other) = fresh.get(ino) {
                        fs::hard_link(other, &path).unwrap();
                    } else {
                        fs::write(&path, bytes).unwrap();
                        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode & 0o7777))
                            .unwrap();
                        // As old as what was there when the power went.
                        fs::File::open(&path).unwrap().set_modified(self.begun).unwrap();
                        fresh.insert(*ino, path);
                    }
                }
            }
        }
    }

    fn restore(&self, ino: Ino, bytes: &[u8], mode: u32, time: SystemTime) {
        let place = self.place(ino);
        if fs::read(&place).unwrap() != bytes {
            fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
            fs::write(&place, bytes).unwrap();
        }
        fs::set_permissions(&place, fs::Permissions::from_mode(mode & 0o7777)).unwrap();
        fs::File::open(&place).unwrap().set_modified(time).unwrap();
    }
}

/// What a story did: its events, after which of them each command had answered, and the states
/// between commands.
struct Played {
    before: Disk,
    events: Vec<(usize, Event)>,
    states: Vec<State>,
    farm: Farm,
}

fn play(story: &Story) -> Played {
    let workspace = &story.workspace;
    let dir = workspace.root.parent().unwrap();
    let directory = dir.join("farm");
    fs::create_dir(&directory).unwrap();
    let before = Disk::of(&workspace.root);
    let begun = fs::metadata(&directory).unwrap().modified().unwrap();
    let mut farm = Farm { directory, times: BTreeMap::new(), begun };
    farm.keep(&before, &workspace.root);
    let (mut live, mut all, mut states) =
        (before.clone(), Vec::new(), vec![state(workspace).unwrap()]);
    for (n, command) in story.commands.iter().enumerate() {
        let (input, trace) = (dir.join("stdin"), dir.join("trace"));
        fs::write(&input, &command.stdin).unwrap();
        let mut run = workspace.command("strace");
        run.args(["-f", "-y", "-xx", "-qq", "-s", "8388608", "-e"])
            .arg(format!("trace={CALLS}"))
            .arg("-o")
            .arg(&trace);
        run.arg(EDT).args(&command.args).arg("--json").stdin(fs::File::open(&input).unwrap());
        let done = run.stdout(Stdio::piped()).output().unwrap();
        assert!(done.status.success(), "{}: {}", story.name, String::from_utf8_lossy(&done.stdout));
        let text = fs::read_to_string(&trace).unwrap();
        for event in events(&text, &workspace.root) {
            live.replay(&event);
            all.push((n, event));
        }
        matches_the_disk(&live, &workspace.root, story.name);
        farm.keep(&live, &workspace.root);
        states.push(state(workspace).unwrap());
        assert_ne!(states[n], states[n + 1], "{}: the command does something", story.name);
    }
    Played { before, events: all, states, farm }
}

/// The replay must lead to the real content of the disk, else it proves nothing.
fn matches_the_disk(disk: &Disk, root: &Path, name: &str) {
    let real = Disk::of(root);
    let shown = |disk: &Disk| -> BTreeMap<PathBuf, Vec<u8>> {
        let bytes = |ino: Ino| match &disk.nodes[ino] {
            Node::File(file) => file.now.clone(),
            Node::Link(target) => target.clone(),
            Node::Directory => b"directory".to_vec(),
        };
        disk.all().into_iter().map(|(path, ino)| (path, bytes(ino))).collect()
    };
    let (replayed, real) = (shown(disk), shown(&real));
    let differs: Vec<&PathBuf> = replayed
        .iter()
        .filter(|(path, bytes)| real.get(*path) != Some(bytes))
        .map(|(path, _)| path)
        .chain(real.keys().filter(|path| !replayed.contains_key(*path)))
        .collect();
    assert!(differs.is_empty(), "{name}: the replay differs from the disk at {differs:?}");
}

/// Goes through every cut of the story; `judge` gets those that are `wanted`, by their numbers,
/// with what is legal after them.
fn each_cut(
    played: &Played,
    wanted: impl Fn(usize) -> bool,
    mut judge: impl FnMut(&Disk, &Cut, &[State], usize),
) -> usize {
    let (mut disk, mut count, mut seed, mut answered) =
        (played.before.clone(), 0, 0x0edc_ba98_7654_3210, 0);
    for (at, (n, event)) in played.events.iter().enumerate() {
        disk.replay(event);
        if matches!(event, Event::Answer) {
            answered = n + 1;
        }
        // Before its answer a command may have happened or not; the ones before it have.
        let first = answered.max(*n);
        for cut in disk.cuts(8, &mut seed) {
            count += 1;
            if wanted(count) {
                judge(&disk, &cut, &played.states[first..=n + 1], at);
            }
        }
    }
    count
}

fn survives(story: &Story) {
    if !crate::test_repo::has_strace() {
        return;
    }
    let progress = Progress::start();
    let played = play(story);
    let count = each_cut(&played, |_| false, |_, _, _, _| ());
    let all = tier() == Tier::All;
    if all {
        let mut disks = HashSet::new();
        each_cut(
            &played,
            |_| true,
            |disk, cut, legal, _| {
                disks.insert((disk.key(&disk.image(cut)), legal.as_ptr() as usize, legal.len()));
            },
        );
        eprintln!("power: {}: {count} cuts leave {} different disks", story.name, disks.len());
    }
    let stride = if all { 1 } else { count.div_ceil(SHARE).max(1) };
    let offset = usize::try_from(edt_testkit::seed() % stride as u64).unwrap();
    let (mut faults, mut judged, mut blind): (BTreeMap<String, Vec<String>>, usize, usize) =
        (BTreeMap::new(), 0, 0);
    let mut seen = HashSet::new();
    each_cut(
        &played,
        |n| n % stride == offset,
        |disk, cut, legal, at| {
            let image = disk.image(cut);
            if !seen.insert((disk.key(&image), legal.as_ptr() as usize, legal.len())) {
                return;
            }
            played.farm.build(disk, &image, &story.workspace.root);
            judged += 1;
            blind += usize::from(all && !story.workspace.try_git(&["status"]).status.success());
            for fault in after_the_cut(story, legal, judged.is_multiple_of(8)) {
                let event = format!("{:?}", played.events[at].1);
                let event: String = event.chars().take(160).collect();
                faults
                    .entry(fault)
                    .or_default()
                    .push(format!("event {at} {event}: {}", disk.printed(cut)));
            }
        },
    );
    println!(
        "{}: {} events, {count} cuts, {judged} different disks judged, plain git status failed before edt's next call on {blind}",
        story.name,
        played.events.len()
    );
    progress.done("power", story.name, judged);
    let printed = faults.iter().map(|(fault, cuts)| {
        let some: Vec<&str> = cuts.iter().take(6).map(String::as_str).collect();
        format!("{} × {fault}\n    {}", cuts.len(), some.join("\n    "))
    });
    let printed: Vec<String> = printed.collect();
    assert!(
        printed.is_empty(),
        "{}: {} kinds of faults on {judged} disks:\n{}",
        story.name,
        printed.len(),
        printed.join("\n")
    );
}

/// What is wrong after edt was called again.
fn after_the_cut(story: &Story, legal: &[State], go_on: bool) -> Vec<String> {
    let workspace = &story.workspace;
    if legal.len() == 1 && state(workspace).as_ref() != Ok(&legal[0]) {
        return vec!["plain Git does not find what was answered".to_owned()];
    }
    let first = workspace.edt(&["status"]);
    if first.exit != 0 {
        return vec![format!("edt status: {} {}", first.exit, first.json["errors"])];
    }
    let mut faults = Vec::new();
    let left = match state(workspace) {
        Ok(left) => left,
        Err(error) => return vec![error],
    };
    if !legal.contains(&left) {
        let against = |state: &State| {
            format!(
                "{}: files {:?}, refs {}, HEAD {}, status {:?}",
                if legal.len() == 1 { "the answered state" } else { "a legal state" },
                changed(&state.files, &left.files),
                if state.refs == left.refs {
                    "right".into()
                } else {
                    difference(&state.refs, &left.refs)
                },
                if state.head == left.head { "right" } else { left.head.trim() },
                left.status
            )
        };
        faults.push(legal.iter().map(against).collect::<Vec<_>>().join("\n  or "));
    }
    let fsck = workspace.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    if !fsck.status.success() {
        faults.push(format!(
            "git fsck: {}",
            String::from_utf8_lossy(&[fsck.stdout, fsck.stderr].concat())
        ));
    }
    let second = workspace.edt(&["status"]);
    if !second.json["recovered"].is_null() {
        faults.push(format!("recovered a second time: {}", second.json["recovered"]));
    }
    for name in ["HEAD", "refs/heads/edt/s"] {
        let log =
            fs::read_to_string(workspace.root.join(".git/logs").join(name)).unwrap_or_default();
        if crate::crash::is_torn(&log) {
            faults.push(format!("the log of {name} is torn: {log:?}"));
        }
    }
    let mut locks = workspace.locks();
    // Git refreshes a split index after the edit. Its lock is its own.
    locks.retain(|lock| !(story.name.contains("split index") && lock == "index.lock"));
    if !locks.is_empty() {
        faults.push(format!("locks left: {locks:?} after {}", first.json["recovered"]));
    }
    if go_on && faults.is_empty() {
        // What the refusal tells the user to do with a lock of Git's.
        let _ = fs::remove_file(workspace.root.join(".git/index.lock"));
        let more = workspace.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
        if more.exit != 0 {
            faults.push(format!("a further apply: {:?}", more.codes()));
        }
        if story.clean && !workspace.status().is_empty() {
            faults.push(format!("not clean after a further apply: {:?}", workspace.status()));
        }
    }
    faults
}

fn difference(expected: &str, found: &str) -> String {
    let only = |one: &str, other: &str, sign: char| -> Vec<String> {
        let other: HashSet<&str> = other.lines().collect();
        one.lines()
            .filter(|line| !other.contains(line))
            .map(|line| format!("{sign}{line}"))
            .collect()
    };
    [only(expected, found, '-'), only(found, expected, '+')].concat().join(" ")
}

mod stories;
