//! Git's own lock of garbage collection, `gc.pid`.
//!
//! Two repacks at once lose objects: one sees the other's unfinished pack, removes the loose copies
//! of what is in it, and the other then fails and removes its pack. `git gc` prevents that with this
//! lock, and `edt gc` takes the same one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use edt_git::Repo;
use edt_io::disk::is_unsupported;
use edt_io::{clock, failed, fs, process};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// Git takes the lock of a process that began longer ago (`builtin/gc.c`).
const MAX_AGE: Duration = Duration::from_secs(12 * 60 * 60);

/// More than the longest host name and a process id.
const MAX_BYTES: u64 = 512;

/// Keeps `git gc` from running until dropped.
#[must_use = "the lock is held only while this value lives"]
#[derive(Debug)]
pub(crate) struct GcLock {
    path: PathBuf,
}

impl GcLock {
    /// Takes the lock without waiting: a garbage collection may run for hours.
    ///
    /// # Errors
    /// `SESSION_BUSY` with the process that holds it; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub(crate) fn take(repo: &Repo) -> Result<GcLock> {
        let path = repo.common_dir().join("gc.pid");
        let git_lock = path.with_extension("pid.lock");
        // Another worktree's edt may take the lock at the same moment.
        let own = path.with_extension(format!("pid.edt-{}-0", process::process_id()));
        let host = clock::host_name();
        let content = format!("{} {host}", process::process_id());
        // Git writes `gc.pid.lock`, then renames it. A lock file of edt would stay after a kill.
        if git_lock.exists() {
            return Err(busy("Another process", &git_lock).into());
        }
        fs::write_in_place(&own, content.as_bytes())
            .map_err(|error| failed("write", &own, &error))?;
        let taken = install(&own, &path, &git_lock, &host);
        let _ = fs::remove_file(&own);
        taken?;
        let is_own =
            fs::read_small(&path, MAX_BYTES).is_some_and(|held| held == content.as_bytes());
        // Git began at the same moment, before it could see this lock.
        if git_lock.exists() || !is_own {
            if is_own {
                let _ = fs::remove_file(&path);
            }
            return Err(busy("Another process", &git_lock).into());
        }
        Ok(GcLock { path })
    }
}

/// Whether the process that took the lock at `path` has ended.
pub(crate) fn is_abandoned(path: &Path) -> bool {
    fs::read_small(path, MAX_BYTES).is_some() && holder(path, &clock::host_name()).is_none()
}

/// Whether a process that has ended left Git's lock `gc.pid.lock` at `path`. One without content is
/// being written.
pub(crate) fn is_left(path: &Path) -> bool {
    fs::read_small(path, MAX_BYTES).is_some_and(|bytes| !bytes.is_empty()) && is_abandoned(path)
}

/// Moves `own` to `path`, where the file of a process that has ended may be.
fn install(own: &Path, path: &Path, git_lock: &Path, host: &str) -> Result<()> {
    let fail = |error: std::io::Error| failed("write", path, &error);
    match fs::rename_no_replace(own, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        installed => return Ok(installed.map_err(fail)?),
    }
    if let Some(holder) = holder(path, host) {
        return Err(busy(&holder, path).into());
    }
    match fs::exchange(own, path) {
        Err(error) if is_unsupported(&error) => return replace(own, path, git_lock, host),
        done => done.map_err(fail)?,
    }
    // Another process may have taken the lock since.
    if let Some(holder) = holder(own, host) {
        fs::exchange(own, path).map_err(fail)?;
        return Err(busy(&holder, path).into());
    }
    Ok(())
}

/// As [`install`], where files cannot be exchanged. Who replaces the file holds `git_lock`, as Git
/// does: so the file that goes is that of a process that has ended. A kill in between leaves
/// `git_lock`, which names the process.
fn replace(own: &Path, path: &Path, git_lock: &Path, host: &str) -> Result<()> {
    let fail = |error: std::io::Error| failed("write", path, &error);
    let exists = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AlreadyExists;
    match fs::link(own, git_lock) {
        Err(error) if exists(&error) => return Err(busy("Another process", git_lock).into()),
        linked => linked.map_err(fail)?,
    }
    let installed = match holder(path, host) {
        Some(holder) => Err(busy(&holder, path).into()),
        None => match remove_if_there(path).and_then(|()| fs::rename_no_replace(git_lock, path)) {
            Err(error) if exists(&error) => Err(busy("Another process", path).into()),
            done => done.map_err(|error| fail(error).into()),
        },
    };
    if installed.is_err() {
        let _ = fs::remove_file(git_lock);
    }
    installed
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl Drop for GcLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The process that holds the lock at `path`, by Git's rules: it runs on this host, or it is on
/// another host and the lock is young.
fn holder(path: &Path, host: &str) -> Option<String> {
    let bytes = fs::read_small(path, MAX_BYTES)?;
    let age = clock::system().duration_since(fs::modified(path)?).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.split_whitespace();
    let (id, holding_host) = (words.next()?.parse().ok()?, words.next()?);
    let runs = holding_host != host || process::is_running(id);
    (runs && age <= MAX_AGE).then(|| format!("Process {id} on {holding_host}"))
}

fn busy(holder: &str, path: &Path) -> Finding {
    Finding::new(
        Code::SessionBusy,
        format!(
            "{holder} collects garbage in this repository. It holds the lock {}.",
            path.shown()
        ),
        "Repeat `edt gc` when that process has ended. If no Git or edt program collects garbage \
         here, a killed one left the lock: ask the user to remove it.",
    )
    .nothing_changed()
}

#[cfg(test)]
mod tests {
    use edt_io::spawn;

    use super::*;
    use crate::tests::Scratch;

    fn is_busy(scratch: &Scratch) -> bool {
        let taken = GcLock::take(&scratch.repo());
        taken.is_err_and(|refusal| refusal.codes() == ["SESSION_BUSY"])
    }

    #[test]
    fn git_gc_and_edt_exclude_each_other() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let repo = scratch.repo();
        let git_gc = || spawn::git(repo.environment(), repo.root_path(), &["gc"], b"").unwrap();
        let held = GcLock::take(&repo).unwrap();
        let refused = git_gc();
        assert!(!refused.ok && refused.stderr.contains("already running"), "{}", refused.stderr);
        assert!(is_busy(&scratch));
        drop(held);
        assert!(git_gc().ok);
        assert!(!is_busy(&scratch));
    }

    #[test]
    fn only_an_abandoned_lock_is_taken_where_files_cannot_be_exchanged() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (me, host) = (process::process_id(), clock::host_name());
        let names = [".git/own", ".git/gc.pid", ".git/gc.pid.lock"];
        let [own, path, git_lock] = names.map(|name| scratch.root().join(name));
        let (dead, live) = (format!("4194304 {host}"), format!("{me} {host}"));
        // The lock, Git's lock of it, and both afterwards.
        for (held, git, expected) in [
            (Some(&dead), None, (Some("own"), None)),
            (Some(&live), None, (Some(live.as_str()), None)),
            (None, None, (Some("own"), None)),
            (Some(&dead), Some(""), (Some(dead.as_str()), Some(""))),
        ] {
            scratch.write(".git/own", "own");
            let write = |name: &str, text: Option<&str>| match text {
                Some(text) => scratch.write(name, text),
                None => remove_if_there(&scratch.root().join(name)).unwrap(),
            };
            write(".git/gc.pid", held.map(String::as_str));
            write(".git/gc.pid.lock", git);
            let taken = replace(&own, &path, &git_lock, &host);
            assert_eq!(taken.is_ok(), expected.0 == Some("own"), "{held:?} {git:?}");
            let found = (scratch.text(".git/gc.pid"), scratch.text(".git/gc.pid.lock"));
            assert_eq!((found.0.as_deref(), found.1.as_deref()), expected, "{held:?} {git:?}");
        }
    }

    #[test]
    fn gits_lock_of_a_killed_process_is_a_leftover_and_one_being_written_is_none() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (me, host) = (process::process_id(), clock::host_name());
        let lock = scratch.root().join(".git/gc.pid.lock");
        for (content, left) in [
            (format!("4194304 {host}"), true),
            (format!("{me} {host}"), false),
            (String::new(), false),
        ] {
            scratch.write(".git/gc.pid.lock", &content);
            assert_eq!(is_left(&lock), left, "{content:?}");
        }
    }

    #[test]
    fn a_lock_counts_by_gits_rules() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let (me, host) = (process::process_id(), clock::host_name());
        // Linux has no process with the highest id that the kernel can ever give (2^22).
        for (content, busy) in [
            (format!("{me} {host}"), true),
            (format!("4194304 {host}"), false),
            (format!("{me} other-host"), true),
            ("nonsense".to_owned(), false),
            (String::new(), false),
        ] {
            scratch.write(".git/gc.pid", &content);
            assert_eq!(is_busy(&scratch), busy, "{content:?}");
            assert!(!scratch.root().join(".git/gc.pid.lock").exists(), "{content:?}");
            assert_eq!(scratch.root().join(".git/gc.pid").exists(), busy, "{content:?}");
        }
        scratch.write(".git/gc.pid.lock", "");
        assert!(is_busy(&scratch), "Git takes the lock");
        scratch.remove(".git/gc.pid.lock");
        scratch.write(".git/gc.pid", &format!("{me} other-host"));
        let old = clock::system() - MAX_AGE - Duration::from_secs(60);
        let file =
            std::fs::File::options().write(true).open(scratch.root().join(".git/gc.pid")).unwrap();
        file.set_modified(old).unwrap();
        assert!(!is_busy(&scratch));
    }
}
