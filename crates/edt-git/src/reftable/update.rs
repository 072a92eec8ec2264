//! Changes refs in tables through `git update-ref`.
//!
//! Git first takes its lock, checks the old values, and says so. Only then edt sends `commit`. If
//! edt is killed before, Git reads the end of its input and changes nothing. If edt is killed after,
//! Git still holds its lock, and recovery waits for the lock before it reads a ref.
//!
//! Before the commit a hard link to the lock, named after Git's process, shows whose lock it is: if
//! that process is gone, Git was killed, too, and the lock is removed.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::NAME;
use crate::Oid;
use crate::identity::Role;
use crate::repo::Repo;
use crate::swap::{LOCK_WAIT, locked};
use edt_io::clock::{self, Countdown};
use edt_io::spawn;
use edt_io::{failed, file, fs};
use edt_types::{Code, Finding, Result};

/// The beginning of the name of a link to a lock; the process follows.
const MARK: &str = "git-";

/// One change of a ref.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TableUpdate<'a> {
    Create {
        name: &'a str,
        to: Oid,
    },
    Move {
        name: &'a str,
        from: Oid,
        to: Oid,
    },
    Delete {
        name: &'a str,
        from: Oid,
    },
    /// `to` is the full name of a ref.
    Point {
        name: &'a str,
        to: &'a str,
    },
    /// HEAD gets a commit.
    Detach {
        to: Oid,
    },
    /// Deletes a symbolic ref to `at`.
    Unpoint {
        name: &'a str,
        at: &'a str,
    },
}

/// Where refs are after Git refused to change them.
pub(crate) enum AfterRefusal {
    /// They have the new values.
    New,
    /// They have the old values.
    Old,
}

impl TableUpdate<'_> {
    fn name(&self) -> &str {
        match self {
            TableUpdate::Create { name, .. }
            | TableUpdate::Move { name, .. }
            | TableUpdate::Delete { name, .. }
            | TableUpdate::Point { name, .. }
            | TableUpdate::Unpoint { name, .. } => name,
            TableUpdate::Detach { .. } => "HEAD",
        }
    }

    /// The line for `git update-ref --stdin`. Names of refs have no blanks.
    fn line(&self) -> String {
        match self {
            TableUpdate::Create { name, to } => format!("create {name} {to}\n"),
            TableUpdate::Move { name, from, to } => format!("update {name} {to} {from}\n"),
            TableUpdate::Delete { name, from } => format!("delete {name} {from}\n"),
            TableUpdate::Point { name, to } => format!("symref-update {name} {to}\n"),
            TableUpdate::Detach { to } => format!("update HEAD {to}\n"),
            TableUpdate::Unpoint { name, at } => format!("symref-delete {name} {at}\n"),
        }
    }
}

impl Repo {
    /// Makes all of `updates` or none, with `log` as the message of their logs. If Git refuses,
    /// `state` says where the refs are, or why they could not be changed.
    pub(crate) fn update_tables(
        &self,
        updates: &[TableUpdate<'_>],
        log: &str,
        state: impl Fn() -> Result<AfterRefusal>,
    ) -> Result<()> {
        updates.iter().try_for_each(|update| self.await_tables(update.name()))?;
        let lines: String = updates.iter().map(TableUpdate::line).collect();
        let wait = format!("reftable.lockTimeout={}", LOCK_WAIT.as_millis());
        let log = log.replace(['\n', '\r'], " ");
        let mut args = vec!["-c", &wait, "update-ref", "--no-deref"];
        if !log.is_empty() {
            args.extend(["-m", &log]);
        }
        args.push("--stdin");
        let signature = String::from_utf8_lossy(&self.signature(Role::Committer)?).into_owned();
        let (name, rest) = signature.split_once(" <").unwrap_or((&signature, ""));
        let (mail, date) = rest.split_once("> ").unwrap_or((rest, ""));
        let date = format!("@{date}");
        let env = [("NAME", name), ("EMAIL", mail), ("DATE", &date)];
        let env = env.map(|(what, value)| (format!("GIT_COMMITTER_{what}"), value));
        let env: Vec<(&str, &OsStr)> =
            env.iter().map(|(what, value)| (what.as_str(), OsStr::new(value))).collect();
        let prepare = format!("start\n{lines}prepare\n");
        let mut countdown = Countdown::new(LOCK_WAIT);
        loop {
            let ran = spawn::git_in_two_steps(
                self.environment(),
                self.root_path(),
                (&args, &env),
                (prepare.as_bytes(), "prepare: ok", b"commit\n"),
                |process| self.mark_locks(process),
            )?;
            self.release_dead()?;
            if ran.ok {
                break;
            }
            if let AfterRefusal::New = state()? {
                break;
            }
            let lock = updates.iter().map(|update| self.tables_lock(update.name()));
            match lock.into_iter().find(|lock| lock.symlink_metadata().is_ok()) {
                Some(_) if countdown.pause() => {}
                Some(lock) => return Err(locked(&lock).into()),
                None => return Err(refused(&ran.stderr).into()),
            }
        }
        // Git syncs the tables and not the directory.
        for update in updates {
            let directory = self.stack_dir(update.name()).join(NAME);
            file::sync(&directory).map_err(|error| failed("sync", &directory, &error))?;
        }
        Ok(())
    }

    /// Links the locks of the tables, which Git's `process` holds. A file system without links has
    /// no marks: a lock that a killed Git left stays there.
    fn mark_locks(&self, process: u32) {
        for (lock, stack) in self.table_locks().iter().zip(["", "-own"]) {
            let mark = self.state_path().join(format!("{MARK}{process}{stack}"));
            let _ = fs::link(lock, &mark);
        }
    }

    /// The locks of the tables of all worktrees and of this one, which may be the same.
    fn table_locks(&self) -> Vec<PathBuf> {
        let mut locks = ["refs/", "HEAD"].map(|name| self.tables_lock(name)).to_vec();
        locks.dedup();
        locks
    }

    /// The marks of processes that no longer run.
    fn dead_marks(&self) -> Vec<PathBuf> {
        let is_dead = |name: &String| {
            let process = name.strip_prefix(MARK).and_then(|rest| rest.split('-').next());
            process.is_some_and(|id| id.parse().is_ok_and(|id| !clock::is_running(id)))
        };
        let names = fs::names_in(self.state_path()).into_iter();
        let names = names.filter_map(|name| name.into_string().ok()).filter(is_dead);
        names.map(|name| self.state_path().join(name)).collect()
    }

    /// The locks of tables that a killed Git of edt left.
    pub(crate) fn dead_table_locks(&self) -> Vec<PathBuf> {
        let marks: Vec<_> = self.dead_marks().iter().filter_map(|mark| inode(mark)).collect();
        let is_dead = |lock: &PathBuf| inode(lock).is_some_and(|held| marks.contains(&held));
        self.table_locks().into_iter().filter(is_dead).collect()
    }

    /// Removes the locks of tables that a killed Git of edt left, and the marks of dead processes.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub(crate) fn release_dead(&self) -> Result<()> {
        for lock in self.dead_table_locks().into_iter().chain(self.dead_marks()) {
            match fs::remove_file(&lock) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed("unlock", &lock, &error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits until no program holds the lock of the tables that have `name`. Removes the lock if a
    /// killed Git of edt left it.
    ///
    /// # Errors
    /// `SESSION_BUSY` after two seconds; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub(crate) fn await_tables(&self, name: &str) -> Result<()> {
        let lock = self.tables_lock(name);
        let mut countdown = Countdown::new(LOCK_WAIT);
        while lock.symlink_metadata().is_ok() {
            self.release_dead()?;
            if !countdown.pause() {
                return Err(locked(&lock).into());
            }
        }
        Ok(())
    }

    /// Removes the lock of the tables that have `name` if it is older than `before`.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub(crate) fn unlock_stale_tables(
        &self,
        name: &str,
        before: std::time::SystemTime,
    ) -> Result<()> {
        let lock = self.tables_lock(name);
        let modified = lock.symlink_metadata().and_then(|meta| meta.modified());
        if modified.is_ok_and(|modified| modified <= before) {
            fs::remove_file(&lock).map_err(|error| failed("unlock", &lock, &error))?;
        }
        Ok(())
    }
}

/// The device and inode of the file at `path`.
fn inode(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

fn refused(stderr: &str) -> Finding {
    Finding::new(
        Code::IoError,
        format!("`git update-ref` failed: {}", stderr.trim()),
        "Fix what Git reports, then repeat the call. Refs in tables need Git 2.46 or newer.",
    )
}
