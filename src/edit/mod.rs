//! What an edit is and where it goes: pure functions on bytes.
//!
//! Every form of an edit comes to the same splices: modes ([`op`]), line numbers ([`range`]), and the hunks ([`hunk`]) of every patch
//! format ([`format`]), which [`place`] finds their one place for. [`stage`] applies edits one after another; [`near`] and [`mend`]
//! say what a refused one may have meant.

mod align;
mod anchor;
pub mod diff;
pub mod format;
pub mod hunk;
pub mod indent;
pub mod locate;
pub mod mend;
pub mod near;
pub mod op;
pub mod place;
pub mod range;
mod seat;
pub mod splice;
pub mod stage;
pub mod table;

pub use op::{Edit, Expect, LineRange, Mode, Op};
