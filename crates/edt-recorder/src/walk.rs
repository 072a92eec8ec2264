//! Resolving a path as the thread that gave it does.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{
    CWD, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstatfs, openat, openat2, readlinkat,
};
use rustix::io::Errno;

use crate::inode::Sight;
use crate::thread::CallingThread;

/// How many symbolic links the kernel follows.
const MAX_LINKS: usize = 40;

const PATH: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Whether a symbolic link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) enum Found {
    /// An `O_PATH` descriptor.
    File(OwnedFd),
    /// Nothing yet: its directory exists.
    Missing(OwnedFd, Vec<u8>),
}

/// Resolves paths of threads whose root directory is mostly the recorder's.
#[derive(Debug)]
pub(crate) struct Walker {
    own_root: Sight,
}

impl Walker {
    pub(crate) fn new() -> io::Result<Walker> {
        let own_root = Sight::of(&openat(CWD, c"/", PATH, Mode::empty())?)?;
        Ok(Walker { own_root })
    }

    /// The directory of `path`, and its last name with what slashes follow it.
    ///
    /// # Errors
    /// That of the kernel for this path. `InvalidInput`: the last name is `.`, `..` or missing.
    pub(crate) fn parent(
        &self,
        thread: CallingThread,
        directory: i32,
        path: &[u8],
    ) -> io::Result<(OwnedFd, Vec<u8>)> {
        let (above, name) = split(path).ok_or(io::ErrorKind::InvalidInput)?;
        let start = self.start(thread, directory, path)?;
        let parent = if above.is_empty() {
            start.directory
        } else {
            match start.open(above, PATH | OFlags::DIRECTORY) {
                Err(Errno::LOOP) => match walk(thread, &start, above, LastLink::Follow)? {
                    Found::File(directory) => directory,
                    Found::Missing(..) => return Err(Errno::NOENT.into()),
                },
                opened => opened?,
            }
        };
        Ok((parent, name.to_vec()))
    }

    /// What `path` leads to.
    pub(crate) fn find(
        &self,
        thread: CallingThread,
        directory: i32,
        path: &[u8],
        last: LastLink,
    ) -> io::Result<Found> {
        let start = self.start(thread, directory, path)?;
        let flags = if last == LastLink::Keep { PATH | OFlags::NOFOLLOW } else { PATH };
        match start.open(path, flags) {
            Ok(file) => Ok(Found::File(file)),
            // A link of `/proc`, a link to nothing, or nothing.
            Err(Errno::LOOP | Errno::NOENT) => walk(thread, &start, path, last),
            Err(error) => Err(error.into()),
        }
    }

    fn start(&self, thread: CallingThread, directory: i32, path: &[u8]) -> io::Result<Start> {
        let other_root = thread.other_root(&self.own_root)?;
        let absolute = path.first() == Some(&b'/');
        if path.is_empty() {
            return Err(Errno::NOENT.into());
        }
        let directory = if !absolute {
            thread.file(directory)?
        } else if let Some(root) = &other_root {
            root.try_clone()?
        } else {
            openat(CWD, c"/", PATH, Mode::empty())?
        };
        Ok(Start { directory, other_root })
    }
}

/// Where a path starts.
struct Start {
    directory: OwnedFd,
    other_root: Option<OwnedFd>,
}

impl Start {
    /// Opens `path` in one step where it cannot differ from the thread's own way: links of `/proc`
    /// are the recorder's, and with another root all links may be.
    fn open(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        if self.other_root.is_some() {
            return Err(Errno::LOOP);
        }
        openat2(&self.directory, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
    }

    fn root(&self) -> rustix::io::Result<OwnedFd> {
        match &self.other_root {
            Some(root) => root.try_clone().map_err(|_| Errno::MFILE),
            None => openat(CWD, c"/", PATH, Mode::empty()),
        }
    }
}

/// Resolves name by name.
fn walk(thread: CallingThread, start: &Start, path: &[u8], last: LastLink) -> io::Result<Found> {
    let root = start.root()?;
    let root_sight = Sight::of(&root)?;
    let mut directory = start.directory.try_clone()?;
    let mut names: VecDeque<Vec<u8>> = names(path);
    let mut links = 0;
    while let Some(name) = names.pop_front() {
        if name == b".." {
            let here = Sight::of(&directory)?;
            if (here.inode, here.mount) != (root_sight.inode, root_sight.mount) {
                directory = openat(&directory, c"..", PATH, Mode::empty())?;
            }
            continue;
        }
        let is_last = names.is_empty();
        let next = match openat(&directory, &name[..], PATH | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOENT) if is_last => return Ok(Found::Missing(directory, name)),
            opened => opened?,
        };
        let sight = Sight::of(&next)?;
        if !sight.is_link() || is_last && last == LastLink::Keep {
            if !is_last && !sight.is_directory() {
                return Err(Errno::NOTDIR.into());
            }
            directory = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target = if fstatfs(&directory)?.f_type == PROC_SUPER_MAGIC {
            let (process, number) = thread.own_numbers()?;
            match &name[..] {
                b"self" => process.into_bytes(),
                b"thread-self" => format!("{process}/task/{number}").into_bytes(),
                // The kernel knows where it leads; its text is not a path.
                _ => {
                    directory = openat(&directory, &name[..], PATH, Mode::empty())?;
                    continue;
                }
            }
        } else {
            readlinkat(&next, c"", Vec::new())?.into_bytes()
        };
        if target.first() == Some(&b'/') {
            directory = root.try_clone()?;
        }
        for name in names_reversed(&target) {
            names.push_front(name);
        }
    }
    Ok(Found::File(directory))
}

fn names(path: &[u8]) -> VecDeque<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/');
    parts.filter(|name| !name.is_empty() && *name != b".").map(<[u8]>::to_vec).collect()
}

fn names_reversed(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    names(path).into_iter().rev()
}

/// The directory part of `path`, which may be empty, and its last name with trailing slashes.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let name = &path[start..end];
    if name == b"." || name == b".." {
        return None;
    }
    Some((&path[..start], &path[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_directory_and_a_last_name() {
        assert_eq!(split(b"a"), Some((&b""[..], &b"a"[..])));
        assert_eq!(split(b"/a"), Some((&b"/"[..], &b"a"[..])));
        assert_eq!(split(b"/a/b//"), Some((&b"/a/"[..], &b"b//"[..])));
        assert_eq!((split(b"/"), split(b"a/.."), split(b".")), (None, None, None));
    }
}
