//! What an edit is and where it goes: pure functions on bytes.

pub mod diff;
pub mod locate;
pub mod near;
pub mod op;
pub mod splice;

pub use op::{Edit, Expect, Mode, Op};
