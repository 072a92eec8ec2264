//! Installs a change atomically, and recovers an interrupted one. `docs/design/atomicity.md`
//! explains the order of the steps.
//!
//! [`publish`] takes everything that a transaction changes (objects, files, index entries, refs)
//! and commits it at one instant: the compare-and-swap of the session's branch. Before that, one
//! synced journal record describes the change. The next call rolls back a crash before that instant
//! and finishes a crash after it ([`recover`]).

mod beside;
mod cut;
pub mod entry;
pub mod files;
mod frame;
mod given_up;
pub mod index;
mod index_backup;
mod index_file;
pub mod log;
pub mod lost;
mod new_session;
mod open_mark;
mod path_history;
pub mod peek;
pub mod pointers;
pub mod private;
pub mod publish;
pub mod record;
pub mod recover;
mod recovery_steps;
mod restart;
mod restart_index;
mod restart_refs;
pub mod rollback;
pub mod sweep;

pub use files::{FileChange, NewFile, OldFile};
pub use index::IndexView;
pub use log::Journal;
pub use pointers::{BranchOrigin, BranchUpdate};
pub use private::{PrivateBytes, PrivateFile, PrivateRecord};
pub use publish::{ChangeSet, publish};
pub use recover::open_recovered;

#[cfg(test)]
mod tests;
