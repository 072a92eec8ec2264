//! The index's cache-tree: stays valid where the new trees are known, and is marked invalid
//! elsewhere, as Git does.

use super::Oid;
use super::object_writer::TouchedTrees;

/// The most levels of directories. A cache-tree with more is not kept, as it is only a cache.
const MAX_DEPTH: usize = 256;

/// One directory of the cache-tree.
struct Node {
    name: Vec<u8>,
    /// The number of entries below it; negative if the node is invalid.
    count: i64,
    oid: Vec<u8>,
    below: Vec<Node>,
}

/// The extension's `body` after the index entries at `touched` changed (`true` where entries were
/// added or removed), with the trees of `directories`; `None` if it cannot be parsed.
pub(super) fn patched(
    body: &[u8],
    touched: &[(&[u8], bool)],
    directories: &TouchedTrees,
    hash_len: usize,
) -> Option<Vec<u8>> {
    let (mut root, used) = read(body, 0, hash_len, MAX_DEPTH)?;
    if used != body.len() {
        return None;
    }
    for (path, moved) in touched {
        touch(&mut root, path, 0, *moved, directories);
    }
    let mut out = Vec::with_capacity(body.len());
    write(&root, &mut out);
    Some(out)
}

/// Reads a node and its children, at most `depth` levels of them.
fn read(body: &[u8], at: usize, hash_len: usize, depth: usize) -> Option<(Node, usize)> {
    let depth = depth.checked_sub(1)?;
    let nul = at + memchr::memchr(0, body.get(at..)?)?;
    let newline = nul + memchr::memchr(b'\n', &body[nul..])?;
    let numbers = std::str::from_utf8(&body[nul + 1..newline]).ok()?;
    let (count, below) = numbers.split_once(' ')?;
    let (count, below): (i64, usize) = (count.parse().ok()?, below.parse().ok()?);
    let mut end = newline + 1;
    let mut oid = Vec::new();
    if count >= 0 {
        oid = body.get(end..end + hash_len)?.to_vec();
        end += hash_len;
    }
    let mut node = Node { name: body[at..nul].to_vec(), count, oid, below: Vec::new() };
    for _ in 0..below {
        let (child, next) = read(body, end, hash_len, depth)?;
        node.below.push(child);
        end = next;
    }
    Some((node, end))
}

fn write(node: &Node, out: &mut Vec<u8>) {
    out.extend_from_slice(&node.name);
    out.push(0);
    out.extend_from_slice(format!("{} {}\n", node.count, node.below.len()).as_bytes());
    out.extend_from_slice(&node.oid);
    node.below.iter().for_each(|child| write(child, out));
}

/// Descends from `node`, the node of `path[..depth]`, to the directory of `path`.
fn touch(node: &mut Node, path: &[u8], depth: usize, moved: bool, directories: &TouchedTrees) {
    let name = if depth == 0 { &path[..0] } else { &path[..depth - 1] };
    match directories.get(name) {
        Some((Some(old), Some(new))) if node.count >= 0 && !moved && is(node, old) => {
            node.oid = new.as_slice().to_vec();
        }
        Some((_, Some(new))) if node.count >= 0 && !moved && is(node, new) => {}
        _ => {
            node.count = -1;
            node.oid.clear();
        }
    }
    let Some(slash) = path[depth..].iter().position(|&b| b == b'/') else { return };
    let child = &path[depth..depth + slash];
    if let Some(child) = node.below.iter_mut().find(|node| node.name == child) {
        touch(child, path, depth + slash + 1, moved, directories);
    }
}

fn is(node: &Node, oid: &Oid) -> bool {
    node.oid == oid.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes_or_panic(&[byte; 20])
    }

    fn node(name: &str, count: i64, below: usize, byte: u8) -> Vec<u8> {
        let mut out = format!("{name}\0{count} {below}\n").into_bytes();
        if count >= 0 {
            out.extend([byte; 20]);
        }
        out
    }

    fn trees(all: &[(&str, u8, u8)]) -> TouchedTrees {
        let value = |byte: u8| Some(oid(byte));
        all.iter()
            .map(|(name, old, new)| (name.as_bytes().to_vec(), (value(*old), value(*new))))
            .collect()
    }

    #[test]
    fn a_directory_whose_new_tree_is_known_stays_valid() {
        let body = [node("", 2, 1, 1), node("dir", 1, 0, 2)].concat();
        let touched: [(&[u8], bool); 1] = [(b"dir/a", false)];
        let after = patched(&body, &touched, &trees(&[("", 1, 5), ("dir", 2, 6)]), 20);
        assert_eq!(after, Some([node("", 2, 1, 5), node("dir", 1, 0, 6)].concat()));
    }

    #[test]
    fn a_directory_without_a_known_tree_becomes_invalid() {
        let body = [node("", 2, 1, 1), node("dir", 1, 0, 2)].concat();
        let touched: [(&[u8], bool); 1] = [(b"dir/a", false)];
        let after = patched(&body, &touched, &trees(&[("", 9, 5)]), 20);
        assert_eq!(after, Some([node("", -1, 1, 0), node("dir", -1, 0, 0)].concat()));
    }

    #[test]
    fn a_directory_that_got_an_entry_becomes_invalid() {
        let body = [node("", 2, 1, 1), node("dir", 1, 0, 2)].concat();
        let touched: [(&[u8], bool); 1] = [(b"new", true)];
        let after = patched(&body, &touched, &trees(&[("", 1, 5)]), 20);
        assert_eq!(after, Some([node("", -1, 1, 0), node("dir", 1, 0, 2)].concat()));
    }

    #[test]
    fn a_cache_tree_of_very_many_levels_is_not_parsed() {
        let body = node("a", -1, 1, 0).repeat(1 << 20);
        assert_eq!(patched(&body, &[], &TouchedTrees::new(), 20), None);
    }

    #[test]
    fn a_cache_tree_with_bytes_behind_it_is_not_parsed() {
        let body = [node("", 2, 0, 1), b"x".to_vec()].concat();
        assert_eq!(patched(&body, &[], &TouchedTrees::new(), 20), None);
        assert_eq!(patched(b"\0x y\n", &[], &TouchedTrees::new(), 20), None);
    }
}
