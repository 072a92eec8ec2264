//! Git as edt needs it: the only place that names `gix`.
//!
//! Reading goes through `gix`. Writing is edt's own where `gix` would lose something: loose objects (it skips what "exists"),
//! the index (it drops versions and extensions).

mod cache_tree;
pub mod convert;
pub mod diff;
pub mod draft;
pub mod identity;
pub mod index;
mod index_extensions;
pub mod objects;
pub mod read;
pub mod refs;
pub mod repo;
pub mod swap;
mod tree;

pub use draft::{Commit, Draft, Folders, TreeChange};
pub use objects::Loose;
pub use repo::{FileId, FileMode, Head, InHead, Repo, Tracked};
pub use swap::Swap;

/// A Git object id, SHA-1 or SHA-256.
pub type Oid = gix::ObjectId;

/// A failure of `gix` in one line, with its causes.
fn causes(error: &gix::Error) -> String {
    let all: Vec<String> = error.iter_errors().map(ToString::to_string).collect();
    all.join(": ")
}
