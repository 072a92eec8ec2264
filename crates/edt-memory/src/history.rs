//! Snapshots: named commits of the memory.

use schemars::JsonSchema;
use serde::Serialize;

use super::Memory;
use edt_git::Oid;
use edt_git::read::ObjectKind;
use edt_journal::Journal;
use edt_types::{Code, Finding, Result};

/// The trailer that names a snapshot.
const SNAPSHOT: &str = "Edt-Snapshot: ";

/// A named commit of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Snapshot {
    pub name: String,
    /// The commit, as a hex object id.
    pub commit: String,
    /// The time it was taken, in seconds since 1970.
    pub taken: i64,
}

/// Every snapshot in the history of the newest commit, newest first.
///
/// # Errors
/// `OBJECT_MISSING`.
pub fn snapshots(memory: &Memory<'_>) -> Result<Vec<Snapshot>> {
    let mut out = Vec::new();
    let mut next = memory.tip()?;
    // Follows first parents only: imported memories have their own snapshots. A shallow history
    // ends early.
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

/// Gives the current state a name.
///
/// # Errors
/// `BAD_REQUEST` if the name is taken or invalid; `EPISODE_NOT_FOUND` if the memory is empty; as
/// [`LockedMemory::record`](super::store::LockedMemory::record).
pub fn snapshot(memory: &Memory<'_>, journal: &mut Journal, name: &str) -> Result<Oid> {
    let tip = memory.tip()?.ok_or_else(empty_memory)?;
    if name.is_empty()
        || name.len() > 100
        || name.chars().any(char::is_control)
        || name.trim() != name
    {
        let summary = format!("{name:?} is not a valid name for a snapshot.");
        return Err(Finding::new(
            Code::BadRequest,
            summary,
            "Use a name of 1 to 100 characters on one line.",
        )
        .nothing_changed()
        .into());
    }
    if let Some(taken) = snapshots(memory)?.into_iter().find(|one| one.name == name) {
        let summary = format!("The snapshot {name:?} exists already: {}.", taken.commit);
        return Err(Finding::new(Code::BadRequest, summary, "Use another name.")
            .nothing_changed()
            .into());
    }
    memory.lock()?.set(journal, &format!("snapshot: {name}\n\n{SNAPSHOT}{name}\n"), tip)
}

/// Restores the memory to the snapshot `name`, or to the commit `name` in its history, as a new
/// commit. Later changes stay in the history.
///
/// # Errors
/// `EPISODE_NOT_FOUND` if there is neither; as
/// [`LockedMemory::record`](super::store::LockedMemory::record).
pub fn restore(memory: &Memory<'_>, journal: &mut Journal, name: &str) -> Result<Oid> {
    let tip = memory.tip()?.ok_or_else(empty_memory)?;
    let named = snapshots(memory)?.into_iter().find(|one| one.name == name);
    let source = match named {
        Some(snapshot) => Oid::from_hex(snapshot.commit.as_bytes()).ok(),
        None => memory.repo().commit_named(name).ok(),
    };
    let source = match source {
        Some(source) if memory.repo().is_ancestor(source, tip)? => source,
        _ => {
            let summary =
                format!("{name:?} is neither a snapshot nor a commit in the memory's history.");
            return Err(Finding::new(
                Code::EpisodeNotFound,
                summary,
                "`edt memory snapshot` lists the snapshots.",
            )
            .nothing_changed()
            .into());
        }
    };
    memory.lock()?.set(
        journal,
        &format!("restore: {name}\n\nThe tree is that of {source}.\n"),
        source,
    )
}

fn empty_memory() -> Finding {
    Finding::new(
        Code::EpisodeNotFound,
        "The memory of this repository is empty.",
        "`edt memory add` adds a lesson; refusals are added automatically.",
    )
    .nothing_changed()
}
