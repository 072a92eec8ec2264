//! Confines programs that edt starts because of a repository. The program around the library brings
//! the sandbox; without one they run as Git runs them.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use edt_io::bounded::{FilterOutput, ProcessEnd};
use edt_types::{Finding, Result};

use super::Repo;
use super::driver::FilterDriver;

/// A program to run in a sandbox.
#[derive(Debug)]
pub struct ConfinedProgram<'a> {
    /// Its absolute path.
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// The worktree.
    pub root: &'a Path,
    pub access: WorktreeAccess,
    /// The working directory.
    pub dir: &'a Path,
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
    pub output: ConfinedStreams,
    /// The most bytes of standard output.
    pub max_output: usize,
}

/// What a confined program may do with the worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeAccess {
    Read,
    /// Files that other programs execute stay read-only.
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
    Separate,
    Joined,
}

#[derive(Debug)]
pub struct ConfinedOutput {
    pub end: ProcessEnd,
    /// The last bytes of standard output.
    pub stdout: Vec<u8>,
    /// The last bytes of standard error.
    pub stderr: Vec<u8>,
    /// How many bytes went to standard output in total.
    pub written: u64,
    /// What it left in the worktree for other programs to execute; edt moved it away.
    pub findings: Vec<Finding>,
}

/// Runs programs in a sandbox.
pub trait Confinement: Debug + Send + Sync {
    /// Whether programs have to be confined here and now: the caller is not the user, and the user's
    /// policy does not allow otherwise.
    ///
    /// # Errors
    /// `BAD_REQUEST` if a policy file cannot be read.
    fn applies(&self, repo: &Repo) -> Result<bool>;

    /// Runs `program`. When this returns, all processes that it started have ended.
    ///
    /// # Errors
    /// It was not started: `SANDBOX_UNAVAILABLE`, `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    fn run(&self, repo: &Repo, program: &ConfinedProgram<'_>) -> Result<ConfinedOutput>;
}

impl Repo {
    /// What has to confine programs of this repository now; `None`: they run as Git runs them.
    ///
    /// # Errors
    /// As [`Confinement::applies`].
    pub fn confinement(&self) -> Result<Option<&dyn Confinement>> {
        let Some(confinement) = &self.confinement else { return Ok(None) };
        Ok(confinement.applies(self)?.then_some(&**confinement))
    }

    /// What has to confine `driver`: it may execute files of the repository, by name or through
    /// `make` and its like, for someone who is not the user.
    pub(super) fn confinement_of(&self, driver: &FilterDriver) -> Result<Option<&dyn Confinement>> {
        if driver.local && self.confinement.is_some() && !is_known(driver) {
            return self.confinement();
        }
        Ok(None)
    }

    /// Runs the command of a filter in `confinement`.
    pub(super) fn run_filter_confined(
        &self,
        confinement: &dyn Confinement,
        command: &OsStr,
        input: &[u8],
        (root, scratch): (&Path, &Path),
        max_output: usize,
        limit: Duration,
    ) -> Result<FilterOutput> {
        let done = confinement.run(
            self,
            &ConfinedProgram {
                program: Path::new("/bin/sh"),
                args: &["-c".into(), command.to_owned()],
                root,
                access: WorktreeAccess::Read,
                dir: root,
                variables: Variables::Passing,
                env: &[],
                input,
                scratch: Some(scratch),
                read_only: &[],
                limit: Some(limit),
                output: ConfinedStreams::Separate,
                max_output,
            },
        )?;
        let is_complete = done.written == done.stdout.len() as u64;
        Ok(FilterOutput {
            end: done.end,
            output: is_complete.then_some(done.stdout),
            stderr_tail: done.stderr,
        })
    }
}
/// Programs that work on data, need the network or keys, and execute no file of a worktree.
const KNOWN: [&str; 4] = ["git-lfs", "git lfs", "git-crypt", "git-annex"];

/// Whether every command of `driver` is one of [`KNOWN`], and nothing else.
fn is_known(driver: &FilterDriver) -> bool {
    let is_known = |command: &Vec<u8>| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" -_%\"'./".contains(byte);
        let names = |known: &&str| {
            let rest = command.strip_prefix(known.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b" "))
        };
        command.iter().all(is_plain) && KNOWN.iter().any(names)
    };
    [&driver.clean, &driver.smudge, &driver.process].into_iter().flatten().all(is_known)
}
