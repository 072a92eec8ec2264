//! Where Git finds hooks in this repository, and whether edt may install hooks there.

use std::path::{Path, PathBuf};

use super::call::{Hook, Site};
use super::list::HOOKS;
use super::plumbing::Git;
use edt_io::failed;
use edt_io::fs::{self, PathContent, make_dir, real_path};
use edt_types::text::Shown as _;
use edt_types::{Code, Effect, Finding, Result};

/// The first Git that reads hooks from its configuration.
pub const CONFIG_HOOKS_SINCE: (u32, u32) = (2, 54);

/// Where Git finds hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksLocation {
    /// The Git directory that all worktrees share.
    pub common: PathBuf,
    /// The directory from which Git runs hooks.
    pub hooks: PathBuf,
    /// The worktree's root; `None` in a bare repository.
    pub top: Option<PathBuf>,
    /// Whether the repository is bare, as on a server.
    pub bare: bool,
    /// The scope (`local`, `global`, …) and value of `core.hooksPath`.
    pub hooks_path: Option<(String, String)>,
    /// Git's version.
    pub version: (u32, u32),
}

/// How hooks are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// As files in the hooks directory.
    Files,
    /// In the repository's configuration, in addition to the hooks directory.
    Config,
}

impl Mechanism {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Files => "files",
            Mechanism::Config => "config",
        }
    }
}

impl HooksLocation {
    /// Asks Git.
    ///
    /// # Errors
    /// `NOT_A_REPOSITORY`, `PROGRAM_NOT_FOUND`, `IO_ERROR`.
    pub fn of(git: &Git) -> Result<HooksLocation> {
        git.output(&["rev-parse", "--git-dir"], b"")?;
        let bare = git.line(&["rev-parse", "--is-bare-repository"])?.as_deref() == Some("true");
        let mut top = git.top()?;
        if top.is_none() && !bare {
            // The caller is inside the Git directory: the worktree is its parent.
            let own = git
                .line(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?
                .map(PathBuf::from);
            top = own
                .as_deref()
                .and_then(Path::parent)
                .map_or(Ok(None), |parent| Git::at(parent).top())?;
        }
        // A relative path starts from the directory in which Git runs hooks.
        let git = Git::at(top.as_deref().unwrap_or_else(|| git.dir()));
        let ask = |what: &[&str]| -> Result<PathBuf> {
            let args = [&["rev-parse", "--path-format=absolute"], what].concat();
            Ok(git.line(&args)?.map(PathBuf::from).unwrap_or_default())
        };
        let common = ask(&["--git-common-dir"])?;
        // Read from the configuration, because edt's own calls of Git disable hooks.
        let hooks_path = git
            .run(&["config", "--show-scope", "--type=path", "--get-all", "core.hooksPath"], b"")?;
        let values = String::from_utf8_lossy(&hooks_path.stdout).into_owned();
        let values = values
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .rfind(|(scope, _)| *scope != "command");
        let hooks_path = values.map(|(scope, path)| (scope.to_owned(), path.to_owned()));
        let from = top.clone().unwrap_or_else(|| common.clone());
        let hooks =
            hooks_path.as_ref().map_or_else(|| common.join("hooks"), |(_, path)| from.join(path));
        let version = version(&git.line(&["version"])?.unwrap_or_default());
        Ok(HooksLocation { common, hooks, top, bare, hooks_path, version })
    }

    /// How hooks are installed here.
    #[must_use]
    pub fn mechanism(&self) -> Mechanism {
        if self.version >= CONFIG_HOOKS_SINCE { Mechanism::Config } else { Mechanism::Files }
    }

    /// The hooks that belong here.
    pub fn hooks_here(&self) -> impl Iterator<Item = &'static dyn Hook> + use<> {
        let site = if self.bare { Site::Server } else { Site::Worktree };
        HOOKS.iter().copied().filter(move |hook| hook.site() == site)
    }

    /// Refuses a hooks directory that is not this repository's own.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` for a directory that other repositories or users may use, too.
    pub fn check_own(&self) -> Result<()> {
        let set = self.hooks_path.as_ref();
        let shown = set.map_or_else(
            || format!("{} (really {})", self.hooks.shown(), real_path(&self.hooks).shown()),
            |(_, path)| format!("core.hooksPath = {path}"),
        );
        let reason = if let Some((scope, _)) =
            set.filter(|(scope, _)| !matches!(scope.as_str(), "local" | "worktree"))
        {
            format!(
                "{shown} is set in the {scope} configuration, so other repositories use that \
                 directory, too"
            )
        } else if self.roots().iter().any(|root| real_path(root) == real_path(&self.hooks)) {
            format!("{shown} is the repository itself, not a directory for hooks")
        } else if !self.is_inside() {
            format!("{shown} is outside this repository, so others may use it, too")
        } else if self.is_tracked()? {
            format!("{shown} is tracked by Git, so every clone would get these hooks")
        } else {
            return Ok(());
        };
        let usual = self.common.join("hooks");
        let remedy = match set {
            Some(_) => format!(
                "Set a directory of this repository (`git config --local core.hooksPath '{}'`)",
                usual.shown()
            ),
            None => {
                format!("Replace {} with a directory of this repository", usual.shown())
            }
        };
        Err(Finding::new(
            Code::UnsupportedRepository,
            format!("{reason}."),
            format!("{remedy}, or repeat `edt hooks install` with --force to use it anyway."),
        )
        .with_effect(Effect::NothingInstalled)
        .with("hooks_path", self.hooks.to_string_lossy().into_owned())
        .into())
    }

    /// The worktrees in which Git does not find edt's hooks, because a relative `core.hooksPath`
    /// names another directory there.
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
        let here = real_path(&self.hooks);
        Ok(roots.filter(|root| root.is_dir() && real_path(&root.join(path)) != here).collect())
    }

    fn roots(&self) -> Vec<&PathBuf> {
        [Some(&self.common), self.top.as_ref()].into_iter().flatten().collect()
    }

    fn is_inside(&self) -> bool {
        let hooks = real_path(&self.hooks);
        self.roots().into_iter().any(|own| hooks.starts_with(real_path(own)))
    }

    fn is_tracked(&self) -> Result<bool> {
        let Some(top) = &self.top else { return Ok(false) };
        let hooks = real_path(&self.hooks);
        let Ok(below) = hooks.strip_prefix(real_path(top)) else { return Ok(false) };
        if below.as_os_str().is_empty() || hooks.starts_with(real_path(&self.common)) {
            return Ok(false);
        }
        let ran = Git::at(top).run(&["ls-files", "-z", "--", &below.to_string_lossy()], b"")?;
        Ok(!ran.stdout.is_empty())
    }

    /// Makes the hooks directory if it does not exist. Returns whether it did so.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn make_hooks(&self) -> Result<bool> {
        make_dir(&self.hooks).map_err(|error| edt_io::failed("make", &self.hooks, &error).into())
    }

    /// Every directory that may have edt's hooks: the one in use, and Git's default.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        let usual = self.common.join("hooks");
        let same = real_path(&usual) == real_path(&self.hooks);
        if same { vec![self.hooks.clone()] } else { vec![self.hooks.clone(), usual] }
    }
}

/// The first two numbers of `git version 2.47.3.windows.1`.
fn version(line: &str) -> (u32, u32) {
    let number = line.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// The path of a hook in a directory, with the suffix `end`.
#[must_use]
pub fn file(directory: &Path, hook: &dyn Hook, end: &str) -> PathBuf {
    directory.join(format!("{}{end}", hook.name()))
}

pub(super) fn read_path(path: &Path) -> Result<PathContent> {
    fs::read_path(path).map_err(|error| failed("read", path, &error).into())
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
