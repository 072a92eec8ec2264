//! Walks of the worktree's directories, with room for the deepest paths.

use std::sync::atomic::AtomicBool;

use gix::dir::EntryRef;
use gix::dir::entry::{Kind as Found, Status};
use gix::dir::walk::delegate::Collect;
use gix::dir::walk::{Action, Delegate, EmissionMode, ForDeletionMode};

use super::diff::Untracked;
use super::repo::Repo;
use edt_types::RepoPath;

impl Repo {
    /// The untracked files and directories: their paths, and whether each is a directory.
    ///
    /// # Errors
    /// Any error of the walk.
    pub(super) fn untracked(
        &self,
        index: &gix::index::State,
        untracked: Untracked,
    ) -> std::result::Result<Vec<(RepoPath, bool)>, gix::Error> {
        let options = self.inner.dirwalk_options()?.emit_untracked(match untracked {
            Untracked::Directories => EmissionMode::CollapseDirectory,
            Untracked::Files => EmissionMode::Matching,
        });
        let (mut found, everything) = (Collect::default(), None::<&gix::bstr::BStr>);
        let mut named = self.named(&mut found);
        on_deep_stack(&self.inner, |repo| {
            repo.dirwalk(index, everything, &AtomicBool::new(false), options, &mut named).map(drop)
        })?;
        let entries = found.unorded_entries.into_iter().map(|(entry, _)| entry);
        let entries = entries.filter(|entry| entry.status == Status::Untracked);
        let is_directory = |entry: &gix::dir::Entry| entry.disk_kind == Some(Found::Directory);
        Ok(entries
            .map(|entry| (RepoPath::from_tree(&entry.rela_path), is_directory(&entry)))
            .collect())
    }
}

impl Repo {
    /// `found`, without directories whose paths the system takes for too long.
    pub(super) fn named<'d, D>(&self, found: &'d mut D) -> Named<'d, D> {
        const MAX_PATH: usize = 4095;
        // Git reads this file of a directory before anything in it.
        let around = self.root_path().as_os_str().len() + "/".len() + "/.gitignore".len();
        Named { found, longest: MAX_PATH.saturating_sub(around) }
    }
}

/// Passes a walk on to `found`, but enters no directory whose path is too long to be named, as Git.
/// A program can make such directories, one below the other.
pub(super) struct Named<'d, D> {
    found: &'d mut D,
    longest: usize,
}

impl<D: Delegate> Delegate for Named<'_, D> {
    fn emit(&mut self, entry: EntryRef<'_>, collapsed: Option<Status>) -> Action {
        let is_directory = entry.disk_kind == Some(Found::Directory);
        if is_directory && entry.rela_path.len() > self.longest {
            return std::ops::ControlFlow::Continue(());
        }
        self.found.emit(entry, collapsed)
    }

    fn can_recurse(
        &mut self,
        entry: EntryRef<'_>,
        for_deletion: Option<ForDeletionMode>,
        root_is_repository: bool,
    ) -> bool {
        entry.rela_path.len() <= self.longest
            && self.found.can_recurse(entry, for_deletion, root_is_repository)
    }
}

/// Calls `walk` where there is room for a call per level of directories: a path has up to 2,047.
pub(super) fn on_deep_stack(
    repo: &gix::Repository,
    walk: impl FnOnce(gix::Repository) -> std::result::Result<(), gix::Error> + Send,
) -> std::result::Result<(), gix::Error> {
    const STACK: usize = 16 << 20;
    let repo = repo.clone();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, move || walk(repo)) {
            Ok(walking) => walking.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)),
            Err(error) => Err(gix::Error::from_error(error)),
        }
    })
}
