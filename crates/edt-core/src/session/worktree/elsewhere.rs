//! Recovers what a call left in another worktree of the repository.
//!
//! A landing from a linked worktree changes the worktree of its target. If it is killed, nobody may
//! call edt there for a long time, and the user's Git meets a lock and half of a change.

use std::path::PathBuf;
use std::time::Duration;

use super::options::{Options, trusting};
use crate::session::refs::names::POINTER;
use edt_git::Repo;
use edt_io::lock;
use edt_journal::{open_recovered, peek};
use edt_types::Recovered;
use edt_types::text::Shown as _;

/// Recovers the other worktrees, except those in which a call runs. What cannot be recovered is left
/// to a call there, which reports why.
pub(crate) fn recover(repo: &Repo, options: &Options) -> Vec<Recovered> {
    let mut done = Vec::new();
    // An error is reported by the call that needs these refs.
    let _ = repo.release_orphaned_tables();
    for (linked, state) in peek::state_directories(repo.common_dir()) {
        if state == repo.state_path() || !peek::has_pending(&state) {
            continue;
        }
        let held = lock::acquire(&state.join("lock"), &options.command, Duration::ZERO);
        // Whoever held the lock until now may have closed the journal.
        let Ok(_lock) = held else { continue };
        if linked.as_deref().is_some_and(|name| is_gone(repo, name)) {
            done.extend(repo.unlock_refs_of_gone(&state).ok().and_then(|locks| unlocked(&locks)));
            continue;
        }
        let Some(root) = root_of(repo, linked.as_deref()).filter(|_| peek::has_pending(&state))
        else {
            continue;
        };
        // The caller's environment may name another index or worktree (`GIT_INDEX_FILE` in a hook).
        let Ok(other) = Repo::open_exactly(options.environment, &root) else { continue };
        let other = trusting(other, options);
        if let Ok((_, Some(recovered))) = open_recovered(&other, POINTER) {
            let detail = format!("In the worktree {}: {}", root.shown(), recovered.detail);
            let there = |paths: Vec<String>| -> Vec<String> {
                paths.into_iter().map(|path| root.join(path).shown()).collect()
            };
            let (files, skipped) = (there(recovered.files), there(recovered.skipped));
            done.push(Recovered { detail, files, skipped, ..recovered });
        }
    }
    done
}

/// Whether Git no longer knows the linked worktree with that name.
pub(crate) fn is_gone(repo: &Repo, linked: &std::ffi::OsStr) -> bool {
    repo.common_dir().join("worktrees").join(linked).symlink_metadata().is_err()
}

/// Reports the locks that a call left in a worktree that is gone; `None` if there are none.
fn unlocked(locks: &[PathBuf]) -> Option<Recovered> {
    let names: Vec<String> = locks.iter().map(|lock| lock.shown()).collect();
    let detail = format!(
        "A call was killed in a worktree that is gone. Its locks were removed: {}.",
        names.join(", ")
    );
    (!locks.is_empty()).then_some(Recovered {
        action: "skipped",
        commit: None,
        files: Vec::new(),
        skipped: Vec::new(),
        detail,
    })
}

/// The root of the linked worktree with that name, or of the main one.
fn root_of(repo: &Repo, linked: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    let worktrees = repo.other_worktrees(POINTER);
    let is_wanted = |one: &&edt_git::Worktree| match linked {
        Some(name) => !one.is_main() && one.git_dir.file_name() == Some(name),
        None => one.is_main(),
    };
    repo.worktree_root(worktrees.iter().find(is_wanted)?)
}
