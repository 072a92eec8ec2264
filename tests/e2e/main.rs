//! The program `edt` from outside: what only a process and real `git` can show.
//!
//! Plain `cargo test` leaves it out: `cargo test --test e2e`. A table in `tests/README.md` says which
//! modules test which sources.
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

mod acp;
mod agent_hooks;
mod agent_limits;
mod agent_setup;
mod approved_runs;
#[cfg(feature = "review")]
mod browser;
mod clients;
mod confined_repo;
mod content_limits;
mod doctor;
mod durability;
mod examples;
mod executed_files;
mod file_types;
mod hook_install;
mod hook_managers;
mod hook_table;
mod hooks;
#[cfg(feature = "review")]
#[path = "../support/large_session.rs"]
mod large_session;
mod later_execution;
mod mcp;
#[cfg(feature = "metrics")]
mod metrics;
mod output;
mod paths;
mod recorded_runs;
mod repository_limits;
mod repository_programs;
mod run;
mod sandbox;
mod sandbox_escapes;
mod secret_places;
mod signed_approvals;
mod started_programs;
#[cfg(feature = "otel")]
mod telemetry;
#[path = "../support/test_repo.rs"]
mod test_repo;
mod trust;
mod untrusted_config;
mod validators;

/// Each call of edt is a process.
const IN_PROCESS: bool = false;
