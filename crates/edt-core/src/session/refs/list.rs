//! All sessions of the repository, of every worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::commit::Commit;
use super::current::Session;
use super::names::{BRANCHES, POINTER, REFS};
use super::names::{numbered_among, origin_of};
use super::renamed;
use crate::session::landing::git_landing::TargetHistories;
use edt_git::{InHead, Oid, Repo};
use edt_types::Result;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its name, without `edt/`.
    pub name: String,
    /// The full name of its branch: `refs/heads/edt/<name>` unless the user renamed it.
    pub branch: String,
    /// Its state.
    pub state: SessionState,
    /// How it landed, if its state is `landed`.
    pub landed_by: Option<LandedBy>,
    /// Its newest commit; its base if its branch is gone.
    pub tip: Oid,
    /// The commit it began from, or the empty tree.
    pub base: Oid,
    /// How many edits it has.
    pub edits: u64,
    /// The full name of the branch it began on, or a commit if HEAD was detached.
    pub origin: Option<String>,
    /// The worktree that uses it. The directory may be missing (locked, on a removed disk) until
    /// `git worktree prune`.
    pub worktree: Option<PathBuf>,
    /// The committer's time of its newest commit, in seconds since 1970.
    pub time: i64,
    /// The tips that `undo` moved away from, with their numbers, oldest first.
    pub undone: Vec<(u64, Oid)>,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Its branch has work that has not landed.
    Open,
    /// All of its branch has landed.
    Landed,
    /// `edt abandon` ended it.
    Abandoned,
    /// Somebody deleted its branch.
    Deleted,
}

/// How a session's content reached the branch it began on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LandedBy {
    /// By `edt land`.
    Edt,
    /// By plain Git: a merge, a squash merge, a cherry-pick or a rebase.
    Git,
}

impl LandedBy {
    /// The name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LandedBy::Edt => "edt",
            LandedBy::Git => "git",
        }
    }
}

impl SessionState {
    /// The name of the state.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SessionState::Open => "open",
            SessionState::Landed => "landed",
            SessionState::Abandoned => "abandoned",
            SessionState::Deleted => "deleted",
        }
    }
}

/// All sessions, ordered by name. The cost grows with the number of sessions, not of edits. For an
/// open session that no worktree uses, up to 1,000 commits of the branch it began on are searched
/// for its content.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn sessions(repo: &Repo) -> Result<Vec<SessionSummary>> {
    let refs = repo.refs_below(REFS)?;
    let of_base = |(name, _): &(String, Oid)| {
        name.strip_prefix(REFS)?
            .strip_suffix("/base")
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    let names: BTreeSet<String> = refs.iter().filter_map(of_base).collect();
    let worktrees = repo.worktrees(POINTER);
    let renamed = renamed_branches(repo)?;
    let mut histories = TargetHistories::default();
    names
        .into_iter()
        .map(|name| {
            let own = format!("{BRANCHES}{name}");
            let branch = renamed.get(&name).cloned().unwrap_or_else(|| own.clone());
            let works = |worktree: &&edt_git::Worktree| {
                let pointer = worktree.pointer.as_ref();
                worktree.head.as_ref() == Some(&branch)
                    || pointer == Some(&branch)
                    || pointer == Some(&own)
            };
            let worktree =
                worktrees.iter().find(works).map(|worktree| repo.worktree_path(worktree));
            let mut summary = summarize(repo, &refs, name, &branch, worktree)?;
            if summary.state == SessionState::Open
                && summary.worktree.is_none()
                && histories.contain(repo, &summary.name, summary.base, summary.tip)?
            {
                summary.state = SessionState::Landed;
                summary.landed_by = Some(LandedBy::Git);
            }
            Ok(summary)
        })
        .collect()
}

/// The branches of the sessions whose branch was renamed, by the session's name.
fn renamed_branches(repo: &Repo) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (branch, tip) in renamed::without_session(repo)? {
        if let Some(name) = renamed::session_of(repo, &branch, tip)? {
            found.entry(name).or_insert(branch);
        }
    }
    Ok(found)
}

fn summarize(
    repo: &Repo,
    refs: &[(String, Oid)],
    name: String,
    branch: &str,
    worktree: Option<PathBuf>,
) -> Result<SessionSummary> {
    let own_ref = |what: &str| {
        let full = format!("{REFS}{name}/{what}");
        refs.iter().find(|(name, _)| *name == full).map(|(_, oid)| *oid)
    };
    let base = own_ref("base").unwrap_or_else(|| repo.empty_tree());
    let landed = numbered_among(refs, &format!("{REFS}{name}/landed/")).pop().map(|(_, tip)| tip);
    let (state, tip) = match (repo.ref_value(branch)?, own_ref("abandoned")) {
        (Some(tip), _) if landed == Some(tip) => (SessionState::Landed, tip),
        (Some(tip), Some(abandoned)) if abandoned == tip && worktree.is_none() => {
            (SessionState::Abandoned, tip)
        }
        (Some(tip), _) => (SessionState::Open, tip),
        (None, Some(tip)) => (SessionState::Abandoned, tip),
        (None, None) => (SessionState::Deleted, landed.unwrap_or(base)),
    };
    let (mut edits, mut time) = (0, 0);
    if tip != repo.empty_tree() {
        let (name, branch) = (name.clone(), branch.to_owned());
        edits = Session { name, branch, tip, base, head: InHead::No }.edits(repo)?;
        time = Commit::read(repo, tip)?.committed_at;
    }
    let undone = numbered_among(refs, &format!("{REFS}{name}/undone/"));
    Ok(SessionSummary {
        branch: branch.to_owned(),
        state,
        landed_by: (state == SessionState::Landed).then_some(LandedBy::Edt),
        tip,
        base,
        edits,
        origin: origin_of(repo, own_ref("origin"))?,
        worktree,
        time,
        undone,
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::back::abandon::abandon;
    use crate::session::landing::options::LandOptions;
    use crate::session::refs::names::next_numbered_ref;
    use crate::tests::Scratch;

    fn one_edit() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    fn states(scratch: &Scratch) -> Vec<(String, SessionState)> {
        let all = sessions(&scratch.repo()).unwrap();
        all.into_iter().map(|session| (session.name, session.state)).collect()
    }

    #[test]
    fn numbered_refs_are_ordered_by_number_not_by_name() {
        let oid = Scratch::unborn().begin("s").tip;
        let refs: Vec<(String, Oid)> =
            ["10", "9", "x", "1"].iter().map(|n| (format!("refs/edt/s/undone/{n}"), oid)).collect();
        assert_eq!(numbered_among(&refs, "refs/edt/s/undone/"), [(1, oid), (9, oid), (10, oid)]);
    }

    #[test]
    fn the_first_number_is_one() {
        let scratch = one_edit();
        let next = next_numbered_ref(&scratch.repo(), "fix", "undone").unwrap();
        assert_eq!(next, "refs/edt/fix/undone/1");
    }

    #[test]
    fn the_next_number_follows_the_largest() {
        let scratch = one_edit();
        scratch.set_ref("refs/edt/fix/undone/7", scratch.head());
        let next = next_numbered_ref(&scratch.repo(), "fix", "undone").unwrap();
        assert_eq!(next, "refs/edt/fix/undone/8");
    }

    #[test]
    fn an_open_session_is_described_completely() {
        let scratch = one_edit();
        let undone = scratch.head();
        scratch.undo(1).unwrap();
        scratch.edit("other", "a.txt", "one", "three");
        let (session, repo) = (scratch.session(), scratch.repo());
        let time = Commit::read(&repo, session.tip).unwrap().committed_at;
        let expected = SessionSummary {
            name: "fix".into(),
            branch: "refs/heads/edt/fix".into(),
            state: SessionState::Open,
            landed_by: None,
            tip: session.tip,
            base: session.base,
            edits: 1,
            origin: Some("refs/heads/main".into()),
            worktree: Some(repo.root_path().to_owned()),
            time,
            undone: vec![(1, undone)],
        };
        assert_eq!(sessions(&repo).unwrap(), [expected]);
    }

    #[test]
    fn a_landed_session_is_landed() {
        let scratch = one_edit();
        let session = scratch.session();
        land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        assert_eq!(states(&scratch), [("fix".into(), SessionState::Landed)]);
    }

    #[test]
    fn a_session_that_plain_git_landed_is_landed_once_no_worktree_uses_it() {
        let scratch = one_edit();
        scratch.user_commit("main", &[("a.txt", Some("two\n"))], "squash\n");
        assert_eq!(states(&scratch), [("fix".into(), SessionState::Open)]);
        scratch.write(".git/HEAD", "ref: refs/heads/main\n");
        let session = sessions(&scratch.repo()).unwrap().remove(0);
        assert_eq!((session.state, session.landed_by), (SessionState::Landed, Some(LandedBy::Git)));
    }

    #[test]
    fn a_renamed_session_keeps_its_name() {
        let scratch = one_edit();
        let tip = scratch.head();
        scratch.remove(".git/refs/heads/edt/fix");
        scratch.set_ref("refs/heads/edt/new", tip);
        scratch.write(".git/HEAD", "ref: refs/heads/edt/new\n");
        let session = sessions(&scratch.repo()).unwrap().remove(0);
        assert_eq!((session.name.as_str(), session.state), ("fix", SessionState::Open));
        assert_eq!(session.branch, "refs/heads/edt/new");
        assert!(session.worktree.is_some());
    }

    #[test]
    fn a_landed_session_with_another_edit_is_open() {
        let scratch = one_edit();
        let session = scratch.session();
        land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        scratch.user_commit("edt/fix", &[("a.txt", Some("more\n"))], "more\n");
        assert_eq!(states(&scratch), [("fix".into(), SessionState::Open)]);
    }

    #[test]
    fn an_abandoned_session_is_abandoned() {
        let scratch = one_edit();
        let session = scratch.session();
        abandon(&mut scratch.open(), &session).unwrap();
        assert_eq!(states(&scratch), [("fix".into(), SessionState::Abandoned)]);
    }

    #[test]
    fn a_session_whose_branch_was_deleted_is_deleted() {
        let scratch = one_edit();
        scratch.write(".git/HEAD", "ref: refs/heads/main\n");
        scratch.remove(".git/refs/heads/edt/fix");
        let session = sessions(&scratch.repo()).unwrap().remove(0);
        assert_eq!(
            (session.state, session.tip, session.edits),
            (SessionState::Deleted, session.base, 0)
        );
        assert_eq!(session.worktree, None);
    }

    #[test]
    fn sessions_are_ordered_by_name() {
        let scratch = one_edit();
        scratch.begin("zeta");
        scratch.begin("alpha");
        let names: Vec<String> = states(&scratch).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["alpha", "fix", "zeta"]);
    }

    #[test]
    fn a_session_from_a_repository_without_an_origin_has_none() {
        let scratch = one_edit();
        scratch.remove(".git/refs/edt/fix/origin");
        assert_eq!(sessions(&scratch.repo()).unwrap()[0].origin, None);
    }
}
