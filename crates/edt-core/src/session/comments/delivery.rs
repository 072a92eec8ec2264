//! Gives comments to agents: each once in full, in the next answer of edt, whatever that is about.
//!
//! An agent has a comment once an answer with it was printed. That is noted afterwards, so a call
//! that fails in between gives it again.

use std::collections::BTreeSet;

use super::shown::Places;
use super::store::{self, StoredComment};
use super::write::kept_name;
use crate::session::refs::current::Session;
use crate::session::refs::ended::ShownSession;
use crate::session::refs::names::{BRANCHES, POINTER, base_ref};
use edt_git::Repo;
use edt_types::comment::{Comment, CommentState, HINT, OpenComments, Reading};
use edt_types::{Finding, Result, Warning, WarningCode};

/// How long the comments of an answer are, in bytes of JSON. One comment may be longer.
const MAX_BYTES: usize = 4 * 1024;
/// How many lines are quoted to an agent, which can read the file.
const MAX_QUOTED: usize = 8;

/// The comments for the next answer to an agent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The session's name.
    pub session: String,
    /// What the answer has; `None` if no comment is open.
    pub comments: Option<OpenComments>,
    /// Why they could not be read.
    pub warning: Option<Warning>,
    given: Vec<(u64, u64)>,
}

/// The session of a worktree, if it has comments. It is found before a command moves HEAD; what the
/// answer says of its comments is read when that is built.
#[derive(Debug)]
pub struct CommentedSession(Result<Option<String>>);

impl CommentedSession {
    /// That of the worktree. Without comments it costs little more than one look for a ref.
    #[must_use]
    pub fn here(repo: &Repo) -> CommentedSession {
        CommentedSession(name_here(repo))
    }

    /// Its comments as they are now. Without any the repository is not opened.
    #[must_use]
    pub fn delivery(self, repo: impl FnOnce() -> Result<Repo>) -> Delivery {
        let found = self.0.and_then(|name| match name {
            Some(name) => of(&repo()?, &name),
            None => Ok(Delivery::default()),
        });
        found.unwrap_or_else(|found| {
            let why = |one: &Finding| format!("{} {}", one.summary, one.remedy);
            let why = found.as_slice().first().map(why).unwrap_or_default();
            let message = format!("The user's comments could not be read: {why}");
            let warning = Warning { code: WarningCode::CommentsNotRead, path: None, message };
            Delivery { warning: Some(warning), ..Delivery::default() }
        })
    }
}

/// The name of this worktree's session, if it has comments.
fn name_here(repo: &Repo) -> Result<Option<String>> {
    let mut branch = repo.head_target()?;
    if !branch.as_ref().is_some_and(|branch| branch.starts_with(BRANCHES)) {
        branch = repo.symbolic_ref(POINTER)?;
    }
    let Some(name) = branch.as_deref().and_then(|branch| branch.strip_prefix(BRANCHES)) else {
        return Ok(None);
    };
    if repo.has_ref(&store::comments_ref(name))? {
        return Ok(Some(name.to_owned()));
    }
    // The user may have renamed its branch.
    if repo.has_ref(&base_ref(name))? {
        return Ok(None);
    }
    Ok(Session::current(repo, &repo.head()?)?.map(|session| session.name))
}

fn of(repo: &Repo, name: &str) -> Result<Delivery> {
    let Some((_, all)) = store::read(repo, name)? else { return Ok(Delivery::default()) };
    let open = all.comments.iter().filter(|one| one.state == CommentState::Open).count() as u64;
    if open == 0 {
        return Ok(Delivery::default());
    }
    let unread: Vec<&StoredComment> = all.comments.iter().filter(|one| one.is_unread()).collect();
    let mut delivery = Delivery { session: name.to_owned(), ..Delivery::default() };
    let mut comments =
        OpenComments { open, unread: Vec::new(), summaries: Vec::new(), left_out: 0, hint: HINT };
    if !unread.is_empty() {
        // The command may have ended it.
        let session = ShownSession::named(repo, name)?.map(|shown| shown.session);
        let mut places = session.as_ref().map(|session| Places::of(repo, session));
        let (mut bytes, mut reviews) = (0, BTreeSet::new());
        for one in &unread {
            let Some(shown) = places.as_mut().map(|places| brief(places.shown(one))) else { break };
            let review = shown.review.filter(|review| !reviews.contains(review));
            let summary = all.summaries.iter().find(|one| Some(one.review) == review);
            let length = serde_json::to_string(&(&shown, summary)).map_or(0, |json| json.len());
            if bytes > 0 && bytes + length > MAX_BYTES {
                break;
            }
            bytes += length;
            reviews.extend(review);
            comments.summaries.extend(summary.cloned());
            delivery.given.push((one.id, one.said));
            comments.unread.push(shown);
        }
        comments.left_out = (unread.len() - comments.unread.len()) as u64;
    }
    delivery.comments = Some(comments);
    Ok(delivery)
}

/// The comment with a few of its lines.
fn brief(mut one: Comment) -> Comment {
    if one.quoted.len() > MAX_QUOTED {
        one.quoted.truncate(MAX_QUOTED - 1);
        one.quoted.push("…".to_owned());
    }
    one
}

impl Delivery {
    /// Comments that the answer lists: the numbers, each with how often the user had written.
    #[must_use]
    pub fn of_listed(session: &str, given: Vec<(u64, u64)>) -> Delivery {
        Delivery { session: session.to_owned(), given, ..Delivery::default() }
    }

    /// Whether it has a comment that no agent had before.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        !self.given.is_empty()
    }

    /// Notes that the agent has these comments. What the user added since stays unread. The caller
    /// holds the worktree's lock.
    ///
    /// # Errors
    /// As [`store::change`]; then the next answer has them again.
    pub fn mark_read(&self, repo: &Repo, agent: Option<&str>, now: i64) -> Result<()> {
        if self.given.is_empty() {
            return Ok(());
        }
        store::change(repo, &self.session, |all| {
            for one in &mut all.comments {
                let given = self.given.iter().find(|(id, _)| *id == one.id);
                let Some((_, said)) = given else { continue };
                one.given = one.given.max(*said);
                let reading = || Reading { agent: agent.map(kept_name), time: now };
                one.read.get_or_insert_with(reading);
            }
            Ok(())
        })
    }
}
