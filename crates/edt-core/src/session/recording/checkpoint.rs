//! Commits the user's uncommitted changes: on the session's branch where the user requests it, or at
//! a ref that keeps a version which a command overwrites.

use std::collections::BTreeSet;

use crate::session::files::path_state::PathState;
use crate::session::refs::current::Session;
use crate::session::refs::message::{self, Kind, Trailers};
use crate::session::user::ownership::{self, Version};
use edt_git::index::IndexState;
use edt_git::{ChangedPath, FileId, NewCommit, ObjectWriter, Oid, TreeChange};
use edt_types::{RepoPath, Result};

/// The session's tip and tree after the user's changes were committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoints {
    /// The commit to build on.
    pub tip: Oid,
    /// Its tree.
    pub tree: Oid,
    /// The commits made, oldest first.
    pub commits: Vec<Oid>,
}

/// Why a checkpoint is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointReason<'a> {
    /// A command with `--save` overwrites the user's version.
    Saved,
    /// The caller requested it, with or without a message. The numbers are those of edits that the
    /// uncommitted changes include.
    Requested(Option<&'a str>, &'a BTreeSet<u64>),
}

/// The user's version of a file.
#[derive(Debug, Clone)]
pub struct UserVersion {
    pub path: RepoPath,
    /// The file in the session's tip.
    pub tip: Option<FileId>,
    /// Staged content that is neither in the tip nor on disk.
    pub staged: Option<FileId>,
    /// The file on disk.
    pub disk: Option<Version>,
}

impl UserVersion {
    /// The version on disk and in the index.
    #[must_use]
    pub fn of(state: &PathState) -> UserVersion {
        let staged = match state.staged {
            IndexState::File(file) if state.has_unique_staged() => Some(file),
            _ => None,
        };
        let disk = Version::on_disk(state);
        UserVersion { path: state.path.clone(), tip: state.tip, staged, disk }
    }
}

impl Checkpoints {
    /// Writes up to two commits on the session's tip, whose tree is `tree`: first the staged
    /// content of `files` that exists nowhere else, then the content on disk.
    ///
    /// # Errors
    /// `OBJECT_MISSING`, `INTERNAL`.
    pub fn write(
        writer: &mut ObjectWriter<'_>,
        session: &Session,
        tree: Oid,
        edit: u64,
        files: Vec<UserVersion>,
        reason: CheckpointReason<'_>,
    ) -> Result<Checkpoints> {
        let mut checkpoints = Checkpoints { tip: session.tip, tree, commits: Vec::new() };
        let change = |path: &RepoPath, file| TreeChange { path: path.clone(), file };
        let staged: Vec<TreeChange> = files
            .iter()
            .filter(|one| one.staged.is_some())
            .map(|one| change(&one.path, one.staged))
            .collect();
        checkpoints.record(writer, session, edit, ("staged", reason), &staged)?;
        let mut on_disk = Vec::new();
        for UserVersion { path, tip, staged, disk } in files {
            let file = disk.as_ref().map(|version| version.file);
            if file != staged.or(tip) {
                ownership::write(writer, disk);
                on_disk.push(change(&path, file));
            }
        }
        checkpoints.record(writer, session, edit, ("uncommitted", reason), &on_disk)?;
        Ok(checkpoints)
    }

    fn record(
        &mut self,
        writer: &mut ObjectWriter<'_>,
        session: &Session,
        edit: u64,
        (what, reason): (&str, CheckpointReason<'_>),
        changes: &[TreeChange],
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let (tree, _) = writer.write_tree(self.tree, changes)?;
        let kind = match reason {
            CheckpointReason::Saved => Kind::Saved,
            CheckpointReason::Requested(..) => Kind::Checkpoint,
        };
        let label = kind.name();
        let read = |oid| writer.blob_content(oid);
        let changed = writer.repo().with_renames(writer.tree_diff(self.tree, tree)?, read)?;
        let subject = match (reason, changed.as_slice()) {
            (CheckpointReason::Requested(Some(text), _), _) => text.to_owned(),
            (_, [ChangedPath { path, from: Some(from), .. }]) => {
                format!("{label}: {what} changes of {} => {path}", from.path)
            }
            (_, [one]) => format!("{label}: {what} changes of {}", one.path),
            (_, many) => format!("{label}: {what} changes of {} files", many.len()),
        };
        let trailers = Trailers::plain(&session.name, kind, edit);
        let mut message = message::compose(&subject, &trailers);
        if let CheckpointReason::Requested(_, includes) = reason {
            message.extend(includes.iter().map(|edit| {
                format!(
                    "Edt-Includes: {edit}
"
                )
            }));
        }
        let commit =
            writer.write_commit(&NewCommit { tree, parent: Some(self.tip), message: &message })?;
        self.commits.push(commit);
        (self.tip, self.tree) = (commit, tree);
        Ok(())
    }
}
