//! Calls of edt, answered by the program's own code in the process of the test: arguments, files and
//! variables in, JSON out, with real `git` as the judge.
//!
//! Plain `cargo test` runs it. A table in `tests/README.md` says which modules test which sources.
#![expect(clippy::disallowed_methods, reason = "tests start programs")]
#![allow(missing_docs, reason = "a test is a sentence")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test may panic and say why"
)]
#![allow(
    clippy::needless_for_each,
    clippy::format_collect,
    clippy::needless_pass_by_value,
    reason = "tests are read, not tuned"
)]

mod anchors;
mod attribution;
mod checkpoints;
mod codes;
mod commands;
mod comments;
mod concurrent_changes;
mod contract;
mod corrections;
mod display;
mod documentation;
mod ended_sessions;
mod first_calls;
mod guards;
mod guide;
mod hints;
mod import_circles;
mod incidents;
mod input_errors;
mod interface;
mod landing;
mod landing_only;
mod long_calls;
mod manifests;
mod memory;
mod named_paths;
mod ownership;
mod patch_limit;
mod planted_git_dirs;
mod policy_command;
mod policy_file;
mod private_store;
mod proposals;
mod read;
mod reftable;
mod refusals;
mod repositories;
mod repository_kinds;
mod revert;
mod revert_part;
#[cfg(feature = "review")]
mod review;
#[cfg(feature = "review")]
mod review_server;
#[cfg(feature = "tui")]
mod review_terminal;
mod rewritten_history;
#[path = "../support/screen.rs"]
mod screen;
mod search;
mod session_moves;
mod session_views;
mod sessions;
mod source_rules;
mod stats;
mod symbols;
#[path = "../support/test_repo.rs"]
mod test_repo;
mod tightening;
mod turns;

/// Calls of edt are answered in this process, unless they need one of their own.
const IN_PROCESS: bool = true;
