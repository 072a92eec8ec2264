//! Undo, redo, revert, restore and abandon: edits are taken off the branch and the files.

pub mod abandon;
pub mod chosen_lines;
pub mod part;
pub mod restore;
pub mod revert;
pub mod rewrite;
pub mod saved;
mod target;
pub mod undo;
