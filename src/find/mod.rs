//! Searches the worktree: for files ([`select`]), and for lines in them ([`lines`]).

mod ignore_files;
pub(crate) mod lines;
pub(crate) mod select;

pub(crate) use lines::{SearchLimits, SearchQuery, SearchResult};
pub(crate) use select::Selection;
