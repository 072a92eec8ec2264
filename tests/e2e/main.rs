//! The program `edt` from outside, with real `git` in scratch repositories.
//!
//! `EDT_TESTS` names the tier; `quick`, the default, compiles the first few modules only. A table
//! in `tests/README.md` says which modules test which sources.
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

mod codes;
mod commands;
mod documentation;
mod ownership;
mod session_views;
mod source_rules;
#[path = "../support/test_repo.rs"]
mod test_repo;
mod transcripts;

// The tiers `ci` and `all`: `EDT_TESTS=ci cargo test`.
#[cfg(tier_ci)]
mod agent_hooks;
#[cfg(tier_ci)]
mod agent_limits;
#[cfg(tier_ci)]
mod agent_setup;
mod anchors;
#[cfg(tier_ci)]
mod checkpoints;
#[cfg(tier_ci)]
mod clients;
#[cfg(tier_ci)]
mod concurrent_changes;
#[cfg(tier_ci)]
mod confined_repo;
#[cfg(tier_ci)]
mod content_limits;
#[cfg(tier_ci)]
mod contract;
#[cfg(tier_ci)]
mod corrections;
#[cfg(tier_ci)]
mod display;
#[cfg(tier_ci)]
mod doctor;
#[cfg(tier_ci)]
mod durability;
#[cfg(tier_ci)]
mod executed_files;
#[cfg(tier_ci)]
mod file_types;
#[cfg(tier_ci)]
mod guards;
#[cfg(tier_ci)]
mod guide;
#[cfg(tier_ci)]
mod hints;
#[cfg(tier_ci)]
mod hook_install;
#[cfg(tier_ci)]
mod hook_managers;
#[cfg(tier_ci)]
mod hook_table;
#[cfg(tier_ci)]
mod hooks;
#[cfg(tier_ci)]
mod incidents;
#[cfg(tier_ci)]
mod input_errors;
#[cfg(tier_ci)]
mod landing;
#[cfg(tier_ci)]
mod later_execution;
#[cfg(tier_ci)]
mod mcp;
#[cfg(tier_ci)]
mod memory;
#[cfg(tier_ci)]
mod patch_limit;
#[cfg(tier_ci)]
mod paths;
#[cfg(tier_ci)]
mod policy_command;
#[cfg(tier_ci)]
mod policy_file;
#[cfg(tier_ci)]
mod private_store;
mod proposals;
#[cfg(tier_ci)]
mod read;
#[cfg(tier_ci)]
mod reftable;
#[cfg(tier_ci)]
mod repositories;
#[cfg(tier_ci)]
mod repository_kinds;
#[cfg(tier_ci)]
mod repository_limits;
#[cfg(tier_ci)]
mod repository_programs;
#[cfg(tier_ci)]
mod revert;
#[cfg(tier_ci)]
mod run;
#[cfg(tier_ci)]
mod sandbox;
#[cfg(tier_ci)]
mod sandbox_escapes;
#[cfg(tier_ci)]
mod search;
#[cfg(tier_ci)]
mod secret_places;
#[cfg(tier_ci)]
mod session_moves;
#[cfg(tier_ci)]
mod sessions;
#[cfg(tier_ci)]
mod signed_approvals;
#[cfg(tier_ci)]
mod started_programs;
#[cfg(tier_ci)]
mod stats;
mod symbols;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(tier_ci)]
mod tightening;
#[cfg(tier_ci)]
mod trust;
#[cfg(tier_ci)]
mod untrusted_config;
#[cfg(tier_ci)]
mod validators;
