//! The index's cache-tree: kept valid where the new trees are known, marked invalid where they are not, as Git does.

use super::Oid;
use super::draft::Folders;

/// One folder of the cache-tree.
struct Node {
    name: Vec<u8>,
    /// Entries below it; negative if it is invalid.
    count: i64,
    oid: Vec<u8>,
    below: Vec<Node>,
}

/// The extension's `body` after the index entries at `touched` changed (`true` where entries came or went), with the trees of
/// `folders`; `None` if it cannot be read.
pub(super) fn patched(
    body: &[u8],
    touched: &[(&[u8], bool)],
    folders: &Folders,
    hash_len: usize,
) -> Option<Vec<u8>> {
    let (mut root, used) = read(body, 0, hash_len)?;
    if used != body.len() {
        return None;
    }
    for (path, moved) in touched {
        touch(&mut root, path, 0, *moved, folders);
    }
    let mut out = Vec::with_capacity(body.len());
    write(&root, &mut out);
    Some(out)
}

/// Reads one node and those below it. The depth is that of the folders, which Git bounds.
fn read(body: &[u8], at: usize, hash_len: usize) -> Option<(Node, usize)> {
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
        let (child, next) = read(body, end, hash_len)?;
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

/// Walks from `node`, which stands for `path[..depth]`, down to the folder of `path`.
fn touch(node: &mut Node, path: &[u8], depth: usize, moved: bool, folders: &Folders) {
    let name = if depth == 0 { &path[..0] } else { &path[..depth - 1] };
    match folders.get(name) {
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
        touch(child, path, depth + slash + 1, moved, folders);
    }
}

fn is(node: &Node, oid: &Oid) -> bool {
    node.oid == oid.as_slice()
}
