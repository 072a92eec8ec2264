//! What a log says is at each touched path at the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{FileEvent, Inode, Place};
use crate::tree::strip;

/// The inode at a path below the root; `None`: nothing is there.
pub(crate) type Expected = BTreeMap<Vec<u8>, Option<Inode>>;

/// What a log says of the touched paths below the root.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// What is there at the end. Paths of which the log does not know that are left out.
    pub(crate) end: Expected,
    /// The paths at which an event found something else than the events before it had left.
    pub(crate) foreign: BTreeSet<Vec<u8>>,
    /// Every inode that was at a path.
    pub(crate) inodes: BTreeMap<Vec<u8>, Vec<Inode>>,
}

impl Replay {
    fn found(&mut self, place: &Place, inode: Option<Inode>) {
        let Place::Tree(path) = place else { return };
        if self.end.get(path).is_some_and(|left| *left != inode) {
            self.foreign.insert(path.clone());
        }
    }

    fn leave(&mut self, place: &Place, inode: Option<Inode>) {
        let Place::Tree(path) = place else { return };
        self.end.insert(path.clone(), inode);
        self.inodes.entry(path.clone()).or_default().extend(inode);
    }

    fn moved(&mut self, from: &Place, to: &Place) {
        if let (Place::Tree(from), Place::Tree(to)) = (from, to)
            && self.foreign.contains(from)
        {
            self.foreign.insert(to.clone());
        }
    }
}

/// Replays events forwards.
pub(crate) fn replay<'a>(events: impl Iterator<Item = &'a FileEvent>) -> Replay {
    let mut all = Replay::default();
    for event in events {
        match event {
            FileEvent::Content { place, inode, .. }
            | FileEvent::Attributes { place, inode, .. } => {
                all.found(place, Some(*inode));
                all.leave(place, Some(*inode));
            }
            FileEvent::Made { place, inode: Some(inode), .. } => {
                all.found(place, None);
                all.leave(place, Some(*inode));
            }
            FileEvent::Made { place: Place::Tree(path), inode: None, .. } => {
                all.end.remove(path);
            }
            FileEvent::Removed { place, former } => {
                all.found(place, Some(former.inode));
                all.leave(place, None);
            }
            FileEvent::Renamed { from, to, inode, directory, replaced, exchanged } => {
                all.found(from, Some(*inode));
                all.found(to, replaced.as_ref().map(|former| former.inode).or(*exchanged));
                all.moved(from, to);
                if *directory {
                    move_below(&mut all.end, from, to, exchanged.is_some());
                }
                all.leave(from, *exchanged);
                all.leave(to, Some(*inode));
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
        let all = replay(events.iter()).end.into_iter();
        all.map(|(path, inode)| (name(path), inode.map(|inode| inode.number))).collect()
    }

    #[test]
    fn what_is_in_a_moved_directory_moves() {
        let found = lines(&[made("a/x", 1), made("ab", 2), renamed("a", "b", 3, None)]);
        let found: Vec<_> = found.iter().map(|(path, inode)| (path.as_str(), *inode)).collect();
        assert_eq!(found, [("a", None), ("ab", Some(2)), ("b", Some(3)), ("b/x", Some(1))]);
    }

    #[test]
    fn an_inode_that_no_event_left_is_somebody_elses() {
        let content = |number| FileEvent::Content {
            place: place("a"),
            inode: inode(number),
            attributes: crate::event::Attributes {
                mode: 0,
                user: 0,
                group: 0,
                size: 0,
                accessed: (0, 0),
                modified: (0, 0),
            },
            kept: crate::event::Kept::Made,
        };
        let foreign = |events: &[FileEvent]| replay(events.iter()).foreign.len();
        assert_eq!(foreign(&[made("a", 1), content(1)]), 0);
        assert_eq!(foreign(&[made("a", 1), content(2)]), 1);
        assert_eq!(foreign(&[content(1), made("a", 2)]), 1);
    }

    #[test]
    fn exchanged_directories_change_their_content() {
        let found = lines(&[made("a/x", 1), made("b/y", 2), renamed("a", "b", 3, Some(4))]);
        let found: Vec<_> = found.iter().map(|(path, inode)| (path.as_str(), *inode)).collect();
        assert_eq!(found, [("a", Some(4)), ("a/y", Some(2)), ("b", Some(3)), ("b/x", Some(1))]);
    }
}
