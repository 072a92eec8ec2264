//! Git as edt needs it: the only place that names `gix`.
//!
//! Reading goes through `gix`. Writing is edt's own where `gix` would lose something: loose objects (it skips what "exists"),
//! the index (it drops versions and extensions).

mod cache_tree;
pub mod commit_hooks;
pub mod commit_programs;
pub mod convert;
pub mod diff;
pub mod draft;
pub mod driver;
mod encoding;
mod environment;
mod eol;
pub mod files;
pub mod identity;
pub mod index;
mod index_extensions;
mod index_foreign;
mod keyword;
pub mod merge;
pub mod objects;
pub mod opened;
mod pkt_line;
pub mod read;
pub mod reflog;
pub mod refs;
pub mod repo;
mod status;
pub mod swap;
mod tree;
pub mod worktrees;

pub use convert::{Attributes, Forms};
pub use diff::Item;
pub use draft::{Commit, Draft, Folders, TreeChange};
pub use merge::Merged;
pub use objects::Loose;
pub use repo::{FileId, FileMode, Head, InHead, Repo, Tracked};
pub use swap::Swap;
pub use worktrees::Worktree;

use crate::base::{Code, Finding, Result};

/// A Git object id, SHA-1 or SHA-256.
pub type Oid = gix::ObjectId;

/// The moment that `text` names as Git writes dates, in seconds since 1970; a day alone is its beginning in UTC.
#[must_use]
pub fn moment(text: &str) -> Option<i64> {
    gix::date::parse(text, None).ok().map(|time| time.seconds)
}

/// The SHA-256 of `bytes` as `sha256sum` prints it, whatever the repository's own ids are.
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

/// A failure of `gix` in one line, with its causes.
fn causes(error: &gix::Error) -> String {
    let all: Vec<String> = error.iter_errors().map(ToString::to_string).collect();
    all.join(": ")
}
