//! The copies of files, which are named by the stat of their file.

use serde::{Deserialize, Serialize};

use edt_git::Repo;
use edt_io::disk::{Parent, Stat};
use edt_types::RepoPath;

/// The copy of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copy {
    /// The name of the copied file; empty for a symbolic link.
    pub(crate) key: String,
    pub(crate) executable: bool,
    #[serde(default)]
    pub(crate) permissions: u32,
    /// The target of a symbolic link.
    #[serde(default)]
    pub(crate) link: Option<Vec<u8>>,
}

impl Copy {
    /// Whether the same file or link is still at `path`, by its stat.
    pub(crate) fn is_at(&self, repo: &Repo, path: &RepoPath) -> bool {
        let (directory, name) = path.split();
        let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { return false };
        let Ok(Some(stat)) = parent.stat(name) else { return false };
        match &self.link {
            Some(target) => parent.link_target(name).is_ok_and(|now| now == *target),
            None => self.key == key_of(&stat),
        }
    }
}

/// The stat of whatever is at `path`.
pub(crate) fn stat_at(repo: &Repo, path: &RepoPath) -> Option<Stat> {
    let (directory, name) = path.split();
    let Ok(Parent::Open(parent)) = repo.root().beneath(directory) else { return None };
    parent.stat(name).ok().flatten()
}

/// The name of the copy of a file with this stat.
pub(crate) fn key_of(stat: &Stat) -> String {
    let Stat { dev, ino, size, mtime, ctime, .. } = stat;
    format!("{dev:x}-{ino:x}-{size:x}-{:x}-{:x}-{:x}-{:x}", mtime.0, mtime.1, ctime.0, ctime.1)
}
