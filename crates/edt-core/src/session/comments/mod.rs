//! The user's comments about a session.

pub use edt_types::{Comment, CommentAnswer, CommentState, Reading, ReviewSummary};
