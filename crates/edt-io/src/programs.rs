//! Where programs are found.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::Environment;

/// The directories of `PATH`, in order, relative ones included.
#[must_use]
pub fn search_dirs(environment: Environment) -> Vec<PathBuf> {
    environment.search_dirs()
}

/// Whether `path` is a regular file that this process may execute.
#[must_use]
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// `path` with links resolved; `None` if it does not exist.
#[must_use]
pub fn canonical(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The names in a directory, sorted; empty if it cannot be read.
#[must_use]
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The user's home directory.
#[must_use]
pub fn home(environment: Environment) -> Option<PathBuf> {
    environment.var("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}
