//! What retrieval looks at: the episodes as numbers, in one file.
//!
//! The file is derived from the tree and may be deleted at any time. It names the commit it was made of; one of another commit is
//! brought up to date by the difference of the two trees, so that the cost follows what changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::episode::Episode;
use crate::git::Oid;
use crate::io::whole;

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 256 << 20;
/// The version of the file's form.
const VERSION: u32 = 1;

/// Every episode of one commit, as far as retrieval asks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    version: u32,
    /// The commit it was made of, as an object id.
    tip: Vec<u8>,
    entries: BTreeMap<u64, Entry>,
}

/// An episode as numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its id.
    pub id: u64,
    /// Its blob.
    blob: Vec<u8>,
    /// Its code.
    pub code: u32,
    /// Its language; 0 if it has none.
    pub language: u32,
    /// Its keywords, sorted.
    pub words: Vec<u32>,
    /// Its score when it was last used.
    pub effectiveness: f32,
    /// When that was, in seconds since 1970.
    pub last_used: i64,
    /// How often it was used.
    pub uses: u32,
    /// Whether there is something to tell.
    pub teaches: bool,
}

/// The index of the memory that was looked at last, kept between the calls of one process.
#[derive(Debug, Default)]
pub struct Warmed(RefCell<Option<(PathBuf, Rc<Index>)>>);

impl Warmed {
    /// The index that was kept for `file`.
    #[must_use]
    pub fn get(&self, file: &PathBuf) -> Option<Rc<Index>> {
        self.0.borrow().as_ref().filter(|(of, _)| of == file).map(|(_, index)| index.clone())
    }

    /// Keeps nothing any more.
    pub fn forget(&self) {
        self.0.take();
    }

    /// Keeps the index of `file`.
    pub fn keep(&self, file: PathBuf, index: &Rc<Index>) {
        self.0.replace(Some((file, index.clone())));
    }
}

/// A word as a number: FNV-1a in 32 bits. Two words may have one.
#[must_use]
pub fn short(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Entry {
    /// The entry of `episode`, which is stored as `blob`.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a score needs no more than an f32 has")]
    pub fn of(episode: &Episode, blob: Oid) -> Entry {
        let mut words: Vec<u32> = episode.keywords.iter().map(|word| short(word)).collect();
        words.sort_unstable();
        Entry {
            id: number(&episode.id),
            blob: blob.as_slice().to_vec(),
            code: short(&episode.code),
            language: episode.language.as_deref().map_or(0, short),
            words,
            effectiveness: episode.effectiveness as f32,
            last_used: episode.last_used.unwrap_or(episode.last_seen),
            uses: u32::try_from(episode.uses).unwrap_or(u32::MAX),
            teaches: episode.teaches(),
        }
    }

    /// The blob it is stored as.
    #[must_use]
    pub fn oid(&self) -> Oid {
        Oid::from_bytes_or_panic(&self.blob)
    }
}

/// An id as a number.
fn number(id: &str) -> u64 {
    u64::from_str_radix(id, 16).unwrap_or_default()
}

impl Index {
    /// Whether it was made of the commit `tip`.
    #[must_use]
    pub fn is_of(&self, tip: Oid) -> bool {
        self.tip == tip.as_slice()
    }

    /// The commit it was made of; `None` for an empty one.
    #[must_use]
    pub fn tip(&self) -> Option<Oid> {
        Oid::try_from(self.tip.as_slice()).ok()
    }

    /// Every entry, in order of the ids.
    #[must_use]
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.values()
    }

    /// How many episodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets the entry of `id`, or removes it.
    pub fn set(&mut self, id: &str, entry: Option<Entry>) {
        match entry {
            Some(entry) => self.entries.insert(number(id), entry),
            None => self.entries.remove(&number(id)),
        };
    }

    /// From now on it is of the commit `tip`.
    pub fn move_to(&mut self, tip: Oid) {
        self.tip = tip.as_slice().to_vec();
    }

    /// What `file` holds; nothing if it is damaged, or of another version.
    #[must_use]
    pub fn read(file: &std::path::Path) -> Option<Index> {
        let bytes = whole::small(file, MOST_BYTES)?;
        let (sum, body) = bytes.split_first_chunk::<4>()?;
        let index: Index =
            postcard::from_bytes(body).ok().filter(|_| u32::from_le_bytes(*sum) == crc32fast::hash(body))?;
        let len = index.tip.len();
        let whole = index.version == VERSION && index.tip().is_some();
        whole.then_some(index).filter(|index| index.entries.values().all(|entry| entry.blob.len() == len))
    }

    /// Makes `file` hold it. What cannot be written is made anew next time.
    pub fn write(&self, file: &std::path::Path) {
        let index = Index { version: VERSION, ..self.clone() };
        if let Ok(body) = postcard::to_allocvec(&index) {
            let bytes = [crc32fast::hash(&body).to_le_bytes().as_slice(), &body].concat();
            let _ = whole::put_beside(file, &bytes, 0o666);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Tried;

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("index");
        let episode = Episode::new("SYNTAX_ERROR", Some("c"), Tried::default(), 7);
        let blob = Oid::from_bytes_or_panic(&[3; 20]);
        let mut index = Index { version: VERSION, ..Index::default() };
        index.move_to(blob);
        index.set(&episode.id, Some(Entry::of(&episode, blob)));
        index.write(&file);
        assert_eq!(Index::read(&file).as_ref(), Some(&index));
        let bytes = std::fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            std::fs::write(&file, &bad).unwrap();
            assert_eq!(Index::read(&file), None, "byte {at}");
            std::fs::write(&file, &bytes[..at]).unwrap();
            assert_eq!(Index::read(&file), None, "cut at {at}");
        }
    }
}
