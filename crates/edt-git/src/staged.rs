//! The difference between a tree and the index. Directories that the cache-tree knows to be equal
//! are not read.

use std::collections::BTreeMap;
use std::ops::Range;

use gix::index::entry::{Flags, Mode, Stage};
use gix::index::extension::Tree as CacheTree;

use super::Oid;
use super::diff::{Budget, TreeDifference};
use super::file_id::{FileId, FileMode, TreeItem, item};
use super::read::ObjectKind;
use super::repo::Repo;
use super::tree::{TREE_MODE, all_entries};
use edt_types::{RepoPath, Result};

/// A directory to compare: its path with `/` at the end, its tree, and its entries in the index.
struct Directory<'i> {
    prefix: Vec<u8>,
    tree: Option<Oid>,
    entries: Range<usize>,
    cached: Option<&'i CacheTree>,
}

/// What the tree and the index have at one name.
#[derive(Default)]
struct Named {
    tree: Option<(u32, Oid)>,
    file: Option<usize>,
    below: Option<Range<usize>>,
}

impl Repo {
    /// The files, links and submodules that differ between `tree` and `index`, in order. Paths with
    /// conflicts and those to be added later are omitted.
    ///
    /// # Errors
    /// `OBJECT_MISSING`; `UNSUPPORTED_REPOSITORY` if they differ in more than a million paths.
    pub(super) fn tree_index_diff(
        &self,
        tree: Oid,
        index: &gix::index::State,
    ) -> Result<Vec<TreeDifference>> {
        let (mut out, mut budget) = (Vec::new(), Budget::default());
        let mut todo = vec![Directory {
            prefix: Vec::new(),
            tree: Some(tree),
            entries: 0..index.entries().len(),
            cached: index.tree(),
        }];
        while let Some(directory) = todo.pop() {
            let is_equal = |cached: &CacheTree| {
                cached.num_entries.is_some() && Some(cached.id) == directory.tree
            };
            if directory.cached.is_some_and(is_equal) {
                continue;
            }
            let data = match directory.tree {
                Some(oid) if oid != self.empty_tree() => self.object(oid, ObjectKind::Tree)?,
                _ => Vec::new(),
            };
            for (name, named) in self.names(&data, index, &directory) {
                let path = [&directory.prefix, name].concat();
                let subtree = named.tree.filter(|(mode, _)| *mode == TREE_MODE).map(|(_, oid)| oid);
                if subtree.is_some() || named.below.is_some() {
                    budget.add(&path)?;
                    let children = directory.cached.iter().flat_map(|cached| &cached.children);
                    todo.push(Directory {
                        prefix: [&path, b"/".as_slice()].concat(),
                        tree: subtree,
                        entries: named.below.unwrap_or_default(),
                        cached: { children }.find(|child| child.name.as_slice() == name),
                    });
                }
                let old = named.tree.filter(|(mode, _)| *mode != TREE_MODE);
                let old = old.map(|(mode, oid)| item(mode, oid));
                let new = named.file.map(|at| &index.entries()[at]);
                let is_compared = |entry: &gix::index::Entry| {
                    entry.stage() == Stage::Unconflicted
                        && !entry.flags.contains(Flags::INTENT_TO_ADD)
                };
                if new.is_some_and(|entry| !is_compared(entry)) {
                    continue;
                }
                let new = new.map(indexed);
                if old != new {
                    budget.add(&path)?;
                    out.push(TreeDifference { path: RepoPath::from_tree(&path), old, new });
                }
            }
        }
        out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(out)
    }

    /// The names in a directory, of its tree's `data` and of the index.
    fn names<'d>(
        &self,
        data: &'d [u8],
        index: &'d gix::index::State,
        directory: &Directory<'_>,
    ) -> BTreeMap<&'d [u8], Named> {
        let mut names: BTreeMap<&[u8], Named> = BTreeMap::new();
        for (mode, name, oid) in all_entries(data, self.null().as_slice().len()) {
            names.entry(name).or_default().tree = Some((mode, oid));
        }
        let mut at = directory.entries.start;
        while at < directory.entries.end {
            let rest = &index.entries()[at].path(index)[directory.prefix.len()..];
            let Some(slash) = memchr::memchr(b'/', rest) else {
                names.entry(rest).or_default().file.get_or_insert(at);
                at += 1;
                continue;
            };
            // The entries below a directory follow each other.
            let below = &index.entries()[at..directory.entries.end];
            let len = below.partition_point(|entry| {
                entry.path(index)[directory.prefix.len()..].starts_with(&rest[..=slash])
            });
            names.entry(&rest[..slash]).or_default().below = Some(at..at + len);
            at += len;
        }
        names
    }
}

fn indexed(entry: &gix::index::Entry) -> TreeItem {
    match entry.mode {
        Mode::FILE | Mode::FILE_EXECUTABLE => TreeItem::File(FileId {
            oid: entry.id,
            mode: FileMode::of(entry.mode == Mode::FILE_EXECUTABLE),
        }),
        mode => TreeItem::Other(mode.bits(), entry.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    #[expect(clippy::disallowed_methods, reason = "Git is the judge")]
    fn git(at: &std::path::Path, args: &[&str]) -> String {
        let output = std::process::Command::new("git").current_dir(at).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Git is the judge, with a valid cache-tree in some directories and without one.
    #[test]
    fn the_difference_is_that_of_git() {
        let files = ["a", "a.c", "d/e/f", "d/g", "dir", "k/l", "m/n/o", "z"];
        let scratch = ScratchRepo::with(&files.map(|name| (name, "1\n")));
        let write = |name: &str| {
            let full = scratch.path().join(name);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            std::fs::write(full, "2\n").unwrap();
        };
        let compared = || {
            let found = Repo::open(scratch.path()).unwrap().staged().unwrap();
            let letter = |one: &TreeDifference| match (one.old, one.new) {
                (None, _) => "A",
                (_, None) => "D",
                _ => "M",
            };
            let found: Vec<String> =
                found.iter().map(|one| format!("{}\t{}", letter(one), one.path)).collect();
            let args = ["diff", "--cached", "--name-status", "--no-renames"];
            let listed = git(scratch.path(), &args);
            assert_eq!(found, listed.lines().collect::<Vec<_>>());
            found.len()
        };
        assert_eq!(compared(), 0);
        write("d/e/f");
        write("new/x/y");
        git(scratch.path(), &["add", "--all"]);
        assert_eq!(compared(), 2);
        // A file becomes a directory, and a directory a file.
        std::fs::remove_file(scratch.path().join("dir")).unwrap();
        write("dir/inner");
        std::fs::remove_dir_all(scratch.path().join("m")).unwrap();
        write("m");
        git(scratch.path(), &["add", "--all"]);
        assert_eq!(compared(), 6);
        git(scratch.path(), &["rm", "--quiet", "-r", "k", "a.c"]);
        assert_eq!(compared(), 8);
        write("later");
        git(scratch.path(), &["add", "--intent-to-add", "later"]);
        assert_eq!(compared(), 8);
    }
}
