//! Switches a worktree to another session of the repository, or back to the branch that its session
//! began on. Files and index entries follow by three-way merges, so that the user's uncommitted
//! changes stay.

use super::follow::{self, Operation, TreeMove};
use super::return_target::ReturnTarget;
use super::workspace::LockedWorkspace;
use crate::session::engine::{Applied, Change, HeadMove, RefMove, RefMoves, WorktreeChange};
use crate::session::refs::current::Session;
use crate::session::refs::current::current;
use crate::session::refs::names::{POINTER, REFS};
use crate::session::refs::renamed;
use crate::session::user::user_commits::UserCommits;
use edt_git::{InHead, ObjectWriter, Oid, Repo};
use edt_journal::BranchOrigin;
use edt_types::text::Shown as _;
use edt_types::{Code, FileReport, Finding, Refusal, Result, Warning};

/// A switched worktree.
#[derive(Debug, Default)]
pub struct Switched {
    /// The session that the worktree left, if any.
    pub left: Option<Session>,
    /// The full name of the branch, or the commit, that HEAD names now; `None` if HEAD did not
    /// move.
    pub onto: Option<String>,
    /// The files that changed on disk.
    pub files: Vec<FileReport>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// The session `name` of the repository, which may be in no worktree.
///
/// # Errors
/// `NO_SESSION` if there is none, or if it has no branch.
pub fn find(repo: &Repo, name: &str) -> Result<Session> {
    if let Some(session) = Session::named(repo, name)? {
        return Ok(session);
    }
    let short = name.strip_prefix("edt/").unwrap_or(name);
    let kept = format!("{REFS}{short}/abandoned");
    let abandoned = repo.is_ref_name(&kept) && repo.ref_value(&kept)?.is_some();
    let outside = renamed::outside(repo, &[short])?.remove(short);
    let remedy = if let Some((branch, _)) = outside {
        let now = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        format!("Its branch is now {now}. `git branch -m {now} edt/{short}` makes it one again.")
    } else if abandoned {
        format!(
            "It was abandoned. `git branch edt/{short} {kept}` restores its branch; then repeat \
             the call."
        )
    } else {
        "`edt status` lists the sessions.".to_owned()
    };
    let summary = format!("There is no session {short:?} with a branch.");
    Err(Finding::new(Code::NoSession, summary, remedy).nothing_changed().into())
}

/// Switches the worktree to the session `name`.
///
/// `Ok(None)` means that the worktree is in that session already.
///
/// # Errors
/// `NO_SESSION`; `SESSION_BUSY` if another worktree uses it; `UNSAVED_CHANGES` if the user changed
/// the same lines; `REPOSITORY_BUSY`; `NOT_A_FILE` for links and submodules; errors of publishing.
/// Nothing is changed on an error.
pub fn switch(workspace: &mut LockedWorkspace, name: &str) -> Result<(Session, Option<Switched>)> {
    let repo = &workspace.repo;
    repo.check_idle()?;
    let (to, head) = (find(repo, name)?, repo.head()?);
    let left = current(repo, &head)?;
    if let Some(left) = left.as_ref().filter(|left| left.branch == to.branch) {
        return Ok((left.clone(), None));
    }
    to.check_not_shared(repo)?;
    check_not_rebased(repo, &to)?;
    let policy = workspace.policy(repo.tree_of(to.base)?)?;
    let switches = left.as_ref().map_or(policy.switch, |left| left.head == InHead::Yes);
    let command = format!("edt switch {}", to.name);
    let writer = ObjectWriter::new(repo);
    let users = UserCommits::of(&writer, &to);
    let operation =
        Operation { name: "the switch", command: &command, elsewhere: None, users: Some(&users) };
    let head_tree = commit_tree(repo, head.commit)?;
    let to_tree = repo.tree_of(to.tip)?;
    let from = left.as_ref().map_or(Ok(head_tree), |left| repo.tree_of(left.tip))?;
    let disk = TreeMove { from, to: to_tree };
    let index = switches.then_some(TreeMove { from: head_tree, to: to_tree });
    let on_branch = if switches { InHead::Yes } else { InHead::No };
    let change = Change {
        base: Some(to.base),
        head: HeadMove {
            on_branch,
            from: if switches { repo.head_target()? } else { None },
            to: None,
            point: (!switches).then(|| POINTER.to_owned()),
        },
        worktree: follow::plan(repo, disk, index, &operation)?,
        ..Change::of(&to.name, stays(to.branch(), to.tip))
    };
    let onto = switches.then(|| to.branch());
    let session = Session { head: on_branch, ..to };
    let Applied { files, warnings } = workspace.apply(change)?;
    Ok((session, Some(Switched { left, onto, files, warnings })))
}

/// A ref that stays where it is: HEAD alone moves.
fn stays(name: String, at: Oid) -> RefMove {
    RefMove { name, from: BranchOrigin::Existing(at), new: at, log: String::new() }
}

/// Leaves `session` without ending it: HEAD goes to the branch that the session began on.
///
/// # Errors
/// `BAD_REQUEST` if that branch is gone; otherwise as [`switch`].
pub fn leave(workspace: &mut LockedWorkspace, session: &Session) -> Result<Switched> {
    let (change, target) = plan_leave(&workspace.repo, session)?;
    let Applied { files, mut warnings } = workspace.apply(change)?;
    if session.head == InHead::No {
        session.drop_pointer(&workspace.repo);
    }
    warnings.extend(target.warning);
    Ok(Switched { left: Some(session.clone()), onto: target.onto, files, warnings })
}

fn plan_leave(repo: &Repo, session: &Session) -> Result<(Change, ReturnTarget)> {
    repo.check_idle()?;
    let mut target = ReturnTarget::of(repo, session)?;
    let mut worktree = leaving(repo, session, &target);
    if let Err(error) = &worktree
        && only_unsupported_kinds(error)
        && let Some(base) = target.to_base(session, error)
        && let Ok(to_base) = leaving(repo, session, &base)
    {
        (worktree, target) = (Ok(to_base), base);
    }
    let worktree = worktree?;
    let onto_branch = target.onto.clone().filter(|onto| onto.starts_with("refs/heads/"));
    let (mut head, mut refs) = (HeadMove::stays(session.head), RefMoves::default());
    let branch = if let (Some(onto), Some(at)) = (onto_branch, target.tip) {
        let name = repo.referent(&onto)?;
        head = HeadMove {
            on_branch: InHead::Yes,
            from: Some(session.branch()),
            to: (name != onto).then_some(onto),
            point: None,
        };
        stays(name, at)
    } else {
        head.to.clone_from(&target.onto);
        head.from = head.to.as_ref().map(|_| session.branch());
        refs.delete.extend(session.pointer_to_drop(repo)?);
        stays(session.branch(), session.tip)
    };
    let base = Some(session.base);
    let change = Change { base, head, refs, worktree, ..Change::of(&session.name, branch) };
    Ok((change, target))
}

fn leaving(repo: &Repo, session: &Session, target: &ReturnTarget) -> Result<WorktreeChange> {
    let operation = Operation {
        name: "leaving the session",
        command: "edt switch --leave",
        elsewhere: None,
        users: None,
    };
    let disk = TreeMove { from: repo.tree_of(session.tip)?, to: target.tree(repo)? };
    follow::plan(repo, disk, (session.head == InHead::Yes).then_some(disk), &operation)
}

/// The tree of a commit; the empty tree for an unborn branch.
pub(crate) fn commit_tree(repo: &Repo, commit: Option<Oid>) -> Result<Oid> {
    commit.map_or_else(|| Ok(repo.empty_tree()), |commit| repo.tree_of(commit))
}

fn check_not_rebased(repo: &Repo, session: &Session) -> Result<()> {
    let rebasing = |other: &edt_git::Worktree| other.is_rebasing_or_bisecting(&session.branch);
    let Some(other) = repo.other_worktrees(POINTER).into_iter().find(rebasing) else {
        return Ok(());
    };
    Err(Finding::new(
        Code::SessionBusy,
        format!(
            "{} is being rebased or bisected in {}.",
            session.short_branch(),
            repo.worktree_path(&other).shown()
        ),
        "The user must finish that there first; then repeat the call.",
    )
    .nothing_changed()
    .into())
}

/// Whether every finding is about a link, a submodule, or a directory in place of a file.
fn only_unsupported_kinds(error: &Refusal) -> bool {
    error.clone().into_vec().iter().all(|finding| finding.code == Code::NotAFile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::worktree::begin::HeadSwitch;
    use crate::tests::{Scratch, refusal};

    /// The sessions `one` (line 1 changed) and `two` (line 5 changed); HEAD is on `two`.
    fn two(switching: HeadSwitch) -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
        scratch.begin_with("one", switching);
        scratch.edit("first", "a.txt", "1", "ONE");
        scratch.begin_with("two", switching);
        scratch.edit("second", "a.txt", "5", "FIVE");
        scratch
    }

    fn to(scratch: &Scratch, name: &str) -> Result<Option<Switched>> {
        switch(&mut scratch.open(), name).map(|(_, switched)| switched)
    }

    fn left(scratch: &Scratch) -> Result<Switched> {
        let session = scratch.session();
        leave(&mut scratch.open(), &session)
    }

    #[test]
    fn a_switch_goes_to_the_other_session_and_its_files() {
        let scratch = two(HeadSwitch::AsConfigured);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\nFIVE\n"));
        let switched = to(&scratch, "one").unwrap().unwrap();
        assert_eq!(switched.left.unwrap().name, "two");
        assert_eq!(scratch.head_target(), "refs/heads/edt/one");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("ONE\n2\n3\n4\n5\n"));
    }

    #[test]
    fn the_users_line_stays_on_disk() {
        let scratch = two(HeadSwitch::AsConfigured);
        scratch.write("a.txt", "1\n2\nmine\n4\nFIVE\n");
        to(&scratch, "edt/one").unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("ONE\n2\nmine\n4\n5\n"));
    }

    #[test]
    fn overlapping_lines_refuse_the_switch() {
        let scratch = two(HeadSwitch::AsConfigured);
        scratch.write("a.txt", "1\n2\n3\n4\nmine\n");
        assert_eq!(refusal(to(&scratch, "one")).code, Code::UnsavedChanges);
        assert_eq!(scratch.head_target(), "refs/heads/edt/two");
    }

    #[test]
    fn without_a_switched_head_the_files_and_the_pointer_follow() {
        let scratch = two(HeadSwitch::Never);
        to(&scratch, "one").unwrap();
        assert_eq!(scratch.head_target(), "refs/heads/main");
        assert_eq!(scratch.session().name, "one");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("ONE\n2\n3\n4\n5\n"));
    }

    #[test]
    fn the_current_session_is_no_switch() {
        assert!(to(&two(HeadSwitch::AsConfigured), "two").unwrap().is_none());
    }

    #[test]
    fn an_unknown_session_is_refused() {
        let scratch = two(HeadSwitch::AsConfigured);
        for name in ["none", "a..b", "-x"] {
            assert_eq!(refusal(to(&scratch, name)).code, Code::NoSession, "{name}");
        }
    }

    #[test]
    fn leaving_a_session_keeps_it_open() {
        let scratch = two(HeadSwitch::AsConfigured);
        scratch.write("a.txt", "1\n2\nmine\n4\nFIVE\n");
        assert_eq!(left(&scratch).unwrap().onto.as_deref(), Some("refs/heads/main"));
        assert_eq!(scratch.head_target(), "refs/heads/main");
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\nmine\n4\n5\n"));
        to(&scratch, "two").unwrap();
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\nmine\n4\nFIVE\n"));
    }

    #[test]
    fn leaving_a_session_without_a_switched_head_takes_its_edits_off_the_files() {
        let scratch = two(HeadSwitch::Never);
        assert_eq!(left(&scratch).unwrap().onto, None);
        let repo = scratch.repo();
        assert_eq!(Session::current(&repo, &repo.head().unwrap()).unwrap(), None);
        assert_eq!(scratch.text("a.txt").as_deref(), Some("1\n2\n3\n4\n5\n"));
    }

    #[test]
    fn leaving_a_session_of_a_detached_head_detaches_it_again() {
        let scratch = Scratch::with(&[("a.txt", "1\n")]);
        let commit = scratch.head().to_string();
        scratch.write(".git/HEAD", &format!("{commit}\n"));
        scratch.begin("one");
        scratch.edit("first", "a.txt", "1", "ONE");
        left(&scratch).unwrap();
        assert_eq!((scratch.head_target(), scratch.text("a.txt")), (commit, Some("1\n".into())));
    }
}
