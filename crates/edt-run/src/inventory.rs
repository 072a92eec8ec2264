//! Finds what other programs execute in a worktree, by names alone: Git directories, files of the
//! table of [`edt_guard::executed`], and links at such paths. Ignored directories and nested
//! repositories are part of it.
//!
//! A second look reads only directories that changed since the first one. A directory changes when
//! a name in it does, and no program can set that time (`ctime`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use edt_guard::executed;
use edt_guard::policy::Policy;
use edt_io::clock;
use edt_io::disk::Stat;
use edt_io::names::{NameKind, NamesBelow};
use edt_types::RepoPath;
use edt_types::path::spells_git;

use crate::sandbox::asked_names::PARTS;

/// What is at a path that something executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A name that some file system reads as `.git`.
    DotGit,
    /// A directory that Git takes for a repository without `.git`.
    Bare,
    /// A directory whose files are all executed.
    Directory,
    /// A file of the list.
    File,
    /// A link at such a path, or above it.
    Link,
}

/// The state of a worktree.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    directories: HashMap<Vec<u8>, SeenDirectory>,
    /// The items below the root, without the repository's own `.git`.
    pub(super) items: BTreeMap<Vec<u8>, ItemKind>,
    /// Directories whose names cannot be read.
    hidden: HashSet<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct SeenDirectory {
    stat: Stat,
    /// Whether a later change may have the same time.
    is_recent: bool,
    subdirectories: Vec<Vec<u8>>,
    items: Vec<(Vec<u8>, ItemKind)>,
}

/// How long a change may have the time of an earlier one, in seconds.
const RECENT: i64 = 2;

impl Inventory {
    /// Looks at everything below `root`. Of the directories in `ignored`, only Git directories
    /// count; those in `others` are not read. Reads no directory again that is as in `earlier`.
    ///
    /// # Errors
    /// Any error of the operating system for the root.
    pub(super) fn take(
        root: &NamesBelow,
        policy: &Policy,
        ignored: &BTreeSet<Vec<u8>>,
        others: &BTreeSet<Vec<u8>>,
        earlier: Option<&Inventory>,
    ) -> std::io::Result<Inventory> {
        let now = clock::seconds();
        let mut inventory = Inventory::default();
        // With the length of the ignored directory that is above, and whether files in one above are
        // executed whatever their names are.
        let mut waiting: Vec<(Vec<u8>, Option<usize>, bool)> = vec![(Vec::new(), None, false)];
        while let Some((path, inside, above)) = waiting.pop() {
            if others.contains(&path) {
                continue;
            }
            let inside = inside.or_else(|| ignored.contains(&path).then_some(path.len()));
            let known = earlier.and_then(|earlier| earlier.directories.get(&path));
            let known = known
                .filter(|known| !known.is_recent && root.stat(&path).as_ref() == Some(&known.stat));
            let is_executed = above || is_executed(policy, &path);
            let seen = if let Some(known) = known {
                known.clone()
            } else {
                let mut reading = Reading::of(policy, &path, inside, is_executed);
                let Some(stat) = reading.read(root, earlier) else {
                    inventory.hidden.insert(path);
                    continue;
                };
                reading.seen(stat, now)
            };
            inventory.items.extend(seen.items.iter().cloned());
            let below = seen.subdirectories.iter();
            waiting.extend(below.map(|path| (path.clone(), inside, is_executed)));
            inventory.directories.insert(path, seen);
        }
        Ok(inventory)
    }

    /// The items that `earlier` does not have. For a new directory it is one item.
    pub(super) fn new_since<'a>(&'a self, earlier: &Inventory) -> Vec<(&'a [u8], ItemKind)> {
        let is_new = |path: &[u8], kind| earlier.items.get(path) != Some(&kind);
        let is_in_new = |path: &[u8]| {
            self.directories_above(path).any(|above| is_new(above, ItemKind::Directory))
        };
        let all = self.items.iter().map(|(path, kind)| (path.as_slice(), *kind));
        all.filter(|(path, kind)| is_new(path, *kind) && !is_in_new(path)).collect()
    }

    /// The directories above `path` whose files are all executed.
    fn directories_above<'p>(&self, path: &'p [u8]) -> impl Iterator<Item = &'p [u8]> {
        let above = memchr::memchr_iter(b'/', path).map(|at| &path[..at]);
        above.filter(|above| self.items.get(*above) == Some(&ItemKind::Directory))
    }

    /// Whether there was a directory at `path`.
    pub(super) fn had_directory(&self, path: &[u8]) -> bool {
        self.directories.contains_key(path)
    }

    /// The paths that a program must not change.
    pub(super) fn read_only(&self) -> Vec<&[u8]> {
        let is_covered = |path: &[u8]| self.directories_above(path).next().is_some();
        let files = self.items.iter().filter(|(_, kind)| **kind != ItemKind::Link);
        files.map(|(path, _)| path.as_slice()).filter(|path| !is_covered(path)).collect()
    }

    /// The Git directories, and whether each is one without `.git`.
    pub(super) fn git_directories(&self) -> impl Iterator<Item = (&[u8], ItemKind)> {
        let all = self.items.iter().map(|(path, kind)| (path.as_slice(), *kind));
        all.filter(|(_, kind)| matches!(kind, ItemKind::DotGit | ItemKind::Bare))
    }
}

/// One directory while it is read.
struct Reading<'a> {
    policy: &'a Policy,
    path: &'a [u8],
    /// The length of the ignored directory that it is in.
    inside: Option<usize>,
    /// Whether files in it are executed whatever their names are.
    is_executed: bool,
    subdirectories: Vec<Vec<u8>>,
    items: Vec<(Vec<u8>, ItemKind)>,
    /// Which entries of a Git directory are there.
    parts: [bool; PARTS.len()],
}

impl<'a> Reading<'a> {
    fn of(
        policy: &'a Policy,
        path: &'a [u8],
        inside: Option<usize>,
        is_executed: bool,
    ) -> Reading<'a> {
        Reading {
            policy,
            path,
            inside,
            is_executed,
            subdirectories: Vec::new(),
            items: Vec::new(),
            parts: [false; PARTS.len()],
        }
    }

    /// Reads the names. `None` if no directory can be read. After a program, a directory whose names
    /// it hid is opened again.
    fn read(&mut self, root: &NamesBelow, earlier: Option<&Inventory>) -> Option<Stat> {
        let path = self.path;
        if let Ok(stat) = root.read(path, |name, kind| self.add(name, kind)) {
            return stat;
        }
        if earlier?.hidden.contains(path) || root.open_up(path).is_err() {
            return None;
        }
        root.read(path, |name, kind| self.add(name, kind)).ok().flatten()
    }

    fn add(&mut self, name: &[u8], kind: NameKind) {
        if spells_git(name) {
            // The repository's own is held by the sandbox.
            if !self.path.is_empty() || name != b".git" {
                self.add_git(joined(self.path, name), ItemKind::DotGit);
            }
            return;
        }
        if let Some(at) = PARTS.iter().position(|part| part.as_bytes().eq_ignore_ascii_case(name)) {
            self.parts[at] |= at != 0 || kind != NameKind::Directory;
        }
        let asks_as_link = || kind == NameKind::Link && executed::asks_as_link(name);
        if self.is_executed || self.policy.knows_name(name) || asks_as_link() {
            self.judge(name, kind);
        }
        if kind == NameKind::Directory {
            self.subdirectories.push(joined(self.path, name));
        }
    }

    fn add_git(&mut self, path: Vec<u8>, kind: ItemKind) {
        if !self.policy.is_excepted(&RepoPath::from_tree(&path)) {
            self.items.push((path, kind));
        }
    }

    /// Adds the path if something executes it and it is not in an ignored directory.
    fn judge(&mut self, name: &[u8], kind: NameKind) {
        let bytes = joined(self.path, name);
        let Some((from, kind)) = executed_at(self.policy, &bytes, kind) else { return };
        if self.inside.is_none_or(|length| from <= length) {
            self.items.push((bytes, kind));
        }
    }

    fn seen(mut self, stat: Stat, now: i64) -> SeenDirectory {
        let [head, refs, objects, commondir] = self.parts;
        if head && (commondir || refs && objects) && !self.path.is_empty() {
            self.add_git(self.path.to_owned(), ItemKind::Bare);
        }
        let is_recent = stat.ctime.0 >= now - RECENT || stat.mtime.0 >= now - RECENT;
        SeenDirectory { stat, is_recent, subdirectories: self.subdirectories, items: self.items }
    }
}

/// Whether files in the directory `path` are executed whatever their names are, because of its last
/// name. A look at the whole path would take too long in deep directories.
fn is_executed(policy: &Policy, path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let any = || RepoPath::from_tree(&joined(path, b"x"));
    policy.knows_name(name) && policy.executed_from(&any()).is_some()
}

/// Where in `path` the name begins that makes something execute what is there; `None` if nothing
/// does.
pub(super) fn executed_at(
    policy: &Policy,
    path: &[u8],
    kind: NameKind,
) -> Option<(usize, ItemKind)> {
    let path = RepoPath::from_tree(path);
    let (from, kind) = match kind {
        NameKind::Directory if !policy.executes_directory(&path) => return None,
        NameKind::Directory => (policy.executed_through(&path), ItemKind::Directory),
        NameKind::Link => (policy.executed_through(&path), ItemKind::Link),
        NameKind::Other => (policy.executed_from(&path), ItemKind::File),
    };
    Some((from?, kind))
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}
