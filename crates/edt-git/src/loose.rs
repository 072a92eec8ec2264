//! Reads small loose objects with three system calls. gix needs six, and the objects that an edit
//! reads are those that edits wrote before: loose and small.

use std::cell::{Cell, RefCell};

use flate2::{Decompress, FlushDecompress};
use gix::objs::Kind;

use super::Oid;
use super::deflate::adler32;

/// The largest file that is read here, in bytes.
const READ_MAX: usize = 8 * 1024;
/// The largest object that is inflated here, in bytes.
const OBJECT_MAX: usize = 64 * 1024;
/// After so many objects in a row that are not loose, no more are tried: they are in packs.
const MISSES_MAX: u8 = 16;

#[derive(Debug, Default)]
pub(super) struct LooseReader {
    /// How many objects in a row were not loose.
    misses: Cell<u8>,
    /// The state of zlib, created on first use.
    inflate: RefCell<Option<Decompress>>,
}

impl LooseReader {
    /// The kind and content of `oid` if it is a small loose object without a replacement; `None` if
    /// gix has to read it.
    pub(super) fn object(&self, store: &gix::odb::Store, oid: Oid) -> Option<(Kind, Vec<u8>)> {
        let misses = self.misses.get();
        if misses >= MISSES_MAX || store.replacements().next().is_some() {
            return None;
        }
        let (first, rest) = (oid.to_hex_with_len(2).to_string(), oid.to_string());
        let path = store.path().join(first).join(&rest[2..]);
        let mut deflated = [0; READ_MAX];
        let Ok(len) = edt_io::fs::read_beginning(&path, &mut deflated) else {
            self.misses.set(misses + 1);
            return None;
        };
        self.misses.set(0);
        if len == READ_MAX {
            return None;
        }
        let mut state = self.inflate.borrow_mut();
        match stored(&deflated[..len]) {
            Some(data) => object(data.to_vec()),
            None => inflated(state.get_or_insert_with(|| Decompress::new(true)), &deflated[..len]),
        }
    }
}

/// The content of a zlib stream of one stored block, as [`Deflater`](super::deflate::Deflater) writes
/// small objects; `None` for any other stream, or if the checksum is wrong.
fn stored(stream: &[u8]) -> Option<&[u8]> {
    let rest = stream.strip_prefix(&[0x78, 0x01, 0x01])?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (complement, rest) = rest.split_first_chunk::<2>()?;
    let (data, checksum) = rest.split_last_chunk::<4>()?;
    let len = u16::from_le_bytes(*len);
    let sound = u16::from_le_bytes(*complement) == !len
        && data.len() == usize::from(len)
        && u32::from_be_bytes(*checksum) == adler32(data);
    sound.then_some(data)
}

/// The object in the loose file `deflated`; `None` if it is larger than [`OBJECT_MAX`] or damaged.
pub(super) fn inflated(state: &mut Decompress, deflated: &[u8]) -> Option<(Kind, Vec<u8>)> {
    state.reset(true);
    // An object of the usual size fits at once; the largest is tried second.
    let mut data = Vec::with_capacity(deflated.len() * 4 + 512);
    let mut status = state.decompress_vec(deflated, &mut data, FlushDecompress::Finish).ok()?;
    if status != flate2::Status::StreamEnd {
        data.reserve_exact(OBJECT_MAX);
        let rest = &deflated[usize::try_from(state.total_in()).ok()?..];
        status = state.decompress_vec(rest, &mut data, FlushDecompress::Finish).ok()?;
    }
    // Git takes an object with bytes behind its stream for corrupt.
    if status != flate2::Status::StreamEnd || state.total_in() != deflated.len() as u64 {
        return None;
    }
    object(data)
}

/// The kind and content of an object that begins with its header.
fn object(mut data: Vec<u8>) -> Option<(Kind, Vec<u8>)> {
    let (kind, size, header) = gix::objs::decode::loose_header(&data).ok()?;
    data.drain(..header);
    (data.len() as u64 == size).then_some((kind, data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deflate::Deflater;

    fn inflate(deflated: &[u8]) -> Option<(Kind, Vec<u8>)> {
        let slow = inflated(&mut Decompress::new(true), deflated);
        if let Some(data) = stored(deflated) {
            assert_eq!(object(data.to_vec()), slow);
        }
        slow
    }

    #[test]
    fn inflates_what_was_deflated() {
        for len in [0, 1, 3000, 5000, 60_000] {
            let data: Vec<u8> = (0..len).map(|i| u8::try_from(i % 7).unwrap()).collect();
            for kind in [Kind::Blob, Kind::Tree, Kind::Commit] {
                let bytes = Deflater::new().deflate(kind, &data);
                assert_eq!(inflate(&bytes), Some((kind, data.clone())), "{kind} of {len} bytes");
            }
        }
    }

    #[test]
    fn leaves_large_and_damaged_objects_to_gix() {
        let large = Deflater::new().deflate(Kind::Blob, &vec![7; 2 * OBJECT_MAX]);
        assert_eq!(inflate(&large), None);
        let good = Deflater::new().deflate(Kind::Blob, b"hello");
        assert_eq!(inflate(&good[..good.len() - 1]), None, "cut");
        assert_eq!(inflate(&[]), None, "empty");
        let mut damaged = good.clone();
        let last = damaged.len() - 5;
        damaged[last] ^= 1;
        assert_eq!(inflate(&damaged), None, "a changed byte");
    }
}
