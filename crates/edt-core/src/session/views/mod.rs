//! What a reader sees of a session.

pub mod base;
pub mod diff_report;
pub mod file_diff;
pub mod log;
pub mod refused;
pub mod stats;
pub mod status;
