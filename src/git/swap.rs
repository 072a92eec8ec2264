//! Refs written: created, moved by compare-and-swap, pointed.
//!
//! A new ref appears whole, by a hard link from a file that holds its value. A ref that moves is locked as Git does, by
//! `<ref>.lock`, which appears whole in the same way; the old value is compared under it, and it is renamed onto the ref. Only in
//! those few system calls can a kill leave a lock, and one that the next call knows for edt's own, by its inode, and removes. Reflog lines follow (`reflog.rs`).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Oid;
use super::repo::{InHead, Repo};
use crate::base::{Code, Finding, Result};
use crate::io::clock::Countdown;
use crate::io::file::{File, Open};
use crate::io::{failed, file, spawn, whole};

/// How long a ref's lock is waited for. Git holds one for well under a millisecond.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// A move of a branch.
#[derive(Debug, Clone, Copy)]
pub struct Swap<'a> {
    /// The branch's full name.
    pub name: &'a str,
    /// The value it must have.
    pub from: Oid,
    /// The value it gets.
    pub to: Oid,
    /// The reflog line.
    pub log: &'a str,
    /// Whether HEAD is on it, so that HEAD's log gets the line too.
    pub head: InHead,
}

/// A lock that is removed again, unless it is gone already.
struct RefLock(Option<PathBuf>);

impl RefLock {
    /// Removes it, and says so if that fails: settling then knows it for edt's own.
    fn release(mut self) -> Result<()> {
        let Some(path) = self.0.take() else { return Ok(()) };
        whole::remove(&path).map_err(|error| failed("unlock", &path, &error).into())
    }

    /// Makes it the ref at `path`. Where that fails it is removed.
    fn become_ref(mut self, path: &Path) -> Result<()> {
        let Some(lock) = &self.0 else { return Ok(()) };
        whole::rename(lock, path).map_err(|error| failed("move the ref", path, &error))?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = whole::remove(path);
        }
    }
}

impl Repo {
    /// Creates the ref `name` with the value `to`; that it has it already is no error.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn create_ref(&self, name: &str, to: Oid) -> Result<()> {
        match self.ref_value(name)? {
            Some(stands) if stands == to => return Ok(()),
            None => {}
            stands => return Err(moved(name, None, stands).into()),
        }
        let path = self.ref_path(name);
        if self.link_whole(&format!("{to}\n"), &path)? {
            return Ok(());
        }
        Err(moved(name, None, self.ref_value(name)?).into())
    }

    /// Removes the loose ref `name` if it has the value `to`: one that [`create_ref`](Repo::create_ref) made for a change that
    /// did not come true.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: it is still there.
    pub fn drop_created_ref(&self, name: &str, to: Oid) -> Result<()> {
        let path = self.ref_path(name);
        if !holds(&path, &to.to_string()) {
            return Ok(());
        }
        whole::remove(&path).map_err(|error| failed("delete the ref", &path, &error))?;
        let emptied = path.ancestors().skip(1).take_while(|folder| !folder.ends_with("refs"));
        emptied.take_while(|folder| whole::removed_empty_folder(folder)).for_each(drop);
        Ok(())
    }

    /// Moves a branch.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`. The ref
    /// then has the value it had.
    pub fn swap_ref(&self, swap: &Swap<'_>) -> Result<()> {
        self.replace(&self.ref_path(swap.name), &format!("{}\n", swap.to), || {
            let stands = self.ref_value(swap.name)?;
            if stands == Some(swap.from) {
                Ok(())
            } else {
                Err(moved(swap.name, Some(swap.from), stands).into())
            }
        })
    }

    /// Writes the ref `name` again if its loose file is torn: what a power cut may leave of a file that was not synced. `value` is an
    /// object id or a ref in full. Whether it was.
    ///
    /// # Errors
    /// As [`swap_ref`](Repo::swap_ref).
    pub fn mend_ref(&self, name: &str, value: &str) -> Result<bool> {
        let path = self.ref_path(name);
        let torn = std::fs::read(&path).is_ok_and(|bytes| !self.is_ref(&bytes));
        if torn {
            self.replace(&path, &content(value), || Ok(()))?;
        }
        Ok(torn)
    }

    /// Whether these are the bytes of a whole loose ref.
    fn is_ref(&self, bytes: &[u8]) -> bool {
        let Some(line) = bytes.strip_suffix(b"\n").or(Some(bytes)).filter(|line| !line.is_empty())
        else {
            return false;
        };
        let hex = line.len() == self.null().as_slice().len() * 2
            && line.iter().all(u8::is_ascii_hexdigit);
        hex || line.starts_with(b"ref: ") && bytes.ends_with(b"\n") && !line.contains(&0)
    }

    /// Points the symbolic ref `name` (HEAD, or one of this worktree's own) at `at`, a ref in full; HEAD at a commit is detached.
    ///
    /// # Errors
    /// `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`. The ref then points where it did.
    pub fn point_ref(&self, name: &str, at: &str) -> Result<()> {
        self.replace(&self.ref_path(name), &content(at), || {
            // With HEAD torn there would be no repository, neither for Git nor for edt.
            let fresh = self.fresh_path();
            file::sync(&fresh).map_err(|error| failed("sync", &fresh, &error).into())
        })
    }

    /// Deletes the ref `name` with its log, if it has the value `from`; that it is gone is no error.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn delete_ref(&self, name: &str, from: Oid) -> Result<()> {
        let packed = std::fs::read(self.common_dir().join("packed-refs")).unwrap_or_default();
        if memchr::memmem::find(&packed, format!(" {name}\n").as_bytes()).is_some() {
            return self.delete_refs(&[(name.to_owned(), from)]);
        }
        let path = self.ref_path(name);
        let lock = self.lock_ref(&path, &format!("{from}\n"))?;
        match self.ref_value(name)? {
            None => return lock.release(),
            Some(stands) if stands == from => {}
            stands => return Err(moved(name, Some(from), stands).into()),
        }
        // The log first: what is done again after a crash goes by the ref.
        let log = self.common_dir().join("logs").join(name);
        match whole::remove(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed("delete the log", &log, &error).into());
            }
            _ => {}
        }
        whole::remove(&path).map_err(|error| failed("delete the ref", &path, &error))?;
        lock.release()
    }

    /// Deletes refs, loose or packed, with their logs, all or none, if each has its value. Git does it: packed refs are its own.
    ///
    /// # Errors
    /// `SESSION_MOVED` if one has another value; `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn delete_refs(&self, refs: &[(String, Oid)]) -> Result<()> {
        let lines: Vec<String> =
            refs.iter().map(|(name, from)| format!("delete {name} {from}\n")).collect();
        let ran =
            spawn::git(self.root_path(), &["update-ref", "--stdin"], lines.concat().as_bytes())?;
        for (name, from) in refs.iter().filter(|_| !ran.ok) {
            let stands = self.ref_value(name)?;
            if stands != Some(*from) {
                return Err(moved(name, Some(*from), stands).into());
            }
        }
        if ran.ok {
            return Ok(());
        }
        let message = format!("Git could not delete refs: {}", ran.stderr.trim());
        Err(Finding::new(Code::IoError, message, "Mend what Git reports, then repeat the call.")
            .into())
    }

    /// Removes the symbolic ref `name`, one of this worktree's own, if it names `at`.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: it is still there.
    pub fn unpoint_ref(&self, name: &str, at: &str) -> Result<()> {
        let path = self.ref_path(name);
        if holds(&path, &format!("ref: {at}")) {
            whole::remove(&path).map_err(|error| failed("delete the ref", &path, &error))?;
        }
        Ok(())
    }

    /// Removes the lock of the ref `name` if it is edt's own: the very file that it was linked from.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`: it is still there, and still known for edt's own.
    pub fn unlock_ref(&self, name: &str) -> Result<()> {
        let lock = lock_path(&self.ref_path(name));
        let inode =
            |path: &Path| std::fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        if inode(&lock).is_some() && inode(&lock) == inode(&self.fresh_path()) {
            whole::remove(&lock).map_err(|error| failed("unlock", &lock, &error))?;
        }
        Ok(())
    }

    /// Removes the lock of the ref `name` if it was there before `before`: the machine was restarted since, and its holder is gone.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn unlock_left(&self, name: &str, before: SystemTime) -> Result<()> {
        self.unlock_ref(name)?;
        let lock = lock_path(&self.ref_path(name));
        if std::fs::symlink_metadata(&lock)
            .and_then(|meta| meta.modified())
            .is_ok_and(|modified| modified <= before)
        {
            whole::remove(&lock).map_err(|error| failed("unlock", &lock, &error))?;
        }
        Ok(())
    }

    /// The file that refs and their locks are linked from; it stays until the next one is made.
    fn fresh_path(&self) -> PathBuf {
        self.state_path().join("ref")
    }

    /// Writes `content` to `path` under its lock, if `check` allows it there.
    fn replace(
        &self,
        path: &Path,
        content: &str,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let lock = self.lock_ref(path, content)?;
        check()?;
        lock.become_ref(path)
    }

    /// Takes the lock of the ref at `path`; it holds `content`.
    fn lock_ref(&self, path: &Path, content: &str) -> Result<RefLock> {
        let lock = lock_path(path);
        let mut countdown = Countdown::new(LOCK_WAIT);
        while !self.link_whole(content, &lock)? {
            if !countdown.pause() {
                return Err(locked(&lock).into());
            }
        }
        Ok(RefLock(Some(lock)))
    }

    /// Makes the file `path` appear with `content`, whole; false if something stands there. Missing folders are made, also
    /// when `git pack-refs` just removed them because they were empty.
    fn link_whole(&self, content: &str, path: &Path) -> Result<bool> {
        // Never written in place: a name that a kill left may be the same file as the ref that was made from it.
        let fresh = self.fresh_path();
        let _ = whole::remove(&fresh);
        let written = File::open(&fresh, Open::New(0o666))
            .and_then(|file| file.write_all(content.as_bytes()));
        written.map_err(|error| failed("write", &fresh, &error))?;
        let mut tries = 0;
        loop {
            match whole::link(&fresh, path) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Ok(false);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && tries < 8 => {
                    tries += 1;
                    let folder = path.parent().unwrap_or(path);
                    whole::make_folder(folder).map_err(|error| failed("make", folder, &error))?;
                }
                Err(error) => return Err(failed("make a ref at", path, &error).into()),
            }
        }
    }

    /// The loose file of a ref: HEAD and `refs/worktree/` are a worktree's own.
    fn ref_path(&self, name: &str) -> PathBuf {
        let own = name == "HEAD" || name.starts_with("refs/worktree/");
        if own { self.git_dir().join(name) } else { self.common_dir().join(name) }
    }
}

/// What a loose ref of that value holds.
fn content(value: &str) -> String {
    if value.starts_with("refs/") { format!("ref: {value}\n") } else { format!("{value}\n") }
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Whether the file at `path` holds `value` and nothing else.
fn holds(path: &Path, value: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.trim_end() == value)
}

fn moved(name: &str, expected: Option<Oid>, stands: Option<Oid>) -> Finding {
    let shown =
        |value: Option<Oid>| value.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string());
    let (expected, stands) = (shown(expected), shown(stands));
    let message = format!(
        "{name} moved during the call: expected {expected}, found {stands}. Nothing was changed."
    );
    Finding::new(
        Code::SessionMoved,
        message,
        "Repeat the call: it will start from what stands there now.",
    )
    .with("ref", name)
}

fn locked(lock: &Path) -> Finding {
    Finding::new(
        Code::SessionBusy,
        format!("Another program holds the lock {}. Nothing was changed.", lock.display()),
        "Repeat the call. If no Git program runs here, a crashed one left the lock: a person may remove it.",
    )
}
