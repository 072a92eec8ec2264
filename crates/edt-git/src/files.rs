//! The files of a worktree as Git lists them: tracked ones from the index, new ones from a
//! directory walk with Git's ignore rules. Same list and order as
//! `git ls-files --cached --others --exclude-standard`.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use gix::bstr::{BString, ByteSlice as _};
use gix::dir::entry::{Kind as Found, Status};
use gix::dir::walk::EmissionMode;
use gix::dir::walk::delegate::Collect;
use gix::index::entry::{Flags, Mode, Stage, Stat as IndexStat};
use gix::worktree::stack::state::ignore::Source as RuleSource;

use super::file_id::FileMode;
use super::repo::{Repo, unreadable};
use super::walk::on_deep_stack;
use super::{Oid, causes};
use edt_io::disk::{Dir, Parent, Stat};
use edt_io::fifos;
use edt_types::{Code, Finding, RepoPath, Result};

/// Which files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListScope {
    /// Those in the index.
    Tracked,
    /// Those, and new ones that are not ignored.
    NotIgnored,
    /// Those, and ignored ones.
    All,
}

#[derive(Debug, Clone)]
pub struct ListedFile {
    /// A nested repository is one path.
    pub path: RepoPath,
    pub kind: ListedKind,
    pub origin: ListedOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// A file with its mode in the index. For a new file only the stat from [`Comparer::compare`]
    /// has the mode.
    File(FileMode),
    /// A symbolic link.
    Symlink,
    /// A submodule, or another repository in the worktree.
    Repository,
}

#[derive(Debug, Clone)]
pub enum ListedOrigin {
    /// In the index.
    Index(IndexEntry),
    /// Only on disk.
    New,
    /// Only on disk, and ignored.
    Ignored,
}

/// An entry of the index.
#[derive(Debug, Clone)]
pub struct IndexEntry {
    /// The blob, or the commit of a submodule.
    pub oid: Oid,
    stat: IndexStat,
    flags: Flags,
}

/// How a listed file on disk compares with the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    Unchanged,
    /// Different from the index, or not comparable.
    Changed,
    /// In the index, but not on disk.
    Deleted,
    /// In the index, but left out by a sparse checkout.
    NotCheckedOut,
    /// In the index with several stages.
    Conflicted,
    /// Not in the index.
    New,
    /// Not in the index, and ignored.
    Ignored,
}

impl FileState {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FileState::Unchanged => "tracked",
            FileState::Changed => "changed",
            FileState::Deleted => "deleted",
            FileState::NotCheckedOut => "not_checked_out",
            FileState::Conflicted => "conflicted",
            FileState::New => "new",
            FileState::Ignored => "ignored",
        }
    }
}

impl ListedKind {
    /// The mode as Git writes it.
    #[must_use]
    pub const fn mode(self) -> &'static str {
        match self {
            ListedKind::File(FileMode::Plain) => "100644",
            ListedKind::File(FileMode::Executable) => "100755",
            ListedKind::Symlink => "120000",
            ListedKind::Repository => "160000",
        }
    }
}

/// Compares listed files with the disk; caches what all comparisons need.
pub struct Comparer<'r> {
    repo: &'r Repo,
    tree: Oid,
    options: gix::index::entry::stat::Options,
    /// When the index was written; `None` without an index.
    index_written: Option<SystemTime>,
}

impl Repo {
    /// Whether Git ignores `path`: a rule matches, and the path is not in the index.
    ///
    /// # Errors
    /// `IO_ERROR` if the index or the rules cannot be read.
    pub fn ignores(&self, path: &RepoPath) -> Result<bool> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        if index.entry_by_path(path.as_bytes().as_bstr()).is_some() {
            return Ok(false);
        }
        self.is_excluded(path)
    }

    /// Whether a rule of Git matches `path`, which is not in the index.
    ///
    /// # Errors
    /// `IO_ERROR` if the rules cannot be read.
    pub fn is_excluded(&self, path: &RepoPath) -> Result<bool> {
        // Reading a FIFO would block.
        let is_special = |directory: &[u8]| match self.root().beneath(directory) {
            Ok(Parent::Open(dir)) => {
                matches!(dir.stat(b".gitignore"), Ok(Some(found)) if found.is_special())
            }
            _ => false,
        };
        let special = path.parents().chain([&b""[..]]).any(is_special);
        let _watch = special.then(|| fifos::watch(self.root_path()));
        // Rules are read from the worktree; an index serves sparse checkouts only.
        let index = gix::index::State::new(self.inner.object_hash());
        self.matches_rules(&index, RuleSource::WorktreeThenIdMappingIfNotSkipped, path)
    }

    /// Whether a rule of Git matches `path` if `files` are the only `.gitignore` files. Rules that
    /// are not in the worktree apply, too.
    ///
    /// # Errors
    /// `IO_ERROR` if the rules cannot be read.
    pub fn is_excluded_by(&self, files: &BTreeMap<RepoPath, Oid>, path: &RepoPath) -> Result<bool> {
        let mut index = gix::index::State::new(self.inner.object_hash());
        for (name, oid) in files {
            let (stat, flags) = (IndexStat::default(), Flags::empty());
            let name = name.as_bytes().as_bstr();
            index.dangerously_push_entry(stat, *oid, flags, Mode::FILE, name);
        }
        index.sort_entries();
        self.matches_rules(&index, RuleSource::IdMapping, path)
    }

    fn matches_rules(
        &self,
        index: &gix::index::State,
        source: RuleSource,
        path: &RepoPath,
    ) -> Result<bool> {
        let mut rules = self
            .inner
            .excludes(index, None, source)
            .map_err(|error| unreadable("the ignore rules", &error))?;
        let found = rules.at_entry(path.as_bytes().as_bstr(), Some(Mode::FILE));
        Ok(found.map_err(|error| unreadable("the ignore rules", &error))?.is_excluded())
    }

    /// The files at or below the paths `below` (all files if it is empty), ordered by their bytes.
    ///
    /// # Errors
    /// `IO_ERROR` if the index or a directory cannot be read.
    pub fn files(&self, below: &[RepoPath], which: ListScope) -> Result<Vec<ListedFile>> {
        let read = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let index = if read.is_sparse() { &self.expanded(&read)? } else { &read };
        let mut all: Vec<ListedFile> = Vec::new();
        let everything: &[&[u8]] = &[b""];
        let roots: Vec<&[u8]> = below.iter().map(RepoPath::as_bytes).collect();
        for root in if below.is_empty() { everything } else { &roots } {
            for entry in index.prefixed_entries(root.as_bstr()).unwrap_or_default() {
                let name = entry.path(index);
                if is_at_or_below(name, root) {
                    all.push(ListedFile::of_entry(entry, name));
                }
            }
        }
        if which != ListScope::Tracked {
            self.walk(index, &roots, which, &mut all)?;
        }
        // The sort is stable. For an unmerged path the first stage is enough: it shows the conflict.
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all.dedup_by(|later, first| later.path == first.path);
        Ok(all)
    }

    /// The ignored files and directories. A completely ignored directory is one path.
    ///
    /// # Errors
    /// `IO_ERROR` if the index or a directory cannot be read.
    pub fn ignored(&self) -> Result<Vec<RepoPath>> {
        let mut found = Collect::default();
        self.walk_ignored(&mut found)?;
        Ok(ignored_of(found))
    }

    /// As [`Repo::ignored`], without what is in directories that cannot be read.
    ///
    /// # Errors
    /// `IO_ERROR` if the index or the root directory cannot be read.
    pub fn ignored_where_readable(&self) -> Result<Vec<RepoPath>> {
        self.ignored().or_else(|_| {
            let mut readable =
                Readable { root: self.root_path().to_owned(), found: Collect::default() };
            self.walk_ignored(&mut readable)?;
            Ok(ignored_of(readable.found))
        })
    }

    fn walk_ignored(&self, delegate: &mut (impl gix::dir::walk::Delegate + Send)) -> Result<()> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let fail = |error: gix::Error| unreadable("the worktree", &error);
        let options = self.inner.dirwalk_options().map_err(fail)?;
        let options = options.emit_ignored(Some(EmissionMode::CollapseDirectory));
        let (mut named, everything) = (self.named(delegate), None::<&gix::bstr::BStr>);
        on_deep_stack(&self.inner, |repo| {
            repo.dirwalk(&index, everything, &AtomicBool::new(false), options, &mut named).map(drop)
        })
        .map_err(|error| fail(error).into())
    }

    /// Adds the files that exist only on disk.
    fn walk(
        &self,
        index: &gix::index::State,
        roots: &[&[u8]],
        which: ListScope,
        all: &mut Vec<ListedFile>,
    ) -> Result<()> {
        let fail = |error: gix::Error| {
            let message = format!("Could not walk the worktree: {}.", causes(&error));
            Finding::new(
                Code::IoError,
                message,
                "Fix what `git status` reports, then repeat the call.",
            )
        };
        let ignored = (which == ListScope::All).then_some(EmissionMode::Matching);
        let options = self.inner.dirwalk_options().map_err(fail)?;
        let options = options.emit_untracked(EmissionMode::Matching).emit_ignored(ignored);
        let patterns: Vec<BString> = roots
            .iter()
            .map(|root| BString::from([b":(top,literal)".as_slice(), root].concat()))
            .collect();
        let mut found = Collect::default();
        let mut named = self.named(&mut found);
        on_deep_stack(&self.inner, |repo| {
            repo.dirwalk(index, &patterns, &AtomicBool::new(false), options, &mut named).map(drop)
        })
        .map_err(fail)?;
        // A completely ignored directory is one entry; a directory given as a root is entered.
        let is_collapsed = |entry: &gix::dir::Entry| {
            matches!((entry.status, entry.disk_kind), (Status::Ignored(_), Some(Found::Directory)))
                && !roots.contains(&entry.rela_path.as_slice())
        };
        let entered: Vec<BString> = found
            .unorded_entries
            .iter()
            .filter(|(entry, _)| which == ListScope::All && is_collapsed(entry))
            .map(|(entry, _)| entry.rela_path.clone())
            .collect();
        if !entered.is_empty() {
            let entered: Vec<&[u8]> = entered.iter().map(|path| path.as_slice()).collect();
            self.walk(index, &entered, which, all)?;
        }
        for (entry, _) in found.unorded_entries {
            let origin = match entry.status {
                Status::Untracked => ListedOrigin::New,
                Status::Ignored(_) => ListedOrigin::Ignored,
                Status::Pruned | Status::Tracked => continue,
            };
            let kind = match entry.disk_kind {
                Some(Found::File) => ListedKind::File(FileMode::Plain),
                Some(Found::Symlink) => ListedKind::Symlink,
                Some(Found::Repository) => ListedKind::Repository,
                // An ignored directory that is not entered, or a file that Git does not list.
                Some(Found::Directory | Found::Untrackable) | None => continue,
            };
            let listed = ListedFile { path: RepoPath::from_tree(&entry.rela_path), kind, origin };
            if roots.is_empty() || roots.iter().any(|root| is_at_or_below(&entry.rela_path, root)) {
                all.push(listed);
            }
        }
        Ok(())
    }

    /// A [`Comparer`] for the present index and HEAD.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn comparer(&self) -> Result<Comparer<'_>> {
        let fail = |error: gix::Error| unreadable("the index", &error);
        let index_written = gix::index::fs::Metadata::from_path_no_follow(&self.index_path());
        let index_written = index_written.ok().and_then(|found| found.modified());
        let tree =
            self.head()?.commit.map_or(Ok(self.empty_tree()), |commit| self.tree_of(commit))?;
        let options = self.inner.stat_options().map_err(fail)?;
        Ok(Comparer { repo: self, tree, options, index_written })
    }
}

/// Collects what a walk finds, and enters only directories that can be read.
struct Readable {
    root: std::path::PathBuf,
    found: Collect,
}

impl gix::dir::walk::Delegate for Readable {
    fn emit(
        &mut self,
        entry: gix::dir::EntryRef<'_>,
        collapsed: Option<Status>,
    ) -> gix::dir::walk::Action {
        self.found.emit(entry, collapsed)
    }

    fn can_recurse(
        &mut self,
        entry: gix::dir::EntryRef<'_>,
        for_deletion: Option<gix::dir::walk::ForDeletionMode>,
        root_is_repository: bool,
    ) -> bool {
        let place = std::ffi::OsStr::from_bytes(&entry.rela_path);
        let place = self.root.join(place);
        self.found.can_recurse(entry, for_deletion, root_is_repository)
            && std::fs::read_dir(place).is_ok()
    }
}

fn ignored_of(found: Collect) -> Vec<RepoPath> {
    let all = found.unorded_entries.into_iter();
    let ignored = all.filter(|(entry, _)| matches!(entry.status, Status::Ignored(_)));
    ignored.map(|(entry, _)| RepoPath::from_tree(&entry.rela_path)).collect()
}

impl ListedFile {
    fn of_entry(entry: &gix::index::Entry, name: &[u8]) -> ListedFile {
        let kind = match entry.mode {
            Mode::SYMLINK => ListedKind::Symlink,
            Mode::COMMIT => ListedKind::Repository,
            mode => ListedKind::File(FileMode::of(mode == Mode::FILE_EXECUTABLE)),
        };
        let found = IndexEntry { oid: entry.id, stat: entry.stat, flags: entry.flags };
        ListedFile { path: RepoPath::from_tree(name), kind, origin: ListedOrigin::Index(found) }
    }
}

impl Comparer<'_> {
    /// The state of `listed` on disk, and its stat. The content is read only if the stat is not
    /// sufficient.
    #[must_use]
    pub fn compare(&self, listed: &ListedFile) -> (FileState, Option<Stat>) {
        let (directory, name) = listed.path.split();
        let dir = match self.repo.root().beneath(directory) {
            Ok(Parent::Open(dir)) if listed.path.checkout_problem().is_none() => Some(dir),
            _ => None,
        };
        let stat = dir.as_ref().and_then(|dir| dir.stat(name).ok().flatten());
        let entry = match &listed.origin {
            ListedOrigin::New => return (FileState::New, stat),
            ListedOrigin::Ignored => return (FileState::Ignored, stat),
            ListedOrigin::Index(entry) => entry,
        };
        let state = match (&dir, stat) {
            _ if entry.flags.stage() != Stage::Unconflicted => FileState::Conflicted,
            (Some(dir), Some(stat)) => self.compare_entry(listed, entry, dir, &stat),
            _ if entry.flags.contains(Flags::SKIP_WORKTREE) => FileState::NotCheckedOut,
            _ => FileState::Deleted,
        };
        (state, stat)
    }

    fn compare_entry(
        &self,
        listed: &ListedFile,
        entry: &IndexEntry,
        dir: &Dir,
        stat: &Stat,
    ) -> FileState {
        let (_, name) = listed.path.split();
        let same = match listed.kind {
            ListedKind::Repository if stat.is_directory() => true,
            ListedKind::Repository => return FileState::Changed,
            // A directory has replaced the file: the file is deleted.
            _ if stat.is_directory() => return FileState::Deleted,
            _ if entry.flags.contains(Flags::INTENT_TO_ADD) => false,
            _ if self.stat_is_unchanged(entry, listed) => true,
            ListedKind::File(mode) => {
                self.repo.holds_blob(&listed.path, self.tree, entry.oid, mode)
            }
            ListedKind::Symlink => dir.link_target(name).is_ok_and(|target| {
                self.repo.blob_id(&target).is_ok_and(|target| target == entry.oid)
            }),
        };
        if same { FileState::Unchanged } else { FileState::Changed }
    }

    /// Whether the stat on disk equals that in the index and is older than the index.
    fn stat_is_unchanged(&self, entry: &IndexEntry, listed: &ListedFile) -> bool {
        let full = self.repo.root_path().join(std::ffi::OsStr::from_bytes(listed.path.as_bytes()));
        let found = gix::index::fs::Metadata::from_path_no_follow(&full);
        let stat = found.ok().and_then(|found| {
            let kind_fits = match listed.kind {
                ListedKind::Symlink => found.is_symlink(),
                ListedKind::File(mode) => {
                    found.is_file()
                        && (!self.repo.honors_file_mode()
                            || found.is_executable() == (mode == FileMode::Executable))
                }
                ListedKind::Repository => false,
            };
            IndexStat::from_fs(&found).ok().filter(|_| kind_fits)
        });
        stat.is_some_and(|stat| {
            entry.stat.matches(&stat, self.options) && self.is_older_than_the_index(entry)
        })
    }

    /// Whether the file was last written before the index was. A file that was written in the same
    /// instant may have been written again afterwards.
    fn is_older_than_the_index(&self, entry: &IndexEntry) -> bool {
        let Some(index) = self.index_written.and_then(|at| at.duration_since(UNIX_EPOCH).ok())
        else {
            return false;
        };
        let written = entry.stat.mtime;
        let by_nanoseconds = self.options.use_nsec && self.options.check_stat;
        let same_second = index.as_secs() == u64::from(written.secs);
        index.as_secs() > u64::from(written.secs)
            || same_second && by_nanoseconds && index.subsec_nanos() > written.nsecs
    }
}

/// Whether `path` is `root` or below it. Every path is below the empty root.
fn is_at_or_below(path: &[u8], root: &[u8]) -> bool {
    root.is_empty()
        || path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn scratch() -> ScratchRepo {
        let scratch = ScratchRepo::with(&[("a.txt", "1\n"), ("dir/b.txt", "2\n")]);
        std::fs::write(scratch.path().join(".git/info/exclude"), "*.log\nbuild/\n").unwrap();
        std::fs::create_dir(scratch.path().join("build")).unwrap();
        for (name, text) in [("new.txt", "n\n"), ("x.log", "x\n"), ("build/out", "o\n")] {
            std::fs::write(scratch.path().join(name), text).unwrap();
        }
        scratch
    }

    fn names(scratch: &ScratchRepo, below: &[&str], which: ListScope) -> Vec<String> {
        let below: Vec<RepoPath> =
            below.iter().map(|path| RepoPath::from_tree(path.as_bytes())).collect();
        let files = Repo::open(scratch.path()).unwrap().files(&below, which).unwrap();
        files.iter().map(|file| file.path.text()).collect()
    }

    #[test]
    fn tracked_files_are_those_of_the_index() {
        assert_eq!(names(&scratch(), &[], ListScope::Tracked), ["a.txt", "dir/b.txt"]);
    }

    #[test]
    fn new_files_are_listed_unless_git_ignores_them() {
        let listed = names(&scratch(), &[], ListScope::NotIgnored);
        assert_eq!(listed, ["a.txt", "dir/b.txt", "new.txt"]);
    }

    #[test]
    fn ignored_files_are_listed_on_request_also_in_ignored_directories() {
        let listed = names(&scratch(), &[], ListScope::All);
        assert_eq!(listed, ["a.txt", "build/out", "dir/b.txt", "new.txt", "x.log"]);
    }

    #[test]
    fn only_files_at_or_below_the_named_paths_are_listed() {
        let listed = names(&scratch(), &["dir", "new.txt"], ListScope::NotIgnored);
        assert_eq!(listed, ["dir/b.txt", "new.txt"]);
    }

    #[test]
    fn a_path_is_below_a_directory_but_not_below_its_prefix() {
        assert!(is_at_or_below(b"dir/a", b"dir") && is_at_or_below(b"dir", b"dir"));
        assert!(is_at_or_below(b"x", b"") && !is_at_or_below(b"directory", b"dir"));
    }

    fn state(scratch: &ScratchRepo, name: &str) -> FileState {
        let repo = Repo::open(scratch.path()).unwrap();
        let files = repo.files(&[], ListScope::All).unwrap();
        let listed = files.iter().find(|file| file.path.as_bytes() == name.as_bytes()).unwrap();
        repo.comparer().unwrap().compare(listed).0
    }

    #[test]
    fn each_file_has_its_state() {
        let scratch = scratch();
        std::fs::write(scratch.path().join("a.txt"), "one\n").unwrap();
        assert_eq!(state(&scratch, "a.txt"), FileState::Changed);
        assert_eq!(state(&scratch, "dir/b.txt"), FileState::Unchanged);
        assert_eq!(state(&scratch, "new.txt"), FileState::New);
        assert_eq!(state(&scratch, "x.log"), FileState::Ignored);
    }

    #[test]
    fn a_file_that_is_gone_or_became_a_directory_is_deleted() {
        let scratch = scratch();
        std::fs::remove_file(scratch.path().join("a.txt")).unwrap();
        assert_eq!(state(&scratch, "a.txt"), FileState::Deleted);
        std::fs::create_dir(scratch.path().join("a.txt")).unwrap();
        assert_eq!(state(&scratch, "a.txt"), FileState::Deleted);
    }

    #[test]
    fn a_file_that_was_only_touched_is_unchanged() {
        let scratch = scratch();
        std::fs::write(scratch.path().join("a.txt"), "1\n").unwrap();
        assert_eq!(state(&scratch, "a.txt"), FileState::Unchanged);
    }

    #[test]
    fn rules_of_other_files_than_those_on_disk_are_read() {
        let scratch = scratch();
        let repo = Repo::open(scratch.path()).unwrap();
        let mut writer = crate::ObjectWriter::new(&repo);
        let top = writer.write_blob(b"*.txt\n").unwrap();
        let below = writer.write_blob(b"!b.txt\n").unwrap();
        crate::objects::write(&repo, &writer.loose_objects()).unwrap();
        let path = |name: &str| RepoPath::from_tree(name.as_bytes());
        let files = [(path(".gitignore"), top), (path("dir/.gitignore"), below)].into();
        let excluded = |name: &str| repo.is_excluded_by(&files, &path(name)).unwrap();
        assert_eq!((excluded("c.txt"), excluded("dir/c.txt")), (true, true));
        assert_eq!((excluded("dir/b.txt"), excluded("c.rs")), (false, false));
        // A rule outside the worktree.
        assert!(excluded("x.log"));
        assert!(!repo.is_excluded_by(&BTreeMap::new(), &path("c.txt")).unwrap());
    }

    #[test]
    fn a_search_for_ignored_files_can_skip_directories_that_cannot_be_read() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = scratch();
        let place = scratch.path().join("closed");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("y.log"), "y\n").unwrap();
        let chmod = |mode| std::fs::set_permissions(&place, PermissionsExt::from_mode(mode));
        chmod(0o000).unwrap();
        let is_closed = std::fs::read_dir(&place).is_err();
        let repo = Repo::open(scratch.path()).unwrap();
        let (all, readable) = (repo.ignored(), repo.ignored_where_readable());
        chmod(0o700).unwrap();
        let mut names: Vec<String> = readable.unwrap().iter().map(ToString::to_string).collect();
        names.retain(|name| !name.starts_with("closed"));
        names.sort();
        assert_eq!(names, ["build", "x.log"]);
        // The superuser reads every directory.
        assert_eq!(all.is_err(), is_closed);
    }

    #[test]
    fn a_tracked_file_is_never_ignored() {
        let scratch = scratch();
        std::fs::write(scratch.path().join(".git/info/exclude"), "*\n").unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        let ignores = |name: &str| repo.ignores(&RepoPath::from_tree(name.as_bytes())).unwrap();
        assert_eq!((ignores("a.txt"), ignores("other.txt")), (false, true));
    }
}
