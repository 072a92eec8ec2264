//! The state of a worktree: its session, and the paths that differ.

use super::current::Session;
use super::path_state::PathState;
use edt_git::diff::{TreeDifference, Untracked};
use edt_git::{InHead, Repo};
use edt_types::{Recovered, RepoPath, Result, SessionReport};

/// The session of a worktree, and the paths that differ from what is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeStatus {
    /// The session of this worktree.
    pub session: Option<SessionReport>,
    /// The newest commit of the session's branch, as a hex object id.
    pub tip: Option<String>,
    /// Whether HEAD is on the session's branch.
    pub switched: bool,
    /// How many edits the session has.
    pub edits: u64,
    /// Paths that differ between the session's base and its tip.
    pub changed: Vec<String>,
    /// Paths that `git status` lists as uncommitted or untracked.
    pub uncommitted: Vec<String>,
    /// Paths of the session that were changed outside edt. The next edit of such a path records the
    /// change first, as a checkpoint.
    pub foreign: Vec<String>,
    /// An interrupted transaction that this call recovered.
    pub recovered: Option<Recovered>,
}

/// The status of the worktree of `repo`.
///
/// # Errors
/// `NO_SESSION` if HEAD is on a shadow branch without a base; `IO_ERROR`; `OBJECT_MISSING`.
pub fn status(repo: &Repo, recovered: Option<Recovered>) -> Result<WorktreeStatus> {
    let mut status = WorktreeStatus { recovered, ..WorktreeStatus::default() };
    if let Some(session) = Session::current(repo, &repo.head()?)? {
        let differs = repo.tree_diff(repo.tree_of(session.base)?, repo.tree_of(session.tip)?)?;
        status.tip = Some(session.tip.to_string());
        status.switched = session.head == InHead::Yes;
        status.edits = session.edits(repo)?;
        status.changed = differs.iter().map(|differs| differs.path.to_string()).collect();
        status.foreign = drifted(repo, &session, &differs)?;
        status.session = Some(session.report(false));
    }
    let uncommitted = repo.uncommitted(Untracked::Directories)?;
    status.uncommitted = uncommitted.iter().map(ToString::to_string).collect();
    Ok(status)
}

/// The paths of the session whose bytes on disk differ from the recorded ones. Paths that edt
/// cannot edit are omitted.
fn drifted(repo: &Repo, session: &Session, differs: &[TreeDifference]) -> Result<Vec<String>> {
    let tree = repo.tree_of(session.tip)?;
    let changed = |path: &&RepoPath| {
        PathState::at(repo, tree, None, path)
            .is_ok_and(|path_state| path_state.disk_file() != path_state.tip)
    };
    Ok(differs
        .iter()
        .map(|differs| &differs.path)
        .filter(changed)
        .map(ToString::to_string)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    fn edited() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    #[test]
    fn a_worktree_without_a_session_has_only_uncommitted_paths() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("new.txt", "x\n");
        let expected =
            WorktreeStatus { uncommitted: vec!["new.txt".into()], ..WorktreeStatus::default() };
        assert_eq!(status(&scratch.repo(), None).unwrap(), expected);
    }

    #[test]
    fn a_file_that_was_changed_outside_edt_is_foreign() {
        let scratch = edited();
        scratch.write("a.txt", "mine\n");
        let found = status(&scratch.repo(), None).unwrap();
        assert_eq!(found.foreign, ["a.txt"]);
        assert_eq!(found.uncommitted, ["a.txt"]);
    }

    #[test]
    fn an_edit_is_changed_and_recorded() {
        let scratch = edited();
        let found = status(&scratch.repo(), None).unwrap();
        assert_eq!((found.edits, found.switched), (1, true));
        assert_eq!(
            (found.tip, found.changed),
            (Some(scratch.head().to_string()), vec!["a.txt".into()])
        );
        assert_eq!((found.foreign, found.uncommitted), (vec![], vec![]));
    }

    #[test]
    fn a_new_file_is_uncommitted_and_not_foreign() {
        let scratch = edited();
        scratch.write("new.txt", "x\n");
        let found = status(&scratch.repo(), None).unwrap();
        assert_eq!((found.foreign, found.uncommitted), (vec![], vec!["new.txt".into()]));
    }
}
