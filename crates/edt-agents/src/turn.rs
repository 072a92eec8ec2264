//! What changes in a worktree while an agent answers one prompt.
//!
//! An agent may change files without a request, and the user may type meanwhile: edt sees only the
//! files before and after. So what it did not record otherwise is left over, as for a command of an
//! agent's shell.

use std::path::{Path, PathBuf};

use super::shell;
use edt_core::session::Session;
use edt_core::session::private::not_kept::NamedPaths;
use edt_core::session::recording::shell_snapshot::ShellCall;
use edt_core::session::recording::snapshot::Snapshot;
use edt_core::session::refs::current;
use edt_core::session::worktree::options::Options;
use edt_io::process;
use edt_types::trace::names::SNAPSHOT;
use edt_types::{Result, stage};

/// A turn that this process records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    root: PathBuf,
    name: String,
    agent: &'static str,
}

/// The root of the worktree that holds `dir`; `None` outside of every one.
///
/// # Errors
/// `IO_ERROR` and its like if the repository cannot be opened.
pub fn worktree(dir: &Path) -> Result<Option<PathBuf>> {
    shell::root(dir)
}

impl Turn {
    /// Copies the files that differ from the session in the worktree at `root`, before `agent`
    /// begins. `number` is the turn's in this process. First keeps what changed in turns whose
    /// process was killed, and returns what it says of them.
    ///
    /// # Errors
    /// `LOCKED`, `IO_ERROR`, `OBJECT_MISSING`, `GIT_DIR_READ_ONLY`.
    pub fn begin(
        root: &Path,
        (agent, number): (&'static str, u64),
        options: &Options,
    ) -> Result<(Turn, Vec<String>)> {
        let prefix = format!("{}-", shell::short_id(&format!("turn\0{agent}"))?);
        let (mut workspace, mut infos) = shell::open(root, options)?;
        for before in Snapshot::stale_of_shell(&workspace.repo, &prefix, 0) {
            let id = before.shell_name()[prefix.len()..].split('-').next().map(str::parse);
            if !matches!(id, Some(Ok(id)) if process::is_running(id)) {
                infos.extend(keep(&mut workspace, &before, agent)?);
            }
        }
        let repo = &workspace.repo;
        let session = Session::current(repo, &repo.head()?)?;
        let tree = current::tree_now(repo, session.as_ref())?;
        let name = format!("{prefix}{}-{number}", process::process_id());
        let call = ShellCall { name: &name, command: "", dir: root, wrapped: false };
        stage!(SNAPSHOT, Snapshot::take_of_shell(repo, tree, &NamedPaths::default(), call))?;
        Ok((Turn { root: root.to_owned(), name, agent }, infos))
    }

    /// Keeps what changed since the turn began, if edt did not record it otherwise. Returns what it
    /// is; `None` if nothing changed.
    ///
    /// # Errors
    /// `LOCKED`, `REPOSITORY_BUSY`, `IO_ERROR`, `OBJECT_MISSING`; errors of publishing.
    pub fn end(self, options: &Options) -> Result<Option<String>> {
        let (mut workspace, _) = shell::open(&self.root, options)?;
        match Snapshot::of_shell(&workspace.repo, &self.name) {
            Some(before) => keep(&mut workspace, &before, self.agent),
            None => Ok(None),
        }
    }
}

fn keep(
    workspace: &mut edt_core::session::LockedWorkspace,
    before: &Snapshot,
    agent: &str,
) -> Result<Option<String>> {
    let message = format!("turn: changed while {agent} worked");
    shell::keep(workspace, before, (message, agent), &format!("the turn of {agent}"))
}
