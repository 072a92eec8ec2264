//! Trees as bytes: finds entries, and sets, adds and removes many in one pass. The other entries
//! keep their bytes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use super::Oid;

/// The mode of a subtree.
pub(super) const TREE_MODE: u32 = 0o040_000;

/// Mode and object of each entry, by name.
pub(super) type ByName = HashMap<Vec<u8>, (u32, Oid)>;

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
        let mode = tree[start..space]
            .iter()
            .fold(0, |mode, digit| mode * 8 + u32::from(digit.wrapping_sub(b'0')));
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
    entries(tree, hash_len)
        .map(|entry| (entry.mode, entry.name, Oid::from_bytes_or_panic(entry.oid)))
}

/// The subtrees among `names`, which must be sorted.
pub(super) fn subtrees<'n>(
    tree: &[u8],
    names: &[&'n [u8]],
    hash_len: usize,
) -> BTreeMap<&'n [u8], Oid> {
    let directories =
        all_entries(tree, hash_len).filter(|(mode, ..)| *mode == TREE_MODE && !names.is_empty());
    directories
        .filter_map(|(_, name, oid)| names.binary_search(&name).ok().map(|at| (names[at], oid)))
        .collect()
}

/// `tree` with the named entries set, added or removed in one pass; the others keep their bytes.
pub(super) fn merged(
    tree: &[u8],
    changes: &BTreeMap<&[u8], Option<(u32, Oid)>>,
    hash_len: usize,
) -> Vec<u8> {
    let mut added: Vec<(u32, &[u8], Oid)> = changes
        .iter()
        .filter_map(|(name, value)| value.map(|(mode, oid)| (mode, *name, oid)))
        .collect();
    added.sort_by(|a, b| order((a.0, a.1), (b.0, b.1)));
    let mut added = added.into_iter().peekable();
    let mut out = Vec::with_capacity(tree.len() + added.len() * (hash_len + 32));
    let mut copied = 0;
    for old in entries(tree, hash_len) {
        let before = |(mode, name, _): &(u32, &[u8], Oid)| {
            order((*mode, name), (old.mode, old.name)).is_lt()
        };
        if added.peek().is_some_and(before) {
            out.extend_from_slice(&tree[copied..old.start]);
            copied = old.start;
            while let Some(next) = added.next_if(before) {
                push(&mut out, next);
            }
        }
        if changes.contains_key(old.name) {
            out.extend_from_slice(&tree[copied..old.start]);
            copied = old.end;
        }
    }
    out.extend_from_slice(&tree[copied..]);
    added.for_each(|next| push(&mut out, next));
    out
}

fn push(tree: &mut Vec<u8>, (mode, name, oid): (u32, &[u8], Oid)) {
    tree.extend_from_slice(format!("{mode:o} ").as_bytes());
    tree.extend_from_slice(name);
    tree.push(0);
    tree.extend_from_slice(oid.as_slice());
}

/// Git's order: a directory sorts as if its name ended in `/`.
fn order((a_mode, a): (u32, &[u8]), (b_mode, b): (u32, &[u8])) -> Ordering {
    let both = a.len().min(b.len());
    let next = |mode, name: &[u8]| name.get(both).copied().or((mode == TREE_MODE).then_some(b'/'));
    a[..both].cmp(&b[..both]).then_with(|| next(a_mode, a).cmp(&next(b_mode, b)))
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

    fn changed(tree: &[u8], changes: &[(&'static str, Option<(u32, u8)>)]) -> Vec<u8> {
        let value = |(mode, byte): (u32, u8)| (mode, oid(byte));
        merged(
            tree,
            &changes.iter().map(|(name, to)| (name.as_bytes(), to.map(value))).collect(),
            20,
        )
    }

    #[test]
    fn entries_are_set_added_and_removed_in_gits_order() {
        let tree = changed(
            b"",
            &[
                ("a.c", Some((0o100_644, 1))),
                ("a", Some((TREE_MODE, 2))),
                ("a-b", Some((0o100_755, 3))),
            ],
        );
        assert_eq!(names(&tree), ["100755 a-b 03", "100644 a.c 01", "40000 a 02"]);
        let tree =
            changed(&tree, &[("a.c", Some((0o100_644, 9))), ("a-b", None), ("not-there", None)]);
        assert_eq!(names(&tree), ["100644 a.c 09", "40000 a 02"]);
        let tree = changed(&tree, &[("a", Some((0o100_644, 4))), ("z", Some((0o100_644, 5)))]);
        assert_eq!(names(&tree), ["100644 a 04", "100644 a.c 09", "100644 z 05"]);
        assert_eq!(subtrees(&tree, &[b"a"], 20), BTreeMap::new());
    }

    #[test]
    fn a_tree_out_of_order_loses_nothing() {
        let tree = [
            changed(b"", &[("b", Some((0o100_644, 1)))]),
            changed(b"", &[("a", Some((TREE_MODE, 2)))]),
        ]
        .concat();
        assert_eq!(subtrees(&tree, &[b"a", b"b"], 20), BTreeMap::from([(b"a".as_slice(), oid(2))]));
        let tree = changed(&tree, &[("c", Some((0o100_644, 3))), ("a", Some((TREE_MODE, 4)))]);
        assert_eq!(names(&tree), ["40000 a 04", "100644 b 01", "100644 c 03"]);
    }
}
