//! Refs written: created, moved by compare-and-swap, pointed.
//!
//! A new ref appears whole, by a hard link from a file that holds its value. A ref that moves is locked as Git does, by
//! `<ref>.lock`, which appears whole in the same way; the old value is compared under it, and it is renamed onto the ref. Only in
//! those few system calls can a kill leave a lock, and one that the next call knows for edt's own, by its inode, and removes. Reflog lines follow, each in one write; a kill before them is mended.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Oid;
use super::identity::Role;
use super::repo::{InHead, Repo};
use crate::base::{Code, Finding, Result};
use crate::io::clock::Countdown;
use crate::io::file::{File, Open};
use crate::io::{failed, spawn, whole};

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

/// Whether a reflog line may be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// It is new.
    New,
    /// A crash may have come after it, or in the middle of it: it is written unless it is there.
    Once,
}

/// A lock that is removed again.
struct RefLock(PathBuf);

impl RefLock {
    /// Removes it, and says so if that fails: settling then knows it for edt's own.
    fn release(self) -> Result<()> {
        let removed = whole::remove(&self.0).map_err(|error| failed("unlock", &self.0, &error).into());
        std::mem::forget(self);
        removed
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        let _ = whole::remove(&self.0);
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
            if stands == Some(swap.from) { Ok(()) } else { Err(moved(swap.name, Some(swap.from), stands).into()) }
        })
    }

    /// Rewrites the ref `name` if its loose file is blank: what a power cut may leave of a file that was not synced.
    ///
    /// # Errors
    /// As [`swap_ref`](Repo::swap_ref).
    pub fn heal_ref(&self, name: &str, to: Oid) -> Result<()> {
        let path = self.ref_path(name);
        let blank = std::fs::read(&path).is_ok_and(|bytes| bytes.iter().all(|b| *b == 0 || b.is_ascii_whitespace()));
        if blank { self.replace(&path, &format!("{to}\n"), || Ok(())) } else { Ok(()) }
    }

    /// Points the symbolic ref `name` (HEAD, or one of this worktree's own) at `at`, a ref in full; HEAD at a commit is detached.
    ///
    /// # Errors
    /// `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`. The ref then points where it did.
    pub fn point_ref(&self, name: &str, at: &str) -> Result<()> {
        let content = if at.starts_with("refs/") { format!("ref: {at}\n") } else { format!("{at}\n") };
        self.replace(&self.ref_path(name), &content, || Ok(()))
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
        let lines: Vec<String> = refs.iter().map(|(name, from)| format!("delete {name} {from}\n")).collect();
        let ran = spawn::git(self.root_path(), &["update-ref", "--stdin"], lines.concat().as_bytes())?;
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
        Err(Finding::new(Code::IoError, message, "Mend what Git reports, then repeat the call.").into())
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
        let inode = |path: &Path| std::fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        if inode(&lock).is_some() && inode(&lock) == inode(&self.fresh_path()) {
            whole::remove(&lock).map_err(|error| failed("unlock", &lock, &error))?;
        }
        Ok(())
    }

    /// The file that refs and their locks are linked from; it stays until the next one is made.
    fn fresh_path(&self) -> PathBuf {
        self.state_path().join("ref")
    }

    /// Writes `content` to `path` under its lock, if `check` allows it there.
    fn replace(&self, path: &Path, content: &str, check: impl FnOnce() -> Result<()>) -> Result<()> {
        let lock = self.lock_ref(path, content)?;
        check()?;
        whole::rename(&lock.0, path).map_err(|error| failed("move the ref", path, &error))?;
        std::mem::forget(lock);
        Ok(())
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
        Ok(RefLock(lock))
    }

    /// Makes the file `path` appear with `content`, whole; false if something stands there. Missing folders are made, also
    /// when `git pack-refs` just removed them because they were empty.
    fn link_whole(&self, content: &str, path: &Path) -> Result<bool> {
        // Never written in place: a name that a kill left may be the same file as the ref that was made from it.
        let fresh = self.fresh_path();
        let _ = whole::remove(&fresh);
        let written = File::open(&fresh, Open::New(0o666)).and_then(|file| file.write_all(content.as_bytes()));
        written.map_err(|error| failed("write", &fresh, &error))?;
        let mut tries = 0;
        loop {
            match whole::link(&fresh, path) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
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

    /// Writes the reflog lines of `swap`.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_swap(&self, swap: &Swap<'_>, line: Line) -> Result<()> {
        let names = [Some(swap.name), (swap.head == InHead::Yes).then_some("HEAD")];
        names.into_iter().flatten().try_for_each(|name| self.log_ref(name, swap.from, swap.to, swap.log, line))
    }

    /// Appends one line to the log of `name`, where Git would write one.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_ref(&self, name: &str, from: Oid, to: Oid, log: &str, once: Line) -> Result<()> {
        let dir = if name == "HEAD" { self.git_dir() } else { self.common_dir() };
        let path = dir.join("logs").join(name);
        let wanted = self
            .inner
            .config_snapshot()
            .string("core.logAllRefUpdates")
            .map(|value| value.to_string().to_ascii_lowercase());
        let create = !matches!(wanted.as_deref(), Some("false" | "no" | "off" | "0"));
        let file = match File::open(&path, if create { Open::AppendMade } else { Open::Append }) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => {
                let folder = path.parent().unwrap_or(&path);
                whole::make_folder(folder).map_err(|error| failed("make", folder, &error))?;
                let open = File::open(&path, Open::AppendMade);
                open.map_err(|error| failed("open the log", &path, &error))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("open the log", &path, &error).into()),
        };
        let mut line = format!("{from} {to} ").into_bytes();
        line.extend_from_slice(&self.signature(Role::Committer)?);
        let told = line.len();
        line.push(b'\t');
        line.extend(log.bytes().map(|b| if b == b'\n' { b' ' } else { b }));
        line.push(b'\n');
        if once == Line::Once {
            let tail = tail(&file, &path)?;
            let same = |line: &str| line.starts_with(&format!("{from} {to} ")) && line.ends_with(&format!("\t{log}"));
            let torn = tail.rsplit('\n').next().unwrap_or_default().as_bytes();
            if tail[..tail.len() - torn.len()].lines().any(same) {
                return Ok(());
            }
            // A last line that a crash tore is completed if it is this one, else ended.
            match rest(&line, torn, told) {
                Some(rest) => line = rest.to_vec(),
                None => line.insert(0, b'\n'),
            }
        }
        file.write_all(&line).map_err(|error| failed("write the log", &path, &error).into())
    }
}

/// The last lines of a log.
fn tail(file: &File, path: &Path) -> Result<String> {
    const TAIL: u64 = 4096;
    let wrap = |error: std::io::Error| failed("read the log", path, &error);
    let len = file.len().map_err(wrap)?;
    let mut tail = vec![0; usize::try_from(len.min(TAIL)).unwrap_or(0)];
    file.read_exact_at(&mut tail, len.saturating_sub(TAIL)).map_err(wrap)?;
    Ok(String::from_utf8_lossy(&tail).into_owned())
}

/// What is still to be written of `line`, which tells its moment before `told`, after its beginning `torn`: the moment may be another.
fn rest<'l>(line: &'l [u8], torn: &[u8], told: usize) -> Option<&'l [u8]> {
    let moment = memchr::memrchr(b'>', &line[..told]).map_or(told, |at| at + 1);
    let differs = torn.iter().zip(line).position(|(torn, line)| torn != line);
    let same = differs.is_none_or(|at| at >= moment)
        && torn.iter().skip(told).eq(line.iter().skip(told).take(torn.len().saturating_sub(told)));
    (same && torn.len() < line.len()).then(|| &line[torn.len()..])
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
    let shown = |value: Option<Oid>| value.map_or_else(|| "nothing".to_owned(), |oid| oid.to_string());
    let (expected, stands) = (shown(expected), shown(stands));
    let message = format!("{name} moved during the call: expected {expected}, found {stands}. Nothing was changed.");
    Finding::new(Code::SessionMoved, message, "Repeat the call: it will start from what stands there now.")
        .with("ref", name)
}

fn locked(lock: &Path) -> Finding {
    Finding::new(
        Code::SessionBusy,
        format!("Another program holds the lock {}. Nothing was changed.", lock.display()),
        "Repeat the call. If no Git program runs here, a crashed one left the lock: a person may remove it.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_completed_if_it_is_the_same_but_for_its_moment() {
        let line = b"11 22 A <a@b> 1700000055 +0000\tedt undo\n";
        let completed = |torn: &[u8]| rest(line, torn, 30).map(|rest| [torn, rest].concat());
        assert_eq!(completed(b"").as_deref(), Some(line.as_slice()));
        assert_eq!(completed(&line[..4]).as_deref(), Some(line.as_slice()));
        assert_eq!(completed(&line[..35]).as_deref(), Some(line.as_slice()));
        let earlier = b"11 22 A <a@b> 1699999999 +0000\tedt undo\n";
        assert_eq!(
            completed(&earlier[..22]).as_deref(),
            Some(b"11 22 A <a@b> 1699999955 +0000\tedt undo\n".as_slice())
        );
        assert_eq!(completed(&earlier[..35]).as_deref(), Some(earlier.as_slice()));
        for other in [b"11 23".as_slice(), b"11 22 B", b"11 22 A <a@b> 1700000055 +0000\tedt redo"] {
            assert_eq!(completed(other), None, "{}", String::from_utf8_lossy(other));
        }
    }
}
