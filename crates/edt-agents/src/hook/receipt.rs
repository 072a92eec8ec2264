//! The receipt: facts for an uninstall that neither the hooks directory nor the configuration has.
//! The user may delete it at any time; then an uninstall leaves an empty directory, or a final line
//! break, that edt added.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::location::HooksLocation;
use super::renames::note_path;
use edt_io::failed;
use edt_io::fs::{self, PathContent};
use edt_types::Result;

/// Facts that the hooks directory does not have.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HooksReceipt {
    /// Directories in which hooks were installed; `true` if edt made the directory.
    #[serde(rename = "folders")]
    pub directories: Vec<(PathBuf, bool)>,
    /// The new paths of hooks that edt renamed.
    #[serde(rename = "kept")]
    pub moved_hooks: Vec<PathBuf>,
    /// The checksum of the original configuration, if it did not end with a line break.
    pub config_without_end: Option<u32>,
}

impl HooksReceipt {
    /// The receipt in this repository; an empty one if it cannot be read.
    #[must_use]
    pub fn of(location: &HooksLocation) -> HooksReceipt {
        match fs::read_path(&path(location)) {
            Ok(PathContent::File { bytes, .. }) => {
                serde_json::from_slice(&bytes).unwrap_or_default()
            }
            _ => HooksReceipt::default(),
        }
    }

    /// Applies `change` to the receipt and writes it.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn update(location: &HooksLocation, change: impl FnOnce(&mut HooksReceipt)) -> Result<()> {
        let (path, mut receipt) = (path(location), HooksReceipt::of(location));
        change(&mut receipt);
        let bytes = serde_json::to_vec(&receipt).unwrap_or_default();
        let directory = location.common.join("edt");
        let written = fs::make_dir(&directory).and_then(|_| fs::write_atomic(&path, &bytes, 0o666));
        written.map_err(|error| failed("write", &path, &error).into())
    }

    /// Removes the receipt, and edt's directory if it is empty.
    pub fn remove(location: &HooksLocation) {
        let _ = fs::remove_file(&path(location));
        let _ = fs::remove_file(&note_path(&location.common));
        fs::remove_empty_dir(&location.common.join("edt"));
    }
}

fn path(location: &HooksLocation) -> PathBuf {
    location.common.join("edt/hooks.json")
}
