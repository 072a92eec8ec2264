//! Moves what a program left for other programs to execute to a quarantine: Git directories, links,
//! and files that recording does not roll back (in nested repositories, or ignored).
//!
//! The quarantine is `quarantine/<n>/<k>` in edt's state directory. edt deletes nothing of it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use edt_core::session::Session;
use edt_git::{Oid, Repo, Tracked, planted};
use edt_guard::policy::Policy;
use edt_io::disk::Stat;
use edt_io::names::NamesBelow;
use edt_io::{failed, fs};
use edt_types::text::Shown as _;
use edt_types::text::shell_word;
use edt_types::{Code, Effect, Finding, Level, RepoPath, Result};

use crate::inventory::{Inventory, ItemKind};
use crate::sandbox::asked_names::PARTS;

/// The largest executed file whose bytes are held while a program runs, and all of them together.
const MAX_HELD: u64 = 1 << 20;
const MAX_HELD_TOTAL: u64 = 64 << 20;

/// What other programs execute in the worktree, before a program runs.
#[derive(Debug)]
pub(super) struct Executed {
    root: PathBuf,
    names: NamesBelow,
    ignored: BTreeSet<Vec<u8>>,
    /// Other worktrees of the repository below the root. What is in them is not this run's.
    others: BTreeSet<Vec<u8>>,
    /// The Git directories of all worktrees.
    records: BTreeSet<PathBuf>,
    inventory: Inventory,
    /// Git directories that may change as long as Git executes nothing because of them.
    plain: BTreeSet<Vec<u8>>,
    /// What the sandbox does not hold: links, and files at permissive.
    old: BTreeMap<Vec<u8>, OldItem>,
}

#[derive(Debug)]
struct OldItem {
    stat: Stat,
    content: Option<OldContent>,
}

#[derive(Debug, PartialEq, Eq)]
enum OldContent {
    File(Vec<u8>),
    Link(PathBuf),
}

impl Executed {
    /// Looks at the worktree. `ignored`: what Git ignores; a directory in which it ignores every
    /// file may be one path.
    ///
    /// # Errors
    /// `IO_ERROR` if the root cannot be read.
    pub(super) fn before(
        repo: &Repo,
        policy: &Policy,
        ignored: &[RepoPath],
        level: Level,
    ) -> Result<Executed> {
        let root = repo.real_root()?;
        let wrap = |error: io::Error| failed("read", &root, &error);
        let names = NamesBelow::open(&root).map_err(wrap)?;
        // Git may ignore each file of a directory and not the directory.
        let is_ignored = |path: &&RepoPath| {
            let is_directory = names.stat(path.as_bytes()).is_some_and(|stat| stat.is_directory());
            is_directory && repo.ignores_directory(path.as_bytes())
        };
        let ignored = ignored.iter().filter(is_ignored);
        let ignored = ignored.map(|path| path.as_bytes().to_vec()).collect();
        let (records, others) = other_worktrees(repo, &root, &BTreeSet::new());
        let inventory = Inventory::take(&names, policy, &ignored, &others, None).map_err(wrap)?;
        let git = inventory.git_directories().map(|(path, _)| path);
        let plain: BTreeSet<Vec<u8>> = git
            .filter(|path| planted::is_plain_git_dir(&at(&root, path)))
            .map(<[u8]>::to_vec)
            .collect();
        let (mut old, mut left) = (BTreeMap::new(), MAX_HELD_TOTAL);
        for (path, kind) in &inventory.items {
            let is_held = match kind {
                ItemKind::Link => true,
                ItemKind::File => level == Level::Permissive,
                ItemKind::DotGit => names.stat(path).is_some_and(|stat| stat.is_symlink()),
                ItemKind::Bare | ItemKind::Directory => false,
            };
            if let Some(stat) = names.stat(path).filter(|_| is_held) {
                let content = content(&at(&root, path), &stat, MAX_HELD.min(left));
                left -= if let Some(OldContent::File(bytes)) = &content {
                    bytes.len() as u64
                } else {
                    0
                };
                old.insert(path.clone(), OldItem { stat, content });
            }
        }
        Ok(Executed { root, names, ignored, others, records, inventory, plain, old })
    }

    /// The stat of what is at `path`; `None` also if a link leads there now. Only then does the path
    /// name what it named before.
    fn stat(&self, path: &[u8]) -> Option<Stat> {
        let directory = at(&self.root, split(path).0);
        let is_in_place = directory.canonicalize().is_ok_and(|real| real == directory);
        self.names.stat(path).filter(|_| is_in_place)
    }

    /// The paths that a program must not change.
    pub(super) fn read_only(&self) -> Vec<PathBuf> {
        let items = self.inventory.read_only().into_iter();
        let items = items.filter(|path| !self.plain.contains(*path));
        let others = self.others.iter().map(Vec::as_slice);
        items.chain(others).map(|path| at(&self.root, path)).collect()
    }

    /// The other repositories below the root, which are the user's. Not those that tools keep in
    /// ignored directories, nor those at or below a path in `writable`, nor a directory of which
    /// this repository tracks files.
    pub(super) fn repositories(&self, repo: &Repo, writable: &[PathBuf]) -> Vec<PathBuf> {
        let tree = OnceCell::new();
        let writable: Vec<PathBuf> = writable.iter().map(|path| fs::real_path(path)).collect();
        let is_tools = |path: &[u8]| {
            memchr::memchr_iter(b'/', path).any(|end| self.ignored.contains(&path[..end]))
        };
        let is_allowed = |root: &Path| {
            let below = |path: &&PathBuf| path.starts_with(&self.root) && **path != self.root;
            writable.iter().filter(below).any(|path| root.starts_with(path))
        };
        let roots = self.inventory.git_directories().map(|(path, kind)| match kind {
            ItemKind::DotGit => split(path).0,
            _ => path,
        });
        let is_own = |path: &[u8]| is_tracked(repo, *tree.get_or_init(|| tree_now(repo)), path);
        let roots = roots.filter(|root| !root.is_empty() && !is_tools(root) && !is_own(root));
        roots.map(|root| at(&self.root, root)).filter(|root| !is_allowed(root)).collect()
    }

    /// The Git directories without `.git`.
    pub(super) fn bare(&self) -> BTreeSet<Vec<u8>> {
        let git = self.inventory.git_directories();
        let bare = git.filter(|(_, kind)| *kind == ItemKind::Bare);
        bare.map(|(path, _)| path.to_vec()).collect()
    }

    /// What is new or changed after a program.
    pub(super) fn after(mut self, repo: &Repo, policy: &Policy) -> Planted {
        // One that was added meanwhile is the user's: programs cannot add any. One that was missing
        // may be back by the program.
        self.others.extend(other_worktrees(repo, &self.root, &self.records).1);
        let earlier = Some(&self.inventory);
        let now = Inventory::take(&self.names, policy, &self.ignored, &self.others, earlier)
            .unwrap_or_default();
        let mut outside = IgnoredAbove { repo, policy, known: HashMap::new() };
        let (mut git, mut files) = (Vec::new(), Vec::new());
        for (path, kind) in now.new_since(&self.inventory) {
            match kind {
                ItemKind::DotGit | ItemKind::Bare => git.push((path.to_vec(), kind)),
                _ if outside.is_ignored_above(path, kind) => {}
                ItemKind::Link => git.push((path.to_vec(), kind)),
                ItemKind::Directory | ItemKind::File => files.push((path.to_vec(), kind)),
            }
        }
        let changed = now.git_directories().filter(|(path, _)| {
            self.plain.contains(*path) && !planted::is_plain_git_dir(&at(&self.root, path))
        });
        git.extend(changed.map(|(path, kind)| (path.to_vec(), kind)));
        Planted { before: self, git, files, place: None, moved: Vec::new(), findings: Vec::new() }
    }
}

/// What a program left.
#[derive(Debug)]
#[must_use = "it stays where it is until it is moved"]
pub(super) struct Planted {
    before: Executed,
    /// Git directories and links.
    git: Vec<(Vec<u8>, ItemKind)>,
    /// Files, which recording may roll back.
    files: Vec<(Vec<u8>, ItemKind)>,
    /// The directory for this run in the quarantine.
    place: Option<PathBuf>,
    moved: Vec<Vec<u8>>,
    findings: Vec<Finding>,
}

impl Planted {
    /// Moves Git directories and links away. Without them, recording sees every file below.
    pub(super) fn move_git(&mut self, repo: &Repo) {
        for (path, kind) in std::mem::take(&mut self.git) {
            let tree = tree_now(repo);
            let tracks = |path: &[u8]| is_tracked(repo, tree, path);
            match kind {
                // A commit of the user may have brought it.
                ItemKind::Link if is_tracked_link(repo, tree, &path) => {}
                ItemKind::Link => self.quarantine(
                    repo,
                    &path,
                    &format!("{}, a link at a path that other programs execute", shown(&path)),
                ),
                ItemKind::DotGit => {
                    let full = at(&self.before.root, &path);
                    let (directory, name) = split(&path);
                    let is_plain = name == b".git"
                        && !tracks(directory)
                        && (planted::is_plain_git_dir(&full)
                            || planted::leads_to_own(&full, repo.common_dir())
                            || planted::leads_to_plain(&full, &self.before.root));
                    if !is_plain {
                        self.quarantine(
                            repo,
                            &path,
                            &format!(
                                "{}, from which Git, a prompt or an editor may execute something",
                                shown(&path)
                            ),
                        );
                    }
                }
                _ => {
                    if tracks(&path) || !planted::is_plain_git_dir(&at(&self.before.root, &path)) {
                        self.move_bare(repo, &path, tree);
                    }
                }
            }
        }
        self.restore_links(repo);
    }

    /// Moves a new directory as a whole, and of an older one what makes it a Git directory.
    fn move_bare(&mut self, repo: &Repo, path: &[u8], tree: Option<Oid>) {
        let text = format!(
            "a Git directory in {}, from which Git, a prompt or an editor may execute something",
            shown(path)
        );
        if !self.before.inventory.had_directory(path) && !is_tracked(repo, tree, path) {
            return self.quarantine(repo, path, &text);
        }
        let parts = PARTS.iter().map(|part| [path, b"/", part.as_bytes()].concat());
        let mut parts =
            parts.filter(|part| self.before.stat(part).is_some() && !is_tracked(repo, tree, part));
        if let Some(part) = parts.next() {
            self.quarantine(repo, &part, &format!("{}, {text}", shown(&part)));
        }
    }

    /// Moves the files away that recording left, and restores what edt holds. Returns everything
    /// that was found.
    pub(super) fn finish(mut self, repo: &Repo) -> Vec<Finding> {
        let tree = tree_now(repo);
        for (path, kind) in std::mem::take(&mut self.files) {
            let full = at(&self.before.root, &path);
            if self.moved.contains(&path) {
                continue;
            }
            let is_empty = kind == ItemKind::Directory && fs::try_remove_empty_dir(&full);
            if !is_empty && self.before.stat(&path).is_some() && !is_tracked(repo, tree, &path) {
                self.quarantine(
                    repo,
                    &path,
                    &format!("{}, which other programs execute", shown(&path)),
                );
            }
        }
        let changed: Vec<Vec<u8>> = self.before.old.keys().cloned().collect();
        for path in changed {
            let old = &self.before.old[&path];
            let (full, now) = (at(&self.before.root, &path), self.before.stat(&path));
            let Some(now) = now.filter(|now| *now != old.stat) else { continue };
            // Without a copy, the times decide; a program may set one of them.
            let is_same = match &old.content {
                None => now.same_content_as(&old.stat),
                Some(old) => content(&full, &now, MAX_HELD).is_some_and(|now| now == *old),
            };
            if !now.is_symlink() && (is_same || is_tracked(repo, tree, &path)) {
                continue;
            }
            if !is_same {
                self.quarantine(
                    repo,
                    &path,
                    &format!("a change of {}, which other programs execute", shown(&path)),
                );
                if self.moved.contains(&path) {
                    self.restore(&path);
                }
            }
        }
        self.findings
    }

    /// Links are restored before recording, which does not know them.
    fn restore_links(&mut self, repo: &Repo) {
        let links = self.before.old.iter().filter(|(_, old)| old.stat.is_symlink());
        let links: Vec<Vec<u8>> = links.map(|(path, _)| path.clone()).collect();
        for path in links {
            let old = &self.before.old[&path];
            let full = at(&self.before.root, &path);
            let now = self.before.stat(&path);
            let is_same = |now: &Stat| content(&full, now, 0) == old.content;
            if now.as_ref().is_some_and(|now| now != &old.stat && !is_same(now)) {
                self.quarantine(
                    repo,
                    &path,
                    &format!(
                        "a change of {}, a link at a path that other programs execute",
                        shown(&path)
                    ),
                );
            }
            if self.moved.contains(&path) {
                self.restore(&path);
            }
        }
    }

    /// Writes what was at the path before.
    fn restore(&mut self, path: &[u8]) {
        let directory = at(&self.before.root, split(path).0);
        if directory.canonicalize().ok().as_ref() != Some(&directory) {
            return;
        }
        let (old, full) = (&self.before.old[path], at(&self.before.root, path));
        let done = match &old.content {
            Some(OldContent::File(bytes)) => fs::write_atomic(&full, bytes, old.stat.mode & 0o777),
            Some(OldContent::Link(target)) => fs::symlink(target, &full),
            None => return,
        };
        if let Err(error) = done {
            self.findings.push(failed("restore", &full, &error));
        }
    }

    /// Moves what is at `path`, if it is still there; `what` says what it is.
    fn quarantine(&mut self, repo: &Repo, path: &[u8], what: &str) {
        if self.before.stat(path).is_none() {
            return;
        }
        let full = at(&self.before.root, path);
        let finding = match self.moved_to(repo, path) {
            Ok(place) => {
                self.moved.push(path.to_vec());
                let word = |path: &Path| shell_word(path.as_os_str().as_bytes());
                let finding = Finding::new(
                    Code::ApprovalRequired,
                    format!("The program left {what}. It was moved to {}.", place.shown()),
                    format!(
                        "Continue without it. If it is needed, ask the user to examine it and to \
                         type `mv -T {} {}`.",
                        word(&place),
                        word(&full)
                    ),
                );
                finding.with("quarantine", place.to_string_lossy().into_owned())
            }
            Err(error) => Finding::new(
                Code::IoError,
                format!("The program left {what}. It could not be moved away: {error}."),
                format!(
                    "Ask the user to move or delete {} before anything else, without entering its \
                     directory.",
                    full.shown()
                ),
            ),
        };
        let finding = finding.with_effect(Effect::Unstated).at(&RepoPath::from_tree(path));
        self.findings.push(finding);
    }

    fn moved_to(&mut self, repo: &Repo, path: &[u8]) -> io::Result<PathBuf> {
        let place = match &self.place {
            Some(place) => place.clone(),
            None => self.place.insert(new_place(repo)?).clone(),
        };
        let place = place.join(self.moved.len().to_string());
        let from = at(&self.before.root, path);
        fs::rename(&from, &place).or_else(|error| {
            if error.kind() != io::ErrorKind::PermissionDenied {
                return Err(error);
            }
            // The program may have taken rights from the directories.
            self.before.names.open_up(split(path).0)?;
            let _ = self.before.names.open_up(path);
            fs::rename(&from, &place)
        })?;
        Ok(place)
    }
}

fn new_place(repo: &Repo) -> io::Result<PathBuf> {
    let all = repo.state_path().join("quarantine");
    fs::make_private_dir(&all)?;
    let all = fs::real_path(&all);
    let mut number = 1;
    loop {
        let place = all.join(number.to_string());
        if fs::make_new_dir(&place)? {
            return Ok(place);
        }
        number += 1;
    }
}

/// Which directories Git ignores now.
struct IgnoredAbove<'a> {
    repo: &'a Repo,
    policy: &'a Policy,
    known: HashMap<Vec<u8>, bool>,
}

impl IgnoredAbove<'_> {
    /// Whether the name that makes something execute `path` begins in an ignored directory.
    fn is_ignored_above(&mut self, path: &[u8], kind: ItemKind) -> bool {
        let as_path = RepoPath::from_tree(path);
        let from = match kind {
            ItemKind::File => self.policy.executed_from(&as_path),
            _ => self.policy.executed_through(&as_path),
        };
        let above = &path[..from.unwrap_or(0)];
        memchr::memchr_iter(b'/', above).any(|at| {
            let directory = &above[..at];
            let known = self.known.entry(directory.to_vec());
            *known.or_insert_with(|| self.repo.ignores_directory(directory))
        })
    }
}

/// The Git directories of the other worktrees of the repository; and the roots of those below `root`
/// that are not in `known`, relative to it.
fn other_worktrees(
    repo: &Repo,
    root: &Path,
    known: &BTreeSet<PathBuf>,
) -> (BTreeSet<PathBuf>, BTreeSet<Vec<u8>>) {
    let others = repo.other_worktrees("");
    let new = others.iter().filter(|other| !known.contains(&other.git_dir));
    let below = new.filter_map(|other| {
        let place = repo.worktree_root(other)?;
        let is_in_place = planted::leads_to(&place.join(".git"), &other.git_dir)
            && place.canonicalize().is_ok_and(|real| real == place);
        let below = place.strip_prefix(root).ok().filter(|_| is_in_place)?;
        (!below.as_os_str().is_empty()).then(|| below.as_os_str().as_bytes().to_vec())
    });
    let below = below.collect();
    (others.into_iter().map(|other| other.git_dir).collect(), below)
}

fn content(path: &Path, stat: &Stat, most: u64) -> Option<OldContent> {
    if stat.is_symlink() {
        return fs::link_target(path).map(OldContent::Link);
    }
    let is_file = !stat.is_special() && !stat.is_directory();
    let bytes = if is_file { fs::read_small(path, most) } else { None };
    bytes.map(OldContent::File)
}

fn tree_now(repo: &Repo) -> Option<Oid> {
    let head = repo.head().ok()?;
    let session = Session::current(repo, &head).ok()?;
    repo.tree_of(session.map(|session| session.tip).or(head.commit)?).ok()
}

/// Whether Git tracks the file, the link, or a file in the directory.
fn is_tracked(repo: &Repo, tree: Option<Oid>, path: &[u8]) -> bool {
    let found = tree.map(|tree| repo.tracked(tree, &RepoPath::from_tree(path)));
    path.is_empty()
        || matches!(found, Some(Ok(Tracked::File(_) | Tracked::Directory | Tracked::Symlink)))
}

fn is_tracked_link(repo: &Repo, tree: Option<Oid>, path: &[u8]) -> bool {
    let found = tree.map(|tree| repo.tracked(tree, &RepoPath::from_tree(path)));
    matches!(found, Some(Ok(Tracked::Symlink)))
}

fn at(root: &Path, path: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(path))
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memrchr(b'/', path);
    at.map_or((b"", path), |at| (&path[..at], &path[at + 1..]))
}

fn shown(path: &[u8]) -> String {
    RepoPath::from_tree(path).quoted()
}
