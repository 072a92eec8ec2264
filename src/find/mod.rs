//! Finding things in the worktree: which files ([`select`]), and which of their lines ([`lines`]). Nothing is changed.

pub mod lines;
mod put_aside;
pub mod select;

pub use lines::{Found, Limits, Query};
pub use select::{Selected, Selection};
