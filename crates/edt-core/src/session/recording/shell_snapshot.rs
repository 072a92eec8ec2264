//! Snapshots before commands of an agent's own shell, which another process looks at afterwards.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::snapshot::{RunManifest, Snapshot, directory};
use crate::session::private::not_kept::NamedPaths;
use edt_git::{Oid, Repo};
use edt_io::{failed, fs};
use edt_types::Result;

/// The extension of the manifests of commands of agents' shells.
const SHELL: &str = "shell";

/// The file that names the agents whose shells ran a command although a hook had changed it.
const NOT_WRAPPED: &str = "not-wrapped";

/// A command that an agent's shell is about to run.
#[derive(Debug, Clone, Copy)]
pub struct ShellCall<'a> {
    /// Identifies the agent's conversation, and the call if the agent names it.
    pub name: &'a str,
    /// The command, as a shell reads it.
    pub command: &'a str,
    /// The directory that it was judged in, without symbolic links.
    pub dir: &'a Path,
    /// Whether the agent is asked to run [`Snapshot::claim_of_shell`]'s caller in its place.
    pub wrapped: bool,
}

impl Snapshot {
    /// As [`Snapshot::take`], before a command of an agent's own shell, which another process will
    /// look at afterwards.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn take_of_shell(
        repo: &Repo,
        tree: Oid,
        named: &NamedPaths,
        call: ShellCall<'_>,
    ) -> Result<()> {
        let (command, wrapped) = (call.command.to_owned(), call.wrapped);
        let dir = call.dir.as_os_str().as_bytes().to_vec();
        let snapshot = Snapshot { command, dir, wrapped, ..Snapshot::copied(repo, tree, named)? };
        let place = snapshot.directory.join(format!("{}.{SHELL}", call.name));
        fs::write_atomic(&place, &snapshot.manifest(), 0o600)
            .map_err(|error| failed("write", &place, &error).into())
    }

    /// Takes over the recording of `command`, which a hook judged under this name, in `dir`: relative
    /// paths mean something else elsewhere. Then nothing is compared with the snapshot, which is
    /// removed. False if no such command was judged.
    #[must_use]
    pub fn claim_of_shell(repo: &Repo, name: &str, command: &str, dir: &Path) -> bool {
        let is_judged = |before: &Snapshot| {
            let is_there = before.dir == dir.as_os_str().as_bytes();
            before.wrapped && before.command == command && is_there
        };
        let judged = Snapshot::of_shell(repo, name).filter(is_judged);
        judged.iter().for_each(Snapshot::finish);
        judged.is_some()
    }

    /// Whether the agent was asked to run another command, and ran this one.
    #[must_use]
    pub fn is_unclaimed(&self) -> bool {
        self.wrapped
    }

    /// Remembers that the shell of `agent` runs a command although a hook changed it.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn remember_not_wrapped(repo: &Repo, agent: &str) -> Result<()> {
        let place = repo.state_path().join(NOT_WRAPPED);
        edt_io::directory::append_line(&place, agent)
            .map_err(|error| failed("write", &place, &error).into())
    }

    /// Whether the shell of `agent` runs a command although a hook changed it.
    #[must_use]
    pub fn is_not_wrapped(repo: &Repo, agent: &str) -> bool {
        let names = fs::read_small(&repo.state_path().join(NOT_WRAPPED), 64 * 1024);
        names.is_some_and(|names| names.split(|&b| b == b'\n').any(|name| name == agent.as_bytes()))
    }

    /// The snapshot that [`Snapshot::take_of_shell`] took; `None` if there is none.
    #[must_use]
    pub fn of_shell(repo: &Repo, name: &str) -> Option<Snapshot> {
        let directory = directory(repo);
        let place = directory.join(format!("{name}.{SHELL}"));
        let manifest = RunManifest::read(&place)?;
        Some(Snapshot { is_unproved: true, ..Snapshot::read(manifest, directory, place, None) })
    }

    /// Those whose names begin with `prefix` and that are older than `minutes`: their commands ended,
    /// and nobody reported it.
    #[must_use]
    pub fn stale_of_shell(repo: &Repo, prefix: &str, minutes: u64) -> Vec<Snapshot> {
        let all = fs::files_in(&directory(repo)).into_iter();
        let is_stale = |place: &PathBuf| {
            let name = place.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            place.extension().is_some_and(|kind| kind == SHELL)
                && name.starts_with(prefix)
                && fs::minutes_old(place).is_some_and(|age| age >= minutes)
        };
        let name = |place: PathBuf| Some(place.file_stem()?.to_str()?.to_owned());
        let names = all.filter(is_stale).filter_map(name);
        names.filter_map(|name| Snapshot::of_shell(repo, &name)).collect()
    }

    /// The name under which [`Snapshot::take_of_shell`] took it.
    #[must_use]
    pub fn shell_name(&self) -> &str {
        let name = self.place.as_deref().and_then(Path::file_stem);
        name.and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The command of an agent's shell, if it is the snapshot of one.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }
}
