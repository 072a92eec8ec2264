//! The suites that edt brings along: `fixtures/bench`, taken into the program by `build.rs`.

use crate::io::folder::{Content, Files};

/// Every file below `fixtures/bench`: its path there, whether it may be executed, and its bytes.
const FILES: &[(&str, bool, &[u8])] = include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// The names of the suites, in order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    FILES.iter().filter_map(|(path, ..)| path.strip_suffix("/suite.toml")).collect()
}

/// The files of the suite `name`; `None` if there is no such suite.
#[must_use]
pub fn suite(name: &str) -> Option<Files> {
    let prefix = format!("{name}/");
    let own = FILES.iter().filter_map(|(path, executable, bytes)| {
        Some((path.strip_prefix(&prefix)?, executable, bytes))
    });
    let files: Files = own
        .map(|(path, executable, bytes)| {
            (path.to_owned(), Content { bytes: bytes.to_vec(), executable: *executable })
        })
        .collect();
    files.contains_key("suite.toml").then_some(files)
}
