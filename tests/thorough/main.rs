//! Crashes, faults, power cuts, concurrency and random histories: every point with `EDT_TESTS=all`.
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

mod caseless;
mod concurrency;
mod crash;
mod faults;
mod filesystems;
mod fuse;
mod kill_matrix;
mod killed;
mod kinds;
mod leftovers;
mod other_readers;
mod ownership;
mod power;
mod private_files;
mod random_agents;
mod random_histories;
mod random_sessions;
mod rng;
#[path = "../support/test_repo.rs"]
mod test_repo;
mod tree_merges;

/// Each call of edt is a process.
const IN_PROCESS: bool = false;
