//! Operations of Git that are in progress: merges, rebases and their like.

use std::path::Path;

use super::reftable;
use super::repo::Repo;
use edt_types::{Code, Finding, Result};

/// Whether an operation of Git is in progress in the worktree with this Git directory.
pub(super) fn has_operation(git_dir: &Path, has_tables: bool) -> bool {
    let marks = [
        "rebase-merge",
        "rebase-apply",
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "BISECT_LOG",
    ];
    marks.iter().any(|mark| git_dir.join(mark).exists())
        || has_tables && reftable::operation(git_dir).is_some()
}

impl Repo {
    /// The operation of Git that is in progress in this worktree: `merge`, `rebase`, `cherry-pick`,
    /// `revert`, `bisect` or `am`.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        use gix::state::InProgress;
        // A few `stat` calls are nearly always enough; only otherwise gix determines the operation.
        if !has_operation(self.git_dir(), self.has_tables) {
            return None;
        }
        let Some(state) = self.inner.state() else {
            return self.has_tables.then(|| reftable::operation(self.git_dir())).flatten();
        };
        Some(match state {
            InProgress::Merge => "merge",
            InProgress::Rebase | InProgress::RebaseInteractive => "rebase",
            InProgress::CherryPick | InProgress::CherryPickSequence => "cherry-pick",
            InProgress::Revert | InProgress::RevertSequence => "revert",
            InProgress::Bisect => "bisect",
            InProgress::ApplyMailbox | InProgress::ApplyMailboxRebase => "am",
        })
    }

    /// Checks that no merge, rebase or similar operation is in progress, and that no commit of Git
    /// waits for this call: its editor or one of its hooks.
    ///
    /// # Errors
    /// `REPOSITORY_BUSY`.
    pub fn check_idle(&self) -> Result<()> {
        // Git names its locked index to them. The commit fails if HEAD moves meanwhile.
        let index = self.index_path();
        if index.extension().is_some_and(|extension| extension == "lock") && index.exists() {
            let message =
                "A `git commit` is in progress in this worktree, and called this program.";
            let remedy = "Repeat the call when the commit is done.";
            return Err(Finding::new(Code::RepositoryBusy, message, remedy)
                .nothing_changed()
                .with("operation", "commit")
                .into());
        }
        let Some(what) = self.operation() else { return Ok(()) };
        let finish = match what {
            "bisect" => "`git bisect reset`".to_owned(),
            what => format!("`git {what} --continue` or `git {what} --abort`"),
        };
        Err(Finding::new(
            Code::RepositoryBusy,
            format!("A {what} is in progress in this worktree."),
            format!("The user must finish it first: {finish}. Then repeat the call."),
        )
        .nothing_changed()
        .with("operation", what)
        .into())
    }
}
