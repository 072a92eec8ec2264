//! The commit of an edit on a session's tip, with its trailers, its private record and its entry in
//! the session's record: of `edt apply`, a program, an agent's tool, a restore or a revert.

use crate::session::engine::{Change, WorktreeChange};
use crate::session::refs::current::Session;
use crate::session::refs::message::{self, Kind, Trailers};
use crate::session::refs::record::Step;
use crate::session::turns::Asked;
use crate::session::user::edit_change;
use crate::session::worktree::begin::{self, NewSession};
use edt_git::{NewCommit, ObjectWriter, Oid};
use edt_journal::{PrivateFile, PrivateRecord};
use edt_types::Result;

/// An edit, before its commit is written.
pub(crate) struct EditCommit<'e> {
    pub(crate) session: &'e Session,
    /// The trees before and after.
    pub(crate) trees: (Oid, Oid),
    /// Subject and body.
    pub(crate) text: &'e str,
    pub(crate) kind: Kind,
    /// The number of the edit.
    pub(crate) number: u64,
    /// The agent that the request names.
    pub(crate) agent: Option<String>,
    /// Who asks for it.
    pub(crate) asked: Asked,
    pub(crate) allowed: Vec<String>,
    /// Further trailers.
    pub(crate) more: &'e [(&'static str, String)],
    /// The bytes that the commit does not have.
    pub(crate) private: Vec<PrivateFile>,
    /// The ref that keeps the commit, if the session's branch does not get it.
    pub(crate) kept_at: Option<&'e str>,
}

/// An edit whose commit is written. No ref names it.
pub(crate) struct WrittenEdit<'e> {
    session: &'e Session,
    number: u64,
    pub(crate) commit: Oid,
    pub(crate) private: Option<PrivateRecord>,
}

impl<'e> EditCommit<'e> {
    /// Writes the commit.
    ///
    /// # Errors
    /// `INTERNAL`; `BAD_REQUEST` if the configured identity is invalid.
    pub(crate) fn write(self, writer: &mut ObjectWriter<'_>) -> Result<WrittenEdit<'e>> {
        let EditCommit { session, trees: (from, to), kind, number, agent, allowed, asked, .. } =
            self;
        let name = &session.name;
        let place = (name.as_str(), self.kept_at.unwrap_or(name));
        let private =
            PrivateRecord::of_edit(writer.repo(), place, (session.tip, to), self.private)?;
        let is_other = |caller: &String| agent.as_ref().is_some_and(|agent| agent != caller);
        let trailers = Trailers {
            caller: asked.agent.clone().filter(is_other),
            agent: agent.or(asked.agent),
            model: asked.model,
            turn: asked.turn,
            conversation: asked.conversation,
            allowed,
            private: private.as_ref().map(|record| record.name.clone()),
            ..Trailers::plain(name, kind, number)
        };
        let prompt = asked.prompt.map(|prompt| ("Edt-Prompt", prompt));
        let more = self.more.iter().cloned().chain(prompt);
        let more = more.map(|(key, value)| format!("{key}: {value}\n"));
        let message = message::compose(self.text, &trailers)
            + &edit_change::trailer(from, to)
            + &more.collect::<String>();
        let parent = Some(session.tip);
        let commit = writer.write_commit(&NewCommit { tree: to, parent, message: &message })?;
        Ok(WrittenEdit { session, number, commit, private })
    }
}

impl WrittenEdit<'_> {
    /// The change that moves the session's branch to the commit. `begun`: the session, if it begins
    /// with it. `log`: the message of the reflog.
    pub(crate) fn change(
        self,
        writer: &ObjectWriter<'_>,
        begun: Option<NewSession>,
        log: String,
        worktree: WorktreeChange,
    ) -> Change {
        let WrittenEdit { session, number, commit, private } = self;
        Change {
            objects: writer.loose_objects(),
            worktree,
            private: private.into_iter().collect(),
            entry: Some((session.clone(), Step::Edit(number))),
            ..begin::change(session, begun, commit, log)
        }
    }
}
