//! The list of `git status`. `gix` compares files without a conversion. Converted files are
//! compared by edt's own conversion, which runs no untrusted filter.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use gix::index::entry::{Flags, Mode, Stage, Stat};
use gix::status::index_worktree;
use gix::status::plumbing::index_as_worktree::traits::{FastEq, SubmoduleStatus};
use gix::status::plumbing::index_as_worktree::{Change, EntryStatus};
use gix::status::plumbing::index_as_worktree_with_renames::{Entry, VisitEntry};

use super::convert::Attributes;
use super::convert_scan::ConversionScan;
use super::diff::{TreeDifference, Untracked};
use super::file_id::FileMode;
use super::repo::Repo;
use super::{Oid, causes, reftable};
use edt_io::disk::{FoundEntry, Parent};
use edt_io::fifos;
use edt_types::{Code, Finding, RepoPath, Result};

/// How a file differs between two of HEAD, the index and the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusKind {
    Added,
    Modified,
    Deleted,
}

/// A path that `git status` lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathStatus {
    /// How the index differs from HEAD.
    pub staged: Option<StatusKind>,
    /// How the worktree differs from the index.
    pub unstaged: Option<StatusKind>,
    /// Whether Git does not track it.
    pub untracked: bool,
    /// Whether it is an untracked directory, listed as one path.
    pub directory: bool,
    /// Whether a merge left it with conflicts.
    pub conflicted: bool,
}

impl Repo {
    /// The paths that differ between HEAD, the index and the worktree, and untracked paths: the
    /// list of `git status`.
    ///
    /// # Errors
    /// `IO_ERROR` if the worktree cannot be compared.
    pub fn uncommitted(&self, untracked: Untracked) -> Result<Vec<RepoPath>> {
        Ok(self.path_statuses(untracked)?.into_keys().collect())
    }

    /// As [`Repo::uncommitted`], with the state of each path.
    ///
    /// # Errors
    /// `IO_ERROR` if the worktree cannot be compared.
    pub fn path_statuses(&self, untracked: Untracked) -> Result<BTreeMap<RepoPath, PathStatus>> {
        let fail = |error: gix::Error| super::repo::unreadable("the worktree's status", &error);
        let mut paths: BTreeMap<RepoPath, PathStatus> = BTreeMap::new();
        let mut index = self.expanded(&self.index_now().map_err(fail)?)?;
        let listed = {
            let _watch = fifos::watch(self.root_path());
            self.untracked(&index, untracked).map_err(fail)?
        };
        for (path, directory) in listed {
            let status = PathStatus { untracked: true, directory, ..PathStatus::default() };
            paths.insert(path, status);
        }
        for TreeDifference { path, old, new } in self.tree_index_diff(self.head_tree()?, &index)? {
            paths.entry(path).or_default().staged = Some(match (old, new) {
                (None, _) => StatusKind::Added,
                (_, None) => StatusKind::Deleted,
                _ => StatusKind::Modified,
            });
        }
        self.compare_converted(&mut index, &mut paths)?;
        // Not while filters run: then another process than edt may wait at a FIFO.
        let _watch = fifos::watch(self.root_path());
        let bare = self.without_filters()?;
        // Untracked paths are listed above: gix's thread has no room for very deep directories.
        let compared = bare.index_worktree_status(
            &index,
            None::<&gix::bstr::BStr>,
            &mut Found(&mut paths),
            FastEq,
            SubmoduleCommits {
                root: self.root_path().to_owned(),
                options: bare.open_options().clone(),
            },
            &mut gix::progress::Discard,
            &AtomicBool::new(false),
            // Both sides of a rename are separate paths.
            index_worktree::Options::default(),
        );
        compared.map_err(|error| {
            let message = format!("Could not compare the worktree: {}.", causes(&error));
            Finding::new(Code::IoError, message, "Run `git status` for details.")
        })?;
        for status in paths.values_mut().filter(|status| status.conflicted) {
            (status.staged, status.unstaged) = (None, None);
        }
        Ok(paths)
    }

    /// The files, links and submodules that differ between HEAD and the index, in order. Paths with
    /// conflicts are omitted.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read; `OBJECT_MISSING`.
    pub fn staged(&self) -> Result<Vec<TreeDifference>> {
        let fail = |error: gix::Error| super::repo::unreadable("the index", &error);
        let index = self.expanded(&self.index_now().map_err(fail)?)?;
        self.tree_index_diff(self.head_tree()?, &index)
    }

    /// The tree of HEAD's commit; the empty tree on an unborn branch.
    ///
    /// # Errors
    /// `IO_ERROR` if HEAD cannot be read; `OBJECT_MISSING`.
    pub fn head_tree(&self) -> Result<Oid> {
        self.head()?.commit.map_or(Ok(self.empty_tree()), |commit| self.tree_of(commit))
    }

    /// Files whose changes Git ignores on request (`--assume-unchanged`, `--skip-worktree`), but
    /// that exist with other content than the index has.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn changes_hidden_from_git(&self) -> Result<Vec<RepoPath>> {
        let fail = |error: gix::Error| super::repo::unreadable("the index", &error);
        let index = self.index_now().map_err(fail)?;
        let flagged = |entry: &&gix::index::Entry| {
            let is_file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
            is_file && entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
        };
        let mut found = Vec::new();
        for entry in index.entries().iter().filter(flagged) {
            let path = RepoPath::from_tree(entry.path(&index));
            let (directory, name) = path.split();
            let Ok(Parent::Open(dir)) = self.root().beneath(directory) else { continue };
            let Ok(FoundEntry::File(_, bytes)) = dir.read_at_most(name, self.max_file_size())
            else {
                continue;
            };
            if self.blob_id(&bytes)? != entry.id {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// A copy of the repository for `gix`, without any filter.
    fn without_filters(&self) -> Result<gix::Repository> {
        let mut repo = self.inner.clone();
        let mut config = repo.config_snapshot_mut();
        let named: Vec<_> = config
            .sections_and_ids_by_name("filter")
            .into_iter()
            .flatten()
            .map(|(_, id)| id)
            .collect();
        for id in named {
            config.remove_section_by_id(id);
        }
        config.commit().map_err(|error| super::repo::unreadable("the configuration", &error))?;
        Ok(repo)
    }

    /// Compares the files that Git converts, adds those that differ to `paths`, and marks all of
    /// them so that `gix` skips them.
    fn compare_converted(
        &self,
        index: &mut gix::index::File,
        paths: &mut BTreeMap<RepoPath, PathStatus>,
    ) -> Result<()> {
        let fail = |error: gix::Error| super::repo::unreadable("the worktree's status", &error);
        let tree =
            self.head()?.commit.map_or(Ok(self.empty_tree()), |commit| self.tree_of(commit))?;
        let (options, written) = (self.inner.stat_options().map_err(fail)?, index.timestamp());
        let mut scan = ConversionScan::new(self, tree)?;
        let uncompared = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID | Flags::INTENT_TO_ADD;
        for (entry, name) in index.entries_mut_with_paths() {
            let file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
                && !entry.flags.intersects(uncompared);
            if !file || entry.stage() != Stage::Unconflicted {
                continue;
            }
            let path = RepoPath::from_tree(name);
            if !scan.may_convert(&path)? {
                continue;
            }
            let full = self.root_path().join(std::ffi::OsStr::from_bytes(name));
            let found = gix::index::fs::Metadata::from_path_no_follow(&full);
            let stat = found.ok().and_then(|found| Stat::from_fs(&found).ok());
            let same = stat.is_some_and(|stat| {
                entry.stat.matches(&stat, options) && !entry.stat.is_racy(written, options)
            });
            let executable = entry.mode == Mode::FILE_EXECUTABLE;
            if !same && !self.holds_blob(&path, tree, entry.id, FileMode::of(executable)) {
                let kind = if stat.is_some() { StatusKind::Modified } else { StatusKind::Deleted };
                paths.entry(path).or_default().unstaged = Some(kind);
            }
            entry.flags.insert(Flags::ASSUME_VALID);
        }
        Ok(())
    }

    /// Whether Git would record this blob for the content on disk. If that is unknown, the result
    /// is `false`.
    pub(super) fn holds_blob(&self, path: &RepoPath, tree: Oid, oid: Oid, mode: FileMode) -> bool {
        let (directory, name) = path.split();
        let Ok(Parent::Open(dir)) = self.root().beneath(directory) else { return false };
        let Ok(FoundEntry::File(stat, bytes)) = dir.read(name) else { return false };
        let conversion = self.conversion(path, Attributes::Worktree(tree));
        let blob = conversion.and_then(|conversion| self.blob_id(&conversion.blob_of(&bytes)?));
        blob.is_ok_and(|blob| blob == oid)
            && (!self.honors_file_mode() || FileMode::of(stat.executable()) == mode)
    }
}

/// Adds what `gix` finds to the states.
struct Found<'p>(&'p mut BTreeMap<RepoPath, PathStatus>);

impl<'i> VisitEntry<'i> for Found<'_> {
    type ContentChange = ();
    type SubmoduleStatus = ();

    fn visit_entry(&mut self, entry: Entry<'i, (), ()>) {
        let Entry::Modification { rela_path, status, .. } = entry else { return };
        let state = match status {
            EntryStatus::NeedsUpdate(_) => return,
            EntryStatus::Conflict { .. } => None,
            EntryStatus::Change(Change::Removed) => Some(StatusKind::Deleted),
            EntryStatus::IntentToAdd => Some(StatusKind::Added),
            EntryStatus::Change(_) => Some(StatusKind::Modified),
        };
        let path = self.0.entry(RepoPath::from_tree(rela_path)).or_default();
        path.unstaged = state;
        path.conflicted |= state.is_none();
    }
}

/// Compares only the commits of submodules: they have their own configuration and filters.
#[derive(Clone)]
struct SubmoduleCommits {
    root: PathBuf,
    options: gix::open::Options,
}

impl SubmoduleStatus for SubmoduleCommits {
    type Output = ();

    fn status(
        &mut self,
        entry: &gix::index::Entry,
        path: &gix::bstr::BStr,
    ) -> std::result::Result<Option<()>, gix::Error> {
        let place = self.root.join(std::ffi::OsStr::from_bytes(path));
        // Git takes a submodule that is not checked out, or has no commit, for unchanged.
        if place.join(".git").symlink_metadata().is_err() {
            return Ok(None);
        }
        let Ok(repo) = gix::open_opts(&place, self.options.clone()) else { return Ok(None) };
        let head = match reftable::head_of(&repo) {
            Some(head) => head,
            None => repo.head_id().ok().map(gix::Id::detach),
        };
        Ok(head.filter(|head| *head != entry.id).map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn uncommitted(scratch: &ScratchRepo, untracked: Untracked) -> Vec<String> {
        let paths = Repo::open(scratch.path()).unwrap().uncommitted(untracked).unwrap();
        paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clean_worktree_has_no_uncommitted_path() {
        let scratch = ScratchRepo::with(&[("a.txt", "1\n"), ("dir/b.txt", "2\n")]);
        assert_eq!(uncommitted(&scratch, Untracked::Files), [""; 0]);
    }

    #[test]
    fn changed_deleted_and_new_files_are_uncommitted() {
        let scratch = ScratchRepo::with(&[("a.txt", "1\n"), ("b.txt", "2\n")]);
        std::fs::write(scratch.path().join("a.txt"), "one\n").unwrap();
        std::fs::remove_file(scratch.path().join("b.txt")).unwrap();
        std::fs::write(scratch.path().join("c.txt"), "3\n").unwrap();
        assert_eq!(uncommitted(&scratch, Untracked::Files), ["a.txt", "b.txt", "c.txt"]);
    }

    #[test]
    fn each_path_has_the_state_of_the_index_and_of_the_worktree() {
        let scratch = ScratchRepo::with(&[("a.txt", "1\n"), ("b.txt", "2\n")]);
        std::fs::write(scratch.path().join("a.txt"), "one\n").unwrap();
        std::fs::remove_file(scratch.path().join("b.txt")).unwrap();
        std::fs::create_dir(scratch.path().join("new")).unwrap();
        std::fs::write(scratch.path().join("new/c.txt"), "3\n").unwrap();
        let repo = Repo::open(scratch.path()).unwrap();
        let found = repo.path_statuses(Untracked::Directories).unwrap();
        let unstaged = |kind| PathStatus { unstaged: Some(kind), ..PathStatus::default() };
        let expected = [
            ("a.txt", unstaged(StatusKind::Modified)),
            ("b.txt", unstaged(StatusKind::Deleted)),
            ("new", PathStatus { untracked: true, directory: true, ..PathStatus::default() }),
        ];
        let found: Vec<(String, PathStatus)> =
            found.into_iter().map(|(path, status)| (path.text(), status)).collect();
        assert_eq!(found, expected.map(|(path, status)| (path.to_owned(), status)));
        assert_eq!(repo.staged().unwrap(), []);
    }

    #[test]
    fn an_untracked_directory_is_one_path_or_its_files() {
        let scratch = ScratchRepo::with(&[("a.txt", "1\n")]);
        std::fs::create_dir(scratch.path().join("new")).unwrap();
        for name in ["new/a", "new/b"] {
            std::fs::write(scratch.path().join(name), "x").unwrap();
        }
        assert_eq!(uncommitted(&scratch, Untracked::Files), ["new/a", "new/b"]);
        assert_eq!(uncommitted(&scratch, Untracked::Directories), ["new"]);
    }
}
