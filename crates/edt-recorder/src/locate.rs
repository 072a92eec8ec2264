//! Finding recorded places again, without following links.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::event::Place;
use crate::inode::{Sight, existing};
use crate::store::{name, open_directory};

#[derive(Debug)]
pub(crate) struct Locator {
    root: OwnedFd,
    pub(crate) store: OwnedFd,
}

/// A name in an open directory.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) directory: OwnedFd,
    pub(crate) name: Vec<u8>,
}

impl Located {
    pub(crate) fn sight(&self) -> io::Result<Option<Sight>> {
        existing(Sight::at(&self.directory, &self.name))
    }

    /// An `O_PATH` descriptor of what is there.
    pub(crate) fn open(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.directory, &self.name[..], flags, Mode::empty())
    }
}

impl Locator {
    pub(crate) fn open(root: &Path, store: &Path) -> io::Result<Locator> {
        Ok(Locator { root: open_directory(root)?, store: open_directory(store)? })
    }

    /// The directory and the name of a place. `None`: the directory is not there.
    pub(crate) fn locate(&self, place: &Place) -> io::Result<Option<Located>> {
        let (path, start) = match place {
            Place::Tree(path) => (path.clone(), self.root.try_clone()?),
            Place::Outside(path) => {
                let root = openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
                (path.strip_prefix(b"/").unwrap_or(path).to_vec(), root)
            }
            Place::Stored(number) => (name(*number), self.store.try_clone()?),
        };
        let (above, last) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], &path[..]),
        };
        let last = if last.is_empty() { b"." } else { last };
        if above.is_empty() {
            return Ok(Some(Located { directory: start, name: last.to_vec() }));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let opened = openat2(&start, above, flags, Mode::empty(), rules);
        let located = |directory| Located { directory, name: last.to_vec() };
        Ok(unless_link(opened)?.map(located))
    }

    pub(crate) fn sight(&self, place: &Place) -> io::Result<Option<Sight>> {
        self.locate(place)?.map_or(Ok(None), |found| found.sight())
    }

    /// The directory at `place`, opened for reading.
    pub(crate) fn open_place(&self, place: &Place) -> io::Result<Option<OwnedFd>> {
        let Some(found) = self.locate(place)? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        unless_link(openat(&found.directory, &found.name[..], flags, Mode::empty()))
    }
}

/// `None` if nothing is there, or a symbolic link, which is not followed.
fn unless_link<T>(found: rustix::io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(Errno::LOOP) => Ok(None),
        found => existing(found),
    }
}
