//! An index that edt does not patch (split, sparse), read by `gix`.

use gix::bstr::ByteSlice as _;
use gix::index::entry::{Flags, Mode, Stat};

use super::Oid;
use super::diff::Item;
use super::index::Staged;
use super::repo::{FileId, FileMode, Repo, Tracked, unreadable};
use crate::base::{RepoPath, Result};

impl Repo {
    /// What the index holds for `path`; in a sparse index, what the tree of a folder that it leaves out holds.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read; `OBJECT_MISSING`.
    pub fn staged_by_git(&self, path: &RepoPath) -> Result<Staged> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let Some(entry) = index.entry_by_path(path.as_bytes().as_bstr()) else {
            let Some((folder, tree)) = left_out(&index, path) else { return Ok(Staged::Nothing) };
            let below = RepoPath::from_tree(&path.as_bytes()[folder + 1..]);
            return Ok(match self.tracked(tree, &below)? {
                Tracked::Nothing => Staged::Nothing,
                Tracked::File(file) => Staged::File(file),
                _ => Staged::Other,
            });
        };
        let file = |mode| Staged::File(FileId { oid: entry.id, mode });
        Ok(match entry.mode {
            _ if entry.flags.contains(Flags::INTENT_TO_ADD) => Staged::Intended,
            Mode::FILE => file(FileMode::Plain),
            Mode::FILE_EXECUTABLE => file(FileMode::Executable),
            _ => Staged::Other,
        })
    }

    /// Whether the entry is one that a sparse checkout leaves out, by itself or with its folder.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn skipped_by_git(&self, path: &RepoPath) -> Result<bool> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        Ok(match index.entry_by_path(path.as_bytes().as_bstr()) {
            Some(entry) => entry.flags.contains(Flags::SKIP_WORKTREE),
            None => left_out(&index, path).is_some(),
        })
    }

    /// The index as it is on disk now. What gix keeps of it between calls is told apart from a newer one by a time that may be the same.
    pub(super) fn index_now(&self) -> std::result::Result<gix::index::File, gix::Error> {
        if self.index_path().exists() {
            return self.inner.open_index();
        }
        let none = gix::index::State::new(self.inner.object_hash());
        Ok(gix::index::File::from_state(none, self.index_path()))
    }

    /// The index with the files of folders that a sparse one leaves out in the folders' place.
    pub(super) fn expanded(&self, index: &gix::index::File) -> Result<gix::index::File> {
        if !index.is_sparse() {
            return Ok(index.clone());
        }
        let mut full = gix::index::State::new(self.inner.object_hash());
        for entry in index.entries() {
            let name = entry.path(index);
            if entry.mode != Mode::DIR {
                full.dangerously_push_entry(entry.stat, entry.id, entry.flags, entry.mode, name);
                continue;
            }
            for file in self.tree_diff(self.empty_tree(), entry.id)? {
                let (mode, oid) = match file.new {
                    Some(Item::File(FileId { oid, mode: FileMode::Plain })) => (Mode::FILE, oid),
                    Some(Item::File(FileId { oid, .. })) => (Mode::FILE_EXECUTABLE, oid),
                    Some(Item::Other(0o120_000, oid)) => (Mode::SYMLINK, oid),
                    Some(Item::Other(_, oid)) => (Mode::COMMIT, oid),
                    None => continue,
                };
                let path = [name.as_bytes(), file.path.as_bytes()].concat();
                full.dangerously_push_entry(
                    Stat::default(),
                    oid,
                    Flags::SKIP_WORKTREE,
                    mode,
                    path.as_bstr(),
                );
            }
        }
        full.sort_entries();
        Ok(gix::index::File::from_state(full, self.index_path()))
    }
}

/// The folder around `path` that a sparse index holds as a whole: how long its name is, and its tree.
fn left_out(index: &gix::index::State, path: &RepoPath) -> Option<(usize, Oid)> {
    let whole = |folder: &[u8]| {
        let entry = index.entry_by_path([folder, b"/"].concat().as_bstr())?;
        (entry.mode == Mode::DIR).then_some((folder.len(), entry.id))
    };
    path.parents().find_map(whole)
}
