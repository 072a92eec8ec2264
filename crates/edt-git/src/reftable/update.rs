//! Changes refs in tables through `git update-ref`.
//!
//! Git first takes its lock, checks the old values, and says so. Only then edt sends `commit`. If
//! edt is killed before, Git reads the end of its input and changes nothing. If edt is killed after,
//! Git still holds its lock, and recovery waits for the lock before it reads a ref.

use std::ffi::OsStr;

use super::NAME;
use crate::Oid;
use crate::identity::Role;
use crate::repo::Repo;
use crate::swap::{LOCK_WAIT, locked};
use edt_io::clock::Countdown;
use edt_io::spawn;
use edt_io::{failed, file, fs};
use edt_types::{Code, Finding, Result};

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
            )?;
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

    /// Waits until no program holds the lock of the tables that have `name`.
    ///
    /// # Errors
    /// `SESSION_BUSY` after two seconds.
    pub(crate) fn await_tables(&self, name: &str) -> Result<()> {
        let lock = self.tables_lock(name);
        let mut countdown = Countdown::new(LOCK_WAIT);
        while lock.symlink_metadata().is_ok() {
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

fn refused(stderr: &str) -> Finding {
    Finding::new(
        Code::IoError,
        format!("`git update-ref` failed: {}", stderr.trim()),
        "Fix what Git reports, then repeat the call. Refs in tables need Git 2.46 or newer.",
    )
}
