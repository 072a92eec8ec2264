//! Adds the user's comments to what a hook answers, where the agent's model reads it.

use std::path::PathBuf;
use std::time::Duration;

use super::Protocol;
use super::event::{HookEvent, HookMessage};
use super::judge::JudgeCall;
use super::shell;
use edt_core::session::LockedWorkspace;
use edt_core::session::comments::OpenComments;
use edt_core::session::comments::delivery::{CommentedSession, Delivery};
use edt_core::session::worktree::options::Options;
use edt_git::Repo;
use edt_io::{Environment, clock};
use edt_types::Result;

/// Longest wait for the worktree's lock, to note that comments were given.
const MARK_WAIT: Duration = Duration::from_secs(1);

/// Comments that an answer has.
#[derive(Debug)]
#[must_use = "call `printed` once the answer was printed"]
pub struct AddedComments {
    root: PathBuf,
    options: Options,
    agent: &'static str,
    delivery: Delivery,
}

/// Adds the comments that no answer had yet to `message`. Only an answer that lets the agent go on
/// gets them.
#[must_use]
pub fn with_comments(
    message: HookMessage,
    event: &HookEvent,
    protocol: &Protocol,
    call: &JudgeCall<'_>,
) -> (HookMessage, Option<AddedComments>) {
    let goes_on =
        matches!(message, HookMessage::Silent | HookMessage::Info(_) | HookMessage::Objection(_));
    if !goes_on || !(protocol.adds_context)(event.point) {
        return (message, None);
    }
    let Some((text, added)) = unread(event, call) else { return (message, None) };
    let joined = |first: String| format!("{first}\n\n{text}");
    let message = match message {
        HookMessage::Info(first) => HookMessage::Info(joined(first)),
        HookMessage::Objection(first) => HookMessage::Objection(joined(first)),
        _ => HookMessage::Info(text),
    };
    (message, Some(added))
}

fn unread(event: &HookEvent, call: &JudgeCall<'_>) -> Option<(String, AddedComments)> {
    let cwd =
        event.cwd.as_deref().map_or_else(|| call.start.to_owned(), |cwd| call.start.join(cwd));
    let root = shell::root(&cwd).ok()??;
    let repo = Repo::open_worktree(Environment::Process, &root).ok()?;
    let commented = CommentedSession::here(&repo);
    let delivery = commented.delivery(|| Ok(repo));
    let comments = delivery.comments.as_ref().filter(|_| delivery.has_unread());
    let text = comments.map(OpenComments::text)?.trim_end().to_owned();
    let mut options = call.options.clone();
    options.lock_wait = MARK_WAIT;
    Some((text, AddedComments { root, options, agent: call.agent, delivery }))
}

impl AddedComments {
    /// Notes that the agent has them.
    ///
    /// # Errors
    /// `SESSION_BUSY`, `IO_ERROR` and others of writing: then the next answer has them again.
    pub fn printed(self) -> Result<()> {
        let workspace = LockedWorkspace::at(&self.root, self.options)?;
        self.delivery.mark_read(&workspace.repo, Some(self.agent), clock::seconds())
    }
}
