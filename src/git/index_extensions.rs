//! The index's own bookkeeping beside its entries: numbers, and the extensions that count bytes and entries.

/// Bytes and entries that came (or went, negative) at an offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub(super) at: usize,
    pub(super) bytes: i64,
    pub(super) entries: i64,
}

pub(super) fn be32(bytes: &[u8]) -> u32 {
    bytes[..4].iter().fold(0, |n, b| n << 8 | u32::from(*b))
}

pub(super) fn be16(bytes: &[u8]) -> u16 {
    u16::from(bytes[0]) << 8 | u16::from(bytes[1])
}

/// Git's offset encoding, as in packs.
pub(super) fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 127);
    let mut used = 1;
    while bytes[used - 1] & 128 != 0 {
        let byte = bytes.get(used)?;
        value = (value + 1).checked_mul(128)? | usize::from(byte & 127);
        used += 1;
    }
    Some((value, used))
}

/// Offsets at which version 4 starts a new block of names, from the offset table if there is one.
pub(super) fn block_starts(bytes: &[u8], hash_len: usize) -> Vec<usize> {
    // The end-of-index-entries extension stands last and leads to the first extension.
    let eoie_len = 8 + 4 + hash_len;
    let Some(eoie) = (bytes.len() - hash_len).checked_sub(eoie_len).map(|at| &bytes[at..]) else {
        return Vec::new();
    };
    if &eoie[..4] != b"EOIE" {
        return Vec::new();
    }
    let (mut at, end) = (be32(&eoie[8..]) as usize, bytes.len() - hash_len - eoie_len);
    while at + 8 <= end {
        let len = be32(&bytes[at + 4..]) as usize;
        if &bytes[at..at + 4] == b"IEOT" && at + 8 + len <= end {
            return bytes[at + 12..at + 8 + len]
                .chunks_exact(8)
                .map(|block| be32(block) as usize)
                .collect();
        }
        at += 8 + len;
    }
    Vec::new()
}

/// The offset table after entries came or went.
pub(super) fn shifted_offsets(body: &[u8], shifts: &[Shift]) -> Vec<u8> {
    let mut blocks: Vec<(i64, i64)> = body[4..]
        .chunks_exact(8)
        .map(|block| (i64::from(be32(block)), i64::from(be32(&block[4..]))))
        .collect();
    for shift in shifts {
        let at = i64::try_from(shift.at).unwrap_or(i64::MAX);
        let holder = blocks.iter().rposition(|(start, _)| *start <= at).unwrap_or(0);
        for (i, (start, count)) in blocks.iter_mut().enumerate() {
            if i == holder {
                *count += shift.entries;
            } else if i > holder {
                *start += shift.bytes;
            }
        }
    }
    let mut out = body[..4].to_vec();
    for (start, count) in blocks {
        out.extend_from_slice(&u32::try_from(start).unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&u32::try_from(count).unwrap_or(0).to_be_bytes());
    }
    out
}

/// Where the entries end, and a hash over the signatures and sizes of the extensions before.
pub(super) fn end_of_entries(at: usize, headers: &[u8], hash_len: usize) -> Vec<u8> {
    let mut body = u32::try_from(at).unwrap_or(0).to_be_bytes().to_vec();
    let kind = if hash_len == 20 { gix::hash::Kind::Sha1 } else { gix::hash::Kind::Sha256 };
    let mut hasher = gix::hash::hasher(kind);
    hasher.update(headers);
    if let Ok(sum) = hasher.try_finalize() {
        body.extend_from_slice(sum.as_slice());
    }
    body
}
