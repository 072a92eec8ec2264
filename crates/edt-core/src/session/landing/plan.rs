//! Plans a landing on a branch that may have moved: the merged tree, and the commits that lead to
//! it.
//!
//! edt's own commits are squashed. A user's commit on the shadow branch stays a separate commit
//! between the squashed ones. Where the history does not allow that, it is folded into the squashed
//! commit, whose message names it.

use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::names::numbered_tips;
use crate::session::refs::record::Undone;
use crate::session::user::identity;
use edt_git::{Merged, ObjectWriter, Oid, Repo};
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, RepoPath, Result};

/// The branch to land on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandTarget {
    /// The branch's full name.
    pub branch: String,
    /// The symbolic ref by which the branch was named, if it was. HEAD returns to it.
    pub alias: Option<String>,
    /// Its commit; `None` if it is unborn.
    pub tip: Option<Oid>,
}

impl LandTarget {
    /// The name without `refs/heads/`.
    #[must_use]
    pub fn short(&self) -> &str {
        self.branch.strip_prefix("refs/heads/").unwrap_or(&self.branch)
    }

    /// The tree of its commit, or the empty tree.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree(&self, repo: &Repo) -> Result<Oid> {
        self.tip.map_or_else(|| Ok(repo.empty_tree()), |tip| repo.tree_of(tip))
    }
}

/// The planned landing.
#[derive(Debug)]
pub struct LandPlan {
    /// The tree that the target will have.
    pub tree: Oid,
    /// The commits to make, oldest first; at least one.
    pub planned: Vec<PlannedCommit>,
    /// The session's commits since it last landed, oldest first.
    pub commits: Vec<Commit>,
    /// User commits that could not stay separate.
    pub folded: Vec<Commit>,
}

/// One commit to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedCommit {
    /// Several commits of edt as one.
    Squash {
        /// The tree after them.
        tree: Oid,
        /// The commits, oldest first.
        commits: Vec<Commit>,
    },
    /// A user's commit, unchanged except for its parents and tree.
    UserCommit {
        /// The original commit.
        commit: Oid,
        /// Its tree on the target.
        tree: Oid,
        /// Its other parents.
        other_parents: Vec<Oid>,
    },
}

impl PlannedCommit {
    /// The planned tree, before hooks change it.
    #[must_use]
    pub fn tree(&self) -> Oid {
        match self {
            PlannedCommit::Squash { tree, .. } | PlannedCommit::UserCommit { tree, .. } => *tree,
        }
    }
}

impl LandPlan {
    /// How many edits the squashed commits have, as their messages say.
    #[must_use]
    pub fn edits(&self) -> u64 {
        let squashed = self.planned.iter().flat_map(|planned| match planned {
            PlannedCommit::Squash { commits, .. } => commits.as_slice(),
            PlannedCommit::UserCommit { .. } => &[],
        });
        squashed.map(Commit::edits).sum()
    }

    /// Merges the work of `session` onto `target`.
    ///
    /// # Errors
    /// `MERGE_CONFLICT` naming every path; `NOTHING_TO_LAND`; `OBJECT_MISSING`.
    pub fn of(
        repo: &Repo,
        writer: &mut ObjectWriter<'_>,
        session: &Session,
        target: &LandTarget,
    ) -> Result<LandPlan> {
        let reverted = has_reverted(repo, session, target)?;
        let ancestor = ancestor(repo, session, target, reverted)?;
        let commits = since(repo, session, ancestor, target, reverted)?;
        let (ours, theirs) = (target.tree(repo)?, repo.tree_of(session.tip)?);
        let tree = match writer.merge_trees(repo.tree_of(ancestor)?, ours, theirs)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts(paths) => return Err(conflict(session, target, &paths).into()),
        };
        if tree == ours {
            return Err(nothing(session, target).into());
        }
        let has_user_commits = commits.iter().any(Commit::is_users);
        let replayed = if has_user_commits {
            replay(repo, writer, &commits, ancestor, target, tree)?
        } else {
            None
        };
        if let Some(planned) = replayed {
            return Ok(LandPlan { tree, planned, commits, folded: Vec::new() });
        }
        // The agent's commit never contains the user's changes.
        if commits.iter().any(Commit::is_checkpoint) {
            return Err(not_separable(session, target).into());
        }
        let (folded, edt_commits) =
            commits.iter().cloned().partition(|commit| commit.trailers.is_none());
        Ok(LandPlan {
            tree,
            planned: vec![PlannedCommit::Squash { tree, commits: edt_commits }],
            commits,
            folded,
        })
    }
}

/// Whether the target contains a landing of the session and its reversal. The session's commits in
/// its history do not count as landed then.
fn has_reverted(repo: &Repo, session: &Session, target: &LandTarget) -> Result<bool> {
    let Some(tip) = target.tip else { return Ok(false) };
    for (_, landing) in numbered_tips(repo, &session.name, "unlanded")? {
        if repo.is_ancestor(landing, tip)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The merge base: the newest of Git's merge base, the session's base, and the tip that landed
/// last.
fn ancestor(repo: &Repo, session: &Session, target: &LandTarget, reverted: bool) -> Result<Oid> {
    let shared = match target.tip {
        Some(tip) if !reverted => repo.merge_base(session.tip, tip)?,
        _ => None,
    };
    let landed = landed(repo, session, target)?;
    let base = Some(session.base).filter(|base| *base != repo.empty_tree());
    let mut newest = shared;
    for candidate in [base, landed].into_iter().flatten() {
        if newest != Some(candidate)
            && repo.is_ancestor(candidate, session.tip)?
            && newest.map_or(Ok(true), |newest| repo.is_ancestor(newest, candidate))?
        {
            newest = Some(candidate);
        }
    }
    Ok(newest.unwrap_or_else(|| repo.empty_tree()))
}

/// The session's tip at its last landing that the target still contains.
pub(super) fn landed(repo: &Repo, session: &Session, target: &LandTarget) -> Result<Option<Oid>> {
    let Some(target_tip) = target.tip else { return Ok(None) };
    let landings = numbered_tips(repo, &session.name, "landing")?;
    for (number, tip) in numbered_tips(repo, &session.name, "landed")?.into_iter().rev() {
        let landing = landings.iter().find(|(of, _)| *of == number).map(|(_, commit)| *commit);
        if landing.map_or(Ok(false), |landing| repo.is_ancestor(landing, target_tip))? {
            return Ok(Some(tip));
        }
    }
    Ok(None)
}

/// The session's commits along first parents, oldest first, without those that the target has or
/// that landed before.
fn since(
    repo: &Repo,
    session: &Session,
    ancestor: Oid,
    target: &LandTarget,
    reverted: bool,
) -> Result<Vec<Commit>> {
    let known: Vec<Oid> = [Some(ancestor), Some(session.base), target.tip.filter(|_| !reverted)]
        .into_iter()
        .flatten()
        .filter(|oid| *oid != repo.empty_tree())
        .collect();
    let new = repo.commits_not_in(session.tip, &known)?;
    let (mut chain, mut next) = (Vec::new(), Some(session.tip));
    while let Some(oid) = next.filter(|oid| new.contains(oid)) {
        let commit = Commit::read(repo, oid)?;
        next = commit.parent;
        chain.push(commit);
    }
    let mut commits = identity::identified(repo, session, chain, Undone::Never)?;
    commits.reverse();
    // A commit that has more than edits is the user's as a whole.
    for commit in commits.iter_mut().filter(|commit| commit.has_more_than_edits()) {
        commit.trailers = None;
    }
    Ok(commits)
}

/// Replays the commits one by one on the target; `None` if the result is not `wanted`.
fn replay(
    repo: &Repo,
    writer: &mut ObjectWriter<'_>,
    commits: &[Commit],
    ancestor: Oid,
    target: &LandTarget,
    wanted: Oid,
) -> Result<Option<Vec<PlannedCommit>>> {
    let mut planned: Vec<PlannedCommit> = Vec::new();
    let mut before = match commits.first().and_then(|commit| commit.parent) {
        Some(parent) => repo.tree_of(parent)?,
        None => repo.tree_of(ancestor)?,
    };
    let mut at = target.tree(repo)?;
    for commit in commits {
        let Merged::Clean(tree) = writer.merge_trees(before, at, commit.tree)? else {
            return Ok(None);
        };
        let is_users = commit.is_users();
        let is_empty_commit = commit.trailers.is_none() && commit.tree == before;
        before = commit.tree;
        let other_parents = if commit.trailers.is_none() {
            missing_parents(repo, commit, target)?
        } else {
            Vec::new()
        };
        // Skip a commit that changes nothing on the target. A user's empty commit is kept for its
        // message.
        if tree == at && other_parents.is_empty() && !is_empty_commit {
            continue;
        }
        at = tree;
        match (!is_users, planned.last_mut()) {
            (true, Some(PlannedCommit::Squash { tree: last, commits })) => {
                *last = tree;
                commits.push(commit.clone());
            }
            (true, _) => {
                planned.push(PlannedCommit::Squash { tree, commits: vec![commit.clone()] });
            }
            (false, _) => {
                planned.push(PlannedCommit::UserCommit { commit: commit.oid, tree, other_parents });
            }
        }
    }
    Ok((at == wanted && !planned.is_empty()).then_some(planned))
}

/// The other parents of a merge that the target does not contain yet.
fn missing_parents(repo: &Repo, commit: &Commit, target: &LandTarget) -> Result<Vec<Oid>> {
    let mut other_parents = Vec::new();
    for parent in &commit.other_parents {
        if target
            .tip
            .map_or(Ok(true), |tip| repo.is_ancestor(*parent, tip).map(|contained| !contained))?
        {
            other_parents.push(*parent);
        }
    }
    Ok(other_parents)
}

fn conflict(session: &Session, target: &LandTarget, paths: &[RepoPath]) -> Finding {
    let (name, into) = (session.short_branch(), target.short());
    let names: Vec<String> = paths.iter().map(RepoPath::text).collect();
    let finding = Finding::new(
        Code::MergeConflict,
        format!("{into} moved, and {name} conflicts with it in {}.", names.join(", ").shown()),
        format!(
            "Merge them on the session's branch (`git switch {name}`, `git merge {into}`, \
             resolve the conflicts, commit). Then the user calls `edt land`: an agent may not land \
             a commit that is no edit."
        ),
    )
    .nothing_changed();
    let finding = finding.with("paths", names).with("into", into);
    match paths.first() {
        Some(first) => finding.at(first),
        None => finding,
    }
}

fn not_separable(session: &Session, target: &LandTarget) -> Finding {
    let (name, into) = (session.short_branch(), target.short());
    Finding::new(
        Code::MergeConflict,
        format!(
            "{into} moved, and {name} has checkpoints of the user's changes that cannot be kept \
             apart from the agent's on it."
        ),
        format!(
            "Merge them on the session's branch (`git switch {name}`, `git merge {into}`, \
             resolve the conflicts, commit). Then the user calls `edt land`: an agent may not land \
             a commit that is no edit."
        ),
    )
    .nothing_changed()
    .with("into", into)
}

pub(super) fn nothing(session: &Session, target: &LandTarget) -> Finding {
    Finding::new(
        Code::NothingToLand,
        format!(
            "{} has no change that {} does not have.",
            session.short_branch(),
            target.short()
        ),
        format!(
            "`edt diff` shows the session's changes. To leave the session, `git switch {}` or `edt abandon`.",
            target.short()
        ),
    ).nothing_changed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Scratch, refusal};

    fn one_edit() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    fn main_of(scratch: &Scratch) -> LandTarget {
        LandTarget {
            branch: "refs/heads/main".into(),
            alias: None,
            tip: scratch.ref_value("refs/heads/main"),
        }
    }

    /// The subjects of the planned commits; a user's in parentheses.
    fn planned(scratch: &Scratch) -> Result<Vec<String>> {
        let (repo, session) = (scratch.repo(), scratch.session());
        let plan = LandPlan::of(&repo, &mut ObjectWriter::new(&repo), &session, &main_of(scratch))?;
        let shown = |commit: &PlannedCommit| match commit {
            PlannedCommit::Squash { commits, .. } => {
                commits.iter().map(Commit::subject).collect::<Vec<_>>().join("+")
            }
            PlannedCommit::UserCommit { commit, .. } => {
                format!("({})", Commit::read(&repo, *commit).unwrap().subject())
            }
        };
        Ok(plan.planned.iter().map(shown).collect())
    }

    #[test]
    fn edits_are_squashed_into_one_commit() {
        let scratch = one_edit();
        scratch.edit("second", "a.txt", "two", "three");
        assert_eq!(planned(&scratch).unwrap(), ["first+second"]);
    }

    #[test]
    fn a_users_commit_stays_separate_between_two_squashed_ones() {
        let scratch = one_edit();
        scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        scratch.write("c.txt", "c\n");
        scratch.edit("second", "a.txt", "two", "three");
        assert_eq!(planned(&scratch).unwrap(), ["first", "(by hand)", "second"]);
    }

    #[test]
    fn a_users_commit_that_the_target_already_has_is_left_out() {
        let scratch = one_edit();
        scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        scratch.user_commit("main", &[("c.txt", Some("c\n"))], "the same\n");
        assert_eq!(planned(&scratch).unwrap(), ["first"]);
    }

    #[test]
    fn edits_that_cancel_each_other_have_nothing_to_land() {
        let scratch = one_edit();
        scratch.edit("second", "a.txt", "two", "one");
        let finding = Finding::new(
            Code::NothingToLand,
            "edt/fix has no change that main does not have.",
            "`edt diff` shows the session's changes. To leave the session, `git switch main` or \
             `edt abandon`.",
        );
        assert_eq!(refusal(planned(&scratch)), finding.nothing_changed());
    }

    #[test]
    fn a_change_that_the_target_has_too_has_nothing_to_land() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("a.txt", Some("two\n"))], "the same\n");
        assert_eq!(refusal(planned(&scratch)).code, Code::NothingToLand);
    }

    #[test]
    fn a_branch_that_moved_is_merged() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("b.txt", Some("other\n"))], "moved\n");
        let (repo, session) = (scratch.repo(), scratch.session());
        let mut writer = ObjectWriter::new(&repo);
        let plan = LandPlan::of(&repo, &mut writer, &session, &main_of(&scratch)).unwrap();
        let changed = |from: Oid| -> Vec<String> {
            let differs = writer.tree_diff(from, plan.tree).unwrap();
            differs.iter().map(|differs| differs.path.text()).collect()
        };
        assert_eq!(changed(main_of(&scratch).tree(&repo).unwrap()), ["a.txt"]);
        assert_eq!(changed(repo.tree_of(session.tip).unwrap()), ["b.txt"]);
    }

    #[test]
    fn a_conflict_names_every_path_and_the_way_to_resolve_it() {
        let scratch = one_edit();
        scratch.edit("second", "b.txt", "b", "mine");
        scratch.user_commit(
            "main",
            &[("a.txt", Some("theirs\n")), ("b.txt", Some("theirs\n"))],
            "moved\n",
        );
        let finding = Finding::new(
            Code::MergeConflict,
            "main moved, and edt/fix conflicts with it in a.txt, b.txt.",
            "Merge them on the session's branch (`git switch edt/fix`, `git merge main`, resolve \
             the conflicts, commit). Then the user calls `edt land`: an agent may not land a commit \
             that is no edit.",
        );
        let finding = finding
            .nothing_changed()
            .at(&crate::tests::path("a.txt"))
            .with("paths", vec!["a.txt", "b.txt"])
            .with("into", "main");
        assert_eq!(refusal(planned(&scratch)), finding);
    }

    #[test]
    fn a_deletion_conflicts_with_a_change() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("a.txt", None)], "deleted\n");
        assert_eq!(refusal(planned(&scratch)).code, Code::MergeConflict);
    }

    #[test]
    fn what_the_target_reverted_since_is_not_part_of_the_session() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("b.txt", None)], "b is gone\n");
        let (repo, session) = (scratch.repo(), scratch.session());
        let mut writer = ObjectWriter::new(&repo);
        let plan = LandPlan::of(&repo, &mut writer, &session, &main_of(&scratch)).unwrap();
        let differs = writer.tree_diff(repo.tree_of(session.tip).unwrap(), plan.tree).unwrap();
        assert_eq!(differs.len(), 1);
        assert_eq!((differs[0].path.text().as_str(), differs[0].new), ("b.txt", None));
    }

    #[test]
    fn a_commit_that_was_amended_is_a_users() {
        let scratch = one_edit();
        amend(&scratch, "first", Some("two by hand\n"));
        assert_eq!(planned(&scratch).unwrap(), ["(first)"]);
        scratch.apply(&crate::txn::Request::new("second").create("c.txt", "c\n")).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let target = main_of(&scratch);
        let plan = LandPlan::of(&repo, &mut ObjectWriter::new(&repo), &session, &target).unwrap();
        assert_eq!(plan.edits(), 1);
    }

    #[test]
    fn an_edit_with_an_amended_message_stays_an_edit() {
        let scratch = one_edit();
        amend(&scratch, "other words", None);
        scratch.edit("second", "a.txt", "two", "three");
        assert_eq!(planned(&scratch).unwrap(), ["other words+second"]);
    }

    /// Amends the only edit, as `git commit --amend` does.
    fn amend(scratch: &Scratch, subject: &str, text: Option<&str>) {
        let tip = scratch.head();
        let message = scratch.message(tip).replacen("first", subject, 1);
        let text = text.map_or_else(|| scratch.text("a.txt").unwrap(), str::to_owned);
        scratch.set_ref("refs/heads/edt/fix", scratch.session().base);
        let new = scratch.user_commit("edt/fix", &[("a.txt", Some(&text))], &message);
        scratch.write("a.txt", &text);
        let log = scratch.text(".git/logs/refs/heads/edt/fix").unwrap();
        let line = format!("{tip} {new} A <a@b> 1 +0000\tcommit (amend): {subject}\n");
        scratch.write(".git/logs/refs/heads/edt/fix", &(log + &line));
    }

    #[test]
    fn an_unborn_target_gets_everything() {
        let scratch = Scratch::unborn();
        scratch.apply(&crate::Request::new("new").create("a.txt", "one\n")).unwrap();
        let (repo, session) = (scratch.repo(), scratch.session());
        let target = LandTarget { branch: "refs/heads/main".into(), alias: None, tip: None };
        let mut writer = ObjectWriter::new(&repo);
        let plan = LandPlan::of(&repo, &mut writer, &session, &target).unwrap();
        assert_eq!(plan.tree, repo.tree_of(session.tip).unwrap());
        assert_eq!(plan.commits.len(), 2);
    }

    #[test]
    fn a_target_is_shown_by_its_short_name() {
        let target = LandTarget { branch: "refs/heads/team/x".into(), alias: None, tip: None };
        assert_eq!(target.short(), "team/x");
    }
}
