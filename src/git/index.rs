//! The index, patched entry by entry: every other entry, the version and every extension stay as they are.
//!
//! A changed entry is overwritten in place (any version). Entries come and go in versions 2 and 3. What the patch does not
//! understand (a split or sparse index; adding to version 4, or beside an untracked cache or fsmonitor data, which count
//! positions) is left to `git update-index`, never rewritten with a loss. Format: Git's `Documentation/gitformat-index.txt`.

use std::ops::Range;

use super::Oid;
use super::draft::Folders;
use super::index_extensions::{
    Shift, be16, be32, block_starts, end_of_entries, shifted_offsets, varint,
};
use super::repo::{FileId, FileMode, Repo};
use crate::base::RepoPath;
use crate::io::disk::Stat;

/// An index as it was read.
#[derive(Debug)]
pub struct Index {
    bytes: Vec<u8>,
    version: u32,
    hash_len: usize,
    /// Where each entry starts, in order of the names.
    starts: Vec<usize>,
    /// The names in version 4, which compresses them; in 2 and 3 they stand in the entries.
    names: Vec<Vec<u8>>,
    extensions: Vec<Range<usize>>,
    end_of_entries: usize,
}

/// What the index holds for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Staged {
    /// No entry.
    Nothing,
    /// A merged entry for a file.
    File(FileId),
    /// A path that is only meant to be added later (`git add -N`).
    Intended,
    /// A link, a submodule, or an unmerged path.
    Other,
}

/// What becomes of one entry.
#[derive(Debug, Clone)]
pub struct EntryChange {
    /// The path.
    pub path: RepoPath,
    /// The file and the stat of it in the worktree; `None` to remove the entry.
    pub file: Option<(FileId, Stat)>,
}

/// The index uses something that only Git itself may rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUnderstood;

/// Fixed part of an entry before the object id: ten 32-bit fields of stat data.
const STAT_LEN: usize = 40;
const MODE_AT: usize = 24;
const EXTENDED: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
const SKIP_WORKTREE: u16 = 0x4000;

impl Index {
    /// Finds where each entry and extension stands.
    ///
    /// # Errors
    /// [`NotUnderstood`] for a split or sparse index, an unknown version or extension that must be understood, or damage.
    pub fn parse(bytes: Vec<u8>, hash_len: usize) -> Result<Index, NotUnderstood> {
        let word = |at: usize| bytes.get(at..at + 4).map(be32).ok_or(NotUnderstood);
        if bytes.get(..4) != Some(b"DIRC") || bytes.len() < 12 + hash_len {
            return Err(NotUnderstood);
        }
        let (version, count) = (word(4)?, word(8)?);
        if !(2..=4).contains(&version) {
            return Err(NotUnderstood);
        }
        let offset_table = if version == 4 { block_starts(&bytes, hash_len) } else { Vec::new() };
        let mut starts = Vec::with_capacity(count as usize);
        let (mut at, mut names) = (12, Vec::new());
        for _ in 0..count {
            starts.push(at);
            if version == 4 {
                let previous =
                    if offset_table.contains(&at) { None } else { names.last().map(Vec::as_slice) };
                let (name, end) =
                    compressed_name(&bytes, at, hash_len, previous.unwrap_or_default())
                        .ok_or(NotUnderstood)?;
                names.push(name);
                at = end;
            } else {
                at = entry_end(&bytes, at, version, hash_len).ok_or(NotUnderstood)?;
            }
        }
        let mut extensions = Vec::new();
        let (end_of_entries, trailer) = (at, bytes.len() - hash_len);
        while at < trailer {
            let len = word(at + 4)? as usize;
            let end = at.checked_add(8 + len).filter(|&end| end <= trailer).ok_or(NotUnderstood)?;
            if matches!(&bytes[at..at + 4], b"link" | b"sdir") || bytes[at].is_ascii_lowercase() {
                return Err(NotUnderstood);
            }
            extensions.push(at..end);
            at = end;
        }
        Ok(Index { bytes, version, hash_len, starts, names, extensions, end_of_entries })
    }

    /// An index without entries.
    #[must_use]
    pub fn empty(hash_len: usize) -> Index {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        bytes.resize(12 + hash_len, 0xff);
        Index {
            bytes,
            version: 2,
            hash_len,
            starts: Vec::new(),
            names: Vec::new(),
            extensions: Vec::new(),
            end_of_entries: 12,
        }
    }

    /// What it holds for `path`.
    #[must_use]
    pub fn staged(&self, path: &RepoPath) -> Staged {
        let Ok(i) = self.position(path) else { return Staged::Nothing };
        let (at, (flags, extended)) = (self.starts[i], self.flags(i));
        if flags & 0x3000 != 0 {
            return Staged::Other;
        }
        if extended & INTENT_TO_ADD != 0 {
            return Staged::Intended;
        }
        let mode = be32(&self.bytes[at + MODE_AT..]);
        let oid = Oid::from_bytes_or_panic(&self.bytes[at + STAT_LEN..][..self.hash_len]);
        match mode {
            0o100_644 => Staged::File(FileId { oid, mode: FileMode::Plain }),
            0o100_755 => Staged::File(FileId { oid, mode: FileMode::Executable }),
            _ => Staged::Other,
        }
    }

    /// The entry, or the folder of one, whose name differs from `path` only in case; `None` if `path` itself is there.
    #[must_use]
    pub fn twin(&self, path: &RepoPath) -> Option<RepoPath> {
        let wanted = path.as_bytes();
        let fits = |name: &[u8]| {
            name.eq_ignore_ascii_case(wanted) && name != wanted
                || path.parents().any(|folder| {
                    let len = folder.len();
                    name.get(len) == Some(&b'/')
                        && name[..len].eq_ignore_ascii_case(folder)
                        && &name[..len] != folder
                })
        };
        let mut names = (0..self.starts.len()).map(|i| self.name(i));
        self.position(path)
            .err()
            .and_then(|_| names.find(|name| fits(name)))
            .map(RepoPath::from_tree)
    }

    /// Whether the entry is one that a sparse checkout leaves out of the worktree.
    #[must_use]
    pub fn is_skipped(&self, path: &RepoPath) -> bool {
        self.position(path).is_ok_and(|i| self.flags(i).1 & SKIP_WORKTREE != 0)
    }

    /// Makes `changes`; `folders` tells the trees of the touched folders before and after, for the cache-tree.
    ///
    /// # Errors
    /// [`NotUnderstood`]; the index is then as it was.
    pub fn patch(
        &mut self,
        changes: &[EntryChange],
        folders: &Folders,
    ) -> Result<(), NotUnderstood> {
        let moves = changes
            .iter()
            .any(|change| self.position(&change.path).is_ok() != change.file.is_some());
        let counted = self
            .extensions
            .iter()
            .any(|at| matches!(&self.bytes[at.start..at.start + 4], b"UNTR" | b"FSMN"));
        if moves && (self.version == 4 || counted) {
            return Err(NotUnderstood);
        }
        let mut shifts = Vec::new();
        for change in changes {
            match (self.position(&change.path), &change.file) {
                (Ok(i), Some((file, stat))) => self.overwrite(i, *file, stat),
                (Ok(i), None) => shifts.push(self.remove(i)),
                (Err(i), Some((file, stat))) => {
                    shifts.push(self.insert(i, &change.path, *file, stat))
                }
                (Err(_), None) => {}
            }
        }
        let touched: Vec<(&[u8], bool)> =
            changes.iter().map(|change| (change.path.as_bytes(), moves)).collect();
        self.patch_extensions(&touched, folders, &shifts);
        let count = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    /// Puts the stat of the file at `path` into its entry; says where that stands.
    pub fn restat(&mut self, path: &RepoPath, stat: &Stat) -> Option<Range<usize>> {
        let at = self.starts[self.position(path).ok()?];
        write_stat(&mut self.bytes[at..at + STAT_LEN], stat);
        Some(at..at + STAT_LEN)
    }

    /// The file as it is to be written, checksum included; an index written without one (`index.skipHash`) stays so.
    pub fn finish(&mut self, checksum: impl FnOnce(&[u8]) -> Option<Oid>) -> &[u8] {
        let end = self.bytes.len() - self.hash_len;
        if self.bytes[end..].iter().any(|&b| b != 0)
            && let Some(sum) = checksum(&self.bytes[..end])
        {
            self.bytes[end..].copy_from_slice(sum.as_slice());
        }
        &self.bytes
    }

    fn position(&self, path: &RepoPath) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.starts.len());
        // An unmerged path has several entries; any of them serves.
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.name(middle).cmp(path.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    fn name(&self, i: usize) -> &[u8] {
        if self.version == 4 {
            return &self.names[i];
        }
        let name = &self.bytes[name_at(&self.bytes, self.starts[i], self.hash_len)..];
        &name[..memchr::memchr(0, name).unwrap_or(name.len())]
    }

    fn flags(&self, i: usize) -> (u16, u16) {
        let at = self.starts[i] + STAT_LEN + self.hash_len;
        let flags = be16(&self.bytes[at..]);
        let extended = if self.version >= 3 && flags & EXTENDED != 0 {
            be16(&self.bytes[at + 2..])
        } else {
            0
        };
        (flags, extended)
    }

    fn overwrite(&mut self, i: usize, file: FileId, stat: &Stat) {
        let (at, (flags, extended)) = (self.starts[i], self.flags(i));
        write_stat(&mut self.bytes[at..at + STAT_LEN], stat);
        self.bytes[at + MODE_AT..at + MODE_AT + 4].copy_from_slice(&file.mode.bits().to_be_bytes());
        let end = at + STAT_LEN + self.hash_len;
        self.bytes[at + STAT_LEN..end].copy_from_slice(file.oid.as_slice());
        if self.version >= 3 && flags & EXTENDED != 0 {
            self.bytes[end + 2..end + 4]
                .copy_from_slice(&(extended & !INTENT_TO_ADD).to_be_bytes());
        }
    }

    /// Where an entry was inserted or removed, and by how many bytes and entries the rest moved.
    fn insert(&mut self, i: usize, path: &RepoPath, file: FileId, stat: &Stat) -> Shift {
        let mut entry = vec![0; STAT_LEN];
        write_stat(&mut entry, stat);
        entry[MODE_AT..MODE_AT + 4].copy_from_slice(&file.mode.bits().to_be_bytes());
        entry.extend_from_slice(file.oid.as_slice());
        let name = path.as_bytes();
        let len = u16::try_from(name.len()).map_or(0xfff, |len| len.min(0xfff));
        entry.extend_from_slice(&len.to_be_bytes());
        entry.extend_from_slice(name);
        // At least one NUL, and a multiple of eight.
        entry.resize((entry.len() + 8) & !7, 0);
        let at = self.starts.get(i).copied().unwrap_or(self.end_of_entries);
        let len = entry.len();
        self.bytes.splice(at..at, entry);
        self.starts[i..].iter_mut().for_each(|start| *start += len);
        self.starts.insert(i, at);
        self.end_of_entries += len;
        for extension in &mut self.extensions {
            *extension = extension.start + len..extension.end + len;
        }
        Shift { at, bytes: i64::try_from(len).unwrap_or(0), entries: 1 }
    }

    fn remove(&mut self, i: usize) -> Shift {
        let at = self.starts.remove(i);
        let end = self.starts.get(i).copied().unwrap_or(self.end_of_entries);
        let len = end - at;
        self.bytes.drain(at..end);
        self.starts[i..].iter_mut().for_each(|start| *start -= len);
        self.end_of_entries -= len;
        for extension in &mut self.extensions {
            *extension = extension.start - len..extension.end - len;
        }
        Shift { at, bytes: -i64::try_from(len).unwrap_or(0), entries: -1 }
    }

    fn patch_extensions(&mut self, touched: &[(&[u8], bool)], folders: &Folders, shifts: &[Shift]) {
        let old: Vec<Vec<u8>> =
            self.extensions.iter().map(|at| self.bytes[at.clone()].to_vec()).collect();
        let trailer = self.bytes[self.bytes.len() - self.hash_len..].to_vec();
        self.bytes.truncate(self.end_of_entries);
        self.extensions.clear();
        let mut headers = Vec::new();
        for extension in old {
            let (signature, body) = (&extension[..4], &extension[8..]);
            let body = match signature {
                b"TREE" => super::cache_tree::patched(body, touched, folders, self.hash_len)
                    .unwrap_or_default(),
                b"IEOT" => shifted_offsets(body, shifts),
                b"EOIE" => end_of_entries(self.end_of_entries, &headers, self.hash_len),
                _ => body.to_vec(),
            };
            // A cache-tree that cannot be read is only a cache: leave it out.
            if body.is_empty() && signature == b"TREE" {
                continue;
            }
            let at = self.bytes.len();
            self.bytes.extend_from_slice(signature);
            self.bytes.extend_from_slice(&u32::try_from(body.len()).unwrap_or(0).to_be_bytes());
            headers.extend_from_slice(&self.bytes[at..]);
            self.bytes.extend_from_slice(&body);
            self.extensions.push(at..self.bytes.len());
        }
        self.bytes.extend_from_slice(&trailer);
    }
}

fn write_stat(out: &mut [u8], stat: &Stat) {
    // Git keeps the low 32 bits of each.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "as Git's fill_stat_data does"
    )]
    let fields = [
        (0, stat.ctime.0 as u32),
        (4, stat.ctime.1),
        (8, stat.mtime.0 as u32),
        (12, stat.mtime.1),
        (16, stat.dev as u32),
        (20, stat.ino as u32),
        (28, stat.uid),
        (32, stat.gid),
        (36, stat.size as u32),
    ];
    for (at, value) in fields {
        out[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
}

/// Where the name of the entry at `at` begins.
fn name_at(bytes: &[u8], at: usize, hash_len: usize) -> usize {
    let flags_at = at + STAT_LEN + hash_len;
    let extended =
        bytes.get(flags_at..flags_at + 2).is_some_and(|flags| be16(flags) & EXTENDED != 0);
    flags_at + if extended { 4 } else { 2 }
}

/// Where the entry at `at` ends, in versions 2 and 3: after at least one NUL, at a multiple of eight bytes.
fn entry_end(bytes: &[u8], at: usize, version: u32, hash_len: usize) -> Option<usize> {
    let name = name_at(bytes, at, hash_len);
    let flags = be16(bytes.get(at + STAT_LEN + hash_len..)?.get(..2)?);
    if version == 2 && flags & EXTENDED != 0 {
        return None;
    }
    let len = match usize::from(flags & 0xfff) {
        0xfff => memchr::memchr(0, bytes.get(name..)?)?,
        len => len,
    };
    let end = at + ((name - at + len + 8) & !7);
    (end <= bytes.len()).then_some(end)
}

/// The name of the entry at `at` and where it ends, in version 4.
fn compressed_name(
    bytes: &[u8],
    at: usize,
    hash_len: usize,
    previous: &[u8],
) -> Option<(Vec<u8>, usize)> {
    let name = name_at(bytes, at, hash_len);
    let (strip, used) = varint(bytes.get(name..)?)?;
    let start = name + used;
    let end = start + memchr::memchr(0, bytes.get(start..)?)?;
    let keep = previous.len().checked_sub(strip)?;
    Some(([&previous[..keep], &bytes[start..end]].concat(), end + 1))
}

impl Repo {
    /// The checksum that ends an index; `None` if hashing fails.
    #[must_use]
    pub fn checksum(&self, bytes: &[u8]) -> Option<Oid> {
        let mut hasher = gix::hash::hasher(self.inner.object_hash());
        hasher.update(bytes);
        hasher.try_finalize().ok()
    }

    /// Whether these are the bytes of an index as some program wrote it, by their checksum.
    #[must_use]
    pub fn is_whole_index(&self, bytes: &[u8]) -> bool {
        let Some(end) = bytes
            .len()
            .checked_sub(self.null().as_slice().len())
            .filter(|_| bytes.starts_with(b"DIRC"))
        else {
            return false;
        };
        let skipped = || self.inner.config_snapshot().boolean("index.skipHash") == Some(true);
        let (content, sum) = bytes.split_at(end);
        if sum == self.null().as_slice() {
            return skipped() && Index::parse(bytes.to_vec(), sum.len()).is_ok();
        }
        self.checksum(content).is_some_and(|oid| oid.as_slice() == sum)
    }
}
