//! The receipt: the original content of each file, stored outside every repository. The user may
//! delete it at any time; then edt removes only what it recognises as its own, and leaves the rest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::target::SetupTarget;
use edt_git::sha256;
use edt_io::failed;
use edt_io::fs::{self, PathContent};
use edt_io::lock::{self, LockGuard};
use edt_io::process::process_id;
use edt_types::Result;

/// What `edt setup` did for one agent and one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SetupReceipt {
    /// Whether the agent's own tools were disabled.
    pub only_edt: bool,
    /// The project's root, or the user's home directory. If it no longer exists, the receipt is
    /// ignored.
    pub root: Option<PathBuf>,
    /// Each file that the agent needs.
    pub files: Vec<ReceiptFile>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptFile {
    /// The file.
    pub file: PathBuf,
    /// Its original content; `None` if there was no file.
    #[serde(rename = "before")]
    pub original: Option<String>,
    /// The SHA-256 of the content that edt wrote.
    pub after: String,
    /// Directories that edt made for it, the outermost first.
    #[serde(rename = "folders")]
    pub directories: Vec<PathBuf>,
}

/// The directory of receipts.
#[derive(Debug, Clone)]
pub struct ReceiptStore {
    directory: PathBuf,
}

impl ReceiptStore {
    /// The store below edt's data directory of the user.
    #[must_use]
    pub fn new(data: &Path) -> ReceiptStore {
        ReceiptStore { directory: data.join("setup") }
    }

    /// The receipt of `agent` for `target`; an empty one if no receipt can be read.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn find(&self, agent: &str, target: &SetupTarget) -> Result<SetupReceipt> {
        Ok(read(&self.path(agent, target)?))
    }

    /// Writes a receipt, or removes it if it lists no files.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn put(&self, agent: &str, target: &SetupTarget, receipt: &SetupReceipt) -> Result<()> {
        write(&self.path(agent, target)?, receipt)
    }

    /// The entry for `file` in another receipt: another agent needs the file, too.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn find_in_others(
        &self,
        agent: &str,
        target: &SetupTarget,
        file: &Path,
    ) -> Result<Option<ReceiptFile>> {
        let own = self.path(agent, target)?;
        let others = fs::files_in(&self.directory).into_iter().filter(|path| *path != own);
        let root_exists =
            |receipt: &SetupReceipt| receipt.root.as_ref().is_none_or(|root| root.exists());
        let mut files =
            others.map(|path| read(&path)).filter(root_exists).flat_map(|receipt| receipt.files);
        Ok(files.find(|one| one.file == file))
    }

    /// Whether some receipt says that edt wrote `text` to `file`. Several agents may need the file.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn has_written(&self, file: &Path, text: &str) -> Result<bool> {
        let after = sha256(text.as_bytes())?;
        let receipts = fs::files_in(&self.directory).into_iter().map(|path| read(&path));
        Ok(receipts
            .flat_map(|receipt| receipt.files)
            .any(|one| one.file == file && one.after == after))
    }

    /// Waits until no other `edt setup` of this user runs.
    ///
    /// # Errors
    /// `SESSION_BUSY` after 20 s; `IO_ERROR`.
    pub fn lock(&self) -> Result<SetupLock> {
        let path = self.directory.join("lock");
        loop {
            fs::make_private_dir(&self.directory)
                .map_err(|error| failed("make", &self.directory, &error))?;
            let guard = match lock::acquire(&path, "edt setup", Duration::from_secs(20)) {
                // The previous owner has just removed the directory.
                Err(_) if !self.directory.exists() => continue,
                guard => guard?,
            };
            // If the file does not have this process's id, the previous owner removed it after this
            // process had opened it.
            let own = format!("{} ", process_id());
            if fs::read_small(&path, 1024).is_some_and(|bytes| bytes.starts_with(own.as_bytes())) {
                let directory = self.directory.clone();
                return Ok(SetupLock { directory, path, _guard: guard });
            }
        }
    }

    /// Whether the directory of receipts exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.directory.exists()
    }

    fn path(&self, agent: &str, target: &SetupTarget) -> Result<PathBuf> {
        let hash = sha256(target.top().as_os_str().as_encoded_bytes())?;
        let short = hash.get(..16).unwrap_or(&hash);
        Ok(self.directory.join(format!("{agent}-{}-{short}.json", target.scope.name())))
    }
}

/// While it lives, no other `edt setup` of this user runs. Then the store's directory is removed if
/// it is empty, and so is edt's data directory.
#[derive(Debug)]
pub struct SetupLock {
    directory: PathBuf,
    path: PathBuf,
    _guard: LockGuard,
}

impl Drop for SetupLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        fs::remove_empty_dir(&self.directory);
        self.directory.parent().into_iter().for_each(fs::remove_empty_dir);
    }
}

fn read(path: &Path) -> SetupReceipt {
    match fs::read_path(path) {
        Ok(PathContent::File { bytes, .. }) => serde_json::from_slice(&bytes).unwrap_or_default(),
        _ => SetupReceipt::default(),
    }
}

fn write(path: &Path, receipt: &SetupReceipt) -> Result<()> {
    let wrap = |error: std::io::Error| failed("write", path, &error);
    if receipt.files.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(wrap(error).into()),
            _ => Ok(()),
        };
    }
    // An agent's settings may contain secrets: only this user may read the originals.
    fs::make_private_dir(path.parent().unwrap_or(path)).map_err(wrap)?;
    let bytes = serde_json::to_vec(receipt).unwrap_or_default();
    fs::write_atomic_unique(path, &bytes, 0o600).map_err(wrap)?;
    Ok(())
}
