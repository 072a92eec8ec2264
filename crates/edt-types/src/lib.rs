//! The types that every other crate of edt shares: codes, paths, texts, findings and answers.
//!
//! This crate reads no file and no clock, and starts no process.

pub mod answer;
pub mod code;
mod code_page;
pub mod comment;
pub mod credential;
mod dry_run;
mod durability;
pub mod evidence;
pub mod excerpt;
pub mod finding;
mod level;
pub mod path;
pub mod pointer;
pub mod secret_names;
mod status;
pub mod text;
pub mod trace;
pub mod unseen;
mod warning;

#[doc(hidden)]
pub use tracing;

pub use answer::{
    FileChangeKind, FileReport, GuardReport, Landing, MatchedBy, Outcome, RecordedIn, Recovered,
    SessionReport, UserChanges, Verdict,
};
pub use code::Code;
pub use code_page::code_page;
pub use comment::{Comment, CommentAnswer, CommentState, OpenComments, Reading, ReviewSummary};
pub use dry_run::DryRun;
pub use durability::Durability;
pub use finding::{Effect, Finding, Refusal, Result};
pub use level::Level;
pub use path::RepoPath;
pub use status::Status;
pub use warning::{Warning, WarningCode};
