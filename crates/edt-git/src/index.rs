//! Patches the index entry by entry: every other entry, the version and every extension stay as
//! they are.
//!
//! A changed entry is overwritten in place (any version). Entries are added and removed in versions
//! 2 and 3. Unsupported cases are left to `git update-index`, so that nothing is lost: a split or
//! sparse index, and adding entries to version 4 or next to an untracked cache or fsmonitor data,
//! which count positions. Format: Git's `Documentation/gitformat-index.txt`.

use std::ops::Range;

use super::index_extensions::{
    Shift, be16, be32, block_starts, end_of_entries, is_split_or_sparse, shifted_offsets, varint,
};
use super::object_writer::TouchedTrees;
use super::{FileId, FileMode, Oid, Repo};
use edt_io::disk::Stat;
use edt_types::RepoPath;
use sha1::Digest as _;

/// A parsed index.
#[derive(Debug)]
pub struct Index {
    bytes: Vec<u8>,
    version: u32,
    hash_len: usize,
    /// The start of each entry, in the order of the names.
    starts: Vec<usize>,
    /// The newest time of a file in an entry, in seconds since 1970.
    newest: u32,
    /// The names in version 4, which compresses them; versions 2 and 3 have them in the entries.
    names: Vec<Vec<u8>>,
    extensions: Vec<Range<usize>>,
    end_of_entries: usize,
}

/// What the index has for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    Nothing,
    /// A merged entry of a file.
    File(FileId),
    /// A path to be added later (`git add -N`).
    IntentToAdd,
    /// A path with a merge conflict.
    Unmerged,
    /// A symbolic link or a submodule.
    Other,
}

/// The change of one entry.
#[derive(Debug, Clone)]
pub struct EntryChange {
    pub path: RepoPath,
    /// The file and its stat in the worktree; `None` to remove the entry.
    pub file: Option<(FileId, Stat)>,
}

/// The index uses a feature that only Git itself can rewrite safely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsupportedIndex;

/// The length of the stat data before the object id: ten 32-bit fields.
const STAT_LEN: usize = 40;
const MODE_AT: usize = 24;
const MTIME_AT: usize = 8;
const EXTENDED: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;
const SKIP_WORKTREE: u16 = 0x4000;

impl Index {
    /// Finds the start of each entry and extension.
    ///
    /// # Errors
    /// [`UnsupportedIndex`] for a split or sparse index, an unknown version, an unknown mandatory
    /// extension, or a damaged file.
    pub fn parse(bytes: Vec<u8>, hash_len: usize) -> Result<Index, UnsupportedIndex> {
        let word = |at: usize| bytes.get(at..at + 4).map(be32).ok_or(UnsupportedIndex);
        if bytes.get(..4) != Some(b"DIRC") || bytes.len() < 12 + hash_len {
            return Err(UnsupportedIndex);
        }
        let (version, count) = (word(4)?, word(8)?);
        if !(2..=4).contains(&version) {
            return Err(UnsupportedIndex);
        }
        let offset_table = if version == 4 { block_starts(&bytes, hash_len) } else { Vec::new() };
        // A damaged file may claim any number of entries.
        let most = bytes.len() / (STAT_LEN + hash_len + 2);
        let mut starts = Vec::with_capacity((count as usize).min(most));
        let (mut at, mut names, mut newest) = (12, Vec::new(), 0);
        for _ in 0..count {
            starts.push(at);
            newest = newest.max(word(at + MTIME_AT)?);
            if version == 4 {
                let previous =
                    if offset_table.contains(&at) { None } else { names.last().map(Vec::as_slice) };
                let (name, end) =
                    compressed_name(&bytes, at, hash_len, previous.unwrap_or_default())
                        .ok_or(UnsupportedIndex)?;
                names.push(name);
                at = end;
            } else {
                at = entry_end(&bytes, at, version, hash_len).ok_or(UnsupportedIndex)?;
            }
        }
        let mut extensions = Vec::new();
        let (end_of_entries, trailer) = (at, bytes.len() - hash_len);
        if end_of_entries > trailer {
            return Err(UnsupportedIndex);
        }
        while at < trailer {
            let len = word(at + 4)? as usize;
            let end =
                at.checked_add(8 + len).filter(|&end| end <= trailer).ok_or(UnsupportedIndex)?;
            if matches!(&bytes[at..at + 4], b"link" | b"sdir") || bytes[at].is_ascii_lowercase() {
                return Err(UnsupportedIndex);
            }
            extensions.push(at..end);
            at = end;
        }
        Ok(Index { bytes, version, hash_len, starts, newest, names, extensions, end_of_entries })
    }

    #[must_use]
    pub fn empty(hash_len: usize) -> Index {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        bytes.resize(12 + hash_len, 0xff);
        Index {
            bytes,
            version: 2,
            hash_len,
            starts: Vec::new(),
            newest: 0,
            names: Vec::new(),
            extensions: Vec::new(),
            end_of_entries: 12,
        }
    }

    #[must_use]
    pub fn staged(&self, path: &RepoPath) -> IndexState {
        let Ok(i) = self.position(path) else { return IndexState::Nothing };
        let (at, (flags, extended)) = (self.starts[i], self.flags(i));
        if flags & 0x3000 != 0 {
            return IndexState::Unmerged;
        }
        if extended & INTENT_TO_ADD != 0 {
            return IndexState::IntentToAdd;
        }
        let mode = be32(&self.bytes[at + MODE_AT..]);
        let oid = Oid::from_bytes_or_panic(&self.bytes[at + STAT_LEN..][..self.hash_len]);
        match mode {
            0o100_644 => IndexState::File(FileId { oid, mode: FileMode::Plain }),
            0o100_755 => IndexState::File(FileId { oid, mode: FileMode::Executable }),
            _ => IndexState::Other,
        }
    }

    /// The entry, or a parent directory of one, whose name differs from `path` only in case; `None`
    /// if `path` itself has an entry.
    #[must_use]
    pub fn case_collision(&self, path: &RepoPath) -> Option<RepoPath> {
        let wanted = path.as_bytes();
        let fits = |name: &[u8]| {
            name.eq_ignore_ascii_case(wanted) && name != wanted
                || path.parents().any(|directory| {
                    let len = directory.len();
                    name.get(len) == Some(&b'/')
                        && name[..len].eq_ignore_ascii_case(directory)
                        && &name[..len] != directory
                })
        };
        let mut names = (0..self.starts.len()).map(|i| self.name(i));
        self.position(path)
            .err()
            .and_then(|_| names.find(|name| fits(name)))
            .map(RepoPath::from_tree)
    }

    /// Whether a sparse checkout leaves the entry out of the worktree.
    #[must_use]
    pub fn is_skipped(&self, path: &RepoPath) -> bool {
        self.position(path).is_ok_and(|i| self.flags(i).1 & SKIP_WORKTREE != 0)
    }

    /// Whether a file of an entry may have changed in the second `written`, in which the index was
    /// written. Git compares the content of such a file, as long as the index is not newer.
    #[must_use]
    pub fn is_racy(&self, written: i64) -> bool {
        i64::from(self.newest) >= written
    }

    /// The paths at which this index and `other` have different entries.
    #[must_use]
    pub fn differences(&self, other: &Index) -> Vec<RepoPath> {
        let names = |index: &Index| -> Vec<RepoPath> {
            (0..index.starts.len()).map(|i| RepoPath::from_tree(index.name(i))).collect()
        };
        let mut paths = [names(self), names(other)].concat();
        paths.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        paths.dedup();
        paths.retain(|path| self.staged(path) != other.staged(path));
        paths
    }

    /// Whether each entry has a name and an id, in the order of the names, and each extension a
    /// signature.
    #[doc(hidden)]
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let has_content = |i: usize| {
            let oid = &self.bytes[self.starts[i] + STAT_LEN..][..self.hash_len];
            !self.name(i).is_empty() && oid.iter().any(|byte| *byte != 0)
        };
        let count = self.starts.len();
        (0..count).all(has_content)
            && (1..count).all(|i| self.name(i - 1) <= self.name(i))
            && self.extensions.iter().all(|at| self.bytes[at.start] != 0)
    }

    /// Makes `changes`. `directories` has the trees of the touched directories before and after,
    /// for the cache-tree.
    ///
    /// # Errors
    /// [`UnsupportedIndex`]; the index is then unchanged.
    pub fn patch(
        &mut self,
        changes: &[EntryChange],
        directories: &TouchedTrees,
    ) -> Result<(), UnsupportedIndex> {
        let moves = changes
            .iter()
            .any(|change| self.position(&change.path).is_ok() != change.file.is_some());
        let counted = self
            .extensions
            .iter()
            .any(|at| matches!(&self.bytes[at.start..at.start + 4], b"UNTR" | b"FSMN"));
        if moves && (self.version == 4 || counted) {
            return Err(UnsupportedIndex);
        }
        let mut shifts = Vec::new();
        for change in changes {
            match (self.position(&change.path), &change.file) {
                (Ok(i), Some((file, stat))) => self.overwrite(i, *file, stat),
                (Ok(i), None) => shifts.push(self.remove(i)),
                (Err(i), Some((file, stat))) => {
                    shifts.push(self.insert(i, &change.path, *file, stat));
                }
                (Err(_), None) => {}
            }
        }
        let touched: Vec<(&[u8], bool)> =
            changes.iter().map(|change| (change.path.as_bytes(), moves)).collect();
        self.patch_extensions(&touched, directories, &shifts);
        let count = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }

    /// Writes the stat of the file at `path` into its entry. Returns the byte range of the stat.
    pub fn restat(&mut self, path: &RepoPath, stat: &Stat) -> Option<Range<usize>> {
        let at = self.starts[self.position(path).ok()?];
        write_stat(&mut self.bytes[at..at + STAT_LEN], stat);
        Some(at..at + STAT_LEN)
    }

    /// The bytes to write, including the checksum. An index without a checksum (`index.skipHash`)
    /// gets none.
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
        // An unmerged path has several entries; any of them is enough.
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

    fn patch_extensions(
        &mut self,
        touched: &[(&[u8], bool)],
        directories: &TouchedTrees,
        shifts: &[Shift],
    ) {
        let old: Vec<Vec<u8>> =
            self.extensions.iter().map(|at| self.bytes[at.clone()].to_vec()).collect();
        let trailer = self.bytes[self.bytes.len() - self.hash_len..].to_vec();
        self.bytes.truncate(self.end_of_entries);
        self.extensions.clear();
        let mut headers = Vec::new();
        for extension in old {
            let (signature, body) = (&extension[..4], &extension[8..]);
            let body = match signature {
                b"TREE" => super::cache_tree::patched(body, touched, directories, self.hash_len)
                    .unwrap_or_default(),
                b"IEOT" => shifted_offsets(body, shifts),
                b"EOIE" => end_of_entries(self.end_of_entries, &headers, self.hash_len),
                _ => body.to_vec(),
            };
            // The cache-tree is only a cache: an unreadable one is dropped.
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
    // Git keeps the low 32 bits of each field.
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

/// Where the entry at `at` ends in versions 2 and 3: after at least one NUL, at a multiple of eight
/// bytes.
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
    (end <= bytes.len() && bytes[name + len] == 0).then_some(end)
}

/// The name of the entry at `at` and the end of the entry, in version 4.
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
    /// The checksum at the end of an index; `None` if hashing fails. It finds damage and names no
    /// object, so a large index is hashed without the detection of collisions, as Git does.
    #[must_use]
    pub fn checksum(&self, bytes: &[u8]) -> Option<Oid> {
        // Below this size it costs more to ask for the processor's features than it saves.
        const LARGE: usize = 1 << 18;
        if bytes.len() >= LARGE && self.inner.object_hash() == gix::hash::Kind::Sha1 {
            return Oid::try_from(sha1::Sha1::digest(bytes).as_slice()).ok();
        }
        let mut hasher = gix::hash::hasher(self.inner.object_hash());
        hasher.update(bytes);
        hasher.try_finalize().ok()
    }

    /// Whether these bytes are a complete index, according to its checksum. Git accepts an index
    /// without a checksum whatever `index.skipHash` says. Then the entries decide: a power failure
    /// leaves zeros, and no entry of a complete index has an empty name or the null id.
    #[must_use]
    pub fn is_valid_index(&self, bytes: &[u8]) -> bool {
        let Some(end) = bytes
            .len()
            .checked_sub(self.null().as_slice().len())
            .filter(|_| bytes.starts_with(b"DIRC"))
        else {
            return false;
        };
        let (content, sum) = bytes.split_at(end);
        if sum == self.null().as_slice() {
            return match Index::parse(bytes.to_vec(), sum.len()) {
                Ok(index) => index.is_whole(),
                // The entries of a split or sparse index are Git's to read.
                Err(UnsupportedIndex) => is_split_or_sparse(content),
            };
        }
        self.checksum(content).is_some_and(|oid| oid.as_slice() == sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edt_testkit::ScratchRepo;

    #[test]
    fn a_large_index_has_the_same_checksum() {
        let scratch = ScratchRepo::with(&[("x", "x")]);
        let repo = Repo::open(scratch.path()).unwrap();
        for len in [0, (1 << 18) - 1, 1 << 18, (1 << 18) + 77] {
            let bytes = vec![b'x'; len];
            let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
            hasher.update(&bytes);
            assert_eq!(repo.checksum(&bytes), hasher.try_finalize().ok());
        }
    }

    #[test]
    fn a_number_of_entries_that_cannot_be_there_takes_no_memory() {
        let mut bytes = index(2, &[], &[]);
        bytes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(Index::parse(bytes, 20).err(), Some(UnsupportedIndex));
    }

    #[test]
    fn a_name_does_not_reach_into_the_next_entry() {
        let mut bytes = index(2, &[("a", 0o100_644, 0, 0), ("b", 0o100_644, 0, 0)], &[]);
        let name = 12 + STAT_LEN + 20 + 2;
        bytes[name + 1..name + 10].fill(b'x');
        assert_eq!(Index::parse(bytes, 20).err(), Some(UnsupportedIndex));
    }

    #[test]
    fn a_short_table_of_offsets_is_kept() {
        let bytes = index(2, &[("a", 0o100_644, 0, 0)], &[(b"IEOT", b"")]);
        let mut index = Index::parse(bytes, 20).unwrap();
        index.patch(&[set("b", 8)], &TouchedTrees::new()).unwrap();
        assert_eq!(names(&index), ["a", "b"]);
    }

    #[test]
    fn a_short_table_of_offsets_starts_no_block_of_names() {
        let sum = [[0; 4].as_slice(), &[0; 20]].concat();
        let mut bytes = index(4, &[], &[(b"IEOT", b""), (b"EOIE", &sum)]);
        let eoie = bytes.len() - 20 - 32;
        bytes[eoie + 8..eoie + 12].copy_from_slice(&12_u32.to_be_bytes());
        assert!(Index::parse(bytes, 20).is_ok());
    }

    #[test]
    fn an_entry_does_not_reach_into_the_checksum() {
        let mut bytes = index(2, &[("a", 0o100_644, 0, 0)], &[]);
        bytes.truncate(bytes.len() - 20);
        assert_eq!(Index::parse(bytes, 20).err(), Some(UnsupportedIndex));
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::from_tree(text.as_bytes())
    }

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn plain(byte: u8) -> FileId {
        FileId { oid: oid(byte), mode: FileMode::Plain }
    }

    fn stat() -> Stat {
        let scratch = ScratchRepo::with(&[("x", "x")]);
        Repo::open(scratch.path()).unwrap().root().stat(b"x").unwrap().unwrap()
    }

    /// An index of that version with (name, mode, flags, extended flags) and extensions.
    fn index(
        version: u32,
        entries: &[(&str, u32, u16, u16)],
        extensions: &[(&[u8; 4], &[u8])],
    ) -> Vec<u8> {
        let count = u32::try_from(entries.len()).unwrap();
        let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes(), &count.to_be_bytes()].concat();
        for (name, mode, flags, extended) in entries {
            let start = bytes.len();
            let mut stat = [0; STAT_LEN];
            stat[MODE_AT..MODE_AT + 4].copy_from_slice(&mode.to_be_bytes());
            bytes.extend(stat);
            bytes.extend([7; 20]);
            let flags = flags | u16::try_from(name.len()).unwrap();
            bytes.extend(flags.to_be_bytes());
            if flags & EXTENDED != 0 {
                bytes.extend(extended.to_be_bytes());
            }
            bytes.extend(name.as_bytes());
            bytes.resize(start + ((bytes.len() - start + 8) & !7), 0);
        }
        for (name, body) in extensions {
            bytes.extend_from_slice(*name);
            bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
            bytes.extend_from_slice(body);
        }
        bytes.extend([0xff; 20]);
        bytes
    }

    fn parsed(version: u32, entries: &[(&str, u32, u16, u16)]) -> Index {
        Index::parse(index(version, entries, &[]), 20).unwrap()
    }

    fn set(name: &str, byte: u8) -> EntryChange {
        EntryChange { path: path(name), file: Some((plain(byte), stat())) }
    }

    fn removed(name: &str) -> EntryChange {
        EntryChange { path: path(name), file: None }
    }

    fn names(index: &Index) -> Vec<String> {
        let name = |i| String::from_utf8_lossy(index.name(i)).into_owned();
        (0..index.starts.len()).map(name).collect()
    }

    #[test]
    fn an_entry_has_its_blob_and_its_mode() {
        let index = parsed(2, &[("a", 0o100_644, 0, 0), ("b", 0o100_755, 0, 0)]);
        assert_eq!(index.staged(&path("a")), IndexState::File(plain(7)));
        let executable = FileId { oid: oid(7), mode: FileMode::Executable };
        assert_eq!(index.staged(&path("b")), IndexState::File(executable));
        assert_eq!(index.staged(&path("c")), IndexState::Nothing);
    }

    #[test]
    fn a_link_a_submodule_and_an_unmerged_path_are_no_files() {
        let entries = [("l", 0o120_000, 0, 0), ("s", 0o160_000, 0, 0), ("u", 0o100_644, 0x1000, 0)];
        let index = parsed(2, &entries);
        let states = ["l", "s", "u"].map(|name| index.staged(&path(name)));
        assert_eq!(states, [IndexState::Other, IndexState::Other, IndexState::Unmerged]);
    }

    #[test]
    fn a_path_to_be_added_later_is_known_as_such() {
        let index = parsed(3, &[("a", 0o100_644, EXTENDED, INTENT_TO_ADD)]);
        assert_eq!(index.staged(&path("a")), IndexState::IntentToAdd);
    }

    #[test]
    fn a_path_outside_a_sparse_checkout_is_skipped() {
        let index = parsed(3, &[("a", 0o100_644, EXTENDED, SKIP_WORKTREE), ("b", 0o100_644, 0, 0)]);
        assert_eq!((index.is_skipped(&path("a")), index.is_skipped(&path("b"))), (true, false));
    }

    #[test]
    fn a_split_or_sparse_index_is_left_to_git() {
        for name in [b"link", b"sdir"] {
            let bytes = index(2, &[], &[(name, b"x")]);
            assert_eq!(Index::parse(bytes, 20).unwrap_err(), UnsupportedIndex);
        }
    }

    #[test]
    fn an_index_of_an_unknown_version_is_left_to_git() {
        assert!(Index::parse(index(5, &[], &[]), 20).is_err());
        assert!(Index::parse(index(1, &[], &[]), 20).is_err());
    }

    #[test]
    fn an_index_that_is_cut_in_an_entry_is_not_parsed() {
        let bytes = index(2, &[("a", 0o100_644, 0, 0)], &[(b"TREE", b"x")]);
        for end in 0..index(2, &[("a", 0o100_644, 0, 0)], &[]).len() - 20 {
            assert!(Index::parse(bytes[..end].to_vec(), 20).is_err(), "{end}");
        }
    }

    #[test]
    fn entries_are_added_in_the_order_of_their_names() {
        let mut index = parsed(2, &[("b", 0o100_644, 0, 0)]);
        index.patch(&[set("c", 2), set("a", 1)], &TouchedTrees::new()).unwrap();
        assert_eq!(names(&index), ["a", "b", "c"]);
        let again = Index::parse(index.bytes.clone(), 20).unwrap();
        assert_eq!(names(&again), ["a", "b", "c"]);
        assert_eq!(again.staged(&path("c")), IndexState::File(plain(2)));
    }

    #[test]
    fn a_removed_entry_leaves_the_others() {
        let mut index = parsed(2, &[("a", 0o100_644, 0, 0), ("bcd", 0o100_755, 0, 0)]);
        index.patch(&[removed("a"), removed("none")], &TouchedTrees::new()).unwrap();
        assert_eq!(index.bytes, parsed(2, &[("bcd", 0o100_755, 0, 0)]).bytes);
    }

    #[test]
    fn an_overwritten_entry_is_no_longer_to_be_added_later() {
        let mut index = parsed(3, &[("a", 0o100_644, EXTENDED, INTENT_TO_ADD)]);
        index.patch(&[set("a", 3)], &TouchedTrees::new()).unwrap();
        assert_eq!(index.staged(&path("a")), IndexState::File(plain(3)));
    }

    #[test]
    fn an_index_that_counts_positions_gets_no_new_entry() {
        let bytes = index(2, &[("a", 0o100_644, 0, 0)], &[(b"FSMN", b"x")]);
        let mut index = Index::parse(bytes.clone(), 20).unwrap();
        assert_eq!(index.patch(&[set("b", 1)], &TouchedTrees::new()), Err(UnsupportedIndex));
        assert_eq!(index.bytes, bytes);
        assert_eq!(index.patch(&[set("a", 1)], &TouchedTrees::new()), Ok(()));
    }

    #[test]
    fn an_unknown_extension_keeps_its_bytes() {
        let bytes = index(2, &[], &[(b"XXXX", b"content")]);
        let mut index = Index::parse(bytes, 20).unwrap();
        index.patch(&[set("a", 1)], &TouchedTrees::new()).unwrap();
        let again = Index::parse(index.bytes.clone(), 20).unwrap();
        assert_eq!(&again.bytes[again.extensions[0].clone()], b"XXXX\0\0\0\x07content");
    }

    #[test]
    fn a_cache_tree_that_cannot_be_parsed_is_dropped() {
        let mut index = Index::parse(index(2, &[], &[(b"TREE", b"nonsense")]), 20).unwrap();
        index.patch(&[set("a", 1)], &TouchedTrees::new()).unwrap();
        assert_eq!(Index::parse(index.bytes, 20).unwrap().extensions.len(), 0);
    }

    #[test]
    fn a_file_that_differs_only_in_case_collides() {
        let index = parsed(2, &[("Dir/a.txt", 0o100_644, 0, 0)]);
        let collision = |name: &str| index.case_collision(&path(name)).map(|path| path.text());
        assert_eq!(collision("dir/A.TXT").as_deref(), Some("Dir/a.txt"));
        assert_eq!(collision("dir/other").as_deref(), Some("Dir/a.txt"));
        assert_eq!((collision("Dir/a.txt"), collision("Dir/other")), (None, None));
    }

    #[test]
    fn an_empty_index_with_an_entry_is_valid_for_git() {
        let scratch = ScratchRepo::unborn();
        let repo = Repo::open(scratch.path()).unwrap();
        let mut index = Index::empty(20);
        index.patch(&[set("a", 1)], &TouchedTrees::new()).unwrap();
        let bytes = index.finish(|bytes| repo.checksum(bytes)).to_vec();
        assert!(repo.is_valid_index(&bytes));
        std::fs::write(repo.index_path(), bytes).unwrap();
        assert_eq!(repo.staged_via_gix(&path("a")).unwrap(), IndexState::File(plain(1)));
    }

    #[test]
    fn an_index_without_a_checksum_gets_none() {
        let mut bytes = index(2, &[], &[]);
        let end = bytes.len() - 20;
        bytes[end..].fill(0);
        let mut index = Index::parse(bytes.clone(), 20).unwrap();
        assert_eq!(index.finish(|_| Some(oid(9))), bytes);
    }

    #[test]
    fn an_index_without_a_checksum_is_valid_unless_a_part_of_it_is_zero() {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        let entries = [("a", 0o100_644, 0, 0), ("b/c", 0o100_644, 0, 0)];
        let mut bytes = index(2, &entries, &[(b"TREE", b"a b")]);
        let end = bytes.len() - 20;
        bytes[end..].fill(0);
        assert!(repo.is_valid_index(&bytes), "whatever index.skipHash says, as for Git");
        for cut in [0, 4, 12, 40, 12 + 72, end - 11] {
            let mut torn = bytes.clone();
            torn[cut..].fill(0);
            assert!(!repo.is_valid_index(&torn), "zero from {cut}");
            assert!(!repo.is_valid_index(&bytes[..cut]), "cut at {cut}");
        }
        let mut split = index(2, &[], &[(b"link", b"x")]);
        let end = split.len() - 20;
        split[end..].fill(0);
        assert!(repo.is_valid_index(&split));
        split[12..].fill(0);
        assert!(!repo.is_valid_index(&split));
    }

    #[test]
    fn a_damaged_index_is_not_valid() {
        let scratch = ScratchRepo::with(&[("a", "1")]);
        let repo = Repo::open(scratch.path()).unwrap();
        let mut bytes = std::fs::read(repo.index_path()).unwrap();
        assert!(repo.is_valid_index(&bytes));
        bytes[20] ^= 1;
        assert!(!repo.is_valid_index(&bytes));
    }
}
