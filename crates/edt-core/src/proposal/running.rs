//! Runs side by side: while an approved one goes, no other does, and what its approval covers does
//! not change.
//!
//! Every run holds a lock of the worktree, an approved one alone. The paths that an approval covers
//! are in a file beside it. A file that a killed call left has no holder, and counts for nothing.

use std::path::PathBuf;

use edt_git::Repo;
use edt_io::file::{File, OpenMode};
use edt_io::{failed, fs, lock};
use edt_types::{Code, Effect, Finding, RepoPath, Result};

/// The lock that runs hold, in the worktree's state directory.
const LOCK: &str = "running";
/// The paths that the approval of the running program covers, one a line.
const COVERED: &str = "approved-run";
/// How many bytes of [`COVERED`] are read.
const MAX_BYTES: u64 = 1 << 20;

/// The right of one program to run in the worktree, until it is dropped.
#[derive(Debug)]
pub struct RunTurn {
    covered: Option<PathBuf>,
    _lock: File,
}

impl RunTurn {
    /// The turn of a program that others may run beside.
    ///
    /// # Errors
    /// `SESSION_BUSY` while an approved program runs; `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn beside_others(repo: &Repo) -> Result<RunTurn> {
        let lock = opened(repo)?;
        if lock::try_shared(&lock) {
            return Ok(RunTurn { covered: None, _lock: lock });
        }
        let summary = "An approved program runs in this worktree. Until it ends, no other may: it \
                       could change what the approval is for.";
        Err(busy(summary).with_effect(Effect::NothingRun).into())
    }

    /// The turn of an approved program; `None` while another program runs.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn alone(repo: &Repo) -> Result<Option<RunTurn>> {
        let lock = opened(repo)?;
        Ok(lock::try_exclusive(&lock).then_some(RunTurn { covered: None, _lock: lock }))
    }

    /// From now on edt changes none of `paths`, until [`release`](RunTurn::release).
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn cover(&mut self, repo: &Repo, paths: &[RepoPath]) -> Result<()> {
        let place = repo.state_path().join(COVERED);
        let lines: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_bytes(), b"\n"].concat()).collect();
        fs::write_atomic(&place, &lines, 0o600).map_err(|error| failed("write", &place, &error))?;
        self.covered = Some(place);
        Ok(())
    }

    /// The program has ended.
    pub fn release(&mut self) {
        self.covered.take().into_iter().for_each(|place| drop(fs::remove_file(&place)));
    }
}

impl Drop for RunTurn {
    fn drop(&mut self) {
        self.release();
    }
}

/// The refusal of an approved program while another one runs.
#[must_use]
pub fn not_alone(line: &str) -> Finding {
    let summary = format!(
        "{line} is approved, but another program runs in this worktree: it could change what the \
         approval is for. The approval was not used."
    );
    busy(&summary).with_effect(Effect::NothingRun)
}

/// Refuses to change `paths` if the approval of a running program covers one of them.
///
/// # Errors
/// `SESSION_BUSY` with the path.
pub fn check<'p>(repo: &Repo, mut paths: impl Iterator<Item = &'p RepoPath>) -> Result<()> {
    let Some(lines) = fs::read_small(&repo.state_path().join(COVERED), MAX_BYTES) else {
        return Ok(());
    };
    let covered: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
    let Some(path) = paths.find(|path| covered.contains(&path.as_bytes())) else { return Ok(()) };
    let is_left = opened(repo).is_ok_and(|lock| lock::try_shared(&lock));
    if is_left {
        return Ok(());
    }
    let summary = format!(
        "{} cannot be changed now: an approved program runs, and its approval covers this file.",
        path.text()
    );
    Err(busy(&summary).nothing_changed().at(path).into())
}

fn opened(repo: &Repo) -> Result<File> {
    let place = repo.state_path().join(LOCK);
    File::open(&place, OpenMode::OrCreate)
        .map_err(|error| failed("open the lock file", &place, &error).into())
}

fn busy(summary: &str) -> Finding {
    Finding::new(
        Code::SessionBusy,
        summary,
        "Continue with other work, and repeat the call when the program has ended.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn an_approved_program_runs_alone() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let repo = scratch.open().repo;
        let one = RunTurn::beside_others(&repo).unwrap();
        let other = RunTurn::beside_others(&repo).unwrap();
        assert!(RunTurn::alone(&repo).unwrap().is_none());
        drop((one, other));
        let alone = RunTurn::alone(&repo).unwrap().unwrap();
        assert_eq!(refusal(RunTurn::beside_others(&repo)).code, Code::SessionBusy);
        assert!(RunTurn::alone(&repo).unwrap().is_none());
        drop(alone);
        RunTurn::beside_others(&repo).unwrap();
    }

    #[test]
    fn what_an_approval_covers_does_not_change_while_its_program_runs() {
        let scratch = Scratch::with(&[("deploy.sh", "one\n"), ("a.txt", "one\n")]);
        let repo = scratch.open().repo;
        let mut alone = RunTurn::alone(&repo).unwrap().unwrap();
        alone.cover(&repo, &[path("deploy.sh")]).unwrap();
        scratch.edit("other", "a.txt", "one", "two");
        let request = crate::txn::Request::new("x").edit("deploy.sh", "one", "two");
        let refused = |scratch: &Scratch| {
            let mut workspace = scratch.open();
            crate::txn::transact(&mut workspace, &request, edt_types::DryRun::No).is_err()
        };
        assert!(refused(&scratch));
        assert_eq!(scratch.text("deploy.sh").as_deref(), Some("one\n"));
        alone.release();
        assert!(!refused(&scratch));
    }

    #[test]
    fn the_list_of_a_killed_call_counts_for_nothing() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let repo = scratch.open().repo;
        std::fs::write(repo.state_path().join(COVERED), "a.txt\n").unwrap();
        check(&repo, [path("a.txt")].iter()).unwrap();
    }
}
