//! What sessions come to in numbers, from refs, commits and trailers alone.

use std::collections::{BTreeMap, BTreeSet};

use super::current::REFS;
use super::history::Commit;
use super::list::{self, Listed};
use super::message::Kind;
use crate::base::Result;
use crate::git::{Oid, Repo};

/// Which commits count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those of this session alone.
    pub session: Option<String>,
    /// Those of this agent alone.
    pub agent: Option<String>,
    /// Those made at this moment or later, in seconds since 1970.
    pub since: Option<i64>,
}

/// How often something happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Edits that stand.
    pub edits: u64,
    /// Edits that are files set to an earlier state, and stand.
    pub restores: u64,
    /// Programs whose changes stand.
    pub runs: u64,
    /// Edits, restores and runs that `undo` took back and that were not brought again.
    pub undone: u64,
    /// Commits that recorded what someone asked to record.
    pub checkpoints: u64,
    /// Commits that recorded what changed behind edt's back.
    pub foreign: u64,
    /// A person's own commits on the session's branch.
    pub persons: u64,
    /// Edits, restores and runs that needed each override, undone ones too.
    pub overrides: BTreeMap<String, u64>,
}

impl Tally {
    /// Everything that `undo` would take back, and what it took.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.edits + self.restores + self.runs + self.undone
    }

    /// Adds what `other` counted.
    pub fn add(&mut self, other: &Tally) {
        self.edits += other.edits;
        self.restores += other.restores;
        self.runs += other.runs;
        self.undone += other.undone;
        self.checkpoints += other.checkpoints;
        self.foreign += other.foreign;
        self.persons += other.persons;
        for (word, count) in &other.overrides {
            *self.overrides.entry(word.clone()).or_default() += count;
        }
    }

    fn count(&mut self, commit: &Commit, fate: Fate) {
        let Some(trailers) = &commit.trailers else {
            self.persons += u64::from(fate == Fate::Stands);
            return;
        };
        match (trailers.kind, fate) {
            (kind, Fate::Undone) => self.undone += u64::from(kind.is_edit()),
            (Kind::Edit, Fate::Stands) => self.edits += 1,
            (Kind::Restore, Fate::Stands) => self.restores += 1,
            (Kind::Run, Fate::Stands) => self.runs += 1,
            (Kind::Checkpoint, Fate::Stands) if trailers.foreign => self.foreign += 1,
            (Kind::Checkpoint, Fate::Stands) => self.checkpoints += 1,
            (Kind::Begin | Kind::Land | Kind::Proposal | Kind::Decision, Fate::Stands) => {}
        }
        for word in &trailers.allowed {
            *self.overrides.entry(word.clone()).or_default() += 1;
        }
    }
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stands,
    Undone,
}

/// A session in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The session.
    pub session: Listed,
    /// How often what happened in it, by who asked; `None` for what bears no name.
    pub agents: BTreeMap<Option<String>, Tally>,
    /// How often it landed.
    pub landed: u64,
    /// How often what a program had changed was put back.
    pub put_back: u64,
}

impl Counted {
    /// All agents together.
    #[must_use]
    pub fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.agents.values().for_each(|tally| all.add(tally));
        all
    }
}

/// Every session that `filter` lets through, in order of names. What an `undo` took back is counted as long as its ref is there (`edt gc` may
/// remove it). The cost follows the number of commits.
///
/// # Errors
/// `IO_ERROR`, `OBJECT_MISSING`.
pub fn stats(repo: &Repo, filter: &Filter) -> Result<Vec<Counted>> {
    let wanted =
        |session: &Listed| filter.session.as_ref().is_none_or(|name| *name == session.name);
    let refs = repo.refs_below(REFS)?;
    let sessions = list::sessions(repo)?.into_iter().filter(wanted);
    let counted = sessions
        .map(|session| counted(repo, &refs, session, filter))
        .collect::<Result<Vec<Counted>>>()?;
    let narrow = filter.agent.is_some() || filter.since.is_some();
    Ok(counted.into_iter().filter(|counted| !narrow || !counted.agents.is_empty()).collect())
}

fn counted(
    repo: &Repo,
    refs: &[(String, Oid)],
    session: Listed,
    filter: &Filter,
) -> Result<Counted> {
    let kept = |what: &str| {
        let prefix = format!("{REFS}{}/{what}/", session.name);
        refs.iter()
            .filter(move |(name, _)| name.starts_with(&prefix))
            .map(|(_, oid)| *oid)
            .collect::<Vec<Oid>>()
    };
    let (landed, undone, refused) = (kept("landed"), kept("undone"), kept("refused"));
    let mut counted = Counted {
        agents: BTreeMap::new(),
        landed: landed.len() as u64,
        put_back: refused.len() as u64,
        session,
    };
    let mut seen = BTreeSet::new();
    // What landed stands, even if the branch is gone or was set back since.
    let stands = std::iter::once(counted.session.tip).chain(landed).map(|tip| (tip, Fate::Stands));
    for (tip, fate) in
        stands.chain(undone.into_iter().map(|tip| (tip, Fate::Undone))).collect::<Vec<_>>()
    {
        walk(repo, tip, counted.session.base, &mut seen, &mut |commit| {
            let agent = commit.trailers.as_ref().and_then(|trailers| trailers.agent.clone());
            let asked = filter.agent.as_ref().is_none_or(|name| agent.as_ref() == Some(name));
            // A commit of another session, which this one began from before that was its base, is that one's.
            let own = commit
                .trailers
                .as_ref()
                .is_none_or(|trailers| trailers.session == counted.session.name);
            if asked && own && filter.since.is_none_or(|since| commit.made >= since) {
                counted.agents.entry(agent).or_default().count(commit, fate);
            }
        })?;
    }
    Ok(counted)
}

/// Shows each commit from `tip` down to `base`, or to one that was seen before.
fn walk(
    repo: &Repo,
    tip: Oid,
    base: Oid,
    seen: &mut BTreeSet<Oid>,
    show: &mut dyn FnMut(&Commit),
) -> Result<()> {
    let mut next = Some(tip).filter(|tip| *tip != repo.empty_tree());
    while let Some(oid) = next.filter(|oid| *oid != base && seen.insert(*oid)) {
        let commit = Commit::read(repo, oid)?;
        show(&commit);
        next = commit.parent;
    }
    Ok(())
}
