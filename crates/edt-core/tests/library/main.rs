//! The library without a process: requests, guards and patches in scratch repositories.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    clippy::disallowed_methods,
    reason = "tests are read, not tuned"
)]

mod embedding;
mod environment;
mod formats;
mod guards;
mod pages;
mod patch_incidents;
mod patch_placing;
mod patches;
mod policy;
mod repo;
mod samples;
