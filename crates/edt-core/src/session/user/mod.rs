//! Whose bytes are whose: the user's uncommitted changes and commits, and those of edits.

pub mod edit_change;
pub mod edit_places;
pub mod followed;
pub mod hunks;
pub mod identity;
pub mod left_over;
pub mod ownership;
pub mod removed_lines;
pub mod unwind;
pub mod user_changes;
pub mod user_commits;
