//! What a program may use.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::base::Level;

/// What a program and everything it starts may use; `None` is as much as there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of its own: for one process by the kernel, for all together by the supervisor, which looks twenty times a second.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at one time.
    pub processes: Option<u64>,
    /// Processor time of all together.
    pub cpu: Option<Duration>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// The longest file that can be written.
    pub file_bytes: Option<u64>,
    /// Room in temporary folders that are in memory: `/tmp` at strict, `/dev/shm`.
    pub temporary_bytes: Option<u64>,
}

/// A limit that a program was ended for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Limits::memory_bytes`].
    Memory,
    /// [`Limits::processes`].
    Processes,
    /// [`Limits::cpu`].
    Cpu,
}

const GIB: u64 = 1 << 30;

impl Limits {
    /// The limits of a level.
    #[must_use]
    pub fn of(level: Level) -> Limits {
        let loose = Limits {
            memory_bytes: None,
            processes: None,
            cpu: None,
            open_files: Some(65_536),
            file_bytes: None,
            temporary_bytes: Some(GIB),
        };
        match level {
            Level::Permissive | Level::Standard => loose,
            Level::Strict => Limits {
                memory_bytes: Some(4 * GIB),
                processes: Some(1024),
                cpu: Some(Duration::from_secs(3600)),
                file_bytes: Some(4 * GIB),
                ..loose
            },
        }
    }

    /// Whether the supervisor must look at what is used from time to time.
    pub(super) fn watched(&self) -> bool {
        self.memory_bytes.is_some() || self.processes.is_some() || self.cpu.is_some()
    }

    /// Sets for this process, and what it starts, what the kernel limits for each process alone.
    pub(super) fn apply(&self) -> rustix::io::Result<()> {
        lower(Resource::Core, 0)?;
        if let Some(files) = self.open_files {
            let had = getrlimit(Resource::Nofile);
            let soft = had.current.map_or(files, |had| had.min(files));
            let hard = had.maximum.map_or(files, |had| had.min(files));
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
            let had = getrlimit(Resource::Cpu).maximum.unwrap_or(u64::MAX);
            // First a signal that can be caught, then one that cannot.
            let (soft, hard) = (seconds.min(had), seconds.saturating_add(2).min(had));
            setrlimit(Resource::Cpu, Rlimit { current: Some(soft), maximum: Some(hard) })?;
        }
        Ok(())
    }

    /// Limits the processes of this user, which are all in a namespace of their own. For root it means nothing.
    pub(super) fn apply_to_user(&self) -> rustix::io::Result<()> {
        self.processes.map_or(Ok(()), |processes| lower(Resource::Nproc, processes))
    }
}

fn lower(resource: Resource, to: u64) -> rustix::io::Result<()> {
    let had = getrlimit(resource);
    let to = had.maximum.map_or(to, |had| had.min(to));
    setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })
}
