//! What a reader sees of a session.

pub mod base;
pub mod blame;
pub mod file_diff;
pub mod history;
pub mod log;
pub mod refusal_stats;
pub mod refused;
pub mod stats;
pub mod status;
pub mod turn;
pub mod user_reset;
pub mod user_switch;
