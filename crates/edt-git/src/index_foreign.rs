//! Reads an index that edt does not patch (split, sparse) through `gix`.

use gix::bstr::ByteSlice as _;
use gix::index::entry::{Flags, Mode, Stat};

use super::Oid;
use super::file_id::{FileId, FileMode, Tracked, TreeItem};
use super::index::IndexState;
use super::repo::{Repo, unreadable};
use edt_types::{RepoPath, Result};

impl Repo {
    /// What the index has for `path`. In a sparse index: what the tree of a collapsed directory
    /// has.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read; `OBJECT_MISSING`.
    pub fn staged_via_gix(&self, path: &RepoPath) -> Result<IndexState> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let Some(entry) = index.entry_by_path(path.as_bytes().as_bstr()) else {
            if index.entry_range(path.as_bytes().as_bstr()).is_some() {
                return Ok(IndexState::Unmerged);
            }
            let Some((directory, tree)) = left_out(&index, path) else {
                return Ok(IndexState::Nothing);
            };
            let below = RepoPath::from_tree(&path.as_bytes()[directory + 1..]);
            return Ok(match self.tracked(tree, &below)? {
                Tracked::Nothing => IndexState::Nothing,
                Tracked::File(file) => IndexState::File(file),
                _ => IndexState::Other,
            });
        };
        let file = |mode| IndexState::File(FileId { oid: entry.id, mode });
        Ok(match entry.mode {
            _ if entry.flags.contains(Flags::INTENT_TO_ADD) => IndexState::IntentToAdd,
            Mode::FILE => file(FileMode::Plain),
            Mode::FILE_EXECUTABLE => file(FileMode::Executable),
            _ => IndexState::Other,
        })
    }

    /// Whether the index entry has this inode, size and time of the last change of the content, in
    /// seconds and nanoseconds. False if the index does not know.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn index_has_stat(&self, path: &RepoPath, stat: [u64; 4]) -> Result<bool> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        let Some(entry) = index.entry_by_path(path.as_bytes().as_bstr()) else { return Ok(false) };
        let Stat { ino, size, mtime, .. } = entry.stat;
        // The index has only the lower half of larger numbers.
        let same = |one: u32, other: u64| u64::from(one) == other & u64::from(u32::MAX);
        Ok(ino != 0
            && same(ino, stat[0])
            && same(size, stat[1])
            && same(mtime.secs, stat[2])
            && (mtime.nsecs == 0 || same(mtime.nsecs, stat[3])))
    }

    /// Whether a sparse checkout leaves out the entry, or its directory.
    ///
    /// # Errors
    /// `IO_ERROR` if it cannot be read.
    pub fn skipped_via_gix(&self, path: &RepoPath) -> Result<bool> {
        let index = self.index_now().map_err(|error| unreadable("the index", &error))?;
        Ok(match index.entry_by_path(path.as_bytes().as_bstr()) {
            Some(entry) => entry.flags.contains(Flags::SKIP_WORKTREE),
            None => left_out(&index, path).is_some(),
        })
    }

    /// The index as it is on disk now. gix's cached copy is not used: gix compares time stamps,
    /// which may be equal.
    pub(super) fn index_now(&self) -> std::result::Result<gix::index::File, gix::Error> {
        if self.index_path().exists() {
            return self.inner.open_index();
        }
        let none = gix::index::State::new(self.inner.object_hash());
        Ok(gix::index::File::from_state(none, self.index_path()))
    }

    /// The index with each collapsed directory of a sparse index replaced by its files.
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
                    Some(TreeItem::File(FileId { oid, mode: FileMode::Plain })) => {
                        (Mode::FILE, oid)
                    }
                    Some(TreeItem::File(FileId { oid, .. })) => (Mode::FILE_EXECUTABLE, oid),
                    Some(TreeItem::Other(0o120_000, oid)) => (Mode::SYMLINK, oid),
                    Some(TreeItem::Other(_, oid)) => (Mode::COMMIT, oid),
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

/// The collapsed directory of a sparse index that contains `path`: the length of its name, and its
/// tree.
fn left_out(index: &gix::index::State, path: &RepoPath) -> Option<(usize, Oid)> {
    let collapsed = |directory: &[u8]| {
        let entry = index.entry_by_path([directory, b"/"].concat().as_bstr())?;
        (entry.mode == Mode::DIR).then_some((directory.len(), entry.id))
    };
    path.parents().find_map(collapsed)
}
