//! The public interface: one type for a worktree, and a builder for requests.

mod proposals;
mod request;
mod users;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use edt_git::Repo;
use edt_types::{DryRun, Outcome, Recovered, SessionReport, Status, Warning};

use crate::proposal::landing::land;
use crate::proposal::propose::apply_or_propose;
use crate::session::back::abandon::abandon;
use crate::session::back::part::FilePart;
use crate::session::back::revert::{revert, revert_part};
use crate::session::back::undo::{BranchMove, MoveOptions, UndoTarget, redo, undo};
use crate::session::landing::unland::{UnlandOptions, unland};
use crate::session::refs::commit::Commit;
use crate::session::refs::ended::ShownSession;
use crate::session::refs::revision;
use crate::session::views::file_diff;
use crate::session::views::status::status;
use crate::session::worktree::begin::{BeginOptions, HeadSwitch, begin};
use crate::session::worktree::options::Cache;
use crate::session::{LockedWorkspace, Session};
use crate::txn::{self, Request, RestoreTarget, tried};
use crate::types::{FileDiff, LogEntry, WorktreeStatus};
use crate::{Land, Options, Refusal, RepoPath};

/// A Git worktree in which every edit is one guarded transaction and one commit on a shadow branch.
///
/// No lock is held between calls: other processes of edt, and plain Git, may work in the same
/// worktree. Every call takes the worktree's lock, first completes or rolls back a transaction that
/// a crash interrupted, and sees the state that it then finds. A call that only reads releases the
/// lock before it reads.
#[derive(Debug)]
pub struct Workspace {
    start: PathBuf,
    options: Options,
    recovered: Option<Recovered>,
    /// Warnings of interrupted programs that no outcome has yet.
    interrupted: Vec<Warning>,
}

impl Workspace {
    /// Opens the worktree that contains `start`.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`; `UNSUPPORTED_REPOSITORY` (bare, an unknown extension, of another user);
    /// `SESSION_BUSY` if another process holds the lock for longer than
    /// [`Options::lock_wait`](crate::Options); `GIT_DIR_READ_ONLY`; `IO_ERROR`. A failure leaves
    /// everything as it was, except a recovered transaction.
    pub fn open(start: impl AsRef<Path>, mut options: Options) -> Result<Workspace, Refusal> {
        options.cache.get_or_insert_with(|| Arc::new(Cache::default()));
        let locked = LockedWorkspace::open(start.as_ref(), options.clone())?;
        let start = locked.repo.real_root()?;
        Ok(Workspace { start, options, recovered: locked.recovered, interrupted: Vec::new() })
    }

    /// The worktree's root, as an absolute path without symbolic links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.start
    }

    /// What [`Workspace::open`] recovered after a crash.
    #[must_use]
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_ref()
    }

    /// Applies all edits of `request`, or none, as one commit on the session's branch. Begins a
    /// session if the worktree has none.
    ///
    /// The status of the outcome is `Applied`, or `Unchanged` if the files have the wanted content
    /// already.
    ///
    /// # Errors
    /// Every finding that refuses the request. No file, no index entry and no ref is changed then.
    /// `APPROVAL_REQUIRED` has the number of the proposal that waits for the user.
    pub fn apply(&mut self, request: &Request) -> Result<Outcome, Refusal> {
        request.check().map_err(|found| self.refused_unread(request, found))?;
        self.change(|locked| apply_or_propose(locked, request, DryRun::No))
    }

    /// Judges `request` without writing: [`Workspace::apply`] up to its first write.
    ///
    /// # Errors
    /// As [`Workspace::apply`].
    pub fn check(&mut self, request: &Request) -> Result<Outcome, Refusal> {
        request.check()?;
        self.change(|locked| apply_or_propose(locked, request, DryRun::Yes))
    }

    /// Begins the session `name`, or one named after the current branch. HEAD switches to its
    /// branch unless policy says otherwise; no file changes. In a session, the new one starts from
    /// the branch that the session began on, and the files follow.
    ///
    /// # Errors
    /// `SESSION_EXISTS`; `BAD_REQUEST` for a name that Git does not accept; `REPOSITORY_BUSY` during
    /// a merge or rebase; `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn begin(&mut self, name: Option<&str>) -> Result<Outcome, Refusal> {
        let options = BeginOptions {
            name: name.map(str::to_owned),
            switching: HeadSwitch::AsConfigured,
            ..BeginOptions::default()
        };
        self.change(|locked| {
            let begun = begin(locked, &options)?;
            let mut outcome = Outcome::new(Status::Applied);
            outcome.session = Some(begun.session.report(true));
            outcome.files = begun.files;
            outcome.warnings = begun.warnings;
            outcome.recovered.clone_from(&locked.recovered);
            Ok(outcome)
        })
    }

    /// Undoes the last `count` edits of the session. The commits stay at `refs/edt/NAME/undone/N`.
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_UNDO` if the session has fewer edits, or `count` is 0;
    /// `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn undo(&mut self, count: u64) -> Result<Outcome, Refusal> {
        self.move_branch(|locked, session| {
            undo(locked, session, &UndoTarget::Edits(count), MoveOptions::default())
        })
    }

    /// Redoes what the last [`Workspace::undo`] undid.
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_REDO`; `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn redo(&mut self) -> Result<Outcome, Refusal> {
        self.move_branch(|locked, session| redo(locked, session, MoveOptions::default()))
    }

    /// Reverts the edits with these numbers, which [`Outcome::edit`] counts, in one new commit. The
    /// edits between and after them stay, and so do the user's uncommitted lines.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// ws.apply(&edt_core::Request::new("first").edit("a.txt", "1", "one"))?;
    /// ws.apply(&edt_core::Request::new("second").edit("a.txt", "5", "five"))?;
    /// ws.revert(&[1])?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "1\n2\n3\n4\nfive\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `NO_SESSION`; `BAD_REQUEST` for a number that is no edit of the session; `REVERT_CONFLICT` if
    /// a later edit changed the same lines; `UNSAVED_CHANGES` if the user did. Nothing is changed
    /// then.
    pub fn revert(&mut self, edits: &[u64]) -> Result<Outcome, Refusal> {
        self.change(|locked| {
            let session = Session::required(&locked.repo, &locked.repo.head()?)?;
            revert(locked, &session, edits, MoveOptions::default())
        })
    }

    /// Reverts a part of what one edit, or the session as a whole, changed, in one new commit: one
    /// file, or lines of it. The rest of the edit stays, and so do the user's uncommitted lines.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "1\n2\n3\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// use edt_core::types::{ChosenLines, FilePart};
    ///
    /// let request = edt_core::Request::new("both").edit("a.txt", "1", "one").edit("a.txt", "3", "three");
    /// ws.apply(&request)?;
    /// let third = ChosenLines { added: vec![3..=3], removed: vec![3..=3] };
    /// let path = "a.txt".try_into()?;
    /// ws.revert_part(&FilePart { edit: Some(1), path, lines: Some(third) })?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "one\n2\n3\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Workspace::revert`]; `BAD_REQUEST` if the change has no such file or lines, and if the
    /// file has no lines to choose from. Nothing is changed then.
    pub fn revert_part(&mut self, part: &FilePart) -> Result<Outcome, Refusal> {
        self.change(|locked| {
            let session = Session::required(&locked.repo, &locked.repo.head()?)?;
            revert_part(locked, &session, part, MoveOptions::default())
        })
    }

    /// Restores one file to an earlier state, in one new commit. The user's other uncommitted lines
    /// stay. Guards do not check the content, which the file had before.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// use edt_core::types::RestoreTarget;
    ///
    /// ws.apply(&edt_core::Request::new("x").edit("a.txt", "one", "two"))?;
    /// ws.restore(&"a.txt".try_into()?, &RestoreTarget::Latest)?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "one\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_UNDO` if there is no such revision; `BAD_REQUEST` for a commit that
    /// does not exist; `FILE_NOT_FOUND` if the file exists neither there nor now; `PROTECTED_PATH`;
    /// `UNSAVED_CHANGES` if the user changed the same lines. Nothing is changed then.
    pub fn restore(&mut self, path: &RepoPath, to: &RestoreTarget) -> Result<Outcome, Refusal> {
        self.change(|locked| txn::restore(locked, path, to, MoveOptions::default()))
    }

    /// Lands the session: squashes it into one commit on its base branch, three-way merged if that
    /// branch moved. Git's commit hooks run.
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_LAND`; `MERGE_CONFLICT`; `GIT_OPERATION_BLOCKED` if a commit hook
    /// refuses. No branch has moved then.
    #[expect(clippy::needless_pass_by_value, reason = "callers build the options in the call")]
    pub fn land(&mut self, options: Land) -> Result<Outcome, Refusal> {
        self.change(|locked| {
            let session = Session::required(&locked.repo, &locked.repo.head()?)?;
            land(locked, &session, &options)?.outcome(locked, &session)
        })
    }

    /// Undoes the last landing of a session. Its branch moves back if nothing came on top and no
    /// remote has the landing; otherwise a new commit reverts it. The session is open again, and the
    /// landed commit stays at a ref below `refs/edt/NAME/`.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// ws.apply(&edt_core::Request::new("x").edit("a.txt", "one", "two"))?;
    /// let landed = ws.land(edt_core::Land::default())?;
    /// let undone = ws.undo_landing(edt_core::types::UndoLanding::default())?;
    /// assert_eq!(undone.parent, landed.commit);
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "one\n");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `NOTHING_TO_UNDO` without a landing; `MERGE_CONFLICT` if later commits changed the same lines;
    /// `APPROVAL_REQUIRED` for protected paths unless the user asks; `UNSAVED_CHANGES`;
    /// `GIT_OPERATION_BLOCKED` if a commit hook refuses the reverting commit. No branch has moved
    /// then.
    #[expect(clippy::needless_pass_by_value, reason = "callers build the options in the call")]
    pub fn undo_landing(&mut self, options: UnlandOptions) -> Result<Outcome, Refusal> {
        self.change(|locked| unland(locked, &options)?.outcome(locked))
    }

    /// Abandons the session: HEAD and files return to their state before it. The commits stay at
    /// `refs/edt/NAME/abandoned`.
    ///
    /// # Errors
    /// `NO_SESSION`; `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn abandon(&mut self) -> Result<Outcome, Refusal> {
        self.change(|locked| {
            let session = Session::required(&locked.repo, &locked.repo.head()?)?;
            let abandoned = abandon(locked, &session)?;
            locked.observe_undone(session.tip, session.base);
            Ok(abandoned.outcome(locked, &session))
        })
    }

    /// The session of this worktree; `None` if it has none.
    ///
    /// # Errors
    /// `NO_SESSION` if HEAD is on a branch `edt/NAME` that has no recorded base; as
    /// [`Workspace::open`].
    pub fn session(&self) -> Result<Option<SessionReport>, Refusal> {
        let (repo, _) = self.read()?;
        Ok(Session::current(&repo, &repo.head()?)?.map(|session| session.report(false)))
    }

    /// The session, the number of its edits, and the paths that differ from what is recorded.
    ///
    /// # Errors
    /// As [`Workspace::session`]; `OBJECT_MISSING`.
    pub fn status(&self) -> Result<WorktreeStatus, Refusal> {
        let (repo, recovered) = self.read()?;
        status(&repo, recovered)
    }

    /// The commits of the session, newest first: edits, checkpoints, and commits of the user.
    ///
    /// # Errors
    /// `NO_SESSION` if the worktree has none; `OBJECT_MISSING`; as [`Workspace::open`].
    pub fn log(&self) -> Result<Vec<LogEntry>, Refusal> {
        let (repo, _) = self.read()?;
        ShownSession::required(&repo, &repo.head()?)?.session.log(&repo).collect()
    }

    /// What the commit changed against its first parent; for `None`, what the session changed
    /// against its base. `commit` is the number of an edit, or a revision as Git reads it, such as the
    /// id in an [`Outcome`].
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// let outcome = ws.apply(&edt_core::Request::new("x").edit("a.txt", "one", "two"))?;
    /// let patch: String = ws.diff(outcome.commit.as_deref())?.iter().map(ToString::to_string).collect();
    /// assert!(patch.ends_with("@@ -1 +1 @@\n-one\n+two\n"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `NO_SESSION` for `None` if the worktree has none; `BAD_REQUEST` if `commit` names no commit;
    /// `OBJECT_MISSING`; as [`Workspace::open`].
    pub fn diff(&self, commit: Option<&str>) -> Result<Vec<FileDiff>, Refusal> {
        let (repo, _) = self.read()?;
        let (from, to) = if let Some(revision) = commit {
            let shown = ShownSession::here(&repo, &repo.head()?)?;
            let session = shown.as_ref().map(|shown| &shown.session);
            let commit = revision::resolve(&repo, session, revision)?;
            let commit = Commit::read(&repo, commit)?;
            (commit.parent.unwrap_or_else(|| repo.empty_tree()), commit.oid)
        } else {
            let session = ShownSession::required(&repo, &repo.head()?)?.session.viewed(&repo)?;
            (session.base, session.tip)
        };
        file_diff::between(&repo, repo.tree_of(from)?, repo.tree_of(to)?)
    }

    fn read(&self) -> Result<(Repo, Option<Recovered>), Refusal> {
        LockedWorkspace::read(&self.start, &self.options)
    }

    /// Locks the worktree for `act`. The outcome has the warnings of interrupted programs.
    fn change(
        &mut self,
        act: impl FnOnce(&mut LockedWorkspace) -> Result<Outcome, Refusal>,
    ) -> Result<Outcome, Refusal> {
        let mut outcome = self.locked(act)?;
        outcome.warnings.splice(0..0, self.interrupted.drain(..));
        Ok(outcome)
    }

    /// Locks the worktree for `act`. Warnings of interrupted programs wait for the next outcome.
    fn locked<T>(
        &mut self,
        act: impl FnOnce(&mut LockedWorkspace) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let opened = LockedWorkspace::open(&self.start, self.options.clone())?;
        let (mut locked, interrupted) = opened.with_interrupted();
        self.interrupted.extend(interrupted);
        act(&mut locked)
    }

    /// Records a malformed request, if that needs no wait for another process.
    fn refused_unread(&self, request: &Request, found: Refusal) -> Refusal {
        let options = Options { lock_wait: Duration::ZERO, ..self.options.clone() };
        let Ok(locked) = LockedWorkspace::open(&self.start, options) else { return found };
        let (agent, edits) = (request.agent.clone(), tried::of_request(request));
        txn::refused_unread(&locked, tried::Shown { agent, edits }, found)
    }

    fn move_branch(
        &mut self,
        go: impl FnOnce(&mut LockedWorkspace, &Session) -> Result<BranchMove, Refusal>,
    ) -> Result<Outcome, Refusal> {
        self.change(|locked| {
            let session = Session::required(&locked.repo, &locked.repo.head()?)?;
            let moved = go(locked, &session)?;
            locked.observe_undone(moved.from, moved.to);
            moved.outcome(locked, session)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;
    use edt_types::Code;

    fn opened(scratch: &Scratch) -> Workspace {
        Workspace::open(scratch.root(), Options::default()).unwrap()
    }

    fn scratch() -> Scratch {
        Scratch::with(&[("dir/a.txt", "one\n")])
    }

    #[test]
    fn a_workspace_is_the_whole_worktree_wherever_it_is_opened() {
        let scratch = scratch();
        let workspace = Workspace::open(scratch.root().join("dir"), Options::default()).unwrap();
        assert_eq!(workspace.root(), scratch.root().canonicalize().unwrap());
        assert_eq!(workspace.recovered(), None);
    }

    #[test]
    fn no_lock_is_held_between_calls() {
        let scratch = scratch();
        let mut workspaces = [opened(&scratch), opened(&scratch)];
        for (workspace, text) in workspaces.iter_mut().zip(["1", "2"]) {
            workspace.apply(&Request::new("x").overwrite("dir/a.txt", text)).unwrap();
        }
        assert_eq!(scratch.text("dir/a.txt").as_deref(), Some("2"));
    }

    #[test]
    fn a_malformed_request_is_refused_before_the_lock() {
        let scratch = scratch();
        let mut workspace = Workspace::open(
            scratch.root(),
            Options { lock_wait: std::time::Duration::ZERO, ..Options::default() },
        )
        .unwrap();
        let _held = scratch.open();
        let request = Request::new("x").delete("../a");
        let code = |answer: Result<Outcome, Refusal>| answer.unwrap_err().as_slice()[0].code;
        assert_eq!(code(workspace.apply(&request)), Code::PathOutsideRepo);
        assert_eq!(code(workspace.check(&request)), Code::PathOutsideRepo);
    }

    #[test]
    fn a_check_reports_what_apply_would_do() {
        let scratch = scratch();
        let request = Request::new("x").edit("dir/a.txt", "one", "two");
        let outcome = opened(&scratch).check(&request).unwrap();
        assert_eq!(outcome.status, Status::WouldApply);
        assert_eq!(scratch.text("dir/a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_begun_session_is_in_the_answer() {
        let scratch = scratch();
        let outcome = opened(&scratch).begin(Some("fix")).unwrap();
        let session = outcome.session.unwrap();
        assert_eq!((session.branch.as_str(), session.began), ("edt/fix", true));
        assert_eq!(scratch.head_target(), "refs/heads/edt/fix");
    }

    #[test]
    fn undo_and_redo_answer_with_the_commit_of_the_branch() {
        let scratch = scratch();
        let mut workspace = opened(&scratch);
        let applied = workspace.apply(&Request::new("x").edit("dir/a.txt", "one", "two")).unwrap();
        let undone = workspace.undo(1).unwrap();
        assert_eq!((undone.parent, undone.edit), (applied.commit.clone(), Some(0)));
        let redone = workspace.redo().unwrap();
        assert_eq!((redone.commit, redone.edit), (applied.commit, Some(1)));
    }

    #[test]
    fn a_landed_session_answers_with_its_commit() {
        let scratch = scratch();
        let mut workspace = opened(&scratch);
        workspace.apply(&Request::new("x").edit("dir/a.txt", "one", "two")).unwrap();
        let outcome = workspace.land(Land::default()).unwrap();
        assert_eq!(outcome.commit, Some(scratch.head().to_string()));
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn an_abandoned_session_leaves_the_files_as_before() {
        let scratch = scratch();
        let mut workspace = opened(&scratch);
        workspace.apply(&Request::new("x").edit("dir/a.txt", "one", "two")).unwrap();
        let outcome = workspace.abandon().unwrap();
        assert_eq!(outcome.session.unwrap().name, "main-1");
        assert_eq!(scratch.text("dir/a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_workspace_reads_its_session() {
        let scratch = scratch();
        let mut workspace = opened(&scratch);
        assert_eq!(workspace.session().unwrap(), None);
        let codes = |refusal: Refusal| refusal.codes();
        assert_eq!(codes(workspace.log().unwrap_err()), ["NO_SESSION"]);
        assert_eq!(codes(workspace.diff(None).unwrap_err()), ["NO_SESSION"]);
        let first = workspace.apply(&Request::new("1").edit("dir/a.txt", "one", "two")).unwrap();
        let second = workspace.apply(&Request::new("2").create("b.txt", "b\n")).unwrap();

        let session = workspace.session().unwrap().unwrap();
        assert_eq!((session.name.as_str(), session.began), ("main-1", false));
        let status = workspace.status().unwrap();
        assert_eq!((status.edits, status.tip.map(|tip| tip.to_string())), (2, second.commit));
        let changed: Vec<&str> = status.changed.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(changed, ["b.txt", "dir/a.txt"]);
        let log = workspace.log().unwrap();
        let shown = |entry: &LogEntry| {
            let edit = entry.commit.trailers.as_ref().map(|trailers| trailers.edit);
            let paths: String = entry.files.iter().map(|file| file.path.as_str()).collect();
            (entry.commit.subject().to_owned(), edit, paths)
        };
        assert_eq!(
            log.iter().map(shown).collect::<Vec<_>>(),
            [("2".into(), Some(2), "b.txt".into()), ("1".into(), Some(1), "dir/a.txt".into())]
        );
        let paths = |commit: Option<&str>| {
            workspace.diff(commit).unwrap().into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(None), ["b.txt", "dir/a.txt"]);
        assert_eq!(paths(first.commit.as_deref()), ["dir/a.txt"]);
        assert_eq!(codes(workspace.diff(Some("nothing")).unwrap_err()), ["BAD_REQUEST"]);
    }

    #[test]
    fn every_occurrence_is_replaced() {
        let scratch = Scratch::with(&[("a.txt", "x x\n")]);
        opened(&scratch).apply(&Request::new("x").replace_all("a.txt", "x", "y")).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("y y\n"));
    }

    #[test]
    fn lines_are_changed_by_number_where_the_hash_proves_the_version() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n")]);
        let hash = scratch.repo().blob_id(b"1\n2\n3\n").unwrap().to_string();
        let mut workspace = opened(&scratch);
        let request = Request::new("x").replace_lines("a.txt", 2..=2, "two\n");
        let refused = workspace.apply(&request).unwrap_err();
        assert_eq!(refused.codes(), ["HASH_REQUIRED"]);
        let request = request.delete_lines("a.txt", 3..=3).insert("a.txt", 1, "0\n");
        workspace.apply(&request.expected_hash("a.txt", &hash[..7])).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("0\n1\ntwo\n"));
    }

    #[test]
    fn an_expected_hash_refuses_another_version() {
        let scratch = scratch();
        let request = Request::new("x").edit("dir/a.txt", "one", "two");
        let with =
            |hash: &str| opened(&scratch).apply(&request.clone().expected_hash("dir/a.txt", hash));
        assert_eq!(with("0123456").unwrap_err().codes(), ["HASH_MISMATCH"]);
        assert_eq!(with("x").unwrap_err().codes(), ["BAD_REQUEST"]);
        assert_eq!(scratch.text("dir/a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn an_expected_hash_without_an_edit_is_refused() {
        let scratch = scratch();
        let request =
            Request::new("x").expected_hash("b.txt", "0123456").edit("dir/a.txt", "one", "two");
        let refusal = opened(&scratch).apply(&request).unwrap_err();
        let finding = &refusal.as_slice()[0];
        assert_eq!((finding.code, finding.path.as_deref()), (Code::BadRequest, Some("b.txt")));
    }

    #[test]
    fn without_a_session_there_is_nothing_to_undo_land_or_abandon() {
        let scratch = scratch();
        let mut workspace = opened(&scratch);
        let answers = [
            workspace.undo(1),
            workspace.redo(),
            workspace.land(Land::default()),
            workspace.abandon(),
        ];
        let codes = answers.map(|answer| answer.unwrap_err().as_slice()[0].code);
        assert_eq!(codes, [Code::NoSession; 4]);
    }
}
