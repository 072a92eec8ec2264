//! The locks of refs that a killed edt left, found without a journal: each is a hard link to one of
//! edt's staging files.

use std::path::{Path, PathBuf};

use super::repo::Repo;
use super::swap::{STAGED, inode, lock_path};
use edt_io::{failed, fs};
use edt_types::Result;

impl Repo {
    /// The locks of refs that are edt's own in this worktree. The caller holds the worktree's lock,
    /// so that no running call has them.
    #[must_use]
    pub fn own_ref_locks(&self) -> Vec<PathBuf> {
        if self.has_tables() {
            let mut locks =
                ["refs/", "HEAD"].map(|name| lock_path(&self.tables_list(name))).to_vec();
            locks.dedup();
            locks.retain(|lock| self.is_own(lock));
            return locks;
        }
        let mut locks = self.loose_ref_locks();
        locks.retain(|lock| self.is_own(lock));
        locks
    }

    /// The locks of the packed refs, of HEAD and of loose refs, whoever made them.
    fn loose_ref_locks(&self) -> Vec<PathBuf> {
        let mut locks = vec![lock_path(&self.packed_refs()), lock_path(&self.ref_path("HEAD"))];
        let mut open = vec![self.common_dir().join("refs"), self.git_dir().join("refs")];
        while let Some(directory) = open.pop() {
            for path in fs::names_in(&directory).into_iter().map(|name| directory.join(name)) {
                match path.symlink_metadata() {
                    Ok(found) if found.is_dir() => open.push(path),
                    _ if is_lock(&path) => locks.push(path),
                    _ => {}
                }
            }
        }
        locks.sort();
        locks.dedup();
        locks
    }

    /// Removes the locks of refs that a killed call left in a worktree that is gone, and the
    /// staging files by which they are known, so that this is done once. `state`: edt's directory
    /// of that worktree, whose lock the caller holds. Returns the paths of the locks.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the next call tries again.
    pub fn unlock_refs_of_gone(&self, state: &Path) -> Result<Vec<PathBuf>> {
        // That of refs in tables is released before each change of them.
        if self.has_tables() {
            return Ok(Vec::new());
        }
        let staged = STAGED.map(|name| state.join(name));
        let own: Vec<(u64, u64)> = staged.iter().filter_map(|path| inode(path)).collect();
        if own.is_empty() {
            return Ok(Vec::new());
        }
        let mut locks = self.loose_ref_locks();
        locks.retain(|lock| inode(lock).is_some_and(|held| own.contains(&held)));
        for path in locks.iter().chain(staged.iter().filter(|path| path.exists())) {
            fs::remove_file(path).map_err(|error| failed("unlock", path, &error))?;
        }
        Ok(locks)
    }

    /// Removes the locks of refs that are edt's own. Returns their paths.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn unlock_own_refs(&self) -> Result<Vec<PathBuf>> {
        let locks = self.own_ref_locks();
        if self.has_tables() {
            ["refs/", "HEAD"].iter().try_for_each(|name| self.release_tables(name))?;
        } else {
            locks.iter().try_for_each(|lock| self.unlock_own(lock))?;
        }
        Ok(locks)
    }
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swap::REF;
    use edt_testkit::ScratchRepo;

    #[test]
    fn only_locks_that_edt_made_are_removed() {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        std::fs::create_dir_all(repo.state_path()).unwrap();
        repo.stage_ref("", REF).unwrap();
        let own = ["refs/edt/a/base", "refs/heads/main"].map(|name| repo.ref_path(name));
        for path in own.iter().chain([&repo.packed_refs()]) {
            std::mem::forget(repo.hold_lock(path, REF).unwrap());
        }
        let other = lock_path(&repo.ref_path("refs/heads/other"));
        std::fs::write(&other, "").unwrap();
        assert_eq!(repo.own_ref_locks().len(), 3);
        assert_eq!(repo.unlock_own_refs().unwrap().len(), 3);
        assert_eq!(repo.own_ref_locks(), Vec::<PathBuf>::new());
        assert!(other.exists());
    }
}
