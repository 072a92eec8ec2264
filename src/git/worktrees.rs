//! The worktrees of a repository: the main one and those that `git worktree add` linked.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::repo::Repo;
use crate::base::{Code, Finding, Result};
use crate::io::{failed, spawn};

/// A worktree and what it works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its Git folder.
    pub git_dir: PathBuf,
    /// Whether it is the one this repository was opened in.
    pub here: bool,
    /// The branch that HEAD names, in full; `None` if it is detached.
    pub head: Option<String>,
    /// What the symbolic ref asked for names.
    pub pointer: Option<String>,
}

impl Worktree {
    /// Whether it is the main one.
    #[must_use]
    pub fn is_main(&self) -> bool {
        !self.git_dir.join("gitdir").exists()
    }

    /// Whether a rebase or a bisection under way in it will come back to `branch`, given in full.
    #[must_use]
    pub fn is_held(&self, branch: &str) -> bool {
        let says = |file: &str| {
            std::fs::read_to_string(self.git_dir.join(file)).unwrap_or_default().trim().to_owned()
        };
        let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|file| says(file) == branch)
            || says("BISECT_START") == short
    }
}

impl Repo {
    /// Every worktree, the main one first; `pointer` is a symbolic ref of each worktree's own to look at.
    #[must_use]
    pub fn worktrees(&self, pointer: &str) -> Vec<Worktree> {
        let linked = std::fs::read_dir(self.common_dir().join("worktrees"));
        let mut linked: Vec<PathBuf> =
            linked.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        linked.sort();
        let mine = std::fs::canonicalize(self.git_dir()).ok();
        let names = |file: PathBuf| {
            let text = std::fs::read_to_string(file).ok()?;
            text.strip_prefix("ref: ").map(|name| name.trim_end().to_owned())
        };
        let worktree = |git_dir: PathBuf| Worktree {
            here: std::fs::canonicalize(&git_dir).ok() == mine,
            head: names(git_dir.join("HEAD")),
            pointer: names(git_dir.join(pointer)),
            git_dir,
        };
        std::iter::once(self.common_dir().to_owned()).chain(linked).map(worktree).collect()
    }

    /// Makes a worktree at `place`, which is absolute, on `branch`, as `git worktree add` does. Filters that nobody trusts do not run: it
    /// is checked out only once its own configuration (which conditional includes may make another) can be read.
    ///
    /// # Errors
    /// `IO_ERROR` if Git fails; it then leaves no worktree behind.
    pub fn add_worktree(&self, place: &Path, branch: &str) -> Result<()> {
        let common = self
            .common_dir()
            .canonicalize()
            .map_err(|error| failed("find", self.common_dir(), &error))?;
        let here = |args: &[&OsStr]| {
            let args: Vec<&OsStr> = [OsStr::new("--git-dir"), common.as_os_str()]
                .into_iter()
                .chain(args.iter().copied())
                .collect();
            spawn::git_elsewhere(&common, &[], &args)
        };
        let words = |words: &'static [&'static str]| words.iter().map(OsStr::new);
        let add: Vec<&OsStr> = words(&["worktree", "add", "--quiet", "--no-checkout"])
            .chain([place.as_os_str(), branch.as_ref()])
            .collect();
        let added = here(&add)?;
        if !added.ok {
            return Err(not_added("git worktree add", &added.stderr).into());
        }
        let Err(error) = self.check_out(place) else { return Ok(()) };
        here(
            &words(&["worktree", "remove", "--force"])
                .chain([place.as_os_str()])
                .collect::<Vec<_>>(),
        )?;
        Err(error)
    }

    /// Checks out the new worktree at `place`.
    fn check_out(&self, place: &Path) -> Result<()> {
        let settings = Repo::linked(place)?.without_untrusted_by(self)?;
        let reset = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        let ran = spawn::git_elsewhere(place, &settings, &reset)?;
        if ran.ok { Ok(()) } else { Err(not_added("git reset --hard", &ran.stderr).into()) }
    }

    /// The folder of files of `worktree`; `None` if it is bare, or gone.
    #[must_use]
    pub fn root_of(&self, worktree: &Worktree) -> Option<PathBuf> {
        self.recorded_root(worktree).filter(|root| root.is_dir())
    }

    /// The folder that `worktree` has or had, there or not; its Git folder if it is bare.
    #[must_use]
    pub fn place_of(&self, worktree: &Worktree) -> PathBuf {
        self.recorded_root(worktree).unwrap_or_else(|| worktree.git_dir.clone())
    }

    fn recorded_root(&self, worktree: &Worktree) -> Option<PathBuf> {
        if worktree.here {
            return Some(self.root_path().to_owned());
        }
        Some(match std::fs::read_to_string(worktree.git_dir.join("gitdir")) {
            // Relative ones count from the Git folder (Git 2.48, `worktree.useRelativePaths`).
            Ok(text) => worktree.git_dir.join(text.trim_end_matches('\n')).parent()?.to_owned(),
            Err(_) => self.inner.main_repo().ok()?.workdir()?.to_owned(),
        })
    }
}

fn not_added(command: &str, said: &str) -> Finding {
    let message = format!("`{command}` failed: {}", said.trim());
    Finding::new(
        Code::IoError,
        message,
        "Mend what Git reports, then repeat the call; no session was left behind.",
    )
}

/// Checks that a worktree can be made at `place`.
///
/// # Errors
/// `BAD_REQUEST` if something is there.
pub fn check_free(place: &Path) -> Result<()> {
    let filled = std::fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
    if !filled && !place.is_file() {
        return Ok(());
    }
    let message =
        format!("{} exists and is not an empty folder. Nothing was changed.", place.display());
    let hint = "Name a folder that does not exist yet: `edt begin --worktree ../NAME`.";
    Err(Finding::new(Code::BadRequest, message, hint).into())
}
