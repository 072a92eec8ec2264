//! The benchmark: tasks, agents as programs or models, strategies side by side, and a report with
//! confidence intervals.
//!
//! ```text
//! plan      suites × strategies × guards on/off × sessions, split into units;
//!           a shard is every n-th unit
//! unit      one worker process with its own home directory; no unit affects another
//! task      a scratch repository: lessons → attempt → judge → next attempt, at most five times
//! result    one JSON line per unit, on stable storage before the next unit begins
//! report    from these lines alone: the same lines give the same report on every machine
//! ```
//!
//! `docs/dev/bench.md` explains how to write tasks and agents.

pub mod agent_tools;
pub mod check;
pub mod cli;
mod confined;
mod counters;
pub mod episode_store;
mod evaluation;
pub mod executor;
mod guard_harm;
pub mod import;
pub mod judge;
mod judge_spec;
mod learned;
pub mod lessons;
pub mod plan;
pub mod protocol;
mod refusal_lessons;
mod region;
pub mod report;
pub mod results;
pub mod results_dir;
pub mod rng;
pub mod runner;
pub mod scratch_repo;
pub mod shipped;
pub mod strategy;
pub mod suite;
pub mod task;
mod teacher;
pub mod unit;

pub use plan::{RunPlan, Unit};
pub use suite::Suite;
pub use task::Task;
