//! Undo, redo, revert, restore and abandon: edits are taken off the branch and the files.

pub mod abandon;
pub mod followed;
pub mod restore;
pub mod revert;
pub mod rewrite;
pub mod saved;
pub mod undo;
pub mod unwind;
