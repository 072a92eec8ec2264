//! What command policy needs to know about the worktree: which files `edt run` copies first.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use crate::session::private::not_kept::NamedPaths;
use edt_command::{Host, LocalHost, Restorable};
use edt_git::Repo;
use edt_types::RepoPath;

/// This machine, with the worktree of a repository, if there is one.
#[derive(Debug)]
pub struct WorktreeHost<'r> {
    repo: Option<&'r Repo>,
    named: RefCell<NamedPaths>,
}

impl<'r> WorktreeHost<'r> {
    #[must_use]
    pub fn new(repo: Option<&'r Repo>) -> WorktreeHost<'r> {
        WorktreeHost { repo, named: RefCell::default() }
    }

    /// The paths of the worktree that the evaluated command names.
    #[must_use]
    pub fn into_named(self) -> NamedPaths {
        self.named.into_inner()
    }

    /// The repository, and `path` in its worktree.
    fn place_of(&self, path: &Path) -> Option<(&'r Repo, RepoPath)> {
        let repo = self.repo?;
        let below = path.strip_prefix(repo.real_root().ok()?).ok()?;
        Some((repo, RepoPath::parse(below.as_os_str().as_encoded_bytes()).ok()?))
    }
}

impl Host for WorktreeHost<'_> {
    fn path_directories(&self) -> Vec<PathBuf> {
        LocalHost.path_directories()
    }

    fn is_executable(&self, path: &Path) -> bool {
        LocalHost.is_executable(path)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        LocalHost.real_path(path)
    }

    fn directory_entries(&self, directory: &Path) -> Vec<String> {
        LocalHost.directory_entries(directory)
    }

    fn home_directory(&self) -> Option<PathBuf> {
        LocalHost.home_directory()
    }

    fn is_named(&self, path: &Path) {
        if let Some((_, path)) = self.place_of(path) {
            self.named.borrow_mut().add(path);
        }
    }

    fn restorable(&self, path: &Path) -> Restorable {
        let Some((repo, path)) = self.place_of(path) else { return Restorable::All };
        self.named.borrow_mut().promise(repo, &path)
    }
}
