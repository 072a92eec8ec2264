//! A session as a reviewer sees it: turns, steps with their diffs, what was undone or refused, and
//! the session as a whole.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Serialize;

use crate::authors::{self, Sources};
use crate::diffs::Diffs;
use crate::hunks::ReviewFile;
use crate::proposals::{self, ReviewProposal};
use crate::refusals::{self, ReviewRefusal, SentTexts};
use crate::three_way::{self, TouchedPlace};
use edt_core::session::Session;
use edt_core::session::comments::{Comment, ReviewSummary};
use edt_core::session::refs::commit::Commit;
use edt_core::session::refs::ended::ShownSession;
use edt_core::session::refs::message;
use edt_core::session::refs::record::{Records, Undone};
use edt_core::session::turns::{SessionTurn, session_turns};
use edt_core::session::user::{left_over, unwind};
use edt_core::session::views::file_diff;
use edt_core::session::views::refused::{self, RefusedRun};
use edt_core::txn::refused_edits::{self, RefusedEdit};
use edt_git::{ObjectWriter, Oid, Repo};
use edt_io::clock;
use edt_types::{RepoPath, Result, SessionReport};

/// How long an answer with everything may search for who wrote the lines, in milliseconds.
const MAX_AUTHORS_MS: u64 = 60_000;
/// How many steps whose files are not known are read for one article.
const MAX_NOW: usize = 32;
/// How many bytes of a message are kept.
const MAX_MESSAGE: usize = 16 * 1024;

/// The answer of `edt review`: a session for a reviewer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionReview {
    /// Always `edt.review/1`.
    pub schema: &'static str,
    /// The session.
    pub session: SessionReport,
    /// Its newest commit, as a hex object id.
    pub tip: String,
    /// The branch and the commit that it landed as, if it has no commit since.
    pub landed: Option<ReviewLanding>,
    /// Whether it is the session of this worktree, so that commands there act on it.
    pub checked_out: bool,
    /// The user's prompts, with the steps that were made for them, oldest first.
    pub turns: Vec<ReviewTurn>,
    /// What was undone and is kept, oldest first.
    pub undone: Vec<ReviewStep>,
    /// What differs from the base at the tip.
    pub files: Vec<ReviewFile>,
    /// Whether `source` of every added line of `files` was looked up; folded files have no lines.
    pub sources_complete: bool,
    /// The uncommitted changes of tracked files. Empty if this worktree is not in the session.
    pub uncommitted: Vec<ReviewFile>,
    /// Files whose uncommitted changes include changes of edits.
    pub left_over: Vec<ReviewLeftOver>,
    /// Refused edits that are kept in this worktree, oldest first.
    pub refused_edits: Vec<RefusedEdit>,
    /// Runs that were refused and rolled back, oldest first.
    pub refused_runs: Vec<RefusedRun>,
    /// The calls that were refused, oldest first.
    pub refusals: Vec<ReviewRefusal>,
    /// Proposals of the session that wait for the user.
    pub proposals: Vec<ReviewProposal>,
    /// Proposals that the user decided on, and that were not applied.
    pub decided_proposals: Vec<ReviewProposal>,
    /// The user's comments, oldest first. Drafts are there only if the user asks.
    pub comments: Vec<Comment>,
    /// The summaries of the reviews that were sent, oldest first.
    pub review_summaries: Vec<ReviewSummary>,
}

/// The landing of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewLanding {
    /// The branch that it landed on.
    pub onto: String,
    /// The commit that it landed as, as a hex object id.
    pub commit: String,
}

/// A prompt of the user, and what was done for it. Commits of the user between are turns of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewTurn {
    /// Its number in the session; null for steps whose agent's program named no turn.
    pub turn: Option<u64>,
    /// The first line of the prompt. Only the user at a terminal and the turn's own agent get it.
    pub title: Option<String>,
    /// The agent; null for the user.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The agent's name for the conversation.
    pub conversation: Option<String>,
    /// Whether the steps are the user's.
    pub by_user: bool,
    /// The time of the prompt, or else of the first step, in seconds since 1970.
    pub time: i64,
    /// The steps, oldest first.
    pub steps: Vec<ReviewStep>,
}

/// A commit of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewStep {
    /// Its id, as hex.
    pub commit: String,
    /// Its kind, such as `edit`, `run` or `restore`; null for the user's own commit.
    pub kind: Option<&'static str>,
    /// The numbers of the edits that it has, the oldest first; several if the user squashed them.
    pub edits: Vec<u64>,
    /// Whether it also has something that is the user's.
    pub amended: bool,
    /// Whether its content is the user's.
    pub by_user: bool,
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message, without the trailers of edt: why.
    pub reason: String,
    /// The agent that asked for it.
    pub agent: Option<String>,
    /// The model that the agent's program named.
    pub model: Option<String>,
    /// The turn of the session that it belongs to.
    pub turn: Option<u64>,
    /// The refusals that it overrode.
    pub allowed: Vec<String>,
    /// The author's name.
    pub author: String,
    /// The author's time, in seconds since 1970.
    pub time: i64,
    /// How many lines it added.
    pub lines_added: u64,
    /// How many lines it removed.
    pub lines_removed: u64,
    /// Whether `files` and the numbers of lines are known. Only the page of a server may have steps
    /// that are yet to be read.
    #[serde(skip)]
    pub is_read: bool,
    /// The files that it changed.
    pub files: Vec<ReviewFile>,
    /// Files that it changed and that no commit has, such as ignored ones.
    pub private: Vec<String>,
}

/// Changes of edits among the user's uncommitted changes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReviewLeftOver {
    /// The path.
    pub path: String,
    /// The numbers of the edits.
    pub edits: Vec<u64>,
    /// The lines on disk that the edits wrote, such as `20-24`, and `mode`.
    pub lines: Vec<String>,
    /// Where the newest edit changed lines of the user.
    pub touched: Vec<TouchedPlace>,
}

impl ReviewStep {
    /// The step's name: `7`, `3-5`, or the start of its commit id.
    #[must_use]
    pub fn name(&self) -> String {
        match self.edits.as_slice() {
            [] => self.commit.chars().take(8).collect(),
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
        }
    }

    /// The id of its article in the page. `kind` is `edit`, or `undone`.
    #[must_use]
    pub fn article(&self, kind: &str) -> String {
        match self.edits.as_slice() {
            [number] if kind == "edit" => format!("{kind}-{number}"),
            _ => format!("{kind}-{}", self.commit.get(..10).unwrap_or(&self.commit)),
        }
    }
}

impl SessionReview {
    /// All steps of the branch, oldest first in each turn.
    pub fn steps(&self) -> impl Iterator<Item = &ReviewStep> {
        self.turns.iter().flat_map(|turn| &turn.steps)
    }
}

/// How much a review has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent<'a> {
    /// The hunks of every step and of the session, and who wrote each line of the session.
    Whole,
    /// The hunks of the article with this id. The other files have none, and steps may be unread.
    Article(&'a str),
}

/// Reads sessions, and keeps what cannot change: the differences of two trees, and who wrote the
/// lines of a commit. Threads may share it.
#[derive(Debug, Default)]
pub struct Reader {
    pub(crate) diffs: Diffs,
    pub(crate) sources: Mutex<Sources>,
}

/// What one call of [`Reader::read`] reads.
struct Reading<'a> {
    diffs: &'a Diffs,
    repo: &'a Repo,
    extent: Extent<'a>,
    /// The commit that the article of a refusal shows, too.
    instead: Option<String>,
    /// How many more steps it may read that are not known.
    room: usize,
}

impl Reader {
    /// The session `shown` for a reviewer who may read the prompts for which `may_read` holds.
    /// Uncommitted changes are those of the worktree of `repo`, if it is in this session.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`, `INTERNAL`.
    pub fn read(
        &self,
        repo: &Repo,
        shown: &ShownSession,
        extent: Extent<'_>,
        may_read: impl Fn(&SessionTurn) -> bool,
    ) -> Result<SessionReview> {
        let (session, landing) = (viewed(repo, shown)?, &shown.landing);
        let mut commits = session.commits(repo).collect::<Result<Vec<Commit>>>()?;
        commits.reverse();
        let known: Vec<SessionTurn> = session_turns::known(repo, &session.name);
        let refusals = refusals::of_session(repo, &session.name, SentTexts::Withheld);
        let is_shown = |one: &&ReviewRefusal| extent == Extent::Article(&one.article());
        let instead = refusals.iter().find(is_shown).and_then(|one| one.followed_by.clone());
        let mut reading = Reading { diffs: &self.diffs, repo, extent, instead, room: MAX_NOW };
        let turns = reading.turns(&commits, &known, may_read)?;
        let mut files = reading.session_files(&session)?;
        let sources_complete = match extent {
            Extent::Whole => {
                let (mut sources, deadline) = (Sources::new(), clock::in_ms(MAX_AUTHORS_MS));
                authors::add(repo, session.tip, &mut files, &mut sources, deadline)?
            }
            Extent::Article(_) => false,
        };
        let current = Session::current(repo, &repo.head()?)?;
        let is_here = current.as_ref().is_some_and(|own| own.branch == session.branch);
        let (uncommitted, left_over) =
            if is_here { uncommitted(repo, &session, &commits)? } else { Default::default() };
        let (proposals, decided_proposals) =
            proposals::of_session(repo, &session.name, |id, trees| reading.proposed(id, trees))?;
        Ok(SessionReview {
            schema: "edt.review/1",
            tip: session.tip.to_string(),
            landed: landing.as_ref().map(|landing| ReviewLanding {
                onto: landing.short_branch().to_owned(),
                commit: landing.commit.to_string(),
            }),
            checked_out: is_here,
            turns,
            undone: reading.undone(&session)?,
            files,
            sources_complete,
            uncommitted,
            left_over,
            refused_edits: refused_edits::kept(repo, Some(&session.name)),
            refused_runs: refused::runs(repo, &session.name)?,
            refusals,
            proposals,
            decided_proposals,
            comments: Vec::new(),
            review_summaries: Vec::new(),
            session: session.report(false),
        })
    }
}

impl Reading<'_> {
    fn session_files(&self, session: &Session) -> Result<Vec<ReviewFile>> {
        let trees = (self.repo.tree_of(session.base)?, self.repo.tree_of(session.tip)?);
        match self.extent {
            Extent::Whole | Extent::Article("all") => self.diffs.whole(self.repo, trees),
            Extent::Article(_) => self.diffs.listed(self.repo, trees),
        }
    }

    /// The files of the proposal with this number.
    fn proposed(&self, proposal: u64, trees: (Oid, Oid)) -> Result<Vec<ReviewFile>> {
        let is_shown = match self.extent {
            Extent::Whole => true,
            Extent::Article(id) => id.strip_prefix("proposal-") == Some(&proposal.to_string()),
        };
        if is_shown {
            self.diffs.whole(self.repo, trees)
        } else {
            self.diffs.listed(self.repo, trees)
        }
    }

    fn turns(
        &mut self,
        commits: &[Commit],
        known: &[SessionTurn],
        may_read: impl Fn(&SessionTurn) -> bool,
    ) -> Result<Vec<ReviewTurn>> {
        let mut turns: Vec<ReviewTurn> = Vec::new();
        for commit in commits {
            let step = self.step(commit, "edit")?;
            let same = |one: &ReviewTurn| match step.turn {
                Some(_) => one.turn == step.turn,
                None => (one.turn, &one.agent, one.by_user) == (None, &step.agent, step.by_user),
            };
            // Steps without a turn belong together only if they follow each other.
            let from = if step.turn.is_some() { 0 } else { turns.len().saturating_sub(1) };
            if let Some(turn) = turns[from..].iter_mut().find(|one| same(one)) {
                turn.steps.push(step);
                continue;
            }
            let stored = known.iter().find(|turn| Some(turn.number) == step.turn);
            let trailers = commit.trailers.as_ref();
            turns.push(ReviewTurn {
                turn: step.turn,
                title: stored.filter(|turn| may_read(turn)).and_then(|turn| turn.title.clone()),
                agent: step.agent.clone(),
                model: step.model.clone(),
                conversation: trailers.and_then(|trailers| trailers.conversation.clone()),
                by_user: step.by_user,
                time: stored.map_or(step.time, |turn| turn.time),
                steps: vec![step],
            });
        }
        Ok(turns)
    }

    /// The step of a commit in a list of this kind.
    fn step(&mut self, commit: &Commit, kind: &str) -> Result<ReviewStep> {
        let mut step = step(self.repo, commit);
        let trees = (commit.parent_tree(self.repo)?, commit.tree);
        let is_shown = match self.extent {
            Extent::Whole => true,
            Extent::Article(id) => {
                step.article(kind) == id || self.instead.as_ref() == Some(&step.commit)
            }
        };
        let files = match self.diffs.known(trees) {
            _ if is_shown => self.diffs.whole(self.repo, trees)?,
            Some(files) => files,
            None if self.room > 0 => {
                self.room -= 1;
                self.diffs.listed(self.repo, trees)?
            }
            None => return Ok(step),
        };
        step.is_read = true;
        step.lines_added = files.iter().map(|file| file.lines_added).sum();
        step.lines_removed = files.iter().map(|file| file.lines_removed).sum();
        step.private.retain(|path| !files.iter().any(|file| file.path == *path));
        step.files = files;
        Ok(step)
    }

    fn undone(&mut self, session: &Session) -> Result<Vec<ReviewStep>> {
        undone(self.repo, session)?.iter().map(|commit| self.step(commit, "undone")).collect()
    }
}

/// The step of a commit without its files.
fn step(repo: &Repo, commit: &Commit) -> ReviewStep {
    let trailers = commit.trailers.as_ref();
    let edits = commit.units().into_iter().filter(Commit::is_edit);
    let private = unwind::private_files(repo, commit).unwrap_or_default();
    let private = private.iter().filter(|file| file.before != file.after);
    ReviewStep {
        commit: commit.oid.to_string(),
        kind: trailers.map(|trailers| trailers.kind.name()),
        edits: edits.filter_map(|edit| Some(edit.trailers?.edit)).collect(),
        amended: commit.has_more_than_edits(),
        by_user: commit.is_users(),
        subject: commit.subject().to_owned(),
        reason: why(commit),
        agent: trailers.and_then(|trailers| trailers.agent.clone()),
        model: trailers.and_then(|trailers| trailers.model.clone()),
        turn: trailers.and_then(|trailers| trailers.turn),
        allowed: trailers.map(|trailers| trailers.allowed.clone()).unwrap_or_default(),
        author: commit.author.clone(),
        time: commit.authored_at,
        lines_added: 0,
        lines_removed: 0,
        is_read: false,
        private: private.map(|file| file.path().text()).collect(),
        files: Vec::new(),
    }
}

/// What was undone and is kept, the oldest first.
pub(crate) fn undone(repo: &Repo, session: &Session) -> Result<Vec<Commit>> {
    let records = Records::of(repo, session)?;
    let is_undone = |commit: &&Commit| !records.has(commit.oid, Undone::Never);
    Ok(records.commits(Undone::Count).filter(is_undone).cloned().collect())
}

pub(crate) fn viewed(repo: &Repo, shown: &ShownSession) -> Result<Session> {
    match &shown.landing {
        None => shown.session.viewed(repo),
        Some(_) => Ok(shown.session.clone()),
    }
}

/// One file with all its hunks: of a commit, or of the session as a whole. `None` if it does not
/// differ there.
///
/// # Errors
/// `OBJECT_MISSING`, `IO_ERROR`.
pub fn whole_file(
    repo: &Repo,
    shown: &ShownSession,
    commit: Option<&str>,
    path: &str,
) -> Result<Option<ReviewFile>> {
    let commit = commit.and_then(|hex| Oid::from_hex(hex.as_bytes()).ok());
    let (from, to) = if let Some(oid) = commit {
        let commit = Commit::read(repo, oid)?;
        (commit.parent_tree(repo)?, commit.tree)
    } else {
        let session = viewed(repo, shown)?;
        (repo.tree_of(session.base)?, repo.tree_of(session.tip)?)
    };
    let path = RepoPath::from_tree(path.as_bytes());
    let mut found = file_diff::between_at(repo, from, to, std::slice::from_ref(&path))?;
    found.retain(|file| file.path == path.text());
    Ok(found.pop().map(ReviewFile::whole))
}

/// The message without its first line and without the trailers of edt.
fn why(commit: &Commit) -> String {
    let text = message::text(&commit.message);
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest).trim();
    if rest.len() <= MAX_MESSAGE {
        return rest.to_owned();
    }
    let end = (0..=MAX_MESSAGE).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n… `git cat-file commit {}` prints all of it.", &rest[..end], commit.oid)
}

type Uncommitted = (Vec<ReviewFile>, Vec<ReviewLeftOver>);

fn uncommitted(repo: &Repo, session: &Session, commits: &[Commit]) -> Result<Uncommitted> {
    let places = left_over::of_session(&ObjectWriter::new(repo), session, commits)?;
    let tree = repo.tree_of(session.tip)?;
    let places = places.into_iter().map(|file| ReviewLeftOver {
        touched: three_way::of_file(repo, tree, commits, &file),
        path: file.path.text(),
        edits: file.edits,
        lines: file.lines,
    });
    let files = file_diff::worktree(repo, Some(session), &[])?;
    Ok((files.into_iter().map(ReviewFile::of).collect(), places.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahead::ReadAhead;
    use edt_core::{Options, Request, Workspace};
    use edt_testkit::ScratchRepo;

    /// A repository with a session of `edits` edits that append a line each.
    fn session(edits: usize) -> (ScratchRepo, Repo, ShownSession) {
        let scratch = ScratchRepo::with(&[("a.txt", "line\n")]);
        let mut workspace = Workspace::open(scratch.path(), Options::default()).unwrap();
        for edit in 1..=edits {
            let text = format!("line\n{}", "line\n".repeat(edit));
            let request = Request::new("a: append").overwrite("a.txt", text);
            workspace.apply(&request).unwrap();
        }
        let repo = Repo::open(scratch.path()).unwrap();
        let shown = ShownSession::required(&repo, &repo.head().unwrap()).unwrap();
        (scratch, repo, shown)
    }

    /// The names of the steps for which `holds`.
    fn named(review: &SessionReview, holds: impl Fn(&ReviewStep) -> bool) -> Vec<String> {
        review.steps().filter(|step| holds(step)).map(ReviewStep::name).collect()
    }

    #[test]
    fn an_article_has_its_hunks_and_what_else_is_known_has_its_files() {
        let (_scratch, repo, shown) = session(MAX_NOW + 2);
        let last = MAX_NOW + 2;
        let reader = Reader::default();
        let read = |id: &str| reader.read(&repo, &shown, Extent::Article(id), |_| true).unwrap();
        let review = read(&format!("edit-{last}"));
        let has_hunks = |step: &ReviewStep| step.files.iter().any(|file| !file.hunks.is_empty());
        assert_eq!(named(&review, has_hunks), [last.to_string()]);
        assert_eq!(named(&review, |step| !step.is_read), [(MAX_NOW + 1).to_string()]);
        assert_eq!(review.steps().map(|step| step.lines_added).sum::<u64>(), last as u64 - 1);
        assert!(review.files[0].hunks.is_empty() && review.files[0].lines_added == last as u64);
        assert!(!read("all").files[0].hunks.is_empty());
        assert_eq!(named(&read("all"), |step| !step.is_read), [""; 0]);
    }

    #[test]
    fn what_is_read_ahead_is_known() {
        let (_scratch, repo, shown) = session(MAX_NOW + 2);
        let reader = Reader::default();
        let ahead = |most_ms| reader.read_ahead(&repo, &shown, most_ms).unwrap();
        assert_eq!(ahead(0), ReadAhead { read: 1, complete: false });
        assert_eq!(ahead(60_000), ReadAhead { read: MAX_NOW + 1, complete: true });
        let review = reader.read(&repo, &shown, Extent::Article("all"), |_| true).unwrap();
        assert_eq!(named(&review, |step| !step.is_read), [""; 0]);
    }

    #[test]
    fn the_whole_review_has_every_hunk() {
        let (_scratch, repo, shown) = session(MAX_NOW + 2);
        let review = Reader::default().read(&repo, &shown, Extent::Whole, |_| true).unwrap();
        let has_hunks = |step: &ReviewStep| step.files.iter().all(|file| !file.hunks.is_empty());
        assert_eq!(named(&review, has_hunks).len(), MAX_NOW + 2);
        assert!(review.sources_complete);
    }
}
