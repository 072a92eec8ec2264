//! The public interface: one type for a worktree, and a builder for requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use edt_types::{DryRun, Outcome, Recovered, Status};

use crate::proposal::propose::apply_or_propose;
use crate::session::abandon::abandon;
use crate::session::begin::{BeginOptions, HeadSwitch, begin};
use crate::session::land::land;
use crate::session::undo::{BranchMove, UndoTarget, redo, undo};
use crate::session::workspace::Cache;
use crate::session::{LockedWorkspace, Session};
use crate::txn::Request;
use crate::txn::request::EditFields;
use crate::{Land, Mode, Options, Refusal};

/// A Git worktree in which every edit is one guarded transaction and one commit on a shadow branch.
///
/// No lock is held between calls: other processes of edt, and plain Git, may work in the same
/// worktree. Every call takes the worktree's lock, first completes or rolls back a transaction that
/// a crash interrupted, and sees the state that it then finds.
#[derive(Debug)]
pub struct Workspace {
    start: PathBuf,
    options: Options,
    recovered: Option<Recovered>,
}

impl Workspace {
    /// Opens the worktree that contains `start`.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`; `UNSUPPORTED_REPOSITORY` (bare, reftable, owned by another user);
    /// `SESSION_BUSY` if another process holds the lock for longer than
    /// [`Options::lock_wait`](crate::Options); `GIT_DIR_READ_ONLY`; `IO_ERROR`. A failure leaves
    /// everything as it was, except a recovered transaction.
    pub fn open(start: impl AsRef<Path>, mut options: Options) -> Result<Workspace, Refusal> {
        options.cache.get_or_insert_with(|| Arc::new(Cache::default()));
        let locked = LockedWorkspace::open(start.as_ref(), options.clone())?;
        let start = locked.repo.real_root()?;
        Ok(Workspace { start, options, recovered: locked.recovered })
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
        request.check()?;
        apply_or_propose(&mut self.lock()?, request, DryRun::No)
    }

    /// Judges `request` without writing: [`Workspace::apply`] up to its first write.
    ///
    /// # Errors
    /// As [`Workspace::apply`].
    pub fn check(&mut self, request: &Request) -> Result<Outcome, Refusal> {
        request.check()?;
        apply_or_propose(&mut self.lock()?, request, DryRun::Yes)
    }

    /// Begins the session `name`, or one named after the current branch. HEAD switches to its
    /// branch unless policy says otherwise; no file changes.
    ///
    /// # Errors
    /// `SESSION_EXISTS`; `BAD_REQUEST` for a name that Git does not accept; `REPOSITORY_BUSY` during
    /// a merge or rebase. Nothing is changed then.
    pub fn begin(&mut self, name: Option<&str>) -> Result<Outcome, Refusal> {
        let mut locked = self.lock()?;
        let options = BeginOptions {
            name: name.map(str::to_owned),
            switching: HeadSwitch::AsConfigured,
            base: None,
        };
        let (session, warnings) = begin(&mut locked, &options)?;
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(true));
        outcome.warnings = warnings;
        outcome.recovered.clone_from(&locked.recovered);
        Ok(outcome)
    }

    /// Undoes the last `count` edits of the session. The commits stay at `refs/edt/NAME/undone/N`.
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_UNDO` if the session has fewer edits, or `count` is 0;
    /// `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn undo(&mut self, count: u64) -> Result<Outcome, Refusal> {
        self.move_branch(|locked, session| undo(locked, session, &UndoTarget::Edits(count)))
    }

    /// Redoes what the last [`Workspace::undo`] undid.
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_REDO`; `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn redo(&mut self) -> Result<Outcome, Refusal> {
        self.move_branch(redo)
    }

    /// Lands the session: squashes it into one commit on its base branch, three-way merged if that
    /// branch moved. Git's commit hooks run.
    ///
    /// # Errors
    /// `NO_SESSION`; `NOTHING_TO_LAND`; `MERGE_CONFLICT`; `GIT_OPERATION_BLOCKED` if a commit hook
    /// refuses. No branch has moved then.
    #[expect(clippy::needless_pass_by_value, reason = "callers build the options in the call")]
    pub fn land(&mut self, options: Land) -> Result<Outcome, Refusal> {
        let mut locked = self.lock()?;
        let session = Session::required(&locked.repo, &locked.repo.head()?)?;
        land(&mut locked, &session, &options)?.outcome(&locked, &session)
    }

    /// Abandons the session: HEAD and files return to their state before it. The commits stay at
    /// `refs/edt/NAME/abandoned`.
    ///
    /// # Errors
    /// `NO_SESSION`; `UNSAVED_CHANGES`. Nothing is changed then.
    pub fn abandon(&mut self) -> Result<Outcome, Refusal> {
        let mut locked = self.lock()?;
        let session = Session::required(&locked.repo, &locked.repo.head()?)?;
        let abandoned = abandon(&mut locked, &session)?;
        locked.observe_undone(session.tip, session.base);
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(false));
        outcome.warnings = abandoned.warnings;
        outcome.recovered.clone_from(&locked.recovered);
        Ok(outcome)
    }

    fn lock(&self) -> Result<LockedWorkspace, Refusal> {
        LockedWorkspace::open(&self.start, self.options.clone())
    }

    fn move_branch(
        &self,
        go: impl FnOnce(&mut LockedWorkspace, &Session) -> Result<BranchMove, Refusal>,
    ) -> Result<Outcome, Refusal> {
        let mut locked = self.lock()?;
        let session = Session::required(&locked.repo, &locked.repo.head()?)?;
        let moved = go(&mut locked, &session)?;
        locked.observe_undone(moved.from, moved.to);
        moved.outcome(&locked, session)
    }
}

/// Builds a request. A wrong path, mode or text is reported by [`Workspace::apply`], with every
/// other finding.
impl Request {
    /// An empty request; `message` becomes the subject of the commit.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Request {
        Request { message: Some(message.into()), ..Request::default() }
    }

    /// Replaces the one occurrence of `old_text` in `path`.
    #[must_use]
    pub fn edit(
        self,
        path: &str,
        old_text: impl Into<Vec<u8>>,
        content: impl Into<Vec<u8>>,
    ) -> Request {
        let fields = EditFields {
            old_text: Some(old_text.into()),
            content: Some(content.into()),
            ..EditFields::default()
        };
        self.with_edit(path, Mode::Edit, fields)
    }

    /// Creates the file `path`.
    #[must_use]
    pub fn create(self, path: &str, content: impl Into<Vec<u8>>) -> Request {
        self.with_content(path, Mode::Create, content)
    }

    /// Adds `content` to the end of `path`.
    #[must_use]
    pub fn append(self, path: &str, content: impl Into<Vec<u8>>) -> Request {
        self.with_content(path, Mode::Append, content)
    }

    /// Replaces the whole of the existing file `path`.
    #[must_use]
    pub fn overwrite(self, path: &str, content: impl Into<Vec<u8>>) -> Request {
        self.with_content(path, Mode::Overwrite, content)
    }

    /// Removes the file `path`.
    #[must_use]
    pub fn delete(self, path: &str) -> Request {
        self.with_edit(path, Mode::Delete, EditFields::default())
    }

    /// Moves the file `path` to `to`, content and mode bit kept.
    #[must_use]
    pub fn rename(self, path: &str, to: &str) -> Request {
        let fields = EditFields { to: Some(to.into()), ..EditFields::default() };
        self.with_edit(path, Mode::Rename, fields)
    }

    /// Overrides the guard of this name, where policy lets a request do so.
    #[must_use]
    pub fn allow(mut self, word: impl Into<String>) -> Request {
        self.allow.push(word.into());
        self
    }

    /// Names the agent; becomes the trailer `Edt-Agent`.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Request {
        self.agent = Some(name.into());
        self
    }

    fn with_content(self, path: &str, mode: Mode, content: impl Into<Vec<u8>>) -> Request {
        let fields = EditFields { content: Some(content.into()), ..EditFields::default() };
        self.with_edit(path, mode, fields)
    }

    fn with_edit(mut self, path: &str, mode: Mode, fields: EditFields) -> Request {
        let fields = EditFields { path: path.into(), mode: Some(mode), ..fields };
        self.add(fields);
        self
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
