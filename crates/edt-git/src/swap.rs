//! Writes refs: creates them, moves them by compare-and-swap, sets symbolic refs. Refs in tables
//! are changed by [`reftable`](super::reftable).
//!
//! A new ref appears atomically: a hard link to a file that has its value. A ref that moves is
//! locked as in Git, by `<ref>.lock`, which appears in the same way. The old value is compared
//! under the lock, and the lock file is renamed onto the ref. A kill can leave a lock only during
//! these few system calls. The next call recognises it as edt's by its inode and removes it. Reflog
//! lines follow (`reflog.rs`).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Oid;
use super::refs::{is_per_worktree, ref_moved};
use super::reftable::RefUpdate;
use super::repo::Repo;
use edt_io::clock::Countdown;
use edt_io::file::{File, OpenMode};
use edt_io::{failed, file, fs, link_failed};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// The staging file of refs.
pub(super) const REF: &str = "ref";
/// The staging file of HEAD, whose lock is held while other refs move.
const HEAD: &str = "head";
/// The staging files of the lists of tables: that of all worktrees, and this worktree's own.
pub(super) const TABLES: &str = "tables";
pub(super) const OWN_TABLES: &str = "tables-own";
pub(super) const STAGED: [&str; 4] = [REF, HEAD, TABLES, OWN_TABLES];

/// How long to wait for the lock of a ref. Git holds one for well under a millisecond.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The device and the inode of what has the path.
pub(super) fn inode(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

/// A compare-and-swap of a branch.
#[derive(Debug, Clone, Copy)]
pub struct RefSwap<'a> {
    /// The full name of the branch.
    pub name: &'a str,
    /// The expected value.
    pub from: Oid,
    /// The new value.
    pub to: Oid,
}

/// A lock file, removed on drop unless it was renamed.
#[derive(Debug)]
pub(super) struct RefLock {
    /// `None` once it is released.
    path: Option<PathBuf>,
    /// The device and the inode of the lock. A user may remove it, and another program take it.
    held: Option<(u64, u64)>,
}

/// The held lock of HEAD, which has the new content already.
#[must_use = "HEAD moves with `Repo::move_head`"]
#[derive(Debug)]
pub struct HeadLock(RefLock);

impl RefLock {
    /// The lock that was just made at `path`.
    fn at(path: PathBuf) -> RefLock {
        RefLock { held: inode(&path), path: Some(path) }
    }

    /// Its path if it is still the file that was made.
    fn take(&mut self) -> Option<PathBuf> {
        let path = self.path.take()?;
        (self.held.is_some() && inode(&path) == self.held).then_some(path)
    }

    /// Checks that the lock of `path` is still the file that was made.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let now = self.path.as_ref().and_then(|lock| inode(lock));
        if now.is_some() && now == self.held { Ok(()) } else { Err(lost_lock(path).into()) }
    }

    /// Removes the lock. If this fails, recovery recognises the lock as edt's own.
    pub(super) fn release(mut self) -> Result<()> {
        let Some(path) = self.take() else { return Ok(()) };
        fs::remove_file(&path).map_err(|error| failed("unlock", &path, &error).into())
    }

    /// Renames the lock onto the ref at `path`; removes the lock if that fails.
    pub(super) fn become_ref(mut self, path: &Path) -> Result<()> {
        let Some(lock) = self.take() else { return Err(lost_lock(path).into()) };
        fs::rename(&lock, path).map_err(|error| {
            let _ = fs::remove_file(&lock);
            failed("move the ref", path, &error).into()
        })
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        if let Some(path) = self.take() {
            let _ = fs::remove_file(&path);
        }
    }
}

impl Repo {
    /// Creates the ref `name` with the value `to`; succeeds if it has that value already.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn create_ref(&self, name: &str, to: Oid) -> Result<()> {
        if self.has_tables() {
            return self.change_refs(&[RefUpdate::Create { name, to }], &[]);
        }
        match self.ref_value(name)? {
            Some(current) if current == to => return Ok(()),
            None => {}
            current => return Err(ref_moved(name, None, current).into()),
        }
        let path = self.ref_path(name);
        if self.link_new_file(&format!("{to}\n"), &path, REF)? {
            return Ok(());
        }
        Err(ref_moved(name, None, self.ref_value(name)?).into())
    }

    /// As [`create_ref`](Repo::create_ref) for several refs: all or none if they are in tables.
    ///
    /// # Errors
    /// As [`create_ref`](Repo::create_ref).
    pub fn create_refs(&self, refs: &[(String, Oid)]) -> Result<()> {
        if self.has_tables() {
            let updates = refs.iter().map(|(name, to)| RefUpdate::Create { name, to: *to });
            return self.change_refs(&updates.collect::<Vec<_>>(), &[]);
        }
        refs.iter().try_for_each(|(name, to)| self.create_ref(name, *to))
    }

    /// Removes the ref `name` if it has the value `to`. For a ref that
    /// [`create_ref`](Repo::create_ref) made for a change that was rolled back.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the ref still exists.
    pub fn drop_created_ref(&self, name: &str, to: Oid) -> Result<()> {
        if self.has_tables() {
            // Whoever holds the lock: there may be nothing to do.
            if self.ref_value(name)? != Some(to) {
                return Ok(());
            }
            return self.change_refs(&[RefUpdate::Drop { name, from: to }], &[]);
        }
        let path = self.ref_path(name);
        if holds(&path, &to.to_string()) {
            fs::remove_file(&path).map_err(|error| failed("delete the ref", &path, &error))?;
        }
        // Git may have packed it.
        if self.ref_value(name)? == Some(to) {
            return self.delete_ref(name, to);
        }
        let emptied = path.ancestors().skip(1).take_while(|directory| !directory.ends_with("refs"));
        emptied.take_while(|directory| fs::try_remove_empty_dir(directory)).for_each(drop);
        Ok(())
    }

    /// Moves a branch.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `SESSION_BUSY` if its lock is held; `IO_ERROR`,
    /// `GIT_DIR_READ_ONLY`. The ref then keeps its value.
    pub fn swap_ref(&self, swap: &RefSwap<'_>) -> Result<()> {
        if self.has_tables() {
            let RefSwap { name, from, to } = *swap;
            return self.change_refs(&[RefUpdate::Move { name, from, to }], &[]);
        }
        self.replace(&self.ref_path(swap.name), &format!("{}\n", swap.to), || {
            let current = self.ref_value(swap.name)?;
            if current == Some(swap.from) {
                Ok(())
            } else {
                Err(ref_moved(swap.name, Some(swap.from), current).into())
            }
        })
    }

    /// Sets the symbolic ref `name` (HEAD, or a per-worktree ref) to `at`, a full ref name. With a
    /// commit id HEAD becomes detached.
    ///
    /// # Errors
    /// `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`. The ref then keeps its
    /// target.
    pub fn set_symbolic_ref(&self, name: &str, at: &str) -> Result<()> {
        if self.has_tables() {
            return self.change_refs(&[RefUpdate::Point { name, to: at }], &[]);
        }
        self.replace(&self.ref_path(name), &content(at), || Ok(()))
    }

    /// Takes the lock of HEAD, to move HEAD to `at` as [`set_symbolic_ref`](Repo::set_symbolic_ref)
    /// does.
    ///
    /// # Errors
    /// `SESSION_BUSY` if another program holds the lock; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn lock_head(&self, at: &str) -> Result<HeadLock> {
        self.lock_ref(&self.ref_path("HEAD"), &content(at), HEAD).map(HeadLock)
    }

    /// Moves HEAD to where the lock was taken for.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`. HEAD then keeps its target.
    pub fn move_head(&self, lock: HeadLock) -> Result<()> {
        lock.0.become_ref(&self.ref_path("HEAD"))
    }

    /// Checks that no other program holds the lock of the ref `name`, or of the packed refs.
    ///
    /// # Errors
    /// `SESSION_BUSY`.
    pub fn check_unlocked(&self, name: &str) -> Result<()> {
        self.release_orphaned_tables()?;
        let locks = [lock_path(&self.locked_path(name)), lock_path(&self.packed_refs())];
        let mut countdown = Countdown::new(LOCK_WAIT);
        for lock in locks {
            while lock.symlink_metadata().is_ok() {
                if !countdown.pause() {
                    return Err(locked(&lock).into());
                }
            }
        }
        Ok(())
    }

    /// Removes the per-worktree symbolic ref `name` if its target is `at`.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the ref still exists.
    pub fn delete_symbolic_ref(&self, name: &str, at: &str) -> Result<()> {
        if self.has_tables() {
            if self.symbolic_ref(name)?.as_deref() != Some(at) {
                return Ok(());
            }
            return self.change_refs(&[RefUpdate::Unpoint { name, at }], &[]);
        }
        let path = self.ref_path(name);
        if holds(&path, &format!("ref: {at}")) {
            fs::remove_file(&path).map_err(|error| failed("delete the ref", &path, &error))?;
        }
        Ok(())
    }

    /// Removes the lock of the ref `name` if it is edt's own: a hard link to the staging file. Refs in
    /// tables have one lock.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: the lock still exists, and is still recognised as edt's
    /// own.
    pub fn unlock_ref(&self, name: &str) -> Result<()> {
        if self.has_tables() {
            return self.release_tables(name);
        }
        self.unlock_own(&lock_path(&self.ref_path(name)))
    }

    /// As [`unlock_ref`](Repo::unlock_ref), in a copy of the repository, where no process holds a
    /// lock: the bytes of the lock and of the staging file are compared. A copy without hard links
    /// has two files.
    ///
    /// # Errors
    /// As [`unlock_ref`](Repo::unlock_ref).
    pub fn unlock_copied_ref(&self, name: &str) -> Result<()> {
        let lock = lock_path(&self.locked_path(name));
        let is_own = |staged| fs::is_identical(&lock, &self.staging_path(staged)).unwrap_or(false);
        if STAGED.into_iter().any(is_own) {
            fs::remove_file(&lock).map_err(|error| failed("unlock", &lock, &error))?;
        }
        Ok(())
    }

    /// Removes `lock` if it is edt's own.
    pub(super) fn unlock_own(&self, lock: &Path) -> Result<()> {
        if self.is_own(lock) {
            fs::remove_file(lock).map_err(|error| failed("unlock", lock, &error))?;
        }
        Ok(())
    }

    /// Whether `lock` is a hard link to a staging file.
    pub(super) fn is_own(&self, lock: &Path) -> bool {
        inode(lock).is_some_and(|held| {
            STAGED.iter().any(|staged| inode(&self.staging_path(staged)) == Some(held))
        })
    }

    /// A staging file that refs and their locks are linked from: [`REF`] or [`HEAD`]. It stays until
    /// the next one is created.
    fn staging_path(&self, staged: &str) -> PathBuf {
        self.state_path().join(staged)
    }

    /// Writes `content` to `path` under its lock, if `check` succeeds there.
    fn replace(
        &self,
        path: &Path,
        content: &str,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let lock = self.lock_ref(path, content, REF)?;
        check()?;
        lock.become_ref(path)
    }

    /// Creates the lock file of the ref at `path` with `content`.
    fn lock_ref(&self, path: &Path, content: &str, staged: &str) -> Result<RefLock> {
        self.stage_value(content, staged)?;
        self.hold_lock(path, staged)
    }

    /// Creates the lock file of the ref at `path` from the staging file.
    pub(super) fn hold_lock(&self, path: &Path, staged: &str) -> Result<RefLock> {
        let lock = lock_path(path);
        let mut countdown = Countdown::new(LOCK_WAIT);
        while !self.link_staged(staged, &lock)? {
            if !countdown.pause() {
                return Err(locked(&lock).into());
            }
        }
        Ok(RefLock::at(lock))
    }

    /// Creates the file `path` with `content` atomically; `false` if it exists already.
    fn link_new_file(&self, content: &str, path: &Path, staged: &str) -> Result<bool> {
        self.stage_value(content, staged)?;
        self.link_staged(staged, path)
    }

    /// Makes a new staging file. It is never overwritten: after a kill it may be the same inode as a
    /// ref.
    pub(super) fn stage_ref(&self, content: &str, staged: &str) -> Result<()> {
        let staging = self.staging_path(staged);
        let _ = fs::remove_file(&staging);
        let written = File::open(&staging, OpenMode::CreateNew(0o666))
            .and_then(|file| file.write_all(content.as_bytes()));
        written.map_err(|error| failed("write", &staging, &error))?;
        self.share(&staging)
    }

    /// As [`stage_ref`](Repo::stage_ref), on stable storage before it becomes a ref. Git reads no
    /// repository with a torn HEAD, so symbolic refs always are.
    pub(super) fn stage_value(&self, content: &str, staged: &str) -> Result<()> {
        self.stage_ref(content, staged)?;
        if !self.is_durable() && staged != HEAD && !content.starts_with("ref: ") {
            return Ok(());
        }
        let staging = self.staging_path(staged);
        file::sync(&staging).map_err(|error| failed("sync", &staging, &error).into())
    }

    /// Links the staging file to `path`; `false` if that exists already. Missing directories are
    /// created, also when `git pack-refs` just removed them because they were empty.
    fn link_staged(&self, staged: &str, path: &Path) -> Result<bool> {
        let staging = self.staging_path(staged);
        let mut tries = 0;
        loop {
            match fs::link(&staging, path) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Ok(false);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && tries < 8 => {
                    tries += 1;
                    let directory = path.parent().unwrap_or(path);
                    fs::make_dir(directory).map_err(|error| failed("make", directory, &error))?;
                    self.share(directory)?;
                }
                Err(error) => return Err(link_failed("make a ref at", path, &error).into()),
            }
        }
    }

    /// The file that is locked to change the ref `name`.
    fn locked_path(&self, name: &str) -> PathBuf {
        if self.has_tables() { self.tables_list(name) } else { self.ref_path(name) }
    }

    /// The loose file of a ref.
    #[must_use]
    pub fn ref_path(&self, name: &str) -> PathBuf {
        if is_per_worktree(name) { self.git_dir().join(name) } else { self.common_dir().join(name) }
    }
}

/// The content of a loose ref with that value.
fn content(value: &str) -> String {
    if value.starts_with("refs/") { format!("ref: {value}\n") } else { format!("{value}\n") }
}

pub(super) fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Whether `value` is the only content of the file at `path`.
fn holds(path: &Path, value: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.trim_end() == value)
}

fn lost_lock(path: &Path) -> Finding {
    Finding::new(
        Code::SessionBusy,
        format!("Another program removed the lock {} during the call.", lock_path(path).shown()),
        "Repeat the call once no other program changes refs.",
    )
    .nothing_changed()
}

fn locked(lock: &Path) -> Finding {
    Finding::new(
        Code::SessionBusy,
        format!("Another program holds the lock {}.", lock.shown()),
        "Repeat the call. If no Git program is running here, a crashed one left the lock: ask the \
         user to remove it.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    fn scratch() -> (ScratchRepo, Repo) {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        std::fs::create_dir_all(repo.state_path()).unwrap();
        (scratch, repo)
    }

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn swap(from: Oid, to: Oid) -> RefSwap<'static> {
        RefSwap { name: "refs/heads/x", from, to }
    }

    fn only(result: Result<()>) -> Finding {
        result.unwrap_err().into_vec().remove(0)
    }

    #[test]
    fn a_ref_is_created_once() {
        let (_scratch, repo) = scratch();
        repo.create_ref("refs/heads/x", oid(1)).unwrap();
        repo.create_ref("refs/heads/x", oid(1)).unwrap();
        assert_eq!(repo.ref_value("refs/heads/x").unwrap(), Some(oid(1)));
    }

    #[test]
    fn a_ref_with_another_value_is_not_created() {
        let (_scratch, repo) = scratch();
        repo.create_ref("refs/heads/x", oid(1)).unwrap();
        let finding = Finding::new(
            Code::SessionMoved,
            format!("refs/heads/x moved during the call: expected nothing, found {}.", oid(1)),
            "Repeat the call: it will start from the present value.",
        );
        let finding = finding.nothing_changed().with("ref", "refs/heads/x");
        assert_eq!(only(repo.create_ref("refs/heads/x", oid(2))), finding);
    }

    #[test]
    fn a_branch_moves_only_from_the_expected_value() {
        let (_scratch, repo) = scratch();
        repo.create_ref("refs/heads/x", oid(1)).unwrap();
        assert_eq!(only(repo.swap_ref(&swap(oid(9), oid(2)))).code, Code::SessionMoved);
        assert_eq!(repo.ref_value("refs/heads/x").unwrap(), Some(oid(1)));
        repo.swap_ref(&swap(oid(1), oid(2))).unwrap();
        assert_eq!(repo.ref_value("refs/heads/x").unwrap(), Some(oid(2)));
        assert!(!repo.ref_path("refs/heads/x.lock").exists());
    }

    #[test]
    fn a_created_ref_that_somebody_moved_stays() {
        let (_scratch, repo) = scratch();
        repo.create_ref("refs/edt/s/base", oid(1)).unwrap();
        repo.drop_created_ref("refs/edt/s/base", oid(2)).unwrap();
        assert_eq!(repo.ref_value("refs/edt/s/base").unwrap(), Some(oid(1)));
    }

    #[test]
    fn a_created_ref_goes_with_its_empty_directories() {
        let (_scratch, repo) = scratch();
        repo.create_ref("refs/edt/s/base", oid(1)).unwrap();
        repo.drop_created_ref("refs/edt/s/base", oid(1)).unwrap();
        assert!(!repo.common_dir().join("refs/edt").exists());
        assert!(repo.common_dir().join("refs").exists());
    }

    #[test]
    fn head_is_set_to_a_branch_or_to_a_commit() {
        let (_scratch, repo) = scratch();
        repo.set_symbolic_ref("HEAD", "refs/heads/x").unwrap();
        assert_eq!(repo.head_target().unwrap().as_deref(), Some("refs/heads/x"));
        repo.set_symbolic_ref("HEAD", &oid(1).to_string()).unwrap();
        assert_eq!(repo.head_target().unwrap(), Some(oid(1).to_string()));
    }

    #[test]
    fn a_ref_is_deleted_with_its_log_if_it_has_its_value() {
        let (_scratch, repo) = scratch();
        repo.create_ref("refs/heads/x", oid(1)).unwrap();
        let log = repo.common_dir().join("logs/refs/heads/x");
        std::fs::write(&log, "x").unwrap();
        assert_eq!(only(repo.delete_ref("refs/heads/x", oid(2))).code, Code::SessionMoved);
        assert!(log.exists());
        repo.delete_ref("refs/heads/x", oid(1)).unwrap();
        assert_eq!((repo.ref_value("refs/heads/x").unwrap(), log.exists()), (None, false));
        repo.delete_ref("refs/heads/x", oid(1)).unwrap();
    }

    #[test]
    fn a_symbolic_ref_to_another_branch_is_not_deleted() {
        let (_scratch, repo) = scratch();
        repo.set_symbolic_ref("refs/worktree/x", "refs/heads/a").unwrap();
        repo.delete_symbolic_ref("refs/worktree/x", "refs/heads/b").unwrap();
        assert!(repo.symbolic_ref("refs/worktree/x").unwrap().is_some());
        repo.delete_symbolic_ref("refs/worktree/x", "refs/heads/a").unwrap();
        assert_eq!(repo.symbolic_ref("refs/worktree/x").unwrap(), None);
    }

    #[test]
    fn only_the_lock_of_edt_itself_is_removed() {
        let (_scratch, repo) = scratch();
        let lock = lock_path(&repo.ref_path("refs/heads/x"));
        std::fs::write(&lock, "another program's").unwrap();
        repo.unlock_ref("refs/heads/x").unwrap();
        assert!(lock.exists());
        std::fs::remove_file(&lock).unwrap();
        assert!(repo.link_new_file("x\n", &lock, REF).unwrap());
        repo.unlock_ref("refs/heads/x").unwrap();
        assert!(!lock.exists());
    }

    /// A user removed the lock of a running call, and another program took it.
    #[test]
    fn the_lock_that_another_program_took_meanwhile_stays() {
        let (_scratch, repo) = scratch();
        let path = repo.ref_path("refs/heads/x");
        let taken = || {
            let held = repo.lock_ref(&path, "x\n", REF).unwrap();
            std::fs::remove_file(lock_path(&path)).unwrap();
            std::fs::write(lock_path(&path), "another program's").unwrap();
            held
        };
        let others = || std::fs::read_to_string(lock_path(&path)).unwrap();
        assert_eq!(only(taken().become_ref(&path)).code, Code::SessionBusy);
        assert_eq!((path.exists(), others()), (false, "another program's".to_owned()));
        std::fs::remove_file(lock_path(&path)).unwrap();
        let lost = taken();
        assert_eq!(only(lost.check(&path)).code, Code::SessionBusy);
        lost.release().unwrap();
        assert_eq!(others(), "another program's");
        std::fs::remove_file(lock_path(&path)).unwrap();
        drop(taken());
        assert_eq!(others(), "another program's");
    }
}
