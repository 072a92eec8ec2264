//! Undoes and redoes edits: moves the branch, and takes the edits off the files or puts them back.
//! Nothing is lost: the old tip is kept at `refs/edt/<name>/undone/<n>`, and every line of the user
//! stays on disk.

use super::saved::OverlappingFiles;
use super::target::{self, before_edits, nothing};
use crate::session::engine::{Applied, Change, HeadMove, RefMove, RefMoves, WorktreeChange};
use crate::session::private::hidden::{self, Hidden};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::names::{REFS, next_numbered_ref, numbered_tips};
use crate::session::refs::record::{Records, Step, Undone};
use crate::session::refs::revision;
use crate::session::user::unwind::{Direction, FileSteps};
use crate::session::worktree::checkout;
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::{InHead, ObjectWriter, Oid, Repo};
use edt_journal::{BranchOrigin, IndexView};
use edt_types::{Code, DryRun, FileReport, Finding, Outcome, Result, Status, Warning};

pub use super::saved::Overlaps;

/// How far to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// This many edits.
    Edits(u64),
    /// The edits of the newest edit's turn.
    Turn,
    /// To a commit of the session: the number of an edit, which stays, or a revision.
    To(String),
}

/// How edits are taken off the files or put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveOptions {
    pub overlaps: Overlaps,
    pub whose: Whose,
    pub dry_run: DryRun,
}

/// Whose edits a caller that is an agent may undo and redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// All but those that are known to be another agent's, or another conversation's.
    Own,
    /// All.
    Any,
}

impl Default for MoveOptions {
    fn default() -> MoveOptions {
        MoveOptions { overlaps: Overlaps::Refuse, whose: Whose::Own, dry_run: DryRun::No }
    }
}

/// A move of the session's branch.
#[derive(Debug, Clone)]
pub struct BranchMove {
    /// The tip before.
    pub from: Oid,
    /// The tip now.
    pub to: Oid,
    /// The files that changed on disk.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
    /// Whether nothing was moved.
    pub dry_run: DryRun,
}

impl BranchMove {
    /// The answer to the call that moved the branch of `session`, as it was before.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn outcome(self, workspace: &LockedWorkspace, session: Session) -> Result<Outcome> {
        let repo = &workspace.repo;
        let session = Session { tip: self.to, ..session };
        let mut outcome = Outcome::new(match self.dry_run {
            DryRun::Yes => Status::WouldApply,
            DryRun::No => Status::Applied,
        });
        outcome.session = Some(session.report(false));
        outcome.commit = Some(self.to.to_string());
        outcome.parent = Some(self.from.to_string());
        outcome.edit = Some(session.edits(repo)?);
        outcome.files = self.files;
        outcome.warnings = self.warnings;
        outcome.recovered.clone_from(&workspace.recovered);
        Ok(outcome)
    }
}

/// Undoes edits.
///
/// # Errors
/// `NOTHING_TO_UNDO`; `OTHERS_EDIT`; `BAD_REQUEST` for a revision outside the session; `UNSAVED_CHANGES` if the user
/// changed the same lines; errors of reading path states and of publishing.
pub fn undo(
    workspace: &mut LockedWorkspace,
    session: &Session,
    back: &UndoTarget,
    options: MoveOptions,
) -> Result<BranchMove> {
    let target = match back {
        UndoTarget::Edits(count) => before_edits(&workspace.repo, session, *count)?,
        UndoTarget::Turn => target::before_turn(&workspace.repo, session)?,
        UndoTarget::To(spec) => within_session(&workspace.repo, session, spec)?,
    };
    let keep = next_numbered_ref(&workspace.repo, &session.name, "undone")?;
    let from = BranchOrigin::Rewound(session.tip);
    let plan = plan_move(workspace, session, target, from, Some(keep), options)?;
    move_branch(workspace, plan)
}

/// Redoes what the last `undo` undid.
///
/// # Errors
/// `NOTHING_TO_REDO`; `OTHERS_EDIT`; errors of reading path states and of publishing.
pub fn redo(
    workspace: &mut LockedWorkspace,
    session: &Session,
    options: MoveOptions,
) -> Result<BranchMove> {
    // The newest undone tip that descends from the branch's tip. A tip that was redone already does
    // not.
    for (_, tip) in numbered_tips(&workspace.repo, &session.name, "undone")?.into_iter().rev() {
        if tip != session.tip
            && workspace.repo.reaches_by_first_parents(tip, session.tip, session.base)?
        {
            let from = BranchOrigin::Existing(session.tip);
            let plan = plan_move(workspace, session, tip, from, None, options)?;
            return move_branch(workspace, plan);
        }
    }
    let why = if is_undone_before_reorder(&workspace.repo, session)? {
        "`edt land --only` has since written the edits below what was undone again, in another order"
    } else {
        "nothing was undone, or edits followed the undo"
    };
    Err(Finding::new(
        Code::NothingToRedo,
        format!("There is nothing to redo in the session {}: {why}.", session.name),
        format!(
            "`git for-each-ref {}` lists the undone tips; `git cherry-pick` or `edt restore` \
             restores parts of them.",
            undone_prefix(session)
        ),
    )
    .into())
}

/// Whether something was undone down to a commit that has another id since, because the edits were
/// written again in another order.
fn is_undone_before_reorder(repo: &Repo, session: &Session) -> Result<bool> {
    let records = Records::of(repo, session)?;
    for (_, tip) in numbered_tips(repo, &session.name, "undone")? {
        let mut next = Some(tip);
        while let Some(oid) = next.filter(|oid| *oid != session.base && *oid != repo.empty_tree()) {
            if records.was_reordered_at(oid) {
                // A tip that was redone was written again itself.
                if oid != tip {
                    return Ok(true);
                }
                break;
            }
            next = Commit::read(repo, oid)?.parent;
        }
    }
    Ok(false)
}

/// Makes the planned change, unless it is a dry run.
fn move_branch(
    workspace: &mut LockedWorkspace,
    (change, moved): (Change, BranchMove),
) -> Result<BranchMove> {
    if moved.dry_run == DryRun::Yes {
        return Ok(BranchMove { files: change.worktree.reports, ..moved });
    }
    let Applied { files, warnings } = workspace.apply(change)?;
    Ok(BranchMove { files, warnings: [moved.warnings, warnings].concat(), ..moved })
}

/// Plans the move of the branch to `target`. The ref `keep` keeps the old tip.
fn plan_move(
    workspace: &LockedWorkspace,
    session: &Session,
    target: Oid,
    from: BranchOrigin,
    keep: Option<String>,
    options: MoveOptions,
) -> Result<(Change, BranchMove)> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    session.check_not_shared(repo)?;
    let mut writer = ObjectWriter::new(repo);
    let (tip_tree, target_tree) = (repo.tree_of(session.tip)?, repo.tree_of(target)?);
    let paths = repo.tree_diff(tip_tree, target_tree)?;
    let back = matches!(from, BranchOrigin::Rewound(_));
    let (commits, direction) = if back {
        (above(session.commits(repo), target)?, Direction::Back)
    } else {
        let redone = Session { tip: target, ..session.clone() };
        let commits = redone.identified(repo, Undone::Count)?.into_iter().map(Ok);
        (above(commits, session.tip)?, Direction::Forward)
    };
    let verb = if back { "edt undo" } else { "edt redo" };
    if options.whose == Whose::Own {
        target::check_own(&workspace.options().caller, &commits, verb)?;
    }
    let steps = FileSteps::of(repo, &commits, direction)?;
    let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
    let all = checkout::with_paths(&paths, steps.paths().into_iter());
    let hidden = Hidden::of(repo, Some(session));
    let states = checkout::read_states(&hidden, tip_tree, index.as_ref(), &all)?;
    checkout::check_not_switched(repo, session, &states, &all)?;
    let mut overlapping = OverlappingFiles::new(options.overlaps, verb);
    let planned = overlapping.checkout(&writer, &steps, states, &all, session.head)?;
    let saved = overlapping.save(&mut writer, session)?;
    let mut create: Vec<(String, Oid)> = keep.map(|name| (name, session.tip)).into_iter().collect();
    create.extend(saved.create);
    let mut warnings = saved.warnings;
    warnings.extend(steps.warnings.iter().cloned());
    let attributes = checkout::attributes(&paths, tip_tree, target_tree);
    let index = index.map(|index| (index, tip_tree));
    let worktree = WorktreeChange::of(&mut writer, index, attributes, planned)?;
    let log = format!("{verb}: moving to {}", target.to_hex_with_len(12));
    let branch = RefMove { name: session.branch(), from, new: target, log };
    let step = if back { Step::Undo(commits) } else { Step::Redo(commits) };
    let change = Change {
        base: Some(session.base),
        head: HeadMove::stays(session.head),
        refs: RefMoves { create, ..RefMoves::default() },
        objects: writer.loose_objects(),
        worktree,
        restored: hidden::restored(repo, &steps)?,
        entry: Some((session.clone(), step)),
        ..Change::of(&session.name, branch)
    };
    let (from, to, dry_run) = (session.tip, target, options.dry_run);
    Ok((change, BranchMove { from, to, files: Vec::new(), warnings, dry_run }))
}

/// The `commits` above `below`.
fn above(commits: impl Iterator<Item = Result<Commit>>, below: Oid) -> Result<Vec<Commit>> {
    let is_above =
        |commit: &Result<Commit>| commit.as_ref().map_or(true, |commit| commit.oid != below);
    commits.take_while(is_above).collect()
}

fn within_session(repo: &Repo, session: &Session, spec: &str) -> Result<Oid> {
    let target = revision::resolve(repo, Some(session), spec)?;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;
    use crate::session::recording::record::checkpoint;
    use crate::session::user::unwind;
    use crate::tests::{Scratch, path, refusal};
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
        let target = UndoTarget::To(spec.to_owned());
        undo(&mut scratch.open(), &session, &target, MoveOptions::default())
    }

    #[test]
    fn undo_moves_branch_and_file_one_edit_back() {
        let scratch = two_edits();
        let (second, first) = (scratch.head(), scratch.session());
        let first = first.commits(&scratch.repo()).nth(1).unwrap().unwrap().oid;
        let moved = scratch.undo(1).unwrap();
        assert_eq!((moved.from, moved.to, scratch.head()), (second, first, first));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(moved.files.len(), 1);
    }

    #[test]
    fn undo_to_edit_zero_undoes_every_edit() {
        let scratch = two_edits();
        assert_eq!(undo_to(&scratch, "0").unwrap().to, scratch.session().base);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
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
    fn the_content_of_a_checkpoint_above_an_edit_stays_on_disk() {
        let scratch = two_edits();
        scratch.write("b.txt", "by hand\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
        assert_eq!(scratch.committed(scratch.head(), "b.txt").as_deref(), Some("b\n"));
    }

    #[test]
    fn the_users_line_that_an_undone_edit_changed_is_back() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let base = scratch.begin("fix").base;
        scratch.write("a.txt", "one by hand\n");
        scratch.edit("first", "a.txt", "one by", "two by");
        scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one by hand\n"));
        assert_eq!(scratch.head(), base);
        scratch.redo().unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two by hand\n"));
        assert_eq!(scratch.session().commits(&scratch.repo()).count(), 1);
    }

    #[test]
    fn undo_of_a_line_that_the_user_changed_is_refused() {
        let scratch = two_edits();
        let head = scratch.head();
        scratch.write("a.txt", "by hand\n");
        let finding = unwind::overlap(&path("a.txt"), &[0..1], "`edt undo`");
        assert_eq!(refusal(scratch.undo(1)), finding);
        assert_eq!((scratch.text("a.txt").as_deref(), scratch.head()), (Some("by hand\n"), head));
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/1"), None);
    }

    const SAVING: MoveOptions =
        MoveOptions { overlaps: Overlaps::Save, whose: Whose::Own, dry_run: DryRun::No };

    fn saving(scratch: &Scratch) -> BranchMove {
        let session = scratch.session();
        undo(&mut scratch.open(), &session, &UndoTarget::Edits(1), SAVING).unwrap()
    }

    #[test]
    fn saving_overwrites_only_the_lines_that_overlap() {
        let text = |three: &str, nine: &str| format!("1\n2\n{three}\n4\n5\n6\n7\n8\n{nine}\n");
        let scratch = Scratch::with(&[("a.txt", &text("3", "9"))]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "3", "three");
        scratch.write("a.txt", &text("three, typed", "9, typed"));
        saving(&scratch);
        assert_eq!(scratch.text("a.txt"), Some(text("3", "9, typed")));
        let saved = scratch.ref_value("refs/edt/fix/saved/1").unwrap();
        assert_eq!(scratch.committed(saved, "a.txt"), Some(text("three, typed", "9, typed")));
    }

    #[test]
    fn no_commit_saves_an_ignored_file() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write(".git/info/exclude", ".env\n");
        scratch.begin("fix");
        scratch.write(".env", "one\n");
        scratch.apply(&Request::new("x").overwrite(".env", "two\n")).unwrap();
        scratch.write(".env", "by hand\n");
        let session = scratch.session();
        let moved = undo(&mut scratch.open(), &session, &UndoTarget::Edits(1), SAVING);
        let finding = refusal(moved);
        assert_eq!((finding.code, finding.path.as_deref()), (Code::UnsavedChanges, Some(".env")));
        assert!(!finding.hint().contains("--save"), "{}", finding.hint());
        assert_eq!(scratch.ref_value("refs/edt/fix/saved/1"), None);
    }

    #[test]
    fn the_number_of_an_edit_is_a_target_of_undo() {
        let scratch = two_edits();
        undo_to(&scratch, "1").unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        let finding = refusal(undo_to(&scratch, "7"));
        assert_eq!(finding.summary, "The session fix has no edit 7.");
    }

    #[test]
    fn a_dry_run_moves_nothing() {
        let scratch = two_edits();
        let (head, session) = (scratch.head(), scratch.session());
        let options = MoveOptions { dry_run: DryRun::Yes, ..MoveOptions::default() };
        let moved = undo(&mut scratch.open(), &session, &UndoTarget::Edits(1), options).unwrap();
        assert_eq!((moved.files.len(), moved.dry_run), (1, DryRun::Yes));
        assert_eq!((scratch.head(), scratch.text("a.txt").as_deref()), (head, Some("three\n")));
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/1"), None);
    }

    /// Every file below the Git directory with its bytes, without locks of edt.
    fn git_directory(scratch: &Scratch) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut todo) = (BTreeMap::new(), vec![scratch.root().join(".git")]);
        while let Some(directory) = todo.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    todo.push(path);
                } else if path.extension().is_none_or(|end| end != "lock") {
                    found.insert(path.clone(), std::fs::read(&path).unwrap());
                }
            }
        }
        found
    }

    #[test]
    fn a_dry_run_writes_nothing_also_where_a_private_file_would_come_back() {
        let scratch = Scratch::with_rules(&[("a.txt", "one\n")], ".env\n");
        scratch.write(".env", "KEY=1\n");
        scratch.begin("fix");
        scratch.apply(&Request::new("gone").delete(".env")).unwrap();
        scratch.apply(&Request::new("gone").delete(".gitignore")).unwrap();
        let (session, before) = (scratch.session(), git_directory(&scratch));
        let options = MoveOptions { dry_run: DryRun::Yes, ..MoveOptions::default() };
        undo(&mut scratch.open(), &session, &UndoTarget::Edits(2), options).unwrap();
        assert_eq!(git_directory(&scratch), before);
        scratch.undo(2).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn a_version_of_the_user_that_undo_overwrites_is_saved_on_request() {
        let scratch = two_edits();
        scratch.write("a.txt", "by hand\n");
        let moved = saving(&scratch);
        let saved = scratch.ref_value("refs/edt/fix/saved/1").unwrap();
        assert_eq!(scratch.committed(saved, "a.txt").as_deref(), Some("by hand\n"));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
        assert_eq!(moved.warnings[0].code.name(), "user_version_saved");
    }

    #[test]
    fn without_an_overlap_nothing_is_saved() {
        let scratch = two_edits();
        scratch.write("b.txt", "by hand\n");
        assert_eq!(saving(&scratch).warnings, []);
        assert_eq!(scratch.ref_value("refs/edt/fix/saved/1"), None);
    }

    const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

    #[test]
    fn undo_keeps_lines_that_the_user_typed_later() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "3", "three");
        scratch.write("a.txt", &TEN.replace('3', "three").replace("8\n", "8\nmine\n"));
        let moved = scratch.undo(1).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(TEN.replace("8\n", "8\nmine\n")));
        assert_eq!(moved.files[0].user_changes, edt_types::UserChanges::Separate);
        scratch.redo().unwrap();
        let both = TEN.replace('3', "three").replace("8\n", "8\nmine\n");
        assert_eq!(scratch.text("a.txt"), Some(both));
    }

    #[test]
    fn lines_typed_between_two_edits_survive_the_undo_of_both() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "3", "three");
        scratch.write("a.txt", &TEN.replace('3', "three").replace("5\n", "5\nmine\n"));
        scratch.edit("second", "a.txt", "9", "nine");
        let both = scratch.text("a.txt");
        scratch.undo(2).unwrap();
        assert_eq!(scratch.text("a.txt"), Some(TEN.replace("5\n", "5\nmine\n")));
        scratch.redo().unwrap();
        assert_eq!(scratch.text("a.txt"), both);
    }

    #[test]
    fn lines_typed_after_a_rename_go_back_with_the_file() {
        let scratch = Scratch::with(&[("a.txt", TEN), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.apply(&Request::new("move").rename("a.txt", "c.txt")).unwrap();
        scratch.edit("after", "c.txt", "9", "nine");
        let typed = scratch.text("c.txt").unwrap().replace("5\n", "5\nmine\n");
        scratch.write("c.txt", &typed);
        scratch.undo(2).unwrap();
        let users = TEN.replace("5\n", "5\nmine\n");
        assert_eq!((scratch.text("a.txt"), scratch.text("c.txt")), (Some(users), None));
        scratch.redo().unwrap();
        assert_eq!((scratch.text("a.txt"), scratch.text("c.txt")), (None, Some(typed)));
    }

    #[test]
    fn a_line_that_overlaps_with_the_undo_of_a_rename_is_named_where_it_is() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        let move_and_edit = Request::new("move").edit("a.txt", "9", "nine");
        scratch.apply(&move_and_edit.rename("a.txt", "c.txt")).unwrap();
        let typed = scratch.text("c.txt").unwrap().replace("nine", "nine by hand");
        scratch.write("c.txt", &typed);
        let finding = unwind::overlap(&path("c.txt"), &[8..9], "`edt undo`");
        assert_eq!(refusal(scratch.undo(1)), finding);
        assert_eq!((scratch.text("a.txt"), scratch.text("c.txt")), (None, Some(typed)));
    }

    #[test]
    fn a_file_at_the_old_name_of_a_renamed_one_is_not_overwritten() {
        let scratch = Scratch::with(&[("a.txt", TEN)]);
        scratch.begin("fix");
        scratch.apply(&Request::new("move").rename("a.txt", "c.txt")).unwrap();
        scratch.write("a.txt", "mine\n");
        assert_eq!(refusal(scratch.undo(1)).path.as_deref(), Some("a.txt"));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("mine\n"));
        assert_eq!(scratch.text("c.txt").as_deref(), Some(TEN));
    }

    #[test]
    fn a_deleted_file_that_the_user_made_anew_is_not_overwritten() {
        let scratch = two_edits();
        scratch.apply(&Request::new("gone").delete("b.txt")).unwrap();
        scratch.write("b.txt", "mine\n");
        assert_eq!(refusal(scratch.undo(1)), unwind::overlap(&path("b.txt"), &[], "`edt undo`"));
        assert_eq!(scratch.text("b.txt").as_deref(), Some("mine\n"));
    }

    #[test]
    fn a_created_file_that_the_user_changed_is_not_removed() {
        let scratch = two_edits();
        scratch.apply(&Request::new("new").create("c.txt", "c\n")).unwrap();
        scratch.write("c.txt", "c\nmine\n");
        assert_eq!(refusal(scratch.undo(1)).code, Code::UnsavedChanges);
        assert_eq!(scratch.text("c.txt").as_deref(), Some("c\nmine\n"));
    }

    #[test]
    fn undo_leaves_the_users_changes_of_other_files() {
        let scratch = two_edits();
        scratch.write("b.txt", "by hand\n");
        scratch.undo(1).unwrap();
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
        scratch.begin_with("fix", crate::session::worktree::begin::HeadSwitch::Never);
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
    fn redo_of_a_line_that_the_user_changed_is_refused() {
        let scratch = two_edits();
        scratch.undo(1).unwrap();
        scratch.write("a.txt", "by hand\n");
        let finding = unwind::overlap(&path("a.txt"), &[0..1], "`edt redo`");
        assert_eq!(refusal(scratch.redo()), finding);
        let session = scratch.session();
        redo(&mut scratch.open(), &session, SAVING).unwrap();
        let saved = scratch.ref_value("refs/edt/fix/saved/1").unwrap();
        assert_eq!(scratch.committed(saved, "a.txt").as_deref(), Some("by hand\n"));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }

    #[test]
    fn the_answer_to_undo_counts_the_remaining_edits() {
        let scratch = two_edits();
        let mut workspace = scratch.open();
        let session = scratch_session(&workspace);
        let moved =
            undo(&mut workspace, &session, &UndoTarget::Edits(1), MoveOptions::default()).unwrap();
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
