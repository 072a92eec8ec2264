//! Records changes that were not made through edt on the session's branch, on request: `edt
//! checkpoint`, `edt run`, agent hooks.

use super::begin::{self, BeginOptions, HeadSwitch};
use super::checkout::{CheckoutPlan, CheckoutStep};
use super::checkpoint::{CheckpointReason, Checkpoints};
use super::current::Session;
use super::list::next_numbered_ref;
use super::path_state::PathState;
use super::workspace::LockedWorkspace;
use edt_git::diff::{TreeDifference, Untracked};
use edt_git::{Attributes, InHead, ObjectWriter, Oid, Repo, Tracked, TreeChange};
use edt_io::disk::Parent;
use edt_journal::entry::{DiskState, EntryMove};
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, IndexView, publish};
use edt_types::{Code, Effect, Finding, Refusal, RepoPath, Result, Warning};

/// The changes about to be recorded, as the caller's check sees them.
#[derive(Debug)]
pub struct RecordPreview<'a> {
    /// The writer with all new objects, which are not on disk yet.
    pub writer: &'a ObjectWriter<'a>,
    /// The session before the commits.
    pub session: &'a Session,
    /// The paths that would be recorded.
    pub paths: &'a [TreeDifference],
    /// The changed paths that cannot be recorded, and why.
    pub left_out: &'a [(RepoPath, Finding)],
}

/// What to do with the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordAction {
    /// Record them.
    Record,
    /// Set the files back to the session's tip. The changes stay at `refs/edt/<name>/refused/<n>`.
    Restore,
}

/// The result of recording.
#[derive(Debug)]
pub struct RecordOutcome {
    /// The session with its new tip.
    pub session: Session,
    /// Whether the session began with this call.
    pub began: bool,
    /// The tip before.
    pub parent: Oid,
    /// The commits made, oldest first; empty if there was nothing to record.
    pub commits: Vec<Oid>,
    /// The paths recorded.
    pub paths: Vec<TreeDifference>,
    /// The changed paths that could not be recorded.
    pub left_out: Vec<RepoPath>,
    /// The ref that keeps reverted changes, if there were any.
    pub refused: Option<String>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// Records the tracked and new files below `only` (all files if it is empty) that differ from the
/// session's tip. Ignored files are recorded only if `only` names them in full. Begins a session if
/// there is none.
///
/// # Errors
/// `FILE_NOT_FOUND` for a path that is neither on disk nor in the session; the errors of
/// [`PathState::at`] for a path named in full; errors of publishing. Nothing is changed on an
/// error.
pub fn record(
    workspace: &mut LockedWorkspace,
    reason: CheckpointReason<'_>,
    only: &[RepoPath],
) -> Result<RecordOutcome> {
    record_checked(workspace, reason, only, &mut |_| Ok(RecordAction::Record))
}

/// As [`record`], but `decide` chooses what to do before the session's branch changes.
///
/// # Errors
/// As [`record`]; the errors of `decide`.
#[expect(clippy::too_many_lines, reason = "one transaction, step by step")]
pub fn record_checked(
    workspace: &mut LockedWorkspace,
    reason: CheckpointReason<'_>,
    only: &[RepoPath],
    decide: &mut dyn FnMut(&RecordPreview<'_>) -> Result<RecordAction>,
) -> Result<RecordOutcome> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let mut writer = ObjectWriter::new(repo);
    let (session, new) = if let Some(running) = Session::current(repo, &repo.head()?)? {
        running.check_not_shared(repo)?;
        (running, None)
    } else {
        let how = BeginOptions { name: None, switching: HeadSwitch::AsConfigured, base: None };
        let new = begin::prepare(workspace, &mut writer, &how)?;
        (new.session.clone(), Some(new))
    };
    let tree = writer.tree_of(session.tip)?;
    repo.set_max_file_size(workspace.policy(writer.tree_of(session.base)?)?.max_file_bytes);
    let index = IndexView::read(repo)?;
    let (candidates, mut warnings) = candidates(repo, tree, only)?;
    let (mut states, mut found, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for path in candidates {
        let seen = (session.head == InHead::Yes).then_some(&index);
        match PathState::at(repo, tree, seen, &path) {
            Ok(state) if state.disk_file() != state.tip || state.has_unique_staged() => {
                states.push(state);
            }
            Ok(_) => {}
            Err(error) if only.contains(&path) => found.extend(error.into_vec()),
            Err(error) => {
                skipped.extend(error.into_vec().into_iter().map(|finding| (path.clone(), finding)));
            }
        }
    }
    Refusal::check(found)?;
    warnings.extend(skipped.iter().map(|(path, finding)| left_out(path, finding)));
    let left_out: Vec<RepoPath> = skipped.iter().map(|(path, _)| path.clone()).collect();
    let edits = if new.is_some() { 0 } else { session.edits(repo)? };
    let all: Vec<&PathState> = states.iter().collect();
    let checkpoints = Checkpoints::write(&mut writer, &session, tree, edits, &all, reason)?;
    let paths = writer.tree_diff(tree, checkpoints.tree)?;
    let preview =
        RecordPreview { writer: &writer, session: &session, paths: &paths, left_out: &skipped };
    let (began, parent, action) = (new.is_some(), session.tip, decide(&preview)?);
    if checkpoints.commits.is_empty() {
        let (commits, paths, refused) = Default::default();
        return Ok(RecordOutcome {
            session,
            began: false,
            parent,
            commits,
            paths,
            left_out,
            refused,
            warnings,
        });
    }
    if action == RecordAction::Restore {
        let name = next_numbered_ref(repo, &session.name, "refused")?;
        let change = revert(writer, &session, &name, (tree, checkpoints.tip), index, states)?;
        workspace.require_durability(session.base);
        warnings.extend(publish(&workspace.repo, &mut workspace.journal, change)?);
        let commits = checkpoints.commits;
        return Ok(RecordOutcome {
            session,
            began: false,
            parent,
            commits,
            paths,
            left_out,
            refused: Some(name),
            warnings,
        });
    }
    let entry = |state: &PathState| EntryMove {
        path: state.path.clone(),
        file: state.disk_file(),
        seen: state.staged,
        disk: state.disk.as_ref().map_or(DiskState::Other, |disk| DiskState::Present(disk.stat)),
    };
    let changes: Vec<TreeChange> = states
        .iter()
        .map(|state| TreeChange { path: state.path.clone(), file: state.disk_file() })
        .collect();
    let touched_trees = writer.touched_trees(tree, &changes)?;
    let log = match reason {
        CheckpointReason::Program(_) => "edt run",
        CheckpointReason::AgentTool(_) => "edt agent-hook",
        CheckpointReason::Foreign | CheckpointReason::Requested(_) => "edt checkpoint",
    };
    let (branch, create) = begin::branch(&session, new, checkpoints.tip, log.to_owned());
    let index = (session.head == InHead::Yes).then(|| (index, states.iter().map(entry).collect()));
    let change = ChangeSet {
        objects: writer.loose_objects(),
        create,
        index,
        touched_trees,
        ..ChangeSet::of(branch)
    };
    workspace.require_durability(session.base);
    warnings.extend(publish(&workspace.repo, &mut workspace.journal, change)?);
    let session = Session { tip: checkpoints.tip, ..session };
    Ok(RecordOutcome {
        session,
        began,
        parent,
        commits: checkpoints.commits,
        paths,
        left_out,
        refused: None,
        warnings,
    })
}

/// The change that sets files and index back to `tree` and keeps `refused` at the ref `name`. The
/// session's branch does not move.
fn revert(
    mut writer: ObjectWriter<'_>,
    session: &Session,
    name: &str,
    (tree, refused): (Oid, Oid),
    index: IndexView,
    states: Vec<PathState>,
) -> Result<ChangeSet> {
    let step = |state: PathState| CheckoutStep { disk: state.tip, entry: state.tip, state };
    let steps: Vec<CheckoutStep> = states.into_iter().map(step).collect();
    let follows = session.head == InHead::Yes;
    let attributes = steps.iter().any(|step| step.state.path.is_attributes());
    let from = if attributes { Attributes::Tree(tree) } else { Attributes::Worktree(tree) };
    let CheckoutPlan { files, moves, touched_trees } =
        CheckoutPlan::of(&mut writer, follows.then_some(tree), from, &steps)?;
    let (log, head) = (format!("edt run: reverted {}", refused.to_hex_with_len(12)), InHead::No);
    let branch = BranchUpdate {
        name: name.to_owned(),
        from: BranchOrigin::Created(refused),
        new: refused,
        log,
        head,
        head_from: None,
        point: None,
    };
    let index = follows.then_some((index, moves));
    Ok(ChangeSet {
        objects: writer.loose_objects(),
        files,
        index,
        touched_trees,
        ..ChangeSet::of(branch)
    })
}

/// The paths that may differ from `tree`, in order, limited to those below `only` if it is not
/// empty. Returns a warning for each directory in `only` without such a path.
fn candidates(repo: &Repo, tree: Oid, only: &[RepoPath]) -> Result<(Vec<RepoPath>, Vec<Warning>)> {
    if !only.is_empty() && only.iter().all(|path| is_file(repo, tree, path)) {
        // A file has no paths below it. The names are complete, so the worktree is not scanned.
        let mut only = only.to_vec();
        only.sort();
        only.dedup();
        return Ok((only, Vec::new()));
    }
    let mut all: Vec<RepoPath> = Vec::new();
    for path in repo.uncommitted(Untracked::Files)? {
        let bytes = path.as_bytes();
        all.push(RepoPath::from_tree(bytes.strip_suffix(b"/").unwrap_or(bytes)));
    }
    let head =
        repo.head()?.commit.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))?;
    all.extend(repo.tree_diff(head, tree)?.into_iter().map(|differs| differs.path));
    all.sort();
    all.dedup();
    if only.is_empty() {
        return Ok((all, Vec::new()));
    }
    let below = |path: &RepoPath, above: &RepoPath| {
        path == above
            || path
                .as_bytes()
                .strip_prefix(above.as_bytes())
                .is_some_and(|rest| rest.starts_with(b"/"))
    };
    all.retain(|path| only.iter().any(|named| below(path, named)));
    let mut warnings = Vec::new();
    for named in only {
        if all.iter().any(|path| below(path, named))
            || repo.tracked(tree, named)? != Tracked::Nothing
        {
            continue;
        }
        let (dir_path, name) = named.split();
        let failed =
            |error| edt_io::failed("read", &repo.root_path().join(named.to_string()), &error);
        let found = match repo.root().beneath(dir_path).map_err(failed)? {
            Parent::Open(dir) => dir.stat(name).map_err(failed)?,
            Parent::Missing | Parent::NotADirectory => None,
            // Reading its state reports the link.
            Parent::Symlink => {
                all.push(named.clone());
                continue;
            }
        };
        match found {
            None => return Err(not_found(named).into()),
            Some(found) if found.is_directory() => warnings.push(nothing_below(named)),
            // An ignored file that is named in full is recorded.
            Some(_) => all.push(named.clone()),
        }
    }
    all.sort();
    Ok((all, warnings))
}

/// Whether there is a file at `path`, or no file where the session has one.
fn is_file(repo: &Repo, tree: Oid, path: &RepoPath) -> bool {
    let (dir_path, name) = path.split();
    let Ok(Parent::Open(dir)) = repo.root().beneath(dir_path) else { return false };
    match dir.stat(name) {
        Ok(Some(found)) => !found.is_directory(),
        Ok(None) => matches!(repo.tracked(tree, path), Ok(Tracked::File(_))),
        Err(_) => false,
    }
}

fn not_found(path: &RepoPath) -> Finding {
    Finding::new(
        Code::FileNotFound,
        format!("{path} is neither in the worktree nor in the session."),
        "Check the path with `edt status`; without a path, `edt checkpoint` records everything.",
    )
    .with_effect(Effect::NothingRecorded)
    .at(path)
}

fn nothing_below(path: &RepoPath) -> Warning {
    Warning {
        code: "left_out",
        path: Some(path.to_string()),
        message: "Nothing below this directory was recorded: Git ignores its files, or it is \
            empty. `edt checkpoint` records an ignored file that is named in full."
            .to_owned(),
    }
}

fn left_out(path: &RepoPath, finding: &Finding) -> Warning {
    Warning {
        code: "left_out",
        path: Some(path.to_string()),
        message: format!(
            "This path was not recorded: {} ({}).",
            finding.message(),
            finding.code.name()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::checkpoint::CommitInfo;
    use crate::session::history::Commit;
    use crate::session::message::Kind;
    use crate::tests::{Scratch, path, refusal};

    fn scratch() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n"), ("dir/c.txt", "c\n")]);
        scratch.begin("fix");
        scratch
    }

    fn recorded(scratch: &Scratch, only: &[&str]) -> Result<RecordOutcome> {
        let only: Vec<RepoPath> = only.iter().map(|named| path(named)).collect();
        record(&mut scratch.open(), CheckpointReason::Requested(None), &only)
    }

    fn paths(outcome: &RecordOutcome) -> Vec<String> {
        outcome.paths.iter().map(|differs| differs.path.to_string()).collect()
    }

    fn subject(scratch: &Scratch, outcome: &RecordOutcome) -> String {
        scratch.message(outcome.commits[0]).lines().next().unwrap().to_owned()
    }

    #[test]
    fn tracked_and_new_files_are_recorded() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        scratch.write("new.txt", "n\n");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!(paths(&outcome), ["a.txt", "new.txt"]);
        assert_eq!(subject(&scratch, &outcome), "checkpoint: unrecorded changes of 2 files");
        assert_eq!(scratch.head(), outcome.session.tip);
    }

    #[test]
    fn a_checkpoint_of_one_file_names_it() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!(subject(&scratch, &outcome), "checkpoint: unrecorded changes of a.txt");
    }

    #[test]
    fn a_requested_message_is_the_subject() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let reason = CheckpointReason::Requested(Some("before lunch"));
        let outcome = record(&mut scratch.open(), reason, &[]).unwrap();
        let commit = Commit::read(&scratch.repo(), outcome.commits[0]).unwrap();
        let trailers = commit.trailers.clone().unwrap();
        assert_eq!((commit.subject(), trailers.kind), ("before lunch", Kind::Checkpoint));
        assert_eq!((trailers.edit, trailers.foreign), (0, false));
    }

    #[test]
    fn without_changes_nothing_is_recorded() {
        let scratch = scratch();
        let head = scratch.head();
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!((outcome.commits.len(), outcome.began, outcome.parent), (0, false, head));
        assert_eq!(scratch.head(), head);
    }

    #[test]
    fn a_deleted_file_is_recorded_as_deleted() {
        let scratch = scratch();
        scratch.remove("b.txt");
        let outcome = recorded(&scratch, &[]).unwrap();
        assert_eq!((paths(&outcome), outcome.paths[0].new), (vec!["b.txt".to_owned()], None));
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
    fn an_ignored_file_is_recorded_only_if_it_is_named() {
        let scratch = scratch();
        scratch.write(".git/info/exclude", "*.log\n");
        scratch.write("x.log", "x\n");
        assert_eq!(paths(&recorded(&scratch, &[]).unwrap()), [""; 0]);
        assert_eq!(paths(&recorded(&scratch, &["x.log"]).unwrap()), ["x.log"]);
    }

    #[test]
    fn a_directory_of_ignored_files_is_reported() {
        let scratch = scratch();
        scratch.write(".git/info/exclude", "*.log\n");
        scratch.write("logs/x.log", "x\n");
        let outcome = recorded(&scratch, &["logs"]).unwrap();
        let warning = Warning {
            code: "left_out",
            path: Some("logs".into()),
            message: "Nothing below this directory was recorded: Git ignores its files, or it is \
                      empty. `edt checkpoint` records an ignored file that is named in full."
                .into(),
        };
        assert_eq!((outcome.commits.len(), outcome.warnings), (0, vec![warning]));
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
        assert_eq!(
            (paths(&outcome), outcome.left_out),
            (vec!["a.txt".to_owned()], vec![path("link")])
        );
        assert_eq!(
            outcome.warnings[0].message,
            "This path was not recorded: link is a symbolic link or goes through one. Nothing was \
             changed. (PATH_THROUGH_SYMLINK)."
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

    #[test]
    fn the_changes_of_a_program_are_an_edit_of_kind_run() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let info = CommitInfo { message: "run: make".into(), agent: Some("robot".into()) };
        let outcome = record(&mut scratch.open(), CheckpointReason::Program(&info), &[]).unwrap();
        let commit = Commit::read(&scratch.repo(), outcome.commits[0]).unwrap();
        let trailers = commit.trailers.clone().unwrap();
        assert_eq!((commit.subject(), trailers.kind, trailers.edit), ("run: make", Kind::Run, 1));
        assert_eq!(trailers.agent.as_deref(), Some("robot"));
    }

    #[test]
    fn the_changes_of_an_agents_tool_are_an_ordinary_edit() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let info = CommitInfo { message: "Write a.txt".into(), agent: None };
        let outcome = record(&mut scratch.open(), CheckpointReason::AgentTool(&info), &[]).unwrap();
        let trailers = Commit::read(&scratch.repo(), outcome.commits[0]).unwrap().trailers.unwrap();
        assert_eq!((trailers.kind, trailers.edit), (Kind::Edit, 1));
    }

    #[test]
    fn refused_changes_are_reverted_and_stay_at_a_ref() {
        let scratch = scratch();
        let head = scratch.head();
        scratch.write("a.txt", "two\n");
        let mut seen = Vec::new();
        let outcome = record_checked(
            &mut scratch.open(),
            CheckpointReason::Requested(None),
            &[],
            &mut |preview| {
                seen.extend(preview.paths.iter().map(|differs| differs.path.to_string()));
                Ok(RecordAction::Restore)
            },
        );
        let outcome = outcome.unwrap();
        assert_eq!(
            (seen, outcome.refused.as_deref()),
            (vec!["a.txt".to_owned()], Some("refs/edt/fix/refused/1"))
        );
        assert_eq!((scratch.text("a.txt").as_deref(), scratch.head()), (Some("one\n"), head));
        assert_eq!(scratch.committed(outcome.commits[0], "a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.ref_value("refs/edt/fix/refused/1"), Some(outcome.commits[0]));
    }

    #[test]
    fn an_error_of_the_check_records_nothing() {
        let scratch = scratch();
        scratch.write("a.txt", "two\n");
        let refuse = || Finding::new(Code::ProtectedPath, "no", "no");
        let answer = record_checked(
            &mut scratch.open(),
            CheckpointReason::Requested(None),
            &[],
            &mut |_| Err(refuse().into()),
        );
        assert_eq!(refusal(answer), refuse());
        assert_eq!(
            (scratch.text("a.txt").as_deref(), scratch.session().base),
            (Some("two\n"), scratch.head())
        );
    }
}
