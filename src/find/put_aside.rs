//! `.ignore` files: what searching leaves out though Git does not ignore it (generated code, test data).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::base::RepoPath;
use crate::io::disk::{Dir, Found, Parent};

/// The longest `.ignore` file that is heeded.
const MOST: u64 = 1024 * 1024;

/// The rules of every folder asked about so far.
pub(super) struct PutAside<'d> {
    root: &'d Dir,
    rules: HashMap<Vec<u8>, Option<Gitignore>>,
}

impl PutAside<'_> {
    pub(super) fn new(root: &Dir) -> PutAside<'_> {
        PutAside { root, rules: HashMap::new() }
    }

    /// Whether a rule leaves `path` out. The innermost folder that has a word to say decides.
    pub(super) fn holds(&mut self, path: &RepoPath) -> bool {
        let whole = path.as_bytes();
        let mut folders: Vec<&[u8]> =
            std::iter::once(b"".as_slice()).chain(path.parents()).collect();
        folders.reverse();
        for folder in folders {
            let root = self.root;
            if !self.rules.contains_key(folder) {
                self.rules.insert(folder.to_vec(), rules(root, folder));
            }
            let Some(Some(rules)) = self.rules.get(folder) else { continue };
            let inside = if folder.is_empty() { whole } else { &whole[folder.len() + 1..] };
            match rules.matched_path_or_any_parents(Path::new(OsStr::from_bytes(inside)), false) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

fn rules(root: &Dir, folder: &[u8]) -> Option<Gitignore> {
    let Ok(Parent::Open(dir)) = root.beneath(folder) else { return None };
    let Ok(Found::File(_, text)) = dir.read_at_most(b".ignore", MOST) else { return None };
    let mut rules = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that is no rule is none, as for ripgrep.
        let _ = rules.add_line(None, line);
    }
    rules.build().ok()
}
