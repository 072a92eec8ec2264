//! Git access for edt. No other crate uses `gix` directly.
//!
//! Reading goes through `gix`. edt writes itself where `gix` would lose something: loose objects
//! (`gix` skips those that exist already) and the index (`gix` drops versions and extensions). It
//! reads refs in tables itself, because `gix` reads only files.

pub mod blame;
mod cache_tree;
pub mod commit_candidate;
pub mod commit_hooks;
pub mod commit_programs;
mod configured;
mod confined_filter;
pub mod confinement;
pub mod convert;
mod convert_scan;
pub mod deflate;
mod delete_refs;
pub mod diff;
pub mod driver;
mod encoding;
mod environment;
mod eol;
pub mod file_id;
pub mod files;
pub mod head;
pub mod identity;
mod ignore_rules;
pub mod index;
mod index_extensions;
mod index_foreign;
mod keyword;
mod loose;
pub mod merge;
pub mod object_writer;
pub mod objects;
pub mod opened;
mod operation;
mod own_locks;
mod pkt_line;
pub mod planted;
mod private_git_dir;
pub mod read;
pub mod reflog;
pub mod refs;
mod reftable;
pub mod renames;
pub mod repo;
mod repository_view;
mod settings;
mod staged;
pub mod status;
mod supported;
pub mod swap;
mod tree;
pub mod trust;
mod walk;
mod worktree_links;
pub mod worktrees;

pub use convert::{Attributes, Forms};
pub use deflate::Loose;
pub use file_id::{FileId, FileMode, Tracked, TreeItem};
pub use head::{Head, InHead};
pub use ignore_rules::IgnoreRules;
pub use merge::Merged;
pub use object_writer::{NewCommit, ObjectWriter, TouchedTrees, TreeChange};
pub use refs::is_per_worktree;
pub use reftable::{HeldRefs, NewLogEntry, RefUpdate, is_copied};
pub use renames::{ChangedPath, RenamedFrom};
pub use repo::Repo;
pub use repository_view::RepositoryView;
pub use supported::common_dir_at;
pub use swap::{HeadLock, RefSwap};
pub use worktree_links::WorktreeLink;
pub use worktrees::Worktree;

use edt_types::{Code, Finding, Result};

/// A Git object id, SHA-1 or SHA-256.
pub type Oid = gix::ObjectId;

/// Parses a date as Git accepts it, into seconds since 1970. A day without a time is its start in
/// UTC.
#[must_use]
pub fn parse_date(text: &str) -> Option<i64> {
    gix::date::parse(text, None).ok().map(|time| time.seconds)
}

/// The SHA-256 of `bytes` as `sha256sum` prints it, whatever hash the repository uses.
///
/// # Errors
/// `INTERNAL` if it cannot be computed.
pub fn sha256(bytes: &[u8]) -> Result<String> {
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    hasher.update(bytes);
    let sum = hasher.try_finalize().map_err(|error| {
        Finding::new(
            Code::Internal,
            format!("Could not compute a SHA-256: {error}."),
            "Report this message.",
        )
    })?;
    Ok(sum.to_string())
}

/// An error of `gix` with its causes, in one line.
fn causes(error: &gix::Error) -> String {
    let all: Vec<String> = error.iter_errors().map(ToString::to_string).collect();
    all.join(": ")
}
