//! Makes the bytes of one table, as Git writes it: blocks of 4 KiB, log entries deflated, an index
//! where a section has more than a few blocks.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::record::{INDEX, LOG, LogEntry, REFS, RawRecord};
use super::table::{BLOCK_HEADER, MAGIC, Table};
use crate::Oid;

/// The length of a block of refs or of an index. A block of log entries is as long before it is
/// deflated.
const BLOCK: usize = 4096;
/// The longest record that fits into any block: what the headers, lengths and lists beside it need is
/// less than the rest.
const MAX_RECORD: usize = BLOCK - 64;
/// Every so many records a block has a complete key.
const RESTART_INTERVAL: usize = 16;
/// The largest number of complete keys that a block lists.
const MAX_RESTARTS: usize = u16::MAX as usize;
/// A section with more blocks has an index.
const MAX_BLOCKS: usize = 3;

/// What a ref gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewValue<'a> {
    Deleted,
    Object(Oid),
    /// The full name of a ref.
    Symbolic(&'a str),
}

/// The records of a table that is not written yet.
#[derive(Debug)]
pub(super) struct Contents {
    /// The length of an object id.
    hash: usize,
    /// The first and the last number of the updates.
    updates: (u64, u64),
    refs: BTreeMap<Vec<u8>, RawRecord>,
    logs: BTreeMap<Vec<u8>, RawRecord>,
}

impl Contents {
    /// No records yet, for updates with numbers from `first` to `last`.
    pub(super) fn new(hash: usize, first: u64, last: u64) -> Contents {
        Contents { hash, updates: (first, last), refs: BTreeMap::new(), logs: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.refs.is_empty() && self.logs.is_empty()
    }

    pub(super) fn updates(&self) -> (u64, u64) {
        self.updates
    }

    /// Sets a ref with the number of the last update.
    pub(super) fn set(&mut self, name: &str, to: NewValue<'_>) {
        let (kind, value) = match to {
            NewValue::Deleted => (0, Vec::new()),
            NewValue::Object(oid) => (1, oid.as_slice().to_vec()),
            NewValue::Symbolic(target) => (3, text(target.as_bytes())),
        };
        let key = name.as_bytes().to_vec();
        let record = RawRecord { key: key.clone(), kind, update: self.updates.1, value };
        self.refs.insert(key, record);
    }

    /// Adds a log entry with the number `update`.
    pub(super) fn log(&mut self, name: &str, update: u64, entry: &LogEntry) {
        let mut value = Vec::new();
        value.extend_from_slice(entry.from.as_slice());
        value.extend_from_slice(entry.to.as_slice());
        value.extend(text(entry.name.as_bytes()));
        value.extend(text(entry.mail.as_bytes()));
        value.extend(number(entry.seconds));
        value.extend_from_slice(&entry.zone.to_be_bytes());
        value.extend(text(entry.message.as_bytes()));
        self.add_log(log_key(name, update), 1, value);
    }

    /// Deletes the log entry of `name` with the number `update`.
    pub(super) fn delete_log(&mut self, name: &str, update: u64) {
        self.add_log(log_key(name, update), 0, Vec::new());
    }

    fn add_log(&mut self, key: Vec<u8>, kind: u8, value: Vec<u8>) {
        let record = RawRecord { key: key.clone(), kind, update: 0, value };
        self.logs.insert(key, record);
    }

    /// Adds the records of a table that is older than these, where they have none. `false`, and adds
    /// nothing, if the name of one does not fit into a block: Git makes longer ones if asked.
    pub(super) fn add_older(&mut self, table: &Table) -> io::Result<bool> {
        let (refs, logs) = (table.all_refs()?, table.all_log_entries()?);
        let is_long = |record: &RawRecord| record.key.len() + record.value.len() > MAX_RECORD;
        if refs.iter().any(is_long) || logs.iter().any(|record| record.key.len() > MAX_RECORD) {
            return Ok(false);
        }
        for record in refs {
            self.refs.entry(record.key.clone()).or_insert(record);
        }
        for record in logs {
            self.logs.entry(record.key.clone()).or_insert(record);
        }
        self.updates.0 = self.updates.0.min(table.updates().0);
        Ok(true)
    }

    /// Forgets what was deleted. Only if no older table remains.
    pub(super) fn forget_deleted(&mut self) {
        let exists = |_: &Vec<u8>, record: &mut RawRecord| record.kind != 0;
        // A table without a record would be none.
        if self.refs.values().chain(self.logs.values()).any(|record| record.kind != 0) {
            self.refs.retain(exists);
            self.logs.retain(exists);
        }
    }

    /// The bytes of the table.
    ///
    /// # Errors
    /// `InvalidInput` if a name of a ref does not fit into a block.
    pub(super) fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut header = MAGIC.to_vec();
        header.push(if self.hash == 20 { 1 } else { 2 });
        header.extend_from_slice(&be24(BLOCK));
        header.extend_from_slice(&self.updates.0.to_be_bytes());
        header.extend_from_slice(&self.updates.1.to_be_bytes());
        if self.hash != 20 {
            header.extend_from_slice(b"s256");
        }
        let mut out = header.clone();
        let refs = self.refs.values().map(|record| {
            let value = [number(record.update - self.updates.0), record.value.clone()].concat();
            (record.key.as_slice(), record.kind, value)
        });
        let ref_index = section(&mut out, header.len(), REFS, refs)?;
        let log = if self.refs.is_empty() { 0 } else { out.len() as u64 };
        let logs = self.logs.values();
        let logs = logs.map(|record| (record.key.as_slice(), record.kind, record.value.clone()));
        let log_index = section(&mut out, header.len(), LOG, logs)?;
        let mut footer = header;
        // Neither the place of objects nor that of their index.
        for place in [ref_index, 0, 0, if self.logs.is_empty() { 0 } else { log }, log_index] {
            footer.extend_from_slice(&place.to_be_bytes());
        }
        let mut crc = flate2::Crc::new();
        crc.update(&footer);
        footer.extend_from_slice(&crc.sum().to_be_bytes());
        out.extend_from_slice(&footer);
        Ok(out)
    }
}

/// Writes the blocks of one kind, and their index. Returns the place of the index; 0 if there is
/// none.
fn section<'k>(
    out: &mut Vec<u8>,
    header: usize,
    kind: u8,
    records: impl Iterator<Item = (&'k [u8], u8, Vec<u8>)>,
) -> io::Result<u64> {
    let mut blocks = blocks(out, header, kind, records)?;
    let mut index = 0;
    while blocks.len() > MAX_BLOCKS {
        index = out.len() as u64;
        let below = std::mem::take(&mut blocks);
        let records = below.iter().map(|(last, place)| (last.as_slice(), 0, number(*place)));
        blocks = self::blocks(out, header, INDEX, records)?;
    }
    Ok(index)
}

/// Writes blocks. Returns the last key and the place of each.
fn blocks<'k>(
    out: &mut Vec<u8>,
    header: usize,
    kind: u8,
    records: impl Iterator<Item = (&'k [u8], u8, Vec<u8>)>,
) -> io::Result<Vec<(Vec<u8>, u64)>> {
    let mut written = Vec::new();
    let mut block = Block::after(out, header, kind);
    for (key, what, value) in records {
        if block.add(key, what, &value) {
            continue;
        }
        if block.count > 0 {
            let place = block.start;
            written.push(block.write(out)?);
            // Another block follows: this one is padded.
            if kind != LOG {
                out.resize(place + BLOCK, 0);
            }
            block = Block::after(out, header, kind);
            if block.add(key, what, &value) {
                continue;
            }
        }
        // A reader takes each block but those of the log for `BLOCK` bytes long.
        if kind != LOG {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        block.limit = usize::MAX;
        block.add(key, what, &value);
        block.limit = BLOCK;
    }
    if block.count > 0 {
        written.push(block.write(out)?);
    }
    Ok(written)
}

struct Block {
    bytes: Vec<u8>,
    /// The bytes before the block's own header: the first block begins with the header of the file.
    before: usize,
    start: usize,
    limit: usize,
    restarts: Vec<usize>,
    last: Vec<u8>,
    count: usize,
}

impl Block {
    /// An empty block at the end of `out`.
    fn after(out: &[u8], header: usize, kind: u8) -> Block {
        let (start, before) = if out.len() == header { (0, header) } else { (out.len(), 0) };
        let mut bytes = out[start..].to_vec();
        bytes.extend_from_slice(&[kind, 0, 0, 0]);
        let (restarts, last) = (Vec::new(), Vec::new());
        Block { bytes, before, start, limit: BLOCK, restarts, last, count: 0 }
    }

    /// Adds a record; `false` if it does not fit.
    fn add(&mut self, key: &[u8], what: u8, value: &[u8]) -> bool {
        let is_restart =
            self.count.is_multiple_of(RESTART_INTERVAL) && self.restarts.len() < MAX_RESTARTS;
        let same = if is_restart {
            0
        } else {
            self.last.iter().zip(key).take_while(|(last, byte)| last == byte).count()
        };
        let mut record = number(same as u64);
        record.extend(number(((key.len() - same) as u64) << 3 | u64::from(what)));
        record.extend_from_slice(&key[same..]);
        record.extend_from_slice(value);
        let restarts = self.restarts.len() + usize::from(is_restart);
        if self.bytes.len() + record.len() + 3 * restarts + 2 > self.limit {
            return false;
        }
        if is_restart {
            self.restarts.push(self.bytes.len());
        }
        self.bytes.extend(record);
        self.last = key.to_vec();
        self.count += 1;
        true
    }

    /// Writes the block. Returns its last key and its place.
    fn write(mut self, out: &mut Vec<u8>) -> io::Result<(Vec<u8>, u64)> {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&be24(*restart));
        }
        let count = u16::try_from(self.restarts.len()).unwrap_or(u16::MAX);
        self.bytes.extend_from_slice(&count.to_be_bytes());
        let len = be24(self.bytes.len());
        let kind = self.bytes[self.before];
        self.bytes[self.before + 1..self.before + BLOCK_HEADER].copy_from_slice(&len);
        out.truncate(self.start);
        if kind == LOG {
            let (plain, rest) = self.bytes.split_at(self.before + BLOCK_HEADER);
            out.extend_from_slice(plain);
            let mut deflated = ZlibEncoder::new(Vec::new(), Compression::best());
            deflated.write_all(rest)?;
            out.extend(deflated.finish()?);
        } else {
            out.extend_from_slice(&self.bytes);
        }
        Ok((self.last, self.start as u64))
    }
}

/// The key of a log entry: the newest sorts first.
fn log_key(name: &str, update: u64) -> Vec<u8> {
    [name.as_bytes(), b"\0", &(!update).to_be_bytes()].concat()
}

/// A number of variable length, as Git stores the offsets in packs.
fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = vec![low_bits(value)];
    while value >= 0x80 {
        value = (value >> 7) - 1;
        bytes.push(0x80 | low_bits(value));
    }
    bytes.reverse();
    bytes
}

fn low_bits(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len() as u64).as_slice(), bytes].concat()
}

fn be24(value: usize) -> [u8; 3] {
    let [.., a, b, c] = value.to_be_bytes();
    [a, b, c]
}
