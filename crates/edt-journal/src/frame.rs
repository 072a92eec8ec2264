//! The records in a journal file: `magic, length, crc32, epoch, number, payload`.

use super::record::Record;
use edt_io::failed;
use edt_io::file::File;
use edt_types::{Code, Finding, Result};

pub(super) const RECORD_MAGIC: u32 = 0xed7_0ec0;
pub(super) const RECORD_HEAD: usize = 4 + 4 + 4 + 8 + 8;

/// A record with its epoch, its number and the offset of its end.
pub(super) type FoundRecord = (u64, u64, Record, u64);

/// The complete record at `at` of a journal with `size` bytes; `None` if there is none or a torn
/// one.
///
/// # Errors
/// `IO_ERROR`; `INTERNAL` if a complete record cannot be decoded.
pub(super) fn record_at(file: &File, at: u64, size: u64) -> Result<Option<FoundRecord>> {
    Ok(match look_at(file, at, size)? {
        Found::Record(record) => Some(record),
        Found::Torn(..) | Found::Nothing => None,
    })
}

/// What is at an offset of a journal.
pub(super) enum Found {
    Nothing,
    /// The head of a record with this epoch and number, whose payload is not the one that was
    /// written.
    Torn(u64, u64),
    Record(FoundRecord),
}

/// What is at `at` of a journal with `size` bytes.
///
/// # Errors
/// `IO_ERROR`; `INTERNAL` if a complete record cannot be decoded.
pub(super) fn look_at(file: &File, at: u64, size: u64) -> Result<Found> {
    let fail = |error: std::io::Error| failed("read the journal", file.path(), &error);
    if at + RECORD_HEAD as u64 > size {
        return Ok(Found::Nothing);
    }
    let mut head = [0; RECORD_HEAD];
    file.read_exact_at(&mut head, at).map_err(fail)?;
    let len = u32_at(&head, 4);
    let end = at + RECORD_HEAD as u64 + u64::from(len);
    if u32_at(&head, 0) != RECORD_MAGIC {
        return Ok(Found::Nothing);
    }
    let (epoch, number) = (u64_at(&head, 12), u64_at(&head, 20));
    if end > size {
        return Ok(Found::Torn(epoch, number));
    }
    let mut payload = vec![0; len as usize];
    file.read_exact_at(&mut payload, at + RECORD_HEAD as u64).map_err(fail)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&head[12..]);
    crc.update(&payload);
    if crc.finalize() != u32_at(&head, 8) {
        return Ok(Found::Torn(epoch, number));
    }
    let record = postcard::from_bytes(&payload).map_err(|error| internal(&error.to_string()))?;
    Ok(Found::Record((epoch, number, record, end)))
}

pub(super) fn internal(why: &str) -> Finding {
    Finding::new(
        Code::Internal,
        format!("A journal record could not be encoded or decoded: {why}."),
        "Report this message.",
    )
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |n, b| n << 8 | u32::from(*b))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}
