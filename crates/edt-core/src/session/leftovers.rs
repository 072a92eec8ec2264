//! What killed calls left in the Git directory, for `edt doctor`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gc_lock;
use super::workspace::LockedWorkspace;
use edt_git::Repo;
use edt_io::{clock, failed, fs, lock};
use edt_journal::{lost, sweep};
use edt_types::Result;

/// Much longer than a running call needs from the creation of a file to its renaming.
const IN_USE: Duration = Duration::from_millis(50);

/// The locks that are edt's own, the files that transactions staged, and temporary files. Empty
/// while a call runs in this worktree: what it has is no leftover.
#[must_use]
pub fn find(repo: &Repo) -> Vec<PathBuf> {
    let state = repo.state_path();
    if !state.join("lock").exists() {
        return absolute(&temporary_files(repo));
    }
    let Ok(_lock) = lock::acquire(&state.join("lock"), "doctor", Duration::ZERO) else {
        return Vec::new();
    };
    all(repo)
}

fn all(repo: &Repo) -> Vec<PathBuf> {
    let mut found = lost::own_locks(repo);
    found.extend(sweep::staged_files(repo.state_path()));
    found.extend(temporary_files(repo));
    absolute(&found)
}

/// A user who works elsewhere looks for them, and Git names its directory by an absolute path.
fn absolute(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| fs::real_path(path)).collect()
}

/// Removes what [`find`] finds. Staged files that may be a user's only copy are kept under another
/// name.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub fn remove(workspace: &mut LockedWorkspace) -> Result<Vec<PathBuf>> {
    let LockedWorkspace { repo, journal, .. } = workspace;
    let found = all(repo);
    // It removes staged files.
    journal.checkpoint()?;
    lost::release(repo)?;
    for path in temporary_files(repo) {
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| failed("remove", &path, &error))?;
    }
    Ok(found)
}

/// Files that were to replace others, and the Git directory of a landing's hooks.
fn temporary_files(repo: &Repo) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![repo.common_dir().to_owned()];
    while let Some(directory) = open.pop() {
        for name in fs::names_in(&directory) {
            let path = directory.join(&name);
            let is_dir = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            if is_dir && path == repo.state_path().join("land") {
                found.push(path);
            } else if is_dir {
                // Git removes its own temporary objects.
                let skipped = ["objects", "modules", "lfs"].iter().any(|other| name == *other);
                open.extend((!skipped).then_some(path));
            } else if is_temporary(&path) {
                found.push(path);
            }
        }
    }
    if !found.is_empty() {
        std::thread::sleep(IN_USE);
        found.retain(|path| path.symlink_metadata().is_ok());
    }
    found.sort();
    found
}

/// Whether the file has a name under which edt writes what it then renames, and no process that runs
/// writes it.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_bytes();
    if name.ends_with(b".edt-new") || name == b"journal.new" || name == b"gc.pid.edt" {
        return true;
    }
    if name == b"gc.pid" {
        return gc_lock::is_abandoned(path);
    }
    let name = String::from_utf8_lossy(name);
    let numbers = name.rsplit_once(".edt-").and_then(|(_, end)| end.split_once('-'));
    numbers.is_some_and(|(process, number)| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && process.parse().is_ok_and(|process| !clock::is_running(process))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn temporary_files_of_dead_processes_are_found_and_removed() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        let left = [".git/hooks/pre-commit.edt-new", ".git/edt/main/x.json.edt-999999999-0"];
        left.iter().for_each(|path| scratch.write(path, "x"));
        let running = format!(".git/edt/main/x.edt-{}-0", clock::process_id());
        scratch.write(&running, "x");
        assert_eq!(find(&scratch.repo()).len(), 2);
        assert_eq!(remove(&mut scratch.open()).unwrap().len(), 2);
        assert_eq!(find(&scratch.repo()), [PathBuf::new(); 0]);
        assert!(scratch.text(&running).is_some());
    }

    #[test]
    fn nothing_is_a_leftover_while_a_call_runs() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.write(".git/edt/main/stage/1f-0123abcd-0", "x");
        let held = scratch.open();
        assert_eq!(find(&held.repo), [PathBuf::new(); 0]);
        drop(held);
        assert_eq!(find(&scratch.repo()).len(), 1);
    }
}
