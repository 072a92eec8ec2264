//! How a change becomes true, and how an interrupted one is settled. `docs/design/atomicity.md` tells why each step is where it is.
//!
//! [`publish`] takes everything a transaction changes (objects, files, index entries, refs) and makes it true at one instant: the
//! compare-and-swap of the session's branch. Before it, one synced journal record says what is meant. A crash before that
//! instant is taken back, a crash after it is finished, by the next call ([`recover`]).

pub mod files;
pub mod index;
pub mod log;
pub mod pointers;
pub mod publish;
pub mod put_back;
pub mod record;
pub mod recover;
mod restart;
mod restart_index;
mod spare;

pub use files::{FileChange, NewFile, OldFile};
pub use index::IndexView;
pub use log::Journal;
pub use pointers::{Branch, From};
pub use publish::{Change, publish};
pub use recover::{POINTER, open_settled};
