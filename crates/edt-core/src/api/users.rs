//! What only the user decides: checkpoints, and comments on a session.

use super::Workspace;
use crate::session::Session;
use crate::session::comments::shown::{CommentReader, comments};
use crate::session::recording::record;
use crate::session::refs::ended::ShownSession;
use crate::types::Comment;
use crate::user_decision::UserDecision;
use crate::{Outcome, Refusal, RepoPath};

/// What only the user decides.
impl Workspace {
    /// Commits the user's uncommitted changes of tracked and new files at or below `paths` (of all
    /// files if it is empty) as the user's, on the session's branch. Ignored files are never
    /// committed. Begins a session if the worktree has none.
    ///
    /// The status of the outcome is `Unchanged` if nothing differs from the session's last commit.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// # std::fs::write(directory.path().join("a.txt"), "mine\n").unwrap();
    /// use edt_core::types::UserDecision;
    ///
    /// // The user pressed "Save my changes".
    /// let saved = ws.checkpoint(Some("before the agent"), &[], UserDecision::made_by_user())?;
    /// assert_eq!(saved.checkpoints.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `FILE_NOT_FOUND` for a path that is neither on disk nor in the session; `REPOSITORY_BUSY`
    /// during a merge or rebase; `NOT_A_FILE` and `FILE_TOO_LARGE` for a path that is named in full.
    /// Nothing is changed then.
    pub fn checkpoint(
        &mut self,
        message: Option<&str>,
        paths: &[RepoPath],
        _: UserDecision,
    ) -> Result<Outcome, Refusal> {
        self.change(|locked| Ok(record::checkpoint(locked, message, paths)?.outcome(locked)))
    }

    /// The comments of the session that `reader` may see, ordered by number. Reading them marks none
    /// as read.
    ///
    /// # Errors
    /// `NO_SESSION` if the worktree has none; `UNSUPPORTED_REPOSITORY` for comments of a later
    /// version; `OBJECT_MISSING`; as [`Workspace::open`].
    pub fn comments(&self, reader: CommentReader) -> Result<Vec<Comment>, Refusal> {
        let (repo, _) = self.read()?;
        let session: Session = ShownSession::required(&repo, &repo.head()?)?.session;
        Ok(comments(&repo, &session, reader)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use crate::{Options, Request, Status};

    #[test]
    fn a_checkpoint_commits_the_users_changes_and_nothing_the_second_time() {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.write("a.txt", "mine\n");
        scratch.write("b.txt", "mine\n");
        let mut workspace = Workspace::open(scratch.root(), Options::default()).unwrap();
        let paths = [RepoPath::parse(b"a.txt").unwrap()];
        let mut saved =
            || workspace.checkpoint(None, &paths, UserDecision::made_by_user()).unwrap();
        let first = saved();
        assert_eq!(
            (first.status, first.commit),
            (Status::Applied, Some(scratch.head().to_string()))
        );
        assert_eq!(
            first.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
            ["a.txt"]
        );
        assert_eq!(saved().status, Status::Unchanged);
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn a_session_without_comments_has_an_empty_list() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let mut workspace = Workspace::open(scratch.root(), Options::default()).unwrap();
        let none = workspace.comments(CommentReader::User).unwrap_err();
        assert_eq!(none.codes(), ["NO_SESSION"]);
        workspace.apply(&Request::new("x").edit("a.txt", "one", "two")).unwrap();
        assert_eq!(workspace.comments(CommentReader::User).unwrap(), []);
    }
}
