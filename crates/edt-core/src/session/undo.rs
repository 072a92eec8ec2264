//! Undoes and redoes edits: moves the branch, and updates the files that differ. Nothing is lost:
//! the old tip is kept at `refs/edt/<name>/undone/<n>`, and unrecorded changes are recorded in a
//! checkpoint first.

use super::checkout::{self, CheckoutPlan};
use super::checkpoint::{CheckpointReason, Checkpoints};
use super::current::{REFS, Session};
use super::diff_report;
use super::history::Commit;
use super::list::{next_numbered_ref, numbered_tips};
use super::workspace::LockedWorkspace;
use edt_git::diff::TreeDifference;
use edt_git::{InHead, ObjectWriter, Oid, Repo};
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, IndexView, publish};
use edt_types::{Code, Finding, Outcome, Result, Status, Warning};

/// How far to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// This many edits.
    Edits(u64),
    /// To a commit of the session.
    To(String),
}

/// A move of the session's branch.
#[derive(Debug, Clone)]
pub struct BranchMove {
    /// The tip before.
    pub from: Oid,
    /// The tip now.
    pub to: Oid,
    /// The paths that differ between both.
    pub paths: Vec<TreeDifference>,
    /// Checkpoints of unrecorded changes, made before the move.
    pub checkpoints: Vec<Oid>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

impl BranchMove {
    /// The answer to the call that moved the branch of `session`, as it was before.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn outcome(self, workspace: &LockedWorkspace, session: Session) -> Result<Outcome> {
        let repo = &workspace.repo;
        let session = Session { tip: self.to, ..session };
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(false));
        outcome.commit = Some(self.to.to_string());
        outcome.parent = Some(self.from.to_string());
        outcome.edit = Some(session.edits(repo)?);
        outcome.checkpoints = self.checkpoints.iter().map(ToString::to_string).collect();
        outcome.files = diff_report::files(repo, &self.paths)?;
        outcome.warnings = self.warnings;
        outcome.recovered.clone_from(&workspace.recovered);
        Ok(outcome)
    }
}

/// Undoes edits.
///
/// # Errors
/// `NOTHING_TO_UNDO`; `BAD_REQUEST` for a revision outside the session; errors of reading path
/// states and of publishing.
pub fn undo(
    workspace: &mut LockedWorkspace,
    session: &Session,
    back: &UndoTarget,
) -> Result<BranchMove> {
    let target = match back {
        UndoTarget::Edits(count) => before_edits(&workspace.repo, session, *count)?,
        UndoTarget::To(spec) => within_session(&workspace.repo, session, spec)?,
    };
    let keep = next_numbered_ref(&workspace.repo, &session.name, "undone")?;
    move_branch(workspace, session, target, BranchOrigin::Rewound(session.tip), Some(keep))
}

/// Redoes what the last `undo` undid.
///
/// # Errors
/// `NOTHING_TO_REDO`; errors of reading path states and of publishing.
pub fn redo(workspace: &mut LockedWorkspace, session: &Session) -> Result<BranchMove> {
    // The newest undone tip that descends from the branch's tip. A tip that was redone already does
    // not.
    for (_, tip) in numbered_tips(&workspace.repo, &session.name, "undone")?.into_iter().rev() {
        if tip != session.tip
            && workspace.repo.reaches_by_first_parents(tip, session.tip, session.base)?
        {
            return move_branch(workspace, session, tip, BranchOrigin::Existing(session.tip), None);
        }
    }
    Err(Finding::new(
        Code::NothingToRedo,
        format!(
            "There is nothing to redo in the session {}: nothing was undone, or edits followed \
             the undo.",
            session.name
        ),
        format!(
            "`git for-each-ref {}` lists the undone tips; `git cherry-pick` or `edt restore` \
             restores parts of them.",
            undone_prefix(session)
        ),
    )
    .into())
}

/// Moves the branch to `target`, and keeps the old tip at the ref `keep`.
fn move_branch(
    workspace: &mut LockedWorkspace,
    session: &Session,
    target: Oid,
    from: BranchOrigin,
    keep: Option<String>,
) -> Result<BranchMove> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    session.check_not_shared(repo)?;
    let mut writer = ObjectWriter::new(repo);
    let (tip_tree, target_tree) = (repo.tree_of(session.tip)?, repo.tree_of(target)?);
    let paths = repo.tree_diff(tip_tree, target_tree)?;
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let states = checkout::read_states(repo, tip_tree, index.as_ref(), &paths)?;
    checkout::check_not_switched(repo, session, &states, &paths)?;
    let edits = session.edits(repo)?;
    let attributes = checkout::attributes(&paths, tip_tree, target_tree);
    let checkpoints = Checkpoints::write(
        &mut writer,
        session,
        tip_tree,
        edits,
        &states.iter().collect::<Vec<_>>(),
        CheckpointReason::Foreign,
    )?;
    let tree = index.as_ref().map(|_| tip_tree);
    let CheckoutPlan { files, moves, touched_trees } =
        CheckoutPlan::of(&mut writer, tree, attributes, &checkout::to_new(states, &paths))?;
    let verb = if matches!(from, BranchOrigin::Rewound(_)) { "edt undo" } else { "edt redo" };
    // A new checkpoint must stay reachable after the branch moves.
    let recorded = !checkpoints.commits.is_empty();
    let keep = if keep.is_none() && recorded {
        Some(next_numbered_ref(repo, &session.name, "undone")?)
    } else {
        keep
    };
    let create = keep.map(|name| (name, checkpoints.tip)).into_iter().collect();
    let branch = BranchUpdate {
        name: session.branch(),
        from,
        new: target,
        log: format!("{verb}: moving to {}", target.to_hex_with_len(12)),
        head: session.head,
        head_from: None,
        point: None,
    };
    let change = ChangeSet {
        objects: writer.loose_objects(),
        create,
        files,
        index: index.map(|index| (index, moves)),
        touched_trees,
        ..ChangeSet::of(branch)
    };
    workspace.require_durability(session.base);
    let warnings = publish(&workspace.repo, &mut workspace.journal, change)?;
    Ok(BranchMove {
        from: session.tip,
        to: target,
        paths,
        checkpoints: checkpoints.commits,
        warnings,
    })
}

/// The commit before the last `count` edits. Checkpoints between those edits are undone with them;
/// checkpoints before them stay.
fn before_edits(repo: &Repo, session: &Session, count: u64) -> Result<Oid> {
    if count == 0 {
        return Err(nothing(session, 0).into());
    }
    let mut remaining = count;
    for commit in session.commits(repo) {
        let commit = commit?;
        match &commit.trailers {
            None => return Err(user_commit(session, &commit).into()),
            Some(trailers) if trailers.kind.is_edit() => remaining -= 1,
            Some(_) => {}
        }
        if remaining == 0 {
            return commit.parent.ok_or_else(|| nothing(session, count).into());
        }
    }
    Err(nothing(session, count).into())
}

fn within_session(repo: &Repo, session: &Session, spec: &str) -> Result<Oid> {
    let target = repo.commit_named(spec)?;
    if target == session.tip {
        return Err(nothing(session, 0).into());
    }
    if target == session.base {
        return Ok(target);
    }
    for commit in session.commits(repo) {
        if commit?.oid == target {
            return Ok(target);
        }
    }
    Err(Finding::new(
        Code::BadRequest,
        format!("{spec} is not a commit of the session {}.", session.name),
        "`edt log` lists the session's commits; name one of them, or the base.",
    )
    .into())
}

fn undone_prefix(session: &Session) -> String {
    format!("{REFS}{}/undone/", session.name)
}

fn nothing(session: &Session, count: u64) -> Finding {
    let message = match count {
        0 => format!("The session {} is already at that commit.", session.name),
        1 => format!("The session {} has no edit to undo.", session.name),
        count => format!("The session {} does not have {count} edits to undo.", session.name),
    };
    Finding::new(
        Code::NothingToUndo,
        message,
        "`edt log` lists the session's edits; `edt redo` redoes what was undone.",
    )
}

fn user_commit(session: &Session, commit: &Commit) -> Finding {
    let short = commit.oid.to_hex_with_len(12);
    Finding::new(
        Code::NothingToUndo,
        format!(
            "The commit {short} ({}) on edt/{} is a user's commit; `edt undo` undoes only \
            edits made through edt.",
            commit.subject(),
            session.name
        ),
        format!(
            "The user can remove it with `git reset --keep {short}~1`, or undo past it on \
            purpose with `edt undo --to {short}~1`."
        ),
    )
    .with("commit", commit.oid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::record::record;
    use crate::tests::{Scratch, refusal};
    use crate::txn::Request;

    /// A session `fix` with the edits "first" (one to two) and "second" (two to three).
    fn two_edits() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch.edit("second", "a.txt", "two", "three");
        scratch
    }

    fn undo_to(scratch: &Scratch, spec: &str) -> Result<BranchMove> {
        let session = scratch.session();
        undo(&mut scratch.open(), &session, &UndoTarget::To(spec.to_owned()))
    }

    #[test]
    fn undo_moves_branch_and_file_one_edit_back() {
        let scratch = two_edits();
        let (second, first) = (scratch.head(), scratch.session());
        let first = first.commits(&scratch.repo()).nth(1).unwrap().unwrap().oid;
        let moved = scratch.undo(1).unwrap();
        assert_eq!((moved.from, moved.to, scratch.head()), (second, first, first));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(moved.paths.len(), 1);
    }

    #[test]
    fn several_edits_are_undone_at_once() {
        let scratch = two_edits();
        assert_eq!(scratch.undo(2).unwrap().to, scratch.session().base);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn an_undone_tip_stays_at_a_numbered_ref() {
        let scratch = two_edits();
        let second = scratch.undo(1).unwrap().from;
        let first = scratch.undo(1).unwrap().from;
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/1"), Some(second));
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/2"), Some(first));
    }

    #[test]
    fn more_edits_than_there_are_cannot_be_undone() {
        let scratch = two_edits();
        let before = scratch.head();
        let finding = Finding::new(
            Code::NothingToUndo,
            "The session fix does not have 3 edits to undo.",
            "`edt log` lists the session's edits; `edt redo` redoes what was undone.",
        );
        assert_eq!(refusal(scratch.undo(3)), finding);
        assert_eq!(scratch.head(), before);
    }

    #[test]
    fn a_session_without_an_edit_has_nothing_to_undo() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        let finding = refusal(scratch.undo(1));
        assert_eq!(finding.summary, "The session fix has no edit to undo.");
    }

    #[test]
    fn undo_stops_at_a_users_commit() {
        let scratch = two_edits();
        let by_hand = scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        let short = by_hand.to_hex_with_len(12);
        let finding = Finding::new(
            Code::NothingToUndo,
            format!(
                "The commit {short} (by hand) on edt/fix is a user's commit; `edt undo` undoes \
                 only edits made through edt."
            ),
            format!(
                "The user can remove it with `git reset --keep {short}~1`, or undo past it on \
                 purpose with `edt undo --to {short}~1`."
            ),
        );
        assert_eq!(refusal(scratch.undo(1)), finding.with("commit", by_hand.to_string()));
    }

    #[test]
    fn the_base_is_a_target_of_undo() {
        let scratch = two_edits();
        let base = scratch.session().base;
        assert_eq!(undo_to(&scratch, &base.to_string()).unwrap().to, base);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
    }

    #[test]
    fn a_revision_of_the_session_is_a_target_of_undo() {
        let scratch = two_edits();
        undo_to(&scratch, "HEAD~1").unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn the_tip_is_no_target_of_undo() {
        let finding = refusal(undo_to(&two_edits(), "HEAD"));
        assert_eq!(finding.summary, "The session fix is already at that commit.");
    }

    #[test]
    fn a_commit_outside_the_session_is_no_target_of_undo() {
        let scratch = two_edits();
        let other = scratch.user_commit("main", &[("c.txt", Some("c\n"))], "other\n");
        let finding = Finding::new(
            Code::BadRequest,
            format!("{other} is not a commit of the session fix."),
            "`edt log` lists the session's commits; name one of them, or the base.",
        );
        assert_eq!(refusal(undo_to(&scratch, &other.to_string())), finding);
    }

    #[test]
    fn a_checkpoint_above_an_edit_is_undone_with_it() {
        let scratch = two_edits();
        scratch.write("b.txt", "by hand\n");
        record(&mut scratch.open(), CheckpointReason::Requested(None), &[]).unwrap();
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn a_checkpoint_below_an_edit_stays() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "one by hand\n");
        scratch.edit("first", "a.txt", "one by", "two by");
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one by hand\n"));
        assert_eq!(
            scratch.message(scratch.head()).lines().next(),
            Some("checkpoint: unrecorded changes of a.txt")
        );
    }

    #[test]
    fn undo_records_unrecorded_changes_of_its_files_first() {
        let scratch = two_edits();
        scratch.write("a.txt", "by hand\n");
        let moved = scratch.undo(1).unwrap();
        assert_eq!(moved.checkpoints.len(), 1);
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/1"), Some(moved.checkpoints[0]));
        assert_eq!(scratch.committed(moved.checkpoints[0], "a.txt").as_deref(), Some("by hand\n"));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn undo_leaves_the_unrecorded_changes_of_other_files() {
        let scratch = two_edits();
        scratch.write("b.txt", "by hand\n");
        assert!(scratch.undo(1).unwrap().checkpoints.is_empty());
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn undo_of_a_created_file_removes_it() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.apply(&Request::new("new").create("dir/c.txt", "c\n")).unwrap();
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("dir/c.txt"), None);
        assert!(!scratch.root().join("dir").exists());
    }

    #[test]
    fn undo_works_while_head_is_elsewhere() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin_with("fix", crate::session::begin::HeadSwitch::Never);
        scratch.edit("first", "a.txt", "one", "two");
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn redo_reverses_undo() {
        let scratch = two_edits();
        let tip = scratch.undo(2).unwrap().from;
        let moved = scratch.redo().unwrap();
        assert_eq!((moved.to, scratch.head()), (tip, tip));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }

    #[test]
    fn redo_reverses_the_newest_undo_first() {
        let scratch = two_edits();
        scratch.undo(1).unwrap();
        scratch.undo(1).unwrap();
        scratch.redo().unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        scratch.redo().unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }

    #[test]
    fn there_is_nothing_to_redo_after_another_edit() {
        let scratch = two_edits();
        scratch.undo(1).unwrap();
        scratch.edit("other", "a.txt", "two", "four");
        let finding = Finding::new(
            Code::NothingToRedo,
            "There is nothing to redo in the session fix: nothing was undone, or edits followed \
             the undo.",
            "`git for-each-ref refs/edt/fix/undone/` lists the undone tips; `git cherry-pick` or \
             `edt restore` restores parts of them.",
        );
        assert_eq!(refusal(scratch.redo()), finding);
    }

    #[test]
    fn what_redo_overwrites_stays_reachable() {
        let scratch = two_edits();
        scratch.undo(1).unwrap();
        scratch.write("a.txt", "by hand\n");
        let moved = scratch.redo().unwrap();
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/2"), Some(moved.checkpoints[0]));
    }

    #[test]
    fn the_answer_to_undo_counts_the_remaining_edits() {
        let scratch = two_edits();
        let mut workspace = scratch.open();
        let session = scratch_session(&workspace);
        let moved = undo(&mut workspace, &session, &UndoTarget::Edits(1)).unwrap();
        let (from, to) = (moved.from.to_string(), moved.to.to_string());
        let outcome = moved.outcome(&workspace, session).unwrap();
        assert_eq!((outcome.commit, outcome.parent, outcome.edit), (Some(to), Some(from), Some(1)));
        let file = &outcome.files[0];
        assert_eq!((file.path.as_str(), file.lines_added, file.lines_removed), ("a.txt", 1, 1));
    }

    fn scratch_session(workspace: &LockedWorkspace) -> Session {
        Session::required(&workspace.repo, &workspace.repo.head().unwrap()).unwrap()
    }

    #[test]
    fn undo_waits_for_the_end_of_a_rebase() {
        let scratch = two_edits();
        scratch.write(".git/rebase-merge/head-name", "refs/heads/edt/fix\n");
        assert_eq!(refusal(scratch.undo(1)).code, Code::RepositoryBusy);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }
}
