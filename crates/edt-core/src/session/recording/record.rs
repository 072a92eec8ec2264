//! Records changes that were not made through `edt apply`: `edt checkpoint`, `edt run`, agent hooks.

use std::collections::BTreeSet;

use super::candidates::{candidates, ignored_paths};
use super::checkpoint::{CheckpointReason, Checkpoints, UserVersion};
pub use super::held::RecordAction;
use super::held::{self, HeldChanges};
use super::ignored_before::IgnoredBefore;
use super::judged::{judged, new_files, reports};
use super::kept;
use super::program_change::ProgramChange;
pub use super::program_edit::CommitInfo;
use super::program_edit::{ProgramEdit, entry_move};
use super::roll_back;
use super::snapshot::Snapshot;
use crate::session::engine::{Change, WorktreeChange};
use crate::session::files::diff_report;
use crate::session::files::path_state::PathState;
use crate::session::private::hidden::Hidden;
use crate::session::private::private_list;
use crate::session::private::uncovered;
use crate::session::recording::review::ChangesPreview;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::record::Step;
use crate::session::user::left_over;
use crate::session::user::user_commits::UserCommits;
use crate::session::worktree::begin::{self, BeginOptions, NewSession};
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{InHead, ObjectWriter, Oid, Repo, TreeChange};
use edt_journal::IndexView;
use edt_types::{
    FileReport, Finding, Outcome, Refusal, RepoPath, Result, Status, Warning, WarningCode,
};

/// The result of recording.
#[derive(Debug)]
pub struct RecordOutcome {
    /// The session with its new tip.
    pub session: Session,
    /// Whether the session began with this call.
    pub began: bool,
    /// The tip before.
    pub parent: Oid,
    /// The commit of the changes; `None` if there was nothing to record.
    pub commit: Option<Oid>,
    /// The commits of the user's changes that could not be separated, oldest first.
    pub checkpoints: Vec<Oid>,
    /// The recorded changes.
    pub files: Vec<FileReport>,
    /// The changed paths that could not be recorded.
    pub left_out: Vec<RepoPath>,
    /// The files in whose place a directory is now.
    pub displaced: Vec<Finding>,
    /// The new files that are binary or in a directory without tracked files.
    pub new_files: Vec<RepoPath>,
    /// The ref that keeps the changes, if all were put back.
    pub refused: Option<String>,
    /// The changes that were taken out while the others were recorded.
    pub held: Option<HeldChanges>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

impl RecordOutcome {
    /// The answer to the call that recorded the user's changes.
    #[must_use]
    pub fn outcome(self, workspace: &LockedWorkspace) -> Outcome {
        let is_recorded = self.commit.is_some();
        let mut outcome =
            Outcome::new(if is_recorded { Status::Applied } else { Status::Unchanged });
        outcome.session = (self.began || is_recorded).then(|| self.session.report(self.began));
        outcome.commit = self.commit.map(|commit| commit.to_string());
        outcome.parent = self.commit.map(|_| self.parent.to_string());
        outcome.checkpoints = self.checkpoints.iter().map(ToString::to_string).collect();
        outcome.files = self.files;
        outcome.warnings = self.warnings;
        outcome.recovered.clone_from(&workspace.recovered);
        outcome
    }

    fn nothing(session: Session) -> RecordOutcome {
        RecordOutcome {
            parent: session.tip,
            session,
            began: false,
            commit: None,
            checkpoints: Vec::new(),
            files: Vec::new(),
            left_out: Vec::new(),
            displaced: Vec::new(),
            new_files: Vec::new(),
            refused: None,
            held: None,
            warnings: Vec::new(),
        }
    }
}

/// Commits the tracked and new files below `only` (all files if it is empty) that differ from the
/// session's tip, as the user's changes. Ignored files are never recorded. Begins a session if
/// there is none.
///
/// # Errors
/// `FILE_NOT_FOUND` for a path that is neither on disk nor in the session; the errors of
/// [`PathState::at`] for a path named in full; errors of publishing. Nothing is changed on an
/// error.
pub fn checkpoint(
    workspace: &mut LockedWorkspace,
    message: Option<&str>,
    only: &[RepoPath],
) -> Result<RecordOutcome> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let mut writer = ObjectWriter::new(repo);
    let Recorder { session, new, tree, index } = Recorder::of(workspace, &mut writer)?;
    let (candidates, warnings) = candidates(repo, tree, only)?;
    let hidden = Hidden::of(repo, Some(&session));
    let (mut states, left) = read(&hidden, &session, tree, &index, candidates, only)?;
    states.retain(|state| state.disk_file() != state.tip || state.has_unique_staged());
    let mut outcome = RecordOutcome { warnings, ..RecordOutcome::nothing(session.clone()) };
    outcome.warnings.extend(left.iter().map(|(path, finding)| left_out(path, finding)));
    outcome.left_out = left.into_iter().map(|(path, _)| path).collect();
    let (ignored, states): (Vec<PathState>, Vec<PathState>) =
        states.into_iter().partition(|state| state.ignored);
    outcome.warnings.extend(ignored_paths(&ignored));
    let edits = if new.is_some() { 0 } else { session.last_number(repo)? };
    let versions = states.iter().map(UserVersion::of).collect();
    let left_over = if new.is_some() {
        Vec::new()
    } else {
        let commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        left_over::of_session(&writer, &session, &commits)?
    };
    let of_states =
        left_over.iter().filter(|file| states.iter().any(|state| state.path == file.path));
    let numbers: BTreeSet<u64> = of_states.flat_map(|file| file.edits.iter().copied()).collect();
    let reason = CheckpointReason::Requested(message, &numbers);
    let made = Checkpoints::write(&mut writer, &session, tree, edits, versions, reason)?;
    let Some(commit) = made.commits.last() else { return Ok(outcome) };
    let mut paths = writer.tree_diff(tree, made.tree)?;
    // A file whose staged content alone is recorded is on disk as it was in the tip.
    for staged in writer.tree_diff(tree, writer.tree_of(made.commits[0])?)? {
        if !paths.iter().any(|known| known.path == staged.path) {
            paths.push(staged);
        }
    }
    let changes: Vec<TreeChange> = states
        .iter()
        .map(|state| TreeChange { path: state.path.clone(), file: state.disk_file() })
        .collect();
    let moves = states.iter().map(|state| entry_move(state, state.disk_file())).collect();
    let touched_trees = writer.touched_trees(tree, &changes)?;
    let began = new.is_some();
    let change = Change {
        objects: writer.loose_objects(),
        worktree: WorktreeChange {
            index: (session.head == InHead::Yes).then_some((index, moves)),
            touched_trees,
            ..WorktreeChange::default()
        },
        entry: Some((session.clone(), Step::Edit(edits))),
        ..begin::change(&session, new, made.tip, "edt checkpoint".to_owned())
    };
    outcome.warnings.extend(workspace.apply(change)?.warnings);
    outcome.files = diff_report::files(&workspace.repo, &paths)?;
    outcome.session = Session { tip: made.tip, ..session };
    outcome.commit = Some(*commit);
    Ok(RecordOutcome { began, checkpoints: made.commits, ..outcome })
}

/// Records what a program or an agent's tool changed since `before` was taken, and nothing else:
/// what the user changed earlier stays uncommitted. Looks at the paths in `only`, or at all files.
/// `decide` chooses what to do before anything changes. Begins a session if there is none and
/// something changed.
///
/// During a merge or a rebase nothing can be recorded: what a program changed stays on disk. It may
/// be the user who resolved a conflict meanwhile.
///
/// # Errors
/// The errors of [`PathState::at`] for the paths in `only`; `REPOSITORY_BUSY`; those of `decide`
/// and of publishing. Nothing is changed on an error.
pub fn record_changes(
    workspace: &mut LockedWorkspace,
    before: &Snapshot,
    info: &CommitInfo,
    only: Option<&[RepoPath]>,
    decide: &mut dyn FnMut(&ChangesPreview<'_>) -> Result<RecordAction>,
) -> Result<RecordOutcome> {
    let repo = &workspace.repo;
    let busy = busy(repo, before)?;
    let mut writer = ObjectWriter::new(repo);
    let Recorder { session, new, tree, index } = match busy {
        None => Recorder::of(workspace, &mut writer)?,
        Some(_) => Recorder::during_operation(repo, &mut writer)?,
    };
    let candidates =
        only.map_or_else(|| before.candidates(repo, tree), |only| Ok(only.to_vec()))?;
    let hidden = Hidden::of(repo, Some(&session)).after(before);
    let (states, mut skipped) =
        read(&hidden, &session, tree, &index, candidates, only.unwrap_or(&[]))?;
    skipped.retain(|(path, _)| !before.is_at(repo, path));
    let mut outcome = RecordOutcome::nothing(session.clone());
    outcome.warnings.extend(skipped.iter().map(|(path, finding)| left_out(path, finding)));
    outcome.left_out = skipped.iter().map(|(path, _)| path.clone()).collect();
    let (kept, displaced) = kept::not_recorded(repo, before, tree, &outcome.left_out)?;
    outcome.warnings.extend(kept);
    outcome.displaced = displaced;
    let (mut changed, ignored) = (Vec::new(), IgnoredBefore::of(repo, Some(&session), before));
    let mut unseen = Vec::new();
    for mut state in states {
        let Some(warning) = ignored.mark(&mut state)? else { continue };
        let change = ProgramChange::of(&writer, before, tree, state.clone())?;
        if change.is_some() {
            outcome.warnings.extend(warning);
        } else if before.is_unseen(&state.path) {
            unseen.push(state);
        }
        changed.extend(change);
    }
    outcome.warnings.extend(before.not_recorded());
    let moved = ignored.refusals();
    roll_back::add_sources(repo, tree, &ignored, &mut changed)?;
    // Whatever becomes of the changes, the files are on disk now.
    ignored.list()?;
    if before.tool.is_some() {
        // What is recorded of a tool is at its own paths alone.
        outcome.warnings.extend(uncovered::list(repo, before.ignored.clone()));
    }
    if let Some(busy) = busy {
        // A build may change ignored files at any time.
        if moved.is_empty() && changed.iter().all(|one| one.state.ignored) {
            return Ok(outcome);
        }
        return Err(kept::stays_on_disk(busy).into());
    }
    // The tree of a new session may not be on disk yet.
    outcome.new_files = new_files(repo, before.tree, &changed)?;
    let edits = if new.is_some() { 0 } else { session.last_number(repo)? };
    let changed = apart(&writer, before, changed)?;
    let (judged, [from, to]) = judged(&writer, tree, &changed, &unseen)?;
    let paths = judged.tree_diff(from, to)?;
    let users = UserCommits::of(&judged, &session).followed_by(tree, from);
    let preview = ChangesPreview {
        writer: &judged,
        base: writer.tree_of(session.base)?,
        users: &users,
        paths: &paths,
        left_out: &skipped,
        moved: &moved,
    };
    let decided = decide(&preview)?;
    let is_refused = !moved.is_empty() || !outcome.displaced.is_empty();
    let asked = if is_refused { RecordAction::Restore } else { decided };
    let action = asked.clone().possible(&judged, &paths, &changed)?;
    if changed.is_empty() {
        return Ok(outcome);
    }
    outcome.warnings.extend(changed.iter().filter_map(ProgramChange::warning));
    let is_restored = action == RecordAction::Restore;
    let (held, changed) = action.split(changed);
    let is_listed = |path: &RepoPath| is_restored || !action.puts_back(path);
    let paths: Vec<_> = paths.into_iter().filter(|one| is_listed(&one.path)).collect();
    outcome.files = reports(&judged, &paths, if is_restored { &held } else { &changed })?;
    outcome.new_files.retain(|path| !action.puts_back(path));
    let (number, asks) = (edits + 1, workspace.asked(&session));
    let edit = ProgramEdit { session: &session, tree, info, number, asked: asks };
    let back = (!held.is_empty()).then(|| edit.take_out(writer.clone(), before, held));
    let (back, began) = (back.transpose()?, new.is_some());
    let commit = (!changed.is_empty()).then(|| edit.commit(&mut writer, &changed, (new, index)));
    let (commit, change) = commit.transpose()?.unzip();
    make(workspace, &mut outcome, change, back)?;
    match outcome.held.take() {
        Some(HeldChanges { commit, name, .. }) if is_restored => {
            return Ok(RecordOutcome { commit: Some(commit), refused: Some(name), ..outcome });
        }
        held => outcome.held = held,
    }
    let moved = outcome.held.iter().flat_map(|held| held::moved_to_held(held, &asked));
    outcome.warnings.extend(moved);
    let Some(commit) = commit else { return Ok(outcome) };
    outcome.warnings.extend(update_list(&workspace.repo, before, tree, &changed)?);
    outcome.session = Session { tip: commit, ..session };
    Ok(RecordOutcome { commit: Some(commit), began, ..outcome })
}

/// Makes the change that records, and `back`, which puts held files back: as one, so that no
/// failure is between them.
fn make(
    workspace: &mut LockedWorkspace,
    outcome: &mut RecordOutcome,
    recorded: Option<Change>,
    back: Option<(HeldChanges, Change, Vec<Warning>)>,
) -> Result<()> {
    let change = match back {
        None => recorded,
        Some((held, back, warnings)) => {
            outcome.warnings.extend(warnings);
            outcome.held = Some(held);
            match recorded {
                None => Some(back),
                Some(recorded) => Some(recorded.with(back)),
            }
        }
    };
    if let Some(change) = change {
        outcome.warnings.extend(workspace.apply(change)?.warnings);
    }
    Ok(())
}

/// Separates what a program changed from what others wrote: moved lines and copies of the user's, and
/// files that nobody knows to be the program's.
fn apart(
    writer: &ObjectWriter<'_>,
    before: &Snapshot,
    changed: Vec<ProgramChange>,
) -> Result<Vec<ProgramChange>> {
    let mut changed = ProgramChange::leave_moved_lines(writer, changed)?;
    ProgramChange::leave_copies(writer.repo(), before, &mut changed)?;
    let proved = |one: ProgramChange| {
        if before.proves(&one.state.path) { Ok(one) } else { one.unproved(writer) }
    };
    changed.into_iter().map(proved).collect()
}

/// Updates the list of private files after `changed` was recorded. A program that removed a rule
/// gets a warning.
fn update_list(
    repo: &Repo,
    before: &Snapshot,
    tree: Oid,
    changed: &[ProgramChange],
) -> Result<Option<Warning>> {
    let has_rules = changed.iter().any(|one| one.state.path.is_ignore_file());
    let is_program = before.tool.is_none();
    let warning =
        if is_program && has_rules { uncovered::list(repo, before.ignored.clone()) } else { None };
    if changed.iter().any(|one| one.state.ignored && one.state.disk.is_none()) {
        private_list::prune(repo, tree)?;
    }
    Ok(warning)
}

/// The session to record in: the running one, or a new one.
struct Recorder {
    session: Session,
    new: Option<NewSession>,
    tree: Oid,
    index: IndexView,
}

impl Recorder {
    fn of(workspace: &LockedWorkspace, writer: &mut ObjectWriter<'_>) -> Result<Recorder> {
        let repo = &workspace.repo;
        let (session, new) = if let Some(running) = Session::current(repo, &repo.head()?)? {
            running.check_not_shared(repo)?;
            (running, None)
        } else {
            let how = BeginOptions { name: None, ..BeginOptions::default() };
            let new = begin::prepare(workspace, writer, &how)?;
            (new.session.clone(), Some(new))
        };
        let tree = writer.tree_of(session.tip)?;
        repo.set_max_file_size(workspace.policy(writer.tree_of(session.base)?)?.max_file_bytes);
        Ok(Recorder { session, new, tree, index: IndexView::read(repo)? })
    }

    /// During a merge or a rebase: no branch will move, and the index is not looked at.
    fn during_operation(repo: &Repo, writer: &mut ObjectWriter<'_>) -> Result<Recorder> {
        let head = repo.head()?;
        let session = Session::current(repo, &head)?.unwrap_or_else(|| {
            let tip = head.commit.unwrap_or_else(|| repo.empty_tree());
            let (name, branch) = ("resolution".to_owned(), String::new());
            Session { name, branch, tip, base: tip, head: InHead::No, planned: None }
        });
        let session = Session { head: InHead::No, ..session };
        let tree = writer.tree_of(session.tip)?;
        Ok(Recorder { session, new: None, tree, index: IndexView::read(repo)? })
    }
}

/// Why nothing can be recorded now, if the program itself did not cause it: the same merge or
/// rebase was in progress before the program.
fn busy(repo: &Repo, before: &Snapshot) -> Result<Option<Finding>> {
    let Err(busy) = repo.check_idle() else { return Ok(None) };
    if before.during_operation.is_none() || before.during_operation != repo.head()?.commit {
        return Err(busy);
    }
    Ok(busy.into_vec().into_iter().next())
}

/// A path and why it cannot be recorded.
type LeftOut = (RepoPath, Finding);

/// The states of `candidates`, and those that cannot be recorded. A path in `only` must be
/// recordable.
fn read(
    hidden: &Hidden<'_>,
    session: &Session,
    tree: Oid,
    index: &IndexView,
    candidates: Vec<RepoPath>,
    only: &[RepoPath],
) -> Result<(Vec<PathState>, Vec<LeftOut>)> {
    let (mut states, mut found, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for path in candidates {
        let seen = (session.head == InHead::Yes).then_some(index);
        match PathState::to_record(hidden.repo, tree, seen, &path) {
            Ok(mut state) => {
                hidden.mark(&mut state)?;
                states.push(state);
            }
            Err(error) if only.contains(&path) => found.extend(error.into_vec()),
            Err(error) => {
                skipped.extend(error.into_vec().into_iter().map(|finding| (path.clone(), finding)));
            }
        }
    }
    Refusal::check(found)?;
    Ok((states, skipped))
}

fn left_out(path: &RepoPath, finding: &Finding) -> Warning {
    Warning {
        code: WarningCode::LeftOut,
        path: Some(path.text()),
        message: format!(
            "This path was not recorded: {} ({}).",
            finding.summary.trim_end_matches('.'),
            finding.code.name()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::private::not_kept::NamedPaths;
    use crate::session::recording::candidates::ignored_path;
    use crate::session::refs::message::Kind;
    use crate::tests::{Scratch, path, refusal};
    use edt_types::{Code, Effect, FileChangeKind, RecordedIn, UserChanges};

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("dir/c.txt", "c\n")]);
        scratch.begin("fix");
        scratch
    }

    fn recorded(scratch: &Scratch, only: &[&str]) -> Result<RecordOutcome> {
        let only: Vec<RepoPath> = only.iter().map(|named| path(named)).collect();
        checkpoint(&mut scratch.open(), None, &only)
    }

    fn paths(outcome: &RecordOutcome) -> Vec<&str> {
        outcome.files.iter().map(|file| file.path.as_str()).collect()
    }

    fn subject(scratch: &Scratch, outcome: &RecordOutcome) -> String {
        scratch.message(outcome.commit.unwrap()).lines().next().unwrap().to_owned()
    }

    #[test]
    fn tracked_and_new_files_are_recorded() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        scratch.write("new.txt", "n\n");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!(paths(&outcome), ["a.txt", "new.txt"]);
        assert_eq!(subject(&scratch, &outcome), "checkpoint: uncommitted changes of 2 files");
        assert_eq!(scratch.head(), outcome.session.tip);
    }

    #[test]
    fn a_checkpoint_of_one_file_names_it() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!(subject(&scratch, &outcome), "checkpoint: uncommitted changes of a.txt");
    }

    #[test]
    fn a_requested_message_is_the_subject() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let outcome = checkpoint(&mut scratch.open(), Some("before lunch"), &[]).unwrap();
        let commit = Commit::read(&scratch.repo(), outcome.commit.unwrap()).unwrap();
        let trailers = commit.trailers.clone().unwrap();
        assert_eq!((commit.subject(), trailers.kind), ("before lunch", Kind::Checkpoint));
        assert_eq!(trailers.edit, 0);
    }

    #[test]
    fn without_changes_nothing_is_recorded() {
        let scratch = scratch();
        let head = scratch.head();
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!((outcome.commit, outcome.began, outcome.parent), (None, false, head));
        assert_eq!(scratch.head(), head);
    }

    #[test]
    fn a_deleted_file_is_recorded_as_deleted() {
        let scratch = scratch();
        scratch.remove("b.txt");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!(paths(&outcome), ["b.txt"]);
        assert_eq!(outcome.files[0].change, FileChangeKind::Deleted);
    }

    #[test]
    fn only_the_named_file_is_recorded() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        scratch.write("b.txt", "two\n");
        assert_eq!(paths(&recorded(&scratch, &["b.txt"]).unwrap()), ["b.txt"]);
    }

    #[test]
    fn a_directory_selects_the_files_below_it() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        scratch.write("dir/c.txt", "two\n");
        scratch.write("directory.txt", "two\n");
        assert_eq!(paths(&recorded(&scratch, &["dir"]).unwrap()), ["dir/c.txt"]);
    }

    #[test]
    fn an_ignored_file_is_never_recorded() {
        let scratch = scratch();
        let head = scratch.head();
        scratch.write(".git/info/exclude", "*.log\n");
        scratch.write("x.log", "x\n");
        assert_eq!(paths(&recorded(&scratch, &[]).unwrap()), [""; 0]);
        let outcome = recorded(&scratch, &["x.log"]).unwrap();
        assert_eq!((outcome.commit, outcome.warnings), (None, vec![ignored_path(&path("x.log"))]));
        assert_eq!(scratch.head(), head);
    }

    #[test]
    fn a_directory_of_ignored_files_is_reported() {
        let scratch = scratch();
        scratch.write(".git/info/exclude", "*.log\n");
        scratch.write("logs/x.log", "x\n");
        let outcome = recorded(&scratch, &["logs"]).unwrap();
        let warning = Warning {
            code: WarningCode::LeftOut,
            path: Some("logs".into()),
            message: "Nothing below this directory was recorded: Git ignores its files, or it is \
                      empty."
                .into(),
        };
        assert_eq!((outcome.commit, outcome.warnings), (None, vec![warning]));
    }

    #[test]
    fn a_path_that_does_not_exist_is_refused() {
        let finding = Finding::new(
            Code::FileNotFound,
            "lost.txt is neither in the worktree nor in the session.",
            "Check the path with `edt status`; without a path, `edt checkpoint` records \
             everything.",
        );
        let finding = finding.with_effect(Effect::NothingRecorded).at(&path("lost.txt"));
        assert_eq!(refusal(recorded(&scratch(), &["lost.txt"])), finding);
    }

    #[test]
    fn a_link_is_left_out_and_reported() {
        let scratch = scratch();
        std::os::unix::fs::symlink("a.txt", scratch.root().join("link")).unwrap();
        scratch.write("a.txt", "two\n");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!((paths(&outcome), &outcome.left_out), (vec!["a.txt"], &vec![path("link")]));
        assert_eq!(
            outcome.warnings[0].message,
            "This path was not recorded: link is a symbolic link or goes through one \
             (PATH_THROUGH_SYMLINK)."
        );
    }

    #[test]
    fn a_link_that_is_named_is_refused() {
        let scratch = scratch();
        std::os::unix::fs::symlink("a.txt", scratch.root().join("link")).unwrap();
        assert_eq!(refusal(recorded(&scratch, &["link"])).code, Code::PathThroughSymlink);
    }

    #[test]
    fn a_checkpoint_begins_a_session() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let head = scratch.head();
        scratch.write("a.txt", "two\n");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!((outcome.session.name.as_str(), outcome.began), ("main-1", true));
        assert_eq!(
            (outcome.parent, scratch.head_target().as_str()),
            (head, "refs/heads/edt/main-1")
        );
    }

    #[test]
    fn without_changes_no_session_begins() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        recorded(&scratch, &[]).unwrap();
        assert_eq!(scratch.head_target(), "refs/heads/main");
        assert_eq!(scratch.ref_value("refs/heads/edt/main-1"), None);
    }

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    fn info(kind: Kind) -> CommitInfo {
        CommitInfo { message: "run: make".into(), agent: Some("robot".into()), kind }
    }

    fn recorded_by(
        scratch: &Scratch,
        kind: Kind,
        program: impl FnOnce(),
        action: RecordAction,
    ) -> RecordOutcome {
        let before = scratch.snapshot();
        program();
        let mut decide = move |_: &ChangesPreview<'_>| Ok(action.clone());
        let outcome =
            record_changes(&mut scratch.open(), &before, &info(kind), None, &mut decide).unwrap();
        before.finish();
        outcome
    }

    /// Records what `program` changes.
    fn ran(scratch: &Scratch, program: impl FnOnce()) -> RecordOutcome {
        recorded_by(scratch, Kind::Run, program, RecordAction::Record)
    }

    #[test]
    fn the_changes_of_a_program_are_an_edit_of_kind_run() {
        let scratch = scratch();
        let outcome = ran(&scratch, || scratch.write("a.txt", "two\n"));
        let commit = Commit::read(&scratch.repo(), outcome.commit.unwrap()).unwrap();
        let trailers = commit.trailers.clone().unwrap();
        assert_eq!((commit.subject(), trailers.kind, trailers.edit), ("run: make", Kind::Run, 1));
        assert_eq!(trailers.agent.as_deref(), Some("robot"));
    }

    #[test]
    fn the_changes_of_an_agents_tool_are_an_ordinary_edit() {
        let scratch = scratch();
        let write = || scratch.write("a.txt", "two\n");
        let outcome = recorded_by(&scratch, Kind::Edit, write, RecordAction::Record);
        let commit = Commit::read(&scratch.repo(), outcome.commit.unwrap()).unwrap();
        let trailers = commit.trailers.unwrap();
        assert_eq!((trailers.kind, trailers.edit), (Kind::Edit, 1));
    }

    #[test]
    fn a_program_without_changes_makes_no_commit_in_a_dirty_tree() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let head = scratch.head();
        scratch.write("a.txt", "by hand\n");
        scratch.write("new.txt", "by hand\n");
        let outcome = ran(&scratch, || {});
        assert_eq!((outcome.commit, outcome.files.len()), (None, 0));
        assert_eq!((scratch.head(), scratch.head_target().as_str()), (head, "refs/heads/main"));
    }

    #[test]
    fn a_program_that_writes_the_same_bytes_makes_no_commit() {
        let scratch = scratch();
        scratch.write("new.txt", "by hand\n");
        let outcome = ran(&scratch, || {
            scratch.write("a.txt", "one\n");
            scratch.write("new.txt", "by hand\n");
        });
        assert_eq!(outcome.commit, None);
    }

    #[test]
    fn the_first_change_of_a_program_begins_a_session() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write("mine.txt", "by hand\n");
        let outcome = ran(&scratch, || scratch.write("a.txt", "two\n"));
        assert!(outcome.began);
        assert_eq!(outcome.commit, Some(scratch.head()));
        assert_eq!(scratch.committed(scratch.head(), "mine.txt"), None);
    }

    #[test]
    fn a_program_is_separated_from_the_users_changes_of_the_same_file() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        let users = TEN.replace("2\n", "2 by hand\n");
        scratch.write("a.txt", &users);
        let outcome = ran(&scratch, || scratch.write("a.txt", &users.replace('9', "nine")));
        assert_eq!(scratch.committed(scratch.head(), "a.txt"), Some(TEN.replace('9', "nine")));
        assert_eq!(scratch.text("a.txt"), Some(users.replace('9', "nine")));
        assert_eq!(outcome.files[0].user_changes, UserChanges::Separate);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(users));
    }

    #[test]
    fn a_program_that_changes_the_users_line_is_left_over() {
        let scratch = scratch();
        scratch.write("a.txt", "by hand\n");
        let outcome = ran(&scratch, || scratch.write("a.txt", "by program\n"));
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some("one\n"));
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn an_untracked_file_that_a_program_changes_stays_untracked() {
        let scratch = scratch();
        scratch.write("new.txt", "by hand\n");
        let outcome = ran(&scratch, || scratch.write("new.txt", "by hand\nby program\n"));
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.committed(scratch.head(), "new.txt"), None);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_copy_of_the_users_text_that_a_program_makes_stays_uncommitted() {
        let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
        scratch.begin("fix");
        let (users, notes) = (format!("{TEN}by hand, by hand\n"), "notes of the user ".repeat(3));
        scratch.write("a.txt", &users);
        scratch.write("new.txt", &notes);
        ran(&scratch, || {
            scratch.write("bak/a.txt", &users);
            scratch.write("bak/new.txt", &notes);
            scratch.write("bak/b.txt", "b\n");
        });
        for named in ["bak/a.txt", "bak/new.txt"] {
            assert_eq!(scratch.committed(scratch.head(), named), None, "{named}");
            assert!(scratch.text(named).is_some());
        }
        assert_eq!(scratch.committed(scratch.head(), "bak/b.txt").as_deref(), Some("b\n"));
        scratch.undo(1).unwrap();
        assert_eq!((scratch.text("bak/a.txt"), scratch.text("a.txt")), (None, Some(users)));
    }

    #[test]
    fn an_untracked_file_that_a_program_removes_comes_back() {
        let scratch = scratch();
        scratch.write("new.txt", "by hand\n");
        let outcome = ran(&scratch, || scratch.remove("new.txt"));
        assert_eq!(outcome.files[0].change, FileChangeKind::Deleted);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("new.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn an_ignored_file_that_a_program_removes_comes_back_and_is_in_no_commit() {
        let scratch = scratch();
        scratch.write(".git/info/exclude", ".env\n");
        scratch.write(".env", "KEY=1\n");
        let outcome = ran(&scratch, || scratch.remove(".env"));
        assert_eq!(outcome.files[0].recorded, RecordedIn::Private);
        assert_eq!(scratch.text(".env"), None);
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
        let oid = scratch.repo().blob_id(b"KEY=1\n").unwrap();
        assert!(scratch.repo().object(oid, edt_git::read::ObjectKind::Blob).is_err());
    }

    #[test]
    fn refused_changes_are_put_back_and_stay_at_a_ref() {
        let scratch = scratch();
        let head = scratch.head();
        let (before, mut seen) = (scratch.snapshot(), Vec::new());
        scratch.write("a.txt", "two\n");
        let mut decide = |preview: &ChangesPreview<'_>| {
            seen.extend(preview.paths.iter().map(|differs| differs.path.text()));
            Ok(RecordAction::Restore)
        };
        let mut workspace = scratch.open();
        let outcome =
            record_changes(&mut workspace, &before, &info(Kind::Run), None, &mut decide).unwrap();
        assert_eq!(
            (seen, outcome.refused.as_deref()),
            (vec!["a.txt".to_owned()], Some("refs/edt/fix/refused/1"))
        );
        assert_eq!((scratch.text("a.txt").as_deref(), scratch.head()), (Some("one\n"), head));
        assert_eq!(scratch.committed(outcome.commit.unwrap(), "a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.ref_value("refs/edt/fix/refused/1"), outcome.commit);
    }

    #[test]
    fn held_changes_are_put_back_while_the_others_are_recorded() {
        let scratch = scratch();
        let head = scratch.head();
        scratch.write("b.txt", "by hand\n");
        let program = || {
            scratch.write("a.txt", "two\n");
            scratch.write("b.txt", "by hand\nby program\n");
            scratch.write("held/new.txt", "n\n");
        };
        let held = RecordAction::Hold([path("b.txt"), path("held/new.txt")].into());
        let outcome = recorded_by(&scratch, Kind::Run, program, held);
        assert_eq!((paths(&outcome), &outcome.refused), (vec!["a.txt"], &None));
        assert_eq!(scratch.committed(scratch.head(), "a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some("b\n"));
        let disk = ["a.txt", "b.txt", "held/new.txt"].map(|name| scratch.text(name));
        assert_eq!(disk, [Some("two\n".to_owned()), Some("by hand\n".to_owned()), None]);
        let held = outcome.held.unwrap();
        assert_eq!(scratch.ref_value(&held.name), Some(held.commit));
        assert_eq!(scratch.committed(held.commit, "held/new.txt").as_deref(), Some("n\n"));
        assert_eq!(scratch.committed(held.commit, "a.txt").as_deref(), Some("one\n"));
        scratch.undo(1).unwrap();
        assert_eq!((scratch.text("a.txt").as_deref(), scratch.head()), (Some("one\n"), head));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_program_of_which_everything_is_held_makes_no_commit_and_no_session() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let program = || scratch.write("new.txt", "n\n");
        let held = RecordAction::Hold([path("new.txt")].into());
        let outcome = recorded_by(&scratch, Kind::Run, program, held);
        assert_eq!((outcome.commit, outcome.began, outcome.files.len()), (None, false, 0));
        assert_eq!(
            (scratch.text("new.txt"), scratch.head_target().as_str()),
            (None, "refs/heads/main")
        );
        assert!(scratch.ref_value(&outcome.held.unwrap().name).is_some());
    }

    #[test]
    fn a_refused_program_leaves_the_users_changes_as_they_were() {
        let scratch = scratch();
        scratch.write(".git/info/exclude", ".env\n");
        for file in ["a.txt", "new.txt", ".env"] {
            scratch.write(file, "by hand\n");
        }
        let program = || {
            scratch.write("a.txt", "by program\n");
            scratch.remove("new.txt");
            scratch.write(".env", "by program\n");
            scratch.write("made.txt", "by program\n");
        };
        recorded_by(&scratch, Kind::Run, program, RecordAction::Restore);
        for file in ["a.txt", "new.txt", ".env"] {
            assert_eq!(scratch.text(file).as_deref(), Some("by hand\n"), "{file}");
        }
        assert_eq!(scratch.text("made.txt"), None);
    }

    #[test]
    fn a_link_that_a_program_leaves_alone_is_not_mentioned() {
        let scratch = scratch();
        let link = |name: &str| {
            std::os::unix::fs::symlink("a.txt", scratch.root().join(name)).unwrap();
        };
        link("mine");
        let outcome = ran(&scratch, || {
            link("made");
            scratch.write("b.txt", "two\n");
        });
        assert_eq!((paths(&outcome), &outcome.left_out), (vec!["b.txt"], &vec![path("made")]));
        assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
    }

    #[test]
    fn new_binary_files_and_those_in_new_directories_are_listed() {
        let scratch = scratch();
        let outcome = ran(&scratch, || {
            scratch.write("plain.txt", "x\n");
            scratch.write("dir/plain.txt", "x\n");
            scratch.write("out.bin", "a\0b");
            scratch.write("dist/o.js", "x\n");
            scratch.write("a.txt", "a\0b");
        });
        assert_eq!(outcome.new_files, [path("dist/o.js"), path("out.bin")]);
    }

    /// A merge with a conflict in `a.txt`.
    fn merging() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.write(".git/info/exclude", "*.log\n");
        scratch.write(".git/MERGE_HEAD", &format!("{}\n", scratch.head()));
        scratch.write("a.txt", "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n");
        scratch.write("x.log", "before\n");
        scratch
    }

    #[test]
    fn during_a_merge_a_program_that_changes_nothing_runs() {
        let scratch = merging();
        let outcome = ran(&scratch, || scratch.write("x.log", "by program\n"));
        assert_eq!(outcome.commit, None);
        assert_eq!(scratch.text("x.log").as_deref(), Some("by program\n"));
    }

    #[test]
    fn during_a_merge_what_changed_beside_a_program_stays() {
        let scratch = merging();
        let head = scratch.head();
        let repo = scratch.repo();
        let (tree, named) = (repo.tree_of(head).unwrap(), NamedPaths::default());
        let before = Snapshot::take(&repo, tree, &named).unwrap();
        scratch.write("a.txt", "resolved by the user\n");
        scratch.write("new.txt", "new\n");
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let info = info(Kind::Run);
        let answer = record_changes(&mut scratch.open(), &before, &info, None, &mut decide);
        assert_eq!(refusal(answer).code, Code::RepositoryBusy);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("resolved by the user\n"));
        assert_eq!(scratch.text("new.txt").as_deref(), Some("new\n"));
        assert_eq!((scratch.head(), scratch.head_target().as_str()), (head, "refs/heads/main"));
    }

    #[test]
    fn the_changes_of_a_program_that_began_a_merge_stay() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let before = scratch.snapshot();
        scratch.write(".git/MERGE_HEAD", &format!("{}\n", scratch.head()));
        scratch.write("a.txt", "two\n");
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let info = info(Kind::Run);
        let answer = record_changes(&mut scratch.open(), &before, &info, None, &mut decide);
        assert_eq!(refusal(answer).code, Code::RepositoryBusy);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn a_tool_is_recorded_at_its_paths_alone() {
        let scratch = scratch();
        let only = [path("a.txt")];
        let announced = std::collections::BTreeMap::new();
        Snapshot::of_paths(&scratch.repo(), &only, &announced).unwrap();
        scratch.write("a.txt", "two\n");
        scratch.write("b.txt", "two\n");
        let before = Snapshot::taken_of_paths(&scratch.repo(), &only, announced).unwrap();
        let mut decide = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        let kind = &info(Kind::Edit);
        let outcome =
            record_changes(&mut scratch.open(), &before, kind, Some(&only), &mut decide).unwrap();
        assert_eq!(paths(&outcome), ["a.txt"]);
    }

    #[test]
    fn an_error_of_the_check_records_nothing() {
        let scratch = scratch();
        let before = scratch.snapshot();
        scratch.write("a.txt", "two\n");
        let refuse = || Finding::new(Code::ProtectedPath, "no", "no");
        let mut decide = |_: &ChangesPreview<'_>| -> Result<RecordAction> { Err(refuse().into()) };
        let answer =
            record_changes(&mut scratch.open(), &before, &info(Kind::Run), None, &mut decide);
        assert_eq!(refusal(answer), refuse());
        assert_eq!(
            (scratch.text("a.txt").as_deref(), scratch.session().base),
            (Some("two\n"), scratch.head())
        );
    }
}
