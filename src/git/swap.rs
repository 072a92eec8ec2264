//! The commit point: one branch moved by compare-and-swap, its reflog lines with it.
//!
//! As Git does it: `<ref>.lock` is created with the new value, the old value is compared under it, the reflog lines are
//! appended, the lock is renamed onto the ref. Each reflog line is one write, so that a crash cannot tear it.

use std::fs::File;
use std::io::Write as _;
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

/// The lock of a ref, removed unless the ref was moved.
struct RefLock {
    path: PathBuf,
    file: File,
}

impl Drop for RefLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Repo {
    /// Moves the ref `name` from the value `from` to `to`; with `head`, HEAD's log gets the line too.
    ///
    /// # Errors
    /// `SESSION_MOVED` if it has another value; `SESSION_BUSY` if its lock is held; `IO_ERROR`, `GIT_DIR_READ_ONLY`. The ref
    /// then has the value it had.
    pub fn swap_ref(&self, name: &str, from: Oid, to: Oid, log: &str, head: InHead) -> Result<()> {
        let path = self.common_dir().join(name);
        let mut lock = self.lock_ref(&path)?;
        lock.file.write_all(format!("{to}\n").as_bytes()).map_err(|error| failed("write", &lock.path, &error))?;
        let stands = self.ref_value(name)?;
        if stands != Some(from) {
            return Err(moved(name, Some(from), stands).into());
        }
        self.log_ref(name, from, to, log)?;
        if head == InHead::Yes {
            self.log_ref("HEAD", from, to, log)?;
        }
        std::fs::rename(&lock.path, &path).map_err(|error| failed("move the ref", &path, &error))?;
        // The lock's name is gone; only its handle is dropped.
        lock.path = PathBuf::new();
        Ok(())
    }

    fn lock_ref(&self, path: &Path) -> Result<RefLock> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock_path = PathBuf::from(name);
        let mut countdown = Countdown::new(LOCK_WAIT);
        loop {
            match File::options().write(true).create_new(true).open(&lock_path) {
                Ok(file) => return Ok(RefLock { path: lock_path, file }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    if !countdown.pause() {
                        return Err(self.not_written(&format!("the lock {} exists", lock_path.display())).into());
                    }
                }
                // The ref is packed, or `git pack-refs` just removed the empty folder.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && countdown.pause() => {
                    let folder = path.parent().unwrap_or(path);
                    std::fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
                }
                Err(error) => return Err(failed("lock a ref at", &lock_path, &error).into()),
            }
        }
    }

    /// Appends one line to the log of `name`, where Git would.
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
        let mut file = match File::options().append(true).create(create).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && create => {
                let folder = path.parent().unwrap_or(&path);
                std::fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
                let open = File::options().append(true).create(true).open(&path);
                open.map_err(|error| failed("open the log", &path, &error))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("open the log", &path, &error).into()),
        };
        let mut line = format!("{from} {to} ").into_bytes();
        line.extend_from_slice(&self.signature(Role::Committer)?);
        line.push(b'\t');
        line.extend(log.bytes().map(|b| if b == b'\n' { b' ' } else { b }));
        line.push(b'\n');
        file.write_all(&line).map_err(|error| failed("write the log", &path, &error).into())
    }
}
