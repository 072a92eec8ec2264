//! What killed calls left in the Git directory, for `edt doctor`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::gc_lock;
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::Repo;
use edt_io::{failed, fs, lock, process, spawn};
use edt_journal::lost;
use edt_types::Result;

/// Much longer than a running call needs from the creation of a file to its renaming.
const IN_USE: Duration = Duration::from_millis(50);

/// The locks that are edt's own, the files that transactions staged, and temporary files. Empty
/// while a call runs in this worktree: what it has is no leftover.
#[must_use]
pub fn find(repo: &Repo) -> Vec<PathBuf> {
    let state = repo.state_path();
    if !state.join("lock").exists() {
        return absolute(&[temporary_files(repo), in_worktree(repo)].concat());
    }
    // A process that was just forked holds the lock of its parent until it executes its program.
    let wait = Duration::from_millis(50);
    let Ok(_lock) = lock::acquire(&state.join("lock"), "doctor", wait) else {
        return Vec::new();
    };
    all(repo)
}

fn all(repo: &Repo) -> Vec<PathBuf> {
    let mut found = lost::own_locks(repo);
    found.extend(lost::staged_files(repo.state_path()));
    found.extend(temporary_files(repo));
    found.extend(in_worktree(repo));
    absolute(&found)
}

/// A user who works elsewhere looks for them, and Git names its directory by an absolute path.
fn absolute(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| fs::real_path(path)).collect()
}

/// Temporary files of dead processes in `directory` and below, which is edt's own.
#[must_use]
pub fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::names_in(directory).into_iter().map(|name| directory.join(name)) {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            found.extend(below(&path));
        } else if is_of_dead_process(&path) {
            found.push(path);
        }
    }
    found
}

/// Temporary files of dead processes among the untracked files of the worktree.
fn in_worktree(repo: &Repo) -> Vec<PathBuf> {
    let args = ["ls-files", "-z", "--others", "--", "*.edt-*"];
    let Ok(ran) = spawn::git(repo.environment(), repo.root_path(), &args, b"") else {
        return Vec::new();
    };
    let paths = ran.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths = paths.map(|path| repo.root_path().join(OsStr::from_bytes(path)));
    paths.filter(|path| is_of_dead_process(path)).collect()
}

/// Removes `found`, as [`find`] and [`below`] return it. Staged files that may be a user's only copy
/// are kept under another name.
///
/// # Errors
/// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
pub fn remove(workspace: &mut LockedWorkspace, found: &[PathBuf]) -> Result<()> {
    lost::release(&workspace.repo)?;
    for path in found {
        let removed = match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) if is_temporary(path) => fs::remove_file(path),
            _ => Ok(()),
        };
        removed.map_err(|error| failed("remove", path, &error))?;
    }
    Ok(())
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
    if name.ends_with(b".edt-new") || name == b"journal.new" {
        return true;
    }
    match name {
        b"gc.pid" => gc_lock::is_abandoned(path),
        b"gc.pid.lock" => gc_lock::is_left(path),
        _ => is_of_dead_process(path),
    }
}

fn is_of_dead_process(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.rsplit_once(".edt-").and_then(|(_, end)| end.split_once('-'));
    numbers.is_some_and(|(process, number)| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && process.parse().is_ok_and(|process| !process::is_running(process))
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
        let running = format!(".git/edt/main/x.edt-{}-0", process::process_id());
        scratch.write(&running, "x");
        // Nothing is found while the lock is held.
        let found = find(&scratch.repo());
        assert_eq!(found.len(), 2);
        remove(&mut scratch.open(), &found).unwrap();
        assert_eq!(find(&scratch.repo()), Vec::<PathBuf>::new());
        assert!(scratch.text(&running).is_some());
    }

    #[test]
    fn nothing_is_a_leftover_while_a_call_runs() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.write(".git/edt/main/stage/1f-0123abcd-0", "x");
        let held = scratch.open();
        assert_eq!(find(&held.repo), Vec::<PathBuf>::new());
        drop(held);
        assert_eq!(find(&scratch.repo()).len(), 1);
    }
}
