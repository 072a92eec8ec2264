//! Where programs are.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The folders of `PATH`, in order, relative ones included.
#[must_use]
pub fn folders() -> Vec<PathBuf> {
    std::env::split_paths(&super::bounded::search_path()).collect()
}

/// Whether a regular file that may be executed is at `path`.
#[must_use]
pub fn runs(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// `path` without links, if something is there.
#[must_use]
pub fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The names in a folder, in order; none if it cannot be read.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// The person's home.
#[must_use]
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}
