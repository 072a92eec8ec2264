//! The records of a table and how they are stored: a key as what differs from the key before, then a
//! value.

use gix::refs::{FullName, Target};

use super::super::Oid;

/// The kinds of blocks that are read; the others map objects to refs.
pub(super) const REFS: u8 = b'r';
pub(super) const LOG: u8 = b'g';
pub(super) const INDEX: u8 = b'i';

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

/// What is left of a block.
pub(super) struct Bytes<'b>(pub(super) &'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of variable length, as Git stores the offsets in packs.
    pub(super) fn number(&mut self) -> Option<u64> {
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
    pub(super) fn key(&mut self, key: &mut Vec<u8>) -> Option<u8> {
        let same = usize::try_from(self.number()?).ok()?;
        let more = self.number()?;
        if same > key.len() {
            return None;
        }
        key.truncate(same);
        key.extend_from_slice(self.take(usize::try_from(more >> 3).ok()?)?);
        u8::try_from(more & 7).ok()
    }

    /// Passes over the value of a record.
    pub(super) fn skip_value(&mut self, hash: usize, kind: u8, what: u8) -> Option<()> {
        match (kind, what) {
            // Whatever it names.
            (REFS, 3) => self.text().map(drop),
            (REFS, _) => self.target(hash, what).map(drop),
            (_, 0) => Some(()),
            _ => self.entry(hash).map(drop),
        }
    }

    /// The value of a ref; the inner `None` if it was deleted.
    #[expect(clippy::option_option, reason = "the outer one is a damaged record")]
    pub(super) fn target(&mut self, hash: usize, kind: u8) -> Option<Option<Target>> {
        Some(match kind {
            0 => None,
            1 => Some(Target::Object(self.oid(hash)?)),
            2 => {
                let oid = self.oid(hash)?;
                // The object that the tag names.
                self.oid(hash)?;
                Some(Target::Object(oid))
            }
            3 => {
                let target = FullName::try_from(self.text()?).ok()?;
                Some(Target::Symbolic(target))
            }
            _ => return None,
        })
    }

    pub(super) fn entry(&mut self, hash: usize) -> Option<LogEntry> {
        Some(LogEntry {
            from: self.oid(hash)?,
            to: self.oid(hash)?,
            name: self.text()?,
            mail: self.text()?,
            seconds: self.number()?,
            zone: i16::from_be_bytes(self.take(2)?.try_into().ok()?),
            message: self.text()?,
        })
    }

    fn oid(&mut self, hash: usize) -> Option<Oid> {
        Oid::try_from(self.take(hash)?).ok()
    }
}

/// The number in `len` bytes at `at`, most significant first.
pub(super) fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + len)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
