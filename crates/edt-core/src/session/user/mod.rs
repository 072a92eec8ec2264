//! Whose bytes are whose: the user's uncommitted changes and commits, and those of edits.

pub mod edit_change;
pub mod edit_places;
pub mod hunks;
pub mod identity;
pub mod left_over;
pub mod ownership;
mod path_findings;
pub mod path_state;
pub mod removed_lines;
pub mod user_changes;
pub mod user_commits;
