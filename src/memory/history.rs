//! Snapshots: commits of the memory that were given a name.

use schemars::JsonSchema;
use serde::Serialize;

use super::Memory;
use super::store::not_found;
use crate::base::{Code, Finding, Result};
use crate::git::Oid;
use crate::git::read::ObjectKind;
use crate::journal::Journal;

/// The trailer that names a snapshot.
const SNAPSHOT: &str = "Edt-Snapshot: ";

/// A commit of the memory that was given a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// The commit, as a hex object id.
    pub commit: String,
    /// When it was taken, in seconds since 1970.
    pub taken: i64,
}

/// Every snapshot that the newest commit comes from, the newest first.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn snapshots(memory: &Memory<'_>) -> Result<Vec<Snapshot>> {
    let mut out = Vec::new();
    let mut next = memory.tip()?;
    // Only our own line: a memory that was taken in names its own. A shallow history ends where it ends.
    while let Some(oid) = next
        && let Ok(bytes) = memory.repo().object(oid, ObjectKind::Commit)
    {
        let text = String::from_utf8_lossy(&bytes);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        next = head
            .lines()
            .find_map(|line| Oid::from_hex(line.strip_prefix("parent ")?.as_bytes()).ok());
        if let Some(name) = message.lines().rev().find_map(|line| line.strip_prefix(SNAPSHOT)) {
            let committer =
                head.lines().find_map(|line| line.strip_prefix("committer ")).unwrap_or_default();
            let taken = committer
                .rsplit(' ')
                .nth(1)
                .and_then(|seconds| seconds.parse().ok())
                .unwrap_or_default();
            out.push(Snapshot { name: name.to_owned(), commit: oid.to_string(), taken });
        }
    }
    Ok(out)
}

/// Names the present state `name`.
///
/// # Errors
/// `BAD_REQUEST` if the name is taken or cannot be one; `EPISODE_NOT_FOUND` if nothing was ever remembered; as [`Memory::record`].
pub fn snapshot(memory: &Memory<'_>, journal: &mut Journal, name: &str) -> Result<Oid> {
    let tip = memory.tip()?.ok_or_else(nothing)?;
    if name.is_empty()
        || name.len() > 100
        || name.chars().any(char::is_control)
        || name.trim() != name
    {
        let message = format!("{name:?} is no name for a snapshot. Nothing was changed.");
        return Err(Finding::new(
            Code::BadRequest,
            message,
            "Give a name of 1 to 100 characters on one line.",
        )
        .into());
    }
    if let Some(taken) = snapshots(memory)?.into_iter().find(|one| one.name == name) {
        let message =
            format!("There is a snapshot {name:?} already: {}. Nothing was changed.", taken.commit);
        return Err(Finding::new(Code::BadRequest, message, "Give another name.").into());
    }
    memory.lock()?.set(journal, &format!("snapshot: {name}\n\n{SNAPSHOT}{name}\n"), tip)
}

/// Makes the memory what it was at the snapshot `name`, or at the commit of its history that `name` names, as a new commit: what was
/// remembered since stays in the history.
///
/// # Errors
/// `EPISODE_NOT_FOUND` if there is neither; as [`Memory::record`].
pub fn restore(memory: &Memory<'_>, journal: &mut Journal, name: &str) -> Result<Oid> {
    let tip = memory.tip()?.ok_or_else(nothing)?;
    let named = snapshots(memory)?.into_iter().find(|one| one.name == name);
    let source = match named {
        Some(snapshot) => Oid::from_hex(snapshot.commit.as_bytes()).ok(),
        None => memory.repo().commit_named(name).ok(),
    };
    let source = match source {
        Some(source) if memory.repo().is_ancestor(source, tip)? => source,
        _ => {
            let finding = not_found(name);
            let message = format!(
                "There is no snapshot {name:?}, and no commit of the memory that it names. Nothing was changed."
            );
            return Err(Finding {
                message,
                hint: "`edt memory snapshot` lists the snapshots.".to_owned(),
                ..finding
            }
            .into());
        }
    };
    memory.lock()?.set(journal, &format!("restore: {name}\n\nAs it was at {source}.\n"), source)
}

fn nothing() -> Finding {
    let message = "Nothing is remembered in this repository yet. Nothing was changed.";
    Finding::new(
        Code::EpisodeNotFound,
        message,
        "`edt memory add` writes a lesson of yours down; refusals come by themselves.",
    )
}
