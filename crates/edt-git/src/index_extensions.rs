//! Encodings of the index, and its extensions that count bytes and entries.

/// Bytes and entries inserted at an offset; negative if removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub(super) at: usize,
    pub(super) bytes: i64,
    pub(super) entries: i64,
}

/// Whether an index has the extension of a split or a sparse one.
pub(super) fn is_split_or_sparse(content: &[u8]) -> bool {
    [b"link", b"sdir"].iter().any(|name| memchr::memmem::rfind(content, *name).is_some())
}

pub(super) fn be32(bytes: &[u8]) -> u32 {
    bytes[..4].iter().fold(0, |n, b| n << 8 | u32::from(*b))
}

pub(super) fn be16(bytes: &[u8]) -> u16 {
    u16::from(bytes[0]) << 8 | u16::from(bytes[1])
}

/// Decodes Git's offset encoding, as in packs. Returns the value and its length.
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

/// The offsets at which version 4 starts a new block of names, from the offset table if there is
/// one.
pub(super) fn block_starts(bytes: &[u8], hash_len: usize) -> Vec<usize> {
    // The end-of-index-entries extension is the last one and has the offset of the first extension.
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
        if &bytes[at..at + 4] == b"IEOT" && len >= 4 && at + 8 + len <= end {
            return bytes[at + 12..at + 8 + len]
                .chunks_exact(8)
                .map(|block| be32(block) as usize)
                .collect();
        }
        at += 8 + len;
    }
    Vec::new()
}

/// The body of the extension `IEOT` (a table of blocks of entries) after entries were inserted or
/// removed.
pub(super) fn shifted_offsets(body: &[u8], shifts: &[Shift]) -> Vec<u8> {
    let Some((version, blocks)) = body.split_at_checked(4) else { return body.to_vec() };
    let mut blocks: Vec<(i64, i64)> = blocks
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
    let mut out = version.to_vec();
    for (start, count) in blocks {
        out.extend_from_slice(&u32::try_from(start).unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&u32::try_from(count).unwrap_or(0).to_be_bytes());
    }
    out
}

/// The end of the entries, and a hash over the signatures and sizes of the preceding extensions.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_has_one_byte_below_128_and_more_above() {
        assert_eq!(varint(&[0]), Some((0, 1)));
        assert_eq!(varint(&[127]), Some((127, 1)));
        assert_eq!(varint(&[0x80, 0]), Some((128, 2)));
        assert_eq!(varint(&[0x80, 0x80, 0]), Some((16512, 3)));
    }

    #[test]
    fn an_offset_that_is_cut_has_no_value() {
        assert_eq!((varint(&[]), varint(&[0x80])), (None, None));
    }

    fn table(blocks: &[(u32, u32)]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 1];
        for (start, count) in blocks {
            body.extend(start.to_be_bytes());
            body.extend(count.to_be_bytes());
        }
        body
    }

    #[test]
    fn an_inserted_entry_moves_the_blocks_behind_its_own() {
        let before = table(&[(12, 3), (300, 4), (700, 5)]);
        let shifts = [Shift { at: 350, bytes: 72, entries: 1 }];
        assert_eq!(shifted_offsets(&before, &shifts), table(&[(12, 3), (300, 5), (772, 5)]));
    }

    #[test]
    fn a_removed_entry_moves_the_blocks_behind_it_back() {
        let before = table(&[(12, 3), (300, 4)]);
        let shifts = [Shift { at: 12, bytes: -64, entries: -1 }];
        assert_eq!(shifted_offsets(&before, &shifts), table(&[(12, 2), (236, 4)]));
    }

    #[test]
    fn the_end_of_the_entries_is_followed_by_a_hash_of_the_headers() {
        let body = end_of_entries(0x0102_0304, b"", 20);
        assert_eq!((&body[..4], body.len()), (&[1, 2, 3, 4][..], 24));
        assert_ne!(body, end_of_entries(0x0102_0304, b"TREE\0\0\0\x01", 20));
    }
}
