//! What a disk may legally hold after a power cut.
//!
//! The rules are the weakest of ext4, xfs and btrfs (`docs/design/atomicity.md`): data of a file
//! counts once the file was synced. A name counts once its directory was synced, or its file: the
//! names that a file gets later count with the next sync of any file, and so do the directories
//! above them. A rename is one step, lost or kept as one. Names that were not synced reach the disk
//! in their order, up to any of them. Data that was not synced may be missing, zero, or cut short,
//! in any combination.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use super::trace::Event;

/// A file, directory or link, whatever its names are.
pub(super) type Ino = usize;

/// What an inode is.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Directory,
    Link(Vec<u8>),
    File(Contents),
}

/// A file's bytes, and which of them are on stable storage.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    pub(super) mode: u32,
    /// As every program sees them.
    pub(super) now: Vec<u8>,
    /// As they were when the file was last synced; `None` if it never was.
    synced: Option<Vec<u8>>,
    /// Writes since then: where and what.
    pending: Vec<(usize, Vec<u8>)>,
    /// How often it was written, ever.
    version: usize,
}

/// A name in a directory.
type Entry = (Ino, Vec<u8>);
/// A change of names: each entry and what it names then. It is lost or kept as one.
type Step = Vec<(Entry, Option<Ino>)>;

/// A disk and its page cache.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    root: PathBuf,
    pub(super) nodes: Vec<Node>,
    /// Names as every program sees them.
    now: BTreeMap<Entry, Ino>,
    /// Names on stable storage.
    durable: BTreeMap<Entry, Ino>,
    /// Changes of names since.
    steps: Vec<Step>,
    /// The files that were synced. btrfs logs the names that such a file gets later.
    logged: BTreeSet<Ino>,
}

/// What a power cut left: each path with its inode, and the data of files that differ from what
/// every program saw.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) names: BTreeMap<PathBuf, Ino>,
    pub(super) data: BTreeMap<Ino, Vec<u8>>,
}

/// Which of the unsynced changes reached stable storage.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    names: Names,
    data: Data,
}

/// Which changes of names are kept.
#[derive(Debug, Clone)]
enum Names {
    All,
    None,
    /// So many of the first ones.
    First(usize),
}

/// Which data is torn.
#[derive(Debug, Clone)]
enum Data {
    Complete,
    All(Torn),
    One(Ino, Torn),
    /// One write of several is missing.
    Write(Ino, usize),
    Some(BTreeMap<Ino, Torn>),
}

/// How unsynced data may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    Missing,
    Zero,
    Half,
}

const TORN: [Torn; 3] = [Torn::Missing, Torn::Zero, Torn::Half];
/// The root directory.
const ROOT: Ino = 0;

impl Disk {
    /// The tree at `root`, all of it on stable storage.
    pub(super) fn of(root: &Path) -> Disk {
        let mut disk = Disk {
            root: root.to_owned(),
            nodes: vec![Node::Directory],
            now: BTreeMap::new(),
            durable: BTreeMap::new(),
            steps: Vec::new(),
            logged: BTreeSet::new(),
        };
        let mut known = BTreeMap::new();
        disk.take(root, ROOT, &mut known);
        disk.durable.clone_from(&disk.now);
        disk
    }

    fn take(&mut self, directory: &Path, ino: Ino, known: &mut BTreeMap<u64, Ino>) {
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::fs::MetadataExt as _;
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            let node = if meta.is_dir() {
                Node::Directory
            } else if meta.is_symlink() {
                Node::Link(std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
            } else {
                let now = std::fs::read(&path).unwrap();
                Node::File(Contents {
                    mode: meta.mode(),
                    synced: Some(now.clone()),
                    now,
                    pending: Vec::new(),
                    version: 0,
                })
            };
            let new = if let Some(seen) = known.get(&meta.ino()) {
                *seen
            } else {
                self.nodes.push(node);
                self.nodes.len() - 1
            };
            known.insert(meta.ino(), new);
            self.now.insert((ino, entry.file_name().as_bytes().to_vec()), new);
            if meta.is_dir() {
                self.take(&path, new, known);
            }
        }
    }

    /// The inode at `path` as every program sees it.
    pub(super) fn at(&self, path: &Path) -> Option<Ino> {
        let mut ino = ROOT;
        for name in names(path.strip_prefix(&self.root).ok()?) {
            ino = *self.now.get(&(ino, name))?;
        }
        Some(ino)
    }

    /// Every name of a file as every program sees it.
    pub(super) fn all(&self) -> BTreeMap<PathBuf, Ino> {
        tree(&self.now)
    }

    /// Whether it is outside: of no interest.
    fn entry(&self, path: &Path) -> Option<(Ino, Vec<u8>)> {
        let name = names(path.strip_prefix(&self.root).ok()?).pop()?;
        Some((self.at(path.parent()?)?, name))
    }

    fn step(&mut self, changes: Step) {
        for (entry, ino) in &changes {
            match ino {
                Some(ino) => self.now.insert(entry.clone(), *ino),
                None => self.now.remove(entry),
            };
        }
        self.steps.push(changes);
    }

    fn make(&mut self, path: &Path, node: Node) {
        let Some(entry) = self.entry(path) else { return };
        self.nodes.push(node);
        let ino = self.nodes.len() - 1;
        self.step(vec![(entry, Some(ino))]);
    }

    fn file(&mut self, path: &Path) -> Option<&mut Contents> {
        let ino = self.at(path)?;
        match &mut self.nodes[ino] {
            Node::File(contents) => Some(contents),
            _ => None,
        }
    }

    /// Does what a program did.
    pub(super) fn replay(&mut self, event: &Event) {
        match event {
            Event::Open { path, create, truncate, mode } => {
                if *create && self.at(path).is_none() {
                    let mode = mode & 0o777 & !0o022;
                    let contents = Contents {
                        mode,
                        now: Vec::new(),
                        synced: None,
                        pending: Vec::new(),
                        version: 0,
                    };
                    self.make(path, Node::File(contents));
                } else if *truncate && let Some(file) = self.file(path) {
                    file.set(Vec::new());
                }
            }
            Event::Write { path, at, bytes } => {
                if let Some(file) = self.file(path) {
                    file.write(
                        at.map_or(file.now.len(), |at| usize::try_from(at).unwrap()),
                        bytes.clone(),
                    );
                }
            }
            Event::Copy { from, to } => {
                let Some(bytes) = self.file(from).map(|file| file.now.clone()) else { return };
                if let Some(file) = self.file(to) {
                    file.set(bytes);
                }
            }
            Event::Truncate { path, len } => {
                if let Some(file) = self.file(path) {
                    let mut bytes = file.now.clone();
                    bytes.resize(usize::try_from(*len).unwrap(), 0);
                    file.set(bytes);
                }
            }
            Event::Chmod { path, mode } => {
                if let Some(file) = self.file(path) {
                    file.mode = *mode;
                }
            }
            Event::Rename { from, to } => {
                let (Some(ino), Some(old), Some(new)) =
                    (self.at(from), self.entry(from), self.entry(to))
                else {
                    return;
                };
                // Two names of one file: nothing happens.
                if self.at(to) != Some(ino) {
                    self.step(vec![(old, None), (new, Some(ino))]);
                }
            }
            Event::Exchange { one, other } => {
                let (Some(a), Some(b)) = (self.at(one), self.at(other)) else {
                    panic!("an exchange with nothing: {event:?}")
                };
                let (at_a, at_b) = (self.entry(one).unwrap(), self.entry(other).unwrap());
                self.step(vec![(at_a, Some(b)), (at_b, Some(a))]);
            }
            Event::Link { from, to } => {
                if let (Some(ino), Some(entry)) = (self.at(from), self.entry(to)) {
                    self.step(vec![(entry, Some(ino))]);
                }
            }
            Event::Unlink { path } => {
                if let Some(entry) = self.entry(path) {
                    self.step(vec![(entry, None)]);
                }
            }
            Event::Mkdir { path } => self.make(path, Node::Directory),
            Event::Symlink { target, path } => self.make(path, Node::Link(target.clone())),
            Event::Sync { path } => self.sync(path),
            Event::SyncAll => self.sync_all(),
            Event::Answer => {}
        }
    }

    fn sync(&mut self, path: &Path) {
        let Some(ino) = self.at(path) else { return };
        if let Node::File(contents) = &mut self.nodes[ino] {
            contents.sync();
            self.logged.insert(ino);
        }
        let mut named: BTreeSet<Ino> = self.logged.clone();
        // The directories in which a logged file has a name, and those above them.
        while let Some(above) = self.now.iter().find_map(|((dir, _), ino)| {
            (named.contains(ino) && !named.contains(dir)).then_some(*dir)
        }) {
            named.insert(above);
        }
        let is_kept = |step: &Step| {
            step.iter()
                .any(|((dir, _), to)| *dir == ino || to.is_some_and(|to| named.contains(&to)))
        };
        // What a name was before does not come back.
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        let mut entries: BTreeSet<Entry> = BTreeSet::new();
        for step in std::mem::take(&mut self.steps).into_iter().rev() {
            if is_kept(&step) || step.iter().any(|(entry, _)| entries.contains(entry)) {
                entries.extend(step.iter().map(|(entry, _)| entry.clone()));
                kept.push(step);
            } else {
                lost.push(step);
            }
        }
        apply(&mut self.durable, kept.iter().rev());
        self.steps = lost.into_iter().rev().collect();
    }

    pub(super) fn sync_all(&mut self) {
        self.durable.clone_from(&self.now);
        self.steps.clear();
        for node in &mut self.nodes {
            if let Node::File(contents) = node {
                contents.sync();
            }
        }
    }

    /// What a power cut may do now: keep everything, lose everything, lose and keep each change of
    /// names alone, tear the data of each file alone and of all, lose single writes, and `random`
    /// mixtures.
    pub(super) fn cuts(&self, random: usize, seed: &mut u64) -> Vec<Cut> {
        let torn: Vec<Ino> = (0..self.nodes.len()).filter(|ino| self.writes(*ino) > 0).collect();
        let mut cuts = vec![
            Cut { names: Names::All, data: Data::Complete },
            Cut { names: Names::None, data: Data::Complete },
        ];
        for how in TORN {
            cuts.push(Cut { names: Names::All, data: Data::All(how) });
            cuts.push(Cut { names: Names::None, data: Data::All(how) });
            cuts.extend(
                torn.iter().map(|ino| Cut { names: Names::All, data: Data::One(*ino, how) }),
            );
        }
        for step in 0..self.steps.len() {
            cuts.push(Cut { names: Names::First(step), data: Data::Complete });
        }
        for ino in torn.iter().copied().filter(|ino| self.writes(*ino) > 1) {
            cuts.extend(
                (0..self.writes(ino)).map(|n| Cut { names: Names::All, data: Data::Write(ino, n) }),
            );
        }
        for _ in 0..random {
            let kept = usize::try_from(draw(seed, self.steps.len() as u64 + 1)).unwrap();
            let data = torn.iter().filter_map(|ino| match draw(seed, 5) {
                0 => Some((*ino, Torn::Missing)),
                1 => Some((*ino, Torn::Zero)),
                2 => Some((*ino, Torn::Half)),
                _ => None,
            });
            cuts.push(Cut { data: Data::Some(data.collect()), names: Names::First(kept) });
        }
        cuts
    }

    /// The disk that `cut` leaves.
    pub(super) fn image(&self, cut: &Cut) -> Image {
        let mut entries = self.durable.clone();
        let kept = |n: usize| match &cut.names {
            Names::All => true,
            Names::None => false,
            Names::First(kept) => n < *kept,
        };
        apply(
            &mut entries,
            self.steps.iter().enumerate().filter(|(n, _)| kept(*n)).map(|(_, step)| step),
        );
        let names = tree(&entries);
        let torn = |ino: Ino| match (&self.nodes[ino], &cut.data) {
            (Node::File(file), _) if file.pending.is_empty() => None,
            (Node::File(file), Data::All(how)) => Some(file.torn(*how)),
            (Node::File(file), Data::One(one, how)) if *one == ino => Some(file.torn(*how)),
            (Node::File(file), Data::Write(one, lost)) if *one == ino => {
                Some(file.with_writes(|n| n != *lost))
            }
            (Node::File(file), Data::Some(all)) => all.get(&ino).map(|how| file.torn(*how)),
            _ => None,
        };
        let data = names.values().filter_map(|ino| Some((*ino, torn(*ino)?))).collect();
        Image { names, data }
    }

    /// What the cut did, in words.
    pub(super) fn printed(&self, cut: &Cut) -> String {
        let names = match &cut.names {
            Names::All => "all names kept".to_owned(),
            Names::None => "all names lost".to_owned(),
            Names::First(0) => "all names lost".to_owned(),
            Names::First(kept) => format!("names kept up to {}", self.step_shown(*kept - 1)),
        };
        let data = match &cut.data {
            Data::Complete => "all data kept".to_owned(),
            Data::All(how) => format!("all data {how:?}"),
            Data::One(ino, how) => format!("{how:?}: {}", self.name(*ino)),
            Data::Write(ino, n) => format!("write {n} lost: {}", self.name(*ino)),
            Data::Some(all) => all
                .iter()
                .map(|(ino, how)| format!("{how:?}: {}", self.name(*ino)))
                .collect::<Vec<_>>()
                .join(", "),
        };
        format!("{names}; {data}")
    }

    /// A key that differs between images.
    pub(super) fn key(&self, image: &Image) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        (&image.names, &image.data).hash(&mut hasher);
        for ino in image.names.values().filter(|ino| !image.data.contains_key(ino)) {
            if let Node::File(file) = &self.nodes[*ino] {
                (ino, file.version, file.mode).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// How many writes to a file are not on stable storage.
    fn writes(&self, ino: Ino) -> usize {
        if let Node::File(file) = &self.nodes[ino] { file.pending.len() } else { 0 }
    }

    fn step_shown(&self, step: usize) -> String {
        let shown = |((dir, name), ino): &(Entry, Option<Ino>)| {
            let sign = if ino.is_some() { '+' } else { '-' };
            format!("{sign}{}/{}", self.name(*dir), String::from_utf8_lossy(name))
        };
        self.steps[step].iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    fn name(&self, ino: Ino) -> String {
        let all = self.all();
        let found = all.iter().find(|(_, at)| **at == ino);
        found.map_or_else(|| format!("#{ino}"), |(path, _)| path.display().to_string())
    }
}

impl Contents {
    fn write(&mut self, at: usize, bytes: Vec<u8>) {
        put(&mut self.now, at, &bytes);
        self.pending.push((at, bytes));
        self.version += 1;
    }

    /// Other bytes from the first to the last.
    fn set(&mut self, bytes: Vec<u8>) {
        self.now.clone_from(&bytes);
        self.synced.get_or_insert_default().truncate(bytes.len());
        self.pending = vec![(0, bytes)];
        self.version += 1;
    }

    fn sync(&mut self) {
        self.synced = Some(self.now.clone());
        self.pending.clear();
    }

    fn torn(&self, how: Torn) -> Vec<u8> {
        match how {
            Torn::Missing => self.synced.clone().unwrap_or_default(),
            Torn::Zero => {
                // Blocks that were on stable storage keep their content; new ones read as zeros.
                let mut bytes = self.synced.clone().unwrap_or_default();
                let end =
                    self.pending.iter().map(|(at, written)| at + written.len()).max().unwrap_or(0);
                bytes.resize(bytes.len().max(end), 0);
                bytes
            }
            Torn::Half => {
                let mut bytes = self.synced.clone().unwrap_or_default();
                for (at, written) in &self.pending {
                    put(&mut bytes, *at, &written[..written.len() / 2]);
                }
                bytes
            }
        }
    }

    fn with_writes(&self, kept: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut bytes = self.synced.clone().unwrap_or_default();
        for (_, (at, written)) in self.pending.iter().enumerate().filter(|(n, _)| kept(*n)) {
            put(&mut bytes, *at, written);
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, at: usize, written: &[u8]) {
    if bytes.len() < at + written.len() {
        bytes.resize(at + written.len(), 0);
    }
    bytes[at..at + written.len()].copy_from_slice(written);
}

fn apply<'a>(entries: &mut BTreeMap<Entry, Ino>, steps: impl Iterator<Item = &'a Step>) {
    for (entry, ino) in steps.flatten() {
        match ino {
            Some(ino) => entries.insert(entry.clone(), *ino),
            None => entries.remove(entry),
        };
    }
}

/// Every path that is reachable from the root.
fn tree(entries: &BTreeMap<Entry, Ino>) -> BTreeMap<PathBuf, Ino> {
    use std::os::unix::ffi::OsStrExt as _;
    let (mut found, mut open) = (BTreeMap::new(), vec![(ROOT, PathBuf::new())]);
    while let Some((dir, path)) = open.pop() {
        for ((_, name), ino) in entries.range((dir, Vec::new())..(dir + 1, Vec::new())) {
            let path = path.join(std::ffi::OsStr::from_bytes(name));
            found.insert(path.clone(), *ino);
            open.push((*ino, path));
        }
    }
    found
}

fn names(path: &Path) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt as _;
    path.iter().map(|name| name.as_bytes().to_vec()).collect()
}

/// A number below `below` (xorshift).
pub(super) fn draw(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}
