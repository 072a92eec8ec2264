//! What retrieval looks at: the episodes as numbers, in one file.
//!
//! The file is derived from the tree and may be deleted at any time. It is a row of segments; each says from which commit to which it
//! leads, and has the entries that changed in between. The first leads from nothing and is read where it lies; the others lie over it.
//! An index of another commit than the newest is brought up to date by the difference of the two trees, so that the cost follows what
//! changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::episode::Episode;
use crate::git::Oid;
use crate::io::file::{File, Open};
use crate::io::whole;

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 256 << 20;
/// What each segment begins with: the form of the file, and its version.
const MAGIC: &[u8; 8] = b"edtmem\x00\x02";
/// Bytes of a segment before its entries: magic, length of the entries, their checksum, the commits it leads from and to.
const HEAD: usize = 8 + 4 + 4 + 2 * TIP;
/// Bytes of a commit's id, with its length.
const TIP: usize = 33;
/// Bytes of an entry before its keywords.
const FIXED: usize = 8 + TIP + 4 + 4 + 4 + 8 + 4 + 8 + 1 + 1;
/// How much may lie over the first segment before the file is written anew, in bytes.
const MOST_OVER: usize = 256 * 1024;

/// Every episode of one commit, as far as retrieval asks.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// The entries of the first segment, one behind the other, in order of the ids.
    base: Vec<u8>,
    /// What lies over them; `None` for an episode that is gone.
    over: BTreeMap<u64, Option<Vec<u8>>>,
    /// The commit.
    tip: Vec<u8>,
    /// Whether the file is to be written anew.
    stale: bool,
}

/// An episode as numbers, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'i>(&'i [u8]);

/// The index of the memory that was looked at last, kept between the calls of one process.
#[derive(Debug, Default)]
pub struct Warmed(RefCell<Option<(PathBuf, Rc<Index>)>>);

impl Warmed {
    /// Takes the index that was kept for `file`.
    #[must_use]
    pub fn take(&self, file: &Path) -> Option<Rc<Index>> {
        self.0.take().filter(|(of, _)| of == file).map(|(_, index)| index)
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

/// An id as a number.
#[must_use]
pub fn number(id: &str) -> u64 {
    u64::from_str_radix(id, 16).unwrap_or_default()
}

/// An object id with its length, in as many bytes for every kind of hash.
fn padded(oid: &[u8]) -> [u8; TIP] {
    let mut out = [0; TIP];
    out[0] = u8::try_from(oid.len()).unwrap_or_default();
    out[1..=oid.len()].copy_from_slice(oid);
    out
}

fn unpadded(bytes: &[u8]) -> &[u8] {
    &bytes[1..=usize::from(bytes[0]).min(TIP - 1)]
}

/// The entry of `episode`, which is stored as `blob`.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "a score needs no more than an f32 has")]
pub fn entry(episode: &Episode, blob: Oid) -> Vec<u8> {
    let mut words: Vec<u32> = episode.keywords.iter().map(|word| short(word)).collect();
    words.sort_unstable();
    words.truncate(usize::from(u8::MAX));
    let mut out = Vec::with_capacity(FIXED + words.len() * 4);
    out.extend_from_slice(&number(&episode.id).to_le_bytes());
    out.extend_from_slice(&padded(blob.as_slice()));
    out.extend_from_slice(&short(&episode.code).to_le_bytes());
    out.extend_from_slice(&episode.language.as_deref().map_or(0, short).to_le_bytes());
    out.extend_from_slice(&(episode.effectiveness as f32).to_le_bytes());
    out.extend_from_slice(&episode.last_used.unwrap_or(episode.last_seen).to_le_bytes());
    out.extend_from_slice(&u32::try_from(episode.uses).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&signature(words.iter().copied()).to_le_bytes());
    out.push(u8::from(episode.teaches()));
    out.push(u8::try_from(words.len()).unwrap_or(u8::MAX));
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out
}

/// A set of words in 64 bits: one for each, and several may fall on one.
#[must_use]
pub fn signature(words: impl Iterator<Item = u32>) -> u64 {
    words.fold(0, |bits, word| bits | 1 << (word % 64))
}

/// What stands for an episode that is gone.
fn gone(id: u64) -> Vec<u8> {
    let mut out = vec![0; FIXED];
    out[..8].copy_from_slice(&id.to_le_bytes());
    out
}

impl<'i> Entry<'i> {
    /// The first entry of `bytes`, and what comes after it.
    fn first(bytes: &'i [u8]) -> Option<(Entry<'i>, &'i [u8])> {
        let words = usize::from(*bytes.get(FIXED - 1)?);
        let (entry, rest) = bytes.split_at_checked(FIXED + words * 4)?;
        Some((Entry(entry), rest))
    }

    fn part<const N: usize>(self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
    }

    /// Its id.
    #[must_use]
    pub fn id(self) -> u64 {
        u64::from_le_bytes(self.part(0))
    }

    /// The blob it is stored as; `None` for one that is gone.
    #[must_use]
    pub fn oid(self) -> Option<Oid> {
        Oid::try_from(unpadded(&self.0[8..8 + TIP])).ok()
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> u32 {
        u32::from_le_bytes(self.part(8 + TIP))
    }

    /// Its language; 0 if it has none.
    #[must_use]
    pub fn language(self) -> u32 {
        u32::from_le_bytes(self.part(12 + TIP))
    }

    /// Its score when it was last used.
    #[must_use]
    pub fn effectiveness(self) -> f32 {
        f32::from_le_bytes(self.part(16 + TIP))
    }

    /// When that was, in seconds since 1970.
    #[must_use]
    pub fn last_used(self) -> i64 {
        i64::from_le_bytes(self.part(20 + TIP))
    }

    /// How often it was used.
    #[must_use]
    pub fn uses(self) -> u32 {
        u32::from_le_bytes(self.part(28 + TIP))
    }

    /// Whether there is something to tell.
    #[must_use]
    pub fn teaches(self) -> bool {
        self.part::<1>(40 + TIP) == [1]
    }

    /// The most keywords that it can share with `query`: a look at 64 bits, before the words are compared.
    #[must_use]
    pub fn most_shared(self, query: u64, words: usize) -> usize {
        let own = u64::from_le_bytes(self.part(32 + TIP));
        let bits = |of: u64| usize::try_from(of.count_ones()).unwrap_or(64);
        // Words of the query that fell on one bit may be shared all the same.
        bits(own & query) + words.saturating_sub(bits(query))
    }

    /// How many keywords it has.
    #[must_use]
    pub fn count(self) -> usize {
        (self.0.len() - FIXED) / 4
    }

    /// Its keywords, sorted.
    pub fn words(self) -> impl Iterator<Item = u32> + 'i {
        self.0[FIXED..]
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
    }
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

    /// Every entry.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut rest = self.base.as_slice();
        let base = std::iter::from_fn(move || {
            let (entry, after) = Entry::first(rest)?;
            rest = after;
            Some(entry)
        });
        let shown =
            base.filter(|entry| self.over.is_empty() || !self.over.contains_key(&entry.id()));
        shown.chain(self.over.values().flatten().map(|bytes| Entry(bytes)))
    }

    /// Sets the entry of `id`, or removes it.
    pub fn set(&mut self, id: &str, entry: Option<Vec<u8>>) {
        self.over.insert(number(id), entry);
    }

    /// From now on it is of the commit `tip`.
    pub fn move_to(&mut self, tip: Oid) {
        self.tip = tip.as_slice().to_vec();
    }

    /// The same, of which its file lacks something.
    #[must_use]
    pub fn stale(self) -> Index {
        Index { stale: true, ..self }
    }

    /// Whether the file should be written anew: it is damaged, or much lies over its first segment.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
            || self.over.values().map(|entry| entry.as_ref().map_or(FIXED, Vec::len)).sum::<usize>()
                > MOST_OVER
    }

    /// What `file` holds, as far as it is whole; `None` if its first segment is not.
    #[must_use]
    pub fn read(file: &Path) -> Option<Index> {
        let bytes = whole::small(file, MOST_BYTES)?;
        let (base, mut rest) = Segment::first(&bytes).filter(|(base, _)| base.from.is_empty())?;
        let mut index =
            Index { base: base.entries.to_vec(), tip: base.to.to_vec(), ..Index::default() };
        while !rest.is_empty() {
            let Some((segment, after)) =
                Segment::first(rest).filter(|(segment, _)| segment.from == index.tip)
            else {
                index.stale = true;
                break;
            };
            let mut entries = segment.entries;
            while let Some((entry, more)) = Entry::first(entries) {
                index.over.insert(entry.id(), entry.oid().map(|_| entry.0.to_vec()));
                entries = more;
            }
            index.tip = segment.to.to_vec();
            rest = after;
        }
        Some(index)
    }

    /// Makes `file` hold it. What cannot be written is made anew next time.
    pub fn write(&mut self, file: &Path) {
        let mut sorted: Vec<Entry<'_>> = self.entries().collect();
        sorted.sort_by_key(|entry| entry.id());
        self.base = sorted.into_iter().flat_map(|entry| entry.0.iter().copied()).collect();
        self.over.clear();
        self.stale = false;
        let _ = whole::put_beside(file, &segment(&[], &self.tip, &self.base), 0o666);
    }
}

/// Adds to `file` what changed from the commit `from` to the commit `to`, if it leads to `from`; else the next reader finds it by the
/// difference of the trees. Under the memory's lock: two writers would lay one over the other.
pub fn append(file: &Path, from: Option<Oid>, to: Oid, entries: &[(String, Option<Vec<u8>>)]) {
    let body: Vec<u8> = entries
        .iter()
        .flat_map(|(id, entry)| entry.clone().unwrap_or_else(|| gone(number(id))))
        .collect();
    let Some(from) = from else {
        let _ = whole::put_beside(file, &segment(&[], to.as_slice(), &body), 0o666);
        return;
    };
    let appended = || {
        let open = File::open(file, Open::There)?;
        let len = open.len()?;
        let mut end = [0; TIP];
        // Each segment ends with the commit that it leads to.
        open.read_exact_at(
            &mut end,
            len.checked_sub(TIP as u64).ok_or(std::io::ErrorKind::UnexpectedEof)?,
        )?;
        if end == padded(from.as_slice()) {
            open.write_all_at(&segment(from.as_slice(), to.as_slice(), &body), len)?;
        }
        Ok::<(), std::io::Error>(())
    };
    let _ = appended();
}

/// A part of the file.
struct Segment<'b> {
    from: &'b [u8],
    to: &'b [u8],
    entries: &'b [u8],
}

impl<'b> Segment<'b> {
    /// The first segment of `bytes` and what comes after it; `None` if it is damaged.
    fn first(bytes: &'b [u8]) -> Option<(Segment<'b>, &'b [u8])> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let (covered, rest) =
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)?;
        if crc32fast::hash(covered) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (from, covered) = covered.split_at_checked(TIP)?;
        let (entries, to) = covered.split_at_checked(covered.len().checked_sub(TIP)?)?;
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
    use crate::memory::Tried;

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn episode(text: &str) -> Episode {
        Episode::new(
            "SYNTAX_ERROR",
            Some("c"),
            Tried { fragment: text.to_owned(), ..Tried::default() },
            7,
        )
    }

    fn ids(index: &Index) -> Vec<(u64, Option<Oid>)> {
        let mut all: Vec<_> = index.entries().map(|entry| (entry.id(), entry.oid())).collect();
        all.sort();
        all
    }

    #[test]
    fn an_entry_says_what_its_episode_does() {
        let one = episode("alpha beta");
        let bytes = entry(&one, oid(3));
        let (read, rest) = Entry::first(&bytes).unwrap();
        assert!(rest.is_empty());
        assert_eq!(
            (read.id(), read.oid(), read.code()),
            (number(&one.id), Some(oid(3)), short("SYNTAX_ERROR"))
        );
        assert_eq!(
            (read.language(), read.last_used(), read.uses(), read.teaches()),
            (short("c"), 7, 0, false)
        );
        assert!((read.effectiveness() - 0.5).abs() < f32::EPSILON);
        let mut words: Vec<u32> = one.keywords.iter().map(|word| short(word)).collect();
        words.sort_unstable();
        assert_eq!(read.words().collect::<Vec<_>>(), words);
        assert_eq!(read.count(), words.len());
        for of in 0..=words.len() {
            let query = &words[..of];
            assert!(
                read.most_shared(signature(query.iter().copied()), of) >= of,
                "never fewer than are shared"
            );
        }
        assert_eq!(read.most_shared(0, 0), 0);
    }

    #[test]
    fn what_is_appended_lies_over_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("index");
        let (one, two) = (episode("one"), episode("two words"));
        let of = |episode: &Episode, blob| (episode.id.clone(), Some(entry(episode, oid(blob))));
        append(&file, None, oid(1), &[of(&one, 11), of(&two, 12)]);
        append(&file, Some(oid(1)), oid(2), &[of(&one, 13)]);
        append(&file, Some(oid(2)), oid(3), &[(two.id.clone(), None)]);
        let index = Index::read(&file).unwrap();
        assert_eq!(ids(&index), [(number(&one.id), Some(oid(13)))]);
        assert!(index.is_of(oid(3)) && !index.is_stale());
        // From another commit than the last: not appended.
        append(&file, Some(oid(2)), oid(9), &[of(&two, 14)]);
        assert!(Index::read(&file).unwrap().is_of(oid(3)));
        let mut again = index.clone();
        again.write(&file);
        assert_eq!(ids(&Index::read(&file).unwrap()), ids(&index));
    }

    #[test]
    fn of_a_damaged_file_only_whole_segments_are_taken() {
        let dir = tempfile::tempdir().unwrap();
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
                let read = Index::read(&file);
                assert_eq!(read.is_some(), at >= first, "byte {at}");
                if let Some(index) = read {
                    assert!(
                        index.is_of(oid(1)) && ids(&index) == [(number(&one.id), Some(oid(11)))],
                        "byte {at}"
                    );
                    assert!(index.is_stale() || bad.len() == first, "byte {at}");
                }
            }
        }
    }
}
