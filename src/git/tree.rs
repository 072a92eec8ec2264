//! Trees as bytes: entries found, set, added and removed in place. The others keep their bytes.

use super::Oid;

/// The mode of a folder.
pub(super) const FOLDER: u32 = 0o040_000;

/// One entry of a raw tree.
struct RawEntry<'a> {
    start: usize,
    end: usize,
    mode: u32,
    name: &'a [u8],
    oid: &'a [u8],
}

fn entries(tree: &[u8], hash_len: usize) -> impl Iterator<Item = RawEntry<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let space = start + memchr::memchr(b' ', tree.get(start..)?)?;
        let nul = space + memchr::memchr(0, &tree[space..])?;
        let oid = tree.get(nul + 1..nul + 1 + hash_len)?;
        let mode = tree[start..space].iter().fold(0, |mode, digit| mode * 8 + u32::from(digit.wrapping_sub(b'0')));
        at = nul + 1 + hash_len;
        Some(RawEntry { start, end: at, mode, name: &tree[space + 1..nul], oid })
    })
}

/// The mode and object of `name` in a raw tree.
pub(super) fn entry(tree: &[u8], name: &[u8], hash_len: usize) -> Option<(u32, Oid)> {
    entries(tree, hash_len)
        .find(|entry| entry.name == name)
        .map(|entry| (entry.mode, Oid::from_bytes_or_panic(entry.oid)))
}

/// Mode, name and object of every entry of a raw tree.
pub(super) fn all_entries(tree: &[u8], hash_len: usize) -> impl Iterator<Item = (u32, &[u8], Oid)> {
    entries(tree, hash_len).map(|entry| (entry.mode, entry.name, Oid::from_bytes_or_panic(entry.oid)))
}

/// Sets, adds or removes one entry; the others keep their bytes. Git sorts a folder as if its name ended in `/`.
pub(super) fn set_entry(tree: &mut Vec<u8>, name: &[u8], value: Option<(u32, Oid)>, hash_len: usize) {
    let old = entries(tree, hash_len).find(|entry| entry.name == name).map(|old| (old.start..old.end, old.mode));
    if let Some((span, old_mode)) = old {
        match value {
            Some((mode, oid)) if mode == old_mode => {
                tree[span.end - hash_len..span.end].copy_from_slice(oid.as_slice());
            }
            _ => {
                tree.drain(span);
                if value.is_some() {
                    set_entry(tree, name, value, hash_len);
                }
            }
        }
        return;
    }
    let Some((mode, oid)) = value else { return };
    let key = |mode: u32, name: &[u8]| if mode == FOLDER { [name, b"/"].concat() } else { name.to_vec() };
    let mine = key(mode, name);
    let at = entries(tree, hash_len)
        .find(|entry| key(entry.mode, entry.name) > mine)
        .map_or(tree.len(), |entry| entry.start);
    let mut bytes = format!("{mode:o} ").into_bytes();
    bytes.extend_from_slice(name);
    bytes.push(0);
    bytes.extend_from_slice(oid.as_slice());
    tree.splice(at..at, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn names(tree: &[u8]) -> Vec<String> {
        entries(tree, 20)
            .map(|e| format!("{:o} {} {:02x}", e.mode, String::from_utf8_lossy(e.name), e.oid[0]))
            .collect()
    }

    #[test]
    fn entries_are_set_added_and_removed_in_gits_order() {
        let mut tree = Vec::new();
        set_entry(&mut tree, b"a.c", Some((0o100_644, oid(1))), 20);
        set_entry(&mut tree, b"a", Some((FOLDER, oid(2))), 20);
        set_entry(&mut tree, b"a-b", Some((0o100_755, oid(3))), 20);
        assert_eq!(names(&tree), ["100755 a-b 03", "100644 a.c 01", "40000 a 02"]);
        set_entry(&mut tree, b"a.c", Some((0o100_644, oid(9))), 20);
        set_entry(&mut tree, b"a-b", None, 20);
        assert_eq!(names(&tree), ["100644 a.c 09", "40000 a 02"]);
        set_entry(&mut tree, b"a", Some((0o100_644, oid(4))), 20);
        assert_eq!(names(&tree), ["100644 a 04", "100644 a.c 09"]);
    }
}
