//! What a log says is at each touched path at the end.

use std::collections::BTreeMap;

use crate::event::{FileEvent, Inode, Place};
use crate::tree::strip;

/// The inode at a path below the root; `None`: nothing is there.
pub(crate) type Expected = BTreeMap<Vec<u8>, Option<Inode>>;

/// Replays events forwards. Paths of which the log does not know what is there are left out.
pub(crate) fn expected<'a>(events: impl Iterator<Item = &'a FileEvent>) -> Expected {
    let mut all = Expected::new();
    let set = |all: &mut Expected, place: &Place, inode: Option<Inode>| {
        if let Place::Tree(path) = place {
            all.insert(path.clone(), inode);
        }
    };
    for event in events {
        match event {
            FileEvent::Content { place, inode, .. }
            | FileEvent::Attributes { place, inode, .. }
            | FileEvent::Made { place, inode: Some(inode), .. } => {
                set(&mut all, place, Some(*inode));
            }
            FileEvent::Made { place: Place::Tree(path), inode: None, .. } => {
                all.remove(path);
            }
            FileEvent::Removed { place, .. } => set(&mut all, place, None),
            FileEvent::Renamed { from, to, inode, directory, exchanged, .. } => {
                if *directory {
                    move_below(&mut all, from, to, exchanged.is_some());
                }
                set(&mut all, from, *exchanged);
                set(&mut all, to, Some(*inode));
            }
            _ => {}
        }
    }
    all
}

fn move_below(all: &mut Expected, from: &Place, to: &Place, exchange: bool) {
    let take = |all: &mut Expected, place: &Place| -> Expected {
        let Place::Tree(root) = place else { return Expected::new() };
        let is_below = |path: &Vec<u8>| strip(path, root).is_some_and(|rest| !rest.is_empty());
        let below: Vec<Vec<u8>> = all.keys().filter(|path| is_below(path)).cloned().collect();
        let rest = |path: &[u8]| path[root.len()..].to_vec();
        below.iter().filter_map(|path| Some((rest(path), all.remove(path)?))).collect()
    };
    let put = |all: &mut Expected, place: &Place, below: Expected| {
        if let Place::Tree(root) = place {
            all.extend(below.into_iter().map(|(rest, inode)| ([&root[..], &rest].concat(), inode)));
        }
    };
    let (source, target) = (take(all, from), take(all, to));
    put(all, to, source);
    if exchange {
        put(all, from, target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::NewNode;

    fn place(path: &str) -> Place {
        Place::Tree(path.into())
    }

    fn inode(number: u64) -> Inode {
        Inode { number, ..Inode::default() }
    }

    fn made(path: &str, number: u64) -> FileEvent {
        FileEvent::Made { place: place(path), node: NewNode::File, inode: Some(inode(number)) }
    }

    fn renamed(from: &str, to: &str, number: u64, other: Option<u64>) -> FileEvent {
        FileEvent::Renamed {
            from: place(from),
            to: place(to),
            inode: inode(number),
            directory: true,
            replaced: None,
            exchanged: other.map(inode),
        }
    }

    fn lines(events: &[FileEvent]) -> Vec<(String, Option<u64>)> {
        let name = |path: Vec<u8>| String::from_utf8(path).unwrap();
        let all = expected(events.iter()).into_iter();
        all.map(|(path, inode)| (name(path), inode.map(|inode| inode.number))).collect()
    }

    #[test]
    fn what_is_in_a_moved_directory_moves() {
        let found = lines(&[made("a/x", 1), made("ab", 2), renamed("a", "b", 3, None)]);
        let found: Vec<_> = found.iter().map(|(path, inode)| (path.as_str(), *inode)).collect();
        assert_eq!(found, [("a", None), ("ab", Some(2)), ("b", Some(3)), ("b/x", Some(1))]);
    }

    #[test]
    fn exchanged_directories_change_their_content() {
        let found = lines(&[made("a/x", 1), made("b/y", 2), renamed("a", "b", 3, Some(4))]);
        let found: Vec<_> = found.iter().map(|(path, inode)| (path.as_str(), *inode)).collect();
        assert_eq!(found, [("a", Some(4)), ("a/y", Some(2)), ("b", Some(3)), ("b/x", Some(1))]);
    }
}
