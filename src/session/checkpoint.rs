//! Recording what a person left unrecorded in the touched paths, before edt changes them.

use super::current::Session;
use super::look::Look;
use super::message::{self, Kind, Trailers};
use crate::base::Result;
use crate::git::index::Staged;
use crate::git::{Commit, Draft, FileId, Oid, TreeChange};

/// The session's tip and tree once what was unrecorded is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    /// The tip to build on.
    pub tip: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The commits made, oldest first.
    pub made: Vec<Oid>,
}

/// How the subject of a checkpoint of what was staged begins.
pub const STAGED: &str = "checkpoint: staged changes";

/// Why a checkpoint is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why<'a> {
    /// An operation is about to change what changed behind edt's back.
    Foreign,
    /// Someone asked for it, with a message or without.
    Asked(Option<&'a str>),
    /// A program that `edt run` started made the changes.
    Run(&'a Ran),
    /// A tool of an agent's own made them.
    Edited(&'a Ran),
}

/// What a run, or an edit of an agent's own tool, is recorded with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Subject and body.
    pub message: String,
    /// Who asked for it.
    pub agent: Option<String>,
}

impl Checkpoints {
    /// Drafts up to two commits on the session's tip, whose tree is `tree`, for `looks`: what was staged and stands nowhere else, then what stands on disk.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn draft(
        draft: &mut Draft<'_>,
        session: &Session,
        tree: Oid,
        edit: u64,
        looks: &[&Look],
        why: Why<'_>,
    ) -> Result<Checkpoints> {
        let mut state = Checkpoints { tip: session.tip, tree, made: Vec::new() };
        // The very bytes of a file that Git converts stand in no commit; settling a crash may need them.
        let mut converted = looks.iter().filter_map(|look| look.disk.as_ref()?.stored.as_ref());
        converted.try_for_each(|stored| draft.blob(&stored.disk).map(drop))?;
        let staged = looks.iter().filter_map(|look| match look.staged {
            Staged::File(file) if look.is_staged_apart() => Some((*look, Some(file))),
            _ => None,
        });
        let staged: Vec<(&Look, Option<FileId>)> = staged.collect();
        state.record(draft, session, edit, ("staged", why), &staged)?;
        let held = |look: &Look| {
            staged.iter().find(|(one, _)| one.path == look.path).map_or(look.tip, |(_, file)| *file)
        };
        let mut on_disk = Vec::new();
        for look in looks.iter().filter(|look| look.disk_file() != held(look)) {
            if let Some(disk) = &look.disk {
                draft.blob(disk.blob())?;
            }
            on_disk.push((*look, look.disk_file()));
        }
        state.record(draft, session, edit, ("unrecorded", why), &on_disk)?;
        Ok(state)
    }

    fn record(
        &mut self,
        draft: &mut Draft<'_>,
        session: &Session,
        edit: u64,
        (what, why): (&str, Why<'_>),
        files: &[(&Look, Option<FileId>)],
    ) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let changes: Vec<TreeChange> = files
            .iter()
            .map(|(look, file)| TreeChange { path: look.path.clone(), file: *file })
            .collect();
        let (tree, _) = draft.tree(self.tree, &changes)?;
        let subject = match (why, changes.as_slice()) {
            (Why::Asked(Some(text)), _) => text.to_owned(),
            (_, [one]) => format!("checkpoint: {what} changes of {}", one.path),
            (_, many) => format!("checkpoint: {what} changes of {} files", many.len()),
        };
        let plain = Trailers::plain(&session.name, Kind::Checkpoint, edit);
        let (subject, trailers) = match why {
            Why::Run(ran) | Why::Edited(ran) if what != "staged" => {
                let kind = if matches!(why, Why::Run(_)) { Kind::Run } else { Kind::Edit };
                let trailers = Trailers { kind, edit: edit + 1, agent: ran.agent.clone(), ..plain };
                (ran.message.clone(), trailers)
            }
            _ => (subject, Trailers { foreign: why == Why::Foreign, ..plain }),
        };
        let message = message::compose(&subject, &trailers);
        let commit = draft.commit(&Commit { tree, parent: Some(self.tip), message: &message })?;
        self.made.push(commit);
        (self.tip, self.tree) = (commit, tree);
        Ok(())
    }
}
