//! Files that Git ignored, which no commit may contain.

pub mod hidden;
pub mod not_kept;
pub mod private_list;
pub mod uncovered;
