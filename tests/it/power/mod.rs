//! The power is cut: every write and sync of a command is recorded, and for every point of it each disk is built that may legally be
//! left. The next call must find the old state or the new one, and the new one if it had been answered.
//!
//! By default a fixed share of the disks is judged; `EDT_POWER=all` judges all of them, `EDT_POWER=N` about N of each story.

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

use edt::journal::record::Record;

use crate::world::{EDT, Snapshot, World, changed};

/// Disks judged of each story unless more are asked for.
const SHARE: usize = 16;

/// Commands that run one after another, in a repository of their own.
struct Story {
    name: &'static str,
    world: World,
    commands: Vec<Command>,
    /// Whether the worktree is clean before and after each command.
    clean: bool,
    /// Whether plain Git must find what was answered before edt is called again.
    plain: bool,
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

fn state(world: &World) -> State {
    // Trees, not commits: a checkpoint that settling makes has its own time.
    let refs = world.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let head = fs::read_to_string(world.root.join(".git/HEAD")).unwrap();
    // A folder that a cut left empty harms nobody, and may be a person's.
    let files = world.files().into_iter().filter(|(_, bytes)| bytes != b"a folder").collect();
    State { files, head, status: world.status(), refs }
}

/// The very inodes of a repository, kept so that an old one can stand at its place again: the journal tells files by their inodes.
struct Farm {
    folder: PathBuf,
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
        self.folder.join(ino.to_string())
    }

    /// Makes `root` hold the image.
    fn build(&self, disk: &Disk, image: &Image, root: &Path) {
        fs::remove_dir_all(root).unwrap();
        fs::create_dir(root).unwrap();
        let mut fresh: BTreeMap<Ino, PathBuf> = BTreeMap::new();
        for (path, ino) in &image.names {
            let path = root.join(path);
            match &disk.nodes[*ino] {
                Node::Folder => fs::create_dir(&path).unwrap(),
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
        restart(root);
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

/// Makes each journal one of an earlier boot.
fn restart(root: &Path) {
    let folders = fs::read_dir(root.join(".git/edt")).into_iter().flatten().flatten();
    for journal in folders.map(|entry| entry.path().join("journal")) {
        let Ok(mut bytes) = fs::read(&journal) else { continue };
        if bytes.len() < 56 {
            continue;
        }
        let crc = crc32fast::hash(&bytes[..52]).to_le_bytes();
        let sound = bytes[52..56] == crc;
        bytes[36..52].fill(0xee);
        forgive(&mut bytes);
        if sound {
            let crc = crc32fast::hash(&bytes[..52]).to_le_bytes();
            bytes[52..56].copy_from_slice(&crc);
        }
        fs::write(&journal, bytes).unwrap();
    }
}

/// Lets the inodes of a journal's records have been touched until 2030: what a test puts back by a link has a new `ctime`, which no
/// program can set, and which tells edt that a person was there. The numbers take as many bytes as before.
pub(crate) fn forgive(journal: &mut [u8]) {
    const LATER: i64 = 1_900_000_000;
    let mut at = 4096;
    while let Some(head) = journal.get(at..at + 28) {
        let len = u32::from_le_bytes(head[4..8].try_into().unwrap()) as usize;
        let Some(payload) = journal.get(at + 28..at + 28 + len) else { return };
        if crc32fast::hash(&journal[at + 12..at + 28 + len]).to_le_bytes() != head[8..12] {
            return;
        }
        let mut record: Record = postcard::from_bytes(payload).unwrap();
        if let Record::Change(change) = &mut record {
            for file in &mut change.files {
                let stats = file.old.iter_mut().map(|(_, _, stat)| stat).chain(&mut file.staged);
                stats.for_each(|stat| stat.ctime.0 = LATER);
            }
        }
        let payload = postcard::to_stdvec(&record).unwrap();
        assert_eq!(payload.len(), len);
        journal[at + 28..at + 28 + len].copy_from_slice(&payload);
        let crc = crc32fast::hash(&journal[at + 12..at + 28 + len]).to_le_bytes();
        journal[at + 8..at + 12].copy_from_slice(&crc);
        at += 28 + len;
    }
}

/// What a story did: its events, after which of them each command had answered, and the states between commands.
struct Played {
    before: Disk,
    events: Vec<(usize, Event)>,
    states: Vec<State>,
    farm: Farm,
}

fn play(story: &Story) -> Played {
    let world = &story.world;
    let dir = world.root.parent().unwrap();
    let folder = dir.join("farm");
    fs::create_dir(&folder).unwrap();
    let before = Disk::of(&world.root);
    let begun = fs::metadata(&folder).unwrap().modified().unwrap();
    let mut farm = Farm { folder, times: BTreeMap::new(), begun };
    farm.keep(&before, &world.root);
    let (mut live, mut all, mut states) = (before.clone(), Vec::new(), vec![state(world)]);
    for (n, command) in story.commands.iter().enumerate() {
        let (input, trace) = (dir.join("stdin"), dir.join("trace"));
        fs::write(&input, &command.stdin).unwrap();
        let mut run = world.command("strace");
        run.args(["-f", "-y", "-xx", "-qq", "-s", "8388608", "-e"])
            .arg(format!("trace={CALLS}"))
            .arg("-o")
            .arg(&trace);
        run.arg(EDT).args(&command.args).arg("--json").stdin(fs::File::open(&input).unwrap());
        let done = run.stdout(Stdio::piped()).output().unwrap();
        assert!(done.status.success(), "{}: {}", story.name, String::from_utf8_lossy(&done.stdout));
        let text = fs::read_to_string(&trace).unwrap();
        for event in events(&text, &world.root) {
            live.replay(&event);
            all.push((n, event));
        }
        is_what_stands(&live, &world.root, story.name);
        farm.keep(&live, &world.root);
        states.push(state(world));
        assert_ne!(states[n], states[n + 1], "{}: the command does something", story.name);
    }
    Played { before, events: all, states, farm }
}

/// The replay must lead to what really stands on disk, else it proves nothing.
fn is_what_stands(disk: &Disk, root: &Path, name: &str) {
    let real = Disk::of(root);
    let shown = |disk: &Disk| -> BTreeMap<PathBuf, Vec<u8>> {
        let bytes = |ino: Ino| match &disk.nodes[ino] {
            Node::File(file) => file.now.clone(),
            Node::Link(target) => target.clone(),
            Node::Folder => b"folder".to_vec(),
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

/// Goes through every cut of the story; `judge` gets those that are `wanted`, by their numbers, with what is legal after them.
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
    if !crate::crash::has_strace() {
        return;
    }
    let played = play(story);
    let asked = std::env::var("EDT_POWER").unwrap_or_default();
    let all = asked == "all";
    let count = each_cut(&played, |_| false, |_, _, _, _| ());
    let stride = if all { 1 } else { count.div_ceil(asked.parse().unwrap_or(SHARE)) };
    let (mut faults, mut judged, mut blind): (BTreeMap<String, Vec<String>>, usize, usize) =
        (BTreeMap::new(), 0, 0);
    let mut seen = HashSet::new();
    each_cut(
        &played,
        |n| n % stride == 0,
        |disk, cut, legal, at| {
            let image = disk.image(cut);
            if !seen.insert((disk.key(&image), legal.as_ptr() as usize, legal.len())) {
                return;
            }
            played.farm.build(disk, &image, &story.world.root);
            judged += 1;
            blind += usize::from(all && !story.world.try_git(&["status"]).status.success());
            for fault in after_the_cut(story, legal, judged.is_multiple_of(8)) {
                let event = format!("{:?}", played.events[at].1);
                let event: String = event.chars().take(160).collect();
                faults
                    .entry(fault)
                    .or_default()
                    .push(format!("event {at} {event}: {}", disk.told(cut)));
            }
        },
    );
    println!(
        "{}: {} events, {count} cuts, {judged} different disks judged, plain git status failed before edt's next call on {blind}",
        story.name,
        played.events.len()
    );
    let told = faults.iter().map(|(fault, cuts)| {
        let some: Vec<&str> = cuts.iter().take(6).map(String::as_str).collect();
        format!("{} × {fault}\n    {}", cuts.len(), some.join("\n    "))
    });
    let told: Vec<String> = told.collect();
    assert!(
        told.is_empty(),
        "{}: {} kinds of faults on {judged} disks:\n{}",
        story.name,
        told.len(),
        told.join("\n")
    );
}

/// What is wrong once edt was called again.
fn after_the_cut(story: &Story, legal: &[State], go_on: bool) -> Vec<String> {
    let world = &story.world;
    if story.plain && legal.len() == 1 && state(world) != legal[0] {
        return vec!["plain Git does not find what was answered".to_owned()];
    }
    let first = world.edt(&["status"]);
    if first.exit != 0 {
        return vec![format!("edt status: {} {}", first.exit, first.json["errors"])];
    }
    let plain = world.try_git(&["status"]);
    if !plain.status.success() {
        return vec![format!("plain git status: {}", String::from_utf8_lossy(&plain.stderr))];
    }
    let mut faults = Vec::new();
    let left = state(world);
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
    let fsck = world.try_git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    if !fsck.status.success() {
        faults.push(format!(
            "git fsck: {}",
            String::from_utf8_lossy(&[fsck.stdout, fsck.stderr].concat())
        ));
    }
    let second = world.edt(&["status"]);
    if !second.json["settled"].is_null() {
        faults.push(format!("settled a second time: {}", second.json["settled"]));
    }
    for name in ["HEAD", "refs/heads/edt/s"] {
        let log = fs::read_to_string(world.root.join(".git/logs").join(name)).unwrap_or_default();
        if crate::crash::is_torn(&log) {
            faults.push(format!("the log of {name} is torn: {log:?}"));
        }
    }
    let locks = world.locks();
    if !locks.is_empty() {
        faults.push(format!("locks left: {locks:?}"));
    }
    if go_on && faults.is_empty() {
        let more = world.edt(&["apply", "z.txt", "--mode", "append", "--content", "more\n"]);
        if more.exit != 0 {
            faults.push(format!("a further apply: {:?}", more.codes()));
        }
        if story.clean && !world.status().is_empty() {
            faults.push(format!("not clean after a further apply: {:?}", world.status()));
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
