//! Lands a session: makes one commit of it on the branch the session began from, and updates the
//! worktree where that branch is checked out.

use std::path::{Path, PathBuf};

use super::commits::LandCommits;
use super::hook_files::HookFiles;
use super::left_by_user;
use super::options::LandOptions;
use super::part::Part;
use super::plan::{LandPlan, LandTarget, PlannedCommit};
use super::review::{ApprovedCommits, LandReview};
use super::target::LANDING_QUEUE_WAIT;
use super::target::{landing_lock, other_worktree, target};
use crate::session::engine::{Change, HeadMove, RefMove, RefMoves, WorktreeChange};
use crate::session::files::diff_report;
use crate::session::private::{hidden, uncovered};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::landed::Landing;
use crate::session::refs::names::next_numbered_ref;
use crate::session::user::edit_places::EditPlaces;
use crate::session::user::left_over;
use crate::session::worktree::follow::{self, Operation, TreeMove};
use crate::session::worktree::reviewed;
use crate::session::worktree::workspace::{LockedWorkspace, policy_file};
use edt_git::diff::TreeDifference;
use edt_git::{InHead, Loose, ObjectWriter, Oid, Repo, commit_hooks};
use edt_guard::policy::Policy;
use edt_io::lock;
use edt_journal::BranchOrigin;
use edt_types::text::{Shown as _, counted};
use edt_types::{
    Code, Effect, Finding, Outcome, Recovered, Refusal, Result, Status, Warning, WarningCode,
};

/// A landed session.
#[derive(Debug)]
pub struct Landed {
    /// The branch.
    pub target: LandTarget,
    /// Its commit now.
    pub commit: Oid,
    /// The new commits on it, oldest first.
    pub commits: Vec<Oid>,
    /// How many edits of the session they include. An edit that the user amended lands as a commit
    /// of the user.
    pub edits: u64,
    /// How many edits stay in the session. It goes on if only a part of it landed.
    pub rest: u64,
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

/// Overrides the refusal of hooks that may read another text from disk.
const READ_DISK: &str = "hooks_read_disk";

/// How often a landing starts again because its target moved.
const MAX_ATTEMPTS: usize = 5;

/// Lands as [`crate::proposal::landing::land`], which finds the `approved` commits.
pub(crate) fn land(
    workspace: &mut LockedWorkspace,
    session: &Session,
    part: &Part,
    options: &LandOptions,
    approved: &ApprovedCommits,
) -> Result<Landed> {
    let mut attempts = 1;
    loop {
        match land_once(workspace, session, part, options, approved) {
            Err(found)
                if attempts < MAX_ATTEMPTS
                    && workspace.is_locked()
                    && found.any(|finding| finding.evidence.contains_key("target_moved")) =>
            {
                attempts += 1;
            }
            Err(found) if found.any(|finding| finding.code == Code::NothingToLand) => {
                let repo = &workspace.repo;
                let private = hidden::not_landed(repo, session)?.map(|warning| warning.message);
                let commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
                let left = left_over::of_session(&ObjectWriter::new(repo), session, &commits)?;
                let list: Vec<String> = left.iter().map(EditPlaces::shown).collect();
                let on_disk = (!list.is_empty()).then(|| {
                    format!(
                        "What its edits changed is on disk alone: {}. `edt checkpoint` by the user \
                         commits it.",
                        list.join("; ").shown()
                    )
                });
                let more: Vec<String> = private.into_iter().chain(on_disk).collect();
                let paths: Vec<String> = left.iter().map(|file| file.path.text()).collect();
                return Err(found.map(|finding| {
                    let summary = [&[finding.summary][..], &more].concat().join(" ");
                    let finding = Finding { summary, ..finding };
                    if paths.is_empty() { finding } else { finding.with("files", paths.clone()) }
                }));
            }
            landed => return landed,
        }
    }
}

/// The policies that judge the landing of `session`: that of its base, and that of its target if it
/// has changed since. What either refuses does not land.
///
/// # Errors
/// As [`LockedWorkspace::policy`]; `OBJECT_MISSING`, `IO_ERROR`, and those of a target that does not
/// exist.
pub fn policies(
    workspace: &LockedWorkspace,
    session: &Session,
    options: &LandOptions,
) -> Result<Vec<Policy>> {
    let repo = &workspace.repo;
    let base = repo.tree_of(session.base)?;
    let target = target(repo, session, options)?.tree(repo)?;
    let mut all = vec![workspace.policy(base)?];
    if policy_file(repo, target)? != policy_file(repo, base)? {
        all.push(workspace.policy(target)?);
    }
    Ok(all)
}

fn land_once(
    workspace: &mut LockedWorkspace,
    session: &Session,
    part: &Part,
    options: &LandOptions,
    approved: &ApprovedCommits,
) -> Result<Landed> {
    workspace.repo.check_idle()?;
    session.check_not_shared(&workspace.repo)?;
    let state = landing_lock(&workspace.repo)?;
    let policies = policies(workspace, session, options)?;
    if !options.by_user && options.into.is_some() {
        reviewed::check_target(workspace, target(&workspace.repo, session, options)?.tip)?;
    }
    let guards = workspace.options().guards.clone();
    let review = LandReview { policies: &policies, guards: &guards, options, session, approved };
    // Git's hooks may take long and may call edt. The worktree's lock is released meanwhile, so
    // everything is checked again afterwards.
    let files = HookFiles::of(&workspace.repo, session)?;
    let prepared = workspace.unlocked(|repo| {
        let queue = lock::acquire(&state, "edt land", LANDING_QUEUE_WAIT)?;
        Ok(PreparedLanding::of(repo, part, &review, files.as_ref()).map(|done| (done, queue)))
    })?;
    if let Some(files) = &files {
        let landed = prepared.as_ref().map(|(done, _)| (&done.target, done.tree));
        files.after_hooks(workspace, session, landed)?;
    }
    let (prepared, _queue) = prepared?;
    let repo = &workspace.repo;
    let PreparedLanding { target, plan, commits, mut objects, commit, tree, warnings: reviewed } =
        prepared;
    repo.check_idle()?;
    session.check_not_shared(repo)?;
    let mut elsewhere = other_worktree(workspace, Some(session), &target)?;
    if Session::current(repo, &repo.head()?)?.as_ref() != Some(session) {
        return Err(moved(session.short_branch()).into());
    }
    if repo.ref_value(&target.branch)? != target.tip {
        return Err(moved(target.short()).with("target_moved", true).into());
    }
    let place = elsewhere.as_ref().map_or(repo, |(workspace, _)| &workspace.repo);
    place.check_idle()?;
    let root = elsewhere.as_ref().map(|(_, root)| root.as_path());
    let following = Following::of(place, session, part.is_all, (&target, tree), root)?;
    let Following { head, worktree, warning } = following;
    let mut warnings = Vec::from_iter(warning);
    warnings.extend(folded(&plan.folded, &target));
    warnings.extend(unused_message(&plan, options));
    // The journal writes the commits again: they are unreferenced until the branch moves.
    let mut record = ObjectWriter::new(repo);
    let onto = record.write_blob(Landing::record(&target).as_bytes())?;
    objects.append(&mut record.loose_objects());
    let paths = repo.tree_diff(target.tree(repo)?, tree)?;
    let branch = RefMove {
        name: target.branch.clone(),
        from: target.tip.map_or(BranchOrigin::Created(commit), BranchOrigin::Existing),
        new: commit,
        log: left_by_user::log("edt land", options.by_user, session.short_branch()),
    };
    // Landing ends a session whose HEAD is not switched.
    let ends = part.is_all && session.head == InHead::No;
    let pointer = match &elsewhere {
        None if ends => session.pointer_to_drop(repo)?,
        _ => None,
    };
    let mut refs = RefMoves {
        create: vec![
            (next_numbered_ref(repo, &session.name, "landed")?, part.session.tip),
            (next_numbered_ref(repo, &session.name, "landing")?, commit),
            (next_numbered_ref(repo, &session.name, "onto")?, onto),
        ],
        delete: pointer.into_iter().collect(),
        replace: Vec::new(),
    };
    if let Some(reordered) = &part.reordered {
        reordered.add(&mut refs, &mut objects);
    }
    let to = head.from.as_ref().and(target.alias.clone());
    let change = Change {
        base: Some(session.base),
        head: HeadMove { to, ..head },
        refs,
        objects,
        worktree,
        ..Change::of(&session.name, branch)
    };
    let place = elsewhere.as_mut().map(|(workspace, _)| workspace);
    let applied = workspace.apply_in(place, change).map_err(|found| {
        let now = workspace.repo.ref_value(&target.branch);
        let target_moved = now.is_ok_and(|now| now != target.tip);
        if target_moved { found.map(|finding| finding.with("target_moved", true)) } else { found }
    });
    let root = elsewhere.as_ref().map(|(_, root)| root.as_path());
    warnings.extend(uncovered::located(applied?.warnings, root));
    warnings.extend(reviewed);
    let recovered = elsewhere.as_ref().and_then(|(workspace, _)| workspace.recovered.clone());
    let root = elsewhere.map(|(_, root)| root);
    if ends {
        // The other worktree's journal does not cover this ref. After a crash here the session
        // stays open.
        session.drop_pointer(&workspace.repo);
    }
    let tip = part.reordered.as_ref().map_or(session.tip, |reordered| reordered.tip);
    let now = Session { tip, ..session.clone() };
    warnings.extend(hidden::not_landed(&workspace.repo, &now).ok().flatten());
    let place = root.clone().unwrap_or_else(|| workspace.repo.root_path().to_owned());
    // The landing is complete. The last hook cannot change it and needs no lock.
    workspace.release();
    warnings.extend(commit_hooks::run_post_commit(&workspace.repo, &place));
    let edits = plan.edits();
    let rest = part.rest;
    Ok(Landed { target, commit, commits, edits, rest, paths, elsewhere: root, recovered, warnings })
}

fn moved(what: &str) -> Finding {
    let message = format!("{what} moved while Git's hooks ran.");
    Finding::new(Code::SessionMoved, message, "Repeat the call.").with_effect(Effect::NothingLanded)
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
    /// What the guards warn of.
    warnings: Vec<Warning>,
}

impl PreparedLanding {
    fn of(
        repo: &Repo,
        part: &Part,
        review: &LandReview<'_>,
        files: Option<&HookFiles>,
    ) -> Result<PreparedLanding> {
        let (options, session) = (review.options, review.session);
        let target = target(repo, session, options)?;
        let mut writer = ObjectWriter::new(repo);
        let plan = LandPlan::of(repo, &mut writer, &part.session, &target)?;
        let warnings = review.judge(&writer, &part.session, &target, &plan)?;
        if let Some(files) = files.filter(|_| !options.allow.iter().any(|word| word == READ_DISK)) {
            files.check_disk(&writer, &target, &plan, part.is_all)?;
        }
        let sign_off = options.signoff.then(|| repo.identity()).transpose()?;
        let commits = LandCommits { repo, session, target: &target, plan: &plan, review, sign_off };
        let commits = commits.write(&mut writer)?;
        let commit = *commits.last().unwrap_or(&session.tip);
        let tree = writer.tree_of(commit)?;
        let objects = writer.loose_objects();
        edt_git::objects::write(repo, &objects)?;
        Ok(PreparedLanding { target, plan, commits, objects, commit, tree, warnings })
    }
}

/// How the worktree that has the target checked out follows the landing.
struct Following {
    head: HeadMove,
    worktree: WorktreeChange,
    /// Says that HEAD must stay on the session's branch.
    warning: Option<Warning>,
}

impl Following {
    /// Plans how `place` follows. `elsewhere` is its root if it is another worktree. HEAD stays on a
    /// session that does not end.
    fn of(
        place: &Repo,
        session: &Session,
        ends: bool,
        (target, tree): (&LandTarget, Oid),
        elsewhere: Option<&Path>,
    ) -> Result<Following> {
        let no_update = |warning| {
            let (head, worktree) = (HeadMove::stays(InHead::No), WorktreeChange::default());
            Following { head, worktree, warning }
        };
        let switch = ends && elsewhere.is_none() && session.head == InHead::Yes;
        let here = place.head_is_on(&target.branch)?;
        if !switch && !here {
            return Ok(no_update(None));
        }
        let from = if switch { place.tree_of(session.tip)? } else { target.tree(place)? };
        // The files of a session with HEAD not switched are in this worktree, too.
        let base = if elsewhere.is_none() { place.tree_of(session.tip)? } else { from };
        let operation =
            Operation { name: "the landing", command: "edt land", elsewhere, users: None };
        let (disk, index) = (TreeMove { from: base, to: tree }, TreeMove { from, to: tree });
        let worktree = match follow::plan(place, disk, Some(index), &operation) {
            Ok(worktree) => worktree,
            Err(found) if switch && only_unsupported_kinds(&found) => {
                return Ok(no_update(Some(head_not_switched(target))));
            }
            Err(found) => return Err(with_git_remedy(found, session, elsewhere)),
        };
        let from = switch.then(|| session.branch());
        let head = HeadMove { from, ..HeadMove::stays(InHead::Yes) };
        Ok(Following { head, worktree, warning: None })
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
    let git = elsewhere.map_or_else(|| "git".to_owned(), |root| format!("git -C {}", root.shown()));
    let remedy = format!(
        "Land it with Git: `{git} merge --squash {}`, then `{git} commit`.",
        session.short_branch()
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

fn unused_message(plan: &LandPlan, options: &LandOptions) -> Option<Warning> {
    let all_user_commits =
        plan.planned.iter().all(|commit| matches!(commit, PlannedCommit::UserCommit { .. }));
    (all_user_commits && options.message.is_some()).then(|| Warning {
        code: WarningCode::MessageUnused,
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
        code: WarningCode::FoldedCommits,
        path: None,
        message: format!(
            "{} could not stay separate on {}. The landed commit includes and names each: {}.",
            counted(commits.len(), "user commit"),
            target.short(),
            names.join(", ").shown()
        ),
    })
}

fn head_not_switched(target: &LandTarget) -> Warning {
    Warning {
        code: WarningCode::HeadNotSwitched,
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
    use crate::proposal::landing::land;
    use crate::session::landing::unland::{UnlandOptions, unland};
    use crate::session::recording::record::{CommitInfo, RecordAction, checkpoint, record_changes};
    use crate::session::recording::review::ChangesPreview;
    use crate::session::refs::commit::Commit;
    use crate::session::refs::message::Kind;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;

    fn one_edit() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    /// The finding of a guard about a landing whose commits an agent may not land, either.
    #[track_caller]
    fn guards_finding(landed: Result<Landed>) -> Finding {
        let mut found = landed.unwrap_err().into_vec();
        assert_eq!(found.pop().map(|last| last.code), Some(Code::ApprovalRequired));
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    fn landed(scratch: &Scratch, options: &LandOptions) -> Result<Landed> {
        let session = scratch.session();
        land(&mut scratch.open(), &session, options)
    }

    fn numbers(count: usize) -> String {
        (0..count).map(|n| format!("a line with number {n}\n")).collect()
    }

    fn by_user() -> LandOptions {
        LandOptions { by_user: true, ..LandOptions::default() }
    }

    fn codes(scratch: &Scratch, options: &LandOptions) -> Vec<&'static str> {
        landed(scratch, options).unwrap_err().codes()
    }

    fn allow(word: &str, options: LandOptions) -> LandOptions {
        LandOptions { allow: vec![word.to_owned()], ..options }
    }

    #[test]
    fn a_policy_that_the_merge_makes_unreadable_does_not_land() {
        let middle = "\n# one\n# two\n# three\n# four\n";
        let policy = format!("# begin\n{middle}# end\n");
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("edt.toml", policy.as_str())]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        let end = format!("# begin\n{middle}[session]\nswitch = true\n");
        scratch.user_commit("edt/fix", &[("edt.toml", Some(&end))], "at the end\n");
        let begin = format!("[session]\nswitch = true\n{middle}# end\n");
        scratch.user_commit("main", &[("edt.toml", Some(&begin))], "at the beginning\n");
        let by_user = self::by_user();
        assert_eq!(refusal(landed(&scratch, &by_user)).code, Code::BadRequest);
    }

    #[test]
    fn the_policy_of_the_target_counts_too() {
        let files = [("a.txt", numbers(60)), ("b.txt", "b\n".to_owned())];
        let scratch = Scratch::with(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
        scratch.begin("fix");
        scratch.apply(&Request::new("cut").overwrite("a.txt", numbers(30))).unwrap();
        let stricter = "[guards.size_reduction]\nmax_lines_lost = 0.2\n";
        let main = scratch.user_commit("main", &[("edt.toml", Some(stricter))], "stricter\n");
        let finding = refusal(landed(&scratch, &LandOptions::default()));
        assert_eq!(finding.code, Code::SizeReduction);
        assert_eq!(scratch.repo().ref_value("refs/heads/main").unwrap(), Some(main));
        let allow = vec!["size_reduction".to_owned()];
        landed(&scratch, &LandOptions { allow, ..LandOptions::default() }).unwrap();
    }

    #[test]
    fn a_policy_that_cannot_be_read_does_not_land() {
        let scratch = one_edit();
        let by_user = self::by_user();
        scratch.user_commit("edt/fix", &[("edt.toml", Some("[guards\n"))], "by hand\n");
        let finding = refusal(landed(&scratch, &by_user));
        assert_eq!(finding.code, Code::BadRequest);
        let start = "An edt.toml would land that edt cannot read. Could not read";
        assert!(finding.summary.starts_with(start), "{}", finding.summary);
        let sound = [("edt.toml", Some("[session]\nswitch = true\n"))];
        scratch.user_commit("edt/fix", &sound, "corrected\n");
        landed(&scratch, &by_user).unwrap();
    }

    const NEVER: &str = "[guards.size_reduction]\noverride = \"never\"\n\
        [guards.mass_deletion]\noverride = \"never\"\n";

    /// The result of a session of its own with one request.
    fn landed_request(
        scratch: &Scratch,
        name: &str,
        request: &Request,
        user: bool,
    ) -> Result<Landed> {
        scratch.begin(name);
        scratch.apply(request).unwrap();
        landed(scratch, &LandOptions { by_user: user, ..LandOptions::default() })
    }

    fn overwrite(count: usize) -> Request {
        Request::new("cut").overwrite("a.txt", numbers(count))
    }

    #[test]
    fn losses_of_several_landings_add_up_where_only_the_user_may_override() {
        let scratch = Scratch::with(&[("a.txt", &numbers(400)), ("edt.toml", NEVER)]);
        landed_request(&scratch, "one", &overwrite(160), false).unwrap();
        let finding = refusal(landed_request(&scratch, "two", &overwrite(100), false));
        assert_eq!(finding.code, Code::SizeReduction);
        assert_eq!(finding.evidence["against"], "the branch as the user left it");
        assert!(finding.remedy.contains("in a terminal"), "{finding:#?}");
        landed(&scratch, &LandOptions { by_user: true, ..LandOptions::default() }).unwrap();
        // The user has landed it: the count begins again.
        landed_request(&scratch, "three", &overwrite(50), false).unwrap();
        scratch.user_commit("main", &[("b.txt", Some("b\n"))], "by the user\n");
    }

    #[test]
    fn a_file_that_one_landing_removed_is_not_created_short_by_another() {
        let scratch = Scratch::with(&[("a.txt", &numbers(400)), ("edt.toml", NEVER)]);
        landed_request(&scratch, "one", &Request::new("x").delete("a.txt"), false).unwrap();
        let short = Request::new("x").create("a.txt", "short\n");
        let finding = refusal(landed_request(&scratch, "two", &short, false));
        assert_eq!(finding.code, Code::SizeReduction);
    }

    #[test]
    fn an_undone_landing_does_not_begin_the_count_again() {
        let scratch = Scratch::with(&[("a.txt", &numbers(400)), ("edt.toml", NEVER)]);
        landed_request(&scratch, "one", &overwrite(160), false).unwrap();
        landed_request(&scratch, "two", &Request::new("x").create("b.txt", "b\n"), false).unwrap();
        let options = UnlandOptions { session: Some("two".into()), ..UnlandOptions::default() };
        unland(&mut scratch.open(), &options).unwrap();
        let finding = refusal(landed_request(&scratch, "three", &overwrite(100), false));
        assert_eq!(finding.code, Code::SizeReduction);
    }

    #[test]
    fn where_an_agent_may_override_each_landing_is_judged_alone() {
        let scratch = Scratch::with(&[("a.txt", &numbers(400))]);
        landed_request(&scratch, "one", &overwrite(160), false).unwrap();
        landed_request(&scratch, "two", &overwrite(100), false).unwrap();
    }

    #[test]
    fn removed_files_add_up_over_landings_where_only_the_user_may_override() {
        let names: Vec<String> = (0..12).map(|n| format!("{n}.txt")).collect();
        let texts: Vec<String> = names.iter().map(|name| format!("the text of {name}\n")).collect();
        let files = names.iter().zip(&texts).map(|(a, b)| (a.as_str(), b.as_str()));
        let files: Vec<(&str, &str)> = files.chain([("edt.toml", NEVER)]).collect();
        let scratch = Scratch::with(&files);
        let delete = |names: &[String]| {
            names.iter().fold(Request::new("x"), |request, name| request.delete(name))
        };
        landed_request(&scratch, "one", &delete(&names[..6]), false).unwrap();
        let finding = refusal(landed_request(&scratch, "two", &delete(&names[6..]), false));
        assert_eq!(
            (finding.code, &finding.evidence["files_lost"]),
            (Code::MassDeletion, &12.into())
        );
        landed(&scratch, &LandOptions { by_user: true, ..LandOptions::default() }).unwrap();
    }

    #[test]
    fn a_forged_trailer_overrides_nothing_where_nobody_may() {
        let names: Vec<String> = (0..12).map(|n| format!("{n}.txt")).collect();
        let texts: Vec<String> = names.iter().map(|name| format!("the text of {name}\n")).collect();
        let files = names.iter().zip(&texts).map(|(a, b)| (a.as_str(), b.as_str()));
        let files: Vec<(&str, &str)> = files.chain([("edt.toml", NEVER)]).collect();
        let scratch = Scratch::with(&files);
        scratch.begin("fix");
        let gone: Vec<(&str, Option<&str>)> =
            names.iter().map(|name| (name.as_str(), None)).collect();
        let message =
            "x\n\nEdt-Session: fix\nEdt-Kind: edit\nEdt-Edit: 1\nEdt-Allowed: mass_deletion\n";
        scratch.user_commit("edt/fix", &gone, message);
        names.iter().for_each(|name| scratch.remove(name));
        assert_eq!(
            codes(&scratch, &LandOptions::default()),
            ["MASS_DELETION", "APPROVAL_REQUIRED"]
        );
    }

    #[test]
    fn removals_around_a_commit_of_the_user_add_up_in_one_landing() {
        let names: Vec<String> = (0..12).map(|n| format!("{n}.txt")).collect();
        let texts: Vec<String> = names.iter().map(|name| format!("the text of {name}\n")).collect();
        let files: Vec<(&str, &str)> =
            names.iter().zip(&texts).map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let scratch = Scratch::with(&files);
        scratch.begin("fix");
        let delete = |names: &[String]| {
            let all = names.iter().fold(Request::new("x"), |request, name| request.delete(name));
            scratch.apply(&all).unwrap();
        };
        delete(&names[..10]);
        scratch.user_commit(
            "edt/fix",
            &[("b.txt", Some("b\n")), ("10.txt", None), ("11.txt", None)],
            "by hand\n",
        );
        scratch.remove("10.txt");
        scratch.remove("11.txt");
        let finding = guards_finding(landed(&scratch, &LandOptions::default()));
        assert_eq!(
            (finding.code, &finding.evidence["files_lost"]),
            (Code::MassDeletion, &12.into())
        );
        landed(&scratch, &LandOptions { by_user: true, ..LandOptions::default() }).unwrap();
    }

    #[test]
    fn a_part_of_an_edit_that_no_commit_has_is_not_left_out_without_a_word() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "1\n2 by hand\n3\n4\n5\n6\n7\n8\n9\n");
        scratch.edit("users", "a.txt", "2 by hand", "two");
        scratch.edit("own", "a.txt", "8", "eight");
        let finding = refusal(landed(&scratch, &by_user()));
        assert_eq!((finding.code, finding.effect), (Code::LeavesOut, Effect::NothingLanded));
        assert!(finding.summary.contains("a.txt (edit 1; line 2)"), "{finding:#?}");
        // An agent cannot give the user's word.
        let word = |options| allow("leaves_out", options);
        assert_eq!(codes(&scratch, &word(LandOptions::default())), ["LEAVES_OUT"]);
        let done = landed(&scratch, &word(by_user())).unwrap();
        let text = "1\n2\n3\n4\n5\n6\n7\neight\n9\n";
        assert_eq!(scratch.committed(done.commit, "a.txt").as_deref(), Some(text));
        assert_eq!(scratch.text("a.txt"), Some(text.replace("2\n", "two\n")));
    }

    #[test]
    fn a_session_whose_edits_no_commit_has_lands_nothing() {
        let scratch = Scratch::with(&[("a.txt", "1\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "1 by hand\n");
        scratch.edit("users", "a.txt", "1 by hand", "one");
        assert_eq!(codes(&scratch, &by_user()), ["NOTHING_TO_LAND"]);
    }

    #[test]
    fn a_cut_that_the_user_committed_with_git_lands_by_the_user_without_a_finding() {
        let scratch = Scratch::with(&[("a.txt", &numbers(200)), ("b.txt", "b\n")]);
        scratch.begin("fix");
        let text = numbers(20);
        scratch.user_commit("edt/fix", &[("a.txt", Some(&text))], "cut\n");
        scratch.write("a.txt", &text);
        scratch.edit("x", "b.txt", "b", "c");
        assert_eq!(
            guards_finding(landed(&scratch, &LandOptions::default())).code,
            Code::SizeReduction
        );
        let by_user = LandOptions { by_user: true, ..LandOptions::default() };
        landed(&scratch, &by_user).unwrap();
    }

    #[test]
    fn cuts_of_the_user_and_of_an_edit_add_up_where_an_agent_lands() {
        let scratch = Scratch::with(&[("a.txt", &numbers(200))]);
        scratch.begin("fix");
        scratch.write("a.txt", &numbers(90));
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        scratch.apply(&Request::new("x").overwrite("a.txt", numbers(50))).unwrap();
        let both = ["SIZE_REDUCTION", "APPROVAL_REQUIRED"];
        assert_eq!(codes(&scratch, &LandOptions::default()), both);
        landed(&scratch, &by_user()).unwrap();
    }

    #[test]
    fn an_override_counts_for_the_files_of_its_edit_only() {
        let text = numbers(200);
        let files: Vec<String> = (0..4).map(|n| format!("{n}.txt")).collect();
        let all: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), &*text)).collect();
        for user_cuts in [false, true] {
            let scratch = Scratch::with(&all);
            scratch.begin("fix");
            for name in &files[..3] {
                let cut = Request::new("cut").overwrite(name, "new\n").allow("size_reduction");
                scratch.apply(&cut).unwrap();
            }
            if user_cuts {
                scratch.write("3.txt", "oops\n");
                checkpoint(&mut scratch.open(), None, &[]).unwrap();
                let both = ["SIZE_REDUCTION", "APPROVAL_REQUIRED"];
                assert_eq!(codes(&scratch, &LandOptions::default()), both);
            } else {
                landed(&scratch, &LandOptions::default()).unwrap();
            }
        }
    }

    #[test]
    fn an_override_follows_a_renamed_file() {
        let markers = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";
        let scratch = one_edit();
        let add = Request::new("x").create("c.txt", markers).allow("conflict_markers");
        scratch.apply(&add).unwrap();
        scratch.apply(&Request::new("y").rename("c.txt", "d.txt")).unwrap();
        landed(&scratch, &LandOptions::default()).unwrap();
    }

    #[test]
    fn an_override_of_a_mass_deletion_counts_for_its_files_only() {
        let names: Vec<String> = (0..30).map(|n| format!("{n:02}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "one\n")).collect();
        let scratch = Scratch::with(&files);
        scratch.begin("fix");
        let gone = |names: &[String]| {
            names.iter().fold(Request::new("gone"), |request, name| request.delete(name))
        };
        scratch.apply(&gone(&names[..12]).allow("mass_deletion")).unwrap();
        names[12..24].iter().for_each(|name| scratch.remove(name));
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        let both = ["MASS_DELETION", "APPROVAL_REQUIRED"];
        assert_eq!(codes(&scratch, &LandOptions::default()), both);
        landed(&scratch, &by_user()).unwrap();
    }

    #[test]
    fn the_answer_and_the_message_count_the_same_edits() {
        let scratch = one_edit();
        scratch.edit("second", "a.txt", "two", "three");
        scratch.edit("third", "a.txt", "three", "four");
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        assert!(scratch.message(done.commit).contains(": 3 edits\n"));
        assert_eq!(done.edits, 3);
    }

    /// A session whose only commit is a checkpoint that cuts a file.
    fn cut_in_a_checkpoint() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", &numbers(200)), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "oops\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        scratch
    }

    #[test]
    fn a_checkpoint_lands_by_the_user_alone() {
        let scratch = cut_in_a_checkpoint();
        let both = ["SIZE_REDUCTION", "APPROVAL_REQUIRED"];
        assert_eq!(codes(&scratch, &LandOptions::default()), both);
        let with_word = allow("size_reduction", LandOptions::default());
        assert_eq!(codes(&scratch, &with_word), both[1..]);
        let done = landed(&scratch, &by_user()).unwrap();
        assert_eq!(scratch.committed(done.commit, "a.txt").as_deref(), Some("oops\n"));
    }

    #[test]
    fn an_override_of_an_edit_counts_for_a_checkpoint_above_it() {
        let scratch = Scratch::with(&[("a.txt", &numbers(200))]);
        scratch.begin("fix");
        let cut = Request::new("cut").overwrite("a.txt", "new\n").allow("size_reduction");
        scratch.apply(&cut).unwrap();
        scratch.write("a.txt", "new\nmine\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        landed(&scratch, &by_user()).unwrap();
    }

    #[test]
    fn a_cut_on_the_target_is_not_the_agents() {
        let scratch = Scratch::with(&[("a.txt", &numbers(200))]);
        scratch.begin("fix");
        scratch.edit("x", "a.txt", "number 5\n", "number five\n");
        scratch.user_commit("main", &[("a.txt", Some(&numbers(20)))], "cut\n");
        let done = landed(&scratch, &LandOptions::default()).unwrap();
        let text = numbers(20).replace("number 5\n", "number five\n");
        assert_eq!(scratch.committed(done.commit, "a.txt"), Some(text));
    }

    #[test]
    fn small_cuts_add_up_across_a_commit_of_the_user() {
        let scratch = Scratch::with(&[("a.txt", &numbers(200)), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.apply(&Request::new("x").overwrite("a.txt", numbers(100))).unwrap();
        scratch.user_commit("edt/fix", &[("b.txt", Some("by hand\n"))], "by hand\n");
        scratch.write("b.txt", "by hand\n");
        program_writes(&scratch, &[("a.txt", &numbers(50))]);
        let finding = guards_finding(landed(&scratch, &LandOptions::default()));
        assert_eq!(finding.code, Code::SizeReduction);
        assert_eq!(finding.evidence["against"], "the target");
    }

    /// A program writes files, and the guards do not see it.
    fn program_writes(scratch: &Scratch, files: &[(&str, &str)]) {
        let before = scratch.snapshot();
        files.iter().for_each(|(name, text)| scratch.write(name, text));
        let info = CommitInfo { message: "run".into(), agent: None, kind: Kind::Run };
        let mut record = |_: &ChangesPreview<'_>| Ok(RecordAction::Record);
        record_changes(&mut scratch.open(), &before, &info, None, &mut record).unwrap();
    }

    #[test]
    fn a_new_binary_file_lands_only_with_an_override() {
        let scratch = one_edit();
        program_writes(&scratch, &[("out.bin", "\0\x01")]);
        let finding = refusal(landed(&scratch, &LandOptions::default()));
        assert_eq!((finding.code, finding.effect), (Code::BuildOutput, Effect::NothingLanded));
        assert_eq!(finding.path.as_deref(), Some("out.bin"));
        assert!(finding.hint().contains("`--allow build_output`"), "{}", finding.hint());
        let allow = vec!["build_output".to_owned()];
        let done = landed(&scratch, &LandOptions { allow, ..LandOptions::default() }).unwrap();
        assert_eq!(scratch.committed(done.commit, "out.bin").as_deref(), Some("\0\x01"));
    }

    #[test]
    fn a_binary_file_that_an_edit_added_deliberately_lands() {
        let scratch = one_edit();
        let request = Request::new("x").create("out.bin", "\0\x01").allow("binary_content");
        scratch.apply(&request).unwrap();
        landed(&scratch, &LandOptions::default()).unwrap();
    }

    #[test]
    fn a_landing_of_many_files_is_judged_completely() {
        let names: Vec<String> = (0..600).map(|n| format!("d/{n:03}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "one\n")).collect();
        let scratch = Scratch::with(&files);
        scratch.begin("fix");
        let markers = "<<<<<<< ours\n=======\n>>>>>>> theirs\n";
        let new = names.iter().map(|name| (name.as_str(), "two\n"));
        program_writes(&scratch, &new.chain([("d/599.txt", markers)]).collect::<Vec<_>>());
        let finding = refusal(landed(&scratch, &LandOptions::default()));
        assert_eq!(finding.path.as_deref(), Some("d/599.txt"));
        scratch.edit("x", "d/599.txt", "<<<<<<< ours\n=======\n>>>>>>> theirs", "two");
        assert_eq!(landed(&scratch, &LandOptions::default()).unwrap().paths.len(), 600);
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
            "b.txt has changes of the user in line 1 that overlap with what the landing changes.",
            "The user must commit or stash them (`git stash push --include-untracked -- b.txt`); \
             then repeat `edt land`.",
        );
        let finding = finding.nothing_changed().at(&path("b.txt")).with("line_ranges", vec!["1"]);
        assert_eq!(refusal(landed(&scratch, &LandOptions::default())), finding);
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
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
        let done =
            landed(&scratch, &LandOptions { by_user: true, ..LandOptions::default() }).unwrap();
        let warning = Warning {
            code: WarningCode::FoldedCommits,
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
        let options =
            LandOptions { message: Some("mine".into()), by_user: true, ..LandOptions::default() };
        let done = landed(&scratch, &options).unwrap();
        assert_eq!(done.commit, by_hand);
        assert_eq!(
            done.warnings.iter().map(|warning| warning.code.name()).collect::<Vec<_>>(),
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
