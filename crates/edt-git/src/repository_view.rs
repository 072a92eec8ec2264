//! The repository of a call, as code outside edt sees it.

use std::path::Path;

use super::Repo;

/// The repository of a call, for code of the embedding program.
#[derive(Debug, Clone, Copy)]
pub struct RepositoryView<'a> {
    repo: &'a Repo,
}

impl<'a> RepositoryView<'a> {
    /// The root of the worktree. It may be relative and may have symbolic links.
    #[must_use]
    pub fn root(self) -> &'a Path {
        self.repo.root_path()
    }

    /// The Git directory of this worktree.
    #[must_use]
    pub fn git_dir(self) -> &'a Path {
        self.repo.git_dir()
    }

    /// The Git directory that all worktrees share. It is the same for all calls in one repository.
    #[must_use]
    pub fn common_dir(self) -> &'a Path {
        self.repo.common_dir()
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn repo(self) -> &'a Repo {
        self.repo
    }
}

impl<'a> From<&'a Repo> for RepositoryView<'a> {
    fn from(repo: &'a Repo) -> RepositoryView<'a> {
        RepositoryView { repo }
    }
}
