//! Reads one table of reftable, as Git documents the format in
//! `Documentation/technical/reftable.adoc`.
//!
//! A table has blocks of refs and blocks of log entries, each sorted by key, and perhaps indexes of
//! them. A key is stored as what differs from the key before.

use std::io;
use std::path::Path;

use flate2::{Decompress, FlushDecompress};
use gix::refs::{FullName, Target};

use super::super::Oid;
use edt_io::file::{File, OpenMode};
use edt_types::text::Shown as _;

pub(super) const MAGIC: &[u8] = b"REFT";
/// The kinds of blocks that are read; the others map objects to refs.
pub(super) const REFS: u8 = b'r';
pub(super) const LOG: u8 = b'g';
pub(super) const INDEX: u8 = b'i';
/// The length of a block's kind and length.
pub(super) const BLOCK_HEADER: usize = 4;
/// How much is read before the length of a block is known: Git's usual length of one.
const FIRST_READ: usize = 4096;
/// The number of blocks of an index that a search may read.
const MAX_LEVELS: u32 = 64;

/// An open table.
#[derive(Debug)]
pub(super) struct Table {
    file: File,
    header: Header,
    /// The length of the file.
    size: u64,
    refs: Section,
    log: Section,
}

/// The fields of the file's header.
#[derive(Debug, Clone, Copy)]
struct Header {
    /// The length of the header, which the first block contains.
    len: usize,
    /// The first and the last number of the updates in the table.
    updates: (u64, u64),
    /// The length to which blocks of refs are padded; 0 if they are not.
    block: usize,
    /// The length of an object id.
    hash: usize,
}

/// The place of the blocks of one kind.
#[derive(Debug, Clone, Copy)]
struct Section {
    start: u64,
    end: u64,
    /// The place of the index; 0 if there is none.
    index: u64,
}

/// What a table says of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefRecord {
    pub(super) name: String,
    /// The number of the update that wrote it.
    pub(super) update: u64,
    /// `None` if the ref was deleted.
    pub(super) target: Option<Target>,
}

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawRecord {
    pub(super) key: Vec<u8>,
    /// 0 for what was deleted.
    pub(super) kind: u8,
    /// The number of the update; 0 for a log entry, whose key has it.
    pub(super) update: u64,
    pub(super) value: Vec<u8>,
}

/// What a table says of a log entry: the number of the update, and the entry; `None` if it was
/// deleted.
pub(super) type LogRecord = (u64, Option<LogEntry>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogEntry {
    pub(super) from: Oid,
    pub(super) to: Oid,
    pub(super) name: String,
    pub(super) mail: String,
    pub(super) seconds: u64,
    /// The offset from UTC as Git writes it: `-130` is one hour and 30 minutes to the west.
    pub(super) zone: i16,
    pub(super) message: String,
}

impl Table {
    /// Opens the table at `path`.
    pub(super) fn open(path: &Path) -> io::Result<Table> {
        let file = File::open(path, OpenMode::ReadOnly)?;
        let len = file.len()?;
        let mut start = [0; 28];
        file.read_at(&mut start, 0)?;
        let header = header(&start).ok_or_else(|| damaged(path))?;
        // The footer repeats the header, then names the sections and has a checksum.
        let footer_len = header.len + 44;
        let footer_at = len.checked_sub(footer_len as u64).ok_or_else(|| damaged(path))?;
        let mut footer = vec![0; footer_len];
        file.read_exact_at(&mut footer, footer_at)?;
        let (body, sum) = footer.split_at(footer_len - 4);
        let mut crc = flate2::Crc::new();
        crc.update(body);
        if !footer.starts_with(&start[..header.len]) || crc.sum().to_be_bytes() != *sum {
            return Err(damaged(path));
        }
        let at = |n: usize| number(&footer, header.len + n * 8, 8).unwrap_or(0);
        let (ref_index, objects, log, log_index) = (at(0), at(1) >> 5, at(3), at(4));
        let first = match len {
            len if len == footer_len as u64 + header.len as u64 => 0,
            _ => {
                let mut kind = [0];
                file.read_exact_at(&mut kind, header.len as u64)?;
                kind[0]
            }
        };
        let end_of_refs = [ref_index, objects, log].into_iter().find(|place| *place > 0);
        let has_refs = first == REFS;
        let refs = Section {
            start: 0,
            end: if has_refs { end_of_refs.unwrap_or(footer_at) } else { 0 },
            index: ref_index,
        };
        let has_log = first == LOG || log > 0;
        let end_of_log = if log_index > 0 { log_index } else { footer_at };
        let log =
            Section { start: log, end: if has_log { end_of_log } else { log }, index: log_index };
        Ok(Table { file, header, size: len, refs, log })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The file name.
    pub(super) fn name(&self) -> &str {
        self.path().file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The first and the last number of the updates in it.
    pub(super) fn updates(&self) -> (u64, u64) {
        self.header.updates
    }

    /// The length of its blocks in bytes.
    pub(super) fn content_size(&self) -> u64 {
        self.size.saturating_sub(2 * self.header.len as u64 + 43)
    }

    /// Every ref.
    pub(super) fn all_refs(&self) -> io::Result<Vec<RawRecord>> {
        self.all(self.refs, REFS)
    }

    /// Every log entry.
    pub(super) fn all_log_entries(&self) -> io::Result<Vec<RawRecord>> {
        self.all(self.log, LOG)
    }

    fn all(&self, section: Section, kind: u8) -> io::Result<Vec<RawRecord>> {
        let mut found = Vec::new();
        self.scan(section, kind, b"", |key, what, rest| {
            let update = if kind == REFS { self.update(rest)? } else { 0 };
            let before = rest.0;
            self.skip_value(kind, what, rest)?;
            let value = before[..before.len() - rest.0.len()].to_vec();
            found.push(RawRecord { key: key.to_vec(), kind: what, update, value });
            Some(true)
        })?;
        Ok(found)
    }

    /// The number of the update of a ref.
    fn update(&self, rest: &mut Bytes<'_>) -> Option<u64> {
        self.header.updates.0.checked_add(rest.number()?)
    }

    /// The refs from `name` on, in order, as long as `wanted` holds for their names.
    pub(super) fn refs_from(
        &self,
        name: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> io::Result<Vec<RefRecord>> {
        let mut found = Vec::new();
        self.scan(self.refs, REFS, name.as_bytes(), |key, kind, rest| {
            let name = String::from_utf8_lossy(key).into_owned();
            if !wanted(&name) {
                return Some(false);
            }
            let update = self.update(rest)?;
            found.push(RefRecord { name, update, target: self.value(kind, rest)? });
            Some(true)
        })?;
        Ok(found)
    }

    /// The entries of the log of `name`, newest first.
    pub(super) fn log_of(&self, name: &str) -> io::Result<Vec<LogRecord>> {
        let start = [name.as_bytes(), b"\0"].concat();
        let mut found = Vec::new();
        self.scan(self.log, LOG, &start, |key, kind, rest| {
            let Some(update) = key.strip_prefix(start.as_slice()) else { return Some(false) };
            // The number is inverted, so that the newest entry comes first.
            let update = !number(update, 0, 8)?;
            let entry = if kind == 0 { None } else { Some(self.entry(rest)?) };
            found.push((update, entry));
            Some(true)
        })?;
        Ok(found)
    }

    /// Calls `each` for the records whose key is at least `from`, until it answers `false`; `None`
    /// means that the record is damaged.
    fn scan(
        &self,
        section: Section,
        kind: u8,
        from: &[u8],
        mut each: impl FnMut(&[u8], u8, &mut Bytes<'_>) -> Option<bool>,
    ) -> io::Result<()> {
        if section.start >= section.end {
            return Ok(());
        }
        let mut at = if section.index == 0 {
            section.start
        } else {
            match self.by_index(section.index, from)? {
                Some(at) => at,
                None => return Ok(()),
            }
        };
        while at < section.end {
            let block = self.block(at)?;
            if block.kind != kind {
                break;
            }
            let (mut key, mut rest) = (Vec::new(), Bytes(&block.records));
            while !rest.0.is_empty() {
                let what = rest.key(&mut key).ok_or_else(|| self.damaged())?;
                if key.as_slice() < from {
                    self.skip(kind, what, &mut rest).ok_or_else(|| self.damaged())?;
                } else if !each(&key, what, &mut rest).ok_or_else(|| self.damaged())? {
                    return Ok(());
                }
            }
            at = block.next;
        }
        Ok(())
    }

    /// The block that may have `key`, found by the index at `at`; `None` if every key is smaller.
    fn by_index(&self, mut at: u64, wanted: &[u8]) -> io::Result<Option<u64>> {
        let footer = self.size - (self.header.len + 44) as u64;
        for _ in 0..MAX_LEVELS {
            let block = self.block(at)?;
            if block.kind != INDEX {
                return Ok(Some(at));
            }
            match self.place_below(&block, wanted)? {
                Some(below) => at = below,
                // The highest level may have several blocks.
                None if block.next < footer && self.kind_at(block.next)? == INDEX => {
                    at = block.next;
                }
                None => return Ok(None),
            }
        }
        Err(self.damaged())
    }

    /// The place of the block that may have `wanted`, in a block of an index.
    fn place_below(&self, block: &Block, wanted: &[u8]) -> io::Result<Option<u64>> {
        let (mut key, mut rest) = (Vec::new(), Bytes(&block.records));
        while !rest.0.is_empty() {
            // A key of the index is the last one of its block.
            let place = rest.key(&mut key).and_then(|_| rest.number());
            let place = place.ok_or_else(|| self.damaged())?;
            if key.as_slice() >= wanted {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn kind_at(&self, at: u64) -> io::Result<u8> {
        let mut kind = [0];
        self.file.read_exact_at(&mut kind, at)?;
        Ok(kind[0])
    }

    /// The block at `at`.
    fn block(&self, at: u64) -> io::Result<Block> {
        // The first block begins with the header of the file.
        let skipped = if at == 0 { self.header.len } else { 0 };
        let usual = self.header.block.max(FIRST_READ);
        let mut bytes = self.read(at, usual)?;
        let head = bytes.get(skipped..skipped + BLOCK_HEADER).ok_or_else(|| self.damaged())?;
        let kind = head[0];
        let len = number(head, 1, 3).and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
        if len < skipped + BLOCK_HEADER + 2 {
            return Err(self.damaged());
        }
        let next;
        if kind == LOG {
            // The length is that of the inflated block.
            let (inflated, used) = self.inflated(at, skipped + BLOCK_HEADER, &bytes, len)?;
            next = at + used as u64;
            bytes = inflated;
        } else {
            let aligned = self.header.block;
            // The last block has no padding.
            let is_padded = aligned > len && bytes.get(len).is_none_or(|byte| *byte == 0);
            next = at + if is_padded { aligned } else { len } as u64;
            if bytes.len() < len {
                bytes = self.read(at, len)?;
            }
        }
        bytes.truncate(len);
        let restarts = bytes.len().checked_sub(2).and_then(|at| number(&bytes, at, 2));
        let end = restarts
            .and_then(|count| len.checked_sub(2 + 3 * usize::try_from(count).ok()?))
            .filter(|end| bytes.len() == len && *end >= skipped + BLOCK_HEADER)
            .ok_or_else(|| self.damaged())?;
        bytes.truncate(end);
        Ok(Block { kind, records: bytes.split_off(skipped + BLOCK_HEADER), next })
    }

    /// The inflated block of `len` bytes at `at`, whose first `plain` bytes are not deflated, and
    /// how many bytes it has in the file. `known` has its first bytes.
    fn inflated(
        &self,
        at: u64,
        plain: usize,
        known: &[u8],
        len: usize,
    ) -> io::Result<(Vec<u8>, usize)> {
        let mut out = Vec::with_capacity(len);
        out.extend_from_slice(&known[..plain]);
        // A block that deflates badly is a little longer than its content.
        let deflated = self.read(at + plain as u64, len + len / 8 + 64)?;
        let mut state = Decompress::new(true);
        let done = state.decompress_vec(&deflated, &mut out, FlushDecompress::Finish);
        if done.is_err() || out.len() != len {
            return Err(self.damaged());
        }
        let used = usize::try_from(state.total_in()).map_err(|_| self.damaged())?;
        Ok((out, plain + used))
    }

    /// At most `len` bytes at `at`, fewer at the end of the file.
    fn read(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut got = 0;
        while got < len {
            match self.file.read_at(&mut bytes[got..], at + got as u64)? {
                0 => break,
                more => got += more,
            }
        }
        bytes.truncate(got);
        Ok(bytes)
    }

    fn skip(&self, kind: u8, what: u8, rest: &mut Bytes<'_>) -> Option<()> {
        if kind == REFS {
            rest.number()?;
        }
        self.skip_value(kind, what, rest)
    }

    fn skip_value(&self, kind: u8, what: u8, rest: &mut Bytes<'_>) -> Option<()> {
        match (kind, what) {
            // Whatever it names.
            (REFS, 3) => rest.text().map(drop),
            (REFS, _) => self.value(what, rest).map(drop),
            (_, 0) => Some(()),
            _ => self.entry(rest).map(drop),
        }
    }

    /// The value of a ref; the inner `None` if it was deleted.
    #[expect(clippy::option_option, reason = "the outer one is a damaged record")]
    fn value(&self, kind: u8, rest: &mut Bytes<'_>) -> Option<Option<Target>> {
        Some(match kind {
            0 => None,
            1 => Some(Target::Object(self.oid(rest)?)),
            2 => {
                let oid = self.oid(rest)?;
                // The object that the tag names.
                self.oid(rest)?;
                Some(Target::Object(oid))
            }
            3 => {
                let target = FullName::try_from(rest.text()?).ok()?;
                Some(Target::Symbolic(target))
            }
            _ => return None,
        })
    }

    fn entry(&self, rest: &mut Bytes<'_>) -> Option<LogEntry> {
        Some(LogEntry {
            from: self.oid(rest)?,
            to: self.oid(rest)?,
            name: rest.text()?,
            mail: rest.text()?,
            seconds: rest.number()?,
            zone: i16::from_be_bytes(rest.take(2)?.try_into().ok()?),
            message: rest.text()?,
        })
    }

    fn oid(&self, rest: &mut Bytes<'_>) -> Option<Oid> {
        Oid::try_from(rest.take(self.header.hash)?).ok()
    }

    fn damaged(&self) -> io::Error {
        damaged(self.file.path())
    }
}

struct Block {
    kind: u8,
    records: Vec<u8>,
    /// Where the next block is.
    next: u64,
}

/// What is left of a block.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of variable length, as Git stores the offsets in packs.
    fn number(&mut self) -> Option<u64> {
        let mut byte = self.take(1)?[0];
        let mut value = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
        }
        Some(value)
    }

    fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.number()?).ok()?;
        Some(String::from_utf8_lossy(self.take(len)?).into_owned())
    }

    /// Makes `key` the key of the next record, and returns the record's kind.
    fn key(&mut self, key: &mut Vec<u8>) -> Option<u8> {
        let same = usize::try_from(self.number()?).ok()?;
        let more = self.number()?;
        if same > key.len() {
            return None;
        }
        key.truncate(same);
        key.extend_from_slice(self.take(usize::try_from(more >> 3).ok()?)?);
        u8::try_from(more & 7).ok()
    }
}

/// The header of a table; `None` if it is none.
fn header(bytes: &[u8]) -> Option<Header> {
    let version = *bytes.strip_prefix(MAGIC)?.first()?;
    let block = usize::try_from(number(bytes, 5, 3)?).ok()?;
    let updates = (number(bytes, 8, 8)?, number(bytes, 16, 8)?);
    let (len, hash) = match (version, bytes.get(24..28)?) {
        (1, _) => (24, 20),
        (2, b"sha1") => (28, 20),
        (2, b"s256") => (28, 32),
        _ => return None,
    };
    Some(Header { len, updates, block, hash })
}

/// The number in `len` bytes at `at`, most significant first.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + len)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn damaged(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.shown()))
}
