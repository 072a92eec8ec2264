//! What a file was before one of its edits.

use super::current::Session;
use crate::base::{Code, Finding, RepoPath, Result};
use crate::git::{FileId, Repo, Tracked};

/// The file at `path` before its latest edit (`revision` 0), the one before (1), and so on; `None` if there was none.
///
/// # Errors
/// `NOTHING_TO_UNDO` if the session has not so many edits of it; `OBJECT_MISSING`.
pub fn before(
    repo: &Repo,
    session: &Session,
    path: &RepoPath,
    revision: u64,
) -> Result<Option<FileId>> {
    let file_in = |commit| -> Result<Option<FileId>> {
        Ok(match repo.tracked(repo.tree_of(commit)?, path)? {
            Tracked::File(file) => Some(file),
            _ => None,
        })
    };
    let mut seen = 0;
    for commit in session.commits(repo) {
        let commit = commit?;
        let edit = commit.trailers.as_ref().is_none_or(|trailers| trailers.kind.is_edit());
        let (Some(parent), true) = (commit.parent, edit) else { continue };
        let (before, after) = (file_in(parent)?, file_in(commit.oid)?);
        if before == after {
            continue;
        }
        if seen == revision {
            return Ok(before);
        }
        seen += 1;
    }
    Err(Finding::new(
        Code::NothingToUndo,
        format!("The session {} holds {seen} edits of {path}; revision {revision} does not exist.", session.name),
        format!(
            "Revisions count from 0, the state before the latest edit. `git log edt/{} -- {}` lists them.",
            session.name,
            path.quoted()
        ),
    )
    .at(path)
    .with("edits", seen)
    .into())
}
