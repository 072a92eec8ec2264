//! `.ignore` files, which exclude files from a search that Git does not ignore (generated code,
//! test data).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use edt_io::disk::{Dir, FoundEntry, Parent};
use edt_types::RepoPath;

/// The largest `.ignore` file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The rules of every directory, read on first use.
pub(super) struct IgnoreFiles<'d> {
    root: &'d Dir,
    rules: HashMap<Vec<u8>, Option<Gitignore>>,
}

impl IgnoreFiles<'_> {
    pub(super) fn new(root: &Dir) -> IgnoreFiles<'_> {
        IgnoreFiles { root, rules: HashMap::new() }
    }

    /// Whether a rule excludes `path`. The innermost directory with a matching rule decides.
    pub(super) fn excludes(&mut self, path: &RepoPath) -> bool {
        let bytes = path.as_bytes();
        let mut directories: Vec<&[u8]> =
            std::iter::once(b"".as_slice()).chain(path.parents()).collect();
        directories.reverse();
        for directory in directories {
            let root = self.root;
            if !self.rules.contains_key(directory) {
                self.rules.insert(directory.to_vec(), rules(root, directory));
            }
            let Some(Some(rules)) = self.rules.get(directory) else { continue };
            let inside = if directory.is_empty() { bytes } else { &bytes[directory.len() + 1..] };
            match rules.matched_path_or_any_parents(Path::new(OsStr::from_bytes(inside)), false) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn rules(root: &Dir, directory: &[u8]) -> Option<Gitignore> {
    let Ok(Parent::Open(dir)) = root.beneath(directory) else { return None };
    let Ok(FoundEntry::File(_, text)) = dir.read_at_most(b".ignore", MAX_BYTES) else {
        return None;
    };
    let mut rules = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        // A malformed line is ignored, as in ripgrep.
        let _ = rules.add_line(None, line);
    }
    rules.build().ok()
}
