//! Filters that run confined.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::Repo;
use super::confinement::{
    ConfinedProgram, ConfinedStreams, Confinement, Variables, WorktreeAccess,
};
use super::driver::FilterDriver;
use edt_io::bounded::FilterOutput;
use edt_types::Result;

impl Repo {
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
            self.into(),
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
