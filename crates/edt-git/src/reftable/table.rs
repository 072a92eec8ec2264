//! Reads one table of reftable, as Git documents the format in
//! `Documentation/technical/reftable.adoc`.
//!
//! A table has blocks of refs and blocks of log entries, each sorted by key, and perhaps indexes of
//! them. A key is stored as what differs from the key before.

use std::io;
use std::path::Path;

use flate2::{Decompress, FlushDecompress};

use super::record::{Bytes, INDEX, LOG, LogRecord, REFS, RawRecord, RefRecord, number};
use edt_io::file::{File, OpenMode};
use edt_types::text::Shown as _;

pub(super) const MAGIC: &[u8] = b"REFT";
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

    /// The length of an object id.
    pub(super) fn hash(&self) -> usize {
        self.header.hash
    }

    /// The length of its blocks in bytes.
    pub(super) fn content_size(&self) -> u64 {
        self.size.saturating_sub(2 * self.header.len as u64 + 43)
    }

    /// Syncs the table, which Git does not do by default.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
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
            rest.skip_value(self.header.hash, kind, what)?;
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
            found.push(RefRecord { name, update, target: rest.target(self.header.hash, kind)? });
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
            let entry = if kind == 0 { None } else { Some(rest.entry(self.header.hash)?) };
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
        rest.skip_value(self.header.hash, kind, what)
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

fn damaged(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.shown()))
}
