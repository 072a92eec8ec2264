//! The shipped suites: `fixtures/bench`, compiled in by `build.rs`.

use edt_io::directory::{FileContent, FileTree};

/// Every file of a shipped suite: its path below `fixtures/bench`, whether it is executable, its
/// bytes.
const FILES: &[(&str, bool, &[u8])] = include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// In alphabetical order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    FILES.iter().filter_map(|(path, ..)| path.strip_suffix("/suite.toml")).collect()
}

/// `None` if there is no such suite.
#[must_use]
pub fn suite(name: &str) -> Option<FileTree> {
    let prefix = format!("{name}/");
    let own = FILES.iter().filter_map(|(path, executable, bytes)| {
        Some((path.strip_prefix(&prefix)?, executable, bytes))
    });
    let files: FileTree = own
        .map(|(path, executable, bytes)| {
            (path.to_owned(), FileContent { bytes: bytes.to_vec(), executable: *executable })
        })
        .collect();
    files.contains_key("suite.toml").then_some(files)
}
