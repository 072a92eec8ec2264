//! The commit of an edit on a session's tip, with its trailers, its private record and its entry in
//! the session's record: of `edt apply`, a program, an agent's tool, a restore or a revert.

use crate::session::refs::current::Session;
use crate::session::refs::message::{self, Kind, Trailers};
use crate::session::refs::record::{self, Step};
use crate::session::user::edit_change;
use crate::session::worktree::begin::{self, NewSession};
use edt_git::{NewCommit, ObjectWriter, Oid, Repo, TouchedTrees};
use edt_journal::entry::EntryMove;
use edt_journal::{ChangeSet, FileChange, IndexView, PrivateFile, PrivateRecord};
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
    pub(crate) agent: Option<String>,
    pub(crate) allowed: Vec<String>,
    /// Further trailers.
    pub(crate) more: &'e [(&'static str, String)],
    /// The bytes that the commit does not have.
    pub(crate) private: Vec<PrivateFile>,
}

/// An edit whose commit is written. No ref names it.
pub(crate) struct WrittenEdit<'e> {
    session: &'e Session,
    number: u64,
    pub(crate) commit: Oid,
    private: Option<PrivateRecord>,
}

/// What an edit changes besides the branch.
#[derive(Default)]
pub(crate) struct EditParts {
    pub(crate) files: Vec<FileChange>,
    pub(crate) index: Option<(IndexView, Vec<EntryMove>)>,
    pub(crate) touched_trees: TouchedTrees,
    /// Further refs to create.
    pub(crate) create: Vec<(String, Oid)>,
}

impl<'e> EditCommit<'e> {
    /// Writes the commit.
    ///
    /// # Errors
    /// `INTERNAL`; `BAD_REQUEST` if the configured identity is invalid.
    pub(crate) fn write(self, writer: &mut ObjectWriter<'_>) -> Result<WrittenEdit<'e>> {
        let EditCommit { session, trees: (from, to), kind, number, agent, allowed, .. } = self;
        let name = session.name.clone();
        let private =
            PrivateRecord::of_edit(writer.repo(), &name, (session.tip, to), self.private)?;
        let id = private.as_ref().map(|record| record.name.clone());
        let trailers = Trailers { session: name, kind, edit: number, agent, allowed, private: id };
        let more = self.more.iter().map(|(key, value)| format!("{key}: {value}\n"));
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
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `IO_ERROR`; `BAD_REQUEST` if the configured identity is invalid.
    pub(crate) fn change(
        self,
        repo: &Repo,
        writer: &ObjectWriter<'_>,
        begun: Option<NewSession>,
        log: String,
        parts: EditParts,
    ) -> Result<ChangeSet> {
        let WrittenEdit { session, number, commit, private } = self;
        let EditParts { files, index, touched_trees, create: more } = parts;
        let (branch, mut create) = begin::branch(session, begun, commit, log);
        create.extend(more);
        let objects = writer.loose_objects();
        let change = ChangeSet {
            objects,
            create,
            files,
            index,
            touched_trees,
            private,
            ..ChangeSet::of(branch)
        };
        record::append(repo, session, change, Step::Edit(number))
    }
}
