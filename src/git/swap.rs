//! The commit point: one branch moved by compare-and-swap, its reflog lines with it.
//!
//! `<ref>.lock` appears whole, by a hard link to a file that holds the new value; the old value is compared under it; it is
//! renamed onto the ref. Three system calls, in which alone a kill can leave a lock, and one that names the commit it was for:
//! the next call knows it for edt's own and removes it. The reflog lines follow, each in one write; a kill before them is mended.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Oid;
use super::identity::Role;
use super::refs::moved;
use super::repo::{InHead, Repo};
use crate::base::Result;
use crate::io::clock::Countdown;
use crate::io::failed;

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

/// A file that is removed again.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Repo {
    /// Moves a branch.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`. The ref
    /// then has the value it had.
    pub fn swap_ref(&self, swap: &Swap<'_>) -> Result<()> {
        let path = self.common_dir().join(swap.name);
        let fresh = Scratch(self.state_path().join("ref"));
        std::fs::write(&fresh.0, format!("{}\n", swap.to)).map_err(|error| failed("write", &fresh.0, &error))?;
        let lock = self.lock_ref(&path, &fresh.0)?;
        let stands = self.ref_value(swap.name)?;
        if stands != Some(swap.from) {
            return Err(moved(swap.name, Some(swap.from), stands).into());
        }
        std::fs::rename(&lock.0, &path).map_err(|error| failed("move the ref", &path, &error))?;
        std::mem::forget(lock);
        Ok(())
    }

    fn lock_ref(&self, path: &Path, fresh: &Path) -> Result<Scratch> {
        let lock = lock_path(path);
        let mut countdown = Countdown::new(LOCK_WAIT);
        loop {
            match std::fs::hard_link(fresh, &lock) {
                Ok(()) => return Ok(Scratch(lock)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    if !countdown.pause() {
                        return Err(self.not_written(&format!("the lock {} exists", lock.display())).into());
                    }
                }
                // The ref is packed, or `git pack-refs` just removed the empty folder.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && countdown.pause() => {
                    let folder = path.parent().unwrap_or(path);
                    std::fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
                }
                Err(error) => return Err(failed("lock a ref at", &lock, &error).into()),
            }
        }
    }

    /// Removes the lock of the branch `name` if it is one that edt took to move it to `to`.
    pub fn unlock_ref(&self, name: &str, to: Oid) {
        let lock = lock_path(&self.common_dir().join(name));
        if std::fs::read_to_string(&lock).is_ok_and(|text| text.trim_end() == to) {
            let _ = std::fs::remove_file(&lock);
        }
    }

    /// Writes the reflog lines of `swap`, unless they are there.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_swap(&self, swap: &Swap<'_>) -> Result<()> {
        let names = [Some(swap.name), (swap.head == InHead::Yes).then_some("HEAD")];
        names.into_iter().flatten().try_for_each(|name| self.log_ref(name, swap.from, swap.to, swap.log))
    }

    /// Appends one line to the log of `name`, where Git would write one; not again if it is the last one there. A last line
    /// that a crash tore is ended first.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn log_ref(&self, name: &str, from: Oid, to: Oid, log: &str) -> Result<()> {
        let dir = if name == "HEAD" { self.git_dir() } else { self.common_dir() };
        let path = dir.join("logs").join(name);
        let wanted = self
            .inner
            .config_snapshot()
            .string("core.logAllRefUpdates")
            .map(|value| value.to_string().to_ascii_lowercase());
        let create = !matches!(wanted.as_deref(), Some("false" | "no" | "off" | "0"));
        let mut file = match File::options().read(true).append(true).create(create).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => {
                let folder = path.parent().unwrap_or(&path);
                std::fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
                let open = File::options().read(true).append(true).create(true).open(&path);
                open.map_err(|error| failed("open the log", &path, &error))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("open the log", &path, &error).into()),
        };
        let mut line = match ends(&file, &path)? {
            Ends::With(last) if last.starts_with(&format!("{from} {to} ")) && from != to => return Ok(()),
            Ends::With(_) => Vec::new(),
            Ends::Torn => b"\n".to_vec(),
        };
        line.extend_from_slice(format!("{from} {to} ").as_bytes());
        line.extend_from_slice(&self.signature(Role::Committer)?);
        line.push(b'\t');
        line.extend(log.bytes().map(|b| if b == b'\n' { b' ' } else { b }));
        line.push(b'\n');
        file.write_all(&line).map_err(|error| failed("write the log", &path, &error).into())
    }
}

/// How a log ends.
enum Ends {
    /// With this whole line (empty if the log is).
    With(String),
    /// In the middle of a line.
    Torn,
}

fn ends(file: &File, path: &Path) -> Result<Ends> {
    // Longer than any line of edt's own up to its message.
    const TAIL: u64 = 4096;
    let wrap = |error: std::io::Error| failed("read the log", path, &error);
    let len = file.metadata().map_err(wrap)?.len();
    let mut tail = vec![0; usize::try_from(len.min(TAIL)).unwrap_or(0)];
    file.read_exact_at(&mut tail, len.saturating_sub(TAIL)).map_err(wrap)?;
    let Some(body) = tail.strip_suffix(b"\n") else {
        return Ok(if tail.is_empty() { Ends::With(String::new()) } else { Ends::Torn });
    };
    let start = memchr::memrchr(b'\n', body).map_or(0, |at| at + 1);
    Ok(Ends::With(String::from_utf8_lossy(&body[start..]).into_owned()))
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
