//! The environment of this process. No other file of the library reads it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

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
            Environment::Process => std::env::var_os(name),
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
            all.push(std::env::temp_dir());
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
        }
    }
}

/// A value for `PATH` with these directories.
pub(crate) fn joined(
    directories: impl Iterator<Item = PathBuf>,
) -> Result<OsString, std::env::JoinPathsError> {
    std::env::join_paths(directories)
}

/// The current directory of this process.
///
/// # Errors
/// Any error of the operating system.
pub fn current_dir() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// The path of this program.
///
/// # Errors
/// Any error of the operating system.
pub fn current_program() -> io::Result<PathBuf> {
    std::env::current_exe()
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
