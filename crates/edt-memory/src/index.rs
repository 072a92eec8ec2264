//! The index for retrieval: a summary of every episode, in one file.
//!
//! The file is derived from the tree and may be deleted at any time. It is a sequence of segments.
//! Each names the commits before and after it, and has the entries that changed in between. The
//! first starts from nothing; later ones override it. An outdated index is updated by the
//! difference of the two trees, so that the cost depends only on the number of changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::episode::Episode;
use edt_git::Oid;
use edt_io::file::{File, OpenMode};
use edt_io::fs;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// The start of each segment: file type and version.
const MAGIC: &[u8; 8] = b"edtmem\x00\x02";
/// Bytes of a segment besides its entries: magic, length, checksum, and the commits before and
/// after it.
const HEAD: usize = 8 + 4 + 4 + 2 * TIP_LEN;
/// Bytes of a commit id with its length.
const TIP_LEN: usize = 33;
/// Bytes of an entry before its keywords.
const ENTRY_HEADER: usize = 8 + TIP_LEN + 4 + 4 + 4 + 8 + 4 + 8 + 1 + 1;
/// The most bytes in later segments before the file is rewritten.
const MAX_OVERLAY_BYTES: usize = 256 * 1024;

/// The index entries of all episodes in one commit.
#[derive(Debug, Clone, Default)]
pub struct EpisodeIndex {
    /// The entries of the first segment, concatenated in order of the ids.
    base: Vec<u8>,
    /// Entries that override `base`; `None` for a deleted episode.
    overlay: BTreeMap<u64, Option<Vec<u8>>>,
    tip: Vec<u8>,
    /// The file must be rewritten.
    stale: bool,
}

/// The encoded entry of one episode.
#[derive(Debug, Clone, Copy)]
pub struct IndexEntry<'i>(&'i [u8]);

/// Keeps the last index between the calls of one process.
#[derive(Debug, Default)]
pub struct IndexCache(Mutex<Option<(PathBuf, Arc<EpisodeIndex>)>>);

impl IndexCache {
    /// Removes and returns the cached index of `file`.
    #[must_use]
    pub fn take(&self, file: &Path) -> Option<Arc<EpisodeIndex>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .filter(|(of, _)| of == file)
            .map(|(_, index)| index)
    }

    pub fn put(&self, file: PathBuf, index: &Arc<EpisodeIndex>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, index.clone()));
    }
}

/// FNV-1a in 32 bits. Different words may have the same hash.
#[must_use]
pub fn word_hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[must_use]
pub fn id_number(id: &str) -> u64 {
    u64::from_str_radix(id, 16).unwrap_or_default()
}

/// An object id with its length, padded to the same size for every hash function.
fn padded(oid: &[u8]) -> [u8; TIP_LEN] {
    let mut out = [0; TIP_LEN];
    out[0] = u8::try_from(oid.len()).unwrap_or_default();
    out[1..=oid.len()].copy_from_slice(oid);
    out
}

fn unpadded(bytes: &[u8]) -> &[u8] {
    &bytes[1..=usize::from(bytes[0]).min(TIP_LEN - 1)]
}

/// The encoded entry of `episode`, which is stored in `blob`.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "f32 is precise enough for a score")]
pub fn entry(episode: &Episode, blob: Oid) -> Vec<u8> {
    let mut words: Vec<u32> = episode.keywords.iter().map(|word| word_hash(word)).collect();
    words.sort_unstable();
    words.truncate(usize::from(u8::MAX));
    let mut out = Vec::with_capacity(ENTRY_HEADER + words.len() * 4);
    out.extend_from_slice(&id_number(&episode.id).to_le_bytes());
    out.extend_from_slice(&padded(blob.as_slice()));
    out.extend_from_slice(&word_hash(&episode.code).to_le_bytes());
    out.extend_from_slice(&episode.language.as_deref().map_or(0, word_hash).to_le_bytes());
    out.extend_from_slice(&(episode.effectiveness as f32).to_le_bytes());
    out.extend_from_slice(&episode.last_used.unwrap_or(episode.last_seen).to_le_bytes());
    out.extend_from_slice(&u32::try_from(episode.uses).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&signature(words.iter().copied()).to_le_bytes());
    out.push(u8::from(episode.teaches()));
    out.push(u8::try_from(words.len()).unwrap_or(u8::MAX));
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out
}

/// A Bloom filter of words: one of 64 bits for each word.
#[must_use]
pub fn signature(words: impl Iterator<Item = u32>) -> u64 {
    words.fold(0, |bits, word| bits | 1 << (word % 64))
}

/// The entry that marks a deleted episode.
fn tombstone(id: u64) -> Vec<u8> {
    let mut out = vec![0; ENTRY_HEADER];
    out[..8].copy_from_slice(&id.to_le_bytes());
    out
}

impl<'i> IndexEntry<'i> {
    /// The first entry of `bytes`, and the rest.
    fn first(bytes: &'i [u8]) -> Option<(IndexEntry<'i>, &'i [u8])> {
        let words = usize::from(*bytes.get(ENTRY_HEADER - 1)?);
        let (entry, rest) = bytes.split_at_checked(ENTRY_HEADER + words * 4)?;
        Some((IndexEntry(entry), rest))
    }

    fn part<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
    }

    #[must_use]
    pub fn id(self) -> u64 {
        u64::from_le_bytes(self.part(0))
    }

    /// The blob of the episode; `None` if it was deleted.
    #[must_use]
    pub fn oid(self) -> Option<Oid> {
        Oid::try_from(unpadded(&self.0[8..8 + TIP_LEN])).ok()
    }

    /// The hash of its code.
    #[must_use]
    pub fn code(self) -> u32 {
        u32::from_le_bytes(self.part(8 + TIP_LEN))
    }

    /// The hash of its language; 0 if it has none.
    #[must_use]
    pub fn language(self) -> u32 {
        u32::from_le_bytes(self.part(12 + TIP_LEN))
    }

    /// The score at the time of [`last_used`](IndexEntry::last_used).
    #[must_use]
    pub fn effectiveness(self) -> f32 {
        f32::from_le_bytes(self.part(16 + TIP_LEN))
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn last_used(self) -> i64 {
        i64::from_le_bytes(self.part(20 + TIP_LEN))
    }

    #[must_use]
    pub fn uses(self) -> u32 {
        u32::from_le_bytes(self.part(28 + TIP_LEN))
    }

    /// Whether it has a lesson.
    #[must_use]
    pub fn teaches(self) -> bool {
        self.part::<1>(40 + TIP_LEN) == [1]
    }

    /// The most keywords that it can share with the signature `query` of `words` words. Cheaper
    /// than comparing the words.
    #[must_use]
    pub fn max_shared(self, query: u64, words: usize) -> usize {
        let own = u64::from_le_bytes(self.part(32 + TIP_LEN));
        let bits = |of: u64| usize::try_from(of.count_ones()).unwrap_or(64);
        // Words of the query with the same bit may all be shared.
        bits(own & query) + words.saturating_sub(bits(query))
    }

    /// The number of keywords.
    #[must_use]
    pub fn count(self) -> usize {
        (self.0.len() - ENTRY_HEADER) / 4
    }

    /// The hashes of its keywords, sorted.
    pub fn words(self) -> impl Iterator<Item = u32> + 'i {
        self.0[ENTRY_HEADER..]
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }
}

impl EpisodeIndex {
    /// Whether this is the index of the commit `tip`.
    #[must_use]
    pub fn is_at(&self, tip: Oid) -> bool {
        self.tip == tip.as_slice()
    }

    /// The commit; `None` if the index is empty.
    #[must_use]
    pub fn tip(&self) -> Option<Oid> {
        Oid::try_from(self.tip.as_slice()).ok()
    }

    pub fn entries(&self) -> impl Iterator<Item = IndexEntry<'_>> {
        let mut rest = self.base.as_slice();
        let base = std::iter::from_fn(move || {
            let (entry, after) = IndexEntry::first(rest)?;
            rest = after;
            Some(entry)
        });
        let shown =
            base.filter(|entry| self.overlay.is_empty() || !self.overlay.contains_key(&entry.id()));
        shown.chain(self.overlay.values().flatten().map(|bytes| IndexEntry(bytes)))
    }

    /// Sets the entry of `id`, or marks it as deleted.
    pub fn set(&mut self, id: &str, entry: Option<Vec<u8>>) {
        self.overlay.insert(id_number(id), entry);
    }

    pub fn set_tip(&mut self, tip: Oid) {
        self.tip = tip.as_slice().to_vec();
    }

    /// Marks the file as incomplete.
    #[must_use]
    pub fn stale(self) -> EpisodeIndex {
        EpisodeIndex { stale: true, ..self }
    }

    /// Whether the file should be rewritten: it is incomplete or damaged, or its later segments are
    /// large.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
            || self
                .overlay
                .values()
                .map(|entry| entry.as_ref().map_or(ENTRY_HEADER, Vec::len))
                .sum::<usize>()
                > MAX_OVERLAY_BYTES
    }

    /// Reads all intact segments at the start of `file`; `None` if the first one is damaged.
    #[must_use]
    pub fn read(file: &Path) -> Option<EpisodeIndex> {
        let bytes = fs::read_small(file, MAX_FILE_BYTES)?;
        let (base, mut rest) = Segment::first(&bytes).filter(|(base, _)| base.from.is_empty())?;
        let mut index = EpisodeIndex {
            base: base.entries.to_vec(),
            tip: base.to.to_vec(),
            ..EpisodeIndex::default()
        };
        while !rest.is_empty() {
            let Some((segment, after)) =
                Segment::first(rest).filter(|(segment, _)| segment.from == index.tip)
            else {
                index.stale = true;
                break;
            };
            let mut entries = segment.entries;
            while let Some((entry, more)) = IndexEntry::first(entries) {
                index.overlay.insert(entry.id(), entry.oid().map(|_| entry.0.to_vec()));
                entries = more;
            }
            index.tip = segment.to.to_vec();
            rest = after;
        }
        Some(index)
    }

    /// Rewrites `file`. An error is ignored: the next process rebuilds the file.
    pub fn write(&mut self, file: &Path) {
        let mut sorted: Vec<IndexEntry<'_>> = self.entries().collect();
        sorted.sort_by_key(|entry| entry.id());
        self.base = sorted.into_iter().flat_map(|entry| entry.0.iter().copied()).collect();
        self.overlay.clear();
        self.stale = false;
        let _ = fs::write_atomic_unique(file, &segment(&[], &self.tip, &self.base), 0o666);
    }
}

/// Appends the changes from the commit `from` to the commit `to`, if `file` ends at `from`.
/// Otherwise the next reader updates it by the difference of the trees. The caller must hold the
/// memory's lock.
pub fn append(file: &Path, from: Option<Oid>, to: Oid, entries: &[(String, Option<Vec<u8>>)]) {
    let body: Vec<u8> = entries
        .iter()
        .flat_map(|(id, entry)| entry.clone().unwrap_or_else(|| tombstone(id_number(id))))
        .collect();
    let Some(from) = from else {
        let _ = fs::write_atomic_unique(file, &segment(&[], to.as_slice(), &body), 0o666);
        return;
    };
    let appended = || {
        let open = File::open(file, OpenMode::Existing)?;
        let len = open.len()?;
        let mut end = [0; TIP_LEN];
        // Each segment ends with the id of the commit after it.
        open.read_exact_at(
            &mut end,
            len.checked_sub(TIP_LEN as u64).ok_or(std::io::ErrorKind::UnexpectedEof)?,
        )?;
        if end == padded(from.as_slice()) {
            open.write_all_at(&segment(from.as_slice(), to.as_slice(), &body), len)?;
        }
        Ok::<(), std::io::Error>(())
    };
    let _ = appended();
}

struct Segment<'b> {
    from: &'b [u8],
    to: &'b [u8],
    entries: &'b [u8],
}

impl<'b> Segment<'b> {
    /// The first segment of `bytes`, and the rest; `None` if it is damaged.
    fn first(bytes: &'b [u8]) -> Option<(Segment<'b>, &'b [u8])> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let (covered, rest) =
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
        if crc32fast::hash(covered) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (from, covered) = covered.split_at_checked(TIP_LEN)?;
        let (entries, to) = covered.split_at_checked(covered.len().checked_sub(TIP_LEN)?)?;
        Some((Segment { from: unpadded(from), to: unpadded(to), entries }, rest))
    }
}

fn segment(from: &[u8], to: &[u8], entries: &[u8]) -> Vec<u8> {
    let covered = [padded(from).as_slice(), entries, &padded(to)].concat();
    let mut out = Vec::with_capacity(HEAD + entries.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&u32::try_from(covered.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(&covered).to_le_bytes());
    out.extend_from_slice(&covered);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailedAttempt;

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn episode(text: &str) -> Episode {
        Episode::new(
            "SYNTAX_ERROR",
            Some("c"),
            FailedAttempt { fragment: text.to_owned(), ..FailedAttempt::default() },
            7,
        )
    }

    fn ids(index: &EpisodeIndex) -> Vec<(u64, Option<Oid>)> {
        let mut all: Vec<_> = index.entries().map(|entry| (entry.id(), entry.oid())).collect();
        all.sort();
        all
    }

    #[test]
    fn an_entry_has_the_values_of_its_episode() {
        let one = episode("alpha beta");
        let bytes = entry(&one, oid(3));
        let (read, rest) = IndexEntry::first(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(
            (read.id(), read.oid(), read.code()),
            (id_number(&one.id), Some(oid(3)), word_hash("SYNTAX_ERROR"))
        );
        assert_eq!(
            (read.language(), read.last_used(), read.uses(), read.teaches()),
            (word_hash("c"), 7, 0, false)
        );
        assert!((read.effectiveness() - 0.5).abs() < f32::EPSILON);
        let mut words: Vec<u32> = one.keywords.iter().map(|word| word_hash(word)).collect();
        words.sort_unstable();
        assert_eq!(read.words().collect::<Vec<_>>(), words);
        assert_eq!(read.count(), words.len());
        for of in 0..=words.len() {
            let query = &words[..of];
            assert!(
                read.max_shared(signature(query.iter().copied()), of) >= of,
                "never fewer than the shared words"
            );
        }
        assert_eq!(read.max_shared(0, 0), 0);
    }

    #[test]
    fn appended_segments_override_earlier_ones() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join("index");
        let (one, two) = (episode("one"), episode("two words"));
        let of = |episode: &Episode, blob| (episode.id.clone(), Some(entry(episode, oid(blob))));
        append(&file, None, oid(1), &[of(&one, 11), of(&two, 12)]);
        append(&file, Some(oid(1)), oid(2), &[of(&one, 13)]);
        append(&file, Some(oid(2)), oid(3), &[(two.id.clone(), None)]);
        let index = EpisodeIndex::read(&file).unwrap();
        assert_eq!(ids(&index), [(id_number(&one.id), Some(oid(13)))]);
        assert!(index.is_at(oid(3)) && !index.is_stale());
        // Not appended, because it starts from another commit.
        append(&file, Some(oid(2)), oid(9), &[of(&two, 14)]);
        assert!(EpisodeIndex::read(&file).unwrap().is_at(oid(3)));
        let mut again = index.clone();
        again.write(&file);
        assert_eq!(ids(&EpisodeIndex::read(&file).unwrap()), ids(&index));
    }

    #[test]
    fn only_intact_segments_of_a_damaged_file_are_read() {
        let dir = edt_testkit::tempdir().unwrap();
        let file = dir.path().join("index");
        let one = episode("one");
        append(&file, None, oid(1), &[(one.id.clone(), Some(entry(&one, oid(11))))]);
        let first = std::fs::read(&file).unwrap().len();
        append(&file, Some(oid(1)), oid(2), &[(one.id.clone(), Some(entry(&one, oid(12))))]);
        let bytes = std::fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            for bad in [bad, bytes[..at].to_vec()] {
                std::fs::write(&file, &bad).unwrap();
                let read = EpisodeIndex::read(&file);
                assert_eq!(read.is_some(), at >= first, "byte {at}");
                if let Some(index) = read {
                    assert!(
                        index.is_at(oid(1)) && ids(&index) == [(id_number(&one.id), Some(oid(11)))],
                        "byte {at}"
                    );
                    assert!(index.is_stale() || bad.len() == first, "byte {at}");
                }
            }
        }
    }
}
