//! Runs a program in a sandbox: [`start`] it at a [level](edt_types::Level), watch it, and kill it
//! with all processes that it started.
//!
//! edt starts *itself* as a supervisor (`/proc/self/exe __sandbox`, [`child`]). The supervisor
//! confines itself, starts the program as its child, and is the reaper of all orphans of the
//! program. So no code has to run between `fork` and `exec`. Killing everything does not depend on
//! process groups, sessions or the environment, which the program can change.
//!
//! ```text
//! edt ─ socket ─ supervisor ─ the program ─ what it starts
//!                │ namespaces, mounts          (its main thread is outside Landlock and seccomp,
//!                └ a thread: capabilities, Landlock, seccomp, then the start     the program cannot reach it)
//! ```
//!
//! When the socket closes because edt exited or was killed, the supervisor kills everything. A
//! level is applied completely or not at all ([`StartError::Unavailable`]). `docs/guide/sandbox.md`
//! lists what each level restricts. On other systems than Linux no level is available.

pub(crate) mod asked_names;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
pub mod child;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod layout;
mod limits;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod os_bytes;
mod outcome;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod recorded;
#[cfg(target_os = "linux")]
mod reexec;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is hidden there"))]
mod secrets;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod wire;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use edt_types::Level;

pub use asked_names::NameQuestions;
pub use limits::{ResourceLimit, ResourceLimits};
pub use outcome::{SandboxOutcome, Termination};
pub use secrets::VariableRules;
#[cfg(target_os = "linux")]
pub use {recorded::outer_level, running::RunningProgram, start::start};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{RunningProgram, child, outer_level, start};

/// Whether this system has any of the levels: programs are confined on Linux alone.
pub const IS_SUPPORTED: bool = cfg!(target_os = "linux");

/// A program to run and its restrictions.
#[derive(Debug, Clone)]
pub struct SandboxPlan {
    pub level: Level,
    /// The program's absolute path, which is also its `argv[0]`.
    pub program: PathBuf,
    /// The arguments after `argv[0]`.
    pub args: Vec<OsString>,
    /// The working directory.
    pub dir: PathBuf,
    /// The environment. At standard and strict the program gets those variables alone that pass.
    pub env: Vec<(OsString, OsString)>,
    /// Which variables pass.
    pub variables: VariableRules,
    /// The worktree: an absolute path without symbolic links.
    pub root: PathBuf,
    /// `.git` (file or directory), the Git directory, the common directory, edt's state: read-only.
    pub git: Vec<PathBuf>,
    /// Other files and directories below the worktree that are read-only. Missing ones and links
    /// are left out.
    pub read_only: Vec<PathBuf>,
    /// Further writable directories from the user's configuration. Missing ones are ignored.
    pub writable: Vec<PathBuf>,
    /// Paths of home directories that stay visible, from the user's configuration.
    pub readable: Vec<PathBuf>,
    /// Directories that programs may read where their neighbours are hidden.
    pub shown: Vec<PathBuf>,
    /// Files and directories that must not be readable, in addition to the built-in list.
    pub secrets: Vec<PathBuf>,
    pub limits: ResourceLimits,
    pub backend: NamespaceBackend,
    /// How to record what the program changes below the root.
    pub recorded: Option<RecordPlan>,
    /// The edt executable, which supervises.
    pub edt: PathBuf,
}

/// How a program is recorded.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// An empty directory, for the log and what is kept.
    pub store: PathBuf,
    /// Who says which names the program may make; `None`: every name.
    pub names: Option<NameQuestions>,
}

impl SandboxPlan {
    /// `program` without arguments or environment, in `root`, with the limits of `level`.
    #[must_use]
    pub fn new(level: Level, program: &Path, root: &Path) -> SandboxPlan {
        SandboxPlan {
            level,
            program: program.to_owned(),
            args: Vec::new(),
            dir: root.to_owned(),
            env: Vec::new(),
            variables: VariableRules::default(),
            root: root.to_owned(),
            git: Vec::new(),
            read_only: Vec::new(),
            writable: Vec::new(),
            readable: Vec::new(),
            shown: Vec::new(),
            secrets: Vec::new(),
            limits: ResourceLimits::of(level),
            backend: NamespaceBackend::Any,
            recorded: None,
            edt: "/proc/self/exe".into(),
        }
    }
}

/// What creates the namespaces. All variants but the first are for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceBackend {
    /// Bubblewrap for [`Level::Strict`] if it is installed, else edt.
    Any,
    Own,
    Bubblewrap,
    /// edt, as on kernels before 6.12, whose Landlock cannot restrict signals. [`Level::Standard`]
    /// then has a PID namespace.
    OwnWithoutSignals,
}

/// Why a program did not start. None of its code ran.
#[derive(Debug)]
pub enum StartError {
    /// This system does not support the level.
    Unavailable {
        level: Level,
        /// The system's error and what would help, in full sentences.
        why: String,
    },
    /// The program could not be executed.
    Program(io::Error),
    /// Another system call failed.
    System(io::Error),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> StartError {
        StartError::System(error)
    }
}

impl From<rustix::io::Errno> for StartError {
    fn from(error: rustix::io::Errno) -> StartError {
        StartError::System(error.into())
    }
}
