//! What `git status` lists. `gix` compares what nothing converts; files that Git converts are compared by edt's own conversion,
//! which runs no filter that nobody trusts.

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
use crate::base::{Code, Finding, RepoPath, Result};
use crate::io::disk::{Found, Parent};
use crate::io::fifos;

impl Repo {
    /// The paths that differ between HEAD, the index and the worktree, tracked or not: what `git status` lists.
    ///
    /// # Errors
    /// `IO_ERROR` if the worktree cannot be compared.
    pub fn uncommitted(&self, untracked: Untracked) -> Result<Vec<RepoPath>> {
        let fail = |error: gix::Error| super::repo::unreadable("the worktree's status", &error);
        let mut paths = BTreeSet::new();
        let mut index = self.expanded(&self.index_now().map_err(fail)?)?;
        self.judge_converted(&mut index, &mut paths)?;
        // Not while filters run: who then waits at a FIFO need not be edt.
        let _watch = fifos::watch(self.root_path());
        let bare = self.without_filters()?;
        let platform = bare.status(gix::progress::Discard).map_err(fail)?;
        // Into submodules only as far as their commit: theirs is another configuration, with filters of its own.
        let submodules =
            Submodule::Given { ignore: gix::submodule::config::Ignore::Dirty, check_dirty: true };
        let platform =
            platform.index_worktree_submodules(submodules).untracked_files(match untracked {
                Untracked::Folders => UntrackedFiles::Collapsed,
                Untracked::Files => UntrackedFiles::Files,
            });
        // Both sides of a rename are paths of their own.
        let platform =
            platform.index_worktree_rewrites(None).tree_index_track_renames(TrackRenames::Disabled);
        let platform = platform.index(IndexPersistedOrInMemory::InMemory(index));
        for item in platform.into_iter(None).map_err(fail)? {
            let item = item.map_err(|error| {
                let why = causes(&error);
                let message = format!("Could not compare the worktree: {why}.");
                Finding::new(Code::IoError, message, "`git status` tells more.")
            })?;
            paths.insert(RepoPath::from_tree(item.location()));
        }
        Ok(paths.into_iter().collect())
    }

    /// The files that Git was told not to look at (`--assume-unchanged`, `--skip-worktree`), that are there all the same, and hold other
    /// bytes than the index says.
    ///
    /// # Errors
    /// `IO_ERROR` if the index cannot be read.
    pub fn not_looked_at(&self) -> Result<Vec<RepoPath>> {
        let fail = |error: gix::Error| super::repo::unreadable("the index", &error);
        let index = self.index_now().map_err(fail)?;
        let flagged = |entry: &&gix::index::Entry| {
            let is_file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE);
            is_file && entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID)
        };
        let mut found = Vec::new();
        for entry in index.entries().iter().filter(flagged) {
            let path = RepoPath::from_tree(entry.path(&index));
            let (folder, name) = path.split();
            let Ok(Parent::Open(dir)) = self.root().beneath(folder) else { continue };
            let Ok(Found::File(_, bytes)) = dir.read_at_most(name, self.largest_file()) else {
                continue;
            };
            if self.blob_id(&bytes)? != entry.id {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// The repository as `gix` may see it: without any filter.
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

    /// Takes the files that Git converts out of what is left to compare; the `paths` of those that differ are added.
    fn judge_converted(
        &self,
        index: &mut gix::index::File,
        paths: &mut BTreeSet<RepoPath>,
    ) -> Result<()> {
        let fail = |error: gix::Error| super::repo::unreadable("the worktree's status", &error);
        let tree =
            self.head()?.commit.map_or(Ok(self.empty_tree()), |commit| self.tree_of(commit))?;
        let (options, written) = (self.inner.stat_options().map_err(fail)?, index.timestamp());
        let mut folder = (Vec::new(), None);
        let kept = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID | Flags::INTENT_TO_ADD;
        for (entry, name) in index.entries_mut_with_paths() {
            let file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
                && !entry.flags.intersects(kept);
            if !file || entry.stage() != Stage::Unconflicted {
                continue;
            }
            let path = RepoPath::from_tree(name);
            // Files of one folder have the same attribute files.
            if folder.1.is_none() || folder.0 != path.split().0 {
                let recorded = |attributes: &RepoPath| self.holds(tree, attributes);
                folder = (path.split().0.to_vec(), Some(self.may_convert(&path, recorded)?));
            }
            if folder.1 != Some(true) {
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

    /// Whether Git would record that blob of what stands on disk. What cannot be told differs.
    pub(super) fn holds_blob(&self, path: &RepoPath, tree: Oid, oid: Oid, mode: FileMode) -> bool {
        let (folder, name) = path.split();
        let Ok(Parent::Open(dir)) = self.root().beneath(folder) else { return false };
        let Ok(Found::File(stat, bytes)) = dir.read(name) else { return false };
        let conversion = self.conversion(path, Attributes::Worktree(tree));
        let blob = conversion.and_then(|conversion| self.blob_id(&conversion.blob_of(&bytes)?));
        blob.is_ok_and(|blob| blob == oid)
            && (!self.trusts_mode() || FileMode::of(stat.executable()) == mode)
    }
}
