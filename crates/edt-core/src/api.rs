//! The public interface: one type for a worktree, and a builder for requests.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use edt_git::Repo;
use edt_types::{DryRun, Outcome, Recovered, SessionReport, Status, Warning};

use crate::proposal::landing::land;
use crate::proposal::propose::apply_or_propose;
use crate::session::back::abandon::abandon;
use crate::session::back::revert::revert;
use crate::session::back::undo::{BranchMove, MoveOptions, UndoTarget, redo, undo};
use crate::session::refs::commit::Commit;
use crate::session::refs::ended::ShownSession;
use crate::session::refs::revision;
use crate::session::views::file_diff;
use crate::session::views::status::status;
use crate::session::worktree::begin::{BeginOptions, HeadSwitch, begin};
use crate::session::worktree::options::Cache;
use crate::session::{LockedWorkspace, Session};
use crate::txn::edit_fields::EditFields;
use crate::txn::{self, Request, tried};
use crate::types::{FileDiff, LogEntry, WorktreeStatus};
use crate::{Land, Mode, Options, Refusal};

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
            let mut outcome = Outcome::new(Status::Applied);
            outcome.session = Some(session.report(false));
            outcome.files = abandoned.files;
            outcome.warnings = abandoned.warnings;
            outcome.recovered.clone_from(&locked.recovered);
            Ok(outcome)
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
        let opened = LockedWorkspace::open(&self.start, self.options.clone())?;
        let (mut locked, interrupted) = opened.with_interrupted();
        self.interrupted.extend(interrupted);
        let mut outcome = act(&mut locked)?;
        outcome.warnings.splice(0..0, self.interrupted.drain(..));
        Ok(outcome)
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

    /// Replaces every occurrence of `old_text` in `path`; at least one must exist.
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "one one\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// ws.apply(&edt_core::Request::new("x").replace_all("a.txt", "one", "two"))?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("a.txt")).unwrap(), "two two\n");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn replace_all(
        self,
        path: &str,
        old_text: impl Into<Vec<u8>>,
        content: impl Into<Vec<u8>>,
    ) -> Request {
        let fields = EditFields {
            old_text: Some(old_text.into()),
            content: Some(content.into()),
            replace_all: Some(true),
            ..EditFields::default()
        };
        self.with_edit(path, Mode::Edit, fields)
    }

    /// Inserts `content` before line `line` of `path`. Lines count from 1; one past the last line is
    /// the end of the file.
    #[must_use]
    pub fn insert(self, path: &str, line: u64, content: impl Into<Vec<u8>>) -> Request {
        let fields = EditFields {
            start_line: Some(line),
            content: Some(content.into()),
            ..EditFields::default()
        };
        self.with_edit(path, Mode::Insert, fields)
    }

    /// Replaces the lines `lines` of `path`, which count from 1, with `content`.
    ///
    /// Line numbers alone are refused with `HASH_REQUIRED`: state the version of the file that they
    /// refer to with [`Request::expected_hash`].
    ///
    /// ```standalone_crate
    /// # fn main() -> Result<(), edt_core::Refusal> {
    /// # let directory = edt_testkit::ScratchRepo::with(&[("a.txt", "1\n2\n3\n4\n")]);
    /// # let mut ws = edt_core::Workspace::open(directory.path(), edt_core::Options::default())?;
    /// let created = ws.apply(&edt_core::Request::new("new").create("b.txt", "1\n2\n3\n4\n"))?;
    /// let hash = created.files[0].hash_after.clone().unwrap_or_default();
    /// let request = edt_core::Request::new("lines").replace_lines("b.txt", 2..=3, "two, three\n");
    /// ws.apply(&request.expected_hash("b.txt", hash))?;
    /// # assert_eq!(std::fs::read_to_string(directory.path().join("b.txt")).unwrap(), "1\ntwo, three\n4\n");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn replace_lines(
        self,
        path: &str,
        lines: RangeInclusive<u64>,
        content: impl Into<Vec<u8>>,
    ) -> Request {
        let fields = EditFields { content: Some(content.into()), ..EditFields::of_lines(&lines) };
        self.with_edit(path, Mode::ReplaceLines, fields)
    }

    /// Removes the lines `lines` of `path`, which count from 1. Needs [`Request::expected_hash`], as
    /// [`Request::replace_lines`] does.
    #[must_use]
    pub fn delete_lines(self, path: &str, lines: RangeInclusive<u64>) -> Request {
        self.with_edit(path, Mode::DeleteLines, EditFields::of_lines(&lines))
    }

    /// Refuses the request with `HASH_MISMATCH` unless the blob id of `path` begins with `hash`, as
    /// hex with at least 7 digits. [`FileReport::hash_after`](crate::FileReport) has the id after an
    /// edit. Applies to the edits of `path` that the request has so far.
    #[must_use]
    pub fn expected_hash(mut self, path: &str, hash: impl Into<String>) -> Request {
        self.expect_hash(path.as_bytes(), hash.into());
        self
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
        assert_eq!((status.edits, status.tip), (2, second.commit));
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
