//! Finds the paths that Git may convert, among many.

use super::convert::attribute_file;
use super::{Oid, Repo};
use edt_types::{RepoPath, Result};

/// Answers [`Repo::may_convert`] for many paths in order, with one look at each directory.
pub(super) struct ConversionScan<'r> {
    repo: &'r Repo,
    everywhere: bool,
    /// The directories from the root to that of the last path.
    levels: Vec<Level>,
}

struct Level {
    directory: Vec<u8>,
    /// What the commit has there.
    tree: Option<Oid>,
    converts: bool,
}

impl<'r> ConversionScan<'r> {
    /// `tree` is the recorded root, whose `.gitattributes` files serve where the worktree has none.
    pub(super) fn new(repo: &'r Repo, tree: Oid) -> Result<ConversionScan<'r>> {
        let everywhere = repo.may_convert_everywhere();
        let mut scan = ConversionScan { repo, everywhere, levels: Vec::new() };
        if !everywhere {
            scan.enter(Vec::new(), Some(tree))?;
        }
        Ok(scan)
    }

    /// As [`Repo::may_convert`].
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub(super) fn may_convert(&mut self, path: &RepoPath) -> Result<bool> {
        let directory = path.split().0;
        while self.levels.len() > 1
            && self.levels.last().is_some_and(|last| below(directory, &last.directory).is_none())
        {
            self.levels.pop();
        }
        while let Some(last) = self.levels.last() {
            let rest = below(directory, &last.directory).unwrap_or_default();
            if last.converts || rest.is_empty() {
                return Ok(last.converts);
            }
            let name = rest.split(|&b| b == b'/').next().unwrap_or_default();
            let tree = last.tree.map(|tree| self.repo.subtree(tree, name)).transpose()?.flatten();
            self.enter(directory[..directory.len() - rest.len() + name.len()].to_vec(), tree)?;
        }
        Ok(self.everywhere)
    }

    fn enter(&mut self, directory: Vec<u8>, tree: Option<Oid>) -> Result<()> {
        let file = attribute_file(&directory);
        let on_disk = !matches!(self.repo.root().stat(file.as_bytes()), Ok(None));
        let converts = on_disk
            || match tree {
                Some(tree) => self.repo.tree_contains(tree, &attribute_file(b""))?,
                None => false,
            };
        self.levels.push(Level { directory, tree, converts });
        Ok(())
    }
}

/// The part of `directory` below `above`; `None` if it is elsewhere.
fn below<'d>(directory: &'d [u8], above: &[u8]) -> Option<&'d [u8]> {
    let rest = directory.strip_prefix(above)?;
    if above.is_empty() || rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_below_another_one() {
        for (directory, above, rest) in [
            ("", "", Some("")),
            ("a/b", "", Some("a/b")),
            ("a/b", "a", Some("b")),
            ("a/b", "a/b", Some("")),
            ("ab", "a", None),
            ("a", "a/b", None),
        ] {
            let found = below(directory.as_bytes(), above.as_bytes());
            assert_eq!(found, rest.map(str::as_bytes), "{directory:?} below {above:?}");
        }
    }
}
