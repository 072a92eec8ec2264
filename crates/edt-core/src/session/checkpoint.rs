//! Records unrecorded changes of the affected paths before edt changes those paths.

use super::current::Session;
use super::message::{self, Kind, Trailers};
use super::path_state::PathState;
use edt_git::index::IndexState;
use edt_git::{FileId, NewCommit, ObjectWriter, Oid, TreeChange};
use edt_types::Result;

/// The session's tip and tree after unrecorded changes were recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    /// The commit to build on.
    pub tip: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The commits made, oldest first.
    pub commits: Vec<Oid>,
}

/// The start of the subject of a checkpoint of staged content.
pub const STAGED: &str = "checkpoint: staged changes";

/// Why a checkpoint is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointReason<'a> {
    /// An operation is about to overwrite changes that were not made through edt.
    Foreign,
    /// The caller requested it, with or without a message.
    Requested(Option<&'a str>),
    /// A program started by `edt run` made the changes.
    Program(&'a CommitInfo),
    /// An agent's own editing tool made the changes.
    AgentTool(&'a CommitInfo),
}

/// Message and author of the commit for a program's or a tool's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Subject and body.
    pub message: String,
    /// The agent that asked for it.
    pub agent: Option<String>,
}

impl Checkpoints {
    /// Writes up to two commits on the session's tip, whose tree is `tree`: first the staged
    /// content of `states` that exists nowhere else, then the content on disk.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn write(
        writer: &mut ObjectWriter<'_>,
        session: &Session,
        tree: Oid,
        edit: u64,
        states: &[&PathState],
        reason: CheckpointReason<'_>,
    ) -> Result<Checkpoints> {
        let mut checkpoints = Checkpoints { tip: session.tip, tree, commits: Vec::new() };
        // No commit has the exact bytes of a file that Git converts. Crash recovery may need them.
        let mut converted = states.iter().filter_map(|state| state.disk.as_ref()?.stored.as_ref());
        converted.try_for_each(|stored| writer.write_blob(&stored.disk).map(drop))?;
        let staged = states.iter().filter_map(|state| match state.staged {
            IndexState::File(file) if state.has_unique_staged() => Some((*state, Some(file))),
            _ => None,
        });
        let staged: Vec<(&PathState, Option<FileId>)> = staged.collect();
        checkpoints.record(writer, session, edit, ("staged", reason), &staged)?;
        let recorded_file = |state: &PathState| {
            staged
                .iter()
                .find(|(staged, _)| staged.path == state.path)
                .map_or(state.tip, |(_, file)| *file)
        };
        let mut on_disk = Vec::new();
        for state in states.iter().filter(|state| state.disk_file() != recorded_file(state)) {
            if let Some(disk) = &state.disk {
                writer.write_blob(disk.blob())?;
            }
            on_disk.push((*state, state.disk_file()));
        }
        checkpoints.record(writer, session, edit, ("unrecorded", reason), &on_disk)?;
        Ok(checkpoints)
    }

    fn record(
        &mut self,
        writer: &mut ObjectWriter<'_>,
        session: &Session,
        edit: u64,
        (what, reason): (&str, CheckpointReason<'_>),
        files: &[(&PathState, Option<FileId>)],
    ) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let changes: Vec<TreeChange> = files
            .iter()
            .map(|(state, file)| TreeChange { path: state.path.clone(), file: *file })
            .collect();
        let (tree, _) = writer.write_tree(self.tree, &changes)?;
        let subject = match (reason, changes.as_slice()) {
            (CheckpointReason::Requested(Some(text)), _) => text.to_owned(),
            (_, [change]) => format!("checkpoint: {what} changes of {}", change.path),
            (_, many) => format!("checkpoint: {what} changes of {} files", many.len()),
        };
        let plain = Trailers::plain(&session.name, Kind::Checkpoint, edit);
        let (subject, trailers) = match reason {
            CheckpointReason::Program(ran) | CheckpointReason::AgentTool(ran)
                if what != "staged" =>
            {
                let kind = if matches!(reason, CheckpointReason::Program(_)) {
                    Kind::Run
                } else {
                    Kind::Edit
                };
                let trailers = Trailers { kind, edit: edit + 1, agent: ran.agent.clone(), ..plain };
                (ran.message.clone(), trailers)
            }
            _ => (subject, Trailers { foreign: reason == CheckpointReason::Foreign, ..plain }),
        };
        let message = message::compose(&subject, &trailers);
        let commit =
            writer.write_commit(&NewCommit { tree, parent: Some(self.tip), message: &message })?;
        self.commits.push(commit);
        (self.tip, self.tree) = (commit, tree);
        Ok(())
    }
}
