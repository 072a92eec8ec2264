//! Whole folders: their files read into memory, and written from it.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::file::{File, Open};
use super::whole;

/// A file's content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Files by their path below a folder, with `/`.
pub type Files = BTreeMap<String, Content>;

/// The regular files below `folder`, except those in folders called `.git`; links are passed over.
///
/// # Errors
/// Whatever the system says; `InvalidData` for a name that is not UTF-8, or if there are more than `most` bytes.
pub fn files(folder: &Path, most: u64) -> io::Result<Files> {
    let mut found = Files::new();
    let mut left = most;
    collect(folder, "", &mut left, &mut found)?;
    Ok(found)
}

fn collect(folder: &Path, below: &str, left: &mut u64, found: &mut Files) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name
            .to_str()
            .ok_or_else(|| invalid(&format!("{} is not UTF-8", entry.path().display())))?;
        let path = format!("{below}{name}");
        let meta = entry.path().symlink_metadata()?;
        if meta.is_dir() && name != ".git" {
            collect(&entry.path(), &format!("{path}/"), left, found)?;
        } else if meta.is_file() {
            *left =
                left.checked_sub(meta.len()).ok_or_else(|| invalid("there are too many bytes"))?;
            let executable = meta.permissions().mode() & 0o111 != 0;
            found.insert(path, Content { bytes: std::fs::read(entry.path())?, executable });
        }
    }
    Ok(())
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The names of the folders in `folder`, in order; none if it is not there.
#[must_use]
pub fn folders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Writes `files` below `folder`, which is made if it is missing; none of them may be there.
///
/// # Errors
/// Whatever the system says; a part of them may be written.
pub fn plant(folder: &Path, files: &Files) -> io::Result<()> {
    whole::make_folder(folder)?;
    for (path, content) in files {
        let file = folder.join(path);
        if let Some(parent) = file.parent().filter(|parent| *parent != folder) {
            whole::make_folder(parent)?;
        }
        let mode = if content.executable { 0o755 } else { 0o644 };
        File::open(&file, Open::New(mode))?.write_all(&content.bytes)?;
    }
    Ok(())
}

/// Adds `line` and a line end to the file `path`, made if it is missing, and waits until it is on the medium.
///
/// # Errors
/// Whatever the system says; a part of the line may be written.
pub fn add_line(path: &Path, line: &str) -> io::Result<()> {
    let file = File::open(path, Open::AppendMade)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

/// Cuts the file `path` to `len` bytes.
///
/// # Errors
/// Whatever the system says.
pub fn cut(path: &Path, len: u64) -> io::Result<()> {
    File::open(path, Open::There)?.truncate(len)
}
