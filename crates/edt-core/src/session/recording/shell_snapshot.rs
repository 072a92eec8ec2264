//! Snapshots before commands of an agent's own shell, which another process looks at afterwards.

use std::path::PathBuf;

use super::snapshot::{RunManifest, Snapshot, directory};
use crate::session::private::not_kept::NamedPaths;
use edt_git::{Oid, Repo};
use edt_io::{failed, fs};
use edt_types::Result;

/// The extension of the manifests of commands of agents' shells.
const SHELL: &str = "shell";

impl Snapshot {
    /// As [`Snapshot::take`], before a command of an agent's own shell, which another process will
    /// look at afterwards. `name` identifies the agent's conversation.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn take_of_shell(
        repo: &Repo,
        tree: Oid,
        named: &NamedPaths,
        (name, command): (&str, &str),
    ) -> Result<()> {
        let command = command.to_owned();
        let snapshot = Snapshot { command, ..Snapshot::copied(repo, tree, named)? };
        let place = snapshot.directory.join(format!("{name}.{SHELL}"));
        fs::write_atomic(&place, &snapshot.manifest(), 0o600)
            .map_err(|error| failed("write", &place, &error).into())
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

    /// The command of an agent's shell, if it is the snapshot of one.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }
}
