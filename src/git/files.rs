//! The files of a worktree as Git lists them: tracked ones from the index, new ones from a walk that obeys Git's ignore rules. What
//! `git ls-files --cached --others --exclude-standard` lists, and the order it has.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BString, ByteSlice as _};
use gix::dir::entry::{Kind as Found, Status};
use gix::dir::walk::EmissionMode;
use gix::index::entry::{Flags, Mode, Stage, Stat as IndexStat};

use super::repo::{FileMode, Repo, unreadable};
use super::{Oid, causes};
use crate::base::{Code, Finding, RepoPath, Result};
use crate::io::disk::{Dir, Parent, Stat};

/// Which files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those in the index.
    Tracked,
    /// Those, and new ones that no rule ignores.
    NotIgnored,
    /// Those, and what is ignored.
    All,
}

/// A listed path.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The path. A repository of its own is one path.
    pub path: RepoPath,
    /// What it is.
    pub kind: Kind,
    /// Where it was found.
    pub origin: Origin,
}

/// What is listed at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file, with its mode in the index; of a new file only [`Comparer::compare`]'s stat tells it.
    File(FileMode),
    /// A symbolic link.
    Symlink,
    /// A submodule, or another repository in the worktree.
    Repository,
}

/// Where a listed path was found.
#[derive(Debug, Clone)]
pub enum Origin {
    /// In the index.
    Index(Box<Entry>),
    /// On disk alone.
    New,
    /// On disk alone, and a rule ignores it.
    Ignored,
}

/// What the index says of a path.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The blob, or the commit of a submodule.
    pub oid: Oid,
    stat: IndexStat,
    flags: Flags,
}

/// How a listed path stands on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As the index has it.
    Unchanged,
    /// Otherwise than the index has it, or it could not be compared.
    Changed,
    /// In the index, and not on disk.
    Deleted,
    /// In the index, and left out by a sparse checkout.
    NotCheckedOut,
    /// In the index with several versions.
    Conflicted,
    /// Not in the index.
    New,
    /// Not in the index, and ignored.
    Ignored,
}

impl State {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Unchanged => "tracked",
            State::Changed => "changed",
            State::Deleted => "deleted",
            State::NotCheckedOut => "not_checked_out",
            State::Conflicted => "conflicted",
            State::New => "new",
            State::Ignored => "ignored",
        }
    }
}

impl Kind {
    /// The mode as Git writes it.
    #[must_use]
    pub const fn mode(self) -> &'static str {
        match self {
            Kind::File(FileMode::Plain) => "100644",
            Kind::File(FileMode::Executable) => "100755",
            Kind::Symlink => "120000",
            Kind::Repository => "160000",
        }
    }
}

/// Compares listed paths with the disk; knows what all of them share.
pub struct Comparer<'r> {
    repo: &'r Repo,
    tree: Oid,
    options: gix::index::entry::stat::Options,
    index: gix::worktree::IndexPersistedOrInMemory,
}

impl Repo {
    /// Whether Git ignores `path`: a rule says so, and the index does not hold it.
    ///
    /// # Errors
    /// `IO_ERROR` if the index or the rules cannot be read.
    pub fn ignores(&self, path: &RepoPath) -> Result<bool> {
        use gix::worktree::stack::state::ignore as rules;
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let name = path.as_bytes().as_bstr();
        if index.entry_by_path(name).is_some() {
            return Ok(false);
        }
        let source = rules::Source::WorktreeThenIdMappingIfNotSkipped;
        let mut rules = self
            .inner
            .excludes(&index, None, source)
            .map_err(|error| unreadable("the ignore rules", &error))?;
        let found = rules.at_entry(name, Some(Mode::FILE));
        Ok(found.map_err(|error| unreadable("the ignore rules", &error))?.is_excluded())
    }

    /// The files at or below `below` (of the whole worktree, if that is empty), in order of their bytes.
    ///
    /// # Errors
    /// `IO_ERROR` if the index or a folder cannot be read.
    pub fn files(&self, below: &[RepoPath], which: Which) -> Result<Vec<Listed>> {
        let read = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let index = if read.is_sparse() { &self.expanded(&read)? } else { &read };
        let mut all = BTreeMap::new();
        let whole: &[&[u8]] = &[b""];
        let roots: Vec<&[u8]> = below.iter().map(RepoPath::as_bytes).collect();
        for root in if below.is_empty() { whole } else { &roots } {
            for entry in index.prefixed_entries(root.as_bstr()).unwrap_or_default() {
                let name = entry.path(index);
                if is_at_or_below(name, root) {
                    // Of an unmerged path the first version tells that it is one.
                    all.entry(BString::from(name)).or_insert_with(|| Listed::of_entry(entry, name));
                }
            }
        }
        if which != Which::Tracked {
            self.walk(index, &roots, which, &mut all)?;
        }
        Ok(all.into_values().collect())
    }

    /// Adds what is on disk alone.
    fn walk(
        &self,
        index: &gix::index::State,
        roots: &[&[u8]],
        which: Which,
        all: &mut BTreeMap<BString, Listed>,
    ) -> Result<()> {
        let fail = |error: gix::Error| {
            let message = format!("Could not look through the worktree: {}.", causes(&error));
            Finding::new(
                Code::IoError,
                message,
                "`git status` tells what is in the way; mend it and repeat the call.",
            )
        };
        let ignored = (which == Which::All).then_some(EmissionMode::Matching);
        let options = self.inner.dirwalk_options().map_err(fail)?;
        let options = options.emit_untracked(EmissionMode::Matching).emit_ignored(ignored);
        let patterns: Vec<BString> = roots
            .iter()
            .map(|root| BString::from([b":(top,literal)".as_slice(), root].concat()))
            .collect();
        let mut found = gix::dir::walk::delegate::Collect::default();
        self.inner
            .dirwalk(index, &patterns, &AtomicBool::new(false), options, &mut found)
            .map_err(fail)?;
        // A folder that is ignored as a whole is one entry; named as a root it is entered.
        let whole = |entry: &gix::dir::Entry| {
            matches!((entry.status, entry.disk_kind), (Status::Ignored(_), Some(Found::Directory)))
                && !roots.contains(&entry.rela_path.as_slice())
        };
        let entered: Vec<BString> = found
            .unorded_entries
            .iter()
            .filter(|(entry, _)| which == Which::All && whole(entry))
            .map(|(entry, _)| entry.rela_path.clone())
            .collect();
        if !entered.is_empty() {
            let entered: Vec<&[u8]> = entered.iter().map(|path| path.as_slice()).collect();
            self.walk(index, &entered, which, all)?;
        }
        for (entry, _) in found.unorded_entries {
            let origin = match entry.status {
                Status::Untracked => Origin::New,
                Status::Ignored(_) => Origin::Ignored,
                Status::Pruned | Status::Tracked => continue,
            };
            let kind = match entry.disk_kind {
                Some(Found::File) => Kind::File(FileMode::Plain),
                Some(Found::Symlink) => Kind::Symlink,
                Some(Found::Repository) => Kind::Repository,
                // An ignored folder that is not entered, or what Git does not list.
                Some(Found::Directory | Found::Untrackable) | None => continue,
            };
            let listed = Listed { path: RepoPath::from_tree(&entry.rela_path), kind, origin };
            if roots.is_empty() || roots.iter().any(|root| is_at_or_below(&entry.rela_path, root)) {
                all.entry(entry.rela_path).or_insert(listed);
            }
        }
        Ok(())
    }

    /// What compares listed paths with the disk.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn comparer(&self) -> Result<Comparer<'_>> {
        let fail = |error: gix::Error| unreadable("the index", &error);
        let index = self.index_now().map_err(fail)?;
        let tree =
            self.head()?.commit.map_or(Ok(self.empty_tree()), |commit| self.tree_of(commit))?;
        let options = self.inner.stat_options().map_err(fail)?;
        Ok(Comparer {
            repo: self,
            tree,
            options,
            index: gix::worktree::IndexPersistedOrInMemory::InMemory(index),
        })
    }
}

impl Listed {
    fn of_entry(entry: &gix::index::Entry, name: &[u8]) -> Listed {
        let kind = match entry.mode {
            Mode::SYMLINK => Kind::Symlink,
            Mode::COMMIT => Kind::Repository,
            mode => Kind::File(FileMode::of(mode == Mode::FILE_EXECUTABLE)),
        };
        let found = Entry { oid: entry.id, stat: entry.stat, flags: entry.flags };
        Listed { path: RepoPath::from_tree(name), kind, origin: Origin::Index(Box::new(found)) }
    }
}

impl Comparer<'_> {
    /// How `listed` stands on disk, and the stat of what is there. A file is read only if its stat does not tell.
    #[must_use]
    pub fn compare(&self, listed: &Listed) -> (State, Option<Stat>) {
        let (folder, name) = listed.path.split();
        let dir = match self.repo.root().beneath(folder) {
            Ok(Parent::Open(dir)) if listed.path.peril().is_none() => Some(dir),
            _ => None,
        };
        let stat = dir.as_ref().and_then(|dir| dir.stat(name).ok().flatten());
        let entry = match &listed.origin {
            Origin::New => return (State::New, stat),
            Origin::Ignored => return (State::Ignored, stat),
            Origin::Index(entry) => entry,
        };
        let state = match (&dir, stat) {
            _ if entry.flags.stage() != Stage::Unconflicted => State::Conflicted,
            (Some(dir), Some(stat)) => self.against(listed, entry, dir, &stat),
            _ if entry.flags.contains(Flags::SKIP_WORKTREE) => State::NotCheckedOut,
            _ => State::Deleted,
        };
        (state, stat)
    }

    fn against(&self, listed: &Listed, entry: &Entry, dir: &Dir, stat: &Stat) -> State {
        let (_, name) = listed.path.split();
        let same = match listed.kind {
            Kind::Repository if stat.is_folder() => true,
            Kind::Repository => return State::Changed,
            // A folder where a file was: the file is gone.
            _ if stat.is_folder() => return State::Deleted,
            _ if entry.flags.contains(Flags::INTENT_TO_ADD) => false,
            _ if self.tells_the_same(entry, listed) => true,
            Kind::File(mode) => self.repo.holds_blob(&listed.path, self.tree, entry.oid, mode),
            Kind::Symlink => dir.link_target(name).is_ok_and(|target| {
                self.repo.blob_id(&target).is_ok_and(|target| target == entry.oid)
            }),
        };
        if same { State::Unchanged } else { State::Changed }
    }

    /// Whether the stat on disk is the index's, and older than the index.
    fn tells_the_same(&self, entry: &Entry, listed: &Listed) -> bool {
        let full = self.repo.root_path().join(std::ffi::OsStr::from_bytes(listed.path.as_bytes()));
        let found = gix::index::fs::Metadata::from_path_no_follow(&full);
        let stat = found.ok().and_then(|found| {
            let kind_fits = match listed.kind {
                Kind::Symlink => found.is_symlink(),
                Kind::File(mode) => {
                    found.is_file()
                        && (!self.repo.trusts_mode()
                            || found.is_executable() == (mode == FileMode::Executable))
                }
                Kind::Repository => false,
            };
            IndexStat::from_fs(&found).ok().filter(|_| kind_fits)
        });
        stat.is_some_and(|stat| {
            entry.stat.matches(&stat, self.options)
                && !entry.stat.is_racy(self.index.timestamp(), self.options)
        })
    }
}

/// Whether `path` is `root` or stands below it; everything stands below the empty root.
fn is_at_or_below(path: &[u8], root: &[u8]) -> bool {
    root.is_empty()
        || path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
