//! A large session, made with the library: for the tests in a browser and for `benches/review.rs`.

use std::fmt::Write as _;
use std::path::Path;

use edt_core::{Options, Request, Workspace};

/// How many files the repository has, each with [`LINES`] lines.
const FILES: u64 = 20;
const LINES: u64 = 1_000;

/// The file of the long diff, if there is one.
pub(crate) const LONG_FILE: &str = "data/long.txt";

fn path(file: u64) -> String {
    format!("src/part{}/file{file}.rs", file % 5)
}

fn line(file: u64, number: u64, value: u64) -> String {
    format!("pub const VALUE_{file}_{number}: u64 = {value};\n")
}

/// The files of the repository before the session.
pub(crate) fn files() -> Vec<(String, String)> {
    let text = |file| (0..LINES).fold(String::new(), |text, number| text + &line(file, number, 0));
    (0..FILES).map(|file| (path(file), text(file))).collect()
}

/// Makes `edits` edits in the repository at `root`, which has [`files`]. Then one that adds a file
/// of `long` lines, unless that is 0.
pub(crate) fn make(root: &Path, edits: u64, long: u64) {
    let mut workspace = Workspace::open(root, Options::default()).expect("a repository");
    for edit in 0..edits {
        let (file, number) = (edit % FILES, edit / FILES * 7 % LINES);
        let round = edit / FILES * 7 / LINES;
        let (old, new) = (line(file, number, round), line(file, number, round + 1));
        let message = format!("value {number} of file {file}: raise it\n\nThe limit was too low.");
        let request = Request::new(&message).agent("generator");
        workspace
            .apply(&request.edit(&path(file), old.trim_end(), new.trim_end()))
            .expect("an edit");
    }
    if long > 0 {
        let text = (0..long).fold(String::new(), |mut text, number| {
            let _ = writeln!(text, "{number:>6} the quick brown fox jumps over the lazy dog");
            text
        });
        let request = Request::new("data: add a long file").agent("generator");
        workspace.apply(&request.create(LONG_FILE, text)).expect("an edit");
    }
}
