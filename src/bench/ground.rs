//! The scratch repository that a task is worked on in: real, with one commit that is the same everywhere.

use std::path::{Path, PathBuf};

use crate::base::{Code, Durability, Finding, Result};
use crate::guard::GUARDS;
use crate::io::folder::{self, Files};
use crate::io::{failed, spawn, whole};
use crate::session::World;
use crate::session::world::Caller;

/// The most bytes that a worktree may come to hold.
const MOST: u64 = 512 * 1024 * 1024;
/// How long another edt in the same worktree is waited for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// When everything in a scratch repository happens, as Git takes it.
pub const DATE: &str = "2026-01-01T00:00:00Z";
/// The same in seconds since 1970.
pub const NOW: i64 = 1_767_225_600;
/// What every person's `edt.toml` of the benchmark begins with: what is remembered is the strategy's business, not that of the worktree.
pub const NO_MEMORY: &str = "[memory]\nenabled = false\n";

/// A worktree with a repository of its own.
#[derive(Debug)]
pub struct Ground {
    root: PathBuf,
    policy: Option<String>,
}

impl Ground {
    /// Makes the folder `root`, puts `files` there and commits them. `policy` is the text of the `edt.toml` that stands for a person's.
    ///
    /// # Errors
    /// `IO_ERROR`; `PROGRAM_NOT_FOUND` if there is no Git.
    pub fn plant(root: &Path, files: &Files, policy: Option<&str>) -> Result<Ground> {
        folder::plant(root, files)
            .map_err(|error| failed("make the scratch repository", root, &error))?;
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all", "--force"],
            &["commit", "--quiet", "--allow-empty", "--no-verify", "--message=the task"],
        ] {
            // Nothing here outlives the benchmark: no power cut matters.
            let ran = spawn::git(
                root,
                &[&["-c", "core.fsync=none", "-c", "maintenance.auto=false"], args].concat(),
                b"",
            )?;
            if !ran.ok {
                let message =
                    format!("git {} failed in {}: {}", args[0], root.display(), ran.stderr.trim());
                return Err(Finding::new(
                    Code::IoError,
                    message,
                    "The benchmark needs Git 2.39 or newer.",
                )
                .into());
            }
        }
        Ok(Ground { root: whole::real(root), policy: policy.map(str::to_owned) })
    }

    /// The worktree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its files as they are now.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn files(&self) -> Result<Files> {
        folder::files(&self.root, MOST)
            .map_err(|error| failed("read the worktree", &self.root, &error).into())
    }

    /// The repository, to change it as a call of `command` would.
    ///
    /// # Errors
    /// As [`World::open`].
    pub fn world(&self, command: &str) -> Result<World> {
        World::open(
            &self.root,
            Caller {
                command: command.to_owned(),
                lock_wait: PATIENCE,
                person_policy: Some(format!(
                    "{NO_MEMORY}{}",
                    self.policy.as_deref().unwrap_or_default()
                )),
                trust: None,
                durability: Some(Durability::Off),
                warm: None,
            },
        )
    }

    /// Removes it.
    pub fn clear(self) {
        let _ = whole::remove_folder(&self.root);
    }
}

/// The `edt.toml` of a person who lets everything pass: every guard is off, and shells and editors of text run unasked, in the sandbox. What
/// a repository protects stays protected.
#[must_use]
pub fn without_guards() -> String {
    let settable = GUARDS.iter().map(|guard| guard.name()).filter(|name| *name != "protected_path");
    let off =
        settable.fold(String::new(), |text, name| text + "[guards." + name + "]\nmode = \"off\"\n");
    format!(
        "{off}[run]\nunknown = \"allow\"\n[[command]]\nname = \"unasked\"\nargv = [[\"sh\", \"bash\", \"sed\", \"awk\", \"perl\"]]\n\
         decision = \"allow\"\nreason = \"This arm of the benchmark asks nobody.\"\nmatch = [\"sed -i s/a/b/ f\"]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::GuardMode;
    use crate::policy::Policy;

    #[test]
    fn the_arm_without_guards_switches_every_guard_off() {
        let policy = Policy::of(Some(&without_guards()), None).unwrap();
        let modes = GUARDS.iter().map(|guard| policy.rule(guard.name(), None).mode);
        assert_eq!(modes.filter(|mode| *mode == GuardMode::Off).count(), GUARDS.len() - 1);
    }
}
