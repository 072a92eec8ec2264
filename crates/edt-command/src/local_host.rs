//! The [`Host`] that this process runs on.

use std::path::{Path, PathBuf};

use super::Host;
use edt_io::{Environment, programs};

/// This machine, with the `PATH` and `HOME` of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalHost;

impl Host for LocalHost {
    fn path_directories(&self) -> Vec<PathBuf> {
        programs::search_dirs(Environment::Process)
    }

    fn is_executable(&self, path: &Path) -> bool {
        programs::is_executable(path)
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        programs::canonical(path)
    }

    fn directory_entries(&self, directory: &Path) -> Vec<String> {
        programs::names_in(directory)
    }

    fn home_directory(&self) -> Option<PathBuf> {
        programs::home(Environment::Process)
    }
}
