//! What command policy needs to know about the worktree: which files `edt run` copies first.

use std::path::{Path, PathBuf};

use super::not_kept;
use edt_command::{Host, LocalHost};
use edt_git::Repo;
use edt_types::RepoPath;

/// This machine, with the worktree of a repository, if there is one.
#[derive(Debug, Clone, Copy)]
pub struct WorktreeHost<'r> {
    pub repo: Option<&'r Repo>,
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

    fn is_restorable(&self, path: &Path) -> bool {
        let Some(repo) = self.repo else { return true };
        let below =
            repo.real_root().ok().and_then(|root| Some(path.strip_prefix(root).ok()?.to_owned()));
        let path = below.and_then(|path| RepoPath::parse(path.as_os_str().as_encoded_bytes()).ok());
        path.is_none_or(|path| not_kept::is_copied(repo, &path))
    }
}
