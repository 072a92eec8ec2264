//! The receipt: what neither the hooks folder nor the configuration can tell at the end. It may be deleted at any time; then an
//! empty folder or a last line break stays that was not there before.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::place::Place;
use super::renames::note;
use crate::base::Result;
use crate::io::failed;
use crate::io::whole::{self, There};

/// What the hooks folder cannot tell.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// Folders that hooks were put in; `true` if edt made it.
    pub folders: Vec<(PathBuf, bool)>,
    /// Hooks that edt moved aside, where they are kept.
    pub kept: Vec<PathBuf>,
    /// The checksum of the configuration before, if it did not end in a line break.
    pub config_without_end: Option<u32>,
}

impl Receipt {
    /// The receipt in this repository; an empty one if it cannot be read.
    #[must_use]
    pub fn of(place: &Place) -> Receipt {
        match whole::at(&path(place)) {
            Ok(There::File { bytes, .. }) => serde_json::from_slice(&bytes).unwrap_or_default(),
            _ => Receipt::default(),
        }
    }

    /// Changes it.
    ///
    /// # Errors
    /// `IO_ERROR`, `GIT_DIR_READ_ONLY`.
    pub fn remember(place: &Place, what: impl FnOnce(&mut Receipt)) -> Result<()> {
        let (path, mut receipt) = (path(place), Receipt::of(place));
        what(&mut receipt);
        let bytes = serde_json::to_vec(&receipt).unwrap_or_default();
        let folder = place.common.join("edt");
        let written = whole::make_folder(&folder).and_then(|_| whole::put(&path, &bytes, 0o666));
        written.map_err(|error| failed("write", &path, &error).into())
    }

    /// Removes it, and edt's folder if nothing else is in it.
    pub fn forget(place: &Place) {
        let _ = whole::remove(&path(place));
        let _ = whole::remove(&note(&place.common));
        whole::remove_empty_folder(&place.common.join("edt"));
    }
}

fn path(place: &Place) -> PathBuf {
    place.common.join("edt/hooks.json")
}
