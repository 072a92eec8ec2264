//! Resource limits of a program.

use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use edt_types::Level;

/// Limits for a program and all processes that it starts; `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Private memory. The kernel limits each process; the supervisor limits the sum, which it
    /// checks twenty times a second.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at the same time.
    pub processes: Option<u64>,
    /// Processor time of all processes together.
    pub cpu: Option<Duration>,
    /// Open files of each process.
    pub open_files: Option<u64>,
    /// The largest file that can be written.
    pub file_bytes: Option<u64>,
    /// The size of each tmpfs: `/tmp` at strict, and `/dev/shm`.
    pub temporary_bytes: Option<u64>,
}

/// A limit for which a program was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceLimit {
    /// [`ResourceLimits::memory_bytes`].
    Memory,
    /// [`ResourceLimits::processes`].
    Processes,
    /// [`ResourceLimits::cpu`].
    Cpu,
}

const GIB: u64 = 1 << 30;

impl ResourceLimits {
    #[must_use]
    pub fn of(level: Level) -> ResourceLimits {
        let loose = ResourceLimits {
            memory_bytes: None,
            processes: None,
            cpu: None,
            open_files: Some(65_536),
            file_bytes: None,
            temporary_bytes: Some(GIB),
        };
        match level {
            Level::Permissive | Level::Standard => loose,
            Level::Strict => ResourceLimits {
                memory_bytes: Some(4 * GIB),
                processes: Some(1024),
                cpu: Some(Duration::from_secs(3600)),
                file_bytes: Some(4 * GIB),
                ..loose
            },
        }
    }

    /// The same with at most this private memory, in bytes, and this processor time.
    #[must_use]
    pub fn at_most(self, memory: Option<u64>, cpu: Option<Duration>) -> ResourceLimits {
        ResourceLimits {
            memory_bytes: self.memory_bytes.into_iter().chain(memory).min(),
            cpu: self.cpu.into_iter().chain(cpu).min(),
            ..self
        }
    }
}

#[cfg(target_os = "linux")]
impl ResourceLimits {
    /// Whether the supervisor must check resource usage periodically.
    pub(super) fn watched(&self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some() || self.cpu.is_some()
    }

    /// Sets the kernel's per-process limits for this process and its children.
    pub(super) fn apply(&self) -> rustix::io::Result<()> {
        lower(Resource::Core, 0)?;
        if let Some(files) = self.open_files {
            let limit = getrlimit(Resource::Nofile);
            let soft = limit.current.map_or(files, |current| current.min(files));
            let hard = limit.maximum.map_or(files, |maximum| maximum.min(files));
            setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum: Some(hard) })?;
        }
        if let Some(bytes) = self.memory_bytes {
            // Not the address space: Go, Node and Java reserve far more of it than they use.
            lower(Resource::Data, bytes)?;
        }
        if let Some(bytes) = self.file_bytes {
            lower(Resource::Fsize, bytes)?;
        }
        if let Some(time) = self.cpu {
            let seconds = time.as_secs().max(1);
            let maximum = getrlimit(Resource::Cpu).maximum.unwrap_or(u64::MAX);
            // First a signal that can be caught, then one that cannot.
            let (soft, hard) = (seconds.min(maximum), seconds.saturating_add(2).min(maximum));
            setrlimit(Resource::Cpu, Rlimit { current: Some(soft), maximum: Some(hard) })?;
        }
        Ok(())
    }

    /// Limits the number of processes of this user in the namespace. It has no effect on root.
    pub(super) fn apply_to_user(&self) -> rustix::io::Result<()> {
        self.processes.map_or(Ok(()), |processes| lower(Resource::Nproc, processes))
    }
}

#[cfg(target_os = "linux")]
fn lower(resource: Resource, to: u64) -> rustix::io::Result<()> {
    let to = getrlimit(resource).maximum.map_or(to, |maximum| maximum.min(to));
    setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strict_limits_memory_processes_and_time() {
        let strict = ResourceLimits {
            memory_bytes: Some(4 << 30),
            processes: Some(1024),
            cpu: Some(Duration::from_secs(3600)),
            open_files: Some(65_536),
            file_bytes: Some(4 << 30),
            temporary_bytes: Some(1 << 30),
        };
        assert_eq!(ResourceLimits::of(Level::Strict), strict);
        let loose = ResourceLimits {
            memory_bytes: None,
            processes: None,
            cpu: None,
            file_bytes: None,
            ..strict
        };
        assert_eq!(ResourceLimits::of(Level::Standard), loose);
        assert_eq!(ResourceLimits::of(Level::Permissive), loose);
    }

    #[test]
    fn a_policy_only_lowers_limits() {
        let hour = Duration::from_secs(3600);
        let strict = ResourceLimits::of(Level::Strict);
        assert_eq!(strict.at_most(Some(8 << 30), Some(2 * hour)), strict);
        let low = strict.at_most(Some(1), Some(hour / 2));
        assert_eq!((low.memory_bytes, low.cpu), (Some(1), Some(hour / 2)));
        let standard = ResourceLimits::of(Level::Standard).at_most(Some(7), None);
        assert_eq!((standard.memory_bytes, standard.cpu), (Some(7), None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_supervisor_watches_what_the_kernel_does_not_sum_up() {
        let loose = ResourceLimits::of(Level::Standard);
        assert!(!loose.watched());
        assert!(ResourceLimits { memory_bytes: Some(1), ..loose }.watched());
        assert!(ResourceLimits { processes: Some(1), ..loose }.watched());
        assert!(ResourceLimits { cpu: Some(Duration::from_secs(1)), ..loose }.watched());
        assert!(!ResourceLimits { open_files: Some(1), file_bytes: Some(1), ..loose }.watched());
    }
}
