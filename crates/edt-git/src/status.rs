//! The list of `git status`. `gix` compares files without a conversion. Converted files are
//! compared by edt's own conversion, which runs no untrusted filter.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

use gix::index::entry::{Flags, Mode, Stage, Stat};
use gix::status::tree_index::TrackRenames;
use gix::status::{Submodule, UntrackedFiles};
use gix::worktree::IndexPersistedOrInMemory;

use super::convert::Attributes;
use super::diff::Untracked;
use super::repo::{FileMode, Repo};
use super::{Oid, causes};
use edt_io::disk::{FoundEntry, Parent};
use edt_io::fifos;
use edt_types::{Code, Finding, RepoPath, Result};

impl Repo {
    /// The paths that differ between HEAD, the index and the worktree, and untracked paths: the
    /// list of `git status`.
    ///
    /// # Errors
    /// `IO_ERROR` if the worktree cannot be compared.
    pub fn uncommitted(&self, untracked: Untracked) -> Result<Vec<RepoPath>> {
        let fail = |error: gix::Error| super::repo::unreadable("the worktree's status", &error);
        let mut paths = BTreeSet::new();
        let mut index = self.expanded(&self.index_now().map_err(fail)?)?;
        self.compare_converted(&mut index, &mut paths)?;
        // Not while filters run: then another process than edt may wait at a FIFO.
        let _watch = fifos::watch(self.root_path());
        let bare = self.without_filters()?;
        let platform = bare.status(gix::progress::Discard).map_err(fail)?;
        // For submodules only the commit is compared: they have their own configuration and
        // filters.
        let submodules =
            Submodule::Given { ignore: gix::submodule::config::Ignore::Dirty, check_dirty: true };
        let platform =
            platform.index_worktree_submodules(submodules).untracked_files(match untracked {
                Untracked::Directories => UntrackedFiles::Collapsed,
                Untracked::Files => UntrackedFiles::Files,
            });
        // Both sides of a rename are separate paths.
        let platform =
            platform.index_worktree_rewrites(None).tree_index_track_renames(TrackRenames::Disabled);
        let platform = platform.index(IndexPersistedOrInMemory::InMemory(index));
        for item in platform.into_iter(None).map_err(fail)? {
            let item = item.map_err(|error| {
                let why = causes(&error);
                let message = format!("Could not compare the worktree: {why}.");
                Finding::new(Code::IoError, message, "Run `git status` for details.")
            })?;
            paths.insert(RepoPath::from_tree(item.location()));
        }
        Ok(paths.into_iter().collect())
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
        paths: &mut BTreeSet<RepoPath>,
    ) -> Result<()> {
        let fail = |error: gix::Error| super::repo::unreadable("the worktree's status", &error);
        let tree =
            self.head()?.commit.map_or(Ok(self.empty_tree()), |commit| self.tree_of(commit))?;
        let (options, written) = (self.inner.stat_options().map_err(fail)?, index.timestamp());
        let mut directory = (Vec::new(), None);
        let uncompared = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID | Flags::INTENT_TO_ADD;
        for (entry, name) in index.entries_mut_with_paths() {
            let file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
                && !entry.flags.intersects(uncompared);
            if !file || entry.stage() != Stage::Unconflicted {
                continue;
            }
            let path = RepoPath::from_tree(name);
            // Files of one directory have the same attribute files.
            if directory.1.is_none() || directory.0 != path.split().0 {
                let recorded = |attributes: &RepoPath| self.tree_contains(tree, attributes);
                directory = (path.split().0.to_vec(), Some(self.may_convert(&path, recorded)?));
            }
            if directory.1 != Some(true) {
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
                paths.insert(path);
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
