//! All sessions of the repository, of every worktree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::session::landing::git_landing::TargetHistories;
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::landed::Landing;
use crate::session::refs::names::{BRANCHES, POINTER, REFS};
use crate::session::refs::names::{base_ref, numbered_among, origin_of};
use crate::session::refs::renamed;
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
    /// Its newest landing, if the user moved the branch so that it has it no more.
    pub lost_landing: Option<Landing>,
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

impl SessionSummary {
    /// The session itself, as one that HEAD is not on.
    #[must_use]
    pub fn session(&self) -> Session {
        let SessionSummary { name, branch, tip, base, .. } = self.clone();
        Session { name, branch, tip, base, head: InHead::No, planned: None }
    }

    /// Whether the session is not open and no worktree uses it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state != SessionState::Open && self.worktree.is_none()
    }
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
    /// The user renamed its branch to one outside of `edt/`.
    Renamed,
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
            SessionState::Renamed => "renamed",
        }
    }
}

/// Which sessions to describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// All.
    All,
    /// Those that are open, or that a worktree uses.
    Open,
    /// The one with this name.
    Named(String),
}

/// Described sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionList {
    /// The chosen sessions, ordered by name.
    pub sessions: Vec<SessionSummary>,
    /// How many ended sessions are left out.
    pub ended: u64,
}

/// All sessions, ordered by name, as [`chosen`].
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn sessions(repo: &Repo) -> Result<Vec<SessionSummary>> {
    chosen(repo, &SessionChoice::All).map(|list| list.sessions)
}

/// The sessions of `choice`. Reads all refs of sessions once; otherwise the cost grows with the
/// number of described sessions, not of edits. For an open session that no worktree uses, up to
/// 1,000 commits of the branch it began on are searched for its content.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn chosen(repo: &Repo, choice: &SessionChoice) -> Result<SessionList> {
    let refs: BTreeMap<String, Oid> = repo.refs_below(REFS)?.into_iter().collect();
    let branches: BTreeMap<String, Oid> = repo.refs_below(BRANCHES)?.into_iter().collect();
    let of_base = |name: &String| {
        name.strip_prefix(REFS)?
            .strip_suffix("/base")
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    let names: BTreeSet<String> = refs.keys().filter_map(of_base).collect();
    let worktrees = repo.worktrees(POINTER);
    let renamed = renamed_branches(repo, &refs, &branches)?;
    let mut outside = None;
    let mut histories = TargetHistories::default();
    let mut list = SessionList::default();
    for name in names {
        if matches!(choice, SessionChoice::Named(only) if *only != name) {
            continue;
        }
        let own = format!("{BRANCHES}{name}");
        let mut branch = renamed.get(&name).unwrap_or(&own).clone();
        let works = |worktree: &&edt_git::Worktree| {
            let pointer = worktree.pointer.as_ref();
            worktree.head.as_ref() == Some(&branch)
                || pointer == Some(&branch)
                || pointer == Some(&own)
        };
        let worktree = worktrees.iter().find(works).map(|worktree| repo.worktree_path(worktree));
        // The branch may be a symbolic ref.
        let tip = branches
            .get(&branch)
            .copied()
            .map_or_else(|| repo.ref_value(&branch), |tip| Ok(Some(tip)))?;
        let of_session = SessionRefs { refs: &refs, name: &name };
        let (mut state, mut tip) = of_session.state(repo, tip, worktree.is_some());
        let mut lost_landing = None;
        if state == SessionState::Landed {
            lost_landing = of_session.lost_landing(repo)?;
            state = if lost_landing.is_some() { SessionState::Open } else { state };
        }
        if state == SessionState::Deleted {
            // Once for all sessions.
            if outside.is_none() {
                let names = refs.keys().filter_map(of_base).collect::<Vec<_>>();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                outside = Some(renamed::outside(repo, &names)?);
            }
            if let Some((now, at)) = outside.as_mut().and_then(|all| all.remove(&name)) {
                (state, tip, branch) = (SessionState::Renamed, at, now);
            }
        }
        let refs = of_session;
        let base = refs.base(repo);
        let mut landed_by = (state == SessionState::Landed).then_some(LandedBy::Edt);
        if state == SessionState::Open
            && worktree.is_none()
            && histories.contain(repo, &name, base, tip)?
        {
            (state, landed_by) = (SessionState::Landed, Some(LandedBy::Git));
            lost_landing = None;
        }
        if *choice == SessionChoice::Open && state != SessionState::Open && worktree.is_none() {
            list.ended += 1;
            continue;
        }
        let (mut edits, mut time) = (0, 0);
        if tip != repo.empty_tree() {
            let (name, branch) = (name.clone(), branch.clone());
            edits =
                Session { name, branch, tip, base, head: InHead::No, planned: None }.edits(repo)?;
            time = Commit::read(repo, tip)?.committed_at;
        }
        list.sessions.push(SessionSummary {
            branch,
            state,
            landed_by,
            lost_landing,
            tip,
            base,
            edits,
            origin: origin_of(repo, refs.own("origin"))?,
            worktree,
            time,
            undone: refs.numbered("undone"),
            name,
        });
    }
    Ok(list)
}

/// The refs of one session among all.
struct SessionRefs<'r> {
    refs: &'r BTreeMap<String, Oid>,
    name: &'r str,
}

impl SessionRefs<'_> {
    fn own(&self, what: &str) -> Option<Oid> {
        self.refs.get(&format!("{REFS}{}/{what}", self.name)).copied()
    }

    fn base(&self, repo: &Repo) -> Oid {
        self.own("base").unwrap_or_else(|| repo.empty_tree())
    }

    fn numbered(&self, kind: &str) -> Vec<(u64, Oid)> {
        let prefix = format!("{REFS}{}/{kind}/", self.name);
        let below = self.refs.range(prefix.clone()..);
        numbered_among(below.take_while(|(name, _)| name.starts_with(&prefix)), &prefix)
    }

    /// Its newest landing, if the branch that it landed on has it no more.
    fn lost_landing(&self, repo: &Repo) -> Result<Option<Landing>> {
        let landing = Landing::all(repo, self.name)?.pop();
        let is_lost = landing.as_ref().map_or(Ok(false), |landing| landing.is_lost(repo))?;
        Ok(landing.filter(|_| is_lost))
    }

    /// The state of the session whose branch is at `tip`, and its newest commit.
    fn state(&self, repo: &Repo, tip: Option<Oid>, is_used: bool) -> (SessionState, Oid) {
        let landed = self.numbered("landed").pop().map(|(_, tip)| tip);
        match (tip, self.own("abandoned")) {
            (Some(tip), _) if landed == Some(tip) => (SessionState::Landed, tip),
            (Some(tip), Some(abandoned)) if abandoned == tip && !is_used => {
                (SessionState::Abandoned, tip)
            }
            (Some(tip), _) => (SessionState::Open, tip),
            (None, Some(tip)) => (SessionState::Abandoned, tip),
            (None, None) => (SessionState::Deleted, landed.unwrap_or_else(|| self.base(repo))),
        }
    }
}

/// The branches of the sessions whose branch was renamed, by the session's name.
fn renamed_branches(
    repo: &Repo,
    refs: &BTreeMap<String, Oid>,
    branches: &BTreeMap<String, Oid>,
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (branch, tip) in branches {
        let is_own = refs.contains_key(&base_ref(branch.trim_start_matches(BRANCHES)));
        if !is_own && let Some(name) = renamed::session_of(repo, branch, *tip)? {
            found.entry(name).or_insert_with(|| branch.clone());
        }
    }
    Ok(found)
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
        let refs: BTreeMap<String, Oid> =
            ["10", "9", "x", "1"].iter().map(|n| (format!("refs/edt/s/undone/{n}"), oid)).collect();
        assert_eq!(
            numbered_among(refs.iter(), "refs/edt/s/undone/"),
            [(1, oid), (9, oid), (10, oid)]
        );
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
            lost_landing: None,
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
