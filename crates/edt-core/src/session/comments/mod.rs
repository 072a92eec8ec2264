//! The user's comments about a session: a blob with JSON at `refs/edt/<name>/comments`.
//!
//! `store` reads and changes it, `write` makes the changes of each command, `shown` finds where the
//! lines are now, and `delivery` gives comments to agents.

pub mod delivery;
pub mod lines;
mod place;
pub mod shown;
pub mod store;
#[cfg(test)]
mod tests;
pub mod write;

pub use edt_types::{Comment, CommentAnswer, CommentState, OpenComments, Reading, ReviewSummary};
