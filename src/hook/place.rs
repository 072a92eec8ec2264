//! Where Git looks for hooks in this repository, and whether edt may put any there.

use std::path::{Path, PathBuf};

use super::plumbing::Git;
use super::{HOOKS, Hook, Site};
use crate::base::{Code, Finding, Result};
use crate::io::whole::{make_folder, real};

/// The first Git that reads hooks from its configuration.
pub const CONFIG_HOOKS_SINCE: (u32, u32) = (2, 54);

/// Where hooks go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The Git folder that all worktrees share.
    pub common: PathBuf,
    /// The folder that Git runs hooks from.
    pub hooks: PathBuf,
    /// The worktree's root; `None` in a bare repository.
    pub top: Option<PathBuf>,
    /// Whether Git calls the repository bare: a server's.
    pub bare: bool,
    /// What `core.hooksPath` says, and where it says so (`local`, `global`, …).
    pub hooks_path: Option<(String, String)>,
    /// Git's version.
    pub version: (u32, u32),
}

/// How hooks are put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// As files in the hooks folder.
    Files,
    /// In the repository's configuration, beside whatever the hooks folder holds.
    Config,
}

impl Mechanism {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Files => "files",
            Mechanism::Config => "config",
        }
    }
}

impl Place {
    /// Looks.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`, `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn of(git: &Git) -> Result<Place> {
        git.output(&["rev-parse", "--git-dir"], b"")?;
        let bare = git.line(&["rev-parse", "--is-bare-repository"])?.as_deref() == Some("true");
        let mut top = git.top()?;
        if top.is_none() && !bare {
            // Called inside the Git folder: the worktree is beside it.
            let own = git
                .line(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?
                .map(PathBuf::from);
            top = own
                .as_deref()
                .and_then(Path::parent)
                .map_or(Ok(None), |beside| Git::at(beside).top())?;
        }
        // A relative path is meant from where Git runs hooks.
        let git = Git::at(top.as_deref().unwrap_or_else(|| git.dir()));
        let ask = |what: &[&str]| -> Result<PathBuf> {
            let args = [&["rev-parse", "--path-format=absolute"], what].concat();
            Ok(git.line(&args)?.map(PathBuf::from).unwrap_or_default())
        };
        let common = ask(&["--git-common-dir"])?;
        // Asked of the configuration itself: edt's own calls of Git switch hooks off.
        let hooks_path = git
            .run(&["config", "--show-scope", "--type=path", "--get-all", "core.hooksPath"], b"")?;
        let said = String::from_utf8_lossy(&hooks_path.stdout).into_owned();
        let said = said
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .rfind(|(scope, _)| *scope != "command");
        let hooks_path = said.map(|(scope, path)| (scope.to_owned(), path.to_owned()));
        let from = top.clone().unwrap_or_else(|| common.clone());
        let hooks =
            hooks_path.as_ref().map_or_else(|| common.join("hooks"), |(_, path)| from.join(path));
        let version = version(&git.line(&["version"])?.unwrap_or_default());
        Ok(Place { common, hooks, top, bare, hooks_path, version })
    }

    /// How hooks are put in place here.
    #[must_use]
    pub fn mechanism(&self) -> Mechanism {
        if self.version >= CONFIG_HOOKS_SINCE { Mechanism::Config } else { Mechanism::Files }
    }

    /// The hooks that belong here.
    pub fn hooks_here(&self) -> impl Iterator<Item = &'static dyn Hook> + use<> {
        let site = if self.bare { Site::Server } else { Site::Worktree };
        HOOKS.iter().copied().filter(move |hook| hook.site() == site)
    }

    /// Refuses a hooks folder that is not this repository's own.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` for one that other repositories or other people use, too.
    pub fn check_own(&self) -> Result<()> {
        let set = self.hooks_path.as_ref();
        let named = set.map_or_else(
            || format!("{} (really {})", self.hooks.display(), real(&self.hooks).display()),
            |(_, path)| format!("core.hooksPath = {path}"),
        );
        let why = if let Some((scope, _)) =
            set.filter(|(scope, _)| !matches!(scope.as_str(), "local" | "worktree"))
        {
            format!(
                "{named} is set in the {scope} configuration, so other repositories use that folder, too"
            )
        } else if self.roots().iter().any(|root| real(root) == real(&self.hooks)) {
            format!("{named} is no folder for hooks but the repository itself")
        } else if !self.is_inside() {
            format!("{named} lies outside this repository, so others may use it, too")
        } else if self.is_tracked()? {
            format!("{named} is tracked by Git, so everyone who clones would get these hooks")
        } else {
            return Ok(());
        };
        let usual = self.common.join("hooks");
        let mend = match set {
            Some(_) => format!(
                "Set a folder of this repository's own (`git config --local core.hooksPath '{}'`)",
                usual.display()
            ),
            None => {
                format!("Put a folder of this repository's own in the place of {}", usual.display())
            }
        };
        Err(Finding::new(
            Code::UnsupportedRepository,
            format!("{why}. Nothing was installed."),
            format!("{mend}, or repeat `edt hooks install` with --force to use it all the same."),
        )
        .with("hooks_path", self.hooks.display().to_string())
        .into())
    }

    /// The worktrees that Git runs no hook of edt's in, because a relative `core.hooksPath` means another folder there.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn unguarded(&self) -> Result<Vec<PathBuf>> {
        let relative = self
            .hooks_path
            .as_ref()
            .map(|(_, path)| Path::new(path))
            .filter(|path| path.is_relative());
        let (Some(path), Some(top), Mechanism::Files) = (relative, &self.top, self.mechanism())
        else {
            return Ok(Vec::new());
        };
        let listed = Git::at(top).output(&["worktree", "list", "--porcelain"], b"")?;
        let text = String::from_utf8_lossy(&listed).into_owned();
        let roots = text.split("\n\n").filter(|one| !one.lines().any(|line| line == "bare"));
        let roots = roots
            .filter_map(|one| one.lines().next()?.strip_prefix("worktree "))
            .map(PathBuf::from);
        let here = real(&self.hooks);
        Ok(roots.filter(|root| root.is_dir() && real(&root.join(path)) != here).collect())
    }

    fn roots(&self) -> Vec<&PathBuf> {
        [Some(&self.common), self.top.as_ref()].into_iter().flatten().collect()
    }

    fn is_inside(&self) -> bool {
        let hooks = real(&self.hooks);
        self.roots().into_iter().any(|own| hooks.starts_with(real(own)))
    }

    fn is_tracked(&self) -> Result<bool> {
        let Some(top) = &self.top else { return Ok(false) };
        let hooks = real(&self.hooks);
        let Ok(below) = hooks.strip_prefix(real(top)) else { return Ok(false) };
        if below.as_os_str().is_empty() || hooks.starts_with(real(&self.common)) {
            return Ok(false);
        }
        let ran = Git::at(top).run(&["ls-files", "-z", "--", &below.to_string_lossy()], b"")?;
        Ok(!ran.stdout.is_empty())
    }

    /// The folder that Git runs hooks from, made if it is missing; whether it was.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn make_hooks(&self) -> Result<bool> {
        make_folder(&self.hooks)
            .map_err(|error| crate::io::failed("make", &self.hooks, &error).into())
    }

    /// Every folder that may hold a hook of edt's: the one in use, and the one that Git uses unless told otherwise.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let usual = self.common.join("hooks");
        let same = real(&usual) == real(&self.hooks);
        if same { vec![self.hooks.clone()] } else { vec![self.hooks.clone(), usual] }
    }
}

/// The first two numbers of `git version 2.47.3.windows.1`.
fn version(line: &str) -> (u32, u32) {
    let number = line.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// The name that a hook has in a folder, with `end` after it.
#[must_use]
pub fn file(folder: &Path, hook: &dyn Hook, end: &str) -> PathBuf {
    folder.join(format!("{}{end}", hook.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("git version 2.47.3"), (2, 47));
        assert_eq!(version("git version 2.54.0.rc1 (Apple Git-1)"), (2, 54));
        assert!(
            version("git version 2.9.1") < CONFIG_HOOKS_SINCE
                && version("git version 3.0.0") > CONFIG_HOOKS_SINCE
        );
        assert_eq!(version("nonsense"), (0, 0));
    }
}
