//! The scratch repository in which a task is worked on: a real one, whose one commit is the same on
//! every machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use edt_core::observe::Observer;
use edt_core::session::LockedWorkspace;
use edt_core::session::worktree::options::Options;
use edt_guard::guard::GUARDS;
use edt_io::directory::{self, FileTree};
use edt_io::{failed, fs, spawn};
use edt_types::{Code, Durability, Finding, Result};

/// The largest worktree that is read, in bytes.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
/// The longest wait for another edt process in the same worktree.
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_secs(10);

/// The date of all commits in a scratch repository.
pub const DATE: &str = "2026-01-01T00:00:00Z";
/// [`DATE`] in seconds since 1970.
pub const NOW: i64 = 1_767_225_600;
/// The beginning of the user's `edt.toml` in the benchmark: strategies decide what is remembered,
/// not the worktree.
pub const NO_MEMORY: &str = "[memory]\nenabled = false\n";

/// A worktree with its own repository.
#[derive(Debug)]
pub struct ScratchRepo {
    root: PathBuf,
    policy: Option<String>,
    observers: Vec<Arc<dyn Observer>>,
}

impl ScratchRepo {
    /// Creates the directory `root` with `files` and commits them. `policy` is the text of the
    /// user's `edt.toml`.
    ///
    /// # Errors
    /// `IO_ERROR`; `PROGRAM_NOT_FOUND` if there is no Git.
    pub fn create(root: &Path, files: &FileTree, policy: Option<&str>) -> Result<ScratchRepo> {
        directory::write_tree(root, files)
            .map_err(|error| failed("make the scratch repository", root, &error))?;
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all", "--force"],
            &["commit", "--quiet", "--allow-empty", "--no-verify", "--message=the task"],
        ] {
            // Scratch repositories need not survive a power failure.
            let result = spawn::git(
                edt_io::Environment::Process,
                root,
                &[&["-c", "core.fsync=none", "-c", "maintenance.auto=false"], args].concat(),
                b"",
            )?;
            if !result.ok {
                let summary = format!(
                    "git {} failed in {}: {}",
                    args[0],
                    root.display(),
                    result.stderr.trim()
                );
                return Err(
                    Finding::new(Code::IoError, summary, "Install Git 2.39 or newer.").into()
                );
            }
        }
        let (root, policy) = (fs::real_path(root), policy.map(str::to_owned));
        Ok(ScratchRepo { root, policy, observers: Vec::new() })
    }

    /// Lets `observer` see the calls from now on.
    pub(super) fn observe(&mut self, observer: Arc<dyn Observer>) {
        self.observers.push(observer);
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its files as they are now.
    pub fn files(&self) -> Result<FileTree> {
        directory::read_tree(&self.root, MAX_BYTES)
            .map_err(|error| failed("read the worktree", &self.root, &error).into())
    }

    /// Opens the repository as a call of `command` would.
    ///
    /// # Errors
    /// As [`LockedWorkspace::open`].
    pub fn workspace(&self, command: &str) -> Result<LockedWorkspace> {
        let mut options = Options::default();
        command.clone_into(&mut options.command);
        options.lock_wait = LOCK_WAIT;
        options.environment = edt_core::Environment::Process;
        options.reap_orphans = true;
        options.user_policy =
            Some(format!("{NO_MEMORY}{}", self.policy.as_deref().unwrap_or_default()));
        options.observers.clone_from(&self.observers);
        options.durability = Some(Durability::Off);
        LockedWorkspace::open(&self.root, options)
    }

    pub fn remove(self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The user's `edt.toml` that turns off every guard and lets shells and text editors run in the
/// sandbox without approval. Paths that the repository protects stay protected.
#[must_use]
pub fn without_guards() -> String {
    let settable = GUARDS.iter().map(|guard| guard.name()).filter(|name| *name != "protected_path");
    let off =
        settable.fold(String::new(), |text, name| text + "[guards." + name + "]\nmode = \"off\"\n");
    format!(
        "{off}[run]\nunknown = \"allow\"\n[[command]]\nname = \"without-approval\"\nargv = [[\"sh\", \"bash\", \"sed\", \"awk\", \"perl\"]]\n\
         decision = \"allow\"\nreason = \"The benchmark runs without guards.\"\nmatch = [\"sed -i s/a/b/ f\"]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_guard::policy::{GuardMode, Policy};

    #[test]
    fn without_guards_turns_off_every_guard() {
        let policy = Policy::of(Some(&without_guards()), None).unwrap();
        let modes = GUARDS.iter().map(|guard| policy.rule(guard.name(), None).mode);
        assert_eq!(modes.filter(|mode| *mode == GuardMode::Off).count(), GUARDS.len() - 1);
    }
}
