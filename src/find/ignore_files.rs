//! `.ignore` files, which exclude files from a search that Git does not ignore (generated code,
//! test data).

use std::collections::HashMap;

use edt_git::IgnoreRules;
use edt_io::disk::{Dir, FoundEntry, Parent};
use edt_types::RepoPath;

/// The largest `.ignore` file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The rules of every directory, read on first use.
pub(super) struct IgnoreFiles<'d> {
    root: &'d Dir,
    rules: HashMap<Vec<u8>, Option<IgnoreRules>>,
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
            if let Some(excludes) = rules.excludes(inside) {
                return excludes;
            }
        }
        false
    }
}

fn rules(root: &Dir, directory: &[u8]) -> Option<IgnoreRules> {
    let Ok(Parent::Open(dir)) = root.beneath(directory) else { return None };
    let Ok(FoundEntry::File(_, text)) = dir.read_at_most(b".ignore", MAX_BYTES) else {
        return None;
    };
    Some(IgnoreRules::parse(&text))
}
