//! The words every other layer speaks: codes, paths, texts, findings, answers.
//!
//! Imports nothing of the crate. Pure: no disk, no clock, no processes.

pub mod answer;
pub mod code;
mod durability;
pub mod excerpt;
pub mod finding;
mod level;
pub mod path;
pub mod text;

pub use answer::{
    Change, FileReport, GuardReport, MatchedBy, Outcome, SessionReport, Settled, Status, Verdict,
};
pub use code::Code;
pub use durability::Durability;
pub use finding::{Finding, Findings, Result, Warning};
pub use level::Level;
pub use path::RepoPath;
