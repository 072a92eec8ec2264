//! Running a program confined: [`start`] it at a [level](crate::base::Level), watch it, end it with everything that it started.
//!
//! edt starts *itself* as a supervisor (`/proc/self/exe __sandbox`, [`child`]), which confines itself, starts the program as its own
//! child and is the reaper of all that the program leaves behind. So nothing has to run between `fork` and `exec`, and what ends
//! everything does not depend on what the program does to groups, sessions or its environment.
//!
//! ```text
//! edt ─ socket ─ supervisor ─ the program ─ what it starts
//!                │ namespaces, mounts          (its main thread is outside Landlock and seccomp,
//!                └ a thread: capabilities, Landlock, seccomp, then the start     the program cannot reach it)
//! ```
//!
//! The socket is the lifeline: when edt is gone, killed or not, the supervisor ends everything. A level is had whole or not at all
//! ([`NotStarted::Unavailable`]). `docs/sandbox.md` has what each level holds.

mod bubblewrap;
pub mod child;
mod confine;
mod layout;
mod limits;
mod mounts;
mod privileges;
mod running;
mod seccomp;
mod secrets;
mod spaces;
mod start;
mod supervise;
mod tree;
mod wire;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::base::Level;

pub use limits::{Limit, Limits};
pub use running::{Ended, How, Running};
pub use secrets::withheld;
pub use start::start;

/// What is to run, and within which bounds.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How closely it is confined.
    pub level: Level,
    /// The program: an absolute path, which is also its `argv[0]`.
    pub program: PathBuf,
    /// The arguments after that.
    pub args: Vec<OsString>,
    /// The folder it starts in.
    pub dir: PathBuf,
    /// Its whole environment. At standard and strict, [`withheld`] names what of it the program does not get.
    pub env: Vec<(OsString, OsString)>,
    /// The worktree: an absolute path without links.
    pub root: PathBuf,
    /// `.git` (file or folder), the Git folder, the common folder, edt's state: readable only.
    pub git: Vec<PathBuf>,
    /// Further folders that may be written, where a person allows it. Those that do not exist are passed over.
    pub writable: Vec<PathBuf>,
    /// Files and folders that must not be read, beside the built-in list.
    pub secrets: Vec<PathBuf>,
    /// What it may use.
    pub limits: Limits,
    /// Who makes the namespaces.
    pub means: Means,
    /// The program edt, which supervises.
    pub edt: PathBuf,
}

impl Plan {
    /// `program` without arguments or environment, in `root`, with the limits of `level`.
    #[must_use]
    pub fn new(level: Level, program: &Path, root: &Path) -> Plan {
        Plan {
            level,
            program: program.to_owned(),
            args: Vec::new(),
            dir: root.to_owned(),
            env: Vec::new(),
            root: root.to_owned(),
            git: Vec::new(),
            writable: Vec::new(),
            secrets: Vec::new(),
            limits: Limits::of(level),
            means: Means::Any,
            edt: "/proc/self/exe".into(),
        }
    }
}

/// Who makes the namespaces. All but the first are for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// For [`Level::Strict`] bubblewrap if it is installed, else edt.
    Any,
    /// edt.
    Own,
    /// Bubblewrap.
    Bubblewrap,
    /// edt, as on kernels before 6.12, whose Landlock does not hold signals: [`Level::Standard`] then has a namespace of processes.
    OwnWithoutSignals,
}

/// Why a program did not start. Nothing of it ran.
#[derive(Debug)]
pub enum NotStarted {
    /// The level cannot be had here.
    Unavailable {
        /// The level asked for.
        level: Level,
        /// What the system said, and what would help: whole sentences.
        why: String,
    },
    /// The program itself could not be executed.
    Program(io::Error),
    /// Something else failed.
    System(io::Error),
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> NotStarted {
        NotStarted::System(error)
    }
}

impl From<rustix::io::Errno> for NotStarted {
    fn from(error: rustix::io::Errno) -> NotStarted {
        NotStarted::System(error.into())
    }
}
