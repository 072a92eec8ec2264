//! Directory trees as values, and a few operations on single files.

use edt_types::text::Shown as _;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::file::{File, OpenMode};
use super::fs;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// Files by their path below a directory, with `/`.
pub type FileTree = BTreeMap<String, FileContent>;

/// Reads the regular files below `directory`, except in directories named `.git`. Links are
/// skipped.
///
/// # Errors
/// Any error of the operating system; `InvalidData` for a name that is not UTF-8, or if the files
/// have more than `max_bytes` bytes together.
pub fn read_tree(directory: &Path, max_bytes: u64) -> io::Result<FileTree> {
    let mut found = FileTree::new();
    let mut left = max_bytes;
    collect(directory, "", &mut left, &mut found)?;
    Ok(found)
}

fn collect(directory: &Path, below: &str, left: &mut u64, found: &mut FileTree) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name
            .to_str()
            .ok_or_else(|| invalid(&format!("{} is not UTF-8", entry.path().shown())))?;
        let path = format!("{below}{name}");
        let meta = entry.path().symlink_metadata()?;
        if meta.is_dir() && name != ".git" {
            collect(&entry.path(), &format!("{path}/"), left, found)?;
        } else if meta.is_file() {
            *left = left
                .checked_sub(meta.len())
                .ok_or_else(|| invalid("the files have too many bytes"))?;
            let executable = meta.permissions().mode() & 0o111 != 0;
            found.insert(path, FileContent { bytes: std::fs::read(entry.path())?, executable });
        }
    }
    Ok(())
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The names of the subdirectories of `directory`, sorted; empty if it does not exist.
#[must_use]
pub fn subdirectories(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> =
        directories.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Writes `files` below `directory`, which is created if missing.
///
/// # Errors
/// Any error of the operating system, also if one of the files exists; some files may be written.
pub fn write_tree(directory: &Path, files: &FileTree) -> io::Result<()> {
    fs::make_dir(directory)?;
    for (path, content) in files {
        let file = directory.join(path);
        if let Some(parent) = file.parent().filter(|parent| *parent != directory) {
            fs::make_dir(parent)?;
        }
        let mode = if content.executable { 0o755 } else { 0o644 };
        File::open(&file, OpenMode::CreateNew(mode))?.write_all(&content.bytes)?;
    }
    Ok(())
}

/// Appends `line` and a line end to the file `path`, which is created if missing, and syncs the
/// file.
///
/// # Errors
/// Any error of the operating system; a part of the line may be written.
pub fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let file = File::open(path, OpenMode::AppendOrCreate)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

/// Truncates the file `path` to `len` bytes.
///
/// # Errors
/// Any error of the operating system.
pub fn truncate(path: &Path, len: u64) -> io::Result<()> {
    File::open(path, OpenMode::Existing)?.truncate(len)
}
