//! Locks of Git that a killed program left, and of which nothing says any more who made them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::fs;
use super::platform::PROCESSES;
use edt_types::text::{Shown as _, counted, shell_word};

/// A lock that no running program seems to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftLock {
    path: PathBuf,
    minutes: u64,
}

impl LeftLock {
    /// The lock at `path` if it is at least a minute old, no process has it open, and no Git runs in
    /// one of the directories `places`. `None` also if this system does not say so.
    #[must_use]
    pub fn at(path: &Path, places: &[&Path]) -> Option<LeftLock> {
        let minutes = fs::minutes_old(path).filter(|minutes| *minutes >= 1)?;
        let places: Vec<PathBuf> = places.iter().map(|place| fs::real_path(place)).collect();
        let lock = fs::real_path(path);
        let processes: Vec<PathBuf> = fs::names_in(Path::new(PROCESSES))
            .into_iter()
            .filter(|name| name.as_bytes().iter().all(u8::is_ascii_digit))
            .map(|name| Path::new(PROCESSES).join(name))
            .collect();
        let is_held = processes.iter().any(|process| may_hold(process, &lock, &places));
        (!processes.is_empty() && !is_held).then(|| LeftLock { path: path.to_owned(), minutes })
    }

    /// What was found, as a sentence.
    #[must_use]
    pub fn found(&self) -> String {
        format!(
            "{} is {} old. No program that can be seen from here has it open, and no Git runs \
             here: a killed program may have left it.",
            self.path.shown(),
            counted(self.minutes, "minute")
        )
    }

    /// What to do, as a sentence.
    #[must_use]
    pub fn remedy(&self) -> String {
        let path = shell_word(self.path.as_os_str().as_bytes());
        format!("The user may remove it: `rm {path}`.")
    }
}

/// Whether the process may hold `lock`: it has the file open, or it is a Git that works in one of the
/// directories. Git closes a lock that it holds. The directory of another user's process is unknown.
fn may_hold(process: &Path, lock: &Path, places: &[PathBuf]) -> bool {
    let links = process.join("fd");
    let mut open = fs::names_in(&links).into_iter().map(|name| links.join(name));
    if open.any(|link| std::fs::read_link(link).is_ok_and(|file| file == lock)) {
        return true;
    }
    let name = fs::read_small(&process.join("comm"), 64).unwrap_or_default();
    name.starts_with(b"git")
        && match std::fs::read_link(process.join("cwd")) {
            Ok(at) => places.iter().any(|place| at.starts_with(place)),
            // It may have ended.
            Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use std::time::Duration;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_lock_is_left_once_it_is_old_and_no_process_has_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index.lock");
        let at = || LeftLock::at(&path, &[dir.path()]);
        assert_eq!(at(), None);
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(at(), None);
        let now = path.metadata().unwrap().modified().unwrap();
        file.set_modified(now - Duration::from_secs(200)).unwrap();
        assert_eq!(at(), None);
        drop(file);
        assert_eq!(at(), Some(LeftLock { path: path.clone(), minutes: 3 }));
        assert!(at().unwrap().remedy().contains(&format!("`rm {}`", path.display())));
    }
}
