//! How a program ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ResourceLimit;

/// How a program ended. None of its processes is running, except those counted in
/// [`left`](SandboxOutcome::left).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxOutcome {
    pub how: Termination,
    /// The limit for which everything was killed.
    pub limit: Option<ResourceLimit>,
    /// Processor time of all reaped processes.
    pub cpu: Duration,
    /// Peak memory of one process, in bytes.
    pub max_rss: u64,
    /// The number of processes that could not be killed: they belong to another user (`sudo`) or
    /// are blocked in the kernel.
    pub left: u32,
}

impl SandboxOutcome {
    /// The outcome of a program whose end was not observed.
    #[must_use]
    pub fn unknown() -> SandboxOutcome {
        SandboxOutcome {
            how: Termination::Lost,
            limit: None,
            cpu: Duration::ZERO,
            max_rss: 0,
            left: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Termination {
    /// It exited with this status.
    Exit(i32),
    /// This signal ended it; 9 if edt killed it.
    Signal(i32),
    /// Its supervisor was killed, so its status is unknown. All processes were killed.
    Lost,
}
