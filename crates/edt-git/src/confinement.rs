//! Confines programs that edt starts because of a repository. The program around the library brings
//! the sandbox; without one they run as Git runs them.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use edt_io::bounded::ProcessEnd;
use edt_types::{Finding, Result};

use super::{Repo, RepositoryView};

/// A program to run in a sandbox.
#[derive(Debug)]
pub struct ConfinedProgram<'a> {
    /// Its absolute path.
    pub program: &'a Path,
    /// Its arguments, without its name.
    pub args: &'a [OsString],
    /// The worktree.
    pub root: &'a Path,
    /// What it may do there.
    pub access: WorktreeAccess,
    /// The working directory.
    pub dir: &'a Path,
    /// Which of the caller's variables it gets.
    pub variables: Variables,
    /// Further variables, which it gets in any case.
    pub env: &'a [(&'a str, OsString)],
    /// Standard input.
    pub input: &'a [u8],
    /// A directory outside the worktree that it may write.
    pub scratch: Option<&'a Path>,
    /// What it may not write in `scratch`.
    pub read_only: &'a [PathBuf],
    /// The time limit; `None`: the longest one of the policy.
    pub limit: Option<Duration>,
    /// Where standard error goes.
    pub output: ConfinedStreams,
    /// The most bytes of standard output.
    pub max_output: usize,
}

/// What a confined program may do with the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeAccess {
    /// It may read files.
    Read,
    /// It may also write files. Those that other programs execute stay read-only.
    Write,
}

/// Which variables of edt's environment a confined program gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variables {
    /// Those that pass at the level of the sandbox.
    Passing,
    /// `PATH`, `HOME` and `LANG`.
    Basic,
}

/// Whether standard error is kept by itself, or in standard output in the order of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfinedStreams {
    /// Standard error is [`ConfinedOutput::stderr`].
    Separate,
    /// Standard error is in [`ConfinedOutput::stdout`].
    Joined,
}

/// What a confined program did.
#[derive(Debug)]
pub struct ConfinedOutput {
    /// How it ended.
    pub end: ProcessEnd,
    /// The last bytes of standard output.
    pub stdout: Vec<u8>,
    /// The last bytes of standard error.
    pub stderr: Vec<u8>,
    /// How many bytes went to standard output in total.
    pub written: u64,
    /// What it left in the worktree for other programs to execute, and where it is now.
    pub findings: Vec<Finding>,
}

/// Runs programs that a repository names in a sandbox: hooks, filters and validators.
pub trait Confinement: Debug + Send + Sync {
    /// Whether programs have to be confined here and now: the caller is not the user, and the user's
    /// policy does not allow otherwise.
    ///
    /// # Errors
    /// What the program around the library answers, such as `BAD_REQUEST` if a policy file cannot be
    /// read. The repository's program does not run then, and the call is refused.
    fn applies(&self, repository: RepositoryView<'_>) -> Result<bool>;

    /// Runs `program`. When this returns, all processes that it started have ended.
    ///
    /// # Errors
    /// It was not started: `SANDBOX_UNAVAILABLE`, `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    fn run(
        &self,
        repository: RepositoryView<'_>,
        program: &ConfinedProgram<'_>,
    ) -> Result<ConfinedOutput>;
}

impl Repo {
    /// What has to confine programs of this repository now; `None`: they run as Git runs them.
    ///
    /// # Errors
    /// As [`Confinement::applies`].
    pub fn confinement(&self) -> Result<Option<&dyn Confinement>> {
        let Some(confinement) = &self.confinement else { return Ok(None) };
        Ok(confinement.applies(self.into())?.then_some(&**confinement))
    }
}
