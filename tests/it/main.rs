//! What edt promises, checked from outside with real `git` in scratch repositories.
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

mod agent_hooks;
mod agent_setup;
mod bad_input;
mod bench;
mod bench_import;
mod bench_llm;
mod cage;
mod checkpoints;
mod clients;
mod codes;
mod commands;
mod crash;
mod crowds;
mod day;
mod dice;
mod doctor;
mod durability;
mod escapes;
mod faults;
mod finding;
mod formats;
mod grammars;
mod guards;
mod guide;
mod hook_install;
mod hook_managers;
mod hook_table;
mod hooks;
mod hostile_config;
mod hostile_content;
mod hostile_disk;
mod hostile_paths;
mod incidents;
mod kinds;
mod landing;
mod layers;
mod mcp;
mod memory;
mod patch_incidents;
mod patch_review;
mod placing;
mod power;
mod printing;
mod proposals;
mod readers;
mod reading;
mod repositories;
mod restart;
mod review;
mod runs;
mod sandbox;
mod sessions;
mod stats;
mod stories;
mod streak;
mod telemetry;
mod torture;
mod transcripts;
mod trees;
mod trust;
mod validators;
mod world;
