//! The place of the index file, and the finding if another program holds it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use edt_io::disk::Dir;
use edt_io::failed;
use edt_types::text::Shown as _;
use edt_types::{Code, Finding, Result};

/// The name of the staged index.
pub(super) const STAGED: &[u8] = b"index";
/// That of one which replaces another staged one.
pub(super) const FRESH: &[u8] = b"index.new";

pub(super) fn open_directory(index: &Path) -> Result<(Dir, Vec<u8>)> {
    let directory = index.parent().unwrap_or(index);
    let name = index.file_name().unwrap_or_default().as_bytes().to_vec();
    let dir = Dir::open(directory).map_err(|error| failed("open", directory, &error))?;
    Ok((dir, name))
}

pub(super) fn busy(path: &Path, what: &str) -> Finding {
    Finding::new(
        Code::RepositoryBusy,
        format!("The index {} {what}.", path.shown()),
        "Repeat the call. If no Git program is running here, a crashed one left index.lock: ask the \
         user to remove it.",
    ).nothing_changed()
}
