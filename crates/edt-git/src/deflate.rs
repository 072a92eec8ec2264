//! Loose objects, deflated.

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::objs::Kind;

use super::Oid;

/// An object as stored in a loose file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    pub oid: Oid,
    /// Header and content, deflated.
    pub bytes: Vec<u8>,
}

/// Larger trees are stored without compression: they hardly shrink, and a later repack stores them
/// as deltas.
const STORE_ABOVE: usize = 64 * 1024;

/// Smaller objects are stored without compression, too: they take one file system block in either
/// case.
const STORE_BELOW: usize = 3500;

/// How much output of a large object is allocated at once, in bytes.
const FIRST_OUTPUT: usize = 16 << 20;

/// One deflate state for all objects of a transaction, created on first use.
pub(super) struct Deflater(Option<Compress>);

impl Deflater {
    pub(super) fn new() -> Deflater {
        Deflater(None)
    }

    pub(super) fn deflate(&mut self, kind: Kind, data: &[u8]) -> Vec<u8> {
        let header = gix::objs::encode::loose_header(kind, data.len() as u64);
        if data.len() <= STORE_BELOW || (kind == Kind::Tree && data.len() > STORE_ABOVE) {
            return stored(&[&header, data].concat());
        }
        let state = self.0.get_or_insert_with(|| Compress::new(Compression::fast(), true));
        state.reset();
        let mut out = Vec::with_capacity(data.len().min(FIRST_OUTPUT) / 2 + 64);
        // The header and the content are not joined: the content may be large.
        for (mut rest, flush) in [(&*header, FlushCompress::None), (data, FlushCompress::Finish)] {
            loop {
                let before = state.total_in();
                let status = state.compress_vec(rest, &mut out, flush);
                let read = usize::try_from(state.total_in() - before).unwrap_or(rest.len());
                rest = &rest[read..];
                match (status, flush) {
                    (Ok(Status::StreamEnd), _) => break,
                    (Ok(_), FlushCompress::None) if rest.is_empty() => break,
                    _ => out.reserve(out.capacity().min(FIRST_OUTPUT)),
                }
            }
        }
        out
    }
}

/// `data` as a zlib stream of stored blocks (RFC 1950 and 1951, section 3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 0xffff;
    let mut out = vec![0x78, 0x01];
    let last = data.chunks(BLOCK).count().saturating_sub(1);
    for (i, block) in data.chunks(BLOCK).enumerate() {
        let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(i == last));
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&adler32(data).to_be_bytes());
    out
}

/// The checksum of RFC 1950, section 8.2.
pub(super) fn adler32(data: &[u8]) -> u32 {
    // The most bytes that cannot overflow the sums: `NMAX` of zlib.
    const MOST: usize = 5552;
    const MODULUS: u32 = 65521;
    let (low, high) = data.chunks(MOST).fold((1_u32, 0_u32), |(low, high), chunk| {
        let (low, high) = chunk.iter().fold((low, high), |(low, high), &byte| {
            let low = low + u32::from(byte);
            (low, high + low)
        });
        (low % MODULUS, high % MODULUS)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn stored_and_deflated_objects_inflate_to_the_same_bytes() {
        for len in [0, 1, STORE_BELOW, STORE_BELOW + 1, 65_535, 65_536, 300_000] {
            let data: Vec<u8> = (0..len).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
            for kind in [Kind::Blob, Kind::Tree] {
                let bytes = Deflater::new().deflate(kind, &data);
                let mut full = Vec::new();
                flate2::read::ZlibDecoder::new(bytes.as_slice()).read_to_end(&mut full).unwrap();
                assert_eq!(
                    full,
                    [format!("{kind} {len}\0").as_bytes(), &data].concat(),
                    "{kind} of {len} bytes"
                );
            }
        }
    }
}
