//! The environment of this process, or of the caller of this thread. No other file reads it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::Command;

use super::inherited;

/// The programs that are found without `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment in which Git access works and in which programs start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Environment {
    /// An empty one: no variable of this process is read, and no home directory. Git's
    /// configuration is that of the repository alone, the time zone is the system's, and temporary
    /// files are below `/tmp`. Programs start without variables except `PATH`, which is
    /// `/usr/local/bin:/usr/bin:/bin`, and those that keep Git from the system's configuration.
    #[default]
    Isolated,
    /// That of this process, as Git uses it: `HOME`, `XDG_*`, `PATH`, `TMPDIR`, `TZ`, `EMAIL` and
    /// `GIT_*`. Git's configuration includes the user's and the system's.
    Process,
}

impl Environment {
    /// The variable `name`, which may be empty.
    #[must_use]
    pub fn var(self, name: &str) -> Option<OsString> {
        match self {
            Environment::Isolated => None,
            Environment::Process => variable(name),
        }
    }

    /// The variable `name` if it is UTF-8 and not empty.
    #[must_use]
    pub fn text(self, name: &str) -> Option<String> {
        self.var(name)?.into_string().ok().filter(|value| !value.is_empty())
    }

    /// `PATH`, or the usual directories if it is unset.
    pub(crate) fn search_path(self) -> OsString {
        self.var("PATH").unwrap_or_else(|| USUAL_PATH.into())
    }

    /// The directories of [`Environment::search_path`], in order, relative ones included.
    pub(crate) fn search_dirs(self) -> Vec<PathBuf> {
        std::env::split_paths(&self.search_path()).collect()
    }

    /// Directories for temporary files, the preferred ones first.
    pub(crate) fn temporary_dirs(self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        if self == Environment::Process {
            all.push(temporary_dir());
            all.extend(self.var("XDG_RUNTIME_DIR").map(PathBuf::from));
        }
        all.push(PathBuf::from("/tmp"));
        all
    }

    /// Starts `command` in this environment. Call it before variables are added.
    pub(crate) fn prepare(self, command: &mut Command) {
        if self == Environment::Isolated {
            command.env_clear().env("PATH", USUAL_PATH);
            command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_ATTR_NOSYSTEM", "1");
        } else {
            inherited::prepare(command);
        }
    }
}

/// A value for `PATH` with these directories.
pub(crate) fn joined(
    directories: impl Iterator<Item = PathBuf>,
) -> Result<OsString, std::env::JoinPathsError> {
    std::env::join_paths(directories)
}

/// The variable `name` of the caller.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    inherited::variable(OsStr::new(name)).unwrap_or_else(|| std::env::var_os(name))
}

/// All variables of the caller.
#[must_use]
pub fn variables() -> Vec<(OsString, OsString)> {
    inherited::of(|caller| caller.variables.clone().into_iter().collect())
        .unwrap_or_else(|| std::env::vars_os().collect())
}

/// Whether tests ask for the portable functions of every system (`EDT_PLATFORM=portable`).
///
/// # Panics
/// If the variable names another platform: a misspelt name must not test less than was asked for.
#[cfg(all(target_os = "linux", debug_assertions))]
pub(crate) fn wants_portable() -> bool {
    match std::env::var_os("EDT_PLATFORM") {
        Some(named) if named == "portable" => true,
        Some(named) if !named.is_empty() => {
            panic!("EDT_PLATFORM={} is not `portable`", named.to_string_lossy())
        }
        _ => false,
    }
}

/// The directory for temporary files that the caller prefers.
#[must_use]
pub fn temporary_dir() -> PathBuf {
    variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// The current directory of the caller.
///
/// # Errors
/// Any error of the operating system.
pub fn current_dir() -> io::Result<PathBuf> {
    inherited::of(|caller| Ok(caller.directory.clone())).unwrap_or_else(std::env::current_dir)
}

/// The path of this program.
///
/// # Errors
/// Any error of the operating system.
pub fn current_program() -> io::Result<PathBuf> {
    inherited::of(|caller| Ok(caller.program.clone())).unwrap_or_else(std::env::current_exe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isolated_environment_is_empty() {
        let isolated = Environment::default();
        assert!(std::env::var_os("PATH").is_some(), "the tests need a variable that is set");
        assert_eq!((isolated.var("PATH"), isolated.text("PATH")), (None, None));
        assert_eq!(isolated.search_path(), USUAL_PATH);
        assert_eq!(isolated.temporary_dirs(), [PathBuf::from("/tmp")]);
        assert_eq!(Environment::Process.var("PATH"), std::env::var_os("PATH"));
    }
}
