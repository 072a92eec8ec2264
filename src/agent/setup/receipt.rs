//! The receipt: what stood in each file before, kept outside of every repository. It may be deleted at any time; then edt takes out what it
//! knows as its own, and leaves the rest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::base::Result;
use crate::git::sha256;
use crate::io::clock::process_id;
use crate::io::failed;
use crate::io::lock::{self, Held};
use crate::io::whole::{self, There};

/// What was done for one agent in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// Whether the agent's own tools were taken away.
    pub only_edt: bool,
    /// The project's root, or the person's home. What was done for one that is gone needs nothing any more.
    pub root: Option<PathBuf>,
    /// Each file that it needs.
    pub files: Vec<Written>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The file.
    pub file: PathBuf,
    /// What stood there before; `None` if nothing did.
    pub before: Option<String>,
    /// The SHA-256 of what edt left there.
    pub after: String,
    /// Folders that edt made for it, the outermost first.
    pub folders: Vec<PathBuf>,
}

/// Where receipts are, and which is meant.
#[derive(Debug, Clone)]
pub struct Drawer {
    folder: PathBuf,
}

impl Drawer {
    /// The one below the person's data, `data`.
    #[must_use]
    pub fn new(data: &Path) -> Drawer {
        Drawer { folder: data.join("setup") }
    }

    /// The receipt of `agent` in `place`; an empty one if there is none that can be read.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn find(&self, agent: &str, place: &Place) -> Result<Receipt> {
        Ok(read(&self.path(agent, place)?))
    }

    /// Puts it there, or takes it away if it is empty.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn put(&self, agent: &str, place: &Place, receipt: &Receipt) -> Result<()> {
        write(&self.path(agent, place)?, receipt)
    }

    /// What another receipt knows of `file`: another agent needs it, too.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn other(&self, agent: &str, place: &Place, file: &Path) -> Result<Option<Written>> {
        let own = self.path(agent, place)?;
        let others = whole::files_in(&self.folder).into_iter().filter(|path| *path != own);
        let counts = |receipt: &Receipt| receipt.root.as_ref().is_none_or(|root| root.exists());
        let files = others.map(|path| read(&path)).filter(counts).flat_map(|receipt| receipt.files);
        Ok({ files }.find(|one| one.file == file))
    }

    /// Waits until no other call of this person's sets up or removes.
    ///
    /// # Errors
    /// `SESSION_BUSY` if another one takes too long; `IO_ERROR`.
    pub fn lock(&self) -> Result<Locked> {
        let path = self.folder.join("lock");
        loop {
            whole::make_private(&self.folder)
                .map_err(|error| failed("make", &self.folder, &error))?;
            let held = match lock::take(&path, "setup", Duration::from_secs(20)) {
                // The one before took the folder away in this very moment.
                Err(_) if !self.folder.exists() => continue,
                held => held?,
            };
            // It did so with the lock, too, if what is there is not what this process has just written its number into.
            let own = format!("{} ", process_id());
            if whole::small(&path, 1024).is_some_and(|bytes| bytes.starts_with(own.as_bytes())) {
                return Ok(Locked { folder: self.folder.clone(), path, _held: held });
            }
        }
    }

    /// Whether any receipt was ever put here.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.folder.exists()
    }

    fn path(&self, agent: &str, place: &Place) -> Result<PathBuf> {
        let which = sha256(place.top().as_os_str().as_encoded_bytes())?;
        let short = which.get(..16).unwrap_or(&which);
        Ok(self.folder.join(format!("{agent}-{}-{short}.json", place.scope.name())))
    }
}

/// No other call sets up or removes while this lives. Then the folder goes if nothing is in it, and edt's own above it.
#[derive(Debug)]
pub struct Locked {
    folder: PathBuf,
    path: PathBuf,
    _held: Held,
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = whole::remove(&self.path);
        whole::remove_empty_folder(&self.folder);
        self.folder.parent().into_iter().for_each(whole::remove_empty_folder);
    }
}

fn read(path: &Path) -> Receipt {
    match whole::at(path) {
        Ok(There::File { bytes, .. }) => serde_json::from_slice(&bytes).unwrap_or_default(),
        _ => Receipt::default(),
    }
}

fn write(path: &Path, receipt: &Receipt) -> Result<()> {
    let wrap = |error: std::io::Error| failed("write", path, &error);
    if receipt.files.is_empty() {
        return match whole::remove(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(wrap(error).into()),
            _ => Ok(()),
        };
    }
    // An agent's settings may hold secrets: what stood there is for this person alone.
    whole::make_private(path.parent().unwrap_or(path)).map_err(wrap)?;
    let bytes = serde_json::to_vec(receipt).unwrap_or_default();
    whole::put_beside(path, &bytes, 0o600).map_err(wrap)?;
    Ok(())
}
