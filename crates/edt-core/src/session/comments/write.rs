//! What the user and the agent do with comments. The caller holds the worktree's lock.

use super::place;
use super::store::{self, StoredComment, StoredComments};
use crate::session::refs::current::Session;
use edt_git::Repo;
use edt_types::comment::{CommentAnswer, CommentState, Reading, ReviewSummary};
use edt_types::text;
use edt_types::{Code, Finding, Result};

pub use super::place::CommentPlace;

/// The longest text, in bytes.
pub const MAX_TEXT: usize = 8 * 1024;

/// The longest answers of agents together, in bytes of JSON: half of what comments may have, so that
/// the user has the other half.
pub const MAX_ANSWERS: usize = store::MAX_WRITTEN / 2;
/// How many characters of an agent's name are kept.
const MAX_NAME: usize = 100;

/// The name of an agent, as far as it is kept.
pub(super) fn kept_name(name: &str) -> String {
    text::cut(name, MAX_NAME)
}

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    User,
    /// An agent, by the name that its program says.
    Agent(String),
}

/// Adds a draft, which only the user sees. Returns its number.
///
/// # Errors
/// As [`place::find`]; `BAD_REQUEST` for an empty text; as [`store::change`].
pub fn add(
    repo: &Repo,
    session: &Session,
    place: &CommentPlace,
    text: &str,
    now: i64,
) -> Result<u64> {
    check_text(text)?;
    let quoted = place::find(repo, session, place)?;
    store::change(repo, &session.name, |all| {
        all.last += 1;
        all.comments.push(StoredComment {
            id: all.last,
            edit: place.edit,
            path: place.path.clone(),
            lines: place.lines,
            before: place.before,
            quoted: quoted.lines.clone(),
            anchor: quoted.anchor.clone(),
            text: text.to_owned(),
            time: now,
            state: CommentState::Draft,
            review: None,
            read: None,
            said: 0,
            given: 0,
            answers: Vec::new(),
        });
        Ok(all.last)
    })
}

/// Sends all drafts as one review. Returns the numbers of its comments.
///
/// # Errors
/// `COMMENT_NOT_FOUND` without a draft; `BAD_REQUEST` for an empty summary; as [`store::change`].
pub fn send(repo: &Repo, session: &str, summary: Option<&str>, now: i64) -> Result<Vec<u64>> {
    summary.map(check_text).transpose()?;
    store::change(repo, session, |all| {
        let review = all.reviews + 1;
        let mut sent = Vec::new();
        for one in all.comments.iter_mut().filter(|one| one.state == CommentState::Draft) {
            (one.state, one.review, one.said) = (CommentState::Open, Some(review), 1);
            sent.push(one.id);
        }
        if sent.is_empty() {
            return Err(no_draft().into());
        }
        all.reviews = review;
        let text = summary.map(str::to_owned);
        all.summaries.extend(text.map(|text| ReviewSummary { review, text, time: now }));
        Ok(sent)
    })
}

/// Adds an answer to a comment that was sent. The user's makes it unread again, and open.
///
/// # Errors
/// `COMMENT_NOT_FOUND`; `BAD_REQUEST` for an empty text; `FILE_TOO_LARGE` if the agents' answers
/// have more than [`MAX_ANSWERS`]; as [`store::change`].
pub fn answer(
    repo: &Repo,
    session: &str,
    id: u64,
    (writer, text): (&Writer, &str),
    now: i64,
) -> Result<()> {
    check_text(text)?;
    store::change(repo, session, |all| {
        let one = sent(all, session, id)?;
        let agent = match writer {
            Writer::User => {
                (one.state, one.said) = (CommentState::Open, one.said + 1);
                None
            }
            Writer::Agent(name) => {
                let name = kept_name(name);
                // Whoever answers has read it.
                one.given = one.said;
                let reading = || Reading { agent: Some(name.clone()), time: now };
                one.read.get_or_insert_with(reading);
                Some(name.clone())
            }
        };
        one.answers.push(CommentAnswer { agent, text: text.to_owned(), time: now });
        let all = all.comments.iter().flat_map(|one| &one.answers);
        let bytes = all
            .filter(|one| one.agent.is_some())
            .map(|one| serde_json::to_string(one).map_or(0, |json| json.len()))
            .sum();
        if *writer != Writer::User && bytes > MAX_ANSWERS {
            return Err(too_many_answers(bytes).into());
        }
        Ok(())
    })
}

/// Says that a comment is done. A second time changes nothing.
///
/// # Errors
/// `COMMENT_NOT_FOUND`; as [`store::change`].
pub fn resolve(repo: &Repo, session: &str, id: u64) -> Result<()> {
    store::change(repo, session, |all| {
        sent(all, session, id)?.state = CommentState::Resolved;
        Ok(())
    })
}

/// Opens a resolved comment again, so that an agent reads it again.
///
/// # Errors
/// `COMMENT_NOT_FOUND`; as [`store::change`].
pub fn reopen(repo: &Repo, session: &str, id: u64) -> Result<()> {
    store::change(repo, session, |all| {
        let one = sent(all, session, id)?;
        if one.state == CommentState::Resolved {
            (one.state, one.said) = (CommentState::Open, one.said + 1);
        }
        Ok(())
    })
}

/// Deletes a draft. Its number is not used again.
///
/// # Errors
/// `COMMENT_NOT_FOUND` if there is none; `BAD_REQUEST` if it was sent; as [`store::change`].
pub fn delete(repo: &Repo, session: &str, id: u64) -> Result<()> {
    store::change(repo, session, |all| {
        let found = all.comments.iter().position(|one| one.id == id);
        let at = found.ok_or_else(|| no_such_draft(session, id))?;
        if all.comments[at].state != CommentState::Draft {
            return Err(was_sent(id).into());
        }
        all.comments.remove(at);
        Ok(())
    })
}

/// The comment of that number, if it was sent.
fn sent<'c>(all: &'c mut StoredComments, session: &str, id: u64) -> Result<&'c mut StoredComment> {
    let is_it = |one: &&mut StoredComment| one.id == id && one.state != CommentState::Draft;
    all.comments.iter_mut().find(is_it).ok_or_else(|| not_found(session, id).into())
}

fn check_text(text: &str) -> Result<()> {
    let finding = if text.trim().is_empty() {
        Finding::new(Code::BadRequest, "The text is empty.", "Write it with -m TEXT.")
    } else if text.len() > MAX_TEXT {
        Finding::new(
            Code::FileTooLarge,
            format!("The text has {} bytes; the limit is {MAX_TEXT}.", text.len()),
            "Write several comments, or commit the text to a file and name it.",
        )
        .with("bytes", text.len())
        .with("limit", MAX_TEXT)
    } else {
        return Ok(());
    };
    Err(finding.nothing_changed().into())
}

fn not_found(session: &str, id: u64) -> Finding {
    Finding::new(
        Code::CommentNotFound,
        format!("The session {session} has no comment {id} that was sent."),
        "`edt comment list --all` lists the comments with their numbers.",
    )
    .nothing_changed()
}

fn no_such_draft(session: &str, id: u64) -> Finding {
    Finding::new(
        Code::CommentNotFound,
        format!("The session {session} has no draft {id}."),
        "`edt comment list` lists your drafts with their numbers.",
    )
    .nothing_changed()
}

fn too_many_answers(bytes: usize) -> Finding {
    Finding::new(
        Code::FileTooLarge,
        format!(
            "The agents' answers of the session would have {bytes} bytes; the limit is \
             {MAX_ANSWERS}."
        ),
        "Make the change that the comment asks for. `edt comment resolve ID` says that it is done.",
    )
    .nothing_changed()
    .with("bytes", bytes)
    .with("limit", MAX_ANSWERS)
}

fn no_draft() -> Finding {
    Finding::new(
        Code::CommentNotFound,
        "There is no draft to send.",
        "`edt comment add -m TEXT` writes one about the session as a whole.",
    )
    .nothing_changed()
}

fn was_sent(id: u64) -> Finding {
    Finding::new(
        Code::BadRequest,
        format!("Comment {id} was sent, so that an agent may have read it."),
        format!("`edt comment resolve {id}` says that it is done."),
    )
    .nothing_changed()
}
