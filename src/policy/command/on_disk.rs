//! The programs of this machine.

use std::path::{Path, PathBuf};

use super::Programs;
use crate::io::programs;

/// The programs of this machine, by the `PATH` and `HOME` that edt itself was given.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnDisk;

impl Programs for OnDisk {
    fn folders(&self) -> Vec<PathBuf> {
        programs::folders()
    }

    fn runs(&self, path: &Path) -> bool {
        programs::runs(path)
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        programs::real(path)
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        programs::names(folder)
    }

    fn home(&self) -> Option<PathBuf> {
        programs::home()
    }
}
