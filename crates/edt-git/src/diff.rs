//! The paths that differ between two trees. Equal subtrees are not read: the cost depends on the
//! size of the difference.

use super::Oid;
use super::file_id::{TreeItem, item};
use super::read::ObjectKind;
use super::repo::Repo;
use super::tree::{TREE_MODE, all_entries};
use edt_types::{Code, Finding, RepoPath, Result};

/// How much memory a list of paths may take, in bytes, with the entries of each path. A million
/// paths of 100 bytes fit; a tree of trees can have more paths than fit in memory.
const MAX_LISTED: usize = 256 << 20;
/// The memory of one listed path without its text.
const ENTRY_BYTES: usize = size_of::<TreeDifference>() + 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDifference {
    pub path: RepoPath,
    /// The entry in the first tree.
    pub old: Option<TreeItem>,
    /// The entry in the second tree.
    pub new: Option<TreeItem>,
}

/// How untracked files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untracked {
    /// A directory without tracked files is one path.
    Directories,
    /// Every file is listed.
    Files,
}

impl TreeDifference {
    /// Whether each side is a file or absent: the kind of change that edt makes.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        [self.old, self.new].iter().flatten().all(|item| item.file().is_some())
    }
}

impl Repo {
    /// The paths in which the trees `old` and `new` differ, in order.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; `UNSUPPORTED_REPOSITORY` if they differ in more than a million paths.
    pub fn tree_diff(&self, old: Oid, new: Oid) -> Result<Vec<TreeDifference>> {
        self.tree_diff_by(old, new, |oid| self.object(oid, ObjectKind::Tree))
    }

    /// The same, with `read` to read trees.
    pub(super) fn tree_diff_by(
        &self,
        old: Oid,
        new: Oid,
        read: impl Fn(Oid) -> Result<Vec<u8>>,
    ) -> Result<Vec<TreeDifference>> {
        self.tree_diff_within(old, new, read, Budget::default())
    }

    fn tree_diff_within(
        &self,
        old: Oid,
        new: Oid,
        read: impl Fn(Oid) -> Result<Vec<u8>>,
        mut budget: Budget,
    ) -> Result<Vec<TreeDifference>> {
        let read = |oid: Option<Oid>| match oid {
            Some(oid) if oid != self.empty_tree() => read(oid),
            _ => Ok(Vec::new()),
        };
        let mut out = Vec::new();
        let mut todo = vec![(Vec::new(), Some(old), Some(new))];
        while let Some((prefix, old, new)) = todo.pop() {
            if old == new {
                continue;
            }
            let (old, new) = (read(old)?, read(new)?);
            let len = self.null().as_slice().len();
            for (name, before, after) in merge_join(by_name(&old, len), by_name(&new, len)) {
                if before == after {
                    continue;
                }
                let path = [&prefix, name].concat();
                budget.add(&path)?;
                let directory = |at: Option<(u32, Oid)>| {
                    at.filter(|(mode, _)| *mode == TREE_MODE).map(|(_, oid)| oid)
                };
                if directory(before).is_some() || directory(after).is_some() {
                    todo.push((
                        [&path, b"/".as_slice()].concat(),
                        directory(before),
                        directory(after),
                    ));
                }
                let item = |at: Option<(u32, Oid)>| {
                    at.filter(|(mode, _)| *mode != TREE_MODE).map(|(mode, oid)| item(mode, oid))
                };
                if item(before) != item(after) {
                    out.push(TreeDifference {
                        path: RepoPath::from_tree(&path),
                        old: item(before),
                        new: item(after),
                    });
                }
            }
        }
        out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(out)
    }
}

/// The memory that is left for a list of paths.
pub(super) struct Budget {
    left: usize,
    paths: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: MAX_LISTED, paths: 0 }
    }
}

impl Budget {
    /// Counts one path that is listed or visited.
    ///
    /// # Errors
    /// `UNSUPPORTED_REPOSITORY` if nothing is left for it.
    pub(super) fn add(&mut self, path: &[u8]) -> Result<()> {
        let Some(left) = self.left.checked_sub(path.len() + ENTRY_BYTES) else {
            let message = format!(
                "The trees differ in more than {} paths, which is more than edt compares.",
                self.paths
            );
            let remedy = "Compare or check out a part of the tree with Git.";
            return Err(Finding::new(Code::UnsupportedRepository, message, remedy)
                .nothing_changed()
                .into());
        };
        (self.left, self.paths) = (left, self.paths + 1);
        Ok(())
    }
}

/// The entries of a raw tree, sorted by name. They are nearly in this order already, so sorting is
/// cheap.
fn by_name(tree: &[u8], hash_len: usize) -> Vec<(&[u8], (u32, Oid))> {
    let mut all: Vec<_> =
        all_entries(tree, hash_len).map(|(mode, name, oid)| (name, (mode, oid))).collect();
    all.sort_by_key(|(name, _)| *name);
    all.dedup_by_key(|(name, _)| *name);
    all
}

/// Every name of two sorted lists, with its value in each.
fn merge_join<'t, T: Copy>(
    old: Vec<(&'t [u8], T)>,
    new: Vec<(&'t [u8], T)>,
) -> impl Iterator<Item = (&'t [u8], Option<T>, Option<T>)> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    std::iter::from_fn(move || {
        let name = old.peek().into_iter().chain(new.peek()).map(|(name, _)| *name).min()?;
        let value = |(_, value)| value;
        Some((
            name,
            old.next_if(|one| one.0 == name).map(value),
            new.next_if(|one| one.0 == name).map(value),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_id::{FileId, FileMode};
    use crate::{ObjectWriter, TreeChange};
    use edt_testkit::ScratchRepo;

    /// Trees of two equal trees, twenty levels deep, have a million files in twenty objects.
    #[test]
    fn a_tree_of_trees_with_too_many_paths_is_refused() {
        let scratch = ScratchRepo::unborn();
        let repo = Repo::open(scratch.path()).unwrap();
        let mut writer = ObjectWriter::new(&repo);
        let blob = writer.write_blob(b"x").unwrap();
        let file = Some(FileId { oid: blob, mode: FileMode::Plain });
        let change = |path: &str| TreeChange { path: RepoPath::from_tree(path.as_bytes()), file };
        let mut tree = writer.write_tree(repo.empty_tree(), &[change("f")]).unwrap().0;
        let (mut trees, mut level) = (std::collections::HashMap::new(), 0);
        trees.insert(tree, b"100644 f\0".iter().chain(blob.as_slice()).copied().collect());
        for _ in 0..20 {
            let entry = |name: &str| [b"40000 ", name.as_bytes(), b"\0", tree.as_slice()].concat();
            let data = [entry("a"), entry("b")].concat();
            level += 1;
            tree = Oid::from_bytes_or_panic(&[level; 20]);
            trees.insert(tree, data);
        }
        let read = |oid: Oid| Ok(trees[&oid].clone());
        let found = repo.tree_diff_within(
            repo.empty_tree(),
            tree,
            read,
            Budget { left: 1000 * ENTRY_BYTES, paths: 0 },
        );
        assert_eq!(found.unwrap_err().codes(), ["UNSUPPORTED_REPOSITORY"]);
    }
}
