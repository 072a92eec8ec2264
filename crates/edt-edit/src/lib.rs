//! Edits and where they apply: functions on bytes, without I/O. Only [`suggest`] reads the clock, to
//! bound its time.
//!
//! Every kind of edit is reduced to the same splices: the modes ([`op`]), edits by line number
//! ([`range`]), and the hunks ([`hunk`]) of every patch format ([`format`]). [`place`] finds the
//! unique place of each hunk. [`stage`] applies edits one after another. [`near`] and [`suggest`]
//! describe what a refused edit probably meant.

mod align;
mod anchor;
pub mod diff;
pub mod format;
pub mod hunk;
pub mod indent;
pub mod locate;
pub mod near;
pub mod op;
pub mod place;
pub mod place_error;
mod placement;
pub mod range;
pub mod splice;
pub mod stage;
pub mod suggest;
pub mod table;

pub use op::{Edit, Expect, LineRange, Mode, Op};
