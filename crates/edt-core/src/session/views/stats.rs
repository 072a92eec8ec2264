//! Statistics on sessions, from refs, commits and trailers alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::landing::list::{self, SessionChoice, SessionSummary};
use crate::session::refs::commit::Commit;
use crate::session::refs::current::Session;
use crate::session::refs::message::{Kind, Trailers};
use crate::session::refs::names::{REFS, numbered_tips};
use crate::session::refs::record::Undone;
use edt_git::{Oid, Repo};
use edt_types::Result;

/// Which commits, and which refusals, to count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatsFilter {
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those made at this time or later, in seconds since 1970.
    pub since: Option<i64>,
}

/// Who made an edit or a refused call.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Maker {
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The number of the turn in the session.
    pub turn: Option<u64>,
}

/// Numbers of commits by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditCounts {
    /// Edits that were not undone.
    pub edits: u64,
    /// Files set to an earlier state and not undone.
    pub restores: u64,
    /// Program runs whose changes were not undone.
    pub runs: u64,
    /// Edits, restores and runs that were undone and not redone.
    pub undone: u64,
    /// Checkpoints that somebody asked for.
    pub checkpoints: u64,
    /// User commits on the session's branch.
    pub user_commits: u64,
    /// Edits, restores and runs that used each override, including undone ones.
    pub overrides: BTreeMap<String, u64>,
    /// Edits by each mode of their requests, including undone ones. One with several modes counts
    /// for each.
    pub modes: BTreeMap<String, u64>,
    /// Edits whose modes are known.
    pub with_mode: u64,
}

impl EditCounts {
    /// All edits, restores and runs, including undone ones.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.edits + self.restores + self.runs + self.undone
    }

    pub fn add(&mut self, other: &EditCounts) {
        self.edits += other.edits;
        self.restores += other.restores;
        self.runs += other.runs;
        self.undone += other.undone;
        self.checkpoints += other.checkpoints;
        self.user_commits += other.user_commits;
        self.with_mode += other.with_mode;
        for (own, others) in
            [(&mut self.overrides, &other.overrides), (&mut self.modes, &other.modes)]
        {
            for (word, count) in others {
                *own.entry(word.clone()).or_default() += count;
            }
        }
    }

    fn count(&mut self, commit: &Commit, state: CommitState) {
        let Some(trailers) = &commit.trailers else {
            self.user_commits += u64::from(state == CommitState::Current);
            return;
        };
        match (trailers.kind, state) {
            (kind, CommitState::Undone) => self.undone += u64::from(kind.is_edit()),
            (Kind::Edit, CommitState::Current) => self.edits += 1,
            (Kind::Restore, CommitState::Current) => self.restores += 1,
            (Kind::Run, CommitState::Current) => self.runs += 1,
            (Kind::Checkpoint, CommitState::Current) => self.checkpoints += 1,
            (
                Kind::Begin
                | Kind::Land
                | Kind::Unland
                | Kind::Proposal
                | Kind::Decision
                | Kind::Record
                | Kind::Resolution
                | Kind::Saved,
                CommitState::Current,
            ) => {}
        }
        for word in &trailers.allowed {
            *self.overrides.entry(word.clone()).or_default() += 1;
        }
        self.with_mode += u64::from(!trailers.modes.is_empty());
        for mode in &trailers.modes {
            *self.modes.entry(mode.clone()).or_default() += 1;
        }
    }
}

/// Whether a commit is in the session or was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitState {
    Current,
    Undone,
}

/// Statistics of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStats {
    /// The session.
    pub session: SessionSummary,
    /// Counts by maker; that of the user's commits is empty.
    pub makers: BTreeMap<Maker, EditCounts>,
    /// How often it landed.
    pub landed: u64,
    /// How often a program's changes were reverted.
    pub rolled_back: u64,
}

impl SessionStats {
    /// The counts of all agents together.
    #[must_use]
    pub fn all(&self) -> EditCounts {
        let mut all = EditCounts::default();
        self.makers.values().for_each(|tally| all.add(tally));
        all
    }
}

/// Statistics of every session that matches `filter`, ordered by name. Undone commits are counted
/// as long as their ref exists (`edt gc` may remove it). The cost grows with the number of commits.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn stats(repo: &Repo, filter: &StatsFilter) -> Result<Vec<SessionStats>> {
    let choice = match &filter.session {
        Some(name) => SessionChoice::Named(name.clone()),
        None => SessionChoice::All,
    };
    let refs: BTreeMap<String, Oid> = repo.refs_below(REFS)?.into_iter().collect();
    let sessions = list::chosen(repo, &choice)?.sessions.into_iter();
    let counted = sessions
        .map(|session| counted(repo, &refs, session, filter))
        .collect::<Result<Vec<SessionStats>>>()?;
    let narrow = filter.agent.is_some() || filter.since.is_some();
    Ok(counted.into_iter().filter(|counted| !narrow || !counted.makers.is_empty()).collect())
}

/// How many edits `session` has, including undone ones. Restores and runs are none.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn edits_made(repo: &Repo, session: &Session) -> Result<u64> {
    let (mut seen, mut edits) = (BTreeSet::new(), 0);
    let mut count = |commit: &Commit| {
        let is_own = |made: &Trailers| made.kind == Kind::Edit && made.session == session.name;
        edits += u64::from(commit.trailers.as_ref().is_some_and(is_own));
    };
    walk(repo, session, CommitState::Current, &mut seen, &mut count)?;
    for (_, tip) in numbered_tips(repo, &session.name, "undone")? {
        let undone = Session { tip, ..session.clone() };
        walk(repo, &undone, CommitState::Undone, &mut seen, &mut count)?;
    }
    Ok(edits)
}

fn counted(
    repo: &Repo,
    refs: &BTreeMap<String, Oid>,
    session: SessionSummary,
    filter: &StatsFilter,
) -> Result<SessionStats> {
    let tips = |what: &str| {
        let prefix = format!("{REFS}{}/{what}/", session.name);
        refs.range(prefix.clone()..)
            .take_while(move |(name, _)| name.starts_with(&prefix))
            .map(|(_, oid)| *oid)
            .collect::<Vec<Oid>>()
    };
    let (landed, undone, refused) = (tips("landed"), tips("undone"), tips("refused"));
    let mut counted = SessionStats {
        makers: BTreeMap::new(),
        landed: landed.len() as u64,
        rolled_back: refused.len() as u64,
        session,
    };
    let mut seen = BTreeSet::new();
    // Landed commits count as current, even if the branch is gone or was reset since.
    let current =
        std::iter::once(counted.session.tip).chain(landed).map(|tip| (tip, CommitState::Current));
    for (tip, state) in
        current.chain(undone.into_iter().map(|tip| (tip, CommitState::Undone))).collect::<Vec<_>>()
    {
        let session = Session { tip, ..counted.session.session() };
        walk(repo, &session, state, &mut seen, &mut |commit| {
            let maker = commit.trailers.as_ref().map(maker).unwrap_or_default();
            let matches_agent = filter.agent.is_none() || maker.agent == filter.agent;
            // The session may have begun on another session's commit. That commit belongs to the
            // other one.
            let in_session = commit
                .trailers
                .as_ref()
                .is_none_or(|trailers| trailers.session == counted.session.name);
            if matches_agent
                && in_session
                && filter.since.is_none_or(|since| commit.committed_at >= since)
            {
                counted.makers.entry(maker).or_default().count(commit, state);
            }
        })?;
    }
    Ok(counted)
}

fn maker(trailers: &Trailers) -> Maker {
    let Trailers { agent, model, turn, .. } = trailers;
    Maker { agent: agent.clone(), model: model.clone(), turn: *turn }
}

/// Calls `show` for each edit and each other commit of `session`, down to its base or to a commit in
/// `seen`.
fn walk(
    repo: &Repo,
    session: &Session,
    state: CommitState,
    seen: &mut BTreeSet<Oid>,
    show: &mut dyn FnMut(&Commit),
) -> Result<()> {
    if session.tip == repo.empty_tree() {
        return Ok(());
    }
    let commits: Box<dyn Iterator<Item = Result<Commit>>> = match state {
        CommitState::Current => Box::new(session.commits(repo)),
        CommitState::Undone => {
            Box::new(session.identified(repo, Undone::Count)?.into_iter().map(Ok))
        }
    };
    for commit in commits {
        let commit = commit?;
        if !seen.insert(commit.oid) {
            break;
        }
        commit.units().iter().for_each(&mut *show);
        if commit.has_more_than_edits() {
            show(&Commit { trailers: None, rewritten: None, ..commit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::landing::land;
    use crate::session::landing::options::LandOptions;
    use crate::session::recording::record::checkpoint;
    use crate::tests::{Scratch, path};
    use crate::txn::{self, Request};

    fn one_edit() -> Scratch {
        let scratch = Scratch::with(&[("a.txt", "one\n"), ("b.txt", "b\n")]);
        scratch.begin("fix");
        scratch.edit("first", "a.txt", "one", "two");
        scratch
    }

    fn counts(scratch: &Scratch) -> EditCounts {
        stats(&scratch.repo(), &StatsFilter::default()).unwrap()[0].all()
    }

    fn one() -> EditCounts {
        EditCounts { edits: 1, ..mode("edit") }
    }

    /// One edit of this mode.
    fn mode(name: &str) -> EditCounts {
        let modes = BTreeMap::from([(name.to_owned(), 1)]);
        EditCounts { modes, with_mode: 1, ..EditCounts::default() }
    }

    #[test]
    fn an_edit_counts_once() {
        assert_eq!(counts(&one_edit()), one());
    }

    #[test]
    fn an_undone_edit_counts_as_undone() {
        let scratch = one_edit();
        scratch.undo(1).unwrap();
        assert_eq!(counts(&scratch), EditCounts { undone: 1, ..mode("edit") });
    }

    #[test]
    fn a_redone_edit_counts_as_an_edit_again() {
        let scratch = one_edit();
        scratch.undo(1).unwrap();
        scratch.redo().unwrap();
        assert_eq!(counts(&scratch), one());
    }

    #[test]
    fn a_landed_edit_still_counts() {
        let scratch = one_edit();
        let session = scratch.session();
        land(&mut scratch.open(), &session, &LandOptions::default()).unwrap();
        let counted = stats(&scratch.repo(), &StatsFilter::default()).unwrap().remove(0);
        assert_eq!((counted.all(), counted.landed, counted.rolled_back), (one(), 1, 0));
    }

    #[test]
    fn a_restored_file_counts_as_a_restore() {
        let scratch = one_edit();
        let options = crate::session::back::undo::MoveOptions::default();
        let target = txn::RestoreTarget::Latest;
        txn::restore(&mut scratch.open(), &path("a.txt"), &target, options).unwrap();
        assert_eq!(counts(&scratch), EditCounts { restores: 1, ..one() });
    }

    #[test]
    fn checkpoints_are_counted() {
        let scratch = one_edit();
        scratch.write("b.txt", "by hand\n");
        checkpoint(&mut scratch.open(), None, &[]).unwrap();
        assert_eq!(counts(&scratch), EditCounts { checkpoints: 1, ..one() });
    }

    #[test]
    fn a_users_commit_has_a_count_of_its_own() {
        let scratch = one_edit();
        scratch.user_commit("edt/fix", &[("c.txt", Some("c\n"))], "by hand\n");
        assert_eq!(counts(&scratch), EditCounts { user_commits: 1, ..one() });
    }

    #[test]
    fn an_override_counts_even_if_its_edit_was_undone() {
        let scratch = one_edit();
        let request = Request::new("x").append("b.txt", b"\xff".to_vec()).allow("encoding");
        scratch.apply(&request).unwrap();
        scratch.undo(1).unwrap();
        let overrides = BTreeMap::from([("encoding".to_owned(), 1)]);
        let modes = BTreeMap::from([("edit".to_owned(), 1), ("append".to_owned(), 1)]);
        let with_mode = 2;
        assert_eq!(
            counts(&scratch),
            EditCounts { undone: 1, overrides, modes, with_mode, ..one() }
        );
    }

    #[test]
    fn edits_are_counted_by_agent() {
        let scratch = one_edit();
        scratch.apply(&Request::new("x").append("b.txt", "c\n").agent("robot")).unwrap();
        let makers = stats(&scratch.repo(), &StatsFilter::default()).unwrap().remove(0).makers;
        let robot = Maker { agent: Some("robot".to_owned()), ..Maker::default() };
        let append = EditCounts { edits: 1, ..mode("append") };
        assert_eq!(makers, BTreeMap::from([(Maker::default(), one()), (robot, append)]));
    }

    #[test]
    fn an_edit_of_several_modes_counts_for_each() {
        let scratch = one_edit();
        let request = Request::new("x").append("b.txt", "c\n").append("a.txt", "c\n");
        scratch.apply(&request.create("c.txt", "c\n")).unwrap();
        let modes = ["append", "create", "edit"].map(|mode| (mode.to_owned(), 1));
        assert_eq!(counts(&scratch).modes, BTreeMap::from(modes));
        assert_eq!(counts(&scratch).with_mode, 2);
    }

    #[test]
    fn a_filter_of_an_agent_leaves_out_the_others() {
        let scratch = one_edit();
        let agent = |name: &str| {
            let filter = StatsFilter { agent: Some(name.into()), ..StatsFilter::default() };
            stats(&scratch.repo(), &filter).unwrap().len()
        };
        assert_eq!(agent("robot"), 0);
        scratch.apply(&Request::new("x").append("b.txt", "c\n").agent("robot")).unwrap();
        assert_eq!(agent("robot"), 1);
    }

    #[test]
    fn a_filter_of_time_leaves_out_older_commits() {
        let scratch = one_edit();
        let now = Commit::read(&scratch.repo(), scratch.head()).unwrap().committed_at;
        let since = |time: i64| {
            let filter = StatsFilter { since: Some(time), ..StatsFilter::default() };
            stats(&scratch.repo(), &filter).unwrap().len()
        };
        assert_eq!((since(now), since(now + 1)), (1, 0));
    }

    #[test]
    fn a_filter_of_a_session_leaves_out_the_others() {
        let scratch = one_edit();
        scratch.begin("other");
        let filter = StatsFilter { session: Some("other".into()), ..StatsFilter::default() };
        let found = stats(&scratch.repo(), &filter).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.session.name.as_str()).collect();
        assert_eq!((names, found[0].all()), (vec!["other"], EditCounts::default()));
    }

    #[test]
    fn sums_have_every_count() {
        let counts = EditCounts {
            edits: 1,
            restores: 2,
            runs: 3,
            undone: 4,
            checkpoints: 5,
            user_commits: 7,
            overrides: BTreeMap::from([("encoding".to_owned(), 8)]),
            modes: BTreeMap::from([("edit".to_owned(), 9)]),
            with_mode: 10,
        };
        let mut sum = counts.clone();
        sum.add(&counts);
        let twice = EditCounts {
            edits: 2,
            restores: 4,
            runs: 6,
            undone: 8,
            checkpoints: 10,
            user_commits: 14,
            overrides: BTreeMap::from([("encoding".to_owned(), 16)]),
            modes: BTreeMap::from([("edit".to_owned(), 18)]),
            with_mode: 20,
        };
        assert_eq!((sum, counts.made()), (twice, 10));
    }
}
