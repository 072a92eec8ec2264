//! Lands a session on the branch that it began from, and undoes a landing.

pub mod commits;
mod consent;
pub mod git_landing;
pub(crate) mod hook_files;
pub mod land;
mod landed_commits;
pub(crate) mod left_by_user;
pub mod list;
pub mod options;
pub(crate) mod part;
mod part_numbers;
pub mod plan;
mod reorder;
pub(crate) mod review;
pub mod target;
pub mod unland;
