//! Lands a session: makes one commit of it on the branch the session began from, and updates the
//! worktree where that branch is checked out.

use std::path::{Path, PathBuf};

use super::checkout::{self, CheckoutPlan};
use super::current::{POINTER, Session};
use super::diff_report;
use super::history::Commit;
use super::land_commits::LandCommits;
use super::land_options::LandOptions;
use super::land_plan::{LandPlan, LandTarget, PlannedCommit};
use super::list::{next_numbered_ref, origin};
use super::path_state::PathState;
use super::workspace::LockedWorkspace;
use edt_git::commit_hooks;
use edt_git::diff::TreeDifference;
use edt_git::{FileId, InHead, Loose, ObjectWriter, Oid, Repo, Tracked};
use edt_journal::{BranchOrigin, BranchUpdate, ChangeSet, IndexView, publish};
use edt_types::text::counted;
use edt_types::{Code, Effect, Finding, Outcome, Recovered, Refusal, Result, Status, Warning};

/// A landed session.
#[derive(Debug)]
pub struct Landed {
    /// The branch.
    pub target: LandTarget,
    /// Its commit now.
    pub commit: Oid,
    /// The new commits on it, oldest first.
    pub commits: Vec<Oid>,
    /// How many edits of the session they include.
    pub edits: u64,
    /// The paths that differ from the branch's previous commit.
    pub paths: Vec<TreeDifference>,
    /// The root of the other worktree that was updated; `None` if it is this one.
    pub elsewhere: Option<PathBuf>,
    /// What was recovered in that other worktree first.
    pub recovered: Option<Recovered>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

impl Landed {
    /// The answer to the call that landed `session`.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn outcome(self, workspace: &LockedWorkspace, session: &Session) -> Result<Outcome> {
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(false));
        outcome.commit = Some(self.commit.to_string());
        outcome.parent = self.target.tip.map(|tip| tip.to_string());
        outcome.edit = Some(self.edits);
        outcome.files = diff_report::files(&workspace.repo, &self.paths)?;
        outcome.warnings = self.warnings;
        outcome.recovered = workspace.recovered.clone().or(self.recovered);
        Ok(outcome)
    }
}

/// Lands `session`.
///
/// # Errors
/// `NOTHING_TO_LAND`, `MERGE_CONFLICT`, `UNSAVED_CHANGES`, `GIT_OPERATION_BLOCKED` (a commit hook),
/// `BAD_REQUEST` (no such branch), errors of publishing. Nothing is changed on an error, except by
/// the hooks themselves.
pub fn land(
    workspace: &mut LockedWorkspace,
    session: &Session,
    options: &LandOptions,
) -> Result<Landed> {
    workspace.repo.check_idle()?;
    session.check_not_shared(&workspace.repo)?;
    // Git's hooks may take long and may call edt. The lock is released meanwhile, so everything is
    // checked again afterwards.
    let prepared = workspace.unlocked(|repo| PreparedLanding::of(repo, session, options))?;
    let repo = &workspace.repo;
    let PreparedLanding { target, plan, commits, mut objects, commit, tree } = prepared;
    repo.check_idle()?;
    session.check_not_shared(repo)?;
    let mut elsewhere = other_worktree(workspace, session, &target)?;
    let moved = |what: &str| {
        let message = format!("{what} moved while Git's hooks ran.");
        Finding::new(Code::SessionMoved, message, "Repeat the call.")
            .with_effect(Effect::NothingLanded)
    };
    if Session::current(repo, &repo.head()?)?.as_ref() != Some(session) {
        return Err(moved(&format!("edt/{}", session.name)).into());
    }
    if repo.ref_value(&target.branch)? != target.tip {
        return Err(moved(target.short()).into());
    }
    let place = elsewhere.as_ref().map_or(repo, |(workspace, _)| &workspace.repo);
    place.check_idle()?;
    let root = elsewhere.as_ref().map(|(_, root)| root.as_path());
    let (mut update, head_stays) = WorktreeUpdate::of(place, session, &target, tree, root)?;
    let mut warnings = Vec::from_iter(head_stays);
    warnings.extend(folded(&plan.folded, &target));
    warnings.extend(unused_message(&plan, options));
    // The journal writes the commits again: they are unreferenced until the branch moves.
    objects.append(&mut update.objects);
    let paths = repo.tree_diff(target.tree(repo)?, tree)?;
    let branch = BranchUpdate {
        name: target.branch.clone(),
        from: target.tip.map_or(BranchOrigin::Created(commit), BranchOrigin::Existing),
        new: commit,
        log: format!("edt land: edt/{}", session.name),
        head: update.head,
        head_from: update.head_from.take(),
        point: None,
    };
    // Landing ends a session whose HEAD is not switched.
    let pointer = match (session.head, &elsewhere) {
        (InHead::No, None) if repo.symbolic_ref(POINTER)? == Some(session.branch()) => {
            vec![(POINTER.to_owned(), session.tip)]
        }
        _ => Vec::new(),
    };
    let change = ChangeSet {
        objects,
        create: vec![
            (next_numbered_ref(repo, &session.name, "landed")?, session.tip),
            (next_numbered_ref(repo, &session.name, "landing")?, commit),
        ],
        files: update.steps.files,
        index: update.index.map(|index| (index, update.steps.moves)),
        touched_trees: update.steps.touched_trees,
        drop: pointer,
        ..ChangeSet::of(branch)
    };
    workspace.require_durability(session.base);
    let (repo, level) = (&workspace.repo, workspace.journal.durability());
    let (repo, journal) = match &mut elsewhere {
        Some((workspace, _)) => (&workspace.repo, &mut workspace.journal),
        None => (repo, &mut workspace.journal),
    };
    journal.require_durability(level);
    warnings.extend(publish(repo, journal, change)?);
    let recovered = elsewhere.as_ref().and_then(|(workspace, _)| workspace.recovered.clone());
    let root = elsewhere.map(|(_, root)| root);
    if session.head == InHead::No {
        // The other worktree's journal does not cover this ref. After a crash here the session
        // stays open.
        let _ = workspace.repo.delete_symbolic_ref(POINTER, &session.branch());
    }
    let place = root.clone().unwrap_or_else(|| workspace.repo.root_path().to_owned());
    // The landing is complete. The last hook cannot change it and needs no lock.
    workspace.release();
    warnings.extend(commit_hooks::run_post_commit(&workspace.repo, &place));
    let edits = plan.commits.iter().filter(|commit| commit.is_edit()).count() as u64;
    Ok(Landed { target, commit, commits, edits, paths, elsewhere: root, recovered, warnings })
}

/// The commits to land. They are written, but no ref names them.
struct PreparedLanding {
    target: LandTarget,
    plan: LandPlan,
    commits: Vec<Oid>,
    /// All objects that the commits need.
    objects: Vec<Loose>,
    /// The last commit.
    commit: Oid,
    /// Its tree. It differs from the merged tree if a hook changed files.
    tree: Oid,
}

impl PreparedLanding {
    fn of(repo: &Repo, session: &Session, options: &LandOptions) -> Result<PreparedLanding> {
        let target = target(repo, session, options)?;
        let mut writer = ObjectWriter::new(repo);
        let plan = LandPlan::of(repo, &mut writer, session, &target)?;
        let commits = LandCommits { repo, session, target: &target, plan: &plan, options }
            .write(&mut writer)?;
        let commit = *commits.last().unwrap_or(&session.tip);
        let tree = writer.tree_of(commit)?;
        let objects = writer.loose_objects();
        edt_git::objects::write_synced(repo.objects_dir(), &objects)?;
        Ok(PreparedLanding { target, plan, commits, objects, commit, tree })
    }
}

/// The branch to land on.
fn target(repo: &Repo, session: &Session, options: &LandOptions) -> Result<LandTarget> {
    let unknown = |why: String| {
        Finding::new(
            Code::BadRequest,
            why.clone(),
            "Name a branch to land on: `edt land --into BRANCH` (`git branch` lists them).",
        )
        .nothing_changed()
    };
    let origin = origin(repo, &session.name)?;
    let branch = match (&options.into, &origin) {
        (Some(into), _) if into.starts_with("refs/heads/") => into.clone(),
        (Some(into), _) => format!("refs/heads/{into}"),
        (None, Some(origin)) if origin.starts_with("refs/heads/") => origin.clone(),
        (None, _) => {
            return Err(unknown(format!("edt/{} did not begin on a branch.", session.name)).into());
        }
    };
    if !repo.is_ref_name(&branch) || branch == session.branch() {
        return Err(unknown(format!(
            "{branch} is not a branch that edt/{} can land on.",
            session.name
        ))
        .into());
    }
    let tip = repo.ref_value(&branch)?;
    let unborn = session.base == repo.empty_tree() && origin.as_ref() == Some(&branch);
    if tip.is_none() && !unborn {
        return Err(unknown(format!(
            "There is no branch {}.",
            branch.trim_start_matches("refs/heads/")
        ))
        .into());
    }
    Ok(LandTarget { branch, tip })
}

/// The other worktree that has the target checked out, opened for changes.
fn other_worktree(
    workspace: &LockedWorkspace,
    session: &Session,
    target: &LandTarget,
) -> Result<Option<(LockedWorkspace, PathBuf)>> {
    for other in
        workspace.repo.worktrees(POINTER).into_iter().filter(|worktree| !worktree.is_current)
    {
        let busy = |why: &str, hint: &str| {
            let message = format!("{} {why} ({}).", target.short(), other.git_dir.display());
            Finding::new(Code::RepositoryBusy, message, hint.to_owned())
                .with_effect(Effect::NothingLanded)
        };
        if other.is_rebasing_or_bisecting(&target.branch) {
            return Err(busy(
                "is being rebased or bisected in another worktree",
                "The user must finish that there first; then repeat `edt land`.",
            )
            .into());
        }
        if other.head.as_ref() != Some(&target.branch) || other.head == Some(session.branch()) {
            continue;
        }
        if let Some(root) = workspace.repo.worktree_root(&other) {
            return Ok(Some((workspace.neighbour(&root)?, root)));
        }
        if !other.is_main() {
            let hint = "Restore that worktree, or remove its entry with `git worktree prune`; \
                then repeat `edt land`.";
            return Err(busy("is checked out in a worktree that is missing", hint).into());
        }
    }
    Ok(None)
}

/// The changes to the worktree that has the target checked out.
struct WorktreeUpdate {
    head: InHead,
    head_from: Option<String>,
    index: Option<IndexView>,
    objects: Vec<Loose>,
    steps: CheckoutPlan,
}

impl WorktreeUpdate {
    /// Plans the update of `place`. Returns a warning if HEAD must stay on the session's branch.
    /// `elsewhere` is the root of `place` if it is another worktree.
    fn of(
        place: &Repo,
        session: &Session,
        target: &LandTarget,
        tree: Oid,
        elsewhere: Option<&Path>,
    ) -> Result<(WorktreeUpdate, Option<Warning>)> {
        let no_update = || {
            let (objects, steps) = (Vec::new(), CheckoutPlan::default());
            WorktreeUpdate { head: InHead::No, head_from: None, index: None, objects, steps }
        };
        let switch = elsewhere.is_none() && session.head == InHead::Yes;
        let here = place.head_target()?.as_ref() == Some(&target.branch);
        if !switch && !here {
            return Ok((no_update(), None));
        }
        let from = if switch { place.tree_of(session.tip)? } else { target.tree(place)? };
        let paths = place.tree_diff(from, tree)?;
        let index = IndexView::read(place)?;
        let states = match checkout::read_states(place, from, Some(&index), &paths) {
            Ok(states) => states,
            Err(found) if switch && only_unsupported_kinds(&found) => {
                return Ok((no_update(), Some(head_stays(target))));
            }
            Err(found) => return Err(with_git_remedy(found, session, elsewhere)),
        };
        let (tip, mut unsaved) = (place.tree_of(session.tip)?, Vec::new());
        for (state, differs) in states.iter().zip(&paths) {
            let recorded = match place.tracked(tip, &state.path)? {
                Tracked::File(file) => Some(file),
                _ => None,
            };
            let known = [state.tip, differs.new.and_then(edt_git::diff::TreeItem::file), recorded];
            if !state.is_known(&known) {
                unsaved.push(unsaved_file(state, &known, elsewhere));
            }
        }
        Refusal::check(unsaved)?;
        let mut writer = ObjectWriter::new(place);
        let attributes = checkout::attributes(&paths, from, tree);
        let steps = CheckoutPlan::of(
            &mut writer,
            Some(from),
            attributes,
            &checkout::to_new(states, &paths),
        )?;
        let head_from = switch.then(|| session.branch());
        Ok((
            WorktreeUpdate {
                head: InHead::Yes,
                head_from,
                index: Some(index),
                objects: writer.loose_objects(),
                steps,
            },
            None,
        ))
    }
}

/// Whether every finding is about a link, a submodule or a directory, which edt does not change.
fn only_unsupported_kinds(found: &Refusal) -> bool {
    found
        .clone()
        .into_vec()
        .iter()
        .all(|finding| matches!(finding.code, Code::NotAFile | Code::PathThroughSymlink))
}

/// Replaces the remedies by Git's own merge, the remaining way to land.
fn with_git_remedy(found: Refusal, session: &Session, elsewhere: Option<&Path>) -> Refusal {
    let git =
        elsewhere.map_or_else(|| "git".to_owned(), |root| format!("git -C {}", root.display()));
    let remedy = format!(
        "Land it with Git: `{git} merge --squash edt/{}`, then `{git} commit`.",
        session.name
    );
    let changed = found.into_vec().into_iter().map(|finding| {
        if only_unsupported_kinds(&finding.clone().into()) {
            Finding { remedy: remedy.clone(), override_remedy: None, ..finding }
        } else {
            finding
        }
    });
    Refusal::check(changed.collect()).err().unwrap_or_else(|| {
        Finding::new(Code::Internal, "The refusal has no finding.", "Report this message.").into()
    })
}

fn unsaved_file(state: &PathState, known: &[Option<FileId>], elsewhere: Option<&Path>) -> Finding {
    let path = &state.path;
    let place = elsewhere.map_or_else(String::new, |root| format!(" in {}", root.display()));
    let hint = match elsewhere {
        Some(root) => format!(
            "The user must commit or stash them there (`git -C {} stash push --include-untracked \
             -- {}`); then repeat `edt land`.",
            root.display(),
            path.quoted()
        ),
        None if known.contains(&state.disk_file()) => {
            format!(
                "They are staged. The user must commit them, or unstage them with `git restore \
                 --staged {}`; then repeat `edt land`.",
                path.for_shell()
            )
        }
        None => format!(
            "Record them with `edt checkpoint {}`, or let the user commit or stash them; then \
             repeat `edt land`.",
            path.for_shell()
        ),
    };
    let message =
        format!("{path} has unrecorded changes{place}, and the landing must overwrite it.");
    Finding::new(Code::UnsavedChanges, message, hint).nothing_changed().at(path)
}

fn unused_message(plan: &LandPlan, options: &LandOptions) -> Option<Warning> {
    let all_user_commits =
        plan.planned.iter().all(|commit| matches!(commit, PlannedCommit::UserCommit { .. }));
    (all_user_commits && options.message.is_some()).then(|| Warning {
        code: "message_unused",
        path: None,
        message: "Every landed commit is a user's commit and kept its own message. The given \
            message was not used."
            .to_owned(),
    })
}

fn folded(commits: &[Commit], target: &LandTarget) -> Option<Warning> {
    if commits.is_empty() {
        return None;
    }
    let names: Vec<String> = commits
        .iter()
        .map(|commit| format!("{} ({})", commit.oid.to_hex_with_len(12), commit.subject()))
        .collect();
    Some(Warning {
        code: "folded_commits",
        path: None,
        message: format!(
            "{} could not stay separate on {}. The landed commit includes and names each: {}.",
            counted(commits.len(), "user commit"),
            target.short(),
            names.join(", ")
        ),
    })
}

fn head_stays(target: &LandTarget) -> Warning {
    Warning {
        code: "head_stays",
        path: None,
        message: format!(
            "HEAD stays on the session's branch: symbolic links or submodules differ on {0}, and \
             edt does not change those. `git switch {0}` switches to it.",
            target.short()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::begin::HeadSwitch;
    use crate::session::history::Commit;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;

    fn one_edit() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    fn landed(scratch: &Scratch, options: &LandOptions) -> Result<Landed> {
        let session = scratch.session();
        land(&mut scratch.open(), &session, options)
    }

    fn into(branch: &str) -> LandOptions {
        LandOptions { into: Some(branch.to_owned()), ..LandOptions::default() }
    }

    fn not_a_target(why: &str) -> Finding {
        let remedy =
            "Name a branch to land on: `edt land --into BRANCH` (`git branch` lists them).";
        Finding::new(Code::BadRequest, why, remedy).nothing_changed()
    }

    #[test]
    fn a_session_lands_as_one_commit_and_head_returns_to_the_branch() {
        let scratch = one_edit();
        let before = scratch.session().base;
        scratch.edit("second", "a.txt", "two", "three");
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        let commit = Commit::read(&scratch.repo(), done.commit).unwrap();
        assert_eq!((commit.parent, done.edits), (Some(before), 2));
        assert_eq!(done.commits, [done.commit]);
        assert_eq!(scratch.head_target(), "refs/heads/main");
        assert_eq!(scratch.head(), done.commit);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("three\n"));
    }

    #[test]
    fn a_landing_records_what_landed_and_as_which_commit() {
        let scratch = one_edit();
        let tip = scratch.head();
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        assert_eq!(scratch.ref_value("refs/edt/fix/landed/1"), Some(tip));
        assert_eq!(scratch.ref_value("refs/edt/fix/landing/1"), Some(done.commit));
    }

    #[test]
    fn only_what_followed_the_last_landing_lands_again() {
        let scratch = one_edit();
        landed(&scratch, &LandOptions::default()).unwrap();
        scratch.write(".git/HEAD", "ref: refs/heads/edt/fix\n");
        scratch.edit("second", "a.txt", "two", "three");
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        assert_eq!(done.edits, 1);
        assert_eq!(scratch.message(done.commit).lines().next(), Some("second"));
    }

    #[test]
    fn the_answer_to_a_landing_names_the_commit_and_the_files() {
        let scratch = one_edit();
        let session = scratch.session();
        let mut workspace = scratch.open();
        let before =
            workspace.repo.ref_value("refs/heads/main").unwrap().map(|oid| oid.to_string());
        let done = land(&mut workspace, &session, &LandOptions::default()).unwrap();
        let commit = done.commit.to_string();
        let outcome = done.outcome(&workspace, &session).unwrap();
        assert_eq!(
            (outcome.status, outcome.commit, outcome.parent),
            (Status::Applied, Some(commit), before)
        );
        assert_eq!((outcome.edit, outcome.session), (Some(1), Some(session.report(false))));
        let paths: Vec<&str> = outcome.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.txt"]);
    }

    #[test]
    fn a_session_lands_on_another_branch_and_head_switches_to_it() {
        let scratch = one_edit();
        let base = scratch.session().base;
        scratch.set_ref("refs/heads/release", base);
        let done = landed(&scratch, &into("release")).unwrap();
        assert_eq!(scratch.ref_value("refs/heads/release"), Some(done.commit));
        assert_eq!(scratch.ref_value("refs/heads/main"), Some(base));
        assert_eq!(scratch.head_target(), "refs/heads/release");
    }

    #[test]
    fn a_target_may_be_named_in_full() {
        let scratch = one_edit();
        assert_eq!(landed(&scratch, &into("refs/heads/main")).unwrap().target.short(), "main");
    }

    #[test]
    fn an_unknown_target_is_refused() {
        let finding = not_a_target("There is no branch nowhere.");
        assert_eq!(refusal(landed(&one_edit(), &into("nowhere"))), finding);
    }

    #[test]
    fn a_session_does_not_land_on_its_own_branch() {
        let finding = not_a_target("refs/heads/edt/fix is not a branch that edt/fix can land on.");
        assert_eq!(refusal(landed(&one_edit(), &into("edt/fix"))), finding);
    }

    #[test]
    fn a_session_from_a_detached_head_needs_a_target() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.write(".git/HEAD", &format!("{}\n", scratch.head()));
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let finding = refusal(landed(&scratch, &LandOptions::default()));
        assert_eq!(finding, not_a_target("edt/fix did not begin on a branch."));
    }

    #[test]
    fn a_session_from_an_unborn_branch_creates_it() {
        let scratch = Scratch::unborn();
        scratch.apply(&Request::new("new").create("a.txt", "one\n")).unwrap();
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        assert_eq!(Commit::read(&scratch.repo(), done.commit).unwrap().parent, None);
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn a_landing_ends_a_session_whose_head_is_elsewhere() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin_with("fix", HeadSwitch::Never);
        scratch.edit("first", "a.txt", "one", "two");
        landed(&scratch, &LandOptions::default()).unwrap();
        let repo = scratch.repo();
        assert_eq!(Session::current(&repo, &repo.head().unwrap()).unwrap(), None);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two\n"));
    }

    #[test]
    fn the_files_of_the_branch_come_with_a_landing() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("b.txt", Some("other\n"))], "moved\n");
        landed(&scratch, &LandOptions::default()).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("other\n"));
    }

    #[test]
    fn a_landing_overwrites_no_unrecorded_change() {
        let scratch = one_edit();
        let main = scratch.user_commit("main", &[("b.txt", Some("other\n"))], "moved\n");
        scratch.write("b.txt", "by hand\n");
        let finding = Finding::new(
            Code::UnsavedChanges,
            "b.txt has unrecorded changes, and the landing must overwrite it.",
            "Record them with `edt checkpoint b.txt`, or let the user commit or stash them; then \
             repeat `edt land`.",
        );
        let finding = finding.nothing_changed().at(&path("b.txt"));
        assert_eq!(refusal(landed(&scratch, &LandOptions::default())), finding);
        assert_eq!(scratch.ref_value("refs/heads/main"), Some(main));
    }

    #[test]
    fn a_landing_leaves_unrecorded_changes_in_other_files() {
        let scratch = one_edit();
        scratch.write("b.txt", "by hand\n");
        landed(&scratch, &LandOptions::default()).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_user_commit_that_cannot_stay_separate_is_named_in_the_answer() {
        let scratch = one_edit();
        // The user commits a change, the edit reverses it, and the branch changes the same line.
        let by_hand = scratch.user_commit("edt/fix", &[("b.txt", Some("mine\n"))], "by hand\n");
        scratch.write("b.txt", "mine\n");
        scratch.edit("second", "b.txt", "mine", "b");
        scratch.user_commit("main", &[("b.txt", Some("theirs\n"))], "moved\n");
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        let warning = Warning {
            code: "folded_commits",
            path: None,
            message: format!(
                "1 user commit could not stay separate on main. The landed commit includes and \
                 names each: {} (by hand).",
                by_hand.to_hex_with_len(12)
            ),
        };
        assert_eq!(done.warnings, [warning]);
        let message = scratch.message(done.commit);
        assert!(message.contains(&format!("\nIncludes {by_hand} (by hand, by ")), "{message}");
    }

    #[test]
    fn a_message_that_no_commit_gets_is_reported() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        let by_hand = scratch.user_commit("edt/fix", &[("b.txt", Some("b\n"))], "by hand\n");
        scratch.write("b.txt", "b\n");
        let options = LandOptions { message: Some("mine".into()), ..LandOptions::default() };
        let done = landed(&scratch, &options).unwrap();
        assert_eq!(done.commit, by_hand);
        assert_eq!(
            done.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(),
            ["message_unused"]
        );
    }

    #[test]
    fn a_branch_that_is_rebased_in_another_worktree_is_not_moved() {
        let scratch = one_edit();
        scratch.write(".git/worktrees/other/HEAD", &format!("{}\n", scratch.head()));
        scratch.write(".git/worktrees/other/gitdir", "/nowhere/.git\n");
        scratch.write(".git/worktrees/other/rebase-merge/head-name", "refs/heads/main\n");
        let finding = refusal(landed(&scratch, &LandOptions::default()));
        assert_eq!((finding.code, finding.effect), (Code::RepositoryBusy, Effect::NothingLanded));
    }

    #[test]
    fn a_branch_of_a_missing_worktree_is_not_moved() {
        let scratch = one_edit();
        scratch.write(".git/worktrees/other/HEAD", "ref: refs/heads/main\n");
        scratch.write(".git/worktrees/other/gitdir", "/nowhere/.git\n");
        let finding = refusal(landed(&scratch, &LandOptions::default()));
        assert!(finding.summary.starts_with("main is checked out in a worktree that is missing ("));
        assert_eq!(
            finding.remedy,
            "Restore that worktree, or remove its entry with `git worktree prune`; then repeat \
             `edt land`."
        );
    }

    #[test]
    fn a_refusal_about_a_link_is_given_gits_own_merge_as_the_remedy() {
        let scratch = one_edit();
        let link = Finding::new(Code::NotAFile, "x is a link.", "Edit another.");
        let other = Finding::new(Code::UnsavedChanges, "y.", "Save it.");
        let session = scratch.session();
        let found = Refusal::check(vec![link, other]).unwrap_err();
        let remedies: Vec<String> = with_git_remedy(found, &session, Some(Path::new("/w")))
            .into_vec()
            .into_iter()
            .map(|finding| finding.remedy)
            .collect();
        assert_eq!(
            remedies,
            [
                "Save it.",
                "Land it with Git: `git -C /w merge --squash edt/fix`, then `git -C /w commit`."
            ]
        );
    }
}
