//! Abandons a session: HEAD goes back to the branch the session began on, and the session's edits
//! are taken off the files. Every line of the user stays on disk. The work stays at
//! `refs/edt/<name>/abandoned`.

use std::collections::BTreeSet;

use super::saved::OverlappingFiles;
use crate::session::engine::{Applied, Change, HeadMove, RefMove, RefMoves, WorktreeChange};
use crate::session::private::hidden::{self, Hidden};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::names::{REFS, next_numbered_ref};
use crate::session::user::ownership::Version;
use crate::session::user::unwind::{Direction, FileSteps};
use crate::session::worktree::checkout;
use crate::session::worktree::return_target::ReturnTarget;
use crate::session::worktree::workspace::LockedWorkspace;
use edt_git::file_id::TreeItem;
use edt_git::{InHead, ObjectWriter, Oid, Repo};
use edt_journal::{BranchOrigin, IndexView};
use edt_types::{Code, FileReport, Outcome, Refusal, RepoPath, Result, Status, Warning};

/// An abandoned session.
#[derive(Debug)]
pub struct Abandoned {
    /// The ref that keeps the work.
    pub kept: String,
    /// The commit of that ref.
    pub tip: Oid,
    /// The full name of the branch that HEAD is on now; `None` if HEAD was not moved.
    pub onto: Option<String>,
    /// The files that changed on disk.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

impl Abandoned {
    /// The answer to the call that abandoned `session`.
    #[must_use]
    pub fn outcome(self, workspace: &LockedWorkspace, session: &Session) -> Outcome {
        let mut outcome = Outcome::new(Status::Applied);
        outcome.session = Some(session.report(false));
        outcome.commit = Some(self.tip.to_string());
        outcome.parent = Some(session.tip.to_string());
        outcome.files = self.files;
        outcome.warnings = self.warnings;
        outcome.recovered.clone_from(&workspace.recovered);
        outcome
    }
}

/// Abandons `session`.
///
/// # Errors
/// `BAD_REQUEST` if the branch it began on is gone; `UNSAVED_CHANGES` if the user changed the same
/// lines; errors of reading path states and of publishing. Nothing is changed on an error.
pub fn abandon(workspace: &mut LockedWorkspace, session: &Session) -> Result<Abandoned> {
    let (change, planned) = plan_abandon(&workspace.repo, session)?;
    let Applied { files, warnings } = workspace.apply(change)?;
    Ok(Abandoned { files, warnings: [planned.warnings, warnings].concat(), ..planned })
}

fn plan_abandon(repo: &Repo, session: &Session) -> Result<(Change, Abandoned)> {
    repo.check_idle()?;
    session.check_not_shared(repo)?;
    let target = ReturnTarget::of(repo, session)?;
    let (files, target) = match FilesBack::of(repo, session, &target) {
        Err(error) if only_unsupported_kinds(&error) => match target.to_base(session, &error) {
            Some(base) => (FilesBack::of(repo, session, &base).map_err(|_| error)?, base),
            None => return Err(error),
        },
        files => (files?, target),
    };
    let FilesBack { worktree, mut warnings, restored } = files;
    let tip = session.tip;
    let AbandonedRef { name: kept, from, mut create } = AbandonedRef::of(repo, session, tip)?;
    let (mut replace, mut head) = (Vec::new(), HeadMove::stays(session.head));
    let branch = match (&target.onto, target.tip) {
        (Some(onto), Some(at)) if onto.starts_with("refs/heads/") => {
            match from {
                BranchOrigin::Created(tip) => create.push((kept.clone(), tip)),
                BranchOrigin::Existing(earlier) | BranchOrigin::Rewound(earlier) => {
                    replace.push((kept.clone(), earlier, tip));
                }
            }
            let name = repo.referent(onto)?;
            head = HeadMove {
                on_branch: InHead::Yes,
                from: Some(session.branch()),
                to: (name != *onto).then(|| onto.clone()),
                point: None,
            };
            RefMove { name, from: BranchOrigin::Existing(at), new: at, log: String::new() }
        }
        (onto, _) => {
            head.to.clone_from(onto);
            head.from = onto.is_some().then(|| session.branch());
            RefMove { name: kept.clone(), from, new: tip, log: "edt abandon".to_owned() }
        }
    };
    let delete = vec![(session.branch(), session.tip)];
    let change = Change {
        base: Some(session.base),
        head,
        refs: RefMoves { create, replace, delete },
        worktree,
        restored,
        ..Change::of(&session.name, branch)
    };
    warnings.extend(target.warning);
    Ok((change, Abandoned { kept, tip, onto: target.onto, files: Vec::new(), warnings }))
}

/// How the session's edits leave the files.
struct FilesBack {
    worktree: WorktreeChange,
    warnings: Vec<Warning>,
    /// The private files that come back.
    restored: BTreeSet<RepoPath>,
}

impl FilesBack {
    fn of(repo: &Repo, session: &Session, target: &ReturnTarget) -> Result<FilesBack> {
        let (tip_tree, return_tree, base_tree) =
            (repo.tree_of(session.tip)?, target.tree(repo)?, repo.tree_of(session.base)?);
        let commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        let mut steps = FileSteps::of(repo, &commits, Direction::Back)?;
        // The branch may have moved since the session began.
        let side = |item: Option<TreeItem>| item.and_then(TreeItem::file).map(Version::recorded);
        let moved = repo.tree_diff(base_tree, return_tree)?.into_iter();
        steps.push(moved.map(|differs| (differs.path, (side(differs.old), side(differs.new)))));
        let paths = repo.tree_diff(tip_tree, return_tree)?;
        let all = checkout::with_paths(&paths, steps.paths().into_iter());
        let index = if session.head == InHead::Yes { Some(IndexView::read(repo)?) } else { None };
        let hidden = Hidden::of(repo, Some(session));
        let states = checkout::read_states(&hidden, tip_tree, index.as_ref(), &all)?;
        checkout::check_not_switched(repo, session, &states, &all)?;
        let mut writer = ObjectWriter::new(repo);
        let mut overlapping = OverlappingFiles::refused("edt abandon", remedy);
        let planned = overlapping.checkout(&writer, &steps, states, &all, session.head)?;
        overlapping.save(&mut writer, session)?;
        let attributes = checkout::attributes(&all, tip_tree, return_tree);
        let index = index.map(|index| (index, tip_tree));
        let mut worktree = WorktreeChange::of(&mut writer, index, attributes, planned)?;
        worktree.objects = writer.loose_objects();
        let restored = hidden::restored(repo, &steps)?;
        Ok(FilesBack { worktree, warnings: steps.warnings, restored })
    }
}

/// What to do about lines at `path` that the user changed, too.
fn remedy(path: &RepoPath) -> String {
    format!(
        "Let the user stash {} (`git stash push`), then repeat the call. If a commit of the \
         session has the user's lines already, leave the session open instead: `git switch` to \
         another branch.",
        path.quoted()
    )
}

/// Whether every finding is about a link, a submodule, or a directory in place of a file.
fn only_unsupported_kinds(error: &Refusal) -> bool {
    error.clone().into_vec().iter().all(|finding| finding.code == Code::NotAFile)
}

/// The ref `refs/edt/<name>/abandoned`, which keeps the work.
struct AbandonedRef {
    /// Its full name.
    name: String,
    /// How the ref gets its value.
    from: BranchOrigin,
    /// Further refs to create: an earlier abandoned tip of the session moves to `undone`.
    create: Vec<(String, Oid)>,
}

impl AbandonedRef {
    fn of(repo: &Repo, session: &Session, tip: Oid) -> Result<AbandonedRef> {
        let name = format!("{REFS}{}/abandoned", session.name);
        let mut create = Vec::new();
        let from = match repo.ref_value(&name)? {
            None => BranchOrigin::Created(tip),
            Some(earlier) if earlier == tip => BranchOrigin::Created(tip),
            Some(earlier) => {
                if earlier != session.tip {
                    create.push((next_numbered_ref(repo, &session.name, "undone")?, earlier));
                }
                if repo.is_ancestor(tip, earlier)? {
                    BranchOrigin::Rewound(earlier)
                } else {
                    BranchOrigin::Existing(earlier)
                }
            }
        };
        Ok(AbandonedRef { name, from, create })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::user::unwind;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::{Scratch, path, refusal};
    use crate::txn::Request;
    use edt_types::{Finding, WarningCode};

    fn one_edit() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    fn abandoned(scratch: &Scratch) -> Result<Abandoned> {
        let session = scratch.session();
        abandon(&mut scratch.open(), &session)
    }

    /// The refusal to overwrite the first line of a file.
    fn overlap(named: &str) -> Finding {
        let found = unwind::overlap(&path(named), &[0..1], "`edt abandon`");
        Finding { remedy: remedy(&path(named)), ..found }
    }

    #[test]
    fn an_abandoned_session_leaves_files_head_and_branch_as_before() {
        let scratch = one_edit();
        let (tip, base) = (scratch.head(), scratch.session().base);
        let done = abandoned(&scratch).unwrap();
        assert_eq!((done.kept.as_str(), done.tip), ("refs/edt/fix/abandoned", tip));
        assert_eq!(done.onto.as_deref(), Some("refs/heads/main"));
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert_eq!((scratch.head_target().as_str(), scratch.head()), ("refs/heads/main", base));
        assert_eq!(scratch.ref_value("refs/heads/edt/fix"), None);
        assert_eq!(scratch.ref_value("refs/edt/fix/abandoned"), Some(tip));
    }

    #[test]
    fn files_of_the_session_return_to_what_they_were_before_its_first_edit() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "one by hand\n");
        scratch.edit("first", "a.txt", "one by", "two by");
        abandoned(&scratch).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one by hand\n"));
    }

    #[test]
    fn created_files_are_removed() {
        let scratch = one_edit();
        scratch.apply(&Request::new("new").create("c.txt", "c\n")).unwrap();
        let done = abandoned(&scratch).unwrap();
        assert_eq!(scratch.text("c.txt"), None);
        let paths: Vec<&str> = done.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.txt", "c.txt"]);
    }

    #[test]
    fn a_line_of_the_session_that_the_user_changed_refuses_to_abandon() {
        let scratch = one_edit();
        scratch.write("a.txt", "by hand\n");
        let finding = overlap("a.txt");
        assert!(!finding.hint().contains("--save"), "edt abandon has no such option");
        assert_eq!(refusal(abandoned(&scratch)), finding);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("by hand\n"));
        assert_eq!(scratch.head_target(), "refs/heads/edt/fix");
    }

    #[test]
    fn other_lines_of_the_user_stay() {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "1", "one");
        scratch.write("a.txt", "one\n2\n3\n4\n5\nmine\n");
        let done = abandoned(&scratch).unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5\nmine\n"));
        assert_eq!(scratch.committed(done.tip, "a.txt").as_deref(), Some("one\n2\n3\n4\n5\n"));
    }

    #[test]
    fn an_ignored_file_returns_to_what_it_was() {
        let scratch = one_edit();
        scratch.write(".git/info/exclude", ".env\n");
        scratch.write(".env", "KEY=1\n");
        scratch.edit("secret", ".env", "1", "2");
        abandoned(&scratch).unwrap();
        assert_eq!(scratch.text(".env").as_deref(), Some("KEY=1\n"));
    }

    #[test]
    fn an_overlap_in_an_ignored_file_does_not_advise_a_stash() {
        let scratch = one_edit();
        scratch.write(".git/info/exclude", ".env\n");
        scratch.write(".env", "KEY=1\n");
        scratch.edit("secret", ".env", "1", "2");
        scratch.write(".env", "KEY=mine\n");
        let finding = refusal(abandoned(&scratch));
        let expected = unwind::overlap_ignored(&path(".env"), &[0..1], "`edt abandon`");
        assert_eq!(finding, expected);
        assert!(!finding.remedy.contains("stash"), "{}", finding.remedy);
    }

    #[test]
    fn unrecorded_changes_in_other_files_stay() {
        let scratch = one_edit();
        scratch.write("b.txt", "by hand\n");
        abandoned(&scratch).unwrap();
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
    }

    #[test]
    fn a_file_that_only_the_branch_changed_is_not_overwritten_unsaved() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("b.txt", Some("moved\n"))], "moved\n");
        scratch.write("b.txt", "by hand\n");
        let finding = overlap("b.txt");
        assert_eq!(refusal(abandoned(&scratch)), finding);
        assert_eq!(scratch.text("b.txt").as_deref(), Some("by hand\n"));
        assert_eq!(scratch.head_target(), "refs/heads/edt/fix");
    }

    #[test]
    fn a_branch_that_moved_is_followed() {
        let scratch = one_edit();
        let moved = scratch.user_commit("main", &[("b.txt", Some("moved\n"))], "moved\n");
        abandoned(&scratch).unwrap();
        assert_eq!((scratch.head(), scratch.text("b.txt").as_deref()), (moved, Some("moved\n")));
    }

    #[test]
    fn a_branch_that_changed_the_users_lines_refuses_to_abandon() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.write("a.txt", "one by hand\n");
        scratch.edit("first", "a.txt", "one by", "two by");
        scratch.user_commit("main", &[("a.txt", Some("moved\n"))], "moved\n");
        let finding = overlap("a.txt");
        assert_eq!(refusal(abandoned(&scratch)), finding);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("two by hand\n"));
    }

    #[test]
    fn a_session_from_a_detached_head_returns_to_its_commit() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        let head = scratch.head().to_string();
        scratch.write(".git/HEAD", &format!("{head}\n"));
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        assert_eq!(abandoned(&scratch).unwrap().onto, Some(head.clone()));
        assert_eq!(scratch.head_target(), head);
    }

    #[test]
    fn a_session_from_an_unborn_branch_leaves_it_unborn() {
        let scratch = Scratch::unborn();
        scratch.apply(&Request::new("new").create("a.txt", "one\n")).unwrap();
        abandoned(&scratch).unwrap();
        assert_eq!(scratch.head_target(), "refs/heads/main");
        assert_eq!((scratch.ref_value("refs/heads/main"), scratch.text("a.txt")), (None, None));
    }

    #[test]
    fn a_session_whose_head_is_elsewhere_leaves_head_alone() {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin_with("fix", HeadSwitch::Never);
        scratch.edit("first", "a.txt", "one", "two");
        assert_eq!(abandoned(&scratch).unwrap().onto, None);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("one\n"));
        assert_eq!(scratch.head_target(), "refs/heads/main");
    }

    #[test]
    fn a_branch_that_was_deleted_is_no_place_to_return_to() {
        let scratch = one_edit();
        scratch.remove(".git/refs/heads/main");
        let finding = Finding::new(
            Code::BadRequest,
            "edt/fix began on \"refs/heads/main\", which is not a branch with a commit.",
            "Switch to another branch with `git switch BRANCH`; the session's work stays on its \
             branch.",
        );
        assert_eq!(refusal(abandoned(&scratch)), finding.nothing_changed());
    }

    #[test]
    fn a_branch_of_another_worktree_leaves_head_detached() {
        let scratch = one_edit();
        scratch.write(".git/worktrees/other/HEAD", "ref: refs/heads/main\n");
        scratch.write(".git/worktrees/other/gitdir", "/nowhere/tree/.git\n");
        let base = scratch.session().base;
        let done = abandoned(&scratch).unwrap();
        let warning = Warning {
            code: WarningCode::HeadDetached,
            path: None,
            message: format!(
                "HEAD is detached at {}: main is checked out, rebased or bisected in \
                 /nowhere/tree. If this worktree was made for the session, remove it with `git \
                 worktree remove`.",
                base.to_hex_with_len(12)
            ),
        };
        assert_eq!((scratch.head_target(), done.warnings), (base.to_string(), vec![warning]));
    }

    #[test]
    fn an_earlier_abandoned_tip_moves_to_the_undone_ones() {
        let scratch = one_edit();
        let other = scratch.user_commit("side", &[("c.txt", Some("c\n"))], "side\n");
        scratch.set_ref("refs/edt/fix/abandoned", other);
        let tip = abandoned(&scratch).unwrap().tip;
        assert_eq!(scratch.ref_value("refs/edt/fix/abandoned"), Some(tip));
        assert_eq!(scratch.ref_value("refs/edt/fix/undone/1"), Some(other));
    }

    #[test]
    fn only_refusals_about_kinds_of_files_let_head_stop_at_the_base() {
        let link = || Finding::new(Code::NotAFile, "x", "y");
        let other = || Finding::new(Code::UnsavedChanges, "x", "y");
        let only =
            |found: Vec<Finding>| only_unsupported_kinds(&Refusal::check(found).unwrap_err());
        assert_eq!((only(vec![link()]), only(vec![link(), other()])), (true, false));
    }
}
