//! The benchmark: tasks, agents as programs, strategies side by side, and a report that says how sure it is.
//!
//! ```text
//! plan      suites × strategies × arms × sessions, cut into units; a shard is every n-th of them
//! unit      one process of edt's own with a home of its own: nothing that it does reaches the next
//! task      a scratch repository: priors → attempt → judge → improve, at most five times
//! record    one JSON line a unit, on the medium before the next is begun
//! report    from the lines alone: the same lines are the same report, wherever they were made
//! ```
//!
//! `docs/bench.md` tells how to write a task and an agent.

pub mod chain;
pub mod check;
mod confined;
pub mod executor;
pub mod ground;
mod harm;
pub mod import;
pub mod judge;
pub mod kept;
pub mod memory;
pub mod plan;
pub mod protocol;
pub mod record;
mod region;
pub mod report;
pub mod runner;
pub mod scene;
pub mod seed;
pub mod shipped;
pub mod store;
pub mod strategy;
pub mod suite;
mod tally;
pub mod task;

pub use plan::{Plan, Unit};
pub use suite::Suite;
pub use task::Task;
