//! What a run changed, read from its log.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use crate::event::{Attributes, Denied, FileEvent, Former, Inode, Kept, Node, Place};
use crate::inode::{Sight, existing};
use crate::locate::Locator;
use crate::log;
use crate::store::{copy_name, name, open_directory};
use crate::touched::{Before, TouchedPath};

/// A run that ended, or that was interrupted together with its recorder.
#[derive(Debug)]
pub struct RecordedRun {
    pub(crate) store: PathBuf,
    /// `None` for an event whose call failed.
    pub(crate) events: Vec<Option<FileEvent>>,
    /// Whether the recorder ended the log.
    pub complete: bool,
    /// Why something may have been changed that is not recorded: sentences.
    pub unproved: Vec<String>,
    /// What was denied to the programs.
    pub denied: Vec<Denied>,
    foreign: BTreeSet<Vec<u8>>,
    /// The events of each place.
    of_place: HashMap<Place, Vec<usize>>,
    moved_directories: Vec<usize>,
    /// How inodes were before the run.
    pub(crate) firsts: HashMap<Inode, First>,
    /// With the times at which they had been modified.
    pub(crate) copied_links: BTreeMap<u64, (i64, u32)>,
}

/// How an inode was before it was changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct First {
    attributes: Option<Attributes>,
    kept: Option<Kept>,
}

impl RecordedRun {
    /// Reads the log in `store`. A torn end is ignored.
    ///
    /// # Errors
    /// The log cannot be read, or has another format.
    pub fn open(store: &Path) -> io::Result<RecordedRun> {
        let mut run = RecordedRun {
            store: store.to_owned(),
            events: Vec::new(),
            complete: false,
            unproved: Vec::new(),
            denied: Vec::new(),
            foreign: BTreeSet::new(),
            of_place: HashMap::new(),
            moved_directories: Vec::new(),
            firsts: HashMap::new(),
            copied_links: BTreeMap::new(),
        };
        let mut events: Vec<Option<FileEvent>> = log::read(store)?.into_iter().map(Some).collect();
        for at in 0..events.len() {
            if let Some(FileEvent::Failed { event }) = events[at] {
                let failed = usize::try_from(event).ok().and_then(|at| events.get_mut(at));
                *failed.ok_or(io::ErrorKind::InvalidData)? = None;
            }
        }
        let last = events.len().saturating_sub(1);
        for (at, event) in events.iter_mut().enumerate() {
            if let Some(FileEvent::Making { place, node }) = event {
                let made = FileEvent::Made { place: place.clone(), node: *node, inode: None };
                *event = (at == last).then_some(made);
            }
            if let Some(event) = event {
                run.index(at, event);
            }
        }
        run.events = events;
        Ok(run)
    }

    fn index(&mut self, at: usize, event: &FileEvent) {
        let mut add = |place: &Place| self.of_place.entry(place.clone()).or_default().push(at);
        match event {
            FileEvent::Content { place, inode, attributes, kept } => {
                add(place);
                let first = self.firsts.entry(*inode).or_default();
                first.attributes.get_or_insert(*attributes);
                first.kept.get_or_insert_with(|| kept.clone());
            }
            FileEvent::Attributes { place, inode, attributes, .. } => {
                add(place);
                self.firsts.entry(*inode).or_default().attributes.get_or_insert(*attributes);
            }
            FileEvent::Made { place, .. } | FileEvent::Removed { place, .. } => add(place),
            FileEvent::Renamed { from, to, directory, .. } => {
                add(from);
                add(to);
                if *directory {
                    self.moved_directories.push(at);
                }
            }
            FileEvent::Unproved { why } => self.unproved.push(why.clone()),
            FileEvent::LinkCopied { stored, modified } => {
                self.copied_links.insert(*stored, *modified);
            }
            FileEvent::Foreign { paths } => self.foreign.extend(paths.iter().cloned()),
            FileEvent::End => self.complete = true,
            FileEvent::Denied(denied) => self.denied.push(denied.clone()),
            FileEvent::Start { .. } | FileEvent::Failed { .. } | FileEvent::Making { .. } => {}
        }
    }

    /// Whether anything was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of_place.is_empty()
    }

    /// All events that happened, in order.
    #[must_use]
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &FileEvent> {
        self.events.iter().flatten()
    }

    /// The paths whose earlier content was not kept, with the reason.
    #[must_use]
    pub fn lost(&self) -> Vec<(Place, String)> {
        let mut lost = Vec::new();
        for event in self.events() {
            let (place, kept) = match event {
                FileEvent::Content { place, kept, .. } => (place, kept),
                FileEvent::Removed { place, former }
                | FileEvent::Renamed { to: place, replaced: Some(former), .. } => {
                    match &former.node {
                        Node::File(kept) | Node::Special(kept) => (place, kept),
                        Node::Directory | Node::Link(_) => continue,
                    }
                }
                _ => continue,
            };
            if let Kept::Lost(why) = kept {
                lost.push((place.clone(), why.clone()));
            }
        }
        lost
    }

    /// The kept bytes. `None`: they are not in the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open_kept(&self, kept: &Kept) -> io::Result<Option<File>> {
        let file = match kept {
            Kept::Linked(number) if self.copied_links.contains_key(number) => copy_name(*number),
            Kept::Linked(number) | Kept::Copied(number) => name(*number),
            Kept::Made | Kept::Clean(_) | Kept::Lost(_) => return Ok(None),
        };
        let store = open_directory(&self.store)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Some(File::from(openat(store, &file[..], flags, Mode::empty())?)))
    }

    /// The stored links whose inode lived on and was written since.
    pub(crate) fn written_since(&self, locator: &Locator) -> HashSet<u64> {
        let is_written = |(number, modified): (&u64, &(i64, u32))| {
            let sight = Sight::at(&locator.store, &name(*number)).ok()?;
            (sight.attributes.modified != *modified).then_some(*number)
        };
        self.copied_links.iter().filter_map(is_written).collect()
    }

    /// What was at `path` before the run. `root` must be as the run left it, apart from what
    /// others changed.
    ///
    /// # Errors
    /// The root cannot be read.
    pub fn before(&self, root: &Path, path: &[u8]) -> io::Result<Before> {
        self.before_at(&Locator::open(root, &self.store)?, path)
    }

    fn before_at(&self, locator: &Locator, path: &[u8]) -> io::Result<Before> {
        let mut place = Place::Tree(path.to_vec());
        let mut at = 0;
        while let Some(found) = self.next_event(&place, at) {
            at = found + 1;
            match &self.events[found] {
                Some(FileEvent::Made { .. }) => return Ok(Before::Missing),
                Some(FileEvent::Removed { former, .. }) => return Ok(self.version(former)),
                Some(FileEvent::Content { inode, attributes, kept, .. }) => {
                    let attributes = self.attributes_before(*inode).unwrap_or(*attributes);
                    return Ok(Before::File { attributes, kept: kept.clone() });
                }
                Some(FileEvent::Renamed { from, to, replaced, exchanged, .. }) => {
                    if let Some(moved) = moved(&place, from, to) {
                        place = moved;
                    } else if exchanged.is_some() {
                        place = moved(&place, to, from).unwrap_or(place);
                    } else if let Some(former) = replaced.as_ref().filter(|_| place == *to) {
                        return Ok(self.version(former));
                    } else {
                        return Ok(Before::Missing);
                    }
                }
                _ => {}
            }
        }
        let Some(sight) = locator.sight(&place)? else { return Ok(Before::Missing) };
        // It may have been changed under another name.
        let first = self.firsts.get(&sight.inode).cloned().unwrap_or_default();
        Ok(match first {
            First { attributes: Some(attributes), kept: Some(kept) } => {
                Before::File { attributes, kept }
            }
            First { attributes, .. } => Before::Same { now: place, attributes },
        })
    }

    fn attributes_before(&self, inode: Inode) -> Option<Attributes> {
        self.firsts.get(&inode)?.attributes
    }

    fn version(&self, former: &Former) -> Before {
        let attributes = self.attributes_before(former.inode).unwrap_or(former.attributes);
        match &former.node {
            Node::Directory => Before::Directory(attributes),
            Node::Link(target) => Before::Link(target.clone()),
            Node::Special(_) => Before::Special,
            Node::File(kept) => {
                let first = self.firsts.get(&former.inode).and_then(|first| first.kept.as_ref());
                let kept = first.unwrap_or(kept);
                if *kept == Kept::Made {
                    return Before::Missing;
                }
                Before::File { attributes, kept: kept.clone() }
            }
        }
    }

    /// The first event from `at` that concerns what is at `place` then.
    fn next_event(&self, place: &Place, at: usize) -> Option<usize> {
        let own = self
            .of_place
            .get(place)
            .and_then(|events| events.get(events.partition_point(|event| *event < at)).copied());
        let start = self.moved_directories.partition_point(|event| *event < at);
        let above = self.moved_directories[start..].iter().copied().find(|event| {
            matches!(&self.events[*event], Some(FileEvent::Renamed { from, to, .. })
                if moved(place, from, to).is_some() || moved(place, to, from).is_some())
        });
        own.into_iter().chain(above).min()
    }

    /// Where what is at `place` before event `at` is at the end.
    pub(crate) fn place_now(&self, place: &Place, mut at: usize) -> Place {
        let mut place = place.clone();
        while let Some(found) = self.next_event(&place, at) {
            at = found + 1;
            if let Some(FileEvent::Renamed { from, to, exchanged, .. }) = &self.events[found] {
                if let Some(now) = moved(&place, from, to) {
                    place = now;
                } else if exchanged.is_some() {
                    place = moved(&place, to, from).unwrap_or(place);
                }
            }
        }
        place
    }

    /// Where what is at `place` before event `at` was before the run.
    fn place_before(&self, place: &Place, at: usize) -> Place {
        let mut place = place.clone();
        let mut at = at;
        while let Some(found) = self.last_move(&place, at) {
            at = found;
            if let Some(FileEvent::Renamed { from, to, exchanged, .. }) = &self.events[found] {
                if let Some(then) = moved(&place, to, from) {
                    place = then;
                } else if exchanged.is_some() {
                    place = moved(&place, from, to).unwrap_or(place);
                }
            }
        }
        place
    }

    /// The last move before event `at` that brought something to `place` or above it.
    fn last_move(&self, place: &Place, at: usize) -> Option<usize> {
        let brought = |event: &usize| match &self.events[*event] {
            Some(FileEvent::Renamed { from, to, exchanged, .. }) => {
                moved(place, to, from).is_some()
                    || exchanged.is_some() && moved(place, from, to).is_some()
            }
            _ => false,
        };
        let own = self.of_place.get(place).and_then(|events| {
            let end = events.partition_point(|event| *event < at);
            events[..end].iter().rev().copied().find(|event| brought(event))
        });
        let end = self.moved_directories.partition_point(|event| *event < at);
        let above = self.moved_directories[..end].iter().rev().copied().find(|at| brought(at));
        own.into_iter().chain(above).max()
    }

    /// Every path below `root` that the run touched: what is there now, what was there before, or
    /// both may differ. A directory that was moved is listed with all that is in it.
    ///
    /// # Errors
    /// The root cannot be read.
    pub fn touched(&self, root: &Path) -> io::Result<BTreeMap<Vec<u8>, TouchedPath>> {
        let locator = Locator::open(root, &self.store)?;
        let mut paths = BTreeSet::new();
        let mut add = |place: Place| {
            if let Place::Tree(path) = place {
                paths.insert(path);
            }
        };
        for (place, events) in &self.of_place {
            let moves = |at: &usize| matches!(&self.events[*at], Some(FileEvent::Renamed { .. }));
            // What nothing moved is where it was; a name may have many events.
            let stays = self.moved_directories.is_empty() && !events.iter().any(moves);
            for at in events.iter().take(if stays { 1 } else { events.len() }) {
                add(self.place_before(place, *at));
                add(self.place_now(place, *at));
                add(place.clone());
            }
        }
        for at in &self.moved_directories {
            let Some(FileEvent::Renamed { from, to, .. }) = &self.events[*at] else { continue };
            for place in [from, to] {
                let (before, now) = (self.place_before(place, *at), self.place_now(place, *at));
                for below in names_below(&locator, &now, None)? {
                    add(joined(&now, &below));
                    add(joined(&before, &below));
                }
            }
        }
        let shared = self.shared(&locator, &paths)?;
        let mut foreign = self.foreign.clone();
        let mut elsewhere = BTreeSet::new();
        for one in shared.into_values() {
            if one.names.iter().any(|name| foreign.contains(name)) {
                foreign.extend(one.names.iter().cloned());
            }
            if one.further {
                elsewhere.extend(one.names.iter().cloned());
            }
            paths.extend(one.names);
        }
        let mut touched = BTreeMap::new();
        for path in paths {
            let before = self.before_at(&locator, &path)?;
            let (foreign, named_elsewhere) = (foreign.contains(&path), elsewhere.contains(&path));
            touched.insert(path, TouchedPath { before, foreign, named_elsewhere });
        }
        Ok(touched)
    }
}

/// Where `place` is after `from` became `to`, if it is there or below it.
fn moved(place: &Place, from: &Place, to: &Place) -> Option<Place> {
    let rest = match (place, from) {
        (Place::Tree(path), Place::Tree(from)) | (Place::Outside(path), Place::Outside(from)) => {
            crate::tree::strip(path, from)?
        }
        _ => return None,
    };
    Some(joined(to, rest))
}

fn joined(place: &Place, below: &[u8]) -> Place {
    let join = |path: &Vec<u8>| {
        let mut path = path.clone();
        if !below.is_empty() && !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(below);
        path
    };
    match place {
        Place::Tree(path) => Place::Tree(join(path)),
        Place::Outside(path) => Place::Outside(join(path)),
        Place::Stored(number) => Place::Stored(*number),
    }
}

/// The paths of all that is in the directory at `place`, from there; or of the inodes in `only`, and
/// then not those in the repository's Git directory.
pub(crate) fn names_below(
    locator: &Locator,
    place: &Place,
    only: Option<&HashSet<u64>>,
) -> io::Result<Vec<Vec<u8>>> {
    let Some(directory) = locator.open_place(place)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut open: Vec<(OwnedFd, Vec<u8>)> = vec![(directory, Vec::new())];
    while let Some((directory, above)) = open.pop() {
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"."
                || name == b".."
                || only.is_some() && above.is_empty() && name == b".git"
            {
                continue;
            }
            let mut path = above.clone();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if let Some(below) = existing(openat(&directory, name, flags, Mode::empty()))? {
                    open.push((below, path.clone()));
                }
            }
            if only.is_none_or(|only| only.contains(&entry.ino())) {
                found.push(path);
            }
        }
    }
    Ok(found)
}
