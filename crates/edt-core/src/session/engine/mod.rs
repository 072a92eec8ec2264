//! The engine: one value says what a command changes, and one function makes the change.
//!
//! A command is planned by a function that reads and writes nothing; its answer is a [`Change`].
//! [`apply`] adds the entry of the session's record and what the private store keeps, and installs
//! everything through the journal. A dry run is a plan that is not applied.
//! `docs/design/atomicity.md` says what an interruption leaves.

pub mod apply;
pub mod change;
pub mod path_change;

pub use crate::session::refs::moves::{RefMove, RefMoves};
pub use apply::{Applied, apply};
pub use change::{Change, HeadMove};
pub use path_change::{PathChange, WorktreeChange};
