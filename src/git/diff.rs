//! Which paths differ between two trees. Equal folders are not opened: the cost follows what changed.

use super::Oid;
use super::read::ObjectKind;
use super::repo::{FileId, FileMode, Repo};
use super::tree::{FOLDER, all_entries};
use crate::base::{RepoPath, Result};

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differs {
    /// The path.
    pub path: RepoPath,
    /// What the first tree holds.
    pub old: Option<Item>,
    /// What the second tree holds.
    pub new: Option<Item>,
}

/// How untracked files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untracked {
    /// A folder of which nothing is tracked, as one.
    Folders,
    /// One by one.
    Files,
}

impl Differs {
    /// Whether both sides are files, or nothing: what edt changes.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        [self.old, self.new].iter().flatten().all(|item| item.file().is_some())
    }
}

/// What a tree holds at a path that is not a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A file.
    File(FileId),
    /// A link or a submodule, which edt does not change.
    Other(u32, Oid),
}

impl Item {
    /// The file, if it is one.
    #[must_use]
    pub fn file(self) -> Option<FileId> {
        match self {
            Item::File(file) => Some(file),
            Item::Other(..) => None,
        }
    }

    /// The object: a blob, a link's text, or a submodule's commit.
    #[must_use]
    pub fn oid(self) -> Oid {
        match self {
            Item::File(file) => file.oid,
            Item::Other(_, oid) => oid,
        }
    }

    /// The mode number.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Item::File(file) => file.mode.bits(),
            Item::Other(mode, _) => mode,
        }
    }
}

impl Repo {
    /// The paths in which the trees `old` and `new` differ, in order.
    ///
    /// # Errors
    /// `OBJECT_MISSING`.
    pub fn tree_diff(&self, old: Oid, new: Oid) -> Result<Vec<Differs>> {
        self.tree_diff_by(old, new, |oid| self.object(oid, ObjectKind::Tree))
    }

    /// The same for trees that `read` reads.
    pub(super) fn tree_diff_by(
        &self,
        old: Oid,
        new: Oid,
        read: impl Fn(Oid) -> Result<Vec<u8>>,
    ) -> Result<Vec<Differs>> {
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
            for (name, before, after) in in_step(by_name(&old, len), by_name(&new, len)) {
                if before == after {
                    continue;
                }
                let path = [&prefix, name].concat();
                let folder = |at: Option<(u32, Oid)>| {
                    at.filter(|(mode, _)| *mode == FOLDER).map(|(_, oid)| oid)
                };
                if folder(before).is_some() || folder(after).is_some() {
                    todo.push(([&path, b"/".as_slice()].concat(), folder(before), folder(after)));
                }
                let item = |at: Option<(u32, Oid)>| {
                    at.filter(|(mode, _)| *mode != FOLDER).map(|(mode, oid)| item(mode, oid))
                };
                if item(before) != item(after) {
                    out.push(Differs {
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

fn item(mode: u32, oid: Oid) -> Item {
    if mode & 0o170_000 == 0o100_000 {
        Item::File(FileId { oid, mode: FileMode::of(mode & 0o100 != 0) })
    } else {
        Item::Other(mode, oid)
    }
}

/// The entries of a raw tree by their names. They stand almost in this order, so that sorting them costs one look at each.
fn by_name(tree: &[u8], hash_len: usize) -> Vec<(&[u8], (u32, Oid))> {
    let mut all: Vec<_> =
        all_entries(tree, hash_len).map(|(mode, name, oid)| (name, (mode, oid))).collect();
    all.sort_by_key(|(name, _)| *name);
    all.dedup_by_key(|(name, _)| *name);
    all
}

/// Every name of two sorted lists, with what each has under it.
fn in_step<'t, T: Copy>(
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
