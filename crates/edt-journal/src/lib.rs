//! Installs a change atomically, and recovers an interrupted one. `docs/design/atomicity.md`
//! explains the order of the steps.
//!
//! [`publish`] takes everything that a transaction changes (objects, files, index entries, refs)
//! and commits it at one instant: the compare-and-swap of the session's branch. Before that, one
//! record on stable storage describes the change. The next call rolls back a crash before that
//! instant and finishes a crash after it ([`recover`]).

mod change_set;
mod decision;
mod deletion;
mod durable;
mod entries;
pub mod entry;
pub mod files;
pub mod index;
mod index_file;
pub mod journal;
pub mod lost;
pub mod peek;
pub mod pointers;
pub mod private;
pub mod publish;
pub mod record;
pub mod recover;
pub mod refusals;
pub mod rollback;

pub use change_set::{ChangeSet, RefUpdate};
pub use deletion::delete_refs;
pub use files::{FileChange, NewFile, OldFile};
pub use index::IndexView;
pub use journal::Journal;
pub use pointers::{BranchOrigin, BranchUpdate};
pub use private::{PrivateBytes, PrivateFile, PrivateRecord};
pub use publish::{move_ref, publish};
pub use recover::open_recovered;

#[cfg(test)]
mod tests;
