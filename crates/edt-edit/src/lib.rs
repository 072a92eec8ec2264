//! Edits and where they apply: functions on bytes, without I/O. Only [`suggest`] and
//! [`symbol`] read the clock, to bound their time.
//!
//! Every kind of edit is reduced to the same splices: the modes ([`op`]), edits by line number
//! ([`range`]), and the hunks ([`hunk`]) of every patch format ([`format`]). [`place`] finds the
//! unique place of each hunk. [`stage`] applies edits one after another. [`near`] and [`suggest`]
//! describe what a refused edit probably meant. [`symbol`] changes definitions by their names.

mod align;
pub mod alike;
mod anchor;
pub mod context;
pub mod diff;
mod flow;
pub mod format;
pub mod hunk;
pub mod indent;
pub mod line_anchor;
pub mod locate;
pub mod mode;
pub mod near;
mod noise;
pub mod op;
pub mod place;
pub mod place_error;
mod placement;
pub mod range;
mod reading;
mod rename;
pub mod splice;
pub mod stage;
pub mod suggest;
mod suggest_edit;
pub mod symbol;
pub mod symbol_error;
pub mod table;
mod votes;

pub use mode::Mode;
pub use op::{Edit, Expect, LineRange, Op};
